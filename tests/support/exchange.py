"""DLPack's exchange table as C has it: ours, called through its function pointers, and one of another library."""

import ctypes

import foreign_tensor

TABLE = b"dlpack_exchange_api"
p, i32, u32 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", p),
        ("device", i32 * 2),
        ("ndim", i32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]

    def dimensions(self):
        return self.shape[: self.ndim], self.strides[: self.ndim]


class Managed(ctypes.Structure):
    _fields_ = [("version", u32 * 2), ("context", p), ("deleter", p), ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


SET_ERROR = ctypes.PYFUNCTYPE(None, p, ctypes.c_char_p, ctypes.c_char_p)
DELETE = ctypes.PYFUNCTYPE(None, p)
ALLOCATE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(p), p, SET_ERROR)
OUT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(p))
IN = ctypes.PYFUNCTYPE(ctypes.c_int, p, ctypes.POINTER(p))
LEND = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, i32, i32, ctypes.POINTER(p))


class Table(ctypes.Structure):
    _fields_ = [
        ("version", u32 * 2),
        ("previous", p),
        ("allocate", p),
        ("out", p),
        ("in_", p),
        ("lend", p),
        ("stream", p),
    ]


def table_of(type):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = p, [ctypes.py_object, ctypes.c_char_p]
    return Table.from_address(get(type.__dlpack_c_exchange_api__, TABLE))


def capsule(table, name=TABLE):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [p, ctypes.c_char_p, p]
    return new(ctypes.addressof(table), name, None)


class Calls:
    """The functions of a table; -1 without an exception is an AssertionError."""

    def __init__(self, table):
        self.table = table

    def out(self, array):
        made = p()
        assert OUT(self.table.out)(array, ctypes.byref(made)) == 0
        return Managed.from_address(made.value)

    def delete(self, managed):
        DELETE(managed.deleter)(ctypes.addressof(managed))

    def in_(self, managed):
        made = p()
        assert IN(self.table.in_)(ctypes.addressof(managed), ctypes.byref(made)) == 0
        array = ctypes.cast(made, ctypes.py_object).value
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))  # the one that was given out
        return array

    def lend(self, array):
        out = DLTensor()
        assert LEND(self.table.lend)(array, ctypes.byref(out)) == 0
        return out

    def stream(self, device_type, number):
        out = p(77)
        assert STREAM(self.table.stream)(device_type, number, ctypes.byref(out)) == 0
        return out.value

    def allocate(self, shape, type=(0, 64, 1), device=(1, 0)):
        """A tensor, or the error that set_error was told."""
        made, told = p(), []
        like = DLTensor(None, device, len(shape), *type, (ctypes.c_int64 * len(shape))(*shape), None, 0)
        say = SET_ERROR(lambda context, kind, text: told.append((context, kind.decode(), text.decode())))
        r = ALLOCATE(self.table.allocate)(like, made, p(55), say)
        assert (r == 0) != bool(told) and len(told) < 2
        if not told:
            return Managed.from_address(made.value)
        assert told[0][0] == 55
        return told[0][1:]


class Foreign:
    """A tensor of another library, whose type has a table: int64 over a ctypes array."""

    made = deleted = 0
    asked = []  # devices whose stream was asked for

    def __init__(self, values, device=(1, 0), strides=None, major=1, bits=64, code=0):
        self.values = values and (ctypes.c_int64 * len(values))(*values)
        self.shape = (ctypes.c_int64 * 1)(len(values or ()))
        self.strides = (ctypes.c_int64 * 1)(strides or 1)
        self.device, self.major, self.type = device, major, (code, bits, 1)
        self.by_method = 0

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **unused):
        self.by_method += 1
        self.kept = foreign_tensor.Tensor(self.values, self.shape)
        return self.kept.__dlpack__()

    def _out(self):
        self.managed = Managed(
            (self.major, 3),
            None,
            ctypes.cast(DELETED, p).value,
            0,
            DLTensor(ctypes.addressof(self.values), self.device, 1, *self.type, self.shape, self.strides, 0),
        )
        LIVING[ctypes.addressof(self.managed)] = self
        Foreign.made += 1
        return ctypes.addressof(self.managed)


LIVING = {}


@DELETE
def DELETED(address):
    del LIVING[address]
    Foreign.deleted += 1


@OUT
def foreign_out(tensor, made):
    made[0] = tensor._out()
    return 0


@STREAM
def foreign_stream(device_type, number, out):
    Foreign.asked.append((device_type, number))
    out[0] = 0
    return 0


def address(function):
    return ctypes.cast(function, p).value


FOREIGN = Table((1, 3), None, None, address(foreign_out), None, None, address(foreign_stream))
Foreign.__dlpack_c_exchange_api__ = capsule(FOREIGN)
