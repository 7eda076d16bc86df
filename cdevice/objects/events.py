"""Events of the vendors' Python libraries, in and out.

``ArrowDeviceArray.sync_event`` is the address of a variable that holds the vendor's handle (cl_event, cudaEvent_t,
hipEvent_t); people have the object or the handle.
"""

from __future__ import annotations

from .._devices.registry import backend_object, stream_and_owner
from .._ext import ffi, lib
from .._later import need
from ..errors import DeviceError
from .views import share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Cdata, DeviceArray, StreamLike

_OPENCL = 4


class EventHandle(int):
    """The handle of an event; ``array`` keeps the event."""

    array: DeviceArray

    def __new__(cls, handle: int, array: DeviceArray) -> EventHandle:
        self = super().__new__(cls, handle)
        self.array = array
        return self


def _handle(obj: Any) -> int | None:
    """The handle that an event of pyopencl, torch, cupy, numba, hip-python or cuda-bindings shows; None: none."""
    for name in ("int_ptr", "cuda_event", "ptr", "handle"):
        value = getattr(obj, name, None)
        if value is not None:
            return int(getattr(value, "value", value) or 0)
    return int(obj) if hasattr(obj, "__int__") else None


def cell_of(type_id: int, event: Any) -> tuple[int, Any]:
    """(address for ``sync_event``, what keeps it) of an event object, for a device type.

    Raises TypeError for what is no event of that device, ValueError for one that was never recorded.
    """
    convert = getattr(backend_object(type_id), "as_event", None)
    if convert is not None:
        cell, kept = convert(event)
        return cell, kept
    plain = type(event) in (int, bool, float, str, bytes)
    root = type(event).__module__.split(".")[0]
    handle = None if plain or (root == "pyopencl") != (type_id == _OPENCL) else _handle(event)
    if handle is None:
        raise TypeError(
            f"{type(event).__name__} is no event of this device: pass the event object of the vendor's library, or as "
            "sync_event= the address of a variable that holds the handle"
        )
    if not handle:
        raise ValueError("the event was never recorded")
    cell = ffi.new("void **", ffi.cast("void *", handle))
    return int(ffi.cast("uintptr_t", cell)), (cell, event)


class Recorded:
    """What an array keeps that waits for work of others: the object behind its memory, and an event recorded on a
    stream (its raw handle, 0 the default; None: no event)."""

    def __init__(self, obj: object, table: Cdata, device: int, stream: int | None) -> None:
        self.obj, self.table, self.device, self.event = obj, table, device, ffi.new("cdevice_event *")
        if stream is not None:
            err = ffi.new("cdevice_error *")
            if table.event_record(table.self, device, ffi.cast("void *", stream), self.event, err):
                name = ffi.string(table.name).decode()
                text = ffi.string(err.message).decode("utf-8", "replace")
                raise DeviceError(f"{name}: recording an event on the array's stream: {text}")

    @property
    def address(self) -> int | None:
        """For ``sync_event``; None: the data is safe."""
        return int(ffi.cast("uintptr_t", self.event.sync_event)) or None

    def __del__(self) -> None:
        if self.event.sync_event:
            self.table.event_destroy(self.table.self, self.device, self.event)


def behind(arrays: list[DeviceArray], stream: StreamLike) -> tuple[int | None, object]:
    """(address for ``sync_event``, what keeps it) of an event behind those of several arrays on one device.

    The host does not wait: ``stream`` waits for them, and one is recorded there."""
    waiting = {a.sync_event: a for a in arrays if a.sync_event and not a.ready}
    if len(waiting) < 2:
        return next(((address, share(a)) for address, a in waiting.items()), (None, None))
    first = arrays[0]
    handle, kept = stream_and_owner(first.device_type_id, stream)
    for a in waiting.values():
        a._wait_stream(first.device_type_id, handle)
    event = Recorded(kept, lib.cdv_backend_for(first.device_type_id), first.device_id, handle)
    return event.address, event


def event_of(array: DeviceArray) -> Any:
    """See :attr:`DeviceArray.event`."""
    owner = share(array)
    address = owner.sync_event
    if not address:
        return None
    handle = int(ffi.cast("uintptr_t", ffi.cast("void **", address)[0]))
    if owner.device_type_id == _OPENCL:
        pyopencl = need("pyopencl", "pyopencl")
        return pyopencl.Event.from_int_ptr(handle, retain=True)
    return EventHandle(handle, owner)
