"""Rows as Python objects: what no row refers to is not looked at, what Python cannot hold is a ValueError."""

import array
import ctypes
import datetime as dt
import re
import struct

import numpy as np
import pytest
from foreign_tensor import Tensor

import cdevice

FAR = 1 << 61  # a timestamp in seconds that Python has not
EPOCH = dt.datetime(1970, 1, 1)


def build(schema, length, buffers, **more):
    return cdevice.from_buffers(schema, length, buffers, **more)


def stamps(*values):
    return build("timestamp[s]", len(values), [None, np.array(values, "i8")])


def test_a_map_whose_two_fields_have_one_name_keeps_its_entries():
    S = cdevice.Schema.make
    fields = [S("u", "x", nullable=False), S("l", "x")]
    entries = build(
        S("+s", "entries", children=fields), 2, [None], children=[cdevice.asarray(["a", "b"]), cdevice.asarray([1, 2])]
    )
    maps = build(S("+m", children=[entries.schema]), 2, [None, array.array("i", [0, 1, 2])], children=[entries])
    assert maps.to_pylist() == [[("a", 1)], [("b", 2)]]


NULL_ABOVE = {
    "struct": lambda: build({"t": "timestamp[s]"}, 2, [b"\2"], null_count=1, children=[stamps(FAR, 0)]),
    "fixed list": lambda: build(
        "fixed_size_list<item: timestamp[s]>[1]", 2, [b"\2"], null_count=1, children=[stamps(FAR, 0)]
    ),
    "list": lambda: build(
        ["timestamp[s]"], 2, [b"\2", np.array([0, 1, 2], "i4")], null_count=1, children=[stamps(FAR, 0)]
    ),
    "list view": lambda: build(
        "list_view<item: timestamp[s]>",
        2,
        [b"\2", np.array([0, 1], "i4"), np.array([1, 1], "i4")],
        null_count=1,
        children=[stamps(FAR, 0)],
    ),
    "dictionary": lambda: build(
        "dictionary<values=timestamp[s], indices=int8, ordered=0>",
        2,
        [b"\2", b"\0\1"],
        null_count=1,
        dictionary=stamps(FAR, 0),
    ),
    "runs": lambda: build(
        {"r": "run_end_encoded<run_ends: int32, values: timestamp[s]>"},
        2,
        [b"\2"],
        null_count=1,
        children=[
            build(
                "run_end_encoded<run_ends: int32, values: timestamp[s]>",
                2,
                [],
                children=[cdevice.asarray([1, 2], schema="int32"), stamps(FAR, 0)],
            )
        ],
    ),
    "union": lambda: build(
        {"u": "sparse_union<t: timestamp[s]=0>"},
        2,
        [b"\2"],
        null_count=1,
        children=[build("sparse_union<t: timestamp[s]=0>", 2, [b"\0\0"], children=[stamps(FAR, 0)])],
    ),
}


@pytest.mark.parametrize("what", NULL_ABOVE)
def test_a_value_below_a_null_is_not_looked_at(what):
    first, second = NULL_ABOVE[what]().to_pylist()
    assert first is None and "1970" in str(second).replace("datetime.datetime(1970", "1970")


UNUSED = {
    "dense union": lambda: build(
        "dense_union<t: timestamp[s]=0>", 1, [b"\0", np.array([1], "i4")], children=[stamps(FAR, 0)]
    ),
    "dictionary": lambda: build(
        "dictionary<values=timestamp[s], indices=int8, ordered=0>", 1, [None, b"\1"], dictionary=stamps(FAR, 0)
    ),
    "list view": lambda: build(
        "list_view<item: timestamp[s]>", 1, [None, np.array([1], "i4"), np.array([1], "i4")], children=[stamps(FAR, 0)]
    ),
}


@pytest.mark.parametrize("what", UNUSED)
def test_a_value_that_no_row_refers_to_is_not_looked_at(what):
    assert "datetime.datetime(1970, 1, 1, 0, 0)" in repr(UNUSED[what]().to_pylist())


def test_a_type_that_python_cannot_hold_is_no_matter_where_no_row_has_a_value():
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    nowhere = pa.array([1, None, None], pa.timestamp("us", "No/Where"))
    twins = pa.StructArray.from_arrays([pa.array([1, 2, 3])] * 2, names=["a", "a"], mask=pa.array([False, True, True]))
    for values, words in ((nowhere, "unknown time zone"), (twins, "two fields of one name")):
        for none in (values[:0], values[1:], pa.ListArray.from_arrays([0, 0, 2], values[1:])):
            same = [[], [None, None]] if pa.types.is_list(none.type) else [None] * len(none)
            assert cdevice.asarray(none).to_pylist() == same
        for some in (values, values[:1], pa.ListArray.from_arrays([0, 1], values)):
            with pytest.raises(ValueError, match=words):
                cdevice.asarray(some).to_pylist()


