"""Structs: a field of them, and columns as one; no values are copied."""

from __future__ import annotations

from ..._arrays.assemble import assemble, children_of, dictionary_of, parts_of
from ..._arrays.record_batch import nullable_schema
from ...errors import ArgumentError
from ...schema import NULLABLE, Schema
from ..dispatch.datum import Datum, lone
from ..dispatch.types import format_of, words_of
from ..errors import NoKernel
from . import row_numbers as rows
from .aggregate import count_valid
from .cast.dictionary import known_rows, may_be_null
from .elementwise import schema_of
from .selection.choose import length_of, on_one_device
from .selection.take import both, numbered, part_of, take_array, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call


def _bits(array: DeviceArray, length: int) -> Datum:
    """The bitmap as bools, from the first row that the memory has."""
    return Datum(assemble(schema_of("b"), length, [None, (array, 0)], null_count=0, made=(array,)), "b")


def masked(call: Call, child: DeviceArray, parent: DeviceArray) -> DeviceArray:
    """Rows of a field, null where the struct is; only their bitmap is new.  Both have one number of rows."""
    if not parent.null_count or child._format == "n":
        return child
    n, offset = child.length, child.offset
    if child._format[:2] in ("+u", "+r") or offset != parent.offset:  # no bitmap; the memory begins elsewhere
        numbers = rows.from_(call, child, 0, n)
        return take_array(call, child, with_bitmap(numbers, known_rows(call, parent)), False)
    known = _bits(parent, offset + n)
    if child.null_count:
        known = Datum(both(call, known, _bits(child, offset + n)), "b")
    assert known.array is not None
    if known.array.device_type_id != child.device_type_id:  # the CPU computed, of memory that it reads
        child = child.to("cpu")
    return assemble(
        nullable_schema(child._schema),
        n,
        [(known.array, 1), *parts_of(child, 1)],
        children_of(child),
        dictionary_of(child),
        offset=offset,
        near=child,
    )


def _of_union(call: Call, array: DeviceArray, number: int) -> DeviceArray:
    """The values of one type of a union; other rows are null."""
    text = array._format[4:]
    codes = [int(x) for x in text.split(",")]
    kinds = rows.as_int64(call, part_of(array, 0, "c"))
    here = Datum(rows.equal(call, kinds, codes[number]), "b")
    dense = array._format[2] == "d"
    child = array._raw_child(number) if dense else array._child(number)
    found = rows.as_int64(call, part_of(array, 1, "i")) if dense else rows.from_(call, array, 0, array.length)
    found = numbered(call, here, Datum(found, "l"), Datum(value=None, format="l"))
    return take_array(call, child, found, False)


def _number(array: DeviceArray, key: int | str) -> int:
    """Which child a key names."""
    fields, words = array._schema.children, array._schema.type
    if isinstance(key, int):
        if not 0 <= key < len(fields):
            raise ArgumentError(f"struct_field: there is no field {key} of {words}, which has {len(fields)}")
        return key
    found = [i for i, f in enumerate(fields) if f.name == key]
    if len(found) != 1:
        how_many = f"{len(found)} fields are" if found else "no field is"
        raise ArgumentError(f"struct_field: {how_many} named {key!r} in {words}")
    return found[0]


def struct_field(call: Call, values: Datum) -> DeviceArray:
    """``exec``: a field, by its number or name, or by those of the structs around it."""
    options: Any = call.options
    array = values.array
    if array is None:
        raise NoKernel(f"struct_field: expected structs, not {words_of(values.format or 'n')}")
    for key in options.indices:
        if array._format != "+s" and array._format[:2] != "+u":
            raise NoKernel(f"struct_field: expected structs, not {words_of(format_of(array))}")
        number = _number(array, key)
        union = array._format[:2] == "+u"
        array = _of_union(call, array, number) if union else masked(call, array._child(number), array)
    return array


def _field(name: str, array: DeviceArray, nullable: bool, metadata: Any) -> Schema:
    """The type of a column, as that of a field."""
    s = array._schema
    flags = s.flags | NULLABLE if nullable else s.flags & ~NULLABLE
    merged = {**{k: v for k, v in (s.metadata or {}).items() if k.startswith(b"ARROW:extension:")}, **(metadata or {})}
    return Schema.make(
        s.format, name, children=s.children, dictionary=s.dictionary, flags=flags, metadata=merged or None
    )


def make_struct(call: Call, *columns: Datum) -> DeviceArray:
    """``exec``: a struct of columns.  Blocks where a field must not be null and may be."""
    options: Any = call.options
    names, nullable, metadata = options.fields_of(len(columns))
    n = length_of("make_struct", columns)
    parts = [lone(call, c).array if c.array is None else c.array for c in columns]
    arrays = on_one_device(call, [x for x in parts if x is not None])
    for i, c in enumerate(columns):
        if n is not None and (c.array is None or c.one):
            zeros = rows.multiply(call, rows.from_(call, arrays[i], 0, n), 0)
            arrays[i] = take_array(call, arrays[i], zeros, False)
        if not nullable[i] and may_be_null(arrays[i]) and _has_null(call, arrays[i]):
            raise ArgumentError(f"make_struct: field {names[i]!r} must not be null, and the argument has nulls")
    arrays = on_one_device(call, arrays)  # kernels of the CPU made some of them
    fields = [_field(*x) for x in zip(names, arrays, nullable, metadata, strict=True)]
    return assemble(Schema.make("+s", children=fields), arrays[0].length, [None], arrays, null_count=0, near=arrays[0])


def _has_null(call: Call, array: DeviceArray) -> bool:
    known = known_rows(call, array)
    return bool(count_valid(call, with_bitmap(known, known)) < array.length)
