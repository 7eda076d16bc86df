"""What a user of CUDA relies on beyond the conformance suite."""

import os
import subprocess
import sys

import gpu_here  # noqa: F401 - first: it skips
import numpy as np
import pytest
from waiting import settle, until

import cdevice
from cdevice._runtime.ext import ffi, lib

DEVICES = ["cuda", "cuda_managed"] + (["rocm"] if os.environ.get("CDEVICE_HIP_LIBRARY") else [])
every_device = pytest.mark.parametrize("device", DEVICES)


@pytest.fixture
def gate(gates, device):
    gate = gates[device.split("_")[0]]
    yield gate
    gate.open()
    settle()


def table_of(device):
    assert cdevice.device(device).is_available
    return lib.cdv_backend_table(cdevice.device(device).type_id)


@every_device
def test_a_large_batch_arrives_behind_what_is_queued_and_comes_back_equal(device, gate):
    table = table_of(device)
    source = cdevice.asarray(np.arange(500_000))
    with gate.held(table):
        there = source.to(device, stream=1 if device != "rocm" else 0)
        assert there.sync_event and not there.ready
    there.synchronize()
    assert there.to("cpu", copy=True).equals(source)


@every_device
def test_release_behind_a_held_stream_neither_waits_nor_gives_the_memory_to_others(device, gate):
    table = table_of(device)
    with gate.held(table):
        there = cdevice.asarray(np.arange(1000)).to(device)
        address = there.buffers[1].address
        there.release()
        other = cdevice.asarray(np.arange(1000)).to(device)
        assert other.buffers[1].address != address
    other.synchronize()
    settle()
    memory = cdevice.device(device).memory()
    assert memory.live >= 8000
    other.release()


@every_device
def test_a_second_stream_waits_on_the_device_and_the_host_does_not(device, gate):
    table = table_of(device)
    made = ffi.new("void **")
    assert not table.stream_create(table.self, 0, made, ffi.NULL)
    stream = int(ffi.cast("uintptr_t", made[0]))
    with gate.held(table):
        there = cdevice.asarray(np.arange(1000)).to(device)
        there.wait(stream)
        block, event, done = ffi.new("cdevice_event *"), None, ffi.new("int *")
        assert not table.event_record(table.self, 0, made[0], block, ffi.NULL)
        event = block.sync_event
        assert not table.event_done(table.self, 0, event, done, ffi.NULL) and not done[0]
    assert not table.event_wait_host(table.self, 0, event, ffi.NULL)
    assert there.ready
    table.event_destroy(table.self, 0, block)
    del there
    settle()
    table.stream_destroy(table.self, 0, made[0])


@every_device
def test_more_than_there_is_is_out_of_memory_with_sizes(device):
    if device == "cuda_managed":
        pytest.skip("managed memory may exceed the device's")
    table = table_of(device)
    block, err = ffi.new("cdevice_block *"), ffi.new("cdevice_error *")
    assert table.alloc(table.self, 0, 1 << 50, ffi.NULL, block, err)
    assert err.vendor_code == 2 and str(1 << 50) in ffi.string(err.message).decode()


def test_pinned_and_managed_memory_is_read_by_the_cpu_without_a_copy():
    for device in ("cuda_host", "cuda_managed"):
        there = cdevice.asarray(np.arange(1000)).to(device)
        assert there.to_numpy().sum() == 499_500
        assert np.shares_memory(there.to_numpy(), np.asarray(there.to("cpu")))


def test_cuda_bindings_shares_the_context_and_the_handles():
    driver = pytest.importorskip("cuda.bindings.driver", reason="pip install cuda-bindings")
    there = cdevice.asarray(np.arange(100)).to("cuda")
    (code,) = driver.cuInit(0)
    code, device = driver.cuDeviceGet(0)
    code, context = driver.cuDevicePrimaryCtxRetain(device)
    assert code == 0 and driver.cuCtxPushCurrent(context) == (0,)
    code, stream = driver.cuStreamCreate(1)
    assert code == 0
    there.wait(stream)
    out = np.zeros(100, np.int64)
    assert driver.cuMemcpyDtoHAsync(out.ctypes.data, there.buffers[1].address, 800, stream) == (0,)
    assert driver.cuStreamSynchronize(stream) == (0,)
    assert out.tolist() == list(range(100))
    assert driver.cuStreamDestroy(stream) == (0,)
    code, now = driver.cuCtxPopCurrent()
    assert int(now) == int(context)
    driver.cuDevicePrimaryCtxRelease(device)


