"""The command line, as a user starts it."""

import json
import os
import re
import subprocess
import sys

import pytest


def run(*args, cwd, **more):
    command = [sys.executable, "-m", "cdevice", *map(str, args)]
    # what lives at exit is meant to: a sanitizer's leak check of the child would fail it
    env = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"} | more
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)


def test_help_helps(tmp_path):
    r = run("--help", cwd=tmp_path)
    assert r.returncode == 0
    for word in ("devices", "check", "config", "demo", "bench", "exit status"):
        assert word in r.stdout
    for command in ("devices", "check", "config", "demo", "bench"):
        r = run(command, "--help", cwd=tmp_path)
        assert r.returncode == 0 and "usage:" in r.stdout


def test_without_a_command(tmp_path):
    r = run(cwd=tmp_path)
    assert r.returncode == 2 and "usage:" in r.stdout
    assert run("nonsense", cwd=tmp_path).returncode == 2


def test_version(tmp_path):
    r = run("--version", cwd=tmp_path)
    assert r.returncode == 0 and re.fullmatch(r"\d+\.\d+.*\n", r.stdout)


def test_devices(tmp_path):
    r = run("devices", cwd=tmp_path)
    assert r.returncode == 0, r.stderr
    assert r.stdout.splitlines()[0].split()[0] == "cpu"
    assert run("devices", "-v", cwd=tmp_path).returncode == 0


def test_devices_json(tmp_path):
    r = run("devices", "--json", cwd=tmp_path)
    assert r.returncode == 0, r.stderr
    data = json.loads(r.stdout)
    assert data["devices"][0]["device"].split(":")[0] == "cpu" and data["devices"][0]["type_id"] == 1
    for one in data["unavailable"]:
        assert one["backend"] and one["error"]


