"""Functions whose rows are strings or bytes: slices, trims, cases, paddings, replacements, parts.

Kernels tell the sizes first; their sum, which the host reads, is the memory that the bytes need.
"""

from __future__ import annotations

from array import array as numbers_of

from ..._arrays.assemble import assemble
from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...interop.asarray import asarray
from ...schema import Schema
from ..dispatch.datum import Datum
from ..errors import NoKernel
from . import row_numbers
from .aggregate import number
from .cast.binary import none_of, offsets_of
from .cast.numeric import cast_argument
from .elementwise import Map, schema_of
from .selection.take import is_valid
from .strings import BYTES, beside, checked_text, text_option, with_offsets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

    Step = tuple[str, str, str, bool, bool, int, int, int, int]

# as in the texts of kernels/strings
TRIM_LEFT, TRIM_RIGHT, TRIM_SPACE, TRIM_BYTES = 1, 2, 4, 8
PAD_LEFT, PAD_RIGHT, PAD_LEAN_LEFT, PAD_UTF8, PAD_SIGN = 1, 2, 4, 8, 16
SPLIT_SPACE, SPLIT_ASCII_SPACE, SPLIT_BACK = 1, 2, 4
CASES = {"upper": 0, "lower": 1, "swapcase": 2, "capitalize": 3, "title": 4}
ROW_REVERSE, ROW_REVERSE_UTF8, ROW_CAPITALIZE, ROW_TITLE = range(4)
_MOST, _LEAST = (1 << 63) - 1, -(1 << 63)
_FAR = 1 << 62  # no row has so many characters
_move = {"i": Map("arith", "i32", "subtract", "ii", "i"), "l": Map("arith", "i64", "subtract", "ll", "l")}


def step_of(call: Call, family: str, kernel: str, numbers: tuple[int, ...], checked: bool = False) -> Step:
    a, b, c, d = (*numbers, 0, 0, 0, 0)[:4]
    return family, kernel, call.function.name, False, checked, a, b, c, d


def _letter(rows: DeviceArray) -> str:
    return "i" if rows._format in "uz" else "l"


def assembled(
    call: Call, rows: DeviceArray, offsets: DeviceArray, data: DeviceArray, made: tuple[DeviceArray, ...]
) -> DeviceArray:
    """Strings as long as ``rows``, null where these are.  ``made``: on the stream, the last one last."""
    known = None if rows.null_count == 0 else is_valid(call, Datum(rows, rows._format))
    bitmap = None if known is None else (known, 1)
    last = (*made, known) if known is not None else made
    return assemble(
        schema_of(rows._format),
        rows.length,
        [bitmap, (offsets, 1), (data, 1)],
        null_count=-1 if bitmap else 0,
        near=data,
        made=last,
    )


def transformed(
    call: Call,
    rows: DeviceArray,
    family: str,
    kernels: tuple[str, str],
    numbers: tuple[int, ...],
    pattern: DeviceArray | None = None,
    *,
    pieces: bool = False,
    checked: bool = False,
) -> DeviceArray:
    """The rows that two kernels make: the first tells their sizes, the second writes them."""
    if not rows.length:
        return rows
    first = step_of(call, family, kernels[0], numbers, checked)
    sizes, tiles, begins, _, total = _native.compute_text_sizes(first, rows, pattern, pieces, call.stream, call.owner)
    data = _written(call, rows, step_of(call, family, kernels[1], numbers), pattern, sizes, tiles, begins, total)
    return assembled(call, rows, sizes, data, (sizes, tiles, data))


def _written(
    call: Call,
    rows: DeviceArray,
    step: Step,
    pattern: DeviceArray | None,
    sizes: DeviceArray,
    tiles: DeviceArray,
    begins: DeviceArray | None,
    total: int,
) -> DeviceArray:
    if begins is not None:  # pieces: where the bytes of the rows end
        step, pattern = (*step[:6], bytes_end(rows), 0, 0), None
    return _native.compute_text_bytes(
        step, rows, pattern, sizes, tiles, begins, total, sizes.length - 1, call.stream, call.owner
    )


def _offset_at(rows: DeviceArray, row: int) -> int:
    offsets = offsets_of(rows, _letter(rows))
    return int(number(offsets[row : row + 1]))


def bytes_end(rows: DeviceArray) -> int:
    """Where the bytes of the rows end.  Blocks."""
    return _offset_at(rows, rows.length)


