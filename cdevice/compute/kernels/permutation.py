"""Rows put where other rows tell: inverse_permutation and scatter."""

from __future__ import annotations

from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...interop.concat import concat
from ...schema import asschema
from ..dispatch.datum import Datum
from ..dispatch.types import SIGNED, words_of
from ..errors import IndexOutOfBounds, NoKernel
from . import row_numbers as rows
from .cast.numeric import cast_argument
from .elementwise import schema_of
from .fill import array_of, true_rows
from .selection.take import filter_array, is_valid, take_array, with_bitmap, with_schema
from .sort import sorted_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call


def _inverse(call: Call, indices: DeviceArray, length: int) -> DeviceArray:
    """For each number below ``length`` the last row of ``indices`` that has it; null where none has."""
    targets = rows.from_(call, indices, 0, length)
    nowhere = with_bitmap(targets, rows.less(call, targets, 0))
    if indices.null_count:
        known = is_valid(call, Datum(indices, "l"))
        valid = filter_array(call, rows.from_(call, indices, 0, indices.length), known, False)
    else:
        valid = rows.from_(call, indices, 0, indices.length)
    if not valid.length or not length:
        return nowhere
    wanted = take_array(call, indices, valid, False)
    order = with_schema(sorted_rows(call, [(wanted, False, False, False)], [wanted]), schema_of("l"))
    wanted = rows.without_nulls(take_array(call, wanted, order, False))
    least, greatest = rows.number_at(wanted, 0), rows.number_at(wanted, wanted.length - 1)
    if least < 0 or greatest >= length:
        bad = least if least < 0 else greatest
        raise IndexOutOfBounds(f"{call.function.name}: index {bad} is out of bounds: there are {length} rows")
    last = _last_of_equal(call, wanted)
    wanted, source = take_array(call, wanted, last, False), take_array(call, order, last, False)
    ends = rows.add(call, wanted, 1)
    found = _native.compute_runs(targets, ends, targets, False, call.stream, call.owner)
    inside = with_bitmap(found, rows.less(call, found, wanted.length))  # behind them all there is none
    here = rows.equal(call, take_array(call, wanted, inside, False), targets)
    row = take_array(call, take_array(call, valid, source, False), inside, False)
    return with_bitmap(rows.without_nulls(row), true_rows(call, Datum(here, "b")))


def _last_of_equal(call: Call, ordered: DeviceArray) -> DeviceArray:
    """The last row of each run of equal numbers."""
    n = ordered.length
    end = rows.from_(call, ordered, n - 1, 1)
    if n == 1:
        return end
    differ = rows.not_equal(call, ordered[:-1], ordered[1:])
    return concat([filter_array(call, rows.from_(call, ordered, 0, n - 1), differ, False), end], stream=call.owner)


def _length(call: Call, indices: DeviceArray, max_index: int) -> int:
    return indices.length if max_index < 0 else max_index + 1


def _signed(call: Call, indices: Datum) -> DeviceArray:
    array = array_of(call, indices)
    if array._format not in SIGNED or array._schema.dictionary is not None:
        raise NoKernel(f"{call.function.name}: indices must be signed integers, not {words_of(indices.format or 'n')}")
    return rows.as_int64(call, array)


def inverse_permutation(call: Call, indices: Datum) -> DeviceArray:
    """``exec``: for each number the row of ``indices`` that has it.  Blocks."""
    options: Any = call.options
    array = _signed(call, indices)
    to = indices.format or "l"
    if options.output_type is not None:
        to = asschema(options.output_type).format
        if to not in SIGNED:
            raise ArgumentError(f"inverse_permutation: output_type must be a signed integer, not {words_of(to)}")
    greatest = (1 << {"c": 7, "s": 15, "i": 31, "l": 63}[to]) - 1
    if array.length - 1 > greatest:
        raise ArgumentError(f"inverse_permutation: {words_of(to)} cannot hold the numbers of {array.length} rows")
    out = _inverse(call, array, _length(call, array, options.max_index))
    made = cast_argument(call, Datum(out, "l"), to, False).array
    assert made is not None
    return made


def scatter(call: Call, values: Datum, indices: Datum) -> DeviceArray:
    """``exec``: row i of the values as row ``indices[i]``.  Blocks."""
    options: Any = call.options
    array, where = array_of(call, values), _signed(call, indices)
    if array.length != where.length:
        raise ArgumentError(f"scatter: {array.length} values and {where.length} indices: there must be one for each")
    return take_array(call, array, _inverse(call, where, _length(call, where, options.max_index)), False)
