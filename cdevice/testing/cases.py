"""Arrays of every Arrow layout, eight rows each, without any other library."""

from __future__ import annotations

import datetime

from ..interop.asarray import asarray
from ..schema import Schema, asschema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


LONG = "a value that is longer than twelve bytes"
ROWS = 8


def _field(kind: Any, name: Any) -> Any:
    return asschema(kind, name)


def _cases() -> Iterator[Any]:
    yield "null", "null", [None] * 8
    yield "bool", "bool", [True, None, False, True, True, None, False, True]
    for bits in (8, 16, 32, 64):
        yield f"int{bits}", f"int{bits}", [1, None, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0, 7, None, 3]
        yield f"uint{bits}", f"uint{bits}", [1, None, 0, 2**bits - 1, 0, 7, None, 3]
    yield "int64_full", "int64", list(range(8))
    for bits in (16, 32, 64):
        yield f"float{bits}", f"float{bits}", [1.5, None, -0.0, float("inf"), 2.0, 0.25, None, -3.0]
    yield "date32", "date32", [datetime.date(2013, 1, 2), None] * 4
    yield "timestamp", "timestamp[us, UTC]", [datetime.datetime(2013, 1, 2, tzinfo=datetime.timezone.utc), None] * 4
    yield "duration", "duration[ms]", [datetime.timedelta(days=3), None, datetime.timedelta(days=-1), None] * 2
    yield "fixed_size_binary", "fixed_size_binary[3]", [b"abc", None, b"\0\0\0", b"xyz"] * 2
    for kind in ("string", "large_string", "string_view"):
        yield kind, kind, ["a", None, "", LONG, "ü€", LONG + "!", None, "z"]
    for kind in ("binary", "large_binary", "binary_view"):
        yield kind, kind, [b"a", None, b"", LONG.encode(), b"\xff\0", b"b" * 13, None, b"z"]
    rows = [[1, 2], None, [], [3, None], [4], [5, 6, 7], None, [8]]
    for kind in ("list", "large_list", "list_view", "large_list_view"):
        yield kind, f"{kind}<int32>", rows
    pairs = [[1, 2], None, [3, None], [4, 5]] * 2
    yield "fixed_size_list", Schema.make("+w:2", children=[_field("int16", "item")]), pairs
    struct = asschema({"a": "int64", "b": "string"})
    yield "struct", struct, [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 4, "b": None}] * 2
    yield "struct_full", struct, [{"a": i, "b": str(i)} for i in range(8)]
    entries = Schema.make("+s", "entries", nullable=False, children=[
        Schema.make("u", "key", nullable=False), _field("int64", "value")])  # fmt: skip
    yield "map", Schema.make("+m", children=[entries]), [[("k", 1), ("l", None)], None, [], [("m", 3)]] * 2
    words = ["u", "v", None, "u", LONG, "v", None, "u"]
    yield "dictionary", Schema.make("i", dictionary=asschema("string")), words
    ends = Schema.make("i", "run_ends", nullable=False)
    yield (
        "run_end_encoded",
        Schema.make("+r", children=[ends, _field("string", "values")]),
        ["p"] * 3 + [None] * 2 + [LONG] * 3,
    )
    yield "list_of_string", "list<string>", [["a", None], None, [], [LONG], ["b"], [], None, [LONG, "c"]]
    yield "list_of_list", "list<list<int32>>", [[[1], []], None, [], [[2, None]], [[3]], None, [[]], [[4, 5], [6]]]
    yield "list_of_struct", asschema([struct]), [[{"a": 1, "b": "x"}], None, [], [{"a": None, "b": LONG}, None]] * 2
    yield "list_of_bool", "list<bool>", [[True], None, [False, None, True], [], [True] * 9, None, [], [False]]
    yield (
        "record",
        asschema({"i": "int32", "s": "string", "l": "list<int32>", "v": "string_view"}),
        [{"i": i, "s": str(i) * i, "l": list(range(i)), "v": LONG * (i % 2)} for i in range(8)],
    )


def _unions() -> Iterator[Any]:
    """Built from parts: values alone do not say which child holds them."""
    from .._arrays.from_buffers import from_buffers

    ids = bytes([0, 1, 0, 1, 0, 1, 0, 0])
    children = [_field("int64", "a"), _field("string", "b")]
    sparse = asarray(list(range(8))), asarray(list("abcdefgh"))
    yield "sparse_union", from_buffers(Schema.make("+us:0,1", children=children), 8, [ids], children=sparse)
    offsets = b"".join(n.to_bytes(4, "little") for n in (0, 0, 1, 1, 2, 2, 3, 4))
    dense = asarray([1, None, 3, 4, 5]), asarray(["p", None, LONG])
    yield "dense_union", from_buffers(Schema.make("+ud:0,1", children=children), 8, [ids, offsets], children=dense)


def arrays() -> Any:
    """{name: DeviceArray of 8 rows in CPU memory}, one of every layout and some nested."""
    out = {name: asarray(values, schema=schema) for name, schema, values in _cases()}
    out.update(_unions())
    return out


def names() -> Any:
    """The names alone; makes no array."""
    return [name for name, _, _ in _cases()] + ["sparse_union", "dense_union"]
