"""Arrow's ``cast``: of lists, structs and maps their values, of all else the rows."""

from __future__ import annotations

import errno

from ...._arrays.assemble import assemble, parts_of
from ....errors import ArgumentError
from ....schema import Schema, asschema
from ...dispatch.datum import Datum, joined, lone
from ...dispatch.types import DICTIONARY, format_of, is_binary, words_of
from ...scalar import Scalar
from .. import row_numbers as rows
from ..lists import Lists, offsets_of, sized
from ..nulls import as_type, typed
from ..selection.choose import on_one_device
from ..selection.take import both, filter_array, rows_of_null, take_array, with_bitmap
from ..strings import TEXTS, bytes_as_text
from .binary import to_views, too_many
from .dictionary import dictionary_decode, known_rows, of_dictionary
from .numeric import cast_argument, no_cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...._types import DeviceArray
    from ...dispatch.call import Call

_OFFSETS = {"+l": "i", "+L": "l", "+m": "i"}
TENSOR = b"arrow.fixed_shape_tensor"
_NAME = b"ARROW:extension:name"


def is_tensor(schema: Schema) -> bool:
    """Is it Arrow's extension type of lists of one size that have a shape?"""
    return (schema.metadata or {}).get(_NAME) == TENSOR


def cast(call: Call, args: Sequence[Datum]) -> Any:
    """The meta function ``cast``."""
    options: Any = call.options
    target = asschema(options.target_type)
    a = joined(args[0])
    nested = target.dictionary is not None or target.format.startswith("+")
    if a.array is None:
        a = lone(call, a) if a.value is not None else Datum(value=None, format="n")
    if a.format == DICTIONARY and target.dictionary is None:
        a = of_dictionary(call, a, target.format, options.safe)
    if a.format == "n":
        a = as_type(call, a, target.format, target)
    elif nested:
        assert a.array is not None
        source = a.array._schema
        if source.format == target.format and is_tensor(source) and _NAME not in (target.metadata or {}):
            target = _with_metadata(target, source._metadata)  # the shape stays
        a = Datum(cast_rows(call, a.array, target, options.safe), target.format, one=a.one)
    else:
        a = _cast_plain(call, a, target.format, options.safe)
    if a.array is None:
        a = lone(call, a, target)
    out: DeviceArray | None = a.array
    assert out is not None
    return Scalar(out) if a.one else out


def _cast_plain(call: Call, a: Datum, to: str, safe: bool) -> Datum:
    """A type without others below it; bytes become strings where they are UTF-8."""
    format = a.format or ""
    if a.array is None or to not in TEXTS or format in TEXTS or not is_binary(format):
        return cast_argument(call, a, to, safe)
    short = to == "u" or (to == "vu" and format != "Z")
    made = bytes_as_text(call, a.array, "u" if short else "U", safe)
    return Datum(to_views(call, made, to) if to == "vu" else made, to, one=a.one)


def _with_metadata(schema: Schema, metadata: Any) -> Schema:
    return Schema.make(
        schema.format,
        schema.name,
        children=schema.children,
        dictionary=schema.dictionary,
        flags=schema.flags,
        metadata=metadata,
    )


def cast_rows(call: Call, array: DeviceArray, to: Schema, safe: bool) -> DeviceArray:
    """An array as another type, nested ones too.  Raises NoKernel, and ArgumentError for a value that does not fit."""
    format = format_of(array)
    if array._schema._equal(to, True, False):
        return array
    if format == "n":
        return typed(call, array, to)
    if format in (DICTIONARY, "+r") and to.dictionary is None:
        plain = dictionary_decode(call, Datum(array, format)).array
        assert plain is not None
        return cast_rows(call, plain, to, safe)
    if to.dictionary is not None or (format[0] == "+") != (to.format[0] == "+"):
        raise no_cast(call, words_of(format), to.type)
    if to.format[0] != "+":
        made = _cast_plain(call, Datum(array, format), to.format, safe).array
        assert made is not None
        return made
    try:
        return _cast_nested(call, array, to, safe)
    except ArgumentError as e:  # of a value that no row may have, as below a null
        whole = array.offset == 0 and not array.null_count and format[:2] in ("+w", "+s")
        if not safe or whole or (e.code == errno.EFBIG and not array.null_count):
            raise
    numbers = with_bitmap(rows.from_(call, array, 0, array.length), known_rows(call, array))
    return _cast_nested(call, take_array(call, array, numbers, False), to, safe)


