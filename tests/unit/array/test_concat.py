"""Many chunks, one array: every layout, every cut, to every place, and what is not believed."""

import gc
import itertools
import weakref

import cases
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from waiting import settle, unregister, until

import cdevice
from cdevice._runtime.ext import lib
from cdevice.testing.fake import FakeBackend

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

every = pytest.mark.parametrize("name", cases.ARRAYS)
CUTS = ([0, 8], [0, 3, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 5, 5, 8, 8], [2, 5, 7], [4, 4, 4], [1, 8])
opencl = pytest.mark.skipif(not cdevice.device("opencl").is_available, reason="apt-get install pocl-opencl-icd")


@pytest.fixture(scope="module")
def devices():
    made = FakeBackend(5101, "joining"), FakeBackend(5102, "other"), FakeBackend(5103, "direct", events=False)
    for b in made:
        cdevice.register_backend(b)
    yield made
    unregister(*made)


def chunks_of(source, cuts):
    return [source.slice(a, b - a) for a, b in itertools.pairwise(cuts)]


def rows_of(chunks):
    return [row for c in chunks for row in c.to_pylist()]


def good(array, chunks):
    """A valid array of the rows of pyarrow's chunks."""
    here = array.to("cpu")
    here.validate("full")
    back = pa.array(here)
    back.validate(full=True)
    assert back.type == chunks[0].type
    assert here.to_pylist() == rows_of(chunks)
    assert here.null_count == sum(c.null_count for c in chunks)
    return here


# ---- every layout ----
@every
def test_chunks_of_every_layout_become_one_array(name):
    for cuts in CUTS:
        chunks = chunks_of(cases.ARRAYS[name], cuts)
        good(cdevice.concat(chunks), chunks)


@every
def test_it_is_what_pyarrow_makes_of_them(name):
    chunks = chunks_of(cases.ARRAYS[name], [0, 3, 3, 4, 8]) * 2
    try:
        theirs = pa.concat_arrays(chunks)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as e:
        pytest.skip(str(e)[:80])
    assert pa.array(cdevice.concat(chunks)).to_pylist() == theirs.to_pylist()


@every
def test_slices_of_slices_with_unlike_offsets_are_joined(name):
    source = cases.ARRAYS[name]
    chunks = [source.slice(1, 6).slice(2, 3), source.slice(0, 0), source.slice(7), source.slice(2, 5).slice(1)]
    good(cdevice.concat(chunks), chunks)
    ours = [cdevice.asarray(source)[1:7][2:5], cdevice.asarray(source)[5:][1:]]
    assert cdevice.concat(ours).to_pylist() == rows_of([source.slice(3, 3), source.slice(6)])


@every
def test_it_is_joined_from_copies_that_share_no_memory(name):
    """Each chunk lies in memory of its own, and begins at a byte with an offset of up to seven rows."""
    source = cdevice.asarray(cases.ARRAYS[name])
    chunks = [source[a:b].to("cpu", copy=True) for a, b in ((0, 3), (3, 5), (5, 5), (5, 8), (1, 8))]
    joined = cdevice.concat(chunks)
    joined.validate("full")
    assert joined.to_pylist() == [row for c in chunks for row in c.to_pylist()]
    again = cdevice.concat([joined[2:9], joined[7:]])
    again.validate("full")
    assert again.to_pylist() == joined.to_pylist()[2:9] + joined.to_pylist()[7:]


@every
@pytest.mark.parametrize("place", ["joining", "direct"])
def test_every_layout_goes_straight_to_a_device(name, place, devices):
    backend = devices[0] if place == "joining" else devices[2]
    for cuts in CUTS:
        chunks = chunks_of(cases.ARRAYS[name], cuts)
        ours = [cdevice.asarray(c) for c in chunks]
        backend.calls.clear()
        there = cdevice.concat(ours, device=f"{place}:1")
        assert there.device == cdevice.device(f"{place}:1")
        assert backend.calls.get("alloc", 0) <= 1 and backend.calls.get("copy", 0) <= 1
        good(there, chunks)


@every
def test_every_layout_is_joined_where_it_lies(name, devices):
    for cuts in CUTS[1:5]:
        chunks = chunks_of(cases.ARRAYS[name], cuts)
        there = [cdevice.asarray(c).to("joining:1") for c in chunks]
        joined = cdevice.concat(there)
        assert joined.device == cdevice.device("joining:1")
        good(joined, chunks)
        good(cdevice.concat(there, device="cpu"), chunks)
        good(cdevice.concat(there, device="other"), chunks)
        good(cdevice.concat(there, device="joining:0"), chunks)


@every
@opencl
def test_opencl_every_layout_goes_there_and_is_joined_there(name):
    for cuts in CUTS:
        chunks = chunks_of(cases.ARRAYS[name], cuts)
        good(cdevice.concat(chunks, device="opencl"), chunks)
        joined = cdevice.concat([cdevice.asarray(c).to("opencl") for c in chunks])
        assert joined.device == cdevice.device("opencl")
        good(joined, chunks)


