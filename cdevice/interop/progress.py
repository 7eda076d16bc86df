"""How far a stream has come: rows, bytes and rows a second, as a bar or to a function."""

from __future__ import annotations

import sys
import time

from .._runtime.ext import _native
from ..errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NamedTuple, TextIO

    from .._types import DeviceArray, DeviceArrayStream
else:
    from collections import namedtuple

EVERY = 0.1  # seconds between two reports
_BAR = 24  # characters
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


if TYPE_CHECKING:

    class _Fields(NamedTuple):
        rows: int
        nbytes: int
        seconds: float
        total_rows: int | None
        is_done: bool
else:
    _Fields = namedtuple("_Fields", "rows nbytes seconds total_rows is_done")


class Progress(_Fields):
    """How far a stream has come.

    ``rows``, ``nbytes``: of the batches so far; ``seconds``: since the first was asked for; ``total_rows``: of all, or
    None where that is unknown; ``is_done``: the last report.  Immutable.  Any thread.
    """

    __slots__ = ()

    @property
    def rows_per_second(self) -> float:
        """Rows a second, 0.0 before time has passed.  Never raises."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        size, unit = float(self.nbytes), 0
        while size >= 1000 and unit < len(_UNITS) - 1:
            size, unit = size / 1000, unit + 1
        of = f" of {self.total_rows:,}" if self.total_rows is not None else ""
        words = f"{self.rows:,}{of} rows, {size:.3g} {_UNITS[unit]}, {self.rows_per_second:,.0f} rows/s"
        if self.total_rows is None:
            return words
        full = _BAR if not self.total_rows else min(_BAR * self.rows // self.total_rows, _BAR)
        return f"[{'#' * full}{'.' * (_BAR - full)}] {words}"


class _Terminal:
    """One line that is written anew; where the output is no terminal, the last report alone."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.width = out, 0
        self.live = out.isatty()

    def __call__(self, p: Progress) -> None:
        if not self.live:
            if p.is_done:
                self.out.write(f"{p}\n")
            return
        text = str(p)
        self.out.write("\r" + text.ljust(self.width) + ("\n" if p.is_done else ""))
        self.out.flush()
        self.width = len(text)


class _Notebook:
    """One output of a cell that is written anew."""

    def __init__(self, display: Any) -> None:
        self.handle = display({"text/plain": ""}, raw=True, display_id=True)

    def __call__(self, p: Progress) -> None:
        self.handle.update({"text/plain": str(p)}, raw=True)


def _shown() -> Callable[[Progress], object]:
    """Where people look: a notebook's cell, or the standard error output."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
        from IPython.display import display  # type: ignore[import-not-found]

        return _Notebook(display)
    return _Terminal(sys.stderr)


def reported(source: DeviceArrayStream, report: Any, total_rows: int | None) -> DeviceArrayStream:
    """See :meth:`DeviceArrayStream.progress`."""
    if report is not True and not callable(report):
        raise TypeError(f"progress: report must be True or a callable, not {report!r}")
    if total_rows is not None and (type(total_rows) is not int or total_rows < 0):
        raise ArgumentError(f"progress: total_rows must be an int of 0 or more, not {total_rows!r}")
    schema, here = source.schema, source.device_type_id
    return _native.stream_of_iterator(schema, here, _reporting(source._moved(), report, total_rows))


def _reporting(source: DeviceArrayStream, report: Any, total_rows: int | None) -> Iterator[DeviceArray]:
    tell = _shown() if report is True else report
    begin = time.monotonic()
    rows = nbytes = 0
    last = begin
    with source:
        for batch in source:
            rows += batch.length
            nbytes += batch.nbytes
            now = time.monotonic()
            if now - last >= EVERY:
                last = now
                tell(Progress(rows, nbytes, now - begin, total_rows, False))
            yield batch
            del batch
    tell(Progress(rows, nbytes, time.monotonic() - begin, total_rows, True))


__all__ = ["Progress", "reported"]
