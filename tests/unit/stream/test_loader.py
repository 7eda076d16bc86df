"""``cdevice.loader``: batches of files for training."""

import gc
import json
import threading

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
np = pytest.importorskip("numpy", reason="pip install numpy")
import pyarrow.dataset as ds  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from waiting import until  # noqa: E402

import cdevice  # noqa: E402

ROWS, FILES = 1000, 3
FIRST = [871, 888, 909, 868, 913, 877, 884, 901]  # of seed 2: the order is a promise


def table(file):
    first = file * ROWS
    return pa.table(
        {
            "k": pa.array(range(first, first + ROWS), "int64"),
            "x": pa.array(np.arange(ROWS, dtype="f4") + first),
            "s": [f"v{i}" for i in range(ROWS)],
        }
    )


@pytest.fixture
def paths(tmp_path):
    out = [str(tmp_path / f"{i}.parquet") for i in range(FILES)]
    for i, path in enumerate(out):
        pq.write_table(table(i), path, row_group_size=170)  # 150 rows in the last one
    return out


def keys(loader):
    return [batch["k"].to_pylist() for batch in loader]


def flat(batches):
    return [k for batch in batches for k in batch]


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("cdevice-loader")]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    gc.collect()
    until(lambda: not threads())


def test_in_order_it_gives_the_rows_of_the_files(paths):
    loader = cdevice.loader(paths, batch_size=64)
    batches = list(loader)
    assert [b.length for b in batches] == [64] * 46 + [56] and len(loader) == 47
    assert cdevice.concat(batches) == pa.concat_tables([table(i) for i in range(FILES)])


@pytest.mark.parametrize("size", [1, 7, 170, 999, 5000])
@pytest.mark.parametrize("shuffle_rows", [1, 100, 1 << 18])
def test_shuffled_every_row_comes_once(paths, size, shuffle_rows):
    loader = cdevice.loader(paths, columns=["k"], batch_size=size, shuffle=True, shuffle_rows=shuffle_rows)
    found = keys(loader)
    assert len(found) == len(loader)
    assert all(len(b) == size for b in found[:-1])
    assert sorted(flat(found)) == list(range(ROWS * FILES)) and flat(found) != sorted(flat(found))


def test_the_columns_of_a_row_stay_together(paths):
    for batch in cdevice.loader(paths, batch_size=100, shuffle=True, seed=3):
        rows = batch.to_pylist()
        assert all(r["x"] == r["k"] and r["s"] == f"v{r['k'] % ROWS}" for r in rows)


def test_the_order_follows_from_seed_and_epoch_for_any_number_of_threads(paths):
    def epochs(**options):
        loader = cdevice.loader(paths, columns=["k"], batch_size=50, shuffle=True, shuffle_rows=300, **options)
        return keys(loader), keys(loader)

    first = epochs(seed=5, threads=1, prefetch=0)
    assert first[0] != first[1]
    assert epochs(seed=5, threads=4, prefetch=3) == first
    assert epochs(seed=6)[0] != first[0]


def test_the_order_is_the_same_in_every_version(paths):
    loader = cdevice.loader(paths, columns=["k"], batch_size=8, shuffle=True, seed=2, shuffle_rows=64)
    assert keys(loader)[0] == FIRST


def test_an_epoch_is_chosen_by_its_number(paths):
    loader = cdevice.loader(paths, columns=["k"], batch_size=50, shuffle=True)
    epochs = [keys(loader) for _ in range(3)]
    assert loader.epoch == 3
    loader.set_epoch(1)
    assert keys(loader) == epochs[1] and loader.epoch == 2


