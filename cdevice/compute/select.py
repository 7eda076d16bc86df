"""Rows that are chosen: filter, take, drop_null, of whatever layout."""

from __future__ import annotations

from .._ext import _native
from ..schema import Schema
from .argument import Argument
from .casts import cast_argument
from .elementwise import NEVER, WORD, Map
from .errors import IndexOutOfBounds, NoKernel
from .types import NUMBERS, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray
    from .call import Call

_is_valid = Map("boolean", "bits", "is_valid", "", "b", unit=WORD, rule=NEVER)


def _chosen(call: Call, array: DeviceArray, choice: Any, rows: list[DeviceArray]) -> DeviceArray:
    """The rows of one array; ``rows`` keeps their numbers once they were needed."""
    if array._schema.dictionary is None:
        out: DeviceArray = _native.compute_filter(choice, array, call.stream, call.owner)
        if out is not NotImplemented:
            return out
        if array._format == "+s" and not array.null_count:
            return _batch(array, [_chosen(call, x, choice, rows) for x in array.children])
    if not rows:
        rows.append(_native.compute_filter(choice, None, call.stream, call.owner))
    return _taken(call, array, rows[0], False)


def _taken(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    schema = array._schema
    if schema.dictionary is not None:
        return _indices_taken(call, array, indices, checked)
    out: DeviceArray = _native.compute_take(array, indices, checked, call.stream, call.owner)
    if out is not NotImplemented:
        return out
    if schema.format == "+s" and not array.null_count and not indices.null_count:
        return _batch(array, [_taken(call, x, indices, checked) for x in array.children], indices.length)
    raise NoKernel(f"{call.function.name}: no kernel for {schema.type}")


def _indices_taken(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    """Of a dictionary array: its numbers move, the values stay."""
    schema = array._schema
    plain = _native.build(
        Schema.make(schema.format),
        array.device_type_id,
        array.device_id,
        array.length,
        array.offset,
        array.null_count,
        tuple(array._buffer(i)[0] for i in range(2)),
        (),
        None,
        array,
        array.sync_event or None,
        None,
    )
    out = _native.compute_take(plain, indices, checked, call.stream, call.owner)
    values = array._child(-1)
    return _native.build(
        schema,
        out.device_type_id,
        out.device_id,
        out.length,
        out.offset,
        out.null_count,
        tuple(out._buffer(i)[0] for i in range(2)),
        (),
        values,
        (out, values),
        out.sync_event or None,
        None,
    )


def _batch(array: DeviceArray, columns: list[DeviceArray], length: int | None = None) -> DeviceArray:
    """A struct of these columns, with the names that it had; the last one's event is behind all of them."""
    schema = array._schema
    if not columns:
        raise NoKernel("a batch without columns has nothing to choose")
    last = columns[-1]
    return _native.build(
        schema,
        last.device_type_id,
        last.device_id,
        last.length if length is None else length,
        0,
        0,
        (None,),
        tuple(columns),
        None,
        columns,
        next((c.sync_event for c in reversed(columns) if c.sync_event), None),
        None,
    )


def filter_rows(call: Call, values: Argument, mask: Argument) -> DeviceArray:
    """``exec`` of filter."""
    options: Any = call.options
    if options.null_selection_behavior != "drop":
        raise NoKernel('filter: null_selection_behavior is "drop" here')
    if values.array is None or values.one or mask.array is None or mask.one:
        raise TypeError("filter takes an array or a batch, and a mask")
    if mask.array.length != values.array.length:
        raise ValueError(
            f"filter: a mask of {mask.array.length} rows for {values.array.length}; arrays must have the same length"
        )
    return _by_mask(call, values.array, mask.array)


def _by_mask(call: Call, array: DeviceArray, mask: DeviceArray) -> DeviceArray:
    choice, _ = _native.compute_choice(mask, call.stream, call.owner)
    return _chosen(call, array, choice, [])


def drop_null(call: Call, values: Argument) -> DeviceArray:
    """``exec`` of drop_null: of a batch the rows without any null."""
    array = values.array
    if array is None or values.one:
        raise TypeError("drop_null takes an array or a batch")
    columns = array.children if array._format == "+s" else [array]
    masks = [_is_valid(call, Argument(c, c._format)) for c in columns if c.null_count != 0]
    if not masks:
        return array
    mask = masks[0]
    for other in masks[1:]:
        mask = _and(call, Argument(mask, "b"), Argument(other, "b"))
    return _by_mask(call, array, mask)


_and = Map("boolean", "bits", "and", "bb", "b", unit=WORD)


def take_rows(call: Call, values: Argument, indices: Argument) -> DeviceArray:
    """``exec`` of take."""
    options: Any = call.options
    if values.array is None or values.one:
        raise TypeError("take takes an array or a batch, and indices")
    if indices.format is None or indices.format not in NUMBERS or indices.format in "fg":
        raise NoKernel(f"take: indices are integers, not {words_of(indices.format or 'n')}")
    if indices.array is None:
        from ..interop.asarray import asarray

        indices = Argument(asarray([indices.value]), indices.format)
    rows = cast_argument(call, indices, "l", False).array
    assert rows is not None
    try:
        return _taken(call, values.array, rows, bool(options.boundscheck))
    except ValueError as e:
        if "out of bounds" in str(e):
            raise IndexOutOfBounds(str(e)) from None
        raise
