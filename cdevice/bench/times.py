"""Functions of dates and times beside pyarrow's and polars', with one thread."""

from __future__ import annotations

from functools import partial

from . import one_thread
from .one_thread import beside, on_opencl
from .timing import pairs as in_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .one_thread import Pairs

ZONE = "Europe/Berlin"
# the least ratio of pyarrow's time to cdevice's, and of polars'; None: no promise
TARGETS: dict[str, tuple[float | None, float | None]] = {
    "year": (3.0, 1.0),
    "month": (3.0, 1.0),
    "hour": (3.0, 1.0),
    f"year, {ZONE}": (3.0, 1.0),
    f"month, {ZONE}": (3.0, 1.0),
    f"hour, {ZONE}": (3.0, 1.0),
    "floor_temporal, an hour": (3.0, 1.0),
    "floor_temporal, a month": (3.0, 1.0),
    "iso_week": (3.0, 1.0),
    "days_between": (None, None),
}


def columns(rows: int) -> dict[str, Any]:
    """Timestamps in microseconds from 1970 to 2023, with a zone and without; without nulls."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(9)
    counts = (pa.array(rng.integers(0, 1_700_000_000_000_000, rows)) for _ in range(2))
    plain, other = (x.view(pa.timestamp("us")) for x in counts)
    return {"plain": plain, "other": other, "zoned": plain.view(pa.timestamp("us", ZONE))}


def calls(x: dict[str, Any], lib: Any) -> dict[str, Any]:
    """The rows of the table, for a library with Arrow's names."""
    made = {}
    for name in ("year", "month", "hour"):
        made[name] = partial(getattr(lib, name), x["plain"])
        made[f"{name}, {ZONE}"] = partial(getattr(lib, name), x["zoned"])
    return {
        **made,
        "floor_temporal, an hour": lambda: lib.floor_temporal(x["plain"], 1, "hour"),
        "floor_temporal, a month": lambda: lib.floor_temporal(x["plain"], 1, "month"),
        "iso_week": lambda: lib.iso_week(x["plain"]),
        "days_between": lambda: lib.days_between(x["plain"], x["other"]),
    }


def _polars(x: dict[str, Any]) -> dict[str, Any]:
    """polars' calls by name; empty without polars."""
    try:
        import polars as pl
    except ImportError:
        return {}
    plain: Any = pl.from_arrow(x["plain"])
    zoned: Any = pl.from_arrow(x["zoned"])
    made = {}
    for name in ("year", "month", "hour"):
        made[name] = getattr(plain.dt, name)
        made[f"{name}, {ZONE}"] = getattr(zoned.dt, name)
    made["floor_temporal, an hour"] = partial(plain.dt.truncate, "1h")
    made["floor_temporal, a month"] = partial(plain.dt.truncate, "1mo")
    made["iso_week"] = plain.dt.week
    return made


def rows(n: int, pairs: Pairs) -> list[tuple[Any, ...]]:
    """The rows of the table: (device, function, their ms, ms, ratio, target)."""
    import pyarrow.compute as pc

    import cdevice
    import cdevice.compute as cc

    x = columns(n)
    here = {k: cdevice.asarray(v) for k, v in x.items()}
    there = on_opencl(x)
    opencl = calls(there, cc) if there else None
    return beside(calls(here, cc), calls(x, pc), _polars(x), TARGETS, pairs, 5, opencl)


def section(libs: Any, options: Any) -> dict[str, Any]:
    """Measures and prints; {"times": rows}."""
    return one_thread.section("times", rows, in_turns, options)
