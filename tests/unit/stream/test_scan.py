"""Streams of files, and streams into files."""

import datetime
import math
import os
import random
from decimal import Decimal

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
import pyarrow.compute as pc  # noqa: E402
import pyarrow.csv  # noqa: E402
import pyarrow.dataset as ds  # noqa: E402
import pyarrow.ipc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.compute.expressions import pushdown  # noqa: E402

f, Expression = cc.field, cc.Expression
TABLE = pa.table({"k": list(range(1000)), "x": [i / 7 for i in range(1000)], "s": [f"v{i % 13}" for i in range(1000)]})


def _stream_file(path):
    with pa.ipc.new_stream(str(path), TABLE.schema) as w:
        w.write_table(TABLE, max_chunksize=300)


def _ipc_file(path):
    with pa.ipc.new_file(str(path), TABLE.schema) as w:
        w.write_table(TABLE, max_chunksize=300)


FORMATS = {
    "t.parquet": lambda p: pq.write_table(TABLE, p, row_group_size=100),
    "t.arrow": _ipc_file,
    "t.arrows": _stream_file,
    "t.csv": lambda p: pyarrow.csv.write_csv(TABLE, p),
}


@pytest.fixture(params=FORMATS)
def path(request, tmp_path):
    FORMATS[request.param](tmp_path / request.param)
    return tmp_path / request.param


def test_a_file_of_any_format_is_a_stream_of_its_rows(path):
    assert cdevice.scan(path).read_all().equals(cdevice.asarray(TABLE.combine_chunks().to_batches()[0]))
    assert cdevice.scan(str(path), batch_rows=64).read_all().length == 1000
    assert max(b.length for b in cdevice.scan(path, batch_rows=64)) <= 64


def test_rows_and_columns_are_chosen_while_the_file_is_read(path):
    where = (f("k") >= 250) & (f("k") < 260) & (cc.utf8_length(f("s")) == 2)
    out = cdevice.scan(path, columns={"twice": f("k") * 2, "s": "s"}, where=where).read_all()
    kept = TABLE.filter((pc.field("k") >= 250) & (pc.field("k") < 260) & (pc.utf8_length(pc.field("s")) == 2))
    assert out.column_names == ["twice", "s"]
    assert out["twice"].to_pylist() == [2 * k for k in kept["k"].to_pylist()]
    assert out["s"].to_pylist() == kept["s"].to_pylist()
    assert cdevice.scan(path, columns=["x"], where="k == 7").read_all().to_pylist() == [{"x": 1.0}]


def test_columns_and_row_groups_that_are_not_needed_are_not_read(tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=100)
    path = tmp_path / "t.parquet"
    data = path.read_bytes()
    first = pq.ParquetFile(path).metadata.row_group(0)
    begins = [first.column(i).dictionary_page_offset or first.column(i).data_page_offset for i in range(3)]
    broken = bytearray(data)
    broken[begins[0] : begins[0] + 30] = b"\xff" * 30  # k of the first 100 rows
    broken[begins[2] : begins[2] + 30] = b"\xff" * 30  # s of the first 100 rows
    path.write_bytes(broken)
    assert cdevice.scan(path, columns=["x"], where=f("x") > 100).read_all().length == 300 - 1
    assert cdevice.scan(path, columns=["s"], where=f("k") >= 100).read_all().length == 900
    with pytest.raises((cdevice.StreamError, OSError)):
        cdevice.scan(path, columns=["s"]).read_all()


def _typed_table():
    moments = pa.array([0, 1, 3], pa.timestamp("s", "Europe/Berlin"))
    words = pa.array(["a", "b", None])
    return pa.table(
        {
            "n": [1, 2, 3],
            "t": moments,
            "naive": moments.cast(pa.timestamp("us")),
            "u": pa.array([2**64 - 1, 0, 2], pa.uint64()),
            "d": pa.array([-1, 0, 1], pa.decimal128(5, 2)),
            "wide": pa.array([-1, 0, 1], pa.decimal256(50, 2)),
            "view": words.cast(pa.string_view()),
            "word": words.dictionary_encode(),
            "half": pa.array([1.5, 2.5, None], pa.float16()),
        }
    )


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_condition_of_any_type_chooses_the_rows_of_a_file_as_of_a_batch(tmp_path, ending):
    table, utc = _typed_table(), datetime.timezone.utc
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as w:
            w.write_table(table)
    batch = cdevice.asarray(table)
    where = [
        *(f("t") > datetime.datetime(1970, 1, 1, 0, 0, s, us, utc) for s, us in ((2, 0), (0, 5), (1, 999_999))),
        f("t").isin([datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=utc)]),
        f("naive") < datetime.datetime(1970, 1, 1, 0, 0, 1, 1),
        *(f(c) < v for c in ("d", "wide") for v in (0, 1, Decimal("0.005"), 10**6)),
        f("d").isin([0, 1]),
        *(Expression.parse(text) for text in ("u > 5", "u == 18446744073709551615", "u in (0, 2)", "d < 0 or u < 1")),
        f("view") > "a",
        f("view").isin(["b"]),
        f("word") == "b",
        f("word").isin(["b"]),
        f("half") > 2.25,
    ]
    for e in where:
        assert cdevice.scan(path, where=e).read_all()["n"].to_pylist() == batch.filter(e)["n"].to_pylist(), e


