"""Much of something: rows beyond 2^31, buffers beyond 4 GiB, thousands of buffers and columns, depth.

    python large.py [--short] [--only PATTERN]

Each case is a process of its own, for the CPU and for OpenCL where it is: copies there and back, slices, concat, functions,
streams, pickles, with the values checked.  A line for each says how long it took and the most memory it had.  A finding is
a wrong value, an error, five minutes without an end, more memory than the bound, and a cost that grows faster than the size.
"""

import argparse
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

HANG = 300
MIB = 1 << 20
MOST, MOST_SHORT = 12 << 10, 1 << 10  # MiB of a process
FASTER = 8  # a cost of one that is so many times that of the size before grows faster than the size
ONE_BY_ONE = "each by its name"  # a name is looked for among all columns, so that this one grows
CASES = {}


def case(short=False, places=("cpu", "opencl:0")):
    def declare(f):
        for place in places:
            CASES[f"{f.__name__.replace('_', ' ')}, {place.partition(':')[0]}"] = (f, place, short)
        return f

    return declare


def same(got, expected, what=""):
    if got != expected:
        raise AssertionError(f"{what}: {str(got)[:200]} and not {str(expected)[:200]}")


def there_and_back(array, place):
    """A copy on the device, and one of it; the CPU's are copies too."""
    there = array.to(place, copy=True)
    back = there.to("cpu", copy=True)
    return there, back


def through_pickle(array, out_of_band=False):
    buffers = []
    data = pickle.dumps(array, 5, buffer_callback=buffers.append if out_of_band else None)
    return pickle.loads(data, buffers=buffers)


# ---- rows and bytes ----
@case()
def rows_beyond_2_to_the_31(place):
    """int8: 2 GiB a copy."""
    import sparse

    import cdevice
    import cdevice.compute as cc

    n = sparse.EDGE31 + 1000
    marks = sparse.marked(n)
    there = cdevice.asarray(sparse.numbers("i1", n, marks)).to(place, copy=True)
    same(len(there), n, "rows")
    same(cc.sum(there).as_py(), sum(marks.values()), "sum")
    mask = cc.greater(there, 0)
    same(cc.filter(there, mask).to("cpu").to_pylist(), list(marks.values()), "filter")
    same(cc.indices_nonzero(mask).to("cpu").to_pylist(), list(marks), "rows found")
    del mask
    twice = cc.add(there, there)
    same(cc.sum(twice).as_py(), 2 * sum(marks.values()), "add")
    del twice
    for row, value in marks.items():
        same(there[row : row + 1].to("cpu")[0], value, f"row {row}")
        part = there[max(row - 1, 0) : row + 2].to("cpu").to_pylist()
        same(part[min(row, 1)], value, f"a slice at row {row}")
    back = there.to("cpu", copy=True)
    del there
    same({row: back[row] for row in marks}, marks, "copied back")
    same(cc.sum(back).as_py(), sum(marks.values()), "sum of the copy")


@case()
def concat_of_rows_beyond_2_to_the_31(place):
    import sparse

    import cdevice
    import cdevice.compute as cc

    half = (1 << 30) + 500
    a = cdevice.asarray(sparse.numbers("i1", half, {0: 1, half - 1: 2})).to(place, copy=True)
    both = cdevice.concat([a, a[1:]])
    del a
    same(len(both), 2 * half - 1, "rows")
    same(cc.sum(both).as_py(), 5, "sum")
    rows = [0, half - 1, 2 * half - 2]
    same([both[row : row + 1].to("cpu")[0] for row in rows], [1, 2, 2], "values")


@case(places=("cpu",))
def pickle_of_rows_beyond_2_to_the_31(place):
    import sparse

    import cdevice
    import cdevice.compute as cc

    n = sparse.EDGE31 + 1000
    marks = sparse.marked(n)
    for out_of_band in (True, False):
        back = through_pickle(cdevice.asarray(sparse.numbers("i1", n, marks)), out_of_band)
        same((len(back), cc.sum(back).as_py()), (n, sum(marks.values())), "unpickled")
        same({row: back[row] for row in marks}, marks, "values")
        del back


@case()
def a_stream_of_rows_beyond_2_to_the_31(place):
    import sparse

    import cdevice
    import cdevice.compute as cc

    part = 1 << 29

    def batches():
        for k in range(5):
            yield cdevice.record_batch({"x": cdevice.asarray(sparse.numbers("i1", part, {k: k + 1, part - 1: 1}))})

    total = rows = 0
    for got in cdevice.asstream(batches()).to(place, prefetch=1):
        rows += len(got)
        total += cc.sum(got["x"]).as_py()
    same((rows, total), (5 * part, 15 + 5), "rows and sum")
    total = cdevice.asstream(batches()).aggregate([("x", "sum"), ("x", "count")]).to_pylist()
    same(total, [{"x_sum": 20, "x_count": 5 * part}], "aggregate")


