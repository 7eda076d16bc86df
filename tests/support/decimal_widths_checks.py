"""Decimals of 32, 64, 128 and 256 bits beside one another, and beside integers and floats, on every device, against
pyarrow.compute."""

import decimal
import itertools
import math
import platform
import random
import struct

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import back, check, column, shown, there  # noqa: E402
from decimals_checks import COMPARISONS, decimals  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

MOST = {32: 9, 64: 18, 128: 38, 256: 76}
WIDTHS = {32: (5, 2), 64: (9, 3), 128: (12, 4), 256: (20, 5)}  # sums, products and quotients of any two are decimals
PAIRS = list(itertools.product(WIDTHS, WIDTHS))
COMPUTED = ("add", "subtract", "multiply", "divide")


def typed(bits, precision, scale):
    return getattr(pa, f"decimal{bits}")(precision, scale)


def rows(bits, seed=0, n=90):
    return decimals(*WIDTHS[bits], n, seed=seed, bits=bits)


def divisors(array):
    """The same with 3 units in the place of 0."""
    small = decimal.Decimal(3).scaleb(-array.type.scale)
    return pa.array([small if v is not None and not v else v for v in array.to_pylist()], array.type)


@everywhere
def test_decimals_of_two_widths_are_computed_with_and_compared(device):
    for a_bits, b_bits in PAIRS:
        a, b = rows(a_bits, 1), divisors(rows(b_bits, 2))
        for name in (*COMPUTED, *(f"{n}_checked" for n in COMPUTED), *COMPARISONS):
            check(device, name, (a.slice(3), b.slice(0, 87)))
        check(device, "divide", (a, b[5]))
        check(device, "add", (a[5], b))
        check(device, "less", (a, b[7]))


@everywhere
def test_decimals_beside_integers_and_floats_are_computed_with(device):
    for bits in WIDTHS:
        a = divisors(rows(bits, 3))
        for other in (column("int8", 90), column("uint16", 90), column("float64", 90), column("float32", 90)):
            other = pc.if_else(pc.equal(other, 0), pa.scalar(1, other.type), other)
            for name in (*COMPUTED, "equal", "less", "coalesce"):
                check(device, name, (a, other))
                check(device, name, (other, a))
            check(device, "if_else", (pa.array([True, False, None] * 30), a, other))


@everywhere
def test_a_quotient_has_the_digits_of_arrow_and_is_cut(device):
    for (a_bits, p, s), (b_bits, q, t) in (
        ((128, 10, 0), (128, 3, 3)),
        ((128, 20, 10), (128, 9, 0)),
        ((128, 16, 2), (32, 9, 9)),
        ((256, 38, 2), (128, 30, 4)),
        ((256, 20, 18), (256, 40, 0)),
        ((64, 18, 18), (64, 9, 0)),
    ):
        a, b = decimals(p, s, seed=6, bits=a_bits), divisors(decimals(q, t, seed=7, bits=b_bits))
        check(device, "divide", (a, b))
        check(device, "divide", (a.slice(1, 60), b.slice(5, 60)))
    one = there(decimals(38, 2), device)
    with pytest.raises(cdevice.ArgumentError, match=r"Decimal precision out of range \[1, 38\]: 77"):
        cc.divide(one, one)
    ten = pa.array([decimal.Decimal("10.00")] * 3)
    for zero in ("0.0", "0"):
        by = there(pa.array([decimal.Decimal("1"), None, decimal.Decimal(zero)]), device)
        with pytest.raises(cdevice.ArgumentError, match="divide by zero"):
            cc.divide(there(ten, device), by)
    nothing = pa.array([None, None, None], pa.decimal256(20, 2))
    check(device, "divide", (ten, nothing))


@everywhere
def test_a_decimal_that_is_chosen_has_128_bits_or_more(device):
    for a_bits, b_bits in PAIRS:
        a, b = rows(a_bits, 1), rows(b_bits, 2)
        check(device, "if_else", (pa.array([True, False, None] * 30), a, b))
        check(device, "coalesce", (a, b))
        for name in ("filter", "take"):
            check(device, name, (a, pa.array([True, False, None] * 30) if name == "filter" else pa.array([3, None, 0])))
        if a_bits == b_bits:
            value = next(v for v in b if v.is_valid)
            check(device, "fill_null", (a, value))
    wide = decimals(38, 2), decimals(38, 30)
    check(device, "coalesce", wide)  # 66 digits
    for bits in (32, 64):  # pyarrow has none of these
        a, mask, b = rows(bits, 1, 6), [True, False, None, True, False, False], rows(bits, 2, 2)
        got = back(cc.replace_with_mask(there(a, device), there(pa.array(mask), device), there(b, device)))
        want = pc.replace_with_mask(
            a.cast(typed(128, *WIDTHS[bits])), pa.array(mask), b.cast(typed(128, *WIDTHS[bits]))
        )
        assert got.type == a.type and shown(got) == shown(want)


