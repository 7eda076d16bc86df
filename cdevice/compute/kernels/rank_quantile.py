"""The rank of each row as a part of all: rank_quantile."""

from __future__ import annotations

from ..dispatch.datum import Datum
from ..errors import NoKernel
from . import row_numbers as rows
from .cast.numeric import cast_argument
from .elementwise import Map
from .selection.take import is_batch, take_array
from .sort import keys_of, rows_of
from .sorted_groups import Groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_divide = Map("arith", "f64", "divide", "gg", "g", function_name="rank_quantile")


def rank_quantile(call: Call, values: Datum) -> DeviceArray:
    """``exec``: how many rows lie before each, those equal to it by half, divided by the number of rows."""
    options: Any = call.options
    array = rows_of(call, values)
    if is_batch(array):
        raise NoKernel("rank_quantile: no kernel for batches")
    if not array.length:
        empty = cast_argument(call, Datum(rows.from_(call, array, 0, 0), "l"), "g", False).array
        assert empty is not None
        return empty
    groups = Groups(call, keys_of(call, array, options.sort_keys, options.null_placement), False)
    twice = groups.in_rows_order(take_array(call, rows.add(call, groups.positions, groups.ends), groups.group, False))
    halves = cast_argument(call, Datum(twice, "l"), "g", False)
    return _divide(call, halves, Datum(value=2.0 * array.length, format="g"))
