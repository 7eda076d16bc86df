"""Blocks, views, locate(), other allocators' memory, the extension cdevice.memory/1."""

from __future__ import annotations

import array
import contextlib
import errno
import gc

from .area import Area, expect, with_events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..suite import BackendSuite


check = Area("memory")


@check(1, 3, 64, 4097, 1 << 20)
def check_an_allocation_is_aligned_and_has_its_size(s: BackendSuite, nbytes: int) -> None:
    alignment = s.device_number().info.alignment
    with s.block(nbytes) as b:
        assert b.data, "no address or handle"
        assert b.nbytes >= nbytes, f"{b.nbytes} bytes were given, {nbytes} asked for"
        if s.capabilities & s.cdevice.Capability.ADDRESS:
            address = int(s.ffi.cast("uintptr_t", b.data))
            assert address % alignment == 0, f"{address:#x} is no multiple of {alignment}, as device_info() promises"


@check()
def check_allocations_do_not_share_memory(s: BackendSuite) -> None:
    with contextlib.ExitStack() as stack:
        blocks = [stack.enter_context(s.block(256)) for _ in range(40)]
        for i, b in enumerate(blocks):
            s.copy(1, [(b.data, 0, s.host(bytes([i]) * 256), 0, 256)])
        for i, b in enumerate(blocks):
            out = bytearray(256)
            s.copy(2, [(s.host(out), 0, b.data, 0, 256)])
            assert bytes(out) == bytes([i]) * 256, f"block {i} holds what was written to another"


@check()
def check_too_much_memory_is_an_error_and_leaves_the_device_usable(s: BackendSuite) -> None:
    try:
        with s.block(1 << 62):
            raise AssertionError("2^62 bytes were allocated")
    except OSError as e:
        assert e.errno, f"an error without a number: {e}"
    with s.block(64) as b:
        assert b.data, "no memory any more after a refusal"


@check()
def check_a_view_is_a_part_of_its_block_and_keeps_it(s: BackendSuite) -> None:
    from cdevice._runtime.ext import _native

    s.needs(not s.capabilities & s.cdevice.Capability.ADDRESS, "its addresses can be added to")
    alignment = s.device_number().info.alignment
    view = s.ffi.new("cdevice_block *")
    data = bytes(range(256)) * 16
    with s.block(4096 + alignment) as whole:
        s.copy(1, [(whole.data, alignment, s.host(data), 0, 4096)])
        s.call("view", whole, alignment, 4096, view)
    _native.drain()  # a backend in Python frees behind the scenes
    out = bytearray(4096)
    try:
        s.copy(2, [(s.host(out), 0, view.data, 0, 4096)])  # the whole was given back
    finally:
        s.table.free(s.table.self, view)
    expect(bytes(out), data, "bytes of a view whose block was given back")


@check()
def check_locate_tells_where_a_buffer_is(s: BackendSuite) -> None:
    with s.block(4096) as b:
        kind, device, nbytes = s.ffi.new("int32_t *"), s.ffi.new("int64_t *", b.device_id), s.ffi.new("int64_t *")
        try:
            s.call("locate", b.data, kind, device, nbytes)
        except OSError as e:
            s.needs(e.errno != errno.ENOTSUP, "it has no locate()")
            raise
        expect((kind[0], device[0]), (s.type_id, b.device_id), "(device type, device) that locate() returns")
        assert nbytes[0] == -1 or nbytes[0] >= 4096, f"locate() returned {nbytes[0]} bytes of a block of 4096"


@check()
def check_locate_says_the_hinted_device_where_a_buffer_is_of_several(s: BackendSuite) -> None:
    s.needs(s.devices > 1, "there is one device")
    for number in range(s.devices):
        with s.block(4096, number) as b:
            kind, device, nbytes = s.ffi.new("int32_t *"), s.ffi.new("int64_t *", number), s.ffi.new("int64_t *")
            try:
                s.call("locate", b.data, kind, device, nbytes)
            except OSError as e:
                s.needs(e.errno != errno.ENOTSUP, "it has no locate()")
                raise
            assert device[0] == number, f"memory of device {number} is reported as of {device[0]}"


def _of(s: BackendSuite, value: int, rows: int) -> Any:
    return s.cdevice.asarray(memoryview(array.array("q", [value]) * rows))


