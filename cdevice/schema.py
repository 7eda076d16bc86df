"""Types and fields: the contents of an ArrowSchema, and short forms of types."""

from __future__ import annotations

from _operator import index  # operator's own import costs a tenth of the package's

from ._runtime.ext import _native
from ._runtime.lazy import LazyModule
from .errors import InvalidArray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, SupportsIndex

    from ._runtime import html as _html
    from ._types import Metadata
else:
    _html = LazyModule("cdevice._runtime.html")

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
    import struct  # here: few ask for metadata, and everybody imports

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
        raise TypeError(f"metadata must be a mapping of str or bytes, not {type(metadata).__name__}")
    import struct

    pairs = list(metadata.items())
    out = [struct.pack("=i", len(pairs))]
    for pair in pairs:
        for part in pair:
            if not isinstance(part, (str, bytes, bytearray, memoryview)):
                raise TypeError(f"metadata must be str or bytes, not {type(part).__name__}")
            data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else bytes(part)
            out += [struct.pack("=i", len(data)), data]
    return b"".join(out)


class Schema(_native.SchemaBase):
    """A type, a field or the schema of a record batch: one node of an ArrowSchema with the nodes below it.

    Comes from an array's ``.schema``, from :func:`asschema`, or from :meth:`make`.  Immutable, shared by count; keeping
    a schema does not keep any data.  No method blocks.  Any thread.
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

        ``format``: of the Arrow C data interface ("l", "+s", "tsu:UTC").  ``name``: of the field.  ``children``:
        Schemas.  ``dictionary``: Schema of the values, then ``format`` is the index type.  ``nullable``: may its values
        be null.  ``metadata``: mapping of str or bytes.  ``flags``: ARROW_FLAG_* bits, in place of ``nullable``.

        Copies everything.  Raises InvalidArray where format and children do not fit, TypeError for a name that is not a
        str.
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

    @property
    def label(self) -> str:
        """The type in words; an extension type by its own name."""
        name = (self.metadata or {}).get(b"ARROW:extension:name")
        return name.decode("utf-8", "replace") if name else self.type

    @property
    def _title(self) -> str:
        """The type in words; of an extension type its own name, and in brackets what it is stored as."""
        label, words = self.label, self.type
        return words if label == words else f"{label} ({words})"

    def with_name(self, name: str) -> Schema:
        """The same field under another name.

        ``name``: the new name.  Raises TypeError for a name that is not a str.
        """
        return Schema.make(
            self.format,
            name,
            children=self.children,
            dictionary=self.dictionary,
            flags=self.flags,
            metadata=self._metadata,
        )

    def equals(self, other: object, check_metadata: bool = False) -> bool:
        """Same types, field names and nullability; the top-level name is not compared.

        ``other``: what :func:`asschema` takes.  ``check_metadata``: compare metadata too.  Raises what :func:`asschema`
        raises for ``other``.
        """
        return self._equal(asschema(other), check_metadata, False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            if isinstance(other, type) or not hasattr(other, "__arrow_c_schema__"):
                return NotImplemented
            other = asschema(other)
        return self._equal(other, True, True)

    __hash__ = None  # type: ignore[assignment]

    def index_of(self, name: str) -> int:
        """The number of a field.

        ``name``: of the field.  Raises KeyError with the names there are.
        """
        try:
            return self._index(name)
        except KeyError:
            names = self.names
        if name in names:
            raise KeyError(f"{names.count(name)} fields are named {name!r}: pass a field number")
        if not names:
            raise KeyError(f"no field {name!r}: {self.type} has no fields")
        told = ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
        raise KeyError(f"no field {name!r}; there are {told}")

    def field(self, key: str | SupportsIndex) -> Schema:
        """A field.

        ``key``: its name or number.  Raises KeyError, IndexError.
        """
        return self[key]

    def __contains__(self, name: object) -> bool:
        """Is there a field of that name, or that field?"""
        if isinstance(name, str):
            return name in self.names
        return any(name == field for field in self.children)

    def _ipython_key_completions_(self) -> list[str]:
        return self.names

    def __len__(self) -> int:
        return self._n_children

    def __iter__(self) -> Iterator[Schema]:
        return iter(self.children)

    def __getitem__(self, key: str | SupportsIndex) -> Schema:
        number = self.index_of(key) if isinstance(key, str) else index(key)
        if number < 0:
            number += self._n_children
        if number < 0:
            raise IndexError("no such field")
        return self._child(number)

    def __str__(self) -> str:
        """The type, "name: type" where it has a name; of a record batch's schema one field a line."""
        if self.format == "+s" and not self.name:
            return "\n".join(_field_lines(self))
        return f"{self.name}: {self.type}" if self.name else self.type

    def __repr__(self) -> str:
        return _described(self)

    def _repr_html_(self) -> str:
        fields = self.children if self.format == "+s" else [self]
        body = [[c.name, c.label, "" if c.nullable else "not null"] for c in fields]
        return _html.table_html("cdevice.Schema", [["field", "type", ""]], body)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.format, self.name, self._metadata, self.flags, self.children, self.dictionary)


