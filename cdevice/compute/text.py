"""Arrow's functions of strings and bytes, each on the device that its arguments are on.

They are made from the table below; ``text.pyi`` has their signatures for type checkers.  Arguments, ``stream`` and
``fallback``: as in :mod:`cdevice.compute.functions`.
"""

from __future__ import annotations

from .dispatch.call import run
from .functions import _made, _registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import StreamLike
    from .options import FunctionOptions

_TEXT = "string, large_string, string_view, and dictionaries of them"
_BINARY = "string, binary, their large and view forms, fixed_size_binary, and dictionaries of them"
_LENGTHS = "int32; int64 of what is large"
_UTF8 = "Raises ArgumentError with the row that is not valid UTF-8, for which it blocks."
_PATTERN = "pattern, *, ignore_case=False"
_REGEX = "The syntax is RE2's; characters are code points, of bytes these, as Latin-1."
_LEFT = "Raises ArgumentError for what is no regular expression, NoKernel on devices for \\p, \\C and too many states."
_BYTES = "binary, large_binary, binary_view, fixed_size_binary"
_SAME = "the same type with offsets: string, large_string, binary, large_binary"
_SLICED = "the same type with offsets; of fixed_size_binary another one"
_COUNTED = "Blocks: the device reports how many bytes the result has."
_OPTIONS = {
    "pattern": "str or bytes",
    "ignore_case": "True: letters that differ only in case (simple folding; of bytes those of ASCII) are the same",
    "start": "the first character; a negative number counts from the end",
    "stop": "the character behind the last; a negative number counts from the end",
    "step": "each how many; a negative number goes back from start",
    "characters": "those that are taken away, in any order",
    "width": "of the result, in characters; rows that are as wide stay as they are",
    "padding": "one character",
    "lean_left_on_odd_padding": "True: in the middle, the odd one is on the right",
    "replacement": "str or bytes",
    "max_replacements": "of each row, from its beginning; None: all",
    "max_splits": "of each row; None: all",
    "reverse": "True: max_splits are counted from the end",
    "null_handling": '"emit_null": a null makes a null; "skip": it is left out; "replace": it is the replacement',
    "null_replacement": "str or bytes",
}
_SLICE = "start, stop=None, step=1"
_PAD = "width, padding=' ', lean_left_on_odd_padding=True"
# Arrow's name: the options, summary, types -> result type, remarks
_FUNCTIONS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "binary_length": ("", "How many bytes each row has.", f"{_BINARY} -> {_LENGTHS}", ()),
    "utf8_length": (
        "",
        "How many code points each row has.",
        f"{_TEXT} -> {_LENGTHS}",
        ("Bytes that continue none are counted; nothing is checked.",),
    ),
    "starts_with": (_PATTERN, "Does each row begin with a pattern?", f"{_BINARY} -> bool", ()),
    "ends_with": (_PATTERN, "Does each row end with a pattern?", f"{_BINARY} -> bool", ()),
    "match_substring": (_PATTERN, "Is a pattern in each row?", f"{_BINARY} -> bool", ()),
    "match_like": (
        _PATTERN,
        "Is each row like a pattern of SQL?",
        f"{_BINARY} -> bool",
        (
            "``%`` stands for any number of characters, ``_`` for one, behind a backslash they mean themselves.",
            "Characters are code points, of bytes these.",
        ),
    ),
    "find_substring": (
        _PATTERN,
        "The byte of each row at which a pattern is first found, or -1.",
        f"{_BINARY} -> {_LENGTHS}",
        (),
    ),
    "count_substring": (
        _PATTERN,
        "How often a pattern is in each row, without overlaps.",
        f"{_BINARY} -> {_LENGTHS}",
        ("A pattern of no bytes is before each byte and at the end.",),
    ),
    "match_substring_regex": (
        _PATTERN,
        "Does a regular expression match in each row?",
        f"{_BINARY} -> bool",
        (_REGEX, _LEFT),
    ),
    "find_substring_regex": (
        _PATTERN,
        "The byte of each row at which a regular expression first matches, or -1.",
        f"{_BINARY} -> {_LENGTHS}",
        (_REGEX, _LEFT),
    ),
    "count_substring_regex": (
        _PATTERN,
        "How often a regular expression matches in each row, without overlaps.",
        f"{_BINARY} -> {_LENGTHS}",
        (
            _REGEX,
            "Behind each match the rest of the row is searched as a row of its own: ^ matches there, too.",
            _LEFT,
        ),
    ),
    "string_is_ascii": ("", "Are all characters of each row ASCII?", f"{_TEXT} -> bool", ()),
}
_CLASSES = {
    "alnum": "letters or numbers",
    "alpha": "letters",
    "decimal": "decimal digits",
    "digit": "digits",
    "lower": "lower case, but for those without case",
    "numeric": "numbers",
    "printable": "printable",
    "space": "white space",
    "title": "in title case: words begin with upper case, and go on in lower case",
    "upper": "upper case, but for those without case",
}
for _word, _what in _CLASSES.items():
    _empty = "True of no characters." if _word == "printable" else "False of no characters."
    _summary = f"Are all characters of each row {_what}?"
    _FUNCTIONS[f"utf8_is_{_word}"] = ("", _summary, f"{_TEXT} -> bool", (_empty, _UTF8))
    if _word not in ("digit", "numeric"):
        _more = (_empty, "Characters that are not ASCII have no class.")
        _FUNCTIONS[f"ascii_is_{_word}"] = ("", _summary, f"{_TEXT} -> bool", _more)


