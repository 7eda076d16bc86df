"""The bench section ``scale``: ns a row by the number of rows and of groups, printed and drawn."""

import argparse

import pytest

pytest.importorskip("numpy", reason="pip install numpy")
pytest.importorskip("pyarrow", reason="pip install pyarrow")

from cdevice.bench import scale


def test_every_number_of_rows_and_groups_has_a_figure(capsys, monkeypatch):
    monkeypatch.setattr("cdevice.devices", lambda *_: [])
    options = argparse.Namespace(rows=1000, rounds=1, quick=True, plot=None)
    found = scale.section({}, options)["scale"]["cpu"]
    assert {title: list(ns) for title, ns in found["groups"].items()} == {
        "group_by, sum": [10, 100, 1000],
        "unique": [10, 100, 1000],
    }
    assert all(list(ns) == [10, 100, 1000] and min(ns.values()) > 0 for ns in found["rows"].values())
    out = capsys.readouterr().out
    assert "by the number of rows" in out and "by the number of groups" in out


def test_the_picture_is_a_png(tmp_path):
    pytest.importorskip("matplotlib", reason="pip install matplotlib")
    one = {"sort": {10: 5.0, 100: 2.0}}
    scale.draw(str(tmp_path / "scale.png"), {"cpu": {"rows": one, "groups": one}})
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")
