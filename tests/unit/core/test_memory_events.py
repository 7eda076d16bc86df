"""Memory never travels without its event: what is made of memory that is still being written waits for it, or has
waited."""

import threading

import numpy as np
import pytest
from waiting import settle, unregister

import cdevice
import cdevice.compute as cc
from cdevice.testing.fake import FakeBackend

N = 4000


@pytest.fixture
def fake():
    backend = FakeBackend(12, "fake")
    cdevice.register_backend(backend)
    yield backend
    settle()
    unregister(backend)


def pending(backend, schema="int64", values=None):
    """(array that is still being written behind a gate, the gate)"""
    values = list(range(N)) if values is None else values
    source = cdevice.asarray(values, schema=schema).to("cpu", copy=True)
    gate = backend.gate()
    return source.to((12, 0)), gate


MADE = {
    "from_buffers": lambda x: cdevice.from_buffers(x.schema, x.length, x.buffers),
    "from_buffers of a buffer": lambda x: cdevice.from_buffers("int64", x.length, [None, x.buffers[1]]),
    "from_buffers with another event": lambda x: cdevice.from_buffers(
        "struct<a: int64, b: int64>", x.length, [None], children=[x, x[:]]
    ),
    "record_batch": lambda x: cdevice.record_batch({"a": x}),
    "record_batch of two": lambda x: cdevice.record_batch({"a": x, "b": x}),
    "child of a batch": lambda x: cdevice.record_batch({"a": x})["a"],
    "select": lambda x: cdevice.record_batch({"a": x, "b": x}).select(["b"]),
    "with_columns": lambda x: cdevice.record_batch({"a": x}).with_columns(b=x),
    "slice": lambda x: x[5:],
    "head": lambda x: x.head(),
    "a view of times": lambda x: cdevice.asarray(cdevice.from_buffers("timestamp[s]", x.length, x.buffers)),
    "the protocol": lambda x: cdevice.asarray(Exported(x)),
    "concat": lambda x: cdevice.concat([x, x]),
    "a copy on the device": lambda x: x.to(x.device, copy=True),
    "a copy on another device": lambda x: x.to((12, 1)),
}


class Exported:
    def __init__(self, array):
        self.array = array

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self.array.__arrow_c_device_array__(requested_schema)


@pytest.mark.parametrize("how", MADE)
def test_what_is_made_of_pending_memory_is_pending(fake, how):
    want = MADE[how](cdevice.asarray(list(range(N))).to((12, 0)))
    want.synchronize()
    x, gate = pending(fake)
    done = []
    thread = threading.Thread(target=lambda: done.append(MADE[how](x)), daemon=True)
    thread.start()
    thread.join(0.5)  # what waits on the host may: then it is not there yet
    with gate:
        assert not x.ready
        assert not done or not done[0].ready, "ready, while the memory is still being written"
    thread.join(30)
    assert done[0].to("cpu").to_pylist() == want.to("cpu").to_pylist()


READ = {
    "to_pylist": lambda x: x.to("cpu").to_pylist(),
    "equals": lambda x: x.equals(cdevice.asarray(list(range(N)))),
    "validate": lambda x: x.validate("full"),
    "iteration": lambda x: list(x.to("cpu")),
    "pickle": lambda x: __import__("pickle").dumps(x),
    "sum of nulls": lambda x: x.to("cpu").null_count,
}


@pytest.mark.parametrize("how", READ)
def test_what_reads_pending_memory_waits_for_it(fake, how):
    x, gate = pending(fake)
    done = []
    thread = threading.Thread(target=lambda: done.append(READ[how](x)), daemon=True)
    thread.start()
    with gate:
        thread.join(0.2)
        if how != "validate":  # reads what its device can be asked for
            assert not done, "read, while the memory is still being written"
    thread.join(30)
    assert done


def test_printing_pending_memory_neither_waits_nor_reads(fake):
    x, gate = pending(fake)
    with gate:
        assert "pending" in repr(x) or "not ready" in repr(x) or "event" in repr(x)


def test_parts_that_wait_for_several_events_wait_for_all(fake):
    x, gate = pending(fake)
    ready = cdevice.asarray(list(range(N))).to((12, 0), stream=99)
    ready.synchronize()
    second = fake.gate(99)
    y = ready.to((12, 0), stream=99, copy=True)
    with gate, second:
        z = cdevice.record_batch({"x": x, "y": y})
        w = cdevice.from_buffers("struct<a: int64, b: int64>", N, [None], children=[x, y])
        v = cdevice.from_buffers("int64", N, [y.buffers[1], x.buffers[1]], null_count=-1, validate=None)
        assert not z.ready and not w.ready and not v.ready
        gate.open()
        x.synchronize()
        assert not z.ready and not w.ready and not v.ready  # the other one is still closed
    assert z.to("cpu").to_pylist()[-1] == {"x": N - 1, "y": N - 1}
    assert w.to("cpu").to_pylist()[-1] == {"a": N - 1, "b": N - 1}
    v.synchronize()


