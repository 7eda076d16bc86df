"""Arrow's hash aggregates: functions of values and of the group of each row, which :class:`Grouper` numbers.

:func:`group_by` does both. ``stream`` and ``fallback``: as in :mod:`cdevice.compute.functions`.
"""

from __future__ import annotations

from .functions import _registry, _run  # type: ignore[attr-defined]
from .options import FunctionOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    from .._types import DeviceArray, StreamLike
    from .functions import ArrayLike

    F = TypeVar("F", bound=Callable[..., Any])

_NUMBERS = "int8 to uint64, float16, float32, float64"
_ROWS = """:param values: an array, or chunks, which become one array
    """
_IDS = """:param group_ids: for each row the number of its group, of any integer type, without nulls
    :param num_groups: how many groups there are; None: one more than the greatest number, for which it blocks"""
_NULLS = """:param skip_nulls: False: a group that has a null row is null
    :param min_count: groups of fewer valid rows are null"""
_COMMON = """:param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`"""
_ERRORS = """:returns: a DeviceArray with a row for each group
    :raises ArgumentError: for a group number beyond num_groups, below 0 or null
    :raises ValueError: for lengths that differ
    :raises NoKernel: for types that are not listed"""


def _documented(f: F) -> F:
    """Completes a docstring: words in capitals stand for the parameters that all functions have."""
    text = f.__doc__ or ""
    for word, full in (
        ("VALUES", _ROWS + _IDS),
        ("IDS", _IDS),
        ("NULLS", _NULLS),
        ("COMMON", _COMMON),
        ("ERRORS", _ERRORS),
        ("NUMBERS", _NUMBERS),
    ):
        text = text.replace(word, full)
    f.__doc__ = text + "\n    Blocks: it reads the greatest number of a group.  Any thread.\n    "
    return f


def _given(values: Any, group_ids: Any, num_groups: int | None) -> tuple[Any, ...]:
    return (values, group_ids) if num_groups is None else (values, group_ids, num_groups)


