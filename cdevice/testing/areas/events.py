"""A pending event is not ready, and every wait is as promised."""

from __future__ import annotations

import contextlib
import gc
import threading

from .area import Area, expect, with_events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..suite import BackendSuite

check = Area("events")


@check()
def check_an_array_becomes_ready(s: BackendSuite) -> None:
    there = s.cdevice.asarray(list(range(1000))).to(s.device_number())
    there.synchronize(timeout=s.limit())
    assert there.ready, "it is not ready after synchronize()"
    there.synchronize()


@check()
def check_without_events_data_is_safe_at_once(s: BackendSuite) -> None:
    s.needs(not s.capabilities & s.cdevice.Capability.EVENTS, "it has events")
    there = s.cdevice.asarray([1, 2, 3]).to(s.device_number())
    assert there.sync_event == 0, f"an event, {there.sync_event:#x}, of a device without EVENTS"
    assert there.ready, "not ready, and there is no event to wait for"


@check()
def check_the_event_comes_after_the_copy(s: BackendSuite) -> None:
    with_events(s)
    import array

    for i in range(8):
        source = s.cdevice.asarray(memoryview(array.array("q", [i + 1]) * (1 << 19)))
        there = source.to(s.device_number())
        there.synchronize(timeout=s.limit())
        other = s.new_stream()
        back = there[-3:].to("cpu", stream=other) if other is not None else there[-3:].to("cpu")
        assert back.to_pylist() == [i + 1] * 3, "the event had passed before the data was there"


@check()
def check_an_event_is_not_done_while_its_queue_is_held(s: BackendSuite) -> None:
    with_events(s)
    with s.closed_gate():
        there = s.promptly(lambda: s.cdevice.asarray([1, 2, 3]).to(s.device_number()))
        assert not there.ready, "the event has passed before the work that it stands for"
        try:
            there.synchronize(timeout=0.005)
        except TimeoutError:
            pass
        else:
            raise AssertionError("synchronize() returned before the work was done")
    there.synchronize(timeout=s.limit())
    expect(there.to("cpu").to_pylist(), [1, 2, 3], "rows behind the gate")


@check()
def check_waiting_on_the_host_waits(s: BackendSuite) -> None:
    with_events(s)
    event, done = s.ffi.new("cdevice_event *"), threading.Event()
    number = s.device_number().id
    with s.closed_gate():
        s.call("event_record", number, s.ffi.NULL, event)
        assert event.sync_event, "an event that is safe already, on a queue that is held"

        def wait() -> None:
            s.call("event_wait_host", number, event.sync_event)
            done.set()

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        assert not done.wait(0.05), "event_wait_host returned while the queue was held"
    assert done.wait(s.limit()), "event_wait_host never returned"
    thread.join()
    s.table.event_destroy(s.table.self, number, event)


@check()
def check_another_stream_waits_on_the_device(s: BackendSuite) -> None:
    with_events(s)
    other = s.new_stream()
    s.needs(other is not None, "its suite offers no second stream")
    with s.closed_gate():
        there = s.promptly(lambda: s.cdevice.asarray([7] * 1000).to(s.device_number()))
        s.promptly(lambda: there.wait(other))  # the host does not wait
        behind = s.promptly(lambda: there.to(s.device_number(), stream=other, copy=True))
        try:
            behind.synchronize(timeout=0.1)  # a right one is held for as long as the gate is closed
        except TimeoutError:
            pass
        else:
            raise AssertionError("the second stream did not wait for the event")
    expect(behind.to("cpu").to_pylist(), [7] * 1000, "rows of the second stream")


@check()
def check_a_pending_event_may_be_destroyed(s: BackendSuite) -> None:
    with_events(s)
    with s.closed_gate():
        for _ in range(10):
            there = s.promptly(lambda: s.cdevice.asarray([1, 2, 3]).to(s.device_number()))
            s.promptly(there.release)


@check()
def check_a_source_lives_until_the_held_copy_has_read_it(s: BackendSuite) -> None:
    with_events(s)
    with s.closed_gate():
        source = s.cdevice.asarray(list(range(50_000)))
        there = s.promptly(lambda: source.to(s.device_number()))
        source.release()
        gc.collect()
        junk = [s.cdevice.asarray([0] * 50_000) for _ in range(20)]  # would be where the source was
    expect(there.to("cpu").to_pylist(), list(range(50_000)), "rows whose source was released")
    del junk


