"""Every Arrow type, whole, sliced and empty: in, out, checked, copied, read."""

import copy
import pickle

import cases
import pytest

import cdevice
from cdevice._runtime.ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

every = pytest.mark.parametrize("source", cases.VALUES, ids=cases.IDS)
whole = pytest.mark.parametrize("source", cases.ARRAYS.values(), ids=cases.ARRAYS.keys())


def same(a, b):
    """pyarrow's equality; run-end encoded children of one logical value may be cut differently."""
    return a.type == b.type and a.to_pylist() == b.to_pylist()


@every
def test_comes_back_from_the_device_protocol_as_it_went_in(source):
    array = cdevice.asarray(source)
    back = pa.array(array)
    back.validate(full=True)
    assert back.type == source.type
    assert back.equals(source)


@every
def test_comes_back_from_the_plain_protocol_as_it_went_in(source):
    class Plain:
        def __init__(self, array):
            self.array = array

        def __arrow_c_array__(self, requested_schema=None):
            return self.array.__arrow_c_array__(requested_schema)

    assert pa.array(Plain(cdevice.asarray(Plain(source)))).equals(source)


@every
def test_passes_the_full_check(source):
    cdevice.asarray(source, validate="full").validate("full")


@every
def test_to_pylist_agrees_with_pyarrow(source):
    assert cdevice.asarray(source).to_pylist() == source.to_pylist()


@every
def test_a_copy_is_equal_aligned_and_holds_the_rows_alone(source):
    array = cdevice.asarray(source)
    there = array.to("cpu", copy=True)
    there.validate("full")
    assert there.equals(array, nans_equal=True)
    assert pa.array(there).to_pylist() == source.to_pylist()
    pa.array(there).validate(full=True)

    def check(a):
        for b in a.buffers:
            assert b.address == 0 or b.size == 8 or b.address % 64 == 0
        for c in [a._raw_child(i) for i in range(a._n_children)]:
            check(c)

    check(there)
    theirs = {b.address for b in array.buffers if b.size} & {b.address for b in there.buffers if b.size}
    assert not theirs


@every
def test_pickles_in_and_out_of_band(source):
    array = cdevice.asarray(source)
    for protocol in (2, 5):
        assert pickle.loads(pickle.dumps(array, protocol)).equals(array)
    buffers = []
    data = pickle.dumps(array, 5, buffer_callback=buffers.append)
    assert pickle.loads(data, buffers=buffers).equals(array)


@every
def test_a_pickled_slice_is_that_slice(source):
    array = cdevice.asarray(source)
    for start, stop in ((0, 8), (0, 3), (3, 7), (7, 8), (4, 4)):
        again = pickle.loads(pickle.dumps(array[start:stop], 5))
        again.validate("full")
        assert again.to_pylist() == array[start:stop].to_pylist()


@whole
def test_slices_of_the_array_equal_slices_of_the_source(source):
    array = cdevice.asarray(source)
    for start in range(9):
        for stop in range(start, 9):
            rows = array[start:stop]
            assert rows.to_pylist() == source.slice(start, stop - start).to_pylist()
            assert pa.array(rows).equals(source.slice(start, stop - start))
            assert rows.null_count == source.slice(start, stop - start).null_count


@whole
def test_a_slice_shares_every_address(source):
    array = cdevice.asarray(source)
    assert [b.address for b in array[2:5].buffers] == [b.address for b in array.buffers]


@whole
def test_equality_sees_one_changed_row(source):
    array = cdevice.asarray(source)
    assert array == cdevice.asarray(source)
    values = source.to_pylist()
    if values[0] != values[-1]:
        assert array[:1] != array[-1:]
    assert array[:4] != array[:5]


@whole
def test_imported_from_cdevice_again_it_is_the_same(source):
    array = cdevice.asarray(source)
    again = cdevice.import_capsules(*array.__arrow_c_device_array__(), validate="full")
    third = cdevice.import_capsules(*again.__arrow_c_device_array__(), validate="full")
    array.release()
    again.release()
    assert third.to_pylist() == source.to_pylist()
    assert third.schema == cdevice.asschema(source.type)


@whole
def test_types_and_schemas_keep_names_flags_and_metadata(source):
    field = pa.field("a name", source.type, nullable=pa.types.is_null(source.type), metadata={"k": "v", "": "x"})
    schema = cdevice.asschema(field)
    assert pa.field(schema) == field
    assert pa.field(schema).metadata == field.metadata
    assert schema.metadata[b"k"] == b"v"
    assert pickle.loads(pickle.dumps(schema)) == schema


def alike(a, b):
    return (
        a.format == b.format
        and [(c.name, c.nullable) for c in a.children] == [(c.name, c.nullable) for c in b.children]
        and all(map(alike, a.children, b.children))
        and (a.dictionary is None) == (b.dictionary is None)
        and (a.dictionary is None or (alike(a.dictionary, b.dictionary) and a.flags == b.flags))
    )


@whole
def test_the_words_for_a_type_name_it(source):
    schema = cdevice.asschema(source.type)
    assert alike(cdevice.asschema(schema.type), schema)
    if not isinstance(source.type, pa.BaseExtensionType):
        assert alike(cdevice.asschema(str(source.type)), schema)  # pyarrow's words


