"""Structs and maps on every device, against pyarrow.compute."""

import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import COMPUTED, back, check, shown, there  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

LONG = "long enough not to lie in its view"
_ROWS = [{"a": 1, "b": {"c": "x", "d": [1]}}, None, {"a": None, "b": None}, {"a": 4, "b": {"c": LONG, "d": []}}] * 9
NESTED = pa.array(_ROWS, pa.struct({"a": pa.int64(), "b": pa.struct({"c": pa.string(), "d": pa.list_(pa.int64())})}))


def alone(device, name, row, **options):
    """Compares a call of one row on a device with pyarrow's."""
    got = getattr(cc, name)(
        cc.Scalar(there(pa.repeat(row, 1) if row.is_valid else pa.nulls(1, row.type), device)), **options
    )
    want = getattr(pc, name)(row, **options)
    assert isinstance(got, cc.Scalar) and got.device.type.name.lower() in (COMPUTED.get(device, device), device)
    have = back(got)
    assert have.type == want.type and have.as_py() == want.as_py()


def structs():
    """Structs with nulls, slices of them, and one whose fields are slices."""
    fields = [NESTED.field(0).slice(2, 30), NESTED.field(1).slice(2, 30)]
    shifted = pa.StructArray.from_arrays(fields, ["a", "b"], mask=pa.array([True, False, False] * 10))
    plain = pa.StructArray.from_arrays(fields, ["a", "b"])
    return [NESTED, NESTED.slice(3), NESTED.slice(11, 9), NESTED.slice(1, 0), shifted, shifted.slice(5), plain.slice(7)]


@everywhere
@pytest.mark.parametrize(
    "indices", [0, "a", ["b", "c"], [1, 0], ".b.c", ".b[0]", ["b", "d"], ["b", 1], b"a", "b"], ids=str
)
def test_a_field_is_null_where_a_struct_around_it_is(device, indices):
    for a in structs():
        check(device, "struct_field", (a,), indices=indices)


@everywhere
def test_a_field_of_one_row_is_a_scalar_and_options_of_pyarrow_are_read(device):
    for i in (0, 1):
        alone(device, "struct_field", NESTED[i], indices=["b", "c"])
    for options in (pc.StructFieldOptions(["b", "c"]), pc.StructFieldOptions([1, 0]), pc.StructFieldOptions("a")):
        want = pc.struct_field(NESTED, options=options)
        assert shown(back(cc.struct_field(there(NESTED, device), options=options))) == shown(want)
    want = pc.struct_field(NESTED, pc.field("b", "c"))
    assert shown(back(cc.struct_field(there(NESTED, device), pc.field("b", "c")))) == shown(want)


@everywhere
def test_a_field_of_a_struct_without_nulls_is_the_memory_of_the_child(device):
    made = there(pa.record_batch({"x": pa.array([1, None, 3]), "y": pa.array(["a", "b", None])}), device)
    for i, name in enumerate("xy"):
        got = cc.struct_field(made, name)
        assert got._buffer(1)[0] == made.field(i)._buffer(1)[0]
    nested = there(NESTED, device)
    assert cc.struct_field(nested, "a")._buffer(1)[0] == nested.field(0)._buffer(1)[0]


@everywhere
def test_a_type_of_a_union_has_nulls_where_rows_are_of_others(device):
    kinds = pa.array([0, 1, 0, 1, 0], pa.int8())
    numbers, words = pa.array([5, None, 7, 8, 9]), pa.array(["s", "t", None, LONG, "w"])
    sparse = pa.UnionArray.from_sparse(kinds, [numbers, words])
    dense = pa.UnionArray.from_dense(kinds, pa.array([2, 3, 0, 0, 1], pa.int32()), [numbers, words])
    for a in (sparse, dense, sparse.slice(1, 3), dense.slice(2)):
        for i in (0, 1):
            check(device, "struct_field", (a,), indices=i)


