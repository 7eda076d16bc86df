"""Casts of numbers and times to text and back on every device, against pyarrow, Python's own and models."""

import random
from decimal import Decimal, localcontext

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")
np = pytest.importorskip("numpy", reason="pip install numpy")

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

BITS = {pa.float16(): pa.int16(), pa.float32(): pa.int32(), pa.float64(): pa.int64()}
WIDTHS = {pa.date32(): "i4", pa.time32("s"): "i4", pa.time32("ms"): "i4"}
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
MOST = (1 << 63) - 1


def counts(kind, values):
    """Times of these counts, which may be none of a type; null ones have a count too."""
    known = np.packbits([v is not None for v in values], bitorder="little")
    stored = np.array([7 if v is None else v for v in values], WIDTHS.get(kind, "i8"))
    return pa.Array.from_buffers(kind, len(values), [pa.py_buffer(known.tobytes()), pa.py_buffer(stored.tobytes())])


def decimals(kind, values):
    known = np.packbits([v is not None for v in values], bitorder="little")
    size = kind.bit_width // 8
    stored = b"".join((v or 0).to_bytes(size, "little", signed=True) for v in values)
    return pa.Array.from_buffers(kind, len(values), [pa.py_buffer(known.tobytes()), pa.py_buffer(stored)])


def cast(device, x, to, **options):
    """The cast on a device, as pyarrow has it."""
    made = cc.cast(cdevice.asarray(x).to(device), to, **options).to("cpu")
    made.validate("full")
    return pa.array(made)


def agree(device, x, to, want=None, **options):
    """A device gives what pyarrow gives, or ``want``; floats by their bits."""
    got = cast(device, x, to, **options)
    want = pc.cast(x, to, **options) if want is None else want
    assert got.type == want.type
    if got.type in BITS:
        got, want = got.view(BITS[got.type]), want.view(BITS[got.type])
    if not got.equals(want):
        k = next(i for i in range(len(got)) if got[i] != want[i])
        raise AssertionError(f"{x.type} to {to}, row {k}, {x[k]}: {got[k]}, not {want[k]}")


def strings(values, kind=None):
    return pa.array(values, kind or pa.string())


def on(device, all, few):
    """What is tried on a device: compilers at run time take a second for each program."""
    return all if device == "cpu" else few


def narrow(values, kind):
    with np.errstate(over="ignore"):
        return np.array(values).astype(kind)


# ---- whole numbers and truth values ----
WHOLE = [0, 1, -1, 9, 10, 99, 100, 12345678, 123456789, -(10**15), 10**16, 10**16 - 1, MOST, -MOST - 1, None]
READ = ["0", "-0", "007", "0000000000000000000000012", "127", "-128", "0x7f", "0XfF", "12345678", "123456789", None]
READ += ["1234567890123456", "12345678901234567", str(MOST), str(-MOST - 1), "0xffffffffffffffff", str(2 * MOST + 1)]
NOT_WHOLE = [
    "",
    "-",
    "+1",
    " 1",
    "1 ",
    "1.0",
    "1e3",
    "-0x1",
    "0x",
    "1_0",
    "0b1",
    "99999999999999999999",
    "1234567x",
    "x" * 9,
]
NOT_WHOLE += ["1234567890123456789x", "123456789012345x7", "\u0661", "12345678/", "1234567890:"]
BOOLS = ["true", "TRUE", "tRue", "false", "False", "1", "0", None]
NOT_BOOLS = ["", "t", "yes", "01", "true ", "trues", "tru", "2", "falsee"]


WRONG = (("128", "int8"), ("-129", "int8"), ("0x100", "int8"), ("-1", "uint8"), ("256", "uint8"))


def known(text, to):
    """What pyarrow reads, or None."""
    try:
        return pc.cast(strings([text]), to)[0].as_py()
    except pa.ArrowInvalid:
        return None


