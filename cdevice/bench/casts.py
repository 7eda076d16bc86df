"""Casts of numbers to text and back beside pyarrow's and polars', with one thread.  Rows of the section ``compute``."""

from __future__ import annotations

from functools import partial

from .one_thread import one_thread
from .table import chosen

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
            here, words = cdevice.asarray(x), cdevice.asarray(text)
            to, back = partial(cc.cast, here, "string"), partial(cc.cast, words, x.type)
            theirs = partial(pc.cast, x, pa.string()), partial(pc.cast, text, x.type)
            found.append(("cpu", f"cast {name} to string", *pairs(theirs[0], to, 3), PRINTED[name]))
            found.append(("cpu", f"cast string to {name}", *pairs(theirs[1], back, 3), READ[name]))
            others = _polars(x, text) if name != "timestamp" else None
            if others is not None:
                found.append(("cpu", f"cast {name} to string, polars", *pairs(others[0], to, 3), None))
                found.append(("cpu", f"cast string to {name}, polars", *pairs(others[1], back, 3), None))
    return found
