"""Bools, integers, floats, decimals and intervals in the bytes of their types."""

from __future__ import annotations

import decimal
import operator
import struct

from .convert import converted
from .units import CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import Schema

EXACT_INTEGERS = {"e": 11, "f": 24, "g": 53}  # bits of the significand


def dtype_kind(v: Any) -> str:
    """ "i", "f", "b" ... of numpy's scalars; "" of other objects."""
    return getattr(getattr(v, "dtype", None), "kind", "") if type(v).__module__ == "numpy" else ""


def is_bool(v: Any) -> bool:
    return isinstance(v, bool) or dtype_kind(v) == "b"


def as_int(v: Any) -> int:
    if is_bool(v):
        raise TypeError("expected a number, not a bool")
    if isinstance(v, int):
        return int(v)
    try:
        return operator.index(v)
    except TypeError:
        if hasattr(v, "__index__"):
            raise  # its own words
        raise TypeError("expected int") from None


def integer_of(code: str) -> Any:
    size = struct.calcsize("=" + code)
    low, high = (0, (1 << 8 * size) - 1) if code.isupper() else (-1 << 8 * size - 1, (1 << 8 * size - 1) - 1)

    def convert(v: Any) -> Any:
        n = as_int(v)
        if not low <= n <= high:
            raise ValueError(f"expected a value from {low} to {high}")
        return n

    return convert


def float_of(f: str) -> Any:
    bits, code = EXACT_INTEGERS[f], "=" + CODES[f]

    def convert(v: Any) -> Any:
        if isinstance(v, float) or dtype_kind(v) == "f":
            out = float(v)
        else:
            if not hasattr(v, "__index__"):
                raise TypeError("expected float or int")
            n = as_int(v)
            m = abs(n)
            if m >> bits and m & ((1 << m.bit_length() - bits) - 1):
                raise ValueError(f"integers of more than {bits} bits are not exact in this type")
            out = float(n)
        struct.pack(code, out)  # OverflowError
        return out

    return convert


def packed(values: list[Any], code: str, convert: Callable[..., Any], schema: Schema) -> bytes:
    """The bytes of fixed-width numbers, 0 for None."""
    fast = {"d": float}.get(code, None if code in "ef" else int)
    if set(map(type, values)) == {fast}:
        try:
            return struct.pack(f"={len(values)}{code}", *values)
        except struct.error:
            pass  # one does not fit: below it is named
    return struct.pack(f"={len(values)}{code}", *converted(values, convert, schema, 0))


def interval_of(code: str) -> Any:
    """Tuples of integers, as pyarrow's and our own named tuples are."""
    parts = [integer_of(c) for c in code]

    def convert(v: Any) -> Any:
        if not isinstance(v, (tuple, list)) or len(v) != len(parts):
            raise TypeError(f"expected a tuple of {len(parts)} integers")
        return struct.pack("=" + code, *(to(x) for to, x in zip(parts, v)))

    return convert


def decimal_of(f: str) -> tuple[Callable[[Any], bytes], bytes]:
    numbers = f[2:].split(",")
    precision, scale, width = int(numbers[0]), int(numbers[1]), int(numbers[2]) // 8 if len(numbers) == 3 else 16
    context = decimal.Context(prec=1000, traps=[decimal.InvalidOperation])

    def convert(v: Any) -> Any:
        if not isinstance(v, decimal.Decimal):
            if not hasattr(v, "__index__"):
                raise TypeError("expected decimal.Decimal or int")
            v = decimal.Decimal(as_int(v))
        if not v.is_finite():
            raise ValueError("expected a finite decimal")
        _, digits, exponent = v.as_tuple()
        if v and not -1000 < exponent + scale + len(digits) <= precision:
            raise ValueError(f"the value has more than {precision} digits")
        unscaled = 0
        if v:
            exact = context.scaleb(v, scale)
            unscaled = int(exact)
            if unscaled != exact:
                raise ValueError(f"the value has more than {scale} digits after the decimal point")
        return unscaled.to_bytes(width, "little", signed=True)

    return convert, bytes(width)
