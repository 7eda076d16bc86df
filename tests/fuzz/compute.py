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
import re
import sys

os.environ["CDEVICE_BACKENDS"] = "-pyarrow"  # or it would be held against itself

import choices
import decimals
import driver
import grouped
import literals
import model
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import vectors
import whole_columns
from columns import DECIMALS, INTEGERS, NUMBERS, SCALES, SIZED, TEXTS, TIMES, VIEWS, any_type, column
from model import rows

import cdevice
import cdevice.compute as cc

OPENCL = cdevice.device("opencl").is_available and not os.environ.get("FUZZ_CPU")
REFUSED = (cdevice.Error, ValueError, TypeError, OverflowError)

# those that OpenCL is tried with: each type and function is a program to build
FLOATS = [pa.float16(), pa.float32(), pa.float64()]
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
LAYOUTS = [*TEXTS, *VIEWS, pa.binary(5)]  # of strings and bytes
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


def casts(rng, n):
    """Any two types of a family; lists of such too."""
    families = (
        [*NUMBERS, pa.bool_()],
        [*TIMES, pa.int64()],
        [*INTEGERS, *DECIMALS, *SCALES],
        [*FLOATS, *DECIMALS, *SCALES],
        LAYOUTS,
    )
    kinds = rng.choice(families)
    t, to = rng.choice([*kinds, pa.null()]), rng.choice([*TEXTS, *VIEWS] if kinds is LAYOUTS else kinds)
    safe = kinds[-1] == pa.bool_() or rng.random() < 0.5
    if rng.random() < 0.1 and kinds is not LAYOUTS and t != pa.null():
        size, safe = rng.randrange(4), safe or bool({t, to} & {*DECIMALS})  # what does not fit is open
        t, to = rng.choice(
            (
                (pa.list_(t), pa.list_(to)),
                (pa.list_(t), pa.large_list(to)),
                (pa.list_(t, size), pa.list_(to, size)),
                (pa.list_(t, size), pa.list_(to)),
            )
        )
    elif rng.random() < 0.1:
        t, to = rng.choice([*NUMBERS, *DECIMALS, *TIMES[:5]]), rng.choice(VIEWS[:1])
    return "cast", [column(rng, t, n)], {"target_type": to, "safe": safe}


# one value of all rows, or one of each, whatever encodes them
BY_VALUE = ("count_distinct", "mode", "min", "max", "min_max", "sum", "mean", "is_in", "index_in", "index")


def is_view(t):
    return "_view" in str(t)


def encoded(rng, x):
    """The same rows with their nulls among the values, too."""
    try:
        if rng.random() < 0.5:
            return pc.run_end_encode(x)
        nulls = rng.choice(("mask", "encode"))
        return x.dictionary_encode("mask" if is_view(x.type) else nulls)  # of views theirs encodes null as ""
    except pa.ArrowNotImplementedError:
        return x


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


# a family of functions, one of them drawn as often as another
FAMILIES = [(f,) for f in whole_columns.FAMILIES]
FAMILIES += [choices.FAMILIES, vectors.FAMILIES, literals.FAMILIES] * 3


def drawn(rng):
    """(name, arguments, options)"""
    n = rng.choice((0, 1, 5, 31, 32, 64, 100, 100, 300, 9000 if rng.random() < 0.1 else 40))
    if rng.random() < 0.57:
        return rng.choice(rng.choice(FAMILIES))(rng, n)
    return plainest(rng, n)


def plainest(rng, n):
    """Functions of numbers, rows that are chosen, and aggregates."""
    kind = rng.randrange(13)
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
        return casts(rng, n)
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


def uncounted(rng, a, device):
    """On a device, half of the time with a null behind its rows: whether they have one is not known there."""
    if rng is not None and device != "cpu" and rng.random() < 0.5:
        try:
            if isinstance(a, pa.RecordBatch):
                longer = [pa.concat_arrays([c, pa.nulls(1, c.type)]) for c in a.columns]
                return cdevice.asarray(pa.record_batch(longer, schema=a.schema)).to(device)[: len(a)]
            return cdevice.asarray(pa.concat_arrays([a, pa.nulls(1, a.type)])).to(device)[: len(a)]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # types that pyarrow does not put together
            pass
    return cdevice.asarray(a).to(device)


def ours(name, args, options, device, rng=None, nulls=None):
    """The result as pyarrow has it, and the array that it was.  ``rng``: arguments come in other forms; ``nulls``: a
    generator, too, for :func:`uncounted`."""
    at = []
    for a in args:
        if rng is not None and isinstance(a, pa.Array) and rng.random() < 0.3:
            a = in_chunks(rng, a)
        if (
            rng is not None
            and isinstance(a, pa.Array)
            and name in BY_VALUE
            and not is_encoded(a.type)
            and rng.random() < 0.3
        ):
            a = encoded(rng, a)
        if isinstance(a, literals.Literal):
            at.append(a.value)
        elif isinstance(a, pa.Scalar):
            at.append(a if rng is None else of_origin(rng, a))
        elif isinstance(a, pa.Array):
            at.append(uncounted(nulls, a, device))
        else:
            at.append([cdevice.asarray(c).to(device) for c in a.chunks])
    given = {k: literals.given(v) for k, v in options.items()}
    given = {k: uncounted(nulls, v, device) if isinstance(v, pa.Array) else v for k, v in given.items()}
    out = getattr(cc, name)(*at, **given)
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
    for one in (vectors.model, decimals.model, model.model):
        try:
            if one is vectors.model and name in choices.MODELS:
                return choices.MODELS[name](args, options)
            return one(name, args, options)
        except model.Unknown:
            pass
        except (model.Refused, model.Open) as e:
            return e
    return None


