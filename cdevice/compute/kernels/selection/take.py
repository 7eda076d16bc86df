"""Rows selected by number, of any layout."""

from __future__ import annotations

import errno

from ...._arrays.assemble import assemble, parts_of, under
from ...._arrays.record_batch import nullable_schema
from ...._runtime.ext import _native
from ....errors import ArgumentError
from ....schema import Schema
from ...errors import NoKernel
from ..elementwise import CHOSEN, NEVER, PACK, WORD, Map, schema_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...._types import DeviceArray
    from ...dispatch.call import Call

is_valid = Map("boolean", "bits", "is_valid", "", "b", unit=WORD, rule=NEVER)
both = Map("boolean", "bits", "and", "bb", "b", unit=WORD)


def rows_of_null(where: tuple[int, int], length: int) -> DeviceArray:
    """Rows of type null on a device."""
    return _native.build(
        schema_of("n"), device_type=where[0], device_id=where[1], length=length, null_count=length
    )  # of no memory


def filter_array(call: Call, array: DeviceArray, mask: DeviceArray, emit_null: bool) -> DeviceArray:
    """The rows that a mask chooses, of any layout: one call, that waits once."""
    try:
        return _native.compute_filter(array, mask, emit_null, call.stream, call.owner)
    except ArgumentError as e:
        raise _refusal(call, e) from None


def chosen_rows(call: Call, mask: DeviceArray) -> DeviceArray:
    """The numbers (int64) of the rows that a mask chooses; memory for these alone.  Waits once."""
    return _native.compute_chosen_rows(mask, call.stream, call.owner)


def take_array(call: Call, array: DeviceArray, indices: DeviceArray, checked: bool) -> DeviceArray:
    """Rows by number, of any layout."""
    try:
        return _native.compute_take(array, indices, checked, call.stream, call.owner)
    except ArgumentError as e:
        raise _refusal(call, e) from None


def nullable(array: DeviceArray) -> DeviceArray:
    """The same rows, whose field may be null: rows were put in that its own had not."""
    plain = not array._format.startswith(("+u", "+r"))
    return array if plain and array._schema.nullable else under(array, nullable_schema(array.schema))


def nullable_columns(batch: DeviceArray) -> DeviceArray:
    """A batch with null rows: its columns are null there, and not the batch itself."""
    schema, columns = batch.schema, [nullable(x) for x in batch.children]
    fields = [x.schema for x in columns]
    schema = Schema.make("+s", schema.name, children=fields, flags=schema.flags, metadata=schema._metadata)
    return assemble(schema, batch.length, [None], columns, null_count=0, near=batch, made=(batch,))


def _refusal(call: Call, e: ArgumentError) -> Exception:
    """More rows than the type of the result can count are no kernel's."""
    return NoKernel(f"{call.function.name}: {e}") if e.code == errno.EFBIG else e


def part_of(array: DeviceArray, index: int, format: str) -> DeviceArray:
    """A buffer of an array as an array of its own; unions have no nulls."""
    nulls = array._format[:2] != "+u"
    return assemble(
        schema_of(format),
        array.length,
        [(array, 0) if nulls else None, (array, index)],
        offset=array.offset,
        null_count=array.null_count if nulls else 0,
        made=(array,),
    )


def with_bitmap(values: DeviceArray, known: DeviceArray) -> DeviceArray:
    """Values without a bitmap, with these bits as theirs; both are whole arrays, no slices."""
    assert not values.offset and not known.offset
    return assemble(values._schema, values.length, [(known, 1), (values, 1)], made=(values, known))


numbered = Map("select", "u64", "if_else", "bll", "l", unit=PACK, rule=CHOSEN, function_name="take")


def run_end_decode(call: Call, array: DeviceArray) -> DeviceArray:
    """A run-end encoded array with a value for each row."""
    ends, values = array._raw_child(0), array._raw_child(1)
    runs = _native.compute_runs(array, ends, row_numbers(call, array), False, call.stream, call.owner)
    return take_array(call, values, runs, False)


def row_numbers(call: Call, array: DeviceArray) -> DeviceArray:
    """The numbers of its rows."""
    return _native.compute_rows(array, 0, array.length, call.stream, call.owner)


def indices_of(array: DeviceArray) -> DeviceArray:
    """The numbers of a dictionary array."""
    return with_schema(array, Schema.make(array._format))


def with_schema(array: DeviceArray, schema: Schema) -> DeviceArray:
    """The same buffers as another type without children."""
    return assemble(
        schema,
        array.length,
        parts_of(array),
        offset=array.offset,
        null_count=array.null_count,
        near=array,
        made=(array,),
    )


def values_of(array: DeviceArray, near: DeviceArray) -> DeviceArray:
    """The dictionary of a dictionary array, where another array is: the CPU computes on memory that it reads."""
    values = array._child(-1)
    return values.to("cpu") if values.device_type_id != near.device_type_id else values


def is_batch(array: DeviceArray) -> bool:
    """Batches are structs that are never null themselves, and struct arrays are not."""
    return array._format == "+s" and not array._schema.nullable


def hint_of(array: DeviceArray | None) -> str:
    """For an error about an array that is no batch."""
    nulls = array is not None and array._format == "+s"
    return "; a struct array with nulls becomes one by its method to_batch()" if nulls else ""
