"""Every kind of function, with options of every kind, through cdevice_call."""

import datetime as dt
import errno
import gc
import subprocess
import sys

import pytest
from call_in_c import Failed, call
from children import child_env

import cdevice
import cdevice.compute as cc
from cdevice._runtime.ext import lib

pa = pytest.importorskip("pyarrow", reason="pip install pyarrow")

I, F = [1, 2, None, 4], [1.5, 2.5, None, -4.25]
S, B = ["a", "bb", None, "abc"], [True, False, None, True]
T = pa.array([0, 86400, None, 5], pa.timestamp("s"))
LISTS = pa.array([[1, 2], [3], None, [4, 5, 6]])
MAPS = pa.array([[("a", 1)], [("b", 2)], None, [("a", 3)]], pa.map_(pa.string(), pa.int32()))
STRUCTS = pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
CENTS = pa.array(["1.50", "2.50", None, "4.00"]).cast(pa.decimal128(10, 2))
BATCH = pa.record_batch({"k": ["x", "y", "x", "y"], "v": [1, 2, 3, 4]})
NAMES = pa.record_batch({"k": ["y", "x"], "name": ["why", "ex"]})
HALF = None  # an argument that is NULL

# function, arguments, options, rows
CASES = [
    # a row for each row
    ("add", [I, I], None, [2, 4, None, 8]),
    ("add", [I, HALF], {"scalars": [1]}, [2, 3, None, 5]),
    ("subtract", [HALF, I], {"scalars": [0.5]}, [-0.5, -1.5, None, -3.5]),
    ("if_else", [B, I, HALF], {"scalars": [None]}, [1, None, None, 4]),
    ("coalesce", [I, HALF], {"scalars": [0]}, [1, 2, 0, 4]),
    ("round", [F], {"ndigits": 1, "round_mode": "half_up"}, [1.5, 2.5, None, -4.2]),
    ("is_in", [I], {"value_set": [1, 4]}, [True, False, False, True]),
    ("is_in", [S], {"value_set": ["a", None], "skip_nulls": True}, [True, False, False, False]),
    ("replace_substring", [S], {"pattern": "b", "replacement": "ü", "max_replacements": 1}, ["a", "üb", None, "aüc"]),
    ("utf8_lpad", [S], {"width": 3, "padding": "*"}, ["**a", "*bb", None, "abc"]),
    ("split_pattern", [S], {"pattern": "b", "max_splits": 1}, [["a"], ["", "b"], None, ["a", "c"]]),
    ("floor_temporal", [T], {"multiple": 1, "unit": "day"}, [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 2), None, dt.datetime(1970, 1, 1)]),
    ("cast", [I], {"target_type": "int8"}, I),
    ("cast", [I], {"target_type": "timestamp[s]"}, [dt.datetime(1970, 1, 1, 0, 0, s) if s else None for s in I]),
    ("cast", [F], {"target_type": "int32", "safe": False}, [1, 2, None, -4]),
    ("cast", [LISTS], {"target_type": "list<item: int32>"}, [[1, 2], [3], None, [4, 5, 6]]),
    ("list_slice", [LISTS], {"start": 0, "stop": 1}, [[1], [3], None, [4]]),
    ("list_element", [LISTS, HALF], {"scalars": [0]}, [1, 3, None, 4]),
    ("map_lookup", [MAPS], {"query_key": "a", "occurrence": "first"}, [1, None, None, 3]),
    ("struct_field", [STRUCTS], {"indices": ["b"]}, ["x", "y"]),
    ("make_struct", [[1], ["x"]], {"field_names": ["p", "q"], "field_nullability": [True, False]}, [{"p": 1, "q": "x"}]),
    # values of types that JSON has not
    ("greater", [T, HALF], {"scalars": [{"value": "1970-01-01T12:00:00", "type": "timestamp[s]"}]}, [False, True, None, False]),
    ("equal", [CENTS, HALF], {"scalars": [{"value": "2.5", "type": "decimal128(5, 2)"}]}, [False, True, None, False]),
    ("coalesce", [I, HALF], {"scalars": [{"value": 7, "type": "int8"}]}, [1, 2, 7, 4]),
    ("coalesce", [I, HALF], {"scalars": [{"value": None, "type": "int64"}]}, I),
    # one row
    ("sum", [I], None, [7]),
    ("sum", [I], {"skip_nulls": False}, [None]),
    ("min_max", [I], None, [{"min": 1, "max": 4}]),
    ("count", [I], {"mode": "all"}, [4]),
    ("index", [S], {"value": "bb"}, [1]),
    # other numbers of rows
    ("quantile", [F], {"q": [0.25, 0.5], "interpolation": "nearest"}, [-4.25, 1.5]),
    ("value_counts", [["a", "b", "a"]], None, [{"values": "a", "counts": 2}, {"values": "b", "counts": 1}]),
    ("unique", [[1, 1, None]], None, [1, None]),
    ("cumulative_sum", [I], {"start": 5, "skip_nulls": True}, [6, 8, None, 12]),
    ("filter", [I, B], {"null_selection_behavior": "emit_null"}, [1, None, 4]),
    ("filter", [BATCH, [True, False, None, True]], None, [{"k": "x", "v": 1}, {"k": "y", "v": 4}]),
    ("filter", [BATCH], {"where": "v > 1 and k == 'y'"}, [{"k": "y", "v": 2}, {"k": "y", "v": 4}]),
    ("take", [I, [3, 0]], None, [4, 1]),
    ("take", [I, HALF], {"scalars": [[3, 0]]}, [4, 1]),
    ("array_sort_indices", [F], {"order": "descending", "null_placement": "at_start"}, [2, 1, 0, 3]),
    ("sort_indices", [BATCH], {"sort_keys": [["k", "descending"], ["v", "ascending"]]}, [1, 3, 0, 2]),
    ("sort_by", [BATCH], {"sort_keys": [["v", "descending"]]}, BATCH.to_pylist()[::-1]),
    ("select_k_unstable", [I], {"k": 2, "sort_keys": [["", "descending"]]}, [3, 1]),
    ("rank", [I], {"sort_keys": "descending", "tiebreaker": "dense"}, [3, 2, 4, 1]),
    # batches
    ("project", [BATCH], {"columns": {"k": "k", "w": "v * 2"}}, [{"k": r["k"], "w": 2 * r["v"]} for r in BATCH.to_pylist()]),
    ("with_columns", [BATCH], {"columns": {"v": "v + 1"}}, [{"k": r["k"], "v": r["v"] + 1} for r in BATCH.to_pylist()]),
    ("group_by", [BATCH], {"keys": ["k"], "aggregations": [["v", "sum"], [[], "count_all"]]}, [{"k": "x", "v_sum": 4, "count_all": 2}, {"k": "y", "v_sum": 6, "count_all": 2}]),
    ("group_by", [BATCH], {"keys": "k", "aggregations": {"most": ["v", "max"]}, "where": "v < 4"}, [{"k": "x", "most": 3}, {"k": "y", "most": 2}]),
    ("group_by", [BATCH], {"keys": ["k"], "aggregations": [["v", "variance", {"ddof": 1}]]}, [{"k": "x", "v_variance": 2.0}, {"k": "y", "v_variance": 2.0}]),
    ("group_by", [BATCH], {"keys": [], "aggregations": [["v", "sum"]]}, [{"v_sum": 10}]),
    ("join", [BATCH, NAMES], {"keys": ["k"], "join_type": "inner"}, [{**r, "name": {"x": "ex", "y": "why"}[r["k"]]} for r in BATCH.to_pylist()]),
    ("join", [BATCH, BATCH], {"keys": ["k"], "right_keys": ["k"], "join_type": "left semi"}, BATCH.to_pylist()),
    ("join_indices", [NAMES, NAMES], {"keys": ["k"]}, [{"left": 0, "right": 0}, {"left": 1, "right": 1}]),
]  # fmt: skip


