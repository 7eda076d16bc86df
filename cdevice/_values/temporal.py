"""Dates, times, timestamps and durations as counts of their unit."""

from __future__ import annotations

import datetime

from .numeric import integer_of
from .units import EPOCH, EPOCH_DAY, EPOCH_UTC, MILLISECONDS_A_DAY, PER_SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _ticks(unit: str) -> Callable[[datetime.timedelta], int]:
    """A timedelta (pandas' too) in units since its beginning, exactly."""
    scale = PER_SECOND[unit]

    def of_delta(d: Any) -> int:
        micros: int = (d.days * 86400 + d.seconds) * 10**6 + d.microseconds
        nanos: int = micros * 1000 + getattr(d, "nanoseconds", 0)
        count, rest = divmod(nanos * scale, 10**9)
        if rest:
            raise ValueError("the value is finer than the unit of the type")
        return count

    return of_delta


def _date(v: Any) -> int:
    if isinstance(v, datetime.datetime):
        if v.tzinfo is not None or v.time() != datetime.time() or bool(getattr(v, "nanosecond", 0)):
            raise ValueError("expected a date without time of day and time zone")
    elif not isinstance(v, datetime.date):
        raise TypeError("expected datetime.date or int")
    return int(v.toordinal() - EPOCH_DAY)


def _time_of(ticks: Callable[[datetime.timedelta], int]) -> Any:
    def convert(v: Any) -> Any:
        if not isinstance(v, datetime.time):
            raise TypeError("expected datetime.time or int")
        if v.tzinfo is not None:
            raise ValueError("expected a time without time zone")
        return ticks(datetime.timedelta(hours=v.hour, minutes=v.minute, seconds=v.second, microseconds=v.microsecond))

    return convert


def _moment_of(ticks: Callable[[datetime.timedelta], int], zone: str) -> Any:
    def convert(v: Any) -> Any:
        if not isinstance(v, datetime.date):
            raise TypeError("expected datetime.datetime or int")
        if not isinstance(v, datetime.datetime):
            v = datetime.datetime(v.year, v.month, v.day)
        if (v.tzinfo is not None) != bool(zone):
            raise ValueError("expected a datetime with time zone" if zone else "expected a datetime without time zone")
        return ticks(v - (EPOCH_UTC if zone else EPOCH))

    return convert


def _duration_of(ticks: Callable[[datetime.timedelta], int]) -> Any:
    def convert(v: Any) -> Any:
        if not isinstance(v, datetime.timedelta):
            raise TypeError("expected datetime.timedelta or int")
        return ticks(v)

    return convert


def temporal_of(f: str) -> tuple[str, Callable[[Any], int]]:
    """(struct code, what makes the count of a value)"""
    kind, unit = f[1], f[2]
    if kind == "d":
        code, make = ("i", _date) if unit == "D" else ("q", lambda v: _date(v) * MILLISECONDS_A_DAY)
    elif kind == "t":
        code, make = "i" if unit in "sm" else "q", _time_of(_ticks(unit))
    elif kind == "s":
        code, make = "q", _moment_of(_ticks(unit), f[4:])
    else:
        code, make = "q", _duration_of(_ticks(unit))
    integer = integer_of(code)

    def convert(v: Any) -> Any:
        if hasattr(v, "__index__"):
            return integer(v)  # integers go in as they are
        count = make(v)
        if not -1 << 63 <= count < 1 << 63:  # in other units 64 bits reach further than Python's classes
            raise ValueError(_REACH[unit if kind == "D" else "s"])
        return integer(count)

    return code, convert


_REACH = {
    "s": "64 bits of nanoseconds reach from 1677-09-21 to 2262-04-11",
    "n": "64 bits of nanoseconds reach 106751 days in both directions",
    "u": "64 bits of microseconds reach 106751991 days in both directions",
}
