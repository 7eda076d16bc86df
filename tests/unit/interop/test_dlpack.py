"""DLPack, in and out: which arrays can, who waits, who owns, and what is said where it is impossible."""

import ctypes
import gc
import threading

import foreign_tensor
import numpy as np
import pytest
from dlpack_cases import FORMATS, SHAPES, lists
from waiting import unregister, until

import cdevice
from cdevice._runtime.ext import _native, lib
from cdevice.testing.fake import FakeBackend


class Tensor:
    """Another library's tensor: what it is and what it was asked."""

    def __init__(self, source, old=False):
        self.source, self.old, self.asked = source, old, []

    def __dlpack_device__(self):
        return self.source.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **more):
        if self.old and more:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.asked.append(stream)
        return self.source.__dlpack__(stream=stream, **more)


@pytest.fixture(scope="module")
def fake():
    b = FakeBackend(5401, "tensors")
    cdevice.register_backend(b)
    yield b
    unregister(b)


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_go_out_to_numpy_without_a_copy_and_come_in(name):
    values = np.arange(6).astype(FORMATS[name])
    array = cdevice.asarray(values)
    for rows, expected in ((array, values), (array[2:5], values[2:5]), (array[3:3], values[3:3])):
        out = np.from_dlpack(rows)
        assert out.dtype == values.dtype and out.tolist() == expected.tolist()
        assert not out.flags.writeable
        if len(rows):
            assert out.__array_interface__["data"][0] == expected.__array_interface__["data"][0]
    for old in (False, True):
        back = cdevice.asarray(Tensor(values, old))
        assert back.type == name and back.to_pylist() == values.tolist()
        assert back.buffers[1].address == values.__array_interface__["data"][0]


def test_pyarrow_takes_them():
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    if not hasattr(pa.Array, "from_dlpack"):
        pytest.skip("a newer pyarrow: pip install -U pyarrow")
    assert pa.Array.from_dlpack(cdevice.asarray([1, 2, 3])[1:]).to_pylist() == [2, 3]
    assert cdevice.asarray(Tensor(pa.array([1.5, 2.5]))).to_pylist() == [1.5, 2.5]


def test_both_generations_of_capsules_keep_the_data_and_give_it_back():
    for version in (None, (0, 8), (1, 0), (2, 0)):
        array = cdevice.asarray([1, 2, 3])
        before = lib.cdv_live_arrays()
        capsule = array.__dlpack__(max_version=version)
        assert ("dltensor_versioned" in repr(capsule)) == (version is not None and version[0] >= 1)
        del array
        back = _native.import_dlpack(capsule, None, None, "structure")
        with pytest.raises(ValueError, match="already been consumed"):
            _native.import_dlpack(capsule, None, None, "structure")
        assert back.to_pylist() == [1, 2, 3]
        del back, capsule
        gc.collect()
        _native.drain()
        assert lib.cdv_live_arrays() == before - 1


def test_an_unused_capsule_gives_the_data_back():
    before = lib.cdv_live_arrays()
    for version in (None, (1, 1)):
        cdevice.asarray([1, 2, 3]).__dlpack__(max_version=version)
    gc.collect()
    assert lib.cdv_live_arrays() == before


def test_a_foreign_tensor_is_given_back_where_python_may_run():
    import sys

    values = np.arange(4)
    count = sys.getrefcount(values)
    array = cdevice.asarray(Tensor(values))
    assert sys.getrefcount(values) > count
    from cdevice._runtime.ext import ffi

    out = ffi.new("struct ArrowDeviceArray *")
    array.export_to_c(out)
    del array
    assert lib.cdv_release_in_thread(out, 1) == 0  # without the GIL
    pause = threading.Event()
    for _ in range(30_000):  # not by until(): it would drain itself
        if sys.getrefcount(values) == count:
            break
        pause.wait(0.001)
    assert sys.getrefcount(values) == count


