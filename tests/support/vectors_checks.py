"""Lists of one size as vectors on every device: their values cast and computed with, sums along them, their shape."""

import decimal
import math
import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import back, shown, there  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

U8, I32, F32, F64 = pa.uint8(), pa.int32(), pa.float32(), pa.float64()


def vectors(kind=F32, size=5, n=60, seed=0, nulls=True, values=(1, 2, 3, 0, 7)):
    """Lists of one size, of which some are null, as are some of their values."""
    rng = random.Random(f"{kind}{size}{seed}")
    some = [*values, *([None] if nulls else [])]
    rows = [None if nulls and rng.random() < 0.2 else [rng.choice(some) for _ in range(size)] for _ in range(n)]
    return pa.array(rows, pa.list_(kind, size))


def lists(kind, word="list", n=80, seed=0, values=(1, 2, 3, 0, 7)):
    rng = random.Random(f"{kind}{seed}")
    one = lambda: [rng.choice([*values, None]) for _ in range(rng.choice([0, 1, 3, 40]))]
    rows = [None if rng.random() < 0.2 else one() for _ in range(n)]
    make = {"list": pa.list_, "large_list": pa.large_list, "list_view": pa.list_view}[word]
    return pa.array(rows, make(kind))


# ---- casts ----
_FIXED = vectors(U8)
_TWICE = pa.array([[[1, 2], [3, None]], None, [None, [5, 6]]] * 7, pa.list_(pa.list_(U8, 2), 2))
_LISTS = lists(U8)
_STRUCTS = pa.array([{"a": 1, "b": "2"}, None, {"a": None, "b": "3"}] * 5)
_MAPS = pa.array([[("a", 1)], None, [("b", None), ("c", 3)]] * 5, pa.map_(pa.string(), I32))
CASTS = {
    "sized": (_FIXED, pa.list_(F32, 5)),
    "names": (_FIXED, pa.list_(pa.field("x", F64), 5)),
    "sized to list": (_FIXED, pa.list_(F32)),
    "sized to large": (_FIXED, pa.large_list(pa.int64())),
    "two levels": (_TWICE, pa.list_(pa.list_(F32, 2), 2)),
    "two levels to lists": (_TWICE, pa.list_(pa.large_list(F32))),
    "list": (_LISTS, pa.list_(F32)),
    "list to large": (_LISTS, pa.large_list(pa.int16())),
    "large to list": (_LISTS.cast(pa.large_list(U8)), pa.list_(pa.int16())),
    "list to sized": (_FIXED.cast(pa.list_(U8)), pa.list_(F32, 5)),
    "list of strings": (pa.array([["1", None], None, [], ["22"]] * 9), pa.list_(pa.int64())),
    "list of lists": (pa.array([[[1], []], None, [None]] * 9), pa.list_(pa.list_(F32))),
    "list of dictionaries": (
        pa.array([["a"], None, ["b", None]] * 3, pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        pa.list_(pa.string()),
    ),
    "struct": (_STRUCTS, pa.struct([("a", F32), ("b", pa.large_string())])),
    "struct by name": (_STRUCTS, pa.struct([("b", pa.large_string()), ("c", pa.int8())])),
    "map": (_MAPS, pa.map_(pa.large_string(), pa.int64())),
    "nulls": (pa.nulls(5), pa.list_(F32, 2)),
}


@everywhere
@pytest.mark.parametrize("name", sorted(CASTS))
def test_the_values_of_lists_and_structs_are_cast(device, name):
    whole, kind = CASTS[name]
    for a in (whole, whole.slice(2), whole.slice(1, 7), whole.slice(3, 0)):
        have = back(cc.cast(there(a, device), kind))
        have.validate(full=True)
        want = a.cast(kind) if "dictionaries" not in name else pa.array(a.to_pylist(), kind)
        assert have.type == want.type and shown(have) == shown(want)
    one = whole[0] if whole[0].is_valid else pa.scalar(None, whole.type)
    if name != "nulls":
        assert cc.cast(one, kind).as_py() == back(cc.cast(there(whole, device), kind))[0].as_py()


@everywhere
def test_only_the_values_of_rows_must_fit(device):
    hidden = pa.array([1, 2, 300, 4, 5, 6], pa.int16())
    mask = pa.array([False, True, False])
    sized = pa.FixedSizeListArray.from_arrays(hidden, 2, mask=mask)
    several = pa.ListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int32()), hidden, mask=mask)
    for a, kind in ((sized, pa.list_(pa.int8(), 2)), (several, pa.list_(pa.int8()))):
        assert back(cc.cast(there(a, device), kind)).to_pylist() == [[1, 2], None, [5, 6]]
        shown_ones = there(a.take(pa.array([0, 2])), device)
        assert back(cc.cast(shown_ones, kind)).to_pylist() == [[1, 2], [5, 6]]
    bad = pa.array([[1, 2], [300, 4]], pa.list_(pa.int16(), 2))
    with pytest.raises(ArgumentError, match="300"):
        cc.cast(there(bad, device), pa.list_(pa.int8(), 2))
    assert back(cc.cast(there(bad, device), pa.list_(pa.int8(), 2), safe=False)).to_pylist() == [[1, 2], [44, 4]]


