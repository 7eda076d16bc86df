"""One node of a schema from its parts."""

from __future__ import annotations

from .._runtime.ext import _native
from . import NULLABLE
from .metadata import encode_metadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._types import Metadata
    from ..schema import Schema


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
    """See :meth:`cdevice.Schema.make`."""
    if flags is None:
        flags = NULLABLE if nullable else 0
    return _native.make_schema(format, name, encode_metadata(metadata), flags, tuple(children), dictionary)
