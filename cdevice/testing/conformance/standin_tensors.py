"""Tensors made of ctypes, offered by DLPack, that count what becomes of them; and how one is read by hand."""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import struct
from ctypes import c_char_p, c_int64, c_void_p, py_object

from .standin import SAFE, TWICE
from .structs import (
    DLManagedTensor,
    DLManagedTensorVersioned,
    NotDone,
    OneArgument,
    capsule_call,
    capsule_name,
    new_capsule,
)

TENSORS = []  # what foreign code may still call or read
NAMES = {"dltensor": DLManagedTensor, "dltensor_versioned": DLManagedTensorVersioned}
CODES = {(0, 64): "q", (0, 32): "i", (2, 64): "d", (2, 32): "f", (0, 8): "b", (1, 8): "B", (6, 8): "?"}


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
        ctypes.memset(self.memory[0], 0xDD, self.memory[1])  # a later look at it is seen


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


class OlderTensorOffer(TensorOffer):
    """Knows nothing of versions."""

    def __dlpack__(self, stream=None):
        self.called.append("__dlpack__")
        return self.capsule(False)


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


SET_NAME = {}  # names that capsules have got, kept as long as the process


def rename(capsule, name):
    text = SET_NAME.setdefault(name, ctypes.create_string_buffer(name.encode()))
    capsule_call("PyCapsule_SetName", ctypes.c_int, py_object, c_void_p)(capsule, ctypes.addressof(text))


def taken_out(capsule):
    """The managed tensor in a capsule, which is renamed: its taker calls the deleter."""
    name = capsule_name(capsule)
    if name not in NAMES:
        raise NotDone(f"there is no capsule of a tensor, but {name!r}")
    address = capsule_call("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)(capsule, name.encode())
    rename(capsule, f"used_{name}")
    return NAMES[name].from_address(address)


def tensor_values(tensor):
    """The values of a tensor in CPU memory, as nested lists; NotDone for types that are not read here."""
    if tensor.device_type not in (1, 3, 11, 13):
        raise NotDone("the tensor is in the memory of a device")
    code = CODES.get((tensor.code, tensor.bits))
    if code is None or tensor.lanes != 1:
        raise NotDone(f"the type {tensor.code}, {tensor.bits} bits, is not read here")
    shape = list((c_int64 * tensor.ndim).from_address(tensor.shape)) if tensor.ndim else []
    strides = [1] * tensor.ndim
    for i in range(tensor.ndim - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    if tensor.ndim and tensor.strides:
        strides = list((c_int64 * tensor.ndim).from_address(tensor.strides))
    size = struct.calcsize(f"={code}")

    def at(axis, place):
        if axis == len(shape):
            data = ctypes.string_at(tensor.data + tensor.byte_offset + place * size, size)
            return struct.unpack(f"={code}", data)[0]
        return [at(axis + 1, place + i * strides[axis]) for i in range(shape[axis])]

    return at(0, 0)
