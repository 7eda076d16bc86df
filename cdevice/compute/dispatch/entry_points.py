"""Installed kernels: found by their entry points, loaded only when they are needed.

A distribution names a function in the group ``cdevice.compute``: ``acme = "acme_kernels:register"``.  It is called
once, with the registry that :func:`cdevice.compute.function_registry` gives, when a function is unknown or no kernel
fits.  With a device type behind a dot, ``acme.12`` or ``acme.cuda``, it is called before something is first computed
there.

``CDEVICE_BACKENDS=none`` and ``-acme`` switch such entry points off, as they do plug-ins.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

from ..._devices import plugins
from ..._runtime import single_flight as _turns
from ..._runtime.stacklevel import outside
from ...errors import DeviceWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .registry import FunctionRegistry

GROUP = "cdevice.compute"

_lock = allocate_lock()  # of changes of _left; no entry point is loaded under it
_left: list[tuple[int | None, EntryPoint]] | None = None  # None: not looked up yet
_into: FunctionRegistry | None = None


def _new_lock() -> None:
    global _lock
    _lock = allocate_lock()


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

    Returns when it is loaded, on any thread; registered functions may ask for others, not for itself, and modules
    that are being imported do not wait for others (see :mod:`cdevice._runtime.single_flight`).  What fails is a
    DeviceWarning that names it.
    """
    global _left
    left = _left
    if left == [] or _into is None:
        return
    if left is None:
        found = _scan()
        with _lock:
            left = _left = found if _left is None else _left
    for one in left:
        if device is None or one[0] == device:
            _load(one)


def _load(one: tuple[int | None, EntryPoint]) -> None:
    global _left
    entry = one[1]
    key = GROUP, plugins.where(entry), entry.name, entry.value
    turn = object()
    try:
        if not _turns.take(key, turn):
            return
        if one not in (_left or ()):
            return  # another thread has loaded it
        try:
            entry.load()(_into)
        except (Exception, SystemExit) as e:
            if _is_being_imported(entry):  # by this thread: it asks while it is not whole yet
                return
            _warn(entry, f"{type(e).__name__}: {e}")
        with _lock:
            if _left is not None:
                _left = [x for x in _left if x != one]
    finally:
        _turns.done(key, turn)


def _is_being_imported(entry: EntryPoint) -> bool:
    module = sys.modules.get(entry.value.partition(":")[0].strip())
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def refresh() -> None:
    """Looks again, for distributions installed since; what was loaded stays."""
    global _left
    _left = None
