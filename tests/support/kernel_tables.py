"""The tests of functions that name their devices, for other devices than these: ``retargeted(devices)``."""

import itertools
import types

import choice_checks
import decimal256_checks
import decimal_widths_checks
import decimals_checks
import distinct_checks
import group_by_checks
import group_states_checks
import half_checks
import join_checks
import layouts_checks
import lists_checks
import literal_checks
import nested_checks
import number_few_checks
import pytest
import running_checks
import selection_checks
import set_lookup_checks
import sort_checks
import statistics_checks
import table_checks
import temporal_checks
import textcast_checks
import types_checks
import vectors_checks
import views_checks
from compute_cases import HERE

LISTS = {"list", "large_list_view", "fixed_size_list", "list of strings", "map"}
EVERY = HERE | LISTS
SOME = {"int64", "float32", "bool"}

TABLES = (table_checks, decimals_checks, half_checks, layouts_checks, types_checks)
TABLES += (selection_checks, sort_checks, distinct_checks, running_checks, statistics_checks, set_lookup_checks)
TABLES += (group_by_checks, group_states_checks, join_checks, lists_checks, decimal256_checks, temporal_checks)
TABLES += (textcast_checks, number_few_checks, choice_checks, nested_checks, vectors_checks, views_checks)
TABLES += (decimal_widths_checks, literal_checks)


def on(f, devices):
    """A test of the table, with other devices in place of those that it names; ``devices``: the types of each."""
    again = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    again.pytestmark = []
    for mark in f.pytestmark:
        names = mark.args[0]
        if names == ("device", "word"):
            words = dict.fromkeys(p.values[1] for p in mark.args[1])
            rows = [pytest.param(d, w, id=f"{d}-{w}") for d, w in itertools.product(devices, words) if w in devices[d]]
            again = pytest.mark.parametrize(names, rows, indirect=["device"])(again)
        elif names == "device":
            again = pytest.mark.parametrize("device", list(devices), indirect=True)(again)
        else:
            again.pytestmark.append(mark)
    return again


def takes_a_device(f):
    return any(m.name == "parametrize" and "device" in m.args[0] for m in getattr(f, "pytestmark", ()))


def retargeted(devices):
    """{name: test}; the module that takes them has the fixture ``device``, whose parameter is one of ``devices``."""
    every = {name: f for table in TABLES for name, f in vars(table).items() if name.startswith("test_")}
    return {name: on(f, devices) for name, f in every.items() if takes_a_device(f)}
