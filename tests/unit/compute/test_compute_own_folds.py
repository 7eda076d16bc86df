"""Reductions and scans of a user's own: one operator, every device."""

import functools
import math

import numpy as np
import pytest
from compute_cases import PLACES, SLICES, column, enter

import cdevice
import cdevice.compute as cc

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

pytestmark = pytest.mark.nosan  # starts a compiler

LENGTHS = [0, 1, 31, 32, 33, 255, 4095, 4096, 4097, 8192, 8193, 100_003]


@pytest.fixture(params=list(PLACES))
def device(request, monkeypatch):
    return enter(request.param, monkeypatch)


def there(x, device):
    return cdevice.asarray(x).to(device)


# ---- reductions ----
def test_a_reduction_is_the_operator_over_all_rows(device):
    least = cc.reduction("least", "int64 x -> int64", "min(a, b)", identity="9223372036854775807")
    bits = cc.reduction("bits", "uint32 x -> uint32", "a ^ b", identity="0")
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        x = rng.integers(-(2**62), 2**62, n)
        y = rng.integers(0, 2**32, n, dtype="u4")
        assert least(there(x, device)).as_py() == (int(x.min()) if n else None)
        assert bits(there(y, device)).as_py() == (functools.reduce(int.__xor__, y.tolist()) if n else None)


def test_a_row_is_mapped_and_the_last_state_finished(device):
    rms = cc.reduction("rms", "float64 x -> float64", "a + b", identity="0.0", map="x * x", finish="sqrt(a / n)")
    dot = cc.reduction("dot", "float64 x, float64 y, float64 w -> float64", "a + b", identity="0.0", map="x * y * w")
    over = cc.reduction("over", "int64 x -> bool", "a | b", identity="0", map="x > 100", finish="a != 0", state="int8")
    days = cc.reduction("latest", "date32 x -> date32", "max(a, b)", identity="-2147483647")
    rng = np.random.default_rng(3)
    x, y = (pa.array(rng.standard_normal(9000), mask=rng.random(9000) < 0.2) for _ in range(2))
    for i, n in ((0, 9000), (3, 4500), (1, 8191), (8, 0)):
        rows = list(zip(x[i : i + n].to_pylist(), y[i : i + n].to_pylist(), strict=True))
        p, q = there(x, device)[i : i + n], there(y, device)[i : i + n]
        squares = [v * v for v, _ in rows if v is not None]
        pairs = [2 * u * v for u, v in rows if None not in (u, v)]
        for got, terms in ((rms(p).as_py(), squares), (dot(p, q, 2.0).as_py(), pairs)):
            if not terms:
                assert got is None
                continue
            want = math.fsum(terms) if terms is pairs else math.sqrt(math.fsum(terms) / len(terms))
            assert got == pytest.approx(want, rel=1e-9)
    assert over(there([1, 2, None], device)).as_py() is False and over(there([1, 101], device)).as_py() is True
    dates = pa.array([3, None, 9, 4], pa.date32())
    assert pa.array(days(there(dates, device)).array.to("cpu")).to_pylist() == [dates[2].as_py()]


def test_null_rows_do_not_count_unless_the_map_takes_them(device):
    total = cc.reduction("total", "int64 x -> int64", "a + b", identity="0")
    x = there([1, None, 3], device)
    assert total(x).as_py() == 4 and total(x, skip_nulls=False).as_py() is None
    assert total(x, min_count=2).as_py() == 4 and total(x, min_count=3).as_py() is None
    assert total(there(pa.array([], pa.int64()), device), min_count=0).as_py() == 0
    nulls = cc.reduction("nulls", "int64 x -> int64", "a + b", identity="0", map="is_null(x)")
    assert nulls(x).as_py() == 1
    odd = cc.reduction("odd", "int64 x -> int64", "a + b", identity="0", map="x % 2 ? x : null", finish="a * 10 + n")
    assert odd(there([1, 2, 3, None], device)).as_py() == 42


