"""Casts of numbers to text and back beside pyarrow's and polars', with one thread."""

from __future__ import annotations

from functools import partial

from . import one_thread as threads
from .one_thread import OPENCL, on_opencl, one_thread, waited
from .table import chosen
from .timing import pairs as in_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .one_thread import Pairs

# the least ratio of pyarrow's time to cdevice's; None: no promise
PRINTED: dict[str, float | None] = {"int64": 2.0, "float64": 1.3, "float64, two digits": 1.3, "timestamp": None}
READ: dict[str, float | None] = {"int64": 2.0, "float64": 1.5, "float64, two digits": None, "timestamp": None}


def columns(rows: int) -> dict[str, Any]:
    """Numbers and times, without nulls."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(11)
    return {
        "int64": pa.array(rng.integers(-(10**9), 10**9, rows)),
        "float64": pa.array(rng.random(rows)),
        "float64, two digits": pa.array(np.round(rng.random(rows) * 1000, 2)),
        "timestamp": pa.array(rng.integers(0, 1_700_000_000, rows)).view(pa.timestamp("s")),
    }


def calls(x: Any, text: Any, lib: Any, string: Any, kind: Any) -> tuple[Any, Any]:
    """To text and back, by a library with Arrow's names."""
    return partial(lib.cast, x, string), partial(lib.cast, text, kind)


def _polars(x: Any, text: Any) -> tuple[Any, Any] | None:
    """polars' calls: to text and back; None without polars."""
    try:
        import polars as pl
    except ImportError:
        return None
    values: Any = pl.from_arrow(x)
    words: Any = pl.from_arrow(text)
    return partial(values.cast, pl.String), partial(words.cast, values.dtype)


def rows(n: int, pairs: Pairs) -> list[tuple[Any, ...]]:
    """The rows of the table: (device, function, their ms, ms, ratio, target)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    import cdevice
    import cdevice.compute as cc

    found: list[tuple[Any, ...]] = []
    with one_thread():
        for name, x in columns(n).items():
            if not (chosen(f"cast {name} to string") or chosen(f"cast string to {name}")):
                continue
            text = pc.cast(x, pa.string())
            ours = calls(cdevice.asarray(x), cdevice.asarray(text), cc, "string", x.type)
            theirs, others = calls(x, text, pc, pa.string(), x.type), _polars(x, text) if name != "timestamp" else None
            there = on_opencl({"x": x, "text": text})
            opencl = calls(there["x"], there["text"], cc, "string", x.type) if there else None
            both = ((f"cast {name} to string", PRINTED[name]), (f"cast string to {name}", READ[name]))
            for k, (row, least) in enumerate(both):
                found.append(("cpu", row, *pairs(theirs[k], ours[k], 3), least))
                promised = None if least is None else 1.0
                if others is not None:
                    found.append(("cpu", f"{row}, polars", *pairs(others[k], ours[k], 3), promised))
                if opencl is not None and promised:
                    found.append(
                        ("opencl", f"{row}, a thread of the CPU", *pairs(ours[k], waited(opencl[k]), 3), OPENCL)
                    )
    return found


def section(libs: Any, options: Any) -> dict[str, Any]:
    """Measures and prints; {"casts": rows}."""
    return threads.section("casts", rows, in_turns, options)
