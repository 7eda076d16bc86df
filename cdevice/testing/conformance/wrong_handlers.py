"""Both ends of the asynchronous stream: right ones, and ones broken on purpose, each by one rule.

``WRONG_HANDLERS`` maps a name to (make, the rule it breaks, known facts).
"""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import threading
from ctypes import c_void_p

from .standin import batch, int64s
from .standin_handlers import Handler, Sender
from .structs import ArrowArray, ArrowDeviceArray, Fill, OnTask, call_release

VALUES = [{"a": 1}, {"a": None}, {"a": 3}, {"a": 4}]


class Source:
    """Sends the values by a Sender of the class ``kind``."""

    kind, how = Sender, {}

    def start(self, address):
        nodes = [batch({"a": int64s(rows)}) for rows in ([1, None], [3], [4])]
        self.sender = self.kind(nodes, strict=True, **self.how)
        return self.sender.start(address)


def source(sender, **options):
    class Wrong(Source):
        kind, how = sender, options

    return Wrong


class SchemaTwice(Sender):
    def send_schema(self):
        return super().send_schema() or super().send_schema()


class NoProducer(Sender):
    def set_producer(self):
        pass


class DeadSchema(Sender):
    def during(self, phase, call):
        if phase == "on_schema":
            call_release(self.kept[-1])
        return super().during(phase, call)


class NeverReleases(Sender):
    def send_release(self):
        pass


class EndsInAnError(Sender):
    def send_end(self):
        super().send_end() if self.cancelled else self.send_error(5, "the end")


