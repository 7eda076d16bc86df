"""Loads the extension module and completes it with the functions that take Python objects."""

import sys

from . import _native
from ._native import ffi, lib

_native.check_interpreter()
if lib.cdv_install(id(_native), sys.hexversion) != 0:
    raise ImportError("cdevice: the extension module could not be completed")


def check(code):
    """Raises what a ``lib`` call of this thread reported."""
    if code:
        _native.raise_last()


def as_address(pointer):
    """The address that an int or a cffi pointer is; 0 for NULL.  Raises TypeError, ValueError for what can be none."""
    if isinstance(pointer, ffi.CData):
        if ffi.typeof(pointer).kind not in ("pointer", "array", "primitive"):
            raise TypeError(f"an address is an int or a cffi pointer, not {pointer!r}")
        pointer = int(ffi.cast("uintptr_t", pointer))
    if not isinstance(pointer, int) or isinstance(pointer, bool):
        raise TypeError(f"an address is an int or a cffi pointer, not {type(pointer).__name__}")
    pointer = int.__int__(pointer)  # a subclass may answer something else each time
    if not (pointer == 0 or 4096 <= pointer < 1 << 64):
        raise ValueError(f"{pointer} is no address")
    return pointer


__all__ = ["_native", "as_address", "check", "ffi", "lib"]
