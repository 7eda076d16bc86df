"""The registry of the built-in functions, and their kernels."""

from __future__ import annotations

from functools import partial

from ..dispatch.call import of_one_type
from ..dispatch.datum import joined
from ..dispatch.registry import Function, FunctionRegistry, Kernel, Matcher, Signature
from ..dispatch.types import (
    DICTIONARY,
    FLOATS,
    HALF,
    KERNEL_TYPES,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    common,
    comparable_times,
    finest,
    is_binary,
    kind_of_time,
    storage_of,
    width_of,
)
from ..options import (
    ArraySortOptions,
    AssumeTimezoneOptions,
    CastOptions,
    CountOptions,
    CumulativeOptions,
    DayOfWeekOptions,
    DictionaryEncodeOptions,
    FilterOptions,
    FunctionOptions,
    InversePermutationOptions,
    ListFlattenOptions,
    ListSliceOptions,
    ModeOptions,
    NoOptions,
    PairwiseOptions,
    PartitionNthOptions,
    QuantileOptions,
    RankOptions,
    RankQuantileOptions,
    RoundTemporalOptions,
    RunEndEncodeOptions,
    ScalarAggregateOptions,
    ScatterOptions,
    SelectKOptions,
    SkewOptions,
    SortOptions,
    StrftimeOptions,
    StrptimeOptions,
    TakeOptions,
    VarianceOptions,
    WeekOptions,
)
from ..providers import pyarrow
from ..scalar import Scalar
from . import (
    aggregate,
    distinct,
    hash_functions,
    nulls,
    register_nested,
    register_numbers,
    register_temporal,
    register_text,
    register_vector,
    sort,
)
from .cast import binary as strings
from .cast import decimal as decimals
from .cast import dictionary as convert
from .cast import nested as nested_casts
from .cast.numeric import has_cast
from .cast.temporal import DurationQuotient, TimeDifference, TimeShift
from .elementwise import CHOSEN, FILLED, KLEENE, NEVER, PACK, WORD, Map
from .selection import choose as choices
from .selection import filter as select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..dispatch.call import Call
    from ..dispatch.datum import Datum

ANY = Matcher("any", lambda f: True)
ANY_DECIMAL = Matcher("decimal", decimals.is_decimal)
WIDE_DECIMAL = Matcher("decimal128, decimal256", decimals.is_wide)
DECIMAL256 = Matcher("decimal256", decimals.is_decimal256)
DECIMAL = Matcher("decimal128", decimals.is_decimal128)
OF_ONE_SCALE = Matcher("decimal128 of one scale", decimals.is_decimal128, same=decimals.scale_of)
OF_ONE_SCALE_256 = Matcher("decimal256 of one scale", decimals.is_decimal256, same=decimals.scale_of)
_DECIMALS = {128: (DECIMAL, OF_ONE_SCALE), 256: (DECIMAL256, OF_ONE_SCALE_256)}
BINARY = Matcher("strings or bytes", is_binary)
BY_VALUES = Matcher("run_end_encoded, union or dictionary", lambda f: f in ("+r", DICTIONARY) or f[:2] == "+u")
_TIMES = ("tdD", "tdm", "tts", "ttm", "ttu", "ttn", "tDs", "tDm", "tDu", "tDn")
_UNITS = ("s", "m", "u", "n")


def _add(
    f: Function, inputs: Sequence[str | Matcher], out: Any, exec: Callable[..., Any], var_args: bool = False
) -> None:
    f._add(Kernel(Signature(tuple(inputs), out, var_args), exec))


def _same(formats: Sequence[str]) -> str:
    return formats[0]


def _timestamps(unit: str) -> Matcher:
    """With a zone or without, but not one of each."""
    return Matcher(f"timestamp[{unit.removesuffix('s')}s]", lambda f: f.startswith(f"ts{unit}:"), same=_has_zone)


def _has_zone(format: str) -> bool:
    return bool(format[4:])


