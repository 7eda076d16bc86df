"""Producers made of ctypes: arrays with counted releases whose children can be moved out, and buffers that must not be
touched."""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import mmap
import struct
import threading
from ctypes import c_void_p

from .structs import (
    ArrowArray,
    ArrowDeviceArray,
    ArrowSchema,
    OneArgument,
    call_release,
    capsule_name,
    new_capsule,
)

LIVE = {}  # what a live struct needs, by the address of its private data
USED = []  # private data of released structs: no address comes twice
SAFE = {}  # name of a struct: address of a release callback that keeps an exception that is on its way
TWICE = []  # a word for each struct that was released a second time
GUARDS = []  # (first address, end, words) of memory that must not be touched
EXT_DEV = 12


class Node:
    """An array to be, and its schema: what the structs say is what stands here, right or wrong."""

    def __init__(self, format, length=0, buffers=(), children=(), nulls=0, offset=0, name="", dictionary=None):
        self.format, self.length, self.nulls, self.offset = format, length, nulls, offset
        self.buffers, self.children, self.name, self.dictionary = list(buffers), list(children), name, dictionary
        self.flags, self.metadata = 2, None


class Count:
    """The releases of the structs that were made: the thread of each."""

    def __init__(self):
        self.arrays, self.schemas = [], []


class Released:
    """Callbacks know the kind of struct they are called with."""

    def __init__(self, kind):
        self.kind = kind
        self.callback = OneArgument(self.run)
        self.address = ctypes.cast(self.callback, c_void_p).value

    def give(self, at):
        """Sets the release callback and the private data of a struct, which keeps what comes back."""
        private = (c_void_p * 2)(self.address)
        at.release, at.private_data = SAFE.get(self.kind.__name__, self.address), ctypes.addressof(private)
        return private

    def run(self, address):
        at = self.kind.from_address(address)
        record = LIVE.pop(at.private_data, None)
        if record is None:
            TWICE.append(self.kind.__name__)
            return
        for child in record["children"]:
            call_release(child)
        for first, nbytes in record["memory"]:
            ctypes.memset(first, 0xDD, nbytes)  # a later look at it is seen
        USED.append(record["keep"])
        at.release = None
        record["log"].append(threading.get_ident())


RELEASE_ARRAY, RELEASE_SCHEMA = Released(ArrowArray), Released(ArrowSchema)


def alive(at, release, log, children, keep, memory=()):
    """Makes a filled struct a live one; ``memory``: (address, bytes) that its release destroys."""
    private = release.give(at)
    LIVE[at.private_data] = {"log": log, "children": children, "keep": (private, keep), "memory": memory}


def pointers(structs):
    return (c_void_p * max(1, len(structs)))(*[ctypes.addressof(s) for s in structs])


def make_schema(node, log, at=None):
    at = ArrowSchema() if at is None else at
    children = [make_schema(c, []) for c in node.children]
    words = None if node.dictionary is None else make_schema(node.dictionary, [])
    text = lambda t: None if t is None else ctypes.create_string_buffer(t if isinstance(t, bytes) else t.encode())
    keep = [text(node.format), text(node.name), text(node.metadata), pointers(children)]
    at.format, at.name, at.metadata = [None if k is None else ctypes.addressof(k) for k in keep[:3]]
    at.flags, at.n_children = node.flags, len(children)
    at.children = ctypes.addressof(keep[3]) if children else None
    at.dictionary = None if words is None else ctypes.addressof(words)
    alive(at, RELEASE_SCHEMA, log, children + ([words] if words else []), keep)
    return at


