"""What functions give, written from Arrow's documentation and the pages of docs/, row by row in Python: slow and plain.

It shares nothing with the package nor with pyarrow's functions.  Arrays are pyarrow's; values are those of ``rows()``.
"""

import datetime
import math
import re

import numpy as np
import pyarrow as pa

INTEGERS = {pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()}
FLOATS = {pa.float16(): (np.float16, 11), pa.float32(): (np.float32, 24), pa.float64(): (np.float64, 53)}
SIGNED = {pa.int8(), pa.int16(), pa.int32(), pa.int64()}
UNITS = ("s", "ms", "us", "ns")
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Unknown(Exception):
    """The model says nothing of this."""


class Refused(Exception):
    """An error must come."""


def rows(a):
    """The values of an array or a scalar; of times their numbers, which dates may be too small for, in lists too."""
    if isinstance(a, pa.Scalar):
        a = pa.repeat(a, 1)
    if isinstance(a, pa.ChunkedArray):
        return [v for c in a.chunks for v in rows(c)]
    t = a.type
    if pa.types.is_temporal(t) and not pa.types.is_interval(t):
        return a.view(pa.int32() if t.bit_width == 32 else pa.int64()).to_pylist()
    if (
        isinstance(a, pa.ExtensionArray)
        or not pa.types.is_nested(t)
        or pa.types.is_union(t)
        or pa.types.is_run_end_encoded(t)
    ):
        return a.to_pylist()
    valid = a.is_valid().to_pylist()
    if pa.types.is_struct(t):
        columns = [rows(a.field(i)) for i in range(t.num_fields)]
        names = [f.name for f in t]
        return [{k: c[i] for k, c in zip(names, columns)} if v else None for i, v in enumerate(valid)]
    if pa.types.is_fixed_size_list(t):
        values, size = rows(a.values), t.list_size
        begins = [(a.offset + i) * size for i in range(len(a))]
        ends = [b + size for b in begins]
    elif pa.types.is_map(t):
        values = list(zip(rows(a.keys), rows(a.items), strict=True))
        begins, ends = a.offsets.to_pylist()[:-1], a.offsets.to_pylist()[1:]
    else:
        values, begins = rows(a.values), a.offsets.to_pylist()
        if hasattr(a, "sizes"):  # a view
            ends = [b + s for b, s in zip(begins, a.sizes.to_pylist(), strict=True)]
        else:
            begins, ends = begins[:-1], begins[1:]
    return [values[b:e] if v else None for b, e, v in zip(begins, ends, valid, strict=True)]


class Open(Exception):
    """Whatever comes is right."""


# ---- types ----
def bounds(t):
    return (-(1 << (t.bit_width - 1)), (1 << (t.bit_width - 1)) - 1) if t in SIGNED else (0, (1 << t.bit_width) - 1)


