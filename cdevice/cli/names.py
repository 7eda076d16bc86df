"""Columns as options name them: ``a, b, total=price * amount``."""

from __future__ import annotations

import io
import keyword
import tokenize

from ..errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..compute import Expression


def _parts(text: str) -> Iterator[tuple[str | None, str]]:
    """The name before a ``=``, and the text of what stands there, between commas that are in no brackets or strings.

    The tokens are Python's and not its arguments of a call: a column may stand behind ``name=expression``, and names
    are as they are written, where Python has one name for several characters.  Raises ValueError."""
    text = f"({text})"  # a new line in it is white space
    lines = [0]
    while (at := text.find("\n", lines[-1])) >= 0:
        lines.append(at + 1)
    depth = 0
    begin, some, name = 1, 0, None  # of a part: where it begins, how many tokens it has
    before = ""
    for kind, token, (row, column), _, _ in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind in (tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER):
            continue
        at = lines[row - 1] + column
        depth += (token in "([{") - (token in ")]}") if kind == tokenize.OP else 0
        if not at:
            continue
        if kind == tokenize.OP and (depth == 0 or (token == "," and depth == 1)):
            yield name, text[begin:at].strip()
            begin, some, name = at + 1, 0, None
            if depth == 0 and begin < len(text):
                raise ValueError("a bracket too many")
            continue
        if some == 1 and token == "=" and before.isidentifier():
            name, begin = before, at + 1
        before = token
        some += 1


def named_columns(text: str, known: Sequence[str] = ()) -> dict[str, Expression]:
    """Names and expressions of such a text; a text that is the name of a column is that.

    ``known``: names of columns.  Raises ArgumentError with the place.
    """
    from .. import compute as cc
    from ..compute.expressions.graph import Column

    if text in known:
        return {text: cc.field(text)}
    try:
        parts = [*_parts(text)]
    except (tokenize.TokenError, SyntaxError, ValueError):
        parts = []
    if len(parts) > 1 and parts[-1] == (None, ""):  # a comma at the end
        parts.pop()
    if not parts or not all(of for _, of in parts):
        raise ArgumentError(f"expected names or name=expression, with commas between them, not {text!r}")
    out: dict[str, Expression] = {}
    for name, of in parts:
        plain = of in known or (of.isidentifier() and not keyword.iskeyword(of))
        made = cc.field(of) if plain else cc.Expression.parse(of)
        key = name or (made._value.name if isinstance(made._value, Column) else str(made))
        if key in out:
            raise ArgumentError(f"two columns of the name {key!r} in {text!r}")
        out[key] = made
    return out
