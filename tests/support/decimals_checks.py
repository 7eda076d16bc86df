"""Decimals on every device, against pyarrow.compute."""

import decimal
import fractions
import itertools
import random

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import SLICES, back, check, column, there  # noqa: E402
from everywhere import device, everywhere  # noqa: E402, F401

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def decimals(precision, scale, n=140, seed=0, nulls=0.2, bits=128):
    """Numbers of all sizes, whole ones and the greatest among them."""
    rng = random.Random(f"{precision} {scale} {seed}")
    most = 10**precision - 1
    drawn = [
        rng.choice((rng.randint(-most, most), rng.randint(-99, 99), most, -most, 0, min(most, 10**scale)))
        for _ in range(n)
    ]
    with decimal.localcontext(decimal.Context(prec=80)):
        values = [None if rng.random() < nulls else decimal.Decimal(v).scaleb(-scale) for v in drawn]
    return pa.array(values, getattr(pa, f"decimal{bits}")(precision, scale))


@everywhere
def test_decimals_are_added_and_multiplied(device):
    for name, (p, s), (q, t) in (
        ("add", (10, 2), (8, 4)),
        ("add", (37, 3), (20, 3)),
        ("subtract", (18, 0), (19, 18)),
        ("subtract", (37, 30), (37, 30)),
        ("multiply", (18, 4), (19, 9)),
        ("multiply", (9, 0), (28, 10)),
        ("add_checked", (5, 2), (5, 1)),
        ("subtract_checked", (5, 2), (5, 2)),
        ("multiply_checked", (5, 2), (5, 2)),
    ):
        a, b = decimals(p, s, seed=1), decimals(q, t, seed=2)
        for i, n in SLICES[:4]:
            check(device, name, (a.slice(i, n), b.slice(0, n)))
        check(device, name, (a, b[3]))
        check(device, name, (b[3], a))
    a = decimals(10, 2)
    for other in (pa.array([3, None, -2, 7, 0] * 28, pa.int32()), pa.scalar(7, pa.uint8())):
        check(device, "add", (a, other))
        check(device, "multiply", (other, a))
    check(device, "subtract", (a, 3))
    for name in ("negate", "abs", "negate_checked", "abs_checked"):
        check(device, name, (a.slice(3, 90),))
    check(device, "negate", (decimals(38, 38),))
    for bits, p in ((32, 9), (64, 18)):
        check(device, "add", (decimals(p, 2, bits=bits), decimals(p - 1, 1, seed=5, bits=bits)))
        check(device, "subtract", (decimals(p, 2, bits=bits), a))


@everywhere
@pytest.mark.parametrize("name", COMPARISONS)
def test_decimals_are_compared(device, name):
    for (p, s), (q, t) in (((38, 2), (38, 2)), ((10, 2), (8, 4)), ((20, 10), (28, 0))):
        a, b = decimals(p, s, seed=1), decimals(q, t, seed=1)
        for i, n in SLICES[:4]:
            check(device, name, (a.slice(i, n), b.slice(i, n)))
        check(device, name, (a, b[1]))
    a = decimals(20, 3)
    check(device, name, (a, a))
    check(device, name, (a, pa.array([1, 0, None, -5] * 35)))
    check(device, name, (decimals(9, 2, bits=32), decimals(18, 2, bits=64)))


@everywhere
def test_decimals_are_summed(device):
    for p, s, n in ((10, 2, 140), (38, 5, 9000), (38, 0, 4097), (5, 5, 0)):
        for nulls in (0, 0.3, 1):
            a = decimals(p, s, n, nulls=nulls)
            for name in ("sum", "mean", "min", "max", "min_max", "count"):
                check(device, name, (a,))
    a = decimals(20, 2)
    check(device, "sum", (a.slice(7, 60),), skip_nulls=False)
    check(device, "min_max", (a,), min_count=1000)
    check(device, "mean", (a.slice(0, 0),), min_count=0)
    for values in (["1", "2"], ["1", "2", "2"], ["-1", "-2"], ["-1", "-1", "-2"], ["1", "1", "2"]):
        check(device, "mean", (pa.array([decimal.Decimal(v) for v in values]),))
    chunks = [decimals(38, 2, n, seed=n) for n in (5, 0, 5000, 33)]
    got = cc.sum([there(c, device) for c in chunks])
    assert back(got).as_py() == pc.sum(pa.chunked_array(chunks)).as_py()
    for bits in (32, 64):
        narrow = decimals(9, 2, bits=bits)
        want = pc.min_max(narrow.cast(pa.decimal128(9, 2))).as_py()
        assert cc.min_max(there(narrow, device)).as_py() == want


@everywhere
def test_decimals_are_chosen_and_filled(device):
    a, b, mask = decimals(10, 2, seed=1), decimals(8, 4, seed=2), column("bool")
    check(device, "if_else", (mask, a, b))
    check(device, "if_else", (mask, a, pa.scalar(7, pa.int8())))
    check(device, "fill_null", (a, pa.scalar(decimal.Decimal("99999999.25"), a.type)))
    check(device, "coalesce", (a, b))
    for name in ("filter", "if_else"):
        check(device, name, (a, mask) if name == "filter" else (mask, a, a))
    for name in ("is_null", "is_valid", "drop_null"):
        check(device, name, (a,))


