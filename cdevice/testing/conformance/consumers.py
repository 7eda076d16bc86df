"""Rules of those who take arrays: what they do with an ArrowArray, an ArrowDeviceArray and their schemas."""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import struct
import threading

from .consuming import (
    accept,
    collect,
    compare,
    device_offer,
    made_again,
    must_accept,
    offer_of,
    reads,
    refuses,
    rows_expected,
    rows_read,
    words_of,
)
from .standin import TWICE, Event, Node, Offer, batch, guarded, guarded_node, int64s, strings
from .structs import ArrowArray, Broken, NotDone, call_release
from .suite import Rules, Suite

C_DATA = "C data interface"
DEVICE = "C device data interface"
CAPSULES = "PyCapsule interface"
CONSUMER_RULES = Rules()
ROWS = [1, None, 3]


# ---- ownership ----
@CONSUMER_RULES.add("MUST", f"{C_DATA}, release callback semantics")
def array_is_released_when_its_taker_is_gone(subject):
    """An array that was taken is released once nothing uses it any more."""
    offer = offer_of(subject, int64s(ROWS))
    out = accept(subject, offer)
    del out
    collect(offer)
    if len(offer.count.arrays) < len(offer.arrays):
        raise Broken("the array was not released")


@CONSUMER_RULES.add("MUST", f"{C_DATA}, release callback semantics")
def schema_is_released_when_its_taker_is_gone(subject):
    """A schema that was taken is released once nothing uses it any more."""
    offer = offer_of(subject, int64s(ROWS))
    out = accept(subject, offer)
    del out
    collect(offer)
    if len(offer.count.schemas) < len(offer.schemas):
        raise Broken("the schema was not released")


@CONSUMER_RULES.add("MUST", f"{C_DATA}, release callback semantics")
def nothing_is_released_twice(subject):
    """No struct that was moved is released a second time, children and dictionaries among them."""
    TWICE.clear()
    nodes = (int64s(ROWS), dictionary(), lists())
    offers = [offer_of(subject, n) for n in nodes]
    for i, offer in enumerate(offers):
        try:
            out = accept(subject, offer)
        except NotDone:
            if i == 0:
                raise
            continue
        del out
        collect(offer)
    if TWICE and any(o.dropped for o in offers):
        raise NotDone("it does not move the structs")
    if TWICE:
        raise Broken(f"{TWICE[0]} was released again")


@CONSUMER_RULES.add("SHOULD", f"{C_DATA}, moving an array; {CAPSULES}, lifetime")
def structs_are_moved_out_of_their_capsules(subject):
    """The struct in a capsule is marked released once its content was taken."""
    TWICE.clear()
    offer = offer_of(subject, int64s(ROWS))
    out = accept(subject, offer)
    live = [a.release for a in offer.arrays if a.release]
    del out
    collect(offer)
    if live:
        raise Broken("the array's release is not NULL while the library uses it")
    if TWICE and offer.dropped:
        raise Broken("the struct was copied, and its source was not marked released")


@CONSUMER_RULES.add("MUST", f"{C_DATA}, release callback semantics")
def nothing_is_read_after_its_release(subject):
    """What was taken can be read as long as it is there; the buffers of a released array are not looked at."""
    offer = offer_of(subject, int64s(ROWS))
    out = accept(subject, offer)
    collect()
    found = rows_read(subject, out)
    if repr(found) != repr(rows_expected(subject, ROWS)) and offer.count.arrays:
        raise Broken(f"the array was released, and its rows are read as {str(found)[:120]}")


