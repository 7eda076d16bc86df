"""The bench section ``loader``."""

import importlib.util
import types

import pytest

from cdevice.bench import loader

pytest.importorskip("pyarrow.parquet", reason="pip install pyarrow")
pytest.importorskip("numpy", reason="pip install numpy")


def test_every_row_is_counted_and_torch_is_beside_it_where_it_is(capsys):
    found = loader.section({}, types.SimpleNamespace(rows=20_000, quick=True))["loader"]
    assert [r["batch size"] for r in found] == [1024, 4096] and all(r["rows/s"] > 0 for r in found)
    there = importlib.util.find_spec("torch") is not None
    assert all((r["torch rows/s"] is not None) == there for r in found)
    assert "8 columns, 20,000 rows, batches of 1,024" in capsys.readouterr().out


def test_rows_that_are_missing_are_an_error(monkeypatch):
    monkeypatch.setattr(loader, "child", lambda code: (0.0, '{"seconds": 1, "rows": 19999}'))
    with pytest.raises(AssertionError, match="ours_loop: 19999 rows of 20000"):
        loader.section({}, types.SimpleNamespace(rows=20_000, quick=True))
