"""Rows of every layout chosen, taken and compared on every device, against pyarrow.compute, or Python where it has
none."""

import decimal

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import back, check, column, shown, there  # noqa: E402
from everywhere import device, everywhere  # noqa: E402, F401

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

LONG = "long enough not to lie in its view"


def arrays():
    """Arrays of 40 rows by layout, slices among them."""
    words = ["a", None, LONG, "", "späť", LONG * 2, None, "b"]
    numbers = [[1, 2], None, [3, None], [5, 6]]
    kinds = pa.array([0, 1, 1, 0] * 10, pa.int8())
    return {
        "binary-3": pa.array([b"abc", None, b"xyz", b"abd"] * 11, pa.binary(3)).slice(3, 40),
        "binary-5": pa.array([b"abcde", b"xyzzz"] * 20, pa.binary(5)),
        "decimal256": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal(-3)] * 15, pa.decimal256(50, 2)).slice(5),
        "fixed-list": pa.array(numbers * 11, pa.list_(pa.int64(), 2)).slice(3, 40),
        "fixed-list-of-strings": pa.array([["a", LONG], None, [None, ""], ["x", "y"]] * 10, pa.list_(pa.string(), 2)),
        "fixed-list-of-lists": pa.array([[[1], None], [[], [2, 3]]] * 20, pa.list_(pa.list_(pa.int8()), 2)),
        "map": pa.array([[("a", 1)], None, [], [("b", None), ("c", 3)]] * 11, pa.map_(pa.string(), pa.int64())).slice(
            4
        ),
        "list-view": pa.array([[1], None, [2, 3], []] * 11, pa.list_view(pa.int64())).slice(1, 40),
        "large-list-view": pa.array([["a"], None, ["b", LONG]] * 14, pa.large_list_view(pa.string())).slice(2),
        "string-view": pa.array(words * 6, pa.string_view()).slice(7, 40),
        "binary-view": pa.array([w and w.encode() for w in words] * 5, pa.binary_view()),
        "struct-of-views": pa.array([{"v": w, "n": i} for i, w in enumerate(words)] * 5).cast(
            pa.struct({"v": pa.string_view(), "n": pa.int64()})
        ),
        "sparse-union": pa.UnionArray.from_sparse(kinds, [pa.array([1, None] * 20), pa.array(["a", LONG] * 20)]).slice(
            2
        ),
        "dense-union": pa.UnionArray.from_dense(
            kinds, pa.array(list(range(40)), pa.int32()), [pa.array([1, None] * 20), pa.array(["a", LONG] * 20)]
        ),
        "runs": pc.run_end_encode(pa.array([1, 1, None, None, 2] * 9)).slice(3, 40),
        "runs-16": pc.run_end_encode(pa.array(["a", "a", None, LONG] * 10), run_end_type=pa.int16()),
        "interval": pa.array([(1, 2, 3), None, (4, 5, 6)] * 14, pa.month_day_nano_interval()).slice(2),
    }


LAYOUTS = sorted(arrays())


def same(device, name, args, want, **options):
    got = back(getattr(cc, name)(*(there(a, device) for a in args), **options))
    got.validate(full=True)
    assert got.type == args[1 if name == "if_else" else 0].type
    assert shown(got) == [repr(v) for v in want], (name, got)


@everywhere
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_any_layout_are_chosen(device, layout):
    a = arrays()[layout]
    n, rows = len(a), a.to_pylist()
    mask = column("bool", n, seed=5)
    kept = [v for v, m in zip(rows, mask.to_pylist(), strict=True) if m]
    dense = layout == "dense-union"
    same(device, "filter", (a, mask), kept)
    same(device, "filter", (a, pa.array([False] * n)), [])
    for indices in ([], [0], [5, 0, n - 1, 5]) if dense else ([], [0], [None], [5, None, n - 1, 5, None]):
        same(device, "take", (a, pa.array(indices, pa.int64())), [None if i is None else rows[i] for i in indices])
    if not dense:
        emitted = [None if m is None else v for v, m in zip(rows, mask.to_pylist(), strict=True) if m or m is None]
        same(device, "filter", (a, mask), emitted, null_selection_behavior="emit_null")
        none = a.slice(0, 0)
        same(device, "take", (none, pa.array([None, None], pa.int64())), [None, None])
    if "union" not in layout:
        same(device, "drop_null", (a,), [v for v in rows if v is not None])
        nulls = [v is None for v in rows]
        assert back(cc.is_null(there(a, device))).to_pylist() == nulls
        assert cc.count(there(a, device)).as_py() == n - sum(nulls)
    for bad in (n, -1):
        with pytest.raises(cc.IndexOutOfBounds, match=f"index {bad} out of bounds"):
            cc.take(there(a, device), there(pa.array([0, bad]), device))


