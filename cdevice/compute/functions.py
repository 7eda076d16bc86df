"""Arrow's functions by name, each on the device that its arguments are on.

The row-wise functions and the aggregates are made from the tables below; ``functions.pyi`` has their signatures for
type checkers.

Arguments: what :func:`cdevice.asarray` takes, streams and lists of such (chunks), scalars of Python, numpy and
pyarrow, and :class:`Scalar`; None is null.  ``stream``: of the device, as in :meth:`DeviceArray.to`; ``fallback``:
"error" or "copy", see :func:`cdevice.compute.fallback`.  A row of a result is null where one of its arguments is,
unless its docstring states otherwise.  No function blocks for a device unless its docstring states it; the result
carries the event.  The CPU computes within the call.  All raise NoKernel for types they do not know,
ValueError for lengths that differ, and ArgumentError for arguments on two devices.
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
    from typing import Any

    from .._types import SchemaLike, StreamLike


_registry = make()
entries.serve(_registry)


def _run(
    function: Function, args: tuple[Any, ...], options: Any, stream: StreamLike, fallback: str | None, **named: Any
) -> Any:
    """``options=`` stands for all options by name: another value of one beside it is an error."""
    if options is not None:
        defaults = function.options.defaults
        twice = [name for name, value in named.items() if value is not defaults[name] and value != defaults[name]]
        if twice:
            raise TypeError(f"{function.name}: options= and {twice[0]}= were both given")
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

    ``name``: of the function.  ``args``: a list of arguments.  ``options``: an object of its class of options, a
    mapping, or None, and options by name.  ``stream``: of the device, as in :meth:`DeviceArray.to`.  ``fallback``:
    "error" or "copy", see :func:`cdevice.compute.fallback`.  ``registry``: where the name is looked up; None: in this
    module, then in other libraries.  Returns a DeviceArray, or a :class:`Scalar` where no argument has rows or the
    function returns one.

    Blocks as the function does.  Any thread.  Raises UnknownFunction, TypeError, and as the function.
    """
    if registry is not None and not isinstance(registry, FunctionRegistry):
        raise TypeError(f"call_function(): registry is a FunctionRegistry, not {type(registry).__name__}")
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"call_function(): args is a list of arguments, not {type(args).__name__}")
    return run((registry or _registry).get_function(name), args, options, stream, named, fallback)


def get_function(name: str) -> Function:
    """A :class:`Function`, with its ``kernels``.

    ``name``: of the function.  Does not block for a device.  Any thread.  Raises UnknownFunction, a KeyError.
    """
    return _registry.get_function(name)


def list_functions(include_providers: bool = False) -> list[str]:
    """The names of all functions, sorted: built-in and registered ones.

    ``include_providers``: also those found only when called: entry points are loaded, pyarrow is asked for its names.
    Does not block for a device.  Any thread.  Never raises for an entry point: one that fails
    is a DeviceWarning.
    """
    return _registry.get_function_names(include_providers)


def function_registry() -> FunctionRegistry:
    """The registry that functions are found in.

    Does not block.  Any thread.  Never raises.
    """
    return _registry


# ---- documentation: parameters, accepted types -> result type, errors, blocking ----
_NUMBERS = "int8 to uint64, float16, float32, float64"
_TIMES = "date32, date64, time32, time64, timestamp, duration"
_DECIMALS = "decimals of every width, beside one another or other numbers"
_SAME = f"""bool, {_NUMBERS} -> the common type
    {_TIMES}, of one type -> that type
    {_DECIMALS} -> float64 beside floats, else one with all digits, of 128 bits or more"""
_ARITHMETIC = f"""{_NUMBERS} -> the common type
    {_DECIMALS} -> float64 beside floats, else decimal128 or decimal256, of pyarrow's precision and scale
    time32 - time32, time64 - time64 -> duration; time of day and duration -> time of day (blocks)
    timestamp, date, time and duration -> as in Arrow: timestamp - timestamp -> duration
    null -> null"""