@pytest.mark.parametrize(
    ("values", "schema", "message"),
    [
        ([1, None], None, "cannot represent nulls"),
        (["a"], None, "no type"),
        ([True], None, "bool has a bit"),
        ([[1]], None, "no type"),
        ([["a"]], lists("string"), "no type"),
        ([[1], None], lists("int8"), "cannot represent nulls"),
        ([[1], [None]], lists("int8"), "cannot represent nulls"),
        ([1], "timestamp[s]", "no type"),
        (["u"], cdevice.Schema.make("i", dictionary=cdevice.asschema("string")), "dictionary"),
    ],
)
def test_what_dlpack_cannot_say_is_a_buffer_error(values, schema, message):
    array = cdevice.asarray(values, schema=schema)
    with pytest.raises(BufferError, match=message):
        array.__dlpack__()
    with pytest.raises(cdevice.CannotExport):
        np.from_dlpack(array)


def test_what_arrow_cannot_say_is_refused():
    for values, message in (
        (np.zeros(()), "expected 1 to 64 dimensions, not 0"),
        (np.arange(10)[::2], "not contiguous"),
        (np.zeros(3, "c16"), "no type"),
        (np.zeros(3, "?"), "no type"),
    ):
        with pytest.raises(cdevice.ArgumentError, match=message):
            cdevice.asarray(Tensor(values), copy=False)
    assert cdevice.asarray(Tensor(np.arange(10)[::2][:1]), copy=False).to_pylist() == [0]
    for values, message in ((np.zeros(()), "not 0"), (np.zeros(3, "c16"), "no type")):  # not with a copy either
        with pytest.raises(cdevice.ArgumentError, match=message):
            cdevice.asarray(Tensor(values))
    with pytest.raises(ValueError, match="expected a DLPack capsule"):
        _native.import_dlpack(object(), None, None, "structure")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_dimensions_behind_the_first_are_fixed_size_lists(shape):
    values = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    for array in (cdevice.asarray(Tensor(values)), cdevice.asarray(values)):
        assert array.equals(cdevice.asarray(values)) and array.to_pylist() == values.tolist()
        array.validate("full")
        for rows, expected in ((array, values), (array[1:], values[1:]), (array.to("cpu", copy=True), values)):
            out = np.from_dlpack(rows)
            assert out.shape == expected.shape and np.array_equal(out, expected)
            assert not out.flags.writeable or not out.size
            assert np.asarray(rows).shape == expected.shape and np.array_equal(rows.to_numpy(), expected)
        if values.size:
            assert np.from_dlpack(array).__array_interface__["data"][0] == values.__array_interface__["data"][0]
            assert np.shares_memory(array.to_numpy(), values)


def test_torch_tensors_come_in_and_go_out_without_a_copy():
    torch = pytest.importorskip("torch", reason="pip install torch")
    for made in (torch.arange(6), torch.randn(10, 384), torch.ones(2, 3, 4, dtype=torch.float16)):
        array = cdevice.asarray(made)
        assert array.to_pylist() == made.tolist()
        back = torch.from_dlpack(array[1:])
        assert torch.equal(back, made[1:]) and back.data_ptr() == made[1:].data_ptr()
    with pytest.raises(cdevice.ArgumentError, match="not contiguous"):
        cdevice.asarray(torch.ones(2, 3).T, copy=False)
    assert cdevice.asarray(torch.ones(2, 3).T).to_pylist() == [[1, 1]] * 3
    assert cdevice.asarray(torch.tensor([True, False])).to_pylist() == [True, False]
    with pytest.raises(cdevice.ArgumentError, match="no type"):
        cdevice.asarray(torch.ones(2, dtype=torch.bfloat16))
    with pytest.raises(BufferError, match="gradient"):
        cdevice.asarray(torch.ones(2, requires_grad=True))


def test_tensors_of_the_cpu_with_gaps_or_of_bools_are_copied():
    whole = np.arange(24).reshape(4, 6)
    for values in (whole.T, whole[::2], whole[:, ::2], np.arange(9)[::-2], whole > 7, np.array([True, False, True])):
        array = cdevice.asarray(Tensor(values))
        assert array.to_pylist() == values.tolist()
        copied = cdevice.asarray(Tensor(values), copy=True)
        assert copied.equals(array)
    there = cdevice.asarray(Tensor(whole.T), schema=cdevice.asarray(whole.T.copy()).schema)
    assert there.to_pylist() == whole.T.tolist()


