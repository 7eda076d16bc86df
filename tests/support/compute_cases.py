"""Arguments of functions, and what pyarrow.compute makes of them: the table that every device is held against."""

from __future__ import annotations

import itertools
import random
import struct

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cdevice
import cdevice.compute as cc

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = INTEGERS + FLOATS
TIMES = ("date32[day]", "time32[s]", "time64[us]", "timestamp[ms]", "duration[ns]")
# where the table is run: the device, and the environment that says how
_OWN = {"CDEVICE_BACKENDS": "-pyarrow"}  # the oracle is not to be held against itself
PLACES = {
    "cpu": ("cpu", _OWN),
    "cpu-base": ("cpu", {"CDEVICE_CPU_KERNELS": "base", **_OWN}),
    "opencl-items": ("opencl", {"CDEVICE_COMPUTE_SHAPE": "items"}),
    "opencl-block": ("opencl", {"CDEVICE_COMPUTE_SHAPE": "block"}),
}
# memory that the CPU reads, and whose device has no kernels
COMPUTED = {"cuda_host": "cpu", "rocm_host": "cpu"}
HERE = {"int32", "int64", "uint8", "float32", "float64", "bool"}  # types that are tried on every device
SLICES = ((0, 100), (1, 67), (31, 65), (33, 64), (0, 0), (5, 1), (7, 32))


def enter(place, monkeypatch):
    """The device of a place, as it is asked for."""
    device, environment = PLACES[place]
    if device != "cpu" and not cdevice.device(device).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return device


def places(*types):
    """Those where all of these types are tried."""
    return [p for p in PLACES if p.startswith("cpu") or set(types) <= HERE]


def limits(word):
    bits = int("".join(filter(str.isdigit, word)))
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if word.startswith("i") else (0, (1 << bits) - 1)


def values_of(word, n, seed):
    """Values with what is odd about a type among them."""
    rng = random.Random(f"{word}{seed}")
    if word == "bool":
        return [rng.random() < 0.5 for _ in range(n)]
    if word in FLOATS:
        odd = [
            float("nan"),
            float("inf"),
            float("-inf"),
            0.0,
            -0.0,
            1e30,
            -1e30,
            1.5,
            5e-324 if word == "float64" else 1e-45,
        ]
        drawn = [rng.choice(odd) if rng.random() < 0.2 else rng.uniform(-1000, 1000) for _ in range(n)]
        return [struct.unpack("f", struct.pack("f", v))[0] for v in drawn] if word == "float32" else drawn
    low, high = limits(word)
    return [rng.choice([low, high, 0, 1, low + 1]) if rng.random() < 0.2 else rng.randint(low, high) for _ in range(n)]


def column(word, n=140, seed=0, nulls=0.2):
    """A pyarrow array; of times too."""
    if nulls == 1:
        return pa.nulls(n, typed(word))
    rng = random.Random(seed)
    storage = {"date32[day]": "int32", "time32[s]": "int32"}.get(word, "int64") if word in TIMES else word
    drawn = values_of(storage, n, seed)
    if word in TIMES:
        most = {"time32[s]": 86399, "time64[us]": 86399999999, "date32[day]": 99999}.get(word, 1 << 30)
        drawn = [abs(v) % most for v in drawn]
    made = [None if rng.random() < nulls else v for v in drawn]
    array = pa.array(made, getattr(pa, storage)() if storage != "bool" else pa.bool_())
    return array.cast(typed(word)) if word in TIMES else array


def typed(word):
    return {
        "bool": pa.bool_(),
        "date32[day]": pa.date32(),
        "time32[s]": pa.time32("s"),
        "time64[us]": pa.time64("us"),
        "timestamp[ms]": pa.timestamp("ms"),
        "duration[ns]": pa.duration("ns"),
    }.get(word) or getattr(pa, word)()


# What pyarrow gives there has changed: nulls in dictionaries, distinct values of views, differences of slices, bits of slices,
# decimals rounded to a column of digits, a running maximum behind NaN; modulo and remainder are new.  Python 3.10 has 25.
OLDER_PYARROW = int(pa.__version__.split(".")[0]) < 26
OLDER = "older versions give other values: pip install 'pyarrow>=26'"
OF_PYARROW_26 = pytest.mark.skipif(OLDER_PYARROW, reason=OLDER)


def shown(x):
    """What must be equal, and is: values as they print, so that not a number is itself and -0.0 is not 0.0."""
    return [repr(v) for v in x.to_pylist()]


def there(x, device):
    """An argument on a device; what is a Python value stays one."""
    return cdevice.asarray(x).to(device) if isinstance(x, (pa.Array, pa.RecordBatch)) else x


def back(x):
    """A result as pyarrow has it."""
    if isinstance(x, cc.Scalar):
        return pa.array(x.array.to("cpu"))[0]
    here = x.to("cpu")
    here.validate("full")
    return pa.array(here)


