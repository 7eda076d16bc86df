"""What kernels of ``kernels/strings/string_regex.h`` read of a pattern."""

from __future__ import annotations

from array import array as numbers_of
from functools import lru_cache

from .dfa import DFA, ByteClasses
from .nfa import NFA
from .syntax import InvalidPattern, UnsupportedPattern, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .syntax import Node


class Tables:
    """``numbers``: of 16 bits; ``width``: of a row of a table; ``forward``, ``backward``: where the tables begin."""

    __slots__ = ("backward", "forward", "numbers", "width")

    def __init__(self, numbers: numbers_of[int], width: int, forward: int, backward: int) -> None:
        self.numbers, self.width, self.forward, self.backward = numbers, width, forward, backward


def characters_of(pattern: bytes, latin1: bool) -> list[int]:
    """The code points of a pattern.  Raises InvalidPattern where it is not UTF-8."""
    if latin1:
        return list(pattern)
    try:
        return [*map(ord, pattern.decode())]
    except UnicodeDecodeError as e:
        raise InvalidPattern(f"not valid UTF-8: {e.reason}") from None


def tables_of(pattern: bytes, ignore_case: bool, latin1: bool, what: str) -> Tables:
    """``what``: "match", "count" (where matches end) or "find" (where they begin, too).

    The numbers: the class of each byte (256); the first state; the last state before which a match ended, of the table
    that is followed forward and of the one that is followed backward; 0; the first state backward, by the class of the
    byte behind the match; then the tables.  Blocks for up to some seconds.  Raises InvalidPattern, UnsupportedPattern.
    """
    found = _made(pattern, ignore_case, latin1, what)
    if isinstance(found, str):
        raise UnsupportedPattern(found)
    return found


@lru_cache(maxsize=128)
def _made(pattern: bytes, ignore_case: bool, latin1: bool, what: str) -> Tables | str:
    """Tables, or why there are none: that takes the longest."""
    try:
        return _make(parse(characters_of(pattern, latin1), ignore_case, latin1), latin1, what)
    except UnsupportedPattern as e:
        return str(e)


def _make(tree: Node, latin1: bool, what: str) -> Tables:
    there = NFA(tree, latin1, backwards=False)
    if what == "count" and there.repeats_empty:  # RE2's order of such alternatives is that of its own instructions
        raise UnsupportedPattern("a repetition without limit of something that may be empty")
    back = NFA(tree, latin1, backwards=True) if what == "find" else None
    classes = ByteClasses([there] if back is None else [there, back])
    edge = classes.beside[-1]
    forward = DFA(there, classes, "any" if what == "match" else "first", True, [edge])
    table, starts, last = forward.table()
    numbers = numbers_of("H", [*classes.of, starts[edge], last, 0, 0])
    table_back = numbers_of("H")
    if back is not None:
        table_back, starts, numbers[258] = DFA(
            back, classes, "longest", False, classes.beside, forward.steps_left
        ).table()
        numbers.extend(starts[beside] for beside in classes.beside)
    begin = len(numbers)
    return Tables(numbers + table + table_back, classes.count, begin, begin + len(table))
