"""Expressions of pyarrow: read from what pyarrow pickles, a record batch whose metadata are the calls, in order.

Columns of the batch are literals and options, each one row."""

from __future__ import annotations

import struct

from ...errors import ArgumentError
from ...interop.asarray import asarray
from ...schema import asschema
from ..dispatch.call import options_of
from ..dispatch.deferred import is_foreign
from ..errors import UnknownFunction
from ..functions import get_function
from ..options import FunctionOptions, NoOptions
from ..scalar import Scalar
from .graph import Called, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_NULLS = ("MATCH", "SKIP", "EMIT_NULL", "INCONCLUSIVE")  # null_matching_behavior


def from_pyarrow(expression: Any, cls: type[Node]) -> Any:
    """See :meth:`Expression.from_pyarrow`."""
    if not is_foreign(expression):
        raise TypeError(f"from_pyarrow: expected a pyarrow.compute.Expression, not {type(expression).__name__}")
    import pyarrow as pa
    import pyarrow.ipc

    try:
        data = expression.__reduce__()[1][0]
    except (pa.ArrowException, NotImplementedError) as e:
        raise ArgumentError(f"from_pyarrow: {expression}: pyarrow cannot write it: {e}") from None
    batch = pyarrow.ipc.open_file(data).get_batch(0)
    return _Reader(batch, expression, cls).whole()


def _pairs(metadata: bytes) -> Iterator[tuple[str, str]]:
    """Keys and values as the C data interface has them, in order, repeated ones too."""
    (n,) = struct.unpack_from("=i", metadata)
    at = 4
    for _ in range(n):
        words = []
        for _ in range(2):
            (size,) = struct.unpack_from("=i", metadata, at)
            words.append(metadata[at + 4 : at + 4 + size].decode())
            at += 4 + size
        yield words[0], words[1]


class _Reader:
    def __init__(self, batch: Any, source: Any, cls: type[Node]) -> None:
        self.batch, self.source, self.cls = batch, source, cls
        self.pairs = [*_pairs(asschema(batch.schema)._metadata or b"\0\0\0\0")]

    def whole(self) -> Node:
        """Without recursion: an expression may be deep."""
        open_calls: list[tuple[str, list[Node]]] = []
        options: Any = None
        path: list[str] = []
        steps = 0  # of a nested reference that are left
        for key, value in self.pairs:
            made: Node
            if key == "call":
                open_calls.append((value, []))
                continue
            if key == "options":
                options = self.batch.column(int(value))
                continue
            if key == "nested_field_ref":
                steps, path = int(value), []
                continue
            if key == "field_ref":
                path = [*path, value] if steps else [value]
                steps = max(steps - 1, 0)
                if steps:
                    continue
                made, path = self.cls._column(path), []
            elif key == "literal":
                made = self.cls._literal(Scalar(asarray(self.batch.column(int(value)))))
            elif key == "end":
                name, args = open_calls.pop()
                made, options = self.called(name, args, options), None
            else:
                raise ArgumentError(f"from_pyarrow: {self.source}: unknown part {key!r}")
            if not open_calls:
                return made
            open_calls[-1][1].append(made)
        raise ArgumentError(f"from_pyarrow: {self.source}: the expression is empty")

    def called(self, name: str, args: list[Node], options: Any) -> Node:
        try:
            function = get_function(name)
        except UnknownFunction as e:
            raise ArgumentError(f"from_pyarrow: {e.args[0]}") from None
        if options is None:
            return self.cls._made(Called(function, options_of(function, None, {})), args)
        if function.options is NoOptions:
            return self.plain(name, args, options)
        return self.cls._made(Called(function, self.options(function, options)), args)

    def plain(self, name: str, args: list[Node], options: Any) -> Node:
        """A function that has options in pyarrow alone."""
        made = self.cls._function(name, args)
        if name == "is_null" and options[0].as_py()["nan_is_null"]:
            return self.cls._function("or_kleene", (made, self.cls._function("is_nan", args)))
        return made

    def options(self, function: Any, column: Any) -> FunctionOptions:
        fields = column[0].as_py()
        wanted: type[FunctionOptions] = function.options
        given = fields.pop("_type_name").decode()
        if given != wanted.__name__:
            raise ArgumentError(f"from_pyarrow: {function.name} takes {wanted.__name__}, not {given}")
        if given == "CastOptions":
            allowed = {v for k, v in fields.items() if k.startswith("allow_")}
            if len(allowed) != 1:
                raise ArgumentError("from_pyarrow: a cast that allows only some kinds of loss is not supported")
            return wanted(target_type=column.type.field("to_type").type, safe=allowed == {False})
        if given == "SetLookupOptions":
            nulls = fields["null_matching_behavior"]
            if nulls > 1:
                raise ArgumentError(f"from_pyarrow: {function.name}: {_NULLS[nulls]} of nulls is not supported")
            return wanted(value_set=column.field("value_set").flatten(), skip_nulls=nulls == 1)
        return options_of(function, _options_of_pyarrow(column), {})


def _options_of_pyarrow(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    sink = pa.BufferOutputStream()
    batch = pa.record_batch([column], names=["options"])
    with pa.ipc.new_file(sink, batch.schema) as w:
        w.write_batch(batch)
    return pc.FunctionOptions.deserialize(sink.getvalue())