def test_an_event_of_the_caller_does_not_hide_that_of_a_part(fake):
    x, gate = pending(fake)
    ready = cdevice.asarray([1] * N, schema="int64").to((12, 0), stream=99)
    ready.synchronize()
    with gate:
        made = cdevice.from_buffers(
            "struct<a: int64>", N, [None], children=[x], sync_event=ready.sync_event or None, owner=ready
        )
        assert not made.ready
    assert made.to("cpu").to_pylist()[5] == {"a": 5}


@pytest.mark.parametrize("kind", ["cuda_host", "cuda_managed", "rocm_host"])
def test_memory_that_the_cpu_can_read_is_waited_for_too(runtimes, kind):
    """Where an address is enough to read, nothing else would."""
    vendor = runtimes["cuda" if kind.startswith("cuda") else "rocm"]
    source = cdevice.asarray(list(range(N))).to("cpu", copy=True)
    vendor.gate()
    try:
        x = source.to(kind)
        y = cdevice.from_buffers(x.schema, x.length, [None, x.buffers[1]])
        both = cdevice.from_buffers("struct<a: int64>", N, [None], children=[y])
        assert not x.ready and not y.ready and not both.ready
        seen = []
        readers = [
            lambda: x.buffers[1].memoryview().cast("q")[5],
            lambda: np.asarray(x.buffers[1]).view("i8")[5],
            lambda: y.to_numpy()[5],
            lambda: cdevice.from_buffers("int64", N, [None, x.buffers[1]], device="cpu").to_pylist()[5],
            lambda: cc.sum(y).as_py(),
            lambda: y.to_pylist()[5],
        ]
        threads = [threading.Thread(target=lambda f=f: seen.append(f()), daemon=True) for f in readers]
        for t in threads:
            t.start()
        threads[0].join(0.3)
        assert not seen
    finally:
        vendor.open()
    for t in threads:
        t.join(30)
    assert sorted(seen) == [5, 5, 5, 5, 5, N * (N - 1) // 2]


# ---- freeze ----
def test_freeze_is_behind_the_stream_that_empty_was_given(fake):
    draft = cdevice.empty("int64", N, device=(12, 0), stream=99)
    with fake.gate(99):
        frozen = draft.freeze()
        assert not frozen.ready
    frozen.synchronize()


def test_freeze_without_any_stream_is_behind_the_devices_own(fake):
    draft = cdevice.empty("int64", N, device=(12, 0))
    with fake.gate():
        frozen = draft.freeze()
        assert not frozen.ready
    frozen.synchronize()


def test_a_stream_for_freeze_comes_before_that_of_empty(fake):
    draft = cdevice.empty("int64", N, device=(12, 0), stream=99)
    with fake.gate(99):
        frozen = draft.freeze(stream=77)
        frozen.synchronize(30)


def opencl():
    cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    queue = cl.CommandQueue(cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())]))
    return cl, queue


def test_freeze_is_behind_kernels_on_the_queue_that_was_the_device():
    cl, queue = opencl()
    draft = cdevice.empty("int64", N, device=queue)
    gate = cl.UserEvent(queue.context)
    cl.enqueue_barrier(queue, wait_for=[gate])
    cl.enqueue_fill_buffer(queue, draft.buffers[1].to_pyopencl(queue), np.int64(7), 0, 8 * N)
    frozen = draft.freeze()
    queue.flush()
    assert not frozen.ready
    gate.set_status(cl.command_execution_status.COMPLETE)
    assert frozen.to("cpu").to_pylist() == [7] * N


def test_from_buffers_takes_the_events_of_a_pyopencl_array():
    cl, queue = opencl()
    import pyopencl.array as array

    x = array.zeros(queue, N, np.int64)
    queue.finish()
    gate = cl.UserEvent(queue.context)
    cl.enqueue_barrier(queue, wait_for=[gate])
    x.fill(np.int64(3), queue=queue)
    made = cdevice.from_buffers("int64", N, [None, x])
    assert not made.ready
    gate.set_status(cl.command_execution_status.COMPLETE)
    assert made.to("cpu").to_pylist() == [3] * N
