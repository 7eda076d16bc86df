"""Graph captures beside the package, on hostrt, whose captures follow CUDA's documentation: no GPU is shown by this."""

import contextlib
import ctypes
import gc

import numpy as np
import pytest
from capture_checks import *  # noqa: F403 - the tests
from captures import Vendor
from standin import TYPES
from waiting import settle, until

import cdevice
from cdevice._runtime.ext import lib


@pytest.fixture(params=TYPES)
def device(request):
    return request.param


@pytest.fixture
def vendor(runtimes, device):
    runtime = runtimes[device.split("_")[0]]
    settle()
    before = lib.cdv_backend_live(TYPES[device])
    made = Vendor(ctypes.CDLL(str(runtime.path)), device.split("_")[0], lib.cdv_backend_table(TYPES[device]))
    yield made
    runtime.open()
    gc.collect()  # frames of expected exceptions keep arrays, and those their streams' handles
    settle()
    until(lambda: lib.cdv_backend_live(TYPES[device]) <= before)  # what was refused has left nothing behind
    made.close()
    assert runtime.stats().misuse == 0


@pytest.fixture
def gate(runtimes, device):
    runtime = runtimes[device.split("_")[0]]

    @contextlib.contextmanager
    def held(stream):
        runtime.gate(stream)
        try:
            yield
        finally:
            runtime.open()

    return held


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_an_event_that_cannot_be_asked_during_a_capture_has_not_passed(device, vendor, gate, runtimes):
    runtime, query = runtimes[device], f"{vendor.prefix}EventQuery"
    other = vendor.stream()
    arrays = [ready(device) for _ in range(12)]  # noqa: F405 - more than are watched at once
    settle()
    with gate(other):
        for a in arrays:
            a.record_use(other)
        del a
        arrays.clear()
        for _ in range(3):  # HIP before 7.2 says so in the capture of another thread, whatever the mode
            runtime.fail(query, 0, 900)
            until(lambda: not runtime.library.hostrt_armed())
        assert lib.cdv_retired_count() == 12
    settle()


@pytest.mark.parametrize("code", [900, 1, 2, 999])
@pytest.mark.parametrize("device", ["rocm"])  # the one that records at the release, so each of the two calls can fail
def test_hostrt_memory_that_could_not_be_waited_for_is_not_given_to_the_vendor(device, vendor, runtimes, code):
    runtime, d = runtimes[device], cdevice.device(device)
    settle()
    d.trim()
    there = cdevice.asarray(np.arange(1000)).to(device, stream=vendor.stream())
    there.synchronize()
    settle()
    blocks = runtime.stats().live_device
    runtime.fail("hipEventRecord", 0, code)  # on its own stream, which nobody can do later
    there.release()
    runtime.fail("hipDeviceSynchronize", 0, code)
    d.trim()
    assert not runtime.library.hostrt_armed()
    assert runtime.stats().live_device == blocks and d.memory().pending >= 8000
    d.trim()
    assert runtime.stats().live_device == blocks - 1 and not d.memory().pending


@pytest.mark.parametrize("device", ["cuda", "cuda_managed"])  # ROCm records at the release
def test_hostrt_memory_that_is_short_in_a_capture_that_is_told_of_is_an_error_and_nobody_waits(
    device, vendor, runtimes
):
    runtime, d = runtimes[device.split("_")[0]], cdevice.device(device)
    stream, other = vendor.stream(), vendor.stream()
    there = ready(device, 100_000)  # noqa: F405
    settle()
    d.trim()  # chunks that were staged through count as well
    runtime.library.hostrt_limit(runtime.stats().live_bytes + 1000)
    try:
        with d.capturing(), vendor.capture(stream):
            there.release()
            blocks = runtime.stats().host_blocks
            with pytest.raises(cdevice.OutOfMemory):
                cdevice.asarray(np.arange(100_000)).to(device, stream=other)
            assert runtime.stats().host_blocks == blocks
        again = cdevice.asarray(np.arange(100_000)).to(device, stream=other)  # once it has ended, the old block is used
        again.synchronize()
    finally:
        runtime.library.hostrt_limit(0)
    again.release()
