"""The conformance suite on the vendor's own memory, streams and events."""

import os

import gpu_here  # noqa: F401 - first: it skips
import pytest

from cdevice.testing import BackendSuite


@pytest.fixture(scope="module", autouse=True)
def started(gates):
    Gpu.gates = gates


class Gpu:
    gates = None

    def gate(self, stream=0):
        gate = self.gates[self.device.split("_")[0]]
        return gate.held(self.table, stream)


class TestCuda(Gpu, BackendSuite):
    device = "cuda"


class TestCudaHost(Gpu, BackendSuite):
    device = "cuda_host"


class TestCudaManaged(Gpu, BackendSuite):
    device = "cuda_managed"
    # not tried: a GPU may hang when more managed memory is asked for than it has
    test_too_much_memory_is_an_error_and_leaves_the_device_usable = None


if os.environ.get("CDEVICE_HIP_LIBRARY"):  # HIP on CUDA: the ROCm backend on a real device's queues

    class TestRocmOverCuda(Gpu, BackendSuite):
        device = "rocm"

    class TestRocmHostOverCuda(Gpu, BackendSuite):
        device = "rocm_host"
