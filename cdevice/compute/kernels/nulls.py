"""Arrays of type null: nothing is known of their rows but how many there are."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ...interop.asarray import asarray
from ...schema import Schema
from ..dispatch.datum import ChunkStream, Datum
from .elementwise import Map, schema_of
from .selection.take import rows_of_null, take_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_number = Map("arith", "i64", "negate", "l", "l")


def _rows(call: Call, length: int) -> DeviceArray:
    return rows_of_null((call.device_type, call.device_id), length)


def typed(call: Call, array: DeviceArray, schema: Schema) -> DeviceArray:
    """Rows of type null as nulls of another type."""
    none = asarray([], schema=schema)
    if call.device_type != 1:
        none = none.to((call.device_type, call.device_id))
    return take_array(call, none, _number(call, Datum(array, "n")), False)


def nothing(call: Call, *args: Datum) -> DeviceArray:
    """``exec`` of a function of nulls, which are its result."""
    rows = {a.array.length for a in args if a.array is not None and not a.one}
    if len(rows) > 1:
        there = " and ".join(map(str, sorted(rows)))
        raise ValueError(f"{call.function.name}: arguments of {there} rows; arrays must have the same length")
    return _rows(call, rows.pop() if rows else 1)


def as_type(call: Call, a: Datum, format: str, schema: Schema | None = None) -> Datum:
    """An argument of type null as one of another type."""
    wanted = schema_of(format) if schema is None else schema
    if isinstance(a.chunks, ChunkStream):
        return Datum(chunks=a.chunks.mapped(lambda x: typed(call, x, wanted)), format=format)
    if a.chunks is not None:
        return Datum(chunks=[typed(call, x, wanted) for x in a.chunks], format=format)
    if a.array is None:
        return Datum(value=None, format=format)
    return Datum(typed(call, a.array, wanted), format, one=a.one)


def through(format: str, exec: Callable[[Call, Datum], DeviceArray]) -> Callable[[Call, Datum], DeviceArray]:
    """``exec`` for nulls, of a function that takes them for another type."""
    return lambda call, a: exec(call, as_type(call, a, format))


def extreme(call: Call, a: Datum) -> DeviceArray:
    """``exec`` of min and max."""
    return _rows(call, 1)


def extremes(call: Call, a: Datum) -> DeviceArray:
    """``exec`` of min_max."""
    schema = Schema.make("+s", children=[Schema.make("n", "min"), Schema.make("n", "max")])
    both = _rows(call, 1), _rows(call, 1)
    return assemble(schema, 1, [None], both, null_count=0, made=both)
