"""Installed plug-ins: found by their entry points, imported only when their device is asked for.

A distribution names its backends in the group ``cdevice.backends``: ``acme.12 = "acme_cdevice:Backend"`` (name, dot,
ArrowDeviceType), or just the name where it is one of the specification's (``vulkan``).  The value is a class of
backends, a backend, a function that returns one, or the path of a native plug-in's shared library.

``CDEVICE_BACKENDS`` is a list of words, with commas between: ``none`` switches every plug-in off, ``-acme`` one backend
(also a built-in one), ``vulkan=acme`` chooses between two that serve one type.
"""

from __future__ import annotations

import collections
import os

from .._runtime import single_flight as _turns
from .._runtime.ext import lib
from ..device_types import DeviceType
from ..errors import BackendUnavailable, DeviceWarning
from .tables import BUILTIN, load_backend, register_backend, registered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from typing import Any


GROUP = "cdevice.backends"

Plugin = collections.namedtuple("Plugin", "name type_id where entry")

_FORM = 'as in "acme.12", or the name of one of the specification, as "vulkan"'

# by device type; key None: those whose name does not tell
_found: dict[int | None, list[Plugin]] | None = None
_errors: dict[str, tuple[str, str]] = {}  # entry point's name -> (distribution, text)
_loaded: dict[int, tuple[str, str]] = {}  # device type -> (name, distribution)
_opened: set[tuple[str, str, str]] = set()  # those whose name does not tell their type


_read: str | None = None  # the value of CDEVICE_BACKENDS whose words were looked at


def _words() -> list[str]:
    global _read
    value = os.environ.get("CDEVICE_BACKENDS", "")
    words = [w.strip() for w in value.split(",") if w.strip()]
    if value != _read:
        _read = value
        for word in words:
            kind, equals, name = word.partition("=")
            choice = equals and name.strip() and type_named(kind.strip()) is not None
            if not (word == "none" or (word[0] == "-" and word[1:]) or choice):
                _warn_of_word(word)
    return words


def _warn_of_word(word: str) -> None:
    import warnings

    warnings.warn(
        f'CDEVICE_BACKENDS: "{word}" is not understood: expected none, -NAME and TYPE=NAME (12=acme, vulkan=acme)',
        DeviceWarning,
        stacklevel=4,
    )


def all_off() -> bool:
    """Is CDEVICE_BACKENDS none?"""
    return "none" in _words()


def switched_off(name: str) -> bool:
    """Does CDEVICE_BACKENDS contain -name?"""
    return f"-{name}" in _words()


def chosen(type_id: int) -> str | None:
    """The name that CDEVICE_BACKENDS chooses for a type, or None."""
    for word in _words():
        key, equals, name = word.partition("=")
        if equals and type_named(key.strip()) == type_id:
            return name.strip()
    return None


def type_named(word: str) -> int | None:
    """The device type of a number or a name of the specification's, or None."""
    if word.isascii() and word.isdecimal():
        number = int(word[:12])
        return number if 0 < number < 1 << 31 else None
    return int(DeviceType[word.upper()]) if word.upper() in DeviceType.__members__ else None


def entries(group: str) -> list[EntryPoint]:
    """The entry points of a group; a distribution whose metadata cannot be read is listed as broken."""
    from importlib import metadata

    try:
        return list(metadata.entry_points(group=group))
    except Exception:  # some line of some distribution: which?
        pass
    out = []
    for dist in metadata.distributions():
        try:
            out += [e for e in dist.entry_points if e.group == group]
        except Exception as e:
            name = _text_of(dist)
            _errors[name] = (name, f"its entry points cannot be read: {type(e).__name__}: {e}")
    return out


def _text_of(dist: Any) -> str:
    """A distribution's name and version, as far as its metadata tells."""
    try:
        return f"{dist.name} {dist.version}"
    except Exception:
        return "a distribution without a name"


def where(entry: EntryPoint) -> str:
    """The distribution of an entry point."""
    return _text_of(entry.dist) if entry.dist else "an entry point"


def scan() -> dict[int | None, list[Plugin]]:
    """{device type: plug-ins in order}, from the metadata of installed distributions; read once."""
    global _found
    found = _found
    if found is None:  # published whole: another thread may ask meanwhile
        ours = {value for _, value in BUILTIN.values()}
        found = {}
        words = _words()
        for entry in entries(GROUP):
            name, dot, number = entry.name.partition(".")
            if entry.value in ours or "none" in words or switched_off(name):
                continue
            type_id = type_named(number) if dot else type_named(name)
            whose = where(entry)
            if type_id is None and dot:
                _errors[entry.name] = (
                    whose,
                    f"{entry.name!r} of {whose}: behind the dot belongs an ArrowDeviceType, {_FORM}",
                )
                continue
            found.setdefault(type_id, []).append(Plugin(name, type_id, whose, entry))
        for rivals in found.values():
            rivals.sort(key=lambda p: (p.where, p.name))
        _found = found
    return found


