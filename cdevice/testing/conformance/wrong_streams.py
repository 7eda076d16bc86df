"""Streams and their takers: right ones, and ones broken on purpose, each by one rule.

``WRONG_STREAMS`` maps a name to (make, the rule it breaks, known facts), ``WRONG_TAKERS`` to (take, the rule).
"""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import threading
from ctypes import c_void_p

from .layouts import values_of
from .standin import batch, heap, int64s, make_array, make_schema
from .standin_streams import Failed, LiveStream, Opened, StreamOffer
from .structs import (
    ArrowArray,
    ArrowArrayStream,
    ArrowDeviceArray,
    ArrowDeviceArrayStream,
    ArrowSchema,
    OneArgument,
    call_release,
    capsule_address,
    capsule_name,
    move,
    new_capsule,
)

ROWS = [{"a": 1}, {"a": None}, {"a": 3}]


def chunks():
    return [batch({"a": int64s([1, None])}), batch({"a": int64s([3])})]


class Stream(StreamOffer):
    """A right one, dropped capsules and all."""

    live = LiveStream

    def __init__(self, fails=None, **more):
        super().__init__(chunks(), fails=fails, **more)

    def capsule(self, kind, name):
        self.streams.append(self.live(self, kind))
        at = self.streams[-1].struct()
        return heap(self.spoilt(at), self.name_of(name))

    def spoilt(self, struct):
        return struct


def failing():
    return Stream({1: (5, "the words")})


class WithOtherName(Stream):
    def name_of(self, name):
        return "arrow_stream"


class WithoutLastError(Stream):
    def spoilt(self, struct):
        struct.get_last_error = None
        return struct


class WithoutDestructor(Stream):
    def capsule(self, kind, name):
        self.streams.append(self.live(self, kind))
        at = self.streams[-1].struct()
        self.structs.append(at)
        KEPT.append(at)
        return new_capsule(ctypes.addressof(at), name)


KEPT = []


class WithoutKeywords(Stream):
    def __arrow_c_device_stream__(self, requested_schema=None):
        return super().__arrow_c_device_stream__(requested_schema)


class RefusesItsSchema(Stream):
    def __arrow_c_device_stream__(self, requested_schema=None, **kwargs):
        if requested_schema is not None:
            raise ValueError("no other schema")
        return super().__arrow_c_device_stream__(None, **kwargs)


class SchemaOnce(LiveStream):
    """Has another schema after the first array."""

    def fill_schema(self, out):
        code = super().fill_schema(out)
        if self.given and not code:
            call_release(ArrowSchema.from_address(out))
            make_schema(int64s([]), [], ArrowSchema.from_address(out))
        return code


class WantsTheSchemaFirst(LiveStream):
    def fill_next(self, out):
        if not self.schemas:
            return 22
        return super().fill_next(out)


class BeginsAgain(LiveStream):
    def fill_next(self, out):
        code = super().fill_next(out)
        if not ArrowArray.from_address(out).release:
            self.given = 0
        return code


class EndsInACode(LiveStream):
    """ENODATA in the place of a released array."""

    def fill_next(self, out):
        code = super().fill_next(out)
        return code or (0 if ArrowArray.from_address(out).release else 61)


class NeverEnds(LiveStream):
    def fill_next(self, out):
        self.given = min(self.given, 1)
        return super().fill_next(out)


class GivesOtherColumns(LiveStream):
    def fill_next(self, out):
        code = super().fill_next(out)
        if self.given == 2 and ArrowArray.from_address(out).release and len(self.arrays) == 2 and not self.offer.known:
            self.offer.known = True
            call_release(ArrowArray.from_address(out))
            two = batch({"a": int64s([3]), "b": int64s([3])})
            make_array(two, [], ArrowArray.from_address(out))
        return code


class GivesOtherValues(LiveStream):
    def fill_next(self, out):
        if self.given == 1:
            self.given = 2
        return super().fill_next(out)


class GivesOtherDevices(LiveStream):
    def struct(self):
        at = super().struct()
        at.device_type = 2
        return at


class LeavesReserved(LiveStream):
    def fill_next(self, out):
        code = super().fill_next(out)
        if self.kind is ArrowDeviceArrayStream:
            ArrowDeviceArray.from_address(out).reserved[2] = 9
        return code