@everywhere
def test_the_least_of_decimals_of_two_widths_is_one_of_their_common_type(device):
    for a_bits, b_bits in PAIRS:
        a, b = rows(a_bits, 1), rows(b_bits, 2)
        one = pc.coalesce(a, b).type if a_bits != b_bits else a.type
        whole = one if one.bit_width >= 128 else typed(128, *WIDTHS[a_bits])
        for name in ("min_element_wise", "max_element_wise"):
            got = back(getattr(cc, name)(there(a, device), there(b, device)))
            want = getattr(pc, name)(a.cast(whole), b.cast(whole))
            assert got.type == one and shown(got) == shown(want)


@everywhere
def test_decimals_are_found_among_those_of_another_width(device):
    for a_bits, b_bits in PAIRS:
        a, b = rows(a_bits, 1), rows(b_bits, 1)[::3]
        one = pc.coalesce(a[:1], b[:1]).type
        got = back(cc.is_in(there(a, device), value_set=b))
        assert got.equals(pc.is_in(a.cast(one), value_set=b.cast(one))), (a_bits, b_bits)
        found = back(cc.index_in(there(a, device), value_set=b))
        assert found.equals(pc.index_in(a.cast(one), value_set=b.cast(one))), (a_bits, b_bits)


@everywhere
def test_decimals_are_cast_to_every_width(device):
    for a_bits, b_bits in PAIRS:
        p, s = WIDTHS[a_bits]
        a = (
            decimals(4, min(s, 2), 90, bits=a_bits).cast(typed(a_bits, p, s))
            if a_bits != 32
            else decimals(4, 2, 90, bits=32)
        )
        for target in (typed(b_bits, MOST[b_bits], 5), typed(b_bits, 7, 3)):
            check(device, "cast", (a.slice(3), target))
        if MOST[b_bits] >= p:
            check(device, "cast", (rows(a_bits, 8), typed(b_bits, p, s - 1)), safe=False)
    wide = decimals(76, 10, bits=256)
    check(device, "cast", (wide, pa.decimal256(70, 3)), safe=False)
    check(device, "cast", (decimals(50, 10, bits=256), pa.decimal256(76, 36)))
    for word in ("int8", "uint64", "int32"):
        whole = pa.array([1, None, 100, 0, 7] * 9, getattr(pa, word)())
        for target in (pa.decimal256(38, 5), pa.decimal256(76, 50)):
            check(device, "cast", (whole, target))
            check(device, "cast", (whole.cast(target), whole.type))
    for bits in WIDTHS:
        for text in (pa.string(), pa.large_string()):
            a = rows(bits)
            check(device, "cast", (a, text))
            check(device, "cast", (a.cast(text), a.type))


@everywhere
def test_decimals_that_another_width_has_not_are_told(device):
    a = there(decimals(76, 0, 20, bits=256, nulls=0), device)
    for target, text in (
        (pa.decimal128(38, 0), "does not fit in precision 38"),
        (pa.decimal64(18, 0), "does not fit in precision 18"),
        (pa.decimal256(50, 0), "does not fit in precision 50"),
        (pa.decimal256(76, 2), "Rescaling Decimal value would cause data loss"),
        (pa.int64(), "does not fit"),
    ):
        with pytest.raises(cdevice.ArgumentError, match=text):
            cc.cast(a, target)
    with pytest.raises(cdevice.ArgumentError, match="It should be at least 21"):
        cc.cast(there(pa.array([1]), device), pa.decimal256(20, 2))
    with pytest.raises(cdevice.ArgumentError, match=r"Decimal precision out of range \[1, 76\]: 77"):
        cc.less(a, there(decimals(76, 1, 20, bits=256), device))


def floats(word, precision, scale, n=60):
    """Of all sizes that the decimals have, halves among them."""
    rng = random.Random(f"{word} {precision} {scale}")
    drawn = []
    while len(drawn) < n:
        small = rng.randint(-999, 999) / 2 ** rng.randint(0, 12)
        x = rng.choice((rng.uniform(-1, 1) * 10.0 ** rng.uniform(-scale, precision - scale), small, 0.0, -0.0))
        x = x if abs(x) < min(10.0 ** (precision - scale) * 0.999, 3e38) else 0.0
        drawn.append(struct.unpack("f", struct.pack("f", x))[0] if word == "float32" else x)
    return pa.array([None if i % 7 == 3 else x for i, x in enumerate(drawn)], getattr(pa, word)())


def is_cast_back(device, a, kind):
    """As pyarrow does it; its wheel for arm64 fuses a product with a sum, which gives another last bit."""
    if platform.machine() == "x86_64":
        check(device, "cast", (a, kind))
        return
    have, unit = back(cc.cast(there(a, device), kind)), 2.0 ** (-22 if kind == pa.float32() else -51)
    for x, y in zip(have.to_pylist(), a.cast(kind).to_pylist(), strict=True):
        assert repr(x) == repr(y) or math.isclose(x, y, rel_tol=unit)


