"""What functions of decimals of 32 to 256 bits give, from Arrow's rules of precision and scale and Python's integers."""

import decimal
import re
from fractions import Fraction

import pyarrow as pa
from model import COMPARES, INTEGERS, Open, Refused, Unknown, bounds, rows, spread

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I | re.A)
DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}  # of integers, as Arrow counts them; 20 of uint64
MOST = {32: 9, 64: 18, 128: 38, 256: 76}


def is_decimal(t):
    return t is not None and pa.types.is_decimal(t)


def of(bits, precision, scale):
    if precision > MOST[bits]:
        raise Refused(f"precision {precision}")
    return getattr(pa, f"decimal{bits}")(precision, scale)


def whole(value, scale):
    """The integer that a decimal is stored as."""
    return None if value is None else int(Fraction(value) * Fraction(10) ** scale)


def shown(number, scale):
    if number is None:
        return None
    digits = tuple(map(int, str(abs(number))))
    return decimal.Decimal((number < 0, digits, -scale))


def _described(types):
    """(bits, precision, scale) of each; integers as the decimals that have all of them."""
    bits = 256 if any(is_decimal(t) and t.bit_width == 256 for t in types) else 128
    found = []
    for t in types:
        if is_decimal(t):
            found.append((t.precision, t.scale))
        elif t in INTEGERS:
            found.append((20 if t == pa.uint64() else DIGITS[t.bit_width], 0))
        else:
            raise Unknown
    return bits, found


def arithmetic(name, args):
    bits, ((p, s), (q, t)) = _described([a.type for a in args])
    word = name.removesuffix("_checked")
    if word in ("add", "subtract"):
        out = of(bits, max(p - s, q - t) + max(s, t) + 1, max(s, t))
    elif word == "multiply":
        out = of(bits, p + q + 1, s + t)
    else:
        scale = max(4, s + q - t + 1)
        out = of(bits, p + scale + t - s, scale)
    found = []
    for x, y in zip(*spread(args), strict=True):
        if x is None or y is None:
            found.append(None)
            continue
        x, y = Fraction(x), Fraction(y)
        if word == "divide":
            if not y:
                raise Refused("divide by zero")
            exact = x / y * 10**out.scale
            number = abs(exact.numerator) // exact.denominator * (-1 if exact < 0 else 1)
        else:
            exact = x + y if word == "add" else x - y if word == "subtract" else x * y
            number = int(exact * 10**out.scale)
        found.append(shown(number, out.scale))
    return out, found


def compare(name, args):
    bits, both = _described([a.type for a in args])
    scale = max(s for _, s in both)
    if max(p - s for p, s in both) + scale > MOST[bits]:
        raise Unknown
    f = COMPARES[name]
    pairs = zip(*spread(args), strict=True)
    return pa.bool_(), [None if x is None or y is None else f(x, y) for x, y in pairs]


def aggregate(name, args, options):
    t, values = args[0].type, rows(args[0])
    valid = [whole(v, t.scale) for v in values if v is not None]
    known = len(valid) >= options["min_count"] and (options["skip_nulls"] or len(valid) == len(values))
    if name in ("min", "max"):
        return t, shown((min if name == "min" else max)(valid), t.scale) if known and valid else None
    if name == "mean":
        total, n = sum(valid), len(valid)
        nearest = n and (2 * abs(total) + n) // (2 * n) * (-1 if total < 0 else 1)
        if abs(total) >> (max(t.bit_width, 128) - 1):
            raise Unknown
        return of(max(t.bit_width, 128), t.precision, t.scale), shown(nearest, t.scale) if known and n else None
    bits = max(t.bit_width, 128)
    if name == "product":
        so_far = 1
        for v in valid:
            so_far *= abs(v)
            if so_far >> (bits - 1):  # also a step that is rounded afterwards
                raise Open
            so_far = so_far // 10 ** max(t.scale, 0) + 1
    if name != "sum":
        raise Unknown
    total = (sum(valid) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    return of(bits, MOST[bits], t.scale), shown(total, t.scale) if known else None


def _read(text, to):
    """A text as a decimal that has all of its digits."""
    if not NUMBER.fullmatch(text):
        raise Refused(text)
    number = Fraction(text) * Fraction(10) ** to.scale
    if number.denominator != 1 or abs(number) >= 10**to.precision:
        raise Refused(text)
    return shown(int(number), to.scale)


def cast(args, options):
    a, to, safe = args[0], options["target_type"], options["safe"]
    t, out = a.type, []
    if t == to:
        return to, rows(a)
    if is_decimal(to) and t in (pa.string(), pa.large_string()) and safe:
        return to, [None if v is None else _read(v, to) for v in rows(a)]
    if is_decimal(to) and pa.types.is_floating(t) and not safe:
        if any(v is not None and not abs(v) < 10 ** (to.precision - to.scale) - 1 for v in rows(a)):
            raise Open("floats that do not fit")
    if not is_decimal(to) and to not in INTEGERS or not is_decimal(t) and t not in INTEGERS:
        raise Unknown
    if is_decimal(to) and t in INTEGERS and to.precision < _described([t])[1][0][0] + to.scale:
        raise Refused("no place for all integers")
    for v in rows(a):
        if v is None:
            out.append(None)
            continue
        scale = to.scale if is_decimal(to) else 0
        exact = Fraction(v) * Fraction(10) ** scale
        number = abs(exact.numerator) // exact.denominator * (-1 if exact < 0 else 1)
        low, high = (1 - 10**to.precision, 10**to.precision - 1) if is_decimal(to) else bounds(to)
        if safe and exact != number:
            raise Refused("digits would be lost")
        if not low <= number <= high:
            raise (Refused if safe else Open)("does not fit")
        out.append(shown(number, scale) if is_decimal(to) else number)
    return to, out


def model(name, args, options):
    """(type, values).  Raises Refused, Unknown."""
    if not any(is_decimal(a.type) for a in args) and not is_decimal(options.get("target_type")):
        raise Unknown
    if name.removesuffix("_checked") in ("add", "subtract", "multiply", "divide"):
        return arithmetic(name, args)
    if name in COMPARES:
        return compare(name, args)
    if name in ("sum", "mean", "min", "max", "product"):
        return aggregate(name, args, options)
    if name == "cast":
        return cast(args, options)
    raise Unknown
