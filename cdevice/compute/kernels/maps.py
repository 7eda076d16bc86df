"""The values of maps by their key: map_lookup."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ...errors import ArgumentError
from ...interop.asarray import asarray
from ...interop.concat import concat
from ...schema import Schema
from ..dispatch.call import without_loss
from ..dispatch.datum import Datum, argument, lone
from ..dispatch.types import NUMBERS, format_of, is_binary, words_of
from ..errors import NoKernel
from . import row_numbers as rows
from .cast.numeric import cast_argument
from .columns import on_device_of
from .lists import Lists
from .selection.take import chosen_rows, take_array, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call


def _key(call: Call, keys: DeviceArray) -> Datum:
    """The key that is looked for, as one of the map's."""
    options: Any = call.options
    key = argument(options.query_key)
    if key.array is not None and not key.one:
        raise ArgumentError("map_lookup: query_key must be one value, not an array")
    if (key.value if key.array is None else key.array.to("cpu").to_pylist()[0]) is None:
        raise ArgumentError("map_lookup: query_key must not be null")
    key = lone(call, key) if key.array is None else Datum(on_device_of(call, key.array), key.format, one=True)
    if not _alike(key.format or "n", format_of(keys)):
        there = words_of(format_of(keys))
        raise ArgumentError(
            f"map_lookup: query_key must be {there}, as the keys are, not {words_of(key.format or 'n')}"
        )
    return without_loss(call, key, format_of(keys), keys)


def _alike(a: str, b: str) -> bool:
    return a == b or (a in NUMBERS and b in NUMBERS) or (is_binary(a) and is_binary(b))


class MapLookup:
    """``exec`` of map_lookup; ``equal``: the function of that name."""

    __slots__ = ("equal",)

    def __init__(self, equal: Callable[[Call, Datum, Datum], DeviceArray]) -> None:
        self.equal = equal

    def __call__(self, call: Call, container: Datum) -> DeviceArray:
        options: Any = call.options
        if container.format != "+m" or container.array is None:
            raise NoKernel(f"map_lookup: expected maps, not {words_of(container.format or 'n')}")
        lists = Lists(call, Datum(container.array, "+m"))
        entries, n = lists.values, lists.array.length
        keys, items = entries._child(0), entries._child(1)
        found, before, counts = self._places(call, lists, keys)
        known = rows.less(call, 0, counts)
        if options.occurrence == "all":
            return _all(call, items, found, before, counts, known, n)
        if options.occurrence == "last":
            before = rows.subtract(call, rows.add(call, before, counts), 1)
        return take_array(call, items, take_array(call, found, with_bitmap(before, known), False), False)

    def _places(self, call: Call, lists: Lists, keys: DeviceArray) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """The entries with the key, and of each row how many of them are before it and in it.  Blocks."""
        key = _key(call, keys)
        begins, lengths = lists.begins, lists.lengths
        if not keys.length:
            return rows.from_(call, begins, 0, 0), lengths, lengths
        here = self.equal(call, Datum(keys, format_of(keys)), key)
        found = chosen_rows(call, here)
        bits = rows.as_int64(call, here)
        upto = rows.running_sum(call, rows.without_nulls(bits))
        some = rows.less(call, 0, lengths)
        first = rows.choose(call, some, begins, 0)
        last = rows.choose(call, some, rows.subtract(call, rows.add(call, begins, lengths), 1), 0)
        before = rows.subtract(call, upto, bits)
        before = take_array(call, before, first, False)
        counts = rows.subtract(call, take_array(call, upto, last, False), before)
        return found, before, rows.choose(call, some, counts, 0)


def _all(
    call: Call,
    items: DeviceArray,
    found: DeviceArray,
    before: DeviceArray,
    counts: DeviceArray,
    known: DeviceArray,
    n: int,
) -> DeviceArray:
    """A list of the values of each row, null where there is none."""
    schema = Schema.make("+l", children=[items._schema.with_name("item")])
    if not n:
        empty = asarray([], schema=schema)
        return empty if call.device_type == 1 else empty.to((call.device_type, call.device_id))
    parents, places = rows.expanded(call, counts)
    numbers = rows.add(call, take_array(call, before, parents, False), places)
    values = take_array(call, items, take_array(call, found, numbers, False), False)
    ends = rows.running_sum(call, counts)
    begins = concat([rows.subtract(call, ends, counts), ends[n - 1 :]], stream=call.owner)
    offsets = cast_argument(call, Datum(begins, "l"), "i", True).array
    assert offsets is not None
    return assemble(schema, n, [(known, 1), (offsets, 1)], [values], near=offsets)
