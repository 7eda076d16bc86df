"""Arrow's functions by name, each on the device that its arguments are on.

Arguments: whatever :func:`cdevice.asarray` takes, streams and lists of such (chunks), scalars of Python, numpy and
pyarrow, and :class:`Scalar`; None is null.  ``stream``: of the device, as in :meth:`DeviceArray.to`; ``fallback``:
"error" or "copy", see :func:`cdevice.compute.fallback`.  A row of a result is null where one of its arguments is,
unless it says otherwise.  Every function returns at once unless it says that it waits, and its result carries the
event.  All raise NoKernel for types they do not know and ArgumentError for lengths that differ or arguments on two
devices.
"""

from __future__ import annotations

from .._runtime.ext import _native
from .dispatch import entry_points as entries
from .dispatch.call import run
from .dispatch.registry import Function, FunctionRegistry
from .kernels.register import make
from .options import FunctionOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from .._types import SchemaLike, StreamLike

    F = TypeVar("F", bound=Callable[..., Any])

_registry = make()
entries.serve(_registry)


def _front(function: Function, signature: str) -> Callable[[F], F]:
    """Tried in C before Python is asked."""

    def made(f: F) -> F:
        front: F = _native.compute_front(f, signature, f.__doc__ or "")
        function._has_front(front)
        return front

    return made


def _run(
    function: Function, args: tuple[Any, ...], options: Any, stream: StreamLike, fallback: str | None, **named: Any
) -> Any:
    """``options=`` stands for all options by name: another value of one beside it is an error."""
    if options is not None:
        defaults = function.options.defaults
        twice = [name for name, value in named.items() if value is not defaults[name] and value != defaults[name]]
        if twice:
            raise TypeError(f"{function.name}: options= and {twice[0]}= at once")
        named = {}
    return run(function, args, options, stream, named, fallback)


def call_function(
    name: str,
    args: Any,
    options: Any = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    registry: FunctionRegistry | None = None,
    **named: Any,
) -> Any:
    """Calls a function by its name.

    ``args``: a list of arguments; ``options``: an object of its class of options, a mapping, or None, and options by
    name; ``registry``: where it is looked for, None: among what is built in and what other libraries bring.  Gives a
    DeviceArray, or a :class:`Scalar` where no argument has rows or the function gives one.  Raises UnknownFunction.
    """
    if registry is not None and not isinstance(registry, FunctionRegistry):
        raise TypeError(f"call_function(): registry is a FunctionRegistry, not {type(registry).__name__}")
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"call_function(): args is a list of arguments, not {type(args).__name__}")
    return run((registry or _registry).get_function(name), args, options, stream, named, fallback)


def get_function(name: str) -> Function:
    """A :class:`Function`, with its ``kernels``.  Raises UnknownFunction, a KeyError."""
    return _registry.get_function(name)


def list_functions(include_providers: bool = False) -> list[str]:
    """The names of all functions, sorted: what is built in and what was registered.

    ``provided``: also what would be found when it is called: entry points are loaded, pyarrow is asked for its names.
    """
    return _registry.get_function_names(include_providers)


def function_registry() -> FunctionRegistry:
    """The registry that functions are found in."""
    return _registry


_add = _registry.get_function("add")


