"""The asynchronous device stream: producers and consumers for asyncio, trio and threads.

A consumer owns an ``ArrowAsyncDeviceStreamHandler``; a producer, ours or anybody's, calls it::

    async with cdevice.aio.consume(queue_size=8) as batches:
        cdevice.aio.produce(source, batches)  # or: hand batches.handler_address to another library
        async for batch in batches:
            ...

Nothing here takes the GIL on a producer's thread: tasks are queued in C and a descriptor wakes the event loop, once for
all that wait.
"""

import asyncio
import inspect
import sys
import threading
import weakref
from types import GeneratorType

from ._core import check, ffi, lib
from ._ext import _native, as_address
from .convert import asarray
from .errors import StreamError
from .schema import _decode_metadata, _encode_metadata, asschema

_ENDINGS = {1: "finished", 2: "cancelled", 3: "refused", 4: "failed", 5: "stopped"}
_YIELD_EVERY = 64  # items that are there already, between two looks at the event loop
_SLICE = 0.05  # seconds between two looks at Ctrl-C or at a cancellation
_FROM_SCHEMA, _RELEASED, _FAULT, _ENDED, _CLOSED = 1, 8, 16, 2, 4


def _trio():
    """The module trio, when this task runs on it."""
    trio = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_run() else None


async def _checkpoint():
    trio = _trio()
    await (trio.lowlevel.checkpoint() if trio else asyncio.sleep(0))


# ---- consuming ----
class Consumer:
    """Receives the arrays of one producer, which is given :attr:`handler_address`.

    ``async for`` (asyncio, trio, anyio) or plain ``for`` in a thread; one loop, by one task or thread at a time.
    Leaving the loop in any way, ``aclose()``, ``close()``, the end of ``with`` or dropping the object cancels the
    producer and drops what waits; nothing waits for a producer that does not answer.  At most ``queue_size`` tasks wait
    unextracted.  Comes from :func:`consume`.
    """

    def __init__(self, queue_size, validate):
        self._capsule, address = _native.consumer_new(queue_size, validate)
        self._pointer = ffi.cast("struct cdv_consumer *", address)
        self._waiters = set()
        self._given = False
        self._production = None
        #: dict: what the producer told along with the array that was taken last.
        self.batch_metadata = {}

    # ---- what the producer gets ----
    @property
    def handler_address(self):
        """Address of the ArrowAsyncDeviceStreamHandler (int), for one producer.  It stays valid until that producer
        releases it, whatever happens to this object."""
        self._given = True
        return int(ffi.cast("uintptr_t", lib.cdv_consumer_handler(self._live())))

    def _live(self):
        if self._capsule is None:
            from .errors import Released

            raise Released("the consumer has become a stream")
        return self._pointer

    # ---- what it told ----
    @property
    def device_type(self):
        """The :class:`DeviceType` (or int) of the arrays; None before the schema came."""
        from ._device import Device

        number = lib.cdv_consumer_device_type(self._live())
        return Device(number).type if number else None

    @property
    def metadata(self):
        """dict: what the producer told about the stream as a whole; empty before the schema came."""
        self._live()
        return _decode_metadata(_native.consumer_metadata(self._capsule)) or {}

    async def schema(self):
        """The :class:`Schema`, as soon as the producer has told it.  Raises StreamError."""
        await self._wait(schema=1)
        return self._schema()

    def read_schema(self, timeout=None):
        """The :class:`Schema`; blocks.  ``timeout``: seconds.  Raises StreamError, TimeoutError."""
        self._block(timeout)
        return self._schema()

    def _schema(self):
        self._live()
        found = _native.consumer_schema(self._capsule)
        if found is None:
            check(lib.cdv_consumer_error(self._pointer))
            raise StreamError("the stream ended without a schema")
        return found

    def _block(self, timeout):
        from time import monotonic

        end = None if timeout is None else monotonic() + timeout
        while True:
            left = _SLICE if end is None else min(_SLICE, end - monotonic())
            if lib.cdv_consumer_wait(self._live(), 1, max(0, int(left * 1e9))):
                return
            if end is not None and monotonic() >= end:
                raise TimeoutError(f"no schema after {timeout} s")

    @property
    def waiting(self):
        """Tasks that wait unextracted."""
        return lib.cdv_consumer_waiting(self._live())

    @property
    def closed(self):
        """True after the loop was left or close() was called."""
        return self._capsule is None or bool(lib.cdv_consumer_state(self._pointer) & _CLOSED)

    # ---- arrays ----
    def _taken(self, item):
        if type(item) is tuple:
            item, raw = item
            self.batch_metadata = _decode_metadata(raw)
        elif self.batch_metadata:
            self.batch_metadata = {}
        return item

    def __aiter__(self):
        self._live()
        return _AsyncLoop(self)

    def __iter__(self):
        self._live()
        return _Loop(self)

    def as_stream(self):
        """The arrays as a :class:`DeviceArrayStream`, which blocks where it has to wait; this object is used up."""
        from . import stream  # its class must be known

        del stream
        self._block(None)
        self._schema()
        out = _native.consumer_stream(self._capsule)
        self._capsule = None
        return out

    # ---- the end ----
    def close(self):
        """Cancels the producer and drops what waits.  Idempotent; does not wait for the producer."""
        if self._capsule is not None:
            lib.cdv_consumer_close(self._pointer)

    async def aclose(self):
        """As :meth:`close`."""
        self.close()

    async def released(self):
        """Waits until the producer has released the handler: it will never call again."""
        if self._given:
            await self._wait(released=1)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc):
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    # ---- waiting in an event loop ----
    async def _wait(self, schema=0, released=0):
        pointer = self._live()
        descriptor = lib.cdv_consumer_descriptor(pointer)
        if descriptor < 0:
            raise OSError("no descriptor is free to wait on")
        while lib.cdv_consumer_arm(pointer, schema, released):
            trio = _trio()
            if trio:
                import os

                own = os.dup(descriptor)  # trio allows one waiter for each
                try:
                    await trio.lowlevel.wait_readable(own)
                finally:
                    os.close(own)
            else:
                await self._readable(asyncio.get_running_loop(), descriptor)

    async def _readable(self, loop, descriptor):
        waiter = loop.create_future()
        if not self._waiters:
            loop.add_reader(descriptor, self._wake)
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
            if not self._waiters:
                loop.remove_reader(descriptor)

    def _wake(self):
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


