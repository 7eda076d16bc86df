"""Streams by expressions: each batch is computed when it is asked for."""

from __future__ import annotations

from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...interop.concat import concat
from ...schema import Schema
from ..kernels.columns import is_computed_by_cpu, where_computed
from .batches import filtered, named, projected, projected_schema
from .bound import require_condition
from .expression import condition, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from ..._types import DeviceArray, DeviceArrayStream, StreamLike


def mapped(
    source: DeviceArrayStream, schema: Schema, change: Callable[[DeviceArray], DeviceArray]
) -> DeviceArrayStream:
    """A stream of the batches of another, each changed when it is asked for; the other is used up."""
    here = source.device_type_id
    return _native.stream_of_iterator(schema, 1 if is_computed_by_cpu(here) else here, _each(source._moved(), change))


def _each(source: DeviceArrayStream, change: Callable[[DeviceArray], DeviceArray]) -> Iterator[DeviceArray]:
    with source:
        for batch in source:
            made = change(where_computed(batch))
            del batch  # its memory is free before the next is asked for
            yield made
            del made


def _require_batches(source: DeviceArrayStream, what: str) -> Schema:
    schema = source.schema
    if schema.format != "+s":
        raise ArgumentError(f"{what}: an expression needs a stream of batches, not of {schema.type}")
    return schema


def filter(source: DeviceArrayStream, where: Any, stream: StreamLike) -> DeviceArrayStream:
    """See :meth:`DeviceArrayStream.filter`."""
    schema = _require_batches(source, "filter")
    where = condition(where, "filter")
    require_condition(where, schema, "filter")
    batches = Schema.make("+s", schema.name, children=schema.children, nullable=False, metadata=schema.metadata)
    return mapped(source, batches, lambda batch: filtered(batch, where, stream))


def project(source: DeviceArrayStream, columns: Any, stream: StreamLike) -> DeviceArrayStream:
    """See :meth:`DeviceArrayStream.project`."""
    schema, wanted = _require_batches(source, "project"), named(columns, "project")
    return mapped(source, projected_schema(schema, wanted), lambda batch: projected(batch, wanted, stream))


def with_columns(source: DeviceArrayStream, columns: Mapping[str, Any], stream: StreamLike) -> DeviceArrayStream:
    """See :meth:`DeviceArrayStream.with_columns`."""
    schema = _require_batches(source, "with_columns")
    names = [c.name for c in schema.children]
    if len(set(names)) < len(names):
        raise ArgumentError("with_columns: two columns of the stream have the same name")
    wanted, metadata = {**{n: field(n) for n in names}, **named(columns, "with_columns")}, schema._metadata
    made = projected_schema(schema, wanted, metadata)
    return mapped(source, made, lambda batch: projected(batch, wanted, stream, metadata))


def rebatch(source: DeviceArrayStream, rows: int) -> DeviceArrayStream:
    """See :meth:`DeviceArrayStream.rebatch`."""
    if type(rows) is not int or rows < 1:
        raise ArgumentError(f"rebatch: rows must be an int of 1 or more, not {rows!r}")
    schema, here = source.schema, source.device_type_id
    return _native.stream_of_iterator(schema, here, _of_size(source._moved(), rows))


def _of_size(source: DeviceArrayStream, rows: int) -> Iterator[DeviceArray]:
    """Batches of so many rows, the last one of fewer."""
    some: list[DeviceArray] = []
    n = 0
    with source:
        for batch in source:
            if not n and batch.length == rows:
                yield batch
                continue
            some.append(batch)
            n += batch.length
            if n < rows:
                continue
            whole = _whole(some)
            begin = 0
            while n - begin >= rows:
                yield whole._slice(begin, rows)
                begin += rows
            n -= begin
            some = [whole._slice(begin, n)] if n else []
    if some:
        yield _whole(some)


def gathered(batches: Iterable[DeviceArray], least: Callable[[DeviceArray], int]) -> Iterator[DeviceArray]:
    """The same rows in batches of at least so many, the last one of fewer: small ones are copied together.  ``least``
    is asked of a batch that begins one."""
    some: list[DeviceArray] = []
    n = wanted = 0
    for batch in batches:
        if not some:
            wanted = least(batch)
        some.append(batch)
        n += batch.length
        del batch
        if n >= wanted:
            made, some, n = _whole(some), [], 0
            yield made
            del made  # its memory is free before the next is asked for
    if some:
        yield _whole(some)


def _whole(some: list[DeviceArray]) -> DeviceArray:
    return concat(some) if len(some) > 1 else some[0]


def top_k(source: Iterable[DeviceArray], k: int, keys: Any, stream: StreamLike) -> DeviceArray | None:
    """The first rows of a stream in the order of keys; None of a stream without batches."""
    from ..functions import select_k_unstable, take

    best: DeviceArray | None = None
    for batch in source:
        candidates = batch if best is None else concat([best, batch])
        best = take(candidates, select_k_unstable(candidates, k, keys, stream=stream), stream=stream)
        del batch, candidates
    return best
