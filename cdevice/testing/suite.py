"""The conformance suite: some two hundred checks that a device backend keeps its promises.

With pytest, in a file of its own::

    from cdevice.testing import BackendSuite

    class TestAcme(BackendSuite):
        device = "acme"

Without it: ``python -m cdevice check --device acme``.  A check that a device cannot have (no events, one device only,
no gate offered) is skipped and says why; everything else passes or the backend is at fault.
"""

import contextlib
import errno
import fnmatch
import gc
import pickle
import threading
import unittest

from . import cases

_TIMEOUT = 20.0  # seconds after which something that must not wait is said to hang

_CHECKS = []  # (area, name, function)


def _check(area, *parameters):
    """Registers a check; parameters: one test for each value."""

    def add(function):
        name = function.__name__.removeprefix("check_")
        if not parameters:
            _CHECKS.append((area, name, function))
        for p in parameters:
            text = "_".join(str(x) for x in p) if isinstance(p, tuple) else str(p)
            _CHECKS.append((area, f"{name}__{text}", lambda suite, f=function, p=p: f(suite, p)))
        return function

    return add


class BackendSuite:
    """Subclass it in pytest and name the device; see the module.

    ``device``: a name ("acme", "acme:1"), or None where ``backend`` is given.  ``backend``: a class, function or
    instance of backends that is registered for the run.  ``xfail``: {pattern of a test's name: reason} of what is known
    to fail; a pass there is a failure.  The methods below are hooks that open further checks.
    """

    device = None
    backend = None
    xfail = {}
    settle_limit = 20_000  # milliseconds for what a test made to be given back

    # ---- hooks ----
    def gate(self, stream=0):
        """A context manager that holds everything enqueued on ``stream`` from now on until it is left; None: there is
        no such thing.  With it the suite shows asynchrony."""
        return None

    def new_stream(self):
        """Another stream of the device, as ``stream=`` takes it; None: only the default.  Made by the backend's
        stream_create() where it has one; given back after the test."""
        out = self.ffi.new("void **")
        try:
            self.call("stream_create", self.device_number().id, out)
        except OSError as e:
            if e.errno != errno.ENOTSUP:
                raise
            return None
        self._streams.append(out[0])
        return int(self.ffi.cast("uintptr_t", out[0]))

    def fail_after(self, n):
        """From now on the ``n``-th call that can fail does (0: the next), None: none does.  Returns True where this is
        offered.  With it the suite shows that nothing leaks at any failure."""
        return False

    def live(self):
        """How many allocations and events of the device were not given back; None: unknown."""
        return None

    # ---- machinery ----
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for area, name, function in _CHECKS:
            _add_test(cls, area, name, function)

    def setup_method(self, method=None):
        self.open()

    def teardown_method(self, method=None):
        self.close()

    def open(self):
        import cdevice
        from cdevice._core import check, ffi, lib

        self.ffi, self.lib, self.cdevice, self.check = ffi, lib, cdevice, check
        self._registered, self._streams = None, []
        if self.backend is not None:
            made = self.backend() if callable(self.backend) else self.backend
            self.backend_object = made
            cdevice.register_backend(made)
            self._registered = made.device_type
            first = cdevice.device(made.device_type)
        else:
            if self.device is None:
                raise TypeError(f"{type(self).__name__} names no device: set `device` or `backend`")
            first = cdevice.device(self.device)
        try:
            number = ffi.new("int64_t *")
            from cdevice._devices.registry import need_backend

            need_backend(first.type_id)
            check(lib.cdv_device_count(first.type_id, number))
        except BaseException:
            self._unregister()
            raise
        self.type_id, self.first, self.devices = first.type_id, first, number[0]
        self.table = lib.cdv_backend_for(self.type_id)
        self.name = ffi.string(self.table.name).decode()
        self.capabilities = cdevice.Capability(self.table.capabilities)
        self._live_before = self._arrays_alive()

    def close(self):
        """After each test: whatever it made must be gone."""
        try:
            self.fail_after(None)
            self.settle()
            for stream in self._streams:
                self.table.stream_destroy(self.table.self, self.device_number().id, stream)
        finally:
            self._unregister()

    def _unregister(self):
        if self._registered is not None:
            with contextlib.suppress(self.cdevice.Error):
                self.cdevice.unregister_backend(self._registered)
            self._registered = None

    def _arrays_alive(self):
        return self.lib.cdv_backend_live(self.type_id), self.live()

    def until(self, condition):
        """Waits for what threads of the package still have to do; False: it did not come to be in time."""
        from cdevice._ext import _native

        pause = threading.Event()
        for i in range(self.settle_limit):
            if i % 100 == 5:
                gc.collect()
            _native.drain()
            if condition():
                return True
            pause.wait(0.001)
        return False

    def _settled(self):
        arrays, own = self._arrays_alive()
        before, own_before = self._live_before
        return arrays <= before and (own is None or own <= (own_before or 0)) and not self.lib.cdv_kept()

    def settle(self):
        """Waits until everything of the device was given back; AssertionError otherwise."""
        if self.until(self._settled):
            return
        now = self._arrays_alive()
        raise AssertionError(
            f"not given back: arrays, blocks and events {now[0] - self._live_before[0]}"
            + ("" if now[1] is None else f", by the backend's own count {now[1] - (self._live_before[1] or 0)}")
            + f", sources kept {self.lib.cdv_kept()}"
        )

    def needs(self, condition, why):
        if not condition:
            raise unittest.SkipTest(f"not for {self.name}: {why}")

    def device_number(self, i=0):
        return self.cdevice.device((self.type_id, (max(self.first.id, 0) + i) % self.devices))

    def promptly(self, function):
        """The result of a call that must not wait for the device."""
        out = []

        def run():
            try:
                out.append((function(), None))
            except BaseException as e:
                out.append((None, e))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(_TIMEOUT)
        if not out:
            raise AssertionError("the call waits for the device")
        if out[0][1] is not None:
            raise out[0][1]
        return out[0][0]

    def closed_gate(self, stream=0):
        gate = self.gate(stream)
        self.needs(gate is not None, "its suite offers no gate")
        return gate

    # ---- the table, called as the core calls it ----
    def call(self, function, *args):
        error = self.ffi.new("cdevice_error *", {"struct_size": self.ffi.sizeof("cdevice_error")})
        code = getattr(self.table, function)(self.table.self, *args, error)
        if code:
            text = self.ffi.string(error.message).decode("utf-8", "replace")
            raise OSError(code, text)

    @contextlib.contextmanager
    def block(self, nbytes, device=None):
        out = self.ffi.new("cdevice_block *")
        number = self.device_number().id if device is None else device
        self.call("alloc", number, nbytes, self.ffi.NULL, out)
        try:
            yield out
        finally:
            self.table.free(self.table.self, out)

    def copy(self, kind, copies, stream=None):
        """copies: (dst, dst offset, src, src offset, bytes); waits until they are done."""
        number = self.device_number().id
        array = self.ffi.new("cdevice_copy[]", max(1, len(copies)))
        for c, (dst, dst_offset, src, src_offset, nbytes) in zip(array, copies):
            c.dst, c.dst_offset, c.src, c.src_offset, c.nbytes = dst, dst_offset, src, src_offset, nbytes
            c.dst_device, c.src_device = (-1 if kind == 2 else number), (-1 if kind == 1 else number)
        self.call("copy", kind, array, len(copies), self.ffi.NULL)
        self.wait_default()

    def wait_default(self):
        if not self.capabilities & self.cdevice.Capability.EVENTS:
            return
        event = self.ffi.new("cdevice_event *")
        number = self.device_number().id
        self.call("event_record", number, self.ffi.NULL, event)
        if event.sync_event:
            try:
                self.call("event_wait_host", number, event.sync_event)
            finally:
                self.table.event_destroy(self.table.self, number, event)

    def host(self, data):
        return self.ffi.from_buffer(data)