@CONSUMER_RULES.add("MUST", f"{C_DATA}, ownership")
def what_is_refused_is_released(subject):
    """An array that is refused is released too, once, with its schema."""
    offer = offer_of(subject, Node("?", 1, [None, bytes(8)]))
    accept(subject, offer_of(subject, int64s(ROWS)))
    collect()
    TWICE.clear()
    try:
        subject.make()(offer)
    except BaseException:
        pass
    else:
        raise NotDone("an unknown format is accepted")
    collect(offer)
    if not offer.called:
        raise NotDone("it calls no method of the protocol")
    counts = len(offer.count.arrays), len(offer.count.schemas)
    if TWICE or counts != (len(offer.arrays), len(offer.schemas)):
        raise Broken(f"array and schema were released {counts} times" + (", then again" if TWICE else ""))


@CONSUMER_RULES.add("MUST", f"{C_DATA}, thread safety")
def what_was_taken_can_go_on_another_thread(subject):
    """What was taken can be dropped by a thread that did not take it: the array is released there."""
    first = offer_of(subject, int64s(ROWS))
    out = accept(subject, first)
    del out
    collect(first)
    offer = offer_of(subject, int64s(ROWS))
    box = [accept(subject, offer)]
    if not first.count.arrays or offer.count.arrays:
        raise NotDone("it is not released where it is dropped on the thread that took it")
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    collect(offer)
    if not offer.count.arrays:
        raise Broken("the array was not released")


@CONSUMER_RULES.add("MUST", f"{CAPSULES}, lifetime")
def one_object_can_be_taken_twice(subject):
    """Each time that an object is taken its method is called, and each export is owned alone."""
    offer = offer_of(subject, int64s(ROWS))
    first, second = accept(subject, offer), None
    calls = len(offer.arrays)
    second = accept(subject, offer)
    if not len(offer.arrays) > calls:
        raise Broken("the second time its method was not called")
    del first
    collect()
    if len(offer.count.arrays) == len(offer.arrays):
        raise NotDone("what it takes is released at once")
    compare(subject, offer_of(subject, int64s([])), rows_read(subject, second), ROWS)


# ---- values ----
@CONSUMER_RULES.add("MUST", f"{C_DATA}, semantics")
def values_and_nulls_are_read(subject):
    """The rows are those of the buffers, nulls among them."""
    rows = [-1, None, (1 << 53) + 1]
    reads(subject, int64s(rows), rows)


@CONSUMER_RULES.add("MUST", f"{C_DATA}, ArrowArray.offset")
def offset_is_applied(subject):
    """The offset is applied to values and to the bitmap."""
    reads(subject, int64s([9, 8, None, 3, 4], offset=1), [8, None, 3, 4])


@CONSUMER_RULES.add("MUST", f"{C_DATA}, ArrowArray.offset")
def offset_of_bits_is_applied(subject):
    """The offset of an array of bools counts bits, beyond a byte too."""
    rows = [i % 5 < 2 for i in range(20)]
    bits = sum(r << i for i, r in enumerate(rows)).to_bytes(3, "little")
    reads(subject, Node("b", 11, [None, bits], offset=9), rows[9:])


@CONSUMER_RULES.add("MUST", f"{C_DATA}, ArrowArray.offset")
def offset_of_strings_is_applied(subject):
    """The offset of an array of strings counts rows: the bytes are those of the offsets."""
    node = strings(["left out", "a", "", "bb"])
    node.length, node.offset = 3, 1
    reads(subject, node, ["a", "", "bb"])


@CONSUMER_RULES.add("MUST", f"{C_DATA}, ArrowArray.offset")
def offsets_of_parent_and_child_add_up(subject):
    """A struct's offset is applied to its children, whose own offsets are applied too."""
    if subject.batch:
        raise NotDone("a batch has no offset at its top level")
    parent = batch({"a": int64s([9, 1, 2, 3], offset=1)})
    parent.length, parent.offset = 2, 1
    reads(subject, parent, [{"a": 2}, {"a": 3}])


@CONSUMER_RULES.add("MUST", f"{C_DATA}, ArrowArray.null_count")
def nulls_are_counted_where_their_number_is_unknown(subject):
    """With null_count -1 the bitmap tells the nulls."""
    node = int64s(ROWS)
    node.nulls = -1
    must_accept(subject, offer_of(subject, node), offer_of(subject, int64s(ROWS)), ROWS)


