"""A failure is an exception also where get_last_error gives NULL, whichever code it has.

MUST: C stream interface, get_last_error"""
from ctypes import c_int32
from ctypes import c_int64
from ctypes import c_void_p
from ctypes import py_object
import ctypes
import struct
import threading
import time

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


class ArrowArrayStream(ctypes.Structure):
    _fields_ = [(name, c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private_data")]


class ArrowDeviceArrayStream(ctypes.Structure):
    _fields_ = [("device_type", c_int32), *ArrowArrayStream._fields_]


OneArgument = ctypes.CFUNCTYPE(None, c_void_p)


Fill = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p)


Text = ctypes.CFUNCTYPE(c_void_p, c_void_p)


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


def call_release(struct):
    """Calls the release callback of a struct, if it is live."""
    if struct.release:
        OneArgument(struct.release)(ctypes.addressof(struct))


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


STREAMS = []


class LiveStream:
    """One stream that was given: its calls by name, its releases, the releases of what it gave."""

    def __init__(self, offer, kind):
        self.offer, self.kind, self.given, self.error, self.failed = offer, kind, 0, None, 0
        self.calls, self.releases, self.schemas, self.arrays = [], [], [], []
        self.inside = threading.Lock()
        self.callbacks = {
            "get_schema": Fill(self.get_schema),
            "get_next": Fill(self.get_next),
            "get_last_error": Text(self.get_last_error),
            "release": OneArgument(self.release),
        }
        STREAMS.append(self)

    def struct(self):
        at = self.kind()
        if self.kind is ArrowDeviceArrayStream:
            at.device_type = self.offer.device_type
        for name, callback in self.callbacks.items():
            setattr(at, name, ctypes.cast(callback, c_void_p).value)
        self.private = (c_void_p * 2)(at.release)
        at.private_data = ctypes.addressof(self.private)
        at.release = SAFE.get(self.kind.__name__, at.release)
        return at

    def called(self, what):
        self.calls.append(f"{what} after the release" if self.releases else what)

    def fail(self, key):
        self.failed, words = self.offer.fails.get(key, (0, None))
        self.error = None if words is None else ctypes.create_string_buffer(words.encode())
        return self.failed

    def alone(self, what, run):
        """Runs one callback; a second thread that comes meanwhile is noted."""
        self.called(what)
        if not self.inside.acquire(blocking=False):
            self.calls.append("two calls at once")
            return 5
        try:
            if self.offer.slow:
                time.sleep(0.002)  # another thread gets the chance to be wrong
            return run()
        finally:
            self.inside.release()

    def get_schema(self, stream, out):
        return self.alone("get_schema", lambda: self.fill_schema(out))

    def fill_schema(self, out):
        if not self.fail("schema"):
            self.schemas.append([])
            make_schema(self.offer.schema, self.schemas[-1], ArrowSchema.from_address(out))
        return self.failed

    def get_next(self, stream, out):
        return self.alone("get_next", lambda: self.fill_next(out))

    def fill_next(self, out):
        if self.fail(self.given):
            return self.failed
        device = self.kind is ArrowDeviceArrayStream
        ctypes.memset(out, 0, ctypes.sizeof(ArrowDeviceArray if device else ArrowArray))
        if self.given < len(self.offer.nodes):
            self.arrays.append([])
            make_array(self.offer.nodes[self.given], self.arrays[-1], ArrowArray.from_address(out))
            self.given += 1
        if device:
            at = ArrowDeviceArray.from_address(out)
            at.device_type, at.device_id = self.offer.device_type, self.offer.device_id
        return 0

    def get_last_error(self, stream):
        self.called("get_last_error" if self.failed else "get_last_error without a failure")
        return None if self.error is None else ctypes.addressof(self.error)

    def release(self, stream):
        self.releases.append(threading.get_ident())
        self.kind.from_address(stream).release = None


class StreamOffer:
    """Offers a stream of nodes by both methods.  ``fails``: {"schema" or number of a batch: (errno, words)}."""

    def __init__(self, nodes, schema=None, device_type=1, device_id=-1, fails=None, slow=False):
        self.nodes, self.schema, self.fails, self.slow = nodes, schema or nodes[0], fails or {}, slow
        self.device_type, self.device_id = device_type, device_id
        self.called, self.streams, self.structs, self.capsules, self.dropped = [], [], [], [], []

    def capsule(self, kind, name):
        self.streams.append(LiveStream(self, kind))
        self.structs.append(self.streams[-1].struct())
        self.change(self.structs[-1])
        self.capsules.append(heap(self.structs[-1], self.name_of(name), self.dropped))
        return self.capsules[-1]

    def name_of(self, name):
        return name

    def change(self, struct):
        pass

    def __arrow_c_stream__(self, requested_schema=None):
        self.called.append("__arrow_c_stream__")
        return self.capsule(ArrowArrayStream, "arrow_array_stream")

    def __arrow_c_device_stream__(self, requested_schema=None, **kwargs):
        self.called.append("__arrow_c_device_stream__")
        wrong = [k for k, v in kwargs.items() if v is not None]
        if wrong:
            raise NotImplementedError(", ".join(wrong))
        return self.capsule(ArrowDeviceArrayStream, "arrow_device_array_stream")


class PlainStreamOffer(StreamOffer):
    """By the older method alone."""

    @property
    def __arrow_c_device_stream__(self):
        raise AttributeError("__arrow_c_device_stream__")


class DeviceStreamOffer(StreamOffer):
    """By the device's method alone."""

    @property
    def __arrow_c_stream__(self):
        raise AttributeError("__arrow_c_stream__")


def words_of(e):
    return " ".join(f"{type(e).__name__}: {e}".split())[:200]


def rows_read(subject, out):
    """The rows as Python values: by ``read``, by to_pylist, or out of the structs that come back."""
    read = subject.read
    if isinstance(read, str):
        read = eval(read)
    if read is not None:
        return read(out)
    if hasattr(out, "to_pylist"):
        return out.to_pylist()
    raise NotDone("there is no way to read what it made: give read=")


DEVICE_METHOD = "__arrow_c_device_stream__"


CHUNKS = ([1, None], [3], [4, 5])


def node_of(subject, rows):
    return int64s(rows) if subject.batch is False else batch({"column": int64s(rows)})


def offer_of(subject, chunks=CHUNKS, kind=None, **more):
    """A stream by the methods that are to be checked: of batches of one column, or of arrays."""
    if kind is None:
        kind = {"__arrow_c_stream__": PlainStreamOffer, DEVICE_METHOD: DeviceStreamOffer}.get(
            subject.protocol, StreamOffer
        )
    return kind([node_of(subject, c) for c in chunks], node_of(subject, []), **more)


def called(offer):
    if not offer.called:
        raise NotDone("it calls no method of the protocol")


def accept(subject, offer):
    """What the library makes of a stream; NotDone where it refuses it."""
    try:
        out = subject.make()(offer)
    except BaseException as e:
        raise NotDone(f"it is refused: {words_of(e)}") from None
    called(offer)
    return out


def read(subject, offer):
    """The rows of a stream; NotDone where it is refused."""
    out = accept(subject, offer)
    try:
        return rows_read(subject, out)
    except NotDone:
        raise
    except BaseException as e:
        raise NotDone(f"it cannot be read: {words_of(e)}") from None


def attempt(subject, offer):
    """Takes and reads a stream; the exception that comes, or None."""
    try:
        rows_read(subject, subject.make()(offer))
    except NotDone:
        raise
    except BaseException as e:
        called(offer)
        return e
    called(offer)
    return None


def failing(subject, where, words="words of the stream", code=5):
    read(subject, offer_of(subject))
    return offer_of(subject, fails={where: (code, words)})


def failure_without_words_is_raised(subject):
    """A failure is an exception also where get_last_error gives NULL, whichever code it has."""
    for code in (5, 12345):
        if attempt(subject, failing(subject, 1, None, code)) is None:
            raise Broken(f"nothing is raised for the code {code}")


class Subject:
    def __init__(self, make, **known):
        self.make, self.known = make, known

    def __getattr__(self, name):
        return self.known.get(name)


import tempfile, pantab, pyarrow as pa
def write(o):
    file = tempfile.mkdtemp() + '/t.hyper'; pantab.frame_to_hyper(o, file, table='t')
    return pantab.frame_from_hyper(file, table='t', return_type='pyarrow')


failure_without_words_is_raised(Subject(lambda: write))
print("kept")
