"""Tables larger than one machine: batches on the devices of Dask's workers.

:func:`read_parquet` and :func:`from_batches` give a lazy collection, :class:`Batches`, by Dask's protocol; Dask plans,
sends and computes.  Not part of ``import cdevice`` alone: it needs ``dask``, and ``distributed`` for a cluster.
"""

from __future__ import annotations

try:
    import dask as _dask  # noqa: F401
except ImportError as e:
    raise ModuleNotFoundError(f"cdevice.dask needs dask: pip install dask distributed ({e})", name="dask") from None

from .collection import Batches, GroupedBatches
from .read import from_batches, read_parquet

__all__ = ["Batches", "GroupedBatches", "from_batches", "read_parquet"]
