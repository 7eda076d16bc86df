"""Variance, standard deviation, skew and kurtosis: by the mean first, then by powers of the distance from it."""

from __future__ import annotations

import math

from ..dispatch.datum import Datum, lone
from ..dispatch.types import format_of
from .aggregate import count_valid, means, number, reduced, sums
from .cast.decimal import as_float64, is_decimal
from .cast.numeric import cast_argument
from .elementwise import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_subtract = Map("arith", "f64", "subtract", "gg", "g", function_name="variance")
_multiply = Map("arith", "f64", "multiply", "gg", "g", function_name="variance")
_sum, _mean = sums("g"), means("g")


def chunks_of(argument: Datum) -> Iterator[DeviceArray]:
    """The arrays of an argument of an aggregate, one at a time."""
    if argument.array is not None:
        yield argument.array
    elif argument.chunks is not None:
        yield from argument.chunks


class Moments:
    """Of numbers: how many, their mean, and the sums of powers 2 to 4 of the distance from it.

    Two of them are joined by the formulas of Chan and Pebay, so that a stream needs room for one chunk."""

    __slots__ = ("m2", "m3", "m4", "mean", "n", "nulls")

    def __init__(self) -> None:
        self.n = self.nulls = 0
        self.mean = self.m2 = self.m3 = self.m4 = 0.0

    def add(self, call: Call, array: DeviceArray, powers: int) -> None:
        """Blocks."""
        valid = count_valid(call, array)
        self.nulls += array.length - valid
        if not valid:
            return
        rows = Datum(array, format_of(array))
        numbers = as_float64(call, rows) if is_decimal(format_of(array)) else cast_argument(call, rows, "g", False)
        assert numbers.array is not None
        mean = reduced(call, _mean, numbers.array)
        distance = Datum(_subtract(call, numbers, Datum(mean, "g", one=True)), "g")
        square = _multiply(call, distance, distance)
        found = [number(mean), number(reduced(call, _sum, square)), 0.0, 0.0]
        if powers > 2:
            squares = Datum(square, "g")
            found[2] = number(reduced(call, _sum, _multiply(call, squares, distance)))
            found[3] = number(reduced(call, _sum, _multiply(call, squares, squares)))
        self._join(valid, *found)

    def _join(self, n: int, mean: float, m2: float, m3: float, m4: float) -> None:
        if not self.n:
            self.n, self.mean, self.m2, self.m3, self.m4 = n, mean, m2, m3, m4
            return
        a, b = self.n, n
        both, d = a + b, mean - self.mean
        ratio = d / both
        self.m4 += (
            m4
            + d * ratio**3 * a * b * (a * a - a * b + b * b)
            + 6 * ratio**2 * (a * a * m2 + b * b * self.m2)
            + 4 * ratio * (a * m3 - b * self.m3)
        )
        self.m3 += m3 + d * ratio**2 * a * b * (a - b) + 3 * ratio * (a * m2 - b * self.m2)
        self.m2 += m2 + d * ratio * a * b
        self.mean += ratio * b
        self.n = both


def _variance(m: Moments, options: Any) -> float | None:
    return None if m.n <= options.ddof else m.m2 / (m.n - options.ddof)


def _stddev(m: Moments, options: Any) -> float | None:
    found = _variance(m, options)
    return found if found is None else math.sqrt(found) if found >= 0 else math.nan


def _skew(m: Moments, options: Any) -> float | None:
    n = m.n
    if not n or (not options.biased and n < 3):
        return None
    if not m.m2:
        return math.nan
    found: float = math.sqrt(n) * m.m3 / m.m2**1.5
    return found if options.biased else found * math.sqrt(n * (n - 1)) / (n - 2)


def _kurtosis(m: Moments, options: Any) -> float | None:
    n = m.n
    if not n or (not options.biased and n < 4):
        return None
    if not m.m2:
        return math.nan
    found = n * m.m4 / m.m2**2 - 3
    return found if options.biased else (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * found + 6)


class Moment:
    """``exec`` of one of the four.  Blocks."""

    __slots__ = ("end", "powers")

    def __init__(self, name: str) -> None:
        ends: dict[str, Callable[[Moments, Any], float | None]] = {
            "variance": _variance,
            "stddev": _stddev,
            "skew": _skew,
            "kurtosis": _kurtosis,
        }
        self.end, self.powers = ends[name], 4 if name in ("skew", "kurtosis") else 2

    def __call__(self, call: Call, argument: Datum) -> DeviceArray:
        options: Any = call.options
        found = Moments()
        for chunk in chunks_of(argument):
            found.add(call, chunk, self.powers)
        value = self.end(found, options)
        if found.n < options.min_count or (found.nulls and not options.skip_nulls):
            value = None
        made = lone(call, Datum(value=value, format="g")).array
        assert made is not None
        return made
