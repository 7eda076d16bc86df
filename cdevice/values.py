"""Rows as Python objects, of every Arrow type, and how an array prints."""

import collections
import datetime
import decimal
import struct
from bisect import bisect_right

from .buffer import view

MonthDayNano = collections.namedtuple("MonthDayNano", ("months", "days", "nanoseconds"))
DayTime = collections.namedtuple("DayTime", ("days", "milliseconds"))

_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_DAY = _EPOCH.toordinal()
_PER_SECOND = {"s": 1, "m": 10**3, "u": 10**6, "n": 10**9}
_CASTS = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "f": "f", "g": "d"}


def _raw(a, i):
    return view(a, *a._buffer(i))


def _numbers(a, i, code):
    """Elements of buffer i of the rows of a."""
    size = struct.calcsize(code)
    first = a.offset * size
    return _raw(a, i)[first : first + a.length * size].cast(code).tolist()


def _bits(raw, offset, length):
    return [bool(raw[k >> 3] >> (k & 7) & 1) for k in range(offset, offset + length)]


def _masked(a, values):
    """values with None where the bitmap says null."""
    if a.null_count == 0:
        return values
    valid = _bits(_raw(a, 0), a.offset, a.length)
    return [v if ok else None for v, ok in zip(values, valid)]


def _lazily(a, make):
    """[make(row) or None]: for values that must not be looked at where the row is null."""
    n = a.length
    if a.null_count == 0:
        return [make(k) for k in range(n)]
    valid = _bits(_raw(a, 0), a.offset, n)
    return [make(k) if ok else None for k, ok in enumerate(valid)]


# ---- scalars ----
def _zone(name):
    if not name:
        return None
    if name[0] in "+-" and len(name) == 6:
        delta = datetime.timedelta(hours=int(name[1:3]), minutes=int(name[4:6]))
        return datetime.timezone(-delta if name[0] == "-" else delta)
    if name.upper() == "UTC":
        return datetime.timezone.utc
    import zoneinfo

    return zoneinfo.ZoneInfo(name)


