"""The driver-shaped backends on hostrt, the stand-in runtime, each test in a process of its own.

What passes here ran on host memory with real queues, not on a GPU.  Gates hold streams; nothing sleeps.
"""

import ctypes
import importlib.util
import os
import re

import pytest
from paths import ROOT
from standin_process import hostrt, libraries, run  # noqa: F401 - a fixture

TYPES = ("cuda", "cuda_host", "cuda_managed", "rocm", "rocm_host")
every_type = pytest.mark.parametrize("device", TYPES)
vendors = pytest.mark.parametrize("device", ["cuda", "rocm"])


WIDE = """
fields = [rows(1000) for _ in range(1000)]
schema = cdevice.Schema.make("+s", children=[f.schema.with_name(str(i)) for i, f in enumerate(fields)])
batch = cdevice.from_buffers(schema, 1000, [None], null_count=0, children=fields)
cdevice.device(here).info
counted = ("Alloc", "Malloc"), ("Memcpy",), ("EventRecord",), ("Synchronize",), ("Query",)
"""


@every_type
def test_hostrt_a_wide_batch_there_and_back_is_one_allocation_two_copies_one_event_no_wait(device, hostrt, tmp_path):
    out = run(
        hostrt,
        device,
        WIDE
        + """
first = batch.to(here) # the staging chunk is allocated once in a process
first.synchronize()
until(lambda: not cdevice._core.lib.cdv_retired_count())
before, blocks = [calls(*w) for w in counted], stats().host_blocks
there = batch.to(here)
print(*[calls(*w) - b for w, b in zip(counted, before)], stats().host_blocks - blocks)
back = there.to("cpu", copy=True)
assert back.equals(batch)
assert stats().misuse == 0
""",
        HOSTRT_TRACE=tmp_path / "trace",
    )
    allocations, copies, events, waits, _, blocked = map(int, out.split())
    assert (allocations, events, waits, blocked) == (1, 1, 0, 0)
    assert copies <= 2


@vendors
def test_hostrt_where_the_memory_of_many_columns_is_is_asked_once(device, hostrt, tmp_path):
    run(
        hostrt,
        device,
        """
fields = [rows(10_000) for _ in range(200)]
schema = cdevice.Schema.make("+s", children=[f.schema.with_name(str(i)) for i, f in enumerate(fields)])
batch = cdevice.from_buffers(schema, 10_000, [None], null_count=0, children=fields)
there = batch.to(here)
assert calls("PointerGetAttribute") == 1 and calls("Memcpy") == 2
assert there.to("cpu").equals(batch)
pinned = rows(100_000).to(here + "_host")            # of the first column the device reads by itself
mixed = cdevice.from_buffers(
    cdevice.Schema.make("+s", children=[pinned.schema.with_name("p"), fields[0].schema.with_name("q")]),
    10_000, [None], null_count=0, children=[pinned.to("cpu")[:10_000], fields[0]])
assert mixed.to(here).to("cpu").equals(mixed)
""",
        HOSTRT_TRACE=tmp_path / "trace",
    )