def _arithmetic(r: FunctionRegistry) -> None:
    docs = {
        "add": "Sum of two arguments, row by row; integers wrap.",
        "subtract": "Difference of two arguments, row by row; integers wrap.",
        "multiply": "Product of two arguments, row by row; integers wrap.",
        "divide": "Quotient of two arguments, row by row; of integers cut towards zero; none may be divided by zero.",
    }
    for name, doc in docs.items():
        for checked in (False, True):
            f = Function(
                name + "_checked" * checked,
                "scalar",
                2,
                doc if not checked else doc.replace("wrap", "that wrap are an error"),
            )
            for n in NUMBERS + HALF:
                sound = n in FLOATS + HALF and not (name == "divide" and checked)
                kernel = name if n in FLOATS + HALF and name != "divide" else f.name
                waits = not sound and (checked or name == "divide")
                _add(f, (n, n), n, Map("arith", KERNEL_TYPES[n], kernel, n + n, n, checked=waits, function_name=f.name))
            f.implicit = _or_decimals(decimals.ARITHMETIC[name][1])
            for bits, matchers in _DECIMALS.items():
                _add(f, (matchers[name in ("add", "subtract")],) * 2, None, decimals.arithmetic(name, f.name, bits))
            _add(f, ("n", "n"), "n", nulls.nothing)
            if name in ("add", "subtract"):
                _time_arithmetic(f, name, checked)
                f.implicit = _or_times(name, f.implicit)
            else:
                _duration_arithmetic(f, name, checked)
                f.implicit = _or_durations(f.implicit)
            r.add_function(f)
    for name, doc in {"negate": "The opposite number.", "abs": "The number without its sign."}.items():
        for checked in (False, True):
            f = Function(name + "_checked" * checked, "scalar", 1, doc)
            for n in NUMBERS + HALF:
                if name == "negate" and checked and n in "CSIL":
                    continue
                waits = checked and n not in FLOATS + HALF
                kernel = ("magnitude" if name == "abs" else name) + "_checked" * waits
                _add(f, (n,), n, Map("arith", KERNEL_TYPES[n], kernel, n, n, checked=waits, function_name=f.name))
            for u in _UNITS:
                word = ("magnitude" if name == "abs" else name) + "_checked" * checked
                d = f"tD{u}"
                _add(f, (d,), d, Map("arith", "i64", word, "l", d, checked=checked, function_name=f.name))
            _add(
                f,
                (DECIMAL,),
                None,
                Map("arith", "w128", kernel.removesuffix("_checked"), "l", _same, function_name=f.name),
            )
            wide = Map("arith", "w256", kernel.removesuffix("_checked"), "W", _same, function_name=f.name)
            _add(f, (DECIMAL256,), None, wide)
            _add(f, ("n",), "n", nulls.nothing)
            r.add_function(f)


def _or_decimals(rule: Callable[[Sequence[str]], Sequence[str] | None]) -> Any:
    """Implicit casts of decimals, or else of numbers."""

    def both(formats: Sequence[str]) -> Sequence[str] | None:
        if any(f.startswith("d:") for f in formats):
            return rule(formats)
        one = common(formats)
        return None if one is None else (one,) * len(formats)

    return both


def _in_unit(format: str, kind: str | None, unit: str) -> str:
    """A duration, or a timestamp, of that unit."""
    return f"tD{unit}" if kind == "duration" else f"ts{unit}:{format[4:] if kind == 'timestamp' else ''}"


def _or_times(name: str, rule: Any) -> Any:
    """Implicit casts of times to one unit, or else by ``rule``."""

    def casts(formats: Sequence[str]) -> Sequence[str] | None:
        kinds = [kind_of_time(x) for x in formats]
        if kinds == ["duration", "duration"]:
            return comparable_times(formats)
        unit = finest(formats) if None not in kinds else ""
        if "time" in kinds and "duration" in kinds and (name == "add" or kinds[0] == "time"):
            return [f"tt{unit}" if k == "time" else f"tD{unit}" for k in kinds]
        moved = kinds[1] == "duration" and kinds[0] in ("timestamp", "date")
        if moved or (name == "add" and kinds[0] == "duration" and kinds[1] in ("timestamp", "date")):
            return [_in_unit(x, k, unit) for x, k in zip(formats, kinds, strict=True)]
        if name == "subtract" and set(kinds) <= {"timestamp", "date"}:
            if "date" in kinds and any(f[:2] == "ts" and f[4:] for f in formats):
                return None  # ambiguous, as in Arrow; compared, a date is a midnight of UTC
            made = comparable_times(formats)
            return made if made is None or made[0][:2] == "ts" else [f"ts{unit}:"] * 2
        made = rule(formats) if rule else None
        if made is None and not rule:
            one = common(formats)
            made = None if one is None or one[0] == "t" else (one,) * len(formats)
        return made

    return casts


