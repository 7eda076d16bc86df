"""Streams of files, and streams into files."""

import datetime
import os
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
