"""``cdevice.dask``: a lazy collection of batches, on this process' threads and on a cluster."""

import os
import pickle
import signal
import subprocess
import sys

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
np = pytest.importorskip("numpy", reason="pip install numpy")
dask = pytest.importorskip("dask", reason="pip install dask distributed")
distributed = pytest.importorskip("distributed", reason="pip install distributed")
import pyarrow.compute as pc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from waiting import until  # noqa: E402

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
import cdevice.dask as cd  # noqa: E402

N, GROUP = 10_000, 500
f = cc.field


def table():
    rng = np.random.RandomState(4)
    return pa.table(
        {
            "k": pa.array(rng.randint(0, 7, N), mask=rng.random_sample(N) < 0.1),
            "n": rng.randint(-99, 99, N),
            "x": pa.array(rng.randint(0, 1000, N) / 8, mask=rng.random_sample(N) < 0.2),
            "s": [f"v{i % 13}" for i in range(N)],
        }
    )


TABLE = table()
SMALL = pa.table({"k": [1, 2, 2, 9], "word": ["one", "two", "zwei", "nine"]})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("dask") / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=GROUP)
    return str(path)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("workers"))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=folder
    ) as cluster:
        yield cluster


@pytest.fixture(params=["threads", "cluster"])
def batches(request, path):
    """The table as a collection, computed by threads of this process, or by two others."""
    if request.param == "threads":
        with dask.config.set(scheduler="threads"):
            yield cd.read_parquet(path)
        return
    with distributed.Client(request.getfixturevalue("cluster")):
        yield cd.read_parquet(path)


@pytest.fixture
def local(path):
    with dask.config.set(scheduler="synchronous"):
        yield cd.read_parquet(path)


def test_it_is_a_collection_by_dasks_protocol(local):
    assert dask.is_dask_collection(local) and local.npartitions == N // GROUP == len(local.__dask_keys__())
    assert local.__dask_graph__().keys() == set(local.__dask_keys__())
    again = cd.read_parquet(local._sources[0].of._fragment[1])
    assert dask.base.tokenize(local) != dask.base.tokenize(again)
    where = f("x") > 1
    assert dask.base.tokenize(local.filter(where)) == dask.base.tokenize(local.filter(f("x") > 1))
    assert dask.base.tokenize(local.filter(where)) != dask.base.tokenize(local.filter(f("x") > 2))


def test_each_partition_is_one_task_that_does_every_step(local):
    small = cdevice.asarray(SMALL)
    made = (
        local.filter("x > 1").with_columns(y=f("x") * 2).map_batches(lambda b: b).join(small, "k").select(["y", "word"])
    )
    tasks = made.__dask_graph__()
    assert len(tasks) == local.npartitions + 1  # and the small table
    assert len(local.group_by("k").aggregate([([], "count_all")]).__dask_graph__()) == 20 + 3 + 1  # a tree of eights


def test_rows_are_those_of_the_files_in_their_order(batches):
    assert batches.schema.names == ["k", "n", "x", "s"]
    assert batches.to_arrow().equals(TABLE)
    assert batches.compute() == TABLE


def test_steps_give_what_pyarrow_gives(batches):
    made = (
        batches.filter((f("x") > 50) & (f("s") != "v3"))
        .with_columns(y=f("x") * 2 + f("n"))
        .project({"y": "y", "s": "s"})
    )
    kept = TABLE.filter((pc.field("x") > 50) & (pc.field("s") != "v3"))
    expected = pc.add(pc.multiply(kept["x"], 2.0), pc.cast(kept["n"], "float64"))
    found = made.to_arrow()
    assert found.column_names == ["y", "s"] and found["s"].equals(kept["s"]) and found["y"].equals(expected)


def test_groups_of_the_whole_are_those_of_pyarrow(batches):
    made = (
        batches.filter("n > 0")
        .group_by("k")
        .aggregate({"rows": ([], "count_all"), "most": ("n", "max"), "sum": ("x", "sum")})
    )
    found = made.to_arrow().sort_by("k")
    kept = TABLE.filter(pc.field("n") > 0)
    expected = kept.group_by("k").aggregate([([], "count_all"), ("n", "max"), ("x", "sum")]).sort_by("k")
    assert made.npartitions == 1 and made.column_names == found.column_names == ["k", "rows", "most", "sum"]
    assert [c.to_pylist() for c in found.columns] == [
        expected[n].to_pylist() for n in ("k", "count_all", "n_max", "x_sum")
    ]
    first = list(dict.fromkeys(kept["k"].to_pylist()))  # in the order of their first rows
    assert made.compute()["k"].to_pylist() == first