def _time_arithmetic(f: Function, name: str, checked: bool) -> None:
    kernel = f.name
    for u in _UNITS:
        ts, d = _timestamps(u), f"tD{u}"
        _add(f, (d, d), d, Map("arith", "i64", kernel, "ll", d, checked=checked))
        _add(f, (ts, d), None, Map("arith", "i64", kernel, "ll", lambda x: x[0], checked=checked))
        if name == "add":
            _add(f, (d, ts), None, Map("arith", "i64", kernel, "ll", lambda x: x[1], checked=checked))
        else:
            _add(f, (ts, ts), d, Map("arith", "i64", kernel, "ll", d, checked=checked))
            clock = f"tt{u}"
            _add(f, (clock, clock), d, TimeDifference(clock, d))
        _add(f, (f"tt{u}", d), f"tt{u}", TimeShift(f.name, f"tt{u}"))
        if name == "add":
            _add(f, (d, f"tt{u}"), f"tt{u}", TimeShift(f.name, f"tt{u}"))


def _duration_arithmetic(f: Function, name: str, checked: bool) -> None:
    """Durations multiplied and divided by integers, and by one another."""
    waits = checked or name == "divide"
    for u in _UNITS:
        d = f"tD{u}"
        step = Map("arith", "i64", f.name, "ll", d, checked=waits)
        _add(f, (d, "l"), d, step)
        if name == "multiply":
            _add(f, ("l", d), d, step)
        else:
            _add(f, (d, d), "g", DurationQuotient(f.name))


def _or_durations(rule: Any) -> Any:
    """Integers beside durations become int64, two durations those of one unit."""

    def casts(formats: Sequence[str]) -> Sequence[str] | None:
        durations = [x.startswith("tD") for x in formats]
        if all(durations):
            return comparable_times(formats)
        if any(durations):
            whole = all(d or x in SIGNED + UNSIGNED for x, d in zip(formats, durations, strict=True))
            return [x if d else "l" for x, d in zip(formats, durations, strict=True)] if whole else None
        made = rule(formats) if rule else None
        if made is None and not rule:
            one = common(formats)
            made = None if one is None else [one] * len(formats)
        return made

    return casts


def _compare(r: FunctionRegistry) -> None:
    swapped = {"greater": "less", "greater_equal": "less_equal"}
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        f = Function(
            name, "scalar", 2, f"Is the first argument {name.replace('_', ' or ')} to the second one, row by row?"
        )
        kernel, swap = swapped.get(name, name), name in swapped
        f.doc = (
            f.doc.replace("not or equal", "not equal")
            .replace("less to", "less than")
            .replace("greater to", "greater than")
        )
        for n in NUMBERS + HALF:
            _add(
                f,
                (n, n),
                "b",
                Map("compare", KERNEL_TYPES[n], kernel, n + n, "b", unit=PACK, swap=swap, function_name=name),
            )
        f.implicit, f.compares = _comparable, True
        _add(f, ("b", "b"), "b", Map("boolean", "bits", name, "bb", "b", unit=WORD))
        _add(f, (BINARY, BINARY), "b", strings.Compare(name))
        for t in _TIMES:
            s = storage_of(t) or ""
            _add(
                f,
                (t, t),
                "b",
                Map("compare", KERNEL_TYPES[s], kernel, s + s, "b", unit=PACK, swap=swap, function_name=name),
            )
        for bits, (_, of_one_scale) in _DECIMALS.items():
            _add(f, (of_one_scale,) * 2, "b", decimals.comparison(kernel, swap, name, bits))
        for u in _UNITS:
            ts = _timestamps(u)
            _add(f, (ts, ts), "b", Map("compare", "i64", kernel, "ll", "b", unit=PACK, swap=swap, function_name=name))
        r.add_function(f)


def _comparable(formats: Sequence[str]) -> Sequence[str] | None:
    if any(f.startswith("d:") for f in formats):
        return decimals.of_one_scale(formats)
    if all(f[0] == "t" for f in formats):
        return comparable_times(formats)
    one = common(formats)
    return None if one is None else (one,) * len(formats)


