"""Options of functions of structs, maps and lists, by Arrow's names."""

from __future__ import annotations

import re
from _operator import index as _integer  # operator's own import costs a tenth of the package's

from ..errors import ArgumentError
from .options import FunctionOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

_STEP = re.compile(r"\.((?:[^.\[\\]|\\.)*)|\[(\d+)\]")


def _stored(options: Any) -> Any:
    """What options of pyarrow's are stored as, a struct of its scalars."""
    import pyarrow as pa

    return pa.ipc.open_file(options.serialize()).read_all().column(0)[0]


def _of_path(path: str) -> list[int | str]:
    """The keys of a path as ".a.b[0]".  Raises ValueError."""
    steps = list(_STEP.finditer(path))
    if "".join(s.group() for s in steps) != path:
        raise ValueError(f"StructFieldOptions: indices {path!r} must be a path as '.a.b[0]'")
    return [re.sub(r"\\(.)", r"\1", s.group(1)) if s.group(2) is None else int(s.group(2)) for s in steps]


def _keys_of(indices: Any) -> list[int | str]:
    """Keys of fields, the outermost first.  Raises TypeError, ValueError."""
    if type(indices).__module__.startswith("pyarrow"):
        import pyarrow.compute

        return _of_path(_stored(pyarrow.compute.StructFieldOptions(indices))["field_ref"].as_py())
    if isinstance(indices, str) and indices[:1] == ".":
        return _of_path(indices)
    keys: list[Any] = [*indices] if isinstance(indices, (list, tuple)) else [indices]
    for i, key in enumerate(keys):
        if isinstance(key, bytes):
            keys[i] = key.decode()
        elif not isinstance(key, str):
            if isinstance(key, bool) or not hasattr(key, "__index__"):
                raise TypeError(
                    f"StructFieldOptions: indices must be the name or the number of a field, or a list, not {indices!r}"
                )
            keys[i] = key.__index__()
    return keys


class StructFieldOptions(FunctionOptions):
    """``indices``: the number or the name of a field; a list of them for a field of a field; a path as ".a.b[0]"."""

    indices: Any
    defaults: ClassVar[Mapping[str, Any]] = {"indices": ...}

    def check(self) -> None:
        """Checks the field.  Does not block.  Raises TypeError, ValueError."""
        self.indices = _keys_of(self.indices)

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        return {"indices": _of_path(_stored(options)["field_ref"].as_py())}


class MakeStructOptions(FunctionOptions):
    """``field_names``: none: "0", "1" and so on; ``field_nullability``: may each field be null, None: all may;
    ``field_metadata``: of each field a mapping or None."""

    field_names: Any
    field_nullability: Any
    field_metadata: Any
    defaults: ClassVar[Mapping[str, Any]] = {"field_names": (), "field_nullability": None, "field_metadata": None}

    def check(self) -> None:
        """Checks the fields.  Does not block.  Raises TypeError."""
        if isinstance(self.field_names, (str, bytes)):
            raise TypeError(f"MakeStructOptions: field_names must be a list of names, not {self.field_names!r}")
        self.field_names = [x.decode() if isinstance(x, bytes) else x for x in self.field_names]
        for name in self.field_names:
            if not isinstance(name, str):
                raise TypeError(f"MakeStructOptions: field_names must be a list of str, not {self.field_names!r}")
        if self.field_nullability is not None:
            self.field_nullability = [bool(x) for x in self.field_nullability]
        if self.field_metadata is not None:
            self.field_metadata = [None if x is None else dict(x) for x in self.field_metadata]

    def fields_of(self, n: int) -> tuple[list[str], list[bool], list[Any]]:
        """Names, nullability and metadata of fields.

        ``n``: how many there are.  Does not block.  Raises ArgumentError for another number of options."""
        names = self.field_names or [str(i) for i in range(n)]
        nullable = [True] * len(names) if self.field_nullability is None else self.field_nullability
        metadata = [None] * len(names) if self.field_metadata is None else self.field_metadata
        if not n == len(names) == len(nullable) == len(metadata):
            raise ArgumentError(
                f"make_struct: {n} arguments, {len(names)} field_names, {len(nullable)} field_nullability and "
                f"{len(metadata)} field_metadata: there must be one for each argument"
            )
        return names, nullable, metadata

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        fields = {name: _stored(options)[name].as_py() for name in cls.defaults}
        return {k: v or None if k != "field_names" else v for k, v in fields.items()}


class MapLookupOptions(FunctionOptions):
    """``query_key``: the key that is looked for; ``occurrence``: "first", "last" or "all" of the entries with it."""

    query_key: Any
    defaults: ClassVar[Mapping[str, Any]] = {"query_key": ..., "occurrence": ...}
    allowed: ClassVar[Mapping[str, Any]] = {"occurrence": ("first", "last", "all")}

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        stored = _stored(options)
        occurrence = ("first", "last", "all")[stored["occurrence"].as_py()]
        return {"query_key": stored["query_key"], "occurrence": occurrence}


class ListNormOptions(FunctionOptions):
    """``ord``: 1: the sum of the absolute values; 2: the root of the sum of the squares; infinity: the greatest
    absolute value; ``skip_nulls``, ``min_count``: as in ScalarAggregateOptions."""

    ord: Any
    defaults: ClassVar[Mapping[str, Any]] = {"ord": 2, "skip_nulls": True, "min_count": 1}
    allowed: ClassVar[Mapping[str, Any]] = {"skip_nulls": bool, "min_count": int}

    def check(self) -> None:
        """Checks the fields.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        if self.ord not in (1, 2, float("inf")):
            raise ValueError(f"ListNormOptions: ord must be 1, 2 or float('inf'), not {self.ord!r}")


class ReshapeOptions(FunctionOptions):
    """``shape``: the sizes of the lists of each row, the outermost first; one of them may be -1, the rest."""

    shape: Any
    defaults: ClassVar[Mapping[str, Any]] = {"shape": ...}

    def check(self) -> None:
        """Checks the field.  Does not block.  Raises TypeError, ValueError."""
        given = self.shape if isinstance(self.shape, (list, tuple)) else (self.shape,)
        try:
            self.shape = tuple(_integer(k) for k in given)
        except TypeError:
            raise TypeError(f"ReshapeOptions: shape must be a tuple of int, not {self.shape!r}") from None
        if not self.shape or min(self.shape) < -1 or self.shape.count(-1) > 1:
            raise ValueError(f"ReshapeOptions: shape must be sizes from 0 on, of which one may be -1, not {self.shape}")


OPTIONS: tuple[type[FunctionOptions], ...] = (
    StructFieldOptions,
    MakeStructOptions,
    MapLookupOptions,
    ListNormOptions,
    ReshapeOptions,
)
