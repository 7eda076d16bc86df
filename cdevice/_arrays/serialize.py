"""The parts of an array that travels to another process: the rows alone, a buffer each, and how they are put together.

On the CPU an array that has nothing else is sent as it lies, a part of one is copied.  Memory off the CPU travels
through the CPU, in one packed read, and comes back on the device it was on, or on the one named in ``elsewhere``.
"""

from __future__ import annotations

import contextvars

from .._devices.device import device
from ..errors import BackendUnavailable, InvalidArray
from .buffer_access import view
from .from_buffers import from_buffers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import DeviceArray, DeviceLike, Schema

elsewhere: contextvars.ContextVar[DeviceLike | None] = contextvars.ContextVar("cdevice.pickling", default=None)


def deconstruct(a: DeviceArray, put: Callable[[memoryview], Any]) -> tuple[Schema, tuple[Any, ...], str]:
    """(schema, parts, the device's name); ``put`` makes of each buffer what stands for it in the parts."""
    home = str(a.device)
    whole = home == "cpu" and _bytes_of(a) == a.nbytes
    cpu = a if whole else a.to("cpu", copy=True)  # the rows alone, children aligned with their parents
    return cpu.schema, _whole(cpu, put), home


def reconstruct(schema: Schema, parts: Any, home: str) -> DeviceArray:
    """The array whose buffers are in ``parts``, on ``home`` or ``elsewhere``.  Raises BackendUnavailable where that is
    not here."""
    return at_home(_build(schema, parts), home)


def at_home(out: DeviceArray, home: str) -> DeviceArray:
    """An array that arrived on the CPU, on ``home`` or ``elsewhere``.  Raises BackendUnavailable."""
    target = elsewhere.get()
    target = home if target is None else target
    if target == "cpu":
        return out
    try:
        device(target)
    except ValueError as e:  # not even its name is known
        raise BackendUnavailable(
            f"the pickled array was on {target}, which is not available ({e}); "
            'with cdevice.pickling.load_on("cpu"): ... loads it elsewhere'
        ) from e
    return out.to(target)


# how much of their children a slice of these needs, only a copy finds out
_SCATTERED = ("+r", "+vl", "+vL", "vu", "vz")


def _bytes_of(a: DeviceArray) -> float:
    """What the buffers of an array have from their beginning on: more than its rows where it is a part."""
    if a._format.startswith(_SCATTERED):
        return float("inf")
    children = (a._raw_child(i) for i in range(-(a._schema.dictionary is not None), a._n_children))
    return sum(max(a._buffer(i)[1], 0) for i in range(a._n_buffers)) + sum(map(_bytes_of, children))


def _whole(a: DeviceArray, put: Callable[[memoryview], Any]) -> tuple[Any, ...]:
    """The parts of an array whose children are not cut."""
    buffers = []
    for i in range(a._n_buffers):
        buffers.append(None if a._buffer(i)[0] is None else put(view(a, i)))
    children = [_whole(a._raw_child(i), put) for i in range(a._n_children)]
    dictionary = None if a._schema.dictionary is None else _whole(a._raw_child(-1), put)
    return a.length, a.offset, a.null_count, buffers, children, dictionary


def _build(schema: Schema, parts: Any) -> DeviceArray:
    try:
        length, offset, null_count, buffers, children, dictionary = parts
        n = len(children)
    except (TypeError, ValueError):
        raise InvalidArray(f"a node of the pickled array is {type(parts).__name__}, not its six parts") from None
    if n != len(schema.children) or (dictionary is None) != (schema.dictionary is None):
        raise InvalidArray(
            f"a node of the pickled array has {n} children and {'no' if dictionary is None else 'a'} dictionary,"
            f" its schema {len(schema.children)} and {'none' if schema.dictionary is None else 'one'}"
        )
    return from_buffers(
        schema,
        length,
        buffers,
        offset=offset,
        null_count=null_count,
        children=[_build(s, p) for s, p in zip(schema.children, children)],
        dictionary=None if schema.dictionary is None else _build(schema.dictionary, dictionary),
    )
