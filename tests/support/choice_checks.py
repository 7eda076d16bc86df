"""case_when, choose, if_else and coalesce of every layout, on every device, against pyarrow.compute."""

import datetime
import decimal
import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

from compute_cases import back, check, shown, there  # noqa: E402

import cdevice.compute as cc  # noqa: E402
from cdevice.errors import ArgumentError  # noqa: E402

D = decimal.Decimal
LONG = "long enough not to lie in its view"
TEXT, BYTES, DAY = ["a", "", LONG, "bc"], [b"a", b"", LONG.encode()], datetime.date(2020, 2, 29)
LISTS = [[1, 2], [], [None], [3]]
TYPES = {
    "bool": ([True, False], pa.bool_()),
    "int8": ([1, -2, 3], pa.int8()),
    "uint16": ([1, 2], pa.uint16()),
    "int64": ([1, 2, 3], pa.int64()),
    "float16": ([1.5, -2.0], pa.float16()),
    "float32": ([1.5, float("nan")], pa.float32()),
    "float64": ([1.5, -0.0], pa.float64()),
    "string": (TEXT, pa.string()),
    "large_string": (TEXT, pa.large_string()),
    "binary": (BYTES, pa.binary()),
    "large_binary": (BYTES, pa.large_binary()),
    "string_view": (TEXT, pa.string_view()),
    "fixed_size_binary": ([b"abc", b"xyz"], pa.binary(3)),
    "fixed_size_binary of 16": ([b"0123456789abcdef"], pa.binary(16)),
    "decimal32": ([D("1.5"), D("-2.5")], pa.decimal32(5, 1)),
    "decimal128": ([D("1.5"), D("-2.5")], pa.decimal128(20, 1)),
    "decimal256": ([D("1.5"), D("-2.5")], pa.decimal256(40, 1)),
    "date32": ([DAY], pa.date32()),
    "time64": ([datetime.time(1, 2, 3)], pa.time64("us")),
    "timestamp": ([datetime.datetime(2020, 1, 1)], pa.timestamp("us", "Europe/Berlin")),
    "duration": ([datetime.timedelta(1)], pa.duration("ms")),
    "interval": ([(1, 2, 3), (4, 5, 6)], pa.month_day_nano_interval()),
    "struct": ([{"a": 1, "b": "x"}, {"a": None, "b": LONG}], pa.struct([("a", pa.int32()), ("b", pa.string())])),
    "list": (LISTS, pa.list_(pa.int32())),
    "large_list": (LISTS, pa.large_list(pa.int64())),
    "fixed_size_list": ([[1, 2], [3, None]], pa.list_(pa.int32(), 2)),
    "list of lists": ([[["a"], []], [], [None]], pa.list_(pa.list_(pa.string()))),
    "map": ([[("a", 1)], [], [("b", None), ("c", 2)]], pa.map_(pa.string(), pa.int32())),
    "dictionary": (TEXT, pa.dictionary(pa.int32(), pa.string())),
}
ROWS = 70


def rows(values, kind=None, n=ROWS, seed=0):
    rng = random.Random(f"{seed}{values!r}")
    return pa.array([rng.choice(values) for _ in range(n)], kind)


def columns(word):
    """Three columns with nulls, two of them slices."""
    values, kind = TYPES[word]
    return [rows([*values, None], kind, ROWS + i, i).slice(i) for i in range(3)]


def value(column):
    """A value of a column that is not null."""
    return next(x for x in column if x.is_valid)


def conditions(n, fields=2):
    made = [rows([True, False, None], pa.bool_(), n, seed) for seed in range(fields)]
    return pa.StructArray.from_arrays(made, [f"c{i}" for i in range(fields)])


def plain(a):
    """What pyarrow has kernels for: of views strings."""
    if isinstance(a, pa.Array) and pa.types.is_string_view(a.type):
        return a.cast(pa.string())
    return a


def chosen(kind):
    """The type of a choice: decimals have 128 bits at least, as in pyarrow."""
    return pa.decimal128(kind.precision, kind.scale) if pa.types.is_decimal(kind) and kind.bit_width < 128 else kind


