"""The devices of docs/add-your-device.rst, as the page has them, conform."""

import inspect
import pathlib
import re
import sys
import textwrap
import types

import pytest

import cdevice
from cdevice.testing import BackendSuite, KernelSuite, runner

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "add-your-device.rst"


def code(language, n=0):
    blocks = re.findall(r"\.\. code-block:: (\w+)\n\n((?:    .*\n|\n)+)", PAGE.read_text())
    return textwrap.dedent([text for kind, text in blocks if kind == language][n])


def names_of(*blocks):
    """What blocks of the page define, one after the other; the first one is the module that others import."""
    first = types.ModuleType("acme_cdevice")
    exec(code("python"), vars(first))
    sys.modules["acme_cdevice"] = first
    try:
        names = {}
        for n in blocks:
            exec(code("python", n), names)
        return names
    finally:
        del sys.modules["acme_cdevice"]


class TestThePage(BackendSuite):
    @staticmethod
    def backend():
        return names_of(0)["Backend"]()


@pytest.mark.parametrize("check", ["arithmetic__int32", "logic", "a_text_that_does_not_compile_is_told"])
def test_its_kernels_compute(check):
    """Some of the suite: it keeps no programs on disk, so each is compiled."""
    suite = type("Suite", (KernelSuite,), {"backend": staticmethod(names_of(3)["Backend"])})
    (result,) = runner.run(suite, pattern=check)
    assert result.outcome == "passed", result.where


ASYNCHRONOUS = names_of(2, 5)


class TestItsAsynchronousDevice(ASYNCHRONOUS["TestLater"]):
    """With the hooks that the page gives it, every check of asynchrony runs."""

    backend = ASYNCHRONOUS["Backend"]()  # one, for its threads stay

    def needs(self, condition, why):
        assert condition or why not in ("its suite offers no gate", "its suite offers no second stream"), why
        super().needs(condition, why)


def test_its_signatures_are_those_of_the_methods():
    names = {}
    exec(textwrap.dedent(code("python", 1)), names)
    shown = {n: inspect.signature(f) for n, f in names.items() if inspect.isfunction(f)}
    methods = {n for n, f in vars(cdevice.Backend).items() if inspect.isfunction(f) and n[0] != "_"}
    assert set(shown) == methods
    for name, signature in shown.items():
        real = inspect.signature(getattr(cdevice.Backend, name))
        plain = [(p.name, p.kind, p.default) for p in real.parameters.values()]
        assert [(p.name, p.kind, p.default) for p in signature.parameters.values()] == plain, name


def test_it_explains_every_line_that_says_not_applicable():
    text = " ".join(PAGE.read_text().split())
    areas = pathlib.Path(cdevice.__file__).parent / "testing"
    source = "".join(p.read_text() for p in [*areas.glob("areas/*.py"), areas / "suite.py"])
    reasons = set(re.findall(r"s(?:elf)?\.needs\([^\n]*?, \"([^\"]+)\"\)", source))
    assert len(reasons) >= 8
    left_out = {"it does not copy on the device; the core goes through the host", "the CPU has no number"}
    assert {r for r in reasons - left_out if r not in text} == set()


def test_its_entry_point_names_the_class():
    assert '"acme.12" = "acme_cdevice:Backend"' in code("toml")
