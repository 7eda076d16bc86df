"""Functions of arguments that chance draws, on the CPU and on OpenCL, against pyarrow.compute and a model of our own.

    python tests/fuzz/compute.py SECONDS [SEED]

What the model gives (model.py, written from the specification) must come out; where it says nothing, what pyarrow
gives.  A result that the model agrees with ends no run because pyarrow has another: that is counted.  What is refused
for its values must be refused.  Arguments come whole, in chunks, and as single values of every origin; the devices must agree to the bit,
but for which bits a NaN has.  A finding ends the process.
"""

import math
import os
import random
import sys

os.environ["CDEVICE_BACKENDS"] = "-pyarrow"  # or it would be held against itself

import driver
import model
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import whole_columns
from columns import DECIMALS, INTEGERS, NUMBERS, SIZED, TEXTS, TIMES, any_type, column
from model import rows

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


PAIRED = [*NUMBERS, pa.float16(), pa.bool_(), *TIMES, pa.timestamp("s"), pa.duration("s"), *TEXTS, pa.null()]


def of_two_types(rng, n):
    """Any two types: what becomes of them, or that they are refused."""
    a, b = rng.choice(PAIRED), rng.choice(PAIRED)
    if rng.random() < 0.5:
        a, b = rng.choice((NUMBERS, TIMES)), None
        a, b = rng.choice(a), rng.choice(a)
    name = rng.choice((*ARITHMETIC, *COMPARES, *COMPARES, "if_else", "fill_null", "coalesce", *LOGIC))
    args = [column(rng, a, n), column(rng, b, n)]
    if rng.random() < 0.3:
        k = rng.randrange(2)
        args[k] = scalar_of(rng, args[k])
    return name, [*([column(rng, pa.bool_(), n)] if name == "if_else" else []), *args], {}


def in_chunks(rng, x):
    """An array in a few pieces, empty ones among them."""
    cuts = sorted(rng.randrange(len(x) + 1) for _ in range(rng.choice((1, 2, 3))))
    return pa.chunked_array([x[i:j] for i, j in zip([0, *cuts], [*cuts, len(x)], strict=True)], x.type)


def of_origin(rng, x):
    """A single value as another library has it; of the same type, or of none that says so."""
    word, value = rng.choice(("pyarrow", "numpy", "array", "ours")), None
    if word == "ours":
        return cc.Scalar(cdevice.asarray(pa.repeat(x, 1)))
    if word != "pyarrow" and x.is_valid and (x.type in NUMBERS or x.type == pa.bool_()):
        value = np.array(x.as_py(), x.type.to_pandas_dtype())
        return value[()] if word == "numpy" else value
    return x


def drawn(rng):
    """(name, arguments, options)"""
    n = rng.choice((0, 1, 5, 31, 32, 64, 100, 100, 300, 9000 if rng.random() < 0.1 else 40))
    kind = rng.randrange(20)
    if kind >= 13:
        return whole_columns.drawn(rng, n)
    if kind == 11:
        return of_two_types(rng, n)
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
    elif kind == 10:
        name = rng.choice(("array_sort_indices", "rank", "value_counts", "unique", "dictionary_encode"))
        t = rng.choice([*SIZED, *TEXTS, pa.bool_()])  # of encoded ones pyarrow compares the indices
        order, placement = rng.choice(("ascending", "descending")), rng.choice(("at_end", "at_start"))
        options = {"order": order, "null_placement": placement} if name == "array_sort_indices" else {}
        if name == "rank":
            ties = rng.choice(("min", "max", "first", "dense"))
            options = {"sort_keys": [("", order, placement)], "tiebreaker": ties}
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
            return a == b or math.isclose(a, b, rel_tol=near, abs_tol=1e-6)
    return repr(a) == repr(b)