@everywhere
def test_lists_of_another_size_and_other_layouts_are_errors(device):
    with pytest.raises(ArgumentError, match="sizes differ"):
        cc.cast(there(_FIXED, device), pa.list_(F32, 4))
    with pytest.raises(ArgumentError, match="a list of 1 values"):
        cc.cast(there(pa.array([[1, 2], None, [3]]), device), pa.list_(F32, 2))
    with pytest.raises(ArgumentError, match="'c'"):
        cc.cast(there(_STRUCTS, device), pa.struct([pa.field("c", I32, nullable=False)]))
    for kind in (F32, pa.struct([("a", F32)])):
        with pytest.raises((cc.NoKernel, ArgumentError)):
            cc.cast(there(_FIXED, device), kind)


# ---- each value ----
def by_rows(name, *args, kind=None):
    """The function of each pair of lists, by pyarrow; null where a row is."""
    out = []
    for row in zip(*args, strict=True):
        if any(x is None for x in row):
            out.append(None)
        else:
            out.append(getattr(pc, name)(*row).to_pylist())
    return out


def typed_rows(a):
    return [x.values if x.is_valid else None for x in a]


_ONE = ("negate", "abs", "sign", "sqrt", "floor", "exp")
_TWO = ("add", "subtract", "multiply", "divide", "add_checked", "subtract_checked", "multiply_checked")


def sound(name, a, b):
    """No zero where integers are divided."""
    return b if name != "divide" else pc.if_else(pc.is_valid(b), b, b)


@everywhere
@pytest.mark.parametrize("name", _TWO)
def test_lists_are_computed_with_value_by_value(device, name):
    divisors = (1, 2, 3) if name == "divide" else (1, 2, 3, 0, 7)
    for left, right in ((F32, F32), (I32, I32), (U8, F32), (pa.int8(), I32)):
        a, b = vectors(left, seed=1), vectors(right, seed=2, values=divisors)
        if name.endswith("_checked") and left == U8:
            continue
        for x, y in ((a, b), (a.slice(3, 40), b.slice(11, 40)), (a.slice(0, 0), b.slice(0, 0))):
            have = back(getattr(cc, name)(there(x, device), there(y, device)))
            have.validate(full=True)
            assert have.type == pa.list_(getattr(pc, name)(a.values, b.values.slice(0, len(a.values))).type, 5)
            assert shown(have) == [repr(v) for v in by_rows(name, typed_rows(x), typed_rows(y))]


