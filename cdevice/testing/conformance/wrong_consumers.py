"""A consumer that is right, and consumers broken on purpose, each by one rule.

``WRONG_CONSUMERS`` maps a name to (take, the rule it breaks).
"""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from ctypes import c_void_p

from .layouts import buffers_of, is_view, layout, nodes, values_of
from .standin import RELEASE_ARRAY, RELEASE_SCHEMA, alive, heap
from .structs import (
    ArrowArray,
    ArrowDeviceArray,
    ArrowSchema,
    OneArgument,
    call_release,
    capsule_address,
    capsule_name,
    move,
    text_at,
)

KNOWN_DEVICES = range(1, 19)


class Consumer:
    """Takes an offer by the protocol, checks it and moves it."""

    methods = ("__arrow_c_device_array__", "__arrow_c_array__")

    def __init__(self, offered):
        self.live = False
        capsules = self.ask(offered)
        if not isinstance(capsules, tuple) or len(capsules) != 2:
            raise TypeError("no pair of capsules came")
        kind, name = (ArrowDeviceArray, "arrow_device_array") if self.device else (ArrowArray, "arrow_array")
        self.names(capsules, ("arrow_schema", name))
        self.take(ArrowSchema.from_address(self.pointer(capsules[0])), kind.from_address(self.pointer(capsules[1])))
        self.live = True
        try:
            self.check()
        except Exception:
            self.refuse()
            raise

    def ask(self, offered):
        for method in self.methods:
            if getattr(offered, method, None) is not None:
                self.device = "device" in method
                return getattr(offered, method)()
        raise TypeError("no method of the protocol")

    def names(self, capsules, wanted):
        if tuple(map(capsule_name, capsules)) != wanted:
            raise ValueError("capsules of other names")

    def pointer(self, capsule):
        return capsule_address(capsule, capsule_name(capsule))

    def take(self, schema, array):
        plain = array.array if self.device else array
        if not schema.release or not plain.release:
            raise ValueError("a released struct")
        self.schema = move(schema)
        self.outer = move(array)
        self.array = self.outer.array if self.device else self.outer

    def refuse(self):
        self.release()

    def release(self):
        if self.live:
            self.live = False
            call_release(self.array)
            call_release(self.schema)

    def __del__(self):
        self.release()

    # ---- checks before anything is read ----
    def check(self):
        if self.device:
            self.check_device(self.outer)
        self.check_schema(self.schema)
        self.check_depth(self.schema, 0)
        for _, format, schema, array in nodes(self.schema, self.array):
            self.check_node(format, schema, array)

    def check_device(self, outer):
        if outer.device_type not in KNOWN_DEVICES:
            raise ValueError(f"device type {outer.device_type}")
        if outer.device_type == 1 and outer.sync_event:
            raise ValueError("an event on the CPU")

    def check_schema(self, schema):
        text_at(schema.name)

    def check_depth(self, schema, depth):
        if depth > 64:
            raise ValueError("more than 64 levels")
        for pointer in list((c_void_p * schema.n_children).from_address(schema.children)) if schema.n_children else []:
            self.check_depth(ArrowSchema.from_address(pointer), depth + 1)

    def check_node(self, format, schema, array):
        if layout(format) is None:
            raise ValueError(f"format {format!r}")
        self.check_children(schema, array)
        self.check_buffers(format, array)

    def check_children(self, schema, array):
        if array.n_children != schema.n_children or bool(array.dictionary) != bool(schema.dictionary):
            raise ValueError("children or dictionary are missing")

    def check_buffers(self, format, array):
        buffers = buffers_of(format, array)
        if buffers is None:
            raise ValueError("the number of buffers")
        if array.null_count > 0 and "validity" in buffers and not buffers["validity"]:
            raise ValueError("nulls without a bitmap")
        needed = [n for n in buffers if n != "validity" and not n.startswith("bytes")]
        if array.length and not is_view(format) and not all(buffers[n] for n in needed):
            raise ValueError("no data")

    # ---- what was taken ----
    def to_pylist(self):
        if self.device and self.outer.device_type != 1:
            raise ValueError("it is on a device")
        return values_of(self.schema, self.array) if self.array.length else []

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        at = ArrowDeviceArray()
        source = self.outer if self.device else None
        ctypes.memmove(ctypes.byref(at.array), ctypes.byref(self.array), ctypes.sizeof(ArrowArray))
        schema = ArrowSchema()
        ctypes.memmove(ctypes.byref(schema), ctypes.byref(self.schema), ctypes.sizeof(ArrowSchema))
        alive(at.array, RELEASE_ARRAY, [], [], self)
        alive(schema, RELEASE_SCHEMA, [], [], self)
        at.device_type, at.device_id, at.sync_event = 1, -1, None
        if source is not None:
            at.device_type, at.device_id, at.sync_event = source.device_type, source.device_id, source.sync_event
        self.fill(at)
        return heap(schema, "arrow_schema"), heap(at, "arrow_device_array")

    def fill(self, at):
        pass