class SendsTwoAtOnce(Sender):
    def send_task(self, number):
        if self.demand < 100:
            return super().send_task(number)
        send, both = super().send_task, threading.Barrier(2)

        def send_with_the_other():
            both.wait()
            send(number)

        threads = [threading.Thread(target=send_with_the_other) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return 0


class IgnoresDemand(Sender):
    def wait_for_demand(self):
        super().wait_for_demand() if not self.requests else None
        return not self.cancelled and not self.refused_request


class EndsInsideCancel(Sender):
    def cancel(self, at):
        first = not self.cancelled
        super().cancel(at)
        if first:
            OnTask(self.handler.on_next_task)(self.address, None, None)

    def send_end(self):
        if not self.cancelled:
            super().send_end()


class GivesDeadArrays(Sender):
    def fill(self, number, out):
        super().fill(number, out)
        ArrowDeviceArray.from_address(out).array.release = None


class GivesOtherValues(Sender):
    def fill(self, number, out):
        super().fill(max(1, number), out)


class SaysAnotherDevice(Sender):
    def set_producer(self):
        self.struct.device_type = 2
        super().set_producer()


class LeavesReserved(Sender):
    def fill(self, number, out):
        super().fill(number, out)
        ArrowDeviceArray.from_address(out).reserved[0] = 3


class NeedsTheCall(Sender):
    """What a task gives after its call is another's."""

    def fill(self, number, out):
        super().fill(number if self.phase == "on_next_task" else 2, out)


class RefusesNull(Sender):
    def extract(self, task, out):
        return super().extract(task, out) if out else 22


class EndsAfterARefusedSchema(Sender):
    def send_schema(self):
        code = super().send_schema()
        if code and self.handler.producer:
            self.send_end()
        return code


class ErrorAfterARefusal(Sender):
    def after_refusal(self):
        self.send_error(5, "refused")


class CancelIsAnError(Sender):
    def send_end(self):
        if self.cancelled:
            self.send_error(125, "cancelled")
        else:
            super().send_end()


class EndsAtNothing(Sender):
    def send_error(self, code, words):
        self.send_end() if self.refused_request else super().send_error(code, words)


class NegativeCode(Sender):
    def send_error(self, code, words):
        super().send_error(-code, words)


class WithoutRelease(Handler):
    def __init__(self):
        super().__init__()
        self.struct.release = None

    def read(self):
        raise TimeoutError("release does not come")


class ReadsBackwards(Handler):
    def rows(self):
        rows = super().rows()
        return rows[::-1] if len(rows) == 5 else rows


class NeverRequests(Handler):
    def __init__(self):
        super().__init__(ask=None)


class RequestsNothing(Handler):
    def request(self, n):
        super().request(n)
        if len(self.tasks) == 1:
            super().request(0)


class ExtractsTwice(Handler):
    def take(self, task):
        super().take(task)
        out = ArrowDeviceArray()
        if not Fill(task.extract_data)(ctypes.addressof(task), ctypes.addressof(out)):
            call_release(out.array)


class LeaksArrays(Handler):
    def drop(self):
        if self.schema is not None:
            call_release(self.schema)


class LeaksSchemas(Handler):
    def drop(self):
        self.schema = None
        super().drop()


class RequestsInRelease(Handler):
    def on_release(self):
        if self.struct.producer and self.schema is not None:
            self.request(1)
        return 0


class HidesErrors(Handler):
    def on_error(self, code, words):
        super().on_error(code, words)
        if words:
            self.error = None
        return 0


class HidesWords(Handler):
    def on_error(self, code, words):
        super().on_error(code, words)
        self.error = code, "something went wrong"
        return 0


class TrustsWords(Handler):
    def on_error(self, code, words):
        if words:
            super().on_error(code, words)
        return 0


class IgnoresExtraction(Handler):
    def on_error(self, code, words):
        super().on_error(code, words)
        if any(code for code, _ in self.arrays):
            self.error = None
        return 0

    def rows(self):
        self.arrays = [a for a in self.arrays if not a[0]]
        return super().rows()


class WantsTasks(Handler):
    def rows(self):
        if not self.arrays:
            raise ValueError("no tasks")
        return super().rows()


class WaitsForTheEnd(Handler):
    def read(self):
        rows = super().read()
        if "end" not in self.calls:
            raise TimeoutError("the end does not come")
        return rows


class ReadsOnDevices(Handler):
    def take(self, task):
        super().take(task)
        code, out = self.arrays[-1]
        if not code and out.device_type == 12:
            child = ArrowArray.from_address((c_void_p * 1).from_address(out.array.children)[0])
            ctypes.string_at((c_void_p * 2).from_address(child.buffers)[1], 1)


FAILS = {"fails": {1: (5, "the words")}}
VALUED = {"values": VALUES}
WRONG_HANDLERS = {
    "sends the schema twice": (source(SchemaTwice), "schema_comes_first_and_once", {}),
    "sets no producer": (source(NoProducer), "producer_is_there_before_the_schema", VALUED),
    "sends a dead schema": (source(DeadSchema), "schema_comes_live", {}),
    "never releases": (source(NeverReleases), "release_is_the_last_call_and_comes_once", VALUED),
    "ends in an error": (source(EndsInAnError), "end_is_a_null_task", VALUED),
    "sends two at once": (source(SendsTwoAtOnce), "callbacks_come_one_at_a_time", VALUED),
    "ignores demand": (source(IgnoresDemand), "no_more_tasks_come_than_were_requested", VALUED),
    "ends inside cancel": (source(EndsInsideCancel), "request_and_cancel_call_nothing_on_their_stack", VALUED),
    "gives dead arrays": (source(GivesDeadArrays), "tasks_give_live_arrays", VALUED),
    "gives other values": (source(GivesOtherValues), "values_are_the_streams", VALUED),
    "says another device": (source(SaysAnotherDevice), "device_type_is_the_arrays", VALUED),
    "leaves reserved": (source(LeavesReserved), "reserved_bytes_are_zero", VALUED),
    "needs the call": (source(NeedsTheCall), "tasks_outlive_their_call", VALUED),
    "refuses NULL": (source(RefusesNull), "data_can_be_dropped_by_extracting_into_null", VALUED),
    "ends a refused schema": (source(EndsAfterARefusedSchema), "refused_schema_is_followed_by_release_alone", VALUED),
    "ends a refused task": (source(ErrorAfterARefusal), "refused_task_is_followed_by_release_alone", VALUED),
    "cancel is an error": (source(CancelIsAnError), "cancel_ends_in_release_without_an_error", VALUED),
    "ends at nothing": (source(EndsAtNothing), "request_of_nothing_is_an_error", VALUED),
    "a negative code": (source(NegativeCode, **FAILS), "failure_comes_as_an_error_with_an_errno", {"fails": True}),
    **{
        end.__name__: (end, rule, {})
        for end, rule in (
            (WithoutRelease, "handler_has_its_callbacks"),
            (ReadsBackwards, "every_task_is_read_in_order"),
            (NeverRequests, "data_is_requested"),
            (RequestsNothing, "requests_are_positive"),
            (ExtractsTwice, "every_task_is_extracted_once"),
            (LeaksArrays, "every_array_is_released"),
            (LeaksSchemas, "schema_is_moved_and_released"),
            (RequestsInRelease, "producer_is_not_called_from_error_and_release"),
            (HidesErrors, "error_is_raised"),
            (HidesWords, "words_of_an_error_are_in_the_exception"),
            (TrustsWords, "error_without_words_is_raised"),
            (IgnoresExtraction, "failure_of_extract_data_is_raised"),
            (WantsTasks, "streams_without_tasks_are_read"),
            (WaitsForTheEnd, "release_alone_ends_the_stream"),
            (ReadsOnDevices, "buffers_on_a_device_are_not_touched"),
        )
    },
}