def common(types):
    """Arrow's type for several."""
    kinds = {t for t in types if not pa.types.is_null(t)}
    if len(kinds) <= 1:
        return next(iter(kinds), pa.null())
    if all(t in INTEGERS or t in FLOATS for t in kinds):
        for f in (pa.float64(), pa.float32(), pa.float16()):
            if f in kinds:
                return f
        signed = max((t.bit_width for t in kinds if t in SIGNED), default=0)
        unsigned = max((t.bit_width for t in kinds if t not in SIGNED), default=0)
        if not signed:
            return {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[unsigned]
        width = max(signed, min(2 * unsigned, 64))
        return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[width]
    if all(map(pa.types.is_duration, kinds)):
        return pa.duration(max((t.unit for t in kinds), key=UNITS.index))
    if all(map(pa.types.is_time, kinds)):
        unit = max((t.unit for t in kinds), key=UNITS.index)
        return (pa.time32 if unit in ("s", "ms") else pa.time64)(unit)
    if all(map(pa.types.is_timestamp, kinds)) and len({t.tz for t in kinds}) == 1:
        return pa.timestamp(max((t.unit for t in kinds), key=UNITS.index), next(iter(kinds)).tz)
    raise Unknown


def exactly(value, source, to):
    """A value as one of another type; nothing may be lost."""
    if value is None or source == to:
        return value
    if source in INTEGERS and to in INTEGERS:
        low, high = bounds(to)
        if not low <= value <= high:
            raise Refused(f"{value} is no {to}")
        return value
    if source in INTEGERS and to in FLOATS:
        make, digits = FLOATS[to]
        if abs(value) > 1 << digits:
            raise Refused(f"{value} is no {to}")
        return float(make(value))
    if source in FLOATS and to in FLOATS:
        with np.errstate(all="ignore"):
            return float(FLOATS[to][0](value))
    if source in FLOATS and to in INTEGERS:
        if value != value or value in (math.inf, -math.inf) or value != int(value):
            raise Refused(f"{value} is no {to}")
        return exactly(int(value), pa.int64() if -(2**63) <= int(value) < 2**63 else pa.uint64(), to)
    unit_a, unit_b = getattr(source, "unit", None), getattr(to, "unit", None)
    both_times = pa.types.is_time(source) and pa.types.is_time(to)
    if unit_a in PER_SECOND and unit_b in PER_SECOND and (both_times or type(source) is type(to)):
        if pa.types.is_timestamp(to) and (source.tz is None) != (to.tz is None):
            raise Unknown
        ticks = value * PER_SECOND[unit_b]
        if ticks % PER_SECOND[unit_a] or not -(2**63) <= ticks // PER_SECOND[unit_a] < 2**63:
            raise Refused(f"{value} {unit_a} in {unit_b}")
        return ticks // PER_SECOND[unit_a]
    raise Unknown


def wrapped(value, t):
    low, high = bounds(t)
    return (value - low) % (high - low + 1) + low


# ---- a row for each row ----
def spread(args):
    """The values of several arguments, as many each: single values for all rows."""
    n = [len(a) for a in args if not isinstance(a, pa.Scalar)]
    if len(set(n)) > 1:
        raise Refused("lengths")
    length = n[0] if n else 1
    return [rows(a) * length if isinstance(a, pa.Scalar) else rows(a) for a in args]


def converted(args, t):
    return [
        [exactly(v, a.type, t) if not pa.types.is_null(a.type) else None for v in c]
        for a, c in zip(args, spread(args), strict=True)
    ]


def arithmetic(name, args):
    t = common([a.type for a in args])
    word, checked = name.removesuffix("_checked"), name.endswith("_checked")
    if t in FLOATS:
        make = np.float32 if t == pa.float16() else FLOATS[t][0]
        last = FLOATS[t][0]
        out = []
        for x, y in zip(*converted(args, t), strict=True):
            if x is None or y is None:
                out.append(None)
                continue
            if word == "divide" and checked and y == 0:
                raise Refused("divide by zero")
            with np.errstate(all="ignore"):
                a, b = make(x), make(y)
                r = a + b if word == "add" else a - b if word == "subtract" else a * b if word == "multiply" else a / b
                out.append(float(last(r)))
        return t, out
    if t not in INTEGERS:
        raise Unknown
    out, (low, high) = [], bounds(t)
    for x, y in zip(*converted(args, t), strict=True):
        if x is None or y is None:
            out.append(None)
            continue
        if word == "divide":
            if not y:
                raise Refused("divide by zero")
            r = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            if r > high and not checked:
                r = 0  # the one quotient that does not fit
        else:
            r = x + y if word == "add" else x - y if word == "subtract" else x * y
        if checked and not low <= r <= high:
            raise Refused("overflow")
        out.append(wrapped(r, t))
    return t, out


COMPARES = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
}
TEXT = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view())


def compare(name, args):
    types = [a.type for a in args]
    if all(t in TEXT or pa.types.is_fixed_size_binary(t) for t in types):
        both = [[v.encode() if isinstance(v, str) else v for v in c] for c in spread(args)]
    elif types[0] == types[1] and (
        types[0] == pa.bool_() or pa.types.is_temporal(types[0]) and not pa.types.is_interval(types[0])
    ):
        both = spread(args)
    else:
        t = common(types)
        if t not in INTEGERS and t not in FLOATS:
            raise Unknown
        both = converted(args, t)
    f = COMPARES[name]
    return pa.bool_(), [None if x is None or y is None else f(x, y) for x, y in zip(*both, strict=True)]


def kleene(name, x, y):
    if name == "and_kleene":
        return False if x is False or y is False else None if x is None or y is None else True
    return True if x is True or y is True else None if x is None or y is None else False


def logic(name, args):
    if any(a.type != pa.bool_() for a in args):
        raise Unknown
    out = []
    for x, y in zip(*spread(args), strict=True):
        if name.endswith("kleene"):
            out.append(kleene(name, x, y))
        elif x is None or y is None:
            out.append(None)
        else:
            out.append({"and_": x and y, "or_": x or y, "xor": x != y}[name])
    return pa.bool_(), out