# ---- rows of the same size ----
class SameSize:
    """``run`` of a function that moves or changes bytes where they are; ``rows``: it goes through rows."""

    __slots__ = ("how", "rows")

    def __init__(self, how: int, rows: bool) -> None:
        self.how, self.rows = how, rows

    def __call__(self, call: Call, rows: DeviceArray) -> DeviceArray:
        if not rows.length:
            return rows
        kernel, letter = "map_rows" if self.rows else "map_bytes", _letter(rows)
        first, last = _offset_at(rows, 0), bytes_end(rows)
        step = step_of(call, "string_pieces", kernel, (self.how,))
        data = _native.compute_text_map(step, rows, self.rows, first, last - first, call.stream, call.owner)
        offsets = offsets_of(rows, letter)
        if rows.offset or first:
            offsets = _move[letter](call, Datum(offsets, letter), Datum(value=first, format=letter))
        elif offsets.device_type_id != data.device_type_id:  # the CPU computed, of memory that it reads
            offsets = offsets.to("cpu")
        out = assembled(call, rows, offsets, data, (data, offsets) if rows.offset or first else (data,))
        return checked_text(call, out) if self.rows and self.how == ROW_REVERSE else out


class Case:
    """``run`` of utf8_upper and the like."""

    __slots__ = ("how",)

    def __init__(self, how: int) -> None:
        self.how = how

    def __call__(self, call: Call, rows: DeviceArray) -> DeviceArray:
        return transformed(call, rows, "string_case", ("case_sizes", "case_write"), (self.how,), checked=True)


# ---- pieces ----
class Slice:
    """``run`` of utf8_slice_codeunits and binary_slice."""

    __slots__ = ("bytes",)

    def __init__(self, bytes: bool) -> None:
        self.bytes = bytes

    def __call__(self, call: Call, rows: DeviceArray) -> DeviceArray:
        options: Any = call.options
        start, stop, step = options.start, options.stop, max(-_FAR, min(options.step, _FAR))
        how = BYTES * self.bytes
        if step == 1:
            numbers = (how, start, _MOST if stop is None else stop)
            kernels = "slices", "pieces"
            return transformed(call, rows, "string_pieces", kernels, numbers, pieces=True, checked=not self.bytes)
        stop = (_MOST if step > 0 else _LEAST) if stop is None else stop
        if options.stop is not None:
            stop = max(stop, _LEAST + 1)
        kernels = "stride_sizes", "stride_write"
        strided = how, start, stop, step
        return transformed(call, rows, "string_pieces", kernels, strided, checked=not self.bytes)


def slice_sized(call: Call, a: Datum) -> DeviceArray:
    """``exec`` of binary_slice of bytes of one size, which become bytes of another."""
    options: Any = call.options
    assert a.array is not None
    width, n = int(a.array._format[2:]), a.array.length
    schema = schema_of(f"w:{len(range(*slice(options.start, options.stop, options.step).indices(width)))}")
    if not n:
        return none_of(a.array, schema.format)
    every = assemble(a.array._schema, n, [None, (a.array, 1)], offset=a.array.offset, null_count=0, made=(a.array,))
    out = Slice(True)(call, with_offsets(call, every))
    known = None if a.array.null_count == 0 else is_valid(call, Datum(a.array, a.array._format))
    made = (out,) if known is None else (out, known)
    bitmap = None if known is None else (known, 1)
    return assemble(schema, n, [bitmap, (out, 2)], null_count=-1 if bitmap else 0, near=out, made=made)


class Trim:
    """``run`` of the functions that take characters from the ends; ``how``: TRIM_*."""

    __slots__ = ("how",)

    def __init__(self, how: int) -> None:
        self.how = how

    def __call__(self, call: Call, rows: DeviceArray) -> DeviceArray:
        codes: numbers_of[int] = numbers_of("I")
        if not self.how & TRIM_SPACE:
            options: Any = call.options
            given = options.bytes_of("characters")
            try:
                codes = numbers_of("I", sorted(set(given if self.how & TRIM_BYTES else map(ord, given.decode()))))
            except UnicodeDecodeError as e:
                raise ArgumentError(f"{call.function.name}: characters is not valid UTF-8: {e.reason}") from None
        out = transformed(
            call,
            rows,
            "string_pieces",
            ("trims", "pieces"),
            (self.how, len(codes)),
            beside(call, codes),
            pieces=True,
            checked=not self.how & TRIM_BYTES,
        )
        return checked_text(call, out) if self.how & TRIM_BYTES and any(x > 127 for x in codes) else out


