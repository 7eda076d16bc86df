"""The Arrow PyCapsule protocol, and real peers on the other side of it."""

import gc
import sys

import cases
import pytest

import cdevice
from cdevice._runtime.ext import ffi, lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
import numpy as np  # noqa: E402


class DeviceOnly:
    """An object that has nothing but the device method, and takes no keywords, as old producers."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_device_array__(self):
        return self.array.__arrow_c_device_array__()


@pytest.mark.parametrize("method", ["__arrow_c_device_array__", "__arrow_c_array__"])
def test_unknown_keywords_are_taken_when_none_and_refused_by_name_otherwise(method):
    export = getattr(cdevice.asarray([1]), method)
    export(requested_schema=None, something=None)
    with pytest.raises(NotImplementedError, match="something"):
        export(something=1)
    with pytest.raises(TypeError):
        export(None, None)


def test_an_equal_requested_schema_is_granted():
    array = cdevice.asarray([1, 2])
    again = cdevice.import_capsules(*array.__arrow_c_device_array__(pa.int64().__arrow_c_schema__()))
    assert again == array


def test_a_request_for_other_labels_is_granted_without_touching_the_data():
    array = cdevice.asarray(pa.record_batch({"a": [1], "b": ["x"]}))
    wanted = pa.schema(
        [pa.field("p", pa.int64(), metadata={"k": "v"}), pa.field("q", pa.string())], metadata={"m": "n"}
    )
    again = cdevice.import_capsules(*array.__arrow_c_device_array__(requested_schema=wanted.__arrow_c_schema__()))
    assert pa.record_batch(again).schema.equals(wanted, check_metadata=True)
    assert again.field("p").buffers[1].address == array.field("a").buffers[1].address


def test_another_representation_is_answered_with_our_own():
    array = cdevice.asarray([1, 2])
    again = cdevice.import_capsules(*array.__arrow_c_device_array__(pa.int32().__arrow_c_schema__()))
    assert again.type == "int64"


def test_a_request_with_another_number_of_fields_is_refused():
    array = cdevice.asarray(pa.record_batch({"a": [1], "b": ["x"]}))
    with pytest.raises(ValueError, match="fields"):
        array.__arrow_c_device_array__(pa.schema([("a", pa.int64())]).__arrow_c_schema__())


def test_old_producers_without_keywords_are_taken():
    assert cdevice.asarray(DeviceOnly(cdevice.asarray([1, 2]))).to_pylist() == [1, 2]


def test_our_own_arrays_come_back_as_they_are():
    array = cdevice.asarray([1])
    assert cdevice.asarray(array) is array


def test_capsules_have_the_names_of_the_protocol():
    array = cdevice.asarray([1])
    assert [repr(c).split('"')[1] for c in array.__arrow_c_device_array__()] == ["arrow_schema", "arrow_device_array"]
    assert [repr(c).split('"')[1] for c in array.__arrow_c_array__()] == ["arrow_schema", "arrow_array"]


def test_a_wrong_capsule_is_refused():
    schema, array = cdevice.asarray([1]).__arrow_c_device_array__()
    for pair in ((array, schema), (schema, schema)):
        with pytest.raises(ValueError):
            cdevice.import_capsules(*pair)
    for pair in ((object(), array), (schema, 2)):
        with pytest.raises(TypeError, match="capsules? .*are expected"):
            cdevice.import_capsules(*pair)


def test_a_failed_import_leaves_the_capsules_usable():
    schema, array = cdevice.asarray([1]).__arrow_c_device_array__()
    wrong = pa.string().__arrow_c_schema__()
    with pytest.raises(cdevice.InvalidArray):
        cdevice.import_capsules(wrong, array)
    assert cdevice.import_capsules(schema, array).to_pylist() == [1]


def test_pyarrow_takes_sliced_and_nullable_structs_as_it_can():
    array = cdevice.asarray(pa.array([{"a": 1}, None, {"a": 3}]))
    assert pa.array(array[1:]).to_pylist() == [None, {"a": 3}]
    full = cdevice.asarray(pa.StructArray.from_arrays([pa.array(range(9))], ["a"]))
    assert pa.record_batch(full[2:5]).to_pylist() == [{"a": 2}, {"a": 3}, {"a": 4}]


# ---- peers ----
every = pytest.mark.parametrize("name", cases.IDS)
SOURCES = dict(cases.EVERY)


@every
def test_nanoarrow_passes_every_layout_through(name):
    na = pytest.importorskip("nanoarrow", reason="pip install nanoarrow")
    from nanoarrow.device import c_device_array

    source = SOURCES[name]
    if "string_view" in name or "binary_view" in name:
        # nanoarrow 0.9 corrupts memory when it exports view types again; importing is fine
        assert c_device_array(cdevice.asarray(source)).array.length == len(source)
        return
    through = cdevice.asarray(c_device_array(cdevice.asarray(source)))
    assert through.to_pylist() == source.to_pylist()
    assert cdevice.asarray(na.c_array(cdevice.asarray(source))).to_pylist() == source.to_pylist()


class Plain:
    """An Arrow array of which a consumer sees the plain protocol only."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