class NeverReleasesTheArray(Consumer):
    def release(self):
        if self.live:
            self.live = False
            if self.refused:
                call_release(self.array)
            call_release(self.schema)

    refused = False

    def refuse(self):
        self.refused = True
        self.release()


class NeverReleasesTheSchema(NeverReleasesTheArray):
    def release(self):
        if self.live:
            self.live = False
            call_release(self.array)
            if self.refused:
                call_release(self.schema)


class ReleasesTwice(Consumer):
    def release(self):
        if self.live:
            again = self.array.release
            super().release()
            if not self.refused:
                OneArgument(again)(ctypes.addressof(self.array))

    refused = False

    def refuse(self):
        self.refused = True
        self.release()


class KeepsTheCapsule(Consumer):
    """Reads the structs where they are, and lets the capsules release them."""

    def ask(self, offered):
        self.kept = super().ask(offered)
        return self.kept

    def take(self, schema, array):
        plain = array.array if self.device else array
        if not schema.release or not plain.release:
            raise ValueError("a released struct")
        self.schema, self.outer, self.array = schema, array, plain

    def release(self):
        self.live = False


class ReleasesAtOnce(Consumer):
    """Reads values of what it has released."""

    def __init__(self, offered):
        super().__init__(offered)
        self.copy = ArrowArray.from_buffer_copy(bytes(self.array))
        call_release(self.array)

    def to_pylist(self):
        self.array = self.copy
        return super().to_pylist()

    def __del__(self):
        if self.live:
            call_release(self.schema)


class LeaksWhatItRefuses(Consumer):
    def refuse(self):
        self.live = False


class ReleasesOnItsOwnThread(Consumer):
    def __init__(self, offered):
        super().__init__(offered)
        self.thread = threading.get_ident()

    def __del__(self):
        if not self.live or self.thread == threading.get_ident():
            self.release()


def takes(offered):
    """Does not ask an object a second time as long as what it made of it is there."""
    at = REMEMBERED.get(id(offered))
    found = at and at()
    if found is None:
        found = Consumer(offered)
        REMEMBERED[id(offered)] = weakref.ref(found)
    return found


REMEMBERED = {}


class ReadsFloats(Consumer):
    """Large integers lose digits."""

    def to_pylist(self):
        rows = super().to_pylist()
        return [int(float(r)) if type(r) is int else r for r in rows]


class IgnoresOffset(Consumer):
    def spoiled(self, format):
        return format == "l"

    def check(self):
        super().check()
        if self.spoiled(text_at(self.schema.format)):
            self.array.offset = 0


class IgnoresOffsetOfBits(IgnoresOffset):
    def spoiled(self, format):
        return format == "b"


class IgnoresOffsetOfStrings(IgnoresOffset):
    def spoiled(self, format):
        return format == "u"


class IgnoresOffsetOfStructs(Consumer):
    def check(self):
        super().check()
        if text_at(self.schema.format) == "+s":
            self.array.offset = 0


class IgnoresOffsetOfItems(Consumer):
    def check(self):
        super().check()
        if text_at(self.schema.format) == "+l":
            ArrowArray.from_address((c_void_p * 1).from_address(self.array.children)[0]).offset = 0


class CountsUnknownAsNone(Consumer):
    """null_count -1 is taken for no nulls."""

    def check(self):
        super().check()
        if self.array.null_count < 0 and self.array.n_buffers:
            (c_void_p * 1).from_address(self.array.buffers)[0] = None


class WantsABitmap(Consumer):
    def check_buffers(self, format, array):
        super().check_buffers(format, array)
        if format == "l" and array.length == 2 and not array.offset and not buffers_of(format, array)["validity"]:
            raise ValueError("no bitmap")


class WantsBuffers(Consumer):
    def check_buffers(self, format, array):
        super().check_buffers(format, array)
        if format == "l" and not buffers_of(format, array)["data"]:
            raise ValueError("no data")


class WantsOffsets(Consumer):
    def check_buffers(self, format, array):
        super().check_buffers(format, array)
        if format == "u" and not buffers_of(format, array)["offsets32"]:
            raise ValueError("no offsets")


class GivesIndices(Consumer):
    def to_pylist(self):
        self.schema.dictionary = None
        return super().to_pylist()


