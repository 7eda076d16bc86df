"""A wide struct without any library: growth is measured in a bare process too."""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


_release_schema = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
_release_array = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)), ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p),
]  # fmt: skip


@_release_schema  # type: ignore[untyped-decorator]
def _done_schema(p: Any) -> None:
    p.contents.release = None


@_release_array  # type: ignore[untyped-decorator]
def _done_array(p: Any) -> None:
    p.contents.release = None


_kept: list[Any] = []  # the structs live as long as the process: the release of the last child is not reported


class WideStruct:
    """Producer of a struct of `ncols` int64 columns from ctypes alone."""

    def __init__(self, ncols: int, values: Any) -> None:
        self.ncols, self.values = ncols, values

    def __arrow_c_array__(self, requested_schema: object | None = None) -> Any:
        n, data = self.ncols, self.values
        done_s, done_a = (ctypes.cast(f, ctypes.c_void_p).value for f in (_done_schema, _done_array))
        names = [b"c%d" % i for i in range(n)]
        schemas, arrays = (Schema * n)(), (Array * n)()
        two = (ctypes.c_void_p * 2)(None, data.buffer_info()[0])
        buffers = ctypes.cast(two, ctypes.POINTER(ctypes.c_void_p))
        for i in range(n):
            schemas[i].format, schemas[i].name, schemas[i].flags, schemas[i].release = b"l", names[i], 2, done_s
            arrays[i].length, arrays[i].n_buffers, arrays[i].buffers = len(data), 2, buffers
            arrays[i].release = done_a
        sp = (ctypes.POINTER(Schema) * n)(*(ctypes.pointer(s) for s in schemas))
        ap = (ctypes.POINTER(Array) * n)(*(ctypes.pointer(a) for a in arrays))
        one = (ctypes.c_void_p * 1)(None)
        schema = Schema(format=b"+s", name=b"", flags=0, n_children=n, release=done_s,
                        children=ctypes.cast(sp, ctypes.POINTER(ctypes.POINTER(Schema))))  # fmt: skip
        arr = Array(length=len(data), n_buffers=1, n_children=n, release=done_a,
                    buffers=ctypes.cast(one, ctypes.POINTER(ctypes.c_void_p)),
                    children=ctypes.cast(ap, ctypes.POINTER(ctypes.POINTER(Array))))  # fmt: skip
        _kept.append((names, schemas, arrays, two, sp, ap, one, schema, arr, data))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(schema), b"arrow_schema", None), new(ctypes.addressof(arr), b"arrow_array", None)