def _add_test(cls, area, name, function):
    def test(self):
        pattern = next((p for p in self.xfail if fnmatch.fnmatch(name, p)), None)
        if pattern is None:
            function(self)
            return
        try:
            function(self)
        except unittest.SkipTest:
            raise
        except Exception:
            return
        raise AssertionError(f"passes, although it is expected to fail: {self.xfail[pattern]}")

    test.__name__ = f"test_{name}"
    test.__doc__ = function.__doc__
    test.area = area
    setattr(cls, test.__name__, test)


# ---- the table -------------------------------------------------------------------------------------------------------


@_check("table")
def check_the_name_is_a_word(s):
    import re

    assert re.fullmatch("[a-z][a-z0-9_]*", s.name), s.name


@_check("table")
def check_there_is_a_device_and_it_says_what_it_is(s):
    assert s.devices >= 1
    info = s.device_number().info
    assert info.name, "a device without a name"
    assert info.alignment >= 1 and info.alignment & (info.alignment - 1) == 0, info.alignment
    assert info.total_bytes >= -1 and info.free_bytes >= -1
    assert info.total_bytes < 0 or info.free_bytes <= info.total_bytes


@_check("table")
def check_capabilities_and_functions_agree(s):
    c, C = s.capabilities, s.cdevice.Capability
    if not c & C.ADDRESS:
        assert s.table.view, "without ADDRESS view() is required"
    if c & C.HOST_ACCESSIBLE:
        assert c & C.ADDRESS, "what the CPU reads has addresses"


