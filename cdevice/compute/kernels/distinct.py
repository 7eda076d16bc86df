"""Which rows differ: unique, value_counts, dictionary_encode, count_distinct, rank.

Ranks need the order of the rows; the others a number for each different value alone.
"""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ..._runtime.ext import _native
from ...interop.asarray import asarray
from ...schema import Schema
from ..dispatch.datum import Datum, lone
from ..dispatch.types import format_of
from ..errors import NoKernel
from . import row_numbers as rows
from .aggregate import count_true
from .cast.binary import offsets_of
from .cast.dictionary import known_rows, may_be_null
from .elementwise import Map, schema_of
from .group_ids import ONE_NAN, Numbered, first_rows, group_ids
from .selection.take import filter_array, is_batch, is_valid, row_numbers, take_array, with_bitmap, with_schema
from .sort import keys_of, plain_layout, rows_of
from .sorted_groups import Groups, order_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_cast_index = Map("cast", "i64 i32", "cast_i64", "l", "i")


_OFFSETS = {"u": "i", "z": "i", "U": "l", "Z": "l"}
_LONG = 16  # bytes: longer keys are hashed and compared, where pyarrow's table is faster


def _column(call: Call, values: Datum) -> DeviceArray:
    array = rows_of(call, values)
    if is_batch(array):
        raise NoKernel(f"{call.function.name}: no kernel for batches")
    if call.device_type == 1 and array._format in _OFFSETS and array.length and _others_are_asked(call):
        offsets = offsets_of(array, _OFFSETS[array._format])
        if rows.number_at(offsets, array.length) - rows.number_at(offsets, 0) > _LONG * array.length:
            raise NoKernel(f"{call.function.name}: no kernel for strings of {_LONG} bytes on average; pyarrow has one")
    return array


def _others_are_asked(call: Call) -> bool:
    return any(k.library == "pyarrow" for k in call.function.kernels)


def unique(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of unique."""
    array = _column(call, values)
    if not array.length:
        return array
    return take_array(call, array, first_rows(call, array, ONE_NAN), False)


def value_counts(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of value_counts: a struct of values and counts."""
    array = _column(call, values)
    counts = _native.compute_rows(array, 0, 0, call.stream, call.owner)
    found = array
    if array.length:
        ids, first = group_ids(call, [array], ONE_NAN)
        found = take_array(call, array, first, False)
        counts = Numbered(call, ids, first.length).lengths
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
    ids, first = group_ids(call, [array], ONE_NAN)
    if options.null_encoding == "encode" or not may_be_null(array):
        indices = with_schema(ids, schema_of("i"))
        found = take_array(call, array, first, False)
        return assemble(schema, array.length, [None, (indices, 1)], dictionary=found, null_count=0)
    known = known_rows(call, take_array(call, array, first, False))  # null has no value
    code = rows.subtract(call, rows.running_sum(call, rows.as_int64(call, known)), 1)
    indices = _cast_index(call, Datum(take_array(call, code, ids, False), "l"))
    indices = with_bitmap(indices, is_valid(call, Datum(plain_layout(call, array), format_of(array))))
    found = take_array(call, array, filter_array(call, first, known, False), False)
    return assemble(schema, array.length, [(indices, 0), (indices, 1)], dictionary=found, null_count=-1)


def count_distinct(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of count_distinct.  Blocks."""
    options: Any = call.options
    array, n = _column(call, values), 0
    if array.length:
        first = first_rows(call, array, ONE_NAN)
        n = first.length
        if options.mode != "all" and (may_be_null(array) or array._format == "n"):
            valid = count_true(call, known_rows(call, take_array(call, array, first, False)))
            n = valid if options.mode == "only_valid" else n - valid
        elif options.mode == "only_null":
            n = 0
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
