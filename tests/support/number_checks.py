"""Rounding, functions of floats, bits, remainders, powers, and the least of several arguments on every device, against
pyarrow and against models from their definitions."""

import decimal
import math
import os
import random
import struct
import sys
from decimal import Decimal

import pytest
from everywhere import device  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")
np = pytest.importorskip("numpy", reason="pip install numpy")

import number_model as model  # noqa: E402
from compute_cases import INTEGERS, OF_PYARROW_26, back, check, column, limits, there, typed  # noqa: E402

import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

MODES = model.MODES
NAN, INF = math.nan, math.inf
ODD = [0.0, -0.0, NAN, INF, -INF, 2.0**52 + 0.5, 1e300, -1e300, 5e-324, 0.5 - 2.0**-54, -0.5 + 2.0**-54, -1e-20]


def on_few(f):
    """On the CPU's two builds, and in one shape of OpenCL: each kernel is a compilation there."""
    return pytest.mark.parametrize("device", ["cpu", "cpu-base", "opencl-items"], indirect=True)(f)


def some_floats(word, n=60, seed=4):
    rng = random.Random(seed)
    drawn = [rng.gauss(0, 1) * 10 ** rng.randint(-3, 6) for _ in range(n)] + [k / 4 for k in range(-20, 20)]
    if word == "float32":
        drawn = [struct.unpack("f", struct.pack("f", x))[0] for x in drawn]
        return [*drawn, *(x for x in ODD if abs(x) < 1e38 or not math.isfinite(x))]
    return drawn + ODD


def with_nulls(values, t):
    """Rows of a slice, with nulls."""
    return pa.array([None, *values[:7], None, *values[7:], None], t)[1:]


def refused(name, args, **options):
    """Both libraries refuse it."""
    theirs = getattr(pc, name, None) or (lambda *a: pc.call_function(name, list(a)))
    with pytest.raises(pa.ArrowException):
        theirs(*args, **options)
    with pytest.raises((ArgumentError, cc.NoKernel)) as e:
        getattr(cc, name)(*args, **options)
    return str(e.value)


# ---- rounding ----
@on_few
@pytest.mark.parametrize("word", ["float32", "float64"])
def test_floats_are_rounded_as_pyarrow_rounds_them(device, word):
    rows, t = some_floats(word), typed(word)
    a = with_nulls(rows, t)
    small = with_nulls([x for x in rows if math.isfinite(x) and abs(x) < 1e20], t)
    for name in ("floor", "ceil", "trunc", "sign", "is_finite", "is_inf"):
        check(device, name, [a])
    digits = pa.array([random.Random(3).randint(-20, 4) for _ in small], pa.int32())
    for mode in MODES if device == "cpu" else MODES[::3]:
        for n in (0, -2, -12):
            check(device, "round", [a], ndigits=n, round_mode=mode)
        for n in (1, 2, 12):
            check(device, "round", [small], ndigits=n, round_mode=mode)
        for multiple in (0.5, 3, 0.1):
            check(device, "round_to_multiple", [a], multiple=multiple, round_mode=mode)
        check(device, "round_binary", [small, digits], round_mode=mode)


