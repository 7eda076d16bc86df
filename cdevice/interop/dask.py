"""Dask: how large arrays are, for its memory limits and its scheduler.  Found by the entry point in ``dask.sizeof``.

Between workers arrays travel by pickle's protocol 5, one frame a buffer, without a copy on the CPU.
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
