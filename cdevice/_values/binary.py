"""Bytes and text, with offsets or as views."""

from __future__ import annotations

import array as _array
import struct

from .._arrays.from_buffers import from_buffers
from .convert import converted, validity_of
from .numeric import dtype_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .._types import DeviceArray, Schema


def as_bytes(v: Any) -> bytes:
    if isinstance(v, (bytes, bytearray)):
        return bytes(v)
    if isinstance(v, str):
        return v.encode()
    if isinstance(v, memoryview) or type(v).__module__ in ("array", "mmap"):
        return bytes(v)
    if type(v).__module__ == "uuid" and type(v).__name__ == "UUID":
        return bytes(v.bytes)
    if dtype_kind(v) == "V":
        return bytes(v.tobytes())
    raise TypeError("expected a bytes-like object, str or UUID")


def _as_text(v: Any) -> bytes:
    if not isinstance(v, str):
        raise TypeError("expected str")
    return v.encode()


def bytes_of(f: str) -> Any:
    return _as_text if f in ("u", "U", "vu") else as_bytes


def of_width(width: int) -> Any:
    def convert(v: Any) -> Any:
        data = as_bytes(v)
        if len(data) != width:
            raise ValueError(f"expected {width} bytes, got {len(data)}")
        return data

    return convert


def running(lengths: Iterable[int], code: str) -> Any:
    out, total = [0], 0
    for n in lengths:
        total += n
        out.append(total)
    try:
        return _array.array(code, out)
    except OverflowError:
        raise ValueError("more than 2^31 bytes or values: use the large_ form of the type") from None


def encode_binary(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = validity_of(values)
    parts = converted(values, bytes_of(f), schema, b"")
    offsets = running(map(len, parts), "q" if f in "ZU" else "i")
    return from_buffers(schema, len(values), [validity, offsets, b"".join(parts)], null_count=nulls)


def encode_views(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = validity_of(values)
    views, data = bytearray(), bytearray()
    for part in converted(values, bytes_of(f), schema, b""):
        if len(part) <= 12:
            views += struct.pack("=i12s", len(part), part)
        else:
            if len(data) + len(part) > 2**31 - 1:
                raise ValueError("more than 2^31 bytes in one array of views")
            views += struct.pack("=i4sii", len(part), part[:4], 0, len(data))
            data += part
    variadic = [bytes(data)] if data else []
    sizes = _array.array("q", [len(v) for v in variadic])
    return from_buffers(schema, len(values), [validity, bytes(views), *variadic, sizes], null_count=nulls)
