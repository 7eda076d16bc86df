"""Expressions from text.  The grammar is Python's own: the text is parsed by ``ast`` and never run."""

from __future__ import annotations

import ast
import datetime
import decimal

from ...errors import ArgumentError, Error
from ...interop.asarray import asarray
from ..dispatch.call import options_of
from ..functions import get_function
from ..scalar import Scalar
from .graph import Called, Node, is_row_wise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_BINARY = {
    ast.Add: "add_checked",
    ast.Sub: "subtract_checked",
    ast.Mult: "multiply_checked",
    ast.Div: "divide_checked",
    ast.Mod: "modulo",
    ast.Pow: "power_checked",
    ast.BitAnd: "and_kleene",
    ast.BitOr: "or_kleene",
}
_COMPARISON = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
_MOST = 20_000  # characters
_VALUES: Mapping[str, Callable[[Any], Any]] = {
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timestamp": lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")),
    "duration": lambda seconds: (
        datetime.timedelta(microseconds=int(decimal.Decimal(seconds).scaleb(6)))
        if isinstance(seconds, str)
        else datetime.timedelta(seconds=seconds)
    ),
    "decimal": decimal.Decimal,
    "float": float,
}
_FORMS = {
    "date": "'2013-01-31'",
    "time": "'12:30:00'",
    "timestamp": "'2013-01-31T12:30:00'",
    "duration": "90.5",
    "decimal": "'1.50'",
    "float": "'nan'",
}
# words of Python and of databases for functions of Arrow
_ALIASES = {"and_": "and", "or_": "or", "isin": "is_in", "length": "utf8_length"}


