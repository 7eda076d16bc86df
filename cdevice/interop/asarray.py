"""What becomes a DeviceArray, and how."""

from __future__ import annotations

import sys

from .._runtime.ext import _native, as_address
from .._runtime.lazy import LazyModule
from ..schema import Schema, asschema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .. import errors as _errors
    from .._arrays import from_buffers as _buffers
    from .._arrays import logical_view as _retyped
    from .._arrays import record_batch as _batch
    from .._devices import device as _device
    from .._types import Address, DeviceArray, DeviceLike, SchemaLike, StreamLike, Validate
    from .._values import from_python as _encode
    from . import cuda_array_interface as _cuda
    from . import dataframes as _frames
    from . import dlpack as _dlpack
    from . import numpy as _numpy
    from . import pyopencl as _pyopencl
else:
    _batch = LazyModule("cdevice._arrays.record_batch")
    _buffers = LazyModule("cdevice._arrays.from_buffers")
    _errors = LazyModule("cdevice.errors")
    _retyped = LazyModule("cdevice._arrays.logical_view")
    _device = LazyModule("cdevice._devices.device")
    _cuda = LazyModule("cdevice.interop.cuda_array_interface")
    _dlpack = LazyModule("cdevice.interop.dlpack")
    _encode = LazyModule("cdevice._values.from_python")
    _frames = LazyModule("cdevice.interop.dataframes")
    _numpy = LazyModule("cdevice.interop.numpy")
    _pyopencl = LazyModule("cdevice.interop.pyopencl")


import_capsules = _native.import_capsules


def import_from_c(array: Address, schema: Address, validate: Validate = "structure") -> DeviceArray:
    """A DeviceArray from two structs of C.

    ``array``, ``schema``: addresses of an ArrowDeviceArray and an ArrowSchema (int or cffi pointer).  ``validate``: see
    :func:`asarray`.  Moves out of both structs (their ``release`` becomes NULL); on an error they are untouched.

    Does not block for the producer's event; "full" blocks until the data is ready.  Any thread.  Raises InvalidArray
    for structs that break the format, ValueError for NULL.
    """
    return _native.import_structs(as_address(schema), as_address(array), validate)


@_native.asarray_fast  # C handles the common cases without calling this
def asarray(
    obj: Any,
    schema: SchemaLike | None = None,
    *,
    device: DeviceLike | None = None,
    stream: StreamLike = None,
    copy: bool | None = None,
    validate: Validate = "structure",
) -> DeviceArray:
    """A :class:`DeviceArray` of ``obj``, without a copy wherever that is possible.

    ``obj``: what has ``__arrow_c_device_array__`` or ``__arrow_c_array__``, numpy arrays, pyopencl arrays and buffers,
    what has ``__cuda_array_interface__`` (cupy, numba, torch) or ``__dlpack__``, tables and columns that are Arrow
    streams (polars, pandas, duckdb, pyarrow), whose chunks are joined as :func:`concat` does it (one by one:
    :func:`asstream`), objects with the buffer protocol, Python lists (with ``schema``, else the type follows from the
    values), and dicts of columns (see :func:`record_batch`).  ``schema``: see :func:`asschema`; a request to Arrow
    producers, an instruction for lists.  ``device``: where the result shall be; the data moves there if it is
    elsewhere, on ``stream`` of that device.  ``copy``: None copies when needed, True always, False never (ValueError).
    ``validate``: "structure", "full" or None, see :meth:`DeviceArray.validate`.

    Does not block for the producer's event: the result carries it.  Copies block as in :meth:`DeviceArray.to` and
    :func:`concat`; "full" blocks until the data is ready.  Any thread.  Raises InvalidArray, TypeError, ValueError, and
    for copies as :meth:`DeviceArray.to`.
    """
    if validate not in ("structure", "full", None):
        raise ValueError(f'validate must be "structure", "full" or None, not {validate!r}')
    want = None if schema is None else asschema(schema)
    out, fresh = _from_object(obj, want, copy, validate, device, stream)
    if device is None:
        if copy and not fresh:
            return out.to(out.device, stream=stream, copy=True)
        return out
    target = _device.device(device)
    if copy is False and target != out.device:
        raise ValueError(f"the data is on {out.device}: copy=False forbids the copy to {target}")
    return out.to(device, stream=stream, copy=True if copy and not fresh else None)


