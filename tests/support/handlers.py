"""What tests of asynchronous streams share: a handler with callbacks in Python, arrays of one number."""

import asyncio
import threading

from producers import PRODUCERS

import cdevice
from cdevice._runtime.ext import ffi


def run(main):
    return asyncio.run(asyncio.wait_for(main(), 60))


def numbers(n):
    return [cdevice.asarray([i]) for i in range(n)]


def value(array):
    return array.to_pylist()[0]


class Handler:
    """A handler in Python callbacks, which answers as the test says."""

    def __init__(self, *, schema=0, task=0, request=1):
        PRODUCERS.append(self)
        self.calls, self.answer_schema, self.answer_task, self.ask = [], schema, task, request
        self.released = threading.Event()
        self.struct = ffi.new("struct ArrowAsyncDeviceStreamHandler *")
        types = (
            "int(struct ArrowAsyncDeviceStreamHandler *, struct ArrowSchema *)",
            "int(struct ArrowAsyncDeviceStreamHandler *, struct ArrowAsyncTask *, const char *)",
            "void(struct ArrowAsyncDeviceStreamHandler *, int, const char *, const char *)",
            "void(struct ArrowAsyncDeviceStreamHandler *)",
        )
        self._keep = [ffi.callback(t, f) for t, f in zip(types, (self._schema, self._task, self._error, self._release))]
        s = self.struct
        s.on_schema, s.on_next_task, s.on_error, s.release = self._keep

    def _schema(self, h, schema):
        self.calls.append("schema")
        schema.release(schema)
        if self.ask is not None and not self.answer_schema:
            h.producer.request(h.producer, self.ask)
        return self.answer_schema

    def _task(self, h, task, metadata):
        self.calls.append("task" if task else "end")
        if not task or self.answer_task:
            return self.answer_task
        task.extract_data(task, ffi.NULL)
        if self.ask is not None:
            h.producer.request(h.producer, self.ask)
        return 0

    def _error(self, h, code, message, metadata):
        self.calls.append(("error", code, ffi.string(message).decode()))

    def _release(self, h):
        self.calls.append("release")
        self.released.set()
