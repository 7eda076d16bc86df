"""Consumers of the asynchronous device stream, for event loops and threads."""

from __future__ import annotations

import errno
import os
from time import monotonic

from .._devices.device import Device
from .._runtime import event_loops as _loops
from .._runtime.ext import _native, check, ffi, lib
from .._schema.metadata import decode_metadata
from ..errors import OutOfMemory, Released, StreamError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import (
        Capsule,
        Cdata,
        DeviceArray,
        DeviceArrayStream,
        DeviceType,
        Schema,
        Validate,
    )
    from .producer import ProducerTask

SIGNAL_POLL_SECONDS = 0.05  # seconds between two looks at Ctrl-C or at a cancellation
CLOSED = 4


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
        return decode_metadata(_native.consumer_metadata(self._capsule)) or {}

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
        return self._capsule is None or bool(lib.cdv_consumer_state(self._pointer) & CLOSED)

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
            self.batch_metadata = decode_metadata(raw) or {}
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
        except Exception:
            self.close()  # the loop is left; its iterator may live as long as this exception
            raise
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
                none_left = bell in (-errno.EMFILE, -errno.ENFILE)
                said = "no file descriptor is free" if none_left else f"{os.strerror(-bell)}: no eventfd is there"
                raise OSError(-bell, f"{said} to wait on") from None
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
