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


@pytest.mark.parametrize("limit", [group_questions.SORTED, 2])  # sorted, or by sums
def test_a_wrong_answer_is_found(monkeypatch, limit):
    monkeypatch.setattr(group_questions, "SORTED", limit)
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
    ids = pa.table({"k": ["id1", "id2", "id3"], "n": [1, 2, 3]})
    assert find(changed(ids, "k", ["id1", "id3", "id2"]), ids) == "n: other values"


@pytest.mark.slow
@pytest.mark.nosan
def test_every_library_gives_pyarrows_answers():
    missing, *found = groups.measure(2000, 2, 1, False, None)
    assert [text for of in found for text in groups.wrong(of)] == []
    titles = {kind: [of["title"] for of in found if of["kind"] == kind] for kind in ("groups", "streams", "joins")}
    assert titles["groups"] == [*group_questions.GROUPS, *group_questions.STATISTICS][:-1]
    assert len(titles["joins"]) == 20 and {t.split(",")[0] for t in titles["joins"]} >= {"inner", "left", "right semi"}
    assert [t.split()[1] for t in titles["streams"]] == [*group_questions.STREAMS]
    installed = [n for n in ("pyarrow", "polars", "duckdb", "cpu") if n not in missing["missing"]]
    assert "pyarrow" in installed and "cpu" in installed
    for of in found:
        asked = installed[of["title"] in group_questions.STATISTICS :]
        if of["kind"] == "streams":
            asked = ["array", "stream"]
        elif of["title"].split(",")[0] in group_questions.OTHER_KINDS:
            asked = ["pyarrow", "cpu"]
        assert [*of["ms"]] == asked and min(of["ms"].values()) > 0


@pytest.mark.slow
@pytest.mark.nosan
def test_some_questions_alone_are_asked():
    _, *found = groups.measure(2000, 1, 1, False, "q4,left string key 10000")
    titles = [of["title"] for of in found]
    assert titles == ["q4 mean v1, v2, v3 by id4", "stream, q4 mean v1, v2, v3 by id4", "left, string key, 10,000"]
    assert table.wanted("q1 sum v1 by id1", "q4, q1") and not table.wanted("q10 sum v3", "q1,q")


@pytest.mark.slow
@pytest.mark.nosan
@pytest.mark.parametrize("question", list(group_questions.GROUPS))
def test_the_answers_of_a_million_rows_are_pyarrows(million, question):
    keys, wanted = group_questions.GROUPS[question]
    batch = cdevice.asarray(million.combine_chunks().to_batches()[0])
    found = pa.Table.from_batches([pa.record_batch(cc.group_by(batch, keys).aggregate(wanted))])
    assert group_questions.difference(found, million.group_by(keys).aggregate(wanted)) is None


def of(kind, title, wrong=None, **ms):
    return {"kind": kind, "title": title, "ms": ms, "wrong": wrong or {}}


FOUND = [
    {"missing": ["duckdb"]},
    of("groups", "q1 sum v1 by id1", pyarrow=40.0, polars=20.0, cpu=10.0, opencl=50.0),
    of("streams", "stream, q1 sum v1 by id1", array=9.0, stream=10.0),
    of("joins", "inner, int key, 10", {"cpu": "v1: other values"}, pyarrow=30.0, polars=10.0, cpu=10.0),
    of("joins", "left, int key, all", pyarrow=60.0, cpu=10.0),
    of("joins", "left, int key, 10,000, each twice", pyarrow=60.0, polars=1.0, cpu=10.0),
    of("joins", "left semi, int key, 10,000", pyarrow=60.0, cpu=10.0),
]


def test_ratios_are_beside_the_best_and_beside_each_that_has_a_target():
    rows = [row for x in FOUND[1:] for row in groups.compared(x, 2)]
    assert [
        (device, title.split()[0], beside, ratio, least) for _, device, title, *_, beside, ratio, least in rows
    ] == [
        ("cpu", "q1", "polars", 2.0, 1.7),
        ("opencl", "q1", "pyarrow", 0.8, 1.3),
        ("cpu", "stream,", "array", 0.9, 0.9),
        ("cpu", "inner,", "pyarrow", 3.0, 2.5),
        ("cpu", "inner,", "polars", 1.0, 1.5),
        ("cpu", "left,", "pyarrow", 6.0, 5.0),
        ("cpu", "left,", "pyarrow", 6.0, 1.5),
        ("cpu", "left", "pyarrow", 6.0, 1.5),
    ]
    assert [row[-1] for row in groups.compared(FOUND[1], 1)] == [2.0, None]


def test_the_section_prints_each_row_when_it_is_known_and_wrong_answers(monkeypatch, capsys):
    asked = []
    printed = []

    def measure(rows, threads, rounds, opencl, questions):
        asked.append((rows, threads, rounds, questions))
        if threads == 1:
            raise RuntimeError("MemoryError")
        for x in FOUND:
            yield x
            printed.append(capsys.readouterr().out)

    monkeypatch.setattr(groups, "measure", measure)
    monkeypatch.setattr(groups.os, "cpu_count", lambda: 8)
    monkeypatch.setitem(table.shown, "targets", True)
    options = types.SimpleNamespace(rows=None, quick=False, rounds=9, questions="q1")
    out = groups.section({"pyarrow": None}, options)
    assert asked == [(10_000_000, 2, 3, "q1"), (10_000_000, 1, 3, "q1")]
    assert out["groups"][0]["ratio"] == 2.0 and out["groups wrong"] == ["inner, int key, 10: cpu: v1: other values"]
    assert "10,000,000 rows" in printed[0] and printed[1].startswith("q1 sum v1 by id1 ")
    assert "WRONG: inner, int key, 10: cpu: v1: other values" in printed[3]
    end = capsys.readouterr().out
    assert "left out: groups with 1 threads (MemoryError)" in end and "left out: duckdb (not installed)" in end
    assert "".join(printed).count("MISSED") == 2
    options = types.SimpleNamespace(rows=500, quick=True, rounds=5, questions=None)
    groups.section({"pyarrow": None}, options)
    assert asked[2:] == [(500, 2, 1, None)]
    capsys.readouterr()
    assert groups.section({}, options) == {} and "pyarrow is the judge" in capsys.readouterr().out


def test_rows_are_an_option(capsys):
    from cdevice.bench import command

    assert command.parser().parse_args(["--rows", "20000"]).rows == 20_000
    assert "groups" in command.SECTIONS
