"""Every function on every device, against pyarrow.compute."""

import numpy as np
import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import (  # noqa: E402
    FLOATS,
    INTEGERS,
    NUMBERS,
    PLACES,
    SIGNED,
    SLICES,
    TIMES,
    check,
    column,
    enter,
    pairs,
    places,
    typed,
)

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402


def runs(*words):
    return [pytest.param(p, w, id=f"{p}-{w}") for w in words for p in places(w)]


def on(*words):
    return pytest.mark.parametrize(("device", "word"), runs(*words), indirect=["device"])


@on(*NUMBERS)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_arithmetic_is_arrows(device, word, name):
    for a, b in pairs(word):
        check(device, name, (a, b))


@on(*NUMBERS)
def test_division_is_arrows(device, word):
    for a, b in pairs(word):
        if word in INTEGERS:
            b = pc.if_else(pc.equal(b, pa.scalar(0, b.type)), pa.scalar(7, b.type), b)
        check(device, "divide", (a, b))


@on(*NUMBERS)
def test_negate_and_abs_are_arrows(device, word):
    for i, n in SLICES:
        a = column(word).slice(i, n)
        check(device, "negate", (a,))
        check(device, "abs", (a,))


@on(*NUMBERS, "bool", *TIMES)
@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_comparisons_are_arrows(device, word, name):
    for a, b in pairs(word):
        check(device, name, (a, b))
    same = column(word)
    check(device, name, (same, same))


@on(*NUMBERS)
def test_a_single_value_stands_for_all_rows(device, word):
    a = column(word)
    one = pa.scalar(3, a.type)
    for args in ((a, one), (one, a), (a, pa.scalar(None, a.type))):
        for name in ("add", "subtract", "less", "greater_equal"):
            check(device, name, args)
    got = cc.add(cc.sum(cdevice.asarray(a).to(device)), cdevice.asarray(a).to(device))  # one row that the device has
    assert len(got) == len(a)


@everywhere
def test_numbers_of_python_have_arrows_types(device):
    for word in ("uint8", "int32", "float32", "float64", "int64"):
        a = pa.array([0, 1, None, 100, 7] * 20, typed(word))
        for value in (1, -2, 2.5, None):
            check(device, "multiply", (a, value))
            check(device, "less_equal", (value, a))


@everywhere
def test_two_types_become_arrows_common_one(device):
    words = ("uint8", "int32", "int64", "float32", "float64") if device == "opencl" else NUMBERS
    for first in words:
        for second in words:
            if {first, second} & set(FLOATS) and {first, second} & {"int64", "uint64", "int32", "uint32"}:
                a, b = pa.array([1, None, 3], first), pa.array([7, 8, None], second)  # pyarrow refuses what is inexact
            elif "uint64" in (first, second):
                a, b = pa.array([1, None, 3], first), pa.array([7, 8, None], second)
            else:
                a, b = column(first), column(second, seed=4)
            check(device, "add", (a, b))
            check(device, "less", (a, b))


@everywhere
@pytest.mark.parametrize("name", ["and_", "or_", "xor", "and_kleene", "or_kleene"])
def test_logic_is_arrows(device, name):
    for a, b in pairs("bool"):
        check(device, name, (a, b))
    a = column("bool")
    for value in (True, False, None):
        one = pa.scalar(value, pa.bool_())
        check(device, name, (a, one))
        check(device, name, (one, a))


@everywhere
def test_nulls_are_told(device):
    for word in ("bool", "int32", "float64"):
        for i, n in SLICES:
            for nulls in (0, 0.3, 1):
                a = column(word, nulls=nulls).slice(i, n)
                check(device, "is_null", (a,))
                check(device, "is_valid", (a,))
    for i, n in SLICES:
        check(device, "invert", (column("bool").slice(i, n),))
        for word in FLOATS:
            check(device, "is_nan", (column(word).slice(i, n),))


@everywhere
def test_text_has_nulls_too(device):
    a = pa.array(["a", None, "ccc"] * 20).slice(1, 50)
    check(device, "is_null", (a,))
    check(device, "count", (a,))


@on(*NUMBERS, "bool", *TIMES)
def test_if_else_and_fill_null_are_arrows(device, word):
    condition = column("bool", 200, seed=9)
    for k, (a, b) in enumerate(pairs(word)):
        c = condition.slice(k % 40, len(a))
        check(device, "if_else", (c, a, b))
        check(device, "fill_null", (a, b), expected=pc.coalesce(a, b))
    a, one = column(word), column(word, nulls=0)[5]
    c = condition.slice(0, len(a))
    for args in (
        (c, a, one),
        (c, one, a),
        (c, one, one),
        (c, a, pa.scalar(None, a.type)),
        (True, a, one),
        (None, a, one),
    ):
        wanted = pc.if_else(*[pa.scalar(x, pa.bool_()) if x is None or x is True else x for x in args])
        check(device, "if_else", args, expected=wanted)
    check(device, "fill_null", (a, one))


