"""Functions of arguments that chance draws, on the CPU and on OpenCL, against pyarrow.compute.

    python tests/fuzz/compute.py SECONDS [SEED]

What pyarrow gives must come out, or NoKernel; what it refuses for its values must be refused; the devices must agree to
the bit, but for which bits a row that is no number has.  A finding ends the process.
"""

import math
import os
import random
import sys

os.environ["CDEVICE_BACKENDS"] = "-pyarrow"  # or it would be held against itself

import driver
import pyarrow as pa
import pyarrow.compute as pc
from columns import DECIMALS, INTEGERS, NUMBERS, SIZED, TEXTS, TIMES, any_type, column

import cdevice
import cdevice.compute as cc

OPENCL = cdevice.device("opencl").is_available and not os.environ.get("FUZZ_CPU")
REFUSED = (cdevice.Error, ValueError, TypeError, OverflowError)

# those that OpenCL is tried with: each type and function is a program to build
THERE = {pa.int32(), pa.int64(), pa.float64(), pa.bool_(), pa.uint8(), pa.string(), pa.large_string(), pa.string_view()}
ARITHMETIC = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "add_checked",
    "subtract_checked",
    "multiply_checked",
    "divide_checked",
)
LAYOUTS = [*TEXTS, pa.string_view(), pa.binary_view(), pa.binary(5)]  # of strings and bytes
COMPARES = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
LOGIC = ("and_", "or_", "xor", "and_kleene", "or_kleene")
AGGREGATES = ("sum", "mean", "min", "max", "min_max", "count", "any", "all")


def scalar_of(rng, array):
    """One of its rows, alone."""
    return array[rng.randrange(len(array))] if len(array) else pa.scalar(None, array.type)


def drawn(rng):
    """(name, arguments, options)"""
    n = rng.choice((0, 1, 5, 31, 32, 64, 100, 100, 300, 9000 if rng.random() < 0.1 else 40))
    kind = rng.randrange(11)
    if kind <= 1:
        t = rng.choice([*NUMBERS, *DECIMALS])
        other = t if rng.random() < 0.7 else rng.choice([*INTEGERS, *DECIMALS] if t in DECIMALS else NUMBERS)
        name, args = rng.choice(ARITHMETIC), [column(rng, t, n), column(rng, other, n)]
    elif kind == 2:
        t = rng.choice([*SIZED, *LAYOUTS])
        other = rng.choice(LAYOUTS) if t in LAYOUTS else t
        name, args = rng.choice(COMPARES), [column(rng, t, n), column(rng, other, n)]
    elif kind == 3:
        name, args = rng.choice(LOGIC), [column(rng, pa.bool_(), n), column(rng, pa.bool_(), n)]
    elif kind == 4:
        name = rng.choice(("negate", "abs", "negate_checked", "abs_checked", "is_nan", "invert", "is_null", "is_valid"))
        t = (
            pa.bool_()
            if name == "invert"
            else any_type(rng)
            if name.startswith("is_") and name != "is_nan"
            else rng.choice(NUMBERS)
        )
        return name, [column(rng, t, n)], {}
    elif kind == 5:
        t = any_type(rng)
        options = rng.choice(({}, {"null_selection_behavior": "emit_null"}))
        return "filter", [column(rng, t, n), column(rng, pa.bool_(), n)], options
    elif kind == 6:
        t = any_type(rng)
        picks = pa.array(
            [rng.randrange(n) if n else None for _ in range(rng.randrange(50))],
            rng.choice((pa.int64(), pa.int32(), pa.uint8() if n < 256 else pa.int16())),
        )
        mask = pa.array([rng.random() < 0.2 for _ in range(len(picks))], pa.bool_())
        return "take", [column(rng, t, n), pc.if_else(mask, pa.scalar(None, picks.type), picks)], {}
    elif kind == 7:
        t = any_type(rng)
        name, args = "if_else", [column(rng, pa.bool_(), n), column(rng, t, n), column(rng, t, n)]
        if pa.types.is_dictionary(t):
            args[2] = args[1]
        return name, args, {}
    elif kind == 8:
        t = any_type(rng)
        name = rng.choice(("drop_null", "fill_null", "coalesce"))
        if name == "drop_null":
            return name, [column(rng, t, n)], {}
        t = rng.choice([*SIZED, *TEXTS])
        name, args = name, [column(rng, t, n), column(rng, t, n)]
        if name == "fill_null":
            return name, [args[0], scalar_of(rng, column(rng, t, 3))], {}
    elif kind == 9:
        name = rng.choice(AGGREGATES)
        t = (
            pa.bool_()
            if name in ("any", "all")
            else any_type(rng)
            if name == "count"
            else rng.choice([*NUMBERS, pa.bool_(), *TIMES, *DECIMALS, pa.null()])
        )
        options = {} if name == "count" else {"skip_nulls": rng.random() < 0.7, "min_count": rng.choice((0, 1, 1, 5))}
        if name == "count":
            options = {"mode": rng.choice(("only_valid", "only_null", "all"))}
        if rng.random() < 0.3:
            return name, [pa.chunked_array([column(rng, t, rng.choice((0, 5, n))) for _ in range(3)], t)], options
        return name, [column(rng, t, n)], options
    else:
        kinds = rng.choice(([*NUMBERS, pa.bool_()], [*TIMES, pa.int64()], [*INTEGERS, *DECIMALS], LAYOUTS))
        t, to = rng.choice([*kinds, pa.null()]), rng.choice(TEXTS if kinds is LAYOUTS else kinds)
        return "cast", [column(rng, t, n)], {"target_type": to, "safe": kinds[-1] == pa.bool_() or rng.random() < 0.5}
    if rng.random() < 0.2:
        k = rng.randrange(len(args))
        args[k] = scalar_of(rng, args[k])
    return name, args, {}


