"""Calls with values of Python's and numpy's own beside columns, that chance draws; each has pyarrow's scalar of the same
value beside it, for those that judge."""

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
from columns import DECIMALS, INTEGERS, NUMBERS, TEXTS, VIEWS, column

COMPARES = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
ARITHMETIC = ("add", "subtract", "multiply", "add_checked", "subtract_checked", "multiply_checked")
UNITS = ("s", "ms", "us", "ns")
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
ZONED = dt.timezone(dt.timedelta(hours=2))


class Literal:
    """``value`` of Python or numpy; ``scalar``: what it is, as pyarrow has it."""

    def __init__(self, value, scalar):
        self.value, self.scalar = value, scalar
        self.type, self.null_count = scalar.type, 0

    def __repr__(self):
        return f"Literal({self.value!r}, {self.scalar!r})"


def _number(rng, t):
    """A number that the column's type has, of Python or of numpy."""
    x = column(rng, t, 4)
    v = next((x for x in x.to_pylist() if x is not None), t == pa.bool_() or 1)
    scalar = pa.scalar(v, t)
    if rng.random() < 0.5 or isinstance(v, float) and t != pa.float64():
        return Literal(np.dtype(t.to_pandas_dtype()).type(v), scalar)
    return Literal(v, scalar)


def _decimal(rng, t):
    """A decimal of fewer digits than the column's, or of its own."""
    front, behind = rng.randrange(min(t.precision - t.scale, 9) + 1), rng.randrange(min(t.scale, 9) + 1)
    digits = 10 ** (front + behind)
    value = decimal.Decimal(rng.randrange(1 - digits, digits)).scaleb(-behind)
    return Literal(value, pa.scalar(value, t))


def _ticks(rng, unit):
    """A moment of whole seconds, of this century."""
    seconds = rng.choice((0, 1, 80_000, 86_400, 1_641_632_400, -1, rng.randrange(2 * 10**9)))
    return seconds, seconds * PER_SECOND[unit]


def _time(rng, t):
    if pa.types.is_date32(t):
        days = rng.randrange(0, 80_000)
        day = dt.date(1970, 1, 1) + dt.timedelta(days=days)
        return Literal(rng.choice((day, np.datetime64(day, "D"))), pa.scalar(day, t))
    unit = t.unit
    seconds, ticks = _ticks(rng, unit)
    coarse = rng.choice((unit, "s", "us" if unit in ("us", "ns") else "s"))
    scaled = seconds * PER_SECOND[coarse]
    if pa.types.is_duration(t):
        value = rng.choice((dt.timedelta(seconds=seconds), np.timedelta64(scaled, coarse)))
        return Literal(value, pa.scalar(ticks, pa.int64()).cast(t))
    if pa.types.is_time(t):
        seconds %= 86400
        whole = pa.scalar(seconds * PER_SECOND[unit], pa.int32() if t.bit_width == 32 else pa.int64())
        return Literal((dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)).time(), whole.cast(t))
    scalar = pa.scalar(ticks, pa.int64()).cast(t)
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(seconds=seconds)
    if t.tz is not None:
        return Literal(moment.astimezone(rng.choice((dt.timezone.utc, ZONED))), scalar)
    return Literal(rng.choice((moment.replace(tzinfo=None), np.datetime64(scaled, coarse))), scalar)


def _word(rng, t):
    x = next((x for x in column(rng, t, 4).to_pylist() if x is not None), None)
    if x is None:
        return Literal(None, pa.scalar(None, t))
    return Literal(np.str_(x) if isinstance(x, str) and rng.random() < 0.3 else x, pa.scalar(x, t))


MOMENTS = [pa.timestamp(u, z) for u in UNITS for z in (None, "UTC", "Europe/Berlin")]
CLOCKS = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
TIMES = [*MOMENTS, *CLOCKS, *(pa.duration(u) for u in UNITS), pa.date32()]
MADE = ((_number, NUMBERS), (_number, [pa.bool_()]), (_decimal, DECIMALS), (_time, TIMES), (_word, [*TEXTS, *VIEWS]))


def beside(rng, n):
    """A literal that the column's type has the value of: compared, filled in, chosen, found."""
    make, types = rng.choice(MADE)
    t = rng.choice(types)
    x, one = column(rng, t, n), make(rng, t)
    name = rng.choice((*COMPARES, "fill_null", "if_else", "coalesce", "is_in", "index"))
    if name == "is_in":
        some = [make(rng, t) for _ in range(3)]
        some = [s for s in some if type(s.value) is type(some[0].value)]
        return (
            name,
            [x],
            {"value_set": Literals([s.value for s in some], pa.concat_arrays([pa.array([s.scalar], t) for s in some]))},
        )
    if name == "index":
        return name, [x], {"value": one}
    if name in ("if_else", "coalesce"):  # whose types are pyarrow's
        if isinstance(one.value, (np.datetime64, np.timedelta64)) or getattr(one.value, "tzinfo", None) is not None:
            return "equal", [x, one], {}
        if isinstance(one.value, int) and one.value >= 1 << 63:  # pyarrow has no type of its own for it
            return "equal", [x, one], {}
        one = Literal(one.value, pa.scalar(one.value))
    if name == "if_else":
        t = pa.bool_()
        return name, [column(rng, t, n), *rng.choice(([x, one], [one, x]))], {}
    if name == "coalesce" or name == "fill_null" or rng.random() < 0.6:
        return name, [x, one], {}
    return name, [one, x], {}


class Literals:
    """The same of several."""

    def __init__(self, value, scalar):
        self.value, self.scalar = value, scalar

    def __repr__(self):
        return f"Literals({self.value!r}, {self.scalar!r})"


def computed(rng, n):
    """A number beside a column: arithmetic gives the types that pyarrow has for pyarrow's own scalar."""
    t = rng.choice([*INTEGERS, pa.float32(), pa.float64()])
    value = rng.choice((0, 1, -3, 7, 300, 0.5, -2.5, True, 1.0, 2**24))
    if value is True:
        value = 1
    if rng.random() < 0.4:
        value = rng.choice((np.int8(3), np.int16(-300), np.uint8(200), np.float32(0.5), np.float64(-2.5), np.int64(7)))
    args = [column(rng, t, n), Literal(value, pa.scalar(value))]
    if rng.random() < 0.4:
        args.reverse()
    return rng.choice(ARITHMETIC), args, {}


def moved(rng, n):
    """A time beside a duration."""
    t = rng.choice([x for x in MOMENTS if x.tz in (None, "UTC")])
    delta = dt.timedelta(seconds=rng.randrange(-(10**6), 10**6))
    other = rng.choice((pa.scalar(delta), pa.scalar(delta, pa.duration("s"))))
    value = delta if other.type == pa.duration("us") else np.timedelta64(int(delta.total_seconds()), "s")
    return rng.choice(("add", "subtract")), [column(rng, t, n), Literal(value, other)], {}


FAMILIES = (beside, beside, computed, moved)


def plain(x):
    """What judges get for an argument or an option."""
    return x.scalar if isinstance(x, (Literal, Literals)) else x


def given(x):
    """What the function gets."""
    return x.value if isinstance(x, (Literal, Literals)) else x
