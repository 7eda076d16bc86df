"""binary_join, binary_join_element_wise and binary_repeat: rows that are taken, several for each row of the result.

Strings that lie one behind the other are one string: the result has the bytes of rows that are taken in order, and the
offsets of the first one of each group.
"""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...interop.concat import concat
from ..dispatch.datum import Datum, lone
from ..dispatch.types import common, format_of, is_binary, words_of
from ..errors import NoKernel
from . import row_numbers as rows
from .cast.binary import offsets_of, to_offsets_layout
from .cast.numeric import cast_argument
from .columns import on_device_of
from .elementwise import schema_of
from .lists import Lists
from .selection.take import both, filter_array, is_valid, take_array, with_bitmap
from .strings import text_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call


def _rows(call: Call, a: Datum) -> DeviceArray:
    array = lone(call, a).array if a.array is None else a.array
    assert array is not None
    return array


def _as(call: Call, array: DeviceArray, format: str) -> DeviceArray:
    return on_device_of(call, to_offsets_layout(call, array, format) if array._format != format else array)


def _zeros(call: Call, near: DeviceArray, letter: str, n: int) -> DeviceArray:
    """As many offsets."""
    made = cast_argument(call, Datum(rows.multiply(call, rows.from_(call, near, 0, n), 0), "l"), letter, False).array
    assert made is not None
    return made


def _grouped(call: Call, taken: DeviceArray, begins: DeviceArray, known: DeviceArray | None, n: int) -> DeviceArray:
    """Strings of all rows of ``taken`` from one of ``begins`` (int64, one more than rows) to the next."""
    letter = "i" if taken._format in "uz" else "l"
    if taken.length:
        offsets = take_array(call, offsets_of(taken, letter), begins, False)
    else:
        offsets = _zeros(call, begins, letter, n + 1)
    content = None if not taken.length else (taken, 2)
    bitmap = None if known is None else (known, 1)
    return assemble(
        schema_of(taken._format), n, [bitmap, (offsets, 1), content], null_count=-1 if bitmap else 0, near=offsets
    )


def binary_repeat(call: Call, a: Datum, count: Datum) -> DeviceArray:
    """``exec``: each row several times.  Blocks."""
    strings, name = _rows(call, a), call.function.name
    if strings._format not in ("u", "U", "z", "Z"):
        strings = _as(call, strings, "u" if strings._format == "vu" else "z")
    times = _rows(call, count)
    wide = cast_argument(call, Datum(times, times._format), "l", True).array
    assert wide is not None
    times = wide
    n = strings.length if not a.one else times.length
    if not count.one and count.array is not None and not a.one and times.length != n:
        raise ArgumentError(f"{name}: arguments of {n} and {times.length} rows; arrays must have the same length")
    numbers = rows.from_(call, strings, 0, n)
    zero = rows.multiply(call, numbers, 0)
    if times.length != n or (count.one or count.array is None):
        times = take_array(call, times, zero, False)
    if a.one:
        strings = take_array(call, strings, zero, False)
    known = _known(call, [strings, times])
    bare = (
        rows.without_nulls(times) if times.offset == 0 else rows.without_nulls(take_array(call, times, numbers, False))
    )
    wrong = rows.less(call, bare, 0)
    if known is not None:
        wrong = both(call, Datum(wrong, "b"), Datum(known, "b"))
    if filter_array(call, bare, wrong, False).length:
        raise ArgumentError(f"{name}: the number of repetitions must not be negative")
    if known is not None:
        bare = rows.choose(call, known, bare, 0)
    if not n:
        return strings
    bare = _require_offsets(call, strings, bare)
    parents, _ = rows.expanded(call, bare)
    ends = rows.running_sum(call, bare)
    begins = concat([rows.from_(call, ends, 0, 1), ends], stream=call.owner)
    return _grouped(call, take_array(call, strings, parents, False), begins, known, n)


_MOST = (1 << 31) - 1


