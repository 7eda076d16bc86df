"""Memory that a device may still use is kept, whatever else goes wrong. On hostrt, the stand-in runtime: no GPU is shown
by this."""

import contextlib
import ctypes
import errno
import gc
import os
import threading
import weakref

import numpy as np
import pytest
from captures import GLOBAL, RELAXED, Vendor
from resources import Resource
from standin import TYPES
from waiting import settle, until

import cdevice
from cdevice._runtime.ext import ffi, lib
from cdevice.testing.fake import FakeBackend

vendors = pytest.mark.parametrize("device", ["cuda", "rocm"])
rocm = pytest.mark.parametrize("device", ["rocm"])


@pytest.fixture
def runtime(runtimes, device):
    r = runtimes[device]
    settle()
    yield r
    r.mend()
    r.open()
    gc.collect()  # frames of expected exceptions
    settle()
    assert r.stats().misuse == 0


@pytest.fixture
def vendor(runtime, device):
    made = Vendor(ctypes.CDLL(str(runtime.path)), device, lib.cdv_backend_table(TYPES[device]))
    yield made
    runtime.open()
    gc.collect()
    settle()
    made.close()


@pytest.fixture
def streams(runtime, device):
    """Makes non-blocking streams: streams(number of the device) gives a handle."""
    table, made = lib.cdv_backend_table(TYPES[device]), []

    def stream(number):
        out = ffi.new("void **")
        assert not table.stream_create(table.self, number, out, ffi.NULL)
        made.append((number, out[0]))
        return int(ffi.cast("uintptr_t", out[0]))

    yield stream
    runtime.open()
    gc.collect()
    settle()
    for number, handle in made:
        table.stream_destroy(table.self, number, handle)


def query(device):
    return "cuEventQuery" if device == "cuda" else "hipEventQuery"


# ---- two devices of one family ----
@pytest.mark.parametrize("given", [False, True], ids=["default stream", "stream of the target"])
@vendors
def test_hostrt_a_slice_that_is_still_being_made_arrives_whole_on_another_device(device, given, runtime, streams):
    words = [f"{i:03}"[: 1 + i % 3] for i in range(1000)]
    making, mine = streams(1), streams(0) if given else None
    cdevice.asarray(["other lengths " * (i % 5) for i in range(1000)]).to(f"{device}:1").release()  # leaves offsets
    settle()
    runtime.gate(making)
    there = cdevice.asarray(words).to(f"{device}:1", stream=making)
    blocked = runtime.stats().host_blocks

    def open_when_somebody_waits():
        until(lambda: runtime.stats().host_blocks > blocked)
        runtime.open()

    opener = threading.Thread(target=open_when_somebody_waits)
    opener.start()
    try:
        moved = there[11:20].to(f"{device}:0", stream=mine)
    finally:
        opener.join()
    assert moved.to("cpu").to_pylist() == words[11:20]


# ---- events that cannot be asked ----
@pytest.mark.parametrize("code", [1, 2, 4, 201, 400, 719, 801, 900, 901, 907, 999])
@vendors
def test_hostrt_an_event_that_could_not_be_asked_once_has_not_passed(device, code, runtime):
    rows = np.arange(50_000)
    runtime.gate()
    others = [cdevice.asarray(np.arange(10)).to(device) for _ in range(8)]  # as many as are told by the vendor
    victim = cdevice.asarray(rows).to(device)
    kept = lib.cdv_retired_count()
    runtime.fail(query(device), 0, code)
    until(lambda: not runtime.library.hostrt_armed())
    zeros = [cdevice.asarray(np.zeros(50_000, np.int64)).to(device) for _ in range(3)]
    assert lib.cdv_retired_count() >= kept
    runtime.open()
    assert victim.to("cpu").to_numpy().tolist() == rows.tolist()
    del others, zeros