class _Leaving:
    """What a ``for`` loop holds: when the loop is left, however, this goes and the consumer is closed."""

    __slots__ = ("_consumer", "_n")

    def __init__(self, consumer):
        self._consumer = consumer
        self._n = 0

    def __del__(self):
        self._consumer.close()


class _AsyncLoop(_Leaving):
    __slots__ = ()

    def __aiter__(self):
        return self

    async def __anext__(self):
        c = self._consumer
        self._n += 1
        try:
            if self._n % _YIELD_EVERY == 0:
                await _checkpoint()
            while (item := _native.consumer_take(c._capsule, 0)) is None:
                await c._wait()
        except BaseException:
            del self  # a cancellation's traceback must not keep the loop alive
            raise
        if item is ...:
            raise StopAsyncIteration
        return c._taken(item)


class _Loop(_Leaving):
    __slots__ = ()

    def __iter__(self):
        return self

    def __next__(self):
        c = self._consumer
        while (item := _native.consumer_take(c._capsule, _SLICE)) is None:
            pass  # Ctrl-C is raised here
        if item is ...:
            raise StopIteration
        return c._taken(item)


def consume(*, queue_size=4, validate="structure"):
    """A :class:`Consumer`.

    ``queue_size``: how many arrays may be requested and not yet taken, 1 to 2**20; more of them cost memory and save
    waiting.  ``validate``: for each array, see :func:`cdevice.asarray`.  Data is extracted where it is taken, on the
    consumer's thread.
    """
    return Consumer(queue_size, validate)


