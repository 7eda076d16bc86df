"""Collections from files and from batches."""

from __future__ import annotations

from uuid import uuid4

from dask.base import tokenize

from .._devices.device import device as _device
from .._loading.source import units_of
from .._runtime.ext import _native
from .._values.from_python import from_list
from ..errors import ArgumentError
from ..interop.asarray import asarray
from ..interop.datasets import dataset_of, names_of
from ..schema import asschema
from .collection import Batches
from .steps import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .._types import DeviceLike


def read_parquet(source: Any, *, columns: Iterable[str] | None = None, device: DeviceLike | None = None) -> Batches:
    """A lazy collection of the row groups of Parquet files, each a batch on the device of the worker that reads it.

    ``source``: as in :func:`cdevice.scan`; workers must reach the files by the same paths.  ``columns``: names, which
    are read; None: all.  ``device``: of every worker, which this process need not have; None: the CPU.

    Blocks until the ends of the files are read.  Any thread.  Raises ModuleNotFoundError without pyarrow, OSError,
    StreamError for files that cannot be read, ArgumentError for other files and for a column that is not there.
    """
    import pyarrow.dataset as ds

    dataset = dataset_of(source, "read_parquet")
    if not isinstance(getattr(dataset, "format", None), ds.ParquetFileFormat):
        raise ArgumentError("read_parquet: these are no Parquet files: cdevice.scan reads others")
    schema = asschema(dataset.schema)
    names = names_of(columns, schema, "read_parquet")
    empty = from_list([], schema).select(names)
    where = _word(device)
    units: list[Any] = list(units_of(dataset, "read_parquet")) or [empty]
    token = tokenize([(getattr(u, "name", ""), u.rows) for u in units if u is not empty], names, where, uuid4().hex)
    return Batches.of_parts(f"read_parquet-{token}", [Part(u, names, empty.schema, where) for u in units], empty)


def from_batches(batches: Iterable[Any], *, device: DeviceLike | None = None) -> Batches:
    """A lazy collection of batches of this process.

    ``batches``: one or more of what :func:`cdevice.asarray` takes as a batch, all of one schema.  They are sent with
    the tasks.  ``device``: of every worker; None: where each of them is, by the name of the device.

    Does not block.  Any thread.  Raises ArgumentError without batches, for another schema than the first's and for what
    is no batch.
    """
    if isinstance(batches, (_native.Array, str)):
        raise TypeError(f"from_batches: expected a list of batches, not one {type(batches).__name__}")
    made: list[Any] = [b if isinstance(b, _native.Array) else asarray(b) for b in batches]
    if not made:
        raise ArgumentError("from_batches: the schema is unknown without batches")
    first = made[0].schema
    for n, batch in enumerate(made):
        if batch.schema.format != "+s":
            raise ArgumentError(f"from_batches: batch {n} is an array of {batch.schema.type}")
        if batch.schema.type != first.type:
            raise ArgumentError(f"from_batches: batch {n} has {batch.schema.type}, the first one {first.type}")
    where = _word(device)
    parts = [Part(b, first.names, first, where) for b in made]
    return Batches.of_parts(f"from_batches-{uuid4().hex}", parts, from_list([], first))


def _word(device: DeviceLike | None) -> str | None:
    """A device as it is named in tasks."""
    return None if device is None else device if isinstance(device, str) else str(_device(device))