def drawn(values, kind=None, n=300):
    """Rows that are chosen of some values, always the same."""
    rng = random.Random(repr(values))
    return pa.array([rng.choice(values) for _ in range(n)], kind)


def check(device, name, args, expected=None, **options):
    """Calls a function on a device and holds it against pyarrow's answer; gives the result."""
    got = getattr(cc, name)(*(there(a, device) for a in args), **options)
    place = got.array.device if isinstance(got, cc.Scalar) else got.device
    assert place.type.name.lower() in (COMPUTED.get(device, device), device)
    want = (
        expected if expected is not None else getattr(pc, name.rstrip("_") + "_" * name.endswith("_"))(*args, **options)
    )
    have = back(got)
    assert have.type == want.type, (name, have.type, want.type)
    if isinstance(want, pa.Scalar):
        assert repr(have.as_py()) == repr(want.as_py()), (name, args)
    else:
        assert shown(have) == shown(want), (name, args)
    return got


def pairs(word, other=None):
    """Two columns, sliced, with nulls in both, one or none, and single values beside them."""
    a, b = column(word, seed=1), column(other or word, seed=2)
    whole = column(word, seed=3, nulls=0)
    none = column(word, 40, nulls=1)
    for (i, n), (j, _) in itertools.product(SLICES, SLICES[:4]):
        yield a.slice(i, n), b.slice(j, n)
    yield whole.slice(3, 100), b.slice(1, 100)
    yield whole, whole
    yield none, b.slice(0, 40)


# for calls on a queue that is held
ROWS = [1, None, 3, 4, -5, 6] * 11
TRUTHS = [True, None, False] * 22
CALLS = {
    "add": lambda x, b, s: cc.add(x, 1, stream=s),
    "subtract": lambda x, b, s: cc.subtract(x, x, stream=s),
    "multiply": lambda x, b, s: cc.multiply(2, x, stream=s),
    "negate": lambda x, b, s: cc.negate(x, stream=s),
    "abs": lambda x, b, s: cc.abs(x, stream=s),
    "equal": lambda x, b, s: cc.equal(x, x, stream=s),
    "not_equal": lambda x, b, s: cc.not_equal(x, 3, stream=s),
    "less": lambda x, b, s: cc.less(x, 3, stream=s),
    "less_equal": lambda x, b, s: cc.less_equal(x, 3, stream=s),
    "greater": lambda x, b, s: cc.greater(x, 3, stream=s),
    "greater_equal": lambda x, b, s: cc.greater_equal(x, 3, stream=s),
    "is_null": lambda x, b, s: cc.is_null(x, stream=s),
    "is_valid": lambda x, b, s: cc.is_valid(x, stream=s),
    "is_nan": lambda x, b, s: cc.is_nan(cc.cast(x, "float64", safe=False, stream=s), stream=s),
    "divide": lambda x, b, s: cc.divide(cc.cast(x, "float64", safe=False, stream=s), 2.0, stream=s),
    "and_": lambda x, b, s: cc.and_(b, b, stream=s),
    "or_": lambda x, b, s: cc.or_(b, True, stream=s),
    "xor": lambda x, b, s: cc.xor(b, b, stream=s),
    "and_kleene": lambda x, b, s: cc.and_kleene(b, False, stream=s),
    "or_kleene": lambda x, b, s: cc.or_kleene(b, b, stream=s),
    "invert": lambda x, b, s: cc.invert(b, stream=s),
    "if_else": lambda x, b, s: cc.if_else(b, x, 0, stream=s),
    "fill_null": lambda x, b, s: cc.fill_null(x, 7, stream=s),
    "coalesce": lambda x, b, s: cc.coalesce(x, x, 0, stream=s),
    "cast": lambda x, b, s: cc.cast(x, "int32", safe=False, stream=s),
    "take": lambda x, b, s: cc.take(x, x[2:4], boundscheck=False, stream=s),
    "sum": lambda x, b, s: cc.sum(x, stream=s).array,
    "mean": lambda x, b, s: cc.mean(x, stream=s).array,
    "product": lambda x, b, s: cc.product(x, stream=s).array,
    "variance": lambda x, b, s: cc.variance(x, stream=s).array,
    "stddev": lambda x, b, s: cc.stddev(x, ddof=1, stream=s).array,
    "skew": lambda x, b, s: cc.skew(x, stream=s).array,
    "kurtosis": lambda x, b, s: cc.kurtosis(x, biased=False, stream=s).array,
    "min_max": lambda x, b, s: cc.min_max(x, stream=s).array,
    "min": lambda x, b, s: cc.min(x, stream=s).array,
    "max": lambda x, b, s: cc.max(x, stream=s).array,
    "count": lambda x, b, s: cc.count(x, stream=s).array,
    "any": lambda x, b, s: cc.any(b, stream=s).array,
    "all": lambda x, b, s: cc.all(b, stream=s).array,
    "cumulative_sum": lambda x, b, s: cc.cumulative_sum(x, skip_nulls=True, stream=s),
    "cumulative_prod": lambda x, b, s: cc.cumulative_prod(x, stream=s),
    "cumulative_min": lambda x, b, s: cc.cumulative_min(x, stream=s),
    "cumulative_max": lambda x, b, s: cc.cumulative_max(x, 3, stream=s),
    "cumulative_mean": lambda x, b, s: cc.cumulative_mean(x, skip_nulls=True, stream=s),
    "pairwise_diff": lambda x, b, s: cc.pairwise_diff(x, 2, stream=s),
    "fill_null_forward": lambda x, b, s: cc.fill_null_forward(x, stream=s),
    "first": lambda x, b, s: cc.first(x, stream=s).array,
    "last": lambda x, b, s: cc.last(x, stream=s).array,
    "first_last": lambda x, b, s: cc.first_last(x, stream=s).array,
}
_TIMES = (
    "year month day quarter day_of_year day_of_week week iso_year iso_week us_year us_week is_leap_year hour minute"
)
_TIMES += " second millisecond microsecond nanosecond subsecond year_month_day iso_calendar local_timestamp is_dst"
_TIMES += " floor_temporal ceil_temporal round_temporal"
_BETWEEN = (
    "years quarters weeks days hours minutes seconds milliseconds microseconds nanoseconds month_day_nano_interval"
)


