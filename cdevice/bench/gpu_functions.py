"""Functions of cdevice.compute on CUDA beside cupy's on the same GPU, and beside pyarrow's on all the CPU's cores where
cupy has none: ratios in one run, sides interleaved, every side waited for."""

from __future__ import annotations

from .timing import compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

Row = tuple[str, float, float, float, str, bool]


def _row(title: str, least: float, peer: Callable[[], Any], run: Callable[[], Any], rounds: int) -> Row:
    try:
        for side in (peer, run):  # compiled, and the pools are filled
            side()
            side()
        a, b = compare(peer, run, rounds)
    except Exception as e:  # of one row; the others are measured
        return f"{title}: {type(e).__name__}: {e}"[:200], 0.0, 0.0, 0.0, f"{least:g}x", False
    return title, a, b, a / b, f"{least:g}x", a / b >= least


def _waited(call: Callable[[], Any]) -> Callable[[], None]:
    def run() -> None:
        call().synchronize()

    return run


def beside_cupy(cupy: Any, rows: int, rounds: int) -> Iterator[Row]:
    import cdevice
    import cdevice.compute as cc

    def cupys(call: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            call()
            cupy.cuda.runtime.deviceSynchronize()

        return run

    random = cupy.random.default_rng(7)
    i, j = (random.integers(0, 1 << 40, rows, dtype=cupy.int64) for _ in "ij")
    f = random.random(rows)
    keys = random.integers(0, 100_000, rows, dtype=cupy.int64)
    few = i[: rows // 8].copy()
    mask, places = f < 0.5, cupy.random.permutation(rows // 8)
    x, y, z, k, short, at = (cdevice.asarray(v) for v in (i, j, f, keys, few, places))
    bits = cc.less(z, 0.5)
    million = f"{rows >> 20} Mi rows"
    yield _row(f"add int64, {million}", 0.9, cupys(lambda: i + j), _waited(lambda: cc.add(x, y)), rounds)
    yield _row(f"less float64, {million}", 0.9, cupys(lambda: f < 0.5), _waited(lambda: cc.less(z, 0.5)), rounds)
    yield _row(f"sum int64, {million}", 0.9, cupys(lambda: int(i.sum())), lambda: cc.sum(x).as_py(), rounds)
    yield _row(f"sum float64, {million}", 0.5, cupys(lambda: float(f.sum())), lambda: cc.sum(z).as_py(), rounds)
    yield _row(f"filter int64, {million}", 0.9, cupys(lambda: i[mask]), _waited(lambda: cc.filter(x, bits)), rounds)
    eighth = f"{rows >> 23} Mi rows"
    yield _row(f"take int64, {eighth}", 0.9, cupys(lambda: few[places]), _waited(lambda: cc.take(short, at)), rounds)
    yield _row(
        f"cumulative_sum int64, {million}",
        0.9,
        cupys(lambda: i.cumsum()),
        _waited(lambda: cc.cumulative_sum(x)),
        rounds,
    )
    yield _row(
        f"sort_indices int64, {eighth}",
        0.9,
        cupys(lambda: few.argsort()),
        _waited(lambda: cc.sort_indices(short)),
        rounds,
    )
    batch = cdevice.record_batch({"k": k, "z": z})
    yield _row(
        f"sum of 100,000 groups, {million}, cupy.bincount",
        0.5,
        cupys(lambda: cupy.bincount(keys, f, 100_000)),
        _waited(lambda: cc.group_by(batch, "k").aggregate([("z", "sum")])),
        rounds,
    )
    fused = (cc.field("z") * 2.0 + 1.0) * cc.field("z")
    yield _row(
        f"z * (2 z + 1) as an expression, {million}",
        2,
        cupys(lambda: f * (f * 2.0 + 1.0)),
        _waited(lambda: fused.evaluate(batch)),
        rounds,
    )


def beside_pyarrow(rows: int, rounds: int) -> Iterator[Row]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    import cdevice
    import cdevice.compute as cc

    rng = np.random.default_rng(7)
    numbers = pa.array(rng.integers(0, 1 << 40, rows))
    words = pc.cast(numbers, pa.string())
    keys = pa.array(rng.integers(0, rows // 10, rows))
    table = pa.record_batch({"k": keys, "v": numbers})
    side = pa.record_batch({"k": pa.array(np.arange(rows // 10)), "w": pa.array(np.arange(rows // 10))})
    there, text, batch, small = (cdevice.asarray(v).to("cuda") for v in (numbers, words, table, side))
    many = f"{rows:,} rows"

    def against(title: str, least: float, peer: Callable[[], Any], call: Callable[[], Any]) -> Row:
        return _row(f"{title}, {many}, pyarrow on the CPU", least, peer, _waited(call), rounds)

    yield against("sort_indices int64", 10, lambda: pc.sort_indices(numbers), lambda: cc.sort_indices(there))
    yield against("utf8_upper", 10, lambda: pc.utf8_upper(words), lambda: cc.utf8_upper(text))
    yield against(
        "match_substring", 10, lambda: pc.match_substring(words, "123"), lambda: cc.match_substring(text, "123")
    )
    pattern = "[13]+2|7$"
    yield against(
        "match_substring_regex",
        10,
        lambda: pc.match_substring_regex(words, pattern),
        lambda: cc.match_substring_regex(text, pattern),
    )
    yield against("sort_indices string", 5, lambda: pc.sort_indices(words), lambda: cc.sort_indices(text))
    yield against("cast int64 to string", 5, lambda: pc.cast(numbers, pa.string()), lambda: cc.cast(there, "string"))
    tables = pa.table(table), pa.table(side)
    yield against(
        f"sum of {rows // 10:,} groups",
        5,
        lambda: tables[0].group_by("k").aggregate([("v", "sum")]),
        lambda: cc.group_by(batch, "k").aggregate([("v", "sum")]),
    )
    yield against(
        f"join with {rows // 10:,} rows",
        5,
        lambda: tables[0].join(tables[1], "k"),
        lambda: cc.join(batch, small, "k"),
    )


def rows(cupy: Any, rounds: int, stand_in: bool) -> list[Row]:
    found: list[Row] = []
    if cupy is not None and not stand_in:
        found += beside_cupy(cupy, 1 << 27, rounds)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return found
    return found + [*beside_pyarrow(1000 if stand_in else 10_000_000, rounds)]
