"""Python values as arrays of every Arrow type."""

import array as _array
import datetime
import decimal
import struct

from .convert import from_buffers


def from_list(values, schema=None):
    """A CPU array of Python values, None as null.  ``schema`` None: as the values say, see :func:`cdevice.infer.infer`.
    Raises TypeError or ValueError for a value that the type cannot hold."""
    if schema is None:
        from .infer import infer

        schema = infer(values)
    return _encode(values, schema)


def _bitmap(flags):
    out = bytearray((len(flags) + 7) // 8)
    for i, f in enumerate(flags):
        if f:
            out[i >> 3] |= 1 << (i & 7)
    return out


def _validity(values):
    nulls = sum(v is None for v in values)
    return (_bitmap([v is not None for v in values]) if nulls else None), nulls


_CODES = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "f": "f", "g": "d", "e": "e"}
_PER_SECOND = {"s": 1, "m": 10**3, "u": 10**6, "n": 10**9}


def _pack(values, code, make=None):
    plain = [0 if v is None else v if make is None else make(v) for v in values]
    try:
        return struct.pack(f"={len(plain)}{code}", *plain)
    except struct.error as e:
        raise ValueError(f"a value does not fit the type: {e}") from None


def _ticks(unit):
    scale = _PER_SECOND[unit]

    def of_delta(d):
        micros = (d.days * 86400 + d.seconds) * 10**6 + d.microseconds
        nanos = micros * 1000 + getattr(d, "nanoseconds", 0)
        return nanos * scale // 10**9

    return of_delta


def _temporal_maker(f):
    unit, kind = f[2], f[1]
    epoch = datetime.datetime(1970, 1, 1)
    if kind == "d":
        days = lambda v: v.toordinal() - epoch.toordinal()
        return ("i", days) if unit == "D" else ("q", lambda v: days(v) * 86400000)
    ticks = _ticks(unit)
    if kind == "t":
        return ("i" if unit in "sm" else "q"), lambda v: ticks(
            datetime.timedelta(hours=v.hour, minutes=v.minute, seconds=v.second, microseconds=v.microsecond)
        )
    if kind == "s":

        def moment(v):
            extra = getattr(v, "nanosecond", 0) if unit == "n" else 0
            if hasattr(v, "to_pydatetime"):
                v = v.to_pydatetime(warn=False)
            if v.tzinfo is not None:
                v = v.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return ticks(v - epoch) + extra

        return "q", moment
    return "q", ticks


def _decimal_bytes(values, f):
    parts = f[2:].split(",")
    scale, width = int(parts[1]), int(parts[2]) // 8 if len(parts) == 3 else 16
    context = decimal.Context(prec=100, traps=[decimal.InvalidOperation])
    out = bytearray()
    for v in values:
        unscaled = 0
        if v is not None:
            exact = context.scaleb(decimal.Decimal(v), scale)
            unscaled = int(exact)
            if unscaled != exact or len(str(abs(unscaled))) > int(parts[0]):
                raise ValueError(f"{v} does not fit decimal({parts[0]}, {scale})")
        out += unscaled.to_bytes(width, "little", signed=True)
    return out


def _or_int(make):
    """Integers go in as they are."""
    return lambda v: v if isinstance(v, int) else make(v)


def _encode_fixed(values, schema, f):
    validity, nulls = _validity(values)
    if f in _CODES:
        data = _pack(values, _CODES[f])
    elif f == "b":
        data = _bitmap([bool(v) for v in values])
    elif f.startswith("d:"):
        data = _decimal_bytes(values, f)
    elif f.startswith("w:"):
        width = int(f[2:])
        data = b"".join(bytes(width) if v is None else _exactly(_as_bytes(v), width) for v in values)
    elif f == "tiM":
        data = _pack(values, "i")
    elif f == "tiD":
        data = b"".join(struct.pack("=ii", *(v or (0, 0))) for v in values)
    elif f == "tin":
        data = b"".join(struct.pack("=iiq", *(v or (0, 0, 0))) for v in values)
    else:
        code, make = _temporal_maker(f)
        data = _pack(values, code, _or_int(make))
    return from_buffers(schema, len(values), [validity, data], null_count=nulls)


def _as_bytes(v):
    return v.encode() if isinstance(v, str) else v.bytes if hasattr(v, "bytes") else bytes(v)


def _exactly(data, width):
    if len(data) != width:
        raise ValueError(f"{len(data)} bytes for fixed_size_binary[{width}]")
    return data


def _running(lengths, code):
    out, total = [0], 0
    for n in lengths:
        total += n
        out.append(total)
    try:
        return _array.array(code, out)
    except OverflowError:
        raise ValueError("more than 2^31 bytes or values: use the large_ form of the type") from None


def _text(v, f):
    if f in ("u", "U", "vu") and not isinstance(v, str):
        raise TypeError(f"{type(v).__name__} is no string")
    return _as_bytes(v)


def _encode_binary(values, schema, f):
    validity, nulls = _validity(values)
    parts = [b"" if v is None else _text(v, f) for v in values]
    offsets = _running(map(len, parts), "q" if f in "ZU" else "i")
    return from_buffers(schema, len(values), [validity, offsets, b"".join(parts)], null_count=nulls)


