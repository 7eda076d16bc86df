"""Numbers for the different rows of batches, which groups are made by."""

from __future__ import annotations

from .._arrays.record_batch import as_batch
from ..errors import ArgumentError
from ..interop.concat import concat
from ..schema import asschema
from .dispatch.call import Call
from .dispatch.datum import Datum, argument, joined
from .dispatch.registry import Function
from .kernels import row_numbers as rows
from .kernels.columns import batch_of, on_device_of
from .kernels.group_ids import BITS, NORMALIZED, group_ids
from .kernels.selection.take import hint_of, is_batch, take_array
from .options import NoOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray, SchemaLike, StreamLike

_function = Function("Grouper", "vector", 1, "Numbers of groups.")


class Grouper:
    """Numbers the different rows of batches, in the order in which they are first seen, on the batches' device.

    ``schema``: of the batches, whose columns are the keys; any type that can be a key.  ``normalize_floats``: as in
    :func:`group_by`.  One thread at a time.  Raises ArgumentError for a schema without columns.
    """

    __slots__ = ("_floats", "_known", "_schema")

    def __init__(self, schema: SchemaLike, *, normalize_floats: bool = False) -> None:
        self._schema = asschema(schema)
        self._floats = NORMALIZED if normalize_floats else BITS
        self._known: DeviceArray | None = None
        if self._schema.format != "+s" or not self._schema.children:
            raise ArgumentError("Grouper: schema must be that of a batch with at least one column")

    @property
    def num_groups(self) -> int:
        """How many different rows there were.  Does not block.  Never raises."""
        return 0 if self._known is None else self._known.length

    @property
    def uniques(self) -> DeviceArray | None:
        """The different rows, a batch; None before the first :meth:`consume`.  Does not block.  Never raises."""
        return self._known

    def _batch(self, data: Any, stream: StreamLike) -> tuple[Call, DeviceArray]:
        batch = joined(argument(data)).array
        batch = None if batch is None else as_batch(batch)
        if batch is None or not is_batch(batch):
            raise ArgumentError(f"Grouper: expected a batch{hint_of(batch)}")
        found, wanted = ([(c.name, c.type) for c in s.children] for s in (batch._schema, self._schema))
        if found != wanted:
            raise ArgumentError(f"Grouper: expected columns {_words(wanted)}, not {_words(found)}")
        call = Call(_function, NoOptions(), [Datum(batch)], stream)
        return call, on_device_of(call, batch)

    def _numbered(self, call: Call, batch: DeviceArray) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Ids of the known rows and then the batch's, their first rows, and all of these rows."""
        known = self._known
        if known is not None and known.device != batch.device:
            raise ArgumentError(f"Grouper: a batch on {batch.device}, those before were on {known.device}")
        whole = batch if known is None else concat([known, batch], stream=call.owner)
        columns = [whole.field(i) for i in range(len(self._schema.children))]
        ids, first = group_ids(call, columns, self._floats)
        return ids, first, whole

    def consume(self, batch: Any, *, stream: StreamLike = None) -> DeviceArray:
        """The number of the group of each row; rows that were not seen before get new ones.

        ``batch``: a batch with the columns of the schema, on the device of those before.  ``stream``: of the device.
        Returns a DeviceArray of uint32.  Blocks.  Raises ArgumentError for another batch, NoKernel for types that
        cannot be keys.
        """
        call, here = self._batch(batch, stream)
        if not here.length:
            return rows.as_uint32(call, rows.from_(call, here, 0, 0))
        ids, first, whole = self._numbered(call, here)
        before = self.num_groups
        if first.length > before:
            columns = [take_array(call, whole.field(i), first, False) for i in range(len(self._schema.children))]
            self._known = batch_of([c.name for c in self._schema.children], columns, first.length, whole)
        return ids[before:] if before else ids

    def lookup(self, batch: Any, *, stream: StreamLike = None) -> DeviceArray:
        """The number of the group of each row; null for rows that were never consumed.

        ``batch``, ``stream``: as in :meth:`consume`.  Returns a DeviceArray of uint32.  Blocks.  Raises as
        :meth:`consume`.
        """
        call, here = self._batch(batch, stream)
        before = self.num_groups
        if not here.length:
            return rows.as_uint32(call, rows.from_(call, here, 0, 0))
        ids = rows.as_int64(call, self._numbered(call, here)[0][before:])
        known = rows.less(call, ids, before)
        return rows.null_unless(call, rows.as_uint32(call, rows.choose(call, known, ids, 0)), known)

    def __repr__(self) -> str:
        columns = _words([(c.name, c.type) for c in self._schema.children])
        return f"<cdevice.compute.Grouper: {self.num_groups} groups of {columns}>"


def _words(columns: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in columns) or "none"
