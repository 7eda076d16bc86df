"""What dictionary arrays stand for, and which rows have a value."""

from __future__ import annotations

from ....errors import ArgumentError
from ...dispatch.datum import ChunkStream, Datum
from ...dispatch.types import DICTIONARY, format_of
from ..elementwise import PACK, WORD, Map
from ..selection.take import (
    both,
    indices_of,
    is_valid,
    numbered,
    part_of,
    run_end_decode,
    take_array,
    values_of,
    with_bitmap,
)
from .numeric import cast_argument
from .text import is_cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...._types import DeviceArray
    from ...dispatch.call import Call

_equal = Map("compare", "i8", "equal", "cc", "b", unit=PACK)
_or = Map("boolean", "bits", "or", "bb", "b", unit=WORD)


def dictionary_decode(call: Call, a: Datum) -> Datum:
    """A dictionary or run-end encoded array as the values that its rows have."""
    if a.array is None or a.format not in (DICTIONARY, "+r"):
        return a
    if a.format == "+r":
        plain = run_end_decode(call, a.array)
        return dictionary_decode(call, Datum(plain, format_of(plain), one=a.one, follows=a.follows))
    indices = indices_of(a.array)
    rows = cast_argument(call, Datum(indices, indices._format), "l", False).array
    assert rows is not None
    out = take_array(call, values_of(a.array, rows), rows, False)
    return Datum(out, format_of(out), one=a.one, follows=a.follows)


def known_rows(call: Call, array: DeviceArray) -> DeviceArray:
    """Which rows have a value, as bits: of what has no bitmap of its own, where the value that a row stands for is
    none.

    This is Arrow's logical null, as ``to_pylist()`` shows it; ``null_count`` counts the bitmap."""
    if array._format[:2] == "+u":
        return _known_of_union(call, array)
    plain = _plain(call, array)
    if plain._format[:2] == "+u":
        return _known_of_union(call, plain)
    return is_valid(call, Datum(plain, plain._format))


def may_be_null(array: DeviceArray) -> bool:
    """May a row be null, for :func:`known_rows`?"""
    return array._format[:2] in ("+r", "+u") or array._schema.dictionary is not None or array.null_count != 0


def _known_of_union(call: Call, array: DeviceArray) -> DeviceArray:
    """Whether the child's row of each row is valid."""
    kinds = part_of(array, 0, "c")
    dense = array._format[2] == "d"
    codes = [int(x) for x in array._format[4:].split(",")] if array._format[4:] else []
    out = _equal(call, Datum(kinds, "c"), Datum(value=0, format="c")) if not codes else None
    for i, code in enumerate(codes):
        here = Datum(_equal(call, Datum(kinds, "c"), Datum(value=code, format="c")), "b")
        child = array._raw_child(i) if dense else array._child(i)
        if dense:
            if not child.length:
                continue
            rows = cast_argument(call, Datum(part_of(array, 1, "i"), "i"), "l", False)
            rows = Datum(numbered(call, here, rows, Datum(value=0, format="l")), "l")  # of others any row
            assert rows.array is not None
            known = take_array(call, known_rows(call, child), rows.array, False)
        else:
            known = known_rows(call, child)
        both_known = both(call, here, Datum(known, "b"))
        out = both_known if out is None else _or(call, Datum(out, "b"), Datum(both_known, "b"))
    return out if out is not None else _equal(call, Datum(kinds, "c"), Datum(kinds, "c"))


def _plain(call: Call, x: DeviceArray) -> DeviceArray:
    """An array whose bitmap marks the rows that have a value."""
    if x._format == "+r":
        return _plain(call, run_end_decode(call, x))
    if x._schema.dictionary is not None:
        values = x._child(-1)
        if values.null_count == 0 and values._schema.dictionary is None and values._format[:2] not in ("+u", "+r"):
            return x
        out = dictionary_decode(call, Datum(x, DICTIONARY)).array
        assert out is not None
        return _plain(call, out)
    return x


def by_values(exec: Callable[[Call, Datum], DeviceArray]) -> Callable[[Call, Datum], DeviceArray]:
    """``exec`` for arrays that are null where their values are: run-end encoded ones, unions and dictionaries."""

    def plain(call: Call, x: DeviceArray) -> DeviceArray:
        x = _plain(call, x)
        if x._format[:2] != "+u":
            return x
        known = known_rows(call, x)
        return with_bitmap(known, known)

    def run(call: Call, a: Datum) -> DeviceArray:
        if isinstance(a.chunks, ChunkStream):
            return exec(call, Datum(chunks=a.chunks.mapped(lambda x: plain(call, x)), format=a.format))
        if a.chunks is not None:
            return exec(call, Datum(chunks=[plain(call, x) for x in a.chunks], format=a.format))
        assert a.array is not None
        made = plain(call, a.array)
        return exec(call, Datum(made, made._format, one=a.one))

    return run


def of_dictionary(call: Call, a: Datum, to: str, safe: bool) -> Datum:
    """The rows of a dictionary; where text is read or printed, each value once, unless there are more than rows."""
    assert a.array is not None
    values = a.array._child(-1)
    if values.length > a.array.length or not is_cast(format_of(values), to):
        return dictionary_decode(call, a)
    rows = cast_argument(call, Datum(indices_of(a.array), indices_of(a.array)._format), "l", False).array
    assert rows is not None
    values = values_of(a.array, rows)
    try:
        made = cast_argument(call, Datum(values, format_of(values)), to, safe).array
    except ArgumentError:  # of a value that no row may have
        return dictionary_decode(call, a)
    assert made is not None
    return Datum(take_array(call, made, rows, False), to, one=a.one, follows=a.follows)
