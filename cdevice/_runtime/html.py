"""What notebooks show: the one place that writes HTML.

Everything is text and is escaped here; callers hand over no markup.  Nothing here asks a device.
"""

from __future__ import annotations

from html import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _row(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(c)}</{tag}>" for c in cells) + "</tr>"


def table_html(head: str, header: list[list[str]], body: list[list[str]], foot: str = "") -> str:
    """A caption, rows of headings, rows of values, a line below."""
    out = [f"<div><small>{escape(head)}</small><table>"]
    if header:
        out.append(f"<thead>{''.join(_row(cells, 'th') for cells in header)}</thead>")
    out.append(f"<tbody>{''.join(_row(cells, 'td') for cells in body)}</tbody></table>")
    return "".join(out) + (f"<small>{escape(foot)}</small>" if foot else "") + "</div>"


def code_html(text: str) -> str:
    """A name or an expression, as code."""
    return f"<code>{escape(text)}</code>"


def facts_html(head: str, facts: dict[str, Any]) -> str:
    """A few named facts."""
    return table_html(head, [], [[k, str(v)] for k, v in facts.items()])
