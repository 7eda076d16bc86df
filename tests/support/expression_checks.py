"""Expressions on every device: against pyarrow.compute, and as one kernel against the functions one by one."""

import datetime
import random

import pytest
from everywhere import device, everywhere  # noqa: F401 - a fixture

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
pc = pytest.importorskip("pyarrow.compute", reason="pip install pyarrow")

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.compute.expressions import bound  # noqa: E402

f = cc.field
ROWS = 137


def _column(rng, make, nulls):
    return [None if rng.random() < nulls else make() for _ in range(ROWS)]


def _table():
    rng = random.Random(7)
    return pa.record_batch(
        {
            "a": pa.array(_column(rng, lambda: rng.uniform(-9, 9), 0.2), pa.float64()),
            "b": pa.array(_column(rng, lambda: rng.uniform(-9, 9), 0), pa.float64()),
            "c": pa.array(_column(rng, lambda: rng.uniform(-9, 9), 0.2), pa.float32()),
            "i": pa.array(_column(rng, lambda: rng.randint(-99, 99), 0.2), pa.int32()),
            "j": pa.array(_column(rng, lambda: rng.randint(-99, 99), 0), pa.int64()),
            "u": pa.array(_column(rng, lambda: rng.randint(0, 99), 0.2), pa.uint8()),
            "p": pa.array(_column(rng, lambda: rng.random() < 0.5, 0.2), pa.bool_()),
            "q": pa.array(_column(rng, lambda: rng.random() < 0.5, 0), pa.bool_()),
            "d": pa.array(_column(rng, lambda: rng.randint(0, 20_000), 0.2), pa.date32()),
            "s": pa.array(_column(rng, lambda: rng.choice(["", "x", "Yz", "yz "]), 0.2), pa.string()),
        }
    )


TABLE = _table()
_DAY = datetime.date(1990, 5, 1)
_NUMBERS = "a b c i j u".split()

