"""A picture of what ran when, as SVG: a lane for each device and stream, milliseconds from left to right."""

from __future__ import annotations

from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Span(NamedTuple):
        lane: str
        begin: float
        end: float
        colour: str
        label: str
        text: str
else:
    from collections import namedtuple

    Span = namedtuple("Span", "lane begin end colour label text")

WIDTH, LANE = 760, 44


def _ticks(end: float) -> list[float]:
    """At most ten round times."""
    step = 10.0**-3
    while True:
        for factor in (1, 2, 5):
            if end / (step * factor) <= 10:
                return [i * step * factor for i in range(int(end / (step * factor)) + 1)]
        step *= 10


def svg(spans: list[Span], title: str, lanes: list[str] | None = None, legend: dict[str, str] | None = None) -> str:
    """``spans``: times in milliseconds, ``label`` inside, ``text`` where the mouse is; ``lanes``: their order."""
    lanes = lanes or list(dict.fromkeys(span.lane for span in spans))
    end = max((span.end for span in spans), default=1.0) or 1.0
    left = 20 + 7 * max((len(lane) for lane in lanes), default=0)
    scale = (WIDTH - left - 20) / end
    bottom = 14 + LANE * len(lanes)
    height = bottom + 46 + (24 if legend else 0)
    style = 'role="img" font-family="sans-serif" font-size="13"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {style}>',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for k, lane in enumerate(lanes):
        y = 14 + k * LANE
        lines.append(f'<text x="{left - 10}" y="{y + 19}" text-anchor="end" fill="#222222">{escape(lane)}</text>')
        for span in spans:
            if span.lane != lane:
                continue
            x, w = left + span.begin * scale, max((span.end - span.begin) * scale, 0.4)
            shape = f'<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="28" fill="{span.colour}"'
            lines.append(f"{shape}><title>{escape(span.text)}</title></rect>" if span.text else shape + "/>")
            if span.label:
                where = f'x="{x + w / 2:.1f}" y="{y + 19}" text-anchor="middle"'
                lines.append(f'<text {where} fill="#ffffff">{escape(span.label)}</text>')
    lines.append(f'<line x1="{left}" y1="{bottom}" x2="{WIDTH - 20}" y2="{bottom}" stroke="#222222"/>')
    for t in _ticks(end):
        where = f'x="{left + t * scale:.1f}" y="{bottom + 18}" text-anchor="middle"'
        lines.append(f'<text {where} fill="#222222">{t:g}</text>')
    lines.append(f'<text x="{WIDTH - 20}" y="{bottom + 36}" text-anchor="end" fill="#222222">milliseconds</text>')
    for k, (name, colour) in enumerate((legend or {}).items()):
        x = left + k * 130
        lines.append(f'<rect x="{x}" y="{bottom + 44}" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{x + 18}" y="{bottom + 55}" fill="#222222">{escape(name)}</text>')
    return "\n".join([*lines, "</svg>", ""])


__all__ = ["Span", "svg"]
