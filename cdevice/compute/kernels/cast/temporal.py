"""Casts between times."""

from __future__ import annotations

from ...dispatch.datum import Datum
from ...dispatch.types import kernel_type, kind_of_time, words_of
from ...errors import NoKernel
from ..elementwise import Map, WithNumbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...._types import DeviceArray
    from ...dispatch.call import Call

PER_SECOND = {"s": 1, "m": 1000, "u": 1000000, "n": 1000000000}  # how many a second has
_DAY = 86400
_TO_ZONE = ("", "UTC", "Etc/UTC")  # whose clocks are those of the stored numbers


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


def _per_day(format: str) -> int:
    return 1 if format == "tdD" else _DAY * PER_SECOND[format[2]]


def cast(a: str, b: str, safe: bool) -> WithNumbers | None:
    """From one time to another.  None: Arrow has no such cast.

    Raises NoKernel where it takes the rules of a time zone.
    """
    kinds = kind_of_time(a), kind_of_time(b)
    if kinds in (("timestamp", "date"), ("timestamp", "time")):
        if a[4:] not in _TO_ZONE:
            raise NoKernel(f"cast: time zones are not supported: no kernel from {words_of(a)} to {words_of(b)}")
        if kinds[1] == "date":
            return _made("date", a, b, False, _per_day(a), _per_day(b))
        by = _ratio(a, b)
        return _made("clock", a, b, safe and by < 0, _per_day(a), by)
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
