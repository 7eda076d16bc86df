"""Functions that select rows: filter, take and drop_null."""

from __future__ import annotations

import errno

from ....errors import ArgumentError
from ...dispatch.datum import Datum, lone
from ...dispatch.types import NUMBERS, words_of
from ...errors import IndexOutOfBounds, NoKernel
from ..cast.dictionary import known_rows, may_be_null
from ..cast.numeric import cast_argument
from .take import both, filter_array, is_batch, nullable, nullable_columns, take_array

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
    emit_null = options.null_selection_behavior == "emit_null"
    made = filter_array(call, values.array, mask.array, emit_null)
    return _with_nulls(made) if emit_null else made  # whether there are any or not: parts of a stream have one schema


def _with_nulls(made: DeviceArray) -> DeviceArray:
    """Chosen rows, some of which may be null although the field of the values said that none is."""
    return nullable_columns(made) if is_batch(made) else nullable(made)


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
    if indices.format == "n" and indices.array is not None and not indices.array.length:  # an empty list
        return values.array._slice(0, 0)
    if indices.format is None or indices.format not in NUMBERS or indices.format in "fg":
        raise NoKernel(f"take: indices must be integers, not {words_of(indices.format or 'n')}")
    if indices.array is None:
        indices = lone(call, indices)
    rows = cast_argument(call, indices, "l", True).array
    assert rows is not None
    try:
        made = take_array(call, values.array, rows, options.boundscheck)
        return _with_nulls(made) if rows.null_count else made
    except ArgumentError as e:
        if e.code == errno.ERANGE:
            raise IndexOutOfBounds(str(e)) from None
        raise
