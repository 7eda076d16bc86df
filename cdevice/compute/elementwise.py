"""Kernels of the text that give a row for each row."""

from __future__ import annotations

from .._ext import _native
from ..schema import Schema
from .argument import Argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._types import DeviceArray
    from .call import Call

# what an item is, and when a row is null: as in core/compute.h
ROW, WORD, PACK, TILE, CHUNK, BLOCK, ONE = range(7)
WHERE_ANY, NEVER, CHOSEN, FILLED, KLEENE = range(5)

_schemas: dict[str, Schema] = {}


def schema_of(format: str) -> Schema:
    """Of a type that its format says all of."""
    made = _schemas.get(format)
    if made is None:
        made = _schemas[format] = Schema.make(format)
    return made


class Map:
    """``exec`` of a kernel: which program and which kernel of it.

    ``storage``: for each argument the number type that its values are stored as ("b": bits; "": as they are), for
    values that are given as numbers; ``out``: a format, or of the arguments' formats one; ``swap``: the first two
    change places; ``said``: the function, in errors.
    """

    __slots__ = ("checked", "family", "kernel", "out", "plans", "rule", "said", "storage", "swap", "type", "unit")

    def __init__(
        self,
        family: str,
        type: str,
        kernel: str,
        storage: str,
        out: str | Callable[[Sequence[str]], str],
        *,
        unit: int = ROW,
        rule: int = WHERE_ANY,
        checked: bool = False,
        swap: bool = False,
        said: str = "",
    ) -> None:
        self.family, self.type, self.kernel, self.storage, self.out = family, type, kernel, storage, out
        self.unit, self.rule, self.checked, self.swap = unit, rule, checked, swap
        self.said = said or kernel
        self.plans: dict[str, Any] = {}

    def plan(self, formats: Sequence[str]) -> Any:
        """What C knows of it, for arguments of these types."""
        out = self.out if isinstance(self.out, str) else self.out(formats)
        plan = self.plans.get(out)
        if plan is None:
            plan = self.plans[out] = _native.compute_plan(
                self.family, self.type, self.kernel, self.said, self.unit, self.rule, self.checked, schema_of(out)
            )
        return plan

    def __call__(self, call: Call, *args: Argument) -> DeviceArray:
        plan = self.plan([a.format or "" for a in args])
        if self.swap:
            args = (args[1], args[0])
        ones = 0
        values: list[Any] = []
        for i, a in enumerate(args):
            if a.array is None:
                values.append(a.bits(self.storage[i]))
            else:
                values.append(a.array)
                ones |= a.one << i
        return _native.compute_map(plan, tuple(values), ones, call.stream, call.owner)


class WithNumbers:
    """``exec`` of a kernel of one argument, which is told two numbers more: its numbers 3 and 4."""

    __slots__ = ("map", "numbers")

    def __init__(self, map: Map, first: int, second: int) -> None:
        self.map = map
        self.numbers = Argument(value=first, format="l"), Argument(value=second, format="l")

    def __call__(self, call: Call, a: Argument) -> DeviceArray:
        return self.map(call, a, *self.numbers)
