"""Parts of an expression that become one kernel: which they are, and the text of that kernel.

A value is a text in the dialect of cdevice/kernels, and so is its validity, unless a row is null where one of some
columns is.  What a function gives one by one the text gives too; a row that a checked function would refuse is
reported, and the functions are then called one by one, which find it and name it.
"""

from __future__ import annotations

import hashlib
import struct

from ..._arrays.buffer_access import view
from ..._arrays.from_buffers import from_buffers
from ..._runtime.ext import _native, check, lib
from ..dispatch.types import FLOATS, KERNEL_TYPES, NUMBERS, bits_of, is_wider, kind_of_time, storage_of
from ..kernels.elementwise import PACK, ROW
from ..udf.source import MATH
from .graph import Called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..._types import DeviceArray
    from ...schema import Schema
    from ..dispatch.call import Call
    from ..dispatch.datum import Datum

    Valid = frozenset[int] | str  # the inputs that must be valid, or a text

_CODES = {"c": "<b", "s": "<h", "i": "<i", "l": "<q", "C": "<B", "S": "<H", "I": "<I", "L": "<Q", "f": "<f", "g": "<d"}
MOST_NODES = 64  # of a kernel
_BUFFERS, _CONSTANTS = 7, 4  # of core/compute/fused.h
_ALWAYS: frozenset[int] = frozenset()


class Unfit(Exception):
    """A part that cannot be one kernel."""


class _Value:
    """What a node gives: its format, its text, its validity."""

    __slots__ = ("format", "text", "valid")

    def __init__(self, format: str, text: str, valid: Valid) -> None:
        self.format, self.text, self.valid = format, text, valid

    def known(self) -> str:
        """Its validity as text."""
        if isinstance(self.valid, str):
            return self.valid
        return " & ".join(f"n{i}" for i in sorted(self.valid)) or "1u"


def _type(format: str) -> str:
    return "u32" if format == "b" else KERNEL_TYPES[storage_of(format) or ""]


def _is_float(format: str) -> bool:
    return format in FLOATS


def _bits(format: str) -> int:
    return int(_type(format)[1:])


def _least(format: str) -> str:
    t, bits = _type(format), _bits(format)
    return f"(({t})((u64)1 << {bits - 1}))"


def _wrap(format: str) -> str:
    """The unsigned type that integers are added and multiplied in."""
    return "u64" if _bits(format) == 64 else "u32"


def _is_signed(format: str) -> bool:
    return _type(format)[0] == "i"


# ---- texts: of operands named a, b, c and the result r, and of what makes a row wrong ----
def _sum(op: str, f: str) -> str:
    if _is_float(f):
        return f"a {op} b"
    return f"({_type(f)})(({_wrap(f)})a {op} ({_wrap(f)})b)"


def _add_wraps(f: str) -> str:
    return "" if _is_float(f) else "((a ^ r) & (b ^ r)) < 0" if _is_signed(f) else "r < a"


def _subtract_wraps(f: str) -> str:
    return "" if _is_float(f) else "((a ^ b) & (a ^ r)) < 0" if _is_signed(f) else "a < b"


def _multiply_wraps(f: str) -> str:
    if _is_float(f):
        return ""
    if _bits(f) < 64:
        wide = "i64" if _is_signed(f) else "u64"
        return f"({wide})a * ({wide})b != ({wide})r"
    if not _is_signed(f):
        return "a != 0 && r / a != b"
    small = "a <= 2147483647 && a >= -2147483647 && b <= 2147483647 && b >= -2147483647"
    low = _least(f)
    return f"!({small}) && a != 0 && ((a == -1 && b == {low}) || (b == -1 && a == {low}) || r / a != b)"


def _quotient(f: str) -> str:
    if _is_float(f):
        return "a / b"
    odd = f" || (b == -1 && a == {_least(f)})" if _is_signed(f) else ""
    return f"b == 0{odd} ? ({_type(f)})0 : ({_type(f)})(a / b)"


def _quotient_wrong(f: str) -> str:
    return "" if _is_float(f) else "b == 0"


def _checked_quotient_wrong(f: str) -> str:
    odd = f" || (b == -1 && a == {_least(f)})" if not _is_float(f) and _is_signed(f) else ""
    return f"b == 0{odd}"


