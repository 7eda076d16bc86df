"""A stream ends once, and says how: nothing that comes out of a source, its text or its cleanup ends it as if it were
complete, or leaves a consumer, a production or a waiter waiting; leaving reaches the source through every chain."""

import asyncio
import errno
import gc
import os
import signal
import subprocess
import sys
import threading
import weakref

import pytest
from children import child_env
from handlers import numbers, run, value
from producers import PRODUCERS, Once
from waiting import unregister, until

import cdevice
from cdevice import aio
from cdevice._async import consumer, producer
from cdevice._runtime.ext import _native, ffi, lib
from cdevice.testing.fake import FakeBackend


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


def raising(error, after=0):
    yield from numbers(after)
    raise error


class Mine(Exception):
    pass


def on_both(main):
    """On asyncio and, where it is installed, on trio."""
    asyncio.run(asyncio.wait_for(main(asyncio), 60))
    try:
        import trio
    except ImportError:
        return

    async def limited():
        with trio.fail_after(60):
            await main(trio)

    trio.run(limited)


async def forever(loop):
    await (asyncio.Event().wait() if loop is asyncio else loop.sleep_forever())


async def sleeping(loop, ended=None):
    try:
        yield cdevice.asarray([1])
        await forever(loop)
        yield cdevice.asarray([2])
    finally:
        if ended is not None:
            ended.append(1)


async def settled(loop, condition):
    while not condition():
        await loop.sleep(0)


def child(code, *args):
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=60, env=child_env()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---- what comes out of a source ----
def test_a_source_that_is_cancelled_from_inside_does_not_end_as_if_it_were_complete():
    async def source():
        yield cdevice.asarray([1])
        inner = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(inner.cancel)
        await inner
        yield cdevice.asarray([2])

    async def main():
        consumer, got = aio.consume(), []
        production = aio.produce(source(), consumer)
        with pytest.raises(cdevice.StreamError, match="was cancelled") as e:
            async for a in consumer:
                got.append(value(a))
        assert got == [1] and isinstance(e.value.__cause__.__cause__, asyncio.CancelledError)
        with pytest.raises(cdevice.StreamError, match="was cancelled"):
            await production
        assert production.outcome == "failed"

    run(main)


def test_no_item_is_taken_for_the_end():
    async def source():
        yield cdevice.asarray([1])
        yield ...
        yield cdevice.asarray([2])

    async def main():
        got = []
        with pytest.raises(TypeError, match="ellipsis cannot become an array"):
            async for a in aio.iterate(source()):
                got.append(value(a))
        assert got == [1]

    run(main)


def test_an_item_that_comes_just_when_a_look_at_the_clock_is_due_is_not_lost(monkeypatch):
    for side in (consumer, producer):
        monkeypatch.setattr(side, "SIGNAL_POLL_SECONDS", 1e-5)

    async def source():
        for a in numbers(300):
            await asyncio.sleep(0)
            yield a

    async def late():
        yield cdevice.asarray([0])
        raise TimeoutError("the source's own")

    async def main():
        assert [value(a) async for a in aio.iterate(source())] == list(range(300))
        consumer = aio.consume()
        production = aio.produce(late(), consumer)
        with pytest.raises(cdevice.StreamError, match="the source's own"):
            async for _ in consumer:
                pass
        with pytest.raises(TimeoutError, match="the source's own"):
            await production

    run(main)


