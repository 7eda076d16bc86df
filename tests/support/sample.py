"""Tests that go through many cases take a sample of them; ``ci/test --all`` takes every case."""

import os
import random
import re

EVERY = os.environ.get("CDEVICE_TEST_ALL") == "1"


def sample(cases, one_in):
    """About one in so many of these cases, at least one, in their order; the same ones each time."""
    cases = list(cases)
    if EVERY:
        return cases
    chosen = random.Random(one_in).sample(range(len(cases)), -(-len(cases) // one_in))
    return [cases[i] for i in sorted(chosen)]


def taking_turns(items, devices):
    """Of each test its first case on each of these devices; each of its other cases on one of them, in turn."""
    if EVERY:
        return items
    cases = {}  # of each test, in their order
    for item in items:
        spec = getattr(item, "callspec", None)
        device = spec and next((spec.params[n] for n in ("device", "computing") if spec.params.get(n) in devices), None)
        if device:
            case = re.sub(rf"(?<=[\[-]){device}(?=[\]-])", "", item.name)
            cases.setdefault(item.originalname, {}).setdefault(case, []).append((device, item))
    left_out = set()
    for some in cases.values():
        seen = set()
        for number, on in enumerate(some.values()):
            left_out |= {item for i, (device, item) in enumerate(on) if device in seen and i != number % len(on)}
            seen |= {device for device, _ in on}
    return [item for item in items if item not in left_out]
