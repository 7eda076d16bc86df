"""Expressions that chance draws, against a model that computes row by row in Python, written from Arrow's definitions.

    python tests/fuzz/expressions.py SECONDS [SEED]

Each one is computed function by function, as one kernel, of a slice, and as a filter's condition; a sixth on OpenCL too.
An error of a row must be the model's error.
"""

import math
import os
import random
import struct

import driver
import pyarrow as pa

import cdevice
import cdevice.compute as cc

OPENCL = cdevice.device("opencl").is_available
f = cc.field
WIDTHS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
FLOATS = ("float32", "float64")


class RowError(Exception):
    """A row that a checked function refuses."""


def limits(t):
    bits = WIDTHS[t]
    return (0, (1 << bits) - 1) if t[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)


def as_float32(x):
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def stored(x, t):
    """A number as a type has it; integers wrap."""
    if t == "float64":
        return float(x)
    if t == "float32":
        return as_float32(float(x))
    low, high = limits(t)
    return (x - low) % (high - low + 1) + low


def common(a, b):
    """Arrow's common type of numbers."""
    if a == b:
        return a
    for t in ("float64", "float32"):
        if t in (a, b):
            return t
    signed = max([WIDTHS[x] for x in (a, b) if x[0] == "i"], default=0)
    unsigned = max([WIDTHS[x] for x in (a, b) if x[0] == "u"], default=0)
    if not signed:
        return f"uint{unsigned}"
    if unsigned >= signed:
        signed = min(unsigned * 2, 64)
    return f"int{signed}"


def cast(column, t):
    """An implicit cast, which loses nothing."""
    own, values = column
    if own == t:
        return column
    out = []
    for x in values:
        if x is None:
            out.append(None)
        elif t in FLOATS and own in FLOATS:
            out.append(stored(x, t))
        elif t in FLOATS:
            if abs(x) > 1 << (53 if t == "float64" else 24):
                raise RowError("loss")
            out.append(float(x))
        else:
            low, high = limits(t)
            if not low <= x <= high:
                raise RowError("loss")
            out.append(x)
    return t, out


def quotient(x, y, t):
    if t in FLOATS:
        if y == 0:
            sign = math.copysign(1, x) * math.copysign(1, y)
            return math.nan if x == 0 or x != x else sign * math.inf
        return stored(x / y, t)
    n = abs(x) // abs(y)
    n = n if (x < 0) == (y < 0) else -n
    return 0 if not limits(t)[0] <= n <= limits(t)[1] else n  # the least number by -1


def arithmetic(name, a, b):
    t = common(a[0], b[0])
    (_, xs), (_, ys) = cast(a, t), cast(b, t)
    plain, checked = name.removesuffix("_checked"), name.endswith("_checked")
    out = []
    for x, y in zip(xs, ys):
        if x is None or y is None:
            out.append(None)
            continue
        if plain == "divide":
            if y == 0 and (checked or t not in FLOATS):
                raise RowError("divide by zero")
            if checked and t not in FLOATS and y == -1 and x == limits(t)[0] and t[0] == "i":
                raise RowError("overflow")
            out.append(quotient(x, y, t))
            continue
        with_floats = t in FLOATS
        exact = x + y if plain == "add" else x - y if plain == "subtract" else x * y
        if checked and not with_floats and not limits(t)[0] <= exact <= limits(t)[1]:
            raise RowError("overflow")
        out.append(stored(exact, t))
    return t, out


def compared(name, a, b):
    t = common(a[0], b[0]) if a[0] != "bool" else "bool"
    (_, xs), (_, ys) = (a, b) if t == "bool" else (cast(a, t), cast(b, t))
    tests = {
        "equal": lambda x, y: x == y,
        "not_equal": lambda x, y: x != y,
        "less": lambda x, y: x < y,
        "less_equal": lambda x, y: x <= y,
        "greater": lambda x, y: x > y,
        "greater_equal": lambda x, y: x >= y,
    }
    return "bool", [None if None in (x, y) else tests[name](x, y) for x, y in zip(xs, ys)]


def kleene(name, x, y):
    decides = name == "or_kleene"
    if decides in (x, y):
        return decides
    return None if None in (x, y) else not decides


