"""Every aggregate of groups, against the rows of each group taken by themselves.

What a group comes to is what pyarrow's function of the same name, or Python, makes of its rows alone: nothing of
cdevice's groups, hashes and states is in it.  The same question is asked by ``group_by``, by states that are merged, and by
the function of values and group ids.
"""

import math

import model
import pyarrow as pa
import pyarrow.compute as pc
from columns import DECIMALS, INTEGERS, NUMBERS, SIZED, TEXTS, TIMES, any_type, column
from exact_moments import exact_moments

import cdevice
import cdevice.compute as cc

_KEYS = [pa.int8(), pa.int64(), pa.string(), pa.bool_(), pa.date32(), pa.large_binary()]
_ORDERED = [*NUMBERS, pa.bool_(), *TIMES, *TEXTS, *DECIMALS]
_VALUES = [*INTEGERS, pa.bool_(), *TIMES, *TEXTS]  # equal where they look equal
_SPREAD = ("variance", "stddev")
_SHAPE = ("skew", "kurtosis")
_KEPT = ("first", "last", "first_last")
_OF_VALID = ("any", "all", "sum", "mean", "product", "min", "max", "min_max", *_KEPT, "approximate_median")
NAMES = (*_OF_VALID, *_SPREAD, *_SHAPE, "quantile", "count", "count_distinct", "distinct", "list", "one", "count_all")
NEAR = ("mean", "approximate_median", "quantile", *_SPREAD, *_SHAPE)


def _type(rng, name):
    if name in ("any", "all"):
        return pa.bool_()
    if name in ("sum", "mean", "product"):
        return rng.choice([*NUMBERS, pa.bool_()])
    if name in (*_SPREAD, *_SHAPE, "quantile", "approximate_median"):
        return rng.choice(NUMBERS)
    if name in ("min", "max", "min_max"):
        return rng.choice(_ORDERED)
    if name in ("count_distinct", "distinct"):
        return rng.choice(_VALUES)
    return any_type(rng) if name in ("count", "list", "one") else rng.choice([*SIZED, *TEXTS])


def _options(rng, name):
    if name in ("count", "count_distinct", "distinct"):
        return {"mode": rng.choice(("only_valid", "only_null", "all"))}
    if name in ("list", "one", "count_all"):
        return {}
    out = {"skip_nulls": rng.random() < 0.7, "min_count": rng.choice((0, 1, 1, 3))}
    if name in _SPREAD:
        out["ddof"] = rng.choice((0, 1))
    if name in _SHAPE:
        out["biased"] = rng.random() < 0.5
    if name == "quantile":
        out["q"] = rng.choice((0.0, 0.25, 0.5, 0.9, 1.0))
        out["interpolation"] = rng.choice(("linear", "lower", "higher", "nearest", "midpoint"))
    return out


def drawn(rng, n):
    """(keys, the number of each row's group, name, values, options)"""
    keys = column(rng, rng.choice(_KEYS), rng.choice((1, 3, 8)))
    keys = keys.take(pa.array([rng.randrange(len(keys)) for _ in range(n)], pa.int64()))
    name = rng.choice(NAMES)
    return keys, name, column(rng, _type(rng, name), n), _options(rng, name)


def _whole(rows, name, options):
    """min_count and skip_nulls as the aggregates of pyarrow have them: None, or the rows that count."""
    valid = rows.drop_null()
    if (not options["skip_nulls"] and rows.null_count) or len(valid) < options["min_count"]:
        return None
    return valid


def of_rows(rows, name, options):
    """What one group comes to, as Python has it."""
    if name == "count_all":
        return len(rows)
    if name in ("list", "one"):
        return model.rows(rows) if name == "list" else model.rows(rows)[0]
    if name in ("distinct", "count_distinct"):
        seen = list(dict.fromkeys(model.rows(rows)))
        mode = options["mode"]
        seen = [x for x in seen if mode == "all" or (x is None) == (mode == "only_null")]
        return len(seen) if name == "count_distinct" else seen
    if name == "count":
        return pc.count(rows, mode=options["mode"]).as_py()
    if name in _KEPT:
        valid = rows.drop_null()
        if len(valid) < options["min_count"]:
            first, last = None, None
        else:
            kept = valid if options["skip_nulls"] else rows
            values = model.rows(kept)
            first, last = (values[0], values[-1]) if values else (None, None)
        return {"first": first, "last": last, "first_last": {"first": first, "last": last}}[name]
    if name == "approximate_median":  # ours is exact
        kept = _whole(rows, name, options)
        return None if not kept else pc.quantile(kept.cast(pa.float64(), safe=False), 0.5)[0].as_py()
    if name == "quantile":
        kept = _whole(rows, name, options)
        return None if not kept else pc.quantile(kept, options["q"], interpolation=options["interpolation"])[0].as_py()
    if name in ("min", "max", "min_max"):  # pyarrow has them of fewer types
        values = model.rows(_whole(rows, name, options) or rows[:0])
        values = [x for x in values if x == x] or values[:1]  # NaN where there is nothing else
        least, most = (min(values), max(values)) if values else (None, None)
        return {"min": least, "max": most, "min_max": {"min": least, "max": most}}[name]
    if name in _SHAPE:  # pyarrow's lose digits far from zero
        kept = _whole(rows, name, options)
        return None if kept is None else _shape(model.rows(kept), name, options["biased"])
    out = getattr(pc, name)(rows, **options)
    return model.rows(pa.array([out.as_py()], out.type))[0] if out.is_valid else None


