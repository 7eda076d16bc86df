"""Row groups of a dataset, each decoded alone."""

from __future__ import annotations

from ..errors import StreamError
from ..interop.asarray import asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray


class Unit:
    """The rows that are decoded at once: a row group of Parquet, elsewhere a file.  ``rows``: how many it has."""

    __slots__ = ("_fragment", "_schema", "rows")

    def __init__(self, fragment: Any, schema: Any, rows: int) -> None:
        self._fragment, self._schema, self.rows = fragment, schema, rows

    def decode(self, columns: list[str]) -> list[DeviceArray]:
        """Its rows as batches.  Raises StreamError, which names the file and the row group."""
        try:
            scanner = self._fragment.scanner(
                schema=self._schema, columns=columns, use_threads=False, batch_size=max(self.rows, 1)
            )
            batches = [asarray(b) for b in scanner.to_batches() if b.num_rows]
        except Exception as e:
            raise StreamError(f"loader: {self.name}: {e}") from e
        found = sum(b.length for b in batches)
        if found != self.rows:
            raise StreamError(
                f"loader: {self.name}: {found} rows, {self.rows} when the loader was made: it has changed"
            )
        return batches

    @property
    def name(self) -> str:
        path = getattr(self._fragment, "path", "a table in memory")
        groups = getattr(self._fragment, "row_groups", None)
        return f"{path}, row group {groups[0].id}" if groups and len(groups) == 1 else str(path)


def units_of(dataset: Any) -> list[Unit]:
    """The row groups of all files, in their order.  Reads the ends of the files.  Raises StreamError for one that
    cannot be read."""
    import pyarrow.dataset as ds

    out = []
    for fragment in dataset.get_fragments():
        try:
            if isinstance(fragment, ds.ParquetFileFragment):
                out += [Unit(g, dataset.schema, g.row_groups[0].num_rows) for g in fragment.split_by_row_group()]
            else:
                out.append(Unit(fragment, dataset.schema, fragment.count_rows()))
        except Exception as e:
            raise StreamError(f"loader: {getattr(fragment, 'path', 'a table in memory')}: {e}") from e
    return out