# ---- producing ----
class Production:
    """A source being sent to a handler.  ``await`` it, or :meth:`join` it.  Comes from :func:`produce`."""

    def __init__(self, source, handler, schema, device, stream, metadata):
        from ._core import need_reaper

        need_reaper()
        self._handler = handler
        self._metadata = None if metadata is None else _encode_metadata(metadata)
        self._raised = None  # by the source
        self._error = None
        self._pull = self._items = None
        self._pointer = self._capsule = None
        self._stopped = False
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._callbacks = []
        #: None while it runs, then "finished", "cancelled" (by the consumer), "refused" (by the consumer, with
        #: :attr:`code`), "failed" (the source, or a consumer that asked for nonsense) or "stopped" (by :meth:`cancel`).
        self.ended = None
        #: errno of a refusal or a failure, else 0.
        self.code = 0
        from .stream import DeviceArrayStream, asstream

        if hasattr(source, "__aiter__") and not isinstance(source, Consumer):
            source = self._pull = _Pull(source, self)

        def make():
            obj = source.as_stream() if isinstance(source, Consumer) else source
            if isinstance(obj, DeviceArrayStream) or hasattr(obj, "__arrow_c_device_stream__"):
                made = asstream(obj, schema=schema)
            elif hasattr(obj, "__arrow_c_stream__") or hasattr(obj, "__arrow_c_array__"):
                made = asstream(obj, schema=schema)
            else:
                made = self._from_iterable(obj, schema)
            return made if device is None else made.to(device, stream=stream)

        self._make = make
        threading.Thread(target=self._run, name="cdevice-produce", daemon=True).start()

    def _from_iterable(self, obj, schema):
        want = None if schema is None else asschema(schema)

        def items():
            try:
                for item in obj:
                    if type(item) is tuple and len(item) == 2:
                        yield asarray(item[0], schema=want), _encode_metadata(item[1])
                    else:
                        yield asarray(item, schema=want)
            except GeneratorExit:
                raise
            except BaseException as e:
                self._raised = e
                raise
            finally:
                if type(obj) is GeneratorType:
                    obj.close()

        from itertools import chain

        from .errors import ArgumentError

        rest = self._items = items()
        first = next(rest, None)
        if first is None:
            if want is None:
                raise ArgumentError("without arrays the schema is unknown: pass schema=")
            return _native.stream_of_iterator(want, 1, iter(()))
        head = first[0] if type(first) is tuple else first
        return _native.stream_of_iterator(want or head.schema, head.device_type_id, chain([first], rest))

    def _run(self):
        try:
            self._send()
        finally:
            if self._items is not None:
                self._items.close()  # here, not whenever its last holder goes
                self._items = None
            if self._pull is not None:
                self._pull.close()
            with self._lock:
                self._done.set()
                callbacks, self._callbacks = self._callbacks, []
            for call in callbacks:
                call()

    def _send(self):
        try:
            made, self._make = self._make(), None
            with self._lock:
                self._capsule, address = _native.production_new(made, self._handler, self._metadata)
                self._pointer = ffi.cast("struct cdv_production *", address)
            if self._stopped:
                lib.cdv_production_stop(self._pointer)
        except BaseException as e:
            self._make, self._error, self.ended = None, e, "failed"
            self.code = getattr(e, "code", 0) or getattr(e, "errno", None) or 5
            text = f"{type(e).__name__}: {e}".encode()
            lib.cdv_produce_failure(ffi.cast("struct ArrowAsyncDeviceStreamHandler *", self._handler), self.code, text)
            return
        lib.cdv_production_run(self._pointer)
        code = ffi.new("int *")
        self.ended = _ENDINGS[lib.cdv_production_ending(self._pointer, code)]
        self.code = code[0]
        if self.ended in ("failed", "refused"):
            try:
                _native.raise_last()
            except Exception as e:
                self._error = self._raised or e
                self._raised = None

    def cancel(self):
        """Ends it soon: the consumer gets ``on_error`` with ECANCELED.  Any thread; does not wait."""
        with self._lock:
            self._stopped = True
            pointer = self._pointer
        if pointer is not None:
            lib.cdv_production_stop(pointer)
        if self._pull is not None:
            self._pull.interrupt()

    def _interrupted(self):
        return self._stopped or (self._pointer is not None and lib.cdv_production_interrupted(self._pointer))

    @property
    def done(self):
        """True once the handler was released."""
        return self._done.is_set()

    @property
    def sent(self):
        """(arrays handed out, of these not yet extracted)"""
        if self._pointer is None:
            return 0, 0
        unextracted = ffi.new("int64_t *")
        return lib.cdv_production_sent(self._pointer, unextracted), unextracted[0]

    def _result(self):
        if self._error is not None:
            raise self._error
        return self.ended

    def join(self, timeout=None):
        """Waits until the handler was released, and returns :attr:`ended`; raises what the source raised, StreamError
        when the consumer refused, TimeoutError after ``timeout`` seconds."""
        if not self._done.wait(timeout):
            raise TimeoutError(f"the producer had not ended after {timeout} s")
        return self._result()

    def __await__(self):
        return self._wait().__await__()

    async def _wait(self):
        trio = _trio()
        if trio:
            await trio.to_thread.run_sync(self._done.wait, abandon_on_cancel=True)
            return self._result()
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()

        def tell():
            def set_result():
                if not waiter.done():
                    waiter.set_result(None)

            try:
                loop.call_soon_threadsafe(set_result)
            except RuntimeError:
                pass  # the loop is closed: nobody waits

        with self._lock:
            if not self._done.is_set():
                self._callbacks.append(tell)
            else:
                waiter.set_result(None)
        await waiter
        return self._result()


