"""Which rows of two sides have equal keys.

The rows of both sides are sorted together, those of the right side first: in each group of equal keys the right side's
rows lie before the left side's.  So a running count of the right side's rows tells where the matches of a left row
begin and how many there are.
"""

from __future__ import annotations

from ...errors import ArgumentError
from ...interop.concat import concat
from ..dispatch.call import of_one_type
from ..dispatch.datum import Datum
from ..dispatch.types import format_of
from . import row_numbers as rows
from .cast.dictionary import known_rows, may_be_null
from .distinct import Groups, order_of
from .elementwise import schema_of
from .selection.take import both, filter_array, take_array, with_bitmap, with_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import DeviceArray
    from ..dispatch.call import Call

JOIN_TYPES = (
    "left semi",
    "right semi",
    "left anti",
    "right anti",
    "inner",
    "left outer",
    "right outer",
    "full outer",
)


def joined_keys(call: Call, left: DeviceArray, right: DeviceArray, name: str) -> DeviceArray:
    """A key column of both sides, the right side's rows first, of a type that has all values."""
    try:
        one = of_one_type(call, Datum(chunks=[right, left], format=format_of(left)))
    except ArgumentError as e:
        raise ArgumentError(str(e).replace("chunks of", f"key {name!r}: right and left")) from None
    return concat(list(one.chunks or ()), stream=call.owner)


class JoinRows:
    """The matches of ``n_left`` rows and ``n_right`` rows, at least one of them, by key columns of both."""

    __slots__ = ("_begins", "_call", "_counts", "_of_left", "_of_right", "_rows", "n_left", "n_right")

    def __init__(self, call: Call, keys: Sequence[DeviceArray], n_right: int) -> None:
        n = keys[0].length
        self._call, self.n_left, self.n_right = call, n - n_right, n_right
        some = [(k, False, False) for k in keys if k._format != "n"]
        groups = Groups(call, some or [(rows.from_(call, keys[0], 0, n), False, False)], True)
        self._rows = with_schema(groups.indices, schema_of("l"))
        places = order_of(call, groups.indices)
        of_row = take_array(call, groups.group, places, False)
        is_right = rows.less(call, self._rows, n_right)
        known = self._known(keys)
        if known is not None:
            by_place = take_array(call, known, self._rows, False)
            is_right = both(call, Datum(is_right, "b"), Datum(by_place, "b"))
        right = rows.as_int64(call, rows.without_nulls(is_right))
        every = rows.add(call, rows.multiply(call, right, 0), 1) if known is None else rows.as_int64(call, by_place)
        left = rows.subtract(call, every, right)
        self._begins = take_array(call, groups.positions, of_row, False)
        self._counts = {}
        for side, numbers in (("left", left), ("right", right)):
            until = rows.running_sum(call, numbers)
            ends = take_array(call, until, rows.subtract(call, groups.ends, 1), False)
            begins = take_array(call, rows.subtract(call, until, numbers), groups.positions, False)
            self._counts[side] = take_array(call, rows.subtract(call, ends, begins), of_row, False)
        self._of_left = self._matches("right", known)
        self._of_right = self._matches("left", known)

    def _known(self, keys: Sequence[DeviceArray]) -> DeviceArray | None:
        """Which rows have no null key; None: all."""
        found: DeviceArray | None = None
        for key in keys:
            if key._format == "n" or may_be_null(key):
                bits = known_rows(self._call, key)
                found = bits if found is None else both(self._call, Datum(found, "b"), Datum(bits, "b"))
        return None if found is None else rows.without_nulls(found)

    def _matches(self, side: str, known: DeviceArray | None) -> DeviceArray:
        """For each row of the other side how many rows of this one match it."""
        counts = self._counts[side]
        if known is not None:
            counts = rows.multiply(self._call, counts, rows.as_int64(self._call, known))
        of_others: DeviceArray = counts[self.n_right :] if side == "right" else counts[: self.n_right]
        return of_others

    def pairs(self, keep_left: bool) -> tuple[DeviceArray, DeviceArray]:
        """The rows of both sides that match, in the order of the left side's, then of the right side's.  ``keep_left``:
        a left row without a match has null."""
        call = self._call
        counts = self._of_left
        if keep_left:
            counts = rows.choose(call, rows.less(call, 0, counts), counts, 1)
        left, k = rows.expanded(call, counts)
        begins = take_array(call, self._begins[self.n_right :], left, False)
        place = rows.add(call, begins, k)
        if not keep_left:
            return left, take_array(call, self._rows, place, False)
        matched = rows.less(call, 0, take_array(call, self._of_left, left, False))
        found = take_array(call, self._rows, place, False)
        return left, with_bitmap(found, matched)

    def some(self, left: bool, matched: bool) -> DeviceArray:
        """The rows of a side that have a match, or have none."""
        call, counts = self._call, self._of_left if left else self._of_right
        keep = rows.less(call, 0, counts) if matched else rows.equal(call, counts, 0)
        return filter_array(call, rows.from_(call, self._rows, 0, counts.length), keep, False)

    def of(self, join_type: str) -> tuple[DeviceArray | None, DeviceArray | None]:
        """The rows of the left and of the right side; None for a side that the join does not show."""
        call = self._call
        side, kind = (["", *join_type.split()])[-2:]
        if kind in ("semi", "anti"):
            found = self.some(side == "left", kind == "semi")
            return (found, None) if side == "left" else (None, found)
        left, right = self.pairs(side in ("left", "full"))
        if side in ("right", "full"):
            alone = self.some(False, False)
            left = concat([left, rows.nulls(call, alone, alone.length)], stream=call.owner)
            right = concat([right, alone], stream=call.owner)
        return left, right