def test_a_row_of_a_large_child_costs_that_row():
    """Two rows at the ends of a child of 2^31 values, one value of a large dictionary."""
    null = build("null", 2**31 - 1, [], null_count=2**31 - 1)
    ends = build(
        "list_view<item: null>", 2, [None, np.array([0, 2**31 - 2], "i4"), np.array([1, 1], "i4")], children=[null]
    )
    assert ends.to_pylist() == [[None], [None]]
    words = build(
        "dictionary<values=null, indices=int32, ordered=0>", 2, [None, np.array([0, 2**31 - 2], "i4")], dictionary=null
    )
    assert words.to_pylist() == [None, None]
    union = build("dense_union<n: null=0>", 2, [b"\0\0", np.array([0, 2**31 - 2], "i4")], children=[null])
    assert union.to_pylist() == [None, None]
    hidden = np.array([0, 1, 2**31 - 2, 2**31 - 1], "i4")  # by the null in the middle
    assert build("list<item: null>", 3, [b"\5", hidden], children=[null]).to_pylist() == [[None], None, [None]]


def test_null_rows_between_others_hide_what_they_have():
    """Short gaps and long ones, in every kind of list."""
    rng = np.random.default_rng(5)
    sizes = rng.choice([0, 1, 3, 200], 60)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    valid = rng.random(60) < 0.5
    values = np.where(np.repeat(valid, sizes), np.arange(starts[-1]), FAR)
    child = build("timestamp[s]", len(values), [None, values])
    want = [
        [EPOCH + dt.timedelta(seconds=int(v)) for v in values[starts[k] : starts[k + 1]]] if ok else None
        for k, ok in enumerate(valid)
    ]
    bits = np.packbits(valid, bitorder="little")
    lists = build("list<item: timestamp[s]>", 60, [bits, starts.astype("i4")], children=[child])
    assert lists.to_pylist() == want and lists[7:50].to_pylist() == want[7:50]
    order = rng.permutation(60)
    shuffled = build(
        "list_view<item: timestamp[s]>",
        60,
        [np.packbits(valid[order], bitorder="little"), starts[order].astype("i4"), sizes[order].astype("i4")],
        children=[child],
    )
    assert shuffled.to_pylist() == [want[k] for k in order]
    values = np.where(np.repeat(valid, 3), np.arange(180), FAR)
    threes = build(
        "fixed_size_list<item: timestamp[s]>[3]", 60, [bits], children=[build("timestamp[s]", 180, [None, values])]
    )
    seconds = [None if row is None else [int((v - EPOCH).total_seconds()) for v in row] for row in threes.to_pylist()]
    assert seconds == [[3 * k, 3 * k + 1, 3 * k + 2] if ok else None for k, ok in enumerate(valid)]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("timestamp[s]", FAR),
        ("timestamp[us]", 2**63 - 1),
        ("timestamp[s, tz=America/New_York]", -(2**60)),
        ("timestamp[s, tz=Nowhere/AtAll]", 0),
        ("timestamp[s, tz=Europe]", 0),
        ("duration[s]", 2**63 - 1),
        ("date32", 2**31 - 1),
        ("date64", 2**63 - 1),
        ("time32[s]", -1),
        ("time64[us]", 10**18),
    ],
)
def test_what_python_cannot_hold_is_a_value_error(schema, value):
    array = cdevice.asarray([value], schema=schema)
    with pytest.raises(ValueError, match=re.escape(array.type) if "date" in schema else None):
        array.to_pylist()
    assert "cannot be shown" in repr(array)


def test_zones_are_understood_with_and_without_a_colon():
    for zone in ("+05:30", "+0530"):
        row = cdevice.asarray([0], schema=f"timestamp[s, tz={zone}]").to_pylist()[0]
        assert row.utcoffset() == dt.timedelta(hours=5, minutes=30)


def test_a_column_of_nanoseconds_is_of_one_kind():
    pd = pytest.importorskip("pandas", reason="pip install pandas")
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    for kind in (pa.timestamp("ns"), pa.timestamp("ns", "Europe/Berlin"), pa.duration("ns")):
        theirs = pa.array([0, 1, 1000, None], kind)
        ours = cdevice.asarray(theirs).to_pylist()
        assert ours == theirs.to_pylist() and list(map(type, ours)) == list(map(type, theirs.to_pylist()))
    assert isinstance(cdevice.asarray(pa.array([0], pa.timestamp("ns"))).to_pylist()[0], pd.Timestamp)


def test_extension_metadata_on_another_storage_shows_the_storage():
    for name, format, value in [(b"arrow.uuid", "l", 5), (b"arrow.bool8", "u", "x"), (b"arrow.uuid", "w:3", b"abc")]:
        schema = cdevice.Schema.make(format, metadata={b"ARROW:extension:name": name})
        assert cdevice.asarray([value], schema=schema).to_pylist() == [value]


