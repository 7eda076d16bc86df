"""Kernels of a backend in Python conform, compiled by ``cc`` and run by the fake's streams."""

from cdevice.testing import KernelSuite
from cdevice.testing.fake import FakeBackend, FakeSuite


class TestKernels(FakeSuite, KernelSuite):
    @staticmethod
    def backend():
        return FakeBackend(kernels=True)
