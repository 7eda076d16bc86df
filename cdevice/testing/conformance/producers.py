"""Rules of those who give arrays: ArrowArray, ArrowDeviceArray and their capsules."""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import gc
import threading
import weakref

from .exporting import (
    capsules_of,
    each_array,
    exported,
    first_buffer,
    lacking,
    method_of,
    needs_host,
    offsets_in,
    readable,
    sound_rows,
    the_device,
)
from .layouts import (
    bit,
    buffers_of,
    is_view,
    layout,
    numbers,
    offset_code,
)
from .structs import (
    ArrowDeviceArray,
    ArrowSchema,
    Broken,
    NotDone,
    Once,
    call_release,
    capsule_address,
    capsule_name,
    children_of,
    count_releases,
    dictionary_of,
    move,
    text_at,
)
from .suite import Rules, Suite

C_DATA = "C data interface"
DEVICE = "C device data interface"
CAPSULES = "PyCapsule interface"
PRODUCER_RULES = Rules()
OFFSETS = ("u", "U", "z", "Z", "+l", "+L", "+m")


# ---- capsules ----
@PRODUCER_RULES.add("MUST", f"{C_DATA}, release callback semantics")
def export_and_release_end_well(subject):
    """Three exports and their releases leave the process alive."""
    for _ in range(3):
        try:
            given, _ = capsules_of(subject)
        except Once:
            break
        del given
        gc.collect()


@PRODUCER_RULES.add("MUST", f"{CAPSULES}, __arrow_c_device_array__")
def gives_two_named_capsules(subject):
    """The method gives a pair of capsules that have the names of the protocol."""
    made, method = method_of(subject)
    given = getattr(made, method)()
    wanted = ("arrow_schema", "arrow_device_array" if "device" in method else "arrow_array")
    found = tuple(capsule_name(g) for g in given) if isinstance(given, tuple) else type(given).__name__
    if found != wanted:
        raise Broken(f"{method} gives {found}, not {wanted}")


@PRODUCER_RULES.add("MUST", f"{CAPSULES}, lifetime")
def capsules_dropped_unused_release(subject):
    """Dropping unused capsules releases the array, once."""
    given, (kind, name) = capsules_of(subject)
    at = kind.from_address(capsule_address(given[1], name))
    at = at.array if kind is ArrowDeviceArray else at
    if not at.release:
        raise NotDone("the array is released")
    calls = count_releases(at)
    del given, at
    gc.collect()
    if len(calls) != 1:
        raise Broken(f"release was called {len(calls)} times")


def place(export):
    """The address of content that the CPU reads, or None."""
    schema, device, array = export
    if device is not None and device.device_type != 1:
        return None
    try:
        return first_buffer(schema, array)
    except NotDone:
        return None


def looks(array, at):
    """An array's counts, and a byte of its content, at a place."""
    return array.length, array.n_buffers, None if at is None else ctypes.string_at(at, 1)


@PRODUCER_RULES.add("MUST", f"{CAPSULES}, lifetime")
def each_call_gives_its_own_structs(subject):
    """Two calls give two exports: the release of one leaves the other valid."""
    made, _ = method_of(subject)
    twice = type(subject)(lambda: made, protocol=subject.protocol)
    first, second = exported(twice), exported(twice)
    if first[2].release and second[2].release:
        at = place(second)
        before = looks(second[2], at)
        call_release(first[2])
        if not second[2].release or before != looks(second[2], at):
            raise Broken("the second export is not valid after the release of the first")
    call_release(first[0])
    call_release(second[2])
    call_release(second[0])


@PRODUCER_RULES.add("MUST", f"{CAPSULES}, __arrow_c_device_array__, kwargs")
def unknown_keywords_that_are_none_are_accepted(subject):
    """A keyword that it does not know is accepted as long as it is None."""
    made, method = method_of(subject)
    if "device" not in method:
        raise NotDone("it has no __arrow_c_device_array__")
    try:
        getattr(made, method)(a_keyword_of_the_future=None)
    except (TypeError, NotImplementedError) as e:
        raise Broken(f"{type(e).__name__}: {e}") from None


