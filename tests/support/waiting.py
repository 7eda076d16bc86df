"""How tests wait for threads of the package, which end by themselves: asked again and again, never slept for."""

import gc
import threading
import time

import cdevice
from cdevice._runtime.ext import _native, lib


def until(condition, state=lambda: ""):
    """AssertionError, with what state() gives, when it is not so within half a minute."""
    pause, end, i = threading.Event(), time.monotonic() + 30, 0
    while True:
        i += 1
        if i % 50 == 5:
            gc.collect()
        _native.drain()
        if condition():
            return
        if time.monotonic() > end:
            raise AssertionError(f"it did not come to be {state()}")
        pause.wait(0.001)


def soon(condition, seconds=10):
    """Is it so within that time?  Runs Python code meanwhile, unlike a wait for an event: in an interpreter without a GIL a
    reference that another thread drops counts once the thread that made the object does."""
    pause, end = threading.Event(), time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(0.001)
    return True


def dropped(ref, seconds=10):
    """Does the object of a weak reference go within that time?"""
    return soon(lambda: ref() is None, seconds)


def unregister(*backends):
    """Takes them out once none of their memory is in use any more."""
    for b in backends:
        until(lambda b=b: not lib.cdv_backend_live(b.device_type))
        cdevice.unregister_backend(b.device_type)


def settle():
    """Until nothing is kept for a device any more."""
    until(lambda: not lib.cdv_retired_count())
