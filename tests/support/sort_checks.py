"""The order of rows on every device, against pyarrow.compute and against Python's sort, which is stable as well."""

import decimal
import itertools
import random

import numpy as np
import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import NUMBERS, SLICES, TIMES, column, places  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

ORDERS = [*itertools.product(("ascending", "descending"), ("at_end", "at_start"))]
WORDS = [pytest.param(p, w, id=f"{p}-{w}") for w in (*NUMBERS, "bool", *TIMES) for p in places(w)]
ROWS = 10_000  # more than a group sorts alone


def sorted_as_arrows(device, array):
    there = cdevice.asarray(array).to(device)
    for order, placement in ORDERS:
        got = cc.array_sort_indices(there, order, null_placement=placement)
        want = pc.array_sort_indices(array, order, null_placement=placement)
        assert pa.array(got.to("cpu")).equals(want), (order, placement)


@pytest.mark.parametrize(("device", "word"), WORDS, indirect=["device"])
def test_values_are_sorted_as_arrow_does(device, word):
    for i, n in SLICES:
        sorted_as_arrows(device, column(word).slice(i, n))
    sorted_as_arrows(device, column(word, 40, nulls=1))
    sorted_as_arrows(device, column(word, ROWS, nulls=0))
    sorted_as_arrows(device, column(word, ROWS, seed=2, nulls=0.1).slice(3))


@everywhere
def test_more_rows_than_a_tile_has_are_sorted(device):
    few = pa.array([random.Random(1).randrange(50) for _ in range(70_000)], pa.int64())
    sorted_as_arrows(device, few)
    assert (
        cc.array_sort_indices(cdevice.asarray(pa.array(range(70_000))[::-1]).to(device)).to("cpu").to_pylist()
        == [*range(70_000)][::-1]
    )


def words(n=300, seed=3):
    rng = random.Random(seed)
    drawn = ["".join(rng.choice("ab\0é") for _ in range(rng.randrange(20))) for _ in range(n)]
    return [None if rng.random() < 0.1 else w for w in drawn]


LONG = {
    "all bits": lambda rng, n: rng.integers(-(2**63), 2**63 - 1, n),
    "few values": lambda rng, n: rng.integers(0, 9, n) * (2**59 + 12345),
    "equal but for the lowest bits": lambda rng, n: (rng.integers(0, 300, n) << 50) + rng.integers(0, 5000, n),
    "one bucket": lambda rng, n: np.where(
        rng.random(n) < 0.001, rng.integers(-(2**62), 2**62, n), rng.integers(0, 2**40, n)
    ),
    "floats": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n),
    "floats of one sign": lambda rng, n: np.where(
        rng.random(n) < 0.1, [0.0, -0.0, np.nan, np.inf, -np.inf][n % 5], rng.random(n)
    ),
}


@pytest.mark.parametrize("word", LONG)
@everywhere
def test_words_of_many_bits_are_sorted_stably_by_digit_key_and_rest(device, word):
    rng = np.random.default_rng(len(word))
    n = 200_003 if device in ("cpu", "opencl") else 5_003
    values = LONG[word](rng, n)
    for nulls, order, placement in (
        (0.0, "ascending", "at_end"),
        (0.2, "descending", "at_start"),
        (0.01, "ascending", "at_start"),
    ):
        a = pa.array(values, mask=rng.random(n) < nulls)
        got = cc.sort_indices(cdevice.asarray(a).to(device), sort_keys=[("", order, placement)])
        want = pc.sort_indices(a, sort_keys=[("", order, placement)])
        assert pa.array(got.to("cpu")).equals(want), (nulls, order, placement)
    batch = pa.record_batch({"a": pa.array(rng.integers(0, 50, n)), "b": pa.array(values, mask=rng.random(n) < 0.1)})
    keys = [("a", "descending"), ("b", "ascending")]
    got = cc.sort_indices(cdevice.asarray(batch).to(device), sort_keys=keys)
    assert pa.array(got.to("cpu")).equals(pc.sort_indices(batch, sort_keys=keys))


@everywhere
@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary"])
def test_strings_are_sorted_byte_by_byte(device, kind):
    rows = words()
    if "binary" in kind:
        rows = [r and r.encode() for r in rows]
    made = pa.array(rows, getattr(pa, kind)())
    sorted_as_arrows(device, made)
    sorted_as_arrows(device, made.slice(7, 100))
    sorted_as_arrows(device, pa.array(["", "\0", "", None, "\0\0"], getattr(pa, kind)()))