def _add(name: str, options: str, summary: str, types: str, *more: str) -> None:
    _FUNCTIONS[name] = (options, summary, types, (*more, _COUNTED))


_add("utf8_slice_codeunits", _SLICE, "The code points of each row from start to stop.", f"{_TEXT} -> {_SAME}", _UTF8)
_add("binary_slice", _SLICE, "The bytes of each row from start to stop.", f"{_BYTES} -> {_SLICED}")
for _prefix, _more in (("utf8", (_UTF8,)), ("ascii", ("Bytes are characters; nothing is checked.",))):
    for _word, _where in (("trim", "both ends"), ("ltrim", "the beginning"), ("rtrim", "the end")):
        _summary = f"Each row without some characters at {_where}."
        _add(f"{_prefix}_{_word}", "characters", _summary, f"{_TEXT} -> {_SAME}", *_more)
        _summary = f"Each row without white space at {_where}."
        _add(f"{_prefix}_{_word}_whitespace", "", _summary, f"{_TEXT} -> {_SAME}", *_more)
    for _word, _where in (("lpad", "at the beginning"), ("rpad", "at the end"), ("center", "at both ends")):
        _add(f"{_prefix}_{_word}", _PAD, f"Each row padded {_where} to a width.", f"{_TEXT} -> {_SAME}")
    _other = "Other characters stay." if _prefix == "ascii" else "Each code point becomes one; ß in upper case is ẞ."
    for _word, _summary in (
        ("upper", "Each row in upper case."),
        ("lower", "Each row in lower case."),
        ("swapcase", "Each row with upper and lower case changed for each other."),
        ("capitalize", "Each row with its first character in upper case, the others in lower case."),
        ("title", "Each row with the first letter of each word in upper case, the others in lower case."),
    ):
        _more = (_other, _UTF8) if _prefix == "utf8" else (_other,)
        _add(f"{_prefix}_{_word}", "", _summary, f"{_TEXT} -> {_SAME}", *_more)
    _add(
        f"{_prefix}_split_whitespace",
        "*, max_splits=None, reverse=False",
        "The parts of each row between white space.",
        f"{_TEXT} -> list of string or large_string",
    )
_add("utf8_reverse", "", "Each row with its code points in reverse.", f"{_TEXT} -> {_SAME}")
_add("ascii_reverse", "", "Each row with its characters in reverse.", f"{_TEXT} -> {_SAME}", "Bytes are characters.")
_add("binary_reverse", "", "Each row with its bytes in reverse.", f"{_BYTES} -> {_SAME}")
_add(
    "utf8_zero_fill",
    "width, padding='0'",
    "Each row padded at the beginning, behind a sign, to a width.",
    f"{_TEXT} -> {_SAME}",
)
_add(
    "replace_substring",
    "pattern, replacement, *, max_replacements=None",
    "Each row with a pattern replaced.",
    f"{_BINARY} -> {_SAME}",
    "Raises ArgumentError for a pattern of no bytes.",
)
_add(
    "utf8_replace_slice",
    "start, stop, replacement",
    "Each row with the code points from start to stop replaced.",
    f"{_TEXT} -> {_SAME}",
    _UTF8,
)
_add(
    "binary_replace_slice",
    "start, stop, replacement",
    "Each row with the bytes from start to stop replaced.",
    f"{_BINARY} -> {_SAME}",
)
_add(
    "split_pattern",
    "pattern, *, max_splits=None, reverse=False",
    "The parts of each row between a pattern.",
    f"{_BINARY} -> list of strings or bytes with offsets",
    "Raises ArgumentError for a pattern of no bytes.",
)


