"""Moments, quantiles, ends, extremes, parts of an order and rows by their targets, on every device, against pyarrow."""

import functools
import itertools
import math
import random
import statistics

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import back, check, drawn, places, shown  # noqa: E402
from exact_moments import exact_moments  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

NUMBERS = {
    "int8": drawn([1, -1, 3, 100], pa.int8()),
    "int64": drawn([None, 1, 2, 3, -5, 1 << 30]),
    "float64": pa.array([gauss(5, 3) for gauss in [random.Random(7).gauss] for _ in range(9000)]),
    "infinite": pa.array([float("-inf"), 1.0, None, float("inf"), float("nan"), 5e-324, 2.0]),
    "float32 with nulls": drawn([None, 0.5, -1.25, 2.0], pa.float32()),
    "decimal128": drawn([None, 10, -1, 35], pa.decimal128(12, 1)),
    "one row": pa.array([7]),
    "two rows": pa.array([7, 9]),
    "equal rows": pa.array([3] * 70),
    "no rows": pa.array([], pa.int32()),
    "nulls alone": pa.array([None] * 40, pa.int32()),
}
OTHERS = {
    "string": drawn([None, "b", "a", "ab", "zz" * 10]),
    "large_binary": drawn([b"", b"a", b"\0"], pa.large_binary()),
    "fixed_size_binary": drawn([None, b"abc", b"\0\0\0"], pa.binary(3)),
    "bool": drawn([None, True, False]),
    "timestamp": drawn([None, 1, 2, 3], pa.timestamp("us", "UTC")),
    "decimal64": drawn([None, 10, -1, 35], pa.decimal64(12, 1)),
}
COLUMNS = NUMBERS | OTHERS


def each(columns):
    cases = [pytest.param(p, w, id=f"{p}-{w}") for w in columns for p in places("float64")]
    return pytest.mark.parametrize(("device", "word"), cases, indirect=["device"])


def slices(word):
    whole = COLUMNS[word]
    return [whole, whole[5:-2]] if len(whole) > 8 else [whole]


def near(x, y, tolerance=1e-10):
    if x is None or y is None or x != x or y != y:
        return x is y or (x != x and y != y)
    return math.isclose(x, y, rel_tol=tolerance, abs_tol=tolerance)


@each([w for w in NUMBERS if w != "decimal128"])
@pytest.mark.parametrize("name", ["variance", "stddev", "skew", "kurtosis"])
def test_moments_are_those_of_the_rows_that_count(device, word, name):
    options = [{}, {"skip_nulls": False}, {"min_count": 100}]
    options += [{"ddof": 1}, {"ddof": 90}] if name in ("variance", "stddev") else [{"biased": False}]
    for a, named in itertools.product(slices(word), options):
        x = cdevice.asarray(a).to(device)
        got = getattr(cc, name)(x, **named)
        want = getattr(pc, name)(a, **named).as_py()
        assert got.array.device == cc.count(x).array.device
        assert near(got.as_py(), want, 1e-9), (named, got.as_py(), want)


@each(["float64"])
def test_moments_of_chunks_are_those_of_all_their_rows(device, word):
    a = COLUMNS[word]
    parts = [cdevice.asarray(x).to(device) for x in (a[:10], a[10:10], a[10:4000], a[4000:])]
    for name in ("variance", "stddev", "skew", "kurtosis"):
        want = getattr(pc, name)(a).as_py()
        assert near(getattr(cc, name)(parts).as_py(), want, 1e-9)
        assert near(getattr(cc, name)(cdevice.asstream(iter(parts), schema=parts[0].schema)).as_py(), want, 1e-9)


def test_the_variance_of_far_numbers_does_not_cancel():
    rows = [1e9 + x for x in (4.0, 7.0, 13.0, 16.0)]
    assert cc.variance([pa.array(rows[:2]), pa.array(rows[2:])]).as_py() == statistics.pvariance(rows) == 22.5


