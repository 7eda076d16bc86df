"""Producers that are right, and producers broken on purpose: a suite that has never failed proves nothing.

``RIGHT`` maps a name to (make, rows); ``WRONG_ARRAYS`` and ``WRONG_SCHEMAS`` map one to (make, the rule it breaks, what
is known of it).
"""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import os
import struct
import threading
import time

from .standin import (
    RELEASE_ARRAY,
    RELEASE_SCHEMA,
    ArrayProducer,
    Node,
    Producer,
    batch,
    heap,
    int64s,
    make_schema,
    strings,
)
from .structs import ArrowArray, ArrowDeviceArray, ArrowSchema, OneArgument, c_void_p, capsule_call, new_capsule

KEPT = []
BOTH = b"\3"  # a bitmap of two valid rows


def pack(code, *numbers):
    return struct.pack(f"<{len(numbers)}{code}", *numbers)


def named(node, name, nullable=True):
    node.name, node.flags = name, 2 if nullable else 0
    return node


def list_node():
    return Node("+l", 2, [None, pack("i", 0, 2, 3)], [named(int64s([1, 2, 3]), "item")])


def map_node(nullable_key=False):
    entries = batch({"key": strings(["a", "b"]), "value": int64s([1, 2])})
    entries.children[0].flags = 2 if nullable_key else 0
    return Node("+m", 2, [None, pack("i", 0, 1, 2)], [named(entries, "entries", False)])


def dictionary_node(indices=(1, 0)):
    return Node("i", 2, [None, pack("i", *indices)], dictionary=strings(["a", "b"]))


def union_node(types=(0, 1)):
    return Node("+us:0,1", 2, [pack("b", *types)], [named(int64s([1, 2]), "a"), named(strings(["x", "y"]), "b")])


def run_node(format="i"):
    ends = Node(format, 2, [None, pack("i" if format == "i" else "f", 1, 3)])
    return Node("+r", 3, [], [named(ends, "run_ends", False), named(int64s([5, None]), "values")])


LONG = b"a text that is too long to be in its view"


def view_node(start=0):
    views = pack("i", 2) + b"ab".ljust(12, b"\0") + pack("i", len(LONG)) + LONG[:4] + pack("i", 0, start)
    return Node("vu", 2, [None, views, LONG, pack("q", len(LONG))])


def two_columns():
    return batch({"a": int64s([1, 2]), "b": strings(["x", "yy"])})


RIGHT = {
    "int64": (lambda: Producer(int64s([1, None, 3])), [1, None, 3]),
    "int64 with an offset": (lambda: Producer(int64s([9, 1, None, 3], offset=1)), [1, None, 3]),
    "utf8": (lambda: Producer(strings(["a", "", "ccc"])), ["a", "", "ccc"]),
    "struct": (lambda: Producer(two_columns()), [{"a": 1, "b": "x"}, {"a": 2, "b": "yy"}]),
    "list": (lambda: Producer(list_node()), [[1, 2], [3]]),
    "map": (lambda: Producer(map_node()), [[{"key": "a", "value": 1}], [{"key": "b", "value": 2}]]),
    "dictionary": (lambda: Producer(dictionary_node()), ["b", "a"]),
    "union": (lambda: Producer(union_node()), [1, "y"]),
    "run ends": (lambda: Producer(run_node()), [5, None, None]),
    "view": (lambda: Producer(view_node()), ["ab", LONG.decode()]),
    "null": (lambda: Producer(Node("n", 2, [], nulls=2)), [None, None]),
    "bool": (lambda: Producer(Node("b", 2, [None, b"\1"])), [True, False]),
    "decimal": (lambda: Producer(Node("d:5,2", 1, [None, (-7).to_bytes(16, "little", signed=True)])), [-7]),
    "empty": (lambda: Producer(strings([])), []),
    "texts without bytes": (lambda: Producer(Node("u", 1, [b"\0", bytes(8), 0x80], nulls=1)), [None]),  # 0x80: Rust's
    "the older method": (lambda: ArrayProducer(int64s([1])), [1]),
}


class Other(Producer):
    """``change(schema struct, device array struct)`` before they are given."""

    change = staticmethod(lambda schema, device: None)

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        given = super().__arrow_c_device_array__(requested_schema, **kwargs)
        pointer = capsule_call("PyCapsule_GetPointer", c_void_p, ctypes.py_object, ctypes.c_char_p)
        device = ArrowDeviceArray.from_address(pointer(given[1], b"arrow_device_array"))
        self.change(ArrowSchema.from_address(pointer(given[0], b"arrow_schema")), device)
        return given


class WrongName(Producer):
    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        schema, array = super().__arrow_c_device_array__(requested_schema, **kwargs)
        return schema, heap(ArrowDeviceArray(), "arrow_array")