@given(st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_cuts_of_random_layouts_come_together_again(data):
    name = data.draw(st.sampled_from(sorted(cases.ARRAYS)))
    source = cases.ARRAYS[name]
    spans = data.draw(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=12))
    chunks = [source.slice(min(s), abs(s[0] - s[1])) for s in spans]
    good(cdevice.concat(chunks), chunks)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=8), st.integers(0, 130))
@settings(max_examples=150, deadline=None)
def test_bitmaps_of_any_length_are_joined_at_any_bit(lengths, skip):
    rng = np.random.default_rng(sum(lengths) + skip)
    chunks = []
    for n in lengths:
        bits, valid = rng.random(n + skip) < 0.5, rng.random(n + skip) < 0.7
        chunks.append(pa.array(bits, mask=~valid if n % 3 else None).slice(skip))
    good(cdevice.concat(chunks), chunks)


# ---- what of the schema ----
def test_names_nullability_and_metadata_are_those_of_the_first():
    def batch(name, meta):
        field = pa.field("x", pa.int32(), metadata={"f": name})
        return pa.record_batch([pa.array([1, None], pa.int32())], schema=pa.schema([field], metadata=meta))

    joined = cdevice.concat([batch("a", {"k": "1"}), batch("b", {"k": "2"}), batch("c", None)])
    assert joined.schema.metadata == {b"k": b"1"} and joined.schema["x"].metadata == {b"f": b"a"}
    assert pa.record_batch(joined).num_rows == 6
    named = cdevice.asarray([1])
    for first in ("a", "b"):
        column = cdevice.from_buffers(named.schema.with_name(first), 1, [None, np.ones(1, "i8")], null_count=0)
        assert cdevice.concat([column, named]).schema.name == first


def test_other_types_are_refused_with_both_names_and_the_index():
    with pytest.raises(cdevice.ArgumentError, match="array 2 is string, the first one int64"):
        cdevice.concat([[1], [2], ["x"]])
    with pytest.raises(cdevice.ArgumentError, match="array 1 is .*y.*, the first one .*x"):
        cdevice.concat([{"x": [1]}, {"y": [1]}])
    plain = cases.ARRAYS["uuid"].storage
    with pytest.raises(cdevice.ArgumentError, match=r"array 1 is fixed_size_binary.*, the first one arrow\.uuid"):
        cdevice.concat([cases.ARRAYS["uuid"], plain])
    with pytest.raises(cdevice.ArgumentError, match=r"array 1 is arrow\.uuid, the first one fixed_size_binary"):
        cdevice.concat([plain, cases.ARRAYS["uuid"]])


def test_without_arrays_the_schema_is_unknown():
    with pytest.raises(cdevice.ArgumentError, match="the schema is unknown without arrays"):
        cdevice.concat([])


def test_one_array_is_itself_or_moved(devices):
    one = cdevice.asarray([1, 2])
    assert cdevice.concat([one]) is one
    there = cdevice.concat(iter([one]), device="joining:1")
    assert there.device == cdevice.device("joining:1") and there.to("cpu").to_pylist() == [1, 2]
    with pytest.raises(TypeError, match="several arrays"):
        cdevice.concat(one)


def test_items_are_what_asarray_takes():
    assert cdevice.concat([np.arange(2), [5, 6], pa.array([7])]).to_pylist() == [0, 1, 5, 6, 7]
    assert cdevice.concat(cdevice.asstream([[1], [2, 3]])).to_pylist() == [1, 2, 3]


def test_a_batch_without_columns_keeps_its_rows():
    empty = pa.array([{}] * 3, pa.struct([]))
    assert cdevice.concat([empty, empty]).length == 6


# ---- where ----
def test_arrays_on_several_devices_need_a_device(devices):
    a, b, c = cdevice.asarray([1]), cdevice.asarray([2]).to("joining"), cdevice.asarray([3]).to("joining:1")
    for arrays, where in (
        ((a, b), "joining:0, .* cpu"),
        ((b, c), "joining:1, .* joining:0"),
        ((b, a), "cpu, .* joining:0"),
    ):
        with pytest.raises(cdevice.ArgumentError, match=f"array 1 is on {where}: pass device="):
            cdevice.concat(arrays)
    assert cdevice.concat([a, b, c], device="cpu").to_pylist() == [1, 2, 3]
    assert cdevice.concat([c, a, b], device="other").to("cpu").to_pylist() == [3, 1, 2]
    assert cdevice.concat([c, b, b], device="joining").to("cpu").to_pylist() == [3, 2, 2]
    nulls = cdevice.asarray(pa.nulls(2))  # these lie nowhere
    assert cdevice.concat([nulls, nulls.to("joining")]).length == 4


