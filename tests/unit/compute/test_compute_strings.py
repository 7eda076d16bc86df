"""Strings and bytes of every layout compared and cast on every device, against Python's own comparison of bytes."""

import itertools
import operator
import struct

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

from compute_cases import back, there  # noqa: E402
from everywhere import device, everywhere  # noqa: E402, F401

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

WORDS = ["a", None, "", "ccc", "späť", "x" * 40, "twelve bytes", "twelve bytes+", "x" * 39 + "y", None, "abc", "abcd"]
LEFT = (WORDS * 8)[5:85]
RIGHT = ([*WORDS[3:], "a", "abce", "", "x" * 40] * 7)[:80]
TYPES = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "binary_view": pa.binary_view(),
}
SAYS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


def of(type, words):
    """A slice, so that rows do not begin at the buffers' beginning."""
    text = "string" in str(type)
    return pa.array(["before", None, *(w if text or w is None else w.encode() for w in words), "x"], type)[2:-1]


def views(words, buffers, type=None):
    """Views that look at several buffers, and whose nulls look at memory that is nowhere."""
    parts, rows = [b"" for _ in range(buffers)], []
    for i, w in enumerate(words):
        if w is None:
            rows.append(struct.pack("<i4sii", 2**31 - 1, b"....", 99, 2**31 - 1))
            continue
        w = w.encode()
        k = i % buffers if buffers else 0
        rows.append(
            struct.pack("<i12s", len(w), w) if len(w) <= 12 else struct.pack("<i4sii", len(w), w[:4], k, len(parts[k]))
        )
        if len(w) > 12:
            parts[k] += w
    valid = pa.array([w is not None for w in words])
    made = [valid.buffers()[1], pa.py_buffer(b"".join(rows)), *map(pa.py_buffer, parts)]
    return pa.Array.from_buffers(type or pa.string_view(), len(words), made)


def told(name, left, right):
    return [None if a is None or b is None else SAYS[name](a.encode(), b.encode()) for a, b in zip(left, right)]


@everywhere
@pytest.mark.parametrize("name", SAYS)
def test_any_layout_is_compared_with_any(device, name):
    a = {k: there(of(t, LEFT), device) for k, t in TYPES.items()}
    b = {k: there(of(t, RIGHT), device) for k, t in TYPES.items()}
    for x, y in itertools.product(TYPES, TYPES):
        assert back(getattr(cc, name)(a[x], b[y])).to_pylist() == told(name, LEFT, RIGHT), (x, y)


@everywhere
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("word", ["abc", "x" * 40, ""])
def test_a_column_is_compared_with_a_word_of_python(device, kind, word):
    a = there(of(TYPES[kind], LEFT), device)
    for name, value in itertools.product(SAYS, (word, word.encode())):
        assert back(getattr(cc, name)(a, value)).to_pylist() == told(name, LEFT, [word] * len(LEFT))
        assert back(getattr(cc, name)(value, a)).to_pylist() == told(name, [word] * len(LEFT), LEFT)
    assert back(cc.equal(a, None)).to_pylist() == [None] * len(LEFT)


@everywhere
def test_bytes_of_one_size_are_compared_with_strings(device):
    words = ["abc", None, "xyz", "ab\0", "abd"] * 9
    a = there(pa.array([w and w.encode() for w in words], pa.binary(3))[2:], device)
    for other in ("abc", b"abcd", "ab"):
        other = other if isinstance(other, str) else other.decode()
        for name in SAYS:
            want = told(name, words[2:], [other] * 43)
            assert back(getattr(cc, name)(a, other)).to_pylist() == want, (name, other)


@everywhere
@pytest.mark.parametrize("buffers", [0, 1, 2, 4, 5, 9])
def test_views_of_many_buffers_are_compared_and_cast(device, buffers):
    left, right = ([w if not w or buffers or len(w) < 12 else "short" for w in x] for x in (LEFT, RIGHT))
    a, b = there(views(left, buffers)[3:], device), there(views(right, max(buffers - 1, 0) or buffers)[3:], device)
    for name in ("equal", "less"):
        assert back(getattr(cc, name)(a, b)).to_pylist() == told(name, left[3:], right[3:])
        assert back(getattr(cc, name)(a, "ccc")).to_pylist() == told(name, left[3:], ["ccc"] * 77)
    for to in ("string", "large_string", "binary", "large_binary"):
        want = [w if w is None or "string" in to else w.encode() for w in left[3:]]
        for few in (77, 14):  # which is few beside the bytes: four buffers at a time, not joined
            got = back(cc.cast(a[:few], to))
            assert str(got.type) == to and got.to_pylist() == want[:few]


@everywhere
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("to", ["string", "large_string", "binary", "large_binary"])
def test_strings_are_cast_to_other_offsets_and_to_bytes(device, kind, to):
    a = there(of(TYPES[kind], LEFT), device)
    if "binary" in kind and "string" in to:
        return  # pyarrow's, where it is
    want = [w if w is None or "string" in to else w.encode() for w in LEFT]
    for x, w in ((a, want), (a[11:12], want[11:12]), (a[7:7], []), (a.to("cpu")[1:].to(device), want[1:])):
        got = back(cc.cast(x, to))
        assert str(got.type) == to and got.to_pylist() == w


@everywhere
def test_bytes_of_one_size_get_offsets(device):
    a = there(pa.array([b"abc", None, b"xyz"] * 20, pa.binary(3))[1:], device)
    for to in ("binary", "large_binary"):
        got = back(cc.cast(a, to))
        assert str(got.type) == to and got.to_pylist() == ([b"abc", None, b"xyz"] * 20)[1:]


@everywhere
@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_nulls_are_filled_with_a_word_of_python(device, kind):
    a = there(of(TYPES[kind], LEFT), device)
    got = back(cc.fill_null(a, "none"))
    assert got.to_pylist() == [w if w is not None else "none" for w in LEFT]
    assert str(got.type) == kind
    chosen = back(cc.if_else(cc.equal(a, "ccc"), a, "other"))
    assert chosen.to_pylist() == [w if w in ("ccc", None) else "other" for w in LEFT]
    assert back(cc.coalesce(a, there(of(pa.string(), RIGHT), device), "none")).to_pylist() == [
        next((w for w in pair if w is not None), "none") for pair in zip(LEFT, RIGHT)
    ]


@everywhere
def test_columns_of_polars_are_asked_for_a_word(device):
    pl = pytest.importorskip("polars", reason="pip install polars")
    words = ["UA", None, "a carrier of a long name", "AA"] * 500
    carriers = cdevice.asarray(pl.Series(words)).to(device)
    batch = cdevice.record_batch({"carrier": carriers, "n": cdevice.asarray(list(range(2000))).to(device)})
    found = cc.filter(batch, cc.equal(batch["carrier"], "a carrier of a long name"))
    assert pa.record_batch(found.to("cpu")).column("n").to_pylist() == list(range(2, 2000, 4))
