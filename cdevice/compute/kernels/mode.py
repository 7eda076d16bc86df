"""The most common values: mode."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ..._runtime.ext import _native
from ...interop.concat import concat
from ...schema import Schema
from ..dispatch.datum import Datum, chunks_of
from ..dispatch.types import FLOATS, HALF, KERNEL_TYPES, format_of
from . import row_numbers as rows
from .cast.dictionary import known_rows
from .elementwise import Map
from .selection.take import chosen_rows, filter_array, take_array, with_schema
from .sort import sorted_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

    Counted = tuple[DeviceArray, DeviceArray]  # values, each once, and how many rows have each (int64)


def _of_one_zero(call: Call, array: DeviceArray) -> DeviceArray:
    """The two zeros of a float as one value."""
    format = format_of(array)
    if format not in FLOATS + HALF:
        return array
    add = Map("arith", KERNEL_TYPES[format], "add", format * 2, format, function_name="mode")
    return add(call, Datum(array, format), Datum(value=0.0, format=format))


def _together(call: Call, a: Counted, b: Counted) -> Counted:
    """The values of both, with the sums of their counts.  Blocks."""
    values, counts = concat([a[0], b[0]], stream=call.owner), concat([a[1], b[1]], stream=call.owner)
    keys = [(values, False, False, False)]
    order = sorted_rows(call, keys, [values])
    offsets = _native.compute_sorted_groups(keys, order, call.function.name, call.stream, call.owner)
    n, numbers = values.length, with_schema(order, counts._schema)
    counts = take_array(call, counts, numbers, False)
    until = rows.running_sum(call, counts)
    first = chosen_rows(call, rows.less(call, offsets[:n], offsets[1:]))
    before = take_array(call, rows.subtract(call, until, counts), first, False)
    after = concat([before[1:], until[n - 1 :]], stream=call.owner)
    return take_array(call, values, take_array(call, numbers, first, False), False), rows.subtract(call, after, before)


class Mode:
    """``exec`` of mode; ``value_counts``: the function of that name.  Blocks.  Of chunks it keeps the values that it
    has seen, each once."""

    __slots__ = ("value_counts",)

    def __init__(self, value_counts: Callable[[Call, Datum], DeviceArray]) -> None:
        self.value_counts = value_counts

    def __call__(self, call: Call, argument: Datum) -> DeviceArray:
        options: Any = call.options
        if argument.one or (argument.array is None and argument.chunks is None):
            raise TypeError(f"{call.function.name}: expected an array, chunks or a stream")
        found: Counted | None = None
        valid, nulls, like = 0, 0, None
        for chunk in chunks_of(argument):
            like = chunk
            some = filter_array(call, chunk, known_rows(call, chunk), False) if chunk.null_count else chunk
            valid += some.length
            nulls += chunk.length - some.length
            if some.length:
                made = self._counted(call, some)
                found = made if found is None else _together(call, found, made)
        assert like is not None
        if found is None or valid < options.min_count or (nulls and not options.skip_nulls):
            none = rows.from_(call, like, 0, 0)
            found = take_array(call, like, none, False), none  # where it is computed
        values, counts = found
        if values.length:
            keys = [(counts, True, False, False), (values, False, False, False)]
            order = with_schema(sorted_rows(call, keys, [counts, values]), counts._schema)[: options.n]
            values, counts = take_array(call, values, order, False), take_array(call, counts, order, False)
        schema = Schema.make("+s", children=[like._schema.with_name("mode"), Schema.make("l", "count")])
        return assemble(schema, values.length, [None], [values, counts], null_count=0, near=counts)

    def _counted(self, call: Call, array: DeviceArray) -> Counted:
        found = self.value_counts(call, Datum(_of_one_zero(call, array), format_of(array)))
        return found.children[0], found.children[1]