def outcome(consume, array):
    """What a peer makes of an array: its value, or that it cannot take it."""
    try:
        return "value", consume(array)
    except BaseException as e:  # panics of Rust peers are no Exceptions
        return "cannot", type(e).__name__


def takes(consume, name, array=Plain):
    """A peer does with our array what it does with pyarrow's of the same values."""
    source = SOURCES[name]
    assert outcome(consume, array(cdevice.asarray(source))) == outcome(consume, array(source))


@every
def test_arro3_takes_every_layout_as_from_pyarrow_and_gives_it_back(name):
    arro3 = pytest.importorskip("arro3.core", reason="pip install arro3-core")
    takes(lambda a: cdevice.asarray(arro3.Array.from_arrow(a)).to_pylist(), name)


@every
def test_polars_takes_every_layout_as_from_pyarrow(name):
    pl = pytest.importorskip("polars", reason="pip install polars")
    takes(lambda a: pl.Series(a).to_list(), name)


@every
def test_pandas_takes_every_layout_as_from_pyarrow(name):
    pd = pytest.importorskip("pandas", reason="pip install pandas")
    takes(lambda a: pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(a)]))).tolist(), name)


@pytest.mark.parametrize("name", [n for n in cases.IDS if n.endswith(("-whole", "-middle"))])
def test_duckdb_takes_every_layout_as_from_pyarrow(name):
    duckdb = pytest.importorskip("duckdb", "1.5", reason='pip install "duckdb>=1.5"')

    def rows(array):
        found = pa.table([pa.array(array)], names=["x"])
        return found.num_rows, repr(duckdb.sql("select x from found").fetchall())

    source = SOURCES[name]
    got = outcome(rows, Plain(cdevice.asarray(source)))
    # duckdb 1.5 misreads pyarrow's slices of structs of run ends, and reads ours right
    right = "value", (len(source), repr([(x,) for x in source.to_pylist()]))
    assert got in (right, outcome(rows, Plain(source)))


def test_polars_takes_arrays_and_batches_and_gives_them_back():
    pl = pytest.importorskip("polars", reason="pip install polars")
    series = pl.Series(cdevice.asarray([1, None, 3]))
    assert series.to_list() == [1, None, 3]
    batch = cdevice.asarray(pa.record_batch({"a": [1, 2], "s": ["x", None]}))
    frame = pl.DataFrame(pa.record_batch(batch))
    assert frame.to_dicts() == batch.to_pylist()
    assert cdevice.asarray(series.to_arrow()).to_pylist() == [1, None, 3]


def test_duckdb_reads_our_batches():
    duckdb = pytest.importorskip("duckdb", "1.5", reason='pip install "duckdb>=1.5"')
    batch = pa.table(pa.record_batch(cdevice.asarray(pa.record_batch({"a": [1, 2, 3]}))))
    assert duckdb.sql("select sum(a) from batch").fetchall() == [(6,)]
    assert batch.num_rows == 3


def test_pandas_columns_come_in_and_go_out():
    pd = pytest.importorskip("pandas", reason="pip install pandas")
    series = pd.Series([1.5, 2.5, 3.5])
    array = cdevice.asarray(series.to_numpy())
    assert array.to_pylist() == [1.5, 2.5, 3.5]
    assert pd.Series(array.to_numpy()).equals(series)


def streamed():
    """What shows an Arrow stream and no array: (make, rows)."""
    table = {"a": [1, 2], "s": ["x", None]}
    rows = [{"a": 1, "s": "x"}, {"a": 2, "s": None}]
    yield "polars.DataFrame", table, rows
    yield "polars.Series", [1, None, 3], [1, None, 3]
    yield "pandas.DataFrame", table, rows
    yield "pandas.Series", ["x", None], ["x", None]
    yield "pandas.Index", [7, 8], [7, 8]
    yield "pyarrow.table", table, rows
    yield "pyarrow.chunked_array", [[1, 2]], [1, 2]


