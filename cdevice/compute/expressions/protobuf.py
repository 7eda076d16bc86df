"""Messages of Protocol Buffers, read field by field, as far as Substrait needs it, without the library."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Value = int | bytes

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MOST_DEEP = 200  # messages in messages


class Malformed(ValueError):
    """Bytes that are not a message."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    out = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a number does not end")
        byte = data[at]
        at += 1
        out |= (byte & 127) << shift
        if byte < 128:
            return out & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """(number, value) of each field: an int, or the bytes of a string, a message, a float or packed numbers.

    Raises Malformed."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise Malformed(f"a field of the unknown kind {kind}")
        if size > len(data) - at:
            raise Malformed(f"a field of {size} bytes, of which {len(data) - at} are there")
        yield key >> 3, bytes(data[at : at + size])
        at += size


class Message:
    """The fields of a message, by number: the last value of each, or all."""

    __slots__ = ("deep", "values")

    def __init__(self, data: bytes, deep: int = 0) -> None:
        if deep > MOST_DEEP:
            raise Malformed(f"more than {MOST_DEEP} messages in one another")
        self.deep = deep
        self.values: dict[int, list[Value]] = {}
        for number, value in fields(data):
            self.values.setdefault(number, []).append(value)

    def __contains__(self, number: int) -> bool:
        return number in self.values

    def messages(self, number: int) -> list[Message]:
        """All messages of a field."""
        return [Message(self._bytes(x), self.deep + 1) for x in self.values.get(number, ())]

    def message(self, number: int) -> Message:
        """The last message of a field; an empty one where there is none."""
        found = self.values.get(number)
        return Message(self._bytes(found[-1]) if found else b"", self.deep + 1)

    def integer(self, number: int) -> int:
        """A number; 0 where there is none."""
        found = self.values.get(number)
        if found and isinstance(found[-1], bytes):
            raise Malformed(f"field {number} has no integer")
        return int(found[-1]) if found else 0

    def signed(self, number: int) -> int:
        """A number that may be negative."""
        value = self.integer(number)
        return value - (1 << 64) if value >> 63 else value

    def real(self, number: int, code: str) -> float:
        """A float32, "f", or a float64, "d"."""
        data = self.raw(number) or bytes(struct.calcsize(code))
        if len(data) != struct.calcsize(code):
            raise Malformed(f"field {number} is not a float")
        return float(struct.unpack(f"<{code}", data)[0])

    def raw(self, number: int) -> bytes:
        """Bytes; empty where there are none."""
        found = self.values.get(number)
        return self._bytes(found[-1]) if found else b""

    def text(self, number: int) -> str:
        """A string.  Raises Malformed for text that is not UTF-8."""
        return self._text(self.raw(number))

    def texts(self, number: int) -> list[str]:
        """All strings of a field."""
        return [self._text(self._bytes(x)) for x in self.values.get(number, ())]

    @staticmethod
    def _bytes(x: Value) -> bytes:
        if not isinstance(x, bytes):
            raise Malformed("a number where bytes belong")
        return x

    @staticmethod
    def _text(x: bytes) -> str:
        try:
            return x.decode()
        except UnicodeDecodeError:
            raise Malformed("text that is not UTF-8") from None
