"""The registry's functions of whole columns: running totals, lists, run ends, permutations, statistics."""

from __future__ import annotations

from copy import copy

from ..dispatch.call import NO_OPTIONS, execute
from ..dispatch.datum import argument
from ..dispatch.registry import Function, FunctionRegistry, Kernel, Matcher, Signature
from ..dispatch.types import HALF, NUMBERS, is_binary
from ..errors import NoKernel
from ..options import (
    CumulativeOptions,
    IndexOptions,
    InversePermutationOptions,
    ListFlattenOptions,
    ListSliceOptions,
    ModeOptions,
    NoOptions,
    PairwiseOptions,
    QuantileOptions,
    RankQuantileOptions,
    RunEndEncodeOptions,
    ScalarAggregateOptions,
    ScatterOptions,
    SetLookupOptions,
    SkewOptions,
    VarianceOptions,
)
from ..providers import pyarrow
from . import fill, lists, pairwise, permutation, rank_quantile, run_ends, running, set_lookup
from .cast.decimal import is_decimal
from .extremes import OrderedExtremes
from .first_last import FirstLast
from .mode import Mode
from .moments import Moment, MomentOfDecimals
from .quantile import quantile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..dispatch.call import Call
    from ..dispatch.datum import Datum

_ANY = Matcher("any", lambda f: True)
_BINARY = Matcher("strings or bytes", is_binary)
_COUNTED = Matcher("bool, numbers, decimals", lambda f: f in ("b", *NUMBERS, HALF) or is_decimal(f))
_NUMBER = Matcher("numbers, decimals", lambda f: f in NUMBERS or is_decimal(f))
_DECIMAL = Matcher("decimals", is_decimal)
_WORDS = Matcher("numbers, times", lambda f: f in NUMBERS or f[:2] in ("td", "ts", "tt", "tD"))  # up to 64 bits
_LAST = pyarrow.PRIORITY - 1  # on the CPU pyarrow is faster, and the rows of the result are the same


def _add(f: Function, inputs: Sequence[str | Matcher], out: Any, exec: Callable[..., Any], priority: int = 0) -> None:
    f._add(Kernel(Signature(tuple(inputs), out, False), exec, priority=priority))


def _step(function: Function) -> Callable[..., Any]:
    """Another function as a step of one, whose name its errors begin with."""

    def run(call: Call, *args: Datum) -> Any:
        inner = copy(call)
        inner.function, inner.options = function, NO_OPTIONS
        try:
            out = argument(execute(inner, list(args))).array
        except NoKernel as e:
            raise NoKernel(f"{call.function.name}: {e}") from None
        return out

    return run


def add_to(r: FunctionRegistry) -> None:
    """Registers all of them; the row-wise functions are there."""
    _running(r)
    _fill(r)
    _lists(r)
    _order(r)
    _set_lookup(r)
    _statistics(r)


def _vector(
    r: FunctionRegistry,
    name: str,
    doc: str,
    exec: Callable[..., Any],
    options: Any = NoOptions,
    out: Any = None,
    priority: int = 0,
) -> None:
    f = Function(name, "vector", 1, doc, options)
    _add(f, (_ANY,), out, exec, priority)
    r.add_function(f)


def _running(r: FunctionRegistry) -> None:
    docs = {
        "sum": "The sum of each row and all before it; integers wrap.",
        "prod": "The product of each row and all before it; integers wrap.",
        "min": "The minimum of each row and all before it.",
        "max": "The maximum of each row and all before it.",
    }
    for operation, doc in docs.items():
        for checked in (False, True) if "wrap" in doc else (False,):
            words = doc.replace("wrap", "that overflow are an error") if checked else doc
            name = f"cumulative_{operation}" + "_checked" * checked
            f = Function(name, "vector", 1, words, CumulativeOptions)
            for n in NUMBERS:
                _add(f, (n,), n, running.Running(operation, n, checked))
            r.add_function(f)
    f = Function("cumulative_mean", "vector", 1, "The mean of each row and all before it.", CumulativeOptions)
    for n in NUMBERS:
        _add(f, (n,), "g", running.mean)
    r.add_function(f)
    for name in ("subtract", "subtract_checked"):
        step = pairwise.PairwiseDiff(_step(r.get_function(name)))
        own = name.replace("subtract", "pairwise_diff")
        _vector(r, own, "Each row less the one a period before.", step, PairwiseOptions)


