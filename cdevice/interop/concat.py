"""Several arrays become one."""

from __future__ import annotations

from .._arrays.concat import joined
from .._runtime.ext import _native
from ..errors import ArgumentError
from .asarray import asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .._types import DeviceArray, DeviceLike, StreamLike


def concat(
    arrays: Iterable[Any],
    *,
    device: DeviceLike | None = None,
    stream: StreamLike = None,
) -> DeviceArray:
    """One :class:`DeviceArray` of the rows of several, one after the other, in one allocation; one alone is itself.

    ``arrays``: one or more of what :func:`asarray` takes, all of one type; names and metadata are those of the first.
    The result is nullable if any input is.  ``device``: where the result shall be; None: where all of them are.
    ``stream``: as in :meth:`DeviceArray.to`.  Only the rows of slices are taken.  Dictionaries that differ become one,
    each value once in the order of its first appearance, ordered ones too: if their order has a meaning, pass all of
    them the same dictionary.  Runs and views keep their encoding.

    From memory that the CPU can read everything goes to the device in one transfer, and the result carries the event.
    On a device, fixed-width arrays without nulls (structs and fixed-size lists of them too) are joined by its own
    copies and it does not block; for others it blocks until they are ready, and they pass through the CPU.

    Any thread.  Raises ArgumentError without arrays, for another type than the first's (with its index), for arrays on
    several devices without ``device``, and where 32-bit offsets, run ends or dictionary indices cannot count so many;
    InvalidArray for contents that point outside of their array; BackendUnavailable, DeviceError, OutOfMemory.  The
    sources are untouched.
    """
    if isinstance(arrays, (_native.Array, str)):
        raise TypeError(f"concat() takes several arrays, for example a list, not one {type(arrays).__name__}")
    made: list[Any] = [a if isinstance(a, _native.Array) else asarray(a) for a in arrays]
    if not made:
        raise ArgumentError("the schema is unknown without arrays")
    return joined(made, device, stream)
