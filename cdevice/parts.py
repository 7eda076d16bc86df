"""What may stand for a buffer where an array is built from parts: its address or handle, and the bytes it has."""

from math import prod

from ._ext import as_address, ffi, lib
from ._later import Later
from .buffer import Buffer

_formats = Later("cdevice.interop.formats")
_memory = Later("cdevice.memory")
_registry = Later("cdevice.registry")

_CPU, _OPENCL = 1, 4

_zeros = ffi.new("char[64]")
_empty = int(ffi.cast("uintptr_t", _zeros))
_from_buffer, _cast, _uintptr = ffi.from_buffer, ffi.cast, ffi.typeof("uintptr_t")


def address_of_buffer(obj):
    """(what holds the export of its buffer protocol, the address)"""
    memory = _from_buffer(obj)
    # an empty buffer has no address of its own, and a missing one would be refused
    return memory, int(_cast(_uintptr, memory)) or _empty


def _of_interface(d):
    """(address, bytes) of an array interface, numpy's or CUDA's.  Raises ValueError where it has gaps."""
    shape, size = tuple(d["shape"]), int(_formats.type_string(d)[2:])
    strides = d.get("strides")
    expected = size
    for n, stride in zip(reversed(shape), reversed(strides or ())):
        if n > 1 and stride != expected:
            raise ValueError("a buffer must be contiguous")
        expected *= n
    return int(d["data"][0]) if d["data"] else 0, prod(shape) * size


def _of_device(obj, type_id):
    """(address or handle, bytes or -1) of another library's memory on a device."""
    if type_id == _OPENCL:
        backend = _registry.backend_object(_OPENCL)
        if backend.owns(obj):
            memory = backend.from_object(obj)
            if memory.offset:
                raise ValueError(
                    f"the OpenCL array begins at byte {memory.offset} of its buffer: pass the buffer, offset="
                )
            return memory.data, memory.nbytes
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_interface(interface)
    address = as_address(_memory.address_of(obj))
    whole = getattr(obj, "mem", None)  # cupy's pointers point into it
    size = getattr(whole, "size", None)
    if isinstance(size, int) and isinstance(getattr(whole, "ptr", None), int):
        return address, size - (address - whole.ptr)
    size = getattr(obj, "nbytes", None)
    return address, size if isinstance(size, int) and not isinstance(size, bool) else -1


def part(obj, type_id):
    """(address, bytes or -1, what keeps it) for one buffer on a device type; None: no buffer.

    Raises TypeError for what is no memory there, ValueError for memory with gaps.
    """
    if obj is None:
        return None, 0, None
    if isinstance(obj, (int, ffi.CData)):
        return as_address(obj) or None, -1, obj
    if isinstance(obj, Buffer):
        if obj.device.type_id != type_id and not (type_id == _CPU and lib.cdv_is_host_accessible(obj.device.type_id)):
            raise TypeError(f"a buffer on {obj.device} in an array of another device")
        size = obj.size
        return obj.address or (_empty if size == 0 and type_id == _CPU else None), size, obj
    if type_id == _CPU or lib.cdv_is_host_accessible(type_id):
        try:
            memory, address = address_of_buffer(obj)
        except TypeError:
            pass
        else:
            return address, len(memory), memory
        interface = getattr(obj, "__array_interface__", None)
        if interface is not None:
            address, size = _of_interface(interface)
            return address or _empty, size, obj
        pointer = getattr(obj, "data_ptr", None)  # torch
        if callable(pointer) and str(getattr(obj, "device", "")) == "cpu":
            if not obj.is_contiguous():
                raise ValueError("a buffer must be contiguous")
            return pointer() or _empty, obj.numel() * obj.element_size(), obj
        if type_id == _CPU:
            raise TypeError(
                f"{type(obj).__name__} is no buffer: bytes, numpy arrays and what has an array interface are"
            )
    address, size = _of_device(obj, type_id)
    return address or None, size, obj