def _cast_nested(call: Call, array: DeviceArray, to: Schema, safe: bool) -> DeviceArray:
    format, target = array._format, to.format
    if format == target == "+s":
        return _cast_struct(call, array, to, [f.name for f in to.children], safe)
    if format[:3] == target[:3] == "+w:":
        if format != target:
            raise ArgumentError(f"cast: {array._schema.type} cannot become {to.type}: the sizes differ")
        return sized(call, array, to, cast_rows(call, array._child(0), to.children[0], safe))
    if target[:3] == "+w:" and format in ("+l", "+L"):
        return _as_sized(call, array, to, safe)
    if target in ("+l", "+L") and format[:3] == "+w:":
        size = int(format[3:])
        ends = rows.multiply(call, rows.from_(call, array, 0, array.length + 1), size)
        offsets = _offsets_as(call, ends, _OFFSETS[target])
        return sized(call, array, to, cast_rows(call, array._child(0), to.children[0], safe), offsets)
    if (format == "+m") != (target == "+m") or format not in _OFFSETS or target not in _OFFSETS:
        raise no_cast(call, words_of(format), to.type)
    return _cast_lists(call, array, to, safe)


def _cast_lists(call: Call, array: DeviceArray, to: Schema, safe: bool) -> DeviceArray:
    """Lists of several lengths, and maps."""
    child, wanted = array._raw_child(0), to.children[0]
    if array._format == "+m":  # fields by their place
        names = [f.name for f in child._schema.children]
        values = _cast_struct(call, child, wanted, names, safe)
    else:
        values = cast_rows(call, child, wanted, safe)
    if _OFFSETS[array._format] == _OFFSETS[to.format]:
        n, offset = array.length, array.offset
        whole = _beside(array, values)
        return assemble(to, n, parts_of(whole), [values], offset=offset, null_count=array.null_count)
    offsets = offsets_of(call, array, array.length + 1)
    return sized(call, array, to, values, _offsets_as(call, offsets, _OFFSETS[to.format]))


def _offsets_as(call: Call, offsets: DeviceArray, format: str) -> DeviceArray:
    """Offsets of another width.  Waits where they get narrower."""
    try:
        made = cast_argument(call, Datum(offsets, offsets._format), format, True).array
    except ArgumentError:
        n = rows.number_at(offsets, offsets.length - 1) - rows.number_at(offsets, 0)
        raise too_many(n, "values of lists") from None
    assert made is not None
    return made


def _beside(array: DeviceArray, other: DeviceArray) -> DeviceArray:
    """An array where another one is: the CPU computed, of memory that it reads."""
    return array if array.device_type_id == other.device_type_id else array.to("cpu")


def _cast_struct(call: Call, array: DeviceArray, to: Schema, names: Sequence[str], safe: bool) -> DeviceArray:
    """Fields by their names; one that there is not is null."""
    have = [f.name for f in array._schema.children]
    fields = []
    for name, wanted in zip(names, to.children, strict=True):
        if name in have:
            fields.append(cast_rows(call, array._child(have.index(name)), wanted, safe))
        elif wanted.nullable:
            nothing = rows_of_null((call.device_type, call.device_id), array.length)
            fields.append(typed(call, nothing, wanted))
        else:
            raise ArgumentError(f"cast: {array._schema.type} has no field {name!r}, which must not be null")
    known = known_rows(call, array) if array.null_count else None
    if known is None and not fields:
        return assemble(to, array.length, [None], [], null_count=0, near=array, made=(array,))
    fields = on_one_device(call, fields if known is None else [*fields, known])
    if known is None:
        return assemble(to, array.length, [None], fields, null_count=0)
    known = fields.pop()
    return assemble(to, array.length, [(known, 1)], fields, near=known)


def _as_sized(call: Call, array: DeviceArray, to: Schema, safe: bool) -> DeviceArray:
    """Lists that all have one length as lists of that size."""
    size, lists = int(to.format[3:]), Lists(call, Datum(array, array._format))
    other = rows.not_equal(call, lists.lengths, size)
    if lists.valid is not None:
        other = both(call, Datum(other, "b"), Datum(lists.valid, "b"))
    bad = filter_array(call, lists.lengths, other, False)
    if bad.length:
        n = rows.number_at(bad, 0)
        raise ArgumentError(f"cast: a list of {n} values cannot become {to.type}: all lists must have {size}")
    made = lists.of_size(size)
    return sized(call, made, to, cast_rows(call, made._child(0), to.children[0], safe))
