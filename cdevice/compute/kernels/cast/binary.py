"""Strings and bytes of any layout: how they are compared, and cast to each other."""

from __future__ import annotations

import errno

from ...._arrays.assemble import assemble
from ...._runtime.ext import _native
from ....errors import ArgumentError
from ....interop.asarray import asarray
from ...dispatch.datum import Datum
from ...dispatch.types import VIEWS, is_binary
from ..elementwise import WORD, Map, schema_of
from ..selection.take import is_valid, with_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...._types import DeviceArray
    from ...dispatch.call import Call

# bits for less, equal, greater
OUTCOMES = {"equal": 2, "not_equal": 5, "less": 1, "less_equal": 3, "greater": 4, "greater_equal": 6}
_first = Map("boolean", "bits", "first", "bbb", "b", unit=WORD)  # null where any argument is
_times = Map("arith", "i64", "multiply", "ll", "l", function_name="cast")
_wide = Map("cast", "i32 i64", "cast_i32", "i", "l", function_name="cast")
_narrow = Map("cast", "i64 i32", "cast_checked_i64", "l", "i", checked=True, function_name="cast")


class Compare:
    """``exec`` of a comparison of strings or bytes, byte by byte."""

    __slots__ = ("outcomes",)

    def __init__(self, name: str) -> None:
        self.outcomes = OUTCOMES[name]

    def __call__(self, call: Call, a: Datum, b: Datum) -> DeviceArray:
        if a.array is None or b.array is None:  # null
            return _first(call, Datum(value=False, format="b"), a, b)
        x, y, ones = a.array, b.array, a.one | b.one << 1
        made = _native.compute_compare(x, y, ones, self.outcomes, schema_of("b"), call.stream, call.owner)
        if made is NotImplemented:
            x, y = _with_offsets(call, x), _with_offsets(call, y)
            made = _native.compute_compare(x, y, ones, self.outcomes, schema_of("b"), call.stream, call.owner)
        return _first(call, Datum(made, "b", one=a.one and b.one), a, b)


def _with_offsets(call: Call, array: DeviceArray) -> DeviceArray:
    return to_offsets_layout(call, array, "U" if array._format == "vu" else "Z") if array._format in VIEWS else array


class Cast:
    """``exec`` of a cast to strings or bytes."""

    __slots__ = ("to",)

    def __init__(self, to: str) -> None:
        self.to = to

    def __call__(self, call: Call, a: Datum) -> DeviceArray:
        assert a.array is not None
        return to_views(call, a.array, self.to) if self.to in VIEWS else to_offsets_layout(call, a.array, self.to)


def cast(a: str, b: str) -> Cast | None:
    """From one type to another.  None: there is none here; bytes become strings only where their UTF-8 is checked."""
    if b not in ("u", "U", "z", "Z", *VIEWS) or not is_binary(a):
        return None
    return Cast(b) if b in ("z", "Z", "vz") or a in ("u", "U", "vu") else None


def to_views(call: Call, array: DeviceArray, to: str) -> DeviceArray:
    """The rows as views, which look at the bytes where these are.  Waits for the number of the bytes."""
    source, n = array._format, array.length
    if source in VIEWS:
        return with_schema(array, schema_of(to))
    if not n:
        return none_of(array, to)
    if source[0] == "w":
        total = (array.offset + n) * int(source[2:])
    else:
        total = offsets_of(array, "i" if source in "uz" else "l")[n:].to("cpu").to_pylist()[0]
    if total >= 1 << 31:
        raise ArgumentError(f"cast: {total} bytes are more than views can look at: cast parts of the array")
    views = _native.compute_make_views(array, schema_of("w:16"), call.stream, call.owner)
    if views.device_type_id != array.device_type_id:  # the CPU computed, of memory that it reads
        array = array.to("cpu")
    known = is_valid(call, Datum(array, source)) if array.null_count else None
    sizes = asarray([total] if total else [], schema=schema_of("l"))  # the host reads them, of views on a device too
    content = [(array, array._n_buffers - 1)] if total else []
    made = [views] if known is None else [views, known]
    buffers = [None if known is None else (known, 1), (views, 1), *content, (sizes, 1)]
    return assemble(schema_of(to), n, buffers, null_count=0 if known is None else -1, near=views, made=made)


def too_many(n: int, what: str) -> ArgumentError:
    e = ArgumentError(
        f"cast: {n} {what} are more than 32-bit offsets can count: cast parts of the array, or to the large_ form"
    )
    e.code = errno.EFBIG if n >= 1 << 31 else errno.ERANGE  # ERANGE: they would fit alone
    return e


def to_offsets_layout(call: Call, array: DeviceArray, to: str) -> DeviceArray:
    """The rows as strings or bytes with offsets of 32 ("u", "z") or 64 bits.  Waits where the device has to say how
    many bytes views look at, or whether offsets fit."""
    source, n, short = array._format, array.length, to in "uz"
    if source in ("u", "z") if short else source in ("U", "Z"):
        return with_schema(array, schema_of(to))
    if not n:
        return none_of(array, to)
    made = []  # in the order in which the device makes them: the last one's event counts
    if source in VIEWS:
        offsets, total = _native.compute_view_offsets(array, call.stream, call.owner)
        made += [offsets, _native.compute_view_bytes(array, offsets, total, call.stream, call.owner)]
        content = made[1], 1
    elif source[0] == "w":
        rows = _native.compute_rows(array, array.offset, n + 1, call.stream, call.owner)
        offsets = _times(call, Datum(rows, "l"), Datum(value=int(source[2:]), format="l"))
    else:
        offsets = offsets_of(array, "i" if source in "uz" else "l")
    if offsets._format == "l" and short:
        try:
            offsets = _narrow(call, Datum(offsets, "l"))
        except ArgumentError:
            first, last = (offsets[row : row + 1].to("cpu").to_pylist()[0] for row in (0, n))
            if not first or last - first >= 1 << 31:
                raise too_many(last - first, "bytes") from None
            alone = array.to(array.device, stream=call.owner, copy=True)  # only the bytes that they look at
            return to_offsets_layout(call, alone, to)
    elif offsets._format == "i":
        offsets = _wide(call, Datum(offsets, "i"))
    if source not in VIEWS:
        if offsets.device_type_id != array.device_type_id:  # the CPU computed, of memory that it reads
            array = array.to("cpu")
        content = array, array._n_buffers - 1
    if not made or offsets is not made[0]:
        made.append(offsets)
    known = None
    if array.null_count != 0:
        known = is_valid(call, Datum(array, source))
        made.append(known)
    bitmap = None if known is None else (known, 1)
    count = 0 if known is None else -1
    return assemble(schema_of(to), n, [bitmap, (offsets, 1), content], null_count=count, near=offsets, made=made)


def none_of(array: DeviceArray, to: str) -> DeviceArray:
    """No rows of a type, where the array is."""
    made = asarray([], schema=schema_of(to))
    return made if array.device_type_id == 1 else made.to((array.device_type_id, array.device_id))


def offsets_of(array: DeviceArray, format: str) -> DeviceArray:
    """Of strings: an array of its own, one longer."""
    return assemble(
        schema_of(format), array.length + 1, [None, (array, 1)], offset=array.offset, null_count=0, made=(array,)
    )
