"""CUDA on a GPU, and the ROCm backend over CUDA's runtime. ``ci/gpu`` runs this where there is one.

``CDEVICE_REHEARSAL=1`` lets it run on the stand-in of tests/hostrt, to try the tests themselves: that shows nothing of
CUDA.
"""

import contextlib
import ctypes
import ctypes.util
import os
import threading

import pytest


class Gate:
    """Holds a stream with a host function that waits for a semaphore of the C library's, so without Python's GIL."""

    def __init__(self, rocm=False):
        name = "CDEVICE_HIP_LIBRARY" if rocm else "CDEVICE_CUDA_LIBRARY"
        self.vendor = ctypes.CDLL(os.environ.get(name, "libcuda.so.1"))
        self.launch = self.vendor.hipLaunchHostFunc if rocm else self.vendor.cuLaunchHostFunc
        self.libc = ctypes.CDLL(None)
        self.cells = []

    def close_on(self, table, stream=0):
        """Enqueues the wait on a stream of device 0."""
        from cdevice._runtime.ext import ffi

        cell = ctypes.create_string_buffer(64)
        assert self.libc.sem_init(cell, 0, 0) == 0
        memory = ffi.cast("cdevice_memory *", table.extension(table.self, ffi.new("char[]", b"cdevice.memory/1")))
        saved = ffi.new("void **")
        assert not memory.enter(table.self, 0, saved, ffi.NULL)
        wait = ctypes.cast(self.libc.sem_wait, ctypes.c_void_p)
        code = self.launch(ctypes.c_void_p(stream), wait, cell)
        memory.leave(table.self, 0, saved[0])
        assert code == 0
        self.cells.append(cell)

    def open(self):
        for cell in self.cells:
            self.libc.sem_post(cell)

    @contextlib.contextmanager
    def held(self, table, stream=0):
        """Fails, and does not hang, when what is done inside waits for the stream."""
        self.close_on(table, stream)
        cell, late = self.cells[-1], threading.Event()

        def open_late():
            late.set()
            self.libc.sem_post(cell)

        timer = threading.Timer(15, open_late)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            if not late.is_set():
                self.libc.sem_post(cell)
        assert not late.is_set(), "something waited for the stream that was held"


@pytest.fixture(scope="session")
def gates():
    return {"cuda": Gate(), "rocm": Gate(rocm=True) if os.environ.get("CDEVICE_HIP_LIBRARY") else None}
