"""Rows chosen from several arguments, of any layout: one argument behind the other, then taken by number."""

from __future__ import annotations

from ....errors import ArgumentError
from ....interop.concat import concat
from ...dispatch.datum import Datum, lone
from .. import row_numbers as rows
from ..cast.dictionary import known_rows
from ..elementwise import WORD, Map
from .take import numbered, take_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...._types import DeviceArray
    from ...dispatch.call import Call

_first = Map("boolean", "bits", "first", "bbb", "b", unit=WORD, function_name="if_else")


def length_of(name: str, arguments: Sequence[Datum]) -> int | None:
    """How many rows arguments have; None: each is one value for all rows.  Raises ValueError for several lengths."""
    lengths = {a.array.length for a in arguments if a.array is not None and not a.one}
    if len(lengths) > 1:
        there = " and ".join(map(str, sorted(lengths)))
        raise ValueError(f"{name}: arguments of {there} rows; arrays must have the same length")
    return lengths.pop() if lengths else None


def on_one_device(call: Call, parts: Sequence[DeviceArray]) -> list[DeviceArray]:
    """Arrays where one of them is: memory that the CPU reads is the CPU's.  Raises ArgumentError for two devices."""
    if len({(x.device_type_id, x.device_id) for x in parts}) < 2:
        return [*parts]
    for x in parts[1:]:
        _first(call, Datum(value=False, format="b"), Datum(parts[0][:0], "b"), Datum(x[:0], "b"))
    return [x.to("cpu") for x in parts]


def choose_rows(call: Call, conditions: Sequence[Datum], values: Sequence[Datum]) -> DeviceArray:
    """Of each row the value of its first condition that is true; null where a condition before is null.

    There is one more value than conditions: for rows that none is true of.  Blocks where the rows have offsets."""
    n = length_of(call.function.name, (*conditions, *values))
    parts = [v.array for v in values if v.array is not None]
    if not parts:
        array = lone(call, values[0]).array
        assert array is not None
        parts, near = [array], next((c.array for c in conditions if c.array is not None), array)
    else:
        near = parts[0]
    base, numbers = 0, []
    for v in values:
        one = v.one or v.array is None
        number = Datum(value=None if v.array is None else base, format="l")
        if n is None:  # kernels need an array
            number = Datum(rows.nulls(call, near, 1) if v.array is None else rows.from_(call, near, base, 1), "l")
        elif not one:
            number = Datum(rows.from_(call, near, base, n), "l")
        numbers.append(number)
        base += 0 if v.array is None else v.array.length
    found = numbers[-1]
    for c, x in zip(reversed(conditions), reversed(numbers[:-1])):
        condition = Datum(c.array, "b") if n is None and c.array is not None else c
        lone_row = n is not None and all(d.array is None or d.one for d in (c, x, found))
        found = Datum(numbered(call, condition, x, found), "l", one=lone_row)
    assert found.array is not None
    parts = on_one_device(call, parts)
    try:
        whole = concat(parts, stream=call.owner)
    except ArgumentError as e:
        raise ArgumentError(f"{call.function.name}: {e}") from None
    return take_array(call, whole, found.array, False)


def choose_any(call: Call, condition: Datum, a: Datum, b: Datum) -> DeviceArray:
    """``exec`` of if_else for values of several sizes.  Blocks where the selected rows have offsets."""
    return choose_rows(call, [condition], [a, b])


def fill_any(call: Call, a: Datum, b: Datum) -> DeviceArray:
    """``exec`` of fill_null for values of several sizes.  Blocks where the selected rows have offsets."""
    return first_known(call, [a, b])


def first_known(call: Call, values: Sequence[Datum]) -> DeviceArray:
    """Of each row the first value that is not null."""
    some = [v for v in values if v.array is not None] or [lone(call, values[0])]
    conditions = [Datum(known_rows(call, v.array), "b", one=v.one) for v in some[:-1] if v.array is not None]
    last = some[-1].array
    assert last is not None
    return choose_rows(call, conditions, some) if conditions else last
