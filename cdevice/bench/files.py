"""A file that is larger than the memory, as a stream: TPC-H's question 6 of Parquet.  For ``python -m cdevice bench``.

In a process of its own whose peak of memory is shown beside the size of the table.  Floors of the same process: the
file decoded and nothing computed, and the same batches computed when they are on the device already.  A stream with
``prefetch`` overlaps the two: its time beside the longer of them.  Answers are compared with pyarrow's.
"""

from __future__ import annotations

import json
import os
import tempfile

from .process import child, where
from .table import named, table, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROWS, BATCH = 10_000_000, 1 << 18
COLUMNS = ["shipped", "discount", "quantity", "price"]
BY_DECODE = 1.2  # most, on the CPU: the time of question 6 by that of decoding
OVERLAP = 0.9  # least, on a device: the longer of decoding and computing by the stream's time
MEMORY = 0.5  # most: memory beside that of the empty process, by the bytes of the table

CHILD = """
import os, sys
sys.path.append({where!r})
os.environ.update(POCL_MAX_PTHREAD_COUNT="{threads}", POCL_CPU_MAX_CU_COUNT="{threads}")
import json
from cdevice.bench.files import measure
print(json.dumps(measure({path!r}, {device!r}, {threads}, {rounds})))
"""


def _peak() -> int:
    """Bytes of memory that the process had at most."""
    with open("/proc/self/status") as f:
        line = next(x for x in f if x.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def measure(path: str, device: str, threads: int, rounds: int) -> dict[str, float]:
    """Seconds of decoding, of computing, of the stream, its answer, and bytes of memory.  In a process of its own."""
    import time

    import pyarrow as pa
    import pyarrow.dataset as ds

    import cdevice
    import cdevice.compute as cc

    from .expressions import _FIRST, _LAST

    cc.set_cpu_count(threads)
    pa.set_cpu_count(threads)
    f = cc.field
    condition = (f("shipped") >= _FIRST) & (f("shipped") < _LAST)
    condition &= (f("discount") >= 0.05) & (f("discount") <= 0.07) & (f("quantity") < 24)
    asked = {"revenue": (f("price") * f("discount"), "sum")}
    columns = {n: f(n) for n in COLUMNS}

    def decode() -> None:
        scanner = ds.dataset(path).scanner(columns=COLUMNS, batch_size=BATCH)
        for _ in scanner.to_batches():
            pass

    def stream() -> Any:
        found = cdevice.scan(path, columns=columns, batch_rows=BATCH)
        if device != "cpu":
            found = found.to(device, prefetch=2)
        return found.aggregate(asked, where=condition).field("revenue").to("cpu").to_pylist()[0]

    def timed(call: Any) -> float:
        best = float("inf")
        for _ in range(rounds):
            begin = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - begin)
        return best

    decode()
    before = _peak()
    answer = stream()
    seconds = timed(stream)
    memory = max(_peak() - before, 0)
    decoded = timed(decode)
    batches = [b.to(device) for b in cdevice.scan(path, columns=columns, batch_rows=BATCH)]
    computed = timed(lambda: cc.aggregate(batches, asked, where=condition).to("cpu", copy=True))
    return {"decode": decoded, "compute": computed, "stream": seconds, "memory": memory, "answer": answer}


def section(libs: Any, options: Any) -> Any:
    """Measures and prints; {"files": rows}."""
    import math

    import pyarrow as pa
    import pyarrow.parquet as pq

    import cdevice

    from .expressions import _pyarrow, lineitem

    rows = options.rows or (500_000 if options.quick else ROWS)
    data = lineitem(rows)
    answer = _pyarrow(data)["TPC-H Q6"]()
    nbytes = sum(data.column(n).nbytes for n in COLUMNS)
    threads = min(os.cpu_count() or 1, 2)
    found: list[tuple[Any, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lineitem.parquet")
        pq.write_table(pa.table(data), path, row_group_size=BATCH)
        for device in ("cpu", "opencl"):
            if device != "cpu" and not cdevice.device(device).is_available:
                continue
            code = CHILD.format(where=where(), path=path, device=device, threads=threads, rounds=3)
            got = json.loads(child(code)[1].splitlines()[-1])
            if not math.isclose(got["answer"], answer, rel_tol=1e-9):
                raise AssertionError(f"question 6 on {device}: {got['answer']}, pyarrow {answer}")
            ms = [got[word] * 1e3 for word in ("decode", "compute", "stream")]
            found.append((device, *ms, got["memory"] / nbytes))
    lines = []
    for device, decoded, computed, seconds, memory in found:
        ratio = seconds / decoded if device == "cpu" else max(decoded, computed) / seconds
        least = f"<= {BY_DECODE:g} of decode" if device == "cpu" else f">= {OVERLAP:g}"
        good = (ratio <= BY_DECODE if device == "cpu" else ratio >= OVERLAP) and memory <= MEMORY
        words = [f"{x:,.0f}" for x in (decoded, computed, seconds)]
        lines.append((f"question 6 of Parquet, {rows:,} rows", device, *words, f"{ratio:.2f}", f"{memory:.2f}",
                      f"{least}, memory {MEMORY:g}", verdict(good)))  # fmt: skip
    table(("ms", "device", "decode", "compute", "stream", "ratio", "memory by the table", "target", ""), lines)
    print()
    return {"files": named(found, "device", "decode ms", "compute ms", "ms", "memory by the table")}