def become_it(make, values, rows):
    array = cdevice.asarray(make(values))
    assert array.to_pylist() == rows
    assert [r for a in cdevice.asstream(make(values)) for r in a.to_pylist()] == rows
    assert cdevice.asarray(array.to("cpu", copy=True)).equals(array)


@pytest.mark.parametrize(("name", "values", "rows"), list(streamed()))
def test_tables_and_columns_of_one_array_become_it(name, values, rows):
    library, _, kind = name.partition(".")
    become_it(getattr(pytest.importorskip(library, reason=f"pip install {library}"), kind), values, rows)


@pytest.mark.parametrize(("name", "values", "rows"), [s for s in streamed() if s[0].startswith("pandas")])
def test_objects_of_an_older_pandas_come_in_through_pyarrow(name, values, rows, monkeypatch):
    kind = getattr(pytest.importorskip("pandas", reason="pip install pandas"), name.partition(".")[2])
    monkeypatch.delattr(kind, "__arrow_c_stream__", raising=False)
    become_it(kind, values, rows)


def test_null_columns_of_polars_lose_the_buffer_they_should_not_have():
    pl = pytest.importorskip("polars", reason="pip install polars")
    before = lib.cdv_live_arrays(), lib.cdv_live_exports()
    for made in (
        pl.Series([None, None]),
        pl.DataFrame({"a": [None, None], "b": [1, 2]}),
        pl.Series([[None], []]),
        pl.Series([{"x": {"y": None}}, None]),
    ):
        array = cdevice.asarray(made)
        assert array.to_pylist() == (made.to_dicts() if isinstance(made, pl.DataFrame) else made.to_list())
        d, s = ffi.new("struct ArrowDeviceArray *"), ffi.new("struct ArrowSchema *")
        array._export_structs(int(ffi.cast("uintptr_t", d)), int(ffi.cast("uintptr_t", s)))
        a, schema = d.array, s[0]
        while schema.n_children:
            a, schema = a.children[0], schema.children[0]
        assert schema.format[0] == b"n" and a.n_buffers == 0
        d.array.release(ffi.addressof(d.array))
        s.release(s)
        array.validate("full")
        assert array.to("cpu", copy=True).equals(array)
        if isinstance(made, pl.DataFrame):
            assert pa.table(cdevice.asstream(made)).to_pylist() == made.to_dicts()
    del made, array
    gc.collect()
    assert (lib.cdv_live_arrays(), lib.cdv_live_exports()) == before


def test_a_relation_of_duckdb_becomes_an_array_or_a_stream():
    duckdb = pytest.importorskip("duckdb", "1.5", reason='pip install "duckdb>=1.5"')

    class Old:  # a release that shows no stream
        __module__ = "duckdb.duckdb"

        def __init__(self, relation):
            self.fetch_arrow_reader = lambda: relation.to_arrow_table().to_reader()

    for kind in (lambda x: x, Old):
        assert cdevice.asarray(kind(duckdb.sql("select 7 as a"))).to_pylist() == [{"a": 7}]
        assert [a.to_pylist() for a in cdevice.asstream(kind(duckdb.sql("select 7 as a")))] == [[{"a": 7}]]


def test_a_stream_of_several_arrays_is_no_array_without_a_copy_and_one_of_none_an_empty_one():
    with pytest.raises(cdevice.ArgumentError, match="Table holds more than one array.*asstream.*concat"):
        cdevice.asarray(pa.table({"a": pa.chunked_array([[1], [2]])}), copy=False)
    assert cdevice.asarray(pa.chunked_array([[], [1, 2], []], pa.int8())).to_pylist() == [1, 2]
    for schema in (pa.int32(), pa.list_(pa.string()), pa.dictionary(pa.int8(), pa.utf8())):
        for chunks in ([], [[]]):
            empty = cdevice.asarray(pa.chunked_array(chunks, schema))
            assert empty.length == 0 and pa.array(empty).type == schema
    assert cdevice.asarray(pa.schema({"a": pa.int8(), "b": pa.string()}).empty_table()).schema.names == ["a", "b"]
    before = lib.cdv_live_streams()
    cdevice.asarray(pa.table({"a": [1]}))
    assert lib.cdv_live_streams() == before