@on_few
@pytest.mark.parametrize("word", ["int8", "uint8", "int32", "uint64", "int64"])
def test_integers_are_rounded_as_pyarrow_rounds_them(device, word):
    if not device.startswith("cpu") and word != "int64":
        pytest.skip("of few types there")
    low, high = limits(word)
    t, rng = typed(word), random.Random(word)
    drawn = [rng.randint(low // 2, high // 2) for _ in range(50)] + [
        k for k in (5, 15, 25, 35, -5, -15, 50) if k >= low
    ]
    a = with_nulls(drawn, t)
    digits = pa.array([rng.choice((0, 1, -1)) for _ in a], pa.int32())
    for mode in MODES if device == "cpu" else MODES[::3]:
        for n in (1, 0, -1):
            check(device, "round", [a], ndigits=n, round_mode=mode)
        for multiple in (1, 2, 3, 7, 10):
            check(device, "round_to_multiple", [a], multiple=multiple, round_mode=mode)
        check(device, "round_binary", [a, digits], round_mode=mode)
    check(device, "sign", [a])


@OF_PYARROW_26
@on_few
@pytest.mark.parametrize("word", ["decimal128", "decimal256"])
def test_decimals_are_rounded_as_pyarrow_rounds_them(device, word):
    precision = 30 if word == "decimal128" else 50
    t, rng = getattr(pa, word)(precision, 3), random.Random(word)
    drawn = [Decimal(rng.randint(-99999, 99999)).scaleb(-3) for _ in range(30)]
    drawn += [Decimal(k).scaleb(-1) for k in (15, 25, -15, -25, 0, 50, 150)]
    with decimal.localcontext() as c:
        c.prec = 100
        drawn += [Decimal(rng.randint(-(10**9), 10**9)).scaleb(precision - 14) for _ in range(6)]
    a = with_nulls(drawn, t)
    for name in ("floor", "ceil", "trunc", "sign", "is_finite", "is_inf"):
        check(device, name, [a])
    digits = pa.array([rng.randint(-2, 4) for _ in a], pa.int32())
    for mode in MODES if device == "cpu" else MODES[::3]:
        for n in (0, 1, -1, -20, 3):
            check(device, "round", [a], ndigits=n, round_mode=mode)
        check(device, "round_binary", [a, digits], round_mode=mode)
        for multiple in ("0.5", "0.03", "7"):
            check(device, "round_to_multiple", [a], multiple=Decimal(multiple), round_mode=mode)


@on_few
def test_ten_modes_round_ties_and_others_as_their_definition_does(device):
    halves = [k / 4 for k in range(-14, 15)]
    integers = list(range(-37, 38))
    prices = [Decimal(k) / 100 for k in range(-230, 231, 5)]
    for mode in MODES:

        def want(values, multiple, mode=mode):
            return [model.to_multiple(x, multiple, mode) for x in values]

        got = back(cc.round(there(pa.array(halves), device), 0, mode)).to_pylist()
        assert got == [float(x) for x in want(halves, 1)], mode
        got = back(cc.round_to_multiple(there(pa.array(halves), device), 0.5, mode)).to_pylist()
        assert got == [float(x) for x in want(halves, 0.5)], mode
        got = back(cc.round(there(pa.array(integers), device), -1, mode)).to_pylist()
        assert got == [int(x) for x in want(integers, 10)], mode
        got = back(cc.round(there(pa.array(prices, pa.decimal128(9, 2)), device), 1, mode)).to_pylist()
        assert got == want(prices, Decimal("0.1")), mode


def test_what_has_no_room_for_its_multiple_is_an_error():
    big = pa.array([Decimal("9" * 38)], pa.decimal128(38, 0))
    assert "overflow occurred during rounding" in refused("round", [pa.array([1.5])], ndigits=400)
    refused("round", [pa.array([1.7e308])], ndigits=-308, round_mode="up")
    refused("round", [pa.array([127], pa.int8())], ndigits=-1)
    assert "out of range for type int8" in refused("round", [pa.array([1], pa.int8())], ndigits=-3)
    refused("round_binary", [pa.array([1], pa.int8()), pa.array([-3], pa.int32())])
    assert "does not fit in precision" in refused("round", [big], ndigits=-1)
    refused("ceil", [pa.array([Decimal("9" * 36 + ".99")], pa.decimal128(38, 2))])
    refused("round", [pa.array([Decimal("1.25")], pa.decimal128(5, 2))], ndigits=-3)
    check("cpu", "round_binary", [pa.array([None, 1], pa.int8()), pa.array([-3, 1], pa.int32())])


@pytest.mark.parametrize("multiple", [0, -1, NAN, None, "x"])
def test_a_multiple_is_above_0(multiple):
    for t in (pa.float64(), pa.int8()):
        assert "must be" in refused("round_to_multiple", [pa.array([1], t)], multiple=multiple)


def test_a_multiple_is_a_number_of_the_type():
    for multiple in (0.5, 200, INF):
        refused("round_to_multiple", [pa.array([1], pa.int8())], multiple=multiple)
    prices = pa.array([Decimal("1.25")], pa.decimal128(5, 2))
    for multiple in (Decimal("0.001"), 2, Decimal(1000)):
        refused("round_to_multiple", [prices], multiple=multiple)


def test_options_of_pyarrow_are_taken():
    a = pa.array([1.25, 2.5])
    for ours, theirs in (
        (cc.round(a, options=pc.RoundOptions(1, "up")), pc.round(a, 1, "up")),
        (cc.round_to_multiple(a, options=pc.RoundToMultipleOptions(0.5, "down")), pc.round_to_multiple(a, 0.5, "down")),
        (
            cc.max_element_wise(a, 2, options=pc.ElementWiseAggregateOptions(skip_nulls=False)),
            pc.max_element_wise(a, 2),
        ),
    ):
        assert back(ours).equals(theirs)


# ---- functions of floats ----
def near_powers_of_two():
    """Powers of two, and the numbers next to them."""
    found = []
    for k in (-1074, -1060, -1023, -1022, -600, -60, -30, -27, -2, -1, 0, 1, 2, 5, 9, 30, 52, 53, 64, 500, 1023):
        one = math.ldexp(1.0, k)
        found += [one, math.nextafter(one, 0), math.nextafter(one, INF)]
    return found


def arguments_of(name, n=70):
    """Rows from where a function has values, from all that it has them."""
    rng = random.Random(name)
    near = [x for x in near_powers_of_two() if x]
    bits = [struct.unpack("d", struct.pack("Q", rng.getrandbits(64)))[0] for _ in range(n)]
    bits = [x for x in bits if math.isfinite(x) and x]
    both = [*near, *(-x for x in near)]
    plain = [rng.uniform(-3, 3) for _ in range(n)]
    if name in ("exp", "expm1", "sinh", "cosh", "tanh"):
        most = 709.7 if name != "exp" else 709.78
        odd = [709.78, -708.3, -745.13, -700.0, 0.34657359, -0.34657360, 22.0, 21.99, 710.4]
        drawn = [*odd, *plain, *(rng.uniform(-740, most) for _ in range(n)), *(x for x in both if 1e-17 < abs(x) < 700)]
        return drawn if name in ("exp", "sinh", "cosh") else [x for x in drawn if x < 709.7]
    if name in ("ln", "log2", "log10", "sqrt"):
        tens = [10.0**k for k in range(-20, 23)]
        return [*near, *tens, *map(abs, bits), *(1 + rng.uniform(-1e-3, 1e-3) for _ in range(n)), *map(abs, plain)]
    if name == "log1p":
        drawn = [*both, *plain, *(rng.uniform(-1, 1) * 10 ** rng.uniform(-17, 0) for _ in range(n))]
        return [x for x in drawn if x > -1 and abs(x) > 1e-40]
    if name in ("asin", "acos", "atanh"):
        edge = [1 - 2.0**-k for k in range(2, 54)]
        return [x for x in (*both, *edge, *(-x for x in edge), *(x / 3 for x in plain)) if 1e-17 < abs(x) < 1]
    if name == "acosh":
        return [
            *(1 + 10 ** rng.uniform(-15, 3) for _ in range(n)),
            *(x for x in map(abs, bits) if x > 1),
            2.0**28,
            1e300,
        ]
    if name in ("sin", "cos", "tan"):
        turns = [k * math.pi / 2 for k in (*range(-20, 20), 523, 40001, 500000, 524287)]
        huge = [1e22, 1e300, 2.0**1023, 6381956970095103 * 2.0**797, 823549.0, 823550.0, -1e9]
        drawn = [*turns, *huge, *plain, *bits, *(rng.uniform(-8e5, 8e5) for _ in range(n)), *both]
        return [x for x in drawn if abs(x) > 1e-17]
    if name == "cbrt":
        cubes = [float(k**3) for k in (3, 5, 7, 100, 1001, 208063)]
        edges = [s * 10.0**k * rng.uniform(1, 9) for k in (-270, 269, -308, 300, 307) for s in (-1, 1)]
        return [*both, *plain, *bits, *cubes, *edges, 5e-324, -5e-324, sys.float_info.max]
    return [x for x in (*both, *plain, *bits) if abs(x) > 1e-17 and abs(x) < 1e300]


def pairs_of(name, n=150):
    rng = random.Random(name)
    if name == "power":
        drawn = [(10 ** rng.uniform(-5, 5), rng.uniform(-60, 60)) for _ in range(n)]
        drawn += [(1 + rng.uniform(-1e-6, 1e-6), rng.uniform(-1e8, 1e8)) for _ in range(n)]
        return [*drawn, (2.0, -1074.0), (2.0, -1060.5), (2.0, 1023.0), (10.0, 22.0), (10.0, 308.0), (3.0, -40.0)]
    if name == "logb":
        return [(10 ** rng.uniform(-300, 300), 10 ** rng.uniform(-3, 3)) for _ in range(n)]
    drawn = [(rng.uniform(-3, 3), rng.uniform(-3, 3)) for _ in range(n)]
    return drawn + [(10 ** rng.uniform(-150, 150), -(10 ** rng.uniform(-150, 150))) for _ in range(n)]


_answers = {}


def answers(name):
    """(arguments, exact values)"""
    if name not in _answers:
        if name in model.ONES:
            rows = [(x,) for x in arguments_of(name)]
        else:
            rows = pairs_of(name)
        _answers[name] = rows, [model.exact(name, *r) for r in rows]
    return _answers[name]


def far_off(got, rows, wanted, digits, least):
    found = []
    for g, r, w in zip(got, rows, wanted, strict=True):
        off = model.units(g, w, digits, least)
        if off > 2:
            found.append((r, g, off))
    return found[:5]


@on_few
@pytest.mark.parametrize("name", [*model.ONES, *model.TWOS])
def test_functions_of_float64_are_within_2_units_of_the_exact_values(device, name):
    rows, wanted = answers(name)
    args = [there(pa.array(x, pa.float64()), device) for x in zip(*rows, strict=True)]
    got = back(getattr(cc, name)(*args))
    assert far_off(got.to_pylist(), rows, wanted, 53, -1022) == []
    assert_bits_of_the_cpu(name, args, got)


@pytest.mark.parametrize("name", [*model.ONES, *model.TWOS])
def test_functions_of_float32_are_within_2_units_of_the_exact_values(name):
    kept = []
    for r in answers(name)[0][::2]:
        with np.errstate(over="ignore"):
            x = tuple(np.float32(v) for v in r)
        if all(0 < abs(v) < np.inf for v in x):
            kept.append(tuple(map(float, x)))
    if name in ("asin", "acos", "atanh", "log1p", "acosh"):
        kept = [r for r in kept if (r[0] > 1 if name == "acosh" else -1 < r[0] and (name == "log1p" or r[0] < 1))]
    got = back(getattr(cc, name)(*(pa.array(x, pa.float32()) for x in zip(*kept, strict=True)))).to_pylist()
    assert far_off(got, kept, [model.exact(name, *r) for r in kept], 24, -126) == []


def assert_bits_of_the_cpu(name, args, got):
    """The same bits as those of the CPU's better build."""
    kept = os.environ.pop("CDEVICE_CPU_KERNELS", None)
    try:
        want = back(getattr(cc, name)(*(a.to("cpu") for a in args)))
    finally:
        if kept is not None:
            os.environ["CDEVICE_CPU_KERNELS"] = kept
    whole = np.dtype(f"u{got.type.bit_width // 8}")
    a, b = (x.to_numpy(zero_copy_only=False).view(whole) for x in (got, want))
    assert (a == b).all(), [(got[i], want[i]) for i in np.nonzero(a != b)[0][:3].tolist()]


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, INF, -INF, NAN, 3.0, -3.0, 1e300, -1e300, 5e-324, None]