# an expression, and the same by pyarrow's functions
EXPRESSIONS = {
    "comparison": (f("a") * 2 > f("b"), lambda t: pc.greater(pc.multiply(t["a"], 2.0), t["b"])),
    "three types": (f("a") * f("b") + f("c"), lambda t: pc.add(pc.multiply(t["a"], t["b"]), t["c"].cast("float64"))),
    "integers": (f("i") + f("j") * 2, lambda t: pc.add_checked(t["i"], pc.multiply_checked(t["j"], 2))),
    "negated": (-f("i") + f("u"), lambda t: pc.add_checked(pc.negate_checked(t["i"]), t["u"])),
    "and": (
        (f("a") > 0.5) & (f("c") < 0.25),
        lambda t: pc.and_kleene(pc.greater(t["a"], 0.5), pc.less(t["c"], pa.scalar(0.25, pa.float32()))),
    ),
    "or, not": (
        ~(f("p") & f("q")) | (f("i") > 3),
        lambda t: pc.or_kleene(pc.invert(pc.and_kleene(t["p"], t["q"])), pc.greater(t["i"], 3)),
    ),
    "if_else": (
        cc.if_else(f("a") > 0.25, f("a") * 2, f("b") - 1),
        lambda t: pc.if_else(pc.greater(t["a"], 0.25), pc.multiply(t["a"], 2.0), pc.subtract(t["b"], 1.0)),
    ),
    "null": (cc.if_else(f("p"), f("i") + 1, None), lambda t: pc.if_else(t["p"], pc.add(t["i"], pa.scalar(1, "int32")), None)),
    "coalesce": (cc.coalesce(f("a") * 2, f("b")), lambda t: pc.coalesce(pc.multiply(t["a"], 2.0), t["b"])),
    "is_null": ((f("a") + 1).is_null(), lambda t: pc.is_null(t["a"])),
    "is_valid": (
        (f("i") * 2).is_valid() & (f("j") > 0),
        lambda t: pc.and_kleene(pc.is_valid(t["i"]), pc.greater(t["j"], 0)),
    ),
    "nan": (cc.is_nan(cc.divide(f("a"), 0.0)), lambda t: pc.is_nan(pc.divide(t["a"], 0.0))),
    "dates": ((f("d") >= _DAY) & (f("d") < datetime.date(2000, 1, 1)), lambda t: pc.and_kleene(pc.greater_equal(t["d"], _DAY), pc.less(t["d"], datetime.date(2000, 1, 1)))),
    "five constants": (
        f("b") * 2 + 3 - f("b") * 5 + 7 - f("b") * 11 + 13,
        lambda t: pc.add(pc.subtract(pc.add(pc.subtract(pc.add(pc.multiply(t["b"], 2.0), 3.0), pc.multiply(t["b"], 5.0)), 7.0), pc.multiply(t["b"], 11.0)), 13.0),
    ),
    "many columns": (
        f("a") + f("b") + f("c") + f("i") + f("j") + f("u") + f("a") * f("j"),
        lambda t: pc.add(pc.add(pc.add(pc.add(pc.add(pc.add(t["a"], t["b"]), t["c"].cast("float64")), t["i"].cast("float64")), t["j"].cast("float64")), t["u"].cast("float64")), pc.multiply(t["a"], t["j"].cast("float64"))),
    ),
    "cast": (f("i").cast("int64") * 10**12, lambda t: pc.multiply(t["i"].cast("int64"), 10**12)),
    "strings and numbers": (
        (cc.utf8_length(f("s")) + 1) * f("i") > f("u"),
        lambda t: pc.greater(pc.multiply(pc.add(pc.utf8_length(t["s"]), pa.scalar(1, "int32")), t["i"]), t["u"].cast("int32")),
    ),
    "isin": (f("s").isin(["x", "Yz"]) & (f("b") > 0), lambda t: pc.and_kleene(pc.is_in(t["s"], pa.array(["x", "Yz"])), pc.greater(t["b"], 0.0))),
    "year": (cc.year(f("d")) == 1999, lambda t: pc.equal(pc.year(t["d"]), 1999)),
    "upper": (cc.utf8_upper(f("s")) == "YZ", lambda t: pc.equal(pc.utf8_upper(t["s"]), "YZ")),
    "column": (f("s"), lambda t: t["s"]),
}  # fmt: skip
each = pytest.mark.parametrize("word", EXPRESSIONS)


@pytest.fixture(params=["functions", "kernel"])
def way(request, monkeypatch):
    """Function by function, or as one kernel from the first row on."""
    monkeypatch.setattr(bound, "FUSE_ROWS", 0 if request.param == "kernel" else 1 << 60)
    return request.param


@everywhere
@each
def test_an_expression_gives_what_pyarrow_gives(device, word, way):
    expression, judge = EXPRESSIONS[word]
    for rows in (TABLE, TABLE[5:70], TABLE[:1], TABLE[:0]):
        batch = cdevice.asarray(rows).to(device)
        made = expression.evaluate(batch)
        assert made.device == batch.device
        wanted = judge(rows)
        found = made.to("cpu")
        assert found.type == expression.bind(batch.schema).type.type
        assert found.equals(
            cdevice.asarray(wanted.combine_chunks() if hasattr(wanted, "chunks") else wanted), nans_equal=True
        ), (
            found.to_pylist(),
            wanted.to_pylist(),
        )


