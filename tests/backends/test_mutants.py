"""The suite catches what it is there for: every deliberately broken device fails the check that names its fault."""

import fnmatch
import threading
import unittest

import pytest

from cdevice._ext import lib
from cdevice.testing.areas import CHECKS
from cdevice.testing.fake import FakeSuite
from cdevice.testing.mutants import MUTANTS

pytestmark = pytest.mark.nosan  # some of them are broken enough to use memory that was given back


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_device_fails_the_check_that_names_its_fault(name):
    backend, pattern = MUTANTS[name]
    number = 5300 + list(MUTANTS).index(name)  # its own: what leaks cannot be unregistered
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
        except Exception as e:
            failed.append((check, e))
        finally:
            one.backend_object.repaired = True
        if failed:
            break  # what it leaked keeps it registered
    for _ in range(5000):
        if not lib.cdv_kept():
            break
        threading.Event().wait(0.001)
    assert not lib.cdv_kept()
    assert failed, f"none of {checks} noticed"
