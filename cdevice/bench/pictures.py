"""Pictures of what the benchmark measured, or what a file of ``--json`` has.  matplotlib is imported here alone."""

from __future__ import annotations

import functools

from ..cli.plot import BACK, THERE, figure_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

COLOURS = {
    "cdevice": THERE,
    "pyarrow": BACK,
    "nanoarrow": "#6a9f58",
    "arro3": "#8a8f98",
    "polars": "#8c6bb1",
    "duckdb": "#c9a227",
    "bare": "#8a8f98",
}
ROW, HEAD = 0.3, 0.9  # inches


class Panel:
    """One chart: ``rows`` of its height, and what draws it."""

    def __init__(self, rows: float, draw: Callable[[Any], None]) -> None:
        self.height = HEAD + ROW * rows
        self.draw = draw


def _bars(title: str, unit: str, rows: list[tuple[str, dict[str, float]]]) -> Panel:
    """Groups of bars on a logarithmic axis, the first on top: (label, {library: value})."""
    names = list(dict.fromkeys(name for _, values in rows for name in values))

    def draw(axes: Any) -> None:
        thick = 0.8 / len(names)
        for k, name in enumerate(names):
            known = [(i, values[name]) for i, (_, values) in enumerate(rows) if values.get(name)]
            axes.barh(
                [i + (k - (len(names) - 1) / 2) * thick for i, _ in known],
                [v for _, v in known],
                height=thick,
                color=COLOURS.get(name),
                label=name,
            )
        axes.set_xscale("log")
        _rows_named(axes, [label for label, _ in rows])
        axes.set_xlabel(unit)
        axes.set_title(title, fontsize=11, loc="left")
        axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(names))

    return Panel(len(rows) * max(1.0, len(names) * 0.4), draw)


def _ratios(title: str, unit: str, rows: list[tuple[str, float]]) -> Panel:
    """Bars that begin at 1, the speed of the other: to the right cdevice takes less time."""

    def draw(axes: Any) -> None:
        colours = [COLOURS["cdevice" if v >= 1 else "pyarrow"] for _, v in rows]
        bars = axes.barh(range(len(rows)), [v - 1 for _, v in rows], left=1, height=0.7, color=colours)
        axes.bar_label(bars, [f"{v:.2g}" for _, v in rows], padding=3, fontsize=8)
        axes.axvline(1, color="#444", linewidth=1)
        axes.set_xscale("log")
        axes.margins(x=0.08)
        _rows_named(axes, [label for label, _ in rows])
        axes.set_xlabel(unit)
        axes.set_title(title, fontsize=11, loc="left")

    return Panel(len(rows), draw)


def _lines(title: str, x: str, y: str, lines: dict[str, dict[Any, float]], log_y: bool) -> Panel:
    def draw(axes: Any) -> None:
        for name, points in lines.items():
            axes.plot([int(n) for n in points], list(points.values()), marker="o", markersize=3, label=name)
        axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_title(title, fontsize=11, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(True, which="major", alpha=0.25)
        axes.legend(frameon=False, fontsize=8)

    return Panel(9, draw)


def _rows_named(axes: Any, labels: list[str]) -> None:
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_ylim(len(labels) - 0.4, -0.6)  # the first is on top
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, axis="x", which="major", alpha=0.25)


# ---- what each part of a result becomes ----
def _operations(found: Any) -> list[Panel]:
    return [_bars("handing over", "ns for one (less is better)", list(found.items()))] if found else []


def _growth(found: Any) -> list[Panel]:
    return [_lines("export of many columns", "columns", "ns a column", found, False)]


def _transfers(found: Any) -> list[Panel]:
    rows = [(r["row"], r["ratio"]) for r in found if r.get("ratio")]
    return [_ratios("transfers", "speed beside the vendor's calls alone", rows)] if rows else []


def _functions(title: str, found: Any) -> list[Panel]:
    rows = [(f"{r['function']}, {r['device']}", r["ratio"]) for r in found if r.get("ratio") and r["device"] != "floor"]
    unit = "speed beside pyarrow's; 'pyopencl': beside its own; '2 threads by one': beside one thread"
    return [_ratios(f"functions: {title}", unit, rows)] if rows else []


def _groups(found: Any) -> list[Panel]:
    rows = []
    for r in found:
        values = {peer: r.get(f"{peer} ms") for peer in ("pyarrow", "polars", "duckdb")}
        values = {"cdevice": r["ms"], **{p: v for p, v in values.items() if v}}
        rows.append((f"{r['question']}, {r['device']}, {r['threads']} threads", values))
    return [_bars("groups and joins", "ms (less is better)", rows)] if rows else []


def _expressions(found: Any) -> list[Panel]:
    rows = [(f"{r['question']}, {r['device']}", {k: v for k, v in r["ms"].items() if k != "floor"}) for r in found]
    return [_bars("expressions", "ms (less is better)", rows)] if rows else []


def _scale(found: Any) -> list[Panel]:
    return [
        _lines(f"{device}, by the number of {part}", part, "ns a row", functions, True)
        for device, parts in found.items()
        for part, functions in parts.items()
    ]


PARTS: dict[str, Callable[[Any], list[Panel]]] = {
    "ns": _operations,
    "growth": _growth,
    "transfers": _transfers,
    **{title: functools.partial(_functions, title) for title in ("compute", "text", "times", "numbers", "casts")},
    "groups": _groups,
    "expressions": _expressions,
    "scale": _scale,
}


def panels(result: dict[str, Any]) -> list[Panel]:
    """The charts of a result, in the order of PARTS."""
    return [panel for part, make in PARTS.items() if result.get(part) for panel in make(result[part])]


def draw(path: str, result: dict[str, Any]) -> bool:
    """All charts below each other in one picture; False: the result has nothing to draw."""
    from matplotlib import rc_context

    charts = panels(result)
    if not charts:
        return False
    figure = figure_of(sum(c.height for c in charts))
    axes = figure.subplots(len(charts), 1, squeeze=False, height_ratios=[c.height for c in charts])
    for (ax,), chart in zip(axes, charts, strict=True):
        chart.draw(ax)
    versions = ", ".join(f"{name} {version}" for name, version in result.get("versions", {}).items())
    figure.suptitle(f"Python {result.get('python', '?')}; {versions}", fontsize=9)
    # the same result gives the same file, and its words stay words
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "cdevice"}):
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.endswith(".svg") else None)
    return True