def same(a, b, near):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], near) for k in a)
    if isinstance(a, float) and isinstance(b, float):
        if a != a or b != b:
            return a != a and b != b
        if near:
            return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6)
    return repr(a) == repr(b)


def rows(a):
    """What Python has of it; of times their numbers, which dates may be too small for."""
    if pa.types.is_temporal(a.type) and not pa.types.is_interval(a.type):
        a = a.view(pa.int32() if a.type.bit_width == 32 else pa.int64())
    return a.to_pylist()


def ours(name, args, options, device):
    """The result on the CPU as pyarrow has it, and the array that it was."""
    at = [a if isinstance(a, pa.Scalar) else cdevice.asarray(a).to(device) if isinstance(a, pa.Array)
          else [cdevice.asarray(c).to(device) for c in a.chunks] for a in args]  # fmt: skip
    out = getattr(cc, name)(*at, **options)
    array = (out.array if isinstance(out, cc.Scalar) else out).to("cpu")
    array.validate("full")
    return (pa.array(array)[0] if isinstance(out, cc.Scalar) else pa.array(array)), array


def as_known(a):
    """Views as pyarrow compares them; bytes of one size it compares with their own type alone."""
    words = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary(), pa.binary(5): pa.large_binary()}
    return a.cast(words[a.type]) if a.type in words else a


def small(args):
    types = [a.type for a in args]
    return all(t in THERE for t in types)


def case(seed):
    rng = random.Random(seed)
    name, args, options = drawn(rng)
    os.environ["CDEVICE_CPU_KERNELS"] = rng.choice(("base", "best"))
    cc.set_cpu_count(rng.choice((1, 2, 5)))
    try:
        known = [as_known(a) if name in COMPARES else a for a in args]
        want = getattr(pc, name)(*known, **options)
    except (pa.ArrowException, ValueError) as e:
        want = e
    if isinstance(want, pa.ChunkedArray):
        want = want.combine_chunks()
    try:
        have, array = ours(name, args, options, "cpu")
    except cc.NoKernel:
        return "no kernel"
    except REFUSED as e:
        if isinstance(want, Exception) or (
            "Precision" in str(e) and not len(args[0])
        ):  # types are looked at without rows
            return "refused"
        told(name, args, options)
        raise AssertionError(f"{name}: refused ({e!r}), where pyarrow gives {want}") from e
    if isinstance(want, pa.ArrowNotImplementedError):
        return "ours alone"
    if "Integer value" in str(want) and name != "cast":
        return "cast unchecked"  # documented: casts before a kernel are not checked
    if name == "mean" and args[0].type in (pa.int64(), pa.uint64()) and isinstance(want, pa.Scalar) and want.is_valid:
        counted = [
            x for x in rows(args[0]) if x is not None
        ]  # documented: ours is of the exact sum, pyarrow's of floats
        want = pa.scalar(float(sum(counted)) / len(counted)) if counted else want
    try:
        assert not isinstance(want, Exception), f"{name}: {want!r}, here {have}"
        assert have.type == want.type, f"{name}: {have.type}, not {want.type}"
        near = name in ("sum", "mean")
        if isinstance(want, pa.Scalar):
            assert same(have.as_py(), want.as_py(), near), f"{name}: {have!r}, not {want!r}"
        else:
            assert len(have) == len(want), f"{name}: {len(have)} rows, not {len(want)}"
            for i, (x, y) in enumerate(zip(rows(have), rows(want), strict=True)):
                assert same(x, y, False), f"{name}: row {i} is {x!r}, not {y!r}"
        if OPENCL and small(args) and options.get("target_type", pa.int32()) in THERE:
            _, there = ours(name, args, options, "opencl")
            assert repr(there.to_pylist()) == repr(array.to_pylist()), f"{name}: another result on OpenCL"
            return "equal on both"
    except AssertionError:
        told(name, args, options)
        raise
    return "equal"


def told(name, args, options):
    for a in args:
        print(f"{type(a).__name__} {a.type} {str(a)[:600]}", file=sys.stderr)
    print(name, options, file=sys.stderr)


if __name__ == "__main__":
    driver.run("compute", case, *driver.arguments())
