"""Reserved bytes that came with an array are zero where it is passed on.

MUST: C device data interface, ArrowDeviceArray.reserved"""
from ctypes import c_char_p
from ctypes import c_int32
from ctypes import c_int64
from ctypes import c_void_p
from ctypes import py_object
import ctypes
import struct
import threading

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


LIVE = {}


USED = []


SAFE = {}


TWICE = []


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


def int64s(rows, name="", offset=0):
    """A node of int64, None is null."""
    bits = bytes(sum((r is not None) << i for i, r in enumerate(rows[k : k + 8])) for k in range(0, len(rows), 8))
    nulls = sum(r is None for r in rows[offset:])
    data = struct.pack(f"<{len(rows)}q", *[r or 0 for r in rows])
    return Node("l", len(rows) - offset, [bits if nulls else None, data], nulls=nulls, offset=offset, name=name)


def batch(columns):
    """A struct node of {name: node}."""
    for name, node in columns.items():
        node.name = name
    return Node("+s", next(iter(columns.values())).length if columns else 0, [None], list(columns.values()))


ROWS = [1, None, 3]


def reserved_bytes_are_not_passed_on(subject):
    """Reserved bytes that came with an array are zero where it is passed on."""
    out = accept(subject, device_offer(subject, int64s(ROWS), reserved=(1, -1, 5)))
    schema, device = made_again(subject, out)
    found = list(device.reserved)
    call_release(device.array)
    call_release(schema)
    if found == [1, -1, 5]:
        raise Broken(f"they are passed on: {found}")


DEVICE_METHOD = "__arrow_c_device_array__"


def offer_of(subject, node, kind=None, **device):
    """An offer by the methods that are to be checked, as a batch of one column where the library takes batches."""
    if kind is None:
        kind = {"__arrow_c_array__": ArrayOffer, DEVICE_METHOD: DeviceOffer}.get(subject.protocol, Offer)
    return kind(batch({"column": node}) if subject.batch else node, **device)


def device_offer(subject, node, **device):
    if subject.protocol not in (None, DEVICE_METHOD):
        raise NotDone(f"{DEVICE_METHOD} is not to be checked")
    return offer_of(subject, node, DeviceOffer, **device)


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


def made_again(subject, out):
    """The device struct that the library makes of what it has taken, still live, and its schema."""
    if getattr(out, DEVICE_METHOD, None) is None:
        raise NotDone(f"what it made has no {DEVICE_METHOD}")
    schema, device, array = exported(type(subject)(lambda: out, protocol=DEVICE_METHOD))
    return schema, device


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


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import nanoarrow as na, nanoarrow.device, pyarrow as pa

reserved_bytes_are_not_passed_on(Subject(lambda: na.device.c_device_array, read="lambda a: __import__('nanoarrow').Array(a).to_pylist()"))
print("kept")