def _rebuild(
    format: str, name: str, metadata: bytes | None, flags: int, children: Iterable[Schema], dictionary: Schema | None
) -> Schema:
    return Schema.make(format, name, children=children, dictionary=dictionary, flags=flags, metadata=metadata)


_SHOWN = 40  # fields of a schema that are shown


def _field_lines(schema: Schema) -> list[str]:
    """ "name: type" of each field below."""
    return [f"{c.name}: {c.label}" + ("" if c.nullable else " not null") for c in schema.children]


def _described(schema: Schema) -> str:
    """What ``repr`` shows: of a struct one field a line."""
    if schema.format != "+s":
        return (
            f"<cdevice.Schema {schema.name}: {schema._title}>" if schema.name else f"<cdevice.Schema {schema._title}>"
        )
    lines = _field_lines(schema)
    n = len(lines)
    if n > _SHOWN:
        lines = [*lines[: _SHOWN - 10], f"... {n - _SHOWN} more fields ...", *lines[-10:]]
    name = f" {schema.name!r}" if schema.name else ""
    keys = ", ".join(k.decode("utf-8", "replace") for k in schema.metadata or ())
    head = f"<cdevice.Schema{name} of {n} field{'' if n == 1 else 's'}" + (f", metadata {keys}>" if keys else ">")
    return "\n  ".join([head, *lines])


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
    known = _ALIASES.get(word.lower()) or (_WORDS.get(word.lower()) if len(word) > 2 else None)
    if known is not None:
        return Schema.make(known, name)
    head, _, rest = word.partition("[")
    if rest.endswith("]"):
        first, _, zone = rest[:-1].partition(",")
        first, zone = first.strip(), zone.lstrip()
        if head == "timestamp" and first in UNIT_LETTERS:  # what stands behind tz= is the zone, blanks and all
            zone = zone[3:] if zone.startswith("tz=") else zone.strip()
            return Schema.make(f"ts{UNIT_LETTERS[first]}:{zone}", name)
        if head == "fixed_size_binary" and first.isdecimal() and not zone:
            return Schema.make(f"w:{int(first)}", name)
    head, _, rest = word.partition("(")
    if head in ("decimal", "decimal32", "decimal64", "decimal128", "decimal256") and rest.endswith(")"):
        bits = head[7:] or "128"
        numbers = rest[:-1].replace(" ", "")
        return Schema.make(f"d:{numbers}" + ("" if bits == "128" else f",{bits}"), name)
    if word.endswith((">", "]")) and "<" in word:
        return _parse_nested(word, name)
    try:
        return Schema.make(word, name)  # a format string
    except InvalidArray as e:
        if not word or len(word) > 2 and word[:3].isalpha():  # no format is a word
            raise InvalidArray(f"unknown type {word!r}{_near(word)}") from None
        raise e


# what people write of types that Arrow calls otherwise, or has several of
_MEANT = {
    "date": "date32",
    "datetime": "timestamp[us]",
    "timestamp": "timestamp[us]",
    "time": "time64[us]",
    "timedelta": "duration[us]",
    "duration": "duration[us]",
    "interval": "month_day_nano_interval",
    "category": "dictionary<values=string, indices=int32, ordered=0>",
    "categorical": "dictionary<values=string, indices=int32, ordered=0>",
    "text": "string",
    "varchar": "string",
    "object": "string",
    "decimal": "decimal128(38, 9)",
    "number": "float64",
    "integer": "int64",
    "long": "int64",
    "short": "int16",
    "char": "int8",
    "bfloat16": "uint16",
    "uuid": "fixed_size_binary[16]",
    "list": "list<int64>",
    "array": "list<int64>",
    "struct": "struct<a: int64>",
    "map": "map<string, int64>",
    "dictionary": "dictionary<values=string, indices=int32, ordered=0>",
    "fixed_size_list": "fixed_size_list<float32>[3]",
    "run_end_encoded": "run_end_encoded<run_ends: int32, values: int64>",
    "dense_union": "dense_union<a: int8=0, b: string=1>",
    "sparse_union": "sparse_union<a: int8=0, b: string=1>",
}


def _near(word: str) -> str:
    """What may have been meant by a word that is no type, as the end of a sentence."""
    import difflib

    low = word.lower()
    for numpys, ours in (("datetime64[", "timestamp["), ("timedelta64[", "duration[")):
        if low.startswith(numpys):
            return f": did you mean {ours}{low[len(numpys) :]}?"
    letters, digits = low.rstrip("0123456789"), low.lstrip("abcdefghijklmnopqrstuvwxyz")
    short = {"f": "float", "i": "int", "u": "uint", "uint": "uint", "float": "float", "int": "int"}.get(letters)
    meant = _MEANT.get(low.partition("[")[0].partition("(")[0]) or (f"{short}{digits}" if short and digits else None)
    near = [meant] if meant else difflib.get_close_matches(low, [*_WORDS, *_ALIASES], 3, 0.6)
    return f": did you mean {' or '.join(near)}?" if near else "; see asschema() for how types are written"


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
    raise InvalidArray(f"unknown type {word!r}{_near(head)}")


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
    try:
        out = _parse(of, field)
    except InvalidArray:
        field, colon, of = text.partition(":")  # without the blank it may be a format, "tsu:UTC"
        if not colon or of.startswith(" ") or any(c in field for c in "<[("):
            raise
        out = _parse(of, field)
    if nullable:
        return out
    flags = out.flags & ~NULLABLE
    return Schema.make(out.format, out.name, children=out.children, dictionary=out.dictionary, flags=flags)