def alike(have, want):
    """Equal, or next to each other; zeros, infinities and NaN the same."""
    if have is None or want is None or math.isnan(want) or not math.isfinite(have) or not want:
        return repr(have) == repr(want)
    return abs(have - want) <= 4e-15 * abs(want) + 5e-324


@on_few
@pytest.mark.parametrize(
    "name", [*model.ONES, *model.TWOS, *(pytest.param(n, marks=OF_PYARROW_26) for n in ("modulo", "remainder"))]
)
def test_zeros_infinities_nan_and_nulls_are_what_pyarrow_makes_of_them(device, name):
    if name in model.ONES:
        args = [pa.array(SPECIAL)]
    else:
        args = [pa.array([x for x in SPECIAL for _ in SPECIAL]), pa.array(SPECIAL * len(SPECIAL))]
    if name == "cbrt":  # pyarrow has none
        want = [None if x is None else float(np.cbrt(x)) for x in SPECIAL]
    else:
        want = pc.call_function(name, args).to_pylist()
    got = back(getattr(cc, name)(*(there(a, device) for a in args))).to_pylist()
    said = [(i, g, w) for i, (g, w) in enumerate(zip(got, want, strict=True)) if not alike(g, w)]
    assert said == [], [args[0][i] for i, *_ in said]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("sqrt_checked", [-1.0]),
        ("ln_checked", [0.0, -1.0]),
        ("log2_checked", [0.0, -INF]),
        ("log10_checked", [0.0, -1.0]),
        ("log1p_checked", [-1.0, -2.0]),
        ("sin_checked", [INF]),
        ("cos_checked", [-INF]),
        ("tan_checked", [INF]),
        ("asin_checked", [2.0]),
        ("acos_checked", [-1.5]),
        ("acosh_checked", [0.5]),
        ("atanh_checked", [1.0, -2.0]),
    ],
)
def test_checked_functions_refuse_what_has_no_value(name, bad):
    plain = name.removesuffix("_checked")
    fine = pa.array([1.25 if plain == "acosh" else 0.25, None, NAN, 0.5 if plain != "acosh" else 1e9] * 9)
    for t in (pa.float64(), pa.float32()):
        a = fine.cast(t)
        assert repr(back(getattr(cc, name)(a)).to_pylist()) == repr(back(getattr(cc, plain)(a)).to_pylist())
        for x in bad:
            text = refused(name, [pa.array([x], t)])
            with pytest.raises(pa.ArrowException) as e:
                getattr(pc, name)(pa.array([x], t))
            assert str(e.value) in text


