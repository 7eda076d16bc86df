"""Record batches: made of columns, taken apart, renamed, asked for names."""

import datetime as dt
import decimal
import re
import uuid

import numpy as np
import pytest

import cdevice

pa = pytest.importorskip("pyarrow")


def batch():
    return cdevice.asarray({"a": [1, 2, None], "name": ["x", "y", "z"], "f": np.array([1.5, 2, 3])})


@pytest.fixture(params=["cpu", "opencl"])
def place(request):
    try:
        return cdevice.device(request.param) if cdevice.devices(request.param) else None
    except cdevice.BackendUnavailable as e:
        pytest.skip(str(e))


def test_a_dict_of_columns_becomes_a_batch():
    out = batch()
    assert out.to_pylist()[0] == {"a": 1, "name": "x", "f": 1.5}
    assert pa.record_batch(out).schema.names == ["a", "name", "f"]
    assert (out.num_rows, out.num_columns, out.column_names) == (3, 3, ["a", "name", "f"])
    assert out.shape == (3, 3)


def test_a_dict_of_columns_takes_a_schema():
    out = cdevice.asarray({"a": [1, 2], "b": [None, "x"]}, schema={"b": "large_string", "a": "int8"})
    assert [(f.name, f.type) for f in out.schema] == [("b", "large_string"), ("a", "int8")]  # in its order
    with pytest.raises(KeyError, match="no field 'c'"):
        cdevice.asarray({"c": [1]}, schema={"a": "int8"})


def test_columns_are_chosen_dropped_and_renamed_without_a_copy(place):
    there = batch().to(place)
    chosen = there[["f", "a"]]
    assert chosen.column_names == ["f", "a"] and chosen.device == there.device
    assert chosen.field("f").buffers[1].address == there.field("f").buffers[1].address
    assert chosen.to("cpu").to_pylist() == [{"f": 1.5, "a": 1}, {"f": 2.0, "a": 2}, {"f": 3.0, "a": None}]
    assert there.select(["name"]).to("cpu").to_pylist() == [{"name": "x"}, {"name": "y"}, {"name": "z"}]
    assert there.select([2, -3]).column_names == ["f", "a"]
    assert there.drop(["a", "f"]).column_names == ["name"]
    assert there.rename({"a": "A"}).to("cpu").to_pylist()[1] == {"A": 2, "name": "y", "f": 2.0}
    assert there.rename(["x", "y", "z"]).column_names == ["x", "y", "z"]


def test_many_columns_are_chosen_by_name_in_their_order():
    n = 1000
    wide = cdevice.record_batch({f"c{k}": [k] for k in range(n)})
    names = [f"c{k}" for k in range(n)]
    assert wide.select(names[::-1]).to_pylist() == [{f"c{k}": k for k in range(n - 1, -1, -1)}]
    assert wide.select([0, *names[1:20], -1]).to_pylist() == [{f"c{k}": k for k in [*range(20), n - 1]}]
    assert wide.drop(names[:-2]).column_names == names[-2:]
    assert wide.rename({name: name.upper() for name in names[5:30]}).column_names[4:6] == ["c4", "C5"]
    with pytest.raises(KeyError, match="no field 'x'"):
        wide.select([*names[:20], "x"])
    twice = wide.select([0, *range(20)]).rename(["twice", "twice", *names[1:20]])
    with pytest.raises(KeyError, match="2 fields are named 'twice'"):
        twice.select([*names[1:20], "twice"])
    assert twice.select([1, *names[1:20]]).column_names == ["twice", *names[1:20]]


def test_a_slice_is_chosen_from_as_it_is(place):
    there = batch().to(place)[1:]
    assert there[["a"]].to("cpu").to_pylist() == [{"a": 2}, {"a": None}]
    nulls = cdevice.asarray([{"a": 1, "b": 2}, None, {"a": 3, "b": 4}])
    assert nulls[["b"]].to_pylist() == [{"b": 2}, None, {"b": 4}]


def test_what_was_chosen_outlives_the_batch(place):
    there = batch().to(place)
    chosen = there[["name"]]
    there.release()
    assert chosen.to("cpu").to_pylist() == [{"name": "x"}, {"name": "y"}, {"name": "z"}]


