"""What becomes a DeviceArrayStream, and how."""

from __future__ import annotations

from itertools import chain

from .._runtime.ext import _native, as_address
from .._runtime.lazy import LazyModule
from .._runtime.release_thread import ensure_release_thread
from ..errors import ArgumentError
from ..schema import asschema
from .asarray import asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import (
        Address,
        DeviceArray,
        DeviceArrayStream,
        DeviceLike,
        Schema,
        SchemaLike,
        StreamLike,
        Validate,
    )
    from . import dataframes as _frames
else:
    _frames = LazyModule("cdevice.interop.dataframes")


_Array = _native.Array


def import_stream_from_c(address: Address, *, validate: Validate = "structure") -> DeviceArrayStream:
    """A DeviceArrayStream from a struct of C, which is moved out of.

    ``address``: of an ArrowDeviceArrayStream (int or cffi pointer).  ``validate``: for each array, as in
    :func:`asarray`.

    Blocks in its get_schema; when that fails, the stream is released.  Any thread.  Raises StreamError where there is
    no schema, ValueError for NULL.
    """
    return _native.import_stream_struct(as_address(address), False, validate)


def asstream(
    obj: Any,
    *,
    schema: SchemaLike | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike = None,
    prefetch: int | None = None,
    validate: Validate = "structure",
) -> DeviceArrayStream:
    """A :class:`DeviceArrayStream` of ``obj``.

    ``obj``: what has ``__arrow_c_device_stream__`` or ``__arrow_c_stream__`` (tables and readers of pyarrow, polars,
    duckdb, datafusion, pandas, nanoarrow; cursors of ADBC), one array (anything with ``__arrow_c_device_array__`` or
    ``__arrow_c_array__``), a list of what :func:`asarray` takes, and any other iterable of such, a generator for
    example, which is asked for each item when it is needed, but for the first, which gives the schema and the device
    now.  ``schema``: needed where an iterable may be empty; a request to Arrow producers.  ``device``, ``stream``,
    ``prefetch``: see :meth:`DeviceArrayStream.to`.  ``validate``: for each array, as in :func:`asarray`.

    Blocks until a producer has given its schema, and an iterable its first item.  Any thread.  Raises StreamError where
    a producer cannot give its schema, ArgumentError for an empty iterable without ``schema``, TypeError.
    """
    if validate not in ("structure", "full", None):
        raise ValueError(f'validate must be "structure", "full" or None, not {validate!r}')
    want = None if schema is None else asschema(schema)
    out = _from_object(obj, want, validate)
    if device is not None:
        return out.to(device, stream=stream, prefetch=prefetch)
    return out if stream is None else out.iterate(stream)


def _from_object(obj: Any, want: Schema | None, validate: Validate) -> DeviceArrayStream:
    if isinstance(obj, _native.Stream):
        ours: DeviceArrayStream = obj  # type: ignore[assignment]
        _frames.require(ours, want)
        return ours
    if not isinstance(obj, (list, tuple)):
        method = _frames.stream_method(obj)
        if method is not None:
            return _frames.stream_of(method, want, validate)
    if hasattr(obj, "__aiter__"):
        if hasattr(obj, "as_stream"):  # a consumer of cdevice.aio
            out: DeviceArrayStream = obj.as_stream()
            _frames.require(out, want)
            return out
        raise TypeError("an async iterable is not a stream: use cdevice.aio.produce() and consume()")
    if hasattr(obj, "__arrow_c_device_array__") or hasattr(obj, "__arrow_c_array__"):
        obj = [obj]
    if isinstance(obj, (list, tuple)):
        if want is None and _native.all_arrays(obj):
            made: list[Any] = obj  # type: ignore[assignment]
        elif want is None:
            made = [x if isinstance(x, _Array) else asarray(x, validate=validate) for x in obj]
        else:
            made = [asarray(x, schema=want, validate=validate) for x in obj]
        first, schema = _first(made, want)
        return _native.stream_of_arrays(schema, first, made)
    if isinstance(obj, (str, bytes)) or hasattr(obj, "__fspath__"):
        raise TypeError(
            "a path is no stream: cdevice.scan() reads Parquet, Arrow IPC and CSV files, others are opened by their "
            'library, as in cdevice.asstream(pyarrow.dataset.dataset("file.orc", format="orc"))'
        )
    if not hasattr(obj, "__iter__") and not hasattr(obj, "__next__"):
        why = _frames.unfinished(obj) or "it is no Arrow stream, array, or iterable of arrays"
        raise TypeError(f"{type(obj).__name__} cannot become a stream: {why}")
    ensure_release_thread()  # the iterator may be dropped by a thread that never saw Python
    arrays = (asarray(x, schema=want, validate=validate) for x in obj)
    head = [x for x in (next(arrays, None),) if x is not None]
    first, schema = _first(head, want)
    return _native.stream_of_iterator(schema, first, chain(head, arrays))


def _first(arrays: list[DeviceArray], want: Schema | None) -> tuple[int, Schema]:
    """(device type, schema) of what begins with these arrays."""
    if arrays:
        return arrays[0].device_type_id, arrays[0].schema if want is None else want
    if want is None:
        raise ArgumentError("the schema is unknown without arrays: pass schema=")
    return 1, want
