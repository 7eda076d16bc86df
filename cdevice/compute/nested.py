"""Arrow's functions that choose between columns, and those of structs, maps and vectors, each on the device that its
arguments are on.

Arguments, ``stream`` and ``fallback``: as in :mod:`cdevice.compute.functions`.
"""

from __future__ import annotations

from .dispatch.call import run
from .functions import _registry, _run  # type: ignore[attr-defined]
from .options import FunctionOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    from .._types import DeviceArray, StreamLike
    from .functions import ArrayLike

    F = TypeVar("F", bound=Callable[..., Any])

_COMMON = """:param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`"""


def _documented(f: F) -> F:
    """Completes a docstring: COMMON stands for the parameters that all functions have."""
    f.__doc__ = (f.__doc__ or "").replace("COMMON", _COMMON)
    return f


@_documented
def case_when(cond: Any, /, *cases: ArrayLike, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray:
    """Of each row the value of the first condition that is true; null where none is and there is no further value.

    Blocks for values with offsets, and where the struct may be null itself.  Any thread.

    Accepted types -> result type::

        cond: struct of bools; cases: any type, or types with a common one -> that type

    :param cond: a struct, or a batch, with a bool field for each condition, see :func:`make_struct`; null is not true
    :param cases: arrays and scalars, one for each condition, and perhaps one more for rows without a condition
    COMMON
    :returns: a DeviceArray; a :class:`Scalar` where no argument has rows
    :raises ArgumentError: for another number of values, and a struct that is null itself
    :raises NoKernel: for types without a common one
    """
    out: DeviceArray = run(_registry.get_function("case_when"), (cond, *cases), None, stream, {}, fallback)
    return out


@_documented
def choose(
    indices: ArrayLike, /, *values: ArrayLike, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray:
    """Of each row the value with the number that the row has; null where the number is null.

    Blocks.  Any thread.

    Accepted types -> result type::

        indices: integers; values: any type, or types with a common one -> that type; dictionaries -> their value type

    :param indices: which of the values, from 0 on
    :param values: one or more arrays and scalars
    COMMON
    :returns: a DeviceArray; a :class:`Scalar` where no argument has rows
    :raises IndexOutOfBounds: for a number that no value has
    :raises NoKernel: for types without a common one
    """
    out: DeviceArray = run(_registry.get_function("choose"), (indices, *values), None, stream, {}, fallback)
    return out


@_documented
def struct_field(
    values: ArrayLike,
    /,
    indices: Any = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """A field of structs, null where the struct is; no values are copied, but for a bitmap where there are nulls.

    Does not block.  Any thread.

    Accepted types -> result type::

        struct -> the type of the field
        sparse_union, dense_union -> the type of the child; rows of other types are null (blocks where it has offsets)

    :param values: an array or a batch
    :param indices: the number or the name of a field; a list of them for a field of a field; a path as ".a.b[0]"
    COMMON
    :param options: a StructFieldOptions, in place of it
    :returns: a DeviceArray
    :raises ArgumentError: for a field that there is not
    :raises NoKernel: for types that are not listed
    """
    given = {} if indices is None and options is not None else {"indices": indices}
    out: DeviceArray = _run(_registry.get_function("struct_field"), (values,), options, stream, fallback, **given)
    return out


@_documented
def make_struct(
    *args: ArrayLike,
    field_names: Sequence[str] = (),
    field_nullability: Sequence[bool] | None = None,
    field_metadata: Sequence[Mapping[Any, Any] | None] | None = None,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Columns as one column of structs, which are never null; arrays are not copied.

    Blocks where a field must not be null and may be, and for scalars with offsets.  Any thread.

    Accepted types -> result type::

        any type -> struct

    :param args: arrays, and scalars, which every row gets
    :param field_names: one for each argument; none: "0", "1" and so on
    :param field_nullability: may each field be null; None: all may
    :param field_metadata: of each field a mapping or None
    COMMON
    :param options: a MakeStructOptions, in place of the three
    :returns: a DeviceArray; a :class:`Scalar` where no argument has rows
    :raises ArgumentError: for another number of names, and nulls in a field that must not be null
    """
    out: DeviceArray = _run(
        _registry.get_function("make_struct"),
        args,
        options,
        stream,
        fallback,
        field_names=field_names,
        field_nullability=field_nullability,
        field_metadata=field_metadata,
    )
    return out


@_documented
def map_lookup(
    container: ArrayLike,
    /,
    query_key: Any = None,
    occurrence: str | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The value that each map has for a key; null where it has none.

    Blocks.  Any thread.

    Accepted types -> result type::

        map -> the type of its values; of "all" occurrences a list of them

    :param container: an array, or chunks, which become one array
    :param query_key: one value, of a type that becomes the keys' without loss
    :param occurrence: "first", "last" or "all" of the entries with the key
    COMMON
    :param options: a MapLookupOptions, in place of the two
    :returns: a DeviceArray
    :raises ArgumentError: for a query_key that is null, an array or of another type
    :raises NoKernel: for keys that :func:`equal` has no kernel for
    """
    given = {"query_key": query_key, "occurrence": occurrence}
    given = {k: v for k, v in given.items() if v is not None}
    out: DeviceArray = _run(_registry.get_function("map_lookup"), (container,), options, stream, fallback, **given)
    return out


_ALONG = """Does not block, but for decimals.  Any thread.  Null where the list is.  Null values do not count; NaN
    is neither the least nor the greatest where there is a number.  Each list is added up in one order: all devices give
    the same bits."""


def _along(name: str, summary: str, types: str) -> Any:
    function = _registry.get_function(name)

    def call(
        x: ArrayLike,
        /,
        *,
        skip_nulls: bool = True,
        min_count: int = 1,
        stream: StreamLike = None,
        fallback: str | None = None,
        options: FunctionOptions | None = None,
    ) -> DeviceArray:
        out: DeviceArray = _run(function, (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
        return out

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""{summary}

    {_ALONG}

    Accepted types -> result type::

        {types}

    :param x: an array of lists of any layout
    :param skip_nulls: False: the result is null where a value is
    :param min_count: the result is null for fewer valid values
    {_COMMON}
    :param options: a ScalarAggregateOptions, in place of the two
    :returns: a DeviceArray with a row for each list
    :raises NoKernel: for types that are not listed
    """
    return call


_LISTS = "lists of bool, int8 to int64, uint8 to uint64, floats"
_DECIMALS = "lists of decimals (blocks)"
_SUMS = f"{_LISTS} -> as :func:`sum`: int64, uint64, float64\n        {_DECIMALS} -> as :func:`sum`"
_MEANS = f"{_LISTS} -> float64\n        {_DECIMALS} -> as the mean of a group: decimals"
_ENDS = f"{_LISTS}, dates and times, decimals (blocks) -> the type of the values"
list_sum = _along("list_sum", "The sum of each list.", _SUMS)
list_mean = _along("list_mean", "The mean of each list; no sum of integers overflows.", _MEANS)
list_min = _along("list_min", "The minimum of each list.", _ENDS)
list_max = _along("list_max", "The maximum of each list.", _ENDS)


@_documented
def list_dot(
    x: ArrayLike,
    y: ArrayLike,
    /,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The dot product of two lists: the sum of the products of their values.

    Blocks for lists that are not of one fixed size.  Any thread.  Null where a list is; pairs with a null do not count.
    Where one has floats, products and sums are made in float64, of each list in one order, so that all devices give the
    same bits.

    Accepted types -> result type::

        lists of bool, int8 to int64, uint8 to uint64, floats -> as list_sum, of the common type

    :param x: an array of lists of any layout, or one list for all rows
    :param y: the same, of as many values in each row
    :param skip_nulls: False: the result is null where a value is
    :param min_count: the result is null for fewer pairs
    COMMON
    :param options: a ScalarAggregateOptions, in place of the two
    :returns: a DeviceArray; a :class:`Scalar` where both are one list
    :raises ArgumentError: for two lists of several lengths, with their row
    :raises NoKernel: for types that are not listed
    """
    named = {"skip_nulls": skip_nulls, "min_count": min_count}
    out: DeviceArray = _run(_registry.get_function("list_dot"), (x, y), options, stream, fallback, **named)
    return out


@_documented
def list_norm(
    x: ArrayLike,
    /,
    ord: float = 2,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The norm of each list, in float64.

    Does not block.  Any thread.  Null where the list is; null values do not count.

    Accepted types -> result type::

        lists of bool, int8 to int64, uint8 to uint64, floats -> float64

    :param x: an array of lists of any layout
    :param ord: 2: the root of the sum of the squares; 1: the sum of the absolute values; float("inf"): the greatest one
    :param skip_nulls: False: the result is null where a value is
    :param min_count: the result is null for fewer valid values
    COMMON
    :param options: a ListNormOptions, in place of the three
    :returns: a DeviceArray with a row for each list
    :raises ValueError: for another ord
    :raises NoKernel: for types that are not listed
    """
    named = {"ord": ord, "skip_nulls": skip_nulls, "min_count": min_count}
    out: DeviceArray = _run(_registry.get_function("list_norm"), (x,), options, stream, fallback, **named)
    return out


@_documented
def reshape(
    x: ArrayLike,
    /,
    shape: Any = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Lists of a fixed size as lists of such lists, or back: the shape of each row, without a copy of the values.

    Does not block, unless lists below others may be null.  Any thread.  A tensor (``arrow.fixed_shape_tensor``) stays a
    tensor, of that shape.

    Accepted types -> result type::

        fixed_size_list, of such lists too -> fixed_size_list of the shape

    :param x: an array
    :param shape: the sizes of the lists of each row, the outermost first; one may be -1, the rest of the values
    COMMON
    :param options: a ReshapeOptions, in place of it
    :returns: a DeviceArray of the same memory
    :raises ArgumentError: for a shape of another number of values, and lists below others that are null
    :raises NoKernel: for types that are not listed
    """
    given = {} if shape is None and options is not None else {"shape": shape}
    out: DeviceArray = _run(_registry.get_function("reshape"), (x,), options, stream, fallback, **given)
    return out