def make_array(node, log, at=None):
    at = ArrowArray() if at is None else at
    children = [make_array(c, []) for c in node.children]
    words = None if node.dictionary is None else make_array(node.dictionary, [])
    keep, found, memory = [pointers(children)], [], []
    for b in node.buffers:
        if isinstance(b, bytes):
            raw = ctypes.create_string_buffer(len(b) + 128)
            first = -(-ctypes.addressof(raw) // 64) * 64
            ctypes.memmove(first, b, len(b))
            keep.append(raw)
            memory.append((first, len(b)))
            b = first
        found.append(b)
    buffers = (c_void_p * max(1, len(found)))(*found)
    at.length, at.null_count, at.offset = node.length, node.nulls, node.offset
    at.n_buffers, at.n_children = len(found), len(children)
    at.buffers, at.children = ctypes.addressof(buffers), ctypes.addressof(keep[0]) if children else None
    at.dictionary = None if words is None else ctypes.addressof(words)
    alive(at, RELEASE_ARRAY, log, children + ([words] if words else []), (keep, buffers), memory)
    return at


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


class Producer:
    """Offers a node by the PyCapsule protocol and counts what becomes of it."""

    def __init__(self, node, device_type=1, device_id=-1, event=None, reserved=(0, 0, 0)):
        self.node, self.device_type, self.device_id, self.event, self.reserved = (
            node,
            device_type,
            device_id,
            event,
            reserved,
        )
        self.count = Count()

    def __arrow_c_schema__(self):
        return heap(make_schema(self.node, self.count.schemas), "arrow_schema")

    def _device_array(self):
        at = ArrowDeviceArray()
        make_array(self.node, self.count.arrays, at.array)
        at.device_type, at.device_id, at.sync_event = self.device_type, self.device_id, self.event
        at.reserved[:] = self.reserved
        return heap(at, "arrow_device_array")

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        wrong = [k for k, v in kwargs.items() if v is not None]
        if wrong:
            raise NotImplementedError(", ".join(wrong))
        self.asked(requested_schema)
        return self.__arrow_c_schema__(), self._device_array()

    def asked(self, requested):
        """An impossible request is a ValueError; every other one may be answered with the own schema."""
        if requested is None:
            return
        if capsule_name(requested) != "arrow_schema":
            raise TypeError("requested_schema is no capsule of a schema")
        address = ctypes.pythonapi.PyCapsule_GetPointer
        address.restype, address.argtypes = c_void_p, (ctypes.py_object, ctypes.c_char_p)
        wanted = ArrowSchema.from_address(address(requested, b"arrow_schema"))
        if wanted.n_children != len(self.node.children):
            raise ValueError("requested_schema has another number of fields")


class ArrayProducer(Producer):
    """As Producer, in CPU memory by the older method alone."""

    __arrow_c_device_array__ = None

    def __arrow_c_array__(self, requested_schema=None):
        self.asked(requested_schema)
        at = make_array(self.node, self.count.arrays)
        return self.__arrow_c_schema__(), heap(at, "arrow_array")


class Offer(Producer):
    """Offers a node by all three methods and sees what its consumer does with it.

    It holds the capsules, so that no destructor of theirs, which is Python, runs while an exception is on its way."""

    def __init__(self, node, **device):
        super().__init__(node, **device)
        self.called, self.schemas, self.arrays, self.dropped, self.capsules = [], [], [], [], []

    def __arrow_c_schema__(self):
        self.called.append("__arrow_c_schema__")
        return self.schema_capsule()

    def schema_capsule(self):
        self.schemas.append(make_schema(self.node, self.count.schemas))
        self.change_schema(self.schemas[-1])
        return self.capsule(self.schemas[-1], "arrow_schema")

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        self.called.append("__arrow_c_device_array__")
        at = ArrowDeviceArray()
        make_array(self.node, self.count.arrays, at.array)
        at.device_type, at.device_id, at.sync_event = self.device_type, self.device_id, self.event
        at.reserved[:] = self.reserved
        self.arrays.append(at.array)
        self.change_array(at.array)
        return self.schema_capsule(), self.capsule(at, "arrow_device_array")

    def __arrow_c_array__(self, requested_schema=None):
        self.called.append("__arrow_c_array__")
        self.arrays.append(make_array(self.node, self.count.arrays))
        self.change_array(self.arrays[-1])
        return self.schema_capsule(), self.capsule(self.arrays[-1], "arrow_array")

    def capsule(self, struct, name):
        self.capsules.append(heap(struct, name, self.dropped))
        return self.capsules[-1]

    def change_schema(self, schema):
        pass

    def change_array(self, array):
        pass


class ArrayOffer(Offer):
    """By the older method alone."""

    @property
    def __arrow_c_device_array__(self):
        raise AttributeError("__arrow_c_device_array__")


class DeviceOffer(Offer):
    """By the device's method alone."""

    @property
    def __arrow_c_array__(self):
        raise AttributeError("__arrow_c_array__")


class Event:
    """An event of an extension device: its address goes into sync_event; it passes when it is let."""

    def __init__(self):
        self.cell = ctypes.c_int32(0)
        self.address = ctypes.addressof(self.cell)

    def let(self):
        self.cell.value = 1


def guarded(words, nbytes=4096):
    """The address of memory that ends the process when it is touched; ``words`` say what it stands for."""
    memory = mmap.mmap(-1, max(nbytes, mmap.PAGESIZE))
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.CDLL(None).mprotect(c_void_p(first), ctypes.c_size_t(len(memory)), 0)
    GUARDS.append((first, first + len(memory), words, memory))
    return first


def guarded_node(format="l"):
    """An array of three rows whose buffers must not be touched."""
    sizes = {"l": ("validity", "data"), "u": ("validity", "offsets", "bytes")}[format]
    return Node(format, 3, [guarded(f"the buffer {name} of an array {format!r}") for name in sizes], nulls=1)


def int64s(rows, name="", offset=0):
    """A node of int64, None is null."""
    bits = bytes(sum((r is not None) << i for i, r in enumerate(rows[k : k + 8])) for k in range(0, len(rows), 8))
    nulls = sum(r is None for r in rows[offset:])
    data = struct.pack(f"<{len(rows)}q", *[r or 0 for r in rows])
    return Node("l", len(rows) - offset, [bits if nulls else None, data], nulls=nulls, offset=offset, name=name)


def strings(rows, name=""):
    """A node of utf8 without nulls."""
    data = [r.encode() for r in rows]
    ends = [sum(map(len, data[:i])) for i in range(len(data) + 1)]
    return Node("u", len(rows), [None, struct.pack(f"<{len(ends)}i", *ends), b"".join(data)], name=name)


def batch(columns):
    """A struct node of {name: node}."""
    for name, node in columns.items():
        node.name = name
    return Node("+s", next(iter(columns.values())).length if columns else 0, [None], list(columns.values()))
