"""Parts of dates and times, and time zones."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ...errors import ArgumentError
from ...schema import Schema
from ..dispatch.datum import Datum, lone
from ..dispatch.types import kind_of_time
from .elementwise import CHOSEN, PACK, ROW, Map, schema_of
from .selection.take import with_schema
from .zones import fixed_offset, require_zone, table_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

PER_SECOND = {"s": 1, "m": 1000, "u": 1000000, "n": 1000000000}
_WORDS = {"s": "s64", "m": "ms64", "u": "us64", "n": "ns64"}
_SMALL = {"tdD": "date32", "tdm": "ms64", "tts": "s32", "ttm": "ms32"}
_add = Map("arith", "i64", "add", "ll", "l")
_subtract = Map("arith", "i64", "subtract", "ll", "l")
_less = Map("compare", "i64", "less", "ll", "b", unit=PACK)
_choose = Map("select", "u64", "if_else", "bll", "l", unit=PACK, rule=CHOSEN)


def time_word(format: str) -> str:
    """How a time is counted, as kernels name it: the unit, and the bits of a count."""
    return _SMALL.get(format) or _WORDS[format[2]]


def _letter(word: str) -> str:
    return "i" if word.endswith("32") else "l"


def zone_of(format: str) -> str:
    """The zone of a timestamp; "": it has none."""
    return format[4:] if format.startswith("ts") else ""


def _rows_of(call: Call, a: Datum) -> Datum:
    """An argument as rows."""
    return lone(call, a) if a.array is None else a


_maps: dict[tuple[str, str, str, str, bool], Map] = {}


def _map(family: str, name: str, word: str, out: str, letters: str, unit: int = ROW, checked: bool = False) -> Map:
    key = (family, name, word, out, checked)
    found = _maps.get(key)
    if found is None:
        found = Map(family, word, name, letters, out, unit=unit, checked=checked)
        if len(_maps) < 2000:
            _maps[key] = found
    return found


def local(call: Call, a: Datum) -> Datum:
    """Timestamps as the clocks of their zone show them, without a zone; other times as they are."""
    format = a.format or ""
    zone = zone_of(format)
    if not zone:
        return a
    plain, rows = format[:4], _rows_of(call, a)
    assert rows.array is not None
    offset = fixed_offset(zone)
    if offset is not None:
        moved = rows.array if not offset else _add(call, rows, Datum(value=offset * PER_SECOND[format[2]], format="l"))
        return Datum(with_schema(moved, schema_of(plain)), plain, one=a.one or a.array is None)
    made = _map("time_zone", "local_time", time_word(format), plain, "l-")
    return Datum(made(call, rows, Datum(table_of(call, zone), one=True)), plain, one=a.one or a.array is None)


def _count(array: DeviceArray) -> Datum:
    """The counts of times of 64 bits."""
    return Datum(with_schema(array, schema_of("l")), "l")


def _number(x: int) -> Datum:
    return Datum(value=x, format="l")


class Field:
    """``exec`` of a function that gives a part of a time.

    ``numbers``: of the options, what the kernel needs; ``zoned``: False: it is the same in every zone.
    """

    __slots__ = ("kernel", "numbers", "out", "unit", "zoned")

    def __init__(
        self,
        kernel: str,
        out: str = "l",
        numbers: Callable[[Any], tuple[int, int]] | None = None,
        unit: int = ROW,
        zoned: bool = True,
    ) -> None:
        self.kernel, self.out, self.numbers, self.unit, self.zoned = kernel, out, numbers, unit, zoned

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        zone = zone_of(a.format or "")
        if not self.zoned and zone:
            require_zone(zone, call.function.name)
        return self.of(call, local(call, a) if self.zoned else a)

    def of(self, call: Call, a: Datum) -> DeviceArray:
        """Of a time without a zone."""
        word = time_word(a.format or "")
        made = _map("time_fields", self.kernel, word, self.out, _letter(word) + "ll", self.unit)
        if self.numbers is None:
            return made(call, a)
        first, second = self.numbers(call.options)
        return made(call, a, _number(first), _number(second))


# flags of kernels/temporal/calendar.h: the first day of a week, Monday is 0, and these
_FROM_0, _FULL, SUNDAY = 8, 16, 6


def _of_week(options: Any) -> tuple[int, int]:
    flags = 0 if options.week_starts_monday else SUNDAY
    return flags | _FROM_0 * options.count_from_zero | _FULL * options.first_week_is_fully_in_year, 0


def _of_day_of_week(options: Any) -> tuple[int, int]:
    return options.week_start - 1, int(not options.count_from_zero)


YEAR, MONTH, DAY = Field("year"), Field("month"), Field("day")
ISO_YEAR, ISO_WEEK = Field("week_year", numbers=lambda o: (0, 0)), Field("week", numbers=lambda o: (0, 0))
DATE_FIELDS = {
    "year": (YEAR, "The year."),
    "month": (MONTH, "The month, from 1 on."),
    "day": (DAY, "The day of the month, from 1 on."),
    "quarter": (Field("quarter"), "The quarter of the year, from 1 on."),
    "day_of_year": (Field("day_of_year"), "The day of the year, from 1 on."),
    "iso_year": (ISO_YEAR, "The year of the ISO week."),
    "iso_week": (ISO_WEEK, "The ISO week, from 1 on."),
    "us_year": (Field("week_year", numbers=lambda o: (SUNDAY, 0)), "The year of the epidemiological week."),
    "us_week": (Field("week", numbers=lambda o: (SUNDAY, 0)), "The epidemiological week, from Sunday to Saturday."),
    "is_leap_year": (Field("is_leap_year", "b", unit=PACK), "Has the year a February 29?"),
    "week": (Field("week", numbers=_of_week), "The week of the year."),
    "day_of_week": (Field("day_of_week", numbers=_of_day_of_week), "The day of the week."),
}
CLOCK_FIELDS = {
    "hour": (Field("hour"), "The hour of the day."),
    "minute": (Field("minute"), "The minute of the hour."),
    "second": (Field("second"), "The second of the minute."),
    "millisecond": (Field("millisecond", zoned=False), "The milliseconds since the full second."),
    "microsecond": (Field("microsecond", zoned=False), "The microseconds since the full millisecond."),
    "nanosecond": (Field("nanosecond", zoned=False), "The nanoseconds since the full microsecond."),
    "subsecond": (Field("subsecond_f64", "g", zoned=False), "The part of a second since the full second."),
}


class Parts:
    """``exec`` of a function that gives several parts, a struct."""

    __slots__ = ("fields",)

    def __init__(self, **fields: Field) -> None:
        self.fields = fields

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        rows = _rows_of(call, local(call, a))
        assert rows.array is not None
        schema = Schema.make("+s", children=[Schema.make("l", name) for name in self.fields])
        columns = [f.of(call, rows) for f in self.fields.values()]
        one = columns[-1]
        return assemble(schema, one.length, [(one, 0)], columns, made=columns)


_DAY_FROM_1 = Field("day_of_week", numbers=lambda o: (0, 1))
STRUCTS = {
    "year_month_day": (Parts(year=YEAR, month=MONTH, day=DAY), "Year, month and day, a struct."),
    "iso_calendar": (
        Parts(iso_year=ISO_YEAR, iso_week=ISO_WEEK, iso_day_of_week=_DAY_FROM_1),
        "Year, week and day of the week by ISO 8601, a struct.",
    ),
}


# ---- zones ----
def local_timestamp(call: Call, a: Datum) -> DeviceArray:
    """``exec`` of local_timestamp."""
    out = _rows_of(call, local(call, a)).array
    assert out is not None
    return out


def is_dst(call: Call, a: Datum) -> DeviceArray:
    """``exec`` of is_dst."""
    format = a.format or ""
    zone = zone_of(format)
    if not zone:
        raise ArgumentError("is_dst: timestamps without a time zone have no daylight saving time; assume_timezone()")
    made = _map("time_zone", "is_dst", time_word(format), "b", "l-", PACK)
    return made(call, _rows_of(call, a), Datum(table_of(call, zone), one=True))


_CHOICES = {"raise": 0, "earliest": 1, "latest": 2}  # as kernels/temporal/zone.h has them


def assume_timezone(call: Call, a: Datum) -> DeviceArray:
    """``exec`` of assume_timezone.  Blocks where a time may be an error."""
    options: Any = call.options
    format, zone = a.format or "", options.timezone
    if zone_of(format):
        raise ArgumentError(
            f"assume_timezone: the timestamps have the time zone {zone_of(format)!r}; "
            "local_timestamp() shows its clocks, cast() changes the zone"
        )
    require_zone(zone, "assume_timezone")
    rows = _rows_of(call, a)
    assert rows.array is not None
    return utc(call, rows, zone, _CHOICES[options.ambiguous] + 4 * _CHOICES[options.nonexistent])


def utc(call: Call, rows: Datum, zone: str, choice: int) -> DeviceArray:
    """What the clocks of a zone show as timestamps of it.  Blocks where a time may be an error."""
    format, name = rows.format or "", call.function.name
    offset, out = fixed_offset(zone), format[:4] + zone
    assert rows.array is not None
    if offset is not None:
        moved = rows.array if not offset else _add(call, rows, _number(-offset * PER_SECOND[format[2]]))
        return with_schema(moved, schema_of(out))
    checked = not (choice & 3 and choice >> 2)
    made = _map("time_zone", "assume", time_word(format), format[:4], "l-l", checked=checked)
    try:
        moved = made(call, rows, Datum(table_of(call, zone), one=True), _number(choice))
    except ArgumentError as e:
        said = f"{str(e).replace('assume:', name + ':')} in {zone!r}"
        if name == "assume_timezone":
            which = "ambiguous" if "ambiguous" in said else "nonexistent"
            said += f': pass {which}="earliest" or "latest"'
        raise type(e)(said) from None
    return with_schema(moved, schema_of(out))


def is_timestamp(format: str) -> bool:
    return kind_of_time(format) == "timestamp"


# ---- multiples of units ----
_NANOS = {
    "nanosecond": 1,
    "microsecond": 10**3,
    "millisecond": 10**6,
    "second": 10**9,
    "minute": 60 * 10**9,
    "hour": 3600 * 10**9,
    "day": 86400 * 10**9,
    "week": 7 * 86400 * 10**9,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_TICK = {"date32": 86400 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}  # its nanoseconds
# as kernels/lang/protocol.h has them
_HOW = {"floor": 0, "ceil": 1, "round": 2}
_STRICT = 4
_FROM_1970, _FROM_YEAR, _FROM_YEAR_0 = range(3)
_FROM = {"day": 5, "hour": 6, "minute": 7, "second": 8, "millisecond": 9, "microsecond": 10, "nanosecond": 11}
_GREATER = dict(
    zip(
        ("hour", "minute", "second", "millisecond", "microsecond", "nanosecond"),
        ("day", "hour", "minute", "second", "millisecond", "microsecond"),
        strict=True,
    )
)


class Round:
    """``exec`` of floor_temporal, ceil_temporal and round_temporal.  Blocks for zones with names."""

    __slots__ = ("how",)

    def __init__(self, how: str) -> None:
        self.how = how

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        zone = zone_of(a.format or "")
        shown = _rows_of(call, local(call, a))
        if zone and fixed_offset(zone) is None:
            return self._in_zone(call, _rows_of(call, a), shown, zone)
        out = self._rounded(call, shown, self.how)
        return utc(call, Datum(out, shown.format), zone, 0) if zone else out

    def _rounded(self, call: Call, a: Datum, how: str) -> DeviceArray:
        """Of a time without a zone."""
        format = a.format or ""
        word, duration = time_word(format), kind_of_time(format) == "duration"
        kernel, first, second = _step(call.function.name, how, call.options, word, duration)
        made = _map("time_round", kernel, word, format, _letter(word) + "ll")
        return made(call, a, _number(first), _number(second))

    def _in_zone(self, call: Call, a: Datum, shown: Datum, zone: str) -> DeviceArray:
        """As Arrow: the multiple before must be a moment, for the next one too, and the nearest is so in time."""
        low = utc(call, Datum(self._rounded(call, shown, "floor"), shown.format), zone, 0)
        if self.how == "floor":
            return low
        high = utc(call, Datum(self._rounded(call, shown, "ceil"), shown.format), zone, 0)
        if self.how == "ceil":
            return high
        assert a.array is not None
        past, left = _subtract(call, _count(a.array), _count(low)), _subtract(call, _count(high), _count(a.array))
        nearer = Datum(_less(call, Datum(past, "l"), Datum(left, "l")), "b")
        return with_schema(_choose(call, nearer, _count(low), _count(high)), low._schema)


def _step(name: str, how: str, options: Any, word: str, duration: bool) -> tuple[str, int, int]:
    """The kernel, and its two numbers."""
    unit, multiple, origin = options.unit, options.multiple, options.calendar_based_origin
    flags = _HOW[how] | _STRICT * options.ceil_is_strictly_greater
    if duration and (origin or unit in _MONTHS):
        what = "calendar_based_origin" if origin else f"the unit {unit!r}"
        raise ArgumentError(f"{name}: a duration has no calendar: {what} is for dates and timestamps")
    if unit in _MONTHS:
        begin = _FROM_YEAR_0 if unit == "year" else _FROM_YEAR if origin else _FROM_1970
        return "round_months", multiple * _MONTHS[unit], flags | begin << 3
    tick, nanos = _TICK[word if word == "date32" else word[:-2]], _NANOS[unit]
    finer, size = tick // nanos, multiple * nanos // tick
    if origin and multiple > 1:
        if unit in _GREATER and _NANOS[_GREATER[unit]] <= tick:  # each time is such a begin
            return "round_finer", 1 | size << 32, flags | max(finer, 1) << 3
        begin = _FROM.get(unit) or (3 if options.week_starts_monday else 4)
        return "round_calendar", _that_fits(name, options, size), flags | begin << 3
    if finer > 1:
        return "round_finer", multiple | size << 32, flags | finer << 3
    back = 0 if unit != "week" or duration else 3 if options.week_starts_monday else 4
    return "round_fixed", _that_fits(name, options, size), flags | back << 3


def _that_fits(name: str, options: Any, size: int) -> int:
    if size >= 1 << 62:
        raise ArgumentError(f"{name}: {options.multiple} times a {options.unit} is more than the type can hold")
    return size


ROUNDS = {
    "floor_temporal": (Round("floor"), "The last multiple of a unit that is not later."),
    "ceil_temporal": (Round("ceil"), "The first multiple of a unit that is not earlier."),
    "round_temporal": (Round("round"), "The nearest multiple of a unit; of two the later one."),
}


# ---- between two times ----
class Between:
    """``exec`` of a function of two times of one type."""

    __slots__ = ("kernel", "number", "out")

    def __init__(self, kernel: str, number: Callable[[Any], int] = lambda options: 0, out: str = "l") -> None:
        self.kernel, self.number, self.out = kernel, number, out

    def __call__(self, call: Call, a: Datum, b: Datum) -> DeviceArray:
        zones = zone_of(a.format or ""), zone_of(b.format or "")
        if zones[0] != zones[1]:
            said = " and ".join(repr(z) if z else "none" for z in zones)
            raise ArgumentError(f"{call.function.name}: the time zones differ, {said}: cast one")
        a, b = (_rows_of(call, local(call, x)) for x in (a, b))
        word, kernel, number = time_word(a.format or ""), self.kernel, self.number(call.options)
        unit = kernel.removesuffix("s_between")
        if word == "date32" and unit in _NANOS and unit not in ("week", "day"):
            kernel, number = "units_between", 86400 * 10**9 // _NANOS[unit]
        made = _map("time_between", kernel, word, self.out, 2 * _letter(word) + "l")
        return made(call, a, b, _number(number))


BETWEEN = {
    name: (Between(name), f"How many borders of {name.removesuffix('_between')} lie between two times.")
    for name in (
        "years_between",
        "quarters_between",
        "days_between",
        "hours_between",
        "minutes_between",
        "seconds_between",
        "milliseconds_between",
        "microseconds_between",
        "nanoseconds_between",
    )
}
BETWEEN["weeks_between"] = (
    Between("weeks_between", lambda options: int(options.week_start) - 1),
    "How many borders of weeks lie between two times.",
)
BETWEEN["month_day_nano_interval_between"] = (
    Between("month_day_nano_between", out="tin"),
    "The differences of months, of days of the month, and of times of the day.",
)
OF_DATES = ("years_between", "quarters_between", "weeks_between", "days_between")  # times of the day have none
