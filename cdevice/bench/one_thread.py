"""Calls of cdevice beside those of pyarrow and polars, with one thread: rows of the section ``compute``."""

from __future__ import annotations

from contextlib import contextmanager

from .table import chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Pairs = Callable[[Any, Any, int], tuple[float, float, float]]
    Calls = Mapping[str, Any]


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


def beside(
    ours: Calls,
    pyarrow: Calls,
    polars: Calls,
    targets: Mapping[str, tuple[float | None, float | None]],
    pairs: Pairs,
    few: int,
) -> list[tuple[Any, ...]]:
    """(device, function, their ms, ms, ratio, target) of each call that has targets, one beside each that there is.

    ``targets``: the least ratio of pyarrow's time to cdevice's, and of polars'; None: no promise"""
    found: list[tuple[Any, ...]] = []
    with one_thread():
        for name, (of_pyarrow, of_polars) in targets.items():
            if chosen(name):
                found.append(("cpu", name, *pairs(pyarrow[name], ours[name], few), of_pyarrow))
            if name in polars and chosen(f"{name}, polars"):
                found.append(("cpu", f"{name}, polars", *pairs(polars[name], ours[name], few), of_polars))
    return found
