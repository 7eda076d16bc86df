"""Rows that are chosen or taken by number, of whatever layout."""

from __future__ import annotations

from .._ext import _native
from ..schema import Schema
from .argument import Argument
from .elementwise import FILLED, NEVER, WORD, Map, schema_of
from .errors import NoKernel
from .types import VIEWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import DeviceArray
    from .call import Call

is_valid = Map("boolean", "bits", "is_valid", "", "b", unit=WORD, rule=NEVER)
filled = Map("boolean", "bits", "if_else", "bb", "b", unit=WORD, rule=FILLED)


def rows_of_null(where: tuple[int, int], length: int) -> DeviceArray:
    """Rows of type null on a device."""
    return _native.build(schema_of("n"), *where, length, 0, length, (), (), None, None, None, None)


def null_rows(near: DeviceArray, length: int) -> DeviceArray:
    """Rows of type null, where an array is."""
    return rows_of_null((near.device_type_id, near.device_id), length)


def chosen(call: Call, array: DeviceArray, choice: Any, rows: list[DeviceArray]) -> DeviceArray:
    """The rows of one array; ``rows`` keeps their numbers once they were needed."""
    if array._schema.dictionary is None:
        out: DeviceArray = _native.compute_filter(choice, array, call.stream, call.owner)
        if out is not NotImplemented:
            return out
        if array._format == "+s" and array.null_count == 0:
            return batch_of(array, [chosen(call, x, choice, rows) for x in array.children])
    if not rows:
        rows.append(_native.compute_filter(choice, None, call.stream, call.owner))
    return taken(call, array, rows[0], False)