def _micros(value, unit, what):
    """Microseconds of a value in `unit`; ValueError for nanoseconds that do not fit."""
    if unit != "n":
        return value * (10**6 // _PER_SECOND[unit])
    if value % 1000:
        raise ValueError(f"{what} has nanoseconds; Python's datetime has none (install pandas)")
    return value // 1000


def _nanos_need_pandas(value, unit):
    if unit != "n" or value % 1000 == 0:
        return None
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def _timestamp(unit, zone):
    tz = _zone(zone)

    def make(value):
        pandas = _nanos_need_pandas(value, unit)
        if pandas:
            stamp = pandas.Timestamp(value, unit="ns", tz="UTC" if tz else None)
            return stamp.tz_convert(tz) if tz else stamp
        moment = _EPOCH + datetime.timedelta(microseconds=_micros(value, unit, f"timestamp {value}"))
        return moment.replace(tzinfo=datetime.timezone.utc).astimezone(tz) if tz else moment

    return make


def _duration(unit):
    def make(value):
        pandas = _nanos_need_pandas(value, unit)
        if pandas:
            return pandas.Timedelta(value, unit="ns")
        return datetime.timedelta(microseconds=_micros(value, unit, f"duration {value}"))

    return make


def _time(unit):
    def make(value):
        # pyarrow cuts nanoseconds of a time of day
        micros = value // 1000 if unit == "n" else _micros(value, unit, "time")
        return (_EPOCH + datetime.timedelta(microseconds=micros)).time()

    return make


def _date(value):
    return datetime.date.fromordinal(_EPOCH_DAY + value)


def _temporal(a, f):
    """Format -> (struct code, function or None)."""
    kind, unit = f[1], f[2]
    if kind == "d":
        return ("i", _date) if unit == "D" else ("q", lambda v: _date(v // 86400000))
    if kind == "t":
        return ("i" if unit in "sm" else "q"), _time(unit)
    if kind == "s":
        return "q", _timestamp(unit, f[4:])
    if kind == "D":
        return "q", _duration(unit)
    return "i", None  # months


def _decimals(a, f):
    parts = f[2:].split(",")
    scale, width = int(parts[1]), int(parts[2]) // 8 if len(parts) == 3 else 16
    raw, base = _raw(a, 1), a.offset
    context = decimal.Context(prec=80)

    def make(k):
        at = (base + k) * width
        return context.scaleb(decimal.Decimal(int.from_bytes(raw[at : at + width], "little", signed=True)), -scale)

    return _lazily(a, make)


def _fixed(a, f):
    if f in _CASTS:
        return _masked(a, _numbers(a, 1, _CASTS[f]))
    if f == "e":
        raw = _raw(a, 1)
        return _masked(a, list(struct.unpack_from(f"={a.length}e", raw, a.offset * 2)) if a.length else [])
    if f.startswith("d:"):
        return _decimals(a, f)
    if f.startswith("w:"):
        width, raw, base = int(f[2:]), _raw(a, 1), a.offset
        return _lazily(a, lambda k: bytes(raw[(base + k) * width : (base + k + 1) * width]))
    if f == "tiD":
        pairs = _numbers_of(a, "=ii", 8)
        return _masked(a, [DayTime(*p) for p in pairs])
    if f == "tin":
        return _masked(a, [MonthDayNano(*p) for p in _numbers_of(a, "=iiq", 16)])
    code, make = _temporal(a, f)
    values = _numbers(a, 1, code)
    return _masked(a, values) if make is None else _lazily(a, lambda k: make(values[k]))


def _numbers_of(a, code, size):
    return list(struct.iter_unpack(code, _raw(a, 1)[a.offset * size : (a.offset + a.length) * size]))


# ---- variable size ----
def _offsets(a, code, extra=1):
    size = struct.calcsize(code)
    first = a.offset * size
    return _raw(a, 1)[first : first + (a.length + extra) * size].cast(code)


def _binary(a, f):
    if not a.length:
        return []
    o, raw = _offsets(a, "q" if f in "ZU" else "i"), _raw(a, 2)
    if f in "uU":
        return _lazily(a, lambda k: str(raw[o[k] : o[k + 1]], "utf-8"))
    return _lazily(a, lambda k: bytes(raw[o[k] : o[k + 1]]))


def _views(a, f):
    raw, base = _raw(a, 1), a.offset * 16
    data = [_raw(a, i) for i in range(2, a._n_buffers - 1)]

    def make(k):
        at = base + 16 * k
        size, _, index, start = struct.unpack_from("=iiii", raw, at)
        value = raw[at + 4 : at + 4 + size] if size <= 12 else data[index][start : start + size]
        return str(value, "utf-8") if f == "vu" else bytes(value)

    return _lazily(a, make)


def _lists(a, f):
    if not a.length:
        return []
    child = a._child(0)
    code = "q" if "L" in f else "i"
    if f.startswith("+v"):
        starts = _offsets(a, code, 0)
        sizes = _numbers(a, 2, code)
        whole = to_pylist(child)
        return _lazily(a, lambda k: whole[starts[k] : starts[k] + sizes[k]])
    if f.startswith("+w"):
        n = int(f[3:])
        whole = to_pylist(child)
        return _lazily(a, lambda k: whole[k * n : (k + 1) * n])
    o = _offsets(a, code)
    first = o[0]
    whole = to_pylist(child._slice(first, o[a.length] - first))
    if f == "+m":
        whole = [None if e is None else tuple(e.values()) if isinstance(e, dict) else e for e in _entries(child, o, a)]
    return _lazily(a, lambda k: whole[o[k] - first : o[k + 1] - first])


def _entries(child, o, a):
    """(key, value) rows of a map; a dict would lose them where both fields have one name."""
    part = child._slice(o[0], o[a.length] - o[0])
    return list(zip(to_pylist(part._child(0)), to_pylist(part._child(1))))


def _structs(a, f):
    names = a._schema.names
    if len(set(names)) != len(names):
        raise ValueError("a struct with two fields of one name cannot become a dict")
    columns = [to_pylist(a._child(i)) for i in range(a._n_children)]
    rows = [dict(zip(names, row)) for row in zip(*columns)] if columns else [{} for _ in range(a.length)]
    return _masked(a, rows)


def _unions(a, f):
    ids = _raw(a, 0)[a.offset : a.offset + a.length].tolist()
    child_of = {int(t): k for k, t in enumerate(f[4:].split(",") if f[4:] else [])}
    columns = [to_pylist(a._child(i)) for i in range(a._n_children)]
    if f[2] == "d":
        at = _numbers(a, 1, "i")
        return [columns[child_of[t]][at[k]] for k, t in enumerate(ids)]
    return [columns[child_of[t]][k] for k, t in enumerate(ids)]


def _runs(a, f):
    if not a.length:
        return []
    ends, values = to_pylist(a._child(0)), a._child(1)
    first = bisect_right(ends, a.offset)
    last = bisect_right(ends, a.offset + a.length - 1)
    out = []
    row = a.offset
    for k, value in enumerate(to_pylist(values._slice(first, last - first + 1)), first):
        stop = min(ends[k], a.offset + a.length)
        out += [value] * (stop - row)
        row = stop
    return out


def _extension(a):
    """The Python value of known extension types; others show their storage."""
    metadata = a._schema.metadata or {}
    name = metadata.get(b"ARROW:extension:name")
    if name == b"arrow.uuid":
        import uuid

        return lambda v: uuid.UUID(bytes=v)
    if name == b"arrow.bool8":
        return bool
    return None


def to_pylist(a):
    """The rows of an array that the CPU may read now."""
    f = a._format
    if a._schema.dictionary is not None:
        values = to_pylist(a._child(-1))
        out = [None if k is None else values[k] for k in _fixed(a, f)]
    elif f == "n":
        out = [None] * a.length
    elif f == "b":
        out = _masked(a, _bits(_raw(a, 1), a.offset, a.length))
    elif f in ("z", "u", "Z", "U"):
        out = _binary(a, f)
    elif f[0] == "v":
        out = _views(a, f)
    elif f == "+s":
        out = _structs(a, f)
    elif f == "+r":
        out = _runs(a, f)
    elif f.startswith("+u"):
        out = _unions(a, f)
    elif f[0] == "+":
        out = _lists(a, f)
    else:
        out = _fixed(a, f)
    make = _extension(a)
    return out if make is None else [None if v is None else make(v) for v in out]


# ---- printing ----
def _shown(a, width=5):
    n = a.length
    if n <= 2 * width:
        return [_short(v) for v in to_pylist(a)]
    head = [_short(v) for v in to_pylist(a._slice(0, width))]
    return [*head, "...", *(_short(v) for v in to_pylist(a._slice(n - width, width)))]


def _short(value):
    text = repr(value) if value is not None else "null"
    return text if len(text) <= 60 else text[:57] + "..."


def describe(a):
    """What ``repr`` of an array shows: type, length, nulls, device, event, first and last values when readable."""
    if a.released:
        return "<cdevice.DeviceArray released>"
    nulls = a.null_count
    event = "none" if not a.sync_event else "unknown"
    ready = True
    if a.sync_event:
        try:
            ready = a.ready
            event = "done" if ready else "pending"
        except Exception:  # no backend, or a failed event: repr must not raise
            ready = False
    known = "unknown" if nulls < 0 else nulls
    head = f"<cdevice.DeviceArray {a.type}, length {a.length}, nulls {known}, on {a.device}, event {event}"
    from ._ext import lib

    values = ""
    if ready and lib.cdv_is_host_accessible(a.device_type_id):
        try:
            values = f"\n[{', '.join(_shown(a))}]"
        except Exception as e:
            values = f"\n[values cannot be shown: {e}]"
    return head + ">" + values
