"""The rows of each group: numbered as the groups' first rows are, and one after the other.

Rows are sorted by their keys; the rows of a group are then the places ``begins`` to ``ends`` of ``order``, in the order
that they had.
"""

from __future__ import annotations

from ..._runtime.ext import _native
from . import row_numbers as rows
from .aggregate import count_valid
from .cast.dictionary import known_rows, may_be_null
from .distinct import Groups, order_of
from .elementwise import schema_of
from .selection.take import row_numbers, take_array, with_bitmap, with_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

SUM, PRODUCT, MIN, MAX = range(4)  # enum cdv_segment_operation
_PIECE = 4096  # rows that one work item goes through


class GroupRows:
    """The groups of at least one row that are equal in all columns; null is equal to null, NaN to NaN.

    ``n`` rows in ``count`` groups; ``order``: the rows, group by group (int64); ``begins``, ``ends``, ``lengths``: of
    each group in it (int64); ``first``: its first row (int64).
    """

    __slots__ = ("_group_of", "_pieces", "begins", "call", "count", "ends", "first", "lengths", "n", "order")

    def __init__(self, call: Call, columns: Sequence[DeviceArray]) -> None:
        self.call, self.n = call, columns[0].length
        self._group_of: DeviceArray | None = None
        self._pieces: tuple[DeviceArray, ...] | None = None
        keys = [(c, False, False) for c in columns if c._format != "n"]
        if not keys:  # nulls alone are one group
            self.order = row_numbers(call, columns[0])
            self._set(rows.from_(call, self.order, 0, 1), rows.from_(call, self.order, self.n, 1))
            return
        groups = Groups(call, keys, True)
        self.order = with_schema(groups.indices, schema_of("l"))
        turn = order_of(call, groups.first_rows())
        self._set(*(take_array(call, x, turn, False) for x in (groups.positions, groups.ends)))
        if groups.positions.length < self.n:
            by_place = take_array(call, order_of(call, turn), groups.group, False)
            self._group_of = take_array(call, by_place, order_of(call, self.order), False)

    def _set(self, begins: DeviceArray, ends: DeviceArray) -> None:
        self.begins, self.ends, self.count = begins, ends, begins.length
        self.lengths = rows.subtract(self.call, ends, begins)
        self.first = take_array(self.call, self.order, begins, False)

    @property
    def group_of(self) -> DeviceArray:
        """The number of the group of each row (int64)."""
        if self._group_of is None:  # a group for all rows, or one for each
            numbers = row_numbers(self.call, self.order)
            self._group_of = numbers if self.count == self.n else rows.multiply(self.call, numbers, 0)
        return self._group_of

    @property
    def places(self) -> DeviceArray:
        """The rows, group by group in the order of the groups' numbers."""
        parents, k = rows.expanded(self.call, self.lengths)
        return take_array(
            self.call, self.order, rows.add(self.call, take_array(self.call, self.begins, parents, False), k), False
        )

    def fold(self, values: DeviceArray, operation: int) -> DeviceArray:
        """A row for each group: the sum, product, minimum or maximum of its valid rows (int64, uint64, float64,
        decimal128).  Of none 0, 1, and any number."""
        if self._pieces is None:
            self._pieces = self._cut()
        begins, ends, *groups = self._pieces
        out = self._segments(values, self.order, begins, ends, operation)
        return self._segments(out, None, groups[0], groups[1], operation) if groups else out

    def _segments(
        self, values: DeviceArray, order: Any, begins: DeviceArray, ends: DeviceArray, op: int
    ) -> DeviceArray:
        call = self.call
        name = call.function.name
        made = _native.compute_segments(values, order, begins, ends, op, name, call.stream, call.owner)
        assert made is not NotImplemented
        return made  # type: ignore[no-any-return]

    def _cut(self) -> tuple[DeviceArray, ...]:
        """Where pieces of a few rows begin and end; and the first and last piece of each group, if one has several."""
        call = self.call
        if self.n <= _PIECE or self.count == self.n:
            return self.begins, self.ends
        pieces = rows.divide(call, rows.add(call, self.lengths, _PIECE - 1), _PIECE)
        parents, k = rows.expanded(call, pieces)
        if parents.length == self.count:
            return self.begins, self.ends
        begins = rows.add(call, take_array(call, self.begins, parents, False), rows.multiply(call, k, _PIECE))
        behind, last = rows.add(call, begins, _PIECE), take_array(call, self.ends, parents, False)
        ends = rows.choose(call, rows.less(call, behind, last), behind, last)
        ends_of_groups = rows.running_sum(call, pieces)
        return begins, ends, rows.subtract(call, ends_of_groups, pieces), ends_of_groups

    def valid(self, values: DeviceArray) -> DeviceArray:
        """How many rows of each group are not null (int64)."""
        if not may_be_null(values):
            return self.lengths
        known = known_rows(self.call, values)
        return self.fold(rows.as_int64(self.call, known), SUM)

    def end_rows(self, values: DeviceArray, last: bool) -> DeviceArray:
        """The first or the last row of each group that is not null; null where there is none.  May block."""
        call = self.call
        numbers = row_numbers(call, values)
        if not may_be_null(values):
            return self.fold(numbers, MAX if last else MIN)
        found = self.fold(with_bitmap(numbers, known_rows(call, values)), MAX if last else MIN)
        return with_bitmap(found, rows.less(call, 0, self.valid(values)))


def all_valid(call: Call, array: DeviceArray) -> bool:
    """Is no row null?  May block."""
    return count_valid(call, array) == array.length
