"""The graph of an expression: its nodes, as text, as objects, and ways through them."""

from __future__ import annotations

import difflib
import keyword
import math

from ...schema import asschema
from ..dispatch.call import options_of
from ..dispatch.datum import argument
from ..dispatch.deferred import Deferred, is_foreign, ours
from ..functions import get_function
from ..options import FunctionOptions, NoOptions, is_same
from ..scalar import Scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from typing_extensions import Self

    from ..dispatch.datum import Datum
    from ..dispatch.function import Function

# functions of several kinds that give a row for each row, from that row alone
ROW_WISE = frozenset(
    """cast coalesce case_when choose dictionary_decode index_in is_in list_element list_slice list_value_length
    make_struct map_lookup struct_field""".split()
)
INFIX = {
    "or_kleene": "|",
    "and_kleene": "&",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "add_checked": "+",
    "subtract_checked": "-",
    "multiply_checked": "*",
    "divide_checked": "/",
    "modulo": "%",
    "power_checked": "**",
}
PREFIX = {"invert": "~", "negate_checked": "-"}
_TYPED = "scalar("
_ROWS = 20  # of a list of values that are printed
_WORDS = 2000  # of a printed expression in an error


def is_row_wise(function: Function) -> bool:
    """Does it compute each row from the same row of its arguments?"""
    return function.kind == "scalar" or function.name in ROW_WISE


class Node(Deferred):
    """A column, a value or a function of nodes; :class:`~cdevice.compute.Expression` is what users hold.

    ``_value``: a Column, a Literal or a Called; ``_arguments``: of a function; ``_known``: what it was bound to."""

    __slots__ = ("__weakref__", "_arguments", "_hash", "_known", "_value")

    _hash: int
    _value: Any
    _arguments: tuple[Node, ...]
    _known: Any

    @classmethod
    def _made(cls, value: Any, arguments: Sequence[Node] = ()) -> Self:
        self = cls.__new__(cls)
        self._value, self._arguments, self._known = value, tuple(arguments), None
        self._hash = hash((value, *[x._hash for x in arguments]))
        return self

    @classmethod
    def _of(cls, x: Any) -> Node:
        """A node of anything that is one or can be a value in one.  Raises TypeError."""
        if isinstance(x, Node):
            return x
        return ours(x) if is_foreign(x) else cls._literal(x)

    @classmethod
    def _literal(cls, value: Any) -> Self:
        if isinstance(value, Deferred):
            raise TypeError("scalar(): expected a value, not an expression")
        rows = isinstance(value, (list, tuple, range, dict, set)) or hasattr(value, "__arrow_c_array__")
        made = None if rows else argument(value)
        if made is None or (made.array is not None and not made.one) or made.chunks is not None:
            raise TypeError(f"scalar(): expected one value, not {type(value).__name__}: field() names a column")
        typed = made.array is not None and type(value).__module__.partition(".")[0] in ("numpy", "pandas", "pyarrow")
        return cls._made(Literal(value, _shown(Scalar(made.array) if typed and made.array is not None else value)))

    @classmethod
    def _column(cls, path: Sequence[str]) -> Self:
        out = cls._made(Column(path[0]))
        return out if len(path) == 1 else cls._function("struct_field", (out,), {"indices": list(path[1:])})

    @classmethod
    def _function(cls, name: str, args: Sequence[Any], options: dict[str, Any] | None = None) -> Self:
        function = get_function(name)
        chosen = options_of(function, None, options or {})
        return cls._made(Called(function, chosen), [cls._of(x) for x in args])

    def _call(self, function: Function, args: Sequence[Any], options: FunctionOptions) -> Any:
        if not is_row_wise(function):
            raise TypeError(
                f"{function.name}: a {function.kind} function cannot be part of an expression: a row of its result "
                "depends on other rows; call it with columns"
            )
        return self._made(Called(function, options), [self._of(x) for x in args])

    def equals(self, other: object) -> bool:
        """Is it the same expression?

        ``other``: anything; another object is not equal.  Does not block.  Never raises.
        """
        return isinstance(other, Node) and _same(self, other)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return rendered(self, None)[0]

    def __reduce__(self) -> Any:
        numbers: dict[int, int] = {}
        steps: list[tuple[Any, list[int]]] = []
        for node in post_order(self):
            numbers[id(node)] = len(steps)
            steps.append((node._value, [numbers[id(x)] for x in node._arguments]))
        return _from_steps, (type(self), steps)


