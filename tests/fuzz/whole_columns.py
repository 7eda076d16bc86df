"""Calls of functions of whole columns that chance draws: running totals, fills, runs, lists, order, sets, summaries,
groups and joins."""

import pyarrow as pa
from columns import DECIMALS, INTEGERS, NUMBERS, SIZED, TEXTS, TIMES, any_type, column

FLOATS = (pa.float32(), pa.float64())
WIDE = [pa.decimal256(40, 3), pa.decimal256(76, 0)]
ORDERED = [*SIZED, *TEXTS, *WIDE]
# what the devices must not agree on to the bit with pyarrow: sums of floats by another tree, and which zero is shown
NEAR = (
    "cumulative_sum",
    "cumulative_sum_checked",
    "cumulative_prod",
    "cumulative_prod_checked",
    "cumulative_min",
    "cumulative_max",
    "cumulative_mean",
    "variance",
    "stddev",
    "skew",
    "kurtosis",
    "quantile",
    "rank_quantile",
    "product",
    "mode",
)


def _order(rng):
    return rng.choice(("ascending", "descending"))


def _counted(rng):
    return {"skip_nulls": rng.random() < 0.7, "min_count": rng.choice((0, 0, 1, 5))}


def running(rng, n):
    name = rng.choice(("sum", "sum_checked", "prod", "prod_checked", "min", "max", "mean"))
    t = rng.choice(INTEGERS if name.startswith("prod") else [*INTEGERS, pa.float64()])  # products depend on the order
    if name == "mean" and t.bit_width == 64:  # whose sums in float64 depend on the order where they cancel
        t = pa.float64()
    options = {"skip_nulls": rng.random() < 0.5}
    if rng.random() < 0.3 and name != "mean":
        options["start"] = pa.scalar(rng.choice((0, 1, 3)), t)
    return f"cumulative_{name}", [column(rng, t, n)], options


def difference(rng, n):
    t = rng.choice([*NUMBERS, *DECIMALS, *TIMES, pa.decimal256(40, 3)])
    name = rng.choice(("pairwise_diff", "pairwise_diff_checked"))
    return name, [column(rng, t, n)], {"period": rng.choice((1, 2, -1, -3, 0, 40))}


def filled(rng, n):
    kind = rng.randrange(3)
    t = rng.choice([*SIZED, *TEXTS])
    if kind < 2:
        return ("fill_null_forward", "fill_null_backward")[kind], [column(rng, t, n)], {}
    mask = column(rng, pa.bool_(), n)
    wanted = sum(x is True for x in mask.to_pylist())
    return "replace_with_mask", [column(rng, t, n), mask, column(rng, t, wanted + rng.randrange(3))], {}


def runs(rng, n):
    t = rng.choice([*SIZED, *TEXTS])
    x = column(rng, t, n)
    picks = pa.array(sorted(rng.randrange(max(n, 1)) for _ in range(n)), pa.int64())
    return "run_end_encode", [x.take(picks) if n else x], {}


def lists(rng, n):
    t = rng.choice([*INTEGERS, *TEXTS, pa.float64(), pa.bool_()])
    t = rng.choice((pa.list_(t), pa.large_list(t), pa.list_(t, 3), pa.list_(pa.list_(t))))
    x = column(rng, t, n)
    name = rng.choice(("list_value_length", "list_flatten", "list_parent_indices", "list_slice", "list_element"))
    if name == "list_slice":
        start = rng.randrange(3)
        stop = rng.choice((None, start, start + 1, start + 4))
        return name, [x], {"start": start, "stop": stop, "step": rng.choice((1, 1, 2)), "return_fixed_size_list": False}
    return name, [x, *([pa.scalar(rng.choice((0, 0, 1)), pa.int32())] if name == "list_element" else [])], {}


def ordered(rng, n):
    name = rng.choice(("rank_quantile", "select_k_unstable", "inverse_permutation", "scatter"))
    if name in ("inverse_permutation", "scatter"):
        indices = pa.array(rng.sample(range(n + 3), n), rng.choice((pa.int32(), pa.int64())))
        mask = pa.array([rng.random() < 0.1 for _ in range(n)], pa.bool_())
        indices = pa.array([None if m else i for i, m in zip(indices.to_pylist(), mask.to_pylist())], indices.type)
        options = {"max_index": n + 3}
        return name, [*([column(rng, any_type(rng), n)] if name == "scatter" else []), indices], options
    t = rng.choice(ORDERED)
    if name == "rank_quantile":
        return (
            name,
            [column(rng, t, n)],
            {"sort_keys": _order(rng), "null_placement": rng.choice(("at_end", "at_start"))},
        )
    n = rng.choice((n, n, 20_000))
    return name, [column(rng, t, n)], {"k": rng.choice((0, 1, 2, 7, n)), "sort_keys": [("", _order(rng))]}


