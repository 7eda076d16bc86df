"""Streams that another process reads: batches through a ring of shared memory."""

from __future__ import annotations

import threading
import weakref

from .._runtime.ext import _native, check, ffi, lib
from ..errors import ArgumentError, Error, Released
from .shared import STREAM, opened, published, ticket_address, token_of_tickets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray, DeviceArrayStream, Validate


class _Writer:
    """What the thread and the SharedStream have in common: the ring, which the thread closes."""

    def __init__(self, ring: int, numbers: list[int]) -> None:
        self.ring, self.numbers = ring, numbers
        self.done, self.error, self.lock = threading.Event(), None, threading.Lock()

    error: BaseException | None

    def end(self) -> None:
        """The thread ends, and nobody opens the stream any more."""
        for number in self.numbers:
            lib.cdv_retract(number)
        with self.lock:
            if not self.done.is_set():
                lib.cdv_ring_interrupt(_pointer(self.ring))

    def run(self, source: DeviceArrayStream) -> None:
        """The thread."""
        try:
            _copy(source, self.ring)
        except BaseException as error:
            self.error = error
        finally:
            with self.lock:
                self.done.set()
            source.close()
            lib.cdv_ring_close(_pointer(self.ring))


class SharedStream:
    """A stream of this process that one other process of this machine and user reads, batch by batch.

    Comes from :meth:`DeviceArrayStream.share`.  ``token``: bytes that :func:`open_shared` takes, once.  A thread runs the source and
    writes its batches, as far ahead of the reader as was said.  Any thread.
    """

    __slots__ = ("__weakref__", "_close", "_writer", "token")

    token: bytes

    def __init__(self) -> None:
        raise TypeError("SharedStream cannot be created directly: use the share() method of a stream")

    @classmethod
    def _of(cls, source: DeviceArrayStream, empty: DeviceArray, nbytes: int, batches: int) -> SharedStream:
        for name, n in (("nbytes", nbytes), ("batches", batches)):
            if type(n) is not int or n < 1:
                raise ArgumentError(f"share: {name}={n!r}: expected a positive int")
        self = object.__new__(cls)
        schema = published(empty, 1)
        ring, ticket = ffi.new("struct cdv_ring **"), ffi.new("struct cdv_ticket *")
        try:
            check(lib.cdv_ring_new(nbytes, batches, ring, ticket))
        except BaseException:
            lib.cdv_retract(schema.number)
            raise
        self.token = token_of_tickets(STREAM, ffi.buffer(ticket)[:] + ffi.buffer(schema)[:])
        self._writer = _Writer(int(ffi.cast("uintptr_t", ring[0])), [int(schema.number)])
        self._close = weakref.finalize(self, self._writer.end)
        threading.Thread(target=self._writer.run, args=(source,), name="cdevice shared stream", daemon=True).start()
        return self

    def join(self, timeout: float | None = None) -> bool:
        """Blocks until the last batch was read, or ``timeout`` seconds; is it done?  Raises what the source raised, and
        StreamError where the reader went before."""
        done = self._writer.done.wait(timeout)
        if self._writer.error is not None:
            raise self._writer.error
        return done

    def close(self) -> None:
        """Ends it: the reader gets the batches that were written, then an error.  Does not block."""
        self._close()

    def __enter__(self) -> SharedStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a SharedStream cannot be pickled: send its token")

    def __repr__(self) -> str:
        return f"<cdevice.SharedStream, {'ended' if self._writer.done.is_set() else 'open'}>"


def _pointer(ring: int) -> Any:
    return ffi.cast("struct cdv_ring *", ring)


def _copy(source: DeviceArrayStream, ring: int) -> None:
    put = _native.ring_put
    batches = iter(source)
    while True:
        try:
            batch = next(batches, None)
        except BaseException as error:
            code = error.code if isinstance(error, Error) else 0
            _native.ring_end(ring, code, f"{type(error).__name__}: {error}")
            raise
        if batch is None:
            break
        put(ring, batch)
        del batch
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
