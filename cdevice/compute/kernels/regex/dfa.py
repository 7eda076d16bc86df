"""Regular expressions as deterministic automata (DFA) over bytes, in tables that kernels follow.

The subset construction, with two additions.  A state of a search for the leftmost match is a list, not a set: the
threads of a backtracking search in their order, those behind a match cut off.  Assertions (``^``, ``\\b``) need the
byte behind a position: a match is known one byte late, and every table has a step for the end of the row.
"""

from __future__ import annotations

from array import array as numbers_of

from .nfa import ASSERTION, BYTES, FORK, MATCH
from .syntax import BEGIN_LINE, BEGIN_TEXT, END_LINE, END_TEXT, NOT_WORD, WORD, WORDS, UnsupportedPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .nfa import NFA

    State = tuple[tuple[int, ...], int, bool]  # instructions, the byte before (EDGE to OTHER), has a match ended there?

MOST_STEPS = 5_000_000  # of the construction: a second or two
STEPS_OF_CLOSURE = 5  # for each instruction
MOST_ENTRIES = 1 << 16  # of a table: its numbers have 16 bits
TOO_LARGE = f"its automaton would have too many states, more than {MOST_ENTRIES:,} transitions"
# beside a position: an end of the row, a newline, a letter of a word, another byte
EDGE, LINE, LETTER, OTHER = range(4)


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


class ByteClasses:
    """Bytes that no automaton and no assertion tells apart are one class; the last class is the end of the row."""

    def __init__(self, automata: Iterable[NFA]) -> None:
        begins = {0}
        assertions: set[int] = set()
        for nfa in automata:
            assertions |= nfa.assertions
            for code in nfa.code:
                if code[0] == BYTES and code[1] <= code[2]:
                    begins |= {code[1], code[2] + 1}
        lines, words = assertions & {BEGIN_LINE, END_LINE}, assertions & {WORD, NOT_WORD}
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
        letters = {b for lo, hi in WORDS for b in range(lo, hi + 1)} if words else set()
        newline = 10 if lines else None
        #: EDGE to OTHER, of each class
        self.beside = [LINE if b == newline else LETTER if b in letters else OTHER for b in self.firsts]
        self.beside.append(EDGE if assertions else OTHER)


class DFA:
    """``how``:

    - "any": is there a match?  The first one ends it.
    - "first": where the leftmost match ends, of several the one that backtracking finds first
    - "longest": where the last match ends

    ``anywhere``: a match may begin at each byte, else at the first one.  ``begins``: the kinds of bytes (EDGE to OTHER)
    that may be before the first.  ``steps``: the work that may be done.  Raises UnsupportedPattern.
    """

    DEAD, DONE = 0, 1  # no match any more; "any": a match; else: a match ended here, and no longer one can

    def __init__(
        self, nfa: NFA, classes: ByteClasses, how: str, anywhere: bool, begins: Iterable[int], steps: int = MOST_STEPS
    ) -> None:
        self.nfa, self.classes, self.how = nfa, classes, how
        self.code = [*nfa.code]
        start = nfa.start
        if anywhere:
            again = len(self.code)
            self.code += [(FORK, start, again + 1), (BYTES, 0, 255, again)]
            start = again
        self.steps_left = steps
        self.numbers: dict[State, int] = {}
        self.states: list[State] = []
        self.starts = {before: self._number((start,), before, False) for before in begins}
        self.rows: list[list[int]] = []
        while len(self.rows) < len(self.states):
            if (len(self.states) + 2) * classes.count > MOST_ENTRIES:
                raise UnsupportedPattern(TOO_LARGE)
            self.rows.append(self._steps(self.states[len(self.rows)]))
        self._end_early()

    def _number(self, instructions: tuple[int, ...], before: int, matched: bool) -> int:
        if not self.nfa.assertions:
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
        out: list[int] = []
        seen: set[int] = set()
        for first in instructions:
            self._follow(first, before, behind, seen, out)
            if self.how == "first" and out[-1:] == [0]:
                break  # behind a match nothing is tried any more
        self._spend(STEPS_OF_CLOSURE * len(seen))
        return tuple(out)

    def _follow(self, first: int, before: int, behind: int, seen: set[int], out: list[int]) -> None:
        stack = [first]
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            code = self.code[at]
            kind = code[0]
            if kind == FORK:
                stack += [code[2], code[1]]
            elif kind == ASSERTION:
                if _holds(code[1], before, behind):
                    stack.append(code[2])
            else:
                out.append(at)
                if kind == MATCH and self.how == "first":
                    return

    def _spend(self, steps: int) -> None:
        self.steps_left -= steps
        if self.steps_left < 0:
            raise UnsupportedPattern(TOO_LARGE)

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
            self._spend(len(instructions))
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
        states to start with, by the kind of the byte before; the last state before which a match ended.

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
