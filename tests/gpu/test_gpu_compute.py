"""Functions on a GPU, by NVRTC: every one of the table against pyarrow, and ``KernelSuite`` against the CPU."""

import gpu_here  # noqa: F401 - first: it skips
import numpy as np
import pytest
from kernel_checks import *  # noqa: F403 - the tests
from kernel_tables import EVERY, SOME, retargeted
from standin import TYPES
from waiting import settle, until

import cdevice
import cdevice.compute as cc
from cdevice._devices.tables import drop_kept
from cdevice._runtime.ext import lib
from cdevice.testing import KernelSuite

ON = {"cuda": EVERY, "cuda_managed": SOME}
globals().update(retargeted(ON))


def clean(name):
    """The device; afterwards nothing is left over."""
    settle()
    assert cdevice.device(name).is_available
    before, arrays = lib.cdv_backend_live(TYPES[name]), lib.cdv_live_arrays()
    yield name
    drop_kept()
    until(lambda: lib.cdv_backend_live(TYPES[name]) <= before and lib.cdv_live_arrays() <= arrays)
    settle()


@pytest.fixture
def device(request):
    yield from clean(request.param)


@pytest.fixture(params=list(ON))
def computing(request):
    yield from clean(request.param)


@pytest.fixture
def nan_bits():
    return False


@pytest.fixture
def held(gates, computing):
    table = lib.cdv_backend_table(cdevice.device(computing).type_id)
    return lambda: gates["cuda"].held(table)


def test_sums_of_many_rows_are_exact_on_the_device():
    values = np.arange(20_000_000)
    there = cdevice.asarray(values).to("cuda")
    assert cc.sum(there).as_py() == int(values.sum())
    assert cc.sum(cc.filter(there, cc.less(there, 1_000_000))).as_py() == sum(range(1_000_000))
    keys = cdevice.record_batch({"k": values % 1000, "v": values}).to("cuda")
    made = cc.group_by(keys, "k").aggregate([("v", "sum")]).to("cpu").to_pylist()
    sums = np.bincount(values % 1000, values).astype(int)
    assert {r["k"]: r["v_sum"] for r in made} == dict(enumerate(sums.tolist()))
    ordered = cc.sort_indices(cc.negate(there[:5_000_000])).to("cpu").to_numpy()
    assert (ordered == np.arange(5_000_000)[::-1]).all()


class TestKernelsOnCuda(KernelSuite):
    device = "cuda"
