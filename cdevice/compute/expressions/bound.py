"""Expressions with the types of a schema: steps that are computed one after the other, each once."""

from __future__ import annotations

from ...errors import ArgumentError, Error, Unsupported
from ...interop.asarray import asarray
from ...schema import Schema, asschema
from ..dispatch.bounded import Bounded
from ..dispatch.call import Call, run_arguments
from ..dispatch.datum import Datum
from ..dispatch.fallback import copies_wanted
from ..dispatch.function import Function
from ..dispatch.implicit_casts import adapted, is_exact
from ..dispatch.types import NUMBERS, common, format_of
from ..errors import NoKernel, ValueOutOfRange
from ..functions import get_function
from ..kernels import row_numbers as numbers
from ..kernels.cast.dictionary import may_be_null as has_nulls
from ..kernels.columns import on_device_of
from ..kernels.selection.take import take_array
from ..options import NoOptions
from ..scalar import Scalar
from .fuse import FUSED, Part, Unfit, can_fuse, constant_bits, may_be_null, part_of
from .graph import Called, Column, Literal, Node, at_place, post_order, unknown_column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import DeviceArray, SchemaLike, StreamLike

FUSE_ROWS = 1 << 22  # that are computed function by function before a kernel is compiled
_NO_OPTIONS = NoOptions()
_fused = Function("expression", "vector", -1, "Several functions in one kernel.")
_repeat = Function("repeat", "vector", 1, "One value as many rows.")
_ERRORS = (Error, ValueError, TypeError, LookupError)


class _Step:
    """A column, a literal or a function; ``arguments``: numbers of steps before; ``type``: of the result; ``wanted``:
    the formats that the function's kernel takes; ``constants``: of its literals the bits, None for null; ``fuses``: can
    it be part of a kernel?  ``front``: the public function in C, where it is called with columns and nothing else."""

    __slots__ = ("arguments", "called", "constants", "format", "front", "fuses", "node", "type", "wanted")

    def __init__(self, node: Node, arguments: tuple[int, ...], sample: Datum, given: Sequence[Datum]) -> None:
        self.node, self.called, self.arguments = node, node._value, arguments
        self.format, self.type = sample.format, _type_of(sample)
        self.wanted = _wanted(self.called, given, sample) if isinstance(self.called, Called) else ()
        self.constants: dict[int, int | None] = {}
        self.front: Any = None
        if isinstance(self.called, Called) and self.called.options == _NO_OPTIONS and self.called.function._fast_calls:
            columns = all(a.array is not None and not a.one for a in given)
            self.front = self.called.function._fast_calls[0] if columns else None
        self.fuses = bool(self.wanted)
        for i, (a, w) in enumerate(zip(given, self.wanted, strict=bool(self.wanted))):
            if a.one or a.array is None:
                try:
                    self.constants[i] = constant_bits(a, w)
                except (ValueOutOfRange, Unfit):
                    self.fuses = False


def _wanted(called: Called, given: Sequence[Datum], out: Datum) -> tuple[str, ...]:
    """The formats that the kernel of a function takes; none where it cannot be part of a fused one."""
    function, formats = called.function, tuple([a.format or "n" for a in given])
    name = function.name
    if name not in FUSED or get_function(name) is not function:
        return ()
    if function.kind == "meta":
        wanted = formats if name == "cast" else (out.format or "",) * len(formats)
    else:
        try:
            kernel, wanted = function._candidates(formats, 1)[0]
        except NoKernel:
            return ()
        if kernel.library != "cdevice":
            return ()
    return wanted if can_fuse(name, formats, wanted, out.format) else ()


