"""Expressions: on every device, as text, as objects, and what is refused."""

import datetime
import gc
import math
import pickle
import weakref
import zoneinfo
from decimal import Decimal

import numpy as np
from expression_checks import *  # noqa: F403
from expression_checks import EXPRESSIONS, TABLE, cc, cdevice, each, everywhere, f, pa, pc, pytest

from cdevice.compute.expressions import aggregate as aggregate_module

SCHEMA = TABLE.schema


@each
def test_the_text_of_an_expression_is_read_back_as_the_same_expression(word):
    expression = EXPRESSIONS[word][0]
    assert cc.Expression.parse(str(expression)).equals(expression)


@each
def test_a_pickled_expression_is_the_same_and_has_the_same_hash(word):
    expression = EXPRESSIONS[word][0]
    again = pickle.loads(pickle.dumps(expression))
    assert again.equals(expression) and hash(again) == hash(expression) and str(again) == str(expression)


def test_expressions_that_differ_are_not_equal():
    a = f("a") + 1
    assert a.equals(f("a") + 1) and not a.equals(f("a") + 2) and not a.equals(f("b") + 1) and not a.equals(f("a") - 1)
    assert not a.equals(f("a") + 1.0) and not a.equals("a + 1") and len({f("a"), f("b")}) == 2
    assert not cc.round(f("a"), ndigits=1).equals(cc.round(f("a"), ndigits=2))


ALIKE = [  # each beside each is another value
    [0.0, -0.0, 0, False, Decimal(0), np.float64(0), np.float32(0), np.float32(-0.0), pa.scalar(-0.0)],
    [1, 1.0, True, Decimal(1), Decimal("1.0"), np.int8(1), np.int64(1), pa.scalar(1, pa.int16()), pa.scalar(True)],
    [pa.scalar(Decimal("1.5"), pa.decimal128(5, 2)), pa.scalar(Decimal("1.5"), pa.decimal128(6, 2)), Decimal("1.5")],
    ["a", b"a"],
    [
        datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.timezone.utc),
        datetime.datetime(2020, 1, 1, 12, tzinfo=zoneinfo.ZoneInfo("Africa/Abidjan")),
        datetime.datetime(2020, 1, 1, 12),
        pa.scalar(datetime.datetime(2020, 1, 1, 12), pa.timestamp("ns")),
        pa.scalar(datetime.datetime(2020, 1, 1, 12), pa.timestamp("ms")),
    ],
    [datetime.timedelta(days=200_000, microseconds=k) for k in range(4)],
]


@pytest.mark.parametrize("values", ALIKE, ids=lambda v: str(v[0]))
def test_values_that_python_takes_for_equal_are_those_of_other_expressions(values):
    literals = [f("a") == v for v in values]
    sets = [f("a").isin([v]) for v in values]
    for made in (literals, sets):
        for i, a in enumerate(made):
            assert [a.equals(b) for b in made] == [i == k for k in range(len(made))], a
            assert pickle.loads(pickle.dumps(a)).equals(a)


def test_an_expression_is_not_computed_as_another_one_that_python_takes_for_equal():
    batch = cdevice.asarray({"x": [0.0, -0.0, 1.0]})
    for _ in range(2):
        for value, wanted in ((0.0, [True, False, False]), (-0.0, [False, True, False])):
            assert f("x").isin([value]).evaluate(batch).to_pylist() == wanted
            assert cc.is_in(f("x"), value_set=np.array([value])).evaluate(batch).to_pylist() == wanted
            assert cc.is_in(batch["x"], [value]).to_pylist() == wanted


def test_a_list_that_is_changed_later_does_not_change_the_expression():
    values = [1]
    e = f("a").isin(values)
    values.append(2)
    assert str(e) == "is_in(a, value_set=[1])" and e.evaluate(cdevice.asarray({"a": [1, 2]})).to_pylist() == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    "value",
    [
        *(float(x) for x in ("nan", "inf", "-inf", "-0.0", "1e-320")),
        np.int8(5), np.float32(0.1), np.bool_(True), np.datetime64("2020-01-01T00:00:01", "s"), np.timedelta64(5, "ns"),
        pa.scalar(5), pa.scalar(None, pa.int8()), pa.scalar("a'b"), pa.scalar(b"\0"), pa.scalar(1.5, pa.float32()),
        pa.scalar(1, pa.timestamp("ns")), pa.scalar(1, pa.timestamp("us", "Europe/Berlin")), pa.scalar(1, pa.date32()),
        pa.scalar(Decimal("1.50"), pa.decimal256(50, 3)), pa.scalar(5, pa.time32("ms")), pa.scalar(7, pa.duration("ns")),
        datetime.timedelta(days=200_000, microseconds=1), datetime.timedelta(days=-200_000, microseconds=1),
    ],
    ids=repr,
)  # fmt: skip
def test_the_text_of_any_value_is_read_back_as_that_value(value):
    e = f("a") == value
    again = cc.Expression.parse(str(e))
    assert again.equals(e) and hash(again) == hash(e), e


