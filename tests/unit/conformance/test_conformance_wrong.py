"""Each peer that is broken on purpose is caught by the rule it breaks alone.

They are held against the suites in a process of their own: suites fork, and this process may have the threads of
devices."""

import json
import pathlib
import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("suite", SUITES)
def test_every_wrong_one_is_caught_by_the_rule_it_breaks_alone(suite):
    done = subprocess.run([sys.executable, "-W", "ignore", str(SCRIPT), suite], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    cases = json.loads(done.stdout)[suite]
    others = {name: (rule, why) for name, (found, rule, why) in cases.items() if found != [rule]}
    assert cases and not others
