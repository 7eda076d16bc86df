"""Calls of functions that choose between columns, and of those of structs and maps, that chance draws; what they give,
row by row in Python."""

import pyarrow as pa
from columns import INTEGERS, NUMBERS, SIZED, TEXTS, VIEWS, any_type, column
from model import Refused, common, exactly, rows

CHOICES = ("case_when", "choose", "coalesce", "if_else")
KEYED = [pa.int8(), pa.int64(), pa.uint32(), pa.string(), pa.large_string(), pa.date32(), pa.bool_(), pa.binary(5)]
LAYOUTS = [
    *VIEWS,
    pa.list_view(pa.int32()),
    pa.large_list_view(pa.string()),
    pa.map_(pa.string(), pa.int16()),
    pa.run_end_encoded(pa.int32(), pa.int64()),
    pa.run_end_encoded(pa.int16(), pa.string()),
    pa.dictionary(pa.int8(), pa.string()),
    pa.list_(pa.string_view()),
    pa.struct([("a", pa.list_(pa.int8())), ("b", pa.struct([("c", pa.string())]))]),
]
MIXED = ([*NUMBERS], [pa.timestamp(u) for u in ("s", "ms", "us")], [pa.duration(u) for u in ("s", "ns")])


def _several(rng, n, count):
    """So many columns and single values, of one type or of some that have a common one."""
    if rng.random() < 0.25:
        kinds = rng.choice(MIXED)
        types = [rng.choice([*kinds, pa.null()]) for _ in range(count)]
    else:
        types = [rng.choice(LAYOUTS) if rng.random() < 0.4 else any_type(rng)] * count
    made = [column(rng, t, n) for t in types]
    for i, x in enumerate(made):
        one = rng.random() < 0.15 and not pa.types.is_run_end_encoded(x.type)
        if one:
            made[i] = x[rng.randrange(n)] if n and rng.random() < 0.8 else pa.scalar(None, x.type)
    if pa.types.is_dictionary(types[0]):  # of one dictionary
        made = [x if isinstance(x, pa.Array) else made[0] for x in made]
    return made


def chosen(rng, n):
    name = rng.choice(CHOICES)
    if name == "case_when":
        k = rng.choice((1, 2, 3))
        conditions = [column(rng, pa.bool_(), n) for _ in range(k)]
        cond = pa.StructArray.from_arrays(conditions, [f"c{i}" for i in range(k)])
        if rng.random() < 0.3 and n > 1:
            cut = rng.randrange(n)
            cond, n = cond.slice(cut), n - cut
        return name, [cond, *_several(rng, n, k + rng.randrange(2))], {}
    if name == "choose":
        k = rng.choice((1, 2, 3))
        t = rng.choice(INTEGERS)
        most = k if rng.random() < 0.95 else k + 1
        low = -1 if rng.random() < 0.03 and t.bit_width < 64 and str(t)[0] == "i" else 0
        picks = [None if rng.random() < 0.1 else rng.randrange(low, most) for _ in range(n)]
        return name, [pa.array(picks, t), *_several(rng, n, k)], {}
    made = _several(rng, n, 2 if name == "if_else" else rng.choice((1, 2, 3)))
    if name == "coalesce":
        return name, made, {}
    return name, [column(rng, pa.bool_(), n), *made], {}


def structs(rng, n):
    fields = [rng.choice(LAYOUTS) if rng.random() < 0.3 else any_type(rng) for _ in range(rng.choice((1, 2, 3)))]
    if rng.random() < 0.5:
        made = [column(rng, t, n) for t in fields]
        for i, x in enumerate(made):
            if rng.random() < 0.2 and x.type in (*SIZED, *TEXTS):
                made[i] = x[0] if n else pa.scalar(None, x.type)
        names = [f"f{i}" for i in range(len(made))]
        return "make_struct", made, {"field_names": names}
    inner = pa.struct([(f"i{i}", t) for i, t in enumerate(fields)])
    t = pa.struct([("a", pa.int8()), ("b", inner)])
    k = rng.randrange(len(fields))
    path = rng.choice((["b", f"i{k}"], [1, k], [1], "a", 0, ["b", k], f".b.i{k}"))
    return "struct_field", [column(rng, t, n)], {"indices": path}


def maps(rng, n):
    keys, items = rng.choice(KEYED), rng.choice([*SIZED, *TEXTS, *VIEWS, pa.list_(pa.int8())])
    x = column(rng, pa.map_(keys, items), n)
    some = [k for v in x.to_pylist() if v is not None for k, _ in v]
    key = rng.choice(some) if some and rng.random() < 0.8 else column(rng, keys, 1)[0]
    if not isinstance(key, pa.Scalar):
        key = pa.scalar(key, keys)
    if not key.is_valid:
        return "make_struct", [x], {"field_names": ["m"]}
    return "map_lookup", [x], {"query_key": key, "occurrence": rng.choice(("first", "last", "all"))}


FAMILIES = (chosen, chosen, structs, maps)


# ---- what they give ----
def _spread(args):
    n = next((len(a) for a in args if not isinstance(a, pa.Scalar)), 1)
    return [rows(a) * n if isinstance(a, pa.Scalar) else rows(a) for a in args], n


def _values(parts):
    """Columns in their common type."""
    types = [p.type for p in parts]
    t = common(types)
    columns, _ = _spread(parts)
    lost = [None if pa.types.is_null(p) else p for p in types]
    return t, [[None if p is None else exactly(v, p, t) for v in c] for p, c in zip(lost, columns, strict=True)]


def _one_length(args):
    if len({len(a) for a in args if not isinstance(a, pa.Scalar)}) > 1:
        raise Refused("lengths")
    return next((len(a) for a in args if not isinstance(a, pa.Scalar)), 1)


def case_when(args, options):
    n, (t, values) = _one_length(args), _values(args[1:])
    conditions = args[0].flatten()
    truths = [rows(c) for c in conditions]
    more = values[len(truths)] if len(values) > len(truths) else None
    values = [v if len(v) == n else v * n for v in values]
    out = []
    for i in range(n):
        k = next((k for k, c in enumerate(truths) if c[i]), None)
        out.append(values[k][i] if k is not None else None if more is None else values[-1][i])
    return t, out


def choose(args, options):
    n, (t, values) = _one_length(args), _values(args[1:])
    picks = rows(args[0])
    if any(p is not None and not 0 <= p < len(values) for p in picks):
        raise Refused("a number that no value has")
    values = [v if len(v) == n else v * n for v in values]
    return t, [None if p is None else values[p][i] for i, p in enumerate(picks)]


def make_struct(args, options):
    columns, n = _spread(args)
    names = options["field_names"]
    t = pa.struct([pa.field(name, a.type) for name, a in zip(names, args, strict=True)])
    return t, [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def struct_field(args, options):
    path, t, values = options["indices"], args[0].type, rows(args[0])
    keys = path[1:].split(".") if str(path)[:1] == "." else path if isinstance(path, list) else [path]
    for key in keys:
        field = t.field(key)
        t, values = field.type, [None if v is None else v[field.name] for v in values]
    return t, values


def map_lookup(args, options):
    key, t = rows(options["query_key"])[0], args[0].type.item_type
    found = []
    for entries in rows(args[0]):
        found.append(None if entries is None else [v for k, v in entries if k == key])
    how = options["occurrence"]
    if how == "all":
        return pa.list_(t), [x or None for x in found]
    return t, [None if not x else x[0 if how == "first" else -1] for x in found]


MODELS = {f.__name__: f for f in (case_when, choose, make_struct, struct_field, map_lookup)}
