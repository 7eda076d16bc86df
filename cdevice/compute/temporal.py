"""Arrow's functions of dates, times and time zones, each on the device that its arguments are on.

A timestamp with a zone is what the clocks of its zone show.  Zones are those of Python's ``zoneinfo``, and offsets as
"+05:30"; behind the last transition of a zone the rule at the end of its file holds, in every year.  Arguments,
``stream`` and ``fallback``: as in :mod:`cdevice.compute.functions`.
"""

from __future__ import annotations

from .functions import _registry, _run  # type: ignore[attr-defined]
from .kernels.temporal import BETWEEN, CLOCK_FIELDS, DATE_FIELDS, OF_DATES, ROUNDS, STRUCTS
from .options import FunctionOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol, TypeVar

    from .._types import DeviceArray, StreamLike
    from .functions import ArrayLike

    F = TypeVar("F", bound=Callable[..., Any])

    class _OfTimes(Protocol):
        def __call__(
            self, values: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
        ) -> DeviceArray: ...

    class _OfTwoTimes(Protocol):
        def __call__(
            self, start: ArrayLike, end: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
        ) -> DeviceArray: ...

    class _OfMultiples(Protocol):
        def __call__(
            self,
            timestamps: ArrayLike,
            /,
            multiple: int = 1,
            unit: str = "day",
            *,
            week_starts_monday: bool = True,
            ceil_is_strictly_greater: bool = False,
            calendar_based_origin: bool = False,
            stream: StreamLike = None,
            fallback: str | None = None,
            options: FunctionOptions | None = None,
        ) -> DeviceArray: ...


_COMMON = """:param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`"""
_ERRORS = """:returns: a DeviceArray; a :class:`Scalar` for a scalar
    :raises ArgumentError: for a time zone that is not known, with near names
    :raises NoKernel: for types that are not listed"""


def _documented(f: F, text: str | None = None) -> F:
    """Completes a docstring: words in capitals stand for what all functions have."""
    text = f.__doc__ or "" if text is None else text
    f.__doc__ = text.replace("COMMON", _COMMON).replace("ERRORS", _ERRORS)
    return f


