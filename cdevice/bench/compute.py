"""Functions beside pyarrow.compute, by all threads beside one, and on OpenCL beside numpy and pyopencl's own.  For
``python -m cdevice bench``.

Ten million rows, a tenth of them null, and a batch of twenty columns of a hundred thousand strings; one thread unless
said, random masks and indices; calls that take turns, the median of each pair's ratio.  ``--quick`` takes a hundredth
of the rows of columns; ``--questions unique,sort_indices int32``: only rows with these words.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from . import whole_columns
from .one_thread import shown_rows
from .table import chosen
from .timing import pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROWS = 10_000_000
# the least ratio of pyarrow's time to cdevice's
CPU = {
    "add int64": 0.85,
    "add float64": 0.85,
    "less int64": 1.0,
    "less float64": 1.0,
    "sum int64": 2.0,
    "sum float64": 3.0,
    "min_max int64": 1.1,
    "min_max float64": 2.0,
    "filter int64": 4.0,
    "take int64": 1.5,
    "if_else int64": 2.5,
    "cast int64 to float64": 1.8,
    "equal string, a word": 1.0,
    "filter 20 string columns, half": 1.4,
    "filter 20 string columns, 1 %": 1.1,
    "add, one row": 0.67,
    "sum, one row": 0.67,
}
OPENCL = {"add": 1.0, "less": 0.8, "sum": 1.5, "filter": 3.0, "take": 1.2}
STRINGS = {"filter 20 string columns, half": 1.5, "filter 20 string columns, 1 %": 0.3}  # beside pyarrow on the CPU
PYOPENCL = {"add": 8.0, "less": 8.0, "sum": 1.3, "filter": 3.0, "take": 1.5}
# the same of orders, one round: pyarrow takes seconds
ORDER = {
    "sort_indices int64": 8.0,
    "sort_indices float64": 6.0,
    "sort_indices int32, 100 values": 1.0,
    "sort_indices string, 8 bytes": 6.0,
    "sort_indices two keys": 4.0,
}
ORDER_OPENCL = 8.0  # int64, beside pyarrow on the CPU
RADIX_SORT = 15.0  # beside pyopencl's, a million rows
THREADS = ("add int64", "less int64", "sum float64", "filter int64", "take int64", "if_else int64")


def columns(rows: int) -> dict[str, Any]:
    """pyarrow arrays by name."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(1)

    def made(values: Any, nulls: float = 0.1) -> Any:
        return pa.array(values, mask=rng.random(rows) < nulls)

    return {
        "i": made(rng.integers(-(2**40), 2**40, rows)),
        "j": made(rng.integers(-(2**40), 2**40, rows)),
        "f": made(rng.normal(size=rows)),
        "g": made(rng.normal(size=rows)),
        "mask": made(rng.random(rows) < 0.5),
        "rows": made(rng.integers(0, rows, rows)),
        "words": pa.array(["UA", "AA", "DL", "B6", "EV", "United"]).take(made(rng.integers(0, 6, rows))),
        "one": pa.array([1]),
        **_strings(rng),
    }


def _strings(rng: Any) -> dict[str, Any]:
    """A batch of twenty columns of a hundred thousand rows, and masks of it."""
    import pyarrow as pa

    n = 100_000
    words = pa.array(["UA", "AA", "DL", "B6", "EV", "United", "Southwest Airlines", ""])
    batch = pa.record_batch({f"s{k}": words.take(pa.array(rng.integers(0, 8, n))) for k in range(20)})
    return {"batch": batch, "half": pa.array(rng.random(n) < 0.5), "few": pa.array(rng.random(n) < 0.01)}


def calls(x: dict[str, Any], lib: Any, float64: Any) -> dict[str, Any]:
    """The rows of the table, for a library with Arrow's names."""
    i, j, f, g, mask, rows, words, one = (x[k] for k in ("i", "j", "f", "g", "mask", "rows", "words", "one"))
    batch, half, few = x["batch"], x["half"], x["few"]
    return {
        "add int64": lambda: lib.add(i, j),
        "add float64": lambda: lib.add(f, g),
        "less int64": lambda: lib.less(i, j),
        "less float64": lambda: lib.less(f, g),
        "sum int64": lambda: lib.sum(i),
        "sum float64": lambda: lib.sum(f),
        "min_max int64": lambda: lib.min_max(i),
        "min_max float64": lambda: lib.min_max(f),
        "filter int64": lambda: lib.filter(i, mask),
        "take int64": lambda: lib.take(i, rows),
        "if_else int64": lambda: lib.if_else(mask, i, j),
        "cast int64 to float64": lambda: lib.cast(i, float64),
        "equal string, a word": lambda: lib.equal(words, "UA"),
        "filter 20 string columns, half": lambda: lib.filter(batch, half),
        "filter 20 string columns, 1 %": lambda: lib.filter(batch, few),
        "add, one row": lambda: [lib.add(one, one) for _ in range(1000)],
        "sum, one row": lambda: [lib.sum(one) for _ in range(1000)],
    }


