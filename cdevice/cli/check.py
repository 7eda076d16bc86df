"""``cdevice check``: a conformance suite on a device."""

from __future__ import annotations

import json
import os
import sys

from .show import FAILED, OK, UNAVAILABLE, USAGE, columns, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OUTCOMES = ("passed", "failed", "not applicable")
_COLOUR = dict(zip(OUTCOMES, ("green", "red", "dim")))


class Printer:
    """Prints an area as a line when it ends, each check with ``verbose``; on a terminal the current check."""

    def __init__(self, areas: list[str], verbose: bool, silent: bool) -> None:
        self.verbose, self.silent = verbose, silent
        self.terminal = sys.stderr.isatty() and not silent
        self.width = max([len(a) for a in areas] + [4])
        self.area: str | None = None
        self.counts: dict[str, int] = {}
        self.total = dict.fromkeys(OUTCOMES, 0)
        self.seconds = 0.0

    def line(self, area: str, *words: str) -> None:
        if not self.silent:
            print((f"{area:<{self.width}}  " + "  ".join(words)).rstrip(), flush=True)

    def head(self) -> None:
        self.line("area", *(f"{o:>{len(o)}}" for o in OUTCOMES))

    def counted(self, area: str, counts: dict[str, int], time: str = "") -> None:
        words = [f"{counts[o]:>{len(o)}}" for o in OUTCOMES]
        if counts["failed"]:
            words[1] = paint(words[1], "red")
        self.line(area, *words, time)

    def end_area(self) -> None:
        self.clear()
        if self.area is not None:
            slow = f"{self.seconds:.1f} s" if self.seconds >= 1 else ""
            self.counted(self.area, self.counts, slow)
        self.area, self.counts, self.seconds = None, dict.fromkeys(OUTCOMES, 0), 0.0

    def clear(self) -> None:
        if self.terminal:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)

    def __call__(self, result: Any) -> None:
        if not any(self.total.values()):
            self.head()
        if result.area != self.area:
            self.end_area()
            self.area = result.area
        self.counts[result.outcome] += 1
        self.total[result.outcome] += 1
        self.seconds += result.seconds
        if self.verbose and not self.silent:
            self.clear()
            outcome = paint(f"{result.outcome:<14}", _COLOUR[result.outcome])
            print(f"  {outcome}  {result.seconds:6.3f} s  {result.name}")
            if result.outcome == "failed":
                print("\n".join("      " + line for line in result.where.splitlines()))
            sys.stdout.flush()
        elif self.terminal:
            print(f"\r{result.name[:76]:<76}", end="", file=sys.stderr, flush=True)


def suite_of(args: Any, device: str | None) -> Any:
    from ..testing import BackendSuite, KernelSuite, runner

    if not args.suite:
        return runner.suite_for(device, KernelSuite if args.kernels else BackendSuite)
    from importlib import import_module

    module, _, name = args.suite.partition(":")
    if not module or not name:
        raise ValueError(f"--suite must be MODULE:CLASS, as in test_acme:TestAcme, not {args.suite!r}")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # python -m has it there; the console script has not
    base = getattr(import_module(module), name)
    if not isinstance(base, type) or not issubclass(base, BackendSuite):
        raise TypeError(f"{args.suite} is not a subclass of cdevice.testing.BackendSuite")
    return type(name, (base,), {"device": device} if device else {})


def run(args: Any) -> Any:
    """Runs the conformance suite on a device and prints what it found."""
    import cdevice

    from ..testing import apart, runner

    if args.library or args.capsule:
        from . import check_library

        return check_library.run(args)
    if args.junit:
        print("cdevice check: --junit goes with --library or --capsule", file=sys.stderr)
        return USAGE
    if args.name and args.device and args.name != args.device:
        print(f"cdevice check: two devices, {args.name} and {args.device}: one at a time", file=sys.stderr)
        return USAGE
    device = args.name or args.device
    if not device and not args.suite:
        print("cdevice check: name a device (cdevice check opencl) or a suite (--suite)", file=sys.stderr)
        return USAGE
    if args.kernels and args.suite:
        print("cdevice check: --kernels is a suite of its own, --suite names another: one at a time", file=sys.stderr)
        return USAGE
    try:
        suite = suite_of(args, device)
        chosen, every = runner.matching(args.k, suite), runner.matching(None, suite)
        if not chosen:
            areas = dict.fromkeys(area for area, _ in every)
            print(f"cdevice check: no check matches {args.k!r}; areas: {', '.join(areas)}", file=sys.stderr)
            return USAGE
        printer = Printer([area for area, _ in chosen], args.verbose, args.json)
        told = json.dumps({"device": device, "suite": args.suite, "kernels": args.kernels})
        command = [sys.executable, "-m", "cdevice.cli.check_area", told]
        found = apart.run(command, chosen, printer, stop_at_first=args.first)
        printer.end_area()
    except cdevice.BackendUnavailable as e:
        print(f"cdevice check: {e}", file=sys.stderr)
        return UNAVAILABLE
    except (ValueError, TypeError, ImportError, AttributeError) as e:
        print(f"cdevice check: {e}", file=sys.stderr)
        return USAGE
    except (ArithmeticError, LookupError, AssertionError) as e:  # what a suite raises before its first check
        print(f"cdevice check: cannot create the suite: {type(e).__name__}: {e}", file=sys.stderr)
        return USAGE
    conforms = not printer.total["failed"]
    name = device or args.suite
    if args.json:
        checks = [{k: v for k, v in r._asdict().items() if v != ""} for r in found]
        print(json.dumps({"device": name, "conforms": conforms, **printer.total, "checks": checks}, indent=2))
        return OK if conforms else FAILED
    printer.counted("all", printer.total)
    report(found)
    stopped = ""
    if len(found) < len(chosen):
        why = "the first failure" if args.first else f"{printer.total['failed']} failures that were waited for"
        stopped = f" (stopped after {why}; {len(chosen) - len(found)} checks were not run)"
    some = f", as far as {len(found)} of {len(every)} checks tell" if args.k and conforms else ""
    print(f"\n{name} {paint('conforms', 'green') if conforms else paint('does not conform', 'red')}{some}{stopped}")
    return OK if conforms else FAILED


def report(found: Any) -> None:
    """Prints why checks were not applicable, and what failed."""
    why: dict[str, list[str]] = {}
    for r in found:
        if r.outcome == "not applicable":
            why.setdefault(r.text, []).append(r.name)
    if why:
        print("\nnot applicable")
        print("\n".join(columns([(len(names), text.partition(": ")[2]) for text, names in why.items()], ">")))
    failed = [r for r in found if r.outcome == "failed"]
    if failed:
        print("\nfailed")
        for r in failed:
            print(f"  {paint(r.name, 'red')}\n      {' '.join(r.text.split())[:400]}")