def test_fixed_width_on_a_device_is_joined_by_it_while_the_host_goes_on(devices):
    first = devices[0]
    batch = cdevice.asarray(pa.record_batch({"a": range(50), "b": [float(i) for i in range(50)]}))
    there = batch.to("joining")
    there.synchronize()
    with first.gate():
        more = batch[10:].to("joining")
        first.calls.clear()
        joined = cdevice.concat([there[1:20], more, there])
        assert not joined.ready
        assert (first.calls["alloc"], first.calls["copy"]) == (1, 1)
        across = cdevice.concat([there, more], device="joining:1")
        del there, more
    assert joined.to("cpu").to_pylist() == rows_of([batch[1:20], batch[10:], batch])
    assert across.to("cpu").to_pylist() == rows_of([batch, batch[10:]])
    del joined, across
    until(lambda: not first.live(), first.live)


def test_a_join_comes_behind_the_work_that_makes_its_sources(devices):
    first = devices[0]
    sources = [cdevice.asarray(np.arange(k, 1000)) for k in range(3)]
    with first.gate(7):
        there = [s.to("joining", stream=7) for s in sources]
        joined = cdevice.concat(there, stream=8)
        across = cdevice.concat(there, device="joining:1", stream=9)
        assert not joined.ready and not across.ready
    expected = [row for s in sources for row in s.to_pylist()]
    assert joined.to("cpu").to_pylist() == across.to("cpu").to_pylist() == expected
    gate = first.gate(7)
    there = [s.to("joining", stream=7) for s in sources]
    first.copy, copy = lambda kind, *a, **k: (gate.open(), copy(kind, *a, **k))[1], first.copy
    try:
        assert cdevice.concat(there, device="cpu", stream=8).to_pylist() == expected
    finally:
        del first.copy
        gate.open()


def test_the_event_says_when_a_join_from_the_host_is_there_and_sources_stay_until_then(devices):
    first = devices[0]
    values = [np.arange(k, k + 50_000) for k in range(3)]
    refs = [weakref.ref(v) for v in values]
    with first.gate():
        there = cdevice.concat(values, device="joining")  # each is large enough to go by itself
        expected = np.concatenate(values).tolist()
        del values
        gc.collect()
        assert not there.ready and all(r() is not None for r in refs)
    assert there.to("cpu").to_pylist() == expected
    until(lambda: not any(r() is not None for r in refs) and not lib.cdv_retired_count())


def test_a_join_behind_released_results_gives_everything_back(devices):
    first = devices[0]
    with first.gate():
        cdevice.concat([np.arange(20_000), np.arange(20_000)], device="joining").release()
        assert lib.cdv_retired_count() >= 1
    until(lambda: not first.live() and not lib.cdv_retired_count())


@pytest.mark.parametrize("chunk", [64, 256, 4096])
def test_staging_chunks_smaller_than_the_data_give_the_same(chunk, devices):
    table = pa.record_batch(
        {
            "x": range(3000),
            "b": [i % 3 == 0 for i in range(3000)],
            "s": [None if i % 5 == 0 else str(i) * (i % 9) for i in range(3000)],
            "l": [[i] * (i % 4) for i in range(3000)],
            "v": pa.array([str(i) * (i % 9) for i in range(3000)], pa.string_view()),
        }
    )
    chunks = [table.slice(a, n) for a, n in ((11, 1500), (0, 1), (7, 0), (1000, 2000), (2999, 1))]
    before = lib.cdv_staging_chunk(chunk)
    try:
        there = cdevice.concat(chunks, device="joining")
        assert there.to("cpu").to_pylist() == rows_of(chunks)
    finally:
        lib.cdv_staging_chunk(before)


def test_a_stream_of_the_device_does_the_work(devices):
    first = devices[0]
    with first.gate(7):
        there = cdevice.concat([[1, 2], [3]], device="joining", stream=7)
        other = cdevice.concat([[1, 2], [3]], device="joining")
        other.synchronize()
        assert not there.ready
    assert there.to("cpu").to_pylist() == [1, 2, 3]


def test_a_wide_table_in_many_chunks_is_one_allocation_and_one_copy(devices):
    first = devices[0]
    batch = cdevice.asarray(pa.record_batch({f"c{i}": np.arange(3) for i in range(1000)}))
    chunks = [batch[:2] if k % 2 else batch for k in range(100)]
    first.calls.clear()
    there = cdevice.concat(chunks, device="joining")
    assert (first.calls["alloc"], first.calls["copy"]) == (1, 1)
    assert there.length == 250 and there["c999"].to("cpu").to_pylist() == [0, 1, 2, 0, 1] * 50


def test_chunks_cut_from_one_array_are_one_piece_again(devices):
    first = devices[0]
    there = cdevice.asarray(np.arange(1000)).to("joining")
    seen = []
    copy = first.copy
    first.copy = lambda kind, copies, *, stream=0: (seen.append(len(copies)), copy(kind, copies, stream=stream))[1]
    try:
        joined = cdevice.concat([there[a : a + 100] for a in range(0, 1000, 100)])
    finally:
        del first.copy
    assert seen == [1] and joined.to("cpu").to_pylist() == list(range(1000))


