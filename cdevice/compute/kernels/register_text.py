"""The registry's functions of strings and bytes."""

from __future__ import annotations

from ..dispatch.registry import Function, FunctionRegistry, Kernel, Matcher, Signature
from ..dispatch.types import DICTIONARY, is_binary
from ..options import FunctionOptions, NoOptions
from ..text_options import (
    JoinOptions,
    MatchSubstringOptions,
    PadOptions,
    ReplaceSliceOptions,
    ReplaceSubstringOptions,
    SliceOptions,
    SplitOptions,
    SplitPatternOptions,
    TrimOptions,
    ZeroFillOptions,
)
from . import strings, text_joins, text_rows
from .regex.match import Regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

    Run = Callable[[Call, DeviceArray], DeviceArray]

_TEXT = Matcher("strings", lambda f: f in strings.TEXTS)
_BINARY = Matcher("strings or bytes", is_binary)
_BYTES = Matcher("bytes", lambda f: f in ("z", "Z", "vz") or f.startswith("w:"))
OPTIONS: tuple[type[FunctionOptions], ...] = (
    JoinOptions,
    MatchSubstringOptions,
    PadOptions,
    ReplaceSliceOptions,
    ReplaceSubstringOptions,
    SliceOptions,
    SplitOptions,
    SplitPatternOptions,
    TrimOptions,
    ZeroFillOptions,
)


def _function(
    r: FunctionRegistry, name: str, doc: str, run: Run, texts: bool = True, options: Any = NoOptions, out: Any = None
) -> None:
    f = Function(name, "scalar", 1, doc, options)
    exec = strings.OfText(run, texts)
    own = _TEXT if texts else _BYTES if name in ("binary_slice", "binary_reverse") else _BINARY
    for taken in (own, DICTIONARY):
        f._add(Kernel(Signature((taken,), out, False), exec))
    r.add_function(f)


def add_to(r: FunctionRegistry) -> None:
    """Registers all of them."""
    _function(r, "binary_length", "How many bytes each row has.", strings.binary_length, False)
    _function(r, "utf8_length", "How many code points each row has.", strings.utf8_length)
    _matches(r)
    _classes(r)
    _pieces(r)
    _cases(r)
    _edits(r)
    _joins(r)


def _matches(r: FunctionRegistry) -> None:
    docs = {
        "starts_with": (strings.STARTS, "Does each row begin with a pattern?"),
        "ends_with": (strings.ENDS, "Does each row end with a pattern?"),
        "match_substring": (strings.CONTAINS, "Is a pattern in each row?"),
        "match_like": (strings.LIKE, "Is each row like a pattern of SQL?"),
        "find_substring": (strings.FIND, "The byte of each row at which a pattern is first found, or -1."),
        "count_substring": (strings.COUNT, "How often a pattern is in each row."),
    }
    for name, (what, doc) in docs.items():
        out = "b" if what < strings.FIND else None
        _function(r, name, doc, strings.Match(what), False, MatchSubstringOptions, out)
    regex = {
        "match_substring_regex": ("match", "Does a regular expression match in each row?"),
        "find_substring_regex": ("find", "The byte of each row at which a regular expression first matches, or -1."),
        "count_substring_regex": ("count", "How often a regular expression matches in each row."),
    }
    for name, (word, doc) in regex.items():
        _function(r, name, doc, Regex(word), False, MatchSubstringOptions, "b" if word == "match" else None)


def _classes(r: FunctionRegistry) -> None:
    ascii = set(strings.CLASSES) - {"digit", "numeric"}
    names = [f"utf8_is_{word}" for word in strings.CLASSES] + [f"ascii_is_{word}" for word in sorted(ascii)]
    for name in (*names, "string_is_ascii"):
        word = name.rpartition("_")[2]
        doc = f"Are all characters of each row {word}?" if word != "title" else "Is each row in title case?"
        _function(r, name, doc, strings.IsOfClass(name), out="b")


