"""Each peer that is broken on purpose is caught by the rule it breaks alone.

They are held against the suites in a process of their own: suites fork, and this process may have the threads of
devices."""

import json
import os
import pathlib
import subprocess
import sys

import copying_ones
import pytest
import wrong_ones

from cdevice import testing

SCRIPT = pathlib.Path(__file__).parents[2] / "support" / "wrong_ones.py"


SUITES = [
    "ConsumerSuite",
    "DLPackConsumerSuite",
    "DLPackSuite",
    "HandlerSuite",
    "ProducerSuite",
    "SchemaSuite",
    "StreamConsumerSuite",
    "StreamProducerSuite",
]


GOALS = [suite for suite in SUITES if "data_is_not_copied" in [r.name for r in getattr(testing, suite).rules]]


def script(*arguments):
    command = [sys.executable, "-W", "ignore", str(SCRIPT), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("suite", GOALS)
def test_what_copies_is_told_from_what_shares_and_breaks_no_rule(suite):
    copies, shares = script("--copied", suite)[suite]
    assert not copies[0] and copies[1].startswith("the data is copied") and not copies[2], copies
    assert shares[0] and not shares[2], shares


@pytest.mark.parametrize("suite", SUITES)
def test_every_rule_has_a_wrong_one(suite):
    broken = {rule for _, rule, *_ in wrong_ones.cases_of(suite).values()}
    rules = {r.name for r in getattr(testing, suite).rules if r.level != "GOAL"}  # those are not broken but not reached
    assert rules <= broken, rules - broken
    assert (suite in GOALS) == (suite in copying_ones.CASES)


@pytest.mark.parametrize("suite", SUITES)
def test_every_wrong_one_is_caught_by_the_rule_it_breaks_alone(suite):
    cases = script(suite)[suite]
    others = {name: (rule, why) for name, (found, rule, why) in cases.items() if found != [rule]}
    assert cases and not others
