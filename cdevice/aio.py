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
import os
import sys
import threading
from collections.abc import Coroutine, Mapping
from types import GeneratorType

from ._ext import _native, as_address, check, ffi, lib
from ._reaper import need_reaper
from .errors import StreamError
from .interop.asarray import asarray
from .schema import _decode_metadata, _encode_metadata, asschema

_FAILED = 4
_ENDINGS = {1: "finished", 2: "cancelled", 3: "refused", 4: "failed", 5: "stopped"}
_YIELD_EVERY = 64  # items that are there already, between two looks at the event loop
_SLICE = 0.05  # seconds between two looks at Ctrl-C or at a cancellation
_CLOSED = 4


def _trio():
    """The module trio, when this task runs on it."""
    trio = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_run() else None


async def _checkpoint():
    trio = _trio()
    await (trio.lowlevel.checkpoint() if trio else asyncio.sleep(0))


def _home():
    """What runs this thread's tasks: an event loop of asyncio, trio's token, or None."""
    trio = _trio()
    return trio.lowlevel.current_trio_token() if trio else asyncio._get_running_loop()


def _finish(future):
    if not future.done():
        future.set_result(None)


async def _readable(descriptor):
    trio = _trio()
    if trio:
        return await trio.lowlevel.wait_readable(descriptor)
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()
    loop.add_reader(descriptor, _finish, waiter)
    try:
        await waiter
    finally:
        if not loop.is_closed():
            loop.remove_reader(descriptor)


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
        self._bells = []  # descriptors that no waiter has now
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
        from ._devices.device import Device

        number = lib.cdv_consumer_device_type(self._live())
        return Device(number).type if number else None

    @property
    def metadata(self):
        """dict: what the producer told about the stream as a whole; empty before the schema came."""
        self._live()
        return _decode_metadata(_native.consumer_metadata(self._capsule)) or {}

    async def schema(self):
        """The :class:`Schema`, as soon as the producer has told it.  Raises StreamError."""
        self._live()
        capsule = self._capsule  # also where this becomes a stream meanwhile
        await self._wait(schema=1)
        return self._schema(capsule)

    def read_schema(self, timeout=None):
        """The :class:`Schema`; blocks.  ``timeout``: seconds.  Raises StreamError, TimeoutError."""
        self._live()
        capsule = self._capsule
        self._block(timeout)
        return self._schema(capsule)

    def _schema(self, capsule):
        found = _native.consumer_schema(capsule)
        if found is None:
            check(lib.cdv_consumer_error(self._pointer))
            raise StreamError("the stream ended without a schema")
        return found

    def _block(self, timeout):
        from time import monotonic

        self._live()
        capsule = self._capsule  # noqa: F841 - kept while it is waited on
        if timeout is None:
            self._must_not_block()
        end = None if timeout is None else monotonic() + timeout
        while True:
            left = _SLICE if end is None else min(_SLICE, end - monotonic())
            if lib.cdv_consumer_wait(self._pointer, 1, max(0, int(left * 1e9))):
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
        self._must_not_block()
        return _Loop(self)

    def _must_not_block(self):
        home = None if self._production is None else self._production._home
        if home is not None and home is _home():
            raise RuntimeError("the source runs in this event loop, which would wait for itself: use async for")

    def as_stream(self):
        """The arrays as a :class:`DeviceArrayStream`, which blocks where it has to wait; this object is used up.  Who
        waits for its schema or its release goes on waiting."""
        self._block(None)
        self._live()
        self._schema(self._capsule)
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
        """Each waiter has a descriptor of its own: no other task, thread or event loop can take its wake-up."""
        pointer, capsule = self._live(), self._capsule  # noqa: F841 - kept while it is waited on
        try:
            bell = self._bells.pop()
        except IndexError:
            bell = lib.cdv_consumer_bell(pointer)
            if bell < 0:
                check(lib.cdv_consumer_error(pointer))
                raise OSError("no descriptor is free to wait on") from None
        try:
            while (armed := lib.cdv_consumer_arm(pointer, bell, schema, released)) > 0:
                await _readable(bell)
            if armed < 0:
                check(lib.cdv_consumer_error(pointer))
        finally:
            self._bells.append(bell)


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
def _is_pair(item):
    """Is it (array, metadata)?  Not where it is two values of one array."""
    if type(item) is not tuple or len(item) != 2:
        return False
    array, metadata = item
    if isinstance(metadata, Mapping):
        return not isinstance(array, Mapping)
    return (metadata is None or type(metadata) is bytes) and hasattr(array, "__arrow_c_array__")


