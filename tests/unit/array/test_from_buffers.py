"""Arrays from parts: sizes, types and events are held against what is declared."""

import array
import subprocess
import sys

import numpy as np
import pytest

import cdevice
from cdevice import aio
from cdevice._runtime.ext import ffi

LEVELS = ["structure", "full"]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("schema", "length", "buffers", "more", "said"),
    [
        ("int64", 100, [None, b"12345678"], {}, "buffer 1 has 8 bytes, 800 are needed"),
        ("int64", 10**9, [None, b"12345678"], {}, "buffer 1 has 8 bytes"),
        ("int64", 3, [b"", np.arange(3)], {}, "buffer 0 has 0 bytes, 1 are needed"),
        ("int64", 3, [None, np.arange(3)], {"offset": 2}, "buffer 1 has 24 bytes, 40 are needed"),
        ("int64", 3, [None, np.arange(3, dtype="i1")], {}, "buffer 1 has 3 bytes, 24 are needed"),
        ("bool", 9, [None, b"1"], {}, "buffer 1 has 1 bytes, 2 are needed"),
        ("string", 1, [None, np.array([0, 3], "i4"), b"a"], {}, "buffer 2 has 1 bytes, 3 are needed"),
        ("string", 1, [None, np.array([0], "i4"), b"a"], {}, "buffer 1 has 4 bytes, 8 are needed"),
        ("large_binary", 1, [None, np.array([0, 1], "i4"), b"a"], {}, "buffer 1 has 8 bytes, 16 are needed"),
        ("string_view", 2, [None, bytes(16), b""], {}, "buffer 1 has 16 bytes, 32 are needed"),
        ("string_view", 1, [None, bytes(16), b"x", array.array("q", [2])], {}, "buffer 2 has 1 bytes, 2 are needed"),
        ("string_view", 1, [None, bytes(16), b"x", b"1234"], {}, "buffer 3 has 4 bytes, 8 are needed"),
        ("decimal128(9, 2)", 2, [None, bytes(31)], {}, "buffer 1 has 31 bytes, 32 are needed"),
        ("fixed_size_binary[5]", 2, [None, memoryview(bytes(9))], {}, "buffer 1 has 9 bytes, 10 are needed"),
        (["int8"], 1, [None, b"\0\0\0\0"], {"children": ["int8"]}, "buffer 1 has 4 bytes, 8 are needed"),
        ("dense_union<a: int8=0>", 3, [b"\0\0", bytes(12)], {"children": ["int8"]}, "buffer 0 has 2 bytes, 3 are"),
        ("dense_union<a: int8=0>", 3, [b"\0\0\0", bytes(11)], {"children": ["int8"]}, "buffer 1 has 11 bytes, 12 are"),
    ],
)
def test_a_buffer_that_tells_its_size_must_hold_the_rows(schema, length, buffers, more, said, level):
    more = dict(more)
    if "children" in more:
        more["children"] = [cdevice.asarray([1, 2, 3], schema=s) for s in more["children"]]
    with pytest.raises(cdevice.InvalidArray, match=said) as caught:
        cdevice.from_buffers(schema, length, buffers, validate=level, **more)
    assert caught.value.buffer is not None


def test_sizes_that_suffice_are_taken_and_nothing_is_asked_of_empty_arrays():
    assert cdevice.from_buffers("int64", 1, [None, np.arange(3)], offset=2).to_pylist() == [2]
    assert cdevice.from_buffers("int64", 0, [None, b""], offset=5).to_pylist() == []
    assert cdevice.from_buffers("string", 0, [None, b"", b""]).to_pylist() == []
    assert cdevice.from_buffers("string", 2, [None, np.array([0, 1, 3], "i4"), b"abc"]).to_pylist() == ["a", "bc"]
    empty = cdevice.from_buffers("int64", 0, [None, b""], offset=5)
    assert (empty.buffers[1].size, bytes(empty.buffers[1].memoryview())) == (0, b"")


@pytest.mark.parametrize(
    ("schema", "children"),
    [
        ({"a": "int64"}, [[1, 2]]),
        (["int64"], [[1, 2]]),
        ("fixed_size_list<item: int64>[1]", [[1, 2]]),
        ({"a": "float64"}, [[1, 2]]),
        ({"a": {"b": "int64"}}, [[{"b": 1}, {"b": 2}]]),
        ("run_end_encoded<run_ends: int32, values: int64>", [[1, 2], [1, 2]]),
    ],
    ids=str,
)
def test_children_have_the_declared_types(schema, children):
    wrong = [cdevice.asarray(v, schema={"b": "int8"} if isinstance(v[0], dict) else "int8") for v in children]
    with pytest.raises(cdevice.InvalidArray, match=r"the schema declares"):
        buffers = [None, np.array([0, 1, 2], "i4")] if isinstance(schema, list) else [None]
        cdevice.from_buffers(schema, 2, [] if "run" in str(schema) else buffers, children=wrong)


