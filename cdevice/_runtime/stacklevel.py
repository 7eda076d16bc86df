"""Whom a warning is for."""

from __future__ import annotations

import sys


def outside() -> int:
    """``stacklevel`` for a warning to the caller: the first frame that is not of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "cdevice":
        frame = frame.f_back
        level += 1
    return level
