"""The site of the documentation, as far as it can be checked without Sphinx."""

import importlib.util
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
    assert {p.stem for p in (DOCS / "pictures").glob("*.svg")} == set(draw.PICTURES)
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