_PYTHONS = {
    ("builtins", "bool"): "bool",
    ("builtins", "int"): "int64",
    ("builtins", "float"): "float64",
    ("builtins", "str"): "string",
    ("builtins", "bytes"): "binary",
    ("datetime", "date"): "date32",
    ("datetime", "datetime"): "timestamp[us]",
    ("datetime", "time"): "time64[us]",
    ("datetime", "timedelta"): "duration[us]",
}


def _of_dtype(obj: Any) -> Schema:
    """Of a numpy dtype or scalar type: what arrays of it become."""
    import numpy

    dtype = numpy.dtype(obj)
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        out = _of_dtype(base)
        for n in reversed(shape):
            out = Schema.make(f"+w:{n}", children=[out.with_name("item")])
        return out
    if dtype.fields:
        return Schema.make("+s", children=[_of_dtype(dtype.fields[n][0]).with_name(n) for n in dtype.names])
    words = {
        "b": "bool",
        "i": f"int{8 * dtype.itemsize}",
        "u": f"uint{8 * dtype.itemsize}",
        "U": "string",
        "S": "binary",
    }
    words["f"] = f"float{8 * dtype.itemsize}"
    if dtype.kind in "mM":
        unit = numpy.datetime_data(dtype)[0]
        if dtype.kind == "M" and unit == "D":
            return _parse("date32")
        if unit in UNIT_LETTERS:
            return _parse(f"{'timestamp' if dtype.kind == 'M' else 'duration'}[{unit}]")
    if dtype.kind == "V" and dtype.type is numpy.void and dtype.itemsize:
        return Schema.make(f"w:{dtype.itemsize}")
    if dtype.kind not in words or words[dtype.kind] not in _WORDS:
        raise TypeError(f"numpy's {dtype} has no Arrow type")
    return _parse(words[dtype.kind])


def _is_pair(obj: Any) -> bool:
    return isinstance(obj, tuple) and len(obj) == 2 and isinstance(obj[0], str)


def asschema(obj: Any, name: str | None = None) -> Schema:
    """The :class:`Schema` for a type.

    ``obj``: a Schema, anything with ``__arrow_c_schema__`` (pyarrow types, fields and schemas, nanoarrow, polars, an
    array), a word as ``Schema.type`` gives it ("int64", "timestamp[us, tz=UTC]", "decimal128(9, 2)", "list<string>",
    "struct<a: int8, b: string>", "fixed_size_list<float>[3]", "map<string, int8>"), a format string ("+w:3" needs
    children, see :meth:`Schema.make`), a mapping of names to types or a list of (name, type) pairs (a struct), a
    one-element list (a list), numpy's dtypes and scalar types, and Python's bool, int, float, str, bytes, date,
    datetime, time and timedelta.  ``name``: of the field; None: the name that it has.

    Does not block.  Any thread.  Raises InvalidArray for an unknown word, with what may have been meant, and for types
    nested deeper than 64 levels, TypeError for another kind of object.
    """
    try:
        out = _of_object(obj)
    except RecursionError:
        raise InvalidArray("a type nested deeper than Python's stack, or inside itself") from None
    return out if name is None or out.name == name else out.with_name(name)


def _of_object(obj: Any) -> Schema:
    if isinstance(obj, Schema):
        out = obj
    elif hasattr(obj, "__arrow_c_schema__"):
        out = _native.import_schema(obj.__arrow_c_schema__())
    elif isinstance(obj, str):
        out = _parse(obj)
    elif isinstance(obj, dict):
        out = Schema.make("+s", children=[asschema(t, str(n)) for n, t in obj.items()])
    elif isinstance(obj, list) and obj and all(map(_is_pair, obj)):
        out = Schema.make("+s", children=[asschema(t, n) for n, t in obj])
    elif isinstance(obj, list) and len(obj) == 1:
        out = Schema.make("+l", children=[asschema(obj[0], "item")])
    elif isinstance(obj, type) and (obj.__module__, obj.__name__) in _PYTHONS:
        out = _parse(_PYTHONS[obj.__module__, obj.__name__])
    elif "numpy" in (getattr(obj, "__module__", ""), type(obj).__module__.partition(".")[0]):
        out = _of_dtype(obj)
    else:
        what = obj.__name__ if isinstance(obj, type) else f"{type(obj).__name__} objects"
        meant = _near((obj if isinstance(obj, type) else type(obj)).__name__.removesuffix("Dtype"))
        if meant[0] == ";" or not isinstance(obj, type) and not type(obj).__name__.endswith("Dtype"):
            meant = ': a word such as "int64", a numpy dtype or a pyarrow type is one'
        raise TypeError(f"cannot make a type from {what}{meant}")
    return out
