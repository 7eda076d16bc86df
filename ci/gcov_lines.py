"""Line coverage by C file from .gcda files (paths on stdin): a line counts once, whichever build ran it."""

import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile


def short(path):
    """The file's name as seen from the repository: the builds work on copies in different places."""
    parts = path.replace(os.sep, "/").split("/")
    for i in range(len(parts) - 1, -1, -1):
        if parts[i] in ("cdevice", "backends"):
            name = "/".join(parts[i:])
            # cdevice/include/cdevice/x.h: the outer folder is meant
            if parts[i] == "cdevice" and i >= 2 and parts[i - 1] == "include":
                name = "/".join(parts[i - 2 :])
            return name
    return None


def main():
    lines = collections.defaultdict(dict)
    for gcda in sys.stdin.read().splitlines():
        with tempfile.TemporaryDirectory() as tmp:
            r = subprocess.run(["gcov", "--json-format", gcda], cwd=tmp, capture_output=True, text=True)
            if r.returncode:
                print(f"gcov: {r.stderr.strip()}", file=sys.stderr)
            for out in os.listdir(tmp):
                with gzip.open(os.path.join(tmp, out)) as f:
                    data = json.load(f)
                for entry in data["files"]:
                    name = short(entry["file"])
                    # Generated code and system headers are not covered.
                    if name is None or entry["file"].startswith("/usr/") or name.endswith("_native.c"):
                        continue
                    seen = lines[name]
                    for one in entry["lines"]:
                        n = one["line_number"]
                        seen[n] = max(seen.get(n, 0), one["count"])
    if not lines:
        print("C coverage: nothing was compiled with --coverage")
        return
    width = max(map(len, lines))
    total = hit = 0
    print(f"{'C file':{width}}  lines  missed  cover")
    for name in sorted(lines):
        n, ok = len(lines[name]), sum(c > 0 for c in lines[name].values())
        total, hit = total + n, hit + ok
        print(f"{name:{width}}  {n:5}  {n - ok:6}  {100 * ok / max(n, 1):4.0f}%")
    print(f"{'C: TOTAL':{width}}  {total:5}  {total - hit:6}  {100 * hit / max(total, 1):4.0f}%")


main()
