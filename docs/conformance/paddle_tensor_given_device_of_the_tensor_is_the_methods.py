"""The device of the tensor is that of __dlpack_device__.

MUST: DLPack's specification for Python, __dlpack_device__"""
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


def device_of_the_tensor_is_the_methods(subject):
    """The device of the tensor is that of __dlpack_device__."""
    out = made(subject)
    wanted = tuple(map(int, out.__dlpack_device__()))
    capsule = capsule_of(subject, out, **({"max_version": (1, 0)} if subject.readonly else {}))
    tensor = look_at(capsule).tensor
    found = tensor.device_type, tensor.device_id
    del capsule
    if found != wanted:
        raise Broken(f"the tensor is on {found}, __dlpack_device__ gives {wanted}")


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import paddle

device_of_the_tensor_is_the_methods(Subject(lambda: paddle.to_tensor([[1, 2, 3], [4, 5, 6]]), values=[[1, 2, 3], [4, 5, 6]]))
print("kept")