def _require_offsets(call: Call, strings: DeviceArray, times: DeviceArray) -> DeviceArray:
    """How often each row is repeated: what has no bytes not at all.  Blocks.

    Raises ArgumentError for more bytes than the offsets can count."""
    ends = rows.as_int64(call, offsets_of(strings, "i" if strings._format in "uz" else "l"))
    sizes = rows.subtract(call, ends[1:], ends[:-1])
    times = rows.choose(call, rows.less(call, 0, sizes), times, 0)
    total = rows.real_product_sum(call, sizes, times)
    if strings._format in "uz" and total > _MOST:
        raise ArgumentError(
            f"{call.function.name}: the result has {total:.0f} bytes, more than 32-bit offsets can count; cast the "
            "argument to large_string or large_binary"
        )
    return times


def _known(call: Call, arrays: Sequence[DeviceArray]) -> DeviceArray | None:
    """Bits of the rows that are null in none; None: no row is."""
    known: DeviceArray | None = None
    for x in arrays:
        if x.null_count:
            bits = is_valid(call, Datum(x, x._format))
            known = bits if known is None else both(call, Datum(known, "b"), Datum(bits, "b"))
    return known


def _common(call: Call, formats: Sequence[str]) -> str:
    for f in formats:
        if not is_binary(f):
            raise NoKernel(f"{call.function.name}: expected strings or bytes, not {words_of(f)}")
    one = formats[0] if len(set(formats)) == 1 else common(formats)
    one = {"vu": "u", "vz": "z"}.get(one or "z", one or "z")
    return "z" if one[0] == "w" else one


def binary_join(call: Call, lists: Datum, separator: Datum) -> DeviceArray:
    """``exec``: the strings of each list with a separator between them.  Blocks."""
    array = _rows(call, lists)
    if array._format not in ("+l", "+L", "+vl", "+vL") and not array._format.startswith("+w:"):
        raise NoKernel(f"binary_join: expected lists of strings, not {words_of(format_of(array))}")
    made = Lists(call, Datum(array, array._format))
    between = _rows(call, separator)
    values = made.values
    format = _common(call, [format_of(values), between._format])
    values, between, n = _as(call, values, format), _as(call, between, format), array.length
    if not separator.one and separator.array is not None and between.length != n:
        raise ArgumentError(
            f"binary_join: arguments of {n} and {between.length} rows; arrays must have the same length"
        )
    if not n:
        return values[:0]  # type: ignore[no-any-return]
    # of a list of k strings 2k - 1 rows: those of even numbers are strings
    doubled = rows.multiply(call, made.lengths, 2)
    size = rows.choose(call, rows.less(call, made.lengths, 1), 0, rows.subtract(call, doubled, 1))
    parents, places = rows.expanded(call, size)
    half = rows.divide(call, places, 2)
    even = rows.equal(call, rows.multiply(call, half, 2), places)
    of_value = rows.add(call, take_array(call, made.begins, parents, False), half)
    one = separator.one or separator.array is None
    of_separator = rows.add(call, rows.multiply(call, parents, 0 if one else 1), values.length)
    taken = take_array(
        call, concat([values, between], stream=call.owner), rows.choose(call, even, of_value, of_separator), False
    )
    ends = rows.running_sum(call, size)
    begins = concat([rows.from_(call, ends, 0, 1), ends], stream=call.owner)
    known = made.valid
    if not one or between.null_count:
        spread = (
            take_array(call, between, rows.multiply(call, rows.from_(call, ends, 0, n), 0), False) if one else between
        )
        bits = _known(call, [spread])
        known = bits if known is None else known if bits is None else both(call, Datum(known, "b"), Datum(bits, "b"))
    nulls = _without_nulls_in(call, values, made)
    if nulls is not None:
        known = nulls if known is None else both(call, Datum(known, "b"), Datum(nulls, "b"))
    return _grouped(call, taken, begins, known, n)


def _without_nulls_in(call: Call, values: DeviceArray, made: Lists) -> DeviceArray | None:
    """Bits of the lists without a null among their strings; None: none has one."""
    if not values.null_count:
        return None
    valid = rows.as_int64(call, is_valid(call, Datum(values, values._format)))
    parents, places = rows.expanded(call, made.lengths)
    found = take_array(call, valid, rows.add(call, take_array(call, made.begins, parents, False), places), False)
    sums = concat([rows.from_(call, found, 0, 1), rows.running_sum(call, found)], stream=call.owner)
    ends = rows.running_sum(call, made.lengths)
    begins = rows.subtract(call, ends, made.lengths)
    there = rows.subtract(call, take_array(call, sums, ends, False), take_array(call, sums, begins, False))
    return rows.equal(call, there, made.lengths)