_PRODUCT = f"""{_NUMBERS} -> the common type
    duration * integer -> duration
    {_DECIMALS} -> float64 beside floats, else decimal128 or decimal256, of pyarrow's precision and scale
    null -> null"""
_QUOTIENT = f"""{_NUMBERS} -> the common type
    duration / integer -> duration; duration / duration -> float64
    {_DECIMALS} -> float64 beside floats, else decimal128 or decimal256, cut at pyarrow's scale
    null -> null"""
_SIGN = f"""{_NUMBERS}, decimal128, decimal256, duration -> the same type; decimal32, decimal64 -> decimal128
    null -> null"""
_COMPARED = f"""bool, {_NUMBERS}, decimals of every width -> bool
    {_TIMES}, of one kind -> bool
    string, binary, their large and view forms, fixed_size_binary -> bool"""
_BOOLS = """bool -> bool
    null -> null"""
_ANY = "any type -> bool"
_WRAPS = "An integer that overflows wraps."
_CHECKS = "Raises ArgumentError where an integer overflows, for which it blocks."
_PARAMETERS = """:param {names}: arrays, or scalars of Python, numpy, pyarrow or :class:`Scalar`; arrays have one length
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a DeviceArray; a :class:`Scalar` where no argument has rows
    :raises NoKernel: for types that are not listed
    :raises ValueError: for lengths that differ, and arguments on two devices (ArgumentError)

    Any thread."""


def _doc(summary: str, names: str, types: str, *more: str) -> str:
    """The docstring of a row-wise function."""
    extra = "".join(f"\n\n    {m}" for m in more)
    blocking = "" if _blocks((types, *more)) else "  Does not block."
    parameters = _PARAMETERS.format(names=names)
    return f"""{summary}{blocking}{extra}

    Accepted types -> result type::

        {types.replace(chr(10) + "    ", chr(10) + "        ")}

    {parameters}
    """


def _blocks(more: tuple[str, ...]) -> bool:
    return "blocks" in " ".join(more)