def test_a_dictionary_has_the_declared_type():
    schema = cdevice.asschema("dictionary<values=string, indices=int8, ordered=0>")
    with pytest.raises(cdevice.InvalidArray, match='the dictionary has the format "l", the schema declares "u"'):
        cdevice.from_buffers(schema, 1, [None, b"\0"], dictionary=cdevice.asarray([1]))
    with pytest.raises(cdevice.InvalidArray, match="not declared"):
        cdevice.from_buffers("int8", 1, [None, b"\0"], dictionary=cdevice.asarray([1]))


def test_names_and_nullability_of_children_may_differ():
    child = cdevice.asarray([1, 2], schema=cdevice.Schema.make("l", "other", nullable=False))
    assert cdevice.from_buffers({"a": "int64"}, 2, [None], children=[child]).to_pylist() == [{"a": 1}, {"a": 2}]


class Interface:
    def __init__(self, values, shape=None, strides=None):
        self.values = values
        self.__array_interface__ = {
            "version": 3,
            "shape": shape or values.shape,
            "typestr": values.dtype.str,
            "data": (values.ctypes.data, True),
            "strides": strides,
        }


def test_an_array_interface_tells_its_size_and_has_no_gaps():
    values = np.arange(4)
    assert cdevice.from_buffers("int64", 4, [None, Interface(values)]).to_pylist() == [0, 1, 2, 3]
    with pytest.raises(cdevice.InvalidArray, match="16 bytes, 32 are needed"):
        cdevice.from_buffers("int64", 4, [None, Interface(values, (2,))])
    with pytest.raises(ValueError, match="contiguous"):
        cdevice.from_buffers("int64", 2, [None, Interface(values, (2,), (16,))])


def test_a_buffer_of_another_array_is_a_part():
    source = cdevice.asarray([5, 6, 7])
    made = cdevice.from_buffers("int64", 2, [None, source.buffers[1]])
    source.release()
    assert made.to_pylist() == [5, 6]
    with pytest.raises(cdevice.InvalidArray):
        cdevice.from_buffers("int64", 4, [None, cdevice.asarray([5, 6, 7]).buffers[1]])


@pytest.mark.parametrize("obj", ["12345678", 1.5, object(), {"a": 1}, [1, 2], True], ids=repr)
def test_what_is_no_memory_is_a_type_error(obj):
    with pytest.raises(TypeError):
        cdevice.from_buffers("int64", 1, [None, obj])


# ---- addresses ----
BAD_ADDRESSES = ["x", "xy", b"x", 1.5, None, True, object(), -1, 1, 4095, 1 << 64, ffi.new("double *", 2.0)[0]]
TAKE_ADDRESSES = {
    "import_from_c": lambda x: cdevice.import_from_c(x, x),
    "import_stream_from_c": lambda x: cdevice.import_stream_from_c(x),
    "export_to_c": lambda x: cdevice.asarray([1]).export_to_c(x),
    "export schema": lambda x: cdevice.asarray([1]).export_to_c(
        ffi.new("struct ArrowDeviceArray *"), x if x is not None else "x"
    ),
    "stream export": lambda x: cdevice.asstream([[1]]).export_to_c(x),
    "produce": lambda x: aio.produce([[1]], x),
    "sync_event": lambda x: cdevice.from_buffers("int64", 1, [None, b"12345678"], sync_event="x" if x is None else x),
}


@pytest.mark.parametrize("bad", BAD_ADDRESSES, ids=repr)
@pytest.mark.parametrize("call", TAKE_ADDRESSES)
def test_an_address_is_an_int_or_a_cffi_pointer(call, bad):
    with pytest.raises((TypeError, ValueError)):
        TAKE_ADDRESSES[call](bad)


def test_cffi_pointers_and_ints_are_addresses():
    d, s = ffi.new("struct ArrowDeviceArray *"), ffi.new("struct ArrowSchema *")
    cdevice.asarray([1, 2]).export_to_c(d, int(ffi.cast("uintptr_t", s)))
    assert cdevice.import_from_c(ffi.cast("void *", d), ffi.cast("uintptr_t", s)).to_pylist() == [1, 2]


# ---- events ----
def test_an_address_or_a_foreign_object_is_no_event():
    for event in (0x7000, "x", 1.5, object(), b"e"):
        with pytest.raises(TypeError):
            cdevice.from_buffers("int64", 1, [None, b"12345678"], event=event)


