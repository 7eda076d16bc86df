"""Pickles and Dask's messages that carry a token in place of an array's bytes."""

from __future__ import annotations

import _thread
import os

from .._runtime.ext import lib
from ..errors import ArgumentError
from .shared import opened as _opened
from .shared import publish, tickets_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import DeviceArray

_lock = _thread.allocate_lock()
_begun: list[sharing] = []  # the last one counts


def _in_child() -> None:
    global _lock
    _lock = _thread.allocate_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class sharing:
    """Within ``with cdevice.sharing():`` arrays that are pickled, or sent by Dask, travel as tokens of shared memory:
    the process that unpickles them opens the same memory.

    For processes of this machine and user: ``multiprocessing``, ``concurrent.futures``, Dask's local workers.  It holds
    for all threads of the process.  ``opens``: how often each array will be unpickled; 0: any number of times while
    the block lasts, and once after it.  ``min_bytes``: smaller arrays travel as bytes.  ``start()`` and ``stop()`` are
    the same without a block, such as for the initializer of a pool's workers.

    An array stays shared until it was opened as often, and at most until the process ends; the process that opened it
    keeps it.  A pickle that is kept is of no use after that.
    """

    def __init__(self, *, opens: int = 0, min_bytes: int = 64 << 10) -> None:
        if type(opens) is not int or opens < 0:
            raise ArgumentError(f"sharing: opens={opens!r}: expected 0, for any number, or how often each is opened")
        self.opens, self.min_bytes = opens, min_bytes
        self._numbers: list[int] = []

    def start(self) -> None:
        """Arrays are shared from now on.  Does not block.  Any thread.  Never raises."""
        with _lock:
            _begun.append(self)

    def stop(self) -> None:
        """Arrays are not shared any more; those that were not opened yet can be opened once.  Does not
        block.  Any thread.  Never raises."""
        with _lock:
            if self in _begun:
                _begun.remove(self)
            numbers, self._numbers = self._numbers, []
        for number in numbers:
            if lib.cdv_times_opened(number) > 0:
                lib.cdv_retract(number)
            else:
                lib.cdv_limit_opens(number, 1)

    def __enter__(self) -> sharing:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def __reduce__(self) -> tuple[type[sharing], tuple[()], dict[str, int]]:
        return sharing, (), {"opens": self.opens, "min_bytes": self.min_bytes}

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def _token_of(self, array: DeviceArray) -> bytes:
        token, number = publish(array, self.opens, warns=False)  # it goes back to its device there
        if not self.opens:
            with _lock:
                self._numbers.append(number)
        return token


def token_of(array: DeviceArray) -> bytes | None:
    """What stands for the array in a message; None: its bytes do."""
    if not _begun:
        return None
    with _lock:
        now = _begun[-1] if _begun else None
    if now is None or 0 <= array.nbytes < now.min_bytes:
        return None
    return now._token_of(array)


def opened(token: bytes) -> DeviceArray:
    """The array of a message: as trusted as one that travels as bytes."""
    return _opened(tickets_of(token)[1], "structure")
