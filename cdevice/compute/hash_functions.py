"""Arrow's hash aggregates: functions of values and of the group of each row, which :class:`Grouper` numbers.

:func:`group_by` does both.  Those with the same options are made by one function.  ``stream`` and ``fallback``: as in
:mod:`cdevice.compute.functions`.
"""

from __future__ import annotations

from .functions import _registry, _run  # type: ignore[attr-defined]
from .options import FunctionOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol, TypeVar

    from .._types import DeviceArray, StreamLike
    from .functions import ArrayLike

    F = TypeVar("F", bound=Callable[..., Any])

    class _OfValues(Protocol):
        def __call__(
            self,
            values: ArrayLike,
            group_ids: ArrayLike,
            /,
            num_groups: int | None = None,
            *,
            stream: StreamLike = None,
            fallback: str | None = None,
        ) -> DeviceArray: ...

    class _OfValid(Protocol):
        def __call__(
            self,
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
        ) -> DeviceArray: ...

    class _OfMode(Protocol):
        def __call__(
            self,
            values: ArrayLike,
            group_ids: ArrayLike,
            /,
            num_groups: int | None = None,
            *,
            mode: str = "only_valid",
            stream: StreamLike = None,
            fallback: str | None = None,
            options: FunctionOptions | None = None,
        ) -> DeviceArray: ...

    class _OfSpread(Protocol):
        def __call__(
            self,
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
        ) -> DeviceArray: ...

    class _OfShape(Protocol):
        def __call__(
            self,
            values: ArrayLike,
            group_ids: ArrayLike,
            /,
            num_groups: int | None = None,
            *,
            biased: bool = True,
            skip_nulls: bool = True,
            min_count: int = 0,
            stream: StreamLike = None,
            fallback: str | None = None,
            options: FunctionOptions | None = None,
        ) -> DeviceArray: ...


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


def _documented(f: F, text: str | None = None) -> F:
    """Completes a docstring: words in capitals stand for the parameters that all functions have."""
    text = f.__doc__ or "" if text is None else text
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


def _named(f: F, name: str, summary: str, types: str, options: str) -> F:
    """A function under its name, with its docstring."""
    f.__name__ = f.__qualname__ = name
    return _documented(
        f,
        f"""{summary}

    Accepted types -> result type::

        {types}

    VALUES
    {options}
    ERRORS
    """,
    )


def _given(values: Any, group_ids: Any, num_groups: int | None) -> tuple[Any, ...]:
    return (values, group_ids) if num_groups is None else (values, group_ids, num_groups)


def _of_values(name: str, summary: str, types: str) -> _OfValues:
    function = _registry.get_function(name)

    def call(
        values: ArrayLike,
        group_ids: ArrayLike,
        /,
        num_groups: int | None = None,
        *,
        stream: StreamLike = None,
        fallback: str | None = None,
    ) -> DeviceArray:
        given = _given(values, group_ids, num_groups)
        out: DeviceArray = _run(function, given, None, stream, fallback)
        return out

    return _named(call, name, summary, types, """COMMON""")