def test_logarithms_to_a_base_that_are_none_are_refused():
    for x, base in ((0.0, 2.0), (-1.0, 2.0), (2.0, 0.0), (2.0, -1.0)):
        refused("logb_checked", [pa.array([x]), pa.array([base])])


def test_integers_and_decimals_are_computed_with_as_float64():
    for name in ("exp", "sqrt", "sin", "floor", "tanh"):
        for t in (pa.int8(), pa.uint64(), pa.int64()):
            have, want = (
                back(getattr(cc, name)(pa.array([1, None, 5], t))),
                getattr(pc, name)(pa.array([1, None, 5], t)),
            )
            assert have.type == want.type and all(map(alike, have.to_pylist(), want.to_pylist()))
    refused("sqrt", [pa.array([2**53 + 1])])
    refused("exp", [pa.array([1.5], pa.float16())])
    refused("exp", [pa.array([True])])
    prices = pa.array([Decimal("1.25"), None, Decimal("2.5")], pa.decimal128(9, 2))
    for name, args in (("sqrt", [prices]), ("power", [prices, 2]), ("atan2", [prices, prices])):
        have, want = back(getattr(cc, name)(*args)), getattr(pc, name)(*args)
        assert have.type == want.type and all(map(alike, have.to_pylist(), want.to_pylist()))
    for types in ((pa.float32(), pa.int8()), (pa.int8(), pa.int8()), (pa.float32(), pa.float32())):
        args = [pa.array([1, 2], t) for t in types]
        for name in ("atan2", "power", "hypot"):
            assert back(getattr(cc, name)(*args)).type == getattr(pc, name)(*args).type


