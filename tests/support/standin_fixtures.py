"""Fixtures of tests on the stand-in runtimes."""

import gc

import pytest
from standin import TYPES
from waiting import settle

from cdevice._runtime.ext import lib

every_type = pytest.mark.parametrize("device", TYPES)


@pytest.fixture
def runtime(runtimes, device):
    """The stand-in behind `device`; afterwards nothing is left over and nothing was misused."""
    r = runtimes[device.split("_")[0]]
    settle()
    before = lib.cdv_backend_live(TYPES[device])
    yield r
    r.open()
    settle()
    if lib.cdv_backend_live(TYPES[device]) > before:
        gc.collect()  # frames of expected exceptions
        settle()
    assert lib.cdv_backend_live(TYPES[device]) <= before
    assert r.stats().misuse == 0
