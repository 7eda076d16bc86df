"""A struct array as a record batch: its own nulls go into its fields, for a batch has none."""

from __future__ import annotations

from .._ext import _native, ffi
from .._reaper import need_reaper
from ..errors import ArgumentError, CannotExport
from ..schema import NULLABLE, Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import DeviceArray


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


def _nullable(schema: Schema) -> Schema:
    return Schema.make(
        schema.format,
        schema.name,
        children=schema.children,
        dictionary=schema.dictionary,
        flags=schema.flags | NULLABLE,
        metadata=schema._metadata,
    )


def _masked(child: DeviceArray, mask: int) -> DeviceArray:
    """The child with the rows null whose bit is 0; only its bitmap is new."""
    schema, length, offset = _nullable(child.schema), child.length, child.offset
    if child._format == "n":
        return child
    if child._format.startswith(("+u", "+r")):
        raise CannotExport(f"field {child.schema.name!r}: a {child.type} has no bitmap that could take nulls")
    valid = _bits(child, offset, length) & mask
    bitmap = (valid << offset).to_bytes((offset + length + 7) >> 3, "little")
    held = ffi.from_buffer(bitmap)
    address = int(ffi.cast("uintptr_t", held))
    rest = [child._buffer(i)[0] for i in range(1, child._n_buffers)]
    children = tuple(child._raw_child(i) for i in range(child._n_children))
    dictionary = None if schema.dictionary is None else child._raw_child(-1)
    nulls = length - valid.bit_count()
    return _native.build(
        schema, 1, -1, length, offset, nulls, (address, *rest), children, dictionary, (child, held), None, "structure"
    )


def to_batch(array: DeviceArray) -> DeviceArray:
    """See :meth:`DeviceArray.to_batch`."""
    if array._format != "+s":
        raise ArgumentError(f"a record batch is a struct array, this one is {array.type}")
    if array.null_count == 0:
        return array
    array._readable("to_batch()")
    array = array.to("cpu")
    if array.null_count == 0:  # not known before
        return array
    need_reaper()
    mask = _bits(array, array.offset, array.length)
    fields = [_masked(array._child(i), mask) for i in range(array._n_children)]
    s = array.schema
    schema = Schema.make("+s", s.name, children=[f.schema for f in fields], flags=s.flags, metadata=s._metadata)
    return _native.build(schema, 1, -1, array.length, 0, 0, (None,), tuple(fields), None, None, None, "structure")
