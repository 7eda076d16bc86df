"""Tables of databases and files: cursors of ADBC, results of DuckDB and DataFusion, Parquet and Arrow IPC by path."""

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402

TABLE = pa.table({"k": [1, 2, None, 4], "x": [0.5, None, 2.5, 4.5], "s": ["a", None, "c", "ä"]})
KEPT = TABLE.filter(pa.array([False, True, False, True]))


@pytest.fixture(params=["cpu", "opencl"])
def device(request):
    if not cdevice.device(request.param).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    return request.param


@pytest.fixture
def cursor():
    dbapi = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="pip install adbc-driver-sqlite")
    with dbapi.connect() as connection, connection.cursor() as cursor:
        yield cursor


def test_a_cursor_of_adbc_gives_its_result_and_takes_batches(cursor, device):
    batch = cdevice.asarray(TABLE).to(device)
    cursor.adbc_ingest("flights", cdevice.asstream([batch]).to("cpu"))
    cursor.execute("select * from flights where k in (2, 4)")
    found = cdevice.asarray(cursor).to(device)
    assert found.device == cdevice.device(device) and found == KEPT
    cursor.execute("select k, s from flights")
    stream = cdevice.asstream(cursor, device=device)
    assert stream.schema.names == ["k", "s"] and stream.filter(cc.field("k") > 1).read_all() == KEPT.select(["k", "s"])
    cursor.execute("select k from flights where k > 9")
    assert cdevice.asstream(cursor).read_all().length == 0


def test_a_cursor_without_a_result_raises_what_its_driver_does(cursor):
    with pytest.raises(Exception, match="(?i)fetch.*execute|execute.*fetch"):
        cdevice.asstream(cursor)


@pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
def test_a_relation_and_a_connection_of_duckdb_give_their_results(device):
    duckdb = pytest.importorskip("duckdb", "2", reason='pip install "duckdb>=2"')
    there = cdevice.asarray(TABLE).to(device)
    batch = there.to("cpu")
    connection = duckdb.connect()
    connection.register("batch", batch)
    for ask in (connection.sql, connection.execute):
        found = cdevice.asstream(ask("select * from batch where k in (2, 4)"), device=device).read_all()
        assert found.device == cdevice.device(device) and found == KEPT
    assert cdevice.asarray(connection.execute("select sum(k)::bigint as n from batch")).to_pylist() == [{"n": 7}]


def test_a_data_frame_of_datafusion_gives_its_result_and_takes_batches(device):
    datafusion = pytest.importorskip("datafusion", reason="pip install datafusion")
    batch = cdevice.asarray(TABLE).to(device)
    context = datafusion.SessionContext()
    frame = context.from_arrow(cdevice.asstream([batch]).to("cpu"), "flights")
    assert frame.count() == 4
    found = cdevice.asarray(context.sql("select * from flights where k in (2, 4) order by k")).to(device)
    assert found.device == cdevice.device(device) and found == KEPT
    stream = cdevice.asstream(context.sql("select k, s from flights order by k"), device=device)
    assert stream.filter(cc.field("k") > 1).read_all() == KEPT.select(["k", "s"])


@pytest.mark.parametrize("write", ["write_parquet", "write_ipc"])
def test_a_file_is_read_by_its_path(tmp_path, write, device):
    path = tmp_path / "table"
    assert getattr(cdevice.asstream([cdevice.asarray(TABLE).to(device)]), write)(path) == 4
    for given in (path, str(path), [path]):
        found = cdevice.scan(given, where="k == 2 or k == 4", device=device).read_all()
        assert found.device == cdevice.device(device) and found == KEPT
    for function in (cdevice.asarray, cdevice.asstream):
        for given in (path, str(path)):
            with pytest.raises(TypeError, match=r"cdevice\.scan\(\) reads"):
                function(given)
