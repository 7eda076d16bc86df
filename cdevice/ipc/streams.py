"""Streams that another process reads: batches through a ring of shared memory."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref

from .._runtime import threads as _threads
from .._runtime.ext import _native, check, ffi, lib
from ..errors import ArgumentError, Error, Released
from .shared import STREAM, opened, published, ticket_address, token_of_tickets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray, DeviceArrayStream, Validate


_PAUSE = 0.02  # seconds between two looks at pending signals


class _Writer:
    """What the thread and the SharedStream have in common: the ring, which the thread closes."""

    error: BaseException | None

    def __init__(self, source: DeviceArrayStream, ring: Any, numbers: list[int]) -> None:
        self.source, self.ring, self.numbers = source, ring, numbers
        self.done, self.error, self.lock, self.taken = threading.Event(), None, threading.Lock(), False

    def start(self) -> None:
        """Where Ctrl-C comes out of the start, one of the two closes the ring, whether the thread began or not."""
        try:
            _threads.start(threading.Thread(target=self._run, name="cdevice shared stream", daemon=True))
        except BaseException:
            if self._take():
                self._close()
            raise

    def end(self) -> None:
        """The thread ends, and the stream cannot be opened any more."""
        for number in self.numbers:
            lib.cdv_retract(number)
        with self.lock:
            if not self.done.is_set():
                lib.cdv_ring_interrupt(self.ring)

    def _take(self) -> bool:
        with self.lock:
            first, self.taken = not self.taken, True
        return first

    def _run(self) -> None:
        if not self._take():
            return
        try:
            _copy(self.source, int(ffi.cast("uintptr_t", self.ring)))
        except BaseException as error:
            self.error = error
        finally:
            self._close()

    def _close(self) -> None:
        with self.lock:
            self.done.set()
        self.source.close()
        lib.cdv_ring_close(self.ring)


class SharedStream:
    """A stream of this process that one other process of this machine and user reads, batch by batch.

    Comes from :meth:`DeviceArrayStream.share`.  ``token``: bytes that :func:`open_shared` takes, once.  A thread runs
    the source and writes its batches ahead of the reader.  Any thread.
    """

    __slots__ = ("__weakref__", "_close", "_writer", "token")

    token: bytes
    _writer: _Writer
    _close: weakref.finalize[..., SharedStream]

    def __init__(self) -> None:
        raise TypeError("SharedStream cannot be created directly: use the share() method of a stream")

    @classmethod
    def _of(cls, source: DeviceArrayStream, empty: DeviceArray, nbytes: int, batches: int) -> SharedStream:
        for name, n in (("nbytes", nbytes), ("batches", batches)):
            if type(n) is not int or n < 1:
                raise ArgumentError(f"share: {name}={n!r}: expected a positive int")
        self = object.__new__(cls)
        schema = published(empty, 1, warns=False)
        ring, ticket = ffi.new("struct cdv_ring **"), ffi.new("struct cdv_ticket *")
        try:
            check(lib.cdv_ring_new(nbytes, batches, ring, ticket))
        except BaseException:
            lib.cdv_retract(schema.number)
            raise
        self.token = token_of_tickets(STREAM, ffi.buffer(ticket)[:] + ffi.buffer(schema)[:])
        self._writer = _Writer(source._moved(), ring[0], [int(schema.number)])
        self._close = weakref.finalize(self, self._writer.end)
        self._writer.start()
        return self

    def join(self, timeout: float | None = None) -> bool:
        """Blocks until the last batch was read, or ``timeout`` seconds; is it done?  Raises what the source raised, and
        StreamError where the reader went before."""
        end = None if timeout is None else time.monotonic() + timeout
        while not (done := self._writer.done.wait(_PAUSE)) and (end is None or time.monotonic() < end):
            pass  # Ctrl-C is raised here
        if self._writer.error is not None:
            raise self._writer.error
        return done

    def close(self) -> None:
        """Ends it: the reader gets the batches that were written, then an error.  Does not block.  Never raises."""
        self._close()

    def __enter__(self) -> SharedStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a SharedStream cannot be pickled: send its token")

    def __repr__(self) -> str:
        return f"<cdevice.SharedStream, {'ended' if self._writer.done.is_set() else 'open'}>"


def _copy(source: DeviceArrayStream, ring: int) -> None:
    """Every batch of the source, then its end, or what went wrong, which the reader gets too."""
    try:
        for batch in source:
            _native.ring_put(ring, batch)
            del batch
    except BaseException as error:
        with contextlib.suppress(Error):  # the reader has gone
            _native.ring_end(ring, error.code if isinstance(error, Error) else 0, f"{type(error).__name__}: {error}")
        raise
    _native.ring_end(ring, 0, None)


def opened_stream(tickets: bytes, validate: Validate) -> DeviceArrayStream:
    """The stream of a token."""
    size = ffi.sizeof("struct cdv_ticket")
    address, _keep = ticket_address(tickets[:size])
    try:
        schema = opened(tickets[size:], None).schema
        return _native.ring_open(address, schema, validate)
    except Released as error:
        raise Released(f"{error}; a shared stream is opened once") from None
