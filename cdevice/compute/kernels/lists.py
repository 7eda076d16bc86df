"""Lists of every layout: list_value_length, list_flatten, list_parent_indices, list_element, list_slice.

A row of a list is where it begins in the child and how long it is, two numbers on the device.
"""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ...errors import ArgumentError
from ...interop.concat import concat
from ...schema import Schema
from ..dispatch.datum import Datum
from ..dispatch.types import format_of, words_of
from ..errors import NoKernel
from . import row_numbers as rows
from .cast.numeric import cast_argument
from .elementwise import schema_of
from .fill import array_of
from .selection.take import both, filter_array, is_valid, take_array, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call

_INTEGERS = {"+l": "i", "+L": "l", "+m": "i", "+vl": "i", "+vL": "l"}  # that lengths have


def is_list(format: str) -> bool:
    """Is it a list, a map, or a list of a fixed size?"""
    return format in _INTEGERS or format.startswith("+w:")


class Lists:
    """The rows of an array of lists: ``begins`` and ``lengths`` (int64), of null rows 0; ``values``: the child."""

    __slots__ = ("array", "begins", "call", "lengths", "size", "valid", "values")

    def __init__(self, call: Call, values: Datum) -> None:
        array = array_of(call, values)
        format = array._format
        if not is_list(format):
            raise NoKernel(f"{call.function.name}: expected lists, not {words_of(format_of(array))}")
        self.call, self.array, self.values = call, array, array._raw_child(0)
        self.size = int(format[3:]) if format.startswith("+w:") else None
        self.valid: DeviceArray | None = None
        n = array.length
        if self.size is not None:
            first = rows.from_(call, array, array.offset, n)
            self.begins = rows.multiply(call, first, self.size)
            self.lengths = rows.add(call, rows.multiply(call, first, 0), self.size)
        elif format.startswith("+v"):
            self.begins = rows.as_int64(call, self._numbers(1, n))
            self.lengths = rows.as_int64(call, self._numbers(2, n))
        else:
            offsets = rows.as_int64(call, self._numbers(1, n + 1))
            self.begins = offsets[:n]
            self.lengths = rows.subtract(call, offsets[1:], self.begins)
        if array.null_count:
            self.valid = is_valid(call, Datum(array, format))
            self.lengths = rows.choose(call, self.valid, self.lengths, 0)

    def _numbers(self, buffer: int, n: int) -> DeviceArray:
        array = self.array
        format = _INTEGERS[array._format]
        if not array.length:
            return rows.from_(self.call, array, 0, 0) if n == 0 else rows.from_(self.call, array, 0, 1)
        return assemble(schema_of(format), n, [None, (array, buffer)], offset=array.offset, null_count=0, made=(array,))

    def of_size(self, size: int) -> DeviceArray:
        """The rows as lists of a fixed size; values that they do not have are null."""
        return _slice_fixed(self, 0, size, 1)

    def with_nulls(self, values: DeviceArray) -> DeviceArray:
        """Numbers of the rows, null where those are."""
        return values if self.valid is None else with_bitmap(values, self.valid)


def offsets_of(call: Call, array: DeviceArray, n: int) -> DeviceArray:
    """The offsets of lists of several lengths, an array of its own."""
    format = _INTEGERS[array._format]
    if not array.length:
        made = cast_argument(call, Datum(rows.from_(call, array, 0, n), "l"), format, True).array
        assert made is not None
        return made
    return assemble(schema_of(format), n, [None, (array, 1)], offset=array.offset, null_count=0, made=(array,))


def sized(
    call: Call, array: DeviceArray, schema: Schema, values: DeviceArray, offsets: DeviceArray | None = None
) -> DeviceArray:
    """Lists with the nulls of others: of a fixed size, or with offsets, an array of its own."""
    known = is_valid(call, Datum(array, array._format)) if array.null_count else None
    bitmap = None if known is None else (known, 1)
    buffers = [bitmap] if offsets is None else [bitmap, (offsets, 1)]
    made = [x for x in (values, offsets, known) if x is not None]
    near = next((x for x in made if x.device_type_id == 1), values)  # the CPU computes of memory that it reads
    if values.device_type_id != near.device_type_id:
        values = values.to("cpu")
    count = 0 if known is None else -1
    return assemble(schema, array.length, buffers, [values], null_count=count, near=near)


def list_value_length(call: Call, values: Datum) -> DeviceArray:
    """``exec``: how many values each row has."""
    lists = Lists(call, values)
    lengths: DeviceArray = lists.lengths
    made = cast_argument(call, Datum(lengths, "l"), _INTEGERS.get(lists.array._format, "i"), False).array
    assert made is not None
    return lists.with_nulls(made)


def list_flatten(call: Call, values: Datum) -> DeviceArray:
    """``exec``: the values of all rows, one behind the other.  Blocks."""
    options: Any = call.options
    out = _flat(call, values)
    while options.recursive and is_list(out._format):
        out = _flat(call, Datum(out, format_of(out)))
    return out


def _flat(call: Call, values: Datum) -> DeviceArray:
    lists = Lists(call, values)
    array = lists.array
    if not array.length:
        return lists.values[:0]  # type: ignore[no-any-return]
    if lists.valid is None and not array._format.startswith("+v"):  # they lie so
        first = rows.number_at(lists.begins, 0) if lists.size is None else array.offset * lists.size
        if lists.size is None:
            last = rows.number_at(lists.begins, array.length - 1) + rows.number_at(lists.lengths, array.length - 1)
        else:
            last = first + array.length * lists.size
        return lists.values[first:last]  # type: ignore[no-any-return]
    parents, places = rows.expanded(call, lists.lengths)
    found = rows.add(call, take_array(call, lists.begins, parents, False), places)
    return take_array(call, lists.values, found, False)