def test_tensors_with_gaps_are_not_taken_without_a_copy():
    whole = np.zeros((4, 6))
    for values in (whole.T, whole[::2], whole[:, ::2], whole[:, :3], np.broadcast_to(np.zeros(3), (2, 3))):
        with pytest.raises(cdevice.ArgumentError, match="not contiguous"):
            cdevice.asarray(Tensor(values), copy=False)
    assert cdevice.asarray(Tensor(whole[1:3]), copy=False).length == 2
    assert cdevice.asarray(Tensor(whole.T[:1, :1])).to_pylist() == [[0]]


def test_a_tensor_of_lists_gives_its_memory_back_once_nothing_uses_it():
    import sys

    values = np.arange(24).reshape(2, 3, 4)
    count, before = sys.getrefcount(values), lib.cdv_live_arrays()
    child = cdevice.asarray(Tensor(values)).children[0].children[0]
    assert sys.getrefcount(values) > count and child.to_pylist() == list(range(24))
    again = np.from_dlpack(child)
    del child
    assert again[23] == 23 and sys.getrefcount(values) > count
    del again
    until(lambda: sys.getrefcount(values) == count and lib.cdv_live_arrays() == before)


def test_lists_on_a_device_of_handles_are_tensors_there(fake):
    there = cdevice.asarray(np.arange(12).reshape(4, 3)).to("tensors")[1:]
    back = cdevice.asarray(Tensor(there))
    assert back.device == there.device and back.type == there.type
    assert back.to("cpu").to_pylist() == [[3, 4, 5], [6, 7, 8], [9, 10, 11]]


def test_streams_and_devices_are_what_the_protocol_says(fake):
    here = cdevice.asarray([1, 2, 3])
    assert here.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="the CPU has no streams"):
        here.__dlpack__(stream=1)
    here.__dlpack__(stream=-1)
    there = here.to("tensors:1")
    assert there.__dlpack_device__() == (5401, 1)
    with pytest.raises(BufferError, match="dl_device must be this device"):
        there.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="copy=False"):
        there.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="no stream"):
        there.__dlpack__(dl_device=(1, 0), stream=3)

    class OnTheCpu:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **more):
            more.pop("dl_device", None)
            return there.__dlpack__(dl_device=(1, 0), **more)

    assert np.from_dlpack(OnTheCpu()).tolist() == [1, 2, 3]


def test_a_tensor_of_handles_travels_with_its_offset(fake):
    there = cdevice.asarray(list(range(10))).to("tensors")[3:]
    back = cdevice.asarray(Tensor(there))
    assert back.device == there.device and back.offset == 3
    assert back.to("cpu").to_pylist() == list(range(3, 10))


def test_who_waits_for_a_held_queue(fake):
    with fake.gate():
        there = cdevice.asarray([1, 2, 3]).to("tensors")
        there.__dlpack__(stream=-1)  # nobody
        there.__dlpack__(stream=77)  # that stream, on the device
        done = threading.Event()

        def host():
            there.__dlpack__()  # no default is agreed on: the host
            done.set()

        thread = threading.Thread(target=host)
        thread.start()
        assert not done.wait(0.05)
    assert done.wait(30)
    thread.join()


def test_bools_go_out_as_a_copy_that_is_asked_for():
    array = cdevice.asarray([True, False, True, True])[1:]
    with pytest.raises(BufferError, match="copy=True"):
        array.__dlpack__()
    out = np.from_dlpack(array, copy=True)
    assert out.dtype == bool and out.tolist() == [False, True, True]


def test_refusals_speak_the_words_of_types_and_name_the_way_out():
    for values, word in ((["a"], "string"), ([{"a": 1}], "struct<a: int64>")):
        with pytest.raises(BufferError, match=rf"{word} is no type of DLPack's; to_numpy\(\) or to_pylist\(\)"):
            cdevice.asarray(values).__dlpack__()


