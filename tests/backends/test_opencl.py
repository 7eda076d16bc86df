"""OpenCL conforms, with queues held by user events."""

import contextlib

import pytest

import cdevice
from cdevice.testing import BackendSuite, KernelSuite

cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
if not cdevice.device("opencl").is_available:
    pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1", allow_module_level=True)


class OpenCL:
    device = "opencl"

    @contextlib.contextmanager
    def gate(self, stream=0, status=0):
        if not stream:
            out = self.ffi.new("void **")
            self.call("current_stream", self.device_number().id, out)
            stream = int(self.ffi.cast("uintptr_t", out[0]))
        queue = cl.CommandQueue.from_int_ptr(stream, retain=True)
        held = cl.UserEvent(queue.context)
        barrier = cl.enqueue_barrier(queue, wait_for=[held])  # kept: PoCL aborts when its event is released early
        queue.flush()
        try:
            yield
        finally:
            held.set_status(status)
            del barrier

    def failing_gate(self, stream=0):
        return self.gate(stream, -5)


class TestOpenCL(OpenCL, BackendSuite):
    pass


class TestKernels(OpenCL, KernelSuite):
    pass
