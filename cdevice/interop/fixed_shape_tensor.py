"""Fixed-size lists of numbers as tensors of several dimensions, and back."""

from __future__ import annotations

from .._arrays.from_buffers import from_buffers
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
        shape += _dimensions(array)
        array = array._child(0)
        nulls = nulls or array.null_count != 0
    return array, tuple(shape), nulls


def _dimensions(array: DeviceArray) -> list[int]:
    """Of one row of fixed-size lists: their size, or the shape of arrow.fixed_shape_tensor."""
    size, metadata = int(array._format[3:]), array._schema.metadata
    if metadata and metadata.get(b"ARROW:extension:name") == b"arrow.fixed_shape_tensor":
        import json

        try:
            told = [int(n) for n in json.loads(metadata[b"ARROW:extension:metadata"])["shape"]]
        except (KeyError, TypeError, ValueError):
            return [size]
        if count(told) == size and all(n >= 0 for n in told):
            return told
    return [size]


def shape_of(array: DeviceArray) -> tuple[int, ...]:
    """Rows, then the dimensions of fixed-size lists inside one another; of a batch rows and columns."""
    if array._format == "+s":
        return array.length, array._n_children
    shape = [array.length]
    while array._format.startswith("+w:"):
        shape += _dimensions(array)
        array = array._raw_child(0)
    return tuple(shape)


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
