"""Casts of times, dictionaries and nulls on every device, against pyarrow.compute."""

import itertools

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import OF_PYARROW_26, back, check, column, there  # noqa: E402
from everywhere import device, everywhere  # noqa: E402, F401

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

TIMES = [
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time64("us"),
    pa.timestamp("s"),
    pa.timestamp("ms", "UTC"),
    pa.timestamp("ns", "Europe/Berlin"),
    pa.duration("s"),
    pa.duration("us"),
    pa.int32(),
    pa.int64(),
]


def moments(kind, whole):
    """Times; ``whole``: those of units that are narrower too."""
    values = [3, 5, None, 86399, 0] if pa.types.is_time(kind) else [3, -5, None, 90061, 0, -1]
    by = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}.get(getattr(kind, "unit", None), 1) if whole else 1
    if kind == pa.date64():
        values, by = [v and v % 9 for v in values], 86400000 if whole else 1001
    storage = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array([v if v is None else v * by for v in values] * 7, storage).cast(kind)


def answers(device, a, target, safe):
    """Both say the same, or both refuse it; was there an answer?"""
    try:
        want = a.cast(target, safe=safe)
    except pa.ArrowNotImplementedError:
        with pytest.raises(cc.NoKernel):
            cc.cast(there(a, device), target, safe=safe)
        return False
    except pa.ArrowInvalid as e:
        text = str(e).rpartition(":")[0]  # which row is told of is left open
        text = text.replace("date32[day]", "date32").replace("date64[ms]", "date64").replace("[", r"\[")
        with pytest.raises(cdevice.ArgumentError, match=text):
            cc.cast(there(a, device), target, safe=safe)
        return False
    check(device, "cast", (a.slice(2, 25), target), expected=want.slice(2, 25), safe=safe)
    return True


@everywhere
def test_times_are_cast(device):
    kinds = TIMES if device == "cpu" else TIMES[::2]
    count = 0
    for a, b in itertools.product(kinds, kinds):
        for whole, safe in itertools.product((True, False), (True, False)):
            count += answers(device, moments(a, whole), b, safe)
    assert count > (150 if device == "cpu" else 40)


@everywhere
def test_times_that_do_not_fit_are_told(device):
    for values, source, target in (
        ([1 << 60, 3], pa.timestamp("s"), pa.timestamp("ms")),
        ([None, -(1 << 60)], pa.duration("s"), pa.duration("ns")),
        ([(1 << 31) - 1], pa.date32(), pa.timestamp("us")),
        ([86401000, None], pa.timestamp("ms"), pa.time32("s")),
        ([1001], pa.timestamp("ms"), pa.time32("s")),
    ):
        a = pa.array(values, pa.int32() if source == pa.date32() else pa.int64()).cast(source)
        answers(device, a, target, True)
        answers(device, a, target, False)
    a = pa.array([1001, None, 2000], pa.int64())  # what is null does not count
    a = pc.if_else(pa.array([False, True, True]), a.cast(pa.timestamp("ms")), pa.scalar(None, pa.timestamp("ms")))
    assert answers(device, a, pa.timestamp("s"), True)


@everywhere
def test_nulls_become_any_type(device):
    nulls = there(pa.nulls(40), device)
    for kind in (
        pa.int8(),
        pa.bool_(),
        pa.float64(),
        pa.string(),
        pa.decimal128(5, 2),
        pa.timestamp("s", "UTC"),
        pa.list_(pa.int8()),
        pa.struct({"a": pa.int8(), "b": pa.string()}),
        pa.dictionary(pa.int8(), pa.string()),
        pa.map_(pa.string(), pa.int8()),
        pa.null(),
    ):
        got = back(cc.cast(nulls, kind))
        assert got.type == kind and got.null_count == 40 and len(got) == 40
        assert back(cc.cast(nulls[:0], kind)).to_pylist() == []


