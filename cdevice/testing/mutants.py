"""The reference device, broken on purpose in many ways: a suite that has never failed proves nothing.

``MUTANTS`` maps a name to (backend class, pattern of the check that must fail).
"""

from __future__ import annotations

from .fake import FakeBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..backend import Copy, CopyKind
    from ..device_types import DeviceInfo


class EventTooEarly(FakeBackend):
    """The event has passed although its queue is held."""

    def event_record(self, *, device_id: int, stream: int = 0) -> Any:
        event = super().event_record(device_id=device_id, stream=stream)
        event.passed.set()
        return event


class DropsSourceOffset(FakeBackend):
    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        super().copy(kind, [c._replace(src_offset=0) for c in copies], stream=stream)


class DropsTargetOffset(FakeBackend):
    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        super().copy(kind, [c._replace(dst_offset=0) for c in copies], stream=stream)


class CopiesOnlyTheFirst(FakeBackend):
    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        super().copy(kind, copies[:1], stream=stream)


class CopiesAByteTooFew(FakeBackend):
    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        super().copy(kind, [c._replace(nbytes=c.nbytes - (c.nbytes > 1000)) for c in copies], stream=stream)


class NeverFrees(FakeBackend):
    def free(self, block: Any) -> None:
        pass


class NeverDestroysEvents(FakeBackend):
    def event_destroy(self, event: Any) -> None:
        pass


class SharesMemory(FakeBackend):
    """Two allocations are one."""

    def alloc(self, nbytes: int, *, device_id: int, stream: int = 0) -> Any:
        handle = super().alloc(nbytes, device_id=device_id, stream=stream)
        first = self.__dict__.setdefault("_first", {}).setdefault(nbytes, self._memory[handle])
        self._memory[handle] = first
        return handle


class HostWaitReturnsAtOnce(FakeBackend):
    def event_wait(self, event: int, *, device_id: int, stream: int | None = None) -> None:
        if stream is not None:
            super().event_wait(event, device_id=device_id, stream=stream)


class StreamWaitDoesNothing(FakeBackend):
    def event_wait(self, event: int, *, device_id: int, stream: int | None = None) -> None:
        if stream is None:
            super().event_wait(event, device_id=device_id)


class CopyWaits(FakeBackend):
    """Every copy waits for its queue."""

    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        super().copy(kind, copies, stream=stream)
        self.stream_wait(device_id=0, stream=stream)


class ViewsBeginAtTheStart(FakeBackend):
    def view(self, block: Any, offset: int, nbytes: int) -> Any:
        return super().view(block, 0, nbytes)


class ViewsDieWithTheirBlock(FakeBackend):
    def view(self, block: Any, offset: int, nbytes: int) -> Any:
        handle = super().view(block, offset, nbytes)
        self.__dict__.setdefault("_views", {}).setdefault(block, []).append(handle)
        return handle

    def free(self, block: Any) -> None:
        for view in self.__dict__.get("_views", {}).pop(block, []):
            self._memory[view] = (bytearray(1 << 16), 0, 1 << 16)
        super().free(block)


class OddAlignment(FakeBackend):
    def device_info(self, device_id: int) -> DeviceInfo:
        return super().device_info(device_id)._replace(alignment=48)


class NeverReady(FakeBackend):
    repaired = False  # lets what waits for it go

    def event_done(self, event: int, *, device_id: int) -> bool:
        return self.repaired and super().event_done(event, device_id=device_id)


class SwallowsFailures(FakeBackend):
    """What fails is reported as done."""

    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        try:
            super().copy(kind, copies, stream=stream)
        except RuntimeError:
            pass


class LeaksOnFailure(FakeBackend):
    def event_record(self, *, device_id: int, stream: int = 0) -> Any:
        try:
            return super().event_record(device_id=device_id, stream=stream)
        except RuntimeError:
            self._memory[next(self._handles)] = (bytearray(1), 0, 1)
            raise


class IgnoresTheStream(FakeBackend):
    """Everything runs on one queue."""

    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        super().copy(kind, copies)

    def event_record(self, *, device_id: int, stream: int = 0) -> Any:
        return super().event_record(device_id=device_id)


class DeviceCopyDoesNothing(FakeBackend):
    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        if kind in (1, 2):
            super().copy(kind, copies, stream=stream)


