"""The types that follow from lists of Python values."""

import enum
import zoneinfo
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest

import cdevice

UTC, BERLIN = timezone.utc, zoneinfo.ZoneInfo("Europe/Berlin")
WEST = timezone(-timedelta(hours=2, minutes=30))


class Number(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("values", "type"),
    [
        ([], "null"),
        ([None], "null"),
        ([True, None], "bool"),
        ([1, None], "int64"),
        ([Number.ONE], "int64"),
        ([1, 2.5], "float64"),
        (["a"], "string"),
        ([b"a"], "binary"),
        ([date(2020, 1, 2)], "date32"),
        ([time(1, 2, 3, 4)], "time64[us]"),
        ([timedelta(1, 2, 3)], "duration[us]"),
        ([datetime(2020, 1, 2, 3)], "timestamp[us]"),
        ([datetime(2020, 1, 2, tzinfo=UTC)], "timestamp[us, tz=UTC]"),
        ([datetime(2020, 1, 2, tzinfo=BERLIN), datetime(2020, 7, 2, tzinfo=UTC)], "timestamp[us, tz=Europe/Berlin]"),
        ([datetime(2020, 1, 2, tzinfo=WEST)], "timestamp[us, tz=-02:30]"),
        ([Decimal("1.5"), Decimal(100)], "decimal128(4, 1)"),
        ([Decimal("1E+3"), 7], "decimal128(4, 0)"),
        ([Decimal("-0.005")], "decimal128(3, 3)"),
        ([Decimal(0)], "decimal128(1, 0)"),
        ([Decimal("1" * 39)], "decimal256(39, 0)"),
        ([np.int8(1), None], "int8"),
        ([np.longlong(1)], "int64"),
        ([np.uint64(2**63)], "uint64"),
        ([np.float16(1.5)], "float16"),
        ([np.float32(1.5), np.int8(1)], "float64"),
        ([np.int8(1), 300], "int64"),
        ([np.True_], "bool"),
        ([np.str_("a")], "string"),
        ([np.array([1, 2], "i2"), None], "list<item: int16>"),
        ([(1, 2), [3]], "list<item: int64>"),
        ([[]], "list<item: null>"),
        ([{"a": 1}, None, {"b": [Decimal("1.5")]}], "struct<a: int64, b: list<item: decimal128(2, 1)>>"),
    ],
    ids=str,
)
def test_the_type_follows_from_the_values_and_holds_them(values, type):
    array = cdevice.asarray(values)
    assert array.type == type
    names = {k for v in values if isinstance(v, dict) for k in v}

    def plain(v):
        if isinstance(v, dict):
            return {k: plain(v.get(k)) for k in names}
        return [plain(x) for x in v] if isinstance(v, (list, tuple, np.ndarray)) else v

    assert array.to_pylist() == [plain(v) for v in values]


def test_nanoseconds_of_pandas_are_kept():
    pd = pytest.importorskip("pandas", reason="pip install pandas")
    moment, while_ = pd.Timestamp("2020-01-01 00:00:00.000000007"), pd.Timedelta(5, "ns")
    assert cdevice.asarray([moment, None]).type == "timestamp[ns]"
    assert cdevice.asarray([moment]).to_pylist() == [moment]
    assert cdevice.asarray([while_]).type == "duration[ns]"
    assert cdevice.asarray([while_]).to_pylist() == [while_]
    assert cdevice.asarray([moment.floor("us")]).type == "timestamp[us]"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([True, 1], "pass schema="),
        (["a", b"b"], "pass schema="),
        ([1, None, "a"], "pass schema="),
        ([object()], "pass schema="),
        ([np.uint64(1), 1], "pass schema="),
        ([np.longdouble(1)], "pass schema="),
        ([date(2020, 1, 1), datetime(2020, 1, 1)], "pass schema="),
        ([datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)], "have a time zone and some have none"),
        ([Decimal("NaN")], "NaN cannot be an Arrow decimal"),
        ([Decimal("Infinity")], "Infinity cannot be an Arrow decimal"),
        ([Decimal("1" * 77)], "77 digits do not fit"),
    ],
    ids=str,
)
def test_values_of_no_type_or_of_several_are_refused(values, message):
    with pytest.raises((TypeError, ValueError), match=message):
        cdevice.asarray(values)


def test_the_type_may_come_second():
    assert cdevice.asarray([1, 2], "int8").type == "int8"
    assert cdevice.asarray([1, 2], np.float32).to_pylist() == [1.0, 2.0]
    with pytest.raises(TypeError):
        cdevice.asarray([1], "int8", "cpu")
