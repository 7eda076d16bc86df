"""Memory from other libraries' allocators. CUDA and ROCm on hostrt, the stand-in runtime in tests/hostrt."""

import ctypes
import gc
import inspect
import sys
import threading
import types
import weakref

import pytest
from captures import Vendor
from resources import Resource
from standin import TYPES
from standin_fixtures import every_type, runtime  # noqa: F401 - a fixture
from waiting import settle, until

import cdevice
from cdevice._runtime.ext import ffi, lib

N = 1000


@pytest.fixture
def resource(device, runtime):
    r = Resource(device)
    cdevice.set_allocator(device, r)
    yield r
    cdevice.set_allocator(device, None)
    runtime.open()
    settle()
    until(lambda: not r.out)


@every_type
def test_hostrt_copies_take_their_memory_from_the_resource_and_give_it_back_once(device, resource):
    there = cdevice.asarray(list(range(N))).to(device)
    (address,) = resource.out
    assert address <= there.buffers[1].address < address + resource.out[address][1]
    assert there.to("cpu").to_pylist() == list(range(N))
    part = there[10:20]
    del there
    settle()
    assert not resource.back
    assert part.to("cpu").to_pylist() == list(range(10, 20))
    del part
    settle()
    until(lambda: resource.back == [address])


@every_type
def test_hostrt_memory_goes_back_when_the_device_has_passed_and_release_does_not_wait(device, resource, runtime):
    runtime.gate()
    there = cdevice.asarray(list(range(N))).to(device)
    there.release()
    del there
    for _ in range(20):
        gc.collect()
    assert not resource.back
    runtime.open()
    settle()
    until(lambda: len(resource.back) == 1)


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_the_stream_reaches_the_allocator_and_a_consumers_stream_holds_the_memory(device, resource, runtime):
    table = lib.cdv_backend_table(TYPES[device])
    made = ffi.new("void *[2]")
    for i in range(2):
        assert not table.stream_create(table.self, 0, made + i, ffi.NULL)
    mine, other = (int(ffi.cast("uintptr_t", made[i])) for i in range(2))
    there = cdevice.asarray([1, 2, 3]).to(device, stream=mine)
    assert resource.streams == [mine]
    there.synchronize()
    runtime.gate(other)
    there.record_use(other)
    there.release()
    del there
    gc.collect()
    assert not resource.back
    runtime.open()
    settle()
    until(lambda: len(resource.back) == 1)
    for i in range(2):
        table.stream_destroy(table.self, 0, made[i])


