"""Functions in the demo: mean, worst and count of a column over the rows that a filter leaves, on every device."""

from __future__ import annotations

import math
import time

from .show import columns, paint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from .._types import DeviceArray

    class Question(NamedTuple):
        """Rows whose ``name`` is greater than ``least``."""

        name: str
        least: int | float

else:
    from collections import namedtuple

    Question = namedtuple("Question", "name least")

PREFERRED = {"arr_delay": 15}


def question(pa: Any, table: Any) -> Question | None:
    """Of a table of pyarrow's; None: no column of numbers has a name of its own and a mean."""
    import pyarrow.compute as pc

    names = table.schema.names
    numbers = [
        f.name
        for f in table.schema
        if (pa.types.is_integer(f.type) or pa.types.is_float32(f.type) or pa.types.is_float64(f.type))
        and names.count(f.name) == 1
    ]
    for name in sorted(numbers, key=lambda n: n not in PREFERRED):
        least = PREFERRED.get(name)
        if least is None:
            mean = pc.mean(table.column(name)).as_py()
            if mean is None or not math.isfinite(mean):
                continue
            least = round(mean) if pa.types.is_integer(table.schema.field(name).type) else mean
        return Question(name, least)
    return None


def by_pyarrow(table: Any, asked: Question) -> tuple[Any, ...]:
    """(mean, greatest, count)"""
    import pyarrow.compute as pc

    column = table.column(asked.name)
    left = column.filter(pc.greater(column, asked.least))
    return pc.mean(left).as_py(), pc.max(left).as_py(), pc.count(left).as_py()


def _once(there: list[DeviceArray], asked: Question) -> tuple[Any, ...]:
    import cdevice.compute as cc

    left = []
    for batch in there:
        late = cc.greater(batch[asked.name], asked.least)
        try:
            left.append(cc.filter(batch, late)[asked.name])
        except cc.NoKernel:  # a layout of another column
            left.append(cc.filter(batch[asked.name], late))
    return cc.mean(left).as_py(), cc.max(left).as_py(), cc.count(left).as_py()


def _agree(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    """The greatest and the count exactly; the mean but for the order in which floats are added."""
    mean, want = found[0], wanted[0]
    near = mean is want or (None not in (mean, want) and math.isclose(mean, want, rel_tol=1e-12, abs_tol=1e-300))
    return near and found[1:] == wanted[1:]


def show(arrays: list[DeviceArray], chosen: Any, asked: Question, wanted: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Prints the table, and returns its rows; ``error``: what went wrong, ``left_out``: the missing results."""
    import cdevice

    rows = sum(a.length for a in arrays)
    lines = [("device", "left", "mean", "greatest", "rows/s", "verdict")]
    found: list[dict[str, Any]] = []
    for device in chosen:
        out: dict[str, Any] = {"device": str(device), "error": None}
        found.append(out)
        try:
            there = [a.to(device) for a in arrays]
            _once(there[:2], asked)  # builds kernels, one of them to join chunks; untimed
            begin = time.perf_counter()
            mean, greatest, count = _once(there, asked)
            seconds = time.perf_counter() - begin
        except (cdevice.BackendUnavailable, NotImplementedError) as exc:  # no compiler
            out["left_out"] = str(exc)
            lines.append((str(device), "", "", "", "", paint("left out", "yellow")))
            continue
        except cdevice.Error as exc:
            out["error"] = f"{type(exc).__name__}: {exc}"
            lines.append((str(device), "", "", "", "", paint("ERROR", "red")))
            continue
        out.update(count=count, mean=mean, greatest=greatest, rows_per_second=rows / seconds)
        if not _agree((mean, greatest, count), wanted):
            out["error"] = f"mean, greatest, count are {mean!r}, {greatest!r}, {count:,}; pyarrow has {wanted}"
        verdict = paint("DIFFERENT", "red") if out["error"] else paint("equal", "green")
        lines.append((str(device), f"{count:,}", _short(mean), _short(greatest), f"{rows / seconds:,.0f}", verdict))
    print(f"\ncomputed where the rows are: those whose {asked.name} > {_short(asked.least)}")
    print("\n".join(columns(lines, align="<>>>><")))
    for out in found:
        if out["error"] or "left_out" in out:
            print(f"  {out['device']}: {out['error'] or out['left_out']}")
    return found


def _short(x: Any) -> str:
    return f"{x:,.6g}" if isinstance(x, float) else "-" if x is None else f"{x:,}"