def odd_exceptions():
    class Sql(Exception):
        code = "e3q8"

    class Rpc(Exception):
        def code(self):
            return 14

    class Text(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    huge = type("Huge", (Exception,), {"code": 2**40})
    negative = type("Negative", (Exception,), {"code": -3})
    return [Sql("lost"), Rpc("gone"), OSError("E1", "text"), ValueError("file \udcff"), SystemExit("bye"), Text()] + [
        huge("x"), negative("x"), OSError(2**32, "wraps"), OSError(True, "true"), BlockingIOError(errno.EAGAIN, "again"),
        Mine(), Mine("x" * 1100), Mine("ü" * 800), Mine("a\0b"), asyncio.CancelledError(), GeneratorExit(),
    ]  # fmt: skip


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("n", range(len(odd_exceptions())))
def test_whatever_a_source_raises_ends_the_stream_in_an_error_and_is_raised_as_it_was(n, after):
    error = odd_exceptions()[n]
    consumer = aio.consume(queue_size=8)
    production = aio.produce(raising(error, after), consumer)
    got = []
    with pytest.raises(cdevice.Error) as told:
        for a in consumer:
            got.append(value(a))
    assert got == list(range(after)) and told.value.__cause__ is error and 0 < told.value.code < 2**31
    with pytest.raises(BaseException) as raised:
        production.join(30)
    assert raised.value is error and production.outcome == "failed" and 0 < production.code < 2**31
    stream = cdevice.asstream(raising(error, 1))
    next(stream)
    with pytest.raises(BaseException) as raised:
        next(stream)
    assert raised.value is error
    told.value.__cause__ = None  # ends the cycle through this frame
    del told, raised, error


def test_an_exception_is_raised_as_it_was_on_whatever_thread_and_for_each_stream():
    first, second = Mine("first"), Mine()
    streams = [cdevice.asstream(raising(e, 1), device="cpu", prefetch=2) for e in (first, second)]
    thread = threading.Thread(target=lambda: [next(s) for s in streams])
    thread.start()
    thread.join()
    for stream, error in zip(streams, (first, second)):
        with pytest.raises(Mine) as e:
            next(stream)
        assert e.value is error


def test_an_exception_that_nobody_asks_for_is_kept_by_nothing_and_attached_to_no_other_error():
    class Big:
        pass

    kept = []

    def source():
        big = Big()
        kept.append(weakref.ref(big))
        yield cdevice.asarray([1])
        raise Mine()

    stream = cdevice.asstream(source(), device="cpu")
    next(stream)
    del stream
    gc.collect()
    with pytest.raises(cdevice.ArgumentError) as e:
        cdevice.asarray([1]).slice(5, 1)
    assert e.value.__cause__ is None and kept[0]() is None

    def dealt_with():
        inner = cdevice.asstream(Once(cdevice.asstream(source())))
        yield next(inner)
        with pytest.raises(cdevice.StreamError):
            next(inner)

    assert len(list(cdevice.asstream(dealt_with()))) == 1
    gc.collect()
    assert kept[1]() is None


def test_a_producer_whose_error_is_called_eagain_has_not_finished():
    class Foreign:
        """Calls the handler as the text says, and reports EAGAIN."""

        def __init__(self, handler):
            h = ffi.cast("struct ArrowAsyncDeviceStreamHandler *", handler)
            h.on_error(h, errno.EAGAIN, b"try again", ffi.NULL)
            h.release(h)

    consumer = aio.consume()
    Foreign(consumer.handler_address)
    with pytest.raises(cdevice.StreamError, match="try again") as e:
        next(iter(consumer))
    assert e.value.code == errno.EAGAIN


# ---- its cleanup ----
@pytest.mark.parametrize("how", ["raises", "yields"])
def test_a_source_whose_cleanup_fails_leaves_nobody_waiting(how):
    def source():
        try:
            yield from numbers(1000)
        except GeneratorExit:
            if how == "yields":
                yield cdevice.asarray([0])
            raise OSError("cannot close the file") from None

    async def main():
        consumer = aio.consume()
        production = aio.produce(source(), consumer)
        async for _ in consumer:
            break
        with pytest.raises(OSError if how == "raises" else RuntimeError):
            await production
        with pytest.raises(OSError if how == "raises" else RuntimeError):
            production.join(30)
        assert production.done and production.outcome == "cancelled"

    run(main)


def test_an_async_source_whose_cleanup_fails_harms_no_event_loop():
    async def source(loop, ended):
        try:
            for i in range(1000):
                yield cdevice.asarray([i])
                await loop.sleep(0)
        finally:
            ended.append(1)
            raise OSError("cannot close the socket")

    async def main(loop):
        ended = []
        consumer = aio.consume()
        production = aio.produce(source(loop, ended), consumer)
        async for _ in consumer:
            break
        assert await production == "cancelled"
        await settled(loop, lambda: ended)
        await loop.sleep(0)
        if loop is asyncio:
            await settled(loop, lambda: told)

    told = []

    async def noted(loop):
        if loop is asyncio:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))
        await main(loop)

    with pytest.warns(cdevice.errors.DeviceWarning, match="cannot close the socket") if has_trio() else no_warning():
        on_both(noted)
    assert str(told[0]) == "cannot close the socket"


def has_trio():
    try:
        import trio  # noqa: F401
    except ImportError:
        return False
    return True


class no_warning:
    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass


