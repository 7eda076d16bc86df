"""Events of the vendors' Python libraries, in and out.

``ArrowDeviceArray.sync_event`` is the address of a variable that holds the vendor's handle (cl_event, cudaEvent_t,
hipEvent_t); people have the object or the handle.
"""

from __future__ import annotations

import collections

from .._devices.backends import backend_object, stream_and_owner
from .._runtime.ext import ffi, lib
from .._runtime.lazy import need
from ..errors import DeviceError
from .buffer_access import share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
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

    Raises TypeError for an object that is not an event of that device, ValueError for one that was never recorded.
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
            f"{type(event).__name__} is not an event of this device: pass the event object of the vendor's library, or "
            "as sync_event= the address of a variable that holds the handle"
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
            code = table.event_record(table.self, device, ffi.cast("void *", stream), self.event, err)
            _raise(code, err, table, "recording an event on the array's stream")

    @property
    def address(self) -> int | None:
        """For ``sync_event``; None: the data is safe."""
        return int(ffi.cast("uintptr_t", self.event.sync_event)) or None

    def __del__(self) -> None:
        if self.event.sync_event:
            self.table.event_destroy(self.table.self, self.device, self.event)


def _raise(code: int, err: Cdata, table: Cdata, doing: str) -> None:
    if not code:
        return
    name = ffi.string(table.name).decode()
    error = DeviceError(f"{name}: {doing}: {ffi.string(err.message).decode('utf-8', 'replace')}")
    error.code, error.vendor_code, error.vendor_name = code, err.vendor_code, ffi.string(err.vendor_name).decode()
    raise error


def recorded_behind(obj: object, type_id: int, device: int, stream: int | None, events: tuple[int, ...]) -> Recorded:
    """:class:`Recorded` behind events of a vendor (raw handles) and all that the stream was given; the host does not
    wait.  Without a stream there is no event."""
    table = lib.cdv_backend_table(type_id)
    if stream is not None:
        cell, err = ffi.new("void **"), ffi.new("cdevice_error *")
        for handle in events:
            cell[0] = ffi.cast("void *", handle)
            code = table.event_wait_stream(table.self, device, cell, ffi.cast("void *", stream), err)
            _raise(code, err, table, "waiting for the array's events")
    return Recorded(obj, table, device, stream)


def marker_of(obj: Any, memory: Any) -> Recorded:
    """An event behind the events of a pyopencl object, of which ``memory`` tells, and all that was enqueued on its
    queue; its address is None where it has no queue.

    Waits for the events of an array without a queue.  The marker is the backend's own: pyopencl's would be released
    with the array, and not every runtime survives the failure of an event that was."""
    if memory.stream is None and memory.events:
        need("pyopencl", "pyopencl").wait_for_events(list(obj.events))
    return recorded_behind(obj, _OPENCL, memory.device_id or 0, memory.stream, memory.events)


class Pending(collections.namedtuple("Pending", "address owner array", defaults=(None,))):
    """An event that memory waits for: the address of the variable that holds its handle, what keeps it, and
    the array that it is of, or None."""

    __slots__ = ()


def pending_of(arrays: Iterable[DeviceArray]) -> list[Pending]:
    """What arrays still wait for, each event once.  Does not wait."""
    waiting = {a.sync_event: a for a in arrays if a.sync_event and not a.ready}
    return [Pending(address, share(a), a) for address, a in waiting.items()]


def joined_events(type_id: int, device_id: int, events: Sequence[Pending], stream: StreamLike = None) -> Pending | None:
    """One event behind several of a device, recorded on ``stream`` after that waits for them; None: there are none.

    The host does not wait, unless the device cannot.  Raises DeviceError."""
    if len(events) < 2:
        return events[0] if events else None
    handle, kept = stream_and_owner(type_id, stream)
    table, err = lib.cdv_backend_table(type_id), ffi.new("cdevice_error *")
    place = ffi.cast("void *", handle)
    for e in events:
        event = ffi.cast("void *", e.address)
        if e.array is not None:
            e.array._wait_stream(type_id, handle)
        elif table.event_wait_stream(table.self, device_id, event, place, err):
            code = table.event_wait_host(table.self, device_id, event, err)
            _raise(code, err, table, "waiting for the event of a part of the array")
    event = Recorded((kept, events), table, device_id, handle)
    return None if event.address is None else Pending(event.address, event)


def behind(arrays: Sequence[DeviceArray], stream: StreamLike) -> tuple[int | None, object]:
    """(address for ``sync_event``, what keeps it) of an event behind those of several arrays on one device.

    The host does not wait: ``stream`` waits for them, and one is recorded there."""
    waiting = pending_of(arrays)
    if not waiting:
        return None, None
    first = next(a for a in arrays if a.sync_event)
    one = joined_events(first.device_type_id, first.device_id, waiting, stream)
    return (None, None) if one is None else (one.address, one.owner)


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