@everywhere
def test_whole_numbers_and_truth_values_are_printed_as_pyarrow_prints_them(device):
    rng = random.Random(1)
    some = WHOLE + [rng.randrange(-(10 ** rng.randrange(1, 19)), 10 ** rng.randrange(1, 19)) for _ in range(300)]
    big = pa.array([2 * MOST + 1, 0, None, 10**19], pa.uint64())
    for to in on(device, (pa.string(), pa.large_string()), (pa.string(),)):
        for x in on(device, (pa.array(some, pa.int64()), big), (pa.array(some, pa.int64()),)):
            for rows in (x, x[3:], x[1:1]):
                agree(device, rows, to)
        agree(device, pa.array([True, None, False] * 40)[5:99], to)
    for kind in on(device, (pa.int8(), pa.uint16(), pa.uint32()), (pa.int8(),)):
        agree(device, pa.array([0, 127, None, 1, 99], kind), pa.string())


@everywhere
def test_whole_numbers_and_truth_values_are_read_as_pyarrow_reads_them(device):
    rng = random.Random(2)
    more = [str(rng.randrange(-(10 ** rng.randrange(1, 19)), 10 ** rng.randrange(1, 19))) for _ in range(300)]
    for to in on(device, (pa.int64(), pa.uint64(), pa.int8(), pa.uint16(), pa.int32()), (pa.int64(), pa.int8())):
        good = [t for t in READ + more if t is None or known(t, to) is not None]
        for kind in on(device, (pa.string(), pa.large_string()), (pa.string(),)):
            agree(device, strings(good, kind), to)
        agree(device, strings(good)[4:], to)
    agree(device, strings(BOOLS * 9), pa.bool_())
    agree(device, strings(BOOLS * 9)[3:40], pa.bool_())


@everywhere
def test_what_is_no_number_is_an_error_with_its_first_row(device):
    fill = ["12"] * 100
    for text in NOT_WHOLE:
        assert known(text, pa.int64()) is None
        with pytest.raises(ArgumentError) as e:
            cast(device, strings([*fill, text, *fill, "other"]), "int64")
        assert str(e.value) == f"cast: row 100 cannot be read as int64: {text!r}"
    for text in NOT_BOOLS:
        with pytest.raises(ArgumentError) as e:
            cast(device, strings(["1"] * 70 + [text] * 9), "bool")
        assert str(e.value) == f"cast: row 70 cannot be read as bool: {text!r}"
    for text, to in on(device, WRONG, WRONG[:3]):
        with pytest.raises(ArgumentError, match=f"row 1 cannot be read as {to}: '{text}'"):
            cast(device, strings(["1", text, "x"]), to)


# ---- floats ----
SHOWN = [0.0, -0.0, 1.0, 1.5, 1e5, 1e9, 9999999999.0, 1e10, 12345678901.5, 2.0**53, 1e21, 1e22, 1e-5, 1e-6, 1e-7]
SHOWN += [0.1, 1.234e-6, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 4.35, 9007199254740993.0, 123456.789]
SHOWN += [float("inf"), -float("inf"), float("nan"), 5e-5, 1.1e-5, 100.0, 2.5e-310, 4503599627370496.5]
REAL = [
    "1",
    "+1",
    "-1.5",
    "1.",
    ".5",
    "-.5",
    "+.5",
    "1e5",
    "1E+5",
    "1e-5",
    "inf",
    "-Infinity",
    "INF",
    "nan",
    "-NaN",
    "nan(1)",
]
REAL += [
    "nan()",
    "1e400",
    "-1e-400",
    "0e99999999999999999999",
    "1e99999999999999999999",
    "00.5",
    "1.e5",
    "1e00005",
    None,
]
REAL += [
    "1" * 400,
    "0." + "0" * 400 + "1",
    "9007199254740993",
    "9007199254740992.9999999999999999999",
    "1.7976931348623159e308",
]
REAL += [
    "2.2250738585072012e-308",
    "4.9e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "123456789.12345678e-3",
]
NOT_REAL = [
    "",
    ".",
    "-",
    "e5",
    "1e",
    "1e+",
    ".e5",
    "1_0",
    "0x10",
    "inf ",
    "infi",
    "nan(",
    "nan(a-b)",
    " 1",
    "1f",
    "1.5.5",
    "--1",
]


