"""numba-cuda and cuda.core on hostrt, the stand-in for CUDA's driver: not on a GPU."""

import numpy as np
import pytest

import cdevice


@pytest.fixture
def numba(cuda):
    numba = pytest.importorskip("numba.cuda", reason="pip install numba-cuda, in an environment of its own: ci/clients")
    yield numba
    cuda.open()
    assert cuda.misuse() == 0


def values_of(numba, array):
    out = array.copy_to_host()
    numba.synchronize()  # the copy is enqueued where the array names a stream
    return out.tolist()


def test_hostrt_numbas_arrays_come_in_and_go_out_without_a_copy(numba):
    values = numba.to_device(np.arange(100, dtype=np.float32))
    array = cdevice.asarray(values)
    assert array.device == cdevice.device("cuda:0")
    assert array.buffers[1].address == values.__cuda_array_interface__["data"][0]
    assert array[90:].to("cpu").to_pylist() == [float(i) for i in range(90, 100)]
    there = cdevice.asarray([5, 6, 7]).to("cuda")
    seen = numba.as_cuda_array(there[1:])
    assert seen.__cuda_array_interface__["data"][0] == there.buffers[1].address + 8
    assert values_of(numba, seen) == [6, 7]


def test_hostrt_a_numba_stream_waits_on_the_device_and_the_host_does_not(numba, cuda):
    mine, other = numba.stream(), numba.stream()
    cuda.gate(int(getattr(mine.handle, "value", mine.handle)))
    there = cdevice.asarray(np.arange(1000)).to("cuda", stream=mine)
    assert not there.ready
    there.wait(other)
    event = numba.event(timing=False)
    event.record(other)
    assert not event.query()
    cuda.open()
    event.synchronize()
    assert there.ready and values_of(numba, numba.as_cuda_array(there)) == list(range(1000))


def test_hostrt_managed_and_pinned_arrays_of_numba_are_what_they_are(numba):
    managed = numba.managed_array(4, np.int64)
    managed[:] = [1, 2, 3, 4]
    array = cdevice.asarray(numba.as_cuda_array(managed))
    assert array.device_type == cdevice.DeviceType.CUDA_MANAGED
    assert np.asarray(array).tolist() == [1, 2, 3, 4]
    pinned = numba.pinned_array(50_000, np.int32)
    pinned[:] = 9
    there = cdevice.asarray(pinned).to("cuda")
    assert there.to("cpu").to_numpy().sum() == 450_000


def test_hostrt_both_work_in_one_context_on_each_of_several_devices(numba):
    assert len(numba.gpus) == 2
    for i in range(2):
        with numba.gpus[i]:
            values = numba.to_device(np.full(10, i))
            array = cdevice.asarray(values)
            assert array.device == cdevice.device(f"cuda:{i}")
            assert array.to("cpu").to_pylist() == [i] * 10
            moved = array.to(f"cuda:{1 - i}")
            assert numba.current_context().device.id == i  # as it was
            with numba.gpus[1 - i]:
                assert values_of(numba, numba.as_cuda_array(moved)) == [i] * 10