class NeverMarks(LiveStream):
    def release(self, stream):
        self.releases.append(0)


class DestroysArrays(LiveStream):
    """Its release destroys the arrays that it gave."""

    def fill_next(self, out):
        code = super().fill_next(out)
        array = ArrowArray.from_address(out)
        if array.release:
            self.last = ArrowArray.from_address((c_void_p * 1).from_address(array.children)[0])
        return code

    def release(self, stream):
        if getattr(self, "last", None) is not None and not self.arrays[-1]:
            ctypes.memset((c_void_p * 2).from_address(self.last.buffers)[1], 7, 8)
        super().release(stream)


class DestroysSchemas(LiveStream):
    def fill_schema(self, out):
        code = super().fill_schema(out)
        schema = ArrowSchema.from_address(out)
        self.last = ArrowSchema.from_address((c_void_p * 1).from_address(schema.children)[0])
        return code

    def release(self, stream):
        if getattr(self, "last", None) is not None and not self.given:
            ctypes.memset(self.last.name, ord("x"), 1)
        super().release(stream)


class StaysWhereItWas(LiveStream):
    """Writes to the struct whose address it saw first."""

    def alone(self, what, run):
        return run()

    def get_schema(self, stream, out):
        if not hasattr(self, "first"):
            self.first = self.kind.from_address(stream)
        return super().get_schema(stream, out)

    def get_next(self, stream, out):
        if hasattr(self, "first") and ctypes.addressof(self.first) != stream:
            self.first.private_data = stream
        return super().get_next(stream, out)


class OfOneThread(LiveStream):
    def alone(self, what, run):
        if not hasattr(self, "thread"):
            self.thread = threading.get_ident()
        return run() if self.thread == threading.get_ident() else 1


class NegativeCode(LiveStream):
    def fail(self, key):
        super().fail(key)
        self.failed = -self.failed
        return self.failed


class WithoutWords(LiveStream):
    def get_last_error(self, stream):
        return None


class WordsOnce(LiveStream):
    def get_last_error(self, stream):
        found = super().get_last_error(stream)
        self.error = ctypes.create_string_buffer(b"other words")
        KEPT.append(self.error)
        return found


class GoesOn(LiveStream):
    """After a failure the next array comes."""

    def fail(self, key):
        code = super().fail(key)
        if code:
            self.offer.fails = {}
        return code


def stream_of(live, **more):
    class Wrong(Stream):
        known = False

    Wrong.live = live
    return lambda: Wrong(**more)


FAILS = {"fails": {1: (5, "the words")}}
WRONG_STREAMS = {
    "another name": (WithOtherName, "gives_one_named_capsule", {}),
    "a callback missing": (WithoutLastError, "stream_comes_live", {}),
    "no destructor": (WithoutDestructor, "stream_capsule_dropped_unused_releases", {}),
    "no keywords": (WithoutKeywords, "unknown_keywords_that_are_none_are_accepted", {}),
    "its schema refused": (RefusesItsSchema, "the_streams_own_schema_may_be_requested", {}),
    "another schema later": (stream_of(SchemaOnce), "schema_can_be_asked_for_twice", {}),
    "the schema first": (stream_of(WantsTheSchemaFirst), "schema_need_not_be_asked_for", {}),
    "a code at the end": (stream_of(EndsInACode), "stream_ends_in_a_released_array", {}),
    "no end": (stream_of(NeverEnds), "stream_ends_in_a_released_array", {}),
    "begins again": (stream_of(BeginsAgain), "end_comes_again", {}),
    "other columns": (stream_of(GivesOtherColumns), "arrays_fit_the_schema", {}),
    "other values": (stream_of(GivesOtherValues), "values_are_the_streams", {"values": ROWS}),
    "another device": (stream_of(GivesOtherDevices), "device_type_is_the_arrays", {}),
    "reserved": (stream_of(LeavesReserved), "reserved_bytes_of_arrays_are_zero", {}),
    "no mark": (stream_of(NeverMarks), "release_marks_the_stream", {}),
    "arrays that die": (stream_of(DestroysArrays), "arrays_outlive_their_stream", {}),
    "schemas that die": (stream_of(DestroysSchemas), "schema_outlives_its_stream", {}),
    "where it was": (stream_of(StaysWhereItWas), "moved_streams_work", {}),
    "one thread": (stream_of(OfOneThread), "threads_may_take_turns", {}),
    "a negative code": (stream_of(NegativeCode, **FAILS), "failure_has_an_errno", {"fails": True}),
    "no words": (stream_of(WithoutWords, **FAILS), "failure_has_words", {"fails": True}),
    "words once": (stream_of(WordsOnce, **FAILS), "words_of_a_failure_last", {"fails": True}),
    "goes on": (stream_of(GoesOn, **FAILS), "failed_streams_stay_failed", {"fails": True}),
}


