"""Eight threads at once on the same objects: each value is right and nothing is lost, with the GIL changing hands as often as
it can, and without it on a free-threaded interpreter."""

import os
import sys
import sysconfig
import threading

import pytest

import cdevice
import cdevice.compute as cc
from cdevice.testing.fake import FakeBackend

THREADS, ROUNDS = 8, 40


@pytest.fixture(autouse=True)
def busy_switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work):
    """``work(thread, round)`` by all threads, each round begun together; the results by thread."""
    start, results, errors = threading.Barrier(THREADS), [[] for _ in range(THREADS)], []

    def run(k):
        try:
            for turn in range(ROUNDS):
                start.wait(60)
                results[k].append(work(k, turn))
        except BaseException as error:
            errors.append(error)
            start.abort()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # a broken barrier is what the others see of the first error
    errors = [e for e in errors if not isinstance(e, threading.BrokenBarrierError)] or errors
    if errors:
        raise errors[0]
    return results


def batch(rows=1000):
    return cdevice.record_batch(
        {
            "k": cdevice.asarray([i % 7 for i in range(rows)], "int32"),
            "x": cdevice.asarray([None if i % 11 == 0 else i for i in range(rows)], "int64"),
            "s": cdevice.asarray([f"row {i}" for i in range(rows)]),
        }
    )


def test_the_interpreter_keeps_the_state_it_was_started_with():
    """The module declares that it needs no GIL, so its import never turns the GIL on."""
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert enabled
    else:
        assert enabled == (os.environ.get("PYTHON_GIL") == "1" or sys._xoptions.get("gil") == "1")


def test_an_array_is_read_sliced_and_computed_by_all():
    shared = batch()
    x = shared.field("x")
    expected = sum(i for i in range(1000) if i % 11)

    def work(k, turn):
        begin = (k * ROUNDS + turn) % 900
        part = x.slice(begin, 50)
        assert part.to_pylist() == [None if i % 11 == 0 else i for i in range(begin, begin + 50)]
        assert part.null_count == sum(i % 11 == 0 for i in range(begin, begin + 50))
        assert shared.field("s").slice(begin, 1).to_pylist() == [f"row {begin}"]
        return cc.sum(x).as_py()

    assert {value for values in at_once(work) for value in values} == {expected}


def test_what_is_made_at_first_use_is_made_once_for_all():
    """Schemas, children, types and counts are kept after the first question, which all ask at once."""
    objects = [batch(20) for _ in range(ROUNDS)]

    def work(k, turn):
        b = objects[turn]
        return (
            list(b.column_names),
            b.num_rows,
            b.field("x").null_count,
            repr(b.field("s").type),
            b.field("k").to_pylist(),
        )

    results = at_once(work)
    assert all(values == results[0] for values in results)
    assert results[0][0] == (["k", "x", "s"], 20, 2, results[0][0][3], [i % 7 for i in range(20)])


def test_a_stream_gives_each_item_once_or_names_the_other_thread():
    n = 400
    stream = cdevice.asstream([cdevice.record_batch({"x": cdevice.asarray([k])}) for k in range(n)])
    got, start = [[] for _ in range(THREADS)], threading.Barrier(THREADS)
    errors = []

    def run(mine):
        start.wait(60)
        while True:
            try:
                mine.append(next(stream).field("x").to_pylist()[0])
            except StopIteration:
                return
            except RuntimeError as error:
                if "thread" not in str(error):
                    errors.append(error)
                    return

    threads = [threading.Thread(target=run, args=(mine,)) for mine in got]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(k for mine in got for k in mine) == list(range(n))
    assert all(mine == sorted(mine) for mine in got)


def test_the_last_reference_is_dropped_on_any_thread_and_releases_once():
    """Every thread drops its share of one array in the same moment: the memory is given back once."""
    released = []

    class Producer:
        """Its buffer lives as long as the arrays that refer to it."""

        def __init__(self):
            self.memory = bytearray(range(256))

        def __del__(self):
            released.append(1)

    class Bytes(bytearray):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.producer = Producer()

    shares = []
    for _ in range(ROUNDS):
        whole = cdevice.asarray(memoryview(Bytes(range(256))))
        shares.append([whole.slice(k, 8) for k in range(THREADS)])
        del whole

    def work(k, turn):
        part, shares[turn][k] = shares[turn][k], None
        return part.to_pylist() == list(range(k, k + 8))

    assert all(all(values) for values in at_once(work))
    cdevice.asarray([1])  # what waits for the GIL is released before the next array
    assert len(released) == ROUNDS


def test_functions_and_expressions_are_found_and_compiled_by_all_at_once():
    shared = batch()
    expected = [i + turn for turn in range(ROUNDS) for i in (1, 999)]

    def work(k, turn):
        plus = cc.Expression.parse(f"x + {turn}") if k % 2 else cc.field("x") + turn
        projected = shared.project([plus])
        values = projected.children[0].to_pylist()
        groups = cc.group_by(shared, "k").aggregate({"n": ("x", "count")})
        return values[1], values[999], groups.num_rows

    for values in at_once(work):
        assert [v for value in values for v in value[:2]] == expected
        assert {value[2] for value in values} == {7}


def test_the_registry_answers_while_backends_come_and_go():
    """Half of the threads register a device type of their own, use it and unregister it; half look devices up and copy."""
    before = {str(d) for d in cdevice.devices()}

    def work(k, turn):
        if k % 2:
            return {str(d) for d in cdevice.devices()} >= before and cdevice.asarray(
                [turn], device="cpu"
            ).to_pylist() == [turn]
        cdevice.register_backend(FakeBackend(9000 + k, f"threads{k}"))
        there = cdevice.asarray([turn, None, k]).to(f"threads{k}:0")
        right = there.device_type_id == 9000 + k and there.to("cpu").to_pylist() == [turn, None, k]
        there.release()
        cdevice.unregister_backend(9000 + k)
        return right

    assert all(all(values) for values in at_once(work))
    assert {str(d) for d in cdevice.devices()} == before