def edges():
    """Floats beside each power of two, and beside powers of ten."""
    bits = [(e << 52) + d for e in range(0, 2047, 7) for d in (-1, 0, 1) if (e << 52) + d >= 0]
    tens = [float(f"1e{e}") for e in range(-323, 309, 5)]
    near = np.array(tens).view("i8")
    return np.concatenate([np.array(bits, "i8"), near, near - 1, near + 1]).view("f8")


def halfway(n, seed, digits=0):
    """Texts of what is between two floats, exactly, and a bit more or less."""
    rng, texts = random.Random(seed), []
    with localcontext() as context:
        context.prec = 1200
        for _ in range(n):
            bits = rng.getrandbits(63) % (2046 << 52)
            low, high = np.array([bits, bits + 1], "i8").view("f8")
            h = (Decimal(float(low)) + Decimal(float(high))) / 2
            texts += [str(h), str(h.next_plus()), str(h.next_minus()), format(h, "f") + "0" * digits]
            if "." in texts[-1]:
                texts.append(texts[-1] + "1")
    return texts


@everywhere
def test_floats_are_printed_as_pyarrow_prints_them(device):
    rng = np.random.default_rng(3)
    some = [*SHOWN, *rng.integers(-(2**63), 2**63 - 1, 200).view("f8"), *rng.random(100), *edges()[::9]]
    x = pa.array(np.array(some))
    for to in on(device, (pa.string(), pa.large_string()), (pa.string(),)):
        agree(device, x, to)
    agree(device, pa.array([1.5, None, 2.0, 1e300])[1:], pa.string())
    small = np.concatenate([narrow(SHOWN, "f4"), rng.integers(0, 2**32, 200, "u4").view("f4")])
    agree(device, pa.array(small), pa.string())
    agree(device, pa.array(narrow(SHOWN, "f2")), pa.string())


@everywhere
def test_floats_are_read_to_the_nearest(device):
    rng = np.random.default_rng(4)
    shown = [repr(float(x)) for x in rng.integers(0, 2**63 - 1, 200).view("f8")] + [
        repr(x) for x in rng.random(100).tolist()
    ]
    long = halfway(12, 5, 30) + [t + "123456789" * 9 for t in ("0.1", "1234567", "9.5")]
    texts = [*REAL, *shown, *(t for t in long if len(t) < 900)]
    agree(device, strings(texts), pa.float64())
    assert all(
        got == float(t) or got != got
        for t, got in zip(texts, cast(device, strings(texts), "float64").to_pylist(), strict=True)
        if t is not None and "(" not in t
    )
    agree(device, strings(texts, on(device, pa.large_string(), pa.string()))[3:], pa.float32())
    agree(device, strings(REAL), pa.float16())


@everywhere
def test_what_is_no_float_is_an_error_with_its_first_row(device):
    for text in NOT_REAL:
        assert known(text, pa.float64()) is None
        with pytest.raises(ArgumentError) as e:
            cast(device, strings(["1.5"] * 50 + [None, text, "x"]), "float64")
        assert str(e.value) == f"cast: row 51 cannot be read as float64: {text!r}"


# ---- dates and times ----
def some_times(kind, seed=0):
    rng, unit = random.Random(f"{kind}{seed}"), getattr(kind, "unit", "ms")
    per = PER_SECOND.get(unit, 1)
    if pa.types.is_date32(kind):
        odd = [0, -1, None, -719468, -719529, 2932897, 2**31 - 1, -(2**31), -12687428, -12687429, 11248737, 11248738]
        return odd + [rng.randrange(-(10**6), 10**6) for _ in range(150)]
    if pa.types.is_date64(kind):
        odd = [0, -1, None, 1, 86399999, 86400000, -86400000, MOST, -MOST - 1, 253402300800000]
        return odd + [rng.randrange(-(10**6), 10**6) * 86400000 for _ in range(150)]
    if pa.types.is_time(kind):
        return [0, None, 1, 86400 * per - 1, 86400 * per, -1] + [rng.randrange(86400 * per) for _ in range(150)]
    moments = [rng.randrange(-3 * 10**9, 2 * 10**9) * per + rng.randrange(per) for _ in range(150)]
    if pa.types.is_timestamp(kind) and kind.tz:
        return [0, -1, None, *moments]
    leap = [951782400 * per, 951868799 * per, -2203977600 * per]
    return [0, -1, None, MOST, -MOST - 1, *leap, *moments]