@pytest.mark.parametrize("code", [1, 999])
@vendors
def test_hostrt_memory_comes_back_when_events_can_be_asked_again(device, code, runtime):
    runtime.gate()
    arrays = [cdevice.asarray(np.arange(10)).to(device) for _ in range(10)]
    runtime.fail(query(device), -1, code)
    runtime.open()
    table = lib.cdv_backend_table(TYPES[device])
    assert table.stream_wait_host(table.self, 0, ffi.NULL, ffi.NULL) == 0
    assert lib.cdv_retired_count()
    with pytest.raises(cdevice.DeviceError):
        assert arrays[9].ready
    runtime.mend()
    settle()


class Asked(FakeBackend):
    """Counts the questions about events, and may refuse an answer."""

    raises, asked = None, 0

    def event_done(self, event, *, device_id):
        self.asked += 1
        if self.raises is not None:
            raise self.raises
        return super().event_done(event, device_id=device_id)


@pytest.fixture
def fake():
    b = Asked(12, "fake")
    cdevice.register_backend(b)
    yield b
    b.raises = None
    gc.collect()
    settle()
    until(lambda: not lib.cdv_backend_live(12))
    cdevice.unregister_backend(12)


def test_a_backend_in_python_that_raises_when_asked_loses_nothing(fake):
    rows = np.arange(5000)
    with fake.gate(0):
        there = cdevice.asarray(rows).to((12, 0))
        until(lambda: fake.asked)
        fake.raises, before = RuntimeError("not now"), fake.asked
        until(lambda: fake.asked >= before + 3)
        assert lib.cdv_retired_count() == 1
        fake.raises = None
    assert there.to("cpu").to_numpy().tolist() == rows.tolist()


def test_a_backend_in_python_says_by_device_error_that_an_event_has_failed(fake):
    with fake.gate(0):
        there = cdevice.asarray(np.arange(5000)).to((12, 0))
        fake._stream(0).work.queue.clear()  # a dead device runs nothing any more
        fake.raises = cdevice.DeviceError("it is broken")
        settle()
        with pytest.raises(cdevice.DeviceError, match="broken"):
            assert there.ready


@pytest.mark.parametrize("code", [1, 2, 801, 900, 999])
@vendors
def test_hostrt_a_copy_that_cannot_be_watched_succeeds_and_is_asked_for(device, code, runtime):
    runtime.fail("cuLaunchHostFunc" if device == "cuda" else "hipLaunchHostFunc", -1, code)
    rows = np.arange(50_000)
    runtime.gate()
    there = cdevice.asarray(rows).to(device)
    assert lib.cdv_retired_count() == 1
    runtime.open()
    assert there.to("cpu").to_numpy().tolist() == rows.tolist()
    settle()


# ---- forks ----
def in_child(run):
    """What it returns: 0 is well; 14: it hung."""
    import signal
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if not pid:
        code = 99
        try:
            signal.alarm(20)
            code = run()
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else os.WTERMSIG(status)


def test_a_forked_child_that_drops_what_it_inherited_calls_nothing_of_the_backend(fake):
    arrays = [cdevice.asarray(np.arange(100)).to((12, 0)) for _ in range(3)]
    for a in arrays:
        a.synchronize()
    settle()

    def drop():
        live, asked = fake.live(), fake.asked
        a = None
        arrays.clear()
        gc.collect()
        from cdevice._runtime.ext import _native

        _native.drain()
        return 1 if fake.live() != live else 2 if fake.asked != asked else 3 if a else 0

    del a
    assert in_child(drop) == 0
    assert arrays[0].to("cpu").length == 100