# Arrow's name: parameters, summary, types, remarks
_NULL_EITHER = "A row is null where an argument is."
_ROW_WISE: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "add": ("x y", "x + y, row by row.", _ARITHMETIC, (_WRAPS,)),
    "add_checked": ("x y", "x + y, row by row.", _ARITHMETIC, (_CHECKS,)),
    "subtract": ("x y", "x - y, row by row.", _ARITHMETIC, (_WRAPS,)),
    "subtract_checked": ("x y", "x - y, row by row.", _ARITHMETIC, (_CHECKS,)),
    "multiply": ("x y", "x * y, row by row.", _PRODUCT, (_WRAPS,)),
    "multiply_checked": ("x y", "x * y, row by row.", _PRODUCT, (_CHECKS,)),
    "divide": (
        "x y",
        "x / y, row by row; integers are truncated towards zero.",
        _QUOTIENT,
        ("Raises ArgumentError for an integer divided by zero, for which it blocks.",),
    ),
    "divide_checked": (
        "x y",
        "x / y, row by row; integers are truncated towards zero.",
        _QUOTIENT,
        ("Raises ArgumentError for a division by zero and for overflow, for which it blocks.",),
    ),
    "negate": ("x", "-x, row by row.", _SIGN, (_WRAPS,)),
    "negate_checked": ("x", "-x, row by row.", _SIGN, (_CHECKS,)),
    "abs": ("x", "The absolute value, row by row.", _SIGN, ("The smallest integer of a type stays as it is.",)),
    "abs_checked": ("x", "The absolute value, row by row.", _SIGN, (_CHECKS,)),
    "equal": ("x y", "x == y, row by row.", _COMPARED, (_NULL_EITHER,)),
    "not_equal": ("x y", "x != y, row by row.", _COMPARED, (_NULL_EITHER,)),
    "less": ("x y", "x < y, row by row.", _COMPARED, (_NULL_EITHER,)),
    "less_equal": ("x y", "x <= y, row by row.", _COMPARED, (_NULL_EITHER,)),
    "greater": ("x y", "x > y, row by row.", _COMPARED, (_NULL_EITHER,)),
    "greater_equal": ("x y", "x >= y, row by row.", _COMPARED, (_NULL_EITHER,)),
    "is_null": ("x", "True where the row is null.", _ANY, ("No row of the result is null.",)),
    "is_valid": ("x", "True where the row is not null.", _ANY, ("No row of the result is null.",)),
    "is_nan": ("x", "True where the value is NaN.", "float16, float32, float64, null -> bool", (_NULL_EITHER,)),
    "and": ("x y", "Logical and, row by row.", _BOOLS, (_NULL_EITHER,)),
    "or": ("x y", "Logical or, row by row.", _BOOLS, (_NULL_EITHER,)),
    "xor": ("x y", "Logical exclusive or, row by row.", _BOOLS, (_NULL_EITHER,)),
    "and_kleene": ("x y", "Logical and of Kleene's logic.", _BOOLS, ("False where either is false, null or not.",)),
    "or_kleene": ("x y", "Logical or of Kleene's logic.", _BOOLS, ("True where either is true, null or not.",)),
    "invert": ("x", "Logical not, row by row.", _BOOLS, (_NULL_EITHER,)),
    "if_else": (
        "condition x y",
        "x where the condition is true, y where it is false, null where it is null.",
        "condition: bool; x and y: " + _SAME + "\n    another type, the same of both -> that type; blocks for offsets",
        (),
    ),
    "fill_null": (
        "x value",
        "x, and the value where x is null: a scalar, or a row for each row.",
        f"{_SAME}\n    any other type, the same of both -> that type (blocks where it has offsets)",
        (
            "The result has the type of x where the type of the value has a cast to it that keeps the kind of value\n"
            "    (a number, a time of one kind, text); otherwise the common type of both.",
        ),
    ),
    "drop_null": (
        "values",
        "The rows that are not null; of a batch the rows without any null.",
        "any type -> the same type",
        ("It blocks until the number of rows is known.",),
    ),
}
# Arrow's name: summary, types
_AGGREGATES: dict[str, tuple[str, str]] = {
    "sum": (
        "The sum, by a tree that is the same on every device.",
        "int8 to int64 -> int64; bool, uint8 to uint64 -> uint64; floats -> float64;\n"
        "        decimal32 to decimal128 -> decimal128; decimal256 -> decimal256",
    ),
    "product": (
        "The product; integers wrap. Of decimals each step is rounded to the scale, a half away from zero.",
        "int8 to int64 -> int64; bool, uint8 to uint64 -> uint64; floats -> float64;\n"
        "        decimal32 to decimal128 -> decimal128; decimal256 -> decimal256",
    ),
    "mean": (
        "The mean.",
        "bool, int8 to uint64, floats -> float64;\n"
        "        decimal32 to decimal128 -> decimal128; decimal256 -> decimal256",
    ),
    "min": ("The minimum. NaN is ignored.", f"bool, {_NUMBERS}, decimal, {_TIMES} -> the same type"),
    "max": ("The maximum. NaN is ignored.", f"bool, {_NUMBERS}, decimal, {_TIMES} -> the same type"),
    "min_max": ("The minimum and the maximum.", f"bool, {_NUMBERS}, decimal, {_TIMES} -> struct of min and max"),
    "any": ("True where any row is true.", "bool, null -> bool"),
    "all": ("True where all rows are true.", "bool, null -> bool"),
}
_PUBLIC = {"and": "and_", "or": "or_"}


def _made(name: str, f: Any, head: str, doc: str) -> Any:
    """A function in C, tried before Python is called: ``native/fastpath/dispatch_cache.c``."""
    f.__name__ = f.__qualname__ = head.partition("(")[0]
    front = _native.compute_front(f, head, doc)
    _registry.get_function(name)._has_front(front)
    return front


def _row_wise(name: str) -> Any:
    names, summary, types, more = _ROW_WISE[name]
    function, n = _registry.get_function(name), len(names.split())

    def call(*args: Any, stream: StreamLike = None, fallback: str | None = None) -> Any:
        if len(args) != n:
            raise TypeError(
                f"{call.__name__}() takes {n} positional argument{'s' * (n != 1)} but {len(args)} were given"
            )
        return run(function, args, None, stream, {}, fallback)

    head = f"{_PUBLIC.get(name, name)}({', '.join(names.split())}, /, *, stream=None, fallback=None)"
    return _made(name, call, head, _doc(summary, names.replace(" ", ", "), types, *more))


