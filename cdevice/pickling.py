"""Pickling: schema and one buffer per Arrow buffer, out of band with protocol 5.

The data is that of the rows alone.  On the CPU an array that has nothing else is sent as it lies, a part of one is
copied.  Memory off the CPU travels through the CPU, in one packed read, and comes back on the device it was on, or,
inside ``with pickling.load_on("cpu")``, on another.  Inside ``with cdevice.sharing():`` a token of shared memory
travels.
"""

from __future__ import annotations

import contextlib
import pickle
import sys

from ._arrays.serialize import at_home, deconstruct, elsewhere, reconstruct
from ._runtime.lazy import LazyModule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._types import DeviceArray, DeviceLike, Schema
    from .interop import dask as _dask
    from .ipc import sharing as _sharing
else:
    _dask = LazyModule("cdevice.interop.dask")
    _sharing = LazyModule("cdevice.ipc.sharing")


def reduce(a: DeviceArray, protocol: int) -> tuple[Any, ...]:
    if "distributed" in sys.modules:
        _dask.register_frames()  # it was imported after this package, and nothing was measured
    token = _sharing.token_of(a)
    if token is not None:
        return _load_shared, (token, str(a.device))
    return _load, deconstruct(a, pickle.PickleBuffer if protocol >= 5 else bytes)


def _load(schema: Schema, parts: Any, home: str) -> DeviceArray:
    """Named in pickles."""
    return reconstruct(schema, parts, home)


def _load_shared(token: bytes, home: str) -> DeviceArray:
    """Named in pickles."""
    return at_home(_sharing.opened(token), home)


@contextlib.contextmanager
def load_on(device: DeviceLike) -> Iterator[None]:
    """Arrays that are unpickled in this context come to ``device``, wherever they were: for data of a device that is
    not here."""
    before = elsewhere.set(device)
    try:
        yield
    finally:
        elsewhere.reset(before)
