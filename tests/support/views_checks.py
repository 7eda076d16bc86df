"""Strings and bytes as views on every device: casts, and each function with the result that it has for strings."""

import function_table
import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import back, shown, there  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

WORDS = ["a", None, "long enough not to lie in its view", "", "12 bytes of.", "13 bytes of..", "späť", None] * 9
TEXT = [pa.string(), pa.large_string(), pa.string_view()]
BYTES = [pa.binary(), pa.large_binary(), pa.binary_view()]


@everywhere
@pytest.mark.parametrize("source", [*TEXT, *BYTES], ids=str)
@pytest.mark.parametrize("target", [*TEXT, *BYTES], ids=str)
def test_text_is_cast_between_layouts(device, source, target):
    whole = pa.array(WORDS).cast(pa.binary()).cast(source)
    known = pa.array([x for x in WORDS if x is not None]).cast(pa.binary()).cast(source)
    for a in (whole, whole.slice(3), whole.slice(5, 20), whole.slice(1, 1), whole.slice(4, 0), known):
        have = back(cc.cast(there(a, device), target))
        have.validate(full=True)
        assert have.type == target and have.to_pylist() == a.cast(target).to_pylist()
    assert cc.cast(whole[2], target).as_py() == whole[2].cast(target).as_py()


@everywhere
def test_values_become_views(device):
    for a, kind in (
        (pa.array([1, None, -(10**15)]), pa.string_view()),
        (pa.array([1.5, None]), pa.string_view()),
        (pa.array([b"0123456789abc", None, b"abcdefghijklm"], pa.binary(13)).slice(1), pa.binary_view()),
        (pa.array([b"ab", None], pa.binary(2)), pa.binary_view()),
        (pa.array([b"ab", None], pa.binary(2)), pa.string_view()),
        (pa.array(["a", None, "a"]).dictionary_encode(), pa.string_view()),
        (pa.nulls(3), pa.string_view()),
        (pa.array([True, None]), pa.string_view()),
    ):
        have = back(cc.cast(there(a, device), kind))
        have.validate(full=True)
        plain = pa.string() if kind == pa.string_view() else pa.binary()
        assert have.type == kind and have.to_pylist() == a.cast(plain).to_pylist()
    numbers = there(pa.array(["1", None, "-22"], pa.string_view()), device)
    assert back(cc.cast(numbers, "int16")).to_pylist() == [1, None, -22]


@everywhere
def test_views_look_at_the_bytes_where_they_are(device):
    a = there(pa.array(WORDS), device)
    assert cc.cast(a, "string_view")._buffer(2)[0] == a._buffer(2)[0]


@everywhere
def test_bytes_that_are_no_text_are_errors_that_name_the_row(device):
    bad = pa.array([b"a", None, b"\xff", b"b"])
    for kind in TEXT:
        for source in BYTES:
            a = there(bad.cast(source), device)
            with pytest.raises(ArgumentError, match="cast: .*row 2|row 2.*UTF-8"):
                cc.cast(a, kind)
            good = there(pa.array([b"a", None, b"b"]).cast(source), device)
            assert back(cc.cast(good, kind)).to_pylist() == ["a", None, "b"]
    loose = cc.cast(there(bad, device), "string", safe=False)
    assert loose.to("cpu").schema.format == "u" and loose.length == 4


@everywhere
@pytest.mark.parametrize("name", ["min_element_wise", "max_element_wise"])
def test_the_least_and_greatest_of_views(device, name):
    a, b = pa.array(WORDS[:40]), pa.array(WORDS[2:42])
    for skip in (True, False):
        want = getattr(pc, name)(a, b, skip_nulls=skip)
        for x, y in ((a.cast(pa.string_view()), b.cast(pa.string_view())), (a.cast(pa.string_view()), b)):
            have = back(getattr(cc, name)(there(x, device), there(y, device), skip_nulls=skip))
            assert have.to_pylist() == want.to_pylist()


ROWS = {pa.string_view(): ["aa", "bb", None, "aa"], pa.binary_view(): [b"aa", b"bb", None, b"aa"]}
PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def rows_of(x):
    return back(x) if not isinstance(x, cc.Scalar) else pa.array(x.array.to("cpu"))


def called(f, kind, device):
    args, options = function_table.arguments(f, kind)
    args = [cdevice.asarray(x).to(device) if isinstance(x, pa.Array) else x for x in args]
    return rows_of(f(*args, **options))


@pytest.mark.parametrize("device", ["cpu", "opencl-items"], indirect=True)
@pytest.mark.parametrize("kind", list(ROWS), ids=str)
def test_each_function_of_strings_takes_views(device, kind):
    tried = 0
    for name in cc.list_functions():
        f = cc.get_function(name)
        if f.kind == "hash_aggregate" or not function_table.works(f, PLAIN[kind]):
            continue
        want, have = called(f, PLAIN[kind], device), called(f, kind, device)
        assert shown(have) == shown(want), name
        tried += 1
    assert tried > 60


def test_functions_of_pyarrow_take_views():
    for name, options in (
        ("split_pattern_regex", {"pattern": "a+"}),
        ("extract_regex", {"pattern": "(?P<l>a)"}),
        ("replace_substring_regex", {"pattern": "a", "replacement": "b"}),
        ("utf8_normalize", {"form": "NFC"}),
    ):
        a = pa.array(["aa", None, "long enough not to lie in its view"])
        want = cc.call_function(name, [a], dict(options))
        assert cc.call_function(name, [a.cast(pa.string_view())], dict(options)).to_pylist() == want.to_pylist()
