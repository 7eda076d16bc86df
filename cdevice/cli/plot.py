"""A picture of the demo: bytes and GB/s of each device, there and back.  matplotlib is imported here alone."""

from __future__ import annotations

import importlib.util
import os

from .tables import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Groups = list[tuple[str, float, float]]

THERE, BACK = "#3b6ea8", "#e08a3c"


def figure_of(height: float) -> Any:
    """An empty figure, so many inches high."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, height), layout="constrained")
    FigureCanvasAgg(figure)  # no window, independent of the environment
    return figure


def ready(path: str) -> None:
    """InputError where no picture could be drawn there in the end."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("--plot needs matplotlib, which is not installed\n  pip install matplotlib")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise InputError(f"--plot: there is no folder {folder}")
    ending = os.path.splitext(path)[1].lstrip(".").lower()
    known = sorted(figure_of(2).canvas.get_supported_filetypes())
    if ending not in known:
        raise InputError(f"--plot: {path!r} does not end in a known picture format; known: {', '.join(known)}")


def draw(path: str, results: list[dict[str, Any]], title: str, groups: Groups | None = None) -> None:
    """``results``: with ``device``, ``bytes`` and the seconds ``there`` and ``back``; the first one is on top.
    ``groups``: a second picture below, see :func:`_draw_groups`."""
    names = [r["device"] for r in results]
    height = 1.9 + 0.75 * max(1, len(names))
    figure = figure_of(height + (0.8 + 0.3 * len(groups) if groups else 0))
    above: Any = figure
    if groups:
        above, below = figure.subfigures(2, 1, height_ratios=(height, 0.8 + 0.3 * len(groups)))
        _draw_groups(below, groups)
    above.suptitle(f"{title}: to each device and back", fontsize=11)
    left, right = above.subplots(1, 2, sharey=True, width_ratios=(2, 3))
    places = range(len(names))
    for axes in (left, right):
        axes.set_yticks(list(places), names)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.24)
    left.invert_yaxis()
    moved = left.barh(list(places), [r["bytes"] / 1e6 for r in results], height=0.5, color="#8a8f98")
    left.bar_label(moved, [f"{r['bytes'] / 1e6:.1f} MB" for r in results], padding=4, fontsize=9)
    left.set_xlabel("MB moved each way")
    for key, colour, offset, label in (("there", THERE, -0.19, "to the device"), ("back", BACK, 0.19, "back")):
        speeds = [r["bytes"] / r[key] / 1e9 if r[key] > 0 else 0.0 for r in results]
        bars = right.barh([i + offset for i in places], speeds, height=0.36, color=colour, label=label)
        right.bar_label(bars, [f"{s:.2f}" for s in speeds], padding=4, fontsize=9)
    right.set_xlabel("GB/s")
    right.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=2)
    figure.savefig(path, dpi=120)


def _draw_groups(figure: Any, groups: Groups) -> None:
    """(label, mean, 90th percentile) of each group, the first one on top."""
    figure.suptitle("minutes late by carrier and month, the worst means", fontsize=11)
    axes, places = figure.subplots(), range(len(groups))
    axes.set_yticks(list(places), [label for label, _, _ in groups], fontsize=9)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    bars = axes.barh(list(places), [mean for _, mean, _ in groups], height=0.6, color=THERE, label="mean")
    axes.bar_label(bars, [f"{mean:.0f}" for _, mean, _ in groups], padding=4, fontsize=9)
    axes.plot([tenth for _, _, tenth in groups], list(places), "|", color=BACK, markersize=13, label="90th percentile")
    axes.legend(frameon=False, fontsize=9, loc="upper right", bbox_to_anchor=(1, 1.12), ncols=2)


def draw_answer(path: str, rows: list[dict[str, Any]], numbers: list[str]) -> None:
    """The last column of numbers as bars, with the columns before the first aggregate as labels.

    ``rows``: of the answer; ``numbers``: its columns of numbers."""
    if not rows or not numbers:
        raise InputError(f"--plot: {'no column of the answer has numbers' if rows else 'there are no rows to draw'}")
    name = numbers[-1]
    labels = [n for n in rows[0] if n not in numbers] or [n for n in rows[0] if n != name][:2]
    names = [", ".join("-" if r[n] is None else str(r[n]) for n in labels) or str(i + 1) for i, r in enumerate(rows)]
    figure = figure_of(0.9 + 0.3 * len(rows))
    axes = figure.subplots()
    places = list(range(len(rows)))
    bars = axes.barh(places, [0 if r[name] is None else r[name] for r in rows], height=0.6, color=THERE)
    axes.bar_label(bars, ["-" if r[name] is None else f"{r[name]:,.4g}" for r in rows], padding=4, fontsize=9)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12)
    axes.set_title(name, fontsize=11)
    figure.savefig(path, dpi=150)