class NoKeywords(Producer):
    def __arrow_c_device_array__(self, requested_schema=None):
        return super().__arrow_c_device_array__(requested_schema)


class AcceptsAnything(Producer):
    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return super().__arrow_c_device_array__(requested_schema)


class RefusesItsOwnSchema(Producer):
    def asked(self, requested):
        if requested is not None:
            raise ValueError("no other schema")


class NeverDrops(Producer):
    """Its capsule has no destructor."""

    def _device_array(self):
        capsule = super()._device_array()
        KEPT.append(capsule)
        pointer = capsule_call("PyCapsule_GetPointer", c_void_p, ctypes.py_object, ctypes.c_char_p)
        return new_capsule(pointer(capsule, b"arrow_device_array"), "arrow_device_array")


class Dies(Producer):
    """Ends the process by SIGSEGV where a keyword is not None."""

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        if kwargs.get("a_keyword_of_the_future"):
            os.kill(os.getpid(), 11)
        return super().__arrow_c_device_array__(requested_schema, **kwargs)


class Hangs(Producer):
    """Never returns where a keyword is not None."""

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        if kwargs.get("a_keyword_of_the_future"):
            time.sleep(1000)
        return super().__arrow_c_device_array__(requested_schema, **kwargs)


def no_mark():
    """A release callback that forgets to mark the struct."""
    callback = OneArgument(lambda address: None)
    KEPT.append(callback)
    return ctypes.cast(callback, c_void_p).value


def marks_and_spoils():
    """A release callback that overwrites the name of the schema's first child, and then marks."""

    def run(address):
        at = ArrowSchema.from_address(address)
        for pointer in (c_void_p * at.n_children).from_address(at.children):
            child = KEPT_CHILDREN.get(pointer)
            if child:
                ctypes.memset(child, ord("x"), 1)
        at.release = None

    callback = OneArgument(run)
    KEPT.append(callback)
    return ctypes.cast(callback, c_void_p).value


KEPT_CHILDREN = {}  # address of a child struct: its name's


def arrays_release_that_frees_moved_children():
    """A release callback that overwrites the first child's values although the child was moved out."""

    def run(address):
        at = ArrowArray.from_address(address)
        child = ArrowArray.from_address((c_void_p * 1).from_address(at.children)[0])
        ctypes.memset((c_void_p * 2).from_address(child.buffers)[1], 7, 8)
        at.release = None

    callback = OneArgument(run)
    KEPT.append(callback)
    return ctypes.cast(callback, c_void_p).value


def changed(node, change):
    class Changed(Other):
        pass

    Changed.change = staticmethod(change)
    return lambda: Changed(node())


def nodes_with(make, **fields):
    def node():
        out = make()
        for key, value in fields.items():
            setattr(out, key, value)
        return out

    return lambda: Producer(node())


def ints():
    return int64s([1, 2])


def setter(**fields):
    def change(schema, device):
        for key, value in fields.items():
            setattr(device if key in ("device_id", "device_type", "sync_event") else device.array, key, value)

    return change


def spoil_reserved(schema, device):
    device.reserved[1] = 0xA5A5


def short_child(schema, device):
    ArrowArray.from_address((c_void_p * 1).from_address(device.array.children)[0]).length = 1


def dead_child(schema, device):
    ArrowArray.from_address((c_void_p * 1).from_address(device.array.children)[0]).release = None


def spoil_moved(schema, device):
    device.array.release = arrays_release_that_frees_moved_children()


class DiesAtTheThird(Producer):
    """Ends the process when an array is given for the third time."""

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        THIRD.append(1)
        if len(THIRD) == 3:
            os.kill(os.getpid(), 11)
        return super().__arrow_c_device_array__(requested_schema, **kwargs)


THIRD = []


def then(original, run):
    """The address of a release callback that runs something after the original one."""

    def release(address):
        at = (
            ArrowArray.from_address(address) if original == RELEASE_ARRAY.address else ArrowSchema.from_address(address)
        )
        at.release = original
        OneArgument(original)(address)
        run()

    callback = OneArgument(release)
    KEPT.append(callback)
    return ctypes.cast(callback, c_void_p).value


