"""Streams beside their peers: per batch, in Python and in C.

The rows in C need Arrow C++ as a peer: a small program of the source tree (tests/peers), whose folder is named by
CDEVICE_PEERS, as ci/bench does.
"""

from __future__ import annotations

import array
import asyncio
import importlib.util
import os
import time
from functools import partial

from .table import aim, named, number, shown, table, verdict
from .timing import interleaved, tidy_heap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


BATCHES = 1000
COLUMNS = 3
ROWS = 100


def _peer() -> Any:
    """The C++ peer's functions, or None with the reason."""
    folder = os.environ.get("CDEVICE_PEERS")
    if not folder:
        return None, "run ci/bench in the source tree"
    spec = importlib.util.spec_from_file_location("peers_build", os.path.join(folder, "build.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return module.load(), ""
    except module.Unavailable as e:
        return None, str(e)


def _seconds(run: Any) -> Any:
    """ns per batch of a call that returns how many there were."""
    tidy_heap()
    t0 = time.perf_counter()
    n = run()
    return (time.perf_counter() - t0) / n * 1e9


class _Handed:
    """Hands a stream on through its capsule, as to a library that does not know its class."""

    def __init__(self, stream: Any) -> None:
        self.__arrow_c_device_stream__ = stream.__arrow_c_device_stream__


def _count(stream: Any) -> Any:
    n = 0
    for _ in stream:
        n += 1
    return n


def in_python(libs: Any, ours: Any, rounds: int) -> Any:
    """Rows of a stream that is handed on by capsule and read in Python; theirs are streams of the CPU."""
    import cdevice

    values = array.array("q", range(ROWS))
    runs = {"cdevice": lambda: _seconds(lambda: _count(cdevice.asstream(_Handed(cdevice.asstream(ours)))))}
    if "nanoarrow" in libs:
        na = libs["nanoarrow"].na
        stream_class = type(na.c_array_stream([1], na.int64()))
        theirs = [libs["nanoarrow"].batch(COLUMNS, values) for _ in range(BATCHES)]
        schema = theirs[0].schema

        def drain_nanoarrow() -> Any:
            capsule = stream_class.from_c_arrays(theirs, schema, validate=False).__arrow_c_stream__()
            return _count(stream_class._import_from_c_capsule(capsule))

        runs["nanoarrow"] = lambda: _seconds(drain_nanoarrow)
    if "pyarrow" in libs:
        reader = libs["pyarrow"].lib.RecordBatchReader
        batches = [libs["pyarrow"].batch(COLUMNS, values) for _ in range(BATCHES)]

        def drain_pyarrow() -> Any:
            capsule = reader.from_batches(batches[0].schema, batches).__arrow_c_stream__()
            return _count(reader._import_from_c_capsule(capsule))

        runs["pyarrow"] = lambda: _seconds(drain_pyarrow)
    found = interleaved(rounds, **runs)
    title = f"stream of {COLUMNS} columns, in Python (theirs: CPU stream)"
    return [
        (title, peer, found[peer], found["cdevice"], target)
        for peer, target in (("nanoarrow", 3), ("pyarrow", 5))
        if peer in found
    ]


def asynchronous(small: Any, queue_size: int, n: int) -> Any:
    """ns per batch from a production to a consumer, both in C."""
    import cdevice
    from cdevice import aio
    from cdevice._runtime.ext import _native, ffi, lib

    stream = cdevice.asstream(small * n)
    consumer = aio.consume(queue_size=queue_size)
    keep, production = _native.production_open(consumer.handler_address)
    _native.production_feed(keep, stream, None)
    pointer = ffi.cast("struct cdv_producer *", production)
    t0 = time.perf_counter()
    if lib.cdv_producer_start(pointer) or lib.cdv_consumer_drain(consumer._pointer) != n:
        raise RuntimeError("the stream was cut short")
    t = time.perf_counter() - t0
    lib.cdv_producer_wait(pointer, -1)
    del keep
    return t / n * 1e9


def in_c(peer: Any, ours: Any, small: Any, rounds: int) -> Any:
    """Rows beside Arrow C++."""
    import cdevice
    from cdevice._runtime.ext import ffi

    def drained() -> Any:
        struct = ffi.new("struct ArrowDeviceArrayStream *")
        cdevice.asstream(ours).export_to_c(struct)
        return peer.peer_drain(int(ffi.cast("uintptr_t", struct)))

    found = interleaved(rounds, cdevice=drained, arrow=lambda: peer.peer_bench_stream(BATCHES, ROWS, COLUMNS))
    out = [("the same, in C, drained raw", "Arrow C++", found["arrow"], found["cdevice"], 2)]
    for queue_size, target in ((5, 5), (64, 12)):
        found = interleaved(
            max(3, rounds // 2),
            cdevice=partial(asynchronous, small, queue_size, 50_000),
            arrow=partial(peer.peer_bench_async, 10_000, queue_size, COLUMNS),
        )
        title = f"asynchronous, C to C, queue of {queue_size}"
        out.append((title, "Arrow C++", found["arrow"], found["cdevice"], target))
    return out


def _async_for(small: Any, n: int) -> tuple[float, int]:
    """(ns per batch that ``async for`` takes from a consumer, turns of the event loop)"""
    import cdevice
    from cdevice import aio

    class Counting(asyncio.SelectorEventLoop):
        turns = 0

        def _run_once(self) -> None:
            self.turns += 1
            super()._run_once()  # type: ignore[misc]

    async def main() -> float:
        consumer = aio.consume(queue_size=64)
        aio.produce(cdevice.asstream(small * n), consumer)
        t0 = time.perf_counter()
        count = 0
        async for _ in consumer:
            count += 1
        return (time.perf_counter() - t0) / count * 1e9

    loop = Counting()
    try:
        return loop.run_until_complete(main()), loop.turns
    finally:
        loop.close()


def async_for(small: Any, n: int = 50_000) -> float:
    return _async_for(small, n)[0]


def prefetched(small: Any, ahead: int, n: int) -> None:
    import cdevice

    if _count(cdevice.asstream(small * n).to("cpu", prefetch=ahead)) != n:
        raise RuntimeError("the stream was cut short")


def wake_ups(small: Any, n: int = 50_000) -> list[tuple[str, float, float | None]]:
    """[(what, sleeps of threads and rings for an event loop, or turns of it, a thousand batches; the bound)]"""
    from cdevice._runtime.ext import lib

    def of(run: Any) -> float:
        before = lib.cdv_wakeups()
        run()
        return float(lib.cdv_wakeups() - before) / n * 1000

    turns = []
    return [
        ("async for, queue of 64: sleeps and bells", of(lambda: turns.append(_async_for(small, n)[1])), 1000 / 32),
        ("async for, queue of 64: turns of the event loop", turns[0] / n * 1000, 1000 / 32),
        ("asynchronous, C to C, queue of 64: sleeps", of(lambda: asynchronous(small, 64, n)), 1000 / 32),
        ("asynchronous, C to C, queue of 5: sleeps", of(lambda: asynchronous(small, 5, n)), None),
        ("for over a stream with prefetch=64: sleeps", of(lambda: prefetched(small, 64, n)), 1000 / 16),
        ("for over a stream with prefetch=2: sleeps", of(lambda: prefetched(small, 2, n)), None),
    ]


def rows(libs: Any, rounds: int) -> Any:
    """[(title, peer, its ns per batch, cdevice's, target factor)], and a list of what was left out."""
    ours = [libs["cdevice"].batch(COLUMNS, array.array("q", range(ROWS))) for _ in range(BATCHES)]
    small = [libs["cdevice"].batch(COLUMNS, array.array("q", [1]))]
    out = in_python(libs, ours, rounds)
    peer, why = _peer()
    if peer is not None:
        out += in_c(peer, ours, small, rounds)
    found = interleaved(
        max(3, rounds // 2), cdevice=partial(async_for, small), in_c=partial(asynchronous, small, 64, 50_000)
    )
    out.append(("async for in Python, queue of 64", "ours in C", found["in_c"], found["cdevice"], 0.4))
    return out, [] if peer is not None else [f"streams in C beside Arrow C++: {why}"]


def report(found: Any, missing: Any) -> None:
    print(
        f"{'ns per batch':58}{'peer':>20}{'theirs':>10}{'cdevice':>10}{'ratio':>8}"
        + ("  target" if shown["targets"] else "")
    )
    print("-" * 118)
    for title, peer, theirs, ours, target in found:
        ratio = theirs / ours
        print(
            f"{title:58}{peer:>20}{theirs:>10,.0f}{ours:>10,.0f}{ratio:>7.1f}x" + aim(f"{target:g}x", ratio >= target)
        )
    for line in missing:
        print(f"left out: {line}")
    print()


def section(libs: Any, options: Any) -> Any:
    found, missing = rows(libs, 3 if options.quick else 11)
    print()
    report(found, missing)
    woken = wake_ups([libs["cdevice"].batch(COLUMNS, array.array("q", [1]))])
    lines = [
        [what, number(n), *([f"<= {bound:.0f}", verdict(n <= bound)] if bound else ["", ""])]
        for what, n, bound in woken
    ]
    table(["wake-ups, a thousand batches", "", "target", ""], lines)
    print()
    return {
        "streams": named(found, "row", "peer", "peer_ns", "cdevice_ns", "target"),
        "wake-ups": named(woken, "row", "a thousand batches", "bound"),
    }
