"""pyopencl's objects become handles and handles become pyopencl's objects, with the reference counts right."""

import gc
import subprocess
import sys

import pytest
from cdevice.backends import opencl

backend = opencl.Backend()


@pytest.fixture
def cl():
    cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
    try:
        cl.get_platforms()
    except cl.Error:
        pytest.skip("no OpenCL platform: apt-get install pocl-opencl-icd")
    return cl


@pytest.fixture
def queue(cl):
    context = cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])
    yield cl.CommandQueue(context)
    del context  # not every runtime's queues keep theirs


def references(cl, memory):
    return memory.get_info(cl.mem_info.REFERENCE_COUNT)


def test_nothing_is_imported():
    code = (
        "import sys\n"
        "from cdevice.backends import opencl\n"
        "b = opencl.Backend(); b.as_stream(None); b.as_stream(8192); b.owns(5); b.loader_path()\n"
        "assert 'pyopencl' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_streams(queue):
    assert backend.as_stream(None) is None
    assert backend.as_stream(12345) == 12345
    assert backend.as_stream(queue) == queue.int_ptr
    for wrong in ("queue", 1.0, True, queue.context):
        with pytest.raises(TypeError):
            backend.as_stream(wrong)
    for wrong in (0, -1, 5, 1 << 64):  # no address
        with pytest.raises(ValueError):
            backend.as_stream(wrong)


def test_buffer(cl, queue):
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 512)
    count = references(cl, buffer)
    seen = backend.from_object(buffer)
    assert (seen.data, seen.offset, seen.nbytes, seen.dtype, seen.shape) == (buffer.int_ptr, 0, 512, "|u1", (512,))
    assert seen.device_id == 0 and seen.owner is buffer and seen.events == ()
    again = backend.to_object(seen.data, seen.nbytes)
    assert again.int_ptr == buffer.int_ptr and references(cl, buffer) == count + 1
    del again
    gc.collect()
    assert references(cl, buffer) == count
    part = backend.to_object(seen.data, 128, offset=256)
    assert part.size == 128 and part.get_info(cl.mem_info.OFFSET) == 256
    for wrong in ({"offset": 500, "nbytes": 128}, {"offset": -1, "nbytes": 1}, {"nbytes": 513}):
        with pytest.raises(ValueError):
            backend.to_object(seen.data, **wrong)
    with pytest.raises(ValueError):
        backend.to_object(0, 8)


@pytest.mark.nosan  # PoCL starts a linker, which a sanitizer's preload breaks
def test_array(cl, queue):
    np = pytest.importorskip("numpy")
    import pyopencl.array as array

    host = np.arange(1000, dtype=np.float64)
    whole = array.to_device(queue, host)
    part = whole[100:200]
    seen = backend.from_object(part)
    assert (seen.offset, seen.nbytes, seen.dtype, seen.shape) == (800, 800, "<f8", (100,))
    assert seen.data == whole.base_data.int_ptr and seen.stream == queue.int_ptr and seen.device_id == 0
    back = backend.to_object(seen.data, seen.nbytes, offset=seen.offset, dtype=seen.dtype, stream=queue)
    assert np.array_equal(back.get(), host[100:200])
    assert np.array_equal(
        backend.to_object(seen.data, 8000, dtype="<f8", shape=(10, 100), stream=queue.int_ptr).get(),
        host.reshape(10, 100),
    )
    with pytest.raises(ValueError, match="contiguous"):
        backend.from_object(whole[::2])
    with pytest.raises(ValueError, match="needs more"):
        backend.to_object(seen.data, 80, dtype="<f8", shape=(11,), stream=queue)
    apart = cl.Context(queue.context.devices)
    other = cl.CommandQueue(apart)
    with pytest.raises(ValueError, match=r"another OpenCL context.*stream=queue"):
        backend.to_object(seen.data, 80, dtype="<f8", stream=other)
    assert backend.from_object(array.empty(queue, 0, np.int32)).data == 0
    for wrong in (host, b"bytes", None, queue):
        with pytest.raises(TypeError):
            backend.from_object(wrong)


@pytest.mark.nosan  # PoCL starts a linker, which a sanitizer's preload breaks
def test_events_go_along(cl, queue):
    """An array made behind a closed gate is not read before the gate opens."""
    np = pytest.importorskip("numpy")
    import pyopencl.array as array

    gate = cl.UserEvent(queue.context)
    pending = array.empty(queue, 64, np.int32)
    # Not a copy from the host: pyopencl's event of one blocks when it is dropped.
    pending.add_event(cl.enqueue_fill_buffer(queue, pending.base_data, np.int32(21), 0, 256, wait_for=[gate]))
    seen = backend.from_object(pending)
    assert len(seen.events) == len(pending.events) >= 1
    reader = cl.CommandQueue(queue.context)
    back = backend.to_object(seen.data, seen.nbytes, dtype=seen.dtype, stream=reader, events=seen.events)
    doubled = back + back  # enqueued behind the gate, by the event alone: it is another queue
    assert all(event.command_execution_status > 0 for event in doubled.events)
    del pending, seen, back
    gate.set_status(cl.command_execution_status.COMPLETE)
    assert np.array_equal(doubled.get(), np.full(64, 42, np.int32))


def test_shared_virtual_memory_is_refused(cl, queue):
    np = pytest.importorskip("numpy")
    import pyopencl.array as array
    import pyopencl.tools as tools

    device = queue.device
    if not device.svm_capabilities:
        pytest.skip("the device has no shared virtual memory")
    shared = array.empty(queue, 64, np.int32, allocator=tools.SVMAllocator(queue.context, queue=queue))
    with pytest.raises(ValueError, match="shared virtual memory"):
        backend.from_object(shared)


def test_an_array_of_an_unordered_queue_is_behind_its_events_and_all_that_was_enqueued(cl):
    """A marker with a list of events waits for these alone there."""
    import numpy as np
    import pyopencl.array

    import cdevice

    context = cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])
    unordered = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    try:
        queue = cl.CommandQueue(context, properties=unordered)
    except cl.Error:
        pytest.skip("this device has no out-of-order queues")
    values = pyopencl.array.to_device(queue, np.arange(10))
    queue.finish()  # or the first write may come last
    gates = [cl.UserEvent(context) for _ in range(2)]
    try:
        other = cl.CommandQueue(context)
        values.add_event(cl.enqueue_marker(other, wait_for=[gates[0]]))
        later = np.arange(1, 11)
        held = cl.enqueue_copy(queue, values.base_data, later, is_blocking=False, wait_for=[gates[1]])
        there = cdevice.asarray(values)
        assert not there.ready
        gates.pop(0).set_status(cl.command_execution_status.COMPLETE)
        other.finish()
        assert not there.ready, "what was enqueued, and is no event of the array, is not over"
    finally:
        for gate in gates:
            gate.set_status(cl.command_execution_status.COMPLETE)
    held.wait()
    assert there.to("cpu").to_pylist() == list(range(1, 11))
