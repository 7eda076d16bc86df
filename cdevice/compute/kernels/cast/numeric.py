"""Which kernel casts from one type to another."""

from __future__ import annotations

from ....errors import ArgumentError
from ...dispatch.bounded import Bounded
from ...dispatch.datum import ChunkStream, Datum, lone
from ...dispatch.types import (
    HALF,
    KERNEL_TYPES,
    NUMBERS,
    VIEWS,
    bits_of,
    decimal_of,
    is_binary,
    is_wider,
    storage_of,
    words_of,
)
from ...errors import NoKernel, device_word
from ..elementwise import PACK, Map, WithNumbers
from . import binary as strings
from . import decimal as decimals
from . import temporal as times
from . import text as texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...._types import DeviceArray
    from ...dispatch.call import Call

    Kernel = (
        Map | WithNumbers | decimals.InTwo | times.OfClocks | strings.Cast | texts.Print | texts.PrintTime | texts.Read
    )

_kernels: Bounded[tuple[str, str, bool], Kernel] = Bounded(1000)


def _kernel(a: str, b: str, safe: bool) -> Kernel | None:
    """From one type to another; None: there is none."""
    text = texts.cast(a, b, safe)
    if text is not None:
        return text
    if a.startswith("d:") or b.startswith("d:"):
        return decimals.cast(a, b, safe)
    if a[0] == b[0] == "t":
        return times.cast(a, b, safe)
    x, y = storage_of(a) or a, storage_of(b) or b
    numbers = NUMBERS + HALF
    if x in numbers and y in numbers and (x == a or y == b or a == b) and (a in numbers or b in numbers or a == b):
        if x != a and y != b:
            return None
        if (x != a or y != b) and x != y:  # times are as wide as their integers
            return None
        s, t = KERNEL_TYPES[x], KERNEL_TYPES[y]
        checked = safe and not is_wider(y, x)
        return Map("cast", f"{s} {t}", f"cast_{'checked_' * checked}{s}", x, b, checked=checked, function_name="cast")
    if a == "b" and b in NUMBERS:
        return Map("cast_bool", KERNEL_TYPES[b], "cast_bool", "b", b, unit=PACK)
    if a in NUMBERS and b == "b":
        return Map("cast_bool", KERNEL_TYPES[a], "to_bool", a, b, unit=PACK)
    return strings.cast(a, b)


def has_cast(a: str, b: str) -> bool:
    """Is there a kernel, for values that fit?"""
    try:
        return a == b or decimals.between(a, b) is not None or _kernel(a, b, True) is not None
    except (NoKernel, ArgumentError):
        return decimal_of(b) is not None


def no_cast(call: Call, source: str, target: str) -> NoKernel:
    """The exception, with what may be tried."""
    elsewhere = '; fallback="copy" asks the CPU and copies both ways' if call.device_type != 1 else ""
    return NoKernel(f"cast: no kernel on {device_word(call.device_type)} from {source} to {target}{elsewhere}")


def cast_argument(call: Call, a: Datum, to: str, safe: bool) -> Datum:
    """An argument as another type, chunk by chunk where it has chunks.  Raises NoKernel, and ArgumentError for a value
    that the type has not, where it is ``safe``."""
    if a.format == to:
        return a
    if isinstance(a.chunks, ChunkStream):
        return Datum(chunks=a.chunks.mapped(lambda x: _cast(call, x, a.format or "", to, safe)), format=to)
    if a.chunks is not None:
        return Datum(chunks=[_cast(call, x, a.format or "", to, safe) for x in a.chunks], format=to)
    if a.array is None:
        return _value_as(call, a, to)
    return Datum(_cast(call, a.array, a.format or "", to, safe), to, one=a.one)


def _value_as(call: Call, a: Datum, to: str) -> Datum:
    """A number of the host, or null."""
    if a.value is None:
        return Datum(value=None, format=to)
    if to in NUMBERS + HALF:
        bits_of(a.value, to)  # or an error
        return Datum(value=a.value, format=to)
    return lone(call, Datum(value=a.value, format=to))


def _cast(call: Call, array: DeviceArray, source: str, to: str, safe: bool) -> DeviceArray:
    way = decimals.between(source, to)
    if way is not None:
        array, source = _cast(call, array, source, way, safe), way
    if to in VIEWS and not is_binary(source):  # text first
        array, source = _cast(call, array, source, "u", safe), "u"
    if source == to:
        return array
    key = (source, to, safe)
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = _kernel(*key)
        if kernel is None:
            raise no_cast(call, words_of(source), words_of(to))
        _kernels.put(key, kernel)
    return kernel(call, Datum(array, source))
