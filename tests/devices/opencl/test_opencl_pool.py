"""OpenCL memory that is used again: after the last command, and after whoever made something of it."""

import resource

import numpy as np
import pytest
from waiting import until

import cdevice

cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")

if not cdevice.device("opencl").is_available:
    pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1", allow_module_level=True)

OPENCL, CPU = cdevice.device("opencl"), cdevice.device("cpu")
LENGTH = 1_000_000  # bytes, of which a million and a little are taken


def host_pooled():
    a = cdevice.asarray(np.zeros(LENGTH, "u1")).to("cpu", copy=True)
    a.release()
    return CPU.memory().pooled > 0


kept = pytest.mark.skipif(
    not host_pooled() or not next(d for p in cl.get_platforms() for d in p.get_devices()).type & cl.device_type.CPU,
    reason="the pool is off under AddressSanitizer and with CDEVICE_CPU_POOL=0, and only processors use it",
)


@pytest.fixture
def queue():
    device = next(d for p in cl.get_platforms() for d in p.get_devices())
    context = cl.Context([device])
    queue = cl.CommandQueue(context, device)
    yield queue
    queue.finish()
    del context  # not every runtime's queues keep theirs


def sent(stream=None):
    return cdevice.asarray(np.full(LENGTH, 7, "u1")).to(OPENCL, stream=stream)


def hold(queue):
    gate = cl.UserEvent(queue.context)
    return gate, cl.enqueue_barrier(queue, wait_for=[gate])  # kept: PoCL aborts when its event is released early


def test_what_is_in_use_is_counted():
    before = OPENCL.memory()
    array = sent()
    now = OPENCL.memory()
    assert LENGTH <= now.live - before.live < LENGTH * 1.25
    part = array[10:20]
    array.release()
    assert OPENCL.memory().live == now.live, "a part of it is in use"
    part.release()
    until(lambda: OPENCL.memory().live == before.live)
    assert OPENCL.memory().peak >= now.live


@kept
def test_what_comes_back_is_used_again(queue):
    sent(queue).synchronize()
    until(lambda: OPENCL.memory().pending == 0)
    before = CPU.memory().pooled
    array = sent(queue)
    array.synchronize()
    assert CPU.memory().pooled <= before - LENGTH
    array.release()
    until(lambda: CPU.memory().pooled >= before)
    OPENCL.trim()
    assert OPENCL.memory().pooled == CPU.memory().pooled == 0


@kept
def test_nothing_is_used_again_before_the_last_command(queue):
    OPENCL.trim()
    array = sent(queue)
    array.synchronize()
    gate, barrier = hold(queue)
    out = np.zeros(LENGTH, "u1")
    read = cl.enqueue_copy(queue, out, array.buffers[1].to_pyopencl(queue), is_blocking=False)
    array.release()
    assert OPENCL.memory().pending >= LENGTH and CPU.memory().pooled == 0
    other = cdevice.asarray(np.zeros(LENGTH, "u1")).to(OPENCL)  # on memory of its own
    other.synchronize()
    gate.set_status(cl.command_execution_status.COMPLETE)
    read.wait()
    assert (out == 7).all()
    queue.finish()
    del barrier
    until(lambda: OPENCL.memory().pending == 0)
    assert CPU.memory().pooled >= LENGTH


@kept
def test_nothing_is_used_again_while_somebody_has_made_a_part_of_it(queue):
    OPENCL.trim()
    array = sent(queue)
    array.synchronize()
    buffer = array.buffers[1].to_pyopencl(queue)
    whole = buffer.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT)  # packed: there are no parts of parts
    whole = cl.Buffer.from_int_ptr(whole.int_ptr, retain=True)
    part = whole.get_sub_region(4096, 4096)
    whole.release()
    buffer.release()
    array.release()
    assert OPENCL.memory().pending >= LENGTH and CPU.memory().pooled == 0
    sent().synchronize()
    out = np.zeros(4096, "u1")
    cl.enqueue_copy(queue, out, part)
    assert (out == 7).all()
    part.release()
    until(lambda: OPENCL.memory().pending == 0)


@kept
def test_what_is_packed_is_written_where_it_lies(queue):
    table = cdevice.asarray({f"c{i}": np.full(1000, i) for i in range(100)})
    gate, barrier = hold(queue)
    there = table.to(OPENCL, stream=queue)
    joined = cdevice.concat([table[:500], table[600:]], device=OPENCL, stream=queue)
    assert there.ready and joined.ready, "nothing was left to the queue"
    assert there.equals(table)
    assert joined.equals(cdevice.concat([table[:500], table[600:]]))
    gate.set_status(cl.command_execution_status.COMPLETE)
    del barrier


def test_an_allocator_gives_the_memory_of_what_is_packed_too(queue):
    given = []

    def allocate(nbytes):
        given.append(nbytes)
        return cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, nbytes)

    table = cdevice.asarray({f"c{i}": np.full(1000, i) for i in range(100)})
    cdevice.set_allocator("opencl", allocate)
    try:
        there = table.to(OPENCL, stream=queue)
        assert given and given[0] >= table.nbytes
        assert there.equals(table)
    finally:
        cdevice.set_allocator("opencl", None)


@kept
def test_repeated_transfers_fault_no_pages(queue):
    table = cdevice.asarray({f"c{i}": np.zeros(10_000) for i in range(20)})

    def turn():
        there = table.to(OPENCL, stream=queue)
        there.to("cpu").release()
        there.release()

    for _ in range(30):
        turn()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        turn()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert faults < 400, f"{faults}: fresh memory for these 1.6 MB there and back takes 78,000"
