"""Functions of a user's own that give what each row and all before it come to, from an operator, for every device."""

from __future__ import annotations

from ..._runtime.ext import _native
from ..dispatch.bounded import Bounded
from ..dispatch.registry import Function, FunctionRegistry
from ..kernels.elementwise import BLOCK, CHUNK, PACK
from ..options import FunctionOptions
from .elementwise import parser_of
from .inputs import BUFFERS, OUT, OUT_VALIDITY, TEMP, Inputs, kernels
from .kernels import scan_kernels
from .reduction import LETTERS, join_of, state_of
from .signature import Column, described, made, read_operator
from .source import ExpressionError, Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar

    from ..._types import DeviceArray
    from ..dispatch.call import Call
    from ..dispatch.datum import Datum
    from .kernels import Reading

TILE_ROWS = 8192  # FILTER_TILE_ROWS of kernels/lang/protocol.h


class ScanOptions(FunctionOptions):
    """``skip_nulls``: False makes nulls of all rows from the first null on."""

    defaults: ClassVar[Mapping[str, Any]] = {"skip_nulls": False}
    allowed: ClassVar[Mapping[str, Any]] = {"skip_nulls": bool}


def scan(
    name: str,
    signature: str,
    reduce: str,
    *,
    identity: str,
    map: str | None = None,
    finish: str | None = None,
    state: str | None = None,
    inclusive: bool = True,
    doc: str = "",
    registry: FunctionRegistry | None = None,
) -> Function:
    """A :class:`Function` that gives what each row and all before it come to, from an operator, on every device.

    ``name``, ``signature``, ``identity``, ``map``, ``state``, ``doc``, ``registry``: as in :func:`reduction`.
    ``reduce``: how two states ``a`` and ``b`` become one: ``"a + b"``; it must be associative, and ``a`` is of the rows
    before those of ``b``.  ``finish``: what a row of the result is, of the state ``a``: ``"a / 2"``; None: the state.
    ``inclusive``: False leaves each row out of its own result, so that the first is ``identity``.

    The function takes arrays, slices and chunks, and the option ``skip_nulls``: True leaves rows out that are null, or
    of which ``map`` gives null, and makes a null of each; False, as Arrow's ``cumulative_sum``, makes nulls of all rows
    from the first null on.  It gives an array of as many rows.  Floats have the same bits on every device.  It needs a
    state for each 8192 rows.

    Does not block; the first call of a device compiles.  Any thread.  Raises ValueError for an invalid signature or
    text, with the place, KeyError for a name that is taken, TypeError for an argument of another type.
    """
    if type(inclusive) is not bool:
        raise TypeError(f"scan(): inclusive must be a bool, not {type(inclusive).__name__}")
    texts = {"reduce": reduce, "identity": identity, "map": map, "finish": finish, "state": state}
    arguments, result, row = read_operator("scan", name, signature, texts)
    if result.type == "bits":
        raise ValueError(f"scan({name!r}): a result of bools is not supported: use uint8")
    try:
        exec = Scan(arguments, result, state, row, reduce, identity, finish or "a", inclusive)
    except ExpressionError as e:
        raise ExpressionError(f"scan({name!r}): {e}") from None
    f = Function(name, "vector", len(arguments), doc or described(arguments, [result], reduce), options=ScanOptions)
    return made(f, "scan", arguments, result.format, exec, registry)


class Scan:
    """``exec`` of a scan."""

    __slots__ = ("arguments", "controls", "end", "inclusive", "join", "map", "result", "state", "variants")

    def __init__(
        self,
        arguments: list[Column],
        result: Column,
        state: str | None,
        map: str,
        reduce: str,
        identity: str,
        finish: str,
        inclusive: bool,
    ) -> None:
        self.arguments, self.result, self.map, self.inclusive = arguments, result, map, inclusive
        self.state = state_of(state, result)
        self.join = join_of(self.state.type, reduce, identity)
        parser = parser_of(arguments, [self.state], map, frozenset())
        parser.whole()
        self.controls = parser.controls
        end = Parser([(self.state.type, "a")], [(result.type, "")], finish)
        self.end = end, end.whole()[0]
        if end.controls:
            raise ExpressionError("finish: states are never null")
        self.variants: Bounded[Any, tuple[str, str]] = Bounded(64)

    def _kernels(self, readings: Sequence[Reading]) -> tuple[str, str]:
        """Family and type of the kernels for a way of reading the arguments."""
        key = tuple(readings)
        found = self.variants.get(key)
        if found is None:
            nullable = frozenset([x.name for x in readings if x.nullable])
            parser = parser_of(self.arguments, [self.state], self.map, nullable)
            text = scan_kernels(self.join, parser, parser.whole()[0], readings, *self.end, self.inclusive)
            found = self.variants.put(key, kernels(text))
        return found

    def __call__(self, call: Call, *args: Datum) -> DeviceArray:
        inputs = Inputs(call, self.arguments, args, range(2, BUFFERS), True)
        n, words_ = inputs.rows, (*self._kernels(inputs.readings),)
        tiles = -(-n // TILE_ROWS)
        temps = [(LETTERS[self.state.type], tiles)]
        steps: list[tuple[Any, ...]] = []
        if n:
            reads = tuple(inputs.operands)
            steps.append((*words_, "tiles", "begins rows", CHUNK, n, ((0, TEMP, 0), *reads), ()))
            steps.append((*words_, "begins", "", BLOCK, tiles, ((0, TEMP, 0),), ()))
            steps.append((*words_, "rows", "", CHUNK, n, ((0, OUT, 0), (1, TEMP, 0), *reads), ()))
        bitmap = bool(inputs.nullable) or self.controls
        if bitmap and n:
            steps += self._bitmap(call, inputs, words_, temps)
        return _native.compute_launch_list(
            call.function.name, tuple(inputs.columns), ((self.result.schema, n, bitmap),), tuple(temps), tuple(steps),
            call.stream, call.owner
        )[0]  # fmt: skip

    def _bitmap(
        self, call: Call, inputs: Inputs, words_: tuple[str, str], temps: list[tuple[str, int]]
    ) -> list[tuple[Any, ...]]:
        """The steps that write which rows of the result are valid."""
        n, reads = inputs.rows, tuple(inputs.operands)
        skip = call.options.skip_nulls
        if skip:
            return [(*words_, "known", "", PACK, n, ((0, OUT_VALIDITY, 0), *reads), ())]
        known, first = len(temps), len(temps) + 1
        temps += [("I", -(-n // 32)), ("l", 1)]
        common = (2, TEMP, known), (4, TEMP, first)
        return [
            (*words_, "known", "", PACK, n, ((0, TEMP, known), *reads), ()),
            ("running", "i64", "first_null", "", BLOCK, n, common, ()),
            ("running", "i64", "running_validity", "", PACK, n, ((0, OUT_VALIDITY, 0), *common), (0, 0, 0, 0)),
        ]


__all__ = ["ScanOptions", "scan"]
