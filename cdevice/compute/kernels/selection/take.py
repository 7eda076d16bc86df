"""Rows that are chosen or taken by number, of whatever layout."""

from __future__ import annotations

from ...._arrays.assemble import assemble, children_of, parts_of
from ...._runtime.ext import _native
from ....schema import Schema
from ...dispatch.datum import Datum
from ...dispatch.types import VIEWS
from ...errors import NoKernel
from ..elementwise import CHOSEN, FILLED, NEVER, PACK, WORD, Map, schema_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...._arrays.assemble import Part
    from ...._types import DeviceArray
    from ...dispatch.call import Call

is_valid = Map("boolean", "bits", "is_valid", "", "b", unit=WORD, rule=NEVER)
both = Map("boolean", "bits", "and", "bb", "b", unit=WORD)
filled = Map("boolean", "bits", "if_else", "bb", "b", unit=WORD, rule=FILLED)


def rows_of_null(where: tuple[int, int], length: int) -> DeviceArray:
    """Rows of type null on a device."""
    return _native.build(schema_of("n"), *where, length, 0, length, (), (), None, None, None, None)  # of no memory


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
            _native.compute_take(is_valid(call, Datum(array, "n")), indices, True, call.stream, call.owner)
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
    bits = _native.compute_take(is_valid(call, Datum(array, "b")), indices, False, call.stream, call.owner)
    return filled(call, Datum(bits, "b"), Datum(value=False, format="b"))


def _variable(call: Call, array: DeviceArray, indices: DeviceArray, offsets: DeviceArray, total: int) -> DeviceArray:
    """Strings or lists of these offsets."""
    lists = array._format[0] == "+"
    made = [offsets]
    children: list[DeviceArray] = []
    if lists and _has_no_memory(array._raw_child(0)):
        children = [_without_memory(array._raw_child(0), near=offsets, length=total)]
    else:
        items = _native.compute_items(array, indices, offsets, total, call.stream, call.owner)
        made.append(items)
        if lists:
            children = [taken(call, array._raw_child(0), items, False)]
            made += children
    known = _validity(call, array, indices)  # the last on the stream: its event is that of all
    made += [] if known is None else [known]
    bitmap = None if known is None else (known, 1)
    rows = [bitmap, (offsets, 1)] if lists else [bitmap, (offsets, 1), (made[1], 1)]
    return _made(array, indices, rows, children, made, known is not None)


def _has_no_memory(array: DeviceArray) -> bool:
    """Is there nothing in it but a number of rows?"""
    return array._format == "n"


def _without_memory(array: DeviceArray, near: DeviceArray, length: int) -> DeviceArray:
    return null_rows(near, length)


def _made(
    array: DeviceArray,
    indices: DeviceArray,
    buffers: Sequence[Part],
    children: Sequence[DeviceArray],
    made: Sequence[DeviceArray],
    known: bool,
) -> DeviceArray:
    """An array of these parts, which were put on the stream one after the other."""
    near = made[0] if made else indices
    return assemble(
        array._schema,
        indices.length,
        buffers,
        children,
        null_count=-1 if known else 0,
        near=near,
        made=made or (indices, array),
    )


