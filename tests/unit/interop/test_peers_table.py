"""The table of features in docs/comparison.rst is the one that the libraries give."""

import re

import pytest

pytest.importorskip("pyarrow", reason="pip install pyarrow")
pytest.importorskip("nanoarrow", reason="pip install nanoarrow")
pytest.importorskip("arro3.core", reason="pip install arro3-core")
pytest.importorskip("polars", reason="pip install polars")
pytest.importorskip("duckdb", reason="pip install duckdb")

import peers_table


def without(table, title):
    """Columns are as wide as what they hold, so cells alone are compared."""
    return [re.split(r"  +| (?=\d|yes|no|legacy|–)", row) for row in table.splitlines() if not row.startswith(title)]


def test_the_page_has_the_features_that_there_are():
    shown = peers_table.shown()
    versions = " ".join(peers_table.versions().values())
    row = next(line for line in shown.splitlines() if line.startswith("version"))
    if row.split()[1:] != versions.split():
        pytest.skip(f"pip install the versions of docs/comparison.rst: {' '.join(row.split()[1:])}")
    assert without(peers_table.table(), "MB installed") == without(shown, "MB installed")


def test_the_page_says_when_it_was_seen():
    text = peers_table.PAGE.read_text(encoding="utf-8")
    assert re.search(r"^As seen on 20\d\d-\d\d-\d\d, with Python 3\.\d+\.\d+:$", text, re.M)