@pytest.fixture(scope="module", params=["cpu", "opencl"])
def there(request):
    if not cdevice.device(request.param).is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    return lambda x: None if x is None else cdevice.asarray(x).to(request.param)


@pytest.mark.parametrize(
    ("name", "arguments", "options", "rows"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)]
)
def test_a_call_gives_the_rows(there, name, arguments, options, rows):
    given = [there(a) for a in arguments]
    if given[0] is not None and given[0].device_type_id != 1:
        options = {**(options or {}), "fallback": "copy"}  # of kernels that the device has not
    assert call(name, given, options).to("cpu").to_pylist() == rows


def test_a_stream_is_a_handle_as_a_number():
    """Work goes to the queue that is named: its commands are what a marker on it waits for."""
    cl = pytest.importorskip("pyopencl", reason="pip install pyopencl")
    if not cdevice.device("opencl").is_available:
        pytest.skip("no OpenCL runtime: apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    x = cdevice.asarray(I).to("opencl")
    memory = x.buffers[1]
    context = cl.MemoryObject.from_int_ptr(memory.address, retain=True).context if hasattr(memory, "address") else None
    if context is None:
        pytest.skip("the buffer has no handle")
    queue = cl.CommandQueue(context)
    before = queue.reference_count
    made = call("add", [x, x], {"stream": queue.int_ptr})
    assert made.to("cpu").to_pylist() == [2, 4, None, 8] and queue.reference_count >= before
    with pytest.raises(Failed) as e:
        call("add", [x, x], {"stream": -1})
    assert e.value.text.startswith("cdevice_call(): add: "), e.value


def test_every_function_of_the_registry_is_reached_by_its_name():
    """Called without arguments, each is found, and refuses them in one sentence that begins with the call and the name."""
    for name in cc.list_functions():
        try:
            call(name, [], {"no_such_option": 1})
        except Failed as e:
            assert e.code == errno.EINVAL and e.text.startswith(f"cdevice_call(): {name}"), e
            assert len(e.text) > len(f"cdevice_call(): {name}: "), e
        else:
            raise AssertionError(name)


BAD = [
    ("dd", [I], None, "no function is named 'dd'; did you mean add?"),
    ("add", [I], None, "cdevice_call(): add takes 2 arguments, not 1"),
    ("sum", [], None, "cdevice_call(): sum takes 1 argument, not 0"),
    ("add", [I, [1, 2]], None, "cdevice_call(): add: arguments of 4 and 2 rows"),
    ("sum", [I], {"min_cont": 1}, "did you mean 'min_count'?"),
    ("sum", [I], {"skip_nulls": "yes"}, "skip_nulls must be True or False"),
    ("cast", [I], None, "CastOptions needs target_type="),
    ("cast", [[300]], {"target_type": "int8"}, "cdevice_call(): cast: integer value 300 not in the range of int8"),
    ("cast", [I], {"target_type": "int99"}, "unknown type 'int99': did you mean int"),
    ("quantile", [I], {"q": 2}, "q must be from 0 to 1, not 2.0"),
    ("take", [I, [9]], None, "cdevice_call(): take: index 9 out of bounds"),
    ("divide_checked", [I, HALF], {"scalars": [0]}, "cdevice_call(): divide_checked: divide by zero"),
    ("sort_by", [BATCH], {"sort_keys": [["w", "ascending"]]}, "cdevice_call(): sort_by: no field 'w'; there are 'k', 'v'"),
    ("group_by", [BATCH, BATCH], {"keys": []}, "cdevice_call(): group_by takes 1 argument, not 2"),
    ("group_by", [BATCH], {"aggregations": []}, 'needs the option "keys", such as ["city"]'),
    ("group_by", [BATCH], {"keys": ["k"]}, 'needs the option "aggregations", such as [["price", "sum"]]'),
    ("group_by", [BATCH], {"keys": ["w"], "aggregations": [["v", "sum"]]}, "no column 'w'; there are k, v"),
    ("group_by", [BATCH], {"keys": ["k"], "aggregations": [["v", "summ"]]}, "no aggregate 'summ'; did you mean 'sum'?"),
    ("group_by", [BATCH], {"keys": ["k"], "agregations": []}, "no option 'agregations'; did you mean 'aggregations'?"),
    ("group_by", [BATCH], {"keys": ["k"], "aggregations": [], "where": "v >"}, "cdevice_call(): group_by: "),
    ("group_by", [BATCH], {"keys": ["k"], "aggregations": [], "where": 5}, 'the option "where" must be the text of'),
    ("join", [BATCH], {"keys": ["k"]}, "cdevice_call(): join takes 2 arguments, not 1"),
    ("join", [BATCH, BATCH], {"keys": ["k"], "join_type": "outer"}, "join_type must be one of"),
    ("filter", [BATCH], {"where": "w > 1"}, "w"),
    ("filter", [BATCH, B], {"where": "v > 1"}, "cdevice_call(): filter takes 1 argument, not 2"),
    ("project", [BATCH], {"columns": ["v"]}, 'the option "columns" must be an object'),
    ("with_columns", [BATCH], None, 'needs the option "columns"'),
    ("add", [I, HALF], None, 'cdevice_call(): add: 1 arguments are NULL, and the option "scalars" has 0 values'),
    ("add", [I, I], {"scalars": [1]}, "has 1 values"),
    ("add", [I, HALF], {"scalars": 1}, "must be a list"),
    ("add", [I, HALF], {"scalars": [{"value": 1}]}, '"value" and "type"'),
    ("add", [I, HALF], {"scalars": [{"value": 300, "type": "int8"}]}, "300 not in the range of int8"),
    ("add", [I, I], {"fallback": "cpu"}, "fallback"),
    ("add", [I, I], {"stream": "cpu"}, "stream"),
    ("add", [I, I], "{", "cdevice_call(): add: the options are not JSON"),
    ("add", [I, I], "[1]", "the options are not a JSON object: [1]"),
    ("sum", [I], '{"min_count": 1, "min_count": 2}', "the options name 'min_count' twice"),
    ("sum", [I], "[" * 5000, "the options are not JSON"),
    ("sum", [I], b"\xff", "utf-8"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "options", "text"), BAD, ids=[f"{i}-{c[0]}" for i, c in enumerate(BAD)])
def test_a_wrong_call_is_einval_or_edom_and_names_function_and_fault(name, arguments, options, text):
    given = [a if a is None else cdevice.asarray(a) for a in arguments]
    gc.collect()  # of an error before, whose frames have arrays
    before = lib.cdv_live_arrays()
    with pytest.raises(Failed) as e:
        call(name, given, options)
    of_values = text.endswith("of int8") or text.endswith("by zero")
    assert e.value.code == (errno.EDOM if of_values else errno.EINVAL) and text in e.value.text, e.value
    assert e.value.text.startswith(f"cdevice_call(): {name}"), e.value
    assert lib.cdv_live_arrays() <= before


def test_types_without_a_kernel_are_enotsup():
    with pytest.raises(Failed) as e:
        call("add", [cdevice.asarray(I), cdevice.asarray(S)])
    assert e.value.code == errno.ENOTSUP and e.value.text.startswith(
        "cdevice_call(): add(int64, string): no kernel on cpu"
    )


def test_an_error_keeps_its_code_where_nothing_else_was_imported():
    code = """
import cdevice, sys
from call_in_c import Failed, call
from children import child_env
from cdevice.compute import from_c
def fails(given):
    error = cdevice.DeviceError("the queue is gone")
    error.code = 5
    raise error
from_c.call = fails
try:
    call("add", [])
except Failed as e:
    assert e.code == 5, e
assert "cdevice.stream" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=child_env())
    assert done.returncode == 0, done.stderr


def test_the_code_of_a_device_is_the_vendors(monkeypatch):
    from cdevice.compute import from_c

    def fails(given):
        error = cdevice.DeviceError("the queue is gone")
        error.vendor_code = -36
        raise error

    monkeypatch.setattr(from_c, "call", fails)
    with pytest.raises(Failed) as e:
        call("add", [])
    assert (e.value.vendor_code, e.value.text) == (-36, "cdevice_call(): add: the queue is gone")