def test_run_ends_are_plain_integers():
    S = cdevice.Schema.make
    ends = S("i", "run_ends", dictionary=S("i"))
    with pytest.raises(cdevice.InvalidArray, match="run ends are"):
        S("+r", children=[ends, S("l", "values")])
    marked = S("c", "x", metadata={b"ARROW:extension:name": b"arrow.bool8"})
    with pytest.raises(cdevice.InvalidArray):
        S("+r", children=[marked, S("l", "values")])
    ends = S("i", "run_ends", nullable=False, metadata={b"ARROW:extension:name": b"arrow.bool8"})
    array = build(
        S("+r", children=[ends, S("l", "values")]),
        3,
        [],
        children=[cdevice.asarray([2, 3], schema="int32"), cdevice.asarray([7, 8])],
    )
    assert array.to_pylist() == [7, 7, 8]


# ---- what arrays say of themselves ----
def test_sums_that_overflow_are_unknown():
    S = cdevice.Schema.make
    views = build(
        "binary_view",
        1,
        [None, struct.pack("=i12s", 1, b"x"), 4096, 4096, array.array("q", [2**63 - 1] * 2)],
        validate=None,
    )
    assert views.nbytes == -1
    null = build("null", 2**63 - 1, [], null_count=2**63 - 1)
    with pytest.raises(cdevice.InvalidArray, match="64 bits can count"):
        build(S("+w:2", children=[S("n", "item")]), 2**62 + 5, [None], children=[null])


def test_a_tensor_whose_shape_overflows_is_refused():
    with pytest.raises(cdevice.ArgumentError, match="64 bits"):
        cdevice.asarray(Tensor(None, (1 << 62, (1 << 31) - 1, 0)), copy=False)


# ---- equality and types ----
def test_nullability_of_the_top_and_words_for_one_decimal_do_not_make_types_differ():
    S = cdevice.Schema.make
    batch = cdevice.from_buffers(
        S("+s", children=[S("l", "x", nullable=False)]), 2, [None], children=[cdevice.asarray([1, 2])]
    )
    assert batch.field("x") == cdevice.asarray([1, 2])
    assert len(list(cdevice.asstream([cdevice.asarray([3]), batch.field("x")]))) == 2
    assert S("d:5,2").equals(S("d:5,2,128")) and not S("d:5,2").equals(S("d:5,2,256"))
    pair = [cdevice.asarray([1], schema=S(f)) for f in ("d:5,2", "d:5,2,128")]
    assert pair[0] == pair[1]


def test_an_index_to_a_null_is_a_null():
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    x = cdevice.asarray(pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array([None, "x"])))
    y = cdevice.asarray(pa.DictionaryArray.from_arrays(pa.array([None, 0], pa.int8()), pa.array(["x"])))
    z = cdevice.asarray(pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["x"])))
    assert x.to_pylist() == y.to_pylist() == [None, "x"]
    assert x == y and y == x and x != z and z != x and y != z


# ---- what consumers are told ----
def test_not_null_is_granted_only_where_it_is_true():
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    want = pa.schema([pa.field("a", pa.int64(), nullable=False)])

    class Capsule:
        def __init__(self, pair):
            self.pair = pair

        def __arrow_c_schema__(self):
            return self.pair[0]

    def granted(values):
        array = cdevice.asarray([{"a": v} for v in values])
        return pa.schema(Capsule(array.__arrow_c_array__(want.__arrow_c_schema__()))).field("a").nullable

    assert granted([1, None]) is True
    assert granted([1, 2]) is False


@pytest.mark.parametrize("how", ["record_batch", "batch", "stream"])
def test_a_record_batch_without_columns_leaves_with_offset_0(how):
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    array = cdevice.asarray(pa.array([{}] * 5, pa.struct([])))[1:3]
    if how == "stream":
        assert pa.RecordBatchReader.from_stream(cdevice.asstream([array])).read_all().num_columns == 0
    else:
        assert pa.record_batch(array if how == "record_batch" else array.to_batch()).num_rows == 2


def test_dlpack_says_copied_only_of_a_copy():
    def flags_and_data(array, **arguments):
        capsule = array.__dlpack__(max_version=(1, 0), **arguments)
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        words = (ctypes.c_uint64 * 5).from_address(get(capsule, b"dltensor_versioned"))
        return words[3], words[4]  # behind version, context and deleter

    array = cdevice.asarray([1, 2, 3])
    here = array.buffers[1].address
    assert flags_and_data(array, dl_device=(1, 0)) == (1, here)
    flags, data = flags_and_data(array, copy=True)
    assert flags == 2 and data != here  # a copy is the consumer's: it may write
