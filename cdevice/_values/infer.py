"""The Arrow type that follows from Python values."""

from __future__ import annotations

import datetime
import decimal

from ..schema import asschema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Schema

_WORDS = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    bytes: "binary",
    datetime.datetime: "timestamp",
    datetime.date: "date32",
    datetime.time: "time64[us]",
    datetime.timedelta: "duration",
    decimal.Decimal: "decimal",
    list: "list",
    tuple: "list",
    dict: "struct",
}
_NUMBERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float16", "float32", "float64"}


def _word(kind: type) -> str | None:
    """What values of a class are; None: unknown.  A subclass counts as what it derives from."""
    if kind.__module__ == "numpy":  # before its bases: float64 is a float as well
        if kind.__name__ == "ndarray":
            return "list"
        name: str = kind().dtype.name
        if name in _NUMBERS or name in ("bool", "uint64"):
            return name
    return next((_WORDS[c] for c in kind.__mro__ if c in _WORDS), None)


def _zone(moment: datetime.datetime) -> str:
    zone = moment.tzinfo
    name: str | None = getattr(zone, "key", None) or getattr(zone, "zone", None)  # zoneinfo's, pytz's
    if name:
        return name
    minutes = round((moment.utcoffset() or datetime.timedelta()).total_seconds() / 60)
    if not minutes:
        return "UTC"
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _unit(values: list[Any], name: str) -> str:
    return "ns" if any(getattr(v, name, 0) for v in values) else "us"  # pandas' have nanoseconds


def _duration(values: list[Any]) -> str:
    return f"duration[{_unit(values, 'nanoseconds')}]"


def _timestamp(values: list[Any]) -> str:
    aware = {v.tzinfo is not None for v in values}
    if len(aware) == 2:
        raise TypeError("cannot infer a type: some datetimes have a time zone and some have none: pass schema=")
    unit = _unit(values, "nanosecond")
    return f"timestamp[{unit}, tz={_zone(values[0])}]" if aware.pop() else f"timestamp[{unit}]"


def _decimal(values: list[Any]) -> str:
    before = after = 0
    for v in values:
        _, digits, exponent = v.as_tuple()
        if not isinstance(exponent, int):
            raise ValueError(f"{v} cannot be an Arrow decimal: expected a finite decimal, or None for null")
        before = max(before, len(digits) + exponent)
        after = max(after, -exponent)
    precision = max(before + after, 1)
    if precision > 76:
        raise ValueError(f"{precision} digits do not fit into decimal256")
    return f"decimal{128 if precision <= 38 else 256}({precision}, {after})"


def infer(values: list[Any]) -> Schema:
    """The :class:`Schema` of a list of values, None among them as null.

    bool, int64, float64, string, binary, date32, time64[us], duration and timestamp in us or ns, with the first value's
    zone, decimal128 or decimal256 with all digits, numpy's scalars as their own type, lists and dicts of these.
    Integers beside floats become float64.  Raises TypeError where the values name no type or several.
    """
    there = [v for v in values if v is not None]
    if not there:
        return asschema("null")
    words = {_word(k) for k in {type(v) for v in there}}
    if len(words) > 1 and words <= _NUMBERS:
        words = {"float64" if any(str(w).startswith("float") for w in words) else "int64"}
    if words == {"decimal", "int64"}:
        there = [decimal.Decimal(v) for v in there]
        words = {"decimal"}
    word = words.pop()
    if words or word is None:
        met = ", ".join(sorted({k.__name__ for k in map(type, there)}))
        raise TypeError(f"cannot infer a type from the values ({met}): pass schema=")
    if word == "int64" and max(there) >= 1 << 63 and min(there) >= 0:
        word = "uint64"
    if word == "list":
        return asschema([infer([v for row in there for v in row])])
    if word == "struct":
        names = list(dict.fromkeys(k for row in there for k in row))
        odd = next((k for k in names if not isinstance(k, str)), None)
        if odd is not None:
            raise TypeError(f"{odd!r} ({type(odd).__name__}) cannot be a field name: pass schema= for a map")
        return asschema({n: infer([row.get(n) for row in there]) for n in names})
    of_values = {"timestamp": _timestamp, "duration": _duration, "decimal": _decimal}.get(word)
    return asschema(of_values(there) if of_values else word)