CLOCKS = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
DATES = [pa.date32(), pa.date64()]
STAMPS = [pa.timestamp(u) for u in PER_SECOND]
ZONED = [
    pa.timestamp("s", "UTC"),
    pa.timestamp("ms", "+05:30"),
    pa.timestamp("us", "Europe/Berlin"),
    pa.timestamp("ns", "Etc/UTC"),
]


@everywhere
def test_dates_and_times_are_printed_as_pyarrow_prints_them(device):
    few = [pa.date32(), pa.time64("us"), pa.timestamp("ns"), pa.timestamp("us", "Europe/Berlin")]
    for kind in on(device, [*DATES, *CLOCKS, *STAMPS, *ZONED, pa.duration("us")], few):
        x = counts(kind, some_times(kind))
        agree(device, x, pa.string())
        agree(device, x[5:40], pa.string())
    if device == "cpu":
        agree(device, counts(pa.timestamp("us"), some_times(pa.timestamp("us"))), pa.large_string())


MOMENTS = [
    "2020-01-01",
    "2020-01-01 10",
    "2020-01-01T10",
    "2020-01-01 10:20",
    "2020-02-29 10:20:30",
    "1969-12-31 23:59:59",
]
MOMENTS += [None, "1677-09-22", "2262-04-11 23:47:16", "2000-02-29T00:00:00"]
PARTS = ["2020-01-01 10:20:30.1", "1960-01-01T10:20:30.12", "2020-01-01T10:20:30.123", None]
OFFSETS = [
    "2020-01-01 10:20:30Z",
    "2020-01-01 10:20Z",
    "2020-01-01 10Z",
    "2020-01-01 10:20:30+01",
    "2020-01-01 10:20-23:59",
    None,
]
OFFSETS += ["2020-01-01T10+01:00", "2020-01-01 10:20:30-0130"]
NOT_DATES = [
    "2020-02-30",
    "2020-2-3",
    "20200203",
    "2020-02-03 ",
    "10000-01-01",
    "-0001-01-01",
    "2020/01/01",
    "2020-13-01",
    "",
]
NOT_DATES += ["2020-00-01", "2020-01-00", "1900-02-29", "2020-01", "abcd-01-01", "2020-01-0a"]
NOT_MOMENTS = [
    "2020-01-01t10:20:30",
    "2020-01-01  10:20",
    "2020-01-01 24:00:00",
    "2020-01-01 23:59:60",
    "2020-01-01 10:20:30.",
    "2020-01-01 1",
]
NOT_MOMENTS += [
    "2020-01-01 102030",
    "2020-01-01 10:20:30,1",
    "2020-01-01T",
    "2020-01-01 10:",
    "2020-01-01 10:20:30.1234567890",
]


@everywhere
def test_dates_and_times_are_read_as_pyarrow_reads_them(device):
    for kind in on(device, DATES, [pa.date32()]):
        agree(device, strings(["1970-01-01", "0001-01-01", None, "9999-12-31", "2000-02-29", "1600-03-01"]), kind)
    for kind in on(device, STAMPS, [pa.timestamp("ns")]):
        agree(device, strings(MOMENTS + PARTS * (kind.unit != "s")), kind)
        agree(
            device,
            strings(OFFSETS, on(device, pa.large_string(), pa.string())),
            pa.timestamp(kind.unit, "Europe/Berlin"),
        )
    agree(device, strings(["2262-04-11 23:47:16.854775807", "1677-09-21 00:12:44"]), pa.timestamp("ns"))
    least = strings(["1677-09-21 00:12:43.145224192"])  # which pyarrow takes as too early
    assert cast(device, least, pa.timestamp("ns")).view(pa.int64()).to_pylist() == [-MOST - 1]
    clocks = {"10:20": 37200, "10:20:30": 37230, "00:00:00": 0, "23:59:59": 86399}
    for kind in on(device, CLOCKS, [pa.time32("ms")]):  # as pyarrow.csv reads them
        per = PER_SECOND[kind.unit]
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        got = cast(device, strings([*clocks, None]), kind).view(whole)
        assert got.to_pylist() == [*(v * per for v in clocks.values()), None]
    for t, want in (("10:20:30.", 37230000), ("10:20:30.5", 37230500), ("10:20:30.123", 37230123)):
        assert cast(device, strings([t]), pa.time32("ms")).view(pa.int32()).to_pylist() == [want]
    assert cast(device, strings(["10", "-5", None, "0x10"]), pa.duration("ms")).view(pa.int64()).to_pylist() == [
        10,
        -5,
        None,
        16,
    ]