def _aggregate(name: str) -> Any:
    summary, types = _AGGREGATES[name]
    function = _registry.get_function(name)

    def call(
        x: Any,
        /,
        *,
        stream: StreamLike = None,
        fallback: str | None = None,
        skip_nulls: bool = True,
        min_count: int = 1,
        options: FunctionOptions | None = None,
    ) -> Any:
        return _run(function, (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)

    head = f"{name}(x, /, *, stream=None, fallback=None, skip_nulls=True, min_count=1, options=None)"
    doc = f"""{summary}  Does not block, but for streams of many chunks.

    Accepted types -> result type::

        {types}

    :param x: an array, chunks or a stream, which are read one after the other
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param skip_nulls: False: the result is null where any row is
    :param min_count: the result is null for fewer valid rows
    :param options: a ScalarAggregateOptions, in place of the two
    :returns: a :class:`Scalar` on the device
    :raises NoKernel: for types that are not listed

    Any thread.
    """
    return _made(name, call, head, doc)


add, add_checked = _row_wise("add"), _row_wise("add_checked")
subtract, subtract_checked = _row_wise("subtract"), _row_wise("subtract_checked")
multiply, multiply_checked = _row_wise("multiply"), _row_wise("multiply_checked")
divide, divide_checked = _row_wise("divide"), _row_wise("divide_checked")
negate, negate_checked = _row_wise("negate"), _row_wise("negate_checked")
abs, abs_checked = _row_wise("abs"), _row_wise("abs_checked")
equal, not_equal = _row_wise("equal"), _row_wise("not_equal")
less, less_equal = _row_wise("less"), _row_wise("less_equal")
greater, greater_equal = _row_wise("greater"), _row_wise("greater_equal")
is_null, is_valid, is_nan = _row_wise("is_null"), _row_wise("is_valid"), _row_wise("is_nan")
and_, or_, xor, invert = _row_wise("and"), _row_wise("or"), _row_wise("xor"), _row_wise("invert")
and_kleene, or_kleene = _row_wise("and_kleene"), _row_wise("or_kleene")
if_else, fill_null, drop_null = _row_wise("if_else"), _row_wise("fill_null"), _row_wise("drop_null")
sum, mean, min, max = _aggregate("sum"), _aggregate("mean"), _aggregate("min"), _aggregate("max")
product = _aggregate("product")
min_max, any, all = _aggregate("min_max"), _aggregate("any"), _aggregate("all")

_coalesce = _registry.get_function("coalesce")
_cast = _registry.get_function("cast")
_filter = _registry.get_function("filter")
_take = _registry.get_function("take")
_count = _registry.get_function("count")
_array_sort = _registry.get_function("array_sort_indices")
_sort_indices = _registry.get_function("sort_indices")
_sort_by = _registry.get_function("sort_by")
_select_k = _registry.get_function("select_k_unstable")
_unique = _registry.get_function("unique")
_value_counts = _registry.get_function("value_counts")
_dictionary_encode = _registry.get_function("dictionary_encode")
_count_distinct = _registry.get_function("count_distinct")
_rank = _registry.get_function("rank")
_partition_nth = _registry.get_function("partition_nth_indices")


def coalesce(*args: Any, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """The first of the arguments that is not null, row by row.  Does not block.  Any thread.

    Accepted types -> result type::

        as fill_null -> the common type

    :param args: one or more arrays and scalars
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a DeviceArray; a :class:`Scalar` where no argument has rows
    :raises NoKernel: for types without a common one
    """
    return run(_coalesce, args, None, stream, {}, fallback)


def cast(
    x: Any,
    target_type: SchemaLike | None = None,
    safe: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """x as another type.  Blocks where ``safe`` and a value may not fit, and for text.  Any thread.

    Accepted types -> result type::

        bool, numbers, decimals, dates, times, strings -> as in Arrow; a dictionary -> its value type, and casts of that
        bool, numbers, decimals, dates, times, durations -> string, large_string, string_view; back from every layout
        strings and bytes of every layout -> each other, but for bytes of one size as a target
        lists, large lists, lists of a fixed size -> each other; structs by the names of their fields; maps

    :param x: an array, or a scalar
    :param target_type: what :func:`cdevice.asschema` takes
    :param safe: True: raises ArgumentError where a value does not fit; False: integers wrap, floats are truncated, of
        decimals in text digits are cut
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param options: a CastOptions, in place of the two
    :returns: a DeviceArray; a :class:`Scalar` for a scalar
    :raises NoKernel: for types without a cast
    :raises ArgumentError: for text that cannot be read, with the first such row; text longer than 32-bit offsets count
    """
    named = {"safe": safe} if target_type is None else {"target_type": target_type, "safe": safe}
    return _run(_cast, (x,), options, stream, fallback, **named)


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
    """The rows of an array or a batch whose mask is true.  Blocks until the number of rows is known.  Any
    thread.

    Accepted types -> result type::

        values: any type; mask: bool -> the type of values

    :param values: an array or a batch
    :param mask: bools, one for each row
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param null_selection_behavior: "drop", or "emit_null": a null row where the mask is null
    :param options: a FilterOptions, in place of it
    :returns: a DeviceArray
    :raises ValueError: for a mask of another length
    """
    return _run(_filter, (values, mask), options, stream, fallback, null_selection_behavior=null_selection_behavior)


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
    """The rows of an array or a batch by their numbers; null where an index is null, of a batch each column.

    Blocks where ``boundscheck``, and for types with offsets.  Any thread.

    Accepted types -> result type::

        values: any type; indices: any integer type -> the type of values

    :param values: an array or a batch
    :param indices: row numbers from 0
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param boundscheck: True: raises IndexOutOfBounds, for which it blocks; False: the caller
        promises that every index is within bounds
    :param options: a TakeOptions, in place of it
    :returns: a DeviceArray
    :raises IndexOutOfBounds: for an index outside of values
    """
    return _run(_take, (values, indices), options, stream, fallback, boundscheck=boundscheck)


def array_sort_indices(
    x: Any,
    /,
    order: str = "ascending",
    *,
    null_placement: str = "at_end",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """The row numbers of an array in the order of its values; equal rows stay in their order.

    Blocks: the device reports the range of the values.  Any thread.  Memory beside the array, with the
    result of 8 bytes: 24 bytes a row; on the CPU 20, or 28 where values differ in more than 43 bits.

    Accepted types -> result type::

        bool, numbers, decimals, dates, times, durations, strings, bytes, dictionaries by value -> uint64
        null -> uint64

    :param x: an array, or chunks, which become one array
    :param order: "ascending" or "descending"; NaN comes after all numbers in either
    :param null_placement: "at_end" or "at_start"; NaN lies between the numbers and the nulls
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param options: an ArraySortOptions, in place of the two
    :returns: a DeviceArray
    :raises NoKernel: for types without an order, strings above 8192 bytes, 2**32 rows and more
    """
    return _run(_array_sort, (x,), options, stream, fallback, order=order, null_placement=null_placement)


def sort_indices(
    x: Any,
    /,
    sort_keys: Any = (),
    *,
    null_placement: str | None = None,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """The row numbers of an array or a batch in the order of the sort keys; equal rows stay in their order.

    Blocks, needs memory, and accepts types as :func:`array_sort_indices`.  Any thread.

    :param x: an array or a batch, or chunks of them, which become one
    :param sort_keys: (name, order) or (name, order, null_placement) for each key, the most significant first; a name
        alone is ascending.  Of an array: the first key's order counts, its name does not
    :param null_placement: "at_end" or "at_start", of keys that name none; None: "at_end"
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param options: a SortOptions, in place of the two
    :returns: a DeviceArray of uint64
    :raises KeyError: for a key that the batch has no column of
    :raises NoKernel: as :func:`array_sort_indices`
    """
    placement = "at_end" if null_placement is None else null_placement
    return _run(_sort_indices, (x,), options, stream, fallback, sort_keys=sort_keys, null_placement=placement)


def sort_by(
    x: Any,
    /,
    sort_keys: Any = (),
    *,
    null_placement: str | None = None,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """The rows of an array or a batch in the order of the sort keys: ``take`` by :func:`sort_indices`.

    Blocks as :func:`sort_indices`.  Any thread.

    :param x: an array or a batch, or chunks of them, which become one
    :param sort_keys: as in :func:`sort_indices`
    :param null_placement: as in :func:`sort_indices`
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param options: a SortOptions, in place of the two
    :returns: a DeviceArray of the type of x
    :raises NoKernel: as :func:`array_sort_indices`
    """
    placement = "at_end" if null_placement is None else null_placement
    return _run(_sort_by, (x,), options, stream, fallback, sort_keys=sort_keys, null_placement=placement)


def select_k_unstable(
    x: Any,
    /,
    k: int | None = None,
    sort_keys: Any = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """The numbers of the first k rows in the order of the sort keys, nulls last; the order is stable.

    Blocks as :func:`sort_indices`.  Any thread.  Of few of many rows, whose first key has values of one size, it sorts
    those alone that lie near the first ones, and needs memory for them; else as :func:`sort_indices`.

    :param x: an array or a batch
    :param k: the number of rows; all where there are fewer
    :param sort_keys: as in :func:`sort_indices`
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param options: a SelectKOptions, in place of the two
    :returns: a DeviceArray of uint64
    :raises NoKernel: as :func:`array_sort_indices`
    """
    named = {name: value for name, value in (("k", k), ("sort_keys", sort_keys)) if value is not None}
    return _run(_select_k, (x,), options, stream, fallback, **named)


def top_k_unstable(
    x: Any, k: int, sort_keys: Any = None, *, stream: StreamLike = None, fallback: str | None = None
) -> Any:
    """The numbers of the k greatest rows, the greatest first: :func:`select_k_unstable` in descending order.

    Blocks as :func:`sort_indices`.  Any thread.

    :param x: an array or a batch
    :param k: the number of rows
    :param sort_keys: names of columns; None for an array
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a DeviceArray of uint64
    :raises NoKernel: as :func:`array_sort_indices`
    """
    keys = [("", "descending")] if sort_keys is None else [(name, "descending") for name in sort_keys]
    return select_k_unstable(x, k, keys, stream=stream, fallback=fallback)


def bottom_k_unstable(
    x: Any, k: int, sort_keys: Any = None, *, stream: StreamLike = None, fallback: str | None = None
) -> Any:
    """The numbers of the k least rows, the least first: :func:`select_k_unstable` in ascending order.

    Blocks as :func:`sort_indices`.  Any thread.

    :param x: an array or a batch
    :param k: the number of rows
    :param sort_keys: names of columns; None for an array
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a DeviceArray of uint64
    :raises NoKernel: as :func:`array_sort_indices`
    """
    keys = [("", "ascending")] if sort_keys is None else [(name, "ascending") for name in sort_keys]
    return select_k_unstable(x, k, keys, stream=stream, fallback=fallback)


def partition_nth_indices(
    x: Any,
    /,
    pivot: int | None = None,
    *,
    null_placement: str = "at_end",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """The row numbers so that no row before the pivot is greater, and none behind it less, than the row there.

    Blocks, needs memory, and accepts types as :func:`array_sort_indices`.  Any thread.

    :param x: an array
    :param pivot: the number of rows before it, up to the number of all
    :param null_placement: "at_end" or "at_start"
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param options: a PartitionNthOptions, in place of the two
    :returns: a DeviceArray of uint64
    :raises ArgumentError: for a pivot beyond the rows
    """
    named: dict[str, Any] = {} if pivot is None else {"pivot": pivot}
    return _run(_partition_nth, (x,), options, stream, fallback, null_placement=null_placement, **named)


def unique(x: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """The values of an array, each once, in the order of their first rows; null is a value.

    Blocks for the device.  Any thread.  A hash table finds the values; strings of more than 16 bytes on average are
    left to pyarrow on the CPU where it is installed.

    Accepted types -> result type::

        as array_sort_indices -> the type of x

    :param x: an array, or chunks, which become one array
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a DeviceArray
    :raises NoKernel: as :func:`array_sort_indices`
    """
    return run(_unique, (x,), None, stream, {}, fallback)


def value_counts(x: Any, /, *, stream: StreamLike = None, fallback: str | None = None) -> Any:
    """The values as :func:`unique` gives them, and how many rows have each: a struct of ``values`` and ``counts``.

    Blocks as :func:`unique`.  Any thread.

    Accepted types -> result type::

        as array_sort_indices -> struct of values (the type of x) and counts (int64)

    :param x: an array, or chunks, which become one array
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a DeviceArray
    :raises NoKernel: as :func:`array_sort_indices`
    """
    return run(_value_counts, (x,), None, stream, {}, fallback)


def dictionary_encode(
    x: Any,
    /,
    null_encoding: str = "mask",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """The rows as int32 indices of a dictionary of the values that :func:`unique` gives.

    Blocks as :func:`unique`.  Any thread.

    Accepted types -> result type::

        as array_sort_indices -> dictionary of the type of x; a dictionary -> itself

    :param x: an array, or chunks, which become one array
    :param null_encoding: "mask": a null has a null index; "encode": null is a value of the dictionary
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param options: a DictionaryEncodeOptions, in place of null_encoding
    :returns: a DeviceArray
    :raises NoKernel: as :func:`array_sort_indices`
    """
    return _run(_dictionary_encode, (x,), options, stream, fallback, null_encoding=null_encoding)


def count_distinct(
    x: Any,
    /,
    mode: str = "only_valid",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """How many different values there are.

    Blocks as :func:`unique`.  Any thread.

    Accepted types -> result type::

        as array_sort_indices -> int64

    :param x: an array, or chunks, which become one array
    :param mode: "only_valid"; "only_null": 1 where a row is null; "all": null is a value
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param options: a CountOptions, in place of mode
    :returns: a :class:`Scalar`
    :raises NoKernel: as :func:`array_sort_indices`
    """
    return _run(_count_distinct, (x,), options, stream, fallback, mode=mode)


def rank(
    x: Any,
    /,
    sort_keys: Any = "ascending",
    *,
    null_placement: str | None = None,
    tiebreaker: str = "first",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """The place of each row in the order of the sort keys, from 1 on.

    Blocks as :func:`sort_indices`.  Any thread.

    Accepted types -> result type::

        as array_sort_indices -> uint64

    :param x: an array or a batch
    :param sort_keys: "ascending" or "descending", or as in :func:`sort_indices`
    :param null_placement: "at_end" or "at_start", of keys that name none; None: "at_end"
    :param tiebreaker: the rank of equal rows: "first" (by their place), "min", "max", "dense" (no number is left out)
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param options: a RankOptions, in place of the three
    :returns: a DeviceArray
    :raises NoKernel: as :func:`array_sort_indices`
    """
    placement = "at_end" if null_placement is None else null_placement
    named = {"sort_keys": sort_keys, "null_placement": placement, "tiebreaker": tiebreaker}
    return _run(_rank, (x,), options, stream, fallback, **named)


def _count_rows(
    x: Any,
    /,
    mode: str = "only_valid",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Any:
    """The number of rows.  Does not block.  Any thread.

    Accepted types -> result type::

        any type -> int64

    :param x: an array, chunks or a stream
    :param mode: "only_valid", "only_null" or "all"
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :param options: a CountOptions, in place of the mode
    :returns: a :class:`Scalar`
    :raises ValueError: for another mode
    """
    return _run(_count, (x,), options, stream, fallback, mode=mode)


count = _made(
    "count",
    _count_rows,
    "count(x, /, mode='only_valid', *, stream=None, fallback=None, options=None)",
    _count_rows.__doc__ or "",
)
