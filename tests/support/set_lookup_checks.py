"""Rows found by their values, on every device, against pyarrow.compute."""

import itertools
import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import column, drawn, places  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

_FAR = [random.Random(k).getrandbits(63) for k in range(900)]  # found by hashes, which collide in a small table

SETS = {  # rows, and the values that they are looked up in
    "int64": (drawn([None, 1, 2, 3, -5, 1 << 60]), [3, None, 1 << 60, 3, 7]),
    "float64": (drawn([None, 0.0, -0.0, float("nan"), 1.5]), [float("nan"), 0.0]),
    "string": (drawn([None, "", "a", "ab", "a\0"]), ["a\0", "", "zz"]),
    "bool": (drawn([True, False, None]), [True]),
    "decimal128": (drawn([None, 1, -1, 1 << 90], pa.decimal128(38, 0)), [1, 1 << 90]),
    "one row": (pa.array([7]), [7, 8]),
    "no rows": (pa.array([], pa.int32()), [1]),
    "no set": (pa.array([1, None]), []),
    "nulls alone": (pa.array([None] * 4, pa.int32()), [1, None]),
    "type null": (pa.nulls(3), [None]),
    "far apart": (pa.array([*_FAR, None, *range(300)]), [*_FAR[300:], *_FAR[200:600]]),
    "floats far apart": (pa.array([*map(float, _FAR), None, 0.0, -0.0]), [*map(float, _FAR[300:]), None, -0.0, None]),
    "times": (pa.array([*range(-9, 9), None], pa.timestamp("s", "UTC")), [5, -3, 70_000]),
    "many": (column("int32", 20_000, nulls=0.1), list(range(-300, 300))),
}
CASES = [pytest.param(p, w, id=f"{p}-{w}") for w in SETS for p in places("int64")]
each = pytest.mark.parametrize(("device", "word"), CASES, indirect=["device"])


def _encoded(x):
    """The forms of an array that stand for the same rows."""
    return [x] if pa.types.is_null(x.type) else [x, x.dictionary_encode()]


@each
def test_rows_are_found_in_a_set_as_arrow_finds_them(device, word):
    whole, wanted = SETS[word]
    value_set = pa.array(wanted, whole.type)
    for a, skip_nulls in itertools.product((whole, whole[1:]), (False, True)):
        for f, x in itertools.product(("is_in", "index_in"), _encoded(a)):
            got = pa.array(getattr(cc, f)(cdevice.asarray(x).to(device), value_set, skip_nulls=skip_nulls).to("cpu"))
            got.validate(full=True)
            want = getattr(pc, f)(a, value_set=value_set, skip_nulls=skip_nulls)
            assert got.type == want.type and got.to_pylist() == want.to_pylist()


@each
def test_a_set_that_could_have_nulls_and_has_none_finds_no_null_row(device, word):
    whole, wanted = SETS[word]
    value_set = pa.array([*[w for w in wanted if w is not None], None], whole.type)
    there = cdevice.asarray(value_set).to(device)
    x = cdevice.asarray(whole).to(device)
    for name in ("is_in", "index_in"):
        want = getattr(pc, name)(whole, value_set=value_set[:-1]).to_pylist()
        for without_null in (there[:-1], cc.drop_null(there), cc.filter(there, cc.is_valid(there))):
            assert getattr(cc, name)(x, without_null).to("cpu").to_pylist() == want


@everywhere
def test_a_set_of_a_type_that_the_rows_cannot_have_is_refused_alike_on_every_device(device):
    def there(x):
        return cdevice.asarray(x).to(device)

    for rows, value_set in (
        (there([True, None]), [2]),
        (there([True]), [1.5]),
        (there([True]), ["true"]),
        (there(["1", None]), [1]),
    ):
        for f in (cc.is_in, cc.index_in):
            with pytest.raises(cdevice.ArgumentError, match="have no common type: cast one"):
                f(rows, value_set)
    assert cc.is_in(there(pa.nulls(2)), ["a"]).to("cpu").to_pylist() == [False, False]
    assert cc.is_in(there(pa.array([b"a"], pa.binary(1))), ["abc"]).to("cpu").to_pylist() == [False]


