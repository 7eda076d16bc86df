"""The asynchronous device stream in Python: every way in, every way out, and who is told what."""

import asyncio
import errno
import gc
import signal
import subprocess
import sys
import threading

import pytest
from children import child_env
from handlers import Handler, numbers, run, value
from producers import Producer
from waiting import unregister, until

import cdevice
from cdevice import aio
from cdevice._async import producer
from cdevice._runtime.ext import _native, ffi, lib
from cdevice.testing.fake import FakeBackend

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")


@pytest.fixture(autouse=True)
def nothing_stays():
    gc.collect()
    _native.drain()
    before = lib.cdv_live_async(), lib.cdv_live_streams()
    yield
    until(
        lambda: lib.cdv_live_async() <= before[0] and lib.cdv_live_streams() <= before[1],
        lambda: (before, lib.cdv_live_async(), lib.cdv_live_streams()),
    )


# ---- both ends ours ----
def test_everything_arrives_in_order_behind_its_schema_and_metadata():
    async def main():
        async with aio.consume(queue_size=3) as consumer:
            assert consumer.device_type is None and consumer.metadata == {}
            production = aio.produce(numbers(50), consumer, metadata={"rows": "50"})
            assert (await consumer.schema()).type == "int64"
            assert consumer.device_type == cdevice.DeviceType.CPU
            assert consumer.metadata == {b"rows": b"50"}
            got = [value(a) async for a in consumer]
            assert got == list(range(50))
            assert await production == "finished"
            assert production.sent == (50, 0) and production.done and production.outcome == "finished"
            await consumer.released()
            assert [a async for a in consumer] == []

    run(main)


def sources():
    table = pa.table({"a": [1, 2, 3]})
    yield "list", lambda: table.to_batches()
    yield "generator", lambda: (b for b in table.to_batches())
    yield "table", lambda: table
    yield "stream", lambda: cdevice.asstream(table)
    yield "array", lambda: cdevice.asarray(table.to_batches()[0])
    yield "pairs", lambda: [(table.to_batches()[0], {"k": "v"})]

    async def agen():
        for b in table.to_batches():
            await asyncio.sleep(0)
            yield b

    yield "async generator", agen

    def nested():
        inner = aio.consume()
        aio.produce(table, inner)
        return inner

    yield "consumer", nested


@pytest.mark.parametrize("name,make", list(sources()), ids=[n for n, _ in sources()])
def test_every_kind_of_source_is_sent(name, make):
    async def main():
        got = [row async for b in aio.iterate(make()) for row in b.to_pylist()]
        assert got == [{"a": 1}, {"a": 2}, {"a": 3}]

    run(main)


def test_a_task_may_carry_metadata():
    async def main():
        consumer = aio.iterate((a, {"n": str(value(a))}) if value(a) % 2 else a for a in numbers(4))
        seen = []
        async for _ in consumer:
            seen.append(consumer.batch_metadata)
        assert seen == [{}, {b"n": b"1"}, {}, {b"n": b"3"}]

    run(main)


def test_a_source_that_may_be_empty_needs_its_schema():
    async def main():
        consumer = aio.iterate(iter(()), schema="int32")
        assert [a async for a in consumer] == [] and (await consumer.schema()).type == "int32"
        with pytest.raises(cdevice.ArgumentError, match="pass schema="):
            await anext(aiter(aio.iterate(iter(()))))

    run(main)


def test_arrays_may_be_moved_to_a_device_on_the_way():
    backend = FakeBackend(5201, "awaited")
    cdevice.register_backend(backend)
    try:

        async def main():
            consumer = aio.iterate(numbers(5), device="awaited:1")
            got = [a async for a in consumer]
            assert consumer.device_type == 5201 and {a.device_id for a in got} == {1}
            assert [value(a.to("cpu")) for a in got] == list(range(5))

        run(main)
    finally:
        unregister(backend)


def test_never_more_than_queue_size_tasks_wait():
    for queue_size in (1, 2, 5):
        consumer = aio.consume(queue_size=queue_size)
        production = aio.produce(numbers(30), consumer)
        most = 0
        for a in consumer:
            sent, unextracted = production.sent
            most = max(most, consumer.waiting, unextracted)
            assert value(a) <= sent
        assert most <= queue_size
        assert production.join(30) == "finished"


