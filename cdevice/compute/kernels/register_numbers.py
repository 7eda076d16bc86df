"""The registry's functions of numbers: rounding, bits, remainders, powers, the least and greatest of several."""

from __future__ import annotations

from ..dispatch.registry import Function, FunctionRegistry, Kernel, Matcher, Signature
from ..dispatch.types import (
    DICTIONARY,
    FLOATS,
    HALF,
    KERNEL_TYPES,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    common,
    comparable_times,
    decimal_of,
    is_binary,
    kind_of_time,
)
from ..number_options import (
    OPTIONS,
    ElementWiseAggregateOptions,
    RoundBinaryOptions,
    RoundOptions,
    RoundToMultipleOptions,
)
from . import nulls, numbers
from .cast import decimal as decimals
from .cast import dictionary as convert
from .elementwise import KLEENE, PACK, WORD, Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["OPTIONS", "add_to"]
INTEGERS = SIGNED + UNSIGNED
_ANY_DECIMAL = Matcher("decimal", decimals.is_decimal)
_NUMBER, _FLOAT = Matcher("number", lambda f: f in NUMBERS), Matcher("float", lambda f: f in FLOATS)
_DECIMAL = Matcher("decimal128, decimal256", decimals.is_wide)
_128, _256 = Matcher("decimal128", decimals.is_decimal128), Matcher("decimal256", decimals.is_decimal256)
_DURATION = Matcher("duration", lambda f: f.startswith("tD"))
_BY_VALUES = Matcher("run_end_encoded, union or dictionary", lambda f: f in ("+r", DICTIONARY) or f[:2] == "+u")
_ANY = Matcher("any", lambda f: True)


def _add(f: Function, inputs: Sequence[Any], out: Any, exec: Callable[..., Any], many: bool = False) -> None:
    f._add(Kernel(Signature(tuple(inputs), out, many), exec))


def _kernel(name: str) -> str:
    """Of a function: compilers for OpenCL have macros of its own name."""
    return name if name.endswith("_checked") else f"{name}_of"


def _same(formats: Sequence[str]) -> str:
    return formats[0]


def as_floats(formats: Sequence[str]) -> Sequence[str] | None:
    """Floats of one type, integers as float64; None: there are others, float16 among them."""
    wide = [f if f in FLOATS else "g" if f in INTEGERS else None for f in formats]
    if None in wide:
        return None
    return ("g" if "g" in wide else "f",) * len(formats)


def _one_float(formats: Sequence[str]) -> Sequence[str] | None:
    return ("g",) if formats[0] in INTEGERS else (decimals.at_least_128(formats[0]),)


def add_to(r: FunctionRegistry) -> None:
    """Registers all of them."""
    _rounding(r)
    _bits(r)
    _divisions(r)
    _tests(r)
    _element_wise(r)
    _reals(r)


# family: its functions of one argument, and what they are; * : there is one that checks
_REALS: dict[str, dict[str, str]] = {
    "exponential": {
        "exp": "e to the power of the value.",
        "expm1": "e to the power of the value, less 1, exact near 0 too.",
        "ln*": "The logarithm to base e.",
        "log2*": "The logarithm to base 2.",
        "log10*": "The logarithm to base 10.",
        "log1p*": "The logarithm of 1 and the value, to base e, exact near 0 too.",
        "sqrt*": "The square root.",
        "cbrt": "The cube root, of numbers below 0 too.",
    },
    "angles": {
        "sin*": "The sine of an angle in radians.",
        "cos*": "The cosine of an angle in radians.",
        "tan*": "The tangent of an angle in radians.",
        "asin*": "The angle whose sine it is, in radians.",
        "acos*": "The angle whose cosine it is, in radians.",
        "atan": "The angle whose tangent it is, in radians.",
    },
    "hyperbolic": {
        "sinh": "The hyperbolic sine.",
        "cosh": "The hyperbolic cosine.",
        "tanh": "The hyperbolic tangent.",
        "asinh": "What the value is the hyperbolic sine of.",
        "acosh*": "What the value is the hyperbolic cosine of.",
        "atanh*": "What the value is the hyperbolic tangent of.",
    },
}
_PAIRS = {
    "logb*": "The logarithm of the first argument to the base of the second one.",
    "atan2": "The angle of the point whose ordinate is the first argument, and abscissa the second one.",
    "hypot": "The distance of a point from the origin.",
}


