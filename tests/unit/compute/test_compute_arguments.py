"""Every argument is of the type that its kernel reads: scalars of every origin, chunks of several types, encoded
arrays."""

import datetime
import decimal
import math
import threading

import numpy as np
import pytest
from compute_cases import PLACES, enter

import cdevice
import cdevice.compute as cc

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

BIG = 2**64 - 1
REFUSED = (cdevice.Error, TypeError, ValueError)


@pytest.fixture(params=list(PLACES))
def device(request, monkeypatch):
    return enter(request.param, monkeypatch)


def there(x, device):
    return cdevice.asarray(x).to(device)


def rows(out):
    return [out.as_py()] if isinstance(out, cc.Scalar) else out.to("cpu").to_pylist()


# ---- implicit casts ----
@pytest.mark.parametrize(
    "call",
    [
        lambda u, there: cc.equal(u, -1),
        lambda u, there: cc.equal(u, there(pa.array([-1], pa.int64()))),
        lambda u, there: cc.greater(u, there(pa.array([127], pa.int8()))),
        lambda u, there: cc.add_checked(u, there(pa.array([1], pa.int8()))),
        lambda u, there: cc.add(u, there(pa.array([1], pa.int64()))),
        lambda u, there: cc.fill_null(u, -1),
        lambda u, there: cc.coalesce(u, there(pa.array([-1], pa.int64()))),
        lambda u, there: cc.if_else(True, u, there(pa.array([-1]))),
        lambda u, there: cc.min([u, there(pa.array([-1]))]),
        lambda u, there: cc.add(u, 1.5),
    ],
)
def test_an_implicit_cast_never_changes_a_value(device, call):
    with pytest.raises(REFUSED, match=r"not in the range|does not fit|without loss"):
        rows(call(there(pa.array([BIG], pa.uint64()), device), lambda x: there(x, device)))


def test_integers_beyond_a_floats_digits_are_refused_and_others_become_floats(device):
    x = there(pa.array([2**53 + 1]), device)
    with pytest.raises(cdevice.ArgumentError, match="int64 cannot become float64 without loss"):
        cc.equal(x, there(pa.array([1.0]), device))
    assert rows(cc.add(there(pa.array([2**53]), device), 0.5)) == [2.0**53]


def test_a_number_is_compared_as_the_rows_type_where_it_is_one(device):
    assert rows(cc.equal(there(pa.array([BIG, 5], pa.uint64()), device), 5)) == [False, True]
    assert rows(cc.less(1, there(pa.array([BIG], pa.uint64()), device))) == [True]
    for word in ("int8", "int32", "float32"):
        assert rows(cc.greater(there(pa.array([1, 100], word), device), 7)) == [False, True]
    assert (
        rows(cc.equal(there(pa.array([1.1], "float32"), device), 1.1))
        == pc.equal(pa.array([1.1], "float32"), 1.1).to_pylist()
    )
    assert rows(cc.less(there(pa.array([1], "int8"), device), 1000)) == [True]
    assert rows(cc.less(there(pa.array([1], "int8"), device), 1.5)) == [True]


def test_fill_null_keeps_the_type_of_the_rows(device):
    for word, value in (("int32", 5), ("uint8", 5), ("float32", 1.5), ("float32", 2), ("int64", 2.0)):
        out = cc.fill_null(there(pa.array([1, None], word), device), value)
        assert out.type == word and rows(out) == [1, value]
    for word, value in (("int32", 2**40), ("uint8", -1), ("int64", 1.5), ("uint64", -1)):
        with pytest.raises(REFUSED, match="does not fit"):
            cc.fill_null(there(pa.array([1, None], word), device), value)
    money = there(pa.array([decimal.Decimal("1.25"), None]), device)
    out = cc.fill_null(money, 7)
    assert out.type == money.type and rows(out) == [decimal.Decimal("1.25"), decimal.Decimal("7.00")]


