"""A call returns before its device has done anything: a queue is held by a user event, never by sleeping."""

import os
import threading

import pytest
from test_opencl import hold, new_queue
from waiting import until

import cdevice
import cdevice.compute as cc
from cdevice._ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")

if not cdevice.device("opencl").is_available:
    pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1", allow_module_level=True)

NUMBERS = [1, None, 3, 4, -5, 6] * 11
BITS = [True, None, False] * 22
CALLS = {
    "add": lambda x, b, s: cc.add(x, 1, stream=s),
    "subtract": lambda x, b, s: cc.subtract(x, x, stream=s),
    "multiply": lambda x, b, s: cc.multiply(2, x, stream=s),
    "negate": lambda x, b, s: cc.negate(x, stream=s),
    "abs": lambda x, b, s: cc.abs(x, stream=s),
    "equal": lambda x, b, s: cc.equal(x, x, stream=s),
    "not_equal": lambda x, b, s: cc.not_equal(x, 3, stream=s),
    "less": lambda x, b, s: cc.less(x, 3, stream=s),
    "less_equal": lambda x, b, s: cc.less_equal(x, 3, stream=s),
    "greater": lambda x, b, s: cc.greater(x, 3, stream=s),
    "greater_equal": lambda x, b, s: cc.greater_equal(x, 3, stream=s),
    "is_null": lambda x, b, s: cc.is_null(x, stream=s),
    "is_valid": lambda x, b, s: cc.is_valid(x, stream=s),
    "is_nan": lambda x, b, s: cc.is_nan(cc.cast(x, "float64", safe=False, stream=s), stream=s),
    "divide": lambda x, b, s: cc.divide(cc.cast(x, "float64", safe=False, stream=s), 2.0, stream=s),
    "and_": lambda x, b, s: cc.and_(b, b, stream=s),
    "or_": lambda x, b, s: cc.or_(b, True, stream=s),
    "xor": lambda x, b, s: cc.xor(b, b, stream=s),
    "and_kleene": lambda x, b, s: cc.and_kleene(b, False, stream=s),
    "or_kleene": lambda x, b, s: cc.or_kleene(b, b, stream=s),
    "invert": lambda x, b, s: cc.invert(b, stream=s),
    "if_else": lambda x, b, s: cc.if_else(b, x, 0, stream=s),
    "fill_null": lambda x, b, s: cc.fill_null(x, 7, stream=s),
    "coalesce": lambda x, b, s: cc.coalesce(x, x, 0, stream=s),
    "cast": lambda x, b, s: cc.cast(x, "int32", safe=False, stream=s),
    "take": lambda x, b, s: cc.take(x, x[2:4], boundscheck=False, stream=s),
    "sum": lambda x, b, s: cc.sum(x, stream=s).array,
    "mean": lambda x, b, s: cc.mean(x, stream=s).array,
    "min_max": lambda x, b, s: cc.min_max(x, stream=s).array,
    "min": lambda x, b, s: cc.min(x, stream=s).array,
    "max": lambda x, b, s: cc.max(x, stream=s).array,
    "count": lambda x, b, s: cc.count(x, stream=s).array,
    "any": lambda x, b, s: cc.any(b, stream=s).array,
    "all": lambda x, b, s: cc.all(b, stream=s).array,
}
# what reads a number or a complaint before it returns
WAITS = {"filter", "drop_null"} | {n for n in cc.list_functions() if n.endswith("_checked")}


@pytest.fixture
def queue():
    yield from new_queue()


def there(queue, values):
    return cdevice.asarray(values).to("opencl", stream=queue)


def test_every_function_that_need_not_wait_is_held_here():
    assert {n.rstrip("_") for n in CALLS} | WAITS == set(cc.list_functions())


@pytest.mark.parametrize("name", list(CALLS))
def test_a_call_returns_before_the_device_begins(name, queue):
    x, b = there(queue, NUMBERS), there(queue, BITS)
    want = CALLS[name](x, b, queue).to("cpu").to_pylist()  # its programs are built here
    before = lib.cdv_backend_live(4)
    open_gate, kept = hold(queue)
    try:
        got = CALLS[name](x, b, queue)
        assert not got.ready
        again = cc.is_valid(got, stream=queue)  # what is not there yet is an argument
        assert not again.ready
    finally:
        open_gate()
    assert repr(got.to("cpu").to_pylist()) == repr(want)
    del got, again, kept
    until(lambda: lib.cdv_backend_live(4) <= before and lib.cdv_kept() == 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, b, s: cc.filter(x, b, stream=s),
        lambda x, b, s: cc.drop_null(x, stream=s),
        lambda x, b, s: cc.add_checked(x, 1, stream=s),
        lambda x, b, s: cc.take(x, x[2:4], stream=s),
    ],
    ids=["filter", "drop_null", "add_checked", "take"],
)
def test_a_call_that_must_know_waits_and_lets_others_run(call, queue):
    x, b = there(queue, NUMBERS), there(queue, BITS)
    want = call(x, b, queue).to("cpu").to_pylist()
    open_gate, kept = hold(queue)
    got = []
    thread = threading.Thread(target=lambda: got.append(call(x, b, queue)))
    thread.start()
    try:
        thread.join(0.05)
        assert not got
    finally:
        open_gate()
    thread.join(30)
    assert got[0].to("cpu").to_pylist() == want
    del kept


def test_an_argument_may_be_given_back_while_the_device_still_reads_it(queue):
    x = there(queue, NUMBERS)
    cc.add(x, 1, stream=queue)
    open_gate, kept = hold(queue)
    try:
        got = cc.add(x, 1, stream=queue)
        x.release()
        total = cc.sum(got, stream=queue)
        got.release()
        assert not total.ready
    finally:
        open_gate()
    assert total.as_py() == sum(v + 1 for v in NUMBERS if v is not None)
    del kept


def test_work_of_two_streams_is_put_in_order(queue):
    other = cl.CommandQueue(queue.context)
    x = there(queue, NUMBERS)
    cc.sum(cc.add(x, 1, stream=queue), stream=other)
    open_gate, kept = hold(queue)
    try:
        total = cc.sum(cc.add(x, 1, stream=queue), stream=other)
        assert not total.ready
    finally:
        open_gate()
    assert total.as_py() == sum(v + 1 for v in NUMBERS if v is not None)
    del kept


def test_many_threads_call_at_once():
    x = cdevice.asarray(list(range(1000))).to("opencl")
    assert cc.sum(cc.add(x, 1)).as_py() == 500500
    found = []

    def work(k):
        found.extend(cc.sum(cc.add(x, k)).as_py() - 1000 * k for _ in range(20))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(os.cpu_count() or 2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert set(found) == {499500}
