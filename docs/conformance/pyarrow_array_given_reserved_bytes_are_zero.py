"""The 24 reserved bytes are zero.

MUST: C device data interface, ArrowDeviceArray.reserved"""
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


class Once(NotDone):
    """What was given cannot be given a second time."""


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


def the_device(subject):
    """The device struct, whose array is released after the look at it."""
    schema, device, array = exported(subject)
    call_release(schema)
    call_release(array)
    if device is None:
        raise NotDone("it has no __arrow_c_device_array__")
    return device


def reserved_bytes_are_zero(subject):
    """The 24 reserved bytes are zero."""
    junk = [bytes([255]) * n for n in (64, 128, 160, 256) for _ in range(50)]
    del junk
    for _ in range(20):
        try:
            device = the_device(subject)
        except Once:
            break
        if any(device.reserved):
            raise Broken(f"reserved is {[hex(r & (1 << 64) - 1) for r in device.reserved]}")


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import pyarrow as pa

reserved_bytes_are_zero(Subject(lambda: pa.array([1, None, 3]), values=[1, None, 3]))
print("kept")