def of_function(name, args):
    """A function of columns: (type, rows)."""
    if name.removesuffix("_checked") in ("add", "subtract", "multiply", "divide"):
        return arithmetic(name, *args)
    if name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        return compared(name, *args)
    if name == "negate":
        t, xs = args[0]
        return t, [None if x is None else stored(-x, t) for x in xs]
    if name == "is_null":
        return "bool", [x is None for x in args[0][1]]
    if name == "is_valid":
        return "bool", [x is not None for x in args[0][1]]
    if name == "is_nan":
        return "bool", [None if x is None else x != x for x in args[0][1]]
    if name == "invert":
        return "bool", [None if x is None else not x for x in args[0][1]]
    if name in ("and", "or", "xor"):
        tests = {"and": lambda x, y: x and y, "or": lambda x, y: x or y, "xor": lambda x, y: x != y}
        return "bool", [None if None in (x, y) else tests[name](x, y) for x, y in zip(args[0][1], args[1][1])]
    if name in ("and_kleene", "or_kleene"):
        return "bool", [kleene(name, x, y) for x, y in zip(args[0][1], args[1][1])]
    if name == "if_else":
        condition, a, b = args
        t = a[0] if a[0] == b[0] else common(a[0], b[0])
        if t != "bool":
            a, b = cast(a, t), cast(b, t)
        return t, [None if c is None else x if c else y for c, x, y in zip(condition[1], a[1], b[1])]
    if name == "coalesce":
        a, b = args
        t = a[0] if a[0] == b[0] else common(a[0], b[0])
        if t != "bool":
            a, b = cast(a, t), cast(b, t)
        return t, [y if x is None else x for x, y in zip(a[1], b[1])]
    raise NotImplementedError(name)


def drawn_value(rng, t):
    if t == "bool":
        return rng.random() < 0.5
    if t in FLOATS:
        x = rng.choice([0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan, rng.uniform(-100, 100), 1e30])
        return stored(x, t)
    low, high = limits(t)
    return rng.choice([0, 1, 2, 3, low, high, rng.randint(max(low, -100), min(high, 100))])


def drawn_table(rng):
    n = rng.choice((0, 1, 31, 32, 33, 65, 200))
    columns = {}
    for k in range(rng.randint(2, 8)):
        t = rng.choice([*WIDTHS, *FLOATS, *FLOATS, "bool", "bool"])
        nulls = rng.choice((0, 0, 0.3, 1))
        columns[f"{t[0]}{k}"] = t, [None if rng.random() < nulls else drawn_value(rng, t) for _ in range(n)]
    columns["p"] = "bool", [rng.random() < 0.5 for _ in range(n)]
    columns["x"] = "float64", [drawn_value(rng, "float64") for _ in range(n)]
    return n, columns


def fits(value, t):
    """Is a number of Python a number of the type of the column beside it?"""
    if isinstance(value, float):
        return t == "float64" or (t == "float32" and (value != value or as_float32(value) == value))
    if t in FLOATS:
        return stored(value, t) == value
    low, high = limits(t)
    return low <= value <= high