# Values of each type, few of them, so that row groups have one alone and conditions name those that are there.
REALS = [math.nan, 0.0, -0.0, 0.1, 1.0, 1.5, -2.5, math.inf]
INTEGERS = [0, 1, 2, 3, -1, 100]
COLUMNS = {
    "float64": REALS,
    "float32": REALS,
    "float16": REALS,
    "int8": INTEGERS,
    "int32": [*INTEGERS, 2**31 - 1],
    "int64": [*INTEGERS, 20_000_000, 2**53, -(2**63)],
    "uint8": [0, 1, 2, 255],
    "uint64": [0, 1, 2, 2**64 - 1],
    "bool": [True, False],
    "string": ["", "a", "b", "a\0", "ü"],
    "binary": [b"", b"a", b"b"],
    "decimal128(9, 2)": [Decimal("0.00"), Decimal("1.00"), Decimal("1.50"), Decimal("-2.50")],
    "date32": [datetime.date(1970, 1, d) for d in (1, 2, 3)],
    "timestamp[us]": [datetime.datetime(1970, 1, 1, 0, 0, s) for s in (0, 1, 2)],
    "time64[us]": [datetime.time(0, 0, s) for s in (0, 1, 2)],
    "duration[ms]": [datetime.timedelta(seconds=s) for s in (0, 1, 2)],
}
NUMBERS = [*REALS, *INTEGERS, 2, 2.5, 255, 300, 2**31, 2**53, 2.0**53, 1e300, 5e-324, 0.30000001192092896, 1 / 3]