@vendors
def test_hostrt_a_device_gets_a_context_when_it_is_used_and_not_before(device, hostrt, tmp_path):
    run(
        hostrt,
        device,
        """
assert len(cdevice.devices(here)) == 2
assert calls("CtxRetain", "SetDevice") == 0
rows(9).to(here + ":1").synchronize()
assert calls("CtxRetain", "SetDevice") > 0
assert calls("CtxRetain") == (here == "cuda")
rows(9).to(here + ":1").synchronize()
assert calls("CtxRetain") == (here == "cuda")
""",
        HOSTRT_TRACE=tmp_path / "trace",
    )


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_devices_that_can_reach_each_others_memory_do_so_and_are_told_once(device, hostrt, tmp_path):
    run(
        hostrt,
        device,
        """
a = rows(1000).to(f"{here}:0")
copies = [a.to(f"{here}:1") for _ in range(3)]
assert calls("EnablePeerAccess") == 1
assert calls("Memcpy") == 4
assert all(c.device_id == 1 and c.to("cpu").equals(rows(1000)) for c in copies)
assert copies[0].to(f"{here}:0").to("cpu").equals(rows(1000))
assert calls("EnablePeerAccess") == 2
assert stats().misuse == 0
""",
        HOSTRT_TRACE=tmp_path / "trace",
    )


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_handles_and_memory_of_another_device_are_refused_with_the_vendors_word(device, hostrt):
    run(
        hostrt,
        device,
        """
import re

def refused(error, text, f):
    try: f()
    except error as e:
        assert re.search(text, str(e)), e
        return e
    raise AssertionError(text)

stream = new_stream(1)
e = refused(cdevice.DeviceError, "^" + here + ":0: recording an event: invalid .*(HANDLE|Handle) 400",
            lambda: rows(1).to(here + ":0", stream=stream))
assert e.vendor_code == 400
destroy(stream, 1)
refused(cdevice.DeviceError, "^" + here + ":1: copying to the device: .*(HANDLE 400|ContextIsDestroyed 709)",
        lambda: rows(1).to(here + ":1", stream=stream))
there = rows(3).to(here + ":1")
make = lambda address, level: cdevice.from_buffers("l", 3, [None, address], null_count=0, device=here + ":0", owner=there,
                                                   validate=level)
refused(cdevice.InvalidArray, "buffer 1 lies on " + here + ":1, its array is on " + here + ":0",
        lambda: make(there.buffers[1].address, "full"))
refused(cdevice.InvalidArray, "buffer 1 is no live buffer of " + here, lambda: make(4096, "full"))
settle()
""",
    )


@every_type
def test_hostrt_building_from_parts_that_are_not_ready_neither_waits_nor_forgets_what_they_wait_for(device, hostrt):
    run(
        hostrt,
        device,
        """
import threading
first = cdevice.asarray(np.arange(9)).to(here); first.synchronize()
rt.hostrt_gate(None)
there = cdevice.asarray(np.arange(9)).to(here)
assert not there.ready
schema = cdevice.Schema.make("+s", children=[there.schema.with_name("x")])
whole = cdevice.from_buffers(schema, 9, [None], null_count=0, children=[there], device=here)
assert not there.ready and not whole.ready
opener = threading.Timer(0.05, rt.hostrt_open)   # a thread that needs the GIL
opener.start()
assert whole.to("cpu").to_pylist()[8] == {"x": 8} and there.ready
opener.join()
""",
    )


@every_type
def test_hostrt_the_callers_device_is_left_as_it_was(device, hostrt):
    run(
        hostrt,
        device,
        """
now = ctypes.c_void_p(), ctypes.c_int()
if here.startswith("cuda"):
    mine = ctypes.c_void_p()
    assert vendor.cuInit(0) == 0 and vendor.cuDevicePrimaryCtxRetain(ctypes.byref(mine), 1) == 0
    assert vendor.cuCtxPushCurrent_v2(mine) == 0
    def current():
        assert vendor.cuCtxGetCurrent(ctypes.byref(now[0])) == 0
        return now[0].value == mine.value
else:
    assert vendor.hipSetDevice(1) == 0
    def current():
        assert vendor.hipGetDevice(ctypes.byref(now[1])) == 0
        return now[1].value == 1
a = rows(100).to(here)
assert current()
assert a.to("cpu", copy=True).equals(rows(100)) and current()
a.to(here + ":1").wait(new_stream(1)); assert current()
cdevice.device(here).info; assert current()
rt.hostrt_fail(b"cuMemAlloc_v2" if here.startswith("cuda") else b"hipMalloc", 0, 719)
try: rows(99999).to(here.split("_")[0])
except cdevice.DeviceError: pass
assert current()
a.release(); assert current()
cdevice.device(here).trim(); assert current()
assert stats().misuse == 0
""",
    )


