"""Groups of equal rows and their aggregates, on every device, against pyarrow."""

import decimal
import itertools
import math
import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

from compute_cases import places  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

NAN = float("nan")
D = decimal.Decimal
KEYS = {
    "int32": (pa.int32(), [None, 1, 2, 3, -7]),
    "string": (pa.string(), [None, "", "a", "b\0", "b"]),
    "float64": (pa.float64(), [None, 0.0, -0.0, NAN, 1.5]),
    "bool": (pa.bool_(), [None, True, False]),
    "decimal128": (pa.decimal128(12, 2), [None, D("1.25"), D("-3.00")]),
    "many": (pa.int64(), list(range(3000))),
}
VALUES = {
    "int8": (pa.int8(), [None, 1, -2, 100]),
    "uint32": (pa.uint32(), [None, 1, 2**31]),
    "int64": (pa.int64(), [None, 5, -6, 2**40]),
    "float64": (pa.float64(), [None, 1.5, -2.25, NAN, 0.5]),
    "float32": (pa.float32(), [None, 1.5, -2.25]),
    "bool": (pa.bool_(), [None, True, False]),
    "string": (pa.string(), [None, "x", "yy", "", "z" * 12]),
    "decimal128": (pa.decimal128(12, 2), [None, D("1.25"), D("-3.00")]),
    "date32": (pa.date32(), [None, 1, 20000]),
    "no nulls": (pa.int32(), [1, 2, 3]),
}
NUMBER = (
    "sum",
    "mean",
    "product",
    "min",
    "max",
    "variance",
    "stddev",
    "skew",
    "kurtosis",
    "count_distinct",
    "list",
    "first",
    "last",
    "min_max",
)
SOME = ("min", "max", "count", "list", "first")
FUNCTIONS = {
    "bool": ("any", "all", "sum", "min", "count", "list", "mean"),
    "string": (*SOME, "count_distinct"),
    "decimal128": ("sum", "mean", "min", "max", "count", "list", "variance", "stddev", "skew", "kurtosis"),
    "date32": (*SOME, "min_max"),
}


def _rows(word, n, seed, table):
    rng = random.Random(f"{word}{seed}")
    kind, values = table[word]
    return pa.array([rng.choice(values) for _ in range(n)], kind)


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b and type(a) is type(b)


def _require_equal(got, want, n_keys):
    """The same groups and values; pyarrow does not tell in which order its groups are."""
    got.validate(full=True)
    assert got.schema.names == want.schema.names and got.schema.types == want.schema.types
    assert got.num_rows == want.num_rows
    if n_keys and want.num_rows:
        ours, theirs = ([repr(k) for k in zip(*(x.column(i).to_pylist() for i in range(n_keys)))] for x in (got, want))
        assert sorted(ours) == sorted(theirs)
        place = {key: i for i, key in enumerate(theirs)}
        want = want.take(pa.array([place[key] for key in ours]))
    for name, a, b in zip(got.schema.names, got.columns, want.columns):
        assert same(a.to_pylist(), b.to_pylist()), name


def _grouped(batch, keys, aggregates, device):
    return pa.record_batch(cc.group_by(cdevice.asarray(batch).to(device), keys).aggregate(aggregates).to("cpu"))


CASES = [pytest.param(p, w, id=f"{p}-{w}") for w in VALUES for p in places("int64")]