@everywhere
def test_fields_of_every_layout_are_masked(device):
    n = 40
    mask = pa.array([i % 3 == 1 for i in range(n)])
    fields = {
        "dictionary": pa.array(["a", None, "b", "a"] * 10).dictionary_encode(),
        "list": pa.array([[1], None, [], [2, 3]] * 10),
        "fixed_size_list": pa.array([[1, 2], None, [None, 3], [4, 5]] * 10, pa.list_(pa.int32(), 2)),
        "string_view": pa.array(["a", None, LONG, ""] * 10, pa.string_view()),
        "bool": pa.array([True, None, False, True] * 10),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([7, 30, 40], pa.int32()), pa.array([1, None, 3])),
        "null": pa.nulls(n),
        "union": pa.UnionArray.from_sparse(pa.array([0, 1] * 20, pa.int8()), [pa.array([1] * n), pa.array(["a"] * n)]),
    }
    whole = pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=mask)
    for first, length in ((0, n), (5, 20)):
        made = there(whole.slice(first, length), device)
        for name, values in fields.items():
            rows = values.slice(first, length).to_pylist()
            known = [not m for m in mask.slice(first, length).to_pylist()]
            want = [x if k else None for x, k in zip(rows, known, strict=True)]
            assert back(cc.struct_field(made, name)).to_pylist() == want, name


@everywhere
def test_a_field_that_there_is_not_is_an_error(device):
    made = there(NESTED, device)
    for bad, words in ((9, "no field 9"), (-1, "no field -1"), ("z", "no field is named 'z'"), (["b", "z"], "'z'")):
        with pytest.raises(ArgumentError, match=f"struct_field.*{words}"):
            cc.struct_field(made, bad)
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    with pytest.raises(ArgumentError, match="2 fields are named 'a'"):
        cc.struct_field(there(twice, device), "a")
    for bad in (there(pa.array([1, 2]), device), made):
        with pytest.raises(cc.NoKernel, match="struct_field"):
            cc.struct_field(bad, ["a", "b"])
    for bad in (None, 1.5, [0, None], True):
        with pytest.raises(TypeError, match="indices"):
            cc.struct_field(made, bad)
    with pytest.raises(ValueError, match="path"):
        cc.struct_field(made, ".a[b]")


@everywhere
def test_columns_become_structs_without_a_copy(device):
    numbers, words = pa.array([1, None, 3, 4], pa.int8()), pa.array(["a", LONG, None, ""])
    more = [pa.array([[1], None, [], [2]]), NESTED.slice(0, 4), pa.nulls(4), words.dictionary_encode()]
    check(device, "make_struct", (numbers, words))
    check(device, "make_struct", (numbers, words), field_names=["x", "y"])
    check(device, "make_struct", (numbers.slice(1), words.slice(1)), field_names=["x", "y"])
    check(device, "make_struct", (numbers, pa.scalar("q"), pa.scalar(None, pa.int32()), pa.scalar(1.5)))
    assert cc.make_struct(1, "q", field_names=["x", "y"]).as_py() == {"x": 1, "y": "q"}
    check(device, "make_struct", (numbers, *more))
    check(device, "make_struct", (numbers.slice(0, 0), words.slice(0, 0)))
    whole = there(numbers, device)
    assert cc.make_struct(whole).field(0)._buffer(1)[0] == whole._buffer(1)[0]


@everywhere
def test_fields_have_their_names_nullability_and_metadata(device):
    x, y = pa.array([1, 2], pa.int8()), pa.array(["a", None])
    given = {"field_nullability": [False, True], "field_metadata": [{"k": "v"}, None]}
    options = pc.MakeStructOptions(
        ["x", "y"], field_nullability=[False, True], field_metadata=[pa.KeyValueMetadata({"k": "v"}), None]
    )
    for got in (
        cc.make_struct(there(x, device), there(y, device), field_names=["x", "y"], **given),
        cc.make_struct(there(x, device), there(y, device), options=options),
    ):
        have = back(got)
        assert have.type.equals(pc.make_struct(x, y, options=options).type, check_metadata=True)
        assert not have.type.field(0).nullable and have.type.field(0).metadata == {b"k": b"v"}
    for bad, words in (
        ({"field_names": ["x"]}, "1 field_names"),
        ({"field_names": ["x", "y"], "field_nullability": [True]}, "1 field_nullability"),
        ({"field_names": ["x", "y"], "field_nullability": [True, False]}, "'y' must not be null"),
    ):
        with pytest.raises(ArgumentError, match=f"make_struct.*{words}"):
            cc.make_struct(there(x, device), there(y, device), **bad)
    with pytest.raises(ValueError, match="make_struct"):
        cc.make_struct(there(x, device), there(y.slice(1), device))
    with pytest.raises(TypeError, match="field_names"):
        cc.make_struct(there(x, device), field_names="x")