@every_type
def test_hostrt_memory_is_told_and_trimmed(device, hostrt):
    run(
        hostrt,
        device,
        """
d = cdevice.device(here)
assert d.memory() == (0, 0, 0, 0)
a = rows(1000).to(here)
a.synchronize()
settle()
size = d.memory().live
assert 8000 <= size <= 10240 and d.memory() == (size, 0, 0, size)
b = rows(1000).to(here)
b.synchronize()
settle()
assert d.memory() == (2 * size, 0, 0, 2 * size)
rt.hostrt_gate(None)
b.release()
assert d.memory() == (size, 0, size, 2 * size)
d.trim()                                  # what is pending stays, and nobody waits for the gate
assert d.memory() == (size, 0, size, 2 * size)
rt.hostrt_open()
until(lambda: d.memory() == (size, size, 0, 2 * size))
a.release()
until(lambda: d.memory() == (0, 2 * size, 0, 2 * size))
d.trim()
assert d.memory() == (0, 0, 0, 2 * size)
others = [cdevice.device(t).memory() for t in ("cuda", "cuda_host", "cuda_managed", "rocm", "rocm_host") if t != here]
assert others == [(0, 0, 0, 0)] * 4       # each type counts its own
assert stats().misuse == 0
""",
    )


@pytest.mark.parametrize("device", ["cuda", "cuda_managed", "rocm"])
def test_hostrt_out_of_memory_says_sizes_after_one_attempt_to_reclaim(device, hostrt):
    run(
        hostrt,
        device,
        """
mib = 1 << 20
rt.hostrt_limit(10 * mib)
big = cdevice.asarray(np.zeros(5 * mib, np.uint8))
a = big.to(here)
a.synchronize()
try:
    cdevice.asarray(np.zeros(6 * mib, np.uint8)).to(here)
except cdevice.OutOfMemory as e:
    assert isinstance(e, MemoryError) and isinstance(e, cdevice.DeviceError)
    assert e.vendor_code == 2 and "OUT_OF_MEMORY" in e.vendor_name.upper().replace("OFM", "_OF_M").replace("TO_", "T_O"), e.vendor_name
    text = str(e)
    assert str(6 * mib) in text and "in use" in text, text
else:
    raise AssertionError("no error")
assert lib.cdv_backend_live(cdevice.device(here).type_id) == 2  # the array and its event: nothing was left behind
a.release()
settle()
# the pool holds 5 MiB that do not fit: they go back, and the new block is had
b = cdevice.asarray(np.arange(6 * mib, dtype=np.uint8)).to(here)
assert b.to("cpu", copy=True).equals(cdevice.asarray(np.arange(6 * mib, dtype=np.uint8)))
b.release()
settle()
# 9 MiB would be rounded to 10; with 9.5 it is had without rounding
rt.hostrt_limit(9 * mib + mib // 2)
c = cdevice.asarray(np.arange(8 * mib + 300 * 1024, dtype=np.uint8)).to(here)
c.synchronize()
assert cdevice.device(here).memory().live < 9 * mib
c.release()
settle()
d = cdevice.asarray(np.arange(9 * mib, dtype=np.uint8)).to(here)
assert d.to("cpu", copy=True).equals(cdevice.asarray(np.arange(9 * mib, dtype=np.uint8)))
assert stats().misuse == 0
""",
    )


@vendors
def test_hostrt_pending_blocks_are_waited_for_when_memory_is_short_and_only_then(device, hostrt):
    run(
        hostrt,
        device,
        """
rt.hostrt_limit(10 << 20)
a = cdevice.asarray(np.zeros(6 << 20, np.uint8)).to(here)
a.synchronize()
settle()
rt.hostrt_gate(None)
a.release()                                          # pending behind the gate
had = []
source = cdevice.asarray(np.zeros(7 << 20, np.uint8))
t = threading.Thread(target=lambda: had.append(source.to(here)))
t.start()
until(lambda: stats().host_blocks)                   # it waits for the device now
assert not had
rt.hostrt_open()
t.join()
had[0].synchronize()
assert stats().misuse == 0
""",
    )


