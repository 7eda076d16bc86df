"""Filter and take of batches: how often they cross into C and wait, and what nested layouts become."""

import collections
import random

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

from compute_cases import back, there  # noqa: E402
from everywhere import device, everywhere  # noqa: E402, F401
from kernelled import fake, nothing_is_kept_on_disk  # noqa: E402, F401

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice._runtime.ext import _native  # noqa: E402
from cdevice.testing.fake import FakeBackend  # noqa: E402

WORDS = ["a", None, "longer than what is copied at once: 32 bytes", "", "späť", "sixteen bytes...", "b" * 17]


compiles = pytest.mark.nosan  # starts a compiler


class Counting(FakeBackend):
    """Counts what the host waits for and reads."""

    count = collections.Counter()

    def event_wait(self, event, *, device_id, stream=None):
        self.count["waits"] += stream is None
        super().event_wait(event, device_id=device_id, stream=stream)

    def stream_wait(self, *, device_id, stream=0):
        self.count["waits"] += 1
        super().stream_wait(device_id=device_id, stream=stream)

    def copy(self, kind, copies, *, stream=0):
        self.count["reads"] += kind == 2
        super().copy(kind, copies, stream=stream)


@pytest.fixture
def counted(fake, monkeypatch):
    """counted(call): its result, and (crossings, waits, reads)."""
    fake(device=Counting)
    crossings = collections.Counter()

    def crossing(name, f):
        def run(*args, **named):
            crossings[name] += 1
            return f(*args, **named)

        return run

    for name in dir(_native):
        if name.startswith("compute_") or name == "build":
            monkeypatch.setattr(_native, name, crossing(name, getattr(_native, name)))

    def run(call):
        call()  # compiles the kernels
        crossings.clear()
        Counting.count.clear()
        out = call()
        found = dict(crossings), Counting.count["waits"], Counting.count["reads"]
        return out, found

    return run


def texts(n, seed=0):
    rng = random.Random(seed)
    return [rng.choice(WORDS) for _ in range(n)]


def batch_of(columns):
    return pa.record_batch(columns, names=[f"c{i}" for i in range(len(columns))])


@compiles
@pytest.mark.parametrize("k", [1, 7])
def test_a_filter_of_a_batch_with_k_string_columns_waits_once(counted, k):
    columns = [pa.array(texts(50, i), [pa.string(), pa.large_binary()][i % 2]) for i in range(k)]
    batch = batch_of([*columns, pa.array(range(50)), pa.array([True, None] * 25)])
    mask = pa.array([i % 3 == 0 for i in range(50)])
    x, m = cdevice.asarray(batch).to("kernelled"), cdevice.asarray(mask).to("kernelled")
    out, found = counted(lambda: cc.filter(x, m))
    assert found == ({"compute_filter": 1}, 1, 1)
    assert pa.record_batch(out.to("cpu")).equals(batch.filter(mask))


@compiles
@pytest.mark.parametrize("checked", [True, False])
def test_a_take_of_a_batch_with_k_string_columns_waits_once(counted, checked):
    batch = batch_of([pa.array(texts(50, i)) for i in range(7)])
    indices = pa.array([7, None, 0, 49, 7], pa.int64())
    x, i = cdevice.asarray(batch).to("kernelled"), cdevice.asarray(indices).to("kernelled")
    out, found = counted(lambda: cc.take(x, i, boundscheck=checked))
    assert found == ({"compute_take": 1, "build": 1}, 1, 1)  # the batch is put together of columns with nulls
    assert pa.record_batch(out.to("cpu")).equals(batch.take(indices))


@compiles
def test_each_level_of_lists_waits_once(counted):
    lists = [[texts(i % 3, i + k) for i in range(50)] for k in range(3)]
    batch = batch_of([pa.array(x, pa.list_(pa.string())) for x in lists])
    mask = pa.array([i % 3 != 1 for i in range(50)])
    x, m = cdevice.asarray(batch).to("kernelled"), cdevice.asarray(mask).to("kernelled")
    out, found = counted(lambda: cc.filter(x, m))
    assert found == ({"compute_filter": 1}, 2, 2)
    assert out.to("cpu").to_pylist() == batch.filter(mask).to_pylist()