CUTS = ("binary_replace_slice",)


def wider(x):
    """Decimals of 32 and 64 bits as those of 128, which pyarrow has more functions for."""
    t = getattr(x, "type", None)
    if t is None or not pa.types.is_decimal(t) or t.bit_width > 64:
        return x
    return x.cast(pa.decimal128(t.precision, t.scale))


def of_pyarrow(name, args, options):
    """The result, or the exception."""
    out = _of_pyarrow(name, args, options)
    if isinstance(out, NotImplementedError):
        wide, more = [wider(a) for a in args], {k: wider(v) for k, v in options.items()}
        if any(a is not b for a, b in zip(wide, args, strict=True)):
            return _of_pyarrow(name, wide, more)
    return out


def _of_pyarrow(name, args, options):
    if name == "choose" and len({a.type for a in args[1:]}) > 1 or name == "year_month_day":
        return NotImplementedError("theirs reads or writes memory that is not its own")
    try:
        known = [as_known(a) if name in COMPARES else a for a in args]
        if name == "select_k_unstable":  # theirs is not stable
            (_, order), *_ = options["sort_keys"]
            return pc.array_sort_indices(known[0], order=order)[: options["k"]]
        theirs = getattr(pc, name, None)
        if name.endswith("_substring_regex") and not len(known[0]):  # it reads the pattern where there is a row
            theirs(pa.array([b"" if is_bytes(known[0].type) else ""], known[0].type), **options)
        out = theirs(*known, **options) if theirs else pc.call_function(name, known)
        if name in CUTS:  # theirs cuts characters of strings
            out.validate(full=True)
    except (pa.ArrowException, NotImplementedError, ValueError, TypeError, AttributeError, OverflowError) as e:
        return e
    return out.combine_chunks() if isinstance(out, pa.ChunkedArray) else out


def _loosely(t):
    """A type without the width of narrow decimals, which pyarrow widens, and without the layout of strings."""
    plain = re.sub(r"decimal(32|64)\(", "decimal128(", str(t))
    return re.sub(r"(large_)?(string|binary)(_view)?", r"\2", plain)


def equals(have, want, near, loose=False):
    """Does a result have these (type, values)?"""
    t, values = want
    if have.type != t and not (loose and _loosely(have.type) == _loosely(t)):
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


def judged(name, args, options, have, literal=False):
    """A word for the result, or AssertionError."""
    loose = name not in ARITHMETIC and name != "cast"
    loose = loose and (literal or any(re.search(r"decimal(32|64)\(", str(a.type)) for a in args))
    have_rows = name in choices.CHOICES and any(is_encoded(a.type) for a in args)
    near = name in (
        "sum",
        "mean",
        "min",
        "max",
        "min_max",
        *whole_columns.NEAR,
    )  # which of two zeros is the least is open
    plain, theirs = of_model(name, args, options), of_pyarrow(name, args, options)
    agrees = not isinstance(theirs, Exception) and equals(have, (theirs.type, rows(theirs)), near, loose)
    if isinstance(plain, model.Open):
        return "open"
    if isinstance(plain, model.Refused):
        assert not isinstance(theirs, Exception) and agrees, f"{name}: {have}, the model refuses: {plain}"
        return "pyarrow alone"
    if plain is not None and have_rows:
        assert equals(have, (have.type, plain[1]), near), f"{name}: {have}, the model has {str(plain[1])[:500]}"
        return "equal" if agrees else "pyarrow has another"
    if plain is not None and (name in ROWS or not any(is_encoded(a.type) for a in args)):
        assert equals(have, plain, near, loose), f"{name}: {have}, the model has {plain[0]} {str(plain[1])[:500]}"
        return "equal" if agrees else "pyarrow has another"
    if isinstance(theirs, (NotImplementedError, AttributeError)):  # its fill_null takes scalars alone
        return "ours alone"
    if name == "fill_null" and args[0].type != args[1].type:
        return "ours alone"  # theirs cuts what does not fit
    if any(isinstance(a, pa.Scalar) and not a.is_valid for a in args) and not any(x is not None for x in rows(have)):
        return "equal" if agrees else "ours alone"  # theirs computes with what is behind a null, and checks it
    if agrees:
        return "equal"
    if "acceptable range of" in str(theirs) and any(a.null_count for a in args if isinstance(a, pa.Array)):
        return "ours alone"  # theirs checks times of day behind a null
    if name == "cast" and pa.types.is_fixed_size_list(args[0].type) and args[0].flatten().null_count:
        return "ours alone"  # theirs casts what is behind a null of its values
    assert not isinstance(theirs, Exception), f"{name}: {theirs!r}, here {have}"
    raise AssertionError(f"{name}: {have!r}, pyarrow has {theirs!r}")


