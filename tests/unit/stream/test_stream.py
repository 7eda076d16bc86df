"""Streams of device arrays: what comes in, what goes out, who is refused, and who owns what."""

import ctypes
import errno
import gc
import subprocess
import sys
import threading

import pytest
from children import child_env
from memory import growth
from producers import TABLE, Once, Producer
from waiting import unregister, until

import cdevice
from cdevice._runtime.ext import _native, ffi, lib
from cdevice.testing.fake import FakeBackend

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

ROWS = TABLE.to_pylist()


def batch():
    return TABLE.to_batches()[0]


@pytest.fixture(autouse=True)
def nothing_stays():
    gc.collect()
    _native.drain()
    before = lib.cdv_live_streams(), lib.cdv_live_exports()
    yield
    until(
        lambda: lib.cdv_live_streams() <= before[0] and lib.cdv_live_exports() <= before[1],
        lambda: (before, lib.cdv_live_streams(), lib.cdv_live_exports()),
    )


@pytest.fixture(scope="module")
def fake():
    b = FakeBackend(5101, "streamed")
    cdevice.register_backend(b)
    yield b
    unregister(b)


# ---- what comes in ----
def table_likes():
    yield "pyarrow table", lambda: TABLE
    yield "pyarrow reader", lambda: TABLE.to_reader()
    yield "pyarrow batches", lambda: TABLE.to_batches()
    yield "generator", lambda: (b for b in TABLE.to_batches())
    yield "one batch", batch
    yield "device arrays", lambda: (cdevice.asarray(batch()),)
    yield "polars", lambda: pytest.importorskip("polars", reason="pip install polars").DataFrame(TABLE.to_pydict())
    yield "duckdb", lambda: pytest.importorskip("duckdb", reason="pip install duckdb").sql("select * from TABLE")
    yield "nanoarrow", lambda: pytest.importorskip("nanoarrow", reason="pip install nanoarrow").ArrayStream(TABLE)
    yield "arro3", lambda: pytest.importorskip("arro3.core", reason="pip install arro3-core").Table.from_arrow(TABLE)


@pytest.mark.parametrize("name,make", list(table_likes()), ids=[n for n, _ in table_likes()])
def test_what_holds_batches_becomes_a_stream(name, make):
    if name == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="pip install duckdb")
        connection = duckdb.connect()
        connection.register("t", TABLE)
        obj = connection.sql("select * from t")
    else:
        obj = make()
    stream = cdevice.asstream(obj)
    assert stream.schema.names == ["a", "b"]
    assert stream.device_type == cdevice.DeviceType.CPU
    assert [row for b in stream for row in b.to_pylist()] == ROWS
    assert list(stream) == []


def test_pandas_frames_become_streams():
    pd = pytest.importorskip("pandas", reason="pip install pandas")
    stream = cdevice.asstream(pd.DataFrame({"a": [1, 2]}))
    assert [r for b in stream for r in b.to_pylist()] == [{"a": 1}, {"a": 2}]


def test_chunked_arrays_are_streams_of_their_type_also_without_chunks():
    stream = cdevice.asstream(pa.chunked_array([[1, 2], [], [3]]))
    assert stream.schema.type == "int64"
    assert [b.to_pylist() for b in stream] == [[1, 2], [], [3]]
    stream = cdevice.asstream(pa.chunked_array([], pa.int32()))
    assert stream.schema.type == "int32" and list(stream) == []


def test_an_empty_iterable_needs_a_schema():
    with pytest.raises(cdevice.ArgumentError, match="schema="):
        cdevice.asstream([])
    with pytest.raises(cdevice.ArgumentError, match="schema="):
        cdevice.asstream(iter(()))
    assert list(cdevice.asstream(iter(()), schema="int64")) == []


def test_other_things_are_refused_by_name():
    with pytest.raises(TypeError, match="int cannot become a stream"):
        cdevice.asstream(3)
    with pytest.raises(ValueError, match="validate"):
        cdevice.asstream(TABLE, validate="yes")
    with pytest.raises(TypeError, match="asstream"):
        cdevice.DeviceArrayStream()


