"""Streams into files: Parquet and Arrow IPC, by pyarrow."""

from __future__ import annotations

import os

from ..errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArrayStream


def write_parquet(stream: DeviceArrayStream, path: Any, options: dict[str, Any]) -> int:
    """See :meth:`DeviceArrayStream.write_parquet`."""
    try:
        import pyarrow.parquet as pq
    except ImportError as e:
        raise ModuleNotFoundError(f"write_parquet: writing files needs pyarrow: pip install pyarrow ({e})") from None
    return _written(stream, path, lambda f, schema: pq.ParquetWriter(f, schema, **options))


def write_ipc(stream: DeviceArrayStream, path: Any, options: dict[str, Any]) -> int:
    """See :meth:`DeviceArrayStream.write_ipc`."""
    try:
        import pyarrow.ipc as ipc
    except ImportError as e:
        raise ModuleNotFoundError(f"write_ipc: writing files needs pyarrow: pip install pyarrow ({e})") from None
    try:
        return _written(stream, path, lambda f, schema: ipc.new_file(f, schema, options=ipc.IpcWriteOptions(**options)))
    except ValueError as e:  # ArrowInvalid
        if "Dictionary replacement" not in str(e):
            raise
        raise ArgumentError(
            "write_ipc: the dictionaries of the batches differ, and an Arrow IPC file has one for a column: write"
            " Parquet, or cast the columns to their values"
        ) from None


def _written(stream: DeviceArrayStream, path: Any, open_writer: Any) -> int:
    """Writes to a file beside ``path``, which takes its place when all rows are there."""
    import pyarrow as pa

    target = os.fspath(path)
    beside = f"{target}.{os.getpid()}.part"
    rows = 0
    here = stream if stream.device_type_id == 1 else stream.to("cpu")
    try:
        with here, open(beside, "wb") as f, open_writer(f, pa.schema(here.schema)) as writer:
            for batch in here:  # not by pyarrow's reader: what a source raises comes out as it is
                writer.write_batch(pa.record_batch(batch))
                rows += batch.length
                del batch
        os.replace(beside, target)
    except BaseException:
        try:
            os.unlink(beside)
        except FileNotFoundError:
            pass
        raise
    return rows
