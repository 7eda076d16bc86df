"""Modules that are imported when one of their names is first used.

An import statement in a function costs half a microsecond every time; a name of one of these costs an attribute.

A fork while another thread imports would leave the child a module that is locked forever: forks wait for such imports,
a second at most.
"""

from __future__ import annotations

import os
from _thread import allocate_lock, get_ident
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_gate = allocate_lock()  # held by who forks, and for a moment by who begins to import
_forks: list[bool] = []  # of those under way: is the gate theirs?
_inside: set[int] = set()  # threads that import
_native: list[tuple[Callable[[], None], Callable[[bool], None]]] = []  # what the extension module does


def _load(module: str, name: str) -> Any:
    loaded = __import__(module, fromlist=["_"])
    return getattr(loaded, name) if name else loaded


def load(module: str, name: str = "") -> Any:
    """A name of a module, or the module itself, which is imported."""
    me = get_ident()
    if me in _inside:
        return _load(module, name)
    try:
        with _gate:
            _inside.add(me)
        return _load(module, name)
    finally:
        _inside.discard(me)


def need(module: str, install: str) -> Any:
    """A library that one call needs.  Raises ModuleNotFoundError that names what to install, a pip requirement."""
    try:
        return load(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # it is there, and lacks something
        name = module.partition(".")[0]
        raise ModuleNotFoundError(f"{name} is needed for this call: pip install {install}", name=error.name) from None


def _before_fork() -> None:
    end = monotonic() + 1
    _forks.append(_gate.acquire(timeout=1))  # a handler of signals may fork where its own thread has it
    while _inside - {get_ident()} and monotonic() < end:
        sleep(0.0002)
    for begins, _ in _native:  # last: until the fork is over no thread enters Python for the first time
        begins()


def _after_fork(child: bool) -> None:
    for _, ended in _native:
        ended(child)
    if _forks.pop():
        _gate.release()


def _in_child() -> None:
    _inside.intersection_update({get_ident()})
    _after_fork(True)


def at_fork(begins: Callable[[], None], ended: Callable[[bool], None]) -> None:
    """Has ``begins()`` called before every fork and ``ended(in the child?)`` behind it."""
    _native.append((begins, ended))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=lambda: _after_fork(False), after_in_child=_in_child)


class LazyModule:
    """``Later("cdevice._values.to_python").to_pylist`` is that function."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = load(self._module, name)
        setattr(self, name, value)
        return value
