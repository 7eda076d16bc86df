"""The reference device conforms, with every hook."""

from cdevice.testing import BackendSuite
from cdevice.testing.fake import FakeBackend, FakeSuite

assert issubclass(FakeSuite, BackendSuite)


class TestFake(FakeSuite):
    backend = FakeBackend


class TestWithoutEvents(FakeSuite):
    @staticmethod
    def backend():
        return FakeBackend(events=False)


class TestOneDevice(FakeSuite):
    @staticmethod
    def backend():
        return FakeBackend(devices=1)
