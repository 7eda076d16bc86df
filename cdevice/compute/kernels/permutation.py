"""Rows put where other rows tell: inverse_permutation and scatter."""

from __future__ import annotations

import errno

from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...schema import asschema
from ..dispatch.datum import Datum
from ..dispatch.types import SIGNED, words_of
from ..errors import IndexOutOfBounds, NoKernel
from . import row_numbers as rows
from .cast.numeric import cast_argument
from .fill import array_of
from .selection.take import take_array, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call


def _inverse(call: Call, indices: DeviceArray, length: int) -> DeviceArray:
    """For each number below ``length`` the last row of ``indices`` that has it; null where none has."""
    name = call.function.name
    if max(indices.length, length) >= 1 << 31:
        raise NoKernel(f"{name}: {max(indices.length, length)} rows; there are kernels for up to 2**31 - 1")
    try:
        found = _native.compute_scatter_rows(indices, length, name, call.stream, call.owner)
    except ArgumentError as e:
        raise IndexOutOfBounds(str(e)) if e.code == errno.ERANGE else e from None
    out = rows.as_int64(call, found)
    return with_bitmap(out, rows.less_equal(call, 0, out))


def _length(call: Call, indices: DeviceArray, max_index: int) -> int:
    return indices.length if max_index < 0 else max_index + 1


def _signed(call: Call, indices: Datum) -> DeviceArray:
    array = array_of(call, indices)
    if array._format not in SIGNED or array._schema.dictionary is not None:
        raise NoKernel(f"{call.function.name}: indices must be signed integers, not {words_of(indices.format or 'n')}")
    return rows.as_int64(call, array)


def inverse_permutation(call: Call, indices: Datum) -> DeviceArray:
    """``exec``: for each number the row of ``indices`` that has it.  Blocks."""
    options: Any = call.options
    array = _signed(call, indices)
    to = indices.format or "l"
    if options.output_type is not None:
        to = asschema(options.output_type).format
        if to not in SIGNED:
            raise ArgumentError(f"inverse_permutation: output_type must be a signed integer, not {words_of(to)}")
    greatest = (1 << {"c": 7, "s": 15, "i": 31, "l": 63}[to]) - 1
    if array.length - 1 > greatest:
        raise ArgumentError(f"inverse_permutation: {words_of(to)} cannot hold the numbers of {array.length} rows")
    out = _inverse(call, array, _length(call, array, options.max_index))
    made = cast_argument(call, Datum(out, "l"), to, False).array
    assert made is not None
    return made


def scatter(call: Call, values: Datum, indices: Datum) -> DeviceArray:
    """``exec``: row i of the values as row ``indices[i]``.  Blocks."""
    options: Any = call.options
    array, where = array_of(call, values), _signed(call, indices)
    if array.length != where.length:
        raise ArgumentError(f"scatter: {array.length} values and {where.length} indices: there must be one for each")
    return take_array(call, array, _inverse(call, where, _length(call, where, options.max_index)), False)
