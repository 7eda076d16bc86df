"""Arrow's JSON format for integration tests ("Integration testing" in the documentation of the format), read and written
as the structs of the C data interface, by hand: no library of Arrow has a part in it.

:func:`nodes_of` makes the arrays of a file, which ``cdevice.testing.conformance.standin`` offers; :func:`file_of` writes a
schema and arrays, taken out of their capsules, as such a file.
"""

import re
import struct

from cdevice.testing.conformance.layouts import LETTERS, bit, numbers
from cdevice.testing.conformance.standin import Node
from cdevice.testing.conformance.structs import children_of, dictionary_of, pointers_at, text_at

ORDERED, NULLABLE, SORTED = 1, 2, 4
PLAIN = {
    "null": "n",
    "bool": "b",
    "utf8": "u",
    "largeutf8": "U",
    "binary": "z",
    "largebinary": "Z",
    "utf8view": "vu",
    "binaryview": "vz",
    "list": "+l",
    "largelist": "+L",
    "listview": "+vl",
    "largelistview": "+vL",
    "struct": "+s",
    "map": "+m",
    "runendencoded": "+r",
}
NAMES = {format: name for name, format in PLAIN.items()}
INTS = dict(zip("cCsSiIlL", [(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)]))
FLOATS = {"e": "HALF", "f": "SINGLE", "g": "DOUBLE"}
UNITS = {"s": "SECOND", "m": "MILLISECOND", "u": "MICROSECOND", "n": "NANOSECOND"}
DATES = {"tdD": "DAY", "tdm": "MILLISECOND"}
INTERVALS = {"tiM": "YEAR_MONTH", "tiD": "DAY_TIME", "tin": "MONTH_DAY_NANO"}
MODES = {"s": "SPARSE", "d": "DENSE"}
PARTS = {"tiD": ("ii", ("days", "milliseconds")), "tin": ("iiq", ("months", "days", "nanoseconds"))}
TEXTS, BYTES, LISTS = ("u", "U"), ("z", "Z"), ("+l", "+L", "+m", "+vl", "+vL")
WIDE = ("U", "Z", "+L", "+vL")  # formats with offsets of 64 bits, which stand in JSON as texts


def key_of(value, table):
    return next(k for k, v in table.items() if v == value)


# ---- types ----
def format_of(type):
    """A type's format string."""
    name = type["name"]
    if name in PLAIN:
        return PLAIN[name]
    if name == "int":
        return key_of((type["bitWidth"], type["isSigned"]), INTS)
    if name == "floatingpoint":
        return key_of(type["precision"], FLOATS)
    if name == "fixedsizebinary":
        return f"w:{type['byteWidth']}"
    if name == "fixedsizelist":
        return f"+w:{type['listSize']}"
    if name == "decimal":
        bits = type.get("bitWidth", 128)
        return f"d:{type['precision']},{type['scale']}" + (f",{bits}" if bits != 128 else "")
    if name == "date":
        return key_of(type["unit"], DATES)
    if name == "interval":
        return key_of(type["unit"], INTERVALS)
    if name == "union":
        return f"+u{key_of(type['mode'], MODES)}:{','.join(map(str, type['typeIds']))}"
    unit = key_of(type["unit"], UNITS)
    return {"time": f"tt{unit}", "duration": f"tD{unit}", "timestamp": f"ts{unit}:{type.get('timezone', '')}"}[name]


def type_of(format, flags):
    """The type of a format string; the inverse of :func:`format_of`."""
    if format == "+m":
        return {"name": "map", "keysSorted": bool(flags & SORTED)}
    if format in NAMES:
        return {"name": NAMES[format]}
    if format in INTS:
        return {"name": "int", "bitWidth": INTS[format][0], "isSigned": INTS[format][1]}
    if format in FLOATS:
        return {"name": "floatingpoint", "precision": FLOATS[format]}
    if format in DATES:
        return {"name": "date", "unit": DATES[format]}
    if format in INTERVALS:
        return {"name": "interval", "unit": INTERVALS[format]}
    if format.startswith("tt"):
        return {"name": "time", "unit": UNITS[format[2]], "bitWidth": 32 if format[2] in "sm" else 64}
    if format.startswith("tD"):
        return {"name": "duration", "unit": UNITS[format[2]]}
    if format.startswith("ts"):
        zone = {"timezone": format[4:]} if format[4:] else {}
        return {"name": "timestamp", "unit": UNITS[format[2]], **zone}
    if format.startswith("d:"):
        digits, scale, *bits = map(int, format[2:].split(","))
        return {"name": "decimal", "precision": digits, "scale": scale, "bitWidth": bits[0] if bits else 128}
    if format.startswith("w:"):
        return {"name": "fixedsizebinary", "byteWidth": int(format[2:])}
    if format.startswith("+w:"):
        return {"name": "fixedsizelist", "listSize": int(format[3:])}
    mode, ids = re.fullmatch(r"\+u([sd]):(.*)", format).groups()
    return {"name": "union", "mode": MODES[mode], "typeIds": [int(i) for i in ids.split(",") if i]}


