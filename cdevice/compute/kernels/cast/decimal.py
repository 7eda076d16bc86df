"""Decimals: the types that arithmetic gives, and which kernels have them.

All arithmetic is that of decimal128 and decimal256, as Arrow has it: narrower ones and integers become one of these
first, and beside floats all become float64.
"""

from __future__ import annotations

import struct

from ....errors import ArgumentError
from ...dispatch.bounded import Bounded
from ...dispatch.datum import Datum
from ...dispatch.types import (
    DIGITS,
    FLOATS,
    HALF,
    MOST_DIGITS,
    decimal_bits,
    decimal_format,
    decimal_of,
    kernel_type,
    parts_of,
)
from ...errors import NoKernel
from ..elementwise import PACK, Map, WithNumbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...._types import DeviceArray
    from ...dispatch.call import Call


def format_of(precision: int, scale: int, bits: int = 128) -> str:
    """A decimal.  Raises ArgumentError for more digits than it has."""
    if not 1 <= precision <= MOST_DIGITS[bits]:
        raise ArgumentError(f"Decimal precision out of range [1, {MOST_DIGITS[bits]}]: {precision}")  # Arrow's text
    return decimal_format(precision, scale, bits)


def is_decimal128(format: str) -> bool:
    """Is it one?"""
    d = decimal_of(format)
    return d is not None and d[2] == 128


def is_decimal(format: str) -> bool:
    """Is it a decimal of any width?"""
    return decimal_of(format) is not None


def is_decimal256(format: str) -> bool:
    """Is it one?"""
    d = decimal_of(format)
    return d is not None and d[2] == 256


def is_wide(format: str) -> bool:
    """Is it a decimal of 128 bits or more?"""
    d = decimal_of(format)
    return d is not None and d[2] >= 128


def at_least_128(format: str) -> str:
    """A decimal of 32 or 64 bits as a decimal128; others as they are."""
    d = decimal_of(format)
    return format if d is None or d[2] >= 128 else decimal_format(d[0], d[1], 128)


def scale_of(format: str) -> int:
    """What decimals that are added and compared have in common."""
    d = decimal_of(format)
    return 0 if d is None else d[1]


def _refuse_negative(parts: Sequence[tuple[int, int]]) -> None:
    if any(s < 0 for _, s in parts):
        raise NoKernel("Decimals with negative scales not supported")


def _as_floats(formats: Sequence[str]) -> tuple[str, ...] | None:
    """Decimals and integers beside floats become float64."""
    if not any(f in FLOATS + HALF for f in formats):
        return None
    others = [f for f in formats if f not in FLOATS + HALF]
    return ("g",) * len(formats) if parts_of(others) is not None else None


def of_one_scale(formats: Sequence[str]) -> tuple[str, ...] | None:
    """What decimals and numbers become before they are added or compared.  None: there are other types.

    Raises ArgumentError where one would have too many digits.
    """
    parts = parts_of(formats)
    if parts is None:
        return _as_floats(formats)
    if len(parts) > 1:
        _refuse_negative(parts)
    most, bits = max(s for _, s in parts), decimal_bits(formats)
    return tuple([format_of(p + most - s, most, bits) for p, s in parts])


def as_wide(formats: Sequence[str]) -> tuple[str, ...] | None:
    """What they become before they are multiplied."""
    parts = parts_of(formats)
    if parts is None:
        return _as_floats(formats)
    _refuse_negative(parts)
    return tuple([format_of(p, s, decimal_bits(formats)) for p, s in parts])


def as_quotient(formats: Sequence[str]) -> tuple[str, str]:
    """What they become before they are divided: the dividend gets the digits that the result has behind its point."""
    parts = parts_of(formats) or []
    _refuse_negative(parts)
    ((p, s), (q, t)), bits = parts, decimal_bits(formats)
    more = max(4, s + q - t + 1) + t - s
    return format_of(p + more, s + more, bits), format_of(q, t, bits)