@everywhere
@pytest.mark.parametrize("name", _ONE)
def test_each_value_of_a_list_is_computed(device, name):
    for kind in (F32, F64, I32):
        a = vectors(kind).slice(2)
        have = back(getattr(cc, name)(there(a, device)))
        want = by_rows(name, typed_rows(a))
        if name == "exp":  # within units of the last digit
            for x, y in zip(have.to_pylist(), want, strict=True):
                assert (x is None) == (y is None)
                assert x is None or all(u == v or math.isclose(u, v, rel_tol=1e-6) for u, v in zip(x, y, strict=True))
        else:
            assert shown(have) == [repr(v) for v in want]


@everywhere
def test_numbers_beside_lists_are_those_of_all_values_or_of_a_row(device):
    a = vectors(F32).slice(4, 50)
    numbers = pa.array([None if i % 7 == 3 else i / 4 for i in range(53)], F32).slice(3)
    rows = [
        None if x is None or w is None else [w if v is None else w for v in x]
        for x, w in zip(a.to_pylist(), numbers.to_pylist(), strict=True)
    ]
    wide = pa.array(rows, a.type)
    for name in ("add", "subtract", "multiply"):
        want = by_rows(name, typed_rows(a), typed_rows(wide))
        assert shown(back(getattr(cc, name)(there(a, device), there(numbers, device)))) == [repr(v) for v in want]
        want = by_rows(name, typed_rows(wide), typed_rows(a))
        assert shown(back(getattr(cc, name)(there(numbers, device), there(a, device)))) == [repr(v) for v in want]
        for number in (2, 0.5, pa.scalar(3, pa.int8())):
            plain = pa.scalar(number, F32) if isinstance(number, (int, float)) else number
            want = by_rows(name, typed_rows(a), [plain] * len(a))
            assert shown(back(getattr(cc, name)(there(a, device), number))) == [repr(v) for v in want]
        assert back(getattr(cc, name)(there(a, device), None)).to_pylist() == [None] * len(a)


@everywhere
def test_one_list_is_that_of_all_rows(device):
    a = vectors(F32, size=3)
    one = pa.scalar([1.0, None, 3.0], a.type)
    want = by_rows("subtract", typed_rows(a), [one.values] * len(a))
    assert shown(back(cc.subtract(there(a, device), one))) == [repr(v) for v in want]
    both = cc.multiply(one, one)
    assert isinstance(both, cc.Scalar) and both.as_py() == [1.0, None, 9.0]
    null = pa.scalar(None, a.type)
    assert back(cc.add(there(a, device), null)).to_pylist() == [None] * len(a)


@everywhere
def test_lists_of_lists_are_computed_with(device):
    twice = _TWICE.slice(1)
    want = [
        None if x is None else [None if y is None else [None if v is None else 2 * v for v in y] for y in x]
        for x in twice.to_pylist()
    ]
    assert back(cc.add(there(twice, device), there(twice, device))).to_pylist() == want
    assert back(cc.multiply(there(twice, device), 2)).to_pylist() == want
    assert back(cc.multiply(there(twice, device), there(pa.array([2] * len(twice)), device))).to_pylist() == want


@everywhere
@pytest.mark.parametrize("name", ["min_element_wise", "max_element_wise"])
def test_the_least_and_greatest_values_of_lists(device, name):
    pick = min if name.startswith("min") else max
    a, b = vectors(I32, seed=1), vectors(I32, seed=2)
    for skip in (True, False):
        want = []
        for x, y in zip(a.to_pylist(), b.to_pylist(), strict=True):
            if x is None or y is None:
                want.append((x or y) if skip else None)
            else:
                pairs = [[w for w in p if w is not None] for p in zip(x, y, strict=True)]
                want.append([pick(p) if len(p) == 2 or (p and skip) else None for p in pairs])
        got = getattr(cc, name)(there(a, device), there(b, device), skip_nulls=skip)
        assert back(got).to_pylist() == want


