"""Tables on the terminal."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def number(v: Any) -> Any:
    return "" if v is None else f"{v:,.0f}" if v >= 100 else f"{v:,.1f}"


def table(head: Any, rows: Any) -> None:
    rows = [[str(c) for c in r] for r in [head, *rows]]
    widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
    for k, r in enumerate(rows):
        print("  ".join(f"{c:{'<' if i == 0 else '>'}{w}}" for i, (c, w) in enumerate(zip(r, widths))).rstrip())
        if k == 0:
            print("  ".join("-" * w for w in widths))


def verdict(ok: Any) -> Any:
    return "" if ok is None else "ok" if ok else "MISSED"


def bounds(title: str, found: Any, left_out: Any = (), width: int = 60) -> None:
    """Rows of (title, value, unit, bound, reached)."""
    print(f"{title:{width}}{'':>10}  bound")
    print("-" * (width + 24))
    for name, value, unit, bound, reached in found:
        print(f"{name:{width}}{value:>10.2f} {unit:3}{bound:g} {unit} {verdict(reached)}")
    for text in left_out:
        print(f"left out: {text}")
    print()


def named(found: Any, *keys: object) -> Any:
    """Rows as dicts, for --json."""
    return [dict(zip(keys, row)) for row in found]
