"""db-benchmark's questions (h2o.ai, DuckDB Labs) asked of several libraries, in a process with a number of threads.

Its data by its rules: of N rows and K = 100, ``id1 id2`` are K strings, ``id3`` N / K strings, ``id4 id5`` K numbers,
``id6`` N / K numbers; ``v1`` up to 5, ``v2`` up to 15, ``v3`` a float up to 100 with six digits.  Nine tenths of the
left rows of a join have a match.  Every answer is compared with pyarrow's, or that of the first library that has one:
floats within 1e-9.  Streams are the same rows in ten thousand batches, beside one array of them.
"""

from __future__ import annotations

import statistics

from .table import wanted as is_wanted
from .timing import _once, quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

K = 100
NEAR = 1e-9
SORTED = 20_000  # answers of more rows are compared by sums: of their columns, and of these times the first one
LONG_MS = 3000.0  # a library that takes so long is measured once
RIGHTS = {"10": 10, "10,000": 10_000, "all": None}
BATCHES = 10_000
# beside pyarrow alone: int keys, 10,000 right rows
OTHER_KINDS = ("right outer", "full outer", "left semi", "right semi", "left anti", "right anti")
STREAMS = ("q1", "q2", "q4", "q5")

# question: (keys, [(column, function)])
GROUPS: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "q1 sum v1 by id1": (["id1"], [("v1", "sum")]),
    "q2 sum v1 by id1, id2": (["id1", "id2"], [("v1", "sum")]),
    "q3 sum v1, mean v3 by id3": (["id3"], [("v1", "sum"), ("v3", "mean")]),
    "q4 mean v1, v2, v3 by id4": (["id4"], [("v1", "mean"), ("v2", "mean"), ("v3", "mean")]),
    "q5 sum v1, v2, v3 by id6": (["id6"], [("v1", "sum"), ("v2", "sum"), ("v3", "sum")]),
    "q7 max v1 - min v2 by id3": (["id3"], [("v1", "max"), ("v2", "min")]),
    "q10 sum v3, count by id1 ... id6": ([f"id{k}" for k in range(1, 7)], [("v3", "sum"), ("v3", "count")]),
}
# pyarrow's groups have no exact median, no greatest values and no correlation: answers are compared with those of the
# first library that has them
STATISTICS: dict[str, list[str]] = {
    "q6 median v3, sd v3 by id4, id5": ["id4", "id5"],
    "q8 two greatest v3 by id6": ["id6"],
    "q9 corr(v1, v2) ^ 2 by id2, id4": ["id2", "id4"],
}


