"""How a call is timed: rounds of all sides interleaved, medians, no garbage collection between."""

from __future__ import annotations

import contextlib
import gc
import itertools
import statistics
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@contextlib.contextmanager
def quiet() -> Iterator[Any]:
    """No garbage collection inside."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Cell:
    """One library in one row: a function round(n) -> seconds, and its samples in ns per operation."""

    def __init__(self, lib: Any, fn: Any, prepared: Any = False, limit: Any = None) -> None:
        self.lib, self.limit, self.n, self.error = lib, limit, 1, None
        self.samples: list[float] = []
        self.prepared = prepared
        self.round = fn if prepared else lambda n: timed(fn, n)

    def calibrate(self, target: Any) -> None:
        n = 1
        while True:
            t = self.round(n)
            if t >= target / 4 or (self.limit and n >= self.limit):
                break
            n *= 2 if t > target / 40 else 5
        n = max(1, int(n * target / max(t, 1e-9)))
        self.n = min(n, self.limit) if self.limit else n

    def sample(self) -> None:
        self.samples.append(self.round(self.n) / self.n * 1e9)

    @property
    def ns(self) -> Any:
        return statistics.median(self.samples) if self.samples else None


def timed(fn: Any, n: int) -> float:
    it = itertools.repeat(None, n)
    t0 = time.perf_counter()
    for _ in it:
        fn()
    return time.perf_counter() - t0


def in_turns(cells: Any, rounds: int, target: float) -> None:
    """Samples of each, one after the other, with nothing collected meanwhile."""
    with quiet():
        for c in cells:
            c.round(3)
            c.calibrate(target)
        for _ in range(rounds):
            for c in cells:
                c.sample()


def tidy_heap() -> None:
    """glibc joins freed small blocks at the next large request: those of the library before would cost the next one."""
    bytearray(1 << 16)


def import_round(export: Any, take: Any) -> Any:
    """Time `take` alone, on n pairs of capsules made beforehand."""

    def run(n: int) -> Any:
        pairs = [export() for _ in range(n)]
        tidy_heap()
        t0 = time.perf_counter()
        out = list(itertools.starmap(take, pairs))
        t = time.perf_counter() - t0
        del out, pairs
        return t

    return run


def best(rounds: int, n: int, run: Any) -> Any:
    """ns per call in the best round of n calls."""
    return min(timed(run, n) for _ in range(rounds)) / n * 1e9


def interleaved(rounds: int, **runs: Any) -> Any:
    """{name: median of what its calls return}, each round through all of them."""
    samples: dict[str, list[float]] = {name: [] for name in runs}
    with quiet():
        for _ in range(rounds + 1):
            for name, run in runs.items():
                samples[name].append(run())
    return {name: statistics.median(s[1:]) for name, s in samples.items()}


def compare(bare: Any, ours: Any, rounds: int, between: Any = None) -> Any:
    """Medians in seconds of two calls that take turns; what they return is dropped outside the time."""
    times: tuple[list[float], list[float]] = ([], [])
    for fn in (bare, ours):
        fn()
    with quiet():
        for _ in range(rounds):
            for fn, out in zip((bare, ours), times):
                out.append(_once(fn))
                if between:
                    between()
    return tuple(map(statistics.median, times))


def _once(fn: Any) -> Any:
    t0 = time.perf_counter()
    out = fn()
    t = time.perf_counter() - t0
    if hasattr(out, "synchronize"):
        out.synchronize()  # so that neither side finds the device awake from the other's work
    return t


def pairs(theirs: Any, ours: Any, rounds: int) -> tuple[float, float, float]:
    """(their ms, cdevice's ms, median of the ratios) of two calls that take turns."""
    for fn in (theirs, ours):
        fn()
    times: tuple[list[float], list[float]] = ([], [])
    with quiet():
        for k in range(rounds):
            both = ((theirs, times[0]), (ours, times[1]))
            for fn, out in both if k % 2 else both[::-1]:
                out.append(_once(fn))
    ratios = [a / b for a, b in zip(*times)]
    return (*(statistics.median(t) * 1e3 for t in times), statistics.median(ratios))  # type: ignore[return-value]