def ours(name, args, options, device, rng=None):
    """The result as pyarrow has it, and the array that it was.  ``rng``: arguments come in other forms."""
    at = []
    for a in args:
        if rng is not None and isinstance(a, pa.Array) and rng.random() < 0.3:
            a = in_chunks(rng, a)
        if isinstance(a, pa.Scalar):
            at.append(a if rng is None else of_origin(rng, a))
        elif isinstance(a, pa.Array):
            at.append(cdevice.asarray(a).to(device))
        else:
            at.append([cdevice.asarray(c).to(device) for c in a.chunks])
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


def of_model(name, args, options):
    """(type, values), an exception that must come, or None where the model says nothing."""
    try:
        return model.model(name, args, options)
    except model.Unknown:
        return None
    except model.Refused as e:
        return e


CUTS = ("binary_replace_slice",)


def of_pyarrow(name, args, options):
    """The result, or the exception."""
    try:
        known = [as_known(a) if name in COMPARES else a for a in args]
        if name == "select_k_unstable":  # theirs is not stable
            (_, order), *_ = options["sort_keys"]
            return pc.array_sort_indices(known[0], order=order)[: options["k"]]
        theirs = getattr(pc, name, None)
        out = theirs(*known, **options) if theirs else pc.call_function(name, known)
        if name in CUTS:  # theirs cuts characters of strings
            out.validate(full=True)
    except (pa.ArrowException, ValueError, TypeError, AttributeError, OverflowError) as e:
        return e
    return out.combine_chunks() if isinstance(out, pa.ChunkedArray) else out


def equals(have, want, near):
    """Does a result have these (type, values)?"""
    t, values = want
    if have.type != t:
        return False
    got = rows(have)
    near = near and (5e-7 if have.type == pa.float32() else 1e-9)  # the last bits of float32 are more
    values = values if isinstance(values, list) else [values]
    return len(got) == len(values) and all(same(x, y, near) for x, y in zip(got, values, strict=True))


# what these give follows from the rows as they are shown, whatever encodes them
ROWS = ("drop_null", "is_null", "is_valid", "count", "filter", "take")


def is_encoded(t):
    return pa.types.is_dictionary(t) or pa.types.is_union(t) or pa.types.is_run_end_encoded(t)


def is_bytes(t):
    if pa.types.is_dictionary(t):
        return is_bytes(t.value_type)
    if pa.types.is_run_end_encoded(t):
        return is_bytes(t.value_type)
    return any(
        f(t)
        for f in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    )


def is_text(t):
    return pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t)


def judged(name, args, options, have):
    """A word for the result, or AssertionError."""
    near = name in (
        "sum",
        "mean",
        "min",
        "max",
        "min_max",
        *whole_columns.NEAR,
    )  # which of two zeros is the least is open
    plain, theirs = of_model(name, args, options), of_pyarrow(name, args, options)
    agrees = not isinstance(theirs, Exception) and equals(have, (theirs.type, rows(theirs)), near)
    if isinstance(plain, model.Refused):
        assert not isinstance(theirs, Exception) and agrees, f"{name}: {have}, the model refuses: {plain}"
        return "pyarrow alone"
    if plain is not None and (name in ROWS or not any(is_encoded(a.type) for a in args)):
        assert equals(have, plain, near), f"{name}: {have}, the model has {plain[0]} {str(plain[1])[:500]}"
        return "equal" if agrees else "pyarrow has another"
    if isinstance(theirs, (pa.ArrowNotImplementedError, AttributeError)):  # its fill_null takes scalars alone
        return "ours alone"
    if name == "fill_null" and args[0].type != args[1].type:
        return "ours alone"  # theirs cuts what does not fit
    if any(isinstance(a, pa.Scalar) and not a.is_valid for a in args) and not any(x is not None for x in rows(have)):
        return "equal" if agrees else "ours alone"  # theirs computes with what is behind a null, and checks it
    if agrees:
        return "equal"
    if "acceptable range of" in str(theirs) and any(a.null_count for a in args if isinstance(a, pa.Array)):
        return "ours alone"  # theirs checks times of day behind a null
    assert not isinstance(theirs, Exception), f"{name}: {theirs!r}, here {have}"
    raise AssertionError(f"{name}: {have!r}, pyarrow has {theirs!r}")


