"""Arrays of this process for others of the same machine and user: shared memory, without a copy."""

from __future__ import annotations

import warnings
import weakref
import zlib

from .._runtime.ext import _native, ffi, lib
from .._runtime.stacklevel import outside
from ..errors import ArgumentError, DeviceWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray, Validate

ARRAY, STREAM = b"cdvtok1", b"cdvstr1"
_SIZE = ffi.sizeof("struct cdv_ticket")
_CPU = 1


class Shared:
    """An array that other processes of this machine and user may open, for as long as this object lives.

    Comes from :meth:`DeviceArray.share`.  ``token``: bytes that :func:`open_shared` takes, a secret: a process of the
    same user that knows it can read the array.  ``nbytes``: of the array.  It can be pickled: what arrives is the
    array's ``Shared`` in the other process, which does not keep it shared.  Any thread.
    """

    __slots__ = ("__weakref__", "_close", "_number", "nbytes", "token")

    token: bytes
    nbytes: int
    _number: int | None
    _close: weakref.finalize[..., Shared] | None

    def __init__(self) -> None:
        raise TypeError("Shared cannot be created directly: use the share() method of an array")

    @classmethod
    def _of(cls, token: bytes, nbytes: int, number: int | None) -> Shared:
        self = object.__new__(cls)
        self.token, self.nbytes, self._number = token, nbytes, number
        self._close = None if number is None else weakref.finalize(self, lib.cdv_retract, number)
        return self

    @property
    def times_opened(self) -> int:
        """How often it was opened; -1 when it is not shared any more, or by another process."""
        return -1 if self._number is None else int(lib.cdv_times_opened(self._number))

    def open(self, *, validate: Validate = "full") -> DeviceArray:
        """The array, as :func:`open_shared` gives it.

        ``validate``: as there.  Blocks and raises as there.  Any thread.
        """
        return opened(tickets_of(self.token)[1], validate)

    def close(self) -> None:
        """It cannot be opened any more; arrays that were opened stay.  Does not block.  Never raises."""
        if self._close is not None:
            self._close()

    def __enter__(self) -> Shared:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        return _received, (self.token, self.nbytes)

    def __repr__(self) -> str:
        state = (
            "elsewhere" if self._number is None else f"opened {n} times" if (n := self.times_opened) >= 0 else "closed"
        )
        return f"<cdevice.Shared {self.nbytes} bytes, {state}>"


def _received(token: bytes, nbytes: int) -> Shared:
    """Named in pickles."""
    return Shared._of(token, nbytes, None)


def in_segments(array: DeviceArray) -> DeviceArray:
    """A copy of an array's rows in shared memory, on the CPU."""
    before = lib.cdv_allocate_in_segments(1)
    try:
        return array.to("cpu", copy=True)
    finally:
        lib.cdv_allocate_in_segments(before)


def ticket_address(ticket: bytes) -> tuple[int, object]:
    """(the address of a ticket, what keeps it)"""
    kept = ffi.from_buffer("struct cdv_ticket *", ticket)
    return int(ffi.cast("uintptr_t", kept)), kept


def published(array: DeviceArray, opens: int, *, warns: bool) -> Any:
    """The ticket.  warns: of a copy on another device."""
    ticket = ffi.new("struct cdv_ticket *")
    address = int(ffi.cast("uintptr_t", ticket))
    if array.device_type_id == _CPU:
        if _native.publish(array, opens, address):
            return ticket
    elif lib.cdv_has_handles(array.device_type_id):
        if _native.publish(array, opens, address):
            return ticket
        # memory of a vendor's pool, or of sizes that are not known
        if _native.publish(array.to(array.device, copy=True), opens, address):
            return ticket
    if warns and array.device_type_id != _CPU:
        text = f"share: other processes cannot open this memory of {array.device}: they get a copy on the CPU"
        warnings.warn(text, DeviceWarning, stacklevel=outside())
    if not _native.publish(in_segments(array), opens, address):
        _native.raise_last()
    return ticket


def token_of_tickets(magic: bytes, tickets: bytes) -> bytes:
    body = magic + tickets
    return body + zlib.crc32(body).to_bytes(4, "little")


def publish(array: DeviceArray, opens: int, *, warns: bool) -> tuple[bytes, int]:
    """(token, number)"""
    ticket = published(array, opens, warns=warns)
    return token_of_tickets(ARRAY, ffi.buffer(ticket)[:]), int(ticket.number)


def share(array: DeviceArray, opens: int = 0) -> Shared:
    """See :meth:`DeviceArray.share`."""
    if type(opens) is not int or opens < 0:
        raise ArgumentError(f"share: opens={opens!r}: expected 0, for any number, or how often it may be opened")
    token, number = publish(array, opens, warns=True)
    return Shared._of(token, array.nbytes, number)


def tickets_of(token: Any) -> tuple[bytes, bytes]:
    """(what kind of token, its tickets)"""
    if isinstance(token, Shared):
        token = token.token
    if not isinstance(token, (bytes, bytearray, memoryview)):
        raise TypeError(f"open_shared: expected the token of a Shared, bytes, not {type(token).__name__}")
    token = bytes(token)
    magic, body, mark = token[: len(ARRAY)], token[len(ARRAY) : -4], token[-4:]
    if len(body) != {ARRAY: 1, STREAM: 2}.get(magic, 0) * _SIZE or not body:
        raise ArgumentError(f"open_shared: {len(token)} bytes that are not a token of this version of cdevice")
    if zlib.crc32(magic + body).to_bytes(4, "little") != mark:
        raise ArgumentError("open_shared: the token was changed on its way: its checksum does not fit")
    return magic, body


def opened(ticket: bytes, validate: Validate) -> DeviceArray:
    address, _keep = ticket_address(ticket)
    return _native.open_ticket(address, validate)
