"""Which backend serves which device type: registration, discovery, messages."""

from __future__ import annotations

import collections
from operator import index
from time import monotonic, sleep

from .._runtime.ext import _native, check, ffi, lib
from .._runtime.lazy import LazyModule
from ..device_types import DeviceType
from ..errors import BackendConflict, BackendUnavailable, DeviceError, Error
from .tables import BUILTIN, builtin_class, drop_kept, objects, register_backend, registered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray, StreamLike, TypeLike
    from . import plugins as _plugins
else:
    _plugins = LazyModule("cdevice._devices.plugins")


class BackendInfo(
    collections.namedtuple(
        "BackendInfo",
        "type_id name origin loaded version family capabilities live hint error",
        defaults=("", "", 0, 0, "", None),
    )
):
    """One entry of :func:`list_backends`.

    ``type_id``: the ArrowDeviceType.  ``name``, ``version``, ``family``, ``capabilities``: as in :class:`Backend`;
    empty and 0 where it is not loaded.  ``origin``: "built-in", "registered" or the distribution that brought it.
    ``loaded``: is its table registered.  ``live``: arrays that need it now.  ``hint``: what to install.  ``error``: why
    it could not be loaded, or None.
    """

    __slots__ = ()


def _load(type_id: int) -> None:
    """Registers the backend of a type that has not been asked for yet, if there is one."""
    if type_id in BUILTIN and type_id not in objects:
        if _plugins.switched_off(BUILTIN[type_id][0]):
            raise BackendUnavailable(f"{BUILTIN[type_id][0]} is disabled by CDEVICE_BACKENDS")
        if _plugins.chosen(type_id) is None:
            backend = builtin_class(type_id)()
            if not lib.cdv_backend_table(type_id):
                try:
                    register_backend(backend)
                except BackendConflict:
                    if not lib.cdv_backend_table(type_id):
                        raise  # else another thread was first
            objects.setdefault(type_id, backend)  # its table may have been registered without it
            return
    if not lib.cdv_backend_table(type_id):
        _plugins.load_type(type_id)


def ensure_backend(type_id: int) -> None:
    """Makes sure that the backend of a type is registered, if there is one.  The core reports it if there is none.

    Raises BackendUnavailable where there is one that could not be loaded.
    """
    if not lib.cdv_backend_table(type_id):
        _load(type_id)


def backend_object(type_id: int) -> Any:
    """The Python object of a backend (class with hints, as_stream ...), or None."""
    ensure_backend(type_id)
    if type_id in BUILTIN and type_id not in objects:
        _load(type_id)
    return objects.get(type_id)


def all_types() -> list[int]:
    """Device types that some backend serves here or could serve; imports no plug-in whose name tells its type."""
    return sorted({*BUILTIN, *registered().values(), *_plugins.types()})


def type_of_name(word: str) -> int:
    """The device type of a backend's name.  Raises ValueError for an unknown word."""
    found = registered().get(word)
    if found is None:
        found = _plugins.type_of_word(word)
    if found is not None:
        return found
    known = sorted({t.name.lower() for t in DeviceType} | {name for name, _ in BUILTIN.values()} | {*registered()})
    raise ValueError(f"no device type is named {word!r}; known: {', '.join(known)}, or a number")


def type_number(type: TypeLike) -> int:
    """The ArrowDeviceType of a name, a DeviceType or an int.  Raises ValueError for an unknown word and for a
    number that is none, TypeError for anything else."""
    if isinstance(type, str):
        return _type_of_word(type)
    if isinstance(type, bool):
        raise TypeError("expected a name or a number as device type, not bool")
    number = index(type)
    if not 0 < number < 1 << 31:
        raise ValueError(f"a device type must be between 1 and 2**31 - 1, not {number}")
    return number


def _type_of_word(word: str) -> int:
    word = word.lower().replace("-", "_")
    if word.isdecimal():
        return type_number(int(word))
    try:
        return int(DeviceType[word.upper()])
    except KeyError:
        return type_of_name(word)


def install_hint(type_id: int) -> str:
    """What to install for a device type, in one sentence; "" where unknown."""
    try:
        backend = objects.get(type_id) or (builtin_class(type_id) if type_id in BUILTIN else None)
        return getattr(backend, "install_hint", "") or ""
    except Exception:  # a hint must not hide the error it belongs to
        return ""


def unregister_backend(type: TypeLike) -> None:
    """Removes a backend.

    ``type``: a DeviceType, an int or a name.  Blocks for memory that is being freed, a second at most.  Any thread.
    Raises BackendConflict while arrays need it, ArgumentError where there is none.

    An installed plug-in or a built-in backend of the type comes back when its device is next asked for;
    ``CDEVICE_BACKENDS=-name`` switches one off.
    """
    type_id = type_number(type)
    drop_kept()
    end, tries = monotonic() + 1, 3  # the last thing may be in the hands of the thread that gives it back
    while lib.cdv_unregister(type_id):
        tries -= not lib.cdv_retired_count()
        if not tries or monotonic() > end:
            check(lib.cdv_unregister(type_id))
            break
        _native.drain()
        sleep(0.001)
    objects.pop(type_id, None)


