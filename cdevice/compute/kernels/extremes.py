"""The least and the greatest of strings and bytes: the ends of their order, of the ends of each chunk."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ...interop.concat import concat
from ...schema import Schema
from ..dispatch.datum import Datum, chunks_of, lone
from ..dispatch.types import format_of
from .cast.dictionary import known_rows
from .elementwise import schema_of
from .selection.take import filter_array, take_array, with_schema
from .sort import plain_layout, sorted_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call


class OrderedExtremes:
    """``exec`` of min, max and min_max of values that have an order; ``which``: 0 the least, 1 the greatest, 2 both.
    Blocks."""

    __slots__ = ("which",)

    def __init__(self, which: int) -> None:
        self.which = which

    def __call__(self, call: Call, argument: Datum) -> DeviceArray:
        options: Any = call.options
        ends: list[DeviceArray] = []
        valid, nulls, like = 0, 0, None
        for chunk in chunks_of(argument):
            like = chunk
            some = filter_array(call, chunk, known_rows(call, chunk), False) if chunk.null_count else chunk
            valid += some.length
            nulls += chunk.length - some.length
            if some.length:
                ends.append(_ends(call, some))
        assert like is not None
        if valid < max(options.min_count, 1) or (nulls and not options.skip_nulls):
            none = lone(call, Datum(value=None, format=format_of(like)), like._schema).array
            assert none is not None
            found = [none, none]
        else:
            both = ends[0] if len(ends) == 1 else _ends(call, concat(ends, stream=call.owner))
            found = [both[:1], both[1:]]
        if self.which < 2:
            return found[self.which]
        fields = [like._schema.with_name(name) for name in ("min", "max")]
        return assemble(Schema.make("+s", children=fields), 1, [None], found, null_count=0)


def _ends(call: Call, array: DeviceArray) -> DeviceArray:
    """Two rows: the least and the greatest."""
    order = sorted_rows(call, [(plain_layout(call, array), False, False, False)], [array])
    indices = with_schema(order, schema_of("l"))
    n = array.length
    pair = concat([indices[:1], indices[n - 1 :]], stream=call.owner)
    return take_array(call, array, pair, False)
