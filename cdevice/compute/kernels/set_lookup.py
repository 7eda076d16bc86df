"""Rows found by their values: is_in, index_in and index; and dictionaries as their values."""

from __future__ import annotations

import contextlib

from ..._runtime.ext import _native
from ...errors import ArgumentError
from ...interop.asarray import asarray
from ...interop.concat import concat
from ..dispatch.call import of_one_type
from ..dispatch.datum import Datum, argument, chunks_of, joined, lone
from ..dispatch.implicit_casts import adapted
from ..dispatch.types import DICTIONARY, FLOATS, SIGNED
from ..errors import NoKernel
from ..scalar import Scalar
from . import row_numbers as rows
from .cast.dictionary import dictionary_decode, known_rows
from .cast.numeric import cast_argument
from .columns import on_device_of
from .elementwise import schema_of
from .fill import array_of, true_rows
from .group_ids import ONE_NAN, group_ids
from .nulls import as_type
from .selection.take import both, chosen_rows, take_array, with_bitmap, with_schema

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


def _as_one_type(call: Call, values: Datum) -> tuple[DeviceArray, DeviceArray]:
    """The value set and the values, where the call computes."""
    array = array_of(call, values)
    value_set = _of_set(call)
    found = value_set.array
    assert found is not None
    zones = [f[4:] if f.startswith("ts") else "" for f in (found._format, array._format)]
    if all(zones) and zones[0] != zones[1]:  # moments are the same in every zone
        found = with_schema(found, schema_of(found._format[:4] + zones[1]))
    if found._format in FLOATS and array._format.startswith("d:"):  # decimals as floats are not always the nearest
        made = cast_argument(call, Datum(on_device_of(call, found), found._format), array._format, True).array
        assert made is not None
        found = made
    if array._format == "L" and found._format in SIGNED:  # int64, which both would become, has not all rows
        with contextlib.suppress(ArgumentError):
            made = cast_argument(call, Datum(on_device_of(call, found), found._format), "L", True).array
            found = found if made is None else made  # one without rows is false
    try:
        one = of_one_type(call, Datum(chunks=[found, array], format=values.format))
    except ArgumentError as e:
        raise ArgumentError(str(e).replace("chunks of", "value_set and values of")) from None
    if one.format == "n":
        one = as_type(call, one, "l")
    found, compared = [on_device_of(call, x) for x in one.chunks or ()]
    return found, compared


def _looked_up(call: Call, value_set: DeviceArray, values: DeviceArray, format: str) -> DeviceArray | None:
    """By a table of the set: whether there is an equal row ("b"), or the first one ("i").  None: rows are not one word
    each, or none of the set is valid."""
    options: Any = call.options
    row_of, null_row = None, -1
    if value_set.null_count:
        known = known_rows(call, value_set)
        row_of = chosen_rows(call, known)
        value_set = take_array(call, value_set, row_of, False)
        if not options.skip_nulls:
            first = chosen_rows(call, rows.equal(call, rows.as_int64(call, known), 0))[:1]
            if first.length:  # a null count of -1: there may be none
                null_row = row_of.length
                row_of = concat([row_of, first], stream=call.owner)
        value_set = rows.without_nulls(value_set)
    if not value_set.length:
        return None
    step = call.function.name, schema_of(format), null_row, ONE_NAN
    made = _native.compute_set_lookup(step, value_set, values, False, call.stream, call.owner)
    if made is NotImplemented or row_of is None or format == "b":
        return None if made is NotImplemented else made
    found = take_array(call, row_of, rows.as_int64(call, made), False)
    return cast_argument(call, Datum(found, "l"), "i", False).array


def _found(call: Call, value_set: DeviceArray, values: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    """The first equal row of the value set, and whether there is one: by the groups of both."""
    options: Any = call.options
    n = value_set.length
    if not values.length:
        first = rows.from_(call, values, 0, 0)
    else:
        ids, firsts = group_ids(call, [concat([value_set, values], stream=call.owner)], ONE_NAN)
        first = take_array(call, firsts, ids[n:], False)
    found = rows.less(call, first, n)
    if options.skip_nulls and values.length:
        found = rows.without_nulls(both(call, Datum(found, "b"), Datum(known_rows(call, values), "b")))
    return first, found


def _of_one(call: Call, values: Datum, run: Callable[[Call, Datum], Any]) -> Scalar:
    """The same of one value."""
    one = lone(call, values).array if values.array is None else values.array
    assert one is not None
    return Scalar(run(call, Datum(one, values.format or "n")))


def is_in(call: Call, values: Datum) -> DeviceArray | Scalar:
    """``exec`` of is_in.  Blocks."""
    if values.array is None or values.one:
        return _of_one(call, values, is_in)
    value_set, compared = _as_one_type(call, values)
    made = _looked_up(call, value_set, compared, "b")
    return _found(call, value_set, compared)[1] if made is None else made


def index_in(call: Call, values: Datum) -> DeviceArray | Scalar:
    """``exec`` of index_in.  Blocks."""
    if values.array is None or values.one:
        return _of_one(call, values, index_in)
    value_set, compared = _as_one_type(call, values)
    made = _looked_up(call, value_set, compared, "i")
    if made is not None:
        return made
    first, found = _found(call, value_set, compared)
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
    found = chosen_rows(call, true)
    return rows.number_at(found, 0) if found.length else -1


def decoded(call: Call, values: Datum) -> DeviceArray:
    """``exec`` of dictionary_decode: other arrays stay as they are."""
    array = array_of(call, values)
    if values.format != DICTIONARY:
        return array
    out = dictionary_decode(call, values).array
    assert out is not None
    return out
