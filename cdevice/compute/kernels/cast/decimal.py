"""Decimals: the types that arithmetic gives, and which kernels have them.

All arithmetic is decimal128's, as Arrow has it: narrower ones and integers become that first.
"""

from __future__ import annotations

from ....errors import ArgumentError
from ...dispatch.bounded import Bounded
from ...dispatch.datum import Datum
from ...dispatch.types import decimal_of, kernel_type, parts_of
from ...errors import NoKernel
from ..elementwise import PACK, Map, WithNumbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...dispatch.call import Call

_MOST, _MOST_OF_256 = 38, 76


def format_of(precision: int, scale: int) -> str:
    """A decimal128.  Raises ArgumentError for more digits than it has."""
    if not 1 <= precision <= _MOST:
        raise ArgumentError(f"Decimal precision out of range [1, {_MOST}]: {precision}")  # Arrow's text
    return f"d:{precision},{scale}"


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


def is_narrow(format: str) -> bool:
    """Is it a decimal of at most 128 bits?"""
    d = decimal_of(format)
    return d is not None and d[2] <= 128


def scale_of(format: str) -> int:
    """What decimals that are added and compared have in common."""
    d = decimal_of(format)
    return 0 if d is None else d[1]


def _refuse_negative(parts: Sequence[tuple[int, int]]) -> None:
    if any(s < 0 for _, s in parts):
        raise NoKernel("Decimals with negative scales not supported")


def of_one_scale(formats: Sequence[str]) -> tuple[str, ...] | None:
    """What decimals and integers become before they are added or compared.  None: there are other types.

    Raises ArgumentError where one would have too many digits.
    """
    parts = parts_of(formats)
    if parts is None:
        return None
    if len(parts) > 1:
        _refuse_negative(parts)
    most = max(s for _, s in parts)
    return tuple([format_of(p + most - s, most) for p, s in parts])


def as_wide(formats: Sequence[str]) -> tuple[str, ...] | None:
    """What they become before they are multiplied."""
    parts = parts_of(formats)
    if parts is None:
        return None
    _refuse_negative(parts)
    return tuple([format_of(p, s) for p, s in parts])


def sum_of(formats: Sequence[str]) -> str:
    """The type of a sum or a difference.  Raises ArgumentError where it has too many digits."""
    parts = parts_of(formats) or []
    _refuse_negative(parts)
    return format_of(max(p for p, _ in parts) + 1, max(s for _, s in parts))


def product_of(formats: Sequence[str]) -> str:
    """The type of a product.  Raises ArgumentError where it has too many digits."""
    parts = parts_of(formats) or []
    _refuse_negative(parts)
    return format_of(sum(p for p, _ in parts) + 1, sum(s for _, s in parts))


ARITHMETIC: dict[str, Callable[[Sequence[str]], str]] = {"add": sum_of, "subtract": sum_of, "multiply": product_of}


def arithmetic(name: str, function_name: str) -> Map:
    """What adds, subtracts or multiplies.  Nothing wraps: the result's type has room."""
    return Map("arith", "w128", name, "ll", ARITHMETIC[name], function_name=function_name)


def comparison(kernel: str, swap: bool, function_name: str) -> Map:
    """What compares decimals of one scale."""
    return Map("compare", "w128", kernel, "ll", "b", unit=PACK, swap=swap, function_name=function_name)


def arithmetic256(name: str, function_name: str) -> Map:
    """The same of two decimal256 of one scale."""

    def out(formats: Sequence[str]) -> str:
        parts = [(decimal_of(f) or (0, 0, 0))[:2] for f in formats]
        _refuse_negative(parts)
        product = name == "multiply"
        digits, scale = (sum if product else max)(p for p, _ in parts) + 1, parts[0][1]
        if digits > _MOST_OF_256:
            raise ArgumentError(f"Decimal precision out of range [1, {_MOST_OF_256}]: {digits}")
        return f"d:{digits},{2 * scale if product else scale},256"

    return Map("arith", "w256", name, "WW", out, function_name=function_name)


def comparison256(kernel: str, swap: bool, function_name: str) -> Map:
    """What compares decimal256 of one scale."""
    return Map("compare", "w256", kernel, "WW", "b", unit=PACK, swap=swap, function_name=function_name)


_reals: Bounded[str, WithNumbers] = Bounded(100)


def as_float64(call: Call, values: Datum) -> Datum:
    """Decimals as the nearest numbers, or those next to them."""
    format = values.format or ""
    scale = (decimal_of(format) or (0, 0, 0))[1]
    made = _reals.get(format)
    if made is None:
        map = Map("decimal_real", kernel_type(format), "real", "lll", "g", function_name="cast")
        made = _reals.put(format, WithNumbers(map, scale, 0))
    return Datum(made(call, values), "g")


def between(a: str, b: str) -> str | None:
    """What a type is cast to on its way to another, where kernels have neither: they have decimal128 on one side."""
    d = decimal_of(b) or decimal_of(a)
    if d is None or parts_of([a, b]) is None or "w128" in (kernel_type(a), kernel_type(b)):
        return None
    return f"d:{d[0]},{d[1]}"


def cast(a: str, b: str, safe: bool) -> WithNumbers | None:
    """From one type to another, of which one is a decimal128.  None: there is none.

    Raises ArgumentError where an integer may have more digits than the result.
    """
    parts, result = parts_of([a, b]), decimal_of(b)
    if parts is None or "w128" not in (kernel_type(a), kernel_type(b)):
        return None
    (p, s), (q, t) = parts
    if decimal_of(a) is None and q < p + t:
        raise ArgumentError(f"Precision is not great enough for the result. It should be at least {p + t}")
    never_loses = result is not None and t >= s and q - t >= p - s
    checked, s_type, t_type = safe and not never_loses, kernel_type(a), kernel_type(b)
    name = f"rescale_{'checked_' * checked}{s_type}"
    made = Map("decimal_rescale", f"{s_type} {t_type}", name, "lll", b, checked=checked, function_name="cast")
    return WithNumbers(made, t - s, q if result else 39)
