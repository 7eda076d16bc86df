"""Properties that hold for all values."""

import pytest

import cdevice

hypothesis = pytest.importorskip("hypothesis", reason="pip install hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

settings.register_profile("cdevice", deadline=None, max_examples=60)
settings.load_profile("cdevice")

maybe = lambda s: st.none() | s
TYPES = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "string": st.text(max_size=30),
    "string_view": st.text(max_size=30),
    "large_binary": st.binary(max_size=30),
    "list<string>": st.lists(maybe(st.text(max_size=15)), max_size=4),
    "list_view<int32>": st.lists(maybe(st.integers(-5, 5)), max_size=4),
    "list<list<int16>>": st.lists(maybe(st.lists(st.integers(0, 9), max_size=3)), max_size=3),
}
typed = st.sampled_from(sorted(TYPES)).flatmap(lambda t: st.tuples(st.just(t), st.lists(maybe(TYPES[t]), max_size=40)))
cuts = st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))


@given(typed)
def test_what_goes_in_comes_out(case):
    t, values = case
    array = cdevice.asarray(values, schema=t, validate="full")
    assert array.to_pylist() == values
    assert array.null_count == values.count(None)
    assert len(array) == len(values)


@given(typed, cuts)
def test_slices_compose_as_those_of_lists(case, cut):
    t, values = case
    array = cdevice.asarray(values, schema=t)
    a, b, c, d = cut
    assert array[a:b][c:d].to_pylist() == values[a:b][c:d]


@given(typed, cuts)
def test_copies_of_slices_are_equal_and_whole(case, cut):
    t, values = case
    rows = cdevice.asarray(values, schema=t)[cut[0] : cut[1]]
    copied = rows.to("cpu", copy=True)
    copied.validate("full")
    assert copied == rows
    assert copied[cut[2] :].to("cpu", copy=True).to_pylist() == values[cut[0] : cut[1]][cut[2] :]


@given(typed, typed)
def test_equality_is_that_of_the_values(one, other):
    a, b = (cdevice.asarray(v, schema=t) for t, v in (one, other))
    assert (a == b) == (one == other)


@given(
    st.lists(st.fixed_dictionaries({"a": maybe(st.integers(0, 9)), "b": maybe(st.text(max_size=5))}), max_size=20), cuts
)
def test_records_survive_the_protocol(rows, cut):
    array = cdevice.asarray(rows, schema={"a": "int8", "b": "string"})[cut[0] : cut[1]]
    again = cdevice.import_capsules(*array.__arrow_c_device_array__(), validate="full")
    assert again.to_pylist() == rows[cut[0] : cut[1]]


@given(st.binary(max_size=40))
def test_no_format_string_crashes_and_what_is_accepted_names_a_type(text):
    try:
        word = text.decode()
        schema = cdevice.Schema.make(word)
    except (UnicodeDecodeError, ValueError):
        return
    assert schema.type