@pytest.mark.parametrize("device", ["cuda", "cuda_managed"])
def test_hostrt_a_consumer_on_a_non_blocking_stream_is_covered_at_release(device, hostrt):
    run(
        hostrt,
        device,
        """
a = rows(1000).to(here)
a.synchronize()
settle()
consumer = new_stream()                              # nobody tells cdevice that it reads the array
out = np.zeros(1000, np.int64)
assert vendor.cuCtxPushCurrent_v2(ctypes.c_void_p(0)) in (0, 201)
first = ctypes.c_void_p()
vendor.cuDevicePrimaryCtxRetain(ctypes.byref(first), 0); vendor.cuCtxPushCurrent_v2(first)
rt.hostrt_gate(consumer)
assert vendor.cuMemcpyAsync(ctypes.c_uint64(out.ctypes.data), ctypes.c_uint64(a.buffers[1].address), ctypes.c_size_t(8000), ctypes.c_void_p(consumer)) == 0
address = a.buffers[1].address
a.release()
assert cdevice.device(here).memory().pending >= 8000
b = cdevice.asarray(np.full(1000, 7)).to(here)       # must not get that block
assert b.buffers[1].address != address
b.synchronize()
rt.hostrt_open()
assert vendor.cuStreamSynchronize(ctypes.c_void_p(consumer)) == 0
assert (out == np.arange(1000)).all()
assert stats().misuse == 0
""",
    )


def test_hostrt_a_stream_may_go_before_what_was_allocated_for_it(hostrt):
    run(
        hostrt,
        "cuda",
        """
s = new_stream()
a = rows(1000).to(here, stream=s)
a.synchronize()
settle()
destroy(s)
a.release()
b = rows(1000).to(here)
assert b.to("cpu").equals(rows(1000))
assert stats().misuse == 0
""",
    )


@pytest.mark.parametrize("device", ["cuda", "cuda_host", "cuda_managed"])
def test_hostrt_releases_call_nothing_of_the_driver_and_share_one_event_later(device, hostrt, tmp_path):
    run(
        hostrt,
        device,
        """
arrays = [rows(1000 * i).to(here) for i in range(1, 9)]
for a in arrays: a.synchronize()
settle()
before = calls("")
assert before > 8
arrays.clear()
del a
gc.collect()
assert calls("") == before and calls("CtxRecordEvent") == 0
again = rows(8000).to(here)
assert calls("CtxRecordEvent") == 1
again.synchronize()
until(lambda: not cdevice.device(here).memory().pending)
assert calls("CtxRecordEvent") == 1
rows(1000).to(here).synchronize()                    # a block of before: nothing new is allocated
assert calls("MemAlloc") == 9 + (here == "cuda" and calls("MemAllocHost"))
""",
        HOSTRT_TRACE=tmp_path / "trace",
    )


@pytest.mark.parametrize("device", ["cuda", "cuda_host", "cuda_managed", "rocm"])
def test_hostrt_on_a_driver_that_cannot_cover_all_streams_the_producers_is_covered(device, hostrt):
    run(
        hostrt,
        device,
        """
for s in (new_stream(), 0 if here == "rocm" else 1, *([] if here == "rocm" else [2])):
    rt.hostrt_gate(s)
    a = rows(1000).to(here, stream=s)
    a.release()                                      # its own copy is still queued
    assert cdevice.device(here).memory().pending >= 8000 or lib.cdv_retired_count()
    b = cdevice.asarray(np.full(1000, 7)).to(here, stream=new_stream())
    b.synchronize()
    rt.hostrt_open()
    settle()
    assert b.to("cpu").equals(cdevice.asarray(np.full(1000, 7)))
assert stats().misuse == 0
""",
        HOSTRT_OLD_DRIVER=1,
    )


@vendors
def test_hostrt_a_held_stream_does_not_hold_up_what_others_have_finished(device, hostrt):
    run(
        hostrt,
        device,
        """
held, free = new_stream(), new_stream()
rt.hostrt_gate(held)
waiting = [rows(100 + i).to(here, stream=held) for i in range(20)]   # more than there are watches
kept = lib.cdv_retired_count()
assert kept == 20
done = [rows(100 + i).to(here, stream=free) for i in range(20)]
settle(20)                                            # these twenty are given back while the gate is closed
assert not any(a.ready for a in waiting) and all(a.ready for a in done)
rt.hostrt_open()
settle()
assert all(a.to("cpu").equals(rows(100 + i)) for i, a in enumerate(waiting))
assert stats().misuse == 0
""",
    )