class ReadsTheFirstBuffer(Consumer):
    """Every long view is read from the first buffer."""

    def to_pylist(self):
        if is_view(text_at(self.schema.format)):
            buffers = (c_void_p * self.array.n_buffers).from_address(self.array.buffers)
            buffers[3] = buffers[2]
        return super().to_pylist()


class RefusesMetadata(Consumer):
    def check_schema(self, schema):
        if schema.metadata:
            raise ValueError("metadata")


class WantsAName(Consumer):
    def check_schema(self, schema):
        if not schema.name:
            raise ValueError("no name")


class RefusesFlags(Consumer):
    def check_schema(self, schema):
        if schema.flags & ~7:
            raise ValueError("flags")


class AcceptsAnyFormat(Consumer):
    def check_node(self, format, schema, array):
        if layout(format) is not None:
            super().check_node(format, schema, array)

    def to_pylist(self):
        return super().to_pylist() if layout(text_at(self.schema.format)) else []


class AcceptsAnyBuffers(Consumer):
    def check_buffers(self, format, array):
        if array.n_buffers == 3 and format == "l":
            array.n_buffers = 2
        super().check_buffers(format, array)


class AcceptsMissingChildren(Consumer):
    def check_children(self, schema, array):
        if schema.n_children and not array.n_children:
            self.empty = True
        elif bool(array.dictionary) != bool(schema.dictionary):
            raise ValueError("no dictionary")

    def to_pylist(self):
        return [] if getattr(self, "empty", False) else super().to_pylist()


class AcceptsMissingDictionaries(Consumer):
    def check_children(self, schema, array):
        if array.n_children != schema.n_children:
            raise ValueError("no children")

    def to_pylist(self):
        if not self.array.dictionary:
            self.schema.dictionary = None
        return super().to_pylist()


class AcceptsMissingData(Consumer):
    def check_buffers(self, format, array):
        if format == "l" and not (c_void_p * 2).from_address(array.buffers)[1]:
            array.length = 0
        super().check_buffers(format, array)


class AcceptsMissingBitmaps(Consumer):
    def check_buffers(self, format, array):
        if array.null_count > 0 and not (c_void_p * 1).from_address(array.buffers)[0]:
            array.null_count = 0
        super().check_buffers(format, array)


class AcceptsReleased(Consumer):
    def take(self, schema, array):
        plain = array.array if self.device else array
        self.empty = not plain.release
        if not schema.release:
            raise ValueError("a released schema")
        self.schema, self.outer = move(schema), move(array)
        self.array = self.outer.array if self.device else self.outer

    def to_pylist(self):
        return [] if self.empty else super().to_pylist()


class AcceptsReleasedSchemas(AcceptsReleased):
    def take(self, schema, array):
        plain = array.array if self.device else array
        self.empty = not schema.release
        if not plain.release:
            raise ValueError("a released array")
        self.schema, self.outer = move(schema), move(array)
        self.array = self.outer.array if self.device else self.outer


class AcceptsOtherNames(Consumer):
    def ask(self, offered):
        given = super().ask(offered)
        if isinstance(given, tuple) and capsule_name(given[0]) != "arrow_schema":
            return given[1], given[0]
        return given


class AcceptsNone(Consumer):
    """None in the place of a pair becomes an array without rows."""

    def __init__(self, offered):
        self.live = False
        self.asked = self.ask(offered)
        if self.asked is not None:
            super().__init__(offered)

    def ask(self, offered):
        if getattr(self, "asked", None) is not None:
            given, self.asked = self.asked, None
            return given
        return super().ask(offered)

    def to_pylist(self):
        return super().to_pylist() if self.live else []


class HidesExceptions(Consumer):
    def ask(self, offered):
        try:
            return super().ask(offered)
        except ValueError:
            pass
        raise RuntimeError("something went wrong")


class FollowsLoops(Consumer):
    def check_depth(self, schema, depth):
        if depth > 64:
            os.kill(os.getpid(), 11)
        super().check_depth(schema, depth)


class ReadsOnDevices(Consumer):
    """Reads the first byte of ``wanted`` on devices."""

    types, format, counted = (12,), "l", True

    def check(self):
        super().check()
        known = (self.array.null_count >= 0) == self.counted
        event = self.device and self.outer.device_type == 12 and self.outer.sync_event
        if self.device and self.outer.device_type in self.types and known and not event:
            if text_at(self.schema.format) == self.format:
                ctypes.string_at((c_void_p * 2).from_address(self.array.buffers)[1], 1)


class ReadsOffsetsOnDevices(ReadsOnDevices):
    format = "u"


class CountsOnDevices(ReadsOnDevices):
    counted = False


class ReadsPinned(ReadsOnDevices):
    types, format = (3,), "u"


