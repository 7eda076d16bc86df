"""Arithmetic of row numbers (int64) on the arguments' device, for functions that are made of several kernels."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ..._runtime.ext import _native
from ..dispatch.datum import Datum
from .aggregate import number, reduced, sums
from .cast.numeric import cast_argument
from .elementwise import PACK, Map
from .selection.take import both, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_add = Map("arith", "i64", "add", "ll", "l")
_subtract = Map("arith", "i64", "subtract", "ll", "l")
_multiply = Map("arith", "i64", "multiply", "ll", "l")
_divide = Map("arith", "i64", "divide", "ll", "l", checked=True)
_less = Map("compare", "i64", "less", "ll", "b", unit=PACK)
_less_equal = Map("compare", "i64", "less_equal", "ll", "b", unit=PACK)
_equal = Map("compare", "i64", "equal", "ll", "b", unit=PACK)
_not_equal = Map("compare", "i64", "not_equal", "ll", "b", unit=PACK)
_add_real = Map("arith", "f64", "add", "gg", "g")
_multiply_real = Map("arith", "f64", "multiply", "gg", "g")
_choose = Map("select", "u64", "if_else", "bll", "l", unit=PACK)


def _datum(x: DeviceArray | int) -> Datum:
    return Datum(value=x, format="l") if isinstance(x, int) else Datum(x, "l")


def add(call: Call, a: DeviceArray, b: DeviceArray | int) -> DeviceArray:
    return _add(call, _datum(a), _datum(b))


def subtract(call: Call, a: DeviceArray | int, b: DeviceArray | int) -> DeviceArray:
    return _subtract(call, _datum(a), _datum(b))


def multiply(call: Call, a: DeviceArray, b: DeviceArray | int) -> DeviceArray:
    return _multiply(call, _datum(a), _datum(b))


def divide(call: Call, a: DeviceArray, b: int) -> DeviceArray:
    return _divide(call, _datum(a), _datum(b))


def less(call: Call, a: DeviceArray | int, b: DeviceArray | int) -> DeviceArray:
    return _less(call, _datum(a), _datum(b))


def less_equal(call: Call, a: DeviceArray | int, b: DeviceArray | int) -> DeviceArray:
    return _less_equal(call, _datum(a), _datum(b))


def equal(call: Call, a: DeviceArray | int, b: DeviceArray | int) -> DeviceArray:
    return _equal(call, _datum(a), _datum(b))


def not_equal(call: Call, a: DeviceArray | int, b: DeviceArray | int) -> DeviceArray:
    return _not_equal(call, _datum(a), _datum(b))


def choose(call: Call, condition: DeviceArray, a: DeviceArray | int, b: DeviceArray | int) -> DeviceArray:
    """``a`` where the condition, which has no nulls, is true, else ``b``."""
    return _choose(call, Datum(condition, "b"), _datum(a), _datum(b))


def from_(call: Call, near: DeviceArray, first: int, n: int) -> DeviceArray:
    """The ``n`` numbers from ``first`` on, where another array is."""
    return _native.compute_rows(near, first, n, call.stream, call.owner)


def nulls(call: Call, near: DeviceArray, n: int) -> DeviceArray:
    """``n`` numbers that are null: taken by them, rows are."""
    numbers = from_(call, near, 0, n)
    return with_bitmap(numbers, less(call, numbers, 0))


def as_int64(call: Call, array: DeviceArray) -> DeviceArray:
    """Integers or bits as int64."""
    made = cast_argument(call, Datum(array, array._format), "l", False).array
    assert made is not None
    return made


def as_uint32(call: Call, array: DeviceArray) -> DeviceArray:
    """Numbers from 0 to 2**32 - 1 as uint32."""
    made = cast_argument(call, Datum(array, array._format), "I", False).array
    assert made is not None
    return made


def null_unless(call: Call, values: DeviceArray, known: DeviceArray) -> DeviceArray:
    """Values that are null where the bits, which may be older than them, are not set.

    ``with_bitmap`` waits for the bits, which must be the last that was made."""
    return with_bitmap(values, both(call, Datum(known, "b"), Datum(known, "b")))


def without_nulls(array: DeviceArray) -> DeviceArray:
    """The values of an array that kernels made, without their bitmap."""
    return assemble(array._schema, array.length, [None, (array, 1)], null_count=0, made=(array,))


def running_sum(call: Call, array: DeviceArray) -> DeviceArray:
    """Of int64 without nulls the sum of each row and all before it."""
    return _native.compute_running(array, 0, 0, True, call.function.name, call.stream, call.owner)  # type: ignore[no-any-return]


def number_at(array: DeviceArray, row: int) -> int:
    """A row of int64 without nulls.  Blocks."""
    return int(number(array[row : row + 1]))


def expanded(call: Call, lengths: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    """Of row i as many rows as ``lengths[i]``: the row that each was made of, and its number among those of that row.
    Blocks."""
    ends = running_sum(call, lengths)
    rows = from_(call, ends, 0, number_at(ends, ends.length - 1) if ends.length else 0)
    parents = _native.compute_runs(rows, ends, rows, False, call.stream, call.owner)
    begins = _native.compute_take(subtract(call, ends, lengths), parents, False, call.stream, call.owner)
    return parents, subtract(call, rows, begins)


def real_sum(call: Call, values: DeviceArray, total: Callable[[DeviceArray], DeviceArray]) -> DeviceArray:
    """Sums of 64-bit integers as float64, of which none overflows: each is the float64 nearest to the sum, of up to
    four million values.

    ``total``: adds up int64, as all of the sums are."""
    word = 1 << 32
    signed = _cast(call, values, "l")
    high = divide(call, signed, word)
    low = subtract(call, signed, multiply(call, high, word))
    if values._format == "L":  # as signed ones, those from 2^63 on are less by 2^64
        high = add(call, high, multiply(call, as_int64(call, less(call, signed, 0)), word))
    high, low = total(high), total(low)
    carry = divide(call, low, word)
    high, low = add(call, high, carry), subtract(call, low, multiply(call, carry, word))
    most = _multiply_real(call, Datum(_cast(call, high, "g"), "g"), Datum(value=float(word), format="g"))
    return _add_real(call, Datum(most, "g"), Datum(_cast(call, low, "g"), "g"))


def real_product_sum(call: Call, a: DeviceArray, b: DeviceArray) -> float:
    """The sum of the products of numbers, in float64, where nothing overflows.  Blocks."""
    both = [Datum(_cast(call, x, "g"), "g") for x in (a, b)]
    return float(number(reduced(call, sums("g"), _multiply_real(call, *both))))


def _cast(call: Call, array: DeviceArray, to: str) -> DeviceArray:
    made = cast_argument(call, Datum(array, array._format), to, False).array
    assert made is not None
    return made
