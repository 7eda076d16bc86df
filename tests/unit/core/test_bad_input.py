"""Structs that break the format: each broken field is an exception with its place, and the producer keeps its struct."""

import struct
import subprocess
import sys

import cases
import numpy as np
import pytest

import cdevice
from cdevice._runtime.ext import ffi, lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")


def address(p):
    return int(ffi.cast("uintptr_t", p))


class Structs:
    """The two exported structs of an array, open to vandalism, with every nodes' original kept for the release."""

    def __init__(self, array):
        self.array = ffi.new("struct ArrowDeviceArray *")
        self.schema = ffi.new("struct ArrowSchema *")
        array._export_structs(address(self.array), address(self.schema))
        self._undo = []

    def set(self, node, field, value):
        old = getattr(node, field)
        self._undo.append((node, field, old))
        setattr(node, field, value)

    def load(self, validate="structure"):
        return cdevice.import_from_c(self.array, self.schema, validate=validate)

    def restore(self):
        for node, field, old in reversed(self._undo):
            setattr(node, field, old)
        self._undo = []

    def close(self):
        self.restore()
        if self.array.array.release:
            self.array.array.release(ffi.addressof(self.array, "array"))
        if self.schema.release:
            self.schema.release(self.schema)


@pytest.fixture
def structs():
    made = []

    def make(source):
        made.append(Structs(cdevice.asarray(source)))
        return made[-1]

    yield make
    for s in made:
        s.close()


def nodes(array, schema, path="", top=True):
    """(array node, schema node, path) of the whole tree, in the words of the error messages."""
    yield array, schema, path
    dot = "." if path else ""
    word = "columns" if top and ffi.string(schema.format) == b"+s" else "children"
    for i in range(array.n_children):
        yield from nodes(array.children[i], schema.children[i], f"{path}{dot}{word}[{i}]", False)
    if array.dictionary:
        yield from nodes(array.dictionary[0], schema.dictionary[0], f"{path}{dot}dictionary", False)


BIG = 2**63 - 1


def vandals(a, s):
    """(what, [(struct, field, value)]) that each make a node invalid."""
    yield "negative length", [(a, "length", -1)]
    yield "negative offset", [(a, "offset", -1)]
    yield "null_count below -1", [(a, "null_count", -2)]
    yield "null_count above length", [(a, "null_count", a.length + 1)]
    yield "length and offset overflow", [(a, "length", BIG), (a, "offset", BIG)]
    letter = ffi.string(s.format)[:1]
    if letter == b"v":
        yield "too few buffers", [(a, "n_buffers", 2)]
    else:  # a null array with one buffer is polars' and is mended
        yield "too many buffers", [(a, "n_buffers", a.n_buffers + (2 if letter == b"n" else 1))]
    yield "negative number of buffers", [(a, "n_buffers", -1)]
    yield "one child more", [(a, "n_children", a.n_children + 1)]
    yield "negative number of children", [(a, "n_children", -1)]
    yield "schema: negative number of children", [(s, "n_children", -1)]
    yield "released array", [(a, "release", ffi.NULL)]
    yield "released schema", [(s, "release", ffi.NULL)]
    yield "no format", [(s, "format", ffi.NULL)]
    yield "unknown format", [(s, "format", FORMATS["?"])]
    yield "unknown letter", [(s, "format", FORMATS["y"])]
    if a.n_buffers:
        yield "no list of buffers", [(a, "buffers", ffi.NULL)]
    if a.n_children:
        yield "no list of children", [(a, "children", ffi.NULL)]
        yield "schema: no list of children", [(s, "children", ffi.NULL)]
    if a.dictionary:
        yield "dictionary missing", [(a, "dictionary", ffi.NULL)]
        yield "schema: dictionary missing", [(s, "dictionary", ffi.NULL)]
    else:
        yield "unexpected dictionary", [(a, "dictionary", ffi.cast("struct ArrowArray *", 64))]
    other = "i" if a.n_children or a.n_buffers != 2 else "+s"
    yield "another type", [(s, "format", FORMATS[other])]


