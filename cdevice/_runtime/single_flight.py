"""Code of others that one thread runs for all: an import of a plug-in, a registration.

No lock is held meanwhile.  Who needs the result waits, but for two: a thread that imports has locks of Python's that
the other may want, and a thread that has a turn may be waited for itself.  These go on without the result, and so does
everybody after half a minute: the other may be waiting for this thread in a way that cannot be seen.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, get_ident
from threading import Event
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

SIGNAL_POLL_SECONDS = 0.05  # seconds between two looks at Ctrl-C
_LONGEST = 30.0

_lock = allocate_lock()
_owners: dict[Hashable, tuple[int, Event, object]] = {}


def _imports() -> bool:
    """Is this thread inside an import?"""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def take(key: Hashable, turn: object) -> bool:
    """True: the caller does it now.  False: it is done, or under way and not waited for.

    ``turn``: a new object.  The call stands inside ``try``, with ``done(key, turn)`` in ``finally``, for every result:
    a Ctrl-C may come behind it."""
    me = get_ident()
    with _lock:
        there = _owners.get(key)
        if there is None:
            _owners[key] = me, Event(), turn
            return True
        waits = all(x[0] != me for x in _owners.values())
    if waits and not _imports():
        end = monotonic() + _LONGEST
        while not there[1].wait(SIGNAL_POLL_SECONDS) and monotonic() < end:
            pass
    return False


def done(key: Hashable, turn: object) -> None:
    """Ends a turn, if there is one.  What it was for is there by now, or has failed."""
    with _lock:
        there = _owners.get(key)
        if there is None or there[2] is not turn:
            return
        del _owners[key]
    there[1].set()


def _in_child() -> None:
    """The turns of other threads are in the other process."""
    global _lock
    _lock = allocate_lock()
    for key, (owner, *_) in list(_owners.items()):
        if owner != get_ident():
            del _owners[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
