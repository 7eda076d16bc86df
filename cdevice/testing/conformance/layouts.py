"""Format strings, layouts and values, written from the specification of the columnar format."""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import re
import struct

from .structs import Broken, children_of, dictionary_of, pointers_at, text_at

# format: what its buffers are, and their width in bits
FIXED = {
    "b": 1, "c": 8, "C": 8, "s": 16, "S": 16, "i": 32, "I": 32, "l": 64, "L": 64, "e": 16, "f": 32, "g": 64,
    "tdD": 32, "tdm": 64, "tts": 32, "ttm": 32, "ttu": 64, "ttn": 64, "tDs": 64, "tDm": 64, "tDu": 64, "tDn": 64,
    "tiM": 32, "tiD": 64, "tin": 128,
}  # fmt: skip
OTHERS = {
    "n": ((), 0),
    "z": (("validity", "offsets32", "bytes"), 0),
    "u": (("validity", "offsets32", "bytes"), 0),
    "Z": (("validity", "offsets64", "bytes"), 0),
    "U": (("validity", "offsets64", "bytes"), 0),
    "vz": (("validity", "views"), 0),
    "vu": (("validity", "views"), 0),
    "+l": (("validity", "offsets32"), 1),
    "+L": (("validity", "offsets64"), 1),
    "+vl": (("validity", "offsets32", "sizes32"), 1),
    "+vL": (("validity", "offsets64", "sizes64"), 1),
    "+m": (("validity", "offsets32"), 1),
    "+s": (("validity",), None),
    "+r": ((), 2),
}
LETTERS = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "e": "e", "f": "f", "g": "d"}


def layout(format):
    """(names of the buffers, number of children or None for any, bits of an item); None: no such format."""
    if format is None:
        return None
    if format in FIXED:
        return ("validity", "data"), 0, FIXED[format]
    if format in OTHERS:
        return (*OTHERS[format], 0)
    if re.fullmatch(r"ts[smun]:[^\0]*", format):
        return ("validity", "data"), 0, 64
    found = re.fullmatch(r"d:(\d+),(-?\d+)(?:,(\d+))?", format)
    if found:
        bits, digits = int(found[3] or 128), int(found[1])
        most = {32: 9, 64: 18, 128: 38, 256: 76}.get(bits)
        return (("validity", "data"), 0, bits) if most and 1 <= digits <= most else None
    found = re.fullmatch(r"w:(\d+)", format)
    if found:
        return ("validity", "data"), 0, 8 * int(found[1])
    if re.fullmatch(r"\+w:\d+", format):
        return ("validity",), 1, 0
    found = re.fullmatch(r"\+u([ds]):((?:\d+,)*\d+)?", format)
    if found:
        ids = found[2].split(",") if found[2] else []
        if len(set(ids)) < len(ids) or any(int(i) > 127 for i in ids):
            return None
        return (("types", "offsets32") if found[1] == "d" else ("types",)), len(ids), 0
    return None


def is_view(format):
    return format in ("vz", "vu")


def buffers_of(format, array):
    """{name: address} of an array's buffers; None where their number is wrong or they cannot be read."""
    known = layout(format)
    if known is None:
        return None
    names = known[0]
    if is_view(format):
        if not 3 <= array.n_buffers < 100_000:
            return None
        names = (*names, *(f"bytes{i}" for i in range(array.n_buffers - 3)), "sizes")
    if array.n_buffers != len(names) or (names and not array.buffers):
        return None
    return dict(zip(names, pointers_at(array.buffers, len(names))))


def nodes(schema, array, path="the array"):
    """(path, format, schema, array) of an array and everything below it that can be reached safely."""
    try:
        format = text_at(schema.format)
    except Broken:
        format = None
    yield path, format, schema, array
    below, of = children_of(schema), children_of(array)
    if len(below) == len(of):
        for i, (s, a) in enumerate(zip(below, of)):
            yield from nodes(s, a, f"{path}.children[{i}]")
    s, a = dictionary_of(schema), dictionary_of(array)
    if s is not None and a is not None:
        yield from nodes(s, a, f"{path}.dictionary")


