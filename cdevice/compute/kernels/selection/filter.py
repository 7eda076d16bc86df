"""Functions that select rows: filter, take and drop_null."""

from __future__ import annotations

import errno

from ....errors import ArgumentError
from ...dispatch.datum import Datum, lone
from ...dispatch.types import NUMBERS, words_of
from ...errors import IndexOutOfBounds, NoKernel
from ..cast.dictionary import known_rows, may_be_null
from ..cast.numeric import cast_argument
from .take import both, filter_array, is_batch, take_array

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
    if indices.format == "n" and indices.array is not None and not indices.array.length:  # an empty list
        return values.array._slice(0, 0)
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
