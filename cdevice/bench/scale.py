"""Does the cost of a row grow with their number, or with that of the groups?  For ``python -m cdevice bench``.

ns a row of functions from 10 rows to ``--rows`` (ten million), and of groups from 10 to as many as there are rows,
on the CPU with one thread and on OpenCL.  ``--plot FILE.png`` draws them.
"""

from __future__ import annotations

import time

from .table import table
from .timing import quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

ROWS = 10_000_000
LEAST = 0.02  # seconds that a figure is measured for


def _columns(n: int, groups: int) -> Any:
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(7)
    return pa.record_batch(
        {"key": pa.array(rng.integers(0, groups, n)), "x": pa.array(rng.integers(-(1 << 40), 1 << 40, n))}
    )


def _by_rows() -> dict[str, Callable[[Any], Any]]:
    import cdevice.compute as cc

    return {
        "sort_indices": lambda b: cc.sort_indices(b.field("x")),
        "cumulative_sum": lambda b: cc.cumulative_sum(b.field("x")),
        "unique of 100": lambda b: cc.unique(b.field("key")),
        "group_by of 100, sum": lambda b: cc.group_by(b, "key").aggregate([("x", "sum")]),
    }


def _by_groups() -> dict[str, Callable[[Any], Any]]:
    import cdevice.compute as cc

    return {
        "group_by, sum": lambda b: cc.group_by(b, "key").aggregate([("x", "sum")]),
        "unique": lambda b: cc.unique(b.field("key")),
    }


def _seconds(call: Callable[[Any], Any], batch: Any, rounds: int) -> float:
    """The least time of a call, which is waited for."""
    best = float("inf")
    call(batch).synchronize()  # kernels are built
    with quiet():
        spent = 0.0
        for _ in range(max(rounds, 1)):
            begin = time.perf_counter()
            call(batch).synchronize()
            best = min(best, time.perf_counter() - begin)
            spent += best
            if spent > 50 * LEAST:
                break
    return best


def _tens(least: int, most: int) -> Iterator[int]:
    n = least
    while n <= most:
        yield n
        n *= 10


def measure(rows: int, rounds: int, device: Any) -> dict[str, dict[str, dict[int, float]]]:
    """{"rows" or "groups": {function: {how many: ns a row}}}"""
    import cdevice

    found: dict[str, dict[str, dict[int, float]]] = {"rows": {}, "groups": {}}
    for n in _tens(10, rows):
        batch = cdevice.asarray(_columns(n, 100)).to(device)
        for title, call in _by_rows().items():
            found["rows"].setdefault(title, {})[n] = _seconds(call, batch, rounds) / n * 1e9
    for groups in _tens(10, rows):
        batch = cdevice.asarray(_columns(rows, groups)).to(device)
        for title, call in _by_groups().items():
            found["groups"].setdefault(title, {})[groups] = _seconds(call, batch, rounds) / rows * 1e9
    return found


def section(libs: Any, options: Any) -> Any:
    """Measures and prints."""
    import cdevice
    import cdevice.compute as cc

    rows = options.rows or (100_000 if options.quick else ROWS)
    devices = ["cpu", *(str(d) for d in cdevice.devices("opencl")[:1])]
    before = cc.cpu_count()
    cc.set_cpu_count(1)
    try:
        found = {d: measure(rows, options.rounds, d) for d in devices}
    finally:
        cc.set_cpu_count(before)
    for device, parts in found.items():
        for part, functions in parts.items():
            numbers = list(next(iter(functions.values())))
            print(f"\nscale: ns a row on {device}, by the number of {part}")
            table(
                [part, *(f"{n:,}" for n in numbers)],
                [[title, *(f"{ns[n]:.1f}" for n in numbers)] for title, ns in functions.items()],
            )
    return {"scale": found}