def test_groups_of_no_keys_are_one_row_also_of_no_rows(local):
    for where, count in (("k >= 0", None), ("k < -5", 0)):
        made = local.filter(where).group_by([]).aggregate([([], "count_all")])
        assert made._empty.length == 0
        (row,) = made.compute().to_pylist()
        assert count is None or row == {"count_all": count}


def test_groups_have_conditions_and_keys_that_are_expressions(local):
    made = local.group_by({"odd": f("n") % 2 == 1}, where=f("x") > 10).aggregate([("x", "mean")])
    whole = cc.group_by(TABLE, {"odd": f("n") % 2 == 1}, where=f("x") > 10).aggregate([("x", "mean")])
    assert made.compute().to_pylist() == whole.to_pylist()  # the sums are exact


@pytest.mark.parametrize("join_type", ["inner", "left outer", "left semi", "left anti"])
def test_a_small_table_is_joined_with_every_batch(batches, join_type):
    found = batches.join(SMALL, "k", join_type=join_type)
    assert found.compute() == cc.join(TABLE, SMALL, "k", join_type=join_type)


def test_the_small_side_may_be_a_collection_and_of_other_names(local):
    small = cd.from_batches([{"key": [1, 2], "word": ["one", "two"]}, {"key": [3], "word": ["three"]}])
    found = local.join(small.filter("key != 2"), "k", "key", "inner")
    whole = cdevice.asarray(pa.record_batch({"key": [1, 3], "word": ["one", "three"]}))
    assert found.compute() == cc.join(TABLE, whole, "k", "key", join_type="inner")


def test_what_is_persisted_is_computed_once(batches, tmp_path):
    def noted(batch):
        (tmp_path / f"{os.getpid()}-{len(list(tmp_path.iterdir()))}-{id(batch)}").touch()
        return batch

    kept = batches.map_batches(noted, schema=batches.schema).filter("n > 0").persist()
    first = kept.to_arrow()
    calls = len(list(tmp_path.iterdir()))
    assert calls >= 1 and kept.npartitions == batches.npartitions
    assert kept.to_arrow().equals(first) and len(list(tmp_path.iterdir())) == calls
    assert kept.group_by("k").aggregate([([], "count_all")]).compute().to_pylist()
    assert first.equals(TABLE.filter(pc.field("n") > 0))


def test_dasks_own_functions_take_it(batches):
    a, b = dask.compute(batches.select(["x"]), batches.group_by("s").aggregate([([], "count_all")]))
    assert a.length == N and b.length == 13
    (kept,) = dask.persist(batches.select(["n"]))
    assert kept.to_arrow().equals(TABLE.select(["n"]))


def test_batches_of_this_process_are_partitions(batches):
    parts = TABLE.to_batches(max_chunksize=3000)
    made = cd.from_batches(parts)
    assert made.npartitions == len(parts) and made.to_arrow().equals(TABLE)
    assert (
        made.filter("n > 98").compute().length == 0
        and made.filter("n > 98").to_arrow().schema.names == TABLE.schema.names
    )


def test_a_file_without_rows_is_a_collection_without_rows(tmp_path, local):
    pq.write_table(TABLE[:0], tmp_path / "none.parquet")
    made = cd.read_parquet(tmp_path / "none.parquet", columns=["k", "n"])
    assert made.compute().length == 0 and made.column_names == ["k", "n"]
    assert made.group_by("k").aggregate([("n", "sum")]).compute().to_pylist() == []


@pytest.mark.parametrize("device", ["opencl"])
def test_batches_are_on_the_workers_devices_and_results_on_the_cpu(path, cluster, device):
    if not cdevice.device(device).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    with distributed.Client(cluster):
        made = cd.read_parquet(path, device=device)
        names = made.map_batches(lambda b: {"where": [str(b.device)]}, schema={"where": "string"})
        assert {r["where"] for r in names.compute().to_pylist()} == {"opencl:0"}
        kept = made.filter("x > 50").persist()
        assert kept.compute().device == cdevice.device("cpu")
        found = kept.group_by("k").aggregate([([], "count_all")]).to_arrow().sort_by("k")
    expected = TABLE.filter(pc.field("x") > 50).group_by("k").aggregate([([], "count_all")]).sort_by("k")
    assert found.equals(expected)


