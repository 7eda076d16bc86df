"""Arrays and streams that another process opens, beside memcpy in the same run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time

from .table import named, number, table, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OPEN = """
import cdevice, json, sys, time
token, n = bytes.fromhex(sys.argv[1]), int(sys.argv[2])
taken = []
for _ in range(n):
    begin = time.perf_counter()
    array = cdevice.open_shared(token)
    taken.append(time.perf_counter() - begin)
    del array
print(json.dumps(sorted(taken)[n // 2]))
"""
_READ = """
import cdevice, json, sys, time
stream, keep, n, kept = cdevice.open_shared(bytes.fromhex(sys.argv[1]), validate=None), int(sys.argv[2]), 0, []
for batch in stream:
    if not n:
        begin = time.perf_counter()
    if n % keep == 0:
        kept.append(batch)
    n += 1
print(json.dumps((time.perf_counter() - begin) / (n - 1)))
"""
GIB, COLUMNS = 1 << 30, 1000
_NONE = str(1 << 40)  # of so many batches a reader keeps one


def _child(code: str, *arguments: str) -> float:
    """The seconds that a new process prints."""
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=os.path.dirname(sys.executable))
    return float(json.loads(done.stdout))


def _median(call: Any, times: int) -> float:
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        out = call()
        taken.append(time.perf_counter() - begin)
        out.close()
    return statistics.median(taken)


def _copy(nbytes: int, times: int, fresh: bool) -> float:
    """Seconds of one memcpy, to memory that was touched before or not."""
    source, target, taken = bytearray(b"x" * nbytes), bytearray(nbytes), []
    for _ in range(times):
        begin = time.perf_counter()
        if fresh:
            target = bytearray(source)
        else:
            memoryview(target)[:] = source
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def _arrays(quick: bool) -> list[list[Any]]:
    import cdevice

    nbytes, times = (GIB // 16 if quick else GIB), 5 if quick else 50
    array = cdevice.empty("float64", nbytes // 8, shared=True).freeze()
    wide = cdevice.empty({f"c{i}": "int32" for i in range(COLUMNS)}, 100, shared=True).freeze()
    rows = []
    for title, one, goal in ((f"{nbytes >> 20} MiB", array, 300), (f"{COLUMNS:,} columns", wide, 1000)):
        with one.share() as shared:
            together = (_median(one.share, times) + _child(_OPEN, shared.token.hex(), str(times))) * 1e6
        rows.append([f"share() and open_shared(), {title}, us", number(together), goal, verdict(together <= goal)])
    plain = cdevice.asarray(memoryview(bytearray(b"x" * nbytes)))
    ratio = _median(plain.share, 3) / _copy(nbytes, 3, fresh=True)
    rows.append(["share() of other memory, in copies to new memory", f"{ratio:.2f}", 1.1, verdict(ratio <= 1.1)])
    return rows


def _streams(quick: bool) -> list[list[Any]]:
    import cdevice

    small = cdevice.record_batch(
        {"x": cdevice.empty("float64", 100).freeze(), "y": cdevice.empty("int64", 100).freeze()}
    )
    large = cdevice.record_batch({"x": cdevice.empty("float64", 4 << 20).freeze()})
    n, m = (10_000, 20) if quick else (200_000, 200)
    with cdevice.asstream([small] * n).share(batches=200) as s:
        rate = 1 / _child(_READ, s.token.hex(), _NONE)
    with cdevice.asstream([large] * m).share() as s:
        ratio = _copy(32 << 20, m, fresh=False) / _child(_READ, s.token.hex(), _NONE)
    # of many sizes, so that there is room for some between those that are kept
    sizes = [cdevice.record_batch({"x": cdevice.empty("uint8", 2400 + 300 * (i % 50)).freeze()}) for i in range(50)]
    with cdevice.asstream(sizes * 40).share(nbytes=1 << 16) as s:
        kept = 1 / _child(_READ, s.token.hex(), "3")
    return [
        ["batches/s of 100 rows between two processes", number(rate), 200_000, verdict(rate >= 200_000)],
        ["batches of 32 MiB, in the speed of memcpy", f"{ratio:.2f}", 0.8, verdict(ratio >= 0.8)],
        ["batches/s where every third is kept and a ring of 64 KiB is full", number(kept), 2000, verdict(kept >= 2000)],
    ]


# ---- between two workers of Dask ----
def _made_numpy(_: int, nbytes: int) -> Any:
    import numpy as np

    return np.ones(nbytes // 8)


def _made(_: int, nbytes: int) -> Any:
    import cdevice

    return cdevice.asarray(_made_numpy(0, nbytes))


def _made_shared(_: int, nbytes: int) -> Any:
    import numpy as np

    import cdevice

    out = cdevice.empty("float64", nbytes // 8, shared=True)
    np.asarray(out.buffers[1])[:] = 1
    return out.freeze()


def _page_sum(array: Any) -> float:
    """Reads a value of each page, so that what was only mapped counts, too."""
    import numpy as np

    return float(np.asarray(array)[::512].sum())


def _dask(quick: bool) -> list[list[Any]]:
    try:
        import distributed
    except ImportError:
        return [["between two Dask workers", "pip install distributed", "", ""]]
    import cdevice

    dask: Any = distributed  # its functions have no types
    nbytes, times = (16 << 20 if quick else 256 << 20), 3 if quick else 7
    silent = {"silence_logs": 50, "dashboard_address": None}
    with dask.LocalCluster(n_workers=2, threads_per_worker=1, **silent) as cluster, dask.Client(cluster) as client:
        first, second = client.scheduler_info()["workers"]

        def seconds(make: Any) -> float:
            taken = []
            for i in range(times):
                made = client.submit(make, i, nbytes, workers=first, pure=False)
                dask.wait(made)
                begin = time.perf_counter()
                client.submit(_page_sum, made, workers=second, pure=False).result()
                taken.append(time.perf_counter() - begin)
                del made
            return statistics.median(taken)

        numpy = seconds(_made_numpy)
        plain = seconds(_made)
        client.run(cdevice.sharing().start)
        rows = [("not shared", plain), ("shared", seconds(_made)), ("made shared", seconds(_made_shared))]
    return [
        [
            f"{nbytes >> 20} MiB between two Dask workers, {title}, in numpy's speed",
            f"{numpy / t:.2f}",
            1,
            verdict(numpy >= t),
        ]
        for title, t in rows
    ]


def section(libs: Any, options: Any) -> Any:
    """Prints the table; returns its rows."""
    print("\nShared with another process")
    rows = [*_arrays(options.quick), *_streams(options.quick), *_dask(options.quick)]
    table(["", "measured", "target", ""], rows)
    return {"shared": named([r[:3] for r in rows], "row", "measured", "target")}
