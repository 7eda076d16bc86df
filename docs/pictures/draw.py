"""Draws the pictures of this folder: ``python docs/pictures/draw.py``.

Each has a light ground of its own, so that it reads the same on a dark page.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

INK, GREY, GROUND = "#1f2328", "#59636e", "#f6f8fa"
BLUE, GREEN, ORANGE, PURPLE = "#0550ae", "#116329", "#953800", "#6639ba"  # white text on each reads


class Picture:
    """Boxes, arrows and words."""

    def __init__(self, width: int, height: int, title: str, text: str) -> None:
        self.size, self.title, self.text = (width, height), title, text
        self.parts: list[str] = []

    def box(self, x: int, y: int, w: int, h: int, words: str, color: str, *, ground: bool = False) -> None:
        fill, ink = ("#ffffff", color) if ground else (color, "#ffffff")
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="5" fill="{fill}" stroke="{color}"/>')
        lines = words.split("\n")
        top = y + 21 if ground else y + h / 2 + 5 - 9 * (len(lines) - 1)
        for n, line in enumerate(lines):
            self.words(x + w / 2, top + 18 * n, line, ink, "middle")

    def words(self, x: float, y: float, words: str, color: str = INK, anchor: str = "start") -> None:
        self.parts.append(f'<text x="{x:g}" y="{y:g}" fill="{color}" text-anchor="{anchor}">{escape(words)}</text>')

    def arrow(self, x1: int, y1: int, x2: int, y2: int, color: str = INK, dash: bool = False) -> None:
        line = ' stroke-dasharray="5 4"' if dash else ""
        self.parts.append(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}" stroke-width="2"{line}'
            ' marker-end="url(#end)"/>'
        )

    def svg(self) -> str:
        w, h = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img"'
            ' font-family="sans-serif" font-size="14">\n'
            f"<title>{escape(self.title)}</title>\n<desc>{escape(self.text)}</desc>\n"
            '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
            f'<path d="M0 0 8 4 0 8z" fill="{INK}"/></marker></defs>\n'
            f'<rect width="{w}" height="{h}" rx="8" fill="{GROUND}"/>\n'
        )
        return head + "\n".join(self.parts) + "\n</svg>\n"


def device() -> Picture:
    p = Picture(720, 244, "Device", "An array on the CPU and its copy on a device: buffers, device and event.")
    p.box(20, 20, 260, 160, "cpu", BLUE, ground=True)
    p.box(440, 20, 260, 160, "opencl:0, cuda:0 ...", GREEN, ground=True)
    for n, words in enumerate(("validity bitmap", "offsets", "values")):
        p.box(40, 54 + 40 * n, 220, 32, words, BLUE)
        p.box(460, 54 + 40 * n, 220, 32, words, GREEN)
    p.arrow(285, 110, 433, 110)
    p.words(360, 96, 'arr.to("opencl")', INK, "middle")
    p.words(360, 134, "one allocation,", GREY, "middle")
    p.words(360, 152, "returns at once", GREY, "middle")
    p.words(20, 208, "An array is a schema, a device and buffers in memory of that device.", INK)
    p.words(20, 226, "Slices, columns and other libraries share the buffers; only .to() copies them.", GREY)
    return p


def event() -> Picture:
    p = Picture(
        720, 250, "Event", "A copy is queued, records an event, and the consumer's kernel waits for it on the device."
    )
    p.words(20, 48, "your program", GREY)
    p.box(130, 28, 120, 32, "arr.to(device)", BLUE)
    p.box(262, 28, 130, 32, "other.asarray(x)", BLUE)
    p.box(404, 28, 150, 32, "goes on at once", BLUE)
    p.words(20, 118, "queue 1", GREY)
    p.box(160, 98, 200, 32, "copy", GREEN)
    p.box(360, 98, 74, 32, "event", ORANGE)
    p.words(20, 188, "queue 2", GREY)
    p.box(434, 168, 220, 32, "kernel that reads x", PURPLE)
    p.arrow(190, 62, 190, 96, dash=True)
    p.arrow(397, 132, 441, 166, ORANGE)
    p.words(452, 150, "waits on the device", INK)
    p.words(
        20, 232, "An array carries the event of the work that makes it. A consumer waits for it before it reads.", INK
    )
    return p


def stream() -> Picture:
    p = Picture(720, 222, "Stream", "A source, three batches that are copied ahead, and the loop that takes them.")
    p.box(20, 50, 130, 70, "source:\nfile, generator,\ntable", BLUE)
    p.box(210, 24, 270, 122, "prefetch=2", GREEN, ground=True)
    for n in range(3):
        p.box(224 + 84 * n, 62, 74, 60, f"batch {4 - n}", GREEN)
    p.box(540, 50, 160, 70, "for batch\nin stream:", PURPLE)
    p.arrow(152, 85, 206, 85)
    p.arrow(482, 85, 536, 85)
    p.words(345, 140, "at most three on the device", GREY, "middle")
    p.words(20, 182, "A stream is a schema and arrays to come, on one device.", INK)
    p.words(20, 202, "Copies run ahead of the loop; memory does not grow with the stream.", GREY)
    return p


def release() -> Picture:
    p = Picture(
        720, 250, "Release", "Owners share one block; it goes back after the last release, behind the device's work."
    )
    p.box(20, 24, 130, 32, "arr", BLUE)
    p.box(20, 74, 130, 32, "arr[2:5]", BLUE)
    p.box(20, 124, 130, 32, "other library", BLUE)
    p.box(250, 54, 150, 72, "shared buffers,\ncount: 3", GREEN)
    for y, to in ((40, 72), (90, 90), (140, 108)):
        p.arrow(152, y, 246, to)
    p.box(500, 54, 200, 72, "memory is used again\nbehind the device's work", ORANGE)
    p.arrow(402, 90, 496, 90)
    p.words(449, 78, "count: 0", INK, "middle")
    p.words(20, 200, "Each owner releases its share once, from any thread. No release waits for the device.", INK)
    p.words(20, 220, "The last one gives the memory back; it is used again when the device has passed its work.", GREY)
    return p


PICTURES = {"device": device, "event": event, "stream": stream, "release": release}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        Path(__file__).with_name(f"{name}.svg").write_text(draw().svg(), encoding="utf-8")
    sys.exit(0)