class _Pull:
    """An async iterable of the running event loop, as an iterator for another thread."""

    def __init__(self, source, production):
        self._source = source.__aiter__()
        self._production = weakref.ref(production)
        self._future = None
        trio = _trio()
        self._token = trio.lowlevel.current_trio_token() if trio else None
        self._loop = None if trio else asyncio.get_running_loop()

    def __iter__(self):
        return self

    async def _step(self):
        try:
            return await self._source.__anext__()
        except StopAsyncIteration:
            return ...

    def __next__(self):
        if self._token is not None:
            item = sys.modules["trio"].from_thread.run(self._step, trio_token=self._token)
        else:
            item = self._from_asyncio(self._step())
        if item is ...:
            raise StopIteration
        return item

    def _from_asyncio(self, step):
        from concurrent.futures import CancelledError, TimeoutError

        try:
            self._future = asyncio.run_coroutine_threadsafe(step, self._loop)
        except RuntimeError:
            step.close()
            raise
        while True:
            try:
                return self._future.result(_SLICE)
            except TimeoutError:
                if self._future.done():  # it was raised by the source
                    raise
                if self._loop.is_closed():
                    if inspect.getcoroutinestate(step) == inspect.CORO_CREATED:
                        step.close()  # the loop ended before it began
                    raise RuntimeError("the event loop of the source was closed") from None
                production = self._production()
                if production is None or production._interrupted():
                    self._future.cancel()
            except CancelledError:
                return ...

    def interrupt(self):
        future = self._future
        if future is not None:
            future.cancel()

    async def _close(self):
        close = getattr(self._source, "aclose", None)
        if close is not None:
            await close()

    def _begin_close(self):
        """In the loop: a coroutine made elsewhere would be left over by a loop that ends first."""
        self._closing = self._loop.create_task(self._close())
        self._closing.add_done_callback(lambda t: t.cancelled() or t.exception())

    def close(self):
        """Closes an async generator where it runs; does not wait."""
        try:
            if self._token is not None:
                self._token.run_sync_soon(lambda: sys.modules["trio"].lowlevel.spawn_system_task(self._close))
            elif not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._begin_close)
        except Exception:
            pass  # the loop has ended, and with it the generator


def produce(source, handler, *, schema=None, device=None, stream=None, metadata=None):
    """Sends ``source`` to ``handler``, on a thread of its own: a :class:`Production`.

    ``source``: a :class:`DeviceArrayStream` or whatever :func:`cdevice.asstream` takes, a generator for example, which
    then runs on that thread; or an async iterable, which runs in this task's event loop.  Items may be
    ``(array, mapping)``: the mapping travels as the task's metadata.  One item is fetched ahead of the demand, so that
    the end is told without another request.  ``handler``: address of an ArrowAsyncDeviceStreamHandler (int or cffi
    pointer), or a :class:`Consumer`.  ``schema``: needed for sources that may be empty.  ``device``, ``stream``: see
    :meth:`DeviceArrayStream.to`.  ``metadata``: mapping of str or bytes about the whole stream.

    Whatever goes wrong after this call reaches the consumer as on_error, and whoever awaits or joins the result.
    """
    if isinstance(handler, Consumer):
        consumer, address = handler, handler.handler_address
    else:
        consumer, address = None, as_address(handler)
    if not address:
        raise ValueError("the address of the handler is NULL")
    face = ffi.cast("struct ArrowAsyncDeviceStreamHandler *", address)
    if not (face.on_schema and face.on_next_task and face.on_error and face.release):
        raise ValueError("the handler lacks a callback; perhaps it was released before")
    out = Production(source, address, schema, device, stream, metadata)
    if consumer is not None:
        consumer._production = out
    return out


def iterate(source, *, queue_size=4, schema=None, device=None, stream=None):
    """A :class:`Consumer` of ``source``: any stream or iterable, blocking ones too, as an async iterable whose work is
    done on another thread.  Arguments as for :func:`produce` and :func:`consume`."""
    consumer = consume(queue_size=queue_size)
    produce(source, consumer, schema=schema, device=device, stream=stream)
    return consumer


__all__ = ["Consumer", "Production", "consume", "iterate", "produce"]
