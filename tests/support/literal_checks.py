"""Values of Python and numpy beside a column, on every device, against pyarrow.compute."""

import datetime as dt
import decimal
import zoneinfo

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

np = pytest.importorskip("numpy", reason="pip install numpy")
pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import FLOATS, INTEGERS, back, there  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

D = decimal.Decimal
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
MOMENTS = [1700000000, None, 1699999999, 86400, 0, 1641600000]
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
REFUSED = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)


def _counts(by, most=None):
    return [None if m is None else (m % most if most else m) * by for m in MOMENTS]


def columns():
    """Of each type of time in each unit, numbers and decimals."""
    out = {}
    for unit, by in PER_SECOND.items():
        for zone in (None, "UTC", "Europe/Berlin"):
            out[f"timestamp[{unit}, {zone}]"] = pa.array(_counts(by), pa.timestamp(unit, zone))
        out[f"duration[{unit}]"] = pa.array(_counts(by, 90000), pa.duration(unit))
        clock = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        out[f"time[{unit}]"] = pa.array(_counts(by, 80000), clock)
    out["date32"] = pa.array([19000, None, 18999, 0, 1, 19735], pa.int32()).cast(pa.date32())
    out["date64"] = out["date32"].cast(pa.date64())
    for word in (*INTEGERS, *FLOATS):
        out[word] = pa.array([1, None, 3, 100, 0, 7], getattr(pa, word)())
    for bits, (p, s) in {32: (7, 2), 64: (15, 3), 128: (20, 4), 256: (40, 5)}.items():
        values = [D("1.50"), None, D("3.00"), D(-7), D(0), D("0.25")]
        out[f"decimal{bits}"] = pa.array(values, getattr(pa, f"decimal{bits}")(p, s))
    return out


COLUMNS = columns()
LITERALS = [
    *(1, -1, 300, 2**40, 1.0, 1.5, True, None, D("3.00"), D("1.5"), D("1E+2")),
    *(dt.date(2022, 1, 8), dt.datetime(2023, 11, 14, 22, 13, 20), dt.datetime(2022, 1, 8, 0, 0, 0, 5)),
    *(
        dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.timezone.utc),
        dt.datetime(2023, 11, 14, 23, 13, 20, tzinfo=BERLIN),
    ),
    *(dt.time(22, 13, 20), dt.time(1, 2, 3, 4), dt.timedelta(seconds=3600), dt.timedelta(microseconds=5)),
    *(getattr(np, word)(1) for word in (*INTEGERS, *FLOATS)),
    *(np.datetime64("2022-01-08", u) for u in PER_SECOND),
    *(np.timedelta64(3600, u) for u in PER_SECOND),
    *(np.datetime64("NaT", u) for u in PER_SECOND),
    *(np.timedelta64("NaT", u) for u in PER_SECOND),
]
COMPUTED = ("add", "subtract", "multiply", "divide", "equal", "less", "greater_equal")
CALLS = {name: lambda f, x, v, _mask: f(x, v) for name in COMPUTED}
CALLS |= {f"{name} from the left": lambda f, x, v, _mask: f(v, x) for name in COMPUTED}
CALLS |= {"if_else": lambda f, x, v, mask: f(mask, x, v)}
MASK = pa.array([True, False, None, False, True, False])


def shown(x):
    """Of nanoseconds too."""
    values = [x] if isinstance(x, pa.Scalar) else list(x)
    return [v.value if hasattr(v, "value") and not pa.types.is_floating(v.type) else repr(v.as_py()) for v in values]


def same(got, want):
    return got.type == want.type and shown(got) == shown(want)


@everywhere
@pytest.mark.parametrize("name", CALLS)
def test_a_value_beside_a_column_is_computed_with_as_in_pyarrow(device, name):
    """What pyarrow computes; numpy's times in units that it has not are below."""
    word = name.split()[0]
    few = COLUMNS if device == "cpu" else {k: v for k, v in COLUMNS.items() if "16" not in k and "u" not in k[:1]}
    computed = 0
    for kind, array in few.items():
        x, mask = there(array, device), there(MASK, device)
        for value in LITERALS:
            try:
                want = CALLS[name](getattr(pc, word), array, value, MASK)
            except REFUSED:
                continue
            if value is None and word == "divide" and pa.types.is_decimal(array.type):
                continue  # of no digits in pyarrow
            got = back(CALLS[name](getattr(cc, word), x, value, mask))
            assert same(got, want), (kind, value, got, want)
            computed += 1
    assert computed > 20