def test_a_consumer_that_stops_reading_gets_no_more_than_it_asked_for():
    asked = []

    def source():
        for i in range(100):
            asked.append(i)
            yield cdevice.asarray([i])

    consumer = aio.consume(queue_size=4)
    production = aio.produce(source(), consumer)
    until(lambda: consumer.waiting == 4 and len(asked) == 5)  # one ahead, to know the end
    consumer.close()
    assert production.join(30) == "cancelled"
    assert len(asked) <= 6


# ---- leaving ----
def test_leaving_the_loop_in_any_way_cancels_the_producer_and_leaks_nothing():
    def endless(ended):
        try:
            i = 0
            while True:
                yield cdevice.asarray([i])
                i += 1
        finally:
            ended.append(True)

    async def leave(how):
        ended = []
        consumer = aio.consume(queue_size=3)
        production = aio.produce(endless(ended), consumer)
        if how == "break":
            async for a in consumer:
                if value(a) == 5:
                    break
        elif how == "exception":
            with pytest.raises(KeyError):
                async for _ in consumer:
                    raise KeyError(1)
        elif how == "with":
            async with consumer:
                await anext(aiter(consumer))
        elif how == "aclose":
            loop = aiter(consumer)
            await anext(loop)
            await consumer.aclose()
        elif how == "task":
            inside = asyncio.Event()

            async def read():
                async for _ in consumer:
                    inside.set()
                    await asyncio.Event().wait()

            task = asyncio.ensure_future(read())
            await inside.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        elif how == "thread":
            for a in consumer:
                if value(a) == 5:
                    break
        elif how == "dropped":
            loop = aiter(consumer)
            await anext(loop)
            del consumer, loop
            gc.collect()
            assert await production == "cancelled"
            assert ended == [True]
            return
        await consumer.released()
        assert consumer.closed and consumer.waiting == 0
        assert await production == "cancelled"
        assert ended == [True]

    async def main():
        for how in ("break", "exception", "with", "aclose", "task", "thread", "dropped"):
            await leave(how)

    run(main)


def test_a_cancelled_wait_loses_nothing():
    gate = threading.Event()

    def source():
        yield cdevice.asarray([0])
        gate.wait(30)
        yield cdevice.asarray([1])

    async def main():
        consumer = aio.iterate(source())
        loop = aiter(consumer)
        assert value(await anext(loop)) == 0
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(loop), 0.001)
        gate.set()
        assert value(await anext(loop)) == 1
        with pytest.raises(StopAsyncIteration):
            await anext(loop)

    run(main)


def test_a_producer_that_never_ends_hangs_nobody():
    stuck, leave = threading.Event(), threading.Event()

    def source():
        yield cdevice.asarray([0])
        stuck.set()
        leave.wait(60)

    async def main():
        consumer = aio.consume()
        production = aio.produce(source(), consumer)
        async for _ in consumer:
            await asyncio.to_thread(stuck.wait, 30)  # one item is fetched ahead
            break
        assert consumer.closed and not production.done
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(consumer.released(), 0.01)
        with pytest.raises(TimeoutError):
            production.join(0.01)
        leave.set()
        await consumer.released()
        assert await production in ("cancelled", "finished")

    run(main)


def test_a_consumer_that_nobody_feeds_can_be_closed_and_waits_with_a_limit():
    consumer = aio.consume()
    with pytest.raises(TimeoutError):
        consumer.read_schema(timeout=0.01)
    consumer.close()
    consumer.close()
    with pytest.raises(cdevice.Released, match="closed"):
        next(iter(consumer))

    async def main():
        other = aio.consume()
        await other.released()  # no producer: nothing to wait for
        assert isinstance(other.handler_address, int) and other.handler_address == other.handler_address
        other.close()
        # nobody will ever call this handler: give it back as a producer would
        face = ffi.cast("struct ArrowAsyncDeviceStreamHandler *", other.handler_address)
        face.release(face)
        await other.released()

    run(main)


# ---- errors ----
def test_what_the_source_raises_is_told_behind_what_came_before_and_raised_where_it_is_awaited():
    def source():
        yield from numbers(3)
        raise OSError(errno.ENOSPC, "the disk is full")

    async def asource():
        for a in numbers(3):
            yield a
        raise OSError(errno.ENOSPC, "the disk is full")

    async def main():
        for make in (source, asource):
            consumer = aio.consume(queue_size=8)
            production = aio.produce(make(), consumer)
            got = []
            with pytest.raises(cdevice.StreamError, match="the disk is full") as e:
                async for a in consumer:
                    got.append(value(a))
            assert got == [0, 1, 2] and e.value.code == errno.ENOSPC
            with pytest.raises(OSError, match="the disk is full"):
                await production
            with pytest.raises(OSError, match="the disk is full"):
                production.join(5)
            assert production.outcome == "failed" and production.code == errno.ENOSPC

    run(main)


