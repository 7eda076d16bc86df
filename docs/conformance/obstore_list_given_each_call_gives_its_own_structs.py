"""Two calls give two exports: the release of one leaves the other valid.

MUST: PyCapsule interface, lifetime"""
from ctypes import c_char_p
from ctypes import c_int32
from ctypes import c_int64
from ctypes import c_void_p
from ctypes import py_object
import ctypes

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


OneArgument = ctypes.CFUNCTYPE(None, c_void_p)


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


def pointers_at(address, n):
    return list((c_void_p * n).from_address(address)) if n > 0 and address else []


def children_of(struct):
    """The child structs; an empty list where they cannot be read."""
    if not 0 <= struct.n_children < 100_000:
        return []
    found = pointers_at(struct.children, struct.n_children)
    return [type(struct).from_address(p) for p in found] if all(found) else []


def method_of(subject):
    """The object and the name of its method: the device's where it has that one."""
    made = subject.make()
    for name in ("__arrow_c_device_array__", "__arrow_c_array__"):
        if getattr(made, name, None) is not None and subject.protocol in (None, name):
            return made, name
    raise NotDone(f"it has no {subject.protocol or '__arrow_c_device_array__'}")


def capsules_of(subject):
    """The two capsules, and the struct types and names that belong in them."""
    made, name = method_of(subject)
    try:
        given = getattr(made, name)()
    except NotDone:
        raise
    except Exception as e:  # gives_two_named_capsules tells it
        raise NotDone(f"{name}() raises {type(e).__name__}: {e}") from None
    if not isinstance(given, tuple) or len(given) != 2:
        raise NotDone("no pair of capsules came")
    device = name == "__arrow_c_device_array__"
    return given, (ArrowDeviceArray, "arrow_device_array") if device else (ArrowArray, "arrow_array")


def exported(subject):
    """(schema, device array or None, array), moved out of their capsules."""
    (schema, array), (kind, name) = capsules_of(subject)
    at = kind.from_address(capsule_address(array, name))
    plain = at.array if kind is ArrowDeviceArray else at
    if not plain.release:
        raise NotDone("the array is released")
    schema = move(ArrowSchema.from_address(capsule_address(schema, "arrow_schema")))
    at = move(at)
    return (schema, at, at.array) if kind is ArrowDeviceArray else (schema, None, at)


def first_buffer(array):
    """The address of the first buffer with content, of an array or of its children."""
    stack = [array]
    while stack:
        at = stack.pop()
        found = [p for p in pointers_at(at.buffers, at.n_buffers) if p] if at.n_buffers < 1000 else []
        if found:
            return found[-1]
        stack += children_of(at)
    raise NotDone("it has no buffer")


def looks(export):
    """An array's counts, and a byte of its content where the CPU reads that."""
    _, device, array = export
    byte = None
    if (device is None or device.device_type == 1) and array.length > 0:
        try:
            byte = ctypes.string_at(first_buffer(array), 1)
        except NotDone:
            pass
    return array.length, array.n_buffers, byte


def each_call_gives_its_own_structs(subject):
    """Two calls give two exports: the release of one leaves the other valid."""
    made, _ = method_of(subject)
    twice = type(subject)(lambda: made, protocol=subject.protocol)
    first, second = exported(twice), exported(twice)
    if first[2].release and second[2].release:
        before = looks(second)
        call_release(first[2])
        if not second[2].release or before != looks(second):
            raise Broken("the second export is not valid after the release of the first")
    call_release(first[0])
    call_release(second[2])
    call_release(second[0])


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import obstore.store
def listed():
    store = obstore.store.MemoryStore(); store.put('a', b'xy')
    return store.list(return_arrow=True).collect()


each_call_gives_its_own_structs(Subject(lambda: listed(), batch=True))
print("kept")