@CONSUMER_RULES.add("MUST", f"{C_DATA}, ArrowArray.buffers")
def bitmap_may_be_null(subject):
    """A NULL bitmap with null_count 0 means that there are no nulls."""
    must_accept(subject, offer_of(subject, int64s([1, 2])), offer_of(subject, int64s(ROWS)), [1, 2])


@CONSUMER_RULES.add("MUST", f"{C_DATA}, ArrowArray.buffers")
def buffers_of_no_rows_may_be_null(subject):
    """An array without rows may have NULL buffers."""
    must_accept(subject, offer_of(subject, Node("l", 0, [None, None])), offer_of(subject, int64s(ROWS)), [])


@CONSUMER_RULES.add("READING", "readings: at length 0 accept NULL offsets")
def offsets_of_no_rows_may_be_null(subject):
    """An array of strings without rows may have NULL offsets."""
    empty = Node("u", 0, [None, None, None])
    must_accept(subject, offer_of(subject, empty), offer_of(subject, strings(["a"])), [])


def dictionary():
    return Node("c", 4, [b"\x0b", struct.pack("4b", 1, 0, 0, 1)], nulls=1, dictionary=strings(["a", "bb"]))


@CONSUMER_RULES.add("MUST", "columnar format, dictionary-encoded layout")
def words_of_a_dictionary_are_read(subject):
    """An index stands for a row of the dictionary."""
    reads(subject, dictionary(), ["bb", "a", None, "bb"])


def lists():
    node = Node("+l", 2, [None, struct.pack("<4i", 0, 1, 3, 3)], [int64s([9, 1, 2, 3], "item", offset=1)], offset=1)
    return node


@CONSUMER_RULES.add("MUST", "columnar format, variable-size list layout")
def lists_of_a_child_with_an_offset_are_read(subject):
    """The offsets of a list count from the offset of its child."""
    reads(subject, lists(), [[2, 3], []])


