"""Installed kernels: found by their entry points, loaded only when they are needed.

A distribution names a function in the group ``cdevice.compute``: ``acme = "acme_kernels:register"``.  It is called
once, with the registry that :func:`cdevice.compute.function_registry` gives, when a function is unknown or no kernel
fits.  With a device type behind a dot, ``acme.12`` or ``acme.cuda``, it is called before something is first computed
there.

``CDEVICE_BACKENDS=none`` and ``-acme`` switch such entry points off, as they do plug-ins.
"""

from __future__ import annotations

import os
import threading

from .._devices import plugins
from ..errors import DeviceWarning
from .said import outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .registry import FunctionRegistry

GROUP = "cdevice.compute"

_left: list[tuple[int | None, EntryPoint]] | None = None  # None: nobody has looked yet
_under_way: list[tuple[int | None, EntryPoint]] = []  # what is registered may ask for others, not for itself
_into: FunctionRegistry | None = None
_lock = threading.RLock()  # who needs a kernel waits until it is there


def _new_lock() -> None:
    global _lock
    _lock = threading.RLock()
    _under_way.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def serve(registry: FunctionRegistry) -> None:
    """Entry points are loaded into this registry."""
    global _into
    _into = registry


def _scan() -> list[tuple[int | None, EntryPoint]]:
    if plugins.all_off():
        return []
    out = []
    for entry in plugins.entries(GROUP):
        name, dot, word = entry.name.partition(".")
        if plugins.switched_off(name):
            continue
        type_id = plugins.type_named(word if dot else name)
        if dot and type_id is None:
            _warn(entry, f"behind the dot belongs a device type, not {word!r}")
        else:
            out.append((type_id, entry))
    return sorted(out, key=lambda x: (plugins.where(x[1]), x[1].name))


def _warn(entry: EntryPoint, why: str) -> None:
    import warnings

    text = f'the kernels "{entry.name}" of {plugins.where(entry)} cannot be used: {why}'
    warnings.warn(text, DeviceWarning, stacklevel=outside())


def load(device: int | None) -> None:
    """Loads what was installed for a device type, or (None) all that is left.

    Returns when it is there, whoever loads it.  What fails is a DeviceWarning that names it.
    """
    global _left
    if _left == [] or _into is None:
        return
    with _lock:
        if _left is None:
            _left = _scan()
        mine = [x for x in _left if (device is None or x[0] == device) and x not in _under_way]
        _under_way.extend(mine)
        try:
            for _, entry in mine:
                try:
                    entry.load()(_into)
                except (Exception, SystemExit) as e:
                    _warn(entry, f"{type(e).__name__}: {e}")
        finally:
            _left = [x for x in _left or [] if x not in mine]
            _under_way[:] = [x for x in _under_way if x not in mine]


def refresh() -> None:
    """Looks again, for distributions installed since; what was loaded stays."""
    global _left
    _left = None
