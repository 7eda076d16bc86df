"""The options of ``python -m cdevice bench``, and what they choose."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import platform
import sys

from .. import __version__
from ..cli import plot
from ..cli.show import OK, USAGE, positive, program
from ..cli.tables import InputError
from . import (
    casts,
    compute,
    dlpack,
    embed,
    expressions,
    files,
    first,
    floors,
    gpu,
    groups,
    growth,
    loader,
    numbers,
    operations,
    pictures,
    plugin,
    scale,
    shared,
    startup,
    stream,
    text,
    times,
    transfer,
)
from .libraries import LIBRARIES
from .table import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# Each has section(libs, options): measures, prints its table, and returns what goes into the file of --json.
SECTIONS = {
    "floors": floors,
    "startup": startup,
    "growth": growth,
    "stream": stream,
    "dlpack": dlpack,
    "embed": embed,
    "plugin": plugin,
    "transfer": transfer,
    "compute": compute,
    "text": text,
    "times": times,
    "numbers": numbers,
    "casts": casts,
    "groups": groups,
    "expressions": expressions,
    "files": files,
    "shared": shared,
    "loader": loader,
    "scale": scale,
    "first": first,
    "gpu": gpu,
}


def parser() -> Any:
    p = argparse.ArgumentParser(
        prog=f"{program()} bench",
        description="Cost per operation beside pyarrow, nanoarrow and arro3: medians, one process, rounds interleaved.",
        epilog="ratio: the better peer's time by cdevice's.",
    )
    p.add_argument("--quick", action="store_true", help="small data, a minute or two")
    p.add_argument("--rounds", type=positive, default=15, metavar="N", help="rounds per row (%(default)s)")
    p.add_argument("--rows", type=positive, metavar="N", help="rows of the data of groups and scale (10 million)")
    p.add_argument("--plot", metavar="FILE.svg", help="draw what was measured there too; needs matplotlib")
    p.add_argument("--from", dest="saved", metavar="FILE", help="with --plot: draw a file of --json, measure nothing")
    p.add_argument(
        "--only",
        metavar="TEXT",
        help=f"rows whose title contains TEXT, and of these sections: {', '.join(SECTIONS)}",
    )
    p.add_argument(
        "--questions",
        metavar="A,B",
        help="of groups and compute only rows whose titles have these words: q4,string key,10000",
    )
    p.add_argument("--libs", metavar="A,B", help=f"default: {','.join(LIBRARIES)}")
    p.add_argument("--json", nargs="?", const="-", metavar="FILE", help="the figures: into a file too, or instead")
    p.add_argument("--targets", action="store_true", help="beside them what the project wants to reach (ci/bench)")
    p.add_argument("--version", action="version", version=__version__, help=argparse.SUPPRESS)
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
    return libs


def head(libs: dict[str, Any]) -> None:
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores; "
          + ", ".join(f"{n} {lib.version()}" for n, lib in libs.items()) + "\n")  # fmt: skip


def _saved(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as f:
            result = json.load(f)
    except (OSError, ValueError) as exc:
        raise InputError(f"--from: {path}: {exc}") from None
    if not isinstance(result, dict):
        raise InputError(f"--from: {path} is no file of --json")
    return result


def drawn(path: str, result: dict[str, Any]) -> bool:
    """Draws a result, if there is something to draw, and prints where."""
    done = pictures.draw(path, result)
    if done:
        print(f"drawn: {path}")
    else:
        print(f"cdevice bench: --plot: there is nothing to draw but of {', '.join(pictures.PARTS)}", file=sys.stderr)
    return done


def main(argv: list[str] | None = None) -> Any:
    p = parser()
    options = p.parse_args(argv)
    options.rounds, options.target = (5, 0.003) if options.quick else (options.rounds, 0.012)
    if options.saved and not options.plot:
        p.error("--from goes with --plot")
    try:
        if options.plot:
            plot.ready(options.plot)
        if options.saved:
            return OK if drawn(options.plot, _saved(options.saved)) else USAGE
    except InputError as exc:
        print(f"cdevice bench: {exc}", file=sys.stderr)
        return USAGE

    libs = load(p, options.libs)

    def want(title: str) -> bool:
        return not options.only or options.only in title

    if not any(map(want, SECTIONS)) and not operations.titles(libs, want):
        print(f"cdevice bench: no row or section has {options.only!r} in its name; sections: {', '.join(SECTIONS)}; "
              f"rows: {', '.join(operations.titles(libs, bool))}", file=sys.stderr)  # fmt: skip
        return USAGE
    shown.update(targets=options.targets, questions=options.questions)
    silent = io.StringIO() if options.json == "-" else None
    with contextlib.redirect_stdout(silent or sys.stdout):
        result = measured(libs, options, want)
        if options.plot:
            drawn(options.plot, result)
    if options.json:
        text = json.dumps(result, indent=1) + "\n"
        if silent:
            sys.stdout.write(text)
        else:
            with open(options.json, "w") as f:
                f.write(text)
    return OK


def measured(libs: dict[str, Any], options: Any, want: Callable[[str], bool]) -> dict[str, Any]:
    head(libs)
    result = {"python": platform.python_version(), "versions": {n: lib.version() for n, lib in libs.items()}}
    result.update(operations.section(libs, options, want))
    for name, module in SECTIONS.items():
        if want(name) and ("cdevice" in libs or name in ("floors", "startup")):
            result.update(module.section(libs, options))
    result["spin at the end"] = end = floors.spin()
    print(f"\nat the end equal work took: median {end['median']:.2f}x its least time, worst {end['worst']:.1f}x")
    return result