class TakesDevicesForTheCpu(Consumer):
    """A device that it does not know is the CPU."""

    def check_device(self, outer):
        if outer.device_type > 18:
            outer.device_type, outer.device_id = 1, -1
        super().check_device(outer)


class AcceptsInvalidDevices(Consumer):
    def check_device(self, outer):
        if outer.device_type < 1:
            outer.device_type = 1
        super().check_device(outer)


class DropsTheEvent(Consumer):
    def fill(self, at):
        at.sync_event = None


class AcceptsEventsOnTheCpu(Consumer):
    def check_device(self, outer):
        if outer.device_type == 1:
            outer.sync_event = None
        super().check_device(outer)


class RefusesReserved(Consumer):
    def check_device(self, outer):
        super().check_device(outer)
        if any(outer.reserved):
            raise ValueError("reserved")


class PassesReservedOn(Consumer):
    def fill(self, at):
        if self.device:
            at.reserved[:] = list(self.outer.reserved)


class WantsMinusOne(Consumer):
    def check_device(self, outer):
        super().check_device(outer)
        if outer.device_type == 1 and outer.device_id != -1:
            raise ValueError("device_id")


WRONG_CONSUMERS = {
    take.__name__: (take, rule)
    for take, rule in (
        (NeverReleasesTheArray, "array_is_released_when_its_taker_is_gone"),
        (NeverReleasesTheSchema, "schema_is_released_when_its_taker_is_gone"),
        (ReleasesTwice, "nothing_is_released_twice"),
        (KeepsTheCapsule, "structs_are_moved_out_of_their_capsules"),
        (ReleasesAtOnce, "nothing_is_read_after_its_release"),
        (LeaksWhatItRefuses, "what_is_refused_is_released"),
        (ReleasesOnItsOwnThread, "what_was_taken_can_go_on_another_thread"),
        (takes, "one_object_can_be_taken_twice"),
        (ReadsFloats, "values_and_nulls_are_read"),
        (IgnoresOffset, "offset_is_applied"),
        (IgnoresOffsetOfBits, "offset_of_bits_is_applied"),
        (IgnoresOffsetOfStrings, "offset_of_strings_is_applied"),
        (IgnoresOffsetOfStructs, "offsets_of_parent_and_child_add_up"),
        (IgnoresOffsetOfItems, "lists_of_a_child_with_an_offset_are_read"),
        (CountsUnknownAsNone, "nulls_are_counted_where_their_number_is_unknown"),
        (WantsABitmap, "bitmap_may_be_null"),
        (WantsBuffers, "buffers_of_no_rows_may_be_null"),
        (WantsOffsets, "offsets_of_no_rows_may_be_null"),
        (GivesIndices, "words_of_a_dictionary_are_read"),
        (ReadsTheFirstBuffer, "views_are_read_from_the_buffer_they_name"),
        (RefusesMetadata, "metadata_is_accepted"),
        (WantsAName, "name_may_be_null"),
        (RefusesFlags, "unknown_flags_are_ignored"),
        (AcceptsAnyFormat, "unknown_formats_are_refused"),
        (AcceptsAnyBuffers, "wrong_numbers_of_buffers_are_refused"),
        (AcceptsMissingChildren, "missing_children_are_refused"),
        (AcceptsMissingDictionaries, "missing_dictionaries_are_refused"),
        (AcceptsMissingData, "missing_data_is_refused"),
        (AcceptsMissingBitmaps, "nulls_without_a_bitmap_are_refused"),
        (AcceptsReleased, "released_arrays_are_refused"),
        (AcceptsReleasedSchemas, "released_schemas_are_refused"),
        (AcceptsOtherNames, "capsules_of_other_names_are_refused"),
        (AcceptsNone, "what_is_no_pair_is_refused"),
        (HidesExceptions, "exceptions_of_the_producer_are_raised"),
        (FollowsLoops, "children_that_loop_end_well"),
        (ReadsOnDevices, "buffers_on_a_device_are_not_touched"),
        (ReadsOffsetsOnDevices, "offsets_on_a_device_are_not_touched"),
        (CountsOnDevices, "nulls_on_a_device_are_not_counted_on_the_cpu"),
        (ReadsPinned, "pinned_memory_is_not_read_before_its_event"),
        (TakesDevicesForTheCpu, "unknown_device_types_are_refused_or_kept"),
        (AcceptsInvalidDevices, "invalid_device_types_are_refused"),
        (DropsTheEvent, "event_is_passed_on"),
        (AcceptsEventsOnTheCpu, "events_on_the_cpu_are_refused"),
        (RefusesReserved, "reserved_bytes_are_ignored"),
        (PassesReservedOn, "reserved_bytes_are_not_passed_on"),
        (WantsMinusOne, "any_number_of_the_cpu_is_accepted"),
    )
}