FORMATS = {
    f: ffi.new("char[]", f.encode())
    for f in ("?", "y", "+s", "i", "d:99,1", "+w:-1", "w:x", "tsx:", "+ud:0,0", "+us:200", "")
}


@pytest.mark.parametrize("name", cases.ARRAYS)
def test_every_broken_field_of_every_node_is_refused_with_its_path(name, structs):
    s = structs(cases.ARRAYS[name])
    for a, q, path in list(nodes(s.array.array, s.schema)):
        for what, changes in list(vandals(a, q)):
            for node, field, value in changes:
                s.set(node, field, value)
            kept = s.array.array.release, s.schema.release
            with pytest.raises(ValueError) as caught:
                s.load()
                pytest.fail(f"{what} at {path!r} was accepted")
            if isinstance(caught.value, cdevice.InvalidArray) and what not in ("unknown letter", "unknown format"):
                up = path.rsplit(".", 1)[0] if "." in path else ""
                assert caught.value.node in (path, up), (what, path, caught.value)
            assert (s.array.array.release, s.schema.release) == kept
            s.restore()
    s.load().release()  # nothing was taken by the failures


@pytest.mark.parametrize("name", cases.ARRAYS)
def test_every_missing_buffer_that_is_needed_is_refused_with_its_number(name, structs):
    s = structs(cases.ARRAYS[name])
    for a, q, path in list(nodes(s.array.array, s.schema)):
        views = ffi.string(q.format)[:1] == b"v"
        for i in range(a.n_buffers):
            old = a.buffers[i]
            if not old or not a.length:
                continue
            a.buffers[i] = ffi.NULL
            validity = i == 0 and ffi.string(q.format)[:2] not in (b"+u",)
            try:
                if validity and a.null_count == 0:
                    continue
                if views and i == a.n_buffers - 1 and a.n_buffers == 3:
                    continue  # the sizes of no buffers
                with pytest.raises(cdevice.InvalidArray) as caught:
                    s.load()
                    pytest.fail(f"buffer {i} at {path!r} was not missed")
                assert caught.value.buffer == i
                assert caught.value.node == path
            finally:
                a.buffers[i] = old
    s.load().release()


@pytest.mark.parametrize("format", ["", "?", "d:99,1", "+w:-1", "w:x", "tsx:", "+ud:0,0", "+us:200"])
def test_formats_that_mean_nothing_are_refused(format):
    with pytest.raises(cdevice.InvalidArray, match="format"):
        cdevice.Schema.make(format)


def test_the_message_names_node_buffer_type_and_bytes(structs):
    batch = pa.record_batch({f"c{i}": pa.array(list("ababa")).dictionary_encode() for i in range(5)})
    s = structs(batch)
    s.array.array.children[3].buffers[1] = ffi.NULL
    with pytest.raises(cdevice.InvalidArray) as caught:
        s.load()
    assert str(caught.value) == "columns[3]: buffer 1 is NULL, int32 indices of length 5 need 20 bytes"
    assert caught.value.node == "columns[3]"
    assert caught.value.buffer == 1


def test_children_that_loop_end_at_depth_64(structs):
    s = structs(pa.array([[1]]))
    array, schema = s.array.array.children[0], s.schema.children[0]
    s.array.array.children[0] = ffi.addressof(s.array, "array")
    s.schema.children[0] = s.schema
    with pytest.raises(cdevice.InvalidArray, match="deeper than 64"):
        s.load()
    s.array.array.children[0], s.schema.children[0] = array, schema  # the loop must not be released


def test_nesting_up_to_64_is_accepted_and_65_refused():
    schema = cdevice.asschema("int32")
    for _ in range(63):
        schema = cdevice.asschema([schema])
    with pytest.raises(cdevice.InvalidArray, match="deeper than 64"):
        cdevice.asschema([schema])


