"""Any rows, any slice of them: functions on the CPU's two builds against pyarrow.compute."""

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")
hypothesis = pytest.importorskip("hypothesis", reason="pip install hypothesis")

from compute_cases import check  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

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
