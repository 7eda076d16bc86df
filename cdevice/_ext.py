"""Loads the extension module and completes it with the functions that take Python objects."""

import sys

from . import _native
from ._native import ffi, lib

if lib.cdv_install(id(_native), sys.hexversion) != 0:
    raise ImportError("cdevice: the extension module could not be completed")


def check(code):
    """Raises what a ``lib`` call of this thread reported."""
    if code:
        _native.raise_last()


def as_address(pointer):
    """The address that an int or a cffi pointer is."""
    return pointer if isinstance(pointer, int) else int(ffi.cast("uintptr_t", pointer))


__all__ = ["_native", "as_address", "check", "ffi", "lib"]
