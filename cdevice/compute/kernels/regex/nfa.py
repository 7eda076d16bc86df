"""Regular expressions as Thompson's automata (NFA) over bytes: UTF-8, or Latin-1."""

from __future__ import annotations

from .syntax import BEGIN_LINE, BEGIN_TEXT, END_LINE, END_TEXT, GREATEST, UnsupportedPattern, may_be_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .syntax import Node

MOST_INSTRUCTIONS = 10_000
_REVERSED = {BEGIN_TEXT: END_TEXT, END_TEXT: BEGIN_TEXT, BEGIN_LINE: END_LINE, END_LINE: BEGIN_LINE}
BYTES, FORK, ASSERTION, MATCH = range(4)


# ---- UTF-8 ----
def _encoded(c: int) -> bytes:
    return chr(c).encode("utf-8", "surrogatepass")


def utf8_sequences(lo: int, hi: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """The code points from lo to hi as ranges of bytes, one behind the other."""
    for greatest in (0x7F, 0x7FF, 0xFFFF):
        if lo <= greatest < hi:
            yield from utf8_sequences(lo, greatest)
            yield from utf8_sequences(greatest + 1, hi)
            return
    for bits in (6, 12, 18):  # the last bytes must have all values between two first ones
        mask = (1 << bits) - 1
        if hi <= 0x7F or lo & ~mask == hi & ~mask:
            continue
        if lo & mask:
            yield from utf8_sequences(lo, lo | mask)
            yield from utf8_sequences((lo | mask) + 1, hi)
            return
        if hi & mask != mask:
            yield from utf8_sequences(lo, (hi & ~mask) - 1)
            yield from utf8_sequences(hi & ~mask, hi)
            return
    yield tuple(zip(_encoded(lo), _encoded(hi)))


# every character that has more than one byte, and longer forms than needed, as RE2 has it: less to tell apart
_MANY_BYTES = (
    ((0xC2, 0xDF), (0x80, 0xBF)),
    ((0xE0, 0xEF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF0, 0xF4), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
)


class NFA:
    """``code``: instructions (BYTES, lo, hi, next), (FORK, first, second), (ASSERTION, which, next), and (MATCH,),
    number 0; ``start``: the first one; ``repeats_empty``: a repetition without limit may go round without a byte.
    ``backwards``: it reads a row from its end.  Raises UnsupportedPattern."""

    def __init__(self, tree: Node, latin1: bool, backwards: bool) -> None:
        self.code: list[tuple[int, ...]] = [(MATCH,)]
        self.latin1, self.backwards = latin1, backwards
        self.assertions: set[int] = set()
        self.repeats_empty = False
        self.start = self._add(tree, 0)

    def _emit(self, *instruction: int) -> int:
        if len(self.code) >= MOST_INSTRUCTIONS:
            raise UnsupportedPattern(f"more than {MOST_INSTRUCTIONS:,} instructions, it is too large")
        self.code.append(instruction)
        return len(self.code) - 1

    def _add(self, node: Node, then: int) -> int:
        """The first instruction of a node that is followed by ``then``."""
        kind = node[0]
        if kind == "set":
            return self._set(node[1], then)
        if kind == "cat":
            for part in node[1] if self.backwards else reversed(node[1]):
                then = self._add(part, then)
            return then
        if kind == "alt":
            begins = [self._add(part, then) for part in node[1]]
            return self._one_of(begins)
        if kind == "at":
            where: int = node[1]
            if self.backwards:
                where = _REVERSED.get(where, where)
            self.assertions.add(where)
            return self._emit(ASSERTION, where, then)
        return self._repeat(node, then)

    def _one_of(self, begins: list[int]) -> int:
        out = begins[-1]
        for begin in reversed(begins[:-1]):
            out = self._emit(FORK, begin, out)
        return out

    def _set(self, ranges: Any, then: int) -> int:
        found: list[tuple[tuple[int, int], ...]] = []
        for lo, hi in ranges:
            if self.latin1:
                if lo <= 0xFF:
                    found.append(((lo, min(hi, 0xFF)),))
            elif lo <= 0x80 and hi == GREATEST:
                found += [((lo, 0x7F),)] * (lo < 0x80)
                found += _MANY_BYTES
            else:
                found += utf8_sequences(lo, hi)
        known: dict[tuple[Any, ...], int] = {}  # ends that several have
        begins = [self._bytes(sequence, then, known) for sequence in found]
        return self._one_of(begins) if begins else self._emit(BYTES, 1, 0, then)  # no byte is in it

    def _bytes(self, sequence: tuple[tuple[int, int], ...], then: int, known: dict[tuple[Any, ...], int]) -> int:
        if not sequence:
            return then
        if sequence not in known:
            head, rest = (sequence[-1], sequence[:-1]) if self.backwards else (sequence[0], sequence[1:])
            known[sequence] = self._emit(BYTES, *head, self._bytes(rest, then, known))
        return known[sequence]

    def _fork(self, greedy: bool, more: int, then: int) -> int:
        return self._emit(FORK, more, then) if greedy else self._emit(FORK, then, more)

    def _repeat(self, node: Node, then: int) -> int:
        _, inner, least, most, greedy = node
        if inner[0] == "at":  # once is as good as often
            least, most = min(least, 1), 1 if most is None else min(most, 1)
        if most is None:
            return self._plus(inner, max(least, 1), greedy, then, optional=least == 0)
        out = then
        for _ in range(most - least):
            out = self._fork(greedy, self._add(inner, out), then)
        for _ in range(least):
            out = self._add(inner, out)
        return out

    def _plus(self, inner: Node, least: int, greedy: bool, then: int, optional: bool) -> int:
        """least or more; optional: or none."""
        self.repeats_empty |= may_be_empty(inner)
        fork = self._emit(FORK, 0, 0)  # behind the last copy: once more, or on
        body = self._add(inner, fork)
        self.code[fork] = (FORK, body, then) if greedy else (FORK, then, body)
        out = body
        for _ in range(least - 1):
            out = self._add(inner, out)
        return self._fork(greedy, out, then) if optional else out
