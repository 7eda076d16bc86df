"""Memory from third-party allocators: cupy's, an RMM resource, pyopencl's pools."""

from __future__ import annotations

from .._runtime.ext import _native, ffi, lib
from .._runtime.release_thread import ensure_release_thread
from ..errors import DeviceError
from .backends import ensure_backend, type_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import StreamLike, TypeLike

_CUDA, _CUDA_HOST, _ROCM, _ROCM_HOST, _MANAGED = 2, 3, 10, 11, 13


class _current:
    """The device as this thread's current one in the vendor's API; needed=False: where that can be done."""

    def __init__(self, type_id: int, device_id: int, needed: bool = True) -> None:
        self.device_id, self.saved, self.needed = device_id, ffi.new("void **"), needed
        self.table = lib.cdv_backend_table(type_id)
        found = (
            self.table.extension(self.table.self, ffi.new("char[]", b"cdevice.memory/1")) if self.table else ffi.NULL
        )
        self.memory = ffi.cast("cdevice_memory *", found)

    def __enter__(self) -> None:
        if not self.memory or not self.memory.enter:
            self.memory = ffi.NULL
            return
        err = ffi.new("cdevice_error *")
        if self.memory.enter(self.table.self, self.device_id, self.saved, err):
            self.memory = ffi.NULL
            if self.needed:
                e = DeviceError(ffi.string(err.message).decode())
                e.vendor_code, e.vendor_name = err.vendor_code, ffi.string(err.vendor_name).decode()
                raise e

    def __exit__(self, *exc: object) -> None:
        if self.memory:
            self.memory.leave(self.table.self, self.device_id, self.saved[0])


class _Stream:
    """A raw handle in the forms in which other libraries take streams."""

    def __init__(self, handle: int) -> None:
        self.handle = self.ptr = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def __int__(self) -> int:
        return self.handle


class _Block:
    """What one allocation keeps: the address or handle, and what gives it back."""

    def __init__(self, data: Any, kept: Any, device_id: int, nbytes: int, stream: StreamLike = None) -> None:
        self.data, self.kept, self.device_id, self.nbytes, self.stream = data, kept, device_id, nbytes, stream


def address_of(obj: Any) -> int:
    """The address or handle behind another library's memory object: cupy's, RMM's, hip-python's, pyopencl's, numba's.

    Raises TypeError for an object that shows none, ValueError for a number that no memory begins at.
    """
    return _plausible(_number_of(obj))


def _number_of(obj: Any) -> int:
    if type(obj) is bool:
        raise TypeError(f"{obj} is not an address")
    if isinstance(obj, int):
        return int(obj)
    for name in ("ptr", "int_ptr", "handle", "device_ctypes_pointer", "data"):
        value = getattr(obj, name, None)
        if value is not None:
            return int(getattr(value, "value", value) or 0)
    if hasattr(obj, "__int__") and not isinstance(obj, float):
        return int(obj)
    raise TypeError(f"{type(obj).__name__} is not device memory: pass an address, a handle or an object with one")


def _plausible(address: int) -> int:
    """An address or handle that may be one: the caller checks for 0."""
    if address and not 4096 <= address < 1 << 57:
        raise ValueError(f"{address:#x} is not an address: expected a value from 0x1000 to 2**57")
    if address % 8:
        raise ValueError(f"{address:#x} is not the address of an allocation: expected a multiple of 8")
    return address


class _Resource:
    """An object with ``allocate`` and ``deallocate``; both get the stream where they have such a parameter."""

    def __init__(self, type_id: int, resource: Any) -> None:
        import inspect

        self.type_id, self.resource = type_id, resource
        self.name = type(resource).__name__
        try:
            self.takes_stream = "stream" in inspect.signature(resource.allocate).parameters
        except (TypeError, ValueError):  # compiled, without a signature
            self.takes_stream = type(resource).__module__.split(".")[0] == "rmm"

    def _stream(self, handle: int) -> Any:
        """None: the resource's default."""
        if not handle or not self.takes_stream:
            return {}
        stream = _Stream(handle)
        if type(self.resource).__module__.split(".")[0] == "rmm":
            from rmm.pylibrmm.stream import Stream

            stream = Stream(stream)
        return {"stream": stream}

    def _alloc(self, nbytes: int, device_id: int, stream: int) -> _Block:
        more = self._stream(stream)
        with _current(self.type_id, device_id):
            result = self.resource.allocate(nbytes, **more)
        return _Block(address_of(result), result, device_id, nbytes, more)

    def free(self, block: _Block) -> None:
        with _current(self.type_id, block.device_id, needed=False):  # it must go back, come what may
            self.resource.deallocate(block.data, block.nbytes, **block.stream)


class _Owning:
    """A callable, or an object with ``allocate`` alone, whose results give their memory back when they are dropped."""

    def __init__(self, type_id: int, allocate: Callable[[int], Any], name: str) -> None:
        self.type_id, self.allocate, self.name = type_id, allocate, name

    def _alloc(self, nbytes: int, device_id: int, stream: int) -> _Block:
        with _current(self.type_id, device_id):
            result = self.allocate(nbytes)
        return _Block(address_of(result), result, device_id, nbytes)

    def free(self, block: _Block) -> None:
        with _current(self.type_id, block.device_id, needed=False):
            block.kept = None