@everywhere
def test_a_decimal_is_the_same_float_on_every_processor(device):
    a = pa.array([decimal.Decimal("711.73172"), None], pa.decimal128(8, 5))
    for bits in MOST:
        got = cc.cast(there(a.cast(typed(bits, 8, 5)), device), pa.float32())
        assert back(got).to_pylist() == [711.731689453125, None]  # fused: 711.7317504882812


@everywhere
@pytest.mark.parametrize("word", ["float32", "float64"])
def test_floats_become_the_decimals_of_arrow_and_back(device, word):
    for bits, most in MOST.items():
        for precision, scale in ((most, 0), (most, 2), (most // 2, 3), (most, most // 2), (most - 1, most - 4)):
            target = typed(bits, precision, scale)
            a = floats(word, precision, scale)
            check(device, "cast", (a, target))
            check(device, "cast", (a.slice(5, 33), target), safe=False)
            for back_to in (pa.float32(), pa.float64()):
                is_cast_back(device, decimals(precision, scale, bits=bits), back_to)
        odd = pa.array([float("nan"), float("inf"), -1e30, None, 1.5], getattr(pa, word)())
        check(device, "cast", (odd, typed(bits, 9, 2)), safe=False)
        with pytest.raises(cdevice.ArgumentError, match="infinite or NaN"):
            cc.cast(there(odd[:2], device), typed(bits, 9, 2))
        with pytest.raises(cdevice.ArgumentError, match="does not fit in precision 9"):
            cc.cast(there(odd[2:], device), typed(bits, 9, 2))
        check(device, "cast", (pa.array([None, 1.5], getattr(pa, word)()), typed(bits, 9, 2)))


@everywhere
def test_no_decimal_and_no_integer_is_nan(device):
    for a in (*(rows(bits) for bits in (128, 256)), column("int32"), column("duration[ns]")):
        check(device, "is_nan", (a,))
        check(device, "is_finite", (a,))
    assert back(cc.is_nan(there(rows(32), device))).null_count == rows(32).null_count


@everywhere
def test_narrow_decimals_are_grouped_joined_sorted_and_summed_as_wide_ones_are(device):
    for bits in (32, 64):
        keys, values = decimals(3, 1, 60, seed=1, bits=bits), rows(bits, 2, 60)
        wide = [x.cast(typed(128, x.type.precision, x.type.scale)) for x in (keys, values)]
        batches = [pa.record_batch(list(columns), names=["k", "v"]) for columns in ((keys, values), wide)]
        narrow, whole = (there(b, device) for b in batches)
        aggregates = [("v", name) for name in ("sum", "mean", "min", "max", "product", "count_distinct")]
        found = [cc.group_by(x, ["k"]).aggregate(aggregates).to("cpu").to_pylist() for x in (narrow, whole)]
        assert found[0] == found[1]
        found = [cc.join_indices(x, x, ["k"], join_type="inner").to("cpu").to_pylist() for x in (narrow, whole)]
        assert found[0] == found[1]
        order = [back(cc.sort_indices(x, [("k", "descending"), ("v", "ascending")])) for x in (narrow, whole)]
        assert order[0].equals(order[1])
        for name in ("rank", "unique", "value_counts", "sum", "mean", "product", "sign", "negate", "abs", "min_max"):
            made = [back(getattr(cc, name)(there(x, device))) for x in (values, wide[1])]
            assert repr(made[0].as_py() if isinstance(made[0], pa.Scalar) else made[0].to_pylist()) == repr(
                made[1].as_py() if isinstance(made[1], pa.Scalar) else made[1].to_pylist()
            ), name
        for name in ("floor", "ceil", "trunc", "round"):
            small = decimals(3, 1, 60, seed=1, bits=bits).cast(typed(bits, 5, 1))
            check(device, name, (small,), expected=getattr(pc, name)(small.cast(pa.decimal128(5, 1))))
        digits = pa.array([0, 1, None] * 20, pa.int32())
        want = pc.round_binary(small.cast(pa.decimal128(5, 1)), digits)
        check(device, "round_binary", (small, digits), expected=want)


@everywhere
@pytest.mark.parametrize("word", ["float32", "float64"])
def test_floats_become_decimals_of_negative_scale_as_in_pyarrow(device, word):
    rng = random.Random(word)
    odd = [1234.5, -98765.0, None, 5e4, 150.0, 250.0, 50.0, -50.0, 0.0, -0.0]
    a = pa.array([*odd, *(rng.uniform(-1e9, 1e9) for _ in range(200))], getattr(pa, word)())
    for bits, precision, scale in (
        (32, 9, -3), (64, 12, -1), (128, 20, -2), (128, 10, -3), (256, 10, -3), (256, 70, -20)
    ):  # fmt: skip
        check(device, "cast", (a, typed(bits, precision, scale)))
        check(device, "cast", (a.slice(5, 33), typed(bits, precision, scale)), safe=False)
    with pytest.raises(cdevice.ArgumentError, match="does not fit in precision 5"):
        cc.cast(there(pa.array([1e9], getattr(pa, word)()), device), pa.decimal128(5, -2))