class Taker:
    """Takes a stream by the capsule protocol and reads it when it is asked to."""

    def __init__(self, offered):
        self.live = False
        device = getattr(offered, "__arrow_c_device_stream__", None) is not None
        capsule = self.ask(offered, device)
        kind, name = (
            (ArrowDeviceArrayStream, "arrow_device_array_stream")
            if device
            else (ArrowArrayStream, "arrow_array_stream")
        )
        self.check_name(capsule, name)
        self.take(kind.from_address(capsule_address(capsule, capsule_name(capsule))))
        self.live, self.rows = True, None

    def ask(self, offered, device):
        return offered.__arrow_c_device_stream__() if device else offered.__arrow_c_stream__()

    def check_name(self, capsule, name):
        if capsule_name(capsule) != name:
            raise ValueError("a capsule of another name")

    def take(self, struct):
        if not struct.release:
            raise ValueError("a released stream")
        self.stream = Opened(move(struct))

    def to_pylist(self):
        if self.rows is None:
            schema = self.stream.schema()
            try:
                self.rows = self.read(schema)
            finally:
                self.drop_schema(schema)
                self.close()
        return self.rows

    def drop_schema(self, schema):
        call_release(schema)

    def read(self, schema):
        rows = []
        while (one := self.next()) is not None:
            device, array = one
            try:
                self.check(schema, device, array)
                rows += values_of(schema, array)
            finally:
                self.drop_array(array)
        return rows

    def next(self):
        return self.stream.next()

    def drop_array(self, array):
        call_release(array)

    def check(self, schema, device, array):
        self.check_device(device)
        if array.n_children != schema.n_children:
            raise ValueError("another number of columns")

    def check_device(self, device):
        if device is not None and device.device_type != 1:
            raise ValueError("a device")

    def close(self):
        if self.live:
            self.live = False
            self.stream.release()

    def __del__(self):
        self.close()


class ReversesArrays(Taker):
    def read(self, schema):
        rows = super().read(schema)
        return rows[::-1] if len(rows) == 5 else rows


class WantsArrays(Taker):
    def read(self, schema):
        rows = super().read(schema)
        if not self.any:
            raise ValueError("no arrays")
        return rows

    any = False

    def next(self):
        one = super().next()
        self.any = self.any or one is not None
        return one


class StopsAtNoRows(Taker):
    def next(self):
        one = super().next()
        if one is not None and not one[1].length:
            call_release(one[1])
            return None
        return one


class NeverReleases(Taker):
    def close(self):
        if self.live and self.rows is None:
            super().close()


class ReleasesWhatItRead(Taker):
    """A stream that it does not read stays."""

    def to_pylist(self):
        try:
            return super().to_pylist()
        finally:
            self.close()

    def __del__(self):
        pass


class ReleasesStreamsTwice(Taker):
    def close(self):
        if self.live:
            self.live = False
            again = self.stream.struct.release
            self.stream.release()
            OneArgument(again)(ctypes.addressof(self.stream.struct))


class LeavesItInTheCapsule(Taker):
    def take(self, struct):
        if not struct.release:
            raise ValueError("a released stream")
        self.stream = Opened(struct)


class LeaksArrays(Taker):
    def drop_array(self, array):
        pass


class LeaksSchemas(Taker):
    def drop_schema(self, schema):
        pass


class AsksAfterTheRelease(Taker):
    def close(self):
        if self.live:
            schema = self.stream.struct.get_schema
            super().close()
            self.stream.struct.get_schema = schema
            if self.rows is not None or self.asked:
                call_release(self.stream.schema())

    asked = False

    def read(self, schema):
        rows = super().read(schema)
        self.asked = True
        return rows