def group_table(rows: int) -> Any:
    """pyarrow's table for the questions of groups."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(108)
    few, many = K, max(rows // K, 1)

    def strings(n: int, digits: int) -> Any:
        names = pa.array([f"id{k:0{digits}d}" for k in range(1, n + 1)])
        return names.take(pa.array(rng.integers(0, n, rows)))

    def numbers(n: int) -> Any:
        return pa.array(rng.integers(1, n + 1, rows, dtype="i4"))

    columns = {"id1": strings(few, 3), "id2": strings(few, 3), "id3": strings(many, 10)}
    columns |= {"id4": numbers(few), "id5": numbers(few), "id6": numbers(many)}
    columns |= {"v1": numbers(5), "v2": numbers(15), "v3": pa.array(np.round(rng.uniform(0, 100, rows), 6))}
    return pa.table(columns)


def join_tables(rows: int, right_rows: int, text: bool, repeated: bool) -> tuple[Any, Any]:
    """(left, right) with the column ``k``, and ``v1`` and ``v2``; ``repeated``: each right key is there twice."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    rng = np.random.default_rng(9)
    distinct = max(right_rows // 2, 1) if repeated else right_rows
    right = rng.permutation(np.resize(np.arange(1, distinct + 1, dtype="i4"), right_rows))
    left = rng.integers(1, distinct + distinct // 9 + 2, rows, dtype="i4")

    def keys(x: Any) -> Any:
        column = pa.array(x)
        return pc.binary_join_element_wise("id", column.cast("string"), "") if text else column

    def values(n: int) -> Any:
        return pa.array(np.round(rng.uniform(0, 100, n), 6))

    return pa.table({"k": keys(left), "v1": values(rows)}), pa.table({"k": keys(right), "v2": values(right_rows)})


class PyArrow:
    """The judge.  Methods that return a callable are called outside the timed part."""

    def load(self, threads: int) -> None:
        import pyarrow as pa

        pa.set_cpu_count(threads)

    def taken(self, table: Any) -> Any:
        """A table as the library has it."""
        return table

    def grouped(self, data: Any, keys: list[str], wanted: list[tuple[str, str]], difference: bool) -> Any:
        """``difference``: of the first result and the second, which come back beside the groups."""
        import pyarrow.compute as pc

        out = data.group_by(keys).aggregate(wanted)
        if difference:
            pc.subtract(*(out[f"{c}_{f}"] for c, f in wanted))
        return out

    def statistics(self, data: Any, keys: list[str]) -> Any:
        """The answer to q6, q8 or q9; NotImplementedError: it has none."""
        raise NotImplementedError

    def joined(self, left: Any, right: Any, how: str) -> Any:
        return left.join(right, "k", join_type=how)

    def answer(self, result: Any) -> Any:
        """A result as pyarrow's table."""
        return result


class Polars(PyArrow):
    def load(self, threads: int) -> None:
        import polars  # the caller has set POLARS_MAX_THREADS

        self.pl = polars

    def taken(self, table: Any) -> Any:
        return self.pl.from_arrow(table)

    def grouped(self, data: Any, keys: list[str], wanted: list[tuple[str, str]], difference: bool) -> Any:
        col = self.pl.col
        lazy = data.lazy().group_by(keys).agg([getattr(col(c), f)().alias(f"{c}_{f}") for c, f in wanted])
        if difference:
            first, second = (col(f"{c}_{f}") for c, f in wanted)
            lazy = lazy.with_columns((first - second).alias("difference"))
        return lazy.collect()

    def statistics(self, data: Any, keys: list[str]) -> Any:
        v3 = self.pl.col("v3")
        asked = [v3.median().alias("median"), v3.std().alias("sd")]
        if keys == ["id6"]:
            greatest = v3.drop_nulls().top_k(2).alias("greatest")
            return data.lazy().group_by(keys).agg(greatest).explode("greatest").collect()
        if "id2" in keys:
            asked = [(self.pl.corr("v1", "v2") ** 2).alias("r2")]
        return data.lazy().group_by(keys).agg(asked).collect()

    def joined(self, left: Any, right: Any, how: str) -> Any:
        return left.lazy().join(right.lazy(), on="k", how=how.split()[0]).collect()

    def answer(self, result: Any) -> Any:
        return result.to_arrow()


class DuckDB(PyArrow):
    def load(self, threads: int) -> None:
        import duckdb

        self.db = duckdb.connect()
        self.db.execute(f"SET threads = {threads}")
        self.n = 0

    def taken(self, table: Any) -> str:
        """The name of a table of its own."""
        self.n += 1
        self.db.register("given", table)
        self.db.execute(f"CREATE TABLE t{self.n} AS SELECT * FROM given")
        self.db.unregister("given")
        return f"t{self.n}"

    def _made(self, query: str) -> Any:
        self.db.execute(f"CREATE OR REPLACE TABLE answer AS {query}")  # as db-benchmark does it
        return "answer"

    def grouped(self, data: str, keys: list[str], wanted: list[tuple[str, str]], difference: bool) -> Any:
        values = [f"{'avg' if f == 'mean' else f}({c}) AS {c}_{f}" for c, f in wanted]
        if difference:
            values.append("max({}) - min({}) AS difference".format(*(c for c, _ in wanted)))
        by = ", ".join(keys)
        return self._made(f"SELECT {by}, {', '.join(values)} FROM {data} GROUP BY {by}")

    def statistics(self, data: str, keys: list[str]) -> Any:
        asked = "corr(v1, v2) ^ 2 AS r2" if "id2" in keys else "median(v3) AS median, stddev_samp(v3) AS sd"
        if keys == ["id6"]:
            asked = "unnest(max(v3, 2)) AS greatest"
        by = ", ".join(keys)
        return self._made(f"SELECT {by}, {asked} FROM {data} GROUP BY {by}")

    def joined(self, left: str, right: str, how: str) -> Any:
        return self._made(f"SELECT * FROM {left} {how.split()[0].upper()} JOIN {right} USING (k)")

    def answer(self, result: str) -> Any:
        import pyarrow as pa

        return pa.table(self.db.sql(f"SELECT * FROM {result}"))


class CDevice(PyArrow):
    def __init__(self, device: str) -> None:
        self.device = device

    def load(self, threads: int) -> None:
        import cdevice.compute as cc

        cc.set_cpu_count(threads)
        self.cc = cc

    def taken(self, table: Any) -> Any:
        import cdevice

        there = cdevice.asarray(table.combine_chunks().to_batches()[0]).to(self.device)
        there.synchronize()
        return there

    def grouped(self, data: Any, keys: list[str], wanted: list[tuple[str, str]], difference: bool) -> Any:
        out = self.cc.group_by(data, keys).aggregate(wanted)
        if difference:
            self.cc.subtract(*(out[f"{c}_{f}"] for c, f in wanted)).synchronize()
        out.synchronize()
        return out

    def statistics(self, data: Any, keys: list[str]) -> Any:
        if keys == ["id6"]:
            return self._greatest(data)
        if "id2" in keys:
            return self._correlation(data, keys)
        wanted = {"median": ("v3", "quantile"), "sd": ("v3", "stddev", {"ddof": 1})}
        out = self.cc.group_by(data, keys).aggregate(wanted)
        out.synchronize()
        return out

    def _greatest(self, data: Any) -> Any:
        """Sorted by group and value, a row is one of the first two where the one two before is of another group."""
        import cdevice

        cc = self.cc
        known = cdevice.record_batch({name: data[name] for name in ("id6", "v3")})
        if known["v3"].null_count:
            known = cc.filter(known, cc.is_valid(known["v3"]))
        order = cc.sort_indices(known, sort_keys=[("id6", "ascending"), ("v3", "descending")])
        groups = cc.take(known["id6"], order)
        chosen = cc.filter(order[2:], cc.not_equal(groups[2:], groups[:-2]))
        out = cc.take(known, cdevice.concat([order[:2], chosen]))
        out = cdevice.record_batch({"id6": out["id6"], "greatest": out["v3"]})
        out.synchronize()
        return out

    def _correlation(self, data: Any, keys: list[str]) -> Any:
        """By the sums of products, which are whole numbers."""
        import cdevice

        cc = self.cc
        x, y = data["v1"], data["v2"]
        columns = {"x": x, "y": y, "xy": cc.multiply(x, y), "xx": cc.multiply(x, x), "yy": cc.multiply(y, y)}
        batch = cdevice.record_batch({k: data[k] for k in keys} | columns)
        out = cc.group_by(batch, keys).aggregate([*((name, "sum") for name in columns), ([], "count_all")])
        x, y, xy, xx, yy = (out[f"{name}_sum"] for name in columns)
        n = out["count_all"]

        def spread(products: Any, one: Any, other: Any) -> Any:
            return cc.cast(cc.subtract(cc.multiply(n, products), cc.multiply(one, other)), "g")

        both = spread(xy, x, y)
        r2 = cc.divide(cc.multiply(both, both), cc.multiply(spread(xx, x, x), spread(yy, y, y)))
        out = cdevice.record_batch({k: out[k] for k in keys} | {"r2": r2})
        out.synchronize()
        return out

    def joined(self, left: Any, right: Any, how: str) -> Any:
        out = self.cc.join(left, right, "k", join_type=how)
        out.synchronize()
        return out

    def answer(self, result: Any) -> Any:
        import pyarrow as pa

        return pa.table(pa.record_batch(result.to("cpu")))


def libraries(threads: int, opencl: bool) -> tuple[dict[str, PyArrow], list[str]]:
    """(those that are installed, the names of others)"""
    found: dict[str, PyArrow] = {}
    missing = []
    every = {"pyarrow": PyArrow(), "polars": Polars(), "duckdb": DuckDB(), "cpu": CDevice("cpu")}
    if opencl:
        every["opencl"] = CDevice("opencl")
    for name, library in every.items():
        try:
            library.load(threads)
            found[name] = library
        except ImportError:
            missing.append(name)
    return found, missing


def _as_numbers(column: Any) -> Any:
    """Numbers that tell rows of a column from each other: those of strings like "id12" are in them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_primitive(column.type) or pa.types.is_decimal(column.type):
        return pc.cast(column, "float64")
    try:
        return pc.cast(pc.utf8_slice_codeunits(pc.cast(column, "string"), 2), "float64")
    except pa.ArrowInvalid:
        return pc.cast(pc.binary_length(column), "float64")


def _sums(columns: list[Any]) -> Any:
    """Of each column, and of each times the first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    every = [pc.sum(x) for x in columns] + [pc.sum(pc.multiply(columns[0], x)) for x in columns[1:]]
    return pa.array([x.as_py() for x in every], "float64")


def _sorted(table: Any) -> Any:
    return table.sort_by([(name, "ascending") for name in table.column_names])


def difference(found: Any, wanted: Any) -> str | None:
    """Where two answers differ, the order of rows and columns aside; None: nowhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def same(one: Any, two: Any) -> bool:
        if pa.types.is_floating(one.type):
            scale = pc.max_element_wise(pc.abs(two), 1.0)
            one, two = pc.less_equal(pc.abs(pc.subtract(one, two)), pc.multiply(scale, NEAR)), True
        return not pc.any(pc.invert(pc.equal(one, two))).as_py()

    names = wanted.column_names
    if found.num_rows != wanted.num_rows:
        return f"{found.num_rows:,} rows, not {wanted.num_rows:,}"
    for name in names:
        nulls = [t[name].null_count for t in (found, wanted)]
        if nulls[0] != nulls[1]:
            return f"{name}: {nulls[0]:,} nulls, not {nulls[1]:,}"
    if wanted.num_rows > SORTED:
        one, two = (_sums([_as_numbers(t[name]) for name in names]) for t in (found, wanted))
        for k, name in enumerate([*names, *names[1:]]):
            if not same(one[k : k + 1], two[k : k + 1]):
                return f"{name}: other values"
        return None
    sides = []
    for t in (found, wanted):
        columns = [wanted[name].type for name in names]
        types = ["float64" if pa.types.is_primitive(c) or pa.types.is_decimal(c) else "string" for c in columns]
        sides.append(_sorted(pa.table({name: t[name].cast(to) for name, to in zip(names, types)})))
    return next((f"{name}: other values" for name in names if not same(*(s[name] for s in sides))), None)


def asked(found: dict[str, Any], calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, Any]:
    """Milliseconds by library of calls that take turns, medians, and answers that differ.  A library that takes long is
    measured once; a device of OpenCL's, whose first call compiles, once more."""
    times: dict[str, list[float]] = {}
    wrong = {}
    want = None
    for name, call in calls.items():
        kept: list[Any] = []
        with quiet():
            took = _once(lambda call=call, kept=kept: kept.append(call())) * 1e3
            if took > LONG_MS and name == "opencl":
                took = _once(call) * 1e3
        times[name] = [took] if took > LONG_MS else []
        answer = found[name].answer(kept.pop())
        if want is None:
            want = answer
        else:
            what = difference(answer, want)
            if what is not None:
                wrong[name] = what
        del answer
    short = [name for name in calls if not times[name]]
    with quiet():
        for _ in range(rounds):
            for name in short:
                times[name].append(_once(calls[name]) * 1e3)
    return {"ms": {name: statistics.median(t) for name, t in times.items()}, "wrong": wrong}


def _bound(method: Any, *arguments: Any) -> Callable[[], Any]:
    return lambda: method(*arguments)


class _Asking:
    """The libraries, and which questions are asked of them."""

    def __init__(self, rows: int, rounds: int, found: dict[str, PyArrow], questions: str | None) -> None:
        self.rows, self.rounds, self.found, self.questions = rows, rounds, found, questions

    def wants(self, title: str) -> bool:
        return is_wanted(title, self.questions)

    def groups(self) -> Iterator[tuple[str, dict[str, Any]]]:
        known = [t for t in GROUPS if self.wants(t)]
        # groups of so few rows have no correlation
        others = [t for t in STATISTICS if self.wants(t) and not ("corr" in t and self.rows < 20 * K * K)]
        if not known and not others:
            return
        table = group_table(self.rows)
        data = {name: library.taken(table) for name, library in self.found.items()}
        for title in known:
            keys, wanted = GROUPS[title]
            calls = {n: _bound(lib.grouped, data[n], keys, wanted, " - " in title) for n, lib in self.found.items()}
            yield title, asked(self.found, calls, self.rounds)
        for title in others:
            calls = {
                n: _bound(lib.statistics, data[n], STATISTICS[title]) for n, lib in self.found.items() if n != "pyarrow"
            }
            yield title, asked(self.found, calls, self.rounds)

    def streams(self) -> Iterator[tuple[str, dict[str, Any]]]:
        titles = {f"stream, {t}": t for t in GROUPS if t.split()[0] in STREAMS and self.wants(f"stream, {t}")}
        if not titles:
            return
        library = self.found["cpu"]
        table = group_table(self.rows)
        for title, question in titles.items():
            keys, wanted = GROUPS[question]
            columns = list(dict.fromkeys([*keys, *(c for c, _ in wanted)]))
            whole = library.taken(table.select(columns))
            step = max(self.rows // BATCHES, 1)
            batches = [whole[k : k + step] for k in range(0, self.rows, step)]
            calls = {
                "array": _bound(library.grouped, whole, keys, wanted, False),
                "stream": _bound(_grouped_stream, library, batches, keys, wanted),
            }
            yield title, asked(dict.fromkeys(calls, library), calls, max(self.rounds, 5))

    def joins(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for size, text, repeated in _join_sizes():
            key = f"{'string' if text else 'int'} key, {size}{', each twice' if repeated else ''}"
            hows = ["inner", "left outer"]
            if size == "10,000" and not text and not repeated:
                hows += OTHER_KINDS
            titles = {f"{how if how in OTHER_KINDS else how.split()[0]}, {key}": how for how in hows}
            titles = {t: how for t, how in titles.items() if self.wants(t)}
            if not titles:
                continue
            count = RIGHTS[size]
            sides = join_tables(self.rows, self.rows if count is None else min(count, self.rows), text, repeated)
            given = {name: [library.taken(side) for side in sides] for name, library in self.found.items()}
            for title, how in titles.items():
                some = [n for n in self.found if how not in OTHER_KINDS or n in ("pyarrow", "cpu", "opencl")]
                calls = {n: _bound(self.found[n].joined, *given[n], how) for n in some}
                yield title, asked(self.found, calls, self.rounds)


def _join_sizes() -> Iterator[tuple[str, bool, bool]]:
    """(right rows, are keys strings, is each right key there twice)"""
    for size in RIGHTS:
        for text in (False, True):
            yield size, text, False
            if size == "10,000" and not text:
                yield size, text, True


def _grouped_stream(library: Any, batches: list[Any], keys: list[str], wanted: list[tuple[str, str]]) -> Any:
    import cdevice

    return library.grouped(cdevice.asstream(batches), keys, wanted, False)


def ask(rows: int, threads: int, rounds: int, opencl: bool, questions: str | None = None) -> Iterator[dict[str, Any]]:
    """Questions of every library, each as soon as it is answered: {"kind": "groups", "joins" or "streams", "title",
    "ms", "wrong"}; first {"missing": names of libraries}."""
    found, missing = libraries(threads, opencl)
    yield {"missing": missing}
    asking = _Asking(rows, rounds, found, questions)
    for kind in ("groups", "streams", "joins"):
        for title, of in getattr(asking, kind)():
            yield {"kind": kind, "title": title, **of}
