"""Dates and times as text by a format and back: ``strftime`` and ``strptime``, the fields that are numbers."""

from __future__ import annotations

from array import array as numbers_of

from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...interop.asarray import asarray
from ...interop.concat import concat
from ..dispatch.datum import Datum, lone
from .cast.text import explained, printed, step_of, with_offsets
from .columns import on_device_of
from .elementwise import schema_of
from .row_numbers import null_unless, without_nulls
from .selection.take import both, is_valid, with_schema
from .temporal import local, time_word, zone_of
from .zones import fixed_offset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

FIELD, SPACE = 256, 512  # as kernels/text/format.h has them
_MADE_OF = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "D": "%m/%d/%y", "R": "%H:%M", "n": "\n", "t": "\t", "%": "%%"}
PRINTED, READ = "YymdejHIMSuwz", "YymdejHMSzZ"


def codes_of(name: str, format: str, fields: str, spaces: bool, zone: str = "") -> list[int]:
    """A format as codes.  ``spaces``: white space is any.  Raises ArgumentError for a field that is not known here."""
    codes: list[int] = []
    try:
        data, k = format.encode(), 0
    except UnicodeEncodeError as e:
        raise ArgumentError(f"{name}: the format is not valid UTF-8: {e.reason}") from None
    while k < len(data):
        letter = chr(data[k + 1]) if data[k] == 0x25 and k + 1 < len(data) else ""
        if not letter:
            blank = spaces and data[k : k + 1].isspace()
            codes.append(SPACE if blank else data[k])
            k += 1
            continue
        k += 2
        if letter in fields:
            codes.append(FIELD + ord(letter))
        elif letter == "%":
            codes.append(0x25)
        elif letter in _MADE_OF:
            codes += codes_of(name, _MADE_OF[letter], fields, spaces)
        elif letter == "Z" and zone and fixed_offset(zone) is not None:
            codes += (zone if zone == "UTC" else zone.replace(":", "")).encode()
        else:
            why = "names of time zones are not known to devices" if letter == "Z" else "the field is not known here"
            there = " ".join(f"%{x}" for x in (*fields, *_MADE_OF))
            raise ArgumentError(f"{name}: %{letter} in the format {format!r:.60}: {why}; there are {there}")
    return codes


def _beside(call: Call, codes: list[int]) -> DeviceArray:
    return on_device_of(call, asarray(memoryview(numbers_of("q", codes or [0]))))


def strftime(call: Call, a: Datum) -> DeviceArray:
    """``exec``: of timestamps with a zone what its clocks show.  Blocks until the bytes are counted."""
    options: Any = call.options
    format, name = a.format or "", call.function.name
    zone = zone_of(format)
    codes = codes_of(name, options.format, PRINTED, False, zone)
    offset = FIELD + ord("z") in codes
    if not zone and (offset or "%Z" in options.format.replace("%%", "")):
        raise ArgumentError(f"{name}: %z and %Z need timestamps with a time zone; assume_timezone() makes them")
    rows = lone(call, a) if a.array is None else a
    assert rows.array is not None
    shown, beside, moments = local(call, rows).array, _beside(call, codes), 0
    assert shown is not None
    if offset and shown.length:
        moments = shown.length
        counted = with_schema(rows.array, schema_of("l"))
        if counted.device_type_id != beside.device_type_id:  # the CPU computes, of memory that it reads
            counted = counted.to("cpu")
        beside = concat([counted, beside], stream=call.owner)
    word = f"{time_word(format)} i32"
    return printed(call, shown, "format", word, "u", (0, len(codes), moments), beside)


def strptime(call: Call, a: Datum) -> DeviceArray:
    """``exec``: text as timestamps.  Blocks where a row that does not fit is an error."""
    options: Any = call.options
    name, unit = call.function.name, options.unit[0]
    codes = codes_of(name, options.format, READ, True)
    out = f"ts{unit}:{'UTC' if FIELD + ord('z') in codes else ''}"
    assert a.array is not None
    rows, beside = with_offsets(call, a.array), _beside(call, codes)
    word = f"{time_word(out)} i{32 if rows._format in 'uz' else 64}"
    strict = not options.error_is_null
    step = step_of(call, "read_format", "read_format", word, (0, len(codes)), strict)
    try:
        made = _native.compute_text_numbers(step, rows, beside, schema_of(out), call.stream, call.owner)
    except ArgumentError as e:
        raise explained(call, rows, e, f"{options.format!r:.60}") from None
    if strict:
        return made
    step = step_of(call, "read_format", "format_fits", word, (0, len(codes)), False)
    fits = _native.compute_text_numbers(
        (*step[:3], True, *step[4:]), rows, beside, schema_of("b"), call.stream, call.owner
    )
    if rows.null_count:
        fits = both(call, Datum(without_nulls(fits), "b"), Datum(is_valid(call, Datum(rows, rows._format)), "b"))
    return null_unless(call, made, fits)
