"""A device for tests, in Python: memory the caller cannot guess, one queue a stream, a gate that holds it.

``FakeBackend(device_type=..., name=...)`` serves any free device type.  Work is done by a thread per stream, in order;
``gate(stream)`` closes a stream until ``open()`` is called, so that tests show asynchrony without sleeping.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import queue
import threading
import weakref

from ..backend import Backend, Capability
from ..errors import DeviceError
from .suite import BackendSuite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..backend import Copy, CopyKind


class _Event:
    def __init__(self) -> None:
        self.passed = threading.Event()
        self.error: str | None = None
        self.stream: object = None
        self.cell = ctypes.c_void_p(id(self))
        self.sync_event = ctypes.addressof(self.cell)


class _Stream:
    """Its thread ends with it."""

    def __init__(self) -> None:
        self.failing = False  # what comes by now fails
        self.work: queue.Queue[Callable[[], object] | None] = queue.Queue()
        threading.Thread(target=_work, args=(self.work,), daemon=True).start()
        weakref.finalize(self, self.work.put, None).atexit = False


def _work(jobs: queue.Queue[Callable[[], object] | None]) -> None:
    job = jobs.get()
    while job is not None:
        job()
        del job  # it may be what holds the stream
        job = jobs.get()


class Gate:
    """Holds a stream until it is opened."""

    def __init__(self, opened: Callable[[], object] | None = None) -> None:
        self._open, self._opened = threading.Event(), opened

    def open(self) -> None:
        if self._opened:
            self._opened()
        self._open.set()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        self.open()


class FakeBackend(Backend):
    """Handles instead of addresses: nothing can be read except through :meth:`copy`."""

    version = "fake"

    def __init__(
        self,
        device_type: int = 12,
        name: str = "fake",
        devices: int = 2,
        *,
        events: bool = True,
        kernels: bool = False,
        fail_after: int | None = None,
    ) -> None:
        self.device_type, self.name, self._devices = device_type, name, devices
        self.capabilities = Capability.EVENTS | Capability.STREAMS | Capability.ASYNC_FREE if events else Capability(0)
        self.fail_after = fail_after  # the n-th call that can fail raises, counted down; 0: the next
        self.calls: dict[str, int] = {}
        self._events = events
        self._memory: dict[int, tuple[bytearray, int, int]] = {}  # handle -> (bytearray, offset, size)
        self._event_objects: dict[int, _Event] = {}
        self._streams: dict[int, _Stream] = {}
        self._handles = itertools.count(0x1000, 16)
        self._lock = threading.RLock()  # a collection under it frees blocks
        if kernels:
            from .fake_compute import FakeCompute

            self.compute = FakeCompute(self)

    # ---- for tests ----
    def close(self) -> None:
        """Ends its threads, once all work is done."""
        for stream in self._streams.values():
            stream.work.put(None)

    def live(self) -> Any:
        """Blocks and events not given back."""
        return len(self._memory) + len(self._event_objects)

    def gate(self, stream: int = 0, *, fails: bool = False) -> Any:
        """``fails``: what was enqueued behind it does not run, and its events fail."""
        s = self._stream(stream)

        def turn(failing: bool) -> None:
            s.failing = failing

        g = Gate(functools.partial(s.work.put, functools.partial(turn, False)))
        s.work.put(g._open.wait)
        s.work.put(functools.partial(turn, fails))
        return g

    def end_stream(self, stream: int) -> None:
        """Its thread ends when its work is done."""
        with self._lock:
            self._streams.pop(stream, None)

    def _pass(self, event: _Event, failing: bool) -> None:
        if failing:
            event.error = "what the event stands for has failed"
        event.passed.set()

    def _stream(self, handle: int) -> Any:
        with self._lock:
            if handle not in self._streams:
                self._streams[handle] = _Stream()
            return self._streams[handle]

    def _enqueue(self, stream: int, work: Callable[[], object]) -> None:
        if not self._events:
            work()
            return
        s = self._stream(stream)
        s.work.put(lambda: s.failing or work())

    def _called(self, name: str) -> None:
        self.calls[name] = self.calls.get(name, 0) + 1
        if self.fail_after is not None:
            self.fail_after -= 1
            if self.fail_after < 0:
                self.fail_after = None  # this call, and no other
                raise RuntimeError(f"injected failure in {name}")

    # ---- the backend ----
    def device_count(self) -> int:
        return self._devices

    def alloc(self, nbytes: int, *, device_id: int, stream: int = 0) -> Any:
        self._called("alloc")
        with self._lock:
            handle = next(self._handles)
            self._memory[handle] = (bytearray(nbytes), 0, nbytes)
        return handle

    def view(self, block: Any, offset: int, nbytes: int) -> Any:
        self._called("view")
        with self._lock:
            memory, start, size = self._memory[block]
            if offset + nbytes > size:
                raise ValueError("view outside its block")
            handle = next(self._handles)
            self._memory[handle] = (memory, start + offset, nbytes)
        return handle

    def free(self, block: Any) -> None:
        with self._lock:
            del self._memory[block]

    def _bytes(self, handle: int, offset: int, nbytes: int) -> Any:
        memory, start, size = self._memory[handle]
        if offset + nbytes > size:
            raise ValueError(f"{offset} + {nbytes} bytes in a block of {size}")
        return memoryview(memory)[start + offset : start + offset + nbytes]

    def _memory_at(self, handle: int) -> Any:
        """Where a block begins, as something of ctypes that keeps it."""
        memory, start, _ = self._memory[handle]
        return ctypes.c_char.from_buffer(memory, start)

    def copy(self, kind: CopyKind, copies: list[Copy], *, stream: int = 0) -> None:
        self._called("copy")
        jobs = []
        for c in copies:
            if kind == 1:
                target = self._bytes(c.dst, c.dst_offset, c.nbytes)
                jobs.append((target, (ctypes.c_char * c.nbytes).from_address(c.src + c.src_offset)))
            elif kind == 2:
                target = memoryview((ctypes.c_char * c.nbytes).from_address(c.dst + c.dst_offset)).cast("B")
                jobs.append((target, self._bytes(c.src, c.src_offset, c.nbytes)))
            else:
                jobs.append((self._bytes(c.dst, c.dst_offset, c.nbytes), self._bytes(c.src, c.src_offset, c.nbytes)))

        def work() -> None:
            for target, source in jobs:
                target[:] = bytes(source)

        self._enqueue(stream, work)

    def event_record(self, *, device_id: int, stream: int = 0) -> Any:
        self._called("event_record")
        event = _Event()
        self._event_objects[event.sync_event] = event
        s = self._stream(stream)
        s.work.put(lambda: self._pass(event, s.failing))
        return event

    def event_done(self, event: int, *, device_id: int) -> bool:
        e = self._event_objects[event]
        if e.passed.is_set() and e.error:
            raise DeviceError(e.error)
        return e.passed.is_set()

    def event_wait(self, event: int, *, device_id: int, stream: int | None = None) -> None:
        e = self._event_objects[event]
        if stream is None:
            e.passed.wait()
            if e.error:
                raise DeviceError(e.error)
        else:
            self._stream(stream).work.put(e.passed.wait)

    def event_destroy(self, event: Any) -> None:
        self._event_objects.pop(event.sync_event, None)

    def stream_wait(self, *, device_id: int, stream: int = 0) -> None:
        passed = threading.Event()
        self._stream(stream).work.put(passed.set)
        passed.wait()


class FakeSuite(BackendSuite):
    """The suite with every hook that the fake offers; ``backend`` makes the fake."""

    def gate(self, stream: int = 0) -> Any:
        return self.backend_object.gate(stream) if self.backend_object._events else None

    def new_stream(self) -> Any:
        return 99 if self.backend_object._events else None

    def end_stream(self, stream: Any) -> bool:
        self.backend_object.end_stream(stream)
        return True

    def failing_gate(self, stream: int = 0) -> Any:
        return self.backend_object.gate(stream, fails=True) if self.backend_object._events else None

    def fail_after(self, n: int | None) -> Any:
        self.backend_object.fail_after = n
        return True

    def live(self) -> Any:
        return self.backend_object.live()