def one(name, args):
    (values,), t = spread(args), args[0].type
    if name == "is_null":
        return pa.bool_(), [v is None for v in values]
    if name == "is_valid":
        return pa.bool_(), [v is not None for v in values]
    if name == "invert":
        return pa.bool_(), [None if v is None else not v for v in values]
    if name == "is_nan":
        if t not in FLOATS:
            raise Unknown
        return pa.bool_(), [None if v is None else v != v for v in values]
    word, checked = name.removesuffix("_checked"), name.endswith("_checked")
    if t in FLOATS:
        return t, [None if v is None else -v if word == "negate" else math.copysign(v, 1.0) for v in values]
    if t not in INTEGERS or (word == "negate" and checked and t not in SIGNED):
        raise Unknown
    out = [None if v is None else -v if word == "negate" else abs(v) for v in values]
    low, high = bounds(t)
    if checked and any(v is not None and not low <= v <= high for v in out):
        raise Refused("overflow")
    return t, [None if v is None else wrapped(v, t) for v in out]


# ---- rows that are chosen ----
def chosen(name, args, options):
    if name == "drop_null":
        return args[0].type, [v for v in rows(args[0]) if v is not None]
    values, picks = rows(args[0]), rows(args[1])
    if name == "take":
        if any(p is not None and not 0 <= p < len(values) for p in picks):
            raise Refused("index")
        return args[0].type, [None if p is None else values[p] for p in picks]
    if len(values) != len(picks):
        raise Refused("lengths")
    emit = options.get("null_selection_behavior") == "emit_null"
    kept = [(v, p) for v, p in zip(values, picks, strict=True) if p or (p is None and emit)]
    return args[0].type, [None if p is None else v for v, p in kept]


def picked(name, args):
    if name == "fill_null":
        t = args[1].type if pa.types.is_null(args[0].type) else args[0].type
        if args[1].type != t and not pa.types.is_null(args[1].type):
            common([t, args[1].type])  # or nothing is known
            if pa.types.is_temporal(t) and type(t) is not type(args[1].type) and not pa.types.is_time(t):
                raise Unknown
        both = [spread(args)[0], [exactly(v, args[1].type, t) for v in spread(args)[1]]]
        return t, [y if x is None else x for x, y in zip(*both, strict=True)]
    parts = args[1:] if name == "if_else" else args
    t = common([a.type for a in parts])
    columns = spread(args)
    values = [
        [exactly(v, a.type, t) if not pa.types.is_null(a.type) else None for v in c]
        for a, c in zip(parts, columns[-len(parts) :], strict=True)
    ]
    if name == "if_else":
        return t, [None if c is None else x if c else y for c, x, y in zip(columns[0], *values, strict=True)]
    return t, [next((v for v in row if v is not None), None) for row in zip(*values, strict=True)]


# ---- one row ----
def aggregate(name, args, options):
    values, t = rows(args[0]), args[0].type
    valid = [v for v in values if v is not None]
    if name == "count":
        mode = options.get("mode", "only_valid")
        return pa.int64(), {"only_valid": len(valid), "only_null": len(values) - len(valid), "all": len(values)}[mode]
    skip, least = options.get("skip_nulls", True), options.get("min_count", 1)
    enough = len(valid) >= least
    if name in ("any", "all"):
        found = any(valid) if name == "any" else all(valid)
        decided = found == (name == "any")
        return pa.bool_(), found if enough and (skip or decided or len(valid) == len(values)) else None
    if name in ("min", "max"):
        if not enough or not valid or (not skip and len(valid) < len(values)):
            return t, None
        sound = [v for v in valid if v == v]
        return t, (min if name == "min" else max)(sound) if sound else math.nan
    if t not in INTEGERS and t not in FLOATS and t != pa.bool_():
        raise Unknown
    known = enough and (skip or len(valid) == len(values))
    if name == "mean":
        if not valid:
            raise Unknown
        return pa.float64(), (sum(valid)) / len(valid) if known else None
    if name != "sum":
        raise Unknown
    if t in FLOATS:
        return pa.float64(), float(sum(valid)) if known else None
    out = pa.int64() if t in SIGNED else pa.uint64()
    return out, wrapped(sum(valid), out) if known else None


# ---- casts ----
TEXTS = {pa.string(), pa.large_string()}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity|nan(\([a-z0-9_]*\))?)", re.I | re.A)


def printed(v, t):
    """A value as text."""
    if t in INTEGERS:
        return str(v)
    if pa.types.is_boolean(t):
        return "true" if v else "false"
    raise Unknown


