"""A device of the test's own with kernels, which this machine's C compiler compiles."""

import pytest
from waiting import unregister, until

import cdevice
from cdevice._runtime.ext import lib
from cdevice.testing.fake import FakeBackend
from cdevice.testing.fake_compute import FakeCompute

SCALAR = 5640


@pytest.fixture(autouse=True)
def nothing_is_kept_on_disk(monkeypatch, tmp_path):
    """Each test builds its own; a test that wants the disk names a folder."""
    monkeypatch.setenv("CDEVICE_CACHE_DIR", "0")


@pytest.fixture
def fake():
    """fake(**members of its compute) registers a device with kernels; its memory and modules are looked for
    afterwards."""
    made = []

    def register(base=FakeCompute, device=FakeBackend, **members):
        backend = device(SCALAR, "kernelled")
        backend.compute = type("Kernels", (base,), members)(backend)
        cdevice.register_backend(backend)
        made.append(backend)
        return backend

    yield register
    for b in made:
        b.fail_after = None
        if lib.cdv_backend_table(SCALAR):
            unregister(b)
        until(lambda b=b: not b.live() and not b.compute.modules, lambda b=b: (b.live(), b.compute.modules))
        b.close()