def _pieces(r: FunctionRegistry) -> None:
    doc = "The characters of each row from start to stop."
    _function(r, "utf8_slice_codeunits", doc, text_rows.Slice(False), True, SliceOptions)
    _function(
        r, "binary_slice", "The bytes of each row from start to stop.", text_rows.Slice(True), False, SliceOptions
    )
    sized = Matcher("bytes of one size", lambda f: f.startswith("w:"))
    r.get_function("binary_slice")._add(Kernel(Signature((sized,), None, False), text_rows.slice_sized))
    for prefix, of in (("utf8", 0), ("ascii", text_rows.TRIM_BYTES)):
        for word, sides in (("trim", 3), ("ltrim", text_rows.TRIM_LEFT), ("rtrim", text_rows.TRIM_RIGHT)):
            trim, space = text_rows.Trim(sides | of), text_rows.Trim(sides | of | text_rows.TRIM_SPACE)
            where = {"trim": "both ends", "ltrim": "the beginning", "rtrim": "the end"}[word]
            _function(r, f"{prefix}_{word}", f"Each row without some characters at {where}.", trim, True, TrimOptions)
            _function(r, f"{prefix}_{word}_whitespace", f"Each row without white space at {where}.", space)
    _function(r, "utf8_reverse", "Each row with its code points in reverse.", text_rows.SameSize(1, True))
    _function(r, "ascii_reverse", "Each row with its characters in reverse.", text_rows.SameSize(0, True))
    _function(r, "binary_reverse", "Each row with its bytes in reverse.", text_rows.SameSize(0, True), False)


def _cases(r: FunctionRegistry) -> None:
    docs = {
        "upper": "Each row in upper case.",
        "lower": "Each row in lower case.",
        "swapcase": "Each row with upper and lower case changed for each other.",
        "capitalize": "Each row with its first character in upper case, the others in lower case.",
        "title": "Each row with the first letter of each word in upper case, the others in lower case.",
    }
    for word, doc in docs.items():
        how = text_rows.CASES[word]
        _function(r, f"utf8_{word}", doc, text_rows.Case(how))
        _function(r, f"ascii_{word}", doc, text_rows.SameSize(how if how < 3 else how - 1, how >= 3))


def _edits(r: FunctionRegistry) -> None:
    for prefix, of in (("utf8", text_rows.PAD_UTF8), ("ascii", 0)):
        for word, sides in (("lpad", text_rows.PAD_LEFT), ("rpad", text_rows.PAD_RIGHT), ("center", 3)):
            where = {"lpad": "at the beginning", "rpad": "at the end", "center": "at both ends"}[word]
            pad = text_rows.Pad(sides | of)
            _function(r, f"{prefix}_{word}", f"Each row padded {where} to a width.", pad, True, PadOptions)
    zeros = text_rows.Pad(text_rows.PAD_LEFT | text_rows.PAD_UTF8 | text_rows.PAD_SIGN)
    _function(r, "utf8_zero_fill", "Each row padded behind its sign to a width.", zeros, True, ZeroFillOptions)
    replace = text_rows.replace_substring
    _function(r, "replace_substring", "Each row with a pattern replaced.", replace, False, ReplaceSubstringOptions)
    doc = "Each row with the characters from start to stop replaced."
    _function(r, "utf8_replace_slice", doc, text_rows.ReplaceSlice(False), True, ReplaceSliceOptions)
    _function(r, "binary_replace_slice", doc, text_rows.ReplaceSlice(True), False, ReplaceSliceOptions)
    _function(
        r, "split_pattern", "The parts of each row between a pattern.", text_rows.Split(0), False, SplitPatternOptions
    )
    for prefix, how in (("utf8", text_rows.SPLIT_SPACE), ("ascii", text_rows.SPLIT_ASCII_SPACE)):
        doc = "The parts of each row between white space."
        _function(r, f"{prefix}_split_whitespace", doc, text_rows.Split(how), True, SplitOptions)


def _joins(r: FunctionRegistry) -> None:
    f = Function("binary_repeat", "scalar", 2, "Each row several times.")
    number = Matcher("an integer", lambda f: f in ("c", "s", "i", "l", "C", "S", "I", "L"))
    f._add(Kernel(Signature((_BINARY, number), None, False), text_joins.binary_repeat))
    r.add_function(f)
    f = Function("binary_join", "scalar", 2, "The strings of each list with a separator between them.")
    lists = Matcher("lists", lambda f: f in ("+l", "+L", "+vl", "+vL") or f.startswith("+w:"))
    f._add(Kernel(Signature((lists, _BINARY), None, False), text_joins.binary_join))
    r.add_function(f)
    doc = "The strings of each row with the last one between them."
    f = Function("binary_join_element_wise", "scalar", -1, doc, JoinOptions)
    f._add(Kernel(Signature((_BINARY,), None, True), text_joins.binary_join_element_wise))
    r.add_function(f)
