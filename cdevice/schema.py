"""Types and fields: what an ArrowSchema says, and short ways to write one down."""

from __future__ import annotations

import struct
from operator import index

from ._ext import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, SupportsIndex

    from ._types import Metadata

NULLABLE = 2
DICTIONARY_ORDERED = 1
KEYS_SORTED = 4

# word <-> format of the types without parameters
_WORDS = {
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
_FORMATS = {v: k for k, v in _WORDS.items()}
_ALIASES = {
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
UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
UNIT_LETTERS = {v: k for k, v in UNITS.items()}


def _decode_metadata(raw: Any) -> dict[bytes, bytes] | None:
    if raw is None:
        return None
    out, at = {}, 4
    for _ in range(struct.unpack_from("=i", raw)[0]):
        pair = []
        for _ in range(2):
            (n,) = struct.unpack_from("=i", raw, at)
            pair.append(raw[at + 4 : at + 4 + n])
            at += 4 + n
        out[pair[0]] = pair[1]
    return out


def _encode_metadata(metadata: Metadata | None) -> bytes | None:
    """As ArrowSchema.metadata; a block of bytes is taken as it is, and checked where it is read."""
    if metadata is None or isinstance(metadata, bytes):
        return metadata
    if not hasattr(metadata, "items"):
        raise TypeError(f"metadata is a mapping of str or bytes, not {type(metadata).__name__}")
    pairs = list(metadata.items())
    out = [struct.pack("=i", len(pairs))]
    for pair in pairs:
        for part in pair:
            if not isinstance(part, (str, bytes, bytearray, memoryview)):
                raise TypeError(f"metadata is str or bytes, not {type(part).__name__}")
            data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else bytes(part)
            out += [struct.pack("=i", len(data)), data]
    return b"".join(out)


class Schema(_native.SchemaBase):
    """A type, a field or the schema of a record batch: one node of an ArrowSchema with what is below it.

    Comes from an array's ``.schema``, from :func:`asschema`, or from :meth:`make`.  Immutable, shared by count; keeping
    a schema does not keep any data.
    """

    __slots__ = ("__weakref__",)

    @staticmethod
    def make(
        format: str,
        name: str = "",
        *,
        children: Iterable[Schema] = (),
        dictionary: Schema | None = None,
        nullable: bool = True,
        metadata: Metadata | None = None,
        flags: int | None = None,
    ) -> Schema:
        """A schema node from its parts.

        ``format``: of the Arrow C data interface ("l", "+s", "tsu:UTC"); ``children``: Schemas; ``dictionary``: Schema
        of the values, then ``format`` is the index type; ``metadata``: mapping of str or bytes.  Copies everything.
        Raises InvalidArray where format and children do not fit.
        """
        if flags is None:
            flags = NULLABLE if nullable else 0
        return _native.make_schema(format, name, _encode_metadata(metadata), flags, tuple(children), dictionary)

    @property
    def children(self) -> list[Schema]:
        """The fields below, as Schemas."""
        return [self._child(i) for i in range(self._n_children)]

    @property
    def dictionary(self) -> Schema | None:
        """The Schema of a dictionary's values, or None."""
        return self._child(-1)

    @property
    def nullable(self) -> bool:
        """May its values be null?"""
        return bool(self.flags & NULLABLE)

    @property
    def metadata(self) -> dict[bytes, bytes] | None:
        """Mapping of bytes to bytes, or None."""
        return _decode_metadata(self._metadata)

    @property
    def type(self) -> str:
        """The type in words, such as "list<item: int32>"."""
        return _words(self)

    def with_name(self, name: str) -> Schema:
        """The same field under another name."""
        return Schema.make(
            self.format,
            name,
            children=self.children,
            dictionary=self.dictionary,
            flags=self.flags,
            metadata=self._metadata,
        )

    def equals(self, other: object, check_metadata: bool = False) -> bool:
        """Same types, field names and nullability; the top-level name counts not."""
        return self._equal(other, check_metadata, False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self._equal(other, True, True)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return self._n_children

    def __iter__(self) -> Iterator[Schema]:
        return iter(self.children)

    def __getitem__(self, key: str | SupportsIndex) -> Schema:
        number = self._index(key) if isinstance(key, str) else index(key)
        if number < 0:
            number += self._n_children
        if number < 0:
            raise IndexError("no such field")
        return self._child(number)

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" if self.name else self.type

    def __repr__(self) -> str:
        return f"<cdevice.Schema {self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.format, self.name, self._metadata, self.flags, self.children, self.dictionary)


def _rebuild(
    format: str, name: str, metadata: bytes | None, flags: int, children: Iterable[Schema], dictionary: Schema | None
) -> Schema:
    return Schema.make(format, name, children=children, dictionary=dictionary, flags=flags, metadata=metadata)


def _words(s: Schema) -> str:
    f = s.format
    if s.dictionary is not None:
        ordered = int(bool(s.flags & DICTIONARY_ORDERED))
        return f"dictionary<values={_words(s.dictionary)}, indices={_FORMATS[f]}, ordered={ordered}>"
    if f in _FORMATS:
        return _FORMATS[f]
    if f.startswith("ts"):
        unit, zone = UNITS[f[2]], f[4:]
        return f"timestamp[{unit}, tz={zone}]" if zone else f"timestamp[{unit}]"
    if f.startswith("d:"):
        numbers = f[2:].split(",")
        return f"decimal{numbers[2] if len(numbers) == 3 else 128}({numbers[0]}, {numbers[1]})"
    if f.startswith("w:"):
        return f"fixed_size_binary[{f[2:]}]"
    inner = ", ".join(f"{c.name}: {_words(c)}" + ("" if c.nullable else " not null") for c in s.children)
    if f == "+s":
        return f"struct<{inner}>"
    if f == "+m":
        key, value = s.children[0].children
        return f"map<{_words(key)}, {_words(value)}>"
    if f == "+r":
        ends, values = s.children
        return f"run_end_encoded<run_ends: {_words(ends)}, values: {_words(values)}>"
    if f.startswith("+u"):
        ids = f[4:].split(",")
        inner = ", ".join(f"{c.name}: {_words(c)}={i}" for c, i in zip(s.children, ids))
        return f"{'dense' if f[2] == 'd' else 'sparse'}_union<{inner}>"
    if f.startswith("+w:"):
        return f"fixed_size_list<{inner}>[{f[3:]}]"
    word = {"+l": "list", "+L": "large_list", "+vl": "list_view", "+vL": "large_list_view"}[f]
    return f"{word}<{inner}>"


def _parse(text: str, name: str = "") -> Schema:
    word = text.strip()
    if word in _WORDS:
        return Schema.make(_WORDS[word], name)
    if word.lower() in _ALIASES:
        return Schema.make(_ALIASES[word.lower()], name)
    head, _, rest = word.partition("[")
    if rest.endswith("]"):
        first, _, zone = (p.strip() for p in rest[:-1].partition(","))
        if head == "timestamp" and first in UNIT_LETTERS:
            return Schema.make(f"ts{UNIT_LETTERS[first]}:{zone.removeprefix('tz=').strip()}", name)
        if head == "fixed_size_binary" and first.isdecimal() and not zone:
            return Schema.make(f"w:{int(first)}", name)
    head, _, rest = word.partition("(")
    if head in ("decimal", "decimal32", "decimal64", "decimal128", "decimal256") and rest.endswith(")"):
        bits = head[7:] or "128"
        numbers = rest[:-1].replace(" ", "")
        return Schema.make(f"d:{numbers}" + ("" if bits == "128" else f",{bits}"), name)
    if word.endswith((">", "]")) and "<" in word:
        return _parse_nested(word, name)
    return Schema.make(word, name)  # a format string, or an error that says so


_LISTS = {"list": "+l", "large_list": "+L", "list_view": "+vl", "large_list_view": "+vL"}


def _parse_nested(word: str, name: str) -> Schema:
    head, _, rest = word.partition("<")
    inner, _, size = rest.rpartition(">")
    parts = _split(inner)
    if head == "fixed_size_list" and size[:1] == "[" and size[-1:] == "]" and len(parts) == 1:
        return Schema.make(f"+w:{size[1:-1]}", name, children=[_parse_field(parts[0], "item")])
    if not size:
        if head in _LISTS and len(parts) == 1:
            return Schema.make(_LISTS[head], name, children=[_parse_field(parts[0], "item")])
        if head == "struct":
            return Schema.make("+s", name, children=[_parse_field(p, f"f{i}") for i, p in enumerate(parts)])
        if head == "map" and len(parts) == 2:
            fields = [_parse_field(parts[0] + " not null", "key"), _parse_field(parts[1], "value")]
            pair = Schema.make("+s", "entries", children=fields, nullable=False)
            return Schema.make("+m", name, children=[pair])
        if head == "run_end_encoded" and len(parts) == 2:
            ends = _parse_field(parts[0].removesuffix(" not null") + " not null", "run_ends")
            return Schema.make("+r", name, children=[ends, _parse_field(parts[1], "values")])
        if head in ("dense_union", "sparse_union") and all("=" in p for p in parts):
            pairs = [p.rpartition("=")[::2] for p in parts]
            ids = ",".join(n for _, n in pairs)
            return Schema.make(f"+u{head[0]}:{ids}", name, children=[_parse_field(p, "") for p, _ in pairs])
        if head == "dictionary" and all("=" in p for p in parts):
            of = dict(p.split("=", 1) for p in parts)
            if {"values", "indices"} <= of.keys() <= {"values", "indices", "ordered"}:
                index = _parse(of["indices"])
                flags = NULLABLE | (DICTIONARY_ORDERED if of.get("ordered", "0") == "1" else 0)
                return Schema.make(index.format, name, dictionary=_parse(of["values"]), flags=flags)
    return Schema.make(word, name)  # an error that says so


def _split(text: str) -> list[str]:
    """The parts between the commas that are in no bracket."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<[(") - (c in ">])")
        if c == "," and not depth:
            out.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return out + [last] if last or out else []


def _parse_field(text: str, default: str) -> Schema:
    """ "name: type", the name being optional, and perhaps "not null" behind it."""
    nullable = not text.endswith(" not null")
    text = text.removesuffix(" not null")
    field, colon, of = text.partition(": ")
    if not colon or any(c in field for c in "<[("):
        field, of = default, text
    out = _parse(of, field)
    if nullable:
        return out
    flags = out.flags & ~NULLABLE
    return Schema.make(out.format, out.name, children=out.children, dictionary=out.dictionary, flags=flags)


def asschema(obj: Any, name: str | None = None) -> Schema:
    """The :class:`Schema` for a type.

    Takes a Schema, anything with ``__arrow_c_schema__`` (pyarrow types, fields and schemas, nanoarrow, polars, an
    array), a word as ``Schema.type`` gives it ("int64", "timestamp[us, UTC]", "decimal128(9, 2)", "list<string>",
    "struct<a: int8, b: string>", "fixed_size_list<float>[3]", "map<string, int8>"), a format string ("+w:3" needs
    children, see :meth:`Schema.make`), a mapping of names to types (a struct) or a one-element list (a list).
    Raises InvalidArray for an unknown word, TypeError for another kind of object.
    """
    if isinstance(obj, Schema):
        out = obj
    elif hasattr(obj, "__arrow_c_schema__"):
        out = _native.import_schema(obj.__arrow_c_schema__())
    elif isinstance(obj, str):
        out = _parse(obj)
    elif isinstance(obj, dict):
        out = Schema.make("+s", children=[asschema(t, str(n)) for n, t in obj.items()])
    elif isinstance(obj, list) and len(obj) == 1:
        out = Schema.make("+l", children=[asschema(obj[0], "item")])
    else:
        raise TypeError(f"no type can be made of {type(obj).__name__}")
    return out if name is None or out.name == name else out.with_name(name)