@pytest.mark.parametrize("lent", [False, True], ids=["the backend's memory", "an allocator's memory"])
@vendors
def test_hostrt_a_forked_child_that_drops_what_it_inherited_calls_nothing_of_the_vendor(device, lent, runtime):
    resource = Resource(device)
    if lent:
        cdevice.set_allocator(device, resource)
    try:
        arrays = [cdevice.asarray(np.arange(100)).to(device) for _ in range(3)]
    finally:
        cdevice.set_allocator(device, None)
    for a in arrays:
        a.synchronize()
    del a
    runtime.gate()
    pending = [cdevice.asarray(np.arange(100)).to(device) for _ in range(12)]  # the reclaimer has these

    def drop():
        calls, out = runtime.library.hostrt_calls(), len(resource.out)
        arrays.clear()
        pending.clear()
        gc.collect()
        from cdevice._runtime.ext import _native

        _native.drain()
        called, back = runtime.library.hostrt_calls() != calls, len(resource.out) != out
        return 1 if called else 2 if back else 3 if lib.cdv_retired_count() else 0

    assert in_child(drop) == 0
    runtime.open()
    assert pending[3].to("cpu").to_pylist() == list(range(100))
    arrays.clear()
    pending.clear()
    settle()
    until(lambda: not resource.out)


# ---- captures ----
class Stream:
    """An object that owns a stream, as cupy's does."""

    def __init__(self, handle):
        self.ptr = handle


@rocm
def test_hostrt_an_allocators_memory_keeps_its_stream_until_it_is_back(device, runtime, vendor):
    resource = Resource(device)
    cdevice.set_allocator(device, resource)
    try:
        stream = Stream(vendor.stream())
        there = cdevice.asarray(np.arange(1000)).to(device, stream=stream)
        there.synchronize()
        gone = weakref.ref(stream)
        del stream
        with vendor.capture(vendor.stream(blocking=True), RELAXED):
            there.release()
            del there
            gc.collect()
            settle()
            assert len(resource.out) == 1 and gone()  # nothing could be recorded yet, and that needs the stream
        cdevice.device(device).memory()
        until(lambda: not resource.out)
        until(lambda: not gone())
    finally:
        cdevice.set_allocator(device, None)


@vendors
def test_hostrt_an_allocators_memory_comes_back_after_the_allocator_was_replaced(device, runtime, vendor):
    resource = Resource(device)
    cdevice.set_allocator(device, resource)
    there = cdevice.asarray(np.arange(1000)).to(device)
    there.synchronize()
    cdevice.set_allocator(device, None)
    with vendor.capture(vendor.stream(blocking=True), RELAXED):
        there.release()
        del there
        gc.collect()
    assert len(resource.out) == 1
    cdevice.asarray([1]).to(device).synchronize()
    until(lambda: not resource.out)


@vendors
def test_hostrt_what_is_released_in_captures_is_used_again_after_them(device, runtime, vendor):
    d, stream = cdevice.device(device), vendor.stream(blocking=True)
    settle()
    for _ in range(3):
        there = cdevice.asarray(np.arange(1 << 17)).to(device)
        there.synchronize()
        with vendor.capture(stream, RELAXED):
            there.release()
    until(lambda: not d.memory().pending)


@contextlib.contextmanager
def jealous(runtime):
    runtime.library.hostrt_jealous(1)
    try:
        yield
    finally:
        runtime.library.hostrt_jealous(0)


@vendors
def test_hostrt_while_a_capture_is_told_of_nothing_is_asked_that_could_end_it(device, runtime, vendor, fake):
    """As HIP 7.0 to 7.2, whose hipEventQuery and hipLaunchHostFunc end captures whatever the mode."""
    d, other, stream = cdevice.device(device), vendor.stream(), vendor.stream()
    arrays = [cdevice.asarray(np.arange(1000)).to(device) for _ in range(12)]
    for a in arrays:
        a.synchronize()
    settle()
    runtime.gate(other)
    for a in arrays:
        a.record_use(other)  # eight are watched, four are asked about
    del a
    with fake.gate(0), jealous(runtime), d.capturing(), vendor.capture(stream, GLOBAL):
        held = cdevice.asarray(np.arange(9)).to((12, 0))
        arrays.clear()
        d.memory()
        cdevice.asarray(np.arange(1000)).to(device, stream=vendor.stream()).release()
        seen = fake.asked
        until(lambda: fake.asked >= seen + 5)  # so many rounds of the reclaimer
        assert lib.cdv_retired_count() >= 12
    runtime.open()
    settle()
    until(lambda: not d.memory().pending)
    held.synchronize()