@_check("table")
def check_a_device_that_is_not_there_is_refused(s):
    s.needs(s.type_id != 1, "the CPU has no number")
    array = s.cdevice.asarray([1, 2, 3])
    try:
        array.to((s.type_id, s.devices + 3))
    except (s.cdevice.DeviceError, ValueError, s.cdevice.BackendUnavailable):
        return
    raise AssertionError(f"{s.name}:{s.devices + 3} was accepted; there are {s.devices} devices")


# ---- memory ----------------------------------------------------------------------------------------------------------


@_check("memory", 1, 3, 64, 4097, 1 << 20)
def check_an_allocation_is_aligned_and_has_its_size(s, nbytes):
    alignment = s.device_number().info.alignment
    with s.block(nbytes) as b:
        assert b.data, "no address or handle"
        assert b.nbytes >= nbytes
        if s.capabilities & s.cdevice.Capability.ADDRESS:
            assert int(s.ffi.cast("uintptr_t", b.data)) % alignment == 0


@_check("memory")
def check_allocations_do_not_share_memory(s):
    with contextlib.ExitStack() as stack:
        blocks = [stack.enter_context(s.block(256)) for _ in range(40)]
        for i, b in enumerate(blocks):
            s.copy(1, [(b.data, 0, s.host(bytes([i]) * 256), 0, 256)])
        for i, b in enumerate(blocks):
            out = bytearray(256)
            s.copy(2, [(s.host(out), 0, b.data, 0, 256)])
            assert bytes(out) == bytes([i]) * 256, f"block {i} holds what was written to another"


@_check("memory")
def check_too_much_memory_is_an_error_and_leaves_the_device_usable(s):
    try:
        with s.block(1 << 62):
            raise AssertionError("2^62 bytes were allocated")
    except OSError as e:
        assert e.errno, e
    with s.block(64) as b:
        assert b.data


@_check("memory")
def check_a_view_is_a_part_of_its_block_and_keeps_it(s):
    from cdevice._ext import _native

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
    assert bytes(out) == data


@_check("memory")
def check_locate_tells_where_a_buffer_is(s):
    with s.block(4096) as b:
        kind, device, nbytes = s.ffi.new("int32_t *"), s.ffi.new("int64_t *", b.device_id), s.ffi.new("int64_t *")
        try:
            s.call("locate", b.data, kind, device, nbytes)
        except OSError as e:
            s.needs(e.errno != errno.ENOTSUP, "it has no locate()")
            raise
        assert kind[0] == s.type_id and device[0] == b.device_id
        assert nbytes[0] == -1 or nbytes[0] >= 4096


@_check("memory")
def check_locate_says_the_hinted_device_where_a_buffer_is_of_several(s):
    s.needs(s.devices > 1, "there is one device")
    for number in range(s.devices):
        with s.block(4096, number) as b:
            kind, device, nbytes = s.ffi.new("int32_t *"), s.ffi.new("int64_t *", number), s.ffi.new("int64_t *")
            try:
                s.call("locate", b.data, kind, device, nbytes)
            except OSError as e:
                s.needs(e.errno != errno.ENOTSUP, "it has no locate()")
                raise
            assert device[0] == number, f"memory of device {number} is said to be of {device[0]}"