# ---- only what is needed ----
def test_slices_take_their_rows_alone():
    words = pa.array([f"value number {i:05d} is longer than twelve" for i in range(2000)], pa.string_view())
    union = pa.UnionArray.from_dense(
        pa.array([0] * 1000, pa.int8()), pa.array(range(1000), pa.int32()), [pa.array(range(1000))]
    )
    lists = pa.array([[i] * 3 for i in range(1000)], pa.list_view(pa.int64()))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array(range(1, 1001), pa.int32()), pa.array(range(1000)))
    for source, most in ((words, 600), (union, 200), (lists, 400), (runs, 200)):
        chunks = [source.slice(10, 3), source.slice(500, 3)]
        joined = good(cdevice.concat(chunks), chunks)
        assert joined.nbytes < most, source.type
    whole = cdevice.concat([words.slice(a, 10) for a in range(0, 2000, 10)])
    assert whole.nbytes < cdevice.asarray(words).nbytes + 100


# ---- dictionaries ----
def codes(indices, values, index="int32"):
    return pa.DictionaryArray.from_arrays(pa.array(indices, index), values)


def test_a_dictionary_that_is_the_same_is_kept():
    values = pa.array(["x", "y", "x"])
    for second in (values, pa.array(["x", "y", "x"])):  # the same memory; equal
        chunks = [codes([0, 1, None], values), codes([2, 2, 0], second)]
        joined = good(cdevice.concat(chunks), chunks)
        assert joined.dictionary.to_pylist() == ["x", "y", "x"]
        assert pa.array(joined).indices.to_pylist() == [0, 1, None, 2, 2, 0]


@pytest.mark.parametrize(
    "type", ["string", "large_string", "string_view", "binary", "int16", "float64", "bool", "decimal128(5, 2)"]
)
def test_dictionaries_that_differ_become_one_of_each_value_once(type):
    pool = {"int": [3, 4, 5, 6], "flo": [0.5, -0.0, 0.0, 2.0], "boo": [True, False], "dec": [1, 2, 3, 4]}
    pool = pool.get(type[:3], ["a", "b" * 20, "", "ü" * 7])
    pool = [p.encode() for p in pool] if type == "binary" else pool
    t = {"decimal128(5, 2)": pa.decimal128(5, 2)}.get(type) or getattr(pa, type + "_" if type == "bool" else type)()
    chunks = [
        codes([0, 1, None, 0], pa.array([pool[0], pool[1]], t)),
        codes([2, 1, 0], pa.array([pool[1], None, pool[-1]], t), "int32"),
        codes([0, 0], pa.array([pool[-2], pool[0], None], t)),
        codes([1, 0], pa.array([pool[0], pool[1]], t)),
    ]
    joined = cdevice.concat(chunks)
    joined.validate("full")
    assert repr(joined.to_pylist()) == repr(rows_of(chunks))
    words = joined.dictionary.to_pylist()
    assert len(words) == len(set(map(repr, words))) == len({repr(p) for p in [*pool[-2:], *pool[:2], None]})
    assert words[:2] == [pool[0], pool[1]]


def test_dictionaries_of_nested_values_stand_one_behind_the_other():
    a, b = pa.array([["p"], ["q", None]]), pa.array([["r"], ["p"]])
    chunks = [codes([0, 1, None], a), codes([1, 0], b), codes([1], pa.array([["r"], ["p"]])), codes([0], a)]
    joined = good(cdevice.concat(chunks), chunks)
    assert joined.dictionary.to_pylist() == [["p"], ["q", None], ["r"], ["p"]]


def test_dictionaries_below_other_types_and_of_dictionaries_are_joined():
    inner = [codes([0, 1, 1], pa.array(w)) for w in (["u", "v"], ["v", "w"])]
    lists = [pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), i) for i in inner]
    joined = good(cdevice.concat(lists), lists)
    assert joined._raw_child(0).dictionary.to_pylist() == ["u", "v", "w"]
    twice = [codes([1, 0, 2], i) for i in inner]
    assert cdevice.concat(twice).to_pylist() == ["v", "u", "v", "w", "v", "w"]


def test_many_different_dictionaries_take_time_in_proportion():
    chunks = [codes(list(range(50)), pa.array([f"word {k * 25 + i}" for i in range(50)])) for k in range(400)]
    joined = cdevice.concat(chunks)
    assert joined.dictionary.length == 400 * 25 + 25
    assert joined.to_pylist() == rows_of(chunks)


def test_an_empty_join_keeps_the_dictionary():
    empty = codes([0, 1], pa.array(["x", "y"])).slice(1, 0)
    assert cdevice.concat([empty, empty]).dictionary.to_pylist() == ["x", "y"]


