"""copy=True gives other memory, with the flag IS_COPIED where the tensor has a version.

MUST: DLPack's specification for Python, __dlpack__, copy"""
from ctypes import c_char_p
from ctypes import c_int32
from ctypes import c_uint16
from ctypes import c_uint32
from ctypes import c_uint64
from ctypes import c_uint8
from ctypes import c_void_p
from ctypes import py_object
import ctypes

class Broken(Exception):
    """A rule is broken: the words say how."""


class NotDone(Exception):
    """A rule does not apply to what was given, or a method is lacking."""


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("byte_offset", c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", DLTensor),
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


NAMES = {"dltensor": DLManagedTensor, "dltensor_versioned": DLManagedTensorVersioned}


READ_ONLY, COPIED, KNOWN_FLAGS = 1, 2, 7


def made(subject):
    out = subject.make()
    if not hasattr(out, "__dlpack__"):
        raise NotDone("it has no __dlpack__")
    return out


def capsule_of(subject, out=None, **keywords):
    """A capsule; NotDone where it is refused."""
    out = made(subject) if out is None else out
    try:
        return out.__dlpack__(**keywords)
    except (TypeError, BufferError, ValueError, NotImplementedError, RuntimeError) as e:
        raise NotDone(f"{type(e).__name__}: {e}") from None


def look_at(capsule):
    """The managed tensor in a capsule that stays as it is."""
    name = capsule_name(capsule)
    if name not in NAMES:
        raise NotDone(f"there is no capsule of a tensor, but {name!r}")
    address = capsule_call("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)(capsule, name.encode())
    return NAMES[name].from_address(address)


def copies_are_other_memory_and_say_so(subject):
    """copy=True gives other memory, with the flag IS_COPIED where the tensor has a version."""
    out = made(subject)
    plain = look_at(first := capsule_of(subject, out, max_version=(1, 0)))
    copied = look_at(second := capsule_of(subject, out, max_version=(1, 0), copy=True))
    if not plain.tensor.data:
        raise NotDone("it has no data")
    same = copied.tensor.data == plain.tensor.data
    marked = not isinstance(copied, DLManagedTensorVersioned) or bool(copied.flags & COPIED)
    del first, second
    if same or not marked:
        raise Broken("the memory is the same" if same else "the flag IS_COPIED is not set")


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import torch

copies_are_other_memory_and_say_so(Subject(lambda: torch.tensor([[1, 2, 3], [4, 5, 6]]), values=[[1, 2, 3], [4, 5, 6]]))
print("kept")