# ---- scalars ----
@pytest.mark.parametrize(
    "type", [pa.time64("ns"), pa.timestamp("ns"), pa.duration("ns"), pa.timestamp("ns", "UTC")], ids=str
)
def test_scalars_of_pyarrow_keep_nanoseconds(device, type):
    a = pa.array([5, None, 7], pa.int64()).cast(type)
    x, one = there(a, device), a[0]
    assert rows(cc.equal(x, one)) == [True, None, False]
    for out, want in (
        (cc.fill_null(x, one), pc.fill_null(a, one)),
        (cc.coalesce(x, one), pc.coalesce(a, one)),
        (
            cc.if_else(there(pa.array([True, False, True]), device), x, one),
            pc.if_else(pa.array([True, False, True]), a, one),
        ),
    ):
        assert pa.array(out.to("cpu")).equals(want)


@pytest.mark.parametrize("type", [pa.timestamp("s"), pa.timestamp("us", "UTC"), pa.duration("s"), pa.date32()], ids=str)
def test_scalars_that_python_has_no_value_for_are_compared(device, type):
    far = pa.array([2**31 - 1], pa.int32()).cast(type) if type == pa.date32() else pa.array([2**62]).cast(type)
    assert rows(cc.equal(there(far, device), far[0])) == [True]