def _has_interface(obj: Any) -> bool:
    try:
        return hasattr(obj, "__cuda_array_interface__")
    except (KeyError, TypeError) as e:
        raise _cuda.no_interface(obj, e) from None


def _from_object(
    obj: Any,
    want: Schema | None,
    copy: bool | None,
    validate: Validate,
    device: DeviceLike | None,
    stream: StreamLike,
) -> tuple[DeviceArray, bool]:
    """(DeviceArray, was it copied?); chunks are joined on the device."""
    if isinstance(obj, _native.Array):
        ours: Any = obj
        if want is not None:
            _retyped.require(ours, want)
        return ours, False
    for name in ("__arrow_c_device_array__", "__arrow_c_array__"):
        method = getattr(obj, name, None)
        if method is not None:
            # without a keyword where none is needed: some producers take none
            schema, array = method() if want is None else method(requested_schema=want.__arrow_c_schema__())
            out = _native.import_capsules(schema, array, validate)
            if want is not None:
                _retyped.require(out, want)
            return out, False
    if type(obj).__module__.split(".")[0] == "numpy" and hasattr(obj, "__array_interface__") and hasattr(obj, "dtype"):
        out = _numpy.from_numpy(obj, want, copy=copy)
        return (out if want is None else _retyped.retyped(out, want)), bool(copy)
    if type(obj).__module__.split(".")[0] == "pyopencl":
        return _pyopencl.from_pyopencl(obj, want), False
    if _has_interface(obj):
        return _cuda.import_interface(obj, want), False
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        return _dlpack.from_dlpack(obj, want, validate, copy)
    if not isinstance(obj, (list, tuple, range, bytes, bytearray, memoryview)):
        method = _frames.stream_method(obj)
        if method is not None:
            source = _frames.stream_of(method, want, validate)
            return _frames.one_array(source, type(obj).__name__, copy, device, stream)
    if isinstance(obj, dict):
        if copy is False:
            obj = {name: asarray(column, copy=False) for name, column in obj.items()}
        try:
            return record_batch(obj, schema=want), False
        except RecursionError:
            raise ValueError("columns nested deeper than Python's stack, or inside themselves") from None
    if isinstance(obj, (list, tuple, range)):
        if copy is False:
            raise ValueError("copy=False: a list cannot become an array without a copy")
        if want is None and any(type(v).__name__ in ("datetime64", "timedelta64") for v in obj):
            times = _numpy.times_of(obj)
            if times is not None:
                return _numpy.from_numpy(times), True
        return _encode.from_list(list(obj), want), True
    try:
        data = memoryview(obj)
    except TypeError:
        raise TypeError(f"{type(obj).__name__} cannot become an array: {_remedy(obj)}") from None
    return _from_memory(obj, data, want, copy), bool(copy)


def _remedy(obj: Any) -> str:
    """What to do with an object that is no array yet, as the end of a sentence."""
    if isinstance(obj, str) or hasattr(obj, "__fspath__"):
        return "cdevice.scan() reads files, a list makes an array of strings"
    return _frames.unfinished(obj) or (
        "cdevice.asstream() takes iterables of arrays, list() makes values of one"
        if hasattr(obj, "__next__")
        else "it is no Arrow object, numpy array, buffer or list"
    )


_MEMORY_FORMATS = {
    "b": "c",
    "B": "C",
    "h": "s",
    "H": "S",
    "i": "i",
    "I": "I",
    "q": "l",
    "Q": "L",
    "e": "e",
    "f": "f",
    "d": "g",
}