def held(device, name, args, kind):
    """Compares a call with pyarrow's, whose type may differ where it has no kernel of its own."""
    kind = chosen(kind)
    got = getattr(cc, name)(*(there(a, device) for a in args))
    have = back(got)
    want = getattr(pc, name)(*(plain(a) if not isinstance(a, pa.Scalar) else value_of(a) for a in args))
    assert isinstance(have, pa.Scalar) == isinstance(want, pa.Scalar)
    assert have.type == kind, (name, have.type)
    if isinstance(want, pa.Scalar):
        assert repr(have.as_py()) == repr(want.as_py())
    else:
        assert shown(have) == shown(want), (name, args)
        assert have.type == want.type or pa.types.is_string_view(kind)


def value_of(x):
    return pa.scalar(x.as_py(), pa.string()) if pa.types.is_string_view(x.type) else x


each = pytest.mark.parametrize("word", sorted(TYPES))


@everywhere
@each
def test_the_value_of_the_first_true_condition_is_chosen(device, word):
    a, b, c = columns(word)
    cond, kind = conditions(ROWS), TYPES[word][1]
    for args in (
        (cond, a, b),
        (cond, a, b, c),
        (cond, value(a), b, value(c)),
        (cond, value(a), value(b), value(c)),
        (cond.slice(3, 40), a.slice(5, 40), b.slice(0, 40)),
        (cond.slice(0, 0), a.slice(0, 0), value(b)),
        (cond[1], a, b, c),
        (cond[2], value(a), value(b)),
    ):
        held(device, "case_when", args, kind)


@everywhere
@each
def test_the_value_with_the_number_of_the_row_is_chosen(device, word):
    a, b, c = columns(word)
    indices, kind = rows([0, 1, 2, None], pa.int64()), chosen(TYPES[word][1])
    if word == "dictionary":
        kind = pa.string()
    for args in (
        (indices, a, b, c),
        (indices.cast(pa.uint8()), value(a), b, value(c)),
        (indices, value(a), value(b), value(c)),
        (pa.scalar(1), a, b, c),
        (pa.scalar(None, pa.int64()), a, b),
        (pa.scalar(1), value(a), value(b)),
    ):
        have = back(cc.choose(*(there(x, device) for x in args)))
        n = len(indices) if any(isinstance(x, pa.Array) for x in args) else None
        numbers = args[0].to_pylist() if isinstance(args[0], pa.Array) else [args[0].as_py()] * (n or 1)
        picked = [x.to_pylist() if isinstance(x, pa.Array) else [x.as_py()] * (n or 1) for x in args[1:]]
        want = [None if k is None else picked[k][i] for i, k in enumerate(numbers)]
        found = [have.as_py()] if n is None else have.to_pylist()
        assert have.type == kind and [repr(x) for x in found] == [repr(x) for x in want]


@everywhere
@each
def test_either_value_is_chosen_of_rows_values_and_nulls(device, word):
    a, b, _ = columns(word)
    cond, kind = rows([True, False, None], pa.bool_()), TYPES[word][1]
    null = next(x for x in a if not x.is_valid)
    for args in (
        (cond, a, b),
        (cond, value(a), b),
        (cond, a, value(b)),
        (cond, value(a), value(b)),
        (cond, null, b),
        (cond, a, None),
        (pa.scalar(True), a, b),
        (pa.scalar(False), a, value(b)),
        (pa.scalar(None, pa.bool_()), a, b),
        (pa.scalar(True), value(a), value(b)),
    ):
        held(device, "if_else", args, kind)


@everywhere
@each
def test_the_first_value_that_is_not_null_is_chosen(device, word):
    a, b, c = columns(word)
    kind = TYPES[word][1]
    null = next(x for x in a if not x.is_valid)
    for args in ((a, b, c), (a, value(b)), (value(a), b), (null, b, c), (null, value(a)), (a,), (a, b, value(c))):
        held(device, "coalesce", args, kind)