ORIGINS = {
    "python int": 3,
    "python float": 3.0,
    "numpy int8": np.int8(3),
    "numpy uint64": np.uint64(3),
    "numpy float32": np.float32(3),
    "numpy 0-d": np.array(3),
    "pyarrow int16": pa.scalar(3, pa.int16()),
    "pyarrow double": pa.scalar(3.0),
    "ours": lambda: cc.sum([1, 2]),
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_scalar_of_any_origin_is_one_value_for_all_rows(device, origin):
    one = ORIGINS[origin]
    one = one() if callable(one) else one
    x = there(pa.array([1, 3, None], pa.int32()), device)
    assert rows(cc.equal(x, one)) == [False, True, None]
    assert rows(cc.add(x, one)) == [4, 6, None] and rows(cc.add(one, x)) == [4, 6, None]
    assert rows(cc.if_else(there(pa.array([True, False, None]), device), x, one)) == [1, 3, None]
    assert rows(cc.coalesce(x, one)) == [1, 3, 3]


def test_lone_values_of_python_are_rows_for_every_function():
    assert cc.is_nan(1.5).as_py() is False and cc.is_nan(math.nan).as_py() is True and cc.is_nan(None).as_py() is None
    assert cc.sum(None).as_py() is None and cc.sum(None, min_count=0).as_py() == 0
    assert cc.mean(None).as_py() is None and cc.min(None).as_py() is None
    assert cc.mean(None, min_count=0).as_py() in (0.0, None) or math.isnan(cc.mean(None, min_count=0).as_py())
    assert cc.count(None).as_py() == 0 and cc.count(None, mode="only_null").as_py() == 1 and cc.count(5).as_py() == 1
    assert cc.sum(3).as_py() == 3 and cc.sum(2.5).as_py() == 2.5 and cc.max(True).as_py() is True
    assert cc.is_null(None).as_py() is True and cc.is_valid(4).as_py() is True
    assert cc.invert(True).as_py() is False and cc.invert(None).as_py() is None
    assert cc.negate(5).as_py() == -5 and cc.abs(-2.5).as_py() == 2.5
    assert cc.cast(7, "float32").as_py() == 7.0 and cc.cast(None, "int8").as_py() is None
    assert cc.coalesce(None, 5, 6).as_py() == 5 and cc.coalesce(None, None).as_py() is None
    for call in (lambda: cc.filter([1, 2], None), lambda: cc.drop_null(5), lambda: cc.take(5, [0])):
        with pytest.raises(REFUSED):
            call()


@pytest.mark.parametrize("far", [2**64, -(2**63) - 1, 10**30])
def test_integers_beyond_64_bits_are_refused(far):
    for call in (lambda: cc.add([1], far), lambda: cc.sum(far), lambda: cc.fill_null([1, None], far)):
        with pytest.raises(REFUSED):
            call()


def test_coalesce_takes_several_values_on_a_device(device):
    y = there(pa.array([1, None]), device)
    assert rows(cc.coalesce(y, 5, 6)) == [1, 5] and rows(cc.coalesce(None, y, 6)) == [1, 6]
    assert rows(cc.coalesce(y, there(pa.array([None, 2.5]), device))) == [1.0, 2.5]
    assert rows(cc.coalesce([y, y])) == [1, None, 1, None]
    text = there(pa.array(["a", None]), device)
    assert rows(cc.coalesce(text, "b")) == ["a", "b"] and rows(cc.coalesce("b", text)) == ["b", "b"]


# ---- lists ----
def test_lists_of_python_go_where_the_other_arguments_are(device):
    text, numbers = there(pa.array(["a", "x"]), device), there(pa.array([1, 2]), device)
    assert rows(cc.equal(text, ["a", "b"])) == [True, False] and rows(cc.add([10, 20], numbers)) == [11, 22]
    assert rows(cc.filter(numbers, [False, True])) == [2] and rows(cc.take(numbers, [1, 1])) == [2, 2]
    assert cc.add(numbers, [1, 2]).device_type == numbers.device_type
    batch = cdevice.record_batch({"k": numbers, "t": ["x", "y"]})
    assert batch.device == numbers.device and rows(cc.filter(batch, [True, False])) == [{"k": 1, "t": "x"}]


# ---- chunks ----
@pytest.mark.parametrize(
    ("chunks", "want"),
    [
        ([np.array([1, 2]), np.array([1.5])], 4.5),
        ([np.array([1, 2]), np.array([3], "i1")], 6),
        ([np.array([3], "i1"), np.array([2**40])], 2**40 + 3),
        ([pa.array([1, 2]), pa.nulls(1)], 3),
        ([pa.nulls(1), pa.array([1, 2])], 3),
        ([pa.nulls(1), pa.nulls(2)], None),
        ([pa.array([1.5]).dictionary_encode(), pa.array([2.0])], 3.5),
        ([pc.run_end_encode(pa.array([1, 1, 2])), pa.array([2])], 6),
        ([pa.array([decimal.Decimal("1.5")]), pa.array([decimal.Decimal("1.255")])], decimal.Decimal("2.755")),
        ([pa.array([decimal.Decimal("1.5")]), pa.array([1])], decimal.Decimal("2.5")),
        ([pa.array([1, 2], pa.uint8()), pa.array([-1], pa.int8())], 2),
    ],
)
def test_chunks_of_several_types_are_added_up_as_values(device, chunks, want):
    got = cc.sum([there(c, device) for c in chunks])
    assert repr(got.as_py()) == repr(want) or got.as_py() == want
    arrays = [c if isinstance(c, pa.Array) else pa.array(c) for c in chunks]
    valid = sum(len(a) - (a.null_count if not pa.types.is_null(a.type) else len(a)) for a in arrays)
    assert cc.count([there(c, device) for c in chunks]).as_py() == valid


def test_times_of_several_units_are_compared_as_moments(device):
    seconds, nanos = pa.array([5], pa.timestamp("s")), pa.array([4 * 10**9, 6 * 10**9], pa.timestamp("ns"))
    assert (
        cc.max([there(seconds, device), there(nanos, device)]).as_py()
        == pc.max(pa.concat_arrays([seconds.cast(nanos.type), nanos])).as_py()
    )
    assert rows(cc.less(there(seconds, device), there(nanos[1:], device))) == [True]
    with pytest.raises(cdevice.ArgumentError, match="without loss"):
        cc.max([there(pa.array([2**62], pa.timestamp("s")), device), there(nanos, device)])


@pytest.mark.parametrize("word", ["decimal32(7, 2)", "decimal64(15, 3)", "decimal128(20, 3)"])
def test_chunks_of_decimals_are_read_as_wide_as_they_are(device, word):
    x = cdevice.asarray([decimal.Decimal(1), decimal.Decimal(2)], schema=word).to(device)
    assert cc.sum([x, x]).as_py() == 6 and cc.mean([x, x, x]).as_py() == decimal.Decimal("1.5")
    assert cc.max([x, x]).as_py() == 2


def test_chunks_without_a_common_type_are_refused_with_both(device):
    for chunks, said in (
        ([pa.array([1]), pa.array(["a"])], "int64 and string"),
        ([pa.array([1], pa.timestamp("s")), pa.array([1], pa.timestamp("s", "UTC"))], "have no common type"),
        ([pa.array([1]), pa.array([1], pa.date32())], "int64 and date32"),
        ([pa.array([True]), pa.array([1])], "bool and int64"),
    ):
        with pytest.raises(cdevice.ArgumentError, match=said):
            cc.max([there(c, device) for c in chunks])


def test_a_stream_of_chunks_is_what_one_array_is(device):
    chunks = [pa.array([k, None, k * 2]) for k in range(20)]
    table = pa.table({"x": pa.chunked_array(chunks)})
    whole = pa.concat_arrays(chunks)
    for name in ("sum", "mean", "min", "max", "count"):
        f = getattr(cc, name)
        assert f([there(c, device) for c in chunks]).as_py() == f(there(whole, device)).as_py()
        assert f(table["x"]).as_py() == f(whole).as_py()


# ---- options ----
def test_options_are_checked_by_type_and_value():
    x = pa.array([1, None])
    for options in (
        {"skip_nulls": "false"},
        {"skip_nulls": 1},
        {"skip_nulls": None},
        {"min_count": 1.5},
        {"min_count": "1"},
    ):
        with pytest.raises(TypeError, match=next(iter(options))):
            cc.sum(x, **options)
    with pytest.raises(ValueError, match="min_count must be from 0"):
        cc.sum(x, min_count=-1)
    with pytest.raises(ValueError, match="mode must be one of"):
        cc.count(x, mode="none")
    with pytest.raises(TypeError, match="safe"):
        cc.cast(x, "int8", safe="no")
    with pytest.raises(TypeError, match="boundscheck"):
        cc.take(x, [0], boundscheck=0)
    assert cc.sum(x, skip_nulls=np.bool_(False)).as_py() is None and cc.sum(x, min_count=np.int64(2)).as_py() is None
    options = cc.ScalarAggregateOptions()
    options.skip_nulls = "no"
    with pytest.raises(TypeError, match="skip_nulls"):
        cc.sum(x, options=options)


def test_options_of_pyarrow_are_read_by_their_fields():
    x = pa.array([1, None])
    for _ in range(2):  # whatever was called before
        assert cc.sum(x).as_py() == 1
        assert cc.sum(x, options=pc.ScalarAggregateOptions(skip_nulls=False)).as_py() is None
        assert cc.sum(x, options=pc.ScalarAggregateOptions(min_count=2)).as_py() is None
    for mode, want in (("only_valid", 1), ("only_null", 1), ("all", 2)):
        assert cc.count(x, options=pc.CountOptions(mode)).as_py() == want
    mask = pa.array([None, True])
    assert cc.filter(x, mask, options=pc.FilterOptions("emit_null")).to_pylist() == [None, None]
    with pytest.raises(IndexError):
        cc.take(x, [5], options=pc.TakeOptions(boundscheck=True))
    big = pa.array([300])
    with pytest.raises(cdevice.ArgumentError):
        cc.call_function("cast", [big], options=pc.CastOptions.safe(pa.int8()))
    assert cc.call_function("cast", [big], options=pc.CastOptions.unsafe(pa.int8())).to_pylist() == [44]
    with pytest.raises(TypeError, match="takes ScalarAggregateOptions, not pyarrow's CountOptions"):
        cc.sum(x, options=pc.CountOptions())


# ---- times and hosts ----
def test_times_of_python_and_numpy_are_taken_with_columns_of_any_unit(device):
    a = pa.array([datetime.datetime(2023, 12, 1, 5), None], pa.timestamp("ms"))
    x, moment = there(a, device), datetime.datetime(2023, 11, 1)
    assert rows(cc.greater(x, moment)) == [True, None] and rows(cc.greater(moment, x)) == [False, None]
    assert rows(cc.greater(x, np.datetime64("2023-11-01"))) == [True, None]
    assert rows(cc.equal(x, np.datetime64("2023-12-01T05", "s"))) == [True, None]
    assert rows(cc.greater(x, datetime.date(2023, 11, 1))) == [True, None]
    want = pc.subtract(a, datetime.timedelta(hours=1))
    got = pa.array(cc.subtract(x, datetime.timedelta(hours=1)).to("cpu"))
    assert got.equals(want) and got.type == want.type
    odd = moment.replace(microsecond=1)  # no number of milliseconds
    assert rows(cc.equal(x, odd)) == [False, None]


def test_times_with_a_zone_and_without_are_not_compared(device):
    a = pa.array([0])
    naive, zoned = there(a.cast(pa.timestamp("s")), device), there(a.cast(pa.timestamp("s", "Europe/Berlin")), device)
    for name in ("equal", "less", "subtract"):
        with pytest.raises(cc.NoKernel):
            getattr(cc, name)(naive, zoned)
    with pytest.raises(cc.NoKernel):
        cc.equal(zoned, datetime.datetime(1970, 1, 1))
    other = there(a.cast(pa.timestamp("ms", "UTC")), device)
    assert rows(cc.equal(zoned, other)) == [True]
    assert rows(cc.equal(zoned, datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc))) == [True]


