"""Conditions as pyarrow's scanner takes them, which skips what they rule out."""

from __future__ import annotations

import math
import struct

from ...errors import Error
from ..scalar import Scalar
from .graph import Called, Column, Literal, Node, post_order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BOUNDS = {"less", "less_equal", "greater", "greater_equal"}
_ENDS_ABOVE = {("less", 0), ("greater_equal", 0), ("greater", 1), ("less_equal", 1)}  # of the column's place


def pushed_down(where: Node, schema: Any) -> Any:
    """A ``pyarrow.compute.Expression`` that is true for every row that ``where`` is true for; None: all rows.
    ``schema``: pyarrow's, of the columns.

    Those conditions are taken that pyarrow's scanner holds against statistics: columns beside values, and lists of
    values.  The rows are filtered again.
    """
    made: dict[int, Any] = {}
    for e in post_order(where):
        value, args = e._value, [made[id(x)] for x in e._arguments]
        name = value.function.name if isinstance(value, Called) else ""
        if name in ("and_kleene", "and"):
            known = [a for a in args if a is not None]
            made[id(e)] = known[0] & known[1] if len(known) == 2 else known[0] if known else None
        elif name in ("or_kleene", "or"):
            made[id(e)] = None if args[0] is None or args[1] is None else args[0] | args[1]
        else:
            made[id(e)] = _condition(name, e, schema)
    return made[id(where)]


def _condition(name: str, e: Node, schema: Any) -> Any:
    """A column beside a value, or in a list of them; None: others."""
    import pyarrow.compute as pc

    columns = [i for i, x in enumerate(e._arguments) if isinstance(x._value, Column)]
    if len(columns) != 1:
        return None
    column = e._arguments[columns[0]]._value.name
    field, type = pc.field(column), _plain(schema.field(column).type)
    if name in ("is_null", "is_valid") and type is not None:
        return getattr(field, name)()
    if name == "is_in" and type is not None and not _is_real(type):  # pyarrow takes 0.0 and -0.0 for two values there
        values = _cast(_rows(e._value.options.value_set, type), type)
        return None if values is None else field.isin(values)
    other = e._arguments[1 - columns[0]]._value if len(e._arguments) == 2 else None
    if name not in _BOUNDS | {"equal", "not_equal"} or type is None or not isinstance(other, Literal):
        return None
    if name == "not_equal" and _is_real(type):  # the least and the greatest value do not tell of NaN
        return None
    above = (name, columns[0]) in _ENDS_ABOVE
    made = _cast(_one(_end(other.value, type, above) if name in _BOUNDS else other.value, type), type)
    return None if made is None else getattr(pc, name)(*(pc.scalar(made), field)[:: 1 if columns[0] else -1])


def _plain(type: Any) -> Any:
    """The type that values have to have that pyarrow compares with a column; None: its comparisons are other ones."""
    import pyarrow as pa

    if pa.types.is_dictionary(type):
        type = type.value_type
    strange = pa.types.is_nested(type) or pa.types.is_null(type) or isinstance(type, pa.BaseExtensionType)
    return None if strange else type


def _is_real(type: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(type))


def _end(value: Any, type: Any, above: bool) -> Any:
    """The least value of a type that is not below a float, or the greatest not above it: as a bound the same."""
    import pyarrow as pa

    if not isinstance(value, float) or not math.isfinite(value):
        return value
    if pa.types.is_integer(type) and abs(value) < 1 << 53:
        return math.ceil(value) if above else math.floor(value)
    if pa.types.is_float32(type) and abs(value) < 3e38:
        near = struct.unpack("f", struct.pack("f", value))[0]
        if near != value and (near < value) is above:  # the next one on the other side
            bits = struct.unpack("i", struct.pack("f", near))[0]
            away = (near > 0) is above if near else True
            bits = bits + (1 if away else -1) if near else (1 if above else -(1 << 31) + 1)
            near = struct.unpack("f", struct.pack("i", bits))[0]
        return near
    return value


def _made(make: Any, value: Any, type: Any) -> Any:
    import pyarrow as pa

    try:
        if isinstance(value, (Scalar, pa.Scalar, pa.Array)):
            return make(value)
        # a number of Python as the type that the column has, of others their own first: the column's would cut 2.5
        return make(value, type) if pa.types.is_decimal(type) or isinstance(value, int) else make(value)
    except (pa.ArrowException, Error, TypeError, ValueError, OverflowError):
        return None


def _one(value: Any, type: Any) -> Any:
    """One value as pyarrow's; None: it has none."""
    import pyarrow as pa

    if isinstance(value, Scalar):
        return _made(lambda x: pa.array(x.array.to("cpu"))[0], value, type) if value.ready else None
    return value if isinstance(value, pa.Scalar) else _made(pa.scalar, value, type)


def _rows(values: Any, type: Any) -> Any:
    """A list of values as pyarrow's; None: it has none."""
    import pyarrow as pa

    return _made(pa.array, values, type)


def _cast(values: Any, type: Any) -> Any:
    """Values of the type, so that nothing is cast where files are read; None: there is none of all that is equal."""
    import pyarrow as pa

    if values is None or values.type == type:
        return values
    kind = _kind(type)
    if kind is None or kind != _kind(values.type):
        return None
    try:
        cast = values.cast(type)
        return None if _is_real(type) and not cast.cast(values.type).equals(values) else cast
    except (pa.ArrowException, ValueError):
        return None


def _kind(type: Any) -> str | None:
    """Types whose values are the same after a cast that does not fail; None: others."""
    import pyarrow as pa

    is_ = pa.types
    if is_.is_integer(type) or is_.is_floating(type):
        return "number"
    if is_.is_string(type) or is_.is_large_string(type):
        return "string"
    if is_.is_binary(type) or is_.is_large_binary(type) or is_.is_fixed_size_binary(type):
        return "binary"
    if is_.is_timestamp(type):
        return "instant" if type.tz else "timestamp"
    if is_.is_date(type):
        return "date"
    names = {"time": is_.is_time, "duration": is_.is_duration, "decimal": is_.is_decimal}
    return next((name for name, holds in names.items() if holds(type)), None)