def sum_of(formats: Sequence[str]) -> str:
    """The type of a sum or a difference.  Raises ArgumentError where it has too many digits."""
    parts = parts_of(formats) or []
    _refuse_negative(parts)
    return format_of(max(p for p, _ in parts) + 1, max(s for _, s in parts), decimal_bits(formats))


def product_of(formats: Sequence[str]) -> str:
    """The type of a product.  Raises ArgumentError where it has too many digits."""
    parts = parts_of(formats) or []
    _refuse_negative(parts)
    return format_of(sum(p for p, _ in parts) + 1, sum(s for _, s in parts), decimal_bits(formats))


def quotient_of(formats: Sequence[str]) -> str:
    """The type of a quotient of arguments that as_quotient() has made."""
    (p, s), (_, t) = parts_of(formats) or [(0, 0)] * 2
    return format_of(p, s - t, decimal_bits(formats))


# for each function the type of its result, and what its arguments become before
ARITHMETIC: dict[str, tuple[Callable[[Sequence[str]], str], Callable[[Sequence[str]], tuple[str, ...] | None]]] = {
    "add": (sum_of, of_one_scale),
    "subtract": (sum_of, of_one_scale),
    "multiply": (product_of, as_wide),
    "divide": (quotient_of, as_wide),
}


def arithmetic(name: str, function_name: str, bits: int) -> Map | Quotient:
    """What computes with two decimals of 128 or 256 bits.  Nothing wraps: the result's type has room."""
    type, storage = ("w128", "ll") if bits == 128 else ("w256", "WW")
    out, divides = ARITHMETIC[name][0], name == "divide"
    made = Map("arith", type, name, storage, out, checked=divides, function_name=function_name)
    return Quotient(made) if divides else made


class Quotient:
    """``exec`` of divide of two decimals of one width."""

    __slots__ = ("divide",)

    def __init__(self, divide: Map) -> None:
        self.divide = divide

    def __call__(self, call: Call, a: Datum, b: Datum) -> DeviceArray:
        source = a.format or ""
        if any(x.array is None and x.value is None for x in (a, b)):  # pyarrow gives nothing more digits
            return self.divide(call, a, b)
        to, _ = as_quotient([source, b.format or ""])
        if to != source:
            grow = rescale(source, to, False)
            assert grow is not None
            a = Datum(grow(call, a), to, one=a.one)
        return self.divide(call, a, b)


def comparison(kernel: str, swap: bool, function_name: str, bits: int) -> Map:
    """What compares decimals of one scale."""
    type, storage = ("w128", "ll") if bits == 128 else ("w256", "WW")
    return Map("compare", type, kernel, storage, "b", unit=PACK, swap=swap, function_name=function_name)


_reals: Bounded[tuple[str, str], WithNumbers] = Bounded(100)


def as_float64(call: Call, values: Datum) -> Datum:
    """Decimals as float64."""
    return Datum(as_real(values.format or "", "g")(call, values), "g")


def as_real(format: str, to: str) -> WithNumbers:
    """What makes floats of decimals: Arrow's, each within one unit in the last place of the nearest."""
    made = _reals.get((format, to))
    if made is None:
        scale = (decimal_of(format) or (0, 0, 0))[1]
        a, b = kernel_type(format), kernel_type(to)
        map = Map("decimal_real", f"{a} {b}", f"real_{a}", "lll", to, function_name="cast")
        made = _reals.put((format, to), WithNumbers(map, scale, _bits_of_power(-scale, to)))
    return made


def _bits_of_power(k: int, format: str) -> int:
    """The bits of the float that is nearest to a power of ten."""
    try:
        raw = struct.pack("<f" if format == "f" else "<d", float(f"1e{k}"))
    except OverflowError:
        raw = struct.pack("<f", float("inf"))
    return int.from_bytes(raw, "little", signed=True)


