"""The groups of equal rows, and what aggregates need to know of them."""

from __future__ import annotations

from . import row_numbers as rows
from .aggregate import count_valid
from .cast.dictionary import known_rows, may_be_null
from .group_ids import BITS, COUNT, MAX, MIN, Numbered, group_ids, row_ids
from .selection.take import row_numbers, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import DeviceArray
    from ..dispatch.call import Call


class GroupRows(Numbered):
    """The groups of at least one row that are equal in all columns; null is equal to null.

    ``first``: the first row of each group (int64), in whose order the groups are; ``n``: rows.
    """

    __slots__ = ("_group_of", "first", "n")

    def __init__(self, call: Call, columns: Sequence[DeviceArray], floats: int = BITS) -> None:
        ids, self.first = group_ids(call, columns, floats)
        super().__init__(call, ids, self.first.length)
        self.n = columns[0].length
        self._group_of: DeviceArray | None = None

    @property
    def group_of(self) -> DeviceArray:
        """The number of the group of each row (int64), which rows are taken by."""
        if self._group_of is None:
            self._group_of = row_ids(self.call, self.ids)
        return self._group_of

    def valid(self, values: DeviceArray) -> DeviceArray:
        """How many rows of each group are not null (int64)."""
        if not may_be_null(values):
            return self.lengths
        return self.accumulate(with_bitmap(self.ids, known_rows(self.call, values)), COUNT)

    def end_rows(self, values: DeviceArray, last: bool) -> DeviceArray:
        """The first or the last row of each group that is not null; null where there is none.  May block."""
        call = self.call
        numbers = row_numbers(call, values)
        if not may_be_null(values):
            return self.accumulate(numbers, MAX) if last else self.first
        found = self.accumulate(with_bitmap(numbers, known_rows(call, values)), MAX if last else MIN)
        return with_bitmap(found, rows.less(call, 0, self.valid(values)))


def all_valid(call: Call, array: DeviceArray) -> bool:
    """Is no row null?  May block."""
    return count_valid(call, array) == array.length
