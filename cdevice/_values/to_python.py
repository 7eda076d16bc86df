"""Rows as Python objects, of every Arrow type.

Functions take the rows of an array and ``need``: which of them will be looked at, None for all.  What no row refers to,
and what lies below a null, is not converted: it may be large, and it may be nothing that Python's types can hold.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import struct
from bisect import bisect_right

from .._arrays.buffer_access import view
from .units import CODES, EPOCH, EPOCH_DAY, MILLISECONDS_A_DAY, PER_SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from .._types import DeviceArray, Need

MonthDayNano = collections.namedtuple("MonthDayNano", ("months", "days", "nanoseconds"))
DayTime = collections.namedtuple("DayTime", ("days", "milliseconds"))


def rows(a: DeviceArray) -> list[Any]:
    """The rows of an array that the CPU may read now.  Raises ValueError for what Python's types cannot hold."""
    try:
        return _values(a, None)
    except (OverflowError, decimal.DecimalException) as e:
        raise ValueError(f"Python cannot represent a value of {a.type}: {e}") from e


def _raw(a: DeviceArray, i: int) -> Any:
    return view(a, i)


def _numbers(a: DeviceArray, i: int, code: str) -> Any:
    """Elements of buffer i of the rows of a."""
    size = struct.calcsize(code)
    first = a.offset * size
    return _raw(a, i)[first : first + a.length * size].cast(code).tolist()


def _bits(raw: Any, offset: int, length: int) -> list[bool]:
    return [bool(raw[k >> 3] >> (k & 7) & 1) for k in range(offset, offset + length)]


def present(a: DeviceArray, need: Need) -> Need:
    """Which rows have a value that is needed; None: all."""
    if a.null_count == 0:
        return need
    valid = _bits(_raw(a, 0), a.offset, a.length)
    return valid if need is None else [v and n for v, n in zip(valid, need)]


def _masked(values: list[Any], there: Need) -> list[Any]:
    return values if there is None else [v if ok else None for v, ok in zip(values, there)]


def _lazily(n: int, there: Need, make: Callable[[int], Any]) -> list[Any]:
    """[make(row) or None]: for values that must not be looked at where they are not there."""
    if there is None:
        return [make(k) for k in range(n)]
    return [make(k) if ok else None for k, ok in enumerate(there)]


def _gather(child: DeviceArray, wanted: list[int]) -> Any:
    """A function that gives the values of these rows of a child, and looks at no others."""
    distinct = sorted(set(wanted))
    if not distinct:
        return None
    first, n = distinct[0], distinct[-1] + 1 - distinct[0]
    if n > 8 * len(distinct) + 64:
        return {k: _values(child._slice(k, 1), None)[0] for k in distinct}.__getitem__
    need = None
    if n > len(distinct):
        need = [False] * n
        for k in distinct:
            need[k - first] = True
    values = _values(child._slice(first, n), need)
    return lambda k: values[k - first]


# ---- scalars ----
def _zone(name: str) -> Any:
    if not name:
        return None
    sign, digits = name[0], name[1:].replace(":", "")
    if sign in "+-" and len(digits) == 4 and digits.isdigit() and digits.isascii():
        delta = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        return datetime.timezone(-delta if sign == "-" else delta)
    if name.upper() == "UTC":
        return datetime.timezone.utc
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, OSError) as e:  # OSError: the name of a folder
        raise ValueError(f"unknown time zone {name!r}; install tzdata if the system has no time zones") from e