@everywhere
@pytest.mark.parametrize(
    "layout", ["binary-3", "decimal256", "fixed-list", "map", "string-view", "sparse-union", "runs"]
)
def test_rows_of_any_layout_are_chosen_from_two(device, layout):
    a = arrays()[layout]
    b, rows = a.take(pa.array(range(len(a)))[::-1]) if layout not in ("string-view", "runs") else a, a.to_pylist()
    mask = column("bool", len(a), seed=5)
    chosen = [
        None if m is None else x if m else y for m, x, y in zip(mask.to_pylist(), rows, b.to_pylist(), strict=True)
    ]
    same(device, "if_else", (mask, a, b), chosen)
    if "union" not in layout:
        filled = [y if x is None else x for x, y in zip(rows, b.to_pylist(), strict=True)]
        same(device, "fill_null", (a, b), filled)


@everywhere
def test_a_batch_of_many_layouts_is_filtered(device):
    columns = {k: v.slice(0, 30) for k, v in arrays().items() if k not in ("dense-union", "large-list-view")}
    batch, mask = pa.record_batch({**columns, "n": pa.nulls(30)}), column("bool", 30, seed=5, nulls=0)
    got = cc.filter(there(batch, device), there(mask, device)).to("cpu")
    got.validate("full")
    keep = [i for i, m in enumerate(mask.to_pylist()) if m]
    have = pa.record_batch(got)
    for name, values in columns.items():
        rows = values.to_pylist()
        assert shown(have[name]) == [repr(rows[i]) for i in keep], name


@everywhere
@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_binaries_of_one_size_are_compared(device, name):
    for width in (1, 3, 16):
        a = pa.array([bytes([65 + k % 3]) * width if k % 5 else None for k in range(70)], pa.binary(width)).slice(3)
        b = pa.array([b"A" * (width - 1) + bytes([65 + k % 2]) for k in range(70)], pa.binary(width)).slice(1, 67)
        check(device, name, (a, b))
        check(device, name, (a, pa.scalar(b"B" * width, a.type)))


@everywhere
def test_more_rows_than_ends_count_are_told(device):
    a = there(pc.run_end_encode(pa.array([1, 2]), run_end_type=pa.int16()), device)
    with pytest.raises(cc.NoKernel, match="40000 rows are more than ends"):
        cc.take(a, there(pa.array([1] * 40000), device))
    dense = there(arrays()["dense-union"], device)
    assert back(cc.take(dense, there(pa.array([1, None]), device))).to_pylist() == [
        arrays()["dense-union"][1].as_py(),
        None,
    ]


LOGIC = ("and_", "or_", "xor", "and_not", "and_kleene", "or_kleene", "and_not_kleene", "equal", "less", "greater_equal")
AT = ((0, 0, 0), (32, 0, 64), (0, 1, 0), (7, 8, 33), (31, 31, 31), (40, 3, 1))  # first rows of three columns


def _bits(rng, n, nulls):
    return pa.array(rng.random(n) < 0.5, mask=rng.random(n) < 0.3 if nulls else None)


@pytest.mark.parametrize("nulls", ["none", "left", "right", "both"])
@everywhere
def test_bits_that_begin_anywhere_in_their_words_are_combined_and_counted(device, nulls):
    rng = np.random.default_rng(len(nulls))
    for n in (31, 64, 95, 1000, 9001):
        columns = [_bits(rng, 10_000, nulls in kinds) for kinds in (("left", "both"), ("right", "both"), ("both",))]
        moved = [cdevice.asarray(x).to(device) for x in columns]
        for at in AT:
            a, b, c = (x[k : k + n] for x, k in zip(columns, at, strict=True))
            da, db, dc = (x[k : k + n] for x, k in zip(moved, at, strict=True))
            for name in LOGIC:
                got, want = getattr(cc, name)(da, db).to("cpu"), getattr(pc, name)(a, b)
                assert pa.array(got).equals(want), (name, n, at)
            for got, want in (
                (cc.invert(da), pc.invert(a)),
                (cc.is_null(da), pc.is_null(a)),
                (cc.is_valid(da), pc.is_valid(a)),
                (cc.if_else(dc, da, db), pc.if_else(c, a, b)),
                (cc.or_kleene(da, True), pc.or_kleene(a, True)),
                (cc.xor(db, True), pc.xor(b, True)),
            ):
                assert pa.array(got.to("cpu")).equals(want), (n, at)
            assert (cc.sum(da).as_py(), cc.count(da).as_py()) == (pc.sum(a).as_py(), pc.count(a).as_py()), (n, at)
