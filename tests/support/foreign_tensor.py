"""A DLPack tensor as another library makes it, of before 1.0: int64 on the CPU."""

import ctypes

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Tensor:
    """values: a ctypes array, or None; deleter: called with the address, or None."""

    def __init__(self, values, shape, deleter=None):
        self.values, self.shape = values, (ctypes.c_int64 * len(shape))(*shape)
        self.deleter = DELETER(deleter) if deleter else None
        self.tensor = Managed(
            ctypes.addressof(values) if values is not None else None,
            (1, 0),
            len(shape),
            (0, 64, 1, 0),
            ctypes.addressof(self.shape),
            None,
            0,
            None,
            ctypes.cast(self.deleter, ctypes.c_void_p).value if deleter else None,
        )

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **unused):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)
