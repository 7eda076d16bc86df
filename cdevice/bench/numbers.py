"""Functions of numbers beside pyarrow's and polars', with one thread."""

from __future__ import annotations

from functools import partial

from . import one_thread
from .one_thread import beside, on_opencl
from .timing import pairs as in_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .one_thread import Pairs

# the least ratio of pyarrow's time to cdevice's, and of polars'; None: no promise
TARGETS: dict[str, tuple[float | None, float | None]] = {
    "round": (3.0, 1.0),
    "round, 2 digits": (None, None),
    "exp": (2.0, 1.0),
    "ln": (2.0, 1.0),
    "log2": (None, None),
    "sin": (2.0, 1.0),
    "atan": (None, None),
    "tanh": (None, None),
    "power": (None, None),
    "modulo": (None, None),
    "min_element_wise": (3.0, None),
}


def columns(rows: int) -> dict[str, Any]:
    """Floats and integers without nulls."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(5)
    return {
        "x": pa.array(rng.normal(0, 100, rows)),
        "small": pa.array(rng.normal(0, 5, rows)),
        "positive": pa.array(rng.random(rows) * 100 + 1e-3),
        "whole": pa.array(rng.integers(-(10**6), 10**6, rows)),
        "divisor": pa.array(rng.integers(1, 1000, rows)),
    }


def calls(x: dict[str, Any], lib: Any) -> dict[str, Any]:
    """The rows of the table, for a library with Arrow's names; without those that an older pyarrow has not."""
    modulo = getattr(lib, "modulo", None) or (lambda *args: lib.call_function("modulo", list(args)))
    found = {
        "round": partial(lib.round, x["x"]),
        "round, 2 digits": partial(lib.round, x["x"], 2),
        "exp": partial(lib.exp, x["small"]),
        "ln": partial(lib.ln, x["positive"]),
        "log2": partial(lib.log2, x["positive"]),
        "sin": partial(lib.sin, x["x"]),
        "atan": partial(lib.atan, x["x"]),
        "tanh": partial(lib.tanh, x["small"]),
        "power": partial(lib.power, x["positive"], x["small"]),
        "modulo": lambda: modulo(x["whole"], x["divisor"]),
        "min_element_wise": lambda: lib.min_element_wise(x["x"], x["positive"]),
    }
    return found if "modulo" in lib.list_functions() else {k: v for k, v in found.items() if k != "modulo"}


def _polars(x: dict[str, Any]) -> dict[str, Any]:
    """polars' calls by name; empty without polars."""
    try:
        import polars as pl
    except ImportError:
        return {}
    there: dict[str, Any] = {k: pl.from_arrow(v) for k, v in x.items()}
    return {
        "round": partial(there["x"].round, 0),
        "round, 2 digits": partial(there["x"].round, 2),
        "exp": there["small"].exp,
        "ln": there["positive"].log,
        "log2": partial(there["positive"].log, 2),
        "sin": there["x"].sin,
        "atan": there["x"].arctan,
        "tanh": there["small"].tanh,
        "power": lambda: there["positive"] ** there["small"],
        "modulo": lambda: there["whole"] % there["divisor"],
    }


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
    """Measures and prints; {"numbers": rows}."""
    return one_thread.section("numbers", rows, in_turns, options)