# ---- leaving reaches the source ----
def test_leaving_ends_a_waiting_async_source_on_asyncio_and_trio():
    async def main(loop):
        ended = []
        for i in range(6):
            consumer = aio.consume()
            production = aio.produce(sleeping(loop, ended), consumer)
            async for _ in consumer:
                break
            if i % 2:
                production.cancel()
            assert await production in ("cancelled", "stopped")
        await settled(loop, lambda: len(ended) == 6)

    on_both(main)


def test_trio_may_end_while_sources_wait():
    trio = pytest.importorskip("trio", reason="pip install trio")

    async def main():
        for _ in range(5):
            async for _ in aio.iterate(sleeping(trio)):
                break
        return "its result"

    assert trio.run(main) == "its result"


@pytest.mark.parametrize("kind", ["chain", "chain of three", "stream", "prefetch", "no schema"])
def test_leaving_the_outer_end_of_a_chain_ends_its_source(kind):
    ended = []

    async def silent(loop):
        try:
            await forever(loop)
            yield cdevice.asarray([1])
        finally:
            ended.append(1)

    async def main(loop):
        ended.clear()
        inner = aio.iterate(silent(loop) if kind == "no schema" else sleeping(loop, ended))
        in_thread = asyncio.to_thread if loop is asyncio else loop.to_thread.run_sync
        if kind == "no schema":
            outer = aio.consume()
            production = aio.produce(inner, outer)
            outer.close()
            assert await production == "cancelled"
        elif kind.startswith("chain"):
            outer = aio.iterate(aio.iterate(inner) if kind == "chain of three" else inner)
            async for _ in outer:
                break
        else:
            stream = await in_thread(inner.as_stream)
            if kind == "prefetch":
                stream = stream.to("cpu", prefetch=2)
            await in_thread(next, stream)
            stream.close()
        await settled(loop, lambda: ended)

    on_both(main)


def test_cancelling_a_production_over_a_chain_ends_it():
    async def main():
        ended = []
        inner = aio.iterate(sleeping(asyncio, ended))
        outer = aio.consume()
        production = aio.produce(inner, outer)
        loop = aiter(outer)
        await anext(loop)
        production.cancel()
        assert await production == "stopped"
        with pytest.raises(cdevice.StreamError, match="stopped"):
            await anext(loop)
        await settled(asyncio, lambda: ended)

    run(main)


def test_a_cancelled_wait_for_a_production_leaves_nothing_behind():
    hold = threading.Event()

    def source():
        yield cdevice.asarray([0])
        hold.wait(60)

    async def main(loop):
        hold.clear()
        consumer = aio.consume()
        production = aio.produce(source(), consumer)
        for _ in range(5):
            if loop is asyncio:
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(production._wait(), 0.001)
            else:
                with loop.move_on_after(0.001):
                    await production
        assert not production._callbacks
        if loop is not asyncio:
            assert loop.to_thread.current_default_thread_limiter().borrowed_tokens == 0
        consumer.close()
        hold.set()
        await production

    on_both(main)


# ---- waiters ----
def test_no_waiter_takes_the_wake_up_of_another():
    async def main():
        consumer, go = aio.consume(queue_size=1), threading.Event()

        def source():
            for a in numbers(3):
                go.wait(60)
                yield a

        production = aio.produce(source(), consumer, schema="int64")

        async def read():
            return [value(a) async for a in consumer]

        reader = asyncio.ensure_future(read())
        while not lib.cdv_consumer_armed(consumer._pointer):
            await asyncio.sleep(0)  # it waits for its descriptor now
        go.set()
        until(lambda: consumer.waiting)  # the event loop is busy while the item arrives
        await consumer.released()
        assert await reader == [0, 1, 2] and await production == "finished"

    run(main)


def test_waiters_of_two_event_loops_are_all_woken():
    consumer, go, told = aio.consume(), threading.Event(), []

    def source():
        go.wait(60)
        yield cdevice.asarray([1])

    async def other():
        told.append((await asyncio.wait_for(consumer.schema(), 30)).type)

    async def main():
        production = aio.produce(source(), consumer)
        thread = threading.Thread(target=lambda: asyncio.run(other()))
        thread.start()
        item = asyncio.ensure_future(anext(aiter(consumer)))
        while lib.cdv_consumer_armed(consumer._pointer) < 2:
            await asyncio.sleep(0)
        go.set()
        assert value(await item) == 1
        await asyncio.to_thread(thread.join)
        await production

    run(main)
    assert told == ["int64"]