@check()
def check_what_a_queued_copy_reads_is_not_used_again(s: BackendSuite) -> None:
    """Arrays are dropped while copies of them are queued, and others take memory."""
    rows = 1 << 19
    for i in range(4):
        there = _of(s, i, rows).to(s.device_number())
        for _ in range(3):
            there = there.to(s.device_number(), copy=True)
        others = [_of(s, 777, rows).to(s.device_number()) for _ in range(3)]
        expect(there.to("cpu").to_pylist(), [i] * rows, "rows copied from an array that was dropped")
        del there, others


@check()
def check_what_a_held_copy_reads_is_not_used_again(s: BackendSuite) -> None:
    with_events(s)
    other = s.new_stream()
    s.needs(other is not None, "its suite offers no second stream")
    with s.closed_gate():
        pass  # there is one: a skip holds what was made before it
    rows = 20_000
    there = _of(s, 1, rows).to(s.device_number())
    there.synchronize(timeout=s.limit())
    with s.closed_gate():
        copied = s.promptly(lambda: there.to(s.device_number(), copy=True))
        s.promptly(there.release)
        there = None
        gc.collect()
        others = [s.promptly(lambda: _of(s, 777, rows).to(s.device_number(), stream=other)) for _ in range(5)]
        for array_ in others:
            array_.synchronize(timeout=s.limit())
    expect(copied.to("cpu").to_pylist(), [1] * rows, "rows copied from an array that was dropped")
    del others


class _Lender:
    """An allocator whose memory is the backend's own, with a record of it."""

    def __init__(self, suite: Any) -> None:
        self.suite, self.back = suite, 0
        self.out: dict[int, Any] = {}

    def allocate(self, nbytes: int) -> Any:
        s = self.suite
        block = s.ffi.new("cdevice_block *")
        s.call("alloc", s.device_number().id, nbytes, s.ffi.NULL, block)
        address = int(s.ffi.cast("uintptr_t", block.data))
        self.out[address] = block
        return address

    def deallocate(self, address: int, nbytes: int) -> None:
        self.back += 1
        self.suite.table.free(self.suite.table.self, self.out.pop(address))


@contextlib.contextmanager
def _lending(s: BackendSuite) -> Iterator[Any]:
    lender = _Lender(s)
    s.cdevice.set_allocator(s.type_id, lender)
    try:
        yield lender
    except s.cdevice.Unsupported as e:
        s.needs(False, f"it cannot cut another allocator's memory ({e})")
    finally:
        s.cdevice.set_allocator(s.type_id, None)


@check()
def check_memory_of_another_allocator_is_used_and_comes_back(s: BackendSuite) -> None:
    with _lending(s) as lender:
        there = s.cdevice.asarray(["a", None, "bcd"]).to(s.device_number(), copy=True)
        expect(len(lender.out), 1, "blocks taken from the allocator")
        expect(there[1:].to("cpu").to_pylist(), [None, "bcd"], "rows in an allocator's memory")
        del there
        assert s.until(lambda: lender.back), "it was not given back"
        s.settle()
        expect((lender.back, len(lender.out)), (1, 0), "blocks that were given back, that were not")


@check()
def check_lent_memory_comes_back_when_the_device_has_passed(s: BackendSuite) -> None:
    with_events(s)
    with _lending(s) as lender:
        with s.closed_gate():
            there = s.promptly(lambda: s.cdevice.asarray([1, 2, 3]).to(s.device_number()))
            s.promptly(there.release)
            del there
            gc.collect()
            assert not lender.back, "it was given back while the device could still use it"
        assert s.until(lambda: lender.back), "it was not given back"
        s.settle()
        expect((lender.back, len(lender.out)), (1, 0), "blocks that were given back, that were not")


def _memory(s: BackendSuite, *members: str) -> Any:
    found = s.table.extension(s.table.self, s.ffi.new("char[]", b"cdevice.memory/1"))
    s.needs(found, "it offers no cdevice.memory/1")
    memory = s.ffi.cast("cdevice_memory *", found)
    has = [memory.struct_size > s.ffi.offsetof("cdevice_memory", m) and getattr(memory, m) for m in members]
    s.needs(all(has), f"its cdevice.memory/1 has no {' or '.join(members)}")
    return memory


