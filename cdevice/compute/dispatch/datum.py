"""What functions take: Arrow's Datum."""

from __future__ import annotations

import datetime
import decimal

from ..._runtime.ext import _native
from ...interop.asarray import asarray
from ...interop.asstream import asstream
from ...interop.concat import concat
from ...schema import Schema
from ..scalar import Scalar
from .types import DICTIONARY, bits_of, format_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ..._types import DeviceArray, DeviceArrayStream
    from .call import Call

_Array = _native.Array
_VALUES = (str, bytes, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)


class ChunkStream:
    """The chunks of a stream, gone through once; ``first`` is known before."""

    __slots__ = ("_begun", "_rest", "first")

    def __init__(self, first: DeviceArray, rest: Iterator[DeviceArray]) -> None:
        self.first: DeviceArray | None = first
        self._rest, self._begun = rest, False

    def __iter__(self) -> Iterator[DeviceArray]:
        if self._begun:
            raise RuntimeError("the chunks of a stream can be iterated only once")
        while self.first is not None:
            yield self.first  # kept until the second is asked for: another kernel may have to begin again
            self._begun, self.first = True, None
            self.first = next(self._rest, None)

    def mapped(self, f: Callable[[DeviceArray], DeviceArray]) -> ChunkStream:
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

        return ChunkStream(first, others())


class Datum:
    """An argument as kernels get it.

    ``array``: a row for each row, or with ``one`` a row for all of them; ``chunks``: several arrays, a list or
    ``ChunkStream`` (``array`` is then None); else ``value``, a number, a bool or None.  ``format``: the Arrow format of
    its type, "dictionary" for a dictionary array; None where the type of a null is unknown.

    ``follows``: it was made here, of Python's values, and goes where the other arguments are.  ``mixed``: its chunks
    are of several types; no kernel gets one.
    """

    __slots__ = ("array", "chunks", "follows", "format", "mixed", "one", "value")

    def __init__(
        self,
        array: DeviceArray | None = None,
        format: str | None = None,
        *,
        one: bool = False,
        value: bool | int | float | None = None,
        chunks: list[DeviceArray] | ChunkStream | None = None,
        follows: bool = False,
        mixed: bool = False,
    ) -> None:
        self.array, self.one, self.value, self.chunks = array, one, value, chunks
        self.format, self.follows, self.mixed = format, follows, mixed

    def sample(self) -> DeviceArray | None:
        """An array of it."""
        chunks = self.chunks
        if not chunks:
            return self.array
        return chunks.first if isinstance(chunks, ChunkStream) else chunks[0]

    def bits(self, format: str) -> int | None:
        """The value as a type has it; None for null.  "-": any number, of a kernel that looks at nulls alone."""
        if self.value is None or format == "-":
            return None if self.value is None else 0
        return bits_of(self.value, format)


def _is_array(x: Any) -> bool:
    names = ("__arrow_c_device_array__", "__arrow_c_array__", "__array_interface__", "__cuda_array_interface__")
    return isinstance(x, _Array) or (any(hasattr(x, name) for name in names) and getattr(x, "shape", None) != ())


def _stream(stream: DeviceArrayStream) -> Datum:
    """What comes of a stream, as it is asked for."""
    rest = iter(stream)
    first = next(rest, None)
    if first is None:
        return _chunked([], stream)
    return Datum(chunks=ChunkStream(first, rest), format=format_of(first))


def _chunked(arrays: list[DeviceArray], what: Any) -> Datum:
    if not arrays:
        schema = getattr(what, "schema", None)  # one without fields is false
        schema = getattr(what, "type", None) if schema is None else schema
        if schema is None:
            raise ValueError("the type is unknown without chunks")
        empty = asarray([], schema=schema)
        where = getattr(what, "device_type_id", 1)
        arrays = [empty if where == 1 else empty.to((where, 0))]
    if len(arrays) == 1:
        return Datum(arrays[0], format_of(arrays[0]))
    formats = {format_of(x) for x in arrays}
    return Datum(chunks=arrays, format=format_of(arrays[0]), mixed=len(formats) > 1)