@_documented
def hash_all(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Are all rows of each group true?

    Accepted types -> result type::

        bool -> bool

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_all"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_any(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Is any row of each group true?

    Accepted types -> result type::

        bool -> bool

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_any"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_approximate_median(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The median of each group, exact: the mean of the two rows in the middle.

    Accepted types -> result type::

        NUMBERS -> float64

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_approximate_median"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_count(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    mode: str = "only_valid",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """How many rows of each group are valid, or null.

    Accepted types -> result type::

        any type -> int64

    VALUES
    :param mode: "only_valid", "only_null" or "all"
    COMMON
    :param options: a CountOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_count"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, mode=mode)
    return out


@_documented
def hash_count_distinct(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    mode: str = "only_valid",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """How many different values each group has.

    Accepted types -> result type::

        types that can be keys -> int64

    VALUES
    :param mode: "only_valid", "only_null" or "all"
    COMMON
    :param options: a CountOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_count_distinct"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, mode=mode)
    return out


@_documented
def hash_distinct(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    mode: str = "only_valid",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The different values of each group, in the order of their first rows.

    Accepted types -> result type::

        types that can be keys -> list

    VALUES
    :param mode: "only_valid", "only_null" or "all"
    COMMON
    :param options: a CountOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_distinct"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, mode=mode)
    return out


@_documented
def hash_first(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The first row of each group.

    Accepted types -> result type::

        any type -> the same type

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_first"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_first_last(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The first and the last row of each group.

    Accepted types -> result type::

        any type -> struct of first and last

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_first_last"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_last(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The last row of each group.

    Accepted types -> result type::

        any type -> the same type

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_last"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_list(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """The rows of each group as a list.

    Accepted types -> result type::

        any type -> list

    VALUES
    COMMON
    ERRORS
    """
    function, given = _registry.get_function("hash_list"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, None, stream, fallback)
    return out


@_documented
def hash_max(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The greatest row of each group; NaN where there is no number.

    Accepted types -> result type::

        types that have an order -> the same type

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_max"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_mean(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The mean of the rows of each group.

    Accepted types -> result type::

        bool, NUMBERS -> float64

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_mean"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_min(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The least row of each group; NaN where there is no number.

    Accepted types -> result type::

        types that have an order -> the same type

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_min"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_min_max(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The least and the greatest row of each group.

    Accepted types -> result type::

        types that have an order -> struct of min and max

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_min_max"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_one(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """A row of each group: the first.

    Accepted types -> result type::

        any type -> the same type

    VALUES
    COMMON
    ERRORS
    """
    function, given = _registry.get_function("hash_one"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, None, stream, fallback)
    return out


@_documented
def hash_product(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The product of the rows of each group; integers wrap.

    Accepted types -> result type::

        bool, NUMBERS -> int64, uint64 or float64

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_product"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_stddev(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    ddof: int = 0,
    skip_nulls: bool = True,
    min_count: int = 0,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The standard deviation of the rows of each group.

    Accepted types -> result type::

        NUMBERS -> float64

    VALUES
    :param ddof: the divisor is the number of rows less this
    NULLS
    COMMON
    :param options: a VarianceOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_stddev"), _given(values, group_ids, num_groups)
    named = {"ddof": ddof, "skip_nulls": skip_nulls, "min_count": min_count}
    out: DeviceArray = _run(function, given, options, stream, fallback, **named)
    return out


@_documented
def hash_sum(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The sum of the rows of each group; integers wrap. Floats are added in one order on every device.

    Accepted types -> result type::

        bool, NUMBERS -> int64, uint64 or float64
        decimal128 -> decimal128 of 38 digits

    VALUES
    NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_sum"), _given(values, group_ids, num_groups)
    out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
    return out


@_documented
def hash_variance(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    ddof: int = 0,
    skip_nulls: bool = True,
    min_count: int = 0,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The variance of the rows of each group.

    Accepted types -> result type::

        NUMBERS -> float64

    VALUES
    :param ddof: the divisor is the number of rows less this
    NULLS
    COMMON
    :param options: a VarianceOptions, in place of the options by name
    ERRORS
    """
    function, given = _registry.get_function("hash_variance"), _given(values, group_ids, num_groups)
    named = {"ddof": ddof, "skip_nulls": skip_nulls, "min_count": min_count}
    out: DeviceArray = _run(function, given, options, stream, fallback, **named)
    return out


@_documented
def hash_count_all(
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """How many rows each group has (int64).

    Accepted types -> result type::

        integers -> int64

    IDS
    COMMON
    ERRORS
    """
    given = (group_ids,) if num_groups is None else (group_ids, num_groups)
    out: DeviceArray = _run(_registry.get_function("hash_count_all"), given, None, stream, fallback)
    return out


@_documented
def hash_quantile(
    values: ArrayLike,
    group_ids: ArrayLike,
    /,
    num_groups: int | None = None,
    q: float | Sequence[float] = 0.5,
    *,
    interpolation: str = "linear",
    skip_nulls: bool = True,
    min_count: int = 0,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Exact quantiles of each group; of several a list of fixed size.  Arrow has no such function.

    Accepted types -> result type::

        NUMBERS -> float64; the same type for lower, higher and nearest

    VALUES
    :param q: a number from 0 to 1, or several
    :param interpolation: "linear", "lower", "higher", "nearest" or "midpoint"
    NULLS
    COMMON
    :param options: a QuantileOptions, in place of the options by name
    ERRORS
    """
    out: DeviceArray = _run(
        _registry.get_function("hash_quantile"),
        _given(values, group_ids, num_groups),
        options,
        stream,
        fallback,
        q=q,
        interpolation=interpolation,
        skip_nulls=skip_nulls,
        min_count=min_count,
    )
    return out
