"""How far a stream has come is reported."""

import io
import sys
import types

import pytest

import cdevice
from cdevice.interop import progress
from cdevice.interop.progress import Progress


def batches(n=3, rows=10):
    for _ in range(n):
        yield cdevice.asarray({"x": list(range(rows))})


def clock(monkeypatch, *seconds):
    times = iter(seconds)
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=lambda: next(times)))


def test_a_callable_gets_the_numbers_of_the_batches_so_far(monkeypatch):
    clock(monkeypatch, 0.0, 0.05, 0.2, 0.25, 0.5)
    told = []
    out = cdevice.asstream(batches()).progress(told.append, total_rows=30).read_all()
    assert out.num_rows == 30
    assert told == [Progress(20, 160, 0.2, 30, False), Progress(30, 240, 0.5, 30, True)]  # none sooner than 0.1 s
    assert told[1].rows_per_second == 60.0


def test_the_stream_stays_what_it_was():
    source = cdevice.asstream(batches())
    out = source.progress(lambda p: None)
    assert out.schema == cdevice.asstream(batches()).schema
    assert out.to_pylist() == cdevice.asstream(batches()).to_pylist()
    empty = []
    none = cdevice.asstream(iter(()), schema={"x": "int64"}).progress(empty.append)
    assert none.read_all().num_rows == 0 and [p.rows for p in empty] == [0]


def test_a_terminal_shows_one_line_that_is_written_anew(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    clock(monkeypatch, 0.0, 0.2, 0.4, 0.6, 0.8)
    cdevice.asstream(batches()).progress(total_rows=30).read_all()
    lines = out.getvalue().split("\r")
    assert lines[1] == "[########................] 10 of 30 rows, 80 B, 50 rows/s"
    assert lines[-1] == "[########################] 30 of 30 rows, 240 B, 38 rows/s\n"


def test_a_file_gets_the_last_line_alone(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    clock(monkeypatch, 0.0, 0.2, 0.4, 0.6, 1.0)
    cdevice.asstream(batches()).progress().read_all()
    assert out.getvalue() == "30 rows, 240 B, 30 rows/s\n"


def test_a_notebook_updates_one_output(monkeypatch):
    shown = []
    handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    display = types.ModuleType("IPython.display")
    display.display = lambda data, raw, display_id: handle
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = type("ZMQInteractiveShell", (), {})
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    cdevice.asstream(batches()).progress().read_all()
    assert shown[-1].startswith("30 rows, 240 B")


def test_an_error_of_the_callable_ends_the_stream():
    def fails(p):
        raise RuntimeError("the pipe is closed")

    with pytest.raises(RuntimeError, match="the pipe is closed"):
        cdevice.asstream(batches()).progress(fails).read_all()


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match="progress: report must be True or a callable, not 3"):
        cdevice.asstream(batches()).progress(3)
    with pytest.raises(cdevice.ArgumentError, match="progress: total_rows must be an int of 0 or more, not -1"):
        cdevice.asstream(batches()).progress(total_rows=-1)


def test_sizes_are_shown_in_units_of_a_thousand():
    assert str(Progress(1_234_567, 98_765_432, 2.0, None, True)) == "1,234,567 rows, 98.8 MB, 617,284 rows/s"
    assert Progress(5, 5, 0.0, None, False).rows_per_second == 0.0


def test_files_tell_how_many_rows_there_are(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
    pq = pytest.importorskip("pyarrow.parquet", reason="pip install pyarrow")
    pq.write_table(pa.table({"x": list(range(1000))}), tmp_path / "t.parquet")
    told = []
    cdevice.scan(tmp_path / "t.parquet", progress=told.append).read_all()
    assert (told[-1].rows, told[-1].total_rows) == (1000, 1000)
    cdevice.scan(tmp_path / "t.parquet", where="x < 10", progress=told.append).read_all()
    assert told[-1].total_rows is None
