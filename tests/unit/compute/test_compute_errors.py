"""What bad arguments of functions get."""

import os

import numpy as np
import pytest

import cdevice
import cdevice.compute as cc
from cdevice._runtime.ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")


@pytest.fixture(params=["cpu", "opencl"])
def device(request):
    if not cdevice.device(request.param).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    return request.param


@pytest.fixture(autouse=True)
def nothing_leaks():
    before = lib.cdv_live_arrays()
    yield
    import gc

    from waiting import until

    gc.collect()
    until(lambda: lib.cdv_live_arrays() <= before)


def on(device, values, schema=None):
    return cdevice.asarray(values, schema=schema).to(device)


def test_arguments_on_two_devices_name_both():
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    with pytest.raises(cdevice.ArgumentError, match=r"add: arguments on opencl:0 and cpu; move one with \.to\(\)"):
        cc.add(on("opencl", [1, 2]), cdevice.asarray([3, 4]))


def test_a_function_without_a_name_here_is_told_where_to_find_it():
    with pytest.raises(AttributeError, match=r"'utf8_normalize'; call_function\('utf8_normalize', \[...\]\)"):
        cc.utf8_normalize(["a"])
    assert cc.call_function("utf8_normalize", [["a"]], form="NFC").to_pylist() == ["a"]
    assert not hasattr(cc, "__wrapped__")


def test_an_unknown_function_is_told_with_near_names():
    with pytest.raises(KeyError, match="did you mean multiply"):
        cc.call_function("multipli", [[1], [2]])
    with pytest.raises(cc.UnknownFunction, match="list_functions"):
        cc.get_function("zzzzz")


def test_a_missing_kernel_is_told_with_those_that_there_are():
    with pytest.raises(cc.NoKernel, match=r"add\(string, string\): no kernel on cpu; there is one for int8, .*"):
        cc.add(["a"], ["b"])
    with pytest.raises(
        cc.NoKernel, match=r"there is one for .* float64, .*\(timestamp\[s\], duration\[s\]\).*; pyarrow: "
    ):
        cc.add(["a"], ["b"])
    with pytest.raises(NotImplementedError):
        cc.sum(["a"])
    with pytest.raises(cc.NoKernel, match="dictionary"):
        cc.cast([1], cdevice.asschema(pa.dictionary(pa.int8(), pa.float64())))
    with pytest.raises(cdevice.ArgumentError, match="cast: row 0 is not valid UTF-8"):
        cc.cast(pa.array([b"\xff"]), "string")


def test_a_wrong_number_of_arguments_is_told():
    with pytest.raises(TypeError, match="add takes 2 arguments, not 1"):
        cc.call_function("add", [[1]])


def test_lengths_that_differ_are_told(device):
    with pytest.raises(cdevice.ArgumentError, match="2 and 3 rows"):
        cc.add(on(device, [1, 2]), on(device, [1, 2, 3]))
    with pytest.raises(ValueError, match="3 rows for 2"):
        cc.filter(on(device, [1, 2]), on(device, [True, False, True]))


@pytest.mark.parametrize("word", ["int8", "int64", "uint8", "uint64"])
def test_overflow_is_told_by_the_checked_forms(device, word):
    most = on(device, [np.iinfo(word).max, 1], word)
    one, none = on(device, [1, 1], word), on(device, [None, 1], word)
    with pytest.raises(cdevice.ArgumentError, match="add_checked: overflow"):
        cc.add_checked(most, one)
    with pytest.raises(cdevice.ArgumentError, match="multiply_checked: overflow"):
        cc.multiply_checked(most, most)
    with pytest.raises(cdevice.ArgumentError, match="subtract_checked: overflow"):
        cc.subtract_checked(on(device, [np.iinfo(word).min, 1], word), one)
    assert cc.add_checked(most, none).to("cpu").to_pylist() == [None, 2]  # what is null does not count
    assert cc.multiply_checked(most, one).to("cpu").to_pylist() == [np.iinfo(word).max, 1]


def test_the_least_integer_has_no_opposite(device):
    least = on(device, [-128], "int8")
    for name in ("negate_checked", "abs_checked"):
        with pytest.raises(ValueError, match=f"{name}: overflow"):
            getattr(cc, name)(least)
    with pytest.raises(ValueError, match="overflow"):
        cc.divide_checked(least, on(device, [-1], "int8"))
    assert cc.divide(least, on(device, [-1], "int8")).to("cpu").to_pylist() == [0]


def test_an_integer_is_not_divided_by_zero(device):
    for word in ("int32", "uint8"):
        a, b = on(device, [1, 2], word), on(device, [1, 0], word)
        with pytest.raises(cdevice.ArgumentError, match="divide by zero"):
            cc.divide(a, b)
        assert cc.divide(on(device, [1, None], word), b).to("cpu").to_pylist() == [1, None]
    assert cc.divide(on(device, [1.0]), on(device, [0.0])).to("cpu").to_pylist() == [float("inf")]
    with pytest.raises(ValueError, match="divide by zero"):
        cc.divide_checked(on(device, [1.0]), on(device, [0.0]))