def refresh() -> None:
    """Clears the cache, for distributions installed since."""
    global _found
    _found = None
    _errors.clear()
    _opened.clear()


def _open(plugin: Plugin) -> None:
    """Imports a plug-in and registers what it brings; raises BackendUnavailable that names it.

    Another thread that does it is waited for, see :mod:`cdevice._runtime.single_flight`."""
    key = GROUP, plugin.where, plugin.name
    turn = object()
    try:
        if not _turns.take(key, turn):
            if plugin.name in _errors:
                raise BackendUnavailable(_errors[plugin.name][1])
            return
        if plugin.type_id is None:
            if key not in _opened:
                _opened.add(key)
                _register(plugin)
        elif not lib.cdv_backend_table(plugin.type_id):
            _register(plugin)
    finally:
        _turns.done(key, turn)


def _register(plugin: Plugin) -> None:
    try:
        made = plugin.entry.load()
        if callable(made) and not hasattr(made, "__fspath__"):
            made = made()
        if isinstance(made, int):
            raise TypeError(f"{made!r} is not a backend")
        if isinstance(made, (str, os.PathLike)):
            load_backend(made)
        else:
            number = getattr(made, "device_type", plugin.type_id)
            if not isinstance(number, int):
                raise TypeError(f"its device type must be a number, not {number!r}")
            if plugin.type_id is not None and number != plugin.type_id:
                raise TypeError(f"it serves device type {number}, but its entry point names {plugin.type_id}")
            register_backend(made)
            _loaded[number] = (plugin.name, plugin.where)
        if plugin.type_id is not None:
            _loaded[plugin.type_id] = (plugin.name, plugin.where)
    except (Exception, SystemExit) as e:
        text = f'the plug-in "{plugin.name}" of {plugin.where} cannot be used: {type(e).__name__}: {e}'
        if plugin.type_id is None:
            text += f"; its entry point does not tell its device type: {_FORM}"
        _errors[plugin.name] = (plugin.where, text)
        raise BackendUnavailable(text) from e


def _pick(type_id: int, rivals: list[Plugin]) -> Plugin:
    name = chosen(type_id)
    if name is not None:
        for p in rivals:
            if p.name == name:
                return p
        raise BackendUnavailable(
            f"CDEVICE_BACKENDS chooses {name!r} for device type {type_id}: no such plug-in is installed"
        )
    if len(rivals) > 1:
        import warnings

        a, b = rivals[:2]
        warnings.warn(
            f'device type {type_id} is served by "{a.name}" of {a.where} and by "{b.name}" of {b.where}: the first is'
            f" taken; CDEVICE_BACKENDS={type_id}={b.name} takes the other",
            DeviceWarning,
            stacklevel=2,
        )
    return rivals[0]


def load_type(type_id: int) -> None:
    """Registers the plug-in of a device type, if there is one.  Raises BackendUnavailable where it is broken."""
    found = scan()
    if found.get(type_id):
        _open(_pick(type_id, found[type_id]))
        return
    for plugin in found.get(None, ()):  # those that do not tell: once, and last
        try:
            _open(plugin)
        except BackendUnavailable:
            pass  # it is listed with its error
    found.pop(None, None)
    if chosen(type_id) is not None and not lib.cdv_backend_table(type_id):
        raise BackendUnavailable(f"CDEVICE_BACKENDS chooses {chosen(type_id)!r} for device type {type_id}: not found")


def types() -> list[int]:
    """Device types of plug-ins; those that do not tell theirs are imported."""
    load_type(0)
    return [t for t in list(scan()) if t is not None]


def type_of_word(word: str) -> int | None:
    """The device type of a plug-in's name, or None."""
    for type_id, rivals in list(scan().items()):
        if type_id is not None and any(p.name == word for p in rivals):
            return type_id
    if scan().get(None):
        load_type(0)
        return registered().get(word)
    return None


def origin(type_id: int) -> tuple[str, str]:
    """(name, distribution) of the plug-in of a type; ("", "") where it came otherwise."""
    if type_id in _loaded:
        return _loaded[type_id]
    rivals = scan().get(type_id)
    return (rivals[0].name, rivals[0].where) if rivals else ("", "")


def broken() -> dict[str, tuple[str, str]]:
    """{name: (distribution, error)} of plug-ins that failed without telling their device type."""
    known = {p.name for type_id, rivals in list(scan().items()) if type_id is not None for p in rivals}
    return {name: e for name, e in list(_errors.items()) if name not in known}
