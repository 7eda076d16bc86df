"""Quantiles, exact: the rows at their places in the order.

Of many numbers the whole order is not made: two rows of a sorted sample lie around each place, and only the rows
between them are sorted.
"""

from __future__ import annotations

import math

from ...interop.asarray import asarray
from ...interop.concat import concat
from ..dispatch.datum import Datum
from ..dispatch.types import FLOATS, KERNEL_TYPES, NUMBERS, format_of
from . import row_numbers as rows
from .aggregate import count_true, count_valid
from .cast.decimal import as_float64, is_decimal
from .cast.numeric import cast_argument
from .elementwise import CHOSEN, PACK, WORD, Map, schema_of
from .fill import array_of
from .selection.take import filter_array, is_valid, take_array, with_schema
from .sort import sorted_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

NARROWED_ROWS = 1 << 15  # fewer are sorted
MOST_SAMPLED = 1 << 16
ROWS_OF_SAMPLED = 16  # or more, of which one is in the sample
_multiply = Map("arith", "f64", "multiply", "gg", "g", function_name="quantile")
_add = Map("arith", "f64", "add", "gg", "g", function_name="quantile")
_choose = Map("select", "u64", "if_else", "bgg", "g", unit=PACK, rule=CHOSEN, function_name="quantile")
_xor = Map("boolean", "bits", "xor", "bb", "b", unit=WORD)


def _ordered(call: Call, array: DeviceArray) -> DeviceArray:
    order = sorted_rows(call, [(array, False, False, False)], [array])
    return take_array(call, array, with_schema(order, schema_of("l")), False)


class _Numbers:
    """Numbers without nulls and NaN, of which rows by their place in the order are wanted."""

    __slots__ = ("array", "call", "less", "less_equal", "ordered", "sample")

    def __init__(self, call: Call, array: DeviceArray) -> None:
        self.call, self.array = call, array
        self.ordered: DeviceArray | None = None
        self.sample: DeviceArray | None = None
        format = array._format
        if array.length < NARROWED_ROWS or format not in NUMBERS:
            self.ordered = _ordered(call, array)
            return
        t = KERNEL_TYPES[format]
        self.less = Map("compare", t, "less", format * 2, "b", unit=PACK, function_name="quantile")
        self.less_equal = Map("compare", t, "less_equal", format * 2, "b", unit=PACK, function_name="quantile")

    def at(self, first: int, last: int) -> tuple[DeviceArray, DeviceArray]:
        """The rows at two places, which are one or neighbours."""
        if self.ordered is None:
            found = self._between(first, last)
            if found is not None:
                return found
            self.ordered = _ordered(self.call, self.array)
        return self.ordered[first : first + 1], self.ordered[last : last + 1]

    def _between(self, first: int, last: int) -> tuple[DeviceArray, DeviceArray] | None:
        """None: the sample is no good one."""
        call, array, n = self.call, self.array, self.array.length
        if self.sample is None:
            sampled = min(n // ROWS_OF_SAMPLED, MOST_SAMPLED)
            spread = rows.multiply(call, rows.from_(call, array, 0, sampled), n // sampled)
            self.sample = _ordered(call, take_array(call, array, spread, False))
        sampled = self.sample.length
        middle, reach = sampled * first // n, 5 * math.isqrt(sampled) // 2  # five deviations
        low, high = middle - reach, middle + reach
        format = array._format
        x, below = Datum(array, format), 0
        before = upto = None
        if low >= 0:
            before = self.less(call, x, Datum(self.sample[low : low + 1], format, one=True))
            below = count_true(call, before)
        if high < sampled:
            upto = self.less_equal(call, x, Datum(self.sample[high : high + 1], format, one=True))
        if before is None or upto is None:
            inside = (
                upto
                if before is None
                else self.less_equal(call, Datum(self.sample[low : low + 1], format, one=True), x)
            )
        else:
            inside = _xor(call, Datum(before, "b"), Datum(upto, "b"))
        if inside is None:
            return None
        some = filter_array(call, array, inside, False)
        if first < below or last >= below + some.length:
            return None
        some = _ordered(call, some)
        first, last = first - below, last - below
        return some[first : first + 1], some[last : last + 1]


def _countable(call: Call, array: DeviceArray) -> DeviceArray:
    """The rows that are neither null nor NaN.  May block."""
    format = format_of(array)
    if format in FLOATS:
        equal = Map("compare", KERNEL_TYPES[format], "equal", format * 2, "b", unit=PACK, function_name="quantile")
        numbers = equal(call, Datum(array, format), Datum(array, format))
        if not array.null_count and count_true(call, numbers) == array.length:
            return array
        return filter_array(call, array, numbers, False)
    return filter_array(call, array, is_valid(call, Datum(array, format)), False) if array.null_count else array


def quantile(call: Call, values: Datum) -> DeviceArray:
    """``exec``.  Blocks."""
    options: Any = call.options
    array = array_of(call, values)
    exact = options.interpolation in ("lower", "higher", "nearest")
    data = _countable(call, array)
    n = data.length
    out_format = format_of(array) if exact else "g"
    valid = count_valid(call, array)
    if not n or valid < options.min_count or (valid < array.length and not options.skip_nulls):
        one = asarray([None], schema=array._schema if exact else schema_of("g")).to(array.device)
        return take_array(call, one, rows.nulls(call, one, len(options.q)), False)
    numbers_ = _Numbers(call, data)
    lower, higher, parts = [], [], []
    for q in options.q:
        place = (n - 1) * q
        first = min(int(place), n - 1)
        part = place - first
        last = min(first + 1, n - 1) if part else first
        if options.interpolation == "lower":
            last = first
        elif options.interpolation == "higher":
            first = last
        elif options.interpolation == "nearest":
            first = last = last if part > 0.5 or (part == 0.5 and first % 2) else first
        elif options.interpolation == "midpoint" and part:
            part = 0.5
        a, b = numbers_.at(first, last)
        lower.append(a)
        higher.append(b)
        parts.append(part)
    low = concat(lower, stream=call.owner) if len(lower) > 1 else lower[0]
    if exact:
        return low
    high = concat(higher, stream=call.owner) if len(higher) > 1 else higher[0]
    return _interpolated(call, low, high, parts, out_format)


def _interpolated(call: Call, low: DeviceArray, high: DeviceArray, parts: list[float], to: str) -> DeviceArray:
    def there(values: list[Any], format: str) -> Datum:
        if len(values) == 1:
            return Datum(value=values[0], format=format)
        return Datum(asarray(values, schema=schema_of(format)).to(low.device), format)

    def real(x: DeviceArray) -> Datum:
        rows = Datum(x, format_of(x))
        return as_float64(call, rows) if is_decimal(format_of(x)) else cast_argument(call, rows, to, False)

    below = real(low)
    if not any(parts):  # a row itself, which may be infinite
        assert below.array is not None
        return below.array
    upper = Datum(_multiply(call, real(high), there(parts, "g")), "g")
    lower = Datum(_multiply(call, below, there([1 - p for p in parts], "g")), "g")
    between = _add(call, upper, lower)
    return between if all(parts) else _choose(call, there([p > 0 for p in parts], "b"), Datum(between, "g"), below)
