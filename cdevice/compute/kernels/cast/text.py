"""Numbers as text and back: ``core/compute/strings.c`` and the texts of ``kernels/text/``.

Text is printed in two steps, first the sizes of the rows, then their bytes.  Narrow numbers are widened before, which
changes no digit.
"""

from __future__ import annotations

import re

from ...._arrays.assemble import assemble
from ...._runtime.ext import _native
from ....errors import ArgumentError
from ...dispatch.datum import Datum
from ...dispatch.types import (
    DICTIONARY,
    KERNEL_TYPES,
    SIGNED,
    UNSIGNED,
    decimal_of,
    is_binary,
    kind_of_time,
    words_of,
)
from ..elementwise import Map, WithNumbers, schema_of
from ..selection.take import is_valid, with_schema
from ..temporal import local, time_word, zone_of
from . import decimal as decimals
from .binary import none_of, to_offsets_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...._types import DeviceArray
    from ...dispatch.call import Call

    Step = tuple[str, str, str, bool, bool, int, int, int, int, str]

_WHAT = re.compile(r": row (\d+) (.*)", re.DOTALL)
_SHOWN = 60  # letters of a row in an error


def _cast(a: str, b: str) -> Map:
    s, t = KERNEL_TYPES[a], KERNEL_TYPES[b]
    return Map("cast", f"{s} {t}", f"cast_{s}", a, b, function_name="cast")


# printed as another number: float16 as float64, as in Arrow
_WIDER: dict[str, Map] = {x: _cast(x, "l") for x in "csiCSI"}
_WIDER["e"] = _cast("e", "g")
_halve = _cast("f", "e")


class Print:
    """``exec`` of a cast of numbers to strings.  Blocks until their bytes are counted."""

    __slots__ = ("number", "to", "what", "wider", "word")

    def __init__(self, what: str, word: str, to: str, wider: Map | WithNumbers | None = None, number: int = 0) -> None:
        self.what, self.to, self.wider, self.number = what, to, wider, number
        self.word = f"{word} i{32 if to == 'u' else 64}"

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        if self.wider is not None:
            a = Datum(self.wider(call, a), one=a.one)
        assert a.array is not None
        return printed(call, a.array, self.what, self.word, self.to, (self.number,))


def step_of(call: Call, family: str, kernel: str, word: str, numbers: tuple[int, ...], checked: bool) -> Step:
    """A kernel of a program whose type is a number's and an offset's."""
    a, b, c, d = (*numbers, 0, 0, 0, 0)[:4]
    return family, f"{kernel}_{word.split()[0]}", call.function.name, False, checked, a, b, c, d, word


def printed(
    call: Call,
    array: DeviceArray,
    what: str,
    word: str,
    to: str,
    numbers: tuple[int, ...] = (),
    beside: DeviceArray | None = None,
) -> DeviceArray:
    """The text of each row.  ``word``: the program's type; ``beside``: what its kernels read too."""
    if not array.length:
        return none_of(array, to)
    family = f"print_{what}"
    sizes, write = (step_of(call, family, f"{what}_{x}", word, numbers, False) for x in ("sizes", "write"))
    keeps = what == "real"  # the first kernel keeps digits for the second one
    offsets, tiles, kept, _, total = _native.compute_text_sizes(sizes, array, beside, keeps, call.stream, call.owner)
    data = _native.compute_text_bytes(
        write, array, beside, offsets, tiles, kept, total, array.length, call.stream, call.owner
    )
    known = None if array.null_count == 0 else is_valid(call, Datum(array, array._format))
    bitmap = None if known is None else (known, 1)
    made = (offsets, tiles, data) if known is None else (offsets, tiles, data, known)
    return assemble(
        schema_of(to),
        array.length,
        [bitmap, (offsets, 1), (data, 1)],
        null_count=-1 if bitmap else 0,
        near=data,
        made=made,
    )


# as kernels/lang/protocol.h has them
_AS_TIMESTAMP, _AS_DATE, _AS_CLOCK, _WITH_Z, _WITH_OFFSET = 0, 1, 2, 4, 8


class PrintTime:
    """``exec`` of a cast of dates and times to strings; of timestamps with a zone, what its clocks show."""

    __slots__ = ("to",)

    def __init__(self, to: str) -> None:
        self.to = to

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        format = a.format or ""
        word = f"{time_word(format)} i{32 if self.to == 'u' else 64}"
        how, moments = how_of(format), None
        assert a.array is not None
        shown: DeviceArray | None = a.array
        if zone_of(format):
            how |= _WITH_Z if zone_of(format) == "UTC" else _WITH_OFFSET
        if how & _WITH_OFFSET and a.array.length:
            shown, moments = local(call, a).array, a.array
        assert shown is not None
        return printed(call, shown, "time", word, self.to, (how,), moments)


def how_of(format: str) -> int:
    """What of a time its text has."""
    return {"date": _AS_DATE, "time": _AS_CLOCK}.get(kind_of_time(format) or "", _AS_TIMESTAMP)


