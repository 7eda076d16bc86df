"""Arrays of random types, valid and mutated, in structs and in contents, through every level of checking and, where they
are accepted, every reading, slice, copy, stream, pickle and DLPack.  Buffers end at pages that nobody may touch.

    python tests/fuzz/structs.py SECONDS [SEED]

A finding ends the process: a signal, SystemError, an exception outside the documented family, or a valid array that does
not come back equal (beside pyarrow where it is installed).  The seed of the case that did it is printed first.
"""

import gc
import pickle
import random

import driver
from guarded import Guarded
from trees import tree

import cdevice
from cdevice._runtime.ext import ffi, lib

try:
    import pyarrow as pa
except ImportError:
    pa = None

FAMILY = (cdevice.Error, ValueError, TypeError, MemoryError, IndexError, KeyError)


def schema_of(node):
    return cdevice.Schema.make(
        node.format,
        node.name,
        children=[schema_of(c) for c in node.children],
        dictionary=None if node.dictionary is None else schema_of(node.dictionary),
        flags=node.flags,
    )


# ---- from parts: every size is known, so anything may be wrong ----
def from_parts(node, level, rng=None):
    buffers = [None if b is None else Guarded(b).view for b in node.buffers]
    children = [from_parts(c, level) for c in node.children]
    dictionary = None if node.dictionary is None else from_parts(node.dictionary, level)
    return cdevice.from_buffers(
        schema_of(node),
        node.length,
        buffers,
        null_count=node.nulls,
        offset=node.offset,
        children=children,
        dictionary=dictionary,
        validate=level,
    )


