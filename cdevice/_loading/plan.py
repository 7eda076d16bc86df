"""Which rows of which row groups come in which batch: numbers alone, nothing is read."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NamedTuple
else:
    from collections import namedtuple

_WORD = 0xFFFFFFFF

if TYPE_CHECKING:

    class Piece(NamedTuple):
        unit: int
        begin: int
        rows: int
else:
    Piece = namedtuple("Piece", "unit begin rows")  # some rows of a row group


def permutation(n: int, seed: int, *where: int) -> Any:
    """A permutation of ``range(n)``, the same in every version of numpy.  ``where``: the epoch, and what else it is
    of."""
    import numpy as np

    return np.random.RandomState([seed & _WORD, seed >> 32 & _WORD, *where]).permutation(n)


class Plan:
    """The buffers of one epoch of one rank: each a list of pieces, in the order in which they are read.

    ``rows``: of each row group.  Every rank has ``sum(rows) // world_size`` rows, one stretch of all the row groups in
    the order of the epoch.  ``buffer_rows``: of each buffer, a multiple of a batch's; the last one has fewer.
    """

    __slots__ = ("_begins", "_order", "_rows", "buffer_rows", "end", "start")

    def __init__(self, rows: Sequence[int], order: Sequence[int], buffer_rows: int, rank: int, world_size: int) -> None:
        own = sum(rows) // world_size
        self._rows, self._order, self.buffer_rows = rows, order, buffer_rows
        self._begins = [0, *accumulate(rows[u] for u in order)]
        self.start, self.end = rank * own, (rank + 1) * own

    def __len__(self) -> int:
        return -((self.start - self.end) // self.buffer_rows)

    def pieces(self, buffer: int) -> list[Piece]:
        at = self.start + buffer * self.buffer_rows
        end = min(at + self.buffer_rows, self.end)
        out = []
        k = bisect_right(self._begins, at) - 1
        while at < end:
            unit = self._order[k]
            begin = at - self._begins[k]
            n = min(self._rows[unit] - begin, end - at)
            if n:
                out.append(Piece(unit, begin, n))
            at, k = at + n, k + 1
        return out
