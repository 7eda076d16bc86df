"""``async for`` over a consumer, as far as C does it: what it costs others, and that nothing is lost on the way."""

import asyncio
import gc
import weakref

import pytest
from waiting import until

import cdevice
from cdevice import aio
from cdevice._runtime.ext import lib


def numbers(n):
    return cdevice.asstream([cdevice.asarray([i]) for i in range(n)])


def value(array):
    return array.to_pylist()[0]


def ready(n, **more):
    """A consumer for which n arrays lie there."""
    consumer = aio.consume(queue_size=n + 1)
    aio.produce(numbers(n), consumer, **more)
    until(lambda: consumer.waiting == n)
    return consumer


def test_batches_at_hand_wake_their_consumer_in_groups():
    n = 6400

    async def main():
        before = lib.cdv_wakeups()
        consumer = aio.consume(queue_size=64)
        aio.produce(cdevice.asstream([cdevice.asarray([1])] * n), consumer)
        assert sum([1 async for _ in consumer]) == n
        return lib.cdv_wakeups() - before

    assert min(asyncio.run(main()) for _ in range(3)) < n / 16


def test_what_is_not_awaited_is_not_taken():
    async def main():
        consumer = ready(3)
        loop = aiter_of(consumer)
        anext_of(loop)  # dropped
        first = anext_of(loop)
        first.close()  # given up before it began
        second = anext_of(loop)
        with pytest.raises(KeyError, match="mine"):
            second.throw(KeyError("mine"))
        assert [value(a) async for a in loop] == [0, 1, 2]

    asyncio.run(main())


def test_an_item_is_awaited_once():
    async def main():
        loop = aiter_of(ready(2))
        item = anext_of(loop)
        assert value(await item) == 0
        with pytest.raises(RuntimeError, match="awaited only once"):
            await item
        assert value(await anext_of(loop)) == 1
        with pytest.raises(StopAsyncIteration):
            await anext_of(loop)

    asyncio.run(main())


def test_an_item_is_awaited_with_a_timeout():
    async def main():
        consumer = aio.consume()
        loop = aiter_of(consumer)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext_of(loop), 0.01)
        aio.produce(numbers(1), consumer)
        assert value(await asyncio.wait_for(anext_of(loop), 30)) == 0

    asyncio.run(main())


def test_other_tasks_run_while_much_is_there():
    async def main():
        turns, stop = 0, False

        async def other():
            nonlocal turns
            while not stop:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other())
        async for _ in ready(2000):
            pass
        stop = True
        await task
        return turns

    assert asyncio.run(main()) >= 2000 // 256


def test_a_loop_that_is_left_cancels_however_it_was_left():
    async def left_by_break(consumer):
        async for _ in consumer:
            break

    async def left_by_an_exception(consumer):
        with pytest.raises(ZeroDivisionError):
            async for _ in consumer:
                raise ZeroDivisionError

    async def left_in_a_cycle(consumer):
        class Holder:
            pass

        holder = Holder()
        holder.loop, holder.self = aiter_of(consumer), holder
        await anext_of(holder.loop)
        seen = weakref.ref(holder)
        del holder
        gc.collect()
        assert seen() is None

    async def left_by_a_cancellation(consumer):
        begun = asyncio.Event()

        async def work():
            async for _ in consumer:
                begun.set()

        task = asyncio.ensure_future(work())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def endless():
        while True:
            yield [1]
            await asyncio.sleep(0)

    async def main(leave):
        consumer = aio.consume(queue_size=2)
        production = aio.produce(endless(), consumer)
        await leave(consumer)
        assert consumer.closed, leave.__name__
        assert await production == "cancelled", leave.__name__

    for leave in (left_by_break, left_by_an_exception, left_in_a_cycle, left_by_a_cancellation):
        asyncio.run(main(leave))


def test_metadata_belongs_to_the_item_that_was_taken_last():
    async def main():
        consumer = aio.consume(queue_size=8)
        aio.produce(((cdevice.asarray([i]), {"n": str(i)} if i % 3 == 1 else None) for i in range(7)), consumer)
        seen = [(value(a), dict(consumer.batch_metadata)) async for a in consumer]
        assert seen == [(i, {b"n": str(i).encode()} if i % 3 == 1 else {}) for i in range(7)]

    asyncio.run(main())


def test_a_failure_comes_after_what_was_there():
    def source():
        yield [1]
        yield [2]
        raise LookupError("no third")

    async def main():
        got = []
        with pytest.raises(LookupError, match="no third"):
            async for a in aio.iterate(source(), queue_size=8):
                got.append(value(a))
        assert got == [1, 2]

    asyncio.run(main())


def aiter_of(consumer):
    return type(consumer).__aiter__(consumer)


def anext_of(loop):
    return type(loop).__anext__(loop)


def test_both_ends_show_how_far_they_are():
    consumer = aio.consume(queue_size=4)
    assert repr(consumer) == "<Consumer: 0 arrays waiting, without a producer>"
    production = aio.produce(numbers(1), consumer)
    production.join()
    assert repr(production) == "<ProducerTask: finished, 1 array sent>"
    assert repr(consumer) == "<Consumer: 1 array waiting>"
    consumer.close()
    assert repr(consumer) == "<Consumer: closed>"
    consumer = ready(1)
    stream = consumer.as_stream()
    assert repr(consumer) == "<Consumer: has become a stream>" and len(list(stream)) == 1
