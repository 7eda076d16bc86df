"""Kernels of the text that give a row for each row."""

from __future__ import annotations

from ..._runtime.ext import _native
from ...schema import Schema
from ..dispatch.bounded import Bounded
from ..dispatch.datum import Datum, lone
from ..dispatch.types import KERNEL_TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

# what an item is, and when a row is null: as in core/compute.h
ROW, WORD, PACK, TILE, CHUNK, BLOCK, ONE = range(7)
WHERE_ANY, NEVER, CHOSEN, FILLED, KLEENE, SKIPPED = range(6)

_schemas: Bounded[str, Schema] = Bounded(1000)
_LETTERS = {**{v: k for k, v in KERNEL_TYPES.items()}, "u8": "C", "w128": "w", "w256": "W", "bits": "b"}
# kernels that look at FORM of each argument; others read rows
_FORMS = ("arith", "compare", "boolean", "select")


def schema_of(format: str) -> Schema:
    """The schema of a type that its format describes completely."""
    made = _schemas.get(format)
    if made is None:
        made = _schemas.put(format, Schema.make(format))
    return made


def _read_by(family: str, type: str, kernel: str, storage: str) -> str:
    """A letter for each argument: the numbers that a kernel reads, "b" bits, "w" 128 bits, "W" 256, "-" anything."""
    if family == "boolean":  # of first, the others tell where nulls are
        any_row = kernel in ("is_valid", "is_null", "always", "never")
        return "b--" if kernel == "first" else "-" if any_row else "b" * len(storage)
    if family.startswith(("own_", "time_")):
        return storage
    if kernel == "cast_bool":
        return "b"
    if family == "timestamp_parts":
        return "l"
    letter = _LETTERS[type.split()[0]]
    if kernel == "round_binary":
        return letter + "il"
    if kernel == "mean":  # sums by counts
        return letter + "l"
    return ("b" if family == "select" and len(storage) == 3 else letter) + letter * (len(storage) - 1)


class Map:
    """``exec`` of a kernel: which program and which kernel of it.

    ``storage``: for each argument the number type that its values are stored as ("b": bits; "": as they are), for
    values that are given as numbers; ``out``: a format, or of the arguments' formats one; ``swap``: the first two
    change places; ``function_name``: the function, in errors.
    """

    __slots__ = (
        "checked",
        "family",
        "kernel",
        "letters",
        "out",
        "plans",
        "rule",
        "function_name",
        "storage",
        "swap",
        "type",
        "unit",
    )

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
        function_name: str = "",
    ) -> None:
        self.family, self.type, self.kernel, self.storage, self.out = family, type, kernel, storage, out
        self.unit, self.rule, self.checked, self.swap = unit, rule, checked, swap
        self.function_name = function_name or ("cast" if family.startswith("cast") else kernel)
        self.letters = _read_by(family, type, kernel, storage)
        self.plans: Bounded[str, Any] = Bounded(100)  # of zones there may be many

    def plan(self, formats: Sequence[str]) -> Any:
        """What C knows of it, for arguments of these types."""
        out = self.out if isinstance(self.out, str) else self.out(formats)
        plan = self.plans.get(out)
        if plan is None:
            words = self.family, self.type, self.kernel, self.function_name, self.unit, self.rule, self.checked
            plan = self.plans.put(out, _native.compute_plan(*words, schema_of(out), self.letters))
        return plan

    def __call__(self, call: Call, *args: Datum) -> DeviceArray:
        plan = self.plan([a.format or "" for a in args])
        if self.swap:
            args = (args[1], args[0])
        if args[0].array is None and self.family not in _FORMS and self.family[:4] != "own_":
            args = (lone(call, args[0]), *args[1:])
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
    """``exec`` of a kernel of one argument, with two more scalars: its scalars 3 and 4."""

    __slots__ = ("map", "numbers")

    def __init__(self, map: Map, first: int, second: int) -> None:
        self.map = map
        self.numbers = Datum(value=first, format="l"), Datum(value=second, format="l")

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        return self.map(call, a, *self.numbers)
