"""Import time and memory, in processes of their own."""

from __future__ import annotations

import statistics

from .process import child, where
from .table import table, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


CHILD = """
import sys
sys.path.append({where!r})
import time
t = time.perf_counter()
{stmt}
t = time.perf_counter() - t
kb = [int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM")][0]
print(t * 1e3, kb, int("numpy" in sys.modules), len(sys.modules))
"""


def rows(libs: Any, rounds: int) -> Any:
    """Import time and memory above an empty interpreter, interleaved; medians."""
    stmts = {"": "pass", **{n: f"import {lib.module}" for n, lib in libs.items()}}
    if "cdevice" in stmts:
        # Its names are loaded on first use: an import alone flatters it.
        stmts["cdevice in use"] = "import cdevice; cdevice.asarray, cdevice.device, cdevice.import_capsules"
        stmts["cdevice, an export"] = "import cdevice; cdevice.asarray(bytes(8)).__arrow_c_device_array__()"
    runs: dict[str, list[tuple[float, ...]]] = {n: [] for n in stmts}
    for k in range(rounds + 1):
        for n, stmt in stmts.items():
            t, out = child(CHILD.format(where=where(), stmt=stmt))
            if k:  # the first round fills the page cache
                ms, kb, numpy, modules = out.split()
                runs[n].append((t * 1e3, int(kb) / 1024, float(ms), int(numpy), int(modules)))
    med = {n: [statistics.median(column) for column in zip(*r)] for n, r in runs.items()}
    base = med.pop("")
    return {n: {"wall_ms": m[0] - base[0], "memory_mib": m[1] - base[1], "import_ms": m[2], "numpy": bool(m[3]),
                "modules": int(m[4] - base[4])} for n, m in med.items()}  # fmt: skip


def report(data: Any) -> None:
    print("\nimport, above an empty interpreter (in use: asarray, device and import_capsules loaded)")
    rows = []
    for n, d in data.items():
        ok = d["wall_ms"] <= 5 and d["memory_mib"] <= 3 and not d["numpy"] if n.startswith("cdevice") else None
        rows.append([n, f"{d['wall_ms']:.1f}", f"{d['memory_mib']:.1f}", d["modules"], "yes" if d["numpy"] else "no",
                     "5 ms, 3 MiB" if n.startswith("cdevice") else "", verdict(ok)])  # fmt: skip
    table(["", "ms", "MiB", "modules", "numpy", "target", ""], rows)


def section(libs: Any, options: Any) -> Any:
    found = rows(libs, 5 if options.quick else 15)
    report(found)
    return {"startup": found}
