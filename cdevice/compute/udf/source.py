"""The text of a kernel of a user's own, in the dialect of cdevice/kernels.  ``ci/kernels`` runs this file.

The text is parsed, typed and written anew: nothing of what a user wrote reaches a compiler but names and numbers.
It is an expression of C, with ``fn name(type a) -> type { ... }`` and ``let name = expression;`` before it, and
``null``, ``is_null()``, ``is_valid()`` and ``coalesce()`` where the text decides which rows are null.  What C leaves
open is decided here, so that every device computes the same: integers wrap, a division by 0 gives 0, a shift counts
modulo the width, a float becomes the nearest integer that there is, and NaN 0.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NamedTuple
else:
    from collections import namedtuple

# types in the order of C's conversions
_INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
_FLOATS = ("f32", "f64")
_ARROW = {"int": "i", "uint": "u", "float": "f"}
_NAMES = {f"{word}{bits}": f"{letter}{bits}" for word, letter in _ARROW.items() for bits in (8, 16, 32, 64)}
TYPES = {k: v for k, v in {**_NAMES, **{t: t for t in (*_INTEGERS, *_FLOATS)}}.items() if v in (*_INTEGERS, *_FLOATS)}
TYPES |= {"char": "i8", "short": "i16", "int": "i32", "long": "i64", "float": "f32", "double": "f64", "bool": "bits"}

# functions of floats: how many arguments; those behind the first group differ in the last bits between devices
EXACT = {"sqrt": 1, "fabs": 1, "floor": 1, "ceil": 1, "trunc": 1, "round": 1, "fmod": 2}
NEAR = dict.fromkeys(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh cbrt".split(), 1
) | {"pow": 2, "atan2": 2, "hypot": 2}
OWN = {
    "fmin": 2,
    "fmax": 2,
    "min": 2,
    "max": 2,
    "abs": 1,
    "isnan": 1,
    "isinf": 1,
    "isfinite": 1,
    "rint": 1,
    "copysign": 2,
}
FUNCTIONS = {**EXACT, **NEAR, **OWN}
NULLS = {"is_null": 1, "is_valid": 1, "coalesce": 2}
WORDS = {"null", "let", "fn", *NULLS}  # that no name may be

_TOKEN = re.compile(
    r"\s*(?:(?P<float>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?|\d+[eE][+-]?\d+[fF]?)"
    r"|(?P<int>0[xX][0-9a-fA-F]+|\d+)(?P<suffix>[uUlL]*)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<op>\|\||&&|==|!=|<=|>=|<<|>>|->|[-+*/%&|^~!<>?:(),;={}]))"
)
# binary operators, those that bind least first
_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_DEEPEST = 60  # of parentheses and the like; a compiler has an end, too


if TYPE_CHECKING:

    class _Token(NamedTuple):
        kind: str
        text: str
        at: int

    Valid = frozenset[str] | str  # the arguments that must be valid, or a text

    class Node(NamedTuple):
        """A part of an expression: its type, the text that computes it, and when it is valid."""

        type: str
        text: str
        valid: Valid
else:
    _Token = namedtuple("_Token", "kind text at")
    Node = namedtuple("Node", "type text valid")

_ALWAYS: frozenset[str] = frozenset()
_NULL = "null"  # the type of the word


class ExpressionError(ValueError):
    """An expression that is none; the message shows the place."""


def misplaced(what: str, source: str, place: int) -> ExpressionError:
    """With the line of the place below."""
    before = source[:place]
    line, column = before.count("\n"), place - (before.rfind("\n") + 1)
    text = source.split("\n")[line].replace("\t", " ")
    where = f"line {line + 1}, column {column + 1}" if "\n" in source else f"column {column + 1}"
    return ExpressionError(f"{what}, at {where}:\n  {text}\n  {' ' * column}^")


def _width(t: str) -> int:
    return int(t[1:])


class Parser:
    """One text, from its characters to a node for each result.

    ``arguments``, ``results``: types and names; a type is as kernels call it, "f64", or "bits"; a single result may
    have no name.  ``nullable``: the arguments that may have nulls.  ``helpers``: functions that the text calls;
    ``lines``: what goes before the results; ``controls``: does the text decide which rows are null?
    """

    def __init__(
        self,
        arguments: Sequence[tuple[str, str]],
        results: Sequence[tuple[str, str]],
        text: str,
        nullable: frozenset[str] = _ALWAYS,
    ) -> None:
        self.source, self.results = text, results
        valid = {name: frozenset([name]) if name in nullable else _ALWAYS for _, name in arguments}
        self.names = {name: Node("i32" if t == "bits" else t, name, valid[name]) for t, name in arguments}
        self.arguments = [name for _, name in arguments]
        self.functions: dict[str, tuple[list[str], str]] = {}
        wide = any(t in ("i64", "u64") for t, _ in results)
        self.least = 64 if wide else 32  # bits of integers in arithmetic
        self.helpers: dict[str, str] = {}
        self.lines: list[str] = []
        self.types: set[str] = set()
        self.tokens, self.at, self.depth = list(self._read()), 0, 0
        self.controls = any(x.text == _NULL or x.text in NULLS for x in self.tokens)

    def fail(self, what: str, at: int | None = None) -> ExpressionError:
        place = (self.tokens[self.at].at if self.at < len(self.tokens) else len(self.source)) if at is None else at
        return misplaced(what, self.source, place)

    def _read(self) -> list[_Token]:
        out, at, text = [], 0, self.source.rstrip()
        while at < len(text):
            m = _TOKEN.match(text, at)
            if m is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise misplaced(f"{text[at]!r} is not allowed in an expression", text, at)
            kind = m.lastgroup if m.lastgroup != "suffix" else "int"
            begin = m.start(kind or 0)
            word = m.group(kind or 0) + (m.group("suffix") or "" if kind == "int" else "")
            out.append(_Token(kind or "", word, begin))
            at = m.end()
        return out

    # ---- reading ----
    def peek(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise self.fail(f"{wanted!r} is missing")
        self.at += 1

    def name(self) -> str:
        """A name of the user's: one that is neither taken nor a word of C."""
        if self.at == len(self.tokens) or not is_name(self.tokens[self.at].text):
            raise self.fail("a name is missing: a C identifier in lower case that no language has taken")
        token = self.tokens[self.at]
        if token.text in self.names or token.text in self.functions:
            raise self.fail(f"{token.text!r} is there already")
        self.at += 1
        return token.text

    def whole(self) -> list[Node]:
        """A node for each result, of its type."""
        if not self.tokens:
            raise ExpressionError("the expression is empty")
        while self.peek() == "fn":
            self.at += 1
            self.function()
        self.locals()
        found: dict[str, Node] = {}
        named = {name: t for t, name in self.results if name}
        while self.peek() in named and self.ahead() == "=":
            token = self.tokens[self.at]
            if token.text in found:
                raise self.fail(f"the result {token.text!r} is given twice")
            self.at += 2
            found[token.text] = self.result(named[token.text], self.choice())
            if self.at < len(self.tokens):
                self.take(";")
        if len(self.results) == 1 and not found:
            made = self.result(self.results[0][0], self.choice())
            found = {self.results[0][1]: made}
        if self.at < len(self.tokens):
            raise self.fail(f"unexpected {self.peek()!r} after the expression")
        missing = [name for _, name in self.results if name not in found]
        if missing:
            raise self.fail(f"the result {missing[0]!r} is missing: expected '{missing[0]} = ...;'")
        return [found[name] for _, name in self.results]

    def ahead(self) -> str:
        return self.tokens[self.at + 1].text if self.at + 1 < len(self.tokens) else ""

    def result(self, t: str, x: Node) -> Node:
        if t == "bits":
            return Node(t, "0" if x.type == _NULL else f"(int){self.truth(x)}", x.valid)
        return Node(t, f"({t})({self.to(t, x)})", x.valid)

    def locals(self) -> None:
        """``let`` after ``let``."""
        while self.peek() == "let":
            self.at += 1
            name = self.name()
            self.take("=")
            x = self.choice()
            if x.type == _NULL:
                raise self.fail("null has no type here")
            self.take(";")
            self.lines.append(f"const {x.type} {name} = {x.text};")
            valid = x.valid
            if isinstance(valid, str):
                self.lines.append(f"const u32 {name}_known_ = {valid};")
                valid = f"{name}_known_"
            self.names[name] = Node(x.type, name, valid)

    def function(self) -> None:
        """``name(type a, ...) -> type { ... }``: a function of values, which later text calls."""
        begin = self.at
        name = self.name()
        outside = self.names, self.lines, self.least
        self.names, self.lines = {}, []
        types = []
        self.take("(")
        while self.peek() != ")":
            types.append(self.type())
            parameter = self.name()
            self.names[parameter] = Node(types[-1], parameter, _ALWAYS)
            if self.peek() != ")":
                self.take(",")
        self.take(")")
        self.take("->")
        parameters = ", ".join(f"const {x.type} {x.text}" for x in self.names.values())
        out = self.type()
        self.least = 64 if out in ("i64", "u64") else 32
        self.take("{")
        if any(t.text == _NULL or t.text in NULLS for t in self.tokens[begin : self._end()]):
            raise self.fail(f"{name}: a function is of values, which are never null")
        self.locals()
        value = self.to(out, self.choice())
        self.take("}")
        body = " ".join([*self.lines, f"return ({out})({value});"])
        self.names, self.lines, self.least = outside
        self.helper(f"own_fn_{name}", out, parameters or "void", body)
        self.functions[name] = (types, out)

    def _end(self) -> int:
        """Where the braces that are open end."""
        for k in range(self.at, len(self.tokens)):
            if self.tokens[k].text == "}":
                return k
        raise self.fail("'}' is missing", len(self.source))

    def type(self) -> str:
        t = TYPES.get(self.peek())
        if t is None:
            raise self.fail(f"expected a type such as float64, not {self.peek()!r}")
        self.at += 1
        return "i32" if t == "bits" else t

    def choice(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fail("the expression is nested too deeply")
        condition = self.level(0)
        if self.peek() == "?":
            self.at += 1
            yes = self.choice()
            self.take(":")
            no = self.choice()
            t = self.common(yes.type, no.type)
            text = f"({self.truth(condition)} ? {self.to(t, yes)} : {self.to(t, no)})"
            condition = self.node(t, text)._replace(valid=self.chosen(condition, yes, no))
        self.depth -= 1
        return condition

    def level(self, k: int) -> Node:
        if k == len(_LEVELS):
            return self.unary()
        left = self.level(k + 1)
        while self.peek() in _LEVELS[k]:
            at = self.tokens[self.at]
            self.at += 1
            left = self.binary(at, left, self.level(k + 1))
        return left

    def unary(self) -> Node:
        word = self.peek()
        if word not in ("-", "+", "!", "~"):
            return self.primary()
        at = self.tokens[self.at].at
        self.at += 1
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fail("the expression is nested too deeply", at)
        x = self.unary()
        self.depth -= 1
        t = self.wide(x.type)
        if word == "!":
            return self.node("i32", f"(i32)(!{self.truth(x)})", x)
        if word == "~":
            if t in _FLOATS:
                raise self.fail("'~' needs an integer", at)
            return self.node(t, f"({t})(~{self.to(t, x)})", x)
        if word == "+":
            return self.node(t, self.to(t, x), x)
        zero = Node(t, "0", _ALWAYS)
        return self.node(t, f"(-{self.to(t, x)})" if t in _FLOATS else self.wrapped("-", t, zero, x), x)

    def primary(self) -> Node:
        if self.at == len(self.tokens):
            raise self.fail("a value is missing")
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "float":
            return self.real(token)
        if token.kind == "int":
            return self.integer(token)
        if token.kind == "name":
            return self.named(token)
        if token.text != "(":
            raise self.fail(f"expected a value, not {token.text!r}", token.at)
        if self.peek() in TYPES and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].text == ")":
            t = TYPES[self.peek()]
            self.at += 2
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self.fail("the expression is nested too deeply", token.at)
            x = self.unary()
            self.depth -= 1
            return self.cast(t, x)
        x = self.choice()
        self.take(")")
        return x

    def integer(self, token: _Token) -> Node:
        word = token.text.rstrip("uUlL")
        suffix = token.text[len(word) :].lower()
        if suffix not in ("", "u", "l", "ul", "lu", "ll", "ull", "llu"):
            raise self.fail(f"invalid number literal {token.text!r}", token.at)
        if len(word) > 1 and word[0] == "0" and word[1] not in "xX":
            raise self.fail(f"{token.text!r} would be octal in C: remove the leading 0", token.at)
        value = int(word, 0)
        kinds = ("u32", "u64") if "u" in suffix else ("i32", "i64", "u64")
        for t in kinds:
            if value < 1 << (_width(t) - (t[0] == "i")) and ("l" not in suffix or _width(t) == 64):
                return self.node(t, f"(({t}){value}{'u' if t[0] == 'u' else ''}{'l' if _width(t) == 64 else ''})")
        raise self.fail(f"{token.text!r} has more than 64 bits", token.at)

    def real(self, token: _Token) -> Node:
        t = "f32" if token.text[-1] in "fF" else "f64"
        value = float(token.text.rstrip("fF"))
        if value in (float("inf"),) or (t == "f32" and value >= 3.4028235677973366e38):
            raise self.fail(f"{token.text!r} is too large for {t}", token.at)
        text = repr(value)
        return self.node(t, f"{text}{'' if '.' in text or 'e' in text else '.0'}{'f' if t == 'f32' else ''}")

    def named(self, token: _Token) -> Node:
        name = token.text
        own = self.functions.get(name)
        if self.peek() == "(" and (own or name in FUNCTIONS or name in TYPES or name in NULLS):
            self.at += 1
            args = [] if self.peek() == ")" else [self.choice()]
            while self.peek() == ",":
                self.at += 1
                args.append(self.choice())
            self.take(")")
            wanted = len(own[0]) if own else NULLS.get(name) or FUNCTIONS.get(name, 1)
            if len(args) != wanted:
                raise self.fail(f"{name}() takes {wanted} argument{'s' * (wanted > 1)}, not {len(args)}", token.at)
            if name in NULLS:
                return self.null_test(name, args, token.at)
            if any(x.type == _NULL for x in args):
                raise self.fail("null has no type here", token.at)
            if own:
                given = ", ".join(self.to(t, x) for t, x in zip(own[0], args, strict=True))
                return self.node(own[1], f"own_fn_{name}({given})", *args)
            return self.cast(TYPES[name], args[0]) if name in TYPES else self.call(name, args, token.at)
        if name in self.names:
            self.types.add(self.names[name].type)
            return self.names[name]
        if name == _NULL:
            return Node(_NULL, "0", "0u")
        if name in ("true", "false"):
            return self.node("i32", f"((i32){int(name == 'true')})")
        if self.peek() == "(":
            known = ", ".join(sorted([*FUNCTIONS, *NULLS, *self.functions]))
            raise self.fail(f"{name}() is unknown; known functions: {known}", token.at)
        known = ", ".join(self.arguments)
        more = [x for x in self.names if x not in self.arguments]
        more_words = f", the local names {', '.join(more)}" if more else ""
        raise self.fail(f"{name!r} is unknown; the arguments are {known}{more_words}", token.at)

    # ---- types ----
    def wide(self, t: str) -> str:
        """An integer's type in arithmetic: as C promotes it, and as wide as the result."""
        if t in _FLOATS or _width(t) >= self.least:
            return t
        return f"i{self.least}"

    def common(self, a: str, b: str) -> str:
        """C's usual arithmetic conversions; null is of any type."""
        if _NULL in (a, b):
            return b if a == _NULL else a
        if "f64" in (a, b) or "f32" in (a, b):
            return "f64" if "f64" in (a, b) else "f32"
        a, b = self.wide(a), self.wide(b)
        if _width(a) != _width(b):
            return a if _width(a) > _width(b) else b
        return a if a[0] == "u" else b

    # ---- writing ----
    def node(self, t: str, text: str, *parts: Node) -> Node:
        """Valid where all parts are."""
        self.types.add(t)
        if any(x.type == _NULL for x in parts):
            raise self.fail("null has no type here: it stands in '? :', coalesce() or as a result")
        return Node(t, text, both(*[x.valid for x in parts]))

    def chosen(self, condition: Node, yes: Node, no: Node) -> Valid:
        if yes.valid == no.valid:
            return both(condition.valid, yes.valid)
        branch = f"({self.truth(condition)} ? ({known(yes.valid)}) : ({known(no.valid)}))"
        return both(condition.valid, branch)

    def null_test(self, name: str, args: list[Node], at: int) -> Node:
        a = args[0]
        if name != "coalesce":
            text = known(a.valid)
            return self.node("i32", f"((i32)({text}) ^ 1)" if name == "is_null" else f"((i32)({text}))")
        b = args[1]
        t = self.common(a.type, b.type)
        if t == _NULL:
            raise self.fail("coalesce() of nulls has no type", at)
        if a.valid == _ALWAYS:
            return self.node(t, self.to(t, a))
        valid = _ALWAYS if b.valid == _ALWAYS else f"({known(a.valid)}) | ({known(b.valid)})"
        return self.node(t, f"(({known(a.valid)}) ? {self.to(t, a)} : {self.to(t, b)})")._replace(valid=valid)

    def helper(self, name: str, result: str, parameters: str, body: str) -> str:
        self.helpers[name] = f"FN {result} {name}({parameters}) {{ {body} }}"
        return name

    def truth(self, x: Node) -> str:
        return f"({x.text} != 0)"

    def to(self, t: str, x: Node) -> str:
        """Its value as a type that it is converted to by itself, or by a cast."""
        if x.type == t:
            return x.text
        if x.type == _NULL:
            return f"(({t})0)"
        self.types.add(t)
        if x.type in _FLOATS and t in _INTEGERS:
            least = f"(({t})0)" if t[0] == "u" else f"({t})((u64)1 << {_width(t) - 1})"
            signed = t[0] == "i"
            low = f"-{2.0 ** (_width(t) - 1)!r}" if signed else "0.0"
            high = repr(2.0 ** (_width(t) - signed))
            most = f"({t})(((u64)1 << {_width(t) - 1}) - 1)" if signed else f"({t})~(u64)0"
            mark = "f" if x.type == "f32" else ""
            body = f"return x != x ? ({t})0 : x <= {low}{mark} ? {least} : x >= {high}{mark} ? {most} : ({t})x;"
            return f"{self.helper(f'{t}_of_{x.type}_', t, f'const {x.type} x', body)}({x.text})"
        return f"({t})({x.text})"

    def cast(self, t: str, x: Node) -> Node:
        if t == "bits":
            return self.node("i32", f"(i32){self.truth(x)}", x)
        return self.node(t, self.to(t, x), x)

    def wrapped(self, op: str, t: str, a: Node, b: Node) -> str:
        u = "u" + t[1:]
        return f"({t})(({u})({self.to(t, a)}) {op} ({u})({self.to(t, b)}))"

    def binary(self, token: _Token, a: Node, b: Node) -> Node:
        op = token.text
        if _NULL in (a.type, b.type):
            raise self.fail(f"null has no type beside {op!r}: is_null() tests for it", token.at)
        if op in ("&&", "||"):
            return self.logic(op, a, b)
        t = self.common(a.type, b.type)
        if op in ("==", "!=", "<", "<=", ">", ">="):
            return self.node("i32", f"(i32)({self.to(t, a)} {op} {self.to(t, b)})", a, b)
        if op in ("&", "|", "^", "%", "<<", ">>") and t in _FLOATS:
            raise self.fail(f"{op!r} takes integers{'; fmod() takes floats' if op == '%' else ''}", token.at)
        if op in ("<<", ">>"):
            t = self.wide(a.type)
            count = f"((u32)({b.text}) & {_width(t) - 1}u)"
            if op == "<<":
                return self.node(t, f"({t})((u{t[1:]})({self.to(t, a)}) << {count})", a, b)
            return self.node(t, f"({t})(({self.to(t, a)}) >> {count})", a, b)
        if op in ("&", "|", "^"):
            return self.node(t, f"({t})(({self.to(t, a)}) {op} ({self.to(t, b)}))", a, b)
        if t in _FLOATS:
            return self.node(t, f"({self.to(t, a)} {op} {self.to(t, b)})", a, b)
        if op in ("/", "%"):
            return self.node(t, f"{self.division(op, t)}({self.to(t, a)}, {self.to(t, b)})", a, b)
        return self.node(t, self.wrapped(op, t, a, b), a, b)

    def logic(self, op: str, a: Node, b: Node) -> Node:
        """Kleene's: false && null is false, true || null is true."""
        if not self.controls or (a.valid == _ALWAYS == b.valid):
            return self.node("i32", f"(i32)({self.truth(a)} {op} {self.truth(b)})", a, b)
        x, y, va, vb = self.truth(a), self.truth(b), f"({known(a.valid)})", f"({known(b.valid)})"
        if op == "&&":
            text = f"(i32)(({x} || !{va}) && ({y} || !{vb}))"
            valid = f"(u32)(({va} && {vb}) || ({va} && !{x}) || ({vb} && !{y}))"
        else:
            text = f"(i32)(({va} && {x}) || ({vb} && {y}))"
            valid = f"(u32)(({va} && {vb}) || ({va} && {x}) || ({vb} && {y}))"
        return self.node("i32", text)._replace(valid=valid)

    def division(self, op: str, t: str) -> str:
        """By 0 it gives 0; of the least number by -1 what wraps."""
        odd = "" if t[0] == "u" else f"b == -1 ? {f'({t})((u{t[1:]})0 - (u{t[1:]})a)' if op == '/' else f'({t})0'} : "
        name = ("quotient_" if op == "/" else "remainder_") + t + "_"
        return self.helper(name, t, f"const {t} a, const {t} b", f"return b == 0 ? ({t})0 : {odd}({t})(a {op} b);")

    def call(self, name: str, args: list[Node], at: int) -> Node:
        if name in ("min", "max", "fmin", "fmax"):
            return self.extreme(name, args)
        if name == "abs" and args[0].type not in _FLOATS:
            t = self.wide(args[0].type)
            body = f"return {'x' if t[0] == 'u' else f'x < 0 ? ({t})((u{t[1:]})0 - (u{t[1:]})x) : x'};"
            return self.node(t, f"{self.helper(f'abs_{t}_', t, f'const {t} x', body)}({self.to(t, args[0])})", *args)
        t = "f32" if all(x.type == "f32" for x in args) else "f64"
        given = [self.to(t, x) for x in args]
        if name.startswith("is"):
            body = {"isnan": "x != x", "isinf": "x == x && x - x != 0", "isfinite": "x - x == 0"}[name]
            helper = self.helper(f"{name}_{t}_", "i32", f"const {t} x", f"return (i32)({body});")
            return self.node("i32", f"{helper}({given[0]})", *args)
        if name == "rint":
            return self.node(t, f"{self.rounded(t)}({given[0]})", *args)
        if name == "copysign":  # which sign a NaN has is open
            body = f"return y != y ? MATH{t[1:]}_(fabs)(x) : MATH{t[1:]}_(copysign)(x, y);"
            helper = self.helper(f"copysign_{t}_", t, f"const {t} x, const {t} y", body)
            return self.node(t, f"{helper}({', '.join(given)})", *args)
        name = "fabs" if name == "abs" else name
        return self.node(t, f"({t})MATH{t[1:]}_({name})({', '.join(given)})", *args)

    def rounded(self, t: str) -> str:
        """To the nearest integer, ties to even: PoCL 3.1 stores nothing for rint() of a large constant."""
        big = "4503599627370496.0" if t == "f64" else "8388608.0f"
        test = f"!(MATH{t[1:]}_(fabs)(x) < {big}) || x == 0 ? x : "
        body = f"return {test}x < 0 ? -(({big} - x) - {big}) : (x + {big}) - {big};"
        return self.helper(f"rint_{t}_", t, f"const {t} x", body)

    def extreme(self, name: str, args: list[Node]) -> Node:
        """NaN does not count, as C has it; of equal ones the first."""
        t = self.common(args[0].type, args[1].type)
        if name[0] == "f" and t not in _FLOATS:
            t = "f64"
        test = "b < a" if name.endswith("min") else "a < b"
        odd = "a != a ? b : b != b ? a : " if t in _FLOATS else ""
        helper = self.helper(f"{name[-3:]}_{t}_", t, f"const {t} a, const {t} b", f"return {odd}{test} ? b : a;")
        return self.node(t, f"{helper}({self.to(t, args[0])}, {self.to(t, args[1])})", *args)


