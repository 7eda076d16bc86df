"""One dispatch cache: bounded, of one generation of kernels, filled from the ranked list; kernels that others add."""

import gc
import importlib
import threading

import numpy as np
import pytest
from memory import growth

import cdevice
import cdevice.compute as cc

pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")
pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

from compute_cases import PLACES, enter  # noqa: E402


@pytest.fixture
def add():
    """The built-in function; kernels that a test adds are taken out."""
    f = cc.get_function("add")
    before = f.kernels
    yield f
    for k in f.kernels:
        if all(k is not b for b in before):
            f.remove_kernel(k)


def test_a_kernel_that_raises_nokernel_is_asked_again(add):
    asked = []

    def short(call, x, y):
        asked.append(len(x.array))
        if len(x.array) > 2:
            raise cc.NoKernel("short arrays only")
        return cc.negate(x.array)

    add.add_kernel(["int64", "int64"], "int64", short, library="mine", priority=1)
    two, three = cdevice.asarray([1, 2]), cdevice.asarray([1, 2, 3])
    for _ in range(3):
        assert cc.add(two, two).to_pylist() == [-1, -2] and cc.add(three, three).to_pylist() == [2, 4, 6]
    assert asked == [2, 3] * 3


def test_a_kernel_is_asked_from_the_moment_it_is_added_until_it_is_removed(add):
    x = cdevice.asarray([1, 2])
    for _ in range(3):
        assert cc.add(x, x).to_pylist() == [2, 4]  # learned
    k = add.add_kernel(["int64", "int64"], "int64", lambda call, a, b: cc.negate(a.array), library="mine", priority=1)
    assert cc.add(x, x).to_pylist() == [-1, -2]
    add.remove_kernel(k)
    assert cc.add(x, x).to_pylist() == [2, 4]
    with pytest.raises(ValueError, match="has no kernel"):
        add.remove_kernel(k)


def test_a_call_that_runs_while_a_kernel_is_added_is_not_remembered(add):
    """What was found among the kernels of before must not be learned after."""
    x, inside, go_on = cdevice.asarray([1.5]), threading.Event(), threading.Event()

    def slow(call, a, b):
        inside.set()
        assert go_on.wait(30)
        raise cc.NoKernel("not this one")

    k = add.add_kernel(["float64", "float64"], "float64", slow, library="slow", priority=1)
    thread = threading.Thread(target=lambda: cc.add(x, x))
    thread.start()
    assert inside.wait(30)
    add.remove_kernel(k)
    add.add_kernel(["float64", "float64"], "float64", lambda call, a, b: cc.negate(a.array), library="mine", priority=1)
    go_on.set()
    thread.join()
    for _ in range(3):
        assert cc.add(x, x).to_pylist() == [-1.5]


def test_what_is_remembered_does_not_grow_with_the_types_that_are_met():
    equal = cc.get_function("equal")
    for k in range(2000):
        x = cdevice.from_buffers(f"timestamp[us, tz=A/{k:05d}]", 2, [None, np.arange(2)])
        cc.equal(x, x), cc.is_null(x), cc.min(x), cc.filter(x, [True, False])
    gc.collect()
    casts = importlib.import_module("cdevice.compute.kernels.cast.numeric")
    kernels = importlib.import_module("cdevice.compute.kernels.elementwise")  # the name is a function's, too
    assert len(equal._dispatch_cache) <= 256 and len(kernels._schemas) <= 1000 and len(casts._kernels) <= 1000
    for f in (cc.get_function(n) for n in cc.list_functions()):
        for k in f.kernels:
            plans = getattr(k.exec, "plans", None)
            assert plans is None or len(plans) <= 100


PROGRAM = """
import itertools
import cdevice, cdevice.compute as cc, numpy as np
def one(k):
    x = cdevice.from_buffers("timestamp[us, tz=Z%d]" % k, 2, [None, np.arange(2)])
    cc.is_null(x), cc.equal(x, x), cc.min(x)
numbers = itertools.count()
def run(n):
    for k in itertools.islice(numbers, n):
        one(k)
"""


