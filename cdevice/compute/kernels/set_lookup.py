"""Rows found by their values: is_in, index_in and index; and dictionaries as their values."""

from __future__ import annotations

from ...errors import ArgumentError
from ...interop.asarray import asarray
from ...interop.concat import concat
from ..dispatch.call import of_one_type
from ..dispatch.datum import Datum, argument, joined, lone
from ..dispatch.implicit_casts import adapted
from ..dispatch.types import DICTIONARY
from ..errors import NoKernel
from . import row_numbers as rows
from .cast.dictionary import dictionary_decode, known_rows
from .cast.numeric import cast_argument
from .columns import on_device_of
from .fill import array_of, true_rows
from .group_ids import ONE_NAN, group_ids, row_ids
from .moments import chunks_of
from .nulls import as_type
from .selection.take import both, filter_array, row_numbers, take_array, with_bitmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call


def _require_fields(call: Call) -> None:
    """Raises NoKernel for an object of pyarrow's."""
    if "given" in vars(call.options):
        name = next(iter(call.options.defaults))
        raise NoKernel(f"{call.function.name}: options of pyarrow do not show their {name}: pass {name}= by name")


def _of_set(call: Call) -> Datum:
    """The value set, where the call computes."""
    options: Any = call.options
    _require_fields(call)
    found = joined(argument(options.value_set))
    array = asarray([found.value]) if found.array is None else found.array
    return argument(on_device_of(call, array))


def _first_rows(call: Call, values: Datum) -> tuple[DeviceArray, int, DeviceArray]:
    """For each row the first row of the value set and then the values that is equal to it, the length of the set, and
    the values as they were compared."""
    array = array_of(call, values)
    value_set = _of_set(call)
    assert value_set.array is not None
    n = value_set.array.length
    try:
        one = of_one_type(call, Datum(chunks=[value_set.array, array], format=values.format))
    except ArgumentError as e:
        raise ArgumentError(str(e).replace("chunks of", "value_set and values of")) from None
    if one.format == "n":
        one = as_type(call, one, "l")
    parts = [on_device_of(call, x) for x in one.chunks or ()]
    if not array.length:
        return rows.from_(call, array, 0, 0), n, parts[1]
    ids, first = group_ids(call, [concat(parts, stream=call.owner)], ONE_NAN)
    return take_array(call, first, row_ids(call, ids[n:]), False), n, parts[1]


def _found(call: Call, values: Datum) -> tuple[DeviceArray, DeviceArray]:
    """The first equal row of the value set, and whether there is one."""
    options: Any = call.options
    first, n, compared = _first_rows(call, values)
    found = rows.less(call, first, n)
    if options.skip_nulls and compared.length:
        found = rows.without_nulls(both(call, Datum(found, "b"), Datum(known_rows(call, compared), "b")))
    return first, found


def is_in(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of is_in.  Blocks."""
    return _found(call, values)[1]


def index_in(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of index_in.  Blocks."""
    first, found = _found(call, values)
    out = cast_argument(call, Datum(with_bitmap(first, found), "l"), "i", False).array
    assert out is not None
    return out


def index(equal: Callable[..., Any]) -> Callable[[Call, Datum], DeviceArray]:
    """``exec`` of index, by the function that compares.  Blocks."""

    def run(call: Call, values: Datum) -> DeviceArray:
        options: Any = call.options
        _require_fields(call)
        wanted, n, before = argument(options.value), -1, 0
        if wanted.array is not None and not wanted.one:
            raise ArgumentError("index: value must be one value, not an array")
        if not (wanted.array is None and wanted.value is None):
            for chunk in chunks_of(values):
                n = _index(call, equal, chunk, wanted)
                if n >= 0:
                    n += before
                    break
                before += chunk.length
        made = lone(call, Datum(value=n, format="l")).array
        assert made is not None
        return made

    return run


def _index(call: Call, equal: Callable[..., Any], chunk: DeviceArray, wanted: Datum) -> int:
    """The first row that is equal to a value, or -1."""
    value = wanted
    if wanted.array is not None:
        value = Datum(on_device_of(call, wanted.array), wanted.format, one=True)
    true = true_rows(call, Datum(equal(call, *adapted([argument(chunk), value])), "b"))
    found = filter_array(call, row_numbers(call, true), true, False)
    return rows.number_at(found, 0) if found.length else -1


def decoded(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of dictionary_decode: other arrays stay as they are."""
    array = array_of(call, values)
    if values.format != DICTIONARY:
        return array
    out = dictionary_decode(call, values).array
    assert out is not None
    return out
