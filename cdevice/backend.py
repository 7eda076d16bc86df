"""The base class of backends written in Python."""

from __future__ import annotations

import collections
import enum

from .backend_compute import Compute as Compute
from .backend_compute import ComputeFlag as ComputeFlag
from .backend_compute import Launch as Launch
from .backend_compute import Program as Program
from .backend_compute import missing, offers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .device_types import DeviceInfo


class Capability(enum.IntFlag):
    """What a backend can do; the values of ``CDEVICE_CAP_*`` in backend.h."""

    HOST_ACCESSIBLE = 0x1  # the CPU may read the memory once the event is done
    ADDRESS = 0x2  # address + offset is an address
    EVENTS = 0x4
    STREAMS = 0x8
    ASYNC_FREE = 0x10  # free() is ordered after work that uses the block
    BLOCKING_FREE = 0x20  # free() may wait for the device
    PEER = 0x40  # copies between devices of one family
    NEEDS_PYTHON = 0x80  # set by the package
    FORK_SAFE = 0x100


class CopyKind(enum.IntEnum):
    """Which side of a copy is host memory."""

    H2D = 1
    D2H = 2
    D2D = 3
    PEER = 4


class Copy(collections.namedtuple("Copy", "dst dst_offset dst_device src src_offset src_device nbytes")):
    """One copy: addresses or handles as int, offsets and size in bytes, device numbers (-1: host memory)."""

    __slots__ = ()


def _a(value: Any) -> str:
    """A description of a method's result, for errors."""
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _memory(block: Any) -> Any:
    if isinstance(block, int) or hasattr(block, "data"):
        return block
    raise TypeError(f"it returned {_a(block)}; expected an address or a handle (int), or an object with it as data")


