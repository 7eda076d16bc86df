"""What calls of functions raise beside the exceptions of cdevice.errors."""

from __future__ import annotations

from .._runtime.lazy import LazyModule
from ..errors import ArgumentError, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._devices import device as _device
else:
    _device = LazyModule("cdevice._devices.device")


class NoKernel(Unsupported, TypeError):
    """No kernel of a function takes these types on this device: the message lists the kernels and their devices."""


class IndexOutOfBounds(ArgumentError, IndexError):
    """An index is that of no row."""


class ValueOutOfRange(ArgumentError, OverflowError):
    """A number is none of the type that it should become."""


class UnknownFunction(ArgumentError, KeyError):
    """No function has this name: the message names similar ones."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


def device_word(type_id: int) -> str:
    """A device type in one word, for messages."""
    return str(_device.Device(type_id, 0)).partition(":")[0]
