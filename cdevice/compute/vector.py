"""Arrow's functions of whole columns, each on the device that its arguments are on.

Running totals, differences of rows, nulls filled from other rows, lists, run ends, permutations and statistics.

Arguments, ``stream`` and ``fallback``: as in :mod:`cdevice.compute.functions`.
"""

from __future__ import annotations

from .functions import _registry, _run  # type: ignore[attr-defined]
from .options import FunctionOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from .._types import DeviceArray, SchemaLike, StreamLike
    from .functions import ArrayLike
    from .scalar import Scalar

    F = TypeVar("F", bound=Callable[..., Any])

_NUMBERS = "int8 to uint64, float32, float64"
_COMMON = """:param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`"""


def _documented(f: F) -> F:
    """Completes a docstring: COMMON stands for the parameters that all functions have."""
    f.__doc__ = (f.__doc__ or "").replace("COMMON", _COMMON).replace("NUMBERS", _NUMBERS)
    return f


@_documented
def cumulative_sum(
    x: ArrayLike,
    /,
    start: Any = None,
    *,
    skip_nulls: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The sum of each row and all rows before it.  An integer that overflows wraps.

    Does not block.  Any thread.  Floats are added in one order on every device: rows by 32,
    these by tiles of 8192, the tiles by 256 parts.  The last digits may differ from pyarrow's, which adds row by row.

    Accepted types -> result type::

        NUMBERS -> the same type
        dictionaries, run-end encoded arrays -> as their values

    :param x: an array, or chunks, which become one array
    :param start: a number before the first row; None: 0
    :param skip_nulls: True: null rows stay null and do not count; False: all rows from the first null on are null
    COMMON
    :param options: a CumulativeOptions, in place of the two
    :returns: a DeviceArray
    :raises NoKernel: for types that are not listed
    :raises ValueOutOfRange: for a start that the type cannot hold
    """
    out: DeviceArray = _run(
        _registry.get_function("cumulative_sum"), (x,), options, stream, fallback, start=start, skip_nulls=skip_nulls
    )
    return out


@_documented
def cumulative_sum_checked(
    x: ArrayLike,
    /,
    start: Any = None,
    *,
    skip_nulls: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The sum of each row and all rows before it.

    Blocks for integers.  Any thread.  Floats are added in one order on every device: rows by 32,
    these by tiles of 8192, the tiles by 256 parts.  The last digits may differ from pyarrow's, which adds row by row.

    Accepted types -> result type::

        NUMBERS -> the same type
        dictionaries, run-end encoded arrays -> as their values

    :param x: an array, or chunks, which become one array
    :param start: a number before the first row; None: 0
    :param skip_nulls: True: null rows stay null and do not count; False: all rows from the first null on are null
    COMMON
    :param options: a CumulativeOptions, in place of the two
    :returns: a DeviceArray
    :raises ArgumentError: where an integer overflows
    :raises NoKernel: for types that are not listed
    :raises ValueOutOfRange: for a start that the type cannot hold
    """
    out: DeviceArray = _run(
        _registry.get_function("cumulative_sum_checked"),
        (x,),
        options,
        stream,
        fallback,
        start=start,
        skip_nulls=skip_nulls,
    )
    return out


@_documented
def cumulative_prod(
    x: ArrayLike,
    /,
    start: Any = None,
    *,
    skip_nulls: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The product of each row and all rows before it.  An integer that overflows wraps.

    Does not block.  Any thread.  Floats are added in one order on every device: rows by 32,
    these by tiles of 8192, the tiles by 256 parts.  The last digits may differ from pyarrow's, which adds row by row.

    Accepted types -> result type::

        NUMBERS -> the same type
        dictionaries, run-end encoded arrays -> as their values

    :param x: an array, or chunks, which become one array
    :param start: a number that all are multiplied by; None: 1
    :param skip_nulls: True: null rows stay null and do not count; False: all rows from the first null on are null
    COMMON
    :param options: a CumulativeOptions, in place of the two
    :returns: a DeviceArray
    :raises NoKernel: for types that are not listed
    :raises ValueOutOfRange: for a start that the type cannot hold
    """
    out: DeviceArray = _run(
        _registry.get_function("cumulative_prod"), (x,), options, stream, fallback, start=start, skip_nulls=skip_nulls
    )
    return out


@_documented
def cumulative_prod_checked(
    x: ArrayLike,
    /,
    start: Any = None,
    *,
    skip_nulls: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The product of each row and all rows before it.

    Blocks for integers.  Any thread.  Floats are added in one order on every device: rows by 32,
    these by tiles of 8192, the tiles by 256 parts.  The last digits may differ from pyarrow's, which adds row by row.

    Accepted types -> result type::

        NUMBERS -> the same type
        dictionaries, run-end encoded arrays -> as their values

    :param x: an array, or chunks, which become one array
    :param start: a number that all are multiplied by; None: 1
    :param skip_nulls: True: null rows stay null and do not count; False: all rows from the first null on are null
    COMMON
    :param options: a CumulativeOptions, in place of the two
    :returns: a DeviceArray
    :raises ArgumentError: where an integer overflows
    :raises NoKernel: for types that are not listed
    :raises ValueOutOfRange: for a start that the type cannot hold
    """
    out: DeviceArray = _run(
        _registry.get_function("cumulative_prod_checked"),
        (x,),
        options,
        stream,
        fallback,
        start=start,
        skip_nulls=skip_nulls,
    )
    return out


@_documented
def cumulative_min(
    x: ArrayLike,
    /,
    start: Any = None,
    *,
    skip_nulls: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The minimum of each row and all rows before it.

    Does not block.  Any thread.  NaN is ignored.

    Accepted types -> result type::

        NUMBERS -> the same type
        dictionaries, run-end encoded arrays -> as their values

    :param x: an array, or chunks, which become one array
    :param start: a number that counts as a row before the first; None: none
    :param skip_nulls: True: null rows stay null and do not count; False: all rows from the first null on are null
    COMMON
    :param options: a CumulativeOptions, in place of the two
    :returns: a DeviceArray
    :raises NoKernel: for types that are not listed
    :raises ValueOutOfRange: for a start that the type cannot hold
    """
    out: DeviceArray = _run(
        _registry.get_function("cumulative_min"), (x,), options, stream, fallback, start=start, skip_nulls=skip_nulls
    )
    return out


@_documented
def cumulative_max(
    x: ArrayLike,
    /,
    start: Any = None,
    *,
    skip_nulls: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The maximum of each row and all rows before it.

    Does not block.  Any thread.  NaN is ignored.

    Accepted types -> result type::

        NUMBERS -> the same type
        dictionaries, run-end encoded arrays -> as their values

    :param x: an array, or chunks, which become one array
    :param start: a number that counts as a row before the first; None: none
    :param skip_nulls: True: null rows stay null and do not count; False: all rows from the first null on are null
    COMMON
    :param options: a CumulativeOptions, in place of the two
    :returns: a DeviceArray
    :raises NoKernel: for types that are not listed
    :raises ValueOutOfRange: for a start that the type cannot hold
    """
    out: DeviceArray = _run(
        _registry.get_function("cumulative_max"), (x,), options, stream, fallback, start=start, skip_nulls=skip_nulls
    )
    return out


@_documented
def cumulative_mean(
    x: ArrayLike,
    /,
    start: Any = None,
    *,
    skip_nulls: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The mean of each row and all rows before it.

    Does not block.  Any thread.

    Accepted types -> result type::

        NUMBERS -> float64

    :param x: an array, or chunks, which become one array
    :param start: without effect, as in Arrow
    :param skip_nulls: True: null rows stay null and do not count; False: all rows from the first null on are null
    COMMON
    :param options: a CumulativeOptions, in place of the two
    :returns: a DeviceArray
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(
        _registry.get_function("cumulative_mean"), (x,), options, stream, fallback, start=start, skip_nulls=skip_nulls
    )
    return out


@_documented
def pairwise_diff(
    x: ArrayLike,
    /,
    period: int = 1,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Each row less the one ``period`` rows before; null where there is none.  An integer that overflows wraps.

    Does not block.  Any thread.

    Accepted types -> result type::

        as subtract -> as subtract

    :param x: an array, or chunks, which become one array
    :param period: how many rows lie between; negative: each row less a later one
    COMMON
    :param options: a PairwiseOptions, in place of it
    :returns: a DeviceArray
    :raises NoKernel: for types that subtract does not take
    """
    out: DeviceArray = _run(_registry.get_function("pairwise_diff"), (x,), options, stream, fallback, period=period)
    return out


@_documented
def pairwise_diff_checked(
    x: ArrayLike,
    /,
    period: int = 1,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Each row less the one ``period`` rows before; null where there is none.

    Blocks for integers.  Any thread.

    Accepted types -> result type::

        as subtract -> as subtract

    :param x: an array, or chunks, which become one array
    :param period: how many rows lie between; negative: each row less a later one
    COMMON
    :param options: a PairwiseOptions, in place of it
    :returns: a DeviceArray
    :raises ArgumentError: where an integer overflows
    :raises NoKernel: for types that subtract does not take
    """
    out: DeviceArray = _run(
        _registry.get_function("pairwise_diff_checked"), (x,), options, stream, fallback, period=period
    )
    return out


@_documented
def fill_null_forward(
    x: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """The array with the last value before each null; a null before the first value stays.

    Blocks for types with offsets.  Any thread.

    Accepted types -> result type::

        any type -> the same type

    :param x: an array, or chunks, which become one array
    COMMON
    :returns: a DeviceArray
    :raises TypeError: for what has no rows
    """
    out: DeviceArray = _run(_registry.get_function("fill_null_forward"), (x,), None, stream, fallback)
    return out


@_documented
def fill_null_backward(
    x: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """The array with the next value after each null; a null behind the last value stays.

    Blocks until the values are counted.  Any thread.

    Accepted types -> result type::

        any type -> the same type

    :param x: an array, or chunks, which become one array
    COMMON
    :returns: a DeviceArray
    :raises TypeError: for what has no rows
    """
    out: DeviceArray = _run(_registry.get_function("fill_null_backward"), (x,), None, stream, fallback)
    return out


@_documented
def indices_nonzero(
    x: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """The numbers of the rows that are neither zero, false nor null; NaN is not zero.

    Blocks until the rows are counted.  Any thread.

    Accepted types -> result type::

        bool, NUMBERS, float16, decimals -> uint64

    :param x: an array, or chunks, which become one array
    COMMON
    :returns: a DeviceArray
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(_registry.get_function("indices_nonzero"), (x,), None, stream, fallback)
    return out


@_documented
def replace_with_mask(
    x: ArrayLike,
    mask: Any,
    replacements: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """The values, with the next replacement in each row whose mask is true, and null where the mask is null.

    Blocks for an array of replacements.  Any thread.

    Accepted types -> result type::

        x and replacements: of one type; mask: bool -> the type of x

    :param x: an array, or chunks, which become one array
    :param mask: bools, one for each row, or one for all
    :param replacements: one for each row whose mask is true, or one value for all of them
    COMMON
    :returns: a DeviceArray
    :raises ArgumentError: for a mask of another length, and too few replacements
    :raises NoKernel: for types that differ and have no common type
    """
    out: DeviceArray = _run(
        _registry.get_function("replace_with_mask"), (x, mask, replacements), None, stream, fallback
    )
    return out


@_documented
def run_end_encode(
    x: ArrayLike,
    /,
    run_end_type: SchemaLike = "int32",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Runs of equal rows as one value each.

    Blocks until the runs are counted.  Any thread.  Floats are compared by their bits.

    Accepted types -> result type::

        bool, NUMBERS, float16, decimals, times, strings, bytes, null -> run_end_encoded

    :param x: an array, or chunks, which become one array
    :param run_end_type: int16, int32 or int64
    COMMON
    :param options: a RunEndEncodeOptions, in place of it
    :returns: a DeviceArray
    :raises ArgumentError: for more rows than the run ends can count
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(
        _registry.get_function("run_end_encode"), (x,), options, stream, fallback, run_end_type=run_end_type
    )
    return out


@_documented
def run_end_decode(
    x: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """A value for each row of a run-end encoded array.

    Blocks for types with offsets.  Any thread.

    Accepted types -> result type::

        run_end_encoded -> the type of its values

    :param x: an array, or chunks, which become one array
    COMMON
    :returns: a DeviceArray
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(_registry.get_function("run_end_decode"), (x,), None, stream, fallback)
    return out


@_documented
def list_value_length(
    x: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """The number of values of each list; null where the list is.

    Does not block.  Any thread.

    Accepted types -> result type::

        list, large_list, list_view, large_list_view, fixed_size_list, map -> int32
        large_list, large_list_view -> int64

    :param x: an array, or chunks, which become one array
    COMMON
    :returns: a DeviceArray
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(_registry.get_function("list_value_length"), (x,), None, stream, fallback)
    return out


@_documented
def list_flatten(
    x: ArrayLike,
    /,
    recursive: bool = False,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The values of all lists, one behind the other, without those of null rows.

    Blocks until the values are counted.  Any thread.

    Accepted types -> result type::

        list, large_list, list_view, large_list_view, fixed_size_list, map -> the type of the values

    :param x: an array, or chunks, which become one array
    :param recursive: True: also lists of lists, until no list is left
    COMMON
    :param options: a ListFlattenOptions, in place of it
    :returns: a DeviceArray
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(
        _registry.get_function("list_flatten"), (x,), options, stream, fallback, recursive=recursive
    )
    return out


@_documented
def list_parent_indices(
    x: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """For each value of :func:`list_flatten` the row of its list.

    Blocks until the values are counted.  Any thread.

    Accepted types -> result type::

        list, large_list, list_view, large_list_view, fixed_size_list, map -> int64

    :param x: an array, or chunks, which become one array
    COMMON
    :returns: a DeviceArray
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(_registry.get_function("list_parent_indices"), (x,), None, stream, fallback)
    return out


@_documented
def list_element(
    x: ArrayLike,
    index: Any,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """The value at one index of each list; null where the list is.

    Blocks.  Any thread.

    Accepted types -> result type::

        list, large_list, list_view, large_list_view, fixed_size_list, map -> the type of the values

    :param x: an array, or chunks, which become one array
    :param index: one number from 0 on, for all rows
    COMMON
    :returns: a DeviceArray
    :raises ArgumentError: for an index that a list does not have, or null
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(_registry.get_function("list_element"), (x, index), None, stream, fallback)
    return out


@_documented
def list_slice(
    x: ArrayLike,
    /,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
    return_fixed_size_list: bool | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Of each list its values from ``start`` to ``stop``.

    Blocks until the values are counted.  Any thread.

    Accepted types -> result type::

        list, large_list, list_view, large_list_view, map -> the same type
        fixed_size_list -> fixed_size_list

    :param x: an array, or chunks, which become one array
    :param start: the first index; needed unless there are options
    :param stop: the index behind the last; None: to the end
    :param step: each how many
    :param return_fixed_size_list: True: lists of one size, null where a list is shorter; None: as the argument
    COMMON
    :param options: a ListSliceOptions, in place of the four
    :returns: a DeviceArray
    :raises ValueError: for a start, stop or step out of range
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(
        _registry.get_function("list_slice"),
        (x,),
        options,
        stream,
        fallback,
        start=... if start is None else start,
        stop=stop,
        step=step,
        return_fixed_size_list=return_fixed_size_list,
    )
    return out


@_documented
def inverse_permutation(
    x: ArrayLike,
    /,
    max_index: int = -1,
    output_type: SchemaLike | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """For each number the row of x that has it, the last one of several; null where none has.

    Blocks.  Any thread.

    Accepted types -> result type::

        int8 to int64 -> the same type, or output_type

    :param x: an array, or chunks, which become one array
    :param max_index: the greatest index; -1: as many as there are rows
    :param output_type: a signed integer type; None: that of x
    COMMON
    :param options: an InversePermutationOptions, in place of the two
    :returns: a DeviceArray
    :raises IndexOutOfBounds: for an index below 0 or above max_index
    :raises ArgumentError: for an output_type that cannot count the rows
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(
        _registry.get_function("inverse_permutation"),
        (x,),
        options,
        stream,
        fallback,
        max_index=max_index,
        output_type=output_type,
    )
    return out


@_documented
def scatter(
    x: ArrayLike,
    indices: Any,
    /,
    max_index: int = -1,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Row i of x as row ``indices[i]`` of the result, the last one of several; null where none is.

    Blocks.  Any thread.

    Accepted types -> result type::

        x: any type; indices: int8 to int64 -> the type of x

    :param x: an array, or chunks, which become one array
    :param indices: row numbers of the result; null: none
    :param max_index: the greatest index; -1: as many as there are rows
    COMMON
    :param options: a ScatterOptions, in place of it
    :returns: a DeviceArray
    :raises IndexOutOfBounds: for an index below 0 or above max_index
    :raises ArgumentError: for lengths that differ
    :raises NoKernel: for other indices
    """
    out: DeviceArray = _run(
        _registry.get_function("scatter"), (x, indices), options, stream, fallback, max_index=max_index
    )
    return out


@_documented
def rank_quantile(
    x: ArrayLike,
    /,
    sort_keys: Any = "ascending",
    *,
    null_placement: str | None = None,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The part of all rows that lies before each row, equal ones by half: from 0 to 1.

    Blocks as :func:`array_sort_indices`.  Any thread.

    Accepted types -> result type::

        as array_sort_indices -> float64

    :param x: an array, or chunks, which become one array
    :param sort_keys: "ascending" or "descending"
    :param null_placement: "at_end" or "at_start"; None: "at_end"
    COMMON
    :param options: a RankQuantileOptions, in place of the two
    :returns: a DeviceArray
    :raises NoKernel: as array_sort_indices
    """
    out: DeviceArray = _run(
        _registry.get_function("rank_quantile"),
        (x,),
        options,
        stream,
        fallback,
        sort_keys=sort_keys,
        null_placement=null_placement,
    )
    return out


@_documented
def variance(
    x: ArrayLike,
    /,
    *,
    ddof: int = 0,
    skip_nulls: bool = True,
    min_count: int = 0,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar:
    """The variance of the rows, in float64, of their distances from the mean.

    Does not block, but for a stream, which is read to its end.  Any thread.  Null for as many rows as ddof, or fewer.

    Accepted types -> result type::

        NUMBERS, decimals -> float64

    :param x: an array, chunks or a stream, which are read one after the other: it needs room for one chunk
    :param ddof: the divisor is the number of rows less this
    :param skip_nulls: False: the result is null where any row is
    :param min_count: the result is null for fewer valid rows
    COMMON
    :param options: a VarianceOptions, in place of the three
    :returns: a :class:`Scalar` on the device
    :raises NoKernel: for types that are not listed
    """
    out: Scalar = _run(
        _registry.get_function("variance"),
        (x,),
        options,
        stream,
        fallback,
        ddof=ddof,
        skip_nulls=skip_nulls,
        min_count=min_count,
    )
    return out


@_documented
def stddev(
    x: ArrayLike,
    /,
    *,
    ddof: int = 0,
    skip_nulls: bool = True,
    min_count: int = 0,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar:
    """The standard deviation of the rows, in float64, of their distances from the mean.

    Does not block, but for a stream, which is read to its end.  Any thread.  Null for as many rows as ddof, or fewer.

    Accepted types -> result type::

        NUMBERS, decimals -> float64

    :param x: an array, chunks or a stream, which are read one after the other: it needs room for one chunk
    :param ddof: the divisor is the number of rows less this
    :param skip_nulls: False: the result is null where any row is
    :param min_count: the result is null for fewer valid rows
    COMMON
    :param options: a VarianceOptions, in place of the three
    :returns: a :class:`Scalar` on the device
    :raises NoKernel: for types that are not listed
    """
    out: Scalar = _run(
        _registry.get_function("stddev"),
        (x,),
        options,
        stream,
        fallback,
        ddof=ddof,
        skip_nulls=skip_nulls,
        min_count=min_count,
    )
    return out


@_documented
def skew(
    x: ArrayLike,
    /,
    *,
    biased: bool = True,
    skip_nulls: bool = True,
    min_count: int = 0,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar:
    """The skewness of the rows, in float64, of their distances from the mean.

    Does not block, but for a stream, which is read to its end.  Any thread.  Null without rows; NaN where all rows are
    equal.

    Accepted types -> result type::

        NUMBERS, decimals -> float64

    :param x: an array, chunks or a stream, which are read one after the other: it needs room for one chunk
    :param biased: False: corrected for the number of rows
    :param skip_nulls: False: the result is null where any row is
    :param min_count: the result is null for fewer valid rows
    COMMON
    :param options: a SkewOptions, in place of the three
    :returns: a :class:`Scalar` on the device
    :raises NoKernel: for types that are not listed
    """
    out: Scalar = _run(
        _registry.get_function("skew"),
        (x,),
        options,
        stream,
        fallback,
        biased=biased,
        skip_nulls=skip_nulls,
        min_count=min_count,
    )
    return out


@_documented
def kurtosis(
    x: ArrayLike,
    /,
    *,
    biased: bool = True,
    skip_nulls: bool = True,
    min_count: int = 0,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar:
    """The excess kurtosis of the rows, in float64, of their distances from the mean.

    Does not block, but for a stream, which is read to its end.  Any thread.  Null without rows; NaN where all rows are
    equal.

    Accepted types -> result type::

        NUMBERS, decimals -> float64

    :param x: an array, chunks or a stream, which are read one after the other: it needs room for one chunk
    :param biased: False: corrected for the number of rows
    :param skip_nulls: False: the result is null where any row is
    :param min_count: the result is null for fewer valid rows
    COMMON
    :param options: a SkewOptions, in place of the three
    :returns: a :class:`Scalar` on the device
    :raises NoKernel: for types that are not listed
    """
    out: Scalar = _run(
        _registry.get_function("kurtosis"),
        (x,),
        options,
        stream,
        fallback,
        biased=biased,
        skip_nulls=skip_nulls,
        min_count=min_count,
    )
    return out


@_documented
def quantile(
    x: ArrayLike,
    /,
    q: Any = 0.5,
    *,
    interpolation: str = "linear",
    skip_nulls: bool = True,
    min_count: int = 0,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The values at parts of the order of the rows, exact.  Null and NaN do not count.

    Blocks.  Any thread.  Memory beside the array: three bits a row and the rows around each quantile; of few rows, and
    of decimals, up to 40 bytes a row.

    Accepted types -> result type::

        NUMBERS, decimals -> float64
        NUMBERS, decimals; lower, higher and nearest -> the same type

    :param x: an array, or chunks, which become one array
    :param q: a number from 0 to 1, or several
    :param interpolation: "linear", "lower", "higher", "nearest" or "midpoint", between two rows
    :param skip_nulls: False: the result is null where any row is
    :param min_count: the result is null for fewer valid rows
    COMMON
    :param options: a QuantileOptions, in place of the four
    :returns: a DeviceArray with a row for each of q
    :raises ValueError: for a q that is not from 0 to 1
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(
        _registry.get_function("quantile"),
        (x,),
        options,
        stream,
        fallback,
        q=q,
        interpolation=interpolation,
        skip_nulls=skip_nulls,
        min_count=min_count,
    )
    return out


@_documented
def mode(
    x: ArrayLike,
    /,
    n: int = 1,
    *,
    skip_nulls: bool = True,
    min_count: int = 0,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The most common values, and how many rows have each: the most common first, of equally common ones the smaller.

    Blocks.  Any thread.  NaN is one value, greater than the others, and the two zeros are one.  Memory beside the
    array: as value_counts, and of chunks the values that were seen, each once.

    Accepted types -> result type::

        bool, NUMBERS, float16, decimals -> struct of mode, of that type, and count, int64

    :param x: an array, chunks or a stream, which are read one after the other
    :param n: how many values at most
    :param skip_nulls: False: there are no values where any row is null
    :param min_count: there are no values for fewer valid rows
    COMMON
    :param options: a ModeOptions, in place of the three
    :returns: a DeviceArray of at most n rows
    :raises ValueError: for an n below 1
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(
        _registry.get_function("mode"),
        (x,),
        options,
        stream,
        fallback,
        n=n,
        skip_nulls=skip_nulls,
        min_count=min_count,
    )
    return out


@_documented
def first(
    x: ArrayLike,
    /,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar:
    """The first value.

    Blocks for chunks, and for a min_count above 1.  Any thread.

    Accepted types -> result type::

        any type -> the same type

    :param x: an array, chunks or a stream, which are read one after the other
    :param skip_nulls: False: a null is a value
    :param min_count: the result is null for fewer valid rows
    COMMON
    :param options: a ScalarAggregateOptions, in place of the two
    :returns: a :class:`Scalar` on the device
    :raises NoKernel: for types that are not listed
    """
    out: Scalar = _run(
        _registry.get_function("first"), (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count
    )
    return out


@_documented
def last(
    x: ArrayLike,
    /,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar:
    """The last value.

    Blocks for chunks, and for a min_count above 1.  Any thread.

    Accepted types -> result type::

        any type -> the same type

    :param x: an array, chunks or a stream, which are read one after the other
    :param skip_nulls: False: a null is a value
    :param min_count: the result is null for fewer valid rows
    COMMON
    :param options: a ScalarAggregateOptions, in place of the two
    :returns: a :class:`Scalar` on the device
    :raises NoKernel: for types that are not listed
    """
    out: Scalar = _run(
        _registry.get_function("last"), (x,), options, stream, fallback, skip_nulls=skip_nulls, min_count=min_count
    )
    return out


@_documented
def first_last(
    x: ArrayLike,
    /,
    *,
    skip_nulls: bool = True,
    min_count: int = 1,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar:
    """The first and the last value, a struct of ``first`` and ``last``.

    Blocks for chunks, and for a min_count above 1.  Any thread.

    Accepted types -> result type::

        any type -> struct of first and last

    :param x: an array, chunks or a stream, which are read one after the other
    :param skip_nulls: False: a null is a value
    :param min_count: the result is null for fewer valid rows
    COMMON
    :param options: a ScalarAggregateOptions, in place of the two
    :returns: a :class:`Scalar` on the device
    :raises NoKernel: for types that are not listed
    """
    out: Scalar = _run(
        _registry.get_function("first_last"),
        (x,),
        options,
        stream,
        fallback,
        skip_nulls=skip_nulls,
        min_count=min_count,
    )
    return out


def _set_lookup(options: FunctionOptions | None, value_set: Any, skip_nulls: bool) -> dict[str, Any]:
    """The options by name; none where they are an object."""
    if options is not None and value_set is None and not skip_nulls:
        return {}
    if value_set is None:
        raise TypeError("SetLookupOptions needs value_set=")
    return {"value_set": value_set, "skip_nulls": skip_nulls}


@_documented
def is_in(
    x: ArrayLike,
    /,
    value_set: Any = None,
    *,
    skip_nulls: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """Is each row one of a set of values?  No row of the result is null.

    Values are equal as in :func:`unique`: NaN to NaN, null to null, 0.0 not to -0.0.  Blocks.  Any thread.  Memory
    beside the array: about 60 bytes a row of both.

    Accepted types -> result type::

        any type with an order -> bool

    :param x: an array, or chunks, which become one array
    :param value_set: an array, or a list, of a type that x can be compared with
    :param skip_nulls: True: a null is found in no set
    COMMON
    :param options: a SetLookupOptions, in place of the two
    :returns: a DeviceArray
    :raises ArgumentError: where the two types have no common type
    :raises NoKernel: for types that are not listed
    """
    named = _set_lookup(options, value_set, skip_nulls)
    out: DeviceArray = _run(_registry.get_function("is_in"), (x,), options, stream, fallback, **named)
    return out


@_documented
def index_in(
    x: ArrayLike,
    /,
    value_set: Any = None,
    *,
    skip_nulls: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray:
    """The first row of a set of values that each row is equal to; null where there is none.

    Values are equal as in :func:`unique`: NaN to NaN, null to null, 0.0 not to -0.0.  Blocks.  Any thread.  Memory
    beside the array: about 60 bytes a row of both.

    Accepted types -> result type::

        any type with an order -> int32

    :param x: an array, or chunks, which become one array
    :param value_set: an array, or a list, of a type that x can be compared with
    :param skip_nulls: True: a null is found in no set
    COMMON
    :param options: a SetLookupOptions, in place of the two
    :returns: a DeviceArray
    :raises ArgumentError: where the two types have no common type
    :raises NoKernel: for types that are not listed
    """
    out: DeviceArray = _run(
        _registry.get_function("index_in"),
        (x,),
        options,
        stream,
        fallback,
        **_set_lookup(options, value_set, skip_nulls),
    )
    return out


@_documented
def index(
    x: ArrayLike,
    /,
    value: Any,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar:
    """The first row that is equal to a value, or -1.  Null is equal to no row, and NaN neither.

    Blocks.  Any thread.

    Accepted types -> result type::

        the types of :func:`equal` -> int64

    :param x: an array, chunks or a stream, which are read one after the other
    :param value: one value, of a type that x can be compared with
    COMMON
    :param options: an IndexOptions, in place of value, which is None then
    :returns: a :class:`Scalar` on the device
    :raises ArgumentError: for an array as the value
    :raises NoKernel: for types that cannot be compared
    """
    given = {} if options is not None and value is None else {"value": value}
    out: Scalar = _run(_registry.get_function("index"), (x,), options, stream, fallback, **given)
    return out


@_documented
def dictionary_decode(
    x: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray:
    """A dictionary array as the values of its rows; other arrays as they are.

    Blocks for dictionaries of strings and lists.  Any thread.

    Accepted types -> result type::

        dictionaries -> the type of their values
        any other type -> the same type

    :param x: an array, or chunks, which become one array
    COMMON
    :returns: a DeviceArray
    :raises NoKernel: for dictionaries of values that :func:`take` has no kernel for
    """
    out: DeviceArray = _run(_registry.get_function("dictionary_decode"), (x,), None, stream, fallback)
    return out
