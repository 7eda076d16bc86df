"""How tests wait for threads of the package, which end by themselves: asked again and again, never slept for."""

import gc
import threading

import cdevice
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


def unregister(*backends):
    """Takes them out once none of their memory is in use any more."""
    for b in backends:
        until(lambda b=b: not lib.cdv_backend_live(b.device_type))
        cdevice.unregister_backend(b.device_type)


def settle():
    """Until nothing is kept for a device any more."""
    until(lambda: not lib.cdv_kept())
