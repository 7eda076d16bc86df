"""Tests of functions on every device that computes here."""

import pytest
from compute_cases import PLACES, enter


@pytest.fixture
def device(request, monkeypatch):
    return enter(request.param, monkeypatch)


def everywhere(f):
    return pytest.mark.parametrize("device", list(PLACES), indirect=True)(f)
