"""Dask: how large arrays are, for its memory limits and its scheduler, and how they go from worker to worker.

``sizeof`` is found by the entry point in ``dask.sizeof``.  For what travels Dask has no entry point, only its registry,
``distributed.protocol.dask_serialize``: arrays are registered there when one of them is first measured or pickled in a
process that has distributed, when the class is first used there, and when it is looked up, as a process does for a
message that has an array in it.  Until then, and for streams and schemas, they travel by pickle's protocol 5, as the
same frames.
"""

from __future__ import annotations

import sys

from .._arrays.serialize import at_home, deconstruct, reconstruct
from .._runtime.ext import _native
from .._runtime.lazy import LazyModule
from ..errors import InvalidArray
from ..schema import Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray
    from ..ipc import sharing as _sharing
else:
    _sharing = LazyModule("cdevice.ipc.sharing")


_DEEPEST = 64  # levels, as in Arrow structs that come in


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
    """(header, frames): a frame a buffer, where it lies; the header maps frames to buffers by number.

    Of an array that is shared the header has the token, and there is no frame.
    """
    frames: list[memoryview] = []
    token = _sharing.token_of(array)
    if token is not None:
        return {"shared": token, "device": str(array.device)}, frames

    def put(buffer: memoryview) -> int:
        frames.append(buffer)
        return len(frames) - 1

    schema, parts, home = deconstruct(array, put)
    return {"schema": _words(schema), "parts": parts, "device": home}, frames


def _from_frames(header: Any, frames: list[Any]) -> DeviceArray:
    """The array of a message.  Raises InvalidArray for one that this package does not send."""
    try:
        if "shared" in header:
            return _of_token(header["shared"], header["device"], frames)
        words, parts, home = header["schema"], header["parts"], header["device"]
    except (KeyError, TypeError):
        raise InvalidArray("the header of the array lacks its schema, its parts or its device") from None
    _check_name(home)
    left = set(range(len(frames)))
    filled = _filled(parts, frames, left, 1)
    if left:
        raise InvalidArray(f"the array has {len(frames) - len(left)} buffers, {len(frames)} frames arrived")
    return reconstruct(_schema(words, 1), filled, home)


def _check_name(home: Any) -> None:
    if not isinstance(home, str):
        raise InvalidArray(f"the header names the device {home!r}: expected a str")


def _of_token(token: Any, home: Any, frames: list[Any]) -> DeviceArray:
    _check_name(home)
    if not isinstance(token, (bytes, bytearray, memoryview)) or frames:
        raise InvalidArray(
            f"the header of a shared array has a {type(token).__name__} and {len(frames)} frames: expected a token"
        )
    return at_home(_sharing.opened(bytes(token)), home)


def _words(schema: Schema) -> tuple[Any, ...]:
    """What msgpack takes of a schema."""
    _, (*of_itself, children, dictionary) = schema.__reduce__()
    return *of_itself, [_words(c) for c in children], None if dictionary is None else _words(dictionary)


def _list(value: Any, what: str, n: int = -1) -> list[Any]:
    if not isinstance(value, (list, tuple)) or (n >= 0 and len(value) != n):
        raise InvalidArray(f"the header of the array has {what} that {'is no list' if n < 0 else f'has not {n} parts'}")
    return list(value)


def _deep(level: int) -> None:
    if level > _DEEPEST:
        raise InvalidArray(f"the header of the array is nested deeper than {_DEEPEST} levels")


def _schema(words: Any, level: int) -> Schema:
    _deep(level)
    format, name, metadata, flags, children, dictionary = _list(words, "a schema", 6)
    try:
        return Schema.make(
            format,
            name,
            metadata=metadata,
            flags=flags,
            children=[_schema(c, level + 1) for c in _list(children, "a schema's list of children")],
            dictionary=None if dictionary is None else _schema(dictionary, level + 1),
        )
    except (TypeError, AttributeError, OverflowError) as e:
        raise InvalidArray(f"the header of the array has an invalid schema: {e}") from None


def _filled(parts: Any, frames: list[Any], left: set[int], level: int) -> tuple[Any, ...]:
    """The parts with frames where their numbers were; each frame is one buffer."""
    _deep(level)
    *numbers, buffers, children, dictionary = _list(parts, "a node", 6)
    if not all(type(n) is int for n in numbers):
        raise InvalidArray(f"a node has length, offset and null count {numbers}: expected ints")
    held: list[memoryview | None] = []
    for i in _list(buffers, "a list of buffers"):
        if i is not None and (type(i) is not int or i not in left):
            raise InvalidArray(f"a buffer is frame {i!r}: {len(frames)} frames arrived, and each is one buffer")
        if i is not None:
            left.remove(i)
        held.append(None if i is None else memoryview(frames[i]).toreadonly())
    below = [_filled(c, frames, left, level + 1) for c in _list(children, "a list of children")]
    rest = None if dictionary is None else _filled(dictionary, frames, left, level + 1)
    return *numbers, held, below, rest