@every_type
def test_hostrt_foreign_threads_give_it_back(device, resource):
    there = [cdevice.asarray([i] * N).to(device) for i in range(8)]
    threads = [threading.Thread(target=there[i].release) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    del there
    exported = ffi.new("struct ArrowDeviceArray *")
    cdevice.asarray([5] * N).to(device).export_to_c(exported)
    assert lib.cdv_release_in_thread(exported, 1) == 0
    gc.collect()
    settle()
    until(lambda: len(resource.back) == 9)


@every_type
def test_hostrt_where_nothing_can_be_recorded_the_memory_waits_for_the_next_allocation(device, resource, runtime):
    there = cdevice.asarray([1]).to(device)
    there.synchronize()
    runtime.fail("cuCtxRecordEvent" if device.startswith("cuda") else "hipEventRecord", 0, 999)
    there.release()
    del there
    settle()
    assert not resource.back
    last = cdevice.asarray([2]).to(device)
    settle()
    until(lambda: len(resource.back) == 1)
    del last


@pytest.mark.parametrize("blocking", [False, True])
@every_type
def test_hostrt_nothing_is_taken_from_the_resource_for_a_stream_that_is_being_captured(
    device,
    blocking,
    resource,
    runtime,
):
    vendor = Vendor(ctypes.CDLL(str(runtime.path)), device.split("_")[0], lib.cdv_backend_table(TYPES[device]))
    stream = vendor.stream(blocking)
    with vendor.capture(stream):
        with pytest.raises(cdevice.DeviceError, match="captured"):
            cdevice.asarray([1]).to(device, stream=stream)
    assert not resource.streams and not resource.out
    vendor.close()


@every_type
def test_hostrt_memory_released_while_a_blocking_stream_is_captured_waits_for_the_next_allocation(
    device,
    resource,
    runtime,
):
    vendor = Vendor(ctypes.CDLL(str(runtime.path)), device.split("_")[0], lib.cdv_backend_table(TYPES[device]))
    stream = vendor.stream(blocking=True)
    there = cdevice.asarray([1]).to(device)
    there.synchronize()
    with vendor.capture(stream):
        there.release()
        settle()
        assert not resource.back
    last = cdevice.asarray([2]).to(device)
    until(lambda: len(resource.back) == 1)
    del last
    vendor.close()


@every_type
def test_hostrt_memory_released_during_a_capture_that_is_told_of_goes_back_at_its_end(device, resource, runtime):
    vendor = Vendor(ctypes.CDLL(str(runtime.path)), device.split("_")[0], lib.cdv_backend_table(TYPES[device]))
    stream = vendor.stream()
    there = cdevice.asarray([1]).to(device)
    there.synchronize()
    settle()
    with cdevice.device(device).capturing():
        with vendor.capture(stream):
            there.release()
            assert not resource.back
    until(lambda: len(resource.back) == 1)
    vendor.close()


def test_hostrt_devices_without_graphs_may_be_told_of_captures():
    with cdevice.device("cpu").capturing():
        assert cdevice.asarray([1]).to("cpu", copy=True).to_pylist() == [1]


class Torch:
    """torch.cuda's functions of raw memory, as torch 2.13 has them, over the backend's own."""

    class OutOfMemoryError(RuntimeError):
        pass

    def __init__(self, device):
        self.under, self.calls, self.limit = Resource(device), [], 1 << 30

    def caching_allocator_alloc(self, size, device=None, stream=None):
        if size > self.limit:
            raise self.OutOfMemoryError("CUDA out of memory. Tried to allocate")
        assert device == 0 and isinstance(stream, int)
        self.calls.append(stream)
        return self.under.allocate(size)

    def caching_allocator_delete(self, mem_ptr):
        ((size),) = [n for a, (_, n) in self.under.out.items() if a == mem_ptr]
        self.under.deallocate(mem_ptr, size)


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_hostrt_torchs_functions_allocate_by_name(device, runtime, monkeypatch):
    cuda = Torch(device)
    version = types.SimpleNamespace(cuda="13.0" if device == "cuda" else None, hip="7.0" if device == "rocm" else None)
    torch = types.SimpleNamespace(cuda=cuda, version=version, __name__="torch")
    monkeypatch.setitem(sys.modules, "torch", torch)
    other = "rocm" if device == "cuda" else "cuda"
    with pytest.raises(ValueError, match="not built for"):
        cdevice.set_allocator(other, "torch")
    with pytest.raises(ValueError, match='known: "cupy"'):
        cdevice.set_allocator(f"{device}_host", "torch")
    with pytest.raises(ValueError, match="known: none"):
        cdevice.set_allocator("cpu", "torch")
    vendor = Vendor(ctypes.CDLL(str(runtime.path)), device, lib.cdv_backend_table(TYPES[device]))
    stream = vendor.stream()
    cdevice.set_allocator(device, "torch")
    try:
        there = cdevice.asarray([1, 2, 3]).to(device, stream=stream)
        (address,) = cuda.under.out
        assert there.buffers[1].address == address and cuda.calls == [stream]
        assert there.to("cpu").to_pylist() == [1, 2, 3]
        with pytest.raises(cdevice.OutOfMemory, match="Tried to allocate"):
            cuda.limit = 0
            cdevice.asarray([1, 2, 3]).to(device)
        there.release()
        settle()
        until(lambda: cuda.under.back == [address])
    finally:
        cdevice.set_allocator(device, None)
    vendor.close()


def test_torchs_functions_of_raw_memory_are_those_that_are_called():
    torch = pytest.importorskip("torch", reason="pip install torch==2.13.0")
    parameters = inspect.signature(torch.cuda.caching_allocator_alloc).parameters
    assert list(parameters)[:3] == ["size", "device", "stream"]
    assert list(inspect.signature(torch.cuda.caching_allocator_delete).parameters) == ["mem_ptr"]
    assert issubclass(torch.cuda.OutOfMemoryError, RuntimeError)


class Broken:
    def __init__(self, result):
        self.result, self.freed = result, 0

    def allocate(self, nbytes):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def deallocate(self, address, nbytes):
        self.freed += 1


@pytest.mark.parametrize(
    "result, error, text",
    [
        (
            MemoryError("all gone"),
            cdevice.OutOfMemory,
            "allocating 256 bytes.*alloc.. of the allocator .Broken.*all gone",
        ),
        (RuntimeError("no"), cdevice.DeviceError, "Broken.*RuntimeError: no"),
        (0, cdevice.DeviceError, "address 0"),
        ("x", cdevice.DeviceError, "Broken"),
        (1 << 20, cdevice.DeviceError, "looking up an address"),
        (True, cdevice.DeviceError, "True is not an address"),
        (64, cdevice.DeviceError, "0x40 is not an address"),
        (-1, cdevice.DeviceError, "-0x1 is not an address"),
        (2**64 - 64, cdevice.DeviceError, "is not an address"),
        ((1 << 20) + 1, cdevice.DeviceError, "expected a multiple of 8"),
    ],
)
def test_hostrt_what_an_allocator_does_wrong_is_said_and_nothing_is_left(result, error, text, runtimes):
    cdevice.set_allocator("cuda", Broken(result))
    live = lib.cdv_backend_live(2)
    try:
        with pytest.raises(error, match=text) as caught:
            cdevice.asarray([1, 2, 3]).to("cuda")
        if isinstance(result, Exception):
            assert caught.value.__cause__ is result
    finally:
        cdevice.set_allocator("cuda", None)
    settle()
    until(lambda: lib.cdv_backend_live(2) <= live)
    assert cdevice.asarray([1, 2, 3]).to("cuda").to("cpu").to_pylist() == [1, 2, 3]


def test_hostrt_memory_of_another_device_is_refused_and_given_back(runtimes):
    other = Resource("cuda", 1)
    cdevice.set_allocator("cuda", other)
    try:
        with pytest.raises(cdevice.DeviceError, match="returned memory of cuda:1 for cuda:0"):
            cdevice.asarray([1]).to("cuda:0")
        settle()
        until(lambda: len(other.back) == 1)
        assert cdevice.asarray([1, 7]).to("cuda:1").to("cpu").to_pylist() == [1, 7]
    finally:
        cdevice.set_allocator("cuda", None)
    settle()
    until(lambda: len(other.back) == 2)


@pytest.mark.parametrize("device", ["cuda"])
def test_hostrt_an_allocator_that_was_replaced_lives_until_its_last_block_is_back(device, runtime):
    first = Resource(device)
    gone = weakref.ref(first)
    cdevice.set_allocator(device, first)
    there = cdevice.asarray([1, 2]).to(device)
    cdevice.set_allocator(device, Resource(device))
    back = first.back
    del first
    gc.collect()
    assert gone() is not None
    cdevice.set_allocator(device, None)
    there.release()
    del there
    settle()
    gc.collect()
    until(lambda: len(back) == 1 and gone() is None)


def test_what_is_no_allocator_is_refused():
    with pytest.raises(TypeError, match="int is not an allocator"):
        cdevice.set_allocator("cpu", 5)
    with pytest.raises(ValueError, match="no allocator for this memory is named"):
        cdevice.set_allocator("cpu", "cupy")
    with pytest.raises(ValueError, match="no allocator for this memory is named"):
        cdevice.set_allocator("cuda", "jemalloc")
    with pytest.raises(cdevice.BackendUnavailable, match="device type 77"):
        cdevice.set_allocator(77, lambda n: n)


def test_the_cpus_memory_may_come_from_a_callable():
    numpy = pytest.importorskip("numpy", reason="pip install numpy")
    made = []

    class Array:
        def __init__(self, nbytes):
            self.memory = numpy.zeros(nbytes + 64, "u1")
            self.ptr = self.memory.ctypes.data + -self.memory.ctypes.data % 64
            made.append(weakref.ref(self))

    cdevice.set_allocator("cpu", Array)
    try:
        copy = cdevice.asarray(["a", None, "ccc"]).to("cpu", copy=True)
    finally:
        cdevice.set_allocator("cpu", None)
    assert len(made) == 1 and made[0]().memory.ctypes.data <= copy.buffers[2].address
    assert copy.to_pylist() == ["a", None, "ccc"]
    del copy
    settle()
    until(lambda: made[0]() is None)


def test_pyopencls_pool_serves_opencl():
    cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
    tools = pytest.importorskip("pyopencl.tools", reason="pip install pyopencl")
    try:
        device = next(d for p in cl.get_platforms() for d in p.get_devices())
    except (cl.Error, IndexError):
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd")
    from cdevice.interop.pyopencl import _backend

    ours = cdevice.asarray(list(range(100))).to("opencl")
    context = cl.Buffer.from_int_ptr(ours.buffers[1].address).context
    queue = cl.CommandQueue(context, device)
    pool = tools.MemoryPool(tools.ImmediateAllocator(queue))
    assert _backend().as_stream(queue)
    cdevice.set_allocator("opencl", pool)
    try:
        there = cdevice.asarray(list(range(5000))).to("opencl", stream=queue)
        assert pool.active_blocks == 1
        assert there.to("cpu").to_pylist() == list(range(5000))
        there.release()
        del there
        gc.collect()
        settle()
        until(lambda: pool.active_blocks == 0 and pool.held_blocks == 1)
    finally:
        cdevice.set_allocator("opencl", None)