@pytest.mark.parametrize("world", [2, 3, 7])
def test_each_rank_has_as_many_rows_and_no_row_is_twice(paths, world):
    for shuffle in (False, True):
        parts = []
        for rank in range(world):
            options = {"rank": rank, "world_size": world, "shuffle": shuffle, "shuffle_rows": 200}
            loader = cdevice.loader(paths, columns=["k"], batch_size=32, **options)
            parts.append(flat(keys(loader)))
            assert len(parts[-1]) == loader.num_rows == ROWS * FILES // world
        assert len(set(flat(parts))) == world * (ROWS * FILES // world)


def test_drop_last_leaves_out_a_batch_of_fewer_rows(paths):
    loader = cdevice.loader(paths, columns=["k"], batch_size=64, drop_last=True)
    assert [len(b) for b in keys(loader)] == [64] * 46 and len(loader) == 46
    assert keys(cdevice.loader(paths, batch_size=5000, drop_last=True)) == []


def test_a_loop_goes_on_where_its_state_was_taken(paths):
    options = {"columns": ["k"], "batch_size": 30, "shuffle": True, "seed": 1, "shuffle_rows": 120}
    whole = cdevice.loader(paths, **options)
    epochs = [keys(whole), keys(whole)]
    for stop in (0, 1, 4, 5, 99, 100):
        loader = cdevice.loader(paths, **options)
        keys(loader)
        loop = iter(loader)
        before = [next(loop)["k"].to_pylist() for _ in range(stop)]
        state = json.loads(json.dumps(loader.state_dict()))
        again = cdevice.loader(paths, threads=1, prefetch=0, **options)
        again.load_state_dict(state)
        assert again.state_dict()["batches"] == stop % 100
        assert before + (keys(again) if stop < 100 else []) == epochs[1]
        assert again.epoch == 2


def test_batches_before_a_state_are_not_read(paths):
    options = {"columns": ["k"], "batch_size": 100, "shuffle_rows": 100}
    state = cdevice.loader(paths, **options).state_dict()
    state["batches"] = 20
    broken = cdevice.loader(paths, **options)
    with open(paths[0], "r+b") as f:
        f.seek(4)
        f.write(b"\xff" * 200)
    broken.load_state_dict(state)
    assert flat(keys(broken)) == list(range(2000, 3000))


def test_a_state_of_other_settings_or_files_is_refused(paths):
    options = {"columns": ["k"], "batch_size": 30, "shuffle": True}
    state = cdevice.loader(paths, **options).state_dict()
    for name, value in {"batch_size": 31, "seed": 4, "columns": ["x"], "world_size": 2, "drop_last": True}.items():
        with pytest.raises(cdevice.ArgumentError, match=f"load_state_dict: {name} is"):
            cdevice.loader(paths, **{**options, name: value}).load_state_dict(state)
    with pytest.raises(cdevice.ArgumentError, match="row groups of the files"):
        cdevice.loader(paths[:2], **options).load_state_dict(state)
    loader = cdevice.loader(paths, **options)
    for bad in (None, {}, {**state, "version": 2}, {**state, "batches": -1}, {**state, "batches": 10_000}):
        with pytest.raises(cdevice.ArgumentError, match="load_state_dict"):
            loader.load_state_dict(bad)
    loader.load_state_dict(state)


def test_a_loop_that_is_left_begins_again_and_leaves_no_thread(paths):
    loader = cdevice.loader(paths, columns=["k"], batch_size=10, shuffle_rows=10, threads=3)
    for batch in loader:
        assert batch["k"].to_pylist() == list(range(10))
        break
    until(lambda: not threads())
    assert loader.state_dict()["batches"] == 1
    assert flat(keys(loader)) == list(range(ROWS * FILES)) and loader.epoch == 1


def test_a_second_loop_ends_the_first(paths):
    loader = cdevice.loader(paths, batch_size=10)
    first = iter(loader)
    next(first)
    second = iter(loader)
    with pytest.raises(RuntimeError, match="this loop was closed"):
        next(first)
    assert next(second)["k"].to_pylist() == list(range(10))
    loader.close()
    assert not threads()
    with pytest.raises(RuntimeError, match="this loop was closed"):
        next(second)


def test_batches_outlive_the_loop(paths):
    loader = cdevice.loader(paths, batch_size=1000, shuffle=True)
    batches = list(loader)
    del loader
    gc.collect()
    assert sorted(flat(b["k"].to_pylist() for b in batches)) == list(range(ROWS * FILES))


def test_a_file_that_cannot_be_decoded_is_named(paths):
    loader = cdevice.loader(paths, columns=["k"], batch_size=100, shuffle_rows=100)
    with open(paths[1], "r+b") as f:
        f.seek(4)
        f.write(b"\xff" * 200)
    seen = []
    with pytest.raises(cdevice.StreamError, match=r"loader: .*1\.parquet, row group 0: "):
        for batch in loader:
            seen += batch["k"].to_pylist()
    assert seen == list(range(ROWS)) and not threads()


def test_a_file_that_has_changed_is_named(paths):
    loader = cdevice.loader(ds.dataset(paths[0]), batch_size=100)
    list(loader)
    pq.write_table(table(0)[:30], paths[0])
    with pytest.raises(cdevice.StreamError, match=r"0\.parquet"):
        list(loader)


def test_columns_become_tensors(paths):
    given = next(iter(cdevice.loader(paths, columns=["k", "x"], batch_size=4, as_="numpy")))
    assert type(given["x"]) is np.ndarray and given["x"].dtype == "f4" and given["k"].tolist() == [0, 1, 2, 3]
    given = next(iter(cdevice.loader(paths, columns=["x"], batch_size=4, as_="dlpack")))
    assert np.from_dlpack(given["x"]).tolist() == [0, 1, 2, 3]
    with pytest.raises(cdevice.ArgumentError, match="column 's' of type string does not become a tensor"):
        cdevice.loader(paths, batch_size=4, as_="dlpack")


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_library_of_tensors_gets_its_own(paths, library):
    try:
        found = pytest.importorskip(library, reason=f"pip install {library}")
    except pytest.skip.Exception:
        with pytest.raises(
            ModuleNotFoundError, match=f"loader: as_='{library}' needs {library}: pip install {library}"
        ):
            cdevice.loader(paths, columns=["x"], batch_size=4, as_=library)
        return
    given = next(iter(cdevice.loader(paths, columns=["x"], batch_size=4, as_=library)))
    assert type(given["x"]) is getattr(found, "Tensor", None) or library == "jax"
    assert given["x"].tolist() == [0, 1, 2, 3]


def test_bad_arguments_are_named(paths):
    bad = [
        ({"batch_size": 0}, "batch_size must be an int of 1 or more, not 0"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"seed": -1}, "seed"),
        ({"prefetch": -1}, "prefetch"),
        ({"threads": 0}, "threads"),
        ({"rank": 2, "world_size": 2}, "rank is 2, of 2"),
        ({"columns": ["k", "nope"]}, "no column 'nope'; there are k, x, s"),
        ({"columns": ["k", "k"]}, "twice"),
        ({"as_": "tensor"}, "as_ must be None or one of"),
    ]
    for options, words in bad:
        with pytest.raises(cdevice.ArgumentError, match=words):
            cdevice.loader(paths, **{"batch_size": 4, **options})
    with pytest.raises(TypeError, match="loader: columns must be a list of names"):
        cdevice.loader(paths, batch_size=4, columns="k")
    with pytest.raises(TypeError, match="loader: source must be"):
        cdevice.loader([3], batch_size=4)
    with pytest.raises(FileNotFoundError):
        cdevice.loader("/nowhere.parquet", batch_size=4)
    with pytest.raises(TypeError, match="use cdevice.loader"):
        cdevice.Loader()