class Read:
    """``exec`` of a cast of strings or bytes to numbers.  Blocks: a row may be none."""

    __slots__ = ("narrow", "numbers", "out", "said", "what", "word")

    def __init__(
        self,
        what: str,
        word: str,
        out: str,
        said: str,
        numbers: tuple[int, ...] = (),
        narrow: Map | WithNumbers | None = None,
    ) -> None:
        self.what, self.word, self.out, self.said = what, word, out, said
        self.numbers, self.narrow = numbers, narrow

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        assert a.array is not None
        rows = with_offsets(call, a.array)
        word = f"{self.word} i{32 if rows._format in 'uz' else 64}"
        step = step_of(call, f"read_{self.what}", f"read_{self.what}", word, self.numbers, True)
        step = (*step[:3], self.out == "b", *step[4:])
        try:
            made = _native.compute_text_numbers(step, rows, None, schema_of(self.out), call.stream, call.owner)
        except ArgumentError as e:
            raise explained(call, rows, e, self.said) from None
        return made if self.narrow is None else self.narrow(call, Datum(made, self.out))


def with_offsets(call: Call, array: DeviceArray) -> DeviceArray:
    """Views become rows with offsets."""
    if array._format in ("vu", "vz"):
        return to_offsets_layout(call, array, "u" if array._format == "vu" else "z")
    return array


def explained(call: Call, rows: DeviceArray, error: ArgumentError, said: str) -> ArgumentError:
    """An error of a row with its text; ``said``: the type."""
    found = _WHAT.search(str(error))
    if found is None:
        return error
    row = int(found[1])
    long = with_schema(rows, schema_of("z" if rows._format in "uz" else "Z"))
    text: bytes = long[row : row + 1].to("cpu").to_pylist()[0]
    shown = repr(text if rows._format in "zZ" else text.decode(errors="replace"))
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
    what, more = found[2], ""
    if "no zone" in what:
        more = "; cast to a timestamp without a zone, then assume_timezone() takes it as local time"
    elif "a zone" in what:
        more = "; cast to a timestamp with a zone"
    elif "digits behind" in what:
        more = "; safe=False cuts them"
    what = f"cannot be read as {said}" if "read" in what else f"{what} than {said}" if "more" in what else what
    return type(error)(f"{call.function.name}: row {row} {what}: {shown}{more}")


_REALS = {"f": ("f32", "f", None), "g": ("f64", "g", None), "e": ("f32", "f", _halve)}


def cast(a: str, b: str, safe: bool) -> Print | PrintTime | Read | None:
    """From one type to another; None: there is none, or none of text."""
    if b in ("u", "U") and not is_binary(a):
        return _print(a, b)
    if not is_binary(a) or a.startswith("w:"):
        return None
    if b == "b":
        return Read("bool", "bits", b, "bool")
    if b in SIGNED + UNSIGNED:
        return Read("integer", KERNEL_TYPES[b], b, words_of(b))
    if b in _REALS:
        word, out, narrow = _REALS[b]
        return Read("real", word, out, words_of(b), narrow=narrow)
    if b.startswith("tD"):
        return Read("integer", "i64", b, words_of(b))
    if kind_of_time(b) is not None:
        how = how_of(b) | _WITH_OFFSET * bool(zone_of(b))
        return Read("time", time_word(b), b, words_of(b), (how,)) if a in ("u", "U", "vu") else None
    return _read_decimal(b, safe)


def _read_decimal(b: str, safe: bool) -> Read | None:
    d = decimal_of(b)
    if d is None:
        return None
    numbers = d[1], d[0], int(not safe)
    if d[2] == 256:
        return Read("decimal", "w256", b, words_of(b), numbers)
    wide = f"d:{d[0]},{d[1]}"
    narrow = decimals.rescale(wide, b, False) if d[2] < 128 else None
    return Read("decimal", "w128", wide, words_of(b), numbers, narrow)


def _print(a: str, b: str) -> Print | PrintTime | None:
    if a == "b":
        return Print("bool", "bits", b)
    if a in SIGNED + UNSIGNED:
        return Print("integer", "u64" if a == "L" else "i64", b, _WIDER.get(a))
    if a in "efg":
        return Print("real", "f32" if a == "f" else "f64", b, _WIDER.get(a))
    if a.startswith("tD"):
        return Print("integer", "i64", b)
    if kind_of_time(a) is not None:
        return PrintTime(b)
    d = decimal_of(a)
    if d is None:
        return None
    wider = decimals.rescale(a, f"d:{d[0]},{d[1]}", False) if d[2] < 128 else None
    return Print("decimal", "w256" if d[2] == 256 else "w128", b, wider, d[1])


def is_cast(a: str, b: str) -> bool:
    """Is it one of text, to or from other types?"""
    return a != DICTIONARY and is_binary(a) != is_binary(b) and cast(a, b, True) is not None