class Production:
    """A source being sent to a handler.  ``await`` it, or :meth:`join` it.  Comes from :func:`produce`."""

    def __init__(self, source, handler, schema, device, stream, metadata):
        from .interop.frames import stream_method

        # Whatever is wrong with the arguments is found before the handler is taken: then nobody waits for its release.
        need_reaper()
        self._metadata = None if metadata is None else _encode_metadata(metadata)
        self._schema = None if schema is None else asschema(schema)
        self._to = device, stream
        self._pull = self._items = self._home = None
        if isinstance(source, Consumer):
            source._live()
            self._home = None if source._production is None else source._production._home
        elif hasattr(source, "__aiter__") and stream_method(source) is None:
            source = self._pull = _Pull(source, self._interrupted)
            self._home = self._pull.home
        elif stream_method(source) is None and not any(
            hasattr(source, name) for name in ("__arrow_c_array__", "__arrow_c_device_array__", "__iter__")
        ):
            raise TypeError(f"{type(source).__name__} is no source: no Arrow stream or array, and not iterable")
        self._source = source
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._callbacks = []
        self._error = None
        #: None while it runs, then "finished", "cancelled" (by the consumer), "refused" (by the consumer, with
        #: :attr:`code`), "failed" (the source, or a consumer that asked for nonsense) or "stopped" (by :meth:`cancel`).
        self.ended = None
        #: errno of a refusal or a failure, else 0.
        self.code = 0
        self._watched = None  # our consumer, which lives until it is released
        if isinstance(handler, Consumer):
            handler, self._watched = handler.handler_address, handler._pointer
        self._capsule, address = _native.production_open(handler)
        self._pointer = ffi.cast("struct cdv_production *", address)
        try:
            threading.Thread(target=self._run, name="cdevice-produce", daemon=True).start()
        except BaseException as e:
            self._finish(*_native.production_fail(self._capsule, e, False))
            raise

    # ---- on the producing thread ----
    def _run(self):
        ending = _FAILED, 5, None
        try:
            ending = self._send()
        except BaseException as e:
            ending = _FAILED, 5, e
        finally:
            self._finish(*ending)

    def _send(self):
        """(ending, code, exception or None), once the handler was released."""
        try:
            source, self._source = self._source, None
            _native.production_feed(self._capsule, self._stream_of(source), self._metadata)
        except BaseException as e:
            closed = self._watched is not None and bool(lib.cdv_consumer_state(self._watched) & _CLOSED)
            return _native.production_fail(self._capsule, e, closed)
        finally:
            source = None  # who may be waiting for its end
        return _native.production_run(self._capsule)

    def _finish(self, ending, code, error):
        """The one end, whatever the source does in it."""
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
                self.ended, self.code, self._error = _ENDINGS[ending], code, error
                self._done.set()
                callbacks, self._callbacks = self._callbacks, []
            for call in callbacks:
                call()

    def _stream_of(self, source):
        from .interop.frames import stream_method
        from .stream import asstream

        ahead = 2
        if isinstance(source, Consumer):
            made = self._stream_of_consumer(source)
        elif stream_method(source) is not None or hasattr(source, "__arrow_c_array__"):
            made = asstream(source, schema=self._schema)
        else:
            made, ahead = self._stream_of_items(source), 0  # else what has come would wait for what has not
        device, stream = self._to
        return made if device is None else made.to(device, stream=stream, prefetch=ahead)

    def _stream_of_consumer(self, consumer):
        from .stream import asstream

        while not lib.cdv_consumer_wait(consumer._live(), 1, int(_SLICE * 1e9)):
            if self._interrupted():
                consumer.close()
                raise StreamError("it was cancelled before there was a schema")
        return asstream(consumer, schema=self._schema)

    def _array_of(self, item):
        if _is_pair(item):
            array, metadata = asarray(item[0], schema=self._schema), _encode_metadata(item[1])
            return array if metadata is None else (array, metadata)
        return asarray(item, schema=self._schema)

    def _items_of(self, source):
        try:
            for item in source:
                yield self._array_of(item)
        finally:
            if type(source) is GeneratorType:
                source.close()

    def _stream_of_items(self, source):
        from itertools import chain

        from .errors import ArgumentError

        rest = self._items = self._items_of(source)
        first = next(rest, None)
        want = self._schema
        if first is None:
            if self._interrupted():
                raise StreamError("it was cancelled before there was an array")
            if want is None:
                raise ArgumentError("without arrays the schema is unknown: pass schema=")
            return _native.stream_of_iterator(want, 1, iter(()))
        head = first[0] if type(first) is tuple else first
        return _native.stream_of_iterator(want or head.schema, head.device_type_id, chain([first], rest))

    def _interrupted(self):
        """Does nobody want more?  For what waits on the producing thread."""
        closed = self._watched is not None and lib.cdv_consumer_state(self._watched) & _CLOSED
        return bool(closed or lib.cdv_production_interrupted(self._pointer))

    # ---- on any other ----
    def cancel(self):
        """Ends it soon: the consumer gets ``on_error`` with ECANCELED.  Any thread; does not wait."""
        lib.cdv_production_stop(self._pointer)
        pull = self._pull
        if pull is not None:
            pull.interrupt()

    @property
    def done(self):
        """True once the handler was released."""
        return self._done.is_set()

    @property
    def sent(self):
        """(arrays handed out, of these not yet extracted)"""
        unextracted = ffi.new("int64_t *")
        return lib.cdv_production_sent(self._pointer, unextracted), unextracted[0]

    def _result(self):
        if self._error is not None:
            raise self._error
        return self.ended

    def _will_end(self):
        if not self.done and os.getpid() != self._process:
            raise StreamError("the producer was made before a fork: its thread is in the other process")

    def join(self, timeout=None):
        """Waits until the handler was released, and returns :attr:`ended`; raises what the source raised, StreamError
        when the consumer refused, TimeoutError after ``timeout`` seconds."""
        self._will_end()
        if timeout is None and not self.done and self._home is not None and self._home is _home():
            raise RuntimeError("the source runs in this event loop, which would wait for itself: await the production")
        if not self._done.wait(timeout):
            raise TimeoutError(f"the producer had not ended after {timeout} s")
        return self._result()

    def __await__(self):
        return self._wait().__await__()

    async def _wait(self):
        self._will_end()
        trio = _trio()
        if trio:
            token, event = trio.lowlevel.current_trio_token(), trio.Event()
            wait = event.wait()

            def wake():
                token.run_sync_soon(event.set)
        else:
            loop = asyncio.get_running_loop()
            wait = loop.create_future()

            def wake():
                loop.call_soon_threadsafe(_finish, wait)

        def tell():
            try:
                wake()
            except RuntimeError:
                pass  # the loop has ended: nobody waits

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
        return self._result()


