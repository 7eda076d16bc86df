"""Producers of the asynchronous device stream: a source that is sent on a thread of its own."""

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

from .._devices.backends import ensure_backend
from .._devices.device import device as _as_device
from .._runtime import event_loops as _loops
from .._runtime import threads as _threads
from .._runtime.async_source import Pull
from .._runtime.ext import _native, check, ffi, lib
from .._runtime.release_thread import ensure_release_thread
from .._schema.metadata import encode_metadata
from ..errors import ArgumentError, DeviceWarning, StreamError
from ..interop.asarray import asarray
from ..interop.asstream import asstream
from ..interop.dataframes import stream_method
from ..schema import asschema
from .consumer import CLOSED, SIGNAL_POLL_SECONDS, Consumer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .._types import Cdata, DeviceLike, Metadata, SchemaLike, StreamLike

_FAILED = 4
_ENDINGS = {1: "finished", 2: "cancelled", 3: "refused", 4: "failed", 5: "stopped"}


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
        self._metadata = None if metadata is None else encode_metadata(metadata)
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
            _threads.start(threading.Thread(target=self._run, name="cdevice-produce", daemon=True))
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
            closed = self._watched is not None and bool(lib.cdv_consumer_state(self._watched) & CLOSED)
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
            array, metadata = asarray(item[0], schema=self._schema), encode_metadata(item[1])
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
        closed = self._watched is not None and lib.cdv_consumer_state(self._watched) & CLOSED
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
