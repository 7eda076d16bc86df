"""Rows a second of a training loop: ``cdevice.loader`` beside torch's DataLoader.  For ``python -m cdevice bench``.

Both read the same Parquet files with as many workers (threads here, processes of torch there), shuffle row groups and
the rows within one, and hand out dicts of one tensor a column.  torch's dataset decodes with pyarrow and gives whole
batches, the fastest way that it has; with rows as its items it is slower still.  Each in a process of its own; without
torch the row has no peer.
"""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile

from .process import child, where
from .table import named, table, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

ROWS, FILES, GROUP = 4_000_000, 2, 1 << 17
SIZES = (1024, 4096)
LEAST = 2.0  # times the rows a second of torch

CHILD = """
import sys
sys.path.append({where!r})
import json
from cdevice.bench.loader import {function}
print(json.dumps({function}({paths!r}, {size}, {workers}, {rounds})))
"""


def _best(loop: Any, rounds: int) -> dict[str, float]:
    """Seconds and the rows of one loop, the fastest of some."""
    import time

    best, rows, total = float("inf"), 0, 0
    for _ in range(rounds):
        begin, rows, total = time.perf_counter(), 0, 0
        for batch in loop:
            rows += len(batch["y"])
            total += int(batch["y"][0])  # the batch is there
        best = min(best, time.perf_counter() - begin)
    return {"seconds": best, "rows": rows}


def ours_loop(paths: list[str], size: int, workers: int, rounds: int) -> dict[str, float]:
    """The loop over cdevice's batches.  In a process of its own."""
    import cdevice

    kind = "torch" if importlib.util.find_spec("torch") else "numpy"
    return _best(cdevice.loader(paths, batch_size=size, shuffle=True, threads=workers, as_=kind), rounds)


def torch_loop(paths: list[str], size: int, workers: int, rounds: int) -> dict[str, float]:
    """The loop over torch's batches.  In a process of its own."""
    import numpy as np
    import pyarrow.parquet as pq
    import torch
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Batches(IterableDataset):  # type: ignore[misc, type-arg, unused-ignore]
        def __iter__(self) -> Iterable[dict[str, Any]]:  # type: ignore[override, unused-ignore]
            info = get_worker_info()
            files = [pq.ParquetFile(p) for p in paths]
            units = [(f, g) for f in files for g in range(f.num_row_groups)]
            rng = np.random.RandomState(0)
            for k in rng.permutation(len(units))[info.id :: info.num_workers]:
                file, group = units[k]
                rows = file.read_row_group(group, use_threads=False)
                order = rng.permutation(rows.num_rows)
                columns = {n: torch.from_numpy(rows.column(n).to_numpy()[order]) for n in rows.column_names}
                for at in range(0, len(order), size):
                    yield {n: c[at : at + size] for n, c in columns.items()}

    return _best(DataLoader(Batches(), batch_size=None, num_workers=workers), rounds)


def _write(folder: str, rows: int) -> list[str]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.RandomState(1)
    paths = []
    for k in range(FILES):
        n = rows // FILES
        columns: dict[str, Any] = {f"x{i}": rng.random_sample(n).astype("f4") for i in range(7)}
        columns["y"] = rng.randint(0, 10, n, "i8")
        paths.append(os.path.join(folder, f"{k}.parquet"))
        pq.write_table(pa.table(columns), paths[-1], row_group_size=GROUP)
    return paths


def section(libs: Any, options: Any) -> Any:
    """Measures and prints; {"loader": rows}."""
    rows = options.rows or (400_000 if options.quick else ROWS)
    workers = min(os.cpu_count() or 1, 2)
    there = importlib.util.find_spec("torch") is not None
    found: list[tuple[Any, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        paths = _write(folder, rows)
        for size in SIZES:
            speed = []
            for function in ("ours_loop", "torch_loop")[: 1 + there]:
                code = CHILD.format(where=where(), function=function, paths=paths, size=size, workers=workers, rounds=3)
                got = json.loads(child(code)[1].splitlines()[-1])
                if got["rows"] != rows // FILES * FILES:
                    raise AssertionError(f"{function}: {got['rows']} rows of {rows}")
                speed.append(got["rows"] / got["seconds"])
            found.append((size, speed[0], speed[1] if there else None))
    lines = []
    for size, own, peer in found:
        ratio = None if peer is None else own / peer
        lines.append((
            f"8 columns, {rows:,} rows, batches of {size:,}, {workers} workers", f"{own / 1e6:.1f}",
            "" if peer is None else f"{peer / 1e6:.1f}", "" if ratio is None else f"{ratio:.1f}", f">= {LEAST:g}",
            verdict(None if ratio is None else ratio >= LEAST),
        ))  # fmt: skip
    table(("million rows/s", "loader", "torch", "ratio", "target", ""), lines)
    print()
    return {"loader": named(found, "batch size", "rows/s", "torch rows/s")}
