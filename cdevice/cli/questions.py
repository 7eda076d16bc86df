"""The end of the demo: the worst ten rows with their rank, and flights by carrier and month, on every device.

Both are asked of pyarrow too; one table is printed of each, with a verdict for every device.
"""

from __future__ import annotations

import math
import time

from .show import columns, paint, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import DeviceArray

WORST = 10
SHOWN = 10  # of the groups
BESIDE = ("month", "day", "carrier", "flight", "origin", "dest")  # shown with the worst, where a table has them
KEYS = ["carrier", "month"]
DELAY = "arr_delay"
TENTH = f"{DELAY}_90%"  # a tenth of the flights are later
AGGREGATIONS: Any = {
    "count_all": ([], "count_all"),
    f"{DELAY}_mean": (DELAY, "mean"),
    TENTH: (DELAY, "quantile", {"q": 0.9}),
    f"{DELAY}_max": (DELAY, "max"),
}
ORDER = [(f"{DELAY}_mean", "descending"), ("name", "ascending"), ("month", "ascending")]
RESULT = ["name", "month", "count_all", f"{DELAY}_mean", TENTH, f"{DELAY}_max"]


def worst_columns(table: Any, name: str) -> list[str]:
    """The columns of a table of pyarrow's that are shown of its worst rows; the last one is ``name``."""
    return [c for c in BESIDE if c != name and table.schema.names.count(c) == 1] + [name]


def worst_by_pyarrow(table: Any, shown: list[str]) -> list[dict[str, Any]]:
    """The rows with the greatest values of the last of the columns ``shown``, and their ``rank``."""
    import pyarrow.compute as pc

    order = pc.sort_indices(table, sort_keys=[(shown[-1], "descending")])[:WORST]
    ranks = pc.rank(table[shown[-1]], sort_keys="descending", tiebreaker="min")
    rows = table.select(shown).take(order).to_pylist()
    return [{"rank": r, **row} for r, row in zip(ranks.take(order).to_pylist(), rows)]


def _worst(there: list[DeviceArray], shown: list[str]) -> list[dict[str, Any]]:
    import cdevice.compute as cc

    ordered = cc.sort_by([a.select(shown) for a in there], [(shown[-1], "descending")])
    ranks = cc.rank(ordered[shown[-1]], "descending", tiebreaker="min")[:WORST].to("cpu").to_pylist()
    return [{"rank": r, **row} for r, row in zip(ranks, ordered[:WORST].to("cpu").to_pylist())]


def groups_by_pyarrow(table: Any, airlines: Any) -> list[dict[str, Any]]:
    """Number, mean, 90th percentile and worst delay of each carrier and month, with the carriers' names, sorted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    out = table.group_by(KEYS).aggregate([([], "count_all"), (DELAY, "mean"), (DELAY, "max"), (DELAY, "list")])
    tenths = [pc.quantile(x.values, 0.9)[0].as_py() for x in out[f"{DELAY}_list"]]  # it has no exact one of groups
    out = out.append_column(TENTH, pa.array(tenths, pa.float64())).drop_columns([f"{DELAY}_list"])
    out = out.join(airlines, "carrier", join_type="inner")
    rows: list[dict[str, Any]] = out.sort_by(ORDER).select(RESULT).to_pylist()
    return rows


def _groups(there: list[DeviceArray], names: DeviceArray) -> list[dict[str, Any]]:
    import cdevice.compute as cc

    groups = cc.group_by([a.select([*KEYS, DELAY]) for a in there], KEYS).aggregate(AGGREGATIONS)
    ordered = cc.sort_by(cc.join(groups, names, "carrier", join_type="inner"), ORDER)
    rows: list[dict[str, Any]] = ordered.select(RESULT).to("cpu").to_pylist()
    return rows


def drawn(table: Any, airlines: Any) -> list[tuple[str, float, float]]:
    """What the picture has of the first groups: a label, the mean and the 90th percentile."""
    rows = groups_by_pyarrow(table, airlines)[:SHOWN]
    return [(f"{r['name']}, {r['month']}", r[f"{DELAY}_mean"], r[TENTH]) for r in rows]


def same(found: Any, wanted: Any) -> bool:
    """Equal, floats but for the order in which they are added."""
    if isinstance(found, float) and isinstance(wanted, float):
        return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-300) or found != found and wanted != wanted
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(found, dict) and isinstance(wanted, dict):
        return [*found] == [*wanted] and all(map(same, found.values(), wanted.values()))
    return bool(found == wanted)


def _asked(
    arrays: list[DeviceArray], chosen: Any, once: Callable[[Any, list[DeviceArray]], Any], wanted: Any
) -> list[dict[str, Any]]:
    """``once(device, arrays there)`` of each device; ``error``: what went wrong, ``left_out``: why it was not asked."""
    import cdevice

    found = []
    for device in chosen:
        out: dict[str, Any] = {"device": str(device), "error": None}
        found.append(out)
        try:
            there = [a.to(device) for a in arrays]
            once(device, there[:2])  # builds kernels; untimed
            begin = time.perf_counter()
            rows = once(device, there)
            out["seconds"] = time.perf_counter() - begin
        except (cdevice.BackendUnavailable, NotImplementedError) as exc:  # no compiler
            out["left_out"] = str(exc)
            continue
        except cdevice.Error as exc:
            out["error"] = f"{type(exc).__name__}: {exc}"
            continue
        if not same(rows, wanted):
            out["error"] = f"the rows differ from pyarrow's, the first of which is {wanted[0] if wanted else 'none'}"
    return found


def _print(title: str, rows: list[dict[str, Any]], found: list[dict[str, Any]], limit: int) -> None:
    print(f"\n{title}")
    if rows:
        values = [[_shown(v) for v in row.values()] for row in rows[:limit]]
        numeric = [not isinstance(v, str) for v in rows[0].values()]
        align = "".join("<>"[n] for n in numeric)
        print("\n".join(columns([[*rows[0]], *values], align=align)))
    if len(rows) > limit:
        print(f"  ... {plural(len(rows), 'row')}")
    for out in found:
        if out["error"] or "left_out" in out:
            state = paint("ERROR", "red") if out["error"] else paint("left out", "yellow")
            print(f"  {out['device']}: {state}: {out['error'] or out['left_out']}")
        else:
            print(f"  {out['device']}: {paint('equal', 'green')}, {out['seconds'] * 1e3:,.1f} ms")


def _shown(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else "-" if value is None else str(value)


def show_worst(table: Any, arrays: list[DeviceArray], chosen: Any, name: str) -> list[dict[str, Any]]:
    """Prints the rows with the greatest values of a column, and returns what each device made of the question."""
    shown = worst_columns(table, name)
    wanted = worst_by_pyarrow(table, shown)
    found = _asked(arrays, chosen, lambda device, there: _worst(there, shown), wanted)
    _print(
        f"sorted where the rows are: the {plural(len(wanted), 'row')} with the greatest {name}", wanted, found, WORST
    )
    return found


def show_groups(table: Any, airlines: Any, arrays: list[DeviceArray], chosen: Any) -> list[dict[str, Any]]:
    """Prints flights by carrier and month, and returns what each device made of the question."""
    import cdevice

    wanted = groups_by_pyarrow(table, airlines)
    names = cdevice.asarray(airlines.combine_chunks().to_batches()[0])
    found = _asked(arrays, chosen, lambda device, there: _groups(there, names.to(device)), wanted)
    _print(f"grouped, joined and sorted where the rows are: {DELAY} by carrier and month", wanted, found, SHOWN)
    return found
