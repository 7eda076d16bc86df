"""Batches by expressions: rows chosen, columns computed."""

from __future__ import annotations

from collections.abc import Mapping

from ..._arrays.record_batch import as_batch
from ...errors import ArgumentError
from ...interop.asarray import asarray, near
from ...schema import Schema
from ..dispatch.call import Call
from ..dispatch.datum import Datum
from ..dispatch.deferred import ours
from ..dispatch.function import Function
from ..kernels.columns import batch_of, on_device_of
from ..kernels.selection.take import filter_array, hint_of, is_batch
from ..options import NoOptions
from .bound import bind, repeated, require_condition
from .expression import Expression, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..._types import DeviceArray, StreamLike

_filter = Function("filter", "vector", 2, "The rows of a batch that an expression is true for.")
_LISTS = (list, tuple, range)


def _batch(batch: DeviceArray, what: str) -> DeviceArray:
    batch = as_batch(batch)
    if not is_batch(batch):
        raise ArgumentError(f"{what}: an expression needs a batch, not {batch._schema.type}{hint_of(batch)}")
    return batch


def mask_of(batch: DeviceArray, where: Expression, stream: StreamLike, what: str = "filter") -> Datum:
    """The values of a condition.  Raises ArgumentError where it is not one."""
    batch = _batch(batch, what)
    return require_condition(where, batch._schema, what)._datum(batch, stream)


def filtered(batch: DeviceArray, where: Expression, stream: StreamLike = None, what: str = "filter") -> DeviceArray:
    """The rows that a condition is true for."""
    batch = _batch(batch, what)
    mask = mask_of(batch, where, stream, what)
    call = Call(_filter, NoOptions(), [Datum(batch)], stream)
    batch = on_device_of(call, batch)
    if mask.array is None or mask.one:
        mask = Datum(repeated(mask, batch, stream), "b")
    assert mask.array is not None
    if mask.array._format == "n":
        return batch._slice(0, 0)
    return filter_array(call, batch, on_device_of(call, mask.array), False)


def column_of(batch: DeviceArray, value: Any, stream: StreamLike = None) -> DeviceArray:
    """A column for a batch: of an expression its values, of anything else what :func:`asarray` makes."""
    value = ours(value)
    if isinstance(value, Expression):
        batch = _batch(batch, "with_columns")
        return bind(value, batch._schema)._rows(batch, stream)
    made: DeviceArray = near(value, batch.device) if isinstance(value, _LISTS) else asarray(value)
    return made


def named(columns: Mapping[str, Any] | Iterable[Any], what: str) -> dict[str, Expression]:
    """Names and expressions; a name alone is the column.  Raises TypeError."""
    if isinstance(columns, str) or not hasattr(columns, "__iter__"):
        raise TypeError(f"{what}: expected a mapping of names to expressions, not {type(columns).__name__}")
    if isinstance(columns, Mapping):
        out = {name: field(value) if isinstance(value, str) else value for name, value in columns.items()}
    else:
        items = list(columns)
        out = {x if isinstance(x, str) else str(x): field(x) if isinstance(x, str) else x for x in items}
        if len(out) < len(items):
            raise ArgumentError(f"{what}: two columns of one name: pass a mapping of names to expressions")
    out = {name: ours(value) for name, value in out.items()}
    for name, value in out.items():
        if not isinstance(name, str) or not isinstance(value, Expression):
            raise TypeError(
                f"{what}: expected a name and an expression, not {name!r} and {type(value).__name__}: a value is "
                "written cc.scalar(value)"
            )
    return out


def projected(
    batch: DeviceArray, columns: Mapping[str, Expression], stream: StreamLike = None, metadata: bytes | None = None
) -> DeviceArray:
    """The batch of some expressions.  ``metadata``: of its schema, encoded."""
    batch = _batch(batch, "project")
    made = [bind(e, batch._schema)._rows(batch, stream) for e in columns.values()]
    return batch_of([*columns], made, batch.length, batch, metadata)


def projected_schema(schema: Schema, columns: Mapping[str, Expression], metadata: bytes | None = None) -> Schema:
    """The schema that :func:`projected` gives."""
    fields = [bind(e, schema).type.with_name(n) for n, e in columns.items()]
    return Schema.make("+s", children=fields, nullable=False, metadata=metadata)
