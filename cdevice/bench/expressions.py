"""Expressions beside pyarrow, polars and duckdb: one kernel, sums of chosen rows, TPC-H's questions 1 and 6.

For ``python -m cdevice bench``.  The table is made by the rules of TPC-H's specification for lineitem (4.2.3) as far as
the questions read it.  Two threads; answers are compared with each other, floats within 1e-9.
"""

from __future__ import annotations

import datetime
import math
import time

from .table import named, table, verdict
from .timing import quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Calls = dict[str, Callable[[], Any]]

ROWS, THREADS = 10_000_000, 2
_FIRST, _LAST = datetime.date(1994, 1, 1), datetime.date(1995, 1, 1)
_BEFORE = datetime.date(1998, 9, 2)
# least ratio: of the better of the engines' times, of pyarrow's functions; None: no promise
TARGETS: dict[str, tuple[float | None, float | None]] = {
    "a * 2 > b": (None, 1.8),
    "sum(a * b where c > d)": (None, None),
    "TPC-H Q6": (1.0, 2.0),
    "TPC-H Q1": (1.5, 2.0),
}
FLOOR = 1.3  # sum(a * b where c > d) by the time in which the columns are read
OVERHEAD_US = 5.0  # of a known expression of one function above that function


def lineitem(rows: int) -> Any:
    """The columns of lineitem that the questions read, as pyarrow's batch."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(42)
    quantity = rng.integers(1, 51, rows).astype("f8")
    part = rng.integers(1, 200_001, rows)
    retail = (90_000 + (part // 10) % 20_001 + 100 * (part % 1000)) / 100
    first = (datetime.date(1992, 1, 1) - datetime.date(1970, 1, 1)).days
    ordered = first + rng.integers(0, 2405, rows)
    shipped = ordered + rng.integers(1, 122, rows)
    received = shipped + rng.integers(1, 31, rows)
    today = (datetime.date(1995, 6, 17) - datetime.date(1970, 1, 1)).days
    flags = np.where(received <= today, np.where(rng.random(rows) < 0.5, 0, 1), 2)
    return pa.record_batch(
        {
            "quantity": quantity,
            "price": quantity * retail,
            "discount": rng.integers(0, 11, rows) / 100,
            "tax": rng.integers(0, 9, rows) / 100,
            "shipped": pa.array(shipped.astype("i4")).cast(pa.date32()),
            "flag": pa.array(["R", "A", "N"]).take(pa.array(flags)),
            "status": pa.array(["F", "O"]).take(pa.array((shipped > today).astype("i4"))),
        }
    )


def _ours(batch: Any) -> Calls:
    import cdevice.compute as cc

    f = cc.field
    net = f("price") * (1 - f("discount"))
    q6 = (f("shipped") >= _FIRST) & (f("shipped") < _LAST) & (f("discount") >= 0.05) & (f("discount") <= 0.07)
    first = {
        "a": ("quantity", "sum"),
        "b": ("price", "sum"),
        "c": (net, "sum"),
        "d": (net * (1 + f("tax")), "sum"),
        "e": ("quantity", "mean"),
        "f": ("price", "mean"),
        "g": ("discount", "mean"),
        "n": ([], "count_all"),
    }
    return {
        "a * 2 > b": lambda: (f("quantity") * 2 > f("tax")).evaluate(batch).synchronize(),
        "sum(a * b where c > d)": lambda: _one(
            cc.aggregate(batch, {"r": (f("price") * f("discount"), "sum")}, where=f("quantity") > f("tax"))
        ),
        "TPC-H Q6": lambda: _one(
            cc.aggregate(batch, {"r": (f("price") * f("discount"), "sum")}, where=q6 & (f("quantity") < 24))
        ),
        "TPC-H Q1": lambda: _rows(
            cc.group_by(batch, ["flag", "status"], where=f("shipped") <= _BEFORE).aggregate(first).to("cpu").to_pylist()
        ),
    }


def _one(batch: Any) -> Any:
    return batch.to("cpu").to_pylist()[0]["r"]


def _rows(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(tuple(r.values()) for r in rows)


def _pyarrow(batch: Any) -> Calls:
    import pyarrow as pa
    import pyarrow.compute as pc

    price, discount, quantity, tax = (batch[n] for n in ("price", "discount", "quantity", "tax"))

    def q6() -> Any:
        d = batch["shipped"]
        mask = pc.and_(pc.greater_equal(d, _FIRST), pc.less(d, _LAST))
        mask = pc.and_(mask, pc.and_(pc.greater_equal(discount, 0.05), pc.less_equal(discount, 0.07)))
        kept = batch.filter(pc.and_(mask, pc.less(quantity, 24.0)))
        return pc.sum(pc.multiply(kept["price"], kept["discount"])).as_py()

    def q1() -> Any:
        kept = pa.Table.from_batches([batch.filter(pc.less_equal(batch["shipped"], _BEFORE))])
        net = pc.multiply(kept["price"], pc.subtract(1.0, kept["discount"]))
        kept = kept.append_column("net", net).append_column("charge", pc.multiply(net, pc.add(1.0, kept["tax"])))
        sums = [("quantity", "sum"), ("price", "sum"), ("net", "sum"), ("charge", "sum")]
        means = [("quantity", "mean"), ("price", "mean"), ("discount", "mean"), ([], "count_all")]
        return _rows(kept.group_by(["flag", "status"]).aggregate([*sums, *means]).to_pylist())

    def chosen() -> Any:
        kept = batch.filter(pc.greater(quantity, tax))
        return pc.sum(pc.multiply(kept["price"], kept["discount"])).as_py()

    return {
        "a * 2 > b": lambda: pc.greater(pc.multiply(quantity, 2.0), tax),
        "sum(a * b where c > d)": chosen,
        "TPC-H Q6": q6,
        "TPC-H Q1": q1,
    }


def _duckdb(batch: Any) -> Calls:
    import duckdb
    import pyarrow as pa

    db = duckdb.connect()
    db.execute(f"SET threads = {THREADS}")
    db.register("given", pa.Table.from_batches([batch]))
    db.execute("CREATE TABLE t AS SELECT * FROM given")
    q6 = f"""SELECT sum(price * discount) FROM t WHERE shipped >= DATE '{_FIRST}' AND shipped < DATE '{_LAST}'
        AND discount >= 0.05::DOUBLE AND discount <= 0.07::DOUBLE AND quantity < 24"""
    q1 = f"""SELECT flag, status, sum(quantity), sum(price), sum(price * (1 - discount)),
        sum(price * (1 - discount) * (1 + tax)), avg(quantity), avg(price), avg(discount), count(*)
        FROM t WHERE shipped <= DATE '{_BEFORE}' GROUP BY flag, status"""
    return {"TPC-H Q6": lambda: db.execute(q6).fetchone()[0], "TPC-H Q1": lambda: sorted(db.execute(q1).fetchall())}


def _polars(batch: Any) -> Calls:
    import polars as pl
    import pyarrow as pa

    data: Any = pl.from_arrow(pa.Table.from_batches([batch]))
    c = pl.col
    net = c("price") * (1 - c("discount"))
    q6 = (c("shipped") >= _FIRST) & (c("shipped") < _LAST) & (c("discount") >= 0.05) & (c("discount") <= 0.07)
    asked = [c("quantity").sum().alias("a"), c("price").sum().alias("b"), net.sum().alias("c")]
    asked += [(net * (1 + c("tax"))).sum().alias("d"), c("quantity").mean().alias("e"), c("price").mean().alias("f")]
    asked += [c("discount").mean().alias("g"), pl.len().alias("n")]
    chosen = q6 & (c("quantity") < 24)
    return {
        "TPC-H Q6": lambda: data.lazy().filter(chosen).select(c("price") * c("discount")).sum().collect().item(),
        "TPC-H Q1": lambda: sorted(
            data.lazy().filter(c("shipped") <= _BEFORE).group_by("flag", "status").agg(asked).collect().rows()
        ),
    }  # fmt: skip


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    return math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) else bool(a == b)


def _times(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least ms of each, one round after the other."""
    best = dict.fromkeys(calls, math.inf)
    with quiet():
        for _ in range(rounds):
            for name, call in calls.items():
                begin = time.perf_counter()
                call()
                best[name] = min(best[name], (time.perf_counter() - begin) * 1e3)
    return best