# ---- layouts ----
def test_rows_of_a_dense_union_are_taken_into_a_valid_one(device):
    u = pa.UnionArray.from_dense(
        pa.array([0, 1, 0, 1, 0], pa.int8()),
        pa.array([0, 0, 1, 1, 2], pa.int32()),
        [pa.array([1, 2, 3]), pa.array(["a", "b"])],
    )
    for picks in ([4, 1, 0, 3], [3, 3, 1], [], [0, 0, 0, 4, 2]):
        out = cc.take(there(u, device), there(pa.array(picks, pa.int64()), device)).to("cpu")
        out.validate("full")
        assert out.to_pylist() == [u[i].as_py() for i in picks]
    kept = cc.filter(there(u, device), there(pa.array([True, False, False, True, True]), device)).to("cpu")
    kept.validate("full")
    assert kept.to_pylist() == [1, "b", 3]
    none = cc.take(there(u.slice(1, 3), device), there(pa.array([2, None, 0]), device)).to("cpu")
    none.validate("full")
    assert none.to_pylist() == ["b", None, "a"]


@pytest.mark.parametrize("size", [0, 1, 3])
@pytest.mark.parametrize("child", [pa.int32(), pa.null()], ids=str)
def test_indices_of_fixed_size_lists_are_checked(device, size, child):
    a = there(pa.array([[None] * size] * 2, pa.list_(child, size)), device)
    for i in (2, -1, 10**9):
        with pytest.raises(cc.IndexOutOfBounds):
            cc.take(a, there(pa.array([i]), device))
    assert rows(cc.take(a, there(pa.array([1, 0, 1]), device))) == [[None] * size] * 3


