"""What ci/record does: runs a script of this folder, keeps its closing lines, writes them into docs/reliability.rst."""

import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT, PAGE = ROOT / "docs" / "reliability.json", ROOT / "docs" / "reliability.rst"
BEGIN, END = ".. figures, written by ci/record\n", ".. end of the figures\n"
# What of a script's output is kept, and over which table.
TOOLS = {
    "fuzz": ("Fuzzing", r"\w+: (\d+ cases from seed|\d+ rounds, the last of seed) .*"),
    "faults": ("The n-th failure", r"\w+: .* findings"),
    "soak": ("Soak", r"soaked .*"),
    "cycles": ("Processes", r"cycles: .*"),
    "sanitize": ("Checkers", r"C tests \(.*|\d+ passed.*"),
    "coverage": ("Line coverage", r"(C: )?TOTAL .*"),
    "test": ("The suite", r"C tests \(.*|\d+ passed.*"),
}
SPENT = re.compile(r" in \d+\.\d+s( \(.*\))?")


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        found = re.search(r"^model name\s*: (.*)$", f.read(), re.M)
    return f"{found[1] if found else platform.machine()}, {os.cpu_count()} cores"


def revision():
    """The last commit of the code that runs; the pages, this one among them, do not."""

    def git(*arguments):
        command = ["git", *arguments, "--", ".", ":!docs"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()

    return (git("log", "-1", "--format=%h") or "?") + ("-dirty" if git("status", "--porcelain") else "")


def run(tool, arguments):
    """The record of a run; exits where it failed."""
    begin, said = time.monotonic(), []
    command = [str(ROOT / "ci" / tool), *arguments]
    # Findings of a run of hours do not depend on what became of stdout. Each command has a log: two may run at once.
    log = ROOT / "build" / f"{'-'.join(['record', tool, *arguments])}.log"
    log.parent.mkdir(exist_ok=True)
    with (
        log.open("w", encoding="utf-8", buffering=1) as kept,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as child,
    ):
        for line in child.stdout:
            kept.write(line)
            sys.stdout.write(line)
            sys.stdout.flush()
            if re.fullmatch(TOOLS[tool][1], line.strip()):
                said.append(" ".join(SPENT.sub("", line).split()))
    if child.returncode or not said:
        why = f"failed ({child.returncode})" if said else "printed nothing"
        sys.exit(f"ci/record: not kept: ci/{tool} {why}; its output: {log.relative_to(ROOT)}")
    return {
        "tool": tool,
        "command": " ".join(["ci/" + tool, *arguments]),
        "date": datetime.date.today().isoformat(),
        "revision": revision(),
        "python": platform.python_version(),
        "processor": processor(),
        "minutes": round((time.monotonic() - begin) / 60, 1),
        "said": said,
    }


def figures(records):
    """Tables, one for each script, the last run of each command."""
    last = {r["command"]: r for r in records}
    out = []
    for tool, (title, _) in TOOLS.items():
        rows = [r for r in last.values() if r["tool"] == tool]
        if not rows:
            continue
        out += [title, "~" * len(title), "", ".. list-table::", "   :header-rows: 1", ""]
        for cells in [("Command", "Minutes", "Date, revision", "Last line of its output"), *map(cells_of, rows)]:
            out += [("   * - " if i == 0 else "     - ") + cell for i, cell in enumerate(cells)]
        out.append("")
    if not last:
        return "None yet.\n\n"
    hosts = sorted({f"{r['processor']}, Python {r['python']}" for r in last.values()})
    return "\n".join([*out, f"Measured on: {'; '.join(hosts)}.", "", ""])


def cells_of(r):
    return f"``{r['command']}``", f"{r['minutes']:g}", f"{r['date']}, {r['revision']}", "; ".join(r["said"])


def page(records):
    """The text of the page with these figures."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    return head + BEGIN + "\n" + figures(records) + END + rest.split(END)[1]


def main():
    tool, *arguments = sys.argv[1:] or [None]
    record = None
    if tool:
        tool = tool.removeprefix("ci/")  # as the page names it
        if tool not in TOOLS:
            sys.exit(f"ci/record: one of {', '.join(TOOLS)}, not {tool!r}")
        record = run(tool, arguments)
    # now: another one may have ended meanwhile
    records = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
    if record:
        records = [r for r in records if r["command"] != record["command"]] + [record]
        KEPT.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(records), encoding="utf-8")


if __name__ == "__main__":
    main()
