"""Draws docs/overlap.svg: when batches of a Parquet file are decoded, copied and computed.

python tests/support/overlap.py [DEVICE] [ROWS]
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import cdevice
import cdevice.compute as cc
from cdevice.cli.timeline import Span, svg

BATCHES = 8
LANES = ("decode", "copy to device", "kernel")
COLORS = ("#4477aa", "#ccbb44", "#228833")


def _file(folder, rows):
    rng = np.random.default_rng(1)
    table = pa.table({name: rng.random(rows * BATCHES) for name in "abcd"})
    path = os.path.join(folder, "table.parquet")
    pq.write_table(table, path, row_group_size=rows, compression="zstd")
    return path


def _decoded(path, rows, spans):
    """Batches, with the time that each took."""
    file = pq.ParquetFile(path)
    for i in range(BATCHES):
        begin = time.monotonic_ns()
        batch = file.read_row_group(i).combine_chunks().to_batches()[0]
        spans.append(("decode", begin, time.monotonic_ns(), i))
        yield batch


def _query(path, rows, device, spans):
    schema = pq.read_schema(path)
    source = pa.RecordBatchReader.from_batches(schema, _decoded(path, rows, spans))
    late = cc.field("c") > 0.5
    revenue = cc.exp(cc.field("a")) * cc.ln(cc.field("b") + 1.0) + cc.sin(cc.field("d"))
    return cdevice.asstream(source).to(device, prefetch=2).filter(late).with_columns(r=revenue)


def measured(device, rows):
    """[(lane, begin, end, batch)] in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        path, spans = _file(folder, rows), []
        for batch in _query(path, rows, device, []):  # builds the kernels
            batch.synchronize()
        begin = time.monotonic_ns()
        with device.profile() as profile:
            for batch in _query(path, rows, device, spans):
                batch.synchronize()
        out = [(lane, (b - begin) / 1e6, (e - begin) / 1e6, i) for lane, b, e, i in spans]
    for lane in LANES[1:]:
        out += [(lane, e.begin_ns / 1e6, e.end_ns / 1e6, None) for e in profile.events if e.kind == lane]
    return out


def picture(spans, device, rows):
    colours = dict(zip(LANES, COLORS, strict=True))
    drawn = [Span(lane, b, e, colours[lane], "" if i is None else str(i), "") for lane, b, e, i in spans]
    return svg(drawn, f"{BATCHES} batches of {rows:,} rows on {device}", list(LANES))


def covered(spans, lane):
    """Milliseconds in which a lane has something to do."""
    total, until = 0.0, 0.0
    for _, b, e, _ in sorted((s for s in spans if s[0] == lane), key=lambda s: s[1]):
        total, until = total + max(0.0, e - max(b, until)), max(until, e)
    return total


if __name__ == "__main__":
    device = cdevice.device(sys.argv[1] if len(sys.argv) > 1 else "opencl")
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 500_000
    spans = measured(device, rows)
    target = Path(__file__).resolve().parents[2] / "docs" / "overlap.svg"
    target.write_text(picture(spans, device, rows))
    whole = max(e for _, _, e, _ in spans)
    for lane in LANES:
        print(f"{lane:>15}: {covered(spans, lane):8.1f} ms of {whole:.1f}")