def test_chunks_and_streams_are_one_array(device):
    total = cc.reduction("total", "int64 x -> int64", "a + b", identity="0")
    chunks = [there(np.arange(n), device) for n in (3, 0, 5000, 9000)]
    want = sum(n * (n - 1) // 2 for n in (3, 0, 5000, 9000))
    assert total(chunks).as_py() == want
    assert total(cdevice.asstream(iter(chunks))).as_py() == want
    many = [there([k], device) for k in range(1100)]  # more states than are kept
    assert total(many).as_py() == 1100 * 1099 // 2
    product = cc.reduction("weighted", "int64 x, int64 y -> int64", "a + b", identity="0", map="x * y")
    assert (
        product([there([1, 2], device), there([3], device)], [there([1], device), there([1, 1], device)]).as_py() == 6
    )


def test_floats_are_reduced_to_the_same_bits_everywhere(device):
    total = cc.reduction("total", "float32 x -> float32", "a + b", identity="0.0f")
    x = column("float32", nulls=0.2)
    assert repr(total(x).as_py()) == repr(total(there(x, device)).as_py())


# ---- scans ----
def test_a_scan_joins_each_row_with_all_before_it(device):
    total = cc.scan("total", "int64 x -> int64", "a + b", identity="0")
    before = cc.scan("before", "int64 x -> int64", "a + b", identity="0", inclusive=False)
    last = cc.scan("last", "int32 x -> int32", "b == 0 ? a : b", identity="0")  # does not commute
    rng = np.random.default_rng(1)
    for n in [*LENGTHS, 8192 * 257 + 5]:
        x = rng.integers(-9, 9, n)
        want = np.cumsum(x)
        assert np.array_equal(np.asarray(total(there(x, device)).to("cpu")), want)
        assert np.array_equal(np.asarray(before(there(x, device)).to("cpu")), want - x)
        y = (x * (rng.random(n) < 0.2)).astype("i4")
        at = np.maximum.accumulate(np.where(y != 0, np.arange(n), -1)) if n else np.zeros(0, int)
        want = np.where(at < 0, 0, y[np.maximum(at, 0)]) if n else y
        assert np.array_equal(np.asarray(last(there(y, device)).to("cpu")), want)


def test_nulls_of_a_scan_are_as_those_of_a_cumulative_sum(device):
    total = cc.scan("total", "int64 x -> int64", "a + b", identity="0")
    x = column("int32", nulls=0.1).cast(pa.int64())
    for i, n in SLICES:
        for skip in (True, False):
            got = pa.array(total(there(x, device)[i : i + n], skip_nulls=skip).to("cpu"))
            assert got.equals(pc.cumulative_sum(x[i : i + n], skip_nulls=skip))
    pairs = cc.scan("pairs", "int64 x, int64 y -> int64", "a + b", identity="0", map="x * y")
    got = pairs(there([1, None, 3, 4], device), there([1, 1, 1, None], device), skip_nulls=True)
    assert got.to("cpu").to_pylist() == [1, None, 4, None]


def test_a_scan_maps_rows_and_finishes_each(device):
    f = cc.scan("peaks", "float64 x -> float64", "max(a, b)", identity="-1.0 / 0.0", map="fabs(x)", finish="a * 10")
    assert f(there([1.0, -3.0, 2.0], device)).to("cpu").to_pylist() == [10.0, 30.0, 30.0]
    counted = cc.scan("n", "float64 x -> int64", "a + b", identity="0", map="coalesce(x, -1.0) > 0.0")
    assert counted(there([1.0, None, -2.0, 4.0], device)).to("cpu").to_pylist() == [1, 1, 1, 2]
    chunks = [there([1.0, 2.0], device), there([5.0], device)]
    assert f(chunks).to("cpu").to_pylist() == [10.0, 20.0, 50.0]


def test_floats_are_scanned_to_the_same_bits_everywhere(device):
    total = cc.scan("total", "float64 x -> float64", "a + b", identity="0.0")
    x = np.random.default_rng(2).standard_normal(30_000)
    assert np.array_equal(np.asarray(total(x)), np.asarray(total(there(x, device)).to("cpu")))


@pytest.mark.parametrize("make", [cc.reduction, cc.scan])
@pytest.mark.parametrize(
    ("signature", "reduce", "more", "said"),
    [
        ("int64 x", "a + b", {}, "expected a signature such as"),
        ("int64 x, int64 y -> int64", "a + b", {}, "map is missing: expected the state of a row of 2 arguments"),
        ("int64 x -> int64 p, int64 q", "a + b", {}, "expected one result"),
        ("int64 x -> int64", "a + c", {}, "'c' is unknown; the arguments are a, b, at column 5"),
        ("int64 x -> int64", "is_null(a) ? b : a", {}, "states are never null"),
        ("int64 x -> int64", "a + b", {"identity": "x"}, "'x' is unknown"),
        ("int64 x -> int64", "a + b", {"map": "x +"}, "a value is missing"),
        ("int64 x -> int64", "a + b", {"finish": "null"}, "states are never null"),
        ("int64 x -> int64", "a + b", {"state": "string"}, "'string' is not supported"),
    ],
)
def test_what_is_no_operator_is_told_at_once(make, signature, reduce, more, said):
    with pytest.raises(ValueError, match=said):
        make("f", signature, reduce, **{"identity": "0", **more})


@pytest.mark.parametrize("make", [cc.reduction, cc.scan])
def test_words_that_are_not_text_are_refused(make):
    with pytest.raises(TypeError, match=r"\(\): identity must be a str, not int"):
        make("f", "int64 x -> int64", "a + b", identity=0)
    with pytest.raises(KeyError, match="add"):
        make("add", "int64 x -> int64", "a + b", identity="0", registry=cc.function_registry())
