"""The schema that an object has is granted where it is requested.

SHOULD: PyCapsule interface, requested_schema"""
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


def text_at(address):
    """The zero-terminated text there; Broken where it is no UTF-8."""
    if not address:
        return None
    data = ctypes.string_at(address)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Broken(f"{data!r} is no UTF-8") from None


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


def the_own_schema_may_be_requested(subject):
    """The schema that an object has is granted where it is requested."""
    made, method = method_of(subject)
    given, _ = capsules_of(type(subject)(lambda: made, protocol=subject.protocol))
    wanted = text_at(ArrowSchema.from_address(capsule_address(given[0], "arrow_schema")).format)
    try:
        again = getattr(made, method)(requested_schema=given[0])
    except Exception as e:
        raise Broken(f"{type(e).__name__}: {e}") from None
    found = text_at(ArrowSchema.from_address(capsule_address(again[0], "arrow_schema")).format)
    if found != wanted:
        raise Broken(f"{found!r} comes where {wanted!r} was requested")


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import nanoarrow as na, nanoarrow.device, pyarrow as pa

the_own_schema_may_be_requested(Subject(lambda: na.c_array([1, None, 3], na.int64()), values=[1, None, 3]))
print("kept")
