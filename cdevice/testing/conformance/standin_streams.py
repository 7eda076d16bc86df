"""Streams made of ctypes: they count what their consumer calls, fail on request, and can be read by hand."""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import threading
import time
from ctypes import c_void_p

from .standin import SAFE, heap, make_array, make_schema
from .structs import (
    ArrowArray,
    ArrowArrayStream,
    ArrowDeviceArray,
    ArrowDeviceArrayStream,
    ArrowSchema,
    Fill,
    OneArgument,
    Text,
    call_release,
)

STREAMS = []  # callbacks that foreign code may still call


class LiveStream:
    """One stream that was given: its calls by name, its releases, the releases of what it gave."""

    def __init__(self, offer, kind):
        self.offer, self.kind, self.given, self.error, self.failed = offer, kind, 0, None, 0
        self.calls, self.releases, self.schemas, self.arrays = [], [], [], []
        self.inside = threading.Lock()
        self.callbacks = {
            "get_schema": Fill(self.get_schema),
            "get_next": Fill(self.get_next),
            "get_last_error": Text(self.get_last_error),
            "release": OneArgument(self.release),
        }
        STREAMS.append(self)

    def struct(self):
        at = self.kind()
        if self.kind is ArrowDeviceArrayStream:
            at.device_type = self.offer.device_type
        for name, callback in self.callbacks.items():
            setattr(at, name, ctypes.cast(callback, c_void_p).value)
        self.private = (c_void_p * 2)(at.release)
        at.private_data = ctypes.addressof(self.private)
        at.release = SAFE.get(self.kind.__name__, at.release)
        return at

    def called(self, what):
        self.calls.append(f"{what} after the release" if self.releases else what)

    def fail(self, key):
        self.failed, words = self.offer.fails.get(key, (0, None))
        self.error = None if words is None else ctypes.create_string_buffer(words.encode())
        return self.failed

    def alone(self, what, run):
        """Runs one callback; a second thread that comes meanwhile is noted."""
        self.called(what)
        if not self.inside.acquire(blocking=False):
            self.calls.append("two calls at once")
            return 5
        try:
            if self.offer.slow:
                time.sleep(0.002)  # another thread gets the chance to be wrong
            return run()
        finally:
            self.inside.release()

    def get_schema(self, stream, out):
        return self.alone("get_schema", lambda: self.fill_schema(out))

    def fill_schema(self, out):
        if not self.fail("schema"):
            self.schemas.append([])
            make_schema(self.offer.schema, self.schemas[-1], ArrowSchema.from_address(out))
        return self.failed

    def get_next(self, stream, out):
        return self.alone("get_next", lambda: self.fill_next(out))

    def fill_next(self, out):
        if self.fail(self.given):
            return self.failed
        device = self.kind is ArrowDeviceArrayStream
        ctypes.memset(out, 0, ctypes.sizeof(ArrowDeviceArray if device else ArrowArray))
        if self.given < len(self.offer.nodes):
            self.arrays.append([])
            make_array(self.offer.nodes[self.given], self.arrays[-1], ArrowArray.from_address(out))
            self.given += 1
        if device:
            at = ArrowDeviceArray.from_address(out)
            at.device_type, at.device_id = self.offer.device_type, self.offer.device_id
        return 0

    def get_last_error(self, stream):
        self.called("get_last_error" if self.failed else "get_last_error without a failure")
        return None if self.error is None else ctypes.addressof(self.error)

    def release(self, stream):
        self.releases.append(threading.get_ident())
        self.kind.from_address(stream).release = None


class StreamOffer:
    """Offers a stream of nodes by both methods.  ``fails``: {"schema" or number of a batch: (errno, words)}."""

    def __init__(self, nodes, schema=None, device_type=1, device_id=-1, fails=None, slow=False):
        self.nodes, self.schema, self.fails, self.slow = nodes, schema or nodes[0], fails or {}, slow
        self.device_type, self.device_id = device_type, device_id
        self.called, self.streams, self.structs, self.capsules, self.dropped = [], [], [], [], []

    def capsule(self, kind, name):
        self.streams.append(LiveStream(self, kind))
        self.structs.append(self.streams[-1].struct())
        self.change(self.structs[-1])
        self.capsules.append(heap(self.structs[-1], self.name_of(name), self.dropped))
        return self.capsules[-1]

    def name_of(self, name):
        return name

    def change(self, struct):
        pass

    def __arrow_c_stream__(self, requested_schema=None):
        self.called.append("__arrow_c_stream__")
        return self.capsule(ArrowArrayStream, "arrow_array_stream")

    def __arrow_c_device_stream__(self, requested_schema=None, **kwargs):
        self.called.append("__arrow_c_device_stream__")
        wrong = [k for k, v in kwargs.items() if v is not None]
        if wrong:
            raise NotImplementedError(", ".join(wrong))
        return self.capsule(ArrowDeviceArrayStream, "arrow_device_array_stream")


class PlainStreamOffer(StreamOffer):
    """By the older method alone."""

    @property
    def __arrow_c_device_stream__(self):
        raise AttributeError("__arrow_c_device_stream__")


class DeviceStreamOffer(StreamOffer):
    """By the device's method alone."""

    @property
    def __arrow_c_stream__(self):
        raise AttributeError("__arrow_c_stream__")


class Failed(Exception):
    """A callback of a stream returned a code."""

    def __init__(self, code, words):
        super().__init__(code, words)
        self.code, self.words = code, words


class Opened:
    """A stream that was taken out of its capsule, to be read by hand."""

    def __init__(self, struct):
        self.struct = struct
        self.device = isinstance(struct, ArrowDeviceArrayStream)

    def call(self, name, out):
        code = Fill(getattr(self.struct, name))(ctypes.addressof(self.struct), ctypes.addressof(out))
        if code:
            raise Failed(code, self.words())
        return out

    def words(self):
        address = Text(self.struct.get_last_error)(ctypes.addressof(self.struct))
        return None if not address else ctypes.string_at(address).decode(errors="replace")

    def schema(self):
        return self.call("get_schema", ArrowSchema())

    def next(self):
        """(device struct or None, array), or None at the end."""
        out = self.call("get_next", ArrowDeviceArray() if self.device else ArrowArray())
        array = out.array if self.device else out
        return (out if self.device else None, array) if array.release else None

    def rest(self, most=10_000):
        found = []
        while (one := self.next()) is not None:
            found.append(one)
            if len(found) > most:
                raise OverflowError(f"more than {most} batches")
        return found

    def release(self):
        call_release(self.struct)