@_front(_add, "add(x, y, /, *, stream=None, fallback=None)")
def add(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x + y, row by row.  Integers wrap; see :func:`add_checked`."""
    return run(_add, (x, y), None, stream, {}, fallback)


_add_checked = _registry.get_function("add_checked")


@_front(_add_checked, "add_checked(x, y, /, *, stream=None, fallback=None)")
def add_checked(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x + y, row by row.  Raises ArgumentError where an integer would wrap."""
    return run(_add_checked, (x, y), None, stream, {}, fallback)


_subtract = _registry.get_function("subtract")


@_front(_subtract, "subtract(x, y, /, *, stream=None, fallback=None)")
def subtract(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x - y, row by row.  Integers wrap."""
    return run(_subtract, (x, y), None, stream, {}, fallback)


_subtract_checked = _registry.get_function("subtract_checked")


@_front(_subtract_checked, "subtract_checked(x, y, /, *, stream=None, fallback=None)")
def subtract_checked(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x - y, row by row.  Raises ArgumentError where an integer would wrap."""
    return run(_subtract_checked, (x, y), None, stream, {}, fallback)


_multiply = _registry.get_function("multiply")


@_front(_multiply, "multiply(x, y, /, *, stream=None, fallback=None)")
def multiply(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x * y, row by row.  Integers wrap."""
    return run(_multiply, (x, y), None, stream, {}, fallback)


_multiply_checked = _registry.get_function("multiply_checked")


@_front(_multiply_checked, "multiply_checked(x, y, /, *, stream=None, fallback=None)")
def multiply_checked(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x * y, row by row.  Raises ArgumentError where an integer would wrap."""
    return run(_multiply_checked, (x, y), None, stream, {}, fallback)


_divide = _registry.get_function("divide")


@_front(_divide, "divide(x, y, /, *, stream=None, fallback=None)")
def divide(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x / y, row by row; of integers cut towards zero.  Raises ArgumentError for an integer divided by zero."""
    return run(_divide, (x, y), None, stream, {}, fallback)


_divide_checked = _registry.get_function("divide_checked")


@_front(_divide_checked, "divide_checked(x, y, /, *, stream=None, fallback=None)")
def divide_checked(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x / y, row by row.  Raises ArgumentError for a division by zero, and where an integer would wrap."""
    return run(_divide_checked, (x, y), None, stream, {}, fallback)


_negate = _registry.get_function("negate")


@_front(_negate, "negate(x, /, *, stream=None, fallback=None)")
def negate(x: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """-x, row by row.  Integers wrap."""
    return run(_negate, (x,), None, stream, {}, fallback)


_negate_checked = _registry.get_function("negate_checked")


@_front(_negate_checked, "negate_checked(x, /, *, stream=None, fallback=None)")
def negate_checked(x: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """-x, row by row.  Raises ArgumentError where an integer would wrap."""
    return run(_negate_checked, (x,), None, stream, {}, fallback)


_abs = _registry.get_function("abs")


@_front(_abs, "abs(x, /, *, stream=None, fallback=None)")
def abs(x: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x without its sign, row by row.  The least integer stays what it is."""
    return run(_abs, (x,), None, stream, {}, fallback)


_abs_checked = _registry.get_function("abs_checked")


@_front(_abs_checked, "abs_checked(x, /, *, stream=None, fallback=None)")
def abs_checked(x: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x without its sign, row by row.  Raises ArgumentError for the least integer."""
    return run(_abs_checked, (x,), None, stream, {}, fallback)


_equal = _registry.get_function("equal")


@_front(_equal, "equal(x, y, /, *, stream=None, fallback=None)")
def equal(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x == y, row by row, as bool; null where either is."""
    return run(_equal, (x, y), None, stream, {}, fallback)


_not_equal = _registry.get_function("not_equal")


@_front(_not_equal, "not_equal(x, y, /, *, stream=None, fallback=None)")
def not_equal(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x != y, row by row, as bool; null where either is."""
    return run(_not_equal, (x, y), None, stream, {}, fallback)


_less = _registry.get_function("less")


@_front(_less, "less(x, y, /, *, stream=None, fallback=None)")
def less(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x < y, row by row, as bool; null where either is."""
    return run(_less, (x, y), None, stream, {}, fallback)


_less_equal = _registry.get_function("less_equal")


@_front(_less_equal, "less_equal(x, y, /, *, stream=None, fallback=None)")
def less_equal(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x <= y, row by row, as bool; null where either is."""
    return run(_less_equal, (x, y), None, stream, {}, fallback)


_greater = _registry.get_function("greater")


@_front(_greater, "greater(x, y, /, *, stream=None, fallback=None)")
def greater(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x > y, row by row, as bool; null where either is."""
    return run(_greater, (x, y), None, stream, {}, fallback)


_greater_equal = _registry.get_function("greater_equal")


@_front(_greater_equal, "greater_equal(x, y, /, *, stream=None, fallback=None)")
def greater_equal(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x >= y, row by row, as bool; null where either is."""
    return run(_greater_equal, (x, y), None, stream, {}, fallback)


_is_null = _registry.get_function("is_null")


@_front(_is_null, "is_null(x, /, *, stream=None, fallback=None)")
def is_null(x: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """Is the row null?  Never null itself."""
    return run(_is_null, (x,), None, stream, {}, fallback)


_is_valid = _registry.get_function("is_valid")


@_front(_is_valid, "is_valid(x, /, *, stream=None, fallback=None)")
def is_valid(x: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """Is the row not null?  Never null itself."""
    return run(_is_valid, (x,), None, stream, {}, fallback)


_is_nan = _registry.get_function("is_nan")


@_front(_is_nan, "is_nan(x, /, *, stream=None, fallback=None)")
def is_nan(x: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """Is the row not a number?  Null where it is null."""
    return run(_is_nan, (x,), None, stream, {}, fallback)


_and = _registry.get_function("and")


@_front(_and, "and_(x, y, /, *, stream=None, fallback=None)")
def and_(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """Both, row by row; null where either is."""
    return run(_and, (x, y), None, stream, {}, fallback)


_or = _registry.get_function("or")


@_front(_or, "or_(x, y, /, *, stream=None, fallback=None)")
def or_(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """Either or both, row by row; null where either is."""
    return run(_or, (x, y), None, stream, {}, fallback)


_xor = _registry.get_function("xor")


@_front(_xor, "xor(x, y, /, *, stream=None, fallback=None)")
def xor(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """Either but not both, row by row; null where either is."""
    return run(_xor, (x, y), None, stream, {}, fallback)


_and_kleene = _registry.get_function("and_kleene")


@_front(_and_kleene, "and_kleene(x, y, /, *, stream=None, fallback=None)")
def and_kleene(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """Both, row by row; false where either is, whatever the other."""
    return run(_and_kleene, (x, y), None, stream, {}, fallback)


_or_kleene = _registry.get_function("or_kleene")


@_front(_or_kleene, "or_kleene(x, y, /, *, stream=None, fallback=None)")
def or_kleene(x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """Either or both, row by row; true where either is, whatever the other."""
    return run(_or_kleene, (x, y), None, stream, {}, fallback)


_invert = _registry.get_function("invert")


@_front(_invert, "invert(x, /, *, stream=None, fallback=None)")
def invert(x: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """The opposite of each row of bool."""
    return run(_invert, (x,), None, stream, {}, fallback)


_if_else = _registry.get_function("if_else")


@_front(_if_else, "if_else(condition, x, y, /, *, stream=None, fallback=None)")
def if_else(condition: Any, x: Any, y: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x where the condition is true, y where it is false, null where it is null."""
    return run(_if_else, (condition, x, y), None, stream, {}, fallback)


_fill_null = _registry.get_function("fill_null")


@_front(_fill_null, "fill_null(x, value, /, *, stream=None, fallback=None)")
def fill_null(x: Any, value: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """x, and where that is null the value, a single one or a row for each row.

    The result has the type of x where the value's type has a cast to it that keeps the kind of value (a number, a time
    of one kind, text); else the common type of both.  Raises ArgumentError for a value that the type of x has not.
    """
    return run(_fill_null, (x, value), None, stream, {}, fallback)


_coalesce = _registry.get_function("coalesce")


def coalesce(*args: Any, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """The first of the arguments that is not null, row by row."""
    return run(_coalesce, args, None, stream, {}, fallback)


_cast = _registry.get_function("cast")


def cast(
    x: Any,
    target_type: SchemaLike | None = None,
    safe: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """x as another type, which :func:`cdevice.asschema` takes; of a dictionary array what its rows stand for.

    ``safe``: raises ArgumentError where a value does not fit, which is waited for where that may happen at all; False:
    integers wrap, floats become the nearest integer there is.
    """
    named = {"safe": safe} if target_type is None else {"target_type": target_type, "safe": safe}
    return _run(_cast, (x,), options, stream, fallback, **named)


_filter = _registry.get_function("filter")


def filter(
    values: Any,
    mask: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    null_selection_behavior: str = "drop",
    options: FunctionOptions | None = None,
) -> Any:
    """The rows of an array or a batch whose mask is true.  Waits for the number of them.

    ``null_selection_behavior``: "emit_null" gives a null row where the mask is null.
    """
    return _run(_filter, (values, mask), options, stream, fallback, null_selection_behavior=null_selection_behavior)


_take = _registry.get_function("take")


def take(
    values: Any,
    indices: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    boundscheck: bool = True,
    options: FunctionOptions | None = None,
) -> Any:
    """The rows of an array or a batch with these numbers; null where an index is.

    Raises IndexOutOfBounds, for which it waits; ``boundscheck=False`` promises that there is none to raise.
    """
    return _run(_take, (values, indices), options, stream, fallback, boundscheck=boundscheck)


_drop_null = _registry.get_function("drop_null")


@_front(_drop_null, "drop_null(values, /, *, stream=None, fallback=None)")
def drop_null(values: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """The rows that are not null; of a batch those without any null.  Waits for the number of them."""
    return run(_drop_null, (values,), None, stream, {}, fallback)


_sum = _registry.get_function("sum")


@_front(_sum, "sum(x, /, *, stream=None, fallback=None, skip_nulls=True, min_count=1, options=None)")
def sum(
    x: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Any:
    """The sum, as int64, uint64 or float64, by a tree that is the same on every device.

    A :class:`Scalar`: null for fewer than ``min_count`` valid rows and, without ``skip_nulls``, for any null.  Chunks
    and streams are taken one after the other.
    """
    return _run(_sum, (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)


_mean = _registry.get_function("mean")


@_front(_mean, "mean(x, /, *, stream=None, fallback=None, skip_nulls=True, min_count=1, options=None)")
def mean(
    x: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Any:
    """The mean, as float64.

    A :class:`Scalar`: null for fewer than ``min_count`` valid rows and, without ``skip_nulls``, for any null.  Chunks
    and streams are taken one after the other.
    """
    return _run(_mean, (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)


_min = _registry.get_function("min")


@_front(_min, "min(x, /, *, stream=None, fallback=None, skip_nulls=True, min_count=1, options=None)")
def min(
    x: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Any:
    """The least value; not a number does not count.

    A :class:`Scalar`: null for fewer than ``min_count`` valid rows and, without ``skip_nulls``, for any null.  Chunks
    and streams are taken one after the other.
    """
    return _run(_min, (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)


_max = _registry.get_function("max")


@_front(_max, "max(x, /, *, stream=None, fallback=None, skip_nulls=True, min_count=1, options=None)")
def max(
    x: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Any:
    """The greatest value; not a number does not count.

    A :class:`Scalar`: null for fewer than ``min_count`` valid rows and, without ``skip_nulls``, for any null.  Chunks
    and streams are taken one after the other.
    """
    return _run(_max, (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)


_min_max = _registry.get_function("min_max")


@_front(_min_max, "min_max(x, /, *, stream=None, fallback=None, skip_nulls=True, min_count=1, options=None)")
def min_max(
    x: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Any:
    """The least and the greatest value, a struct of ``min`` and ``max``.

    A :class:`Scalar`: null for fewer than ``min_count`` valid rows and, without ``skip_nulls``, for any null.  Chunks
    and streams are taken one after the other.
    """
    return _run(_min_max, (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)


_any = _registry.get_function("any")


@_front(_any, "any(x, /, *, stream=None, fallback=None, skip_nulls=True, min_count=1, options=None)")
def any(
    x: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Any:
    """Is any row true?

    A :class:`Scalar`: null for fewer than ``min_count`` valid rows and, without ``skip_nulls``, for any null.  Chunks
    and streams are taken one after the other.
    """
    return _run(_any, (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)


_all = _registry.get_function("all")


@_front(_all, "all(x, /, *, stream=None, fallback=None, skip_nulls=True, min_count=1, options=None)")
def all(
    x: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Any:
    """Are all rows true?

    A :class:`Scalar`: null for fewer than ``min_count`` valid rows and, without ``skip_nulls``, for any null.  Chunks
    and streams are taken one after the other.
    """
    return _run(_all, (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)


_count = _registry.get_function("count")


@_front(_count, "count(x, /, mode='only_valid', *, stream=None, fallback=None, options=None)")
def count(
    x: Any,
    /,
    mode: str = "only_valid",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """How many rows are valid, or with ``mode`` "only_null" or "all".  A :class:`Scalar`."""
    return _run(_count, (x,), options, stream, fallback, mode=mode)
