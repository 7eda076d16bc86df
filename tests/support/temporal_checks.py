"""Dates, times and time zones on every device, against pyarrow, Python's datetime and zoneinfo, and a plain model."""

import datetime as dt
import itertools
import random
import zoneinfo

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")
np = pytest.importorskip("numpy", reason="pip install numpy")

import temporal_model as model  # noqa: E402
from compute_cases import back, there  # noqa: E402
from compute_cases import check as check_values  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

DATES = ("date32", "date64", "s", "ms", "us", "ns")
CLOCKS = ("time32[s]", "time32[ms]", "time64[us]", "time64[ns]", "s", "ms", "us", "ns")
DATE_FIELDS = "year month day quarter day_of_year iso_year iso_week us_year us_week is_leap_year week day_of_week"
CLOCK_FIELDS = "hour minute second millisecond microsecond nanosecond subsecond"
ZONES = ("Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Africa/Casablanca", "+05:30", "-0945", "UTC")


def typed(word, zone=None):
    if word.startswith("date"):
        return getattr(pa, word)()
    if word.startswith("time"):
        return getattr(pa, word[:6])(word[7:-1])
    return pa.timestamp(word, zone)


def per_day(t):
    if pa.types.is_date32(t):
        return 1
    return model.DAY * model.PER_SECOND["ms" if pa.types.is_date64(t) else t.unit]


def of_counts(counts, t):
    return pa.array(counts, pa.int32() if t.bit_width == 32 else pa.int64()).view(t)


def check(device, name, args, expected=None, **options):
    """As compute_cases.check, of zones too that pyarrow makes no values of."""
    got = back(getattr(cc, name)(*(there(a, device) for a in args), **options))
    want = getattr(pc, name)(*args, **options) if expected is None else expected
    if not got.equals(want):
        check_values(device, name, args, want, **options)
        raise AssertionError((name, options))


def drawn_days(rng, n):
    """Days around which calendars change, and any of the years that pyarrow's 16 bits hold."""
    for _ in range(n):
        if rng.random() < 0.2:
            yield rng.randrange(-11_900_000, 10_900_000)
        elif rng.random() < 0.3:
            yield rng.randrange(-3000, 9000)
        else:
            year = rng.choice([rng.randrange(1, 9999), rng.randrange(-400, 2400), 1900, 2000, 2024, 1969, 1970])
            yield model.days(year, rng.choice([1, 2, 3, 12]), 1) + rng.choice([-3, -2, -1, 0, 1, 2, 3, 27, 28, 29, 30])


def drawn(word, n=400, seed=0, zone=None, nulls=True):
    t = typed(word, zone)
    rng, per = random.Random(f"{word}{seed}"), per_day(t)
    out = []
    for day in drawn_days(rng, n):
        if word == "ns" and abs(day) > 106_000:
            day = day % 100_000
        ticks = (
            0 if per == 1 or word == "date64" else rng.choice([0, 1, per - 1, rng.randrange(per), rng.randrange(per)])
        )
        count = ticks if word.startswith("time") else day * per + ticks
        out.append(None if nulls and rng.random() < 0.1 else count)
    return of_counts(out, t)


@everywhere
@pytest.mark.parametrize("word", DATES)
def test_the_parts_of_dates_are_those_of_the_calendar(device, word):
    a = drawn(word)
    for name in DATE_FIELDS.split():
        check(device, name, [a])
    check(device, "year", [a[13:77]])
    check(device, "is_leap_year", [a[5:5]])
    for begin in (0, 33, 60):  # pyarrow's structs of more rows are damaged
        check(device, "year_month_day", [a[begin : begin + 31]])
        check(device, "iso_calendar", [a[begin : begin + 31]])
    for first, zero in itertools.product((1, 3, 7), (True, False)):
        check(device, "day_of_week", [a], week_start=first, count_from_zero=zero)
    for monday, zero, full in itertools.product((True, False), repeat=3):
        named = {"week_starts_monday": monday, "count_from_zero": zero, "first_week_is_fully_in_year": full}
        check(device, "week", [a], **named)


