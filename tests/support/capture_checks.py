"""What a capture of a graph (torch.cuda.graph, cupy's begin_capture) may expect of arrays in the same process.

Run on the stand-in by test_hostrt_capture.py and on CUDA by gpu/test_capture.py; both give ``device``, ``vendor`` (see
captures.py) and ``gate`` (holds a stream while inside).
"""

import threading

import numpy as np
import pytest
from captures import GLOBAL, THREAD_LOCAL
from waiting import settle, until

import cdevice
from cdevice._runtime.ext import lib

kinds = pytest.mark.parametrize("blocking", [False, True], ids=["non-blocking", "blocking"])


def ready(device, n=1000):
    array = cdevice.asarray(np.arange(n)).to(device)
    array.synchronize()
    return array


def elsewhere(run):
    """Runs it in another thread, and raises what it raised."""
    failed = []

    def work():
        try:
            run()
        except BaseException as e:
            failed.append(e)

    t = threading.Thread(target=work)
    t.start()
    t.join()
    if failed:
        raise failed[0]


@kinds
@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL], ids=["global", "thread-local"])
def test_a_release_leaves_the_capture_whole_and_the_memory_comes_back_after_it(device, vendor, blocking, mode):
    d = cdevice.device(device)
    stream = vendor.stream(blocking)
    arrays = [ready(device) for _ in range(3)]
    with vendor.capture(stream, mode):
        arrays.pop().release()
        arrays.pop()
        elsewhere(arrays.pop().release)
        settle()
    until(lambda: d.trim() or not (d.memory().pooled or d.memory().pending))


@kinds
def test_what_is_ready_is_handed_to_the_captured_stream(device, vendor, blocking):
    stream = vendor.stream(blocking)
    array, fresh = ready(device), cdevice.asarray(np.arange(9)).to(device)
    until(lambda: not lib.cdv_retired_count())
    cdevice.asarray(np.arange(9)).to(device).synchronize()  # so fresh has passed, and nobody has asked yet
    with vendor.capture(stream):
        array.wait(stream)
        fresh.wait(stream)
        assert fresh.ready and array.sync_event == array.sync_event
        elsewhere(lambda: fresh.wait(stream))


@kinds
def test_what_is_not_ready_is_refused_for_the_captured_stream(device, vendor, gate, blocking):
    stream, other = vendor.stream(blocking), vendor.stream()
    with gate(other):
        array = cdevice.asarray(np.arange(1000)).to(device, stream=other)
        with vendor.capture(stream):
            with pytest.raises(cdevice.DeviceError, match="captured") as e:
                array.wait(stream)
            assert e.value.vendor_code == 900
            assert not array.ready
    array.synchronize()


@kinds
def test_the_captured_stream_is_refused_before_anything_is_put_on_it(device, vendor, blocking):
    stream = vendor.stream(blocking)
    source, array = cdevice.asarray(np.arange(1000)), ready(device)
    before = lib.cdv_backend_live(array.device_type_id)
    with vendor.capture(stream):
        if device in ("cuda", "rocm"):  # the CPU reads the others' memory by itself
            with pytest.raises(cdevice.DeviceError, match="captured"):
                array.to("cpu", stream=stream)
        for doing in (
            lambda: source.to(device, stream=stream),
            lambda: array.to(device, stream=stream, copy=True),
            lambda: array.record_use(stream),
        ):
            with pytest.raises(cdevice.DeviceError, match="captured") as e:
                doing()
            assert e.value.vendor_code == 900
    assert lib.cdv_backend_live(array.device_type_id) == before
    assert source.to(device, stream=stream).to("cpu").equals(source)  # afterwards it is a stream as any other


def test_the_default_stream_is_refused_while_one_that_it_follows_is_captured(device, vendor):
    stream, other = vendor.stream(blocking=True), vendor.stream()
    source = cdevice.asarray(np.arange(1000))
    default = 1 if vendor.prefix == "cu" else 0
    with vendor.capture(stream):
        with pytest.raises(cdevice.DeviceError, match="captured") as e:
            source.to(device, stream=default)
        assert e.value.vendor_code == 906
        there = source.to(device, stream=other)
        there.synchronize()
        assert there.to("cpu", stream=other).equals(source)


def test_other_threads_allocate_and_wait_on_their_own_streams(device, vendor):
    stream, other = vendor.stream(), vendor.stream()
    cdevice.device(device).trim()
    settle()
    source = cdevice.asarray(np.arange(50_000))
    kept = []

    def work():
        there = source.to(device, stream=other)
        kept.append(there)
        there.synchronize()
        assert there.ready and there.to("cpu", stream=other).equals(source)

    with vendor.capture(stream):
        elsewhere(work)
        work()


@kinds
@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL], ids=["global", "thread-local"])
def test_where_the_capture_is_told_of_other_threads_release_and_allocate_at_will(device, vendor, blocking, mode):
    d = cdevice.device(device)
    stream, other = vendor.stream(blocking), vendor.stream()
    source = cdevice.asarray(np.arange(300_000))

    def work():
        for _ in range(3):
            there = source.to(device, stream=other)
            assert there.to("cpu", stream=other).equals(source)
            there.release()
            d.memory()
            d.trim()

    work()
    with d.capturing(), vendor.capture(stream, mode):
        work()
        elsewhere(work)
    until(lambda: d.trim() or not (d.memory().pooled or d.memory().pending))


def test_what_is_kept_for_a_consumer_is_given_back_during_the_capture(device, vendor, gate):
    stream, other = vendor.stream(), vendor.stream()
    arrays = [ready(device) for _ in range(12)]  # more than are watched at once: the others are asked about
    settle()
    with gate(other):
        for a in arrays:
            a.record_use(other)
        del a
        vendor.begin(stream)
        arrays.clear()
        kept = lib.cdv_retired_count()
    settle()
    assert vendor.end(stream) == 0 and kept == 12