@everywhere
def test_values_below_null_lists_are_no_errors(device):
    hidden = pa.array([1, 0, 4, 2], I32)
    a = pa.FixedSizeListArray.from_arrays(hidden, 2, mask=pa.array([True, False]))
    assert back(cc.divide(there(pa.array([[8, 8], [8, 8]], a.type), device), there(a, device))).to_pylist() == [
        None,
        [2, 4],
    ]
    with pytest.raises(ArgumentError, match="divide by zero"):
        cc.divide(there(a, device), 0)
    great = pa.FixedSizeListArray.from_arrays(
        pa.array([2**64 - 1, 0, 4, 2], pa.uint64()), 2, mask=pa.array([True, False])
    )
    assert back(cc.add(there(great, device), there(pa.array([[1, 2], [1, 2]], a.type), device))).to_pylist() == [
        None,
        [5, 4],
    ]
    big = pa.FixedSizeListArray.from_arrays(pa.array([2**31 - 1, 0, 4, 2], I32), 2, mask=pa.array([True, False]))
    assert back(cc.add_checked(there(big, device), 1)).to_pylist() in ([None, [5, 3]],)


def test_lists_of_two_sizes_and_of_strings_have_no_kernel():
    with pytest.raises(cc.NoKernel, match=r"add.*fixed_size_list\[5\], fixed_size_list\[4\]"):
        cc.add(vectors(), vectors(size=4))
    words = pa.array([["a", "b"]], pa.list_(pa.string(), 2))
    with pytest.raises(cc.NoKernel, match="add"):
        cc.add(words, words)


# ---- along a list ----
def of_each(name, a, **options):
    found = []
    for x in a:
        values = x.values if x.is_valid else None
        if values is not None and values.type == pa.float16():  # of which pyarrow has no sums
            values = values.cast(F32)
        found.append(None if values is None else getattr(pc, name)(values, **options).as_py())
    return found


LAYOUTS = ["list", "large_list", "list_view"]
KINDS = {"int8": pa.int8(), "uint64": pa.uint64(), "float32": F32, "float64": F64, "int64": pa.int64()}