@pytest.mark.parametrize(
    "e",
    [
        cc.Expression.from_pyarrow(pc.field("a") > 1),
        f("a").cast(pa.decimal128(5, 2)),
        f("a").isin(pa.array([1, 2])),
        f("a").isin(np.array([1, 2])),
        f("a").isin([datetime.date(2020, 1, 1), None]),
        f("a").isin([math.nan, -math.inf]),
    ],
    ids=str,
)
def test_options_and_values_of_other_libraries_have_a_text_that_is_read(e):
    again = cc.Expression.parse(str(e))
    assert str(again) == str(e)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a == scalar()", "scalar\\(\\) takes a value and perhaps its type"),
        ("a == scalar(1, 2)", "scalar\\(\\) takes a value and perhaps its type"),
        ("a == scalar(300, 'int8')", "int8"),
        ("a == scalar(1, 'no type')", "no type"),
        ("a == float('x')", "float\\(\\) takes one value, such as float\\('nan'\\)"),
    ],
)
def test_a_value_in_text_that_is_none_is_named(text, why):
    with pytest.raises(cdevice.ArgumentError, match=f"(?s){why}.*at column 6"):
        cc.Expression.parse(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a > 1 and not p", (f("a") > 1) & ~f("p")),
        ("1 < a <= 2", (cc.scalar(1) < f("a")) & (f("a") <= 2)),
        ("s in ('x', 'y')", f("s").isin(["x", "y"])),
        ("s not in ['x']", ~f("s").isin(["x"])),
        ("a is None or a is not None", f("a").is_null() | f("a").is_valid()),
        ("a if p else -1", cc.if_else(f("p"), f("a"), -1)),
        ("field('odd name') + a ** 2", f("odd name") + f("a") ** 2),
        ("round(a, ndigits=2) % 3", cc.round(f("a"), ndigits=2) % 3),
        ("round(a, 2)", cc.round(f("a"), 2)),
        ("starts_with(s, 'x')", cc.starts_with(f("s"), "x")),
        ("utf8_slice_codeunits(s, 0, 2)", cc.utf8_slice_codeunits(f("s"), 0, 2)),
        ("isin(s, ['x'])", f("s").isin(["x"])),
        ("cast(a, 'int64')", f("a").cast("int64")),
        ("cast(a, 'int64', False)", f("a").cast("int64", False)),
        ("struct_field(s, indices=['x'])", f("s", "x")),
        ("-a", -f("a")),
        ("-1.5", cc.scalar(-1.5)),
    ],
)
def test_python_s_grammar_means_arrow_s_functions(text, same):
    assert cc.Expression.parse(text).equals(same), str(cc.Expression.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x')",
        "().__class__",
        "open('x')",
        "[x for x in a]",
        "lambda: 1",
        "a.b",
        "a[0]",
        "f'{a}'",
        "a := 1",
        "a >",
        "",
        "sum(a)",
        "cumulative_sum(a)",
        "a in b",
        "cast(a)",
        "year(a, b)",
        "round(a, nope=1)",
        "round(a, 1, ndigits=1)",
        "starts_with(s, 'x', True, 1)",
        "date('yesterday')",
        "1j",
        "(" * 500 + "a" + ")" * 500,
        "a" * 30_000,
        "is_in(a, **{})",
        "\0",
    ],
)
def test_text_that_is_no_expression_is_refused_and_never_run(text):
    with pytest.raises(cdevice.ArgumentError):
        cc.Expression.parse(text)


def test_the_place_of_a_mistake_is_marked():
    with pytest.raises(cdevice.ArgumentError) as e:
        ((f("b") > 0) & (f("aa") > 1)).bind(SCHEMA)
    assert str(e.value).splitlines()[1:] == ["  ((b > 0) & (aa > 1))", "              ^^"]
    assert "no column 'aa'; did you mean 'a'?" in str(e.value)
    with pytest.raises(cc.NoKernel) as e:
        ((f("s") + 1) > 3).bind(SCHEMA)
    assert str(e.value).splitlines()[-1].strip() == "^" * len("(s + 1)")
    with pytest.raises(cdevice.ArgumentError) as e:
        cc.Expression.parse("a > nope(b)")
    assert str(e.value).splitlines()[-1] == "      ^"
    with pytest.raises(cdevice.ArgumentError) as e:
        cc.Expression.parse("a >")
    assert str(e.value).splitlines() == ["invalid syntax, at column 4:", "  a >", "     ^"]