def metadata_bytes(pairs):
    """Metadata as ArrowSchema.metadata has it."""
    out = struct.pack("=i", len(pairs))
    for pair in pairs:
        for text in (pair["key"].encode(), pair["value"].encode()):
            out += struct.pack("=i", len(text)) + text
    return out


def metadata_at(address):
    pairs, at = [], address + 4
    for _ in range(numbers(address, "i", 0, 1)[0]):
        texts = []
        for _ in range(2):
            (size,) = numbers(at, "i", 0, 1)
            texts.append(bytes(numbers(at + 4, "B", 0, size)).decode())
            at += 4 + size
        pairs.append({"key": texts[0], "value": texts[1]})
    return pairs


# ---- values ----
def bits_of(flags):
    """A bitmap, padded as the format recommends."""
    out = bytearray(-(-len(flags) // 64) * 8)
    for i, flag in enumerate(flags):
        out[i // 8] |= bool(flag) << i % 8
    return bytes(out)


def width_of(format):
    """Bytes of an item with a fixed width."""
    if format.startswith("w:"):
        return int(format[2:])
    bits = re.fullmatch(r"d:\d+,-?\d+(?:,(\d+))?", format)
    return int(bits[1] or 128) // 8


def letter_of(format):
    """The struct code of an item that is a number; None for others."""
    if format in LETTERS:
        return LETTERS[format]
    if format in ("tdD", "tts", "ttm", "tiM"):
        return "i"
    return "q" if format[:2] in ("td", "tt", "ts", "tD") else None


def is_text(letter):
    """Numbers of 64 bits stand in JSON as texts."""
    return letter in ("q", "Q")


def data_bytes(format, values):
    """The buffer of items with a fixed width."""
    if format == "b":
        return bits_of(values)
    letter = letter_of(format)
    if letter:
        return struct.pack(f"<{len(values)}{letter}", *[int(v) if is_text(letter) else v for v in values])
    if format in PARTS:
        letters, names = PARTS[format]
        return b"".join(struct.pack(f"<{letters}", *[v[n] for n in names]) for v in values)
    if format.startswith("w:"):
        return b"".join(map(bytes.fromhex, values))
    return b"".join(int(v).to_bytes(width_of(format), "little", signed=True) for v in values)


def data_at(format, address, length):
    """What :func:`data_bytes` was made of."""
    if format == "b":
        return [bool(bit(address, i)) for i in range(length)]
    letter = letter_of(format)
    if letter:
        found = numbers(address, letter, 0, length)
        return [str(v) if is_text(letter) else v for v in found]
    if format in PARTS:
        letters, names = PARTS[format]
        size = struct.calcsize(f"={letters}")
        rows = struct.iter_unpack(f"={letters}", bytes(numbers(address, "B", 0, size * length)))
        return [dict(zip(names, row)) for row in rows]
    width = width_of(format)
    rows = [bytes(numbers(address + i * width, "B", 0, width)) for i in range(length)]
    if format.startswith("w:"):
        return [row.hex().upper() for row in rows]
    return [str(int.from_bytes(row, "little", signed=True)) for row in rows]


def as_bytes(format, value):
    return value.encode() if format in (*TEXTS, "vu") else bytes.fromhex(value)


def as_value(format, data):
    return data.decode() if format in (*TEXTS, "vu") else data.hex().upper()


def offsets_bytes(format, values):
    return struct.pack(f"<{len(values)}{'q' if format in WIDE else 'i'}", *map(int, values))


def offsets_at(format, address, length):
    found = numbers(address, "q" if format in WIDE else "i", 0, length)
    return list(map(str, found)) if format in WIDE else list(found)


def view_bytes(format, view):
    if "INLINED" in view:
        return struct.pack("<i12s", view["SIZE"], as_bytes(format, view["INLINED"]))
    prefix = bytes.fromhex(view["PREFIX_HEX"])
    return struct.pack("<i4sii", view["SIZE"], prefix, view["BUFFER_INDEX"], view["OFFSET"])


def view_at(format, address):
    size, prefix, which, start = struct.unpack("<i4sii", bytes(numbers(address, "B", 0, 16)))
    if size <= 12:
        return {"SIZE": size, "INLINED": as_value(format, bytes(numbers(address + 4, "B", 0, size)))}
    return {"SIZE": size, "PREFIX_HEX": prefix.hex().upper(), "BUFFER_INDEX": which, "OFFSET": start}


# ---- from JSON ----
def node_of(field, data, dictionaries):
    """The array of a field."""
    words = field.get("dictionary")
    if words:
        plain = {k: v for k, v in field.items() if k not in ("dictionary", "metadata", "nullable")}
        column = dictionaries[words["id"]]["columns"][0]
        node = node_of({**field, "type": words["indexType"], "children": [], "dictionary": None}, data, dictionaries)
        node.dictionary = node_of({**plain, "name": "", "nullable": True}, column, dictionaries)
        node.flags |= ORDERED * words["isOrdered"]
        return node
    format = format_of(field["type"])
    below = [node_of(f, d, dictionaries) for f, d in zip(field["children"], data.get("children", []))]
    node = Node(format, data["count"], buffers_of(format, data), below, 0, 0, field["name"])
    node.nulls = data["count"] if format == "n" else data.get("VALIDITY", []).count(0)
    node.flags = NULLABLE * field["nullable"] | SORTED * field["type"].get("keysSorted", False)
    if field.get("metadata"):
        node.metadata = metadata_bytes(field["metadata"])
    return node


def buffers_of(format, data):
    if format in ("n", "+r"):
        return []
    if format.startswith("+u"):
        types = struct.pack(f"<{data['count']}b", *data["TYPE_ID"])
        return [types, offsets_bytes(format, data["OFFSET"])] if format[2] == "d" else [types]
    bitmap = [bits_of(data["VALIDITY"]) if 0 in data["VALIDITY"] else None]
    if format == "+s" or format.startswith("+w:"):
        return bitmap
    if format in LISTS:
        sizes = [offsets_bytes(format, data["SIZE"])] if "SIZE" in data else []
        return [*bitmap, offsets_bytes(format, data["OFFSET"]), *sizes]
    if format in TEXTS + BYTES:
        return [*bitmap, offsets_bytes(format, data["OFFSET"]), b"".join(as_bytes(format, v) for v in data["DATA"])]
    if format in ("vu", "vz"):
        shared = list(map(bytes.fromhex, data["VARIADIC_DATA_BUFFERS"]))
        sizes = struct.pack(f"<{len(shared)}q", *map(len, shared))
        return [*bitmap, b"".join(view_bytes(format, v) for v in data["VIEWS"]), *shared, sizes]
    return [*bitmap, data_bytes(format, data["DATA"])]


def batch_of(fields, data, dictionaries, metadata):
    node = Node("+s", data["count"], [None])
    node.children = [node_of(f, c, dictionaries) for f, c in zip(fields, data["columns"])]
    node.flags = 0
    if metadata:
        node.metadata = metadata_bytes(metadata)
    return node


def nodes_of(file):
    """(the schema's node, the node of each batch)."""
    dictionaries = {d["id"]: d["data"] for d in file.get("dictionaries", [])}
    fields, metadata = file["schema"]["fields"], file["schema"].get("metadata")
    batches = [batch_of(fields, b, dictionaries, metadata) for b in file["batches"]]
    empty = {"count": 0, "columns": [nothing(f) for f in fields]}
    none = {i: {"count": 0, "columns": [nothing({**f, "dictionary": None})]} for i, f in dictionary_fields(fields)}
    return batch_of(fields, empty, {**none, **dictionaries}, metadata), batches


def dictionary_fields(fields):
    for field in fields:
        if field.get("dictionary"):
            yield field["dictionary"]["id"], field
        yield from dictionary_fields(field["children"])


def nothing(field):
    """The data of a field in a batch without rows."""
    lists = ("OFFSET", "SIZE", "TYPE_ID", "DATA", "VIEWS", "VARIADIC_DATA_BUFFERS", "VALIDITY")
    below = [] if field.get("dictionary") else [nothing(f) for f in field["children"]]
    out = {"name": field["name"], "count": 0, **{name: [] for name in lists}, "children": below}
    if field["type"]["name"] not in ("listview", "largelistview"):
        del out["SIZE"]
    if field["type"]["name"] != "union" and "SIZE" not in out:
        out["OFFSET"] = [0]
    return out


# ---- to JSON ----
class Writer:
    """Writes structs; dictionaries are numbered as they come."""

    def __init__(self):
        self.dictionaries = {}

    def field(self, schema):
        words, format = dictionary_of(schema), text_at(schema.format)
        out = {"name": text_at(schema.name) or "", "nullable": bool(schema.flags & NULLABLE)}
        if words is not None:
            self.dictionaries[len(self.dictionaries)] = None
            number = len(self.dictionaries) - 1
            inner = self.field(words)
            out["dictionary"] = {
                "id": number,
                "indexType": type_of(format, 0),
                "isOrdered": bool(schema.flags & ORDERED),
            }
            out.update(type=inner["type"], children=inner["children"])
            if "dictionary" in inner:
                raise ValueError("a dictionary of a dictionary")
        else:
            out.update(type=type_of(format, schema.flags), children=[self.field(c) for c in children_of(schema)])
        if schema.metadata:
            out["metadata"] = metadata_at(schema.metadata)
        return out

    def schema(self, schema):
        out = {"fields": [self.field(c) for c in children_of(schema)]}
        if schema.metadata:
            out["metadata"] = metadata_at(schema.metadata)
        return out

    def column(self, schema, array, counter):
        """The data of a column; ``counter`` numbers dictionaries as :meth:`field` does."""
        assert array.offset == 0
        words, format = dictionary_of(schema), text_at(schema.format)
        out = {"name": text_at(schema.name) or "", "count": array.length}
        if words is not None:
            number = next(counter)
            column = self.column(words, dictionary_of(array), counter)
            data = {"count": column["count"], "columns": [{**column, "name": f"DICT{number}"}]}
            if self.dictionaries[number] not in (None, data):
                raise ValueError("two batches have two dictionaries")
            self.dictionaries[number] = data
        out.update(self.buffers(format, array))
        if words is None and children_of(schema):
            pairs = zip(children_of(schema), children_of(array))
            out["children"] = [self.column(s, a, counter) for s, a in pairs]
        return out

    def buffers(self, format, array):
        n, at = array.length, pointers_at(array.buffers, array.n_buffers)
        if format in ("n", "+r"):
            return {}
        if format.startswith("+u"):
            offsets = {"OFFSET": offsets_at(format, at[1], n)} if format[2] == "d" else {}
            return {"TYPE_ID": list(numbers(at[0], "b", 0, n)), **offsets}
        out = {"VALIDITY": [bit(at[0], i) for i in range(n)] if at[0] else [1] * n}
        if format == "+s" or format.startswith("+w:"):
            return out
        if format in ("+vl", "+vL"):
            return {**out, "OFFSET": offsets_at(format, at[1], n), "SIZE": offsets_at(format, at[2], n)}
        if format in ("vu", "vz"):
            sizes = numbers(at[-1], "q", 0, len(at) - 3)
            shared = [bytes(numbers(b, "B", 0, size)).hex().upper() for b, size in zip(at[2:-1], sizes)]
            views = [view_at(format, at[1] + 16 * i) for i in range(n)]
            return {**out, "VIEWS": views, "VARIADIC_DATA_BUFFERS": shared}
        if format in LISTS + TEXTS + BYTES:
            out["OFFSET"] = offsets_at(format, at[1], n + 1) if at[1] else ["0" if format in WIDE else 0]
            if format in LISTS:
                return out
            ends = list(map(int, out["OFFSET"]))
            rows = [bytes(numbers(at[2] + a, "B", 0, b - a)) if b > a else b"" for a, b in zip(ends, ends[1:])]
            return {**out, "DATA": [as_value(format, row) for row in rows]}
        return {**out, "DATA": data_at(format, at[1], n)}


def file_of(schema, arrays):
    """The file of a schema and its arrays."""
    import itertools

    writer = Writer()
    out = {"schema": writer.schema(schema), "batches": []}
    for array in arrays:
        counter = itertools.count()
        pairs = zip(children_of(schema), children_of(array))
        columns = [writer.column(s, a, counter) for s, a in pairs]
        out["batches"].append({"count": array.length, "columns": columns})
    words = [{"id": i, "data": d} for i, d in sorted(writer.dictionaries.items()) if d is not None]
    return {**out, "dictionaries": words} if words else out
