"""A picture of the demo: bytes and GB/s of each device, there and back.  matplotlib is imported here alone."""

from __future__ import annotations

import importlib.util
import os

from .tables import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

THERE, BACK = "#3b6ea8", "#e08a3c"


def _figure(height: float) -> Any:
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
    known = sorted(_figure(2).canvas.get_supported_filetypes())
    if ending not in known:
        raise InputError(f"--plot: {path!r} does not end in a known picture format; known: {', '.join(known)}")


def draw(path: str, results: list[dict[str, Any]], title: str) -> None:
    """``results``: with ``device``, ``bytes`` and the seconds ``there`` and ``back``; the first one is on top."""
    names = [r["device"] for r in results]
    figure = _figure(1.9 + 0.75 * max(1, len(names)))
    figure.suptitle(f"{title}: to each device and back", fontsize=11)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(2, 3))
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
