"""How a call is timed: rounds of all sides interleaved, medians, no garbage collection between."""

import contextlib
import gc
import itertools
import statistics
import time


@contextlib.contextmanager
def quiet():
    """No garbage collection inside."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Cell:
    """One library in one row: a function round(n) -> seconds, and its samples in ns per operation."""

    def __init__(self, lib, fn, prepared=False, limit=None):
        self.lib, self.limit, self.samples, self.n, self.error = lib, limit, [], 1, None
        self.prepared = prepared
        self.round = fn if prepared else lambda n: timed(fn, n)

    def calibrate(self, target):
        n = 1
        while True:
            t = self.round(n)
            if t >= target / 4 or (self.limit and n >= self.limit):
                break
            n *= 2 if t > target / 40 else 5
        n = max(1, int(n * target / max(t, 1e-9)))
        self.n = min(n, self.limit) if self.limit else n

    def sample(self):
        self.samples.append(self.round(self.n) / self.n * 1e9)

    @property
    def ns(self):
        return statistics.median(self.samples) if self.samples else None


def timed(fn, n):
    it = itertools.repeat(None, n)
    t0 = time.perf_counter()
    for _ in it:
        fn()
    return time.perf_counter() - t0


def tidy_heap():
    """glibc joins freed small blocks at the next large request: those of the library before would cost the next one."""
    bytearray(1 << 16)


def import_round(export, take):
    """Time `take` alone, on n pairs of capsules made beforehand."""

    def run(n):
        pairs = [export() for _ in range(n)]
        tidy_heap()
        t0 = time.perf_counter()
        out = list(itertools.starmap(take, pairs))
        t = time.perf_counter() - t0
        del out, pairs
        return t

    return run


def best(rounds, n, run):
    """ns per call in the best round of n calls."""
    return min(timed(run, n) for _ in range(rounds)) / n * 1e9


def interleaved(rounds, **runs):
    """{name: median of what its calls return}, each round through all of them."""
    samples = {name: [] for name in runs}
    with quiet():
        for _ in range(rounds + 1):
            for name, run in runs.items():
                samples[name].append(run())
    return {name: statistics.median(s[1:]) for name, s in samples.items()}


def compare(bare, ours, rounds, between=None):
    """Medians in seconds of two calls that take turns; what they return is dropped outside the time."""
    times = ([], [])
    for fn in (bare, ours):
        fn()
    with quiet():
        for _ in range(rounds):
            for fn, out in zip((bare, ours), times):
                out.append(_once(fn))
                if between:
                    between()
    return tuple(map(statistics.median, times))


def _once(fn):
    t0 = time.perf_counter()
    out = fn()
    t = time.perf_counter() - t0
    if hasattr(out, "synchronize"):
        out.synchronize()  # so that nobody finds the device awake from the other side's work
    return t
