"""pyopencl arrays and buffers in and out, without a copy."""

from __future__ import annotations

import sys

from .._arrays.events import marker_of
from .._arrays.formats import DTYPES
from .._arrays.from_buffers import from_buffers
from .._arrays.logical_view import retyped
from .._devices.backends import backend_object, default_stream
from ..errors import ArgumentError, CannotExport
from ..schema import Schema
from .fixed_shape_tensor import count, nested, values_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .._types import DeviceArray, StreamLike

_OPENCL = 4


def _backend() -> Any:
    return backend_object(_OPENCL)


def from_pyopencl(obj: Any, schema: Schema | None = None) -> DeviceArray:
    """A pyopencl.array.Array or pyopencl.Buffer as a DeviceArray on its device; bytes as uint8, dimensions behind
    the first as fixed-size lists.

    The event is a marker behind the array's events and, where it has a queue, behind all that was enqueued there.
    Raises TypeError and ValueError for what has no Arrow type or no buffer, ArgumentError for a device that this
    process's OpenCL loader does not list.
    """
    import numpy

    from .numpy import format_of

    memory = _backend().from_object(obj)
    dtype = numpy.dtype(memory.dtype)
    format = format_of(dtype)
    if format is None:
        raise TypeError(f"pyopencl arrays of {dtype} have no Arrow type")
    if memory.device_id is None:
        raise ArgumentError("the buffer's OpenCL device is not among those of cdevice.devices()")
    if memory.offset % dtype.itemsize:
        raise ValueError(f"the array begins at byte {memory.offset}: expected a multiple of {dtype.itemsize}")
    owner = marker_of(obj, memory)
    out = from_buffers(
        Schema.make(format),
        count(memory.shape),
        [None, memory.data or None],
        offset=memory.offset // dtype.itemsize,
        null_count=0,
        device=(_OPENCL, memory.device_id),
        owner=owner,
        sync_event=owner.address,
    )
    out = nested(out, memory.shape)
    return out if schema is None else retyped(out, schema)


def _order(array: DeviceArray, queue: StreamLike) -> None:
    """Puts later work of the queue behind the data; without a queue the host waits."""
    if queue is None:
        array.synchronize()
    else:
        array.wait(queue)


def buffer_to_pyopencl(array: DeviceArray, index: int, queue: StreamLike = None) -> Any:
    """Buffer ``index`` as a pyopencl.Buffer that holds its own reference to the memory object."""
    _require_opencl(array)
    address, size = array._buffer(index)
    if not address:
        raise ValueError("there is no buffer" + (": nothing is null, so there is no bitmap" if index == 0 else ""))
    buffer = _backend().to_buffer(address, queue)
    _order(array, queue)
    return buffer


def to_pyopencl(array: DeviceArray, queue: StreamLike = None) -> Any:
    """See :meth:`DeviceArray.to_pyopencl`."""
    _require_opencl(array)
    array, shape, nulls = values_of(array)
    dtype = DTYPES.get(array._format)
    if dtype is None or array._schema.dictionary is not None:
        raise CannotExport(f"{array.type} cannot become a pyopencl array: use array.buffers[i].to_pyopencl()")
    if nulls:
        raise CannotExport("the array has nulls, or may have: use array.buffers[i].to_pyopencl()")
    if not array.length:
        raise CannotExport("an empty array has no OpenCL buffer")
    import numpy

    itemsize = numpy.dtype(dtype).itemsize
    if queue is None:
        queue = _named_queue(array)
    out = _backend().to_object(
        array._buffer(1)[0],
        array.length * itemsize,
        offset=array.offset * itemsize,
        dtype=dtype,
        shape=shape,
        stream=queue,
    )
    _order(array, queue)
    return out


def is_queue(stream: StreamLike) -> bool:
    """Is it pyopencl's (None: what cdevice.set_default_stream named)?"""
    cl = sys.modules.get("pyopencl")
    return cl is not None and isinstance(default_stream(_OPENCL) if stream is None else stream, cl.CommandQueue)


def apart(array: DeviceArray, queue: StreamLike) -> bool:
    """Is some of the array's memory in another context than the queue (None: that of cdevice.set_default_stream)?"""
    cl = sys.modules.get("pyopencl")
    queue = default_stream(_OPENCL) if queue is None else queue
    if cl is None or not isinstance(queue, cl.CommandQueue):
        return False
    context = _backend().context_of(queue)
    return any(cl.Buffer.from_int_ptr(handle, retain=True).context != context for handle in _handles(array))


def _handles(array: DeviceArray) -> Iterator[int]:
    """The cl_mem of each node, which are in one context: the last buffer of a view is on the CPU."""
    for i in range(min(array._n_buffers, 2) if array.length else 0):
        handle = array._buffer(i)[0]
        if handle:
            yield handle
            break
    below = range(-(array._schema.dictionary is not None), array._n_children)
    for i in below:
        yield from _handles(array._raw_child(i))


def _named_queue(array: DeviceArray) -> StreamLike:
    """The queue of cdevice.set_default_stream where it is of the array's context, else None."""
    import pyopencl

    queue = default_stream(_OPENCL)
    if not isinstance(queue, pyopencl.CommandQueue):
        return None
    context = pyopencl.Buffer.from_int_ptr(array._buffer(1)[0], retain=True).context
    return queue if _backend().context_of(queue) == context else None


def _require_opencl(array: DeviceArray) -> None:
    if array.device_type_id != _OPENCL:
        raise TypeError(f'the data is on {array.device}: copy it to OpenCL with .to("opencl")')
