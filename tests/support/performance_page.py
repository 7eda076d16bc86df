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

HEAD = """\
Performance
===========

{about}

A ratio holds within one run only; figures of two runs or two machines are not compared. A ratio above 1: cdevice takes less time.
Rows where it takes more are in the tables as the others are. ``docs/compute.rst`` has functions beside pyarrow and polars,
``tests/benchmarks/README.rst`` groups, joins and batches for training; ``docs/reliability.rst`` has what was attacked, and how long.
"""
ABOUT = """\
Written by ``python tests/support/performance_page.py`` from ``tests/benchmarks/results/{name}``, which
``ci/bench --json`` made on {date}: {processor}, caches {caches}; Python {python}, {versions}. At the end of that run
equal work took {spin[median]:.2f} times its least time (median; worst {spin[worst]:.1f}): how quiet the machine was."""


def date_of(path):
    return re.match(r"(?:gpu-)?([\d-]{10})", path.name)[1]


def newest(pattern):
    return max(RESULTS.glob(pattern), key=lambda p: (date_of(p), p.stem))  # "...-later" behind the file without it


def time(ns):
    """Three digits and a unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


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
        [c["device"], c["function"], f"{c['their ms']:.3g} ms", f"{c['ms']:.3g} ms", f"{c['ratio']:.2g}"]
        for c in d["compute"]
        if "by one" not in c["function"] and c["device"] != "floor"
    ]
    words = "Ten million rows, beside pyarrow, or beside pyopencl's arrays where a row names it."
    return section("Computing", words, ["device", "function", "theirs", "cdevice", "ratio"], rows, "compute")


def gpu(path):
    """The report's own lines."""
    text = path.read_text(encoding="utf-8")
    about = re.search(r"^\| (cuda:0: .*)$", text, re.M)[1]
    part = text.partition("Speed (python -m cdevice bench --only gpu)")[2].partition("Peers on CUDA")[0]
    lines = [line for line in part.partition("::")[2].splitlines() if line.startswith("    ")]
    words = f"``ci/gpu``, {date_of(path)}, {about}: ``tests/benchmarks/results/{path.name}`` has the whole report."
    return ["On a GPU", "--------", "", words, "", "::", "", *lines, ""]


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
    for part in (handover(d), streams(d), startup(d), transfers(d), compute(d), gpu(report)):
        lines += part
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
