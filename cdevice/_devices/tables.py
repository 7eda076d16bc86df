"""The tables that serve device types here: the built-in ones, and those that were registered."""

from __future__ import annotations

import _thread
import os

from .._runtime.ext import as_address, check, ffi, lib
from .._runtime.lazy import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# the built-in backends by the device types they serve; loaded on first use through the same door as everybody's
BUILTIN = {
    1: ("cpu", "cdevice.backends.cpu:Backend"),
    2: ("cuda", "cdevice.backends.cuda:Backend"),
    3: ("cuda_host", "cdevice.backends.cuda:Backend"),
    4: ("opencl", "cdevice.backends.opencl:Backend"),
    10: ("rocm", "cdevice.backends.rocm:Backend"),
    11: ("rocm_host", "cdevice.backends.rocm:Backend"),
    13: ("cuda_managed", "cdevice.backends.cuda:Backend"),
}

objects: dict[int, Any] = {}  # device type -> the Python object behind a registered backend, if there is one

_registering = _thread.RLock()  # a table and the object behind it change together


def _new_lock() -> None:
    global _registering
    _registering = _thread.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)

# drop what the package keeps on devices to use again, such as the tables of time zones
_dropped: list[Callable[[], None]] = []


def on_drop(drop: Callable[[], None]) -> None:
    """Another one that keeps something on devices."""
    _dropped.append(drop)


def drop_kept() -> None:
    """Drops all of it; it is made again when it is needed."""
    for drop in _dropped:
        drop()


def builtin_class(type_id: int) -> Any:
    """The class behind a built-in device type."""
    module, _, name = BUILTIN[type_id][1].partition(":")
    return load(module, name)


def registered() -> dict[str, int]:
    """{name: device type} of the tables there are."""
    tables = (lib.cdv_backend_table_at(i) for i in range(lib.cdv_backend_count()))
    return {ffi.string(t.name).decode(): t.device_type for t in tables if t}


def register_backend(backend: Any, *, replace: bool = False) -> None:
    """Makes a backend serve its device type.

    ``backend``: an instance of a :class:`Backend` subclass, or that class, which is called; any object with
    ``__cdevice_backend__()`` giving a table's address, or such an address.  ``replace``: take the place of the one
    registered; arrays made by that one keep it.

    Does not block: the backend starts on first use.  Any thread.  Raises BackendConflict when the type or the name is
    taken, ArgumentError for methods that are missing and for a table that cannot be used.
    """
    if isinstance(backend, type):
        try:
            backend = backend()
        except TypeError as e:
            raise TypeError(f"{backend.__name__}() failed ({e}): pass an instance of it") from e
    table = backend
    _check_numbers(backend)
    if not isinstance(backend, (int, ffi.CData)):
        method = getattr(backend, "__cdevice_backend__", None)
        if method is None:
            raise TypeError(f"{type(backend).__name__} is not a backend: it has no __cdevice_backend__()")
        table = method()
    if isinstance(table, bytes):  # the name of a built-in table
        check(lib.cdv_load_builtin(table, bool(replace)))
        if hasattr(backend, "loaded"):
            backend.loaded(lambda folders: _look_in(int(backend.device_type), folders))
        for type_id in getattr(backend, "device_types", (backend.device_type,)):
            objects.setdefault(int(type_id), backend)
        return
    pointer = ffi.cast("cdevice_backend *", as_address(table))
    with _registering:
        check(lib.cdv_register(pointer, bool(replace)))
        objects[pointer.device_type] = backend


def _check_numbers(backend: Any) -> None:
    """The attributes of a Python backend, checked before C narrows them.  Raises ValueError, TypeError."""
    for name, most in (("device_type", (1 << 31) - 1), ("capabilities", (1 << 32) - 1)):
        value = getattr(backend, name, None)
        if isinstance(value, int) and not 0 <= value <= most:
            raise ValueError(f"{type(backend).__name__}: {name} must be from 0 to {most}, not {value}")
    word = getattr(backend, "name", None)
    if isinstance(word, str) and "\0" in word:
        raise ValueError(f"{type(backend).__name__}: name contains a null character")


def _look_in(type_id: int, folders: list[str]) -> None:
    """Tells a built-in table where wheels of its vendor's may be."""
    table = lib.cdv_backend_table(type_id)
    found = table.extension(table.self, b"cdevice.wheels/1")
    if found:
        ffi.cast("void (*)(const char *)", found)(os.fsencode("\n".join(folders)))


def load_backend(path: str | os.PathLike[str], *, replace: bool = False) -> None:
    """Loads a native plug-in and registers every table that it returns.

    ``path``: of a shared library that exports ``cdevice_backend_init`` (see backend.h).  ``replace``: as in
    :func:`register_backend`.  Blocks while the library is loaded.  Any thread.  Raises ArgumentError for a library or a
    table that cannot be used, BackendConflict when its types are taken.
    """
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError("the path contains a null character")
    check(lib.cdv_load_plugin(name, bool(replace)))