def bit(address, i):
    return ctypes.c_uint8.from_address(address + i // 8).value >> i % 8 & 1


def numbers(address, code, first, n):
    """n numbers of a struct code, from item ``first`` on."""
    size = struct.calcsize(f"={code}")
    return struct.unpack(f"={n}{code}", ctypes.string_at(address + first * size, n * size)) if n > 0 else ()


def offset_code(names):
    return next(("i" if n.endswith("32") else "q" for n in names if n.startswith("offsets")), None)


def values_of(schema, array, offset=0, length=None):
    """The rows of an array in CPU memory as Python values: temporal types and decimals as their numbers."""
    format = text_at(schema.format)
    length = array.length if length is None else length
    first = array.offset + offset
    if schema.dictionary:
        indices = plain_values(format, schema, array, first, length)
        words = values_of(dictionary_of(schema), dictionary_of(array))
        rows = [None if i is None else words[i] for i in indices]
    else:
        rows = plain_values(format, schema, array, first, length)
    return rows


def plain_values(format, schema, array, first, length):
    names, _, bits = layout(format)
    buffers = buffers_of(format, array)
    below = list(zip(children_of(schema), children_of(array)))
    if format == "n":
        return [None] * length
    if format == "+r":
        return run_values(below, first, length)
    if format.startswith("+u"):
        return union_values(format, buffers, below, first, length)
    validity = buffers["validity"]
    valid = [not validity or bit(validity, first + i) for i in range(length)]
    if "data" in names:
        rows = data_values(format, buffers["data"], bits, first, length)
    elif is_view(format):
        rows = [view_value(format, buffers, first + i) if ok else None for i, ok in enumerate(valid)]
    elif "bytes" in names:
        ends = numbers(
            buffers["offsets32" if "offsets32" in names else "offsets64"], offset_code(names), first, length + 1
        )
        rows = [ctypes.string_at(buffers["bytes"] + a, b - a) if b > a else b"" for a, b in zip(ends, ends[1:])]
        rows = [r.decode() if ok else None for r, ok in zip(rows, valid)] if format in "uU" else rows
    elif format == "+s":
        named = [(text_at(s.name), values_of(s, a, first, length)) for s, a in below]
        rows = [{k: v[i] for k, v in named} for i in range(length)]
    else:
        rows = list_values(format, names, buffers, below, first, length, valid)
    return [r if ok else None for r, ok in zip(rows, valid)]


def data_values(format, address, bits, first, length):
    if format == "b":
        return [bool(bit(address, first + i)) for i in range(length)]
    if format.startswith("w:") or format == "tin":
        size = bits // 8
        return [ctypes.string_at(address + (first + i) * size, size) for i in range(length)]
    if bits > 64:
        size = bits // 8
        at = [ctypes.string_at(address + (first + i) * size, size) for i in range(length)]
        return [int.from_bytes(b, "little", signed=True) for b in at]
    code = LETTERS.get(format, {8: "b", 16: "h", 32: "i", 64: "q"}[bits])
    return list(numbers(address, code, first, length))


def view_value(format, buffers, i):
    size = numbers(buffers["views"] + 16 * i, "i", 0, 1)[0]
    if size <= 12:
        data = ctypes.string_at(buffers["views"] + 16 * i + 4, size)
    else:
        _, which, start = numbers(buffers["views"] + 16 * i, "i", 1, 3)
        data = ctypes.string_at(buffers[f"bytes{which}"] + start, size)
    return data.decode() if format == "vu" else data


def list_values(format, names, buffers, below, first, length, valid):
    if format.startswith("+w:"):
        size = int(format[3:])
        spans = [((first + i) * size, size) for i in range(length)]
    else:
        code = offset_code(names)
        wide = "64" if code == "q" else "32"
        if format.startswith("+v"):
            starts = numbers(buffers["offsets" + wide], code, first, length)
            spans = list(zip(starts, numbers(buffers["sizes" + wide], code, first, length)))
        else:
            ends = numbers(buffers["offsets" + wide], code, first, length + 1)
            spans = [(a, b - a) for a, b in zip(ends, ends[1:])]
    return [values_of(*below[0], a, n) if ok else None for (a, n), ok in zip(spans, valid)]


def union_values(format, buffers, below, first, length):
    ids = [int(i) for i in format[4:].split(",")] if format[4:] else []
    types = numbers(buffers["types"], "b", first, length)
    places = numbers(buffers["offsets32"], "i", first, length) if format[2] == "d" else range(first, first + length)
    return [values_of(*below[ids.index(t)], p, 1)[0] for t, p in zip(types, places)]


def run_values(below, first, length):
    ends = values_of(*below[0])
    words = values_of(*below[1])
    return [words[next(k for k, end in enumerate(ends) if end > first + i)] for i in range(length)]