def of_time(text, kind):
    with pytest.raises(pa.ArrowInvalid):
        pc.cast(strings([text]), kind)
    return f"cast: row 40 cannot be read as {kind}: {text!r}"


@everywhere
def test_what_is_no_time_is_an_error_with_its_first_row(device):
    fill = ["2020-01-01"] * 40
    for text in NOT_DATES:
        with pytest.raises(ArgumentError) as e:
            cast(device, strings([*fill, text, "x"]), "date32")
        assert str(e.value) == f"cast: row 40 cannot be read as date32: {text!r}"
    for text in [*NOT_DATES[:4], *NOT_MOMENTS, "2262-04-11 23:47:16.854775808", "1677-09-21 00:12:43.145224191"]:
        with pytest.raises(ArgumentError) as e:
            cast(device, strings([*fill, text, "x"]), pa.timestamp("ns"))
        assert str(e.value) == of_time(text, pa.timestamp("ns"))
    with pytest.raises(
        ArgumentError, match="row 1 has a zone offset: '2020-01-01 10Z'; cast to a timestamp with a zone"
    ):
        cast(device, strings(["2020-01-01", "2020-01-01 10Z"]), pa.timestamp("s"))
    with pytest.raises(ArgumentError, match="row 0 has no zone offset: '2020-01-01'; .* assume_timezone"):
        cast(device, strings(["2020-01-01", "x"]), pa.timestamp("s", "UTC"))
    for text in ("24:00", "10:20:60", "10", "1:20", "10:20:30Z", "10:20:30.11"):
        with pytest.raises(ArgumentError, match="row 0 cannot be read as time32"):
            cast(device, strings([text + "56" * text.endswith(".11")]), pa.time32("ms"))


# ---- decimals ----
DECIMALS = [pa.decimal128(38, s) for s in (0, 2, 10, 38, -3)] + [pa.decimal32(9, 4), pa.decimal64(18, -2)]
DECIMALS += [pa.decimal256(76, 20), pa.decimal256(76, 0)]
SCALED = [
    "1",
    "1.5",
    "-1.5",
    "+1.5",
    "1.",
    "0.5",
    ".5",
    "1e-2",
    "1e+2",
    "0001.50",
    "999.99",
    "-0",
    "0.000",
    "1.e2",
    "1.5e1",
    "-.5",
]
SCALED += ["12e-1", "100e-2", "0.0e5", "0" * 60 + "1", None]
NOT_DECIMAL = ["", ".", "-", "1e", "1e+", " 1", "inf", "nan", "0x10", "1_0", ".e2", "1..5", "1.5.5", "1e1.5", "1-5"]


@everywhere
def test_decimals_are_printed_as_pyarrow_prints_them(device):
    rng = random.Random(6)
    for kind in on(device, DECIMALS, [pa.decimal128(38, 10), pa.decimal32(9, 4), pa.decimal256(76, 20)]):
        most = 10**kind.precision - 1
        some = [0, 1, -1, None, 12345, -12345, 100, 10, 999999999, most, -most]
        some += [rng.randrange(10 ** rng.randrange(1, kind.precision)) * rng.choice((1, -1)) for _ in range(60)]
        agree(device, decimals(kind, some), pa.string())
    agree(device, decimals(DECIMALS[2], [1, None, -5])[1:], on(device, pa.large_string(), pa.string()))


