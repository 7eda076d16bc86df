"""The plug-in conforms, with its queues held by a gate of its own."""

import contextlib
import ctypes

import cdevice_pool

from cdevice.testing import BackendSuite, KernelSuite


class Pool:
    device = "pool"

    @contextlib.contextmanager
    def gate(self, stream=0):
        library = ctypes.CDLL(str(cdevice_pool.LIBRARY))
        library.pool_gate_close.restype = ctypes.c_void_p
        library.pool_gate_close.argtypes = [ctypes.c_int64, ctypes.c_void_p]
        library.pool_gate_open.argtypes = [ctypes.c_void_p]
        gate = library.pool_gate_close(0, stream or None)
        try:
            yield
        finally:
            library.pool_gate_open(gate)


class TestPool(Pool, BackendSuite):
    pass


class TestKernels(Pool, KernelSuite):
    pass


def test_it_is_found_by_its_entry_point():
    import cdevice

    assert str(cdevice.asarray([1, 2, 3]).to("pool:1").device) == "pool:1"
    assert cdevice.list_backends()[12].origin.startswith("cdevice-pool")
