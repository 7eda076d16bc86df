"""Streams beside their peers: per batch, in Python and in C.  Part of ``python -m cdevice bench``.

The rows in C need Arrow C++ as a peer: a small program of the source tree (tests/peers), whose folder is named by
CDEVICE_PEERS, as ci/bench does.
"""

import array
import asyncio
import gc
import importlib.util
import os
import statistics
import time
from functools import partial

from .bench import tidy_heap

BATCHES = 1000
COLUMNS = 3
ROWS = 100


def _peer():
    """The C++ peer's functions, or None with the reason."""
    folder = os.environ.get("CDEVICE_PEERS")
    if not folder:
        return None, "run ci/bench in the source tree"
    spec = importlib.util.spec_from_file_location("peers_build", os.path.join(folder, "build.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return module.load(), ""
    except module.Unavailable as e:
        return None, str(e)


def _seconds(run):
    tidy_heap()
    t0 = time.perf_counter()
    n = run()
    return (time.perf_counter() - t0) / n * 1e9


def _interleaved(rounds, **runs):
    """{name: median ns per batch}, each round through all of them."""
    samples = {name: [] for name in runs}
    gc.collect()
    gc.disable()  # as for the other rows
    try:
        for _ in range(rounds + 1):
            for name, run in runs.items():
                samples[name].append(run())
    finally:
        gc.enable()
    return {name: statistics.median(s[1:]) for name, s in samples.items()}


class _Handed:
    """Hands a stream on through its capsule, as to a library that does not know its class."""

    def __init__(self, stream):
        self.__arrow_c_device_stream__ = stream.__arrow_c_device_stream__


def rows(libs, rounds):
    """[(title, peer, its ns per batch, ours, target factor)], and a list of what was left out."""
    import cdevice
    from cdevice import aio
    from cdevice._ext import _native, ffi, lib

    values = array.array("q", range(ROWS))
    ours = [libs["cdevice"].batch(COLUMNS, values) for _ in range(BATCHES)]
    small = [libs["cdevice"].batch(COLUMNS, array.array("q", [1]))]
    out, missing = [], []

    def drain_ours():
        n = 0
        for _ in cdevice.asstream(_Handed(cdevice.asstream(ours))):
            n += 1
        return n

    runs = {"cdevice": lambda: _seconds(drain_ours)}
    if "nanoarrow" in libs:
        na = libs["nanoarrow"].na
        stream_class = type(na.c_array_stream([1], na.int64()))
        theirs = [libs["nanoarrow"].batch(COLUMNS, values) for _ in range(BATCHES)]
        schema = theirs[0].schema

        def drain_nanoarrow():
            capsule = stream_class.from_c_arrays(theirs, schema, validate=False).__arrow_c_stream__()
            n = 0
            for _ in stream_class._import_from_c_capsule(capsule):
                n += 1
            return n

        runs["nanoarrow"] = lambda: _seconds(drain_nanoarrow)
    if "pyarrow" in libs:
        reader = libs["pyarrow"].lib.RecordBatchReader
        batches = [libs["pyarrow"].batch(COLUMNS, values) for _ in range(BATCHES)]

        def drain_pyarrow():
            capsule = reader.from_batches(batches[0].schema, batches).__arrow_c_stream__()
            n = 0
            for _ in reader._import_from_c_capsule(capsule):
                n += 1
            return n

        runs["pyarrow"] = lambda: _seconds(drain_pyarrow)
    found = _interleaved(rounds, **runs)
    for peer, target in (("nanoarrow", 2.4), ("pyarrow", 4)):
        if peer in found:
            title = f"stream of {COLUMNS} columns, in Python (theirs: CPU stream)"
            out.append((title, peer, found[peer], found["cdevice"], target))

    peer, why = _peer()
    if peer is None:
        missing.append(f"streams in C beside Arrow C++: {why}")
    else:

        def drained():
            struct = ffi.new("struct ArrowDeviceArrayStream *")
            cdevice.asstream(ours).export_to_c(struct)
            return peer.peer_drain(int(ffi.cast("uintptr_t", struct)))

        found = _interleaved(rounds, cdevice=drained, arrow=lambda: peer.peer_bench_stream(BATCHES, ROWS, COLUMNS))
        out.append(("the same, in C, drained raw", "Arrow C++", found["arrow"], found["cdevice"], 2))

        def asynchronous(queue_size, n):
            stream = cdevice.asstream(small * n)
            consumer = aio.consume(queue_size=queue_size)
            keep, production = _native.production_open(consumer.handler_address)
            _native.production_feed(keep, stream, None)
            pointer = ffi.cast("struct cdv_production *", production)
            t0 = time.perf_counter()
            if lib.cdv_production_start(pointer) or lib.cdv_consumer_drain(consumer._pointer) != n:
                raise RuntimeError("the stream was cut short")
            t = time.perf_counter() - t0
            lib.cdv_production_wait(pointer, -1)
            del keep
            return t / n * 1e9

        for queue_size in (5, 64):
            found = _interleaved(
                max(3, rounds // 2),
                cdevice=partial(asynchronous, queue_size, 50_000),
                arrow=partial(peer.peer_bench_async, 10_000, queue_size, COLUMNS),
            )
            title = f"asynchronous, C to C, queue of {queue_size}"
            out.append((title, "Arrow C++", found["arrow"], found["cdevice"], 5))

    def async_for():
        n = 50_000

        async def main():
            consumer = aio.consume(queue_size=64)
            aio.produce(cdevice.asstream(small * n), consumer)
            t0 = time.perf_counter()
            count = 0
            async for _ in consumer:
                count += 1
            return (time.perf_counter() - t0) / count * 1e9

        return asyncio.run(main())

    found = _interleaved(max(3, rounds // 2), cdevice=async_for)
    out.append(("async for in Python, queue of 64", "200,000 a second", 5000.0, found["cdevice"], 1))
    return out, missing


def report(found, missing):
    print(f"{'ns per batch':58}{'peer':>20}{'theirs':>10}{'cdevice':>10}{'ratio':>8}  target")
    print("-" * 118)
    for title, peer, theirs, ours, target in found:
        ratio = theirs / ours
        verdict = "ok" if ratio >= target else "MISSED"
        print(f"{title:58}{peer:>20}{theirs:>10,.0f}{ours:>10,.0f}{ratio:>7.1f}x  {target:g}x {verdict}")
    for line in missing:
        print(f"left out: {line}")
    print()