def test_one_truth_about_nulls_is_what_the_rows_show(device):
    sparse = pa.UnionArray.from_sparse(
        pa.array([0, 0, 1], pa.int8()), [pa.array([1, None, 3]), pa.array(["a", "b", None])]
    )
    dense = pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()),
        pa.array([0, 0, 1], pa.int32()),
        [pa.array([1, None]), pa.array([None], pa.string())],
    )
    runs = pc.run_end_encode(pa.array([1, 1, None, 2]))
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))
    for a in (
        sparse,
        sparse.slice(1),
        dense,
        dense.slice(1, 2),
        runs,
        runs.slice(1, 2),
        words,
        pa.nulls(3),
        pa.array([1, None]),
    ):
        x, shown = there(a, device), a.to_pylist()
        assert rows(cc.is_null(x)) == [v is None for v in shown]
        assert rows(cc.is_valid(x)) == [v is not None for v in shown]
        assert cc.count(x).as_py() == sum(v is not None for v in shown)
        assert cc.count(x, mode="only_null").as_py() == sum(v is None for v in shown)
        assert cc.count([x, x], mode="all").as_py() == 2 * len(shown)
        assert rows(cc.drop_null(x)) == [v for v in shown if v is not None]
    for a, b in ((runs, pa.scalar(9)), (runs, pc.run_end_encode(pa.array([7, 8, 9, 9]))), (words, pa.scalar("z"))):
        other = a.to_pylist() if isinstance(b, pa.Scalar) else b.to_pylist()
        want = [
            v if v is not None else (b.as_py() if isinstance(b, pa.Scalar) else w)
            for v, w in zip(a.to_pylist(), other, strict=True)
        ]
        y = b if isinstance(b, pa.Scalar) else there(b, device)
        assert rows(cc.fill_null(there(a, device), y)) == want and rows(cc.coalesce(there(a, device), y)) == want


