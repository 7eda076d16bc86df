"""Differences of rows a period apart."""

from __future__ import annotations

from ...interop.concat import concat
from ..dispatch.datum import Datum, lone
from ..dispatch.types import format_of
from . import row_numbers as rows
from .fill import array_of
from .selection.take import take_array, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call


class PairwiseDiff:
    """``exec`` of pairwise_diff; ``subtract``: the function of that name, or the checked one."""

    __slots__ = ("subtract",)

    def __init__(self, subtract: Callable[[Call, Datum, Datum], DeviceArray]) -> None:
        self.subtract = subtract

    def __call__(self, call: Call, values: Datum) -> DeviceArray:
        options: Any = call.options
        array, period = array_of(call, values), options.period
        n = array.length
        far = min(abs(period), n)
        later, earlier = array[far:], array[: n - far]
        if period < 0:
            later, earlier = earlier, later
        format = format_of(array)
        out = self.subtract(call, Datum(later, format), Datum(earlier, format))
        if not far:
            return out
        if not out.length:  # of the type that differences have
            one = lone(call, Datum(value=None, format=format), array._schema)
            out = self.subtract(call, one, one)
            return take_array(call, out, rows.nulls(call, array, n), False)
        if call.device_type != 1:  # concat would block
            at = rows.from_(call, out, -far if period > 0 else 0, n)
            inside = rows.less_equal(call, 0, at) if period > 0 else rows.less(call, at, out.length)
            return take_array(call, out, with_bitmap(at, inside), False)
        none = take_array(call, out, rows.nulls(call, out, far), False)
        return concat([none, out] if period > 0 else [out, none])
