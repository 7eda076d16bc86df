"""Eight threads share arrays, batches, streams, the registry, functions and expressions; every value is checked.

Where there is a GIL it changes hands as often as it can, and in a free-threaded interpreter nothing is set.  Each round
of work begins at a barrier, so that the threads are inside the same code at the same time.
"""

import importlib.metadata
import itertools
import pickle
import sys
import threading

import pytest
from waiting import unregister

import cdevice
import cdevice.compute as cc
from cdevice._devices import plugins
from cdevice._devices.tables import objects
from cdevice._runtime.ext import lib
from cdevice.compute.dispatch import entry_points
from cdevice.testing.fake import FakeBackend

THREADS = 8
ROWS = 1000
TYPE = 97  # of the device that the tests register


@pytest.fixture(autouse=True)
def the_gil_changes_hands():
    """What a GIL would hide for 5 ms comes out."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        yield
        return
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work, rounds=1):
    """[work(i, round) of each thread and round], all of a round begun at once; the first exception is raised."""
    barrier, out = threading.Barrier(THREADS, timeout=60), [[] for _ in range(THREADS)]
    errors = []

    def run(i):
        try:
            for r in range(rounds):
                barrier.wait()
                out[i].append(work(i, r))
        except threading.BrokenBarrierError:
            pass
        except BaseException as e:
            errors.append(e)
            barrier.abort()

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    if errors:
        raise errors[0]
    assert not any(t.is_alive() for t in threads), "a thread has no end"
    return list(itertools.chain.from_iterable(out))


def numbers(start=0, rows=ROWS):
    return cdevice.asarray(list(range(start, start + rows)), schema="int64")


def batch(start=0, rows=ROWS):
    words = [None if k % 5 == 0 else f"word {k}" for k in range(start, start + rows)]
    return cdevice.asarray({"k": numbers(start, rows), "s": cdevice.asarray(words)})


# ---- arrays and batches ----
def test_an_array_is_read_sliced_copied_and_pickled_by_all_at_once():
    array, whole = numbers(), list(range(ROWS))

    def work(i, r):
        begin = 100 * i + r
        part = array[begin : begin + 50]
        assert part.to_pylist() == whole[begin : begin + 50]
        assert array[begin] == begin and array.null_count == 0
        copy = part.to("cpu", copy=True)
        assert copy.equals(part) and part.equals(copy)
        assert pickle.loads(pickle.dumps(part)).to_pylist() == whole[begin : begin + 50]
        return cdevice.concat([part, copy]).to_pylist()

    for got in together(work, 15):
        assert got[:50] == got[50:]
    assert array.to_pylist() == whole


def test_columns_and_rows_of_a_batch_are_everybodys():
    shared = batch()
    rows = shared.to_pylist()

    def work(i, r):
        part = shared.slice(10 * i + r, 20)
        assert part.to_pylist() == rows[10 * i + r : 10 * i + r + 20]
        assert part.select(["k"]).to_pylist() == [{"k": row["k"]} for row in rows[10 * i + r : 10 * i + r + 20]]
        return shared["s"].null_count, [str(f.format) for f in shared.schema.children]

    assert set(map(str, together(work, 15))) == {str((200, ["l", "u"]))}


def test_an_array_that_one_releases_is_whole_or_released_for_the_others():
    before = lib.cdv_live_arrays()
    for turn in range(40):
        array, outcomes = numbers(turn), []

        def work(i, r, array=array, turn=turn, outcomes=outcomes):
            if i == turn % THREADS:
                array.release()
                return
            try:
                part = array[10:20]
                assert part.to_pylist() == list(range(turn + 10, turn + 20))
                outcomes.append(cc.sum(part).as_py())
            except cdevice.Released:
                outcomes.append(None)

        together(work)
        assert set(outcomes) <= {None, sum(range(turn + 10, turn + 20))} and len(outcomes) == THREADS - 1
    del array, work
    assert lib.cdv_live_arrays() == before


def test_one_consumer_gets_a_capsule_and_the_others_an_error():
    for _ in range(40):
        capsules = numbers().__arrow_c_device_array__()
        gone = []

        class Once:
            def __arrow_c_device_array__(self, requested_schema=None, capsules=capsules, **kwargs):
                return capsules

        def work(i, r, gone=gone, Once=Once):
            try:
                gone.append(cdevice.asarray(Once()).to_pylist())
            except (ValueError, cdevice.Error):
                pass

        together(work)
        assert gone == [list(range(ROWS))]


# ---- streams ----
def test_a_stream_that_all_take_from_gives_each_item_once_or_says_it_is_in_use():
    items = 600
    sources = {
        "iterator": lambda: cdevice.asstream(numbers(k, 2) for k in range(items)),
        "list": lambda: cdevice.asstream([numbers(k, 2) for k in range(items)]),
        "copied ahead": lambda: cdevice.asstream([numbers(k, 2) for k in range(items)]).to("cpu", prefetch=4),
    }
    for make in sources.values():
        stream, refused = make(), []

        def work(i, r, stream=stream, refused=refused):
            got = []
            while True:
                try:
                    got.append(next(stream).to_pylist())
                except StopIteration:
                    return got
                except RuntimeError as e:
                    assert "in use by another thread" in str(e)
                    refused.append(i)

        got = list(itertools.chain.from_iterable(together(work)))
        assert sorted(got) == [[k, k + 1] for k in range(items)]
        stream.close()


def test_streams_of_one_shared_batch_are_each_threads_own():
    parts = [batch(100 * k, 100) for k in range(6)]
    whole = [row for part in parts for row in part.to_pylist()]

    def work(i, r):
        stream = cdevice.asstream(parts).filter(cc.field("k") >= 50 * i).rebatch(70)
        got = stream.read_all().to_pylist()
        assert got == [row for row in whole if row["k"] >= 50 * i]
        return cdevice.asstream(parts).aggregate([("k", "sum")]).to_pylist()[0]["k_sum"]

    assert set(together(work, 4)) == {sum(range(600))}


# ---- functions and expressions ----
def test_functions_learn_types_while_others_call_them():
    types = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
    columns = {t: cdevice.asarray([3, 1, 2, None], schema=t) for t in types}

    def work(i, r):
        out = []
        for t in types[i:] + types[:i]:
            a = columns[t]
            out.append((t, cc.add(a, a).to_pylist(), cc.sum(a).as_py(), cc.less(a, 2).to_pylist()))
            assert cc.take(a, cc.array_sort_indices(a)).to_pylist() == [1, 2, 3, None]
        return sorted(out)

    expected = sorted((t, [6, 2, 4, None], 6, [False, True, False, None]) for t in types)
    assert all(got == expected for got in together(work, 5))


def test_a_kernel_that_comes_and_goes_is_used_whole_or_not_at_all():
    function = cc.Function("between_threads", "scalar", 1)
    function.add_kernel(["int64"], "int64", lambda call, a: cc.add(a.array, 1))
    array = numbers(0, 10)
    allowed = [list(range(k, k + 10)) for k in (1, 2)]

    def work(i, r):
        if i % 4:
            return function(array).to_pylist()
        kernel = function.add_kernel(["int64"], "int64", lambda call, a: cc.add(a.array, 2))
        got = function(array).to_pylist()
        assert got == allowed[1]
        function.remove_kernel(kernel)
        return got

    assert all(got in allowed for got in together(work, 25))
    assert len(function.kernels) == 1 and function(array).to_pylist() == allowed[0]


def test_an_expression_is_bound_and_computed_by_all_at_once():
    shared = batch()
    expression = cc.field("k") * 2 + 1 > cc.scalar(ROWS)
    expected = [2 * k + 1 > ROWS for k in range(ROWS)]

    def work(i, r):
        mine = cc.Expression.parse(f"k * 2 + {r}")
        assert mine.evaluate(shared).to_pylist() == [2 * k + r for k in range(ROWS)]
        assert expression.evaluate(shared).to_pylist() == expected
        return shared.filter(expression)["k"].to_pylist()

    assert all(got == [k for k in range(ROWS) if expected[k]] for got in together(work, 6))


def test_groups_of_a_shared_batch_are_the_same_for_all():
    shared = cdevice.asarray({"g": [k % 7 for k in range(ROWS)], "v": list(range(ROWS))})
    expected = [sum(range(g, ROWS, 7)) for g in range(7)]

    def work(i, r):
        rows = cc.group_by(shared, "g").aggregate([("v", "sum")]).to_pylist()
        return [row["v_sum"] for row in sorted(rows, key=lambda row: row["g"])]

    assert all(got == expected for got in together(work, 5))


# ---- registries ----
def test_one_thread_adds_a_function_of_a_name_and_the_others_get_an_error():
    registry = cc.FunctionRegistry(cc.function_registry())
    won = []

    def work(i, r):
        function = cc.Function(f"of_one_thread_{r}", "scalar", 1)
        try:
            registry.add_function(function)
            won.append((r, function))
        except KeyError:
            pass
        try:
            registry.add_alias(f"alias_{r}", "add" if i % 2 else "subtract")
            won.append((r, "alias"))
        except KeyError:
            pass
        return registry.get_function(f"of_one_thread_{r}")

    got = together(work, 60)
    assert len(won) == 120
    functions = {r: f for r, f in won if f != "alias"}
    assert all(functions[int(f.name.rpartition("_")[2])] is f for f in got)


def test_names_are_listed_while_functions_come():
    registry = cc.FunctionRegistry()

    def work(i, r):
        registry.add_function(cc.Function(f"f{i}_{r}", "scalar", 1))
        names = registry.get_function_names()
        assert f"f{i}_{r}" in names and names == sorted(names)

    together(work, 60)
    assert registry.num_functions == 60 * THREADS


def test_a_device_is_registered_by_one_thread_and_used_by_all():
    for turn in range(5):
        backends = [FakeBackend(TYPE, "shared") for _ in range(THREADS)]
        won = []

        def work(i, r, backends=backends, won=won):
            if r == 0:
                try:
                    cdevice.register_backend(backends[i])
                    won.append(backends[i])
                except cdevice.BackendConflict:
                    pass
                return
            there = numbers(i).to("shared")
            assert str(there.device) == "shared:0"
            assert there.to("cpu").to_pylist() == list(range(i, i + ROWS))

        try:
            together(work, 4)
            assert len(won) == 1, turn
        finally:
            unregister(*won)


def test_the_object_of_a_backend_is_the_one_whose_table_serves():
    """Where several threads replace each other's."""
    cdevice.register_backend(FakeBackend(TYPE, "shared"))
    try:
        for _ in range(20):
            backends = [FakeBackend(TYPE, "shared") for _ in range(THREADS)]
            together(lambda i, _, b=backends: cdevice.register_backend(b[i], replace=True))
            there = cdevice.asarray([1]).to("shared", copy=True)
            serving = [b for b in backends if b.live()]
            assert serving == [objects[TYPE]]
            del there
    finally:
        unregister(objects[TYPE])


class Entry:
    """An entry point that says how often it was loaded."""

    def __init__(self, name, value, loads, made):
        self.name, self.value, self.dist, self.loads, self.made = name, value, None, loads, made

    def load(self):
        self.loads.append(self.name)
        return self.made


def test_each_entry_point_of_kernels_is_called_once(monkeypatch):
    for _ in range(30):
        loads = []
        found = [(100 + k, Entry(f"k{k}", f"m:k{k}", loads, lambda registry: None)) for k in range(THREADS)]
        monkeypatch.setattr(entry_points, "_left", found)
        together(lambda i, r: entry_points.load(100 + i))
        entry_points.load(None)
        assert sorted(loads) == [f"k{k}" for k in range(THREADS)]
        assert entry_points._left == []


def test_plug_ins_are_all_found_by_threads_that_look_at_once(monkeypatch):
    many = [Entry(f"acme{k}.{200 + k}", f"m:k{k}", [], None) for k in range(60)]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: many)
    try:
        for _ in range(30):
            plugins.refresh()
            for found in together(lambda i, r: sorted(t for t in plugins.scan() if t is not None)):
                assert found == list(range(200, 260))
    finally:
        monkeypatch.undo()
        plugins.refresh()
