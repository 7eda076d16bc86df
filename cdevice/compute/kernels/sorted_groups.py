"""Groups of equal rows in the order of their values: the rows are sorted, equal ones lie together then."""

from __future__ import annotations

from ..._runtime.ext import _native
from ...interop.concat import concat
from . import row_numbers as rows
from .elementwise import schema_of
from .selection.take import chosen_rows, take_array, with_schema
from .sort import plain_layout, sorted_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import DeviceArray
    from ..dispatch.call import Call
    from .sort import Key


class Groups:
    """The groups of equal rows of an array of at least one row, in the order of the values.

    ``indices``: the rows in that order (uint64); ``offsets``: for each of them how many groups begin before it, and
    their number behind (int64); ``positions``: where each group begins in ``indices`` (int64).
    """

    __slots__ = ("call", "indices", "n", "offsets", "positions")

    def __init__(self, call: Call, keys: list[Key], distinct: bool) -> None:
        plain = [(plain_layout(call, column), down, first, distinct) for column, down, first in keys]
        self.call, self.n = call, plain[0][0].length
        self.indices = sorted_rows(call, plain, [k[0] for k in keys])
        self.offsets = _native.compute_sorted_groups(plain, self.indices, call.function.name, call.stream, call.owner)
        begins = rows.less(call, self.offsets[: self.n], self.offsets[1:])
        self.positions = chosen_rows(call, begins)

    @property
    def ends(self) -> DeviceArray:
        """Where the group behind each begins."""
        last = _native.compute_rows(self.indices, self.n, 1, self.call.stream, self.call.owner)
        return concat([self.positions[1:], last], stream=self.call.owner)

    @property
    def group(self) -> DeviceArray:
        """The number of the group of each row of ``indices``."""
        return rows.subtract(self.call, self.offsets[1:], 1)

    def first_rows(self) -> DeviceArray:
        """The first row of each group."""
        return take_array(self.call, _signed(self.indices), self.positions, False)

    def in_rows_order(self, values: DeviceArray) -> DeviceArray:
        """What belongs to the rows of ``indices``, in the order of the rows."""
        return take_array(self.call, values, order_of(self.call, self.indices), False)


def order_of(call: Call, numbers: DeviceArray) -> DeviceArray:
    """The rows in the order of integers; of a permutation its inverse."""
    return _signed(sorted_rows(call, [(numbers, False, False, False)], [numbers]))


def _signed(array: DeviceArray) -> DeviceArray:
    return with_schema(array, schema_of("l"))
