"""Tests that go through many cases take a sample of them; ``ci/test --all`` takes every case."""

import os
import random

EVERY = os.environ.get("CDEVICE_TEST_ALL") == "1"


def sample(cases, one_in):
    """About one in so many of these cases, at least one, in their order; the same ones each time."""
    cases = list(cases)
    if EVERY:
        return cases
    chosen = random.Random(one_in).sample(range(len(cases)), -(-len(cases) // one_in))
    return [cases[i] for i in sorted(chosen)]
