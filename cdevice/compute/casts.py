"""Which kernel casts from one type to another."""

from __future__ import annotations

from ..interop.asarray import asarray
from . import decimals, strings, times
from .argument import Argument
from .elementwise import PACK, Map, WithNumbers
from .errors import NoKernel, device_word
from .types import HALF, KERNEL_TYPES, NUMBERS, storage_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import Schema
    from .call import Call

_kernels: dict[tuple[str, str, bool], Map | WithNumbers | strings.Cast] = {}
_WIDTHS = {"c": 7, "s": 15, "i": 31, "l": 63, "C": 8, "S": 16, "I": 32, "L": 64, "f": 24, "g": 53}  # bits of a value


def never_loses(a: str, b: str) -> bool:
    """Is every number of the one type one of the other?"""
    if b == HALF:
        return a not in "lL"  # that of others is rounded is not an error in Arrow
    if b in "fg":
        return a in "efg" or _WIDTHS[a] <= _WIDTHS[b]
    return a not in "efg" and _WIDTHS[a] <= _WIDTHS[b] and (a in "CSIL" or b not in "CSIL")


def _kernel(a: str, b: str, safe: bool) -> Map | WithNumbers | strings.Cast | None:
    """From one type to another; None: there is none."""
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
        checked = safe and not never_loses(x, y)
        return Map("cast", f"{s} {t}", f"cast_{'checked_' * checked}{s}", x, b, checked=checked, said="cast")
    if a == "b" and b in NUMBERS:
        return Map("cast_bool", KERNEL_TYPES[b], "cast_bool", "b", b, unit=PACK)
    if a in NUMBERS and b == "b":
        return Map("cast_bool", KERNEL_TYPES[a], "to_bool", a, b, unit=PACK)
    return strings.cast(a, b)


def no_cast(call: Call, source: str, target: str) -> NoKernel:
    """The exception, with what may be tried."""
    elsewhere = '; fallback="copy" asks the CPU and copies both ways' if call.device_type != 1 else ""
    return NoKernel(f"cast: no kernel on {device_word(call.device_type)} from {source} to {target}{elsewhere}")


def cast_argument(call: Call, a: Argument, to: str, safe: bool) -> Argument:
    """An argument as another type.  Raises NoKernel."""
    if a.format == to:
        return a
    if a.array is None:
        if a.value is not None and to.startswith("d:"):
            a = lone(call, a)
        else:
            return Argument(value=a.value, format=to)
    way = decimals.between(a.format or "", to)
    if way is not None:
        a = cast_argument(call, a, way, safe)
    key = (a.format or "", to, safe)
    kernel = _kernels.get(key)
    if kernel is None:
        made = _kernel(*key)
        if made is None:
            raise no_cast(call, words_of(key[0]), words_of(to))
        kernel = _kernels[key] = made
    return Argument(kernel(call, a), to, one=a.one)


def lone(call: Call, a: Argument, schema: Schema | None = None) -> Argument:
    """A number of the host, or a null of a type, as one row where the call is."""
    array = asarray([a.value], schema=schema)
    if call.device_type != 1:
        array = array.to((call.device_type, call.device_id))
    return Argument(array, a.format, one=True)