@everywhere
def test_decimals_are_read_exactly(device):
    few = (pa.decimal128(5, 2), pa.decimal32(5, 2))
    for kind in on(device, (*few, pa.decimal64(5, 2), pa.decimal256(5, 2)), few):
        agree(device, strings(SCALED), kind)
    agree(device, strings(["1.555", "1e-10", "-999.999", "0.1"]), pa.decimal128(5, 2), safe=False)
    agree(
        device,
        strings(["1500", "15e2", "1.5e3", "0"], on(device, pa.large_string(), pa.string())),
        pa.decimal128(5, -2),
    )
    agree(device, strings(["9" * 38, "-" + "9" * 38, "0"]), pa.decimal128(38, 0))
    agree(device, strings(["9" * 76, "-" + "9" * 76, "0." + "0" * 70]), pa.decimal256(76, 0))
    rng = random.Random(7)
    texts = [f"{rng.randrange(-(10**30), 10**30)}e{rng.randrange(-20, 5)}" for _ in range(100)]
    with localcontext() as context:
        context.prec = 100
        want = [Decimal(t) for t in texts]
        assert cast(device, strings(texts), pa.decimal256(76, 20)).to_pylist() == want


@everywhere
def test_what_is_no_decimal_is_an_error_with_its_first_row(device):
    for text in NOT_DECIMAL:
        assert known(text, pa.decimal128(5, 2)) is None
        with pytest.raises(ArgumentError) as e:
            cast(device, strings(["1.5"] * 30 + [text, "x"]), pa.decimal128(5, 2))
        assert str(e.value) == f"cast: row 30 cannot be read as decimal128(5, 2): {text!r}"
    for text, what in (
        ("1.555", "more digits behind the point"),
        ("1555", "more digits"),
        ("1e99999999999", "more digits"),
    ):
        with pytest.raises(ArgumentError, match=rf"row 1 has {what} than decimal128\(5, 2\): '{text}'"):
            cast(device, strings(["1", text, "x"]), pa.decimal128(5, 2))
    with pytest.raises(ArgumentError, match="row 0 has more digits than decimal32"):
        cast(device, strings(["1e9"]), pa.decimal32(9, 0), safe=False)


# ---- layouts ----
@everywhere
def test_text_of_every_layout_is_read(device):
    texts = ["12", None, "0", "-7", "123456789"] * 30
    views = (pa.string_view(), pa.binary())
    for kind in on(device, (*views, pa.large_binary(), pa.binary_view()), views):
        x = strings(texts).cast(kind)
        for rows in (x, x[33:97], x[:0]):
            agree(device, rows, pa.int64())
    agree(
        device,
        strings(["2020-01-01", None]).cast(pa.string_view()),
        pa.date32(),
        pc.cast(strings(["2020-01-01", None]), pa.date32()),
    )
    some = pa.chunked_array([strings(["1", "2"]), strings([]), strings([None, "3"])])
    got = cc.cast([cdevice.asarray(c).to(device) for c in some.chunks], "int64")
    assert got.to("cpu").to_pylist() == [1, 2, None, 3]
    with pytest.raises(ArgumentError, match="row 3 cannot be read as int64: 'x'"):
        cc.cast([cdevice.asarray(strings(c)).to(device) for c in (["1", "2"], ["3", "x"])], "int64")
    for to in (pa.int64(), pa.float64(), pa.date32(), pa.bool_(), pa.decimal128(5, 2)):
        agree(device, strings([None] * 40), to)
        agree(device, pa.nulls(5), to)
    agree(device, pa.nulls(5), pa.string())
    assert cc.cast(pa.scalar("12"), "int64").as_py() == 12 and cc.cast(pa.scalar(12), "string").as_py() == "12"


