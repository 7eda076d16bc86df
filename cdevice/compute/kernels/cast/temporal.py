"""Casts between times."""

from __future__ import annotations

from ....errors import ArgumentError
from ...dispatch.datum import Datum
from ...dispatch.types import kernel_type, kind_of_time, words_of
from ..elementwise import PACK, Map, WithNumbers, schema_of
from ..selection.take import filter_array, with_schema
from ..temporal import PER_SECOND, local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...._types import DeviceArray
    from ...dispatch.call import Call

_DAY = 86400
_less = Map("compare", "i64", "less", "ll", "b", unit=PACK)


class TimeDifference:
    """``exec`` of subtract of two times of day, which are less than a day apart: a duration."""

    __slots__ = ("subtract", "widen")

    def __init__(self, format: str, out: str) -> None:
        narrow = kernel_type(format) == "i32"
        self.widen = Map("cast", "i32 i64", "cast_i32", "i", "l", function_name="subtract") if narrow else None
        self.subtract = Map("arith", "i64", "subtract", "ll", out, function_name="subtract")

    def __call__(self, call: Call, a: Datum, b: Datum) -> DeviceArray:
        if self.widen is not None:
            a, b = (Datum(self.widen(call, x), "l", one=x.one or x.array is None) for x in (a, b))
        return self.subtract(call, a, b)


class TimeShift:
    """``exec`` of add and subtract of a time of day and a duration of its unit.  Blocks: the sum must be of one day."""

    __slots__ = ("most", "narrow", "shift", "widen")

    def __init__(self, name: str, format: str) -> None:
        unit = format[2]
        small, word = kernel_type(format) == "i32", name.removesuffix("_checked")
        self.most = _DAY * PER_SECOND[unit]
        self.widen = Map("cast", "i32 i64", "cast_i32", "i", "l", function_name=name) if small else None
        self.shift = Map("arith", "i64", word, "ll", "l" if small else format, function_name=name)
        self.narrow = Map("cast", "i64 i32", "cast_i64", "l", format, function_name=name) if small else None

    def __call__(self, call: Call, a: Datum, b: Datum) -> DeviceArray:
        if self.widen is not None:
            a, b = (
                Datum(self.widen(call, x), "l", one=x.one or x.array is None) if (x.format or "")[:2] == "tt" else x
                for x in (a, b)
            )
        out = self.shift(call, a, b)
        counts = with_schema(out, schema_of("l"))
        known = Datum(value=0, format="l"), Datum(value=self.most - 1, format="l")
        outside = [_less(call, Datum(counts, "l"), known[0]), _less(call, known[1], Datum(counts, "l"))]
        for mask in outside:
            bad = filter_array(call, counts, mask, False)
            if bad.length:
                value = bad[:1].to("cpu").to_pylist()[0]
                raise ArgumentError(f"{call.function.name}: {value} is not within a day: from 0 to {self.most - 1}")
        return out if self.narrow is None else self.narrow(call, Datum(out, "l"))


class DurationQuotient:
    """``exec`` of divide of two durations of one unit, as floats."""

    __slots__ = ("divide", "widen")

    def __init__(self, name: str) -> None:
        self.widen = Map("cast", "i64 f64", "cast_i64", "l", "g", function_name=name)
        kernel = name if name == "divide_checked" else "divide"
        self.divide = Map("arith", "f64", kernel, "gg", "g", checked=name == "divide_checked", function_name=name)

    def __call__(self, call: Call, a: Datum, b: Datum) -> DeviceArray:
        a, b = (Datum(self.widen(call, x), "g", one=x.one or x.array is None) for x in (a, b))
        return self.divide(call, a, b)


class OfClocks:
    """``exec`` of a cast of what the clocks of a zone show."""

    __slots__ = ("cast",)

    def __init__(self, cast: WithNumbers) -> None:
        self.cast = cast

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        return self.cast(call, local(call, a))


def _per_day(format: str) -> int:
    return 1 if format == "tdD" else _DAY * PER_SECOND[format[2]]


def cast(a: str, b: str, safe: bool) -> WithNumbers | OfClocks | None:
    """From one time to another.  None: Arrow has no such cast."""
    kinds = kind_of_time(a), kind_of_time(b)
    if kinds in (("timestamp", "date"), ("timestamp", "time")):
        if kinds[1] == "date":
            made = _made("date", a, b, False, _per_day(a), _per_day(b))
        else:
            by = _ratio(a, b)
            made = _made("clock", a, b, safe and by < 0, _per_day(a), by)
        return OfClocks(made) if a[4:] else made
    if kinds[0] is None or (kinds[0] != kinds[1] and kinds != ("date", "timestamp")):
        return None
    by = _ratio(a, b)
    grows = kernel_type(a) == "i32" and kernel_type(b) == "i64" and by < 1 << 32
    return _made("scale", a, b, safe and by != 1 and not (by > 0 and grows), by, 0)


def _ratio(a: str, b: str) -> int:
    """How many of b are one of a; below 0: how many of a are one of b."""
    one, other = _per_day(a), _per_day(b)
    return other // one if other >= one else -(one // other)


def _made(name: str, a: str, b: str, checked: bool, first: int, second: int) -> WithNumbers:
    s, t = kernel_type(a), kernel_type(b)
    if name == "scale":
        said = f"cast: Casting from {words_of(a)} to {words_of(b)}"
        kernel = Map(
            "temporal", f"{s} {t}", f"scale_{'checked_' * checked}{s}", "lll", b, checked=checked, function_name=said
        )
    else:
        kernel = Map("timestamp_parts", t, name + "_checked" * checked, "lll", b, checked=checked, function_name="cast")
    return WithNumbers(kernel, first, second)
