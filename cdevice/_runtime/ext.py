"""Loads the extension module and completes it with the functions that take Python objects."""

from __future__ import annotations

import sys

from . import lazy as _later

try:
    from .. import _native
except ImportError as e:
    from ..errors import unbuilt

    raise unbuilt(e) from None
from .._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_native.check_interpreter()
if lib.cdv_install(id(_native), sys.hexversion) != 0:
    raise ImportError("cdevice: the extension module could not be initialised")
_later.at_fork(_native.fork_begins, _native.fork_ended)


def check(code: int) -> None:
    """Raises what a ``lib`` call of this thread reported."""
    if code:
        _native.raise_last()


def as_address(pointer: Any) -> int:
    """The address that an int or a cffi pointer is; 0 for NULL.  Raises TypeError, ValueError for what can be none."""
    if isinstance(pointer, ffi.CData):
        if ffi.typeof(pointer).kind not in ("pointer", "array", "primitive"):
            raise TypeError(f"expected an int or a cffi pointer as address, not {pointer!r}")
        pointer = int(ffi.cast("uintptr_t", pointer))
    if not isinstance(pointer, int) or isinstance(pointer, bool):
        raise TypeError(f"expected an int or a cffi pointer as address, not {type(pointer).__name__}")
    number: int = int.__int__(pointer)  # a subclass may answer something else each time
    if not (number == 0 or 4096 <= number < 1 << 64):
        raise ValueError(f"{number} is not an address")
    return number


__all__ = ["_native", "as_address", "check", "ffi", "lib"]
