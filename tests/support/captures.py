"""Graph captures by the vendor's own calls, as torch or cupy make them in the same process."""

import contextlib
import ctypes

from cdevice._runtime.ext import ffi

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
PREFIX = {"cuda": "cu", "rocm": "hip"}


class Vendor:
    """Streams and captures on device 0 of the library of a backend's vendor; ``table``: the backend."""

    def __init__(self, library, vendor, table):
        self.library, self.prefix, self.table = library, PREFIX[vendor], table
        self.made = []
        self.context = ctypes.c_void_p()
        if self.prefix == "cu":  # held: a context that nothing retains is destroyed, and its streams with it
            assert self.call("DevicePrimaryCtxRetain", ctypes.byref(self.context), 0) == 0

    def call(self, name, *args):
        return getattr(self.library, self.prefix + name)(*args)

    @contextlib.contextmanager
    def current(self):
        """The device made current as the vendor's users have it, so without the backend's own mode of capture."""
        if self.prefix == "hip":
            assert self.call("SetDevice", 0) == 0
            yield
            return
        assert self.call("CtxPushCurrent_v2", self.context) == 0
        yield
        assert self.call("CtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p())) == 0

    def stream(self, blocking=False):
        """A handle; :meth:`close` destroys it."""
        out = ctypes.c_void_p()
        create = "StreamCreate" if self.prefix == "cu" else "StreamCreateWithFlags"
        with self.current():
            assert self.call(create, ctypes.byref(out), 0 if blocking else 1) == 0
        self.made.append(out.value)
        return out.value

    def begin(self, stream, mode=GLOBAL):
        name = "StreamBeginCapture_v2" if self.prefix == "cu" else "StreamBeginCapture"
        with self.current():
            assert self.call(name, ctypes.c_void_p(stream), mode) == 0

    def end(self, stream):
        """0, or 901 when something has ended the capture before."""
        graph = ctypes.c_void_p()
        with self.current():
            code = self.call("StreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        assert bool(graph.value) == (code == 0)
        return code

    @contextlib.contextmanager
    def capture(self, stream, mode=GLOBAL):
        """Fails when what was done inside has ended the capture."""
        self.begin(stream, mode)
        try:
            yield
        finally:
            code = self.end(stream)
        assert code == 0, f"the capture was ended: {code}"

    def close(self):
        for s in self.made:
            self.table.stream_destroy(self.table.self, 0, ffi.cast("void *", s))
        if self.context:
            self.call("DevicePrimaryCtxRelease_v2", 0)
