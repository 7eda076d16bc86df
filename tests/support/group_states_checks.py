"""States of groups, streams, functions of group ids, Grouper and colliding hashes, on every device."""

import contextlib
import itertools
import math
import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

np = pytest.importorskip("numpy", reason="pip install numpy")
pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

from exact_moments import exact_moments  # noqa: E402
from group_by_checks import same  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice._runtime.ext import lib  # noqa: E402
from cdevice.compute.kernels.group_ids import group_ids  # noqa: E402

N = 3000
NUMBER = (
    "sum mean product min max min_max variance stddev skew kurtosis count count_distinct distinct list first last "
    "first_last one approximate_median quantile"
).split()
OTHER = "min max first last list count_distinct distinct one".split()


def _stand_in(device):
    """Is it simulated, where a row takes much longer?"""
    return str(device).partition(":")[0] not in ("cpu", "opencl")


def _rows(device):
    return 300 if _stand_in(device) else N


def _some(device):
    return {k: v for k, v in AGGREGATES.items() if k in FEW or not _stand_in(device)}


def _data(seed, n=N):
    rng = random.Random(seed)

    def column(kind, values, nulls=0.1):
        return pa.array([None if rng.random() < nulls else rng.choice(values) for _ in range(n)], kind)

    return pa.record_batch(
        {
            "k": column(pa.int64(), range(10)),
            "s": column(pa.string(), [f"id{i:03}" for i in range(30)], 0),
            "v": column(pa.float64(), [i / 8 for i in range(100)]),
            "i": column(pa.int16(), range(-9, 9)),
            "b": column(pa.bool_(), [True, False]),
            "d": column(pa.date32(), range(400)),
            "long": column(pa.string(), ["x" * n + str(n % 7) for n in range(40)]),
        }
    )


AGGREGATES = {
    f"{column}_{function}": (column, function)
    for columns, functions in ((("v", "i"), NUMBER), (("s", "d", "b", "long"), OTHER), (("b",), ("any", "all")))
    for column, function in itertools.product(columns, functions)
} | {
    "rows": ([], "count_all"),
    "tenths": ("v", "quantile", {"q": [0.1, 0.9], "interpolation": "nearest"}),
    "strict": ("i", "sum", {"skip_nulls": False}),
    "first of all": ("v", "first", {"skip_nulls": False}),
    "any of all": ("b", "any", {"skip_nulls": False}),
    "few": ("i", "min", {"min_count": 90}),
    "nulls": ("i", "count", {"mode": "only_null"}),
}


FEW = "v_sum v_mean i_max v_stddev v_kurtosis i_distinct v_quantile b_min s_first b_any rows nulls".split()


def _require_same(got, want):
    got, want = (pa.record_batch(x.to("cpu")) for x in (got, want))
    got.validate(full=True)
    assert got.schema.equals(want.schema)
    for name, a, b in zip(got.schema.names, got.columns, want.columns):
        assert same(a.to_pylist(), b.to_pylist()), name


@contextlib.contextmanager
def four_bits():
    """Hashes of keys keep four bits: nearly all keys collide."""
    before = lib.cdv_hash_bits(4)
    try:
        yield
    finally:
        lib.cdv_hash_bits(before)


