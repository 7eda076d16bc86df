"""Compares what an analyzer printed with ci/analyzed.txt: ``ci/compilers analyze`` calls it, with the output on stdin.

A finding is known by its file, its kind and the text of the line that it names, so that a line that moves stays known
and one that changes is read again; where the line ends a function, gcc's name of the function stands behind it.
Exit status 1: there is one that is not in the list, or a file that did not compile.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOUND = re.compile(r"^(\S+?):(\d+):\d+: (?:warning|(error)): (.*?)(?: \[CWE-\d+\])?(?: \[([\w.,+-]+)\])?$")
INSIDE = re.compile(r"^\S+: In function '(\w+)':")


def known():
    """The set of (file, kind, line) in the list."""
    out = set()
    for line in (ROOT / "ci" / "analyzed.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            out.add(tuple(line.split(None, 2)))
    return out


def main():
    seen, used, failed, function = {}, set(), 0, ""
    for line in sys.stdin:
        if inside := INSIDE.match(line):
            function = inside[1]
        m = FOUND.match(line.rstrip("\n"))
        if not m:
            continue
        name, number, error, text, kind = m.groups()
        path = pathlib.Path(name)
        name = str(path.resolve().relative_to(ROOT)) if path.is_absolute() else name
        source = (ROOT / name).read_text(encoding="utf-8").splitlines()[int(number) - 1].strip()
        if source == "}":
            source = f"}} {function}".strip()
        kind = "error" if error else (kind or "warning").removeprefix("-W")
        seen[name, kind, source] = f"{name}:{number}: {text}"
    for key, text in sorted(seen.items()):
        if key in known():
            used.add(key)
        else:
            failed += 1
            print(f"new finding: {text}\n    {' '.join(key)}")
    print(f"{len(used)} findings that were read before (ci/analyzed.txt), {failed} new")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
