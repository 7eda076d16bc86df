"""States of groups, streams, functions of group ids, Grouper and colliding hashes, on every device."""

import pytest
from group_states_checks import *  # noqa: F403

import cdevice
import cdevice.compute as cc

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["int64", "string", "two columns"])
def test_more_groups_than_a_table_takes_are_found_by_buckets(kind, threads):
    n = 1_300_000  # from 2**20 rows on, and more than 2**18 groups
    numbers = [(i % (n - 200_000)) * 7919 % (1 << 40) for i in range(n)]
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
    assert out.num_rows == n - 200_000
    assert out.column("x_min").to_pylist() == list(range(n - 200_000))
    assert out.column("x_max").to_pylist() == list(range(n - 200_000, n)) + list(range(200_000, n - 200_000))
    assert out.column("x_count").to_pylist() == [2] * 200_000 + [1] * (n - 400_000)
    assert out.column("a").equals(columns["a"][: n - 200_000])
