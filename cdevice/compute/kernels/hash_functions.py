"""The registry's hash aggregates: functions of values and of the group of each row."""

from __future__ import annotations

from ...errors import ArgumentError
from ..dispatch.datum import Datum
from ..dispatch.registry import Function, FunctionRegistry, Kernel, Matcher, Signature
from ..dispatch.types import format_of
from .aggregate import count_valid, extremes, number, reduced
from .cast.dictionary import may_be_null
from .cast.numeric import cast_argument
from .elementwise import schema_of
from .fill import array_of
from .group_rows import Groups
from .hash_aggregate import AGGREGATES
from .selection.take import with_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call
    from .hash_aggregate import Aggregate

_ANY = Matcher("any", lambda f: True)
_INTEGER = Matcher("integers", lambda f: f in "cCsSiIlL")


def _groups(call: Call, ids: Datum, count: Datum | None) -> Groups:
    """The groups that rows have by number.  Blocks."""
    name, array = call.function.name, array_of(call, ids)
    nulls = array.length - count_valid(call, array) if may_be_null(array) else 0
    if nulls:
        raise ArgumentError(f"{name}: group_ids has {nulls} nulls: each row needs a group")
    least, greatest = _range(call, array) if array.length else (0, -1)
    if least < 0:
        raise ArgumentError(f"{name}: group_ids has the number {least}: they begin with 0")
    n = greatest + 1
    if count is not None:
        n = _number(name, count)
        if greatest >= n:
            raise ArgumentError(f"{name}: group_ids has the number {greatest}, beyond num_groups={n}")
    if n >= 1 << 32:
        raise ArgumentError(f"{name}: {n} groups; there are kernels for up to 4294967295")
    if array._format == "I" and array.null_count == 0:
        return Groups(call, with_schema(array, schema_of("I")), n)
    made = cast_argument(call, Datum(array, format_of(array)), "I", False).array
    assert made is not None
    return Groups(call, made, n)


def _range(call: Call, array: DeviceArray) -> tuple[int, int]:
    """The least and the greatest of integers.  Blocks."""
    format = format_of(array)
    found: dict[str, int] = number(reduced(call, extremes(format, format, 2), array))
    return found["min"], found["max"]


def _number(name: str, count: Datum) -> int:
    value = count.value if count.array is None else count.array.to("cpu").to_pylist()[0]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ArgumentError(f"{name}: num_groups must be 0 or more, not {value!r}")
    return value


class _HashAggregate:
    """``exec``.  Blocks."""

    __slots__ = ("aggregate",)

    def __init__(self, aggregate: Aggregate) -> None:
        self.aggregate = aggregate

    def __call__(self, call: Call, values: Datum, ids: Datum, *count: Datum) -> DeviceArray:
        array = array_of(call, values)
        groups = _groups(call, ids, count[0] if count else None)
        if array.length != groups.ids.length:
            raise ValueError(f"{call.function.name}: {array.length} values and {groups.ids.length} group_ids")
        options: Any = call.options
        return self.aggregate.run(groups, array, options)


def _count_all(call: Call, ids: Datum, *count: Datum) -> DeviceArray:
    return _groups(call, ids, count[0] if count else None).lengths


def add_to(r: FunctionRegistry) -> None:
    """Registers all of them."""
    for name, aggregate in AGGREGATES.items():
        doc = f"What {name} is of the rows of each group."
        f = Function(f"hash_{name}", "hash_aggregate", -3, doc, aggregate.options)
        f._add(Kernel(Signature((_ANY, _INTEGER), None, True), _HashAggregate(aggregate)))
        r.add_function(f)
    f = Function("hash_count_all", "hash_aggregate", -2, "How many rows each group has.")
    f._add(Kernel(Signature((_INTEGER,), "l", True), _count_all))
    r.add_function(f)
