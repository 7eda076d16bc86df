"""Processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def environment() -> dict[str, str]:
    """Of children: they keep what they compile, or an edited checkout is compiled again by every one of them."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def child(code: str, *flags: str) -> Any:
    """Run code in an empty interpreter; (wall seconds, stdout)."""
    # Not the current directory: a source tree there would shadow the installed package.
    t0 = time.perf_counter()
    command = [sys.executable, *flags, "-c", code]
    r = subprocess.run(command, capture_output=True, text=True, cwd=tempfile.gettempdir(), env=environment())
    t = time.perf_counter() - t0
    if r.returncode:
        raise RuntimeError((r.stderr.strip().splitlines() or ["no message"])[-1])
    return t, r.stdout


def lines(code: str) -> Iterator[str]:
    """The lines that code writes in an empty interpreter, as they come.  Raises RuntimeError where it fails."""
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-c", code]
        folder = tempfile.gettempdir()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder, env=environment()
        ) as process:
            assert process.stdout is not None
            try:
                yield from process.stdout
            except BaseException:  # the reader stopped
                process.kill()
                raise
        if process.returncode:
            errors.seek(0)
            raise RuntimeError((errors.read().strip().splitlines() or ["no message"])[-1])


def where() -> Any:
    import cdevice

    return os.path.dirname(os.path.dirname(os.path.abspath(cdevice.__file__)))
