"""The bench section ``groups``: db-benchmark's data and questions, answers compared, rows with ratios."""

import types

import pytest

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")
np = pytest.importorskip("numpy", reason="pip install numpy")

import cdevice  # noqa: E402
import cdevice.compute as cc  # noqa: E402
from cdevice.bench import group_questions, groups, table  # noqa: E402


@pytest.fixture(scope="module")
def million():
    return group_questions.group_table(1_000_000)


def test_the_data_is_db_benchmarks():
    data = group_questions.group_table(20_000)
    distinct = {name: len(set(data[name].to_pylist())) for name in data.column_names}
    assert [distinct[f"id{k}"] for k in (1, 2, 4, 5)] == [100] * 4
    assert 190 < distinct["id3"] <= 200 and 190 < distinct["id6"] <= 200
    assert min(data["id1"].to_pylist()) == "id001" and max(data["id3"].to_pylist()) <= "id0000000200"
    assert {*data["v1"].to_pylist()} == {*range(1, 6)} and {*data["v2"].to_pylist()} == {*range(1, 16)}
    v3 = data["v3"].to_pylist()
    assert 0 <= min(v3) < 1 and 99 < max(v3) <= 100 and all(round(x, 6) == x for x in v3)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize(("repeated", "times"), [(False, 1), (True, 2)])
def test_nine_tenths_of_the_left_rows_have_a_match(text, repeated, times):
    left, right = group_questions.join_tables(20_000, 1000, text, repeated)
    keys = right["k"].to_pylist()
    assert len(keys) == 1000 and {keys.count(k) for k in keys[:20]} == {times}
    there = set(keys)
    assert 0.88 < sum(k in there for k in left["k"].to_pylist()) / 20_000 < 0.92
    assert isinstance(keys[0], str if text else int)


def changed(wanted, name, values):
    return wanted.set_column(wanted.column_names.index(name), name, pa.array(values))


@pytest.mark.parametrize("limit", [group_questions.SORTED, 2])
def test_a_wrong_answer_is_found(monkeypatch, limit):
    monkeypatch.setattr(group_questions, "SORTED", limit)  # sorted, or by sums
    wanted = pa.table({"k": ["a", "bc", "def"], "n": [1, 2, 3], "x": [1e6, 2.0, None]})
    find = group_questions.difference
    assert find(wanted.take([2, 0, 1]).select(["x", "k", "n"]), wanted) is None
    assert find(changed(wanted, "x", [1e6 * (1 + 1e-12), 2.0, None]), wanted) is None
    assert find(changed(wanted, "n", [1.0, 2.0, 3.0]), wanted) is None  # another type, the same numbers
    assert find(changed(wanted, "x", [1e6 * (1 + 1e-6), 2.0, None]), wanted) == "x: other values"
    assert find(changed(wanted, "x", [1e6, 2.0, 3.0]), wanted) == "x: 0 nulls, not 1"
    assert find(changed(wanted, "n", [1, 2, 4]), wanted) == "n: other values"
    assert find(changed(wanted, "k", ["a", "bc", "defg"]), wanted) == "k: other values"
    assert find(wanted[:2], wanted) == "2 rows, not 3"


@pytest.mark.slow
@pytest.mark.nosan
def test_every_library_gives_pyarrows_answers():
    found = groups.measure(2000, 2, 1, False)
    assert groups.wrong(found) == []
    assert [*found["groups"]] == [*group_questions.GROUPS, *group_questions.STATISTICS][:-1] and len(found["joins"]) == 14
    installed = [n for n in ("pyarrow", "polars", "duckdb", "cpu") if n not in found["missing"]]
    assert "pyarrow" in installed and "cpu" in installed
    for title, of in [*found["groups"].items(), *found["joins"].items()]:
        assert [*of["ms"]] == installed[title in group_questions.STATISTICS :] and min(of["ms"].values()) > 0


@pytest.mark.slow
@pytest.mark.nosan
@pytest.mark.parametrize("question", list(group_questions.GROUPS))
def test_the_answers_of_a_million_rows_are_pyarrows(million, question):
    keys, wanted = group_questions.GROUPS[question]
    batch = cdevice.asarray(million.combine_chunks().to_batches()[0])
    found = pa.Table.from_batches([pa.record_batch(cc.group_by(batch, keys).aggregate(wanted))])
    assert group_questions.difference(found, million.group_by(keys).aggregate(wanted)) is None


FOUND = {
    "groups": {"q1 sum v1 by id1": {"ms": {"pyarrow": 40.0, "polars": 20.0, "cpu": 10.0, "opencl": 50.0}, "wrong": {}}},
    "joins": {
        "inner, int key, 10": {
            "ms": {"pyarrow": 30.0, "polars": 10.0, "cpu": 10.0},
            "wrong": {"cpu": "v1: other values"},
        },
        "left, int key, all": {"ms": {"pyarrow": 60.0, "cpu": 10.0}, "wrong": {}},
        "left, int key, 10,000, each twice": {"ms": {"pyarrow": 60.0, "polars": 1.0, "cpu": 10.0}, "wrong": {}},
    },
    "missing": ["duckdb"],
}


def test_ratios_are_beside_the_best_and_beside_each_that_has_a_target():
    rows = groups.compared(FOUND, 2)
    assert [
        (device, title.split()[0], beside, ratio, least) for _, device, title, *_, beside, ratio, least in rows
    ] == [
        ("cpu", "q1", "polars", 2.0, 1.7),
        ("opencl", "q1", "pyarrow", 0.8, 1.3),
        ("cpu", "inner,", "pyarrow", 3.0, 2.5),
        ("cpu", "inner,", "polars", 1.0, 1.5),
        ("cpu", "left,", "pyarrow", 6.0, 5.0),
        ("cpu", "left,", "pyarrow", 6.0, 1.5),
    ]
    assert [row[-1] for row in groups.compared(FOUND, 1)][:2] == [2.0, None]


def test_the_section_prints_ratios_and_wrong_answers(monkeypatch, capsys):
    asked = []

    def measure(rows, threads, rounds, opencl):
        asked.append((rows, threads, rounds))
        if threads == 1:
            raise RuntimeError("MemoryError")
        return FOUND

    monkeypatch.setattr(groups, "measure", measure)
    monkeypatch.setattr(groups.os, "cpu_count", lambda: 8)
    monkeypatch.setitem(table.shown, "targets", True)
    options = types.SimpleNamespace(rows=None, quick=False, rounds=9)
    out = groups.section({"pyarrow": None}, options)
    printed = capsys.readouterr().out
    assert asked == [(10_000_000, 2, 3), (10_000_000, 1, 3)]
    assert out["groups"][0]["ratio"] == 2.0 and out["groups wrong"] == ["inner, int key, 10: cpu: v1: other values"]
    assert "WRONG: inner, int key, 10: cpu: v1: other values" in printed
    assert "left out: groups with 1 threads (MemoryError)" in printed and "left out: duckdb (not installed)" in printed
    assert "10,000,000 rows" in printed and printed.count("MISSED") == 2
    options = types.SimpleNamespace(rows=500, quick=True, rounds=5)
    groups.section({"pyarrow": None}, options)
    assert asked[2:] == [(500, 2, 1)]
    capsys.readouterr()
    assert groups.section({}, options) == {} and "pyarrow is the judge" in capsys.readouterr().out


def test_rows_are_an_option(capsys):
    from cdevice.bench import command

    assert command.parser().parse_args(["--rows", "20000"]).rows == 20_000
    assert "groups" in command.SECTIONS