def test_a_fixed_shape_tensor_has_its_own_shape_everywhere():
    pa = pytest.importorskip("pyarrow")
    numbers = np.arange(48, dtype="f4").reshape(2, 2, 3, 4)
    array = cdevice.asarray(pa.FixedShapeTensorArray.from_numpy_ndarray(numbers))
    assert array.shape == (2, 2, 3, 4) and array.ndim == 4 and array.dtype == np.float32
    assert (np.from_dlpack(array) == numbers).all()
    assert (array.to_numpy() == numbers).all() and array[1:].to_numpy().shape == (1, 2, 3, 4)
    assert cdevice.asarray(numbers).shape == numbers.shape


def test_bfloat16_is_refused_the_same_by_every_way():
    tensor = foreign_tensor.Tensor((ctypes.c_int64 * 1)(), (4,))
    tensor.tensor.dtype[:] = (4, 16, 1, 0)
    with pytest.raises(cdevice.ArgumentError, match="bfloat16.*unsigned integers"):
        cdevice.asarray(tensor)


# ---- sizes that come in are multiplied only once they were looked at ----
class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Managed(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]  # fmt: skip


class Says:
    """A CPU tensor of int64 that says anything of its shape, its strides and where it begins."""

    def __init__(self, shape, strides=None, byte_offset=0, bits=64):
        self.memory = np.arange(4096)
        make = lambda values: (ctypes.c_int64 * len(values))(*values)
        self.shape, self.strides = make(shape), None if strides is None else make(strides)
        self.struct = _Managed(
            self.memory.ctypes.data, _Device(1, 0), len(shape), _Type(0, bits, 1), self.shape, self.strides, byte_offset
        )

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.struct), b"dltensor", None)


@pytest.mark.parametrize(
    ("shape", "strides", "byte_offset"),
    [
        ([4], [2**62], 0),
        ([4], [2**61], 0),
        ([4], [-(2**62)], 0),
        ([4], [-(2**63)], 0),
        ([4], [2**60], 0),
        ([3, 4], [2**62, 1], 0),
        ([3, 4], [4, 2**62], 0),
        ([2**31, 2**31], [2**31, 1], 0),
        ([2**31, 2**31, 4], [0, 0, 0], 0),
        ([2**62], [0], 0),
        ([2**61], None, 0),
        ([4], None, 2**63),
        ([4], [2], 2**64 - 8),
        ([4], [2], 2**60),
        ([4], [-(2**50)], 0),
        ([2**31, 2**31, 2**31], None, 0),
    ],
)
def test_sizes_of_a_tensor_that_no_memory_has_are_refused(shape, strides, byte_offset):
    for copy in (None, True, False):
        with pytest.raises((cdevice.Error, ValueError)) as error:
            cdevice.asarray(Says(shape, strides, byte_offset), copy=copy)
        assert str(error.value).strip()


def test_tensors_with_gaps_that_memory_has_are_still_copied():
    assert cdevice.asarray(Says([4], [2])).to_pylist() == [0, 2, 4, 6]
    assert cdevice.asarray(Says([4], [-1], 8 * 9)).to_pylist() == [9, 8, 7, 6]
    assert cdevice.asarray(Says([3], [0], 8 * 5)).to_pylist() == [5, 5, 5]
    assert cdevice.asarray(Says([2, 2], [1, 8])).to_pylist() == [[0, 8], [1, 9]]
    assert cdevice.asarray(Says([0], [2**62])).to_pylist() == []
    assert cdevice.asarray(Says([1], [2**62], 8 * 3)).to_pylist() == [3]


class Interface:
    """Says what an array interface says, of memory that is there."""

    def __init__(self, name="__array_interface__", **changes):
        self.memory = np.arange(64)
        said = {
            "version": 3,
            "shape": (64,),
            "typestr": "<i8",
            "data": (self.memory.ctypes.data, False),
            "strides": None,
        }
        setattr(self, name, {k: v for k, v in {**said, **changes}.items() if v is not ...})


