"""Joins by equal keys, on every device, against pyarrow."""

import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

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
