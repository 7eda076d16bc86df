"""Calls of functions of lists as vectors that chance draws; what they give, row by row in Python."""

import math

import decimals
import pyarrow as pa
from columns import INTEGERS, NUMBERS, TIMES, column
from model import Open, Refused, Unknown, aggregate, arithmetic, common, one, rows
from model import cast as cast_numbers

ALONG = ("list_sum", "list_mean", "list_min", "list_max")
PAIRS = ("add", "subtract", "multiply", "divide", "add_checked", "subtract_checked", "multiply_checked")
ONES = ("negate", "abs", "negate_checked", "abs_checked")
# whose sums are exact in any order: eighths, and what is no number
EIGHTHS = (math.inf, math.nan, 0.0, -0.0)
FLOATS = [pa.float32(), pa.float64(), pa.float16()]
SUMMED = [
    *INTEGERS,
    pa.bool_(),
    *FLOATS,
    pa.decimal32(7, 2),
    pa.decimal64(16, 4),
    pa.decimal128(12, 3),
    pa.decimal256(40, 3),
]


def _exact(rng, values):
    """Floats whose sums and products are exact, in the places of others."""
    picks = [rng.choice(EIGHTHS) if rng.random() < 0.02 else rng.randrange(-400, 400) / 8 for _ in range(len(values))]
    return pa.array([None if v is None else p for v, p in zip(values.to_pylist(), picks)], values.type)


def _lists(rng, t, n, size=None):
    """Lists of some layout; of ``size`` values where it is given."""
    if size is None:
        size = rng.choice((0, 1, 2, 3, 5, 16, 17, 40))
        kind = rng.choice((pa.list_, pa.large_list, pa.list_view, pa.large_list_view, None, None))
    else:
        kind = None
    x = column(rng, pa.list_(t, size) if kind is None else kind(t), n)
    if t not in FLOATS or kind is None and size == 0:
        return x
    if kind is None:
        parts = pa.array([None if v is None else v for v in x.to_pylist()], x.type)
        return pa.FixedSizeListArray.from_arrays(_exact(rng, parts.values), type=x.type, mask=parts.is_null())
    return pa.array([None if v is None else _exact(rng, pa.array(v, t)).to_pylist() for v in x.to_pylist()], x.type)


def _counted(rng):
    return {"skip_nulls": rng.random() < 0.7, "min_count": rng.choice((0, 1, 1, 3))}


def along(rng, n):
    name = rng.choice(ALONG)
    t = rng.choice([*SUMMED, *(TIMES if name in ("list_min", "list_max") else [])])
    return name, [_lists(rng, t, n)], _counted(rng)


def norms(rng, n):
    t = rng.choice([pa.int8(), pa.uint8(), pa.int16(), pa.bool_(), pa.float32(), pa.float64()])
    ord = rng.choice((1, 2, math.inf))
    return "list_norm", [_lists(rng, t, n)], {"ord": ord, **_counted(rng)}


def dots(rng, n):
    size = rng.choice((0, 1, 3, 16, 33))
    small = [t for t in INTEGERS if t.bit_width < 64] + FLOATS  # whose products with eighths are exact
    a, b = rng.choice(small), rng.choice(small)
    if rng.random() < 0.6:
        a = b = rng.choice([*INTEGERS, *FLOATS])
    args = [_lists(rng, t, n, size) for t in (a, b)]
    k = rng.randrange(2)
    if rng.random() < 0.3 and n:
        args[k] = args[k][rng.randrange(n)]
    elif rng.random() < 0.4 and not args[k].offset:
        args[k] = args[k].cast(pa.list_(args[k].type.value_type))
    return "list_dot", args, _counted(rng)


def elementwise(rng, n):
    size = rng.choice((0, 1, 2, 3, 17))
    t = rng.choice(NUMBERS)
    x = _lists(rng, t, n, size)
    if rng.random() < 0.25:
        return rng.choice(ONES), [x], {}
    other = t if rng.random() < 0.7 else rng.choice(NUMBERS)
    kind = rng.random()
    y = _lists(rng, other, n, size) if kind < 0.6 else column(rng, other, n)
    if n and 0.5 < kind < 0.9:
        y = y[rng.randrange(n)]
    args = [x, y]
    if rng.random() < 0.5:
        args.reverse()
    return rng.choice(PAIRS), args, {}


