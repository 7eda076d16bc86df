"""Rows that are chosen: filter, take, drop_null, of whatever layout."""

from __future__ import annotations

from .._ext import _native
from ..interop.concat import concat
from ..schema import Schema
from .argument import Argument
from .casts import cast_argument
from .elementwise import CHOSEN, FILLED, NEVER, PACK, WORD, Map
from .errors import IndexOutOfBounds, NoKernel
from .types import NUMBERS, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray
    from .call import Call

_filled = Map("boolean", "bits", "if_else", "bb", "b", unit=WORD, rule=FILLED)
_is_valid = Map("boolean", "bits", "is_valid", "", "b", unit=WORD, rule=NEVER)


def _chosen(call: Call, array: DeviceArray, choice: Any, rows: list[DeviceArray]) -> DeviceArray:
    """The rows of one array; ``rows`` keeps their numbers once they were needed."""
    if array._schema.dictionary is None:
        out: DeviceArray = _native.compute_filter(choice, array, call.stream, call.owner)
        if out is not NotImplemented:
            return out
        if array._format == "+s" and array.null_count == 0:
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
    if schema.format == "+s":
        columns = [_taken(call, x, indices, checked) for x in array.children]
        known = _validity(call, array, indices)
        return _batch(array, columns, indices.length, known)
    found = _native.compute_offsets(array, indices, checked, call.stream, call.owner)
    if found is NotImplemented:
        raise NoKernel(f"{call.function.name}: no kernel for {schema.type}")
    return _variable(call, array, indices, *found)


def _validity(call: Call, array: DeviceArray, indices: DeviceArray) -> DeviceArray | None:
    """Which rows that are taken are not null, as bits; None: all."""
    if array.null_count == 0 and indices.null_count == 0:
        return None
    bits = _native.compute_take(_is_valid(call, Argument(array, "b")), indices, False, call.stream, call.owner)
    return _filled(call, Argument(bits, "b"), Argument(value=False, format="b"))


def _variable(call: Call, array: DeviceArray, indices: DeviceArray, offsets: DeviceArray, total: int) -> DeviceArray:
    """Strings or lists of these offsets."""
    items = _native.compute_items(array, indices, offsets, total, call.stream, call.owner)
    children: tuple[DeviceArray, ...] = ()
    if array._format[0] == "+":
        children = (_taken(call, array._raw_child(0), items, False),)
    known = _validity(call, array, indices)  # the last on the stream: its event is that of all
    buffers = [None if known is None else known._buffer(1)[0], offsets._buffer(1)[0]]
    if not children:
        buffers.append(items._buffer(1)[0])
    made = [x for x in (items, *children, known) if x is not None]  # the last one was put on the stream last
    return _native.build(
        array._schema,
        offsets.device_type_id,
        offsets.device_id,
        indices.length,
        0,
        0 if known is None else -1,
        tuple(buffers),
        children,
        None,
        (offsets, *made),
        next((x.sync_event for x in (known, *children, items) if x is not None and x.sync_event), None),
        None,
    )


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
    if values.device_type_id != out.device_type_id:  # the CPU computed, of memory that it reads
        values = values.to("cpu")
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


def _batch(
    array: DeviceArray, columns: list[DeviceArray], length: int | None = None, known: DeviceArray | None = None
) -> DeviceArray:
    """A struct of these columns, with the names that it had; the last one's event is behind all of them."""
    if not columns:
        raise NoKernel("a batch without columns has nothing to choose")
    last = columns[-1]
    made = [*columns, *([] if known is None else [known])]
    return _native.build(
        array._schema,
        last.device_type_id,
        last.device_id,
        last.length if length is None else length,
        0,
        0 if known is None else -1,
        (None if known is None else known._buffer(1)[0],),
        tuple(columns),
        None,
        made,
        next((c.sync_event for c in reversed(made) if c.sync_event), None),
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
    batch = array._format == "+s" and not array._schema.nullable  # as batches are, and struct arrays are not
    columns = array.children if batch else [array]
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


_is_null = Map("boolean", "bits", "is_null", "", "b", unit=WORD, rule=NEVER)
_xor = Map("boolean", "bits", "xor", "bb", "b", unit=WORD)
_number = Map("select", "u64", "if_else", "bll", "l", unit=PACK, rule=CHOSEN)
_add = Map("arith", "i64", "add", "ll", "l")


def choose_any(call: Call, condition: Argument, a: Argument, b: Argument) -> DeviceArray:
    """``exec`` of if_else for values of several sizes: one behind the other, then taken by number.  Waits."""
    if condition.array is None or a.array is None or b.array is None:
        raise NoKernel(f"{call.function.name}: no kernel for a lone null, or one for all rows, of {a.format}")
    if condition.one:
        raise NoKernel(f"{call.function.name}: no kernel for a single condition of {a.format}")
    n = condition.array.length
    for x in (a, b):
        if x.array is not None and not x.one and x.array.length != n:
            raise ValueError(f"if_else: arguments of {n} and {x.array.length} rows; arrays must have the same length")
    every = _xor(call, Argument(_is_null(call, condition), "b"), Argument(_is_valid(call, condition), "b"))
    choice, _ = _native.compute_choice(every, call.stream, call.owner)
    rows = Argument(_native.compute_filter(choice, None, call.stream, call.owner), "l")
    first = Argument(value=0, format="l") if a.one else rows
    base = Argument(value=a.array.length, format="l")
    second = base if b.one else Argument(_add(call, rows, base), "l")
    indices = _number(call, condition, first, second)
    both = concat([a.array, b.array], stream=call.owner if call.owner is not None else None)
    return _taken(call, both, indices, False)


def fill_any(call: Call, a: Argument, b: Argument) -> DeviceArray:
    """``exec`` of fill_null for values of several sizes."""
    if a.array is None or a.one:
        raise NoKernel(f"fill_null: no kernel for a single value of {a.format}")
    return choose_any(call, Argument(_is_valid(call, a), "b"), a, b)
