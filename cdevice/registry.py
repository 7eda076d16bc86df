"""Which backend serves which device type: registration, discovery, messages."""

import collections
import os

from ._ext import as_address, check, ffi, lib
from .device_types import DeviceType

# the built-in backends by the device types they serve; loaded on first use through the same door as everybody's
_BUILTIN = {
    1: ("cpu", "cdevice.backends.cpu:Backend"),
    2: ("cuda", "cdevice.backends.cuda:Backend"),
    3: ("cuda_host", "cdevice.backends.cuda:Backend"),
    4: ("opencl", "cdevice.backends.opencl:Backend"),
    10: ("rocm", "cdevice.backends.rocm:Backend"),
    11: ("rocm_host", "cdevice.backends.rocm:Backend"),
    13: ("cuda_managed", "cdevice.backends.cuda:Backend"),
}

_objects = {}  # device type -> the Python object behind a registered backend, if there is one


class BackendInfo(
    collections.namedtuple(
        "BackendInfo",
        "type_id name origin loaded version family capabilities live hint error",
        defaults=("", "", 0, 0, "", None),
    )
):
    """One entry of :func:`list_backends`.

    ``origin``: "built-in", "registered" or the distribution that brought it; ``loaded``: is its table registered;
    ``error``: why it could not be loaded, or None; ``live``: arrays that need it now.
    """

    __slots__ = ()


def _builtin_class(type_id):
    from importlib import import_module

    module, _, name = _BUILTIN[type_id][1].partition(":")
    return getattr(import_module(module), name)


def _load(type_id):
    """Registers the backend of a type that has not been asked for yet, if there is one."""
    from .plugins import chosen, switched_off

    if type_id in _BUILTIN and type_id not in _objects:
        if switched_off(_BUILTIN[type_id][0]):
            from .errors import BackendUnavailable

            raise BackendUnavailable(f"{_BUILTIN[type_id][0]} is switched off by CDEVICE_BACKENDS")
        if chosen(type_id) is None:
            backend = _builtin_class(type_id)()
            if lib.cdv_backend_for(type_id):
                _objects.setdefault(type_id, backend)  # its table was registered without it
            else:
                register_backend(backend)
            return
    if not lib.cdv_backend_for(type_id):
        from .plugins import load_type

        load_type(type_id)


def need_backend(type_id):
    """Makes sure that the backend of a type is registered, if there is one.  The core says so if there is none.

    Raises BackendUnavailable where there is one that could not be loaded.
    """
    if not lib.cdv_backend_for(type_id):
        _load(type_id)


def backend_object(type_id):
    """The Python object of a backend (class with hints, as_stream ...), or None."""
    need_backend(type_id)
    if type_id in _BUILTIN and type_id not in _objects:
        _load(type_id)
    return _objects.get(type_id)


def _registered():
    """{name: device type} of the tables there are."""
    tables = (lib.cdv_backend_at(i) for i in range(lib.cdv_backend_count()))
    return {ffi.string(t.name).decode(): t.device_type for t in tables if t}


def all_types():
    """Device types that some backend serves here or could serve; imports no plug-in whose name tells its type."""
    from .plugins import types

    return sorted({*_BUILTIN, *_registered().values(), *types()})


def type_of_name(word):
    """The device type of a backend's name.  Raises ValueError for a word nobody knows."""
    found = _registered().get(word)
    if found is None:
        from .plugins import type_of_word

        found = type_of_word(word)
    if found is not None:
        return found
    known = sorted({t.name.lower() for t in DeviceType} | {name for name, _ in _BUILTIN.values()} | {*_registered()})
    raise ValueError(f"no device type is called {word!r}; known: {', '.join(known)}, or a number")


def install_hint(type_id):
    """What to install for a device type, in one sentence; "" where nobody knows."""
    try:
        backend = _objects.get(type_id) or (_builtin_class(type_id) if type_id in _BUILTIN else None)
        return getattr(backend, "install_hint", "") or ""
    except Exception:  # a hint must not hide the error it belongs to
        return ""