def _fill(r: FunctionRegistry) -> None:
    not_equal, if_else = _step(r.get_function("not_equal")), _step(r.get_function("if_else"))
    _vector(r, "fill_null_forward", "Nulls become the last value before.", fill.fill_null_forward, priority=_LAST)
    _vector(r, "fill_null_backward", "Nulls become the next value.", fill.fill_null_backward, priority=_LAST)
    f = Function("indices_nonzero", "vector", 1, "The rows that are neither zero nor null.")
    _add(f, (_COUNTED,), "L", fill.IndicesNonzero(not_equal))
    r.add_function(f)
    f = Function("replace_with_mask", "vector", 3, "The next replacement in each row whose mask is true.")
    f.nulls = (None, "b")
    _add(f, (_ANY, "b", _ANY), None, fill.ReplaceWithMask(if_else))
    r.add_function(f)
    encode = run_ends.RunEndEncode(not_equal)
    _vector(r, "run_end_encode", "Runs of equal rows as one value each.", encode, RunEndEncodeOptions, priority=_LAST)
    _vector(r, "run_end_decode", "A value for each row.", run_ends.run_end_decode, priority=_LAST)


def _lists(r: FunctionRegistry) -> None:
    _vector(r, "list_value_length", "How many values each row has.", lists.list_value_length)
    _vector(r, "list_flatten", "The values of all rows.", lists.list_flatten, ListFlattenOptions)
    _vector(r, "list_parent_indices", "The row of each value.", lists.list_parent_indices, out="l")
    _vector(r, "list_slice", "A part of each row.", lists.list_slice, ListSliceOptions)
    f = Function("list_element", "vector", 2, "The value at one index of each row.")
    _add(f, (_ANY, _ANY), None, lists.list_element)
    r.add_function(f)


def _order(r: FunctionRegistry) -> None:
    inverse, where = permutation.inverse_permutation, permutation.scatter
    _vector(
        r,
        "inverse_permutation",
        "For each number the row that has it.",
        inverse,
        InversePermutationOptions,
        priority=_LAST,
    )
    f = Function("scatter", "vector", 2, "Rows put where the indices tell.", ScatterOptions)
    _add(f, (_ANY, _ANY), None, where, _LAST)
    r.add_function(f)
    ranked = rank_quantile.rank_quantile
    _vector(r, "rank_quantile", "The rank of each row as a part of all.", ranked, RankQuantileOptions, "g")


def _set_lookup(r: FunctionRegistry) -> None:
    docs = {
        "is_in": "Is each row in a set of values?",
        "index_in": "The first row of a set of values that each row is equal to.",
    }
    for name, run, out in (("is_in", set_lookup.is_in, "b"), ("index_in", set_lookup.index_in, "i")):
        f = Function(name, "vector", 1, docs[name], SetLookupOptions)
        _add(f, (_WORDS,), out, run)
        _add(f, (_DECIMAL,), out, run)  # pyarrow refuses a set of another scale
        _add(f, (_ANY,), out, run, _LAST)
        r.add_function(f)
    _vector(r, "dictionary_decode", "Dictionaries as the values of their rows.", set_lookup.decoded)
    f = Function("index", "scalar_aggregate", 1, "The first row that is equal to a value, or -1.", IndexOptions)
    _add(f, (_ANY,), "l", set_lookup.index(_step(r.get_function("equal"))))
    r.add_function(f)


def _statistics(r: FunctionRegistry) -> None:
    docs = {
        "variance": ("The variance of the rows.", VarianceOptions),
        "stddev": ("The standard deviation of the rows.", VarianceOptions),
        "skew": ("The skewness of the rows.", SkewOptions),
        "kurtosis": ("The excess kurtosis of the rows.", SkewOptions),
    }
    for name, (doc, options) in docs.items():
        f = Function(name, "scalar_aggregate", 1, doc, options)
        for n in NUMBERS:
            _add(f, (n,), "g", Moment(name, n))
        _add(f, (_DECIMAL,), "g", MomentOfDecimals(name))
        r.add_function(f)
    f = Function("quantile", "vector", 1, "The values at parts of the order.", QuantileOptions)
    _add(f, (_NUMBER,), None, quantile)
    r.add_function(f)
    f = Function("mode", "vector", 1, "The most common values and how many rows have each.", ModeOptions, streams=True)
    of_chunks = Mode(_step(r.get_function("value_counts")))
    f._add(Kernel(Signature((_COUNTED,), None, False), of_chunks, chunks=True))
    r.add_function(f)
    for which, name in enumerate(("first", "last", "first_last")):
        words = ("first row", "last row", "first and the last row, a struct")[which]
        f = Function(name, "scalar_aggregate", 1, f"The {words}.", ScalarAggregateOptions)
        _add(f, (_ANY,), None, FirstLast(which))
        r.add_function(f)
    for which, name in enumerate(("min", "max", "min_max")):
        _add(r.get_function(name), (_BINARY,), None, OrderedExtremes(which), _LAST)
