"""float16 on every device, all 65536 of them, against numpy: pyarrow computes little with it."""

import pytest

np = pytest.importorskip("numpy", reason="pip install numpy")
pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import back, check, column, there  # noqa: E402
from everywhere import device, everywhere  # noqa: E402, F401

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

ALL = np.arange(65536, dtype="u2").view("f2")
RNG = np.random.default_rng(7)
A, B = RNG.permutation(ALL), RNG.permutation(ALL)


def on(device, values):
    return there(pa.array(values), device)


def same(got, want):
    """The same bits; which of its patterns a row has that is not a number is left open."""
    have = back(got).to_numpy(zero_copy_only=False)
    assert have.dtype == want.dtype
    bits = f"u{want.dtype.itemsize}"
    bad = (have.view(bits) != want.view(bits)) & ~(np.isnan(have) & np.isnan(want))
    assert not bad.any(), (have[bad][:5], want[bad][:5])


@everywhere
def test_halves_are_computed_with(device):
    with np.errstate(all="ignore"):
        a, b = on(device, A), on(device, B)
        for name in ("add", "subtract", "multiply", "divide"):
            same(getattr(cc, name)(a, b), getattr(np, name)(A, B))
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
            assert (back(getattr(cc, name)(a, b)).to_numpy(zero_copy_only=False) == getattr(np, name)(A, B)).all()
        same(cc.negate(a), -A)
        same(cc.abs(a), np.abs(A))
        same(cc.add(a, 1), A + np.float16(1))
        same(cc.multiply(a, on(device, B.astype("f4"))), A.astype("f4") * B.astype("f4"))
        some = pa.array([1.5, None, -2.0, float("nan")] * 10, pa.float16()).slice(3, 33)
        for name in ("negate", "is_nan", "is_null", "count"):
            check(device, name, (some,))
        got = cc.add_checked(there(some, device), there(some, device))
        assert repr(back(got).to_pylist()) == repr([v and v + v for v in some.to_pylist()])


@everywhere
def test_halves_are_cast(device):
    with np.errstate(all="ignore"):
        h = on(device, ALL)
        same(cc.cast(h, "float32"), ALL.astype("f4"))
        same(cc.cast(h, "float64"), ALL.astype("f8"))
        wide = ALL.astype("f4")
        f = np.concatenate(
            [RNG.integers(0, 1 << 32, 50000, dtype="u4").view("f4"), np.nextafter(wide, np.float32(9e9))]
        )
        f = np.concatenate([f, (wide[1:] + wide[:-1]) / 2])  # what is in the middle of two
        same(cc.cast(on(device, f), "float16"), f.astype("f2"))
        g = np.concatenate([f.astype("f8"), np.nextafter(f.astype("f8"), 9e9), np.nextafter(f.astype("f8"), -9e9)])
        same(cc.cast(on(device, g), "float16"), g.astype("f2"))
        whole = np.arange(-70000, 70000, 3, dtype="i4")
        same(cc.cast(on(device, whole), "float16", safe=False), whole.astype("f2"))
        exact = whole[np.abs(whole) <= 2048]  # all that a float16 has without rounding
        same(cc.cast(on(device, exact), "float16"), exact.astype("f2"))
        assert back(cc.cast(on(device, ALL[:1000]), "int32", safe=False)).to_pylist() == [0] * 1000
        for kind in (pa.int8(), pa.uint16(), pa.int64()):
            a = pa.array([1, 0, 100, 7] * 9, pa.float16())
            check(device, "cast", (a, kind))
            check(device, "cast", (a.cast(kind), pa.float16()))
        with pytest.raises(cdevice.ArgumentError, match="truncated converting to int32"):
            cc.cast(on(device, np.array([1.5], "f2")), "int32")
        with pytest.raises(cdevice.ArgumentError, match="not in the range of float16"):
            cc.cast(on(device, np.array([1 << 60])), "float16")


@everywhere
def test_halves_are_summed(device):
    finite = A[np.isfinite(A)][:9000]
    for values in (finite, finite[:100], finite[:0]):
        a, wide = pa.array(values), pa.array(values.astype("f4"))
        for name in ("min", "max"):
            got = back(getattr(cc, name)(there(a, device)))
            assert got.type == pa.float16() and repr(got.as_py()) == repr(getattr(pc, name)(wide).as_py())
        assert back(cc.min_max(there(a, device))).as_py() == pc.min_max(wide).as_py()
        got = cc.sum(there(a, device)).as_py()
        assert got == pc.sum(wide).as_py() or abs(got - values.astype("f8").sum()) < 1e-6
    nulls = pa.array([1.5, None, -2.0] * 10, pa.float16())
    assert cc.mean(there(nulls, device)).as_py() == -0.25
    assert cc.min_max([there(nulls, device), there(nulls.slice(0, 2), device)])["max"].as_py() == 1.5
    mask = column("bool", 30, seed=3)
    check(device, "if_else", (mask, nulls, nulls))
    check(device, "filter", (nulls, mask))
    check(device, "fill_null", (nulls, pa.scalar(7.0, pa.float16())))