@pytest.mark.slow
def test_what_has_no_memory_takes_no_time(device):
    empty = cdevice.from_buffers("struct<>", 1 << 40, [None], children=[])
    done = []

    def run():
        done.append(cc.count(empty).as_py())
        nulls = cdevice.from_buffers("null", 1 << 40, [])
        done.append(cc.count(nulls, mode="only_null").as_py())
        done.append(cc.sum(nulls).as_py())
        for kind, offsets in (
            ("list", np.array([0, 1 << 29, 1 << 30], "i4")),
            ("large_list", np.array([0, 1 << 39, 1 << 40])),
        ):
            here = cdevice.from_buffers(f"{kind}<item: null>", 2, [None, offsets], children=[nulls])
            lists = there(here, device)
            done.append(cc.filter(lists, there(pa.array([False, True]), device)).children[0].length)
            done.append(cc.take(lists, there(pa.array([0, 1]), device)).children[0].length)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(300)  # kernels may have to be compiled
    assert done == [1 << 40, 1 << 40, None, 1 << 29, 1 << 30, 1 << 39, 1 << 40]


def test_a_safe_cast_to_float16_keeps_integers(device):
    for value in (2**31 - 1, 70000, 2049, -2049):
        with pytest.raises(cdevice.ArgumentError, match=f"{value} not in the range of float16"):
            cc.cast(there(pa.array([value], pa.int32()), device), "float16")
    assert rows(cc.cast(there(pa.array([2048, -2048, None], pa.int32()), device), "float16")) == [2048.0, -2048.0, None]
    assert rows(cc.cast(there(pa.array([70000], pa.int32()), device), "float16", safe=False)) == [math.inf]


def test_errors_name_the_function_and_the_types_of_the_caller(device):
    x = there(pa.array([[1] * 64], pa.list_(pa.int64(), 64)), device)
    with pytest.raises(cc.NoKernel, match=r"fixed_size_list\[64\]"):
        cc.bit_wise_and(x, x)
    with pytest.raises(cdevice.ArgumentError, match="equal: arguments of 2 and 1 rows"):
        cc.equal(there(pa.array(["a", "b"]), device), there(pa.array(["a"]), device))
    with pytest.raises(cdevice.ArgumentError, match="18446744073709551615 not in the range of int64"):
        cc.cast(there(pa.array([BIG], pa.uint64()), device), "int64")


def test_pyarrows_own_errors_are_of_our_family():
    dates = pa.array([0, None]).cast(pa.date64())
    for call in (
        lambda: cc.fill_null(dates, pa.scalar(126, pa.int8())),
        lambda: cc.call_function("strptime", [["x"]], format=5, unit="s"),
        lambda: cc.call_function("index_in", [[1]], value_set=["a"]),
        lambda: cc.call_function("utf8_slice_codeunits", [["x"]], start="a"),
    ):
        with pytest.raises((cdevice.Error, TypeError, ValueError)) as caught:
            call()
        assert not type(caught.value).__module__.startswith("pyarrow")


def test_views_are_cast_for_pyarrows_functions():
    text = pa.array(["a", None], pa.string_view())
    assert cc.call_function("utf8_upper", [text]).to_pylist() == ["A", None]
    assert cc.call_function("binary_length", [text.cast(pa.binary_view())]).to_pylist() == [1, None]


def test_nested_scalars_fill_rows(device):
    for a, one in (
        (pa.array([[1], None]), pa.scalar([5, 6])),
        (pa.array([{"a": 1}, None]), pa.scalar({"a": 5})),
        (pa.array(["x", None]).dictionary_encode(), pa.array(["y"]).dictionary_encode()[0]),
    ):
        assert rows(cc.fill_null(there(a, device), one)) == [a[0].as_py(), one.as_py()]
    name = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"x" * 16], pa.binary(16)))[0]
    assert cc.is_null(name).as_py() is False


