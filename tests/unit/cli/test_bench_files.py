"""The bench section ``files``: a Parquet file as a stream, its answer and its floors."""

import types

import pytest

from cdevice.bench import files

pytest.importorskip("pyarrow.parquet", reason="pip install pyarrow")


def test_the_answer_is_pyarrows_and_the_floors_are_of_the_same_process(capsys):
    options = types.SimpleNamespace(rows=30_000, quick=True, rounds=1)
    found = files.section({}, options)["files"]
    assert [r["device"] for r in found][:1] == ["cpu"]
    assert all(r["ms"] > 0 and r["decode ms"] > 0 and r["compute ms"] > 0 for r in found)
    assert "question 6 of Parquet, 30,000 rows" in capsys.readouterr().out


def test_another_answer_is_an_error(monkeypatch):
    monkeypatch.setattr(
        files, "child", lambda code: (0.0, '{"answer": 1.0, "decode": 1, "compute": 1, "stream": 1, "memory": 0}')
    )
    with pytest.raises(AssertionError, match="question 6 on cpu: 1.0, pyarrow"):
        files.section({}, types.SimpleNamespace(rows=30_000, quick=True, rounds=1))
