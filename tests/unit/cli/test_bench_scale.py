"""The bench section ``scale``: ns a row by the number of rows and of groups, printed."""

import argparse

import pytest

pytest.importorskip("numpy", reason="pip install numpy")
pytest.importorskip("pyarrow", reason="pip install pyarrow")

from cdevice.bench import scale


def test_every_number_of_rows_and_groups_has_a_figure(capsys, monkeypatch):
    monkeypatch.setattr("cdevice.devices", lambda *_: [])
    options = argparse.Namespace(rows=1000, rounds=1, quick=True)
    found = scale.section({}, options)["scale"]["cpu"]
    assert {title: list(ns) for title, ns in found["groups"].items()} == {
        "group_by, sum": [10, 100, 1000],
        "unique": [10, 100, 1000],
    }
    assert all(list(ns) == [10, 100, 1000] and min(ns.values()) > 0 for ns in found["rows"].values())
    out = capsys.readouterr().out
    assert "by the number of rows" in out and "by the number of groups" in out
