"""Functions of strings and bytes: ``core/compute/strings.c`` and the texts of ``kernels/strings/``.

Kernels read offsets of 32 or 64 bits.  Views and bytes of one size become such rows first, on their device; of
dictionaries the values are computed with, and then taken.
"""

from __future__ import annotations

from array import array as numbers_of

from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...interop.asarray import asarray
from ..dispatch.datum import Datum
from ..dispatch.types import DICTIONARY, VIEWS, format_of, is_binary, words_of
from ..errors import NoKernel
from .cast.binary import offsets_of, to_offsets_layout
from .cast.dictionary import dictionary_decode
from .cast.numeric import cast_argument
from .columns import on_device_of
from .elementwise import Map, schema_of
from .selection.take import indices_of, take_array, values_of, with_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

TEXTS = ("u", "U", "vu")

# as in kernels/lang/protocol.h
STARTS, ENDS, CONTAINS, EQUALS, LIKE, FIND, COUNT, FOLDED, BYTES = 0, 1, 2, 3, 4, 5, 6, 8, 16
LIKE_ONE, LIKE_ANY = 0xFFFFFFFF, 0xFFFFFFFE
ALPHA, DECIMAL, DIGIT, NUMERIC, SPACE, PRINTABLE, LOWER, UPPER, TITLE = (1 << k for k in range(9))
ASCII, TITLED, ONLY_ASCII = 512, 1024, 2048
CLASSES = {
    "alnum": ALPHA | NUMERIC,
    "alpha": ALPHA,
    "decimal": DECIMAL,
    "digit": DIGIT,
    "lower": LOWER,
    "numeric": NUMERIC,
    "printable": PRINTABLE,
    "space": SPACE,
    "title": TITLED,
    "upper": UPPER,
}
_subtract = {"i": Map("arith", "i32", "subtract", "ii", "i"), "l": Map("arith", "i64", "subtract", "ll", "l")}


def with_offsets(call: Call, array: DeviceArray) -> DeviceArray:
    """The rows with offsets: views and bytes of one size become those of 32 bits."""
    format = array._format
    if format in ("u", "U", "z", "Z"):
        return array
    if format in VIEWS or format.startswith("w:"):
        return to_offsets_layout(call, array, "u" if format == "vu" else "z")
    raise NoKernel(f"{call.function.name}: expected strings or bytes, not {words_of(format_of(array))}")


def beside(call: Call, data: bytes | numbers_of[int]) -> DeviceArray:
    """Numbers of the host where the call computes; one where there are none."""
    return on_device_of(call, asarray(memoryview(data if len(data) else b"\0")))


class OfText:
    """``exec`` of a function of one argument, strings or bytes: ``run(call, rows with offsets)``.

    ``texts``: strings alone.
    """

    __slots__ = ("run", "texts")

    def __init__(self, run: Callable[[Call, DeviceArray], DeviceArray], texts: bool) -> None:
        self.run, self.texts = run, texts

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        assert a.array is not None
        if a.format == DICTIONARY:
            return self._of_dictionary(call, a)
        return self.run(call, with_offsets(call, a.array))

    def _of_dictionary(self, call: Call, a: Datum) -> DeviceArray:
        """Of each value once, unless there are more than rows."""
        assert a.array is not None
        indices = indices_of(a.array)
        rows = cast_argument(call, Datum(indices, indices._format), "l", False).array
        assert rows is not None
        values = values_of(a.array, rows)
        format = format_of(values)
        if not (format in TEXTS if self.texts else is_binary(format)):
            raise NoKernel(f"{call.function.name}: expected strings, not a dictionary of {words_of(format)}")
        if values.length > rows.length:
            out = dictionary_decode(call, a).array
            assert out is not None
            return self.run(call, with_offsets(call, out))
        return take_array(call, self.run(call, with_offsets(call, values)), rows, False)


def _number_format(array: DeviceArray) -> str:
    return "i" if array._format in "uz" else "l"


def text_numbers(
    call: Call,
    rows: DeviceArray,
    kernel: str,
    pattern: DeviceArray | None = None,
    numbers: tuple[int, ...] = (),
    *,
    family: str = "string_match",
    bits: bool = False,
    checked: bool = False,
    name: str | None = None,
) -> DeviceArray:
    a, b, c, d = (*numbers, 0, 0, 0, 0)[:4]
    step = family, kernel, name or call.function.name, bits, checked, a, b, c, d
    schema = schema_of("b" if bits else _number_format(rows))
    return _native.compute_text_numbers(step, rows, pattern, schema, call.stream, call.owner)


# ---- strings stay UTF-8 ----
def text_option(call: Call, rows: DeviceArray, name: str) -> bytes:
    """The bytes of an option that go into rows of strings, or must be found whole there."""
    options: Any = call.options
    given: bytes = options.bytes_of(name)
    if rows._format in "uU":
        try:
            given.decode()
        except UnicodeDecodeError as e:
            raise ArgumentError(
                f"{call.function.name}: {name} is not valid UTF-8, the argument is strings: {e.reason}; "
                "cast the argument to binary"
            ) from None
    return given