@pytest.mark.parametrize(("device", "word"), CASES, indirect=["device"])
def test_groups_have_the_aggregates_of_arrows(device, word):
    key = list(KEYS)[list(VALUES).index(word) % len(KEYS)]
    names = FUNCTIONS.get(word, NUMBER)
    for n, offset in ((0, 0), (1, 0), (60, 3), (9000, 1)):
        columns = {"k": _rows(key, n + offset, n, KEYS), "x": _rows(word, n + offset, n + 1, VALUES)}
        batch = pa.record_batch(columns)[offset:]
        aggregates = [*(("x", f) for f in names), ([], "count_all")]
        want = pa.Table.from_batches([batch]).group_by("k", use_threads=False).aggregate(aggregates).combine_chunks()
        _require_equal(_grouped(batch, "k", aggregates, device), want, 1)


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
@everywhere
def test_decimals_of_every_width_are_added_multiplied_and_averaged(device, bits):
    make = getattr(pa, f"decimal{bits}")
    rng = random.Random(bits)
    values = [None, D("0.50"), D("1.25"), D("-2.00"), D("-0.99"), D("1.00")]
    columns = {"k": [rng.randrange(9) for _ in range(80)], "x": [rng.choice(values) for _ in range(80)]}
    names = ["sum", "product", "mean", "min", "max", "min_max"]
    got = _grouped(
        pa.record_batch(columns | {"x": pa.array(columns["x"], make(9, 2))}), "k", [("x", f) for f in names], device
    )
    as_wide = pa.array(
        columns["x"], make(9, 2) if bits > 64 else pa.decimal128(9, 2)
    )  # pyarrow's groups have no narrow ones
    want = (
        pa.table({"k": columns["k"], "x": as_wide})
        .group_by("k", use_threads=False)
        .aggregate([("x", f) for f in names])
    )
    got.validate(full=True)
    assert got.column(0).to_pylist() == want.column(0).to_pylist()
    for name in names:
        assert got.column(f"x_{name}").to_pylist() == want.column(f"x_{name}").to_pylist(), name
        if name in ("sum", "product", "mean"):
            assert got.column(f"x_{name}").type == want.column(f"x_{name}").type


@everywhere
def test_a_product_of_decimals_is_rounded_step_by_step_in_the_order_of_rows(device):
    values = [D("1.11"), D("0.37"), D("9.99"), D("-0.85"), D("12345678901234567890123456789.01")]
    batch = pa.record_batch(
        {"k": pa.array([0] * 4 + [1] + [0]), "x": pa.array([*values[:4], values[4], values[4]], pa.decimal128(38, 2))}
    )
    with decimal.localcontext(decimal.Context(prec=80)):
        expected = values[0]
        for x in values[1:]:
            expected = (expected * x).quantize(D("0.01"), decimal.ROUND_HALF_UP)
    got = _grouped(batch, "k", [("x", "product")], device)
    assert got.column("x_product").to_pylist() == [expected, values[4]]  # one number is its own product
    with pytest.raises(cdevice.Error, match="negative"):
        _grouped(
            pa.record_batch({"k": [1], "x": pa.array([D("1E2")], pa.decimal128(5, -2))}),
            "k",
            [("x", "product")],
            device,
        )


@pytest.mark.parametrize("word", ["int64", "float64", "bool", "decimal128", "string"])
@everywhere
def test_no_rows_are_one_group_where_there_are_no_keys(device, word):
    batch = pa.record_batch({"x": _rows(word, 0, 1, VALUES)})
    aggregates = [
        *(("x", f) for f in FUNCTIONS.get(word, NUMBER) if f not in ("distinct", "list", "one")),
        ([], "count_all"),
    ]
    want = (
        pa.Table.from_batches([batch], batch.schema)
        .group_by([], use_threads=False)
        .aggregate(aggregates)
        .combine_chunks()
    )
    _require_equal(_grouped(batch, [], aggregates, device), want, 0)
    groups = cc.group_by(cdevice.asarray(batch).to(device), [])
    assert (
        cc.merge([groups.partial(aggregates)]).to("cpu").to_pylist()
        == groups.aggregate(aggregates).to("cpu").to_pylist()
    )


@pytest.mark.parametrize("keys", [[], ["int32", "string"], ["float64", "bool", "decimal128"]], ids=str)
@everywhere
def test_keys_may_be_any_number_of_columns(device, keys):
    columns = {k: _rows(k, 300, 1, KEYS) for k in keys} | {"x": _rows("int64", 300, 2, VALUES)}
    batch = pa.record_batch(columns)
    aggregates = [("x", "sum"), ("x", "count"), ([], "count_all")]
    want = pa.Table.from_batches([batch]).group_by(keys, use_threads=False).aggregate(aggregates).combine_chunks()
    _require_equal(_grouped(batch, keys, aggregates, device), want, len(keys))


