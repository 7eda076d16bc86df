"""Which rows of two sides have equal keys.

The rows of both sides get numbers: equal keys have one.  One column of numbers of the left side is looked up in a
table of the right side, whose first row of a key is its number.  Else the rows of both sides are numbered together,
those of the right side first.  Where no right key is there twice, the right row of a number is the match; else the
right side's rows are put in the order of their numbers.
"""

from __future__ import annotations

from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...interop.concat import concat
from ..dispatch.call import of_one_type
from ..dispatch.datum import Datum
from ..dispatch.types import format_of
from . import row_numbers as rows
from .aggregate import count_valid, number, reduced, sums
from .cast.dictionary import known_rows, may_be_null
from .columns import batch_of
from .elementwise import schema_of
from .group_ids import BITS, Numbered, group_ids, row_ids
from .selection.take import both, filter_array, is_valid, take_array, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_sum = sums("i")
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


def keys_of_one_type(call: Call, left: DeviceArray, right: DeviceArray, name: str) -> tuple[DeviceArray, DeviceArray]:
    """A key column of the right and of the left side, of a type that has all values."""
    try:
        one = of_one_type(call, Datum(chunks=[right, left], format=format_of(left)))
    except ArgumentError as e:
        raise ArgumentError(str(e).replace("chunks of", f"key {name!r}: right and left")) from None
    assert one.chunks is not None
    first, second = one.chunks
    return first, second


class SideRows:
    """The rows of one side that a join shows: all of them in their order, those that a mask chooses, or some by number.

    ``n``: how many the side has; ``near``: an array on its device.  Numbers are made where they are asked for."""

    __slots__ = ("_call", "_mask", "_n", "_near", "_numbers")

    def __init__(
        self,
        call: Call,
        near: DeviceArray,
        n: int,
        *,
        mask: DeviceArray | None = None,
        numbers: DeviceArray | None = None,
    ) -> None:
        self._call, self._near, self._n, self._mask, self._numbers = call, near, n, mask, numbers

    @property
    def numbers(self) -> DeviceArray:
        """int64; null where the side has no row."""
        if self._numbers is None:
            every = rows.from_(self._call, self._near, 0, self._n)
            self._numbers = every if self._mask is None else filter_array(self._call, every, self._mask, False)
        return self._numbers

    def of(self, columns: list[DeviceArray]) -> list[DeviceArray]:
        """These rows of columns."""
        call = self._call
        if self._mask is not None and columns:  # together: the mask is counted once
            names = [str(i) for i in range(len(columns))]
            chosen = filter_array(call, batch_of(names, columns, self._n, columns[0]), self._mask, False)
            return [chosen.field(i) for i in range(len(columns))]
        if self._mask is None and self._numbers is None:
            return columns
        return [take_array(call, x, self.numbers, False) for x in columns]