class _Lender:
    """An allocator whose memory is the backend's own, with a record of it."""

    def __init__(self, suite):
        self.suite, self.out, self.back = suite, {}, 0

    def allocate(self, nbytes):
        s = self.suite
        block = s.ffi.new("cdevice_block *")
        s.call("alloc", s.device_number().id, nbytes, s.ffi.NULL, block)
        address = int(s.ffi.cast("uintptr_t", block.data))
        self.out[address] = block
        return address

    def deallocate(self, address, nbytes):
        self.back += 1
        self.suite.table.free(self.suite.table.self, self.out.pop(address))


@contextlib.contextmanager
def _lending(s):
    lender = _Lender(s)
    s.cdevice.set_allocator(s.type_id, lender)
    try:
        yield lender
    except s.cdevice.Unsupported as e:
        s.needs(False, f"it cannot cut another allocator's memory ({e})")
    finally:
        s.cdevice.set_allocator(s.type_id, None)


@_check("memory")
def check_memory_of_another_allocator_is_used_and_comes_back(s):
    with _lending(s) as lender:
        there = s.cdevice.asarray(["a", None, "bcd"]).to(s.device_number(), copy=True)
        assert len(lender.out) == 1
        assert there[1:].to("cpu").to_pylist() == [None, "bcd"]
        del there
        assert s.until(lambda: lender.back), "it was not given back"
        s.settle()
        assert lender.back == 1 and not lender.out


@_check("memory")
def check_lent_memory_comes_back_when_the_device_has_passed(s):
    _with_events(s)
    with _lending(s) as lender:
        with s.closed_gate():
            there = s.promptly(lambda: s.cdevice.asarray([1, 2, 3]).to(s.device_number()))
            s.promptly(there.release)
            del there
            gc.collect()
            assert not lender.back, "it was given back while the device could still use it"
        assert s.until(lambda: lender.back), "it was not given back"
        s.settle()
        assert lender.back == 1 and not lender.out


def _memory(s, *members):
    found = s.table.extension(s.table.self, s.ffi.new("char[]", b"cdevice.memory/1"))
    s.needs(found, "it offers no cdevice.memory/1")
    memory = s.ffi.cast("cdevice_memory *", found)
    s.needs(all(getattr(memory, m) for m in members), f"its cdevice.memory/1 has no {' or '.join(members)}")
    return memory


@_check("memory")
def check_a_device_is_made_current_and_the_old_one_again(s):
    memory = _memory(s, "enter", "leave")
    saved = s.ffi.new("void *[2]")
    number = s.device_number().id
    for i in range(2):
        assert memory.enter(s.table.self, number, saved + i, s.ffi.NULL) == 0
    for i in (1, 0):
        memory.leave(s.table.self, number, saved[i])
    assert memory.enter(s.table.self, 4711, saved, s.ffi.NULL), "device 4711 was made current"


@_check("memory")
def check_the_default_stream_can_be_used(s):
    memory = _memory(s, "usable")
    assert memory.usable(s.table.self, s.device_number().id, s.ffi.NULL, s.ffi.NULL) == 0


