"""Types as kernels know them, and which becomes which (Arrow's implicit casts).

A type is identified by its Arrow format; that of a dictionary array is "dictionary".
"""

from __future__ import annotations

import struct

from ...schema import Schema
from ..errors import ValueOutOfRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import DeviceArray

DICTIONARY = "dictionary"
KERNEL_TYPES = {
    "c": "i8",
    "s": "i16",
    "i": "i32",
    "l": "i64",
    "C": "u8",
    "S": "u16",
    "I": "u32",
    "L": "u64",
    "f": "f32",
}
KERNEL_TYPES["g"], KERNEL_TYPES["e"] = "f64", "f16"
SIGNED, UNSIGNED, FLOATS = "csil", "CSIL", "fg"
NUMBERS = SIGNED + UNSIGNED + FLOATS
HALF = "e"  # float16: computed with as float32, and added up so
VIEWS = "vu", "vz"
_WIDTHS = {"c": 1, "s": 2, "i": 4, "l": 8, "C": 1, "S": 2, "I": 4, "L": 8, "e": 2, "f": 4, "g": 8}


def format_of(array: DeviceArray) -> str:
    """The type of an array."""
    return DICTIONARY if array._schema.dictionary is not None else array._format


def storage_of(format: str) -> str | None:
    """The number type that a type is stored as: itself, and of times their integers.  None: it is no number."""
    if format in KERNEL_TYPES:
        return format
    if format in ("tdD", "tts", "ttm"):
        return "i"
    if format in ("tdm", "ttu", "ttn") or format.startswith(("ts", "tD")):
        return "l"
    return None


def decimal_of(format: str) -> tuple[int, int, int] | None:
    """Precision, scale and width in bits of a decimal.  None: it is none."""
    if not format.startswith("d:"):
        return None
    precision, scale, *bits = map(int, format[2:].split(","))
    return precision, scale, bits[0] if bits else 128


def kernel_type(format: str) -> str:
    """The kernels' name of the numbers that a type is stored as."""
    d = decimal_of(format)
    if d is not None:
        return {32: "i32", 64: "i64", 128: "w128", 256: "w256"}[d[2]]
    return KERNEL_TYPES[storage_of(format) or format]


def is_binary(format: str) -> bool:
    """Is it a type of strings or bytes, in any layout?"""
    return format in ("u", "U", "z", "Z", *VIEWS) or format.startswith("w:")


def _common_binary(formats: Sequence[str]) -> str:
    """Strings and bytes are bytes; what may be long is."""
    letter = "u" if all(f in ("u", "U", "vu") for f in formats) else "z"
    return letter if all(f in ("u", "z") or f[0] == "w" for f in formats) else letter.upper()


_FINER = "smun"  # units, the finest last


def kind_of_time(format: str) -> str | None:
    """ "date", "time", "timestamp" or "duration"; None: not a time."""
    if format in ("tdD", "tdm"):
        return "date"
    if format.startswith("tt"):
        return "time"
    return {"ts": "timestamp", "tD": "duration"}.get(format[:2])


def finest(formats: Sequence[str]) -> str:
    """The letter of the finest unit among times; of dates seconds and milliseconds."""
    return max(("s" if f == "tdD" else f[2] for f in formats), key=_FINER.index)


def comparable_times(formats: Sequence[str]) -> tuple[str, ...] | None:
    """What times become before they are compared: one unit, each in its own zone; dates are midnights of UTC beside
    them.  None: they cannot be, as where some timestamps have a zone and some have none."""
    kinds = {kind_of_time(f) for f in formats}
    zoned = {bool(f[4:]) for f in formats if f.startswith("ts")}
    if None in kinds or len(zoned) > 1:
        return None
    if kinds == {"date"}:
        return (("tdD" if set(formats) == {"tdD"} else "tdm"),) * len(formats)
    unit = finest(formats)
    if kinds in ({"timestamp"}, {"timestamp", "date"}):
        zone = next(f[4:] for f in formats if f[:2] == "ts")
        return tuple(f"ts{unit}:{f[4:] if f[1] == 's' else zone}" for f in formats)
    if kinds in ({"time"}, {"duration"}):
        return (f"{formats[0][:2]}{unit}",) * len(formats)
    return None


def _common_time(formats: Sequence[str]) -> str | None:
    """One type of them all: as comparable_times(), in one zone."""
    made = comparable_times(formats)
    return made[0] if made is not None and len(set(made)) == 1 else None


def common(formats: Sequence[str]) -> str | None:
    """The type that all of these become, as Arrow has it: numbers, decimals, times, strings and bytes.  None: there is
    none."""
    if all(f[0] == "t" and kind_of_time(f) for f in formats):
        return _common_time(formats)
    if any(f.startswith("d:") for f in formats):
        return _common_decimal(formats)
    if all(map(is_binary, formats)):
        return _common_binary(formats)
    if not all(f in KERNEL_TYPES for f in formats):
        return None
    for float_ in "gfe":
        if float_ in formats:
            return float_
    signed = max((_WIDTHS[f] for f in formats if f in SIGNED), default=0)
    unsigned = max((_WIDTHS[f] for f in formats if f in UNSIGNED), default=0)
    if not signed:
        return {1: "C", 2: "S", 4: "I", 8: "L"}[unsigned]
    if unsigned >= signed:
        signed = min(unsigned * 2, 8)
    return {1: "c", 2: "s", 4: "i", 8: "l"}[signed]


