"""CUDA beside bare calls of its driver, and beside cupy where it is installed: ratios in one run, sides interleaved."""

from __future__ import annotations

import ctypes
import os
import time

from . import gpu_functions
from .table import aim, named
from .timing import compare
from .transfer import struct_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def _driver() -> Any:
    return ctypes.CDLL(os.environ.get("CDEVICE_CUDA_LIBRARY", "libcuda.so.1"))


def _current(table: Any) -> None:
    """Makes device 0 current for good in this thread: bare calls need it."""
    from .._runtime.ext import ffi

    memory = ffi.cast("cdevice_memory *", table.extension(table.self, ffi.new("char[]", b"cdevice.memory/1")))
    memory.enter(table.self, 0, ffi.new("void **"), ffi.NULL)


class Bare:
    """Calls of the driver's library that must succeed."""

    def __init__(self) -> None:
        self.driver = _driver()

    def copy(self, target: Any, source: Any, nbytes: int) -> None:
        """From the host; `target`, `source`: ctypes pointers."""
        assert self.driver.cuMemcpyHtoDAsync_v2(target, source, ctypes.c_size_t(nbytes), None) == 0

    def wait(self) -> None:
        assert self.driver.cuCtxSynchronize() == 0


def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        return None
    return cupy if cupy.cuda.is_available() else None


def at_least(title: str, target: Any, bare: Any, ours: Any, rounds: int) -> Any:
    a, b = compare(bare, ours, rounds)
    return title, a, b, a / b, f"{target:g}x", a / b >= target


def shared(run: Any, rounds: int) -> Iterator[Any]:
    """A row for the helping threads, where there are any."""
    from .._runtime.ext import lib

    threads = lib.cdv_threads(lib.CDV_POOL_COPIES, 0)

    def by_one() -> None:
        lib.cdv_threads(lib.CDV_POOL_COPIES, 1)
        run()
        lib.cdv_threads(lib.CDV_POOL_COPIES, threads)

    if threads > 1:
        yield at_least(f"the same, {threads} copying threads beside one", 1, by_one, run, rounds)