TARGETS = [
    ("decimal128", 12, 4),
    ("decimal128", 38, 20),
    ("decimal128", 20, 0),
    ("decimal128", 9, 2),
    ("decimal64", 18, 3),
    ("decimal32", 9, 2),
    ("int64",),
    ("int8",),
    ("uint16",),
]


@everywhere
def test_decimals_are_cast(device):
    small = pa.array([decimal.Decimal(v) if v else None for v in ("1.00", None, "-3.00", "99.00", "0.00")] * 9)
    odd = decimals(10, 2, seed=4)
    for name, *parameters in TARGETS:
        target = getattr(pa, name)(*parameters)
        fits = small if name != "uint16" else pc.abs(small)
        check(device, "cast", (fits.cast(pa.decimal128(10, 2)), target))
        a = fits.cast(pa.decimal128(30, 9)).slice(3, 31)
        # pyarrow cuts what is narrow before it shrinks the scale
        check(device, "cast", (a, target), expected=fits.slice(3, 31).cast(pa.decimal128(6, 0)).cast(target))
        if name not in ("decimal64", "decimal32", "int64"):
            check(device, "cast", (odd, target), safe=False)
    for word in ("int8", "uint8", "int32", "uint64", "int64"):
        whole = pa.array([1, None, 100, 0, 7] * 9, getattr(pa, word)())
        for target in (pa.decimal128(38, 5), pa.decimal128(21, 1), pa.decimal128(20, 0)):
            check(device, "cast", (whole, target))
    check(device, "cast", (pa.array([1, -30, None], pa.int8()), pa.decimal32(5, 2)))
    check(device, "cast", (decimals(9, 2, bits=32), pa.decimal64(18, 4)))


@everywhere
def test_a_value_has_room_in_a_great_scale_or_is_refused(device):
    """Whether all digits have room is decided by exact numbers: the product with 10^scale may have more bits than the type."""
    targets = [pa.decimal128(38, s) for s in (38, 37, 20, -2)]
    targets += [pa.decimal128(5, 5), pa.decimal256(76, 76), pa.decimal256(76, 75), pa.decimal256(60, 60)]
    floats = (0.0, 0.5, -0.25, 1.0, 9.0, 10.0, -10.0, 99.0, 100.0, 65504.0, 2.0**60, 1e22, 3e300)
    columns = [pa.array([x], pa.float64()) for x in floats] + [pa.array([x], pa.float32()) for x in floats[:-1]]
    wholes = [decimal.Decimal(x).scaleb(2) for x in (0, 1, 9, -9, 999)]
    columns += [pa.array([x], pa.decimal128(3, -2)) for x in wholes] + [
        pa.array([x], pa.decimal256(3, -2)) for x in wholes
    ]
    for a, target in itertools.product(columns, targets):
        scaled = fractions.Fraction(a[0].as_py()) * fractions.Fraction(10) ** target.scale
        if abs(scaled) < 10**target.precision and (pa.types.is_floating(a.type) or scaled.denominator == 1):
            got = fractions.Fraction(cc.cast(there(a, device), target).to("cpu").to_pylist()[0])
            assert abs(got * fractions.Fraction(10) ** target.scale - scaled) <= max(0.5, abs(scaled) / 10**6), (
                a,
                target,
            )
        else:
            with pytest.raises(cdevice.ArgumentError, match="does not fit in precision|cause data loss"):
                cc.cast(there(a, device), target).to("cpu")


@everywhere
def test_decimals_that_do_not_fit_are_told(device):
    a = there(pa.array([decimal.Decimal(v) if v else None for v in ("1.25", "-3.99", None, "999.99")]), device)
    for schema, text in (
        (pa.decimal128(4, 2), "Decimal value does not fit in precision 4"),
        (pa.decimal128(10, 1), "Rescaling Decimal value would cause data loss"),
        (pa.int64(), "Rescaling Decimal value would cause data loss"),
    ):
        with pytest.raises(cdevice.ArgumentError, match=text):
            cc.cast(a, schema)
    whole = there(pa.array([decimal.Decimal(300), None, decimal.Decimal(10) ** 30]), device)
    with pytest.raises(cdevice.ArgumentError, match="Integer value out of bounds"):
        cc.cast(whole, "int64")
    with pytest.raises(cdevice.ArgumentError, match="Rescaling Decimal value would cause data loss"):
        cc.cast(whole, pa.decimal128(38, 9))
    with pytest.raises(cdevice.ArgumentError, match="It should be at least 21"):
        cc.cast(there(pa.array([1]), device), pa.decimal128(10, 2))
    most = there(decimals(38, 2), device)
    with pytest.raises(cdevice.ArgumentError, match=r"Decimal precision out of range \[1, 38\]: 39"):
        cc.add(most, most)
    with pytest.raises(cdevice.ArgumentError, match=r"Decimal precision out of range \[1, 38\]: 56"):
        cc.less(most, there(decimals(38, 20), device))
    with pytest.raises(cc.NoKernel, match="negative scales"):
        cc.add(there(pa.array([decimal.Decimal(100)], pa.decimal128(5, -2)), device), a)