def _negated(f: str) -> str:
    return "-a" if _is_float(f) else f"({_type(f)})(({_wrap(f)})0 - ({_wrap(f)})a)"


def _negate_wraps(f: str) -> str:
    return "" if _is_float(f) else f"a == {_least(f)}" if _is_signed(f) else "a != 0"


def _magnitude(f: str) -> str:
    if _is_float(f):
        return f"MATH{_bits(f)}_(fabs)(a)"
    return f"a < 0 ? {_negated(f)} : a" if _is_signed(f) else "a"


def _magnitude_wraps(f: str) -> str:
    return f"a == {_least(f)}" if not _is_float(f) and _is_signed(f) else ""


def _none(f: str) -> str:
    return ""


# Arrow's name: the text, when a row is wrong, the formats that it takes
_ARITHMETIC: dict[str, tuple[Callable[[str], str], Callable[[str], str], str]] = {
    "add": (lambda f: _sum("+", f), _none, NUMBERS),
    "subtract": (lambda f: _sum("-", f), _none, NUMBERS),
    "multiply": (lambda f: _sum("*", f), _none, NUMBERS),
    "divide": (_quotient, _quotient_wrong, NUMBERS),
    "add_checked": (lambda f: _sum("+", f), _add_wraps, NUMBERS),
    "subtract_checked": (lambda f: _sum("-", f), _subtract_wraps, NUMBERS),
    "multiply_checked": (lambda f: _sum("*", f), _multiply_wraps, NUMBERS),
    "divide_checked": (_quotient, _checked_quotient_wrong, NUMBERS),
    "negate": (_negated, _none, NUMBERS),
    "negate_checked": (_negated, _negate_wraps, NUMBERS),
    "abs": (_magnitude, _none, NUMBERS),
    "abs_checked": (_magnitude, _magnitude_wraps, NUMBERS),
    "sqrt": (lambda f: f"MATH{_bits(f)}_(sqrt)(a)", _none, FLOATS),
    "bit_wise_and": (lambda f: f"({_type(f)})(a & b)", _none, "csilCSIL"),
    "bit_wise_or": (lambda f: f"({_type(f)})(a | b)", _none, "csilCSIL"),
    "bit_wise_xor": (lambda f: f"({_type(f)})(a ^ b)", _none, "csilCSIL"),
    "bit_wise_not": (lambda f: f"({_type(f)})~a", _none, "csilCSIL"),
}
_COMPARED = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_LOGIC = {"and": "a & b", "or": "a | b", "xor": "a ^ b", "and_not": "a & (b ^ 1u)", "invert": "a ^ 1u"}
_TESTS = {"is_nan": "(u32)(a != a)", "is_finite": "(u32)(a - a == 0)", "is_inf": "(u32)(a == a && a - a != 0)"}
_NULLS = {"is_null", "is_valid", "coalesce", "fill_null", "if_else", "and_kleene", "or_kleene"}
FUSED = {*_ARITHMETIC, *_COMPARED, *_LOGIC, *_TESTS, *_NULLS, "cast"}


def _plain(format: str | None) -> bool:
    """Is it a type whose values a fused kernel reads?"""
    return format == "b" or (format is not None and format != "e" and storage_of(format) is not None)


def can_fuse(name: str, given: Sequence[str | None], wanted: Sequence[str], out: str | None) -> bool:
    """Is a function of these formats, cast to ``wanted``, part of a kernel?"""
    if name not in FUSED or not _plain(out) or not all(_plain(f) or f == "n" for f in given):
        return False
    if name in ("is_null", "is_valid"):
        return all(map(_plain, given))
    if name == "cast":
        a = given[0] or "n"
        return a in NUMBERS and out is not None and out in NUMBERS and (a == out or is_wider(out, a))
    if not all(a in (b, "n") or _converts(a, b) for a, b in zip(given, wanted, strict=True)):
        return False
    if name in _ARITHMETIC:
        return set(wanted) == {out} and out in _ARITHMETIC[name][2]  # type: ignore[operator]
    if name in _COMPARED:
        same = len(set(wanted)) == 1
        return same and (wanted[0] in NUMBERS or wanted[0] == "b" or kind_of_time(wanted[0]) is not None)
    if name in _LOGIC or name in ("and_kleene", "or_kleene"):
        return set(wanted) == {"b"}
    if name in _TESTS:
        return wanted[0] in FLOATS
    if name == "if_else":
        return wanted[0] == "b" and set(wanted[1:]) == {out}
    return len(wanted) == 2 and set(wanted) == {out}