def pinned_to_device(bare: Any, nbytes: int, rounds: int) -> Iterator[Any]:
    """From pinned host memory, waited for on both sides."""
    import numpy as np

    import cdevice

    pinned = cdevice.asarray(np.arange(nbytes // 8)).to("cuda_host")
    pinned.synchronize()
    there = pinned.to("cuda")
    there.synchronize()
    target, source = (ctypes.c_void_p(a.buffers[1].address) for a in (there, pinned))

    def bare_pinned() -> None:
        bare.copy(target, source, nbytes)
        bare.wait()

    title = f"{nbytes >> 20} MiB, pinned host to device"
    yield at_least(title, 0.95, bare_pinned, lambda: pinned.to("cuda").synchronize(), rounds)


def pageable_to_device(bare: Any, cupy: Any, nbytes: int, rounds: int) -> Iterator[Any]:
    import numpy as np

    import cdevice

    values = np.arange(nbytes // 8)
    array = cdevice.asarray(values)
    if cupy is not None:

        def bare_pageable() -> None:
            cupy.asarray(values)
            cupy.cuda.runtime.deviceSynchronize()
    else:
        block = array.to("cuda")
        place, source = ctypes.c_void_p(block.buffers[1].address), ctypes.c_void_p(values.ctypes.data)

        def bare_pageable() -> None:
            bare.copy(place, source, values.nbytes)
            bare.wait()

    ours = lambda: array.to("cuda").synchronize()
    beside = "cupy.asarray" if cupy is not None else "bare copy"
    yield at_least(f"{values.nbytes >> 20} MiB, pageable to device, beside {beside}", 1, bare_pageable, ours, rounds)
    yield from shared(ours, rounds)


def wide_to_device(bare: Any, cupy: Any, rounds: int) -> Iterator[Any]:
    import numpy as np

    columns = [np.arange(10_000) for _ in range(1000)]
    batch = struct_of(columns)
    if cupy is not None:

        def bare_wide() -> None:
            kept = [cupy.asarray(c) for c in columns]
            cupy.cuda.runtime.deviceSynchronize()
            del kept
    else:

        def bare_wide() -> None:
            made = [ctypes.c_uint64() for _ in columns]
            for c, p in zip(columns, made):
                assert bare.driver.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(80_000)) == 0
                bare.copy(p, ctypes.c_void_p(c.ctypes.data), 80_000)
            bare.wait()
            for p in made:
                bare.driver.cuMemFree_v2(p)

    ours = lambda: batch.to("cuda").synchronize()
    beside = "cupy.asarray each" if cupy is not None else "cuMemAlloc and copy each"
    yield at_least(f"1000 columns x 10000 rows, beside {beside}", 5, bare_wide, ours, rounds)
    yield from shared(ours, rounds)


def at_most(title: str, limit: Any, rounds: int, run: Any, after: Any = lambda: None, n: Any = 256) -> Any:
    """The best round's time of a call; run(i), after() each round."""
    best = float("inf")
    for _ in range(rounds + 1):  # the first one fills the pool
        t0 = time.perf_counter()
        for i in range(n):
            run(i)
        best = min(best, (time.perf_counter() - t0) / n)
        after()
    return title, None, best, best, f"{limit * 1e6:g} us", best <= limit


def calls(bare: Any, table: Any, rounds: int) -> Iterator[Any]:
    """What one allocation costs, and one event."""
    import numpy as np

    import cdevice

    from .._runtime.ext import ffi

    blocks = ffi.new("cdevice_block[256]")

    def from_pool(i: int) -> None:
        table.alloc(table.self, 0, 4096, ffi.NULL, blocks + i, ffi.NULL)

    def give_back() -> None:
        for i in range(256):
            table.free(table.self, blocks + i)
        for _ in range(2):  # records behind them, then looks which have passed
            cdevice.device("cuda").memory()
            bare.driver.cuCtxSynchronize()

    small = cdevice.asarray(np.arange(100)).to("cuda")
    small.synchronize()
    event, struct = ffi.new("cdevice_event *"), ffi.new("struct ArrowDeviceArray *")
    array_of_it = ffi.addressof(struct, "array")

    def exported(_: Any) -> None:
        table.event_record(table.self, 0, ffi.NULL, event, ffi.NULL)
        small.export_to_c(struct)
        array_of_it.release(array_of_it)
        table.event_destroy(table.self, 0, event)

    yield at_most("allocate 4 KiB from the pool", 1e-6, rounds, from_pool, give_back)
    yield at_most("record an event, export, release", 3e-6, rounds, exported)


def rows(rounds: int, big: Any = 1 << 30) -> Any:
    """[(title, bare s, cdevice's s, ratio or seconds, target, reached)]; [] without a GPU.  ``big``: largest bytes."""
    import cdevice

    from .._runtime.ext import lib

    if not cdevice.device("cuda").is_available:
        return []
    bare, cupy, table = Bare(), _cupy(), lib.cdv_backend_table(2)
    if hasattr(bare.driver, "hostrt_face"):
        big = 1 << 24
    _current(table)
    return [
        *pinned_to_device(bare, big, rounds),
        *pageable_to_device(bare, cupy, big // 4, rounds),
        *wide_to_device(bare, cupy, rounds),
        *calls(bare, table, rounds),
    ]


def report(found: Any) -> None:
    for title, bare, ours, value, target, reached in found:
        mark = aim(f"target {target}", reached)
        if bare is None:
            print(f"{title:64} {ours * 1e6:9.2f} us{'':22}{mark}")
        else:
            print(f"{title:64} {bare * 1e3:9.3f} ms {ours * 1e3:9.3f} ms {value:6.2f}x{mark}")


def section(libs: Any, options: Any) -> Any:
    found = rows(3 if options.quick else 11)
    if not found:
        return {}
    print()
    if stand_in := hasattr(_driver(), "hostrt_face"):
        print("a stand-in for CUDA's driver is loaded: what follows are no figures")
    report(found)
    functions = gpu_functions.rows(_cupy(), 3 if options.quick else 7, stand_in)
    report(functions)
    found += functions
    return {"gpu": named(found, "row", "bare_s", "cdevice_s", "value", "target", "reached")}
