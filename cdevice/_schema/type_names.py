"""Names of Arrow types in words, and the formats that they stand for."""

from __future__ import annotations

from . import DICTIONARY_ORDERED, UNITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..schema import Schema

# word <-> format of the types without parameters
WORDS = {
    "null": "n",
    "bool": "b",
    "int8": "c",
    "uint8": "C",
    "int16": "s",
    "uint16": "S",
    "int32": "i",
    "uint32": "I",
    "int64": "l",
    "uint64": "L",
    "float16": "e",
    "float32": "f",
    "float64": "g",
    "binary": "z",
    "large_binary": "Z",
    "binary_view": "vz",
    "string": "u",
    "large_string": "U",
    "string_view": "vu",
    "date32": "tdD",
    "date64": "tdm",
    "time32[s]": "tts",
    "time32[ms]": "ttm",
    "time64[us]": "ttu",
    "time64[ns]": "ttn",
    "duration[s]": "tDs",
    "duration[ms]": "tDm",
    "duration[us]": "tDu",
    "duration[ns]": "tDn",
    "month_interval": "tiM",
    "day_time_interval": "tiD",
    "month_day_nano_interval": "tin",
}
FORMATS = {v: k for k, v in WORDS.items()}
ALIASES = {
    "utf8": "u",
    "large_utf8": "U",
    "utf8_view": "vu",
    "str": "u",
    "bytes": "z",
    "int": "l",
    "double": "g",
    "float": "f",  # Arrow's word, not Python's
    "halffloat": "e",
    "date32[day]": "tdD",
    "date64[ms]": "tdm",
    "boolean": "b",
}


def words(s: Schema) -> str:
    """The type of a schema in words."""
    f = s.format
    if s.dictionary is not None:
        ordered = int(bool(s.flags & DICTIONARY_ORDERED))
        return f"dictionary<values={words(s.dictionary)}, indices={FORMATS[f]}, ordered={ordered}>"
    if f in FORMATS:
        return FORMATS[f]
    if f.startswith("ts"):
        unit, zone = UNITS[f[2]], f[4:]
        return f"timestamp[{unit}, tz={zone}]" if zone else f"timestamp[{unit}]"
    if f.startswith("d:"):
        numbers = f[2:].split(",")
        return f"decimal{numbers[2] if len(numbers) == 3 else 128}({numbers[0]}, {numbers[1]})"
    if f.startswith("w:"):
        return f"fixed_size_binary[{f[2:]}]"
    inner = ", ".join(f"{c.name}: {words(c)}" + ("" if c.nullable else " not null") for c in s.children)
    if f == "+s":
        return f"struct<{inner}>"
    if f == "+m":
        key, value = s.children[0].children
        return f"map<{words(key)}, {words(value)}>"
    if f == "+r":
        ends, values = s.children
        return f"run_end_encoded<run_ends: {words(ends)}, values: {words(values)}>"
    if f.startswith("+u"):
        ids = f[4:].split(",")
        inner = ", ".join(f"{c.name}: {words(c)}={i}" for c, i in zip(s.children, ids))
        return f"{'dense' if f[2] == 'd' else 'sparse'}_union<{inner}>"
    if f.startswith("+w:"):
        return f"fixed_size_list<{inner}>[{f[3:]}]"
    word = {"+l": "list", "+L": "large_list", "+vl": "list_view", "+vL": "large_list_view"}[f]
    return f"{word}<{inner}>"