def _random_expression(rng, depth, kind):
    """One that no row makes an error of; ``kind``: "number" or "bool"."""
    if kind == "bool":
        if depth == 0:
            return f(rng.choice("pq"))
        choice = rng.randrange(6)
        if choice < 2:
            a, b = (_random_expression(rng, depth - 1, "number") for _ in range(2))
            return rng.choice([cc.less, cc.equal, cc.greater_equal, cc.not_equal])(a, b)
        if choice == 2:
            return ~_random_expression(rng, depth - 1, "bool")
        if choice == 3:
            return rng.choice([cc.is_null, cc.is_valid])(
                _random_expression(rng, depth - 1, rng.choice(["number", "bool"]))
            )
        a, b = (_random_expression(rng, depth - 1, "bool") for _ in range(2))
        return rng.choice([cc.and_kleene, cc.or_kleene, cc.and_, cc.or_, cc.xor])(a, b)
    if depth == 0:
        return f(rng.choice(_NUMBERS)) if rng.random() < 0.7 else cc.scalar(rng.choice([0, 1, 3, 0.5, None]))
    choice = rng.randrange(6)
    a, b = (_random_expression(rng, depth - 1, "number") for _ in range(2))
    if choice < 3:
        return rng.choice([cc.add, cc.subtract, cc.multiply])(a, b)
    if choice == 3:
        return cc.if_else(_random_expression(rng, depth - 1, "bool"), a, b)
    if choice == 4:
        return cc.coalesce(a, b)
    return cc.negate(a)


@everywhere
def test_one_kernel_gives_the_bits_of_the_functions_one_by_one(device):
    rng = random.Random(11)
    batch = cdevice.asarray(TABLE).to(device)
    fused = 0
    for _ in range(12 if device == "cpu" else 4):
        expression = _random_expression(rng, 3, rng.choice(["number", "bool"]))
        try:
            b = expression.bind(batch.schema)
        except (cdevice.Error, TypeError):  # of null alone, or of numbers that no type has
            continue
        try:
            wanted = b._run(b._plain, batch, None)
        except cdevice.Error:  # a number that the other side's type has not
            continue
        program = b._program(batch)
        found = b._run(program, batch, None)
        fused += program.fuses()
        if found is None or found.array is None or found.one:
            continue
        assert found.array.to("cpu").equals(wanted.array.to("cpu"), nans_equal=True), str(expression)
    assert fused


@everywhere
def test_a_row_that_overflows_is_named_with_its_place_whichever_way_it_is_computed(device, way):
    batch = cdevice.asarray(pa.record_batch({"i": pa.array([1, 2**31 - 1, 3], pa.int32())})).to(device)
    with pytest.raises(cdevice.ArgumentError, match=r"(?s)add_checked: overflow.*\(i \+ 1\)"):
        ((f("i") + 1) * 1 > f("i")).evaluate(batch)
    with pytest.raises(cdevice.ArgumentError, match="divide by zero"):
        (cc.divide(f("i"), 0) + f("i")).evaluate(batch)


@everywhere
def test_what_is_wrong_in_a_null_row_is_no_error(device, way):
    values = pa.array([1, 2**31 - 1, 3], pa.int32())
    nulls = pa.Array.from_buffers(pa.int32(), 3, [pa.py_buffer(b"\5"), values.buffers()[1]])
    batch = cdevice.asarray(pa.record_batch({"i": nulls})).to(device)
    assert ((f("i") + 1) * 2).evaluate(batch).to("cpu").to_pylist() == [4, None, 8]


@everywhere
def test_batches_are_filtered_projected_and_extended(device, way):
    batch = cdevice.asarray(TABLE).to(device)
    where = (f("a") > 0) & (f("s") == "x")
    wanted = TABLE.filter(pc.and_kleene(pc.greater(TABLE["a"], 0.0), pc.equal(TABLE["s"], "x")))
    found = batch.filter(where)
    assert found.device == batch.device and found.to("cpu").equals(cdevice.asarray(wanted))
    assert cc.filter(batch, where).to("cpu").equals(cdevice.asarray(wanted))
    more = batch.with_columns(e=f("a") * 2, b=f("b") + 1, one=cc.scalar(1)).to("cpu")
    assert more.column_names == [*TABLE.schema.names, "e", "one"]
    assert more["e"].equals(cdevice.asarray(pc.multiply(TABLE["a"], 2.0)))
    assert more["b"].equals(cdevice.asarray(pc.add(TABLE["b"], 1.0))) and set(more["one"].to_pylist()) == {1}
    few = batch.project({"twice": f("i") * 2, "s": "s"}).to("cpu")
    assert few.column_names == ["twice", "s"] and few["s"].equals(cdevice.asarray(TABLE["s"]))
    assert batch.project([f("i") * 2, "s"]).column_names == ["(i * 2)", "s"]