def test_columns_on_one_device_become_a_batch_that_waits_for_all(place):
    a, b = cdevice.asarray([1, 2]).to(place), cdevice.asarray(["x", None]).to(place)
    out = cdevice.record_batch([a, b], ["a", "b"])
    assert out.device == a.device and out.field("b").buffers[2].address == b.buffers[2].address
    assert out.to("cpu").to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    assert cdevice.record_batch({"a": a, "c": [5, 6]}, device=place).to("cpu").to_pylist()[1] == {"a": 2, "c": 6}
    named = cdevice.record_batch([out.field("a"), out.field("b")])
    assert named.column_names == ["a", "b"]


def test_what_makes_no_batch_says_why():
    with pytest.raises(cdevice.ArgumentError, match="'a' has 1, 'b' has 2"):
        cdevice.record_batch({"a": [1], "b": [1, 2]})
    with pytest.raises(cdevice.ArgumentError, match="1 names for 2 columns"):
        cdevice.record_batch([[1], [2]], ["a"])
    with pytest.raises(TypeError, match="5 .int. cannot be a column name"):
        cdevice.record_batch({5: [1]})
    with pytest.raises(TypeError, match="a mapping already has names"):
        cdevice.record_batch({"a": [1]}, ["a"])
    with pytest.raises(cdevice.ArgumentError, match="3 columns"):
        batch().rename(["x"])
    with pytest.raises(cdevice.ArgumentError, match="int64 has no columns"):
        cdevice.asarray([1]).select(["a"])
    assert not hasattr(cdevice.asarray([1]), "column_names")


def test_columns_of_two_devices_are_no_batch(place):
    if place.type_id == 1:
        pytest.skip("the CPU is this test's other device: nothing to install")
    with pytest.raises(cdevice.ArgumentError, match=r"'a' on cpu and 'b' on opencl:0: pass device="):
        cdevice.record_batch({"a": cdevice.asarray([1]), "b": cdevice.asarray([1]).to(place)})
    made = cdevice.record_batch({"a": [1], "b": cdevice.asarray([2]).to(place)})  # a list goes where the others are
    assert made.device == place and made.to("cpu").to_pylist() == [{"a": 1, "b": 2}]


def test_names_are_asked_for_by_in_and_completed():
    out = batch()
    assert "a" in out and "b" not in out and "name" in out.schema and "x" not in out.schema
    assert 2 in cdevice.asarray([1, 2]) and 3 not in cdevice.asarray([1, 2]) and "x" in cdevice.asarray(["x"])
    assert out._ipython_key_completions_() == out.schema._ipython_key_completions_() == ["a", "name", "f"]
    assert out.schema.field("f").type == "float64" and out.schema.index_of("f") == 2