# ---- async sources ----
class _Answer:
    """What a task of an event loop hands to the thread that waits for it: one of an item, the end, a failure."""

    def __init__(self):
        self._ready = threading.Event()
        self._item = self._error = None

    def wait(self, seconds):
        return self._ready.wait(seconds)

    def give(self, item):
        self._item = (item,)
        self._ready.set()

    def end(self):
        self._ready.set()

    def fail(self, error):
        self._error = error
        self._ready.set()

    def get(self):
        if self._error is not None:
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error  # its traceback holds this frame
        if self._item is None:
            raise StopIteration
        return self._item[0]


def _was_cancelled(e):
    """Only what we cancel ends without an error."""
    error = StreamError("the source was cancelled, not by the consumer")
    error.__cause__ = e
    return error


class _Pull:
    """An async iterable of the running event loop, as an iterator for another thread."""

    def __new__(cls, source, interrupted):
        return object.__new__(_TrioPull if _trio() else _AsyncioPull)

    def __init__(self, source, interrupted):
        self.home = _home()
        if self.home is None:
            raise RuntimeError("no running event loop: an async source runs in the one that produce() is called from")
        self._source = source.__aiter__()
        if not hasattr(self._source, "__anext__"):
            raise TypeError(f"{type(source).__name__}.__aiter__() gave no async iterator")
        self._interrupted = interrupted
        self._leaving = False  # the step under way was cancelled by us
        self._step = None  # what cancels it

    def __iter__(self):
        return self

    def __next__(self):
        answer = _Answer()
        self._call(self._begin, answer)
        while not answer.wait(_SLICE):
            if self._interrupted():
                self.interrupt()
                if self._asleep():
                    raise StopIteration  # it is cancelled when its loop runs again
            if self._gone() and not answer.wait(0):
                raise RuntimeError("the event loop of the source was closed")
        return answer.get()

    def interrupt(self):
        """Cancels the step that waits, once: its cleanup may take as long as it takes."""
        if not self._leaving:
            self._leaving = True
            try:
                self._call(self._cancel)
            except RuntimeError:
                pass  # the loop has ended

    def _cancel(self):
        if self._step is not None:
            self._step.cancel()

    def close(self):
        """Closes an async generator where it runs; does not wait."""
        try:
            self._call(self._begin_close)
        except RuntimeError:
            pass  # the loop has ended, and with it the generator

    async def _close(self):
        close = getattr(self._source, "aclose", None)
        if close is not None:
            await close()


