"""Functions of numbers on devices where each kernel takes a second: a few of each family, against the CPU's bits."""

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

from compute_cases import back, check, there  # noqa: E402

import cdevice.compute as cc  # noqa: E402

FLOATS = pa.array([0.25, None, -1.5, 2.5, 3.5, -0.0, 40.0, 1e9, 0.7, -30.0, float("nan"), float("inf")] * 9)
POSITIVE = pa.array([0.25, 1.0, None, 2.5, 1e-300, 5e-324, 1e300, 7.0, 10.0] * 9)
WHOLE = pa.array([5, -15, None, 25, 127, -128, 0, 3] * 9, pa.int32())


def same_as_the_cpu(device, name, *args, **options):
    have = back(getattr(cc, name)(*(there(a, device) for a in args), **options))
    assert repr(have.to_pylist()) == repr(back(getattr(cc, name)(*args, **options)).to_pylist()), name


@everywhere
def test_functions_of_floats_have_the_bits_of_the_cpu(device):
    for name in ("exp", "sin", "tanh"):
        same_as_the_cpu(device, name, FLOATS)
    for name in ("ln", "log10"):
        same_as_the_cpu(device, name, POSITIVE)
    same_as_the_cpu(device, "power", POSITIVE, POSITIVE)
    same_as_the_cpu(device, "atan2", FLOATS, FLOATS[::-1])


@everywhere
def test_multiples_bits_and_extremes_are_those_of_pyarrow(device):
    finite = FLOATS.slice(0, 7)
    for mode in ("down", "half_up", "half_to_even"):
        check(device, "round", [finite], ndigits=1, round_mode=mode)
        check(device, "round_to_multiple", [WHOLE], multiple=4, round_mode=mode)
    check(device, "shift_left", [WHOLE, pa.scalar(3, pa.int32())])
    check(device, "max_element_wise", [FLOATS[5:], FLOATS[:-5]])
    check(device, "is_finite", [FLOATS])
