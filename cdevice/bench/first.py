"""What the first call of a function costs, in processes of their own: the device's compiler, or the disk's cache.

The floor is the first kernel of one line that a process has pyopencl compile and run: most of a first call is the
compiler getting ready.
"""

from __future__ import annotations

import statistics
import tempfile

from .process import child, where
from .table import bounds, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BEGIN = """
import os, sys, time
sys.path.append({where!r})
os.environ.update(CDEVICE_CACHE_DIR={folder!r}, POCL_CACHE_DIR={folder!r}, PYOPENCL_NO_CACHE="1")
import numpy as np
"""
FLOOR = """
import pyopencl as cl
context = cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])
queue = cl.CommandQueue(context)
rows = cl.Buffer(context, cl.mem_flags.READ_WRITE, 8000)
t = time.perf_counter()
text = "__kernel void one(__global long *a) { a[get_global_id(0)] += 1; }"
program = cl.Program(context, text).build(cache_dir=False)
cl.Kernel(program, "one")(queue, (1000,), None, rows)
queue.finish()
print((time.perf_counter() - t) * 1e3)
"""
OURS = """
import cdevice, cdevice.compute as cc
a = cdevice.asarray(np.arange(1000)).to("opencl")
a.synchronize()
t = time.perf_counter()
r = cc.{call}
(r.synchronize if hasattr(r, "synchronize") else r.as_py)()
print((time.perf_counter() - t) * 1e3)
"""
CALLS = ("add(a, a)", "less(a, a)", "sum(a)")
COMPILED, KEPT = 1.3, 20  # times the floor; ms


def measure(rounds: int) -> list[tuple[Any, ...]]:
    """[(title, ms, unit, bound, reached)]: medians, the kinds in turn."""
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for call in ("", *CALLS):
            with tempfile.TemporaryDirectory() as folder:
                begin = BEGIN.format(where=where(), folder=folder)
                if not call:
                    times.setdefault("floor", []).append(float(child(begin + FLOOR)[1]))
                    continue
                for how in ("compiled", "from the disk"):
                    times.setdefault(f"{call}, {how}", []).append(float(child(begin + OURS.format(call=call))[1]))
    found = {name: statistics.median(ms) for name, ms in times.items()}
    floor = found.pop("floor")
    rows: list[tuple[Any, ...]] = [("a kernel of one line, compiled by pyopencl", floor, "ms", None, None)]
    for name, ms in found.items():
        bound = round(COMPILED * floor) if name.endswith("compiled") else KEPT
        rows.append((name, ms, "ms", bound, ms <= bound))
    return rows


def section(libs: Any, options: Any) -> dict[str, Any]:
    """Measures and prints; {"first": rows}."""
    import cdevice

    title = "first call of a function on OpenCL"
    if not cdevice.device("opencl").is_available:
        print(f"left out: {title} (no OpenCL runtime)\n")
        return {}
    try:
        found = measure(1 if options.quick else 5)
    except RuntimeError as e:
        print(f"left out: {title} ({e})\n")
        return {}
    bounds(title, found)
    return {"first": named(found, "row", "ms", "unit", "bound", "reached")}