@every_type
def test_hostrt_foreign_threads_release_while_the_gate_is_closed(device, hostrt):
    run(
        hostrt,
        device,
        """
structs = []
rt.hostrt_gate(None)
for i in range(20):
    d = ffi.new("struct ArrowDeviceArray *")
    rows(50 + i).to(here)._export_structs(int(ffi.cast("uintptr_t", d)), 0)
    structs.append(d)
blocked = stats().host_blocks
for d in structs:
    assert lib.cdv_release_in_thread(d, 1) == 0
assert stats().host_blocks == blocked
rt.hostrt_open()
settle()
gc.collect()
rows(5).to(here).synchronize()
settle()
assert cdevice.device(here).memory().live == 0
assert stats().misuse == 0
""",
    )


FAULTS = {
    "cuda": "cuMemAlloc_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuCtxPushCurrent_v2 cuEventCreate cuEventRecord "
    "cuCtxRecordEvent cuLaunchHostFunc cuStreamWaitEvent cuStreamCreate cuDevicePrimaryCtxRetain",
    "cuda_host": "cuMemAllocHost_v2 cuMemcpyAsync cuCtxPushCurrent_v2 cuEventCreate cuEventRecord cuCtxRecordEvent",
    "cuda_managed": "cuMemAllocManaged cuMemcpyAsync cuCtxPushCurrent_v2 cuEventCreate cuEventRecord cuCtxRecordEvent",
    "rocm": "hipMalloc hipMemcpyAsync hipSetDevice hipGetDevice hipEventCreateWithFlags hipEventRecord "
    "hipLaunchHostFunc hipStreamWaitEvent hipStreamCreateWithFlags",
    "rocm_host": "hipHostMalloc hipMemcpyAsync hipGetDevice hipEventCreateWithFlags hipEventRecord",
}


@every_type
@pytest.mark.parametrize("code", [1, 719, 4])
def test_hostrt_a_fault_at_the_nth_call_leaves_nothing_behind(device, code, hostrt):
    out = run(
        hostrt,
        device,
        f"""
names = ["a", "bc", None, "d" * 40]
source = cdevice.asarray(names * 50)
functions, code = {FAULTS[device].split()!r}, {code}
"""
        """
d, type_id = cdevice.device(here), cdevice.device(here).type_id
failed = 0
for function in functions:
    for n in range(5):
        rt.hostrt_fail(function.encode(), n, code)
        a = b = None
        try:
            a = source.to(here)
            b = a.to("cpu", copy=True)
        except (cdevice.DeviceError, cdevice.BackendUnavailable, cdevice.ArgumentError) as e:
            failed += 1
            assert e.vendor_code == code and e.vendor_name and e.device.startswith(here.split("_")[0]), repr(e)
        assert b is None or b.equals(source)
        a = None                                      # the fault may come in the release
        rt.hostrt_fail(b"nothing", 0, 0)
        settle()
        gc.collect()
        assert lib.cdv_backend_live(type_id) == 0, function
        assert d.memory().live == 0
assert source.to(here).to("cpu", copy=True).equals(source)
rt.hostrt_open()
settle()
gc.collect()
rows(3).to(here).synchronize()
settle()
gc.collect()
until(lambda: d.trim() or d.memory()[:3] == (0, 0, 0))
s, m = stats(), d.memory()
assert (m.live, m.pooled, m.pending) == (0, 0, 0), m
assert (s.live_device, s.live_host, s.live_managed, s.misuse) == (0, 0, 0, 0)
assert s.live_events < 64
print(failed)
""",
    )
    assert int(out) >= 5