def shapes(rng, n):
    sizes = [rng.choice((1, 2, 3, 4, 6)) for _ in range(rng.choice((1, 2)))]
    t = rng.choice([*NUMBERS, pa.string(), pa.bool_()])
    total = math.prod(sizes)
    for size in reversed(sizes):
        t = pa.list_(t, size)
    x = column(rng, t, n)
    parts = [k for k in range(1, total + 1) if total % k == 0]
    first = rng.choice(parts)
    shape = rng.choice(([total], [first, total // first], [-1, first], [first, -1], [total, 1], [-1], [total + 1]))
    return "reshape", [x], {"shape": shape}


FAMILIES = (along, norms, dots, elementwise, elementwise, shapes)


# ---- what they give ----
def list_reduced(name, args, options):
    (x,) = args
    found, inner, word = [], x.type.value_type, name.removeprefix("list_")
    t = None
    at = x if isinstance(x, pa.Array) else None
    for i in range(len(x)):
        values = at[i].values if at[i].is_valid else None
        if values is None:
            found.append(None)
            continue
        t, value = _of_list(word, values, options)
        found.append(value)
    if t is None:
        t, _ = _of_list(word, pa.array([], inner), options)
    return t, found


def _of_list(word, values, options):
    if word == "mean":
        options = {**options, "min_count": max(options["min_count"], 1)}
        valid = [v for v in rows(values) if v is not None]
        if not valid and not pa.types.is_decimal(values.type):
            return pa.float64(), None
    if values.type == pa.float16() and word in ("sum", "mean"):
        values = values.cast(pa.float32())
    if pa.types.is_decimal(values.type):
        return decimals.aggregate(word, [values], options)
    return aggregate(word, [values], options)


def _known(values, options):
    valid = [v for v in values if v is not None]
    return len(valid) >= options["min_count"] and (options["skip_nulls"] or len(valid) == len(values))


def list_norm(name, args, options):
    out = []
    for values in rows(args[0]):
        if values is None or not _known(values, options):
            out.append(None)
            continue
        valid = [abs(float(v)) for v in values if v is not None]
        if options["ord"] == 1:
            out.append(math.fsum(valid) if all(map(math.isfinite, valid)) else sum(valid))
        elif options["ord"] == 2:
            squares = [v * v for v in valid]
            out.append(math.sqrt(sum(squares)) if not any(v != v for v in squares) else math.nan)
        else:
            sound = [v for v in valid if v == v]
            out.append(max(sound) if sound else math.nan if valid else None)
    return pa.float64(), out


def list_dot(name, args, options):
    n = next((len(a) for a in args if not isinstance(a, pa.Scalar)), 1)
    both = [rows(a) * n if isinstance(a, pa.Scalar) else rows(a) for a in args]
    inner = common([a.type.value_type for a in args])
    out_type = pa.float64() if inner in FLOATS else pa.int64() if str(inner)[0] == "i" else pa.uint64()
    bits, out = 1 << 64, []
    for x, y in zip(*both, strict=True):
        if x is None or y is None:
            out.append(None)
            continue
        if len(x) != len(y):
            raise Refused("lists of several lengths")
        pairs = [None if u is None or v is None else (u, v) for u, v in zip(x, y, strict=True)]
        if not _known(pairs, options):
            out.append(None)
            continue
        products = [p[0] * p[1] for p in pairs if p is not None]
        if out_type == pa.float64():
            out.append(float(sum(map(float, products))))
        else:
            value = sum(products) % bits
            out.append(value - bits if out_type == pa.int64() and value >= bits >> 1 else value)
    return out_type, out


def of_lists(name, args):
    """A function of numbers, of each value of lists of one size."""
    n = next((len(a) for a in args if not isinstance(a, pa.Scalar)), 1)
    size = next(a.type.list_size for a in args if pa.types.is_fixed_size_list(a.type))
    if not n * size and any(isinstance(a, pa.Scalar) and not pa.types.is_fixed_size_list(a.type) for a in args):
        raise Open("whether a value fits that meets no other")
    flat, known = [], [True] * n
    for a in args:
        values = rows(a) * n if isinstance(a, pa.Scalar) else rows(a)
        sized = pa.types.is_fixed_size_list(a.type)
        known = [k and v is not None for k, v in zip(known, values, strict=True)]
        flat.append((sized, a.type.value_type if sized else a.type, values))
    made = []
    for sized, t, values in flat:
        some = [None if v is None else v[i] if sized else v for v in values for i in range(size)]
        made.append(pa.array(some, t))
    t, out = (arithmetic if len(args) == 2 else one)(name, made)
    cut = [out[i * size : (i + 1) * size] if known[i] else None for i in range(n)]
    return pa.list_(t, size), cut


def _flat(values, depth):
    if depth == 0:
        return [values]
    if values is None:
        raise Refused("a null list below another")
    return [v for x in values for v in _flat(x, depth - 1)]


def reshape(name, args, options):
    t, depth, total = args[0].type, 0, 1
    while pa.types.is_fixed_size_list(t):
        total, depth, t = total * t.list_size, depth + 1, t.value_type
    shape = list(options["shape"])
    if -1 in shape:
        others = -math.prod(shape)
        if total % others:
            raise Refused("shape")
        shape[shape.index(-1)] = total // others
    if math.prod(shape) != total:
        raise Refused("shape")
    below = any(x is None for v in rows(args[0]) if v is not None for x in v) if depth > 1 else False
    if below:
        raise Refused("a null list below another")
    out = []
    for v in rows(args[0]):
        if v is None:
            out.append(None)
            continue
        values = _flat(v, depth)
        for size in reversed(shape[1:]):
            values = [values[i : i + size] for i in range(0, len(values), size)]
        out.append(values)
    for size in reversed(shape):
        t = pa.list_(t, size)
    return t, out


def cast(args, options):
    """Lists as lists of another type: the values of rows alone are cast."""
    a, to = args[0], options["target_type"]
    inner = a.type.value_type
    known = {*NUMBERS, pa.bool_()}
    if inner not in known and not decimals.is_decimal(inner):
        raise Unknown
    values = rows(a)
    flat = pa.array([v for x in values if x is not None for v in x], inner)
    part = {**options, "target_type": to.value_type}
    try:
        _, made = decimals.model("cast", [flat], part)
    except Unknown:
        _, made = cast_numbers([flat], part)
    made = iter(made)
    return to, [None if x is None else [next(made) for _ in x] for x in values]


def model(name, args, options):
    """(type, values).  Raises Refused, Unknown."""
    if name in ALONG:
        return list_reduced(name, args, options)
    if name in ("list_norm", "list_dot", "reshape"):
        return {"list_norm": list_norm, "list_dot": list_dot, "reshape": reshape}[name](name, args, options)
    if name == "cast" and all(hasattr(t, "value_field") for t in (args[0].type, options["target_type"])):
        return cast(args, options)
    if any(pa.types.is_fixed_size_list(a.type) for a in args) and name in (*PAIRS, *ONES):
        return of_lists(name, args)
    raise Unknown