def _of_one_size(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    """Fixed-size lists: null ones have items too."""
    size, child = int(array._format[3:]), array._raw_child(0)
    if _has_no_memory(child) or not size:  # there are no items whose numbers could be wrong
        if checked:
            _check_rows(call, array, indices)
        items = _without_memory(child, indices, indices.length * size) if size else child._slice(0, 0)
        made = []
    else:
        rows = _native.compute_spread(array, indices, size, checked, call.stream, call.owner)
        items = taken(call, child, rows, False)
        made = [rows, items]
    known = _validity(call, array, indices)
    made += [] if known is None else [known]
    return _made(array, indices, [None if known is None else (known, 1)], [items], made, known is not None)


def _check_rows(call: Call, array: DeviceArray, indices: DeviceArray) -> None:
    """Raises IndexOutOfBounds for numbers of no row, of what has no values to be read."""
    rows = null_rows(array, array.length)
    _native.compute_take(is_valid(call, Datum(rows, "n")), indices, True, call.stream, call.owner)


def part_of(array: DeviceArray, index: int, format: str) -> DeviceArray:
    """A buffer of an array as an array of its own; unions have no nulls."""
    nulls = array._format[:2] != "+u"
    return assemble(
        schema_of(format),
        array.length,
        [(array, 0) if nulls else None, (array, index)],
        offset=array.offset,
        null_count=array.null_count if nulls else 0,
        made=(array,),
    )


def with_bitmap(values: DeviceArray, known: DeviceArray) -> DeviceArray:
    """Values without a bitmap, with these bits as theirs."""
    return assemble(values._schema, values.length, [(known, 1), (values, 1)], made=(values, known))


def _views(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    """Views of strings and lists move; what they look at stays."""
    if array._format[0] == "+":
        number = "i" if array._format == "+vl" else "l"
        parts = [(1, number), (2, number)]
    else:
        parts = [(1, "w:16")]
    moved = [_native.compute_take(part_of(array, i, f), indices, checked, call.stream, call.owner) for i, f in parts]
    if moved[0].device_type_id != array.device_type_id:  # the CPU computed, of memory that it reads
        array = array.to("cpu")
    valid = moved[0]._buffer(0)[0] is not None
    buffers = [(moved[0], 0) if valid else None, *((x, 1) for x in moved), *parts_of(array, len(parts) + 1)]
    return _made(array, indices, buffers, children_of(array), moved, valid)


_fill_kind = Map("select", "u8", "if_else", "cc", "c", unit=PACK, rule=FILLED, function_name="take")
_same_kind = Map("compare", "i8", "equal", "cc", "b", unit=PACK, function_name="take")
numbered = Map("select", "u64", "if_else", "bll", "l", unit=PACK, rule=CHOSEN, function_name="take")
_wide = Map("cast", "i32 i64", "cast_i32", "i", "l", function_name="take")
_narrow = Map("cast", "i64 i32", "cast_i64", "l", "i", function_name="take")


def _union(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    """Each child gets a row for each row of the result, in a dense union too: so its offsets do not decrease.  A row
    without an index is a null of the first child."""
    codes = [int(x) for x in array._format[4:].split(",")] if array._format[4:] else []
    kinds = _native.compute_take(part_of(array, 0, "c"), indices, checked, call.stream, call.owner)
    if indices.null_count != 0 and codes:
        kinds = _fill_kind(call, Datum(kinds, "c"), Datum(value=codes[0], format="c"))
    if array._format[2] != "d":
        columns = [taken(call, array._child(i), indices, False) for i in range(array._n_children)]
        return _made(array, indices, [(kinds, 1)], columns, [kinds, *columns], False)
    if indices.length >= 1 << 31:
        raise NoKernel(f"{call.function.name}: {indices.length} rows are more than offsets of a dense union count")
    places = _native.compute_take(part_of(array, 1, "i"), indices, False, call.stream, call.owner)
    rows = Datum(_wide(call, Datum(places, "i")), "l")
    columns, made = [], [kinds, places]
    for i, code in enumerate(codes):
        child = array._raw_child(i)
        here = Datum(_same_kind(call, Datum(kinds, "c"), Datum(value=code, format="c")), "b")
        other = Datum(value=0 if child.length else None, format="l")  # rows that are never read
        columns.append(taken(call, child, numbered(call, here, rows, other), False))
    own = _narrow(call, Datum(rows_of(call, kinds), "l"))
    return _made(array, indices, [(kinds, 1), (own, 1)], columns, [*made, *columns, own], False)


_ENDS = {
    f: Map("cast", f"i64 {t}", "cast_i64", "l", f, function_name="take")
    for f, t in (("s", "i16"), ("i", "i32"), ("l", "i64"))
}


def _in_runs(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    rows = _native.compute_runs(array, array._raw_child(0), indices, checked, call.stream, call.owner)
    return taken(call, array._raw_child(1), rows, False)


def run_end_decode(call: Call, array: DeviceArray) -> DeviceArray:
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
    ends = _ENDS[kind](call, Datum(numbers, "l"))
    return _made(array, indices, [], [ends, values], [values, ends], False)


def indices_of(array: DeviceArray) -> DeviceArray:
    """The numbers of a dictionary array."""
    return with_schema(array, Schema.make(array._format))


def with_schema(array: DeviceArray, schema: Schema) -> DeviceArray:
    """The same buffers as another type without children."""
    return assemble(
        schema,
        array.length,
        parts_of(array),
        offset=array.offset,
        null_count=array.null_count,
        near=array,
        made=(array,),
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
    return assemble(
        schema, out.length, parts_of(out), (), values, offset=out.offset, null_count=out.null_count, made=(array, out)
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
    return assemble(
        array._schema,
        last.length if length is None else length,
        [None if known is None else (known, 1)],
        columns,
        null_count=0 if known is None else -1,
        near=last,
        made=made,
    )