def test_a_generator_is_asked_for_one_item_at_a_time():
    asked = []

    def source():
        for i in range(4):
            asked.append(i)
            yield cdevice.asarray([i])

    stream = cdevice.asstream(source())
    assert asked == [0]  # tells the schema
    for i, item in enumerate(stream):
        assert item.to_pylist() == [i] and asked == list(range(i + 1))


def test_closing_a_stream_closes_the_generator():
    ended = []

    def source():
        try:
            while True:
                yield batch()
        finally:
            ended.append(True)

    with cdevice.asstream(source()) as stream:
        next(stream)
    assert ended == [True] and stream.closed
    with pytest.raises(cdevice.Released, match="closed"):
        next(stream)
    with pytest.raises(cdevice.Released):
        _ = stream.schema
    stream.close()


# ---- what goes out ----
def test_every_array_arrives_through_the_device_protocol_with_the_same_buffers():
    arrays = [cdevice.asarray(batch()) for _ in range(3)]
    got = list(cdevice.asstream(Once(cdevice.asstream(arrays))))
    assert [g.to_pylist() for g in got] == [ROWS] * 3
    assert [[b.address for c in g.children for b in c.buffers] for g in got] == [
        [b.address for c in a.children for b in c.buffers] for a in arrays
    ]


def test_pyarrow_reads_every_stream_that_the_cpu_can_read():
    assert pa.table(cdevice.asstream([batch()] * 3)).to_pylist() == ROWS * 3
    assert pa.table(cdevice.asstream(b for b in [batch()] * 3)).to_pylist() == ROWS * 3
    assert pa.table(cdevice.asstream(Once(cdevice.asstream(TABLE)))).to_pylist() == ROWS
    sliced = cdevice.asarray(pa.concat_tables([TABLE] * 2).combine_chunks().to_batches()[0])[1:5]
    assert pa.table(cdevice.asstream([sliced])).to_pylist() == (ROWS * 2)[1:5]
    assert pa.chunked_array(cdevice.asstream(pa.chunked_array([[1], [2]]))).to_pylist() == [1, 2]


def test_a_capsule_is_consumed_once_and_a_stream_handed_on_is_closed():
    stream = cdevice.asstream(TABLE)
    capsule = stream.__arrow_c_device_stream__()
    assert stream.closed
    with pytest.raises(cdevice.Released, match="passed to a consumer"):
        stream.__arrow_c_stream__()
    assert len(list(_native.import_stream(capsule, "structure"))) == 1
    with pytest.raises(ValueError, match="already been consumed"):
        _native.import_stream(capsule, "structure")


def test_dropping_an_unused_capsule_releases_the_source():
    p = Producer()
    capsule = cdevice.import_stream_from_c(p.struct).__arrow_c_device_stream__()
    assert p.released == 0
    del capsule
    assert p.released == 1


def test_requested_schema_is_granted_where_only_labels_differ():
    want = pa.schema([pa.field("x", pa.int64()), pa.field("y", pa.string())])
    assert pa.RecordBatchReader.from_stream(cdevice.asstream(TABLE), want).schema.names == ["x", "y"]
    other = cdevice.asschema(pa.schema([("x", pa.float32()), ("y", pa.string())]))
    capsule = cdevice.asstream(TABLE).__arrow_c_device_stream__(other.__arrow_c_schema__())
    assert _native.import_stream(capsule, None).schema.names == ["a", "b"]  # its own: best effort
    with pytest.raises(ValueError, match="1 fields"):
        cdevice.asstream(TABLE).__arrow_c_stream__(cdevice.asschema(pa.schema([("x", "int64")])).__arrow_c_schema__())
    with pytest.raises(NotImplementedError, match="later"):
        cdevice.asstream(TABLE).__arrow_c_device_stream__(later=1)
    assert cdevice.asstream(TABLE).__arrow_c_device_stream__(later=None)


def test_memory_that_the_cpu_cannot_read_goes_out_through_the_device_protocol_only(fake):
    there = cdevice.asstream(TABLE).to("streamed")
    with pytest.raises(cdevice.CannotExport, match=r'\.to\("cpu"\)'):
        there.__arrow_c_stream__()
    assert not there.closed
    received = cdevice.asstream(Once(there))
    assert received.device_type == fake.device_type
    assert [r for b in received.to("cpu") for r in b.to_pylist()] == ROWS


