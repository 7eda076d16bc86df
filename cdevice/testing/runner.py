"""The suite without pytest: ``python -m cdevice check``."""

from __future__ import annotations

import unittest

from .areas import CHECKS
from .suite import BackendSuite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(suite: Any, report: Any = None) -> list[tuple[str, str, str, str]]:
    """Runs every check of a suite class: [(area, name, outcome, text)], outcome "passed", "failed" or "not applicable".

    ``report``: called with each as it ends.  Raises BackendUnavailable where the device is not there.
    """
    out = []
    first = suite()
    first.open()
    first.close()
    for area, name, _ in CHECKS:
        one = suite()
        outcome, text = "passed", ""
        try:
            one.open()
            try:
                getattr(one, f"test_{name}")()
            except unittest.SkipTest as e:
                outcome, text = "not applicable", str(e)
            finally:
                one.close()
        except Exception as e:
            outcome, text = "failed", f"{type(e).__name__}: {e}"
        out.append((area, name, outcome, text))
        if report:
            report(*out[-1])
    return out


def suite_for(device: str | None) -> type[BackendSuite]:
    """A suite class for a device's name, with nothing but what every device offers."""
    return type("Suite", (BackendSuite,), {"device": device})
