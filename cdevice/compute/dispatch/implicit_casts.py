"""A value of the host as the type of the rows that it is compared with, so that the rows need not be cast."""

from __future__ import annotations

import struct

from ..._arrays.buffer_access import view
from ...interop.asarray import asarray
from ..errors import ValueOutOfRange
from ..kernels.elementwise import schema_of
from ..kernels.selection.take import with_schema
from ..kernels.temporal import PER_SECOND
from .datum import Datum
from .types import FLOATS, NUMBERS, bits_of, kind_of_time, storage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..._types import DeviceArray

_PER_DAY = 86400
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
            if to in NUMBERS and is_exact(one.value, to):
                out[i] = Datum(value=one.value, format=to)
        elif one.one and one.array is not None and one.array.device_type_id == 1:
            made = _in_unit(one.array, one.format or "", to)
            if made is not None:
                out[i] = Datum(made, to, one=True)
    return out


def filled(arguments: list[Datum]) -> list[Datum]:
    """The arguments of fill_null: a value of the host becomes one of the rows' type where that has it.  Another stays
    as it is: both become a common type then."""
    rows, *others = arguments
    to = rows.format
    if len(others) != 1 or rows.one or to is None or rows.mixed or (rows.array is None and rows.chunks is None):
        return arguments
    one = others[0]
    if not one.one or one.array is None or one.array.device_type_id != 1 or one.format in (None, "n", to):
        return arguments
    made = _in_unit(one.array, one.format or "", to)
    return arguments if made is None else [rows, Datum(made, to, one=True)]


def is_exact(value: bool | int | float | None, format: str) -> bool:
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
    """A time as another type, in whose unit it is a whole number; None: it is none of that."""
    kinds = kind_of_time(source), kind_of_time(to)
    if None in kinds or (kinds[0] != kinds[1] and set(kinds) != {"timestamp", "date"}) or one.null_count:
        return None
    if bool(source[4:]) != bool(to[4:]):
        return None
    code = _CODES[storage_of(source) or ""]
    size = struct.calcsize(code)
    one._readable("comparing")
    value = struct.unpack_from(code, view(one, 1), one.offset * size)[0]
    numerator, denominator = (_PER_DAY * PER_SECOND[f[2]] if f != "tdD" else 1 for f in (to, source))
    ticks, rest = divmod(value * numerator, denominator)
    if to == "tdm" and ticks % (_PER_DAY * PER_SECOND["m"]):
        return None
    letter = storage_of(to) or ""
    most = 1 << 8 * struct.calcsize(_CODES[letter]) - 1
    if rest or not -most <= ticks < most:
        return None
    return with_schema(asarray([ticks], schema=schema_of(letter)), schema_of(to))