def _micros(value: int, unit: str, what: str) -> int:
    """Microseconds of a value in `unit`; ValueError for nanoseconds that do not fit."""
    if unit != "n":
        return value * (10**6 // PER_SECOND[unit])
    if value % 1000:
        raise ValueError(f"{what} has nanoseconds; Python's datetime has none (install pandas)")
    return value // 1000


def _pandas(unit: str) -> Any:
    """pandas for nanoseconds, which Python's own types have not; None: not needed, or missing."""
    if unit != "n":
        return None
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def _timestamp(unit: str, zone: str) -> Any:
    tz = _zone(zone)
    pandas = _pandas(unit)

    def with_pandas(value: int) -> Any:
        stamp = pandas.Timestamp(value, unit="ns", tz="UTC" if tz else None)
        return stamp.tz_convert(tz) if tz else stamp

    def make(value: int) -> Any:
        moment = EPOCH + datetime.timedelta(microseconds=_micros(value, unit, f"timestamp {value}"))
        return moment.replace(tzinfo=datetime.timezone.utc).astimezone(tz) if tz else moment

    return with_pandas if pandas else make


def _duration(unit: str) -> Any:
    pandas = _pandas(unit)
    if pandas:
        return lambda value: pandas.Timedelta(value, unit="ns")
    return lambda value: datetime.timedelta(microseconds=_micros(value, unit, f"duration {value}"))


def _time(unit: str) -> Any:
    def make(value: int) -> Any:
        # pyarrow cuts nanoseconds of a time of day
        micros = value // 1000 if unit == "n" else _micros(value, unit, "time")
        if not 0 <= micros < MILLISECONDS_A_DAY * 1000:
            raise ValueError(f"{value} is not a time of day")
        return (EPOCH + datetime.timedelta(microseconds=micros)).time()

    return make


def _date(value: int) -> datetime.date:
    try:
        return datetime.date.fromordinal(EPOCH_DAY + value)
    except ValueError as e:
        raise OverflowError(str(e)) from None


def _temporal(f: str) -> Any:
    """Format -> (struct code, function or None)."""
    kind, unit = f[1], f[2]
    if kind == "d":
        return ("i", _date) if unit == "D" else ("q", lambda v: _date(v // MILLISECONDS_A_DAY))
    if kind == "t":
        return ("i" if unit in "sm" else "q"), _time(unit)
    if kind == "s":
        return "q", _timestamp(unit, f[4:])
    if kind == "D":
        return "q", _duration(unit)
    return "i", None  # months


def _decimals(a: DeviceArray, f: str, there: Need) -> Any:
    parts = f[2:].split(",")
    scale, width = int(parts[1]), int(parts[2]) // 8 if len(parts) == 3 else 16
    raw, base = _raw(a, 1), a.offset
    context = decimal.Context(prec=80)

    def make(k: int) -> Any:
        at = (base + k) * width
        return context.scaleb(decimal.Decimal(int.from_bytes(raw[at : at + width], "little", signed=True)), -scale)

    return _lazily(a.length, there, make)


def _tuples(a: DeviceArray, code: str, size: int, kind: Callable[..., Any]) -> Any:
    values = struct.iter_unpack(code, _raw(a, 1)[a.offset * size : (a.offset + a.length) * size])
    return [kind(*v) for v in values]


def _fixed(a: DeviceArray, f: str, need: Need) -> Any:
    there = present(a, need)
    if f == "e":  # memoryviews know no half floats
        raw = _raw(a, 1)
        return _masked(list(struct.unpack_from(f"={a.length}e", raw, a.offset * 2)), there)
    if f in CODES:
        return _masked(_numbers(a, 1, CODES[f]), there)
    if f.startswith("d:"):
        return _decimals(a, f, there)
    if f.startswith("w:"):
        width, raw, base = int(f[2:]), _raw(a, 1), a.offset
        return _lazily(a.length, there, lambda k: bytes(raw[(base + k) * width : (base + k + 1) * width]))
    if f == "tiD":
        return _masked(_tuples(a, "=ii", 8, DayTime), there)
    if f == "tin":
        return _masked(_tuples(a, "=iiq", 16, MonthDayNano), there)
    if there is not None and not any(there):
        return [None] * a.length
    code, make = _temporal(f)
    values = _numbers(a, 1, code)
    return _masked(values, there) if make is None else _lazily(a.length, there, lambda k: make(values[k]))


# ---- variable size ----
def _offsets(a: DeviceArray, code: str, extra: int = 1) -> Any:
    size = struct.calcsize(code)
    first = a.offset * size
    return _raw(a, 1)[first : first + (a.length + extra) * size].cast(code)


def _binary(a: DeviceArray, f: str, need: Need) -> Any:
    if not a.length:
        return []
    o, raw, there = _offsets(a, "q" if f in "ZU" else "i"), _raw(a, 2), present(a, need)
    if f in "uU":
        return _lazily(a.length, there, lambda k: str(raw[o[k] : o[k + 1]], "utf-8"))
    return _lazily(a.length, there, lambda k: bytes(raw[o[k] : o[k + 1]]))


def _views(a: DeviceArray, f: str, need: Need) -> Any:
    raw, base = _raw(a, 1), a.offset * 16
    data = [_raw(a, i) for i in range(2, a._n_buffers - 1)]

    def make(k: int) -> Any:
        at = base + 16 * k
        size, _, index, start = struct.unpack_from("=iiii", raw, at)
        value = raw[at + 4 : at + 4 + size] if size <= 12 else data[index][start : start + size]
        return str(value, "utf-8") if f == "vu" else bytes(value)

    return _lazily(a.length, present(a, need), make)


# ---- nested ----
_GAP = 64  # rows that no list refers to, which cost less than a stretch of their own


def _stretches(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, Need]]:
    """(first, stop, which rows are meant; None: all) of few stretches of a child that hold all these sorted ranges."""
    parts: list[tuple[int, int]] = []
    all_holes: list[list[tuple[int, int]]] = []
    for start, stop in ranges:
        if parts and start <= parts[-1][1] + _GAP:
            first, last = parts[-1]
            if start > last:
                all_holes[-1].append((last, start))
            parts[-1] = first, max(last, stop)
        else:
            parts.append((start, stop))
            all_holes.append([])
    for (first, stop), holes in zip(parts, all_holes):
        need = [True] * (stop - first)
        for i, j in holes:
            need[i - first : j - first] = [False] * (j - i)
        yield first, stop, need if holes else None


def _taken(
    a: DeviceArray,
    starts: Sequence[int],
    sizes: Sequence[int],
    there: Need,
    ranges: Iterable[tuple[int, int]],
    convert: Callable[..., Any],
) -> Any:
    """The list of each row that is there; of the child each row is converted once, and none outside ``ranges``."""
    child = a._child(0)
    parts = [(first, convert(child._slice(first, stop - first), need)) for first, stop, need in _stretches(ranges)]
    if len(parts) == 1:
        first, whole = parts[0]
        return _lazily(a.length, there, lambda k: whole[starts[k] - first : starts[k] - first + sizes[k]])
    firsts = [first for first, _ in parts]

    def make(k: int) -> Any:
        if not sizes[k]:
            return []
        first, values = parts[bisect_right(firsts, starts[k]) - 1]
        return values[starts[k] - first : starts[k] - first + sizes[k]]

    return _lazily(a.length, there, make)


def _pairs(entries: DeviceArray, need: Need) -> Any:
    """The entries of maps; a dict would lose some where both fields have one name."""
    return list(zip(_values(entries._child(0), need), _values(entries._child(1), need)))


def _lists(a: DeviceArray, f: str, need: Need) -> Any:
    there, o = present(a, need), _offsets(a, "q" if "L" in f else "i").tolist()
    convert = _pairs if f == "+m" else _values
    first = o[0]
    if there is None or not any(i != j for i, j, ok in zip(o, o[1:], there) if not ok):
        whole = convert(a._child(0)._slice(first, o[-1] - first), None)
        if there is None:
            return [whole[i - first : j - first] for i, j in zip(o, o[1:])]
        return [whole[i - first : j - first] if ok else None for i, j, ok in zip(o, o[1:], there)]
    sizes = [j - i for i, j in zip(o, o[1:])]
    ranges = [(o[k], o[k + 1]) for k, ok in enumerate(there) if ok and sizes[k]]
    return _taken(a, o, sizes, there, ranges, convert)


def _fixed_lists(a: DeviceArray, f: str, need: Need) -> Any:
    n, there = int(f[3:]), present(a, need)
    starts = range(0, a.length * n, n) if n else [0] * a.length
    ranges = [(0, a.length * n)]
    if there is not None:
        ranges = [(starts[k], starts[k] + n) for k, ok in enumerate(there) if ok and n]
    return _taken(a, starts, [n] * a.length, there, ranges, _values)


def _list_views(a: DeviceArray, f: str, need: Need) -> Any:
    there, code = present(a, need), "q" if "L" in f else "i"
    starts, sizes = _numbers(a, 1, code), _numbers(a, 2, code)
    used = (k for k in range(a.length) if sizes[k] and (there is None or there[k]))
    ranges = sorted((starts[k], starts[k] + sizes[k]) for k in used)
    return _taken(a, starts, sizes, there, ranges, _values)


def _structs(a: DeviceArray, f: str, need: Need) -> Any:
    names = a._schema.names
    there = present(a, need)
    if len(set(names)) != len(names) and (there is None or any(there)):
        raise ValueError("a struct with two fields of one name cannot become a dict")
    columns = [_values(a._child(i), there) for i in range(a._n_children)]
    rows = [dict(zip(names, row)) for row in zip(*columns)] if columns else [{} for _ in range(a.length)]
    return _masked(rows, there)


def _unions(a: DeviceArray, f: str, need: Need) -> Any:
    ids = _raw(a, 0)[a.offset : a.offset + a.length].tolist()
    child_of = {int(t): k for k, t in enumerate(f[4:].split(",") if f[4:] else [])}
    which = [child_of[t] for t in ids]
    if f[2] == "d":
        at = _numbers(a, 1, "i")
        wanted: list[list[int]] = [[] for _ in child_of]
        for k, c in enumerate(which):
            if need is None or need[k]:
                wanted[c].append(at[k])
        value = [_gather(a._child(c), w) for c, w in enumerate(wanted)]
        return _lazily(a.length, need, lambda k: value[which[k]](at[k]))
    columns = []
    for c in range(a._n_children):
        mine = [w == c and (need is None or need[k]) for k, w in enumerate(which)]
        columns.append(_values(a._child(c), mine))
    return [columns[c][k] for k, c in enumerate(which)]


def _runs(a: DeviceArray, f: str, need: Need) -> Any:
    if not a.length:
        return []
    ends, values = a._child(0), a._child(1)
    code = CODES[ends._format]
    size = struct.calcsize(code)
    ends = _raw(ends, 1)[ends.offset * size :].cast(code)
    first = bisect_right(ends, a.offset)
    last = bisect_right(ends, a.offset + a.length - 1)
    starts = [a.offset, *ends[first:last]]
    stops = [*starts[1:], a.offset + a.length]
    below = None
    if need is not None:
        below = [any(need[i - a.offset : j - a.offset]) for i, j in zip(starts, stops)]
    out = []
    for value, i, j in zip(_values(values._slice(first, last - first + 1), below), starts, stops):
        out += [value] * (j - i)
    return out


def _extension(a: DeviceArray) -> Any:
    """The Python value of known extension types; others show their storage."""
    metadata = a._schema.metadata or {}
    name = metadata.get(b"ARROW:extension:name")
    if name == b"arrow.uuid" and a._format == "w:16":
        import uuid

        return lambda v: uuid.UUID(bytes=v)
    if name == b"arrow.bool8" and a._format == "c":
        return bool
    return None


def _dictionary(a: DeviceArray, f: str, need: Need) -> Any:
    indices = _fixed(a, f, need)
    value = _gather(a._child(-1), [k for k in indices if k is not None])
    return [None if k is None else value(k) for k in indices]


def _decoder(a: DeviceArray, f: str) -> Any:
    if a._schema.dictionary is not None:
        return _dictionary
    if f == "n":
        return lambda a, f, need: [None] * a.length
    if f == "b":
        return lambda a, f, need: _masked(_bits(_raw(a, 1), a.offset, a.length), present(a, need))
    if f in ("z", "u", "Z", "U"):
        return _binary
    if f[0] == "v":
        return _views
    if f[0] != "+":
        return _fixed
    return {"s": _structs, "r": _runs, "u": _unions, "w": _fixed_lists, "v": _list_views}.get(f[1], _lists)


def _values(a: DeviceArray, need: Need) -> list[Any]:
    if not a.length:
        return []
    f = a._format
    out = _decoder(a, f)(a, f, need)
    make = _extension(a)
    return out if make is None else [None if v is None else make(v) for v in out]