def test_cupy_arrays_come_in_and_go_out_without_a_copy():
    cupy = pytest.importorskip("cupy", reason="pip install cupy-cuda13x")
    if os.environ.get("CDEVICE_REHEARSAL"):
        pytest.skip("cupy for CUDA needs the real driver")
    values = cupy.arange(1000, dtype="i4")
    array = cdevice.asarray(values)
    assert array.buffers[1].address == values.data.ptr
    assert array.to("cpu").to_pylist() == list(range(1000))
    assert int(array.to_cupy().sum()) == 499_500
    cdevice.set_allocator("cuda", "cupy")
    try:
        used = cupy.get_default_memory_pool().used_bytes()
        there = cdevice.asarray(np.arange(10_000)).to("cuda")
        assert cupy.get_default_memory_pool().used_bytes() - used >= 80_000
        assert int(there.to_cupy().sum()) == 49_995_000
    finally:
        cdevice.set_allocator("cuda", None)
    matrix = values.reshape(100, 10)
    array = cdevice.asarray(matrix)
    assert array.type == "fixed_size_list<item: int32>[10]"
    assert array.to("cpu").to_numpy().tolist() == matrix.get().tolist()
    assert array[10:].to_cupy().data.ptr == matrix[10:].data.ptr
    assert cupy.from_dlpack(array).shape == (100, 10)


def test_torch_tensors_come_in_and_go_out_without_a_copy():
    torch = pytest.importorskip("torch", reason="pip install torch")
    if not torch.cuda.is_available():
        pytest.skip("torch finds no GPU: pip install a torch that is built for CUDA")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        tensor = torch.arange(3840, dtype=torch.float32, device="cuda").reshape(10, 384) * 2
        array = cdevice.asarray(tensor)
    assert array.type == "fixed_size_list<item: float32>[384]" and array.device == cdevice.device("cuda:0")
    assert array.to("cpu").to_numpy()[9, 383] == 3839 * 2
    back = torch.from_dlpack(array[3:])
    assert back.data_ptr() == tensor[3:].data_ptr() and torch.equal(back, tensor[3:])
    there = cdevice.asarray(np.arange(1000)).to("cuda", stream=stream)
    assert int(torch.from_dlpack(there).sum()) == 499_500
    cdevice.set_allocator("cuda", "torch")
    try:
        before = torch.cuda.memory_allocated()
        there = cdevice.asarray(np.arange(10_000)).to("cuda")
        assert torch.cuda.memory_allocated() - before >= 80_000
        assert int(torch.from_dlpack(there).sum()) == 49_995_000
        there.release()
        settle()
        until(lambda: torch.cuda.memory_allocated() == before)
    finally:
        cdevice.set_allocator("cuda", None)


def test_a_torch_graph_reads_arrays_and_others_are_released_while_it_is_captured():
    torch = pytest.importorskip("torch", reason="pip install torch")
    if not torch.cuda.is_available():
        pytest.skip("torch finds no GPU: pip install a torch that is built for CUDA")
    read, old = (cdevice.asarray(np.arange(1000, dtype="f4")).to("cuda") for _ in range(2))
    given = torch.from_dlpack(read)
    torch.cuda.synchronize()
    assert read.ready and old.ready
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = given * 2 + torch.from_dlpack(read)
        old.release()
        with pytest.raises(cdevice.DeviceError, match="captured"):
            cdevice.asarray(np.arange(3)).to("cuda", stream=torch.cuda.current_stream())
    graph.replay()
    torch.cuda.synchronize()
    assert out.tolist() == [3 * i for i in range(1000)]


def test_a_cupy_graph_reads_arrays_and_others_are_released_while_it_is_captured():
    cupy = pytest.importorskip("cupy", reason="pip install cupy-cuda13x")
    if os.environ.get("CDEVICE_REHEARSAL"):
        pytest.skip("cupy for CUDA needs the real driver")
    read, old = (cdevice.asarray(np.arange(1000, dtype="f4")).to("cuda") for _ in range(2))
    given = read.to_cupy()
    out = given * 2  # compiled before the capture
    cupy.cuda.runtime.deviceSynchronize()
    assert read.ready and old.ready
    out.fill(0)
    with cupy.cuda.Stream() as stream:
        stream.begin_capture()
        cupy.multiply(given, 2, out=out)
        old.release()
        with pytest.raises(cdevice.DeviceError, match="captured"):
            cdevice.asarray(np.arange(3)).to("cuda")
        stream.end_capture().launch()
        stream.synchronize()
    assert out.get().tolist() == [2 * i for i in range(1000)]


def test_the_exit_is_quiet_with_everything_still_alive():
    code = (
        "import cdevice; a = cdevice.asarray([1, 2]).to('cuda'); b = cdevice.asarray(list(range(9))).to('cuda_host');"
        "cdevice.keep = a, b, a.to('cpu')"
    )
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (p.returncode, p.stderr) == (0, "")