class InTwo:
    """``exec`` of a cast by way of another type."""

    __slots__ = ("first", "second")

    def __init__(self, first: Map | WithNumbers, second: WithNumbers | InTwo) -> None:
        self.first, self.second = first, second

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        made = self.first(call, a)
        return self.second(call, Datum(made, made._format))


_doubled = Map("cast", "f32 f64", "cast_f32", "f", "g", function_name="cast")


def _of_reals(a: str, b: str, safe: bool) -> WithNumbers | InTwo | None:
    """What makes decimals of floats: the nearest ones, as Arrow rounds them."""
    precision, scale, bits = decimal_of(b) or (0, 0, 0)
    if scale < 0 and a == "f" and bits >= 128:  # whose product Arrow makes in float64
        double = _of_reals("g", b, safe)
        return None if double is None else InTwo(_doubled, double)
    wide = decimal_format(precision, scale, max(bits, 128))
    s, t = kernel_type(a), kernel_type(wide)
    name = f"decimal_{'checked_' * safe}{s}"
    map = Map("real_decimal", f"{s} {t}", name, a + "ll", wide, checked=safe, function_name="cast")
    most = 9 if scale < 0 else MOST_DIGITS[bits]  # as few digits: by a product, as in Arrow
    made = WithNumbers(map, max(scale, 0) | precision << 8 | most << 16, _bits_of_power(scale, a))
    if bits >= 128:
        return made
    narrow = rescale(wide, b, False)
    return None if narrow is None else InTwo(made, narrow)


def between(a: str, b: str) -> str | None:
    """What a decimal or an integer is cast to on its way to another, where kernels have no such pair: they have
    decimal128 on one side, or decimal256 on both.  Raises ArgumentError as :func:`cast` does.  None: nothing."""
    d, to = decimal_of(a), decimal_of(b)
    if (d or to) is None or parts_of([a, b]) is None:
        return None
    types = kernel_type(a), kernel_type(b)
    if "w128" in types or types == ("w256", "w256"):
        return None
    _require_digits(a, b)
    if types[1] == "w256":
        return f"d:{d[0]},{d[1]}" if d else f"d:{DIGITS[a]},0"
    if types[0] == "w256":
        return f"d:{to[0]},{to[1]}" if to else f"d:{MOST_DIGITS[128]},0"
    precision, scale, _ = to or d or (0, 0, 0)
    return f"d:{precision},{scale}"


def _require_digits(a: str, b: str) -> None:
    to = decimal_of(b)
    if to is not None and a in DIGITS and to[0] < DIGITS[a] + to[1]:
        least = DIGITS[a] + to[1]
        raise ArgumentError(f"Precision is not great enough for the result. It should be at least {least}")


def cast(a: str, b: str, safe: bool) -> WithNumbers | InTwo | None:
    """From one type to another, of which one is a decimal.  None: there is none.

    Raises ArgumentError where an integer may have more digits than the result.
    """
    if a in FLOATS:
        return _of_reals(a, b, safe)
    return as_real(a, b) if b in FLOATS else rescale(a, b, safe)


def rescale(a: str, b: str, safe: bool) -> WithNumbers | None:
    """The same where the other type is a decimal or an integer."""
    parts, result = parts_of([a, b]), decimal_of(b)
    if parts is None:
        return None
    s_type, t_type = kernel_type(a), kernel_type(b)
    if "w128" not in (s_type, t_type) and not s_type == t_type == "w256":
        return None
    _require_digits(a, b)
    (p, s), (q, t) = parts
    never_loses = result is not None and t >= s and q - t >= p - s
    checked = safe and not never_loses
    name = f"rescale_{'checked_' * checked}{s_type}"
    made = Map("decimal_rescale", f"{s_type} {t_type}", name, "lll", b, checked=checked, function_name="cast")
    return WithNumbers(made, t - s, q if result else MOST_DIGITS[decimal_bits([a])] + 1)
