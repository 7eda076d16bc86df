"""Which rows differ: unique, value_counts, dictionary_encode, count_distinct, rank.

The rows are sorted, equal ones lie together then, and each group is put where its first row is.
"""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ..._runtime.ext import _native
from ...interop.asarray import asarray
from ...interop.concat import concat
from ...schema import Schema
from ..dispatch.datum import Datum, lone
from ..dispatch.types import format_of
from ..errors import NoKernel
from . import row_numbers as rows
from .elementwise import Map, schema_of
from .selection.take import filter_array, is_batch, is_valid, row_numbers, take_array, with_bitmap, with_schema
from .sort import keys_of, plain_layout, rows_of, sorted_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call
    from .sort import Key

_cast_index = Map("cast", "i64 i32", "cast_i64", "l", "i")


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
        self.positions = filter_array(call, row_numbers(call, self.indices), begins, False)

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


def _column(call: Call, values: Datum) -> DeviceArray:
    array = rows_of(call, values)
    if is_batch(array):
        raise NoKernel(f"{call.function.name}: no kernel for batches")
    return array


def unique(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of unique."""
    array = _column(call, values)
    if not array.length:
        return array
    first = Groups(call, [(array, False, False)], True).first_rows()
    return take_array(call, array, take_array(call, first, order_of(call, first), False), False)


def value_counts(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of value_counts: a struct of values and counts."""
    array = _column(call, values)
    counts = _native.compute_rows(array, 0, 0, call.stream, call.owner)
    found = array
    if array.length:
        groups = Groups(call, [(array, False, False)], True)
        first = groups.first_rows()
        order = order_of(call, first)
        found = take_array(call, array, take_array(call, first, order, False), False)
        counts = take_array(call, rows.subtract(call, groups.ends, groups.positions), order, False)
    schema = Schema.make("+s", children=[array._schema.with_name("values"), Schema.make("l", "counts")])
    return assemble(schema, found.length, [None], [found, counts], null_count=0, near=counts)


def dictionary_encode(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of dictionary_encode: indices of 32 bits."""
    options: Any = call.options
    array = _column(call, values)
    if array._schema.dictionary is not None:
        return array
    schema = Schema.make("i", dictionary=array._schema)
    if not array.length:
        indices = asarray([], schema=schema_of("i")).to(array.device)
        return assemble(schema, 0, [None, (indices, 1)], dictionary=array, null_count=0)
    groups = Groups(call, [(array, False, False)], True)
    first, known = groups.first_rows(), None
    if options.null_encoding == "mask" and _is_null(call, array, first[-1:]):
        first = first[:-1]  # nulls are the last group, and have no value
        known = is_valid(call, Datum(plain_layout(call, array), format_of(array)))
    order = order_of(call, first)
    codes = take_array(call, order_of(call, order), groups.group, False)
    indices = _cast_index(call, Datum(groups.in_rows_order(codes), "l"))
    found = take_array(call, array, take_array(call, first, order, False), False)
    if known is not None:
        indices = with_bitmap(indices, known)
    bitmap = None if known is None else (indices, 0)
    return assemble(
        schema, array.length, [bitmap, (indices, 1)], dictionary=found, null_count=-1 if known is not None else 0
    )


def _is_null(call: Call, array: DeviceArray, row: DeviceArray) -> bool:
    """Is the one row with this number null?  Blocks."""
    return take_array(call, array, row, False).to("cpu").to_pylist()[0] is None


def count_distinct(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of count_distinct.  Blocks."""
    options: Any = call.options
    array, n = _column(call, values), 0
    if array.length:
        groups = Groups(call, [(array, False, False)], True)
        null = _is_null(call, array, groups.first_rows()[-1:])
        n = {"only_valid": groups.positions.length - null, "only_null": int(null)}.get(
            options.mode, groups.positions.length
        )
    made = lone(call, Datum(value=n, format="l")).array
    assert made is not None
    return made


def rank(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of rank: from 1 on, as uint64."""
    options: Any = call.options
    array = rows_of(call, values)
    if not array.length:
        return with_schema(row_numbers(call, array), schema_of("L"))
    groups = Groups(call, keys_of(call, array, options.sort_keys, options.null_placement), False)
    if options.tiebreaker == "first":
        ranks = rows.add(call, order_of(call, groups.indices), 1)
    elif options.tiebreaker == "dense":
        ranks = groups.in_rows_order(groups.offsets[1:])
    elif options.tiebreaker == "max":
        ranks = groups.in_rows_order(take_array(call, groups.ends, groups.group, False))
    else:
        least = take_array(call, groups.positions, groups.group, False)
        ranks = groups.in_rows_order(rows.add(call, least, 1))
    return with_schema(ranks, schema_of("L"))