@everywhere
def test_options_tell_what_nulls_do_and_how_many_rows_there_must_be(device):
    batch = pa.record_batch({"k": _rows("int32", 60, 3, KEYS), "x": _rows("int8", 60, 4, VALUES)})
    there = cdevice.asarray(batch).to(device)
    table = pa.Table.from_batches([batch])
    import pyarrow.compute as pc

    for skip, least, f in itertools.product((True, False), (0, 1, 9, 99), ("sum", "mean", "product")):
        want = table.group_by("k", use_threads=False).aggregate(
            [("x", f, pc.ScalarAggregateOptions(skip_nulls=skip, min_count=least))]
        )
        for options in (cc.ScalarAggregateOptions(skip, least), {"skip_nulls": skip, "min_count": least}):
            got = pa.record_batch(cc.group_by(there, "k").aggregate([("x", f, options)]).to("cpu"))
            _require_equal(got, want.combine_chunks(), 1)
    for biased, skip, least in itertools.product((True, False), (True, False), (0, 9)):
        options = {"biased": biased, "skip_nulls": skip, "min_count": least}
        want = table.group_by("k", use_threads=False).aggregate(
            [("x", f, pc.SkewOptions(**options)) for f in ("skew", "kurtosis")]
        )
        got = cc.group_by(there, "k").aggregate([("x", f, options) for f in ("skew", "kurtosis")])
        _require_equal(pa.record_batch(got.to("cpu")), want.combine_chunks(), 1)
    for mode in ("only_valid", "only_null", "all"):
        aggregates = [("x", f, pc.CountOptions(mode)) for f in ("count", "count_distinct")]
        want = table.group_by("k", use_threads=False).aggregate(aggregates)
        got = pa.record_batch(cc.group_by(there, "k").aggregate(aggregates).to("cpu"))
        _require_equal(got, want.combine_chunks(), 1)
    for ddof in (0, 1, 50):
        aggregates = [("x", "variance", pc.VarianceOptions(ddof=ddof))]
        want = table.group_by("k", use_threads=False).aggregate(aggregates)
        _require_equal(
            pa.record_batch(cc.group_by(there, "k").aggregate(aggregates).to("cpu")), want.combine_chunks(), 1
        )


@everywhere
def test_too_few_rows_for_a_corrected_skewness_or_kurtosis_are_null(device):
    batch = pa.record_batch({"k": [1, 2, 2, 3, 3, 3, 4, 4, 4, 4], "x": [1, 1, 2, 1, 2, 5, 1, 2, 5, 9]})
    got = _grouped(batch, "k", [("x", f, {"biased": False}) for f in ("skew", "kurtosis")], device).to_pydict()
    assert [x is None for x in got["x_skew"]] == [True, True, False, False]
    assert [x is None for x in got["x_kurtosis"]] == [True, True, True, False]
    got = _grouped(batch, "k", [("x", f) for f in ("skew", "kurtosis")], device).to_pydict()
    assert math.isnan(got["x_skew"][0]) and math.isnan(got["x_kurtosis"][0])  # all rows are equal


@everywhere
def test_aggregates_of_a_column_without_nulls_are_nullable(device):
    schema = pa.schema([pa.field(n, pa.int64(), nullable=False) for n in "kx"])
    batch = pa.record_batch([pa.array([1, 2, 1]), pa.array([10, 20, 30])], schema=schema)
    x = cdevice.asarray(batch).to(device)
    few = {"min_count": 3}
    words = {
        "max": few,
        "min": few,
        "first": few,
        "last": few,
        "min_max": few,
        "first_last": few,
        "one": None,
        "list": None,
    }
    wanted = {w: ("x", w, options) for w, options in words.items()}
    wanted["quantile"] = ("x", "quantile", {"q": 0.5, "interpolation": "lower", "min_count": 3})
    parts = cdevice.asstream(iter([x[:1], x[1:]]), schema=x.schema)
    for got in (cc.group_by(x, "k").aggregate(wanted), cc.group_by(parts, "k").aggregate(wanted)):
        got = pa.record_batch(got.to("cpu"))
        got.validate(full=True)
        assert [f.nullable for f in got.schema] == [False, *[True] * len(wanted)]
        assert got["max"].null_count == got["first"].null_count == got["quantile"].null_count == 2
        assert got["min_max"].type == pa.struct([("min", pa.int64()), ("max", pa.int64())])
        assert got["first_last"].type == pa.struct([("first", pa.int64()), ("last", pa.int64())])
        table = pa.Table.from_batches([batch]).group_by("k", use_threads=False)
        assert got["list"].type == table.aggregate([("x", "list")])["x_list"].type