def test_memory_stays_where_it_is_whatever_types_come():
    assert growth(PROGRAM, 1500, 7500) < 3000 << 10


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((None, "scalar", 1), TypeError),
        ((5, "scalar", 1), TypeError),
        (("", "scalar", 1), ValueError),
        (("f", "table", 1), ValueError),
        (("f", None, 1), ValueError),
        (("f", "scalar", "1"), TypeError),
        (("f", "scalar", None), TypeError),
        (("f", "scalar", True), TypeError),
        (("f", "scalar", 1, "", 5), TypeError),
    ],
)
def test_a_function_that_is_none_is_refused_before_it_is_registered(args, error):
    with pytest.raises(error):
        cc.Function(*args)
    cc.list_functions()


def test_a_registry_takes_functions_alone():
    registry = cc.FunctionRegistry(cc.function_registry())
    for thing in (None, 5, "add", len):
        with pytest.raises(TypeError):
            registry.add_function(thing)
    for target, source in ((None, "add"), (5, "add"), ("", "add"), ("plus", 5)):
        with pytest.raises((TypeError, KeyError)):
            registry.add_alias(target, source)
    with pytest.raises(TypeError):
        registry.add_function_options_type(dict)
    with pytest.raises(KeyError, match="did you mean .*add"):
        registry.get_function("ad")
    for name in (None, 5, ["add"]):
        with pytest.raises((KeyError, TypeError)):
            registry.get_function(name)
    assert registry.get_function_names()


@pytest.mark.parametrize(
    ("out", "result", "error", "said"),
    [
        ("int64", lambda x: cc.cast(x, "float64"), TypeError, "returned float64, but it declares int64"),
        ("int64", lambda x: x.to_pylist(), TypeError, "returned list: a kernel must return a DeviceArray or a Scalar"),
        ("int64", lambda x: None, TypeError, "returned NoneType"),
        ("int64", lambda x: cc.sum(x), ValueError, "returned one value, expected 3 rows"),
        (lambda formats: 5, lambda x: x, TypeError, "returned int, expected an Arrow format"),
        (None, lambda x: pc.run_end_encode(pa.array([1, 1, 2])), TypeError, "returned RunEndEncodedArray"),
        ("int64", lambda x: x[:1], ValueError, "returned 1 rows, expected 3 rows"),
        (lambda formats: formats[0], lambda x: cc.is_null(x), TypeError, "returned bool, but it declares int64"),
    ],
)
def test_what_a_kernel_gives_is_held_against_what_it_declared(out, result, error, said):
    f = cc.Function("odd", "scalar", 1)
    f.add_kernel(["int64"], out, lambda call, x: result(x.array), library="mine")
    with pytest.raises(error, match=said):
        f([1, 2, 3])


@pytest.mark.parametrize(
    "bad",
    [
        {"exec": None},
        {"exec": 5},
        {"init": 5},
        {"null_handling": "drop"},
        {"priority": "x"},
        {"priority": 1.5},
        {"chunks": "x"},
        {"inputs": ["int64"] * 2},
    ],
)
def test_a_kernel_that_is_none_is_refused(bad):
    f = cc.Function("odd", "scalar", 1)
    given = {"inputs": ["int64"], "out": "int64", "exec": lambda call, x: x.array, **bad}
    with pytest.raises(
        (TypeError, ValueError), match=next(iter(bad)) if "inputs" not in bad else "odd takes 1 argument"
    ):
        f.add_kernel(given.pop("inputs"), given.pop("out"), given.pop("exec"), **given)
    assert f.kernels == ()