class UsesMemoryAgainAtOnce(FakeBackend):
    """Freed memory is reused at once, in spite of queued work."""

    def alloc(self, nbytes: int, *, device_id: int, stream: int = 0) -> Any:
        handle = super().alloc(nbytes, device_id=device_id, stream=stream)
        kept = self.__dict__.setdefault("_kept", {}).get(nbytes)
        if kept:
            self._memory[handle] = (kept.pop(), 0, nbytes)
        return handle

    def free(self, block: Any) -> None:
        memory, start, size = self._memory[block]
        if not start and size == len(memory):
            self.__dict__.setdefault("_kept", {}).setdefault(size, []).append(memory)
        super().free(block)


class EventsGoWithTheirStream(FakeBackend):
    repaired = False

    def event_record(self, *, device_id: int, stream: int = 0) -> Any:
        event = super().event_record(device_id=device_id, stream=stream)
        event.stream = self._stream(stream)
        return event

    def event_done(self, event: int, *, device_id: int) -> bool:
        if not self.repaired and self._event_objects[event].stream not in self._streams.values():
            raise RuntimeError("the stream of the event is gone")
        return super().event_done(event, device_id=device_id)


class FallsWithDroppedEvents(FakeBackend):
    """An event that fails after it was destroyed takes the device with it."""

    fallen = False

    def _pass(self, event: Any, failing: bool) -> None:
        if failing and event.sync_event not in self._event_objects:
            self.fallen = True
        super()._pass(event, failing)

    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        if self.fallen:
            raise RuntimeError("the device has fallen")
        super().copy(kind, copies, stream=stream)


class FailuresAreNotTold(FakeBackend):
    def _pass(self, event: Any, failing: bool) -> None:
        super()._pass(event, False)


MUTANTS = {
    "UsesMemoryAgainAtOnce": (UsesMemoryAgainAtOnce, "what_a_held_copy_reads_is_not_used_again"),
    "StreamWaitDoesNothingWithoutAGate": (StreamWaitDoesNothing, "a_second_stream_waits_for_slow_work"),
    "EventsGoWithTheirStream": (EventsGoWithTheirStream, "*events_outlive_their_stream"),
    "FallsWithDroppedEvents": (FallsWithDroppedEvents, "events_that_fail_after_their_array_was_dropped"),
    "FailuresAreNotTold": (FailuresAreNotTold, "a_failed_event_is_told"),
    "EventTooEarly": (EventTooEarly, "an_event_is_not_done_while_its_queue_is_held"),
    "DropsSourceOffset": (DropsSourceOffset, "bytes_arrive_where_they_belong__*"),
    "DropsTargetOffset": (DropsTargetOffset, "bytes_arrive_where_they_belong__*"),
    "CopiesOnlyTheFirst": (CopiesOnlyTheFirst, "many_copies_in_one_call"),
    "CopiesAByteTooFew": (CopiesAByteTooFew, "bytes_arrive_where_they_belong__*"),
    "NeverFrees": (NeverFrees, "everything_is_given_back"),
    "NeverDestroysEvents": (NeverDestroysEvents, "everything_is_given_back"),
    "SharesMemory": (SharesMemory, "allocations_do_not_share_memory"),
    "HostWaitReturnsAtOnce": (HostWaitReturnsAtOnce, "waiting_on_the_host_waits"),
    "StreamWaitDoesNothing": (StreamWaitDoesNothing, "another_stream_waits_on_the_device"),
    "CopyWaits": (CopyWaits, "an_event_is_not_done_while_its_queue_is_held"),
    "ViewsBeginAtTheStart": (ViewsBeginAtTheStart, "a_view_is_a_part_of_its_block_and_keeps_it"),
    "ViewsDieWithTheirBlock": (ViewsDieWithTheirBlock, "a_view_is_a_part_of_its_block_and_keeps_it"),
    "OddAlignment": (OddAlignment, "there_is_a_device_and_it_says_what_it_is"),
    "NeverReady": (NeverReady, "an_array_becomes_ready"),
    "SwallowsFailures": (SwallowsFailures, "nothing_leaks_at_any_failure__*"),
    "LeaksOnFailure": (LeaksOnFailure, "nothing_leaks_at_any_failure__*"),
    "IgnoresTheStream": (IgnoresTheStream, "a_named_stream_is_used"),
    "DeviceCopyDoesNothing": (DeviceCopyDoesNothing, "copies_on_the_device"),
}
