"""The plug-in conforms on SYCL's first device, its queues held by a task of the host."""

import contextlib
import threading

import pytest

import cdevice
from cdevice._devices.registry import backend_object
from cdevice.testing import BackendSuite

if not cdevice.device("oneapi").is_available:
    pytest.skip("no SYCL device: pip install dpctl intel-opencl-rt intel-cmplr-lib-rt", allow_module_level=True)

import dpctl
import dpctl.memory as usm


class _Gate:
    """Blocks whoever drops it."""

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


class TestOneapi(BackendSuite):
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
    event = queue.memcpy_async(mine, bytes(range(64)), 64)
    array = cdevice.from_buffers(
        "C",
        64,
        [None, mine._pointer],
        null_count=0,
        device="oneapi",
        owner=(mine, event),
        sync_event=event.addressof_ref(),
    )
    assert array[60:].to("cpu").to_pylist() == [60, 61, 62, 63]
