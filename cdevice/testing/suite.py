"""The conformance suite: some two hundred checks that a device backend keeps its promises.

With pytest, in a file of its own::

    from cdevice.testing import BackendSuite

    class TestAcme(BackendSuite):
        device = "acme"

Without it: ``python -m cdevice check --device acme``.  A check that a device cannot have (no events, one device only,
no gate offered) is skipped with a reason; everything else passes or the backend is at fault.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import gc
import threading
import time
import unittest

from .._devices.tables import drop_kept
from .areas import CHECKS, KERNEL_CHECKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .._types import Device
    from ..backend import Capability


class BackendSuite:
    """Subclass it in pytest and name the device; see the module.

    ``device``: a name ("acme", "acme:1"), or None where ``backend`` is given.  ``backend``: a class, function or
    instance of backends that is registered for the run.  ``xfail``: {pattern of a test's name: reason} of known
    failures; a pass there is a failure.  The methods below are hooks that open further checks.
    """

    device: str | None = None
    backend: Any = None
    xfail: dict[str, str] = {}
    checks = CHECKS
    hang_limit = 20.0  # seconds after which something that must not wait counts as hanging
    settle_limit = 20_000  # milliseconds for what a test made to be given back

    # what open() finds: the modules of the package, the device, its table
    ffi: Any
    lib: Any
    cdevice: Any
    check: Callable[[int], None]
    backend_object: Any
    type_id: int
    first: Device
    devices: int
    table: Any
    name: str
    capabilities: Capability
    _registered: int | None
    _streams: list[Any]
    _live_before: tuple[int, int | None]
    _kept_before: int
    _held = _lacking = 0  # comparisons of a check of kernels that were made, that the device has no float64 for
    _failed = False  # this check did: what it holds is not looked for, its error is the one to be seen
    _left_behind = False  # of the class: a backend that could not be taken out, for something of it is still alive
    _impatient = False  # of the class: something was waited for in vain

    # ---- hooks ----
    def gate(self, stream: int = 0) -> Any:
        """A context manager that holds everything enqueued on ``stream`` from now on until it is left; None: there is
        no such thing.  With it the suite shows asynchrony."""
        return None

    def new_stream(self) -> Any:
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

    def end_stream(self, stream: Any) -> bool:
        """Ends a stream of :meth:`new_stream` now, with its unfinished work.  Returns True where this is offered."""
        handle = self.ffi.cast("void *", stream)
        if handle not in self._streams or not self.table.stream_destroy:
            return False
        self._streams.remove(handle)
        self.table.stream_destroy(self.table.self, self.device_number().id, handle)
        return True

    def failing_gate(self, stream: Any = 0) -> Any:
        """As :meth:`gate`; what was enqueued behind it fails when it is left.  None: there is no such thing."""
        return None

    def fail_after(self, n: int | None) -> bool:
        """From now on the ``n``-th call that can fail does (0: the next), None: none does.  Returns True where this is
        offered.  With it the suite shows that nothing leaks at any failure."""
        return False

    def live(self) -> int | None:
        """How many allocations and events of the device were not given back; None: unknown."""
        return None

    # ---- machinery ----
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for area, name, function in cls.checks:
            _add_test(cls, area, name, function)

    def setup_method(self, method: object = None) -> None:
        self.open()

    def teardown_method(self, method: object = None) -> None:
        self.close()

    def open(self) -> None:
        import cdevice
        from cdevice._core import check, ffi, lib

        self.ffi, self.lib, self.cdevice, self.check = ffi, lib, cdevice, check
        self._registered = None
        self._streams = []
        self._failed = False
        if self.backend is not None:
            made = self.backend() if callable(self.backend) else self.backend
            self.backend_object = made
            cdevice.register_backend(made, replace=self._left_behind)
            self._registered = made.device_type
            first = cdevice.device(made.device_type)
        else:
            if self.device is None:
                raise TypeError(f"{type(self).__name__} has no device: set `device` or `backend`")
            first = cdevice.device(self.device)
        try:
            from cdevice._devices.device import need_device

            number = need_device(first.type_id, first.id)
        except BaseException:
            self._unregister()
            raise
        self.type_id, self.first, self.devices = first.type_id, first, number
        self.table = lib.cdv_backend_table(self.type_id)
        self.name = ffi.string(self.table.name).decode()
        self.capabilities = cdevice.Capability(self.table.capabilities)
        self._live_before = self._arrays_alive()
        self._kept_before = lib.cdv_retired_count()

    def close(self) -> None:
        """After each test: all its objects must be gone.  After one that failed its error alone counts."""
        try:
            self.fail_after(None)
            if not self._failed:
                self.settle()
            for stream in self._streams:
                self.table.stream_destroy(self.table.self, self.device_number().id, stream)
        finally:
            self._unregister()

    def _unregister(self) -> None:
        if self._registered is not None:
            try:
                self.cdevice.unregister_backend(self._registered)
                type(self)._left_behind = False
            except self.cdevice.BackendConflict:
                type(self)._left_behind = True  # the next one takes its place
            except self.cdevice.Error:
                pass
            self._registered = None

    def _arrays_alive(self) -> tuple[int, int | None]:
        return self.lib.cdv_backend_live(self.type_id), self.live()

    def until(self, condition: Callable[[], bool]) -> bool:
        """Waits for what threads of the package still have to do; False: it did not come to be in time."""
        from cdevice._runtime.ext import _native

        pause = threading.Event()
        for i in range(int(self.limit(self.settle_limit / 1000) * 1000) or 1):
            if i % 100 == 5:
                gc.collect()
            _native.drain()
            if condition():
                return True
            pause.wait(0.001)
        self.spent()
        return False

    def limit(self, seconds: float | None = None) -> float:
        """How long to wait for what may never come, ``hang_limit`` by default: much less once that was in vain."""
        full = self.hang_limit if seconds is None else seconds
        return min(full, 0.3) if self._impatient else full

    def spent(self) -> None:
        """A limit has passed: one fault is not to be waited for in every check."""
        type(self)._impatient = True

    def _settled(self) -> bool:
        arrays, own = self._arrays_alive()
        before, own_before = self._live_before
        return (
            arrays <= before
            and (own is None or own <= (own_before or 0))
            and (self.lib.cdv_retired_count() <= self._kept_before)
        )

    def settle(self) -> None:
        """Waits until everything of the device was given back; AssertionError otherwise."""
        drop_kept()
        if self.until(self._settled):
            return
        now = self._arrays_alive()
        raise AssertionError(
            f"not given back: arrays, blocks and events {now[0] - self._live_before[0]}"
            + ("" if now[1] is None else f", by the backend's own count {now[1] - (self._live_before[1] or 0)}")
            + f", sources kept {self.lib.cdv_retired_count() - self._kept_before}"
        )

    def needs(self, condition: object, why: str) -> None:
        if not condition:
            raise unittest.SkipTest(f"not for {self.name}: {why}")

    def device_number(self, i: int = 0) -> Any:
        return self.cdevice.device((self.type_id, (max(self.first.id, 0) + i) % self.devices))

    def promptly(self, function: Callable[..., Any]) -> Any:
        """The result of a call that must not wait for the device."""
        out: list[tuple[Any, BaseException | None]] = []

        def run() -> None:
            try:
                out.append((function(), None))
            except BaseException as e:
                out.append((None, e))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(self.limit())
        if not out:
            self.spent()
            raise AssertionError("the call waits for the device")
        if out[0][1] is not None:
            raise out[0][1]
        return out[0][0]

    def closed_gate(self, stream: int = 0) -> Any:
        gate = self.gate(stream)
        self.needs(gate is not None, "its suite offers no gate")
        return gate

    # ---- the table, called as the core calls it ----
    def call(self, function: str, *args: object) -> None:
        error = self.ffi.new("cdevice_error *", {"struct_size": self.ffi.sizeof("cdevice_error")})
        code = getattr(self.table, function)(self.table.self, *args, error)
        if code:
            text = self.ffi.string(error.message).decode("utf-8", "replace")
            raise OSError(code, text)

    @contextlib.contextmanager
    def block(self, nbytes: int, device: int | None = None) -> Iterator[Any]:
        out = self.ffi.new("cdevice_block *")
        number = self.device_number().id if device is None else device
        self.call("alloc", number, nbytes, self.ffi.NULL, out)
        try:
            yield out
        finally:
            self.table.free(self.table.self, out)

    def copy(self, kind: Any, copies: Any, stream: int | None = None) -> None:
        """copies: (dst, dst offset, src, src offset, bytes); waits until they are done."""
        number = self.device_number().id
        array = self.ffi.new("cdevice_copy[]", max(1, len(copies)))
        for c, (dst, dst_offset, src, src_offset, nbytes) in zip(array, copies):
            c.dst, c.dst_offset, c.src, c.src_offset, c.nbytes = dst, dst_offset, src, src_offset, nbytes
            c.dst_device, c.src_device = (-1 if kind == 2 else number), (-1 if kind == 1 else number)
        self.call("copy", kind, array, len(copies), self.ffi.NULL)
        self.wait_default()

    def enqueue(self, kind: int, copies: Any, stream: Any = None, *, or_from: bytes | None = None) -> None:
        """As :meth:`copy`, and does not wait; of one device.  ``or_from``: the host memory to copy from where the
        device does not copy by itself."""
        number = self.device_number().id
        array = self.ffi.new("cdevice_copy[]", len(copies))
        for c, (dst, dst_offset, src, src_offset, nbytes) in zip(array, copies):
            c.dst, c.dst_offset, c.src, c.src_offset, c.nbytes = dst, dst_offset, src, src_offset, nbytes
            c.dst_device, c.src_device = (-1 if kind == 2 else number), (-1 if kind == 1 else number)
        try:
            self.call("copy", kind, array, len(copies), stream or self.ffi.NULL)
        except OSError as e:
            if or_from is None or e.errno not in (errno.ENOTSUP, errno.EOPNOTSUPP):
                raise
            host = self.host(or_from)
            self.enqueue(1, [(c[0], c[1], host, c[3], c[4]) for c in copies], stream)

    def wait_default(self) -> None:
        self.wait_for(self.ffi.NULL)

    def wait_for(self, stream: Any) -> None:
        """Waits until the stream has passed everything, by an event."""
        if not self.capabilities & self.cdevice.Capability.EVENTS:
            return
        event = self.ffi.new("cdevice_event *")
        number = self.device_number().id
        self.call("event_record", number, stream, event)
        if event.sync_event:
            try:
                self.call("event_wait_host", number, event.sync_event)
            finally:
                self.table.event_destroy(self.table.self, number, event)

    def host(self, data: Any) -> Any:
        return self.ffi.from_buffer(data)


def _add_test(cls: type, area: str, name: str, function: Callable[..., Any]) -> None:
    def test(self: BackendSuite) -> None:
        pattern = next((p for p in self.xfail if fnmatch.fnmatch(name, p)), None)
        began = time.monotonic()
        try:
            function(self)
        except unittest.SkipTest:
            raise
        except BaseException as e:
            self._failed = True
            if time.monotonic() - began > 0.9 * self.limit() > 0.3:
                self.spent()
            if pattern is None or not isinstance(e, Exception):
                raise
            return
        if pattern is None:
            return
        raise AssertionError(f"passes, although it is expected to fail: {self.xfail[pattern]}")

    test.__name__ = f"test_{name}"
    test.__doc__ = function.__doc__
    vars(test)["area"] = area
    setattr(cls, test.__name__, test)


class KernelSuite(BackendSuite):
    """Functions of ``cdevice.compute`` on a device whose backend offers ``cdevice.compute/1``, held against the CPU's
    by bits: functions, types, nulls and offsets.  It is subclassed, and has hooks, as :class:`BackendSuite`; ``python
    -m cdevice check --kernels DEVICE`` runs it.
    """

    checks = KERNEL_CHECKS
