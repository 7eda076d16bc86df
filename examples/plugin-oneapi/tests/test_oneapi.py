"""The plug-in conforms on SYCL's first device, its queues held by a task of the host."""

import contextlib
import threading

import pytest

import cdevice
import cdevice.compute as cc
from cdevice._devices.backends import backend_object
from cdevice.testing import BackendSuite, KernelSuite

if not cdevice.device("oneapi").is_available:
    pytest.skip("no SYCL device: pip install dpctl intel-opencl-rt intel-cmplr-lib-rt", allow_module_level=True)

import dpctl
import dpctl.memory as usm
import pyarrow as pa
import pyarrow.compute as pc


class _Gate:
    """Blocks the thread that drops it."""

    def __init__(self, opened):
        self.opened = opened

    def __del__(self):
        self.opened.wait()


@contextlib.contextmanager
def held(queue):
    """Nothing enqueued on `queue` from now on runs until this is left.

    A task of the host drops the gate and so waits, which costs the device nothing: a kernel that spins would take the
    CPU runtime's workers from all queues.
    """
    opened = threading.Event()
    task = queue._submit_keep_args_alive([_Gate(opened)], [])
    queue.submit_barrier([task])
    try:
        yield
    finally:
        opened.set()
        task.wait()


class Hooks:
    device = "oneapi"

    def open(self):
        super().open()
        self.queues = {}

    def new_stream(self):
        queue = dpctl.SyclQueue(backend_object(14).queue().sycl_device, property="in_order")
        self.queues[queue.addressof_ref()] = queue
        return queue.addressof_ref()

    def gate(self, stream=0):
        return held(self.queues.get(stream) or backend_object(14).queue())

    def live(self):
        backend = backend_object(14)
        backend.reap(backend.devices[0])
        return backend.devices[0].live


class TestOneapi(Hooks, BackendSuite):
    pass


class TestKernels(Hooks, KernelSuite):
    pass


def test_it_is_found_by_its_entry_point():
    assert cdevice.list_backends()[14].origin.startswith("cdevice-oneapi")


def test_a_users_queue_waits_for_the_data_and_dpctl_reads_it_where_it_lies():
    backend = backend_object(14)
    mine = dpctl.SyclQueue(backend.queue().sycl_device, property="in_order")
    with held(backend.queue()):
        there = cdevice.asarray(list(range(16))).to("oneapi")
        there.wait(mine)

        class Shared:
            __sycl_usm_array_interface__ = {
                "data": (there.buffers[1].address, True),
                "shape": (128,),
                "strides": None,
                "typestr": "|u1",
                "version": 1,
                "syclobj": backend.queue(),
            }

        seen = usm.as_usm_memory(Shared())
        out = bytearray(128)
        event = mine.memcpy_async(out, seen, 128)
        assert event.execution_status != dpctl.event_status_type.complete and not there.ready
    event.wait()
    assert list(memoryview(out).cast("q")) == list(range(16))


def test_a_dpctl_allocation_comes_in_without_a_copy():
    queue = backend_object(14).queue()
    mine = usm.MemoryUSMDevice(64, queue=queue)
    source = bytes(range(64))  # read while the copy is under way
    event = queue.memcpy_async(mine, source, 64)
    array = cdevice.from_buffers(
        "C",
        64,
        [None, mine._pointer],
        null_count=0,
        device="oneapi",
        owner=(mine, event, source),
        sync_event=event.addressof_ref(),
    )
    assert array[60:].to("cpu").to_pylist() == [60, 61, 62, 63]


ROWS = 100_000


@pytest.fixture
def numbers():
    return pa.array([None if i % 7 == 3 else i * 37 % 1001 for i in range(ROWS)])


@pytest.mark.parametrize("property", ["in_order", None], ids=["in order", "out of order"])
def test_a_filter_and_its_sum_are_pyarrows_on_a_users_queue(numbers, property):
    device = backend_object(14).queue().sycl_device
    queue = dpctl.SyclQueue(device, property=property) if property else dpctl.SyclQueue(device)
    there = cdevice.asarray(numbers).to("oneapi")
    much = cc.greater(there, 500, stream=queue)
    chosen = cc.filter(there, much, stream=queue)
    want = numbers.filter(pc.greater(numbers, 500))
    assert chosen.device == there.device and pa.array(chosen.to("cpu")).equals(want)
    total = cc.sum(cc.multiply(chosen, 2, stream=queue), stream=queue)
    assert total.as_py() == 2 * pc.sum(want).as_py()


def test_a_kernel_waits_for_its_queue_and_the_host_goes_on():
    there = cdevice.asarray(list(range(1000))).to("oneapi")
    mine = dpctl.SyclQueue(backend_object(14).queue().sycl_device, property="in_order")
    assert cc.add(there, 1).to("cpu")[:2].to_pylist() == [1, 2]  # built
    with held(mine):
        out = cc.add(there, 5, stream=mine)
        del there
        assert not out.ready
    assert out.to("cpu")[-1:].to_pylist() == [1004]


def test_an_expression_that_does_not_compile_is_told():
    with pytest.raises(cdevice.ArgumentError, match="does not compile for oneapi: .*dpctl does not hand out"):
        cc.elementwise("wrong", "int64 a -> int64", "a +* 2")(cdevice.asarray([1]).to("oneapi"))
    square = cc.elementwise("square", "float64 a -> float64", "sqrt(a * a)")
    assert square(cdevice.asarray([-3.0]).to("oneapi")).to("cpu").to_pylist() == [3.0]
