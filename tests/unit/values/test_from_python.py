"""Values become arrays as what they are, or are refused with their row: nothing is guessed, cut or read as something else."""

import datetime as dt
import decimal
import enum
import fractions
import uuid
import zoneinfo

import numpy as np
import pytest

import cdevice

UTC, LONDON = dt.timezone.utc, zoneinfo.ZoneInfo("Europe/London")
D = decimal.Decimal


class Small(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("values", "schema", "error", "said"),
    [
        ([None, 1, "x"], "float64", TypeError, "row 2: cannot convert 'x' (str) to float64: expected float or int"),
        (["x"], "int8", TypeError, "row 0: cannot convert 'x' (str) to int8: expected int"),
        (
            ["x"],
            "decimal128(5, 2)",
            TypeError,
            "row 0: cannot convert 'x' (str) to decimal128(5, 2): expected decimal.Decimal or int",
        ),
        ([dt.datetime(9999, 1, 1)], "timestamp[ns]", ValueError, "nanoseconds reach from 1677-09-21 to 2262-04-11"),
        ([dt.timedelta(-200000)], "duration[ns]", ValueError, "nanoseconds reach 106751 days"),
        (
            [1, 3],
            "binary",
            TypeError,
            "row 0: cannot convert 1 (int) to binary: expected a bytes-like object, str or UUID",
        ),
        ([10**16], "binary", TypeError, "row 0"),
        ([5], "fixed_size_binary[5]", TypeError, "row 0"),
        (["no"], "bool", TypeError, "row 0: cannot convert 'no' (str) to bool: expected bool"),
        ([True, 0.5], "bool", TypeError, "row 1: cannot convert 0.5 (float)"),
        ([True, 1], "bool", TypeError, "row 1: cannot convert 1 (int)"),
        ([1, "2"], "int64", TypeError, "row 1: cannot convert '2' (str) to int64"),
        ([True], "int64", TypeError, "expected a number, not a bool"),
        ([1.0], "int64", TypeError, "row 0: cannot convert 1.0 (float)"),
        ([1, 300], "int8", ValueError, "row 1: cannot convert 300 (int) to int8: expected a value from -128 to 127"),
        ([-1], "uint64", ValueError, "row 0"),
        ([1e300], "float32", ValueError, "row 0: cannot convert 1e+300"),
        ([1e6], "float16", ValueError, "row 0"),
        ([2**53 + 1], "float64", ValueError, "more than 53 bits"),
        ([10**400], "float64", ValueError, "more than 53 bits"),
        (["1.5"], "float64", TypeError, "row 0"),
        ([D("1.5")], "float64", TypeError, "row 0"),
        ([fractions.Fraction(1, 2)], "float64", TypeError, "row 0"),
        (["x"], "decimal128(5, 2)", TypeError, "row 0: cannot convert 'x' (str)"),
        ([D("Infinity")], "decimal128(5, 2)", ValueError, "finite"),
        ([D("NaN")], "decimal128(5, 2)", ValueError, "finite"),
        ([D("1.234")], "decimal128(5, 2)", ValueError, "more than 2 digits after the decimal point"),
        ([D("1234.5")], "decimal128(5, 2)", ValueError, "more than 5 digits"),
        ([D("1E+999999")], "decimal128(38, 2)", ValueError, "digits"),
        ([1.5], "decimal128(5, 2)", TypeError, "row 0"),
        ([dt.datetime(2020, 1, 1, 23)], "date32", ValueError, "expected a date without time of day"),
        (["2020-01-01"], "date32", TypeError, "expected datetime.date or int"),
        ([dt.datetime(2020, 1, 1, 0, 0, 0, 500000)], "timestamp[s]", ValueError, "finer than the unit"),
        ([dt.datetime(2020, 1, 1, tzinfo=UTC)], "timestamp[us]", ValueError, "expected a datetime without time zone"),
        ([dt.datetime(2020, 1, 1)], "timestamp[us, tz=UTC]", ValueError, "expected a datetime with time zone"),
        ([2**63], "timestamp[us]", ValueError, "row 0"),
        ([dt.timedelta(milliseconds=1500)], "duration[s]", ValueError, "finer than the unit"),
        ([dt.timedelta.max], "duration[ns]", ValueError, "row 0"),
        ([dt.time(1, 2, 3, 500)], "time32[s]", ValueError, "finer"),
        ([dt.time(1, 2, tzinfo=UTC)], "time64[us]", ValueError, "without time zone"),
        ([(2**31, 0, 0)], "month_day_nano_interval", ValueError, "row 0"),
        ([(1, 2)], "month_day_nano_interval", TypeError, "expected a tuple of 3 integers"),
        ([5], "day_time_interval", TypeError, "expected a tuple of 2 integers"),
        ([b"a"], "string", TypeError, "expected str"),
        (["\ud800"], "string", ValueError, "row 0"),
        ([b"ab"], "fixed_size_binary[3]", ValueError, "expected 3 bytes, got 2"),
        (["abc"], ["string"], TypeError, "row 0: cannot convert 'abc' (str) to list"),
        ([b"abc"], ["int64"], TypeError, "row 0"),
        ([{1, 2}], ["int64"], TypeError, "row 0"),
        ([[1], [2, "x"]], ["int64"], TypeError, "field 'item', row 2: cannot convert 'x' (str) to int64"),
        ([[1, 2, 3]], "fixed_size_list<int8>[2]", ValueError, "expected 2 values, got 3"),
        ([(1,)], {"a": "int64", "b": "int64"}, ValueError, "expected 2 values, one for each field, got 1"),
        ([5], {"a": "int64"}, TypeError, "expected dict or tuple"),
        ([{"a": 1, "zz": 2}], {"a": "int64"}, ValueError, "unexpected 'zz'; the fields are 'a'"),
        ([{1: 2}], {"1": "int64"}, ValueError, "unexpected 1; the fields are '1'"),
        ([{1: 2}], None, TypeError, "1 (int) cannot be a field name"),
        ([{None: 2}], "map<string, int64>", ValueError, "cannot have null keys"),
        ([[(1, 2, 3)]], "map<int8, int8>", TypeError, "(key, value) pairs"),
        ([1], "null", TypeError, "only None is allowed"),
        (list(range(200)), "dictionary<values=int64, indices=int8, ordered=0>", ValueError, "200 distinct values"),
        ([True, 2], None, TypeError, "cannot infer a type from the values (bool, int): pass schema="),
        ([object()], None, TypeError, "(object)"),
    ],
    ids=repr,
)
def test_a_value_that_the_type_has_not_is_refused_with_its_row(values, schema, error, said):
    with pytest.raises(error) as caught:
        cdevice.asarray(values, schema=schema)
    assert said in str(caught.value)
    assert isinstance(caught.value, (TypeError, ValueError)) and len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ([Small.ONE, np.int16(2), None], "int8"),
        ([np.float32(1.5), 2, None], "float64"),
        ([0.1], "float64"),
        ([2**60], "float64"),
        ([float("inf"), float("-inf")], "float32"),
        ([np.True_, False, None], "bool"),
        ([b"a", bytearray(b"b"), None], "binary"),
        ([D("1E+3"), 7, D("-0.05"), None], "decimal128(9, 2)"),
        ([D(10) ** 75], "decimal256(76, 0)"),
        ([dt.date(1, 1, 1), dt.date(9999, 12, 31), None], "date32"),
        ([dt.date(2020, 2, 29)], "date64"),
        ([dt.datetime.min, dt.datetime.max], "timestamp[us]"),
        ([dt.timedelta(-1, 1, 1), None], "duration[us]"),
        ([dt.time(23, 59, 59, 999999)], "time64[us]"),
        ([[1, None], None, []], ["int64"]),
        ([{"a": 1, "b": [None]}, None], {"a": "int8", "b": ["string"]}),
        ([[("k", 1)], [], None], "map<string, int64>"),
    ],
    ids=str,
)
def test_a_value_that_fits_comes_back(values, schema):
    assert cdevice.asarray(values, schema=schema).to_pylist() == values