@pytest.mark.parametrize("device", list(PLACES), indirect=True)
def test_a_kernel_of_somebody_else_gets_casts_and_nulls_done(device):
    f = cc.Function("half", "scalar", 1)
    f.add_kernel(["float64"], "float64", lambda call, x: cc.multiply(cc.fill_null(x.array, 8.0), 0.5), library="mine")
    for values, schema in (([2, None, 6], "int32"), ([2.0, None, 6.0], "float32"), ([2, None, 6], "uint8")):
        assert f(cdevice.asarray(values, schema=schema).to(device)).to("cpu").to_pylist() == [1.0, None, 3.0]
    assert f(cdevice.asarray([None, 4.0, None]).to(device)[1:]).to("cpu").to_pylist() == [2.0, None]
    with pytest.raises(cc.NoKernel):
        f(cdevice.asarray([1, 2]).to(device))  # int64: what does not fit float64 would be lost
    g = cc.Function("known", "scalar", 1)
    g.add_kernel(
        ["float64"], "float64", lambda call, x: cc.fill_null(x.array, 8.0), library="mine", null_handling="computed"
    )
    assert g(cdevice.asarray([2.0, None]).to(device)).to("cpu").to_pylist() == [2.0, 8.0]


@pytest.fixture
def device(request, monkeypatch):
    return enter(request.param, monkeypatch)


def test_a_kernel_for_opencl_gets_the_queue_that_its_work_belongs_to():
    cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    seen = []

    def twice(call, x):
        queue = cl.CommandQueue.from_int_ptr(call.queue(), retain=True)
        seen.append((call.stream, call.device_type, call.device_id))
        program = cl.Program(queue.context, "kernel void f(global const long *a, global long *b) "
                             "{ b[get_global_id(0)] = 2 * a[get_global_id(0)]; }").build()  # fmt: skip
        draft = cdevice.empty("int64", len(x.array), device=queue)
        program.f(
            queue, (len(x.array),), None, x.array.buffers[1].to_pyopencl(queue), draft.buffers[1].to_pyopencl(queue)
        )
        return draft.freeze()

    f = cc.Function("twice", "scalar", 1)
    f.add_kernel(["int64"], "int64", twice, device="opencl", library="mine")
    assert f(cdevice.asarray([1, None, 3]).to("opencl")).to("cpu").to_pylist() == [2, None, 6]
    device = cdevice.asarray([1]).to("opencl").device
    own = cl.CommandQueue(cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())]))
    assert f(cdevice.asarray([4]).to(own)).to("cpu").to_pylist() == [8]
    assert seen[0][1:] == (4, device.id)


def test_help_and_completion_show_functions():
    import inspect
    import pydoc

    assert "PyCapsule" not in pydoc.render_doc(cc.add) and "add(x, y, /" in pydoc.plain(pydoc.render_doc(cc.add))
    assert set(dir(cc)) == set(cc.__all__) and "argument" not in dir(cc)
    assert not [n for n in dir(cc) if inspect.ismodule(getattr(cc, n))]
    assert str(inspect.signature(cc.add)) == "(x, y, /, *, stream=None, fallback=None)"


def test_scalars_are_made_of_arrays_of_one_row():
    for thing in (5, None, "x", [1]):
        with pytest.raises(TypeError, match="array must be a DeviceArray"):
            cc.Scalar(thing)
    s = cc.sum([1, 2])
    s.array.release()
    assert "released" in repr(s) and "released" in str(s)


# ---- every kernel with every form of its arguments ----
def _forms(array):
    """An array whose rows are all one value, as rows, as one row for all, as a number of Python."""
    yield array
    yield cc.Scalar(array[:1])
    value = array[:1].to("cpu").to_pylist()[0]
    if type(value) in (bool, int, float):
        yield value


VALUES = {
    "b": [True],
    "c": [3],
    "s": [3],
    "i": [3],
    "l": [3],
    "C": [3],
    "S": [3],
    "I": [3],
    "L": [3],
    "e": [2.5],
    "f": [2.5],
    "g": [2.5],
}


IN_ONE = ("acos_checked", "asin_checked", "atanh_checked")  # of numbers from -1 to 1


