"""Expressions of pyarrow and of Substrait, where this library's go in."""

import datetime
import decimal
import struct

import pytest

import cdevice
import cdevice.compute as cc

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")
import pyarrow.parquet as pq  # noqa: E402
from compute_cases import OF_PYARROW_26  # noqa: E402

F, f = pc.field, cc.field
TABLE = pa.table(
    {
        "a": pa.array([1, None, 3, -4], pa.int64()),
        "i": pa.array([2, 2, None, 5], pa.int32()),
        "x": pa.array([1.5, float("nan"), None, 2.25]),
        "s": pa.array(["UA", None, "Ab ", "xyz"]),
        "t": pa.array(
            [datetime.datetime(2013, 1, 31, 12), None, datetime.datetime(2020, 2, 29), datetime.datetime(1969, 1, 1)]
        ),
        "b": pa.array([True, False, None, True]),
        "n": pa.array([{"p": 1, "q": "u"}, None, {"p": None, "q": "v"}, {"p": 4, "q": None}]),
        "d": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-3.00"), decimal.Decimal("9.99")]),
    }
)
BATCH = TABLE.to_batches()[0]


# ---- pyarrow's ----
EXPRESSIONS = [
    F("a") + 1 > F("i"),
    (F("s") == "UA") & F("b"),
    F("s").isin(["xyz", "UA"]),
    F("x").is_null(),
    F("x").is_null(nan_is_null=True),
    F("x").is_valid() | ~F("b"),
    pc.if_else(F("b"), F("a"), 7),
    F("a").cast("float64") * F("x"),
    F("a").cast("int8", safe=False),
    F("n", "p") + F("i"),
    pc.year(F("t")),
    pc.round(F("x"), 1),
    pc.utf8_upper(F("s")),
    pc.starts_with(F("s"), "x"),
    pc.utf8_slice_codeunits(F("s"), 1, 3),
    pc.replace_substring(F("s"), "x", "yy"),
    pc.floor_temporal(F("t"), unit="month"),
    pc.coalesce(F("a"), F("i").cast("int64"), 0),
    F("t") > datetime.datetime(2000, 1, 1),
    F("d") > decimal.Decimal("1.00"),
    pc.negate(F("a")),
    pc.scalar(5) * F("a"),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_an_expression_of_pyarrow_computes_what_pyarrow_does(expression):
    import pyarrow.acero as acero

    node = acero.Declaration.from_sequence([
        acero.Declaration("table_source", acero.TableSourceNodeOptions(TABLE)),
        acero.Declaration("project", acero.ProjectNodeOptions([expression], ["r"])),
    ])  # fmt: skip
    want = node.to_table()["r"].to_pylist()
    got = cc.Expression.from_pyarrow(expression)
    assert repr(pa.array(got.evaluate(BATCH)).to_pylist()) == repr(want)


def test_it_goes_in_where_an_expression_of_this_library_does(tmp_path):
    batch, where = cdevice.asarray(BATCH), F("a") > 0
    want = [1, 3]
    assert batch.filter(where).field("a").to_pylist() == want
    assert cc.filter(batch, where).field("a").to_pylist() == want
    assert batch.with_columns(y=F("a") * 2).field("y").to_pylist() == [2, None, 6, -8]
    assert batch.project({"y": F("a") * 2}).column_names == ["y"]
    assert cc.aggregate(batch, {"m": (F("a") + 1, "sum")}, where=where).to_pylist() == [{"m": 6}]
    assert cc.group_by(batch, {"k": F("a") > 0}, where=F("a").is_valid()).aggregate({"n": ([], "count_all")}).to_pylist() == [
        {"k": True, "n": 2}, {"k": False, "n": 1}
    ]  # fmt: skip
    stream = cdevice.asstream([batch]).filter(where).with_columns({"y": f("i") + F("a")})
    assert [r["y"] for r in stream.to_pylist()] == [3, None]
    assert cdevice.asstream([batch]).aggregate({"m": (F("a"), "max")}, where=where).to_pylist() == [{"m": 3}]
    pq.write_table(TABLE, tmp_path / "t.parquet")
    assert cdevice.scan(tmp_path / "t.parquet", where=where, columns={"z": F("a") * 3}).read_all().field(
        "z"
    ).to_pylist() == [3, 9]
    assert cc.year(F("t")).evaluate(batch).to_pylist() == [2013, None, 2020, 1969]
    assert str(cc.Expression.from_pyarrow(F("a") + 1)) == "(a + scalar(1, 'int64'))"


def test_what_of_pyarrows_is_not_supported_is_named():
    with pytest.raises(cdevice.ArgumentError, match="pyarrow cannot write it"):
        cc.Expression.from_pyarrow(pc.utf8_upper(F(3)))
    with pytest.raises(TypeError, match=r"from_pyarrow: expected a pyarrow.compute.Expression, not str"):
        cc.Expression.from_pyarrow("a")


def test_a_deep_expression_of_pyarrow_is_read():
    e = F("a")
    for _ in range(3000):
        e = e + 1
    assert cc.Expression.from_pyarrow(e).evaluate(BATCH).to_pylist() == [3001, None, 3003, 2996]


# ---- Substrait's ----
@pytest.mark.parametrize(
    "expression",
    [
        (F("a") > F("i").cast("int64", safe=False)) & (F("s") == "UA"),
        F("t") > pa.scalar(datetime.datetime(2000, 1, 1), pa.timestamp("us")),
        F("n", "p") > pa.scalar(2, pa.int64()),
        pc.if_else(F("b"), F("a"), pa.scalar(None, pa.int64())),
        pytest.param(pc.starts_with(F("s"), "x"), marks=OF_PYARROW_26),
        F("x") * 2.5 - F("x") / 2.0,
        ~F("b") | F("x").is_null() | F("x").is_nan(),
        pc.coalesce(F("a"), F("a")),
        F("d") == pa.scalar(decimal.Decimal("9.99"), pa.decimal128(3, 2)),
        F("x").cast("float32", safe=False),
        pc.abs(F("a")),
        F("a").is_valid(),
    ],
    ids=str,
)
def test_pyarrows_substrait_computes_what_pyarrow_does(expression):
    data = expression.to_substrait(TABLE.schema)
    got = cc.Expression.from_substrait(data)
    assert repr(pa.array(got.evaluate(BATCH)).to_pylist()) == repr(
        pa.array(cc.Expression.from_pyarrow(expression).evaluate(BATCH)).to_pylist()
    )


class Wire:
    """A writer of messages, so that what pyarrow does not write is tested too."""

    @staticmethod
    def varint(n):
        out = b""
        while True:
            out += bytes([n & 127 | (128 if n > 127 else 0)])
            n >>= 7
            if not n:
                return out

    @classmethod
    def field(cls, number, value):
        if isinstance(value, int):
            return cls.varint(number << 3) + cls.varint(value & (1 << 64) - 1)
        if isinstance(value, float):
            return cls.varint(number << 3 | 1) + struct.pack("<d", value)
        value = value.encode() if isinstance(value, str) else value
        return cls.varint(number << 3 | 2) + cls.varint(len(value)) + value

    @classmethod
    def message(cls, *fields):
        return b"".join(cls.field(n, v) for n, v in fields)


W = Wire.message
NAMES = TABLE.schema.names


def col(name):
    order = ["a", "i", "x", "s", "t", "b"]  # top level, before the struct
    return W((2, W((1, W((2, W((1, order.index(name)))))), (4, b""))))


def lit(value):
    number = {bool: 1, int: 7, float: 11, str: 12}[type(value)]
    return W((1, W((number, int(value) if isinstance(value, bool) else value))))


def extended(expression, *names, more=()):
    declared = [(2, W((3, W((2, k + 1), (3, name))))) for k, name in enumerate(names)]
    base = (4, W(*[(1, n) for n in ["a", "i", "x", "s", "t", "b"]]))
    return W(*declared, (3, W((1, expression), (3, "r"))), *more, base)


def call(anchor, *args, options=()):
    given = [(4, W((1, a) if isinstance(a, str) else (3, a))) for a in args]
    return W((3, W((1, anchor), *given, *[(5, W((1, k), (2, v))) for k, v in options])))


def rows(data):
    return pa.array(cc.Expression.from_substrait(data).evaluate(BATCH)).to_pylist()


@pytest.mark.parametrize(
    ("name", "args", "options", "want"),
    [
        ("between:any_any_any", [col("a"), lit(0), lit(2)], [], [True, None, False, False]),
        ("and:bool", [col("b"), lit(True), lit(True)], [], [True, False, None, True]),
        ("add:i64_i64", [col("a"), lit(1)], [("overflow", "SILENT")], [2, None, 4, -3]),
        ("substring:str_i32_i32", [col("s"), lit(1), lit(2)], [], ["UA", None, "Ab", "xy"]),
        ("trim:str", [col("s")], [], ["UA", None, "Ab", "xyz"]),
        ("rtrim:str_str", [col("s"), lit("z ")], [], ["UA", None, "Ab", "xy"]),
        ("lpad:str_i32_str", [col("s"), lit(4), lit("-")], [], ["--UA", None, "-Ab ", "-xyz"]),
        ("replace:str_str_str", [col("s"), lit("A"), lit("z")], [], ["Uz", None, "zb ", "xyz"]),
        ("concat:str", [col("s"), lit("!")], [], ["UA!", None, "Ab !", "xyz!"]),
        ("like:str_str", [col("s"), lit("_A")], [], [True, None, False, False]),
        (
            "contains:str_str",
            [col("s"), lit("a")],
            [("case_sensitivity", "CASE_INSENSITIVE")],
            [True, None, True, False],
        ),
        ("upper:str", [col("s")], [], ["UA", None, "AB ", "XYZ"]),
        ("char_length:str", [col("s")], [], [2, None, 3, 3]),
        ("round:fp64_i32", [col("x"), lit(1)], [], [1.5, None, None, 2.2]),
        ("extract:req_ts", ["YEAR", col("t")], [], [2013, None, 2020, 1969]),
        ("extract:req_req_ts", ["MONTH", "ONE", col("t")], [], [1, None, 2, 1]),
        ("nullif:any_any", [col("a"), lit(3)], [], [1, None, None, -4]),
        ("is_not_null:any", [col("a")], [], [True, False, True, True]),
    ],
)
def test_functions_of_substrait_are_arrows(name, args, options, want):
    got = rows(extended(call(1, *args, options=options), name))
    assert [None if isinstance(v, float) and v != v else v for v in got] == want


def test_conditions_and_lists_of_substrait():
    clause = (1, W((1, call(1, col("a"), lit(0))), (2, lit(10))))
    assert rows(extended(W((6, W(clause, (2, lit(20))))), "gt")) == [10, 20, 10, 20]
    one_of = W((8, W((1, col("s")), (2, lit("UA")), (2, lit("xyz")))))
    assert rows(extended(one_of)) == [True, None, False, True]
    switch = W((7, W((3, col("a")), (1, W((1, W((7, 3))), (2, lit("three")))), (2, lit("other")))))
    assert rows(extended(switch))[2] == "three"
    cast = W((11, W((1, W((11, b""))), (2, col("a")))))
    assert rows(extended(cast)) == [1.0, None, 3.0, -4.0]


def test_several_expressions_are_chosen_by_name():
    second = (3, W((1, col("i")), (3, "second")))
    data = extended(col("a"), more=[second])
    with pytest.raises(cdevice.ArgumentError, match="2 expressions: name= chooses one: r, second"):
        cc.Expression.from_substrait(data)
    assert str(cc.Expression.from_substrait(data, "second")) == "i"
    with pytest.raises(cdevice.ArgumentError, match="no expression 'third'; there are r, second"):
        cc.Expression.from_substrait(data, "third")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the message has no expression"),
        (b"\xff" * 20, "not a message of Substrait"),
        (b"\x1a\x7f", "a field of 127 bytes, of which 0 are there"),
        (extended(call(1, col("a")), "sinc:fp64"), "the function 'sinc' is not known"),
        (extended(call(9, col("a"))), "function 9 is not declared"),
        (extended(call(1, col("a"), lit(1), options=[("overflow", "SATURATE")]), "add"), "overflow SATURATE"),
        (extended(W((2, W((1, W((2, W((1, 99))))))))), "field 99 of 6: there is none"),
        (extended(W((12, b""))), "not supported: subqueries"),
        (extended(W((11, W((1, W((7, b""))), (2, col("a")), (3, 1))))), "a cast that gives null where it fails"),
        (extended(W((1, W((19, b""))))), "the literal of field 19 is not known"),
        (extended(call(1, col("s"), col("s")), "starts_with"), "starts_with: expected a constant text"),
        (extended(call(1, col("a")), "add"), "add takes 2 arguments, not 1"),
        (W((3, W((2, b"")))), "aggregates"),
    ],
)
def test_what_of_substrait_is_not_known_is_named(data, said):
    with pytest.raises(cdevice.ArgumentError, match=f"from_substrait: .*{said}"):
        cc.Expression.from_substrait(data)


def test_hostile_bytes_of_substrait_are_refused():
    deep = lit(1)
    for _ in range(5000):
        deep = W((11, W((2, deep))))
    with pytest.raises(cdevice.ArgumentError, match="messages in one another"):
        cc.Expression.from_substrait(extended(deep))
    with pytest.raises(TypeError, match="expected bytes of an ExtendedExpression, not int"):
        cc.Expression.from_substrait(3)
    good = extended(call(1, col("a"), lit(1)), "gt")
    for k in range(len(good)):
        for bad in (good[:k], good[:k] + bytes([good[k] ^ 0x55]) + good[k + 1 :]):
            try:
                cc.Expression.from_substrait(bad)
            except (cdevice.ArgumentError, cc.NoKernel):
                pass
