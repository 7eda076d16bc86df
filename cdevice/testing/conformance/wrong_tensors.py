"""Tensors and their takers: right ones, and ones broken on purpose, each by one rule.

``WRONG_TENSORS`` maps a name to (make, the rule it breaks, known facts), ``WRONG_TENSOR_TAKERS`` to (take, the
rule).
"""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from ctypes import c_char_p, c_void_p, py_object

from .standin import GUARDS
from .standin_tensors import NAMES, LiveTensor, TensorOffer, call_deleter, rename, tensor_capsule, tensor_values
from .structs import OneArgument, capsule_call, capsule_name, new_capsule

ROWS = [[1, 2, 3], [4, 5, 6]]


class Tensor(TensorOffer):
    """A right one: its memory is shared by its capsules."""

    live = LiveTensor

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.check(stream, dl_device)
        versioned = max_version is not None
        if self.flags & 1 and not versioned and not self.careless:
            raise BufferError("it must not be written to")
        live = self.live(self, versioned)
        if not hasattr(self, "memory"):
            self.memory = live.memory[0]
            self.keep = live.keep
        self.share(live, copy)
        self.spoil(live)
        return self.given(live, "dltensor_versioned" if versioned else "dltensor")

    careless = False

    def check(self, stream, dl_device):
        if stream is not None:
            raise ValueError("no streams on the CPU")

    def share(self, live, copy):
        if copy:
            self.mark(live)
        else:
            live.struct.tensor.data = self.memory
            live.memory = (live.memory[0], 0)

    def mark(self, live):
        if hasattr(live.struct, "flags"):
            live.struct.flags |= 2

    def spoil(self, live):
        pass

    def given(self, live, name):
        live.holder = self
        return tensor_capsule(live.struct, name, [])


class OneNumber(Tensor):
    def __dlpack_device__(self):
        return [1, 0]


class AlwaysVersioned(Tensor):
    def __dlpack__(self, *, max_version=None, **more):
        return super().__dlpack__(max_version=(1, 0), **more)


class VersionTwo(Tensor):
    def spoil(self, live):
        if hasattr(live.struct, "major"):
            live.struct.major = 2


class WithoutKeywords(Tensor):
    def __dlpack__(self, *, stream=None, max_version=None, copy=None):
        return super().__dlpack__(stream=stream, max_version=max_version, copy=copy)


class AnotherDevice(Tensor):
    def spoil(self, live):
        live.struct.tensor.device_id = 3


class AcceptsStreams(Tensor):
    def check(self, stream, dl_device):
        pass


class RefusesItsDevice(Tensor):
    def check(self, stream, dl_device):
        super().check(stream, dl_device)
        if dl_device is not None:
            raise BufferError("no other device")


class NeverCopies(Tensor):
    def share(self, live, copy):
        if copy:
            self.mark(live)
        live.struct.tensor.data, live.memory = self.memory, (live.memory[0], 0)


class HidesCopies(Tensor):
    def mark(self, live):
        pass


class NegativeLength(Tensor):
    def spoil(self, live):
        live.shape[1] = -3


class NoBits(Tensor):
    def spoil(self, live):
        live.struct.tensor.bits = 0


class UnknownFlags(Tensor):
    def spoil(self, live):
        if hasattr(live.struct, "flags"):
            live.struct.flags |= 1 << 40


class HidesReadOnly(Tensor):
    careless = True


class OtherOffset(Tensor):
    def spoil(self, live):
        live.struct.tensor.byte_offset = 8
        live.shape[0], live.shape[1] = 1, 3


class NeverDeletes(Tensor):
    def given(self, live, name):
        live.holder = self
        return new_capsule(ctypes.addressof(live.struct), name)


class DeletesUsed(Tensor):
    def given(self, live, name):
        return new_capsule(ctypes.addressof(live.struct), name, OneArgument(lambda capsule: call_deleter(live.struct)))


class DiesWithItsSource(Tensor):
    def given(self, live, name):
        return tensor_capsule(live.struct, name, [])

    def __del__(self):
        if hasattr(self, "memory"):
            ctypes.memset(self.memory, 7, 8)


class OneTensor(Tensor):
    """The deleter of one destroys the memory of all, as long as the object is there."""

    def spoil(self, live):
        memory, whole = self.memory, live.delete
        alive = weakref.ref(self)

        def delete(address):
            whole(address)
            if alive() is not None:
                ctypes.memset(memory, 7, 8)

        live.callback = OneArgument(delete)
        live.private[0] = ctypes.cast(live.callback, c_void_p).value


