"""The schema that a stream has is granted where it is requested.

SHOULD: PyCapsule interface, requested_schema"""
from ctypes import c_char_p
from ctypes import c_int32
from ctypes import c_int64
from ctypes import c_void_p
from ctypes import py_object
import ctypes
import struct

class Broken(Exception):
    """A rule is broken: the words say how."""


class NotDone(Exception):
    """A rule does not apply to what was given, or a method is lacking."""


class ArrowSchema(ctypes.Structure):
    _fields_ = [
        ("format", c_void_p),
        ("name", c_void_p),
        ("metadata", c_void_p),
        ("flags", c_int64),
        ("n_children", c_int64),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class ArrowArray(ctypes.Structure):
    _fields_ = [
        ("length", c_int64),
        ("null_count", c_int64),
        ("offset", c_int64),
        ("n_buffers", c_int64),
        ("n_children", c_int64),
        ("buffers", c_void_p),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class ArrowDeviceArray(ctypes.Structure):
    _fields_ = [
        ("array", ArrowArray),
        ("device_id", c_int64),
        ("device_type", c_int32),
        ("sync_event", c_void_p),
        ("reserved", c_int64 * 3),
    ]


class ArrowArrayStream(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class ArrowDeviceArrayStream(ctypes.Structure):
    _fields_ = [("device_type", c_int32), *ArrowArrayStream._fields_]


OneArgument = ctypes.CFUNCTYPE(None, c_void_p)


Fill = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p)


Text = ctypes.CFUNCTYPE(c_void_p, c_void_p)


KEPT = []


def capsule_call(name, result, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


def capsule_name(capsule):
    if type(capsule).__name__ != "PyCapsule":
        return None
    name = capsule_call("PyCapsule_GetName", c_char_p, py_object)(capsule)
    return None if name is None else name.decode()


def capsule_address(capsule, name):
    """The address in a capsule of that name."""
    if capsule_name(capsule) != name:
        raise NotDone(f"there is no capsule {name!r}")
    return capsule_call("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)(capsule, name.encode())


def new_capsule(address, name, destructor=None):
    """A capsule; ``destructor``: an OneArgument that gets the capsule's own address."""
    text = ctypes.create_string_buffer(name.encode())
    KEPT.append((text, destructor))
    make = capsule_call("PyCapsule_New", py_object, c_void_p, c_void_p, c_void_p)
    return make(address, ctypes.addressof(text), ctypes.cast(destructor, c_void_p) if destructor else None)


def call_release(struct):
    """Calls the release callback of a struct, if it is live."""
    if struct.release:
        OneArgument(struct.release)(ctypes.addressof(struct))


def move(struct):
    """A copy in other memory; the source is marked released."""
    copy = type(struct)()
    ctypes.memmove(ctypes.byref(copy), ctypes.byref(struct), ctypes.sizeof(struct))
    if hasattr(struct, "array"):
        struct.array.release = None
    else:
        struct.release = None
    return copy


def text_at(address):
    """The zero-terminated text there; Broken where it is no UTF-8."""
    if not address:
        return None
    data = ctypes.string_at(address)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Broken(f"{data!r} is no UTF-8") from None


LIVE = {}


def heap(struct, name, dropped=None):
    """A capsule that owns a struct: dropping it releases the struct where that is live, and notes that."""
    kind = type(struct)

    def drop(capsule):
        address = ctypes.PYFUNCTYPE(c_void_p, c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
        at = kind.from_address(address(capsule, name.encode()))
        at = at.array if hasattr(at, "array") else at
        if at.release and dropped is not None:
            dropped.append(name)
        call_release(at)
        LIVE.pop(id(struct), None)

    LIVE[id(struct)] = {"keep": struct}
    return new_capsule(ctypes.addressof(struct), name, OneArgument(drop))


class Failed(Exception):
    """A callback of a stream returned a code."""

    def __init__(self, code, words):
        super().__init__(code, words)
        self.code, self.words = code, words


class Opened:
    """A stream that was taken out of its capsule, to be read by hand."""

    def __init__(self, struct):
        self.struct = struct
        self.device = isinstance(struct, ArrowDeviceArrayStream)

    def call(self, name, out):
        code = Fill(getattr(self.struct, name))(ctypes.addressof(self.struct), ctypes.addressof(out))
        if code:
            raise Failed(code, self.words())
        return out

    def words(self):
        address = Text(self.struct.get_last_error)(ctypes.addressof(self.struct))
        return None if not address else ctypes.string_at(address).decode(errors="replace")

    def schema(self):
        return self.call("get_schema", ArrowSchema())

    def next(self):
        """(device struct or None, array), or None at the end."""
        out = self.call("get_next", ArrowDeviceArray() if self.device else ArrowArray())
        array = out.array if self.device else out
        return (out if self.device else None, array) if array.release else None

    def rest(self, most=10_000):
        found = []
        while (one := self.next()) is not None:
            found.append(one)
            if len(found) > most:
                raise OverflowError(f"more than {most} batches")
        return found

    def release(self):
        call_release(self.struct)


KINDS = {
    "__arrow_c_device_stream__": (ArrowDeviceArrayStream, "arrow_device_array_stream"),
    "__arrow_c_stream__": (ArrowArrayStream, "arrow_array_stream"),
}


def stream_method(subject):
    made = subject.make()
    for name in KINDS:
        if subject.protocol in (None, name) and getattr(made, name, None) is not None:
            return made, name
    raise NotDone(f"it has no {subject.protocol or '__arrow_c_stream__'}")


def stream_at(subject):
    """The capsule and the struct in it."""
    made, method = stream_method(subject)
    capsule = getattr(made, method)()
    kind, name = KINDS[method]
    return capsule, kind.from_address(capsule_address(capsule, name))


def opened(subject, fails=False):
    """A stream, moved out of its capsule; NotDone where it is one that is made to fail, or not to."""
    if bool(subject.fails) != fails:
        raise NotDone("the stream is made to fail" if subject.fails else "no stream is made to fail")
    _, at = stream_at(subject)
    if not at.release:
        raise NotDone("the stream is released")
    return Opened(move(at))


def end(stream, *structs):
    for struct in structs:
        call_release(struct)
    stream.release()


def schema_of(stream):
    try:
        return stream.schema()
    except Failed as e:
        raise Broken(f"get_schema gives {e.code}: {e.words}") from None


def the_streams_own_schema_may_be_requested(subject):
    """The schema that a stream has is granted where it is requested."""
    stream = opened(subject)
    schema = schema_of(stream)
    stream.release()
    wanted = text_at(schema.format)
    made, method = stream_method(subject)
    request = heap(schema, "arrow_schema")
    try:
        again = getattr(made, method)(requested_schema=request)
    except Exception as e:
        raise Broken(f"{type(e).__name__}: {e}") from None
    kind, name = KINDS[method]
    stream = Opened(move(kind.from_address(capsule_address(again, name))))
    schema = schema_of(stream)
    found = text_at(schema.format)
    end(stream, schema)
    if found != wanted:
        raise Broken(f"{found!r} comes where {wanted!r} was requested")


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import sedonadb
context = sedonadb.connect()

the_streams_own_schema_may_be_requested(Subject(lambda: context.sql('select * from (values (1), (null), (3)) t(a)'), values=[{'a': 1}, {'a': None}, {'a': 3}]))
print("kept")
