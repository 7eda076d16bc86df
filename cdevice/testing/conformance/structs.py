"""The structs as ctypes sees them, written from the specifications: nothing of the package's own reader is used here.

All pointers are addresses (int, None where NULL).  Programs that show a broken rule are cut out of this file and its
neighbours, so they import the standard library alone.
"""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, py_object


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


class ArrowArrayStream(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class ArrowDeviceArrayStream(ctypes.Structure):
    _fields_ = [("device_type", c_int32), *ArrowArrayStream._fields_]


class ArrowAsyncTask(ctypes.Structure):
    _fields_ = [("extract_data", c_void_p), ("private_data", c_void_p)]


class ArrowAsyncProducer(ctypes.Structure):
    _fields_ = [
        ("device_type", c_int32),
        ("request", c_void_p),
        ("cancel", c_void_p),
        ("additional_metadata", c_void_p),
        ("private_data", c_void_p),
    ]


class ArrowAsyncDeviceStreamHandler(ctypes.Structure):
    _fields_ = [
        (name, c_void_p) for name in ("on_schema", "on_next_task", "on_error", "release", "producer", "private_data")
    ]


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


OneArgument = ctypes.CFUNCTYPE(None, c_void_p)  # release, deleter, cancel
Fill = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p)  # get_schema, get_next, extract_data, on_schema
Text = ctypes.CFUNCTYPE(c_void_p, c_void_p)  # get_last_error
Request = ctypes.CFUNCTYPE(None, c_void_p, c_int64)
OnTask = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p, c_void_p)
OnError = ctypes.CFUNCTYPE(None, c_void_p, ctypes.c_int, c_void_p, c_void_p)
KEPT = []  # callbacks that foreign code may still call


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


def count_releases(struct):
    """Puts a counter before the release callback; the list that comes gets an entry for each call."""
    original, calls = struct.release, []

    def release(address):
        calls.append(address)
        at = type(struct).from_address(address)
        at.release = original
        OneArgument(original)(address)

    callback = OneArgument(release)
    KEPT.append(callback)
    struct.release = ctypes.cast(callback, c_void_p).value
    return calls


def text_at(address):
    """The zero-terminated text there; Broken where it is no UTF-8."""
    if not address:
        return None
    data = ctypes.string_at(address)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Broken(f"{data!r} is no UTF-8") from None


def pointers_at(address, n):
    return list((c_void_p * n).from_address(address)) if n > 0 and address else []


def children_of(struct):
    """The child structs; an empty list where they cannot be read."""
    if not 0 <= struct.n_children < 100_000:
        return []
    found = pointers_at(struct.children, struct.n_children)
    return [type(struct).from_address(p) for p in found] if all(found) else []


def dictionary_of(struct):
    return type(struct).from_address(struct.dictionary) if struct.dictionary else None
