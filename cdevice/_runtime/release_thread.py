"""The thread that drops Python owners whose arrays were released by threads without the GIL."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal would load enum
import _thread
import atexit
import os

from ..errors import OutOfMemory
from . import threads
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
                try:
                    threads.start(thread)  # Ctrl-C may come out of it: then the thread, if there is one, reports it
                except OutOfMemory:  # until one can be started, each call of the extension drops them
                    return
                self.thread = thread

    def _run(self) -> None:
        from threading import current_thread

        if hasattr(_signal, "pthread_sigmask"):  # they are for the program's threads, one of which may wait for them
            _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
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