def test_a_waiter_of_a_closed_event_loop_keeps_nobody_from_being_woken():
    consumer, go, loop = aio.consume(), threading.Event(), asyncio.new_event_loop()
    left = loop.create_task(consumer.schema())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

    def source():
        go.wait(60)
        yield cdevice.asarray([1])

    async def main():
        aio.produce(source(), consumer)
        asyncio.get_running_loop().call_soon(go.set)
        return [value(a) async for a in consumer]

    assert run(main) == [1]
    left._log_destroy_pending = False


def test_who_waits_on_a_consumer_that_becomes_a_stream_goes_on_waiting():
    async def main():
        consumer = aio.consume()
        waiters = [asyncio.ensure_future(w) for w in (consumer.released(), consumer.schema())]
        await asyncio.sleep(0)
        production = aio.produce(numbers(5), consumer)
        waiters.append(asyncio.ensure_future(consumer.released()))
        await asyncio.sleep(0)
        count = await asyncio.to_thread(lambda: sum(1 for _ in consumer.as_stream()))
        assert count == 5 and await production == "finished"
        assert (await asyncio.gather(*waiters))[1].type == "int64"

    run(main)


def test_waiting_for_oneself_is_refused():
    async def main():
        async def source():
            yield cdevice.asarray([1])

        consumer = aio.iterate(source())
        for block in (iter, aio.Consumer.as_stream, cdevice.asstream, aio.Consumer.read_schema):
            with pytest.raises(RuntimeError, match="would wait for itself"):
                block(consumer)
        with pytest.raises(RuntimeError, match="would wait for itself"):
            consumer._production.join()
        assert [value(a) async for a in aio.iterate(consumer)] == [1]

    run(main)


# ---- one producer for each consumer, and arguments before it ----
def test_a_consumer_takes_one_producer():
    hold = threading.Event()

    def source():
        yield cdevice.asarray([0])
        hold.wait(60)

    consumer = aio.consume()
    production = aio.produce(source(), consumer)
    for handler in (consumer, consumer.handler_address):
        with pytest.raises(ValueError, match="already has a producer"):
            aio.produce(numbers(1), handler)
    del consumer, handler
    gc.collect()
    hold.set()
    assert production.join(30) == "cancelled"


def test_produce_that_raises_has_not_touched_the_consumer():
    class NoIterator:
        def __aiter__(self):
            return 5

    async def asource():
        yield 1

    async def main():
        for source, options, error in (
            (numbers(1), {"metadata": 5}, TypeError),
            (numbers(1), {"metadata": {1: 3}}, TypeError),
            (numbers(1), {"schema": "no such type"}, Exception),
            (NoIterator(), {}, TypeError),
            (5, {}, TypeError),
        ):
            consumer = aio.consume()
            with pytest.raises(error):
                aio.produce(source, consumer, **options)
            await asyncio.wait_for(consumer.released(), 5)
            aio.produce(numbers(2), consumer)
            assert [value(a) async for a in consumer] == [0, 1]

    run(main)
    before = lib.cdv_live_async()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="no running event loop"):
            aio.iterate(asource())
    until(lambda: lib.cdv_live_async() <= before)  # what tests before this one left may be on its way


def test_a_consumer_that_is_closed_before_it_begins_cancels():
    consumer = aio.consume()
    consumer.close()
    production = aio.produce(numbers(3), consumer)
    assert production.join(30) == "cancelled" and production.code == 0


def test_pairs_of_values_are_arrays_and_pairs_with_a_mapping_have_metadata():
    async def main():
        assert [a.to_pylist() async for a in aio.iterate([(1, 2), (3, None)])] == [[1, 2], [3, None]]
        one = cdevice.asarray([1])
        consumer, seen = aio.iterate([(one, None), ([2], {"k": "v"})]), []
        async for a in consumer:
            seen.append((value(a), consumer.batch_metadata))
        assert seen == [(1, {}), (2, {b"k": b"v"})]

    run(main)


