"""Other libraries on the same GPU: the same memory both ways, loaders, streams, and more rows than 32 bits of bytes."""

import asyncio

import gpu_here  # noqa: F401 - first: it skips
import numpy as np
import pytest

import cdevice
import cdevice.aio
import cdevice.compute as cc

TOTAL = sum(range(1000))


@pytest.fixture
def array():
    return cdevice.asarray(np.arange(1000, dtype="f4")).to("cuda")


def test_jax_takes_an_array_and_gives_its_own_without_a_copy(array, monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax", reason='pip install "jax[cuda13]"')
    if jax.default_backend() != "gpu":
        pytest.skip('jax finds no GPU: pip install "jax[cuda13]"')
    there = jax.dlpack.from_dlpack(array)
    assert there.unsafe_buffer_pointer() == array.buffers[1].address and float(there.sum()) == TOTAL
    back = cdevice.asarray(there * 2)
    assert back.device == cdevice.device("cuda:0") and cc.sum(back).as_py() == 2 * TOTAL


def test_numba_takes_an_array_and_gives_its_own(array):
    cuda = pytest.importorskip("numba.cuda", reason='pip install "numba-cuda[cu13]"')
    assert cuda.as_cuda_array(array).copy_to_host().sum() == TOTAL
    back = cdevice.asarray(cuda.to_device(np.arange(5)))
    assert back.device == cdevice.device("cuda:0") and back.to("cpu").to_pylist() == [0, 1, 2, 3, 4]


def test_cupy_reads_an_array_by_its_interface_without_a_copy(array):
    cupy = pytest.importorskip("cupy", reason="pip install cupy-cuda13x")
    assert cupy.asarray(array).data.ptr == array.buffers[1].address
    assert cc.sum(cdevice.asarray(cupy.from_dlpack(array) * 2)).as_py() == 2 * TOTAL


def test_a_loader_gives_tensors_on_the_gpu(tmp_path):
    torch = pytest.importorskip("torch", reason="pip install torch")
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    from pyarrow import parquet

    if not torch.cuda.is_available():
        pytest.skip("torch finds no GPU: pip install a torch that is built for CUDA")
    path = str(tmp_path / "rows.parquet")
    parquet.write_table(pa.table({"x": np.arange(100_000, dtype="f4"), "y": np.arange(100_000)}), path)
    total = 0.0
    for batch in cdevice.loader([path], batch_size=4096, device="cuda", as_="torch", shuffle=True, seed=3):
        assert batch["x"].is_cuda
        total += float(batch["x"].double().sum())
    assert total == sum(range(100_000))


def test_an_asynchronous_stream_gives_arrays_of_the_gpu(array):
    async def rows():
        found = []
        async for one in cdevice.aio.iterate(cdevice.asstream([array, array, array])):
            found.append(one)
        return found

    found = asyncio.run(rows())
    assert [len(one) for one in found] == [1000] * 3 and {str(one.device) for one in found} == {"cuda:0"}


def test_a_function_of_a_users_own_runs_on_the_gpu(array):
    f = cc.elementwise("gpu_peers_square", "float32 x -> float32", "x * x + 1")
    assert f(array).device == array.device
    assert cc.sum(f(array)).as_py() == pytest.approx(sum(i * i + 1 for i in range(1000)), rel=1e-6)


def test_three_billion_rows_are_summed_and_chosen():
    if cdevice.device("cuda").info.free_bytes < 24 << 30:
        pytest.skip("24 GiB of free memory on the device are needed")
    there = cdevice.asarray(np.ones(3_000_000_000, np.int8)).to("cuda")
    assert cc.sum(there).as_py() == 3_000_000_000
    assert cc.sum(cc.filter(there, cc.equal(there, 1))).as_py() == 3_000_000_000