def test_a_table_is_asked_for_the_schema_that_is_wanted():
    wanted = cdevice.asarray(pa.table({"a": pa.array([1, 2], pa.int64())}), schema={"a": "int32"})
    assert wanted.schema["a"].type == "int32" and wanted.to_pylist() == [{"a": 1}, {"a": 2}]


def test_pandas_without_pyarrow_says_what_to_install(monkeypatch):
    pd = pytest.importorskip("pandas", reason="pip install pandas")
    monkeypatch.delattr(pd.Series, "__arrow_c_stream__", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TypeError, match="pandas Series needs pyarrow to become Arrow: pip install pyarrow"):
        cdevice.asarray(pd.Series([1]))


# ---- numpy ----
@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "M8[s]", "M8[ns]", "m8[us]"]
)
def test_numpy_numbers_come_in_without_a_copy_and_go_out_as_a_view(dtype):
    values = np.arange(10).astype(dtype)
    array = cdevice.asarray(values)
    assert array.buffers[1].address == values.__array_interface__["data"][0]
    out = array[2:].to_numpy()
    assert out.dtype == values.dtype
    assert np.array_equal(out, values[2:])
    assert np.shares_memory(out, values)
    assert not out.flags.writeable


def test_numpy_keeps_what_arrow_cannot_say_otherwise():
    assert cdevice.asarray(np.array([True, False, True])).to_pylist() == [True, False, True]
    assert cdevice.asarray(np.array(["a", "bc"])).to_pylist() == ["a", "bc"]
    assert cdevice.asarray(np.array(["2020-01-01", "NaT"], "M8[us]")).null_count == 1
    assert cdevice.asarray(np.ma.array([1, 2, 3], mask=[0, 1, 0])).to_pylist() == [1, None, 3]
    assert cdevice.asarray(np.arange(6).reshape(2, 3)).to_pylist() == [[0, 1, 2], [3, 4, 5]]
    assert cdevice.asarray(np.arange(3).astype(">i4")).to_pylist() == [0, 1, 2]
    record = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])
    assert cdevice.asarray(record).to_pylist() == [{"a": 1, "b": 2.5}]
    assert np.asarray(cdevice.asarray([1, None])).tolist() == [1, None]


def test_an_empty_numpy_array_is_an_empty_array():
    assert cdevice.asarray(np.empty(0)).to_numpy().shape == (0,)
    assert pa.array(cdevice.asarray(np.empty(0))).type == pa.float64()


def test_buffers_come_in_without_a_copy():
    data = bytearray(b"abcdefgh")
    array = cdevice.asarray(data)
    data[0] = 0x7A
    assert array.to_pylist()[0] == 0x7A
    assert array.type == "uint8"
    with pytest.raises(BufferError):
        data.append(1)  # exported, so it cannot be resized


def test_types_can_be_said_in_words_formats_mappings_and_foreign_objects():
    for spec, words in (
        ("int64", "int64"),
        ("l", "int64"),
        ("timestamp[us, UTC]", "timestamp[us, tz=UTC]"),
        ("decimal128(9, 2)", "decimal128(9, 2)"),
        ("list<string>", "list<item: string>"),
        ({"a": "int8", "b": ["string"]}, "struct<a: int8, b: list<item: string>>"),
        (pa.int32(), "int32"),
        (pa.field("x", pa.int32()), "int32"),
        (cdevice.asarray([1]), "int64"),
    ):
        assert cdevice.asschema(spec).type == words
    with pytest.raises(cdevice.InvalidArray):
        cdevice.asschema("no such type")


@pytest.mark.parametrize("zone", ["UTC", " b-ool", "b ", " ", "tz=b", " tz= b", "a, b"])
def test_a_zone_is_understood_as_it_is_printed(zone):
    for words in (cdevice.asschema(f"tsu:{zone}x").type, f"list<item: timestamp[us, tz={zone}]>"):
        again = cdevice.asschema(words)
        assert again.type == words
        assert (again if again.format[0] == "t" else again.children[0]).format.startswith(f"tsu:{zone}")
    assert cdevice.asschema("timestamp[us,  UTC ]").type == "timestamp[us, tz=UTC]"


def test_a_list_request_retypes_numbers_of_the_same_width():
    array = cdevice.asarray(np.arange(3), schema="timestamp[s]")
    assert pa.array(array).type == pa.timestamp("s")


def test_exports_of_cpu_arrays_say_cpu_and_minus_one():
    from cdevice._runtime.ext import ffi

    d = ffi.new("struct ArrowDeviceArray *")
    cdevice.asarray([1])._export_structs(int(ffi.cast("uintptr_t", d)), 0)
    assert (d.device_type, d.device_id) == (1, -1)
    d.array.release(ffi.addressof(d, "array"))
    assert lib.cdv_live_exports() >= 0


