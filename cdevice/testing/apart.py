"""Each area of a suite in a process of its own: a device that dies is reported by area and check."""

from __future__ import annotations

import builtins
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile

from .. import errors
from .runner import VAIN, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

STANDSTILL = 600.0  # seconds without a word, after which a check is ended as one that hangs
PATIENCE = 15.0  # after which standard error tells which check it is
SLICE = 0.5


def _say(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # it cannot be written to
        pass


def run(
    command: list[str],
    chosen: list[tuple[str, str]],
    report: Callable[[Result], None] | None = None,
    *,
    stop_at_first: bool = False,
) -> list[Result]:
    """Runs the checks ``chosen``, (area, name), by processes of ``command`` with a file descriptor and their names
    behind it, which runs :func:`serve`.  Ends as :func:`runner.run` does, and raises what that raises."""
    out: list[Result] = []
    areas: dict[str, list[str]] = {}
    for area, name in chosen:
        areas.setdefault(area, []).append(name)
    for area, names in areas.items():
        while names:
            for result in _Child(command, area, names).results():
                out.append(result)
                if report:
                    report(result)
                names = names[names.index(result.name) + 1 :] if result.name in names else []
                vain = sum(r.seconds for r in out if r.outcome == "failed")
                if result.outcome == "failed" and (stop_at_first or vain > VAIN):
                    return out
    return out


class _Child:
    """Runs checks of an area, one after the other, until one takes the process with it."""

    def __init__(self, command: list[str], area: str, names: list[str]) -> None:
        self.command, self.area, self.names = command, area, names
        self.running: str | None = None

    def results(self) -> Any:
        read, write = os.pipe()
        paths = os.pathsep.join(p or os.getcwd() for p in sys.path)
        with tempfile.TemporaryFile() as said, open(read, "rb", buffering=0) as lines:
            try:
                process = subprocess.Popen(
                    [*self.command, str(write), *self.names],
                    pass_fds=[write],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    env={**os.environ, "PYTHONPATH": paths},
                )
            finally:
                os.close(write)
            try:
                stuck = yield from self._told(lines, process)
                if stuck:
                    process.kill()
                code = process.wait()
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
            words = _tail(said)
        if not code and not self.running:
            _say(words)
            return
        how = "was ended, for it stood still" if stuck else _how(code)
        name = self.running or "the_process_ends_well"
        where = "in this check" if self.running else "after the last check of the area"
        yield Result(self.area, name, "failed", f"the process {how} {where}", 0.0, words)

    def _told(self, lines: IO[bytes], process: subprocess.Popen[bytes]) -> Any:
        """Gives the results as they arrive; True: nothing arrived for too long.

        Ends when the process ends, even where another process still has the write end of the pipe."""
        rest, quiet = b"", 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(lines, selectors.EVENT_READ)
            while True:
                ended = process.poll() is not None  # before the look: its messages are there then
                if not selector.select(0 if ended else SLICE):
                    if ended:
                        return False
                    quiet += SLICE
                    if quiet == PATIENCE and self.running:
                        _say(
                            f"cdevice check: {self.area}: {self.running} reported nothing for {PATIENCE:.0f} seconds\n"
                        )
                    if quiet >= STANDSTILL:
                        return True
                    continue
                quiet = 0.0
                data = os.read(lines.fileno(), 1 << 16)
                if not data:
                    return False
                *whole, rest = (rest + data).split(b"\n")
                for line in whole:
                    message = json.loads(line)
                    if "error" in message:
                        _raise(*message["error"])
                    self.running = message.get("begins")
                    if "result" in message:
                        yield Result(*message["result"])


def _raise(name: str, text: str) -> None:
    kind = getattr(errors, name, None) or getattr(builtins, name, None) or RuntimeError
    raise kind(text)


def _tail(said: IO[bytes]) -> str:
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - 8000))
    return said.read().decode("utf-8", "replace")


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def serve(make: Callable[[], Any], fd: int, names: list[str]) -> None:
    """In the process: runs the checks of the suite class that ``make`` gives, and tells each on ``fd``."""
    from . import runner

    def tell(**message: object) -> None:
        os.write(fd, json.dumps(message).encode() + b"\n")

    try:
        suite = make()
        runner.run(
            suite,
            lambda result: tell(result=result),
            names=names,
            begins=lambda name: tell(begins=name),
        )
    except Exception as e:
        tell(error=[type(e).__name__, str(e)])
