"""Lists of numpy's times, with None among them: the moments and spans that they stand for, without a warning of numpy."""

import datetime
import warnings

import pytest

np = pytest.importorskip("numpy", reason="pip install numpy")

import cdevice  # noqa: E402


@pytest.mark.parametrize("make", [np.datetime64, np.timedelta64])
@pytest.mark.parametrize("units", [("D", "D"), ("D", "s"), ("s", "ns"), ("ns", "s"), ("h", "m"), ("W", "D")])
def test_none_among_times_of_numpy_is_null_and_no_unit_of_its_own(make, units):
    first, second = (make(3, unit) for unit in units)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = cdevice.asarray([None, first, None, second])
    want = cdevice.asarray([first, second])
    assert got.type == want.type
    assert got.to_pylist() == [None, want.to_pylist()[0], None, want.to_pylist()[1]]


@pytest.mark.parametrize("make", [np.datetime64, np.timedelta64])
def test_nat_of_a_coarse_unit_is_null_beside_a_fine_one(make):
    assert cdevice.asarray([make("NaT", "D"), make(3, "s")]).to_pylist()[0] is None


@pytest.mark.parametrize("make", [np.datetime64, np.timedelta64])
def test_none_takes_nothing_from_the_range_of_a_coarse_unit(make):
    far = make(1 << 20, "D")  # beyond 64 bits of nanoseconds
    got = cdevice.asarray([None, far])
    assert got.type == cdevice.asarray([far]).type
    assert got[1:].to_pylist() == cdevice.asarray([far]).to_pylist()


def test_a_date_of_numpy_beside_none_is_that_date():
    assert cdevice.asarray([np.datetime64("2026-11-28"), None]).to_pylist() == [datetime.date(2026, 11, 28), None]