@everywhere
def test_the_variance_of_numbers_whose_squares_overflow_is_infinite_however_they_lie(device):
    for rows in ([5.1e299, 5.0, 5.0], [5.0, 5.1e299, 5.0], [1e300, 1.0], [-3e299, 7e299, 1.0, 2.0]):
        there = cdevice.asarray(rows).to(device)
        assert cc.variance(there).as_py() == cc.stddev([there[:1], there[1:]]).as_py() == math.inf
        groups = cc.group_by(cdevice.asarray({"k": [1] * len(rows), "v": rows}).to(device), "k")
        assert groups.aggregate([("v", "variance")]).to("cpu")["v_variance"].to_pylist() == [math.inf]
        assert cc.merge([groups.partial([("v", "stddev")])]).to("cpu")["v_stddev"].to_pylist() == [math.inf]


@functools.cache
def _many_tiles():
    """Columns and their exact moments."""
    rng = random.Random(11)
    parts = [(rng.gauss(0, 1), rng.uniform(0.1, 9), n) for n in (4096, 4096, 300, 700)]
    columns = [
        [rng.gauss(5, 2) for _ in range(9000)],
        [center + rng.expovariate(wide) for center, wide, n in parts for _ in range(n)],
        [2.0**40 + rng.randrange(1000) for _ in range(9000)],
        [rng.randrange(-(2**50), 2**50) for _ in range(9000)],
    ]
    columns.append([None if i % 7 == 3 else x for i, x in enumerate(columns[1])])
    columns.append([None] * 5000 + columns[0][:4000])
    return [(pa.array(c), exact_moments([x for x in c if x is not None])) for c in columns]


@each(["int64"])
def test_moments_of_many_tiles_are_exact_to_twelve_digits(device, word):
    for column, exact in _many_tiles():
        x = cdevice.asarray(column).to(device)
        for name, want in exact.items():
            assert near(getattr(cc, name)(x).as_py(), want, 1e-12), name


@each(NUMBERS)
@pytest.mark.parametrize("how", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles_are_exact(device, word, how):
    q = [0, 0.1, 0.25, 0.5, 0.77, 1]
    for a in slices(word):
        want = pc.quantile(a, q=q, interpolation=how)
        got = pa.array(cc.quantile(cdevice.asarray(a).to(device), q, interpolation=how).to("cpu"))
        assert got.type == want.type and all(
            near(x, y, 1e-14) for x, y in zip(got.to_pylist(), want.to_pylist(), strict=True)
        )


@each(["int64"])
def test_a_quantile_of_too_few_rows_is_null(device, word):
    x = cdevice.asarray(COLUMNS[word]).to(device)
    assert cc.quantile(x, skip_nulls=False).to("cpu").to_pylist() == [None]
    assert cc.quantile(x, [0, 1], min_count=1000, interpolation="lower").to("cpu").to_pylist() == [None, None]
    assert cc.quantile(cdevice.asarray([1.0, float("nan"), 2.0]).to(device)).to("cpu").to_pylist() == [1.5]


@each(["int64"])
@pytest.mark.parametrize("kind", ["spread", "few values", "ordered", "one far value"])
def test_quantiles_of_many_rows_are_those_of_the_whole_order(device, word, kind, monkeypatch):
    monkeypatch.setattr("cdevice.compute.kernels.quantile.MOST_SAMPLED", 1 << 12)
    monkeypatch.setattr("cdevice.compute.kernels.quantile.NARROWED_ROWS", 1 << 14)
    rng, n = random.Random(kind), 20_000
    rows = {
        "spread": lambda: [rng.uniform(-1, 1) ** 3 for _ in range(n)],
        "few values": lambda: [float(rng.randrange(3)) for _ in range(n)],
        "ordered": lambda: [float(i) for i in range(n)],
        "one far value": lambda: [1.0] * (n - 1) + [1e300],
    }[kind]()
    q = [0, 0.001, 0.5, 0.9, 1]
    x = cdevice.asarray(pa.array(rows)).to(device)
    rows.sort()
    want = [rows[int(p * (n - 1))] for p in q]
    assert cc.quantile(x, q, interpolation="lower").to("cpu").to_pylist() == want


@each(["int64"])
@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_nulls_that_the_device_has_not_counted_are_nulls(device, word, kind):
    x = cdevice.asarray(pa.array([1, None, 3, 4]).cast(kind)).to(device)
    uncounted = cc.add(x, 0)
    assert cc.quantile(uncounted, skip_nulls=False).to("cpu").to_pylist() == [None]
    assert cc.quantile(uncounted, min_count=4).to("cpu").to_pylist() == [None]
    assert cc.quantile(uncounted, min_count=3).to("cpu").to_pylist() == [3]
    assert (
        cc.variance(uncounted, skip_nulls=False).as_py() is None and cc.last(uncounted, skip_nulls=False).as_py() == 4
    )


@each(["int64"])
def test_the_first_value_of_a_dictionary_is_one_that_is_not_null(device, word):
    a = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([None, "b"]))
    there = cdevice.asarray(a).to(device)
    assert cc.first_last(there).as_py() == {"first": "b", "last": "b"}


