"""CUDA, CUDA_HOST, CUDA_MANAGED, ROCM and ROCM_HOST conform on hostrt, the stand-in runtime in tests/hostrt."""

import contextlib

import pytest

from cdevice.testing import BackendSuite, KernelSuite


@pytest.fixture(scope="module", autouse=True)
def started(runtimes):
    Hostrt.runtimes = runtimes
    return runtimes


class Hostrt:
    runtimes = None

    @property
    def runtime(self):
        return self.runtimes[self.device.split("_")[0]]

    @contextlib.contextmanager
    def gate(self, stream=0):
        self.runtime.gate(stream)
        try:
            yield
        finally:
            self.runtime.open()

    def close(self):
        super().close()
        assert self.runtime.stats().misuse == 0


class TestHostrtCuda(Hostrt, BackendSuite):
    device = "cuda"


class TestHostrtCudaHost(Hostrt, BackendSuite):
    device = "cuda_host"


class TestHostrtCudaManaged(Hostrt, BackendSuite):
    device = "cuda_managed"


class TestHostrtRocm(Hostrt, BackendSuite):
    device = "rocm"


class TestHostrtRocmHost(Hostrt, BackendSuite):
    device = "rocm_host"


@pytest.mark.nosan  # starts a compiler, and runs kernels on stacks of their own
class TestHostrtKernels(Hostrt, KernelSuite):
    device = "cuda"