@compiles
def test_a_take_that_checks_nothing_and_counts_nothing_does_not_wait(counted):
    batch = batch_of(
        [pa.array(range(50)), pa.array([{"x": 1.5}, None] * 25), pa.array([[1, 2]] * 50, pa.list_(pa.int8(), 2))]
    )
    x = cdevice.asarray(batch).to("kernelled")
    i = cdevice.asarray(pa.array([7, 1, 0], pa.int64())).to("kernelled")
    out, found = counted(lambda: cc.take(x, i, boundscheck=False))
    assert found == ({"compute_take": 1}, 0, 0)
    assert out.to("cpu").to_pylist() == [batch.to_pylist()[k] for k in (7, 1, 0)]


# ---- layouts in layouts ----
def leaves(n, rng):
    """Arrays of n rows without rows below them."""

    def some(values):
        return [rng.choice([*values, None]) for _ in range(n)]

    return [
        pa.array(some([1, -5, 1 << 40]), pa.int64()),
        pa.array(some([True, False])),
        pa.array(some(WORDS), pa.string()),
        pa.array(some([b"", b"xyz", b"\0" * 40]), pa.large_binary()),
        pa.array(some(WORDS), pa.string_view()),
        pa.array(some([b"abc", b"xyz"]), pa.binary(3)),
        pa.array(some(WORDS), pa.string()).dictionary_encode(),
        pa.nulls(n),
    ]


def tree(n, depth, rng):
    """An array of n rows, of some layout around others; a slice of a longer one."""
    if depth == 0:
        return rng.choice(leaves(n + 3, rng)).slice(3)
    kind = rng.choice(["list", "large_list", "list_view", "fixed", "struct", "sparse", "dense", "runs", "map"])
    sizes = [rng.choice([0, 1, 1, 3]) for _ in range(n + 2)]
    nulls = pa.array([rng.random() < 0.2 for _ in sizes])
    ends = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    if kind in ("list", "large_list"):
        cls, t = (pa.ListArray, pa.int32()) if kind == "list" else (pa.LargeListArray, pa.int64())
        return cls.from_arrays(pa.array(ends, t), tree(ends[-1], depth - 1, rng), mask=nulls).slice(2)
    if kind == "list_view":
        starts, counts = pa.array(ends[:-1], pa.int32()), pa.array(sizes, pa.int32())
        return pa.ListViewArray.from_arrays(starts, counts, tree(ends[-1], depth - 1, rng), mask=nulls).slice(2)
    if kind == "fixed":
        return pa.FixedSizeListArray.from_arrays(tree(3 * (n + 2), depth - 1, rng), 3, mask=nulls).slice(2)
    if kind == "struct":
        parts = [tree(n + 2, depth - 1, rng) for _ in range(2)]
        return pa.StructArray.from_arrays(parts, ["p", "q"], mask=nulls).slice(2)
    if kind == "sparse":
        parts = [tree(n + 2, depth - 1, rng) for _ in range(2)]
        return pa.UnionArray.from_sparse(pa.array([i % 2 for i in range(n + 2)], pa.int8()), parts).slice(2)
    if kind == "dense":
        half = n // 2 + 1
        kinds, rows = [i % 2 for i in range(2 * half)], [i // 2 for i in range(2 * half)]
        parts = [tree(half, depth - 1, rng), tree(half, depth - 1, rng)]
        return pa.UnionArray.from_dense(pa.array(kinds, pa.int8()), pa.array(rows, pa.int32()), parts).slice(0, n)
    if kind == "runs":
        values, at = tree(n + 2, 0, rng), [2 * i + 2 for i in range(n + 2)]
        return pa.RunEndEncodedArray.from_arrays(pa.array(at, pa.int32()), values).slice(3, n)
    keys = pa.array([f"k{i}" for i in range(ends[-1])])
    return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys, tree(ends[-1], depth - 1, rng)).slice(2)