def _wide_batch(batch):
    """What pyarrow groups and joins: it has no narrow decimals there."""
    return pa.record_batch({name: wider(c) for name, c in zip(batch.schema.names, batch.columns, strict=True)})


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
        want = pa.Table.from_batches([_wide_batch(batch)]).group_by(keys, use_threads=False).aggregate(wanted).select(
            [*keys, *(f"{c}_{f}" if c else f for c, f in wanted)])  # fmt: skip
        ours = [cc.group_by(uncounted(rng, batch, p), keys).aggregate(wanted).to("cpu") for p in places]
    else:
        left, right, keys, how = whole_columns.joined(rng, n)
        name, told_of = how, (left, right, keys)
        theirs = [pa.Table.from_batches([_wide_batch(x)]) for x in (left, right)]
        want = theirs[0].join(theirs[1], keys, join_type=how)
        ours = [cc.join(*(uncounted(rng, x, p) for x in (left, right)), keys, join_type=how).to("cpu") for p in places]
    found = [pa.record_batch(x) for x in ours]
    for x in found:
        x.validate(full=all(not pa.types.is_decimal(t) for t in x.schema.types))  # sums may have a digit more
        same = x.schema.names == want.column_names and _lines(x) == _lines(want)
        if not same:
            print(*told_of, sep="\n", file=sys.stderr)
        assert same, f"{name}: {_lines(x)[:9]}, pyarrow has {_lines(want)[:9]}"
    return "equal on both" if len(found) > 1 else "equal"


def groups_or_join(rng):
    if rng.random() < 0.6:
        return tables(rng)
    places = ["cpu", "opencl"] if OPENCL and rng.random() < 0.2 else ["cpu"]
    return grouped.check(rng, rng.choice((0, 1, 5, 64, 100, 700)), places)


def case(seed):
    rng = random.Random(seed)
    os.environ["CDEVICE_CPU_KERNELS"] = rng.choice(("base", "best"))
    cc.set_cpu_count(rng.choice((1, 2, 5)))
    if rng.random() < 0.15:
        return groups_or_join(rng)
    name, made, given = drawn(rng)
    args, options = [literals.plain(a) for a in made], {k: literals.plain(v) for k, v in given.items()}
    if name == "cast" and not options.get("safe", True) and is_bytes(args[0].type) and is_text(options["target_type"]):
        return "text that is not looked at"
    forms = random.Random(seed) if rng.random() < 0.4 else None
    try:
        try:
            have, array = ours(name, made, given, "cpu", forms)
        except cc.NoKernel:
            return "no kernel"
        except REFUSED as e:
            plain, theirs = of_model(name, args, options), of_pyarrow(name, args, options)
            typed = "Precision" in str(e) and (
                not len(args[0]) or hasattr(args[0].type, "value_field")
            )  # types are looked at without rows
            typed = typed or (name == "fill_null" and "without loss" in str(e))  # theirs cuts what does not fit
            if name == "cast" and pa.types.is_fixed_size_list(args[0].type):
                typed = typed or isinstance(theirs, Exception)  # in both, values behind nulls count
            if (
                isinstance(plain, (model.Refused, model.Open))
                or typed
                or (plain is None and isinstance(theirs, Exception))
            ):
                return "refused"
            raise AssertionError(f"{name}: refused ({e!r}), where the model has {plain}, pyarrow {theirs}") from e
        word = judged(name, args, options, have, any(isinstance(a, literals.Literal) for a in made))
        if forms is not None and name in ("sum", "mean", "variance", "stddev", "skew", "kurtosis"):
            return word  # chunks are added up by another tree
        if OPENCL and small(args) and options.get("target_type", pa.int32()) in THERE:
            _, there = ours(name, made, given, "opencl", nulls=rng)
            assert repr(there.to_pylist()) == repr(array.to_pylist()), f"{name}: another result on OpenCL"
            return f"{word} on both"
        return word
    except AssertionError:
        told(name, made, given)
        raise


def told(name, args, options):
    for a in args:
        if isinstance(a, literals.Literal):
            print(a, file=sys.stderr)
            continue
        print(f"{type(a).__name__} {a.type} {str(a)[:600]}", file=sys.stderr)
    print(name, options, file=sys.stderr)


# functions that are not drawn, and why
NOT_DRAWN = {
    **dict.fromkeys((f"hash_{name}" for name in grouped.NAMES), "grouped.py draws them"),
    "sort_by": "sort_indices and take",
    "partition_nth_indices": "which rows come first is open",
}


if __name__ == "__main__":
    driver.run("compute", case, *driver.arguments())