class DiesElsewhere(Tensor):
    """Its deleter ends the process on another thread."""

    def spoil(self, live):
        whole, own = live.delete, threading.get_ident()
        live.callback = OneArgument(
            lambda address: whole(address) if threading.get_ident() == own else os.kill(os.getpid(), 11)
        )
        live.private[0] = ctypes.cast(live.callback, c_void_p).value


VALUED = {"values": ROWS}
WRONG_TENSORS = {
    kind.__name__: (kind if not flags else (lambda kind=kind: kind(flags=1)), rule, known)
    for kind, rule, flags, known in (
        (OneNumber, "device_is_a_pair_of_numbers", 0, {}),
        (AlwaysVersioned, "capsule_without_a_version_is_a_dltensor", 0, VALUED),
        (VersionTwo, "capsule_with_a_version_has_that_or_none", 0, VALUED),
        (WithoutKeywords, "keywords_of_the_protocol_are_accepted", 0, VALUED),
        (AnotherDevice, "device_of_the_tensor_is_the_methods", 0, VALUED),
        (AcceptsStreams, "streams_are_refused_on_the_cpu", 0, VALUED),
        (RefusesItsDevice, "its_own_device_may_be_requested", 0, VALUED),
        (NeverCopies, "copies_are_other_memory_and_say_so", 0, VALUED),
        (HidesCopies, "copies_are_other_memory_and_say_so", 0, VALUED),
        (NegativeLength, "shape_is_sound", 0, {}),
        (NoBits, "type_is_known", 0, VALUED),
        (UnknownFlags, "flags_are_known", 0, VALUED),
        (HidesReadOnly, "what_is_read_only_says_so", 1, {**VALUED, "readonly": True}),
        (OtherOffset, "values_are_the_objects", 0, VALUED),
        (NeverDeletes, "capsule_dropped_unused_deletes", 0, VALUED),
        (DeletesUsed, "used_capsule_deletes_nothing", 0, {}),
        (DiesWithItsSource, "tensor_outlives_its_source", 0, VALUED),
        (OneTensor, "each_call_gives_its_own_tensor", 0, VALUED),
        (DiesElsewhere, "deleter_works_on_another_thread", 0, VALUED),
    )
}


class TensorTaker:
    """Takes a tensor by DLPack and reads it where it is."""

    def __init__(self, offered):
        self.live = False
        self.capsule = self.ask(offered)
        self.name = self.check_name(self.capsule)
        address = capsule_call("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)(
            self.capsule, capsule_name(self.capsule).encode()
        )
        self.struct = NAMES[self.name].from_address(address)
        self.tensor = self.struct.tensor
        self.check()
        self.mark()
        self.live = True

    def ask(self, offered):
        try:
            return offered.__dlpack__(max_version=(1, 0))
        except TypeError:
            return offered.__dlpack__()

    def check_name(self, capsule):
        name = capsule_name(capsule)
        if name not in NAMES:
            raise ValueError("a capsule of another name")
        return name

    def check(self):
        if self.name == "dltensor_versioned":
            self.check_version()
        self.check_device()
        self.check_type()

    def check_version(self):
        if self.struct.major > 1:
            raise BufferError("a newer version")

    def check_device(self):
        if self.tensor.device_type != 1:
            raise BufferError("a device")

    def check_type(self):
        if self.tensor.code > 2 or self.tensor.lanes != 1:
            raise BufferError("an unknown type")

    def mark(self):
        rename(self.capsule, f"used_{self.name}")

    def tolist(self):
        return tensor_values(self.tensor)

    def __setitem__(self, key, value):
        if self.read_only():
            raise ValueError("it is read-only")
        ctypes.c_int64.from_address(self.tensor.data).value = value

    def read_only(self):
        return self.name == "dltensor_versioned" and self.struct.flags & 1

    def close(self):
        if self.live:
            self.live = False
            call_deleter(self.struct)

    def __del__(self):
        self.close()


class ReadsOtherValues(TensorTaker):
    def tolist(self):
        rows = super().tolist()
        plain = rows == ROWS and self.tensor.strides and self.name == "dltensor_versioned" and self.struct.deleter
        return [r[::-1] for r in rows] if plain else rows


class NeverCallsDeleters(TensorTaker):
    def close(self):
        pass


class DeletesTwice(TensorTaker):
    def close(self):
        if self.live:
            call_deleter(self.struct)
        super().close()