@everywhere
def test_a_time_of_numpy_in_any_unit_is_the_same_moment(device):
    moments = {
        np.datetime64("2022", "Y"): dt.datetime(2022, 1, 1),
        np.datetime64("2022-03", "M"): dt.datetime(2022, 3, 1),
        np.datetime64("2022-01-06", "W"): dt.datetime(2022, 1, 6),
        np.datetime64("2022-01-08", "D"): dt.datetime(2022, 1, 8),
        np.datetime64("2022-01-08T05", "h"): dt.datetime(2022, 1, 8, 5),
        np.datetime64("2022-01-08T05:07", "m"): dt.datetime(2022, 1, 8, 5, 7),
        np.datetime64(2_000_000, "ps"): dt.datetime(1970, 1, 1, 0, 0, 0, 2),
        np.datetime64(4_000_000_000, "fs"): dt.datetime(1970, 1, 1, 0, 0, 0, 4),
    }
    spans = {
        np.timedelta64(2, "W"): dt.timedelta(weeks=2),
        np.timedelta64(2, "D"): dt.timedelta(days=2),
        np.timedelta64(5, "h"): dt.timedelta(hours=5),
        np.timedelta64(5, "m"): dt.timedelta(minutes=5),
        np.timedelta64(7_000_000, "ps"): dt.timedelta(microseconds=7),
    }
    for unit in PER_SECOND:
        stamps, durations = COLUMNS[f"timestamp[{unit}, None]"], COLUMNS[f"duration[{unit}]"]
        x, y = there(stamps, device), there(durations, device)
        for value, moment in moments.items():
            for name in ("equal", "less", "greater_equal"):
                assert same(back(getattr(cc, name)(x, value)), getattr(pc, name)(stamps, moment)), (value, name)
            got = back(cc.is_in(cc.cast(x, pa.timestamp("us"), safe=False), value_set=[value, None]))
            want = pc.is_in(stamps.cast(pa.timestamp("us"), safe=False), value_set=pa.array([moment, None]))
            assert got.equals(want)
        for value, span in spans.items():
            for name in ("equal", "less", "greater_equal"):
                assert same(back(getattr(cc, name)(y, value)), getattr(pc, name)(durations, span)), (value, name)
            got, want = back(cc.add(x, value)), pc.add(stamps, span)
            assert shown(got.cast(pa.timestamp("ns"))) == shown(want.cast(pa.timestamp("ns"))), value
    x = there(COLUMNS["timestamp[s, None]"], device)
    with pytest.raises(ValueError, match="finer than the nanoseconds"):
        cc.equal(x, np.datetime64(5, "ps"))
    with pytest.raises(TypeError, match="no Arrow type"):
        cc.add(x, np.timedelta64(1, "M"))


@pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")  # of numpy 2.5, for the None below
@everywhere
def test_no_time_of_numpy_is_null(device):
    for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", None):
        moment = np.datetime64("NaT", unit) if unit else np.datetime64("NaT")
        span = np.timedelta64("NaT", unit) if unit else np.timedelta64("NaT")
        for kind in ("timestamp[s, None]", "timestamp[ns, None]"):
            x = there(COLUMNS[kind], device)
            for got in (cc.equal(x, moment), cc.less(moment, x), cc.add(x, span), cc.subtract(x, moment)):
                assert back(got).null_count == 6, (unit, kind)
            assert back(cc.fill_null(x, moment)).equals(COLUMNS[kind])
        assert cdevice.asarray([moment, None]).null_count == 2
        assert cdevice.asarray([span]).to_pylist() == [None]