@everywhere
def test_nulls_are_arguments(device):
    n, mask = pa.nulls(33), column("bool", 33, seed=9)
    for name in ("is_null", "is_valid", "count", "sum", "mean", "min", "max", "min_max", "drop_null", "negate", "abs"):
        check(device, name, (n,))
    check(device, "count", (n,), mode="only_null")
    check(device, "sum", (n,), min_count=0)
    check(device, "mean", (n,), min_count=0)
    assert back(cc.count([there(n, device), there(n.slice(0, 3), device)], mode="all")).as_py() == 36
    check(device, "is_nan", (n,), expected=pa.nulls(33, pa.bool_()))
    check(device, "add", (n, n))
    text = pa.array(["a", None, "ccc"] * 11)
    for other in (column("int64", 33), column("float32", 33)):
        for name in ("add", "multiply", "less", "equal"):
            check(device, name, (n, other))
            check(device, name, (other, n))
    check(device, "subtract", (column("timestamp[ms]", 33), n))
    for other in (column("int64", 33), column("bool", 33), text, column("timestamp[ms]", 33)):
        check(device, "equal", (other, n))
        check(device, "if_else", (mask, n, other))
        check(device, "if_else", (n, other, other), expected=pa.nulls(33, other.type))
        check(device, "fill_null", (n, other), expected=other)
        check(device, "coalesce", (other, n), expected=other)
    check(device, "if_else", (mask, n, n))
    check(device, "filter", (n, mask))
    check(device, "take", (n, pa.array([0, None, 32])))
    with pytest.raises(cc.IndexOutOfBounds, match="index 33"):
        cc.take(there(n, device), there(pa.array([33]), device))
    with pytest.raises(ValueError, match="must have the same length"):
        cc.add(there(n, device), there(n.slice(1), device))
    batch = pa.record_batch({"a": column("int64", 33), "n": n})
    got = cc.filter(there(batch, device), there(mask, device)).to("cpu")
    assert pa.record_batch(got).equals(batch.filter(mask))


@OF_PYARROW_26
@everywhere
def test_dictionaries_are_what_they_stand_for(device):
    words = pa.array(["a", "b", None, "a", "ccc"] * 9).dictionary_encode()
    other = pa.array(["b", None, "a", "a", "ccc"] * 9)
    numbers = pa.array([5, 6, None, 5, -7] * 9).dictionary_encode()
    with_null = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1] * 9, pa.int8()), pa.array(["x", None]))
    for a, target in (
        (words, pa.string()),
        (words.slice(3, 30), pa.string()),
        (numbers, pa.int64()),
        (numbers.slice(1), pa.int8()),
        (with_null, pa.string()),
    ):
        check(device, "cast", (a, target))
    for name in ("is_null", "is_valid", "count"):  # a row whose value is null is null
        for a in (words, words.slice(3, 30), with_null, with_null.slice(5)):
            check(device, name, (a,))
    for name in ("equal", "not_equal", "less", "greater_equal"):
        check(device, name, (words, other.dictionary_encode()))
        check(device, name, (words, other))
        check(device, name, (other, words))
        check(device, name, (words, pa.scalar("a")))
        check(device, name, (numbers, pa.array([5, 5, 5, None, 9] * 9)))
    check(device, "add", (numbers, numbers))
    check(device, "add", (numbers, 1))
    check(device, "if_else", (column("bool", 45), words, other))
    assert cc.sum(there(numbers, device)).as_py() == pc.sum(numbers.dictionary_decode()).as_py()


@everywhere
def test_a_null_of_the_mask_may_become_a_null_row(device):
    mask = column("bool", 100, seed=5).slice(3, 90)
    structs = pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "bbb"}] * 30)
    for a in (
        column("int32").slice(7, 90),
        column("bool", nulls=0).slice(1, 90),
        pa.array(["a", None, "ccc"] * 30),
        pa.array([[1], None, []] * 30),
        structs,
        pa.array(["a", "b", None] * 30).dictionary_encode(),
        pa.nulls(90),
    ):
        check(device, "filter", (a, mask), null_selection_behavior="emit_null")
        whole = pa.array([True, False] * 45)
        check(device, "filter", (a, whole), null_selection_behavior="emit_null")
    batch = pa.record_batch({"a": column("int64", 90), "s": structs})
    got = cc.filter(there(batch, device), there(mask, device), null_selection_behavior="emit_null")
    assert pa.record_batch(got.to("cpu")).equals(batch.filter(mask, null_selection_behavior="emit_null"))
    with pytest.raises(ValueError, match="must be one of 'drop', 'emit_null', not 'keep'"):
        cc.filter(there(batch, device), there(mask, device), null_selection_behavior="keep")


@everywhere
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_float_that_no_integer_is_near_is_named_alike_by_every_processor(device, kind):
    """x86-64 has one number for all of them, others have the greatest, the least, and 0."""
    most = 2**63 - 1
    for value, words in {
        1e30: f"a float of at least {most}",
        float("inf"): f"a float of at least {most}",
        -1e30: f"a float of at most -{most}",
        float("-inf"): f"a float of at most -{most}",
        float("nan"): "NaN",
        -3e9: "a float near -3000000000",
        2.5: "a float near 2",
    }.items():
        with pytest.raises(cdevice.ArgumentError) as e:
            cc.cast(there(pa.array([1, value], kind), device), pa.int32())
        assert str(e.value) == f"cast: {words} was truncated converting to int32"