def _reals(r: FunctionRegistry) -> None:
    for family, functions in _REALS.items():
        for word, doc in functions.items():
            for checked in (False, True)[: 1 + (word[-1] == "*")]:
                name = word.rstrip("*") + "_checked" * checked
                f = Function(name, "scalar", 1, doc, implicit=as_floats)
                for n in FLOATS:
                    _add(
                        f,
                        (n,),
                        n,
                        Map(family, KERNEL_TYPES[n], _kernel(name), n, n, checked=checked, function_name=name),
                    )
                _add(f, (_ANY_DECIMAL,), "g", numbers.AsReals(f.kernels[-1].exec))
                _add(f, ("n",), "n", nulls.nothing)
                r.add_function(f)
    for word, doc in _PAIRS.items():
        for checked in (False, True)[: 1 + (word[-1] == "*")]:
            name = word.rstrip("*") + "_checked" * checked
            f = Function(name, "scalar", 2, doc, implicit=as_floats)
            for n in FLOATS:
                _add(
                    f,
                    (n, n),
                    n,
                    Map("pairs", KERNEL_TYPES[n], _kernel(name), n + n, n, checked=checked, function_name=name),
                )
            _with_decimals(f)
            _add(f, ("n", "n"), "n", nulls.nothing)
            r.add_function(f)
    for checked in (False, True):
        name, doc = "power" + "_checked" * checked, "The first argument to the power of the second one."
        f = Function(name, "scalar", 2, doc, implicit=_numbers_or_floats)
        for n in INTEGERS:
            _add(
                f,
                (n, n),
                n,
                Map(
                    "integers",
                    KERNEL_TYPES[n],
                    "power_checked" if checked else "power_to",
                    n + n,
                    n,
                    checked=True,
                    function_name=name,
                ),
            )
        for n in FLOATS:
            _add(f, (n, n), n, Map("pairs", KERNEL_TYPES[n], "power_of", n + n, n, function_name=name))
        _with_decimals(f)
        _add(f, ("n", "n"), "n", nulls.nothing)
        r.add_function(f)


def _with_decimals(f: Function) -> None:
    """Decimals as float64, beside numbers."""
    exec = numbers.AsReals(next(k.exec for k in reversed(f.kernels) if k.signature.inputs == ("g", "g")))
    for pair in ((_ANY_DECIMAL, _ANY_DECIMAL), (_ANY_DECIMAL, _NUMBER), (_NUMBER, _ANY_DECIMAL)):
        _add(f, pair, "g", exec)


def _numbers_or_floats(formats: Sequence[str]) -> Sequence[str] | None:
    one = common(formats) if all(f in NUMBERS for f in formats) else None
    return None if one is None else (one,) * len(formats)


def _rounding(r: FunctionRegistry) -> None:
    docs = {
        "floor": ("The greatest whole number that is not above the value.", numbers.round_by_mode("down")),
        "ceil": ("The least whole number that is not below the value.", numbers.round_by_mode("up")),
        "trunc": ("The value without what is behind its point.", numbers.round_by_mode("towards_zero")),
    }
    for name, (doc, exec) in docs.items():
        f = Function(name, "scalar", 1, doc, implicit=_one_float)
        for t in (*FLOATS, _DECIMAL):
            _add(f, (t,), _same, exec)
        _add(f, ("n",), "n", nulls.nothing)
        r.add_function(f)
    rounds: tuple[tuple[str, str, Any, Any], ...] = (
        ("round", "The nearest number with so many digits.", RoundOptions, numbers.round_),
        ("round_to_multiple", "The nearest multiple.", RoundToMultipleOptions, numbers.round_to_multiple),
    )
    for name, doc, options, exec in rounds:
        f = Function(name, "scalar", 1, doc, options)
        for t in (*NUMBERS, _DECIMAL):
            _add(f, (t,), _same, exec)
        _add(f, ("n",), "n", nulls.nothing)
        r.add_function(f)
    doc = "The nearest number with so many digits, of each row its own."
    f = Function("round_binary", "scalar", 2, doc, RoundBinaryOptions, implicit=_digits, nulls=(None, "i"))
    for t in (*NUMBERS, _DECIMAL):
        _add(f, (t, "i"), _same, numbers.round_binary)
    _add(f, ("n", "n"), "n", nulls.nothing)
    r.add_function(f)
    f = Function("sign", "scalar", 1, "-1, 0 or 1, by the sign.")
    for n in NUMBERS + HALF:
        out = n if n in FLOATS + HALF else "c"
        _add(f, (n,), out, Map("rounding", KERNEL_TYPES[n], "sign_of", n, out, function_name="sign"))
    _add(f, (_DURATION,), "c", Map("rounding", "i64", "sign_of", "l", "c", function_name="sign"))
    _add(f, (_128,), "l", Map("rounding", "w128", "sign_of", "l", "l", function_name="sign"))
    _add(f, (_256,), "l", Map("rounding", "w256", "sign_of", "l", "l", function_name="sign"))
    _add(f, ("n",), "n", nulls.nothing)
    r.add_function(f)