@everywhere
def test_other_layouts_are_sorted_by_value(device):
    rows = words(100)
    want = pc.array_sort_indices(pa.array(rows))
    ends = pa.RunEndEncodedArray.from_arrays(range(1, len(rows) + 1), pa.array(rows))
    for made in (pa.array(rows, pa.string_view()), pa.array(rows).dictionary_encode(), ends):
        got = cc.array_sort_indices(cdevice.asarray(made).to(device))
        assert pa.array(got.to("cpu")).equals(want)
    fixed = pa.array([None if r is None else (r.encode() * 5 + b"xyzabcd")[:5] for r in rows], pa.binary(5))
    sorted_as_arrows(device, fixed)
    sorted_as_arrows(device, fixed.slice(3))
    assert cc.array_sort_indices(cdevice.asarray(pa.nulls(3)).to(device)).to("cpu").to_pylist() == [0, 1, 2]


@everywhere
@pytest.mark.parametrize("kind", ["decimal32(9, 2)", "decimal64(18, 2)", "decimal128(38, 2)"])
def test_decimals_are_sorted_by_value(device, kind):
    rng = random.Random(5)
    digits = int(kind.partition("(")[2].partition(",")[0])
    rows = [
        None if rng.random() < 0.1 else decimal.Decimal(rng.randrange(-(10**digits) + 1, 10**digits)).scaleb(-2)
        for _ in range(200)
    ]
    made = pa.array([*rows, *rows], eval(f"pa.{kind}"))
    # pyarrow 26 sorts no narrow ones
    for order, placement in ORDERS:
        wide = made.cast(pa.decimal128(38, 2))
        got = cc.array_sort_indices(cdevice.asarray(made).to(device), order, null_placement=placement)
        assert pa.array(got.to("cpu")).equals(pc.array_sort_indices(wide, order, null_placement=placement))


def batch(n=500):
    rng = random.Random(9)
    return pa.record_batch(
        {
            "few": pa.array([rng.choice([None, 1, 2, 3]) for _ in range(n)], pa.int16()),
            "real": pa.array([rng.choice([None, float("nan"), -0.0, 0.0, 1.5, -2.0]) for _ in range(n)]),
            "word": pa.array([rng.choice([None, "", "a", "ab", "a long one of them"]) for _ in range(n)]),
            "flag": pa.array([rng.choice([None, True, False]) for _ in range(n)]),
        }
    )


@everywhere
def test_several_keys_count_in_their_order_each_with_its_own(device):
    rows = batch()
    there = cdevice.asarray(rows).to(device)
    for names in itertools.permutations(rows.schema.names, 3):
        keys = [(name, *ORDERS[i]) for i, name in enumerate(names)]
        got = cc.sort_indices(there, keys)
        assert pa.array(got.to("cpu")).equals(pc.sort_indices(rows, sort_keys=keys)), keys
    got = cc.sort_by(there, [("word", "descending"), "few"])
    want = rows.sort_by([("word", "descending"), ("few", "ascending")])
    assert got.to("cpu").to_pylist().__repr__() == want.to_pylist().__repr__()


@everywhere
def test_an_order_is_stable(device):
    rows = [random.Random(4).randrange(7) for _ in range(5000)]
    got = cc.array_sort_indices(cdevice.asarray(pa.array(rows)).to(device), "descending").to("cpu").to_pylist()
    assert got == sorted(range(5000), key=lambda i: -rows[i])


@everywhere
def test_the_first_k_rows_and_partitions_are_those_of_the_order(device):
    rows = column("float64", 200)
    there = cdevice.asarray(rows).to(device)
    up, down = (pc.array_sort_indices(rows, order) for order in ("ascending", "descending"))
    assert pa.array(cc.top_k_unstable(there, 10).to("cpu")).equals(down[:10])
    assert pa.array(cc.bottom_k_unstable(there, 10).to("cpu")).equals(up[:10])
    assert cc.top_k_unstable(there, 1000).length == 200 and cc.top_k_unstable(there, 0).length == 0
    parts = cc.partition_nth_indices(there, 50).to("cpu").to_pylist()
    at = parts[50]
    assert at == up[50].as_py() and sorted(parts) == [*range(200)]


def test_chunks_are_sorted_as_one_array():
    chunks = [pa.array([3, None]), pa.array([1, 2, 3])]
    assert cc.sort_indices(chunks).to_pylist() == [2, 3, 0, 4, 1]
    assert cc.sort_by(pa.chunked_array(chunks), [("", "descending")]).to_pylist() == [3, 3, 2, 1, None]