@PRODUCER_RULES.add("MUST", f"{CAPSULES}, __arrow_c_device_array__, kwargs")
def unknown_keywords_are_not_implemented(subject):
    """A keyword that it does not know is a NotImplementedError where it is not None."""
    made, method = method_of(subject)
    if "device" not in method:
        raise NotDone("it has no __arrow_c_device_array__")
    try:
        getattr(made, method)(a_keyword_of_the_future=None)
    except TypeError:
        raise NotDone("it takes no keywords") from None
    except NotImplementedError:
        pass
    try:
        getattr(made, method)(a_keyword_of_the_future=1)
    except NotImplementedError:
        return
    except Exception as e:
        raise Broken(f"{type(e).__name__}: {e}") from None
    raise Broken("it is accepted")


@PRODUCER_RULES.add("SHOULD", f"{CAPSULES}, requested_schema")
def the_own_schema_may_be_requested(subject):
    """The schema that an object has is granted where it is requested."""
    made, method = method_of(subject)
    given, _ = capsules_of(type(subject)(lambda: made, protocol=subject.protocol))
    wanted = text_at(ArrowSchema.from_address(capsule_address(given[0], "arrow_schema")).format)
    try:
        again = getattr(made, method)(requested_schema=given[0])
    except Exception as e:
        raise Broken(f"{type(e).__name__}: {e}") from None
    found = text_at(ArrowSchema.from_address(capsule_address(again[0], "arrow_schema")).format)
    if found != wanted:
        raise Broken(f"{found!r} comes where {wanted!r} was requested")


# ---- the device struct ----
@PRODUCER_RULES.add("MUST", f"{DEVICE}, ArrowDeviceArray.device_type")
def device_type_is_the_memorys(subject):
    """The device type is positive, and that of the memory."""
    device = the_device(subject)
    wanted = subject.device_type
    if device.device_type < 1 or wanted is not None and device.device_type != wanted:
        raise Broken(f"device_type is {device.device_type}" + (f", not {wanted}" if wanted else ""))


@PRODUCER_RULES.add("SHOULD", f"{DEVICE}, ArrowDeviceArray.device_id")
def device_id_of_the_cpu_is_minus_one(subject):
    """The device number of the CPU is -1."""
    device = the_device(subject)
    if device.device_type != 1:
        raise NotDone("it is not on the CPU")
    if device.device_id != -1:
        raise Broken(f"device_id is {device.device_id}")


@PRODUCER_RULES.add("MUST", f"{DEVICE}, synchronization event types")
def types_without_events_have_none(subject):
    """sync_event is NULL where the device type has no events."""
    device = the_device(subject)
    if device.device_type not in (1, 9, 15, 16):
        raise NotDone("the device type has events")
    if device.sync_event:
        raise Broken(f"sync_event is {device.sync_event:#x} on device type {device.device_type}")


@PRODUCER_RULES.add("MUST", f"{DEVICE}, ArrowDeviceArray.reserved")
def reserved_bytes_are_zero(subject):
    """The 24 reserved bytes are zero."""
    junk = [bytes([255]) * n for n in (64, 128, 160, 256) for _ in range(50)]
    del junk
    for _ in range(20):
        try:
            device = the_device(subject)
        except Once:
            break
        if any(device.reserved):
            raise Broken(f"reserved is {[hex(r & (1 << 64) - 1) for r in device.reserved]}")


# ---- the array struct ----
@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.release")
def array_comes_live(subject):
    """An array that is given out has a release callback, and so have its children."""
    given, (kind, name) = capsules_of(subject)
    at = kind.from_address(capsule_address(given[1], name))
    at = at.array if kind is ArrowDeviceArray else at
    if not at.release:
        raise Broken("release is NULL")
    for i, child in enumerate(children_of(at)):
        if not child.release:
            raise Broken(f"release of children[{i}] is NULL")