class _Cupy(_Owning):
    """cupy's current allocator of this kind of memory, asked at each allocation, on the stream of the copy."""

    def __init__(self, type_id: int) -> None:
        import cupy

        if cupy.cuda.runtime.is_hip != (type_id in (_ROCM, _ROCM_HOST)):
            raise ValueError(f"this cupy is built for {'ROCm' if cupy.cuda.runtime.is_hip else 'CUDA'}")
        self.cuda = cupy.cuda
        if type_id == _MANAGED:
            allocate = cupy.cuda.malloc_managed
        elif type_id in (_CUDA_HOST, _ROCM_HOST):
            allocate = cupy.cuda.alloc_pinned_memory
        else:
            allocate = cupy.cuda.alloc
        super().__init__(type_id, allocate, "cupy")

    def _stream(self, handle: int, device_id: int) -> Any:
        stream = self.cuda.Stream
        if not handle:
            return stream.null
        if handle == 2:
            return stream.ptds
        if hasattr(stream, "from_external"):
            return stream.from_external(_Stream(handle))
        return self.cuda.ExternalStream(handle, device_id)

    def _alloc(self, nbytes: int, device_id: int, stream: int) -> _Block:
        with self.cuda.Device(device_id), self._stream(stream, device_id):
            result = self.allocate(nbytes)
        return _Block(_plausible(int(result.ptr)), result, device_id, nbytes)

    def free(self, block: _Block) -> None:
        with self.cuda.Device(block.device_id):
            block.kept = None


class _Torch:
    """torch's caching allocator, on the stream of the copy."""

    name = "torch"

    def __init__(self, type_id: int) -> None:
        import torch

        if not (torch.version.hip if type_id == _ROCM else torch.version.cuda):
            raise ValueError(f"this torch is not built for {'ROCm' if type_id == _ROCM else 'CUDA'}")
        self.cuda = torch.cuda

    def _alloc(self, nbytes: int, device_id: int, stream: int) -> _Block:
        try:
            address = self.cuda.caching_allocator_alloc(nbytes, device_id, stream)
        except self.cuda.OutOfMemoryError as e:  # a RuntimeError
            raise MemoryError(str(e)) from e
        return _Block(address_of(address), None, device_id, nbytes)

    def free(self, block: _Block) -> None:
        self.cuda.caching_allocator_delete(block.data)


# who allocates by name, and what memory
_NAMED: dict[str, tuple[Callable[[int], Any], tuple[int, ...]]] = {
    "cupy": (_Cupy, (_CUDA, _CUDA_HOST, _MANAGED, _ROCM, _ROCM_HOST)),
    "torch": (_Torch, (_CUDA, _ROCM)),
}


def set_allocator(type: TypeLike, allocator: Any) -> None:
    """Copies to devices of this type take their memory from ``allocator`` from now on.

    ``type``: a DeviceType, an int or a name.  ``allocator``: None, the backend's own pool again; ``"cupy"``, cupy's
    current allocator of that memory (device, pinned or managed), hence RMM's where it is set in cupy; ``"torch"``,
    torch's caching allocator of device memory; an object with
    ``allocate(nbytes[, stream])`` giving an address and ``deallocate(address, nbytes[, stream])``, as RMM's memory
    resources; a callable or an object with ``allocate(nbytes)`` alone, whose results have an ``int_ptr``, ``ptr``,
    ``handle`` or ``data`` and give the memory back when they are dropped, as pyopencl's pools and allocators.

    It is called with the device current, from any thread.  Memory goes back when the array is released and the device
    has passed all work that could still use it; a consumer's stream that the backend cannot see is named with
    ``record_use``.  ``Device.memory()`` counts the backend's own pool only.

    Does not block for the device.  Raises TypeError for an object that is none of these, ValueError for an unknown name
    and for a cupy or torch of the other vendor, BackendUnavailable.
    An allocator that raises or gives other memory than was asked for makes the copy raise OutOfMemory or DeviceError.
    """
    type_id = type_number(type)
    ensure_backend(type_id)
    if allocator is None:
        adapter: Any = None
    elif isinstance(allocator, str):
        made, types = _NAMED.get(allocator, (None, ()))
        if made is None or type_id not in types:
            known = ", ".join(f'"{name}"' for name, (_, types) in _NAMED.items() if type_id in types)
            raise ValueError(f"no allocator for this memory is named {allocator!r}; known: {known or 'none'}")
        adapter = made(type_id)
    elif hasattr(allocator, "allocate") and hasattr(allocator, "deallocate"):
        adapter = _Resource(type_id, allocator)
    elif hasattr(allocator, "allocate") or callable(allocator):
        name = getattr(allocator, "__name__", None) or allocator.__class__.__name__
        adapter = _Owning(type_id, getattr(allocator, "allocate", allocator), name)
    else:
        raise TypeError(f"{allocator.__class__.__name__} is not an allocator: it has no allocate() and is not callable")
    ensure_release_thread()
    _native.set_allocator(type_id, adapter)