def test_a_failing_first_item_is_an_error_without_a_schema():
    def source():
        raise ValueError("nothing here")
        yield

    async def main():
        consumer = aio.consume()
        production = aio.produce(source(), consumer)
        with pytest.raises(cdevice.StreamError, match="nothing here"):
            await consumer.schema()
        with pytest.raises(cdevice.StreamError, match="nothing here"):
            await anext(aiter(consumer))
        with pytest.raises(ValueError, match="nothing here"):
            await production

    run(main)


def test_a_failing_c_stream_is_told_with_its_text():
    async def main():
        batch = pa.record_batch({"a": [1, 2, None], "b": ["x", "yy", None]})
        p = Producer([(batch, 1, -1)] * 2, end_code=errno.ECONNRESET)
        consumer = aio.consume()
        production = aio.produce(cdevice.import_stream_from_c(p.struct), consumer)
        n = 0
        with pytest.raises(cdevice.StreamError, match="no more ink"):
            async for _ in consumer:
                n += 1
        assert n == 2
        with pytest.raises(cdevice.StreamError, match="no more ink"):
            await production
        assert p.released == 1

    run(main)


def test_a_producer_that_is_stopped_tells_the_consumer():
    hold = threading.Event()

    def source():
        yield cdevice.asarray([0])
        hold.wait(30)
        yield cdevice.asarray([1])
        yield cdevice.asarray([2])

    async def main():
        consumer = aio.consume(queue_size=1)
        production = aio.produce(source(), consumer)
        loop = aiter(consumer)
        await anext(loop)
        production.cancel()
        hold.set()
        with pytest.raises(cdevice.StreamError, match="stopped") as e:
            while True:
                await anext(loop)
        assert e.value.code == errno.ECANCELED
        assert await production == "stopped"

    run(main)


def test_a_foreign_handler_sees_the_calls_of_the_text():
    h = Handler()
    assert aio.produce(numbers(3), int(ffi.cast("uintptr_t", h.struct))).join(30) == "finished"
    assert h.calls == ["schema", "task", "task", "task", "end", "release"]


@pytest.mark.parametrize("n", [0, -1, -(2**63)])
def test_nonsense_demand_is_an_error_for_both(n):
    h = Handler(request=n)
    production = aio.produce(numbers(3), h.struct)
    with pytest.raises(cdevice.StreamError, match="positive number"):
        production.join(30)
    assert production.outcome == "failed" and production.code == errno.EINVAL
    assert [c if isinstance(c, str) else c[:2] for c in h.calls] == ["schema", ("error", errno.EINVAL), "release"]


def test_a_refusal_is_followed_by_release_only_and_reported():
    h = Handler(schema=errno.EPERM)
    production = aio.produce(numbers(3), h.struct)
    with pytest.raises(cdevice.StreamError, match="refused with errno 1 "):
        production.join(30)
    assert h.calls == ["schema", "release"] and production.outcome == "refused" and production.code == errno.EPERM
    h = Handler(task=errno.EIO)
    with pytest.raises(cdevice.StreamError, match="refused"):
        aio.produce(numbers(3), h.struct).join(30)
    assert h.calls == ["schema", "task", "release"]


def test_what_is_no_handler_is_refused_at_once():
    with pytest.raises(ValueError, match="NULL"):
        aio.produce(numbers(1), 0)
    with pytest.raises(ValueError, match="lacks a callback"):
        aio.produce(numbers(1), ffi.new("struct ArrowAsyncDeviceStreamHandler *"))
    with pytest.raises(cdevice.ArgumentError, match="queue_size"):
        aio.consume(queue_size=0)
    with pytest.raises(ValueError, match="validate"):
        aio.consume(validate="maybe")
    with pytest.raises(RuntimeError, match="no running event loop"):

        async def agen():
            yield 1

        aio.produce(agen(), Handler().struct)


