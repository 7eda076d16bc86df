"""Our asynchronous streams against those of Arrow C++, both directions, with errors and cancellation."""

import asyncio
import importlib.util

import pytest
from paths import TESTS
from waiting import until

import cdevice
from cdevice import aio
from cdevice._runtime.ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
_spec = importlib.util.spec_from_file_location("peers_build", TESTS / "peers" / "build.py")
peers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(peers)


@pytest.fixture(scope="module", autouse=True)
def built():
    try:
        peers.load()
    except peers.Unavailable as e:
        pytest.skip(f"Arrow C++ as a peer needs: {e}")


def batches(n):
    return [pa.record_batch({"a": [i], "s": [str(i)]}) for i in range(n)]


@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "thread pool"])
@pytest.mark.parametrize("queue_size", [1, 2, 7, 64])
def test_arrow_produces_and_we_consume(threads, queue_size):
    for n in (0, 1, 50):
        consumer = aio.consume(queue_size=queue_size)
        run = peers.produce(consumer.handler_address, n, rows=4, threads=threads)
        rows = 0
        for batch in consumer:
            assert batch.field("c2").to_pylist() == [0, 1, 2, 3]
            rows += len(batch)
        assert rows == 4 * n and consumer.read_schema(5).names == ["c0", "c1", "c2"]
        assert run.join() == (0, 0, "")


@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "thread pool"])
def test_an_error_of_arrows_producer_comes_behind_its_batches(threads):
    for fail_at in (0, 1, 5):
        consumer = aio.consume(queue_size=3)
        run = peers.produce(consumer.handler_address, 10, fail_at=fail_at, threads=threads)
        n = 0
        with pytest.raises(cdevice.StreamError, match="the river ran dry"):
            for _ in consumer:
                n += 1
        assert n == fail_at
        assert "the river ran dry" in run.join()[2]


@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "thread pool"])
def test_leaving_arrows_producer_early_is_clean_and_says_nothing(threads):
    async def leave(after):
        consumer = aio.consume(queue_size=1 + after % 5)
        run = peers.produce(consumer.handler_address, 10_000, threads=threads)
        n = 0
        async for _ in consumer:
            n += 1
            if n == after:
                break
        await asyncio.wait_for(consumer.released(), 30)
        run.join()  # it calls our cancel an error; the user hears nothing of it

    for i in range(1, 60):
        asyncio.run(leave(i % 20 + 1))


@pytest.mark.parametrize("queue_size", [1, 2, 5, 64])
def test_we_produce_and_arrow_consumes(queue_size):
    for n in (0, 1, 50):
        run = peers.consume(queue_size)
        production = aio.produce(batches(n), run.handler, schema=pa.schema([("a", pa.int64()), ("s", pa.string())]))
        assert production.join(30) == "finished"
        assert run.join() == (n, n, "")


@pytest.mark.nosan  # Arrow's consumer drops what it had queued without extracting it
def test_our_errors_and_metadata_reach_arrow():
    def source():
        yield from ((b, {"k": "v"}) for b in batches(3))
        raise OSError(28, "the disk is full")

    run = peers.consume(5)
    production = aio.produce(source(), run.handler)
    with pytest.raises(OSError, match="the disk is full"):
        production.join(30)
    _, _, text = run.join()
    assert "the disk is full" in text


def test_stopping_our_producer_ends_arrows_consumer():
    import threading

    hold = threading.Event()

    def source():
        yield from batches(3)
        hold.wait(30)
        yield from batches(1)

    run = peers.consume(2)
    production = aio.produce(source(), run.handler)
    production.cancel()
    hold.set()
    assert production.join(30) == "stopped"
    assert "stopped" in run.join()[2]


def test_nothing_of_these_streams_is_left():
    # after on_error Arrow's consumer drops tasks it has queued without extracting them, which leaks them by the text;
    # each keeps its producer
    until(lambda: lib.cdv_live_async() <= 4, lib.cdv_live_async)
