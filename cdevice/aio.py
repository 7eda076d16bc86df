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

import asyncio
import errno
import math
import os
import sys
import threading
from collections.abc import Mapping
from itertools import chain
from time import monotonic
from types import GeneratorType

from ._devices.backends import ensure_backend
from ._devices.device import Device
from ._devices.device import device as _as_device
from ._runtime import event_loops as _loops
from ._runtime.async_source import Pull
from ._runtime.ext import _native, as_address, check, ffi, lib
from ._runtime.release_thread import ensure_release_thread
from .errors import ArgumentError, DeviceWarning, OutOfMemory, Released, StreamError
from .interop.asarray import asarray
from .interop.asstream import asstream
from .interop.dataframes import stream_method
from .schema import _decode_metadata, _encode_metadata, asschema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ._types import (
        Capsule,
        Cdata,
        DeviceArray,
        DeviceArrayStream,
        DeviceLike,
        DeviceType,
        Metadata,
        Schema,
        SchemaLike,
        StreamLike,
        Validate,
    )

_FAILED = 4
_ENDINGS = {1: "finished", 2: "cancelled", 3: "refused", 4: "failed", 5: "stopped"}
SIGNAL_POLL_SECONDS = 0.05  # seconds between two looks at Ctrl-C or at a cancellation
_CLOSED = 4