@everywhere
@pytest.mark.parametrize("name", ["sum", "mean", "min", "max"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_values_of_each_list_come_to_what_an_aggregate_gives(device, name, kind):
    kind = KINDS[kind]
    for a in [vectors(kind), vectors(kind, nulls=False), vectors(kind, size=0), *(lists(kind, w) for w in LAYOUTS)]:
        for x in (a, a.slice(7, 40), a.slice(2, 0)):
            if "view" in str(a.type) and len(x) != len(a):
                continue  # pyarrow reads the rows before a slice of views
            have = back(getattr(cc, f"list_{name}")(there(x, device)))
            assert have.type == getattr(pc, name)(pa.array([], kind)).type
            assert shown(have) == [repr(v) for v in of_each(name, x)]
            for options in ({"skip_nulls": False}, {"min_count": 3}, {"min_count": 0}):
                have = back(getattr(cc, f"list_{name}")(there(x, device), **options))
                want = of_each(name, x, **options)
                if name == "mean" and options.get("min_count") == 0:  # of none pyarrow gives NaN
                    want = [None if isinstance(v, float) and math.isnan(v) else v for v in want]
                assert shown(have) == [repr(v) for v in want], (name, options)


@everywhere
def test_bools_halves_and_times_have_the_results_of_aggregates(device):
    import datetime

    halves = vectors(pa.float16(), values=(1.5, -2.0, float("nan")))
    truths = vectors(pa.bool_(), values=(True, False))
    days = vectors(pa.date32(), values=(datetime.date(2020, 1, 1), datetime.date(1999, 2, 3)))
    stamps = pa.array([[datetime.datetime(2020, 1, 1), None], None], pa.list_(pa.timestamp("us", "UTC")))
    for a, names in ((halves, ("sum", "mean", "min", "max")), (truths, ("sum", "mean", "min", "max"))):
        for name in names:
            have = back(getattr(cc, f"list_{name}")(there(a, device)))
            assert shown(have) == [repr(v) for v in of_each(name, a)], name
    for a in (days, stamps):
        for name in ("min", "max"):
            have = back(getattr(cc, f"list_{name}")(there(a, device)))
            assert have.type == a.type.value_type and shown(have) == [repr(v) for v in of_each(name, a)]
        with pytest.raises(cc.NoKernel, match="list_sum"):
            cc.list_sum(there(a, device))
    for bad in (pa.array([["a"]]), pa.array([[[1]]]), pa.array([1, 2])):
        with pytest.raises(cc.NoKernel, match="list_sum"):
            cc.list_sum(there(bad, device))


def reals(n, size, seed, kind=F32):
    rng = random.Random(seed)
    flat = pa.array([rng.uniform(-1000, 1000) for _ in range(n * size)], kind)
    return pa.FixedSizeListArray.from_arrays(flat, size)


@everywhere
def test_sums_of_a_list_have_the_same_bits_on_every_device_and_in_every_place(device):
    for size in (3, 16, 33, 768):
        for kind in (F32, F64):
            a, b = reals(40, size, 1, kind), reals(40, size, 2, kind)
            several = a.cast(pa.list_(kind))
            for f in (cc.list_sum, cc.list_mean, lambda x: cc.list_norm(x, 1), cc.list_norm):
                here = shown(back(f(a)))
                assert shown(back(f(there(a, device)))) == here
                assert shown(back(f(there(several, device)))) == here
                assert shown(back(f(there(a.slice(11), device)))) == here[11:]
            here = shown(back(cc.list_dot(a, b)))
            assert shown(back(cc.list_dot(there(a, device), there(b, device)))) == here
            assert shown(back(cc.list_dot(there(several, device), there(b, device)))) == here
            for x, y in zip(here, zip(a.to_pylist(), b.to_pylist(), strict=True), strict=True):
                want = math.fsum(u * v for u, v in zip(*y, strict=True))
                assert math.isclose(float(x), want, rel_tol=1e-9, abs_tol=1e-6)


@everywhere
def test_the_dot_product_is_that_of_the_pairs_without_nulls(device):
    for left, right, kind in ((I32, pa.int8(), pa.int64()), (F32, F64, F64), (U8, U8, pa.uint64()), (U8, F32, F64)):
        a, b = vectors(left, seed=1), vectors(right, seed=2)
        want = []
        for x, y in zip(a.to_pylist(), b.to_pylist(), strict=True):
            none = x is None or y is None
            pairs = [] if none else [u * v for u, v in zip(x, y, strict=True) if u is not None and v is not None]
            want.append(None if none or not pairs else sum(pairs))
        for x, y in ((a, b), (a.cast(pa.list_(left)), b.cast(pa.large_list(right)))):
            have = back(cc.list_dot(there(x, device), there(y, device)))
            assert have.type == kind and have.to_pylist() == want
        strict = back(cc.list_dot(there(a, device), there(b, device), skip_nulls=False)).to_pylist()
        assert strict == [
            None if x is None or y is None or None in x or None in y else w
            for x, y, w in zip(a.to_pylist(), b.to_pylist(), want, strict=True)
        ]


@everywhere
def test_one_vector_is_that_of_all_rows(device):
    a = reals(30, 8, 3)
    query = a[4]
    want = back(cc.list_dot(a, pa.array([query.as_py()] * 30, a.type)))
    assert shown(back(cc.list_dot(there(a, device), query))) == shown(want)
    assert shown(back(cc.list_dot(query, there(a, device)))) == shown(want)
    several = a.cast(pa.list_(F32))
    assert shown(back(cc.list_dot(there(several, device), several[4]))) == shown(want)
    assert cc.list_dot(query, query).as_py() == want[4].as_py()
    with pytest.raises(ArgumentError, match="row 1 has lists of 1 and 2 values"):
        cc.list_dot(there(pa.array([[1, 2], [3]]), device), there(pa.array([[1, 2], [3, 4]]), device))
    short = pa.array([[1, 2], [3], None]), pa.array([[1, 2], None, [1, 2, 3]])
    assert back(cc.list_dot(*(there(x, device) for x in short))).to_pylist() == [5, None, None]


@everywhere
def test_norms_are_those_of_the_values(device):
    for a in (vectors(I32, values=(3, -4, 0)), vectors(F32, values=(3.5, -4.25)), lists(pa.int64(), values=(-3, 4))):
        for ord, of in (
            (2, lambda x: math.sqrt(sum(v * v for v in x))),
            (1, lambda x: float(sum(abs(v) for v in x))),
            (float("inf"), lambda x: float(max(abs(v) for v in x))),
        ):
            rows = [None if x is None else [v for v in x if v is not None] for x in a.to_pylist()]
            want = [of(x) if x else None for x in rows]
            have = back(cc.list_norm(there(a, device), ord))
            assert have.type == F64 and have.to_pylist() == want
    with pytest.raises(ValueError, match="ord"):
        cc.list_norm(there(vectors(), device), 3)
    unit = cc.divide(there(reals(20, 8, 5), device), cc.list_norm(there(reals(20, 8, 5), device)))
    assert all(math.isclose(x, 1) for x in back(cc.list_norm(unit)).to_pylist())


# ---- the shape ----
@everywhere
def test_a_shape_is_another_one_of_the_same_memory(device):
    a = vectors(F32, size=12, n=20)
    for x in (a, a.slice(3), a.slice(5, 0), a.slice(2, 7)):
        x = there(x, device)
        rows = x.to("cpu").to_pylist()
        made = cc.reshape(x, (3, 4))
        want = [None if r is None else [r[:4], r[4:8], r[8:]] for r in rows]
        assert back(made).to_pylist() == want and back(made).type == pa.list_(pa.list_(F32, 4), 3)
        assert back(cc.reshape(made, 12)).to_pylist() == rows
        assert back(cc.reshape(made, (2, -1, 3))).type == pa.list_(pa.list_(pa.list_(F32, 3), 2), 2)
        if x.length:
            assert made.field(0).field(0)._buffer(1)[0] == x.field(0)._buffer(1)[0]
    for bad in ((5, 3), (-1, 5), (12, 0)):
        with pytest.raises(ArgumentError, match="reshape: .* 12 values"):
            cc.reshape(there(a, device), bad)
    for bad in ((), (-1, -1), (-2, 6)):
        with pytest.raises(ValueError, match="shape"):
            cc.reshape(there(a, device), bad)
    with pytest.raises(TypeError, match="shape"):
        cc.reshape(there(a, device), "a")
    with pytest.raises(ArgumentError, match="null"):
        cc.reshape(there(_TWICE, device), 4)
    with pytest.raises(cc.NoKernel, match="reshape"):
        cc.reshape(there(pa.array([[1]]), device), 1)


@everywhere
def test_a_tensor_stays_one_where_its_shape_stays(device):
    np = pytest.importorskip("numpy", reason="pip install numpy")
    images = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(24, dtype=np.uint8).reshape(4, 2, 3))
    x = cdevice.asarray(images).to(device)
    real = cc.cast(x, pa.list_(F32, 6))
    made = [
        real,
        cc.filter(x, [True, False, True, True]),
        cc.take(x, [2, 0]),
        cc.add(real, real),
        cc.divide(real, 255.0),
    ]
    made += [cc.negate(real), cc.max_element_wise(real, 3.0), cc.cast(x, pa.fixed_shape_tensor(F32, (2, 3)))]
    for y in made:
        have = back(y)
        assert isinstance(have, pa.FixedShapeTensorArray) and list(have.type.shape) == [2, 3]
    assert (
        back(cc.divide(real, pa.scalar(255, F32))).to_numpy_ndarray().tolist()
        == (images.to_numpy_ndarray() / np.float32(255)).tolist()
    )
    turned = back(cc.reshape(real, (3, 2)))
    assert list(turned.type.shape) == [3, 2]
    assert turned.to_numpy_ndarray().tolist() == images.to_numpy_ndarray().reshape(4, 3, 2).tolist()
    plain = cc.cast(vectors(U8, size=6), pa.list_(F32, 6))
    assert not plain.schema.metadata


GREAT = [[2**63 - 1, 2**63 - 1, None], [-(2**63)] * 3, None, [], [2**62, 2**62, 2**62 + 2**11], [1, 2]]
UNSIGNED = [[2**64 - 1, 2**63 + 1, None], [2**64 - 1] * 3, None, [], [2**63, 1], [1, 2]]


@everywhere
@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_no_mean_of_a_list_is_that_of_a_sum_that_overflowed(device, kind):
    rows = GREAT if kind == "int64" else UNSIGNED
    want = [None if not v else float(sum(w := [x for x in v if x is not None])) / len(w) for v in rows]
    a = pa.array(rows, pa.list_(getattr(pa, kind)()))
    assert back(cc.list_mean(there(a, device))).to_pylist() == want
    assert back(cc.list_mean(there(a.slice(1), device))).to_pylist() == want[1:]
    pairs = pa.array([[1, 2**63 - 1], [2**63 - 1] * 2], pa.list_(getattr(pa, kind)(), 2))
    assert back(cc.list_mean(there(pairs, device))).to_pylist() == [2.0**62, 2.0**63]


@everywhere
def test_a_dot_product_beside_floats_loses_no_integer(device):
    a = pa.array([[2**31 - 1], [-(2**31) + 1]], pa.list_(I32, 1))
    for kind in (pa.float16(), F32, F64):
        b = pa.array([[35.0], [0.5]], pa.list_(kind, 1))
        for x, y in ((a, b), (b, a)):
            got = cc.list_dot(there(x, device), there(y, device))
            assert back(got).to_pylist() == [(2**31 - 1) * 35.0, (-(2**31) + 1) / 2]


@everywhere
def test_a_null_list_hides_those_below_it_from_a_shape(device):
    kind = pa.list_(pa.list_(F32, 1), 2)
    inner = pa.array([None, [1.0], [2.0], [3.0]], pa.list_(F32, 1))
    a = pa.FixedSizeListArray.from_arrays(inner, type=kind, mask=pa.array([True, False]))
    assert back(cc.reshape(there(a, device), 2)).to_pylist() == [None, [2.0, 3.0]]
    three = pa.FixedSizeListArray.from_arrays(a, 1, mask=pa.array([True, False]))
    assert back(cc.reshape(there(three, device), -1)).to_pylist() == [None, [2.0, 3.0]]
    seen = pa.FixedSizeListArray.from_arrays(inner, type=kind)
    with pytest.raises(ArgumentError, match="a list below another one is null"):
        cc.reshape(there(seen, device), 2)


DECIMALS = {32: (7, 2), 64: (16, 4), 128: (20, 3), 256: (50, 10)}


@everywhere
@pytest.mark.parametrize("layout", ["list", "large_list", "list_view", "fixed"])
@pytest.mark.parametrize("bits", DECIMALS)
def test_decimals_of_each_list_come_to_what_an_aggregate_gives(device, bits, layout):
    kind = getattr(pa, f"decimal{bits}")(*DECIMALS[bits])
    wide = kind if bits >= 128 else pa.decimal128(*DECIMALS[bits])
    some = [decimal.Decimal(x) for x in ("1.25", "-7", "99999.5", "0", "0.01")]
    a = vectors(kind, values=some) if layout == "fixed" else lists(kind, layout, values=some)
    for x in (a, a.slice(7, 40), a.slice(2, 0)) if "view" not in layout else (a,):
        values = [None if v is None else pa.array(v, wide) for v in x.to_pylist()]
        for name in ("sum", "mean", "min", "max"):
            for options in ({}, {"skip_nulls": False}, {"min_count": 3}, {"min_count": 0}):
                have = back(getattr(cc, f"list_{name}")(there(x, device), **options))
                want = [None if v is None else getattr(pc, name)(v, **options).as_py() for v in values]
                extreme = name in ("min", "max")
                assert have.type == (kind if extreme else getattr(pc, name)(pa.array([], wide)).type)
                assert have.to_pylist() == want, (name, options)
