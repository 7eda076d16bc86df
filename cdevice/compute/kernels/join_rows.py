"""Which rows of two sides have equal keys.

The rows of both sides are numbered together, those of the right side first: equal keys have one number, and where no
right key is there twice, the first row of a number is the match.  Else the right side's rows are put in the order of
their numbers.
"""

from __future__ import annotations

from ...errors import ArgumentError
from ...interop.concat import concat
from ..dispatch.call import of_one_type
from ..dispatch.datum import Datum
from ..dispatch.types import format_of
from . import row_numbers as rows
from .aggregate import count_valid
from .cast.dictionary import known_rows, may_be_null
from .group_ids import BITS, Numbered, group_ids, row_ids
from .selection.take import both, filter_array, is_valid, take_array, with_bitmap

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
    """The matches of ``n_left`` rows and ``n_right`` rows, at least one of them, by key columns of both.

    ``all_left``: the left rows of the result are all of the left side, in their order."""

    __slots__ = ("_call", "_first", "_known", "_left", "_of_left", "_right", "_unique", "all_left", "n_left", "n_right")

    def __init__(self, call: Call, keys: Sequence[DeviceArray], n_right: int) -> None:
        n = keys[0].length
        self._call, self.n_left, self.n_right, self.all_left = call, n - n_right, n_right, False
        ids, self._first = group_ids(call, keys, BITS)
        count = self._first.length
        self._right, self._left = Numbered(call, ids[:n_right], count), Numbered(call, ids[n_right:], count)
        self._known = self._known_groups(keys)
        # each right row is the first of its group
        self._unique = not n_right or (count >= n_right and rows.number_at(self._first, n_right - 1) == n_right - 1)
        self._of_left: DeviceArray | None = None

    def _known_groups(self, keys: Sequence[DeviceArray]) -> DeviceArray | None:
        """Which groups have no null key; None: all."""
        call = self._call
        found: DeviceArray | None = None
        for key in keys:
            if key._format == "n" or may_be_null(key):
                bits = known_rows(call, take_array(call, key, self._first, False))
                found = bits if found is None else both(call, Datum(found, "b"), Datum(bits, "b"))
        return None if found is None else rows.without_nulls(found)

    def _matches(self, one: Numbered, other: Numbered) -> DeviceArray:
        """For each row of one side how many rows of the other match it."""
        call, counts = self._call, other.lengths
        if self._known is not None:
            counts = rows.choose(call, self._known, counts, 0)
        return take_array(call, counts, row_ids(call, one.ids), False)

    @property
    def of_left(self) -> DeviceArray:
        """How many right rows match each left row."""
        if self._of_left is None:
            self._of_left = self._matches(self._left, self._right)
        return self._of_left

    def _single(self, keep_left: bool) -> tuple[DeviceArray, DeviceArray]:
        """The pairs where no right key is there twice: a row of both sides is the right row of its group."""
        call = self._call
        there = rows.less(call, self._first, self.n_right)
        if self._known is not None:
            there = rows.without_nulls(both(call, Datum(there, "b"), Datum(self._known, "b")))
        right = take_array(call, with_bitmap(self._first, there), row_ids(call, self._left.ids), False)
        left = rows.from_(call, right, 0, self.n_left)
        self.all_left = keep_left or count_valid(call, right) == self.n_left
        if self.all_left:
            return left, right if keep_left else rows.without_nulls(right)
        found = is_valid(call, Datum(right, "l"))
        return filter_array(call, left, found, False), rows.without_nulls(filter_array(call, right, found, False))

    def pairs(self, keep_left: bool) -> tuple[DeviceArray, DeviceArray]:
        """The rows of both sides that match, in the order of the left side's, then of the right side's.  ``keep_left``:
        a left row without a match has null."""
        if self._unique:
            return self._single(keep_left)
        call, counts = self._call, self.of_left
        matched = rows.less(call, 0, counts)
        left, k = rows.expanded(call, rows.choose(call, matched, counts, 1) if keep_left else counts)
        group = take_array(call, row_ids(call, self._left.ids), left, False)
        place = rows.add(call, take_array(call, self._right.begins, group, False), k)
        if not keep_left:
            return left, take_array(call, self._right.order, place, False)
        found = rows.less(call, 0, take_array(call, counts, left, False))
        right = take_array(call, self._right.order, rows.choose(call, found, place, 0), False)
        return left, rows.null_unless(call, right, found)

    def some(self, left: bool, matched: bool) -> DeviceArray:
        """The rows of a side that have a match, or have none."""
        call = self._call
        counts = self.of_left if left else self._matches(self._right, self._left)
        keep = rows.less(call, 0, counts) if matched else rows.equal(call, counts, 0)
        return filter_array(call, rows.from_(call, self._first, 0, counts.length), keep, False)

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
            self.all_left = False
            right = concat([right, alone], stream=call.owner)
        return left, right