def test_other_files_and_tables_in_memory_have_batches_too(tmp_path):
    pa.parquet.write_table(table(0)[:0], tmp_path / "none.parquet")
    assert keys(cdevice.loader(tmp_path / "none.parquet", batch_size=4, shuffle=True)) == []
    cdevice.asstream(table(0)).write_ipc(tmp_path / "t.arrow")
    for source in (tmp_path / "t.arrow", ds.dataset(table(0))):
        found = keys(cdevice.loader(source, batch_size=64, shuffle=True))
        assert sorted(flat(found)) == list(range(ROWS)) and flat(found) != list(range(ROWS))


@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_batches_are_where_they_are_asked_for(paths, device):
    if not cdevice.device(device).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    loader = cdevice.loader(paths, batch_size=100, shuffle=True, device=device)
    batches = list(loader)
    assert {b.device for b in batches} == {cdevice.device(device)}
    on_the_cpu = cdevice.loader(paths, batch_size=100, shuffle=True)
    assert [b.to("cpu").to_pylist() for b in batches] == [b.to_pylist() for b in on_the_cpu]


def test_a_loop_of_the_parent_is_refused_in_a_forked_child(paths, monkeypatch):
    loop = iter(cdevice.loader(paths, batch_size=10))
    next(loop)
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="began in the parent process"):
        next(loop)
