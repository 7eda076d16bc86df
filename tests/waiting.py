"""How tests wait for threads of the package, which end by themselves: asked again and again, never slept for."""

import gc
import threading

from cdevice._ext import _native, lib


def until(condition):
    pause = threading.Event()
    for i in range(5000):
        if i % 50 == 20:
            gc.collect()
        _native.drain()
        if condition():
            return
        pause.wait(0.001)
    raise AssertionError("it did not come to be")


def settle():
    """Until nothing is kept for a device any more."""
    until(lambda: not lib.cdv_kept())
