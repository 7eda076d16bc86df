"""Functions that choose rows: filter, take, drop_null, and if_else of what has several sizes."""

from __future__ import annotations

import errno

from ....errors import ArgumentError
from ....interop.concat import concat
from ...dispatch.datum import Datum, lone
from ...dispatch.types import NUMBERS, words_of
from ...errors import IndexOutOfBounds, NoKernel
from ..cast.dictionary import known_rows, may_be_null
from ..cast.numeric import cast_argument
from ..elementwise import WORD, Map
from .take import both, filter_array, is_batch, numbered, row_numbers, take_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...._types import DeviceArray
    from ...dispatch.call import Call


def filter_rows(call: Call, values: Datum, mask: Datum) -> DeviceArray:
    """``exec`` of filter."""
    options: Any = call.options
    if values.array is None or values.one or mask.array is None or mask.one:
        raise TypeError("filter: expected an array or a batch, and a mask")
    if mask.array.length != values.array.length:
        raise ValueError(
            f"filter: a mask of {mask.array.length} rows for {values.array.length}; arrays must have the same length"
        )
    return filter_array(call, values.array, mask.array, options.null_selection_behavior == "emit_null")


def drop_null(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of drop_null: of a batch the rows without any null."""
    array = values.array
    if array is None or values.one:
        raise TypeError("drop_null: expected an array or a batch")
    columns = array.children if is_batch(array) else [array]
    masks = [known_rows(call, c) for c in columns if may_be_null(c)]
    if not masks:
        return array
    mask = masks[0]
    for other in masks[1:]:
        mask = both(call, Datum(mask, "b"), Datum(other, "b"))
    return filter_array(call, array, mask, False)


def take_rows(call: Call, values: Datum, indices: Datum) -> DeviceArray:
    """``exec`` of take."""
    options: Any = call.options
    if values.array is None or values.one:
        raise TypeError("take: expected an array or a batch, and indices")
    if indices.format is None or indices.format not in NUMBERS or indices.format in "fg":
        raise NoKernel(f"take: indices must be integers, not {words_of(indices.format or 'n')}")
    if indices.array is None:
        indices = lone(call, indices)
    rows = cast_argument(call, indices, "l", True).array
    assert rows is not None
    try:
        return take_array(call, values.array, rows, options.boundscheck)
    except ArgumentError as e:
        if e.code == errno.ERANGE:
            raise IndexOutOfBounds(str(e)) from None
        raise


_first = Map("boolean", "bits", "first", "bbb", "b", unit=WORD, function_name="if_else")
_add = Map("arith", "i64", "add", "ll", "l")


def choose_any(call: Call, condition: Datum, a: Datum, b: Datum) -> DeviceArray:
    """``exec`` of if_else for values of several sizes: one behind the other, then taken by number.

    Blocks where the selected rows have offsets.
    """
    name = call.function.name
    if condition.array is None or a.array is None or b.array is None or condition.one:
        raise NoKernel(f"{name}: no kernel for one null, or one condition, for all rows of {words_of(a.format or 'n')}")
    n = condition.array.length
    for x in (a, b):
        if x.array is not None and not x.one and x.array.length != n:
            raise ValueError(f"{name}: arguments of {n} and {x.array.length} rows; arrays must have the same length")
    rows = Datum(row_numbers(call, condition.array), "l")
    first = Datum(value=0, format="l") if a.one else rows
    base = Datum(value=a.array.length, format="l")
    second = base if b.one else Datum(_add(call, rows, base), "l")
    indices = numbered(call, condition, first, second)
    parts = [a.array, b.array]
    if a.array.device_type_id != b.array.device_type_id:
        _first(call, Datum(value=False, format="b"), a, b)  # an error, unless the CPU reads both
        parts = [x.to("cpu") for x in parts]
    return take_array(call, concat(parts, stream=call.owner if call.owner is not None else None), indices, False)


def fill_any(call: Call, a: Datum, b: Datum) -> DeviceArray:
    """``exec`` of fill_null for values of several sizes.  Waits where the first argument is one row for all."""
    if a.array is None:
        raise NoKernel(f"fill_null: no kernel for one null of {words_of(a.format or 'n')}")
    known = known_rows(call, a.array)
    if not a.one:
        return choose_any(call, Datum(known, "b"), a, b)
    if b.array is None or b.one:
        return choose_any(call, Datum(known, "b"), Datum(a.array, a.format), Datum(b.array, b.format))
    if not known.to("cpu").to_pylist()[0]:
        return b.array
    zeros = _times(call, Datum(row_numbers(call, b.array), "l"), Datum(value=0, format="l"))
    return take_array(call, a.array, zeros, False)


_times = Map("arith", "i64", "multiply", "ll", "l", function_name="fill_null")
