"""Functions of numbers written from their definitions, by Python's decimal: for tests alone."""

import decimal
import math
from decimal import Decimal

ROUNDS = {
    "down": decimal.ROUND_FLOOR,
    "up": decimal.ROUND_CEILING,
    "towards_zero": decimal.ROUND_DOWN,
    "towards_infinity": decimal.ROUND_UP,
    "half_towards_zero": decimal.ROUND_HALF_DOWN,
    "half_towards_infinity": decimal.ROUND_HALF_UP,
    "half_to_even": decimal.ROUND_HALF_EVEN,
}
MODES = (*ROUNDS, "half_down", "half_up", "half_to_odd")


def to_multiple(x, multiple, mode):
    """x, an int, a float or a Decimal, as the multiple that the mode rounds it to, exactly."""
    x, multiple = Decimal(x), Decimal(multiple)
    with decimal.localcontext() as c:
        c.prec = 400
        count = x / multiple
        low = count.to_integral_value(decimal.ROUND_FLOOR)
        if mode in ROUNDS:
            return count.to_integral_value(ROUNDS[mode]) * multiple
        rest = count - low
        if rest == Decimal("0.5"):
            up = {"half_down": False, "half_up": True, "half_to_odd": low % 2 == 0}[mode]
        else:
            up = rest > Decimal("0.5")
        return (low + up) * multiple


PRECISION = 420  # the greatest f64 has 309 digits before its point


def _pi():
    def atan_of_inverse(n):
        total = term = Decimal(1) / n
        k = 1
        while abs(term) > Decimal(10) ** -(PRECISION + 10):
            term = -term / (n * n)
            k += 2
            total += term / k
        return total

    with decimal.localcontext() as c:
        c.prec = PRECISION + 20
        return 16 * atan_of_inverse(5) - 4 * atan_of_inverse(239)


PI = _pi()


def _sine(x):
    total = term = x
    k = 1
    while abs(term) > abs(total) * Decimal(10) ** -40 and term:
        term = -term * x * x / ((k + 1) * (k + 2))
        k += 2
        total += term
    return total


def sin(x):
    with decimal.localcontext() as c:
        c.prec = PRECISION
        rest = x.remainder_near(PI / 2)
        quarter = int(((x - rest) / (PI / 2)).to_integral_value()) % 4
        c.prec = 60
        s = _sine(+rest)
        return (s, (1 - s * s).sqrt(), -s, -(1 - s * s).sqrt())[quarter]


def cos(x):
    with decimal.localcontext() as c:
        c.prec = PRECISION
        return sin(x + PI / 2)


def atan(x):
    for _ in range(4):
        x = x / (1 + (1 + x * x).sqrt())
    total, term, k = x, x, 1
    while term and abs(term) > abs(total) * Decimal(10) ** -50:
        term = -term * x * x
        k += 2
        total += term / k
    return 16 * total


def atan2(y, x):
    if not x:
        return (PI / 2).copy_sign(y)
    a = atan(y / x)
    return a if x > 0 else a + PI.copy_sign(y)


ONES = {
    "exp": lambda x: x.exp(),
    "expm1": lambda x: x.exp() - 1,
    "ln": lambda x: x.ln(),
    "log2": lambda x: x.ln() / Decimal(2).ln(),
    "log10": lambda x: x.log10(),
    "log1p": lambda x: (1 + x).ln(),
    "sqrt": lambda x: x.sqrt(),
    "cbrt": lambda x: (abs(x).ln() / 3).exp().copy_sign(x),
    "sin": sin,
    "cos": cos,
    "tan": lambda x: sin(x) / cos(x),
    "asin": lambda x: atan2(x, (1 - x * x).sqrt()),
    "acos": lambda x: atan2((1 - x * x).sqrt(), x),
    "atan": atan,
    "sinh": lambda x: (x.exp() - (-x).exp()) / 2,
    "cosh": lambda x: (x.exp() + (-x).exp()) / 2,
    "tanh": lambda x: 1 - 2 / ((2 * x).exp() + 1),
    "asinh": lambda x: (abs(x) + (x * x + 1).sqrt()).ln().copy_sign(x),
    "acosh": lambda x: (x + (x * x - 1).sqrt()).ln(),
    "atanh": lambda x: ((1 + x) / (1 - x)).ln() / 2,
}
TWOS = {
    "power": lambda x, y: (y * x.ln()).exp(),
    "logb": lambda x, y: x.ln() / y.ln(),
    "atan2": atan2,
    "hypot": lambda x, y: (x * x + y * y).sqrt(),
}


def exact(name, *args):
    """The value of a function of floats, with 60 digits at least."""
    with decimal.localcontext() as c:
        c.prec, c.Emax, c.Emin = 120, decimal.MAX_EMAX, decimal.MIN_EMIN
        return (ONES.get(name) or TWOS[name])(*map(Decimal, args))


def units(got, want, digits=53, least=-1022):
    """How far a float is from a Decimal, in units of the last of its binary digits."""
    with decimal.localcontext() as c:
        c.prec = 120
        if not want:
            return 0.0 if got == 0 else math.inf
        near = abs(float(want))
        exponent = math.frexp(near)[1] - 1 if 0 < near < math.inf else least if near == 0 else 1023
        unit = Decimal(2) ** (max(exponent, least) - digits + 1)
        most = Decimal(2) ** (1024 if digits == 53 else 128)
        if math.isinf(got):
            return (
                0.0 if abs(want) >= most * (1 - Decimal(2) ** -(digits + 1)) and (got > 0) == (want > 0) else math.inf
            )
        return float(abs(Decimal(got) - want) / unit)
