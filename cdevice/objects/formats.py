"""Arrow's formats of the numbers that tensors hold, by their type strings in numpy's interfaces."""

from __future__ import annotations

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


def type_string(interface: Mapping[str, Any]) -> str:
    """The type string of an array interface; hip-python's has a letter for bytes."""
    word: str = interface["typestr"]
    return {"B": "|u1", "b": "|i1"}.get(word, word)
