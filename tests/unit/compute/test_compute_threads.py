"""Kernels on the CPU that several threads share give what one gives."""

import os
import random
import subprocess
import sys
import threading

import pytest

np = pytest.importorskip("numpy", reason="pip install numpy")
pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

ROWS = 700_001  # eleven slices


@pytest.fixture
def threads():
    before = cc.cpu_count()
    yield cc.set_cpu_count
    cc.set_cpu_count(before)


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(7)
    nulls = lambda: rng.random(ROWS) < 0.3
    words = [f"{random.Random(1).random()}"[: k % 17] for k in range(1000)]
    return {
        "i": cdevice.asarray(pa.array(rng.integers(-1000, 1000, ROWS), mask=nulls())),
        "j": cdevice.asarray(pa.array(rng.integers(1, 1000, ROWS), mask=nulls())),
        "f": cdevice.asarray(pa.array(rng.normal(size=ROWS), mask=nulls())),
        "b": cdevice.asarray(pa.array(rng.random(ROWS) < 0.4, mask=nulls())),
        "s": cdevice.asarray(pa.array([words[k % 1000] for k in range(ROWS)], mask=nulls())),
        "rows": cdevice.asarray(pa.array(rng.integers(0, ROWS, ROWS), mask=nulls())),
    }


CALLS = {
    "add": lambda c: cc.add(c["i"], c["j"]),
    "divide": lambda c: cc.divide(c["i"], c["j"]),
    "add_checked": lambda c: cc.add_checked(c["f"], 1.5),
    "less": lambda c: cc.less(c["f"], 0.25),
    "and_kleene": lambda c: cc.and_kleene(c["b"], cc.is_null(c["i"])),
    "if_else": lambda c: cc.if_else(c["b"], c["i"], c["j"]),
    "cast": lambda c: cc.cast(c["i"], "float32"),
    "sum of floats": lambda c: cc.sum(c["f"]).array,
    "min_max": lambda c: cc.min_max(c["f"]).array,
    "any": lambda c: cc.any(c["b"]).array,
    "count": lambda c: cc.count(c["b"]).array,
    "filter": lambda c: cc.filter(c["i"], c["b"]),
    "filter of a slice": lambda c: cc.filter(c["i"][5:], c["b"][5:]),
    "filter of strings": lambda c: cc.filter(c["s"], c["b"]),
    "take": lambda c: cc.take(c["f"], c["rows"]),
    "take of strings": lambda c: cc.take(c["s"], c["rows"]),
    "drop_null": lambda c: cc.drop_null(c["s"]),
}


@pytest.mark.parametrize("call", list(CALLS))
def test_the_number_of_threads_changes_no_result(call, columns, threads):
    threads(1)
    alone = CALLS[call](columns)
    for n in (2, 5):
        threads(n)
        for _ in range(3):
            shared = CALLS[call](columns)
            assert shared.equals(alone)


def test_what_a_thread_complains_of_is_told(columns, threads):
    threads(4)
    with pytest.raises(cdevice.ArgumentError, match="overflow"):
        cc.add_checked(cc.cast(columns["i"], "int64"), (1 << 63) - 1)
    with pytest.raises(cc.IndexOutOfBounds):
        cc.take(columns["i"], cc.add(columns["rows"], 1000))


def test_several_callers_at_once_are_right(columns, threads):
    threads(3)
    wanted = {k: CALLS[k](columns) for k in ("add", "filter", "sum of floats", "take of strings")}
    wrong = []

    def work():
        for k, w in wanted.items():
            for _ in range(3):
                if not CALLS[k](columns).equals(w):
                    wrong.append(k)

    callers = [threading.Thread(target=work) for _ in range(4)]
    for t in callers:
        t.start()
    for t in callers:
        t.join()
    assert wrong == []


def test_a_forked_child_has_threads_of_its_own(columns, threads):
    threads(3)
    wanted = cc.sum(columns["f"]).as_py()
    child = os.fork()
    if not child:
        os._exit(0 if cc.sum(columns["f"]).as_py() == wanted and cc.cpu_count() == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_how_many_there_are_can_be_said():
    with pytest.raises(ValueError, match="1 or more"):
        cc.set_cpu_count(0)
    code = "import cdevice.compute as cc; print(cc.cpu_count()); cc.set_cpu_count(2); print(cc.cpu_count())"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "CDEVICE_COMPUTE_THREADS": "7"},
    )  # fmt: skip
    assert said.stdout.split() == ["7", "2"]