# ---- consuming ----
class Consumer:
    """Receives the arrays of one producer, which is given :attr:`handler_address`.

    ``async for`` (asyncio, trio, anyio) or plain ``for`` in a thread; one loop, by one task or thread at a time.
    Leaving the loop in any way, ``aclose()``, ``close()``, the end of ``with`` or dropping the object cancels the
    producer and drops what waits; nothing waits for a producer that does not answer.  Comes from :func:`consume`.
    Methods raise Released once :meth:`as_stream` was called.

    ``queue_size``: at most so many tasks wait unextracted.  ``validate``: for each array, see :func:`cdevice.asarray`.

    Arrays are extracted in the loop.  An ``async for`` loop does not block but for the producer's ``extract_data``;
    where that fails, for up to 100 ms until the producer has reported its error.
    """

    def __init__(self, queue_size: int, validate: Validate) -> None:
        self._capsule, address = _native.consumer_new(queue_size, validate)
        self._pointer = ffi.cast("struct cdv_consumer *", address)
        self._wakeup_fds: list[int] = []  # descriptors that no waiter has now
        self._given = False
        self._production: ProducerTask | None = None
        self._owns_producer = False  # both ends belong to iterate(): the source's exceptions are its caller's
        #: dict: the metadata that the producer sent with the array that was taken last.
        self.batch_metadata: dict[bytes, bytes] = {}

    def __repr__(self) -> str:
        if self._capsule is None:
            return "<Consumer: has become a stream>"
        n = self.waiting
        state = "closed" if self.closed else f"{n} array{'' if n == 1 else 's'} waiting"
        return f"<Consumer: {state}{'' if self._given else ', without a producer'}>"

    # ---- what the producer gets ----
    @property
    def handler_address(self) -> int:
        """Address of the ArrowAsyncDeviceStreamHandler (int), for one producer.  It stays valid until that producer
        releases it, also after this object is gone."""
        self._given = True
        return int(ffi.cast("uintptr_t", lib.cdv_consumer_handler(self._handle())))

    def _handle(self) -> Cdata:
        if self._capsule is None:
            raise Released("the consumer was converted to a stream")
        return self._pointer

    # ---- metadata of the producer ----
    @property
    def device_type(self) -> DeviceType | int | None:
        """The :class:`DeviceType` (or int) of the arrays; None before the schema came."""
        number = lib.cdv_consumer_device_type(self._handle())
        return Device(number).type if number else None

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """dict: the metadata of the stream; empty before the schema came."""
        self._handle()
        return _decode_metadata(_native.consumer_metadata(self._capsule)) or {}

    async def schema(self) -> Schema:
        """The :class:`Schema`, as soon as the producer has sent it.

        The task waits; does not block the event loop.  Raises StreamError, or the source's own exception in
        :func:`iterate`.
        """
        self._handle()
        capsule = self._capsule  # also where this becomes a stream meanwhile
        await self._wait(schema=1)
        try:
            return self._schema(capsule)
        except StreamError as e:
            if self._production is not None:
                await self._production._wait_released()
            raise self._told(e)  # noqa: B904 - it has its own cause

    def read_schema(self, timeout: float | None = None) -> Schema:
        """The :class:`Schema`.

        ``timeout``: seconds, None: without limit.  Blocks until the producer has sent it.  Raises StreamError,
        TimeoutError, RuntimeError without a timeout where the source runs in this event loop.
        """
        self._handle()
        capsule = self._capsule
        self._block(timeout)
        try:
            return self._schema(capsule)
        except StreamError as e:
            if self._production is not None:
                self._production._wait_over(timeout)
            raise self._told(e)  # noqa: B904 - it has its own cause

    def _schema(self, capsule: Capsule) -> Schema:
        found = _native.consumer_schema(capsule)
        if found is None:
            check(lib.cdv_consumer_error(self._pointer))
            raise StreamError("the stream ended without a schema")
        return found

    def _block(self, timeout: float | None) -> None:
        self._handle()
        capsule = self._capsule  # noqa: F841 - kept while it is waited on
        if timeout is None:
            self._must_not_block()
        end = None if timeout is None else monotonic() + timeout
        while True:
            left = SIGNAL_POLL_SECONDS if end is None else min(SIGNAL_POLL_SECONDS, end - monotonic())
            if lib.cdv_consumer_wait(self._pointer, 1, max(0, int(left * 1e9))):
                return
            if end is not None and monotonic() >= end:
                raise TimeoutError(f"no schema after {timeout} s")

    @property
    def waiting(self) -> int:
        """Tasks that wait unextracted."""
        return int(lib.cdv_consumer_waiting(self._handle()))

    @property
    def closed(self) -> bool:
        """True after the loop was left or close() was called."""
        return self._capsule is None or bool(lib.cdv_consumer_state(self._pointer) & _CLOSED)

    def _told(self, error: StreamError) -> BaseException:
        """What to raise for the producer's error: with the source's own exception, where that is known here."""
        production = self._production
        own = None if production is None else production._error
        if production is None or own is None:
            return error
        production._exception_retrieved = True
        if self._owns_producer:
            return own
        error.__cause__ = own
        return error

    # ---- arrays ----
    def _taken(self, item: Any) -> DeviceArray:
        array: DeviceArray = item
        if type(item) is tuple:
            array, raw = item
            self.batch_metadata = _decode_metadata(raw) or {}
        elif self.batch_metadata:
            self.batch_metadata = {}
        return array

    def __aiter__(self) -> Any:
        self._handle()
        return _native.async_loop(self, self._capsule)

    async def _next(self, look_up: int) -> DeviceArray:
        """The next array, after another look at the event loop if that is due."""
        try:
            if look_up:
                await _loops.checkpoint()
            while (item := _native.consumer_take(self._capsule, 0)) is None:
                await self._wait()
        except StreamError as e:
            return await self._failed(e)
        if item is ...:
            raise StopAsyncIteration
        return self._taken(item)

    async def _failed(self, error: BaseException) -> DeviceArray:
        """The exception raised in place of an array."""
        if not isinstance(error, StreamError):
            raise error
        if self._production is not None:
            await self._production._wait_released()
        raise self._told(error)

    def __iter__(self) -> Any:
        self._handle()
        self._must_not_block()
        return _Loop(self)

    def _must_not_block(self) -> None:
        home = None if self._production is None else self._production._home
        if home is not None and home is _loops.home():
            raise RuntimeError("the source runs in this event loop, which would wait for itself: use async for")

    def as_stream(self) -> DeviceArrayStream:
        """The arrays as a :class:`DeviceArrayStream`; this object is used up.  Tasks that wait for its schema or its
        release go on waiting.

        Blocks until the producer has sent the schema; the stream blocks where it has to wait.  Raises StreamError,
        RuntimeError where the source runs in this event loop.
        """
        self.read_schema()
        out = _native.consumer_stream(self._capsule)
        self._capsule = None
        return out

    # ---- the end ----
    def close(self) -> None:
        """Cancels the producer and drops what waits.  Idempotent.

        Does not block: nothing waits for the producer.  Any thread.  Never raises.
        """
        if self._capsule is not None:
            lib.cdv_consumer_close(self._pointer)

    async def aclose(self) -> None:
        """As :meth:`close`: does not block, never raises."""
        self.close()

    async def released(self) -> None:
        """Waits until the producer has released the handler: it will never call again.

        The task waits; does not block the event loop.  Raises OSError where there is no file descriptor to wait on.
        """
        if self._given:
            await self._wait(released=1)

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # ---- waiting in an event loop ----
    async def _wait(self, schema: int = 0, released: int = 0) -> None:
        """Each waiter has a descriptor of its own: no other task, thread or event loop can take its wake-up."""
        pointer, capsule = self._handle(), self._capsule  # noqa: F841 - kept while it is waited on
        try:
            bell = self._wakeup_fds.pop()
        except IndexError:
            bell = lib.cdv_consumer_new_waiter(pointer)
            if bell < 0:
                check(lib.cdv_consumer_error(pointer))
                if bell == -errno.ENOMEM:
                    raise OutOfMemory("out of memory for a file descriptor to wait on") from None
                raise OSError(-bell, "no file descriptor is free to wait on") from None
        try:
            while (armed := lib.cdv_consumer_arm(pointer, bell, schema, released)) > 0:
                await _loops.readable(bell)
            if armed < 0:
                check(lib.cdv_consumer_error(pointer))
        finally:
            self._wakeup_fds.append(bell)


