"""The work of one task: a row group is read, or an array of another task taken, and steps are done one after the
other."""

from __future__ import annotations

from .._values.from_python import from_list
from ..compute.expressions.batches import filtered, projected
from ..compute.groups import group_by, merge
from ..compute.joins import join
from ..interop.asarray import asarray
from ..interop.concat import concat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._loading.source import Unit
    from .._types import DeviceArray, Schema


class Part:
    """A row group that a task reads, or a batch that it is given, and the device where its rows shall be."""

    __slots__ = ("columns", "device", "of", "schema")

    def __init__(self, of: Unit | DeviceArray, columns: list[str], schema: Schema, device: str | None) -> None:
        self.of, self.columns, self.schema, self.device = of, columns, schema, device

    def __reduce__(self) -> tuple[Any, ...]:
        return Part, (self.of, self.columns, self.schema, self.device)

    def read(self) -> DeviceArray:
        batches = self.of.decode(self.columns) if hasattr(self.of, "decode") else [self.of]
        return concat(batches or [from_list([], self.schema)], device=self.device)


class Steps:
    """What a task calls: steps, each a function of a batch, and of another task's array where ``joined`` is true."""

    __slots__ = ("steps",)

    def __init__(self, steps: tuple[tuple[Callable[..., DeviceArray], bool], ...] = ()) -> None:
        self.steps = steps

    def __reduce__(self) -> tuple[Any, ...]:
        return Steps, (self.steps,)

    def then(self, step: Callable[..., DeviceArray], joined: bool = False) -> Steps:
        return Steps((*self.steps, (step, joined)))

    def __call__(self, source: Part | DeviceArray, *others: DeviceArray) -> DeviceArray:
        batch = source.read() if isinstance(source, Part) else source
        del source
        left = iter(others)
        for step, joined in self.steps:
            batch = step(batch, next(left)) if joined else step(batch)
        return batch


# ---- steps; partial() gives them their options, so that they are pickled ----
def filter_rows(batch: DeviceArray, where: Any) -> DeviceArray:
    return filtered(batch, where)


def compute_columns(batch: DeviceArray, wanted: Any) -> DeviceArray:
    return projected(batch, wanted)


def call(batch: DeviceArray, function: Any) -> DeviceArray:
    return asarray(function(batch))


def move(batch: DeviceArray, device: str) -> DeviceArray:
    return batch.to(device)


def join_small(batch: DeviceArray, small: DeviceArray, keys: Any, right_keys: Any, join_type: str) -> DeviceArray:
    here: DeviceArray = join(batch, small.to(batch.device), keys, right_keys, join_type)
    return here


def group(batch: DeviceArray, keys: Any, where: Any, wanted: Any) -> DeviceArray:
    return group_by(batch, keys, where=where).partial(wanted)


# ---- tasks of several arrays ----
def merge_states(states: Sequence[DeviceArray]) -> DeviceArray:
    return merge(together(states), partial=True)


def finish_states(states: Sequence[DeviceArray]) -> DeviceArray:
    return merge(together(states))


def together(arrays: Sequence[DeviceArray]) -> list[DeviceArray]:
    """Arrays of several workers: those that came from another device go to the first one's."""
    return [a.to(arrays[0].device) for a in arrays]


def one_array(arrays: Sequence[DeviceArray]) -> DeviceArray:
    return concat(together(arrays))


def on_the_cpu(arrays: Sequence[DeviceArray]) -> DeviceArray:
    """All rows in the memory of the CPU, ready to be sent."""
    return concat([a.to("cpu") for a in arrays])