def test_quantiles_that_are_none_are_errors():
    for bad in (1.5, -0.1, float("nan"), []):
        with pytest.raises(ValueError, match="q must"):
            cc.quantile([1, 2], bad)
    with pytest.raises(TypeError, match="q must"):
        cc.quantile([1, 2], "x")
    assert cc.quantile([1, 2, 3], options=pc.QuantileOptions(q=[0.1, 1], interpolation="lower")).to_pylist() == [1, 3]


@each([w for w in COLUMNS if w != "decimal128" and w != "decimal64"])
@pytest.mark.parametrize("name", ["first", "last", "first_last"])
def test_the_ends_are_the_first_and_the_last_row_that_counts(device, word, name):
    for a, named in itertools.product(slices(word), [{}, {"skip_nulls": False}, {"min_count": 60}]):
        got = getattr(cc, name)(cdevice.asarray(a).to(device), **named)
        assert got.as_py() == getattr(pc, name)(a, **named).as_py(), named


@each(["string", "int8"])
def test_the_ends_of_chunks_are_those_of_all(device, word):
    a = COLUMNS[word]
    none = pa.nulls(3, a.type)
    chunks = [none, a[:0], a[:50], a[50:], none]
    parts = [cdevice.asarray(x).to(device) for x in chunks]
    for named in ({}, {"skip_nulls": False}, {"min_count": 1000}):
        want = pc.first_last(pa.chunked_array(chunks), **named).as_py()
        assert cc.first_last(parts, **named).as_py() == want


