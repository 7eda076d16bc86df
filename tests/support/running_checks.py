"""Running totals, differences of rows, rows in the place of others and run ends, on every device, against pyarrow."""

import itertools
import math
import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import OF_PYARROW_26, OLDER, OLDER_PYARROW, drawn, places, shown  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

NUMBERS = {
    "int8": drawn([1, -1, 3, 100], pa.int8()),
    "int64": drawn([None, 1, 2, 3, -5, 1 << 40], n=9000),
    "uint16": drawn([0, 1, 2, None, 60_000], pa.uint16()),
    "float64": drawn([0.5, -1.25, 3.0, 1024.0]),
    "float64 with NaN": drawn([None, 0.5, -0.0, float("nan"), float("inf")]),
    "one row": pa.array([7]),
    "no rows": pa.array([], pa.int64()),
    "nulls alone": pa.array([None] * 40, pa.int64()),
}
OTHERS = {
    "string": drawn([None, "", "a", "ab"]),
    "bool": drawn([None, True, False]),
    "decimal128": drawn([None, 0, -1, 1 << 90], pa.decimal128(37, 0)),
    "timestamp": drawn([None, 1, 2, 3], pa.timestamp("us", "UTC")),
    "list": drawn([None, [1], [], [2, None]], pa.list_(pa.int32()), 40),
}
COLUMNS = NUMBERS | OTHERS


def each(columns):
    cases = [  # kernels are compiled for each type: of few there
        pytest.param(p, w, id=f"{p}-{w}")
        for w in columns
        for p in places("int64")
        if "opencl" not in p or w != "uint16"
    ]
    return pytest.mark.parametrize(("device", "word"), cases, indirect=["device"])


def slices(word):
    whole = COLUMNS[word]
    return [whole, whole[5:-2]] if len(whole) > 8 else [whole]


def agrees(device, name, *args, options=None, **named):
    want = getattr(pc, name)(*args, **(options or named))
    there = [cdevice.asarray(a).to(device) if isinstance(a, pa.Array) else a for a in args]
    got = pa.array(getattr(cc, name)(*there, **named).to("cpu"))
    got.validate(full=True)
    assert got.type == want.type and shown(got) == shown(want)


@each(NUMBERS)
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod", "cumulative_min", "cumulative_max"])
def test_a_running_value_is_that_of_all_rows_up_to_it(device, word, name):
    if OLDER_PYARROW and (word, name) == ("float64 with NaN", "cumulative_max"):
        pytest.skip(OLDER)
    for a, skip in itertools.product(slices(word), (False, True)):
        if name == "cumulative_prod":
            a = a[:30]  # further on the floats overflow in another order
        agrees(device, name, a, skip_nulls=skip)
        agrees(device, name, a, start=3, skip_nulls=skip)


@each(NUMBERS)
def test_a_running_mean_is_that_of_the_rows_that_count(device, word):
    for a, skip in itertools.product(slices(word), (False, True)):
        want = pc.cumulative_mean(a, skip_nulls=skip).to_pylist()
        got = cc.cumulative_mean(cdevice.asarray(a).to(device), skip_nulls=skip).to("cpu").to_pylist()
        assert len(got) == len(want)
        for x, y in zip(got, want, strict=True):
            assert x is y or (x != x and y != y) or math.isclose(x, y, rel_tol=1e-12), (x, y)


@each(["int64"])
@pytest.mark.parametrize("name", ["cumulative_sum_checked", "cumulative_prod_checked"])
def test_an_overflow_on_the_way_is_an_error_and_one_behind_a_null_is_none(device, word, name):
    one = pa.array([3, 3, None, 127, 127], pa.int8())
    agrees(device, name, one)
    with pytest.raises(ArgumentError, match=name):
        getattr(cc, name)(cdevice.asarray(one).to(device), skip_nulls=True)
    with pytest.raises(ArgumentError, match=name):
        getattr(cc, name)(cdevice.asarray(pa.array([100], pa.int8())).to(device), start=100)
    back = cdevice.asarray(pa.array([100, 27, -100, 100, -1, 1], pa.int8())).to(device)
    if "sum" in name:
        assert cc.cumulative_sum_checked(back).to("cpu").to_pylist() == [100, 127, 27, 127, 126, 127]