@everywhere
@pytest.mark.parametrize("word", CLOCKS)
def test_the_parts_of_times_are_those_of_the_clock(device, word):
    a = drawn(word)
    for name in CLOCK_FIELDS.split():
        check(device, name, [a])
        check(device, name, [a[3:40]])


@everywhere
def test_every_count_has_a_date_that_the_model_has_too(device):
    rng = random.Random(4)
    for word in DATES:
        t = typed(word)
        bits = 31 if word == "date32" else 63
        counts = [0, -1, 1, (1 << bits) - 1, -(1 << bits)] + [rng.randrange(-(1 << bits), 1 << bits) for _ in range(60)]
        counts += [s * (1 << k) + d for k in range(20, bits) for s in (-1, 1) for d in (-1, 0, 1)]
        if word == "date64":
            counts = [model.towards_zero(c, 86_400_000) * 86_400_000 for c in counts]
        x = cdevice.asarray(of_counts(counts, t)).to(device)
        want = [model.date(c // per_day(t)) for c in counts]
        for i, name in enumerate(("year", "month", "day")):
            assert back(getattr(cc, name)(x)).to_pylist() == [w[i] for w in want], (word, name)
        if word != "date32" and word != "date64":
            seconds = [c % per_day(t) * model.DAY // per_day(t) for c in counts]
            assert back(cc.hour(x)).to_pylist() == [s // 3600 for s in seconds], word
            assert back(cc.second(x)).to_pylist() == [s % 60 for s in seconds], word


def test_python_has_the_same_calendar():
    first = dt.date(1, 1, 1)
    days = [*range(0, 3_652_059, 997), *range(730_000, 732_000), 3_652_058]
    dates = [first + dt.timedelta(days=d) for d in days]
    x = cdevice.asarray(pa.array(dates, pa.date32()))
    rows = cc.iso_calendar(x).to_pylist()
    assert [tuple(r.values()) for r in rows] == [tuple(d.isocalendar()) for d in dates]
    assert cc.day_of_year(x).to_pylist() == [d.timetuple().tm_yday for d in dates]
    assert cc.day_of_week(x).to_pylist() == [d.weekday() for d in dates]
    sundays = cc.week(x, week_starts_monday=False, count_from_zero=True, first_week_is_fully_in_year=True)
    assert sundays.to_pylist() == [int(d.strftime("%U")) for d in dates]


# ---- zones ----
def moments(zone, n=300):
    """Seconds around the changes of a zone, in the table and behind it."""
    table = np.frombuffer(words_of(zone), "i8")
    changes = table[7 : 7 + table[0]]
    low, high = (int((dt.datetime(y, 1, 3) - dt.datetime(1970, 1, 1)).total_seconds()) for y in (1, 9998))
    old = changes[(changes > low) & (changes < 1 << 31)]
    new = changes[changes >= 1 << 31][::40]
    spread = np.array([low, high, 0, 1 << 33, 250_000_000_000, -(1 << 33)])
    return np.unique(np.concatenate([old - 1, old, old + 1, new - 1, new, spread])).astype("i8")


def words_of(zone):
    from cdevice.compute.kernels import zones

    return zones._table_words(zone, "test")


def offsets_of(zone, seconds):
    """By Python's zoneinfo."""
    z, epoch = zoneinfo.ZoneInfo(zone), dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    return [int((epoch + dt.timedelta(seconds=int(s))).astimezone(z).utcoffset().total_seconds()) for s in seconds]


@pytest.mark.parametrize("part", range(6))
def test_every_zone_has_the_offsets_of_zoneinfo_at_its_transitions(part):
    names = sorted(zoneinfo.available_timezones())[part::6]
    assert len(names) > 50
    for zone in names:
        seconds = moments(zone)
        x = cdevice.asarray(pa.array(seconds).view(pa.timestamp("s", zone)))
        local = pa.array(cc.local_timestamp(x)).view(pa.int64()).to_numpy()
        assert (local - seconds).tolist() == offsets_of(zone, seconds), zone
        once = pa.array(
            cc.assume_timezone(
                pa.array(local).view(pa.timestamp("s")), zone, ambiguous="earliest", nonexistent="earliest"
            )
        )
        twice = pa.array(
            cc.assume_timezone(
                pa.array(local).view(pa.timestamp("s")), zone, ambiguous="latest", nonexistent="earliest"
            )
        )
        early, late = once.view(pa.int64()).to_numpy(), twice.view(pa.int64()).to_numpy()
        assert ((early == seconds) | (late == seconds)).all(), zone
        assert (early <= seconds).all() and (late >= seconds).all(), zone


@everywhere
def test_a_zone_is_the_same_on_every_device(device):
    for zone in ("Europe/Berlin", "America/New_York", "Africa/Casablanca", "Asia/Kathmandu", "Antarctica/Troll"):
        seconds = moments(zone)
        a = pa.array(seconds).view(pa.timestamp("s", zone))
        want = seconds + np.array(offsets_of(zone, seconds))
        got = back(cc.local_timestamp(there(a, device)))
        assert got.type == pa.timestamp("s") and got.view(pa.int64()).to_pylist() == want.tolist()


@everywhere
@pytest.mark.parametrize("zone", ZONES)
def test_parts_of_zoned_timestamps_are_what_clocks_show(device, zone):
    rng = random.Random(zone)
    for unit, scale in model.PER_SECOND.items():
        counts = [rng.randrange(-2_000_000_000, 2_145_000_000) * scale + rng.randrange(scale) for _ in range(120)]
        a = of_counts([*counts, None], pa.timestamp(unit, zone))
        for name in (
            "year",
            "day",
            "hour",
            "minute",
            "iso_week",
            "day_of_week",
            "microsecond",
            "local_timestamp",
            "is_dst",
        ):
            check(device, name, [a])
        check(device, "hour", [a[7:100]])
        plain = pc.local_timestamp(a)
        check(
            device, "second", [a], expected=pc.second(plain)
        )  # pyarrow forgets the zone: of old ones it is not a minute's
        for to in (pa.date32(), pa.date64(), pa.time64("ns") if unit == "ns" else pa.time64("us")):
            got = back(cc.cast(there(a, device), str(to)))
            assert got.type == to and got.to_pylist() == plain.cast(to).to_pylist() == a.cast(to).to_pylist()


@everywhere
def test_clocks_of_a_zone_become_moments(device):
    berlin = [1616893200, 1635642000]  # the clocks go forward, and back
    for unit, scale in model.PER_SECOND.items():
        counts = [(s + d) * scale + r for s in berlin for d in range(-5400, 9000, 900) for r in (0, scale // 3)]
        a = of_counts([*counts, None], pa.timestamp(unit))
        for double, none in itertools.product(("earliest", "latest"), repeat=2):
            check(device, "assume_timezone", [a], timezone="Europe/Berlin", ambiguous=double, nonexistent=none)
    for zone in ("+05:30", "-0945", "UTC", "Asia/Kolkata"):
        check(device, "assume_timezone", [a], timezone=zone)
    x = there(of_counts([berlin[1] + 3601, None], pa.timestamp("s")), device)
    with pytest.raises(ArgumentError, match="2021-10-31 02:00:01 is ambiguous in 'Europe/Berlin': pass ambiguous="):
        cc.assume_timezone(x, "Europe/Berlin")
    with pytest.raises(ArgumentError, match="2021-03-28 02:30:00 does not exist in 'Europe/Berlin': pass nonexistent="):
        cc.assume_timezone(there(of_counts([berlin[0] + 5400], pa.timestamp("s")), device), "Europe/Berlin")
    null = of_counts([berlin[0] + 5400, None], pa.timestamp("s"))
    null = pa.Array.from_buffers(null.type, 2, [pa.py_buffer(b"\x02"), null.buffers()[1]])  # the first row is null
    assert back(cc.assume_timezone(there(null, device), "Europe/Berlin")).to_pylist()[0] is None


def test_a_zone_that_is_not_known_is_an_error_with_near_names():
    a = pa.array([0]).view(pa.timestamp("s", "Europe/Berln"))
    for name in ("year", "hour", "millisecond", "local_timestamp", "is_dst", "floor_temporal"):
        with pytest.raises(ArgumentError, match=f"{name}: no time zone 'Europe/Berln'; did you mean 'Europe/Berlin'"):
            getattr(cc, name)(cdevice.asarray(a))
    plain = cdevice.asarray(pa.array([0]).view(pa.timestamp("s")))
    for zone in ("Europe/Berln", "utc", "", "../etc/passwd", "/etc/passwd", "+24:00", "+5", "Europe"):
        with pytest.raises(ArgumentError, match="assume_timezone: no time zone"):
            cc.assume_timezone(plain, zone)
    with pytest.raises(ArgumentError, match="have the time zone 'UTC'"):
        cc.assume_timezone(pa.array([0]).view(pa.timestamp("s", "UTC")), "UTC")
    with pytest.raises(ArgumentError, match="without a time zone"):
        cc.is_dst(plain)
    with pytest.raises(TypeError, match="needs timezone"):
        cc.assume_timezone(plain)


# ---- multiples ----
HOWS = ("floor", "ceil", "round")
UNITS = ["year", "quarter", "month", *reversed(model.SMALL)]


@everywhere
@pytest.mark.parametrize("word", [*DATES, "time32[s]", "time64[us]", "duration"])
def test_multiples_of_units_are_those_of_the_model(device, word):
    rng = random.Random(word)
    t = pa.duration("ms") if word == "duration" else typed(word)
    a = drawn("ms", 60).view(t) if word == "duration" else drawn(word, 60)
    if word not in ("date32", "date64", "duration"):
        a = pa.concat_arrays([a, of_counts([0, 1, 3600, 86399, None], t)])
    counts = a.view(pa.int32() if t.bit_width == 32 else pa.int64()).to_pylist()
    combinations = list(itertools.product(UNITS, (1, 2, 7, 60), (True, False), (True, False), (True, False)))
    for unit, multiple, monday, strict, origin in rng.sample(combinations, 40 if device == "cpu" else 14):
        if word == "duration" and (origin or unit in UNITS[:3]):
            continue
        options = {"unit": unit, "multiple": multiple, "week_starts_monday": monday}
        options |= {"ceil_is_strictly_greater": strict, "calendar_based_origin": origin}
        for how in HOWS:
            arguments = (per_day(t), unit, multiple, monday, strict, origin, word == "duration")
            want = [None if c is None else model.rounded(how, c, *arguments) for c in counts]
            got = getattr(cc, f"{how}_temporal")(there(a, device), **options).to("cpu")
            assert got.schema.format == cdevice.asarray(a).schema.format
            have = pa.array(got).view(pa.int32() if t.bit_width == 32 else pa.int64()).to_pylist()
            bits = 1 << t.bit_width
            want = [None if w is None else (w + bits // 2) % bits - bits // 2 for w in want]
            assert have == want, (how, options)


@pytest.mark.parametrize("word", [*DATES, "time64[us]"])
def test_multiples_of_units_are_pyarrows(word):
    t = typed(word)
    year = range(1800, 2200)
    rng = random.Random(word)
    days = [model.days(rng.choice(year), rng.randrange(1, 13), rng.randrange(1, 29)) for _ in range(200)]
    per = per_day(t)
    a = of_counts(
        [
            rng.choice([0, rng.randrange(per)])
            if word == "time64[us]"
            else d * per + (0 if word == "date64" else rng.choice([0, rng.randrange(per)]))
            for d in days
        ],
        t,
    )
    for unit, multiple, strict, origin in itertools.product(UNITS, (1, 5), (True, False), (True, False)):
        options = {
            "unit": unit,
            "multiple": multiple,
            "ceil_is_strictly_greater": strict,
            "calendar_based_origin": origin,
        }
        for how in HOWS:
            check("cpu", f"{how}_temporal", [a], **options)


@everywhere
def test_multiples_are_of_what_clocks_show(device):
    rng = random.Random(5)
    for zone in ("Europe/Berlin", "Australia/Lord_Howe", "+05:45"):
        counts = [
            rng.randrange(-1_000_000_000, 2_000_000_000) // 86400 * 86400 + rng.randrange(6, 20) * 3600 + 61
            for _ in range(90)
        ]
        a = of_counts([*counts, None], pa.timestamp("s", zone))
        shown = pc.local_timestamp(a).view(pa.int64()).to_pylist()
        for unit, multiple in (("day", 1), ("hour", 1), ("minute", 15), ("month", 1), ("week", 2), ("second", 1)):
            for how in HOWS:
                if unit != "week" and (unit, how) != ("month", "round"):  # pyarrow's are an hour off near a change
                    check(device, f"{how}_temporal", [a], unit=unit, multiple=multiple)
                if how != "round":
                    out = cc.local_timestamp(getattr(cc, f"{how}_temporal")(there(a, device), multiple, unit))
                    want = [None if c is None else model.rounded(how, c, model.DAY, unit, multiple) for c in shown]
                    assert back(out).view(pa.int64()).to_pylist() == want, (zone, unit, how)
    twice = there(of_counts([1635642000], pa.timestamp("s", "Europe/Berlin")), device)
    with pytest.raises(ArgumentError, match="floor_temporal: the local time 2021-10-31 02:00:00 is ambiguous in"):
        cc.floor_temporal(twice, 1, "hour")


def test_multiples_that_are_none_are_errors():
    x = cdevice.asarray(pa.array([0]).view(pa.timestamp("ns")))
    for bad in (0, -1, 1 << 31):
        with pytest.raises(ValueError, match="multiple must be from"):
            cc.floor_temporal(x, bad)
    with pytest.raises(ValueError, match="unit must be one of 'year'"):
        cc.floor_temporal(x, 1, "fortnight")
    with pytest.raises(ArgumentError, match="more than the type can hold"):
        cc.floor_temporal(x, (1 << 31) - 1, "week")
    lasting = cdevice.asarray(pa.array([0]).view(pa.duration("s")))
    with pytest.raises(ArgumentError, match="a duration has no calendar: the unit 'month'"):
        cc.ceil_temporal(lasting, 1, "month")
    with pytest.raises(ArgumentError, match="a duration has no calendar: calendar_based_origin"):
        cc.ceil_temporal(lasting, 1, "hour", calendar_based_origin=True)


# ---- between ----
BETWEEN = "years quarters days hours minutes seconds milliseconds microseconds nanoseconds month_day_nano_interval"


@everywhere
@pytest.mark.parametrize("word", [*DATES, "time32[s]", "time64[ns]"])
def test_between_two_times_lie_the_borders_of_a_unit(device, word):
    def near(seed):
        return of_counts(
            [
                None if c is None else c % (per_day(typed(word)) * (1 if word[:4] == "time" else 60000))
                for c in drawn(word, 90, seed)
                .view(pa.int32() if typed(word).bit_width == 32 else pa.int64())
                .to_pylist()
            ],
            typed(word),
        )

    a, b = near(1), near(2)
    for name in BETWEEN.split():
        if word.startswith("time") and name in ("years", "quarters", "days"):
            continue
        for x, y in ((a, b), (a[5:50], b[20:65]), (a, b[1]), (a[2], b)):
            check(device, f"{name}_between", [x, y])
    for first in (1, 4, 7) if not word.startswith("time") else ():
        check(device, "weeks_between", [a, b], week_start=first)


@everywhere
def test_between_two_times_of_a_zone_lie_borders_of_its_clocks(device):
    a, b = (
        drawn("ms", 60, seed, "Europe/Berlin").cast(pa.timestamp("s", "Europe/Berlin"), safe=False) for seed in (1, 2)
    )
    low, high = -2_000_000_000, 2_000_000_000
    a, b = (
        of_counts([None if c is None else low + c % (high - low) for c in x.view(pa.int64()).to_pylist()], x.type)
        for x in (a, b)
    )
    for name in ("days_between", "hours_between", "weeks_between", "years_between"):
        check(device, name, [a, b])
    with pytest.raises(ArgumentError, match="days_between: the time zones differ, 'Europe/Berlin' and none: cast one"):
        cc.days_between(there(a, device), there(b.cast(pa.timestamp("s")), device))


@everywhere
def test_chunks_dictionaries_nulls_and_single_values_are_taken(device):
    a = drawn("us", 90)
    x = there(a, device)
    assert back(cc.year([x[:30], x[30:]])).equals(pc.year(a))
    words = a.dictionary_encode()
    assert back(cc.month(there(words, device))).equals(pc.month(a))
    assert cc.year(dt.date(2024, 2, 29)).as_py() == 2024
    assert cc.hour(dt.datetime(2024, 2, 29, 13, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))).as_py() == 13
    assert cc.year(cc.max(x)).as_py() == pc.year(pc.max(a)).as_py()
    assert cc.year(x[:0]).length == 0
    assert back(cc.floor_temporal(x, options=pc.RoundTemporalOptions(3, "week"))).equals(
        pc.floor_temporal(a, 3, "week")
    )
    assert back(cc.week(x, options=pc.WeekOptions(count_from_zero=True))).equals(pc.week(a, count_from_zero=True))
    zoned = pc.AssumeTimezoneOptions("Asia/Tokyo", ambiguous="earliest", nonexistent="latest")
    assert back(cc.assume_timezone(x[5:9], options=zoned)).equals(pc.assume_timezone(a[5:9], options=zoned))
    with pytest.raises(cc.NoKernel, match="year"):
        cc.year(there(pa.array([1, 2]), device))
    with pytest.raises(cc.NoKernel, match="hour"):
        cc.hour(there(pa.array([1, 2], pa.date32()), device))


@everywhere
def test_durations_are_negated_multiplied_and_divided(device):
    rng = random.Random(8)
    for unit in ("s", "ns"):
        t = pa.duration(unit)
        x, y = (of_counts([*(rng.choice([1, -1]) * rng.randrange(1, 10**6) for _ in range(70)), None], t) for _ in "xy")
        n, small = (
            pa.array([None, *(rng.choice([1, -1, 7, 100]) for _ in range(70))], k) for k in (pa.int64(), pa.int8())
        )
        for name in ("negate", "abs", "negate_checked", "abs_checked"):
            check(device, name, [x])
        for name in ("multiply", "multiply_checked"):
            for args in ([x, n], [n, x], [x, small], [x[3:40], n[10:47]], [x, pa.scalar(3)]):
                check(device, name, args)
        for name in ("divide", "divide_checked"):
            for args in ([x, n], [x, small], [x, y], [x, pa.scalar(7)]):
                check(device, name, args)
    check(
        device,
        "divide",
        [x, y.cast(pa.duration("us"), safe=False)],
        expected=pc.divide(x, y.cast(pa.duration("us"), safe=False)),
    )
    most = of_counts([(1 << 63) - 1], pa.duration("s"))
    with pytest.raises(ArgumentError, match="multiply_checked: overflow"):
        cc.multiply_checked(there(most, device), 2)
    with pytest.raises(ArgumentError, match="divide: divide by zero"):
        cc.divide(there(most, device), 0)
    with pytest.raises(cc.NoKernel):
        cc.multiply(there(most, device), 1.5)


@everywhere
def test_times_of_day_are_moved_within_a_day(device):
    for t, d in itertools.product(("time32[s]", "time32[ms]", "time64[us]", "time64[ns]"), ("s", "ms", "us")):
        scale = per_day(typed(t)) // model.DAY
        x = of_counts([3600 * scale, 7200 * scale, None, 80_000 * scale], typed(t))
        y = of_counts([3000 * model.PER_SECOND[d], 1, 0, None], pa.duration(d))
        for name in ("add", "subtract", "add_checked"):
            check(device, name, [x, y])
            check(device, name, [x[:2], y[1]])  # of a null row pyarrow complains
        check(device, "add", [y, x])
    late = there(of_counts([86_399], typed("time32[s]")), device)
    with pytest.raises(ArgumentError, match="add: 86400 is not within a day"):
        cc.add(late, there(of_counts([1], pa.duration("s")), device))
    with pytest.raises(ArgumentError, match="subtract: -1 is not within a day"):
        cc.subtract(late, there(of_counts([86_400], pa.duration("s")), device))
