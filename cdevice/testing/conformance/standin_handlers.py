"""Both ends of the asynchronous device stream, made of ctypes: a handler that records calls, and a producer
that sends nodes from a thread of its own."""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import threading
import time
from ctypes import c_void_p

from .layouts import values_of
from .standin import make_array, make_schema
from .structs import (
    ArrowAsyncDeviceStreamHandler,
    ArrowAsyncProducer,
    ArrowAsyncTask,
    ArrowDeviceArray,
    ArrowSchema,
    Fill,
    OneArgument,
    OnError,
    OnTask,
    Request,
    call_release,
    move,
)

ENDS = []  # callbacks that foreign threads may still call
LONG = 3.0  # seconds after which what was to come does not come


def address_of(callback):
    return ctypes.cast(callback, c_void_p).value


class Handler:
    """The consumer's end.  ``ask``: requested in on_schema, ``again``: with each task; ``refuse``: {"schema" or number
    of a task: code}; ``extract``: "now", "later" (after the end) or "null"; ``cancel_at``: number of a task."""

    def __init__(self, ask=1, refuse=None, extract="now", cancel_at=None, again=1, slow=False):
        self.ask, self.refuse, self.extract, self.cancel_at, self.again, self.slow = (
            ask,
            refuse or {},
            extract,
            cancel_at,
            again,
            slow,
        )
        self.calls, self.wrong, self.schema, self.arrays, self.error = [], [], None, [], None
        self.tasks, self.requested, self.in_producer = [], 0, None
        self.device_type, self.had_producer, self.schema_was_live = None, False, False
        self.inside, self.released = threading.Lock(), threading.Event()
        self.struct = ArrowAsyncDeviceStreamHandler()
        self.callbacks = {
            "on_schema": Fill(lambda at, schema: self.alone("on_schema", lambda: self.on_schema(schema))),
            "on_next_task": OnTask(lambda at, task, metadata: self.task_came(task)),
            "on_error": OnError(
                lambda at, code, words, metadata: self.alone("on_error", lambda: self.on_error(code, words))
            ),
            "release": OneArgument(lambda at: self.alone("release", self.on_release)),
        }
        for name, callback in self.callbacks.items():
            setattr(self.struct, name, address_of(callback))
        ENDS.append(self)

    def handler(self):
        return ctypes.addressof(self.struct)

    def alone(self, what, run):
        """Notes a callback, and whether it comes at a wrong moment."""
        if self.released.is_set():
            self.wrong.append(f"{what} after release")
            return 0
        if self.in_producer == threading.get_ident():
            self.wrong.append(f"{what} on the stack of a call of the producer")
        if not self.inside.acquire(blocking=False):
            self.wrong.append(f"{what} while another callback was under way")
            return 0
        try:
            self.calls.append(what)
            if self.slow:
                time.sleep(0.02)  # another thread gets the chance to be wrong
            return run()
        finally:
            if self.inside.locked():
                self.inside.release()
            if what == "release":
                self.released.set()

    def producer(self):
        return ArrowAsyncProducer.from_address(self.struct.producer)

    def call_producer(self, name, *arguments):
        before, self.in_producer = self.in_producer, threading.get_ident()
        lock = self.inside.locked()
        if lock:
            self.inside.release()  # what comes on this stack is noted as such, not as a second callback
        kind = Request if name == "request" else OneArgument
        kind(getattr(self.producer(), name))(self.struct.producer, *arguments)
        if lock:
            self.inside.acquire()
        self.in_producer = before

    def request(self, n):
        self.requested += n
        self.call_producer("request", n)

    def on_schema(self, address):
        self.had_producer = bool(self.struct.producer) and bool(self.producer().request and self.producer().cancel)
        if not self.had_producer:
            return 22
        self.device_type = self.producer().device_type
        schema = ArrowSchema.from_address(address)
        self.schema_was_live = bool(schema.release)
        if "schema" in self.refuse:
            return self.refuse["schema"]
        self.take_schema(schema)
        if self.ask is not None:
            self.request(self.ask)
        return 0

    def take_schema(self, schema):
        self.schema = move(schema)

    def task_came(self, address):
        return self.alone("on_next_task" if address else "end", lambda: self.on_task(address) if address else 0)

    def on_task(self, address):
        number = len(self.tasks)
        self.tasks.append(None)
        if number in self.refuse:
            return self.refuse[number]
        if len(self.tasks) > max(0, self.requested):
            self.wrong.append(f"{len(self.tasks)} tasks for {self.requested} requested")
        self.tasks[number] = task = ArrowAsyncTask()
        ctypes.memmove(ctypes.byref(task), address, ctypes.sizeof(task))
        if self.cancel_at is not None and number == self.cancel_at:
            for _ in range(2):
                self.call_producer("cancel")
        if self.again:
            self.request(self.again)
        if self.extract == "now":
            self.take(task)
        return 0

    def take(self, task):
        """Extracts the data of a task."""
        out = None if self.extract == "null" else ArrowDeviceArray()
        code = Fill(task.extract_data)(ctypes.addressof(task), None if out is None else ctypes.addressof(out))
        self.arrays.append((code, out))

    def take_rest(self):
        for task in self.tasks:
            if task is not None:
                self.take(task)

    def on_error(self, code, words):
        self.error = code, None if not words else ctypes.string_at(words).decode(errors="replace")
        return 0

    def on_release(self):
        return 0

    # ---- as an end that is checked ----
    def read(self):
        """The rows, when the stream has ended."""
        if not self.released.wait(LONG):
            raise TimeoutError("release did not come")
        try:
            if self.error:
                raise OSError(*self.error)
            return self.rows()
        finally:
            self.drop()

    def rows(self):
        found = []
        for code, out in self.arrays:
            if code:
                raise OSError(code, "extract_data")
            if out.device_type != 1:
                raise ValueError(f"device type {out.device_type}")
            found += values_of(self.schema, out.array)
        return found

    def drop(self):
        for code, out in self.arrays:
            if not code and out is not None:
                call_release(out.array)
        if self.schema is not None:
            call_release(self.schema)


