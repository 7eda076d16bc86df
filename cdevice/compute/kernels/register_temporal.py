"""The registry's functions of dates, times and time zones."""

from __future__ import annotations

from ..dispatch.registry import Function, FunctionRegistry, Kernel, Matcher, Signature
from ..options import (
    AssumeTimezoneOptions,
    DayOfWeekOptions,
    NoOptions,
    RoundTemporalOptions,
    StrftimeOptions,
    StrptimeOptions,
    WeekOptions,
)
from . import formats, temporal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

TIMESTAMP = Matcher("timestamp", temporal.is_timestamp)
DURATION = Matcher("duration", lambda f: f.startswith("tD"))
STAMPS = Matcher("timestamps of one unit", temporal.is_timestamp, same=lambda f: f[:3])
_DATES = ("tdD", "tdm", TIMESTAMP)
_CLOCKS = ("tts", "ttm", "ttu", "ttn", TIMESTAMP)


def _scalar(
    r: FunctionRegistry,
    name: str,
    doc: str,
    exec: Callable[..., Any],
    types: tuple[str | Matcher, ...],
    out: Any = None,
    options: Any = NoOptions,
) -> None:
    f = Function(name, "scalar", 1, doc, options)
    for t in types:
        f._add(Kernel(Signature((t,), out, False), exec))
    r.add_function(f)


def add_to(r: FunctionRegistry) -> None:
    """Registers all of them."""
    options = {"week": WeekOptions, "day_of_week": DayOfWeekOptions}
    for name, (field, doc) in temporal.DATE_FIELDS.items():
        _scalar(r, name, doc, field, _DATES, field.out, options.get(name, NoOptions))
    for name, (field, doc) in temporal.CLOCK_FIELDS.items():
        _scalar(r, name, doc, field, _CLOCKS, field.out)
    for name, (parts, doc) in temporal.STRUCTS.items():
        _scalar(r, name, doc, parts, _DATES, "+s")
    for name, (exec, doc) in temporal.ROUNDS.items():
        types = (*_CLOCKS, "tdD", "tdm", DURATION)
        _scalar(r, name, doc, exec, types, lambda formats: formats[0], RoundTemporalOptions)
    for name, (between, doc) in temporal.BETWEEN.items():
        f = Function(name, "scalar", 2, doc, DayOfWeekOptions if name == "weeks_between" else NoOptions)
        for t in ("tdD", "tdm", STAMPS, *(() if name in temporal.OF_DATES else _CLOCKS[:4])):
            f._add(Kernel(Signature((t, t), between.out, False), between))
        r.add_function(f)
    stamps = (TIMESTAMP,)
    _scalar(r, "local_timestamp", "What the clocks of the zone show.", temporal.local_timestamp, stamps)
    _scalar(r, "is_dst", "Is it daylight saving time?", temporal.is_dst, stamps, "b")
    doc = "Timestamps without a zone as what the clocks of a zone show."
    _scalar(r, "assume_timezone", doc, temporal.assume_timezone, stamps, None, AssumeTimezoneOptions)
    doc = "Dates and times as text, by a format."
    _scalar(r, "strftime", doc, formats.strftime, (*_CLOCKS, "tdD", "tdm"), "u", StrftimeOptions)
    _scalar(
        r, "strptime", "Text as timestamps, by a format.", formats.strptime, ("u", "U", "vu"), None, StrptimeOptions
    )