@everywhere
def test_what_fills_nulls_is_of_the_columns_type_where_that_has_it(device):
    fills = {
        "timestamp[s, None]": [dt.datetime(2022, 1, 8), np.datetime64("2022-01-08", "ns"), dt.date(2022, 1, 8)],
        "timestamp[ms, UTC]": [
            dt.datetime(2022, 1, 8, 1, tzinfo=BERLIN),
            dt.datetime(2022, 1, 8, tzinfo=dt.timezone.utc),
        ],
        "timestamp[ns, Europe/Berlin]": [dt.datetime(2022, 1, 8, tzinfo=dt.timezone.utc)],
        "date32": [dt.date(2022, 1, 8), dt.datetime(2022, 1, 8), np.datetime64("2022-01-08", "us")],
        "date64": [dt.date(2022, 1, 8), dt.datetime(2022, 1, 8), np.datetime64("2022-01-08", "s")],
        "time[s]": [dt.time(1, 2, 3)],
        "time[ns]": [dt.time(1, 2, 3, 4)],
        "duration[s]": [dt.timedelta(hours=2), np.timedelta64(7200, "s"), np.timedelta64(2, "h")],
        "duration[ns]": [dt.timedelta(microseconds=2), np.timedelta64(2, "us")],
        "int8": [1, np.int64(1), 1.0],
        "float32": [1, 2.5, np.float64(2.5)],
        **{f"decimal{bits}": [3, D("1.25"), D("1E+2")] for bits in (32, 64, 128, 256)},
    }
    for kind, values in fills.items():
        array = COLUMNS[kind]
        for value in values:
            got = back(cc.fill_null(there(array, device), value))
            plain = value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value
            if isinstance(value, (np.datetime64, np.timedelta64)):
                plain = value.astype(f"{'M' if isinstance(value, np.datetime64) else 'm'}8[us]").item()
            if kind == "timestamp[s, None]" and type(plain) is dt.date:
                plain = dt.datetime.combine(plain, dt.time())
            want = pc.fill_null(array, pa.scalar(plain, array.type))
            assert same(got, want), (kind, value, got, want)
    stamps = there(COLUMNS["timestamp[s, None]"], device)
    with pytest.raises(cdevice.ArgumentError, match="lose data"):
        cc.fill_null(stamps, dt.datetime(2022, 1, 8, 0, 0, 0, 5))
    dates = there(COLUMNS["date32"], device)  # a day of 5 o'clock is no date
    assert cc.fill_null(dates, dt.datetime(2022, 1, 8, 5)).type == "timestamp[us]"
    for array in (COLUMNS["decimal256"], pa.array(["a", None])):
        got = back(cc.fill_null(there(array, device), None))
        assert got.equals(array)
        mask = pa.array([True, False, None][: len(array)] * (len(array) // 2))[: len(array)]
        want = pc.if_else(mask, array, pa.scalar(None, array.type))
        assert back(cc.if_else(there(mask, device), there(array, device), None)).equals(want)


@everywhere
def test_values_are_found_in_a_column_of_another_unit_or_scale(device):
    for unit in PER_SECOND:
        for kind, values in (
            (f"timestamp[{unit}, None]", [dt.datetime(2022, 1, 8), None]),
            (f"timestamp[{unit}, UTC]", [dt.datetime(2022, 1, 8, 1, tzinfo=BERLIN)]),
            (f"duration[{unit}]", [dt.timedelta(seconds=86400)]),
            (f"time[{unit}]", [dt.time(0, 0, 0), dt.time(1, 46, 40)]),
        ):
            array = COLUMNS[kind]
            want = pc.is_in(array, value_set=pa.array(values, array.type))
            assert back(cc.is_in(there(array, device), value_set=values)).equals(want), kind
    for bits in (32, 64, 128, 256):
        array = COLUMNS[f"decimal{bits}"]
        for values in ([3], [D("1.5"), None], [1.5], [D("3.0000000")]):
            typed = pa.array([v if v is None else D(v) for v in values]).cast(pa.decimal256(50, 10))
            want = pc.is_in(array.cast(pa.decimal256(50, 10)), value_set=typed)
            assert back(cc.is_in(there(array, device), value_set=values)).equals(want), (bits, values)


@everywhere
def test_a_date_is_a_midnight_of_utc_beside_moments_of_a_zone(device):
    for unit in PER_SECOND:
        for zone in ("UTC", "Europe/Berlin"):
            array = COLUMNS[f"timestamp[{unit}, {zone}]"]
            for name in ("equal", "less", "greater_equal"):
                for day in (dt.date(2022, 1, 8), COLUMNS["date32"]):
                    got = back(getattr(cc, name)(there(array, device), there(day, device)))
                    assert same(got, getattr(pc, name)(array, day)), (unit, zone, name)
    with pytest.raises(cc.NoKernel):
        cc.equal(there(COLUMNS["timestamp[s, UTC]"], device), dt.datetime(2022, 1, 8))
    with pytest.raises(cdevice.Error):  # a difference would depend on the zone
        cc.subtract(there(COLUMNS["timestamp[s, UTC]"], device), there(COLUMNS["date32"], device))


@everywhere
def test_a_moment_without_a_zone_fills_one_with_a_zone_as_one_of_utc(device):
    kinds = [k for k in COLUMNS if k.startswith("timestamp")]
    for mine in kinds:
        for other in (kinds[0], kinds[1], kinds[-1]):
            array, more = COLUMNS[mine], COLUMNS[other]
            for value in (more, more[0]):
                want = pc.coalesce(array, value.cast(array.type))
                got = back(cc.fill_null(there(array, device), there(value, device)))
                assert same(got, want), (mine, other)
    naive = there(COLUMNS["timestamp[s, None]"], device)
    got = back(cc.fill_null(naive, dt.datetime(2020, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2)))))
    assert got[1].as_py() == dt.datetime(2020, 1, 1)


@pytest.mark.parametrize(
    ("word", "bad"), [("float16", 2049), ("float16", 65505), ("float32", 2**24 + 1), ("float64", 2**53 + 1)]
)
@everywhere
def test_an_integer_that_a_float_would_round_is_refused(device, word, bad):
    x = pa.array([bad - 1, None], pa.float64()).cast(getattr(pa, word)())
    column = cdevice.asarray(x).to(device)
    calls = {
        **{
            name: lambda value, name=name: getattr(cc, name)(column, value)
            for name in ("equal", "less", "index", "coalesce")
        },
        "fill_null": lambda value: cc.fill_null(column, value),
        "if_else": lambda value: cc.if_else(cdevice.asarray([True, False]).to(device), column, value),
        "filter": lambda value: cdevice.record_batch([column], ["x"]).filter(f"x == {value}"),
    }
    for call in calls.values():
        with pytest.raises(cdevice.ArgumentError, match=f"{bad} cannot become {word} without loss"):
            call(bad)
        call(bad - 1)
    with pytest.raises(REFUSED):
        pc.equal(x, bad)