# words of C and its relatives, and of the text
_TAKEN = {
    *"auto bool break case char class const continue default do double else enum extern float for global goto".split(),
    *"half if inline int kernel local long new private public register restrict return short signed sizeof".split(),
    *"static struct switch template this typedef uchar uint ulong union unsigned ushort using void volatile".split(),
    *"while bits true false".split(),
    *_INTEGERS,
    *_FLOATS,
    *FUNCTIONS,
    *WORDS,
}

# the library's functions: C's have a name for each type, others are overloaded
MATH = """#if defined(CDV_HOST)
#define MATH32_(name) __builtin_##name##f
#define MATH64_(name) __builtin_##name
#else
#define MATH32_(name) name
#define MATH64_(name) name
#endif"""


def known(valid: Valid) -> str:
    """A validity as text: 1 or 0."""
    return valid if isinstance(valid, str) else " & ".join(f"{name}_valid_" for name in sorted(valid)) or "1u"


def both(*valid: Valid) -> Valid:
    """Valid where all are."""
    if all(not isinstance(v, str) for v in valid):
        return frozenset().union(*valid)
    return " & ".join(f"({known(v)})" for v in valid if v != _ALWAYS)


def prologue(parser: Parser, *values: str) -> list[str]:
    """What a kernel needs before a text that was read."""
    lines = [*parser.helpers.values()]
    return [*([MATH] if any("MATH" in x for x in [*lines, *parser.lines, *values]) else []), *lines]