class _Loop:
    """What a ``for`` loop holds: when the loop is left, however, this goes and the consumer is closed."""

    __slots__ = ("_consumer",)

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def __del__(self) -> None:
        self._consumer.close()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> DeviceArray:
        c = self._consumer
        try:
            while (item := _native.consumer_take(c._capsule, SIGNAL_POLL_SECONDS)) is None:
                pass  # Ctrl-C is raised here
        except StreamError as e:
            if c._production is not None:
                c._production._wait_over(None)
            raise c._told(e)  # noqa: B904 - it has its own cause
        if item is ...:
            raise StopIteration
        return c._taken(item)


def consume(queue_size: int = 4, *, validate: Validate = "structure") -> Consumer:
    """A :class:`Consumer`.

    ``queue_size``: how many arrays may be requested and not yet taken, 1 to 2**20; more of them cost memory and save
    waiting.  ``validate``: for each array, see :func:`cdevice.asarray`.  Data is extracted where it is taken, on the
    consumer's thread.

    Does not block.  Any thread.  Raises ArgumentError for a ``queue_size`` out of range, ValueError for an unknown
    ``validate``.
    """
    return Consumer(queue_size, validate)


# ---- producing ----
def _is_pair(item: Any) -> bool:
    """Is it (array, metadata)?  Not where it is two values of one array."""
    if type(item) is not tuple or len(item) != 2:
        return False
    array, metadata = item
    if isinstance(metadata, Mapping):
        return not isinstance(array, Mapping)
    return (metadata is None or type(metadata) is bytes) and hasattr(array, "__arrow_c_array__")