@everywhere
def test_a_dictionary_is_computed_by_its_values(device):
    values = strings(["1", "2", "x", None])
    x = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1, 3] * 9, pa.int16()), values)  # none is x
    assert cast(device, x, "int64").to_pylist() == [2, 1, None, 2, None] * 9
    bad = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2, 2] * 3, pa.int16()), values)
    with pytest.raises(ArgumentError, match="row 2 cannot be read as int64: 'x'"):
        cast(device, bad, "int64")
    numbers = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1] * 9, pa.int8()), pa.array([1.5, None]))
    assert cast(device, numbers, "string").to_pylist() == [None, "1.5", None, None] * 9


@everywhere
def test_bytes_under_a_null_are_not_read(device):
    texts = strings(["1", "bad", "3", "bad"] * 20)
    known = pa.array([True, False] * 40)
    x = pa.Array.from_buffers(pa.string(), 80, [known.buffers()[1], *texts.buffers()[1:]])
    for to in ("int64", "float64", "bool", pa.decimal128(5, 2)):
        if to != "bool":
            assert cast(device, x, to).to_pylist() == [1, None, 3, None] * 20
    with pytest.raises(ArgumentError, match="row 2 cannot be read as bool: '3'"):
        cast(device, x, "bool")


@everywhere
def test_the_first_row_that_is_not_utf8_is_named(device):
    rows = [b"ok"] * 3000 + [b"a\xff", b"ok", b"\xc3"] * 300
    x = cdevice.asarray(pa.array(rows, pa.binary()).view(pa.string())).to(device)
    for name in ("utf8_upper", "utf8_is_alpha", "utf8_trim_whitespace"):
        with pytest.raises(ArgumentError, match=f"{name}: row 3000 is not valid UTF-8"):
            cc.call_function(name, [x])
    with pytest.raises(ArgumentError, match="row 100 is not valid UTF-8"):
        cc.utf8_slice_codeunits(x[2900:], 0, 1)


# ---- formats ----
FORMATS = ["%Y-%m-%dT%H:%M:%S", "%y %j %e", "%F %T|%R", "%I%M %u%w", "é%Y%%%n%t", "", "abc", "%S"]
FITS = [("2020-01-02", "%Y-%m-%d"), (" 2020-1-2", "%Y-%m-%d"), ("20200102", "%Y%m%d"), ("2020-02-30", "%Y-%m-%d")]
FITS += [("20-01-02", "%Y-%m-%d"), ("70-1-1", "%y-%m-%d"), ("68-1-1", "%y-%m-%d"), ("10:20:61", "%H:%M:%S")]
FITS += [
    ("2020-01-02T10:20:30", "%FT%T"),
    ("01/02/20", "%D"),
    ("10:20", "%R"),
    ("2020 100", "%Y %j"),
    ("2020 1", "%Y%m"),
]
FITS += [
    ("2020-01-02 +01:00", "%F %z"),
    ("2020-01-02 -0130", "%F %z"),
    ("2020-01-02 Z", "%F %z"),
    ("2020 CET", "%Y %Z"),
]
FITS += [("2020  01\t02", "%Y %m%n%d"), ("x2020%", "x%Y%%"), ("12 31", "%m %d"), (" 5", "%e"), ("é2020", "é%Y")]
NO_FIT = [("2020-01-02 ", "%F"), ("2020-13-01", "%F"), ("99999-01-01", "%F"), ("-2020", "%Y"), ("24", "%H"), ("", "%Y")]
NO_FIT += [
    ("10:20:62", "%T"),
    ("2020-01", "%F"),
    ("X2020", "x%Y"),
    ("2020-367", "%Y-%j"),
    ("2020 +1", "%Y %z"),
    ("123", "%T"),
]