@everywhere
def test_chunks_views_and_sets_of_other_types_are_looked_up(device):
    chunks = [cdevice.asarray(pa.array(x, pa.int32())).to(device) for x in ([1, None], [], [5])]
    assert cc.index_in(chunks, [5, 1]).to("cpu").to_pylist() == [1, None, 0]
    words = cdevice.asarray(pa.array(["a", "b" * 20, None], pa.string_view())).to(device)
    one = pa.array(["b" * 20])
    for value_set in (one, one.cast(pa.string_view()), one.dictionary_encode()):
        assert cc.is_in(words, value_set).to("cpu").to_pylist() == [False, True, False]
    for rows in (words, cdevice.asarray(pa.array(["a", "b" * 20, None])).to(device)):
        for value_set in (
            one.dictionary_encode(),
            pc.run_end_encode(one),
            pa.chunked_array([one.dictionary_encode()] * 2),
        ):
            assert cc.is_in(rows, value_set).to("cpu").to_pylist() == [False, True, False]
            assert cc.index_in(rows, value_set).to("cpu").to_pylist() == [None, 0, None]
    small = cdevice.asarray(pa.array([1, 2], pa.int8())).to(device)
    assert cc.index_in(small, pa.array([300, 2])).to("cpu").to_pylist() == [None, 1]
    assert cc.is_in(small, cdevice.asarray([2]).to(device)).to("cpu").to_pylist() == [False, True]


@each
def test_the_first_row_of_a_value_is_arrows(device, word):
    whole, wanted = SETS[word]
    if pa.types.is_null(whole.type):
        return
    for value in [*wanted[:8], None]:
        one = pa.scalar(value, whole.type)
        want = pc.index(whole, one).as_py()
        for x in _encoded(whole):
            got = cc.index(cdevice.asarray(x).to(device), one)
            assert got.as_py() == want and got.array.schema.format == "l"


@everywhere
def test_an_index_counts_the_rows_of_the_chunks_before(device):
    chunks = [cdevice.asarray(x).to(device) for x in ([1, 2], [3, None, 2], [9])]
    assert [cc.index(chunks, x).as_py() for x in (2, 3, 9, 4)] == [1, 2, 5, -1]


@everywhere
def test_dictionaries_become_the_values_of_their_rows(device):
    for values in (pa.array(["a", None, "b", "a"]), pa.array([1.5, None, 1.5])):
        encoded = cdevice.asarray(values.dictionary_encode()[1:]).to(device)
        got = pa.array(cc.dictionary_decode(encoded).to("cpu"))
        assert got.type == values.type and got.equals(values[1:])
    assert cc.dictionary_decode(cdevice.asarray([1, 2]).to(device)).to("cpu").to_pylist() == [1, 2]


@everywhere
def test_integers_of_python_are_found_among_the_greatest(device):
    x = cdevice.asarray(pa.array([2**64 - 1, 5, None, 2**63], pa.uint64())).to(device)
    for some in ([55, 5], [5, None], pa.array([5], pa.int8())):
        null = isinstance(some, list) and None in some
        assert cc.is_in(x, value_set=some).to("cpu").to_pylist() == [False, True, null, False]
    assert cc.index_in(x, value_set=[1, 5]).to("cpu").to_pylist() == [None, 1, None, None]
    assert cc.is_in(x, value_set=[2**63, 2**64 - 1]).to("cpu").to_pylist() == [True, False, False, True]
    assert cc.is_in(x, value_set=pa.array([], pa.int64())).to("cpu").to_pylist() == [False] * 4


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: cc.is_in(x), TypeError, "SetLookupOptions needs value_set="),
        (lambda x: cc.index(x, [1, 2]), cdevice.ArgumentError, "index: value must be one value, not an array"),
        (lambda x: cc.index(x, "a"), cc.NoKernel, r"index: equal\(int64, string\): no kernel"),
        (lambda x: cc.is_in(x, [1], skip_nulls=2), TypeError, "skip_nulls must be True or False, not 2"),
        (
            lambda x: cc.call_function("is_in", [x], pc.SetLookupOptions(pa.array([1]))),
            cc.NoKernel,
            "options of pyarrow do not show their value_set: pass value_set= by name",
        ),
    ],
)
@everywhere
def test_bad_lookups_are_errors_with_words(device, call, error, words):
    if device == "cpu" and "pyarrow" in words:
        return  # pyarrow's kernel takes them
    with pytest.raises(error, match=words):
        call(cdevice.asarray([1, 2]).to(device))
