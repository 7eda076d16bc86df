"""``cdevice check --library`` and ``--capsule``: other libraries held against the rules of the interfaces."""

from __future__ import annotations

import json
import os
import sys

from .show import FAILED, OK, UNAVAILABLE, USAGE, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(args: Any) -> Any:
    """Runs the suites and prints what they found."""
    if args.name or args.device or args.suite or args.kernels or (args.library and args.capsule):
        print("cdevice check: --library and --capsule check no device: one at a time", file=sys.stderr)
        return USAGE
    try:
        name, version, suites = chosen(args)
    except LookupError as e:
        print(f"cdevice check: {e.args[0]}", file=sys.stderr)
        return UNAVAILABLE if "not installed" in e.args[0] else USAGE
    except ValueError as e:
        print(f"cdevice check: {e}", file=sys.stderr)
        return USAGE
    reports = []
    for suite in suites:
        try:
            report = suite.run(picked(args.k, suite))
        except ImportError as e:
            print(f"cdevice check: {suite.name}: {e}", file=sys.stderr)
            return UNAVAILABLE
        if args.capsule and not report.kept and not report.broken:
            continue  # it offers none of this
        reports.append(report)
        if not args.json:
            show(report, args.verbose)
    return tell(args, name, version, reports)


def tell(args: Any, name: str, version: str | None, reports: list[Any]) -> Any:
    from ..testing.conformance.report import junit

    if args.junit:
        with open(args.junit, "w", encoding="utf-8") as file:
            file.write(junit(reports))
    conforms = all(report.ok for report in reports)
    if args.json:
        found = [report.as_dict() for report in reports]
        print(json.dumps({"library": name, "version": version, "conforms": conforms, "suites": found}, indent=2))
    elif not reports:
        print(f"{name}: there is nothing to check")
        return USAGE
    else:
        counts = [sum(len(getattr(r, group)) for r in reports) for group in ("kept", "broken", "not_done")]
        words = paint("conforms", "green") if conforms else paint("does not conform", "red")
        print(f"\n{name} {version or ''} {words}: {counts[0]} rules kept, {counts[1]} broken, {counts[2]} not done")
    return OK if conforms else FAILED


def show(report: Any, verbose: bool) -> None:
    """The table of a report: what was kept and what was not done only where that is asked for."""
    if verbose:
        print(report)
        for r in report.broken:
            print(f"\n# ---- {r.rule} ----\n{r.program}")
    else:
        lines = str(report).splitlines()
        print(lines[0])
        for r in report.broken:
            print(
                f"  {paint('broken', 'red')}  {r.level:<7}  {r.rule}: {r.sentence}\n          {r.detail}  [{r.source}]"
            )
    sys.stdout.flush()


def picked(pattern: str | None, suite: Any) -> list[str] | None:
    import fnmatch

    if not pattern:
        return None
    wild = pattern if any(c in pattern for c in "*?[") else f"*{pattern}*"
    return [rule.name for rule in suite.rules if fnmatch.fnmatch(rule.name, wild.lower())]


def chosen(args: Any) -> tuple[str, str | None, list[Any]]:
    """(name, version, suites) to be checked."""
    from ..testing.conformance import libraries

    progress = on_terminal if sys.stderr.isatty() and not args.json else False
    if args.capsule:
        module, _, function = args.capsule.partition(":")
        if not module or not function.isidentifier():
            raise ValueError(f"--capsule must be MODULE:FUNCTION, as in acme:make, not {args.capsule!r}")
        if "" not in sys.path and os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())  # python -m has it there; the console script has not
        return (
            args.capsule,
            None,
            libraries.applying(f"{function}()", f"from {module} import {function}", progress=progress),
        )
    libraries.needed(args.library)
    version = libraries.version_of(args.library)
    return args.library, version, libraries.suites_of(args.library, progress=progress)


def on_terminal(line: str) -> None:
    print(f"\r{line[:76]:<76}\r", end="", file=sys.stderr, flush=True)
