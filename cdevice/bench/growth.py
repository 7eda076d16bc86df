"""Does the cost of a column grow with their number?"""

from __future__ import annotations

import array
import json

from .process import child, where
from .table import table, verdict
from .timing import Cell, in_turns
from .wide import WideStruct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


WIDTHS = (100, 300, 1000, 3000, 10000, 20000)
FLAT = 1.5  # the dearest width may cost this many times the cheapest, per column


def measure(rounds: int, target: Any, widths: Any = WIDTHS) -> Any:
    """{columns: ns per column} of export + destroy."""
    import cdevice

    values = array.array("q", range(1000))
    cells = {n: Cell("cdevice", cdevice.asarray(WideStruct(n, values)).__arrow_c_device_array__) for n in widths}
    in_turns(list(cells.values()), rounds, target)
    return {n: c.ns / n for n, c in cells.items()}


def in_a_bare_process(rounds: int, target: Any) -> Any:
    code = (
        f"import sys, json\nsys.path.append({where()!r})\nfrom cdevice.bench.growth import measure\n"
        f"print(json.dumps(measure({rounds}, {target})))"
    )
    return {int(n): v for n, v in json.loads(child(code)[1]).items()}


def report(data: Any) -> None:
    print("\ngrowth: ns per column, export + destroy")
    rows = []
    for title, d in data.items():
        spread = max(d.values()) / min(d.values())
        rows.append([title, *(f"{d[n]:.2f}" for n in WIDTHS), f"{spread:.2f}x", f"{FLAT}x", verdict(spread <= FLAT)])
    table(["columns", *(f"{n:,}" for n in WIDTHS), "spread", "target", ""], rows)


def section(libs: Any, options: Any) -> Any:
    found = {
        "this process": measure(options.rounds, options.target),
        "bare process": in_a_bare_process(options.rounds, options.target),
    }
    report(found)
    return {"growth": found}