class SharesMemory(Other):
    """The release of an array destroys the memory that all arrays of the object have."""

    def __init__(self):
        super().__init__(ints())
        raw = ctypes.create_string_buffer(128)
        KEPT.append(raw)
        self.memory = -(-ctypes.addressof(raw) // 64) * 64
        ctypes.memmove(self.memory, pack("q", 1, 2), 16)
        self.node.buffers[1] = self.memory

    def destroy(self):
        """A function that destroys the memory and does not hold the object."""
        memory = self.memory
        return lambda: ctypes.memset(memory, 7, 16)

    def change(self, schema, device):
        device.array.release = then(RELEASE_ARRAY.address, self.destroy())


class SchemaOwnsTheData(SharesMemory):
    """The release of the schema destroys the array's memory."""

    def change(self, schema, device):
        schema.release = then(RELEASE_SCHEMA.address, self.destroy())


class OwnsTheData(SharesMemory):
    """The memory dies with the object."""

    def change(self, schema, device):
        pass

    def __del__(self):
        self.destroy()()


class ReleasesOnItsOwnThread(Other):
    """Its release ends the process on another thread."""

    def change(self, schema, device):
        own = threading.get_ident()
        die = lambda: None if threading.get_ident() == own else os.kill(os.getpid(), 11)
        device.array.release = then(RELEASE_ARRAY.address, die)


class HoldsItself(Producer):
    """Each export is remembered."""

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        KEPT.append(self)
        return super().__arrow_c_device_array__(requested_schema, **kwargs)


def odd_address():
    raw = ctypes.create_string_buffer(128)
    KEPT.append(raw)
    return -(-ctypes.addressof(raw) // 64) * 64 + 1


WRONG_ARRAYS = {
    "death at the third": (lambda: DiesAtTheThird(ints()), "export_and_release_end_well", {}),
    "memory of all": (SharesMemory, "each_call_gives_its_own_structs", {}),
    "an odd address": (lambda: Producer(Node("l", 2, [None, odd_address()])), "buffers_are_aligned", {}),
    "the schema's data": (SchemaOwnsTheData, "release_leaves_the_rest_of_the_struct", {}),
    "one thread": (lambda: ReleasesOnItsOwnThread(ints()), "release_works_on_another_thread", {}),
    "a leak": (lambda: HoldsItself(ints()), "release_lets_the_object_go", {}),
    "the object's data": (OwnsTheData, "array_outlives_its_source", {}),
    "a capsule of another name": (lambda: WrongName(ints()), "gives_two_named_capsules", {}),
    "no destructor": (lambda: NeverDrops(ints()), "capsules_dropped_unused_release", {}),
    "no keywords": (lambda: NoKeywords(ints()), "unknown_keywords_that_are_none_are_accepted", {}),
    "any keywords": (lambda: AcceptsAnything(ints()), "unknown_keywords_are_not_implemented", {}),
    "its own schema refused": (lambda: RefusesItsOwnSchema(ints()), "the_own_schema_may_be_requested", {}),
    "device type 0": (changed(ints, setter(device_type=0)), "device_type_is_the_memorys", {"device_type": 1}),
    "CPU number 0": (changed(ints, setter(device_id=0)), "device_id_of_the_cpu_is_minus_one", {}),
    "an event on the CPU": (changed(ints, setter(sync_event=4096)), "types_without_events_have_none", {}),
    "reserved": (changed(ints, spoil_reserved), "reserved_bytes_are_zero", {}),
    "a released child": (changed(two_columns, dead_child), "array_comes_live", {}),
    "negative length": (nodes_with(ints, length=-1), "length_is_not_negative", {}),
    "negative offset": (nodes_with(ints, offset=-1), "offset_is_not_negative", {}),
    "too many nulls": (nodes_with(ints, nulls=3, buffers=[BOTH, bytes(16)]), "null_count_is_minus_one_or_a_count", {}),
    "three buffers": (nodes_with(ints, buffers=[None, bytes(16), bytes(16)]), "number_of_buffers_is_the_types", {}),
    "no list of buffers": (changed(ints, setter(buffers=None)), "pointers_to_buffers_are_there", {}),
    "children missing": (changed(two_columns, setter(n_children=1)), "array_has_its_schemas_children", {}),
    "no dictionary": (
        changed(dictionary_node, setter(dictionary=None)),
        "dictionary_is_there_exactly_if_the_schema_has_one",
        {},
    ),
    "nulls without a bitmap": (nodes_with(ints, nulls=1), "nulls_have_a_validity_bitmap", {}),
    "rows without data": (nodes_with(ints, buffers=[None, None]), "buffers_with_content_are_not_null", {}),
    "no offsets": (nodes_with(lambda: strings([]), buffers=[None] * 3), "empty_arrays_have_one_offset", {}),
    "a batch with an offset": (
        nodes_with(two_columns, offset=1, length=1),
        "batches_have_no_offset_and_no_nulls",
        {"batch": True},
    ),
    "a wrong count": (
        nodes_with(ints, nulls=1, buffers=[BOTH, bytes(16)]),
        "null_count_is_the_bitmaps",
        {},
    ),
    "falling offsets": (
        nodes_with(lambda: strings(["ab", "c"]), buffers=[None, pack("i", 0, 3, 2), b"abc"]),
        "offsets_grow",
        {},
    ),
    "a short child": (changed(two_columns, short_child), "children_are_long_enough", {}),
    "a view out of its buffer": (lambda: Producer(view_node(4)), "views_point_into_their_buffers", {}),
    "an index out of the dictionary": (lambda: Producer(dictionary_node((0, 2))), "indices_are_in_the_dictionary", {}),
    "a type id that is none": (lambda: Producer(union_node((0, 5))), "union_rows_have_known_types", {}),
    "other values": (lambda: Producer(ints()), "values_are_the_objects", {"values": [1, 3]}),
    "a release that does not mark": (
        changed(ints, lambda schema, device: setattr(device.array, "release", no_mark())),
        "release_marks_the_array",
        {},
    ),
    "a child that dies with its parent": (changed(two_columns, spoil_moved), "child_outlives_its_parent", {}),
    "death": (lambda: Dies(ints()), "unknown_keywords_are_not_implemented", {}),
}


class SchemaOf:
    """Offers the schema of a node, changed."""

    def __init__(self, node, change=None, name="arrow_schema"):
        self.node, self.change, self.name = node, change, name

    def __arrow_c_schema__(self):
        at = make_schema(self.node, [])
        if self.change:
            self.change(at)
        return heap(at, self.name)


def schema_with(make, **fields):
    def node():
        out = make()
        for key, value in fields.items():
            setattr(out, key, value)
        return out

    return lambda: SchemaOf(node())


def null_child(schema):
    (c_void_p * 1).from_address(schema.children)[0] = None


def spoil_child(schema):
    child = ArrowSchema.from_address((c_void_p * 1).from_address(schema.children)[0])
    KEPT_CHILDREN[ctypes.addressof(child)] = child.name
    schema.release = marks_and_spoils()


class NoDrop(SchemaOf):
    def __arrow_c_schema__(self):
        at = make_schema(self.node, [])
        KEPT.append(at)
        return new_capsule(ctypes.addressof(at), "arrow_schema")


def with_metadata():
    node = two_columns()
    node.metadata = pack("i", 1, 1) + b"k" + pack("i", 2) + b"vv"
    return node


# what makes every rule of schemas apply
RIGHT_SCHEMAS = {
    **{name: make for name, (make, _) in RIGHT.items()},
    "metadata": lambda: SchemaOf(with_metadata()),
}


class OwnsTheName(SchemaOf):
    """The name dies with the object."""

    def __arrow_c_schema__(self):
        capsule = super().__arrow_c_schema__()
        pointer = capsule_call("PyCapsule_GetPointer", c_void_p, ctypes.py_object, ctypes.c_char_p)
        self.at = ArrowSchema.from_address(pointer(capsule, b"arrow_schema")).name
        return capsule

    def __del__(self):
        ctypes.memset(self.at, ord("x"), 1)


def named_ints():
    return named(ints(), "a name")


WRONG_SCHEMAS = {
    "the object's name": (lambda: OwnsTheName(named_ints()), "schema_outlives_its_source", {}),
    "a capsule of another name": (lambda: SchemaOf(ints(), name="schema"), "schema_capsule_is_named", {}),
    "a released schema": (lambda: SchemaOf(ints(), lambda s: setattr(s, "release", None)), "schema_comes_live", {}),
    "a format that is none": (schema_with(ints, format="q"), "schema_format_is_known", {}),
    "another format": (schema_with(ints, format="i"), "schema_format_is_the_types", {"format": "l"}),
    "a name that is no UTF-8": (schema_with(ints, name=b"\xff"), "schema_names_are_utf8", {}),
    "metadata": (schema_with(ints, metadata=pack("i", -5)), "schema_metadata_can_be_decoded", {}),
    "an unknown flag": (schema_with(ints, flags=8), "schema_flags_are_known", {}),
    "ordered without a dictionary": (schema_with(ints, flags=3), "schema_flags_fit_the_type", {}),
    "a child of int64": (schema_with(ints, children=[strings(["a"])]), "schema_has_the_types_children", {}),
    "a NULL child": (lambda: SchemaOf(two_columns(), null_child), "schema_children_are_there_and_live", {}),
    "indices that are floats": (schema_with(dictionary_node, format="f"), "schema_indices_are_integers", {}),
    "nullable keys": (lambda: SchemaOf(map_node(True)), "schema_map_has_two_fields", {}),
    "run ends that are floats": (lambda: SchemaOf(run_node("f")), "schema_run_ends_are_integers", {}),
    "a release that does not mark": (
        lambda: SchemaOf(ints(), lambda s: setattr(s, "release", no_mark())),
        "schema_release_marks_it",
        {},
    ),
    "no destructor": (lambda: NoDrop(ints()), "schema_capsule_dropped_unused_releases", {}),
    "a child that dies with its parent": (
        lambda: SchemaOf(two_columns(), spoil_child),
        "schema_child_outlives_its_parent",
        {},
    ),
}
