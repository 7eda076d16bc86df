"""Types and fields: the contents of an ArrowSchema, and short forms of types."""

from __future__ import annotations

from _operator import index  # operator's own import costs a tenth of the package's

from ._runtime.ext import _native
from ._runtime.lazy import LazyModule
from ._schema import DICTIONARY_ORDERED, KEYS_SORTED, NULLABLE, UNIT_LETTERS, UNITS
from .errors import InvalidArray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, SupportsIndex

    from ._runtime import html as _html
    from ._schema import dtypes as _dtypes
    from ._schema import metadata as _metadata
    from ._schema import node as _node
    from ._schema import parse as _parse
    from ._schema import repr as _repr
    from ._schema import suggest as _suggest
    from ._schema import type_names as _type_names
    from ._types import Metadata
else:
    _html = LazyModule("cdevice._runtime.html")
    _dtypes = LazyModule("cdevice._schema.dtypes")
    _metadata = LazyModule("cdevice._schema.metadata")
    _node = LazyModule("cdevice._schema.node")
    _parse = LazyModule("cdevice._schema.parse")
    _repr = LazyModule("cdevice._schema.repr")
    _suggest = LazyModule("cdevice._schema.suggest")
    _type_names = LazyModule("cdevice._schema.type_names")


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
        return _node.make(
            format,
            name,
            children=children,
            dictionary=dictionary,
            nullable=nullable,
            metadata=metadata,
            flags=flags,
        )

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
        return _metadata.decode_metadata(self._metadata)

    @property
    def type(self) -> str:
        """The type in words, such as "list<item: int32>"."""
        return _type_names.words(self)

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
            return "\n".join(_repr.field_lines(self))
        return f"{self.name}: {self.type}" if self.name else self.type

    def __repr__(self) -> str:
        return _repr.described(self)

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
        out = _parse.parse(obj)
    elif isinstance(obj, dict):
        out = Schema.make("+s", children=[asschema(t, str(n)) for n, t in obj.items()])
    elif isinstance(obj, list) and obj and all(map(_is_pair, obj)):
        out = Schema.make("+s", children=[asschema(t, n) for n, t in obj])
    elif isinstance(obj, list) and len(obj) == 1:
        out = Schema.make("+l", children=[asschema(obj[0], "item")])
    elif isinstance(obj, type) and (obj.__module__, obj.__name__) in _PYTHONS:
        out = _parse.parse(_PYTHONS[obj.__module__, obj.__name__])
    elif "numpy" in (getattr(obj, "__module__", ""), type(obj).__module__.partition(".")[0]):
        out = _dtypes.from_dtype(obj)
    else:
        what = obj.__name__ if isinstance(obj, type) else f"{type(obj).__name__} objects"
        meant = _suggest.near((obj if isinstance(obj, type) else type(obj)).__name__.removesuffix("Dtype"))
        if meant[0] == ";" or not isinstance(obj, type) and not type(obj).__name__.endswith("Dtype"):
            meant = ': a word such as "int64", a numpy dtype or a pyarrow type is one'
        raise TypeError(f"cannot make a type from {what}{meant}")
    return out


__all__ = [
    "DICTIONARY_ORDERED",
    "KEYS_SORTED",
    "NULLABLE",
    "UNITS",
    "UNIT_LETTERS",
    "Schema",
    "asschema",
]
