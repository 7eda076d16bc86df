"""Streams that another process reads: every batch once, in order, as far ahead as was said; an end on both sides."""

import gc
import os
import random
import signal
import socket
import struct
import threading

import pytest
from readers import Reader
from waiting import until
from wrong_broker import broker, segment, with_checksum

import cdevice
from cdevice._runtime.ext import _native, lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
np = pytest.importorskip("numpy", reason="pip install numpy")
cases = pytest.importorskip("cases", reason="pip install pyarrow")

SMALL = 65536  # the smallest ring


@pytest.fixture
def reader():
    reader = Reader()
    yield reader
    reader.close()


@pytest.fixture(autouse=True)
def nothing_is_left():
    def state():
        gc.collect()
        _native.drain()
        counts = ("segments", "tickets", "rings", "streams", "arrays", "schemas")
        return [getattr(lib, f"cdv_live_{name}")() for name in counts], len(os.listdir("/proc/self/fd"))

    cdevice.asarray([1]).share().close()  # the thread and its socket
    before = state()
    yield
    until(lambda: state() == before, state)


def batches(n, rows=10):
    return [cdevice.record_batch({"x": np.arange(i, i + rows), "s": ["a" * (i % 50)] * rows}) for i in range(n)]


def shared(source, **options):
    return cdevice.asstream(source).share(**options)


@pytest.mark.parametrize("name", cases.ARRAYS)
def test_arrays_of_every_type_come_in_order(name):
    given = [cdevice.asarray(array) for n, array in cases.EVERY if n.startswith(f"{name}-")]
    with shared(given) as s:
        found = list(cdevice.open_shared(s.token))
        assert len(found) == len(given)
        assert all(a.equals(b) for a, b in zip(found, given))
        assert s.join(30)


def test_another_process_reads_the_stream(reader):
    given = batches(100)
    with shared(given) as s:
        assert reader("lambda t: [values(b) for b in cdevice.open_shared(t)]", s.token) == [
            b.to_pylist() for b in given
        ]
        assert s.join(30)


def test_a_stream_without_batches_has_its_schema():
    with shared(pa.table({"x": pa.array([], pa.int8())}).to_reader()) as s:
        stream = cdevice.open_shared(s.token)
        assert stream.schema.type == "struct<x: int8>"
        assert list(stream) == []


def test_the_source_is_run_no_further_ahead_than_was_said():
    made, go = [], threading.Event()

    def source():
        for i in range(20):
            made.append(i)
            yield {"x": [i]}

    with shared(source(), batches=3) as s:
        until(lambda: len(made) == 4)  # three written, one in hand
        stream = cdevice.open_shared(s.token)
        assert next(stream).to_pylist() == [{"x": 0}]
        until(lambda: len(made) == 5)
        assert not go.wait(0.05)
        assert len(made) == 5
        assert [b.to_pylist()[0]["x"] for b in stream] == list(range(1, 20))
        assert s.join(30)


@pytest.mark.parametrize("keep", ["all", "the first", "every third"])
def test_a_reader_that_keeps_batches_gets_all_others(keep):
    given = batches(2000, rows=300)
    want = {"all": 1, "the first": 10**9, "every third": 3}[keep]
    kept = []
    with shared(given, nbytes=SMALL) as s:
        for i, batch in enumerate(cdevice.open_shared(s.token)):
            assert batch.length == 300
            assert batch["x"][:1].to_pylist() == [i]
            if i % want == 0:
                kept.append((i, batch))
    for i, batch in kept:
        assert batch.equals(given[i])


def test_a_batch_that_no_gap_between_kept_ones_takes_goes_apart():
    given = [cdevice.record_batch({"x": np.full(kib << 10, i, "u1")}) for i, kib in enumerate((16, 4, 16, 4, 16, 28))]
    kept = {}
    with shared(given, nbytes=SMALL) as s:
        for i, batch in enumerate(cdevice.open_shared(s.token)):
            if i in (1, 3, 5):
                kept[i] = batch
            del batch
    assert sorted(kept) == [1, 3, 5] and all(batch.equals(given[i]) for i, batch in kept.items())


@pytest.mark.parametrize("rows", [100, 5000, 100_000])
def test_batches_of_every_size_fit(rows):
    given = batches(5, rows)
    with shared(given, nbytes=SMALL) as s:
        assert all(a.equals(b) for a, b in zip(cdevice.open_shared(s.token), given))


def test_batches_of_a_thousand_columns_fit():
    batch = cdevice.record_batch({f"c{i}": [1, 2] for i in range(1000)})
    with shared([batch] * 3, nbytes=SMALL) as s:
        assert [b.equals(batch) for b in cdevice.open_shared(s.token)] == [True] * 3


def test_a_slice_travels_alone():
    whole = cdevice.record_batch({"x": np.arange(1_000_000)})
    with shared([whole[i : i + 10] for i in range(0, 1_000_000, 10_000)], nbytes=SMALL) as s:
        assert [b["x"][:1].to_pylist()[0] for b in cdevice.open_shared(s.token)] == list(range(0, 1_000_000, 10_000))


def test_batches_outlive_the_stream_and_its_writer(reader):
    make = """lambda n: (kept.append(cdevice.asstream([cdevice.record_batch({'x': [i]}) for i in range(n)]).share()),
              kept[-1].token)[1]"""
    token = reader(make, 3)
    stream = cdevice.open_shared(token)
    found = list(stream)
    stream.close()
    reader.kill()
    assert [b.to_pylist() for b in found] == [[{"x": i}] for i in range(3)]


