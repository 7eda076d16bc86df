"""``python -m cdevice check``: the conformance suite on a device."""

from __future__ import annotations

import sys

from .show import FAILED, OK, UNAVAILABLE, USAGE, columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def run(args: Any) -> Any:
    """Runs the conformance suite on a device and prints what it found."""
    import cdevice

    from ..testing import runner

    try:
        chosen = runner.suite_for(args.device)
        if args.suite:
            from importlib import import_module

            module, _, name = args.suite.partition(":")
            base = getattr(import_module(module), name)
            chosen = type(name, (base,), {"device": args.device} if args.device else {})
        elif not args.device:
            print("cdevice check: name a device (--device) or a suite (--suite)", file=sys.stderr)
            return USAGE
        terminal = sys.stderr.isatty()

        def progress(area: str, name: str, outcome: Any, text: str) -> None:
            if terminal:
                print(f"\r{name[:76]:<76}", end="", file=sys.stderr, flush=True)

        found = runner.run(chosen, progress)
        if terminal:
            print("\r" + " " * 76 + "\r", end="", file=sys.stderr)
    except cdevice.BackendUnavailable as e:
        print(f"cdevice check: {e}", file=sys.stderr)
        return UNAVAILABLE
    except (ValueError, TypeError, ImportError, AttributeError) as e:
        print(f"cdevice check: {e}", file=sys.stderr)
        return USAGE
    conforms = report(found)
    print(f"\n{args.device or args.suite} {'conforms' if conforms else 'does not conform'}")
    return OK if conforms else FAILED


def report(found: Any) -> Any:
    """Prints what the checks found; returns whether none failed."""
    outcomes = ("passed", "failed", "not applicable")
    areas = {area: dict.fromkeys(outcomes, 0) for area, *_ in found}
    for area, _, outcome, _ in found:
        areas[area][outcome] += 1
    rows: list[tuple[object, ...]] = [("area", *outcomes)]
    rows += [(area, *(n[o] for o in outcomes)) for area, n in areas.items()]
    rows.append(("all", *(sum(n[o] for n in areas.values()) for o in outcomes)))
    print("\n".join(columns(rows, "<>>>", indent="")))
    why: dict[str, list[str]] = {}
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
    return not failed
