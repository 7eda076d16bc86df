"""docs/performance.rst, from the newest files of tests/benchmarks/results.

python tests/support/performance_page.py        writes the page and draws its pictures
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE, RESULTS = ROOT / "docs" / "performance.rst", ROOT / "tests" / "benchmarks" / "results"
PICTURES = ROOT / "docs" / "pictures"
DRAWN = {
    "ns": "performance-capsules.svg",
    "transfers": "performance-transfers.svg",
    "compute": "performance-functions.svg",
}
PEERS = ("pyarrow", "nanoarrow", "arro3")
ENGINES = ("pyarrow", "polars", "duckdb")
BESIDE = ("pyarrow", ", polars", ", a thread of the CPU")
FUNCTIONS = {"text": "Strings", "times": "Dates and times", "numbers": "Numbers", "casts": "Casts"}
LABELS = {
    "one row": "one row, a thousand calls",
    "20 string columns": "20 string columns of 100,000 rows",
}  # clearer words
FUNCTIONS_WORDS = """\
Ten million rows without nulls, on the CPU by one thread: how many times as long pyarrow and polars take; the last column: that
time of cdevice by its time on OpenCL (PoCL, by all threads)."""
GROUPS_WORDS = {
    "Groups": """\
The questions of db-benchmark, ten million rows, by two threads and by one; the last column: the fastest of the others by cdevice
on the CPU.""",
    "Joins": """\
Ten million rows with a table of 10, of 10,000 or of as many rows, by two threads and by one; the last column: the fastest of the
others by cdevice on the CPU.""",
}
SMALL = {
    "dlpack": ("DLPack", "Beside numpy, and by DLPack's exchange table in C. x: times as long."),
    "embed": ("Programs in C", "Calls of ``cdevice.h``. x: times as long."),
    "plugins": ("Plug-ins", "x: times as long."),
}
STREAM_WORDS = """\
Ten thousand batches of a thousand rows; the last column: the time of the same rows in one array by that of the stream."""

HEAD = """\
Performance
===========

{about}

A ratio holds within one run only; figures of two runs or two machines are not compared. A ratio above 1: cdevice takes less time.
Rows where it takes more are in the tables as the others are. ``tests/benchmarks/README.rst`` has batches for training, and where the
time of some rows goes; ``docs/reliability.rst`` has what was attacked, and how long.
"""
ABOUT = """\
Written by ``python tests/support/performance_page.py`` from ``tests/benchmarks/results/{name}``, which
``ci/bench --json`` made on {date}: {processor}, caches {caches}; Python {python}, {versions}. At the end of that run
equal work took {spin[median]:.2f} times its least time (median; worst {spin[worst]:.1f}): how quiet the machine was."""


def date_of(path):
    return re.match(r"(?:gpu-)?([\d-]{10})", path.name)[1]


def newest(pattern):
    """Of one day: "...-night" behind "...-later" behind a name without either."""
    return max(RESULTS.glob(pattern), key=lambda p: (date_of(p), p.stem.rpartition("-cores")[2]))


def time(ns):
    """Three digits and a unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g}\u00a0{unit}"  # no end of a line in between
    return f"{ns:.0f}\u00a0ns"


def clearer(title):
    for short, words in LABELS.items():
        title = title.replace(short, words)
    return title


def ms(value):
    return "–" if value is None else time(value * 1e6)


