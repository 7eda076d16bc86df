"""What all commands share: exit codes, and how things are shown."""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO


OK, FAILED, USAGE, UNAVAILABLE = 0, 1, 2, 3  # exit status

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}
_ESCAPES = re.compile("\x1b\\[[0-9;]*m")


def program() -> str:
    """The command line."""
    return "cdevice" if os.path.basename(sys.argv[0] or "") == "cdevice" else "python -m cdevice"


def positive(text: str) -> int:
    """A count on the command line."""
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, not {text!r}")
    if int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"{text!r} is too large: expected less than 2**63")
    return int(text)


def coloured(stream: TextIO) -> bool:
    """Colour is for terminals, and for those who want it (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: object, colour: str) -> str:
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if text and coloured(sys.stdout) else str(text)


def width(text: str) -> int:
    """Columns on the screen."""
    return len(_ESCAPES.sub("", text)) if "\x1b" in text else len(text)


def as_dict(info: Any) -> Any:
    """The information of a backend about a device: a mapping, a dataclass, any object with attributes, or None."""
    if info is None:
        return {}
    if hasattr(info, "items"):
        return dict(info.items())
    if dataclasses.is_dataclass(info):
        return {f.name: getattr(info, f.name) for f in dataclasses.fields(info)}
    if hasattr(info, "_asdict"):
        return info._asdict()
    return {k: v for k, v in getattr(info, "__dict__", {}).items() if not k.startswith("_")}


def plain(value: Any) -> Any:
    """A value that JSON can hold: NaN and infinities are None."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)  # an enum member becomes its number
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


def size(n: float) -> str:
    """1536 -> '1.5 KiB'"""
    if n < 1024:
        return f"{n:.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        n /= 1024
        if n < 1024:
            return f"{n:.1f} {unit}"
    return f"{n / 1024:.1f} PiB"


def detail(key: Any, value: Any) -> Any:
    if key.endswith("_bytes") and isinstance(value, int):
        return f"{value:,} ({size(value)})"
    return plain(value)


def columns(rows: Any, align: str = "", gap: str = "  ", indent: str = "  ") -> Any:
    """Lines of text in columns as wide as needed; `align` has one of '<' and '>' per column, '<' by default."""
    rows = [[str(c) for c in r] for r in rows]
    if not rows:
        return []
    n = max(map(len, rows))
    rows = [r + [""] * (n - len(r)) for r in rows]
    align = align.ljust(n, "<")
    widths = [max(width(r[i]) for r in rows) for i in range(n)]

    def cell(text: str, i: int) -> str:
        space = " " * (widths[i] - width(text))
        return space + text if align[i] == ">" else text + space

    return [indent + gap.join(cell(c, i) for i, c in enumerate(r)).rstrip() for r in rows]


def plural(n: int, word: str) -> Any:
    return f"{n:,} {word if n == 1 else word + ('es' if word.endswith('ch') else 's')}"


def rate(nbytes: int, seconds: float) -> Any:
    return f"{nbytes / seconds / 1e9:.2f}" if seconds > 0 and nbytes else "-"