@vendors
def test_hostrt_after_a_sticky_error_everything_says_so_and_nothing_is_waited_for(device, hostrt):
    run(
        hostrt,
        device,
        """
a = rows(1000).to(here)
a.synchronize()
rows(2_000_000).to(here).synchronize()                # what it was staged through is pooled now
settle()
until(lambda: not cdevice.device(here).memory().pending)
rt.hostrt_gate(None)
pending = [rows(1000 + i).to(here) for i in range(12)]
cuda = here == "cuda"
p = ctypes.c_uint64()
side = new_stream()
if cuda:
    context = ctypes.c_void_p()
    vendor.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0); vendor.cuCtxPushCurrent_v2(context)
    assert vendor.cuMemsetD8Async(ctypes.c_uint64(64), 1, ctypes.c_size_t(64), ctypes.c_void_p(side)) == 0
    assert vendor.cuStreamSynchronize(ctypes.c_void_p(side)) == 700
else:
    assert vendor.hipMemsetAsync(ctypes.c_void_p(64), 1, ctypes.c_size_t(64), ctypes.c_void_p(side)) == 0
    assert vendor.hipStreamSynchronize(ctypes.c_void_p(side)) == 700
for doing in (lambda: rows(9).to(here), lambda: rows(2_000_000).to(here), lambda: a.to("cpu"), lambda: pending[0].synchronize(), lambda: pending[0].ready):
    try:
        doing()
    except cdevice.DeviceError as e:
        assert e.vendor_code == 700 and "llegal" in e.vendor_name.lower() and here in str(e), repr(e)
    else:
        raise AssertionError("no error")
rt.hostrt_open()
settle()                                              # what waited for the device's word is given back without it
a = pending = None
gc.collect()
settle()
assert lib.cdv_backend_live(cdevice.device(here).type_id) == 0
assert cdevice.device(here).memory().live == 0
assert cdevice.device(here + "_host").memory().live == 0
""",
    )


@every_type
def test_hostrt_after_a_fork_the_child_gets_a_clear_error_and_the_parent_goes_on(device, hostrt):
    run(
        hostrt,
        device,
        """
import warnings; warnings.simplefilter("ignore")
a = rows(10).to(here)
a.synchronize()
settle()
pid = os.fork()
if pid == 0:
    for name in (here, here.split("_")[0] + "_host"):  # the second was not used, but it is the same runtime
        try: rows(1).to(name)
        except cdevice.DeviceError as e:
            if "fork" not in str(e): os._exit(4)
        else: os._exit(3)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert a.to("cpu").equals(rows(10))
""",
    )


@every_type
def test_hostrt_exit_is_quiet_with_everything_still_alive(device, hostrt):
    run(
        hostrt,
        device,
        """
import atexit
kept = rows(1000).to(here)
early = rows(1000).to(here)
atexit.register(early.release)
struct = ffi.new("struct ArrowDeviceArray *")
rows(77).to(here)._export_structs(int(ffi.cast("uintptr_t", struct)), 0)
atexit.register(lambda: lib.cdv_release_in_thread(struct, 1))
side = rows(5).to(here, stream=new_stream())
""",
    )


def amds_library():
    for name in ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"):
        try:
            if not hasattr(ctypes.CDLL(name), "hostrt_face"):  # a stand-in of this process answers to the name too
                return name
        except OSError:
            pass
    return None


def test_rocm_amds_own_library_without_a_device_is_unavailable_and_says_why(hostrt):
    name = amds_library()
    if not name:
        pytest.skip("no libamdhip64: apt-get install libamdhip64-5")
    if os.path.exists("/dev/kfd"):
        pytest.skip("there is an AMD device")
    run(
        hostrt,
        "rocm",
        """
try: rows(5).to("rocm")
except cdevice.BackendUnavailable as e:
    assert e.vendor_code in (100, 101) and e.vendor_name.startswith("hipError"), e.vendor_name
    assert "libamdhip64" in str(e) and "no device" in str(e), str(e)
else: raise AssertionError("it works?")
assert not cdevice.device("rocm_host").is_available
""",
        CDEVICE_HIP_LIBRARY=name,
    )


def nvidias_library():
    """A path or a name, and the library; CDEVICE_TEST_LIBCUDA names one that is unpacked somewhere."""
    for name in (os.environ.get("CDEVICE_TEST_LIBCUDA"), "libcuda.so.1"):
        try:
            library = ctypes.CDLL(name) if name else None
        except OSError:
            continue
        if library is not None and not hasattr(library, "hostrt_face"):
            return name, library
    return None, None


