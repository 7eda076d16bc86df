"""Expressions of Substrait's ExtendedExpression; numbers of fields are those of its proto files."""

from __future__ import annotations

import decimal

from ...errors import ArgumentError
from ...interop.asarray import asarray
from ...schema import Schema, asschema
from ..errors import UnknownFunction
from ..functions import get_function
from ..scalar import Scalar
from .graph import Literal, Node
from .protobuf import Malformed, Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_TYPES = {1: "bool", 2: "int8", 3: "int16", 5: "int32", 7: "int64", 10: "float32", 11: "float64", 12: "string",
          13: "binary", 14: "timestamp[us]", 16: "date32", 17: "time64[us]", 21: "string", 22: "string",
          29: "timestamp[us, tz=UTC]"}  # fmt: skip
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}
_INTEGERS = {2: "int8", 3: "int16", 5: "int32", 7: "int64", 14: "timestamp[us]", 16: "date32", 17: "time64[us]",
             27: "timestamp[us, tz=UTC]"}  # fmt: skip
_OVERFLOW = {"add", "subtract", "multiply", "divide", "negate", "abs", "power"}
_CHECKED = {"sqrt", "ln", "log10", "log2", "log1p", "sin", "cos", "tan", "asin", "acos", "acosh", "atanh"}
# Substrait's name: Arrow's, of functions that take the same arguments
_SAME = {
    **{x: x for x in ("equal not_equal is_null is_nan is_finite coalesce exp sign ceil floor atan atan2 sinh cosh tanh "
                      "asinh xor starts_with ends_with").split()},
    "lt": "less", "lte": "less_equal", "gt": "greater", "gte": "greater_equal", "is_not_null": "is_valid",
    "is_infinite": "is_inf", "not": "invert", "bitwise_and": "bit_wise_and", "bitwise_or": "bit_wise_or",
    "bitwise_xor": "bit_wise_xor", "bitwise_not": "bit_wise_not", "shift_left": "shift_left",
    "shift_right": "shift_right", "upper": "utf8_upper", "lower": "utf8_lower", "swapcase": "utf8_swapcase",
    "capitalize": "utf8_capitalize", "title": "utf8_title", "char_length": "utf8_length",
    "octet_length": "binary_length", "reverse": "utf8_reverse", "least": "min_element_wise",
    "greatest": "max_element_wise", "and_not": "and_not_kleene",
}  # fmt: skip
# of one column and one text: Arrow's name, and the option that the text is
_PATTERNS = {"starts_with": ("starts_with", "pattern"), "ends_with": ("ends_with", "pattern"),
             "contains": ("match_substring", "pattern"), "like": ("match_like", "pattern"),
             "string_split": ("split_pattern", "pattern"), "ltrim": ("utf8_ltrim", "characters"),
             "rtrim": ("utf8_rtrim", "characters"), "trim": ("utf8_trim", "characters")}  # fmt: skip
_COMPONENTS = {"YEAR": "year", "MONTH": "month", "DAY": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second",
               "MILLISECOND": "millisecond", "MICROSECOND": "microsecond", "NANOSECOND": "nanosecond",
               "QUARTER": "quarter", "ISO_YEAR": "iso_year", "ISO_WEEK": "iso_week", "US_YEAR": "us_year",
               "US_WEEK": "us_week", "DAY_OF_YEAR": "day_of_year", "SUBSECOND": "subsecond"}  # fmt: skip
_ARROWS = "arrow"  # in the address of an extension: its functions have Arrow's names


def from_substrait(data: Any, name: str | None, cls: type[Node]) -> Any:
    """See :meth:`Expression.from_substrait`."""
    if hasattr(data, "SerializeToString"):
        data = data.SerializeToString()
    try:
        raw = bytes(memoryview(data))
    except TypeError:
        raise TypeError(f"from_substrait: expected bytes of an ExtendedExpression, not {type(data).__name__}") from None
    try:
        return _Reader(Message(raw), cls).chosen(name)
    except Malformed as e:
        raise ArgumentError(f"from_substrait: the bytes are not a message of Substrait: {e}") from None


class _Names:
    """The columns of a schema, with their fields: Substrait numbers them, and has all names one after the other."""

    def __init__(self, base: Message) -> None:
        self.left = base.texts(1)[::-1]
        self.columns = [self._one(t) for t in base.message(2).messages(1)]
        self.columns += [(name, []) for name in self.left[::-1]]  # without types: no structs

    def _one(self, type: Message) -> tuple[str, list[Any]]:
        name = self.left.pop() if self.left else ""
        return name, self._below(type)

    def _below(self, type: Message) -> list[Any]:
        if 25 in type:
            return [self._one(t) for t in type.message(25).messages(1)]
        if 27 in type:
            return self._below(type.message(27).message(1))
        return self._below(type.message(28).message(1)) + self._below(type.message(28).message(2)) if 28 in type else []