def _digits(formats: Sequence[str]) -> Sequence[str] | None:
    first, second = formats
    return (decimals.at_least_128(first), "i") if second in NUMBERS or second == "b" else None


def _whole(formats: Sequence[str]) -> Sequence[str] | None:
    if any(f not in INTEGERS for f in formats):
        return None
    one = common(formats)
    return None if one is None else (one,) * len(formats)


def _bits(r: FunctionRegistry) -> None:
    docs = {
        "bit_wise_and": "The bits that both have.",
        "bit_wise_or": "The bits that either has.",
        "bit_wise_xor": "The bits that one of the two has.",
        "shift_left": "The bits of the first argument, further left by the second one.",
        "shift_right": "The bits of the first argument, further right by the second one.",
    }
    docs |= {f"{name}_checked": doc for name, doc in docs.items() if name.startswith("shift")}
    for name, doc in docs.items():
        f = Function(name, "scalar", 2, doc, implicit=_whole)
        kernel, checked = name.replace("bit_wise", "bits"), name.endswith("_checked")
        for n in INTEGERS:
            made = Map("integers", KERNEL_TYPES[n], kernel, n + n, n, checked=checked, function_name=name)
            _add(f, (n, n), n, made)
        _add(f, ("n", "n"), "n", nulls.nothing)
        r.add_function(f)
    f = Function("bit_wise_not", "scalar", 1, "The bits that the value has not.")
    for n in INTEGERS:
        _add(f, (n,), n, Map("integers", KERNEL_TYPES[n], "bits_not", n, n, function_name=f.name))
    _add(f, ("n",), "n", nulls.nothing)
    r.add_function(f)


def _rest_of_decimals(formats: Sequence[str]) -> str:
    parts = [decimal_of(f) or (0, 0, 0) for f in formats]
    wide = ",256" * (parts[0][2] == 256)
    return f"d:{max(p[0] for p in parts)},{parts[0][1]}{wide}"


def _divisions(r: FunctionRegistry) -> None:
    docs = {
        "remainder": "What remains of a division that is cut towards zero: it has the sign of the first argument.",
        "modulo": "What remains of a division that is rounded down: it has the sign of the second argument.",
    }
    one_scale = Matcher("decimal128 of one scale", decimals.is_decimal128, same=decimals.scale_of)
    one_scale_256 = Matcher("decimal256 of one scale", decimals.is_decimal256, same=decimals.scale_of)
    for name, doc in docs.items():
        for checked in (False, True):
            f = Function(name + "_checked" * checked, "scalar", 2, doc, implicit=_decimals_or_numbers)
            for n in INTEGERS:
                _add(
                    f,
                    (n, n),
                    n,
                    Map("integers", KERNEL_TYPES[n], _kernel(f.name), n + n, n, checked=True, function_name=f.name),
                )
            for n in FLOATS:
                _add(
                    f,
                    (n, n),
                    n,
                    Map("pairs", KERNEL_TYPES[n], _kernel(f.name), n + n, n, checked=checked, function_name=f.name),
                )
            for taken, type in ((one_scale, "w128"), (one_scale_256, "w256")):
                made = Map("rounding", type, f"{name}_of", "ll", _rest_of_decimals, checked=True, function_name=f.name)
                _add(f, (taken, taken), _rest_of_decimals, made)
            made_of_floats = Map("pairs", "f64", _kernel(f.name), "gg", "g", checked=checked, function_name=f.name)
            for pair in ((_ANY_DECIMAL, _FLOAT), (_FLOAT, _ANY_DECIMAL)):
                _add(f, pair, "g", numbers.AsReals(made_of_floats))
            _add(f, ("n", "n"), "n", nulls.nothing)
            r.add_function(f)


