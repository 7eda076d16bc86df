"""When a device began and ended each kernel and copy."""

from __future__ import annotations

from .._runtime.ext import check, ffi, lib
from ..errors import ArgumentError
from .backends import default_stream, ensure_backend, set_default_stream, stream_and_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from .._types import Device
else:
    from collections import namedtuple

_KINDS = {b"k": "kernel", b"h": "copy to device", b"d": "copy to host", b"c": "copy on device"}


if TYPE_CHECKING:

    class _Fields(NamedTuple):
        name: str
        kind: str
        begin_ns: int
        end_ns: int | None
        rows: int
        nbytes: int
        stream: int
else:
    _Fields = namedtuple("_Fields", "name kind begin_ns end_ns rows nbytes stream")


class ProfileEvent(_Fields):
    """A kernel or copy of a device.

    ``name``: "family.kernel.types" of a kernel, with the function's name where the kernel was written for it; ``kind``:
    "kernel", "copy to device", "copy to host" or "copy on device"; ``begin_ns``, ``end_ns``: nanoseconds since the
    profile began, on the device's clock, ``end_ns`` None where its stream has no times; ``rows``: of a kernel;
    ``nbytes``: of a copy; ``stream``: the handle of the stream that it was given to, 0 for the device's default one.
    Immutable.  Any thread.
    """

    __slots__ = ()

    @property
    def duration_ns(self) -> int | None:
        """Nanoseconds, or None without times.  Never raises."""
        return None if self.end_ns is None else self.end_ns - self.begin_ns


class Profile:
    """What a device did in a ``with`` block; :meth:`cdevice.Device.profile` makes it.

    ``device``: the :class:`Device`; ``events``: after the block the :class:`ProfileEvent` of each kernel and copy, in
    the order in which they were given to the device.  ``str()`` is a table by names.  Used once.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.events: list[ProfileEvent] = []
        self._handle: Any = None
        self._stream: Any = None  # of our own, which has times
        self._before: Any = None  # the default stream before
        self._begun = False

    def __enter__(self) -> Profile:
        if self._begun:
            raise RuntimeError("a profile is used once: call profile() again")
        type_id, id = self.device.type_id, self.device.id
        ensure_backend(type_id)
        handle, stream, own = ffi.new("struct cdv_profile **"), 0, ffi.new("void **")
        self._before = default_stream(type_id)
        if self._before is None:
            check(lib.cdv_profile_stream(type_id, id, own))
            stream = int(ffi.cast("uintptr_t", own[0]))
        else:
            stream, _ = stream_and_owner(type_id, self._before)
        r = lib.cdv_profile_begin(type_id, id, ffi.cast("void *", stream), handle)
        if r:
            if own[0]:
                lib.cdv_profile_stream_free(type_id, id, own[0])
            check(r)
        self._handle, self._begun = handle[0], True
        if own[0]:
            self._stream = own[0]
            set_default_stream(type_id, stream)
        return self

    def __exit__(self, *exc: object) -> None:
        type_id, id = self.device.type_id, self.device.id
        if self._stream is not None:
            set_default_stream(type_id, None)
        n = ffi.new("int64_t *")
        try:
            r = lib.cdv_profile_end(self._handle, n)
            self.events = [self._event(i) for i in range(n[0])]
            if exc[0] is None:
                check(r)
        finally:
            lib.cdv_profile_free(self._handle)
            self._handle = None
            if self._stream is not None:
                lib.cdv_profile_stream_free(type_id, id, self._stream)
                self._stream = None

    def _event(self, i: int) -> ProfileEvent:
        e = ffi.new("struct cdv_profile_event *")
        lib.cdv_profile_get(self._handle, i, e)
        end = None if e.end < 0 else e.end
        return ProfileEvent(ffi.string(e.name).decode(), _KINDS[e.kind], e.begin, end, e.rows, e.nbytes, e.stream)

    def __str__(self) -> str:
        totals: dict[str, list[int]] = {}
        for e in self.events:
            row = totals.setdefault(e.name, [0, 0, 0, 0])
            row[0] += 1
            row[1] += e.duration_ns or 0
            row[2] += e.rows
            row[3] += e.nbytes
        lines = [f"{'ms':>10} {'times':>7} {'rows':>14} {'bytes':>14}  name"]
        for name, (times, ns, rows, nbytes) in sorted(totals.items(), key=lambda item: -item[1][1]):
            counts = [f"{n:,}" if n else "" for n in (rows, nbytes)]
            lines.append(f"{ns / 1e6:10.3f} {times:7,} {counts[0]:>14} {counts[1]:>14}  {name}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<cdevice.Profile of {self.device}: {len(self.events)} kernels and copies>"

    def trace_events(self) -> list[dict[str, Any]]:
        """The events as Chrome's and Perfetto's trace viewer reads them: ``json.dump({"traceEvents": ...}, file)``.

        Does not block.  Any thread.  Raises ArgumentError where a stream had no times.
        """
        out = []
        for e in self.events:
            if e.end_ns is None:
                raise ArgumentError("trace_events: a stream had no times: OpenCL queues need CL_QUEUE_PROFILING_ENABLE")
            args = {"rows": e.rows} if e.kind == "kernel" else {"bytes": e.nbytes}
            begin, length = e.begin_ns / 1e3, (e.end_ns - e.begin_ns) / 1e3
            where = {"pid": str(self.device), "tid": e.kind}
            out.append({"name": e.name, "cat": e.kind, "ph": "X", "ts": begin, "dur": length, **where, "args": args})
        return out


__all__ = ["Profile", "ProfileEvent"]
