"""A device of one's own: host memory behind handles.  Then the suite that checks its promises."""

import ctypes
import itertools
import threading

import cdevice
from cdevice.backend import CopyKind
from cdevice.testing.runner import run, suite_for


class Shelf(cdevice.Backend):
    """Blocks are numbers; their bytes are seen through copy() alone."""

    device_type = 4001
    name = "shelf"
    capabilities = cdevice.Capability(0)

    def __init__(self):
        self.handles, self.blocks, self.lock = itertools.count(4096, 64), {}, threading.Lock()

    def device_count(self):
        return 1

    def alloc(self, nbytes, *, device_id, stream=0):
        with self.lock:
            handle = next(self.handles)
            self.blocks[handle] = memoryview(bytearray(nbytes))
        return handle

    def view(self, block, offset, nbytes):
        with self.lock:
            handle = next(self.handles)
            self.blocks[handle] = self.blocks[block][offset : offset + nbytes]
        return handle

    def free(self, block):
        with self.lock:
            del self.blocks[block]

    def copy(self, kind, copies, *, stream=0):
        def place(address, offset, nbytes, host):
            if host:
                return memoryview((ctypes.c_char * nbytes).from_address(address + offset)).cast("B")
            return self.blocks[address][offset : offset + nbytes]

        for c in copies:
            source = place(c.src, c.src_offset, c.nbytes, kind == CopyKind.H2D)
            place(c.dst, c.dst_offset, c.nbytes, kind == CopyKind.D2H)[:] = source


shelf = Shelf()
cdevice.register_backend(shelf)
there = cdevice.asarray({"x": [1, None, 3], "s": ["a", "bb", None]}).to("shelf")
print(there)
print(there[1:].to("cpu").to_pylist())
outcomes = [found[2] for found in run(suite_for("shelf"))]
print({word: outcomes.count(word) > 0 for word in ("passed", "failed")})
