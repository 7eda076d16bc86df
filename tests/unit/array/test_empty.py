"""Memory that a kernel fills: its layout, who may write when, and what it becomes."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
from standin import TYPES
from waiting import settle, unregister, until

import cdevice
from cdevice._runtime.ext import ffi, lib
from cdevice.testing.fake import FakeBackend

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
opencl = pytest.mark.skipif(not cdevice.device("opencl").is_available, reason="apt-get install pocl-opencl-icd")

FIXED = {
    "int8": "i1",
    "uint16": "u2",
    "int32": "i4",
    "uint64": "u8",
    "float16": "f2",
    "float32": "f4",
    "double": "f8",
    "date32": "i4",
    "time32[ms]": "i4",
    "timestamp[us, UTC]": "i8",
    "duration[ns]": "i8",
    "decimal128(10, 2)": "u1",
    "fixed_size_binary[3]": "u1",
    "bool": "u1",
    "month_day_nano_interval": "u1",
}


@pytest.fixture
def fake():
    backend = FakeBackend(5120, "blank")
    cdevice.register_backend(backend)
    yield backend
    gc.collect()
    unregister(backend)
    assert not backend.live()


# ---- layout ----
@pytest.mark.parametrize("type", FIXED)
def test_each_fixed_width_type_has_its_buffers_and_their_numpy_type(type):
    try:
        draft = cdevice.empty(type, 10, validity=True)
    except ValueError as error:
        pytest.fail(str(error))
    bits, values = draft.buffers
    assert bits.size == 2 and bits.dtype == "u1"
    width = {"decimal128(10, 2)": 16, "fixed_size_binary[3]": 3, "month_day_nano_interval": 16}.get(type)
    expected = 2 if type == "bool" else 10 * (width or int(FIXED[type][1:]))
    assert values.size == expected and values.dtype == FIXED[type]
    assert values.address % 64 == 0
    bits.memoryview()[:] = b"\xff\x01"
    values.memoryview()[:] = bytes(expected)
    done = draft.freeze()
    done.validate("full")
    assert done.null_count == 1 and done.to_pylist()[9] is None
    pa.array(done).validate(full=True)


def test_structs_and_fixed_size_lists_have_their_children_and_a_batch_no_bitmap_of_its_own():
    draft = cdevice.empty({"a": "int32", "v": cdevice.asschema(pa.list_(pa.float32(), 3))}, 5, validity=True)
    assert [b.address for b in draft.buffers] == [0]
    a, v = draft.children
    assert draft.field("v").type == v.type and draft.field(0).length == 5
    assert [b.size for b in a.buffers] == [1, 20] and [b.size for b in v.buffers] == [1]
    assert v.children[0].length == 15 and [b.size for b in v.children[0].buffers] == [2, 60]
    np.asarray(a.buffers[1])[:] = np.arange(5)
    np.asarray(v.children[0].buffers[1])[:] = np.arange(15)
    for bits in (a.buffers[0], v.buffers[0], v.children[0].buffers[0]):
        bits.memoryview()[:] = b"\xff" * bits.size
    a.buffers[0].memoryview()[0] = 0b11101
    done = draft.freeze(null_count=0)
    assert done["a"].to_pylist() == [0, None, 2, 3, 4]
    assert done["v"].to_pylist()[1] == [3, 4, 5]
    assert pa.record_batch(done).num_rows == 5
    with pytest.raises(KeyError):
        cdevice.empty({"a": "int8"}, 1).field("b")


def test_a_list_with_a_bitmap_at_the_top_counts_its_nulls():
    draft = cdevice.empty(pa.list_(pa.int8(), 2), 3, validity=True)
    draft.buffers[0].memoryview()[0] = 0b101
    draft.children[0].buffers[0].memoryview()[0] = 0xFF
    draft.children[0].buffers[1].memoryview()[:] = bytes(range(6))
    assert draft.freeze().to_pylist() == [[0, 1], None, [4, 5]]


@pytest.mark.parametrize(
    "schema", ["string", "large_binary", "string_view", pa.list_(pa.int8()), pa.dictionary(pa.int8(), pa.string())]
)
def test_types_whose_sizes_follow_from_values_are_refused_in_words(schema):
    with pytest.raises(cdevice.ArgumentError, match=r"sizes of .* depend on its values: use cdevice.from_buffers"):
        cdevice.empty(schema, 3)
    with pytest.raises(cdevice.ArgumentError, match="depend on its values"):
        cdevice.empty({"ok": "int8", "odd": schema}, 3)


def test_impossible_lengths_and_counts_are_refused():
    with pytest.raises(cdevice.ArgumentError, match="-1 rows"):
        cdevice.empty("int8", -1)
    with pytest.raises(cdevice.ArgumentError, match="too many"):
        cdevice.empty("int64", 1 << 62)
    with pytest.raises(cdevice.ArgumentError, match="too many"):
        cdevice.empty(pa.list_(pa.int8(), 1 << 20), 1 << 50)
    with pytest.raises(cdevice.OutOfMemory):
        cdevice.empty("int64", 1 << 56)
    with pytest.raises(cdevice.ArgumentError, match="1 nulls in 2 rows without a bitmap"):
        cdevice.empty("int8", 2).freeze(null_count=1)
    draft = cdevice.empty("int8", 2, validity=True)
    for wrong in (3, -2):
        with pytest.raises(cdevice.ArgumentError, match="nulls in 2 rows"):
            draft.freeze(null_count=wrong)
    assert not draft.frozen
    with pytest.raises(TypeError):
        cdevice.MutableArray()
    with pytest.raises(TypeError):
        cdevice.MutableBuffer()


def test_no_rows_need_no_memory():
    draft = cdevice.empty({"a": "int64"}, 0, validity=True)
    with pytest.raises(cdevice.CannotExport, match="no rows"):
        draft.children[0].buffers[1].memoryview()
    assert draft.freeze().to_pylist() == []


# ---- writing, and after it ----
def test_numpy_writes_through_the_array_interface_without_a_copy():
    draft = cdevice.empty("float64", 4)
    view = np.asarray(draft.buffers[1])
    assert view.flags.writeable and view.__array_interface__["data"][0] == draft.buffers[1].address
    view[:] = [1, 2, 3, 4]
    done = draft.freeze()
    assert done.to_pylist() == [1, 2, 3, 4] and done.null_count == 0
    assert done.buffers[1].address == view.__array_interface__["data"][0]
    assert not done.to_numpy().flags.writeable


def test_after_freezing_nothing_writable_is_handed_out():
    draft = cdevice.empty({"a": "int8"}, 2)
    buffer, child = draft.children[0].buffers[1], draft.children[0]
    with pytest.raises(cdevice.ArgumentError, match="'a' is a child of another array"):
        child.freeze()
    draft.freeze()
    assert draft.frozen and child.frozen and "frozen" in repr(draft)
    for use in (
        draft.freeze,
        lambda: draft.buffers,
        lambda: draft.children,
        lambda: child.buffers,
        buffer.memoryview,
        lambda: buffer.__array_interface__,
    ):
        with pytest.raises(cdevice.Released, match="was frozen"):
            use()


def test_each_of_them_keeps_the_memory():
    live = lib.cdv_live_arrays()
    draft = cdevice.empty("int32", 1000)
    view = draft.buffers[1].memoryview()
    done = draft.freeze()
    part = done[10:20]
    ref = weakref.ref(draft)
    del draft, done
    assert ref() is None
    view[40:80] = np.arange(10, dtype="i4").tobytes()
    assert part.to_pylist() == list(range(10))
    del part
    view[0] = 1  # still there
    del view
    until(lambda: lib.cdv_live_arrays() == live)


def test_a_frozen_array_travels_as_one_packed_block_and_back(fake):
    draft = cdevice.empty({"a": "int32", "b": "float64"}, 100)
    np.asarray(draft.field("a").buffers[1])[:] = np.arange(100)
    np.asarray(draft.field("b").buffers[1])[:] = np.arange(100) / 2
    done = draft.freeze()
    there = done.to(fake.name)
    assert there.to("cpu").equals(done)
    copies = fake.calls["copy"]
    assert there.to(f"{fake.name}:0", copy=True).to("cpu").equals(done)
    assert fake.calls["copy"] == copies + 2


# ---- devices ----
def test_the_result_waits_for_the_work_of_the_stream_that_was_named(fake):
    draft = cdevice.empty("int32", 3, device="blank:1", stream=7)
    values = draft.buffers[1]
    with fake.gate(9):
        fake._stream(9).work.put(
            lambda: fake._bytes(values.address, 0, 12).__setitem__(
                slice(None), np.array([4, 5, 6], dtype="i4").tobytes()
            )
        )
        done = draft.freeze(stream=9)
        assert not done.ready and done.device == cdevice.device("blank:1")
    assert done.to("cpu").to_pylist() == [4, 5, 6]


def test_memory_that_the_cpu_cannot_reach_is_refused_to_it(fake):
    buffer = cdevice.empty("int32", 3, device="blank").buffers[1]
    with pytest.raises(cdevice.CannotExport, match="blank:0"):
        buffer.memoryview()
    assert not hasattr(buffer, "__array_interface__") and not hasattr(buffer, "__cuda_array_interface__")
    with pytest.raises(TypeError, match="the data is on blank:0"):
        buffer.to_pyopencl()


def test_a_failure_of_the_device_leaves_nothing(fake):
    for n in range(8):
        fake.fail_after = n
        try:
            draft = cdevice.empty({"a": "int32", "b": "int8"}, 3, device="blank")
            draft.freeze()
        except cdevice.Error:
            continue
        finally:
            fake.fail_after = None
            draft = None
        break
    else:
        raise AssertionError("it never came through")
    assert n > 3
    until(lambda: not fake.live())


def test_a_device_that_is_not_there_is_named(fake):
    with pytest.raises(cdevice.ArgumentError, match="no device blank:7: there are 2"):
        cdevice.empty("int8", 1, device="blank:7")
    with pytest.raises(ValueError):
        cdevice.empty("int8", 1, device="nonsense")


def write(device, buffer, data):
    """What a kernel on the default stream would do."""
    table = lib.cdv_backend_table(TYPES[device])
    host = ffi.from_buffer(data)
    WRITTEN.append(host)  # until the stream has passed it
    copy = ffi.new("cdevice_copy *", [ffi.cast("void *", buffer.address), 0, 0, host, 0, -1, len(data)])
    assert table.copy(table.self, 1, copy, 1, ffi.NULL, ffi.new("cdevice_error *")) == 0


WRITTEN = []


@pytest.mark.parametrize("device", [d for d in TYPES if "host" not in d])
def test_hostrt_a_stream_writes_and_the_memory_stays_until_it_has(device, runtimes):
    runtime = runtimes[device.split("_")[0]]
    settle()
    n = 1000
    draft = cdevice.empty("float64", n, device=device, validity=True)
    address = draft.buffers[1].address
    if device != "rocm":
        interface = draft.buffers[1].__cuda_array_interface__
        assert interface["data"] == (address, False) and interface["typestr"] == "<f8" and interface["shape"] == (n,)
    runtime.gate()
    write(device, draft.buffers[0], b"\xff" * 125)
    write(device, draft.buffers[1], np.arange(n, dtype="f8").tobytes())
    done = draft.freeze(null_count=0)
    assert not done.ready
    runtime.open()
    assert done.to("cpu").to_pylist() == list(range(n))
    draft = cdevice.empty("float64", n, device=device)
    runtime.gate()
    written = draft.freeze()
    del draft
    live = lib.cdv_backend_live(TYPES[device])
    written.release()
    assert lib.cdv_backend_live(TYPES[device]) > live - 2  # the result went, the memory and the event are there
    runtime.open()
    settle()
    assert lib.cdv_backend_live(TYPES[device]) <= live - 2
    assert runtime.stats().misuse == 0


@opencl
def test_an_opencl_kernel_fills_values_and_bitmap_in_the_queues_context():
    cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    program = cl.Program(
        queue.context,
        """kernel void roots(global const double *x, int n, global uchar *valid, global double *out) {
             int byte = get_global_id(0), bits = 0;
             for (int k = 0; k < 8 && byte * 8 + k < n; k++) {
               int i = byte * 8 + k;
               out[i] = x[i] >= 0 ? sqrt(x[i]) : 0;
               bits |= (x[i] >= 0) << k;
             }
             valid[byte] = bits;
           }""",
    ).build()
    x = np.linspace(-5, 20, 1001)
    there = cdevice.asarray(x).to(queue)
    draft = cdevice.empty("float64", there.length, device=queue, validity=True)
    valid, out = (b.to_pyopencl(queue) for b in draft.buffers)
    assert valid.context == queue.context
    program.roots(
        queue, (draft.buffers[0].size,), None, there.buffers[1].to_pyopencl(queue), np.int32(1001), valid, out
    )
    done = draft.freeze(stream=queue)
    back = pa.array(done.to("cpu"))
    back.validate(full=True)
    expected = pa.array([v**0.5 if v >= 0 else None for v in x.tolist()])
    assert back.null_count == expected.null_count
    assert np.allclose(back.fill_null(-1).to_numpy(), expected.fill_null(-1).to_numpy())


@opencl
def test_another_context_is_refused_with_the_way_out():
    cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    with pytest.raises(ValueError, match="another OpenCL context"):
        cdevice.empty("int8", 1, device="opencl").buffers[1].to_pyopencl(queue)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_is_being_filled_is_no_value_to_copy_or_to_pickle(again):
    draft = cdevice.empty("int32", 3)  # two drafts of one memory: one could be written to when the other is frozen
    for part in (draft, draft.buffers[1]):
        with pytest.raises(TypeError, match=r"freeze\(\)"):
            again(part)


def test_numpy_makes_no_array_of_one_object_of_memory_that_it_cannot_reach(fake):
    draft = cdevice.empty("int32", 3, device="blank")
    with pytest.raises(cdevice.CannotExport, match=r"the data is on blank:0"):
        np.asarray(draft.buffers[1])
    here = cdevice.empty("int32", 3).buffers[1]
    np.asarray(here)[:] = 7
    assert here.__array__("f8", True).tolist() == [7.0] * 3 and here.__array__(copy=False).dtype == "i4"


def test_a_draft_that_is_passed_on_too_early_says_freeze():
    draft = cdevice.empty("int32", 3)
    for call in (cdevice.asarray, cdevice.asstream, lambda x: cdevice.concat([x])):
        with pytest.raises(TypeError, match=r"MutableArray cannot become an? (array|stream): .*freeze\(\)"):
            call(draft)


def test_a_stream_of_another_device_is_refused_on_the_cpu_too():
    class Stream:
        pass

    with pytest.raises(TypeError, match="Stream is not a stream of this device"):
        cdevice.empty("int8", 3, stream=Stream())
    draft = cdevice.empty("int8", 3)
    with pytest.raises(TypeError, match="Stream is not a stream of this device"):
        draft.freeze(stream=Stream())
    assert draft.freeze().length == 3  # the refusal took nothing


def test_a_field_that_is_not_there_is_said_so():
    draft = cdevice.empty({"a": "int8"}, 3)
    with pytest.raises(IndexError, match="no field 3: struct<a: int8> has 1"):
        draft.field(3)
    with pytest.raises(KeyError, match="no field 'b'; there are 'a'"):
        draft.field("b")
    with pytest.raises(TypeError):
        draft.field(None)
    assert draft.field(-1).type == draft.field(0).type == "int8"


def test_of_several_threads_that_freeze_one_draft_one_gets_the_array():
    import threading

    for _ in range(200):
        draft, got, refused = cdevice.empty("int64", 1000), [], []
        together = threading.Barrier(4)

        def freeze(draft=draft, got=got, refused=refused, together=together):
            together.wait(30)
            try:
                got.append(draft.freeze())
            except cdevice.Released:
                refused.append(1)

        threads = [threading.Thread(target=freeze) for _ in range(4)]
        [t.start() for t in threads]
        [t.join(30) for t in threads]
        assert (len(got), len(refused)) == (1, 3) and draft.frozen


def test_a_freeze_that_fails_may_be_tried_again():
    draft = cdevice.empty("int64", 4)
    with pytest.raises(cdevice.ArgumentError):
        draft.freeze(null_count=9)
    assert not draft.frozen and draft.freeze(null_count=0).length == 4
