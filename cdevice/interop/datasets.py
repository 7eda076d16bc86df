"""Files as pyarrow's datasets: Parquet, Arrow IPC, CSV."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ..errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .._types import Schema

_STREAM_MARK = b"\xff\xff\xff\xff"
_TABS = {".tab", ".tsv"}
_OTHERS = {".arrow", ".arrows", ".avro", ".feather", ".ipc", ".json", ".jsonl", ".ndjson", ".orc", ".parquet", ".pq"}
_KNOWN = "known formats: Parquet, Arrow IPC (file or stream), CSV"


def dataset_of(source: Any, what: str) -> Any:
    """The files as a ``pyarrow.dataset.Dataset``.  ``what``: the function that errors name."""
    try:
        import pyarrow.dataset as ds
    except ImportError as e:
        raise ModuleNotFoundError(f"{what}: reading files needs pyarrow: pip install pyarrow ({e})") from None
    if isinstance(source, ds.Dataset):
        return source
    alone = isinstance(source, (str, os.PathLike)) or not hasattr(source, "__iter__")
    paths = [source] if alone else list(source)
    odd = [type(p).__name__ for p in paths if not isinstance(p, (str, os.PathLike))]
    if odd:
        raise TypeError(f"{what}: source must be a path, a list of paths, or a pyarrow dataset, not {odd[0]}")
    if not paths:
        raise ArgumentError(f"{what}: the list of paths is empty")
    files = [Path(p) for p in paths]
    inside = (
        sorted(x for x in files[0].rglob("*") if x.is_file() and x.name[:1] not in "._") if files[0].is_dir() else files
    )
    if not inside:
        raise ArgumentError(f"{what}: there is no file in {files[0]}")
    odd = [str(f) for f in inside if f.exists() and not f.is_file()]
    if odd:  # a pipe
        raise ArgumentError(f"{what}: {odd[0]} is not a regular file: write its bytes into a file first")
    format = _format_of(inside[0], what)
    if format == "stream":
        return _stream_dataset(inside)
    given = str(files[0]) if len(files) == 1 else [str(f) for f in files]
    try:
        if format == "csv" and inside[0].suffix.lower() in _TABS:
            import pyarrow.csv

            format = ds.CsvFileFormat(parse_options=pyarrow.csv.ParseOptions(delimiter="\t"))
        if files[0].is_dir():
            with contextlib.suppress(ValueError, TypeError):  # the files have it too, of another type: theirs is read
                return ds.dataset(given, format=format, partitioning="hive")  # folders "name=value"
        return ds.dataset(given, format=format)
    except (ValueError, TypeError) as e:  # of pyarrow: ArrowInvalid
        raise ArgumentError(f"{what}: {inside[0]}: {e}") from None


def _format_of(path: Path, what: str) -> Any:
    """By the first bytes of a file; text is CSV, if the name does not promise another format."""
    with open(path, "rb") as f:
        begin = f.read(4096)
    if begin[:4] == b"PAR1":
        return "parquet"
    if begin[:6] == b"ARROW1":
        return "ipc"
    if begin[:4] == _STREAM_MARK:
        return "stream"
    if not begin:
        raise ArgumentError(f"{what}: {path}: the file is empty")
    if b"\0" in begin:
        raise ArgumentError(f"{what}: {path}: unknown format; {_KNOWN}")
    if not is_csv_named(path):
        raise ArgumentError(
            f"{what}: {path}: the file is text and not of the format that {path.suffix} names; {_KNOWN}"
        )
    return "csv"


def is_csv_named(path: str | Path) -> bool:
    """False where the name of a file of text promises another format."""
    return Path(path).suffix.lower() not in _OTHERS


def _stream_dataset(files: list[Path]) -> Any:
    """Arrow IPC streams, whose batches share the mapped file."""
    import pyarrow
    import pyarrow.dataset as ds
    import pyarrow.ipc

    tables = [pyarrow.ipc.open_stream(pyarrow.memory_map(str(f))).read_all() for f in files]
    return ds.dataset(tables if len(tables) > 1 else tables[0])


def names_of(columns: Iterable[str] | None, schema: Schema, what: str) -> list[str]:
    """The columns to read; None: all.  Raises ArgumentError for one that is not there, or there twice."""
    if columns is None:
        return schema.names
    if isinstance(columns, str):
        raise TypeError(f"{what}: columns must be a list of names, not one str")
    names = list(columns)
    for name in names:
        if name not in schema.names:
            raise ArgumentError(f"{what}: no column {name!r}; there are {', '.join(schema.names)}")
    if len(set(names)) < len(names):
        raise ArgumentError(f"{what}: columns names a column twice")
    return names
