"""Python values as arrays of every Arrow type.

A value goes in as what it is, or is refused with its row: nothing is rounded, cut, or read as something else.
"""

from __future__ import annotations

import array as _array
import datetime
import decimal
import functools
import operator
import struct
import sys

from .._arrays.from_buffers import from_buffers
from .units import CODES, EPOCH, EPOCH_DAY, EPOCH_UTC, MILLISECONDS_A_DAY, PER_SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .._types import DeviceArray, Schema


def from_list(values: list[Any], schema: Schema | None = None) -> DeviceArray:
    """A CPU array of Python values, None (and pandas' NA and NaT) as null.  ``schema`` None: inferred, see
    :func:`cdevice._values.infer.infer`.

    Raises TypeError for a value of a kind that the type has not, ValueError for one that it cannot hold exactly; floats
    alone are rounded to the width of the type.
    """
    try:
        if schema is None:
            from .infer import infer

            values = _nulls_as_none(values)
            schema = infer(values)
        return _encode(values, schema)
    except RecursionError:
        raise ValueError("values nested deeper than Python's stack, or inside themselves") from None


def _nulls_as_none(values: list[Any]) -> list[Any]:
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return values
    other = {type(x) for x in (getattr(pandas, "NaT", None), getattr(pandas, "NA", None))} - {type(None)}
    if not other or other.isdisjoint(map(type, values)):
        return values
    return [None if type(v) in other else v for v in values]


def _shown(v: Any) -> str:
    try:
        text = repr(v)
    except Exception:
        text = "(a value whose repr fails)"
    return text if len(text) <= 60 else text[:57] + "..."


def _refused(k: int, v: Any, schema: Schema, why: Any, kind: type[Exception]) -> Exception:
    field = f"field {schema.name!r}, " if schema.name else ""
    return kind(f"{field}row {k}: cannot convert {_shown(v)} ({type(v).__name__}) to {schema.type}: {why}")


def _converted(values: list[Any], convert: Callable[..., Any], schema: Schema, missing: Any) -> list[Any]:
    """convert(v) of each value, ``missing`` for None; an error names the row."""
    out = []
    for k, v in enumerate(values):
        if v is None:
            out.append(missing)
            continue
        try:
            out.append(convert(v))
        except TypeError as e:
            raise _refused(k, v, schema, e, TypeError) from None
        except (ValueError, ArithmeticError) as e:
            raise _refused(k, v, schema, e, ValueError) from None
    return out