# ---- edited rows ----
class Pad:
    """``run`` of the functions that make rows wider; ``how``: PAD_*."""

    __slots__ = ("how",)

    def __init__(self, how: int) -> None:
        self.how = how

    def __call__(self, call: Call, rows: DeviceArray) -> DeviceArray:
        options: Any = call.options
        name, padding = call.function.name, text_option(call, rows, "padding")
        one = "byte" if not self.how & PAD_UTF8 else "code point"
        if len(padding if not self.how & PAD_UTF8 else padding.decode(errors="replace")) != 1:
            raise ArgumentError(f"{name}: padding must be one {one}, not {options.padding!r:.60}")
        how = self.how
        if how & 3 == 3 and options.lean_left_on_odd_padding:
            how |= PAD_LEAN_LEFT
        numbers = how, max(options.width, 0), len(padding)
        return transformed(call, rows, "string_edit", ("pad_sizes", "pad_write"), numbers, beside(call, padding))


def replace_substring(call: Call, rows: DeviceArray) -> DeviceArray:
    """``run``: places of a pattern become another."""
    options: Any = call.options
    pattern, replacement = text_option(call, rows, "pattern"), text_option(call, rows, "replacement")
    if not pattern:
        raise ArgumentError("replace_substring: the pattern must not be empty")
    most = -1 if options.max_replacements is None or options.max_replacements < 0 else options.max_replacements
    numbers = 0, len(pattern), len(replacement), most
    beside_ = beside(call, pattern + replacement)
    return transformed(call, rows, "string_edit", ("replace_sizes", "replace_write"), numbers, beside_)


class ReplaceSlice:
    """``run`` of utf8_replace_slice and binary_replace_slice."""

    __slots__ = ("bytes",)

    def __init__(self, bytes: bool) -> None:
        self.bytes = bytes

    def __call__(self, call: Call, rows: DeviceArray) -> DeviceArray:
        options: Any = call.options
        replacement = text_option(call, rows, "replacement")
        numbers = BYTES * self.bytes, options.start, options.stop, len(replacement)
        kernels = "cut_sizes", "cut_write"
        out = transformed(
            call, rows, "string_edit", kernels, numbers, beside(call, replacement), checked=not self.bytes
        )
        return checked_text(call, out) if self.bytes else out


# ---- parts ----
class Split:
    """``run`` of the functions that give lists of parts; ``how``: SPLIT_*, 0: by a pattern."""

    __slots__ = ("how",)

    def __init__(self, how: int) -> None:
        self.how = how

    def __call__(self, call: Call, rows: DeviceArray) -> DeviceArray:
        options: Any = call.options
        pattern = b"" if self.how else text_option(call, rows, "pattern")
        if not self.how and not pattern:
            raise ArgumentError(f"{call.function.name}: the pattern must not be empty")
        most = -1 if options.max_splits is None or options.max_splits < 0 else options.max_splits
        schema = Schema.make("+l", children=[Schema.make(rows._format, name="item")])
        if not rows.length:
            empty = asarray([], schema=schema)
            return empty if rows.device_type_id == 1 else empty.to((rows.device_type_id, rows.device_id))
        numbers = self.how | SPLIT_BACK * options.reverse, len(pattern), most
        there = beside(call, pattern)
        counts = _native.compute_text_numbers(
            step_of(call, "string_edit", "split_counts", numbers), rows, there, schema_of("l"), call.stream, call.owner
        )
        counts = row_numbers.without_nulls(counts)
        sizes, tiles, begins, offsets, total = _native.compute_text_parts(
            step_of(call, "string_edit", "split_parts", numbers), rows, there, counts, call.stream, call.owner
        )
        data = _written(call, rows, step_of(call, "string_pieces", "pieces", ()), None, sizes, tiles, begins, total)
        parts = assemble(
            schema_of(rows._format),
            sizes.length - 1,
            [None, (sizes, 1), (data, 1)],
            null_count=0,
            near=data,
            made=(sizes, tiles, begins, data),
        )
        if sizes.length > 1 << 31:
            raise NoKernel(f"{call.function.name}: {sizes.length - 1} parts are more than a list can count")
        short = cast_argument(call, Datum(offsets, "l"), "i", False).array
        assert short is not None
        known = None if rows.null_count == 0 else is_valid(call, Datum(rows, rows._format))
        bitmap = None if known is None else (known, 1)
        return assemble(schema, rows.length, [bitmap, (short, 1)], [parts], null_count=-1 if bitmap else 0, near=short)
