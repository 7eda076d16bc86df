"""Every public name stands on one page of docs/reference, by a directive of autodoc.  Needs no Sphinx."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections import Counter
from types import ModuleType

import pytest
from paths import ROOT

import cdevice

REFERENCE = ROOT / "docs" / "reference"
DIRECTIVE = re.compile(r"^\.\. auto(class|exception|function)::[ ](\S+)$", re.M)
MODULES = ("aio", "compute", "dask")  # those with __all__


def directives() -> list[tuple[str, str]]:
    pages = sorted(REFERENCE.glob("*.rst"))
    return [found for page in pages for found in DIRECTIVE.findall(page.read_text(encoding="utf-8"))]


def public_names() -> set[str]:
    from cdevice import testing

    names = {f"cdevice.{n}" for n in cdevice.__all__ if n != "__version__"}
    names |= {f"cdevice.testing.{n}" for n in (*testing.SUITES, "BackendSuite", "KernelSuite", "Report", "Result")}
    return names | {"cdevice.pickling.load_on"}


def names_of(module: str) -> set[str]:
    return {f"cdevice.{module}.{n}" for n in importlib.import_module(f"cdevice.{module}").__all__}


def test_every_public_name_is_on_a_reference_page() -> None:
    missing = public_names() - {name for _, name in directives()}
    assert not missing, f"docs/reference has no page for {sorted(missing)}"


@pytest.mark.parametrize("module", MODULES)
def test_every_name_of_a_public_module_is_on_a_reference_page(module: str) -> None:
    if module == "dask":
        pytest.importorskip("dask", reason="pip install dask")
    missing = names_of(module) - {name for _, name in directives()}
    assert not missing, f"docs/reference has no page for {sorted(missing)}"


def test_the_page_of_c_is_the_one_that_the_headers_give() -> None:
    page = load_c_functions()
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "python docs/c_functions.py writes it"


def test_every_function_and_class_of_the_headers_is_on_the_page_of_c() -> None:
    text = (REFERENCE / "c.rst").read_text(encoding="utf-8")
    include = ROOT / "cdevice" / "include" / "cdevice"
    c, cpp = ((include / name).read_text(encoding="utf-8") for name in ("cdevice.h", "cdevice.hpp"))
    declared = re.findall(r"^[a-z][\w *]*?\b(cdevice_\w+)\(", c, re.M)
    shown = re.findall(r"^\.\. c:function:: .*?\b(cdevice_\w+)\(", text, re.M)
    assert sorted(shown) == sorted(declared) and len(shown) > 60
    for name in set(re.findall(r"^(?:template <[^>]*> )?(?:class|struct) (\w+)", cpp, re.M)) - {"free_text"}:
        assert re.search(rf"^    .*\b(?:class|struct) {name}\b", text, re.M), name
    assert "return" not in re.sub(r"/\*.*?\*/", "", text[text.index("Errors in C++") :], flags=re.S)  # no body


def load_c_functions() -> ModuleType:
    spec = importlib.util.spec_from_file_location("c_functions", ROOT / "docs" / "c_functions.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_name_is_described_twice() -> None:
    twice = [name for name, n in Counter(name for _, name in directives()).items() if n > 1]
    assert not twice


def test_each_directive_names_an_object_of_its_kind() -> None:
    bad = []
    for kind, name in directives():
        if name.startswith("cdevice.dask."):
            pytest.importorskip("dask", reason="pip install dask")
        module, _, last = name.rpartition(".")
        value = getattr(importlib.import_module(module), last)
        is_class, is_error = isinstance(value, type), isinstance(value, type) and issubclass(value, BaseException)
        if kind != ("exception" if is_error else "class" if is_class else "function"):
            bad.append(f"{kind} {name}")
    assert not bad


def test_the_index_names_every_reference_page() -> None:
    named = re.findall(r"^   ([a-z-]+)$", (REFERENCE / "index.rst").read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted(p.stem for p in REFERENCE.glob("*.rst") if p.stem != "index")