@_check("memory", 1, 100_000, 8 << 20)
def check_staging_memory_is_the_hosts_and_copies_take_it(s, nbytes):
    memory = _memory(s, "stage_alloc", "stage_free")
    staged = s.ffi.new("cdevice_block[2]")
    for i in range(2):
        assert memory.stage_alloc(s.table.self, s.device_number().id, nbytes, staged + i, s.ffi.NULL) == 0
    seen = [s.ffi.buffer(staged[i].data, nbytes) for i in range(2)]
    pattern = bytes(range(251)) * (nbytes // 251 + 1)
    seen[0][:] = pattern[:nbytes]
    with s.block(nbytes) as b:
        s.copy(1, [(b.data, 0, staged[0].data, 0, nbytes)])
        s.copy(2, [(staged[1].data, 0, b.data, 0, nbytes)])
    assert seen[1][:] == pattern[:nbytes]
    for i in range(2):
        memory.stage_free(s.table.self, staged + i)


@_check("memory")
def check_a_mark_passes_after_what_is_queued(s):
    memory = _memory(s, "mark")
    events = s.ffi.new("cdevice_event[2]")
    number, done = s.device_number().id, s.ffi.new("int *")

    def passed():
        for i in range(2):
            if events[i].sync_event:
                s.call("event_done", number, events[i].sync_event, done)
                if not done[0]:
                    return False
        return True

    with s.closed_gate():
        mark = memory.mark
        assert s.promptly(lambda: mark(s.table.self, number, s.ffi.NULL, events, events + 1, s.ffi.NULL)) == 0
        assert not passed(), "the mark has passed before the work that was queued"
    for i in range(2):
        if events[i].sync_event:
            s.call("event_wait_host", number, events[i].sync_event)
    assert passed()
    for i in range(2):
        s.table.event_destroy(s.table.self, number, events + i)


# ---- copies ----------------------------------------------------------------------------------------------------------


@_check("copies", (0, 0, 1), (1, 0, 3), (0, 1, 3), (7, 5, 65), (64, 64, 4096), (3, 0, 100_003), (0, 9, 1_000_003))
def check_bytes_arrive_where_they_belong(s, where):
    at, start, n = where
    data = bytes((i * 7 + 3) & 255 for i in range(251)) * (1 + (start + n) // 251)
    with s.block(at + n + 16) as b:
        s.copy(1, [(b.data, 0, s.host(b"\xaa" * (at + n + 16)), 0, at + n + 16)])
        s.copy(1, [(b.data, at, s.host(data), start, n)])
        out = bytearray(at + n + 16)
        s.copy(2, [(s.host(out), 0, b.data, 0, at + n + 16)])
        assert out[at : at + n] == data[start : start + n], "the bytes differ"
        assert out[:at] == b"\xaa" * at and out[at + n :] == b"\xaa" * 16, "bytes beside them were written"
        part = bytearray(n + 8)
        s.copy(2, [(s.host(part), 5, b.data, at, n)])
        assert part[5 : 5 + n] == data[start : start + n] and part[:5] == bytes(5)


@_check("copies")
def check_many_copies_in_one_call(s):
    n = 200
    data = bytes(range(200))
    with s.block(4 * n) as b:
        s.copy(1, [(b.data, 4 * i, s.host(data), i, 1) for i in range(n)])
        out = bytearray(n)
        s.copy(2, [(s.host(out), i, b.data, 4 * i, 1) for i in range(n)])
        assert bytes(out) == data


@_check("copies")
def check_no_copies_are_no_error(s):
    s.copy(1, [])


@_check("copies")
def check_copies_on_the_device(s):
    data = bytes(range(256)) * 40
    with s.block(len(data)) as a, s.block(len(data)) as b:
        s.copy(1, [(a.data, 0, s.host(data), 0, len(data))])
        s.copy(1, [(b.data, 0, s.host(bytes(len(data))), 0, len(data))])
        try:
            s.copy(3, [(b.data, 100, a.data, 3, 5000)])
        except OSError as e:
            assert e.errno in (errno.ENOTSUP, errno.EOPNOTSUPP), e
            s.needs(False, "it does not copy on the device; the core goes through the host")
        out = bytearray(len(data))
        s.copy(2, [(s.host(out), 0, b.data, 0, len(data))])
        assert out[100:5100] == data[3:5003] and not any(out[:100]) and not any(out[5100:])


# ---- arrays of every layout ------------------------------------------------------------------------------------------


def _same(a, b):
    a.validate("full")
    assert a.equals(b, nans_equal=True), f"{a.to_pylist()!r} is not {b.to_pylist()!r}"


@_check("layouts", *cases.names())
def check_there_and_back(s, name):
    source = cases.arrays()[name]
    there = source.to(s.device_number())
    assert there.device == s.device_number()
    assert there.length == 8
    _same(there.to("cpu"), source)


@_check("layouts", *cases.names())
def check_slices_there_and_back(s, name):
    source = cases.arrays()[name]
    for start, stop in ((0, 3), (1, 6), (3, 4), (7, 8), (4, 4)):
        rows = source[start:stop]
        there = rows.to(s.device_number())
        _same(there.to("cpu"), rows)
        _same(there[there.length // 2 :].to("cpu"), rows[rows.length // 2 :])


@_check("layouts", *cases.names())
def check_copied_on_the_device(s, name):
    source = cases.arrays()[name]
    there = source.to(s.device_number())
    again = there[1:7].to(s.device_number(), copy=True)
    _same(again.to("cpu"), source[1:7])


@_check("layouts", *cases.names())
def check_to_another_device_of_the_type(s, name):
    s.needs(s.devices > 1, "there is one device")
    source = cases.arrays()[name]
    there = source.to(s.device_number(0))
    other = there[2:].to(s.device_number(1))
    assert other.device == s.device_number(1)
    _same(other.to("cpu"), source[2:])


@_check("layouts")
def check_a_million_rows(s):
    import array

    source = s.cdevice.asarray(memoryview(array.array("q", range(1_000_000))))
    _same(source.to(s.device_number()).to("cpu"), source)


@_check("layouts")
def check_a_thousand_columns(s):
    column = s.cdevice.asarray(list(range(20)))
    from ..objects.buffers import from_buffers
    from ..schema import Schema

    schema = Schema.make("+s", children=[column.schema.with_name(f"c{i}") for i in range(1000)])
    source = from_buffers(schema, 20, [None], null_count=0, children=[column] * 1000)
    _same(source.to(s.device_number())[3:9].to("cpu"), source[3:9])


# ---- events ----------------------------------------------------------------------------------------------------------


def _with_events(s):
    s.needs(s.capabilities & s.cdevice.Capability.EVENTS, "it has no events")


@_check("events")
def check_an_array_becomes_ready(s):
    there = s.cdevice.asarray(list(range(1000))).to(s.device_number())
    there.synchronize(timeout=_TIMEOUT)
    assert there.ready
    there.synchronize()


@_check("events")
def check_without_events_data_is_safe_at_once(s):
    s.needs(not s.capabilities & s.cdevice.Capability.EVENTS, "it has events")
    there = s.cdevice.asarray([1, 2, 3]).to(s.device_number())
    assert there.sync_event == 0 and there.ready


@_check("events")
def check_the_event_comes_after_the_copy(s):
    _with_events(s)
    import array

    for i in range(8):
        source = s.cdevice.asarray(memoryview(array.array("q", [i + 1]) * (1 << 19)))
        there = source.to(s.device_number())
        there.synchronize(timeout=_TIMEOUT)
        other = s.new_stream()
        back = there[-3:].to("cpu", stream=other) if other is not None else there[-3:].to("cpu")
        assert back.to_pylist() == [i + 1] * 3, "the event had passed before the data was there"


@_check("events")
def check_an_event_is_not_done_while_its_queue_is_held(s):
    _with_events(s)
    with s.closed_gate():
        there = s.promptly(lambda: s.cdevice.asarray([1, 2, 3]).to(s.device_number()))
        assert not there.ready, "the event has passed before the work that it stands for"
        try:
            there.synchronize(timeout=0.005)
        except TimeoutError:
            pass
        else:
            raise AssertionError("synchronize() returned before the work was done")
    there.synchronize(timeout=_TIMEOUT)
    assert there.to("cpu").to_pylist() == [1, 2, 3]


@_check("events")
def check_waiting_on_the_host_waits(s):
    _with_events(s)
    event, done = s.ffi.new("cdevice_event *"), threading.Event()
    number = s.device_number().id
    with s.closed_gate():
        s.call("event_record", number, s.ffi.NULL, event)
        assert event.sync_event, "an event that is safe already, on a queue that is held"

        def wait():
            s.call("event_wait_host", number, event.sync_event)
            done.set()

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        assert not done.wait(0.05), "event_wait_host returned while the queue was held"
    assert done.wait(_TIMEOUT), "event_wait_host never returned"
    thread.join()
    s.table.event_destroy(s.table.self, number, event)


@_check("events")
def check_another_stream_waits_on_the_device(s):
    _with_events(s)
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
    assert behind.to("cpu").to_pylist() == [7] * 1000


@_check("events")
def check_a_pending_event_may_be_destroyed(s):
    _with_events(s)
    with s.closed_gate():
        for _ in range(10):
            there = s.promptly(lambda: s.cdevice.asarray([1, 2, 3]).to(s.device_number()))
            s.promptly(there.release)


@_check("events")
def check_a_source_lives_until_the_held_copy_has_read_it(s):
    _with_events(s)
    with s.closed_gate():
        source = s.cdevice.asarray(list(range(50_000)))
        there = s.promptly(lambda: source.to(s.device_number()))
        source.release()
        gc.collect()
        junk = [s.cdevice.asarray([0] * 50_000) for _ in range(20)]  # would be where the source was
    assert there.to("cpu").to_pylist() == list(range(50_000))
    del junk


# ---- release ---------------------------------------------------------------------------------------------------------


def _exported(s, array):
    out = s.ffi.new("struct ArrowDeviceArray *")
    array._export_structs(int(s.ffi.cast("uintptr_t", out)), 0)
    return out


@_check("release")
def check_release_on_a_thread_that_never_saw_python(s):
    for _ in range(20):
        there = s.cdevice.asarray([1, 2, 3]).to(s.device_number())
        out = _exported(s, there)
        del there
        assert s.lib.cdv_release_in_thread(out, 1) == 0


@_check("release")
def check_release_is_idempotent_and_slices_keep_the_data(s):
    there = s.cdevice.asarray(list(range(10))).to(s.device_number())
    part = there[3:]
    there.release()
    there.release()
    assert there.released
    assert part.to("cpu").to_pylist() == list(range(3, 10))


@_check("release")
def check_release_does_not_wait_for_the_device(s):
    _with_events(s)
    with s.closed_gate():
        there = s.promptly(lambda: s.cdevice.asarray([1] * 1000).to(s.device_number()))
        out = _exported(s, there)
        del there
        s.promptly(lambda: s.lib.cdv_release_in_thread(out, 1))


@_check("release")
def check_everything_is_given_back(s):
    before = s._arrays_alive()
    for _ in range(50):
        s.cdevice.asarray(list(range(100))).to(s.device_number()).to("cpu")
    s.settle()
    assert s._arrays_alive() == before or s._arrays_alive()[0] <= before[0]


# ---- failures --------------------------------------------------------------------------------------------------------


@_check("failures", "to_the_device", "from_the_device", "on_the_device")
def check_nothing_leaks_at_any_failure(s, way):
    s.needs(s.fail_after(None), "its suite injects no failures")
    record = cases.arrays()["record"]
    target = s.device_number()
    there = None if way == "to_the_device" else record.to(target)
    if there is not None:
        there.synchronize()
    for n in range(200):
        s.fail_after(n)
        try:
            if way == "to_the_device":
                out = record.to(target)
            elif way == "from_the_device":
                out = there.to("cpu")
            else:
                out = there.to(target, copy=True)
        except s.cdevice.Error as e:
            assert str(e), "an error without a text"
            continue
        finally:
            s.fail_after(None)
        assert n, "the first call was to fail, and nothing was reported"
        _same(out.to("cpu"), record)
        break
    else:
        raise AssertionError("after 200 failures it still fails")
    del out, there


# ---- protocols -------------------------------------------------------------------------------------------------------


@_check("protocols")
def check_a_consumer_gets_device_and_event(s):
    there = s.cdevice.asarray([1, 2, 3]).to(s.device_number())
    out = _exported(s, there)
    assert (out.device_type, out.device_id) == (s.type_id, s.device_number().id)
    assert int(s.ffi.cast("uintptr_t", out.sync_event)) == there.sync_event
    assert list(out.reserved) == [0, 0, 0]
    out.array.release(s.ffi.addressof(out, "array"))


@_check("protocols")
def check_capsules_go_through_unchanged(s):
    there = s.cdevice.asarray(["a", None, "ccc"]).to(s.device_number())
    received = s.cdevice.import_capsules(*there.__arrow_c_device_array__())
    assert received.device == there.device and received.sync_event == there.sync_event
    assert [b.address for b in received.buffers] == [b.address for b in there.buffers]
    del there
    assert received.to("cpu").to_pylist() == ["a", None, "ccc"]


@_check("protocols")
def check_host_protocols_give_the_data_or_say_what_to_do(s):
    there = s.cdevice.asarray([1, 2, 3]).to(s.device_number())
    if s.capabilities & s.cdevice.Capability.HOST_ACCESSIBLE or s.type_id == 1:
        received = s.cdevice.import_capsules(*there.__arrow_c_array__())
        assert received.to_pylist() == [1, 2, 3]
        return
    try:
        there.__arrow_c_array__()
    except s.cdevice.CannotExport as e:
        assert '.to("cpu")' in str(e)
        return
    raise AssertionError("memory that the CPU cannot read was handed out as if it could")


@_check("protocols")
def check_pickles_hold_the_data(s):
    there = s.cdevice.asarray([1, None, 3]).to(s.device_number())
    assert pickle.loads(pickle.dumps(there)).to("cpu").to_pylist() == [1, None, 3]


# ---- streams ---------------------------------------------------------------------------------------------------------


@_check("streams", 0, 2)
def check_a_stream_moves_there_and_back(s, prefetch):
    arrays = [s.cdevice.asarray([i, None, i * i]) for i in range(20)]
    there = s.cdevice.asstream(arrays).to(s.device_number(), prefetch=prefetch)
    assert there.device_type_id == s.type_id
    got = [a.to_pylist() for a in there.to("cpu", prefetch=prefetch)]
    assert got == [a.to_pylist() for a in arrays]


@_check("streams")
def check_a_stream_leaves_and_comes_in_through_its_struct(s):
    arrays = [s.cdevice.asarray([i]).to(s.device_number()) for i in range(5)]
    out = s.ffi.new("struct ArrowDeviceArrayStream *")
    s.cdevice.asstream(arrays).export_to_c(out)
    assert out.device_type == s.type_id
    got = list(s.cdevice.import_stream_from_c(out))
    assert [a.to("cpu").to_pylist() for a in got] == [[i] for i in range(5)]


@_check("streams")
def check_an_asynchronous_stream(s):
    from .. import aio

    got = list(aio.iterate([s.cdevice.asarray([i]) for i in range(10)], device=s.device_number()))
    assert [a.device.type_id for a in got] == [s.type_id] * 10
    assert [a.to("cpu").to_pylist() for a in got] == [[i] for i in range(10)]


@_check("streams")
def check_a_named_stream_is_used(s):
    other = s.new_stream()
    s.needs(other is not None, "its suite offers no second stream")
    with s.closed_gate():
        there = s.promptly(lambda: s.cdevice.asarray([1, 2]).to(s.device_number(), stream=other))
        assert s.promptly(lambda: there.to("cpu", stream=other)).to_pylist() == [1, 2], "it ran on the held stream"


# ---- threads ---------------------------------------------------------------------------------------------------------


@_check("threads")
def check_eight_threads_at_once(s):
    errors = []

    def work(i):
        try:
            for k in range(15):
                values = list(range(i * 100, i * 100 + k))
                source = s.cdevice.asarray(values, schema="int64")
                assert source.to(s.device_number(i)).to("cpu").to_pylist() == values
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


@_check("threads")
def check_made_here_and_read_there(s):
    there = s.cdevice.asarray(list(range(100))).to(s.device_number())
    assert s.promptly(lambda: there.to("cpu").to_pylist()) == list(range(100))


# ---- running without pytest ------------------------------------------------------------------------------------------


def run(suite, report=None):
    """Runs every check of a suite class: [(area, name, outcome, text)], outcome "passed", "failed" or "not applicable".

    ``report``: called with each as it ends.  Raises BackendUnavailable where the device is not there.
    """
    out = []
    first = suite()
    first.open()
    first.close()
    for area, name, _ in _CHECKS:
        one = suite()
        outcome, text = "passed", ""
        try:
            one.open()
            try:
                getattr(one, f"test_{name}")()
            except unittest.SkipTest as e:
                outcome, text = "not applicable", str(e)
            finally:
                one.close()
        except Exception as e:
            outcome, text = "failed", f"{type(e).__name__}: {e}"
        out.append((area, name, outcome, text))
        if report:
            report(*out[-1])
    return out


def suite_for(device):
    """A suite class for a device's name, with nothing but what every device offers."""
    return type("Suite", (BackendSuite,), {"device": device})