def test_opencl_events_are_objects_in_and_out():
    cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
    try:
        there = cdevice.asarray(np.arange(8)).to("opencl")
    except cdevice.BackendUnavailable as e:
        pytest.skip(str(e))
    there.synchronize()
    buffer = there.buffers[1].to_pyopencl()
    gate = cl.UserEvent(buffer.context)
    made = cdevice.from_buffers("int64", 8, [None, buffer], device=there.device, event=gate)
    handle = gate.int_ptr
    assert not made.ready
    event = made.event
    assert isinstance(event, cl.Event) and event.int_ptr == handle
    made.release()
    again = cdevice.from_buffers("int64", 8, [None, buffer], device=there.device, event=event)
    gate.set_status(0)
    assert again.to("cpu").to_pylist() == list(range(8))
    with pytest.raises(cdevice.InvalidArray, match="64 bytes, 72 are needed"):
        cdevice.from_buffers("int64", 9, [None, buffer], device=there.device)
    with pytest.raises(TypeError, match="sync_event="):
        cdevice.from_buffers("int64", 8, [None, buffer], device=there.device, event=handle)
    assert cdevice.asarray([1]).event is None


# ---- schemas ----
@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\1",
        b"\1\0\0\0",
        b"\1\0\0\0\xff\xff\xff\x7f",
        b"\xff\xff\xff\xff",
        b"\1\0\0\0\1\0\0\0k\xff\xff\xff\x7f",
        "x",
        5,
    ],
    ids=repr,
)
def test_a_metadata_block_is_read_within_its_bytes(block):
    with pytest.raises((ValueError, TypeError)):
        cdevice.Schema.make("l", metadata=block)
    consumer = aio.consume()
    with pytest.raises((ValueError, TypeError, cdevice.StreamError)):
        aio.produce([[1]], consumer, metadata=block)
        consumer.read_schema(10)


@pytest.mark.parametrize("metadata", [{1: 3}, {"a": 5}, {None: "x"}, {"a": ["x"]}], ids=repr)
def test_metadata_is_text_or_bytes(metadata):
    with pytest.raises(TypeError):
        cdevice.Schema.make("l", metadata=metadata)


def test_a_name_that_is_not_utf8_comes_back_as_it_went():
    import pickle

    schema = cdevice.Schema.make("+s", children=[cdevice.Schema.make("l", "caf\udce9")])
    array = cdevice.from_buffers(schema, 1, [None], children=[cdevice.asarray([1])])
    again = pickle.loads(pickle.dumps(array))
    assert again.schema == schema and again == array
    assert again.field("caf\udce9").to_pylist() == [1]
    with pytest.raises(ValueError, match="zero byte"):
        cdevice.Schema.make("l", "a\0b")


def test_hostile_parts_never_take_the_process_down():
    code = """
import cdevice, sys
for f in (lambda: cdevice.import_from_c("a", "b"), lambda: cdevice.import_stream_from_c("a"),
          lambda: cdevice.asarray([1]).export_to_c("x"), lambda: cdevice.aio.produce([[1]], "x"),
          lambda: print(cdevice.from_buffers("int64", 10**9, [None, b"12345678"])),
          lambda: cdevice.Schema.make("l", metadata=b"\\1\\0\\0\\0\\xff\\xff\\xff\\x7f")):
    try: f()
    except (TypeError, ValueError): pass
    else: sys.exit("taken")
from cdevice import aio
"""
    done = subprocess.run(
        [sys.executable, "-c", code.replace("import cdevice, sys", "import cdevice, sys, cdevice.aio")]
    )
    assert done.returncode == 0


def test_without_a_bitmap_there_are_no_nulls_to_count():
    array = cdevice.from_buffers("int64", 3, [None, np.arange(3)])
    device_array = ffi.new("struct ArrowDeviceArray *")
    array.export_to_c(device_array)
    assert device_array.array.null_count == 0  # -1 beside a missing bitmap is refused by nanoarrow, polars stumbles
    device_array.array.release(ffi.addressof(device_array, "array"))
    batch = cdevice.from_buffers({"a": "int64"}, 3, [None], children=[array])
    assert batch.null_count == 0
    assert cdevice.from_buffers("int64", 3, [b"\x05", np.arange(3)]).null_count == 1


@pytest.mark.parametrize("one", [b"12345678", bytearray(8), np.arange(3), cdevice.asarray([1]).buffers[1], 5])
def test_one_buffer_is_no_list_of_buffers(one):
    with pytest.raises(TypeError, match="a list with one object for each buffer of the layout"):
        cdevice.from_buffers("int64", 1, one)


def test_pyopencls_objects_say_which_device_they_are_on():
    cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    context = cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())])
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(queue.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(3))
    column = cdevice.from_buffers("int64", 3, [None, buffer])
    assert column.device.type_id == 4 and column.to("cpu").to_pylist() == [0, 1, 2]