def test_cuda_nvidias_own_library_without_a_device_is_unavailable_and_says_why(hostrt):
    name, library = nvidias_library()
    if not name:
        pytest.skip("no libcuda.so.1: apt-get install libcuda1 (Debian's non-free)")
    if library.cuInit(0) == 0:
        pytest.skip("there is an NVIDIA device")
    table = (ROOT / "backends/gpu_driver/cuda.c").read_text()
    wanted = re.findall(r'X\([01], int, \w+, "(\w+)"', table)
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    since = {"cuCtxRecordEvent": 12050}
    there = [n for n in wanted if hasattr(library, n)]
    assert len(wanted) > 30 and there == [n for n in wanted if since.get(n, 0) <= version.value]
    run(
        hostrt,
        "cuda",
        """
try: rows(5).to("cuda")
except cdevice.BackendUnavailable as e:
    assert (e.vendor_code, e.vendor_name) == (100, "CUDA_ERROR_NO_DEVICE"), e
    assert "libcuda" in str(e) and "no CUDA-capable device" in str(e), str(e)
else: raise AssertionError("it works?")
assert not cdevice.device("cuda_host").is_available and not cdevice.device("cuda_managed").is_available
""",
        CDEVICE_CUDA_LIBRARY=name,
    )


def needs(module):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"pip install {module}")


@needs("cuda")
def test_hostrt_cuda_bindings_as_a_real_client(hostrt):
    run(
        hostrt,
        "cuda",
        """
from cuda.bindings import driver as cu                # finds the stand-in, which is in the process already

def ok(r):
    assert r[0] == cu.CUresult.CUDA_SUCCESS, r
    return r[1] if len(r) == 2 else r[1:]

ok(cu.cuInit(0))
context = ok(cu.cuDevicePrimaryCtxRetain(ok(cu.cuDeviceGet(0))))
ok(cu.cuCtxPushCurrent(context))
stream = ok(cu.cuStreamCreate(1))
rt.hostrt_gate(int(stream))
there = rows(1000).to("cuda", stream=stream)
assert not there.ready
out = np.zeros(1000, np.int64)
other = ok(cu.cuStreamCreate(1))
there.wait(other)
ok(cu.cuMemcpyDtoHAsync(out.ctypes.data, cu.CUdeviceptr(there.buffers[1].address), 8000, other))
there.record_use(other)
there.release()
rt.hostrt_open()
ok(cu.cuStreamSynchronize(other))
assert (out == np.arange(1000)).all()
settle()
assert int(ok(cu.cuCtxGetCurrent())) == int(context)
assert stats().misuse == 0
""",
        LD_LIBRARY_PATH=libraries(hostrt, "cuda")[0].parent,
    )


@needs("hip")
def test_hostrt_hip_python_as_a_real_client(hostrt):
    run(
        hostrt,
        "rocm",
        """
from hip import hip

def ok(r):
    assert r[0] == hip.hipError_t.hipSuccess, r
    return r[1] if len(r) == 2 else r[1:]

assert ok(hip.hipGetDeviceCount()) == 2
stream = ok(hip.hipStreamCreateWithFlags(hip.hipStreamNonBlocking))
rt.hostrt_gate(int(stream))
there = rows(1000).to("rocm", stream=stream)
assert not there.ready
out = np.zeros(1000, np.int64)
other = ok(hip.hipStreamCreateWithFlags(hip.hipStreamNonBlocking))
there.wait(other)
ok(hip.hipMemcpyAsync(out.ctypes.data, there.buffers[1].address, 8000, hip.hipMemcpyKind.hipMemcpyDeviceToHost, other))
there.record_use(other)
there.release()
rt.hostrt_open()
ok(hip.hipStreamSynchronize(other))
assert (out == np.arange(1000)).all()
settle()
assert stats().misuse == 0
""",
        ROCM_PATH=libraries(hostrt, "rocm")[0].parent.parent,
        CDEVICE_HIP_LIBRARY="",
    )
