"""A call returns before its device has done anything: a queue is held by a user event, never by sleeping."""

import os
import threading

import pytest
from compute_cases import CALLS, LISTS, ROWS, TRUTHS, WAITS
from queues import hold, new_queue
from waiting import until

import cdevice
import cdevice.compute as cc
from cdevice._runtime.ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")

if not cdevice.device("opencl").is_available:
    pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1", allow_module_level=True)


@pytest.fixture
def queue():
    yield from new_queue()


def there(queue, values):
    return cdevice.asarray(values).to("opencl", stream=queue)


def test_every_function_that_need_not_wait_is_held_here():
    assert {n.rstrip("_") for n in CALLS} | WAITS | LISTS == set(cc.list_functions())


@pytest.mark.parametrize("name", list(CALLS))
def test_a_call_returns_before_the_device_begins(name, queue):
    x, b = there(queue, ROWS), there(queue, TRUTHS)
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
    until(lambda: lib.cdv_backend_live(4) <= before and lib.cdv_retired_count() == 0)


@pytest.mark.parametrize("name", ["binary_length", "string_is_ascii", "starts_with", "find_substring"])
def test_a_number_or_a_truth_of_strings_is_not_waited_for(name, queue):
    x = there(queue, pa.array(["abc", None, "", "cab"] * 20))
    call = getattr(cc, name)
    more = ["ab"] if name.endswith(("with", "substring")) else []
    want = call(x, *more, stream=queue).to("cpu").to_pylist()  # its programs are built here
    open_gate, kept = hold(queue)
    try:
        got = call(x, *more, stream=queue)
        assert not got.ready
    finally:
        open_gate()
    assert got.to("cpu").to_pylist() == want
    del kept


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
    x, b = there(queue, ROWS), there(queue, TRUTHS)
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
    x = there(queue, ROWS)
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
    assert total.as_py() == sum(v + 1 for v in ROWS if v is not None)
    del kept


def test_work_of_two_streams_is_put_in_order(queue):
    other = cl.CommandQueue(queue.context)
    x = there(queue, ROWS)
    cc.sum(cc.add(x, 1, stream=queue), stream=other)
    open_gate, kept = hold(queue)
    try:
        total = cc.sum(cc.add(x, 1, stream=queue), stream=other)
        assert not total.ready
    finally:
        open_gate()
    assert total.as_py() == sum(v + 1 for v in ROWS if v is not None)
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
