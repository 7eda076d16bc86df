"""What ci/fuzz asks."""

import os
import subprocess
import sys

import pytest
from paths import TESTS

pytest.importorskip("pyarrow", reason="pip install pyarrow")

DRAW = """
import random, sys
sys.path[:0] = sys.argv[1:]  # PYTHONSAFEPATH leaves the current folder out
import compute, cdevice.compute as cc
drawn = set(compute.NOT_DRAWN)
for family in {f for some in compute.FAMILIES for f in some}:
    for seed in range(1500):
        drawn.add(family(random.Random(seed), 1)[0])
for seed in range(2000):
    drawn.add(compute.plainest(random.Random(seed), 1)[0])
names = {name.rstrip("_") for name in drawn}
print(*sorted(set(cc.list_functions()) - names), "|", *sorted(set(compute.NOT_DRAWN) - set(cc.list_functions())))
"""


def test_every_function_is_drawn_or_left_out_with_a_reason():
    environment = {**os.environ, "PYTHONPATH": str(TESTS / "support"), "FUZZ_CPU": "1"}
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRAW, str(TESTS / "fuzz")],
        cwd=TESTS / "fuzz",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout.strip() == "|"
