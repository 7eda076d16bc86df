"""Batches of files for training: decoded by threads, shuffled on the device, resumed where they were left."""

from __future__ import annotations

import os
import weakref
import zlib

from ._devices.device import device as _device
from ._loading.given import giver, require_tensors
from ._loading.plan import Plan, permutation
from ._loading.pool import Buffers
from ._loading.source import Unit, units_of
from ._values.from_python import from_list
from .compute.functions import take
from .errors import ArgumentError
from .interop.concat import concat
from .interop.datasets import dataset_of, names_of
from .schema import asschema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from ._types import DeviceArray, DeviceLike, StreamLike

SHUFFLE_ROWS = 1 << 18  # among which rows are shuffled
_STATE = {"version", "epoch", "batches", "settings"}


def loader(
    source: Any,
    *,
    batch_size: int,
    columns: Iterable[str] | None = None,
    shuffle: bool = False,
    seed: int = 0,
    device: DeviceLike | None = None,
    stream: StreamLike = None,
    prefetch: int = 2,
    as_: str | None = None,
    rank: int = 0,
    world_size: int = 1,
    drop_last: bool = False,
    shuffle_rows: int = SHUFFLE_ROWS,
    threads: int | None = None,
) -> Loader:
    """Batches of the rows of files, epoch by epoch, for a training loop.

    Row groups are decoded by threads.  Some of them are put together as a buffer, which goes to the device in one
    transfer, is shuffled there, and handed out in slices, while the next ones are made.  Which rows come when follows
    from the files, ``seed``, the epoch, ``batch_size`` and ``shuffle_rows`` alone.

    ``source``: as in :func:`scan`.  ``batch_size``: rows of a batch.  ``columns``: names; None: all.  ``shuffle``:
    True: the row groups are taken in another order in each epoch, and the rows of each buffer are permuted.  ``seed``:
    an int of 0 or more.  ``device``: where the batches shall be; None: the CPU.  ``stream``: as in
    :meth:`DeviceArray.to`. ``prefetch``: buffers that are made ahead of the one that is handed out; memory is needed
    for ``prefetch + 1`` of them there.  ``as_``: None: record batches; "numpy", "torch", "jax": a dict of arrays or
    tensors, one a column; "dlpack": a dict of columns, which have ``__dlpack__``.  ``rank``, ``world_size``: this
    process and how many there are: each gets as many rows as the others, and rows that are too many for that, fewer
    than ``world_size``, are left out. ``drop_last``: True: a last batch of fewer rows is left out.  ``shuffle_rows``:
    rows of a buffer, rounded down to whole batches, at least one.  ``threads``: that decode; None: as many as the
    process has CPUs, at most 8.

    Blocks until the ends of the files are read.  Any thread.  Raises ModuleNotFoundError without pyarrow, or without
    numpy where ``shuffle``; OSError, StreamError for files that cannot be read; ArgumentError for a column that is not
    there or becomes no tensor, and for numbers that do not fit; BackendUnavailable.
    """
    _require_numbers(
        batch_size=(batch_size, 1), seed=(seed, 0), prefetch=(prefetch, 0), world_size=(world_size, 1), rank=(rank, 0),
        shuffle_rows=(shuffle_rows, 1), threads=(1 if threads is None else threads, 1),
    )  # fmt: skip
    if rank >= world_size:
        raise ArgumentError(f"loader: rank is {rank}, of {world_size}: ranks begin with 0")
    if shuffle:
        _require_numpy()
    dataset = dataset_of(source, "loader")
    schema = asschema(dataset.schema)
    names = names_of(columns, schema, "loader")
    target = None if device is None else _device(device)
    give = giver(as_)
    require_tensors(from_list([], schema).select(names), as_)
    settings = {
        "batch_size": batch_size, "columns": names, "drop_last": bool(drop_last), "rank": rank, "seed": seed,
        "shuffle": bool(shuffle), "shuffle_rows": max(shuffle_rows // batch_size, 1) * batch_size,
        "world_size": world_size,
    }  # fmt: skip
    workers = threads or min(len(os.sched_getaffinity(0)), 8)
    return Loader._of(units_of(dataset, "loader"), settings, give, (target, stream), (prefetch, workers))


class Loader:
    """Batches of files, epoch by epoch; :func:`loader` makes it.

    An iterable: each ``for`` loop goes through one epoch, from its first batch, or after :meth:`load_state_dict` from
    where that was left.  The next epoch begins when one has come to its end.  One loop at a time: a second one ends the
    first, whose next batch is a RuntimeError.  The threads end with the loop, also where it is left early.  Used by one
    thread at a time.  A batch blocks until it is made; what its making raised, with the file's name, is raised there.
    """

    _units: list[Unit]
    _settings: dict[str, Any]
    _give: Callable[[DeviceArray], Any]
    _place: tuple[Any, StreamLike]  # device and stream
    _ahead: tuple[int, int]  # buffers made ahead, threads
    _epoch: int
    _batches: int  # of the epoch, handed out
    _first: int  # batch of the next loop
    _run: Callable[[], _Epoch | None]

    def __init__(self) -> None:
        raise TypeError("Loader cannot be made directly: use cdevice.loader()")

    @classmethod
    def _of(
        cls, units: list[Unit], settings: dict[str, Any], give: Any, place: tuple[Any, Any], ahead: tuple[int, int]
    ) -> Loader:
        self = object.__new__(cls)
        rows = ",".join(str(u.rows) for u in units)
        self._units, self._settings = units, {**settings, "row_groups": zlib.crc32(rows.encode())}
        self._give, self._place, self._ahead = give, place, ahead
        self._epoch = self._batches = self._first = 0
        self._run = lambda: None
        return self

    # ---- numbers ----
    @property
    def epoch(self) -> int:
        """The number of the epoch that goes on, or comes next.  Never raises."""
        return self._epoch

    @property
    def num_rows(self) -> int:
        """Rows of an epoch of this rank, before ``drop_last``.  Never raises."""
        total: int = sum(u.rows for u in self._units)
        return total // int(self._settings["world_size"])

    def __len__(self) -> int:
        size: int = self._settings["batch_size"]
        rows = self.num_rows
        return rows // size if self._settings["drop_last"] else -(-rows // size)

    # ---- epochs ----
    def set_epoch(self, epoch: int) -> None:
        """The next loop goes through this epoch, from its first batch.

        ``epoch``: an int of 0 or more.  Ends a loop that goes on.  Blocks until its threads have ended.  Raises
        ArgumentError.
        """
        _require_numbers("set_epoch", epoch=(epoch, 0))
        self.close()
        self._epoch, self._batches, self._first = epoch, 0, 0

    def __iter__(self) -> Iterator[Any]:
        self.close()
        if self._batches and self._batches == len(self):  # all of it was handed out, and its end not asked for
            self._epoch += 1
        self._batches, self._first = self._first, 0
        run = _Epoch(self, self._batches)
        self._run = weakref.ref(run)
        return run

    def close(self) -> None:
        """Ends the loop that goes on, if any; :meth:`state_dict` stays as it is.

        Blocks until its threads have ended.  Never raises.
        """
        run = self._run()
        if run is not None:
            run.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # ---- state ----
    def state_dict(self) -> dict[str, Any]:
        """How far the loop has come: plain values that JSON takes.

        The epoch, the batches of it that were handed out, and the settings that decide which rows come when.  Does not
        block.  Never raises.
        """
        return {
            "version": 1, "epoch": self._epoch, "batches": self._batches,
            "settings": {**self._settings, "columns": [*self._settings["columns"]]},
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next loop goes on where a state was taken; batches before it are not read.

        ``state``: of :meth:`state_dict`, from a loader of the same files and settings; ``device``, ``as_``,
        ``prefetch`` and ``threads`` may be others.  Ends a loop that goes on.  Blocks until its threads have ended.
        Raises ArgumentError for a state of other settings or files, which it names, and for another object.
        """
        if not hasattr(state, "keys") or set(state.keys()) != _STATE or state["version"] != 1:
            raise ArgumentError("load_state_dict: expected what state_dict() of a loader returned")
        epoch, batches, settings = state["epoch"], state["batches"], dict(state["settings"])
        _require_numbers("load_state_dict", epoch=(epoch, 0), batches=(batches, 0))
        for name, here in self._settings.items():
            there = settings.get(name)
            if (list(there) if name == "columns" and there is not None else there) != here:
                differs = f"{name} is {here!r} here, {there!r} in the state"
                if name == "row_groups":
                    differs = "the row groups of the files are others than in the state"
                raise ArgumentError(f"load_state_dict: {differs}: make the loader with the arguments of that one")
        if batches > len(self):
            raise ArgumentError(f"load_state_dict: {batches} batches of an epoch of {len(self)}")
        self.close()
        self._run = lambda: None
        self._epoch, self._first = (epoch + 1, 0) if batches == len(self) else (epoch, batches)
        self._batches = self._first

    def __repr__(self) -> str:
        of = f"{len(self)} batches of {self._settings['batch_size']}"
        return f"<cdevice.Loader: {of}, epoch {self._epoch}, {self._batches} handed out>"


class _Epoch:
    """One loop: the iterator that a ``for`` holds.  Dropping it ends the threads."""

    def __init__(self, of: Loader, first: int) -> None:
        s = of._settings
        self._of, self._give, self._size = of, of._give, s["batch_size"]
        self._left = len(of) - first
        self._process = os.getpid()
        plan, per = _plan(of, s), s["shuffle_rows"] // self._size
        self._buffers = Buffers(plan, first // per, of._ahead, _decoder(of._units, s["columns"]), _maker(of, s))
        self._closed = False
        self._buffer: DeviceArray | None = None
        self._at = first % per * self._size

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Any:
        if self._process != os.getpid():
            raise RuntimeError(
                "loader: this loop began in the parent process, whose threads are not here: begin another one"
            )
        if not self._left:
            self._end()
            raise StopIteration
        if self._closed:
            raise RuntimeError("loader: this loop was closed: begin another one")
        try:
            if self._buffer is None:
                self._buffer = self._buffers.take()
            assert self._buffer is not None
            made = self._give(self._buffer._slice(self._at, min(self._size, self._buffer.length - self._at)))
        except KeyboardInterrupt:
            raise
        except BaseException:
            self.close()
            raise
        self._at += self._size
        if self._at >= self._buffer.length:
            self._buffer, self._at = None, 0
        self._left -= 1
        self._of._batches += 1
        if not self._left:
            self.close()
        return made

    def _end(self) -> None:
        if self._of._run() is self:
            self._of._run = lambda: None
            self._of._epoch, self._of._batches = self._of._epoch + 1, 0

    def close(self) -> None:
        self._closed, self._buffer = True, None
        self._buffers.close()


def _plan(of: Loader, s: dict[str, Any]) -> Plan:
    rows = [u.rows for u in of._units]
    order = permutation(len(rows), s["seed"], of._epoch, 0).tolist() if s["shuffle"] else range(len(rows))
    return Plan(rows, order, s["shuffle_rows"], s["rank"], s["world_size"])


def _decoder(units: list[Unit], columns: list[str]) -> Callable[[int], list[DeviceArray]]:
    return lambda unit: units[unit].decode(columns)


def _maker(of: Loader, s: dict[str, Any]) -> Callable[[int, list[DeviceArray]], DeviceArray]:
    """What makes a buffer of its parts: one transfer, then the rows in another order."""
    (target, stream), epoch = of._place, of._epoch

    def make(buffer: int, parts: list[DeviceArray]) -> DeviceArray:
        made = concat(parts, device=target, stream=stream)
        if not s["shuffle"]:
            return made
        order = concat(
            [permutation(made.length, s["seed"], epoch, 1 + buffer, s["rank"])], device=target, stream=stream
        )
        return take(made, order, stream=stream)

    return make


def _require_numbers(what: str = "loader", /, **numbers: tuple[Any, int]) -> None:
    for name, (value, least) in numbers.items():
        if type(value) is not int or value < least:
            raise ArgumentError(f"{what}: {name} must be an int of {least} or more, not {value!r}")


def _require_numpy() -> None:
    try:
        import numpy  # noqa: F401
    except ImportError as e:
        raise ModuleNotFoundError(f"loader: shuffle needs numpy: pip install numpy ({e})") from None