def _shape(values, name, biased):
    if all(map(math.isfinite, values)):
        return exact_moments(values, biased=biased)[name]
    return None if not biased and len(values) < {"skew": 3, "kurtosis": 4}[name] else math.nan


def expected(keys, values, name, options):
    """What each group comes to, in the order of their first rows; and the number of each row's group."""
    order, ids = {}, []
    for key in model.rows(keys):
        ids.append(order.setdefault(key, len(order)))
    numbers = pa.array(ids, pa.int64())
    return [of_rows(values.filter(pc.equal(numbers, g)), name, options) for g in range(len(order))], ids


def _asked(batch, column, name, options, how, rng):
    """A row for each group, as group_by gives it whole or from states of parts."""
    wanted = {"out": (column, name, options) if options else (column, name)}
    if how == "whole":
        return cc.group_by(batch, ["k"]).aggregate(wanted).field("out")
    cuts = sorted(rng.randrange(batch.length + 1) for _ in range(2))
    parts = [batch[i:j] for i, j in zip([0, *cuts], [*cuts, batch.length], strict=True)]
    states = [cc.group_by(part, ["k"]).partial(wanted) for part in parts]
    return cc.merge(states).field("out")


def _by_ids(values, ids, count, name, options):
    if name == "count_all":
        return cc.hash_count_all(ids, count)
    return getattr(cc, f"hash_{name}")(values, ids, count, **options)


def same(a, b, near, size):
    """``size``: that of the numbers which a result that may be near was made of."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], near, size) for k in a)
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or a == b or (near and math.isclose(a, b, rel_tol=near, abs_tol=size))
    return a == b or repr(a) == repr(b)


def _leaves_floats(values):
    """Can products of some of these leave the range of floats?  Then the order of the factors decides."""
    bits = _bits(values)
    return sum(x for x in bits if x > 0) > 1000 or sum(x for x in bits if x < 0) < -1000


def _powers_leave_floats(values):
    """Can the fourth power of a distance between two of these leave the range of floats, or their square that of m2's?"""
    bits = _bits(values)
    return max(bits, default=0) > 200 or min(bits, default=0) < -200


def _bits(values):
    return [math.log2(abs(x)) for x in values if isinstance(x, float) and x and math.isfinite(x)]


def check(rng, n, places):
    """Asks one question in every way, and holds it against the rows of each group."""
    keys, name, values, options = drawn(rng, n)
    want, ids = expected(keys, values, name, options)
    near = 5e-7 if values.type == pa.float32() or name in ("sum", "product") else 1e-9
    near = near if name in NEAR or pa.types.is_floating(values.type) else 0
    size = 1e-6
    if name == "mean" and values.type in (pa.int64(), pa.uint64()):  # sums beyond 64 bits are float64's
        size += 1e-14 * sum(abs(x or 0) for x in values.to_pylist())
    far = set()  # groups
    if name == "product" or name in _SHAPE:
        leaves, numbers = _leaves_floats if name == "product" else _powers_leave_floats, model.rows(values)
        far = {g for g in set(ids) if leaves([x for x, i in zip(numbers, ids, strict=True) if i == g])}
    batch = cdevice.asarray(pa.record_batch({"k": keys, "x": values}))
    column = [] if name == "count_all" else "x"
    for place in places:
        there = batch.to(place)
        numbers = cdevice.asarray(pa.array(ids, pa.uint32())).to(place)
        found = {
            "whole": _asked(there, column, name, options, "whole", rng),
            "merged": _asked(there, column, name, options, "merged", rng),
            "ids": _by_ids(there.field("x"), numbers, len(want), name, options),
        }
        for how, out in found.items():
            here = out.to("cpu")
            here.validate("full")
            got = model.rows(pa.array(here))
            free = far if how == "merged" or name in _SHAPE else ()
            agrees = len(got) == len(want) and all(
                g in free or same(x, y, near, size) for g, (x, y) in enumerate(zip(got, want, strict=True))
            )
            where = f"{how} of {values.type} by {keys.type} on {place}"
            assert agrees, f"{name} {options} {where}: {got[:9]}, want {want[:9]}"
    return f"{name} of groups"
