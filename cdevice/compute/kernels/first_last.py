"""The first and the last row: first, last, first_last."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ..._runtime.ext import _native
from ...schema import Schema
from ..dispatch.datum import Datum, chunks_of, lone
from ..options import ScalarAggregateOptions
from . import row_numbers as rows
from .aggregate import count_valid, extremes, number
from .cast.dictionary import known_rows, may_be_null
from .selection.take import take_array, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_SOME = ScalarAggregateOptions(skip_nulls=True, min_count=1)
_ends = tuple(extremes("l", "l", which) for which in (0, 1))
_PROBED = 64  # rows


def _end_of(call: Call, array: DeviceArray, last: bool, skip_nulls: bool) -> DeviceArray:
    """The first or last row of a chunk that has rows; null where all are."""
    n = array.length
    if not skip_nulls or not may_be_null(array):
        return take_array(call, array, rows.from_(call, array, n - 1 if last else 0, 1), False)
    if call.device_type == 1 and n > _PROBED:  # it is mostly near
        near = _end_of(call, array[n - _PROBED :] if last else array[:_PROBED], last, True)
        if number(near) is not None:
            return near
    numbers = with_bitmap(rows.from_(call, array, 0, n), known_rows(call, array))
    found = _native.compute_reduce(_ends[last].plan(_SOME), (numbers,), call.stream, call.owner)
    return take_array(call, array, found, False)


class FirstLast:
    """``exec``; ``which``: 0 the first, 1 the last, 2 both.  Blocks for chunks, and for ``min_count`` above 1."""

    __slots__ = ("which",)

    def __init__(self, which: int) -> None:
        self.which = which

    def __call__(self, call: Call, argument: Datum) -> DeviceArray:
        options: Any = call.options
        wanted = [False, True] if self.which == 2 else [bool(self.which)]
        found: list[DeviceArray | None] = [None, None]
        counted, single, like = 0, argument.chunks is None, None
        for chunk in chunks_of(argument):
            like = chunk
            if not chunk.length:
                continue
            if options.min_count > 1:
                counted += count_valid(call, chunk)
            for last in wanted:
                before = found[last]
                if not last and before is not None:
                    continue
                row = _end_of(call, chunk, last, options.skip_nulls)
                if single or not options.skip_nulls or number(row) is not None:
                    found[last] = row
        assert like is not None
        if options.min_count > 1 and counted < options.min_count:
            found = [None, None]
        none = None
        if any(found[last] is None for last in wanted):
            none = lone(call, Datum(value=None, format=None), like._schema).array
        ends = [found[last] or none for last in wanted]
        if self.which < 2:
            assert ends[0] is not None
            return ends[0]
        fields = [like._schema.with_name(name) for name in ("first", "last")]
        return assemble(Schema.make("+s", children=fields), 1, [None], [e for e in ends if e is not None], null_count=0)
