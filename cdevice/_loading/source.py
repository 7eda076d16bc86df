"""Row groups of a dataset, each decoded alone."""

from __future__ import annotations

from ..errors import StreamError
from ..interop.asarray import asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray


class Unit:
    """The rows that are decoded at once: a row group of Parquet, elsewhere a file.  ``rows``: how many it has;
    ``what``: the function that errors name."""

    __slots__ = ("_fragment", "_schema", "_what", "rows")

    def __init__(self, fragment: Any, schema: Any, rows: int, what: str) -> None:
        self._fragment, self._schema, self.rows, self._what = fragment, schema, rows, what

    def __reduce__(self) -> tuple[Any, ...]:
        return Unit, (self._fragment, self._schema, self.rows, self._what)

    def decode(self, columns: list[str]) -> list[DeviceArray]:
        """Its rows as batches.  Raises StreamError, which names the file and the row group."""
        try:
            scanner = self._opened().scanner(
                schema=self._schema, columns=columns, use_threads=False, batch_size=max(self.rows, 1)
            )
            batches = [asarray(b) for b in scanner.to_batches() if b.num_rows]
        except Exception as e:
            raise StreamError(f"{self._what}: {self.name}: {e}") from e
        found = sum(b.length for b in batches)
        if found != self.rows:
            raise StreamError(
                f"{self._what}: {self.name}: {found} rows, {self.rows} when it was planned: it has changed"
            )
        return batches

    def _opened(self) -> Any:
        if not isinstance(self._fragment, tuple):
            return self._fragment
        format, path, *more, groups = self._fragment
        return format.make_fragment(path, *more, row_groups=groups)

    @property
    def name(self) -> str:
        if isinstance(self._fragment, tuple):
            return f"{self._fragment[1]}, row group {self._fragment[-1][0]}"
        return str(getattr(self._fragment, "path", "a table in memory"))


def _words(fragment: Any) -> tuple[Any, ...]:
    """A row group as it is sent: where a fragment of pyarrow is unpickled, the file is read, on Dask's scheduler
    too."""
    groups = [g.id for g in fragment.row_groups]
    return fragment.format, fragment.path, fragment.filesystem, fragment.partition_expression, groups


def units_of(dataset: Any, what: str) -> list[Unit]:
    """The row groups of all files, in their order.  Reads the ends of the files.  Raises StreamError for one that
    cannot be read."""
    import pyarrow.dataset as ds

    out = []
    for fragment in dataset.get_fragments():
        try:
            if isinstance(fragment, ds.ParquetFileFragment):
                out += [
                    Unit(_words(g), dataset.schema, g.row_groups[0].num_rows, what)
                    for g in fragment.split_by_row_group()
                ]
            else:
                out.append(Unit(fragment, dataset.schema, fragment.count_rows(), what))
        except Exception as e:
            raise StreamError(f"{what}: {getattr(fragment, 'path', 'a table in memory')}: {e}") from e
    return out