def test_a_start_that_the_type_cannot_hold_is_an_error():
    with pytest.raises(ValueError, match="300"):
        cc.cumulative_sum(cdevice.asarray(pa.array([1], pa.uint8())), start=300)
    with pytest.raises(TypeError, match="start must be a number"):
        cc.cumulative_sum([1], start="x")


def test_floats_have_the_same_bits_for_any_number_of_threads():
    rng = random.Random(1)
    x = cdevice.asarray(pa.array([rng.uniform(-1, 1) * 10 ** rng.randint(-9, 9) for _ in range(300_000)]))
    found, before = [], cc.cpu_count()
    try:
        for threads in (1, 3):
            cc.set_cpu_count(threads)
            found.append([f(x).to_pylist() for f in (cc.cumulative_sum, cc.cumulative_max)])
    finally:
        cc.set_cpu_count(before)
    assert found[0] == found[1]


@OF_PYARROW_26
@each(COLUMNS)
def test_differences_are_those_of_rows_a_period_apart(device, word):
    for a in slices(word):
        if word in ("string", "bool", "list"):
            with pytest.raises(cc.NoKernel, match="pairwise_diff"):
                cc.pairwise_diff(cdevice.asarray(a).to(device))
            continue
        for period in (1, -1, 3, 0, 1000):
            agrees(device, "pairwise_diff", a, period=period)


@each(["int64"])
def test_a_difference_that_overflows_is_an_error_only_where_it_is_checked(device, word):
    a = cdevice.asarray(pa.array([-128, 127], pa.int8())).to(device)
    assert cc.pairwise_diff(a).to("cpu").to_pylist() == [None, -1]
    with pytest.raises(ArgumentError):
        cc.pairwise_diff_checked(a)


@OF_PYARROW_26
@each(COLUMNS)
def test_nulls_become_the_value_before_or_behind(device, word):
    for a, name in itertools.product(slices(word), ("fill_null_forward", "fill_null_backward")):
        if word != "list":
            agrees(device, name, a)
            continue
        rows, out = a.to_pylist(), []
        for x in rows if "forward" in name else reversed(rows):
            out.append(x if x is not None else out[-1] if out else None)
        got = getattr(cc, name)(cdevice.asarray(a).to(device)).to("cpu").to_pylist()
        assert got == (out if "forward" in name else out[::-1])


@each([w for w in COLUMNS if w not in ("string", "timestamp", "list")])
def test_rows_that_are_not_zero_are_numbered(device, word):
    for a in slices(word):
        agrees(device, "indices_nonzero", a)


@OF_PYARROW_26
@each([w for w in COLUMNS if w != "list"])
def test_replacements_come_in_the_order_of_the_masks_true_rows(device, word):
    for a in slices(word):
        mask = drawn([True, False, None], pa.bool_(), n=len(a))
        n = sum(x is True for x in mask.to_pylist())
        more = a.take(pa.array([i % len(a) for i in range(n + 2)], pa.int64())) if len(a) else a
        agrees(device, "replace_with_mask", a, mask, more)
        if n:
            there = [cdevice.asarray(x).to(device) for x in (a, mask, more[: n - 1])]
            with pytest.raises(ArgumentError, match=f"{n - 1} replacements for {n} rows"):
                cc.replace_with_mask(*there)
        if len(a):
            agrees(device, "replace_with_mask", a, True, more[:1].take(pa.array([0] * len(a))))
            agrees(device, "replace_with_mask", a, False, a)


