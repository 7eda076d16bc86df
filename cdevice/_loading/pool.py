"""The threads of one epoch: row groups are decoded, buffers made of them, a few ahead of the loop."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future
    from typing import Any

    from .._types import DeviceArray
    from .plan import Piece, Plan

    Decode = Callable[[int], list[DeviceArray]]
    Make = Callable[[int, list[DeviceArray]], DeviceArray]


class Buffers:
    """The buffers of a plan from ``first`` on, in order; :meth:`close` ends the threads.

    A buffer is made by a task that waits for those of its row groups.  They were submitted before it to a queue, so
    some thread has them already, and a pool of one thread comes to an end, too.  ``decode(unit)`` and ``make(buffer,
    parts)`` run on the threads and must not refer to this object: where it is dropped, the threads end.
    """

    def __init__(self, plan: Plan, first: int, ahead: tuple[int, int], decode: Decode, make: Make) -> None:
        self._plan, self._next, self._ahead = plan, first, ahead[0]
        self._decode, self._make = decode, make
        self._units: dict[int, Future[list[DeviceArray]]] = {}
        self._made: deque[Future[DeviceArray]] = deque()
        self._pool = ThreadPoolExecutor(ahead[1], "cdevice-loader")

    def __del__(self) -> None:
        pool = getattr(self, "_pool", None)
        if pool is not None:  # not waited for: any thread may drop this object, one of the pool's as well
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """No task is left, nor a thread."""
        self._next = len(self._plan)
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._made.clear()
        self._units.clear()

    def _submit(self) -> None:
        pieces = self._plan.pieces(self._next)
        for p in pieces:
            if p.unit not in self._units:
                self._units[p.unit] = self._pool.submit(self._decode, p.unit)
        parts = [(self._units[p.unit], p) for p in pieces]
        self._made.append(self._pool.submit(_made_of, self._make, self._next, parts))
        self._next += 1
        last = pieces[-1].unit  # goes on in the next buffer, perhaps
        self._units = {last: self._units[last]}

    def take(self) -> DeviceArray | None:
        """The next buffer; None after the last one.  Raises what its making raised."""
        while len(self._made) <= self._ahead and self._next < len(self._plan):
            self._submit()
        if not self._made:
            return None
        made = self._made[0].result()  # a Ctrl-C here loses nothing
        self._made.popleft()
        while len(self._made) < self._ahead and self._next < len(self._plan):
            self._submit()
        return made


def _made_of(make: Make, buffer: int, parts: Sequence[tuple[Future[Any], Piece]]) -> DeviceArray:
    rows: list[DeviceArray] = []
    for decoded, piece in parts:
        rows += _cut(decoded.result(), piece.begin, piece.rows)
    return make(buffer, rows)


def _cut(batches: list[DeviceArray], begin: int, n: int) -> list[DeviceArray]:
    out = []
    for b in batches:
        take = min(b.length - begin, n)
        if take > 0:
            out.append(b._slice(begin, take))
            n -= take
        begin = max(begin - b.length, 0)
    return out
