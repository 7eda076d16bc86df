from cdevice.testing import BackendSuite, KernelSuite


class TestCpu(BackendSuite):
    device = "cpu"


class TestKernels(KernelSuite):
    device = "cpu"
