"""The CUDA array interface, version 3, in and out; cupy, hip-python and torch on ROCm have it too."""

from __future__ import annotations

import sys

from .._arrays.events import Recorded
from .._arrays.formats import DTYPES, FORMATS, extent_of, type_string
from .._arrays.from_buffers import from_buffers
from .._arrays.logical_view import retyped
from .._devices.backends import ensure_backend
from .._runtime.ext import check, ffi, lib
from ..errors import InvalidArray
from ..schema import Schema
from .fixed_shape_tensor import nested, values_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray

_CUDA, _ROCM, _MANAGED = 2, 10, 13
_LEGACY = 1  # the legacy default stream in the interface and in DLPack


def _vendor(obj: Any) -> int:
    """The device type whose runtime knows the object's memory: nothing in the interface tells."""
    root = type(obj).__module__.split(".")[0]
    if root == "torch":
        return _ROCM if sys.modules["torch"].version.hip else _CUDA
    if root == "cupy":
        return _ROCM if sys.modules["cupy"].cuda.runtime.is_hip else _CUDA
    return _ROCM if root in ("hip", "rocm") else _CUDA


def _instead(typestr: str) -> str:
    if typestr[1:] == "b1":
        return (
            "Arrow's booleans are bits; give a view of them as uint8, and compare: "
            "cdevice.compute.not_equal(cdevice.asarray(view), 0)"
        )
    return "give a view of them as a type that Arrow has, such as unsigned integers of the same size"


def no_interface(obj: Any, why: Exception) -> TypeError:
    """For an object that fails when it is asked for its interface, as torch's tensors of float8 do."""
    kind = f"{type(obj).__module__}.{type(obj).__name__}"
    return TypeError(f"this {kind} has no CUDA array interface ({type(why).__name__}: {why}): {_instead('')}")


def export_interface(array: DeviceArray) -> dict[str, Any]:
    array._lend()  # the caller that takes the address keeps the object
    array, shape, nulls = values_of(array)
    dtype = DTYPES.get(array._format)
    if array.device_type_id not in (_CUDA, _MANAGED) or dtype is None or array.schema.dictionary is not None:
        raise AttributeError("__cuda_array_interface__: only fixed-width arrays on CUDA have it")
    if nulls:
        raise AttributeError("__cuda_array_interface__: the array has nulls, or may have")
    size = int(dtype[1:])
    stream = None
    if not array.ready:
        array.wait(_LEGACY)
        stream = _LEGACY
    address = (array._buffer(1)[0] or 0) + array.offset * size if array.length else 0
    return {
        "version": 3,
        "shape": shape,
        "typestr": ("|" if size == 1 else "<") + dtype,
        "data": (address, True),
        "strides": None,
        "stream": stream,
    }


def import_interface(obj: Any, schema: Schema | None = None) -> DeviceArray:
    """An object with ``__cuda_array_interface__`` as a DeviceArray on its device, without a copy; dimensions behind the
    first become fixed-size lists.

    The event is recorded on the stream that the object names. The memory must not be written while the array lives.
    Raises ValueError for masks, strides and types that Arrow has not, InvalidArray for memory that CUDA does not know.
    """
    d = obj.__cuda_array_interface__
    typestr = type_string(d)
    address, shape, size, nbytes = extent_of(d)
    format = FORMATS.get(typestr[1:]) if typestr[0] in "<|=" else None
    if format is None:
        raise ValueError(f"arrays of {typestr} have no Arrow type: {_instead(typestr)}")
    if d.get("mask") is not None:
        raise ValueError("an array with a mask cannot be imported without a copy")
    if not shape:
        raise ValueError("an array without dimensions has no rows")
    values = nbytes // size
    vendor = _vendor(obj)
    if d.get("stream") == 0 and vendor == _CUDA:
        raise ValueError("stream 0 is forbidden by the interface")
    ensure_backend(vendor)
    check(lib.cdv_device_count(vendor, ffi.new("int64_t *")))
    table = lib.cdv_backend_table(vendor)
    kind, device, behind = vendor, 0, 0
    if values:
        where, number, found = ffi.new("int32_t *"), ffi.new("int64_t *"), ffi.new("int64_t *")
        err = ffi.new("cdevice_error *")
        if table.locate(table.self, ffi.cast("void *", address), where, number, found, err):
            name = "CUDA" if vendor == _CUDA else "HIP"
            raise InvalidArray(f"{name} does not know the memory at {address:#x}: {ffi.string(err.message).decode()}")
        kind, device, behind = where[0], number[0], found[0]
        if 0 <= behind < nbytes:
            raise InvalidArray(f"{values} values need {nbytes} bytes, but only {behind} follow {address:#x}")
    named = d.get("stream")
    owner = Recorded(obj, table, device, 0 if named == _LEGACY else named)
    out = from_buffers(
        Schema.make(format),
        values,
        [None, address or None],
        null_count=0,
        device=(kind, device),
        owner=owner,
        sync_event=owner.event.sync_event or None,
    )
    out = nested(out, shape)
    return out if schema is None else retyped(out, schema)
