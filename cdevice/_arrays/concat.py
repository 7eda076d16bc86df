"""Several arrays as one."""

from __future__ import annotations

from .._runtime.ext import _native
from .._runtime.lazy import LazyModule
from .._runtime.release_thread import ensure_release_thread
from ..errors import ArgumentError
from ..schema import NULLABLE, Schema
from .assemble import under
from .buffer_access import share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._devices import backends as _registry
    from .._devices import device as _device
    from .._types import DeviceArray, DeviceLike, StreamLike
else:
    _device = LazyModule("cdevice._devices.device")
    _registry = LazyModule("cdevice._devices.backends")

_EXTENSION = b"ARROW:extension:name"


def _same(a: Schema, b: Schema) -> bool:
    """Of one type, extensions counted."""
    if not a._equal(b, False, False):
        return False
    x, y = a._metadata, b._metadata
    return x == y or (a.metadata or {}).get(_EXTENSION) == (b.metadata or {}).get(_EXTENSION)


def _require_one_type(arrays: Sequence[DeviceArray]) -> None:
    schema = arrays[0].schema
    for i, a in enumerate(arrays):
        if not _same(schema, a.schema):
            raise ArgumentError(
                f"array {i} is {a.schema.label}, the first one {schema.label}: concat() needs arrays of one type"
            ) from None


def _nullable(a: DeviceArray) -> DeviceArray:
    """The same rows, of which some may be null."""
    s = a.schema
    schema = Schema.make(
        s.format,
        s.name,
        children=s.children,
        dictionary=s.dictionary,
        flags=s.flags | NULLABLE,
        metadata=s._metadata,
    )
    return under(share(a), schema, validate="structure")


def joined(arrays: Sequence[DeviceArray], device: DeviceLike | None, stream: StreamLike) -> DeviceArray:
    """The rows of one array or more, one after the other; one alone is itself, or moved.  See cdevice.concat."""
    first = arrays[0]
    stream = _registry.stream_from_device_arg(device, stream)
    if len(arrays) == 1:
        return first if device is None else first.to(device, stream=stream)
    here = next((a.device_type_id for a in arrays if a.device_type_id != 1), 1)
    type_id, number = here, -1
    if device is not None:
        target = _device.device(device)
        type_id, number = target.type_id, target.id
    _registry.ensure_backend(here)
    _registry.ensure_backend(type_id)
    ensure_release_thread()  # sources may be given back by a thread that never saw Python
    if not first.schema.nullable and any(a.schema.nullable for a in arrays[1:]):
        arrays = [_nullable(first), *arrays[1:]]
    if stream is None and here != 1 and (device is None or type_id == here):
        stream = _registry.default_stream_for(next(a for a in arrays if a.device_type_id == here))
    handle, owner = _registry.stream_and_owner(here if type_id == 1 else type_id, stream)
    try:
        return _native.concat(tuple(arrays), 0 if device is None else type_id, number, handle, owner)
    except ArgumentError:
        _require_one_type(arrays)  # C knows formats, not words
        raise