_JOINED = {
    "binary_repeat": (
        "strings num_repeats",
        "",
        "Each row several times.",
        f"strings: {_BINARY}; num_repeats: integers -> {_SAME}",
        ("Raises ArgumentError for a negative number.", _COUNTED),
    ),
    "binary_join": (
        "lists separator",
        "",
        "The strings of each list with a separator between them.",
        f"lists: list, large_list, list_view, large_list_view, fixed_size_list; separator: {_BINARY}\n"
        f"            -> {_SAME}",
        ("A row is null where one of its strings is.", _COUNTED),
    ),
    "binary_join_element_wise": (
        "*strings",
        "null_handling='emit_null', null_replacement=''",
        "The strings of each row with the last one between them.",
        f"{_BINARY} -> {_SAME} of all",
        ("A row whose last string is null is null.", _COUNTED),
    ),
}


def _names(options: str) -> tuple[list[str], list[str]]:
    """Those that may be given by place, and all."""
    words = [w.partition("=")[0].strip() for w in options.split(",") if w.strip()]
    return words[: words.index("*")] if "*" in words else words, [w for w in words if w != "*"]


def _documented(summary: str, options: list[str], types: str, more: tuple[str, ...], rows: str) -> str:
    blocks = any("blocks" in m for m in more)
    extra = "".join(f"\n\n    {m}" for m in more)
    given = "".join(f"\n    :param {name}: {_OPTIONS[name]}" for name in options)
    if options:
        given += "\n    :param options: an object of the options, in place of these"
    return f"""{summary}{"" if blocks else "  Does not block, but for views, whose bytes it counts."}{extra}

    A row is null where an argument is.

    Accepted types -> result type::

        {types}

    :param {rows}: an array, chunks, which become one array, or a scalar{given}
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`
    :returns: a DeviceArray; a :class:`Scalar` for a scalar
    :raises NoKernel: for types that are not listed
    :raises TypeError: for options of other types

    Any thread.
    """


def _text_function(name: str) -> Any:
    options, summary, types, more = _FUNCTIONS[name]
    function, (placed, all_of_them) = _registry.get_function(name), _names(options)

    def call(
        *args: Any,
        stream: StreamLike = None,
        fallback: str | None = None,
        options: FunctionOptions | None = None,
        **given: Any,
    ) -> Any:
        if not 1 <= len(args) <= 1 + len(placed):
            most = f"from 1 to {1 + len(placed)}" if placed else "1"
            raise TypeError(f"{name}() takes {most} positional arguments but {len(args)} were given")
        for option, value in zip(placed, args[1:], strict=False):
            if option in given:
                raise TypeError(f"{name}() got multiple values for argument '{option}'")
            given[option] = value
        return run(function, args[:1], options, stream, given, fallback)

    optional = ", ".join(w if "=" in w or w == "*" else f"{w}=None" for w in options.split(", ") if w)
    ours = optional if "*" in optional or not optional else f"{optional}, *"
    by_name = [ours or "*", "stream=None", "fallback=None", *(["options=None"] if options else [])]
    shown = ", ".join(by_name)
    return _made(name, call, f"{name}(x, /, {shown})", _documented(summary, all_of_them, types, more, "x"))


def _joining_function(name: str) -> Any:
    places, options, summary, types, more = _JOINED[name]
    function, names = _registry.get_function(name), _names(options)[1]

    def call(
        *args: Any,
        stream: StreamLike = None,
        fallback: str | None = None,
        options: FunctionOptions | None = None,
        **given: Any,
    ) -> Any:
        return run(function, args, options, stream, given, fallback)

    head = f"{', '.join(places.split())}{'' if places[0] == '*' else ', /, *'}"
    shown = [
        head,
        *([options] if options else []),
        "stream=None",
        "fallback=None",
        *(["options=None"] if options else []),
    ]
    first, *others = places.replace("*", "").split()
    doc = _documented(summary, names, types, more, first)
    for other in others:
        doc = doc.replace(
            "\n    :param stream", f"\n    :param {other}: likewise, or one for all rows\n    :param stream", 1
        )
    return _made(name, call, f"{name}({', '.join(shown)})", doc)


globals().update({_name: _text_function(_name) for _name in _FUNCTIONS})
globals().update({_name: _joining_function(_name) for _name in _JOINED})
__all__ = [*_FUNCTIONS, *_JOINED]
