"""Memory that ends at a page which nobody may touch, and that nobody may write."""

import ctypes
import mmap

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_PAGE = mmap.PAGESIZE


class Guarded:
    """``data`` read-only, its end (rounded up to ``align`` bytes) at a page without access."""

    def __init__(self, data, align=1):
        size = len(data)
        room = max(-(-size // _PAGE), 1) * _PAGE
        self._map = mmap.mmap(-1, room + _PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        start = room - -(-size // align) * align
        self._map[start : start + size] = bytes(data)
        if _libc.mprotect(base + room, _PAGE, 0) or _libc.mprotect(base, room, 1):
            raise OSError(ctypes.get_errno(), "mprotect")
        self.address, self.size = base + start, size
        self._base, self._room = base, room

    @property
    def view(self):
        """The bytes, keeping this object."""
        memory = (ctypes.c_char * self.size).from_address(self.address)
        memory.guard = self
        return memoryview(memory).cast("B").toreadonly()

    def __del__(self):
        _libc.mprotect(self._base, self._room + _PAGE, 3)
