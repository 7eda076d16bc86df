# Signatures of functions.py for type checkers; tests/project/test_typing.py holds the two together.
import datetime
import decimal
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, overload

from .._types import DeviceArray, DeviceArrayStream, SchemaLike, StreamLike
from .dispatch.registry import Function, FunctionRegistry
from .expressions.expression import Expression
from .options import FunctionOptions
from .scalar import Scalar

ScalarLike: TypeAlias = (
    bool
    | int
    | float
    | str
    | bytes
    | decimal.Decimal
    | datetime.date
    | datetime.time
    | datetime.timedelta
    | Scalar
    | None
)
_SortKeys: TypeAlias = Sequence[str | int | tuple[str | int, str] | tuple[str | int, str, str | None]]
ArrayLike: TypeAlias = Any
"""What :func:`cdevice.asarray` takes, streams and lists of such (chunks)."""

def call_function(
    name: str,
    args: Sequence[Any],
    options: FunctionOptions | Mapping[str, Any] | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    registry: FunctionRegistry | None = None,
    **named: Any,
) -> Any: ...
def get_function(name: str) -> Function: ...
def list_functions(include_providers: bool = False) -> list[str]: ...
def function_registry() -> FunctionRegistry: ...
@overload
def add(x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def add(x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def add(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def add(x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def add_checked(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def add_checked(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def add_checked(
    x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Scalar: ...
@overload
def add_checked(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def subtract(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def subtract(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def subtract(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def subtract(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def subtract_checked(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def subtract_checked(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def subtract_checked(
    x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Scalar: ...
@overload
def subtract_checked(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def multiply(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def multiply(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def multiply(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def multiply(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def multiply_checked(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def multiply_checked(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def multiply_checked(
    x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Scalar: ...
@overload
def multiply_checked(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def divide(x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def divide(x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def divide(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def divide(x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def divide_checked(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def divide_checked(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def divide_checked(
    x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Scalar: ...
@overload
def divide_checked(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def equal(x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def equal(x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def equal(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def equal(x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def not_equal(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def not_equal(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def not_equal(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def not_equal(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def less(x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def less(x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def less(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def less(x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def less_equal(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def less_equal(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def less_equal(
    x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Scalar: ...
@overload
def less_equal(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def greater(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def greater(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def greater(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def greater(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def greater_equal(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def greater_equal(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def greater_equal(
    x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Scalar: ...
@overload
def greater_equal(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def and_(x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def and_(x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def and_(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def and_(x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def or_(x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def or_(x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def or_(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def or_(x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def xor(x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def xor(x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def xor(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def xor(x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def and_kleene(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def and_kleene(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def and_kleene(
    x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Scalar: ...
@overload
def and_kleene(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def or_kleene(
    x: Expression, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def or_kleene(
    x: ArrayLike, y: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def or_kleene(x: ScalarLike, y: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def or_kleene(
    x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def negate(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def negate(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def negate(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def negate_checked(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def negate_checked(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def negate_checked(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def abs(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def abs(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def abs(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def abs_checked(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def abs_checked(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def abs_checked(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def is_null(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def is_null(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def is_null(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def is_valid(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def is_valid(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def is_valid(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def is_nan(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def is_nan(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def is_nan(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def invert(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def invert(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def invert(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def fill_null(
    x: Expression, value: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def fill_null(
    x: ArrayLike, value: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def fill_null(
    x: ScalarLike, value: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Scalar: ...
@overload
def fill_null(
    x: ArrayLike, value: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def if_else(
    condition: Expression,
    x: ArrayLike,
    y: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> Expression: ...
@overload
def if_else(
    condition: ArrayLike,
    x: Expression,
    y: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> Expression: ...
@overload
def if_else(
    condition: bool | Scalar | None,
    x: ScalarLike,
    y: ScalarLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> Scalar: ...
@overload
def if_else(
    condition: ArrayLike, x: ArrayLike, y: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
def drop_null(values: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def coalesce(*args: ScalarLike, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...  # type: ignore[overload-overlap]
@overload
def coalesce(*args: Expression | ScalarLike, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def coalesce(*args: ArrayLike, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def cast(
    x: Expression,
    target_type: SchemaLike | None = None,
    safe: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def cast(
    x: ScalarLike,
    target_type: SchemaLike | None = None,
    safe: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def cast(
    x: ArrayLike,
    target_type: SchemaLike | None = None,
    safe: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
def filter(
    values: ArrayLike,
    mask: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    null_selection_behavior: str = "drop",
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
def take(
    values: ArrayLike,
    indices: ArrayLike,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    boundscheck: bool = True,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
def array_sort_indices(
    x: ArrayLike,
    /,
    order: str = "ascending",
    *,
    null_placement: str = "at_end",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
def sort_indices(
    x: ArrayLike,
    /,
    sort_keys: _SortKeys = (),
    *,
    null_placement: str | None = None,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
def sort_by(
    x: ArrayLike,
    /,
    sort_keys: _SortKeys = (),
    *,
    null_placement: str | None = None,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
def select_k_unstable(
    x: ArrayLike,
    /,
    k: int | None = None,
    sort_keys: _SortKeys | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
def top_k_unstable(
    x: ArrayLike,
    k: int,
    sort_keys: Sequence[str | int] | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray: ...
def bottom_k_unstable(
    x: ArrayLike,
    k: int,
    sort_keys: Sequence[str | int] | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
) -> DeviceArray: ...
def partition_nth_indices(
    x: ArrayLike,
    /,
    pivot: int | None = None,
    *,
    null_placement: str = "at_end",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
def unique(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
def value_counts(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
def dictionary_encode(
    x: ArrayLike,
    /,
    null_encoding: str = "mask",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
def count_distinct(
    x: ArrayLike,
    /,
    mode: str = "only_valid",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
def rank(
    x: ArrayLike,
    /,
    sort_keys: str | _SortKeys = "ascending",
    *,
    null_placement: str | None = None,
    tiebreaker: str = "first",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
def sum(
    x: ArrayLike | DeviceArrayStream,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Scalar: ...
def product(
    x: ArrayLike | DeviceArrayStream,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Scalar: ...
def mean(
    x: ArrayLike | DeviceArrayStream,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Scalar: ...
def min(
    x: ArrayLike | DeviceArrayStream,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Scalar: ...
def max(
    x: ArrayLike | DeviceArrayStream,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Scalar: ...
def min_max(
    x: ArrayLike | DeviceArrayStream,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Scalar: ...
def any(
    x: ArrayLike | DeviceArrayStream,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Scalar: ...
def all(
    x: ArrayLike | DeviceArrayStream,
    /,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    skip_nulls: bool = True,
    min_count: int = 1,
    options: FunctionOptions | None = None,
) -> Scalar: ...
def count(
    x: ArrayLike | DeviceArrayStream,
    /,
    mode: str = "only_valid",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