def maps(kind=None, keys=("a", "b", LONG), n=120):
    kind = kind or pa.string()
    rng = random.Random(str(kind))
    one = lambda: (rng.choice(keys), rng.choice([None, 1, 2, 3]))
    rows = [None if rng.random() < 0.2 else [one() for _ in range(rng.randrange(5))] for _ in range(n)]
    return pa.array(rows, pa.map_(kind, pa.int64()))


@everywhere
@pytest.mark.parametrize("occurrence", ["first", "last", "all"])
def test_maps_are_looked_up_by_key(device, occurrence):
    for a, keys in (
        (maps(), ["a", LONG, "none"]),
        (maps(pa.int32(), (1, 2)), [1, 5]),
        (maps(pa.large_binary(), (b"", b"k")), [b"", b"k"]),
        (maps(pa.date32(), (1, 2)), [1]),
    ):
        for key in keys:
            wanted = pa.scalar(key, a.type.key_type)
            for x in (a, a.slice(13), a.slice(7, 50), a.slice(3, 0)):
                check(device, "map_lookup", (x,), query_key=wanted, occurrence=occurrence)
            for row in a[:3]:
                alone(device, "map_lookup", row, query_key=wanted, occurrence=occurrence)
    a = maps()
    options = pc.MapLookupOptions(pa.scalar("a"), occurrence)
    want = pc.map_lookup(a, options=options)
    assert shown(back(cc.map_lookup(there(a, device), options=options))) == shown(want)
    assert shown(back(cc.map_lookup(there(a, device), "a", occurrence))) == shown(want)
    empty = pa.array([[], None, []], a.type)
    check(device, "map_lookup", (empty,), query_key=pa.scalar("a"), occurrence=occurrence)


@everywhere
def test_a_key_that_no_map_can_have_is_an_error(device):
    made = there(maps(), device)
    for bad, words in ((1, "must be string"), (None, "null|query_key"), (pa.scalar(None, pa.string()), "null")):
        with pytest.raises((ArgumentError, TypeError), match=words):
            cc.map_lookup(made, bad, "first")
    with pytest.raises(ArgumentError, match="one value"):
        cc.map_lookup(made, pa.array(["a", "b"]), "first")
    with pytest.raises(ValueError, match="occurrence"):
        cc.map_lookup(made, "a", "none")
    with pytest.raises(cc.NoKernel, match="map_lookup"):
        cc.map_lookup(there(pa.array([1]), device), "a", "first")
    wider = cc.map_lookup(there(maps(pa.int32(), (1, 2)), device), 1, "last")  # of a type that becomes the keys'
    assert shown(back(wider)) == shown(pc.map_lookup(maps(pa.int32(), (1, 2)), pa.scalar(1, pa.int32()), "last"))


@everywhere
def test_a_result_waits_for_the_events_of_what_it_is_made_of(device):
    a, b = there(pa.array(range(5000)), device), there(pa.array([1.5] * 5000), device)
    made = cc.make_struct(cc.add(a, 1), cc.multiply(b, 2.0), field_names=["n", "x"])
    got = cc.struct_field(made, "n")
    assert got.to("cpu").to_pylist() == list(range(1, 5001))
    assert cdevice.asarray(cc.struct_field(made, 1)).to("cpu").to_pylist() == [3.0] * 5000
