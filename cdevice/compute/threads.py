"""Threads that kernels on the CPU are shared by."""

from __future__ import annotations

import operator

from .._runtime.ext import lib


def cpu_count() -> int:
    """How many threads share a kernel over many rows on the CPU, the caller's among them: as many as the process has
    processors, 16 at most, unless CDEVICE_COMPUTE_THREADS or :func:`set_cpu_count` set another number.

    Does not block.  Never raises.
    """
    return int(lib.cdv_threads(lib.CDV_POOL_KERNELS, 0))


def set_cpu_count(count: int) -> None:
    """Sets :func:`cpu_count` for all threads.

    ``count``: threads; 1: the caller's alone.  Results do not depend on it.  Does not block.  Raises ValueError for
    less than 1, TypeError for another type.
    """
    n = operator.index(count)
    if n < 1:
        raise ValueError(f"the number of threads must be 1 or more, not {n}")
    lib.cdv_threads(lib.CDV_POOL_KERNELS, min(n, 1 << 30))