@pytest.mark.parametrize(("index", "fits"), [("int8", 127), ("uint8", 255)])
def test_indices_that_cannot_count_the_joined_dictionary_are_refused(index, fits):
    def chunks(n):
        first = pa.array([f"a{i}" for i in range(100)])
        return [codes([0, 99], first, index), codes([0, n - 101], pa.array([f"b{i}" for i in range(n - 100)]), index)]

    most = chunks(fits + 1)
    good(cdevice.concat(most), most)
    with pytest.raises(cdevice.ArgumentError, match=rf"{fits + 2} values together.*8 bits.*use wider"):
        cdevice.concat(chunks(fits + 2))


# ---- what cannot be counted ----
def huge(kind, n, child):
    return cdevice.from_buffers(
        kind, 1, [None, np.array([0, n], "i4")], null_count=0, children=[child], validate="structure"
    )


def test_more_than_32_bit_offsets_can_count_is_refused_with_the_large_form():
    nulls = cdevice.from_buffers("null", 2**31 - 1, [], null_count=2**31 - 1)
    lists = huge("list<item: null>", 2**31 - 1, nulls)
    assert cdevice.concat([lists, huge("list<item: null>", 0, nulls)]).length == 2
    with pytest.raises(cdevice.ArgumentError, match="4294967294 values of lists.*32-bit.*use the large_ form"):
        cdevice.concat([lists, lists])
    text = cdevice.from_buffers("string", 1, [None, np.array([0, 2**31 - 1], "i4"), b"x"], null_count=0, validate=None)
    with pytest.raises(cdevice.ArgumentError, match="4294967294 bytes.*use the large_ form"):
        cdevice.concat([text, text])
    for kind in ("i4", "i8"):
        views = cdevice.from_buffers(
            "list_view<item: null>" if kind == "i4" else "large_list_view<item: null>",
            1,
            [None, np.array([0], kind), np.array([2**31 - 1], kind)],
            null_count=0,
            children=[nulls],
        )
        if kind == "i4":
            with pytest.raises(cdevice.ArgumentError, match="use the large_ form"):
                cdevice.concat([views, views])
        else:
            assert cdevice.concat([views, views])._raw_child(0).length == 2 * (2**31 - 1)


def test_more_rows_than_run_ends_or_64_bits_can_count_are_refused():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([20_000], pa.int16()), pa.array(["x"]))
    with pytest.raises(cdevice.ArgumentError, match="40000 rows.*16 bits"):
        cdevice.concat([runs, runs])
    nulls = cdevice.from_buffers("null", 2**62, [], null_count=2**62)
    assert cdevice.concat([nulls, nulls[: 2**61]]).length == 2**62 + 2**61
    with pytest.raises(cdevice.ArgumentError, match="more rows than 64 bits"):
        cdevice.concat([nulls, nulls])
    lists = cdevice.from_buffers(
        "fixed_size_list<item: null>[4]",
        2**60 - 1,
        [None],
        null_count=0,
        children=[cdevice.from_buffers("null", 2**62 - 4, [], null_count=2**62 - 4)],
        validate=None,
    )
    with pytest.raises(cdevice.ArgumentError, match="64 bits"):
        cdevice.concat([lists, lists, lists])


# ---- what is not believed ----
def test_contents_that_point_outside_are_errors_not_reads():
    ok = np.arange(2, dtype="i4")
    far = np.array([0, 1 << 20], "i4")
    int8 = cdevice.asarray([1, 2, 3], schema="int8")
    view = cdevice.from_buffers(
        "string_view", 2, [None, b"\x14\0\0\0abcd\7\0\0\0\0\0\0\0" * 2, b"x" * 20, np.array([20])], validate=None
    )
    list_view = cdevice.from_buffers(
        "list_view<item: int8>", 2, [None, far, np.ones(2, "i4")], null_count=0, children=[int8], validate=None
    )
    ids = np.array([0, 5], "i1")
    union = cdevice.from_buffers("dense_union<a: int8=0>", 2, [ids, ok], children=[int8], validate=None)
    past = cdevice.from_buffers("dense_union<a: int8=0>", 2, [np.zeros(2, "i1"), far], children=[int8], validate=None)
    lists = cdevice.from_buffers("list<item: int8>", 1, [None, far], null_count=0, children=[int8], validate=None)
    struct = cdevice.from_buffers("struct<a: int8>", 9, [None], null_count=0, children=[int8], validate=None)
    long = cdevice.from_buffers(
        "string_view", 1, [None, b"\x14\0\0\0abcd\0\0\0\0\1\0\0\0", b"x" * 20, np.array([20])], validate=None
    )
    for bad in (view, long, list_view, union, past, lists, struct):
        with pytest.raises(cdevice.InvalidArray):
            cdevice.concat([bad, bad])