# ---- integers ----
@OF_PYARROW_26
@on_few
@pytest.mark.parametrize("word", INTEGERS)
def test_bits_shifts_remainders_and_powers_are_those_of_pyarrow(device, word):
    if not device.startswith("cpu") and word != "int32":
        pytest.skip("of few types there")
    low, high = limits(word)
    bits = high.bit_length()
    t, rng = typed(word), random.Random(word)
    a, b = column(word, seed=1), column(word, seed=2)
    for name in ("bit_wise_and", "bit_wise_or", "bit_wise_xor", "shift_left", "shift_right"):
        check(device, name, [a[3:], b[3:]])
        check(device, name, [a, pa.scalar(3, t)])
        check(device, name, [pa.scalar(3, t), b])
    check(device, "bit_wise_not", [a])
    by = pa.array([rng.randrange(bits) for _ in a], t)
    divisors = pa.array([x if x not in (0, -1, None) else 3 for x in b.to_pylist()], t)
    for name in ("modulo", "remainder"):
        for call in (name, name + "_checked") if device == "cpu" else (name,):
            check(device, call, [a, divisors], pc.call_function(call, [a, divisors]))
        check(device, name, [pa.scalar(7, t), divisors], pc.call_function(name, [pa.scalar(7, t), divisors]))
    for name in ("shift_left_checked", "shift_right_checked"):
        check(device, name, [a, by])
    check(device, "power", [a, pa.array([rng.randrange(min(70, high)) for _ in a], t)])
    small = pa.array([rng.randrange(0, 4) for _ in a], t)
    check(device, "power_checked", [small, pa.array([rng.randrange(0, 4) for _ in a], t)])