def test_options_of_pyarrow_are_understood():
    rows = batch(50)
    options = pc.SortOptions([("real", "descending", "at_start"), ("few", "ascending")])
    assert pa.array(cc.sort_indices(rows, options=options)).equals(pc.sort_indices(rows, options=options))
    column = rows.column("real")
    options = pc.ArraySortOptions("descending", null_placement="at_start")
    assert pa.array(cc.array_sort_indices(column, options=options)).equals(
        pc.array_sort_indices(column, options=options)
    )
    options = pc.SelectKOptions(5, [("few", "descending")])
    got = cc.select_k_unstable(rows, options=options)
    assert cc.take(rows.column("few"), got).to_pylist() == [3] * 5
    options = pc.PartitionNthOptions(3, null_placement="at_start")
    assert len(cc.partition_nth_indices(column, options=options)) == 50


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: cc.sort_indices(batch()), cdevice.ArgumentError, "sort_indices: a batch needs sort_keys"),
        (lambda: cc.sort_indices(batch(), ["wrd"]), KeyError, "did you mean 'word'|no field 'wrd'"),
        (lambda: cc.array_sort_indices(batch()), cc.NoKernel, "array_sort_indices: no kernel for batches"),
        (lambda: cc.array_sort_indices([[1]]), cc.NoKernel, "array_sort_indices"),
        (lambda: cc.array_sort_indices([1], "up"), ValueError, "order must be one of 'ascending', 'descending', not"),
        (lambda: cc.sort_indices([1], [("x", "up")]), ValueError, "SortOptions: order must be one of"),
        (lambda: cc.sort_indices([1], [("x",)]), TypeError, "SortOptions: a sort key must be"),
        (lambda: cc.sort_indices([1], 5), TypeError, "SortOptions: sort_keys must be a list"),
        (lambda: cc.sort_indices([1], [("x", "ascending", "top")]), ValueError, "null_placement must be one of"),
        (lambda: cc.sort_indices(3), TypeError, "sort_indices: expected an array or a batch"),
        (lambda: cc.partition_nth_indices([1], 5), cdevice.ArgumentError, "pivot 5 is beyond the 1 rows"),
        (lambda: cc.select_k_unstable([1], -1, ["x"]), ValueError, "k must be from 0"),
        (lambda: cc.select_k_unstable([1]), TypeError, "SelectKOptions needs k="),
        (lambda: cc.select_k_unstable([1], 1, []), ValueError, "SelectKOptions: sort_keys must have a key"),
    ],
)
def test_an_error_names_the_function_and_what_was_wrong(monkeypatch, call, error, text):
    monkeypatch.setenv("CDEVICE_BACKENDS", "-pyarrow")
    with pytest.raises(error, match=text):
        call()


MANY = 80_000  # rows, of which tiles are left out
FIRST = {
    "int64": lambda rng: rng.randrange(-(1 << 63), 1 << 63),
    "int16 of few values": lambda rng: rng.randrange(-3, 3),
    "uint8": lambda rng: rng.randrange(256),
    "one value": lambda rng: 5,
    "float64": lambda rng: rng.choice([float("nan"), float("inf"), 0.0, -0.0, rng.uniform(-9, 9)]),
    "float32": lambda rng: rng.uniform(-9, 9),
    "zeros": lambda rng: rng.choice([-0.0, 0.0]),
    "decimal128": lambda rng: rng.randrange(-(10**38) + 1, 10**38),
    "decimal256 of few digits": lambda rng: rng.randrange(-(10**12), 10**12),
    "greatest": lambda rng: 255,
}
OF_FIRST = {
    "int16 of few values": pa.int16(),
    "uint8": pa.uint8(),
    "greatest": pa.uint8(),
    "float32": pa.float32(),
    "decimal128": pa.decimal128(38, 0),
    "decimal256 of few digits": pa.decimal256(70, 0),
}


@everywhere
@pytest.mark.parametrize("word", FIRST)
def test_the_first_rows_of_many_are_those_of_the_whole_order(device, word):
    rng, kind = random.Random(word), OF_FIRST.get(word)
    whole = [FIRST[word](rng) for _ in range(MANY)]
    for nulls, order, k in ((0, "ascending", 4), (0.1, "descending", 4), (0.99999, "ascending", 1)):
        a = pa.array([None if rng.random() < nulls else x for x in whole], kind)[3:]
        there = cdevice.asarray(a).to(device)
        want = pc.array_sort_indices(a, order)[:k]
        assert pa.array(cc.select_k_unstable(there, k, [("", order)]).to("cpu")).equals(want), (nulls, order)


@everywhere
def test_equal_rows_of_several_tiles_are_in_their_order_and_nulls_may_be_first(device):
    rows = [9] * MANY
    rows[60_000], rows[60_001], rows[20_000], rows[70_000] = 0, 1, 1, 1
    first = [60_000, 20_000, 60_001, 70_000]
    there = cdevice.asarray(pa.array(rows)).to(device)
    for k in (2, 3, 4):
        assert cc.select_k_unstable(there, k, [("", "ascending")]).to("cpu").to_pylist() == first[:k]
    rows[50_000] = None
    there = cdevice.asarray(pa.array(rows)).to(device)
    for placement, want in (("at_start", [50_000, 60_000]), ("at_end", [60_000, 20_000])):
        got = cc.select_k_unstable(there, 2, [("", "ascending", placement)])
        assert got.to("cpu").to_pylist() == want, placement