# ---- ends ----
def test_what_the_source_raises_comes_out_on_both_sides(reader):
    def source():
        yield {"x": [1]}
        raise ValueError("the disk is é full")

    with shared(source()) as s:
        stream = cdevice.open_shared(s.token)
        assert next(stream).length == 1
        with pytest.raises(cdevice.StreamError, match="ValueError: the disk is é full"):
            next(stream)
        with pytest.raises(ValueError, match="full"):
            s.join(30)


def test_a_reader_that_is_killed_ends_the_writer(reader):
    closed = threading.Event()

    def source():
        try:
            while True:
                yield {"x": list(range(100))}
        finally:
            closed.set()

    with shared(source()) as s:
        reader("lambda t: (kept.append(cdevice.open_shared(t)), next(kept[-1]), 0)[2]", s.token)
        os.kill(reader.pid, signal.SIGKILL)
        with pytest.raises(cdevice.StreamError, match="the reader of the shared stream has gone"):
            s.join(30)
    assert closed.wait(30)


def test_a_reader_that_stops_early_ends_the_writer():
    with shared(batches(1000)) as s:
        stream = cdevice.open_shared(s.token)
        next(stream)
        stream.close()
        del stream
        with pytest.raises(cdevice.StreamError, match="the reader of the shared stream has gone"):
            s.join(30)


def test_a_writer_that_is_killed_ends_the_reader(reader):
    make = """lambda n: (kept.append(cdevice.asstream(({'x': [i]} for i in range(10**9))).share(batches=n)),
              kept[-1].token)[1]"""
    stream = cdevice.open_shared(reader(make, 5))
    first = next(stream)
    os.kill(reader.pid, signal.SIGKILL)
    with pytest.raises(cdevice.StreamError, match="the writer of the shared stream has gone"):
        for _ in stream:
            pass
    assert first.to_pylist() == [{"x": 0}]


def test_a_writer_that_is_closed_ends_the_reader():
    s = shared(batches(1000), batches=2)
    stream = cdevice.open_shared(s.token)
    next(stream)
    s.close()
    with pytest.raises(cdevice.StreamError, match="the writer of the shared stream has gone"):
        list(stream)
    with pytest.raises(cdevice.StreamError, match="the shared stream was closed"):
        s.join(30)


def test_a_stream_that_nobody_opens_goes_with_its_object():
    token = shared(batches(100)).token
    gc.collect()
    with pytest.raises(cdevice.Released):
        cdevice.open_shared(token)


def test_a_stream_is_opened_once():
    with shared(batches(3)) as s:
        stream = cdevice.open_shared(s.token)
        with pytest.raises(cdevice.Released, match="a shared stream is opened once"):
            cdevice.open_shared(s.token)
        assert len(list(stream)) == 3


def test_ctrl_c_ends_a_readers_wait_and_loses_nothing(reader):
    go = threading.Event()

    def source():
        yield {"x": [1]}
        go.wait(60)
        yield {"x": [2]}

    with shared(source()) as s:
        reader("lambda t: (kept.append(cdevice.open_shared(t)), next(kept[-1]), 0)[2]", s.token)
        answer = []
        thread = threading.Thread(target=lambda: answer.append(reader("lambda _: interrupted(kept[-1])", None)))
        thread.start()
        until(lambda: "futex" in wchan(reader.pid))
        os.kill(reader.pid, signal.SIGINT)
        thread.join(30)
        assert answer == ["interrupted"]
        go.set()
        assert reader("lambda _: values(next(kept[-1]))", None) == [{"x": 2}]


def wchan(pid):
    with open(f"/proc/{pid}/wchan") as f:
        return f.read()


@pytest.mark.parametrize(
    "options", [{"batches": 0}, {"batches": "x"}, {"nbytes": 100}, {"nbytes": 1 << 60}, {"batches": True}]
)
def test_bad_numbers_are_refused(options):
    source = cdevice.asstream(batches(1))
    with pytest.raises(cdevice.ArgumentError, match="expected"):
        source.share(**options)
    source.close()


# ---- what another process writes into the ring ----
SLOT = struct.Struct("<qqQQQQ256s")
SLOTS, PARTS = 256, 1024


def control(nbytes, written, slot):
    head = struct.pack("<8sqQQ4I", b"cdvring\0", nbytes, written, 0, 0, 0, 0, 0) + bytes(4 * PARTS)
    return head + SLOT.pack(*slot) + bytes(SLOT.size * (SLOTS - 1))


def test_a_ring_with_any_words_in_it_is_refused_or_harmless():
    rng = random.Random(1)
    words = (0, 1, 2, 3, 7, 64, 1023, 1024, 4096, 1 << 20, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
    memory = bytes(rng.randrange(256) for _ in range(SMALL))
    for _ in range(300):
        slot = [
            rng.choice((0, 0, 1, 2, 3, 9)),
            rng.choice((0, 5)),
            *(rng.choice(words) for _ in range(4)),
            os.urandom(256),
        ]

        def answer(connection, _, slot=slot):
            ends = socket.socketpair()
            fds = [segment(memory), segment(control(len(memory), 1, slot), 0x2), ends[0].fileno()]
            socket.send_fds(connection, [struct.pack("<8sqq", b"cdvipc1\0", 0, 3)], fds)
            os.close(fds[0])
            os.close(fds[1])
            for end in ends:
                end.close()

        with broker(answer) as token, cdevice.asarray([1]).share() as schema:
            try:
                stream = cdevice.open_shared(stream_token(token, schema.token))
                for batch in stream:
                    batch.to_pylist()
            except (cdevice.Error, ValueError):
                pass


def stream_token(ring, schema):
    return with_checksum(b"cdvstr1" + ring[7:-4] + schema[7:-4])
