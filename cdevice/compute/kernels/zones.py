"""Time zones as tables that kernels read (kernels/temporal/zone.h), from the files that ``zoneinfo`` reads."""

from __future__ import annotations

import array
import difflib
import os
import re
import struct

from ..._devices.tables import on_drop
from ..._runtime.ext import ffi, lib
from ...errors import ArgumentError
from ...interop.asarray import asarray
from ..dispatch.bounded import Bounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import DeviceArray
    from ..dispatch.call import Call

    State = tuple[int, bool]  # seconds east of UTC; daylight saving time?

_FOREVER = (1 << 63) - 1
_DAY = 86400
_PERIOD = 146097 * _DAY  # of the calendar: 400 years
_OFFSET = re.compile(r"([+-])([01]\d|2[0-3]):?([0-5]\d)")
_UTC = ("UTC", "Etc/UTC")

_words: Bounded[str, bytes] = Bounded(1000)
_tables: Bounded[tuple[str, int, int, int], DeviceArray] = Bounded(200)


def fixed_offset(zone: str) -> int | None:
    """The seconds east of UTC of a zone that is an offset, as "+05:30", or UTC; None: it has a name."""
    if zone in _UTC:
        return 0
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return None
    sign, hours, minutes = found.groups()
    return (-1 if sign == "-" else 1) * (int(hours) * 3600 + int(minutes) * 60)


def require_zone(zone: str, who: str) -> None:
    """Raises ArgumentError, with near names, for a zone that is not known."""
    if fixed_offset(zone) is None:
        _table_words(zone, who)


def table_of(call: Call, zone: str) -> DeviceArray:
    """The table of a zone on the device of a call, which is brought there once: one row of bytes."""
    key = (zone, call.device_type, call.device_id, _backend(call.device_type))
    found = _tables.get(key)
    if found is None:
        words = _table_words(zone, call.function.name)
        found = asarray([words], schema=f"w:{len(words)}")
        if call.device_type != 1:
            found = found.to((call.device_type, call.device_id))
        _tables.put(key, found)
    return found


on_drop(_tables.clear)


def _backend(device_type: int) -> int:
    """A number that another backend of the type has not."""
    return int(ffi.cast("intptr_t", lib.cdv_backend_table(device_type)))


def _table_words(zone: str, who: str) -> bytes:
    found = _words.get(zone)
    if found is None:
        offset = fixed_offset(zone)
        if offset is not None:
            made = _words_of([], [(offset, False)], _FOREVER)
        else:
            made = _words_of(*_transitions(_file_of(zone, who), zone, who))
        found = _words.put(zone, made)
    return found


# ---- files ----
def _file_of(zone: str, who: str) -> bytes:
    """The TZif file of a name, where ``zoneinfo`` finds it.  Raises ArgumentError."""
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(zone)
    except Exception as e:  # names that are no keys are ValueErrors, folders OSErrors
        raise _unknown(zone, who) from e
    for folder in zoneinfo.TZPATH:
        path = os.path.join(folder, *zone.split("/"))
        if os.path.isfile(path):
            with open(path, "rb") as f:
                return f.read()
    from importlib import resources

    *folders, name = zone.split("/")
    try:
        return resources.files(".".join(["tzdata.zoneinfo", *folders])).joinpath(name).read_bytes()
    except (ImportError, OSError) as e:
        raise _unknown(zone, who) from e


def _unknown(zone: str, who: str) -> ArgumentError:
    import zoneinfo

    there = zoneinfo.available_timezones()
    if not there:
        return ArgumentError(f"{who}: there are no time zones: pip install tzdata")
    by_case = {name.lower(): name for name in sorted(there)}
    near = [by_case[n] for n in difflib.get_close_matches(zone.lower(), by_case, 3)]
    hint = (
        f"did you mean {' or '.join(map(repr, near))}?" if near else 'zones are names as "Europe/Berlin", or "+05:30"'
    )
    return ArgumentError(f"{who}: no time zone {zone!r}; {hint}")


def _transitions(data: bytes, zone: str, who: str) -> tuple[list[int], list[State], int]:
    """The transitions of a TZif file (RFC 9636), the states around them, and the second from which on they repeat."""
    try:
        times, states, rule = _parsed(data)
    except (struct.error, ValueError, IndexError) as e:
        raise ArgumentError(f"{who}: the file of the time zone {zone!r} is damaged: {e}") from None
    while times and times[0] < -_PERIOD * 5:  # "big bang" of some files
        del times[0], states[0]
    if any(abs(offset) >= _DAY for offset, _ in states):
        raise ArgumentError(f"{who}: the time zone {zone!r} has an offset of a day or more")
    if not rule:
        return times, states, _FOREVER
    try:
        standard, saving, bounds = _rule_of(rule)
    except (ValueError, IndexError):
        raise ArgumentError(f"{who}: the rule of the time zone {zone!r} is damaged: {rule!r}") from None
    if saving is None:
        states[-1] = standard
        return times, states, _FOREVER
    begin = _year_of(times[-1]) if times else 1600
    events = sorted(
        (_bound(bounds[i], year) - before[0], i, after)
        for year in range(begin - 1, begin + 404)
        for i, before, after in ((0, standard, saving), (1, saving, standard))
    )
    state = standard
    for at, _, after in events:
        if times and at <= times[-1]:
            states[-1] = after  # the rule holds from the last transition on
        elif after != (state if not times else states[-1]):
            times.append(at)
            states.append(after)
        state = after
    return times, states, _days(begin + 402, 1, 1) * _DAY


