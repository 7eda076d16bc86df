"""Arrays from buffers that exist, and what may stand for a buffer: its address or handle, and the bytes it has."""

from __future__ import annotations

from .._runtime.ext import _native, as_address, ffi, lib
from .._runtime.lazy import LazyModule
from .._runtime.release_thread import ensure_release_thread
from ..schema import asschema
from .buffer_access import BufferBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .._devices import allocators as _allocators
    from .._devices import backends as _registry
    from .._devices import device as _device
    from .._types import Address, DeviceArray, DeviceLike, SchemaLike, Validate
    from . import events as _events
    from . import formats as _formats
else:
    _allocators = LazyModule("cdevice._devices.allocators")
    _device = LazyModule("cdevice._devices.device")
    _events = LazyModule("cdevice._arrays.events")
    _formats = LazyModule("cdevice._arrays.formats")
    _registry = LazyModule("cdevice._devices.backends")


_CPU, _OPENCL = 1, 4
_LEGACY = 1  # the legacy default stream in the CUDA array interface

_zeros = ffi.new("char[64]")
_empty = int(ffi.cast("uintptr_t", _zeros))
_from_buffer, _cast, _uintptr = ffi.from_buffer, ffi.cast, ffi.typeof("uintptr_t")


def address_of_buffer(obj: Any) -> tuple[Any, int]:
    """(what holds the export of its buffer protocol, the address)"""
    memory = _from_buffer(obj)
    # an empty buffer has no address of its own, and a missing one would be refused
    return memory, int(_cast(_uintptr, memory)) or _empty


def _of_interface(d: Any) -> tuple[int, int]:
    """(address, bytes) of an array interface, numpy's or CUDA's.  Raises ValueError where it has gaps."""
    address, _, _, nbytes = _formats.extent_of(d)
    return address, nbytes


class _Memory:
    """What one buffer is made of: address or handle (None: there is no buffer), bytes (-1: not known), what keeps it,
    and the events (``Pending``) that it waits for.  Memory never goes without them."""

    __slots__ = ("address", "events", "owner", "size")

    def __init__(self, address: int | None, size: int, owner: Any, events: tuple[Any, ...] = ()) -> None:
        self.address, self.size, self.owner, self.events = address, size, owner, events


def _of_pyopencl(obj: Any) -> _Memory:
    backend = _registry.backend_object(_OPENCL)
    memory = backend.from_object(obj)
    if memory.offset:
        raise ValueError(f"the OpenCL array begins at byte {memory.offset} of its buffer: pass the buffer, offset=")
    marker = _events.marker_of(obj, memory)
    events = () if marker.address is None else (_events.Pending(marker.address, marker),)
    return _Memory(memory.data or None, memory.nbytes, obj, events)


def _of_device(obj: Any, type_id: int, number: int) -> _Memory:
    """Another library's memory on a device, with an event behind what its stream does."""
    if type_id == _OPENCL and _registry.backend_object(_OPENCL).owns(obj):
        return _of_pyopencl(obj)
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is not None:
        address, nbytes = _of_interface(interface)
        stream = interface.get("stream")
        if stream is None:
            return _Memory(address or None, nbytes, obj)
        table = lib.cdv_backend_table(type_id)
        recorded = _events.Recorded(obj, table, max(number, 0), 0 if stream == _LEGACY else int(stream))
        events = (_events.Pending(recorded.address, recorded),) if recorded.address else ()
        return _Memory(address or None, nbytes, recorded, events)
    if hasattr(obj, "__array_interface__") or isinstance(obj, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"{type(obj).__name__} is memory of the CPU, the array is to be on a device: "
            "cdevice.asarray(...).to(device) copies it there"
        )
    where = as_address(_allocators.address_of(obj))
    whole: Any = getattr(obj, "mem", None)  # cupy's pointers point into it
    size: Any = getattr(whole, "size", None)
    if isinstance(size, int) and isinstance(getattr(whole, "ptr", None), int):
        if not 0 <= where - whole.ptr <= size:
            raise ValueError(f"{where:#x} lies outside the {size} bytes at {whole.ptr:#x} of the buffer")
        return _Memory(where or None, size - (where - whole.ptr), obj)
    size = getattr(obj, "nbytes", None)
    known = isinstance(size, int) and not isinstance(size, bool)
    return _Memory(where or None, size if known else -1, obj)


def _part(obj: Any, type_id: int, number: int) -> _Memory:
    """One buffer on a device.

    Raises TypeError for an object without memory there, ValueError for memory with gaps.
    """
    if obj is None:
        return _Memory(None, 0, None)
    if isinstance(obj, (int, ffi.CData)):
        return _Memory(as_address(obj) or None, -1, obj)
    if isinstance(obj, BufferBase):
        if obj.device.type_id != type_id and not (type_id == _CPU and lib.cdv_is_host_accessible(obj.device.type_id)):
            raise TypeError(f"a buffer on {obj.device} in an array of another device")
        if obj.device.type_id != type_id:
            obj._owner.synchronize()  # the CPU has no events
        size = obj.size
        address = obj.address or (_empty if size == 0 and type_id == _CPU else None)
        return _Memory(address, size, obj, () if type_id == _CPU else tuple(_events.pending_of([obj._owner])))
    if type_id == _CPU or lib.cdv_is_host_accessible(type_id):
        try:
            memory, address = address_of_buffer(obj)
        except TypeError:
            pass
        else:
            return _Memory(address, len(memory), memory)
        interface = getattr(obj, "__array_interface__", None)
        if interface is not None:
            address, size = _of_interface(interface)
            return _Memory(address or _empty, size, obj)
        pointer = getattr(obj, "data_ptr", None)  # torch
        if callable(pointer) and str(getattr(obj, "device", "")) == "cpu":
            if not obj.is_contiguous():
                raise ValueError("a buffer must be contiguous")
            return _Memory(pointer() or _empty, obj.numel() * obj.element_size(), obj)
        if type_id == _CPU:
            where = ": it lies on a device, pass device=" if hasattr(obj, "__cuda_array_interface__") else ""
            raise TypeError(
                f"{type(obj).__name__} is not a buffer on the CPU"
                + (where or ": expected bytes, a numpy array or an object with an array interface")
            )
    return _of_device(obj, type_id, number)


