"""Kernels of a backend in Python conform, compiled by ``cc`` and run by the fake's streams."""

import pytest
from waiting import unregister

from cdevice._runtime.ext import lib
from cdevice.testing import KernelSuite, mutants, runner
from cdevice.testing.fake import FakeBackend, FakeSuite
from cdevice.testing.fake_compute import FakeCompute


class TestKernels(FakeSuite, KernelSuite):
    @staticmethod
    def backend():
        return FakeBackend(kernels=True)


class TestWithoutEvents(KernelSuite):
    """Kernels are done on return; there is no gate."""

    live = FakeSuite.live

    @staticmethod
    def backend():
        return FakeBackend(kernels=True, events=False)


class Nothing(FakeCompute):
    """Launches nothing."""

    def launch(self, kernel, launch, *, device_id, stream=0):
        pass


class AtOnce(FakeCompute):
    """Does not ask the stream."""

    def launch(self, kernel, launch, *, device_id, stream=0):
        device, self.device = self.device, FakeBackend(events=False)
        self.device._memory = device._memory
        try:
            super().launch(kernel, launch, device_id=device_id, stream=stream)
        finally:
            self.device = device


class WithoutOffsets(FakeCompute):
    def launch(self, kernel, launch, *, device_id, stream=0):
        buffers = tuple((data, 0) for data, _ in launch.buffers)
        super().launch(kernel, launch._replace(buffers=buffers), device_id=device_id, stream=stream)


class HalfOfIt(FakeCompute):
    def launch(self, kernel, launch, *, device_id, stream=0):
        half = launch._replace(items=launch.n_work_items // 2 + 1)
        super().launch(kernel, half, device_id=device_id, stream=stream)


class Waits(FakeCompute):
    def launch(self, kernel, launch, *, device_id, stream=0):
        super().launch(kernel, launch, device_id=device_id, stream=stream)
        self.device.stream_wait(device_id=device_id, stream=stream)


class AnyText(FakeCompute):
    """What does not compile is a module without kernels."""

    def build(self, program, *, device_id, stream=0):
        try:
            return super().build(program, device_id=device_id, stream=stream)
        except ValueError:
            return None


@pytest.mark.nosan
@pytest.mark.parametrize(
    ("kernels", "check"),
    [
        (Nothing, "arithmetic__int32"),
        (WithoutOffsets, "arithmetic__int32"),
        (HalfOfIt, "arithmetic__int32"),
        (AtOnce, "a_kernel_follows_what_its_stream_had_to_do"),
        (Waits, "a_call_does_not_wait"),
        (AnyText, "a_text_that_does_not_compile_is_told"),
    ],
)
def test_the_suite_catches_kernels_that_are_wrong(kernels, check):
    made = []

    class Suite(FakeSuite, KernelSuite):
        settle_limit, hang_limit = 500, 1.0

        @staticmethod
        def backend():
            made.append(FakeBackend(5660, "wrong"))
            made[-1].compute = kernels(made[-1])
            return made[-1]

    (result,) = runner.run(Suite, pattern=check)
    assert result.outcome == "failed"
    if lib.cdv_backend_table(5660):
        unregister(made[-1])
    for b in made:
        b.close()


@pytest.mark.nosan
def test_the_suite_catches_memory_that_is_used_again_under_a_kernel():
    made = []

    class Suite(FakeSuite, KernelSuite):
        settle_limit, hang_limit = 500, 1.0

        @staticmethod
        def backend():
            made.append(mutants.UsesMemoryAgainAtOnce(5661, "again", kernels=True))
            return made[-1]

    (result,) = runner.run(Suite, pattern="what_held_kernels_read_is_not_used_again")
    assert result.outcome == "failed" and "add of an array that was dropped" in result.text
    if lib.cdv_backend_table(5661):
        unregister(made[-1])
    for b in made:
        b.close()
