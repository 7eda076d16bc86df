"""Arrays of any type from Python values: each type's encoder; nested ones call it for their children."""

from __future__ import annotations

import array as _array
import datetime
import decimal

from .._arrays.from_buffers import from_buffers
from .binary import bytes_of, encode_binary, encode_views, running
from .convert import converted, nulls_as_none, refused, validity_of
from .fixed_width import encode_fixed, values_of
from .numeric import dtype_kind, integer_of, packed
from .units import CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray, Schema


def _row(v: Any) -> list[Any]:
    """The values of one list."""
    if isinstance(v, (str, bytes, bytearray, dict, set, frozenset)) or not hasattr(v, "__iter__"):
        raise TypeError("expected list, tuple or array")
    return list(v)


def _encode_lists(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = validity_of(values)
    rows = converted(values, _row, schema, [])
    child = encode_values([x for r in rows for x in r], schema._child(0))
    code = "q" if "L" in f else "i"
    offsets = running(map(len, rows), code)
    buffers = [validity, offsets]
    if f.startswith("+v"):
        buffers = [validity, offsets[: len(rows)], _array.array(code, map(len, rows))]
    return from_buffers(schema, len(values), buffers, null_count=nulls, children=[child])


def _encode_fixed_lists(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    validity, nulls = validity_of(values)
    n = int(f[3:])

    def convert(v: Any) -> Any:
        row = _row(v)
        if len(row) != n:
            raise ValueError(f"expected {n} values, got {len(row)}")
        return row

    rows = converted(values, convert, schema, [None] * n)
    child = encode_values([x for r in rows for x in r], schema._child(0))
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
    validity, nulls = validity_of(values)
    rows = converted(values, _entries, schema, [])
    item = schema._child(0)
    key, value = item.children
    pairs = [p for row in rows for p in row]
    children = [encode_values([p[0] for p in pairs], key), encode_values([p[1] for p in pairs], value)]
    child = from_buffers(item, len(pairs), [None], null_count=0, children=children)
    offsets = running(map(len, rows), "i")
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
    validity, nulls = validity_of(values)
    fields = schema.children
    rows = converted(values, _fields_of(schema), schema, [None] * len(fields))
    children = [encode_values([r[i] for r in rows], s) for i, s in enumerate(fields)]
    return from_buffers(schema, len(values), [validity], null_count=nulls, children=children)


def _encode_union(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    """Values are (type id, value) pairs, or plain values that one child alone can hold; None goes into the first."""
    ids = [int(t) for t in f[4:].split(",")] if f[4:] else []
    fields = schema.children
    pairs = [_choose(k, v, ids, fields, schema) for k, v in enumerate(values)]
    type_ids = bytes(t for t, _ in pairs)
    if f[2] == "s":
        columns = [[v if t == mine else None for t, v in pairs] for mine in ids]
        children = [encode_values(c, s) for c, s in zip(columns, fields)]
        return from_buffers(schema, len(values), [type_ids], null_count=0, children=children)
    rows: dict[int, list[Any]] = {t: [] for t in ids}
    offsets = _array.array("i")
    for t, v in pairs:
        offsets.append(len(rows[t]))
        rows[t].append(v)
    children = [encode_values(rows[t], s) for t, s in zip(ids, fields)]
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
    kind = _NATURAL_KINDS.get(dtype_kind(v), type(v))
    return next((f.startswith(formats) for classes, formats in _NATURAL if issubclass(kind, classes)), False)


def _choose(k: int, v: Any, ids: list[int], fields: list[Schema], schema: Schema) -> Any:
    if isinstance(v, tuple) and len(v) == 2 and type(v[0]) is int and v[0] in ids:
        return v
    if v is None and ids:
        return ids[0], None
    found = []
    for t, s in zip(ids, fields):
        try:
            encode_values([v], s)
        except (TypeError, ValueError):
            continue
        found.append((t, s))
    if len(found) > 1:
        found = [(t, s) for t, s in found if _is_natural(v, s)] or found
    if len(found) == 1:
        return found[0][0], v
    if not found:
        raise refused(k, v, schema, "no child of the union can hold the value", TypeError)
    raise refused(
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
        return bytes_of(f)(v)
    return bytes(values_of(f)([v], schema))


def _keys(values: list[Any], schema: Schema) -> list[Any]:
    out = converted(values, lambda v: (_key(v, schema),), schema, None)
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
    children = [encode_values(ends, schema._child(0)), encode_values(runs, schema._child(1))]
    return from_buffers(schema, len(values), [], null_count=0, children=children)


def _encode_dictionary(values: list[Any], schema: Schema, of: Schema) -> DeviceArray:
    distinct: dict[Any, tuple[int, Any]] = {}
    indices: list[int | None] = []
    for v, key in zip(values, _keys(values, of)):
        indices.append(None if v is None else distinct.setdefault(key, (len(distinct), v))[0])
    validity, nulls = validity_of(indices)
    code = CODES[schema.format]
    try:
        data = packed(indices, code, integer_of(code), schema)
    except ValueError:
        raise ValueError(f"{len(distinct)} distinct values are too many for the indices of {schema.type}") from None
    words = encode_values([v for _, v in distinct.values()], of)
    return from_buffers(schema, len(values), [validity, data], null_count=nulls, dictionary=words)


def _encode_null(values: list[Any], schema: Schema, f: str) -> DeviceArray:
    def refuse(v: Any) -> None:
        raise TypeError("only None is allowed")

    converted(values, refuse, schema, None)
    return from_buffers(schema, len(values), [], null_count=len(values))


def encode_values(values: list[Any], schema: Schema) -> DeviceArray:
    f = schema.format
    values = nulls_as_none(values)
    of = schema.dictionary
    if of is not None:
        return _encode_dictionary(values, schema, of)
    if f == "n":
        encode = _encode_null
    elif f in ("z", "u", "Z", "U"):
        encode = encode_binary
    elif f[0] == "v":
        encode = encode_views
    elif f[0] != "+":
        encode = encode_fixed
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
