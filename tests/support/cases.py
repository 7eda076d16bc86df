"""Arrays of every Arrow type, from pyarrow, with the ways in which each is cut."""

import datetime
import decimal
import os
import uuid

import pyarrow as pa

D = decimal.Decimal
# pyarrow 26 leaks an object for each value of a zone with a fixed offset that it converts
ZONES = (None, "UTC", "America/New_York") + (() if os.environ.get("CDEVICE_SANITIZE") else ("+05:30",))
LONG = "a value that is longer than twelve bytes"


def _ints(t, lo, hi):
    return pa.array([1, None, lo, hi, 0, 7, None, 3], t)


def _ree(values, ends):
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), values)


def arrays():
    """{name: pyarrow array of 8 rows}"""
    out = {
        "null": pa.nulls(8),
        "bool": pa.array([True, None, False, True, True, None, False, True]),
        "bool_full": pa.array([True, False, True, True, False, False, True, True]),
    }
    for bits in (8, 16, 32, 64):
        out[f"int{bits}"] = _ints(f"int{bits}", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        out[f"uint{bits}"] = _ints(f"uint{bits}", 0, 2**bits - 1)
    out["int64_full"] = pa.array(range(8), pa.int64())
    for bits in (16, 32, 64):
        out[f"float{bits}"] = pa.array([1.5, None, -0.0, float("inf"), 2.0, 0.25, None, -3.0], f"float{bits}")
    for name, t in (
        ("decimal32", pa.decimal32(7, 2)),
        ("decimal64", pa.decimal64(15, 3)),
        ("decimal128", pa.decimal128(30, 4)),
        ("decimal256", pa.decimal256(60, 5)),
        ("decimal128_negative_scale", pa.decimal128(5, -2)),
    ):
        values = [D("1.5"), None, D("-2.25"), D("99999.99"), D("0"), D("3"), None, D("-1")]
        if t.scale < 0:
            values = [D("1E+2"), None, D("-25E+2"), D("0"), D("100"), D("300"), None, D("700")]
        out[name] = pa.array(values, t)
    day = datetime.date(2013, 1, 2)
    for t in (pa.date32(), pa.date64()):
        out[str(t)] = pa.array([day, None, datetime.date(1969, 12, 31), day, datetime.date(2, 1, 1), day, None, day], t)
    clock = datetime.time(1, 2, 3)
    for t in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        out[str(t)] = pa.array([clock, None, datetime.time(0), clock, datetime.time(23, 59, 59), clock, None, clock], t)
    for unit in ("s", "ms", "us", "ns"):
        for zone in ZONES:
            t = pa.timestamp(unit, zone)
            moments = [
                datetime.datetime(2013, 7, 1, 12),
                None,
                datetime.datetime(1960, 1, 1),
                datetime.datetime(2100, 1, 1),
            ]
            out[f"timestamp[{unit},{zone}]"] = pa.array(moments * 2, t)
        out[f"duration[{unit}]"] = pa.array(
            [datetime.timedelta(days=3, seconds=4), None, datetime.timedelta(days=-1), None] * 2, pa.duration(unit)
        )
    out["month_day_nano"] = pa.array([(1, 2, 3), None, (-1, 0, 5), (0, 0, 0)] * 2, pa.month_day_nano_interval())
    out["fixed_size_binary"] = pa.array([b"abc", None, b"\0\0\0", b"xyz"] * 2, pa.binary(3))
    for t in (pa.string(), pa.large_string(), pa.string_view()):
        out[str(t)] = pa.array(["a", None, "", LONG, "ü€", LONG + "!", None, "z"], t)
    for t in (pa.binary(), pa.large_binary(), pa.binary_view()):
        out[str(t)] = pa.array([b"a", None, b"", LONG.encode(), b"\xff\0", b"b" * 13, None, b"z"], t)
    out["string_full"] = pa.array(list("abcdefgh"))
    rows = [[1, 2], None, [], [3, None], [4], [5, 6, 7], None, [8]]
    for make in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view):
        t = make(pa.int32())
        out[str(t).split("<")[0]] = pa.array(rows, t)
    out["fixed_size_list"] = pa.array([[1, 2], None, [3, None], [4, 5]] * 2, pa.list_(pa.int16(), 2))
    out["fixed_size_list_of_bool"] = pa.array([[True, None, False], None] * 4, pa.list_(pa.bool_(), 3))
    out["struct"] = pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 4, "b": None}] * 2)
    out["struct_full"] = pa.StructArray.from_arrays([pa.array(range(8)), pa.array(list("abcdefgh"))], ["a", "b"])
    out["struct_empty"] = pa.array([{}] * 8, pa.struct([]))
    out["map"] = pa.array([[("k", 1), ("l", None)], None, [], [("m", 3)]] * 2, pa.map_(pa.string(), pa.int64()))
    ids = pa.array([0, 1, 0, 1, 0, 1, 0, 0], pa.int8())
    out["dense_union"] = pa.UnionArray.from_dense(
        ids, pa.array([0, 0, 1, 1, 2, 2, 3, 4], pa.int32()), [pa.array([1, None, 3, 4, 5]), pa.array(["p", None, LONG])]
    )
    out["sparse_union"] = pa.UnionArray.from_sparse(ids, [pa.array(range(8)), pa.array(list("abcdefgh"))])
    words = ["u", "v", None, "u", LONG, "v", None, "u"]
    out["dictionary"] = pa.array(words).dictionary_encode()
    out["dictionary_int8_ordered"] = pa.DictionaryArray.from_arrays(
        pa.array([0, None, 2, 1, 0, 2, 1, 0], pa.int8()), pa.array(["lo", "mid", "hi"]), ordered=True
    )
    out["dictionary_uint16"] = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 4, pa.uint16()), pa.array([1.5, 2.5]))
    out["run_end_encoded"] = _ree(pa.array(["p", None, LONG]), [3, 5, 8])
    out["run_end_encoded_int64"] = pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 8], pa.int64()), pa.array([1.5, None])
    )
    out["uuid"] = pa.array([uuid.UUID(int=i).bytes for i in range(7)] + [None], pa.binary(16)).cast(pa.uuid())
    out["bool8"] = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None, 1] * 2, pa.int8()))
    out["json"] = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', None, "[]", "2"] * 2))
    # nested combinations
    out["list_of_struct"] = pa.array([[{"a": 1, "b": "x"}], None, [], [{"a": None, "b": LONG}, None]] * 2)
    out["list_of_list_of_string"] = pa.array([[["a", None], []], None, [[LONG]], []] * 2)
    out["struct_of_list_of_dictionary"] = pa.StructArray.from_arrays(
        [pa.ListArray.from_arrays(pa.array([0, 1, 3, 3, 4, 5, 6, 7, 8], pa.int32()), out["dictionary"])], ["d"]
    )
    out["map_of_list"] = pa.array(
        [[("k", ["a", None])], None, [], [("m", None)]] * 2, pa.map_(pa.string(), pa.list_(pa.string()))
    )
    out["list_of_union"] = pa.ListArray.from_arrays(
        pa.array([0, 1, 1, 2, 4, 5, 6, 7, 8], pa.int32()), out["dense_union"]
    )
    out["struct_of_run_end_encoded"] = pa.StructArray.from_arrays([out["run_end_encoded"], out["bool"]], ["r", "b"])
    out["list_view_of_string_view"] = pa.array([["a", LONG], None, [], [LONG]] * 2, pa.list_view(pa.string_view()))
    out["dictionary_of_list"] = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 0, 1, 1, 0, 1], pa.int32()), pa.array([["a"], ["b", None]])
    )
    out["list_of_bool"] = pa.array([[True], None, [False, None, True], [], [True] * 9, None, [], [False]])
    out["fixed_size_list_of_string"] = pa.array(
        [["a", LONG], None, ["b", None], ["c", "d"]] * 2, pa.list_(pa.string(), 2)
    )
    out["record"] = pa.StructArray.from_arrays(
        [out["int32"], out["string"], out["list"], out["dictionary"]], ["i", "s", "l", "d"]
    )
    return out


ARRAYS = arrays()

CUTS = {
    "whole": lambda a: a,
    "first": lambda a: a.slice(0, 3),
    "middle": lambda a: a.slice(3, 4),
    "last": lambda a: a.slice(7, 1),
    "empty": lambda a: a.slice(4, 0),
    "none": lambda a: a.slice(0, 0),
    "twice": lambda a: a.slice(1, 6).slice(2, 3),
}


def every():
    """[(name, pyarrow array)] of every type and cut."""
    return [(f"{name}-{cut}", make(array)) for name, array in ARRAYS.items() for cut, make in CUTS.items()]


EVERY = every()
IDS = [name for name, _ in EVERY]
VALUES = [array for _, array in EVERY]