# bits of an integer without its sign; a float holds the integers of as many bits
_BITS = {"c": 7, "s": 15, "i": 31, "l": 63, "C": 8, "S": 16, "I": 32, "L": 64, "e": 11, "f": 24, "g": 53}


def is_wider(b: str, a: str) -> bool:
    """Are all numbers of type ``a`` numbers of type ``b``?  Between floats: is that a rounding that Arrow calls
    safe?"""
    if a not in _BITS or b not in _BITS:
        return False
    if b in "efg":
        return a in "efg" or _BITS[a] <= _BITS[b]
    return a not in "efg" and _BITS[a] <= _BITS[b] and (a in "CSIL" or b not in "CSIL")


# digits that integers have at most
DIGITS = {"c": 3, "s": 5, "i": 10, "l": 19, "C": 3, "S": 5, "I": 10, "L": 20}


def parts_of(formats: Sequence[str]) -> list[tuple[int, int]] | None:
    """(precision, scale) of decimals, and of integers, which have none behind the point; None: there are others."""
    out = []
    for f in formats:
        d = decimal_of(f)
        if d is None and f not in DIGITS:
            return None
        out.append((DIGITS[f], 0) if d is None else d[:2])
    return out


def decimal_bits(formats: Sequence[str]) -> int:
    """The width that decimals and integers are computed in: as Arrow has it, 128 bits or more."""
    return max(128, *((decimal_of(f) or (0, 0, 0))[2] for f in formats))


MOST_DIGITS = {32: 9, 64: 18, 128: 38, 256: 76}


def decimal_format(precision: int, scale: int, bits: int) -> str:
    """The format of a decimal."""
    return f"d:{precision},{scale}" + f",{bits}" * (bits != 128)


def _common_decimal(formats: Sequence[str]) -> str | None:
    """One that has all digits of each; beside floats float64."""
    if any(f in FLOATS + HALF for f in formats):
        return "g" if all(f in KERNEL_TYPES or f.startswith("d:") for f in formats) else None
    parts = parts_of(formats)
    if parts is None:
        return None
    scale = max(s for _, s in parts)
    precision = scale + max(p - s for p, s in parts)
    bits = 256 if precision > MOST_DIGITS[128] else decimal_bits(formats)
    return decimal_format(precision, scale, bits) if precision <= MOST_DIGITS[256] else None


_NESTED = {
    "+s": "struct",
    "+l": "list",
    "+L": "large_list",
    "+m": "map",
    "+r": "run_end_encoded",
    "+vl": "list_view",
    "+vL": "large_list_view",
    DICTIONARY: DICTIONARY,
}


def words_of(format: str) -> str:
    """A type in words, without those below it."""
    if format.startswith("+w:"):
        return f"fixed_size_list[{format[3:]}]"
    if format.startswith("+u"):
        return "sparse_union" if format[2] == "s" else "dense_union"
    return _NESTED[format] if format in _NESTED else Schema.make(format).type


def width_of(format: str) -> str | None:
    """The kernels' name of the width of a value that is moved, "bits" for bool; None: values have several widths."""
    if format == "b":
        return "bits"
    storage = storage_of(format)
    if storage:
        return {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[_WIDTHS[storage]]
    decimal = decimal_of(format)
    if decimal is not None:
        return {32: "u32", 64: "u64", 128: "w128"}.get(decimal[2])
    if format.startswith("w:"):
        return {"1": "u8", "2": "u16", "4": "u32", "8": "u64", "16": "w128"}.get(format[2:])
    return {"tiM": "u32", "tiD": "u64", "tin": "w128"}.get(format)


_CODES = {"c": "b", "s": "h", "i": "i", "l": "q", "C": "B", "S": "H", "I": "I", "L": "Q", "e": "e", "f": "f", "g": "d"}


def bits_of(value: bool | int | float, format: str) -> int:
    """A Python number as the bits of a type.  Raises ValueOutOfRange where the type has no such number, integers that a
    float would round among them; floats are rounded."""
    if format == "b":
        return int(bool(value))
    try:
        if format in FLOATS + HALF:
            bits = struct.pack("<" + _CODES[format], float(value))
            if isinstance(value, int) and struct.unpack("<" + _CODES[format], bits)[0] != value:
                raise OverflowError
            return int.from_bytes(bits, "little")
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        struct.pack("<" + _CODES[format], value)
    except (struct.error, OverflowError):
        raise ValueOutOfRange(f"{value} does not fit into {words_of(format)}") from None
    return int(value) & 0xFFFFFFFFFFFFFFFF
