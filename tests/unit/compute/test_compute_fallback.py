"""fallback="copy": what it copies, what it says, and that nothing is copied unasked."""

import threading
import warnings

import pytest

import cdevice
import cdevice.compute as cc
from cdevice._runtime.ext import lib
from cdevice.testing.fake import FakeBackend

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

FAR = 5601


@pytest.fixture
def far():
    """A device without kernels."""
    cdevice.register_backend(FakeBackend(FAR, "far"))
    before = lib.cdv_live_arrays()
    yield cdevice.device("far")
    import gc

    from waiting import until

    gc.collect()
    until(lambda: lib.cdv_live_arrays() <= before and lib.cdv_backend_live(FAR) == 0)
    cdevice.unregister_backend(FAR)


@pytest.fixture
def there():
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    return cdevice.device("opencl")


def warned(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        out = call()
    return out, [(w.category, str(w.message), w.filename) for w in seen]


def test_a_device_without_kernels_is_an_error_unless_copies_are_asked_for(far):
    x = cdevice.asarray([1, None, 3]).to(far)
    with pytest.raises(cdevice.Unsupported, match=r"the backend of far does not support kernels"):
        cc.add(x, 1)
    out, seen = warned(lambda: cc.add(x, 1, fallback="copy"))
    assert out.device == far and out.to("cpu").to_pylist() == [2, None, 4]
    (one,) = seen
    assert one == (
        cdevice.DeviceWarning,
        f"add: no kernel on far:0, computed on cpu: {x.to('cpu').nbytes} bytes copied there and {out.nbytes} back",
        __file__,
    )


def test_scalars_chunks_batches_and_other_kinds_of_functions_come_back_too(far):
    x = cdevice.asarray([3, None, 1]).to(far)
    with cc.fallback("copy"), pytest.warns(cdevice.DeviceWarning):
        total = cc.sum([x, x])
        assert isinstance(total, cc.Scalar) and total.device == far and total.as_py() == 8
        assert cc.add(x, total).to("cpu").to_pylist() == [11, None, 9]
        assert cc.cast(x, "float64").device == far
        assert cc.coalesce(x, 5).to("cpu").to_pylist() == [3, 5, 1]
        batch = cdevice.asarray(pa.record_batch({"a": [1, 2], "b": ["x", "y"]})).to(far)
        mask = cdevice.asarray([False, True]).to(far)
        assert cc.filter(batch, mask).to("cpu").to_pylist() == [{"a": 2, "b": "y"}]
        words = cdevice.asarray(["b"]).to(far)
        upper = cc.call_function("utf8_upper", [words])
        assert upper.device == far and upper.to("cpu").to_pylist() == ["B"]
        assert cc.min_max(x)["max"].as_py() == 3


def test_every_function_takes_it():
    more = {"partition_nth_indices": {"pivot": 0}, "select_k_unstable": {"k": 1, "sort_keys": ["x"]}}
    more |= {
        "list_slice": {"start": 0},
        "is_in": {"value_set": [1]},
        "index_in": {"value_set": [1]},
        "index": {"value": 1},
    }
    for name in cc.list_functions():
        f = getattr(cc, name)
        with pytest.raises(ValueError, match="fallback must be one of error, copy, not 'maybe'"):
            f(
                *([[True]] * max(abs(cc.get_function(name).arity), 2 if name == "cast" else 1)),
                fallback="maybe",
                **more.get(name, {}),
            )


def test_errors_of_the_call_are_those_of_the_cpu(far):
    x = cdevice.asarray([1]).to(far)
    with pytest.raises(cdevice.ArgumentError, match="divide by zero"):
        cc.divide(x, 0, fallback="copy")
    with pytest.raises(cdevice.Unsupported, match="far"):
        cc.call_function("utf8_upper", [x], fallback="copy")


def test_arguments_on_two_devices_go_to_the_first(there):
    x, y = cdevice.asarray([1, 2]).to(there), cdevice.asarray([10, 20])
    with pytest.raises(cdevice.ArgumentError, match=r"add: arguments on opencl:0 and cpu; move one with \.to\(\)"):
        cc.add(x, y)
    for a, b, where in ((x, y, "opencl:0"), (y, x, "cpu")):
        out, seen = warned(lambda a=a, b=b: cc.add(a, b, fallback="copy"))
        assert str(out.device) == where and out.to("cpu").to_pylist() == [11, 22]
        assert [text for _, text, _ in seen] == [f"add: arguments on two devices, 16 bytes copied to {where}"]
    total = cc.sum(y)  # single values of the host follow, asked or not, and so nothing is said
    assert warned(lambda: cc.add(x, total, fallback="copy").to("cpu").to_pylist()) == ([31, 32], [])


def test_what_the_device_has_a_kernel_for_is_not_copied(there):
    x = cdevice.asarray([1, 2]).to(there)
    with cc.fallback("copy"):
        out, seen = warned(lambda: cc.add(x, 1))
    assert out.device == there and seen == []
    words = cdevice.asarray(["a", None]).to(there)
    out, seen = warned(lambda: cc.call_function("utf8_upper", [words], fallback="copy"))
    assert out.device == there and out.to("cpu").to_pylist() == ["A", None]
    assert "utf8_upper: no kernel on opencl:0, computed on cpu" in seen[0][1]


def test_what_is_said_around_calls_holds_in_this_thread_and_ends(far):
    x = cdevice.asarray([1]).to(far)
    got = []

    def elsewhere():
        try:
            cc.add(x, 1)
        except cdevice.Unsupported:
            got.append("error")

    with cc.fallback("copy"):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert got == ["error"]
        with cc.fallback("error"), pytest.raises(cdevice.Unsupported):
            cc.add(x, 1)
        with pytest.raises(cdevice.Unsupported):
            cc.add(x, 1, fallback="error")
        with pytest.warns(cdevice.DeviceWarning):
            cc.add(x, 1)
    with pytest.raises(cdevice.Unsupported):
        cc.add(x, 1)
    with pytest.raises(ValueError, match="not 'none'"), cc.fallback("none"):
        pass
