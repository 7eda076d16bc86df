"""CUDA, CUDA_HOST, CUDA_MANAGED, ROCM and ROCM_HOST on hostrt, the stand-in runtime in tests/hostrt.

What passes here ran on host memory with real queues, not on a GPU.  Gates hold streams; nothing sleeps.
"""

import ctypes
import gc
import os
import subprocess
import sys
import threading

import cases
import exchange
import numpy as np
import pytest
from paths import TESTS
from standin import TYPES
from standin_fixtures import every_type, runtime  # noqa: F401 - a fixture
from waiting import settle, unregister, until

import cdevice
from cdevice._runtime.ext import ffi, lib
from cdevice.testing.fake import FakeBackend

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

HERE = TESTS


def pool(device):
    d = cdevice.device(device)
    return (lambda: d.memory()._asdict()), d.trim


@every_type
@pytest.mark.parametrize("name", cases.ARRAYS)
def test_hostrt_every_layout_comes_back_equal(device, name, runtime):
    source = cdevice.asarray(cases.ARRAYS[name])
    for start, stop in ((0, 8), (1, 6), (3, 4), (5, 5)):
        rows = source[start:stop]
        there = rows.to(device)
        assert there.device_type_id == TYPES[device]
        assert there.to("cpu", copy=True).equals(rows, nans_equal=True)
        half = there[there.length // 2 :]
        assert half.to(f"{device}:1").to("cpu").equals(rows[rows.length // 2 :], nans_equal=True)


@every_type
def test_hostrt_large_copies_that_threads_share_arrive_whole(device, runtime):
    n = 300_000
    rng = np.random.default_rng(3)
    words = pa.array([f"{i:x}" * (i % 7) if i % 5 else None for i in range(n)])
    table = pa.record_batch(
        {"a": rng.integers(0, 1 << 60, n), "w": words, "b": rng.random(n) < 0.5, "f": rng.random(n)}
    )
    source, before = cdevice.asarray(table), lib.cdv_threads(lib.CDV_POOL_COPIES, 4)
    try:
        for rows in (source, source[1001:]):
            there = rows.to(device)
            assert there.to("cpu", copy=True).equals(rows)
            assert there[7:].to("cpu", copy=True).equals(rows[7:])
    finally:
        lib.cdv_threads(lib.CDV_POOL_COPIES, before)


@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.parametrize("target", ["rocm", "cuda_host", "cuda_managed:1", "rocm_host"])
def test_hostrt_arrays_move_between_types_and_vendors(device, target, runtime):
    for name in ("record", "list_of_list_of_string", "string_view", "run_end_encoded"):
        source = cdevice.asarray(cases.ARRAYS[name])
        assert source.to(device).to(target)[2:].to(device).to("cpu").equals(source[2:])


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_to_returns_while_the_stream_is_held(device, runtime):
    source = cdevice.asarray(np.arange(5000))
    runtime.gate()
    there = source.to(device)
    assert not there.ready
    with pytest.raises(TimeoutError):
        there.synchronize(timeout=0.001)
    runtime.open()
    there.synchronize()
    assert there.to("cpu").equals(source)


@every_type
def test_hostrt_a_stream_waits_on_the_device_and_the_host_does_not(device, runtime):
    from ctypes import c_void_p

    runtime.gate()
    there = cdevice.asarray([1, 2, 3]).to(device)
    other = ffi.new("void **")
    table = lib.cdv_backend_table(TYPES[device])
    err = ffi.new("cdevice_error *")
    assert table.stream_create(table.self, 0, other, err) == 0
    handle = int(ffi.cast("uintptr_t", other[0]))
    waits = runtime.stats().waits
    there.wait(handle)  # returns although the gate is closed
    assert runtime.stats().waits == waits + 1
    assert not there.ready
    runtime.open()
    there.synchronize()
    table.stream_destroy(table.self, 0, other[0])
    assert c_void_p(handle).value == handle


@every_type
def test_hostrt_release_while_held_does_not_block_and_the_block_waits_in_the_pool(device, runtime):
    statistics, trim = pool(device)
    trim()
    runtime.gate()
    there = cdevice.asarray(np.arange(1000)).to(device)
    blocks = runtime.stats().host_blocks
    there.release()
    assert runtime.stats().host_blocks == blocks
    assert statistics()["pending"] >= 8000
    runtime.open()
    settle()
    after = cdevice.asarray(np.arange(1000)).to(device)
    after.synchronize()
    assert statistics()["live"] >= 8000


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_blocks_are_used_again_only_when_the_device_has_passed(device, runtime):
    there = cdevice.asarray(np.arange(1000)).to(device)
    there.synchronize()
    address = there.buffers[1].address
    runtime.gate()
    there.release()  # the gate is before the release's event
    second = cdevice.asarray(np.arange(1000)).to(device)
    assert second.buffers[1].address != address
    runtime.open()
    second.synchronize()
    settle()
    until(lambda: not cdevice.device(device).memory().pending)  # the release's event passes after the data's
    runtime.gate()
    third = cdevice.asarray(np.arange(1000)).to(device)
    assert third.buffers[1].address == address
    runtime.open()
    third.synchronize()


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_a_consumer_on_a_stream_of_its_own_is_respected_by_record_use(device, runtime):
    table = lib.cdv_backend_table(TYPES[device])
    other, err = ffi.new("void **"), ffi.new("cdevice_error *")
    assert table.stream_create(table.self, 0, other, err) == 0
    handle = int(ffi.cast("uintptr_t", other[0]))
    there = cdevice.asarray(np.arange(1000)).to(device)
    there.synchronize()
    live = lib.cdv_backend_live(TYPES[device])
    runtime.gate(handle)
    there.record_use(handle)
    there.release()
    assert lib.cdv_backend_live(TYPES[device]) >= live  # still held for the consumer
    runtime.open()
    settle()
    assert lib.cdv_backend_live(TYPES[device]) < live
    table.stream_destroy(table.self, 0, other[0])


@every_type
def test_hostrt_foreign_threads_release(device, runtime):
    structs = []
    for i in range(60):
        d = ffi.new("struct ArrowDeviceArray *")
        cdevice.asarray(np.arange(50 + i)).to(device)._export_structs(int(ffi.cast("uintptr_t", d)), 0)
        structs.append(d)
    for d in structs:
        assert lib.cdv_release_in_thread(d, 1) == 0


@pytest.mark.parametrize("device", ["cuda_host", "cuda_managed", "rocm_host"])
def test_hostrt_memory_that_the_cpu_can_read_goes_out_without_a_copy_after_waiting(device, runtime):
    source = cdevice.asarray(np.arange(100))
    there = source.to(device)
    assert there.to_pylist() == list(range(100))
    assert there.to("cpu").buffers[1].address == there.buffers[1].address
    assert there.to_numpy().__array_interface__["data"][0] == there.buffers[1].address
    assert pa.array(Plain(there)).to_pylist() == list(range(100))


class Plain:
    def __init__(self, array):
        self.__arrow_c_array__ = array.__arrow_c_array__


@pytest.mark.parametrize(
    ("device", "functions"),
    [
        ("cuda", ("cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuEventCreate", "cuEventRecord", "cuLaunchHostFunc")),
        ("rocm", ("hipMalloc", "hipMemcpyAsync", "hipEventCreateWithFlags", "hipEventRecord", "hipLaunchHostFunc")),
    ],
)
def test_hostrt_a_fault_at_any_call_leaks_nothing(device, functions, runtime):
    source = cdevice.asarray(cases.ARRAYS["record"])
    _, trim = pool(device)
    seen = 0
    for function in functions:
        for n in range(4):
            settle()
            trim()
            live = lib.cdv_backend_live(TYPES[device])
            runtime.fail(function, n, 719)
            try:
                done = source.to(device)
                done.to("cpu")
            except cdevice.DeviceError as e:
                seen += 1
                assert e.vendor_code == 719
                assert e.device.startswith(device)
            done = None
            runtime.fail("nothing", 0, 0)
            settle()
            assert lib.cdv_backend_live(TYPES[device]) == live
    assert seen >= 2
    assert source.to(device).to("cpu").equals(source)


@pytest.mark.parametrize(("device", "function"), [("cuda", "cuMemAlloc_v2"), ("rocm", "hipMalloc")])
def test_hostrt_out_of_memory_is_tried_once_more_and_then_says_how_much(device, function, runtime):
    _, trim = pool(device)
    trim()
    runtime.fail(function, 0, 2)
    assert cdevice.asarray(np.arange(10)).to(device).to("cpu").length == 10  # the second attempt


def test_hostrt_vendors_int_streams_mean_what_dlpack_says(runtimes):
    array = cdevice.asarray([1, 2]).to("cuda")
    assert array.to("cpu", stream=1).to_pylist() == [1, 2]
    with pytest.raises(ValueError, match="ambiguous"):
        array.wait(0)
    other = cdevice.asarray([1, 2]).to("rocm")
    assert other.to("cpu", stream=0).to_pylist() == [1, 2]
    with pytest.raises(ValueError, match="ROCm"):
        other.wait(1)


def test_hostrt_streams_of_other_libraries_are_understood(runtimes):
    from cdevice.backends.cuda import Backend

    class New:
        def __cuda_stream__(self):
            return (0, 64)

    class Cupy:
        ptr = 65

    class Torch:
        cuda_stream = 66

    class Plain:
        def __int__(self):
            return 67

    backend = Backend()
    assert [backend.as_stream(s()) for s in (New, Cupy, Torch, Plain)] == [64, 65, 66, 67]
    assert backend.as_stream(object()) is None
    with pytest.raises(TypeError):
        cdevice.asarray([1]).to("cuda").wait(object())


PRELUDE = """
import sys, importlib.util
sys.path[:0] = {path!r}
if importlib.util.find_spec("cdevice.backends") is None:
    import types
    m = types.ModuleType("cdevice.backends"); m.__path__ = [{backends!r}]; sys.modules["cdevice.backends"] = m
import os
import cdevice
"""


def run(code, **environment):
    text = PRELUDE.format(path=[p for p in sys.path if p], backends=str(HERE.parent / "backends")) + code
    env = {k: v for k, v in os.environ.items() if not k.startswith("CDEVICE_")} | environment
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # what lives at exit is meant to
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, env=env)


def test_hostrt_nothing_is_called_at_import_and_the_exit_is_quiet(runtimes, tmp_path):
    trace = tmp_path / "trace"
    p = run(
        "import cdevice.array; cdevice.asarray([1]); cdevice.device('cuda:0'); cdevice.list_backends();"
        "assert not os.path.exists(os.environ['HOSTRT_TRACE']) or not open(os.environ['HOSTRT_TRACE']).read();"
        "a = cdevice.asarray([1, 2]).to('cuda'); b = cdevice.asarray([1]).to('rocm'); b.release()",
        HOSTRT_TRACE=str(trace),
        CDEVICE_CUDA_LIBRARY=str(runtimes["cuda"].path),
        CDEVICE_HIP_LIBRARY=str(runtimes["rocm"].path),
    )
    assert (p.returncode, p.stderr) == (0, "")


@pytest.mark.parametrize("devices", ["0", "1"])
def test_hostrt_with_no_device_the_backend_is_unavailable_and_with_one_it_works(devices, runtimes):
    p = run(
        "print([str(d) for d in cdevice.devices() if d.type_id in (2, 10)])\n"
        "try: cdevice.asarray([1]).to('cuda'); print('there')\n"
        "except cdevice.BackendUnavailable as e: print('unavailable', 'driver' in str(e))",
        HOSTRT_DEVICES=devices,
        CDEVICE_CUDA_LIBRARY=str(runtimes["cuda"].path),
        CDEVICE_HIP_LIBRARY=str(runtimes["rocm"].path),
    )
    assert p.returncode == 0, p.stderr
    expected = ["[]", "unavailable True"] if devices == "0" else ["['cuda:0', 'rocm:0']", "there"]
    assert p.stdout.splitlines() == expected


def test_without_a_driver_the_message_says_what_was_tried_and_what_to_install():
    p = run(
        "for d in ('cuda', 'cuda_host', 'cuda_managed', 'rocm', 'rocm_host'):\n"
        "    try: cdevice.asarray([1]).to(d)\n"
        "    except cdevice.BackendUnavailable as e: print(d, 'tried' in str(e), 'needs' in str(e))",
        CDEVICE_CUDA_LIBRARY="/no/such/libcuda.so.1",
        CDEVICE_HIP_LIBRARY="/no/such/libamdhip64.so",
    )
    assert p.stdout.splitlines() == [
        f"{d} True True" for d in ("cuda", "cuda_host", "cuda_managed", "rocm", "rocm_host")
    ], p.stderr


class Tensor:
    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


class Interface:
    """What cupy or numba would hand in: memory of its own and the interface over it."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


@pytest.mark.parametrize("device", ["cuda", "cuda_managed"])
def test_hostrt_the_cuda_array_interface_goes_out_and_comes_in_without_a_copy(device, runtime):
    there = cdevice.asarray(np.arange(100, dtype="f4")).to(device)
    interface = there[10:].__cuda_array_interface__
    assert interface["shape"] == (90,) and interface["typestr"] == "<f4"
    assert interface["data"] == (there.buffers[1].address + 40, True)
    again = cdevice.asarray(Interface(there[10:]))
    assert again.device_type_id == TYPES[device]
    assert again.buffers[1].address == interface["data"][0]
    assert again.to("cpu").to_pylist() == list(range(10, 100))


@pytest.mark.parametrize("device", ["cuda"])
def test_hostrt_the_interface_orders_both_sides_by_a_stream(device, runtime):
    runtime.gate()
    there = cdevice.asarray(np.arange(50)).to(device)
    waits = runtime.stats().waits
    interface = there.__cuda_array_interface__
    assert interface["stream"] == 1 and runtime.stats().waits == waits + 1
    again = cdevice.asarray(Interface(there, stream=1))
    assert again.sync_event and not again.ready
    late = threading.Timer(20, runtime.open)  # whoever waits gets on, and is found out
    late.start()
    matrix = cdevice.asarray(Interface(there, stream=1, shape=(10, 5)))
    assert matrix.sync_event and not matrix.ready  # no part of it was waited for
    tensor = cdevice.asarray(Tensor(matrix))
    assert tensor.type == matrix.type and tensor.sync_event and not tensor.ready
    late.cancel()
    runtime.open()
    assert again.to("cpu").to_pylist() == list(range(50))
    assert matrix.to("cpu").to_numpy().tolist() == tensor.to("cpu").to_numpy().tolist()
    assert matrix.to("cpu").to_numpy().tolist() == np.arange(50).reshape(10, 5).tolist()
    assert there.__cuda_array_interface__["stream"] is None


def test_hostrt_the_interface_has_a_dimension_for_each_fixed_size_list(runtimes, device="cuda"):
    values = np.arange(24, dtype="i2").reshape(4, 3, 2)
    there = cdevice.asarray(values).to(device)[1:]
    interface = there.__cuda_array_interface__
    assert interface["shape"] == (3, 3, 2) and interface["typestr"] == "<i2"
    for changes in ({}, {"strides": (12, 4, 2)}, {"stream": 1}):
        again = cdevice.asarray(Interface(there, **changes))
        assert again.type == there.type and again.device == there.device
        assert again.children[0].children[0].buffers[1].address == interface["data"][0]
        assert again.to("cpu").to_pylist() == values[1:].tolist()
    pinned = cdevice.asarray(values).to("cuda_host")
    pinned.synchronize()
    assert np.array_equal(np.from_dlpack(pinned), values) and np.array_equal(pinned.to_numpy(), values)
    holes = cdevice.asarray(
        [[1, 2], [None, 3]], schema=cdevice.Schema.make("+w:2", children=[cdevice.asschema("int8")])
    ).to(device)
    assert not hasattr(holes, "__cuda_array_interface__")


def test_hostrt_the_interface_refuses_what_it_cannot_say(runtimes):
    there = cdevice.asarray(np.arange(10)).to("cuda")
    for array in (cdevice.asarray([1]), cdevice.asarray(["a"]).to("cuda"), cdevice.asarray([1, None]).to("cuda")):
        assert not hasattr(array, "__cuda_array_interface__")
    for changes in (
        {"mask": object()},
        {"strides": (16,)},
        {"typestr": ">i8"},
        {"shape": ()},
        {"shape": (5, 2), "strides": (8, 40)},
        {"stream": 0},
        {"shape": (10**6,)},
        {"data": (16, True)},
    ):
        with pytest.raises(ValueError):
            cdevice.asarray(Interface(there, **changes))


@every_type
def test_hostrt_the_pool_tells_what_it_holds_and_gives_it_back(device, runtime):
    d = cdevice.device(device)
    d.trim()
    before = d.memory().live
    there = cdevice.asarray(np.arange(1000)).to(device)
    there.synchronize()
    assert d.memory().live == before + 8192
    there.release()
    settle()
    memory = d.memory()
    assert memory.live == before
    assert memory.pooled + memory.pending >= 8192 and memory.peak >= 8192
    until(lambda: not d.memory().pending)  # the stand-in's threads pass the events of the release
    d.trim()
    assert d.memory().pooled == 0


def test_a_device_without_a_pool_says_so():
    backend = FakeBackend(5140, "poolless")
    cdevice.register_backend(backend)
    with pytest.raises(cdevice.Unsupported, match="poolless:0 has no memory pool"):
        cdevice.device("poolless").memory()
    unregister(backend)


def test_hostrt_cuda_bindings_is_a_client_of_the_same_driver(runtimes):
    """Streams and events of NVIDIA's Python bindings and ours, mixed, over the stand-in."""
    pytest.importorskip("cuda.bindings.driver", reason="pip install cuda-bindings")
    p = run(
        """
import ctypes
library = ctypes.CDLL(os.environ["CDEVICE_CUDA_LIBRARY"], mode=ctypes.RTLD_GLOBAL)  # the same soname for them
from cuda.bindings import driver as cu
def ok(r):
    assert r[0] == cu.CUresult.CUDA_SUCCESS, r
    return r[1] if len(r) == 2 else None
library.hostrt_gate.argtypes = [ctypes.c_void_p]
ok(cu.cuInit(0))
context = ok(cu.cuDevicePrimaryCtxRetain(ok(cu.cuDeviceGet(0))))
ok(cu.cuCtxPushCurrent(context))
stream = ok(cu.cuStreamCreate(1))
library.hostrt_gate(int(stream))
there = cdevice.asarray(list(range(100))).to("cuda", stream=stream)
event = cu.CUevent(ctypes.c_void_p.from_address(there.sync_event).value)
assert cu.cuEventQuery(event)[0] == cu.CUresult.CUDA_ERROR_NOT_READY
library.hostrt_open()
ok(cu.cuEventSynchronize(event))
assert there.ready
out = (ctypes.c_int64 * 100)()
ok(cu.cuMemcpyDtoH(ctypes.addressof(out), there.buffers[1].address, 800))
assert list(out) == list(range(100))
assert int(ok(cu.cuCtxGetCurrent())) == int(context)                      # their context is as it was
print("good")
""",
        CDEVICE_CUDA_LIBRARY=str(runtimes["cuda"].path),
    )
    assert p.stdout.strip() == "good", p.stderr


# ---- streams ----
@every_type
def test_hostrt_a_stream_moves_ahead_of_a_held_queue(device, runtime):
    source = pa.table({"a": range(30), "s": [str(i) for i in range(30)]})
    runtime.gate()
    there = cdevice.asstream(source.to_batches(max_chunksize=4)).to(
        device, stream=1 if TYPES[device] in (2, 3, 13) else 0, prefetch=2
    )
    out = ffi.new("struct ArrowDeviceArrayStream *")
    there.export_to_c(out)  # as another library would get it
    assert out.device_type == TYPES[device]
    received = cdevice.import_stream_from_c(out)
    got = [next(received) for _ in range(4)]
    assert not any(a.ready for a in got)
    runtime.open()
    got += list(received)
    assert pa.table(cdevice.asstream(got).to("cpu")).equals(source)


@every_type
def test_hostrt_batches_travel_asynchronously(device, runtime):
    from cdevice import aio

    consumer = aio.iterate([cdevice.asarray([i]) for i in range(20)], queue_size=3, device=device)
    got = list(consumer)
    assert consumer.device_type == TYPES[device]
    assert [a.to("cpu").to_pylist()[0] for a in got] == list(range(20))


@pytest.mark.parametrize("device", ["cuda_host", "cuda_managed", "rocm_host"])
def test_hostrt_streams_the_cpu_can_read_leave_without_a_copy(device, runtime):
    batch = pa.record_batch({"a": [1, 2, 3]})
    there = list(cdevice.asstream([batch] * 3).to(device))
    addresses = [a.field(0).buffers[1].address for a in there]
    received = pa.table(cdevice.asstream(there))
    assert [c.buffers()[1].address for c in received.column(0).chunks] == addresses
    assert received.to_pylist() == batch.to_pylist() * 3
    del received, there


# ---- DLPack ----
@pytest.mark.parametrize("device", ["cuda", "cuda_managed", "rocm"])
def test_hostrt_dlpack_waits_on_the_stream_that_was_named_and_comes_back_with_an_event(device, runtime):
    class Tensor:
        def __init__(self, array):
            self.array, self.streams = array, []

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __dlpack__(self, *, stream=None, max_version=None):
            self.streams.append(stream)
            return self.array.__dlpack__(stream=stream, max_version=max_version)

    runtime.gate()
    there = cdevice.asarray(list(range(10))).to(device)
    waits = runtime.stats().host_blocks
    tensor = Tensor(there[2:])
    back = cdevice.asarray(tensor)
    assert runtime.stats().host_blocks == waits  # the device waits, not the host
    assert tensor.streams == [0 if device == "rocm" else 1]
    assert back.sync_event and not back.ready
    runtime.open()
    assert back.to("cpu").to_pylist() == list(range(2, 10))
    with pytest.raises(ValueError, match="ambiguous|is not a ROCm stream"):
        runtime.gate()
        cdevice.asarray([1]).to(device).__dlpack__(stream=0 if device != "rocm" else 1)


@pytest.mark.parametrize("device", ["cuda", "cuda_managed", "rocm"])
def test_hostrt_by_the_exchange_table_streams_wait_and_the_host_does_not(device, runtime):
    ours = exchange.Calls(exchange.table_of(cdevice.DeviceArray))

    class Foreign:
        """Another library's tensor on the device."""

        __dlpack_c_exchange_api__ = exchange.capsule(exchange.FOREIGN)

        def __init__(self, array):
            self.array = array

        def _out(self):
            return ctypes.addressof(ours.out(self.array))

    there = cdevice.asarray(list(range(10))).to(device)
    there.synchronize()
    runtime.gate()
    there = there.to(device, copy=True)
    waits = runtime.stats().host_blocks
    tensor, lent = ours.out(there[2:]), ours.lend(there)
    assert tuple(tensor.tensor.device) == tuple(lent.device) == (TYPES[device], 0)
    assert lent.data == there._buffer(1)[0] and tensor.tensor.data == lent.data + 16
    back = ours.in_(tensor)
    assert back.device == there.device and back.sync_event and not back.ready
    exchange.Foreign.asked.clear()
    also = cdevice.asarray(Foreign(there))
    assert exchange.Foreign.asked == [(TYPES[device], 0)]
    assert also.device == there.device and also.sync_event and not also.ready
    assert runtime.stats().host_blocks == waits
    runtime.open()
    assert back.to("cpu").to_pylist() == list(range(2, 10)) and also.to("cpu").to_pylist() == list(range(10))
    new = ours.in_(ours.allocate([4], device=(TYPES[device], 0)))
    assert new.device == there.device and new.length == 4


def test_hostrt_the_stream_an_array_was_made_on_lives_as_long_as_its_memory(runtimes):
    table = lib.cdv_backend_table(10)
    gone = []

    class Stream:
        """As cupy's: the handle dies with the object."""

        def __init__(self):
            made = ffi.new("void **")
            assert not table.stream_create(table.self, 0, made, ffi.NULL)
            self.ptr = int(ffi.cast("uintptr_t", made[0]))

        def __del__(self):
            gone.append(self.ptr)
            table.stream_destroy(table.self, 0, ffi.cast("void *", self.ptr))

    there = cdevice.asarray(list(range(100))).to("rocm", stream=Stream())
    part = there[50:]
    del there
    gc.collect()
    assert not gone
    assert part.to("cpu").to_pylist() == list(range(50, 100))
    del part
    settle()
    until(lambda: len(gone) == 1)
    batches = list(cdevice.asstream([cdevice.asarray([1, 2])] * 5).to("rocm", stream=Stream()))
    gc.collect()
    assert len(gone) == 1
    assert [b.to("cpu").to_pylist() for b in batches] == [[1, 2]] * 5
    del batches
    settle()
    until(lambda: len(gone) == 2)
    assert runtimes["rocm"].stats().misuse == 0
