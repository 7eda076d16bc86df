"""Dask: how large arrays are, for its memory limits and its scheduler, and how they go from worker to worker.

``sizeof`` is found by the entry point in ``dask.sizeof``.  For what travels Dask has no entry point, only its registry,
``distributed.protocol.dask_serialize``: arrays are registered there when one of them is first measured, when the class
is first used in a process that has distributed, and when the class is looked up, as a process does for a message that
has an array in it.  Until then, and for streams and schemas, they travel by pickle's protocol 5, as the same frames.
"""

from __future__ import annotations

import sys

from .._ext import _native
from ..errors import InvalidArray
from ..objects.parts import put_together, taken_apart
from ..schema import Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray


def register_sizeof(sizeof: Any) -> None:
    """Called by dask when it first meets an object of this package."""

    @sizeof.register_lazy("cdevice")  # type: ignore[untyped-decorator]
    def register() -> None:
        sizeof.register(_native.Array, lambda array: array.__sizeof__())
        register_frames()


def register_frames() -> None:
    """Registers arrays in distributed, where that has been imported."""
    module = sys.modules.get("distributed.protocol.serialize")
    serialize, deserialize = (getattr(module, "dask_" + name, None) for name in ("serialize", "deserialize"))
    if serialize is not None and deserialize is not None:  # is that all there while it is being imported?
        deserialize.register(_native.Array, _from_frames)
        serialize.register(_native.Array, _to_frames)


def _to_frames(array: DeviceArray) -> tuple[dict[str, Any], list[memoryview]]:
    """(header, frames): a frame a buffer, where it lies; the header says in numbers which is which."""
    frames: list[memoryview] = []

    def put(buffer: memoryview) -> int:
        frames.append(buffer)
        return len(frames) - 1

    schema, parts, home = taken_apart(array, put)
    return {"schema": _words(schema), "parts": parts, "device": home}, frames


def _from_frames(header: dict[str, Any], frames: list[Any]) -> DeviceArray:
    try:
        parts = _filled(header["parts"], frames)
    except IndexError:
        raise InvalidArray(f"the array has more buffers than the {len(frames)} frames that arrived") from None
    return put_together(_schema(header["schema"]), parts, header["device"])


def _words(schema: Schema) -> tuple[Any, ...]:
    """What msgpack takes of a schema."""
    _, (*of_itself, children, dictionary) = schema.__reduce__()
    return *of_itself, [_words(c) for c in children], None if dictionary is None else _words(dictionary)


def _schema(words: Any) -> Schema:
    format, name, metadata, flags, children, dictionary = words
    return Schema.make(
        format,
        name,
        metadata=metadata,
        flags=flags,
        children=map(_schema, children),
        dictionary=None if dictionary is None else _schema(dictionary),
    )


def _filled(parts: Any, frames: list[Any]) -> tuple[Any, ...]:
    """The parts with frames where their numbers were."""
    *numbers, buffers, children, dictionary = parts
    held = [None if i is None else memoryview(frames[i]).toreadonly() for i in buffers]
    rest = None if dictionary is None else _filled(dictionary, frames)
    return *numbers, held, [_filled(c, frames) for c in children], rest