def _of_valid(name: str, summary: str, types: str) -> _OfValid:
    function = _registry.get_function(name)

    def call(
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
        given = _given(values, group_ids, num_groups)
        out: DeviceArray = _run(function, given, options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count)
        return out

    return _named(
        call,
        name,
        summary,
        types,
        """NULLS
    COMMON
    :param options: a ScalarAggregateOptions, in place of the options by name""",
    )


def _of_mode(name: str, summary: str, types: str) -> _OfMode:
    function = _registry.get_function(name)

    def call(
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
        given = _given(values, group_ids, num_groups)
        out: DeviceArray = _run(function, given, options, stream, fallback, mode=mode)
        return out

    return _named(
        call,
        name,
        summary,
        types,
        """:param mode: "only_valid", "only_null" or "all"
    COMMON
    :param options: a CountOptions, in place of the options by name""",
    )


def _of_spread(name: str, summary: str, types: str) -> _OfSpread:
    function = _registry.get_function(name)

    def call(
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
        given = _given(values, group_ids, num_groups)
        out: DeviceArray = _run(
            function, given, options, stream, fallback, ddof=ddof, skip_nulls=skip_nulls, min_count=min_count
        )
        return out

    return _named(
        call,
        name,
        summary,
        types,
        """:param ddof: the divisor is the number of rows less this
    NULLS
    COMMON
    :param options: a VarianceOptions, in place of the options by name""",
    )


def _of_shape(name: str, summary: str, types: str) -> _OfShape:
    function = _registry.get_function(name)

    def call(
        values: ArrayLike,
        group_ids: ArrayLike,
        /,
        num_groups: int | None = None,
        *,
        biased: bool = True,
        skip_nulls: bool = True,
        min_count: int = 0,
        stream: StreamLike = None,
        fallback: str | None = None,
        options: FunctionOptions | None = None,
    ) -> DeviceArray:
        given = _given(values, group_ids, num_groups)
        out: DeviceArray = _run(
            function, given, options, stream, fallback, biased=biased, skip_nulls=skip_nulls, min_count=min_count
        )
        return out

    return _named(
        call,
        name,
        summary,
        types,
        """:param biased: False: corrected for the number of rows; null for fewer than three rows, or four of kurtosis
    NULLS
    COMMON
    :param options: a SkewOptions, in place of the options by name""",
    )


hash_all = _of_valid(
    "hash_all",
    "Are all rows of each group true?",
    "bool -> bool",
)
hash_any = _of_valid(
    "hash_any",
    "Is any row of each group true?",
    "bool -> bool",
)
hash_approximate_median = _of_valid(
    "hash_approximate_median",
    "The median of each group, exact: the mean of the two rows in the middle.",
    "NUMBERS, decimals -> float64",
)
hash_count = _of_mode(
    "hash_count",
    "How many rows of each group are valid, or null.",
    "any type -> int64",
)
hash_count_distinct = _of_mode(
    "hash_count_distinct",
    "How many different values each group has.",
    "types that can be keys -> int64",
)
hash_distinct = _of_mode(
    "hash_distinct",
    "The different values of each group, in the order of their first rows.",
    "types that can be keys -> list",
)
hash_first = _of_valid(
    "hash_first",
    "The first row of each group.",
    "any type -> the same type",
)
hash_first_last = _of_valid(
    "hash_first_last",
    "The first and the last row of each group.",
    "any type -> struct of first and last",
)
hash_kurtosis = _of_shape(
    "hash_kurtosis",
    "The excess kurtosis of the rows of each group; NaN where all are equal.",
    "NUMBERS, decimals -> float64",
)
hash_last = _of_valid(
    "hash_last",
    "The last row of each group.",
    "any type -> the same type",
)
hash_list = _of_values(
    "hash_list",
    "The rows of each group as a list.",
    "any type -> list",
)
hash_max = _of_valid(
    "hash_max",
    "The greatest row of each group; NaN where there is no number.",
    "types that have an order -> the same type",
)
hash_mean = _of_valid(
    "hash_mean",
    "The mean of the rows of each group.",
    "bool, NUMBERS -> float64",
)
hash_min = _of_valid(
    "hash_min",
    "The least row of each group; NaN where there is no number.",
    "types that have an order -> the same type",
)
hash_min_max = _of_valid(
    "hash_min_max",
    "The least and the greatest row of each group.",
    "types that have an order -> struct of min and max",
)
hash_one = _of_values(
    "hash_one",
    "A row of each group: the first.",
    "any type -> the same type",
)
hash_product = _of_valid(
    "hash_product",
    "The product of the rows of each group; integers wrap.",
    "bool, NUMBERS -> int64, uint64 or float64",
)
hash_skew = _of_shape(
    "hash_skew",
    "The skewness of the rows of each group; NaN where all are equal.",
    "NUMBERS, decimals -> float64",
)
hash_stddev = _of_spread(
    "hash_stddev",
    "The standard deviation of the rows of each group.",
    "NUMBERS, decimals -> float64",
)
hash_sum = _of_valid(
    "hash_sum",
    "The sum of the rows of each group; integers wrap. Floats are added in one order on every device.",
    "bool, NUMBERS -> int64, uint64 or float64; decimal128 -> decimal128 of 38 digits",
)
hash_variance = _of_spread(
    "hash_variance",
    "The variance of the rows of each group.",
    "NUMBERS, decimals -> float64",
)


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

        NUMBERS, decimals -> float64; the same type for lower, higher and nearest

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