def test_a_wrong_step_is_an_error_here_before_anything_is_read(local):
    with pytest.raises(cdevice.ArgumentError, match="no column 'nope'"):
        local.filter("nope > 3")
    with pytest.raises(cdevice.ArgumentError, match="no column 'nope'"):
        local.with_columns(y=f("nope") + 1)
    with pytest.raises(TypeError, match="filter: expected an expression or its text, not int"):
        local.filter(3)
    with pytest.raises(cdevice.ArgumentError, match="no aggregate 'summ'"):
        local.group_by("k").aggregate([("n", "summ")])
    with pytest.raises((cdevice.ArgumentError, KeyError), match="nope"):
        local.group_by("nope").aggregate([("n", "sum")])
    with pytest.raises(cdevice.ArgumentError, match="join_type must be one of inner, left outer"):
        local.join(SMALL, "k", join_type="full outer")
    with pytest.raises((cdevice.ArgumentError, KeyError), match="nope"):
        local.join(SMALL, "k", "nope")
    with pytest.raises(cdevice.ArgumentError, match="map_batches: the function must return a batch"):
        local.map_batches(lambda b: b["x"])
    with pytest.raises(TypeError, match="map_batches: expected a function, not str"):
        local.map_batches("x")
    with pytest.raises(TypeError, match="use read_parquet"):
        cd.Batches()


def test_bad_sources_are_named(tmp_path, path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(cdevice.ArgumentError, match="read_parquet: these are no Parquet files"):
        cd.read_parquet(tmp_path / "t.csv")
    with pytest.raises(cdevice.ArgumentError, match="read_parquet: no column 'z'; there are k, n, x, s"):
        cd.read_parquet(path, columns=["z"])
    with pytest.raises(FileNotFoundError):
        cd.read_parquet(tmp_path / "nowhere.parquet")
    with pytest.raises(cdevice.ArgumentError, match="without batches"):
        cd.from_batches([])
    with pytest.raises(cdevice.ArgumentError, match="batch 1 has"):
        cd.from_batches([{"a": [1]}, {"b": [1]}])
    with pytest.raises(cdevice.ArgumentError, match="batch 0 is an array of int64"):
        cd.from_batches([[1, 2]])


def test_a_file_that_a_worker_cannot_read_is_named(batches, tmp_path):
    other = tmp_path / "gone.parquet"
    pq.write_table(TABLE[:10], other)
    made = cd.read_parquet(other)
    other.unlink()
    with pytest.raises(Exception, match=r"read_parquet: .*gone\.parquet, row group 0"):
        made.compute()


def test_a_device_that_the_worker_does_not_have_is_named(path, cluster):
    with distributed.Client(cluster):
        with pytest.raises(cdevice.BackendUnavailable, match="vulkan"):
            cd.read_parquet(path, device="vulkan").compute()


def test_tasks_are_small_messages(local):
    made = local.filter("x > 50").group_by("k").aggregate([("x", "mean")])
    assert all(len(pickle.dumps(task)) < 10_000 for task in made.__dask_graph__().values())


def test_a_worker_that_is_killed_in_the_middle_changes_no_result(path, tmp_path):
    def step(batch):  # each worker's first batch waits here until one of them was killed
        (tmp_path / f"{os.getpid()}.pid").touch()
        until(lambda: (tmp_path / "killed").exists())
        return batch

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path / "w")
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        made = cd.read_parquet(path).map_batches(step, schema=cdevice.asschema(TABLE.schema))
        answer = client.compute(made.group_by("k").aggregate([("n", "sum"), ([], "count_all")]).to("cpu"))
        until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
        victim = int(sorted(tmp_path.glob("*.pid"))[0].stem)
        os.kill(victim, signal.SIGKILL)
        (tmp_path / "killed").touch()
        found = pa.table(pa.record_batch(answer.result(timeout=120)))
        assert victim not in client.run(os.getpid).values()
    expected = TABLE.group_by("k").aggregate([("n", "sum"), ([], "count_all")])
    assert found.sort_by("k").to_pydict() == expected.sort_by("k").to_pydict()


def test_without_dask_it_states_what_to_install():
    code = (
        "import sys; sys.modules['dask'] = None\nimport cdevice\n"
        "try:\n    cdevice.dask.read_parquet\nexcept ModuleNotFoundError as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("cdevice.dask needs dask: pip install dask distributed"), done.stderr


def test_importing_the_package_imports_no_dask():
    code = "import sys, cdevice; cdevice.asarray; dir(cdevice); print('dask' in sys.modules, 'dask' in dir(cdevice))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False True\n", done.stderr