def test_a_ready_stream_is_drained_by_a_thread_while_another_holds_the_gil():
    code = """
import ctypes, cdevice
from cdevice._runtime.ext import ffi, lib
out = ffi.new("struct ArrowDeviceArrayStream *")
arrays = [cdevice.asarray([i]) for i in range(100)]
cdevice.asstream(arrays).export_to_c(out)
address = int(ffi.cast("uintptr_t", ffi.addressof(lib, "cdv_drain_in_thread")))
drain = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)  # keeps the GIL
print(drain(int(ffi.cast("uintptr_t", out))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=child_env())
    assert done.stdout.split() == ["100"], done.stderr


# ---- the rules of the C interface ----
def test_the_end_comes_again_and_again():
    out = ffi.new("struct ArrowDeviceArrayStream *")
    cdevice.asstream([batch()] * 2).export_to_c(out)
    array = ffi.new("struct ArrowDeviceArray *")
    lengths = []
    for _ in range(5):
        assert out.get_next(out, array) == 0
        lengths.append(array.array.length if array.array.release else None)
        if array.array.release:
            assert list(array.reserved) == [0, 0, 0]
            array.array.release(ffi.addressof(array, "array"))
    assert lengths == [3, 3, None, None, None]
    assert out.get_last_error(out) == ffi.NULL
    out.release(out)
    assert out.release == ffi.NULL


def test_the_schema_may_be_asked_for_at_any_time_and_outlives_the_stream():
    out = ffi.new("struct ArrowDeviceArrayStream *")
    cdevice.asstream([batch()]).export_to_c(out)
    schemas = [ffi.new("struct ArrowSchema *") for _ in range(3)]
    array = ffi.new("struct ArrowDeviceArray *")
    assert out.get_schema(out, schemas[0]) == 0
    assert out.get_next(out, array) == 0
    assert out.get_schema(out, schemas[1]) == 0
    out.get_next(out, ffi.new("struct ArrowDeviceArray *"))
    assert out.get_schema(out, schemas[2]) == 0
    out.release(out)
    for s in schemas:
        assert pa.Schema._import_from_c(int(ffi.cast("uintptr_t", s))).names == ["a", "b"]
    cdevice.asschema(TABLE.schema)
    assert array.array.length == 3
    array.array.release(ffi.addressof(array, "array"))


def test_an_error_gives_code_and_text_until_the_next_call_and_stays():
    def source():
        yield batch()
        raise OSError(errno.ENOSPC, "the disk is full")

    out = ffi.new("struct ArrowDeviceArrayStream *")
    cdevice.asstream(source()).export_to_c(out)
    array = ffi.new("struct ArrowDeviceArray *")
    assert out.get_next(out, array) == 0
    array.array.release(ffi.addressof(array, "array"))
    assert out.get_next(out, array) == errno.ENOSPC
    text = out.get_last_error(out)
    assert b"the disk is full" in ffi.string(text)
    assert b"the disk is full" in ffi.string(out.get_last_error(out))
    assert out.get_next(out, array) != 0  # never again
    assert b"failed before" in ffi.string(out.get_last_error(out))
    schema = ffi.new("struct ArrowSchema *")
    assert out.get_schema(out, schema) == 0 and out.get_last_error(out) == ffi.NULL
    schema.release(schema)
    out.release(out)


@pytest.mark.parametrize(
    "error,code",
    [
        (ValueError, errno.EINVAL),
        (MemoryError, errno.ENOMEM),
        (NotImplementedError, errno.ENOTSUP),
        (KeyError, errno.EIO),
    ],
)
def test_what_a_python_source_raises_is_raised_as_it_was_here_and_told_to_others(error, code):
    error = error("no such luck")

    def source():
        yield batch()
        raise error

    stream = cdevice.asstream(source())
    next(stream)
    with pytest.raises(type(error)) as e:
        next(stream)
    assert e.value is error
    with pytest.raises(cdevice.StreamError, match="failed before"):
        next(stream)
    with pytest.raises(cdevice.Error, match=str(error.args[0])) as e:
        list(cdevice.asstream(Once(cdevice.asstream(source()))))
    assert e.value.code == code and e.value.__cause__ is error
    with pytest.raises(Exception, match=str(error.args[0])):
        pa.table(cdevice.asstream(source()))


def test_a_failing_schema_releases_the_stream_and_gives_its_text():
    p = Producer(schema_code=errno.EACCES, text=b"locked door")
    with pytest.raises(cdevice.StreamError, match="get_schema: locked door") as e:
        cdevice.import_stream_from_c(p.struct)
    assert e.value.code == errno.EACCES and p.released == 1


def test_a_failing_next_raises_with_its_text_and_a_producer_without_text_is_survived():
    for text in (b"no more ink", None):
        p = Producer([(batch(), 1, -1)], end_code=errno.ECONNRESET, text=text)
        stream = cdevice.import_stream_from_c(p.struct)
        assert len(next(stream)) == 3
        with pytest.raises(cdevice.StreamError, match="no more ink" if text else "no reason") as e:
            next(stream)
        assert e.value.code == errno.ECONNRESET
        asked = p.asked
        with pytest.raises(cdevice.StreamError):
            next(stream)
        assert p.asked == asked  # a failed producer is left alone
        stream.close()
        assert p.released == 1


def test_an_array_on_another_device_type_is_refused_and_released(fake):
    p = Producer([(batch(), fake.device_type, 0)])
    stream = cdevice.import_stream_from_c(p.struct)
    with pytest.raises(cdevice.StreamError, match="streamed"):
        next(stream)
    stream.close()
    with pytest.raises(cdevice.StreamError, match="streamed in a stream on cpu"):
        list(cdevice.asstream([cdevice.asarray([1]), cdevice.asarray([1]).to("streamed")]))


def test_an_array_that_calls_itself_cpu_is_accepted_where_it_has_no_buffers(fake):
    empty = pa.record_batch({"n": pa.nulls(3)})
    p = Producer([(empty, 1, -1)], device_type=fake.device_type, schema=empty.schema)
    (got,) = list(cdevice.import_stream_from_c(p.struct))
    assert got.device_type == fake.device_type and len(got) == 3
    out = ffi.new("struct ArrowDeviceArrayStream *")
    there = cdevice.asarray(pa.nulls(2)).to("streamed:1")
    cdevice.asstream([there, cdevice.asarray(pa.nulls(3))]).export_to_c(out)
    array = ffi.new("struct ArrowDeviceArray *")
    for _ in range(2):
        assert out.get_next(out, array) == 0
        assert array.device_type == out.device_type
        array.array.release(ffi.addressof(array, "array"))
    out.release(out)


def test_an_array_with_another_schema_is_refused():
    with pytest.raises(cdevice.StreamError, match="different schema"):
        list(cdevice.asstream([cdevice.asarray([1]), cdevice.asarray(["x"])]))
    one = pa.record_batch({"a": [1]})
    for other, how in (
        (pa.record_batch({"b": [1]}), 'a field is named "b", not "a"'),
        (pa.record_batch({"a": ["x"]}), 'field a has the format "u", not "l"'),
        (pa.record_batch({"a": [1], "b": [1]}), "it has 2 fields, not 1"),
        (pa.record_batch({"a": [{"b": 1}]}), "field a has 1 fields, not 0"),
    ):
        with pytest.raises(cdevice.StreamError, match=how):
            list(cdevice.asstream([one, other]))
    nested = [pa.record_batch({"s": [{"x": v}]}) for v in (1, "y")]
    with pytest.raises(cdevice.StreamError, match='field x has the format "u", not "l"'):
        list(cdevice.asstream(nested))
    p = Producer([(pa.record_batch({"a": [1]}), 1, -1)])
    with pytest.raises(cdevice.InvalidArray):
        list(cdevice.import_stream_from_c(p.struct))


def test_a_stream_on_no_device_type_is_refused_and_released():
    p = Producer(device_type=0)
    with pytest.raises(cdevice.StreamError, match="device type 0"):
        cdevice.import_stream_from_c(p.struct)
    assert p.released == 1
    with pytest.raises(ValueError, match="NULL"):
        cdevice.import_stream_from_c(0)


def test_moving_a_stream_leaves_the_struct_released_and_arrays_outlive_it():
    p = Producer([(batch(), 1, -1)])
    stream = cdevice.import_stream_from_c(p.struct)
    assert p.struct.release == ffi.NULL and p.schemas == 1
    got = next(stream)
    del stream
    assert p.released == 1 and got.to_pylist() == ROWS
    with pytest.raises(ValueError, match="already been consumed"):
        cdevice.import_stream_from_c(p.struct)


def test_bad_contents_are_found_where_asked_for():
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(bytes(4) + b"\x02\0\0\0\x01\0\0\0"), pa.py_buffer(b"ab")]
    )

    def make():
        return Producer([(bad, 1, -1)], schema=pa.field("", pa.string()))

    assert len(list(cdevice.import_stream_from_c(make().struct))) == 1
    with pytest.raises(cdevice.InvalidArray):
        list(cdevice.import_stream_from_c(make().struct, validate="full"))


# ---- threads ----
def test_a_second_thread_gets_an_exception_while_the_first_is_inside():
    inside, leave = threading.Event(), threading.Event()

    def source():
        yield batch()
        inside.set()
        leave.wait(30)
        yield batch()

    stream = cdevice.asstream(source())
    next(stream)
    got = []
    t = threading.Thread(target=lambda: got.append(next(stream)))
    t.start()
    assert inside.wait(30)
    for use in (lambda: next(stream), stream.close, stream.__arrow_c_device_stream__):
        with pytest.raises(RuntimeError, match="another thread"):
            use()
    leave.set()
    t.join(30)
    assert len(got[0]) == 3


def test_threads_may_take_turns_and_a_foreign_thread_may_release():
    out = ffi.new("struct ArrowDeviceArrayStream *")
    cdevice.asstream(b for b in [batch()] * 50).export_to_c(out)
    assert lib.cdv_drain_in_thread(out) == 50
    assert out.release == ffi.NULL
    stream = cdevice.asstream(TABLE.to_batches() * 4)
    got = []
    for _ in range(4):
        t = threading.Thread(target=lambda: got.append(next(stream)))
        t.start()
        t.join(30)
    assert len(got) == 4


# ---- to a device ----
def test_batches_are_copied_ahead_of_the_consumer_but_no_further(fake):
    for prefetch in (0, None):  # in the consumer's thread
        asked = 0

        def source():
            nonlocal asked
            for _ in range(10):
                asked += 1
                yield batch()

        stream = cdevice.asstream(source()).to("streamed", prefetch=prefetch)
        assert asked == 1
        for taken in range(1, 11):
            assert next(stream).device_type == fake.device_type
            assert asked == min(10, taken + (prefetch if prefetch is not None else 2))
        assert next(stream, None) is None


def test_a_python_iterator_runs_while_the_consumer_works(fake):
    """Each waits for the other: only where they overlap do both go on."""
    for prefetch in (1, 3):
        working, made = threading.Semaphore(0), threading.Semaphore(0)
        asked = 0

        def source(working=working, made=made):
            nonlocal asked
            for i in range(10):
                asked += 1
                if i > 0:
                    assert working.acquire(timeout=30), "asked before the consumer had anything to work on"
                made.release()
                yield batch()

        stream = cdevice.asstream(source()).to("streamed", prefetch=prefetch)
        for taken in range(1, 11):
            assert next(stream).device_type == fake.device_type
            assert asked <= taken + prefetch + 1
            made.acquire()
            if taken < 10:
                working.release()  # the next one is made while this one is worked on
                assert made.acquire(timeout=30)
                made.release()
        assert next(stream, None) is None


def test_what_a_python_iterator_raises_in_a_thread_comes_out_as_itself(fake):
    class Odd(Exception):
        pass

    for error in (Odd("mine"), KeyboardInterrupt(), SystemExit(3)):

        def source(error=error):
            yield batch()
            raise error

        stream = cdevice.asstream(source()).to("streamed", prefetch=2)
        with pytest.raises(type(error)) as caught:
            for _ in stream:
                pass
        assert caught.value is error


def test_a_stream_that_is_dropped_ends_the_iterator_that_a_thread_runs(fake):
    inside, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def source():
        try:
            yield batch()
            inside.set()
            go_on.wait(30)
            yield batch()
        finally:
            ended.set()

    stream = cdevice.asstream(source()).to("streamed", prefetch=2)
    next(stream)
    assert inside.wait(30)
    stream.close() if hasattr(stream, "close") else None
    del stream
    go_on.set()
    until(ended.is_set)


def test_a_source_in_c_is_copied_ahead_by_a_thread_but_no_further(fake):
    p = Producer([(batch(), 1, -1)] * 20)
    most = 0
    taken = 0
    original = p._get_next

    stream = cdevice.import_stream_from_c(p.struct).to("streamed", prefetch=2)
    until(lambda: p.asked >= 3)  # without being asked
    assert p.asked == 3
    for a in stream:
        taken += 1
        most = max(most, p.asked - taken)
        assert a.to("cpu").to_pylist() == ROWS
    assert taken == 20 and most <= 4 and original  # one more may be on its way while one is taken
    assert p.released == 0
    stream.close()
    assert p.released == 1


def test_an_error_at_the_source_comes_after_the_arrays_before_it(fake):
    p = Producer([(batch(), 1, -1)] * 3, end_code=errno.EPIPE)
    stream = cdevice.import_stream_from_c(p.struct).to("streamed", prefetch=5)
    for _ in range(3):
        next(stream)
    with pytest.raises(cdevice.StreamError, match="no more ink") as e:
        next(stream)
    assert e.value.code == errno.EPIPE


def test_closing_early_leaves_nothing_behind(fake):
    for taken in range(4):
        p = Producer([(batch(), 1, -1)] * 20)
        stream = cdevice.import_stream_from_c(p.struct).to("streamed", prefetch=2)
        for _ in range(taken):
            next(stream)
        stream.close()
        until(lambda p=p: p.released)
        assert p.released == 1


def test_a_held_queue_holds_the_events_not_the_host(fake):
    with fake.gate():
        stream = cdevice.asstream([batch()] * 5).to("streamed", prefetch=1)
        arrays = list(stream)
        assert len(arrays) == 5 and not any(a.ready for a in arrays)
    assert [a.to("cpu").to_pylist() for a in arrays] == [ROWS] * 5


def test_a_consumers_queue_waits_for_each_array_on_the_device(fake):
    with fake.gate(0):
        there = cdevice.asstream([batch()] * 3).to("streamed", prefetch=0)
        got = list(there.iterate(stream=77))  # another queue: the host is not held
        assert len(got) == 3 and not got[0].ready
        passed = threading.Event()
        fake._stream(77).work.put(passed.set)
        assert not passed.is_set()  # behind the events, which the gate holds
    assert passed.wait(30)


BATCHES = """
import cdevice
from producers import Once
def run(n):
    arrays = (cdevice.asarray([i]) for i in range(n))
    assert sum(len(a) for a in cdevice.asstream(arrays).to("cpu", prefetch=2)) == n
    ready = [cdevice.asarray([1])] * n
    assert sum(1 for _ in cdevice.asstream(Once(cdevice.asstream(ready))).to("cpu", prefetch=4)) == n
