"""The suite catches what it is there for: every deliberately broken device fails the check that names its fault."""

import fnmatch
import unittest

import pytest

from cdevice.testing import suite
from cdevice.testing.fake import FakeSuite
from cdevice.testing.mutants import MUTANTS


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(suite, "_TIMEOUT", 0.3)  # what hangs, hangs


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_device_fails_the_check_that_names_its_fault(name, impatient):
    backend, pattern = MUTANTS[name]
    made = type("Mutant", (FakeSuite,), {"backend": backend})
    checks = [n for _, n, _ in suite._CHECKS if fnmatch.fnmatch(n, pattern)]
    assert checks
    failed = []
    for check in checks:
        one = made()
        one.settle_limit = 100
        try:
            one.open()
            try:
                getattr(one, f"test_{check}")()
            finally:
                one.close()
        except unittest.SkipTest:
            continue
        except Exception as e:
            failed.append((check, e))
    assert failed, f"none of {checks} noticed"