@OF_PYARROW_26
@pytest.mark.parametrize("word", INTEGERS)
def test_powers_and_divisions_that_overflow_are_errors(word):
    low, high = limits(word)
    t = typed(word)
    for base in (2, 3, 7, 10, high, low):
        for exponent in (0, 1, 2, 3, 6, 7, 8, 9, 15, 16, 31, 32, 33, 39, 40, 63, 64, 65, 100):
            args = [pa.array([base], t), pa.array([exponent], t)]
            if low <= base**exponent <= high:
                assert back(cc.power_checked(*args)).to_pylist() == [base**exponent]
            else:
                assert "overflow" in refused("power_checked", args)
    if low:
        least, less = pa.array([low], t), pa.array([-1], t)
        check("cpu", "modulo", [least, less], pc.call_function("modulo", [least, less]))
        for name in ("modulo_checked", "remainder_checked"):
            refused(name, [least, less])
        for name in ("power", "power_checked"):
            assert "negative integer powers" in refused(name, [pa.array([2], t), less])
        refused("shift_left_checked", [least, less])
    for name in ("modulo", "remainder", "modulo_checked", "remainder_checked"):
        assert "divide by zero" in refused(name, [pa.array([1], t), pa.array([0], t)])
    refused("shift_right_checked", [pa.array([1], t), pa.array([high.bit_length()], t)])


