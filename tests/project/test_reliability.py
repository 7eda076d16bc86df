"""The page on reliability has the figures that were kept, and each command in it is one that exists."""

import json
import re
import runpy

from source_tree import ROOT

record = runpy.run_path(str(ROOT / "ci" / "record.py"))


def test_the_figures_are_those_that_were_kept():
    kept = json.loads(record["KEPT"].read_text(encoding="utf-8"))
    assert record["page"](kept) == record["PAGE"].read_text(encoding="utf-8"), "ci/record writes the page again"


def test_each_figure_names_a_command_a_day_and_a_revision():
    kept = json.loads(record["KEPT"].read_text(encoding="utf-8"))
    for r in kept:
        assert (ROOT / r["command"].split()[0]).exists() and r["tool"] in record["TOOLS"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", r["date"]) and r["revision"] not in ("", "?") and r["said"]
