"""Arrays of types whose values all have one width."""

from __future__ import annotations

import functools
import struct

from .._arrays.from_buffers import from_buffers
from .binary import of_width
from .convert import bitmap, converted, validity_of
from .numeric import EXACT_INTEGERS, decimal_of, float_of, integer_of, interval_of, is_bool, packed
from .temporal import temporal_of
from .units import CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import DeviceArray, Schema


def _as_bool(v: Any) -> bool:
    if not is_bool(v):
        raise TypeError("expected bool")
    return bool(v)


def _joined(convert: Callable[[Any], bytes], missing: Any) -> Any:
    """Encodes values whose bytes stand one after the other."""
    return lambda values, schema: b"".join(converted(values, convert, schema, missing))


@functools.lru_cache(256)
def values_of(f: str) -> Any:
    """What encodes the values buffer of a fixed-width type: a function of (values, schema)."""
    if f == "b":
        return lambda values, schema: bitmap(converted(values, _as_bool, schema, False))
    if f.startswith("d:"):
        return _joined(*decimal_of(f))
    if f.startswith("w:"):
        return _joined(of_width(int(f[2:])), bytes(int(f[2:])))
    if f in ("tiD", "tin"):
        code = "ii" if f == "tiD" else "iiq"
        return _joined(interval_of(code), bytes(struct.calcsize("=" + code)))
    if f == "tiM":
        code, convert = "i", integer_of("i")
    elif f in EXACT_INTEGERS:
        code, convert = CODES[f], float_of(f)
    elif f in CODES:
        code, convert = CODES[f], integer_of(CODES[f])
    else:
        code, convert = temporal_of(f)
    return lambda values, schema: packed(values, code, convert, schema)


def encode_fixed(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = validity_of(values)
    return from_buffers(schema, len(values), [validity, values_of(f)(values, schema)], null_count=nulls)
