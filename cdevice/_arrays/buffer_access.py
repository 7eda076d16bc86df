"""Reading what an array holds: shares of it, and its buffers on the CPU."""

from __future__ import annotations

from .._runtime.ext import ffi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import Device, DeviceArray


def share(array: DeviceArray) -> DeviceArray:
    """The rows of an array under a reference of their own: ``release()`` of the array takes nothing from it."""
    return array._slice(0, array.length)


def view(array: DeviceArray, index: int) -> memoryview:
    """Buffer ``index`` on the CPU as a read-only memoryview with a share of its own."""
    owner = share(array)
    address, size = owner._buffer(index)
    if not address or size <= 0:
        return memoryview(b"")
    pointer = ffi.gc(ffi.cast("char *", address), lambda _, owner=owner: None)
    return memoryview(ffi.buffer(pointer, size)).toreadonly()


class BufferBase:
    """What a :class:`cdevice.Buffer` is to those below it."""

    __slots__ = ("__weakref__", "_index", "_owner")

    def __init__(self, array: DeviceArray, index: int) -> None:
        self._owner, self._index = share(array), index

    @property
    def address(self) -> int:
        """The pointer or handle that the Arrow struct carries; 0: no buffer."""
        return self._owner._buffer(self._index)[0] or 0

    @property
    def size(self) -> int:
        """Bytes up to the end of the array's rows; -1: cannot be known without waiting for the device."""
        return self._owner._buffer(self._index)[1]

    @property
    def device(self) -> Device:
        """The :class:`Device` it lives on."""
        return self._owner.device