def test_a_source_of_something_else_is_an_error_for_the_consumer():
    async def main():
        consumer = aio.iterate([object()])
        with pytest.raises(TypeError, match="cannot become an array"):
            await consumer.schema()

    run(main)


# ---- async sources ----
def test_an_async_source_is_closed_where_it_runs_when_the_consumer_leaves():
    async def main():
        ended = []

        async def source():
            try:
                i = 0
                while True:
                    yield cdevice.asarray([i])
                    i += 1
                    await asyncio.sleep(0)
            finally:
                ended.append(asyncio.get_running_loop())

        consumer = aio.iterate(source())
        async for a in consumer:
            if value(a) == 3:
                break
        await consumer.released()
        while not ended:
            await asyncio.sleep(0)
        assert ended == [asyncio.get_running_loop()]

    run(main)


@pytest.mark.parametrize("what", ["an item", "its end"])
def test_an_event_loop_that_ends_before_an_async_source_is_asked_leaves_no_coroutine_behind(what, recwarn):
    async def source():
        yield cdevice.asarray([1])

    asked = threading.Event()

    async def main():
        return producer.Pull(source(), lambda: asked.set())

    loop = asyncio.new_event_loop()
    pull = loop.run_until_complete(main())
    raised = []

    def ask():
        try:
            next(pull)
        except RuntimeError as e:
            raised.append(str(e))

    if what == "an item":
        thread = threading.Thread(target=ask)
        thread.start()
        asked.wait(60)
        loop.close()
        thread.join(60)
        assert raised == ["the event loop of the source was closed"]
    else:
        pull.close()
        loop.close()
    pull = None
    gc.collect()
    assert not [str(w.message) for w in recwarn if "never awaited" in str(w.message)]


def test_a_loop_that_cannot_wait_closes_its_consumer_before_the_exception_is_gone():
    """A comprehension's frame, which the exception keeps, holds the loop's iterator; the event loop may end meanwhile."""

    async def main():
        consumer = aio.consume()

        async def no_descriptor():
            raise OSError("no file descriptor is free")

        consumer._wait = no_descriptor
        with pytest.raises(OSError, match="no file descriptor") as raised:
            [a async for a in consumer]
        assert raised.value.__traceback__ is not None and consumer.closed

    run(main)


def test_an_async_source_that_waits_is_interrupted_by_a_cancel():
    async def main():
        async def source():
            yield cdevice.asarray([0])
            await asyncio.Event().wait()
            yield cdevice.asarray([1])

        consumer = aio.consume()
        production = aio.produce(source(), consumer)
        async for _ in consumer:
            break
        assert await production == "cancelled"
        consumer = aio.consume()
        production = aio.produce(source(), consumer)
        loop = aiter(consumer)
        await anext(loop)
        production.cancel()
        assert await production == "stopped"
        with pytest.raises(cdevice.StreamError, match="stopped"):
            await anext(loop)

    run(main)


# ---- trio, anyio ----
def test_the_same_runs_on_trio():
    trio = pytest.importorskip("trio", reason="pip install trio")

    async def main():
        async def asource():
            for a in numbers(5):
                await trio.lowlevel.checkpoint()
                yield a

        consumer = aio.consume(queue_size=2)
        production = aio.produce(numbers(200), consumer)
        got = []
        assert (await consumer.schema()).type == "int64"
        async for a in consumer:
            got.append(value(a))
        assert got == list(range(200)) and await production == "finished"
        await consumer.released()
        assert [value(a) async for a in aio.iterate(asource())] == list(range(5))
        consumer = aio.iterate(asource())
        with trio.move_on_after(30):
            async for _ in consumer:
                break
            await consumer.released()
        hold = threading.Event()

        def slow():
            yield cdevice.asarray([0])
            hold.wait(30)

        consumer = aio.iterate(slow())
        with trio.move_on_after(0.01) as scope:
            async for _ in consumer:
                pass
        assert scope.cancelled_caught and consumer.closed
        hold.set()
        await consumer.released()

    trio.run(main)


def test_the_same_runs_under_anyio():
    anyio = pytest.importorskip("anyio", reason="pip install anyio")

    async def main():
        assert [value(a) async for a in aio.iterate(numbers(10))] == list(range(10))

    anyio.run(main)
    pytest.importorskip("trio", reason="pip install trio")
    anyio.run(main, backend="trio")


