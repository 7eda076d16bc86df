"""Regular expressions, parsed: the syntax of RE2, which pyarrow's functions use.

A node is a tuple:

- ``("set", ranges)``: one character of sorted ranges of code points
- ``("cat", nodes)``, ``("alt", nodes)``: one behind the other; one of them, the first that leads to a match
- ``("repeat", node, least, most, greedy)``; ``most`` None: without limit
- ``("at", which)``: no character: an assertion, BEGIN_TEXT to NOT_WORD
"""

from __future__ import annotations

from functools import lru_cache
from unicodedata import category

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    Ranges = tuple[tuple[int, int], ...]
    Node = tuple[Any, ...]

BEGIN_TEXT, END_TEXT, BEGIN_LINE, END_LINE, WORD, NOT_WORD = range(6)  # assertions
GREATEST = 0x10FFFF
MOST_REPEATS = 1000
DEEPEST = 100  # groups in groups, which RE2 has up to 1000 of
NEWLINE: Ranges = ((10, 10),)
DIGITS: Ranges = ((48, 57),)
WORDS: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_PERL = {"d": DIGITS, "w": WORDS, "s": ((9, 10), (12, 13), (32, 32))}
_POSIX: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": DIGITS,
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": WORDS,
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
_OF_NAMES = ("Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc", "Nd", "Pc")
_CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class InvalidPattern(ValueError):
    """Not a regular expression of RE2's."""


class UnsupportedPattern(ValueError):
    """A regular expression that this package makes no table of."""


# ---- sets of characters ----
def _united(ranges: Any) -> Ranges:
    out: list[list[int]] = []
    for lo, hi in sorted(ranges):
        if out and lo <= out[-1][1] + 1:
            out[-1][1] = max(out[-1][1], hi)
        else:
            out.append([lo, hi])
    return tuple((lo, hi) for lo, hi in out)


def _complement(ranges: Ranges) -> Ranges:
    out, at = [], 0
    for lo, hi in ranges:
        if lo > at:
            out.append((at, lo - 1))
        at = hi + 1
    return (*out, (at, GREATEST)) if at <= GREATEST else tuple(out)


_ASCII_CASES = {c: (c | 32, c & ~32) for first in (65, 97) for c in range(first, first + 26)}


@lru_cache(maxsize=1)
def _same_but_for_case() -> dict[int, tuple[int, ...]]:
    """Of each character that has others which differ in case alone: all of them (simple folding of Unicode)."""
    by_fold: dict[str, list[int]] = {}
    for c in range(0x1F000):
        if not 0xD800 <= c < 0xE000:
            by_fold.setdefault(chr(c).casefold(), []).append(c)
    return {c: tuple(same) for same in by_fold.values() if len(same) > 1 for c in same}


def _folded(ranges: Ranges, latin1: bool) -> Ranges:
    """With the characters that differ in case alone; in Latin-1 those of ASCII."""
    same = _ASCII_CASES if latin1 else _same_but_for_case()
    more = [(x, x) for lo, hi in ranges for c in range(lo, min(hi, 0x1F000) + 1) for x in same.get(c, ())]
    return _united([*ranges, *more])


def may_be_empty(node: Node) -> bool:
    """Does it match a row of no bytes, assertions aside?"""
    kind = node[0]
    if kind == "repeat":
        return bool(node[2] == 0) or may_be_empty(node[1])
    if kind == "cat":
        return all(map(may_be_empty, node[1]))
    return any(map(may_be_empty, node[1])) if kind == "alt" else bool(kind == "at")


