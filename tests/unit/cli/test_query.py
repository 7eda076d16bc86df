"""The command ``cdevice query``."""

import csv
import io
import json

import pytest

from cdevice.cli import main

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
import pyarrow.parquet as pq  # noqa: E402

TABLE = pa.table(
    {
        "carrier": ["UA", "AA", "UA", "DL", None, "AA"],
        "delay": [20.0, 5.0, None, 40.0, 1.0, 35.0],
        "month": [1, 1, 2, 2, 3, 3],
    }
)


@pytest.fixture
def path(tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet")
    return str(tmp_path / "t.parquet")


def _rows(capsys, *args):
    assert main(["query", *args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_rows_are_chosen_and_columns_computed(path, capsys):
    found = _rows(capsys, path, "--filter", "delay > 15 and carrier != 'DL'", "--columns", "carrier, late=delay - 15")
    assert found == [{"carrier": "UA", "late": 5.0}, {"carrier": "AA", "late": 20.0}]


def test_groups_are_aggregated_sorted_and_cut(path, capsys):
    found = _rows(
        capsys, path, "--by", "carrier", "--agg", "delay:mean,max", "--agg", "count", "--sort", "delay_max:descending", "--limit", "2"
    )  # fmt: skip
    assert found == [
        {"carrier": "DL", "delay_mean": 40.0, "delay_max": 40.0, "count": 1},
        {"carrier": "AA", "delay_mean": 20.0, "delay_max": 35.0, "count": 2},
    ]
    assert _rows(capsys, path, "--by", "first=month < 3", "--agg", "delay:sum", "--sort", "first") == [
        {"first": False, "delay_sum": 36.0},
        {"first": True, "delay_sum": 65.0},
    ]
    assert _rows(capsys, path, "--agg", "delay:count", "--agg", "count") == [{"delay_count": 5, "count": 6}]
    assert [r["delay"] for r in _rows(capsys, path, "--sort", "delay:desc", "--limit", "2")] == [40.0, 35.0]
    assert [r["month"] for r in _rows(capsys, path, "--limit", "3")] == [1, 1, 2]


def test_names_may_stand_behind_expressions(path, capsys):
    found = _rows(
        capsys, path, "--columns", "n=month+1, month, list=coalesce(delay, 0.0) == 20, carrier,", "--limit", "1"
    )
    assert found == [{"n": 2, "month": 1, "list": True, "carrier": "UA"}]
    assert _rows(capsys, path, "--by", "n=month+1, carrier", "--agg", "count", "--limit", "1") == [
        {"n": 2, "carrier": "UA", "count": 1}
    ]
    found = _rows(capsys, path, "--columns", "s=carrier == 'a, (b=', m=month,\n carrier", "--limit", "1")
    assert found == [{"s": False, "m": 1, "carrier": "UA"}]


def test_names_are_taken_as_they_are_written(tmp_path, capsys):
    micro, mu = "\u00b5g", "\u03bcg"  # one name for Python
    pq.write_table(pa.table({micro: [1], "a": [2], mu: [3], "class": [4], "of a": [5]}), tmp_path / "t.parquet")
    path = str(tmp_path / "t.parquet")
    assert _rows(capsys, path, "--columns", f"{micro}, a") == [{micro: 1, "a": 2}]
    assert _rows(capsys, path, "--columns", f"a, {mu}, {micro}=a, class, of a") == [
        {"a": 2, mu: 3, micro: 2, "class": 4, "of a": 5}
    ]
    assert _rows(capsys, path, "--by", f"{micro}, a", "--agg", f"{mu}:sum") == [{micro: 1, "a": 2, f"{mu}_sum": 3}]


def test_json_has_null_for_what_is_not_finite(tmp_path, capsys):
    pq.write_table(pa.table({"x": [float("nan"), float("-inf"), 1.5, None]}), tmp_path / "t.parquet")
    assert [row["x"] for row in _rows(capsys, str(tmp_path / "t.parquet"))] == [None, None, 1.5, None]


def test_the_answer_is_a_table_csv_or_a_file(path, capsys, tmp_path):
    assert main(["query", path, "--by", "month", "--agg", "count"]) == 0
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines()] == [["month", "count"], ["1", "2"], ["2", "2"], ["3", "2"]]
    assert "3 rows" in err and "cpu" in err
    assert main(["query", path, "--csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["carrier", "delay", "month"] and rows[3] == ["UA", "", "2"] and len(rows) == 7
    assert main(["query", path, "--filter", "month == 1", "--output", str(tmp_path / "o.parquet")]) == 0
    assert pq.read_table(tmp_path / "o.parquet").num_rows == 2


def test_a_picture_is_drawn(path, tmp_path):
    pytest.importorskip("matplotlib", reason="pip install matplotlib")
    target = tmp_path / "p.png"
    assert main(["query", path, "--by", "carrier", "--agg", "delay:mean", "--plot", str(target)]) == 0
    assert target.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--filter", "dely > 1"], "no column 'dely'; did you mean 'delay'?"),
        (["--filter", "__import__('os').system('echo no')"], "expected the name of a function"),
        (["--filter", "delay"], "expected a condition"),
        (["--filter", "delay >"], "invalid syntax"),
        (["--by", "carrier", "--agg", "delay:men"], "no aggregate 'men'"),
        (["--agg", "sum"], "expected COLUMN:AGGREGATE"),
        (["--by", "carrier", "--columns", "delay"], "--columns is for rows"),
        (["--by", "month", "--sort", "carrier"], "--sort: no column 'carrier'"),
        (["--sort", "nope", "--limit", "1"], "nope"),
        (["--columns", "x=,"], "expected names or name=expression"),
        (["--columns", "month,,delay"], "expected names or name=expression"),
        (["--columns", "month)"], "expected names or name=expression"),
        (["--columns", "month) + (delay"], "expected names or name=expression"),
        (["--columns", "coalesce(month"], "expected names or name=expression"),
        (["--columns", " "], "expected names or name=expression"),
        (["--columns", "month, month=delay"], "two columns of the name 'month'"),
        (["--columns", "x=month, *delay"], "invalid syntax"),
        (["--columns", "x=month, y=None is"], "invalid syntax"),
        (["--plot", "x.nope"], "known picture format"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_of_them_is_run(path, args, said, capsys):
    if "--plot" in args:
        pytest.importorskip("matplotlib", reason="pip install matplotlib")
    assert main(["query", path, *args]) == 2
    out, err = capsys.readouterr()
    assert said in err and out == "" and "Traceback" not in err


def test_files_and_devices_that_are_not_there_are_named(path, tmp_path, capsys):
    assert main(["query", str(tmp_path / "nope.parquet")]) == 2
    assert "nope.parquet" in capsys.readouterr().err
    assert main(["query", path, "--device", "vpi"]) == 3
    assert "vpi" in capsys.readouterr().err
    assert main(["query", path, "--device", "opencl:99"]) == 3  # whether there is one, or none
    assert "opencl:99" in capsys.readouterr().err
    assert main(["query", path, "--device", "no such"]) == 2
