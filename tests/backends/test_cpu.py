from cdevice.testing import BackendSuite


class TestCpu(BackendSuite):
    device = "cpu"