"""


@pytest.mark.nosan  # a sanitizer keeps freed memory
def test_ten_thousand_batches_leave_the_memory_as_it_was():
    assert growth(BATCHES, 2000, 10_000) < 4 << 20


@pytest.mark.parametrize(
    ("word", "change"),
    {
        "to": lambda s: s.to("cpu"),
        "filter": lambda s: s.filter("x >= 0"),
        "select": lambda s: s.select(["x"]),
        "project": lambda s: s.project({"x": "x"}),
        "with_columns": lambda s: s.with_columns(y=cdevice.compute.field("x")),
        "rebatch": lambda s: s.rebatch(9),
        "progress": lambda s: s.progress(lambda p: None),
        "join": lambda s: s.join({"x": [1]}, "x"),
    }.items(),
)
def test_a_stream_that_another_one_was_made_of_is_used_up(word, change):
    old = cdevice.asstream([{"x": [i]} for i in range(4)])
    new = change(old)
    with pytest.raises(cdevice.Released):
        next(old)
    assert old.closed and [row["x"] for row in new.to_pylist()] == [0, 1, 2, 3]


def test_a_stream_stays_where_the_next_one_cannot_be_made():
    stream = cdevice.asstream([{"x": [1]}, {"x": [2]}])
    for wrong in (
        lambda: stream.filter("y > 1"),
        lambda: stream.select(["y"]),
        lambda: stream.with_columns(z=cdevice.compute.field("y")),
        lambda: stream.rebatch(0),
        lambda: stream.progress(5),
        lambda: stream.share(batches=0),
        lambda: stream.join({"x": [1]}, "y"),
    ):
        with pytest.raises((cdevice.ArgumentError, TypeError)):
            wrong()
    assert stream.to_pylist() == [{"x": 1}, {"x": 2}]


def test_a_stream_is_closed_after_an_aggregate_that_fails():
    stream = cdevice.asstream([{"x": [1]}, {"x": [2]}])
    with pytest.raises(cdevice.ArgumentError):
        stream.aggregate([("nope", "sum")])
    assert stream.closed


def _nullable_structs():
    yield "pyarrow", [pa.array([{"x": 1}, {"x": 2}])]
    yield "lists of dicts", [[{"x": 1}, {"x": 2}]]
    yield "to_batch()", [cdevice.asarray([{"x": 1}, {"x": 2}]).to_batch()]
    yield "polars", pytest.importorskip("polars", reason="pip install polars").Series([{"x": 1}, {"x": 2}])


@pytest.mark.parametrize("word", ["pyarrow", "lists of dicts", "to_batch()", "polars"])
def test_struct_arrays_without_nulls_are_batches_whatever_their_schema_says(word):
    source = dict(_nullable_structs())[word]
    rows = [{"x": 1}, {"x": 2}]
    made = lambda: cdevice.asstream(source)
    assert made().filter("x > 1").to_pylist() == rows[1:] and made().select(["x"]).to_pylist() == rows
    assert made().aggregate({"s": ("x", "sum")}).to_pylist() == [{"s": 3}]
    assert made().group_by("x").aggregate([([], "count_all")])["count_all"].to_pylist() == [1, 1]
    assert made().top_k(1, [("x", "descending")]).to_pylist() == rows[1:]
    assert made().join({"x": [2], "y": [5]}, "x").to_pylist() == [{"x": 1, "y": None}, {"x": 2, "y": 5}]
    array = made().read_all()
    assert array.filter("x > 1").to_pylist() == rows[1:]
    assert cdevice.compute.sort_by(array, [("x", "descending")]).to_pylist() == rows[::-1]
    assert cdevice.compute.join(array, array, "x").to_pylist() == rows
    assert not array.to_batch().schema.nullable


def test_a_struct_array_with_nulls_is_told_how_to_become_a_batch():
    array = cdevice.asarray([{"x": 1}, None])
    for call in (
        lambda: cdevice.compute.group_by(array, "x").aggregate([([], "count_all")]),
        lambda: cdevice.compute.aggregate(array, {"s": ("x", "sum")}),
        lambda: cdevice.compute.join(array, array, "x"),
    ):
        with pytest.raises(cdevice.ArgumentError, match=r"its method to_batch\(\)"):
            call()
    assert array.to_batch().filter("x is None").to_pylist() == [{"x": None}]


@pytest.mark.parametrize("schema", [{"x": "int64"}, pa.schema({"x": pa.int64()})], ids=["dict", "pyarrow"])
def test_an_empty_stream_of_any_form_of_schema_is_grouped_and_joined(schema):
    empty = lambda: cdevice.asstream(iter(()), schema=schema)
    assert empty().group_by("x").aggregate([([], "count_all")]).to_pylist() == []
    assert empty().group_by([]).aggregate([("x", "sum"), ([], "count_all")]).to_pylist() == [
        {"x_sum": None, "count_all": 0}
    ]
    assert empty().aggregate({"n": ("x", "sum")}).to_pylist() == [{"n": None}]
    assert cdevice.compute.join(cdevice.asarray({"x": [1]}), empty(), "x").to_pylist() == [{"x": 1}]
    assert cdevice.asstream(({"x": [k]} for k in (1, 2)), schema=schema).join(
        {"x": [1]}, "x", join_type="inner"
    ).to_pylist() == [{"x": 1}]


def test_dicts_of_columns_have_the_order_of_the_schema():
    schema = {"a": "int64", "b": "int8"}
    assert cdevice.asarray({"b": [1], "a": [2]}, schema=schema).schema.names == ["a", "b"]
    assert cdevice.asstream([{"b": [1], "a": [2]}], schema=schema).read_all().to_pylist() == [{"a": 2, "b": 1}]
    assert cdevice.record_batch({"b": [1], "a": [2]}, schema=schema).to_pylist() == [{"a": 2, "b": 1}]


def test_prefetch_has_a_range_and_an_unknown_device_leaves_the_stream():
    stream = cdevice.asstream(TABLE)
    with pytest.raises(cdevice.ArgumentError, match="prefetch"):
        stream.to("cpu", prefetch=-1)
    with pytest.raises(cdevice.BackendUnavailable):
        stream.to("777:0")
    assert not stream.closed and len(list(stream)) == 1


def test_an_object_says_what_it_is():
    stream = cdevice.asstream(TABLE)
    assert repr(stream) == "<cdevice.DeviceArrayStream of struct<a: int64, b: string> on cpu>"
    stream.close()
    assert "closed" in repr(stream)
    assert ctypes.sizeof(ctypes.c_void_p) * 6 >= ffi.sizeof("struct ArrowDeviceArrayStream")


def test_schemas_that_were_found_equal_stay_equal_and_others_do_not():
    ab = [cdevice.asarray({"a": [i], "b": ["x"]}) for i in range(3)]
    ac = [cdevice.asarray({"a": [i], "c": ["x"]}) for i in range(3)]
    for _ in range(3):  # the first round compares, the others remember
        for group in (ab, ac, ab[1:], ac[::-1]):
            assert [x.to_pylist() for x in cdevice.asstream(group)] == [x.to_pylist() for x in group]
            assert cdevice.concat(group).length == len(group)
        for mixed in ([ab[0], ac[0]], [ac[1], ab[2]]):
            with pytest.raises(cdevice.StreamError, match="different schema"):
                list(cdevice.asstream(mixed))
            with pytest.raises(cdevice.ArgumentError, match="array 1 is"):
                cdevice.concat(mixed)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("missing", ["get_schema", "get_next", "get_last_error"])
def test_a_stream_that_lacks_a_function_is_refused_or_does_without_its_text(missing, plain):
    p = Producer([(batch(), 1, -1)], end_code=errno.EIO)
    struct, kind = p.struct, "struct ArrowDeviceArrayStream"
    if plain:
        kind = "struct ArrowArrayStream"
        struct = ffi.new(kind + " *")
        for name in ("get_schema", "get_next", "get_last_error", "release"):
            setattr(struct, name, ffi.cast(ffi.typeof(getattr(struct, name)), getattr(p.struct, name)))
        # of a device array the first part is the array: the producer's call may write it whole
        keep = ffi.new("struct ArrowDeviceArray *")
        p.get = ffi.callback(
            f"int({kind} *, struct ArrowArray *)",
            lambda s, out: (p._get_next(s, keep), ffi.memmove(out, keep, ffi.sizeof("struct ArrowArray")), p.end_code * (not keep.array.release))[2],
        )  # fmt: skip
        struct.get_next = p.get
    setattr(struct, missing, ffi.NULL)
    address = int(ffi.cast("uintptr_t", struct))
    take = lambda: _native.import_stream_struct(address, plain, "structure")
    if missing == "get_last_error":
        got = take()
        assert next(got).to_pylist() == batch().to_pylist()
        with pytest.raises(cdevice.StreamError, match="no reason given"):
            next(got)
        got.close()
    else:
        with pytest.raises(cdevice.StreamError, match=f"no function {missing}"):
            take()
    assert p.released == 1
