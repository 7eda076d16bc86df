"""The order of rows: sort_indices and the functions that use it.

All are one radix sort of row numbers on the arguments' device (core/compute/sort.c).
"""

from __future__ import annotations

import errno

from ..._arrays.record_batch import as_batch
from ..._runtime.ext import _native
from ...errors import ArgumentError, Unsupported
from ..dispatch.datum import Datum
from ..dispatch.deferred import Deferred
from ..dispatch.types import VIEWS, format_of, width_of, words_of
from ..errors import NoKernel
from . import row_numbers as rows
from .cast.binary import to_offsets_layout
from .cast.dictionary import dictionary_decode, may_be_null
from .elementwise import PACK, Map, schema_of
from .selection.take import chosen_rows, is_batch, row_numbers, take_array, with_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

    Key = tuple[DeviceArray, bool, bool]  # column, descending, nulls first

TILE_ROWS = 4096  # of compute_sort_least: REDUCE_TILE_ROWS
_TILES_FOR_EACH = 2  # as many for each row that is wanted, or all rows are sorted
_NONE = (1 << 64) - 1
_less_equal = Map("compare", "u64", "less_equal", "LL", "b", unit=PACK, function_name="select_k_unstable")


def plain_layout(call: Call, column: DeviceArray) -> DeviceArray:
    """A column in a layout that kernels have an order for: dictionaries by value, views with offsets."""
    column_format = format_of(column)
    decoded = dictionary_decode(call, Datum(column, column_format)).array
    assert decoded is not None
    if decoded._format in VIEWS:
        return to_offsets_layout(call, decoded, "U" if decoded._format == "vu" else "Z")
    return decoded


def _indices(call: Call, keys: Sequence[Key]) -> DeviceArray:
    """The numbers of the rows as uint64, in the order of the keys."""
    made = []
    for column, descending, nulls_first in keys:
        plain = plain_layout(call, column)
        if plain._format != "n":  # one value has no order
            made.append((plain, descending, nulls_first, False))
    if not made:
        return with_schema(row_numbers(call, keys[0][0]), schema_of("L"))
    return sorted_rows(call, made, [k[0] for k in keys])


def sorted_rows(
    call: Call, keys: list[tuple[DeviceArray, bool, bool, bool]], columns: Sequence[DeviceArray]
) -> DeviceArray:
    """The same of keys in a plain layout, with ``distinct`` as the fourth; ``columns``: what they were made of."""
    name = call.function.name
    try:
        out = _native.compute_sort_indices(keys, name, call.stream, call.owner)
    except Unsupported as e:
        raise NoKernel(str(e)) from None
    except ArgumentError as e:
        raise NoKernel(str(e)) if e.code == errno.EFBIG else e from None
    if out is NotImplemented:
        raise NoKernel(f"{name}: no order for {', '.join(words_of(format_of(c)) for c in columns)}")
    return out  # type: ignore[no-any-return]


def rows_of(call: Call, values: Datum) -> DeviceArray:
    if values.array is None or values.one:
        raise TypeError(f"{call.function.name}: expected an array or a batch")
    return values.array


def keys_of(call: Call, array: DeviceArray, sort_keys: Any, null_placement: str | None) -> list[Key]:
    """The columns of a batch by sort keys; of an array it alone, by the first."""
    keys = [(name, order, (placement or null_placement or "at_end")) for name, order, placement in sort_keys]
    if keys and (isinstance(keys[0][0], Deferred) or keys[0][0] != ""):  # the name of a column
        array = as_batch(array)
    if not is_batch(array):
        _, order, placement = keys[0] if keys else ("", "ascending", null_placement or "at_end")
        return [(array, order == "descending", placement == "at_start")]
    if not keys:
        raise ArgumentError(f"{call.function.name}: a batch needs sort_keys, (name, order) for each key")
    return [
        (_key_column(call, array, name), order == "descending", placement == "at_start")
        for name, order, placement in keys
    ]