def _cpu(x: dict[str, Any], rounds: int) -> list[tuple[Any, ...]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    import cdevice
    import cdevice.compute as cc

    pa.set_cpu_count(1)
    here = {k: cdevice.asarray(v) for k, v in x.items() if k != "one"}
    ours, theirs = calls({**here, "one": x["one"]}, cc, "float64"), calls(x, pc, pa.float64())
    threads = cc.cpu_count()
    cc.set_cpu_count(1)
    try:
        rows = [("cpu", name, *pairs(theirs[name], ours[name], rounds), CPU[name]) for name in CPU if chosen(name)]
    finally:
        cc.set_cpu_count(threads)
    return rows + (_threads(ours, threads, rounds) if threads > 1 else [])


def _threads(ours: dict[str, Any], threads: int, rounds: int) -> list[tuple[Any, ...]]:
    """All threads beside one."""
    import cdevice.compute as cc

    def by(n: int, name: str) -> Any:
        def run() -> None:
            cc.set_cpu_count(n)
            ours[name]()

        return run

    try:
        titles = {n: f"{n}, {threads} threads by one" for n in THREADS}
        rows: list[tuple[Any, ...]] = [
            ("cpu", title, *pairs(by(1, n), by(threads, n), rounds), 1.5)
            for n, title in titles.items()
            if chosen(title)
        ]
    finally:
        cc.set_cpu_count(threads)
    title = f"a copy, {threads} threads by one"
    return [*rows, *[("floor", title, *_copies(threads, rounds), None)] * chosen(title)]


def _copies(threads: int, rounds: int) -> tuple[float, float, float]:
    """How much faster memory is with so many threads: what reads and writes as much as it computes cannot gain more."""
    import numpy as np

    source, target = np.ones(ROWS), np.zeros(ROWS)
    parts = [*zip(np.array_split(source, threads), np.array_split(target, threads))]
    with ThreadPoolExecutor(threads) as pool:
        return pairs(
            lambda: np.copyto(target, source),
            lambda: [*pool.map(lambda part: np.copyto(part[1], part[0]), parts)],
            rounds,
        )


def _opencl(x: dict[str, Any], rounds: int) -> list[tuple[Any, ...]]:
    import numpy as np

    import cdevice
    import cdevice.compute as cc

    there = {k: cdevice.asarray(v).to("opencl") for k, v in x.items()}
    i, j, mask, rows = (x[k].fill_null(0 if k != "mask" else False).to_numpy(zero_copy_only=False)
                        for k in ("i", "j", "mask", "rows"))  # fmt: skip
    vi, vj, vm, vr = (x[k].is_valid().to_numpy(zero_copy_only=False) for k in ("i", "j", "mask", "rows"))

    def compacted() -> Any:
        chosen = mask & vm
        return i[chosen], vi[chosen]

    numpy = {
        "add": lambda: (i + j, vi & vj),
        "less": lambda: (i < j, vi & vj),
        "sum": lambda: np.add.reduce(i, where=vi),
        "filter": compacted,
        "take": lambda: (i[rows], vi[rows] & vr),
    }
    a, b, m, r = there["i"], there["j"], there["mask"], there["rows"]
    ours = {
        "add": lambda: cc.add(a, b).synchronize(),
        "less": lambda: cc.less(a, b).synchronize(),
        "sum": lambda: cc.sum(a).as_py(),
        "filter": lambda: cc.filter(a, m).synchronize(),
        "take": lambda: cc.take(a, r).synchronize(),
    }
    rows = [
        ("opencl", f"{n} int64", *pairs(numpy[n], ours[n], rounds), OPENCL[n]) for n in OPENCL if chosen(f"{n} int64")
    ]
    rows += _opencl_strings(x, there, rounds)
    titles = {n: f"{n} int64, pyopencl" for n in PYOPENCL if chosen(f"{n} int64, pyopencl")}
    if not titles:
        return rows
    try:
        theirs = _pyopencl(i, j, mask & vm, r=rows_of(x["rows"]), valid=vi)
    except ImportError:
        return rows
    few = min(rounds, 3)  # theirs take long
    return rows + [("opencl", title, *pairs(theirs[n], ours[n], few), PYOPENCL[n]) for n, title in titles.items()]


def _opencl_strings(x: dict[str, Any], there: dict[str, Any], rounds: int) -> list[tuple[Any, ...]]:
    import pyarrow.compute as pc

    import cdevice.compute as cc

    def filtered(mask: str) -> tuple[Any, Any]:
        return lambda: pc.filter(x["batch"], x[mask]), lambda: cc.filter(there["batch"], there[mask]).synchronize()

    masks = {f"{n}, pyarrow": (least, mask) for (n, least), mask in zip(STRINGS.items(), ("half", "few"))}
    return [
        ("opencl", title, *pairs(*filtered(mask), rounds), least)
        for title, (least, mask) in masks.items()
        if chosen(title)
    ]


def _order(rows: int, opencl: bool) -> list[tuple[Any, ...]]:
    """sort_indices beside pyarrow's, and on OpenCL beside pyopencl's RadixSort."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    import cdevice
    import cdevice.compute as cc

    opencl_title = "sort_indices int64, pyarrow"
    radix_title = "sort_indices int64, 1,000,000 rows, pyopencl's RadixSort"
    if not any(map(chosen, (*ORDER, opencl_title, radix_title))):
        return []
    rng = np.random.default_rng(3)
    few, real = pa.array(rng.integers(0, 100, rows).astype("i4")), pa.array(rng.normal(size=rows))
    letters, offsets = rng.integers(97, 123, rows * 8, dtype="u1"), np.arange(rows + 1, dtype="i4") * 8
    words = pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(letters))
    columns = (pa.array(rng.integers(0, 2**41, rows)), real, few, words, pa.record_batch({"a": few, "b": real}))
    keys = (*[[("", "ascending")]] * 4, [("a", "ascending"), ("b", "descending")])
    found: list[tuple[Any, ...]] = []
    threads = cc.cpu_count()
    cc.set_cpu_count(1)
    try:
        for (name, least), x, by in zip(ORDER.items(), columns, keys):
            if not chosen(name):
                continue
            here = cdevice.asarray(x)
            theirs, ours = partial(pc.sort_indices, x, sort_keys=by), partial(cc.sort_indices, here, by)
            found.append(("cpu", name, *pairs(theirs, ours, 1), least))
    finally:
        cc.set_cpu_count(threads)
    if opencl and chosen(opencl_title):
        there = cdevice.asarray(columns[0]).to("opencl")
        timed = pairs(lambda: pc.sort_indices(columns[0]), lambda: cc.sort_indices(there).synchronize(), 1)
        found.append(("opencl", opencl_title, *timed, ORDER_OPENCL))
    if opencl and chosen(radix_title):
        few_rows = columns[0].slice(0, 1_000_000)
        try:
            theirs = _radix_sort(few_rows)
        except ImportError as e:
            print(f"left out: {radix_title} (no module {e.name!r}): pip install pyopencl mako")
            return found
        there = cdevice.asarray(few_rows).to("opencl")
        timed = pairs(theirs, lambda: cc.sort_indices(there).synchronize(), 3)
        found.append(("opencl", radix_title, *timed, RADIX_SORT))
    return found


def _radix_sort(column: Any) -> Any:
    """pyopencl's order of an int64 column, of 41 bits and without a sign.  Raises ImportError without mako."""
    import mako.template  # noqa: F401  RadixSort asks for it when it is called
    import numpy as np
    import pyopencl as cl
    from pyopencl import algorithm, array

    queue = cl.CommandQueue(cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())]))
    keys, rows = (array.to_device(queue, x) for x in (column.to_numpy(), np.arange(len(column), dtype="u4")))
    key = "(ulong) k[i]"
    sort = algorithm.RadixSort(
        queue.context, "long *k, uint *r", key, ["k", "r"], bits_at_a_time=4, key_dtype=np.dtype("u8")
    )

    def call() -> None:
        sort(keys, rows, key_bits=41, queue=queue)
        queue.finish()

    return call