def _parsed(data: bytes) -> tuple[list[int], list[State], str]:
    """(transitions, states, rule) of a file."""
    at, long = 0, False
    while True:
        magic, version, *counts = struct.unpack_from(">4sc15x6l", data, at)
        if magic != b"TZif":
            raise ValueError("it does not begin with TZif")
        n_utc, n_std, n_leap, n_times, n_types, n_chars = counts
        at += 44
        width = 8 if long else 4
        size = n_times * (width + 1) + n_types * 6 + n_chars + n_leap * (width + 4) + n_std + n_utc
        if long or version == b"\0":
            break
        at, long = at + size, True
    times = list(struct.unpack_from(f">{n_times}{'q' if long else 'l'}", data, at))
    which = data[at + n_times * width : at + n_times * (width + 1)]
    types = list(struct.iter_unpack(">lbB", data[at + n_times * (width + 1) :][: n_types * 6]))
    if n_leap or not types:
        raise ValueError("it has leap seconds" if n_leap else "it has no types")
    states = [(offset, bool(dst)) for offset, dst, _ in types]
    first = next((s for s in states if not s[1]), states[0])
    rule = data[at + size :].split(b"\n")[1].decode() if long else ""
    return times, [first, *(states[i] for i in which)], rule


# ---- the rule behind the last transition: TZ of POSIX ----
_NAME, _TIME = r"(?:<[^>]+>|[A-Za-z]{3,})", r"[+-]?\d{1,3}(?::\d\d){0,2}"
_RULE = re.compile(
    rf"{_NAME}(?P<std>{_TIME})(?:{_NAME}(?P<dst>{_TIME})?(?:,(?P<begin>[^,/]+)(?:/(?P<at>{_TIME}))?"
    rf",(?P<end>[^,/]+)(?:/(?P<until>{_TIME}))?)?)?"
)
_DATE = re.compile(r"M(\d+)\.(\d)\.(\d)|J(\d+)|(\d+)")


def _seconds(text: str) -> int:
    parts = text.lstrip("+-").split(":")
    return (-1 if text[0] == "-" else 1) * sum(int(x) * n for x, n in zip(parts, (3600, 60, 1), strict=False))


def _rule_of(text: str) -> tuple[State, State | None, list[tuple[list[int | None], int]]]:
    """Standard time, daylight saving time, and when that begins and ends."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    standard = -_seconds(found["std"])
    if found["begin"] is None:
        if found["dst"] is not None or not re.fullmatch(_NAME + _TIME, text):
            raise ValueError(text)
        return (standard, False), None, []
    saving = standard + 3600 if found["dst"] is None else -_seconds(found["dst"])
    bounds = []
    for date, time in (("begin", "at"), ("end", "until")):
        day = _DATE.fullmatch(found[date])
        if day is None:
            raise ValueError(text)
        bounds.append(([None if g is None else int(g) for g in day.groups()], _seconds(found[time] or "2")))
    return (standard, False), (saving, True), bounds


def _bound(bound: tuple[list[int | None], int], year: int) -> int:
    """A local second of a year."""
    (month, week, weekday, julian, zero), seconds = bound
    if month is not None and week is not None and weekday is not None:
        first = _days(year, month, 1)
        day = first + (weekday - (first + 4)) % 7 + (week - 1) * 7  # 1970-01-01 is a Thursday, 4 from Sunday on
        following = _days(year + month // 12, month % 12 + 1, 1)
        if day >= following:
            day -= 7
    elif julian is not None:  # February 29 is never counted
        leap = _days(year, 3, 1) - _days(year, 2, 28) == 2
        day = _days(year, 1, 1) + julian - 1 + (leap and julian >= 60)
    else:
        day = _days(year, 1, 1) + (zero or 0)
    return day * _DAY + seconds


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date, in any year."""
    y = year - (month < 3)
    era_day = (y % 400) * 365 + (y % 400) // 4 - (y % 400) // 100 + (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return y // 400 * 146097 + era_day - 719468


def _year_of(second: int) -> int:
    year = 1970 + second // 31556952
    while _days(year + 1, 1, 1) * _DAY <= second:
        year += 1
    while _days(year, 1, 1) * _DAY > second:
        year -= 1
    return year


# ---- words ----
def _words_of(times: list[int], states: Sequence[State], fold: int) -> bytes:
    """The table as kernels/temporal/zone.h has it."""
    shift = 22  # of seconds: 48 days
    first = times[0] >> shift << shift if times else 0
    buckets, i, steps = [], 0, 0
    for b in range(((times[-1] - first) >> shift) + 1 if times else 1):
        begin, before = first + (b << shift), i
        while i < len(times) and times[i] <= begin:
            i += 1
        buckets.append(i)
        steps = max(steps, i - before)
    ends = [*buckets[1:], len(times)]
    steps = max(e - b for b, e in zip(buckets, ends, strict=True))
    near = max(
        (sum(times[i] <= t <= times[i] + 2 * _DAY for t in times[i : i + 9]) for i in range(len(times))), default=0
    )
    head = [len(times), first, shift, len(buckets), steps, fold, near]
    body = [*times, _FOREVER, *(offset * 2 + dst for offset, dst in states), *buckets]
    return array.array("q", head + body).tobytes()
