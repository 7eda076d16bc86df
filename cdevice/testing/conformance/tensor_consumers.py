"""Rules of those who take tensors by DLPack, as ``from_dlpack`` functions do."""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import struct
import threading

from .consuming import accept, collect, words_of
from .standin import TWICE, guarded
from .standin_tensors import OlderTensorOffer, TensorOffer
from .structs import Broken, NotDone, capsule_name
from .suite import Rules, Suite

HEADER = "dlpack.h"
PYTHON = "DLPack's specification for Python"
TENSOR_TAKER_RULES = Rules()
ROWS = [[1, 2, 3], [4, 5, 6]]


def values_read(subject, out):
    read = subject.read
    if isinstance(read, str):
        read = eval(read)
    if read is not None:
        return read(out)
    for name in ("tolist", "to_pylist"):
        if hasattr(out, name):
            return getattr(out, name)()
    raise NotDone("there is no way to read what it made: give read=")


def reads(subject, offer, wanted, must=False):
    """The values of an offer are read right; where it is refused: NotDone, or Broken where a plain one is accepted."""
    if must:
        accept(subject, TensorOffer())
    try:
        out = subject.make()(offer)
    except BaseException as e:
        raise (Broken if must else NotDone)(f"it is refused: {words_of(e)}") from None
    found = values_read(subject, out)
    if repr(found) != repr(wanted):
        if any(t.deleted for t in offer.tensors):
            raise NotDone("it reads what it has deleted")
        raise Broken(f"the values are {str(found)[:200]}, not {wanted}")


def refuses(subject, offer, what):
    accept(subject, TensorOffer())
    try:
        out = subject.make()(offer)
        found = values_read(subject, out)
    except NotDone:
        raise
    except Exception:
        return
    raise Broken(f"{what} is taken and read as {str(found)[:100]}")


def deletions(offer):
    return [t.deleted for t in offer.tensors]


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLTensor")
def values_are_read(subject):
    """The values are those of the memory."""
    reads(subject, TensorOffer(), ROWS)


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLManagedTensor.deleter")
def tensor_is_deleted_when_its_taker_is_gone(subject):
    """The deleter is called once nothing uses the tensor any more."""
    offer = TensorOffer()
    out = accept(subject, offer)
    del out
    collect(offer)
    if not all(deletions(offer)):
        raise Broken("the deleter was not called")


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLManagedTensor.deleter")
def tensor_is_not_deleted_twice(subject):
    """The deleter is called once."""
    TWICE.clear()
    offer = TensorOffer()
    out = accept(subject, offer)
    del out
    collect(offer)
    if TWICE:
        if offer.dropped:
            raise NotDone("it does not rename the capsule")
        raise Broken("the deleter was called twice")


@TENSOR_TAKER_RULES.add("MUST", f"{PYTHON}, capsule names")
def capsule_is_renamed(subject):
    """A capsule whose tensor was taken is renamed to "used_dltensor" or "used_dltensor_versioned"."""
    offer = TensorOffer()
    out = accept(subject, offer)
    found = capsule_name(offer.capsules[-1])
    copied = all(deletions(offer))
    del out
    collect(offer)
    if not found.startswith("used_") and not copied:
        raise Broken(f"the name is {found!r}")


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLManagedTensor")
def nothing_is_read_after_its_deletion(subject):
    """What was taken can be read as long as it is there."""
    offer = TensorOffer()
    out = accept(subject, offer)
    collect()
    found = values_read(subject, out)
    if found != ROWS and all(deletions(offer)):
        raise Broken(f"the tensor was deleted, and is read as {found}")


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLTensor.strides")
def strides_may_be_null(subject):
    """NULL strides mean a compact tensor in the order of rows."""
    reads(subject, TensorOffer(strides=None), ROWS, must=True)


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLTensor.strides")
def strides_are_applied(subject):
    """Strides count items: a transposed tensor is read so."""
    reads(subject, TensorOffer(shape=(3, 2), strides=(1, 3)), [[1, 4], [2, 5], [3, 6]])


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLTensor.byte_offset")
def byte_offset_is_applied(subject):
    """The values begin byte_offset bytes after the pointer."""
    reads(subject, TensorOffer(shape=(2, 2), byte_offset=16), [[3, 4], [5, 6]], must=True)


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLPACK_FLAG_BITMASK_READ_ONLY")
def read_only_tensors_are_not_written(subject):
    """What has the flag READ_ONLY cannot be written through what was made of it."""
    offer = TensorOffer(flags=1)
    out = accept(subject, offer)
    if not hasattr(type(offer.tensors[-1].struct), "flags"):
        raise NotDone("it takes tensors without a version")
    try:
        out[0, 0] = 7
    except Exception:
        return
    if all(deletions(offer)):
        raise NotDone("it makes a copy")
    if ctypes.string_at(offer.tensors[-1].memory[0], 8) == struct.pack("<q", 7):
        raise Broken("it was written to")


@TENSOR_TAKER_RULES.add("MUST", f"{PYTHON}, max_version")
def tensors_without_a_version_are_taken(subject):
    """A producer that knows nothing of max_version is asked again without it."""
    reads(subject, OlderTensorOffer(), ROWS, must=True)