def _converts(a: str | None, b: str | None) -> bool:
    """Does a number of type ``a`` become the same of ``b``, but for integers beyond those that a float has?"""
    if a is None or b is None or a not in NUMBERS or b not in NUMBERS:
        return False
    return (is_wider(b, a) and (a, b) != ("g", "f")) or (b in FLOATS and a not in FLOATS)


def _beyond(a: str, b: str, text: str) -> str:
    """Is an integer beyond those that a float has?  "": none of its type is."""
    if b not in FLOATS or a in FLOATS or is_wider(b, a):
        return ""
    most = f"({_type(a)}){1 << (53 if b == 'g' else 24)}"
    low = f" || {text} < -{most}" if _is_signed(a) else ""
    return f"{text} > {most}{low}"


class Part:
    """Steps that are one kernel: ``nodes``, the last is the result; ``inputs``, ``constants``: other steps."""

    __slots__ = ("constants", "family", "inputs", "nodes", "plan", "table", "text", "values")

    def __init__(self, steps: Sequence[Any], nodes: list[int], out: Schema, nullable: set[int]) -> None:
        inside = set(nodes)
        self.nodes = nodes
        self.inputs: list[int] = []
        self.constants: list[int] = []
        for i in nodes:
            for number, k in enumerate(steps[i].arguments):
                if k in inside:
                    continue
                where = self.constants if number in steps[i].constants else self.inputs
                if k not in where:
                    where.append(k)
        writer = _Writer(steps, self, nullable)
        self.text, arguments, nulls, validity, checked, constants = writer.program()
        self.values = constants
        self.family = "own_f" + hashlib.sha256(self.text.encode()).hexdigest()[:18]
        check(lib.cdv_kernel_register_source(self.family.encode(), self.text.encode()))
        last = steps[nodes[-1]].format
        wide = "f64 " if "f64" in self.text else ""  # tells devices without it
        word = "bits" if last == "b" else _type(last)
        unit = PACK if last == "b" or validity else ROW
        words = (self.family, wide + word, unit, validity, checked)
        table = len(constants) if len(constants) > _CONSTANTS else 0
        self.plan = _native.compute_fused_plan(words, out, arguments, nulls, len(constants) - table, table)
        self.table = b""
        if table:
            self.values, self.table = (), b"".join(x.to_bytes(8, "little") for x in constants)

    def run(self, call: Call, columns: Sequence[DeviceArray]) -> DeviceArray | None:
        """The result for columns of one length on the call's device; None: a row is wrong."""
        if self.table:
            near, constants = columns[0], from_buffers("uint64", len(self.table) // 8, [None, self.table])
            if near.device_type_id != 1:
                constants = constants.to(near.device, stream=call.owner)
            columns = [*columns, constants]
        return _native.compute_fused(self.plan, tuple(columns), self.values, call.stream, call.owner)


class _Writer:
    """Writes the text of a part."""

    def __init__(self, steps: Sequence[Any], part: Part, nullable: set[int]) -> None:
        self.steps, self.part, self.nullable = steps, part, nullable
        self.values: dict[int, _Value] = {}
        self.lines: list[str] = []
        self.wrong: list[str] = []
        self.constants: list[tuple[str, int]] = []  # format, bits
        self.math = False

    def operand(self, of: Any, number: int) -> _Value:
        """An argument of a step."""
        step, wanted = of.arguments[number], of.wanted[number]
        if number in of.constants:
            return self.constant(of.constants[number], wanted)
        made = self.steps[step]
        value = self.values.get(step)
        if value is None:
            i = self.part.inputs.index(step)
            value = _Value(made.format, f"a{i}", frozenset([i]) if step in self.nullable else _ALWAYS)
        if value.format == wanted or wanted == "-":
            return value
        beyond = _beyond(value.format, wanted, value.text)
        if beyond and beyond not in self.wrong:
            self.wrong.append(beyond)
        return _Value(wanted, f"(({_type(wanted)}){value.text})", value.valid)

    def constant(self, bits: int | None, wanted: str) -> _Value:
        if bits is None:
            return _Value(wanted, "0", "0u")
        key = (wanted, bits)
        if key not in self.constants:
            self.constants.append(key)
        return _Value(wanted, f"c{self.constants.index(key)}", _ALWAYS)

    def name(self, type: str, text: str) -> str:
        name = f"t{len(self.lines)}"
        self.lines.append(f"const {type} {name} = {text};")
        return name

    def named(self, x: _Value) -> _Value:
        """With a name in place of a text."""
        plain = x.text.isalnum()
        text = x.text if plain else self.name(_type(x.format), x.text)
        valid = x.valid
        if isinstance(valid, str) and not valid.isalnum():
            valid = self.name("u32", valid)
        return _Value(x.format, text, valid)

    def both(self, *values: _Value) -> Valid:
        """Valid where all are."""
        if all(not isinstance(v.valid, str) for v in values):
            return frozenset().union(*[v.valid for v in values])  # type: ignore[arg-type]
        return " & ".join(f"({v.known()})" for v in values if v.valid != _ALWAYS)

    def formula(self, text: str, operands: Sequence[_Value], result: str = "") -> str:
        """A text of a, b and r with the names of operands."""
        names = {"a": operands[0].text, "b": operands[-1].text, "r": result}
        out, word = [], ""
        for ch in text + " ":
            if ch.isalnum() or ch == "_":
                word += ch
                continue
            out += [names.get(word, word), ch]
            word = ""
        return "".join(out).rstrip()

    def write(self, i: int) -> None:
        step = self.steps[i]
        name, out = step.called.function.name, step.format
        operands = [self.named(self.operand(step, k)) for k in range(len(step.arguments))]
        self.values[i] = self.named(self.value(name, out, operands, step.wanted))

    def value(self, name: str, out: str, x: list[_Value], wanted: Sequence[str]) -> _Value:
        if name in _ARITHMETIC:
            formula, wrong, _ = _ARITHMETIC[name]
            made = self.name(_type(out), self.formula(formula(out), x))
            self.math |= "MATH" in self.lines[-1]
            if wrong(out):
                self.wrong.append(self.formula(wrong(out), x, made))
            return _Value(out, made, self.both(*x))
        if name in _COMPARED:
            return _Value(out, f"(u32)({x[0].text} {_COMPARED[name]} {x[1].text})", self.both(*x))
        if name in _LOGIC:
            return _Value(out, self.formula(_LOGIC[name], x), self.both(*x))
        if name in _TESTS:
            return _Value(out, self.formula(_TESTS[name], x), self.both(*x))
        if name in ("is_null", "is_valid"):
            known = x[0].known()
            return _Value(out, f"({known}) ^ 1u" if name == "is_null" else known, _ALWAYS)
        if name == "cast":
            return _Value(out, f"({_type(out)}){x[0].text}", x[0].valid)
        if name in ("and_kleene", "or_kleene"):
            return self.kleene(name, x)
        if name == "if_else":
            condition, a, b = x
            text = f"{condition.text} ? {a.text} : {b.text}"
            if a.valid == b.valid:
                return _Value(out, text, self.both(condition, a))
            return _Value(out, text, f"({condition.known()}) & ({condition.text} ? {a.known()} : {b.known()})")
        a, b = x  # coalesce, fill_null
        if a.valid == _ALWAYS:
            return a
        valid = _ALWAYS if b.valid == _ALWAYS else f"({a.known()}) | ({b.known()})"
        return _Value(out, f"({a.known()}) ? {a.text} : {b.text}", valid)

    def kleene(self, name: str, x: list[_Value]) -> _Value:
        a, b = x
        if a.valid == _ALWAYS == b.valid:
            return _Value("b", f"{a.text} {'&' if name == 'and_kleene' else '|'} {b.text}", _ALWAYS)
        va, vb = (self.name("u32", v.known()) if not v.known().isalnum() else v.known() for v in x)
        if name == "and_kleene":
            text = f"({a.text} | ({va} ^ 1u)) & ({b.text} | ({vb} ^ 1u))"
            return _Value("b", text, f"({va} & {vb}) | ({va} & ({a.text} ^ 1u)) | ({vb} & ({b.text} ^ 1u))")
        text = f"({a.text} & {va}) | ({b.text} & {vb})"
        return _Value("b", text, f"({va} & {vb}) | ({va} & {a.text}) | ({vb} & {b.text})")

    def program(self) -> tuple[str, tuple[Any, ...], tuple[int, ...], bool, bool, tuple[int, ...]]:
        """(text, arguments, columns whose nulls are the result's, is validity written, is it checked, constants)"""
        for i in self.part.nodes:
            self.write(i)
        last = self.values[self.part.nodes[-1]]
        validity, checked = isinstance(last.valid, str), bool(self.wrong)
        inputs = self.part.inputs
        body = "\n".join(self.lines)
        words = set(_words(f"{body} {last.text} {last.valid if validity else ''} {' '.join(self.wrong)}"))
        slots = [k for k in range(1, _BUFFERS + 1) if not (k == 1 and validity) and not (k == 2 and checked)]
        arguments: list[tuple[int, int, int, str]] = []
        parameters: list[str] = []
        given: list[str] = []
        before: list[str] = []
        for i, step in enumerate(inputs):
            format = self.steps[step].format
            letter = "b" if format == "b" else storage_of(format)
            for kind in "an":
                if f"{kind}{i}" not in words:
                    continue
                if not slots:
                    raise Unfit
                slot = slots.pop(0)
                arguments.append((i, int(kind == "n"), slot, letter or "-"))
                if kind == "n" or format == "b":
                    parameters.append(f"const u32 {kind}{i}")
                    given.append(f"bit1(RAW(const u32, {slot}), OFFSET({slot}), i)")
                else:
                    t = _type(format)
                    parameters.append(f"const {t} {kind}{i}")
                    before.append(f"GLOBAL const {t} *RESTRICT x{i} = IN({t}, {slot});")
                    given.append(f"x{i}[i]")
        table = len(self.constants) > _CONSTANTS
        if table:
            if not slots:
                raise Unfit
            arguments.append((len(inputs), 2, slots[0], "L"))
            before.append(f"GLOBAL const u64 *RESTRICT table = IN(u64, {slots[0]});")
        for k, (format, _) in enumerate(self.constants):
            t, word = _type(format), f"table[{k}]" if table else f"SCALAR({k + 1})"
            read = {"f64": f"AS_F64({word})", "f32": f"AS_F32({word})"}.get(t, f"({t}){word}")
            before.append(f"const {t} k{k} = {read};")
            parameters.append(f"const {t} c{k}")
            given.append(f"k{k}")
        text = self._kernel(last, validity, parameters, given, before)
        nulls = () if isinstance(last.valid, str) else tuple(sorted(last.valid))
        return text, tuple(arguments), nulls, validity, checked, tuple([bits for _, bits in self.constants])

    def _kernel(self, last: _Value, validity: bool, parameters: list[str], given: list[str], before: list[str]) -> str:
        bits, checked = last.format == "b", bool(self.wrong)
        out = _type(last.format)
        more = [f"{out} *value"] * (validity and not bits) + ["int *wrong"] * checked
        arguments = ", ".join([*parameters, *more])
        result = "u32" if bits or validity else out
        value = last.text if not bits else f"({last.text}) & 1u"
        lines = [MATH] if self.math else []
        lines += [f"FN {result} row_({arguments}) {{", *(f"  {x}" for x in self.lines)]
        lines += [f"  *wrong |= {w};" for w in self.wrong]
        known = f"({last.known()}) & 1u"
        if validity and bits:
            lines.append(f"  return ({value}) | (({known}) << 1);")
        elif validity:
            lines += [f"  *value = ({out})({value});", f"  return {known};"]
        else:
            lines.append(f"  return {value if bits else f'({out})({value})'};")
        lines += ["}", "KERNEL(apply) {"]
        packed = bits or validity
        lines += ["  PACK_ROOM;"] * packed + ["  const i64 n = SCALAR(SCALAR_ROWS);"] + ["  int wrong_ = 0;"] * checked
        lines += [f"  {x}" for x in before]
        call = f"row_({', '.join([*given, *(['&o[i]'] * (validity and not bits)), *(['&wrong_'] * checked)])})"
        lines.append(f"  GLOBAL {'u32' if bits else out} *RESTRICT o = OUT({'u32' if bits else out}, BUF_OUT);")
        if validity:
            lines.append("  GLOBAL u32 *RESTRICT v = OUT(u32, BUF_FUSED_VALIDITY);")
        if bits:
            lines.append(f"  PACK_TWO(o, v, n, i, {call})" if validity else f"  PACK_ROWS(o, n, i, {call})")
        else:
            lines.append(f"  PACK_ROWS(v, n, i, {call})" if validity else f"  ROWS(i, n) {{ o[i] = {call}; }}")
        lines += ["  if (wrong_) report_error(OUT(i64, BUF_FUSED_ERROR), KERNEL_ERROR_OVERFLOW, 0);"] * checked
        if validity and not bits:
            text = "\n".join(lines)
            return text.replace(f"{out} *value", f"GLOBAL {out} *value") + "\n}\n"
        return "\n".join([*lines, "}", ""])


def _words(text: str) -> list[str]:
    return "".join(ch if ch.isalnum() or ch == "_" else " " for ch in text).split()


def may_be_null(steps: Sequence[Any], columns: frozenset[int]) -> set[int]:
    """The steps that may have nulls; ``columns``: those that are columns and may."""
    out: set[int] = set()
    for i, step in enumerate(steps):
        name = step.called.function.name if isinstance(step.called, Called) else ""
        if not name:
            nullable = i in columns or step.format in (None, "n")
        elif name in ("is_null", "is_valid"):
            nullable = False
        elif not step.fuses:
            nullable = True
        else:
            found = [k in out for k in step.arguments]
            nullable = all(found) if name in ("coalesce", "fill_null") else any(found)
        if nullable:
            out.add(i)
    return out


def part_of(steps: Sequence[Any], root: int, out: Schema, nullable: set[int]) -> Part | None:
    """The kernel that gives a step, with as many steps before it as fit; None: it is a function alone.

    ``nullable``: steps that may have nulls."""
    for room in range(_BUFFERS, 1, -1):
        nodes = _grown(steps, root, room)
        if len(nodes) < 2:
            return None
        try:
            return Part(steps, nodes, out, nullable)
        except Unfit:
            continue
    return None


def _grown(steps: Sequence[Any], root: int, room: int) -> list[int]:
    """The root and the steps before it that are part of its kernel, of at most ``room`` inputs, in order."""
    nodes = {root}
    leaves = _inputs(steps, root)
    grows = True
    while grows and len(nodes) < MOST_NODES:
        grows = False
        for k in sorted(leaves, reverse=True):
            if not steps[k].fuses or len(nodes) >= MOST_NODES:
                continue
            more = _inputs(steps, k) - nodes
            if len((leaves - {k}) | more) <= room:
                leaves = (leaves - {k}) | more
                nodes.add(k)
                grows = True
                break
    return sorted(nodes)


def _inputs(steps: Sequence[Any], i: int) -> set[int]:
    return {k for number, k in enumerate(steps[i].arguments) if number not in steps[i].constants}


def constant_bits(a: Datum, format: str) -> int | None:
    """One value of the host as a kernel of a format gets it; None for null.  Raises Unfit, ValueOutOfRange."""
    if a.array is None:
        return None if a.value is None else bits_of(a.value, format)
    storage = storage_of(format)
    if storage is None or a.format != format or a.array.device_type_id != 1:
        raise Unfit
    if a.array.null_count:
        return None
    array = a.array
    array._readable("an expression")
    width = struct.calcsize(_CODES[storage])
    value = struct.unpack_from(_CODES[storage], view(array, 1), array.offset * width)[0]
    return int(value) & 0xFFFFFFFFFFFFFFFF if storage not in FLOATS else bits_of(value, storage)