def _from_steps(cls: type[Node], steps: list[tuple[Any, list[int]]]) -> Node:
    made: list[Node] = []
    for value, arguments in steps:
        made.append(cls._made(value, [made[i] for i in arguments]))
    return made[-1]


class Column:
    """A column, by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Column) and other.name == self.name

    def __hash__(self) -> int:
        return hash((Column, self.name))

    def __str__(self) -> str:
        plain = self.name.isidentifier() and self.name.isascii() and not keyword.iskeyword(self.name)
        return self.name if plain else f"field({self.name!r})"


class Literal:
    """One value; ``shown``: its text, with the type where Python's objects do not tell it."""

    __slots__ = ("shown", "value")

    def __init__(self, value: Any, shown: str) -> None:
        self.value, self.shown = value, shown

    def datum(self) -> Datum:
        """As functions take it; a new one, since a call may move it."""
        return argument(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal) or other.shown != self.shown:
            return False
        return self.shown.startswith(_TYPED) or is_same(self.value, other.value)

    def __hash__(self) -> int:
        return hash((Literal, self.shown))

    def __str__(self) -> str:
        return self.shown


class Called:
    """A function with its options."""

    __slots__ = ("function", "options")

    def __init__(self, function: Function, options: FunctionOptions) -> None:
        self.function, self.options = function, options

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Called) and other.function is self.function and other.options == self.options

    def __hash__(self) -> int:
        return hash((self.function.name, type(self.options)))

    def __reduce__(self) -> Any:
        try:
            named = get_function(self.function.name) is self.function
        except KeyError:
            named = False
        if not named:
            raise TypeError(
                f"{self.function.name}: an expression of a function that is not in the registry cannot be pickled: "
                "pass registry=cc.function_registry() when it is made"
            )
        options = self.options
        return _called, (self.function.name, type(options).__name__, dict(vars(options)))

    def parts(self, arguments: Sequence[Node]) -> list[str | Node]:
        """What it is printed as: text and arguments."""
        name = self.function.name
        if name in INFIX and len(arguments) == 2:
            return ["(", arguments[0], f" {INFIX[name]} ", arguments[1], ")"]
        if name in PREFIX and len(arguments) == 1:
            return [f"({PREFIX[name]}", arguments[0], ")"]
        out: list[str | Node] = [f"{name}{'_' * keyword.iskeyword(name)}("]
        for i, x in enumerate(arguments):
            out += [", "] * (i > 0) + [x]
        defaults = self.options.defaults
        for option, value in vars(self.options).items():
            if option in defaults and not is_same(value, defaults[option]):
                out.append(f"{', ' if len(out) > 1 else ''}{option}={_shown(value)}")
        return [*out, ")"]


def _called(name: str, options: str, values: dict[str, Any]) -> Called:
    function = get_function(name)
    kind = NoOptions if options == "NoOptions" else FunctionOptions.of(options)
    made = kind.__new__(kind)
    vars(made).update(values)
    made.check()
    return Called(function, made)


def _shown(value: Any) -> str:
    """As :meth:`Expression.parse` reads it; where it has no word, and of values on a device, what Python prints."""
    if type(value) is float and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, Scalar):
        if value.array.released or not value.ready:
            return repr(value)
        try:
            one = value.as_py()
        except ValueError:  # Python has no such value
            return repr(value)
        one = getattr(one, "value", one) if type(one).__module__.startswith("pandas") else one  # nanoseconds
        return f"{_TYPED}{_shown(one)}, {value.type!r})"
    if type(value).__name__ == "ndarray" and value.ndim == 1 and value.size <= _ROWS:
        return _shown(value.tolist())
    if hasattr(value, "to_pylist"):
        there = hasattr(value, "device_type_id") and not (value.ready and value.device_type_id == 1)
        return repr(value) if there or len(value) > _ROWS else _shown(value.to_pylist())
    if hasattr(value, "__arrow_c_schema__") and not hasattr(value, "__arrow_c_array__"):
        return repr(asschema(value).type)
    if type(value).__module__ in ("datetime", "decimal"):
        return _time_or_decimal(value)
    return repr(value)