class JoinRows:
    """The matches of rows, at least one, by key columns of the right and the left side."""

    __slots__ = (
        "_call",
        "_first",
        "_found_rows",
        "_known",
        "_left_rows",
        "_of_left",
        "_own",
        "_right_rows",
        "_unique",
        "n_left",
        "n_right",
    )

    def __init__(self, call: Call, keys: Sequence[tuple[DeviceArray, DeviceArray]]) -> None:
        right, left = keys[0]
        self._call, self.n_left, self.n_right = call, left.length, right.length
        self._of_left: DeviceArray | None = None
        self._known: DeviceArray | None = None  # which numbers have no null key; None: all
        self._left_rows: Numbered | None = None
        self._right_rows: Numbered | None = None
        self._found_rows: DeviceArray | None = None
        self._own: DeviceArray | None = None  # the first right row of each right row's key
        self._first: DeviceArray | None = None  # the first row of each number, where both sides are numbered
        if not self._look_up(keys):
            self._number([concat([x, y], stream=call.owner) for x, y in keys])

    # ---- numbers ----
    def _look_up(self, keys: Sequence[tuple[DeviceArray, DeviceArray]]) -> bool:
        """By a table of the right side, where that is possible."""
        call, (right, left) = self._call, keys[0]
        if len(keys) > 1 or not right.length or not left.length or right.null_count:
            return False
        step = call.function.name, schema_of("i"), -1, BITS
        found = _native.compute_set_lookup(step, right, left, True, call.stream, call.owner)
        if found is NotImplemented:
            return False
        self._found_rows, self._own = found  # the first right row of the key of each row, of the left side or null
        n = right.length
        first: int = number(reduced(call, _sum, self._own))
        self._unique = first == n * (n - 1) // 2  # each is the first: none has a lesser one
        return True

    def _number(self, keys: Sequence[DeviceArray]) -> None:
        call, n_right = self._call, self.n_right
        ids, self._first = group_ids(call, keys, BITS)
        first, count = self._first, self._first.length
        self._right_rows, self._left_rows = Numbered(call, ids[:n_right], count), Numbered(call, ids[n_right:], count)
        self._known = self._known_groups(keys, first)
        # each right row is the first of its group
        self._unique = not n_right or (count >= n_right and rows.number_at(first, n_right - 1) == n_right - 1)

    @property
    def _found(self) -> DeviceArray:
        """The first right row that matches each left row, or null."""
        if self._found_rows is None:
            call, first = self._call, self._first
            assert first is not None
            there = rows.less(call, first, self.n_right)
            if self._known is not None:
                there = rows.without_nulls(both(call, Datum(there, "b"), Datum(self._known, "b")))
            self._found_rows = take_array(call, with_bitmap(first, there), row_ids(call, self._left.ids), False)
        return self._found_rows

    @property
    def _right(self) -> Numbered:
        if self._right_rows is None:
            assert self._own is not None
            ids = rows.as_uint32(self._call, rows.without_nulls(self._own))
            self._right_rows = Numbered(self._call, ids, self.n_right + 1)
        return self._right_rows

    @property
    def _left(self) -> Numbered:
        if self._left_rows is None:  # rows that are not found have a number that no right row has
            call, found = self._call, self._found
            known = is_valid(call, Datum(found, found._format))
            ids = rows.choose(call, known, rows.without_nulls(rows.as_int64(call, found)), self.n_right)
            self._left_rows = Numbered(call, rows.as_uint32(call, ids), self.n_right + 1)
        return self._left_rows

    def _known_groups(self, keys: Sequence[DeviceArray], first: DeviceArray) -> DeviceArray | None:
        call = self._call
        found: DeviceArray | None = None
        for key in keys:
            if key._format == "n" or may_be_null(key):
                bits = known_rows(call, take_array(call, key, first, False))
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

    def _single(self, keep_left: bool) -> tuple[SideRows, SideRows]:
        """The pairs where no right key is there twice."""
        call, found = self._call, self._found
        mask = None
        if not keep_left:
            if count_valid(call, found) < self.n_left:
                mask = is_valid(call, Datum(found, found._format))
                found = filter_array(call, found, mask, False)
            found = rows.without_nulls(found)
        right = rows.as_int64(call, found)
        return SideRows(call, right, self.n_left, mask=mask), self._side(right, False)

    def _side(self, numbers: DeviceArray, left: bool) -> SideRows:
        return SideRows(self._call, numbers, self.n_left if left else self.n_right, numbers=numbers)

    def pairs(self, keep_left: bool) -> tuple[SideRows, SideRows]:
        """The rows of both sides that match, in the order of the left side's, then of the right side's.  ``keep_left``:
        a left row without a match has null."""
        if self._unique:
            return self._single(keep_left)
        call, counts = self._call, self.of_left
        matched = rows.less(call, 0, counts)
        lengths = rows.choose(call, matched, counts, 1) if keep_left else counts
        every, left, begins = rows.parents_of(call, lengths)
        shift = take_array(call, self._right.begins, row_ids(call, self._left.ids), False)
        shift = rows.subtract(call, rows.choose(call, matched, shift, 0), begins)  # to places from rows of the result
        place = rows.add(call, take_array(call, shift, left, False), every)
        del every, shift, begins  # their memory is used again
        right = take_array(call, self._right.order, place, False)
        if keep_left:
            right = rows.null_unless(call, right, take_array(call, matched, left, False))
        return self._side(left, True), self._side(right, False)

    def some(self, left: bool, matched: bool) -> SideRows:
        """The rows of a side that have a match, or have none."""
        call = self._call
        if left:
            found = self._found
            known = is_valid(call, Datum(found, found._format))
            keep = known if matched else rows.equal(call, rows.as_int64(call, known), 0)
        else:
            counts = self._matches(self._right, self._left)
            keep = rows.less(call, 0, counts) if matched else rows.equal(call, counts, 0)
        return SideRows(call, keep, keep.length, mask=rows.without_nulls(keep))

    def of(self, join_type: str) -> tuple[SideRows | None, SideRows | None]:
        """The rows of the left and of the right side; None for a side that the join does not show."""
        call = self._call
        side, kind = (["", *join_type.split()])[-2:]
        if kind in ("semi", "anti"):
            found = self.some(side == "left", kind == "semi")
            return (found, None) if side == "left" else (None, found)
        left, right = self.pairs(side in ("left", "full"))
        if side in ("right", "full"):
            alone = self.some(False, False).numbers
            nothing = rows.nulls(call, alone, alone.length)
            left = self._side(concat([left.numbers, nothing], stream=call.owner), True)
            right = self._side(concat([right.numbers, alone], stream=call.owner), False)
        return left, right
