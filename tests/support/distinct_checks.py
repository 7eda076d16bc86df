"""Which values there are, and ranks, on every device, against pyarrow.compute."""

import itertools

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import OF_PYARROW_26, column, drawn, places, shown  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

COLUMNS = {
    "int64": drawn([None, 1, 2, 3, -5, 1 << 60]),
    "float64": drawn([None, 0.0, -0.0, float("nan"), 1.5]),
    "float32": drawn([0.0, -0.0, float("nan"), 1.5], pa.float32()),
    "string": drawn([None, "", "a", "ab", "a\0"]),
    "bool": drawn([True, False]),
    "decimal128": drawn([None, 1, -1, 1 << 90], pa.decimal128(38, 0)),
    "one row": pa.array([7]),
    "no rows": pa.array([], pa.int32()),
    "nulls alone": pa.array([None] * 4, pa.int32()),
    "many": column("int32", 20_000, nulls=0.1),
}
CASES = [
    pytest.param(p, w, id=f"{p}-{w}") for w in COLUMNS for p in places("int64") if "opencl" not in p or w != "float32"
]
each = pytest.mark.parametrize(("device", "word"), CASES, indirect=["device"])


def slices(word):
    whole = COLUMNS[word]
    return [whole, whole[3:]] if len(whole) > 3 else [whole]


@each
def test_unique_values_are_in_the_order_of_their_first_rows(device, word):
    for a in slices(word):
        assert shown(cc.unique(cdevice.asarray(a).to(device)).to("cpu")) == shown(pc.unique(a))


@each
def test_values_are_counted_as_arrow_does(device, word):
    for a in slices(word):
        there = cdevice.asarray(a).to(device)
        got = pa.array(cc.value_counts(there).to("cpu"))
        assert shown(got) == shown(pc.value_counts(a)) and got.type == pc.value_counts(a).type
        for mode in ("only_valid", "only_null", "all"):
            assert cc.count_distinct(there, mode).as_py() == pc.count_distinct(a, mode=mode).as_py()


@each
def test_dictionaries_have_the_indices_and_values_of_arrows(device, word):
    for a, nulls in itertools.product(slices(word), ("mask", "encode")):
        got = pa.array(cc.dictionary_encode(cdevice.asarray(a).to(device), nulls).to("cpu"))
        want = pc.dictionary_encode(a, null_encoding=nulls)
        got.validate(full=True)
        assert shown(got.indices) == shown(want.indices) and shown(got.dictionary) == shown(want.dictionary)
        assert got.type == want.type


@each
def test_ranks_are_arrows(device, word):
    for a in slices(word):
        there = cdevice.asarray(a).to(device)
        for tie, order in itertools.product(("first", "min", "max", "dense"), ("ascending", "descending")):
            got = pa.array(cc.rank(there, order, tiebreaker=tie).to("cpu"))
            assert got.equals(pc.rank(a, sort_keys=order, tiebreaker=tie)), (tie, order)


@OF_PYARROW_26
@everywhere
def test_other_layouts_are_looked_at_by_value(device):
    words = drawn([None, "", "a", "ab"])
    for made in (words.cast(pa.string_view()), words.dictionary_encode()):
        there = cdevice.asarray(made).to(device)
        assert cc.unique(there).to("cpu").to_pylist() == pc.unique(words).to_pylist()
        assert cc.count_distinct(there).as_py() == 3
    for made in (pc.run_end_encode(words), words.dictionary_encode("encode")):  # their nulls are nulls of the values
        there = cdevice.asarray(made).to(device)
        assert [cc.count_distinct(there, mode).as_py() for mode in ("only_valid", "only_null", "all")] == [3, 1, 4]
    encoded = cdevice.asarray(words.dictionary_encode()).to(device)
    assert cc.dictionary_encode(encoded).schema.equals(encoded.schema)


@everywhere
def test_a_batch_is_ranked_by_its_keys(device):
    batch = pa.record_batch({"a": drawn([1, 2, None]), "b": drawn(["x", "y"])})
    keys = [("a", "descending", "at_start"), ("b", "ascending")]
    got = cc.rank(cdevice.asarray(batch).to(device), keys, tiebreaker="dense")
    want = sorted({(a is not None, -(a or 0), b) for a, b in zip(*(c.to_pylist() for c in batch.columns))})
    rows = [(a is not None, -(a or 0), b) for a, b in zip(*(c.to_pylist() for c in batch.columns))]
    assert got.to("cpu").to_pylist() == [want.index(r) + 1 for r in rows]


def test_options_of_pyarrow_are_understood_here_too():
    a = COLUMNS["int64"]
    options = pc.RankOptions("descending", tiebreaker="dense")
    assert pa.array(cc.rank(a, options=options)).equals(pc.rank(a, options=options))
    got = cc.dictionary_encode(a, options=pc.DictionaryEncodeOptions("encode"))
    assert pa.array(got).dictionary.null_count == 1
    assert cc.count_distinct(a, options=pc.CountOptions("all")).as_py() == 6


def test_chunks_are_one_array():
    chunks = pa.chunked_array([[1, 2], [2, None]])
    assert cc.unique(chunks).to_pylist() == [1, 2, None] and cc.count_distinct(chunks).as_py() == 2


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: cc.unique(pa.record_batch({"a": [1]})), cc.NoKernel, "unique"),
        (lambda: cc.unique([[1]]), cc.NoKernel, "unique"),
        (lambda: cc.rank([1], tiebreaker="all"), ValueError, "RankOptions: tiebreaker must be one of"),
        (lambda: cc.rank([1], "up"), ValueError, "RankOptions: order must be one of"),
        (lambda: cc.dictionary_encode([1], "drop"), ValueError, "null_encoding must be one of 'mask', 'encode', not"),
        (lambda: cc.count_distinct([1], "some"), ValueError, "mode must be one of"),
        (lambda: cc.unique(3), TypeError, "unique"),
    ],
)
def test_an_error_names_the_function(monkeypatch, call, error, text):
    monkeypatch.setenv("CDEVICE_BACKENDS", "-pyarrow")
    with pytest.raises(error, match=text):
        call()
