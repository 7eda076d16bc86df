"""One buffer of an array."""

from ._ext import ffi


class Buffer:
    """A buffer of a :class:`DeviceArray`, of the rows that it had; a share of its own keeps the memory, whatever
    happens to the array."""

    __slots__ = ("__weakref__", "_index", "_owner")

    def __init__(self, array, index):
        self._owner, self._index = share(array), index

    @property
    def address(self):
        """The pointer or handle that the Arrow struct carries; 0: no buffer."""
        return self._owner._buffer(self._index)[0] or 0

    @property
    def size(self):
        """Bytes up to the end of the array's rows; -1: cannot be known without waiting for the device."""
        return self._owner._buffer(self._index)[1]

    @property
    def device(self):
        """The :class:`Device` it lives on."""
        return self._owner.device

    def memoryview(self):
        """The bytes, without a copy, read-only.  Waits for the event; raises CannotExport where the CPU cannot read."""
        self._owner._readable("reading a buffer")
        return view(self._owner, self._index)

    def to_pyopencl(self, queue=None):
        """A pyopencl.Buffer on the same memory; later work of ``queue`` waits for it, None: the host waits."""
        from .interop.pyopencl import buffer_to_pyopencl

        return buffer_to_pyopencl(self._owner, self._index, queue)

    @property
    def __array_interface__(self):
        self._owner._readable("reading a buffer")
        return {"version": 3, "shape": (self.size,), "typestr": "|u1", "data": (self.address, True)}

    def __len__(self):
        return max(self.size, 0)

    def __repr__(self):
        return f"<cdevice.Buffer {self.size} bytes at {self.address:#x} on {self.device}>"


def share(array):
    """The rows of an array under a reference of their own: ``release()`` of the array takes nothing from it."""
    return array._slice(0, array.length)


def view(array, index):
    """Buffer ``index`` on the CPU as a read-only memoryview with a share of its own."""
    owner = share(array)
    address, size = owner._buffer(index)
    if not address or size <= 0:
        return memoryview(b"")
    pointer = ffi.gc(ffi.cast("char *", address), lambda _, owner=owner: None)
    return memoryview(ffi.buffer(pointer, size)).toreadonly()
