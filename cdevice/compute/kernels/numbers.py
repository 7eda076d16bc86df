"""Rounding, and the least or greatest of several arguments."""

from __future__ import annotations

import decimal
import struct

from ...errors import ArgumentError
from ..dispatch.datum import Datum, lone
from ..dispatch.types import DIGITS, bits_of, decimal_of, is_binary, kernel_type, storage_of, words_of
from ..errors import ValueOutOfRange
from ..number_options import MODES
from .cast.binary import Compare
from .cast.decimal import as_float64
from .cast.numeric import cast_argument
from .elementwise import KLEENE, NEVER, ROW, SKIPPED, WHERE_ANY, WORD, Map
from .selection import choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_BY, _CHECKS, _ONE = 16, 32, 64  # ROUND_* in protocol.h
_MOST_DIGITS = {"c": 2, "s": 4, "i": 9, "l": 18, "C": 2, "S": 4, "I": 9, "L": 19}  # powers of ten that fit
_maps: dict[tuple[str, ...], Map] = {}


def _map(name: str, family: str, type: str, kernel: str, out: str, letters: str, checked: bool, rule: int) -> Map:
    key = (name, family, type, kernel, out, letters, str(checked), str(rule))
    found = _maps.get(key)
    if found is None:
        made = Map(family, type, kernel, letters, out, unit=ROW, rule=rule, checked=checked, function_name=name)
        if len(_maps) < 4000:
            _maps[key] = made
        return made
    return found


def _number(x: int) -> Datum:
    return Datum(value=x, format="l")


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


def _rows(call: Call, a: Datum) -> Datum:
    return lone(call, a) if a.array is None else a


def _power_of_ten(digits: int) -> float:
    """As Arrow has it: above 10**10 products of the nearest float32."""
    digits = min(abs(digits), 400)
    (power,) = struct.unpack("f", struct.pack("f", 10.0 ** min(digits, 15)))
    for _ in range(15, digits):
        power *= 10.0
    return float(power)


def _bits(x: float, format: str) -> int:
    """A float, which may be beyond those of the type: infinite."""
    try:
        return _signed(bits_of(x, format))
    except (OverflowError, ValueOutOfRange):
        return bits_of(float("inf"), format)


def _round_floats(call: Call, a: Datum, p: float, flags: int, checked: bool) -> DeviceArray:
    format = a.format or ""
    flags |= _CHECKS * checked
    made = _map(
        call.function.name, "rounding", kernel_type(format), "round_to", format, format + "ll", checked, WHERE_ANY
    )
    return made(call, a, _number(_bits(p, format)), _number(flags))


def _round_decimals(call: Call, a: Datum, multiple: int, mode: int) -> DeviceArray:
    """``multiple``: without its point."""
    format = a.format or ""
    precision, scale, _ = decimal_of(format) or (0, 0, 0)
    digits = tuple(map(int, str(multiple)))
    m = lone(call, Datum(value=decimal.Decimal((0, digits, -scale)), format=format))  # type: ignore[arg-type]
    made = _map(call.function.name, "rounding", kernel_type(format), "round_to", format, "lll", True, WHERE_ANY)
    return made(call, a, m, _number(mode | precision << 8))


def round_by_mode(mode: str) -> Callable[[Call, Datum], DeviceArray]:
    """``exec`` of floor, ceil and trunc."""

    def exec(call: Call, a: Datum) -> DeviceArray:
        return _round_digits(call, _rows(call, a), 0, MODES.index(mode))

    return exec


def round_(call: Call, a: Datum) -> DeviceArray:
    """``exec`` of round."""
    return _round_digits(call, _rows(call, a), call.options.ndigits, MODES.index(call.options.round_mode))


def _round_digits(call: Call, a: Datum, digits: int, mode: int) -> DeviceArray:
    format, name = a.format or "", call.function.name
    assert a.array is not None
    if format in ("f", "g"):
        flags = mode | _BY * (digits > 0) | _ONE * (not digits)
        return _round_floats(call, a, _power_of_ten(digits), flags, digits != 0)
    d = decimal_of(format)
    if d is not None:
        cut = d[1] - digits
        if cut <= 0:
            return a.array
        if cut >= d[0]:
            raise ArgumentError(f"{name}: Rounding to {digits} digits will not fit in precision of {words_of(format)}")
        return _round_decimals(call, a, 10**cut, mode)
    if digits >= 0:
        return a.array
    if -digits > _MOST_DIGITS[format]:
        raise ArgumentError(f"{name}: Rounding to {digits} digits is out of range for type {words_of(format)}")
    return _round_integers(call, a, 10**-digits, mode)


def _round_integers(call: Call, a: Datum, multiple: int, mode: int) -> DeviceArray:
    format = a.format or ""
    made = _map(call.function.name, "rounding", kernel_type(format), "round_to", format, format + "ll", True, WHERE_ANY)
    return made(call, a, _number(_signed(multiple)), _number(mode))


def round_binary(call: Call, a: Datum, digits: Datum) -> DeviceArray:
    """``exec`` of round_binary."""
    a, format, flags = _rows(call, a), a.format or "", MODES.index(call.options.round_mode)
    d = decimal_of(format)
    if d is not None:
        flags |= d[0] << 8 | d[1] << 16
    type = kernel_type(format)
    letters = ("l" if d else format) + "il"
    made = _map(call.function.name, "rounding", type, "round_binary", format, letters, True, WHERE_ANY)
    return made(call, a, digits, _number(flags))


