"""fallback="copy": what it copies, what it says, and that nothing is copied unasked."""

import sys
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
        upper = cc.call_function("utf8_normalize", [words], form="NFC")
        assert upper.device == far and upper.to("cpu").to_pylist() == ["b"]
        assert cc.min_max(x)["max"].as_py() == 3


def test_every_function_takes_it():
    more = {"partition_nth_indices": {"pivot": 0}, "select_k_unstable": {"k": 1, "sort_keys": ["x"]}}
    more |= {
        "assume_timezone": {"timezone": "UTC"},
        "strptime": {"format": "%Y", "unit": "s"},
        "list_slice": {"start": 0},
        "is_in": {"value_set": [1]},
        "index_in": {"value_set": [1]},
        "index": {"value": 1},
        "map_lookup": {"query_key": 1, "occurrence": "first"},
        "reshape": {"shape": 1},
        "struct_field": {"indices": 0},
    }
    for word in ("starts_with", "ends_with", "match_substring", "match_like", "find_substring", "count_substring"):
        more[word] = more[f"{word}_regex"] = {"pattern": "a"}
    for kind in ("utf8", "ascii"):
        more |= {f"{kind}_{word}": {"width": 1} for word in ("lpad", "rpad", "center", "zero_fill")}
        more |= {f"{kind}_{word}": {"characters": "a"} for word in ("trim", "ltrim", "rtrim")}
    more["split_pattern"], more["replace_substring"] = {"pattern": "a"}, {"pattern": "a", "replacement": "b"}
    more["utf8_slice_codeunits"] = more["binary_slice"] = {"start": 0}
    more["utf8_replace_slice"] = more["binary_replace_slice"] = {"start": 0, "stop": 1, "replacement": "a"}
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
        cc.call_function("utf8_normalize", [x], form="NFC", fallback="copy")


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
    out, seen = warned(lambda: cc.call_function("utf8_normalize", [words], form="NFC", fallback="copy"))
    assert out.device == there and out.to("cpu").to_pylist() == ["a", None]
    assert "utf8_normalize: no kernel on opencl:0, computed on cpu" in seen[0][1]


def test_a_context_of_fallback_holds_where_python_hands_it_on_and_ends(far):
    x = cdevice.asarray([1]).to(far)
    got = []
    handed = getattr(sys.flags, "thread_inherit_context", 0)  # to a thread that this one starts

    def elsewhere():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cdevice.DeviceWarning)
                got.append(cc.add(x, 1).to("cpu").to_pylist())
        except cdevice.Unsupported:
            got.append("error")

    with cc.fallback("copy"):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert got == ([[2]] if handed else ["error"])
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


def rows(x):
    x = x.array if isinstance(x, cc.Scalar) else x
    return [repr(v) for v in pa.array(x.to("cpu")).to_pylist()]


def test_what_is_left_to_pyarrow_is_computed_by_it_on_request(there, monkeypatch):
    import function_table

    types = [t for some in function_table.TYPES.values() for t in some]
    ends_the_process = {("list_parent_indices", t) for t in types if pa.types.is_map(t)}
    computed = set()
    for name in cc.list_functions(include_providers=True):
        f = cc.get_function(name)
        for t in types:
            if f.kind == "hash_aggregate" or (name, t) in ends_the_process or not function_table.works(f, t):
                continue
            monkeypatch.setenv("CDEVICE_BACKENDS", "-pyarrow")
            own = function_table.works(f, t)
            monkeypatch.setenv("CDEVICE_BACKENDS", "")
            if own:  # nothing is left to pyarrow
                continue
            args, options = function_table.arguments(f, t)
            moved = [cdevice.asarray(x).to(there) if isinstance(x, pa.Array) else x for x in args]
            with pytest.raises((cdevice.Unsupported, cdevice.ArgumentError)):
                f(*moved, **options)
            out, seen = warned(lambda f=f, moved=moved, options=options: f(*moved, fallback="copy", **options))
            assert rows(out) == rows(f(cdevice.asarray(args[0]), *args[1:], **options)), (name, t)
            assert (out.array if isinstance(out, cc.Scalar) else out).device == there
            assert any(c is cdevice.DeviceWarning and m.startswith(f"{name}: no kernel on") for c, m, _ in seen), name
            computed.add(name)
    alone = {*cc.list_functions(include_providers=True)} - {*cc.list_functions()}
    untyped = {"month_interval_between", "day_time_interval_between"}  # pyarrow has no objects of these types
    assert computed >= alone - untyped - {"index_in_meta_binary", "is_in_meta_binary"}, alone - computed