def list_parent_indices(call: Call, values: Datum) -> DeviceArray:
    """``exec``: of each value of list_flatten the row that it is of.  Blocks."""
    return rows.expanded(call, Lists(call, values).lengths)[0]


def _index_of(call: Call, index: Datum) -> int:
    name = call.function.name
    if index.array is not None and not index.one:
        raise NoKernel(f"{name}: no kernel for an index for each row: expected one index")
    if index.format is None or index.format not in "csilCSIL":
        raise NoKernel(f"{name}: the index must be an integer, not {words_of(index.format or 'n')}")
    value = index.value if index.array is None else index.array.to("cpu").to_pylist()[0]
    if value is None:
        raise ArgumentError(f"{name}: the index must not be null")
    if value < 0:
        raise ArgumentError(f"{name}: index {value} is out of bounds: it must be 0 or more")
    return int(value)


def list_element(call: Call, values: Datum, index: Datum) -> DeviceArray:
    """``exec``: the value at one index of each row.  Blocks."""
    lists, at = Lists(call, values), _index_of(call, index)
    short = rows.less_equal(call, lists.lengths, at)
    if lists.valid is not None:
        short = both(call, Datum(short, "b"), Datum(lists.valid, "b"))
    bad = filter_array(call, lists.lengths, short, False)
    if bad.length:
        n = rows.number_at(bad, 0)
        raise ArgumentError(f"list_element: index {at} is out of bounds: a row has {n} values, from 0 on")
    return take_array(call, lists.values, lists.with_nulls(rows.add(call, lists.begins, at)), False)


def list_slice(call: Call, values: Datum) -> DeviceArray:
    """``exec``: of each row its values from ``start`` to ``stop``.  Blocks."""
    options: Any = call.options
    lists = Lists(call, values)
    start, stop, step = options.start, options.stop, options.step
    fixed = options.return_fixed_size_list
    if fixed is None:
        fixed = lists.size is not None
    if stop is None and fixed:
        if lists.size is None:
            raise ArgumentError("list_slice: return_fixed_size_list= needs stop=, for lists of several lengths")
        stop = lists.size
        if start > stop:
            raise ArgumentError(f"list_slice: start ({start}) must not be greater than the size of the lists ({stop})")
    if fixed:
        return _slice_fixed(lists, start, -(-(stop - start) // step), step)
    return _slice(lists, start, stop, step)


def _item(lists: Lists) -> Schema:
    return lists.values._schema.with_name(lists.array._schema.children[0].name)


def _slice_fixed(lists: Lists, start: int, size: int, step: int) -> DeviceArray:
    """Rows of ``size`` values; those that the lists do not have are null."""
    call, n = lists.call, lists.array.length
    numbers = rows.from_(call, lists.lengths, 0, n * size)
    found = lists.values[:0]
    if n * size:
        width = rows.add(call, rows.multiply(call, rows.from_(call, lists.lengths, 0, n), 0), size)
        parents, places = rows.expanded(call, width)
        offsets = rows.add(call, rows.multiply(call, places, step), start)
        there = rows.less(call, offsets, take_array(call, lists.lengths, parents, False))
        found = rows.add(call, take_array(call, lists.begins, parents, False), offsets)
        found = take_array(call, lists.values, with_bitmap(found, there), False)
    schema = Schema.make(f"+w:{size}", children=[_item(lists)])
    bitmap = None if lists.valid is None else (lists.valid, 1)
    return assemble(schema, n, [bitmap], [found], null_count=-1 if bitmap else 0, near=numbers)


def _slice(lists: Lists, start: int, stop: int | None, step: int) -> DeviceArray:
    call, n = lists.call, lists.array.length
    ends = lists.lengths
    if stop is not None:
        ends = rows.choose(call, rows.less(call, ends, stop), ends, stop)
    width = rows.subtract(call, ends, start)
    width = rows.choose(call, rows.less(call, width, 0), 0, width)
    if step > 1:
        width = rows.divide(call, rows.add(call, width, step - 1), step)
    format = lists.array._format if lists.size is None else "+l"
    found = lists.values[:0]
    if n:
        parents, places = rows.expanded(call, width)
        at = rows.add(call, take_array(call, lists.begins, parents, False), start)
        found = take_array(call, lists.values, rows.add(call, at, rows.multiply(call, places, step)), False)
    return _as_lists(lists, format, width, found)


def _as_lists(lists: Lists, format: str, width: DeviceArray, found: DeviceArray) -> DeviceArray:
    """Lists of these lengths, whose values lie one behind the other."""
    call, n, letter = lists.call, lists.array.length, _INTEGERS[format]

    def narrow(x: DeviceArray) -> DeviceArray:
        made = cast_argument(call, Datum(x, "l"), letter, True).array
        assert made is not None
        return made

    ends = rows.running_sum(call, width)
    begins = narrow(rows.subtract(call, ends, width))
    bitmap = None if lists.valid is None else (lists.valid, 1)
    schema = Schema.make(format, children=[_item(lists)])
    if format.startswith("+v"):
        buffers = [bitmap, (begins, 1), (narrow(width), 1)]
    else:
        total = narrow(ends[n - 1 :]) if n else narrow(rows.from_(call, lists.lengths, 0, 1))
        offsets = concat([begins, total], stream=call.owner) if n else total
        buffers = [bitmap, (offsets, 1)]
    return assemble(schema, n, buffers, [found], null_count=-1 if bitmap else 0, near=width)