@vendors
def test_hostrt_a_capture_that_ends_while_a_stream_is_made_to_wait_leaves_no_work_unordered(device, runtime, vendor):
    rows, mine = np.arange(5000), vendor.stream()
    runtime.gate()
    there = cdevice.asarray(rows).to(device)
    asked = "cuStreamIsCapturing" if device == "cuda" else "hipStreamIsCapturing"
    runtime.fail(asked, 0, 906)  # once: then it has ended
    with pytest.raises(cdevice.DeviceError, match="captured"):
        there.wait(mine)
    assert not runtime.library.hostrt_armed()
    runtime.open()
    assert there.to("cpu").to_numpy().tolist() == rows.tolist()


# ---- errors of the thread ----
@rocm
def test_hostrt_errors_that_were_dealt_with_are_not_the_threads_last_error(device, runtime):
    d, hip = cdevice.device(device), runtime.library
    cdevice.asarray(np.zeros(1 << 17)).to(device).synchronize()
    settle()
    until(lambda: not d.memory().pending)
    d.trim()
    hip.hipGetLastError()
    runtime.fail("hipMalloc", 0, 2)
    there = cdevice.asarray(np.zeros(300)).to(device)  # once more, and then it is there
    assert hip.hipPeekAtLastError() == 0
    settle()
    there.release()
    until(lambda: not d.memory().pending)
    d.trim()
    runtime.library.hostrt_limit(100)
    try:
        with pytest.raises(cdevice.OutOfMemory):
            cdevice.asarray(np.zeros(3000)).to(device)
    finally:
        runtime.library.hostrt_limit(0)
    assert hip.hipPeekAtLastError() == 0
    runtime.fail("hipMemcpyAsync", 0, 999)
    with pytest.raises(cdevice.DeviceError):
        cdevice.asarray(np.zeros(3000)).to(device)
    assert hip.hipPeekAtLastError() == 0


@rocm
def test_hostrt_an_older_error_of_the_thread_stays_for_whoever_looks_for_it(device, runtime):
    hip = runtime.library
    assert hip.hipSetDevice(99) == 101
    there = cdevice.asarray(np.arange(300)).to(device)
    there.synchronize()
    assert there.ready and there.to("cpu").length == 300
    assert hip.hipGetLastError() == 101


# ---- allocators ----
@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.parametrize("kind", ["cuda_managed", "cuda_host"])
def test_hostrt_an_allocator_may_give_memory_that_the_host_shares(device, kind, runtime):
    resource = Resource(kind, 1)  # managed memory is every device's
    cdevice.set_allocator(device, resource)
    try:
        there = cdevice.asarray(list(range(100))).to(device)
        assert len(resource.out) == 1 and there.device == cdevice.device(device)
        there.validate("full")
        assert there.to("cpu").to_pylist() == list(range(100))
        del there
    finally:
        cdevice.set_allocator(device, None)
    settle()
    until(lambda: not resource.out)


@vendors
def test_hostrt_memory_goes_back_to_its_allocator_when_the_device_cannot_be_made_current(device, runtime):
    resource = Resource(device)
    cdevice.set_allocator(device, resource)
    there = cdevice.asarray(list(range(100))).to(device)
    there.synchronize()
    cdevice.set_allocator(device, None)
    settle()
    called = threading.Event()
    back = resource.deallocate

    def deallocate(address, nbytes, stream=None):
        called.set()
        runtime.mend()
        back(address, nbytes, stream)

    resource.deallocate = deallocate
    with runtime_fails_where_devices_are_made_current(runtime, device, resource):
        there.release()
        until(lambda: called.is_set())
    until(lambda: not resource.out)