def test_a_cast_that_loses_is_told(device):
    for values, schema, to in [
        ([300, 1], "int64", "uint8"),
        ([-1], "int32", "uint8"),
        ([-1], "int32", "uint32"),
        ([(1 << 53) + 1], "int64", "float64"),
        ([1.5], "float64", "int32"),
        ([float("nan")], "float64", "int64"),
        ([1e30], "float64", "int64"),
        ([float(1 << 63)], "float64", "int64"),
    ]:
        with pytest.raises(cdevice.ArgumentError, match="cast: "):
            cc.cast(on(device, values, schema), to)
        cc.cast(on(device, values, schema), to, safe=False)
        cc.cast(on(device, [None, *[0] * 3], schema), to)
    got = cc.cast(on(device, [float("nan"), 1e30, -1e30, 2.9], "float64"), "int32", safe=False).to("cpu").to_pylist()
    assert got == [0, (1 << 31) - 1, -(1 << 31), 2]


def test_an_index_of_no_row_is_told(device):
    for bad in (3, -1):
        with pytest.raises(cc.IndexOutOfBounds, match=f"index {bad} out of bounds"):
            cc.take(on(device, [1, 2, 3]), on(device, [0, bad]))
        with pytest.raises(IndexError):
            cc.take(on(device, [True, False, True]), on(device, [0, bad]))
    with pytest.raises(IndexError):
        cc.take(on(device, [], "int64"), on(device, [0]))
    with pytest.raises(cc.NoKernel, match="integers"):
        cc.take(on(device, [1]), on(device, [1.0]))


def test_a_released_array_is_told():
    a = cdevice.asarray([1, 2])
    a.release()
    with pytest.raises(cdevice.Released):
        cc.add(a, 1)


def test_values_that_lie_oddly_are_copied_first():
    raw = np.zeros(33, "u1")
    raw[1:] = np.arange(4, dtype="i8").view("u1")
    owner = pa.py_buffer(raw.tobytes()[1:])
    sliced = pa.py_buffer(raw).slice(1)
    assert owner.size == 32
    a = pa.Array.from_buffers(pa.int64(), 4, [None, sliced])
    assert cc.add(a, 1).to_pylist() == [1, 2, 3, 4]
    assert cc.sum(a).as_py() == 6


def test_a_bitmap_that_begins_anywhere_is_read_within_its_bytes():
    for begin in range(4):
        raw = bytes(begin) + b"\x05"
        bits = pa.py_buffer(raw).slice(begin)
        values = pa.array([1, 2, 3]).buffers()[1]
        a = pa.Array.from_buffers(pa.int64(), 3, [bits, values])
        assert cc.add(a, 1).to_pylist() == [2, None, 4]
        assert cc.filter([1, 2, 3], pa.Array.from_buffers(pa.bool_(), 3, [None, bits])).to_pylist() == [1, 3]


def test_a_program_is_kept_in_a_folder_of_ones_own_and_built_again_where_it_is_broken(tmp_path):
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    import subprocess
    import sys

    program = (
        "import cdevice, cdevice.compute as cc\n"
        "print(cc.add(cdevice.asarray([1, None]).to('opencl'), 1).to('cpu').to_pylist())"
    )
    folder = tmp_path / "kept"

    def run():
        environment = {**os.environ, "CDEVICE_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120
        )
        assert done.stdout == "[2, None]\n", done.stderr
        return {p.name: p.read_bytes() for p in folder.iterdir()}

    first = run()
    assert len(first) == 2  # the sum, and its nulls: a kernel each
    assert not any(b"subtract_i64" in data or b"is_valid_bits" in data for data in first.values())
    assert first and folder.stat().st_mode & 0o777 == 0o700
    assert all(p.stat().st_mode & 0o777 == 0o600 for p in folder.iterdir())
    assert run() == first
    for k, path in enumerate(sorted(folder.iterdir())):
        data = path.read_bytes()
        path.write_bytes([b"", data[:100], data[:-1] + bytes([data[-1] ^ 1])][k % 3])
    assert run().keys() == first.keys()
    folder.chmod(0o775)  # others may write names there: nothing is read, nothing written
    for path in folder.iterdir():
        path.unlink()
    environment = {**os.environ, "CDEVICE_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)
    assert done.stdout == "[2, None]\n" and not list(folder.iterdir())
    folder.chmod(0o755)  # as mkdir makes it: others may only read
    assert run().keys() == first.keys()


def test_what_is_no_array_is_refused_before_it_is_looked_at():
    from cdevice._runtime.ext import _native

    a, where = cdevice.asarray([1, 2]), (0, None)
    for call in (
        lambda x: _native.compute_take(x, a, True, *where),
        lambda x: _native.compute_take(a, x, True, *where),
        lambda x: _native.compute_runs(a, x, a, True, *where),
        lambda x: _native.compute_rows(x, 0, 2, *where),
        lambda x: _native.compute_compare(a, x, 0, 1, cdevice.asschema("bool"), *where),
        lambda x: _native.compute_filter(x, a, False, *where),
        lambda x: _native.compute_filter(a, x, False, *where),
    ):
        for other in (None, [1, 2], 7):
            with pytest.raises(TypeError):
                call(other)