def test_what_is_no_condition_or_no_batch_is_refused():
    batch = cdevice.asarray(TABLE)
    with pytest.raises(cdevice.ArgumentError, match="expected a condition, but a is float64"):
        batch.filter(f("a"))
    with pytest.raises(cdevice.ArgumentError, match="needs a batch"):
        cdevice.asarray([1, 2]).filter(f("a") > 1)
    with pytest.raises(TypeError, match="expected a name and an expression"):
        batch.project({"x": 1})
    with pytest.raises(TypeError, match="aggregate: where: expected an expression or its text, not int"):
        cc.aggregate(batch, [("a", "sum")], where=1)
    with pytest.raises(cdevice.ArgumentError, match="no aggregate 'summ'; did you mean 'sum'"):
        cc.aggregate(batch, [("a", "summ")])
    with pytest.raises(cdevice.ArgumentError, match="no column 'aa'"):
        cc.group_by(batch, "s", where=f("aa") > 1).aggregate([("a", "sum")])


@pytest.mark.parametrize("rows", [0, 2])
def test_a_kernel_that_gives_another_number_of_rows_than_one_is_refused_by_aggregate(rows, monkeypatch):
    function = cc.Function("quantile", "vector", 1, options=cc.QuantileOptions)
    function.add_kernel(["float64"], "float64", lambda call, a: a.array[:rows], null_handling="computed")
    monkeypatch.setattr(aggregate_module, "get_function", lambda name: function)
    with pytest.raises(cdevice.ArgumentError, match=f"aggregate: quantile gave {rows} rows, expected 1: call"):
        cc.aggregate(cdevice.asarray({"b": [1.0, 2.0, 3.0]}), [("b", "quantile")])


def test_the_text_of_a_condition_stands_for_it_wherever_rows_are_chosen():
    batch, text, where = cdevice.asarray(TABLE), "a > 0.5", f("a") > 0.5
    assert batch.filter(text).equals(batch.filter(where)) and batch.filter(where).length < batch.length
    stream = cdevice.asstream([batch]).filter(text)
    assert stream.read_all().equals(batch.filter(where))
    assert cc.aggregate(batch, [("b", "max")], where=text).equals(cc.aggregate(batch, [("b", "max")], where=where))
    groups = [cc.group_by(batch, "s", where=x).aggregate([("b", "max")]) for x in (text, where)]
    assert groups[0].equals(groups[1])
    with pytest.raises(cdevice.ArgumentError, match="no column 'missing'"):
        batch.filter("missing > 1")


def test_an_expression_is_neither_true_nor_iterable_nor_an_array():
    with pytest.raises(ValueError, match="use & | ~"):
        bool(f("a") > 1)
    with pytest.raises(TypeError, match="has no rows"):
        list(f("a"))
    with pytest.raises(TypeError, match="cumulative_sum: a vector function cannot be part of an expression"):
        cc.cumulative_sum(f("a"))
    with pytest.raises(TypeError, match="stream= and fallback="):
        cc.add(f("a"), 1, fallback="copy")
    with pytest.raises(TypeError, match="expected one value, not list"):
        cc.scalar([1, 2])
    for bad in ((), (1,), (None,), ("a", 1)):
        with pytest.raises(TypeError, match="expected the name of a column"):
            cc.field(*bad)


def test_an_expression_of_ten_thousand_functions_works_and_goes():
    e = f("j")
    for k in range(10_000):
        e = e + (k % 2 * 2 - 1)
    assert e.evaluate(TABLE).equals(f("j").evaluate(TABLE))
    assert len(str(e)) > 50_000 and pickle.loads(pickle.dumps(e)).equals(e)
    ref = weakref.ref(e)
    del e
    gc.collect()
    assert ref() is None or ref()._known  # those that were bound last are kept


def test_a_name_is_that_of_the_text_and_not_of_its_normal_form():
    micro, greek = "\u00b5g", "\u03bcg"
    batch = cdevice.record_batch([[1, 5], [5, 1]], [micro, greek])
    for text in (
        f"{micro} > 1",
        f"({micro}) > 1 and {greek} == 1",
        f"(1 <\r\n  {micro})",
        f"if_else({micro} > 1, True, False)",
    ):
        assert batch.filter(text).to_pylist() == [{micro: 5, greek: 1}]
    assert cc.Expression.parse(f"{micro} + {greek}").equals(f(micro) + f(greek))
    assert cdevice.record_batch([[1, 2]], ["\ufb01t"]).filter("\ufb01t == 2").to_pylist() == [{"\ufb01t": 2}]


def test_a_condition_that_is_null_chooses_no_row():
    batch = cdevice.asarray(TABLE)
    for condition in ("None", "a > 0 and None"):
        assert batch.filter(condition).length == 0 and batch.filter(cc.Expression.parse(condition)).length == 0
        assert cdevice.asstream([batch]).filter(condition).read_all().length == 0
    assert cc.filter([1, 2], pa.nulls(2)).to_pylist() == cc.filter([1, 2], [None, None]).to_pylist() == []


