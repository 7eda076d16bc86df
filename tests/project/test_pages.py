"""The pages' programs print what the pages say."""

import doctest
import re

import pytest
from paths import ROOT

import cdevice

DOCS = ROOT / "docs"
PAGES = ("clusters", "compute", "expressions", "groups", "libraries", "opencl", "shared-memory", "streams")
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
    elsewhere = {"add-your-device", "conformance", "cuda-and-rocm", "glossary", "reliability"}
    assert {p.stem for p in DOCS.glob("*.rst")} == {*PAGES, *elsewhere}
