"""Functions of a user's own that give a row for each row, from one text for every device."""

from __future__ import annotations

from ..._arrays.assemble import assemble
from ..._runtime.ext import _native
from ...schema import Schema
from ..dispatch.bounded import Bounded
from ..dispatch.registry import Function, FunctionRegistry
from ..dispatch.types import NUMBERS
from ..kernels.elementwise import PACK, ROW, Map
from .inputs import BUFFERS, OUT, OUT_VALIDITY, Inputs, kernels, null_where, register
from .kernels import packed_kernel, prologue, rows_kernel
from .signature import MOST_COLUMNS, Column, described, made, read, words
from .source import ExpressionError, Parser, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call
    from ..dispatch.datum import Datum
    from .kernels import Reading

_PLAIN_ARGUMENTS = 3  # of a kernel that the fast way calls


def elementwise(
    name: str, signature: str, expression: str, *, doc: str = "", registry: FunctionRegistry | None = None
) -> Function:
    """A :class:`Function` that gives a row for each row, from one text, on every device.

    ``name``: of the function.  ``signature``: up to 64 arguments, then the result: ``"float64 a, float64 b ->
    float64"``; several results with names, ``"float64 a -> float64 low, float64 high"``, are the fields of a struct.
    Types: numbers, bools, dates, times, timestamps, durations and decimals of 32 and 64 bits; all but numbers and bools
    are computed with as their integers, and are taken as they are declared.

    ``expression``: of C, in the arguments' names, with numbers, ``+ - * / % << >> & | ^ ~ ! && || ?:``, comparisons,
    casts such as ``(float32) a`` or ``int64(a)``, and the functions of floats sqrt, fabs, floor, ceil, trunc, rint,
    round, fmod, copysign, fmin, fmax, isnan, isinf, isfinite, abs, min, max, which give the same everywhere, and exp,
    log, pow, sin ..., of which the last bits are the device's.  Before it may stand functions, ``fn square(float64 x)
    -> float64 { x * x }``, then local names, ``let d = a - b;``.  Several results are given by name: ``low = a - 1;
    high = a + 1``.  Types are converted as C does, and integers are computed with at least as many bits as the result
    has; bools are 0 and 1.  What C leaves undefined is defined: integers wrap, a division by 0 gives 0, shifts count
    modulo the width, a float becomes the nearest integer, NaN 0.

    A row is null where an argument is.  Where the text uses ``null``, ``is_null(x)``, ``is_valid(x)`` or ``coalesce(x,
    y)``, the text decides: what it computes of a null is null, ``?:`` is as its condition and the value that
    is chosen, and ``&&`` and ``||`` are Kleene's.

    Integers of other types are cast where nothing is lost, any number to a float.  ``doc``: its description.
    ``registry``: where the function is added under its name; None: nowhere.

    The program is compiled when the function is first called on a device, by the device's compiler, on the CPU by
    ``cc`` (``CDEVICE_CC``), and kept on disk.  Then Unsupported names the missing compiler.

    Does not block.  Any thread.  Raises ValueError for an invalid signature or expression, with the place, KeyError for
    a name that is taken, TypeError for an argument that is not a str.
    """
    for what, given in (("name", name), ("signature", signature), ("expression", expression)):
        words(given, what, "elementwise")
    arguments, results = read(signature)
    if len(arguments) > MOST_COLUMNS:
        raise ValueError(f"elementwise({name!r}): {len(arguments)} arguments: a kernel takes up to {MOST_COLUMNS}")
    try:
        parser = parser_of(arguments, results, expression, frozenset())
        parser.whole()
    except ExpressionError as e:
        raise ExpressionError(f"elementwise({name!r}): {e}") from None
    plain = all(x.format in NUMBERS or x.format == "b" for x in [*arguments, *results])
    exec: Any
    if plain and not parser.controls and len(results) == 1 and len(arguments) <= _PLAIN_ARGUMENTS:
        exec = _plain(name, arguments, results[0], expression, parser)
    else:
        exec = Rows(arguments, results, expression)
    f = Function(name, "scalar", len(arguments), doc or described(arguments, results, expression))
    out = results[0].format if len(results) == 1 else "+s"
    return made(f, "elementwise", arguments, out, exec, registry)


def parser_of(arguments: Sequence[Column], results: Sequence[Column], text: str, nullable: frozenset[str]) -> Parser:
    given = [(x.type, x.name) for x in arguments]
    return Parser(given, [(x.type, x.name) for x in results], text, nullable)