@everywhere
@pytest.mark.parametrize("seed", range(12))
def test_rows_of_layouts_in_layouts_are_chosen(device, seed):
    rng = random.Random(seed)
    n = 40
    arrays = [tree(n, depth, rng) for depth in (1, 2, 3)] + leaves(n, rng)
    for a in arrays:
        a.validate(full=True)
    rows = list(zip(*(a.to_pylist() for a in arrays), strict=True))
    x = there(batch_of(arrays), device)
    mask = pa.array([rng.choice([True, False, None]) for _ in range(n)])
    kept = [r for r, m in zip(rows, mask.to_pylist(), strict=True) if m]
    got = cc.filter(x, there(mask, device)).to("cpu")
    got.validate("full")
    assert [tuple(map(repr, r)) for r in columns_of(got)] == [tuple(map(repr, r)) for r in kept]
    picks = [rng.randrange(n) for _ in range(25)]
    got = cc.take(x, there(pa.array(picks, pa.int64()), device)).to("cpu")
    got.validate("full")
    assert [tuple(map(repr, r)) for r in columns_of(got)] == [tuple(map(repr, rows[i])) for i in picks]


def columns_of(batch):
    """Its rows, as pyarrow has them."""
    return zip(*(pa.array(batch.field(i)).to_pylist() for i in range(len(batch.column_names))), strict=True)


@everywhere
def test_many_rows_of_strings_are_gathered(device):
    n = 40_000
    a, b = pa.array(texts(n, 1)), pa.array(texts(n + 5, 2), pa.large_string()).slice(5)
    plain = pa.array([w or "x" for w in texts(n, 3)])
    x = there(batch_of([a, b, plain]), device)
    for share in (0.5, 0.01, 1.0):
        rng = random.Random(share)
        mask = pa.array([rng.random() < share for _ in range(n)])
        got = cc.filter(x, there(mask, device)).to("cpu")
        got.validate("full")
        assert pa.record_batch(got).equals(batch_of([a, b, plain]).filter(mask))
    rng = random.Random(9)
    picks = pa.array([rng.choice([None, rng.randrange(n)]) for _ in range(n)], pa.int64())
    for c in (a, b, plain):
        got = back(cc.take(there(c, device), there(picks, device)))
        got.validate(full=True)
        assert got.equals(c.take(picks))


@everywhere
def test_a_null_of_the_mask_is_a_null_in_each_column(device):
    batch = batch_of([pa.array(texts(30)), pa.array(range(30)), pa.array([[i] for i in range(30)])])
    mask = pa.array([[True, None, False][i % 3] for i in range(30)])
    got = cc.filter(there(batch, device), there(mask, device), null_selection_behavior="emit_null").to("cpu")
    got.validate("full")
    assert pa.record_batch(got).equals(batch.filter(mask, null_selection_behavior="emit_null"))


@everywhere
def test_rows_that_may_be_null_are_of_a_field_that_may_be(device):
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array([3, 4])])
    columns = [
        pa.array([1, 2]),
        pa.array(["a", "b"]),
        pa.array([{"x": 1}, {"x": 2}], pa.struct([pa.field("x", pa.int64(), nullable=False)])),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), [5, 6]),
        union,
    ]
    fields = [pa.field(f"c{i}", c.type, nullable=False) for i, c in enumerate(columns)]
    batch = pa.record_batch(columns, schema=pa.schema(fields, metadata={"of": "the schema"}))
    x = there(batch, device)
    picks, mask = pa.array([1, None]), pa.array([None, True])
    for got, rows in (
        (cc.take(x, there(picks, device)), [1, None]),
        (cc.filter(x, there(mask, device), null_selection_behavior="emit_null"), [None, 1]),
    ):
        got = got.to("cpu")
        got.validate("full")
        whole = pa.record_batch(got)
        whole.validate(full=True)
        assert all(f.nullable for f in whole.schema) and whole.schema.metadata == batch.schema.metadata
        assert whole.to_pylist() == [
            dict.fromkeys(whole.schema.names) if i is None else batch.to_pylist()[i] for i in rows
        ]
        assert whole["c2"].type == columns[2].type  # a field below a null says nothing of it
    for name in {*batch.schema.names} - {"c2"}:  # a struct that is never null is a batch
        assert cc.take(x[name], there(picks, device)).schema.nullable
        assert cc.filter(x[name], there(mask, device), null_selection_behavior="emit_null").schema.nullable
    for got in (cc.take(x, there(pa.array([1]), device)), cc.filter(x, there(mask, device))):
        assert not any(c.nullable for c in got.schema.children)


