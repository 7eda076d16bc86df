"""The thread that drops Python owners whose arrays were released by threads without the GIL."""

from __future__ import annotations

import _thread
import atexit
import os

from .ext import _native, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading


class _Reaper:
    """One daemon thread, started by the first Python object that becomes the owner of memory."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.thread: threading.Thread | None = None
        self.lock = _thread.allocate_lock()

    def start(self) -> None:
        from threading import Thread

        with self.lock:
            if self.thread is None:
                thread = Thread(target=self._run, name="cdevice-release", daemon=True)
                thread.start()  # may fail, and Ctrl-C may come out of it: then the thread, if there is one, reports it
                self.thread = thread

    def _run(self) -> None:
        from threading import current_thread

        with self.lock:
            if self.thread not in (None, current_thread()):
                return
            self.thread = current_thread()
        while lib.cdv_defer_wait():
            _native.drain()

    def stop(self) -> None:
        try:
            if self.thread is not None:
                lib.cdv_defer_stop()
                self.thread.join()
            _native.drain()
        finally:  # Ctrl-C at the exit too
            _native.python_ends()


_reaper = _Reaper()


def ensure_release_thread() -> None:
    """To be called wherever a Python object becomes the owner of memory."""
    if _reaper.thread is None:
        _reaper.start()


def _let_finish() -> None:
    """Waits for what the end of the process would cut off in the middle; Ctrl-C ends that."""
    while lib.cdv_exit_drain_step():
        pass


atexit.register(lambda: _reaper.stop())
atexit.register(_let_finish)  # the last one is called first
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reaper.forget)  # the thread did not come along