@contextlib.contextmanager
def runtime_fails_where_devices_are_made_current(runtime, device, resource):
    """From the moment on at which the device has passed everything: only the giving back comes after it."""
    from cdevice._devices import allocators as memory

    enter = memory._current.__enter__

    def failing(self):
        if not self.needed:
            runtime.fail("cuCtxPushCurrent_v2" if device == "cuda" else "hipGetDevice", 0, 999)
        return enter(self)

    memory._current.__enter__ = failing
    try:
        yield
    finally:
        memory._current.__enter__ = enter


# ---- nothing is asked of a handle that may be gone ----
@vendors
def test_hostrt_events_are_asked_and_memory_comes_back_when_their_streams_are_gone(device, runtime):
    """The stand-in for HIP counts questions about events whose stream was destroyed, which ROCm 6.4 does not survive."""
    table, d = lib.cdv_backend_table(TYPES[device]), cdevice.device(device)
    rows = np.arange(3000)
    for i in range(200):
        out = ffi.new("void **")
        assert not table.stream_create(table.self, 0, out, ffi.NULL)
        stream = int(ffi.cast("uintptr_t", out[0]))
        if i % 10 == 0:
            runtime.open()
            runtime.gate(stream)  # its work is not over when it goes
        there = cdevice.asarray(rows).to(device, stream=stream)
        del there  # its memory goes back behind the stream's work
        table.stream_destroy(table.self, 0, out[0])
    runtime.open()
    settle()
    until(lambda: (d.trim(), d.memory().pending == 0)[1])
    assert runtime.stats().misuse == 0


@vendors
def test_hostrt_streams_do_not_wait_for_each_other_by_way_of_their_events(device, runtime, streams):
    held, free = streams(0), streams(0)
    runtime.gate(held)
    late = cdevice.asarray(np.arange(1000)).to(device, stream=held)
    early = cdevice.asarray(np.arange(1000)).to(device, stream=free)
    early.synchronize()  # it would wait for ever
    assert early.ready and not late.ready
    runtime.open()
    late.synchronize()


@vendors
def test_hostrt_a_handle_that_is_gone_is_a_bad_argument_and_no_dead_device(device, runtime):
    table = lib.cdv_backend_table(TYPES[device])
    err = ffi.new("cdevice_error *")
    runtime.fail("cuStreamSynchronize" if device == "cuda" else "hipStreamSynchronize", -1, 709)
    code = table.stream_wait_host(table.self, 0, ffi.NULL, err)
    assert (code, err.vendor_code) == (errno.EIO if device == "cuda" else errno.EINVAL, 709)
    runtime.mend()
    assert cdevice.asarray([1, 2]).to(device).to("cpu").to_pylist() == [1, 2]


@rocm
def test_hostrt_an_error_of_the_applications_is_still_its_threads_last_error(device, runtime):
    """Up to HIP 6 a call that goes well forgets it: a check behind a kernel launch would find nothing."""
    hip = runtime.library
    hip.hipSetDevice.argtypes, hip.hipEventDestroy.argtypes = [ctypes.c_int], [ctypes.c_void_p]
    hip.hipGetDevice.argtypes, hip.hipMalloc.argtypes = [ctypes.c_void_p], [ctypes.c_void_p, ctypes.c_size_t]
    pending = {
        101: lambda: hip.hipSetDevice(-1),
        400: lambda: hip.hipEventDestroy(None),
        1: lambda: hip.hipGetDevice(None),
        2: lambda: runtime.fail("hipMalloc", 0, 2) or hip.hipMalloc(ctypes.byref(ctypes.c_void_p()), 64),
    }
    for forgetful in (1, 0):
        hip.hostrt_forgetful(forgetful)
        try:
            for code, cause in pending.items():
                assert cause() == code and hip.hipPeekAtLastError() == code
                there = cdevice.asarray(np.arange(3000)).to(device)
                there.synchronize()
                assert there.to("cpu").to_numpy()[-1] == 2999
                del there
                found = hip.hipGetLastError()
                assert found == code or (forgetful and code == 2 and found), (code, found)
                there = cdevice.asarray([1]).to(device)
                there.synchronize()
                assert hip.hipGetLastError() == 0
        finally:
            hip.hostrt_forgetful(0)
