"""OpenCL (device type 4): its Python part.

The work is done by the table in ``opencl.c``. Here pyopencl's objects become the handles which that table takes, and
handles become pyopencl's objects. pyopencl is imported when an object of it is asked for, never before.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pathlib
import sys
from dataclasses import dataclass, field
from typing import Any

from .._runtime.ext import check, ffi, lib
from ..errors import DeviceError

__all__ = ["Backend", "OpenCLMemory"]


@dataclass(frozen=True)
class OpenCLMemory:
    """Memory of a third-party OpenCL object.

    ``data`` is a ``cl_mem`` (0 when there are no bytes), ``offset`` and ``nbytes`` are bytes, ``dtype`` is numpy's type
    string, ``events`` are ``cl_event`` handles to wait for before the data is read. All handles live as long as
    ``owner``.
    """

    data: int
    offset: int
    nbytes: int
    dtype: str
    shape: tuple[int, ...]
    device_id: int | None
    owner: Any = field(repr=False)
    events: tuple[int, ...] = ()
    stream: int | None = None


class Backend:
    """OpenCL through any installed runtime; buffers are ``cl_mem`` handles, streams are command queues."""

    name = "opencl"
    device_type = 4
    install_hint = (
        "OpenCL needs a runtime and a loader: `apt-get install pocl-opencl-icd ocl-icd-libopencl1` for the CPU, or the "
        "GPU vendor's; `pip install pyopencl` brings a loader and the Python objects (not `pyopencl[pocl]`, whose "
        "kernels may not build)."
    )

    def __cdevice_backend__(self) -> bytes:
        self._map_loader()
        return b"opencl"

    def _map_loader(self) -> None:
        """Maps the loader of pyopencl's wheel where the system has none: the table then finds it."""
        if os.environ.get("CDEVICE_OPENCL_LIBRARY"):
            return
        try:
            ctypes.CDLL("libOpenCL.so.1")
        except OSError:
            path = self.loader_path()
            if path:
                ctypes.CDLL(path)

    def as_stream(self, obj: Any) -> int | None:
        """The ``cl_command_queue`` handle of a ``pyopencl.CommandQueue`` or an int; ``None`` stays ``None``.

        The handle is borrowed: keep ``obj`` for as long as it is used.
        """
        if obj is None:
            return None
        if isinstance(obj, int) and not isinstance(obj, bool):
            if not 4096 <= obj < 1 << 64:  # no address
                raise ValueError(f"{obj} is not a cl_command_queue handle; pass None for the default queue")
            return obj
        cl = _imported()
        if cl is not None and isinstance(obj, cl.CommandQueue):
            return int(obj.int_ptr)
        raise TypeError(f"expected a pyopencl.CommandQueue, int or None as OpenCL stream, not {type(obj).__name__}")

    def default_stream_for(self, handle: int, default: int, device_id: int) -> Any:
        """A queue of the device in the context of a ``cl_mem``; ``None``: that is the context of the queue ``default``,
        or pyopencl is not imported."""
        cl = _imported()
        if cl is None:
            return None
        context = cl.Buffer.from_int_ptr(handle, retain=True).context
        if context == cl.CommandQueue.from_int_ptr(default, retain=True).context:
            return None
        here = [d for d in context.devices if _device_id(context, d) == device_id]
        return cl.CommandQueue(context, here[0]) if here else None

    def device_id_of(self, obj: Any) -> int | None:
        """The number of a ``pyopencl.Device``, or of a ``pyopencl.CommandQueue``'s; ``None`` for other objects.

        Raises ``ValueError`` for a device that this process's loader does not list.
        """
        cl = _imported()
        if cl is None or not isinstance(obj, (cl.Device, cl.CommandQueue)):
            return None
        device = obj.device if isinstance(obj, cl.CommandQueue) else obj
        number = _device_id(None, device)
        if number is None:
            raise ValueError(f"{device.name.strip()} is not among the OpenCL devices of cdevice.devices()")
        return number

    def owns(self, obj: Any) -> bool:
        """Whether :meth:`from_object` takes this object. Imports nothing."""
        cl = _imported()
        if cl is None:
            return False
        array = sys.modules.get("pyopencl.array")
        return isinstance(obj, cl.MemoryObjectHolder) or (array is not None and isinstance(obj, array.Array))

    def from_object(self, obj: Any) -> OpenCLMemory:
        """Describes a ``pyopencl.array.Array`` or ``pyopencl.Buffer``, without a copy.

        Raises ``TypeError`` for other objects, ``ValueError`` for an array that is not contiguous or not in a
        buffer (shared virtual memory has an address, not a ``cl_mem``).
        """
        if not self.owns(obj):
            raise TypeError(f"expected pyopencl.array.Array or pyopencl.Buffer, not {type(obj).__name__}")
        cl = _imported()
        if isinstance(obj, cl.MemoryObjectHolder):
            if obj.type != cl.mem_object_type.BUFFER:
                raise ValueError("an OpenCL image is not a buffer")
            return OpenCLMemory(obj.int_ptr, 0, obj.size, "|u1", (obj.size,), _device_id(obj.context), obj)
        if not obj.flags.c_contiguous:
            raise ValueError("the array is not contiguous; pass array.copy()")
        base = obj.base_data
        if obj.nbytes and not isinstance(base, cl.MemoryObjectHolder):
            raise ValueError("the array lies in shared virtual memory, which has no cl_mem; pass a copy in a buffer")
        queue = obj.queue
        return OpenCLMemory(
            data=base.int_ptr if obj.nbytes else 0,
            offset=int(obj.offset),
            nbytes=int(obj.nbytes),
            dtype=obj.dtype.str,
            shape=tuple(int(n) for n in obj.shape),
            device_id=_device_id(obj.context, None if queue is None else queue.device),
            owner=obj,
            events=tuple(event.int_ptr for event in obj.events),
            stream=None if queue is None else queue.int_ptr,
        )

    def to_object(
        self,
        handle: int,
        nbytes: int,
        *,
        offset: int = 0,
        dtype: Any = None,
        shape: tuple[int, ...] | None = None,
        stream: Any = None,
        events: tuple[int, ...] = (),
    ) -> Any:
        """A ``pyopencl.Buffer`` on the memory, or with ``dtype`` a ``pyopencl.array.Array``; no copy.

        The result holds a reference of its own to the ``cl_mem``. ``events`` (``cl_event`` handles) are what the array
        waits for before it is used; a buffer has no place for them, so the caller orders its work after them. A
        buffer that starts at ``offset`` or ends early is a sub-buffer, at a multiple of the device's alignment.
        """
        cl = _pyopencl()
        if not handle:
            raise ValueError("there is no buffer: the handle is NULL")
        buffer = cl.Buffer.from_int_ptr(handle, retain=True)
        if offset < 0 or nbytes < 0 or offset + nbytes > buffer.size:
            raise ValueError(f"{nbytes} bytes from offset {offset} exceed the buffer of {buffer.size} bytes")
        if dtype is None:
            if offset or nbytes != buffer.size:
                buffer = buffer.get_sub_region(offset, nbytes)
            return buffer
        import numpy as np
        import pyopencl.array as array

        dtype = np.dtype(dtype)
        if shape is None:
            shape = (nbytes // dtype.itemsize,)
        if int(np.prod(shape, dtype=np.int64)) * dtype.itemsize > nbytes:
            raise ValueError(f"shape {shape} of {dtype} needs more than {nbytes} bytes")
        queue = self._queue(cl, stream)
        if queue is not None and context_of(queue) != buffer.context:
            raise ValueError(_OTHER_CONTEXT)
        held = [cl.Event.from_int_ptr(event, retain=True) for event in events]
        return array.Array(
            queue if queue is not None else buffer.context, shape, dtype, data=buffer, offset=offset, events=held
        )

    def _queue(self, cl: Any, stream: Any) -> Any:
        if stream is None or isinstance(stream, cl.CommandQueue):
            return stream
        return cl.CommandQueue.from_int_ptr(self.as_stream(stream), retain=True)

    def context_of(self, queue: Any) -> Any:
        """See :func:`context_of`."""
        return context_of(queue)

    def to_buffer(self, handle: int, stream: Any) -> Any:
        """A ``pyopencl.Buffer`` on the memory, with a reference of its own; ``ValueError`` where ``stream`` is a queue
        of another context."""
        cl = _pyopencl()
        buffer = cl.Buffer.from_int_ptr(handle, retain=True)
        queue = self._queue(cl, stream)
        if queue is not None and context_of(queue) != buffer.context:
            raise ValueError(_OTHER_CONTEXT)
        return buffer

    def loader_path(self) -> str | None:
        """The OpenCL loader in pyopencl's wheel, for machines without ``libOpenCL.so.1``. Imports nothing."""
        spec = importlib.util.find_spec("pyopencl")
        for place in (spec.submodule_search_locations or ()) if spec else ():
            for folder in (pathlib.Path(place, ".libs"), pathlib.Path(place).parent / "pyopencl.libs"):
                found = sorted(folder.glob("libOpenCL*"))
                if found:
                    return str(found[0])
        return None


_CONTEXT_GONE = (
    "the context of the command queue is gone: hold the pyopencl.Context for as long as the queue, for not every "
    "runtime's queues keep theirs"
)
_OTHER_CONTEXT = (
    'the data is in another OpenCL context than the queue: bring it there with .to("opencl", stream=queue), or name '
    'the queue once for all with cdevice.set_default_stream("opencl", queue)'
)


def _imported() -> Any:
    return sys.modules.get("pyopencl")


def _pyopencl() -> Any:
    try:
        import pyopencl
    except ImportError as error:
        raise ImportError(f"this call needs pyopencl. {Backend.install_hint}") from error
    return pyopencl


def context_of(queue: Any) -> Any:
    """The ``pyopencl.Context`` of a queue; :class:`cdevice.DeviceError` where it is gone."""
    cl = _pyopencl()
    try:
        return queue.context
    except cl.Error as e:
        raise DeviceError(f"opencl: {_CONTEXT_GONE} ({e})") from e


def _device_id(context: Any, device: Any = None) -> int | None:
    """The number of the device (or of the context's first listed one); None: not listed.

    By its ``cl_device_id``: pyopencl may have a loader of its own, which lists platforms in another order."""
    check(lib.cdv_device_count(Backend.device_type, ffi.new("int64_t *")))  # starts it, or raises the reason
    table = lib.cdv_backend_table(Backend.device_type)
    extension = table.extension(table.self, ffi.new("char[]", b"cdevice.opencl.devices/1"))
    if not extension:
        return None
    index_of = ffi.cast("int64_t(**)(void *, void *)", ffi.cast("char *", extension) + 8)[0]
    for candidate in [device] if device is not None else context.devices:
        number = index_of(table.self, ffi.cast("void *", candidate.int_ptr))
        if number >= 0:
            return int(number)
    return None
