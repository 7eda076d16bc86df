"""Sizes beyond 2^31 and 2^32 that cost no memory: zeros that were never written to, with some values at the edges."""

import subprocess
import sys

import pytest
import sparse
from children import child_env

import cdevice
import cdevice.compute as cc

np = pytest.importorskip("numpy", reason="pip install numpy")
pytestmark = pytest.mark.skipif(sys.maxsize < 1 << 32, reason="64-bit addresses")
N31, N32 = sparse.EDGE31 + 1000, sparse.EDGE32 + 1000


def test_rows_beyond_2_to_the_31_are_counted_found_and_taken():
    marks = sparse.marked(N31)
    a = cdevice.asarray(sparse.numbers("i1", N31, marks))
    assert cc.sum(a).as_py() == sum(marks.values())
    assert cc.take(a, list(marks)).to_pylist() == list(marks.values())
    mask = cc.greater(a, 0)
    assert cc.filter(a, mask).to_pylist() == list(marks.values())
    assert cc.indices_nonzero(mask).to_pylist() == list(marks)


def test_a_value_larger_than_a_screen_is_shown_by_its_size():
    a = sparse.texts("large_string", [5, 1 << 30, 3], {0: 97})
    assert repr(a).splitlines()[1] == r"['a\x00\x00\x00\x00', <1073741840 bytes>, '\x00\x00\x00']"
    assert "<1073741840 bytes>" in repr(cdevice.record_batch({"s": a})) and "<1073741840 bytes>" in str(a)
    b = cdevice.asarray(sparse.numbers("i1", 1 << 30))
    lists = cdevice.from_buffers(
        cdevice.Schema.make("+w:536870912", children=[b.schema.with_name("item")]), 2, [None], children=[b]
    )
    assert repr(lists).splitlines()[1] == "[<536870912 bytes>, <536870912 bytes>]"


def test_offsets_that_do_not_fit_are_counted_in_the_refusal():
    large = sparse.texts("large_string", [sparse.EDGE32, 20], {sparse.EDGE32: 98})
    with pytest.raises(cdevice.ArgumentError, match="4294967316 bytes are more than 32-bit offsets can count"):
        cc.cast(large, "string")
    with pytest.raises(cdevice.ArgumentError, match="4294967296 bytes are more than 32-bit offsets can count"):
        cc.cast(large[:1], "string")
    values = cdevice.asarray(sparse.numbers("i1", N32))
    item = values.schema.with_name("item")
    to = cdevice.Schema.make("+l", children=[item])
    sized = cdevice.Schema.make(f"+w:{N32 // 4}", children=[item])
    large = cdevice.Schema.make("+L", children=[item])
    for array in (
        cdevice.from_buffers(sized, 4, [None], children=[values]),
        cdevice.from_buffers(large, 1, [None, np.array([0, N32])], children=[values]),
    ):
        with pytest.raises(cdevice.ArgumentError, match=f"{N32} values of lists are more than 32-bit offsets"):
            cc.cast(array, to)


def test_a_part_that_begins_beyond_32_bits_is_cast_to_small_offsets():
    large = sparse.texts("large_string", [sparse.EDGE32, 20, 3], {sparse.EDGE32: 98})
    assert cc.cast(large[1:], "string").to_pylist() == ["b" + 19 * "\0", 3 * "\0"]
    assert cc.cast(large[2:], "binary").to_pylist() == [3 * b"\0"]


def test_too_deep_a_type_is_refused_in_a_sentence():
    schema = cdevice.Schema.make("i", "item")
    with pytest.raises(
        cdevice.InvalidArray, match=r"^.{1,100}\.\.\. \(65 levels down\): nested deeper than 64 levels$"
    ):
        for _ in range(70):
            schema = cdevice.Schema.make("+l", "item", children=[schema])


MEMORY = """
import resource, sparse
import cdevice, cdevice.compute as cc
n = sparse.EDGE31 + 1000
a = cdevice.asarray(sparse.numbers("i1", n, {7: 0, n - 1: 1}))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), -1))  # less than 8 bytes a row
assert cc.index(a, 1).as_py() == n - 1
assert cc.indices_nonzero(a).to_pylist() == [n - 1]
b = cc.equal(a, 0)
assert cc.index(b, False).as_py() == n - 1
print("ok")
"""


@pytest.mark.nosan  # which reserves all addresses
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_rows_are_found_without_memory_for_the_number_of_each_row():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, env=child_env(), timeout=400)
    assert done.stdout == "ok\n", done.stderr


def test_a_column_is_found_without_a_look_at_the_others(monkeypatch):
    """Each of thousands of aggregations made a Schema of each column."""
    batch = cdevice.record_batch({f"c{k}": [1, 2, 1] for k in range(40)})
    made, children = [], cdevice.Schema.children
    monkeypatch.setattr(cdevice.Schema, "children", property(lambda s: made.append(1) or children.fget(s)))
    out = cc.group_by(batch, ["c0"]).aggregate([(f"c{k}", "sum") for k in range(1, 40)])
    assert out["c39_sum"].to_pylist() == [2, 2] and len(made) < 60
    with pytest.raises(cdevice.ArgumentError, match="no column 'c40'; did you mean 'c"):
        cc.group_by(batch, ["c0"]).aggregate([("c40", "sum")])
