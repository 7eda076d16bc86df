"""Running sums, products, extremes and means: each row with all before it (core/compute/running.c)."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ..._runtime.ext import _native
from ..dispatch.datum import Datum
from ..dispatch.types import FLOATS, KERNEL_TYPES, SIGNED, bits_of, words_of
from ..errors import NoKernel
from . import row_numbers
from .cast.dictionary import known_rows
from .cast.numeric import cast_argument
from .elementwise import CHOSEN, PACK, Map, schema_of
from .selection.take import is_valid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

OPERATIONS = ("sum", "prod", "min", "max")  # as enum cdv_running_operation numbers them
_divide = Map("arith", "f64", "divide", "gg", "g", function_name="cumulative_mean")


def _identity(operation: str, format: str) -> int | float:
    """The value that changes no other."""
    if operation in ("sum", "prod"):
        return int(operation == "prod")
    if format in FLOATS:
        return float("inf" if operation == "min" else "-inf")
    bits = int(KERNEL_TYPES[format][1:])
    if format in SIGNED:
        return (1 << bits - 1) - 1 if operation == "min" else -(1 << bits - 1)
    return (1 << bits) - 1 if operation == "min" else 0


def _rows(call: Call, values: Datum) -> DeviceArray:
    if values.array is None or values.one:
        raise TypeError(f"{call.function.name}: expected an array")
    return values.array


class Running:
    """``exec`` of cumulative_sum and the like, of numbers of a type."""

    __slots__ = ("check", "format", "identity", "operation", "rows_or_zero")

    def __init__(self, operation: str, format: str, checked: bool = False) -> None:
        self.operation, self.format = OPERATIONS.index(operation), format
        self.identity = _identity(operation, format)
        self.check = None
        t = KERNEL_TYPES[format]
        if checked and format not in FLOATS:
            kernel = {"sum": "add_checked", "prod": "multiply_checked"}[operation]
            self.check = Map(
                "arith", t, kernel, format * 2, format, checked=True, function_name=f"cumulative_{operation}_checked"
            )
            width = {"i": "u"}.get(t[0], t[0]) + t[1:]
            self.rows_or_zero = Map("select", width, "if_else", f"b{format * 2}", format, unit=PACK, rule=CHOSEN)

    def __call__(self, call: Call, values: Datum) -> DeviceArray:
        options: Any = call.options
        array = _rows(call, values)
        start = self.identity if options.start is None else options.start
        out = running(call, array, self.operation, bits_of(start, self.format), options.skip_nulls)
        if self.check is not None and array.length:
            self._check(call, array, out, start, options.skip_nulls)
        return out

    def _check(self, call: Call, array: DeviceArray, out: DeviceArray, start: Any, skip_nulls: bool) -> None:
        """Each step once more, with a check: up to the first that overflows the sums before are exact.  Blocks."""
        assert self.check is not None
        format = self.format
        before = assemble(schema_of(format), out.length, [None, (out, 1)], null_count=0, made=(out,))
        if not skip_nulls and array.null_count:  # rows behind the first null are not part of the result
            known = is_valid(call, Datum(out, format))
            zero = Datum(value=0, format=format)
            array = self.rows_or_zero(call, Datum(known, "b"), Datum(array, format), zero)
        self.check(call, Datum(value=start, format=format), Datum(array[:1], format))
        if array.length > 1:
            self.check(call, Datum(before[:-1], format), Datum(array[1:], format))


def running(call: Call, array: DeviceArray, operation: int, start: int | None, skip_nulls: bool) -> DeviceArray:
    """``operation`` as OPERATIONS numbers them; ``start``: bits of a value of the array's type."""
    name = call.function.name
    out = _native.compute_running(array, operation, start or 0, skip_nulls, name, call.stream, call.owner)
    if out is NotImplemented:
        raise NoKernel(f"{name}: no kernel for {words_of(array._format)}")
    return out  # type: ignore[no-any-return]


def mean(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of cumulative_mean: sums of float64, divided by running counts."""
    options: Any = call.options
    array = _rows(call, values)
    numbers = cast_argument(call, Datum(array, array._format), "g", False).array
    assert numbers is not None
    sums = running(call, numbers, 0, bits_of(options.start or 0, "g"), options.skip_nulls)
    counted = row_numbers.running_sum(call, row_numbers.as_int64(call, known_rows(call, array)))
    counts = cast_argument(call, Datum(counted, "l"), "g", False)
    return _divide(call, Datum(sums, "g"), counts)
