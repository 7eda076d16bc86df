"""Batches as the loop wants them: of this package, or columns as tensors of another library."""

from __future__ import annotations

from ..errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import DeviceArray


def _dlpack(column: DeviceArray) -> Any:
    column.__dlpack_device__()
    return column


def _columns(convert: Callable[[DeviceArray], Any]) -> Callable[[DeviceArray], dict[str, Any]]:
    return lambda batch: {name: convert(batch.field(name)) for name in batch.column_names}


def _torch() -> Any:
    import torch

    return torch.from_dlpack


def _jax() -> Any:
    import jax.numpy as jnp

    return jnp.from_dlpack


_KINDS: dict[str, Callable[[], Any]] = {
    "dlpack": lambda: _dlpack,
    "jax": _jax,
    "numpy": lambda: lambda column: column.to_numpy(),
    "torch": _torch,
}


def giver(kind: str | None) -> Callable[[DeviceArray], Any]:
    """What makes of a batch what the loop gets.  Raises ArgumentError for another word, ModuleNotFoundError."""
    if kind is None:
        return lambda batch: batch
    if kind not in _KINDS:
        raise ArgumentError(f"loader: as_ must be None or one of {', '.join(map(repr, _KINDS))}, not {kind!r}")
    try:
        return _columns(_KINDS[kind]())
    except ImportError as e:
        raise ModuleNotFoundError(f"loader: as_={kind!r} needs {kind}: pip install {kind} ({e})") from None


def require_tensors(empty: DeviceArray, kind: str | None) -> None:
    """Raises ArgumentError for a column that no tensor is made of."""
    if kind is None:
        return
    for name in empty.column_names:
        column = empty.field(name)
        try:
            column.to("cpu").__dlpack__() if kind != "numpy" else column.to("cpu").to_numpy()
        except Exception as e:
            raise ArgumentError(
                f"loader: column {name!r} of type {column.schema.type} does not become a tensor: leave it out of"
                f" columns=, or take batches with as_=None ({e})"
            ) from None
