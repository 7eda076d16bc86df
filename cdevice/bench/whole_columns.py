"""Functions of whole columns beside pyarrow's and polars', by two threads beside one, and on OpenCL beside the CPU with
one thread: order, sets, running totals, summaries.  Rows of the section ``compute``."""

from __future__ import annotations

from functools import partial

from .table import chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Pairs = Callable[[Any, Any, int], tuple[float, float, float]]

# the least ratio of pyarrow's time to cdevice's; None: no promise
PYARROW: dict[str, float | None] = {
    "dictionary_encode, 100,000 values": 3.0,
    "unique, 100,000 values": 3.0,
    "value_counts, 100,000 values": 3.0,
    "is_in, 1,000 values": 3.0,
    "is_in, 100,000 values": 3.0,
    "cumulative_sum": 3.0,
    "quantile": 2.0,
    "select_k_unstable, ten": 5.0,
    "select_k_unstable, ten of float64": 5.0,
    "sort_indices string, mixed lengths": 2.0,
    "rank": None,
    "mode, 100,000 values": None,
    "variance": 1.2,
    "product": None,
    "fill_null_forward": None,
    "run_end_encode, runs of ten": None,
    "pairwise_diff": None,
    "index_in, 1,000 values": None,
    "min_max decimal256": None,
    "sort_indices decimal256": None,
}
POLARS: dict[str, float] = {
    "sort_indices int64": 3.0,
    "sort_indices float64": 2.0,
    "sort_indices string, 8 bytes": 5.0,
    "sort_indices string, mixed lengths": 1.8,
    "sort_indices two keys": 8.0,
}
THREADS = ("sort_indices int64", "select_k_unstable, ten", "quantile")
OPENCL = ("cumulative_sum", "quantile", "select_k_unstable, ten", "variance", "product", "fill_null_forward")


def columns(rows: int) -> dict[str, Any]:
    """pyarrow arrays by name; without nulls but for "nulls"."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(5)
    values, lengths = rng.integers(0, 100_000, rows), rng.integers(0, 25, rows)
    letters, offsets = rng.integers(97, 123, rows * 8, dtype="u1"), np.arange(rows + 1, dtype="i4") * 8
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype("i4")
    mixed = rng.integers(97, 123, int(ends[-1]), dtype="u1")

    def text(offsets: Any, letters: Any) -> Any:
        return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(letters))

    whole = rng.integers(-(2**40), 2**40, rows)
    return {
        "int64": pa.array(whole),
        "float64": pa.array(rng.normal(size=rows)),
        "values": pa.array(values),
        "few": pa.array(rng.integers(0, 100, rows).astype("i4")),
        "nulls": pa.array(whole, mask=rng.random(rows) < 0.1),
        "words": text(offsets, letters),
        "mixed": text(ends, mixed),
        "runs": pa.array(np.repeat(rng.integers(0, 99, rows // 10 + 1), 10)[:rows]),
        "decimal256": pa.array(whole).cast(pa.decimal256(40, 0)),
        "1,000": pa.array(rng.choice(200_000, 1_000, replace=False)),
        "100,000": pa.array(rng.choice(200_000, 100_000, replace=False)),
    }


def calls(x: dict[str, Any], lib: Any) -> dict[str, Any]:
    """The rows of the table, for a library with Arrow's names."""
    top = {"k": 10, "sort_keys": [("", "descending")]}
    return {
        "dictionary_encode, 100,000 values": lambda: lib.dictionary_encode(x["values"]),
        "unique, 100,000 values": lambda: lib.unique(x["values"]),
        "value_counts, 100,000 values": lambda: lib.value_counts(x["values"]),
        "is_in, 1,000 values": lambda: lib.is_in(x["values"], value_set=x["1,000"]),
        "is_in, 100,000 values": lambda: lib.is_in(x["values"], value_set=x["100,000"]),
        "index_in, 1,000 values": lambda: lib.index_in(x["values"], value_set=x["1,000"]),
        "cumulative_sum": lambda: lib.cumulative_sum(x["int64"]),
        "quantile": lambda: lib.quantile(x["float64"], q=[0.1, 0.5, 0.9]),
        "select_k_unstable, ten": lambda: lib.select_k_unstable(x["int64"], **top),
        "select_k_unstable, ten of float64": lambda: lib.select_k_unstable(x["float64"], **top),
        "sort_indices int64": lambda: lib.array_sort_indices(x["int64"]),
        "sort_indices string, mixed lengths": lambda: lib.array_sort_indices(x["mixed"]),
        "sort_indices decimal256": lambda: lib.array_sort_indices(x["decimal256"]),
        "rank": lambda: lib.rank(x["int64"], "ascending", tiebreaker="dense"),
        "mode, 100,000 values": lambda: lib.mode(x["values"], 10),
        "variance": lambda: lib.variance(x["float64"]),
        "product": lambda: lib.product(x["int64"]),
        "fill_null_forward": lambda: lib.fill_null_forward(x["nulls"]),
        "run_end_encode, runs of ten": lambda: lib.run_end_encode(x["runs"]),
        "pairwise_diff": lambda: lib.pairwise_diff(x["int64"]),
        "min_max decimal256": lambda: lib.min_max(x["decimal256"]),
    }