@on(*SIGNED, "uint8", "uint64", *FLOATS)
def test_casts_that_fit_are_arrows(device, word):
    targets = ("int32", "int64", "uint8", "float32", "float64", "bool") if device == "opencl" else (*NUMBERS, "bool")
    small = pa.array([0, 1, None, 100, 7] * 20, typed(word))
    for target in targets:
        for i, n in SLICES:
            want = small.slice(i, n).cast(typed(target))
            got = cc.cast(cdevice.asarray(small.slice(i, n)).to(device), typed(target))
            assert pa.array(got.to("cpu")).equals(want), target
    bits = column("bool")
    assert pa.array(cc.cast(cdevice.asarray(bits).to(device), typed(word)).to("cpu")).equals(bits.cast(typed(word)))


@on(*INTEGERS)
def test_integers_wrap_where_a_cast_is_not_safe(device, word):
    a = column(word)
    for target in ("int32", "uint8", "int64"):
        want = a.cast(typed(target), safe=False)
        assert pa.array(cc.cast(cdevice.asarray(a).to(device), typed(target), safe=False).to("cpu")).equals(want)


@on(*NUMBERS)
def test_aggregates_are_arrows(device, word):
    for nulls in (0, 0.3, 1):
        for i, n in (*SLICES, (0, 9000), (13, 8500)):
            a = column(word, 10000 if n > 200 else 140, nulls=nulls).slice(i, n)
            if word in FLOATS:
                a = pc.if_else(pc.is_finite(a), a, pa.scalar(None, a.type))
                a = pc.if_else(pc.less(pc.abs(a), pa.scalar(1e6, a.type)), a, pa.scalar(1.0, a.type))
            d = cdevice.asarray(a).to(device)
            check(device, "min_max", (a,))
            check(device, "count", (a,))
            for name in ("sum", "mean"):
                got, want = getattr(cc, name)(d).as_py(), getattr(pc, name)(a).as_py()
                if got is None or want is None or (name == "sum" and word in INTEGERS):
                    assert got == want, (name, nulls, i, n)
                else:
                    assert got == pytest.approx(want, rel=1e-12, abs=1e-9), (name, nulls, i, n)