def _boolean(r: FunctionRegistry) -> None:
    docs = {
        "and": "Both, row by row; null where either is.",
        "or": "Either or both, row by row; null where either is.",
        "xor": "Either but not both, row by row; null where either is.",
    }
    for name, doc in docs.items():
        f = Function(name, "scalar", 2, doc)
        _add(f, ("b", "b"), "b", Map("boolean", "bits", name, "bb", "b", unit=WORD))
        _add(f, ("n", "n"), "n", nulls.nothing)
        r.add_function(f)
    kleene = {
        "and_kleene": "Both, row by row; false where either is, also if the other is null.",
        "or_kleene": "Either or both, row by row; true where either is, also if the other is null.",
    }
    for name, doc in kleene.items():
        f = Function(name, "scalar", 2, doc)
        _add(f, ("b", "b"), "b", Map("boolean", "bits", name, "bb", "b", unit=WORD, rule=KLEENE))
        _add(f, ("n", "n"), "n", nulls.nothing)
        r.add_function(f)
    f = Function("invert", "scalar", 1, "The opposite of each row.")
    _add(f, ("b",), "b", Map("boolean", "bits", "invert", "b", "b", unit=WORD))
    _add(f, ("n",), "n", nulls.nothing)
    r.add_function(f)
    for name, doc in {"is_null": "Is the row null?", "is_valid": "Is the row not null?"}.items():
        f = Function(name, "scalar", 1, doc)
        _add(f, (ANY,), "b", Map("boolean", "bits", name, "b", "b", unit=WORD, rule=NEVER))
        _add(f, (BY_VALUES,), "b", convert.by_values(f.kernels[-1].exec))
        r.add_function(f)
    f = Function("is_nan", "scalar", 1, "True where the value is NaN; null where it is null.")
    for n in HALF + FLOATS:
        _add(f, (n,), "b", Map("compare", KERNEL_TYPES[n], "is_nan", n, "b", unit=PACK))
    through = nulls.through("g", f.kernels[-1].exec)
    whole = Map("boolean", "bits", "never", "-", "b", unit=WORD, function_name="is_nan")
    for t in (*SIGNED, *UNSIGNED, ANY_DECIMAL, *(f"tD{u}" for u in _UNITS)):
        _add(f, (t,), "b", whole)
    _add(f, ("n",), "b", through)
    r.add_function(f)


def _common_tail(begin: int) -> Callable[[Sequence[str]], Sequence[str] | None]:
    """Numbers after the first ``begin`` arguments become one type."""

    def rule(formats: Sequence[str]) -> Sequence[str] | None:
        one = common(formats[begin:])
        return None if one is None else (*formats[:begin], *(one,) * (len(formats) - begin))

    return rule


def _filled(formats: Sequence[str]) -> Sequence[str] | None:
    """fill_null: the result has the type of the rows, where there is a cast to it."""
    kinds = {kind_of_time(f) for f in formats}  # a cast of a timestamp to a date loses its time of day
    if kinds == {"timestamp"} and has_cast(formats[1], formats[0]):  # without a zone it is one of UTC, as in pyarrow
        return formats[0], formats[0]
    one = common(formats)
    if one is None:
        return None
    first = decimals.at_least_128(formats[0])
    return (first, first) if len(kinds) == 1 and has_cast(formats[1], first) else (one, one)


def _as_wide(width: str) -> Callable[[str], bool]:
    """Values of a width that are no numbers; decimals have 128 bits or more, as in Arrow."""
    return lambda f: width_of(f) == width and f not in NUMBERS + HALF and decimals.at_least_128(f) == f


