"""The processes that rules run in: forks for callables, fresh interpreters for source."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from ctypes import c_void_p

from . import standin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TELL: list[int] = []  # of a child: where it tells
_AT = [""]  # the subject that is checked now


def note(text: str) -> None:
    """Names the subject that is checked now; a child process reports it."""
    _AT[:] = [text]
    if _TELL:
        os.write(_TELL[0], json.dumps({"at": text}).encode() + b"\n")


class Child:
    """A process that runs rules and tells each result; ``at``: the subject it was last busy with.

    A suite of sources gets an interpreter of its own.  Callables cannot be sent to one, so they run in a fork, which
    has none of the threads of this process: a library that waits for its threads there is ended for standing still."""

    def __init__(self, suite: Any, rules: list[Any]) -> None:
        self.words, self.at, self.rest = "", "", b""
        self.folder: tempfile.TemporaryDirectory[str] | None = None  # for files that a library makes
        self.read, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid: int | None = self._spawn(suite, rules, write) if isinstance(suite.subject, list) else fork()
        if not self.pid:
            os.close(self.read)
            run_rules(suite, rules, write)
        os.close(write)

    def _spawn(self, suite: Any, rules: list[Any], write: int) -> int:
        kind = type(suite)
        told = repr((kind.__module__, kind.__qualname__, suite.subject, suite.known, [r.name for r in rules], write))
        start = f"import sys\nsys.path[:] = {sys.path!r}\nfrom {__name__} import serve\nserve()"
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        process = subprocess.Popen(
            [sys.executable, "-c", start, told, *suite.dead],
            pass_fds=[write],
            env={**os.environ, "TMPDIR": self.folder.name},
        )
        process.returncode = 0  # this class waits for it
        return process.pid

    def answer(self, seconds: float) -> Any:
        """(outcome, fields of a Result), or None where the process died or was silent for too long."""
        end = time.monotonic() + seconds
        while True:
            line, newline, rest = self.rest.partition(b"\n")
            if newline:
                self.rest = rest
                message = json.loads(line)
                if "result" in message:
                    return message["result"]
                self.at = message.get("at", self.at)
                if "died" in message:
                    self.words = message["died"]
                if "error" in message:
                    raise ImportError(message["error"])
                continue
            left = end - time.monotonic()
            if left <= 0:
                self.words = f"{self.at}: it stood still for {seconds:.0f} seconds and was ended"
                return None
            if select.select([self.read], [], [], left)[0]:
                data = os.read(self.read, 1 << 16)
                if not data:
                    return None
                self.rest += data

    def end(self) -> str:
        """Ends the process where it still runs; how it died."""
        if self.pid is None:
            return self.words
        pid, self.pid = self.pid, None
        gone = None if self.words else _wait(pid, 1.0)  # without words it died by itself, or is about to end
        if gone is None:
            os.kill(pid, signal.SIGKILL)
            gone = os.waitpid(pid, 0)[1]
        os.close(self.read)
        if self.folder:
            self.folder.cleanup()
        if not self.words:
            if os.WIFSIGNALED(gone):
                self.words = f"{self.at}: died of {signal.Signals(os.WTERMSIG(gone)).name}"
            else:
                self.words = f"{self.at}: ended with exit code {os.WEXITSTATUS(gone)}"
        return self.words


def fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads: see Child
        return os.fork()


def _wait(pid: int, seconds: float) -> int | None:
    """The status of a child that ends within that time."""
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > end:
            return None
        select.select([], [], [], 0.02)


def serve() -> None:
    """The life of a fresh interpreter: the suite and its rules stand in the arguments."""
    from importlib import import_module

    module, name, subject, known, rules, write = eval(sys.argv[1])
    suite = getattr(import_module(module), name)(subject, apart=False, **known)
    suite.dead = set(sys.argv[2:])
    run_rules(suite, [r for r in suite.rules if r.name in rules], write)


def run_rules(suite: Any, rules: list[Any], write: int) -> None:
    """The child's life; does not return."""

    def tell(**message: Any) -> None:
        os.write(write, json.dumps(message).encode() + b"\n")

    code = 1
    try:
        _TELL.append(write)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        tell_of_reads(write)
        fill_freed_memory()
        keep_exceptions()
        subjects = suite.subjects()
        for rule in rules:
            outcome, result = suite.one(rule, subjects)
            tell(result=[outcome, list(result)])
        code = 0
    except ImportError as e:
        tell(error=str(e))
    except BaseException as e:
        tell(died=f"{type(e).__name__}: {e}")
    finally:
        os._exit(code)


def keep_exceptions() -> None:
    """Stand-ins' releases leave an exception that is on its way as it is, from here on."""
    from ..._runtime.ext import _native

    standin.SAFE.update(_native.standin_releases())


def fill_freed_memory() -> None:
    """Memory from malloc holds garbage from here on: what a library leaves as it was is seen (glibc)."""
    try:
        ctypes.CDLL(None).mallopt(-6, 0xA5)
    except AttributeError:
        pass


class _Action(ctypes.Structure):
    """struct sigaction of Linux on 64-bit machines."""

    _fields_ = [("handler", c_void_p), ("mask", ctypes.c_uint64 * 16), ("flags", ctypes.c_int), ("restorer", c_void_p)]


_HANDLERS: list[Any] = []


def tell_of_reads(write: int) -> None:
    """A touch of guarded memory is reported with the place, then the process ends as it would have."""
    if sys.platform != "linux":
        return

    def handler(number: int, info: int, context: int) -> None:
        address = ctypes.c_uint64.from_address(info + 16).value
        words = f"{_AT[-1]}: died of {signal.Signals(number).name}"
        for first, end, what, _ in standin.GUARDS:
            if first <= address < end:
                words += f": touched byte {address - first} of {what}"
        os.write(write, json.dumps({"died": words}).encode() + b"\n")
        os._exit(1)

    callback = ctypes.CFUNCTYPE(None, ctypes.c_int, c_void_p, c_void_p)(handler)
    action = _Action(ctypes.cast(callback, c_void_p).value)
    action.flags = 4  # SA_SIGINFO
    _HANDLERS.append((callback, action))
    ctypes.CDLL(None).sigaction(signal.SIGSEGV, ctypes.byref(action), None)
    ctypes.CDLL(None).sigaction(signal.SIGBUS, ctypes.byref(action), None)