def test_units_of_numpy_that_arrow_has_not_are_days_and_seconds(device):
    x = there(pa.array([datetime.datetime(2023, 1, 1)], pa.timestamp("ns")), device)
    for word in ("2023", "2023-01", "2022-12-31T23"):
        assert rows(cc.greater_equal(x, np.datetime64(word))) == [True]
    assert rows(cc.add(x, np.timedelta64(1, "D"))) == [
        pa.scalar(datetime.datetime(2023, 1, 2), pa.timestamp("ns")).as_py()
    ]
    with pytest.raises(REFUSED):
        cc.add(x, np.timedelta64(1, "M"))


def test_na_of_pandas_is_null(device):
    pandas = pytest.importorskip("pandas", reason="pip install pandas")
    assert rows(cc.add(there(pa.array([1]), device), pandas.NA)) == [None]


def test_encoded_arrays_are_added_up_as_their_values(device):
    words = pa.array([1, 1, None, 5]).dictionary_encode()
    runs = pc.run_end_encode(pa.array([1, 1, None, 5]))
    for a in (words, runs):
        x = there(a, device)
        for name, want in (("sum", 7), ("min", 1), ("max", 5), ("count", 3)):
            assert getattr(cc, name)(x).as_py() == want and getattr(cc, name)([x, x[1:]]).as_py() is not None
        assert cc.sum([x, x]).as_py() == 14 and cc.mean(x).as_py() == pytest.approx(7 / 3)
    other = there(pa.array([10, 20]).dictionary_encode(), device)
    assert cc.sum([there(words, device), other]).as_py() == 37
    assert cc.sum(pa.chunked_array([words, words])).as_py() == 14
    table = pa.table({"x": pa.chunked_array([words, words])})
    assert cc.sum(cdevice.asstream(b["x"] for b in cdevice.asstream(table))).as_py() == 14
    assert cc.sum(pa.nulls(3).dictionary_encode()).as_py() is None


def test_nothing_is_neither_any_nor_all():
    assert cc.any(None).as_py() is None and cc.all([]).as_py() is None
    assert cc.any([], min_count=0).as_py() is False and cc.all(pa.nulls(3), min_count=0).as_py() is True


_OF_A_ROW = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64 bool string".split()


@pytest.mark.parametrize("word", _OF_A_ROW)
def test_a_scalar_has_the_value_that_the_list_of_its_row_has(word):
    a = cdevice.asarray(pa.array([None, 1, 0, None, 1]).cast(word))
    for row in (a[k : k + 1] for k in range(5)):
        value, (listed,) = cc.Scalar(row).as_py(), row.to_pylist()
        assert value == listed and type(value) is type(listed)


def test_a_bitmap_of_no_nulls_is_not_looked_at():
    buffers = [np.zeros(8, "u1"), np.array([7])]
    one = cdevice.from_buffers("l", 1, buffers, null_count=0, validate=None)  # the check of an import refuses it
    assert cc.Scalar(one).as_py() == 7 == one.to_pylist()[0]


def test_one_value_is_looked_up_in_a_set_as_arrows_is():
    import pyarrow as pa
    import pyarrow.compute as pc

    for value, values in ((1, [1, 2]), (3, [1]), (None, [1, None]), ("a", ["b", "a"]), (2.5, [2.5])):
        for name in ("is_in", "index_in"):
            want = getattr(pc, name)(pa.scalar(value), value_set=pa.array(values)).as_py()
            assert getattr(cc, name)(value, values).as_py() == want
    assert cdevice.asarray({"a": [1, 2]}).filter("1 in (1, 2)").num_rows == 2


def test_no_row_is_taken_by_an_empty_list():
    assert cc.take(cdevice.asarray([1, 2]), []).to_pylist() == [] and cdevice.asarray(["a"])[[]].to_pylist() == []
    assert cdevice.asarray({"a": [1]}).take([]).to_pylist() == []


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary", "int64", "bool"])
def test_a_set_of_nulls_alone_finds_nulls_of_every_type(kind):
    rows = {"binary": [b"a", None], "int64": [1, None], "bool": [True, None]}.get(kind, ["a", None])
    x = cdevice.asarray(rows, schema=kind)
    assert cc.is_in(x, [None]).to_pylist() == [False, True] and cc.index_in(x, [None]).to_pylist() == [None, 0]
    assert cc.is_in(x, [None], skip_nulls=True).to_pylist() == [False, False]
