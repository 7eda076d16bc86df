"""One value on a device."""

from __future__ import annotations

from .._runtime.ext import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Device, DeviceArray, Schema


class Scalar:
    """One value, an array of one row where it was computed; functions take it without the host.

    ``array``: that array; :meth:`as_py` waits for it.  Any thread may use it.
    """

    __slots__ = ("array",)

    def __init__(self, array: DeviceArray) -> None:
        if not isinstance(array, _native.Array):
            raise TypeError(f"Scalar(): array must be a DeviceArray of one row, not {type(array).__name__}")
        if array.length != 1:
            raise ValueError(f"Scalar(): array has {array.length} rows: expected 1")
        self.array = array

    @property
    def schema(self) -> Schema:
        """The :class:`Schema`: the type."""
        return self.array.schema

    @property
    def type(self) -> str:
        """The type in words."""
        return self.array.type

    @property
    def device(self) -> Device:
        """The :class:`Device` that has it."""
        return self.array.device

    @property
    def ready(self) -> bool:
        """True once it was computed.  Does not wait."""
        return self.array.ready

    def as_py(self) -> Any:
        """The value as :meth:`DeviceArray.to_pylist` gives it; None for null.

        Blocks until the value was computed.  Raises DeviceError where that failed.
        """
        value = self.array._lone_number()
        return self.array.to("cpu").to_pylist()[0] if value is NotImplemented else value

    def __getitem__(self, name: str) -> Scalar:
        """A field of a struct.  Raises KeyError."""
        return Scalar(self.array.field(name))

    def __repr__(self) -> str:
        if self.array.released:
            return "<cdevice.compute.Scalar, released>"
        value = repr(self.as_py()) if self.ready else "not ready"
        return f"<cdevice.compute.Scalar {self.type} on {self.device}: {value}>"