class _Parser:
    def __init__(self, text: str, cls: type[Node]) -> None:
        self.text, self.cls = text, cls

    def fail(self, what: str, node: ast.AST | None) -> ArgumentError:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        lines = self.text.split("\n")
        shown = lines[line - 1] if 0 < line <= len(lines) else ""
        column = len(shown.encode()[:column].decode("utf-8", "replace"))
        return ArgumentError(f"{what}, at column {column + 1}:\n  {shown}\n  {' ' * column}^")

    def node(self, x: ast.AST) -> Node:
        made: Node | None = getattr(self, "_" + type(x).__name__, self._unknown)(x)
        assert made is not None
        return made

    def call(self, name: str, *args: Node, options: dict[str, Any] | None = None, at: ast.AST | None = None) -> Node:
        name = _ALIASES.get(name, name)
        try:
            function = get_function(name)
        except KeyError as e:
            raise self.fail(str(e.args[0]), at) from None
        if not is_row_wise(function):
            raise self.fail(f"{name}() is a {function.kind} function: it gives no row for each row", at)
        try:
            function._check_arity(len(args))
            made = options_of(function, None, options or {})
        except (TypeError, ValueError, Error) as e:
            raise self.fail(str(e), at) from None
        return self.cls._made(Called(function, made), args)

    def _unknown(self, x: ast.AST) -> Node:
        raise self.fail(f"{type(x).__name__} is not part of an expression", x)

    def _Expression(self, x: ast.Expression) -> Node:
        return self.node(x.body)

    def _Name(self, x: ast.Name) -> Node:
        return self.cls._column([self.written(x)])

    def written(self, x: ast.Name) -> str:
        """A name as the text has it: ast gives its NFKC form, which may be the name of another column."""
        return x.id if self.text.isascii() else ast.get_source_segment(self.text, x) or x.id

    def _Constant(self, x: ast.Constant) -> Node:
        if x.value is ... or isinstance(x.value, complex):
            raise self.fail(f"{x.value!r} is not a value of a column", x)
        return self._made_scalar(x.value, x)

    def _made_scalar(self, value: Any, at: ast.AST) -> Node:
        try:
            return self.cls._literal(value)
        except (TypeError, ValueError, Error, OverflowError) as e:
            raise self.fail(str(e), at) from None

    def _UnaryOp(self, x: ast.UnaryOp) -> Node:
        value = x.operand.value if isinstance(x.operand, ast.Constant) else None
        if isinstance(x.op, ast.USub) and isinstance(value, (int, float)) and not isinstance(value, bool):
            return self._made_scalar(-value, x)
        operand = self.node(x.operand)
        if isinstance(x.op, ast.UAdd):
            return operand
        return self.call("negate_checked" if isinstance(x.op, ast.USub) else "invert", operand, at=x)

    def _BinOp(self, x: ast.BinOp) -> Node:
        name = _BINARY.get(type(x.op))
        if name is None:
            raise self.fail(f"the operator {type(x.op).__name__} is unknown", x)
        return self.call(name, self.node(x.left), self.node(x.right), at=x)

    def _BoolOp(self, x: ast.BoolOp) -> Node:
        name = "and_kleene" if isinstance(x.op, ast.And) else "or_kleene"
        out = self.node(x.values[0])
        for other in x.values[1:]:
            out = self.call(name, out, self.node(other), at=x)
        return out

    def _IfExp(self, x: ast.IfExp) -> Node:
        return self.call("if_else", self.node(x.test), self.node(x.body), self.node(x.orelse), at=x)

    def _Compare(self, x: ast.Compare) -> Node:
        sides = [x.left, *x.comparators]
        out: Node | None = None
        for op, a, b in zip(x.ops, sides, sides[1:], strict=False):
            one = self.comparison(op, a, b)
            out = one if out is None else self.call("and_kleene", out, one, at=x)
        assert out is not None
        return out

    def comparison(self, op: ast.cmpop, a: ast.expr, b: ast.expr) -> Node:
        if isinstance(op, (ast.Is, ast.IsNot)):
            if not (isinstance(b, ast.Constant) and b.value is None):
                raise self.fail("'is' compares with None only: use ==", b)
            return self.call("is_null" if isinstance(op, ast.Is) else "is_valid", self.node(a), at=a)
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self.call("is_in", self.node(a), options={"value_set": self.value(b)}, at=b)
            return found if isinstance(op, ast.In) else self.call("invert", found, at=b)
        return self.call(_COMPARISON[type(op)], self.node(a), self.node(b), at=a)

    def value(self, x: ast.AST) -> Any:
        """A value of Python, of options."""
        if isinstance(x, ast.Constant):
            return x.value
        if isinstance(x, (ast.List, ast.Tuple, ast.Set)):
            return [self.value(e) for e in x.elts]
        if isinstance(x, ast.UnaryOp) and isinstance(x.op, ast.USub):
            number = self.value(x.operand)
            if type(number) in (int, float):
                return -number
        if isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id in _VALUES:
            return self.literal(x.func.id, x)
        raise self.fail("expected a value, or a list of values", x)

    def literal(self, name: str, x: ast.Call) -> Any:
        why = ""
        if len(x.args) == 1 and not x.keywords:
            try:
                return _VALUES[name](self.value(x.args[0]))
            except (TypeError, AttributeError, ArithmeticError):
                pass
            except ValueError as e:
                if isinstance(e, Error):
                    raise
                why = f"{e}: "
        raise self.fail(f"{why}{name}() takes one value, such as {name}({_FORMS[name]})", x)

    def scalar(self, x: ast.Call) -> Node:
        """``scalar(value)``, ``scalar(value, 'type')``."""
        given = [self.value(a) for a in x.args]
        if x.keywords or not 1 <= len(given) <= 2 or not isinstance((*given, "")[1], str):
            raise self.fail("scalar() takes a value and perhaps its type, such as scalar(1, 'int8')", x)
        if len(given) == 1:
            return self._made_scalar(given[0], x)
        try:
            made = Scalar(asarray([given[0]], schema=given[1]))
        except (TypeError, ValueError, Error, OverflowError) as e:
            raise self.fail(str(e), x) from None
        return self._made_scalar(made, x)

    def _Call(self, x: ast.Call) -> Node:
        if not isinstance(x.func, ast.Name):
            raise self.fail("expected the name of a function", x.func)
        name = x.func.id
        for k in x.keywords:
            if k.arg is None:
                raise self.fail("** is not part of an expression", k.value)
        if name == "field":
            path = [self.value(a) for a in x.args]
            if x.keywords or not path or not all(isinstance(p, str) for p in path):
                raise self.fail("field() takes the name of a column, such as field('name')", x)
            return self.cls._column(path)
        if name == "scalar":
            return self.scalar(x)
        if name in _VALUES and len(x.args) == 1 and isinstance(x.args[0], (ast.Constant, ast.UnaryOp)):
            return self._made_scalar(self.literal(name, x), x)
        named = {k.arg: self.value(k.value) for k in x.keywords if k.arg is not None}
        options = _options_by_position(_ALIASES.get(name, name), len(x.args))
        first = len(x.args) - len(options)
        for option, value in zip(options, x.args[first:]):
            if option in named:
                raise self.fail(f"{name}() got {option} twice", value)
            named[option] = self.value(value)
        return self.call(name, *map(self.node, x.args[:first]), options=named, at=x)


def _options_by_position(name: str, n: int) -> list[str]:
    """The options that the last of n arguments are, as in a call of the function in Python."""
    try:
        function = get_function(name)
    except KeyError:
        return []
    named, more = [*function.options.defaults], n - function.arity
    return named[:more] if function.arity >= 0 and 0 < more <= len(named) else []


def parsed(text: str, cls: type[Node]) -> Any:
    """See :meth:`Expression.parse`."""
    if not isinstance(text, str):
        raise TypeError(f"Expression.parse(): expected text, not {type(text).__name__}")
    if len(text) > _MOST:
        raise ArgumentError(f"Expression.parse(): {len(text)} characters; at most {_MOST} are read")
    parser = _Parser(text.strip(), cls)
    try:
        tree = ast.parse(parser.text, mode="eval")
        return parser.node(tree)
    except SyntaxError as e:
        column = e.offset - 1 if e.offset else len(parser.text.split("\n")[-1].encode())  # 0: the text ends too early
        said = e.msg if e.msg.startswith("invalid syntax") else f"invalid syntax: {e.msg}"
        raise parser.fail(said, ast.Constant(None, lineno=e.lineno or 1, col_offset=column)) from None
    except (RecursionError, MemoryError):
        raise ArgumentError("Expression.parse(): the expression is nested too deeply") from None
    except ValueError as e:
        if isinstance(e, Error):
            raise
        raise ArgumentError(f"Expression.parse(): {e}") from None