def _plain(name: str, arguments: list[Column], result: Column, text: str, parser: Parser) -> Map:
    """As a function of the library's own."""
    given = [(x.type, x.name) for x in arguments]
    family = register(program(given, result.type, text, result.name))
    doubles = "f64" in parser.types or "f64" in (result.type, *[x.type for x in arguments])
    wide = "f64 " if doubles else ""  # tells devices without it
    letters = "".join(x.format for x in arguments)
    unit = PACK if result.type == "bits" else ROW
    return Map(family, wide + result.type, "apply", letters, result.format, unit=unit, function_name=name)


class _Variant:
    """The kernels for one way of reading the arguments.

    ``kernels``: (name, the numbers of its results, has the result a bitmap that it writes); ``nulls``: of each result
    the arguments that it is null with, or None where its kernel writes its bitmap."""

    __slots__ = ("family", "kernels", "nulls", "type")

    def __init__(self, rows: Rows, readings: Sequence[Reading], room: int) -> None:
        """``room``: buffers for results."""
        nullable = frozenset([x.name for x in readings if x.nullable])
        parser = parser_of(rows.arguments, rows.results, rows.text, nullable)
        nodes = parser.whole()
        self.nulls: list[frozenset[str] | None] = []
        self.kernels: list[tuple[str, tuple[int, ...], bool]] = []
        texts, simple = [], []
        for k, x in enumerate(nodes):
            written = parser.controls and isinstance(x.valid, str)
            self.nulls.append(None if written else x.valid if parser.controls else frozenset(rows.names))  # type: ignore[arg-type]
            if x.type != "bits" and not written:
                simple.append(k)
                continue
            kernel = f"packed{k}"
            texts.append((kernel, packed_kernel(kernel, parser, x, readings, written)))
            self.kernels.append((kernel, (k,), written))
        for begin in range(0, len(simple), room):
            some, kernel = tuple(simple[begin : begin + room]), f"rows{begin}"
            texts.append((kernel, rows_kernel(kernel, parser, [nodes[k] for k in some], readings)))
            self.kernels.append((kernel, some, False))
        whole = [f"#if KERNEL_ENABLED({kernel})\n{text}#endif\n" for kernel, text in texts]
        text = "\n".join([*prologue(parser, *[x.text for x in nodes]), *whole])
        self.family, self.type = kernels(text)


class Rows:
    """``exec`` of a function of any number of arguments and results, or one whose text decides which rows are null."""

    __slots__ = ("arguments", "controls", "names", "results", "schema", "text", "variants")

    def __init__(self, arguments: list[Column], results: list[Column], text: str) -> None:
        self.arguments, self.results, self.text = arguments, results, text
        self.names = [x.name for x in arguments]
        self.controls = parser_of(arguments, results, text, frozenset()).controls
        fields = [x.schema.with_name(x.name) for x in results]
        self.schema = results[0].schema if len(results) == 1 else Schema.make("+s", children=fields)
        self.variants: Bounded[Any, _Variant] = Bounded(64)

    def __call__(self, call: Call, *args: Datum) -> DeviceArray:
        most = 2 if self.controls else max(2, min(len(self.results), 4))
        for room in (most, 2):
            inputs = Inputs(call, self.arguments, args, range(room, BUFFERS), self.controls)
            if len(inputs.columns) == len(args):
                break
        key = tuple(inputs.readings), room
        variant = self.variants.get(key) or self.variants.put(key, _Variant(self, inputs.readings, room))
        made = self._run(call, inputs, variant)
        if len(made) == 1:
            return made[0]
        return assemble(self.schema, inputs.rows, [None], made)

    def _run(self, call: Call, inputs: Inputs, variant: _Variant) -> tuple[DeviceArray, ...]:
        rows, outs, steps = inputs.rows, [], []
        for k, (x, names) in enumerate(zip(self.results, variant.nulls, strict=True)):
            columns = [c for c in inputs.nullable if names is not None and self.names[c[0]] in names]
            outs.append((x.schema, rows, names is None or bool(columns)))
            steps += null_where(columns, k, rows)
        for kernel, results, written in variant.kernels:
            operands = [(slot, OUT, k) for slot, k in enumerate(results)]
            if written:
                operands.append((1, OUT_VALIDITY, results[0]))
            packed = written or self.results[results[0]].type == "bits"
            unit = PACK if packed else ROW
            steps.append((variant.family, variant.type, kernel, "", unit, rows, (*operands, *inputs.operands), ()))
        return _native.compute_launch_list(
            call.function.name, tuple(inputs.columns), tuple(outs), (), tuple(steps), call.stream, call.owner
        )
