"""What functions take: Arrow's Datum."""

from __future__ import annotations

import datetime
import decimal

from .._ext import _native
from ..interop.asarray import asarray
from ..interop.asstream import asstream
from ..interop.concat import concat
from .scalar import Scalar
from .types import bits_of, format_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray

_Array = _native.Array
_VALUES = (str, bytes, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)


class Argument:
    """An argument as kernels get it.

    ``array``: a row for each row, or with ``one`` a row for all of them; ``chunks``: several arrays (``array`` is then
    None); else ``value``, a number, a bool or None.  ``format``: its type; None where nothing says what null it is.
    """

    __slots__ = ("array", "chunks", "format", "one", "value")

    def __init__(
        self,
        array: DeviceArray | None = None,
        format: str | None = None,
        *,
        one: bool = False,
        value: bool | int | float | None = None,
        chunks: list[DeviceArray] | None = None,
    ) -> None:
        self.array, self.one, self.value, self.chunks = array, one, value, chunks
        self.format = format

    def bits(self, format: str) -> int | None:
        """The value as a type has it; None for null."""
        return None if self.value is None else bits_of(self.value, format)


def _is_array(x: Any) -> bool:
    names = ("__arrow_c_device_array__", "__arrow_c_array__", "__array_interface__", "__cuda_array_interface__")
    return isinstance(x, _Array) or (any(hasattr(x, name) for name in names) and getattr(x, "shape", None) != ())


def _chunked(arrays: list[DeviceArray], what: Any) -> Argument:
    if not arrays:
        schema = getattr(what, "schema", None) or getattr(what, "type", None)
        if schema is None:
            raise ValueError("no chunks: their type is unknown")
        arrays = [asarray([], schema=schema)]
    if len(arrays) == 1:
        return Argument(arrays[0], format_of(arrays[0]))
    return Argument(chunks=arrays, format=format_of(arrays[0]))


def _one(array: DeviceArray) -> Argument:
    return Argument(array, format_of(array), one=True)


def argument(x: Any) -> Argument:
    """Whatever a function takes."""
    if isinstance(x, _Array):
        array: DeviceArray = x  # type: ignore[assignment]
        return Argument(array, format_of(array))
    if x is None or type(x) in (bool, int, float):
        if type(x) is int:
            return Argument(value=x, format="l" if x < 1 << 63 else "L")
        return Argument(value=x, format={bool: "b", float: "g"}.get(type(x)))
    if isinstance(x, Scalar):
        return _one(x.array)
    if isinstance(x, _VALUES):
        return _one(asarray([x]))
    if isinstance(x, (list, tuple)) and x and _is_array(x[0]):
        return _chunked([asarray(a) for a in x], x[0])
    if _is_array(x):
        array = asarray(x)
        return Argument(array, format_of(array))
    if isinstance(x, _native.Stream) or hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_device_stream__"):
        stream = asstream(x)
        return _chunked(list(stream), stream)
    if hasattr(x, "as_py") and hasattr(x, "type"):  # a scalar of pyarrow
        return _one(asarray([x.as_py()], schema=x.type))
    if hasattr(x, "dtype") and getattr(x, "shape", None) == () and hasattr(x, "item"):  # numpy's
        return _one(asarray([x]))
    array = asarray(x)
    return Argument(array, format_of(array))


def joined(a: Argument) -> Argument:
    """An argument of several chunks as one array."""
    return a if a.chunks is None else Argument(concat(a.chunks), a.format)