def dictionary(indices, values):
    return cdevice.from_buffers(
        "dictionary<values=string, indices=int32, ordered=0>",
        len(indices),
        [None, np.array(indices, "i4")],
        null_count=0,
        dictionary=values,
        validate=None,
    )


def test_dictionaries_are_checked_before_they_are_compared():
    good_values = cdevice.asarray(["a", "b"])
    broken = cdevice.from_buffers(
        "string", 3, [None, np.array([0, 1 << 30, 1, 2], "i4"), b"ab"], null_count=0, validate=None
    )
    chunks = [dictionary([0, 1], good_values), dictionary([0, 1], broken)]
    for order in (chunks, chunks[::-1]):
        with pytest.raises(cdevice.InvalidArray, match="offsets decrease"):
            cdevice.concat(order)
    with pytest.raises(cdevice.InvalidArray, match="index 1 is 7, the dictionary has 2 values"):
        cdevice.concat([dictionary([0, 7], good_values), dictionary([0, 0], cdevice.asarray(["c"]))])
    with pytest.raises(cdevice.InvalidArray, match="index 0 is -1"):
        cdevice.concat([dictionary([0, 1], good_values), dictionary([-1, 0], cdevice.asarray(["c"]))])


def test_garbage_behind_nulls_is_nobodys():
    valid = bytes([0b01])
    garbage = b"\1\0\0\0a" + bytes(11) + b"\xff" * 16
    views = cdevice.from_buffers("string_view", 2, [valid, garbage, np.array([], "i8")], null_count=1)
    list_views = cdevice.from_buffers(
        "list_view<item: int8>",
        2,
        [valid, np.array([0, 1 << 30], "i4"), np.array([2, 1 << 30], "i4")],
        null_count=1,
        children=[cdevice.asarray([1, 2], schema="int8")],
        validate=None,
    )
    indices = cdevice.from_buffers(
        "dictionary<values=string, indices=int8, ordered=0>",
        2,
        [valid, np.array([0, -99], "i1")],
        null_count=1,
        dictionary=cdevice.asarray(["a"]),
    )
    other = cdevice.from_buffers(indices.schema, 1, [None, np.zeros(1, "i1")], dictionary=cdevice.asarray(["b"]))
    for chunks, rows in (
        ([views, views], ["a", None] * 2),
        ([list_views] * 2, [[1, 2], None] * 2),
        ([indices, other], ["a", None, "b"]),
    ):
        joined = cdevice.concat(chunks)
        joined.validate("full")
        assert joined.to_pylist() == rows


def test_run_ends_that_lie_stay_within_the_rows():
    values = cdevice.asarray(["p", "q", "r"])
    for ends in ([5, -7, 6], [1 << 30, 2, 3], [-1, -1, -1], [2, 4, 1]):
        runs = cdevice.from_buffers(
            "run_end_encoded<run_ends: int32, values: string>",
            6,
            [],
            children=[cdevice.asarray(ends, schema="int32"), values],
            validate=None,
        )
        try:
            joined = cdevice.concat([runs, runs[1:4]])
        except cdevice.InvalidArray:
            continue
        new = joined._raw_child(0).to_pylist()
        assert new == sorted(new) and new[-1] == 9 and all(0 <= e <= 9 for e in new)
        assert len(joined.to_pylist()) == 9


# ---- errors leave nothing behind ----
def record(k):
    return cdevice.asarray(cases.ARRAYS["record"].slice(k))


@pytest.mark.parametrize(
    ("place", "target"),
    [
        (p, t)
        for p in ("host", "there", "fixed")
        for t in ("joining", "cpu", "other", "joining:1")
        if (p, t) != ("host", "cpu")
    ],
)
def test_a_fault_at_any_call_leaks_nothing_and_leaves_the_sources(place, target, devices):
    first = devices[0]
    sources = [record(k) for k in (0, 3)] if place != "fixed" else [cdevice.asarray(np.arange(9))] * 2
    if place != "host":
        sources = [s.to("joining") for s in sources]
    rows = [row for s in sources for row in s.to("cpu").to_pylist()]
    until(lambda: not lib.cdv_retired_count())
    before, arrays, failed = first.live(), lib.cdv_live_arrays(), 0
    for n in range(80):
        first.fail_after = n
        try:
            done = cdevice.concat(sources, device=target)
        except cdevice.DeviceError:
            failed += 1
            until(lambda: first.live() == before and not lib.cdv_retired_count() and lib.cdv_live_arrays() == arrays)
            continue
        finally:
            first.fail_after = None
        assert done.to("cpu").to_pylist() == rows
        del done
        break
    assert (failed or (place, target) == ("host", "other")) and failed < 79
    assert [row for s in sources for row in s.to("cpu").to_pylist()] == rows
    del sources
    until(lambda: not first.live() and not lib.cdv_retired_count(), first.live)


