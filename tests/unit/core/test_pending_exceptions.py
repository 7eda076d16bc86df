"""An exception that is on its way survives whatever runs while something dies."""

import ctypes
import subprocess
import sys

import pytest
from foreign_tensor import Tensor
from waiting import unregister

import cdevice
from cdevice.testing.fake import FakeBackend


@pytest.fixture
def fake():
    backend = FakeBackend(40, "fake40")
    cdevice.register_backend(backend)
    yield backend
    cdevice.set_allocator(40, None)
    unregister(backend)


def there():
    out = cdevice.asarray(list(range(10))).to((40, 0))
    out.synchronize()
    return out


def stream_there():
    return cdevice.asstream([there()])


class Allocator:
    def __init__(self, backend):
        self.backend = backend

    def allocate(self, n):
        return self.backend.alloc(n + 4096, device_id=0)

    def deallocate(self, address, n):
        self.backend.free(address)


def take(*args):
    pass


MAKERS = {
    "array": there,
    "capsules": lambda: there().__arrow_c_device_array__(),
    "device stream": lambda: stream_there().__arrow_c_device_stream__(),
    "stream": stream_there,
    "slice": lambda: there()[2:4],
    "generator stream": lambda: cdevice.asstream(there() for _ in range(2)),
}


@pytest.mark.parametrize("what", MAKERS)
@pytest.mark.parametrize("allocator", [False, True])
def test_a_temporary_on_a_python_device_dies_without_losing_the_exception(fake, what, allocator):
    if allocator:
        cdevice.set_allocator(40, Allocator(fake))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            take(MAKERS[what](), 1 / 0)
        with pytest.raises(KeyError, match="missing"):
            [MAKERS[what](), {}["missing"]]


def test_a_foreign_deleter_that_enters_python_leaves_the_exception_alone():
    log = []
    tensor = Tensor((ctypes.c_int64 * 3)(1, 2, 3), (3,), lambda address: log.append("deleted"))
    with pytest.raises(ZeroDivisionError):
        take(cdevice.asarray(tensor), 1 / 0)
    assert log == ["deleted"]


def test_a_foreign_consumer_that_drops_ours_keeps_the_exception(fake):
    pa = pytest.importorskip("pyarrow")

    class Owner(bytearray):
        def __del__(self):
            {}.get("x")
            log.append(1)

    log = []

    def column():
        return pa.array(cdevice.from_buffers("int64", 3, [None, Owner(24)]))

    with pytest.raises(ZeroDivisionError):
        take(column(), 1 / 0)
    assert log == [1]


def test_an_exception_in_a_finalizer_is_told_and_the_pending_one_goes_on():
    code = """
import cdevice, sys
from cdevice.testing.fake import FakeBackend
class Bad(FakeBackend):
    def free(self, block): raise RuntimeError("cannot free")
cdevice.register_backend(Bad(40, "fake40"))
def there():
    x = cdevice.asarray([1, 2]).to((40, 0)); x.synchronize(); return x
seen = []
sys.unraisablehook = lambda u: seen.append(str(u.exc_value))
try:
    print(there(), 1 / 0)
except ZeroDivisionError:
    print("ok", *set(seen))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "ok cannot free\n"), done.stderr