@each(["int8", "string"])
def test_one_replacement_is_that_of_every_true_row_and_a_mask_has_the_same_length(device, word):
    a, mask = COLUMNS[word], drawn([True, False, None])
    value = "x" if word == "string" else 9
    there = [cdevice.asarray(x).to(device) for x in (a, mask)]
    want = [value if m else None if m is None else x for x, m in zip(a.to_pylist(), mask.to_pylist(), strict=True)]
    assert cc.replace_with_mask(*there, value).to("cpu").to_pylist() == want
    assert cc.replace_with_mask(there[0], pa.scalar(None, pa.bool_()), value).to("cpu").to_pylist() == [None] * len(a)
    assert cc.replace_with_mask(there[0], None, value).to("cpu").to_pylist() == [None] * len(a)
    with pytest.raises(ArgumentError, match="a mask of 3 rows for 300"):
        cc.replace_with_mask(there[0], there[1][:3], there[0])


@each([w for w in COLUMNS if w != "list"])
def test_runs_of_equal_rows_are_encoded_and_decoded(device, word):
    for a in slices(word):
        ordered = a.take(pc.array_sort_indices(a)) if word != "no rows" else a
        for x, kind in itertools.product((a, ordered), ("int16", "int32", "int64")):
            want = pc.run_end_encode(x[:30_000], run_end_type=getattr(pa, kind)())
            there = cc.run_end_encode(cdevice.asarray(x[:30_000]).to(device), kind)
            got = pa.array(there.to("cpu"))
            assert got.type == want.type and shown(got.values) == shown(want.values)
            assert got.run_ends.to_pylist() == want.run_ends.to_pylist()
            assert shown(pa.array(cc.run_end_decode(there).to("cpu"))) == shown(x[:30_000])


def test_floats_are_one_run_where_their_bits_are_the_same():
    found = pa.array(cc.run_end_encode([0.0, -0.0, float("nan"), float("nan"), 1.0]))
    assert found.run_ends.to_pylist() == [1, 2, 4, 5]


def test_more_rows_than_the_run_ends_count_are_an_error():
    with pytest.raises(ArgumentError, match="40000|32767"):
        cc.run_end_encode(cdevice.asarray(pa.array(range(40_000))), "int16")
    with pytest.raises(ValueError, match="run_end_type"):
        cc.run_end_encode([1], "int8")


def test_decoding_takes_nothing_but_run_ends():
    with pytest.raises(cc.NoKernel):
        cc.run_end_decode([1, 2])


@each(["int64"])
def test_encoded_arrays_are_taken_as_their_values(device, word):
    a = pa.array([1, 1, None, 4, 4, 4])
    for encoded in (a.dictionary_encode(), pc.run_end_encode(a)):
        there = cdevice.asarray(encoded).to(device)
        assert cc.cumulative_sum(there, skip_nulls=True).to("cpu").to_pylist() == [1, 2, None, 6, 10, 14]
        assert cc.indices_nonzero(there).to("cpu").to_pylist() == [0, 1, 3, 4, 5]
        assert cc.quantile(there).to("cpu").to_pylist() == [4]
        assert cc.fill_null_forward(there).to("cpu").to_pylist() == [1, 1, 1, 4, 4, 4]
        assert cc.take(there, [3]).to("cpu").schema.type == there.schema.type  # as it is where that can be


def test_chunks_become_one_array():
    chunks = [pa.array([1, None]), pa.array([3, 4])]
    assert cc.cumulative_sum(chunks, skip_nulls=True).to_pylist() == [1, None, 4, 8]
    assert cc.fill_null_forward(chunks).to_pylist() == [1, 1, 3, 4]
    assert cc.pairwise_diff(chunks).to_pylist() == [None, None, None, 1]


def test_options_of_pyarrow_are_taken():
    x = pa.array([1, None, 5])
    assert cc.cumulative_sum(x, options=pc.CumulativeOptions(skip_nulls=True)).to_pylist() == [1, None, 6]
    assert cc.pairwise_diff(x, options=pc.PairwiseOptions(2)).to_pylist() == [None, None, 4]
    with pytest.raises(TypeError, match="start"):
        cc.cumulative_sum(x, options=pc.CumulativeOptions(start=1))