class WithoutDeleter(TensorOffer):
    with_deleter = False


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLManagedTensor.deleter")
def deleter_may_be_null(subject):
    """A tensor without a deleter is taken and dropped."""
    offer = WithoutDeleter()
    reads(subject, offer, ROWS, must=True)
    collect(offer)


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLPackVersion")
def newer_major_versions_are_refused(subject):
    """A tensor of major version 2 is an exception."""
    plain = TensorOffer()
    accept(subject, plain)
    if not hasattr(plain.tensors[-1].struct, "major"):
        raise NotDone("it asks for tensors without a version")
    offer = TensorOffer(version=(2, 0))
    refuses(subject, offer, "major version 2")


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLManagedTensor.deleter")
def what_is_refused_is_deleted(subject):
    """A tensor that is refused is deleted, once."""
    accept(subject, TensorOffer())
    TWICE.clear()
    offer = TensorOffer(device=(12, 0), pointer=guarded("the data of a tensor"))
    try:
        out = subject.make()(offer)
    except Exception:
        out = None
    if out is not None:
        raise NotDone("device type 12 is taken")
    collect(offer)
    if offer.tensors and deletions(offer) != [1] * len(offer.tensors):
        raise Broken(f"the deleter was called {deletions(offer)} times")


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLTensor.data")
def data_on_a_device_is_not_touched(subject):
    """The data of a tensor on a device that is not the CPU is not read when it is taken."""
    accept(subject, TensorOffer())
    try:
        subject.make()(TensorOffer(device=(12, 0), pointer=guarded("the data of a tensor on a device")))
    except Exception:
        pass


class OtherTensorName(TensorOffer):
    def name_of(self, versioned):
        return "tensor"


class UsedTensor(TensorOffer):
    def name_of(self, versioned):
        return "used_" + super().name_of(versioned)


@TENSOR_TAKER_RULES.add("MUST", f"{PYTHON}, capsule names")
def capsules_of_other_names_are_refused(subject):
    """A capsule of another name is an exception."""
    refuses(subject, OtherTensorName(), "a capsule 'tensor'")


@TENSOR_TAKER_RULES.add("MUST", f"{PYTHON}, capsule names")
def used_capsules_are_refused(subject):
    """A capsule whose tensor was taken before is an exception."""
    refuses(subject, UsedTensor(), "a used capsule")


@TENSOR_TAKER_RULES.add("READING", "dlpack.h, DLTensor.data: NULL for tensors without values")
def tensors_without_values_may_have_no_data(subject):
    """A tensor of shape (0, 3) may have a NULL pointer."""
    reads(subject, TensorOffer(shape=(0, 3), pointer=0), [], must=True)


@TENSOR_TAKER_RULES.add("READING", "dlpack.h, DLDataType: kDLOpaqueHandle")
def unknown_types_are_refused(subject):
    """A type that has no values, an opaque handle, is an exception."""
    refuses(subject, TensorOffer(dtype=(3, 64, 1)), "a tensor of opaque handles")


@TENSOR_TAKER_RULES.add("MUST", f"{HEADER}, DLDataType.lanes")
def lanes_are_not_ignored(subject):
    """A tensor of two lanes is an exception, or has twice the values."""
    accept(subject, TensorOffer())
    offer = TensorOffer(dtype=(0, 32, 2), shape=(1, 3))
    try:
        found = values_read(subject, subject.make()(offer))
    except Exception:
        return
    if len(found) and len(found[0]) == 3 and not isinstance(found[0][0], (list, tuple)):
        raise Broken(f"it is read as {found}")


@TENSOR_TAKER_RULES.add("READING", "dlpack.h, deleter: the header names no thread")
def what_was_taken_can_go_on_another_thread(subject):
    """What was taken can be dropped by a thread that did not take it."""
    first = TensorOffer()
    out = accept(subject, first)
    del out
    collect(first)
    offer = TensorOffer()
    box = [accept(subject, offer)]
    if not all(deletions(first)) or all(deletions(offer)):
        raise NotDone("it is not deleted where it is dropped on the thread that took it")
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    collect(offer)
    if not all(deletions(offer)):
        raise Broken("the deleter was not called")


class RaisesTensor(TensorOffer):
    def __dlpack__(self, **keywords):
        self.called.append("__dlpack__")
        raise ValueError("words of the producer")


@TENSOR_TAKER_RULES.add("MUST", f"{PYTHON}, semantics")
def exceptions_of_the_producer_are_raised(subject):
    """An exception of the producer's method is raised, with its words."""
    accept(subject, TensorOffer())
    try:
        subject.make()(RaisesTensor())
    except Exception as e:
        if "words of the producer" not in f"{e} {e.__cause__} {e.__context__}":
            raise Broken(f"it is raised as {words_of(e)}") from None
        return
    raise Broken("nothing is raised")


@TENSOR_TAKER_RULES.add("GOAL", f"{HEADER}, DLManagedTensor: borrowing of a tensor")
def data_is_not_copied(subject):
    """What was taken uses the memory that it came with."""
    offer = TensorOffer()
    out = accept(subject, offer)
    collect(offer)
    deleted = all(deletions(offer))
    del out
    if deleted:
        raise NotDone("the data is copied")


class DLPackConsumerSuite(Suite):
    """Rules of those who take tensors: ``DLPackConsumerSuite(take).run()``.

    ``take`` is called with an object that has ``__dlpack__`` and ``__dlpack_device__``, a matrix of int64, and gives
    what the library makes of it.  Known of it: ``read``, which makes nested lists of that (default: its ``tolist``).
    """

    rules = TENSOR_TAKER_RULES
    what = "tensor consumer"
    one_death_is_all = False
    given_is_the_subject = True