@pytest.mark.parametrize("type_id", [0, -1])
def test_device_types_below_one_are_refused(type_id, structs):
    s = structs([1, 2])
    s.set(s.array, "device_type", type_id)
    with pytest.raises(cdevice.InvalidArray, match="device type"):
        s.load()


def test_a_cpu_array_with_an_event_is_refused(structs):
    s = structs([1, 2])
    s.set(s.array, "sync_event", ffi.cast("void *", 16))
    with pytest.raises(cdevice.InvalidArray, match="sync_event"):
        s.load()


def test_buffers_too_large_to_count_are_refused(structs):
    s = structs([1, 2])
    s.set(s.array.array, "length", 2**62)
    with pytest.raises(cdevice.InvalidArray, match="more bytes than 64 bits"):
        s.load()


def test_none_checks_nothing_but_release(structs):
    s = structs([1, 2])
    s.set(s.array.array, "null_count", 7)
    assert s.load(validate=None).null_count == 7
    with pytest.raises(ValueError):
        s.load(validate=None)


def test_an_unknown_level_is_refused():
    with pytest.raises(ValueError, match="validate"):
        cdevice.asarray([1], validate="some")


# ---- contents ----
def broken(source, index, values, code, child=()):
    """A copy of the array's structs in which buffer `index` of a node holds other values."""
    s = Structs(cdevice.asarray(source))
    node = s.array.array
    for k in child:
        node = node.dictionary[0] if k < 0 else node.children[k][0]
    data = struct.pack(f"={len(values)}{code}", *values) if code else values
    s.memory = ffi.from_buffer(bytearray(data))
    node.buffers[index] = s.memory
    return s


CONTENTS = [
    ("offsets decrease", pa.array(["a", "bb", "c"]), 1, [0, 3, 1, 4], "i", (), 1),
    ("the offsets run from -1", pa.array(["a", "bb", "c"]), 1, [-1, 0, 1, 4], "i", (), 1),
    ("not UTF-8", pa.array(["a", "bb", "c"]), 2, b"a\xff\xffc", "", (), 2),
    ("not UTF-8", pa.array(["\u20ac"]), 2, b"\xed\xa0\x80", "", (), 2),
    ("offsets decrease", pa.array([[1], [2, 3]]), 1, [0, 3, 2], "i", (), 1),
    ("the child has 3 values", pa.array([[1], [2, 3]]), 1, [0, 1, 9], "i", (), 1),
    ("type id 5", cases.ARRAYS["dense_union"], 0, [0, 1, 5, 1, 0, 1, 0, 0], "b", (), 0),
    ("number 9 of a child", cases.ARRAYS["dense_union"], 1, [0, 0, 9, 1, 2, 2, 3, 4], "i", (), 1),
    ("decrease", cases.ARRAYS["dense_union"], 1, [1, 0, 0, 1, 2, 2, 3, 4], "i", (), 1),
    ("type id -1", cases.ARRAYS["sparse_union"], 0, [0, -1, 0, 1, 0, 1, 0, 0], "b", (), 0),
    ("run end 1 is 3 after 3", cases.ARRAYS["run_end_encoded"], 1, [3, 3, 8], "i", (0,), None),
    ("the last run ends at 7", cases.ARRAYS["run_end_encoded"], 1, [3, 5, 7], "i", (0,), None),
    (
        "the dictionary has 2 values",
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), ["a", "b"]),
        1,
        [0, 2],
        "b",
        (),
        1,
    ),
    (
        "the dictionary has 2 values",
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), ["a", "b"]),
        1,
        [0, -1],
        "b",
        (),
        1,
    ),
    ("the bitmap has 2 nulls", pa.array([1, None, 3]), 0, b"\x01", "", (), 0),
    ("negative size", cases.ARRAYS["string_view"].slice(0, 1), 1, struct.pack("=i12x", -1), "", (), 1),
    ("not padded", cases.ARRAYS["string_view"].slice(0, 1), 1, struct.pack("=i12s", 1, b"ab"), "", (), 1),
    ("data buffer 7", cases.ARRAYS["string_view"].slice(0, 1), 1, struct.pack("=i4sii", 20, b"a va", 7, 0), "", (), 1),
    (
        "ends outside data buffer",
        cases.ARRAYS["string_view"].slice(0, 1),
        1,
        struct.pack("=i4sii", 20, b"a va", 0, 9999),
        "",
        (),
        1,
    ),
    ("another prefix", cases.ARRAYS["string_view"].slice(0, 1), 1, struct.pack("=i4sii", 20, b"zzzz", 0, 0), "", (), 1),
    (r"is \[2, \+9\)", pa.array([[1], [2, 3]], pa.list_view(pa.int32())), 2, [1, 9], "i", (), 1),
]