# ---- bridges ----
def test_an_async_stream_becomes_a_stream_and_leaves_through_its_protocols():
    table = pa.table({"a": list(range(10))})
    consumer = aio.iterate(table.to_batches(max_chunksize=3))
    stream = cdevice.asstream(consumer)
    assert stream.schema.names == ["a"]
    assert pa.table(stream).equals(table)
    with pytest.raises(cdevice.Released, match="converted to a stream"):
        iter(consumer)
    early = cdevice.asstream(aio.iterate(table.to_batches(max_chunksize=1)))
    next(early)
    early.close()
    with pytest.raises(TypeError, match="produce"):

        async def agen():
            yield 1

        cdevice.asstream(agen())
    with pytest.raises(ValueError, match="nothing here"):

        def failing():
            raise ValueError("nothing here")
            yield

        cdevice.asstream(aio.iterate(failing()))


def test_two_tasks_may_wait_for_different_things():
    async def main():
        consumer = aio.consume()
        hold = threading.Event()

        def source():
            yield cdevice.asarray([0])
            hold.wait(30)

        release = asyncio.ensure_future(consumer.released())
        production = aio.produce(source(), consumer)
        release = asyncio.ensure_future(consumer.released())

        async def read():
            return [value(a) async for a in consumer]

        reader = asyncio.ensure_future(read())
        await asyncio.sleep(0)
        assert not release.done()
        hold.set()
        assert await reader == [0]
        await release
        assert await production == "finished"

    run(main)


# ---- the end of the process ----
@pytest.mark.parametrize("leave", ["pass", "sys.exit(0)"])
def test_a_process_may_end_while_producers_and_consumers_are_busy(leave):
    code = f"""
import sys, cdevice
from cdevice import aio
def endless():
    while True:
        yield cdevice.asarray([1])
consumer = aio.iterate(endless())
for i, a in zip(range(100), consumer): pass
kept = iter(aio.iterate(endless()))
next(kept)
print("ok")
{leave}
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=child_env())
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_importing_aio_is_not_part_of_importing_the_package():
    code = "import cdevice, sys; cdevice.asarray([1]); print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=child_env())
    assert done.stdout == "False\n", done.stderr


# ---- what users of iterate and produce hear ----
def boom():
    yield cdevice.asarray([1])
    raise LookupError("boom")


def test_what_the_source_raises_comes_out_of_iterate_as_it_was():
    async def main():
        got = []
        with pytest.raises(LookupError, match="^'?boom'?$"):
            async for a in aio.iterate(boom()):
                got.append(value(a))
        assert got == [1]

    run(main)
    with pytest.raises(LookupError, match="boom"):
        list(aio.iterate(boom()))


def test_of_a_production_the_sources_exception_is_the_cause():
    async def main():
        consumer = aio.consume(2)
        production = aio.produce(boom(), consumer)
        with pytest.raises(cdevice.StreamError, match="boom") as e:
            async for _ in consumer:
                pass
        assert type(e.value.__cause__) is LookupError
        with pytest.raises(LookupError):
            await production

    run(main)


def test_arguments_are_refused_where_they_are_passed():
    with pytest.raises(TypeError, match="int is not a source"):
        aio.iterate(5)
    with pytest.raises(TypeError, match="int is not a source"):
        aio.produce(5, aio.consume())
    with pytest.raises(ValueError, match="no device type is named 'nowhere'"):
        aio.iterate([[1]], device="nowhere")


def test_a_consumer_that_goes_ends_the_production_as_cancelled():
    def endless():
        while True:
            yield cdevice.asarray([1])

    consumer = aio.consume()
    production = aio.produce(endless(), consumer)
    next(iter(consumer))
    del consumer
    gc.collect()
    assert production.join(30) == "cancelled"


def test_a_production_that_fails_unheard_warns_once():
    consumer = aio.consume()
    production = aio.produce(boom(), consumer.handler_address)  # as another library's consumer: it knows no exceptions
    with pytest.raises(cdevice.StreamError, match="boom"):
        list(consumer)
    production._done.wait(30)
    with pytest.warns(cdevice.DeviceWarning, match="LookupError: boom") as caught:
        del production
        gc.collect()
    assert len(caught) == 1


def test_any_stream_is_read_by_async_for():
    async def main():
        stream = cdevice.asstream([[1], [2], [3]])
        assert [value(a) async for a in stream] == [1, 2, 3]

    run(main)


def test_aio_is_there_after_import_cdevice():
    code = "import cdevice; print(cdevice.aio.consume().closed, 'aio' in dir(cdevice))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "True"], done.stderr


# ---- an interrupt can come out of any wait: one side ends what was started ----
@pytest.mark.filterwarnings("ignore:a production failed")
@pytest.mark.parametrize("started", ["and runs", "and has not begun", "not at all"])
def test_ctrl_c_out_of_the_start_of_a_production_leaves_one_end_of_it(monkeypatch, started):
    """start() waits for the thread's first steps: KeyboardInterrupt comes out of it whether the thread runs or not."""
    begun, late = threading.Event(), []

    def source():
        begun.set()
        yield from numbers(3)

    class Interrupted(threading.Thread):
        def start(self):
            if self.name != "cdevice-produce":
                super().start()
                return
            if started == "and runs":
                super().start()
                assert begun.wait(30)
            elif started == "and has not begun":
                late.append(super().start)
            raise KeyboardInterrupt

    ends = []
    real = _native.production_fail
    monkeypatch.setattr(producer.threading, "Thread", Interrupted)
    monkeypatch.setattr(_native, "production_fail", lambda *a: (ends.append("here"), real(*a))[1])
    for _ in range(20):
        begun.clear()
        consumer = aio.consume()
        with pytest.raises(KeyboardInterrupt):
            aio.produce(source(), consumer)
        for start in late:
            start()  # now it comes, and finds the production ended
        late.clear()
        try:
            assert [b.to_pylist() for b in consumer] == [b.to_pylist() for b in numbers(3)]
        except cdevice.StreamError:
            pass  # it was stopped
        consumer.close()
    assert len(ends) == (0 if started == "and runs" else 20)


