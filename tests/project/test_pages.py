"""The pages' programs print what the pages say."""

import doctest
import importlib.util
import json
import re

import pytest
from paths import ROOT

import cdevice

DOCS = ROOT / "docs"
PAGES = (
    "clusters",
    "compute",
    "devices",
    "expressions",
    "groups",
    "libraries",
    "opencl",
    "own-kernel",
    "shared-memory",
    "start",
    "streams",
)
LIBRARIES = {
    "numpy": "1",
    "pyarrow": "16",
    "pandas": "3",
    "polars": "1",
    "duckdb": "2",
    "pyopencl": "2023",
    "dask": "2024",
    "datafusion": "40",
    "adbc_driver_sqlite": "1",
}  # from there on


@pytest.mark.parametrize("page", PAGES)
def test_a_page_prints_what_it_says(page):
    text = (DOCS / f"{page}.rst").read_text(encoding="utf-8")
    for library, version in LIBRARIES.items():
        if re.search(rf">>> .*import.*\b{library}\b", text):
            pytest.importorskip(library, version, reason=f'pip install "{library}>={version}"')
    if "pyopencl as cl" in text and not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    blocks = "".join(re.findall(r"^\.\. code-block:: pycon\n\n((?:    .*\n|\n)+)", text, re.M))
    test = doctest.DocTestParser().get_doctest(blocks, {}, page, f"docs/{page}.rst", 0)
    assert len(test.examples) > 10
    said = []
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)


def test_every_page_is_run_or_has_a_test_of_its_own():
    elsewhere = {"index"}  # the site's: tests/project/test_site.py
    elsewhere |= {"c-and-cpp"}  # tests/project/test_c_page.py
    elsewhere |= {"comparison", "functions", "limits", "performance", "versions"}  # facts and generated tables
    elsewhere |= {"add-your-device", "conformance", "cuda-and-rocm", "glossary", "platforms", "reliability"}
    assert {p.stem for p in DOCS.glob("*.rst")} == {*PAGES, *elsewhere}


def test_no_row_of_a_table_is_torn_where_its_name_goes_on():
    """A simple table begins a row wherever the first column has text; a grid table has names of several lines."""
    rule, torn = re.compile(r"(=+)(?: +=+)+"), []
    for page in (
        *DOCS.glob("*.rst"),
        *ROOT.glob("*.rst"),
        ROOT / "cdevice" / "DESIGN.rst",
        *ROOT.glob("tests/*/*.rst"),
    ):
        width = 0
        for line in page.read_text(encoding="utf-8").split("\n"):
            if found := rule.fullmatch(line):
                width = len(found[1])
            elif not line:
                width = 0
            elif width and re.search(r"[,:]$|\([^)]*$", line[:width].rstrip()):
                torn.append(f"{page.name}: {line}")
    assert not torn


def test_the_pages_name_this_version():
    pages = [*ROOT.glob("README.rst"), *(p for p in DOCS.glob("*.rst") if p.stem != "performance")]  # old runs there
    named = {(p.name, v) for p in pages for v in re.findall(r"\b(?:cdevice|[Vv]ersion) (\d+\.\d+\.\d+)", p.read_text())}
    assert len(named) > 1
    assert [(page, version) for page, version in sorted(named) if version != cdevice.__version__] == []


def test_the_page_of_platforms_names_commands_and_reports_that_exist():
    text = (DOCS / "platforms.rst").read_text(encoding="utf-8")
    named = re.findall(r"``((?:ci|docs|tests)/[\w./-]+)", text)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_page_of_comparison_has_a_command_for_each_feature():
    from cdevice.bench.command import parser
    from cdevice.cli import parsers

    text = (DOCS / "comparison.rst").read_text(encoding="utf-8")
    table = text.partition("Features, and the command that shows each\n")[2].partition("\n\nDevices and events\n")[0]
    commands = re.findall(r"^   \* - .+:\n       ``([^`]+)``$", table, re.M)
    assert len(commands) == table.count("\n   * - ") - 1 > 10
    for command in map(str.split, commands):
        if command[:3] == ["python", "-m", "cdevice"]:
            bench = command[3] == "bench"
            (parser() if bench else parsers()[0]).parse_args(command[3 + bench :])  # SystemExit: not one
        else:
            assert (ROOT / command[command[0] == "python"]).exists(), command


def test_the_page_of_libraries_counts_the_rules_of_all_suites():
    from cdevice import testing

    said = re.search(r"hold any library against the rules of .*, (\d+) in all", (DOCS / "libraries.rst").read_text())
    assert int(said[1]) == sum(len(getattr(testing, suite).rules) for suite in testing.SUITES)


def test_the_page_of_conformance_says_what_was_found_of_every_library():
    from cdevice.testing.conformance.libraries import LIBRARIES

    name = ROOT / "ci" / "conformance_page.py"
    spec = importlib.util.spec_from_file_location("conformance_page", name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert set(json.loads(module.FOUND.read_text())) == set(LIBRARIES)
    written = module.page()
    assert all(path.read_text() == text for path, text in written.items())
    assert {*written} == {module.PAGE, *module.FOLDER.glob("*.rst")}