def _copies_left(node: Node, n: int) -> int:
    """n, divided by how often the innermost repetitions are written out; 0: too often.  As RE2 counts."""
    kind = node[0]
    if kind == "repeat":
        times = node[2] if node[3] is None else node[3]
        return _copies_left(node[1], n // times if times else n)
    return min((_copies_left(part, n) for part in node[1]), default=n) if kind in ("cat", "alt") else n


# ---- the parser ----
class _Parser:
    def __init__(self, pattern: list[int], ignore_case: bool, latin1: bool) -> None:
        self.latin1 = latin1
        self.p = pattern
        self.i = 0
        self.fold, self.lines, self.dot_all, self.lazy = ignore_case, False, False, False
        self.depth = 0
        self.unsupported = ""  # the first reason; what follows may still be no regular expression

    def _bad(self, what: str) -> NoReturn:
        raise InvalidPattern(f"{what}, at character {self.i}")

    def _peek(self, n: int = 1) -> str:
        return "".join(chr(c) if c < 0x80 else "\ufffd" for c in self.p[self.i : self.i + n])

    def _take(self, text: str) -> bool:
        if self._peek(len(text)) != text:
            return False
        self.i += len(text)
        return True

    def _cased(self, ranges: Ranges) -> Ranges:
        return _folded(ranges, self.latin1) if self.fold else ranges

    def _set(self, ranges: Ranges) -> Node:
        return "set", self._cased(ranges)

    def _one(self, c: int) -> Node:
        return self._set(((c, c),))

    def whole(self) -> Node:
        out = self._alternatives()
        if self.i < len(self.p):
            self._bad("unexpected )")
        if self.unsupported:
            raise UnsupportedPattern(self.unsupported)
        return out

    def _alternatives(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST + 1:
            raise UnsupportedPattern(f"groups in more than {DEEPEST} groups")
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        self.depth -= 1
        return branches[0] if len(branches) == 1 else ("alt", branches)

    def _sequence(self) -> Node:
        nodes: list[Node] = []
        repeated = False  # the last node was: Perl's x** and x++ mean something else
        while self.i < len(self.p) and self._peek() not in "|)":
            limits = self._repeat()
            if limits is None:
                self._item(nodes)
                repeated = False
                continue
            if repeated:
                self._bad("a repetition of a repetition")
            if not nodes:
                self._bad("nothing to repeat")
            least, most = limits
            greedy = not self._take("?")
            nodes[-1] = ("repeat", nodes[-1], least, most, greedy != self.lazy)
            if (most or least) >= 2 and not _copies_left(nodes[-1], MOST_REPEATS):
                self._bad(f"more than {MOST_REPEATS} repetitions in repetitions")
            repeated = True
        return nodes[0] if len(nodes) == 1 else ("cat", nodes)

    def _repeat(self) -> tuple[int, int | None] | None:
        """The least and the most repetitions; None: no repetition stands here."""
        for sign, limits in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return limits
        if self._peek() != "{":
            return None
        begin, self.i = self.i, self.i + 1
        least = most = self._number()
        wrong = least is None
        if self._take(","):
            limited = self._peek() != "}"
            most = self._number() if limited else None
            wrong = wrong or (limited and most is None)
        if wrong or least is None or not self._take("}"):
            self.i = begin  # the character itself
            return None
        if least > MOST_REPEATS or (most or 0) > MOST_REPEATS or (most is not None and most < least):
            self._bad("a repetition by a wrong number")
        return least, most

    def _number(self) -> int | None:
        """None: none stands here, or one that RE2 takes for characters."""
        begin = self.i
        while self._peek() in tuple("0123456789"):
            self.i += 1
        digits = self.p[begin : self.i]
        if not digits or (digits[0] == 48 and len(digits) > 1) or len(digits) > 9:
            return None
        return int(bytes(digits))

    def _item(self, nodes: list[Node]) -> None:
        c = self._peek()
        if c == "(":
            self._group(nodes)
        elif c == "[":
            nodes.append(("set", self._class()))
        elif c == ".":
            self.i += 1
            nodes.append(("set", ((0, GREATEST),) if self.dot_all else _complement(NEWLINE)))
        elif c == "^":
            self.i += 1
            nodes.append(("at", BEGIN_LINE if self.lines else BEGIN_TEXT))
        elif c == "$":
            self.i += 1
            nodes.append(("at", END_LINE if self.lines else END_TEXT))
        elif c == "\\":
            self._escaped(nodes)
        else:
            nodes.append(self._one(self.p[self.i]))
            self.i += 1

    def _group(self, nodes: list[Node]) -> None:
        before = self.fold, self.lines, self.dot_all, self.lazy
        self.i += 1
        if self._take("?"):
            if self._take("P<") or (self._peek() == "<" and self._peek(2) not in ("<=", "<!") and self._take("<")):
                self._name()
            elif not self._flags():
                return  # those of what follows
        inner = self._alternatives()
        if not self._take(")"):
            self._bad("missing )")
        self.fold, self.lines, self.dot_all, self.lazy = before
        nodes.append(inner)

    def _name(self) -> None:
        begin = self.i
        while self.i < len(self.p) and self._peek() != ">":
            self.i += 1
        name = self.p[begin : self.i]
        if not self._take(">"):
            self._bad("missing >")
        if not name:
            self._bad("a group without a name")
        text = "".join(map(chr, name))
        if not all(category(c) in _OF_NAMES for c in text):
            self._bad("a group with a wrong name")

    def _flags(self) -> bool:
        """(?flags: and (?flags), of which the latter is no group."""
        on, any = True, False
        while self.i < len(self.p):
            c = self._peek()
            self.i += 1
            if c == "-" and on:
                on, any = False, False
                continue
            if c in ":)":
                if not on and not any:
                    break  # (?-)
                return c == ":"
            any = True
            if c == "i":
                self.fold = on
            elif c == "m":
                self.lines = on
            elif c == "s":
                self.dot_all = on
            elif c == "U":
                self.lazy = on
            else:
                break
        self._bad("a group of an unknown kind")

    def _escaped(self, nodes: list[Node]) -> None:
        c = self._peek(2)[1:]
        where = {"A": BEGIN_TEXT, "z": END_TEXT, "b": WORD, "B": NOT_WORD}.get(c)
        if where is not None:
            self.i += 2
            nodes.append(("at", where))
        elif c == "C":
            self.i += 2
            self.unsupported = self.unsupported or "\\C, a byte of a character"
            nodes.append(("set", ((0, GREATEST),)))  # for a repetition behind it
        elif c == "Q":
            self.i += 2
            while self.i < len(self.p) and not self._take("\\E"):
                nodes.append(self._one(self.p[self.i]))
                self.i += 1
        else:
            found = self._class_escape()
            nodes.append(self._one(self._escape()) if found is None else ("set", found))

    def _class_escape(self) -> Ranges | None:
        """\\d and the like; None: it is another escape."""
        c = self._peek(2)[1:]
        if c in ("p", "P"):
            return self._unicode_class()
        ranges = _PERL.get(c.lower())
        if ranges is None or not c:
            return None
        self.i += 2
        found = self._cased(ranges)
        return found if c.islower() else _complement(found)

    def _unicode_class(self) -> Ranges:
        self.unsupported = self.unsupported or "\\p, a class of Unicode's"
        self.i += 2
        if self._take("{"):
            while self.i < len(self.p) and self._peek() != "}":
                self.i += 1
        if self.i >= len(self.p):
            self._bad("a class of Unicode's without a name")
        self.i += 1
        return ()

    def _escape(self) -> int:
        """The character behind a backslash."""
        if self.i + 1 >= len(self.p):
            self._bad("a \\ at the end")
        code = self.p[self.i + 1]
        c = self._peek(2)[1:]
        self.i += 2
        if "0" <= c <= "7":
            if c != "0" and self._peek() not in tuple("01234567"):
                self._bad("a reference to a group")
            value, n = int(c), 1
            while n < 3 and self._peek() in tuple("01234567"):
                value, n, self.i = value * 8 + int(self._peek()), n + 1, self.i + 1
            return self._checked(value)
        if c == "x":
            return self._hex()
        if c in _CONTROLS:
            return _CONTROLS[c]
        if code >= 0x80 or c.isalnum():
            self._bad("an unknown escape")
        return code

    def _hex(self) -> int:
        digits = ""
        if self._take("{"):
            while self._peek() in tuple("0123456789abcdefABCDEF"):
                digits += self._peek()
                self.i += 1
            if not digits or not self._take("}"):
                self._bad("a wrong number behind \\x")
        else:
            digits = self._peek(2)
            if len(digits) < 2 or not all(d in "0123456789abcdefABCDEF" for d in digits):
                self._bad("a wrong number behind \\x")
            self.i += 2
        return self._checked(int(digits[-9:], 16) if len(digits.lstrip("0")) <= 9 else GREATEST + 1)

    def _checked(self, c: int) -> int:
        greatest = 0xFF if self.latin1 else GREATEST
        if c > greatest:
            self._bad(f"an escape above {greatest:X}")
        return c

    def _class(self) -> Ranges:
        """A class in brackets."""
        self.i += 1
        negated = self._take("^")
        found: list[tuple[int, int]] = []
        first = True
        while first or self._peek() != "]":
            if self.i >= len(self.p):
                self._bad("missing ]")
            first = False
            if self._peek(2) == "[:" and self._posix(found):
                continue
            escaped = self._class_escape() if self._peek() == "\\" else None
            if escaped is not None:
                found += escaped
                continue
            lo = hi = self._member()
            if self._peek() == "-" and self.i + 1 < len(self.p) and self._peek(2) != "-]":
                self.i += 1
                hi = self._member()
                if hi < lo:
                    self._bad("a range whose end is before its beginning")
            found += self._cased(((lo, hi),))
        self.i += 1
        ranges = _united(found)
        return _complement(ranges) if negated else ranges

    def _member(self) -> int:
        if self.i >= len(self.p):
            self._bad("missing ]")
        if self._peek() == "\\":
            return self._escape()
        self.i += 1
        return self.p[self.i - 1]

    def _posix(self, found: list[tuple[int, int]]) -> bool:
        end = self.i + 2
        while end < len(self.p) and self.p[end : end + 2] != [58, 93]:
            end += 1
        if end >= len(self.p):
            return False
        name = "".join(map(chr, self.p[self.i + 2 : end]))
        ranges = _POSIX.get(name.removeprefix("^"))
        if ranges is None:
            self._bad("an unknown class in [: :]")
        ranges = self._cased(ranges)
        found += _complement(ranges) if name.startswith("^") else ranges
        self.i = end + 2
        return True


def parse(pattern: list[int], ignore_case: bool, latin1: bool) -> Node:
    """The tree of a pattern, a list of code points.  Raises InvalidPattern, UnsupportedPattern."""
    return _Parser(pattern, ignore_case, latin1).whole()