def test_a_date_is_midnight_and_a_uuid_its_bytes():
    u = uuid.UUID(int=5)
    assert cdevice.asarray([dt.date(2020, 1, 2)], schema="timestamp[s]").to_pylist() == [dt.datetime(2020, 1, 2)]
    assert cdevice.asarray([u], schema="fixed_size_binary[16]").to_pylist() == [u.bytes]
    assert cdevice.asarray([2**63]).type == "uint64"


def test_pandas_nulls_are_nulls():
    pd = pytest.importorskip("pandas", reason="pip install pandas")
    assert cdevice.asarray([1, pd.NA], schema="int64").to_pylist() == [1, None]
    assert cdevice.asarray([pd.Timestamp(5), pd.NaT]).to_pylist() == [pd.Timestamp(5), None]
    with pytest.raises(ValueError, match="finer"):
        cdevice.asarray([pd.Timestamp(1)], schema="timestamp[us]")


# ---- unions ----
def union(*fields, kind="dense"):
    return f"{kind}_union<{', '.join(f'{t}={k}' for k, t in enumerate(fields))}>"


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("fields", "values", "ids"),
    [
        (("b: bool", "f: float64"), [0.5, True, 2.5], [1, 0, 1]),
        (("b: binary", "i: int64"), [5, b"x", 7], [1, 0, 1]),
        (("b: bool", "s: string"), ["x", False], [1, 0]),
        (("d: decimal128(5, 2)", "s: string"), ["x", D("1.5")], [1, 0]),
        (("f: float64", "i: int64"), [1, 1.0], [1, 0]),
        (("t: timestamp[us]", "i: int64"), [5, dt.datetime(2020, 1, 1)], [1, 0]),
        (("a: list<item: int8>", "s: string"), ["ab", [1]], [1, 0]),
        (("z: binary", "s: string"), ["ab", b"ab"], [1, 0]),
    ],
    ids=str,
)
def test_a_plain_value_goes_to_the_child_that_it_is_one_of(kind, fields, values, ids):
    array = cdevice.asarray(values, schema=union(*fields, kind=kind))
    assert array.to_pylist() == values and [type(v) for v in array.to_pylist()] == [type(v) for v in values]
    assert list(bytes(array.buffers[0].memoryview())) == ids