def test_refusals_leave_nothing_behind(devices):
    runs = cdevice.asarray(pa.RunEndEncodedArray.from_arrays(pa.array([20_000], pa.int16()), pa.array(["x"])))
    words = [dictionary([0, 7], cdevice.asarray([w])) for w in "ab"]
    settle()
    gc.collect()
    counts = (lib.cdv_live_arrays, lib.cdv_live_exports, lib.cdv_live_schemas, lib.cdv_retired_count)
    before = [c() for c in counts]
    for bad, device in itertools.product(([runs, runs], words, [runs, words[0]]), (None, "joining")):
        with pytest.raises(cdevice.Error):
            cdevice.concat(bad, device=device)
    with pytest.raises(cdevice.ArgumentError):
        cdevice.concat([runs[:1], runs[:2]], device="joining:9")
    gc.collect()
    assert [c() for c in counts] == before


def test_nothing_is_left_alive(devices):
    chunks = [cdevice.asarray(a) for a in cases.ARRAYS.values()]
    settle()
    gc.collect()
    before = lib.cdv_live_arrays(), lib.cdv_live_exports(), lib.cdv_live_schemas()
    for c in chunks:
        for device in (None, "joining"):
            cdevice.concat([c[1:], c, c[:3]], device=device)[1:].__arrow_c_device_array__()
    gc.collect()
    until(lambda: (lib.cdv_live_arrays(), lib.cdv_live_exports(), lib.cdv_live_schemas()) == before)


def test_a_result_outlives_its_sources():
    sources = [cdevice.asarray([f"word {i}" for i in range(100)]) for _ in range(3)]
    joined = cdevice.concat(sources)
    for s in sources:
        s.release()
    assert joined.to_pylist() == [f"word {i}" for i in range(100)] * 3


# ---- tables and streams ----
def test_the_chunks_of_a_table_or_column_are_joined():
    table = pa.table({"a": pa.chunked_array([[1, 2], [], [3]]), "b": pa.chunked_array([["x"], ["y", None]])})
    assert cdevice.asarray(table).to_pylist() == table.to_pylist()
    assert cdevice.asarray(table["b"]).to_pylist() == ["x", "y", None]
    assert cdevice.asarray(table, validate="full", copy=True).to_pylist() == table.to_pylist()
    wanted = cdevice.asarray(table["a"], schema="int32")
    assert wanted.schema.type == "int32" and wanted.to_pylist() == [1, 2, 3]


def test_chunks_go_straight_to_the_device(devices):
    first = devices[0]
    table = pa.table({"a": pa.chunked_array([[1, 2], [], [3]]), "b": pa.chunked_array([["x"], ["y", None]])})
    first.calls.clear()
    before = lib.cdv_live_arrays()
    there = cdevice.asarray(table, device="joining")
    assert (first.calls["alloc"], first.calls["copy"]) == (1, 1)
    assert lib.cdv_live_arrays() <= before + 2  # no chunk, nor what they were joined in
    assert there.to("cpu").to_pylist() == table.to_pylist()


def test_without_a_copy_chunks_are_not_joined():
    column = pa.chunked_array([[1], [2]])
    with pytest.raises(cdevice.ArgumentError, match=r"ChunkedArray holds more than one array.*asstream.*concat"):
        cdevice.asarray(column, copy=False)
    one = pa.chunked_array([[], [1, 2], []], pa.int64())
    assert cdevice.asarray(one, copy=False).buffers[1].address == one.chunk(1).buffers()[1].address
    assert cdevice.asarray(one).buffers[1].address == one.chunk(1).buffers()[1].address


def test_pandas_frames_of_several_chunks(tmp_path):
    pd = pytest.importorskip("pandas", reason="pip install pandas")
    kind = pd.ArrowDtype(pa.string())
    frames = [pd.DataFrame({"i": [k, k + 1], "s": pd.Series([str(k), None], dtype=kind)}) for k in range(3)]
    frame = pd.concat(frames, ignore_index=True)
    rows = cdevice.asarray(frame).to_pylist()
    assert [r["s"] for r in rows] == ["0", None, "1", None, "2", None] and [r["i"] for r in rows] == [0, 1, 1, 2, 2, 3]
    assert cdevice.asarray(frame["s"]).to_pylist() == ["0", None, "1", None, "2", None]
    path = tmp_path / "many.csv"
    path.write_text("a,b\n" + "".join(f"{i},word {i}\n" for i in range(200_000)))
    read = pd.read_csv(path, engine="pyarrow", dtype_backend="pyarrow")
    array = cdevice.asarray(read)
    assert array.length == 200_000 and array[-1] == {"a": 199_999, "b": "word 199999"}


def test_duckdb_relations_of_several_chunks():
    duckdb = pytest.importorskip("duckdb", reason="pip install duckdb")
    relation = duckdb.sql("select range as a from range(5000) union all select range + 5000 from range(5000)")
    array = cdevice.asarray(relation)
    assert array.length == 10_000 and sorted(r["a"] for r in array) == list(range(10_000))