@check()
def check_a_second_stream_waits_for_slow_work(s: BackendSuite) -> None:
    """Without a gate: many large copies, and a small one on the other stream that must not come before them."""
    with_events(s)
    other = s.new_stream()
    s.needs(other is not None, "its suite offers no second stream")
    size, number = 16 << 20, s.device_number().id
    stream, event = s.ffi.cast("void *", other), s.ffi.new("cdevice_event *")
    ones, zeros = bytes([1]) * size, bytes(size)
    with s.block(size) as a, s.block(size) as b:
        s.copy(1, [(a.data, 0, s.host(ones), 0, size)])
        for _ in range(2):
            s.copy(1, [(b.data, 0, s.host(zeros), 0, size)])
            for _ in range(12):
                s.enqueue(3, [(b.data, 0, a.data, 0, size - 8)], or_from=ones)
            s.enqueue(3, [(b.data, size - 8, a.data, 0, 8)], or_from=ones)  # the bytes that are read come last
            s.call("event_record", number, s.ffi.NULL, event)
            out = bytearray(8)
            try:
                if event.sync_event:
                    s.call("event_wait_stream", number, event.sync_event, stream)
                s.enqueue(2, [(s.host(out), 0, b.data, size - 8, 8)], stream)
                s.wait_for(stream)
                s.wait_default()
            finally:
                if event.sync_event:
                    s.table.event_destroy(s.table.self, number, event)
            expect(bytes(out), ones[:8], "bytes that a second stream read behind the event of the first")


def _stream_that_ends(s: BackendSuite) -> Any:
    """A second stream; a skip holds what was made before it, so one is ended at once."""
    with_events(s)
    other = s.new_stream()
    s.needs(other is not None, "its suite offers no second stream")
    s.needs(s.end_stream(other), "its suite cannot end a stream")
    return s.new_stream()


@contextlib.contextmanager
def _written(s: BackendSuite, stream: Any, data: bytes) -> Iterator[Any]:
    """The event of a copy on a stream that has ended since, and what it wrote; memory was not taken for that stream."""
    number, event = s.device_number().id, s.ffi.new("cdevice_event *")
    handle = s.ffi.cast("void *", stream)
    with s.block(len(data)) as b:
        s.wait_default()
        s.enqueue(1, [(b.data, 0, s.host(data), 0, len(data))], handle)
        s.call("event_record", number, handle, event)
        s.end_stream(stream)
        try:
            yield event.sync_event, b
        finally:
            if event.sync_event:
                s.call("event_wait_host", number, event.sync_event)
                s.table.event_destroy(s.table.self, number, event)


def _passed(s: BackendSuite, event: Any) -> bool:
    done = s.ffi.new("int *")
    if event:
        s.call("event_done", s.device_number().id, event, done)
    return not event or bool(done[0])


@check()
def check_events_outlive_their_stream(s: BackendSuite) -> None:
    data = bytes(range(256)) * 4096
    with _written(s, _stream_that_ends(s), data) as (event, b):
        assert s.until(lambda: _passed(s, event)), "the event of a stream that has ended never passes"
        out = bytearray(len(data))
        if event:
            s.call("event_wait_stream", s.device_number().id, event, s.ffi.NULL)
        s.copy(2, [(s.host(out), 0, b.data, 0, len(data))])
    expect(bytes(out), data, "bytes written on a stream that has ended")


@check()
def check_pending_events_outlive_their_stream(s: BackendSuite) -> None:
    other = _stream_that_ends(s)
    data, out = bytes(range(256)) * 16, bytearray(256 * 16)
    with contextlib.ExitStack() as stack:
        with s.closed_gate(other):
            event, b = stack.enter_context(_written(s, other, data))
            assert not _passed(s, event), "the event passed when its stream was ended"
        if event:
            s.call("event_wait_stream", s.device_number().id, event, s.ffi.NULL)
        s.copy(2, [(s.host(out), 0, b.data, 0, len(data))])
    expect(bytes(out), data, "bytes written on a stream that has ended")
