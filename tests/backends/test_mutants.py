"""The suite catches what it is there for: every deliberately broken device fails the check that names its fault."""

import ast
import fnmatch
import itertools
import json
import pathlib
import subprocess
import sys
import time
import unittest

import pytest
from children import child_env
from waiting import settle, unregister

from cdevice._runtime.ext import lib
from cdevice.testing import mutants, runner
from cdevice.testing.areas import CHECKS
from cdevice.testing.fake import FakeBackend, FakeSuite
from cdevice.testing.mutants import MUTANTS

pytestmark = pytest.mark.nosan  # some of them are broken enough to use memory that was given back


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_device_fails_the_check_that_names_its_fault(name):
    backend, pattern = MUTANTS[name]
    number = 5300 + list(MUTANTS).index(name)
    made = type("Mutant", (FakeSuite,), {"backend": staticmethod(lambda: backend(number, f"mutant{number}"))})
    checks = [n for _, n, _ in CHECKS if fnmatch.fnmatch(n, pattern)]
    assert checks
    failed = []
    for check in checks:
        one = made()
        one.settle_limit, one.hang_limit = 100, 0.3  # what hangs, hangs
        one.open()
        try:
            try:
                getattr(one, f"test_{check}")()
            finally:
                one.close()
        except unittest.SkipTest:
            continue
        except Exception:
            failed.append(check)  # without its error, whose frames hold arrays
        finally:
            one.backend_object.repaired = True
        if failed:
            break
    settle()
    if lib.cdv_backend_table(number):  # a device whose events come too early writes to memory of whoever uses it later
        unregister(one.backend_object)
    assert failed, f"none of {checks} noticed"


# ---- how the suite tells it, without pytest ----
NUMBERS = itertools.count(5600)  # what leaks keeps its type


@pytest.fixture
def suite_of():
    """suite_of(backend class) -> a suite on a device type of its own"""

    def make(backend, **members):
        number = next(NUMBERS)
        return type(
            "Suite", (FakeSuite,), {"backend": staticmethod(lambda: backend(number, f"told{number}")), **members}
        )

    return make


def in_a_process(code):
    """What a whole run prints as JSON; by itself, for a broken device leaves threads and memory behind."""
    code = (
        "import json, source_tree\nfrom cdevice.testing import mutants, runner\nfrom cdevice.testing.fake import *\n"
        + code
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=child_env())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


WHOLE = """
class Suite(FakeSuite):
    backend = mutants.{name}
    settle_limit, hang_limit = {limits}
runner.VAIN = 3.0
print(json.dumps(runner.run(Suite)), flush=True)
import os; os._exit(0)
"""


def test_a_copy_that_ignores_an_offset_is_told_in_seconds():
    began = time.monotonic()
    found = [runner.Result(*r) for r in in_a_process(WHOLE.format(name="DropsSourceOffset", limits="20_000, 20.0"))]
    assert time.monotonic() - began < 30  # it was twelve minutes
    failed = [r for r in found if r.outcome == "failed"]
    assert len(failed) > 30 and len(found) == len(CHECKS)
    for r in failed:  # the first error of each, with what was compared
        assert "not given back" not in r.text and r.text.partition(": ")[2], r
    text = next(r.text for r in failed if r.name == "many_copies_in_one_call")
    assert text == "AssertionError: 200 copies of one byte each: at 1 of 200 got " + (
        repr(bytes(8)) + ", expected " + repr(bytes(range(1, 9)))
    )


@pytest.mark.parametrize("name", ["NeverFrees", "NeverReady"])
def test_what_never_comes_is_not_waited_for_in_every_check(name):
    began = time.monotonic()
    found = [runner.Result(*r) for r in in_a_process(WHOLE.format(name=name, limits="500, 1.0"))]
    assert time.monotonic() - began < 30 and any(r.outcome == "failed" for r in found)
    assert len(found) < len(CHECKS)  # it gave up


def test_what_fails_while_cleaning_up_hides_nothing(suite_of):
    class Suite(suite_of(mutants.DropsSourceOffset)):
        def close(self):
            super().close()
            raise RuntimeError("the consequence")

    found = runner.run(type("Quiet", (Suite,), {"open": _once_quiet}), pattern="many_copies*")
    assert [r.outcome for r in found] == ["failed"] and "200 copies" in found[0].text
    assert "the consequence" not in found[0].text + found[0].where


def _once_quiet(self):
    """The run opens and closes one suite first, to see whether the device is there."""
    super(type(self), self).open()
    if not type(self).__dict__.get("opened"):
        type(self).opened = True
        self.close = lambda: FakeSuite.close(self)


def test_a_suites_own_assertion_without_words_is_shown_as_it_stands(suite_of):
    def fails(self):
        raise AssertionError

    made = suite_of(FakeBackend)
    made.test_no_copies_are_no_error = fails
    (found,) = runner.run(made, pattern="no_copies*")
    assert found.text.startswith("AssertionError: raise AssertionError (test_mutants.py:")


def test_a_run_ends_at_the_first_failure_where_that_is_asked_for(suite_of):
    found = runner.run(suite_of(mutants.DropsSourceOffset), stop_at_first=True, pattern="copies")
    assert [r.outcome for r in found].count("failed") == 1 and found[-1].outcome == "failed"


def test_every_assertion_of_the_suite_has_words():
    folder = pathlib.Path(runner.__file__).parent / "areas"
    bare = [
        f"{p.name}:{node.lineno}"
        for p in folder.glob("*.py")
        for node in ast.walk(ast.parse(p.read_text()))
        if isinstance(node, ast.Assert) and node.msg is None
    ]
    assert bare == []