def _close(a, b):
    return a is b if None in (a, b) else a == pytest.approx(b, rel=1e-12)


@everywhere
def test_aggregates_of_expressions_are_those_of_the_rows_that_are_chosen(device, way):
    batch = cdevice.asarray(TABLE).to(device)
    wanted = {
        "total": (f("b") * f("j"), "sum"),
        "rows": ([], "count_all"),
        "known": ("a", "count"),
        "nulls": ("i", "count", {"mode": "only_null"}),
        "least": ("i", "min"),
        "middle": ("b", "quantile", {"q": 0.5}),
        "spread": ("b", "variance", {"ddof": 1}),
        "tails": ("b", "kurtosis", {"biased": False}),
        "first": ("s", "first"),
        "kinds": ("s", "count_distinct"),
    }
    for where, mask in (
        (None, None),
        (f("a") > 0.5, pc.greater(TABLE["a"], 0.5)),
        (f("a") > 100, pc.greater(TABLE["a"], 100.0)),
    ):
        rows = TABLE if mask is None else TABLE.filter(mask)
        made = cc.aggregate(batch, wanted, where=where)
        assert made.device == batch.device
        (found,) = made.to("cpu").to_pylist()
        product = pc.multiply(rows["b"], rows["j"].cast("float64"))
        assert _close(found["total"], pc.sum(product).as_py())
        assert found["rows"] == len(rows) and found["known"] == pc.count(rows["a"]).as_py()
        assert found["nulls"] == rows["i"].null_count and found["least"] == pc.min(rows["i"]).as_py()
        assert found["middle"] == pc.quantile(rows["b"], 0.5)[0].as_py()
        assert _close(found["spread"], pc.variance(rows["b"], ddof=1).as_py())
        assert _close(found["tails"], pc.kurtosis(rows["b"], biased=False).as_py())
        assert found["first"] == pc.first(rows["s"]).as_py() and found["kinds"] == pc.count_distinct(rows["s"]).as_py()


@everywhere
def test_aggregates_of_encoded_columns_are_those_of_their_rows(device):
    numbers, words = pa.array([3, 1, None, 2, 1]), pa.array(["b", "a", None, "c", "a"])
    columns = {
        "d": numbers.dictionary_encode("encode"),
        "r": pc.run_end_encode(numbers),
        "words": words.dictionary_encode(),
        "runs": pc.run_end_encode(words),
    }
    batch = cdevice.asarray(pa.record_batch(columns)).to(device)
    for data in (batch, cdevice.asstream([batch[:2], batch[2:2], batch[2:]])):
        wanted = {f"{c} {a}": (c, a) for c in ("d", "r") for a in ("sum", "min", "mean", "variance", "count_distinct")}
        wanted |= {f"{c} {a}": (c, a) for c in ("words", "runs") for a in ("max", "count", "first")}
        (found,) = cc.aggregate(data, wanted).to("cpu").to_pylist()
        for c in ("d", "r"):
            assert [found[f"{c} {a}"] for a in ("sum", "min", "mean", "variance", "count_distinct")] == [
                7,
                1,
                1.75,
                0.6875,
                3,
            ]
        for c in ("words", "runs"):
            assert [found[f"{c} {a}"] for a in ("max", "count", "first")] == ["c", 4, "b"]


def _forms(batch):
    """A batch, chunks and a stream of the same rows."""
    return batch, [batch[:1], batch[1:1], batch[1:]], cdevice.asstream([batch[:1], batch[1:]])