# ---- metadata ----
def test_the_metadata_of_arrays_comes_along_to_a_device():
    async def main():
        items = [(a, {"n": str(value(a))}) for a in numbers(4)]
        for make in (
            lambda: aio.iterate(items, device="cpu"),
            lambda: aio.iterate(aio.iterate(items), device="cpu"),
            lambda: aio.iterate(cdevice.asstream(aio.iterate(items)).to("cpu", prefetch=2)),
        ):
            consumer = await asyncio.to_thread(make)
            seen = []
            async for _ in consumer:
                seen.append(consumer.batch_metadata)
            assert seen == [{b"n": b"%d" % i} for i in range(4)]

    run(main)


def test_what_has_come_does_not_wait_for_what_has_not_on_its_way_to_a_device():
    async def main():
        consumer, n = aio.iterate(sleeping(asyncio), device="cpu"), 0
        async for a in consumer:
            n += value(a)
            break
        assert n == 1

    run(main)


# ---- Ctrl-C ----
INTERRUPTED = """
import cdevice, signal, threading, sys, os
from cdevice import aio
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, by a shell that runs this behind it
hold, waiting = threading.Event(), threading.Event()
def source():
    yield cdevice.asarray([1])
    waiting.set()
    hold.wait(60)
    yield cdevice.asarray([2])
class Foreign:
    def __arrow_c_stream__(self, requested_schema=None):
        return aio.iterate(source()).as_stream().__arrow_c_stream__()
kind = sys.argv[1]
if kind == "stream": it = iter(aio.iterate(source()).as_stream())
elif kind == "prefetch": it = iter(aio.iterate(source()).as_stream().to("cpu", prefetch=1))
elif kind == "no prefetch": it = iter(aio.iterate(source()).as_stream().to("cpu", prefetch=0))
elif kind == "through structs": it = iter(cdevice.asstream(Foreign()))
else: it = iter(aio.iterate(source()))
next(it)
ready = threading.Event()
def interrupt():
    waiting.wait(60)
    ready.wait(60)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    ready.set()
    next(it)
except KeyboardInterrupt:
    print("interrupted")
hold.set()
if kind != "through structs":
    print(next(it).to_pylist())
"""


@pytest.mark.parametrize("kind", ["stream", "prefetch", "no prefetch", "through structs", "consumer"])
def test_ctrl_c_reaches_every_wait_and_loses_no_array(kind):
    out = child(INTERRUPTED, kind).split("\n")
    assert out[0] == "interrupted" and (kind == "through structs" or out[1] == "[2]")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_programs_comes_at_once_out_of_a_source_that_is_fetched_ahead(error):
    error = error(3)
    stream = cdevice.asstream(raising(error, 2)).to("cpu")  # two ahead, in this thread
    with pytest.raises(type(error)) as e:
        next(stream)
    assert e.value is error


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("method", ["alloc", "copy"])
def test_what_ends_programs_comes_as_itself_out_of_a_backend(error, method):
    class Interrupted(FakeBackend):
        pass

    backend = Interrupted(5301, "interrupted")
    cdevice.register_backend(backend)
    try:
        cdevice.asarray([1]).to("interrupted")
        error = error(3)

        def interrupt(*args, **kwargs):
            raise error

        setattr(backend, method, interrupt)
        with pytest.raises(type(error)) as e:
            cdevice.asarray([1, 2]).to("interrupted")
        assert e.value is error
        delattr(backend, method)
    finally:
        unregister(backend)


def test_an_exception_of_a_backend_is_the_cause_whatever_its_text():
    backend = FakeBackend(5302, "texts")
    cdevice.register_backend(backend)
    try:
        cdevice.asarray([1]).to("texts")
        for error in (Mine(), Mine("x" * 2000), Mine("\udcff"), Mine("ü" * 500)):

            def fail(*args, _error=error, **kwargs):
                raise _error

            backend.alloc = fail
            with pytest.raises(cdevice.DeviceError) as e:
                cdevice.asarray([1, 2]).to("texts")
            assert e.value.__cause__ is error
            del backend.alloc
    finally:
        unregister(backend)


# ---- forks ----
FORKED = """
import cdevice, gc, os, signal, sys
from cdevice import aio
x = cdevice.asarray(list(range(100)))
def endless():
    while True: yield x
class Foreign:
    def __arrow_c_stream__(self, requested_schema=None): return cdevice.asstream(endless()).__arrow_c_stream__()
how = sys.argv[1]
for i in range(3):
    s = cdevice.asstream(Foreign(), device="cpu", prefetch=4); next(s)
    c = aio.consume(); p = aio.produce(endless(), c); it = iter(c); next(it)
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        text = ""
        if how == "close": s.close()
        elif how == "drop": del s, it, c, p; gc.collect()
        else:
            for use in (lambda: next(s), lambda: [next(it) for _ in range(9)], p.join, lambda: __import__("asyncio").run(c.released())):
                try: use()
                except cdevice.StreamError as e: text += str(e)
            c.close()
        os._exit(0 if how != "use" or text.count("made before a fork") == 4 else 7)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
    s.close(); c.close(); del it
    assert p.join(30) == "cancelled"
"""


