"""Lists of every layout, on every device, against pyarrow.compute."""

import itertools
import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import places, shown  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

TYPES = {
    "list": pa.list_(pa.int32()),
    "large_list": pa.large_list(pa.int64()),
    "list_view": pa.list_view(pa.int32()),
    "large_list_view": pa.large_list_view(pa.int32()),
    "fixed_size_list": pa.list_(pa.int32(), 3),
    "list of strings": pa.list_(pa.string()),
    "list of lists": pa.list_(pa.list_(pa.int16())),
    "map": pa.map_(pa.int32(), pa.string()),
}


def lists(word, n=200, nulls=True):
    rng, kind = random.Random(word), TYPES[word]
    one = {
        "list of strings": lambda: rng.choice([None, "", "ab"]),
        "list of lists": lambda: rng.choice([None, [], [1, None], [2]]),
        "map": lambda: (rng.randrange(9), "x"),
    }.get(word, lambda: rng.choice([None, 1, 2, 3]))
    size = 3 if word == "fixed_size_list" else None
    return pa.array(
        [
            None if nulls and rng.random() < 0.2 else [one() for _ in range(rng.randrange(5) if size is None else size)]
            for _ in range(n)
        ],
        kind,
    )


def cases():
    return [pytest.param(p, w, id=f"{p}-{w}") for w in TYPES for p in places("int64")]


each = pytest.mark.parametrize(("device", "word"), cases(), indirect=["device"])


def columns(word):
    whole = lists(word)
    plain = lists(word, nulls=False)
    out = [whole, plain, whole[:0]]
    if "view" not in word:  # pyarrow reads the rows before a slice of views
        out += [whole[7:-3], plain[7:-3]]
    return out


def on(device, a):
    return cdevice.asarray(a).to(device)


@each
def test_every_row_has_its_number_of_values(device, word):
    for a in columns(word):
        want = [None if x is None else len(x) for x in a.to_pylist()]
        got = cc.list_value_length(on(device, a))
        assert got.to("cpu").to_pylist() == want
        assert got.to("cpu").schema.format == ("l" if "large" in word else "i")


@each
def test_the_values_of_all_rows_lie_in_their_order(device, word):
    for a in columns(word):
        rows = a.to_pylist()
        there = on(device, a)
        flat = pa.array(cc.list_flatten(there).to("cpu"))
        flat.validate(full=True)
        want = [x for row in rows if row is not None for x in row]
        assert [tuple(x.values()) if isinstance(x, dict) else x for x in flat.to_pylist()] == want
        parents = cc.list_parent_indices(there).to("cpu").to_pylist()
        assert parents == [i for i, row in enumerate(rows) if row is not None for _ in row]


@each
def test_lists_in_lists_are_flattened_where_it_is_wanted(device, word):
    if word == "list of lists":
        a = lists(word)
        assert cc.list_flatten(on(device, a), True).to("cpu").to_pylist() == pc.list_flatten(a, True).to_pylist()
    else:
        a = lists(word)
        got = pa.array(cc.list_flatten(on(device, a), True).to("cpu"))
        assert shown(got) == shown(pa.array(cc.list_flatten(on(device, a)).to("cpu")))


@each
def test_an_element_is_that_at_the_index_and_a_short_row_is_an_error(device, word):
    a = lists(word).filter(pa.array([x is None or len(x) > 1 for x in lists(word).to_pylist()]))
    there = on(device, a)
    for index in (0, 1):
        found = pa.array(cc.list_element(there, index).to("cpu")).to_pylist()
        found = [tuple(x.values()) if isinstance(x, dict) else x for x in found]
        assert found == [None if x is None else x[index] for x in a.to_pylist()]
    with pytest.raises(ArgumentError, match="index 9 is out of bounds"):
        cc.list_element(there, 9)
    with pytest.raises(ArgumentError, match="index -1"):
        cc.list_element(there, -1)
    with pytest.raises(ArgumentError, match="null"):
        cc.list_element(there, pa.scalar(None, pa.int32()))
    with pytest.raises(cc.NoKernel, match="index"):
        cc.list_element(there, 1.5)


@each
def test_a_part_of_each_row_is_that_of_pythons_slices(device, word):
    for a, (start, stop, step) in itertools.product(
        columns(word), [(0, 2, 1), (1, None, 1), (1, 4, 2), (2, 2, 1), (0, None, 3), (0, 99, 1)]
    ):
        got = cc.list_slice(on(device, a), start, stop, step, False)
        made = pa.array(got.to("cpu"))
        made.validate(full=True)
        assert made.to_pylist() == [None if x is None else x[start:stop:step] for x in a.to_pylist()]
        if word not in ("map", "fixed_size_list"):
            assert made.type == a.type


@each
def test_parts_of_one_size_have_nulls_where_a_row_is_short(device, word):
    if word == "map":
        return
    for a in columns(word):
        got = pa.array(cc.list_slice(on(device, a), 0, 4, 2, True).to("cpu"))
        got.validate(full=True)
        want = [None if x is None else (x[0:4:2] + [None, None])[:2] for x in a.to_pylist()]
        assert got.to_pylist() == want and got.type.list_size == 2


def test_options_that_name_no_part_are_errors():
    x = lists("list")
    for bad, words in [
        ({"start": -1}, "start"),
        ({"start": 2, "stop": 1}, "stop"),
        ({"start": 0, "step": 0}, "step"),
        ({"start": 0, "return_fixed_size_list": 2}, "return_fixed_size_list"),
        ({"start": 0, "return_fixed_size_list": True}, "stop"),
        ({}, "start"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            cc.list_slice(x, **bad)


def test_what_is_no_list_has_no_values():
    for f in (cc.list_flatten, cc.list_parent_indices, cc.list_value_length):
        with pytest.raises((cc.NoKernel, ArgumentError), match=f.__name__):
            f([1, 2])
