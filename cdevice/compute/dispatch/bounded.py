"""A cache of bounded size."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")
else:
    K = V = object  # typing's own import costs more than all of this package's


class Bounded(dict[K, V]):
    """A dict that :meth:`put` keeps to ``most`` entries: the entry that was put first goes first."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def put(self, key: K, value: V) -> V:
        """Stores ``value`` and returns it.  Any thread may call it."""
        while len(self) >= self.most:
            try:
                del self[next(iter(self))]
            except (KeyError, StopIteration, RuntimeError):  # another thread changed it
                break
        self[key] = value
        return value