class Backend:
    """One device type, served by Python methods.  Subclass it and pass an instance to ``register_backend``.

    Required methods: :meth:`device_count`, :meth:`alloc`, :meth:`free`, :meth:`copy`; with ``Capability.EVENTS`` the
    ``event_`` methods; without ``Capability.ADDRESS`` :meth:`view`.  Methods are called from any thread, with the GIL,
    several at once; what they raise becomes a DeviceError (MemoryError: OutOfMemory, NotImplementedError: Unsupported,
    BackendUnavailable: itself) at the caller with the exception as its cause.

    ``device_type``: the ArrowDeviceType (int).  ``name``: ``[a-z][a-z0-9_]*``, the word before ":" in device strings.
    ``version``: any text.  ``family``: backends of one family copy among themselves and share streams and events;
    empty: alone.  ``capabilities``: :class:`Capability` flags.  ``install_hint``: what to install, one sentence; ends
    the message of BackendUnavailable.  ``compute``: its kernels; with it all functions of ``cdevice.compute`` run
    there.
    """

    device_type = 0
    name = ""
    version = ""
    family = ""
    capabilities = Capability.ADDRESS
    install_hint = ""
    compute: Compute | None = None

    def __cdevice_backend__(self) -> Any:
        from ._runtime.ext import _native

        table = self.__dict__.get("_table")  # one for the life of the object, however often it is registered
        if table is None:
            self._check_methods()
            table = self._table = _native.make_backend(self, self.compute, *offers(self.compute, self.name))
        return table

    def _check_methods(self) -> None:
        """ArgumentError that names the methods which are missing."""
        from .errors import ArgumentError

        capabilities = Capability(int(self.capabilities))
        wanted = [missing(self, Backend, "device_count", "alloc", "free", "copy")]
        events = missing(self, Backend, "event_record", "event_done", "event_wait")
        if capabilities & Capability.EVENTS and events:
            wanted.append(f"{events} (its capabilities have EVENTS)")
        if not capabilities & Capability.ADDRESS and (view := missing(self, Backend, "view")):
            wanted.append(f"{view} (its capabilities have no ADDRESS)")
        if any(wanted):
            text = "; ".join(w for w in wanted if w)
            raise ArgumentError(f'the backend "{self.name}" ({type(self).__name__}) has no {text}')

    def start(self) -> None:
        """Loads the runtime; called on first use, and again until it succeeds once, never twice at once.

        May block.  Raises BackendUnavailable where there is nothing to serve.
        """

    def device_count(self) -> int:
        """How many devices there are; they are numbered from 0.

        Should not block.  Raises DeviceError where the runtime fails.
        """
        raise NotImplementedError("device_count")

    def device_info(self, device_id: int) -> DeviceInfo:
        """A :class:`cdevice.DeviceInfo`; its ``alignment`` in bytes holds for allocations and for views into them.

        ``device_id``: number of the device.  Should not block.  Raises DeviceError where the runtime fails.
        """
        from .device_types import DeviceInfo

        return DeviceInfo(f"{self.name} {device_id}", "", 64, -1, -1)

    def alloc(self, nbytes: int, *, device_id: int, stream: int = 0) -> Any:
        """Memory for work on a stream: an address or handle (int), or an object with that as ``data``; :meth:`free`
        gets it.

        ``nbytes``: bytes, more than 0.  ``device_id``: number of the device.  ``stream``: raw handle, 0: the default
        stream.  May block when memory is short.  Raises MemoryError.
        """
        raise NotImplementedError("alloc")

    def free(self, block: Any) -> None:
        """Frees ``block``, which :meth:`alloc` or :meth:`view` returned.

        With EVENTS enqueued work may still use the memory: then put it aside.  Must not block, unless the capabilities
        have BLOCKING_FREE.  Any thread; where a release callback runs on a thread without the GIL, a thread of the
        package calls this instead.  It should not raise: an exception cannot reach a caller.
        """
        raise NotImplementedError("free")

    def view(self, block: Any, offset: int, nbytes: int) -> Any:
        """A part of a block where addresses cannot be added to; keeps the block's memory alive.

        ``block``: what :meth:`alloc` returned, or an int, the handle, where :func:`cdevice.set_allocator` brought the
        memory.  ``offset``: bytes, a multiple of the alignment.  ``nbytes``: bytes.  Should not block.  Raises
        NotImplementedError where the device has no views of such memory.
        """
        raise NotImplementedError("view")

    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        """Does or enqueues copies.  Without EVENTS all are done on return; with EVENTS host memory stays valid until
        the stream has passed them.

        ``kind``: a :class:`CopyKind`, of all of them.  ``copies``: a list of :class:`Copy`.  ``stream``: raw handle, 0:
        the default stream.  Blocks only without EVENTS.  Raises NotImplementedError for D2D or PEER: then the copy goes
        through the host.
        """
        raise NotImplementedError("copy")

    def event_record(self, *, device_id: int, stream: int = 0) -> Any:
        """Records an event after the work enqueued on ``stream``: the address for ``sync_event`` (int), an object with
        that as ``sync_event``, or None where the work is done already.

        ``device_id``: number of the device.  ``stream``: raw handle, 0: the default stream.  Should not block.  Raises
        DeviceError where the runtime fails.
        """
        raise NotImplementedError("event_record")

    def event_done(self, event: int, *, device_id: int) -> bool:
        """True when the device has passed the event at the address ``event``.

        ``device_id``: number of the device.  Should not block.  Raises DeviceError when the event's work has failed, so
        that nothing of it will run any more; after any other exception the state is unknown, and it is asked again
        later.
        """
        raise NotImplementedError("event_done")

    def event_wait(self, event: int, *, device_id: int, stream: int | None = None) -> None:
        """Makes the host or a stream wait for the event at the address ``event``.

        ``device_id``: number of the device.  ``stream``: None blocks until the device has passed the event; a raw
        handle makes later work on that stream wait and does not block.  Raises DeviceError when the event's work has
        failed.
        """
        raise NotImplementedError("event_wait")

    def event_destroy(self, event: Any) -> None:
        """Destroys ``event``, which :meth:`event_record` returned, pending or not.

        Must not block.  It should not raise: an exception cannot reach a caller.
        """

    def current_stream(self, device_id: int) -> int:
        """The raw handle of the stream for work whose caller names none; 0: the default stream.

        ``device_id``: number of the device.  Should not block.  Raises DeviceError where the runtime fails.
        """
        return 0

    def stream_wait(self, *, device_id: int, stream: int = 0) -> None:
        """Blocks until all work enqueued on ``stream`` is done.

        ``device_id``: number of the device.  ``stream``: raw handle, 0: the default stream.  Raises DeviceError when
        the device is dead and nothing will run any more.
        """

    def as_stream(self, obj: Any) -> int | None:
        """The raw handle (int) of another library's stream object, or None if it is none of this device.

        ``obj``: what a caller passed as ``stream=``.  Default: an int is the handle itself.  Should not block.  Raises
        TypeError or ValueError for an object that cannot be used, with the reason.
        """
        return obj if isinstance(obj, int) and not isinstance(obj, bool) else None

    # what the C side calls: positional, plain values
    def _alloc(self, nbytes: int, device_id: int, stream: int) -> Any:
        return _memory(self.alloc(nbytes, device_id=device_id, stream=stream))

    def _view(self, block: Any, offset: int, nbytes: int) -> Any:
        return _memory(self.view(block, offset, nbytes))

    def _device_info(self, device_id: int) -> Any:
        from .device_types import DeviceInfo

        info = self.device_info(device_id)
        if not all(hasattr(info, field) for field in DeviceInfo._fields):
            raise TypeError(f"it returned {_a(info)}; expected a cdevice.DeviceInfo({', '.join(DeviceInfo._fields)})")
        return info

    def _copy(self, kind: int, copies: list[Any], stream: int) -> None:
        self.copy(CopyKind(kind), [Copy(*c) for c in copies], stream=stream)

    def _event_record(self, device_id: int, stream: int) -> Any:
        event = self.event_record(device_id=device_id, stream=stream)
        if event is None or isinstance(event, int) or hasattr(event, "sync_event"):
            return event
        raise TypeError(f"it returned {_a(event)}; expected an address (int), an object with it as sync_event, or None")

    def _event_done(self, event: int, device_id: int) -> bool:
        return self.event_done(event, device_id=device_id)

    def _event_wait(self, event: int, device_id: int, stream: int | None) -> None:
        self.event_wait(event, device_id=device_id, stream=stream)

    def _current_stream(self, device_id: int) -> int:
        return self.current_stream(device_id)

    def _stream_wait(self, device_id: int, stream: int) -> None:
        self.stream_wait(device_id=device_id, stream=stream)