def _polars(x: dict[str, Any], ours: Any, here: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """(polars' call, cdevice's) by name; empty without polars."""
    try:
        import polars as pl
    except ImportError:
        return {}
    series: dict[str, Any] = {k: pl.from_arrow(x[k]) for k in ("int64", "float64", "words", "mixed", "few")}
    frame: Any = pl.DataFrame({"a": series["few"], "b": series["float64"]})
    keys = [("a", "ascending"), ("b", "descending")]
    names = ("int64", "float64", "string, 8 bytes", "string, mixed lengths")
    made: dict[str, tuple[Any, Any]] = {
        f"sort_indices {name}": (series[key].arg_sort, partial(ours.array_sort_indices, here[key]))
        for name, key in zip(names, ("int64", "float64", "words", "mixed"))
    }
    made["sort_indices two keys"] = (
        partial(frame.select, pl.arg_sort_by("a", "b", descending=[False, True])),
        partial(ours.sort_indices, here["keys"], keys),
    )
    return made


def rows(n: int, opencl: bool, pairs: Pairs) -> list[tuple[Any, ...]]:
    """The rows of the table: (device, function, their ms, ms, ratio, target)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    import cdevice
    import cdevice.compute as cc

    x = columns(n)
    here = {k: cdevice.asarray(v) for k, v in x.items()}
    here["keys"] = cdevice.asarray(pa.record_batch({"a": x["few"], "b": x["float64"]}))
    ours, theirs = calls(here, cc), calls(x, pc)
    found: list[tuple[Any, ...]] = []
    threads = cc.cpu_count()
    cc.set_cpu_count(1)
    try:
        for name, least in PYARROW.items():
            if chosen(name):
                found.append(("cpu", name, *pairs(theirs[name], ours[name], 1), least))
        for name, (other, own) in _polars(x, cc, here).items():
            if chosen(f"{name}, polars"):
                found.append(("cpu", f"{name}, polars", *pairs(other, own, 1), POLARS[name]))
        if threads > 1:
            found += [_by_threads(name, ours[name], pairs) for name in THREADS if chosen(f"{name}, 2 threads by one")]
        if opencl:
            cc.set_cpu_count(1)
            there = calls({k: v.to("opencl") for k, v in here.items() if k != "keys"}, cc)
            found += [_on_opencl(name, ours[name], there[name], pairs) for name in OPENCL if chosen(f"{name}, cpu")]
    finally:
        cc.set_cpu_count(threads)
    return found


def _by_threads(name: str, call: Any, pairs: Pairs) -> tuple[Any, ...]:
    """Two threads beside one: 1.3 where a copy gains as much."""
    import cdevice.compute as cc

    def by(n: int) -> Any:
        cc.set_cpu_count(n)
        call()

    return "cpu", f"{name}, 2 threads by one", *pairs(partial(by, 1), partial(by, 2), 3), 1.3


def _on_opencl(name: str, cpu: Any, opencl: Any, pairs: Pairs) -> tuple[Any, ...]:
    """On OpenCL beside the CPU with one thread."""

    def waited() -> None:
        out = opencl()
        (out.array if hasattr(out, "array") else out).synchronize()

    return "opencl", f"{name}, cpu", *pairs(cpu, waited, 3), 1.0