@pytest.mark.parametrize("keys", [["k"], ["k", "s", "long"], []], ids=str)
@everywhere
def test_merged_states_of_any_split_are_the_groups_of_all_rows(device, keys):
    n, wanted = _rows(device), _some(device)
    batch = cdevice.asarray(_data(1, n)).to(device)
    whole = cc.group_by(batch, keys).aggregate(wanted)
    for cuts in ([0, n], [0, 1, 1, n // 4, n]):
        states = [cc.group_by(batch[a:b], keys).partial(wanted) for a, b in itertools.pairwise(cuts)]
        _require_same(cc.merge(states), whole)
        tree = [cc.merge(states[:2], partial=True), *states[2:]]
        _require_same(cc.merge(tree), whole)


@everywhere
def test_moments_of_groups_are_exact_to_eleven_digits(device):
    n, rng = _rows(device), random.Random(12)
    columns = {
        "far": [2.0**40 + rng.randrange(1000) for _ in range(n)],
        "skewed": [None if i % 7 == 3 else rng.expovariate(3) - 2 for i in range(n)],
        "ints": [rng.randrange(-(2**50), 2**50) for _ in range(n)],
    }
    keys = [rng.choice("abc") for _ in range(n)]
    names = ("variance", "stddev", "skew", "kurtosis")
    wanted = [(c, name) for c in columns for name in names]
    batch = cdevice.asarray(pa.record_batch({"k": keys} | columns)).to(device)
    parts = [batch[a:b] for a, b in itertools.pairwise((0, 1, n // 4, n // 4 + 9, n))]
    whole = cc.group_by(batch, "k").aggregate(wanted)
    merged = cc.merge([cc.group_by(part, "k").partial(wanted) for part in parts])
    for key in "abc":
        rows = {c: [x for k, x in zip(keys, xs) if k == key and x is not None] for c, xs in columns.items()}
        exact = {c: exact_moments(xs) for c, xs in rows.items()}
        for how in (whole, merged):
            found = next(row for row in how.to("cpu").to_pylist() if row["k"] == key)
            for c, name in wanted:
                assert math.isclose(found[f"{c}_{name}"], exact[c][name], rel_tol=1e-11, abs_tol=1e-11), (c, name)


@everywhere
def test_a_state_travels_between_devices(device):
    n, wanted = _rows(device), _some(device)
    batch = cdevice.asarray(_data(2, n))
    states = [
        cc.group_by(batch[: n // 3].to(device), "k").partial(wanted).to("cpu"),
        cc.group_by(batch[n // 3 :], "k").partial(wanted),
    ]
    _require_same(cc.merge(states), cc.group_by(batch, "k").aggregate(wanted))


@everywhere
def test_a_stream_is_grouped_as_its_rows_are(device, monkeypatch):
    for name, rows in (("STREAM_ROWS", 100), ("ROWS_OF_GROUP", 0), ("MERGED_ROWS", 100)):
        monkeypatch.setattr(f"cdevice.compute.groups.{name}", rows)
    n, wanted = _rows(device), _some(device)
    batch = cdevice.asarray(_data(3, n)).to(device)
    whole = cc.group_by(batch, ["k", "s"]).aggregate(wanted)
    for step in (7, n // 7):
        parts = [batch[a : a + step] for a in range(0, n, step)]
        stream = cdevice.asstream(iter(parts), schema=batch.schema)
        _require_same(cc.group_by(stream, ["k", "s"]).aggregate(wanted), whole)
    empty = cc.group_by(cdevice.asstream(iter([batch[:0]]), schema=batch.schema), ["k"]).aggregate(wanted)
    assert empty.length == 0


@everywhere
def test_small_batches_of_a_stream_are_grouped_together(device, monkeypatch):
    seen = []

    def counted(call, columns, floats):
        seen.append(columns[0].length)
        return group_ids(call, columns, floats)

    monkeypatch.setattr("cdevice.compute.kernels.group_rows.group_ids", counted)
    for name, rows in (("STREAM_ROWS", 64), ("ROWS_OF_GROUP", 40)):
        monkeypatch.setattr(f"cdevice.compute.groups.{name}", rows)
    batch = cdevice.asarray(pa.record_batch({"k": pa.array(range(640)), "g": pa.array([1, 2] * 320)})).to(device)
    parts = [batch[a : a + 2] for a in range(0, 640, 2)]
    few = cc.group_by(cdevice.asstream(iter(parts), schema=batch.schema), "g").aggregate([("k", "sum")])
    _require_same(few, cc.group_by(batch, "g").aggregate([("k", "sum")]))
    assert seen == [64, 64, *[80] * 6, 32, 18, 640]  # 40 times as many as groups; states; all at once
    del seen[:]
    many = cc.group_by(cdevice.asstream(iter(parts), schema=batch.schema), "k").aggregate([("g", "sum")])
    assert seen == [64, 64, 512, 640] and many.length == 640


@pytest.mark.parametrize("keys", [["long"], ["k", "long"], ["long", "v", "b"]], ids=str)
@everywhere
def test_keys_whose_hashes_collide_are_different_groups(device, keys):
    batch = cdevice.asarray(_data(4, _rows(device))).to(device)
    with four_bits():
        got = cc.group_by(batch, keys).aggregate([([], "count_all"), ("i", "sum")])
    _require_same(got, cc.group_by(batch, keys).aggregate([([], "count_all"), ("i", "sum")]))


@everywhere
def test_floats_are_grouped_by_their_bits_unless_they_are_normalized(device):
    other_nan = pa.array([0x7FF8000000000001], pa.int64()).view(pa.float64())
    values = pa.concat_arrays([pa.array([0.0, -0.0, float("nan"), 1.0, float("nan")]), other_nan])
    batch = cdevice.asarray(pa.record_batch({"x": values})).to(device)
    counted = cc.group_by(batch, "x").aggregate([([], "count_all")]).to("cpu")
    assert counted.field("count_all").to_pylist() == [1, 1, 2, 1, 1]
    counted = cc.group_by(batch, "x", normalize_floats=True).aggregate([([], "count_all")]).to("cpu")
    assert counted.field("count_all").to_pylist() == [2, 3, 1]


@everywhere
def test_groups_that_outgrow_the_first_table_have_their_numbers_in_order(device):
    n = 1000 if _stand_in(device) else 70_000
    rng = random.Random(5)
    keys = list(range(n)) * 2
    rng.shuffle(keys)
    scattered = [k * 0x9E3779B97F4A7C15 % (1 << 64) - (1 << 63) for k in keys]
    batch = cdevice.asarray(pa.record_batch({"k": pa.array(scattered, pa.int64()), "x": keys})).to(device)
    got = pa.record_batch(cc.group_by(batch, "k").aggregate([("x", "sum"), ([], "count_all")]).to("cpu"))
    order = list(dict.fromkeys(scattered))
    assert got.column("k").to_pylist() == order
    assert set(got.column("count_all").to_pylist()) == {2}
    value = dict(zip(scattered, keys))
    assert got.column("x_sum").to_pylist() == [2 * value[k] for k in order]


@everywhere
def test_rows_that_a_sample_has_not_shown_are_grouped(device):
    n = 1000 if _stand_in(device) else 300_000
    words = [f"id{i % 10:05}" for i in range(n)]
    words[n - 3], words[n - 2], words[5] = "jd00001", "id0000", "id12345"
    batch = cdevice.asarray(pa.record_batch({"k": words})).to(device)
    got = pa.record_batch(cc.group_by(batch, "k").aggregate([([], "count_all")]).to("cpu"))
    want = dict.fromkeys(words, 0)
    for w in words:
        want[w] += 1
    assert dict(zip(got.column("k").to_pylist(), got.column("count_all").to_pylist())) == want
    assert got.column("k").to_pylist() == list(want)


@pytest.mark.parametrize("kind", ["i1", "u2", "i4", "u8"])
@everywhere
def test_numbers_that_a_sample_has_not_shown_are_grouped(device, kind):
    n = 1000 if _stand_in(device) else 300_000
    values = [i % 10 for i in range(n)]
    batch = cdevice.asarray(pa.record_batch({"k": pa.array(values).cast(pa.from_numpy_dtype(np.dtype(kind)))})).to(
        device
    )
    assert pa.array(cc.unique(batch.field("k")).to("cpu")).to_pylist() == [*range(10)]
    values[n - 3], values[n - 2], values[5] = 100, 17, 64
    batch = cdevice.asarray(pa.record_batch({"k": pa.array(values).cast(pa.from_numpy_dtype(np.dtype(kind)))})).to(
        device
    )
    for keys in ("k", ["k", "k2"]):
        twice = cdevice.record_batch({"k": batch.field("k"), "k2": batch.field("k")})
        got = pa.record_batch(cc.group_by(twice, keys).aggregate([([], "count_all")]).to("cpu"))
        want = {v: values.count(v) for v in dict.fromkeys(values)}
        assert dict(zip(got.column("k").to_pylist(), got.column("count_all").to_pylist())) == want
        assert got.column("k").to_pylist() == [*want]


@everywhere
def test_hash_functions_are_the_aggregates_of_group_ids(device):
    batch = cdevice.asarray(_data(6, _rows(device))).to(device)
    grouper = cc.Grouper(pa.schema([("k", pa.int64())]))
    ids = grouper.consume(batch[["k"]])
    for name, (column, function, *options) in _some(device).items():
        whole = cc.group_by(batch, "k").aggregate({name: (column, function, *options)})
        arguments = [ids] if not column else [batch.field(column), ids]
        got = cc.call_function(f"hash_{function}", arguments, options[0] if options else None)
        _require_same(cdevice.record_batch({name: got}), whole[[name]])
    assert cc.hash_sum(batch.field("i"), ids, grouper.num_groups + 2).to("cpu").to_pylist()[-2:] == [None, None]


@everywhere
def test_a_group_without_rows_is_null_or_zero(device):
    values = cdevice.asarray(pa.array([1, 2, None], pa.int32())).to(device)
    ids = cdevice.asarray(pa.array([3, 0, 1], pa.uint32())).to(device)
    assert cc.hash_sum(values, ids).to("cpu").to_pylist() == [2, None, None, 1]
    assert cc.hash_count(values, ids, 5).to("cpu").to_pylist() == [1, 0, 0, 1, 0]
    assert cc.hash_list(values, ids).to("cpu").to_pylist() == [[2], [None], [], [1]]
    assert cc.hash_first(values, ids, skip_nulls=False).to("cpu").to_pylist() == [2, None, None, 1]
    assert cc.hash_min_max(values, ids, 3 + 1).to("cpu").to_pylist()[2] == {"min": None, "max": None}
    assert cc.hash_count_all(ids, 6).to("cpu").to_pylist() == [1, 1, 0, 1, 0, 0]


@everywhere
def test_a_first_row_that_is_null_stays_null_where_nulls_count(device):
    values = cdevice.asarray(pa.array([None, 5, 6, 7, 8], pa.int32())).to(device)
    ids = cdevice.asarray(pa.array([0, 0, 0, 1, 1], pa.uint32())).to(device)
    for least, want in ((1, [None, 7]), (2, [None, 7]), (3, [None, None])):
        assert cc.hash_first(values, ids, skip_nulls=False, min_count=least).to("cpu").to_pylist() == want


@everywhere
def test_group_ids_that_could_have_nulls_and_have_none_are_taken(device):
    values = cdevice.asarray([1, 2, 3]).to(device)
    for ids in (pa.array([0, 2, 0, None], pa.uint32()), pa.array([0, 2, 0, None])):
        there = cdevice.asarray(ids).to(device)
        for without_null in (there[:3], cc.drop_null(there)):
            assert cc.hash_sum(values, without_null).to("cpu").to_pylist() == [4, None, 2]


@everywhere
def test_group_ids_that_are_no_groups_are_refused(device):
    values = cdevice.asarray([1, 2, 3]).to(device)
    for ids, arguments, words in (
        ([0, 1, None], (), "1 nulls"),
        ([0, -1, 1], (), "number -1"),
        ([0, 4, 1], (3,), "number 4, beyond num_groups=3"),
    ):
        with pytest.raises(cdevice.ArgumentError, match=words):
            cc.hash_sum(values, cdevice.asarray(ids).to(device), *arguments)
    with pytest.raises(ValueError, match="3 values and 2 group_ids"):
        cc.hash_sum(values, cdevice.asarray([0, 1]).to(device))


@everywhere
def test_a_grouper_numbers_rows_as_it_sees_them(device):
    kind = pa.schema([("a", pa.int64()), ("b", pa.string())])

    def rows(*values):
        return cdevice.asarray(pa.record_batch([pa.array(c) for c in zip(*values)], schema=kind)).to(device)

    grouper = cc.Grouper(kind)
    assert grouper.num_groups == 0 and grouper.uniques is None
    assert grouper.consume(rows((1, "x"), (2, None), (1, "x"))).to("cpu").to_pylist() == [0, 1, 0]
    assert grouper.consume(rows((3, "x"), (2, None))).to("cpu").to_pylist() == [2, 1]
    assert grouper.lookup(rows((9, "x"), (3, "x"))).to("cpu").to_pylist() == [None, 2]
    assert grouper.num_groups == 3
    assert grouper.uniques.to("cpu").to_pylist() == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": None},
        {"a": 3, "b": "x"},
    ]
    with pytest.raises(cdevice.ArgumentError, match="expected columns a"):
        grouper.consume(cdevice.asarray(pa.record_batch({"a": [1]})).to(device))


def test_states_of_other_queries_and_other_batches_are_refused():
    batch = cdevice.asarray(_data(7))
    state = cc.group_by(batch, "k").partial([("i", "sum")])
    with pytest.raises(cdevice.ArgumentError, match="at least one state"):
        cc.merge([])
    with pytest.raises(cdevice.ArgumentError, match="expected states"):
        cc.merge([batch])
    with pytest.raises(cdevice.ArgumentError, match="state 1 has other keys or aggregations"):
        cc.merge([state, cc.group_by(batch, "k").partial([("i", "sum", {"min_count": 3})])])
    wider = cdevice.asarray(_data(7).set_column(3, "i", _data(7).column(3).cast(pa.float64())))
    with pytest.raises(cdevice.ArgumentError, match="state 1 has columns of other types"):
        cc.merge([state, cc.group_by(wider, "k").partial([("i", "sum")])])
    metadata = {"cdevice.group_by": "{"}
    damaged = pa.record_batch(state)
    with pytest.raises(cdevice.ArgumentError, match="metadata of a state is damaged"):
        cc.merge([damaged.replace_schema_metadata(metadata)])
    with pytest.raises(cdevice.ArgumentError, match="this batch has others"):
        cc.merge([damaged.drop_columns(["i_sum"])])
