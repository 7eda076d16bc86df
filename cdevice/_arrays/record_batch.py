"""Struct arrays as record batches: their columns chosen and renamed, their own nulls put into the fields."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index

from .._runtime.ext import _native, ffi
from ..errors import ArgumentError, CannotExport
from ..schema import NULLABLE, Schema
from .assemble import assemble, children_of, dictionary_of, parts_of
from .buffer_access import share
from .from_buffers import from_buffers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .._types import DeviceArray, StreamLike


def _no_columns(array: DeviceArray) -> str:
    return f"an array of {array.type} has no columns; a record batch is a struct array"


def columns_of(array: DeviceArray) -> list[str]:
    """The names of the columns.  Raises AttributeError where there are none."""
    if array._format != "+s":
        raise AttributeError(_no_columns(array))
    return array._schema.names


def _require_columns(array: DeviceArray) -> None:
    if array._format != "+s":
        raise ArgumentError(_no_columns(array))


def _with_fields(array: DeviceArray, numbers: Iterable[int], names: dict[int, str]) -> DeviceArray:
    """The struct array of some children, under other names perhaps; the memory is shared."""
    array, numbers = share(array), list(numbers)
    s = array.schema
    fields = [s[i] if i not in names else s[i].with_name(names[i]) for i in numbers]
    schema = Schema.make("+s", s.name, children=fields, flags=s.flags, metadata=s._metadata)
    return assemble(
        schema,
        array.length,
        [(array, 0)],
        [array._raw_child(i) for i in numbers],
        offset=array.offset,
        null_count=array.null_count,
        near=array,
        made=(array,),
        validate="structure",
    )


def _number(array: DeviceArray, key: str | int) -> int:
    """Which column: by name, or by number."""
    if isinstance(key, str):
        return array._schema.index_of(key)
    number, n = index(key), array._n_children
    if not -n <= number < n:
        raise IndexError(f"no column {number}: the batch has {n} columns")
    return number % n


def _keys(keys: Iterable[str | int]) -> list[str | int]:
    if isinstance(keys, str):
        return [keys]
    return list(keys)


def _numbers(array: DeviceArray, keys: Iterable[str | int]) -> list[int]:
    """Which columns.  Of many names each would be looked for among all columns."""
    keys, known = _keys(keys), {}
    if len(keys) > 8:
        names = array._schema.names
        known = {name: i for i, name in enumerate(names)}
        if len(known) < len(names):
            known = {}  # a name of two columns is an error
    return [known[k] if isinstance(k, str) and k in known else _number(array, k) for k in keys]


def select(array: DeviceArray, keys: Iterable[str | int]) -> DeviceArray:
    """See :meth:`DeviceArray.select`."""
    _require_columns(array)
    return _with_fields(array, _numbers(array, keys), {})


def drop(array: DeviceArray, keys: Iterable[str | int]) -> DeviceArray:
    """See :meth:`DeviceArray.drop`."""
    _require_columns(array)
    gone = set(_numbers(array, keys))
    return _with_fields(array, [i for i in range(array._n_children) if i not in gone], {})


def rename(array: DeviceArray, names: Mapping[str | int, str] | Iterable[str]) -> DeviceArray:
    """See :meth:`DeviceArray.rename`."""
    _require_columns(array)
    n = array._n_children
    if isinstance(names, Mapping):
        new = dict(zip(_numbers(array, names), names.values()))
    else:
        new = dict(enumerate(names))
        if len(new) != n:
            raise ArgumentError(
                f"{len(new)} names for {n} columns: pass one name for each column, or a mapping to rename some"
            )
    return _with_fields(array, range(n), new)


def with_columns(array: DeviceArray, columns: Mapping[str, DeviceArray]) -> DeviceArray:
    """The record batch with columns, which are arrays, put in their places or at the end."""
    _require_columns(array)
    s = array._schema
    made = dict(zip(s.names, array.children, strict=True))
    if len(made) < len(s.names):
        raise ArgumentError("cannot replace a column by name: two columns of the batch have the same name")
    made |= columns
    return of_columns(list(made.values()), list(made), None, s._metadata)


def names_columns(array: DeviceArray, key: list[Any]) -> bool:
    """Is a list the names or numbers of columns, not a mask or numbers of rows?"""
    if array._format != "+s":
        return all(isinstance(k, str) for k in key) and bool(key)
    return not any(isinstance(k, bool) for k in key)


def kind_of_key(key: Any) -> str:
    """ "mask", "numbers", or "" for what chooses no rows."""
    if isinstance(key, list):
        if all(isinstance(k, bool) or k is None for k in key) and key:
            return "mask"
        return "numbers" if all(type(k) is int or k is None for k in key) else ""
    if not any(
        hasattr(key, m) for m in ("__arrow_c_device_array__", "__arrow_c_array__", "__arrow_c_stream__", "dtype")
    ):
        return ""
    own = isinstance(key, _native.Array)
    word = str(key._schema.type if own else getattr(key, "dtype", getattr(key, "type", "")))
    if word.lower() in ("bool", "boolean"):
        return "mask"
    return "numbers" if word.lower().removeprefix("u").startswith("int") else ""


def of_columns(
    columns: list[DeviceArray], names: list[str], stream: StreamLike, metadata: bytes | None = None
) -> DeviceArray:
    """The record batch of columns on one device.  ``metadata``: of its schema, encoded."""
    lengths = {c.length for c in columns}
    if len(lengths) > 1:
        told = ", ".join(f"{n!r} has {c.length}" for n, c in zip(names, columns))
        raise ArgumentError(f"the columns of a batch must have equal lengths: {told}")
    places = {c.device: n for n, c in zip(names, columns)}
    if len(places) > 1:
        told = " and ".join(f"{n!r} on {d}" for d, n in places.items())
        raise ArgumentError(f"the columns of a batch must be on one device, got {told}: pass device=")
    fields = [c.schema.with_name(n) for n, c in zip(names, columns)]
    schema = Schema.make("+s", children=fields, nullable=False, metadata=metadata)
    if not columns:
        return _native.build(schema, device_type=1, device_id=-1, length=0, buffers=(None,), validate="structure")
    return assemble(
        schema, columns[0].length, [None], columns, null_count=0, near=columns[0], stream=stream, validate="structure"
    )


def _bits(array: DeviceArray, offset: int, length: int) -> int:
    """Validity as an integer whose bit i is row i; all ones where there is no bitmap."""
    address = array._buffer(0)[0]
    every = (1 << length) - 1
    if not address or not length:
        return every
    start = offset >> 3
    size = ((offset & 7) + length + 7) >> 3
    raw = ffi.buffer(ffi.cast("char *", address + start), size)
    return (int.from_bytes(raw, "little") >> (offset & 7)) & every


def nullable_schema(schema: Schema) -> Schema:
    """The same field, which may be null.  Unions and run-end encoded ones have no bitmap: their values may be."""
    fields, first = schema.children, int(schema.format == "+r")  # run ends are never null
    if schema.format.startswith(("+u", "+r")):
        fields[first:] = map(nullable_schema, fields[first:])
    return Schema.make(
        schema.format,
        schema.name,
        children=fields,
        dictionary=schema.dictionary,
        flags=schema.flags | NULLABLE,
        metadata=schema._metadata,
    )


def _masked(child: DeviceArray, mask: int) -> DeviceArray:
    """The child with the rows null whose bit is 0; only its bitmap is new."""
    schema, length, offset = nullable_schema(child.schema), child.length, child.offset
    if child._format == "n":
        return child
    if child._format.startswith(("+u", "+r")):
        raise CannotExport(
            f"field {child.schema.name!r}: a {child.type} has no validity bitmap, so it cannot have nulls"
        )
    valid = _bits(child, offset, length) & mask
    bitmap = (valid << offset).to_bytes((offset + length + 7) >> 3, "little")
    valid_bits = from_buffers("bool", offset + length, [None, bitmap], null_count=0)
    return assemble(
        schema,
        length,
        [(valid_bits, 1), *parts_of(child, 1)],
        children_of(child),
        dictionary_of(child),
        offset=offset,
        null_count=length - valid.bit_count(),
        near=valid_bits,
        validate="structure",
    )


def as_batch(array: DeviceArray) -> DeviceArray:
    """A struct array that is known to have no nulls as the batch that it is; anything else stays."""
    if array._format != "+s" or not array._schema.nullable or array.null_count:
        return array
    children = [array._child(i) for i in range(array._n_children)]
    return assemble(_required(array.schema, children), array.length, [None], children, null_count=0, near=array)


def _required(schema: Schema, children: Sequence[DeviceArray]) -> Schema:
    fields = [c.schema for c in children]
    flags = schema.flags & ~NULLABLE
    return Schema.make("+s", schema.name, children=fields, flags=flags, metadata=schema._metadata)


def to_batch(array: DeviceArray) -> DeviceArray:
    """See :meth:`DeviceArray.to_batch`."""
    if array._format != "+s":
        raise ArgumentError(f"expected a struct array as record batch, not {array.type}")
    if array.null_count == 0:
        return as_batch(array)
    array._readable("to_batch()")
    array = array.to("cpu")
    if array.null_count == 0:  # not known before
        return as_batch(array)
    mask = _bits(array, array.offset, array.length)
    fields = [_masked(array._child(i), mask) for i in range(array._n_children)]
    schema = _required(array.schema, fields)
    return assemble(schema, array.length, [None], fields, null_count=0, near=array, validate="structure")
