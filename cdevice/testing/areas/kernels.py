"""Functions on the device, held against the CPU's by bits: a short table of functions, types, nulls and offsets."""

from __future__ import annotations

import array
import errno
import functools
from decimal import Decimal

from ... import compute as cc
from ...compute.expressions.bound import FUSE_ROWS
from ...errors import ArgumentError, Unsupported
from ...interop.asarray import asarray, record_batch
from ...interop.concat import concat
from .area import Area, expect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..._types import DeviceArray
    from ..suite import BackendSuite
    from .area import Check

SIGNED = ("int8", "int16", "int32", "int64")
INTEGERS = (*SIGNED, "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
NUMBERS = INTEGERS + FLOATS
SLICES = ((0, 200), (1, 67), (31, 65), (33, 64), (7, 0))
ODD = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.5, 1e30)


class Kernels(Area):
    """On a device without float64 a check holds what it has; one that finds nothing at all is none for it."""

    def __call__(self, *parameters: object) -> Callable[[Check], Check]:
        add = super().__call__(*parameters)

        def added(function: Check) -> Check:
            @functools.wraps(function)
            def run(s: BackendSuite, *more: Any) -> None:
                s._held = s._lacking = 0
                function(s, *more)
                s.needs(s._held or not s._lacking, "it has no float64")

            return add(run)

        return added


check = Kernels("kernels")