@case()
def a_buffer_beyond_4_GiB(place):
    """int64: 4.3 GB a copy."""
    import sparse

    import cdevice
    import cdevice.compute as cc

    n = (sparse.EDGE32 >> 3) + 1000
    marks = {0: 5, n // 2: -3, n - 1001: 7, n - 1000: 11, n - 1: 13}
    there = cdevice.asarray(sparse.numbers("i8", n, marks)).to(place, copy=True)
    same(cc.sum(there).as_py(), sum(marks.values()), "sum")
    same(cc.filter(there, cc.not_equal(there, 0)).to("cpu").to_pylist(), list(marks.values()), "filter")
    same(there[n - 1001 :].to("cpu").to_pylist()[:2], [7, 11], "a slice beyond 4 GiB")
    back = there.to("cpu", copy=True)
    same({row: back[row] for row in marks}, marks, "copied back")


@case()
def strings_beyond_4_GiB(place):
    """One buffer of characters."""
    import sparse

    import cdevice.compute as cc

    sizes = [20, sparse.EDGE32, 20, 3]
    ends = {0: 97, 19: 98, 20 + sparse.EDGE32: 99, 40 + sparse.EDGE32: 100}
    there = sparse.texts("large_string", sizes, ends).to(place, copy=True)
    same(cc.binary_length(there).to("cpu").to_pylist(), sizes, "lengths")
    tail = there[2:].to("cpu").to_pylist()
    same(tail, ["c" + 19 * "\0", "d\0\0"], "strings beyond 4 GiB")
    taken = cc.take(there, [3, 0, 2]).to("cpu").to_pylist()
    same(taken, ["d\0\0", "a" + 18 * "\0" + "b", "c" + 19 * "\0"], "take")
    back = there.to("cpu", copy=True)
    same(back[2:].to_pylist(), tail, "copied back")


@case()
def sort_of_many_rows(place):
    import numpy as np

    import cdevice
    import cdevice.compute as cc

    n = 20_000_000
    values = np.random.default_rng(1).integers(0, 1 << 40, n)
    there = cdevice.asarray(values).to(place)
    indices = np.asarray(cc.array_sort_indices(there).to("cpu"))
    if not np.array_equal(indices, np.argsort(values, kind="stable")):
        raise AssertionError("another order")


# ---- many of them ----
def view_of(buffers):
    """Two rows in each buffer."""
    import numpy as np

    import cdevice

    words = [[f"{'row':>10} {2 * k + i:>10}".encode() for i in (0, 1)] for k in range(buffers)]
    views = np.zeros(2 * buffers, [("size", "i4"), ("prefix", "S4"), ("buffer", "i4"), ("offset", "i4")])
    for k in range(2 * buffers):
        word = words[k // 2][k % 2]
        views[k] = len(word), word[:4], k // 2, len(word) * (k % 2)
    data = [np.frombuffer(b"".join(pair), "u1") for pair in words]
    sizes = np.array([len(d) for d in data], "i8")
    array = cdevice.from_buffers("string_view", 2 * buffers, [None, views.view("u1"), *data, sizes])
    return array, [word.decode() for pair in words for word in pair]


@case(short=True)
def a_view_of_1000_buffers(place):
    import cdevice
    import cdevice.compute as cc

    array, words = view_of(1000)
    same(array.to_pylist(), words, "values")
    there, back = there_and_back(array, place)
    same(back.to_pylist(), words, "copied")
    same(there[777:1555].to("cpu").to_pylist(), words[777:1555], "slice")
    same(cdevice.concat([there, there[1990:]]).to("cpu").to_pylist(), words + words[1990:], "concat")
    same(through_pickle(there).to("cpu").to_pylist(), words, "pickle")
    same(cc.take(there, list(range(1999, -1, -1))).to("cpu").to_pylist(), words[::-1], "take")
    same(cc.cast(there, "string").to("cpu").to_pylist(), words, "cast")
    got = [w for part in cdevice.asstream([array, array]).to(place, prefetch=1) for w in part.to("cpu").to_pylist()]
    same(got, words + words, "stream")
    try:
        import pyarrow as pa
    except ImportError:
        return
    same(pa.array(array).to_pylist() if hasattr(pa, "string_view") else words, words, "pyarrow's")


def columns_of(n, rows=10):
    import cdevice

    return cdevice.record_batch(
        {
            f"c{k}": cdevice.asarray([k + i for i in range(rows)], schema="int32")
            if k % 2
            else cdevice.asarray([None if i == 3 else f"{k} {i}" for i in range(rows)])
            for k in range(n)
        }
    )


def rows_of(n, rows):
    return [{f"c{k}": k + i if k % 2 else None if i == 3 else f"{k} {i}" for k in range(n)} for i in rows]


@case(short=True)
def ten_thousand_columns(place):
    import cdevice
    import cdevice.compute as cc

    n = 10_000
    batch = columns_of(n)
    rows = rows_of(n, range(10))
    same(batch.to_pylist(), rows, "values")
    there, back = there_and_back(batch, place)
    same(back.to_pylist(), rows, "copied")
    same(there[2:5].to("cpu").to_pylist(), rows[2:5], "slice")
    same(cdevice.concat([there, there[8:]]).to("cpu").to_pylist(), rows + rows[8:], "concat")
    same(through_pickle(there).to("cpu").to_pylist(), rows, "pickle")
    same(cc.filter(there, cc.field("c1") > 6).to("cpu").to_pylist(), rows[6:], "filter")
    same(there.select([f"c{n - 1}", "c0"]).to("cpu").to_pylist()[0], {f"c{n - 1}": n - 1, "c0": "0 0"}, "select")
    same(cc.sum(there[f"c{n - 1}"]).as_py(), 10 * (n - 1) + 45, "sum")
    added = there.with_columns({"new": cc.field("c1") + cc.field(f"c{n - 1}")})
    same(added["new"].to("cpu").to_pylist(), [n + 2 * i for i in range(10)], "add")
    got = [row for part in cdevice.asstream([batch, batch]).to(place, prefetch=1) for row in part.to("cpu").to_pylist()]
    same(got, rows + rows, "stream")


@case(short=True)
def depth_of_60(place):
    import cdevice
    import cdevice.compute as cc

    for kind in ("lists", "structs", "both"):
        array, values = cdevice.asarray([1, 2, None, 4], schema="int32"), [1, 2, None, 4]
        for level in range(59):
            item = array.schema.with_name("item")
            if kind == "structs" or (kind == "both" and level % 2):
                array = cdevice.from_buffers(cdevice.Schema.make("+s", children=[item]), 4, [None], children=[array])
                values = [{"item": v} for v in values]
            else:
                offsets = memoryview(b"".join(k.to_bytes(4, "little") for k in range(5)))
                array = cdevice.from_buffers(
                    cdevice.Schema.make("+l", children=[item]), 4, [None, offsets], children=[array]
                )
                values = [[v] for v in values]
        same(array.to_pylist(), values, kind)
        there, back = there_and_back(array, place)
        same(back.to_pylist(), values, f"{kind} copied")
        same(there[1:3].to("cpu").to_pylist(), values[1:3], f"a slice of {kind}")
        same(cdevice.concat([there, there[2:]]).to("cpu").to_pylist(), values + values[2:], f"concat of {kind}")
        same(through_pickle(there).to("cpu").to_pylist(), values, f"a pickle of {kind}")
        same(back.equals(array), True, f"equal {kind}")
        got = [v for part in cdevice.asstream([array]).to(place) for v in part.to("cpu").to_pylist()]
        same(got, values, f"a stream of {kind}")
        same(cc.take(there, [3, 0]).to("cpu").to_pylist(), [values[3], values[0]], f"take of {kind}")


# ---- growth ----
def seconds(f, least=0.005, whole=0.3):
    """The best of some, each long enough to be measured: other programs run too."""
    f()
    best, times, spent, n = None, 1, 0.0, 0
    while spent < whole or (n < 5 and spent < 10):
        n += 1
        begin = time.perf_counter()
        for _ in range(times):
            f()
        took = time.perf_counter() - begin
        spent += took
        best = took / times if best is None else min(best, took / times)
        times = max(1, min(1000, int(least / max(best, 1e-9))))
    return best


def finished(result):
    """A device goes on after a call."""
    if hasattr(result, "synchronize"):
        result.synchronize()


def grown(title, unit, sizes, make):
    """Prints the cost of one by size, for each call of make(size); raises for one that grows faster than the size."""
    rows = {}
    for n in sizes:
        for name, f in make(n).items():
            rows.setdefault(name, {})[n] = seconds(lambda f=f: finished(f())) / n * unit[1]
    print(f"  {title:<22}" + "".join(f"{n:>14,}" for n in sizes))
    bad = []
    for name, costs in rows.items():
        print(f"    {name:<20}" + "".join(f"{costs[n]:>11.2f} {unit[0]}" if n in costs else f"{'':>14}" for n in sizes))
        known = [costs[n] for n in sizes if n in costs]
        if name != ONE_BY_ONE and any(b > FASTER * a for a, b in zip(known[1:], known[2:], strict=False)):
            bad.append(name)
    if bad:
        raise AssertionError(f"grows faster than the number of {title}: {', '.join(bad)}")


def cost_of_columns(place, sizes):
    import cdevice
    import cdevice.compute as cc

    def make(n):
        batch = columns_of(n)
        there = batch.to(place, copy=True)
        data = pickle.dumps(there)
        names = [f"c{k}" for k in range(n)]
        columns = dict(zip(names, batch.children, strict=True))
        return {
            "record_batch": lambda: cdevice.record_batch(columns),
            ONE_BY_ONE: lambda: [there[name] for name in names],
            "copy": lambda: there.to("cpu", copy=True),
            "slice": lambda: there[2:5],
            "concat": lambda: cdevice.concat([there, there]),
            "filter": lambda: cc.filter(there, cc.field("c1") > 6),
            "pickle": lambda: pickle.dumps(there),
            "unpickle": lambda: pickle.loads(data),
            "a stream's batch": lambda: [len(b) for b in cdevice.asstream([batch]).to(place)],
            "select": lambda: there.select(names),
            "rows of Python": lambda: batch.to_pylist(),
            "to Arrow's structs": lambda: cdevice.asarray(Foreign(there)),
        }

    grown("columns", ("us", 1e6), sizes, make)


class Foreign:
    """Anybody's array."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self.array.__arrow_c_device_array__()


@case(short=True)
def cost_of_a_column(place):
    cost_of_columns(place, [10, 100, 1000])


@case()
def cost_of_a_column_of_10000(place):
    cost_of_columns(place, [10, 100, 1000, 10_000])


def cost_of_rows(place, sizes, most):
    import numpy as np
    import sparse

    import cdevice
    import cdevice.compute as cc

    def make(n):
        there = cdevice.asarray(sparse.numbers("i1", n, {0: 1, n - 1: 2})).to(place, copy=True)
        calls = {
            "copy": lambda: there.to("cpu", copy=True),
            "sum": lambda: cc.sum(there),
            "add": lambda: cc.add(there, there),
            "filter": lambda: cc.filter(there, cc.greater(there, 0)),
            "concat": lambda: cdevice.concat([there[: n // 2], there[n // 2 :]]),
        }
        if n <= most:
            numbers = cdevice.asarray(np.random.default_rng(1).integers(0, 1 << 40, n)).to(place)
            calls["sort (int64)"] = lambda: cc.array_sort_indices(numbers)
        return calls

    grown("rows of int8", ("ns", 1e9), sizes, make)


@case(short=True)
def cost_of_a_row(place):
    cost_of_rows(place, [10**5, 10**6, 10**7], 10**6)


@case()
def cost_of_a_row_of_2_to_the_31(place):
    cost_of_rows(place, [10**6, 10**7, 10**8, 1 << 31], 10**7)


# ---- each in a process ----
def run(name, most):
    """Prints its line; returns whether it is a finding, and whether there is no such device."""
    begin = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, __file__, "--case", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    signal.signal(signal.SIGALRM, lambda *_: child.kill())
    signal.alarm(HANG)
    said = child.stdout.read().rstrip()
    _, status, usage = os.wait4(child.pid, 0)
    signal.alarm(0)
    child.returncode = status = os.waitstatus_to_exitcode(status)
    peak, took = usage.ru_maxrss >> 10, time.monotonic() - begin
    why = ""
    if status == 77:
        why = "left out: " + said.splitlines()[-1]
    elif status:
        why = "FINDING: " + ("no end" if status == -signal.SIGKILL else f"exit status {status}")
    elif peak > most:
        why = f"FINDING: more than {most} MiB"
    print(f"{name:<52}{took:>8.1f} s {peak:>6} MiB  {why or 'right'}", flush=True)
    if said and status != 77:
        print("\n".join(said.splitlines()[-40:]), flush=True)
    return why.startswith("FINDING")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="below 1 GiB, without the giants")
    parser.add_argument("--only", default="", metavar="PATTERN", help="cases whose name has it")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.case:
        f, place, _ = CASES[o.case]
        import cdevice

        if place != "cpu" and not any(str(d).startswith("opencl") for d in cdevice.devices()):
            print("no OpenCL device: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
            sys.exit(77)
        f(place)
        return
    findings = 0
    for name, (_, _, short) in CASES.items():
        if (short or not o.short) and re.search(o.only, name):
            findings += run(name, MOST_SHORT if o.short else MOST)
    print(f"{findings} findings")
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