@pytest.mark.parametrize(("message", "source", "index", "values", "code", "child", "buffer"), CONTENTS)
def test_contents_that_break_the_format_are_found_by_the_full_check(
    message, source, index, values, code, child, buffer
):
    if message.startswith("is"):
        values = [1, 9]
    s = broken(source, index, values, code, child)
    try:
        with pytest.raises(
            cdevice.InvalidArray, match=message if not message.startswith("is") else "the child has"
        ) as caught:
            s.load("full")
        assert caught.value.buffer == buffer
        assert s.array.array.release
    finally:
        s.close()


def test_the_ends_of_offsets_are_looked_at_by_the_structure_check():
    for values in ([0, 1, 99], [5, 1, 3], [-4, 1, 3]):
        s = broken(pa.array([[1], [2, 3]]), 1, values, "i")
        with pytest.raises(cdevice.InvalidArray, match="offsets run"):
            s.load()
        s.close()


def test_a_map_with_a_null_key_is_found():
    s = Structs(cdevice.asarray(cases.ARRAYS["map"]))
    keys = s.array.array.children[0].children[0]
    memory = ffi.from_buffer(bytearray(b"\xfe"))
    keys.buffers[0] = memory
    keys.null_count = -1
    with pytest.raises(cdevice.InvalidArray, match="null key"):
        s.load("full")
    s.close()


def test_numpy_that_would_need_a_copy_says_so():
    values = np.arange(10)[::2]
    with pytest.raises(ValueError, match="contiguous"):
        cdevice.asarray(values, copy=False)
    assert cdevice.asarray(values).to_pylist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("values", "schema", "error"),
    [
        ([1, "a"], "int64", TypeError),
        ([300], "uint8", ValueError),
        (["a"], "null", TypeError),
        ([b"ab"], "fixed_size_binary[3]", ValueError),
        ([1], "string", TypeError),
        ([object()], None, TypeError),
        ([[1, 2, 3]], pa.list_(pa.int8(), 2), ValueError),
    ],
)
def test_values_that_the_type_cannot_hold_are_refused(values, schema, error):
    with pytest.raises(error):
        cdevice.asarray(values, schema=schema)


def test_an_object_that_is_no_array_is_refused():
    with pytest.raises(TypeError, match="cannot become an array"):
        cdevice.asarray(object())


def test_counters_are_back_after_all_these_failures():
    import gc

    gc.collect()
    before = lib.cdv_live_exports()
    s = Structs(cdevice.asarray([1, 2]))
    s.set(s.array.array, "length", -1)
    for _ in range(100):
        with pytest.raises(cdevice.InvalidArray):
            s.load()
    s.close()
    assert lib.cdv_live_exports() == before


def test_a_query_that_was_not_run_says_how_it_is():
    pl = pytest.importorskip("polars", reason="pip install polars")
    lazy = pl.LazyFrame({"a": [1]})
    for call, kind in ((cdevice.asarray, "an array"), (cdevice.asstream, "a stream")):
        with pytest.raises(TypeError, match=rf"LazyFrame cannot become {kind}: .*\.collect\(\)"):
            call(lazy)


def test_an_iterator_is_told_where_it_belongs():
    with pytest.raises(TypeError, match=r"generator cannot become an array: cdevice\.asstream\(\)"):
        cdevice.asarray(x for x in [1])