def is_name(word: str) -> bool:
    """May a user call something so?"""
    return re.fullmatch(r"[a-z][a-z0-9_]*", word) is not None and word not in _TAKEN and not word.endswith("_")


def program(arguments: Sequence[tuple[str, str]], out: str, text: str, name: str = "") -> str:
    """Of up to three arguments and one result that is null where an argument is.  Its kernel is ``apply``.

    ``arguments``: types and names; a type is as kernels call it, "f64", or "bits".  Raises ExpressionError, which shows
    the place."""
    parser = Parser(arguments, [(out, name)], text)
    value = parser.whole()[0].text
    words = [("int" if t == "bits" else t, name) for t, name in arguments]
    lines = [
        *prologue(parser, value),
        f"FN {'int' if out == 'bits' else out} own_({', '.join(f'const {t} {name}' for t, name in words)}) {{",
        *(f"  {line}" for line in parser.lines),
        f"  return {value};",
        "}",
        "KERNEL(apply) {",
        *(["  PACK_ROOM;"] if out == "bits" else []),
        "  const i64 n = SCALAR(SCALAR_ROWS);",
    ]
    values = []
    for k, (t, _) in enumerate(arguments):
        if t == "bits":
            row = f"RAW(const u32, BUF_ARG{k}), OFFSET(BUF_ARG{k})"
            one = f"ARG_KIND({k}) == ARG_SCALAR ? (int)SCALAR(SCALAR_ARG{k}) : ARG_KIND({k}) ? (int)bit1({row}, 0) : 0"
            values.append(f"ARG_KIND({k}) ? one{k}_ : (int)bit1({row}, i)")
        else:
            lines.append(f"  GLOBAL const {t} *RESTRICT in{k}_ = IN({t}, BUF_ARG{k});")
            one = f"ARG_KIND({k}) ? ONE({t}, {k}, in{k}_) : ({t})0"
            values.append(f"ARG_KIND({k}) ? one{k}_ : in{k}_[i]")
        lines.append(f"  const {words[k][0]} one{k}_ = {one};")
    call = f"own_({', '.join(values)})"
    if out == "bits":
        lines.append(f"  PACK(OUT(u32, BUF_OUT), n, i, {call})")
    else:
        lines += [f"  GLOBAL {out} *RESTRICT o_ = OUT({out}, BUF_OUT);", f"  ROWS(i, n) {{ o_[i] = {call}; }}"]
    return "\n".join([*lines, "}", ""])