class ReadsOnTwoThreads(Taker):
    def next(self):
        found = []

        def run():
            try:
                found.append(self.stream.next())
            except Failed as e:
                found.append(e)

        if not self.slow():
            return super().next()
        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        right = [f for f in found if not isinstance(f, Failed)]
        self.more = right[1:]
        return right[0] if right else None

    def ask(self, offered, device):
        self.offered = offered
        return super().ask(offered, device)

    def slow(self):
        return self.offered.slow


class AsksForErrorsAlways(Taker):
    def next(self):
        self.stream.words()
        return super().next()


class EndsAtAFailure(Taker):
    def next(self):
        try:
            return super().next()
        except Failed as e:
            if e.words:
                return None
            raise


class EndsWithoutASchema(Taker):
    def to_pylist(self):
        try:
            return super().to_pylist()
        except Failed:
            if not self.begun:
                return []
            raise

    begun = False

    def next(self):
        self.begun = True
        return super().next()


class HidesWords(Taker):
    def next(self):
        try:
            return super().next()
        except Failed:
            pass
        raise RuntimeError("something went wrong")


class TrustsWords(Taker):
    """A failure without words is the end."""

    def next(self):
        try:
            return super().next()
        except Failed as e:
            if e.words is None:
                return None
            raise


class LeaksFailedStreams(Taker):
    def read(self, schema):
        try:
            return super().read(schema)
        except Failed:
            self.live = False
            raise


class HidesProducers(Taker):
    def ask(self, offered, device):
        try:
            return super().ask(offered, device)
        except ValueError:
            pass
        raise RuntimeError("something went wrong")


class TakesAnyName(Taker):
    def check_name(self, capsule, name):
        pass


class TakesReleased(Taker):
    def take(self, struct):
        if struct.release:
            super().take(struct)
        else:
            self.to_pylist = list
            self.close = lambda: None


class TakesOtherColumns(Taker):
    def check(self, schema, device, array):
        self.check_device(device)
        array.n_children = schema.n_children


class TouchesDevices(Taker):
    def take(self, struct):
        super().take(struct)
        if isinstance(struct, ArrowDeviceArrayStream) and struct.device_type == 12:
            _, array = self.stream.next()
            child = ArrowArray.from_address((c_void_p * 1).from_address(array.children)[0])
            ctypes.string_at((c_void_p * 2).from_address(child.buffers)[1], 1)


class TrustsTheStream(Taker):
    def check_device(self, device):
        if self.stream.device and self.stream.struct.device_type != 1:
            super().check_device(device)


WRONG_TAKERS = {
    take.__name__: (take, rule)
    for take, rule in (
        (ReversesArrays, "every_array_is_read_in_order"),
        (WantsArrays, "streams_without_arrays_are_read"),
        (StopsAtNoRows, "arrays_without_rows_are_no_end"),
        (NeverReleases, "stream_is_released_when_its_taker_is_gone"),
        (ReleasesWhatItRead, "stream_left_before_its_end_is_released"),
        (ReleasesStreamsTwice, "stream_is_not_released_twice"),
        (LeavesItInTheCapsule, "stream_is_moved_out_of_its_capsule"),
        (LeaksArrays, "every_array_is_released_once"),
        (LeaksSchemas, "every_schema_is_released_once"),
        (AsksAfterTheRelease, "nothing_is_called_after_the_release"),
        (ReadsOnTwoThreads, "calls_come_one_at_a_time"),
        (AsksForErrorsAlways, "last_error_is_asked_for_after_failures_alone"),
        (EndsAtAFailure, "failure_of_get_next_is_raised"),
        (EndsWithoutASchema, "failure_of_get_schema_is_raised"),
        (HidesWords, "words_of_a_failure_are_in_the_exception"),
        (TrustsWords, "failure_without_words_is_raised"),
        (LeaksFailedStreams, "failed_stream_is_released"),
        (HidesProducers, "exceptions_of_the_producer_are_raised"),
        (TakesAnyName, "streams_of_other_names_are_refused"),
        (TakesReleased, "released_streams_are_refused"),
        (TakesOtherColumns, "arrays_that_do_not_fit_the_schema_are_refused"),
        (TouchesDevices, "buffers_on_a_device_are_not_touched"),
        (TrustsTheStream, "arrays_of_another_device_are_refused"),
    )
}
