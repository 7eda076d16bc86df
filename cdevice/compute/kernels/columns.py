"""Columns of a batch by their names, and data that a call reads where it computes."""

from __future__ import annotations

import contextlib
import difflib

from ..._arrays.assemble import assemble
from ..._devices.backends import ensure_backend
from ..._runtime.ext import lib
from ...errors import ArgumentError, BackendUnavailable
from ...schema import Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call


def column_of(batch: DeviceArray, name: str, what: str) -> DeviceArray:
    """A column of a batch.  Raises ArgumentError with a near name."""
    try:
        return batch._child(batch._schema._index(name))
    except KeyError:
        names = batch._schema.names
    if name in names:
        raise ArgumentError(f"{what}: there are {names.count(name)} columns {name!r}")
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names) or 'none'}"
    raise ArgumentError(f"{what}: no column {name!r}; {hint}")


def batch_of(
    names: Sequence[str], columns: Sequence[DeviceArray], length: int, near: DeviceArray, metadata: Any = None
) -> DeviceArray:
    """A batch of columns that kernels made, without a copy."""
    if near.device_type_id != 1 and len({(x.device_type_id, x.device_id) for x in columns}) > 1:
        columns = [where_computed(x) for x in columns]
    near = columns[0] if columns else near
    fields = [x._schema.with_name(n) for n, x in zip(names, columns, strict=True)]
    schema = Schema.make("+s", children=fields, nullable=False, metadata=metadata)
    return assemble(schema, length, [None], columns, null_count=0, near=near)


def names_of(what: str, keys: str | Sequence[str]) -> list[str]:
    """One name or several, as a list.  Raises TypeError."""
    names: list[Any] = [*keys] if isinstance(keys, (list, tuple)) else [keys]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what} must be the name of a column, or a list of names, not {keys!r:.60}")
    return names


def is_computed_by_cpu(device_type: int) -> bool:
    """Are functions of a device's memory computed by the CPU: it reads the memory, and the device has no kernels?"""
    if device_type == 1 or not lib.cdv_is_host_accessible(device_type):
        return device_type == 1
    with contextlib.suppress(BackendUnavailable):
        ensure_backend(device_type)
    return not lib.cdv_has_kernels(device_type)


def where_computed(array: DeviceArray) -> DeviceArray:
    """An array where functions of it are computed: pinned memory becomes the CPU's, without a copy, after its event."""
    here = array.device_type_id == 1 or not is_computed_by_cpu(array.device_type_id)
    return array if here else array.to((1, -1))


def require_one_device(what: str, arrays: Sequence[DeviceArray]) -> None:
    """Raises ArgumentError for arrays of two devices; all memory that the CPU computes on is of one."""
    first, there = arrays[0], is_computed_by_cpu(arrays[0].device_type_id)
    for other in arrays[1:]:
        here = is_computed_by_cpu(other.device_type_id)
        if (there, None if there else first.device) != (here, None if here else other.device):
            raise ArgumentError(f"{what}: arguments on {first.device} and {other.device}; move one with .to()")


def on_device_of(call: Call, array: DeviceArray) -> DeviceArray:
    """An array on the device that computes the call.  Memory that the CPU reads, of a device without kernels, becomes
    the CPU's without a copy."""
    here = (1, -1) if is_computed_by_cpu(call.device_type) else (call.device_type, call.device_id)
    if (array.device_type_id, array.device_id) == here:
        return array
    return array.to(here, stream=call.owner if here[0] != 1 else None)