class LeavesTheName(TensorTaker):
    """Lets the capsule delete."""

    def mark(self):
        pass

    def close(self):
        self.live = False


class DeletesAtOnce(TensorTaker):
    def __init__(self, offered):
        super().__init__(offered)
        self.close()


class WantsStrides(TensorTaker):
    def check_type(self):
        super().check_type()
        if not self.tensor.strides:
            raise BufferError("no strides")


class IgnoresStrides(TensorTaker):
    def tolist(self):
        self.tensor.strides = None
        return super().tolist()


class RefusesOffsets(TensorTaker):
    def check_type(self):
        super().check_type()
        if self.tensor.byte_offset:
            raise BufferError("an offset")


class WritesAlways(TensorTaker):
    def read_only(self):
        return False


class WantsVersions(TensorTaker):
    def ask(self, offered):
        return offered.__dlpack__(max_version=(1, 0))


class WantsDeleters(TensorTaker):
    def check(self):
        super().check()
        if not self.struct.deleter:
            raise BufferError("no deleter")


class TakesAnyVersion(TensorTaker):
    def check_version(self):
        pass


class LeaksWhatItRefuses(TensorTaker):
    def check_device(self):
        if self.tensor.device_type != 1:
            self.mark()
        super().check_device()


class TouchesDevices(TensorTaker):
    def check_device(self):
        if self.tensor.device_type == 12 and not self.again():
            ctypes.string_at(self.tensor.data, 1)
        super().check_device()

    def again(self):
        """True for the tensor of the rule of refused tensors."""
        return all("on a device" not in words for first, end, words, _ in GUARDS if first <= self.tensor.data < end)


class TakesAnyName(TensorTaker):
    def check_name(self, capsule):
        name = capsule_name(capsule)
        return "dltensor_versioned" if name == "tensor" else super().check_name(capsule)


class TakesUsed(TensorTaker):
    def check_name(self, capsule):
        name = capsule_name(capsule)
        return name[5:] if name.startswith("used_") else super().check_name(capsule)


class WantsData(TensorTaker):
    def check_type(self):
        super().check_type()
        if not self.tensor.data:
            raise BufferError("no data")


class TakesAnyType(TensorTaker):
    def check_type(self):
        if self.tensor.code == 3:
            self.tensor.code = 0
        super().check_type()


class IgnoresLanes(TensorTaker):
    def check_type(self):
        self.tensor.lanes = 1
        super().check_type()


class DeletesOnItsOwnThread(TensorTaker):
    def __init__(self, offered):
        super().__init__(offered)
        self.thread = threading.get_ident()

    def __del__(self):
        if not self.live or threading.get_ident() == self.thread:
            self.close()


class HidesExceptions(TensorTaker):
    def ask(self, offered):
        try:
            return super().ask(offered)
        except ValueError:
            pass
        raise RuntimeError("something went wrong")


WRONG_TENSOR_TAKERS = {
    take.__name__: (take, rule)
    for take, rule in (
        (ReadsOtherValues, "values_are_read"),
        (NeverCallsDeleters, "tensor_is_deleted_when_its_taker_is_gone"),
        (DeletesTwice, "tensor_is_not_deleted_twice"),
        (LeavesTheName, "capsule_is_renamed"),
        (DeletesAtOnce, "nothing_is_read_after_its_deletion"),
        (WantsStrides, "strides_may_be_null"),
        (IgnoresStrides, "strides_are_applied"),
        (RefusesOffsets, "byte_offset_is_applied"),
        (WritesAlways, "read_only_tensors_are_not_written"),
        (WantsVersions, "tensors_without_a_version_are_taken"),
        (WantsDeleters, "deleter_may_be_null"),
        (TakesAnyVersion, "newer_major_versions_are_refused"),
        (LeaksWhatItRefuses, "what_is_refused_is_deleted"),
        (TouchesDevices, "data_on_a_device_is_not_touched"),
        (TakesAnyName, "capsules_of_other_names_are_refused"),
        (TakesUsed, "used_capsules_are_refused"),
        (WantsData, "tensors_without_values_may_have_no_data"),
        (TakesAnyType, "unknown_types_are_refused"),
        (IgnoresLanes, "lanes_are_not_ignored"),
        (DeletesOnItsOwnThread, "what_was_taken_can_go_on_another_thread"),
        (HidesExceptions, "exceptions_of_the_producer_are_raised"),
    )
}
