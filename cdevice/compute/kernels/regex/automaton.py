"""Regular expressions as deterministic automata over bytes, in tables that kernels follow.

Three steps.  A tree (:mod:`.syntax`) becomes a program of few instructions, as Thompson and Pike have it; of that the
states that a row can lead to are made (sets of instructions, or lists where the first alternative that matches wins);
the states become a table.  What a position is between (the end, a newline, a word) is known one byte late: a state
knows the byte before, a step the byte behind.  So every table has a step for the end of the row.
"""

from __future__ import annotations

from array import array as numbers_of

from .syntax import (
    BEGIN_LINE,
    BEGIN_TEXT,
    END_LINE,
    END_TEXT,
    GREATEST,
    NOT_WORD,
    WORD,
    WORDS,
    NotInTable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .syntax import Node

    State = tuple[tuple[int, ...], int, bool]  # instructions, what is before, a match ended there

MOST_INSTRUCTIONS = 10_000
MOST_STEPS = 2_000_000  # instructions looked at: seconds
MOST_ENTRIES = 1 << 16  # of a table: its numbers have 16 bits
# what is beside a position
EDGE, LINE, LETTER, OTHER = range(4)
_REVERSED = {BEGIN_TEXT: END_TEXT, END_TEXT: BEGIN_TEXT, BEGIN_LINE: END_LINE, END_LINE: BEGIN_LINE}
BYTES, FORK, LOOK, MATCH = range(4)


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


# ---- a program ----
class Program:
    """Instructions: ("BYTES", lo, hi, next), ("FORK", first, second), ("LOOK", where, next), MATCH; the last one first."""

    def __init__(self, tree: Node, latin1: bool, backwards: bool) -> None:
        self.code: list[tuple[int, ...]] = [(MATCH,)]
        self.latin1, self.backwards = latin1, backwards
        self.looks: set[int] = set()
        self.start = self._add(tree, 0)

    def _emit(self, *instruction: int) -> int:
        if len(self.code) >= MOST_INSTRUCTIONS:
            raise NotInTable("the pattern is too large")
        self.code.append(instruction)
        return len(self.code) - 1

    def _add(self, node: Node, then: int) -> int:
        """Where it begins, what it is followed by being known."""
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
            where = _REVERSED.get(node[1], node[1]) if self.backwards else node[1]
            self.looks.add(where)
            return self._emit(LOOK, where, then)
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
        fork = self._emit(FORK, 0, 0)  # behind the last copy: once more, or on
        body = self._add(inner, fork)
        self.code[fork] = (FORK, body, then) if greedy else (FORK, then, body)
        out = body
        for _ in range(least - 1):
            out = self._add(inner, out)
        return self._fork(greedy, out, then) if optional else out


# ---- states ----
def _holds(where: int, before: int, behind: int) -> bool:
    if where == BEGIN_TEXT:
        return before == EDGE
    if where == END_TEXT:
        return behind == EDGE
    if where == BEGIN_LINE:
        return before <= LINE
    if where == END_LINE:
        return behind <= LINE
    return ((before == LETTER) != (behind == LETTER)) == (where == WORD)


class Bytes:
    """The bytes that programs and assertions do not tell apart are one class; the last class is the end of the row."""

    def __init__(self, programs: Iterable[Program]) -> None:
        begins = {0}
        looks: set[int] = set()
        for program in programs:
            looks |= program.looks
            for code in program.code:
                if code[0] == BYTES and code[1] <= code[2]:
                    begins |= {code[1], code[2] + 1}
        lines, words = looks & {BEGIN_LINE, END_LINE}, looks & {WORD, NOT_WORD}
        if lines:
            begins |= {10, 11}
        if words:
            begins |= {x for lo, hi in WORDS for x in (lo, hi + 1)}
        begins.discard(256)
        self.firsts = sorted(begins)
        #: the class of each byte
        self.of = [0] * 256
        for k, first in enumerate(self.firsts):
            behind = self.firsts[k + 1] if k + 1 < len(self.firsts) else 256
            self.of[first:behind] = [k] * (behind - first)
        #: how many there are, the end among them
        self.count = len(self.firsts) + 1
        self.beside = [LINE if b == 10 and lines else LETTER if self._in_word(b) and words else OTHER for b in self.firsts]
        #: what a position is beside, of each class
        self.beside.append(EDGE if looks else OTHER)

    @staticmethod
    def _in_word(byte: int) -> bool:
        return any(lo <= byte <= hi for lo, hi in WORDS)


class Automaton:
    """The states of a program.  ``how``:

    - "any": is there a match?  The first one ends it.
    - "first": where the match ends that a search with backtracking finds, which tries alternatives in their order
    - "longest": where the last match ends

    ``anywhere``: a match may begin at each byte, the first one goes first.  ``begins``: what may be before the first.
    """

    DEAD, DONE = 0, 1  # no match any more; "any": a match; else: a match ended here, and no longer one can

    def __init__(self, program: Program, classes: Bytes, how: str, anywhere: bool, begins: Iterable[int]) -> None:
        self.program, self.classes, self.how = program, classes, how
        self.code = [*program.code]
        start = program.start
        if anywhere:
            again = len(self.code)
            self.code += [(FORK, start, again + 1), (BYTES, 0, 255, again)]
            start = again
        self.steps_left = MOST_STEPS
        self.numbers: dict[State, int] = {}
        self.states: list[State] = []
        self.starts = {before: self._number((start,), before, False) for before in begins}
        self.rows: list[list[int]] = []
        while len(self.rows) < len(self.states):
            if (len(self.states) + 2) * classes.count > MOST_ENTRIES:
                raise NotInTable("the pattern has too many states")
            self.rows.append(self._steps(self.states[len(self.rows)]))
        self._end_early()

    def _number(self, instructions: tuple[int, ...], before: int, matched: bool) -> int:
        if not self.program.looks:
            before = OTHER
            instructions = self._closure(instructions, OTHER, OTHER)
        if self.how != "first":
            instructions = tuple(sorted(instructions))
        key = instructions, before, matched
        if key not in self.numbers:
            self.numbers[key] = len(self.states) + 2
            self.states.append(key)
        return self.numbers[key]

    def _closure(self, instructions: tuple[int, ...], before: int, behind: int) -> tuple[int, ...]:
        """The instructions that take a byte or match, in the order in which a search tries them."""
        out, seen = [], set()
        for first in instructions:
            stack = [first]
            while stack:
                at = stack.pop()
                if at in seen:
                    continue
                seen.add(at)
                self.steps_left -= 1
                code = self.code[at]
                kind = code[0]
                if kind == FORK:
                    stack += [code[2], code[1]]
                elif kind == LOOK:
                    if _holds(code[1], before, behind):
                        stack.append(code[2])
                else:
                    out.append(at)
                    if kind == MATCH and self.how == "first":
                        return tuple(out)  # what comes later is tried no more
        if self.steps_left < 0:
            raise NotInTable("the pattern has too many states")
        return tuple(out)

    def _steps(self, state: State) -> list[int]:
        """Which state follows, of each class."""
        instructions, before, _ = state
        by_context: dict[int, tuple[int, ...]] = {}
        out = []
        for k in range(self.classes.count):
            behind = self.classes.beside[k]
            if behind not in by_context:
                by_context[behind] = self._closure(instructions, before, behind)
            out.append(self._step(by_context[behind], k, behind))
        return out

    def _step(self, instructions: tuple[int, ...], k: int, behind: int) -> int:
        matched = 0 in instructions
        if matched and self.how == "any":
            return self.DONE
        targets: dict[int, None] = {}
        if k < self.classes.count - 1:
            byte = self.classes.firsts[k]
            self.steps_left -= len(instructions)
            for at in instructions:
                code = self.code[at]
                if code[0] == BYTES and code[1] <= byte <= code[2]:
                    targets[code[3]] = None
        if not targets:
            return self.DONE if matched else self.DEAD
        return self._number(tuple(targets), behind, matched)

    def _end_early(self) -> None:
        """A state from which no match is reached becomes DEAD, or DONE where one ended there."""
        before: dict[int, set[int]] = {}
        for k, row in enumerate(self.rows):
            for x in row:
                before.setdefault(x, set()).add(k + 2)
        stack = [self.DONE, *(k + 2 for k, state in enumerate(self.states) if state[2])]
        leads: set[int] = set()
        while stack:
            more = before.get(stack.pop(), set()) - leads
            leads |= more
            stack += more
        became = {k + 2: self.DONE if s[2] else self.DEAD for k, s in enumerate(self.states) if k + 2 not in leads}
        self.rows = [[became.get(x, x) for x in row] for row in self.rows]
        self.starts = {x: became.get(s, s) for x, s in self.starts.items()}

    def table(self) -> tuple[numbers_of[int], dict[int, int], int]:
        """The table, a row for each state and a column for each class, in which a state is where its row begins; the
        states to start with, by what is before; the last state before which a match ended.

        Row 0: no match any more; row 1: DONE; then the states before which a match ended.
        """
        reached: dict[int, None] = {}
        stack = [*self.starts.values()]
        while stack:
            k = stack.pop()
            if k > self.DONE and k not in reached:
                reached[k] = None
                stack += self.rows[k - 2]
        matched = [k - 2 for k in reached if self.states[k - 2][2]]
        others = [k - 2 for k in reached if not self.states[k - 2][2]]
        width = self.classes.count
        place = {0: 0, 1: width} | {k + 2: (i + 2) * width for i, k in enumerate([*matched, *others])}
        table = numbers_of("H", [0] * width + [width] * width)
        for k in (*matched, *others):
            table.extend(place[x] for x in self.rows[k])
        return table, {before: place[s] for before, s in self.starts.items()}, (len(matched) + 1) * width
