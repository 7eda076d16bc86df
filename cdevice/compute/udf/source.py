"""The text of a kernel that is one expression, in the dialect of cdevice/kernels.  ``ci/kernels`` runs this file.

An expression is parsed, typed and written anew: nothing of what a user wrote reaches a compiler but names of arguments
and numbers.  What C leaves open is decided here, so that every device computes the same: integers wrap, a division by 0
gives 0, a shift counts modulo the width, a float becomes the nearest integer that there is, and NaN 0.
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

_TOKEN = re.compile(
    r"\s*(?:(?P<float>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?|\d+[eE][+-]?\d+[fF]?)"
    r"|(?P<int>0[xX][0-9a-fA-F]+|\d+)(?P<suffix>[uUlL]*)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<op>\|\||&&|==|!=|<=|>=|<<|>>|[-+*/%&|^~!<>?:(),]))"
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

    class _Node(NamedTuple):
        """A part of an expression: its type, and the text that computes it."""

        type: str
        text: str
else:
    _Token = namedtuple("_Token", "kind text at")
    _Node = namedtuple("_Node", "type text")


class ExpressionError(ValueError):
    """An expression that is none; the message shows the place."""


def _width(t: str) -> int:
    return int(t[1:])


class _Parser:
    """One expression, from its text to a node; ``helpers``: functions of cdevice that it calls."""

    def __init__(self, arguments: Sequence[tuple[str, str]], out: str, expression: str) -> None:
        self.source, self.names = expression, {name: t for t, name in arguments}
        self.least = 64 if out in ("i64", "u64") else 32  # bits of integers in arithmetic
        self.helpers: dict[str, str] = {}
        self.types: set[str] = set()
        self.tokens, self.at, self.depth = list(self._read()), 0, 0

    def fail(self, what: str, at: int | None = None) -> ExpressionError:
        place = (self.tokens[self.at].at if self.at < len(self.tokens) else len(self.source)) if at is None else at
        return ExpressionError(f"{what}, at column {place + 1}:\n  {self.source}\n  {' ' * place}^")

    def _read(self) -> list[_Token]:
        out, at, text = [], 0, self.source.rstrip()
        while at < len(text):
            m = _TOKEN.match(text, at)
            if m is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise ExpressionError(
                    f"{text[at]!r} is not allowed in an expression, at column {at + 1}:\n  {text}\n  {' ' * at}^"
                )
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

    def whole(self) -> _Node:
        if not self.tokens:
            raise ExpressionError("the expression is empty")
        out = self.choice()
        if self.at < len(self.tokens):
            raise self.fail(f"unexpected {self.peek()!r} after the expression")
        return out

    def choice(self) -> _Node:
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
            condition = self.node(t, f"({self.truth(condition)} ? {self.to(t, yes)} : {self.to(t, no)})")
        self.depth -= 1
        return condition

    def level(self, k: int) -> _Node:
        if k == len(_LEVELS):
            return self.unary()
        left = self.level(k + 1)
        while self.peek() in _LEVELS[k]:
            at = self.tokens[self.at]
            self.at += 1
            left = self.binary(at, left, self.level(k + 1))
        return left

    def unary(self) -> _Node:
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
            return self.node("i32", f"(i32)(!{self.truth(x)})")
        if word == "~":
            if t in _FLOATS:
                raise self.fail("'~' needs an integer", at)
            return self.node(t, f"({t})(~{self.to(t, x)})")
        if word == "+":
            return self.node(t, self.to(t, x))
        return self.node(t, f"(-{self.to(t, x)})" if t in _FLOATS else self.wrapped("-", t, _Node(t, "0"), x))

    def primary(self) -> _Node:
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

    def integer(self, token: _Token) -> _Node:
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

    def real(self, token: _Token) -> _Node:
        t = "f32" if token.text[-1] in "fF" else "f64"
        value = float(token.text.rstrip("fF"))
        if value in (float("inf"),) or (t == "f32" and value >= 3.4028235677973366e38):
            raise self.fail(f"{token.text!r} is too large for {t}", token.at)
        text = repr(value)
        return self.node(t, f"{text}{'' if '.' in text or 'e' in text else '.0'}{'f' if t == 'f32' else ''}")

    def named(self, token: _Token) -> _Node:
        name = token.text
        if self.peek() == "(" and (name in FUNCTIONS or name in TYPES):
            self.at += 1
            args = [] if self.peek() == ")" else [self.choice()]
            while self.peek() == ",":
                self.at += 1
                args.append(self.choice())
            self.take(")")
            wanted = FUNCTIONS.get(name, 1)
            if len(args) != wanted:
                raise self.fail(f"{name}() takes {wanted} argument{'s' * (wanted > 1)}, not {len(args)}", token.at)
            return self.cast(TYPES[name], args[0]) if name in TYPES else self.call(name, args, token.at)
        if name in self.names:
            t = self.names[name]
            return self.node("i32" if t == "bits" else t, f"{name}")
        if name in ("true", "false"):
            return self.node("i32", f"((i32){int(name == 'true')})")
        if self.peek() == "(":
            raise self.fail(f"{name}() is unknown; known functions: {', '.join(sorted(FUNCTIONS))}", token.at)
        known = ", ".join(self.names)
        raise self.fail(f"{name!r} is unknown; the arguments are {known}", token.at)

    # ---- types ----
    def wide(self, t: str) -> str:
        """An integer's type in arithmetic: as C promotes it, and as wide as the result."""
        if t in _FLOATS or _width(t) >= self.least:
            return t
        return f"i{self.least}"

    def common(self, a: str, b: str) -> str:
        """C's usual arithmetic conversions."""
        if "f64" in (a, b) or "f32" in (a, b):
            return "f64" if "f64" in (a, b) else "f32"
        a, b = self.wide(a), self.wide(b)
        if _width(a) != _width(b):
            return a if _width(a) > _width(b) else b
        return a if a[0] == "u" else b

    # ---- writing ----
    def node(self, t: str, text: str) -> _Node:
        self.types.add(t)
        return _Node(t, text)

    def helper(self, name: str, result: str, parameters: str, body: str) -> str:
        self.helpers[name] = f"FN {result} {name}({parameters}) {{ {body} }}"
        return name

    def truth(self, x: _Node) -> str:
        return f"({x.text} != 0)"

    def to(self, t: str, x: _Node) -> str:
        """Its value as a type that it is converted to by itself, or by a cast."""
        if x.type == t:
            return x.text
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

    def cast(self, t: str, x: _Node) -> _Node:
        if t == "bits":
            return self.node("i32", f"(i32){self.truth(x)}")
        return self.node(t, self.to(t, x))

    def wrapped(self, op: str, t: str, a: _Node, b: _Node) -> str:
        u = "u" + t[1:]
        return f"({t})(({u})({self.to(t, a)}) {op} ({u})({self.to(t, b)}))"

    def binary(self, token: _Token, a: _Node, b: _Node) -> _Node:
        op = token.text
        if op in ("&&", "||"):
            return self.node("i32", f"(i32)({self.truth(a)} {op} {self.truth(b)})")
        t = self.common(a.type, b.type)
        if op in ("==", "!=", "<", "<=", ">", ">="):
            return self.node("i32", f"(i32)({self.to(t, a)} {op} {self.to(t, b)})")
        if op in ("&", "|", "^", "%", "<<", ">>") and t in _FLOATS:
            raise self.fail(f"{op!r} takes integers{'; fmod() takes floats' if op == '%' else ''}", token.at)
        if op in ("<<", ">>"):
            t = self.wide(a.type)
            count = f"((u32)({b.text}) & {_width(t) - 1}u)"
            if op == "<<":
                return self.node(t, f"({t})((u{t[1:]})({self.to(t, a)}) << {count})")
            return self.node(t, f"({t})(({self.to(t, a)}) >> {count})")
        if op in ("&", "|", "^"):
            return self.node(t, f"({t})(({self.to(t, a)}) {op} ({self.to(t, b)}))")
        if t in _FLOATS:
            return self.node(t, f"({self.to(t, a)} {op} {self.to(t, b)})")
        if op in ("/", "%"):
            return self.node(t, f"{self.division(op, t)}({self.to(t, a)}, {self.to(t, b)})")
        return self.node(t, self.wrapped(op, t, a, b))

    def division(self, op: str, t: str) -> str:
        """By 0 it gives 0; of the least number by -1 what wraps."""
        odd = "" if t[0] == "u" else f"b == -1 ? {f'({t})((u{t[1:]})0 - (u{t[1:]})a)' if op == '/' else f'({t})0'} : "
        name = ("quotient_" if op == "/" else "remainder_") + t + "_"
        return self.helper(name, t, f"const {t} a, const {t} b", f"return b == 0 ? ({t})0 : {odd}({t})(a {op} b);")

    def call(self, name: str, args: list[_Node], at: int) -> _Node:
        if name in ("min", "max", "fmin", "fmax"):
            return self.extreme(name, args)
        if name == "abs" and args[0].type not in _FLOATS:
            t = self.wide(args[0].type)
            body = f"return {'x' if t[0] == 'u' else f'x < 0 ? ({t})((u{t[1:]})0 - (u{t[1:]})x) : x'};"
            return self.node(t, f"{self.helper(f'abs_{t}_', t, f'const {t} x', body)}({self.to(t, args[0])})")
        t = "f32" if all(x.type == "f32" for x in args) else "f64"
        given = [self.to(t, x) for x in args]
        if name.startswith("is"):
            body = {"isnan": "x != x", "isinf": "x == x && x - x != 0", "isfinite": "x - x == 0"}[name]
            helper = self.helper(f"{name}_{t}_", "i32", f"const {t} x", f"return (i32)({body});")
            return self.node("i32", f"{helper}({given[0]})")
        if name == "rint":
            return self.node(t, f"{self.rounded(t)}({given[0]})")
        if name == "copysign":  # which sign a NaN has is open
            body = f"return y != y ? MATH{t[1:]}_(fabs)(x) : MATH{t[1:]}_(copysign)(x, y);"
            helper = self.helper(f"copysign_{t}_", t, f"const {t} x, const {t} y", body)
            return self.node(t, f"{helper}({', '.join(given)})")
        name = "fabs" if name == "abs" else name
        return self.node(t, f"({t})MATH{t[1:]}_({name})({', '.join(given)})")

    def rounded(self, t: str) -> str:
        """To the nearest integer, ties to even: PoCL 3.1 stores nothing for rint() of a large constant."""
        big = "4503599627370496.0" if t == "f64" else "8388608.0f"
        test = f"!(MATH{t[1:]}_(fabs)(x) < {big}) || x == 0 ? x : "
        body = f"return {test}x < 0 ? -(({big} - x) - {big}) : (x + {big}) - {big};"
        return self.helper(f"rint_{t}_", t, f"const {t} x", body)

    def extreme(self, name: str, args: list[_Node]) -> _Node:
        """NaN does not count, as C has it; of equal ones the first."""
        t = self.common(args[0].type, args[1].type)
        if name[0] == "f" and t not in _FLOATS:
            t = "f64"
        test = "b < a" if name.endswith("min") else "a < b"
        odd = "a != a ? b : b != b ? a : " if t in _FLOATS else ""
        helper = self.helper(f"{name[-3:]}_{t}_", t, f"const {t} a, const {t} b", f"return {odd}{test} ? b : a;")
        return self.node(t, f"{helper}({self.to(t, args[0])}, {self.to(t, args[1])})")