@OF_PYARROW_26
@on_few
def test_remainders_of_floats_and_decimals_are_those_of_pyarrow(device):
    rng = random.Random(5)
    a = [rng.uniform(-50, 50) for _ in range(40)] + [1e300, -1e300, 5e-324, 7.5, -7.5, 1e-310]
    b = [rng.uniform(-9, 9) for _ in range(40)] + [7.0, 1e-300, 3e-323, -2.0, 2.0, 3e-311]
    for t in (pa.float64(), pa.float32()) if device == "cpu" else (pa.float64(),):
        x, y = pa.array(a).cast(t), pa.array(b).cast(t)
        if t == pa.float32():
            x, y = x[:40], y[:40]
        for name in ("modulo", "remainder"):
            check(device, name, [x, y], pc.call_function(name, [x, y]))
    for t in (pa.decimal128(20, 3), pa.decimal256(50, 3)) if device == "cpu" else (pa.decimal128(20, 3),):
        with decimal.localcontext() as c:
            c.prec = 60
            x = pa.array([Decimal(rng.randint(-(10**15), 10**15)).scaleb(-3) for _ in range(30)] + [None], t)
            y = pa.array([Decimal(rng.randint(1, 10**9)).scaleb(-3) * (-1) ** k for k in range(31)], t)
        for name in ("modulo", "remainder"):
            check(device, name, [x, y], pc.call_function(name, [x, y]))


# ---- several arguments ----
@on_few
@pytest.mark.parametrize("word", ["int32", "float64", "uint8"])
def test_the_least_and_the_greatest_are_those_of_pyarrow(device, word):
    a, b, c = (column(word, seed=k) for k in (1, 2, 3))
    for name in ("min_element_wise", "max_element_wise"):
        for skip in (True, False):
            check(device, name, [a, b, c], skip_nulls=skip)
            check(device, name, [a[5:], b[5:]], skip_nulls=skip)
            check(device, name, [a, pa.scalar(5, a.type)], skip_nulls=skip)
            check(device, name, [pa.scalar(None, a.type), b], skip_nulls=skip)
            check(device, name, [c], skip_nulls=skip)


@on_few
def test_the_least_text_time_and_decimal_are_those_of_pyarrow(device):
    texts = pa.array(["a", "b", None, None, "c"]), pa.array(["b", "a", "x", None, "c"])
    times = pa.array([1, None, 3], pa.timestamp("s")), pa.array([1, 2, 5000], pa.timestamp("ms"))
    prices = [pa.array([Decimal(k), None, Decimal(5 - k)], pa.decimal128(9, 2)) for k in (1, 4)]
    wide = [x.cast(pa.decimal256(40, 2)) for x in prices]
    fixed = [pa.array(x, pa.binary(2)) for x in ([b"ab", None], [b"bc", b"aa"])]
    cases = (texts, times, prices, wide, fixed) if device == "cpu" else (times, prices)
    for args in cases:
        for name in ("min_element_wise", "max_element_wise") if device == "cpu" else ("min_element_wise",):
            for skip in (True, False):
                check(device, name, list(args), skip_nulls=skip)


def test_what_has_no_common_order_is_refused_by_name():
    for args in (
        [pa.array([True]), pa.array([True])],
        [pa.array([1.5], pa.float16())] * 2,
        [pa.array(["a"]), pa.array([b"b"])],
    ):
        assert "min_element_wise" in refused("min_element_wise", args)


@on_few
def test_logic_with_a_negation_and_truth_unless_null_are_pyarrows(device):
    x = pa.array([True, True, True, False, False, False, None, None, None] * 9)
    y = pa.array([True, False, None] * 27)
    for name in ("and_not", "and_not_kleene"):
        check(device, name, [x, y])
        check(device, name, [x[5:], y[5:]])
        check(device, name, [x, True])
        check(device, name, [False, y])
    for a in (x, pa.array([1, None, 3]), pa.array(["a", None]), pa.nulls(3)):
        check(device, "true_unless_null", [a])


def test_types_without_infinity_are_finite():
    some = [pa.array([1, None, 0], t) for t in (pa.int8(), pa.uint64(), pa.duration("s"))]
    some += [
        pa.array([Decimal("1.25"), None, Decimal(0)], pa.decimal128(9, 2)),
        pa.array([1.5, None, INF], pa.float16()),
    ]
    for a in some:
        for name in ("is_finite", "is_inf", "sign", "true_unless_null"):
            check("cpu", name, [a])
    check("cpu", "is_inf", [pa.nulls(2)])
    check("cpu", "true_unless_null", [pa.array([[1], None])])
    check("cpu", "true_unless_null", [pa.array(["a", None]).dictionary_encode()])
