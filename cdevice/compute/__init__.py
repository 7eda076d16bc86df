"""Arrow's compute functions, where the data is: ``import cdevice.compute as cc``.

A call takes every argument of :func:`cdevice.asarray`, on any device, and gives a :class:`DeviceArray` there,
or a :class:`Scalar`.  It does not block for the device: the result carries an event.  Functions that check, and those
whose result's size depends on the values, block.  The CPU computes within the call.
"""

from __future__ import annotations

from .dispatch.fallback import fallback
from .dispatch.registry import Function, FunctionRegistry, Kernel, Matcher, Signature
from .errors import IndexOutOfBounds, NoKernel, UnknownFunction
from .functions import (
    abs,
    abs_checked,
    add,
    add_checked,
    all,
    and_,
    and_kleene,
    any,
    call_function,
    cast,
    coalesce,
    count,
    divide,
    divide_checked,
    drop_null,
    equal,
    fill_null,
    filter,
    function_registry,
    get_function,
    greater,
    greater_equal,
    if_else,
    invert,
    is_nan,
    is_null,
    is_valid,
    less,
    less_equal,
    list_functions,
    max,
    mean,
    min,
    min_max,
    multiply,
    multiply_checked,
    negate,
    negate_checked,
    not_equal,
    or_,
    or_kleene,
    subtract,
    subtract_checked,
    sum,
    take,
    xor,
)
from .options import CastOptions, CountOptions, FilterOptions, FunctionOptions, ScalarAggregateOptions, TakeOptions
from .scalar import Scalar
from .threads import cpu_count, set_cpu_count
from .udf.elementwise import elementwise

__all__ = [
    "CastOptions",
    "CountOptions",
    "FilterOptions",
    "Function",
    "FunctionOptions",
    "FunctionRegistry",
    "IndexOutOfBounds",
    "Kernel",
    "Matcher",
    "NoKernel",
    "Scalar",
    "ScalarAggregateOptions",
    "Signature",
    "TakeOptions",
    "UnknownFunction",
    "abs",
    "abs_checked",
    "add",
    "add_checked",
    "all",
    "and_",
    "and_kleene",
    "any",
    "call_function",
    "cast",
    "coalesce",
    "count",
    "cpu_count",
    "divide",
    "divide_checked",
    "drop_null",
    "elementwise",
    "equal",
    "fallback",
    "fill_null",
    "filter",
    "function_registry",
    "get_function",
    "greater",
    "greater_equal",
    "if_else",
    "invert",
    "is_nan",
    "is_null",
    "is_valid",
    "less",
    "less_equal",
    "list_functions",
    "max",
    "mean",
    "min",
    "min_max",
    "multiply",
    "multiply_checked",
    "negate",
    "negate_checked",
    "not_equal",
    "or_",
    "or_kleene",
    "set_cpu_count",
    "subtract",
    "subtract_checked",
    "sum",
    "take",
    "xor",
]

globals()["and"], globals()["or"] = and_, or_  # Arrow's names, for getattr()

TYPE_CHECKING = False
if not TYPE_CHECKING:

    def __dir__():
        return __all__

    def __getattr__(name):
        hint = "" if name[:1] == "_" else f"; call_function({name!r}, [...]) finds those of pyarrow and of plug-ins too"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