@CONSUMER_RULES.add("MUST", f"{C_DATA}, binary view arrays")
def views_are_read_from_the_buffer_they_name(subject):
    """A long view is read from the buffer that it names; short ones are in the view."""
    words = [b"the first text that is too long", b"ab", b"another text that is too long"]
    views = b"".join(
        struct.pack("<i", len(w)) + (w.ljust(12, b"\0") if len(w) <= 12 else w[:4] + struct.pack("<ii", i // 2, 0))
        for i, w in enumerate(words)
    )
    sizes = struct.pack("<2q", len(words[0]), len(words[2]))
    reads(subject, Node("vu", 3, [None, views, words[0], words[2], sizes]), [w.decode() for w in words])


# ---- schemas ----
@CONSUMER_RULES.add("MUST", f"{C_DATA}, ArrowSchema.metadata")
def metadata_is_accepted(subject):
    """Metadata of a schema is accepted, with zero bytes in a value."""
    node = int64s(ROWS)
    node.metadata = struct.pack("<ii", 1, 1) + b"k" + struct.pack("<i", 2) + b"\0v"
    must_accept(subject, offer_of(subject, node), offer_of(subject, int64s(ROWS)), ROWS)


@CONSUMER_RULES.add("MUST", f"{C_DATA}, ArrowSchema.name")
def name_may_be_null(subject):
    """The name of a schema may be NULL."""
    node = int64s(ROWS)
    whole = offer_of(subject, node)
    whole.node.name = None
    must_accept(subject, whole, offer_of(subject, int64s(ROWS)), ROWS)


@CONSUMER_RULES.add("READING", "C data interface, ArrowSchema.flags: a bit field that later versions may extend")
def unknown_flags_are_ignored(subject):
    """Flags that the library does not know do no harm."""
    node = int64s(ROWS)
    node.flags = 2 | 1 << 40
    must_accept(subject, offer_of(subject, node), offer_of(subject, int64s(ROWS)), ROWS)


# ---- refusals ----
@CONSUMER_RULES.add("MUST", f"{C_DATA}, format strings")
def unknown_formats_are_refused(subject):
    """A format that does not exist is an exception."""
    refuses(subject, offer_of(subject, Node("?", 1, [None, bytes(8)])), "the format '?'")


class Changed(Offer):
    """``change`` is called with the array that is given."""

    change = None

    def change_array(self, array):
        self.change(array)


def refuses_changed(subject, node, change, what):
    offer = offer_of(subject, node)
    offer.change_array = change
    refuses(subject, offer, what)


@CONSUMER_RULES.add("READING", "checklist 17: wrong n_buffers")
def wrong_numbers_of_buffers_are_refused(subject):
    """An array whose number of buffers is not the type's is an exception."""
    node = Node("l", 3, [None, bytes(24), bytes(24)])
    refuses(subject, offer_of(subject, node), "an int64 array of three buffers")


@CONSUMER_RULES.add("READING", "checklist 17: wrong child count")
def missing_children_are_refused(subject):
    """An array that has fewer children than its schema is an exception."""

    def drop_children(array):
        inner = (
            ArrowArray.from_address((ctypes.c_void_p * 1).from_address(array.children)[0]) if subject.batch else array
        )
        inner.n_children = 0

    refuses_changed(subject, lists(), drop_children, "a list without a child")


@CONSUMER_RULES.add("READING", "checklist 17: NULL data with length > 0")
def missing_data_is_refused(subject):
    """An array with rows and a NULL buffer of values is an exception."""
    refuses(subject, offer_of(subject, Node("l", 3, [None, None])), "an array of three rows without data")


@CONSUMER_RULES.add("READING", "checklist 17: null_count > 0 without bitmap")
def nulls_without_a_bitmap_are_refused(subject):
    """An array that counts nulls and has no bitmap is an exception."""
    node = int64s([1, 2])
    node.nulls = 1
    refuses(subject, offer_of(subject, node), "an array with a null and no bitmap")


@CONSUMER_RULES.add("READING", "checklist 17: missing dictionary")
def missing_dictionaries_are_refused(subject):
    """An array without the dictionary that its schema has is an exception."""

    def drop_dictionary(array):
        inner = (
            ArrowArray.from_address((ctypes.c_void_p * 1).from_address(array.children)[0]) if subject.batch else array
        )
        inner.dictionary = None

    refuses_changed(subject, dictionary(), drop_dictionary, "an array of indices without a dictionary")


@CONSUMER_RULES.add("SHOULD", f"{C_DATA}, released structure")
def released_arrays_are_refused(subject):
    """An array that is marked released is an exception."""
    refuses_changed(subject, int64s(ROWS), call_release, "a released array")


@CONSUMER_RULES.add("SHOULD", f"{C_DATA}, released structure")
def released_schemas_are_refused(subject):
    """A schema that is marked released is an exception."""
    offer = offer_of(subject, int64s(ROWS))
    offer.change_schema = call_release
    refuses(subject, offer, "an array with a released schema")


class OtherNames(Offer):
    """Capsules that have each other's names."""

    def __arrow_c_array__(self, requested_schema=None):
        schema, array = super().__arrow_c_array__()
        return array, schema

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        schema, array = super().__arrow_c_device_array__()
        return array, schema


@CONSUMER_RULES.add("MUST", f"{CAPSULES}, capsule names")
def capsules_of_other_names_are_refused(subject):
    """A capsule that does not have the name it should have is an exception."""
    refuses(subject, offer_of(subject, int64s(ROWS), OtherNames), "a pair of capsules in the wrong order")


class NoPair(Offer):
    def __arrow_c_array__(self, requested_schema=None):
        self.called.append("__arrow_c_array__")
        return None

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        self.called.append("__arrow_c_device_array__")
        return None


@CONSUMER_RULES.add("MUST", f"{CAPSULES}, __arrow_c_array__")
def what_is_no_pair_is_refused(subject):
    """A method that gives no pair of capsules is an exception."""
    refuses(subject, offer_of(subject, int64s(ROWS), NoPair), "None in the place of capsules")


class Raises(NoPair):
    def __arrow_c_array__(self, requested_schema=None):
        self.called.append("__arrow_c_array__")
        raise ValueError("words of the producer")

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self.__arrow_c_array__()


@CONSUMER_RULES.add("MUST", f"{CAPSULES}, semantics")
def exceptions_of_the_producer_are_raised(subject):
    """An exception of the producer's method is raised, with its words."""
    offer = offer_of(subject, int64s(ROWS), Raises)
    try:
        out = subject.make()(offer)
        if not offer.called:
            raise NotDone("it calls no method of the protocol")
        rows_read(subject, out)
    except NotDone:
        raise
    except Exception as e:
        if not offer.called:
            raise NotDone("it calls no method of the protocol") from None
        if "words of the producer" not in f"{e} {e.__cause__} {e.__context__}":
            raise Broken(f"it is raised as {words_of(e)}") from None
        return
    raise Broken("nothing is raised")


@CONSUMER_RULES.add("READING", "checklist 17: children that loop")
def children_that_loop_end_well(subject):
    """Structs that are their own children are an exception and do not end the process."""

    def loop(at):
        at = type(at).from_address((ctypes.c_void_p * 1).from_address(at.children)[0]) if subject.batch else at
        (ctypes.c_void_p * 1).from_address(at.children)[0] = ctypes.addressof(at)

    offer = offer_of(subject, batch({"a": int64s(ROWS)}))
    offer.change_array = offer.change_schema = loop
    refuses(subject, offer, "a struct that is its own child")


# ---- devices ----
@CONSUMER_RULES.add("MUST", f"{DEVICE}, ArrowDeviceArray.array")
def buffers_on_a_device_are_not_touched(subject):
    """Buffers on a device that is not the CPU are not read when an array is taken."""
    accept(subject, device_offer(subject, guarded_node(), device_type=12, device_id=0))


@CONSUMER_RULES.add("MUST", f"{DEVICE}, synchronization")
def offsets_on_a_device_are_not_touched(subject):
    """The offsets of strings on a device are not read when an array is taken."""
    accept(subject, device_offer(subject, guarded_node("u"), device_type=12, device_id=0))


@CONSUMER_RULES.add("MUST", f"{DEVICE}, ArrowDeviceArray.device_type")
def nulls_on_a_device_are_not_counted_on_the_cpu(subject):
    """A bitmap on a device is not read on the CPU where null_count is -1."""
    node = guarded_node()
    node.nulls = -1
    accept(subject, device_offer(subject, node, device_type=12, device_id=0))


@CONSUMER_RULES.add("MUST", f"{DEVICE}, synchronization")
def pinned_memory_is_not_read_before_its_event(subject):
    """Memory that the CPU could read is not read before the event that comes with it."""
    accept(subject, device_offer(subject, int64s(ROWS)))
    offer = device_offer(subject, guarded_node("u"), device_type=3, device_id=0, event=Event().address)
    try:
        subject.make()(offer)
    except Exception:
        pass
    if not offer.called:
        raise NotDone("it calls no method of the protocol")


@CONSUMER_RULES.add("MUST", f"{DEVICE}, ArrowDeviceArray.device_type")
def unknown_device_types_are_refused_or_kept(subject):
    """An array of a device type that does not exist is an exception, or stays on that device."""
    accept(subject, device_offer(subject, int64s(ROWS)))
    node = Node("l", 3, [None, guarded("the buffer data on device type 99")])
    offer = device_offer(subject, node, device_type=99, device_id=7)
    try:
        out = subject.make()(offer)
    except Exception:
        return
    schema, device = made_again(subject, out)
    found = device.device_type, device.device_id
    call_release(device.array)
    call_release(schema)
    if found != (99, 7):
        raise Broken(f"device type 99, number 7, is passed on as {found}")


@CONSUMER_RULES.add("MUST", f"{DEVICE}, ArrowDeviceArray.device_type")
def invalid_device_types_are_refused(subject):
    """The device types 0 and -1 are exceptions."""
    accept(subject, device_offer(subject, int64s(ROWS)))
    for number in (0, -1):
        refuses(subject, device_offer(subject, int64s(ROWS), device_type=number), f"the device type {number}")


@CONSUMER_RULES.add("MUST", f"{DEVICE}, ArrowDeviceArray.sync_event")
def event_is_passed_on(subject):
    """An array that is passed on before its event has passed has that event."""
    event = Event()
    out = accept(subject, device_offer(subject, guarded_node(), device_type=12, device_id=0, event=event.address))
    schema, device = made_again(subject, out)
    found = device.sync_event
    call_release(device.array)
    call_release(schema)
    if found != event.address:
        raise Broken(f"sync_event is passed on as {found and hex(found)}")


@CONSUMER_RULES.add("READING", "readings: a CPU array with an event is an error of its producer")
def events_on_the_cpu_are_refused(subject):
    """An array on the CPU that has an event is an exception: no such event exists."""
    accept(subject, device_offer(subject, int64s(ROWS)))
    refuses(subject, device_offer(subject, int64s(ROWS), event=Event().address), "an event on the CPU")


@CONSUMER_RULES.add("READING", "readings: reserved bytes that are received are ignored")
def reserved_bytes_are_ignored(subject):
    """Reserved bytes that are not zero change nothing."""
    odd = device_offer(subject, int64s(ROWS), reserved=(1, -1, 5))
    must_accept(subject, odd, device_offer(subject, int64s(ROWS)), ROWS)


@CONSUMER_RULES.add("MUST", f"{DEVICE}, ArrowDeviceArray.reserved")
def reserved_bytes_are_not_passed_on(subject):
    """Reserved bytes that came with an array are zero where it is passed on."""
    out = accept(subject, device_offer(subject, int64s(ROWS), reserved=(1, -1, 5)))
    schema, device = made_again(subject, out)
    found = list(device.reserved)
    call_release(device.array)
    call_release(schema)
    if found == [1, -1, 5]:
        raise Broken(f"they are passed on: {found}")


@CONSUMER_RULES.add("READING", "readings: device_id of the CPU is -1 by convention, accept any")
def any_number_of_the_cpu_is_accepted(subject):
    """The CPU may have the device numbers 0 and -1."""
    other = device_offer(subject, int64s(ROWS), device_id=0)
    must_accept(subject, other, device_offer(subject, int64s(ROWS)), ROWS)


@CONSUMER_RULES.add("GOAL", f"{DEVICE}, goals: zero-copy sharing")
def data_is_not_copied(subject):
    """What was taken uses the buffers that it came with."""
    offer = offer_of(subject, int64s(ROWS))
    out = accept(subject, offer)
    collect(offer)
    released = len(offer.count.arrays) == len(offer.arrays)
    del out
    if released:
        raise NotDone("the data is copied")


class ConsumerSuite(Suite):
    """Rules of those who take arrays: ``ConsumerSuite(take).run()``.

    ``take`` is called with an object that has ``__arrow_c_array__``, ``__arrow_c_device_array__`` and
    ``__arrow_c_schema__``, and gives what the library makes of it.  Known of it: ``read``, which makes a list of rows
    of
    that (default: its ``to_pylist``), a callable or an expression; ``batch``, True where it takes record batches;
    ``protocol``, the name of the method to be checked.
    """

    rules = CONSUMER_RULES
    what = "consumer"
    one_death_is_all = False
    given_is_the_subject = True
