"""Environment of child processes."""

import os
import sys


def child_env():
    # what lives at exit is meant to: a sanitizer's leak check of the child would fail it
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ASAN_OPTIONS": sanitizer}