def _selection(r: FunctionRegistry) -> None:
    choose = Function(
        "if_else", "scalar", 3, "The second argument where the first one is true, the third where it is false."
    )
    choose.implicit, choose.nulls = _common_tail(1), ("b",)
    fill = Function("fill_null", "scalar", 2, "The first argument, and where that is null the second one.")
    for f in (*NUMBERS, HALF, *_TIMES):
        w, s = width_of(f) or "", storage_of(f) or ""
        _add(choose, ("b", f, f), f, Map("select", w, "if_else", "b" + s + s, f, unit=PACK, rule=CHOSEN))
        _add(fill, (f, f), f, Map("select", w, "if_else", s + s, f, unit=PACK, rule=FILLED))
    _add(choose, ("b", "b", "b"), "b", Map("boolean", "bits", "if_else", "bbb", "b", unit=WORD, rule=CHOSEN))
    _add(fill, ("b", "b"), "b", Map("boolean", "bits", "if_else", "bb", "b", unit=WORD, rule=FILLED))
    for width in ("u8", "u16", "u32", "u64", "w128"):  # no numbers: times of a zone, decimals
        m = Matcher(f"{width} values", _as_wide(width), same=str)
        _add(choose, ("b", m, m), None, Map("select", width, "if_else", "bll", lambda x: x[1], unit=PACK, rule=CHOSEN))
        _add(fill, (m, m), None, Map("select", width, "if_else", "ll", lambda x: x[0], unit=PACK, rule=FILLED))
    other = Matcher("values of several sizes", lambda f: width_of(f) is None and f != "n", same=str)
    _add(choose, ("b", other, other), None, choices.choose_any)
    _add(fill, (other, other), None, choices.fill_any)
    fill.implicit = _filled
    _add(choose, ("b", "n", "n"), "n", nulls.nothing)
    _add(fill, ("n", "n"), "n", nulls.nothing)
    r.add_function(choose)
    r.add_function(fill)
    f = Function("filter", "vector", 2, "The rows whose mask is true.", FilterOptions)
    f.nulls = (None, "b")
    _add(f, (ANY, "b"), None, select.filter_rows)
    r.add_function(f)
    f = Function("take", "vector", 2, "The rows with these numbers.", TakeOptions)
    _add(f, (ANY, ANY), None, select.take_rows)
    r.add_function(f)
    f = Function("drop_null", "vector", 1, "The rows that are not null.")
    _add(f, (ANY,), None, select.drop_null)
    r.add_function(f)
    f = Function("cast", "meta", 1, "The values as another type.", CastOptions)
    f.meta = nested_casts.cast
    r.add_function(f)


def _order(r: FunctionRegistry) -> None:
    def function(name: str, doc: str, options: Any, exec: Callable[..., Any]) -> None:
        f = Function(name, "vector", 1, doc, options)
        _add(f, (ANY,), "L" if exec is not sort.sort_by else None, exec)
        r.add_function(f)

    function(
        "array_sort_indices", "The row numbers in the order of the values.", ArraySortOptions, sort.array_sort_indices
    )
    function("sort_indices", "The row numbers in the order of the sort keys.", SortOptions, sort.sort_indices)
    function("sort_by", "The rows in the order of the sort keys.", SortOptions, sort.sort_by)
    function("select_k_unstable", "The numbers of the first k rows.", SelectKOptions, sort.select_k_unstable)
    function(
        "partition_nth_indices",
        "The row numbers so that the pivot's is at its place in the order.",
        PartitionNthOptions,
        sort.partition_nth_indices,
    )


def _distinct(r: FunctionRegistry) -> None:
    def function(name: str, doc: str, options: Any, exec: Callable[..., Any], out: Any = None) -> None:
        f = Function(name, "vector", 1, doc, options)
        f._add(Kernel(Signature((ANY,), out, False), exec))
        r.add_function(f)

    function("unique", "The values, each once, in the order of appearance.", NoOptions, distinct.unique)
    function("value_counts", "The values, each once, and how many rows have it.", NoOptions, distinct.value_counts)
    function(
        "dictionary_encode",
        "The rows as indices of their values.",
        DictionaryEncodeOptions,
        distinct.dictionary_encode,
    )
    function("rank", "The place of each row in the order.", RankOptions, distinct.rank, "L")
    f = Function("count_distinct", "vector", 1, "How many values there are.", CountOptions)
    f.meta = _count_distinct
    r.add_function(f)


def _count_distinct(call: Call, args: Sequence[Datum]) -> Any:
    return Scalar(distinct.count_distinct(call, joined(of_one_type(call, args[0]) if args[0].mixed else args[0])))