@everywhere
def test_extremes_of_dates_and_times_are_arrows_in_every_unit_and_zone(device):
    values = np.random.default_rng(5).integers(0, 80_000, 700)
    whole = [pa.timestamp(u, zone) for u in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Asia/Tokyo", "+02:00")]
    whole += [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.date32(), pa.date64()]
    for t in whole:
        stored = (values * 86_400_000 if t == pa.date64() else values).astype("i4" if t.bit_width == 32 else "i8")
        a = pa.array(stored, mask=values % 3 == 0).cast(t)
        for part in (a, a.slice(13, 600), a.slice(5, 0)):
            for name in ("min", "max", "min_max"):
                check(device, name, (part,))


@everywhere
def test_a_mean_of_integers_is_of_their_exact_sum(device):
    r = np.random.default_rng(3)
    for kind, low, high in (("int64", -(2**63), 2**63 - 1), ("uint64", 0, 2**64 - 1)):
        for n in (1, 31, 5000, 9000):
            several = r.integers(low, high, n, kind, endpoint=True), r.integers(high - 9, high, n, kind)
            for values in (*several, r.integers(low, low + 9, n, kind)):
                mask = r.random(n) < 0.2
                left = [int(x) for x, no in zip(values, mask, strict=True) if not no]
                chunks = [cdevice.asarray(pa.array(v, mask=m)).to(device) for v, m in
                          ((values[: n // 3], mask[: n // 3]), (values[n // 3 :], mask[n // 3 :]))]  # fmt: skip
                assert cc.mean(chunks).as_py() == (float(sum(left)) / len(left) if left else None)


@on(*FLOATS)
def test_not_a_number_is_neither_least_nor_greatest(device, word):
    nan = float("nan")
    for values in ([nan, 1.0, 2.0], [1.0, nan], [nan, nan], [None, nan, 3.0]):
        a = pa.array(values, typed(word))
        got = cc.min_max(cdevice.asarray(a).to(device)).as_py()
        assert repr(got) == repr(pc.min_max(a).as_py())


@everywhere
@pytest.mark.parametrize("name", ["sum", "mean", "min", "max", "min_max", "any", "all"])
def test_the_options_of_aggregates_are_arrows(device, name):
    for word in ("bool",) if name in ("any", "all") else ("bool", "int32"):
        for values in ([True, None, False], [True, True], [None, None], [], [False, None], [True, None]):
            a = pa.array([None if v is None else int(v) for v in values], pa.int32())
            a = a.cast(pa.bool_()) if word == "bool" else a
            for skip in (True, False):
                for least in (0, 1, 3):
                    check(device, name, (a,), skip_nulls=skip, min_count=least)


@everywhere
def test_counting_has_arrows_modes(device):
    for mode in ("only_valid", "only_null", "all"):
        for nulls in (0, 0.4, 1):
            check(device, "count", (column("int32", nulls=nulls).slice(3, 90),), mode=mode)


@on(*NUMBERS, "bool", *TIMES)
def test_filter_is_arrows(device, word):
    mask = column("bool", 20000, seed=5)
    for i, n in SLICES:
        check(device, "filter", (column(word).slice(i, n), mask.slice(i + 3, n)))
    for nulls in (0, 0.3):
        a = column(word, 18000, nulls=nulls).slice(33, 17000)
        check(device, "filter", (a, mask.slice(1, 17000)))
        check(device, "filter", (a, pa.array([True] * 17000)))
        check(device, "filter", (a, pa.array([False] * 17000)))
    a = column(word)
    check(device, "drop_null", (a,))
    check(device, "drop_null", (column(word, nulls=0),))


@on(*NUMBERS, "bool", *TIMES)
def test_take_is_arrows(device, word):
    a = column(word).slice(3, 100)
    for indices in ([5, 0, 99, None, 5] * 20, [], [None, None], [1]):
        for kind in (pa.int64(), pa.int32(), pa.uint8()):
            check(device, "take", (a, pa.array(indices, kind)))
    check(device, "take", (column(word, nulls=0), pa.array([1, 2, 3])))
    check(device, "take", (a.slice(0, 0), pa.array([None], pa.int64())))


@everywhere
def test_batches_are_filtered_and_taken(device):
    batch = pa.record_batch(
        {
            "i": column("int32"),
            "f": column("float64", seed=2),
            "b": column("bool", seed=3),
            "t": column("timestamp[ms]"),
        }
    )
    d, mask = cdevice.asarray(batch).to(device), column("bool", seed=7)
    got = cc.filter(d, cdevice.asarray(mask).to(device))
    assert pa.record_batch(got.to("cpu")).to_pydict().__repr__() == batch.filter(mask).to_pydict().__repr__()
    got = cc.take(d, cdevice.asarray(pa.array([5, 1, 3])).to(device))
    assert (
        pa.record_batch(got.to("cpu")).to_pydict().__repr__() == batch.take(pa.array([5, 1, 3])).to_pydict().__repr__()
    )
    got = cc.drop_null(d)
    assert pa.record_batch(got.to("cpu")).to_pydict().__repr__() == pc.drop_null(batch).to_pydict().__repr__()


@everywhere
def test_dictionaries_and_decimals_are_filtered_and_taken(device):
    import decimal

    words = pa.array(["a", "b", None, "a"] * 10).dictionary_encode()
    mask = column("bool", 40)
    for a in (words, words.slice(3, 37), pa.array([decimal.Decimal("1.25"), None, decimal.Decimal(-7)] * 13)):
        m = mask.slice(0, len(a))
        got = cc.filter(cdevice.asarray(a).to(device), cdevice.asarray(m).to(device)).to("cpu").to_pylist()
        assert got == a.filter(m).to_pylist()
        rows = cdevice.asarray([3, None, 0]).to(device)
        got = cc.take(cdevice.asarray(a).to(device), rows).to("cpu").to_pylist()
        assert got == [a[3].as_py(), None, a[0].as_py()]


@everywhere
def test_times_are_added_as_arrow_adds_them(device):
    ts, d = column("timestamp[ms]"), column("duration[ns]").cast(pa.duration("ms"), safe=False)
    check(device, "subtract", (ts, column("timestamp[ms]", seed=8)))
    check(device, "add", (ts, d))
    check(device, "add", (d, ts))
    check(device, "subtract", (ts, d))
    check(device, "add", (d, d))


@everywhere
def test_chunks_are_one_argument(device):
    chunks = [column("int64", n, seed=n) for n in (5, 0, 9000, 33)]
    whole = pa.chunked_array(chunks)
    there = [cdevice.asarray(c).to(device) for c in chunks]
    assert cc.sum(there).as_py() == pc.sum(whole).as_py()
    assert cc.min_max(there).as_py() == pc.min_max(whole).as_py()
    assert cc.count(there, mode="only_null").as_py() == pc.count(whole, mode="only_null").as_py()
    assert cc.add(there, 1).to("cpu").to_pylist() == pc.add(whole, 1).to_pylist()
    if device == "cpu":
        assert cc.mean(whole).as_py() == pc.mean(whole).as_py()
        assert cc.sum(cdevice.asstream(whole)).as_py() == pc.sum(whole).as_py()


@pytest.mark.parametrize("word", ["float64", "float32", "int64"])
def test_every_device_gives_the_same_bits(word, monkeypatch):
    import struct

    rows = 70000
    a = column(word, rows, nulls=0.1)
    if word in FLOATS:
        a = pc.if_else(pc.less(pc.abs(a), pa.scalar(1e9, a.type)), a, pa.scalar(0.1, a.type))
    b = column(word, rows, seed=6, nulls=0)
    found = {}
    for place in PLACES:
        with monkeypatch.context() as m:
            device = enter(place, m)
            x, y = cdevice.asarray(a).to(device), cdevice.asarray(b).to(device)
            said = [cc.sum(x[13:]).as_py(), cc.mean(x[:66000]).as_py(), cc.sum(cc.multiply(x, y)).as_py()]
            if word in FLOATS:
                said.append(cc.sum(cc.divide(x, 3.0)).as_py())
            found[place] = [struct.pack("d", v) if isinstance(v, float) else v for v in said]
    assert len({repr(v) for v in found.values()}) == 1, found


STRINGS = ["a", None, "", "ccc", "späť", "x" * 40, "ab", "abc", None, "b"] * 9


@everywhere
@pytest.mark.parametrize("kind", ["string", "large_string", "binary"])
def test_strings_are_filtered_taken_and_compared(device, kind):
    a = pa.array(STRINGS).cast(kind).slice(3, 80)
    b = pa.array(STRINGS[::-1]).cast(kind).slice(1, 80)
    mask = column("bool", 80, seed=3)
    check(device, "filter", (a, mask))
    check(device, "filter", (a, pa.array([False] * 80)))
    check(device, "take", (a, pa.array([5, None, 79, 0, 5, 1])))
    check(device, "take", (a, pa.array([], pa.int64())))
    check(device, "take", (a.drop_null(), pa.array([1, 0, 2])))
    check(device, "drop_null", (a,))
    long = pa.array(STRINGS * 200).cast(kind)
    check(device, "filter", (long, column("bool", len(long), seed=4)))
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        check(device, name, (a, b))
        check(device, name, (a, pa.scalar("abc", a.type)))
        check(device, name, (a, a))


@everywhere
def test_lists_and_structs_are_filtered_and_taken(device):
    lists = pa.array([[1, 2], None, [], [3, None, 5], [6]] * 20)
    for a in (
        lists.slice(2, 90),
        lists.cast(pa.large_list(pa.int64())),
        pa.array([["a", "bb"], None, [], [None], ["ccc"]] * 20).slice(3),
        pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "bbb"}] * 30).slice(1),
        pa.array([[[1], None], None, [[], [2, 3]]] * 30),
        pa.array([[{"k": 1}], [], [{"k": None}, None]] * 30),
    ):
        check(device, "filter", (a, column("bool", len(a), seed=3)))
        check(device, "take", (a, pa.array([7, 0, None, 3, 3])))
        check(device, "drop_null", (a,), expected=a.drop_null())


@everywhere
def test_an_index_of_no_string_is_told(device):
    a = cdevice.asarray(["a", "b"]).to(device)
    with pytest.raises(cc.IndexOutOfBounds, match="index 2"):
        cc.take(a, cdevice.asarray([0, 2]).to(device))


@everywhere
def test_what_has_several_sizes_is_chosen_and_filled(device):
    a, b = pa.array(STRINGS).slice(3, 80), pa.array(STRINGS[::-1]).slice(1, 80)
    condition = column("bool", 80, seed=3)
    check(device, "if_else", (condition, a, b))
    check(device, "if_else", (condition, a, pa.scalar("none")))
    check(device, "if_else", (condition, pa.scalar("yes"), pa.scalar("no")))
    check(device, "fill_null", (a, pa.scalar("none")))
    lists = pa.array([[1], None, [2, 3], []] * 20)
    check(device, "if_else", (condition, lists, lists.slice(0, 80)))


@everywhere
def test_coalesce_is_arrows(device):
    a, b, c = (column("int64", seed=k, nulls=0.6) for k in range(3))
    check(device, "coalesce", (a, b, c))
    check(device, "coalesce", (a, b, pa.scalar(7)))
    check(device, "coalesce", (a,))
