"""What kernels of ``kernels/strings/string_regex.h`` read of a pattern."""

from __future__ import annotations

from array import array as numbers_of
from functools import lru_cache

from .automaton import Automaton, Bytes, Program
from .syntax import BadPattern, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Tables(NamedTuple):
        numbers: numbers_of[int]
        width: int
        forward: int
        backward: int
else:
    from collections import namedtuple

    Tables = namedtuple("Tables", "numbers width forward backward")


def characters_of(pattern: bytes, latin1: bool) -> list[int]:
    """The code points of a pattern.  Raises BadPattern where it is not UTF-8."""
    if latin1:
        return list(pattern)
    try:
        return [*map(ord, pattern.decode())]
    except UnicodeDecodeError as e:
        raise BadPattern(f"not valid UTF-8: {e.reason}") from None


@lru_cache(maxsize=128)
def tables_of(pattern: bytes, ignore_case: bool, latin1: bool, what: str) -> Tables:
    """``what``: "match", "count" (where matches end) or "find" (where they begin, too).

    Numbers of 16 bits: the class of each byte (256); the state to start with; the last state before which a match
    ended; that of the table for the way back; 0; of each class the state to go back from what is in front of it; then the
    tables, from ``forward`` and ``backward`` on.  Blocks for up to some seconds.  Raises BadPattern, NotInTable.
    """
    tree = parse(characters_of(pattern, latin1), ignore_case, latin1)
    there = Program(tree, latin1, backwards=False)
    back = Program(tree, latin1, backwards=True) if what == "find" else None
    classes = Bytes([there] if back is None else [there, back])
    edge = classes.beside[-1]
    table, starts, last = Automaton(there, classes, "any" if what == "match" else "first", True, [edge]).table()
    numbers = numbers_of("H", [*classes.of, starts[edge], last, 0, 0])
    table_back = numbers_of("H")
    if back is not None:
        table_back, starts, numbers[258] = Automaton(back, classes, "longest", False, classes.beside).table()
        numbers.extend(starts[beside] for beside in classes.beside)
    forward = len(numbers)
    return Tables(numbers + table + table_back, classes.count, forward, forward + len(table))
