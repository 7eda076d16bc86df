"""Joins by equal keys, on every device, against pyarrow."""

import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice._runtime.ext import _native  # noqa: E402

KINDS = [f"{side} {kind}" for side in ("left", "right") for kind in ("semi", "anti", "outer")] + ["full outer", "inner"]
KEYS = {
    "int32": (pa.int32(), [None, 1, 2, 3, -7]),
    "string": (pa.string(), [None, "", "a", "b"]),
    "float64": (pa.float64(), [None, 0.0, -0.0, float("nan"), 1.5]),
    "many": (pa.int64(), list(range(50))),
}


def _sides(keys, n_left, n_right):
    rng = random.Random(f"{keys}{n_left}{n_right}")

    def column(word, n):
        kind, values = KEYS[word]
        return pa.array([rng.choice(values) for _ in range(n)], kind)

    left = {**{k: column(k, n_left + 2) for k in keys}, "x": range(n_left + 2), "c": range(n_left + 2)}
    right = {"c": [f"w{i}" for i in range(n_right + 1)], **{k: column(k, n_right + 1) for k in keys}}
    right["y"] = range(n_right + 1)
    return pa.record_batch({k: pa.array(v) for k, v in left.items()})[2:], pa.record_batch(
        {k: pa.array(v, pa.string() if k == "c" else None) for k, v in right.items()}
    )[1:]


def _rows(batch):
    return sorted(map(repr, zip(*(column.to_pylist() for column in batch.columns))))


@pytest.mark.parametrize("kind", KINDS)
@everywhere
def test_joins_have_the_rows_of_arrows(device, kind):
    for keys in (["int32"], ["string"], ["float64"], ["many"], ["int32", "string"]):
        for n_left, n_right in ((0, 0), (0, 7), (7, 0), (50, 7), (40, 60)):
            left, right = _sides(keys, n_left, n_right)
            there = cdevice.asarray(left).to(device), cdevice.asarray(right).to(device)
            for coalesce_keys in (True, False):
                more = {"left_suffix": "_l", "right_suffix": "_r", "coalesce_keys": coalesce_keys}
                got = pa.record_batch(cc.join(*there, keys, join_type=kind, **more).to("cpu"))
                got.validate(full=True)
                tables = pa.Table.from_batches([left]), pa.Table.from_batches([right])
                want = tables[0].join(tables[1], keys, join_type=kind, **more)
                assert got.schema.names == want.schema.names and got.schema.types == want.schema.types
                assert _rows(got) == _rows(want)


def _not_null(device, **columns):
    schema = pa.schema([pa.field(n, pa.int64(), nullable=False) for n in columns])
    return cdevice.asarray(pa.record_batch([pa.array(v) for v in columns.values()], schema=schema)).to(device)


