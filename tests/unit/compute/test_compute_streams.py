"""Aggregates of streams: the bits that chunks in a list give, in memory that does not grow with the stream."""

import gc
import warnings
from decimal import Decimal

import numpy as np
import pytest
from compute_cases import PLACES, column, enter
from waiting import until

import cdevice
import cdevice.compute as cc
from cdevice._runtime.ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

AGGREGATES = ("sum", "mean", "min", "max", "min_max", "count")


@pytest.fixture(params=list(PLACES))
def device(request, monkeypatch):
    return enter(request.param, monkeypatch)


@pytest.fixture(autouse=True)
def nothing_leaks():
    before = lib.cdv_live_arrays()
    yield
    gc.collect()
    until(lambda: lib.cdv_live_arrays() <= before)


def chunks_of(word, sizes, device, nulls=0.2):
    return [cdevice.asarray(column(word, n, seed, nulls)).to(device) for seed, n in enumerate(sizes)]


def same(name, chunks, **options):
    want = getattr(cc, name)(chunks, **options)
    got = getattr(cc, name)(cdevice.asstream(chunks), **options)
    assert got.device == want.device and got.type == want.type
    a, b = (pa.array(x.array.to("cpu")) for x in (got, want))
    for x, y in zip(a.flatten() if name == "min_max" else [a], b.flatten() if name == "min_max" else [b], strict=True):
        assert x.is_null().equals(y.is_null())
        assert x.fill_null(0).to_numpy().tobytes() == y.fill_null(0).to_numpy().tobytes()


@pytest.mark.parametrize("name", AGGREGATES)
@pytest.mark.parametrize("word", ["int64", "float64"])
def test_a_stream_has_the_bits_of_its_chunks(device, name, word):
    for sizes in ((3,), (3, 0, 5), (5000, 1, 4096, 20000), (0,), (0, 0), (1,) * 40):
        chunks = chunks_of(word, sizes, device)
        same(name, chunks)
        if name != "count":
            same(name, chunks, skip_nulls=False)
            same(name, chunks, min_count=100)
    same(name, chunks_of(word, (5, 0, 7), device, nulls=1))


@pytest.mark.parametrize("name", ["any", "all", "sum", "mean", "min_max"])
def test_streams_of_bits(device, name):
    chunks = chunks_of("bool", (9000, 3, 0, 5), device)
    assert repr(getattr(cc, name)(cdevice.asstream(chunks)).as_py()) == repr(getattr(cc, name)(chunks).as_py())


@pytest.mark.parametrize("name", ["sum", "mean", "min_max"])
def test_the_tree_of_many_chunks_is_the_same(name):
    for n in (4096, 4097, 8200):
        rows = cdevice.asarray(np.random.default_rng(n).normal(size=n) * 10.0 ** (np.arange(n) % 9))
        chunks = [rows[i : i + 1] for i in range(n)]
        same(name, chunks)


class Counted:
    """Batches, one after the other: how many live at most?

    Two or more for each batch that lives.  The thread that gives back what a device has done with may be behind on a
    machine that is busy: the source waits for it, and not for what a function holds."""

    MOST = 100

    def __init__(self, n, device):
        self.n, self.device, self.most, self.made = n, device, 0, 0
        gc.collect()
        self.before = lib.cdv_backend_live(cdevice.device(device).type_id)

    def __iter__(self):
        for i in range(self.n):
            array = cdevice.asarray(np.full(5000, float(i))).to(self.device)
            array.synchronize()
            self.made += 1
            until(lambda: self.live() < self.MOST, self.live)
            self.most = max(self.most, self.live())
            yield array
            del array

    def live(self):
        return lib.cdv_backend_live(cdevice.device(self.device).type_id) - self.before


@pytest.mark.parametrize("name", AGGREGATES)
def test_memory_does_not_grow_with_the_stream(device, name):
    def most(n):
        source = Counted(n, device)
        out = getattr(cc, name)(cdevice.asstream(source)).as_py()
        assert source.made == n and out is not None
        return source.most

    assert most(300) < 150


