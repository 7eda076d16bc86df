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
    from collections.abc import Callable, Iterator
    from typing import Any

    from .._types import DeviceArray, DeviceArrayStream

_Array = _native.Array
_VALUES = (str, bytes, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)


class Chunks:
    """The chunks of a stream, gone through once; ``first`` is known before."""

    __slots__ = ("_begun", "_rest", "first")

    def __init__(self, first: DeviceArray, rest: Iterator[DeviceArray]) -> None:
        self.first: DeviceArray | None = first
        self._rest, self._begun = rest, False

    def __iter__(self) -> Iterator[DeviceArray]:
        if self._begun:
            raise RuntimeError("the chunks of a stream are gone through once")
        while self.first is not None:
            yield self.first  # kept until the second is asked for: another kernel may have to begin again
            self._begun, self.first = True, None
            self.first = next(self._rest, None)

    def mapped(self, f: Callable[[DeviceArray], DeviceArray]) -> Chunks:
        """Others, made of these when they are asked for; these are gone through then."""
        assert self.first is not None
        first = f(self.first)

        def others() -> Iterator[DeviceArray]:
            self.first = None
            for x in self._rest:
                self._begun = True
                made = f(x)
                del x
                yield made
                del made

        return Chunks(first, others())


class Argument:
    """An argument as kernels get it.

    ``array``: a row for each row, or with ``one`` a row for all of them; ``chunks``: several arrays, a list or
    :class:`Chunks` (``array`` is then None); else ``value``, a number, a bool or None.  ``format``: its type; None
    where nothing says what null it is.
    """

    __slots__ = ("array", "chunks", "format", "one", "value")

    def __init__(
        self,
        array: DeviceArray | None = None,
        format: str | None = None,
        *,
        one: bool = False,
        value: bool | int | float | None = None,
        chunks: list[DeviceArray] | Chunks | None = None,
    ) -> None:
        self.array, self.one, self.value, self.chunks = array, one, value, chunks
        self.format = format

    def sample(self) -> DeviceArray | None:
        """An array of it."""
        chunks = self.chunks
        if not chunks:
            return self.array
        return chunks.first if isinstance(chunks, Chunks) else chunks[0]

    def bits(self, format: str) -> int | None:
        """The value as a type has it; None for null."""
        return None if self.value is None else bits_of(self.value, format)


def _is_array(x: Any) -> bool:
    names = ("__arrow_c_device_array__", "__arrow_c_array__", "__array_interface__", "__cuda_array_interface__")
    return isinstance(x, _Array) or (any(hasattr(x, name) for name in names) and getattr(x, "shape", None) != ())


def _stream(stream: DeviceArrayStream) -> Argument:
    """What comes of a stream, as it is asked for."""
    rest = iter(stream)
    first = next(rest, None)
    if first is None:
        return _chunked([], stream)
    return Argument(chunks=Chunks(first, rest), format=format_of(first))


def _chunked(arrays: list[DeviceArray], what: Any) -> Argument:
    if not arrays:
        schema = getattr(what, "schema", None)  # one without fields is false
        schema = getattr(what, "type", None) if schema is None else schema
        if schema is None:
            raise ValueError("no chunks: their type is unknown")
        empty = asarray([], schema=schema)
        where = getattr(what, "device_type_id", 1)
        arrays = [empty if where == 1 else empty.to((where, 0))]
    if len(arrays) == 1:
        return Argument(arrays[0], format_of(arrays[0]))
    return Argument(chunks=arrays, format=format_of(arrays[0]))


def _one(array: DeviceArray) -> Argument:
    return Argument(array, format_of(array), one=True)


def argument(x: Any, whole: bool = True) -> Argument:
    """Whatever a function takes.  ``whole``: a stream is read to its end."""
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
        return _chunked(list(stream), stream) if whole else _stream(stream)
    if hasattr(x, "as_py") and hasattr(x, "type"):  # a scalar of pyarrow
        return _one(asarray([x.as_py()], schema=x.type))
    if hasattr(x, "dtype") and getattr(x, "shape", None) == () and hasattr(x, "item"):  # numpy's
        return _one(asarray([x]))
    array = asarray(x)
    return Argument(array, format_of(array))


def joined(a: Argument) -> Argument:
    """An argument of several chunks as one array."""
    return a if a.chunks is None else Argument(concat(list(a.chunks)), a.format)
