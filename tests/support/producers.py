"""Streams of other libraries: an object with one method, and a struct with callbacks in Python."""

import pytest

import cdevice
from cdevice._runtime.ext import ffi

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

TABLE = pa.table({"a": [1, 2, None], "b": ["x", "yy", None]})


class Once:
    """Hands the stream on through a capsule, as another library would."""

    def __init__(self, stream, plain=False):
        self.stream, self.plain = stream, plain
        if plain:
            self.__arrow_c_stream__ = lambda requested_schema=None: stream.__arrow_c_stream__(requested_schema)
        else:
            self.__arrow_c_device_stream__ = lambda requested_schema=None: stream.__arrow_c_device_stream__(
                requested_schema
            )


PRODUCERS = []


class Producer:
    """A device stream in Python callbacks: what it answers is up to the test."""

    def __init__(self, arrays=(), device_type=1, schema=TABLE.schema, schema_code=0, end_code=0, text=b"no more ink"):
        self.arrays, self.schema, self.text = list(arrays), schema, text
        self.schema_code, self.end_code = schema_code, end_code
        self.released = self.schemas = self.asked = 0
        self.struct = ffi.new("struct ArrowDeviceArrayStream *")
        PRODUCERS.append(self)  # a thread may be inside when the test ends
        self._keep = [
            ffi.callback("int(struct ArrowDeviceArrayStream *, struct ArrowSchema *)", self._get_schema),
            ffi.callback("int(struct ArrowDeviceArrayStream *, struct ArrowDeviceArray *)", self._get_next),
            ffi.callback("const char *(struct ArrowDeviceArrayStream *)", self._get_last_error),
            ffi.callback("void(struct ArrowDeviceArrayStream *)", self._release),
        ]
        self._text = ffi.new("char[]", text) if text is not None else ffi.NULL
        s = self.struct
        s.device_type = device_type
        s.get_schema, s.get_next, s.get_last_error, s.release = self._keep

    def _get_schema(self, _, out):
        self.schemas += 1
        if self.schema_code:
            return self.schema_code
        self.schema._export_to_c(int(ffi.cast("uintptr_t", out)))
        return 0

    def _get_next(self, _, out):
        self.asked += 1
        if not self.arrays:
            out.array.release = ffi.NULL
            return self.end_code
        array, device_type, device_id = self.arrays.pop(0)
        cdevice.asarray(array)._export_structs(int(ffi.cast("uintptr_t", out)), 0)
        out.device_type, out.device_id = device_type, device_id
        return 0

    def _get_last_error(self, _):
        return self._text

    def _release(self, s):
        self.released += 1
        s.release = ffi.NULL
