"""Dask: how large arrays are, for its memory limits and its scheduler.  Found by the entry point in ``dask.sizeof``.

Between workers arrays travel by pickle's protocol 5, which Dask uses where nothing else is registered: one frame a
buffer, sent from where it lies on the CPU and used where it arrives; from a device in one packed read, to a device
into one allocation.  Functions of our own in ``distributed.protocol.dask_serialize`` would send the same frames, and
no entry point tells a worker of them before it has imported this package; so there are none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def register_sizeof(sizeof: Any) -> None:
    """Called by dask when it first meets an object of this package."""

    @sizeof.register_lazy("cdevice")  # type: ignore[untyped-decorator]
    def register() -> None:
        from .._ext import _native

        sizeof.register(_native.Array, lambda array: array.__sizeof__())