def _time_or_decimal(value: Any) -> str:
    import datetime
    import decimal

    if isinstance(value, datetime.datetime):
        return f"timestamp({value.isoformat()!r})"
    if isinstance(value, datetime.timedelta):
        seconds: Any = value.total_seconds()
        if datetime.timedelta(seconds=seconds) != value:  # more digits than a float has
            seconds = str(decimal.Decimal(value // datetime.timedelta(microseconds=1)).scaleb(-6))
        return f"duration({seconds!r})"
    kind = {"date": "date", "time": "time"}.get(type(value).__name__)
    return f"{kind}({value.isoformat()!r})" if kind else f"decimal({str(value)!r})"


# ---- walks ----
def post_order(root: Node) -> Iterator[Node]:
    """Each node once, after its arguments."""
    done: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, open = stack.pop()
        if id(node) in done:
            continue
        if open or not node._arguments:
            done.add(id(node))
            yield node
            continue
        stack.append((node, True))
        stack += [(x, False) for x in reversed(node._arguments)]


def _same(a: Node, b: Node) -> bool:
    stack, done = [(a, b)], set()
    while stack:
        x, y = stack.pop()
        if x is y or (id(x), id(y)) in done:
            continue
        if x._hash != y._hash or x._value != y._value or len(x._arguments) != len(y._arguments):
            return False
        done.add((id(x), id(y)))
        stack += zip(x._arguments, y._arguments, strict=True)
    return True


def rendered(root: Node, mark: Node | None) -> tuple[str, int, int]:
    """The text, and where in it a node is; 0, 0 without one."""
    out: list[str] = []
    at = begin = end = 0
    found = False
    stack: list[Any] = [root]
    while stack:
        x = stack.pop()
        if isinstance(x, str):
            out.append(x)
            at += len(x)
        elif isinstance(x, int):  # the end of the node
            end = at
        else:
            if x is mark and not found:
                begin, found = at, True
                stack.append(0)
            value = x._value
            stack += reversed(value.parts(x._arguments) if isinstance(value, Called) else [str(value)])
    return "".join(out), begin, end


def marked(root: Node, node: Node) -> str:
    """Two lines: the text of an expression around a node, and a mark below it."""
    text, begin, end = rendered(root, node)
    if len(text) > 160:
        first = max(0, min(begin - 40, len(text) - 160))
        last = min(len(text), first + 160)
        text = "..." * (first > 0) + text[first:last] + "..." * (last < len(text))
        shift = first - 3 * (first > 0)
        begin, end = begin - shift, min(end - shift, len(text))
    return f"  {text}\n  {' ' * begin}{'^' * max(end - begin, 1)}"


def at_place(error: Exception, root: Node, node: Node) -> None:
    """Tells in an exception where in an expression it happened; once."""
    if getattr(error, "_in_expression", False) or not error.args or not isinstance(error.args[0], str):
        return
    error.args = (f"{error.args[0]}\n{marked(root, node)}", *error.args[1:])
    try:
        error._in_expression = True  # type: ignore[attr-defined]
    except AttributeError:
        pass


def unknown_column(name: str, names: Sequence[str]) -> str:
    """The message for a column that is not there."""
    if name in names:
        return f"there are {names.count(name)} columns {name!r}"
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names) or 'none'}"
    return f"no column {name!r}; {hint}"


def names_in(expressions: Iterable[Node]) -> list[str]:
    """The columns that expressions read, each once."""
    found: dict[str, None] = {}
    for e in expressions:
        for node in post_order(e):
            if isinstance(node._value, Column):
                found[node._value.name] = None
    return list(found)


def is_column_named(expression: Node, name: str) -> bool:
    """Is it the column of that name, and nothing else?"""
    return isinstance(expression._value, Column) and expression._value.name == name
