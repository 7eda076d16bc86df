"""Rules of those who give tensors by DLPack: ``__dlpack__`` and ``__dlpack_device__``."""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from ctypes import c_char_p, c_int64, c_void_p, py_object

from .standin_tensors import NAMES, call_deleter, rename, taken_out, tensor_values
from .structs import (
    KEPT,
    Broken,
    DLManagedTensorVersioned,
    NotDone,
    OneArgument,
    capsule_call,
    capsule_name,
)
from .suite import Rules, Suite

HEADER = "dlpack.h"
PYTHON = "DLPack's specification for Python"
TENSOR_RULES = Rules()
READ_ONLY, COPIED, KNOWN_FLAGS = 1, 2, 7
HELD = []  # capsules that are looked at, and their object: none is dropped while an exception is on its way


def made(subject):
    out = subject.make()
    if not hasattr(out, "__dlpack__"):
        raise NotDone("it has no __dlpack__")
    return out


def capsule_of(subject, out=None, **keywords):
    """A capsule; NotDone where it is refused."""
    out = made(subject) if out is None else out
    try:
        return out.__dlpack__(**keywords)
    except (TypeError, BufferError, ValueError, NotImplementedError, RuntimeError) as e:
        raise NotDone(f"{type(e).__name__}: {e}") from None


def capsules(subject):
    """The capsules of both kinds that there are; they and their object are held."""
    source = made(subject)
    out = [(None, capsule_of(subject, source))] if not subject.readonly else []
    try:
        out.append(((1, 0), capsule_of(subject, source, max_version=(1, 0))))
    except NotDone:
        pass
    if not out:
        raise NotDone("it gives no capsule")
    HELD[:] = [source, *(capsule for _, capsule in out)]
    return out


