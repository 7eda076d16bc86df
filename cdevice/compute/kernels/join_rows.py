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
from .group_ids import BITS, Numbered, group_ids
from .selection.take import both, chosen_rows, filter_array, is_valid, take_array, with_bitmap, with_schema

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
    """The rows of one side that a join shows: all of them in their order, those that a mask chooses, or some by number;
    then those of ``behind``.

    ``n``: how many the side has; ``near``: an array on its device.  Numbers are made where they are asked for."""

    __slots__ = ("_behind", "_call", "_mask", "_n", "_near", "_numbers")

    def __init__(
        self,
        call: Call,
        near: DeviceArray,
        n: int,
        *,
        mask: DeviceArray | None = None,
        numbers: DeviceArray | None = None,
        behind: SideRows | None = None,
    ) -> None:
        self._call, self._near, self._n, self._mask, self._numbers = call, near, n, mask, numbers
        self._behind = behind

    def then(self, numbers: DeviceArray) -> SideRows:
        """These rows and, behind them, others by number."""
        call, near, n = self._call, self._near, self._n
        more = SideRows(call, near, n, numbers=numbers)
        return SideRows(call, near, n, mask=self._mask, numbers=self._numbers, behind=more)

    @property
    def numbers(self) -> DeviceArray:
        """int64; null where the side has no row."""
        return rows.as_int64(self._call, self._every())

    def _every(self) -> DeviceArray:
        """The numbers, as int64 or uint32."""
        call, made = self._call, self._numbers
        if made is None:
            made = chosen_rows(call, self._mask) if self._mask is not None else rows.from_(call, self._near, 0, self._n)
        if self._behind is None:
            return made
        more = rows.as_int64(call, self._behind._every())
        if made._format == "I":
            more = rows.as_uint32(call, more)
        return concat([made, more], stream=call.owner)

    def of(self, columns: list[DeviceArray]) -> list[DeviceArray]:
        """These rows of columns."""
        if self._behind is None or not columns:
            return self._of(columns)
        numbers = self._every()
        return [take_array(self._call, x, numbers, False) for x in columns]

    def merged(self, column: DeviceArray, other: SideRows, others: DeviceArray) -> DeviceArray:
        """These rows of a column; the rows behind, which this side has not, of the other side's."""
        more = [] if other._behind is None else other._behind.of([others])
        return concat([*self._of([column]), *more], stream=self._call.owner)

    def _of(self, columns: list[DeviceArray]) -> list[DeviceArray]:
        """The rows of columns, but for those behind."""
        call = self._call
        if self._mask is not None and columns:  # together: the mask is counted once
            names = [str(i) for i in range(len(columns))]
            chosen = filter_array(call, batch_of(names, columns, self._n, columns[0]), self._mask, False)
            return [chosen.field(i) for i in range(len(columns))]
        numbers = self._numbers
        return columns if numbers is None else [take_array(call, x, numbers, False) for x in columns]


class JoinRows:
    """The matches of rows, at least one, by key columns of the right and the left side."""

    __slots__ = (
        "_call",
        "_first",
        "_found_rows",
        "_known",
        "_left",
        "_right",
        "_unique",
        "n_left",
        "n_right",
    )

    def __init__(self, call: Call, keys: Sequence[tuple[DeviceArray, DeviceArray]]) -> None:
        right, left = keys[0]
        self._call, self.n_left, self.n_right = call, left.length, right.length
        self._known: DeviceArray | None = None  # which numbers have no null key; None: all
        self._found_rows: DeviceArray | None = None
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
        made = _native.compute_set_lookup(step, right, left, True, call.stream, call.owner)
        if made is NotImplemented:
            return False
        found, own = made  # the first right row of the key of each row, of the left side or null
        n = right.length
        first: int = number(reduced(call, _sum, own))
        self._unique = first == n * (n - 1) // 2  # each is the first: none has a lesser one
        self._found_rows, own = (with_schema(x, schema_of("I")) for x in (found, rows.without_nulls(own)))
        self._right, self._left = Numbered(call, own, n), Numbered(call, self._found_rows, n)
        return True

    def _number(self, keys: Sequence[DeviceArray]) -> None:
        call, n_right = self._call, self.n_right
        ids, self._first = group_ids(call, keys, BITS)
        first, count = self._first, self._first.length
        self._right, self._left = Numbered(call, ids[:n_right], count), Numbered(call, ids[n_right:], count)
        self._known = self._known_groups(keys, first)
        # each right row is the first of its group
        self._unique = not n_right or (count >= n_right and rows.number_at(first, n_right - 1) == n_right - 1)

    @property
    def _found(self) -> DeviceArray:
        """The first right row (uint32) that matches each left row, or null."""
        if self._found_rows is None:
            call, first = self._call, self._first
            assert first is not None
            first, there = rows.as_uint32(call, first), rows.less(call, first, self.n_right)
            if self._known is not None:
                there = rows.without_nulls(both(call, Datum(there, "b"), Datum(self._known, "b")))
            self._found_rows = take_array(call, with_bitmap(first, there), self._left.ids, False)
        return self._found_rows

    def _known_groups(self, keys: Sequence[DeviceArray], first: DeviceArray) -> DeviceArray | None:
        call = self._call
        found: DeviceArray | None = None
        for key in keys:
            if key._format == "n" or may_be_null(key):
                bits = known_rows(call, take_array(call, key, first, False))
                found = bits if found is None else both(call, Datum(found, "b"), Datum(bits, "b"))
        return None if found is None else rows.without_nulls(found)

    def _counts(self, of: Numbered) -> DeviceArray:
        """How many rows of a side match a row with each number."""
        return of.lengths if self._known is None else rows.choose(self._call, self._known, of.lengths, 0)

    def _single(self, keep_left: bool) -> tuple[SideRows, SideRows]:
        """The pairs where no right key is there twice."""
        call, found = self._call, self._found
        mask = None
        if not keep_left:
            if count_valid(call, found) < self.n_left:
                mask = is_valid(call, Datum(found, found._format))
                found = filter_array(call, found, mask, False)
            found = rows.without_nulls(found)
        return SideRows(call, found, self.n_left, mask=mask), self._side(found, False)

    def _side(self, numbers: DeviceArray, left: bool) -> SideRows:
        return SideRows(self._call, numbers, self.n_left if left else self.n_right, numbers=numbers)

    def pairs(self, keep_left: bool) -> tuple[SideRows, SideRows]:
        """The rows of both sides that match, in the order of the left side's, then of the right side's.  ``keep_left``:
        a left row without a match has null."""
        if self._unique:
            return self._single(keep_left)
        call, side = self._call, self._right
        order, name = rows.as_uint32(call, side.order), call.function.name
        left, right = _native.compute_match_rows(
            self._left.ids, self._counts(side), side.begins, order, keep_left, name, call.stream, call.owner
        )
        return self._side(left, True), self._side(right, False)

    def some(self, left: bool, matched: bool) -> SideRows:
        """The rows of a side that have a match, or have none."""
        call = self._call
        if left:
            found = self._found
            known = is_valid(call, Datum(found, found._format))
            keep = known if matched else rows.equal(call, rows.as_int64(call, known), 0)
        else:
            counts = take_array(call, self._counts(self._left), self._right.ids, False)
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
            left, right = left.then(rows.nulls(call, alone, alone.length)), right.then(alone)
        return left, right