@everywhere
def test_a_number_of_python_comes_before_every_row_that_follows_it(device):
    a = there(pa.array([None, 5, 7]), device)
    assert back(cc.coalesce(1, a)).to_pylist() == [1, 1, 1]
    assert back(cc.coalesce(None, 2.5, a)).to_pylist() == [2.5, 2.5, 2.5]
    assert back(cc.coalesce(a, 3, a)).to_pylist() == [3, 5, 7]
    assert back(cc.coalesce(1, 2)).as_py() == 1


@everywhere
def test_values_of_several_types_become_one(device):
    cond, indices = conditions(3), pa.array([0, 1, None])
    numbers, wide, real = pa.array([1, 2, 3], pa.int8()), pa.array([4, None, 6]), pa.array([0.5, 1.5, None])
    for others in ((numbers, wide), (numbers, real), (wide, 7), (numbers, pa.scalar(2.5), wide)):
        check(device, "case_when", (conditions(3, len(others)), *others))
        check(device, "choose", (pa.array([0, 1, None]), *others)) if len(others) == 2 else None
    text, words = pa.array(["p", None, "r"]), pa.array(["x", "y", "x"]).dictionary_encode()
    check(device, "case_when", (cond, text, text.cast(pa.large_string())))
    check(device, "case_when", (cond, words, text))
    check(device, "coalesce", (text, words))
    check(device, "choose", (indices, words, text))
    other = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int32()), pa.array(["y", "z"]))
    for name, args in (("case_when", (cond, words, other)), ("coalesce", (other, words))):
        got = check(device, name, args)
        assert got.schema.dictionary is not None
    when, day = pa.array([1, 2, 3]).cast(pa.timestamp("s")), pa.array([1, 2, 3], pa.int32()).cast(pa.date32())
    check(device, "case_when", (cond, when, day))
    assert back(cc.case_when(there(cond, device), there(pa.nulls(3), device), there(numbers, device))).type == pa.int8()


@everywhere
def test_a_batch_and_a_made_struct_are_conditions(device):
    a, b = rows([True, False, None], pa.bool_(), seed=1), rows([True, False, None], pa.bool_(), seed=2)
    x, y = columns("string")[:2]
    want = pc.case_when(pc.make_struct(a, b), x, y)
    made = cc.make_struct(there(a, device), there(b, device))
    batch = there(pa.record_batch({"p": a, "q": b}), device)
    for cond in (made, batch):
        assert shown(back(cc.case_when(cond, there(x, device), there(y, device)))) == shown(want)


@everywhere
def test_what_cannot_be_chosen_is_an_error_that_tells_why(device):
    cond, numbers = there(conditions(3), device), there(pa.array([1, 2, 3]), device)
    null = there(pa.array([{"a": True}, None, {"a": False}], pa.struct([("a", pa.bool_())])), device)
    for bad, words in (
        ((cond, numbers), "2 conditions and 1 values"),
        ((cond, numbers, numbers, numbers, numbers), "2 conditions and 4 values"),
        ((null, numbers), "must not be null itself"),
        ((cond, numbers[1:], numbers), "2 .* 3 rows|3 .* 2 rows"),
    ):
        with pytest.raises((ArgumentError, ValueError), match=f"case_when.*({words})"):
            cc.case_when(*bad)
    with pytest.raises(cc.NoKernel, match="case_when.*'0' must be bool, not int64"):
        cc.case_when(cc.make_struct(numbers), numbers)
    for bad in (2, -1):
        with pytest.raises(cc.IndexOutOfBounds, match=f"choose: index {bad} is out of bounds: there are 2 values"):
            cc.choose(there(pa.array([0, None, bad]), device), numbers, numbers)
        with pytest.raises(IndexError):
            cc.choose(bad, numbers, numbers)
    with pytest.raises(ArgumentError, match="if_else.*list<item: int8>"):
        lists = pa.array([[1], [2], []]), pa.array([[1], [2], []], pa.list_(pa.int8()))
        cc.if_else(there(pa.array([True, False, True]), device), *(there(x, device) for x in lists))