def look_at(capsule):
    """The managed tensor in a capsule that stays as it is."""
    name = capsule_name(capsule)
    if name not in NAMES:
        raise NotDone(f"there is no capsule of a tensor, but {name!r}")
    address = capsule_call("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)(capsule, name.encode())
    return NAMES[name].from_address(address)


def each_tensor(subject, look):
    for _, capsule in capsules(subject):
        look(look_at(capsule).tensor)


def is_pair(device):
    try:
        return isinstance(device, tuple) and len([int(n) for n in device]) == 2
    except (TypeError, ValueError):
        return False


def device_of(out):
    """What __dlpack_device__ gives; device_is_a_pair_of_numbers tells where that is none."""
    found = out.__dlpack_device__()
    if not is_pair(found):
        raise NotDone(f"__dlpack_device__ gives {found!r}")
    return tuple(map(int, found))


# ---- the methods ----
@TENSOR_RULES.add("MUST", f"{PYTHON}, __dlpack_device__")
def device_is_a_pair_of_numbers(subject):
    """__dlpack_device__ gives two numbers: a device type and a device number."""
    out = made(subject)
    if not hasattr(out, "__dlpack_device__"):
        raise Broken("it has no __dlpack_device__")
    found = out.__dlpack_device__()
    if not is_pair(found):
        raise Broken(f"it gives {found!r}")
    if found[0] < 1:
        raise Broken(f"the device type is {found[0]}")


@TENSOR_RULES.add("MUST", f"{PYTHON}, __dlpack__")
def capsule_without_a_version_is_a_dltensor(subject):
    """Without max_version the capsule is a "dltensor"."""
    found = capsule_name(capsule_of(subject))
    if found != "dltensor":
        raise Broken(f"the name is {found!r}")


@TENSOR_RULES.add("MUST", f"{PYTHON}, __dlpack__, max_version")
def capsule_with_a_version_has_that_or_none(subject):
    """With max_version (1, 0) the capsule is a "dltensor_versioned" of major version 1, or a "dltensor"."""
    capsule = capsule_of(subject, max_version=(1, 0))
    name = capsule_name(capsule)
    if name not in NAMES:
        raise Broken(f"the name is {name!r}")
    at = look_at(capsule)
    if name == "dltensor_versioned" and at.major != 1:
        raise Broken(f"the version is {at.major}.{at.minor}")


@TENSOR_RULES.add("SHOULD", f"{PYTHON}, __dlpack__, max_version")
def keywords_of_the_protocol_are_accepted(subject):
    """stream, max_version, dl_device and copy are accepted as long as they are None."""
    out = made(subject)
    keywords = {"stream": None, "max_version": (1, 0), "dl_device": None, "copy": None}
    try:
        out.__dlpack__(**keywords)
    except TypeError as e:
        raise Broken(f"{type(e).__name__}: {e}") from None


@TENSOR_RULES.add("MUST", f"{PYTHON}, __dlpack_device__")
def device_of_the_tensor_is_the_methods(subject):
    """The device of the tensor is that of __dlpack_device__."""
    out = made(subject)
    wanted = device_of(out)
    capsule = capsule_of(subject, out, **({"max_version": (1, 0)} if subject.readonly else {}))
    tensor = look_at(capsule).tensor
    found = tensor.device_type, tensor.device_id
    del capsule
    if found != wanted:
        raise Broken(f"the tensor is on {found}, __dlpack_device__ gives {wanted}")


@TENSOR_RULES.add("SHOULD", f"{PYTHON}, __dlpack__, stream")
def streams_are_refused_on_the_cpu(subject):
    """A tensor on the CPU has no streams: one that is given is an exception."""
    out = made(subject)
    if out.__dlpack_device__()[0] != 1:
        raise NotDone("it is not on the CPU")
    capsule_of(subject, out, stream=None)
    try:
        out.__dlpack__(stream=1)
    except Exception:
        return
    raise Broken("stream=1 is accepted")


@TENSOR_RULES.add("SHOULD", f"{PYTHON}, __dlpack__, dl_device")
def its_own_device_may_be_requested(subject):
    """The device that a tensor is on may be requested."""
    out = made(subject)
    device = device_of(out)
    capsule_of(subject, out, max_version=(1, 0))
    try:
        out.__dlpack__(max_version=(1, 0), dl_device=device)
    except TypeError:
        raise NotDone("it takes no dl_device") from None
    except Exception as e:
        raise Broken(f"{type(e).__name__}: {e}") from None


@TENSOR_RULES.add("MUST", f"{PYTHON}, __dlpack__, copy")
def copies_are_other_memory_and_say_so(subject):
    """copy=True gives other memory, with the flag IS_COPIED where the tensor has a version."""
    out = made(subject)
    plain = look_at(first := capsule_of(subject, out, max_version=(1, 0)))
    copied = look_at(second := capsule_of(subject, out, max_version=(1, 0), copy=True))
    if not plain.tensor.data:
        raise NotDone("it has no data")
    same = copied.tensor.data == plain.tensor.data
    marked = not isinstance(copied, DLManagedTensorVersioned) or bool(copied.flags & COPIED)
    del first, second
    if same or not marked:
        raise Broken("the memory is the same" if same else "the flag IS_COPIED is not set")


# ---- the tensor ----
@TENSOR_RULES.add("MUST", f"{HEADER}, DLTensor.ndim and shape")
def shape_is_sound(subject):
    """The number of dimensions is not negative, nor is a length, and the shape is there."""

    def look(tensor):
        if tensor.ndim < 0 or tensor.ndim and not tensor.shape:
            raise Broken(f"ndim is {tensor.ndim}" + ("" if tensor.shape else " and shape is NULL"))
        shape = list((c_int64 * tensor.ndim).from_address(tensor.shape)) if tensor.ndim else []
        if any(n < 0 for n in shape):
            raise Broken(f"the shape is {shape}")

    each_tensor(subject, look)


@TENSOR_RULES.add("MUST", f"{HEADER}, DLDataType")
def type_is_known(subject):
    """The type has a code that exists, bits and lanes."""

    def look(tensor):
        if tensor.code > 17 or not tensor.bits or not tensor.lanes:
            raise Broken(f"code, bits, lanes are {tensor.code}, {tensor.bits}, {tensor.lanes}")

    each_tensor(subject, look)


@TENSOR_RULES.add("MUST", f"{HEADER}, DLManagedTensorVersioned.flags")
def flags_are_known(subject):
    """The flags of a tensor with a version have no bits that do not exist."""
    at = look_at(capsule := capsule_of(subject, max_version=(1, 0)))
    if not isinstance(at, DLManagedTensorVersioned):
        raise NotDone("its tensors have no version")
    found = at.flags
    del capsule
    if found & ~KNOWN_FLAGS:
        raise Broken(f"the flags are {found:#x}")


@TENSOR_RULES.add("SHOULD", f"{HEADER}, DLPACK_FLAG_BITMASK_READ_ONLY")
def what_is_read_only_says_so(subject):
    """What must not be written to has the flag READ_ONLY; without a version, which has no flags, it is refused."""
    if not subject.readonly:
        raise NotDone("nothing that must not be written to is given")
    out = made(subject)
    try:
        at = look_at(capsule := out.__dlpack__(max_version=(1, 0)))
    except (BufferError, TypeError):
        at = None
    if isinstance(at, DLManagedTensorVersioned) and not at.flags & READ_ONLY:
        raise Broken("the flag READ_ONLY is not set")
    try:
        capsule = out.__dlpack__()
    except (BufferError, TypeError, ValueError):
        return
    del capsule
    raise Broken("it is given without a version")


@TENSOR_RULES.add("MUST", f"{HEADER}, semantics")
def values_are_the_objects(subject):
    """The values in the memory of the tensor are the object's."""
    if subject.values is None:
        raise NotDone("the values are not known to the suite")
    for _, capsule in capsules(subject):
        found = tensor_values(look_at(capsule).tensor)
        if repr(found) != repr(subject.values):
            raise Broken(f"the values are {str(found)[:200]}, not {subject.values}")


# ---- ownership ----
def counted_deleter(at):
    """Puts a counter before the deleter; the list that comes gets an entry for each call."""
    original, calls = at.deleter, []

    def delete(address):
        calls.append(address)
        type(at).from_address(address).deleter = original
        OneArgument(original)(address)

    callback = OneArgument(delete)
    KEPT.append(callback)
    at.deleter = ctypes.cast(callback, c_void_p).value
    return calls


@TENSOR_RULES.add("MUST", f"{PYTHON}, capsule destructor")
def capsule_dropped_unused_deletes(subject):
    """Dropping an unused capsule calls the deleter, once, or frees the tensor otherwise."""
    HELD.clear()
    for version in ((1, 0),) if subject.readonly else (None, (1, 0)):
        calls, alive = dropped(subject, version)
        if len(calls) > 1 or not calls and alive:
            raise Broken(f"the deleter was called {len(calls)} times" + (", and the object lives" if alive else ""))
        if not calls:
            raise NotDone("the capsule does not call the tensor's deleter; its object is gone")


def dropped(subject, version):
    """(calls of the deleter, whether the object lives) when an object and a capsule of it were dropped."""
    source = made(subject)
    capsule = capsule_of(subject, source, **({"max_version": version} if version else {}))
    at = look_at(capsule)
    if not at.deleter:
        raise NotDone("it has no deleter")
    calls = counted_deleter(at)
    try:
        alive = weakref.ref(source)
    except TypeError:
        alive = lambda: True
    del source, capsule, at
    gc.collect()
    return calls, alive() is not None


@TENSOR_RULES.add("MUST", f"{PYTHON}, capsule destructor")
def used_capsule_deletes_nothing(subject):
    """Dropping a capsule that was renamed, since its tensor was taken, does not call the deleter."""
    for _, capsule in capsules(subject):
        at = look_at(capsule)
        if not at.deleter:
            raise NotDone("it has no deleter")
        calls = counted_deleter(at)
        rename(capsule, f"used_{capsule_name(capsule)}")
    HELD.clear()
    del capsule, at
    gc.collect()
    if calls:
        raise Broken("the deleter was called")


@TENSOR_RULES.add("MUST", f"{HEADER}, DLManagedTensor")
def tensor_outlives_its_source(subject):
    """A tensor stays valid when the object and the capsule that it came from are gone."""
    for _, capsule in capsules(subject):
        at = taken_out(capsule)
        before = tensor_values(at.tensor)
        HELD.clear()
        del capsule
        gc.collect()
        churn = [bytes(n) for n in range(0, 4096, 16)]
        after = tensor_values(at.tensor)
        del churn
        call_deleter(at)
        if repr(before) != repr(after):
            raise Broken(f"the values were {before} and are {after}")


@TENSOR_RULES.add("MUST", f"{PYTHON}, __dlpack__")
def each_call_gives_its_own_tensor(subject):
    """Two calls give two tensors: the deleter of one leaves the other valid."""
    out = made(subject)
    keywords = {"max_version": (1, 0)} if subject.readonly else {}
    first, second = (taken_out(capsule_of(subject, out, **keywords)) for _ in range(2))
    before = tensor_values(second.tensor)
    call_deleter(first)
    gc.collect()
    after = tensor_values(second.tensor)
    call_deleter(second)
    if repr(before) != repr(after):
        raise Broken(f"the values were {before} and are {after}")


@TENSOR_RULES.add("READING", "dlpack.h, deleter: the header names no thread")
def deleter_works_on_another_thread(subject):
    """The deleter may be called by a thread that the producer has never seen."""
    keywords = {"max_version": (1, 0)} if subject.readonly else {}
    at = taken_out(capsule_of(subject, **keywords))
    thread = threading.Thread(target=call_deleter, args=(at,))
    thread.start()
    thread.join()


@TENSOR_RULES.add("GOAL", f"{HEADER}, DLManagedTensor: borrowing of a tensor")
def data_is_not_copied(subject):
    """Two tensors of an object have the same memory."""
    out = made(subject)
    keywords = {"max_version": (1, 0)} if subject.readonly else {}
    HELD[:] = [out, capsule_of(subject, out, **keywords), capsule_of(subject, out, **keywords)]
    if len({look_at(capsule).tensor.data for capsule in HELD[1:]}) > 1:
        raise NotDone("the data is copied")


class DLPackSuite(Suite):
    """Rules of those who give tensors: ``DLPackSuite(make).run()``, for objects with ``__dlpack__``.

    Known of the objects: ``values``, nested lists; ``readonly``, True where they must not be written to.
    """

    rules = TENSOR_RULES
    what = "tensor"