class Sender:
    """The producer's end.  ``fails``: {number of a task: (code, words)}; ``bad``: numbers of tasks whose extract_data
    fails; ``only_releases``: no end comes."""

    def __init__(
        self, nodes, schema=None, device_type=1, device_id=-1, fails=None, bad=(), only_releases=False, strict=False
    ):
        self.nodes, self.schema, self.fails, self.bad = nodes, schema or nodes[0], fails or {}, bad
        self.device_type, self.device_id, self.only_releases = device_type, device_id, only_releases
        self.strict = strict  # a request of nothing is answered by on_error
        self.demand, self.cancelled, self.refused_request = 0, False, False
        self.change, self.requests, self.wrong = threading.Condition(), [], []
        self.schemas, self.arrays, self.extracted, self.kept, self.phase = [], [], [], [], "before"
        self.code_of_schema, self.finished = None, threading.Event()
        self.callbacks = Request(self.request), OneArgument(self.cancel), Fill(self.extract)
        self.struct = ArrowAsyncProducer(device_type, *map(address_of, self.callbacks[:2]))
        ENDS.append(self)

    # ---- what the handler calls ----
    def request(self, at, n):
        with self.change:
            self.requests.append(n)
            self.note("request")
            self.refused_request = self.refused_request or self.strict and n <= 0 and not self.cancelled
            self.demand += max(0, n)
            self.change.notify_all()

    def cancel(self, at):
        with self.change:
            self.note("cancel")
            self.cancelled = True
            self.change.notify_all()

    def note(self, what):
        if self.phase in ("on_error", "release") and self.thread.ident == threading.get_ident():
            self.wrong.append(f"{what} inside {self.phase}")
        if self.phase == "over":
            self.wrong.append(f"{what} after release")

    def extract(self, task, out):
        number = ArrowAsyncTask.from_address(task).private_data - 1
        self.extracted.append(number)
        if number in self.bad:
            return 5
        if out:
            self.fill(number, out)
        return 0

    def fill(self, number, out):
        ctypes.memset(out, 0, ctypes.sizeof(ArrowDeviceArray))
        at = ArrowDeviceArray.from_address(out)
        make_array(self.nodes[number], self.arrays, at.array)
        at.device_type, at.device_id = self.device_type, self.device_id

    # ---- its thread ----
    def start(self, address):
        self.address, self.handler = address, ArrowAsyncDeviceStreamHandler.from_address(address)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def run(self):
        self.set_producer()
        if self.send_schema() == 0:
            self.send_tasks()
        self.send_release()
        self.finished.set()

    def set_producer(self):
        self.handler.producer = ctypes.addressof(self.struct)

    def during(self, phase, call):
        self.phase = phase
        out = call()
        self.phase = "between"
        return out

    def send_schema(self):
        schema = make_schema(self.schema, self.schemas)
        self.kept.append(schema)
        self.code_of_schema = self.during(
            "on_schema", lambda: Fill(self.handler.on_schema)(self.address, ctypes.addressof(schema))
        )
        call_release(schema)  # where it was not moved
        return self.code_of_schema

    def send_tasks(self):
        for number in range(len(self.nodes)):
            if not self.wait_for_demand():
                break
            if number in self.fails:
                return self.send_error(*self.fails[number])
            if self.send_task(number):
                return self.after_refusal()
        if self.refused_request:
            return self.send_error(22, "request of nothing")
        if any(n in self.bad for n in range(len(self.nodes))):
            return self.send_error(5, "extract_data failed")
        if not self.only_releases:
            self.send_end()

    def after_refusal(self):
        pass

    def wait_for_demand(self):
        """True where a task may be sent."""
        with self.change:
            ready = lambda: self.demand > 0 or self.cancelled or self.refused_request
            self.change.wait_for(ready, LONG)
            if self.cancelled or self.refused_request or self.demand <= 0:
                return False
            self.demand -= 1
            return True

    def send_task(self, number):
        task = ArrowAsyncTask(address_of(self.callbacks[2]), number + 1)
        self.kept.append(task)
        return self.during(
            "on_next_task",
            lambda: OnTask(self.handler.on_next_task)(self.address, ctypes.addressof(task), None),
        )

    def send_end(self):
        self.during("on_next_task", lambda: OnTask(self.handler.on_next_task)(self.address, None, None))

    def send_error(self, code, words):
        text = None if words is None else ctypes.create_string_buffer(words.encode())
        at = None if text is None else ctypes.addressof(text)
        self.during("on_error", lambda: OnError(self.handler.on_error)(self.address, code, at, None))

    def send_release(self):
        release = self.handler.release
        if release:
            self.during("release", lambda: OneArgument(release)(self.address))
        self.phase = "over"