def binary_join_element_wise(call: Call, *args: Datum) -> DeviceArray:
    """``exec``: the strings of each row with the last one between them.  Blocks."""
    options: Any = call.options
    arrays = [_rows(call, a) for a in args]
    format = _common(call, [x._format for x in arrays])
    lengths = {x.length for x, a in zip(arrays, args, strict=True) if not a.one}
    if len(lengths) > 1:
        raise ArgumentError(f"{call.function.name}: arguments of {' and '.join(map(str, sorted(lengths)))} rows")
    n = lengths.pop() if lengths else 1
    arrays = [_as(call, x, format) for x in arrays]
    one = args[-1].one and not arrays[-1].null_count
    single = [a.one for a in args[:-1]] + [args[-1].one and not one]
    if any(single):
        zero = rows.multiply(call, rows.from_(call, arrays[0], 0, n), 0)
        arrays = [take_array(call, x, zero, False) if alone else x for x, alone in zip(arrays, single, strict=True)]
    parts, between = arrays[:-1], arrays[-1]
    if not n:
        none: DeviceArray = arrays[0][:0]
        return none
    how = options.null_handling
    known = _known(call, arrays if how == "emit_null" else [between])
    if how == "replace":
        by = _as(call, beside_string(call, text_option(call, between, "null_replacement"), format), format)
        parts = [_filled(call, x, by, n) for x in parts]
    if not parts:
        return _grouped(call, between[:0], between, known, n)
    width = 2 * len(parts) - 1
    pool = concat([*parts, between], stream=call.owner)
    index = _native.compute_interleave(pool, n, len(parts), one, call.stream, call.owner)
    if how == "skip":  # a part and the separator before it are there where the part is, and for the latter one before
        index = _skipping(call, parts, index, n, width)
    begins = rows.multiply(call, rows.from_(call, index, 0, n + 1), width)
    return _grouped(call, take_array(call, pool, index, False), begins, known, n)


def _skipping(call: Call, parts: Sequence[DeviceArray], index: DeviceArray, n: int, width: int) -> DeviceArray:
    """Numbers of rows, null where nothing is joined: a null has no bytes."""
    valid = concat([is_valid(call, Datum(x, x._format)) for x in parts], stream=call.owner)
    k = len(parts)
    every = rows.from_(call, index, 0, n * width)
    parents = rows.divide(call, every, width)
    places = rows.subtract(call, every, rows.multiply(call, parents, width))
    half = rows.divide(call, places, 2)
    even = rows.equal(call, rows.multiply(call, half, 2), places)
    flags = rows.as_int64(call, valid)
    grid = rows.from_(call, index, 0, n * k)  # row by row: how many parts are there before each
    row = rows.divide(call, grid, k)
    col = rows.subtract(call, grid, rows.multiply(call, row, k))
    by_row = take_array(call, flags, rows.add(call, rows.multiply(call, col, n), row), False)
    ends = rows.running_sum(call, by_row)
    before = rows.subtract(call, ends, by_row)
    first = take_array(call, before, rows.multiply(call, row, k), False)
    earlier = rows.subtract(call, before, first)
    part = rows.choose(call, even, half, rows.add(call, half, 1))  # a separator belongs to the part behind it
    at = rows.add(call, rows.multiply(call, parents, k), part)
    there = rows.equal(call, take_array(call, by_row, at, False), 1)
    led = rows.less(call, 0, take_array(call, earlier, at, False))
    either = rows.choose(call, even, rows.add(call, rows.multiply(call, every, 0), 1), rows.as_int64(call, led))
    shown = both(call, Datum(there, "b"), Datum(rows.equal(call, either, 1), "b"))
    return with_bitmap(index, shown)


def beside_string(call: Call, data: bytes, format: str) -> DeviceArray:
    """One string where the call computes."""
    out = lone(call, Datum(value=data.decode() if format in "uU" else data, format=format)).array  # type: ignore[arg-type]
    assert out is not None
    return out


def _filled(call: Call, x: DeviceArray, by: DeviceArray, n: int) -> DeviceArray:
    if not x.null_count:
        return x
    index = rows.choose(call, is_valid(call, Datum(x, x._format)), rows.from_(call, x, 0, n), n)
    return take_array(call, concat([x, by], stream=call.owner), index, False)