def read(text, to):
    """A text as a value."""
    if pa.types.is_boolean(to):
        if text.lower() not in ("true", "false", "0", "1"):
            raise Refused(text)
        return text.lower() in ("true", "1")
    if to in INTEGERS:
        low, high = bounds(to)
        if re.fullmatch(f"0[xX][0-9a-fA-F]{{1,{to.bit_width // 4}}}", text):
            return wrapped(int(text, 16), to)
        if not re.fullmatch(r"-?\d+" if low else r"\d+", text, re.A) or not low <= int(text) <= high:
            raise Refused(text)
        return int(text)
    if to == pa.float64():
        if not NUMBER.fullmatch(text):
            raise Refused(text)
        return float(text.partition("(")[0])
    raise Unknown


def cast(args, options):
    a, to, safe = args[0], options["target_type"], options["safe"]
    t, values = a.type, rows(a)
    if t == to:
        return to, values
    if t in TEXTS or to in TEXTS:
        return to, [None if v is None else (printed(v, t) if to in TEXTS else read(v, to)) for v in values]
    if to == pa.bool_() and (t in INTEGERS or t in FLOATS):
        return to, [None if v is None else v != 0 for v in values]
    if t == pa.bool_() and (to in INTEGERS or to in FLOATS):
        return to, [None if v is None else (float(v) if to in FLOATS else int(v)) for v in values]
    if not ({t, to} <= INTEGERS | FLOATS.keys()):
        raise Unknown
    if safe:
        return to, [exactly(v, t, to) for v in values]
    if to in FLOATS:
        with np.errstate(all="ignore"):
            return to, [None if v is None else float(FLOATS[to][0](v)) for v in values]
    low, high = bounds(to)
    if t in INTEGERS:
        return to, [None if v is None else wrapped(v, to) for v in values]
    return to, [
        None if v is None else 0 if v != v else int(max(low, min(high, v))) if abs(v) < 1e30 else high if v > 0 else low
        for v in values
    ]


def calendar(name, args):
    """The date of each row, in parts."""
    (a,) = args
    if getattr(a.type, "tz", None) is not None:
        raise Unknown
    per_day = 1 if pa.types.is_date32(a.type) else 86400 * PER_SECOND[getattr(a.type, "unit", "ms")]
    names = ("year", "month", "day") if name == "year_month_day" else ("iso_year", "iso_week", "iso_day_of_week")
    out = []
    for v in rows(a):
        day = None if v is None else datetime.date.fromordinal(v // per_day + 719163)
        parts = day and ((day.year, day.month, day.day) if names[0] == "year" else tuple(day.isocalendar()))
        out.append(parts and dict(zip(names, parts, strict=True)))
    return pa.struct([(n, pa.int64()) for n in names]), out


def joined(args, options):
    """Strings with a separator between; binary_join_element_wise."""
    *parts, separators = spread(args)
    types = {a.type for a in args}
    if len(types) > 1:
        raise Unknown
    how, more, out = options["null_handling"], options["null_replacement"], []
    if types <= {pa.binary(), pa.large_binary()}:
        more = more.encode()
    for *row, separator in zip(*parts, separators, strict=True):
        if how == "replace":
            row = [more if v is None else v for v in row]
        elif how == "skip":
            row = [v for v in row if v is not None]
        out.append(None if separator is None or None in row else separator.join(row))
    return next(iter(types)), out


def model(name, args, options):
    """(type, values, or one value of an aggregate).  Raises Refused, Unknown."""
    if name.removesuffix("_checked") in ("add", "subtract", "multiply", "divide"):
        return arithmetic(name, args)
    if name in COMPARES:
        return compare(name, args)
    if name in ("and_", "or_", "xor", "and_kleene", "or_kleene"):
        return logic(name, args)
    if name in ("filter", "take", "drop_null"):
        return chosen(name, args, options)
    if name in ("if_else", "fill_null", "coalesce"):
        return picked(name, args)
    if name in ("sum", "mean", "min", "max", "count", "any", "all"):
        return aggregate(name, args, options)
    if name == "cast":
        return cast(args, options)
    if name == "cbrt" and args[0].type in (pa.float32(), pa.float64()):
        return args[0].type, [None if v is None else float(np.cbrt(v)) for v in rows(args[0])]
    if name == "binary_join_element_wise":
        return joined(args, options)
    if name in ("year_month_day", "iso_calendar"):
        return calendar(name, args)
    if name in ("negate", "abs", "negate_checked", "abs_checked", "is_nan", "invert", "is_null", "is_valid"):
        return one(name, args)
    raise Unknown