def _aggregates(r: FunctionRegistry) -> None:
    def function(name: str, doc: str, options: Any = ScalarAggregateOptions) -> Function:
        f = Function(name, "scalar_aggregate", 1, doc, options)
        r.add_function(f)
        return f

    total = function("sum", "The sum of the rows; of floats by a tree that is the same on every device.")
    mean = function("mean", "The sum divided by the number of rows that count, as float64.")
    extremes = {
        "min": "Minimum. NaN and null values are ignored.",
        "max": "Maximum. NaN and null values are ignored.",
        "min_max": "The least and the greatest of the rows, a struct.",
    }
    for n in NUMBERS:
        _add(total, (n,), "l" if n in "csil" else "L" if n in "CSIL" else "g", aggregate.sums(n))
        _add(mean, (n,), "g", aggregate.means(n))
    _add(total, (HALF,), "g", aggregate.ViaFloat32(aggregate.sums("f")))
    _add(mean, (HALF,), "g", aggregate.ViaFloat32(aggregate.means("f")))
    _add(total, ("n",), "l", aggregate.sums("l"))
    _add(mean, ("n",), "g", aggregate.sums("g"))
    _add(total, (WIDE_DECIMAL,), None, aggregate.PerFormat(aggregate.decimal_sum))
    _add(mean, (WIDE_DECIMAL,), None, aggregate.PerFormat(aggregate.decimal_mean))
    _product(function("product", "The product of the rows; integers wrap."))
    _add(total, ("b",), "L", aggregate.of_bits("finish", "L"))
    _add(mean, ("b",), "g", aggregate.of_bits("finish_mean", "g"))
    for which, (name, doc) in enumerate(extremes.items()):
        f = function(name, doc)
        for t in (*NUMBERS, *_TIMES):
            _add(f, (t,), t if which < 2 else None, aggregate.extremes(storage_of(t) or "", t, which))
        for u in _UNITS:
            _add(f, (_timestamps(u),), None, aggregate.PerFormat(partial(aggregate.extremes, "l", which=which)))
        _add(f, (HALF,), HALF if which < 2 else None, aggregate.ViaFloat32(aggregate.extremes("f", "f", which)))
        _add(f, ("n",), None, nulls.extreme if which < 2 else nulls.extremes)
        _add(f, (ANY_DECIMAL,), None, aggregate.PerFormat(partial(_extremes, which)))
        _add(f, ("b",), "b" if which < 2 else None, aggregate.bit_extremes(which))
    f = function("count", "How many rows there are; see CountOptions.", CountOptions)
    counted = aggregate.of_bits("finish_count", "l", values=False)
    _add(f, (ANY,), "l", counted)
    _add(f, ("n",), "l", counted)
    _add(f, (BY_VALUES,), "l", convert.by_values(counted))
    for name, doc in {"any": "Is any row true?", "all": "Are all rows true?"}.items():
        f, found = function(name, doc), aggregate.of_bits(f"finish_{name}", "b")
        _add(f, ("b",), "b", found)
        _add(f, ("n",), "b", found)


def _product(f: Function) -> None:
    for n in NUMBERS:
        _add(f, (n,), "l" if n in "csil" else "L" if n in "CSIL" else "g", aggregate.products(n))
    _add(f, (HALF,), "g", aggregate.ViaFloat32(aggregate.products("f")))
    _add(f, ("n",), "l", aggregate.products("l"))
    _add(f, (WIDE_DECIMAL,), None, aggregate.PerFormat(aggregate.decimal_product))
    _add(f, ("b",), "L", aggregate.of_bits("finish_product", "L"))


def _extremes(which: int, format: str) -> aggregate.Reduce:
    return aggregate.extremes(format, format, which)


def make() -> FunctionRegistry:
    """A registry with all of it."""
    r = FunctionRegistry()
    _arithmetic(r)
    _compare(r)
    _boolean(r)
    _selection(r)
    _order(r)
    _distinct(r)
    _aggregates(r)
    register_vector.add_to(r)
    register_temporal.add_to(r)
    register_text.add_to(r)
    register_numbers.add_to(r)
    register_nested.add_to(r)
    hash_functions.add_to(r)
    options_types: tuple[type[FunctionOptions], ...] = (
        ArraySortOptions,
        AssumeTimezoneOptions,
        CastOptions,
        CountOptions,
        CumulativeOptions,
        DayOfWeekOptions,
        DictionaryEncodeOptions,
        FilterOptions,
        InversePermutationOptions,
        ListFlattenOptions,
        ListSliceOptions,
        ModeOptions,
        NoOptions,
        PairwiseOptions,
        PartitionNthOptions,
        QuantileOptions,
        RankOptions,
        RankQuantileOptions,
        RoundTemporalOptions,
        RunEndEncodeOptions,
        ScalarAggregateOptions,
        ScatterOptions,
        SelectKOptions,
        SkewOptions,
        SortOptions,
        StrftimeOptions,
        StrptimeOptions,
        TakeOptions,
        VarianceOptions,
        WeekOptions,
        *register_nested.OPTIONS,
        *register_text.OPTIONS,
        *register_numbers.OPTIONS,
    )
    for options in options_types:
        r.add_function_options_type(options)
    if pyarrow.here():
        for name in r.get_function_names():
            f = r.get_function(name)
            if f.kind != "hash_aggregate":  # pyarrow calls these within a group_by alone
                f._add(pyarrow.kernel(name, f.arity))
    r.provider = pyarrow
    return r
