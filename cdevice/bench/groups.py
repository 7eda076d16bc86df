"""Groups and joins beside pyarrow, polars and duckdb: db-benchmark's questions.  For ``python -m cdevice bench``.

Ten million rows (``--rows``), with two threads and with one, in processes of their own, because polars and PoCL count
their threads once.  Ratio: of groups that of the best of the three, of joins and on OpenCL that of the library that is
named; of streams that of one array of the same rows.  ``--quick``: a hundred thousand rows, all threads.
``--questions q4,string key``: only rows with these words.  A row is printed as soon as it is measured.
"""

from __future__ import annotations

import json
import os

from .process import lines, where
from .table import Growing, named, number, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

ROWS = 10_000_000
PEERS = ("pyarrow", "polars", "duckdb")
# the least ratio of the best one's time to cdevice's, by question; with one thread it is 2
GROUP_TARGETS = {"q1": 1.7, "q2": 1.3, "q3": 1.8, "q4": 1.8, "q5": 2.5, "q7": 2.5, "q10": 2.5}
GROUP_TARGETS |= {"q6": 1, "q8": 1, "q9": 1}
ONE_THREAD = 2.0
OPENCL_TARGETS = {"q1": 1.3, "q4": 1.3, "q5": 1.3}  # beside pyarrow; the others 1
JOIN_TARGETS = {"pyarrow": 2.5, "polars": 1.5}
JOIN_OF_ALL = 5.0  # beside both
REPEATED = 1.5  # beside pyarrow, and of the kinds that are neither inner nor left
STREAM = 0.9  # beside one array
WIDTHS = (40, 6, 7, 8, 8, 8, 8, 8, 6, 6, 6)

CHILD = """
import os, sys
sys.path.append({where!r})
os.environ.update(POLARS_MAX_THREADS="{threads}", POCL_MAX_PTHREAD_COUNT="{threads}", POCL_CPU_MAX_CU_COUNT="{threads}",
                  OMP_NUM_THREADS="{threads}")
import json
results = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # libraries print what they like
from cdevice.bench.group_questions import ask
for found in ask({rows}, {threads}, {rounds}, {opencl}, {questions!r}):
    print(json.dumps(found), file=results, flush=True)
"""


def measure(rows: int, threads: int, rounds: int, opencl: bool, questions: str | None) -> Iterator[dict[str, Any]]:
    """What ``group_questions.ask`` finds in a process with so many threads, as it finds it."""
    code = CHILD.format(where=where(), rows=rows, threads=threads, rounds=rounds, opencl=opencl, questions=questions)
    return map(json.loads, lines(code))


def _targets(kind: str, title: str, device: str, threads: int) -> Iterator[tuple[str, float | None]]:
    """(beside which library, "": the best; the least ratio)"""
    question = title.split()[0]
    if kind == "groups" and device == "cpu":
        yield "", GROUP_TARGETS[question] if threads > 1 else None if question in ("q6", "q8", "q9") else ONE_THREAD
    elif kind == "groups":
        yield "pyarrow", OPENCL_TARGETS.get(question, 1.0) if threads > 1 else None
    elif kind == "streams":
        yield "array", STREAM
    elif device != "cpu":
        yield "pyarrow", None
    elif "twice" in title or question not in ("inner,", "left,"):
        yield "pyarrow", REPEATED
    else:
        for peer, least in JOIN_TARGETS.items():
            yield peer, JOIN_OF_ALL if title.endswith(", all") else least


def compared(of: dict[str, Any], threads: int) -> list[tuple[Any, ...]]:
    """[(threads, device, question, ms of each peer, ms, beside which, ratio, least ratio)] of one that was asked."""
    kind, title, ms = of["kind"], of["title"], of["ms"]
    rows: list[tuple[Any, ...]] = []
    peers = ("array",) if kind == "streams" else PEERS
    theirs = {name: ms[name] for name in peers if name in ms}
    for device, ours in (("cpu", "stream" if kind == "streams" else "cpu"), ("opencl", "opencl")):
        for peer, least in _targets(kind, title, device, threads) if ours in ms else ():
            beside = peer or min(theirs, key=lambda name: theirs[name])
            if beside in theirs:
                ratio = theirs[beside] / ms[ours]
                rows.append((threads, device, title, *map(theirs.get, PEERS), ms[ours], beside, ratio, least))
    return rows


def wrong(of: dict[str, Any]) -> list[str]:
    """The answers that are not pyarrow's."""
    return [f"{of['title']}: {name}: {what}" for name, what in of["wrong"].items()]


def _cells(row: tuple[Any, ...]) -> tuple[Any, ...]:
    threads, device, title, *peers, ours, beside, ratio, least = row
    reached = None if least is None else ratio >= least
    target = "" if least is None else f"{least:g}"
    return (title, device, threads, *map(number, peers), number(ours), beside, f"{ratio:.2f}", target,
            verdict(reached))  # fmt: skip


def section(libs: Any, options: Any) -> dict[str, Any]:
    """Measures and prints; {"groups": rows, "groups wrong": answers that are not pyarrow's}."""
    import cdevice

    if "pyarrow" not in libs:
        print("left out: groups (pyarrow is the judge of answers)\n")
        return {}
    rows = options.rows or (ROWS // 100 if options.quick else ROWS)
    cores = min(os.cpu_count() or 1, 2)
    rounds = 1 if options.quick else min(options.rounds, 3)
    opencl = cdevice.device("opencl").is_available
    found: list[tuple[Any, ...]] = []
    differ: list[str] = []
    head = (f"groups and joins, {rows:,} rows; ms", "device", "threads", *PEERS, "cdevice", "beside", "ratio")
    table = Growing((*head, "target", ""), WIDTHS)
    missing: dict[str, None] = {}
    for threads in dict.fromkeys([cores] if options.quick else [cores, 1]):
        try:
            for of in measure(rows, threads, rounds, opencl, options.questions):
                missing |= dict.fromkeys(of.get("missing", ()))
                if "title" not in of:
                    continue
                for row in compared(of, threads):
                    found.append(row)
                    table.add(_cells(row))
                for text in wrong(of):
                    differ.append(text)
                    print(f"WRONG: {text}", flush=True)
        except RuntimeError as e:
            print(f"left out: groups with {threads} threads ({e})", flush=True)
    for name in missing:
        print(f'left out: {name} (not installed); pip install "cdevice[bench]"')
    print()
    keys = ("threads", "device", "question", "pyarrow ms", "polars ms", "duckdb ms", "ms", "beside", "ratio", "target")
    return {"groups": named(found, *keys), "groups wrong": differ}