@pytest.mark.parametrize("n", [3, 33, 1000])
def test_every_name_of_many_gives_its_column_each_time(n):
    names = [f"c{i * 7919 % n}" for i in range(n)] if n != 33 else [f"c{i}" for i in range(n)]
    out = cdevice.record_batch({name: [i] for i, name in enumerate(names)})
    for _ in range(8):  # from some time on by an index
        assert [out.schema.index_of(name) for name in (names[0], names[-1], names[n // 2])] == [0, n - 1, n // 2]
        with pytest.raises(KeyError, match="no field 'c'; there are"):
            out["c"]
    assert [out[name].to_pylist() for name in names] == [[i] for i in range(n)]
    assert [out.slice(0, 1).schema.index_of(name) for name in names] == list(range(n))


def test_a_name_of_two_columns_of_many_is_refused_each_time():
    names = [*(f"c{i}" for i in range(100)), "c50", ""]
    out = cdevice.asarray(pa.record_batch([pa.array([i]) for i in range(102)], names))
    for _ in range(8):
        with pytest.raises(KeyError, match="2 fields are named 'c50'"):
            out["c50"]
        assert out[""].to_pylist() == [101] and out["c99"].to_pylist() == [99]
        for absent in ("c100", "\udcff", "c5\0", "\ud800"):
            with pytest.raises(KeyError):
                out.schema.index_of(absent)


def test_key_errors_name_what_exists():
    for f in (lambda: batch()["nope"], lambda: batch()[["a", "nope"]], lambda: batch().schema["nope"]):
        with pytest.raises(KeyError, match="no field 'nope'; there are 'a', 'name', 'f'"):
            f()
    with pytest.raises(KeyError, match="int64 has no fields"):
        cdevice.asarray([1])["x"]
    with pytest.raises(IndexError, match="no column 7: the batch has 3 columns"):
        batch().select([7])
    for key in (0.5, None, ..., (0, 1)):
        with pytest.raises(TypeError, match="columns by name"):
            batch()[key]


# ---- seeing ----
def test_a_batch_prints_as_a_table(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = repr(batch()).splitlines()
    assert lines[0] == "<cdevice.DeviceArray of 3 rows and 3 columns, nulls 0, on cpu, event none>"
    assert [line.split() for line in lines[1:]] == [
        ["a", "name", "f"],
        ["int64", "string", "float64"],
        ["1", "x", "1.5"],
        ["2", "y", "2.0"],
        ["null", "z", "3.0"],
    ]
    assert len({line.index(w) + len(w) for line, w in zip(lines[1:], ("a", "int64", "1", "2", "null"))}) == 1


def test_a_long_and_wide_batch_prints_its_ends_and_counts_the_rest(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    wide = cdevice.asarray(pa.table({f"c{i}": list(range(100)) for i in range(50)}))
    lines = repr(wide).splitlines()
    assert all(len(line) <= 80 for line in lines) and len(lines) == 1 + 2 + 11 + 1
    assert lines[3].split()[0] == "0" and lines[8].split()[0] == "…" and lines[13].split()[0] == "99"
    shown = len(lines[1].split())
    assert f"and {50 - shown} more columns: c{shown}," in lines[-1]


def test_null_is_null_at_every_depth():
    assert repr(cdevice.asarray([[1, None], None])).endswith("[[1, null], null]")
    assert "{'a': null}" in repr(cdevice.asarray([[{"a": None}]]))
    table = repr(cdevice.asarray([{"a": 1}, None]))
    assert table.splitlines()[-1].split() == ["null"]


def test_times_and_decimals_print_as_people_write_them():
    when, price = dt.datetime(2026, 1, 2, 3, 4, 5), decimal.Decimal("1.25")
    stamps = pa.array([when], pa.timestamp("us", "UTC")), pa.array([when], pa.timestamp("ns"))
    columns = [pa.array([price]), pa.array([when.date()]), pa.array([dt.timedelta(hours=1)]), *stamps]
    table = repr(cdevice.asarray(pa.table(columns, list("abcde"))))
    shown = ["1.25", "2026-01-02", "1:00:00", "2026-01-02 03:04:05+00:00", "2026-01-02 03:04:05"]
    assert table.splitlines()[-1].split() == " ".join(shown).split()
    assert repr(cdevice.asarray([price, None])).endswith("[1.25, null]")
    assert repr(cdevice.asarray([[when]])).endswith("[[2026-01-02 03:04:05]]")


def test_what_cannot_be_shown_does_not_raise():
    far = cdevice.from_buffers("timestamp[s]", 1, [None, np.array([2**62])])
    assert "cannot be shown" in repr(far)
    assert repr(cdevice.record_batch([far], ["t"])).splitlines()[-1].split() == ["?"]
    gone = batch()
    gone.release()
    assert repr(gone) == "<cdevice.DeviceArray released>" and "released" in gone._repr_html_()


def test_device_data_shows_its_place_and_its_types(place):
    if place.type_id == 1:
        pytest.skip("for devices: nothing to install")
    lines = repr(batch().to(place)).splitlines()
    assert "on opencl:0, event" in lines[0] and lines[2].split() == ["int64", "string", "float64"] and len(lines) == 3


def test_schemas_print_a_field_a_line():
    schema = batch().schema
    assert str(schema) == "a: int64\nname: string\nf: float64"
    assert repr(schema).splitlines() == ["<cdevice.Schema of 3 fields>", "  a: int64", "  name: string", "  f: float64"]
    assert str(cdevice.asschema("list<int8>")) == "list<item: int8>"
    many = repr(cdevice.asschema({f"c{i}": "int8" for i in range(100)}))
    assert "60 more fields" in many and len(many.splitlines()) < 50
    made = cdevice.asschema(pa.schema([pa.field("u", pa.uuid())]))
    assert "u: arrow.uuid" in str(made) and made["u"].type == "fixed_size_binary[16]"


def test_notebooks_get_tables(place):
    odd = cdevice.asarray({"<b>": ["<script>", None]})
    html = odd._repr_html_()
    assert "&lt;script&gt;" in html and "<script>" not in html and "<th>&lt;b&gt;</th>" in html and "null" in html
    for thing in (batch().to(place), batch().schema, cdevice.asstream([[1]]), place, cdevice.asarray([1, 2])):
        assert thing._repr_html_().startswith("<")


# ---- numpy ----
def test_the_mask_of_a_structured_array_is_the_nulls_of_its_fields():
    inner = np.dtype([("c", "i8"), ("d", "f4")])
    data = np.array([(1, 2.5, (3, 4.0)), (5, 6.5, (7, 8.0))], [("a", "i4"), ("b", "f8"), ("s", inner)])
    masked = np.ma.array(data, mask=[(1, 0, (0, 1)), (0, 1, (1, 0))])
    assert cdevice.asarray(masked).to_pylist() == [
        {"a": None, "b": 2.5, "s": {"c": 3, "d": None}},
        {"a": 5, "b": None, "s": {"c": None, "d": 8.0}},
    ]
    table = np.ma.array(np.arange(6).reshape(2, 3), mask=[[0, 1, 0], [1, 0, 0]])
    assert cdevice.asarray(table).to_pylist() == [[0, None, 2], [None, 4, 5]]
    rows = cdevice.asarray(np.ma.array(data[["a", "b"]], mask=[1, 0])).to_pylist()
    assert rows == [{"a": None, "b": None}, {"a": 5, "b": 6.5}]


def test_nulls_become_nan_and_nat_where_numpy_has_them():
    floats = cdevice.asarray([1.5, None, 2.5])
    assert np.isnan(floats.to_numpy()[1]) and floats.to_numpy().dtype == np.float64
    assert floats.to_numpy(nulls="object").tolist() == [1.5, None, 2.5]
    ints = cdevice.asarray([1, None, 3])[1:]
    assert ints.to_numpy().tolist() == [None, 3] and ints.to_numpy(nulls="nan").tolist()[1] == 3.0
    assert np.isnan(np.asarray(ints, dtype=float)[0])
    with pytest.raises(ValueError, match="2\\*\\*53"):
        cdevice.asarray([2**60, None]).to_numpy(nulls="nan")
    for value in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(ValueError, match="not exact"):
            cdevice.asarray([value, None]).to_numpy(nulls="nan")
        assert cdevice.asarray([value - value // 2**53, None]).to_numpy(nulls="nan")[0] == value - value // 2**53
    times = cdevice.asarray([dt.datetime(2020, 1, 1), None])
    assert times.to_numpy().dtype == "M8[us]" and np.isnat(times.to_numpy()[1])
    dates = cdevice.asarray([dt.date(2020, 1, 1), None])
    assert dates.to_numpy().dtype == "M8[D]" and np.isnat(dates.to_numpy()[1])
    assert dates.to_numpy(nulls="object").tolist() == [dt.date(2020, 1, 1), None]
    with pytest.raises(ValueError, match="nulls must be"):
        ints.to_numpy(nulls="zero")


def test_arrays_have_shape_and_dtype():
    for values, dtype in (([1], "i8"), ([True], "?"), ([1.5], "f8"), (["a"], "O"), ([dt.date(2020, 1, 1)], "M8[D]")):
        array = cdevice.asarray(values)
        assert (array.shape, array.ndim, array.dtype) == ((1,), 1, np.dtype(dtype))
        assert array.to_numpy().dtype == array.dtype
    cube = np.arange(24, dtype="f2").reshape(2, 3, 4)
    assert cdevice.asarray(cube).shape == (2, 3, 4) and cdevice.asarray(cube).dtype == cube.dtype


def test_bools_are_unpacked_at_any_offset():
    bits = [k % 3 == 0 for k in range(50)]
    array = cdevice.asarray(bits)
    for start in (0, 1, 7, 8, 13):
        assert array[start:].to_numpy().tolist() == bits[start:]


# ---- types as people write them ----
@pytest.mark.parametrize(
    ("written", "type"),
    [
        ("Int64", "int64"),
        ("INT8", "int8"),
        (np.int8, "int8"),
        (np.dtype("f4"), "float32"),
        (np.dtype("M8[ns]"), "timestamp[ns]"),
        (np.dtype("M8[D]"), "date32"),
        (np.dtype([("a", "i4"), ("b", "f8", (2,))]), "struct<a: int32, b: fixed_size_list<item: float64>[2]>"),
        (np.bool_, "bool"),
        (float, "float64"),
        (str, "string"),
        (dt.date, "date32"),
    ],
)
def test_types_are_taken_as_people_write_them(written, type):
    assert cdevice.asschema(written).type == type


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("date", "date32"),
        ("datetime64[ns]", "timestamp[ns]"),
        ("category", "dictionary<"),
        ("strin", "string"),
        ("float16x", "float16"),
        ("uuid", "fixed_size_binary[16]"),
    ],
)
def test_an_unknown_word_names_the_near_ones(word, near):
    with pytest.raises(
        cdevice.InvalidArray, match=f"unknown type '{re.escape(word)}': did you mean .*{re.escape(near)}"
    ):
        cdevice.asschema(word)


def test_rows_are_chosen_by_a_mask_or_by_numbers(place):
    array = cdevice.asarray([1, 2, 3]).to(place)
    mask = [True, False, True]
    for key in (mask, np.array(mask), cdevice.asarray(mask), cdevice.asarray(mask).to(place)):
        if place.type_id == 1 or isinstance(key, list) or getattr(key, "device", None) == place:
            assert array[key].to("cpu").to_pylist() == [1, 3]
    for key in ([2, 0], cdevice.asarray([2, 0]).to(place), cdevice.asarray([2, 0], schema="uint8").to(place)):
        assert array[key].to("cpu").to_pylist() == [3, 1]
    assert array.filter(mask).to("cpu").to_pylist() == [1, 3] and array.take([1]).to("cpu").to_pylist() == [2]
    with pytest.raises(ValueError, match=r"step 1.*cdevice.compute.take\(\)"):
        array[::2]
    with pytest.raises(IndexError):
        array[[7]]
    for key in (np.array([1.5]), [1.5], ["a"], [True, 1]):
        with pytest.raises((TypeError, cdevice.ArgumentError)):
            array[key]
    rows = cdevice.record_batch({"x": array, "y": ["a", "b", "c"]})
    assert rows[mask].to("cpu").to_pylist() == [{"x": 1, "y": "a"}, {"x": 3, "y": "c"}]
    assert rows[[1]].column_names == ["y"]  # ints in a list name columns of a batch
    assert rows[cdevice.asarray([1]).to(place)].to("cpu").to_pylist() == [{"x": 2, "y": "b"}]


def test_a_batch_is_a_mapping_of_its_columns(place):
    rows = cdevice.record_batch({"x": [1, 2, 3], "y": ["a", "b", "c"]}, device=place)
    assert rows.keys() == ["x", "y"] and {k: v.to("cpu").to_pylist() for k, v in dict(rows).items()} == {
        "x": [1, 2, 3],
        "y": ["a", "b", "c"],
    }
    assert not hasattr(cdevice.asarray([1]), "keys")
    assert rows.head(2).num_rows == 2 and rows.head(-1).num_rows == 2 and rows.head(9).num_rows == 3
    assert rows["x"].tail(2).to("cpu").to_pylist() == [2, 3] and rows["x"].tail(0).to("cpu").to_pylist() == []
    assert rows["x"].tail(-1).to("cpu").to_pylist() == [2, 3] and rows["x"].tail(9).length == 3
    more = rows.with_columns({"x": rows["y"]}, z=[1.5, None, 2.5])
    assert more.device == place and more.column_names == ["x", "y", "z"]
    assert more.to("cpu").to_pylist()[1] == {"x": "b", "y": "b", "z": None}
    with pytest.raises(cdevice.ArgumentError, match="equal lengths"):
        rows.with_columns(z=[1])
    with pytest.raises(cdevice.ArgumentError, match="has no columns"):
        rows["x"].with_columns(z=[1, 2, 3])


# ---- sizes ----
def test_the_size_of_an_array_has_its_buffers(place):
    import sys

    array = cdevice.asarray(np.arange(10_000)).to(place)
    assert 80_000 <= sys.getsizeof(array) < 81_000
    assert sys.getsizeof(array[:10]) < 400
    array.release()
    assert sys.getsizeof(array) < 400


def test_dask_is_told_the_size():
    from cdevice.interop.dask import register_sizeof

    found, lazy = {}, {}

    class Sizeof:
        def register_lazy(self, package):
            return lambda f: lazy.setdefault(package, f)

        def register(self, type, f):
            found[type] = f

    register_sizeof(Sizeof())
    lazy["cdevice"]()
    ((type, f),) = found.items()
    array = cdevice.asarray(np.arange(1000))
    assert isinstance(array, type) and 8000 <= f(array) < 9000


def test_extension_types_show_their_name_and_how_they_are_stored():
    batch = cdevice.asarray(pa.table({"u": pa.array([bytes(16)], pa.uuid()), "x": [1]}))
    column = batch["u"]
    shown = "arrow.uuid (fixed_size_binary[16])"
    assert repr(column).startswith(f"<cdevice.DeviceArray {shown}, length 1")
    assert repr(column.schema) == f"<cdevice.Schema u: {shown}>"
    assert repr(cdevice.asschema(pa.uuid())) == f"<cdevice.Schema {shown}>"
    assert column.type == "fixed_size_binary[16]" == cdevice.asschema(column.type).type  # words that are read back
    assert repr(batch["x"]).startswith("<cdevice.DeviceArray int64, length 1")


@pytest.mark.parametrize(
    ("words", "type"),
    [
        ("struct<a:int8, b:list<string>>", "struct<a: int8, b: list<item: string>>"),
        ("struct<a:timestamp[us, UTC]>", "struct<a: timestamp[us, tz=UTC]>"),
        ("struct<a: tsu:UTC, b:d:5,2>", None),
        ("list<tsu:UTC>", "list<item: timestamp[us, tz=UTC]>"),
        ("list<x:int8>", "list<x: int8>"),
        ([("a", "int8"), ("b", str)], "struct<a: int8, b: string>"),
        ([("a", "int8")], "struct<a: int8>"),
        (["int8"], "list<item: int8>"),
    ],
    ids=str,
)
def test_fields_are_read_with_and_without_a_blank_and_as_pairs(words, type):
    if type is None:
        with pytest.raises(cdevice.InvalidArray):
            cdevice.asschema(words)
    else:
        assert cdevice.asschema(words).type == type


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("dictionary<int8, string>", "dictionary<values=string, indices=int32, ordered=0>"),
        ("fixed_size_list<int8>", "fixed_size_list<float32>[3]"),
        ("run_end_encoded<int8>", "run_end_encoded<run_ends: int32, values: int64>"),
        ("dense_union<int8>", "dense_union<a: int8=0, b: string=1>"),
        ("map<int8>", "map<string, int64>"),
    ],
)
def test_nested_types_that_are_written_otherwise_are_shown_an_example(words, near):
    with pytest.raises(cdevice.InvalidArray, match=re.escape(f"unknown type {words!r}: did you mean {near}?")):
        cdevice.asschema(words)
    cdevice.asschema(near)  # which can be taken


@pytest.mark.parametrize(
    ("kind", "near"), [(decimal.Decimal, "decimal128"), (list, "list<int64>"), (uuid.UUID, "fixed_size_binary[16]")]
)
def test_classes_that_are_no_type_are_told_what_was_meant(kind, near):
    with pytest.raises(TypeError, match=rf"cannot make a type from {kind.__name__}: did you mean {re.escape(near)}"):
        cdevice.asschema(kind)
    with pytest.raises(TypeError, match='cannot make a type from int objects: a word such as "int64"'):
        cdevice.asschema(5)


def test_no_type_at_all_is_an_unknown_type():
    with pytest.raises(cdevice.InvalidArray, match="unknown type ''"):
        cdevice.asschema(" ")


def test_a_dict_of_columns_is_not_copied_where_that_is_forbidden():
    column = np.arange(3)
    batch = cdevice.asarray({"a": column}, copy=False)
    assert batch["a"].buffers[1].address == column.ctypes.data
    for odd in ([1, 2], np.array([True]), np.arange(6)[::2]):
        with pytest.raises(ValueError, match="cop(y|ied)"):
            cdevice.asarray({"a": odd}, copy=False)