def _floor(batch: Any) -> Callable[[], Any]:
    """The columns of the sum, each read once by cdevice's own sum."""
    import cdevice.compute as cc

    columns = [batch.field(n) for n in ("price", "discount", "quantity", "tax")]
    return lambda: [cc.sum(x).as_py() for x in columns]


def _overhead() -> float:
    """us of a known expression of one function above that function, on a few rows."""
    import cdevice
    import cdevice.compute as cc

    batch = cdevice.record_batch({"a": [1.0, 2.0], "b": [2.0, 1.0]})
    expression, a, b = cc.field("a") > cc.field("b"), batch.field("a"), batch.field("b")
    n = 3000
    found = _times(
        {
            "function": lambda: [cc.greater(a, b) for _ in range(n)],
            "expression": lambda: [expression.evaluate(batch) for _ in range(n)],
        },
        7,
    )
    return (found["expression"] - found["function"]) * 1e3 / n


def section(libs: Any, options: Any) -> Any:
    """Measures, prints the table, and returns its rows."""
    import pyarrow as pa

    import cdevice
    import cdevice.compute as cc

    rows = options.rows or (200_000 if options.quick else ROWS)
    data = lineitem(rows)
    devices = [d for d in ("cpu", "opencl") if d == "cpu" or cdevice.device("opencl").is_available]
    threads, theirs = cc.cpu_count(), pa.cpu_count()
    cc.set_cpu_count(THREADS)
    pa.set_cpu_count(THREADS)
    peers: dict[str, Calls] = {"pyarrow": _pyarrow(data)}
    for name, make in (("polars", _polars), ("duckdb", _duckdb)):
        try:
            peers[name] = make(data)
        except ImportError:
            continue
    found: list[tuple[Any, ...]] = []
    printed = []
    try:
        for device in devices:
            batch = cdevice.asarray(data).to(device)
            ours = _ours(batch)
            for name, (best_target, pyarrow_target) in TARGETS.items():
                calls = {"cdevice": ours[name], **{p: c[name] for p, c in peers.items() if name in c}}
                if name.startswith("sum"):
                    calls["floor"] = _floor(batch)
                answers = {p: call() for p, call in calls.items() if p != "floor" and "> b" not in name}
                for _ in range(3):  # as often as makes the kernel
                    ours[name]()
                differ = [p for p, x in answers.items() if not _same(x, answers["cdevice"])]
                if differ:
                    raise AssertionError(f"{name}: {differ[0]} has {answers[differ[0]]}, cdevice {answers['cdevice']}")
                ms = _times(calls, 3 if options.quick else 5)
                engines = [v for p, v in ms.items() if p in ("polars", "duckdb")]
                best = min(engines) / ms["cdevice"] if engines else None
                beside = ms["pyarrow"] / ms["cdevice"]
                ok = all(r is None or t is None or r >= t for r, t in ((best, best_target), (beside, pyarrow_target)))
                floor = ms["cdevice"] / ms["floor"] if "floor" in ms else None
                ok = ok and (floor is None or floor <= FLOOR)
                aims = [f"{t:g} x" for t in (best_target, pyarrow_target) if t] + [f"{FLOOR:g} x floor"] * (
                    floor is not None
                )
                known = [
                    f"{ms[p]:,.1f}" if p in ms else "" for p in ("cdevice", "pyarrow", "polars", "duckdb", "floor")
                ]
                ratios = ["" if best is None else f"{best:.2f}", f"{beside:.2f}"]
                printed.append([device, name, *known, *ratios, ", ".join(aims), verdict(ok)])
                found.append((device, name, ms, best, beside, floor))
    finally:
        cc.set_cpu_count(threads)
        pa.set_cpu_count(theirs)
    head = ["device", f"{rows:,} rows, ms", "cdevice", "pyarrow", "polars", "duckdb", "floor"]
    table([*head, "x best engine", "x pyarrow", "target", ""], printed)
    us = _overhead()
    print(f"\na known expression of one function above that function: {us:.1f} us (bound {OVERHEAD_US:g})\n")
    keys = "device", "question", "ms", "of_best_engine", "of_pyarrow", "of_floor"
    return {"expressions": named(found, *keys), "expressions, overhead us": us}
