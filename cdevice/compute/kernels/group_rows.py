"""The groups of equal rows, and what aggregates need to know of them."""

from __future__ import annotations

from . import row_numbers as rows
from .cast.dictionary import known_rows, may_be_null
from .group_ids import BITS, COUNT, MAX, MIN, Numbered, group_ids
from .selection.take import row_numbers, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import DeviceArray
    from ..dispatch.call import Call


class Groups(Numbered):
    """Rows whose groups are known by number; a group may have no row."""

    __slots__ = ("_first",)

    def __init__(self, call: Call, ids: DeviceArray, count: int) -> None:
        super().__init__(call, ids, count)
        self._first: DeviceArray | None = None

    @property
    def first(self) -> DeviceArray:
        """The first row of each group (int64); null where it has none."""
        if self._first is None:
            self._first = self._end(MIN)
        return self._first

    @property
    def last(self) -> DeviceArray:
        """The last row of each group (int64); null where it has none."""
        return self._end(MAX)

    def _end(self, operation: int) -> DeviceArray:
        found = self.accumulate(row_numbers(self.call, self.ids), operation)
        return with_bitmap(found, rows.less(self.call, 0, self.lengths))

    @property
    def places(self) -> DeviceArray:
        """Where each group begins among the rows, group by group (int64); any place where it has no row."""
        call = self.call
        return rows.choose(call, rows.less(call, self.begins, self.ids.length), self.begins, 0)

    def valid(self, values: DeviceArray) -> DeviceArray:
        """How many rows of each group are not null (int64)."""
        if not may_be_null(values):
            return self.lengths
        return self.accumulate(with_bitmap(whole(self.ids), known_rows(self.call, values)), COUNT)

    def end_rows(self, values: DeviceArray, last: bool) -> DeviceArray:
        """The first or the last row of each group that is not null; null where there is none.  May block."""
        call = self.call
        if not may_be_null(values):
            return self.last if last else self.first
        numbers = with_bitmap(row_numbers(call, values), known_rows(call, values))
        found = self.accumulate(numbers, MAX if last else MIN)
        return with_bitmap(found, rows.less(call, 0, self.valid(values)))


def whole(array: DeviceArray) -> DeviceArray:
    """A slice as an array of its own."""
    return array.to(array.device, copy=True) if array.offset else array


class GroupRows(Groups):
    """The groups of at least one row that are equal in all columns, numbered in the order of their first rows; null is
    equal to null.  ``floats``: which floats are equal, see ``group_ids``."""

    __slots__ = ()

    def __init__(self, call: Call, columns: Sequence[DeviceArray], floats: int = BITS) -> None:
        ids, first = group_ids(call, columns, floats)
        super().__init__(call, ids, first.length)
        self._first = first
