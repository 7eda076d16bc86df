"""Functions of a user's own that give one value of many rows, from an operator, for every device."""

from __future__ import annotations

from ..._runtime.ext import _native
from ...interop.concat import concat
from ..dispatch.bounded import Bounded
from ..dispatch.datum import Datum, joined
from ..dispatch.registry import Function, FunctionRegistry
from ..kernels.elementwise import ONE, TILE, schema_of
from ..options import ScalarAggregateOptions
from .elementwise import parser_of
from .inputs import BUFFERS, OUT, OUT_VALIDITY, TEMP, VALUES, Inputs, kernels
from .kernels import COUNTS_IN, COUNTS_OUT, STATES_IN, STATES_OUT, Join, end_kernels, fold_kernel
from .signature import Column, column, described, made, read_operator
from .source import ExpressionError, Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call
    from .kernels import Reading

TILE_ROWS = 4096  # REDUCE_TILE_ROWS of kernels/lang/protocol.h
LETTERS = dict(zip("i8 u8 i16 u16 i32 u32 i64 u64 f32 f64".split(), "cCsSiIlLfg", strict=True))  # formats of states
_MERGED = 512  # chunks whose states are kept before they become one


def join_of(state: str, reduce: str, identity: str) -> Join:
    """The operator of two states ``a`` and ``b``, and the state that changes nothing.  Raises ExpressionError."""
    out = [(state, "")]
    parser = Parser([(state, "a"), (state, "b")], out, reduce)
    joined = parser.whole()[0]
    nothing = Parser([], out, identity)
    value = nothing.whole()[0]
    if nothing.helpers or nothing.lines:
        raise ExpressionError("identity: expected a value without functions")
    if parser.controls or nothing.controls:
        raise ExpressionError("reduce and identity: states are never null")
    return Join(state, parser, joined, value.text)


def state_of(word: str | None, result: Column) -> Column:
    """The column of states: of bools they are bytes."""
    chosen = result if word is None else column(word, "")
    type = "u8" if chosen.type == "bits" else chosen.type
    return Column(schema_of(LETTERS[type]), type, "")


def reduction(
    name: str,
    signature: str,
    reduce: str,
    *,
    identity: str,
    map: str | None = None,
    finish: str | None = None,
    state: str | None = None,
    doc: str = "",
    registry: FunctionRegistry | None = None,
) -> Function:
    """A :class:`Function` that gives one value of many rows, from an operator, on every device.

    ``name``: of the function.  ``signature``: arguments and one result, as :func:`elementwise` takes them: ``"float64
    x, float64 y -> float64"``.  ``reduce``: how two states ``a`` and ``b`` become one: ``"a + b"``; it must be
    associative and commutative, as rows are taken in an order that is the same on every device, but not that of the
    rows.  ``identity``: the state that changes no other: ``"0.0"``.  ``map``: the state of a row, in the arguments'
    names: ``"x * y"``; None: the only argument.  ``finish``: the result, of the last state ``a`` and the number ``n``
    of rows that counted: ``"sqrt(a / n)"``; None: the state.  ``state``: its type; None: that of the result.  The texts
    are those of :func:`elementwise`, with ``let``, ``fn`` and, in ``map``, nulls.  ``doc``: its description.
    ``registry``: where the function is added under its name; None: nowhere.

    The function takes arrays, slices, chunks and streams (of one argument), :class:`ScalarAggregateOptions`, and gives
    a :class:`Scalar` where the arguments are.  Rows that are null in an argument, or of which ``map`` gives null, do
    not count.  It needs a state for each 4096 rows.

    Does not block; the first call of a device compiles.  Any thread.  Raises ValueError for an invalid signature or
    text, with the place, KeyError for a name that is taken, TypeError for an argument that is not a str.
    """
    texts = {"reduce": reduce, "identity": identity, "map": map, "finish": finish, "state": state}
    arguments, result, row = read_operator("reduction", name, signature, texts)
    try:
        exec = Fold(arguments, result, state, row, reduce, identity, finish or "a")
    except ExpressionError as e:
        raise ExpressionError(f"reduction({name!r}): {e}") from None
    doc = doc or described(arguments, [result], reduce)
    f = Function(name, "scalar_aggregate", len(arguments), doc, options=ScalarAggregateOptions)
    return made(f, "reduction", arguments, result.format, exec, registry)