def test_check_runs_the_conformance_suite(tmp_path):
    r = run("check", "--device", "cpu", cwd=tmp_path)
    assert r.returncode == 0, r.stdout + r.stderr
    assert "cpu conforms" in r.stdout and "layouts" in r.stdout and "not applicable" in r.stdout
    r = run("check", "--device", "777", cwd=tmp_path)
    assert r.returncode == 3 and "777" in r.stderr
    assert run("check", "--device", "no such word", cwd=tmp_path).returncode == 2
    assert run("check", cwd=tmp_path).returncode == 2
    (tmp_path / "broken_suite.py").write_text(
        "from cdevice.testing.fake import FakeSuite\nfrom cdevice.testing.mutants import DropsSourceOffset\n"
        "class Suite(FakeSuite):\n    backend = DropsSourceOffset\n"
    )
    r = run("check", "--suite", "broken_suite:Suite", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert r.returncode == 1 and "bytes_arrive_where_they_belong" in r.stdout and "does not conform" in r.stdout


@pytest.fixture
def table():
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    nan = float("nan")
    return pa.table(
        {
            "i": pa.array([1, None, 3], pa.int32()),
            "f": [1.0, nan, None],
            "nested": [[1.5, nan], None, []],
            "text": ["ä", None, "z" * 40],
            "time": pa.array([0, 1, None], pa.timestamp("us", "UTC")),
            "word": pa.array(["a", None, "a"]).dictionary_encode(),
        }
    ).replace_schema_metadata({"who": "me"})


@pytest.fixture(params=["parquet", "file", "stream", "csv"])
def path(request, table, tmp_path):
    import pyarrow as pa

    path = tmp_path / f"table.{request.param}"
    if request.param == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet", reason="a pyarrow with Parquet")
        parquet.write_table(table, path)
    elif request.param == "csv":
        csv = pytest.importorskip("pyarrow.csv", reason="a pyarrow with CSV")
        csv.write_csv(table.select(["i", "f", "text"]), path)
    else:
        new = pa.ipc.new_file if request.param == "file" else pa.ipc.new_stream
        with new(str(path), table.schema) as w:
            w.write_table(table)
    return path


def test_demo(path, tmp_path):
    r = run("demo", path, "--device", "cpu", cwd=tmp_path)
    assert r.returncode == 0, r.stdout + r.stderr
    assert "no copy" in r.stdout and re.search(r"^ +cpu\S* +3 .* equal$", r.stdout, re.M)
    assert "every value of 3 rows agrees" in r.stdout
    assert r.stderr == ""  # no progress bar where nobody looks


def test_demo_on_every_device(table, tmp_path):
    import pyarrow as pa

    with pa.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as w:
        for _ in range(5):
            w.write_table(table)
    r = run("demo", "t.arrow", "--rows", "10", "--batch-rows", "2", cwd=tmp_path)
    assert r.returncode == 0, r.stdout + r.stderr
    assert "10 rows" in r.stdout


def test_demo_of_nothing(table, tmp_path):
    import pyarrow as pa

    with pa.ipc.new_stream(str(tmp_path / "t.arrows"), table.schema):
        pass
    r = run("demo", "t.arrows", "--device", "cpu", cwd=tmp_path)
    assert r.returncode == 0, r.stdout + r.stderr


def test_demo_errors(tmp_path):
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    r = run("demo", "absent.parquet", cwd=tmp_path)
    assert r.returncode == 2 and "absent.parquet" in r.stderr and "Traceback" not in r.stderr
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and nothing else")
    r = run("demo", "cut.parquet", cwd=tmp_path)
    assert r.returncode == 2 and "known formats" in r.stderr and "Traceback" not in r.stderr
    assert run("demo", "--rows", "0", cwd=tmp_path).returncode == 2
    r = run("demo", "--device", "no such device", cwd=tmp_path)
    assert r.returncode == 2 and "Traceback" not in r.stderr


def test_demo_device_not_available(tmp_path):
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    data = json.loads(run("devices", "--json", cwd=tmp_path).stdout)
    here = {d["device"].split(":")[0] for d in data["devices"]}
    absent = next(name for name in ("cuda", "rocm", "vpi", "hexagon") if name not in here)
    r = run("demo", "--device", absent, cwd=tmp_path)
    assert r.returncode == 3 and r.stderr and "Traceback" not in r.stderr


def test_demo_compares_nans_at_any_depth_beside_what_python_cannot_say():
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    from cdevice.cli import compare

    nan = float("nan")
    kind = pa.struct([("f", pa.float32()), ("t", pa.timestamp("s")), ("l", pa.list_(pa.struct([("d", pa.float64())])))])
    rows = [{"f": nan, "t": 2**61, "l": [{"d": nan}, None]}, None, {"f": 1.0, "t": 5, "l": []}]
    a = pa.array(rows, kind)
    assert compare.same_values(pa, a, pa.array(rows, kind))
    assert compare.same_values(pa, a.slice(1), pa.array(rows[1:], kind))
    for other in (
        [rows[0], None, {"f": 1.0, "t": 6, "l": []}],
        [rows[0], rows[2], rows[2]],
        [{"f": nan, "t": 2**61, "l": [{"d": 0.0}, None]}, *rows[1:]],
        [{"f": nan, "t": 2**61, "l": [{"d": nan}]}, *rows[1:]],
    ):
        assert not compare.same_values(pa, a, pa.array(other, kind))
    kind = pa.map_(pa.string(), pa.float64())
    maps = [pa.array([[("k", x)], None, [("a", 1.0), ("b", nan)]], kind) for x in (nan, 2.0)]
    assert compare.same_values(pa, maps[0], maps[0].take(pa.array([0, 1, 2]))) and not compare.same_values(pa, *maps)


def test_demo_takes_odd_tables_or_says_what_is_wrong(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    csv = pytest.importorskip("pyarrow.csv", reason="a pyarrow with CSV")
    parquet = pytest.importorskip("pyarrow.parquet", reason="a pyarrow with Parquet")
    assert csv
    (tmp_path / "long.csv").write_text("a,b\n" + f"{'x' * (3 << 20)},1\n" * 2)
    kind = pa.struct([("f", pa.float32()), ("t", pa.timestamp("s"))])
    tables = {
        "nested.arrow": pa.table({"s": pa.array([{"f": float("nan"), "t": 2**61}], kind)}),
        "zero.arrow": pa.table({"\0z": [1]}),
    }
    for name, table in tables.items():
        with pa.ipc.new_file(str(tmp_path / name), table.schema) as w:
            w.write_table(table)
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(twice, tmp_path / "twice.parquet")
    for name in ("long.csv", "nested.arrow", "twice.parquet"):
        r = run("demo", name, "--device", "cpu", cwd=tmp_path)
        assert r.returncode == 0, name + r.stdout + r.stderr
    r = run("demo", "zero.arrow", "--device", "cpu", cwd=tmp_path)
    assert r.returncode == 2 and "zero byte" in r.stderr and "Traceback" not in r.stderr


def test_demo_sees_a_difference():
    """The checks of the demo can fail."""
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    from cdevice.cli import compare

    nan = float("nan")
    a = pa.record_batch({"x": pa.array([1.0, nan, None]), "y": pa.array([[nan], [1.0], []])})
    assert compare.difference(pa, a, a) is None
    b = pa.record_batch({"x": pa.array([1.0, nan, 2.0]), "y": a["y"]})
    assert compare.difference(pa, a, b) == "column x, row 2: None came back as 2.0"
    assert compare.difference(pa, a, a.slice(0, 2)) == "3 rows came back as 2"
    c = pa.record_batch({"x": pa.array([1.0, nan, None], pa.float32()), "y": a["y"]})
    assert "double came back as float" in compare.difference(pa, a, c)
    assert compare.difference(pa, a, a.replace_schema_metadata({"k": "v"})) == "the schema came back different"


@pytest.mark.slow
@pytest.mark.nosan
def test_bench_prints_its_table(tmp_path):
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    r = run("bench", "--quick", "--json", tmp_path / "out.json", cwd=tmp_path)
    assert r.returncode == 0, r.stdout + r.stderr
    assert "int64 export + destroy" in r.stdout and "growth" in r.stdout and "error" not in r.stdout
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["ns"]["int64 export + destroy"]["cdevice"] > 0


def test_demo_takes_maps_whose_entries_have_other_names(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    import pyarrow.parquet

    maps = pa.array([[("a", 1)], None, [("b", 2), ("c", None)]], pa.map_(pa.string(), pa.int64()))
    pyarrow.parquet.write_table(pa.table({"m": maps}), tmp_path / "maps.parquet")
    done = run("demo", tmp_path / "maps.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_devices_says_shortly_why_the_others_are_missing_and_at_length_when_asked(tmp_path):
    missing = {"cwd": tmp_path, "CDEVICE_CUDA_LIBRARY": "/no/such"}
    short, long = run("devices", **missing), run("devices", "-v", **missing)
    line = next(x for x in short.stdout.splitlines() if x.split()[:1] == ["cuda"])
    assert "driver library" in line and "tried" not in line
    assert "tried: " in long.stdout and "/no/such" in long.stdout


def test_help_is_a_word_too(tmp_path):
    assert run("help", cwd=tmp_path).stdout == run("--help", cwd=tmp_path).stdout != ""
    assert "--device" in run("help", "check", cwd=tmp_path).stdout