def checked_text(call: Call, made: DeviceArray) -> DeviceArray:
    """A result of strings whose bytes were moved one by one.  Raises ArgumentError where a row is not UTF-8; blocks."""
    if made._format in "uU" and made.length:
        said = f"{call.function.name}: cast to binary, a character is cut"  # 63 bytes at most
        text_numbers(call, made, "classes", None, (ALPHA,), family="string_class", bits=True, checked=True, name=said)
    return made


def bytes_as_text(call: Call, array: DeviceArray, to: str, safe: bool) -> DeviceArray:
    """Bytes as strings with offsets.  Raises ArgumentError where it is ``safe`` and a row is not UTF-8; blocks."""
    made = with_schema(to_offsets_layout(call, array, "z" if to == "u" else "Z"), schema_of(to))
    if safe and made.length:
        numbers = (ALPHA,)
        text_numbers(call, made, "classes", None, numbers, family="string_class", bits=True, checked=True, name="cast")
    return made


# ---- lengths ----
def binary_length(call: Call, rows: DeviceArray) -> DeviceArray:
    """How many bytes each row has: differences of offsets."""
    format, n = _number_format(rows), rows.length
    if not n:
        return text_numbers(call, rows, "characters")
    offsets = offsets_of(rows, format)
    made = _subtract[format](call, Datum(offsets[1:], format), Datum(offsets[:n], format))
    return made if rows.null_count == 0 else _null_where(call, made, rows)


def _null_where(call: Call, values: DeviceArray, rows: DeviceArray) -> DeviceArray:
    from .row_numbers import null_unless
    from .selection.take import is_valid

    return null_unless(call, values, is_valid(call, Datum(rows, rows._format)))


def utf8_length(call: Call, rows: DeviceArray) -> DeviceArray:
    """How many code points each row has."""
    return text_numbers(call, rows, "characters")


# ---- patterns ----
def _codes(call: Call, rows: DeviceArray, pattern: bytes) -> numbers_of[int]:
    """The characters of a pattern: code points of strings, of bytes these."""
    if rows._format in "zZ":
        return numbers_of("I", list(pattern))
    try:
        return numbers_of("I", map(ord, pattern.decode()))
    except UnicodeDecodeError as e:
        raise ArgumentError(f"{call.function.name}: the pattern is not valid UTF-8: {e.reason}") from None


class Match:
    """``run`` of a function that looks for a pattern; ``what``: STARTS to COUNT."""

    __slots__ = ("what",)

    def __init__(self, what: int) -> None:
        self.what = what

    def __call__(self, call: Call, rows: DeviceArray) -> DeviceArray:
        options: Any = call.options
        pattern = options.bytes_of("pattern")
        if self.what == LIKE:
            return _like(call, rows, pattern, options.ignore_case)
        return match(call, rows, self.what, pattern, options.ignore_case)


def match(call: Call, rows: DeviceArray, what: int, pattern: bytes, folded: bool) -> DeviceArray:
    how = what | FOLDED * folded | BYTES * (rows._format in "zZ")
    given = _codes(call, rows, pattern) if folded else pattern
    bits = what < FIND
    kernel = "matches" if bits else "positions"
    if not folded:
        how &= ~BYTES
    return text_numbers(call, rows, kernel, beside(call, given), (how, len(given)), bits=bits)


def _like(call: Call, rows: DeviceArray, pattern: bytes, folded: bool) -> DeviceArray:
    """A pattern of LIKE: % any number of characters, _ one, and behind a backslash they stand for themselves."""
    parts: list[int] = []
    escaped = False
    for code in _codes(call, rows, pattern):
        if not escaped and code == 0x5C:
            escaped = True
            continue
        wild = {0x25: LIKE_ANY, 0x5F: LIKE_ONE}.get(code) if not escaped else None
        if wild != LIKE_ANY or parts[-1:] != [LIKE_ANY]:
            parts.append(code if wild is None else wild)
        escaped = False
    inner = [x for x in parts if x not in (LIKE_ANY, LIKE_ONE)]
    begins, ends = parts[:1] == [LIKE_ANY], parts[-1:] == [LIKE_ANY]
    if LIKE_ONE not in parts and len(inner) + begins + (ends and len(parts) > 1) == len(parts):
        what = {(True, True): CONTAINS, (True, False): ENDS, (False, True): STARTS}.get((begins, ends), EQUALS)
        plain = bytes(inner) if rows._format in "zZ" else "".join(map(chr, inner)).encode()
        return match(call, rows, what, plain, folded)
    codes = numbers_of("I", parts)
    how = LIKE | FOLDED * folded | BYTES * (rows._format in "zZ")
    return text_numbers(call, rows, "matches", beside(call, codes), (how, len(codes)), bits=True)


# ---- classes ----
class IsOfClass:
    """``run`` of a predicate: what all characters of a row are."""

    __slots__ = ("kind",)

    def __init__(self, name: str) -> None:
        prefix, _, word = name.partition("_is_")
        self.kind = ASCII if name == "string_is_ascii" else CLASSES[word] | ONLY_ASCII * (prefix == "ascii")

    def __call__(self, call: Call, rows: DeviceArray) -> DeviceArray:
        checked = not self.kind & (ASCII | ONLY_ASCII)
        return text_numbers(
            call, rows, "classes", None, (self.kind,), family="string_class", bits=True, checked=checked
        )
