"""Rows in the place of others: fill_null_forward, fill_null_backward, replace_with_mask; and indices_nonzero."""

from __future__ import annotations

import decimal

from ...errors import ArgumentError
from ..dispatch.datum import Datum, lone
from ..dispatch.types import decimal_of
from . import row_numbers as rows
from .cast.dictionary import known_rows, may_be_null
from .elementwise import schema_of
from .running import OPERATIONS, running
from .selection.take import both, chosen_rows, is_valid, take_array, with_bitmap, with_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..._types import DeviceArray
    from ..dispatch.call import Call


def array_of(call: Call, values: Datum) -> DeviceArray:
    """The rows of an argument that must have some.  Raises TypeError."""
    if values.array is None or values.one:
        raise TypeError(f"{call.function.name}: expected an array")
    return values.array


def true_rows(call: Call, mask: Datum) -> DeviceArray:
    """Bits without nulls: where a mask is true, and not null."""
    known = is_valid(call, mask)
    return rows.without_nulls(both(call, mask, Datum(known, "b")))


def fill_null_forward(call: Call, values: Datum) -> DeviceArray:
    """``exec``: the last row up to each that has a value."""
    array = array_of(call, values)
    if not may_be_null(array) or not array.length:
        return array
    numbers = with_bitmap(rows.from_(call, array, 0, array.length), known_rows(call, array))
    last = rows.without_nulls(running(call, numbers, OPERATIONS.index("max"), -1, True))
    return take_array(call, array, with_bitmap(last, rows.less_equal(call, 0, last)), False)


def fill_null_backward(call: Call, values: Datum) -> DeviceArray:
    """``exec``: the next row from each on that has a value.  Blocks."""
    array = array_of(call, values)
    if not may_be_null(array) or not array.length:
        return array
    known = known_rows(call, array)
    valid = chosen_rows(call, known)
    bits = rows.as_int64(call, known)
    before = rows.subtract(call, rows.running_sum(call, bits), bits)
    there = with_bitmap(before, rows.less(call, before, valid.length))
    return take_array(call, array, take_array(call, valid, there, False), False)


class IndicesNonzero:
    """``exec`` of indices_nonzero; ``not_equal``: the function of that name."""

    __slots__ = ("not_equal",)

    def __init__(self, not_equal: Callable[[Call, Datum, Datum], DeviceArray]) -> None:
        self.not_equal = not_equal

    def __call__(self, call: Call, values: Datum) -> DeviceArray:
        array = array_of(call, values)
        mask, format = array, values.format or "n"
        if format.startswith("d:"):
            mask = self.not_equal(call, values, lone(call, Datum(value=decimal.Decimal(0), format=format)))  # type: ignore[arg-type]
        elif format != "b":
            mask = self.not_equal(call, values, Datum(value=0, format=format))
        found = chosen_rows(call, mask)
        return with_schema(found, schema_of("L"))


class ReplaceWithMask:
    """``exec`` of replace_with_mask; ``if_else``: the function of that name."""

    __slots__ = ("if_else",)

    def __init__(self, if_else: Callable[[Call, Datum, Datum, Datum], DeviceArray]) -> None:
        self.if_else = if_else

    def __call__(self, call: Call, values: Datum, mask: Datum, replacements: Datum) -> DeviceArray:
        array = array_of(call, values)
        d = decimal_of(values.format or "")
        if d is not None and d[2] < 128 and values.format == replacements.format:  # if_else would widen them
            numbers = schema_of("i" if d[2] == 32 else "l")
            stored = [
                x if x.array is None else Datum(with_schema(x.array, numbers), numbers.format, one=x.one)
                for x in (values, replacements)
            ]
            return with_schema(self(call, stored[0], mask, stored[1]), array._schema)
        several = replacements.array is not None and not replacements.one
        if mask.array is None or mask.one:
            chosen = mask.value if mask.array is None else mask.array.to("cpu").to_pylist()[0]
            if chosen is False or not array.length:
                return array
            if chosen and several:
                _require_length(array.length, replacements)
                assert replacements.array is not None
                return replacements.array[: array.length]  # type: ignore[no-any-return]
            every = rows.from_(call, array, 0, array.length)
            bits = rows.less_equal(call, 0, every)
            mask = Datum(bits if chosen else with_bitmap(bits, rows.less(call, every, 0)), "b")
            return self.if_else(call, mask, replacements if chosen else values, values)
        if mask.array.length != array.length:
            raise ArgumentError(f"replace_with_mask: a mask of {mask.array.length} rows for {array.length} values")
        if not several:
            return self.if_else(call, mask, replacements, values)
        return self._by_order(call, values, mask, replacements) if array.length else array

    def _by_order(self, call: Call, values: Datum, mask: Datum, replacements: Datum) -> DeviceArray:
        """The next replacement for each row whose mask is true.  Blocks."""
        assert mask.array is not None and replacements.array is not None
        chosen = true_rows(call, mask)
        ends = rows.running_sum(call, rows.as_int64(call, chosen))
        _require_length(rows.number_at(ends, ends.length - 1), replacements)
        if not replacements.array.length:  # no mask is true
            return self.if_else(call, mask, values, values)
        next_ones = with_bitmap(rows.subtract(call, ends, 1), chosen)
        found = take_array(call, replacements.array, next_ones, False)
        return self.if_else(call, mask, Datum(found, replacements.format), values)


def _require_length(n: int, replacements: Datum) -> None:
    assert replacements.array is not None
    if replacements.array.length < n:
        raise ArgumentError(
            f"replace_with_mask: {replacements.array.length} replacements for {n} rows: there must be one for each"
        )
