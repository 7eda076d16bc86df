"""Arrow's formats of the numbers that tensors hold, by their type strings in numpy's interfaces."""

from __future__ import annotations

from operator import index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


FORMATS = {
    "i1": "c",
    "u1": "C",
    "i2": "s",
    "u2": "S",
    "i4": "i",
    "u4": "I",
    "i8": "l",
    "u8": "L",
    "f2": "e",
    "f4": "f",
    "f8": "g",
}
DTYPES = {v: k for k, v in FORMATS.items()}


_MOST = 1 << 57  # bytes: no memory ends beyond


def extent_of(interface: Mapping[str, Any]) -> tuple[int, tuple[int, ...], int, int]:
    """(address, shape, bytes of a value, bytes in all) of an array interface, numpy's or CUDA's: untrusted input,
    which are looked at before anything is multiplied.  Raises ValueError for an array with gaps."""
    word = type_string(interface)
    if not isinstance(word, str) or not word[2:].isascii() or not word[2:].isdecimal() or not int(word[2:]):
        raise ValueError(f"{word!r} is not a typestr of an array interface")
    size, shape, strides = int(word[2:]), tuple(map(index, interface["shape"])), interface.get("strides")
    if any(n < 0 for n in shape):
        raise ValueError(f"the shape {shape} is negative")
    nbytes = size
    for n in shape:
        nbytes *= n
    if nbytes > _MOST:
        raise ValueError(f"an array of shape {shape} exceeds the address space")
    if strides is not None:
        strides = tuple(map(index, strides))
        if len(strides) != len(shape):
            raise ValueError(f"{len(strides)} strides for {len(shape)} dimensions")
        expected = size
        for n, stride in zip(reversed(shape), reversed(strides)):
            if nbytes and n > 1 and stride != expected:
                raise ValueError(f"the array is not contiguous: expected no gaps, got strides {strides}")
            expected *= n
    data = interface.get("data")
    address = index(data[0]) if data else 0
    if not 0 <= address <= _MOST or (nbytes and not address):
        raise ValueError(f"{address:#x} is not a valid address of {nbytes} bytes")
    return address, shape, size, nbytes


def type_string(interface: Mapping[str, Any]) -> str:
    """The type string of an array interface; hip-python's has a letter for bytes."""
    word: str = interface["typestr"]
    return {"B": "|u1", "b": "|i1"}.get(word, word)
