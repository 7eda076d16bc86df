"""Types from words and format strings: "list<item: int32>", "timestamp[us, tz=UTC]", "+w:3"."""

from __future__ import annotations

from ..errors import InvalidArray
from . import DICTIONARY_ORDERED, NULLABLE, UNIT_LETTERS
from .node import make
from .suggest import near
from .type_names import ALIASES, WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..schema import Schema


def parse(text: str, name: str = "") -> Schema:
    word = text.strip()
    if word in WORDS:
        return make(WORDS[word], name)
    known = ALIASES.get(word.lower()) or (WORDS.get(word.lower()) if len(word) > 2 else None)
    if known is not None:
        return make(known, name)
    head, _, rest = word.partition("[")
    if rest.endswith("]"):
        first, _, zone = rest[:-1].partition(",")
        first, zone = first.strip(), zone.lstrip()
        if head == "timestamp" and first in UNIT_LETTERS:  # what stands behind tz= is the zone, blanks and all
            zone = zone[3:] if zone.startswith("tz=") else zone.strip()
            return make(f"ts{UNIT_LETTERS[first]}:{zone}", name)
        if head == "fixed_size_binary" and first.isdecimal() and not zone:
            return make(f"w:{int(first)}", name)
    head, _, rest = word.partition("(")
    if head in ("decimal", "decimal32", "decimal64", "decimal128", "decimal256") and rest.endswith(")"):
        bits = head[7:] or "128"
        numbers = rest[:-1].replace(" ", "")
        return make(f"d:{numbers}" + ("" if bits == "128" else f",{bits}"), name)
    if word.endswith((">", "]")) and "<" in word:
        return _parse_nested(word, name)
    try:
        return make(word, name)  # a format string
    except InvalidArray as e:
        if not word or len(word) > 2 and word[:3].isalpha():  # no format is a word
            raise InvalidArray(f"unknown type {word!r}{near(word)}") from None
        raise e


_LISTS = {"list": "+l", "large_list": "+L", "list_view": "+vl", "large_list_view": "+vL"}


def _parse_nested(word: str, name: str) -> Schema:
    head, _, rest = word.partition("<")
    inner, _, size = rest.rpartition(">")
    parts = _split(inner)
    if head == "fixed_size_list" and size[:1] == "[" and size[-1:] == "]" and len(parts) == 1:
        return make(f"+w:{size[1:-1]}", name, children=[_parse_field(parts[0], "item")])
    if not size:
        if head in _LISTS and len(parts) == 1:
            return make(_LISTS[head], name, children=[_parse_field(parts[0], "item")])
        if head == "struct":
            return make("+s", name, children=[_parse_field(p, f"f{i}") for i, p in enumerate(parts)])
        if head == "map" and len(parts) == 2:
            fields = [_parse_field(parts[0] + " not null", "key"), _parse_field(parts[1], "value")]
            pair = make("+s", "entries", children=fields, nullable=False)
            return make("+m", name, children=[pair])
        if head == "run_end_encoded" and len(parts) == 2:
            ends = _parse_field(parts[0].removesuffix(" not null") + " not null", "run_ends")
            return make("+r", name, children=[ends, _parse_field(parts[1], "values")])
        if head in ("dense_union", "sparse_union") and all("=" in p for p in parts):
            pairs = [p.rpartition("=")[::2] for p in parts]
            ids = ",".join(n for _, n in pairs)
            return make(f"+u{head[0]}:{ids}", name, children=[_parse_field(p, "") for p, _ in pairs])
        if head == "dictionary" and all("=" in p for p in parts):
            of = dict(p.split("=", 1) for p in parts)
            if {"values", "indices"} <= of.keys() <= {"values", "indices", "ordered"}:
                index = parse(of["indices"])
                flags = NULLABLE | (DICTIONARY_ORDERED if of.get("ordered", "0") == "1" else 0)
                return make(index.format, name, dictionary=parse(of["values"]), flags=flags)
    raise InvalidArray(f"unknown type {word!r}{near(head)}")


def _split(text: str) -> list[str]:
    """The parts between the commas that are in no bracket."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<[(") - (c in ">])")
        if c == "," and not depth:
            out.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return out + [last] if last or out else []


def _parse_field(text: str, default: str) -> Schema:
    """ "name: type", the name being optional, and perhaps "not null" behind it."""
    nullable = not text.endswith(" not null")
    text = text.removesuffix(" not null")
    field, colon, of = text.partition(": ")
    if not colon or any(c in field for c in "<[("):
        field, of = default, text
    try:
        out = parse(of, field)
    except InvalidArray:
        field, colon, of = text.partition(":")  # without the blank it may be a format, "tsu:UTC"
        if not colon or of.startswith(" ") or any(c in field for c in "<[("):
            raise
        out = parse(of, field)
    if nullable:
        return out
    flags = out.flags & ~NULLABLE
    return make(out.format, out.name, children=out.children, dictionary=out.dictionary, flags=flags)