@check()
def check_a_device_is_made_current_and_the_old_one_again(s: BackendSuite) -> None:
    memory = _memory(s, "enter", "leave")
    saved = s.ffi.new("void *[2]")
    number = s.device_number().id
    for i in range(2):
        expect(memory.enter(s.table.self, number, saved + i, s.ffi.NULL), 0, "what enter() answers")
    for i in (1, 0):
        memory.leave(s.table.self, number, saved[i])
    assert memory.enter(s.table.self, 4711, saved, s.ffi.NULL), "device 4711 was made current"


@check()
def check_the_default_stream_can_be_used(s: BackendSuite) -> None:
    memory = _memory(s, "stream_accepts_work")
    code = memory.stream_accepts_work(s.table.self, s.device_number().id, s.ffi.NULL, s.ffi.NULL)
    expect(code, 0, "what stream_accepts_work() returns")


@check(1, 100_000, 8 << 20)
def check_staging_memory_is_the_hosts_and_copies_take_it(s: BackendSuite, nbytes: int) -> None:
    memory = _memory(s, "stage_alloc", "stage_free")
    staged = s.ffi.new("cdevice_block[2]")
    for i in range(2):
        code = memory.stage_alloc(s.table.self, s.device_number().id, nbytes, staged + i, s.ffi.NULL)
        expect(code, 0, "what stage_alloc() answers")
    seen = [s.ffi.buffer(staged[i].data, nbytes) for i in range(2)]
    pattern = bytes(range(251)) * (nbytes // 251 + 1)
    seen[0][:] = pattern[:nbytes]
    with s.block(nbytes) as b:
        s.copy(1, [(b.data, 0, staged[0].data, 0, nbytes)])
        s.copy(2, [(staged[1].data, 0, b.data, 0, nbytes)])
    expect(seen[1][:], pattern[:nbytes], "bytes that went through staging memory")
    for i in range(2):
        memory.stage_free(s.table.self, staged + i)


@check(100_000, 8 << 20)
def check_what_is_written_before_commit_is_what_the_block_holds(s: BackendSuite, nbytes: int) -> None:
    memory = _memory(s, "prepare", "commit", "discard")
    number, block, back = s.device_number().id, s.ffi.new("cdevice_block *"), s.ffi.new("char[]", nbytes)

    def prepared() -> bytes:
        code = memory.prepare(s.table.self, number, nbytes, block, s.ffi.NULL)
        s.needs(code != errno.ENOTSUP, "this device has no memory that the host fills")
        expect(code, 0, "what prepare() answers")
        pattern = bytes(range(251)) * (nbytes // 251 + 1)
        s.ffi.buffer(block.data, nbytes)[:] = pattern[:nbytes]
        return pattern[:nbytes]

    prepared()
    memory.discard(s.table.self, block)
    wanted = prepared()
    expect(memory.commit(s.table.self, s.ffi.NULL, block, s.ffi.NULL), 0, "what commit() answers")
    s.copy(2, [(back, 0, block.data, 0, nbytes)])
    s.table.free(s.table.self, block)
    expect(s.ffi.buffer(back, nbytes)[:], wanted, "bytes of the block")


@check()
def check_nothing_is_unfinished_once_the_device_is_idle(s: BackendSuite) -> None:
    memory = _memory(s, "has_pending_work")
    s.settle()
    assert s.until(lambda: not memory.has_pending_work(s.table.self)), "work is unfinished on a device that has none"


@check()
def check_a_mark_passes_after_what_is_queued(s: BackendSuite) -> None:
    memory = _memory(s, "record_last_use")
    events = s.ffi.new("cdevice_event[2]")
    number, done = s.device_number().id, s.ffi.new("int *")

    def passed() -> Any:
        for i in range(2):
            if events[i].sync_event:
                s.call("event_done", number, events[i].sync_event, done)
                if not done[0]:
                    return False
        return True

    with s.closed_gate():
        mark = memory.record_last_use
        code = s.promptly(lambda: mark(s.table.self, number, s.ffi.NULL, events, events + 1, s.ffi.NULL))
        expect(code, 0, "what mark() answers")
        assert not passed(), "the mark has passed before the work that was queued"
    for i in range(2):
        if events[i].sync_event:
            s.call("event_wait_host", number, events[i].sync_event)
    assert passed(), "the mark has not passed after it was waited for"
    for i in range(2):
        s.table.event_destroy(s.table.self, number, events + i)