@everywhere
def test_what_was_chosen_keeps_what_it_shares(device):
    words = [w for w in WORDS if w]
    batch = batch_of(
        [pa.array(words, pa.string_view()), pa.array(words).dictionary_encode(), pa.array([words[:2]] * 5)]
    )
    x = there(batch, device)
    got = cc.take(x, there(pa.array([4, 0], pa.int64()), device))
    want = [batch.to_pylist()[i] for i in (4, 0)]
    x.release()
    del x
    assert got.to("cpu").to_pylist() == want
    second = cc.take(got, there(pa.array([1], pa.int64()), device))
    got.release()
    assert second.to("cpu").to_pylist() == want[1:]


@everywhere
def test_rows_that_offsets_cannot_count_are_an_error(device):
    big = there(pa.array(["x" * (1 << 20)]), device)
    picks = there(pa.array([0] * 2049, pa.int64()), device)
    with pytest.raises(
        cdevice.ArgumentError,
        match="more than 32-bit offsets can count; cast the argument to large_string, large_binary or large_list",
    ):
        cc.take(big, picks)


@everywhere
def test_numbers_of_32_bits_take_the_same_rows(device):
    n = 100
    columns = {
        "bool": pa.array([None if k % 7 == 0 else k % 3 == 0 for k in range(n)]),
        "int8": pa.array(range(n), pa.int8()),
        "int64": pa.array([None if k % 5 == 0 else k for k in range(n)]),
        "decimal": pa.array(range(n), pa.decimal128(20, 2)),
        "bytes": pa.array([bytes([k] * 3) for k in range(n)], pa.binary(3)),
        "string": pa.array(texts(n)),
        "list": pa.array([[k] * (k % 4) for k in range(n)]),
        "dictionary": pa.array(texts(n)).dictionary_encode(),
    }
    numbers = [None if k % 11 == 0 else k * 17 % n for k in range(200)]
    for values in ([k or 0 for k in numbers], numbers):
        given = pa.array(values, pa.uint32())
        short = there(given, device)[3:150]
        for name, column in columns.items():
            got = _native.compute_take(there(column, device), short, False, 0, None)
            assert back(got).to_pylist() == column.take(given[3:150]).to_pylist(), name
    far = there(pa.array([1, (1 << 32) - 1], pa.uint32()), device)
    for name in ("int64", "string"):
        with pytest.raises(cdevice.ArgumentError, match="4294967295"):
            back(_native.compute_take(there(columns[name], device), far, True, 0, None))


def test_types_of_masks_and_numbers_are_looked_at():
    a, where = cdevice.asarray([1, 2]), (0, None)
    with pytest.raises(cdevice.ArgumentError, match='filter: a mask is bool, not "l"'):
        _native.compute_filter(a, a, False, *where)
    with pytest.raises(cdevice.ArgumentError, match='take: numbers of rows are int64 or uint32, not "i"'):
        _native.compute_take(a, cdevice.asarray([1], schema="int32"), False, *where)


def test_buffers_that_are_not_aligned_are_chosen_from():
    n = 20
    whole = pa.array(texts(n))
    moved = [b if b is None else pa.py_buffer(b"x" + b.to_pybytes()).slice(1) for b in whole.buffers()]
    odd = pa.Array.from_buffers(whole.type, n, moved)
    mask = pa.array([i % 3 > 0 for i in range(n)])
    assert pa.record_batch(cc.filter(batch_of([odd]), mask)).equals(batch_of([whole]).filter(mask))


@everywhere
def test_a_batch_without_columns_keeps_its_number_of_rows(device):
    empty = there(batch_of([pa.array(range(3))]), device).select([])
    assert len(cc.filter(empty, there(pa.array([True, False, True]), device))) == 2
    assert len(cc.take(empty, there(pa.array([2, 2, 2, 0], pa.int64()), device))) == 4


@pytest.mark.parametrize("word", ["int8", "int16", "float32", "int64", "decimal128(30, 2)"])
@everywhere
def test_the_first_number_beyond_the_rows_is_refused(device, word):
    kind = pa.decimal128(30, 2) if "decimal" in word else getattr(pa, word)()
    column = cdevice.asarray(pa.array([1, 2, 3], pa.int64()).cast(kind)).to(device)
    for numbers in (pa.array([0, 3]), pa.array([3, None], pa.uint32()), pa.array([-1])):
        with pytest.raises(IndexError):
            cc.take(column, cdevice.asarray(numbers).to(device)).to("cpu")