def _decimals_or_numbers(formats: Sequence[str]) -> Sequence[str] | None:
    if any(f.startswith("d:") for f in formats):
        return decimals.of_one_scale(formats)
    one = common(formats)
    return None if one is None or one == HALF or one[0] == "t" else (one,) * len(formats)


def _tests(r: FunctionRegistry) -> None:
    for name, doc, exact in (
        ("is_finite", "Is it neither infinite nor NaN?", "always"),
        ("is_inf", "Is it infinite?", "never"),
    ):
        f = Function(name, "scalar", 1, doc)
        for n in HALF + FLOATS:
            _add(f, (n,), "b", Map("compare", KERNEL_TYPES[n], name, n, "b", unit=PACK))
        through = nulls.through("g", f.kernels[-1].exec)
        whole = Map("boolean", "bits", exact, "-", "b", unit=WORD, function_name=name)
        for t in (*INTEGERS, _ANY_DECIMAL, _DURATION):
            _add(f, (t,), "b", whole)
        _add(f, ("n",), "b", through)
        r.add_function(f)
    f = Function("true_unless_null", "scalar", 1, "True where the row is not null, null where it is.")
    made = Map("boolean", "bits", "always", "-", "b", unit=WORD, function_name=f.name)
    _add(f, (_ANY,), "b", made)
    _add(f, (_BY_VALUES,), "b", convert.by_values(made))
    r.add_function(f)
    f = Function("and_not", "scalar", 2, "The first and not the second one; null where either is.")
    _add(f, ("b", "b"), "b", Map("boolean", "bits", "and_not", "bb", "b", unit=WORD))
    _add(f, ("n", "n"), "n", nulls.nothing)
    r.add_function(f)
    f = Function("and_not_kleene", "scalar", 2, "The first and not the second one; false where either decides that.")
    _add(f, ("b", "b"), "b", Map("boolean", "bits", "and_not_kleene", "bb", "b", unit=WORD, rule=KLEENE))
    _add(f, ("n", "n"), "n", nulls.nothing)
    r.add_function(f)


_TIMES = ("tdD", "tdm", "tts", "ttm", "ttu", "ttn", "tDs", "tDm", "tDu", "tDn")
_BYTES = Matcher("strings or bytes of one type", is_binary, same=str)


def _alike(formats: Sequence[str]) -> Sequence[str] | None:
    """Numbers, decimals and times of one type; strings that are long where one is."""
    if all(f in ("u", "U", "vu") for f in formats):
        return ("U",) * len(formats)
    if all(f in ("z", "Z", "vz") for f in formats):
        return ("Z",) * len(formats)
    if all(kind_of_time(f) for f in formats):
        return comparable_times(formats)
    if any(f not in NUMBERS and decimal_of(f) is None for f in formats):
        return None
    one = common(formats)
    return None if one is None else (one,) * len(formats)


def _element_wise(r: FunctionRegistry) -> None:
    for name, word in (("min_element_wise", "least"), ("max_element_wise", "greatest")):
        doc = f"The {word} of several arguments, row by row."
        f = Function(name, "scalar", -2, doc, ElementWiseAggregateOptions, implicit=_alike)
        exec = numbers.element_wise(word == "least")
        for t in (*NUMBERS, *_TIMES):
            _add(f, (t,), t, exec, True)
        for u in "smun":
            stamps = Matcher(f"timestamp of unit {u}", lambda f, u=u: f.startswith(f"ts{u}:"), same=str)  # type: ignore[misc]
            _add(f, (stamps,), _same, exec, True)
        decimal = Matcher("decimals of one type", decimals.is_decimal, same=str)
        for taken in (decimal, _BYTES):
            _add(f, (taken,), _same, exec, True)
        r.add_function(f)