@everywhere
@pytest.mark.parametrize("q", [0.5, [0.5], [0, 0.5, 1], [0.9, 0.1]], ids=str)
@pytest.mark.parametrize("interpolation", ["linear", "lower", "midpoint"])
def test_aggregate_gives_all_quantiles_as_groups_do(device, q, interpolation):
    columns = {"k": [1] * 4, "y": pa.array([2, None, 9, 1], pa.int16()), "none": pa.array([None] * 4, pa.float64())}
    batch = cdevice.asarray(pa.record_batch(columns)).to(device)
    options = {"q": q, "interpolation": interpolation}
    wanted = {"y": ("y", "quantile", options), "few": ("y", "quantile", {**options, "min_count": 4})}
    wanted |= {"none": ("none", "quantile", options)}
    for where in (None, "y > 50"):
        groups = cc.group_by(batch, [], where=where).aggregate(wanted).to("cpu")
        for data in _forms(batch):
            made = cc.aggregate(data, wanted, where=where)
            assert made.device == batch.device
            found = pa.record_batch(made.to("cpu"))
            found.validate(full=True)
            assert (
                found.to_pylist() == groups.to_pylist() and found.schema.types == pa.record_batch(groups).schema.types
            )
    (row,) = cc.aggregate(batch, wanted).to("cpu").to_pylist()
    judged = pc.quantile(columns["y"], q=q, interpolation=interpolation).to_pylist()
    assert row == {"y": judged if len(judged) > 1 else judged[0], "few": None, "none": None}


@everywhere
def test_aggregate_gives_all_modes_as_a_list(device):
    batch = cdevice.asarray(pa.record_batch({"y": pa.array([3, 1, None, 3, 1, 2, 3], pa.int32())})).to(device)
    wanted = {f"n{n}": ("y", "mode", {"n": n}) for n in (1, 2, 5)}
    modes = [{"mode": 3, "count": 3}, {"mode": 1, "count": 2}, {"mode": 2, "count": 1}]
    one = pa.struct([("mode", pa.int32()), ("count", pa.int64())])
    for data in _forms(batch):
        made = cc.aggregate(data, wanted)
        assert made.device == batch.device
        found = pa.record_batch(made.to("cpu"))
        found.validate(full=True)
        assert found.schema.types == [one, pa.list_(one), pa.list_(one)]
        assert found.to_pylist() == [{"n1": modes[0], "n2": modes[:2], "n5": modes}]


@everywhere
@pytest.mark.parametrize(
    ("values", "where"),
    [
        (pa.array([1.0, None]), "y > 5"),
        (pa.array([], pa.float64()), None),
        (pa.array([None, None], pa.int8()), None),
        (pa.array([None, None], pa.decimal128(9, 2)), None),
        (pa.array([True, None]), "not y"),
    ],
    ids=["no row is chosen", "no rows", "nulls", "nulls of decimals", "no bool is chosen"],
)
def test_a_mode_of_no_values_leaves_the_row_of_the_other_aggregates(device, values, where):
    batch = cdevice.asarray(pa.record_batch({"y": values})).to(device)
    wanted = {"n": ([], "count_all"), "one": ("y", "mode"), "two": ("y", "mode", {"n": 2})}
    wanted |= {"few": ("y", "mode", {"min_count": 9}), "sum": ("y", "sum")}
    kind = pa.struct([("mode", values.type), ("count", pa.int64())])
    for data in _forms(batch):
        made = cc.aggregate(data, wanted, where=where)
        assert made.device == batch.device
        found = pa.record_batch(made.to("cpu"))
        found.validate(full=True)
        rows = 0 if where else len(values)
        assert found.to_pylist() == [{"n": rows, "one": None, "two": [], "few": None, "sum": None}]
        assert found.schema.types[1:4] == [kind, pa.list_(kind), kind]


