"""The values begin byte_offset bytes after the pointer.

MUST: dlpack.h, DLTensor.byte_offset"""
from ctypes import c_char_p
from ctypes import c_int32
from ctypes import c_int64
from ctypes import c_uint16
from ctypes import c_uint32
from ctypes import c_uint64
from ctypes import c_uint8
from ctypes import c_void_p
from ctypes import py_object
import ctypes
import struct

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


OneArgument = ctypes.CFUNCTYPE(None, c_void_p)


KEPT = []


def capsule_call(name, result, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


def new_capsule(address, name, destructor=None):
    """A capsule; ``destructor``: an OneArgument that gets the capsule's own address."""
    text = ctypes.create_string_buffer(name.encode())
    KEPT.append((text, destructor))
    make = capsule_call("PyCapsule_New", py_object, c_void_p, c_void_p, c_void_p)
    return make(address, ctypes.addressof(text), ctypes.cast(destructor, c_void_p) if destructor else None)


SAFE = {}


TWICE = []


TENSORS = []


class LiveTensor:
    """One tensor that was given; ``deleted`` counts."""

    def __init__(self, offer, versioned):
        self.deleted = 0
        kind = DLManagedTensorVersioned if versioned else DLManagedTensor
        self.struct = at = kind()
        raw = ctypes.create_string_buffer(len(offer.data) + 512)
        first = -(-ctypes.addressof(raw) // 256) * 256
        ctypes.memmove(first, offer.data, len(offer.data))
        self.memory = first, len(offer.data)
        self.shape = (c_int64 * max(1, len(offer.shape)))(*offer.shape)
        self.strides = None if offer.strides is None else (c_int64 * max(1, len(offer.strides)))(*offer.strides)
        self.callback = OneArgument(self.delete)
        self.private = (c_void_p * 2)(ctypes.cast(self.callback, c_void_p).value)
        tensor = at.tensor
        tensor.data = first if offer.pointer is None else offer.pointer or None
        tensor.device_type, tensor.device_id = offer.device
        tensor.ndim, (tensor.code, tensor.bits, tensor.lanes) = len(offer.shape), offer.dtype
        tensor.shape = ctypes.addressof(self.shape)
        tensor.strides = None if self.strides is None else ctypes.addressof(self.strides)
        tensor.byte_offset = offer.byte_offset
        at.manager_ctx = ctypes.addressof(self.private)
        at.deleter = SAFE.get(kind.__name__, self.private[0]) if offer.with_deleter else None
        if versioned:
            at.major, at.minor = offer.version
            at.flags = offer.flags
        self.keep = raw
        TENSORS.append(self)

    def delete(self, address):
        self.deleted += 1
        self.holder = None
        if self.deleted > 1:
            TWICE.append("the deleter")
        ctypes.memset(self.memory[0], 0xDD, self.memory[1])


class TensorOffer:
    """Offers a matrix of int64 by DLPack, versioned where that is asked for."""

    versioned, with_deleter = True, True

    def __init__(self, rows=((1, 2, 3), (4, 5, 6)), device=(1, 0), flags=0, version=(1, 0), strides="dense", **more):
        self.shape = more.get("shape", (len(rows), len(rows[0]) if rows else 0))
        flat = [x for row in rows for x in row]
        self.data = more.get("data", struct.pack(f"<{len(flat)}q", *flat))
        self.strides = (self.shape[-1] if self.shape else 0, 1)[: len(self.shape)] if strides == "dense" else strides
        self.device, self.flags, self.version = device, flags, version
        self.dtype, self.byte_offset = more.get("dtype", (0, 64, 1)), more.get("byte_offset", 0)
        self.pointer = more.get("pointer")
        self.called, self.tensors, self.capsules, self.dropped = [], [], [], []

    def __dlpack_device__(self):
        self.called.append("__dlpack_device__")
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.called.append("__dlpack__")
        return self.capsule(max_version is not None and max_version[0] >= 1 and self.versioned)

    def capsule(self, versioned):
        self.tensors.append(LiveTensor(self, versioned))
        self.capsules.append(tensor_capsule(self.tensors[-1].struct, self.name_of(versioned), self.dropped))
        return self.capsules[-1]

    def name_of(self, versioned):
        return "dltensor_versioned" if versioned else "dltensor"


def tensor_capsule(at, name, dropped):
    """A capsule that calls the deleter where it was not renamed."""

    def drop(capsule):
        name_of = ctypes.PYFUNCTYPE(c_char_p, c_void_p)(("PyCapsule_GetName", ctypes.pythonapi))
        if name_of(capsule) == name.encode() and not name.startswith("used"):
            dropped.append(name)
            call_deleter(at)

    return new_capsule(ctypes.addressof(at), name, OneArgument(drop))


def call_deleter(at):
    if at.deleter:
        OneArgument(at.deleter)(ctypes.addressof(at))


def accept(subject, offer):
    """What the library makes of an offer; NotDone where it refuses it."""
    try:
        out = subject.make()(offer)
    except BaseException as e:
        raise NotDone(f"it is refused: {words_of(e)}") from None
    if not offer.called:
        raise NotDone("it calls no method of the protocol")
    return out


def words_of(e):
    return " ".join(f"{type(e).__name__}: {e}".split())[:200]


def values_read(subject, out):
    read = subject.read
    if isinstance(read, str):
        read = eval(read)
    if read is not None:
        return read(out)
    for name in ("tolist", "to_pylist"):
        if hasattr(out, name):
            return getattr(out, name)()
    raise NotDone("there is no way to read what it made: give read=")


def reads(subject, offer, wanted, must=False):
    """The values of an offer are read right; where it is refused: NotDone, or Broken where a plain one is accepted."""
    if must:
        accept(subject, TensorOffer())
    try:
        out = subject.make()(offer)
    except BaseException as e:
        raise (Broken if must else NotDone)(f"it is refused: {words_of(e)}") from None
    found = values_read(subject, out)
    if repr(found) != repr(wanted):
        if any(t.deleted for t in offer.tensors):
            raise NotDone("it reads what it has deleted")
        raise Broken(f"the values are {str(found)[:200]}, not {wanted}")


def byte_offset_is_applied(subject):
    """The values begin byte_offset bytes after the pointer."""
    reads(subject, TensorOffer(shape=(2, 2), byte_offset=16), [[3, 4], [5, 6]], must=True)


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import warp as wp
wp.config.quiet = True
wp.init()

byte_offset_is_applied(Subject(lambda: wp.from_dlpack, read='lambda a: a.numpy().tolist()'))
print("kept")