def _lines(batch):
    """The rows, in an order that tells nothing of how they were found."""
    return sorted(map(repr, batch.to_pylist()))


def tables(rng):
    """Groups of rows, or a join, on the CPU and on OpenCL."""
    n = rng.choice((0, 1, 5, 64, 100, 700))
    places = ["cpu", "opencl"] if OPENCL and rng.random() < 0.2 else ["cpu"]
    if rng.random() < 0.5:
        batch, keys, wanted = whole_columns.groups(rng, n)
        name, told_of = "group_by", (batch, keys, wanted)
        want = pa.Table.from_batches([batch]).group_by(keys, use_threads=False).aggregate(wanted).select(
            [*keys, *(f"{c}_{f}" if c else f for c, f in wanted)])  # fmt: skip
        ours = [cc.group_by(cdevice.asarray(batch).to(p), keys).aggregate(wanted).to("cpu") for p in places]
    else:
        left, right, keys, how = whole_columns.joined(rng, n)
        name, told_of = how, (left, right, keys)
        want = pa.Table.from_batches([left]).join(pa.Table.from_batches([right]), keys, join_type=how)
        ours = [
            cc.join(*(cdevice.asarray(x).to(p) for x in (left, right)), keys, join_type=how).to("cpu") for p in places
        ]
    found = [pa.record_batch(x) for x in ours]
    for x in found:
        x.validate(full=True)
        same = x.schema.names == want.column_names and _lines(x) == _lines(want)
        if not same:
            print(*told_of, sep="\n", file=sys.stderr)
        assert same, f"{name}: {_lines(x)[:9]}, pyarrow has {_lines(want)[:9]}"
    return "equal on both" if len(found) > 1 else "equal"


def case(seed):
    rng = random.Random(seed)
    os.environ["CDEVICE_CPU_KERNELS"] = rng.choice(("base", "best"))
    cc.set_cpu_count(rng.choice((1, 2, 5)))
    if rng.random() < 0.1:
        return tables(rng)
    name, args, options = drawn(rng)
    if name == "cast" and not options.get("safe", True) and is_bytes(args[0].type) and is_text(options["target_type"]):
        return "text that is not looked at"
    forms = random.Random(seed) if rng.random() < 0.4 else None
    try:
        try:
            have, array = ours(name, args, options, "cpu", forms)
        except cc.NoKernel:
            return "no kernel"
        except REFUSED as e:
            plain, theirs = of_model(name, args, options), of_pyarrow(name, args, options)
            typed = "Precision" in str(e) and not len(args[0])  # types are looked at without rows
            if isinstance(plain, model.Refused) or typed or (plain is None and isinstance(theirs, Exception)):
                return "refused"
            raise AssertionError(f"{name}: refused ({e!r}), where the model has {plain}, pyarrow {theirs}") from e
        word = judged(name, args, options, have)
        if forms is not None and name in ("sum", "mean", "variance", "stddev", "skew", "kurtosis"):
            return word  # chunks are added up by another tree
        if OPENCL and small(args) and options.get("target_type", pa.int32()) in THERE:
            _, there = ours(name, args, options, "opencl")
            assert repr(there.to_pylist()) == repr(array.to_pylist()), f"{name}: another result on OpenCL"
            return f"{word} on both"
        return word
    except AssertionError:
        told(name, args, options)
        raise


def told(name, args, options):
    for a in args:
        print(f"{type(a).__name__} {a.type} {str(a)[:600]}", file=sys.stderr)
    print(name, options, file=sys.stderr)


if __name__ == "__main__":
    driver.run("compute", case, *driver.arguments())