def test_polars_frames_of_several_chunks():
    pl = pytest.importorskip("polars", reason="pip install polars")
    parts = [pl.DataFrame({"a": [k, None], "s": [f"word number {k}", "a longer word than twelve"]}) for k in range(3)]
    frame = pl.concat(parts, rechunk=False)
    assert frame.n_chunks() == 3
    assert cdevice.asarray(frame).to_pylist() == frame.to_dicts()
    assert cdevice.asarray(frame["s"]).to_pylist() == frame["s"].to_list()
    words = pl.concat([pl.Series(["a", "b"]), pl.Series(["c"])], rechunk=False).cast(pl.Categorical)
    assert cdevice.asarray(words).to_pylist() == ["a", "b", "c"]


def test_a_stream_is_read_to_its_end_as_one_array(devices):
    def make():
        return cdevice.asstream([["a", None], [], ["b"]], schema="string")

    s = make()
    assert s.read_all().to_pylist() == ["a", None, "b"] and s.closed
    s = make()
    assert next(s).to_pylist() == ["a", None]
    assert s.read_all("joining:1").device == cdevice.device("joining:1")
    there = make().to("joining")
    assert there.read_all().device == cdevice.device("joining")
    assert make().to("joining").read_all("cpu").to_pylist() == ["a", None, "b"]
    s = make()
    assert s.to_pylist() == ["a", None, "b"] and s.closed
    reader = pa.RecordBatchReader.from_batches(
        pa.schema({"x": pa.int8()}), [pa.record_batch({"x": pa.array([k], pa.int8())}) for k in range(5)]
    )
    assert cdevice.asstream(reader).read_all().to_pylist() == [{"x": k} for k in range(5)]


def test_an_empty_stream_is_an_empty_array_of_its_schema(devices):
    for schema in (pa.int32(), pa.list_(pa.string()), pa.dictionary(pa.int8(), pa.utf8()), pa.struct({"a": pa.int8()})):
        empty = cdevice.asstream([], schema=schema).read_all()
        assert empty.length == 0 and pa.array(empty).type == schema
        there = cdevice.asstream([], schema=schema).read_all("joining:1")
        assert there.length == 0 and there.device == cdevice.device("joining:1")
        assert cdevice.asstream([], schema=schema).to("joining").read_all().device == cdevice.device("joining")
    assert cdevice.asstream([], schema="int8").to_pylist() == []


def test_an_error_of_the_source_is_read_alls():
    def source():
        yield [1]
        raise KeyError("gone")

    s = cdevice.asstream(source())
    with pytest.raises(KeyError, match="gone"):
        s.read_all()
    with pytest.raises(cdevice.Released):
        s.close() or s.read_all()


def test_what_may_be_null_in_one_may_be_null_in_all():
    sure = cdevice.from_buffers(cdevice.Schema.make("l", "x", nullable=False), 2, [None, np.arange(2)])
    both = cdevice.concat([sure, cdevice.asarray([7, None])])
    assert both.schema.nullable and both.schema.name == "x" and both.to_pylist() == [0, 1, 7, None]
    assert not cdevice.concat([sure, sure]).schema.nullable
    words = cdevice.asarray(["a", "b"])
    named = cdevice.Schema.make("u", "w", nullable=False)
    sure = cdevice.from_buffers(named, 2, [None, words.buffers[1], words.buffers[2]])
    assert cdevice.concat([sure, ["c", None]]).to_pylist() == ["a", "b", "c", None]


def test_the_stream_object_of_a_join_is_kept_with_its_memory():
    class Stream:
        handle = 7

    class Taking(FakeBackend):
        def as_stream(self, obj):
            return obj if isinstance(obj, int) else obj.handle

    backend = Taking(5104, "streamed")
    cdevice.register_backend(backend)
    try:
        stream = Stream()
        there = weakref.ref(stream)
        with backend.gate(7):
            out = cdevice.concat([np.arange(3), np.arange(2)], device="streamed", stream=stream)
            del stream
            gc.collect()
            assert there() is not None
        assert out.to("cpu").to_pylist() == [0, 1, 2, 0, 1]
        gc.collect()
        assert there() is not None  # giving the memory back may ask the stream
        again = weakref.ref(stream := Stream())
        fixed = cdevice.concat([out, out], stream=stream)  # by the device's own copies
        del stream, out
        gc.collect()
        assert again() is not None and fixed.length == 10
        del fixed
        until(lambda: there() is None and again() is None)
    finally:
        unregister(backend)


def test_ordered_dictionaries_become_one_by_first_appearance():
    sizes = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), words, ordered=True)
        for words in (["S", "L"], ["L", "S"], ["M", "L"])
    ]
    out = cdevice.concat(sizes)
    assert out.type.endswith("ordered=1>") and out.dictionary.to_pylist() == ["S", "L", "M"]
    assert out.to_pylist() == ["S", "L", "L", "S", "M", "L"]