def test_one_batch_of_ours_lives_at_a_time_on_the_cpu():
    import weakref

    alive, most = weakref.WeakSet(), []

    class Owner:
        pass

    def source():
        for i in range(50):
            owner = Owner()
            alive.add(owner)
            values = np.full(100, i).view(Tracked)
            values.owner = owner
            del owner
            yield values
            del values
            most.append(len(alive))

    class Tracked(np.ndarray):
        pass

    assert cc.sum(cdevice.asstream(source())).as_py() == 100 * sum(range(50))
    assert max(most) <= 2 and not alive


def test_a_stream_that_fails_says_so_and_leaves_nothing(device):
    def source():
        yield from chunks_of("int64", (10, 10), device)
        raise ZeroDivisionError("no more")

    with pytest.raises(ZeroDivisionError, match="no more"):
        cc.sum(cdevice.asstream(source()))


def test_no_chunks_are_nothing(device):
    empty = cdevice.asstream([], schema="int64")
    assert cc.sum(empty).as_py() is None
    assert cc.is_null(cdevice.asstream([], schema="int64")).to_pylist() == []
    there = cdevice.asstream([], schema="int64").to(device)
    total = cc.sum(there)
    assert total.device == cdevice.device(device) and total.as_py() is None
    assert cc.count(pa.chunked_array([], pa.int64())).as_py() == 0


def test_other_functions_read_a_stream_to_its_end():
    assert cc.add(cdevice.asstream([[1, 2], [3]]), 1).to_pylist() == [2, 3, 4]
    assert cc.call_function("stddev", [cdevice.asstream([[1, 2], [4]])]).as_py() == pytest.approx(1.247219128924647)
    assert cc.cast(cdevice.asstream([["1"], ["2"]]), "int64").to_pylist() == [1, 2]


def test_a_stream_is_read_once_by_what_computes_with_it():
    for t in (pa.string_view(), pa.binary_view()):
        values = pa.array(["b", "a"], t)
        chunks = [cdevice.asarray(values[:1]), cdevice.asarray(values[1:])]
        assert cc.min(cdevice.asstream(chunks)).as_py() == values[1].as_py()
        assert cc.min_max(cdevice.asstream(chunks)).as_py() == {"min": values[1].as_py(), "max": values[0].as_py()}
    for name in ("sum", "mean", "mode", "product", "variance", "any"):
        with pytest.raises(cc.NoKernel, match=name):
            cc.call_function(name, [cdevice.asstream([["a"], ["b"]])])


def test_copies_are_made_chunk_by_chunk():
    from cdevice.testing.fake import FakeBackend

    cdevice.register_backend(FakeBackend(5611, "streamed"))
    try:
        chunks = [cdevice.asarray([i, None]).to("streamed") for i in range(5)]
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            total = cc.sum(cdevice.asstream(chunks), fallback="copy")
            assert total.device == cdevice.device("streamed") and total.as_py() == 10
        assert [w.category for w in seen] == [cdevice.DeviceWarning]
        with pytest.warns(cdevice.DeviceWarning, match="mean: no kernel on streamed:0"):
            mean = cc.mean(cdevice.asstream(chunks), fallback="copy")
        assert mean.as_py() == 2
        del chunks, total, mean
        gc.collect()
        until(lambda: lib.cdv_backend_live(5611) == 0)
    finally:
        cdevice.unregister_backend(5611)


def test_decimals_and_floats_of_two_bytes_come_as_streams_too(device):
    """Their states are wider and narrower than their rows."""
    rows = [Decimal(k * 7919 % 100_003 - 50_000).scaleb(-2) if k % 9 else None for k in range(6000)]
    decimals = [pa.array(rows[k : k + 50], pa.decimal128(12, 2)) for k in range(0, 6000, 50)]
    halves = [pa.array(np.arange(k, k + 40, dtype="float16") / 8) for k in range(100)]
    for chunks in (decimals, halves):
        whole = pa.chunked_array(chunks)
        there = [cdevice.asarray(c).to(device) for c in chunks]
        for name in ("sum", "min_max", "mean", "count"):
            got, want = getattr(cc, name)(cdevice.asstream(there)), getattr(cc, name)(there)
            assert got.as_py() == want.as_py(), name
            if chunks is decimals:
                assert got.as_py() == getattr(pc, name)(whole).as_py(), name