def sets(rng, n):
    name = rng.choice(("is_in", "index_in", "index", "mode", "count_distinct"))
    t = rng.choice(ORDERED)
    x = column(rng, t, n)
    if name == "count_distinct" and t != pa.float16():  # of which pyarrow 26 finds fewer than its unique
        return name, [x], {"mode": rng.choice(("only_valid", "only_null", "all"))}
    if name in ("mode", "count_distinct"):
        name = "mode"
        t = rng.choice([*NUMBERS, pa.bool_(), *DECIMALS, *WIDE])
        return name, [column(rng, t, n)], {"n": rng.choice((1, 2, 100)), **_counted(rng)}
    if name == "index":
        return name, [x], {"value": x[rng.randrange(n)] if n and rng.random() < 0.8 else column(rng, t, 1)[0]}
    some = pa.concat_arrays([column(rng, t, rng.choice((0, 3, 40))), x[: rng.randrange(n + 1)]])
    return name, [x], {"value_set": some, "skip_nulls": rng.random() < 0.3}


def summaries(rng, n):
    name = rng.choice(("variance", "stddev", "skew", "kurtosis", "quantile", "product", "first", "last", "first_last"))
    options = _counted(rng)
    if name in ("first", "last", "first_last"):
        return name, [column(rng, rng.choice([*NUMBERS, *TIMES, *TEXTS, pa.bool_()]), n)], options
    if name == "product":
        return (
            name,
            [column(rng, rng.choice([*INTEGERS, pa.bool_(), pa.null(), pa.decimal128(12, 3), *WIDE]), n)],
            options,
        )
    if name == "quantile":
        how = rng.choice(("linear", "lower", "higher", "nearest", "midpoint"))
        q = [rng.choice((0, 0.5, 1, rng.random())) for _ in range(rng.choice((1, 3)))]
        return (
            name,
            [column(rng, rng.choice([*NUMBERS, *DECIMALS, *WIDE]), n)],
            {"q": q, "interpolation": how, **options},
        )
    options |= {"ddof": rng.choice((0, 1, 3))} if name in ("variance", "stddev") else {"biased": rng.random() < 0.5}
    return name, [column(rng, rng.choice((pa.int8(), pa.int32(), pa.uint16(), *FLOATS)), n)], options


FAMILIES = (running, difference, filled, runs, lists, ordered, sets, summaries)


def drawn(rng, n):
    """(name, arguments, options)"""
    return rng.choice(FAMILIES)(rng, n)


# ---- groups and joins: calls with batches ----
KEYS = [pa.int8(), pa.int64(), pa.string(), pa.bool_(), pa.float64(), pa.date32(), pa.decimal128(5, 0)]
TOTALS = ("sum", "min", "max", "count", "mean", "count_distinct", "product", "first", "last")
JOINS = ("left semi", "right semi", "left anti", "right anti", "inner", "left outer", "right outer", "full outer")


def _few(rng, t, n):
    some = column(rng, t, 6)
    return some.take(pa.array([rng.randrange(6) for _ in range(n)], pa.int64()))


def batch(rng, types, n, value):
    """Keys of few values, and a column of integers."""
    columns = {f"k{i}": _few(rng, t, n) for i, t in enumerate(types)}
    return pa.record_batch({**columns, value: column(rng, pa.int32(), n)})


def groups(rng, n):
    """(batch, keys, aggregations)"""
    types = [rng.choice(KEYS) for _ in range(rng.choice((1, 1, 2, 3)))]
    return (
        batch(rng, types, n, "x"),
        [f"k{i}" for i in range(len(types))],
        [("x", rng.choice(TOTALS)), ([], "count_all")],
    )


def joined(rng, n):
    """(left, right, keys, type of join)"""
    types = [rng.choice([t for t in KEYS if t != pa.float64()]) for _ in range(rng.choice((1, 1, 2)))]
    m = rng.choice((0, 1, n, 40))
    return batch(rng, types, n, "x"), batch(rng, types, m, "y"), [f"k{i}" for i in range(len(types))], rng.choice(JOINS)