def test_numbers_take_the_type_of_the_column_where_they_are_numbers_of_it():
    batch = pa.record_batch({"i": pa.array([1], pa.int8()), "x": pa.array([1], pa.float32())})
    for e, wanted in (
        (f("i") + 1, "int8"),
        (f("i") + 1000, "int64"),
        (f("x") * 2, "float32"),
        (f("x") * 0.5, "float32"),
        (f("x") * 0.1, "float64"),
        (f("i") * 0.5, "float64"),
    ):
        assert e.bind(batch.schema).type.type == wanted, str(e)


def test_equal_parts_are_computed_once():
    calls = []
    function = cc.Function("counted", "scalar", 1)
    function.add_kernel(["float64"], "float64", lambda call, a: calls.append(1) or a.array, null_handling="computed")
    counted = function(f("b"))
    assert ((counted + 1) * (counted - 1)).evaluate(TABLE).length == TABLE.num_rows
    calls.clear()
    ((counted + 1) * (counted - 1)).evaluate(TABLE)
    assert len(calls) == 1


def test_what_is_one_kernel_is_explained():
    text = ((f("a") * 2 > f("b")) & cc.starts_with(f("s"), pattern="x")).explain(SCHEMA)
    assert "one kernel of 3 functions" in text and "starts_with(" in text and "KERNEL(apply)" in text


def test_the_kernels_that_every_compiler_has_tried_are_those_that_are_written():
    import generated_kernels

    assert generated_kernels.FILE.read_text() == generated_kernels.written(), (
        "run tests/support/generated_kernels.py and ci/kernels"
    )


def test_another_constant_is_no_other_kernel():
    def kernels(e):
        b = e.bind(SCHEMA)
        return [part.family for _, part, _ in b._program(cdevice.asarray(TABLE)).entries if part]

    assert kernels(f("a") * 2 > f("b")) == kernels(f("a") * 3 > f("b")) != kernels(f("a") + 2 > f("b"))


def test_without_a_compiler_the_functions_are_called_one_by_one(monkeypatch, tmp_path):
    from cdevice.compute.expressions import bound

    monkeypatch.setattr(bound, "FUSE_ROWS", 0)
    monkeypatch.setenv("CDEVICE_CC", str(tmp_path / "none"))
    monkeypatch.setenv("CDEVICE_CACHE_DIR", str(tmp_path / "cache"))
    e = f("b") * 7.25 - f("j") * 3.5 > f("b") - 123.5
    assert e.evaluate(TABLE).length == TABLE.num_rows
    assert e.bind(cdevice.asarray(TABLE).schema)._unfit == {1}


@everywhere
def test_sort_and_join_keys_may_be_expressions(device):
    batch = cdevice.asarray({"a": [3, -5, None, 1], "s": ["c", "B", "a", "D"]}).to(device)
    by_size = cc.sort_by(batch, [(cc.abs(cc.field("a")), "descending")])
    assert by_size.field("a").to("cpu").to_pylist() == [-5, 3, 1, None]
    assert cc.sort_indices(batch, [(cc.field("a") % 2, "ascending"), (cc.utf8_lower(cc.field("s")), "descending")]).to(
        "cpu"
    ).to_pylist() == [3, 0, 1, 2]
    top = cdevice.asstream([batch, batch]).top_k(2, [(cc.abs(cc.field("a")), "descending")])
    assert top.field("a").to("cpu").to_pylist() == [-5, -5]
    right = cdevice.asarray({"k": ["b", "d"], "v": [10, 20]}).to(device)
    for kind, want in (("inner", ["B", "D"]), ("left anti", ["c", "a"]), ("left outer", ["c", "B", "a", "D"])):
        out = cc.join(batch, right, cc.utf8_lower(cc.field("s")), "k", kind)
        assert out.field("s").to("cpu").to_pylist() == want
        assert out.column_names == (["a", "s"] if "anti" in kind else ["a", "s", "v"])
    full = cc.join(batch, right, [cc.utf8_lower(cc.field("s"))], [cc.field("k")], "full outer")
    assert full.column_names == ["a", "s", "k", "v"] and full.num_rows == 4
    joined = cdevice.asstream([batch]).join(right, cc.utf8_lower(cc.field("s")), "k", "inner")
    assert joined.read_all().field("v").to("cpu").to_pylist() == [10, 20]
    with pytest.raises(cdevice.ArgumentError, match="no column 'z'"):
        cc.sort_by(batch, [(cc.field("z") + 1, "ascending")])
    with pytest.raises(TypeError, match="join: keys must be the name of a column"):
        cc.join(batch, right, 3)