def round_to_multiple(call: Call, a: Datum) -> DeviceArray:
    """``exec`` of round_to_multiple."""
    a, mode, format, name = _rows(call, a), MODES.index(call.options.round_mode), a.format or "", call.function.name
    multiple = call.options.multiple
    if hasattr(multiple, "as_py"):
        multiple = multiple.as_py()
    if multiple is None:
        raise ArgumentError(f"{name}: Rounding multiple must be non-null and valid")
    if isinstance(multiple, bool) or not hasattr(multiple, "__float__") or not multiple > 0:
        raise ArgumentError(f"{name}: Rounding multiple must be positive, not {multiple!r:.60}")
    if format in ("f", "g"):
        return _round_floats(call, a, float(multiple), mode, True)
    d = decimal_of(format)
    if d is not None:
        return _round_decimals(call, a, _unscaled(name, multiple, format), mode)
    if multiple != multiple or multiple in (float("inf"),) or int(multiple) != multiple:
        raise ArgumentError(f"{name}: the multiple {multiple} was truncated converting to {words_of(format)}")
    bits_of(int(multiple), format)  # or an error
    return _round_integers(call, a, int(multiple), mode)


def _unscaled(name: str, multiple: Any, format: str) -> int:
    """The multiple of decimals, without its point.  Raises ArgumentError for one that is none of the type."""
    precision, scale, _ = decimal_of(format) or (0, 0, 0)
    if isinstance(multiple, float) and multiple in (float("inf"),):
        raise ArgumentError(f"{name}: Cannot convert {multiple} to {words_of(format)}")
    if isinstance(multiple, int) and DIGITS["l"] + scale > precision:
        least = DIGITS["l"] + scale
        raise ArgumentError(
            f"{name}: Precision is not great enough for the result. It should be at least {least}: give a Decimal"
        )
    with decimal.localcontext() as context:
        context.prec = 400
        exact = decimal.Decimal(multiple) if isinstance(multiple, (int, float)) else multiple
        scaled = exact.scaleb(scale)
        whole = int(scaled.to_integral_value(decimal.ROUND_HALF_EVEN))
    if not isinstance(multiple, float) and whole != scaled:
        raise ArgumentError(f"{name}: Rescaling Decimal value would cause data loss: the multiple {multiple}")
    if whole >= 10**precision:
        raise ArgumentError(f"{name}: Decimal value does not fit in precision {precision}: the multiple {multiple}")
    if not whole:
        raise ArgumentError(f"{name}: Rounding multiple must be positive, not {multiple} as {words_of(format)}")
    return whole


class AsReals:
    """``exec`` of a function of decimals, beside numbers: as float64."""

    __slots__ = ("exec",)

    def __init__(self, exec: Callable[..., DeviceArray]) -> None:
        self.exec = exec

    def __call__(self, call: Call, *args: Datum) -> DeviceArray:
        return self.exec(call, *(_real(call, a) for a in args))


def _real(call: Call, a: Datum) -> Datum:
    if decimal_of(a.format or "") is None:
        return cast_argument(call, a, "g", True)
    one = a.array is None or a.one
    return Datum(as_float64(call, _rows(call, a)).array, "g", one=one)


# ---- the least and the greatest of several arguments ----
_is_valid = Map("boolean", "bits", "is_valid", "b", "b", unit=WORD, rule=NEVER)
_is_null = Map("boolean", "bits", "is_null", "b", "b", unit=WORD, rule=NEVER)
_and = Map("boolean", "bits", "and_kleene", "bb", "b", unit=WORD, rule=KLEENE)
_or = Map("boolean", "bits", "or_kleene", "bb", "b", unit=WORD, rule=KLEENE)


def element_wise(least: bool) -> Callable[..., DeviceArray]:
    """``exec`` of min_element_wise and max_element_wise."""

    def exec(call: Call, *args: Datum) -> DeviceArray:
        out = args[0]
        for other in args[1:]:
            pick = _pick_bytes if is_binary(out.format or "") else _pick
            one = all(x.array is None or x.one for x in (out, other))
            out = Datum(pick(call, out, other, least), out.format, one=one)
        array = _rows(call, out).array
        assert array is not None
        return array

    return exec


def _pick(call: Call, a: Datum, b: Datum, least: bool) -> DeviceArray:
    format, skip = a.format or "", call.options.skip_nulls
    letter = storage_of(format) or "l"
    kernel = ("least" if least else "greatest") + "_known" * skip
    rule = SKIPPED if skip else WHERE_ANY
    made = _map(call.function.name, "pick", kernel_type(format), kernel, format, letter * 2, False, rule)
    return made(call, a, b)


def _pick_bytes(call: Call, a: Datum, b: Datum, least: bool) -> DeviceArray:
    """By a comparison, and a choice of rows."""
    a, b = _rows(call, a), _rows(call, b)
    first = Datum(Compare("less_equal" if least else "greater_equal")(call, a, b), "b", one=a.one and b.one)
    if call.options.skip_nulls:  # the one that is not null
        known = Datum(_is_valid(call, a), "b", one=a.one)
        missing = Datum(_is_null(call, b), "b", one=b.one)
        first = Datum(_or(call, first, missing), "b", one=first.one)
        first = Datum(_and(call, first, known), "b", one=first.one)
    return choose.choose_any(call, Datum(first.array, "b"), a, b)
