"""Kernels of the text that give one row."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ..._runtime.ext import _native
from ...schema import Schema
from ..dispatch.bounded import Bounded
from ..dispatch.datum import ChunkStream, Datum
from ..dispatch.types import FLOATS, HALF, KERNEL_TYPES, SIGNED, decimal_of, kernel_type, words_of
from ..errors import NoKernel
from ..options import CountOptions, ScalarAggregateOptions
from .cast.numeric import cast_argument
from .elementwise import schema_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_LETTERS = {v: k for k, v in KERNEL_TYPES.items()}
_MODES = {"only_valid": 0, "only_null": 1, "all": 2}


def sum_type(format: str) -> str:
    """What the sums of a type are made in."""
    return "f64" if format in FLOATS else "i64" if format in SIGNED else "u64"


class Reduce:
    """``exec`` of an aggregate: ``words`` as _native.compute_reduce takes them; ``which`` value of the state."""

    __slots__ = (
        "end",
        "family",
        "function_name",
        "join",
        "kernel",
        "least",
        "out",
        "plans",
        "scale",
        "type",
        "values",
        "which",
    )

    def __init__(
        self,
        family: str,
        type: str,
        kernel: str,
        join: str,
        end: tuple[str, str, str],
        out: Schema,
        which: int = 0,
        values: bool = True,
        scale: int = 0,
    ) -> None:
        self.scale = scale
        self.family, self.type, self.kernel, self.join, self.end = family, type, kernel, join, end
        self.out, self.which, self.values = out, which, values
        self.plans: Bounded[tuple[int, int, int], Any] = Bounded(100)
        extreme = kernel == "min_max" or end[2] == "finish_extreme"
        self.least = int(extreme)  # nothing has no least
        ends = {"finish_mean": "mean", "finish_mean_of_integers": "mean", "finish_count": "count"}
        ends |= {"finish_any": "any", "finish_all": "all"}
        ends |= {"finish_product": "product"}
        name = "product" if kernel == "product" else ends.get(end[2], "sum")
        self.function_name = ("min", "max", "min_max")[which] if extreme else name

    def plan(self, options: Any) -> Any:
        """What C knows of it, with these options."""
        if self.end[2] == "finish_count":
            first, second = _MODES[options.mode], 0
        else:
            first, second = max(options.min_count, self.least), int(options.skip_nulls)
        return self.plan_of(first, second, self.scale)

    def plan_of(self, first: int, second: int, last: int) -> Any:
        """The plan, by the numbers that the last kernel gets."""
        plan = self.plans.get((first, second, last))
        if plan is None:
            words = (self.family, self.type, self.kernel, self.join, *self.end, self.function_name, self.values)
            options = first, second, self.which, last
            plan = self.plans.put((first, second, last), _native.compute_reduction(words, options, self.out))
        return plan

    def __call__(self, call: Call, argument: Datum) -> DeviceArray:
        if isinstance(argument.chunks, ChunkStream):
            return self.fold(call, argument.chunks)
        one = argument.array
        chunks = tuple(argument.chunks or ()) if one is None else (one,)
        return _native.compute_reduce(self.plan(call.options), chunks, call.stream, call.owner)

    def fold(self, call: Call, chunks: ChunkStream) -> DeviceArray:
        """Of chunks as they come, one at a time."""
        fold = _native.compute_fold(self.plan(call.options), call.stream, call.owner)
        for chunk in chunks:
            _native.compute_fold_add(fold, chunk)
            del chunk  # the next one is fetched before the name is used again
        return _native.compute_fold_end(fold)


def sums(format: str) -> Reduce:
    """The sum of numbers of a type."""
    t = sum_type(format)
    return Reduce("reduce", KERNEL_TYPES[format], "sum", t, ("reduce", t, "finish"), schema_of(_LETTERS[t]))


def products(format: str) -> Reduce:
    """The product of numbers of a type."""
    t = sum_type(format)
    return Reduce("reduce", KERNEL_TYPES[format], "product", t, ("reduce", t, "finish"), schema_of(_LETTERS[t]))


def means(format: str) -> Reduce:
    """The mean of numbers of a type; of 64-bit integers the sum is made in 128 bits."""
    if format in "lL":
        end = "reduce", "w128", "finish_mean_of_integers"
        return Reduce("reduce", KERNEL_TYPES[format], "sum_exactly", "w128", end, schema_of("g"))
    t = sum_type(format)
    return Reduce("reduce", KERNEL_TYPES[format], "sum", t, ("reduce", t, "finish_mean"), schema_of("g"))


class ViaFloat32:
    """``exec`` of an aggregate of float16, as float32; the least and the greatest are float16 again."""

    __slots__ = ("reduce",)

    def __init__(self, reduce: Reduce) -> None:
        self.reduce = reduce

    def __call__(self, call: Call, argument: Datum) -> DeviceArray:
        out = self.reduce(call, cast_argument(call, argument, "f", True))
        if self.reduce.kernel != "min_max":
            return out
        if self.reduce.which < 2:
            return _as(call, out, HALF)
        parts = [_as(call, x, HALF) for x in out.children]
        return assemble(_extreme_schema(HALF, 2), 1, [None], parts, null_count=0, made=parts)


def _as(call: Call, array: DeviceArray, format: str) -> DeviceArray:
    made = cast_argument(call, Datum(array, array._format), format, False).array
    assert made is not None
    return made


class PerFormat:
    """``exec`` of an aggregate of many types: ``make(format)`` makes that of one."""

    __slots__ = ("made", "make")

    def __init__(self, make: Callable[[str], Reduce]) -> None:
        self.make = make
        self.made: Bounded[str, Reduce] = Bounded(100)  # of zones there may be many

    def __call__(self, call: Call, argument: Datum) -> DeviceArray:
        format = argument.format or "n"
        found = self.made.get(format)
        if found is None:
            found = self.made.put(format, self.make(format))
        return found(call, argument)


def decimal_sum(format: str) -> Reduce:
    """The sum of a decimal128 or a decimal256, which has as many digits as there are; more than those wrap."""
    _, scale, bits = decimal_of(format) or (0, 0, 0)
    t, out = kernel_type(format), f"d:38,{scale}" if bits == 128 else f"d:76,{scale},256"
    return Reduce("reduce", t, "sum", t, ("reduce", t, "finish"), schema_of(out))


def decimal_product(format: str) -> Reduce:
    """The product of a decimal128 or a decimal256, of its type: each step is rounded to its scale, a half away from
    zero.  Raises NoKernel for a scale below zero."""
    _, scale, _ = decimal_of(format) or (0, 0, 0)
    if scale < 0:
        raise NoKernel(f"product: no kernel for {words_of(format)}, whose scale is negative: cast it first")
    t = kernel_type(format)
    return Reduce("reduce", t, "product", t, ("reduce", t, "finish"), schema_of(format), scale=scale)


def decimal_mean(format: str) -> Reduce:
    """The mean of a decimal128 or a decimal256, of its type; a half is rounded away from zero."""
    t = kernel_type(format)
    return Reduce("reduce", t, "sum", t, ("reduce", t, "finish_mean"), schema_of(format))


def extremes(storage: str, out: str, which: int) -> Reduce:
    """0 the least, 1 the greatest, 2 both."""
    t = kernel_type(storage)
    return Reduce("reduce", t, "min_max", t, ("reduce", t, "finish"), _extreme_schema(out, which), which)


def _extreme_schema(out: str, which: int) -> Schema:
    if which < 2:
        return schema_of(out)
    return Schema.make("+s", children=[Schema.make(out, "min"), Schema.make(out, "max")])


def of_bits(end: str, out: str | Schema, which: int = 0, values: bool = True) -> Reduce:
    """A count of the bits of a bitmap; ``end``: the last kernel."""
    schema = out if isinstance(out, Schema) else schema_of(out)
    where = (
        ("reduce", "u64" if end == "finish" else "i64") if end in ("finish", "finish_mean") else ("reduce_bool", "bool")
    )
    return Reduce("reduce_bool", "bool", "sum", "i64", (*where, end), schema, which, values)


def bit_extremes(which: int) -> Reduce:
    """The least and the greatest of bits."""
    return of_bits("finish_extreme", _extreme_schema("b", which), which)


_PLAIN = ScalarAggregateOptions(skip_nulls=True, min_count=0)
_valid = of_bits("finish_count", "l", values=False)
_true = of_bits("finish", "L")


def reduced(call: Call, reduce: Reduce, array: DeviceArray) -> DeviceArray:
    """The result of an aggregate as a step of another function: nulls are skipped, and of no rows it is not null."""
    return _native.compute_reduce(reduce.plan(_PLAIN), (array,), call.stream, call.owner)


def number(one: DeviceArray) -> Any:
    """The value of an array of one row.  Blocks."""
    value = one._lone_number()
    return one.to("cpu").to_pylist()[0] if value is NotImplemented else value


def count_valid(call: Call, array: DeviceArray) -> int:
    """How many rows are not null.  May block."""
    if not array.null_count:
        return array.length
    return int(number(_native.compute_reduce(_valid.plan(CountOptions()), (array,), call.stream, call.owner)))


def count_true(call: Call, bits: DeviceArray) -> int:
    """How many rows are true.  Blocks."""
    return int(number(reduced(call, _true, bits)))