@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.length")
def length_is_not_negative(subject):
    """No length is below zero."""

    def look(path, format, schema, array):
        if array.length < 0:
            raise Broken(f"the length of {path} is {array.length}")

    each_array(subject, look)


@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.offset")
def offset_is_not_negative(subject):
    """No offset is below zero."""

    def look(path, format, schema, array):
        if array.offset < 0:
            raise Broken(f"the offset of {path} is {array.offset}")

    each_array(subject, look)


@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.null_count")
def null_count_is_minus_one_or_a_count(subject):
    """The count of nulls is -1 or between zero and the length."""

    def look(path, format, schema, array):
        if array.null_count < -1 or 0 <= array.length < array.null_count:
            raise Broken(f"{path} has {array.null_count} nulls in {array.length} rows")

    each_array(subject, look)


@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.n_buffers")
def number_of_buffers_is_the_types(subject):
    """The number of buffers is the one of the type; the two views have one more than three or more."""

    def look(path, format, schema, array):
        known = layout(format)
        if known is None:
            return
        if is_view(format) and array.n_buffers < 3 or not is_view(format) and array.n_buffers != len(known[0]):
            raise Broken(f"{path}, {format!r}, has {array.n_buffers} buffers")

    each_array(subject, look)


@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.buffers")
def pointers_to_buffers_are_there(subject):
    """The list of buffers is not NULL where the array has buffers, also without columns and rows."""

    def look(path, format, schema, array):
        if array.n_buffers > 0 and not array.buffers:
            raise Broken(f"{path} has {array.n_buffers} buffers and a NULL list of them")

    each_array(subject, look)


@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.n_children")
def array_has_its_schemas_children(subject):
    """Array and schema have the same number of children, none of them NULL."""

    def look(path, format, schema, array):
        if array.n_children != schema.n_children:
            raise Broken(f"{path} has {array.n_children} children, its schema {schema.n_children}")
        if len(children_of(array)) != array.n_children:
            raise Broken(f"{path} has a NULL among the pointers to its children")

    each_array(subject, look)


@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.dictionary")
def dictionary_is_there_exactly_if_the_schema_has_one(subject):
    """An array has a dictionary exactly where its schema has one."""

    def look(path, format, schema, array):
        if bool(array.dictionary) != bool(schema.dictionary):
            raise Broken(f"{path}: the {'array' if array.dictionary else 'schema'} alone has a dictionary")

    each_array(subject, look)


@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.buffers")
def nulls_have_a_validity_bitmap(subject):
    """Where there are nulls there is a validity bitmap."""

    def look(path, format, schema, array):
        buffers = readable(format, array)
        if buffers and "validity" in buffers and 0 < array.null_count <= array.length and not buffers["validity"]:
            raise Broken(f"{path} has {array.null_count} nulls and no bitmap")

    each_array(subject, look, only=lambda f, s, a: a.null_count > 0)


@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.buffers")
def buffers_with_content_are_not_null(subject):
    """A buffer that has content is not NULL."""

    def look(path, format, schema, array):
        for name in lacking(format, array):
            raise Broken(f"{path}, {format!r}, has {array.length} rows and no buffer {name!r}")

    each_array(subject, look)


@PRODUCER_RULES.add("READING", "checklist 17: NULL offsets are refused by libarrow also at length 0")
def empty_arrays_have_one_offset(subject):
    """An array without rows whose type has offsets has one offset."""

    def look(path, format, schema, array):
        buffers = readable(format, array)
        name = offsets_in(format, buffers) if buffers else None
        if name and array.length == 0 and not buffers[name]:
            raise Broken(f"{path} has no rows and no offsets")

    each_array(subject, look, only=lambda f, s, a: a.length == 0)