class _Begun(Coroutine):
    """A coroutine that is made when its task first runs: one whose loop ends before that leaves nothing that was never
    awaited."""

    def __init__(self, make):
        self._make, self._coroutine = make, None

    def send(self, value):
        if self._coroutine is None:
            self._coroutine = self._make()
        return self._coroutine.send(value)

    def throw(self, *error):
        if self._coroutine is None:
            self._coroutine = self._make()
        return self._coroutine.throw(*error)

    def close(self):
        if self._coroutine is not None:
            self._coroutine.close()

    def __await__(self):
        return self


class _AsyncioPull(_Pull):
    def _call(self, function, *arguments):
        self.home.call_soon_threadsafe(function, *arguments)

    def _asleep(self):
        return not self.home.is_running()

    def _gone(self):
        return self.home.is_closed()

    def _begin(self, answer):
        if self._leaving:
            return answer.end()
        self._step = self.home.create_task(self._next())
        self._step.add_done_callback(lambda task: self._ended(task, answer))

    async def _next(self):
        try:
            return True, await self._source.__anext__()
        except StopAsyncIteration:
            return False, None

    def _ended(self, task, answer):
        """However the task ended, this is called."""
        self._step = None
        if task.cancelled():
            try:
                task.result()
            except asyncio.CancelledError as e:
                return answer.end() if self._leaving else answer.fail(_was_cancelled(e))
        if task.exception() is not None:
            return answer.fail(task.exception())
        there_is, item = task.result()
        answer.give(item) if there_is else answer.end()

    def _begin_close(self):
        step = self._step
        self._closing = self.home.create_task(_Begun(lambda: self._close_behind(step)))
        self._closing._log_destroy_pending = False  # a loop that ends first closes its async generators itself
        self._closing.add_done_callback(self._closed)

    async def _close_behind(self, step):
        if step is not None:
            await asyncio.wait([step])
        await self._close()

    def _closed(self, task):
        if not task.cancelled() and task.exception() is not None:
            self.home.call_exception_handler(
                {"message": "an async source failed while it was closed", "exception": task.exception(), "task": task}
            )


