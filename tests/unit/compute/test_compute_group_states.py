"""States of groups, streams, functions of group ids, Grouper and colliding hashes, on every device."""

import numpy as np
import pytest
from group_states_checks import *  # noqa: F403

import cdevice
import cdevice.compute as cc

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["int64", "string", "two columns"])
def test_more_groups_than_a_table_takes_are_found_by_buckets(kind, threads):
    n = 300_000  # from 2**17 rows on, where a table of 2**14 groups was full early
    numbers = [(i % (n - 50_000)) * 7919 % (1 << 40) for i in range(n)]
    columns = {"a": pa.array(numbers, pa.int64())}
    if kind != "int64":
        columns["a"] = columns["a"].cast(pa.string())
    if kind == "two columns":  # hashed, and compared
        columns["b"] = pa.array(["a long word that is the same in all rows"] * n)
    batch = cdevice.asarray(pa.record_batch({**columns, "x": pa.array(range(n), pa.int64())}))
    before = cc.cpu_count()
    cc.set_cpu_count(threads)
    try:
        out = pa.record_batch(cc.group_by(batch, list(columns)).aggregate([("x", "min"), ("x", "max"), ("x", "count")]))
    finally:
        cc.set_cpu_count(before)
    assert out.num_rows == n - 50_000
    assert out.column("x_min").to_pylist() == list(range(n - 50_000))
    assert out.column("x_max").to_pylist() == list(range(n - 50_000, n)) + list(range(50_000, n - 50_000))
    assert out.column("x_count").to_pylist() == [2] * 50_000 + [1] * (n - 100_000)
    assert out.column("a").equals(columns["a"][: n - 50_000])


def _first_and_last(numbers):
    """The first and the last row of each group, by one thread."""
    batch = cdevice.record_batch({"a": numbers * 7919 * 104729, "x": np.arange(len(numbers))})
    before = cc.cpu_count()
    cc.set_cpu_count(1)
    try:
        out = pa.record_batch(cc.group_by(batch, "a").aggregate([("x", "min"), ("x", "max")]))
    finally:
        cc.set_cpu_count(before)
    return [out.column(name).to_numpy() for name in ("x_min", "x_max")]


def test_a_table_grows_to_its_limit_where_rows_of_a_group_lie_together():
    groups = 315_000  # more than 2**18; each time the table is full it seems to have seen most of them
    first, last = _first_and_last(np.repeat(np.arange(groups), 7))
    assert np.array_equal(first, np.arange(groups) * 7)
    assert np.array_equal(last, first + 6)


def test_groups_that_begin_late_are_found():
    n, late = 2_200_000, 1_500_000
    first, last = _first_and_last(np.concatenate([np.zeros(late, "i8"), np.arange(n - late)]))
    assert first[0] == 0 and last[0] == late
    assert np.array_equal(first[1:], np.arange(late + 1, n))
    assert np.array_equal(last[1:], first[1:])
