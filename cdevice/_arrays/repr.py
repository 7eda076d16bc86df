"""How arrays, batches, schemas, streams and devices print, on a terminal and in a notebook.

Nothing here waits for a device, copies from one, or raises.
"""

from __future__ import annotations

from .._runtime.ext import lib
from .._runtime.html import table_html
from .._values.to_python import present, rows
from .buffer_access import share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray, Schema

_EDGE = 5  # rows at each end of an array longer than twice that
_CELL = 32  # letters of one value in a table
_OF_ANY_SIZE = ("u", "U", "z", "Z", "+l", "+L", "+m", "+w")
_LARGE = 1 << 20  # bytes of a row that are still read for some letters of it
_PLAIN = ("datetime", "decimal", "pandas")  # modules whose types have in str() the text that repr() wraps in a call


# ---- values ----
def _literal(value: Any) -> str:
    """As repr, with null for what Arrow calls so at every depth, and times and decimals as people write them."""
    if value is None:
        return "null"
    if type(value) is list:
        return f"[{', '.join(map(_literal, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(_literal, value))})"
    if type(value) is dict:
        return f"{{{', '.join(f'{k!r}: {_literal(v)}' for k, v in value.items())}}}"
    return str(value) if type(value).__module__.partition(".")[0] in _PLAIN else repr(value)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _cell(value: Any) -> str:
    """A value in a table: text without quotes, in one line."""
    if isinstance(value, str):
        return _cut(value if value.isprintable() else repr(value)[1:-1], _CELL)
    return _cut(_literal(value), _CELL)


class _Large:
    """A value of which only the size is shown."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def __repr__(self) -> str:
        return f"<{self.nbytes} bytes>"


def _values(a: DeviceArray) -> list[Any]:
    """As Python's, but for values that are too large to be shown."""
    if not a._format.startswith(_OF_ANY_SIZE) or a._schema.dictionary is not None or a.nbytes <= _LARGE:
        return rows(a)
    each = [a._slice(k, 1) for k in range(a.length)]
    return [_Large(row.nbytes) if row.nbytes > _LARGE else rows(row)[0] for row in each]


def _ends(a: DeviceArray) -> list[DeviceArray]:
    """The rows that are shown: all, or some at both ends."""
    n = a.length
    return [a] if n <= 2 * _EDGE else [a._slice(0, _EDGE), a._slice(n - _EDGE, _EDGE)]


# ---- tables ----
def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _column(child: DeviceArray, masks: list[list[bool] | None]) -> list[str]:
    """The cells of a column, "…" between its two ends."""
    parts = []
    for part, mask in zip(_ends(child), masks):
        try:
            values = _values(part)
        except Exception:  # a value that Python's types cannot hold
            parts.append(["?"] * part.length)
            continue
        parts.append([_cell(v if mask is None or mask[k] else None) for k, v in enumerate(values)])
    return parts[0] if len(parts) == 1 else [*parts[0], "…", *parts[1]]


def _is_number(schema: Schema) -> bool:
    return schema.format in tuple("cCsSiIlLefg") or schema.format.startswith("d:")


def _columns(a: DeviceArray, readable: bool, limit: int) -> tuple[list[list[str]], int]:
    """([name, type, cell ...] of the first columns that fit in ``limit`` letters, how many are left out)"""
    out: list[list[str]] = []
    masks = [present(part, None) for part in _ends(a)] if readable else []
    room = limit
    for i in range(a._n_children):
        child = a._child(i)
        s = child._schema
        cells = [_cut(s.name, _CELL), _cut(s.label, _CELL), *(_column(child, masks) if readable else ())]
        room -= max(map(_width, cells)) + 2
        if room < 0 and out:
            return out, a._n_children - i
        out.append(cells)
    return out, 0


def _left_out(a: DeviceArray, n: int, limit: int) -> str:
    names = ", ".join(a._schema.names[-n:])
    return f"and {n} more column{'s' if n > 1 else ''}: {_cut(names, max(limit - 30, 20))}"


def _table(a: DeviceArray, readable: bool) -> str:
    from shutil import get_terminal_size

    limit = get_terminal_size((100, 24)).columns
    columns, more = _columns(a, readable, limit)
    lines = [""] * max(map(len, columns), default=0)
    for number, cells in enumerate(columns):
        width = max(map(_width, cells))
        right = _is_number(a._schema._child(number))
        for k, cell in enumerate(cells):
            pad = " " * (width - _width(cell))
            lines[k] += "  " + (pad + cell if right else cell + pad)
    if more:
        lines.append("  " + _left_out(a, more, limit))
    return "\n".join(line.rstrip() for line in lines)


# ---- arrays ----
def _state(a: DeviceArray) -> tuple[str, bool]:
    """(the event in a word, may the CPU read the values now without waiting?)"""
    if not a.sync_event:
        return "none", bool(lib.cdv_is_host_accessible(a.device_type_id))
    try:
        ready = a.ready
    except Exception:  # no backend, or a failed event
        return "unknown", False
    return "done" if ready else "pending", ready and bool(lib.cdv_is_host_accessible(a.device_type_id))


def _head(a: DeviceArray, event: str) -> str:
    nulls = "unknown" if a.null_count < 0 else a.null_count
    n, m = a.length, a._n_children
    what = f"{a._schema._title}, length {n}"
    if a._format == "+s":
        what = f"of {n} row{'' if n == 1 else 's'} and {m} column{'' if m == 1 else 's'}"
    return f"cdevice.DeviceArray {what}, nulls {nulls}, on {a.device}, event {event}"


def describe(a: DeviceArray) -> str:
    """What ``repr`` of an array shows: type, length, nulls, device and event, and values where the CPU may read them
    now: of a struct array as a table."""
    if a.released:
        return "<cdevice.DeviceArray released>"
    a = share(a)  # another thread may release it meanwhile
    event, readable = _state(a)
    head = f"<{_head(a, event)}>"
    try:
        if a._format == "+s":
            table = _table(a, readable)
            return f"{head}\n{table}" if table else head
        if not readable:
            return head
        parts = [[_cut(_literal(v), 60) for v in _values(part)] for part in _ends(a)]
        shown = parts[0] if len(parts) == 1 else [*parts[0], "...", *parts[1]]
        return f"{head}\n[{', '.join(shown)}]"
    except Exception as e:
        return f"{head}\n[values cannot be shown: {e}]"


# ---- notebooks ----
def array_html(a: DeviceArray) -> str:
    """``_repr_html_`` of an array."""
    if a.released:
        return table_html("cdevice.DeviceArray released", [], [])
    a = share(a)
    event, readable = _state(a)
    head = _head(a, event)
    try:
        if a._format == "+s":
            columns, more = _columns(a, readable, 300)
            lines = [list(cells) for cells in zip(*columns)]
            return table_html(head, lines[:2], lines[2:], _left_out(a, more, 300) if more else "")
        cells = _column(a, [None, None]) if readable else []
        return table_html(head, [[a._schema.label]], [[c] for c in cells])
    except Exception as e:
        return table_html(head, [], [], f"values cannot be shown: {e}")