class _TrioPull(_Pull):
    _looks = 0

    def _call(self, function, *arguments):
        self.home.run_sync_soon(function, *arguments)

    def _asleep(self):
        return False

    def _gone(self):
        self._looks += 1
        if self._looks % 20 == 0:
            try:
                self.home.run_sync_soon(bool, idempotent=True)
            except RuntimeError:
                return True
        return False

    def _begin(self, answer):
        try:
            sys.modules["trio"].lowlevel.spawn_system_task(self._next, answer)
        except RuntimeError as e:  # at the end of the run nothing begins any more
            answer.fail(e)

    async def _next(self, answer):
        """A system task: what it raises would end trio.run."""
        trio = sys.modules["trio"]
        with trio.CancelScope() as self._step:
            if self._leaving:
                self._step.cancel()
            try:
                answer.give(await self._source.__anext__())
            except StopAsyncIteration:
                answer.end()
            except trio.Cancelled as e:
                answer.end() if self._leaving else answer.fail(_was_cancelled(e))
                raise
            except BaseException as e:
                answer.fail(e)
        self._step = None

    def _begin_close(self):
        try:
            sys.modules["trio"].lowlevel.spawn_system_task(self._close_quietly)
        except RuntimeError:
            pass  # at the end of the run; trio closes what is left of async generators itself

    async def _close_quietly(self):
        try:
            await self._close()
        except sys.modules["trio"].Cancelled:
            raise
        except BaseException as e:
            import warnings
            from contextlib import suppress

            from .errors import DeviceWarning

            with suppress(Warning):  # where warnings are errors
                warnings.warn(f"an async source failed while it was closed: {e!r}", DeviceWarning, stacklevel=2)


def produce(source, handler, *, schema=None, device=None, stream=None, metadata=None):
    """Sends ``source`` to ``handler``, on a thread of its own: a :class:`Production`.

    ``source``: a :class:`DeviceArrayStream` or whatever :func:`cdevice.asstream` takes, a generator for example, which
    then runs on that thread; or an async iterable, which runs in this task's event loop.  Items may be
    ``(array, mapping)``: the mapping travels as the task's metadata.  One item is fetched ahead of the demand, so that
    the end is told without another request.  ``handler``: address of an ArrowAsyncDeviceStreamHandler (int or cffi
    pointer), or a :class:`Consumer`.  ``schema``: needed for sources that may be empty.  ``device``, ``stream``: see
    :meth:`DeviceArrayStream.to`.  ``metadata``: mapping of str or bytes about the whole stream.

    Raises what is wrong with the arguments; then the handler was not touched.  Whatever goes wrong after this call
    reaches the consumer as on_error, and whoever awaits or joins the result, as it was.
    """
    if isinstance(handler, Consumer):
        handler._live()
        if handler._production is not None:
            raise ValueError("this consumer has a producer already: each takes one")
        out = handler._production = Production(source, handler, schema, device, stream, metadata)
        return out
    address = as_address(handler)
    if not address:
        raise ValueError("the address of the handler is NULL")
    face = ffi.cast("struct ArrowAsyncDeviceStreamHandler *", address)
    if not (face.on_schema and face.on_next_task and face.on_error and face.release):
        raise ValueError("the handler lacks a callback; perhaps it was released before")
    return Production(source, address, schema, device, stream, metadata)


def iterate(source, *, queue_size=4, schema=None, device=None, stream=None):
    """A :class:`Consumer` of ``source``: any stream or iterable, blocking ones too, as an async iterable whose work is
    done on another thread.  Arguments as for :func:`produce` and :func:`consume`."""
    consumer = consume(queue_size=queue_size)
    produce(source, consumer, schema=schema, device=device, stream=stream)
    return consumer


__all__ = ["Consumer", "Production", "consume", "iterate", "produce"]
