"""The site of the documentation, as far as it can be checked without Sphinx."""

import html
import importlib.util
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest
from paths import ROOT

DOCS = ROOT / "docs"
CI = ROOT / "ci"


@pytest.fixture(scope="module")
def links():
    spec = importlib.util.spec_from_file_location("docs_links", CI / "docs_links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_index_names_every_page_once():
    text = (DOCS / "index.rst").read_text(encoding="utf-8")
    named = re.findall(r"^   (?:\w+ <)?([a-z][a-z/-]*)>?$", text, re.M)
    pages = {p.relative_to(DOCS).with_suffix("").as_posix() for p in DOCS.rglob("*.rst")}
    inner = {p for p in pages if p.startswith("conformance/")}  # below conformance.rst, by conf.py
    inner |= {p for p in pages if p.startswith("reference/") and p != "reference/index"}
    assert len(named) == len(set(named))
    assert set(named) == pages - inner - {"index"}


def test_pages_of_the_root_are_part_of_the_site():
    for page in (DOCS / "project").glob("*.rst"):
        (name,) = re.findall(r"^\.\. include:: (\S+)$", page.read_text(encoding="utf-8"), re.M)
        assert (page.parent / name).resolve().exists()


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ("b.html", None),
        ("b.html#there", None),
        ("#here", None),
        ("folder/", None),
        ("https://example.org/x", None),
        ("mailto:a@example.org", None),
        ("c.html", "c.html: no such file"),
        ("b.html#elsewhere", "b.html#elsewhere: no such anchor"),
        ("#nowhere", "#nowhere: no such anchor"),
        ("b.html#th%65re", None),
    ],
)
def test_links_that_lead_nowhere_are_found(tmp_path, links, link, found):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text("<p>", encoding="utf-8")
    (tmp_path / "a.html").write_text(f'<p id="here"><a href="{link}">x</a>', encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="there"><img src="a.html">', encoding="utf-8")
    assert links.broken(tmp_path) == ([f"a.html: {found}"] if found else [])


def test_pictures_are_those_that_are_drawn_and_load_nothing():
    spec = importlib.util.spec_from_file_location("draw", DOCS / "pictures" / "draw.py")
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    drawn = {p.stem for p in (DOCS / "pictures").glob("*.svg") if not p.stem.startswith("performance-")}
    assert drawn == set(draw.PICTURES)
    used = re.findall(r"pictures/([a-z]+)\.svg\n   :alt: \S", (DOCS / "start.rst").read_text(encoding="utf-8"))
    assert set(used) == set(draw.PICTURES)
    for name, make in draw.PICTURES.items():
        text = (DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
        assert text == make().svg(), "python docs/pictures/draw.py writes it"
        tags = {e.tag.rpartition("}")[2] for e in ElementTree.fromstring(text).iter()}
        assert {"title", "desc"} <= tags and not tags & {"image", "script", "foreignObject", "style"}


def test_the_page_of_performance_is_the_one_that_the_newest_results_give():
    import performance_page

    assert performance_page.PAGE.read_text(encoding="utf-8") == performance_page.page(), (
        "python tests/support/performance_page.py writes it"
    )
    result = json.loads(performance_page.newest("20*.json").read_text(encoding="utf-8"))
    for part, name in performance_page.DRAWN.items():
        drawn = html.unescape((performance_page.PICTURES / name).read_text(encoding="utf-8"))
        rows = (
            result[part]
            if part == "ns"
            else [r["row"] for r in result[part]]
            if part == "transfers"
            else ["add int64, cpu"]
        )
        assert [r for r in rows if r not in drawn] == [], f"{name}: python tests/support/performance_page.py draws it"


def test_the_page_of_functions_and_devices_is_the_one_that_the_kept_answers_give():
    pytest.importorskip("pyarrow", reason="pip install pyarrow")
    import device_table

    import cdevice.compute as cc

    kept = json.loads(device_table.KEPT.read_text(encoding="utf-8"))
    text = device_table.PAGE.read_text(encoding="utf-8").partition(device_table.BEGIN)[2].partition(device_table.END)[0]
    assert text.strip("\n") == "\n".join(device_table.table_of(kept)), "python tests/support/device_table.py writes it"
    for device, one in kept.items():
        new, gone = set(cc.list_functions()) - set(one["cpu"]), set(one["cpu"]) - set(cc.list_functions())
        assert not new and not gone, (
            f"python tests/support/device_table.py {device} --only {','.join(sorted(new | gone))}"
        )
