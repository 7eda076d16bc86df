"""Cost per operation beside pyarrow, nanoarrow and arro3.

One process, one table: the rounds of all libraries are interleaved, so that a slow moment of the machine hits all of
them alike; figures are medians.

    export + destroy   both capsules of ``__arrow_c_device_array__``, dropped at once
    import, checked    the lowest entry point, on capsules that another library made beforehand, results kept alive;
                       and anything the library needs beyond that to have the layout verified
    round trip         export, import and release of everything, the library to itself
    NAME array in      an array of that library; its c_device_array is nanoarrow's side
    N columns          a struct of N int64 columns of 1000 rows

arro3 has no device interface: its column shows ``__arrow_c_array__``, marked ``*`` and left out of the ratios.
"""

from __future__ import annotations

import array
import functools
import gc
import sys

from .libraries import LIBRARIES
from .table import number, table, verdict
from .timing import Cell, import_round, quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


NROWS = 1000
WIDTHS = (10, 100, 1000)


class Row:
    def __init__(self, title: str, target: Any = None) -> None:
        self.title, self.target = title, target
        self.cells: dict[str, Any] = {}

    def ratio(self) -> Any:
        """The better peer's time by cdevice's; None when one of them is missing."""
        mine = self.cells.get("cdevice")
        peers = [c.ns for n, c in self.cells.items() if n != "cdevice" and LIBRARIES[n].device and c.ns]
        return min(peers) / mine.ns if mine and mine.ns and peers else None


def build_rows(libs: Any) -> Any:
    values = array.array("q", range(NROWS))
    arrays = {n: lib.array(values) for n, lib in libs.items()}
    rows = []

    def row(title: str, target: Any = None) -> Any:
        rows.append(Row(title, target))
        return rows[-1].cells

    def roundtrip(export: Any, take: Any) -> Any:
        return lambda: take(*export())

    cells = row("int64 export + destroy", 1.8)
    for n, lib in libs.items():
        cells[n] = Cell(n, lib.exporter(arrays[n]))

    cells = row("int64 import, checked", 6)
    for n, lib in libs.items():
        # From a third party: a library may know its own structs again.
        others = [o for o in ("pyarrow", "nanoarrow", "cdevice") if o != n and o in libs] if lib.device else [n]
        if others:
            producer = libs[others[0]]
            cells[n] = Cell(n, import_round(producer.exporter(arrays[others[0]]), lib.importer()), True, 4000)

    cells = row("int64 round trip, checked", 5)
    for n, lib in libs.items():
        cells[n] = Cell(n, roundtrip(lib.exporter(arrays[n]), lib.importer()))

    try:
        import numpy
    except ImportError:
        pass
    else:
        given = numpy.arange(NROWS)
        cells = row("numpy array in", 2.5)
        for n, lib in libs.items():
            cells[n] = Cell(n, functools.partial(lib.from_numpy(), given))

    for maker in ("pyarrow", "nanoarrow"):
        cells = row(f"{maker} array in", 1.3)
        for n in ("cdevice", "nanoarrow") if maker in libs else ():
            if n in libs:
                cells[n] = Cell(n, functools.partial(libs[n].from_arrow(), libs[maker].shown(arrays[maker])))

    for ncols in WIDTHS:
        batches = {n: lib.batch(ncols, values) for n, lib in libs.items()}
        cells = row(f"{ncols} columns export + destroy", {10: 9, 100: 25, 1000: 25}[ncols])
        for n, lib in libs.items():
            cells[n] = Cell(n, lib.exporter(batches[n]))
        cells = row(f"{ncols} columns round trip, checked", 25 if ncols == 1000 else None)
        for n, lib in libs.items():
            cells[n] = Cell(n, roundtrip(lib.exporter(batches[n]), lib.importer(True)))
    return rows


def measure(rows: Any, rounds: int, target: Any) -> None:
    """One round of every library of a row, then the next round."""
    terminal = sys.stderr.isatty()
    with quiet():
        for k, row in enumerate(rows, 1):
            if terminal:
                print(f"\r[{k}/{len(rows)}] {row.title:<50}", end="", file=sys.stderr, flush=True)
            for c in row.cells.values():
                try:
                    c.round(3)
                    c.calibrate(target)
                except Exception as exc:  # the table shows it, the other columns go on
                    c.error = f"{type(exc).__name__}: {exc}"
            for _ in range(rounds):
                for c in row.cells.values():
                    if c.error is None:
                        if c.prepared:
                            gc.collect()
                        c.sample()
    if terminal:
        print("\r" + " " * 70 + "\r", end="", file=sys.stderr)


def report(rows: Any, libs: Any) -> None:
    errors, out = [], []
    for r in rows:
        line = [r.title]
        for n in libs:
            c = r.cells.get(n)
            if c is not None and c.error:
                errors.append(f"{n}, {r.title}: {c.error}")
            line.append("error" if c is not None and c.error else number(c and c.ns) + "*" * (not libs[n].device))
        ratio = r.ratio()
        line += [f"{ratio:.1f}x" if ratio else "", f"{r.target:g}x" if r.target else "",
                 verdict(None if ratio is None or r.target is None else ratio >= r.target)]  # fmt: skip
        out.append(line)
    table(["ns per operation", *(n + "*" * (not lib.device) for n, lib in libs.items()), "ratio", "target", ""], out)
    if any(not lib.device for lib in libs.values()):
        print("* by __arrow_c_array__: no device interface; not in the ratio")
    for text in errors:
        print(text)


def titles(libs: Any, want: Any) -> list[str]:
    """Of the rows that would be measured."""
    return [r.title for r in build_rows(libs) if want(r.title)]


def section(libs: Any, options: Any, want: Any) -> Any:
    """``want``: which titles."""
    rows = [r for r in build_rows(libs) if want(r.title)]
    if rows:
        measure(rows, options.rounds, options.target)
        report(rows, libs)
    return {
        "ns": {r.title: {n: c.ns for n, c in r.cells.items()} for r in rows},
        "ratio": {r.title: r.ratio() for r in rows},
        "target": {r.title: r.target for r in rows if r.target},
    }
