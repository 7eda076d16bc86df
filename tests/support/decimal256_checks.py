"""Decimals of 256 bits: their order and all that is made of it, their arithmetic and summaries, on every device,
against pyarrow.compute; and summaries of decimals of every width."""

import itertools
import math

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import back, check, there  # noqa: E402
from decimals_checks import COMPARISONS, decimals  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

ORDERS = [*itertools.product(("ascending", "descending"), ("at_end", "at_start"))]


def columns(n=140):
    """Of few values, of all sizes and sliced, without nulls, of no rows."""
    whole = decimals(76, 5, n, bits=256)
    few = pa.concat_arrays([decimals(50, 2, 20, bits=256)] * 6)
    return [few, whole.slice(3, 90), decimals(40, 0, n, nulls=0, bits=256), whole[:0]]


@everywhere
def test_decimals_of_256_bits_are_sorted_by_value(device):
    for a, (order, nulls) in itertools.product([*columns()[1:], decimals(76, 0, 5000, bits=256)], ORDERS):
        check(device, "array_sort_indices", (a,), order=order, null_placement=nulls)
    a = columns()[0]
    for tie in ("min", "max", "first", "dense"):
        check(device, "rank", (a,), tiebreaker=tie)
    check(device, "rank_quantile", (a,))
    batch = pa.record_batch([decimals(60, 1, 200, bits=256, nulls=0.5), pa.array(range(200))[::-1]], names=["a", "b"])
    keys = [("a", "descending"), ("b", "ascending")]
    assert back(cc.sort_indices(there(batch, device), keys)).equals(pc.sort_indices(batch, keys))
    got = back(cc.select_k_unstable(there(batch, device), 7, keys))
    assert got.equals(pc.sort_indices(batch, keys)[:7])


@everywhere
def test_decimals_of_256_bits_are_told_apart_and_found(device):
    for a in columns()[:2]:
        for name in ("unique", "value_counts", "dictionary_encode", "count_distinct"):
            check(device, name, (a,))
        for name in ("is_in", "index_in"):
            got = back(getattr(cc, name)(there(a, device), value_set=a[::3]))  # managed memory is looked up by the CPU
            assert got.equals(getattr(pc, name)(a, value_set=a[::3])), name
        check(device, "run_end_encode", (a,))
    assert cc.index(there(a, device), a[77]).as_py() == pc.index(a, a[77]).as_py()
    check(device, "fill_null_forward", (a,))
    check(device, "indices_nonzero", (a,))
    assert cc.first_last(there(a, device)).as_py() == {
        "first": a.drop_null()[0].as_py(),
        "last": a.drop_null()[-1].as_py(),
    }


@everywhere
def test_decimals_of_256_bits_are_summed(device):
    for a in [*columns(), decimals(76, 0, 9000, bits=256), pa.nulls(5, pa.decimal256(50, 2))]:
        for name, options in itertools.product(
            ("sum", "mean", "min", "max", "min_max", "product"), ({}, {"skip_nulls": False}, {"min_count": 100})
        ):
            check(device, name, (a,), **options)
    chunks = [decimals(70, 3, n, seed=n, bits=256) for n in (5, 0, 5000, 33)]
    parts = [there(c, device) for c in chunks]
    for name in ("sum", "min_max", "mean", "product"):
        want = getattr(pc, name)(pa.chunked_array(chunks)).as_py()
        assert getattr(cc, name)(parts).as_py() == want
        assert getattr(cc, name)(cdevice.asstream(iter(parts), schema=parts[0].schema)).as_py() == want


@everywhere
def test_decimals_of_256_bits_of_one_scale_are_added_and_compared(device):
    a, b = decimals(37, 4, seed=1, bits=256), decimals(30, 4, seed=2, bits=256)
    for name in ("add", "subtract", "multiply", "subtract_checked", *COMPARISONS):
        check(device, name, (a.slice(3, 90), b.slice(5, 90)))
        check(device, name, (a, b[1]))
    same = decimals(76, 9, bits=256)
    for name in COMPARISONS:
        check(device, name, (same.slice(1), same.slice(1)))
    for name in ("negate", "abs"):
        check(device, name, (same,))
    check(device, "pairwise_diff", (a,), period=3)
    check(device, "pairwise_diff", (a,), period=-1)
    with pytest.raises(cdevice.ArgumentError, match=r"Decimal precision out of range \[1, 76\]: 77"):
        cc.add(there(same, device), there(same, device))


WIDTHS = {32: (6, 2), 64: (15, 3), 128: (30, 4), 256: (40, 5)}  # pyarrow adds them up as they are stored


@everywhere
@pytest.mark.parametrize("bits", WIDTHS)
def test_statistics_of_decimals_are_those_of_the_numbers(device, bits):
    precision, scale = WIDTHS[bits]
    for a in (decimals(precision, scale, 300, bits=bits), decimals(4, 1, 50, nulls=0, bits=bits)[7:]):
        x = there(a, device)
        for name in ("variance", "stddev", "skew", "kurtosis"):
            got, want = getattr(cc, name)(x).as_py(), getattr(pc, name)(a).as_py()
            assert math.isclose(got, want, rel_tol=1e-9), (name, got, want)
        for how in ("linear", "midpoint"):
            got = back(cc.quantile(x, [0, 0.1, 0.5, 0.77, 1], interpolation=how))
            want = pc.quantile(a, [0, 0.1, 0.5, 0.77, 1], interpolation=how)
            assert got.type == want.type
            for g, w in zip(got.to_pylist(), want.to_pylist(), strict=True):
                assert math.isclose(g, w, rel_tol=1e-14, abs_tol=1e-300), (how, g, w)
        for how in ("lower", "higher", "nearest"):
            got = back(cc.quantile(x, [0, 0.1, 0.5, 1], interpolation=how))
            assert got.equals(pc.quantile(a, [0, 0.1, 0.5, 1], interpolation=how))
