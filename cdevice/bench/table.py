"""Tables on the terminal."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# targets: what the project promises itself; questions: which rows of the section compute
shown: dict[str, Any] = {"targets": False, "questions": None}


def wanted(title: str, questions: str | None) -> bool:
    """Is a row one of --questions, words of its title with commas between them?  Its own commas do not count."""
    words = f" {title.replace(',', '')} "
    return not questions or any(f" {' '.join(q.split())} " in words for q in questions.split(",") if q.strip())


def number(v: Any) -> Any:
    return "" if v is None else f"{v:,.0f}" if v >= 100 else f"{v:,.1f}"


def table(head: Any, rows: Any) -> None:
    if list(head[-2:]) == ["target", ""] and not shown["targets"]:
        head, rows = head[:-2], [r[:-2] for r in rows]
    rows = [[str(c) for c in r] for r in [head, *rows]]
    widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
    for k, r in enumerate(rows):
        print("  ".join(f"{c:{'<' if i == 0 else '>'}{w}}" for i, (c, w) in enumerate(zip(r, widths))).rstrip())
        if k == 0:
            print("  ".join("-" * w for w in widths))


def chosen(title: str) -> bool:
    """Is a row of the section ``compute`` one of --questions?"""
    return wanted(title, shown["questions"])


class Growing:
    """A table whose rows are printed when they are known.  ``widths``: of its columns."""

    def __init__(self, head: Any, widths: Any) -> None:
        self._hidden = 2 if list(head[-2:]) == ["target", ""] and not shown["targets"] else 0
        self._widths = widths[: len(widths) - self._hidden]
        self.add(head)
        self._print("-" * w for w in self._widths)

    def add(self, row: Any) -> None:
        self._print(row[: len(row) - self._hidden])

    def _print(self, cells: Any) -> None:
        line = "  ".join(f"{c:{'<' if k == 0 else '>'}{w}}" for k, (c, w) in enumerate(zip(cells, self._widths)))
        print(line.rstrip(), flush=True)


def verdict(ok: Any) -> Any:
    return "" if ok is None else "ok" if ok else "MISSED"


def aim(text: str, reached: Any) -> str:
    """The end of a line: a target, and whether it was reached."""
    return f"  {text} {verdict(reached)}" if shown["targets"] else ""


def bounds(title: str, found: Any, left_out: Any = (), width: int = 60) -> None:
    """Rows of (title, value, unit, bound, reached)."""
    print(f"{title:{width}}{'':>10}" + ("  bound" if shown["targets"] else ""))
    print("-" * (width + 24))
    for name, value, unit, bound, reached in found:
        end = "" if bound is None else aim(f"{bound:g} {unit}", reached)
        print(f"{name:{width}}{value:>10.2f} {unit:3}{end}".rstrip())
    for text in left_out:
        print(f"left out: {text}")
    print()


def named(found: Any, *keys: object) -> Any:
    """Rows as dicts, for --json."""
    return [dict(zip(keys, row)) for row in found]