@pytest.mark.parametrize("coalesce_keys", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@everywhere
def test_columns_of_a_side_that_may_be_missing_are_nullable(device, kind, coalesce_keys):
    left, right = _not_null(device, k=[1, 2], x=[10, 20]), _not_null(device, k=[2, 3], y=[200, 300])
    more = {"left_suffix": "_l", "right_suffix": "_r", "coalesce_keys": coalesce_keys}
    got = cc.join(left, right, "k", join_type=kind, **more)
    fields = {c.name: c.nullable for c in got.schema.children}
    keys = {name: kind.endswith("outer") for name in fields if name.startswith("k")}
    missed = {"x": kind in ("right outer", "full outer"), "y": kind in ("left outer", "full outer")}
    assert fields == {**keys, **{name: missed[name] for name in fields if name in missed}}
    whole = pa.record_batch(got.to("cpu"))
    assert not any(c.null_count for c, f in zip(whole.columns, whole.schema) if not f.nullable)
    if kind in ("inner", "left outer"):
        parts = cdevice.asstream(iter([left]), schema=left.schema)
        assert cc.join(parts, right, "k", join_type=kind, **more).schema == got.schema


@everywhere
def test_rows_are_in_the_order_of_the_left_side(device):
    left = cdevice.asarray(pa.record_batch({"k": [3, 1, None, 1], "x": ["a", "b", "c", "d"]})).to(device)
    right = cdevice.asarray(pa.record_batch({"id": pa.array([1, 9, 1], pa.int8()), "y": [10, 20, 30]})).to(device)
    got = cc.join(left, right, "k", "id", "full outer").to("cpu").to_pylist()
    assert [tuple(row.values()) for row in got] == [
        (3, "a", None),
        (1, "b", 10),
        (1, "b", 30),
        (None, "c", None),
        (1, "d", 10),
        (1, "d", 30),
        (9, None, 20),
    ]
    numbers = pa.record_batch(cc.join_indices(left, right, "k", "id", "inner").to("cpu"))
    assert numbers.to_pydict() == {"left": [1, 1, 3, 3], "right": [0, 2, 0, 2]}
    assert cc.join_indices(left, right, "k", "id", "right anti").to("cpu").to_pylist() == [{"right": 1}]


def _pairs(left, right, kind):
    """The pairs of rows in the order that join promises, by Python."""
    places = {}
    for row, key in enumerate(right):
        if key is not None:
            places.setdefault(key, []).append(row)
    out, met = [], set()
    for row, key in enumerate(left):
        found = places.get(key, [])
        met.update(found)
        out += [(row, k) for k in found] or [(row, None)] * (kind in ("left outer", "full outer"))
    alone = [(None, k) for k in range(len(right)) if k not in met]
    return out + alone * (kind in ("right outer", "full outer"))


REPEATED = {
    "each twice": ([k * 7 % 6000 for k in range(20_000)], [k % 5000 for k in range(10_000)]),
    "one has 100,000 matches": ([1, 9, 2, None, 1, 3], [2] * 7 + [1, 5] + [2] * 99_993 + [1]),
    "every row matches": ([4] * 300, [4] * 300),
    "null on both sides": ([None, 1, 2, None, 1] * 2000, [1, None, 1, 3, None]),
    "no match": ([1, 2, 3], [4, 4, 5]),
    "up to nine": ([k % 37 for k in range(9000)], [k for k in range(30) for _ in range(k % 10)]),
    "left is empty": ([], [1, 1, None]),
    "right is empty": ([1, 1, None], []),
}


@pytest.mark.parametrize("sides", REPEATED)
@everywhere
def test_repeated_right_keys_have_every_pair_in_order(device, sides):
    left, right = REPEATED[sides]
    kinds = {"int32": lambda k: k, "string": lambda k: None if k is None else f"key {k}"}
    for kind, made in kinds.items():
        batches = [
            pa.record_batch({"k": pa.array(map(made, keys), kind), name: pa.array(range(len(keys)), pa.int32())})
            for keys, name in ((left, "x"), (right, "y"))
        ]
        there = [cdevice.asarray(b).to(device) for b in batches]
        for how in ("inner", "left outer", "right outer", "full outer"):
            want = _pairs(left, right, how)
            rows = pa.record_batch(cc.join_indices(*there, "k", join_type=how).to("cpu"))
            assert rows.schema.types == [pa.int64(), pa.int64()]
            assert list(zip(*(column.to_pylist() for column in rows.columns))) == want
            got = pa.record_batch(cc.join(*there, "k", join_type=how).to("cpu"))
            got.validate(full=True)
            keys = [made(right[r] if l is None else left[l]) for l, r in want]
            assert got.to_pydict() == {"k": keys, "x": [l for l, _ in want], "y": [r for _, r in want]}


@everywhere
def test_pairs_are_of_slices_too(device):
    left = cdevice.asarray(pa.record_batch({"k": [9, 9, None, 1, 2, 1, 7], "x": list("abcdefg")})).to(device)
    right = cdevice.asarray(pa.record_batch({"k": [1, 7, 1, 2, 1], "y": list("vwxyz")})).to(device)
    got = cc.join(left[2:6], right[1:], "k", join_type="left outer").to("cpu").to_pylist()
    want = [(None, "c", None), (1, "d", "x"), (1, "d", "z"), (2, "e", "y"), (1, "f", "x"), (1, "f", "z")]
    assert [tuple(row.values()) for row in got] == want


def test_groups_of_pairs_are_looked_at():
    numbers, short = cdevice.asarray([1, 2]), cdevice.asarray([0, 1], schema="uint32")
    end = False, "join", 0, None
    for ids, counts, begins, order, words in (
        (short, numbers[:0], numbers[:0], short, "join: 0 counts and 0 begins of groups"),
        (short, numbers, numbers[:1], short, "join: 2 counts and 1 begins of groups"),
        (numbers, numbers, numbers, short, 'join: numbers of type "l"'),
        (short, numbers, numbers, numbers, 'join: numbers of type "l"'),
        (short, short, short, short, 'join: numbers of type "I"'),
    ):
        with pytest.raises(cdevice.ArgumentError, match=words):
            _native.compute_match_rows(ids, counts, begins, order, *end)


@everywhere
def test_chunks_and_dictionaries_are_joined_by_value(device):
    words = pa.array(["b", "a", None])
    left = pa.record_batch({"k": words.dictionary_encode(), "x": [1, 2, 3]})
    right = pa.record_batch({"k": ["a", "b", "b"], "y": [10, 20, 30]})
    chunks = [cdevice.asarray(left[:1]).to(device), cdevice.asarray(left[1:]).to(device)]
    got = cc.join(chunks, cdevice.asarray(right).to(device), "k", join_type="inner").to("cpu")
    assert got.field("x").to_pylist() == [1, 1, 2] and got.field("y").to_pylist() == [20, 30, 10]
    assert got.field("k").to_pylist() == ["b", "b", "a"]


@pytest.mark.parametrize(
    ("keys", "right_keys", "kind", "error", "words"),
    [
        ("kk", None, "inner", cdevice.ArgumentError, "join: no column 'kk'; did you mean 'k'?"),
        ("k", "x", "inner", cdevice.ArgumentError, "join: no column 'x'"),
        (["k", "w"], ["k"], "inner", cdevice.ArgumentError, "join: 2 keys and 1 right_keys"),
        ("w", "k", "inner", cdevice.ArgumentError, "key 'w': right and left int64 and string have no common type"),
        ("k", None, "outer", ValueError, "join: join_type must be one of 'left semi'"),
        ([], None, "inner", cdevice.ArgumentError, "join: 0 keys and 0 right_keys"),
    ],
)
@everywhere
def test_bad_joins_are_errors_with_words(device, keys, right_keys, kind, error, words):
    left = cdevice.asarray(pa.record_batch({"k": [1, 2], "w": ["a", "b"]})).to(device)
    right = cdevice.asarray(pa.record_batch({"k": [1, 2], "y": ["a", "b"]})).to(device)
    with pytest.raises(error) as e:
        cc.join(left, right, keys, right_keys, kind)
    assert words in str(e.value)


@everywhere
def test_a_stream_is_joined_batch_by_batch(device, monkeypatch):
    monkeypatch.setattr("cdevice.compute.joins.STREAM_ROWS", 2)
    left = cdevice.asarray(pa.record_batch({"k": [1, 2, None, 3, 1], "x": [1, 2, 3, 4, 5]})).to(device)
    right = cdevice.asarray(pa.record_batch({"k": [3, 1, 1, None], "y": ["a", "b", "c", "d"]})).to(device)
    for kind in ("inner", "left outer", "left semi", "left anti"):
        parts = [left[:2], left[2:2], left[2:]]
        joined = cc.join(cdevice.asstream(iter(parts), schema=left.schema), right, "k", join_type=kind)
        assert isinstance(joined, cdevice.DeviceArrayStream)
        want = [cc.join(p, right, "k", join_type=kind) for p in (left[:2], left[2:])]  # the empty one is no batch
        assert joined.schema == want[0].schema
        assert [b.to("cpu").to_pylist() for b in joined] == [b.to("cpu").to_pylist() for b in want]
    monkeypatch.undo()
    together = cc.join(cdevice.asstream(iter(parts), schema=left.schema), right, "k", join_type="left outer")
    want = cc.join(left, right, "k", join_type="left outer")
    assert [b.to("cpu").to_pylist() for b in together] == [want.to("cpu").to_pylist()]
    whole = cc.join(
        cdevice.asstream(iter([left[:2], left[2:]]), schema=left.schema), right, "k", join_type="full outer"
    )
    assert whole.to("cpu").to_pylist() == cc.join(left, right, "k", join_type="full outer").to("cpu").to_pylist()
