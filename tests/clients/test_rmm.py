"""RMM's resources, unmodified, behind ``set_allocator`` on hostrt, the stand-in for CUDA's driver: not on a GPU.

RMM's own resources need the real driver (its CUDA runtime is linked into it), so what is at the bottom is its callback
resource over the stand-in; limits, statistics and logging on top of it are RMM's.
"""

import ctypes
import gc

import numpy as np
import pytest
from waiting import settle, until

import cdevice


@pytest.fixture
def rmm(cuda):
    rmm = pytest.importorskip("rmm", reason="pip install rmm-cu13, in an environment of its own: ci/clients")
    assert cdevice.device("cuda").is_available
    yield rmm
    cdevice.set_allocator("cuda", None)
    cuda.open()
    settle()
    assert cuda.misuse() == 0


@pytest.fixture
def bottom(rmm):
    """An RMM resource on the stand-in, which notes (what, address, bytes, stream)."""
    driver, calls = ctypes.CDLL("libcuda.so.1"), []

    def allocate(nbytes, stream):
        out = ctypes.c_void_p()
        assert driver.cuMemAlloc_v2(ctypes.byref(out), ctypes.c_size_t(nbytes)) == 0
        calls.append(("allocate", out.value, nbytes, stream.__cuda_stream__()[1]))
        return out.value

    def deallocate(address, nbytes, stream):
        calls.append(("deallocate", address, nbytes, stream.__cuda_stream__()[1]))
        driver.cuMemFree_v2(ctypes.c_void_p(address))

    made = rmm.mr.CallbackMemoryResource(allocate, deallocate)
    return made, calls


def test_hostrt_copies_take_their_memory_from_an_rmm_resource_and_give_it_back(rmm, bottom):
    resource, calls = bottom
    statistics = rmm.mr.StatisticsResourceAdaptor(resource)
    cdevice.set_allocator("cuda", statistics)
    there = cdevice.asarray(np.arange(1000)).to("cuda")
    ((what, address, nbytes, _),) = calls
    assert what == "allocate" and address <= there.buffers[1].address < address + nbytes
    assert statistics.allocation_counts.current_bytes == nbytes >= 8000
    assert there.to("cpu").to_pylist() == list(range(1000))
    there.release()
    settle()
    until(lambda: not statistics.allocation_counts.current_bytes)  # it counts after the callback has returned
    assert calls[1][:3] == ("deallocate", address, nbytes)
    assert statistics.allocation_counts.total_count == 1


def test_hostrt_rmm_gets_the_stream_of_the_copy_and_keeps_the_memory_while_it_is_used(rmm, bottom, cuda):
    resource, calls = bottom
    cdevice.set_allocator("cuda", resource)
    from cdevice._runtime.ext import ffi, lib

    table, made = lib.cdv_backend_table(2), ffi.new("void **")
    assert not table.stream_create(table.self, 0, made, ffi.NULL)
    stream = int(ffi.cast("uintptr_t", made[0]))
    cuda.gate(stream)
    there = cdevice.asarray(np.arange(1000)).to("cuda", stream=stream)
    assert calls[0][3] == stream
    there.release()
    gc.collect()
    assert len(calls) == 1  # the copy is still held
    cuda.open()
    settle()
    until(lambda: len(calls) == 2)
    assert calls[1][0] == "deallocate" and calls[1][3] == stream
    table.stream_destroy(table.self, 0, made[0])


def test_hostrt_an_rmm_limit_is_out_of_memory(rmm, bottom):
    resource, calls = bottom
    limited = rmm.mr.LimitingResourceAdaptor(resource, 10_000)
    cdevice.set_allocator("cuda", limited)
    kept = cdevice.asarray(np.arange(1000)).to("cuda")
    with pytest.raises(cdevice.OutOfMemory):
        cdevice.asarray(np.arange(1000)).to("cuda")
    assert kept.to("cpu").to_pylist() == list(range(1000))
    kept.release()
    settle()
    until(lambda: not limited.get_allocated_bytes())  # it counts after the callback has returned
    assert [what for what, *_ in calls] == ["allocate", "deallocate"]
    cdevice.asarray(np.arange(1000)).to("cuda").synchronize()
