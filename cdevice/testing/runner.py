"""The suite without pytest: ``python -m cdevice check``."""

from __future__ import annotations

import collections
import fnmatch
import linecache
import os
import sys
import time
import traceback
import unittest

from .suite import BackendSuite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


VAIN = 15.0  # seconds of waiting in checks that failed, after which no more are tried


class Result(collections.namedtuple("Result", "area name outcome text seconds where")):
    """How one check ended: ``outcome`` is "passed", "failed" or "not applicable", ``text`` is the reason, ``where`` the
    traceback of a failure."""

    __slots__ = ()


def matching(pattern: str | None, suite: type[BackendSuite] = BackendSuite) -> list[tuple[str, str]]:
    """(area, name) of the checks of a suite whose name or area has a pattern in it: a word, or with * and ?."""
    pattern = "*" if not pattern else pattern.lower()
    wild = pattern if any(c in pattern for c in "*?[") else f"*{pattern}*"
    return [
        (area, name)
        for area, name, _ in suite.checks
        if fnmatch.fnmatch(name.lower(), wild) or fnmatch.fnmatch(area.lower(), wild)
    ]


def run(
    suite: Any,
    report: Callable[..., None] | None = None,
    *,
    pattern: str | None = None,
    stop_at_first: bool = False,
    names: list[str] | None = None,
    begins: Callable[[str], None] | None = None,
) -> list[Result]:
    """Runs the checks of a suite class, or those that a pattern picks, or ``names``.

    ``report``: called with each :class:`Result` as it ends; ``begins``: with the name before it begins.  Ends early
    after the first failure where that is asked for, and where failed checks have waited so long in vain that the
    others would too.  Raises BackendUnavailable where the device is not there.
    """
    out: list[Result] = []
    vain = 0.0
    first = suite()
    first.open()
    first.close()
    for area, name in matching(pattern, suite):
        if names is not None and name not in names:
            continue
        if begins:
            begins(name)
        out.append(_one(suite(), area, name))
        if report:
            report(out[-1])
        if out[-1].outcome == "failed":
            vain += out[-1].seconds
            if stop_at_first or vain > VAIN:
                break
    return out


def _one(one: Any, area: str, name: str) -> Result:
    """The first thing that goes wrong is what went wrong: what fails while cleaning up after it is its consequence."""
    if one.settle_limit == BackendSuite.settle_limit:
        one.settle_limit = 5_000  # a terminal is attached
    began = time.monotonic()
    outcome, text, where = "passed", "", ""

    def failed(e: Exception) -> None:
        nonlocal outcome, text, where
        if outcome != "failed":
            outcome, text, where = "failed", _text_of(e), "".join(traceback.format_exception(e))
        while e is not None:  # what its frames hold goes back
            traceback.clear_frames(e.__traceback__)
            e = e.__cause__ or e.__context__  # type: ignore[assignment]

    lost: list[str] = []  # what free() and the like raised, where no caller can be notified
    before = sys.unraisablehook

    def not_raised(x: Any) -> None:
        if x.exc_value is not None:
            lost.append(_text_of(x.exc_value))
        before(x)

    sys.unraisablehook = not_raised
    try:
        one.open()
    except Exception as e:
        failed(e)
    else:
        try:
            getattr(one, f"test_{name}")()
        except unittest.SkipTest as e:
            outcome, text = "not applicable", str(e)
        except Exception as e:
            one._failed = True
            failed(e)
        try:
            one.close()
        except Exception as e:
            failed(e)
    finally:
        sys.unraisablehook = before
    if lost and outcome != "failed":
        outcome, text = "failed", f"an exception of the backend's could not be raised: {lost[0]}"
    return Result(area, name, outcome, text, time.monotonic() - began, where)


def _text_of(e: BaseException) -> str:
    """The error in a line; an assertion without words is shown as it stands in its file."""
    words = str(e)
    if not words and isinstance(e, AssertionError) and e.__traceback__ is not None:
        frame = traceback.extract_tb(e.__traceback__)[-1]
        line = linecache.getline(frame.filename, frame.lineno or 0).strip()
        words = f"{line} ({os.path.basename(frame.filename)}:{frame.lineno})"
    return f"{type(e).__name__}: {words}"


def suite_for(device: str | None, base: type[BackendSuite] = BackendSuite) -> type[BackendSuite]:
    """A suite class for a device's name, with nothing but what every device offers."""
    return type("Suite", (base,), {"device": device})