class _Program:
    """Steps in order: of each its number, its kernel where that is of several steps, and the values that nothing reads
    after it."""

    __slots__ = ("entries",)

    def __init__(self, steps: Sequence[_Step], nullable: frozenset[int] | None) -> None:
        """``nullable``: the columns that may have nulls; None: each step is a function alone."""
        may = set() if nullable is None else may_be_null(steps, nullable)
        last = len(steps) - 1
        needed, entries = {last}, []
        for i in range(last, -1, -1):
            if i not in needed:
                continue
            step = steps[i]
            part = part_of(steps, i, step.type, may) if nullable is not None and step.fuses else None
            reads = tuple(part.inputs) if part else step.arguments
            done = tuple([k for k in dict.fromkeys(reads) if k not in needed])
            needed.update(reads)
            entries.append((i, part, done))
        self.entries: list[tuple[int, Part | None, tuple[int, ...]]] = entries[::-1]

    def fuses(self) -> bool:
        return any(part is not None for _, part, _ in self.entries)


class BoundExpression:
    """An expression with the types of a schema; :meth:`Expression.bind` makes it.

    ``expression``: the :class:`Expression`; ``schema``: of the batches; ``type``: the :class:`Schema` of the result.
    Immutable.  Any thread.
    """

    __slots__ = (
        "_columns",
        "_computed",
        "_fused",
        "_numbers",
        "_plain",
        "_steps",
        "_unfit",
        "expression",
        "schema",
        "type",
    )

    def __init__(self, expression: Node, schema: Schema) -> None:
        self.expression, self.schema = expression, schema
        self._numbers: dict[str, int] = {}
        names = [c.name for c in schema.children] if schema.format == "+s" else None
        if names is None:
            raise ArgumentError(f"bind: expected the schema of a batch, not {schema.type}")
        places: dict[int, int] = {}  # of a node's id
        known: dict[Any, int] = {}  # equal nodes are one step
        self._steps: list[_Step] = []
        steps = self._steps
        samples: list[Datum] = []  # what each step gives of no rows
        for node in post_order(expression):
            arguments = tuple([places[id(x)] for x in node._arguments])
            key = node._value, arguments
            found = known.get(key)
            if found is None:
                given = _in_columns_type([samples[i] for i in arguments])
                if isinstance(node._value, Called) and node._value.function.compares:
                    given = adapted(list(given))
                try:
                    sample = self._sample(node, given, names)
                except _ERRORS as e:
                    at_place(e, expression, node)
                    raise
                found = known[key] = len(steps)
                steps.append(_Step(node, arguments, sample, given))
                samples.append(sample)
            places[id(node)] = found
        self.type = steps[-1].type
        self._plain = _Program(steps, None)
        self._columns = tuple([i for i, x in enumerate(steps) if isinstance(x.called, Column)])
        self._fused: dict[frozenset[int], _Program] = {}  # of the columns that may have nulls
        self._unfit: set[int] = set()  # devices without a compiler
        self._computed = 0  # rows

    def _sample(self, node: Node, arguments: Sequence[Datum], names: list[str]) -> Datum:
        """What a node gives of no rows."""
        value = node._value
        if isinstance(value, Column):
            if names.count(value.name) != 1:
                raise ArgumentError(unknown_column(value.name, names))
            i = self._numbers[value.name] = names.index(value.name)
            empty = asarray([], schema=self.schema.children[i])
            return Datum(empty, format_of(empty))
        if isinstance(value, Literal):
            return value.datum()
        return _computed(value, arguments, None)

    def evaluate(self, batch: Any, *, stream: StreamLike = None) -> DeviceArray:
        """The values for the rows of a batch of the schema, on its device.

        ``batch``: what :func:`cdevice.asarray` takes.  ``stream``: of the device, as in :meth:`DeviceArray.to`.
        Blocks as the functions in it.  Raises ArgumentError for a batch of another schema, and as these functions do,
        with the place in the expression.
        """
        array = asarray(batch)
        if not self.schema._equal(array._schema, False, False):
            raise ArgumentError(f"evaluate: the expression is bound to {self.schema.type}, not to {array._schema.type}")
        return self._rows(array, stream)

    def _rows(self, batch: DeviceArray, stream: StreamLike) -> DeviceArray:
        """A row for each row of a batch."""
        out = self._datum(batch, stream)
        if out.array is not None and not out.one:
            return out.array
        return repeated(out, batch, stream)

    def _datum(self, batch: DeviceArray, stream: StreamLike) -> Datum:
        """The values as a function takes them: a value that is one for all rows stays one."""
        if self._computed < FUSE_ROWS:
            self._computed += batch.length
        elif batch.device_type_id not in self._unfit and not copies_wanted(None):
            program = self._program(batch)
            if program.fuses():
                out = self._run_fused(program, batch, stream)
                if out is not None:
                    return out
        out = self._run(self._plain, batch, stream)
        assert out is not None
        return out

    def _program(self, batch: DeviceArray) -> _Program:
        """The fused program for the nulls of a batch."""
        names = self._numbers
        nullable = [i for i in self._columns if has_nulls(batch._child(names[self._steps[i].called.name]))]
        key = frozenset(nullable)
        return self._fused.get(key) or self._fused.setdefault(key, _Program(self._steps, key))

    def _run_fused(self, program: _Program, batch: DeviceArray, stream: StreamLike) -> Datum | None:
        """None: a row is wrong, or there is no compiler."""
        try:
            return self._run(program, batch, stream)
        except Unsupported:
            self._unfit.add(batch.device_type_id)
            return None

    def _run(self, program: _Program, batch: DeviceArray, stream: StreamLike) -> Datum | None:
        values: list[Any] = [None] * len(self._steps)
        for i, part, done in program.entries:
            step = self._steps[i]
            value = step.called
            if isinstance(value, Column):
                column = batch._child(self._numbers[value.name])
                values[i] = Datum(column, format_of(column))
            elif isinstance(value, Literal):
                values[i] = value.datum()
            elif part is not None:
                given = [values[k] for k in part.inputs]
                if any(a.one or a.array is None for a in given):
                    return None
                call = Call(_fused, _NO_OPTIONS, given, stream)
                made = part.run(call, [on_device_of(call, a.array) for a in given])
                if made is None:
                    return None
                values[i] = Datum(made, step.format)
            else:
                try:
                    if step.front is not None and stream is None:
                        made = step.front(*[values[k].array for k in step.arguments])
                        values[i] = Datum(made, step.format)
                    else:
                        values[i] = _computed(value, [values[k] for k in step.arguments], stream)
                except _ERRORS as e:
                    at_place(e, self.expression, step.node)
                    raise
            for k in done:
                values[k] = None
        last: Datum = values[-1]
        return last

    def explain(self) -> str:
        """The parts of the computation: each line a step, with the text of a kernel of several functions below it.

        Does not block.  Any thread.  Never raises."""
        lines = []
        program = next(iter(self._fused.values()), None) or _Program(self._steps, frozenset(self._columns))
        for i, part, _ in program.entries:
            step = self._steps[i]
            name = step.called.function.name if isinstance(step.called, Called) else str(step.called)
            if part is None:
                what = (
                    f"{name}({', '.join(f'#{k}' for k in step.arguments)})" if isinstance(step.called, Called) else name
                )
                lines.append(f"#{i} = {what}: {step.type.type}")
                continue
            reads = ", ".join(f"#{k}" for k in [*part.inputs, *part.constants])
            lines.append(f"#{i} = one kernel of {len(part.nodes)} functions ({reads}): {step.type.type}")
            lines += [f"    {line}" for line in part.text.splitlines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<cdevice.compute.BoundExpression {self.expression}: {self.type.type}>"

    def _repr_html_(self) -> str:
        from ..._runtime.html import code_html

        return code_html(f"{self.expression}: {self.type.type}")


def _type_of(a: Datum) -> Schema:
    if a.array is not None:
        return a.array._schema.with_name("")
    return Schema.make(a.format or "n")


def _computed(value: Called, arguments: Sequence[Datum], stream: StreamLike) -> Datum:
    """A function of what was computed before."""
    given = [Datum(a.array, a.format, one=a.one, value=a.value) for a in _in_columns_type(arguments)]
    out = run_arguments(value.function, value.options, given, stream)
    if isinstance(out, Scalar):
        return Datum(out.array, format_of(out.array), one=True)
    return Datum(out, format_of(out))


def _in_columns_type(arguments: Sequence[Datum]) -> Sequence[Datum]:
    """Numbers of Python as the type of the columns beside them, where they are numbers of it."""
    if not any(a.array is None and a.value is not None for a in arguments):
        return arguments
    formats = [a.format for a in arguments if a.array is not None and a.format and a.format in NUMBERS]
    to = common(formats) if formats else None
    if to is None:
        return arguments
    return [
        Datum(value=a.value, format=to) if a.array is None and a.value is not None and is_exact(a.value, to) else a
        for a in arguments
    ]


# ---- binding ----
_KEPT = 16  # schemas that an expression is bound to, the last ones
_same: Bounded[int, list[tuple[Node, list[BoundExpression]]]] = Bounded(1000)  # by the hashes of expressions


def _bound_before(expression: Node) -> list[BoundExpression]:
    """What an expression, or an equal one, was bound to: a list that is added to."""
    if expression._known is None:
        equal = _same.get(expression._hash) or _same.put(expression._hash, [])
        found = next((known for e, known in equal if e.equals(expression)), None)
        if found is None:
            found = []
            equal.append((expression, found))
            del equal[:-_KEPT]
        expression._known = found
    known: list[BoundExpression] = expression._known
    return known


def bind(expression: Node, schema: SchemaLike) -> BoundExpression:
    """See :meth:`Expression.bind`."""
    given = schema if isinstance(schema, Schema) else asschema(schema)
    known = _bound_before(expression)
    for bound in known:
        if bound.schema is given or bound.schema._equal(given, True, False):
            return bound
    made = BoundExpression(expression, given)
    known.insert(0, made)
    del known[_KEPT:]
    return made


def evaluated(expression: Node, data: Any, stream: StreamLike) -> DeviceArray:
    """See :meth:`Expression.evaluate`."""
    batch = asarray(data)
    return bind(expression, batch._schema)._rows(batch, stream)


def columns_of(data: Any, args: Sequence[Any], function: str) -> list[Any]:
    """The arguments of a function behind its first, a batch: expressions are computed of it."""
    try:
        batch = asarray(data)
    except TypeError:
        raise TypeError(f"{function}: an expression beside {type(data).__name__}: expected a batch first") from None
    if batch._format != "+s":
        raise ArgumentError(f"{function}: an expression needs a batch, not {batch._schema.type}")
    if function == "filter":
        for x in args:
            require_condition(x, batch._schema, function)
    return [evaluated(x, batch, None) if isinstance(x, Node) else x for x in args]


def require_condition(where: Node, schema: Schema, what: str) -> BoundExpression:
    """A condition with the types of a schema.  Raises ArgumentError where it is none."""
    bound = bind(where, schema)
    if bound.type.format not in "bn":
        raise ArgumentError(f"{what}: expected a condition, but {where} is {bound.type.type}")
    return bound


def repeated(one: Datum, batch: DeviceArray, stream: StreamLike) -> DeviceArray:
    """One value as a row for each row of a batch."""
    array = one.array
    if array is None:
        array = asarray([one.value], schema=Schema.make(one.format or "n"))
    call = Call(_repeat, NoOptions(), [Datum(batch)], stream)
    zeros = numbers.multiply(call, numbers.from_(call, batch, 0, batch.length), 0)
    return take_array(call, on_device_of(call, array), zeros, False)


__all__ = ["BoundExpression", "bind", "columns_of", "evaluated", "repeated"]