def test_a_production_that_nobody_started_ends_when_it_goes(monkeypatch):
    """As where Ctrl-C comes between taking the handler and starting the thread."""
    consumer = aio.consume()
    capsule, _ = _native.production_open(consumer._capsule)
    consumer._given = True
    del capsule
    with pytest.raises(cdevice.StreamError, match="never started"):
        next(iter(consumer))


def test_a_storm_of_ctrl_c_ends_no_process():
    code = """
import source_tree, os, signal, sys, threading, time
import cdevice, pyarrow as pa
from cdevice import aio
main = threading.main_thread().ident
def source(k):
    if k % 3:
        signal.pthread_kill(main, signal.SIGINT)  # as a user's Ctrl-C would come
    for i in range(50): yield pa.record_batch({"x": [i]})
for k in range(300):
    try:
        c = aio.consume(queue_size=4)
        try:
            aio.produce(source(k), c)
            for b in c: pass
        finally:
            c.close()
    except KeyboardInterrupt:
        pass
    except cdevice.StreamError:
        pass
while True:
    try:
        sys.stdout.write("survived\\n")
        break
    except KeyboardInterrupt:
        pass
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, env=child_env())
    assert done.returncode in (0, 1, -signal.SIGINT), done.stderr  # the last one may come at the exit
    assert "survived" in done.stdout, done.stderr


def test_after_a_thread_that_could_not_be_started_owners_are_dropped_again():
    code = """
import source_tree, gc, threading, _thread
import cdevice
name = "_start_joinable_thread"  # from 3.13 on
if not hasattr(threading, name): name = "_start_new_thread"
real = getattr(threading, name)
def fails(*a, **k): raise RuntimeError("can't start new thread")
setattr(threading, name, fails)
memory = bytearray(b"12345678")
print("first:", cdevice.asarray(memoryview(memory).cast("q")).length)
setattr(threading, name, real)
from cdevice._runtime.ext import ffi, lib
from cdevice._runtime import release_thread as _reaper
a = cdevice.asarray(memoryview(memory).cast("q"))
assert _reaper._reaper.thread.is_alive()
out = ffi.new("struct ArrowDeviceArray *")
a._export_structs(int(ffi.cast("uintptr_t", out)), 0)
del a
lib.cdv_release_in_thread(out, 1)
pause = threading.Event()
for _ in range(30000):
    try:
        memory.append(1)  # no reference is left
        break
    except BufferError:
        pause.wait(0.001)
else:
    raise SystemExit("still held")
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=child_env())
    assert done.returncode == 0 and done.stdout == "first: 1\nok\n", done.stdout + done.stderr
