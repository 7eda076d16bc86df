"""Which rows are equal: the number of the group of each row, and the first row of each group.

A hash table numbers the groups in the order of their first rows (core/compute/hash_table.c). Where two keys have one
hash, the rows are sorted instead.
"""

from __future__ import annotations

from ..._runtime.ext import _native
from ..dispatch.datum import Datum
from ..dispatch.types import FLOATS, HALF, format_of, words_of
from ..errors import NoKernel
from . import row_numbers as rows
from .cast.numeric import cast_argument
from .elementwise import schema_of
from .selection.take import row_numbers, take_array, with_schema
from .sort import plain_layout
from .sorted_groups import Groups, order_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import DeviceArray
    from ..dispatch.call import Call

BITS, ONE_NAN, NORMALIZED = range(3)  # enum cdv_key_float: which floats are one value
_AS_BITS = {"e": "S", "f": "I", "g": "L"}


def group_ids(call: Call, columns: Sequence[DeviceArray], floats: int) -> tuple[DeviceArray, DeviceArray]:
    """For each row the number of its group (uint32), and the first row of each group (int64), in the order of these.

    ``columns``: at least one; null is equal to null.  Blocks.  Raises NoKernel for types that cannot be keys."""
    keys = _keys(call, columns)
    if not keys:  # nulls alone are one group
        numbers = row_numbers(call, columns[0])
        ids = _as(call, rows.multiply(call, numbers, 0), "I")
        return ids, numbers[:1]
    made = _native.compute_group_ids(keys, floats, False, call.function.name, call.stream, call.owner)
    if made is NotImplemented:
        raise _no_order(call, columns)
    return made or _by_order(call, keys, floats)


def first_rows(call: Call, column: DeviceArray, floats: int) -> DeviceArray:
    """The same of one column, without the numbers: the first row of each group (int64)."""
    keys = _keys(call, [column])
    if not keys:
        one: DeviceArray = row_numbers(call, column)[:1]
        return one
    made = _native.compute_group_ids(keys, floats, True, call.function.name, call.stream, call.owner)
    if made is NotImplemented:
        raise _no_order(call, [column])
    first: DeviceArray = _by_order(call, keys, floats)[1] if made is None else made
    return first


def _keys(call: Call, columns: Sequence[DeviceArray]) -> list[DeviceArray]:
    plain = [plain_layout(call, c) for c in columns]
    return [_as_bytes(call, c) for c in plain if c._format != "n"]


def _no_order(call: Call, columns: Sequence[DeviceArray]) -> NoKernel:
    return NoKernel(f"{call.function.name}: no order for {', '.join(words_of(format_of(c)) for c in columns)}")


def _as_bytes(call: Call, column: DeviceArray) -> DeviceArray:
    """Bits as a byte each: keys have at least that."""
    return _as(call, column, "C") if column._format == "b" else column


def _as(call: Call, array: DeviceArray, to: str) -> DeviceArray:
    made = cast_argument(call, Datum(array, format_of(array)), to, False).array
    assert made is not None
    return made


def _by_order(call: Call, keys: Sequence[DeviceArray], floats: int) -> tuple[DeviceArray, DeviceArray]:
    if floats == BITS:
        keys = [with_schema(k, schema_of(_AS_BITS[k._format])) if k._format in (*FLOATS, HALF) else k for k in keys]
    groups = Groups(call, [(k, False, False) for k in keys], floats != NORMALIZED)
    first = groups.first_rows()
    turn = order_of(call, first)
    number = take_array(call, order_of(call, turn), groups.group, False)
    return _as(call, groups.in_rows_order(number), "I"), take_array(call, first, turn, False)


COUNT, SUM, PRODUCT, MIN, MAX = range(5)  # enum cdv_accumulation


class Numbered:
    """Rows that have the numbers of ``count`` groups: ``ids`` (uint32).

    ``columns``: arrays that several aggregates may ask for; their sums and extremes are made once."""

    __slots__ = ("_begins", "_known", "_lengths", "_order", "call", "columns", "count", "ids")

    def __init__(self, call: Call, ids: DeviceArray, count: int) -> None:
        self.call, self.ids, self.count = call, ids, count
        self.columns: Sequence[DeviceArray] = ()
        self._known: dict[tuple[int, int], DeviceArray] = {}
        self._lengths: DeviceArray | None = None
        self._begins: DeviceArray | None = None
        self._order: DeviceArray | None = None

    @property
    def lengths(self) -> DeviceArray:
        """How many rows each group has (int64)."""
        if self._lengths is None:
            self._lengths = self.accumulate(self.ids, COUNT)
        return self._lengths

    @property
    def order(self) -> DeviceArray:
        """The rows, group by group (int64)."""
        if self._order is None:
            self._order = order_of(self.call, self.ids)
        return self._order

    @property
    def begins(self) -> DeviceArray:
        """Where each group begins in ``order`` (int64)."""
        if self._begins is None:
            self._begins = rows.subtract(self.call, rows.running_sum(self.call, self.lengths), self.lengths)
        return self._begins

    @property
    def ends(self) -> DeviceArray:
        """Where the group behind each begins."""
        return rows.add(self.call, self.begins, self.lengths)

    def accumulate(self, values: DeviceArray, operation: int) -> DeviceArray:
        """How many valid rows each group has, or their sum, product, minimum or maximum; of none 0, 0, 1, and any
        number.  Sums and products are int64, uint64, float64 or decimals."""
        key = id(values), operation
        if key in self._known:
            return self._known[key]
        call, ids, n, name = self.call, self.ids, self.count, self.call.function.name
        made = _native.compute_accumulate(values, ids, n, None, operation, name, call.stream, call.owner)
        if made is None:
            order = with_schema(self.order, schema_of("L")), self.begins, self.ends
            made = _native.compute_accumulate(values, ids, n, order, operation, name, call.stream, call.owner)
        assert made is not NotImplemented
        if any(x is values for x in self.columns):
            self._known[key] = made
        return made  # type: ignore[no-any-return]
