"""Streams of files: Parquet, Arrow IPC, CSV.  pyarrow reads them."""

from __future__ import annotations

from .compute.expressions.batches import named
from .compute.expressions.bound import bind
from .compute.expressions.expression import Expression, condition
from .compute.expressions.graph import names_in
from .compute.expressions.pushdown import pushed_down
from .errors import ArgumentError
from .interop.asstream import asstream
from .interop.datasets import dataset_of
from .schema import asschema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from ._types import DeviceArrayStream, DeviceLike, StreamLike

BATCH_ROWS = 1 << 17


def scan(
    source: Any,
    *,
    columns: Mapping[str, Any] | Iterable[Any] | None = None,
    where: Expression | str | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike = None,
    prefetch: int | None = None,
    batch_rows: int = BATCH_ROWS,
    progress: Any = None,
) -> DeviceArrayStream:
    """A stream of the rows of files.

    Columns that neither ``columns`` nor ``where`` names are not read.  Parquet's row groups that ``where`` rules out by
    their statistics are skipped; Arrow IPC files are mapped, not read.  pyarrow decodes with its threads, ahead of what
    is asked for.

    ``source``: the path of a file (Parquet, Arrow IPC file or stream, CSV) or of a folder of them, in which folders
    named ``column=value`` are a column, a list of paths of one format, or a ``pyarrow.dataset.Dataset``.  ``columns``:
    of the result: names, or a mapping of names to :class:`~cdevice.compute.Expression`; None: all.  ``where``: an
    expression, or its text: the rows that it is true for.  ``device``, ``stream``, ``prefetch``: see
    :meth:`DeviceArrayStream.to`; where a device is named, expressions are computed there.  ``batch_rows``: rows of a
    batch at most.  ``progress``: True shows how far the files are read, a callable gets the numbers, see
    :meth:`DeviceArrayStream.progress`; the number of all rows is known of Parquet and Arrow IPC files without
    ``where``.

    Blocks until the schema is known.  Any thread.  Raises ModuleNotFoundError without pyarrow, OSError for a path that
    cannot be read, ArgumentError for a column that is not there and for a file of an unknown format.
    """
    if type(batch_rows) is not int or not 1 <= batch_rows < 1 << 31:
        raise ArgumentError(f"scan: batch_rows must be an int from 1 to 2**31 - 1, not {batch_rows!r}")
    where = None if where is None else condition(where, "scan: where")
    dataset = dataset_of(source, "scan")
    schema = asschema(dataset.schema)
    wanted = None if columns is None else named(columns, "scan")
    for e in [*([] if where is None else [where]), *(wanted or {}).values()]:
        bind(e, schema)  # a column that is missing is named before anything is read
    read = None
    if wanted is not None:
        read = names_in([*wanted.values(), *([] if where is None else [where])])
    out = asstream(_batches(dataset, read, where, batch_rows), schema=_schema_of(dataset, read))
    if progress is not None and progress is not False:
        out = out.progress(progress, total_rows=_total_rows(dataset) if where is None else None)
    if device is not None:
        out = out.to(device, stream=stream, prefetch=prefetch)
    elif stream is not None:
        out = out.iterate(stream)
    if where is not None:
        out = out.filter(where, stream=stream)
    return out if wanted is None else out.project(wanted, stream=stream)


def _schema_of(dataset: Any, read: list[str] | None) -> Any:
    import pyarrow

    schema = dataset.schema
    return schema if read is None else pyarrow.schema([schema.field(n) for n in read], schema.metadata)


def _total_rows(dataset: Any) -> int | None:
    """The rows of the files, where their ends tell it."""
    import pyarrow.dataset as ds

    counted = (ds.ParquetFileFormat, ds.IpcFileFormat)
    if isinstance(dataset, ds.FileSystemDataset) and isinstance(dataset.format, counted):
        return int(dataset.count_rows())
    return int(dataset.count_rows()) if isinstance(dataset, ds.InMemoryDataset) else None


def _can_filter(type: Any) -> bool:
    """Has pyarrow a kernel that chooses rows of the type?"""
    import pyarrow as pa

    if isinstance(type, pa.BaseExtensionType):
        return _can_filter(type.storage_type)
    if pa.types.is_run_end_encoded(type) or "_view" in str(type):
        return False
    return all(_can_filter(type.field(i).type) for i in range(type.num_fields))


def _batches(dataset: Any, read: list[str] | None, where: Expression | None, batch_rows: int) -> Iterator[Any]:
    import pyarrow

    types = [f.type for f in dataset.schema if read is None or f.name in read]
    pushed = pushed_down(where, dataset.schema) if where is not None and all(map(_can_filter, types)) else None
    try:
        scanner = dataset.scanner(columns=read, filter=pushed, batch_size=batch_rows)
    except pyarrow.ArrowException:  # it has no such comparison: the rows are filtered in any case
        scanner = dataset.scanner(columns=read, batch_size=batch_rows)
    for batch in scanner.to_batches():
        if batch.num_rows:
            yield batch