@everywhere
@pytest.mark.parametrize("least", [0.0, 7.5, 100.0])  # most rows, few, none
def test_groups_are_of_expressions_and_of_the_rows_that_are_chosen(device, least):
    batch = cdevice.asarray(TABLE).to(device)
    made = cc.group_by(batch, {"late": f("i") > 0, "s": "s"}, where=f("b") > least).aggregate(
        {"n": ([], "count_all"), "most": (f("j") * 2, "max"), "j": ("j", "sum")}
    )
    table = pa.Table.from_batches([TABLE]).filter(pc.greater(TABLE["b"], least))
    table = table.append_column("late", pc.greater(table["i"], 0)).append_column("m", pc.multiply(table["j"], 2))
    judged = table.group_by(["late", "s"], use_threads=False).aggregate([([], "count_all"), ("m", "max"), ("j", "sum")])
    wanted = [dict(zip(("late", "s", "n", "most", "j"), row.values())) for row in judged.to_pylist()]
    assert made.to("cpu").to_pylist() == [{k: row[k] for k in ("late", "s", "n", "most", "j")} for row in wanted]


@everywhere
def test_columns_more_keep_the_metadata_of_the_schema(device):
    schema = pa.schema([pa.field("a", pa.int64(), metadata={"of": "a"})], metadata={"of": "all"})
    batch = cdevice.asarray(pa.record_batch([pa.array([1, 2])], schema=schema)).to(device)
    parts = cdevice.asstream(iter([batch]), schema=batch.schema).with_columns(b=f("a") + 1)
    assert parts.schema.metadata == {b"of": b"all"}
    for got in (batch.with_columns(b=[1, 2]), batch.with_columns(b=f("a") + 1), *parts):
        got = pa.record_batch(got.to("cpu")).schema
        assert got.names == ["a", "b"] and got.field("a").metadata == {b"of": b"a"}
        assert got.metadata == {b"of": b"all"} and got.field("b").metadata is None


@everywhere
def test_streams_are_chosen_from_extended_and_summed_batch_by_batch(device):
    def stream():
        return cdevice.asstream([TABLE[:50], TABLE[50:51], TABLE[51:]]).to(device)

    kept = TABLE.filter(pc.greater(TABLE["b"], 0.0))
    out = stream().filter(f("b") > 0).with_columns(e=f("j") + 1).select(["e", "s"])
    assert [c.name for c in out.schema.children] == ["e", "s"]
    whole = out.read_all().to("cpu")
    assert whole["e"].equals(cdevice.asarray(pc.add(kept["j"], 1))) and whole["s"].equals(cdevice.asarray(kept["s"]))
    (found,) = stream().aggregate([("j", "sum"), ([], "count_all")], where=f("b") > 0).to("cpu").to_pylist()
    assert found == {"j_sum": pc.sum(kept["j"]).as_py(), "count_all": len(kept)}
    groups = stream().group_by("s", where=f("b") > 0).aggregate([("j", "max")]).to("cpu").to_pylist()
    judged = pa.Table.from_batches([kept]).group_by("s", use_threads=False).aggregate([("j", "max")])
    assert {r["s"]: r["j_max"] for r in groups} == {r["s"]: r["j_max"] for r in judged.to_pylist()}
    best = stream().top_k(5, [("b", "descending")]).to("cpu")
    assert best["b"].to_pylist() == sorted(TABLE["b"].to_pylist(), reverse=True)[:5]
    sizes = [x.length for x in stream().rebatch(40)]
    assert sizes == [40, 40, 40, 17]
    assert stream().rebatch(40).read_all().to("cpu").equals(cdevice.asarray(TABLE))
    names = cdevice.record_batch({"s": ["x", "Yz"], "n": [1, 2]}).to(device)
    joined = stream().join(names, "s", join_type="inner").read_all()
    assert joined.length == sum(v in ("x", "Yz") for v in TABLE["s"].to_pylist())