@pytest.mark.parametrize(
    ("typestr", "words"), [("|b1", "booleans are bits.*not_equal"), ("<V2", "unsigned integers of the same size")]
)
def test_an_interface_of_another_type_is_refused_with_what_to_give_instead(typestr, words):
    size = int(typestr[2:])
    with pytest.raises(ValueError, match=words):
        cdevice.asarray(Interface("__cuda_array_interface__", typestr=typestr, shape=(64 // size,)))


def test_an_interface_that_fails_with_a_key_error_is_a_type_error_with_words():
    class Float8:
        @property
        def __cuda_array_interface__(self):
            raise KeyError("torch.float8_e4m3fn")

    with pytest.raises(TypeError, match="no CUDA array interface.*float8_e4m3fn.*unsigned integers"):
        cdevice.asarray(Float8())


@pytest.mark.parametrize("name", ["__array_interface__", "__cuda_array_interface__"])
@pytest.mark.parametrize(
    "changes",
    [
        {"shape": (-1,)}, {"shape": (-4, -16)}, {"shape": (2**62,)}, {"shape": (2**40, 2**40)}, {"shape": (2**70,)},
        {"shape": (4, 4), "strides": (8,)}, {"shape": (4,), "strides": (2**62,)}, {"shape": (4,), "strides": (16,)},
        {"typestr": "<i0"}, {"typestr": "<i-8"}, {"typestr": "<i"}, {"typestr": 8}, {"shape": (4.5,)}, {"shape": ("4",)},
        {"data": (-8, False)}, {"data": (2**64, False)}, {"data": ("8", False)}, {"data": (0, False)}, {"shape": ...},
    ],
)  # fmt: skip
def test_an_array_interface_that_says_nonsense_is_refused(name, changes):
    said = Interface(name, **changes)
    with pytest.raises((cdevice.Error, ValueError, TypeError, KeyError)) as error:
        if name == "__array_interface__":
            cdevice.from_buffers("int64", 4, [None, said])
        else:
            cdevice.asarray(said)
    assert str(error.value).strip()


def test_rows_of_arrays_that_are_joined_are_counted_in_64_bits():
    many = cdevice.from_buffers("null", 2**62, [])
    with pytest.raises((cdevice.Error, ValueError, MemoryError)):
        cdevice.concat([many, many, many])
    with pytest.raises((cdevice.Error, ValueError, OverflowError)):
        cdevice.from_buffers("null", 2**63, [])


def test_a_tensor_extension_of_negative_dimensions_is_a_list():
    metadata = {"ARROW:extension:name": "arrow.fixed_shape_tensor", "ARROW:extension:metadata": '{"shape": [-2, -3]}'}
    values = cdevice.asarray(list(range(12)))
    schema = cdevice.Schema.make("+w:6", children=[values.schema.with_name("item")], metadata=metadata)
    array = cdevice.from_buffers(schema, 2, [None], children=[values])
    assert array.shape == (2, 6) and array.to_numpy().tolist() == np.arange(12).reshape(2, 6).tolist()


def test_a_copy_that_was_asked_for_is_its_consumers_to_write_to():
    a = cdevice.asarray(np.arange(5))
    copied, shown = np.from_dlpack(a, copy=True), np.from_dlpack(a)
    copied[0] = 99
    assert copied.flags.writeable and not shown.flags.writeable and a.to_pylist() == [0, 1, 2, 3, 4]
    assert np.from_dlpack(a, device="cpu", copy=True).flags.writeable


def test_to_numpy_copies_where_it_is_told_to_and_refuses_where_it_must_not():
    numbers, bools = cdevice.asarray(np.arange(6)), cdevice.asarray([True, False])
    lists, words = cdevice.asarray(np.arange(6).reshape(2, 3)), cdevice.asarray(["a", None])
    for array in (numbers, bools, lists, words, cdevice.asarray([1.5, None]), numbers[2:4]):
        copied = array.to_numpy(copy=True)
        assert copied.flags.writeable and str(copied.tolist()) == str(array.to_numpy().tolist())
        before = array.to_pylist()
        copied.reshape(-1)[0] = copied.reshape(-1)[-1]
        assert array.to_pylist() == before
    assert np.shares_memory(numbers.to_numpy(copy=False), numbers.to_numpy())
    assert not lists.to_numpy(copy=False).flags.writeable
    for array in (bools, words, cdevice.asarray([1, None])):
        with pytest.raises(ValueError, match="copy=False"):
            array.to_numpy(copy=False)
    with pytest.raises(ValueError, match="copy must be"):
        numbers.to_numpy(copy="no")
