"""CUDA beside bare calls of its driver, and beside cupy where it is installed: ratios in one run, sides interleaved."""

import ctypes
import time

from .bench_transfer import compare


def _driver():
    import os

    return ctypes.CDLL(os.environ.get("CDEVICE_CUDA_LIBRARY", "libcuda.so.1"))


def _current(table):
    """Makes device 0 current for good in this thread: bare calls need it."""
    from ._ext import ffi

    memory = ffi.cast("cdevice_memory *", table.extension(table.self, ffi.new("char[]", b"cdevice.memory/1")))
    memory.enter(table.self, 0, ffi.new("void **"), ffi.NULL)


def rows(rounds, big=1 << 30):
    """[(title, bare s, ours s, ratio or seconds, target, reached)]; [] without a GPU. ``big``: bytes of the largest."""
    import cdevice

    from ._ext import ffi, lib

    if not cdevice.device("cuda").is_available:
        return []
    if hasattr(_driver(), "hostrt_face"):
        big = 1 << 24
    import numpy as np

    try:
        import cupy

        cupy = cupy if cupy.cuda.is_available() else None
    except ImportError:
        cupy = None
    out = []
    table = lib.cdv_backend_for(2)
    _current(table)
    driver = _driver()
    pointer = ctypes.c_void_p

    def at_least(title, target, bare, ours, between=None):
        a, b = compare(bare, ours, rounds, between)
        out.append((title, a, b, a / b, f"{target:g}x", a / b >= target))

    # pinned host memory to the device: waited for on both sides
    pinned = cdevice.asarray(np.arange(big // 8)).to("cuda_host")
    pinned.synchronize()
    there = pinned.to("cuda")
    there.synchronize()
    target, source = there.buffers[1].address, pinned.buffers[1].address

    def bare_pinned():
        assert driver.cuMemcpyHtoDAsync_v2(pointer(target), pointer(source), ctypes.c_size_t(big), None) == 0
        assert driver.cuCtxSynchronize() == 0

    def ours_pinned():
        pinned.to("cuda").synchronize()

    at_least(f"{big >> 20} MiB, pinned host to device", 0.95, bare_pinned, ours_pinned)
    del there

    # pageable memory
    values = np.arange(big // 32)
    array = cdevice.asarray(values)
    if cupy is not None:

        def bare_pageable():
            cupy.asarray(values)
            cupy.cuda.runtime.deviceSynchronize()
    else:
        block = array.to("cuda")
        place = block.buffers[1].address

        def bare_pageable():
            size = ctypes.c_size_t(values.nbytes)
            assert driver.cuMemcpyHtoDAsync_v2(pointer(place), pointer(values.ctypes.data), size, None) == 0
            assert driver.cuCtxSynchronize() == 0

    beside = "cupy.asarray" if cupy is not None else "bare copy"
    at_least(
        f"{values.nbytes >> 20} MiB, pageable to device, beside {beside}",
        1,
        bare_pageable,
        lambda: array.to("cuda").synchronize(),
    )
    threads = lib.cdv_copy_threads(0)

    def by_one(run):
        lib.cdv_copy_threads(1)
        run()
        lib.cdv_copy_threads(threads)

    def shared(title, run):
        if threads > 1:
            at_least(f"{title}, {threads} copying threads beside one", 1, lambda: by_one(run), run)

    shared("the same", lambda: array.to("cuda").synchronize())

    # a wide batch
    columns = [np.arange(10_000) for _ in range(1000)]
    fields = [cdevice.asarray(c) for c in columns]
    schema = cdevice.Schema.make("+s", children=[f.schema.with_name(f"c{i}") for i, f in enumerate(fields)])
    batch = cdevice.from_buffers(schema, 10_000, [None], null_count=0, children=fields)
    if cupy is not None:

        def bare_wide():
            kept = [cupy.asarray(c) for c in columns]
            cupy.cuda.runtime.deviceSynchronize()
            del kept
    else:

        def bare_wide():
            made = [ctypes.c_uint64() for _ in columns]
            for c, p in zip(columns, made):
                assert driver.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(80_000)) == 0
                assert driver.cuMemcpyHtoDAsync_v2(p, pointer(c.ctypes.data), ctypes.c_size_t(80_000), None) == 0
            assert driver.cuCtxSynchronize() == 0
            for p in made:
                driver.cuMemFree_v2(p)

    beside = "cupy.asarray each" if cupy is not None else "cuMemAlloc and copy each"
    at_least(f"1000 columns x 10000 rows, beside {beside}", 5, bare_wide, lambda: batch.to("cuda").synchronize())
    shared("the same", lambda: batch.to("cuda").synchronize())

    def at_most(title, limit, run, after=lambda: None, n=256):
        best = float("inf")
        for _ in range(rounds + 1):  # the first one fills the pool
            t0 = time.perf_counter()
            for i in range(n):
                run(i)
            best = min(best, (time.perf_counter() - t0) / n)
            after()
        out.append((title, None, best, best, f"{limit * 1e6:g} us", best <= limit))

    blocks = ffi.new("cdevice_block[256]")

    def from_pool(i):
        table.alloc(table.self, 0, 4096, ffi.NULL, blocks + i, ffi.NULL)

    def give_back():
        for i in range(256):
            table.free(table.self, blocks + i)
        for _ in range(2):  # records behind them, then looks which have passed
            cdevice.device("cuda").memory()
            driver.cuCtxSynchronize()

    small = cdevice.asarray(np.arange(100)).to("cuda")
    small.synchronize()
    event, struct = ffi.new("cdevice_event *"), ffi.new("struct ArrowDeviceArray *")
    array_of_it = ffi.addressof(struct, "array")

    def exported(_):
        table.event_record(table.self, 0, ffi.NULL, event, ffi.NULL)
        small.export_to_c(struct)
        array_of_it.release(array_of_it)
        table.event_destroy(table.self, 0, event)

    at_most("allocate 4 KiB from the pool", 1e-6, from_pool, give_back)
    at_most("record an event, export, release", 3e-6, exported)
    return out


def report(found):
    if hasattr(_driver(), "hostrt_face"):
        print("a stand-in for CUDA's driver is loaded: what follows are no figures")
    for title, bare, ours, value, target, reached in found:
        mark = "" if reached else "   missed"
        if bare is None:
            print(f"{title:64} {ours * 1e6:9.2f} us{'':22} target {target}{mark}")
        else:
            print(f"{title:64} {bare * 1e3:9.3f} ms {ours * 1e3:9.3f} ms {value:6.2f}x  target {target}{mark}")
