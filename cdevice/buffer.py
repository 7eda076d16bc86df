"""One buffer of an array."""

from __future__ import annotations

from ._arrays.buffer_access import BufferBase, view
from ._runtime.lazy import LazyModule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._types import StreamLike
    from .interop import pyopencl as _pyopencl
else:
    _pyopencl = LazyModule("cdevice.interop.pyopencl")


class Buffer(BufferBase):
    """A buffer of a :class:`DeviceArray`, of the rows that it had; it keeps the memory itself, also after the array is
    released.  Any thread may use it.

    ``array``, ``index``: whose buffer, and which one in the order of the Arrow struct.
    """

    __slots__ = ()

    def memoryview(self) -> memoryview:
        """The bytes, without a copy, read-only.

        Blocks until the data is ready.  Raises CannotExport where the CPU cannot read the memory.
        """
        self._owner._readable("reading a buffer")
        return view(self._owner, self._index)

    def to_pyopencl(self, queue: StreamLike = None) -> Any:
        """A pyopencl.Buffer on the same memory.

        ``queue``: its later work waits for the data; None: blocks until the data is ready.  Raises TypeError for memory
        that is not on OpenCL, ValueError where there is no buffer.
        """
        return _pyopencl.buffer_to_pyopencl(self._owner, self._index, queue)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        self._owner._readable("reading a buffer")
        return {"version": 3, "shape": (self.size,), "typestr": "|u1", "data": (self.address, True)}

    def __len__(self) -> int:
        return max(self.size, 0)

    def __repr__(self) -> str:
        return f"<cdevice.Buffer {self.size} bytes at {self.address:#x} on {self.device}>"