def rows_of(indices: Any) -> Any:
    return indices.fill_null(0).to_numpy()


def _pyopencl(i: Any, j: Any, chosen: Any, r: Any, valid: Any) -> dict[str, Any]:
    """What pyopencl has for it; it knows no nulls, so sum and filter get theirs as bytes and the others none."""
    import numpy as np
    import pyopencl as cl
    from pyopencl import algorithm, array, reduction

    queue = cl.CommandQueue(cl.Context([next(d for p in cl.get_platforms() for d in p.get_devices())]))
    a, b, at, known, mask = (array.to_device(queue, v) for v in (i, j, r, valid.view("i1"), chosen.view("i1")))
    add_valid = reduction.ReductionKernel(
        queue.context, np.int64, "0", "a+b", "v[i] ? x[i] : 0", "__global const long *x, __global const char *v"
    )

    def waited(run: Any) -> Any:
        def call() -> None:
            run()
            queue.finish()

        return call

    return {
        "add": waited(lambda: a + b),
        "less": waited(lambda: a < b),
        "sum": waited(lambda: add_valid(a, known).get()),
        "filter": waited(lambda: algorithm.copy_if(a, "mask[i]", [("mask", mask)], queue=queue)),
        "take": waited(lambda: array.take(a, at, queue=queue)),
    }


def section(libs: Any, options: Any) -> dict[str, Any]:
    """Measures and prints; {"compute": rows}."""
    import cdevice

    try:
        x = columns(ROWS // 100 if options.quick else ROWS)
    except ImportError as e:
        print(f"left out: compute ({e})\n")
        return {}
    rounds = min(options.rounds, 9)
    found = _cpu(x, rounds)
    opencl = cdevice.device("opencl").is_available
    found += _opencl(x, rounds) if opencl else []
    found += _order(len(x["i"]), opencl)
    found += whole_columns.rows(len(x["i"]), opencl, pairs)
    return shown_rows("compute", len(x["i"]), found)
