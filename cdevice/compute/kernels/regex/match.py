"""Functions of strings and bytes that take a regular expression: the texts of ``kernels/strings/string_regex.h``."""

from __future__ import annotations

from ....errors import ArgumentError
from ...errors import NoKernel
from .. import strings
from .syntax import InvalidPattern, UnsupportedPattern
from .tables import characters_of, tables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...._types import DeviceArray
    from ...dispatch.call import Call

_SPECIAL = frozenset(b"\\.+*?()|[]{}^$")
_KERNELS = {"match": "regex_matches", "count": "regex_counts", "find": "regex_positions"}
_PLAIN = {"match": strings.CONTAINS, "count": strings.COUNT, "find": strings.FIND}


class Regex:
    """``run`` of a function that looks for a regular expression; ``what``: "match", "count" or "find"."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def __call__(self, call: Call, rows: DeviceArray) -> DeviceArray:
        options: Any = call.options
        pattern = options.bytes_of("pattern")
        plain, latin1 = self._plain(pattern), rows._format in "zZ"
        try:
            if plain is not None:
                characters_of(pattern, latin1)
                return strings.match(call, rows, *plain, options.ignore_case)
            tables = tables_of(pattern, options.ignore_case, latin1, self.what)
        except InvalidPattern as e:
            raise ArgumentError(f"{call.function.name}: pattern: {e}; the syntax is RE2's") from None
        except UnsupportedPattern as e:
            by = "pyarrow 26 or newer" if self.what == "find" and not latin1 else "pyarrow"  # an older one: Latin-1
            raise NoKernel(f"{call.function.name}: pattern: {e}: it is left to {by}, on the CPU") from None
        return strings.text_numbers(
            call,
            rows,
            _KERNELS[self.what],
            strings.beside(call, tables.numbers),
            (tables.width, tables.forward, tables.backward),
            family="string_regex",
            bits=self.what == "match",
        )

    def _plain(self, pattern: bytes) -> tuple[int, bytes] | None:
        """The question and the characters of a pattern that has nothing but these; None: it has more."""
        begins = self.what == "match" and pattern[:1] == b"^"
        ends = self.what == "match" and pattern[-1:] == b"$" and len(pattern) > begins
        plain = pattern[begins : len(pattern) - ends]
        if not _SPECIAL.isdisjoint(plain):
            return None
        return {
            (False, False): _PLAIN[self.what],
            (True, False): strings.STARTS,
            (False, True): strings.ENDS,
            (True, True): strings.EQUALS,
        }[begins, ends], plain
