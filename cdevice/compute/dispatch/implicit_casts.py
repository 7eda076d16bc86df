"""A value of the host as the type of the rows that it is compared with, so that the rows need not be cast."""

from __future__ import annotations

import struct

from ..._arrays.buffer_access import view
from ...interop.asarray import asarray
from ..errors import ValueOutOfRange
from ..kernels.cast.temporal import PER_SECOND
from ..kernels.elementwise import schema_of
from ..kernels.selection.take import with_schema
from .datum import Datum
from .types import FLOATS, NUMBERS, bits_of, kind_of_time, storage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import DeviceArray

_CODES = {"i": "<i", "l": "<q"}  # as struct has them


def adapted(arguments: list[Datum]) -> list[Datum]:
    """The arguments of a comparison.  A value that is none of the rows' type stays as it is: both are cast then."""
    if len(arguments) != 2:
        return arguments
    out = list(arguments)
    for i, (one, rows) in enumerate((arguments, arguments[::-1])):
        to = rows.format
        if (
            rows.one
            or (rows.array is None and rows.chunks is None)
            or rows.mixed
            or to is None
            or one.format in (None, "n", to)
        ):
            continue
        if one.array is None and one.chunks is None:
            if to in NUMBERS and _is_exact(one.value, to):
                out[i] = Datum(value=one.value, format=to)
        elif one.one and one.array is not None and one.array.device_type_id == 1:
            made = _in_unit(one.array, one.format or "", to)
            if made is not None:
                out[i] = Datum(made, to, one=True)
    return out


def _is_exact(value: bool | int | float | None, format: str) -> bool:
    """Is a number of the host a number of the type?"""
    if isinstance(value, bool) or value is None or (isinstance(value, float) and format not in FLOATS):
        return False
    try:
        bits = bits_of(value, format)
    except ValueOutOfRange:
        return False
    if format != "f" or value != value:
        return True
    return bool(struct.unpack("<f", bits.to_bytes(4, "little"))[0] == value)


def _in_unit(one: DeviceArray, source: str, to: str) -> DeviceArray | None:
    """A time in the unit of another type; None: it is none of that."""
    kind = kind_of_time(source)
    if kind not in ("timestamp", "duration", "time") or kind != kind_of_time(to) or bool(source[4:]) != bool(to[4:]):
        return None
    if one.null_count:
        return None
    code = _CODES[storage_of(source) or ""]
    size = struct.calcsize(code)
    one._readable("comparing")
    value = struct.unpack_from(code, view(one, 1), one.offset * size)[0]
    ticks, rest = divmod(value * PER_SECOND[to[2]], PER_SECOND[source[2]])
    letter = storage_of(to) or ""
    most = 1 << 8 * struct.calcsize(_CODES[letter]) - 1
    if rest or not -most <= ticks < most:
        return None
    return with_schema(asarray([ticks], schema=schema_of(letter)), schema_of(to))
