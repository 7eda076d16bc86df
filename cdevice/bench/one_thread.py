"""Calls of cdevice beside those of pyarrow and polars, with one thread, and on OpenCL beside them: the sections
``text``, ``times``, ``numbers`` and ``casts`` of ``python -m cdevice bench``.

Ten million rows; calls that take turns, the median of each pair's ratio; ``--quick`` takes a hundredth of the rows.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from .table import chosen, named, table, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Pairs = Callable[[Any, Any, int], tuple[float, float, float]]
    Calls = Mapping[str, Any]

ROWS = 10_000_000
OPENCL = 1.0  # the least ratio of the time with one thread of the CPU to OpenCL's
KEYS = ("device", "function", "their ms", "ms", "ratio", "target")


def shown_rows(title: str, n: int, found: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Prints rows of (device, function, their ms, ms, ratio, target); {title: rows}."""
    rows = [
        (d, name, f"{t:.2f}", f"{o:.2f}", f"{ratio:.2f}", "" if least is None else f"{least:g}", verdict(reached))
        for d, name, t, o, ratio, least in found
        for reached in [None if least is None else ratio >= least]
    ]
    table((title, f"{n:,} rows", "theirs ms", "cdevice ms", "ratio", "target", ""), rows)
    print()
    return {title: named(found, *KEYS)}


def section(
    title: str, rows: Callable[[int, Pairs], list[tuple[Any, ...]]], pairs: Pairs, options: Any
) -> dict[str, Any]:
    """Measures and prints; {title: rows}."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    try:
        import pyarrow as pa
    except ImportError as e:
        print(f"left out: {title} ({e})\n")
        return {}
    pa.set_cpu_count(1)
    n = ROWS // 100 if options.quick else ROWS
    return shown_rows(title, n, rows(n, pairs))


def on_opencl(x: Mapping[str, Any]) -> dict[str, Any]:
    """Columns there; none where there is no OpenCL."""
    import cdevice

    if not cdevice.device("opencl").is_available:
        return {}
    return {name: cdevice.asarray(v).to("opencl") for name, v in x.items()}


@contextmanager
def one_thread() -> Iterator[None]:
    """cdevice computes with one; afterwards with as many as before."""
    import cdevice.compute as cc

    threads = cc.cpu_count()
    cc.set_cpu_count(1)
    try:
        yield
    finally:
        cc.set_cpu_count(threads)


def waited(call: Any) -> Any:
    """A call that ends when the device has done its work."""
    return lambda: call().synchronize()


def beside(
    ours: Calls,
    pyarrow: Calls,
    polars: Calls,
    targets: Mapping[str, tuple[float | None, float | None]],
    pairs: Pairs,
    few: int,
    opencl: Calls | None = None,
) -> list[tuple[Any, ...]]:
    """(device, function, their ms, ms, ratio, target) of each call that has targets, one beside each that there is.

    ``targets``: the least ratio of pyarrow's time to cdevice's, and of polars'; None: no promise.  ``opencl``: the
    calls of cdevice there, which are held against those with one thread of the CPU.  What another library has not is
    left out."""
    found: list[tuple[Any, ...]] = []
    with one_thread():
        for name, (of_pyarrow, of_polars) in targets.items():
            if name in pyarrow and chosen(name):
                found.append(("cpu", name, *pairs(pyarrow[name], ours[name], few), of_pyarrow))
            if name in polars and chosen(f"{name}, polars"):
                found.append(("cpu", f"{name}, polars", *pairs(polars[name], ours[name], few), of_polars))
            if opencl and of_pyarrow is not None and chosen(f"{name}, a thread of the CPU"):
                found.append(
                    ("opencl", f"{name}, a thread of the CPU", *pairs(ours[name], waited(opencl[name]), few), OPENCL)
                )
    return found