@pytest.mark.parametrize("how", ["close", "drop", "use"])
def test_a_forked_child_gets_an_error_where_it_would_wait_for_a_thread_of_its_parent(how):
    child(FORKED, how)


def test_a_consumer_that_nobody_had_may_be_used_on_the_other_side_of_a_fork():
    consumer = aio.consume()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        aio.produce(numbers(3), consumer)
        os._exit([value(a) for a in consumer] != [0, 1, 2])
    assert os.waitpid(pid, 0)[1] == 0


# ---- streams ----
def test_a_reader_with_a_stream_over_its_own_generator_is_freed():
    class Reader:
        def __init__(self, wrap):
            self.stream = wrap(cdevice.asstream(self.batches()))

        def batches(self):
            yield from numbers(5)

    ahead = [lambda s, n=n: s.to("cpu", prefetch=n) for n in (0, 2)]
    for wrap in (lambda s: s, *ahead, lambda s: cdevice.asstream(Once(s))):
        reader = Reader(wrap)
        next(reader.stream)
        gone = weakref.ref(reader)
        del reader
        gc.collect()
        assert gone() is None


def test_a_stream_used_by_its_own_source_says_so():
    def source():
        yield cdevice.asarray([1])
        assert "DeviceArrayStream" in repr(stream)
        with pytest.raises(RuntimeError, match="its own source"):
            next(stream)
        yield cdevice.asarray([2])

    stream = cdevice.asstream(source())
    assert [value(a) for a in stream] == [1, 2]


def test_an_exported_stream_that_two_threads_read_gives_one_of_them_an_error():
    inside, go = threading.Event(), threading.Event()

    def source():
        yield cdevice.asarray([1])
        inside.set()
        go.wait(60)
        yield cdevice.asarray([2])

    out = ffi.new("struct ArrowDeviceArrayStream *")
    cdevice.asstream(source()).export_to_c(out)
    array, other = ffi.new("struct ArrowDeviceArray *"), ffi.new("struct ArrowDeviceArray *")
    assert out.get_next(out, array) == 0
    array.array.release(ffi.addressof(array, "array"))
    codes = []
    thread = threading.Thread(target=lambda: codes.append(out.get_next(out, array)))
    thread.start()
    inside.wait(60)
    assert out.get_next(out, other) == errno.EBUSY and not other.array.release
    assert b"in use by another thread" in ffi.string(out.get_last_error(out))
    go.set()
    thread.join()
    assert codes == [0]
    array.array.release(ffi.addressof(array, "array"))
    assert out.get_next(out, array) == 0 and not array.array.release
    assert out.get_last_error(out) == ffi.NULL
    out.release(out)
    PRODUCERS.append(out)


def test_demand_without_end_and_then_more_is_demand_without_end():
    from handlers import Handler

    h = Handler(request=2**63 - 1)
    assert aio.produce(numbers(5), h.struct).join(30) == "finished"
    assert h.calls == ["schema"] + ["task"] * 5 + ["end", "release"]


# ---- what travels ----
def test_a_pickled_array_of_a_device_that_is_missing_can_be_loaded_elsewhere():
    import pickle

    from cdevice.pickling import load_on

    backend = FakeBackend(5303, "faraway")
    cdevice.register_backend(backend)
    try:
        data = pickle.dumps(cdevice.asarray([1, 2, 3]).to("faraway"))
    finally:
        unregister(backend)
    with pytest.raises(cdevice.BackendUnavailable, match="was on faraway:0.*load_on"):
        pickle.loads(data)
    with load_on("cpu"):
        assert pickle.loads(data).to_pylist() == [1, 2, 3]
    with pytest.raises(cdevice.BackendUnavailable):
        pickle.loads(data)


def test_a_private_format_of_polars_is_named():
    with pytest.raises(cdevice.Error, match="a private type of polars"):
        cdevice.Schema.make("_pli128")
