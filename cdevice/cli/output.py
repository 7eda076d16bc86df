"""Standard output and error as commands need them: there, of any encoding, and with errors reported."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class OutputError(Exception):
    """Standard output cannot be written to; the text gives the reason."""


class _Told:
    """A text stream whose failures are OutputErrors: any other OSError has another cause."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            n: int = self._stream.write(text)
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as e:
            raise OutputError(_why(e)) from None
        return n

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as e:
            raise OutputError(_why(e)) from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _why(e: Exception) -> str:
    return e.strerror or str(e) if isinstance(e, OSError) else str(e)


def drop() -> None:
    """What was not written is not tried again: Python's own flush at the exit would complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError:
        pass


def complain(text: str) -> None:
    """A line on standard error, or nothing where that cannot be written to."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        except OSError:
            pass


class streams:
    """``with streams():`` around a command.  Raises OutputError where standard output is closed.

    A letter that the encoding has not is shown as "?"; error messages go nowhere where standard error is closed.
    """

    def __enter__(self) -> None:
        self.before = sys.stdout, sys.stderr
        if sys.stderr is None:
            sys.stderr = open(os.devnull, "w")  # for the rest of the process: print() takes None for stdout
        if sys.stdout is None:
            raise OutputError("it is closed")
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None and getattr(stream, "errors", "") == "strict":
                reconfigure(errors="replace")
        sys.stdout = _Told(sys.stdout)

    def __exit__(self, *exc: object) -> None:
        try:
            sys.stdout.flush()
        finally:
            sys.stdout = self.before[0]