def _place_of_parts(
    buffers: Sequence[Any], children: Sequence[DeviceArray], dictionary: DeviceArray | None
) -> _device.Device | None:
    """The device that Buffer objects, pyopencl's objects, children or the dictionary are on; None: unknown."""
    for part in (*buffers, *children, dictionary):
        if type(part).__module__.partition(".")[0] == "pyopencl":
            backend = _registry.backend_object(_OPENCL)
            number = backend.from_object(part).device_id if backend.owns(part) else None
            if number is not None:
                return _device.Device(_OPENCL, number)
        if isinstance(part, (BufferBase, _native.Array)):
            device: _device.Device = part.device  # type: ignore[union-attr]
            if device.type_id != _CPU:
                return device
    return None


def _is_memory(obj: Any) -> bool:
    """Is it one buffer, by itself?"""
    if isinstance(obj, BufferBase) or hasattr(obj, "__array_interface__") or hasattr(obj, "__cuda_array_interface__"):
        return True
    try:
        _from_buffer(obj)
    except TypeError:
        return not hasattr(obj, "__iter__")
    return True


def from_buffers(
    schema: SchemaLike,
    length: int,
    buffers: Sequence[Any],
    *,
    null_count: int = -1,
    offset: int = 0,
    children: Iterable[DeviceArray] = (),
    dictionary: DeviceArray | None = None,
    device: DeviceLike | None = None,
    owner: object | None = None,
    event: Any = None,
    sync_event: Address | None = None,
    validate: Validate = "structure",
) -> DeviceArray:
    """A DeviceArray over buffers that exist, without a copy.

    ``schema``: see :func:`asschema`.  ``length``: rows.  ``buffers``: in the order of the Arrow layout; None, objects
    with the buffer protocol or an array interface, CPU tensors of torch, :class:`Buffer` objects, other libraries'
    memory (cupy, torch, hip-python, pyopencl, cuda-bindings), addresses or handles (int, kept alive by ``owner``).
    ``null_count``: -1: counted when needed.  ``offset``: rows before the first one in the buffers.  ``children``,
    ``dictionary``: DeviceArrays on the same device, of the types that ``schema`` declares.  ``device``: default that of
    the parts that know their device (cdevice's and pyopencl's objects), else the CPU.  ``event``: a recorded event of
    the vendor's library (pyopencl, torch, cupy, hip-python), kept alive; ``sync_event`` instead: the address of a
    variable that holds an event's handle and that ``owner`` keeps.  ``validate``: with "structure" too, sizes are
    checked against the layout wherever the object knows its size, and offsets, indices, type ids, views and null counts
    against their bounds where the CPU may read them now; "full" adds UTF-8; None checks nothing.

    The result waits for what any part waits for: arrays, Buffers, arrays of pyopencl and of the CUDA array interface,
    ``event``; where there are several events, they are joined on the device's current stream.  Memory that is given by
    its address alone has no event: pass one, or wait before.

    Does not block for these events, but "full" may.  Any thread.  Raises InvalidArray where buffers, lengths and types
    do not fit; ArgumentError for parts on two devices.
    """
    if type(buffers) is not list and not isinstance(buffers, (list, tuple)) and _is_memory(buffers):
        raise TypeError(
            "buffers must be a list with one object for each buffer of the layout, such as [None, values], not"
            f" {type(buffers).__name__}"
        )
    children, type_id, number = tuple(children), 1, -1
    place = _place_of_parts(buffers, children, dictionary) if device is None else _device.device(device)
    if place is not None:
        type_id, number = place.type_id, place.id
    keep, addresses = [] if owner is None else [owner], []
    events: list[_events.Pending] = []
    for b in buffers:
        memory = _part(b, type_id, number)
        address, size = memory.address, memory.size
        addresses.append(address if size < 0 else (address, size) if address is not None else None)
        events += memory.events
        if memory.owner is not None:
            keep.append(memory.owner)
    if event is not None:
        if sync_event is not None:
            raise TypeError("event= and sync_event= were both given: pass one")
        events.append(_events.Pending(*_events.cell_of(type_id, event)))
    elif sync_event is not None:
        address = as_address(sync_event)
        events += [_events.Pending(address, owner)] if address else []
    if type_id != _CPU:  # which has no events
        parts = [*children] if dictionary is None else [*children, dictionary]
        events += _events.pending_of([a for a in parts if a.device_type_id == type_id])
    sync_event = None
    if events:
        joined = _events.joined_events(type_id, max(number, 0), list({e.address: e for e in events}.values()))
        if joined is not None:
            sync_event = joined.address
            keep.append(joined.owner)
    if keep:
        ensure_release_thread()
    return _native.build(
        asschema(schema),
        device_type=type_id,
        device_id=number,
        length=length,
        offset=offset,
        null_count=null_count,
        buffers=tuple(addresses),
        children=children,
        dictionary=dictionary,
        owner=tuple(keep) if keep else None,
        sync_event=sync_event,
        validate=validate,
    )