def list_backends() -> dict[DeviceType | int | str, BackendInfo]:
    """{device type: :class:`BackendInfo`} of every backend registered, built in or installed as a plug-in.

    Starts none, but blocks while plug-ins are imported.  Any thread.  Never raises for a plug-in that fails: it is
    listed with its error.
    """
    out: dict[DeviceType | int | str, BackendInfo] = {}
    for type_id in all_types():
        error = None
        try:
            ensure_backend(type_id)
        except Exception as e:
            error = f"{type(e).__name__}: {e}"
        table = lib.cdv_backend_table(type_id)
        builtin = type_id in BUILTIN
        key = DeviceType(type_id) if type_id in DeviceType._value2member_map_ else type_id
        if not table:
            name = BUILTIN[type_id][0] if builtin else _plugins.origin(type_id)[0]
            where = "built-in" if builtin else _plugins.origin(type_id)[1]
            out[key] = BackendInfo(type_id, name, where, False, hint=install_hint(type_id), error=error)
            continue
        text = [ffi.string(s).decode() if s else "" for s in (table.name, table.version, table.family)]
        out[key] = BackendInfo(
            type_id,
            text[0],
            "built-in" if builtin and BUILTIN[type_id][0] == text[0] else _plugins.origin(type_id)[1] or "registered",
            True,
            text[1],
            text[2],
            table.capabilities,
            lib.cdv_backend_live(type_id),
            install_hint(type_id),
        )
    for name, (where, error) in _plugins.broken().items():
        out.setdefault(name, BackendInfo(0, name, where, False, error=error))
    return out


_default_streams: dict[int, Any] = {}


def set_default_stream(type: TypeLike, stream: StreamLike) -> None:
    """The stream for everything that is asked of devices of this type without naming one, in all threads.

    ``type``: a DeviceType, an int or a name.  ``stream``: as ``stream=`` of :meth:`DeviceArray.to`; None: again the
    current stream of the vendor's library, else the device's own default.  With OpenCL the queue's context is where new
    arrays live, so that kernels of that context take them.  Does not block for the device.  Raises TypeError for other
    objects.
    """
    type_id = type_number(type)
    if stream is None:
        _default_streams.pop(type_id, None)
        return
    stream_and_owner(type_id, stream)  # or an error
    _default_streams[type_id] = stream


def stream_from_device_arg(device: object, stream: StreamLike) -> Any:
    """``stream``, or the device argument if that is a queue."""
    return device if stream is None and type(device).__name__ == "CommandQueue" else stream  # pyopencl's


def default_stream(type_id: int) -> Any:
    """What :func:`set_default_stream` named, or None."""
    return _default_streams.get(type_id)


def stream_and_owner(type_id: int, stream: StreamLike) -> tuple[int, object]:
    """(raw handle, object to keep or None) of a stream object, or of a handle, for a device type.

    None: what :func:`set_default_stream` named, else the stream that the vendor's Python library uses in this thread,
    if it is loaded, else 0, the default.
    """
    backend = backend_object(type_id)
    if stream is None:
        stream = _default_streams.get(type_id)
    if stream is None:
        current = getattr(backend, "library_stream", None)
        stream = current() if current else None
        if stream is None:
            return 0, None
    convert = getattr(backend, "as_stream", None)
    try:
        handle = convert(stream) if convert else stream if isinstance(stream, int) else None
    except (TypeError, ValueError, Error):
        raise
    except Exception as e:
        raise DeviceError(f"as_stream() of {type(backend).__name__} raised {type(e).__name__}: {e}") from e
    if handle is None or isinstance(stream, bool):
        raise TypeError(f"{type(stream).__name__} is not a stream of this device")
    if type(handle) is not int:
        who, what = type(backend).__name__, type(handle).__name__
        raise TypeError(f"as_stream() of {who} returned {what}: expected the handle of a stream, an int")
    if not 0 <= handle < 1 << 64:
        raise ValueError(f"{handle} is not a stream handle")
    return handle, None if isinstance(stream, int) else stream


def current_stream(type_id: int, device_id: int) -> int:
    """The handle of the stream that work of this thread goes to by default; 0: unknown."""
    table, out = lib.cdv_backend_table(type_id), ffi.new("void **")
    if not table or table.current_stream(table.self, device_id, out, ffi.NULL):
        return 0
    return int(ffi.cast("uintptr_t", out[0]))


def default_stream_for(array: DeviceArray) -> Any:
    """The stream for work with an array on its own device where none is given: memory of a context of the user's
    stays in that.  None: as ever."""
    type_id = array.device_type_id
    near = None if type_id in _default_streams else getattr(backend_object(type_id), "default_stream_for", None)
    handle = _first_buffer(array) if near else 0
    if near is None or not handle:
        return None
    default = current_stream(type_id, array.device_id)
    return near(handle, default, array.device_id) if default else None


def _first_buffer(array: DeviceArray) -> int:
    for i in range(min(array._n_buffers, 2) if array.length else 0):  # those of views end in one on the CPU
        address = array._buffer(i)[0]
        if address:
            return address
    return next((a for a in map(_first_buffer, map(array._raw_child, range(array._n_children))) if a), 0)


def stream_handle(type_id: int, stream: StreamLike) -> int:
    """The raw handle alone, for calls that do not keep the stream."""
    return stream_and_owner(type_id, stream)[0]