# ---- arguments ----
def _drawn(seed: int) -> Iterator[int]:
    """Numbers below 2**63 that are the same in every process."""
    x = seed * 2 + 1
    while True:
        x = (x * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        yield x >> 1


def _value(word: str, x: int) -> Any:
    if word == "bool":
        return bool(x >> 40 & 1)
    if "string" in word:
        return ("", "a", "ab", "b", "longer than twelve bytes", "ü")[(x >> 40) % 6]
    if word in FLOATS:
        return ODD[(x >> 41) % len(ODD)] if x >> 40 & 7 == 0 else ((x >> 30) % 20001 - 10000) / 8
    bits = int(word.strip("uint"))
    low, high = (0, (1 << bits) - 1) if word[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    return (low, high, 0, 1)[(x >> 41) % 4] if x >> 40 & 7 == 0 else low + x % (high - low + 1)


def column(word: str, rows: int = 240, seed: int = 0, nulls: bool = True) -> DeviceArray:
    """A column of a type, with its edge cases, on the CPU."""
    draw = _drawn(seed)
    values = [_value(word, next(draw)) for _ in range(rows)]
    return asarray([None if nulls and next(draw) >> 50 & 3 == 0 else v for v in values], schema=word)


# ---- the comparison ----
def _bits(x: Any) -> list[str]:
    """Values that print the same have the same bits, but for those that are no numbers."""
    array = x.array if isinstance(x, cc.Scalar) else x
    here = array.to("cpu")
    here.validate("full")
    return [repr(v) for v in here.to_pylist()]


def compare(s: BackendSuite, what: str, call: Callable[..., Any], *args: DeviceArray) -> None:
    """A call gives on the device what it gives on the CPU."""
    want = call(*args)
    try:
        got = call(*(a.to(s.first) for a in args))
    except Unsupported as e:
        if "has no float64" not in str(e):
            raise
        s._lacking += 1
        return
    s._held += 1
    where = (got.array if isinstance(got, cc.Scalar) else got).device
    assert where == s.first, f"{what}: the result is on {where}"
    expect(got.type, want.type, f"{what}: the type")
    expect(_bits(got), _bits(want), what)


def everywhere(s: BackendSuite, what: str, call: Callable[..., Any], *args: DeviceArray) -> None:
    """The same with nulls and without, at several offsets."""
    for begin, n in SLICES:
        rows = slice(begin, begin + n)
        compare(s, f"{what} of rows {begin} to {begin + n}", lambda *a, rows=rows: call(*(x[rows] for x in a)), *args)


def table_of(s: BackendSuite) -> Any:
    """The device's cdevice_compute, and its flags."""
    found = s.table.extension(s.table.self, b"cdevice.compute/1")
    s.needs(found != s.ffi.NULL, "it offers no cdevice.compute/1")
    table = s.ffi.cast("cdevice_compute *", found)
    flags, text, error = s.ffi.new("uint32_t *"), s.ffi.new("char[512]"), s.ffi.new("cdevice_error *")
    error.struct_size = s.ffi.sizeof("cdevice_error")
    code = table.identity(s.table.self, s.device_number().id, flags, text, 512, error)
    assert not code, f"identity fails: {s.ffi.string(error.message)!r}"
    assert s.ffi.string(text), "identity is empty: programs of two compilers would be mixed up on disk"
    return table, flags[0], error


# ---- the table of functions ----
@check(*NUMBERS)
def check_arithmetic(s: BackendSuite, word: str) -> None:
    table_of(s)
    x, y, full = column(word), column(word, seed=1), column(word, seed=2, nulls=False)
    for name in ("add", "subtract", "multiply"):
        call = getattr(cc, name)
        everywhere(s, name, call, x, y)
        everywhere(s, f"{name} without nulls", call, full, full)
        everywhere(s, f"{name} with a number", lambda a, call=call: call(a, 3), x)
    odd = column(word, seed=3, nulls=False)
    divisor = cc.if_else(cc.equal(odd, 0), 7, odd) if word in INTEGERS else odd
    everywhere(s, "divide", cc.divide, x, cc.cast(divisor, word))
    for name in ("negate", "abs"):
        everywhere(s, name, getattr(cc, name), x)


@check(*INTEGERS)
def check_what_kernels_complain_of(s: BackendSuite, word: str) -> None:
    table_of(s)
    bits = int(word.strip("uint"))
    most = (1 << bits) - 1 if word[0] == "u" else (1 << bits - 1) - 1
    x = asarray([1, most, None], schema=word).to(s.first)
    one = asarray([1, 1, 1], schema=word).to(s.first)
    far = asarray([0, 3]).to(s.first)
    calls: list[tuple[str, Callable[[], Any], str]] = [
        ("add_checked", lambda: cc.add_checked(x, one), "overflow"),
        ("divide", lambda: cc.divide(x, cc.subtract(one, one)), "divide by zero"),
        ("take", lambda: cc.take(x, far), "index 3 out of bounds"),
    ]
    for what, call, said in calls:
        try:
            call()
        except ArgumentError as e:
            assert said in str(e), f"{what}: {e}"
        else:
            raise AssertionError(f"{what}: {said} was not reported")
    expect(_bits(cc.add_checked(x[:1], one[:1])), ["2"], "add_checked without an overflow")


@check(*NUMBERS)
def check_comparisons(s: BackendSuite, word: str) -> None:
    table_of(s)
    x, y = column(word), column(word, seed=1)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        everywhere(s, name, getattr(cc, name), x, y)
    everywhere(s, "less of a number", lambda a: cc.less(a, 5), x)
    if word in FLOATS:
        everywhere(s, "is_nan", cc.is_nan, x)


@check()
def check_logic(s: BackendSuite) -> None:
    table_of(s)
    x, y = column("bool"), column("bool", seed=1)
    for name in ("and_", "or_", "xor", "and_kleene", "or_kleene", "equal", "less"):
        everywhere(s, name, getattr(cc, name), x, y)
    everywhere(s, "invert", cc.invert, x)
    for word in ("bool", "int64", "string"):
        everywhere(s, f"is_null of {word}", cc.is_null, column(word))
        everywhere(s, f"is_valid of {word}", cc.is_valid, column(word))


@check(*NUMBERS, "bool")
def check_choices(s: BackendSuite, word: str) -> None:
    table_of(s)
    x, y, mask = column(word), column(word, seed=1), column("bool", seed=2)
    everywhere(s, "if_else", cc.if_else, mask, x, y)
    everywhere(s, "fill_null", cc.fill_null, x, column(word, seed=3, nulls=False))
    everywhere(s, "coalesce", cc.coalesce, x, y)
    everywhere(s, "filter", cc.filter, x, mask)
    everywhere(s, "drop_null", cc.drop_null, x)
    rows = asarray([i * 7 % 60 if i % 5 else None for i in range(240)])
    for begin, n in SLICES:
        if n:
            call = lambda a, i, begin=begin, n=n: cc.take(a[begin : begin + n], i)
            compare(s, f"take of rows {begin} to {begin + n}", call, x, rows)


@check(*NUMBERS, "bool")
def check_orders(s: BackendSuite, word: str) -> None:
    """The order of rows, and the values that there are."""
    table_of(s)
    x = column(word)
    everywhere(s, "sort_indices", cc.array_sort_indices, x)
    everywhere(s, "sort_indices down", lambda x: cc.array_sort_indices(x, "descending", null_placement="at_start"), x)
    compare(s, "rank", lambda x: cc.rank(x, tiebreaker="dense"), x)
    many = column(word, 9000, seed=3)
    compare(s, "sort_indices of 9000 rows", cc.array_sort_indices, many)
    compare(s, "mode", lambda x: cc.mode(x, 5), many)
    more = column(word, 17_000, seed=4)
    compare(s, "select_k_unstable", lambda x: cc.select_k_unstable(x, 1, [("", "descending")]), more)


@check("int32", "int64", "float64")
def check_groups(s: BackendSuite, word: str) -> None:
    """The numbers of equal rows, what groups come to, their states, and joins."""
    table_of(s)
    x, many, keys = column(word, 9000), column(word, 9000, seed=3), column("int8", 9000, seed=5)
    texts = asarray([f"{'long ' * (i % 5)}{i % 11}" if i % 13 else None for i in range(9000)])
    for name in ("unique", "value_counts", "dictionary_encode"):
        everywhere(s, name, getattr(cc, name), x)
        compare(s, f"{name} of 9000 rows", getattr(cc, name), many)
    asked = [("x", f) for f in ("sum", "mean", "min_max", "variance", "kurtosis", "count_distinct", "first", "list")]

    def grouped(x: DeviceArray, *keys: DeviceArray) -> DeviceArray:
        names = [f"k{i}" for i in range(len(keys))]
        batch = record_batch({**dict(zip(names, keys, strict=True)), "x": x})
        return cc.group_by(batch, names).aggregate([*asked, ([], "count_all")])

    def merged(x: DeviceArray, key: DeviceArray) -> DeviceArray:
        batch = record_batch({"k": key, "x": x})
        return cc.merge([cc.group_by(batch[a : a + 4000], "k").partial(asked) for a in (0, 4000, 8000)])

    compare(s, "group_by", grouped, x, keys)
    compare(s, "group_by of strings", grouped, x, texts)
    compare(s, "group_by of three keys", grouped, x, keys, many, texts)
    compare(s, "merge", merged, many, keys)
    for kind in ("inner", "full outer"):
        compare(
            s,
            f"{kind} join",
            lambda a, b, kind=kind: cc.join_indices(
                record_batch({"k": a[:700]}), record_batch({"k": b[:90]}), "k", None, kind
            ),
            many,
            x,
        )


@check("decimal128(30, 3)", "decimal256(60, 3)")
def check_wide_decimals(s: BackendSuite, word: str) -> None:
    """Numbers of several words: their order, sums, products and arithmetic."""
    table_of(s)
    x, y = (
        asarray([None if v is None else Decimal(v * 3**40 % 10**26 - 10**25).scaleb(-3) for v in rows], schema=word)
        for rows in (column("int64").to_pylist(), column("int64", seed=1).to_pylist())
    )
    for name in ("sum", "product", "mean", "min_max"):
        everywhere(s, name, getattr(cc, name), x)
    everywhere(s, "sort_indices", cc.array_sort_indices, x)
    for name in ("add", "subtract", "less", "equal"):
        everywhere(s, name, getattr(cc, name), x, y)
    compare(s, "variance", cc.variance, x)


@check("int8", "int64", "float64")
def check_running_totals(s: BackendSuite, word: str) -> None:
    """Each row with all rows before it, rows in the place of nulls, and the places of quantiles."""
    table_of(s)
    x, many = column(word), column(word, 9000, seed=3)
    for name in ("cumulative_sum", "cumulative_min", "cumulative_max"):
        everywhere(s, name, getattr(cc, name), x)
        compare(s, f"{name} of 9000 rows", lambda x, name=name: getattr(cc, name)(x, skip_nulls=True), many)
    compare(s, "cumulative_prod", cc.cumulative_prod, x)
    everywhere(s, "fill_null_forward", cc.fill_null_forward, x)
    compare(s, "fill_null_backward", cc.fill_null_backward, x)
    compare(s, "pairwise_diff", lambda x: cc.pairwise_diff(x, -2), x)
    compare(s, "quantile", lambda x: cc.quantile(x, [0, 0.3, 1]), many)
    compare(s, "run_end_decode", lambda x: cc.run_end_decode(cc.run_end_encode(x)), many)


@check("s", "us")
def check_dates_and_times(s: BackendSuite, unit: str) -> None:
    """Parts of times, multiples of units, borders between times, and clocks of a zone."""
    table_of(s)
    counts = cc.cast(cc.multiply(cc.cast(column("int32"), "int64"), 1 if unit == "s" else 999_983), "int64")
    x, z = cc.cast(counts, f"timestamp[{unit}]"), cc.cast(counts, f"timestamp[{unit}, Europe/Berlin]")
    for name in (
        "year",
        "month",
        "day",
        "day_of_year",
        "week",
        "us_year",
        "is_leap_year",
        "hour",
        "second",
        "millisecond",
    ):
        everywhere(s, name, getattr(cc, name), x)
    for name in ("local_timestamp", "is_dst", "hour"):
        everywhere(s, f"{name} of a zone", getattr(cc, name), z)
    for size, step in ((1, "day"), (5, "month"), (45, "minute"), (7, "nanosecond")):
        for name in ("floor_temporal", "ceil_temporal", "round_temporal"):
            call = getattr(cc, name)
            everywhere(s, f"{name} of {step}s", lambda a, f=call, n=size, u=step: f(a, n, u), x)
    y = cc.cast(cc.negate(counts), f"timestamp[{unit}]")
    for name in ("years_between", "weeks_between", "minutes_between"):
        everywhere(s, name, getattr(cc, name), x, y)
    back = lambda a: cc.assume_timezone(a, "Europe/Berlin", ambiguous="latest", nonexistent="earliest")
    everywhere(s, "assume_timezone", back, x)


@check("float64", "float32")
def check_functions_of_floats(s: BackendSuite, kind: str) -> None:
    """Rounding, powers, logarithms, angles: the CPU's bits."""
    table_of(s)
    x = cc.cast(column("int32", 2000), kind, safe=False)
    small = cc.divide(x, 1e8)
    positive = cc.add(cc.abs(small), 0.5)
    for mode in ("down", "half_up", "half_to_even"):
        everywhere(s, f"round {mode}", lambda a, m=mode: cc.round(a, 1, m), small)
        everywhere(s, f"round_to_multiple {mode}", lambda a, m=mode: cc.round_to_multiple(a, 0.3, m), small)
    for name in ("floor", "sign", "exp", "sin", "tan", "atan", "tanh", "asinh", "is_finite"):
        everywhere(s, name, getattr(cc, name), small)
    for name in ("ln", "log2", "log1p", "sqrt", "cos"):
        everywhere(s, name, getattr(cc, name), positive)
    everywhere(s, "cos of far angles", cc.cos, cc.multiply(x, 1e9))
    for name in ("power", "atan2", "hypot", "modulo", "min_element_wise"):
        everywhere(s, name, getattr(cc, name), positive, small)


@check("int32", "uint8")
def check_functions_of_integers(s: BackendSuite, kind: str) -> None:
    """Bits, shifts, remainders, powers, multiples."""
    table_of(s)
    x = column(kind, 2000)
    y = cc.add(cc.bit_wise_and(x, 7), 1)
    for name in ("bit_wise_or", "bit_wise_xor", "shift_left", "shift_right", "modulo", "remainder", "max_element_wise"):
        everywhere(s, name, getattr(cc, name), x, y)
    everywhere(s, "power", cc.power, x, y)
    everywhere(s, "round", lambda a: cc.round_to_multiple(a, 4, "towards_zero"), x)


@check()
def check_rows_by_their_targets(s: BackendSuite) -> None:
    """Rows scattered, with several to one target, and lists and their values."""
    table_of(s)
    x = column("int64", 9000, seed=3)
    small = cc.cast(column("int8", 9000, seed=5), "int64")
    targets = cc.abs(small)
    compare(s, "scatter", lambda x, t: cc.scatter(x, t, max_index=200), x, targets)
    lists = asarray([[1, 2, 3], None, [], [4], [5, None]] * 500)
    compare(s, "list_flatten", cc.list_flatten, lists)
    compare(s, "list_parent_indices", cc.list_parent_indices, lists)
    compare(s, "list_slice", lambda a: cc.list_slice(a, 1, 3, return_fixed_size_list=False), lists)


@check()
def check_strings(s: BackendSuite) -> None:
    table_of(s)
    x, y, mask = column("string"), column("string", seed=1), column("bool", seed=2)
    for name in ("equal", "less"):
        everywhere(s, name, getattr(cc, name), x, y)
    everywhere(s, "filter", cc.filter, x, mask)
    everywhere(s, "take", lambda a, i: cc.take(a, cc.cast(i, "int64")), x, column("bool", seed=3))


@check()
def check_strings_of_any_layout(s: BackendSuite) -> None:
    table_of(s)
    layouts = {word: column(word, seed=1) for word in ("string", "large_string", "string_view")}
    many = concat([column("string_view", 40, seed) for seed in range(6)])  # they look at as many buffers
    for word, other in layouts.items():
        for name in ("equal", "less"):
            everywhere(s, f"{name} of views and {word}", getattr(cc, name), many, other)
        everywhere(s, f"{word} equal to a word", lambda a: cc.equal(a, "ab"), other)
        everywhere(s, f"cast of {word}", lambda a: cc.cast(a, "large_binary"), other)
    for to in ("string", "large_string"):
        everywhere(s, f"cast of views to {to}", lambda a, to=to: cc.cast(a, to), many)


@check(*NUMBERS)
def check_casts(s: BackendSuite, word: str) -> None:
    table_of(s)
    x = column(word)
    for to in ("int32", "uint64", "float64", "bool"):
        everywhere(s, f"cast to {to}", lambda a, to=to: cc.cast(a, to, safe=False), x)
    everywhere(s, "cast from bool", lambda a: cc.cast(a, word), column("bool"))


@check("int8", "int64", "uint64", "float32", "float64", "bool")
def check_casts_to_text_and_back(s: BackendSuite, word: str) -> None:
    table_of(s)
    x = column(word)
    everywhere(s, "cast to string", lambda a: cc.cast(a, "string"), x)
    everywhere(s, f"cast of text to {word}", lambda a: cc.cast(a, word), cc.cast(x, "string"))


@check()
def check_casts_of_times_and_decimals_to_text_and_back(s: BackendSuite) -> None:
    table_of(s)
    numbers = column("int16", seed=4)
    for to in ("date32", "timestamp[ms]", "duration[s]", "decimal128(24, 3)"):
        x = cc.cast(cc.cast(numbers, "int32" if to == "date32" else "int64"), to)
        everywhere(s, f"cast of {to} to string", lambda a: cc.cast(a, "string"), x)
        everywhere(s, f"cast of text to {to}", lambda a, to=to: cc.cast(a, to), cc.cast(x, "string"))


@check()
def check_times_by_a_format(s: BackendSuite) -> None:
    table_of(s)
    x = cc.cast(cc.cast(column("int16", seed=4), "int64"), "timestamp[s]")
    text = cc.strftime(x, "%Y-%m-%d %T")
    everywhere(s, "strftime", lambda a: cc.strftime(a, "%Y-%m-%d %T"), x)
    everywhere(s, "strptime", lambda a: cc.strptime(a, "%Y-%m-%d %H:%M:%S", "s"), text)
    everywhere(s, "strptime of others", lambda a: cc.strptime(a, "%Y", "s", True), text)


@check(*NUMBERS, "bool")
def check_aggregates(s: BackendSuite, word: str) -> None:
    table_of(s)
    names = ("sum", "product", "mean", "min", "max", "min_max", "count", *(("any", "all") if word == "bool" else ()))
    for name in names:
        call = getattr(cc, name)
        for rows in (0, 1, 300, 4096, 9001):  # one tile, several, a part of one
            compare(s, f"{name} of {rows} rows", call, column(word, rows))
        compare(s, f"{name} at an offset", lambda a, call=call: call(a[33:]), column(word, 5000))
        compare(s, f"{name} of chunks", lambda *a, call=call: call(list(a)), *(column(word, n) for n in (5, 0, 5000)))
    compare(s, "min of nothing but nulls", cc.min, asarray([None] * 40, schema=word))


@check()
def check_a_sum_is_an_argument(s: BackendSuite) -> None:
    table_of(s)
    everywhere(s, "less of a sum", lambda a: cc.less(a, cc.sum(a)), column("int64"))


# ---- how it is done ----
@check()
def check_a_call_does_not_wait(s: BackendSuite) -> None:
    table_of(s)
    with s.closed_gate():
        pass  # there is one: a skip holds what was made before it
    there = column("int64").to(s.first)
    want = _bits(cc.add(there, 1))  # its program is built here
    with s.closed_gate():
        got = s.promptly(lambda: cc.is_valid(cc.add(there, 1)))
        assert not got.ready, "the result is reported ready before the device has begun"
    expect(len(_bits(got)), len(want), "rows")


@check()
def check_a_kernel_follows_what_its_stream_had_to_do(s: BackendSuite) -> None:
    table_of(s)
    with s.closed_gate():
        pass
    here = column("int64", 5000)
    want = _bits(cc.add(here, 1))
    cc.add(here.to(s.first), 1).synchronize()  # its program is built here
    with s.closed_gate():
        got = s.promptly(lambda: cc.add(here.to(s.first), 1))
    expect(_bits(got), want, "add behind a copy")


@check()
def check_an_argument_may_go_while_the_device_reads_it(s: BackendSuite) -> None:
    table_of(s)
    with s.closed_gate():
        pass  # there is one: a skip holds what was made before it
    there = column("int64", 5000).to(s.first)
    want = _bits(cc.add(there, 1))
    with s.closed_gate():
        got = s.promptly(lambda: cc.add(there, 1))
        there.release()
    expect(_bits(got), want, "add")


@check()
def check_what_queued_kernels_read_is_not_used_again(s: BackendSuite) -> None:
    """Arguments are dropped while kernels that read them are queued, and others take memory."""
    table_of(s)
    rows = 20_000
    other = asarray(memoryview(array.array("q", [777]) * rows))
    for i in range(10):
        x = asarray(memoryview(array.array("q", [i]) * rows)).to(s.first)
        for _ in range(3):
            x = cc.add(x, 1)
        others = [other.to(s.first) for _ in range(3)]
        expect(x.to("cpu").to_pylist(), [i + 3] * rows, "add of arrays that were dropped")
        x = asarray(memoryview(array.array("q", [1]) * (3 * 4096))).to(s.first)
        total = cc.sum(x)
        del x
        others.append(other.to(s.first))
        expect(total.as_py(), 3 * 4096, "sum of an array that was dropped")
        del others


@check()
def check_what_held_kernels_read_is_not_used_again(s: BackendSuite) -> None:
    table_of(s)
    stream = s.new_stream()
    s.needs(stream is not None, "its suite offers no second stream")
    with s.closed_gate():
        pass  # there is one: a skip holds what was made before it
    rows = 20_000
    x = asarray(memoryview(array.array("q", [1]) * rows)).to(s.first)
    cc.add(x, 1).synchronize()  # its program is built here
    with s.closed_gate():
        got = s.promptly(lambda: cc.add(x, 1))
        s.promptly(x.release)
        other = asarray(memoryview(array.array("q", [777]) * rows))
        others = [s.promptly(lambda: other.to(s.first, stream=stream)) for _ in range(5)]
        for o in others:
            o.synchronize(timeout=s.limit())
    expect(got.to("cpu").to_pylist(), [2] * rows, "add of an array that was dropped")
    del others


@check("string", "large_string")
def check_functions_of_text(s: BackendSuite, word: str) -> None:
    table_of(s)
    x = column(word)
    calls: dict[str, Callable[[DeviceArray], Any]] = {
        "utf8_length": lambda a: cc.utf8_length(a),
        "binary_length": lambda a: cc.binary_length(a),
        "starts_with": lambda a: cc.starts_with(a, "a"),
        "match_substring": lambda a: cc.match_substring(a, "an"),
        "match_substring without case": lambda a: cc.match_substring(a, "Ü", ignore_case=True),
        "match_like": lambda a: cc.match_like(a, "_b%"),
        "match_substring_regex": lambda a: cc.match_substring_regex(a, "^[a-m]+|\\bÜ"),
        "count_substring_regex": lambda a: cc.count_substring_regex(a, "[aeiou]n?"),
        "find_substring_regex": lambda a: cc.find_substring_regex(a, "n.$"),
        "find_substring": lambda a: cc.find_substring(a, "b"),
        "utf8_is_lower": lambda a: cc.utf8_is_lower(a),
        "utf8_upper": lambda a: cc.utf8_upper(a),
        "ascii_upper": lambda a: cc.ascii_upper(a),
        "utf8_reverse": lambda a: cc.utf8_reverse(a),
        "utf8_slice_codeunits": lambda a: cc.utf8_slice_codeunits(a, 1, 9),
        "utf8_slice_codeunits backwards": lambda a: cc.utf8_slice_codeunits(a, -1, None, -2),
        "utf8_trim": lambda a: cc.utf8_trim(a, "aü"),
        "utf8_center": lambda a: cc.utf8_center(a, 5, "ü"),
        "replace_substring": lambda a: cc.replace_substring(a, "b", "ü"),
        "utf8_replace_slice": lambda a: cc.utf8_replace_slice(a, 0, 1, "xy"),
        "split_pattern": lambda a: cc.split_pattern(a, "a"),
        "binary_join_element_wise": lambda a: cc.binary_join_element_wise(a, a, "-", null_handling="skip"),
    }
    for name, call in calls.items():
        everywhere(s, name, call, x)


@check()
def check_functions_of_a_users_own(s: BackendSuite) -> None:
    """Programs of several kernels, more columns than a kernel has buffers, and bitmaps that a text writes."""
    table_of(s)
    try:
        cc.elementwise("suite_here", "int64 a -> int64", "a")([1])
    except Unsupported as e:
        s.needs(False, str(e))
    x, y, z = column("int64"), column("float64", seed=1), column("bool", seed=2)
    nulls = cc.elementwise("suite_nulls", "int64 a, bool b -> int64", "is_null(b) ? -1 : b && a > 0 ? a : null")
    everywhere(s, "a text that decides which rows are null", nulls, x, z)
    several = cc.elementwise(
        "suite_several",
        "int64 a, float64 b, bool c -> float64 p, int64 q, bool r",
        "p = b * 2; q = a / 3; r = c || a > 0",
    )
    for name in ("p", "q", "r"):
        everywhere(s, f"several results: {name}", lambda *v, name=name: several(*v).field(name), x, y, z)
    wide = cc.elementwise(
        "suite_wide",
        ", ".join(f"{'int64' if k % 3 else 'float64'} a{k}" for k in range(10)) + " -> float64",
        " + ".join(f"a{k}" for k in range(10)),
    )
    everywhere(s, "ten arguments", lambda a, b: wide(*(a if k % 3 else b for k in range(10))), x, y)
    many = column("float64", 9000, seed=3)
    total = cc.reduction("suite_total", "float64 a -> float64", "a + b", identity="0.0", finish="a / n")
    everywhere(s, "a reduction", total, y)
    compare(s, "a reduction of 9000 rows", total, many)
    running = cc.scan("suite_running", "int64 a -> int64", "a ^ b", identity="0", inclusive=False)
    everywhere(s, "a scan", lambda a: running(a, skip_nulls=True), x)
    compare(s, "a scan of 9000 rows", running, column("int64", 9000, seed=4, nulls=False))


@check()
def check_expressions_as_one_kernel(s: BackendSuite) -> None:
    """Kleene's logic, checks and constants in one kernel."""
    table_of(s)
    x, y, z = column("int32"), column("float64", seed=1), column("bool", seed=2)
    a, b, c = cc.field("a"), cc.field("b"), cc.field("c")
    for e in ((a > 3) & (c | (b < 1.5)), cc.if_else(c, b * 2.5 - 1.25, b + 7), cc.coalesce(a, 5) == 5):

        def call(*columns: DeviceArray, e: Any = e) -> Any:
            batch = record_batch(dict(zip("abc", columns, strict=True)))
            e.bind(batch.schema)._computed = FUSE_ROWS  # a kernel from the first row on
            return e.evaluate(batch)

        everywhere(s, str(e), call, x, y, z)


def _program(s: BackendSuite, text: bytes) -> Any:
    words = [s.ffi.new("char[]", w) for w in (b"suite", b"i64", text, b"T=i64")]
    defines = s.ffi.new("char *[]", [words[3]])
    program = s.ffi.new("cdevice_program *")
    program.family, program.type, program.text, program.defines, program.n = *words[:3], defines, 1
    return program, words, defines


@check()
def check_a_text_that_does_not_compile_is_told(s: BackendSuite) -> None:
    table, flags, error = table_of(s)
    s.needs(not flags & 4, "its programs were compiled before")  # CDEVICE_COMPUTE_AOT
    program, *_kept = _program(s, b"this is no program at all\n")
    out = s.ffi.new("void **")
    code = table.build(s.table.self, s.device_number().id, s.ffi.NULL, program, out, error)
    expect(code, errno.EINVAL, "build's code")
    assert s.ffi.string(error.message), "build fails without a word of the compiler's"


@check()
def check_what_binary_gives_load_takes(s: BackendSuite) -> None:
    table, flags, error = table_of(s)
    s.needs(not flags & 4, "its programs were compiled before")
    s.needs(table.binary != s.ffi.NULL and table.load != s.ffi.NULL, "it keeps no programs")
    text = s.ffi.string(s.lib.cdv_kernel_source(b"")) + s.ffi.string(s.lib.cdv_kernel_source(b"arith"))
    program, *_kept = _program(s, text)
    defined = [_kept[0][3]]
    if flags & 1:  # CDEVICE_COMPUTE_COARSE
        defined.append(s.ffi.new("char[]", b"CDV_COARSE=1"))
    if flags & 2:  # CDEVICE_COMPUTE_NO_FP64
        defined.append(s.ffi.new("char[]", b"CDV_NO_F64=1"))
    defines = s.ffi.new("char *[]", defined)
    program.defines, program.n = defines, len(defined)
    number, one, two, entry = s.device_number().id, s.ffi.new("void **"), s.ffi.new("void **"), s.ffi.new("void **")
    this, size = s.table.self, s.ffi.new("int64_t *")
    assert not table.build(this, number, s.ffi.NULL, program, one, error), s.ffi.string(error.message)
    code = table.binary(this, number, one[0], s.ffi.NULL, size, error)
    assert not code and size[0] > 0, f"binary does not report the size of a program: {code}, {size[0]}"
    data = s.ffi.new("char[]", size[0])
    assert not table.binary(this, number, one[0], data, size, error), s.ffi.string(error.message)
    assert not table.load(this, number, s.ffi.NULL, data, size[0], two, error), s.ffi.string(error.message)
    table.unload(this, number, one[0])
    assert not table.kernel(this, number, two[0], b"add_i64", entry, error), s.ffi.string(error.message)
    code = table.kernel(this, number, two[0], b"no_such_kernel_i64", entry, error)
    assert code, "a kernel that is not there is found"
    table.unload(this, number, two[0])
