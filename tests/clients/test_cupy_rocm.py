"""cupy's ROCm build and hip-python on hostrt, the stand-in runtime: not on AMD hardware."""

import gc

import numpy as np
import pytest
from waiting import settle, until

import cdevice


@pytest.fixture
def cupy(hip):
    cupy = pytest.importorskip("cupy", reason="pip install cupy-rocm-7-0, in an environment of its own: ci/clients")
    assert cupy.cuda.runtime.is_hip
    yield cupy
    hip.open()
    settle()
    assert hip.misuse() == 0


def test_hostrt_cupy_arrays_come_in_and_go_out_without_a_copy(cupy):
    values = cupy.array(np.arange(100, dtype=np.int32))
    array = cdevice.asarray(values)
    assert array.device == cdevice.device("rocm:0") and array.buffers[1].address == values.data.ptr
    assert array[10:13].to("cpu").to_pylist() == [10, 11, 12]
    back = array[50:].to_cupy()
    assert back.data.ptr == values.data.ptr + 200 and back.dtype == np.int32
    del values, array
    gc.collect()
    assert back.get().tolist() == list(range(50, 100))
    assert cupy.from_dlpack(cdevice.asarray([1, 2, 3]).to("rocm")).get().tolist() == [1, 2, 3]


def test_hostrt_matrices_of_cupy_are_fixed_size_lists(cupy):
    host = np.arange(12, dtype=np.float32).reshape(4, 3)
    values = cupy.array(host)
    array = cdevice.asarray(values)
    assert array.type == "fixed_size_list<item: float32>[3]" and array.to("cpu").to_pylist() == host.tolist()
    back = array[1:].to_cupy()
    assert back.shape == (3, 3) and back.data.ptr == values.data.ptr + 12 and back.get().tolist() == host[1:].tolist()
    assert cupy.from_dlpack(array).shape == (4, 3)
    with pytest.raises(ValueError, match="not contiguous"):
        cdevice.asarray(values.T)


def test_hostrt_cupys_current_stream_waits_for_the_data_and_the_host_does_not(cupy, hip):
    mine, other = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    hip.gate(mine.ptr)
    there = cdevice.asarray(np.arange(1000)).to("rocm", stream=mine)
    assert not there.ready
    with other:
        out = there.to_cupy()
    assert not other.done and not there.ready
    hip.open()
    other.synchronize()
    assert out.get(stream=other).tolist() == list(range(1000))


def test_hostrt_a_cupy_array_that_is_still_being_written_comes_in_with_its_event(cupy, hip):
    stream = cupy.cuda.Stream()
    with stream:
        values = cupy.empty(8, np.int64)
        hip.gate(stream.ptr)
        cupy.cuda.runtime.memsetAsync(values.data.ptr, 0, 64, stream.ptr)
        array = cdevice.asarray(values)
    assert array.sync_event and not array.ready
    hip.open()
    assert array.to("cpu").to_pylist() == [0] * 8


def test_hostrt_memory_comes_from_cupys_pool_and_goes_back_there(cupy, hip):
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    used = pool.used_bytes()
    cdevice.set_allocator("rocm", "cupy")
    try:
        stream = cupy.cuda.Stream(non_blocking=True)
        there = cdevice.asarray(np.arange(10_000)).to("rocm", stream=stream)
        assert pool.used_bytes() - used >= 80_000
        assert there.to("cpu").to_pylist() == list(range(10_000))
        other = cupy.cuda.Stream(non_blocking=True)
        hip.gate(other.ptr)
        there.record_use(other)
        there.release()
        del there
        gc.collect()
        assert pool.used_bytes() > used  # a consumer's stream may still read it
        hip.open()
        until(lambda: pool.used_bytes() == used)
    finally:
        cdevice.set_allocator("rocm", None)


def test_hostrt_whatever_allocator_cupy_was_given_is_the_one_that_is_asked(cupy):
    asked = []

    def allocator(nbytes):
        asked.append(nbytes)
        return cupy.get_default_memory_pool().malloc(nbytes)

    cdevice.set_allocator("rocm", "cupy")
    cupy.cuda.set_allocator(allocator)
    try:
        assert cdevice.asarray([1.5, None]).to("rocm").to("cpu").to_pylist() == [1.5, None]
    finally:
        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)
        cdevice.set_allocator("rocm", None)
    assert len(asked) == 1


def test_hostrt_pinned_memory_may_be_cupys_too(cupy):
    cdevice.set_allocator("rocm_host", "cupy")
    try:
        there = cdevice.asarray(["a", None, "long enough to be seen"] * 1000).to("rocm_host")
        assert there.to("cpu").to_pylist() == ["a", None, "long enough to be seen"] * 1000
    finally:
        cdevice.set_allocator("rocm_host", None)


def test_hostrt_out_of_cupys_memory_is_out_of_memory(cupy):
    pool = cupy.cuda.MemoryPool()
    pool.set_limit(size=1 << 16)
    cupy.cuda.set_allocator(pool.malloc)
    cdevice.set_allocator("rocm", "cupy")
    try:
        with pytest.raises(cdevice.OutOfMemory, match=r'allocating .* bytes: alloc\(\) of the allocator "cupy"') as e:
            cdevice.asarray(np.arange(100_000)).to("rocm")
        assert isinstance(e.value.__cause__, cupy.cuda.memory.OutOfMemoryError)
    finally:
        cdevice.set_allocator("rocm", None)
        cupy.cuda.set_allocator(cupy.get_default_memory_pool().malloc)


def test_hostrt_a_cupy_for_rocm_is_refused_for_cuda(cupy):
    with pytest.raises(ValueError, match="this cupy is built for ROCm"):
        cdevice.set_allocator("cuda", "cupy")
    with pytest.raises(cdevice.CannotExport, match="the data is on cpu"):
        cdevice.asarray([1]).to_cupy()


def test_hostrt_hip_pythons_arrays_come_in_and_go_out_without_a_copy(cupy, hip):
    api = pytest.importorskip("hip", reason="pip install hip-python").hip
    code, memory = api.hipMalloc(64)
    assert code == api.hipError_t.hipSuccess
    code, stream = api.hipStreamCreate()
    values = np.arange(8) * 3
    api.hipMemcpy(memory, values, 64, api.hipMemcpyKind.hipMemcpyHostToDevice)
    whole = cdevice.asarray(memory)
    assert (whole.device, whole.type, whole.length) == (cdevice.device("rocm:0"), "uint8", 64)
    part = cdevice.from_buffers("l", 8, [None, memory], null_count=0, device="rocm:0")
    assert part.buffers[1].address == int(memory)
    assert part.to("cpu").to_pylist() == values.tolist()
    out = part[2:].to_hip(stream)
    assert int(out) == int(memory) + 16 and out.__cuda_array_interface__["typestr"] == "<i8"
    there = cdevice.asarray(values).to("rocm", stream=stream)
    assert there.to("cpu").to_pylist() == values.tolist()
    del whole, part, there
    settle()
    assert api.hipStreamDestroy(stream) == (0,) and api.hipFree(memory) == (0,)