@PRODUCER_RULES.add("SHOULD", "columnar format, buffer alignment")
def buffers_are_aligned(subject):
    """The addresses of buffers are multiples of eight, or of the item's size where that is smaller."""

    def look(path, format, schema, array):
        buffers = readable(format, array)
        for name, address in (buffers or {}).items():
            size = {"data": layout(format)[2] // 8, "views": 8, "sizes": 8}.get(name, 1)
            size = 4 if name.endswith("32") else 8 if name.endswith("64") and name != "data" else size
            size = 1 if format.startswith("w:") else min(size, 8) or 1
            if address and address % size:
                raise Broken(f"the buffer {name!r} of {path} begins at {address:#x}")

    each_array(subject, look)


@PRODUCER_RULES.add("READING", "readings: a record batch at the top level")
def batches_have_no_offset_and_no_nulls(subject):
    """A record batch has offset 0, no nulls and no bitmap at its top level."""
    if not subject.batch:
        raise NotDone("it is no record batch")
    schema, device, array = exported(subject)
    buffers = buffers_of(text_at(schema.format), array)
    found = array.offset, array.null_count, bool(buffers and buffers["validity"])
    call_release(array)
    call_release(schema)
    if found != (0, 0, False):
        raise Broken(f"offset, null count, bitmap are {found}")


# ---- what the buffers hold, in CPU memory ----
@PRODUCER_RULES.add("MUST", f"{C_DATA}, ArrowArray.null_count")
def null_count_is_the_bitmaps(subject):
    """A count of nulls that is not -1 is the number of zeros in the bitmap."""

    def look(path, format, schema, array):
        buffers = readable(format, array)
        if not buffers or not buffers.get("validity") or not 0 <= array.null_count <= array.length:
            return
        zeros = sum(not bit(buffers["validity"], array.offset + i) for i in range(array.length))
        if zeros != array.null_count:
            raise Broken(f"{path} has null_count {array.null_count} and {zeros} zeros in its bitmap")

    each_array(subject, look, host=True, only=lambda f, s, a: a.n_buffers > 0 and a.null_count >= 0)


@PRODUCER_RULES.add("MUST", "columnar format, variable-size layouts")
def offsets_grow(subject):
    """Offsets begin at zero or more and never fall."""

    def look(path, format, schema, array):
        buffers = readable(format, array)
        name = offsets_in(format, buffers) if buffers else None
        if not name or not buffers[name]:
            return
        found = numbers(buffers[name], offset_code(buffers), array.offset, array.length + 1)
        if found[0] < 0 or any(b < a for a, b in zip(found, found[1:])):
            raise Broken(f"the offsets of {path} are {found[:8]}")

    each_array(subject, look, host=True, only=lambda f, s, a: f in OFFSETS)


def rows_needed(format, schema, array, buffers, child, at):
    """How many rows of a child its parent speaks of; None where that is unknown."""
    rows = array.offset + array.length
    if format == "+s" or format.startswith("+us"):
        return rows
    if format.startswith("+w:"):
        return rows * int(format[3:])
    name = offsets_in(format, buffers)
    if name and buffers[name] and format in ("+l", "+L", "+m"):
        return max(0, numbers(buffers[name], offset_code(buffers), rows, 1)[0])
    return None


@PRODUCER_RULES.add("MUST", "columnar format, nested layouts")
def children_are_long_enough(subject):
    """Children have the rows that their parents speak of."""

    def look(path, format, schema, array):
        buffers = readable(format, array)
        below = children_of(array)
        if buffers is None or len(below) != schema.n_children or len(below) != array.n_children:
            return
        for i, child in enumerate(below):
            needed = rows_needed(format, schema, array, buffers, child, i)
            if needed is not None and 0 <= child.length < needed:
                raise Broken(f"{path}.children[{i}] has {child.length} rows of {needed}")

    each_array(subject, look, host=True, only=lambda f, s, a: a.n_children > 0)


@PRODUCER_RULES.add("MUST", f"{C_DATA}, binary view arrays")
def views_point_into_their_buffers(subject):
    """Long views name a buffer that exists and stay within the size that the last buffer gives it."""

    def look(path, format, schema, array):
        buffers = readable(format, array)
        if not buffers or not is_view(format) or not buffers["views"]:
            return
        many = array.n_buffers - 3
        if many and not buffers["sizes"]:
            return
        sizes = numbers(buffers["sizes"], "q", 0, many) if many else ()
        for i in range(array.offset, array.offset + array.length):
            if buffers["validity"] and not bit(buffers["validity"], i):
                continue
            size, _, which, start = numbers(buffers["views"] + 16 * i, "i", 0, 4)
            if size > 12 and not (0 <= which < many and 0 <= start <= sizes[which] - size):
                raise Broken(f"view {i} of {path} has {size} bytes at {start} of buffer {which}; sizes are {sizes}")

    each_array(subject, look, host=True, only=lambda f, s, a: is_view(f))


@PRODUCER_RULES.add("MUST", "columnar format, dictionary-encoded layout")
def indices_are_in_the_dictionary(subject):
    """Each index that is not null is a row of the dictionary."""

    def look(path, format, schema, array):
        buffers = readable(format, array)
        if not buffers or not schema.dictionary or not array.dictionary or not buffers.get("data"):
            return
        code = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q"}.get(format)
        if code is None:
            return
        rows = dictionary_of(array).length
        for i, index in enumerate(numbers(buffers["data"], code, array.offset, array.length)):
            valid = not buffers["validity"] or bit(buffers["validity"], array.offset + i)
            if valid and not 0 <= index < rows:
                raise Broken(f"row {i} of {path} is index {index} of {rows} words")

    each_array(subject, look, host=True, only=lambda f, s, a: bool(s.dictionary))


@PRODUCER_RULES.add("MUST", "columnar format, union layouts")
def union_rows_have_known_types(subject):
    """Each type id of a union is one of the format string's."""

    def look(path, format, schema, array):
        buffers = readable(format, array)
        if not buffers or "types" not in buffers or not buffers["types"]:
            return
        known = {int(i) for i in format[4:].split(",") if i}
        for i, found in enumerate(numbers(buffers["types"], "b", array.offset, array.length)):
            if found not in known:
                raise Broken(f"row {i} of {path} has the type id {found}, not one of {sorted(known)}")

    each_array(subject, look, host=True, only=lambda f, s, a: f.startswith("+u"))


def rows_of(subject):
    """The values of an export in CPU memory, the structs still live: (schema, array, rows)."""
    schema, device, array = exported(subject)
    needs_host(device)
    return schema, array, sound_rows(schema, array)


@PRODUCER_RULES.add("MUST", f"{C_DATA}, semantics")
def values_are_the_objects(subject):
    """The rows that the structs hold are the object's."""
    if subject.values is None:
        raise NotDone("the values are not known to the suite")
    schema, array, found = rows_of(subject)
    call_release(array)
    call_release(schema)
    if repr(found) != repr(subject.values):
        raise Broken(f"the rows are {found}, not {subject.values}")


# ---- ownership ----
@PRODUCER_RULES.add("MUST", f"{C_DATA}, release callback semantics")
def release_marks_the_array(subject):
    """After its release the array is marked released."""
    schema, _, array = exported(subject)
    call_release(schema)
    call_release(array)
    if array.release:
        raise Broken("release is not NULL after the call")


@PRODUCER_RULES.add("MUST", f"{C_DATA}, release callback semantics")
def release_leaves_the_rest_of_the_struct(subject):
    """Schema and array are released independently: the array is the same after the schema's release."""
    schema, device, array = exported(subject)
    at = place((schema, device, array))
    before = bytes(array), looks(array, at)
    call_release(schema)
    gc.collect()
    if (bytes(array), looks(array, at)) != before:
        raise Broken("the release of the schema changed the array")
    call_release(array)


@PRODUCER_RULES.add("READING", "readings: release from any thread")
def release_works_on_another_thread(subject):
    """The release callback may be called by a thread that the producer has never seen."""
    schema, _, array = exported(subject)
    call_release(array)
    if array.release:
        raise NotDone("its release does not mark the array on this thread either")
    call_release(schema)
    schema, _, array = exported(subject)
    threads = [threading.Thread(target=call_release, args=(s,)) for s in (array, schema)]
    for thread in threads:
        thread.start()
        thread.join()
    if array.release or schema.release:
        raise Broken("release is not NULL after the call")


@PRODUCER_RULES.add("MUST", f"{C_DATA}, moving child arrays")
def child_outlives_its_parent(subject):
    """A child that was moved out stays valid after its parent was released."""
    schema, device, array = exported(subject)
    below, kinds = children_of(array), children_of(schema)
    if not below or len(below) != len(kinds) or not below[0].release:
        call_release(array)
        call_release(schema)
        raise NotDone("it has no children")
    host = device is None or device.device_type == 1
    child = move(below[0])
    before = (child.length, child.n_buffers, sound_rows(kinds[0], child) if host else None)
    call_release(array)
    gc.collect()
    churn = [bytes(n) for n in range(0, 4096, 16)]
    after = (child.length, child.n_buffers, sound_rows(kinds[0], child) if host and child.length == before[0] else None)
    del churn
    call_release(child)
    call_release(schema)
    if repr(before) != repr(after):
        raise Broken(f"the child was {before} and is {after}")
    if child.release:
        raise Broken("the child's release does not mark it released")


@PRODUCER_RULES.add("MUST", f"{C_DATA}, ownership")
def array_outlives_its_source(subject):
    """An array stays valid when the object and the capsules it came from are gone."""
    source, _ = method_of(subject)
    schema, array, before = rows_of(type(subject)(lambda: source, protocol=subject.protocol))
    source = None
    gc.collect()
    churn = [bytes(n) for n in range(0, 4096, 16)]
    after = sound_rows(schema, array)
    del churn
    call_release(array)
    call_release(schema)
    if repr(before) != repr(after):
        raise Broken(f"the rows were {before} and are {after}")


@PRODUCER_RULES.add("READING", "checklist 7: release gives back every byte")
def release_lets_the_object_go(subject):
    """Nothing holds an object any more when its exports were released."""
    source, _ = method_of(subject)
    try:
        alive = weakref.ref(source)
    except TypeError:
        raise NotDone("there are no weak references to it") from None
    for _ in range(2):
        schema, _, array = exported(type(subject)(lambda: source, protocol=subject.protocol))
        call_release(array)
        call_release(schema)
        if array.release:
            raise NotDone("its release does not mark the array")
    source = None
    gc.collect()
    if alive() is not None:
        raise Broken("the object lives")


@PRODUCER_RULES.add("GOAL", f"{DEVICE}, goals: zero-copy sharing")
def data_is_not_copied(subject):
    """Two exports of an object have the same buffers."""
    made, _ = method_of(subject)
    twice = type(subject)(lambda: made, protocol=subject.protocol)
    first, second = exported(twice), exported(twice)
    try:
        same = first_buffer(first[0], first[2]) == first_buffer(second[0], second[2])
    finally:
        for struct in (first[2], first[0], second[2], second[0]):
            call_release(struct)
    if not same:
        raise NotDone("the data is copied")


class ProducerSuite(Suite):
    """Rules of ArrowDeviceArray and ArrowArray, held against objects with ``__arrow_c_device_array__`` or
    ``__arrow_c_array__``: ``ProducerSuite(make).run()``.

    Known of the objects: ``values``, the rows as Python values; ``device_type``; ``batch``, True for record batches;
    ``protocol``, the name of the method to be checked.
    """

    rules = PRODUCER_RULES
    what = "producer"
