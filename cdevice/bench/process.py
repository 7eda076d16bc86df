"""Processes of their own."""

import os
import subprocess
import sys
import tempfile
import time


def child(code, *flags):
    """Run code in an empty interpreter; (wall seconds, stdout)."""
    # Not the current directory: a source tree there would shadow the installed package.
    t0 = time.perf_counter()
    r = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, cwd=tempfile.gettempdir())
    t = time.perf_counter() - t0
    if r.returncode:
        raise RuntimeError((r.stderr.strip().splitlines() or ["no message"])[-1])
    return t, r.stdout


def where():
    import cdevice

    return os.path.dirname(os.path.dirname(os.path.abspath(cdevice.__file__)))