@everywhere
def test_the_first_rows_by_several_keys_are_those_of_the_whole_order(device):
    rng = random.Random(8)
    for least in (0, 5, 1 << 40):
        columns = [[rng.randrange(least + 1) for _ in range(MANY)] for _ in range(2)]
        rows = pa.record_batch([pa.array(c, pa.int64()) for c in columns], names=["a", "b"])
        there = cdevice.asarray(rows).to(device)
        keys = [("a", "ascending"), ("b", "descending")]
        want = pc.sort_indices(rows, keys)[:4]
        assert pa.array(cc.select_k_unstable(there, 4, keys).to("cpu")).equals(want), keys


@everywhere
def test_strings_that_are_too_long_are_refused_with_the_limit(device):
    long = cdevice.asarray(["x" * 40_000, "y"]).to(device)
    with pytest.raises(cc.NoKernel, match="array_sort_indices: strings of more than 8192 bytes"):
        cc.array_sort_indices(long)


def many_rows(device):
    """More than two tiles of a work item that does many rows, where rows are cheap."""
    return 200_000 if str(device).partition(":")[0] in ("cpu", "opencl") else 3000


@pytest.mark.parametrize("kind", ["i1", "u2", "i4", "i8", "u8"])
@everywhere
def test_integers_of_few_values_are_sorted_stably(device, kind):
    rng = np.random.default_rng(11)
    n, least = many_rows(device), {"i1": -128, "u2": 65000, "i4": -50, "i8": -(2**63), "u8": 2**64 - 101}[kind]
    for values in (100, 1):
        x = (rng.integers(0, values, n).astype("O") + least).astype(kind)
        there = cdevice.asarray(pa.array(x)).to(device)
        for order in ("ascending", "descending"):
            turned = x.astype("O") - least if order == "ascending" else values - (x.astype("O") - least)
            want = np.argsort(turned.astype("i8"), kind="stable")
            got = cc.array_sort_indices(there[3:], order)
            assert np.array_equal(np.asarray(cc.array_sort_indices(there, order).to("cpu")), want), (values, order)
            assert np.array_equal(np.asarray(got.to("cpu")), want[want >= 3] - 3)


@everywhere
def test_integers_of_many_values_behind_few_are_sorted(device):
    n = many_rows(device)
    x = np.concatenate([np.zeros(n - 1000, "i4"), np.arange(1000, dtype="i4")[::-1] * 1_000_000])
    got = cc.array_sort_indices(cdevice.asarray(pa.array(x)).to(device))
    assert np.array_equal(np.asarray(got.to("cpu")), np.argsort(x, kind="stable"))


def pairs_of_keys(n):
    """(first key, second key): whose words fit into one of 64 bits, nearly do, and do not."""
    rng = np.random.default_rng(12)
    few = pa.array(rng.integers(-50, 50, n).astype("i4"))
    reals = rng.normal(size=n)
    reals[::3] = np.round(reals[::3])  # many equal ones
    reals[5::1000] = float("nan")
    close = np.ldexp(1.0, -40) * rng.integers(0, 2000, n) + 1.5  # that differ in their lowest bits alone
    yield few, pa.array(rng.integers(-1000, 1000, n))
    yield few, pa.array(reals)
    yield few, pa.array(np.where(rng.random(n) < 0.5, reals, close), mask=rng.random(n) < 0.1)
    yield pa.array(rng.integers(0, n, n).astype("u4")), pa.array(close)
    yield pa.array(rng.integers(0, 3, n), mask=rng.random(n) < 0.1).cast("int8"), pa.array(rng.random(n) < 0.5)
    yield pa.array(np.full(n, 7)), pa.array(reals)
    yield pa.array(reals), few
    yield few, pa.array(rng.integers(-(2**63), 2**63 - 1, n))


@everywhere
def test_two_keys_are_sorted_as_arrow_does(device):
    for first, second in pairs_of_keys(many_rows(device)):
        batch = pa.record_batch({"a": first, "b": second})
        there = cdevice.asarray(batch).to(device)
        for (down, placement), other in zip(ORDERS, ("ascending", "descending") * 2, strict=True):
            keys = [("a", down), ("b", other)]
            got = cc.sort_indices(there, keys, null_placement=placement)
            want = pc.sort_indices(batch, keys, null_placement=placement)
            assert pa.array(got.to("cpu")).equals(want), (first.type, second.type, keys, placement)
