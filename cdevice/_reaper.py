"""The thread that drops Python owners whose arrays were released by threads without the GIL."""

import _thread
import atexit
import os

from ._ext import _native, lib


class _Reaper:
    """One daemon thread, started by the first Python object that becomes the owner of memory."""

    def __init__(self):
        self.thread = None
        self.lock = _thread.allocate_lock()

    def start(self):
        with self.lock:
            if self.thread is None:
                import threading

                self.thread = threading.Thread(target=self._run, name="cdevice-release", daemon=True)
                self.thread.start()

    @staticmethod
    def _run():
        while lib.cdv_defer_wait():
            _native.drain()

    def stop(self):
        if self.thread is not None:
            lib.cdv_defer_stop()
            self.thread.join()
        _native.drain()
        _native.python_ends()


_reaper = _Reaper()


def need_reaper():
    """To be called wherever a Python object becomes the owner of memory."""
    if _reaper.thread is None:
        _reaper.start()


atexit.register(lambda: _reaper.stop())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reaper.__init__)  # the thread did not come along