@pytest.mark.parametrize(
    ("fields", "value", "said"),
    [
        (("a: int8", "b: int64"), 5, "of the union can hold the value: pass (type id, value)"),
        (("a: int8", "b: bool"), "x", "no child of the union can hold the value"),
        (("a: string", "b: large_string"), "x", "pass (type id, value)"),
    ],
)
def test_a_value_for_several_children_or_none_is_refused(fields, value, said):
    with pytest.raises(TypeError) as caught:
        cdevice.asarray([value], schema=union(*fields))
    assert said in str(caught.value)
    assert cdevice.asarray([(1, 5)], schema=union("a: int8", "b: int64")).to_pylist() == [5]


# ---- values said once ----
ENCODED = ["dictionary<values={}, indices=int8, ordered=0>", "run_end_encoded<run_ends: int32, values: {}>"]


@pytest.mark.parametrize("how", ENCODED)
def test_what_is_equal_in_python_but_not_in_arrow_stays_apart(how):
    zeros = cdevice.asarray([0.0, -0.0, 0.0], schema=how.format("float64")).to_pylist()
    assert [str(v) for v in zeros] == ["0.0", "-0.0", "0.0"]
    nested = cdevice.asarray([[0.0], [-0.0]], schema=how.format("list<item: float64>")).to_pylist()
    assert [str(v) for v in nested] == ["[0.0]", "[-0.0]"]
    instants = [dt.datetime(2020, 10, 25, 1, 30, tzinfo=LONDON, fold=f) for f in (0, 1)]
    there = cdevice.asarray(instants, schema=how.format("timestamp[s, tz=Europe/London]")).to_pylist()
    assert [t.astimezone(UTC) for t in there] == [t.astimezone(UTC) for t in instants]


@pytest.mark.parametrize("how", ENCODED)
def test_what_is_the_same_is_said_once(how):
    array = cdevice.asarray(["a", "a", None, "a", "b"], schema=how.format("string"))
    assert array.to_pylist() == ["a", "a", None, "a", "b"]
    distinct = array.dictionary if array.dictionary is not None else array.children[1]
    assert distinct.to_pylist() in (["a", "b"], ["a", None, "a", "b"])


# ---- numpy and buffers ----
@pytest.mark.parametrize(
    ("values", "schema"),
    [
        (np.arange(3), "float64"),
        (np.array([1.5]), "int64"),
        (np.array([1], "u8"), "int64"),
        (np.array([1], "i4"), "uint32"),
        (np.array([1], "i4"), "timestamp[s]"),
        (np.array([1], "M8[s]"), "timestamp[us]"),
        (np.array([1], "m8[s]"), "timestamp[s]"),
        (np.array([1], "i8"), "decimal64(5, 2)"),
        (np.array([1], "i8"), "fixed_size_binary[8]"),
        (memoryview(b"12345678").cast("q"), "float64"),
    ],
    ids=str,
)
def test_bits_are_never_read_as_another_type(values, schema):
    with pytest.raises(cdevice.ArgumentError, match="no conversion is done"):
        cdevice.asarray(values, schema=schema)


@pytest.mark.parametrize(
    ("values", "schema", "rows"),
    [
        (np.arange(2), "timestamp[s]", [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, 0, 0, 1)]),
        (np.array([1], "i4"), "date32", [dt.date(1970, 1, 2)]),
        (np.array([1], "M8[s]"), "timestamp[s, tz=UTC]", [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)]),
        (np.array([1], "m8[ms]"), "int64", [1]),
    ],
    ids=str,
)
def test_integers_are_counts_of_temporal_types(values, schema, rows):
    assert cdevice.asarray(values, schema=schema).to_pylist() == rows


def test_hostile_values_raise_their_own_or_the_documented_errors():
    class Bad:
        def __index__(self):
            raise KeyError("from __index__")

        def __repr__(self):
            raise RuntimeError("from __repr__")

    class Odd(Bad):
        def __index__(self):
            return "x"

    with pytest.raises(KeyError, match="from __index__"):
        cdevice.asarray([Bad()], schema="int64")
    with pytest.raises(TypeError, match="row 0: cannot convert .a value whose repr fails"):
        cdevice.asarray([Odd()], schema="int64")
    inside = []
    inside.append(inside)
    with pytest.raises(ValueError, match="nested deeper"):
        cdevice.asarray(inside)