def _condition(rng, table, depth=0):
    kind = rng.randrange(10)
    if kind < 3 and depth < 3:
        a, b = _condition(rng, table, depth + 1), _condition(rng, table, depth + 1)
        return ~a if kind == 0 else a & b if kind == 1 else a | b
    name = rng.choice(table.column_names[1:])
    values = COLUMNS[name]
    numeric = name[:3] in ("flo", "int", "uin")
    draw = lambda: rng.choice(NUMBERS if numeric and rng.random() < 0.5 else values)
    x = f(name)
    if kind == 3:
        return rng.choice([x.is_null(), x.is_valid(), x.is_null(nan_is_null=True) if "float" in name else x.is_null()])
    if kind in (4, 5):
        return x.isin([rng.choice([*values, None]) for _ in range(rng.randrange(1, 4))])
    value = draw()
    if rng.random() < 0.2:
        value = pa.scalar(rng.choice(values), table.schema.field(name).type)
    compare = rng.choice(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
    return getattr(cc, compare)(*((x, value) if rng.random() < 0.7 else (value, x)))


@pytest.mark.parametrize("seed", range(12))
def test_a_file_gives_the_rows_that_a_batch_gives_whatever_its_statistics_rule_out(tmp_path, seed):
    rng = random.Random(seed)
    rows, group = 48, rng.choice([1, 2, 4])
    columns = {"n": list(range(rows))}
    for name, values in COLUMNS.items():
        few = [
            rng.sample(values, min(len(values), rng.choice([1, 1, 2]))) + [None] * (rng.random() < 0.2)
            for _ in range(rows)
        ]
        columns[name] = pa.array(
            [rng.choice(few[i // group]) for i in range(rows)], pa.field(cdevice.asschema(name)).type
        )
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=group)
    batch, held = cdevice.asarray(table), 0
    for _ in range(60):
        e = _condition(rng, table)
        try:
            wanted = batch.filter(e)["n"].to_pylist()
        except (cdevice.ArgumentError, cc.NoKernel):  # an integer that is none of float64 beside a float
            continue
        held += 1
        assert cdevice.scan(tmp_path / "t.parquet", where=e).read_all()["n"].to_pylist() == wanted, e
    assert held > 30


@pytest.mark.parametrize(
    ("name", "values", "conditions"),
    [
        ("float32", [0.1, 0.5, 1.5, 2.5], ["x > 2.4", "x < 0.2", "2.4 <= x", "x == 2.5", "x < 0.3 or x > 2.4"]),
        ("float64", [0.1, 0.5, 1.5, 2.5], ["x > 2.4", "x > 2", "x == 2.5"]),
        ("int64", [1, 2, 3, 20_000_000], ["x > 2.5", "x <= 1.5", "x in (1, 2)", "x == 3.0", "x > 5 and x != 7"]),
        ("uint64", [1, 2, 3, 2**64 - 1], ["x > 2.5", "x in (1, 2)", "x > 18446744073709551614"]),
        ("string", ["a", "b", "c", "d"], ["x >= 'd'", "x in ('a', 'b')", "'b' > x"]),
        ("decimal128(9, 2)", [Decimal(k) for k in range(4)], ["x > 2", "x == decimal('1.00')"]),
    ],
)
def test_row_groups_that_a_condition_rules_out_are_skipped(tmp_path, name, values, conditions):
    column = pa.array([v for v in values for _ in range(10)], pa.field(cdevice.asschema(name)).type)
    pq.write_table(pa.table({"x": column}), tmp_path / "t.parquet", row_group_size=10)
    (fragment,) = ds.dataset(tmp_path / "t.parquet").get_fragments()
    for text in conditions:
        for e in (Expression.parse(text), Expression.parse(str(Expression.parse(text)))):
            pushed = pushdown.pushed_down(e, ds.dataset(tmp_path / "t.parquet").schema)
            assert len(fragment.split_by_row_group(pushed)) < 4, text


def test_values_of_pyarrow_rule_out_row_groups_as_those_of_python_do(tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=100)
    (fragment,) = ds.dataset(tmp_path / "t.parquet").get_fragments()
    e = Expression.from_pyarrow(pc.field("k") > 850)
    assert len(fragment.split_by_row_group(pushdown.pushed_down(e, TABLE.schema))) == 2
    assert cdevice.scan(tmp_path / "t.parquet", where=pc.field("k") > 850).read_all().length == 149


def test_text_is_not_read_as_csv_under_the_name_of_another_format(tmp_path):
    for name in ("t.parquet", "t.arrow", "t.json"):
        (tmp_path / name).write_text("hello,x\nworld,1\n")
        with pytest.raises(cdevice.ArgumentError, match=f"{name}: the file is text and not of the format"):
            cdevice.scan(tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(cdevice.ArgumentError, match="pipe is not a regular file"):
        cdevice.scan(tmp_path / "pipe")
    (tmp_path / "empty.parquet").write_text("")
    with pytest.raises(cdevice.ArgumentError, match=r"empty\.parquet: the file is empty"):
        cdevice.scan(tmp_path / "empty.parquet")
    (tmp_path / "t.tsv").write_text("a\tb\n1\t2,5\n")
    assert cdevice.scan(tmp_path / "t.tsv").to_pylist() == [{"a": 1, "b": "2,5"}]


def test_folders_of_name_and_value_are_a_column(tmp_path):
    pq.write_to_dataset(pa.table({"k": ["a", "b"], "v": [1, 2]}), tmp_path, partition_cols=["k"])
    assert cdevice.scan(tmp_path).read_all().to_pylist() == [{"v": 1, "k": "a"}, {"v": 2, "k": "b"}]
    assert cdevice.scan(tmp_path, where="k == 'b'", columns=["v"]).to_pylist() == [{"v": 2}]


def test_a_column_of_the_files_is_not_replaced_by_the_name_of_their_folder(tmp_path):
    (tmp_path / "k=1").mkdir()
    pq.write_table(pa.table({"k": ["x", "y"], "v": [1, 2]}), tmp_path / "k=1" / "t.parquet")
    assert cdevice.scan(tmp_path).to_pylist() == [{"k": "x", "v": 1}, {"k": "y", "v": 2}]


def test_columns_that_pyarrow_cannot_filter_hinder_no_condition(tmp_path):
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1, 2]))
    cdevice.asstream([pa.record_batch({"i": [1, 2, 3], "r": runs})]).write_ipc(tmp_path / "r.arrow")
    assert cdevice.scan(tmp_path / "r.arrow", where="i > 1").to_pylist() == [{"i": 2, "r": 1}, {"i": 3, "r": 2}]
    pq.write_table(pa.table({"i": [1, 2], "u": pa.array([bytes(16), None], pa.uuid())}), tmp_path / "u.parquet")
    assert cdevice.scan(tmp_path / "u.parquet", where="u is not None", columns=["i"]).to_pylist() == [{"i": 1}]


@pytest.mark.parametrize("write", ["write_parquet", "write_ipc"])
def test_what_a_source_raises_comes_out_of_writing_as_it_is(tmp_path, write):
    class Mine(Exception):
        pass

    def source():
        yield {"x": [1]}
        raise Mine("boom")

    with pytest.raises(Mine, match="^boom$"):
        getattr(cdevice.asstream(source()), write)(tmp_path / "x")
    assert not os.listdir(tmp_path)


def test_dictionaries_that_differ_are_named_where_a_file_has_one_alone(tmp_path):
    batches = [pa.record_batch({"k": pa.array(v).dictionary_encode()}) for v in (["a", "b"], ["c"])]
    with pytest.raises(cdevice.ArgumentError, match="write_ipc: the dictionaries of the batches differ"):
        cdevice.asstream(batches).write_ipc(tmp_path / "x.arrow")
    assert cdevice.asstream(batches).write_parquet(tmp_path / "x.parquet") == 3


def test_a_file_is_not_read_up_to_a_number_that_was_cut(tmp_path):
    pq.write_table(pa.table({"u": pa.array([1, 2, 3], pa.uint64())}), tmp_path / "t.parquet")
    assert cdevice.scan(tmp_path / "t.parquet", where=f("u") < 2.5).read_all().to_pylist() == [{"u": 1}, {"u": 2}]


@pytest.mark.parametrize("write", ["write_parquet", "write_ipc"])
def test_a_stream_is_written_whole_or_not_at_all(tmp_path, write):
    target = tmp_path / "out"
    batches = TABLE.to_batches(max_chunksize=128)
    assert getattr(cdevice.asstream(batches), write)(target) == 1000
    assert cdevice.scan(target).read_all().equals(cdevice.asarray(TABLE.combine_chunks().to_batches()[0]))

    def fails():
        yield batches[0]
        raise RuntimeError("the source broke")

    before = target.read_bytes()
    with pytest.raises(Exception, match="the source broke"):
        getattr(cdevice.asstream(fails()), write)(target)
    assert target.read_bytes() == before and os.listdir(tmp_path) == ["out"]


def test_what_cannot_be_scanned_is_named(tmp_path):
    with pytest.raises(cdevice.ArgumentError, match="scan: the list of paths is empty"):
        cdevice.scan([])
    for odd in (None, [None], [b"x", 3]):
        with pytest.raises(TypeError, match="scan: source must be a path, a list of paths"):
            cdevice.scan(odd)
    with pytest.raises(cdevice.ArgumentError, match=r"batch_rows must be an int from 1 to 2\*\*31 - 1"):
        cdevice.scan(tmp_path, batch_rows=1 << 31)
    with pytest.raises(OSError, match="nope"):
        cdevice.scan(tmp_path / "nope.parquet")
    (tmp_path / "zip").write_bytes(b"PK\3\4" + bytes(100))
    with pytest.raises(cdevice.ArgumentError, match="unknown format"):
        cdevice.scan(tmp_path / "zip")
    (tmp_path / "folder").mkdir()
    with pytest.raises(cdevice.ArgumentError, match="there is no file in"):
        cdevice.scan(tmp_path / "folder")
    pq.write_table(TABLE, tmp_path / "t.parquet")
    with pytest.raises(cdevice.ArgumentError, match="no column 'kk'; did you mean 'k'"):
        cdevice.scan(tmp_path / "t.parquet", where=f("kk") > 1)
    with pytest.raises(cdevice.ArgumentError, match="no column 'y'"):
        cdevice.scan(tmp_path / "t.parquet", columns=["y"])
    with pytest.raises(cdevice.ArgumentError, match="batch_rows"):
        cdevice.scan(tmp_path / "t.parquet", batch_rows=0)
    with pytest.raises(TypeError, match="source must be a path"):
        cdevice.scan(5 if False else [5])


def test_folders_lists_and_datasets_are_scanned(tmp_path):
    for i in range(3):
        pq.write_table(TABLE.slice(i * 100, 100), tmp_path / f"{i}.parquet")
    assert cdevice.scan(tmp_path).read_all().length == 300
    assert cdevice.scan([tmp_path / "0.parquet", tmp_path / "2.parquet"]).read_all()["k"].to_pylist()[100] == 200
    assert cdevice.scan(ds.dataset(tmp_path), where="k >= 150").aggregate([([], "count_all")]).to_pylist() == [
        {"count_all": 150}
    ]