@each(["string", "large_binary", "fixed_size_binary", "bool", "timestamp", "decimal64"])
@pytest.mark.parametrize("name", ["min", "max", "min_max"])
def test_extremes_of_what_has_an_order_are_pyarrows(device, word, name):
    for a, named in itertools.product(
        [*slices(word), COLUMNS[word][:0], pa.nulls(9, COLUMNS[word].type)],
        [{}, {"skip_nulls": False}, {"min_count": 300}],
    ):
        there = cdevice.asarray(a).to(device)
        if word == "decimal64":
            b = a.cast(pa.decimal128(12, 1))
            assert getattr(cc, name)(there, **named).as_py() == getattr(pc, name)(b, **named).as_py()
            continue
        assert getattr(cc, name)(there, **named).as_py() == getattr(pc, name)(a, **named).as_py()
        halves = [there[: len(a) // 2], there[len(a) // 2 :]]
        assert getattr(cc, name)(halves, **named).as_py() == getattr(pc, name)(a, **named).as_py()


@each([w for w in COLUMNS if w != "decimal64"])
def test_a_rank_as_a_part_is_that_of_pyarrow(device, word):
    for a, order, nulls in itertools.product(slices(word), ("ascending", "descending"), ("at_end", "at_start")):
        got = cc.rank_quantile(cdevice.asarray(a).to(device), order, null_placement=nulls).to("cpu")
        assert got.to_pylist() == pc.rank_quantile(a, [("", order, nulls)]).to_pylist()


TARGETS = {
    "int64": pa.array(random.Random(2).sample(range(500), 500)),
    "int16": pa.array([None if i % 5 == 0 else i for i in random.Random(3).sample(range(500), 500)], pa.int16()),
    "int8": drawn([0, 3, 3, 7, None], pa.int8(), 100),
    "int32": pa.array([], pa.int32()),
}


@pytest.mark.parametrize(
    ("device", "word"),
    [pytest.param(p, w, id=f"{p}-{w}") for w in TARGETS for p in places("int64")],
    indirect=["device"],
)
def test_rows_lie_where_the_indices_tell_and_the_last_of_several_stays(device, word):
    a = TARGETS[word]
    there = cdevice.asarray(a).to(device)
    for named in ({}, {"max_index": 600}):
        want = [None] * (named.get("max_index", len(a) - 1) + 1)
        for i, at in enumerate(a.to_pylist()):
            if at is not None:
                want[at] = i
        got = cc.inverse_permutation(there, output_type="int32", **named).to("cpu")
        assert got.to_pylist() == want and got.schema.format == "i"
        words = pa.array([f"row {i}" for i in range(len(a))])
        found = cc.scatter(cdevice.asarray(words).to(device), there, **named).to("cpu").to_pylist()
        assert found == [None if i is None else f"row {i}" for i in want]
    if len(a) > 9:
        part = [cdevice.asarray(x).to(device) for x in (pa.array(range(len(a) - 9)), a[9:])]
        want = pc.scatter(pa.array(range(len(a) - 9)), a[9:], max_index=600).to_pylist()
        assert cc.scatter(*part, max_index=600).to("cpu").to_pylist() == want


def test_indices_out_of_bounds_and_types_that_are_too_small_are_errors():
    for bad in ([5], [-1], [0, 1, 5]):
        with pytest.raises(IndexError):
            cc.inverse_permutation(bad, max_index=4)
    with pytest.raises(ArgumentError, match="int8"):
        cc.inverse_permutation(list(range(200)), output_type="int8")
    with pytest.raises(ArgumentError, match="signed"):
        cc.inverse_permutation([0], output_type="uint8")
    with pytest.raises(ArgumentError, match="3 values and 2 indices|length"):
        cc.scatter([1, 2, 3], [0, 1])


# ---- products and the most common values ----
PRODUCTS = {
    "int8": drawn([None, 1, -1, 3, 100], pa.int8(), 60),
    "uint16": drawn([1, 3, 65535], pa.uint16(), 9000),
    "int64": drawn([None, 3, -5, 1 << 40], n=9000),
    "float32": drawn([None, 0.5, 2.0, -1.0], pa.float32(), 300),
    "float64": drawn([0.5, 2.0, -1.0], n=9000),
    "bool": drawn([None, True], n=300),
    "false among them": drawn([True, True, False], n=70),
    "decimal128": drawn([None, 10, -15, 12], pa.decimal128(12, 1), 30),
    "decimal128 that wraps": drawn([-15, 12345678], pa.decimal128(30, 4), 300),
    "no rows": pa.array([], pa.int32()),
    "null": pa.nulls(5),
}


def products():
    cases = [pytest.param(p, w, id=f"{p}-{w}") for w in PRODUCTS for p in places("float64")]
    return pytest.mark.parametrize(("device", "word"), cases, indirect=["device"])


@products()
def test_a_product_is_pyarrows(device, word):
    whole = PRODUCTS[word]
    for a in (whole, whole[5:-3], whole[:1], whole[:0]):
        for named in ({}, {"skip_nulls": False}, {"min_count": 0}, {"min_count": 50}):
            check(device, "product", (a,), **named)
    parts = [whole[:7], whole[7:7], whole[7:]]
    there = [cdevice.asarray(x).to(device) for x in parts]
    want = pc.product(pa.chunked_array(parts)).as_py()
    assert cc.product(there).as_py() == want
    assert cc.product(cdevice.asstream(iter(there), schema=there[0].schema)).as_py() == want


@each(["int64"])
def test_a_product_of_narrow_types_is_that_of_wider_ones(device, word):
    half = drawn([0.5, -2.0, None], pa.float16(), 50)
    assert cc.product(cdevice.asarray(half).to(device)).as_py() == pc.product(half.cast("float32")).as_py()
    narrow = drawn([10, -15, 12], pa.decimal64(12, 1), 9)
    assert (
        cc.product(cdevice.asarray(narrow).to(device)).as_py() == pc.product(narrow.cast(pa.decimal128(12, 1))).as_py()
    )
    with pytest.raises(cc.NoKernel, match="product: no kernel for decimal128.5, -2., whose scale is negative"):
        cc.product(cdevice.asarray(pa.array([100], pa.decimal128(5, -2))).to(device))


MODES = {
    "int64": drawn([None, 3, 3, -5, 1 << 40, 7], n=700),
    "uint8": drawn([*range(256)], pa.uint8(), 3000),
    "float64": drawn([None, float("nan"), float("nan"), 1.5, -2.0, float("inf")]),
    "float32": drawn([0.5, -1.25, 2.0], pa.float32(), 7),
    "bool": drawn([None, True, False]),
    "decimal128": drawn([None, 10, -15, 12], pa.decimal128(12, 1)),
    "decimal256": drawn([None, 10, -15, 10**60], pa.decimal256(70, 1)),
    "equally many": pa.array([3, 1, 2, 3, 2, 1, 0]),
    "NaN and numbers equally many": pa.array([float("nan"), 1.0, float("-inf")]),
    "all different": pa.array(random.Random(4).sample(range(10000), 6000)),
    "no rows": pa.array([], pa.int32()),
    "nulls alone": pa.nulls(5, pa.int16()),
}


def modes():
    cases = [pytest.param(p, w, id=f"{p}-{w}") for w in MODES for p in places("float64")]
    return pytest.mark.parametrize(("device", "word"), cases, indirect=["device"])


@modes()
def test_the_most_common_values_are_pyarrows(device, word):
    whole = MODES[word]
    for a in (whole, whole[5:-2], whole[:1]):
        for named in ({}, {"n": 3}, {"n": 1000}, {"n": 5, "skip_nulls": False}, {"min_count": 200}):
            check(device, "mode", (a,), **named)
    parts = [whole[:7], whole[7:7], whole[7:50], whole[50:]]
    there = [cdevice.asarray(x).to(device) for x in parts]
    want = shown(pc.mode(pa.chunked_array(parts), n=4))
    assert shown(back(cc.mode(there, 4))) == want
    assert shown(back(cc.mode(cdevice.asstream(iter(there), schema=there[0].schema), 4))) == want


@each(["int64"])
def test_the_two_zeros_are_one_common_value(device, word):
    got = cc.mode(cdevice.asarray([-0.0, 0.0, 1.0, -0.0, 1.0]).to(device), 2).to("cpu")
    assert got.to_pylist() == [{"mode": 0.0, "count": 3}, {"mode": 1.0, "count": 2}]


def test_a_mode_of_no_values_and_of_types_that_have_none_is_an_error(monkeypatch):
    monkeypatch.setenv("CDEVICE_BACKENDS", "-pyarrow")
    for n in (0, -1):
        with pytest.raises(ValueError, match="ModeOptions: n must be"):
            cc.mode([1], n)
    with pytest.raises(cc.NoKernel, match="mode"):
        cc.mode(["a"])
    with pytest.raises(TypeError, match="mode: expected an array"):
        cc.mode(1)
    assert cc.mode([1, 1, 2], options=pc.ModeOptions(2)).field("count").to_pylist() == [2, 1]
