"""Tables and columns of other libraries as Arrow streams."""

from __future__ import annotations

from .._runtime.ext import _native
from .._runtime.lazy import LazyModule
from ..errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._arrays import concat as _joined
    from .._types import Capsule, DeviceArray, DeviceArrayStream, DeviceLike, Schema, StreamLike, Validate
    from .._values import from_python as _encode
else:
    _encode = LazyModule("cdevice._values.from_python")
    _joined = LazyModule("cdevice._arrays.concat")


def _from_pandas(obj: Any) -> Any:
    """An older pandas shows no Arrow stream; newer ones make it in this way too."""
    try:
        import pyarrow
    except ImportError:
        raise TypeError(f"a pandas {type(obj).__name__} needs pyarrow to become Arrow: pip install pyarrow") from None
    import pandas

    if isinstance(obj, pandas.DataFrame):
        return pyarrow.Table.from_pandas(obj)
    column = pyarrow.array(obj, from_pandas=True)
    return column if isinstance(column, pyarrow.ChunkedArray) else pyarrow.chunked_array([column])


def _pyarrow_reader(obj: Any) -> Any:
    """Datasets, scanners and Parquet files are read as they are asked for; None: obj is none of these."""
    if hasattr(obj, "iter_batches") and hasattr(obj, "schema_arrow"):
        import pyarrow

        return pyarrow.RecordBatchReader.from_batches(obj.schema_arrow, obj.iter_batches())
    if hasattr(obj, "scanner"):
        obj = obj.scanner()
    return obj.to_reader() if hasattr(obj, "to_reader") and hasattr(obj, "projected_schema") else None


def stream_method(obj: Any) -> Callable[..., Capsule] | None:
    """obj's method that gives an Arrow stream's capsule, or None.

    Taken as they are: what has ``__arrow_c_device_stream__`` or ``__arrow_c_stream__``.  By way of pyarrow: pandas
    frames and columns without it, and pyarrow's datasets, scanners and Parquet files.  By their own methods: relations
    of older releases of duckdb, its connections and ADBC's cursors that have executed a query.
    """
    for name in ("__arrow_c_device_stream__", "__arrow_c_stream__"):
        method: Callable[..., Capsule] | None = getattr(obj, name, None)
        if method is not None:
            return method
    library = type(obj).__module__.partition(".")[0]
    if library == "pandas" and (hasattr(obj, "to_frame") or hasattr(obj, "columns")):
        method = _from_pandas(obj).__arrow_c_stream__
        return method
    if library == "pyarrow":
        reader = _pyarrow_reader(obj)
        return None if reader is None else reader.__arrow_c_stream__
    for fetch in _RESULTS.get(library, ()):
        if hasattr(obj, fetch):
            method = getattr(obj, fetch)().__arrow_c_stream__
            return method
    return None


# how the result of a query is asked for, the best way first, by library
_RESULTS = {
    "_duckdb": ("to_arrow_reader", "fetch_arrow_reader"),
    "duckdb": ("to_arrow_reader", "fetch_arrow_reader"),
    "adbc_driver_manager": ("fetch_record_batch",),  # fetch_arrow() of some drivers gives structs that may be null
}


def unfinished(obj: Any) -> str:
    """What to do with a query that was not run yet or memory being filled, as the end of a sentence; "": neither."""
    if type(obj).__module__ == "cdevice.mutable":  # of a floor above
        return "it is being filled, freeze() makes the array"
    lazy = type(obj).__module__.partition(".")[0] in ("polars", "dask") or type(obj).__name__ == "LazyFrame"
    name = next((n for n in ("collect", "compute") if hasattr(obj, n)), "") if lazy else ""
    return f"it was not computed yet, .{name}() does that" if name else ""


def stream_of(method: Callable[..., Capsule], want: Schema | None, validate: Validate) -> DeviceArrayStream:
    """The stream whose capsule a method of the protocol gives."""
    capsule = method() if want is None else method(requested_schema=want.__arrow_c_schema__())
    out = _native.import_stream(capsule, validate)
    require(out, want)
    return out


def require(stream: DeviceArrayStream, want: Schema | None) -> None:
    """Closes a stream of another schema than was asked for and raises ArgumentError; ``want`` None: any will do."""
    if want is not None and not stream.schema.equals(want) and stream.schema.type != want.type:
        told = stream.schema.type
        stream.close()
        raise ArgumentError(
            f"the stream has type {told}, but {want.type} was requested; no conversion is done: cast first"
        )


def one_array(
    source: DeviceArrayStream, name: str, copy: bool | None, device: DeviceLike | None, stream: StreamLike
) -> tuple[DeviceArray, bool]:
    """(the arrays of a stream as one, were they joined?), leaving out empty ones; an empty array when there is none.
    Closes the stream.  Where they are joined that is done on the device."""
    empty: DeviceArray | None = None
    some: list[DeviceArray] = []
    with source:
        schema = source.schema
        for array in source:
            if not array.length:
                empty = empty or array
                continue
            if some and copy is False:
                raise ArgumentError(
                    f"this {name} holds more than one array, which copy=False cannot join: take cdevice.asstream(), "
                    "or join them with cdevice.concat()"
                )
            some.append(array)
    if len(some) > 1:
        return _joined.joined(some, device, stream), True
    if some:
        return some[0], False
    return (_encode.from_list([], schema) if empty is None else empty), False