@pytest.mark.parametrize(
    ("words", "full"),
    [
        ("fixed_size_list<float>[3]", "fixed_size_list<item: float32>[3]"),
        ("struct<>", "struct<>"),
        ("struct<float64, b: int8 not null>", "struct<f0: float64, b: int8 not null>"),
        ("struct<a: map<string, decimal(3, 1)>, d: timestamp[us, UTC]>",
         "struct<a: map<string, decimal128(3, 1)>, d: timestamp[us, tz=UTC]>"),
        ("list<dictionary<values=string, indices=int8>>",
         "list<item: dictionary<values=string, indices=int8, ordered=0>>"),
        ("run_end_encoded<int16, string>", "run_end_encoded<run_ends: int16, values: string>"),
        ("dense_union<a: int8=0, b: list<int8>=5>", "dense_union<a: int8=0, b: list<item: int8>=5>"),
    ],
)  # fmt: skip
def test_words_of_nested_types_may_leave_out_what_follows(words, full):
    assert cdevice.asschema(words).type == full
    assert cdevice.asschema(words, "x").name == "x"


@pytest.mark.parametrize(
    "words",
    ["list<>", "list<int8", "list<int8>>", "fixed_size_list<int8>", "fixed_size_list<int8>[x]", "struct<a>", "map<int8>",
     "dictionary<string>", "foo<int8>", "struct<a: int8,>", "dense_union<a: int8>", "struct<a: >", "<int8>", "[3]"],
)  # fmt: skip
def test_words_that_name_no_type_are_refused(words):
    with pytest.raises(cdevice.InvalidArray):
        cdevice.asschema(words)


@whole
def test_from_python_values_it_is_the_same(source):
    values = source.to_pylist()
    name = str(source.type)
    if "union" in name:
        ids = [0 if isinstance(v, int) or v is None else 1 for v in values]
        if not name.startswith("list"):
            values = list(zip(ids, values))
    if name.startswith("extension") and "bool8" in name:
        values = [None if v is None else int(v) for v in values]
    if "list<item: dense_union" in name:
        values = [[(1 if isinstance(v, str) else 0, v) for v in row] for row in values]
    array = cdevice.asarray(values, schema=source.type)
    array.validate("full")
    assert array.to_pylist() == source.to_pylist()


def test_intervals_of_months_and_of_days():
    months = cdevice.asarray([1, None, -3], schema="month_interval")
    assert months.to_pylist() == [1, None, -3]
    days = cdevice.asarray([(1, 2), None, (-3, 4)], schema="day_time_interval")
    assert days.to_pylist() == [(1, 2), None, (-3, 4)]
    for a in (months, days):
        assert a.to("cpu", copy=True) == a


def test_record_batches_keep_schema_metadata_and_go_out_as_batches():
    schema = pa.schema([pa.field("i", pa.int64(), metadata={"f": "1"}), ("s", pa.string())], metadata={"m": "v"})
    batch = pa.record_batch([pa.array(range(10)), pa.array(list("abcdefghij"))], schema=schema)
    array = cdevice.asarray(batch)
    back = pa.record_batch(array)
    assert back.equals(batch, check_metadata=True)
    assert pa.record_batch(array[3:7]).equals(batch.slice(3, 4), check_metadata=True)
    assert pa.record_batch(array[3:7].to("cpu", copy=True)).equals(batch.slice(3, 4))


def test_a_copy_takes_the_rows_of_the_slice_alone():
    array = cdevice.asarray(pa.array(["x" * 100] * 1000))
    assert array[10:20].to("cpu", copy=True).nbytes < 1100
    nested = cdevice.asarray(pa.array([["x" * 100] * 3] * 1000))
    assert nested[10:12].to("cpu", copy=True).nbytes < 700


def test_a_copied_slice_of_views_takes_only_what_its_views_point_to():
    source = pa.array(
        [f"value number {i:05d} is longer than twelve" for i in range(2000)] + [None, "short"], pa.string_view()
    )
    array = cdevice.asarray(source)
    for start, stop in ((0, 3), (700, 710), (1995, 2002), (2000, 2002)):
        there = array[start:stop].to("cpu", copy=True)
        there.validate("full")
        assert there.to_pylist() == source.slice(start, stop - start).to_pylist()
        assert there.nbytes < 900
    bad = cdevice.from_buffers(
        "string_view",
        3,
        [None, b"\x14\0\0\0abcd\7\0\0\0\0\0\0\0" * 3, b"x" * 20, memoryview(b"\x14" + bytes(7))],
        null_count=0,
        validate=None,
    )
    with pytest.raises(cdevice.InvalidArray, match="outside its data"):
        bad[1:].to("cpu", copy=True)


def test_a_deep_copy_is_the_same_memory():
    array = cdevice.asarray([1, 2, 3])
    assert copy.deepcopy(array).buffers[1].address == array.buffers[1].address


def test_repr_shows_type_length_nulls_device_event_and_values():
    text = repr(cdevice.asarray([1, None] + list(range(20))))
    for word in ("int64", "length 22", "nulls 1", "cpu", "event none", "[1, null, 0, 1, 2, ..., 15, 16, 17, 18, 19]"):
        assert word in text


def test_nothing_is_left_alive():
    import gc

    gc.collect()
    before = lib.cdv_live_arrays(), lib.cdv_live_exports(), lib.cdv_live_schemas()
    for source in cases.VALUES:
        a = cdevice.asarray(source)
        b = a.to("cpu", copy=True)
        b[1:].__arrow_c_device_array__()
        del a, b
    gc.collect()
    assert (lib.cdv_live_arrays(), lib.cdv_live_exports(), lib.cdv_live_schemas()) == before