def _from_memory(obj: Any, data: Any, want: Schema | None, copy: bool | None) -> DeviceArray:
    code = data.format.lstrip("@=" + ("<" if sys.byteorder == "little" else ">"))
    if code in ("l", "L", "n", "N"):  # C's long and size_t: what they are here
        code = {4: "i", 8: "q"}[data.itemsize]
        code = code.upper() if data.format[-1] in "LN" else code
    if code not in _MEMORY_FORMATS or data.ndim != 1 or not data.c_contiguous:
        raise TypeError(
            f"a buffer of format {data.format!r} with {data.ndim} dimensions; expected one contiguous dimension"
        )
    if copy:
        obj = bytes(data)
    out = _buffers.from_buffers(
        Schema.make(_MEMORY_FORMATS[code]), data.nbytes // data.itemsize, [None, obj], null_count=0
    )
    return out if want is None else _retyped.retyped(out, want)


_PYTHON = (list, tuple, range)


def near(values: Any, home: _device.Device, stream: StreamLike = None) -> DeviceArray:
    """What :func:`asarray` takes as an array; Python's lists on a device, where others are."""
    out = asarray(values)
    return out.to(home, stream=stream) if home.type_id != 1 and out.device_type_id == 1 else out


def record_batch(
    columns: Mapping[str, Any] | Iterable[Any],
    names: Iterable[str] | None = None,
    *,
    schema: SchemaLike | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike = None,
) -> DeviceArray:
    """A record batch (a struct array without nulls of its own) of columns, without a copy of those that are arrays.

    ``columns``: a mapping of names to what :func:`asarray` takes, or a sequence of such with ``names`` (default: the
    names that the arrays have).  ``schema``: a struct of the columns' types, in its order.  ``device``, ``stream``:
    where the batch shall be; without ``device`` the columns are on one device already, and lists of Python's values go
    there.

    Does not block for the columns' events: the batch carries one behind them.  Copies block as in :func:`asarray`.  Any
    thread.  Raises ArgumentError for columns of several lengths or devices and for names that do not fit, KeyError for
    a column that ``schema`` has not.
    """
    from collections import abc  # here: it costs more than all of this file

    if isinstance(columns, abc.Mapping):
        if names is not None:
            raise TypeError("names= needs a sequence of columns: a mapping already has names")
        odd = next((k for k in columns if not isinstance(k, str)), None)
        if odd is not None:
            raise TypeError(f"{odd!r} ({type(odd).__name__}) cannot be a column name: expected str")
        words, values = list(columns), list(columns.values())
    else:
        values = list(columns)
        words = [] if names is None else list(names)
        if names is not None and len(words) != len(values):
            raise _errors.ArgumentError(f"{len(words)} names for {len(values)} columns")
    want = None if schema is None else asschema(schema)
    if want is not None and (want.format != "+s" or len(want) != len(values)):
        raise _errors.ArgumentError(f"a batch of {len(values)} columns cannot be {want.type}")
    if want is not None and words != want.names and sorted(words) == sorted(want.names):  # in the order of the schema
        given = dict(zip(words, values, strict=True))
        if len(given) == len(words):
            words, values = want.names, [given[n] for n in want.names]
    if want is None:
        types: list[Any] = [None] * len(values)
    elif words:
        types = [want[n] for n in words]
    else:
        types, words = want.children, want.names
    made = [asarray(v, schema=t, device=device, stream=stream) for v, t in zip(values, types)]
    home = next((m.device for m, v in zip(made, values) if not isinstance(v, _PYTHON)), None)
    if device is None and home is not None:
        made = [near(m, home, stream) if isinstance(v, _PYTHON) else m for m, v in zip(made, values)]
    return _batch.of_columns(made, words or [c.schema.name for c in made], stream)