def _encode_views(values, schema, f):
    validity, nulls = _validity(values)
    views, data = bytearray(), bytearray()
    for v in values:
        part = b"" if v is None else _text(v, f)
        if len(part) <= 12:
            views += struct.pack("=i12s", len(part), part)
        else:
            views += struct.pack("=i4sii", len(part), part[:4], 0, len(data))
            data += part
    variadic = [bytes(data)] if data else []
    sizes = _array.array("q", [len(v) for v in variadic])
    return from_buffers(schema, len(values), [validity, bytes(views), *variadic, sizes], null_count=nulls)


def _encode_lists(values, schema, f):
    validity, nulls = _validity(values)
    item = schema._child(0)
    if f == "+m":
        rows = [[] if v is None else list(v.items() if isinstance(v, dict) else v) for v in values]
        key, value = item.children
        pairs = [p for row in rows for p in row]
        children = [_encode([p[0] for p in pairs], key), _encode([p[1] for p in pairs], value)]
        child = from_buffers(item, len(pairs), [None], null_count=0, children=children)
        return from_buffers(
            schema, len(values), [validity, _running(map(len, rows), "i")], null_count=nulls, children=[child]
        )
    if f.startswith("+w"):
        n = int(f[3:])
        rows = [[None] * n if v is None else list(v) for v in values]
        if any(len(r) != n for r in rows):
            raise ValueError(f"a list of another length than {n}")
        child = _encode([x for r in rows for x in r], item)
        return from_buffers(schema, len(values), [validity], null_count=nulls, children=[child])
    rows = [[] if v is None else list(v) for v in values]
    child = _encode([x for r in rows for x in r], item)
    code = "q" if "L" in f else "i"
    offsets = _running(map(len, rows), code)
    buffers = [validity, offsets]
    if f.startswith("+v"):
        buffers = [validity, offsets[: len(rows)], _array.array(code, map(len, rows))]
    return from_buffers(schema, len(values), buffers, null_count=nulls, children=[child])


def _encode_struct(values, schema, f):
    validity, nulls = _validity(values)
    fields = schema.children

    def of(row, i, name):
        return None if row is None else row.get(name) if isinstance(row, dict) else row[i]

    children = [_encode([of(v, i, s.name) for v in values], s) for i, s in enumerate(fields)]
    return from_buffers(schema, len(values), [validity], null_count=nulls, children=children)


def _encode_union(values, schema, f):
    """Values are (type id, value) pairs, or plain values that one child alone can hold."""
    ids = [int(t) for t in f[4:].split(",")] if f[4:] else []
    fields = schema.children
    pairs = [_choose(v, ids, fields) for v in values]
    type_ids = bytes(t for t, _ in pairs)
    if f[2] == "s":
        columns = [[v if t == mine else None for t, v in pairs] for mine in ids]
        children = [_encode(c, s) for c, s in zip(columns, fields)]
        return from_buffers(schema, len(values), [type_ids], null_count=0, children=children)
    rows = {t: [] for t in ids}
    offsets = _array.array("i")
    for t, v in pairs:
        offsets.append(len(rows[t]))
        rows[t].append(v)
    children = [_encode(rows[t], s) for t, s in zip(ids, fields)]
    return from_buffers(schema, len(values), [type_ids, offsets], null_count=0, children=children)


def _choose(v, ids, fields):
    if isinstance(v, tuple) and len(v) == 2 and v[0] in ids:
        return v
    for t, s in zip(ids, fields):
        try:
            _encode([v], s)
        except (TypeError, ValueError, AttributeError):
            continue
        return t, v
    raise TypeError(f"no child of the union can hold {v!r}")


def _encode_runs(values, schema, f):
    ends, runs = [], []
    for i, v in enumerate(values):
        if runs and (v == runs[-1] if v is not None else runs[-1] is None):
            ends[-1] = i + 1
        else:
            runs.append(v)
            ends.append(i + 1)
    children = [_encode(ends, schema._child(0)), _encode(runs, schema._child(1))]
    return from_buffers(schema, len(values), [], null_count=0, children=children)


def _key(v):
    """Something hashable that is equal for equal values of one type."""
    if isinstance(v, dict):
        return tuple((k, _key(x)) for k, x in v.items())
    return tuple(map(_key, v)) if isinstance(v, (list, tuple)) else v


def _encode(values, schema):
    f = schema.format
    if schema.dictionary is not None:
        distinct, indices = {}, []
        for v in values:
            indices.append(None if v is None else distinct.setdefault(_key(v), (len(distinct), v))[0])
        validity, nulls = _validity(indices)
        data = _pack(indices, _CODES[f])
        words = _encode([v for _, v in distinct.values()], schema.dictionary)
        return from_buffers(schema, len(values), [validity, data], null_count=nulls, dictionary=words)
    if f == "n":
        if any(v is not None for v in values):
            raise TypeError("only None goes into an array of type null")
        return from_buffers(schema, len(values), [], null_count=len(values))
    if f in ("z", "u", "Z", "U"):
        return _encode_binary(values, schema, f)
    if f[0] == "v":
        return _encode_views(values, schema, f)
    if f == "+s":
        return _encode_struct(values, schema, f)
    if f == "+r":
        return _encode_runs(values, schema, f)
    if f.startswith("+u"):
        return _encode_union(values, schema, f)
    if f[0] == "+":
        return _encode_lists(values, schema, f)
    return _encode_fixed(values, schema, f)