def taken(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    schema = array._schema
    if schema.dictionary is not None:
        return _indices_taken(call, array, indices, checked)
    out: DeviceArray = _native.compute_take(array, indices, checked, call.stream, call.owner)
    if out is not NotImplemented:
        return out
    if schema.format == "n":
        if checked:  # of values there are none, but rows
            _native.compute_take(is_valid(call, Argument(array, "n")), indices, True, call.stream, call.owner)
        return null_rows(indices, indices.length)
    if schema.format == "+s":
        columns = [taken(call, x, indices, checked) for x in array.children]
        known = _validity(call, array, indices)
        return batch_of(array, columns, indices.length, known)
    if schema.format.startswith("+w:"):
        return _of_one_size(call, array, indices, checked)
    if schema.format in (*VIEWS, "+vl", "+vL"):
        return _views(call, array, indices, checked)
    if schema.format.startswith("+u"):
        return _union(call, array, indices, checked)
    if schema.format == "+r":
        return _runs(call, array, indices, checked)
    found = _native.compute_offsets(array, indices, checked, call.stream, call.owner)
    if found is NotImplemented:
        raise NoKernel(f"{call.function.name}: no kernel for {schema.type}")
    return _variable(call, array, indices, *found)


def _validity(call: Call, array: DeviceArray, indices: DeviceArray) -> DeviceArray | None:
    """Which rows that are taken are not null, as bits; None: all."""
    if array.null_count == 0 and indices.null_count == 0:
        return None
    bits = _native.compute_take(is_valid(call, Argument(array, "b")), indices, False, call.stream, call.owner)
    return filled(call, Argument(bits, "b"), Argument(value=False, format="b"))


def _variable(call: Call, array: DeviceArray, indices: DeviceArray, offsets: DeviceArray, total: int) -> DeviceArray:
    """Strings or lists of these offsets."""
    items = _native.compute_items(array, indices, offsets, total, call.stream, call.owner)
    children: tuple[DeviceArray, ...] = ()
    if array._format[0] == "+":
        children = (taken(call, array._raw_child(0), items, False),)
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


def _made(
    array: DeviceArray,
    indices: DeviceArray,
    buffers: Sequence[int | None],
    children: Sequence[DeviceArray],
    made: Sequence[DeviceArray],
    known: bool,
) -> DeviceArray:
    """An array of these parts, which were put on the stream one after the other."""
    first = made[0] if made else indices
    return _native.build(
        array._schema,
        first.device_type_id,
        first.device_id,
        indices.length,
        0,
        -1 if known else 0,
        tuple(buffers),
        tuple(children),
        None,
        (array, *made),
        next((x.sync_event for x in reversed(made) if x.sync_event), None),
        None,
    )


def _of_one_size(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    """Fixed-size lists: null ones have items too."""
    size = int(array._format[3:])
    rows = _native.compute_spread(array, indices, size, checked, call.stream, call.owner)
    items = taken(call, array._raw_child(0), rows, False)
    known = _validity(call, array, indices)
    made = [rows, items, *([] if known is None else [known])]
    return _made(array, indices, [None if known is None else known._buffer(1)[0]], [items], made, known is not None)


def _part(array: DeviceArray, index: int, format: str) -> DeviceArray:
    """A buffer of an array as an array of its own; unions have no nulls."""
    nulls = array._format[:2] != "+u"
    return _native.build(
        schema_of(format),
        array.device_type_id,
        array.device_id,
        array.length,
        array.offset,
        array.null_count if nulls else 0,
        (array._buffer(0)[0] if nulls else None, array._buffer(index)[0]),
        (),
        None,
        array,
        array.sync_event or None,
        None,
    )


def _views(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    """Views of strings and lists move; what they look at stays."""
    if array._format[0] == "+":
        number = "i" if array._format == "+vl" else "l"
        parts = [(1, number), (2, number)]
    else:
        parts = [(1, "w:16")]
    moved = [_native.compute_take(_part(array, i, f), indices, checked, call.stream, call.owner) for i, f in parts]
    if moved[0].device_type_id != array.device_type_id:  # the CPU computed, of memory that it reads
        array = array.to("cpu")
    valid = moved[0]._buffer(0)[0]
    rest = [array._buffer(i)[0] for i in range(len(parts) + 1, array._n_buffers)]
    children = [array._raw_child(i) for i in range(array._n_children)]
    buffers = [valid, *(x._buffer(1)[0] for x in moved), *rest]
    return _made(array, indices, buffers, children, moved, valid is not None)


def _union(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    """Sparse unions: all children; dense ones: where their rows are, unless some have no child to be in."""
    dense = array._format[2] == "d"
    if dense and indices.null_count != 0:
        raise NoKernel(f"{call.function.name}: no kernel for nulls among the rows of {array._schema.type}")
    kinds = _native.compute_take(_part(array, 0, "c"), indices, checked, call.stream, call.owner)
    if not dense:
        columns = [taken(call, array._child(i), indices, False) for i in range(array._n_children)]
        return _made(array, indices, [kinds._buffer(1)[0]], columns, [kinds, *columns], False)
    rows = _native.compute_take(_part(array, 1, "i"), indices, False, call.stream, call.owner)
    if rows.device_type_id != array.device_type_id:
        array = array.to("cpu")
    children = [array._raw_child(i) for i in range(array._n_children)]
    return _made(array, indices, [kinds._buffer(1)[0], rows._buffer(1)[0]], children, [kinds, rows], False)


_ENDS = {f: Map("cast", f"i64 {t}", "cast_i64", "l", f) for f, t in (("s", "i16"), ("i", "i32"), ("l", "i64"))}


def _in_runs(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    rows = _native.compute_runs(array, array._raw_child(0), indices, checked, call.stream, call.owner)
    return taken(call, array._raw_child(1), rows, False)


def spelled_out(call: Call, array: DeviceArray) -> DeviceArray:
    """A run-end encoded array with a value for each row."""
    return _in_runs(call, array, rows_of(call, array), False)


def rows_of(call: Call, array: DeviceArray) -> DeviceArray:
    """The numbers of its rows."""
    return _native.compute_rows(array, 0, array.length, call.stream, call.owner)


def _runs(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    """Run-end encoded arrays: each row becomes a run."""
    kind = array._raw_child(0)._format
    if indices.length > {"s": (1 << 15) - 1, "i": (1 << 31) - 1}.get(kind, indices.length):
        raise NoKernel(f"{call.function.name}: {indices.length} rows are more than ends of {array._schema.type} count")
    values = _in_runs(call, array, indices, checked)
    numbers = _native.compute_rows(values, 1, indices.length, call.stream, call.owner)
    ends = _ENDS[kind](call, Argument(numbers, "l"))
    return _made(array, indices, [], [ends, values], [values, ends], False)


def indices_of(array: DeviceArray) -> DeviceArray:
    """The numbers of a dictionary array."""
    return relabelled(array, Schema.make(array._format))


def relabelled(array: DeviceArray, schema: Schema) -> DeviceArray:
    """The same buffers as another type without children."""
    return _native.build(
        schema,
        array.device_type_id,
        array.device_id,
        array.length,
        array.offset,
        array.null_count,
        tuple(array._buffer(i)[0] for i in range(array._n_buffers)),
        (),
        None,
        array,
        array.sync_event or None,
        None,
    )


def values_of(array: DeviceArray, near: DeviceArray) -> DeviceArray:
    """The dictionary of a dictionary array, where another array is: the CPU computes on memory that it reads."""
    values = array._child(-1)
    return values.to("cpu") if values.device_type_id != near.device_type_id else values


def _indices_taken(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    """Of a dictionary array: its numbers move, the values stay."""
    schema = array._schema
    out = _native.compute_take(indices_of(array), indices, checked, call.stream, call.owner)
    values = values_of(array, out)
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


def is_batch(array: DeviceArray) -> bool:
    """Batches are structs that are never null themselves, and struct arrays are not."""
    return array._format == "+s" and not array._schema.nullable


def batch_of(
    array: DeviceArray, columns: list[DeviceArray], length: int | None = None, known: DeviceArray | None = None
) -> DeviceArray:
    """A struct of these columns, with the names that it had; the last one's event is behind all of them."""
    if not columns:
        raise NoKernel("a batch without columns has nothing to choose")
    last = next((c for c in reversed(columns) if c._format != "n"), columns[-1])
    columns = [c if c._format != "n" else null_rows(last, c.length) for c in columns]  # of which there is no memory
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