def _one(array: DeviceArray) -> Datum:
    return Datum(array, format_of(array), one=True)


def _scalar(x: Any) -> Datum | None:
    """A single value of Python, numpy or pyarrow; None: it is none."""
    if x is None or isinstance(x, (bool, int)) or type(x) is float:
        if isinstance(x, int) and not isinstance(x, bool):
            return Datum(value=int(x), format="l" if x < 1 << 63 else "L")
        return Datum(value=x, format="b" if isinstance(x, bool) else None if x is None else "g")
    if isinstance(x, Scalar):
        return _one(x.array)
    if isinstance(x, _VALUES):
        return _one(asarray([x]))
    if hasattr(x, "dtype") and getattr(x, "shape", None) == () and hasattr(x, "reshape"):  # numpy's
        if x.dtype.kind in "mM":
            from ...interop.numpy import in_arrow_unit

            return _one(asarray(in_arrow_unit(x.reshape(1))))
        return _one(asarray(x.reshape(1)))
    if hasattr(x, "as_py") and hasattr(x, "type"):  # pyarrow's: as_py() rounds
        return _one(asarray(_rows_of_scalar(x)))
    if type(x).__name__ == "NAType":  # pandas'
        return Datum(value=None)
    return None


def _rows_of_scalar(x: Any) -> Any:
    """A scalar of pyarrow as an array of it, of its type."""
    import pyarrow

    if not isinstance(x, pyarrow.Scalar):
        return [x.as_py()]
    if isinstance(x, pyarrow.ExtensionScalar):
        storage = pyarrow.repeat(x.value, 1) if x.is_valid else pyarrow.nulls(1, x.type.storage_type)
        return pyarrow.ExtensionArray.from_storage(x.type, storage)
    try:
        return pyarrow.repeat(x, 1)
    except pyarrow.ArrowException:  # not of every type
        return pyarrow.array([x.as_py()], x.type)


def argument(x: Any, whole: bool = True) -> Datum:
    """Any argument of a function.  ``whole``: a stream is read to its end."""
    if isinstance(x, _Array):
        array: DeviceArray = x  # type: ignore[assignment]
        return Datum(array, format_of(array))
    scalar = _scalar(x)
    if scalar is not None:
        return scalar
    if isinstance(x, (list, tuple)):
        if any(map(_is_array, x)):
            return _chunked([asarray(a) for a in x], x[0])
        array = asarray(x)
        return Datum(array, format_of(array), follows=True)
    if _is_array(x):
        array = asarray(x)
        return Datum(array, format_of(array))
    if isinstance(x, _native.Stream) or hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_device_stream__"):
        stream = asstream(x)
        return _chunked(list(stream), stream) if whole else _stream(stream)
    array = asarray(x)
    return Datum(array, format_of(array), follows=isinstance(x, range))


def lone(call: Call, a: Datum, schema: Schema | None = None) -> Datum:
    """A number of the host, or a null of a type, as one row where the call is."""
    if schema is None and a.format is not None and a.format[:1] != "+" and a.format != DICTIONARY:
        schema = Schema.make(a.format)
    array = asarray([a.value], schema=schema)
    if call.device_type != 1:
        array = array.to((call.device_type, call.device_id))
    return Datum(array, a.format, one=True)


def joined(a: Datum) -> Datum:
    """An argument of several chunks as one array."""
    return a if a.chunks is None else Datum(concat(list(a.chunks)), a.format, follows=a.follows)


def chunks_of(argument: Datum) -> Iterator[DeviceArray]:
    """The arrays of an argument of an aggregate, one at a time."""
    if argument.array is not None:
        yield argument.array
    elif argument.chunks is not None:
        yield from argument.chunks
