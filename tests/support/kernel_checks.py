"""What functions do on a device of their own, a GPU or its stand-in: the fixture ``computing`` is its
name, ``held()`` holds its stream while a block runs, ``nan_bits``: are NaN's bits the CPU's?"""

import threading

import pytest
from compute_cases import CALLS, FLOATS, HERE, ROWS, TRUTHS, column
from expression_checks import EXPRESSIONS, TABLE

import cdevice
import cdevice.compute as cc
from cdevice.compute.expressions import bound

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")


@pytest.mark.parametrize("word", sorted(HERE - {"bool"}))
def test_results_have_the_bits_of_the_cpus(computing, nan_bits, word):
    rows = 20000
    a, b = column(word, rows, nulls=0.1), column(word, rows, seed=6, nulls=0)
    calls = [
        lambda x, y: cc.add(x, y),
        lambda x, y: cc.multiply(x[5:], y[:-5]),
        lambda x, y: cc.negate(x),
        lambda x, y: cc.less(x[13:], y[13:]),
        lambda x, y: cc.cast(x, "float64" if word in FLOATS else "int8", safe=False),
        lambda x, y: cc.filter(x, cc.less(y, x)),
        lambda x, y: cc.if_else(cc.less(x, y), x, y),
        lambda x, y: cc.sum(x[13:]).array,
        lambda x, y: cc.mean(x[:9000]).array,
        lambda x, y: cc.min_max(x).array,
        lambda x, y: cc.divide(x, 3),
    ]
    here, there = ([cdevice.asarray(v).to(d) for v in (a, b)] for d in ("cpu", computing))
    for call in calls:
        assert same_bits(call(*here), call(*there), nan_bits)


TEXT = [
    cc.utf8_length,
    lambda x: cc.match_substring(x, "ab"),
    lambda x: cc.starts_with(x, "É", ignore_case=True),
    lambda x: cc.find_substring(x, "b"),
    cc.utf8_is_alpha,
    cc.utf8_upper,
    cc.utf8_reverse,
    lambda x: cc.utf8_slice_codeunits(x, 1, 4),
    lambda x: cc.utf8_trim(x, "aé"),
    lambda x: cc.utf8_lpad(x, 5, "é"),
    lambda x: cc.replace_substring(x, "b", "é"),
    lambda x: cc.split_pattern(x, "b"),
]


@pytest.mark.parametrize("call", TEXT, ids=range(len(TEXT)))
def test_functions_of_text_give_what_the_cpu_gives(computing, call):
    x = pa.array(["", "ab", None, "aé€😀b", "É", "xabab" * 4, "ß"] * 30)
    for rows in (x, x[3:101]):
        here, there = call(cdevice.asarray(rows)), call(cdevice.asarray(rows).to(computing))
        there = there.to("cpu")
        there.validate("full")
        assert pa.array(here).equals(pa.array(there))


FUSED = ("comparison", "or, not", "if_else", "dates", "five constants", "strings and numbers")


@pytest.mark.parametrize("word", FUSED)
def test_an_expression_as_one_kernel_gives_what_the_cpu_gives(computing, word, monkeypatch):
    monkeypatch.setattr(bound, "FUSE_ROWS", 0)
    expression, here = EXPRESSIONS[word][0], cdevice.asarray(TABLE)
    for rows in (here, here[3:101]):
        there = rows.to(computing)
        made = expression.evaluate(there)
        program = expression.bind(rows.schema)._program(there)
        assert program.fuses() and made.device == there.device
        assert made.to("cpu").equals(expression.evaluate(rows), nans_equal=True)


def test_a_row_that_overflows_is_named_by_an_expression(computing, monkeypatch):
    monkeypatch.setattr(bound, "FUSE_ROWS", 0)
    rows = cdevice.asarray(pa.record_batch({"i": pa.array([1, 2**31 - 1], pa.int32())})).to(computing)
    with pytest.raises(cdevice.ArgumentError, match=r"(?s)overflow.*\(i \+ 1\)"):
        ((cc.field("i") + 1) * 2).evaluate(rows)


def same_bits(x, y, nan_bits=True):
    """Are the values that count of one bit pattern, and the nulls the same?  ``nan_bits``: of NaN, too, which a GPU gives
    other bits."""
    x, y = pa.array(x), pa.array(y.to("cpu"))
    if pa.types.is_struct(x.type):
        return all(
            same_bits(cdevice.asarray(p), cdevice.asarray(q), nan_bits) for p, q in zip(x.flatten(), y.flatten())
        )
    if x.is_null().to_pylist() != y.is_null().to_pylist():
        return False
    kept, other = x.drop_null(), y.drop_null()
    if pa.types.is_floating(x.type):
        if not nan_bits:
            numbers = pc.invert(pc.is_nan(kept))
            if not numbers.equals(pc.invert(pc.is_nan(other))):
                return False
            kept, other = kept.filter(numbers), other.filter(numbers)
        size = pa.int32() if x.type == pa.float32() else pa.int64()
        kept, other = kept.view(size), other.view(size)
    return kept.equals(other)


@pytest.mark.parametrize("name", list(CALLS))
def test_a_call_returns_before_the_device_begins(computing, held, name):
    x, b = (cdevice.asarray(v).to(computing) for v in (ROWS, TRUTHS))
    want = CALLS[name](x, b, None).to("cpu").to_pylist()  # its programs are built and loaded here
    cc.is_valid(CALLS[name](x, b, None)).synchronize()
    with held():
        got = CALLS[name](x, b, None)
        assert not got.ready
        again = cc.is_valid(got)  # what is not there yet is an argument
        assert not again.ready
        x.release()
    assert repr(got.to("cpu").to_pylist()) == repr(want)


def test_groups_joins_and_lookups_stay_on_the_device(computing):
    batch = cdevice.record_batch({"k": [1, 2, 1], "x": [1.0, 2.0, 3.0]}).to(computing)
    where = batch.device
    assert cc.group_by(batch, "k").aggregate([("x", "sum")]).device == where
    assert cc.join(batch, batch, "k", right_suffix="_").device == where
    assert cc.is_in(batch.field("k"), value_set=[1]).device == where
    assert cc.Grouper({"k": "int64"}).consume(batch[["k"]]).device == where


def test_threads_may_call_at_once(computing):
    x, found = cdevice.asarray(list(range(1000))).to(computing), []

    def work(k):
        found.extend(cc.sum(cc.add(x, k)).as_py() - 1000 * k for _ in range(20))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert found == [499500] * 60
    del work, threads