class ProducerTask:
    """A source being sent to a handler.  ``await`` it, or :meth:`join` it, from any thread.  Comes from
    :func:`produce`, which describes ``source``, ``handler``, ``schema``, ``device``, ``stream`` and ``metadata``.
    """

    def __init__(
        self,
        source: Any,
        handler: Any,
        schema: SchemaLike | None,
        device: DeviceLike | None,
        stream: StreamLike,
        metadata: Metadata | None,
    ) -> None:
        # Arguments are checked before the handler is taken: after an error no release is expected.
        ensure_release_thread()
        self._metadata = None if metadata is None else _encode_metadata(metadata)
        self._schema = None if schema is None else asschema(schema)
        self._to = device, stream
        if device is not None:  # missing devices are refused here
            type_id = _as_device(device).type_id
            ensure_backend(type_id)
            check(lib.cdv_device_count(type_id, ffi.new("int64_t *")))
        self._exception_retrieved = False  # was the exception retrieved?
        self._pull: Pull | None = None
        self._items: Any = None
        self._home: Any = None
        if isinstance(source, Consumer):
            source._handle()
            self._home = None if source._production is None else source._production._home
        elif hasattr(source, "__aiter__") and stream_method(source) is None:
            source = self._pull = Pull(source, self._interrupted)
            self._home = self._pull.home
        elif stream_method(source) is None and not any(
            hasattr(source, name) for name in ("__arrow_c_array__", "__arrow_c_device_array__", "__iter__")
        ):
            raise TypeError(
                f"{type(source).__name__} is not a source: expected an Arrow stream, an array or an iterable"
            )
        self._source = source
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._callbacks: list[Callable[[], object]] = []
        self._error: BaseException | None = None
        #: None while it runs, then "finished", "cancelled" (by the consumer), "refused" (by the consumer, with
        #: :attr:`code`), "failed" (the source, or a consumer that asked for nonsense) or "stopped" (by :meth:`cancel`).
        self.outcome: str | None = None
        #: errno of a refusal or a failure, else 0.
        self.code = 0
        self._watched: Cdata | None = None  # our consumer, which lives until it is released
        if isinstance(handler, Consumer):
            self._watched = handler._handle()
            self._capsule, address = _native.production_open(handler._capsule)
            handler._given = True
        else:
            self._capsule, address = _native.production_open(handler)
        self._pointer = ffi.cast("struct cdv_producer *", address)
        # start() waits, so Ctrl-C can come out of it whether the thread runs or not: one of the two ends the
        # production, the one that claims it; dropping the capsule does for an unclaimed one.
        try:
            threading.Thread(target=self._run, name="cdevice-produce", daemon=True).start()
        except BaseException as e:
            if lib.cdv_producer_claim(self._pointer):
                self._finish(*_native.production_fail(self._capsule, e, False))
            else:
                self.cancel()
            raise

    # ---- on the producing thread ----
    def _run(self) -> None:
        if not lib.cdv_producer_claim(self._pointer):
            return
        ending: tuple[int, int, BaseException | None] = (_FAILED, 5, None)
        try:
            ending = self._send()
        except BaseException as e:
            ending = _FAILED, 5, e
        finally:
            self._finish(*ending)

    def _send(self) -> Any:
        """(ending, code, exception or None), once the handler was released."""
        try:
            source, self._source = self._source, None
            _native.production_feed(self._capsule, self._stream_of(source), self._metadata)
        except BaseException as e:
            closed = self._watched is not None and bool(lib.cdv_consumer_state(self._watched) & _CLOSED)
            return _native.production_fail(self._capsule, e, closed)
        finally:
            source = None  # its owner may wait for its end
        return _native.production_run(self._capsule)

    def _finish(self, ending: int, code: int, error: BaseException | None) -> None:
        """The one end, for every behaviour of the source."""
        if _ENDINGS[ending] == "refused" and code == errno.ECANCELED:  # a consumer that went away
            ending, code, error = 2, 0, None
        try:
            for part in (self._items, self._pull):  # here, not whenever its last holder goes
                try:
                    if part is not None:
                        part.close()
                except BaseException as e:
                    error = error or e
            self._items = self._pull = None
        finally:
            with self._lock:
                self.outcome, self.code, self._error = _ENDINGS[ending], code, error
                self._done.set()
                callbacks, self._callbacks = self._callbacks, []
            for call in callbacks:
                call()

    def _stream_of(self, source: Any) -> Any:
        ahead = 2
        if isinstance(source, Consumer):
            made = self._stream_of_consumer(source)
        elif stream_method(source) is not None or hasattr(source, "__arrow_c_array__"):
            made = asstream(source, schema=self._schema)
        else:
            made, ahead = self._stream_of_items(source), 0  # else what has come would wait for what has not
        device, stream = self._to
        return made if device is None else made.to(device, stream=stream, prefetch=ahead)

    def _stream_of_consumer(self, consumer: Consumer) -> Any:
        while not lib.cdv_consumer_wait(consumer._handle(), 1, int(SIGNAL_POLL_SECONDS * 1e9)):
            if self._interrupted():
                consumer.close()
                raise StreamError("the stream was cancelled before its schema arrived")
        return asstream(consumer, schema=self._schema)

    def _array_of(self, item: Any) -> Any:
        if _is_pair(item):
            array, metadata = asarray(item[0], schema=self._schema), _encode_metadata(item[1])
            return array if metadata is None else (array, metadata)
        return asarray(item, schema=self._schema)

    def _items_of(self, source: Any) -> Iterator[Any]:
        try:
            for item in source:
                yield self._array_of(item)
        finally:
            if type(source) is GeneratorType:
                source.close()

    def _stream_of_items(self, source: Any) -> Any:
        rest = self._items = self._items_of(source)
        first = next(rest, None)
        want = self._schema
        if first is None:
            if self._interrupted():
                raise StreamError("the stream was cancelled before its first array")
            if want is None:
                raise ArgumentError("the schema is unknown without arrays: pass schema=")
            return _native.stream_of_iterator(want, 1, iter(()))
        head = first[0] if type(first) is tuple else first
        return _native.stream_of_iterator(want or head.schema, head.device_type_id, chain([first], rest))

    def _interrupted(self) -> Any:
        """True when the consumer wants no more.  For waits on the producing thread."""
        closed = self._watched is not None and lib.cdv_consumer_state(self._watched) & _CLOSED
        return bool(closed or lib.cdv_producer_interrupted(self._pointer))

    # ---- on any other ----
    def cancel(self) -> None:
        """Ends it soon: the consumer gets ``on_error`` with ECANCELED.

        Does not block.  Any thread.  Never raises.
        """
        lib.cdv_producer_stop(self._pointer)
        pull = self._pull
        if pull is not None:
            pull.interrupt()

    @property
    def done(self) -> Any:
        """True once the handler was released."""
        return self._done.is_set()

    @property
    def sent(self) -> Any:
        """(arrays handed out, of these not yet extracted)"""
        unextracted = ffi.new("int64_t *")
        return lib.cdv_producer_sent(self._pointer, unextracted), unextracted[0]

    def __repr__(self) -> str:
        n = self.sent[0]
        return f"<ProducerTask: {self.outcome or 'running'}, {n} array{'' if n == 1 else 's'} sent>"

    def _result(self) -> Any:
        self._exception_retrieved = True
        if self._error is not None:
            raise self._error
        return self.outcome

    def __del__(self) -> None:
        error = getattr(self, "_error", None)
        if error is not None and self.outcome == "failed" and not self._exception_retrieved and not sys.is_finalizing():
            import warnings

            text = f"ProducerTask exception was never retrieved: {type(error).__name__}: {error}"
            warnings.warn(text, DeviceWarning, stacklevel=2)  # source=self would bring it back to life

    def _will_end(self) -> None:
        if not self.done and os.getpid() != self._process:
            raise StreamError("the producer was made before a fork: its thread runs in the parent process")

    def _wait_over(self, timeout: float | None) -> bool:
        """In slices: Python does not see a Ctrl-C that comes just before it begins to wait until the wait is over."""
        end = math.inf if timeout is None else monotonic() + timeout
        while os.getpid() == self._process and not self._done.wait(max(0, min(SIGNAL_POLL_SECONDS, end - monotonic()))):
            if monotonic() >= end:
                return False
        return True

    def join(self, timeout: float | None = None) -> Any:
        """Waits until the handler was released, and returns :attr:`outcome`.

        ``timeout``: seconds, None: without limit.  Blocks.  Raises what the source raised, StreamError when the
        consumer refused, TimeoutError, RuntimeError without a timeout where the source runs in this event loop.
        """
        self._will_end()
        if timeout is None and not self.done and self._home is not None and self._home is _loops.home():
            raise RuntimeError(
                "the source runs in this event loop, which would wait for itself: await the ProducerTask"
            )
        if not self._wait_over(timeout):
            raise TimeoutError(f"the producer had not ended after {timeout} s")
        return self._result()

    def __await__(self) -> Any:
        return self._wait().__await__()

    async def _wait(self) -> Any:
        self._will_end()
        await self._wait_released()
        return self._result()

    async def _wait_released(self) -> None:
        """Waits until the handler was released, however it ended; not in a process where its thread is not."""
        if os.getpid() != self._process:
            return
        trio = _loops.trio()
        if trio:
            token, event = trio.lowlevel.current_trio_token(), trio.Event()
            wait = event.wait()

            def wake() -> None:
                token.run_sync_soon(event.set)
        else:
            loop = asyncio.get_running_loop()
            wait = loop.create_future()

            def wake() -> None:
                loop.call_soon_threadsafe(_loops.finish, wait)

        def tell() -> None:
            try:
                wake()
            except RuntimeError:
                pass  # the loop has ended: no waiter is left

        with self._lock:
            done = self._done.is_set()
            if not done:
                self._callbacks.append(tell)
        if done:
            tell()
        try:
            await wait
        finally:
            with self._lock:
                if tell in self._callbacks:
                    self._callbacks.remove(tell)


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
