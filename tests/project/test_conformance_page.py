"""docs/conformance.rst is what was found, and the programs beside it are other libraries' own."""

import importlib.util
import json

import pytest
from paths import ROOT

from cdevice import testing

FOLDER = ROOT / "docs" / "conformance"
FOUND = json.loads((FOLDER / "found.json").read_text())


def test_the_page_and_the_letters_are_written_from_what_was_found():
    spec = importlib.util.spec_from_file_location("conformance_page", ROOT / "ci" / "conformance_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path, text in module.page().items():
        assert path.read_text() == text, f"{path.name}: run ci/conformance, or ci/conformance_page.py page"


def test_every_rule_of_the_page_is_one_of_the_suites():
    known = {rule.name for name in testing.SUITES for rule in getattr(testing, name).rules}
    named = {r["rule"] for f in FOUND.values() for s in f["suites"] for r in s["broken"]}
    named |= {rule for f in FOUND.values() for s in f["suites"] for rule in (*s["kept"], *s["not_done"])}
    assert named <= known


def test_cdevice_breaks_no_must_on_its_own_page():
    assert FOUND["cdevice"]["conforms"]
    assert not [r for s in FOUND["cdevice"]["suites"] for r in s["broken"] if r["level"] == "MUST"]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_program_compiles_and_needs_no_cdevice(path):
    text = path.read_text()
    compile(text, str(path), "exec")
    assert "cdevice" not in text
