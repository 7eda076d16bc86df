"""Kernels of a device for tests, whose memory is the host's: ``cc`` makes a shared library of each program."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile

from ..backend_compute import Compute, ComputeFlag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..backend_compute import Launch, Program
    from .fake import FakeBackend

# Floats are to be those of every other device: nothing is fused, nothing is reordered.
_CC = ("cc", "-x", "c", "-std=gnu11", "-O1", "-ffp-contract=off", "-w", "-fPIC", "-shared", "-o")


class _Place(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("offset", ctypes.c_int64)]


class _Items(ctypes.Structure):
    _fields_ = [
        ("begin", ctypes.c_int64),
        ("end", ctypes.c_int64),
        ("buffers", ctypes.POINTER(_Place)),
        ("scalars", ctypes.POINTER(ctypes.c_int64)),
    ]


class _Module:
    def __init__(self, library: ctypes.CDLL, code: bytes) -> None:
        self.library, self.code = library, code


class FakeCompute(Compute):
    """Kernels run on the thread of their stream."""

    def __init__(self, device: FakeBackend) -> None:
        self.device = device
        self.modules = 0  # not unloaded

    def identity(self, device_id: int) -> tuple[int, str]:
        return ComputeFlag.COARSE, "the fake, cc"

    def build(self, program: Program, *, device_id: int, stream: int = 0) -> Any:
        self.device._called("build")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernels.so")
            try:
                done = subprocess.run([*_CC, path, "-", "-lm"], input=program.as_c, capture_output=True, text=True)
            except FileNotFoundError as e:
                raise NotImplementedError("no cc, which compiles kernels: apt-get install gcc") from e
            if done.returncode:
                raise ValueError(f"cc: {done.stderr}")
            return self._open(path)

    def _open(self, path: str) -> _Module:
        with open(path, "rb") as f:
            code = f.read()
        module = _Module(ctypes.CDLL(path), code)
        self.modules += 1
        return module

    def binary(self, module: Any) -> bytes | None:
        return bytes(module.code)

    def load(self, data: bytes, *, device_id: int, stream: int = 0) -> Any:
        self.device._called("load")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernels.so")
            with open(path, "wb") as f:
                f.write(data)
            return self._open(path)

    def kernel(self, module: Any, name: str) -> Any:
        self.device._called("kernel")
        try:
            return module.library[name]
        except AttributeError as e:
            raise LookupError(f"no kernel {name} in the program") from e

    def launch(self, kernel: Any, launch: Launch, *, device_id: int, stream: int = 0) -> None:
        self.device._called("launch")
        places, numbers = (_Place * 8)(), (ctypes.c_int64 * 5)(*launch.scalars)
        kept = []  # the memory, however soon it is freed
        for place, (data, offset) in zip(places, launch.buffers):
            if data:
                kept.append(self.device._memory_at(data))
                place.data = ctypes.addressof(kept[-1])
            place.offset = offset
        items = _Items(0, launch.n_work_items, places, numbers)

        def work() -> None:
            kernel(ctypes.byref(items))
            kept.clear()

        self.device._enqueue(stream, work)

    def unload(self, module: Any) -> None:
        self.modules -= 1