class Drawn:
    """An expression and what the model makes of it, side by side."""

    def __init__(self, rng, n, columns):
        self.rng, self.n, self.columns = rng, n, columns

    def column(self, boolean):
        names = [name for name, (t, _) in self.columns.items() if (t == "bool") == boolean]
        name = self.rng.choice(names)
        return f(name), lambda: self.columns[name]

    def pair(self, depth):
        """Two numbers, one of which may be a value of Python."""
        a = self.number(depth)
        if self.rng.random() < 0.4:
            value = self.rng.choice([0, 1, -1, 3, 200, 0.5, 1e10, 2**40])
            return a, (cc.scalar(value), value)
        return a, self.number(depth)

    def of(self, name, *parts):
        expression = cc.call_function(name, [p[0] for p in parts])

        def model():
            columns = [p[1]() if callable(p[1]) else p[1] for p in parts]
            known = [c for c in columns if isinstance(c, tuple)]
            types = [t for t, _ in known if t != "bool"]
            beside = types[0] if types else "float64"
            for t in types[1:]:
                beside = common(beside, t)
            made = []
            for c in columns:
                if not isinstance(c, tuple):
                    t = beside if fits(c, beside) else "float64" if isinstance(c, float) else "int64"
                    c = t, [float(c) if t in FLOATS else c] * self.n  # the negative of 0 has no sign, that of 0.0 has
                made.append(c)
            return of_function(name, made)

        return expression, model

    def number(self, depth):
        if depth == 0:
            return self.column(False)
        word = self.rng.choice(["arithmetic"] * 4 + ["negate", "if_else", "coalesce"])
        if word == "negate":
            return self.of("negate", self.number(depth - 1))
        a, b = self.pair(depth - 1)
        if word == "if_else":
            return self.of("if_else", self.bool(depth - 1), a, b)
        if word == "coalesce":
            return self.of("coalesce", a, b)
        names = "add subtract multiply divide add_checked subtract_checked multiply_checked divide_checked".split()
        return self.of(self.rng.choice(names), a, b)

    def bool(self, depth):
        if depth == 0:
            return self.column(True)
        word = self.rng.choice(["compared"] * 3 + ["logic"] * 3 + ["nulls", "invert", "nan"])
        if word == "compared":
            names = "equal not_equal less less_equal greater greater_equal".split()
            return self.of(self.rng.choice(names), *self.pair(depth - 1))
        if word == "logic":
            names = "and or xor and_kleene or_kleene and_kleene or_kleene".split()
            return self.of(self.rng.choice(names), self.bool(depth - 1), self.bool(depth - 1))
        if word == "invert":
            return self.of("invert", self.bool(depth - 1))
        if word == "nan":
            return self.of("is_nan", self.of("add", self.number(depth - 1), (f("x"), lambda: self.columns["x"])))
        part = self.number(depth - 1) if self.rng.random() < 0.5 else self.bool(depth - 1)
        return self.of(self.rng.choice(["is_null", "is_valid"]), part)


def same(a, b):
    if a is None or b is None or isinstance(a, bool):
        return a is b or a == b
    if a != a or b != b:
        return a != a and b != b
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def run(bound, batch, way):
    if way == "functions":
        return bound._run(bound._plain, batch, None).array
    program = bound._program(batch)
    made = bound._run(program, batch, None)
    return None if made is None else made.array


def case(seed):
    rng = random.Random(seed)
    os.environ["CDEVICE_CPU_KERNELS"] = rng.choice(("base", "best"))
    n, columns = drawn_table(rng)
    boolean = rng.random() < 0.5
    maker = Drawn(rng, n, columns)
    expression, model = (maker.bool if boolean else maker.number)(rng.randint(1, 3))
    table = pa.record_batch({name: pa.array(rows, t) for name, (t, rows) in columns.items()})
    try:
        wanted = model()
    except RowError as e:
        wanted = e
    batches = [cdevice.asarray(table)]
    if OPENCL and rng.random() < 1 / 6:
        batches.append(batches[0].to("opencl"))
    assert cc.Expression.parse(str(expression)).equals(expression), str(expression)
    bound = expression.bind(batches[0].schema)
    word = "equal"
    for batch in batches:
        for way in ("functions", "kernel"):
            try:
                made = run(bound, batch, way)
            except cdevice.Error as e:
                assert isinstance(wanted, RowError), (
                    f"{expression}: {way} on {batch.device}: {e!r}; the model has {wanted}"
                )
                word = "refused"
                continue
            if made is None:  # a row is wrong, or one that is null
                continue
            assert not isinstance(wanted, RowError), f"{expression}: {way} on {batch.device}: the model has {wanted!r}"
            host = made.to("cpu")
            host.validate("full")
            rows = host.to_pylist()
            assert host.type == wanted[0] and len(rows) == n, f"{expression}: {host.type}, the model has {wanted[0]}"
            for i, (x, y) in enumerate(zip(rows, wanted[1])):
                assert same(x, y), f"{expression}: {way} on {batch.device}, row {i}: {x!r}, the model has {y!r}"
        if boolean and not isinstance(wanted, RowError):
            kept = batch.filter(expression).to("cpu")
            assert kept.length == sum(x is True for x in wanted[1]), f"{expression}: as a condition"
    if not isinstance(wanted, RowError) and n > 2:
        a = rng.randrange(n)
        part = cdevice.asarray(table)[a:]
        found = run(bound, part, "kernel")
        assert found is None or all(map(same, found.to_pylist(), wanted[1][a:])), f"{expression}: rows from {a} on"
    return word


if __name__ == "__main__":
    driver.run("expressions", case, *driver.arguments())