def _key_column(call: Call, batch: DeviceArray, name: Any) -> DeviceArray:
    """A column, or the values of an expression."""
    return name.evaluate(batch, stream=call.owner) if isinstance(name, Deferred) else batch.field(name)


def array_sort_indices(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of array_sort_indices."""
    options: Any = call.options
    array = rows_of(call, values)
    if is_batch(array):
        raise NoKernel("array_sort_indices: no kernel for batches; sort_indices takes sort_keys")
    return _indices(call, [(array, options.order == "descending", options.null_placement == "at_start")])


def sort_indices(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of sort_indices."""
    options: Any = call.options
    array = rows_of(call, values)
    return _indices(call, keys_of(call, array, options.sort_keys, options.null_placement))


def sort_by(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of sort_by."""
    array = rows_of(call, values)
    order = sort_indices(call, values)
    return take_array(call, array, with_schema(order, schema_of("l")), False)


def select_k_unstable(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of select_k_unstable: the first rows of a stable order."""
    options: Any = call.options
    array, k = rows_of(call, values), options.k
    keys = keys_of(call, array, options.sort_keys, None)
    near = _near(call, keys, k) if 0 < k <= array.length // (TILE_ROWS * _TILES_FOR_EACH) else None
    if near is None:
        head: DeviceArray = _indices(call, keys)[:k]
        return head
    some = [(take_array(call, column, near, False), down, first) for column, down, first in keys]
    first_ones = with_schema(_indices(call, some)[:k], schema_of("l"))
    return with_schema(take_array(call, near, first_ones, False), schema_of("L"))


def _in_order(call: Call, numbers: DeviceArray) -> DeviceArray:
    return sorted_rows(call, [(numbers, False, False, False)], [numbers])


def _near(call: Call, keys: Sequence[Key], k: int) -> DeviceArray | None:
    """The numbers of the rows of all tiles that may have one of the first k rows, in their order: the k tiles that
    begin first have k rows that no row of another tile precedes.  Where other tiles begin equally, they may have rows
    that a further key, or the lower bits of a wide one, puts first.  None: those are many, or there is no kernel.
    Blocks."""
    column, descending, nulls_first = keys[0]
    plain, n = plain_layout(call, column), column.length
    if nulls_first and may_be_null(plain):
        return None
    least = _native.compute_sort_least(
        [(plain, descending, nulls_first, False)], call.function.name, call.stream, call.owner
    )
    if least is NotImplemented:
        return None
    order = with_schema(sorted_rows(call, [(least, False, False, False)], [least]), schema_of("l"))
    limit = take_array(call, least, order[k - 1 : k], False)
    if rows.number_at(limit, 0) == _NONE:
        return None
    if len(keys) == 1 and width_of(plain._format) not in (None, "w128"):
        tiles = take_array(call, order, with_schema(_in_order(call, order[:k]), schema_of("l")), False)
    else:
        inside = _less_equal(call, Datum(least, "L"), Datum(limit, "L", one=True))
        tiles = chosen_rows(call, inside)
    if tiles.length * TILE_ROWS * 2 > n:
        return None
    every = rows.from_(call, least, 0, tiles.length * TILE_ROWS)
    number = rows.divide(call, every, TILE_ROWS)
    ahead = rows.multiply(call, rows.subtract(call, take_array(call, tiles, number, False), number), TILE_ROWS)
    found = rows.add(call, every, ahead)
    beyond = max((rows.number_at(tiles, tiles.length - 1) + 1) * TILE_ROWS - n, 0)
    inside_rows: DeviceArray = found[: found.length - beyond]
    return inside_rows


def partition_nth_indices(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of partition_nth_indices: a whole order is a partition at every row."""
    options: Any = call.options
    array = rows_of(call, values)
    if is_batch(array):
        raise NoKernel("partition_nth_indices: no kernel for batches")
    if options.pivot > array.length:
        raise ArgumentError(f"partition_nth_indices: pivot {options.pivot} is beyond the {array.length} rows")
    return _indices(call, [(array, False, options.null_placement == "at_start")])
