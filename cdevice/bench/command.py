"""The options of ``python -m cdevice bench``, and what they choose."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys

from . import embed, gpu, growth, operations, plugin, startup, stream, transfer
from .libraries import LIBRARIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# Each has section(libs, options): measures, prints its table, and returns what goes into the file of --json.
SECTIONS = {
    "startup": startup,
    "growth": growth,
    "stream": stream,
    "embed": embed,
    "plugin": plugin,
    "transfer": transfer,
    "gpu": gpu,
}


def parser() -> Any:
    p = argparse.ArgumentParser(
        prog="python -m cdevice bench",
        description="Cost per operation beside pyarrow, nanoarrow and arro3: medians, one process, rounds interleaved.",
        epilog="ratio: the better peer's time by cdevice's. A missed target is reported, never an exit status.",
    )
    p.add_argument("--quick", action="store_true", help="a few seconds, noisier")
    p.add_argument("--rounds", type=int, default=15, metavar="N", help="rounds per row (%(default)s)")
    p.add_argument(
        "--only",
        metavar="TEXT",
        help="rows whose title contains TEXT; also: startup, growth, transfer, stream, embed, plugin, gpu",
    )
    p.add_argument("--libs", metavar="A,B", help=f"default: {','.join(LIBRARIES)}")
    p.add_argument("--json", metavar="FILE", help="write the figures there too")
    return p


def load(p: argparse.ArgumentParser, names: str | None) -> dict[str, Any]:
    """The libraries of --libs that are installed, by name."""
    libs = {}
    for name in names.split(",") if names else LIBRARIES:
        if name not in LIBRARIES:
            p.error(f"no library {name!r}; there are {', '.join(LIBRARIES)}")
        lib = LIBRARIES[name]()
        try:
            lib.load()
        except ImportError as exc:
            print(f'left out: {name} ({exc}); pip install "cdevice[bench]"', file=sys.stderr)
            continue
        libs[name] = lib
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores; "
          + ", ".join(f"{n} {lib.version()}" for n, lib in libs.items()) + "\n")  # fmt: skip
    return libs


def main(argv: list[str] | None = None) -> Any:
    p = parser()
    options = p.parse_args(argv)
    options.rounds, options.target = (5, 0.003) if options.quick else (options.rounds, 0.012)
    libs = load(p, options.libs)

    def want(title: str) -> bool:
        return not options.only or options.only in title

    result = {"python": platform.python_version(), "versions": {n: lib.version() for n, lib in libs.items()}}
    result.update(operations.section(libs, options, want))
    for name, module in SECTIONS.items():
        if want(name) and ("cdevice" in libs or name == "startup"):
            result.update(module.section(libs, options))
    if options.json:
        with open(options.json, "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
    return 0