def test_a_stream_of_another_type_than_asked_for_tells_both():
    pl = pytest.importorskip("polars", reason="pip install polars")
    with pytest.raises(cdevice.ArgumentError, match=r"struct<a: int64>, but struct<a: int8> was requested"):
        cdevice.asarray(pl.DataFrame({"a": [1]}), schema={"a": "int8"})


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("numpy", "cdevice.asarray([1]).to_numpy()"),
        ("cupy", "cdevice.asarray([1]).to_cupy()"),
    ],
)
def test_a_library_that_is_missing_is_named_with_what_to_install(module, call):
    code = f"""
import sys
sys.modules[{module!r}] = None
import cdevice
try:
    {call}
except ModuleNotFoundError as e:
    print(e.name, "|", e)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.startswith(f"{module} | {module} is needed for this call: pip install ")


def test_whatever_is_inside_itself_or_has_dimensions_that_stay_ends_in_a_value_or_a_sentence():
    inside, named, deep = [], {}, []
    inside.append(inside)
    named["a"] = named
    for _ in range(3000):
        deep = [deep]
    for make in (
        lambda: cdevice.asarray(inside),
        lambda: cdevice.asarray(named),
        lambda: cdevice.asarray([named]),
        lambda: cdevice.asarray(deep),
        lambda: cdevice.asarray({"a": [1], "b": named}),
        lambda: cdevice.record_batch({"a": inside}),
        lambda: cdevice.record_batch(named),
        lambda: cdevice.asschema(inside),
        lambda: cdevice.asschema(named),
        lambda: cdevice.asschema("list<" * 3000 + "int64" + ">" * 3000),
        lambda: cdevice.asschema("list<" * 65 + "int64" + ">" * 65),
        lambda: cdevice.asschema("struct<a: " * 500 + "no type" + ">" * 500),
        lambda: list(cdevice.asstream(inside)),
        lambda: cdevice.concat(inside),
    ):
        with pytest.raises((cdevice.Error, ValueError, TypeError)) as error:
            make()
        assert str(error.value).strip()
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1, 2], [3, 4]])
    assert cdevice.asarray(matrix).to_pylist() == [[1, 2], [3, 4]]
    assert cdevice.asarray(matrix.T).to_pylist() == [[1, 3], [2, 4]]
    records = np.rec.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    assert cdevice.asarray(records).to_pylist() == [{"a": 1, "b": 2.5}, {"a": 3, "b": 4.5}]

    class Stays(np.ndarray):
        def reshape(self, *_):
            return self

    Stays.__module__ = "numpy"
    assert cdevice.asarray(np.arange(4).reshape(2, 2).view(Stays)).to_pylist() == [[0, 1], [2, 3]]


def test_texts_of_c_that_are_not_utf8_are_told_or_go_back_as_they_came():
    schema, name = ffi.new("struct ArrowSchema *"), ffi.new("char[]", b"\xff\xfe\x80")
    pa.struct([("abc", pa.timestamp("us", "UTC"))])._export_to_c(int(ffi.cast("uintptr_t", schema)))
    zone = ffi.new("char[]", b"tsu:\xff\xfe")
    child, was = schema.children[0], (schema.children[0].name, schema.children[0].format)
    array = ffi.new("struct ArrowDeviceArray *")
    cdevice.asarray(pa.array([{"abc": None}], pa.struct([("abc", pa.timestamp("us", "UTC"))])))._export_structs(
        int(ffi.cast("uintptr_t", array)), 0
    )
    child.format = zone
    with pytest.raises(cdevice.InvalidArray, match="UTF-8"):
        cdevice.import_from_c(array, schema)
    child.format, child.name = was[1], name
    got = cdevice.import_from_c(array, schema)
    assert got.schema.names == [b"\xff\xfe\x80".decode("utf-8", "surrogateescape")] and repr(got) and got.to_pylist()
    del got, was
