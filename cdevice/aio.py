"""The asynchronous device stream: producers and consumers for asyncio, trio and threads.

A consumer owns an ``ArrowAsyncDeviceStreamHandler``; a producer, of cdevice or third-party, calls it::

    async with cdevice.aio.consume(queue_size=8) as batches:
        cdevice.aio.produce(source, batches)  # or: hand batches.handler_address to another library
        async for batch in batches:
            ...

Nothing here takes the GIL on a producer's thread: tasks are queued in C and a descriptor wakes the event loop, once for
all that wait.
"""

from __future__ import annotations

from ._async.consumer import Consumer
from ._async.producer import ProducerTask
from ._runtime.ext import as_address, ffi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._types import DeviceLike, Metadata, SchemaLike, StreamLike, Validate


def consume(queue_size: int = 4, *, validate: Validate = "structure") -> Consumer:
    """A :class:`Consumer`.

    ``queue_size``: how many arrays may be requested and not yet taken, 1 to 2**20; more of them cost memory and save
    waiting.  ``validate``: for each array, see :func:`cdevice.asarray`.  Data is extracted where it is taken, on the
    consumer's thread.

    Does not block.  Any thread.  Raises ArgumentError for a ``queue_size`` out of range, ValueError for an unknown
    ``validate``.
    """
    return Consumer(queue_size, validate)


def produce(
    source: Any,
    handler: Any,
    *,
    schema: SchemaLike | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike = None,
    metadata: Metadata | None = None,
) -> ProducerTask:
    """Sends ``source`` to ``handler``, on a thread of its own: a :class:`ProducerTask`.

    ``source``: a :class:`DeviceArrayStream` or any argument of :func:`cdevice.asstream`, a generator for example, which
    then runs on that thread; or an async iterable, which runs in this task's event loop.  Items may be ``(array,
    mapping)``: the mapping travels as the task's metadata.  One item is fetched ahead of the demand, so that the end is
    sent without another request.  ``handler``: address of an ArrowAsyncDeviceStreamHandler (int or cffi pointer), or a
    :class:`Consumer`.  ``schema``: needed for sources that may be empty.  ``device``, ``stream``: see
    :meth:`DeviceArrayStream.to`.  ``metadata``: mapping of str or bytes about the whole stream.

    Blocks only to start the backend of ``device``.  Any thread.  Raises TypeError, ValueError and BackendUnavailable
    for invalid arguments; then the handler was not touched.  Any failure after this call reaches the consumer as
    on_error, and is raised by awaiting or joining the result, as it was.
    """
    if isinstance(handler, Consumer):
        handler._handle()
        if handler._production is not None:
            raise ValueError("this consumer already has a producer: create another consumer")
        out = handler._production = ProducerTask(source, handler, schema, device, stream, metadata)
        return out
    address = as_address(handler)
    if not address:
        raise ValueError("the address of the handler is NULL")
    face = ffi.cast("struct ArrowAsyncDeviceStreamHandler *", address)
    if not (face.on_schema and face.on_next_task and face.on_error and face.release):
        raise ValueError("the handler lacks a callback: it may have been released")
    return ProducerTask(source, address, schema, device, stream, metadata)


def iterate(
    source: Any,
    *,
    queue_size: int = 4,
    schema: SchemaLike | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike = None,
) -> Consumer:
    """A :class:`Consumer` of a source as an async iterable, whose work is done on another thread.

    ``source``: any stream or iterable, blocking ones too.  ``queue_size``: as for :func:`consume`.  ``schema``,
    ``device``, ``stream``: as for :func:`produce`.

    Blocks only to start the backend of ``device``.  Raises as :func:`consume` and :func:`produce`.  The loop raises
    what the source raises, as it was.
    """
    consumer = consume(queue_size=queue_size)
    consumer._owns_producer = True
    produce(source, consumer, schema=schema, device=device, stream=stream)
    return consumer


__all__ = ["Consumer", "ProducerTask", "consume", "iterate", "produce"]
