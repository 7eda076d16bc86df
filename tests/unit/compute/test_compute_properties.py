"""Any rows, any slice of them: functions on the CPU's two builds against pyarrow.compute."""

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")
hypothesis = pytest.importorskip("hypothesis", reason="pip install hypothesis")

from compute_cases import check  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

NUMBERS = {
    "int8": st.integers(-128, 127),
    "uint16": st.integers(0, 65535),
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "float64": st.floats(),
    "float32": st.floats(width=32),
}


@st.composite
def columns(draw):
    """Two columns of one type and a mask, sliced at one place each."""
    word = draw(st.sampled_from(sorted(NUMBERS)))
    rows = draw(st.lists(st.tuples(*[st.none() | NUMBERS[word]] * 2, st.none() | st.booleans()), max_size=80))
    begins = [draw(st.integers(0, 40)) for _ in range(3)]
    kinds = (getattr(pa, word)(), getattr(pa, word)(), pa.bool_())
    out = []
    for values, begin, kind in zip(zip(*rows, strict=True) if rows else [()] * 3, begins, kinds, strict=True):
        out.append(pa.array([None] * begin + list(values), kind).slice(begin))
    return out


@pytest.mark.parametrize("build", ["base", "best"])
@settings(max_examples=60, deadline=None)
@given(columns())
def test_any_rows_are_computed_as_arrow_does(build, found):
    with pytest.MonkeyPatch.context() as m:
        m.setenv("CDEVICE_CPU_KERNELS", build)
        a, b, mask = found
        for name in ("add", "subtract", "multiply", "equal", "less", "greater_equal"):
            check("cpu", name, (a, b))
        for name in ("filter", "drop_null", "is_null", "negate", "count"):
            check("cpu", name, (a, mask) if name == "filter" else (a,))
        check("cpu", "if_else", (mask, a, b))
        check("cpu", "and_kleene", (mask, pc.is_null(a)))
        least = cc.min_max(a).as_py()
        assert [float(v) if v is not None else None for v in least.values()] == pytest.approx(
            [float(v) if v is not None else None for v in pc.min_max(a).as_py().values()], nan_ok=True
        )
        if pa.types.is_integer(a.type):
            check("cpu", "sum", (a,))


KEYS = st.none() | st.sampled_from(["", "a", "b\0", "a key of more than sixteen bytes", "another key of that length"])
ASKED = {
    **{f: ("x", f) for f in ("sum", "min", "max", "count", "list", "distinct", "first", "last", "product")},
    "n": ([], "count_all"),
}


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(KEYS, st.none() | st.integers(-9, 9)), max_size=60), st.lists(st.integers(0, 60), max_size=4))
def test_merged_states_of_any_split_are_those_of_all_rows(rows, cuts):
    keys, values = pa.array([k for k, _ in rows], pa.string()), pa.array([v for _, v in rows], pa.int64())
    batch = cdevice.asarray(pa.record_batch({"k": keys, "x": values}))
    places = sorted({0, len(rows), *(c for c in cuts if c <= len(rows))})
    parts = [batch[a:b] for a, b in zip(places, places[1:])] or [batch]
    whole = cc.group_by(batch, "k").aggregate(ASKED)
    assert cc.merge([cc.group_by(p, "k").partial(ASKED) for p in parts]).to_pylist() == whole.to_pylist()
    assert whole.field("k").to_pylist() == list(dict.fromkeys(keys.to_pylist()))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.none() | st.integers(-5, 5), max_size=40), st.lists(st.none() | st.integers(-5, 5), max_size=40))
def test_joins_are_nested_loops(left, right):
    sides = [cdevice.asarray(pa.record_batch({"k": pa.array(x, pa.int32())})) for x in (left, right)]
    pairs = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a is not None and a == b]
    matched = {i for i, _ in pairs}, {j for _, j in pairs}
    alone = [(i, None) for i in range(len(left)) if i not in matched[0]]
    want = {
        "inner": pairs,
        "left outer": sorted(pairs + alone, key=lambda p: p[0]),
        "full outer": sorted(pairs + alone, key=lambda p: p[0])
        + [(None, j) for j in range(len(right)) if j not in matched[1]],
    }
    for kind, rows in want.items():
        found = cc.join_indices(*sides, "k", join_type=kind)
        assert [(r["left"], r["right"]) for r in found.to_pylist()] == rows
    assert cc.join_indices(*sides, "k", join_type="right anti").field("right").to_pylist() == [
        j for j in range(len(right)) if j not in matched[1]
    ]
