"""Graph captures beside the package, by the driver's own calls."""

import gc
import os

import gpu_here  # noqa: F401 - first: it skips
import pytest
from capture_checks import *  # noqa: F403 - the tests
from captures import Vendor
from waiting import settle

import cdevice
from cdevice._runtime.ext import lib

DEVICES = ["cuda", "cuda_host", "cuda_managed"] + (["rocm"] if os.environ.get("CDEVICE_HIP_LIBRARY") else [])


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def vendor(gates, device):
    family = device.split("_")[0]
    settle()
    assert cdevice.device(device).is_available
    made = Vendor(gates[family].vendor, family, lib.cdv_backend_table(cdevice.device(device).type_id))
    yield made
    gc.collect()  # frames of expected exceptions keep arrays, and those their streams' handles
    settle()
    made.close()


@pytest.fixture
def gate(gates, vendor, device):
    return lambda stream: gates[device.split("_")[0]].held(vendor.table, stream)