def register_backend(backend, *, replace=False):
    """Makes a backend serve its device type.

    ``backend``: a :class:`Backend` (subclass instance), any object with ``__cdevice_backend__()`` giving a table's
    address, or such an address.  ``replace``: take the place of the one registered; arrays made by that one keep it.
    Raises BackendConflict when the type or the name is taken, ArgumentError for a table that cannot be used.
    """
    table = backend
    if not isinstance(backend, (int, ffi.CData)):
        method = getattr(backend, "__cdevice_backend__", None)
        if method is None:
            raise TypeError(f"{type(backend).__name__} is no backend: it has no __cdevice_backend__()")
        table = method()
    if isinstance(table, bytes):  # the name of a built-in table
        check(lib.cdv_load_builtin(table, bool(replace)))
        for type_id in getattr(backend, "device_types", (backend.device_type,)):
            _objects.setdefault(int(type_id), backend)
        return
    pointer = ffi.cast("cdevice_backend *", as_address(table))
    check(lib.cdv_register(pointer, bool(replace)))
    _objects[pointer.device_type] = backend


def load_backend(path, *, replace=False):
    """Loads a native plug-in: a shared library that exports ``cdevice_backend_init`` (see backend.h).

    Registers every table it hands out.  Raises ArgumentError for a library or a table that cannot be used,
    BackendConflict when its types are taken.
    """
    path = os.fsencode(path)
    if b"\0" in path:
        raise ValueError("a path has no null characters")
    check(lib.cdv_load_plugin(path, bool(replace)))


def unregister_backend(type):
    """Takes a backend out.  Raises BackendConflict while arrays need it, ArgumentError where there is none."""
    from ._device import type_number

    type_id = type_number(type)
    check(lib.cdv_unregister(type_id))
    _objects.pop(type_id, None)


def list_backends():
    """{device type: :class:`BackendInfo`} of every backend registered, built in or installed as a plug-in.

    Starts none.  Plug-ins are imported; one that fails is listed with its error.
    """
    from .plugins import broken, origin

    out = {}
    for type_id in all_types():
        error = None
        try:
            need_backend(type_id)
        except Exception as e:
            error = f"{type(e).__name__}: {e}"
        table = lib.cdv_backend_for(type_id)
        builtin = type_id in _BUILTIN
        key = DeviceType(type_id) if type_id in DeviceType._value2member_map_ else type_id
        if not table:
            name = _BUILTIN[type_id][0] if builtin else origin(type_id)[0]
            where = "built-in" if builtin else origin(type_id)[1]
            out[key] = BackendInfo(type_id, name, where, False, hint=install_hint(type_id), error=error)
            continue
        text = [ffi.string(s).decode() if s else "" for s in (table.name, table.version, table.family)]
        out[key] = BackendInfo(
            type_id,
            text[0],
            "built-in" if builtin and _BUILTIN[type_id][0] == text[0] else origin(type_id)[1] or "registered",
            True,
            text[1],
            text[2],
            table.capabilities,
            lib.cdv_backend_live(type_id),
            install_hint(type_id),
        )
    for name, (where, error) in broken().items():
        out.setdefault(name, BackendInfo(0, name, where, False, error=error))
    return out


def stream_and_owner(type_id, stream):
    """(raw handle, object to keep or None) of a stream object, or of a handle, for a device type.

    None: the stream that the vendor's Python library uses in this thread, if it is loaded, else 0, the default.
    """
    backend = backend_object(type_id)
    if stream is None:
        current = getattr(backend, "library_stream", None)
        stream = current() if current else None
        if stream is None:
            return 0, None
    convert = getattr(backend, "as_stream", None)
    handle = convert(stream) if convert else stream if isinstance(stream, int) else None
    if handle is None or isinstance(stream, bool):
        raise TypeError(f"{type(stream).__name__} is no stream of this device")
    if not 0 <= handle < 1 << 64:
        raise ValueError(f"{handle} is no handle of a stream")
    return handle, None if isinstance(stream, int) else stream


def stream_handle(type_id, stream):
    """The raw handle alone, for what is over when the call is."""
    return stream_and_owner(type_id, stream)[0]