# ---- bitmaps and numbers ----
def _bitmap(flags: Sequence[object]) -> bytearray:
    out = bytearray((len(flags) + 7) // 8)
    for i, f in enumerate(flags):
        if f:
            out[i >> 3] |= 1 << (i & 7)
    return out


def _validity(values: list[Any]) -> tuple[bytearray | None, int]:
    nulls = sum(v is None for v in values)
    return (_bitmap([v is not None for v in values]) if nulls else None), nulls


_EXACT_INTEGERS = {"e": 11, "f": 24, "g": 53}  # bits of the significand


def _dtype_kind(v: Any) -> str:
    """ "i", "f", "b" ... of numpy's scalars; "" of other objects."""
    return getattr(getattr(v, "dtype", None), "kind", "") if type(v).__module__ == "numpy" else ""


def _is_bool(v: Any) -> bool:
    return isinstance(v, bool) or _dtype_kind(v) == "b"


def _as_int(v: Any) -> int:
    if _is_bool(v):
        raise TypeError("expected a number, not a bool")
    if isinstance(v, int):
        return int(v)
    try:
        return operator.index(v)
    except TypeError:
        if hasattr(v, "__index__"):
            raise  # its own words
        raise TypeError("expected int") from None


def _integer(code: str) -> Any:
    size = struct.calcsize("=" + code)
    low, high = (0, (1 << 8 * size) - 1) if code.isupper() else (-1 << 8 * size - 1, (1 << 8 * size - 1) - 1)

    def convert(v: Any) -> Any:
        n = _as_int(v)
        if not low <= n <= high:
            raise ValueError(f"expected a value from {low} to {high}")
        return n

    return convert


def _float(f: str) -> Any:
    bits, code = _EXACT_INTEGERS[f], "=" + CODES[f]

    def convert(v: Any) -> Any:
        if isinstance(v, float) or _dtype_kind(v) == "f":
            out = float(v)
        else:
            if not hasattr(v, "__index__"):
                raise TypeError("expected float or int")
            n = _as_int(v)
            m = abs(n)
            if m >> bits and m & ((1 << m.bit_length() - bits) - 1):
                raise ValueError(f"integers of more than {bits} bits are not exact in this type")
            out = float(n)
        struct.pack(code, out)  # OverflowError
        return out

    return convert


def _packed(values: list[Any], code: str, convert: Callable[..., Any], schema: Schema) -> bytes:
    """The bytes of fixed-width numbers, 0 for None."""
    fast = {"d": float}.get(code, None if code in "ef" else int)
    if set(map(type, values)) == {fast}:
        try:
            return struct.pack(f"={len(values)}{code}", *values)
        except struct.error:
            pass  # one does not fit: below it is named
    return struct.pack(f"={len(values)}{code}", *_converted(values, convert, schema, 0))


# ---- time ----
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


def _temporal(f: str) -> tuple[str, Callable[[Any], int]]:
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
    integer = _integer(code)

    def convert(v: Any) -> Any:
        if hasattr(v, "__index__"):
            return integer(v)  # integers go in as they are
        count = make(v)
        if not -1 << 63 <= count < 1 << 63:  # nanoseconds: the classes reach no further in any other unit
            raise ValueError(_NANOSECONDS[kind])
        return integer(count)

    return code, convert


_NANOSECONDS = {
    "s": "64 bits of nanoseconds reach from 1677-09-21 to 2262-04-11",
    "D": "64 bits of nanoseconds reach 106751 days in both directions",
}


def _interval(code: str) -> Any:
    """Tuples of integers, as pyarrow's and our own named tuples are."""
    parts = [_integer(c) for c in code]

    def convert(v: Any) -> Any:
        if not isinstance(v, (tuple, list)) or len(v) != len(parts):
            raise TypeError(f"expected a tuple of {len(parts)} integers")
        return struct.pack("=" + code, *(to(x) for to, x in zip(parts, v)))

    return convert


def _decimal(f: str) -> tuple[Callable[[Any], bytes], bytes]:
    numbers = f[2:].split(",")
    precision, scale, width = int(numbers[0]), int(numbers[1]), int(numbers[2]) // 8 if len(numbers) == 3 else 16
    context = decimal.Context(prec=1000, traps=[decimal.InvalidOperation])

    def convert(v: Any) -> Any:
        if not isinstance(v, decimal.Decimal):
            if not hasattr(v, "__index__"):
                raise TypeError("expected decimal.Decimal or int")
            v = decimal.Decimal(_as_int(v))
        if not v.is_finite():
            raise ValueError("expected a finite decimal")
        _, digits, exponent = v.as_tuple()
        if v and not -1000 < exponent + scale + len(digits) <= precision:
            raise ValueError(f"the value has more than {precision} digits")
        unscaled = 0
        if v:
            exact = context.scaleb(v, scale)
            unscaled = int(exact)
            if unscaled != exact:
                raise ValueError(f"the value has more than {scale} digits after the decimal point")
        return unscaled.to_bytes(width, "little", signed=True)

    return convert, bytes(width)


# ---- bytes and text ----
def _as_bytes(v: Any) -> bytes:
    if isinstance(v, (bytes, bytearray)):
        return bytes(v)
    if isinstance(v, str):
        return v.encode()
    if isinstance(v, memoryview) or type(v).__module__ in ("array", "mmap"):
        return bytes(v)
    if type(v).__module__ == "uuid" and type(v).__name__ == "UUID":
        return bytes(v.bytes)
    if _dtype_kind(v) == "V":
        return bytes(v.tobytes())
    raise TypeError("expected a bytes-like object, str or UUID")


def _as_text(v: Any) -> bytes:
    if not isinstance(v, str):
        raise TypeError("expected str")
    return v.encode()


def _bytes_of(f: str) -> Any:
    return _as_text if f in ("u", "U", "vu") else _as_bytes


def _of_width(width: int) -> Any:
    def convert(v: Any) -> Any:
        data = _as_bytes(v)
        if len(data) != width:
            raise ValueError(f"expected {width} bytes, got {len(data)}")
        return data

    return convert


def _as_bool(v: Any) -> bool:
    if not _is_bool(v):
        raise TypeError("expected bool")
    return bool(v)


def _joined(convert: Callable[[Any], bytes], missing: Any) -> Any:
    """Encodes values whose bytes stand one after the other."""
    return lambda values, schema: b"".join(_converted(values, convert, schema, missing))


@functools.lru_cache(256)
def _fixed(f: str) -> Any:
    """What encodes the values buffer of a fixed-width type: a function of (values, schema)."""
    if f == "b":
        return lambda values, schema: _bitmap(_converted(values, _as_bool, schema, False))
    if f.startswith("d:"):
        return _joined(*_decimal(f))
    if f.startswith("w:"):
        return _joined(_of_width(int(f[2:])), bytes(int(f[2:])))
    if f in ("tiD", "tin"):
        code = "ii" if f == "tiD" else "iiq"
        return _joined(_interval(code), bytes(struct.calcsize("=" + code)))
    if f == "tiM":
        code, convert = "i", _integer("i")
    elif f in _EXACT_INTEGERS:
        code, convert = CODES[f], _float(f)
    elif f in CODES:
        code, convert = CODES[f], _integer(CODES[f])
    else:
        code, convert = _temporal(f)
    return lambda values, schema: _packed(values, code, convert, schema)


def _encode_fixed(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = _validity(values)
    return from_buffers(schema, len(values), [validity, _fixed(f)(values, schema)], null_count=nulls)


def _running(lengths: Iterable[int], code: str) -> Any:
    out, total = [0], 0
    for n in lengths:
        total += n
        out.append(total)
    try:
        return _array.array(code, out)
    except OverflowError:
        raise ValueError("more than 2^31 bytes or values: use the large_ form of the type") from None


def _encode_binary(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = _validity(values)
    parts = _converted(values, _bytes_of(f), schema, b"")
    offsets = _running(map(len, parts), "q" if f in "ZU" else "i")
    return from_buffers(schema, len(values), [validity, offsets, b"".join(parts)], null_count=nulls)


def _encode_views(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = _validity(values)
    views, data = bytearray(), bytearray()
    for part in _converted(values, _bytes_of(f), schema, b""):
        if len(part) <= 12:
            views += struct.pack("=i12s", len(part), part)
        else:
            if len(data) + len(part) > 2**31 - 1:
                raise ValueError("more than 2^31 bytes in one array of views")
            views += struct.pack("=i4sii", len(part), part[:4], 0, len(data))
            data += part
    variadic = [bytes(data)] if data else []
    sizes = _array.array("q", [len(v) for v in variadic])
    return from_buffers(schema, len(values), [validity, bytes(views), *variadic, sizes], null_count=nulls)


# ---- nested ----
def _row(v: Any) -> list[Any]:
    """The values of one list."""
    if isinstance(v, (str, bytes, bytearray, dict, set, frozenset)) or not hasattr(v, "__iter__"):
        raise TypeError("expected list, tuple or array")
    return list(v)


def _encode_lists(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = _validity(values)
    rows = _converted(values, _row, schema, [])
    child = _encode([x for r in rows for x in r], schema._child(0))
    code = "q" if "L" in f else "i"
    offsets = _running(map(len, rows), code)
    buffers = [validity, offsets]
    if f.startswith("+v"):
        buffers = [validity, offsets[: len(rows)], _array.array(code, map(len, rows))]
    return from_buffers(schema, len(values), buffers, null_count=nulls, children=[child])


def _encode_fixed_lists(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = _validity(values)
    n = int(f[3:])

    def convert(v: Any) -> Any:
        row = _row(v)
        if len(row) != n:
            raise ValueError(f"expected {n} values, got {len(row)}")
        return row

    rows = _converted(values, convert, schema, [None] * n)
    child = _encode([x for r in rows for x in r], schema._child(0))
    return from_buffers(schema, len(values), [validity], null_count=nulls, children=[child])


def _entries(v: Any) -> Any:
    pairs = list(v.items()) if isinstance(v, dict) else _row(v)
    for p in pairs:
        if not isinstance(p, (tuple, list)) or len(p) != 2:
            raise TypeError("expected a dict or a list of (key, value) pairs")
        if p[0] is None:
            raise ValueError("a map cannot have null keys")
    return pairs


def _encode_maps(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = _validity(values)
    rows = _converted(values, _entries, schema, [])
    item = schema._child(0)
    key, value = item.children
    pairs = [p for row in rows for p in row]
    children = [_encode([p[0] for p in pairs], key), _encode([p[1] for p in pairs], value)]
    child = from_buffers(item, len(pairs), [None], null_count=0, children=children)
    offsets = _running(map(len, rows), "i")
    return from_buffers(schema, len(values), [validity, offsets], null_count=nulls, children=[child])


def _fields_of(schema: Schema) -> Any:
    """One row of a struct as a list of its fields' values."""
    names = schema.names
    known, n = set(names), len(names)

    def convert(v: Any) -> Any:
        if isinstance(v, dict):
            if len(known) != n:
                raise ValueError("two fields have the same name: pass tuples")
            if not v.keys() <= known:
                other = ", ".join(repr(k) for k in v if k not in known)
                raise ValueError(f"unexpected {other}; the fields are {', '.join(map(repr, names)) or 'none'}")
            return [v.get(name) for name in names]
        if not isinstance(v, (tuple, list)):
            raise TypeError("expected dict or tuple")
        if len(v) != n:
            raise ValueError(f"expected {n} values, one for each field, got {len(v)}")
        return list(v)

    return convert


def _encode_struct(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = _validity(values)
    fields = schema.children
    rows = _converted(values, _fields_of(schema), schema, [None] * len(fields))
    children = [_encode([r[i] for r in rows], s) for i, s in enumerate(fields)]
    return from_buffers(schema, len(values), [validity], null_count=nulls, children=children)


def _encode_union(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    """Values are (type id, value) pairs, or plain values that one child alone can hold; None goes into the first."""
    ids = [int(t) for t in f[4:].split(",")] if f[4:] else []
    fields = schema.children
    pairs = [_choose(k, v, ids, fields, schema) for k, v in enumerate(values)]
    type_ids = bytes(t for t, _ in pairs)
    if f[2] == "s":
        columns = [[v if t == mine else None for t, v in pairs] for mine in ids]
        children = [_encode(c, s) for c, s in zip(columns, fields)]
        return from_buffers(schema, len(values), [type_ids], null_count=0, children=children)
    rows: dict[int, list[Any]] = {t: [] for t in ids}
    offsets = _array.array("i")
    for t, v in pairs:
        offsets.append(len(rows[t]))
        rows[t].append(v)
    children = [_encode(rows[t], s) for t, s in zip(ids, fields)]
    return from_buffers(schema, len(values), [type_ids, offsets], null_count=0, children=children)


# the beginnings of the formats that values of a class belong to by nature
_NATURAL: list[tuple[Any, tuple[str, ...]]] = [
    (bool, ("b",)),
    (int, tuple("cCsSiIlL")),
    (float, tuple("efg")),
    (str, ("u", "U", "vu")),
    ((bytes, bytearray, memoryview), ("z", "Z", "vz", "w:")),
    (datetime.datetime, ("ts",)),
    (datetime.date, ("td",)),
    (datetime.time, ("tt",)),
    (datetime.timedelta, ("tD",)),
    (decimal.Decimal, ("d:",)),
    (dict, ("+s", "+m")),
    ((list, tuple), ("+l", "+L", "+v", "+w")),
]
_NATURAL_KINDS = {"b": bool, "i": int, "u": int, "f": float}


def _is_natural(v: Any, schema: Schema) -> bool:
    s = schema if schema.dictionary is None else schema.dictionary
    f = s._child(1).format if s.format == "+r" else s.format
    kind = _NATURAL_KINDS.get(_dtype_kind(v), type(v))
    return next((f.startswith(formats) for classes, formats in _NATURAL if issubclass(kind, classes)), False)


def _choose(k: int, v: Any, ids: list[int], fields: list[Schema], schema: Schema) -> Any:
    if isinstance(v, tuple) and len(v) == 2 and type(v[0]) is int and v[0] in ids:
        return v
    if v is None and ids:
        return ids[0], None
    found = []
    for t, s in zip(ids, fields):
        try:
            _encode([v], s)
        except (TypeError, ValueError):
            continue
        found.append((t, s))
    if len(found) > 1:
        found = [(t, s) for t, s in found if _is_natural(v, s)] or found
    if len(found) == 1:
        return found[0][0], v
    if not found:
        raise _refused(k, v, schema, "no child of the union can hold the value", TypeError)
    raise _refused(
        k,
        v,
        schema,
        f"children {[t for t, _ in found]} of the union can hold the value: pass (type id, value)",
        TypeError,
    )


# ---- distinct values ----
def _key(v: Any, schema: Schema) -> Any:
    """Something hashable that is equal for values that are the same in Arrow, and only for these: 0.0 and -0.0 are
    two, so are two instants of one wall clock."""
    if v is None:
        return None
    f = schema.format
    if schema.dictionary is not None:
        return _key(v, schema.dictionary)
    if f == "+s":
        return tuple(_key(x, s) for x, s in zip(_fields_of(schema)(v), schema.children))
    if f == "+m":
        key, value = schema._child(0).children
        return tuple((_key(a, key), _key(b, value)) for a, b in _entries(v))
    if f == "+r":
        return _key(v, schema._child(1))
    if f.startswith("+u"):
        ids = [int(t) for t in f[4:].split(",")] if f[4:] else []
        t, x = _choose(0, v, ids, schema.children, schema)
        return t, _key(x, schema.children[ids.index(t)])
    if f[0] == "+":
        return tuple(_key(x, schema._child(0)) for x in _row(v))
    if f in ("z", "u", "Z", "U") or f[0] == "v":
        return _bytes_of(f)(v)
    return bytes(_fixed(f)([v], schema))


def _keys(values: list[Any], schema: Schema) -> list[Any]:
    out = _converted(values, lambda v: (_key(v, schema),), schema, None)
    return [None if k is None else k[0] for k in out]


def _encode_runs(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    ends: list[int] = []
    runs: list[Any] = []
    last: object = object()
    for i, (v, key) in enumerate(zip(values, _keys(values, schema._child(1)))):
        if runs and key == last:
            ends[-1] = i + 1
        else:
            runs.append(v)
            ends.append(i + 1)
        last = key
    children = [_encode(ends, schema._child(0)), _encode(runs, schema._child(1))]
    return from_buffers(schema, len(values), [], null_count=0, children=children)


def _encode_dictionary(values: list[Any], schema: Schema, of: Schema) -> DeviceArray:
    distinct: dict[Any, tuple[int, Any]] = {}
    indices: list[int | None] = []
    for v, key in zip(values, _keys(values, of)):
        indices.append(None if v is None else distinct.setdefault(key, (len(distinct), v))[0])
    validity, nulls = _validity(indices)
    code = CODES[schema.format]
    try:
        data = _packed(indices, code, _integer(code), schema)
    except ValueError:
        raise ValueError(f"{len(distinct)} distinct values are too many for the indices of {schema.type}") from None
    words = _encode([v for _, v in distinct.values()], of)
    return from_buffers(schema, len(values), [validity, data], null_count=nulls, dictionary=words)


def _encode_null(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    def refuse(v: Any) -> None:
        raise TypeError("only None is allowed")

    _converted(values, refuse, schema, None)
    return from_buffers(schema, len(values), [], null_count=len(values))


def _encode(values: list[Any], schema: Schema) -> DeviceArray:
    f = schema.format
    values = _nulls_as_none(values)
    of = schema.dictionary
    if of is not None:
        return _encode_dictionary(values, schema, of)
    if f == "n":
        encode = _encode_null
    elif f in ("z", "u", "Z", "U"):
        encode = _encode_binary
    elif f[0] == "v":
        encode = _encode_views
    elif f[0] != "+":
        encode = _encode_fixed
    else:
        nested = {
            "s": _encode_struct,
            "r": _encode_runs,
            "u": _encode_union,
            "w": _encode_fixed_lists,
            "m": _encode_maps,
        }
        encode = nested.get(f[1], _encode_lists)
    return encode(values, schema, f)