@pytest.mark.parametrize(
    "module",
    "array schema buffer stream aio pickling errors _core _devices.device _devices.backends _devices.plugins "
    "_devices.allocators _arrays.from_buffers _values.from_python _values.to_python interop.asarray interop.numpy interop.dataframes "
    "interop.dlpack testing.fake".split(),
)
def test_any_module_may_be_imported_first(module):
    import os
    import subprocess
    import sys

    code = f"import cdevice.{module}, cdevice.interop.asarray as c, cdevice.schema as s; print(c.asarray([1]), s.asschema('i'))"
    code += "; import pyarrow; print(c.asarray(pyarrow.table({'x': [1]})))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0 and "int64" in done.stdout, done.stderr


# ---- struct arrays with nulls as batches ----
def struct_with_nulls(names=None):
    every = cases.arrays()
    if names is None:  # what has a bitmap of its own, or needs none
        names = [
            n for n, a in every.items() if not pa.types.is_union(a.type) and not pa.types.is_run_end_encoded(a.type)
        ]
    mask = pa.array([False, True, False, False, True, False, True, False])
    return pa.StructArray.from_arrays([every[n] for n in names], names=names, mask=mask)


@pytest.mark.parametrize("start, length", [(0, 8), (1, 7), (3, 4), (7, 1), (2, 0)])
def test_the_nulls_of_a_struct_array_go_into_its_fields_as_a_batch(start, length):
    source = struct_with_nulls()
    part = cdevice.asarray(source)[start : start + length]
    batch = part.to_batch()
    assert batch.null_count == 0
    batch.validate("full")
    received = pa.record_batch(batch)
    received.validate(full=True)
    expected = source.slice(start, length).flatten()
    assert [c.to_pylist() for c in received.columns] == [e.to_pylist() for e in expected]
    assert part.to_pylist() == source.slice(start, length).to_pylist()  # untouched


def test_a_batch_shares_everything_but_the_bitmaps_and_outlives_its_array():
    source = struct_with_nulls(("int64", "string"))
    array = cdevice.asarray(source)
    batch = array.to_batch()
    for i in range(2):
        before, after = array.field(i).buffers, batch.field(i).buffers
        assert [b.address for b in before[1:]] == [b.address for b in after[1:]]
        assert before[0].address != after[0].address
    expected = [f.to_pylist() for f in source.flatten()]
    del array, source
    gc.collect()
    assert [c.to_pylist() for c in pa.record_batch(batch).columns] == expected


def test_what_has_no_nulls_is_its_own_batch_and_what_is_none_is_refused():
    plain = cdevice.asarray(pa.record_batch({"x": [1, None]}))
    assert plain.to_batch() is plain
    with pytest.raises(cdevice.ArgumentError, match="expected a struct array as record batch, not int64"):
        cdevice.asarray([1]).to_batch()
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", "b"]))
    source = pa.StructArray.from_arrays([runs], names=["r"], mask=pa.array([True, False]))
    with pytest.raises(cdevice.CannotExport, match="field 'r': a run_end_encoded.* has no validity bitmap"):
        cdevice.asarray(source).to_batch()


def test_fields_are_found_by_name_and_a_name_that_is_not_one_fields_is_a_key_error():
    names = ["x", "", "é", "twice", "twice", "x" * 300]
    parts = [cdevice.asarray([i]) for i in range(len(names))]
    fields = [p.schema.with_name(n) for p, n in zip(parts, names)]
    batch = cdevice.from_buffers(
        cdevice.Schema.make("+s", children=fields), 1, [None], null_count=0, children=parts, validate="full"
    )
    assert batch.schema.names == names
    for i, name in enumerate(names):
        if name == "twice":
            continue
        assert batch.field(name).to_pylist() == [i] == batch[name].to_pylist()
        assert batch.schema[name].name == name
    for name, n in (("twice", 2), ("X", 0), ("x\0", 0), ("\0", 0), ("\ud800", 0), ("x" * 299, 0)):
        with pytest.raises(KeyError, match=f"{n} fields are named" if n else "no field "):
            batch.field(name)
        with pytest.raises(KeyError, match=f"{n} fields are named" if n else "no field "):
            batch.schema[name]
    assert cdevice.asarray([1]).schema.names == []