class Fold:
    """``exec`` of a reduction."""

    __slots__ = ("arguments", "end", "finish", "join", "map", "result", "state", "variants")

    def __init__(
        self,
        arguments: list[Column],
        result: Column,
        state: str | None,
        map: str,
        reduce: str,
        identity: str,
        finish: str,
    ) -> None:
        self.arguments, self.result, self.map = arguments, result, map
        self.state = state_of(state, result)
        self.join = join_of(self.state.type, reduce, identity)
        parser_of(arguments, [self.state], map, frozenset()).whole()
        self.finish = finish
        self.end = self._end()
        self.variants: Bounded[Any, tuple[str, str]] = Bounded(64)

    def _end(self) -> tuple[str, str]:
        """Family and type of the kernels of states."""
        parser = Parser([(self.state.type, "a"), ("i64", "n")], [(self.result.type, "")], self.finish)
        finished = parser.whole()[0]
        if parser.controls:
            raise ExpressionError("finish: states are never null; the option min_count makes nulls")
        return kernels(end_kernels(self.join, parser, finished))

    def _fold(self, readings: Sequence[Reading]) -> tuple[str, str]:
        """Family and type of the kernel for a way of reading the arguments."""
        key = tuple(readings)
        found = self.variants.get(key)
        if found is None:
            nullable = frozenset([x.name for x in readings if x.nullable])
            parser = parser_of(self.arguments, [self.state], self.map, nullable)
            text = fold_kernel(self.join, parser, parser.whole()[0], readings)
            found = self.variants.put(key, kernels(text))
        return found

    def __call__(self, call: Call, *args: Datum) -> DeviceArray:
        if len(args) > 1 or args[0].chunks is None:
            whole = [joined(a) for a in args]
            length = next((a.array.length for a in whole if a.array is not None and not a.one), 1)
            return self._finished(call, self._state(call, whole), length)
        length, states = 0, []
        for chunk in args[0].chunks:
            states.append(self._state(call, [Datum(chunk, args[0].format)]))
            length += chunk.length
            if len(states) >= _MERGED:
                states = [self._merged(call, states)]
        return self._finished(call, self._merged(call, states), length)

    def _state(self, call: Call, args: Sequence[Datum]) -> tuple[DeviceArray, ...]:
        """The state of some rows, and how many of them count."""
        inputs = Inputs(call, self.arguments, args, range(2, BUFFERS), True)
        tiles = max(-(-inputs.rows // TILE_ROWS), 1)
        temps: list[tuple[str, int]] = []
        to = self._memory(temps, tiles)
        step = (*self._fold(inputs.readings), "fold", "", TILE, inputs.rows, (*to, *inputs.operands), ())
        return self._run(call, inputs.columns, temps, [step, *self._merges(temps, tiles)])

    def _merged(self, call: Call, states: list[tuple[DeviceArray, ...]]) -> tuple[DeviceArray, ...]:
        """Several states as one."""
        if len(states) == 1:
            return states[0]
        columns = [concat([x[k] for x in states]) for k in range(2)]
        operands = (*self._memory([], 1), (STATES_IN, VALUES, 0), (COUNTS_IN, VALUES, 1))
        return self._run(call, columns, [], [(*self.end, "merge", "finish", TILE, len(states), operands, ())])

    def _memory(self, temps: list[tuple[str, int]], tiles: int) -> tuple[tuple[int, int, int], ...]:
        """Where the states of tiles go: of one to the results, else to memory between."""
        kind, at = (OUT, 0) if tiles == 1 else (TEMP, len(temps))
        if tiles > 1:
            temps += [(LETTERS[self.state.type], tiles), ("l", tiles)]
        return (STATES_OUT, kind, at), (COUNTS_OUT, kind, at + 1)

    def _merges(self, temps: list[tuple[str, int]], tiles: int) -> list[tuple[Any, ...]]:
        """The steps until one state is left."""
        steps: list[tuple[Any, ...]] = []
        while tiles > 1:
            n, at, tiles = tiles, len(temps) - 2, -(-tiles // TILE_ROWS)
            operands = (*self._memory(temps, tiles), (STATES_IN, TEMP, at), (COUNTS_IN, TEMP, at + 1))
            steps.append((*self.end, "merge", "finish", TILE, n, operands, ()))
        return steps

    def _run(
        self, call: Call, columns: Sequence[DeviceArray], temps: Sequence[tuple[str, int]], steps: Sequence[Any]
    ) -> tuple[DeviceArray, ...]:
        outs = (self.state.schema, 1, False), (schema_of("l"), 1, False)
        return _native.compute_launch_list(
            call.function.name, tuple(columns), outs, tuple(temps), tuple(steps), call.stream, call.owner
        )

    def _finished(self, call: Call, state: tuple[DeviceArray, ...], length: int) -> DeviceArray:
        options: Any = call.options
        operands = (0, OUT, 0), (1, OUT_VALIDITY, 0), (STATES_IN, VALUES, 0), (COUNTS_IN, VALUES, 1)
        step = (*self.end, "finish", "merge", ONE, 1, operands, (0, options.min_count, length, int(options.skip_nulls)))
        return _native.compute_launch_list(
            call.function.name, state, ((self.result.schema, 1, True),), (), (step,), call.stream, call.owner
        )[0]


__all__ = ["reduction"]