def ratio(value):
    """Two digits."""
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def simple(head, rows):
    """A simple table of reStructuredText."""
    table = [head, *rows]
    widths = [max(len(r[i]) for r in table) for i in range(len(head))]
    rule = " ".join("=" * w for w in widths)
    text = [" ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in table]
    return [rule, text[0], rule, *text[1:], rule, ""]


def section(title, words, head, rows, part=None):
    """part: of the results, which has a picture."""
    picture = [f".. image:: pictures/{DRAWN[part]}", f"   :alt: {title}: the table below, drawn", ""] if part else []
    return [title, "-" * len(title), "", words, "", *picture, *simple(head, rows)] if rows else []


def handover(d):
    rows = []
    for title, ns in d["ns"].items():
        cells = [time(ns[p]) if p in ns else "–" for p in PEERS]
        rows.append([title, time(ns["cdevice"]), *cells, f"{d['ratio'][title]:.2g}"])
    words = "Capsules made and taken, a thousand rows; the last column: the fastest of the others by cdevice."
    return section("Handing over", words, ["row", "cdevice", *PEERS, "ratio"], rows, "ns")


def streams(d):
    rows = [
        [s["row"], s["peer"].replace("ours", "cdevice"), time(s["peer_ns"]), time(s["cdevice_ns"]), f"{s['peer_ns'] / s['cdevice_ns']:.2g}"]
        for s in d["streams"]
    ]  # fmt: skip
    words = "Time of one batch. Other libraries have no device stream in Python: theirs is the CPU's."
    return section("Streams", words, ["row", "beside", "theirs", "cdevice", "ratio"], rows)


def startup(d):
    rows = [
        [name, f"{s['wall_ms']:.1f} ms", f"{s['memory_mib']:.1f} MiB", str(s["modules"])]
        for name, s in d["startup"].items()
    ]
    words = "Above an empty interpreter; *in use*: with a first array."
    return section("Start", words, ["import", "time", "memory", "modules"], rows)


def transfers(d):
    rows = [
        [t["row"], time(t["bare_s"] * 1e9), time(t["cdevice_s"] * 1e9), f"{t['ratio']:.2g}"] for t in d["transfers"]
    ]
    words = "To OpenCL and back, beside the same with pyopencl's calls alone; the last column is the one by the other, as each row names it."
    return section("Transfers", words, ["row", "bare", "cdevice", "ratio"], rows, "transfers")


def compute(d):
    rows = [
        [c["device"], clearer(c["function"]), ms(c["their ms"]), ms(c["ms"]), ratio(c["ratio"])]
        for c in d["compute"]
        if "by one" not in c["function"] and c["device"] != "floor"
    ]
    words = "Ten million rows, beside pyarrow, or beside pyopencl's arrays where a row names it."
    return section("Computing", words, ["device", "function", "theirs", "cdevice", "ratio"], rows, "compute")


def functions(d):
    """Strings, dates, numbers and casts: a row for each function, a column for each that it is beside."""
    lines = []
    for part, title in FUNCTIONS.items():
        by_name = {}
        for c in d[part]:
            name, beside = c["function"], "pyarrow"
            for end in BESIDE[1:]:
                if name.endswith(end):
                    name, beside = name.removesuffix(end), end
            by_name.setdefault(name, {})[beside] = c
        rows = [
            [name, ms(found["pyarrow"]["ms"]), *(ratio(found[b]["ratio"]) if b in found else "–" for b in BESIDE)]
            for name, found in by_name.items()
        ]
        lines += section(title, FUNCTIONS_WORDS, ["function", "cdevice", "pyarrow", "polars", "OpenCL"], rows)
    return lines


def groups(d):
    """Questions of groups and joins: by two threads and by one."""
    lines = []
    for title, chosen in (("Groups", lambda q: q[0] == "q"), ("Joins", lambda q: "key" in q)):
        by_question = {}
        for g in d["groups"]:
            if chosen(g["question"]):
                by_question.setdefault((g["threads"], g["question"]), {}).setdefault(g["device"], g)
        rows = []
        for (threads, question), found in by_question.items():
            here, there = found["cpu"], found.get("opencl")
            peers = [here.get(f"{p} ms") for p in ENGINES]
            rows.append([question, str(threads), *map(ms, peers), ms(here["ms"]), ms(there and there["ms"])])
            rows[-1].append(ratio(min(t for t in peers if t) / here["ms"]))
        head = ["question", "threads", *ENGINES, "cdevice", "OpenCL", "ratio"]
        lines += section(title, GROUPS_WORDS[title], head, rows)
    rows = [
        [g["question"].removeprefix("stream, "), str(g["threads"]), ms(g["ms"]), ratio(g["ratio"])]
        for g in d["groups"]
        if g["question"].startswith("stream")
    ]
    return lines + section("Groups of streams", STREAM_WORDS, ["question", "threads", "stream", "ratio"], rows)


def expressions(d):
    rows = [
        [e["device"], e["question"], *(ms(e["ms"].get(p)) for p in (*ENGINES, "cdevice")), ratio(min(
            t for p, t in e["ms"].items() if p in ENGINES) / e["ms"]["cdevice"])]
        for e in d["expressions"]
    ]  # fmt: skip
    words = "Ten million rows, two threads, in one pass; the last column: the fastest of the others by cdevice."
    lines = section("Expressions", words, ["device", "expression", *ENGINES, "cdevice", "ratio"], rows)
    rows = [
        [f["device"], ms(f["decode ms"]), ms(f["compute ms"]), ms(f["ms"]), f"{f['memory by the table']:.2f}"]
        for f in d["files"]
    ]
    words = (
        "TPC-H Q6 of a Parquet file of ten million rows: to decode it, to compute on batches in memory, and both as one "
        "stream; the last column: the memory of the stream by that of the table."
    )
    return lines + section("Files", words, ["device", "decode", "compute", "stream", "memory"], rows)


def processes(d):
    rows = [[s["row"], s["measured"]] for s in d["shared"] if re.match(r"[\d.,]+$", s["measured"])]
    return section("Other processes", "Shared memory on one machine.", ["row", "measured"], rows)


def small(d):
    """What stands alone: DLPack, programs in C, plug-ins, wake-ups."""
    lines = []
    for part, (title, words) in SMALL.items():
        rows = [[r.get("row") or r["title"], f"{r['value']:.3g} {r['unit']}"] for r in d[part]]
        lines += section(title, words, ["row", "measured"], rows)
    rows = [[w["row"], f"{w['a thousand batches']:.2g}"] for w in d["wake-ups"]]
    return lines + section("Wake-ups", "Of a thousand batches.", ["row", "times"], rows)


def first(d):
    rows = [[f["row"], ms(f["ms"])] for f in d["first"]]
    words = "The first call of a function on OpenCL (PoCL), where the program is compiled or comes from the disk."
    return section("First calls", words, ["row", "time"], rows)


def gpu(path):
    """The report's own lines."""
    text = path.read_text(encoding="utf-8")
    about = re.search(r"^\| (cuda:0: .*)$", text, re.M)[1]
    part = text.partition("Speed (python -m cdevice bench --only gpu)")[2].partition("Peers on CUDA")[0]
    lines = [line for line in part.partition("::")[2].splitlines() if line.startswith("    ")]
    words = f"``ci/gpu``, {date_of(path)}, {about}: ``tests/benchmarks/results/{path.name}`` has the whole report."
    return ["On a GPU", "--------", "", words, "", "::", "", *lines, ""]


PARTS = (handover, streams, startup, transfers, compute, functions, groups, expressions, processes, small, first)


def page():
    path, report = newest("20*.json"), newest("gpu-*.rst")
    d = json.loads(path.read_text(encoding="utf-8"))
    floors, spin = d["floors"], d["spin at the end"]
    about = ABOUT.format(
        name=path.name,
        date=date_of(path),
        processor=floors["processor"],
        caches=", ".join(f"{k} {v}" for k, v in floors["caches"].items()),
        python=d["python"],
        versions=", ".join(f"{k} {v}" for k, v in d["versions"].items()),
        spin=spin,
    )
    lines = [HEAD.format(about=about)]
    for part in PARTS:
        lines += part(d)
    lines += gpu(report)
    return "\n".join(lines).rstrip() + "\n"


def draw():
    from cdevice.bench import pictures

    d = json.loads(newest("20*.json").read_text(encoding="utf-8"))
    for part, name in DRAWN.items():
        pictures.draw(str(PICTURES / name), {**{k: d[k] for k in ("python", "versions")}, part: d[part]})


if __name__ == "__main__":
    draw()
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit(0)
