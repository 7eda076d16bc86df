"""Fixed-size lists of numbers as tensors of several dimensions, and back."""

from __future__ import annotations

from ..objects.buffers import from_buffers
from ..schema import Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._types import DeviceArray


def values_of(array: DeviceArray) -> tuple[DeviceArray, tuple[int, ...], bool]:
    """(the array of values below fixed-size lists inside one another, shape, may there be nulls?)

    A number array is its own; the values are those of the array's rows, one after the other.
    """
    shape, nulls = [array.length], array.null_count != 0
    while array._format.startswith("+w:"):
        shape.append(int(array._format[3:]))
        array = array._child(0)
        nulls = nulls or array.null_count != 0
    return array, tuple(shape), nulls


def nested(values: DeviceArray, shape: tuple[int, ...]) -> DeviceArray:
    """The array of this shape over an array of its values: each dimension behind the first is a list."""
    for axis in range(len(shape) - 1, 0, -1):
        values = from_buffers(
            Schema.make(f"+w:{shape[axis]}", children=[values.schema.with_name("item")]),
            count(shape[:axis]),
            [None],
            null_count=0,
            children=[values],
            device=None if values.device_type_id == 1 else (values.device_type_id, values.device_id),
            owner=values if values.sync_event else None,
            sync_event=values.sync_event or None,  # of values; without it they would be waited for here
        )
    return values


def count(shape: Iterable[int]) -> int:
    n = 1
    for size in shape:
        n *= size
    return n