@everywhere
def test_groups_are_in_the_order_of_their_first_rows(device):
    batch = pa.record_batch({"k": ["b", None, "a", "b", None], "x": [1, 2, 3, 4, 5]})
    got = _grouped(batch, ["k"], {"total": ("x", "sum"), "n": ([], "count_all"), "rows": ("x", "distinct")}, device)
    assert got.to_pydict() == {
        "k": ["b", None, "a"],
        "total": [5, 7, 3],
        "n": [2, 2, 1],
        "rows": [[1, 4], [2, 5], [3]],
    }


@everywhere
def test_chunks_dictionaries_and_views_are_grouped_by_value(device):
    words = pa.array(["b", None, "a", "b"])
    for column in (words.dictionary_encode(), words.cast(pa.string_view())):
        batch = pa.record_batch({"k": column, "x": [1, 2, 3, 4], "w": column})
        chunks = [cdevice.asarray(batch[:1]).to(device), cdevice.asarray(batch[1:]).to(device)]
        got = cc.group_by(chunks, "k").aggregate([("x", "sum"), ("w", "max"), ("w", "count")]).to("cpu")
        assert pa.record_batch(got).drop_columns(["k"]).to_pydict() == {
            "x_sum": [5, 2, 3],
            "w_max": ["b", None, "a"],
            "w_count": [2, 0, 1],
        }
        assert got.field("k").to_pylist() == ["b", None, "a"]


@everywhere
def test_the_median_of_a_group_is_exact(device):
    batch = pa.record_batch({"k": [1, 2, 1, 2, 1, 3, 2], "x": [9, 1, 2, 4, None, None, 7]})
    assert _grouped(batch, "k", [("x", "approximate_median")], device).to_pydict()["x_approximate_median"] == [
        5.5,
        4,
        None,
    ]


@pytest.mark.parametrize(
    ("keys", "aggregates", "error", "words"),
    [
        ("kk", [("x", "sum")], cdevice.ArgumentError, "group_by: no column 'kk'; did you mean 'k'?"),
        ("k", [("y", "sum")], cdevice.ArgumentError, "aggregate: no column 'y'"),
        ("k", [("x", "summ")], cdevice.ArgumentError, "aggregate: no aggregate 'summ'; did you mean 'sum'?"),
        ("k", [([], "sum")], cdevice.ArgumentError, "aggregate: sum needs a column"),
        ("k", [("x", "count_all")], cdevice.ArgumentError, "aggregate: count_all takes no column"),
        ("k", [(["x", "k"], "sum")], cdevice.ArgumentError, "aggregate: sum takes one column, not 2"),
        ("k", [("x", "any")], cc.NoKernel, "group_by: no any of int64"),
        ("k", [("w", "sum")], cc.NoKernel, "group_by: no sum of string"),
        ("lists", [("x", "sum")], cc.NoKernel, "group_by: no order for list"),
        ("k", "sum", TypeError, "aggregate: expected a list or a mapping, not str"),
        ("k", [("x", "sum", 3)], TypeError, "aggregate: sum takes ScalarAggregateOptions or a mapping, not int"),
        (7, [("x", "sum")], TypeError, "group_by: keys must be the name of a column, or a list of names, not 7"),
    ],
)
@everywhere
def test_bad_groups_are_errors_with_words(device, keys, aggregates, error, words):
    batch = pa.record_batch({"k": [1, 2], "x": [1, 2], "w": ["a", "b"], "lists": [[1], [2]]})
    there = cdevice.asarray(batch).to(device)
    with pytest.raises(error) as e:
        cc.group_by(there, keys).aggregate(aggregates)
    assert words in str(e.value)


@everywhere
def test_the_mean_of_a_group_is_of_no_sum_that_overflowed(device):
    signed = pa.array([2**63 - 1, 2**63 - 1, 5, 1, -(2**63), -(2**63)])
    unsigned = pa.array([2**64 - 1, 2**63 - 1, 5, 1, 2**63, 2**63], pa.uint64())
    batch = pa.record_batch({"k": [1, 1, 1, 2, 3, 3], "s": signed, "u": unsigned})
    got = cc.group_by(cdevice.asarray(batch).to(device), ["k"]).aggregate([("s", "mean"), ("u", "mean")])
    assert got.to("cpu").to_pylist() == [
        {"k": 1, "s_mean": (2**64 + 3) / 3, "u_mean": float(2**64 + 2**63 + 3) / 3},
        {"k": 2, "s_mean": 1.0, "u_mean": 1.0},
        {"k": 3, "s_mean": -(2.0**63), "u_mean": 2.0**63},
    ]
