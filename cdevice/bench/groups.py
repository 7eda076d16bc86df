"""Groups and joins beside pyarrow, polars and duckdb: db-benchmark's questions.  For ``python -m cdevice bench``.

Ten million rows (``--rows``), with two threads and with one, in processes of their own, because polars and PoCL count
their threads once.  Ratio: of groups that of the best of the three, of joins and on OpenCL that of the library that is
named.  ``--quick``: a hundred thousand rows, all threads.
"""

from __future__ import annotations

import json
import os

from .process import child, where
from .table import named, number, table, verdict

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
REPEATED = 1.5  # beside pyarrow

CHILD = """
import os, sys
sys.path.append({where!r})
os.environ.update(POLARS_MAX_THREADS="{threads}", POCL_MAX_PTHREAD_COUNT="{threads}", POCL_CPU_MAX_CU_COUNT="{threads}",
                  OMP_NUM_THREADS="{threads}")
import json
from cdevice.bench.group_questions import ask
print(json.dumps(ask({rows}, {threads}, {rounds}, {opencl})))
"""


def measure(rows: int, threads: int, rounds: int, opencl: bool) -> dict[str, Any]:
    """What ``group_questions.ask`` has found in a process with so many threads."""
    code = CHILD.format(where=where(), rows=rows, threads=threads, rounds=rounds, opencl=opencl)
    found: dict[str, Any] = json.loads(child(code)[1].splitlines()[-1])
    return found


def _targets(kind: str, title: str, device: str, threads: int) -> Iterator[tuple[str, float | None]]:
    """(beside which library, "": the best; the least ratio)"""
    question = title.split()[0]
    if kind == "groups" and device == "cpu":
        yield "", GROUP_TARGETS[question] if threads > 1 else None if question in ("q6", "q8", "q9") else ONE_THREAD
    elif kind == "groups":
        yield "pyarrow", OPENCL_TARGETS.get(question, 1.0) if threads > 1 else None
    elif device != "cpu":
        yield "pyarrow", None
    elif "twice" in title:
        yield "pyarrow", REPEATED
    else:
        for peer, least in JOIN_TARGETS.items():
            yield peer, JOIN_OF_ALL if title.endswith(", all") else least


def compared(found: dict[str, Any], threads: int) -> list[tuple[Any, ...]]:
    """[(threads, device, question, ms of each peer, ms, beside which, ratio, least ratio)]"""
    rows: list[tuple[Any, ...]] = []
    for kind in ("groups", "joins"):
        for title, of in found[kind].items():
            ms = of["ms"]
            theirs = {name: ms[name] for name in PEERS if name in ms}
            for device in ("cpu", "opencl"):
                if device not in ms:
                    continue
                for peer, least in _targets(kind, title, device, threads):
                    beside = peer or min(theirs, key=lambda name: theirs[name])
                    if beside in theirs:
                        ratio = theirs[beside] / ms[device]
                        peers = [theirs.get(name) for name in PEERS]
                        rows.append((threads, device, title, *peers, ms[device], beside, ratio, least))
    return rows


def wrong(found: dict[str, Any]) -> list[str]:
    """The answers that are not pyarrow's."""
    every = [*found["groups"].items(), *found["joins"].items()]
    return [f"{title}: {name}: {what}" for title, of in every for name, what in of["wrong"].items()]


def report(rows: int, found: list[tuple[Any, ...]], others: list[str]) -> None:
    lines = []
    for threads, device, title, *peers, ours, beside, ratio, least in found:
        reached = None if least is None else ratio >= least
        target = "" if least is None else f"{least:g}"
        lines.append((title, device, threads, *map(number, peers), number(ours), beside, f"{ratio:.2f}", target,
                      verdict(reached)))  # fmt: skip
    head = (f"groups and joins, {rows:,} rows; ms", "device", "threads", *PEERS, "cdevice", "beside", "ratio")
    table((*head, "target", ""), lines)
    for text in others:
        print(text)
    print()


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
    others: list[str] = []
    differ: list[str] = []
    for threads in dict.fromkeys([cores] if options.quick else [cores, 1]):
        try:
            answers = measure(rows, threads, rounds, opencl)
        except RuntimeError as e:
            print(f"left out: groups with {threads} threads ({e})\n")
            continue
        found += compared(answers, threads)
        differ += wrong(answers)
        others += [f'left out: {name} (not installed); pip install "cdevice[bench]"' for name in answers["missing"]]
    report(rows, found, [*dict.fromkeys(others), *(f"WRONG: {text}" for text in differ)])
    keys = ("threads", "device", "question", "pyarrow ms", "polars ms", "duckdb ms", "ms", "beside", "ratio", "target")
    return {"groups": named(found, *keys), "groups wrong": differ}