def _cases():
    from cdevice.compute.kernels.elementwise import Map

    for name in cc.list_functions():
        f = cc.get_function(name)
        if f.kind == "scalar" and f.arity > 0:
            for k in f.kernels:
                if isinstance(k.exec, Map) and all(isinstance(i, str) and i in VALUES for i in k.signature.inputs):
                    yield pytest.param(name, k.signature.inputs, id=f"{name}-{''.join(k.signature.inputs)}")


@pytest.mark.parametrize("place", ["cpu", "opencl"])
@pytest.mark.parametrize(("name", "formats"), list(_cases()))
def test_every_kernel_gives_the_same_for_every_form_of_its_arguments(name, formats, place):
    if not cdevice.device(place).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    if place == "opencl" and formats[-1] not in "bilgC":
        pytest.skip("the others are the same text: each type is a program to build")
    f = cc.get_function(name)
    values = [[0.5] if name in IN_ONE else VALUES[x] for x in formats]
    rows = [
        cdevice.asarray(v * 40, schema=cdevice.Schema.make(x)).to(place) for v, x in zip(values, formats, strict=True)
    ]
    whole = f(*rows)
    want, kind = whole.to("cpu").to_pylist(), whole.type
    nulls = [cdevice.asarray([None] * 40, schema=cdevice.Schema.make(x)).to(place) for x in formats]
    for k in range(3 ** len(formats)):
        args, given = [], []
        for i in range(len(formats)):
            forms = list(_forms(rows[i]))
            form = k // 3**i % 3
            given.append(form if form < len(forms) else 0)
            args.append(forms[given[-1]])
        got = f(*args)
        if got.type != kind:
            continue  # a number of Python has a type of its own
        assert repr(got.as_py() if isinstance(got, cc.Scalar) else got.to("cpu").to_pylist()[0]) == repr(want[0]), given
        for i in range(len(formats)):
            plain = f(*rows[:i], nulls[i], *rows[i + 1 :]).to("cpu").to_pylist()
            lone = f(*args[:i], None, *args[i + 1 :])
            assert repr(lone.as_py() if isinstance(lone, cc.Scalar) else lone.to("cpu").to_pylist()[0]) == repr(
                plain[0]
            ), (given, i)


def test_a_result_without_a_bitmap_that_must_take_nulls_is_refused():
    f = cc.Function("f", "scalar", 1)
    f.add_kernel(["int64"], None, lambda c, a: cdevice.asarray(pc.run_end_encode(pa.array([1, 1, 2]))), library="mine")
    assert f([1, 2, 3]).to_pylist() == [1, 1, 2]
    with pytest.raises(TypeError, match="no bitmap that could take nulls"):
        f([1, None, 3])


def test_options_beside_options_are_an_error():
    x = cdevice.asarray([1, None, 3])
    for call in (
        lambda: cc.sum(x, min_count=5, options=cc.ScalarAggregateOptions(min_count=0)),
        lambda: cc.sum(x, options={"min_count": 1}, min_count=5),
        lambda: cc.cast(x, "int8", options=pc.CastOptions.safe(pa.int32())),
        lambda: cc.count(x, "all", options=cc.CountOptions()),
        lambda: cc.call_function("sum", [x], options=cc.ScalarAggregateOptions(), min_count=5),
    ):
        with pytest.raises(TypeError, match="were both given"):
            call()
    assert cc.cast(x, options=pc.CastOptions.safe(pa.int32())).type == "int32" and cc.count(x, "all").as_py() == 3
    with pytest.raises(TypeError, match="target_type"):
        cc.cast(x)


def test_what_is_no_registry_name_or_list_of_arguments_is_refused():
    for call in (
        lambda: cc.call_function("add", [[1], [2]], registry=5),
        lambda: cc.FunctionRegistry(5),
        lambda: cc.call_function(5, [[1]]),
        lambda: cc.call_function("add", 5),
        lambda: cc.Function("a\0b", "scalar", 1),
        lambda: cc.Function("\ud800", "scalar", 1),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()


def test_checked_arithmetic_has_no_kernels_of_wider_types():
    with pytest.raises(cc.NoKernel):
        cc.get_function("negate_checked").dispatch_best(["uint8"], 4)