# the library's functions: C's have a name for each type, others are overloaded
MATH = """#if defined(CDV_HOST)
#define MATH32_(name) __builtin_##name##f
#define MATH64_(name) __builtin_##name
#else
#define MATH32_(name) name
#define MATH64_(name) name
#endif"""


def parsed(arguments: Sequence[tuple[str, str]], out: str, expression: str) -> tuple[str, list[str], bool]:
    """(text of the value, lines that go before, is float64 computed with?) of an expression.

    Raises ExpressionError, which shows the place."""
    parser = _Parser(arguments, out, expression)
    node = parser.whole()
    value = f"(int){parser.truth(node)}" if out == "bits" else f"({out})({parser.to(out, node)})"
    return value, [*parser.helpers.values()], "f64" in parser.types


def program(arguments: Sequence[tuple[str, str]], out: str, expression: str) -> str:
    """Its kernel is ``apply``.  ``arguments``: types and names; a type is as kernels call it, "f64", or "bits"."""
    words = [("int" if t == "bits" else t, name) for t, name in arguments]
    value, helpers, _ = parsed(arguments, out, expression)
    lines = [
        *([MATH] if "MATH" in value or any("MATH" in h for h in helpers) else []),
        *helpers,
        f"FN {'int' if out == 'bits' else out} own_({', '.join(f'const {t} {name}' for t, name in words)}) {{",
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
