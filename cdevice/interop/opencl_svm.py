"""OpenCL's shared virtual memory: an allocation of its own, never what arrays are made of unasked.

Its addresses are no ``cl_mem`` handles, and OpenCL cannot tell one from the other. An array over them can be handed to
a consumer that takes SVM pointers; the transfers and checks of this package take handles, and must not be given it.
"""

from __future__ import annotations

from .._devices.backends import ensure_backend, stream_handle
from .._runtime.ext import check, ffi, lib
from ..errors import DeviceError, OutOfMemory, Released, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Cdata, StreamLike

_OPENCL = 4
_FINE_GRAIN = 1


def _table() -> Any:
    ensure_backend(_OPENCL)
    count = ffi.new("int64_t *")
    check(lib.cdv_device_count(_OPENCL, count))  # starts it, or raises the reason
    table = lib.cdv_backend_table(_OPENCL)
    extension = table.extension(table.self, ffi.new("char[]", b"cdevice.opencl.svm/1"))
    if not extension:
        raise Unsupported("the registered OpenCL backend does not support shared virtual memory")
    functions = ffi.cast("void **", ffi.cast("char *", extension) + 8)
    return (
        table.self,
        ffi.cast("int(*)(void *, int64_t, uint64_t *, cdevice_error *)", functions[0]),
        ffi.cast(
            "int(*)(void *, int64_t, int64_t, uint32_t, uint32_t, void *, void **, cdevice_error *)", functions[1]
        ),
        ffi.cast("int(*)(void *, int64_t, void *, void *, void *, cdevice_error *)", functions[2]),
        ffi.cast("int(*)(void *, int64_t, void *, const void *, int64_t, void *, cdevice_error *)", functions[3]),
        table,
    )


def _raise(code: int, err: Cdata, doing: str) -> None:
    if not code:
        return
    kind = OutOfMemory if code == 12 else Unsupported if code == 95 else DeviceError
    error = kind(f"opencl: {doing}: {ffi.string(err.message).decode('utf-8', 'replace')}")
    error.code, error.vendor_code, error.vendor_name = code, err.vendor_code, ffi.string(err.vendor_name).decode()
    raise error


class SharedMemory:
    """``nbytes`` of shared virtual memory on OpenCL device ``device_id``, for the context of ``queue`` (or cdevice's).

    ``fine_grain``: the host may touch it without mapping. Freed by :meth:`release`, behind what its queue has been
    given so far, or with the object. Raises Unsupported where the device has none, OutOfMemory, BackendUnavailable.
    """

    def __init__(self, nbytes: int, *, device_id: int = 0, queue: StreamLike = None, fine_grain: bool = False) -> None:
        self.address = 0
        if nbytes <= 0:
            raise ValueError(f"nbytes must be positive, not {nbytes}")
        self.nbytes, self.device_id, self._keep, self.address = nbytes, device_id, queue, 0
        self._self, _, alloc, self._free, self._copy, self._table = _table()
        self._stream = ffi.cast("void *", stream_handle(_OPENCL, queue))
        out, err = ffi.new("void **"), ffi.new("cdevice_error *")
        code = alloc(self._self, device_id, nbytes, 64, _FINE_GRAIN if fine_grain else 0, self._stream, out, err)
        _raise(code, err, f"allocating {nbytes} bytes of shared virtual memory")
        self.address = int(ffi.cast("uintptr_t", out[0]))

    def _move(self, dst: Cdata, src: Cdata, nbytes: int) -> None:
        if not self.address:
            raise Released("the shared virtual memory has been released")
        err = ffi.new("cdevice_error *")
        code = self._copy(self._self, self.device_id, dst, src, nbytes, self._stream, err)
        if not code:
            code = self._table.stream_wait_host(self._self, self.device_id, self._stream, err)
        _raise(code, err, "copying shared virtual memory")

    def write(self, data: Any) -> None:
        """Copies a buffer of at most ``nbytes`` bytes in, and waits for it."""
        view = ffi.from_buffer(data)
        if len(view) > self.nbytes:
            raise ValueError(f"{len(view)} bytes do not fit into {self.nbytes}")
        self._move(ffi.cast("void *", self.address), view, len(view))

    def read(self, nbytes: int | None = None) -> bytes:
        """The first ``nbytes`` bytes (default: all), after everything that the queue was given."""
        if nbytes is None:
            nbytes = self.nbytes
        if not 0 <= nbytes <= self.nbytes:
            raise ValueError(f"{nbytes} bytes exceed the {self.nbytes} of the memory")
        out = bytearray(nbytes)
        self._move(ffi.from_buffer(out), ffi.cast("const void *", self.address), len(out))
        return bytes(out)

    def release(self) -> None:
        """Frees the memory once its queue has passed what it was given. Idempotent, does not block."""
        address, self.address = self.address, 0
        if address:
            err = ffi.new("cdevice_error *")
            code = self._free(self._self, self.device_id, ffi.cast("void *", address), ffi.NULL, self._stream, err)
            _raise(code, err, "freeing shared virtual memory")

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            self.release()