@everywhere
def test_times_are_formatted_as_pyarrow_formats_them(device):
    few = [pa.date32(), pa.timestamp("ns"), pa.timestamp("us", "Europe/Berlin")]
    for kind in on(device, [*DATES, *CLOCKS, *STAMPS, *ZONED], few):
        values = some_times(kind)
        if kind in STAMPS or kind in DATES:  # of far years pyarrow has 16 bits, and of negative ones no %y
            values = [
                v for v in values if v is None or 0 <= v < 4 * 10**9 * PER_SECOND.get(getattr(kind, "unit", ""), 0)
            ]
            values += [0, 18_000, 20_000] if pa.types.is_date32(kind) else [0]
        x = counts(kind, values)
        for format in [*FORMATS, "%z %H"] if getattr(kind, "tz", None) else FORMATS:
            want = pc.strftime(x, format=format)
            got = pa.array(cc.strftime(cdevice.asarray(x).to(device), format).to("cpu"))
            assert got.equals(want), (kind, format)
    x = counts(pa.timestamp("s", "+05:30"), [0])
    assert cc.strftime(cdevice.asarray(x).to(device), "%Z %z").to("cpu").to_pylist() == ["+0530 +0530"]
    assert cc.strftime(counts(pa.timestamp("s", "UTC"), [0]), "%Z").to_pylist() == ["UTC"]
    far = counts(pa.timestamp("s"), [MOST, -MOST - 1, -62167219201])
    assert cc.strftime(cdevice.asarray(far).to(device), "%Y").to("cpu").to_pylist() == [
        "292277026596",
        "-292277022657",
        "-0001",
    ]


@everywhere
def test_text_is_read_by_a_format_as_pyarrow_reads_it(device):
    for text, format in FITS + NO_FIT:
        x = strings([text, None, text])
        for unit in on(device, ("s", "us"), ("us",)):
            options = {"format": format, "unit": unit}
            want = pc.strptime(x, error_is_null=True, **options)
            assert (text, format) in NO_FIT or want.null_count == 1
            got = pa.array(cc.strptime(cdevice.asarray(x).to(device), error_is_null=True, **options).to("cpu"))
            assert got.type == want.type and got.equals(want), (text, format)
            if (text, format) in FITS:
                got = pa.array(cc.strptime(cdevice.asarray(x)[1:].to(device), **options).to("cpu"))
                assert got.equals(want[1:])
                continue
            with pytest.raises(ArgumentError) as e:
                cc.strptime(cdevice.asarray(x)[1:].to(device), **options)
            assert str(e.value) == f"strptime: row 1 cannot be read as {format!r}: {text!r}"
    late = cdevice.asarray(strings(["2500-01-01", "2020-01-01"])).to(device)
    assert cc.strptime(late, "%F", "ns", True).to("cpu").to_pylist()[0] is None
    with pytest.raises(ArgumentError, match="row 0 cannot be read"):
        cc.strptime(late, "%F", "ns")


def test_fields_that_are_not_numbers_are_refused_by_name():
    x, text = counts(pa.timestamp("s", "Europe/Berlin"), [0]), strings(["2020"])
    for field in "aAbBcpfq":
        with pytest.raises(
            ArgumentError, match=f"strftime: %{field} in the format 'x %{field}': the field is not known here"
        ):
            cc.strftime(x, f"x %{field}")
        with pytest.raises(ArgumentError, match=f"strptime: %{field} in the format"):
            cc.strptime(text, f"%{field}", "s")
    with pytest.raises(ArgumentError, match="names of time zones are not known"):
        cc.strftime(x, "%Z")
    with pytest.raises(ArgumentError, match="strftime: %z and %Z need timestamps with a time zone"):
        cc.strftime(counts(pa.date32(), [0]), "%z")
    with pytest.raises(ValueError, match="locale must be"):
        cc.strftime(x, "%Y", locale="de_DE")
    with pytest.raises(ValueError, match="unit must be one of"):
        cc.strptime(text, "%Y", "day")
    with pytest.raises(TypeError, match="format must be a str"):
        cc.strptime(text, 5, "s")
    assert cc.strftime(x, options=pc.StrftimeOptions("%H")).to_pylist() == ["01"]
    assert cc.strptime(text, options=pc.StrptimeOptions("%Y", "ms", True)).type == "timestamp[ms]"
    assert cc.strftime(pa.scalar(0).cast(pa.timestamp("s")), "%Y").as_py() == "1970"
    assert cc.strftime(x).to_pylist() == ["1970-01-01T01:00:00"]