class _Reader:
    def __init__(self, message: Message, cls: type[Node]) -> None:
        self.cls = cls
        addresses = {x.integer(1): x.text(2) for k in (1, 8) for x in message.messages(k)}
        self.functions: dict[int, tuple[str, bool]] = {}
        for x in message.messages(2):
            f = x.message(3)
            address = addresses.get(f.integer(4) or f.integer(1), "")
            self.functions[f.integer(2)] = f.text(3).partition(":")[0], _ARROWS in address
        self.names = _Names(message.message(4))
        self.expressions = message.messages(3)

    def fail(self, what: str) -> ArgumentError:
        return ArgumentError(f"from_substrait: {what}")

    def chosen(self, name: str | None) -> Node:
        names = [(x.texts(3) or [""])[0] for x in self.expressions]
        if not names:
            raise self.fail("the message has no expression")
        if name is None and len(names) > 1:
            raise self.fail(f"the message has {len(names)} expressions: name= chooses one: {', '.join(names)}")
        if name is not None and name not in names:
            raise self.fail(f"no expression {name!r}; there are {', '.join(names)}")
        found = self.expressions[0 if name is None else names.index(name)]
        if 1 not in found:
            raise self.fail("aggregates (measures) are not supported: pass the expression of one")
        return self.node(found.message(1))

    # ---- expressions ----
    def node(self, x: Message) -> Node:
        for number, read in _READERS.items():
            if number in x:
                return read(self, x.message(number))
        kinds = {5: "window functions", 9: "lists of several values", 12: "subqueries", 13: "nested values",
                 14: "parameters", 15: "lambdas", 16: "lambdas", 17: "variables"}  # fmt: skip
        found = next((kinds[k] for k in kinds if k in x), "an unknown kind of expression")
        raise self.fail(f"not supported: {found}")

    def call(self, name: str, args: Sequence[Node], **options: Any) -> Node:
        return self.cls._function(name, args, options or None)

    def column(self, x: Message) -> Node:
        if 1 not in x or 3 in x or 5 in x or 6 in x:
            raise self.fail("not supported: a reference to anything but a column or a field of one")
        path, level, segment = [], self.names.columns, x.message(1)
        while True:
            if 2 not in segment:
                raise self.fail("not supported: a reference to a key of a map or an element of a list")
            at = segment.message(2)
            number = at.integer(1)
            if number >= len(level):
                raise self.fail(f"field {number} of {len(level)}: there is none")
            path.append(level[number][0])
            level = level[number][1]
            if 1 not in at and 2 not in at:
                break
            if 2 not in at:
                break
            segment = at.message(2)
        return self.cls._column(path)

    def cast(self, x: Message) -> Node:
        if x.integer(3) == 1:
            raise self.fail("not supported: a cast that gives null where it fails")
        return self.call("cast", [self.node(x.message(2))], target_type=self.type(x.message(1)))

    def conditions(self, x: Message) -> Node:
        out = self.node(x.message(2)) if 2 in x else self.cls._literal(None)
        for clause in reversed(x.messages(1)):
            out = self.chosen_by(self.node(clause.message(1)), self.node(clause.message(2)), out)
        return out

    def chosen_by(self, condition: Node, yes: Node, no: Node) -> Node:
        """A condition that is null counts as false."""
        return self.call("if_else", [self.call("coalesce", [condition, self.cls._literal(False)]), yes, no])

    def switch(self, x: Message) -> Node:
        out = self.node(x.message(2)) if 2 in x else self.cls._literal(None)
        of = self.node(x.message(3))
        for clause in reversed(x.messages(1)):
            test = self.call("equal", [of, self.literal(clause.message(1))])
            out = self.chosen_by(test, self.node(clause.message(2)), out)
        return out

    def one_of(self, x: Message) -> Node:
        of, options = self.node(x.message(1)), [self.node(o) for o in x.messages(2)]
        out = self.cls._literal(False)
        for k, option in enumerate(options):
            test = self.call("equal", [of, option])
            out = test if not k else self.call("or_kleene", [out, test])
        return out

    # ---- functions ----
    def function(self, x: Message) -> Node:
        anchor = x.integer(1)
        if anchor not in self.functions:
            raise self.fail(f"function {anchor} is not declared")
        name, arrows = self.functions[anchor]
        options = {o.text(1): (o.texts(2) or [""])[0] for o in x.messages(5)}
        args: list[Any] = []
        for a in x.messages(4):
            args.append(a.text(1) if 1 in a else self.node(a.message(3)) if 3 in a else self.type(a.message(2)))
        args += [self.node(a) for a in x.messages(2)]  # of old producers
        return self.named(name, arrows, args, options)

    def named(self, name: str, arrows: bool, args: list[Any], options: dict[str, str]) -> Node:
        if arrows:
            return self.known(name, args)
        if name in _OVERFLOW or name in _CHECKED:
            return self.checked(name, args, options)
        if name in ("and", "or") and args:
            out: Node = args[0]
            for other in args[1:]:
                out = self.call(f"{name}_kleene", [out, other])
            return out
        if name in _PATTERNS and len(args) == 2:
            return self.pattern(name, args, options)
        if name in _SPECIAL:
            return _SPECIAL[name](self, args)
        if name in _SAME:
            return self.known(_SAME[name], args)
        raise self.fail(f"the function {name!r} is not known")

    def known(self, name: str, args: list[Any]) -> Node:
        try:
            function = get_function(name)
        except UnknownFunction as e:
            raise self.fail(str(e.args[0])) from None
        if any(not isinstance(a, Node) for a in args):
            raise self.fail(f"{name}: an argument that is not an expression")
        try:
            function._check_arity(len(args))
        except TypeError as e:
            raise self.fail(str(e)) from None
        return self.call(name, args)

    def checked(self, name: str, args: list[Any], options: dict[str, str]) -> Node:
        word = options.get("overflow" if name in _OVERFLOW else "on_domain_error", "")
        if word == "SATURATE":
            raise self.fail(f"{name}: overflow SATURATE is not supported")
        return self.known(f"{name}_checked" if word == "ERROR" else name, args)

    def pattern(self, name: str, args: list[Any], options: dict[str, str]) -> Node:
        function, option = _PATTERNS[name]
        more: dict[str, Any] = {}
        if options.get("case_sensitivity", "CASE_SENSITIVE") != "CASE_SENSITIVE":
            more["ignore_case"] = True
        return self.call(function, args[:1], **{option: self.text(args[1], name)}, **more)

    def text(self, x: Any, name: str) -> str:
        value = self.value(x)
        if not isinstance(value, str):
            raise self.fail(f"{name}: expected a constant text")
        return value

    def whole(self, x: Any, name: str) -> int:
        value = self.value(x)
        if type(value) is not int:
            raise self.fail(f"{name}: expected a constant integer")
        return value

    def value(self, x: Any) -> Any:
        if not isinstance(x, Node) or not isinstance(x._value, Literal):
            return None
        value = x._value.value
        return value.as_py() if isinstance(value, Scalar) else value

    def between(self, args: list[Any]) -> Node:
        x, low, high = self.several("between", args, 3)
        return self.call("and_kleene", [self.call("greater_equal", [x, low]), self.call("less_equal", [x, high])])

    def several(self, name: str, args: list[Any], n: int) -> list[Any]:
        if len(args) != n:
            raise self.fail(f"{name} takes {n} arguments, not {len(args)}")
        return args

    def logb(self, args: list[Any]) -> Node:
        return self.known("logb", args)

    def round(self, args: list[Any]) -> Node:
        x, digits = self.several("round", args, 2)
        return self.call("round", [x], ndigits=self.whole(digits, "round"))

    def substring(self, args: list[Any]) -> Node:
        if len(args) not in (2, 3):
            raise self.fail(f"substring takes 2 or 3 arguments, not {len(args)}")
        start = self.whole(args[1], "substring")
        if start < 1:
            raise self.fail(f"substring: a start of {start} is not supported")
        stop = start - 1 + self.whole(args[2], "substring") if len(args) == 3 else None
        return self.call("utf8_slice_codeunits", args[:1], start=start - 1, stop=stop)

    def _trim_whitespace(self, name: str, args: list[Any]) -> Node:
        return self.call(f"utf8_{name}_whitespace", self.several(name, args, 1))

    def ltrim(self, args: list[Any]) -> Node:
        return self._trim_whitespace("ltrim", args)

    def rtrim(self, args: list[Any]) -> Node:
        return self._trim_whitespace("rtrim", args)

    def trim(self, args: list[Any]) -> Node:
        return self._trim_whitespace("trim", args)

    def _pad(self, name: str, args: list[Any]) -> Node:
        if len(args) not in (2, 3):
            raise self.fail(f"{name} takes 2 or 3 arguments, not {len(args)}")
        padding = self.text(args[2], name) if len(args) == 3 else " "
        return self.call(f"utf8_{name}", args[:1], width=self.whole(args[1], name), padding=padding)

    def lpad(self, args: list[Any]) -> Node:
        return self._pad("lpad", args)

    def rpad(self, args: list[Any]) -> Node:
        return self._pad("rpad", args)

    def replace(self, args: list[Any]) -> Node:
        x, old, new = self.several("replace", args, 3)
        options = {"pattern": self.text(old, "replace"), "replacement": self.text(new, "replace")}
        return self.call("replace_substring", [x], **options)

    def concat(self, args: list[Any]) -> Node:
        return self.call("binary_join_element_wise", [*args, self.cls._literal("")])

    def repeat(self, args: list[Any]) -> Node:
        return self.known("binary_repeat", args)

    def nullif(self, args: list[Any]) -> Node:
        x, y = self.several("nullif", args, 2)
        return self.chosen_by(self.call("equal", [x, y]), self.cls._literal(None), x)

    def extract(self, args: list[Any]) -> Node:
        words, columns = [a for a in args if isinstance(a, str)], [a for a in args if isinstance(a, Node)]
        component = _COMPONENTS.get(words[0]) if words else None
        if component is None or "ZERO" in words[1:]:
            raise self.fail(f"extract: {', '.join(words) or 'nothing'} is not supported")
        if len(columns) > 1:
            raise self.fail("extract: a zone beside a timestamp is not supported: cast the column to a timestamp of it")
        return self.known(component, columns)

    # ---- values and types ----
    def type(self, x: Message) -> Schema:
        for number, word in _TYPES.items():
            if number in x:
                return asschema(word)
        if 24 in x:
            d = x.message(24)
            return asschema(f"decimal128({d.integer(2)}, {d.integer(1)})")
        if 23 in x:
            return asschema(f"fixed_size_binary[{x.message(23).integer(1)}]")
        if 33 in x or 34 in x:
            unit = _UNITS.get(x.message(33 if 33 in x else 34).integer(1))
            if unit is not None:
                return asschema(f"timestamp[{unit}]" if 33 in x else f"timestamp[{unit}, tz=UTC]")
        raise self.fail(f"the type of field {next(iter(x.values), 0)} is not known")

    def literal(self, x: Message) -> Node:
        return self.cls._literal(self._value(x))

    def _value(self, x: Message) -> Any:
        for number, word in _INTEGERS.items():
            if number in x:
                return self._of(x.signed(number), word)
        if 1 in x:
            return bool(x.integer(1))
        if 10 in x or 11 in x:
            number, code, word = (10, "f", "float32") if 10 in x else (11, "d", "float64")
            return self._of(x.real(number, code), word)
        if 12 in x or 21 in x:
            return x.text(12 if 12 in x else 21)
        if 22 in x:
            return x.message(22).text(1)
        if 13 in x or 23 in x:
            return x.raw(13 if 13 in x else 23)
        if 24 in x:
            return self._decimal(x.message(24))
        if 29 in x:
            return Scalar(asarray([None], schema=self.type(x.message(29))))
        if 34 in x or 35 in x:
            m = x.message(34 if 34 in x else 35)
            unit = _UNITS.get(m.integer(1))
            if unit is not None:
                return self._of(m.signed(2), f"timestamp[{unit}]" if 34 in x else f"timestamp[{unit}, tz=UTC]")
        raise self.fail(f"the literal of field {next(iter(x.values), 0)} is not known")

    def _of(self, value: Any, word: str) -> Scalar:
        """A value that a type has as a number."""
        import struct

        from ..._arrays.from_buffers import from_buffers
        from ..dispatch.types import storage_of

        schema = asschema(word)
        code = {"c": "b", "s": "h", "i": "i", "l": "q", "f": "f", "g": "d"}[storage_of(schema.format) or ""]
        try:
            return Scalar(from_buffers(schema, 1, [None, struct.pack(f"={code}", value)]))
        except struct.error:
            raise self.fail(f"the literal {value} is not one of {word}") from None

    def _decimal(self, d: Message) -> Scalar:
        number = int.from_bytes(d.raw(1), "little", signed=True)
        value = decimal.Decimal(number).scaleb(-d.integer(3), decimal.Context(prec=60))
        return Scalar(asarray([value], schema=f"decimal128({d.integer(2)}, {d.integer(3)})"))


_READERS: dict[int, Callable[[_Reader, Message], Node]] = {
    1: _Reader.literal,
    2: _Reader.column,
    3: _Reader.function,
    6: _Reader.conditions,
    7: _Reader.switch,
    8: _Reader.one_of,
    11: _Reader.cast,
}
_SPECIAL: dict[str, Callable[[_Reader, list[Any]], Node]] = {
    "between": _Reader.between,
    "logb": _Reader.logb,
    "round": _Reader.round,
    "substring": _Reader.substring,
    "ltrim": _Reader.ltrim,
    "rtrim": _Reader.rtrim,
    "trim": _Reader.trim,
    "lpad": _Reader.lpad,
    "rpad": _Reader.rpad,
    "replace": _Reader.replace,
    "concat": _Reader.concat,
    "repeat": _Reader.repeat,
    "nullif": _Reader.nullif,
    "extract": _Reader.extract,
}