def mutate_parts(node, rng):
    target = rng.choice(list(node.walk()))
    what = rng.randrange(9)
    if what == 0:
        target.length = rng.choice(
            (0, 1, target.length + 1, target.length + rng.randrange(1, 99), -1, 1 << 40, 2**63 - 1)
        )
    elif what == 1:
        target.offset = rng.choice((0, target.offset + 1, rng.randrange(99), -1, 1 << 50, 2**63 - 1))
    elif what == 2:
        target.nulls = rng.choice((-1, 0, target.length, target.length + 1, -2, rng.randrange(9)))
    elif what == 3 and target.buffers:
        k = rng.randrange(len(target.buffers))
        b = target.buffers[k]
        target.buffers[k] = rng.choice((None, b"", (b or b"")[:-1], (b or b"")[: len(b or b"") // 2]))
    elif what == 4 and target.buffers:
        target.buffers = rng.choice((target.buffers[:-1], [*target.buffers, b"\0"], target.buffers[::-1]))
    elif what == 5 and target.children:
        rng.choice((target.children.pop, target.children.reverse, lambda: target.children.append(target.children[0])))()
    elif what == 6:
        target.format = rng.choice(
            ("n", "b", "l", "u", "vu", "+s", "+l", "+vl", "+w:2", "+m", "+r", "+us:0", "+ud:0,1", "d:1,1,7", "")
        )
    elif what == 7:
        target.dictionary = rng.choice((None, tree(rng, 3)))
    else:
        flip(target, rng)


def flip(target, rng, sized=True):
    """Some bytes of the contents; not sized: none that say how large another buffer is, which the C interface does not."""
    full = [k for k, b in enumerate(target.buffers) if b]
    if not sized:
        tells = {1} if target.format in ("u", "z", "U", "Z") else {3} if target.format[:1] == "v" else set()
        full = [k for k in full if k not in tells]
    if full:
        k = rng.choice(full)
        b = bytearray(target.buffers[k])
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(b))
            b[at] = rng.choice((0, 1, 127, 128, 255, b[at] ^ 1 << rng.randrange(8)))
        target.buffers[k] = bytes(b)


# ---- as structs: what the C interface shows ----
class Structs:
    """ArrowSchema and ArrowDeviceArray over guarded buffers, which live until the array is released."""

    alive, dead = set(), []

    def __init__(self, node):
        self.keep = []
        Structs.alive.add(self)
        self.schema, self.array = ffi.new("struct ArrowSchema *"), ffi.new("struct ArrowDeviceArray *")

        @ffi.callback("void(struct ArrowSchema *)")
        def drop_schema(s):
            s.release = ffi.NULL

        @ffi.callback("void(struct ArrowArray *)")
        def drop_array(a):
            a.release = ffi.NULL
            Structs.alive.discard(self)
            Structs.dead.append(self)  # not from inside its own callback

        self.drop_schema, self.drop_array = drop_schema, drop_array
        self.nodes = []
        self.fill(node, self.schema, self.array.array)
        self.array.device_type, self.array.device_id = 1, -1

    def new(self, kind, init=None):
        out = ffi.new(kind) if init is None else ffi.new(kind, init)
        self.keep.append(out)
        return out

    def fill(self, node, s, a):
        s.format, s.name = self.new("char[]", node.format.encode()), self.new("char[]", node.name.encode())
        s.flags, s.release = node.flags, self.drop_schema
        a.length, a.offset, a.null_count, a.release = node.length, node.offset, node.nulls, self.drop_array
        guarded = [None if b is None else Guarded(b) for b in node.buffers]
        self.keep.append(guarded)
        pointers = [ffi.cast("void *", g.address if g else 0) for g in guarded]
        a.n_buffers, a.buffers = len(pointers), self.new("const void *[]", pointers or [ffi.NULL])
        n = s.n_children = a.n_children = len(node.children)
        if n:
            schemas, arrays = self.new("struct ArrowSchema[]", n), self.new("struct ArrowArray[]", n)
            s.children = self.new("struct ArrowSchema *[]", [schemas + k for k in range(n)])
            a.children = self.new("struct ArrowArray *[]", [arrays + k for k in range(n)])
            for k, c in enumerate(node.children):
                self.fill(c, schemas[k], arrays[k])
        if node.dictionary is not None:
            s.dictionary, a.dictionary = self.new("struct ArrowSchema *"), self.new("struct ArrowArray *")
            self.fill(node.dictionary, s.dictionary, a.dictionary)
        self.nodes.append((s, a, len(pointers), n, node.offset))


def mutate_structs(x, rng):
    """What a checker can see: counts, NULLs, formats; nothing that makes a true buffer too short."""
    s, a, n_buffers, n_children, first = rng.choice(x.nodes)
    what = rng.randrange(13)
    if what == 0:
        a.length = rng.choice((-1, -(2**63), max(a.length - 1, 0)))
    elif what == 1:
        # offsets before the first row are garbage, and of text nothing says how many bytes there are: the last one is true
        text, back = s.format and ffi.string(s.format) in (b"u", b"z", b"U", b"Z"), max(a.offset - 1, 0)
        a.offset = rng.choice((-1, -(2**63), 2**63 - 1, back if not text or back + a.length >= first else -1))
    elif what == 2:
        a.null_count = rng.choice((-2, a.length + 1, 2**63 - 1, -(2**63), -1))
    elif what == 3:
        a.n_buffers = rng.choice((-1, max(a.n_buffers - 1, 0), 2**40, 2**63 - 1))
    elif what == 4 and n_buffers and a.buffers:
        a.buffers[rng.randrange(n_buffers)] = ffi.NULL
    elif what == 5:
        a.buffers = ffi.NULL
    elif what == 6:
        both = rng.random() < 0.5
        n = rng.choice((-1, max(a.n_children - 1, 0)))
        a.n_children = n
        if both:
            s.n_children = n
    elif what == 7 and n_children:
        a.children[rng.randrange(n_children)] = ffi.NULL
    elif what == 8 and n_children:
        s.children[rng.randrange(n_children)] = ffi.NULL
    elif what == 9:
        rng.choice((a, s)).dictionary = ffi.NULL
    elif what == 10:
        rng.choice((a, s)).release = ffi.NULL
    elif what == 11:
        s.format = rng.choice(
            (ffi.NULL, x.new("char[]", rng.choice((b"", b"+", b"d:", b"+w:-1", b"x", b"tsn", b"w:0", b"+ud:999"))))
        )
    else:
        s.flags, s.name = rng.getrandbits(62), ffi.NULL


# ---- reading ----
def rows_equal(a, b):
    return repr(a) == repr(b)


def read_all(array, rng, valid):
    """Everything a user may do with an array that "full" accepts."""
    try:
        rows = array.to_pylist()
    except ValueError:  # Python's types cannot hold a value
        rows = None
    repr(array), array.nbytes, array.null_count, array.schema.type
    n = array.length
    start = rng.randrange(n + 1)
    part = array[start : start + rng.randrange(n - start + 1)]
    copy = array.to("cpu", copy=True)
    copy.validate("full")
    piece = part.to("cpu", copy=True)
    piece.validate("full")
    again = pickle.loads(pickle.dumps(part, protocol=rng.choice((2, 5))))
    again.validate("full")
    (streamed,) = cdevice.asstream(part)
    if rows is not None:
        cut = rows[start : start + part.length]
        for what, found in (("copy", copy.to_pylist()), ("part", part.to_pylist()), ("piece", piece.to_pylist())):
            expected = rows if what == "copy" else cut
            if not rows_equal(found, expected):
                raise AssertionError(f"{what}: {found!r:.300} instead of {expected!r:.300}")
        if not rows_equal(again.to_pylist(), cut) or not rows_equal(streamed.to_pylist(), cut):
            raise AssertionError("pickle or stream: other rows")
    if not copy.equals(array, nans_equal=True) or not piece.equals(part, nans_equal=True):
        raise AssertionError("a copy is not equal")
    for k in range(len(array.children)):
        array._child(k)
    for read in (lambda: array.__dlpack__(), lambda: array.to_numpy(), lambda: [b.memoryview() for b in array.buffers]):
        try:
            read()
        except FAMILY:
            pass
    if valid and pa is not None:
        beside_pyarrow(array, copy, rows)


def beside_pyarrow(array, copy, rows):
    try:
        theirs, mine = pa.array(array), pa.array(copy)
        theirs.validate(full=True)
    except Exception:  # a type or a form that pyarrow has not
        return
    mine.validate(full=True)
    if rows is not None:
        try:
            expected = theirs.to_pylist()
        except Exception:
            return
        if not rows_equal(mine.to_pylist(), expected):
            raise AssertionError("pyarrow reads another copy")


# ---- cases ----
def case(seed):
    rng = random.Random(seed)
    Structs.dead.clear()
    node = tree(rng)
    kind = rng.choice(("valid", "parts", "parts", "parts", "structs", "contents"))
    level = rng.choice(("structure", "full"))
    try:
        if kind in ("valid", "contents"):
            if kind == "contents":
                flip(rng.choice(list(node.walk())), rng, sized=False)
            x = Structs(node)
            array = cdevice.import_from_c(x.array, x.schema, validate="full")
        elif kind == "structs":
            x = Structs(node)
            for _ in range(rng.randrange(1, 3)):
                mutate_structs(x, rng)
            array = cdevice.import_from_c(x.array, x.schema, validate=level)
        else:
            for _ in range(rng.randrange(1, 3)):
                mutate_parts(node, rng)
            array = from_parts(node, level)
        if level != "full":
            array.validate("full")
    except FAMILY:
        if kind == "valid":
            raise
        if kind in ("structs", "contents"):
            Structs.alive.discard(x)  # untouched by an import that fails
        return "refused"
    if array.length > 1 << 20:
        return "long"
    read_all(array, rng, kind == "valid")
    return "read"


if __name__ == "__main__":
    live = lib.cdv_live_arrays()
    driver.run("structs", case, *driver.arguments())
    Structs.dead.clear()
    gc.collect()
    if lib.cdv_live_arrays() != live:
        raise AssertionError(f"{lib.cdv_live_arrays() - live} arrays were not given back")
