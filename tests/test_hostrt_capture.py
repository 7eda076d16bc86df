"""Graph captures beside the package, on hostrt, whose captures follow CUDA's documentation: no GPU is shown by this."""

import contextlib
import ctypes
import gc

import pytest
from capture_checks import *  # noqa: F403 - the tests
from captures import Vendor
from standin import TYPES
from waiting import settle

from cdevice._ext import lib


@pytest.fixture(params=TYPES)
def device(request):
    return request.param


@pytest.fixture
def vendor(runtimes, device):
    runtime = runtimes[device.split("_")[0]]
    settle()
    made = Vendor(ctypes.CDLL(str(runtime.path)), device.split("_")[0], lib.cdv_backend_for(TYPES[device]))
    yield made
    runtime.open()
    gc.collect()  # frames of expected exceptions keep arrays, and those their streams' handles
    settle()
    made.close()
    assert runtime.stats().misuse == 0


@pytest.fixture
def gate(runtimes, device):
    runtime = runtimes[device.split("_")[0]]

    @contextlib.contextmanager
    def held(stream):
        runtime.gate(stream)
        try:
            yield
        finally:
            runtime.open()

    return held
