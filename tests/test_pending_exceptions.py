"""An exception that is on its way survives whatever runs while something dies."""

import ctypes
import subprocess
import sys

import pytest
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


class Managed(ctypes.Structure):
    """A DLPack tensor whose deleter is Python."""


class Tensor:
    DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    def __init__(self, log):
        class T(ctypes.Structure):
            _fields_ = [
                ("data", ctypes.c_void_p),
                ("device", ctypes.c_int32 * 2),
                ("ndim", ctypes.c_int32),
                ("dtype", ctypes.c_uint8 * 4),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.c_void_p),
                ("offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p),
                ("deleter", self.DELETER),
            ]

        self.values, self.shape = (ctypes.c_int64 * 3)(1, 2, 3), (ctypes.c_int64 * 1)(3)
        self.deleter = self.DELETER(lambda p: log.append("deleted"))
        t = T(ctypes.addressof(self.values), (1, 0), 1, (0, 64, 1, 0), self.shape, None, 0, None, self.deleter)
        self.tensor = t

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **unused):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


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
    tensor = Tensor(log)
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
