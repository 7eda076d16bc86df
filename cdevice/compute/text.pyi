# Signatures of text.py for type checkers; tests/project/test_typing.py holds the two together.
from typing import overload

from .._types import DeviceArray, StreamLike
from .expressions.expression import Expression
from .functions import ArrayLike, ScalarLike
from .options import FunctionOptions
from .scalar import Scalar

@overload
def ascii_capitalize(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_capitalize(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_capitalize(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_center(
    x: Expression,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def ascii_center(
    x: ScalarLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def ascii_center(
    x: ArrayLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def ascii_is_alnum(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_is_alnum(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_is_alnum(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_is_alpha(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_is_alpha(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_is_alpha(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_is_decimal(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_is_decimal(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_is_decimal(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_is_lower(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_is_lower(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_is_lower(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_is_printable(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_is_printable(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_is_printable(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_is_space(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_is_space(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_is_space(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_is_title(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_is_title(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_is_title(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_is_upper(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_is_upper(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_is_upper(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_lower(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_lower(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_lower(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_lpad(
    x: Expression,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def ascii_lpad(
    x: ScalarLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def ascii_lpad(
    x: ArrayLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def ascii_ltrim(
    x: Expression,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def ascii_ltrim(
    x: ScalarLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def ascii_ltrim(
    x: ArrayLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def ascii_ltrim_whitespace(
    x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def ascii_ltrim_whitespace(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_ltrim_whitespace(
    x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def ascii_reverse(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_reverse(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_reverse(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_rpad(
    x: Expression,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def ascii_rpad(
    x: ScalarLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def ascii_rpad(
    x: ArrayLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def ascii_rtrim(
    x: Expression,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def ascii_rtrim(
    x: ScalarLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def ascii_rtrim(
    x: ArrayLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def ascii_rtrim_whitespace(
    x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def ascii_rtrim_whitespace(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_rtrim_whitespace(
    x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def ascii_split_whitespace(
    x: Expression,
    /,
    *,
    max_splits: int | None = None,
    reverse: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def ascii_split_whitespace(
    x: ScalarLike,
    /,
    *,
    max_splits: int | None = None,
    reverse: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def ascii_split_whitespace(
    x: ArrayLike,
    /,
    *,
    max_splits: int | None = None,
    reverse: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def ascii_swapcase(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_swapcase(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_swapcase(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_title(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_title(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_title(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def ascii_trim(
    x: Expression,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def ascii_trim(
    x: ScalarLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def ascii_trim(
    x: ArrayLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def ascii_trim_whitespace(
    x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def ascii_trim_whitespace(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_trim_whitespace(
    x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def ascii_upper(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def ascii_upper(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def ascii_upper(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def binary_join(
    lists: Expression, separator: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def binary_join(
    lists: ArrayLike, separator: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def binary_join(
    lists: ScalarLike, separator: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Scalar: ...
@overload
def binary_join(
    lists: ArrayLike, separator: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def binary_join_element_wise(
    *strings: Expression,
    null_handling: str = "emit_null",
    null_replacement: str | bytes = "",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def binary_join_element_wise(
    *strings: ScalarLike,
    null_handling: str = "emit_null",
    null_replacement: str | bytes = "",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def binary_join_element_wise(
    *strings: ArrayLike,
    null_handling: str = "emit_null",
    null_replacement: str | bytes = "",
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def binary_length(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def binary_length(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def binary_length(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def binary_repeat(
    strings: Expression, num_repeats: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def binary_repeat(
    strings: ArrayLike, num_repeats: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def binary_repeat(
    strings: ScalarLike, num_repeats: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Scalar: ...
@overload
def binary_repeat(
    strings: ArrayLike, num_repeats: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def binary_replace_slice(
    x: Expression,
    /,
    start: int | None = None,
    stop: int | None = None,
    replacement: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def binary_replace_slice(
    x: ScalarLike,
    /,
    start: int | None = None,
    stop: int | None = None,
    replacement: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def binary_replace_slice(
    x: ArrayLike,
    /,
    start: int | None = None,
    stop: int | None = None,
    replacement: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def binary_reverse(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def binary_reverse(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def binary_reverse(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def binary_slice(
    x: Expression,
    /,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def binary_slice(
    x: ScalarLike,
    /,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def binary_slice(
    x: ArrayLike,
    /,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def count_substring(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def count_substring(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def count_substring(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def count_substring_regex(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def count_substring_regex(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def count_substring_regex(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def ends_with(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def ends_with(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def ends_with(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def find_substring(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def find_substring(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def find_substring(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def find_substring_regex(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def find_substring_regex(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def find_substring_regex(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def match_like(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def match_like(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def match_like(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def match_substring(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def match_substring(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def match_substring(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def match_substring_regex(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def match_substring_regex(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def match_substring_regex(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def replace_substring(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    replacement: str | bytes | None = None,
    *,
    max_replacements: int | None = None,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def replace_substring(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    replacement: str | bytes | None = None,
    *,
    max_replacements: int | None = None,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def replace_substring(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    replacement: str | bytes | None = None,
    *,
    max_replacements: int | None = None,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def split_pattern(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    *,
    max_splits: int | None = None,
    reverse: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def split_pattern(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    *,
    max_splits: int | None = None,
    reverse: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def split_pattern(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    *,
    max_splits: int | None = None,
    reverse: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def starts_with(
    x: Expression,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def starts_with(
    x: ScalarLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def starts_with(
    x: ArrayLike,
    /,
    pattern: str | bytes | None = None,
    *,
    ignore_case: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def string_is_ascii(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def string_is_ascii(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def string_is_ascii(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_capitalize(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_capitalize(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_capitalize(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_center(
    x: Expression,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def utf8_center(
    x: ScalarLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def utf8_center(
    x: ArrayLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def utf8_is_alnum(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_is_alnum(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_is_alnum(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_is_alpha(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_is_alpha(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_is_alpha(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_is_decimal(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_is_decimal(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_is_decimal(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_is_digit(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_is_digit(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_is_digit(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_is_lower(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_is_lower(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_is_lower(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_is_numeric(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_is_numeric(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_is_numeric(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_is_printable(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_is_printable(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_is_printable(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_is_space(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_is_space(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_is_space(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_is_title(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_is_title(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_is_title(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_is_upper(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_is_upper(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_is_upper(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_length(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_length(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_length(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_lower(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_lower(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_lower(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_lpad(
    x: Expression,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def utf8_lpad(
    x: ScalarLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def utf8_lpad(
    x: ArrayLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def utf8_ltrim(
    x: Expression,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def utf8_ltrim(
    x: ScalarLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def utf8_ltrim(
    x: ArrayLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def utf8_ltrim_whitespace(
    x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def utf8_ltrim_whitespace(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_ltrim_whitespace(
    x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def utf8_replace_slice(
    x: Expression,
    /,
    start: int | None = None,
    stop: int | None = None,
    replacement: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def utf8_replace_slice(
    x: ScalarLike,
    /,
    start: int | None = None,
    stop: int | None = None,
    replacement: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def utf8_replace_slice(
    x: ArrayLike,
    /,
    start: int | None = None,
    stop: int | None = None,
    replacement: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def utf8_reverse(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_reverse(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_reverse(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_rpad(
    x: Expression,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def utf8_rpad(
    x: ScalarLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def utf8_rpad(
    x: ArrayLike,
    /,
    width: int | None = None,
    padding: str | bytes = " ",
    lean_left_on_odd_padding: bool = True,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def utf8_rtrim(
    x: Expression,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def utf8_rtrim(
    x: ScalarLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def utf8_rtrim(
    x: ArrayLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def utf8_rtrim_whitespace(
    x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None
) -> Expression: ...
@overload
def utf8_rtrim_whitespace(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_rtrim_whitespace(
    x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None
) -> DeviceArray: ...
@overload
def utf8_slice_codeunits(
    x: Expression,
    /,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def utf8_slice_codeunits(
    x: ScalarLike,
    /,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def utf8_slice_codeunits(
    x: ArrayLike,
    /,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def utf8_split_whitespace(
    x: Expression,
    /,
    *,
    max_splits: int | None = None,
    reverse: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def utf8_split_whitespace(
    x: ScalarLike,
    /,
    *,
    max_splits: int | None = None,
    reverse: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def utf8_split_whitespace(
    x: ArrayLike,
    /,
    *,
    max_splits: int | None = None,
    reverse: bool = False,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def utf8_swapcase(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_swapcase(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_swapcase(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_title(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_title(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_title(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_trim(
    x: Expression,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def utf8_trim(
    x: ScalarLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def utf8_trim(
    x: ArrayLike,
    /,
    characters: str | bytes | None = None,
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
@overload
def utf8_trim_whitespace(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_trim_whitespace(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_trim_whitespace(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_upper(x: Expression, /, *, stream: StreamLike = None, fallback: str | None = None) -> Expression: ...
@overload
def utf8_upper(x: ScalarLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> Scalar: ...
@overload
def utf8_upper(x: ArrayLike, /, *, stream: StreamLike = None, fallback: str | None = None) -> DeviceArray: ...
@overload
def utf8_zero_fill(
    x: Expression,
    /,
    width: int | None = None,
    padding: str | bytes = "0",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Expression: ...
@overload
def utf8_zero_fill(
    x: ScalarLike,
    /,
    width: int | None = None,
    padding: str | bytes = "0",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> Scalar: ...
@overload
def utf8_zero_fill(
    x: ArrayLike,
    /,
    width: int | None = None,
    padding: str | bytes = "0",
    *,
    stream: StreamLike = None,
    fallback: str | None = None,
    options: FunctionOptions | None = None,
) -> DeviceArray: ...