def _of_seconds(name):
    f = getattr(cc, name)
    kind = "timestamp[s, Europe/Berlin]" if name in ("hour", "local_timestamp", "is_dst") else "timestamp[s]"
    return lambda x, b, s: f(cc.cast(x, kind, safe=False, stream=s), stream=s)


def _of_two(name):
    f = getattr(cc, name)

    def cast(x, s):
        return cc.cast(x, "timestamp[s]", safe=False, stream=s)

    return lambda x, b, s: f(cast(x, s), cast(cc.multiply(x, 99999, stream=s), s), stream=s)


CALLS |= {name: _of_seconds(name) for name in _TIMES.split()}
_REALS = "floor ceil trunc round is_finite is_inf exp expm1 ln log2 log10 log1p sqrt cbrt sin cos tan asin acos atan sinh cosh"
_REALS += " tanh asinh acosh atanh"
_PAIRS = "power logb atan2 hypot modulo remainder"
_BITS = "bit_wise_and bit_wise_or bit_wise_xor shift_left shift_right min_element_wise max_element_wise"


def _of_floats(name, n=1):
    f = getattr(cc, name)
    return lambda x, b, s: f(*(cc.cast(x, "float64", safe=False, stream=s),) * n, stream=s)


def _of_integers(name, n=2):
    f = getattr(cc, name)
    return lambda x, b, s: f(*(x,) * n, stream=s)


CALLS |= {name: _of_floats(name) for name in _REALS.split()}
CALLS |= {name: _of_floats(name, 2) for name in _PAIRS.split()}
CALLS |= {name: _of_integers(name) for name in _BITS.split()}
CALLS |= {name: _of_integers(name, 1) for name in ("bit_wise_not", "sign", "true_unless_null")}
CALLS |= {
    "and_not": lambda x, b, s: cc.and_not(b, b, stream=s),
    "and_not_kleene": lambda x, b, s: cc.and_not_kleene(b, b, stream=s),
}
CALLS |= {f"{name}_between": _of_two(f"{name}_between") for name in _BETWEEN.split()}
# what reads a number or a complaint before it returns
WAITS = {"filter", "drop_null"} | {n for n in cc.list_functions() if n.endswith("_checked")}
WAITS |= {"array_sort_indices", "sort_indices", "sort_by", "select_k_unstable", "partition_nth_indices", "rank"}
WAITS |= {"unique", "value_counts", "dictionary_encode", "count_distinct"}
WAITS |= {"fill_null_backward", "indices_nonzero", "replace_with_mask", "run_end_encode", "run_end_decode"}
WAITS |= {"list_flatten", "list_parent_indices", "list_element", "list_slice", "inverse_permutation", "scatter"}
WAITS |= {"is_in", "index_in", "index", "dictionary_decode"}
WAITS |= {n for n in cc.list_functions() if n.startswith("hash_")}
WAITS |= {"strftime", "strptime", "round_binary", "round_to_multiple"}
WAITS |= {"assume_timezone"}  # or else where no time may be an error
WAITS |= {"rank_quantile", "quantile", "mode"}
WAITS |= {"case_when", "choose", "map_lookup", "list_dot"}
LISTS = {"list_value_length"}  # of no number
LISTS |= {n for n in cc.list_functions() if n.startswith("list_")} - WAITS | {"make_struct", "struct_field", "reshape"}
LISTS |= {n for n in cc.list_functions() if n.split("_")[0] in ("ascii", "binary", "utf8")}
LISTS |= set("count_substring ends_with find_substring match_like match_substring replace_substring".split())
LISTS |= {"split_pattern", "starts_with", "string_is_ascii"}
LISTS |= {"count_substring_regex", "find_substring_regex", "match_substring_regex"}