def _of_times(name: str, summary: str, types: str) -> _OfTimes:
    function = _registry.get_function(name)

    def call(values: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray:
        out: DeviceArray = _run(function, (values,), None, stream, fallback)
        return out

    call.__name__ = call.__qualname__ = name
    text = f"""{summary}  Does not block.  Any thread.

    Accepted types -> result type::

        {types}

    :param values: an array, or chunks, which become one array
    COMMON
    ERRORS
    """
    return _documented(call, text)


def _date_field(name: str, out: str = "int64") -> _OfTimes:
    found = DATE_FIELDS.get(name) or STRUCTS[name]
    return _of_times(name, found[1], f"date32, date64, timestamp -> {out}")


def _clock_field(name: str, out: str = "int64") -> _OfTimes:
    return _of_times(name, CLOCK_FIELDS[name][1], f"time32, time64, timestamp -> {out}")


year, month, day = _date_field("year"), _date_field("month"), _date_field("day")
quarter, day_of_year = _date_field("quarter"), _date_field("day_of_year")
iso_year, iso_week = _date_field("iso_year"), _date_field("iso_week")
us_year, us_week = _date_field("us_year"), _date_field("us_week")
is_leap_year = _date_field("is_leap_year", "bool")
year_month_day = _date_field("year_month_day", "struct of year, month and day (int64)")
iso_calendar = _date_field("iso_calendar", "struct of iso_year, iso_week and iso_day_of_week (int64)")
hour, minute, second = _clock_field("hour"), _clock_field("minute"), _clock_field("second")
millisecond, microsecond = _clock_field("millisecond"), _clock_field("microsecond")
nanosecond, subsecond = _clock_field("nanosecond"), _clock_field("subsecond", "float64")
local_timestamp = _of_times(
    "local_timestamp", "What the clocks of the zone show.", "timestamp -> timestamp without a time zone"
)
is_dst = _of_times("is_dst", "Is it daylight saving time?", "timestamp with a time zone -> bool")


def _of_two_times(name: str) -> _OfTwoTimes:
    function = _registry.get_function(name)

    def call(
        start: ArrayLike, end: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
    ) -> DeviceArray:
        out: DeviceArray = _run(function, (start, end), None, stream, fallback)
        return out

    call.__name__ = call.__qualname__ = name
    out = "month_day_nano_interval" if "nano_interval" in name else "int64"
    clocks = "" if name in OF_DATES else "time32, time64, "
    text = f"""{BETWEEN[name][1]}  Below 0 where the end is earlier.  Does not block.  Any thread.

    Accepted types -> result type::

        {clocks}date32, date64, timestamp, of one unit and zone -> {out}

    :param start: an array, or chunks, which become one array
    :param end: the same, as long as start
    COMMON
    ERRORS
    :raises ArgumentError: for timestamps of two zones
    """
    return _documented(call, text)


def _of_multiples(name: str) -> _OfMultiples:
    function = _registry.get_function(name)

    def call(
        timestamps: ArrayLike,
        /,
        multiple: int = 1,
        unit: str = "day",
        *,
        week_starts_monday: bool = True,
        ceil_is_strictly_greater: bool = False,
        calendar_based_origin: bool = False,
        stream: StreamLike = None,
        fallback: str | None = None,
        options: FunctionOptions | None = None,
    ) -> DeviceArray:
        out: DeviceArray = _run(
            function,
            (timestamps,),
            options,
            stream,
            fallback,
            multiple=multiple,
            unit=unit,
            week_starts_monday=week_starts_monday,
            ceil_is_strictly_greater=ceil_is_strictly_greater,
            calendar_based_origin=calendar_based_origin,
        )
        return out

    call.__name__ = call.__qualname__ = name
    text = f"""{ROUNDS[name][1]}

    Does not block, but for timestamps of a zone with a name: what the clocks show is rounded, and a result that they
    show twice or never is an error.  Any thread.

    Accepted types -> result type::

        date32, date64, time32, time64, timestamp, duration -> the same type

    :param timestamps: an array, or chunks, which become one array
    :param multiple: of so many units, below 2**31
    :param unit: "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond" or
        "nanosecond"; of durations "week" at most
    :param week_starts_monday: False: weeks start on Sunday
    :param ceil_is_strictly_greater: True: a time that is a multiple becomes the next one; by ceil_temporal begins of
        months, quarters and years always do, as in Arrow
    :param calendar_based_origin: True: multiples are counted from the begin of the next greater unit (of weeks, as in
        Arrow: from the first one of the year that the end of the week is in; the result may be the next multiple);
        False: from 1970-01-01, years from year 0
    COMMON
    :param options: a RoundTemporalOptions, in place of the five
    ERRORS
    :raises ArgumentError: for a time that is ambiguous or does not exist in the zone, and for units and
        calendar_based_origin of durations that have none
    """
    return _documented(call, text)


years_between, quarters_between = _of_two_times("years_between"), _of_two_times("quarters_between")
days_between, hours_between = _of_two_times("days_between"), _of_two_times("hours_between")
minutes_between, seconds_between = _of_two_times("minutes_between"), _of_two_times("seconds_between")
milliseconds_between = _of_two_times("milliseconds_between")
microseconds_between = _of_two_times("microseconds_between")
nanoseconds_between = _of_two_times("nanoseconds_between")
month_day_nano_interval_between = _of_two_times("month_day_nano_interval_between")
floor_temporal, ceil_temporal = _of_multiples("floor_temporal"), _of_multiples("ceil_temporal")
round_temporal = _of_multiples("round_temporal")


@_documented
def weeks_between(
    start: ArrayLike,
    end: ArrayLike,
    /,
    *,
    count_from_zero: bool = True,
    week_start: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """How many borders of weeks lie between two times.  Below 0 where the end is earlier.  Does not block.  Any thread.

    Accepted types -> result type::

        date32, date64, timestamp, of one unit and zone -> int64

    :param start: an array, or chunks, which become one array
    :param end: the same, as long as start
    :param count_from_zero: changes nothing; Arrow has it
    :param week_start: the first day of a week: from 1 (Monday) to 7 (Sunday)
    COMMON
    :param options: a DayOfWeekOptions, in place of the two
    ERRORS
    :raises ArgumentError: for timestamps of two zones
    """
    named = {"count_from_zero": count_from_zero, "week_start": week_start}
    out: DeviceArray = _run(_registry.get_function("weeks_between"), (start, end), options, stream, fallback, **named)
    return out


@_documented
def day_of_week(
    values: ArrayLike,
    /,
    *,
    count_from_zero: bool = True,
    week_start: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The day of the week.  Does not block.  Any thread.

    Accepted types -> result type::

        date32, date64, timestamp -> int64

    :param values: an array, or chunks, which become one array
    :param count_from_zero: False: the first day of a week is 1
    :param week_start: the first day: from 1 (Monday) to 7 (Sunday)
    COMMON
    :param options: a DayOfWeekOptions, in place of the two
    ERRORS
    """
    named = {"count_from_zero": count_from_zero, "week_start": week_start}
    out: DeviceArray = _run(_registry.get_function("day_of_week"), (values,), options, stream, fallback, **named)
    return out


@_documented
def week(
    values: ArrayLike,
    /,
    *,
    week_starts_monday: bool = True,
    count_from_zero: bool = False,
    first_week_is_fully_in_year: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The week of the year; by default that of ISO 8601.  Does not block.  Any thread.

    Accepted types -> result type::

        date32, date64, timestamp -> int64

    :param values: an array, or chunks, which become one array
    :param week_starts_monday: False: weeks start on Sunday
    :param count_from_zero: True: days before the first week of a year are in week 0, and those of the next year's first
        week are in week 53; False: they are in the last week of the year before, and in week 1
    :param first_week_is_fully_in_year: True: the first week begins on or behind January 1; False: four of its days are
        in the year
    COMMON
    :param options: a WeekOptions, in place of the three
    ERRORS
    """
    named = {
        "week_starts_monday": week_starts_monday,
        "count_from_zero": count_from_zero,
        "first_week_is_fully_in_year": first_week_is_fully_in_year,
    }
    out: DeviceArray = _run(_registry.get_function("week"), (values,), options, stream, fallback, **named)
    return out


@_documented
def assume_timezone(
    timestamps: ArrayLike,
    /,
    timezone: str | None = None,
    *,
    ambiguous: str = "raise",
    nonexistent: str = "raise",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Timestamps without a time zone as what the clocks of a zone show.

    Blocks where a time may be an error, and not for "UTC" and offsets.  Any thread.

    Accepted types -> result type::

        timestamp without a time zone -> timestamp with it

    :param timestamps: an array, or chunks, which become one array
    :param timezone: a name as "Europe/Berlin", or an offset as "+05:30"
    :param ambiguous: of times that the clocks show twice: "raise" an error, take the "earliest" or the "latest"
    :param nonexistent: of times that the clocks pass over: "raise" an error, take the "earliest" (the last moment
        before) or the "latest" (the first one behind)
    COMMON
    :param options: an AssumeTimezoneOptions, in place of the three
    ERRORS
    :raises ArgumentError: for a time that is ambiguous or does not exist
    """
    named = {"ambiguous": ambiguous, "nonexistent": nonexistent}
    if timezone is not None:
        named["timezone"] = timezone
    out: DeviceArray = _run(
        _registry.get_function("assume_timezone"), (timestamps,), options, stream, fallback, **named
    )
    return out


@_documented
def strftime(
    timestamps: ArrayLike,
    /,
    format: str = "%Y-%m-%dT%H:%M:%S",
    locale: str = "C",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Dates and times as text, by a format; of timestamps with a zone what its clocks show.

    Blocks until the bytes of the rows are counted.  Any thread.

    Accepted types -> result type::

        date32, date64, time32, time64, timestamp -> string

    :param timestamps: an array, or chunks, which become one array
    :param format: text with %Y %y %m %d %e %j %H %I %M %S %u %w, %F %T %D %R, %z of timestamps with a zone, and %Z
        where that is an offset or UTC; %S has the digits behind the point that the unit has
    :param locale: "C"
    COMMON
    :param options: a StrftimeOptions, in place of the two
    ERRORS
    :raises ArgumentError: for another field, or a zone that is not there
    """
    named = {"format": format, "locale": locale}
    out: DeviceArray = _run(_registry.get_function("strftime"), (timestamps,), options, stream, fallback, **named)
    return out


@_documented
def strptime(
    strings: ArrayLike,
    /,
    format: str | None = None,
    unit: str | None = None,
    error_is_null: bool = False,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Text as timestamps, by a format, as the C library's strptime reads.

    Blocks unless ``error_is_null``.  Any thread.

    Accepted types -> result type::

        string, large_string, string_view -> timestamp; with %z a timestamp of UTC

    :param strings: an array, or chunks, which become one array
    :param format: text with %Y %y %m %d %e %j %H %M %S %z %Z, %F %T %D %R; white space is any number of it; numbers may
        have fewer digits
    :param unit: of the result: "s", "ms", "us" or "ns"
    :param error_is_null: True: a row that does not fit is null
    COMMON
    :param options: a StrptimeOptions, in place of the three
    ERRORS
    :raises ArgumentError: for another field; for text that does not fit, with the first such row
    """
    named: dict[str, Any] = {"error_is_null": error_is_null}
    named |= {k: v for k, v in (("format", format), ("unit", unit)) if v is not None}
    out: DeviceArray = _run(_registry.get_function("strptime"), (strings,), options, stream, fallback, **named)
    return out
