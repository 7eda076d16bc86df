"""Arrow's functions of numbers: rounding, powers, logarithms, angles, bits, the least or greatest of several arguments.

They are made from the table below; ``numbers.pyi`` has their signatures for type checkers.  Arguments, ``stream`` and
``fallback``: as in :mod:`cdevice.compute.functions`.
"""

from __future__ import annotations

from .dispatch.call import run
from .functions import _made, _registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import StreamLike
    from .options import FunctionOptions

_INTEGERS = "int8 to uint64"
_FLOATS = "float32, float64"
_DECIMALS = "decimal128, decimal256"
_ROUNDED = f"{_INTEGERS}, {_FLOATS}, {_DECIMALS} -> the same type; null -> null"
_WHOLE = f"{_FLOATS}, {_DECIMALS} -> the same type; {_INTEGERS} -> float64; null -> null"
_BITS = f"{_INTEGERS} -> the common type; null -> null"
_REALS = f"{_FLOATS} -> the same type; {_INTEGERS}, decimals -> float64; null -> null"
_RESTS = f"{_INTEGERS}, {_FLOATS} -> the common type; decimals and integers -> decimal128, decimal256; null -> null"
_PICKED = "numbers but float16, dates, times, durations -> the common type; string, binary, their large forms,\n"
_PICKED += (
    "        fixed_size_binary of one size -> that type; decimals, beside numbers too -> one type of all their digits"
)
_ROUNDS = "Raises ArgumentError for a result that the type has not, for which it blocks."
_ZERO = "Raises ArgumentError for an integer or a decimal divided by zero, for which it blocks."
_SHIFT = "Shifted by less than no bit, or by all bits of a value or more, it stays what it is."
_BOTH = f"{_FLOATS} -> the common type; {_INTEGERS}, decimals -> float64; null -> null"
_POWER = f"{_INTEGERS}, {_FLOATS} -> the common type; decimals -> float64; null -> null"
_ULP = "Every device has the same bits, which are within 2 units of the last digit."
_LOG = "Raises ArgumentError for 0 and for negative numbers, for which it blocks."
_NEGATIVE = "Raises ArgumentError for an integer to a negative power, for which it blocks."
_WRAPS = "Raises ArgumentError for an integer to a negative power, and for one that overflows, for which it blocks."
_DOMAIN = "Raises ArgumentError for numbers that have none, for which it blocks."
_NAN = "NaN counts as a number where there is no other; of equals the first one is taken."
_OPTIONS = {
    "ndigits": "how many digits behind the point; below 0: so many before it become 0",
    "multiple": "above 0: an int, a float, a Decimal or a scalar of pyarrow",
    "round_mode": '"down", "up", "towards_zero", "towards_infinity", or to the nearest one and of ties "half_down",\n'
    '        "half_up", "half_towards_zero", "half_towards_infinity", "half_to_even", "half_to_odd"',
    "skip_nulls": "False: a row is null where any argument is",
}
_MODE = "round_mode='half_to_even'"
# Arrow's name: the arguments, the options, summary, types -> result type, remarks
_FUNCTIONS: dict[str, tuple[str, str, str, str, tuple[str, ...]]] = {
    "floor": ("x", "", "The greatest whole number that is not above the value.", _WHOLE, ("Of decimals it blocks.",)),
    "ceil": ("x", "", "The least whole number that is not below the value.", _WHOLE, ("Of decimals it blocks.",)),
    "trunc": ("x", "", "The value without what is behind its point.", _WHOLE, ("Of decimals it blocks.",)),
    "round": ("x", f"ndigits=0, {_MODE}", "The nearest number with so many digits.", _ROUNDED, (_ROUNDS,)),
    "round_binary": (
        "x ndigits",
        _MODE,
        "The nearest number with so many digits, of each row its own.",
        f"x: {_INTEGERS}, {_FLOATS}, {_DECIMALS}; ndigits: integers -> the type of x",
        (_ROUNDS,),
    ),
    "round_to_multiple": ("x", f"multiple=1.0, {_MODE}", "The nearest multiple.", _ROUNDED, (_ROUNDS,)),
    "sign": (
        "x",
        "",
        "-1, 0 or 1, by the sign; NaN stays NaN.",
        f"{_INTEGERS}, duration -> int8; floats -> the same type; {_DECIMALS} -> int64; null -> null",
        (),
    ),
    "bit_wise_and": ("x y", "", "The bits that both have.", _BITS, ()),
    "bit_wise_or": ("x y", "", "The bits that either has.", _BITS, ()),
    "bit_wise_xor": ("x y", "", "The bits that one of the two has.", _BITS, ()),
    "bit_wise_not": ("x", "", "The bits that the value has not.", f"{_INTEGERS} -> the same type; null -> null", ()),
    "shift_left": ("x y", "", "x, its bits further left by y.", _BITS, (_SHIFT,)),
    "shift_right": ("x y", "", "x, its bits further right by y; its sign stays.", _BITS, (_SHIFT,)),
    "shift_left_checked": (
        "x y",
        "",
        "x, its bits further left by y.",
        _BITS,
        ("Raises ArgumentError for another number of bits than a value has, for which it blocks.",),
    ),
    "shift_right_checked": (
        "x y",
        "",
        "x, its bits further right by y; its sign stays.",
        _BITS,
        ("Raises ArgumentError for another number of bits than a value has, for which it blocks.",),
    ),
    "remainder": ("x y", "", "What remains of x / y cut towards zero: it has the sign of x.", _RESTS, (_ZERO,)),
    "remainder_checked": (
        "x y",
        "",
        "What remains of x / y cut towards zero: it has the sign of x.",
        _RESTS,
        ("Raises ArgumentError for a division by zero and for one that overflows, for which it blocks.",),
    ),
    "modulo": ("x y", "", "What remains of x / y rounded down: it has the sign of y.", _RESTS, (_ZERO,)),
    "modulo_checked": (
        "x y",
        "",
        "What remains of x / y rounded down: it has the sign of y.",
        _RESTS,
        ("Raises ArgumentError for a division by zero and for one that overflows, for which it blocks.",),
    ),
    "is_finite": (
        "x",
        "",
        "Is it neither infinite nor NaN?",
        f"numbers, {_DECIMALS}, duration, null -> bool",
        ("A row is null where the argument is.",),
    ),
    "is_inf": (
        "x",
        "",
        "Is it infinite?",
        f"numbers, {_DECIMALS}, duration, null -> bool",
        ("A row is null where the argument is.",),
    ),
    "true_unless_null": ("x", "", "True where the row is not null, null where it is.", "any type -> bool", ()),
    "and_not": ("x y", "", "x and not y; null where either is.", "bool -> bool; null -> null", ()),
    "and_not_kleene": (
        "x y",
        "",
        "x and not y, of Kleene's logic.",
        "bool -> bool; null -> null",
        ("False where x is false or y is true, null or not the other one.",),
    ),
    "exp": ("x", "", "e to the power of x.", _REALS, (_ULP,)),
    "expm1": ("x", "", "e to the power of x, less 1, exact near 0 too.", _REALS, (_ULP,)),
    "ln": ("x", "", "The logarithm to base e.", _REALS, (_ULP,)),
    "ln_checked": ("x", "", "The logarithm to base e.", _REALS, (_ULP, _LOG)),
    "log2": ("x", "", "The logarithm to base 2.", _REALS, (_ULP,)),
    "log2_checked": ("x", "", "The logarithm to base 2.", _REALS, (_ULP, _LOG)),
    "log10": ("x", "", "The logarithm to base 10.", _REALS, (_ULP,)),
    "log10_checked": ("x", "", "The logarithm to base 10.", _REALS, (_ULP, _LOG)),
    "log1p": ("x", "", "The logarithm of 1 + x to base e, exact near 0 too.", _REALS, (_ULP,)),
    "log1p_checked": ("x", "", "The logarithm of 1 + x to base e, exact near 0 too.", _REALS, (_ULP, _LOG)),
    "sqrt": ("x", "", "The square root.", _REALS, (_ULP,)),
    "cbrt": ("x", "", "The cube root, of numbers below 0 too.", _REALS, (_ULP,)),
    "sqrt_checked": ("x", "", "The square root.", _REALS, (_ULP, _DOMAIN)),
    "sin": ("x", "", "The sine of an angle in radians.", _REALS, (_ULP,)),
    "sin_checked": ("x", "", "The sine of an angle in radians.", _REALS, (_ULP, _DOMAIN)),
    "cos": ("x", "", "The cosine of an angle in radians.", _REALS, (_ULP,)),
    "cos_checked": ("x", "", "The cosine of an angle in radians.", _REALS, (_ULP, _DOMAIN)),
    "tan": ("x", "", "The tangent of an angle in radians.", _REALS, (_ULP,)),
    "tan_checked": ("x", "", "The tangent of an angle in radians.", _REALS, (_ULP, _DOMAIN)),
    "asin": ("x", "", "The angle whose sine is x, in radians.", _REALS, (_ULP,)),
    "asin_checked": ("x", "", "The angle whose sine is x, in radians.", _REALS, (_ULP, _DOMAIN)),
    "acos": ("x", "", "The angle whose cosine is x, in radians.", _REALS, (_ULP,)),
    "acos_checked": ("x", "", "The angle whose cosine is x, in radians.", _REALS, (_ULP, _DOMAIN)),
    "atan": ("x", "", "The angle whose tangent is x, in radians.", _REALS, (_ULP,)),
    "sinh": ("x", "", "The hyperbolic sine.", _REALS, (_ULP,)),
    "cosh": ("x", "", "The hyperbolic cosine.", _REALS, (_ULP,)),
    "tanh": ("x", "", "The hyperbolic tangent.", _REALS, (_ULP,)),
    "asinh": ("x", "", "The number whose hyperbolic sine is x.", _REALS, (_ULP,)),
    "acosh": ("x", "", "The number whose hyperbolic cosine is x.", _REALS, (_ULP,)),
    "acosh_checked": ("x", "", "The number whose hyperbolic cosine is x.", _REALS, (_ULP, _DOMAIN)),
    "atanh": ("x", "", "The number whose hyperbolic tangent is x.", _REALS, (_ULP,)),
    "atanh_checked": ("x", "", "The number whose hyperbolic tangent is x.", _REALS, (_ULP, _DOMAIN)),
    "logb": ("x base", "", "The logarithm of x to a base.", _BOTH, (_ULP,)),
    "logb_checked": ("x base", "", "The logarithm of x to a base.", _BOTH, (_ULP, _LOG)),
    "atan2": ("y x", "", "The angle of the point (x, y), in radians.", _BOTH, (_ULP,)),
    "hypot": ("x y", "", "The distance of the point (x, y) from (0, 0).", _BOTH, (_ULP,)),
    "power": ("x y", "", "x to the power of y; integers wrap.", _POWER, (_ULP, _NEGATIVE)),
    "power_checked": ("x y", "", "x to the power of y.", _POWER, (_ULP, _WRAPS)),
    "min_element_wise": ("*args", "skip_nulls=True", "The least of the arguments, row by row.", _PICKED, (_NAN,)),
    "max_element_wise": ("*args", "skip_nulls=True", "The greatest of the arguments, row by row.", _PICKED, (_NAN,)),
}
_DOC = """{summary}{blocking}  Any thread.{more}

    Accepted types -> result type::

        {types}

    {arguments}
    :param stream: of the device, as in :meth:`DeviceArray.to`
    :param fallback: "error" or "copy", see :func:`cdevice.compute.fallback`{options}
    :returns: a DeviceArray; a :class:`Scalar` where no argument has rows
    :raises NoKernel: for types that are not listed
    :raises ValueError: for lengths that differ, and arguments on two devices (ArgumentError)
    """


def _documented(name: str) -> str:
    names, options, summary, types, more = _FUNCTIONS[name]
    what = {"*args": "one or more arrays and scalars", "x": "an array, or a scalar"}
    told = [f":param {n.lstrip('*')}: {what.get(n, 'likewise, or one for all rows')}" for n in names.split()]
    given = [word.partition("=")[0] for word in options.split(", ") if word]
    shown = "".join(f"\n    :param {word}: {_OPTIONS[word]}" for word in given)
    if given:
        shown += "\n    :param options: an object of the function's options, in place of these"
    blocks = any("block" in word for word in more)
    return _DOC.format(
        summary=summary,
        blocking="" if blocks else "  Does not block.",
        more="".join(f"\n\n    {word}" for word in more),
        types=types.replace("; ", "\n        "),
        arguments="\n    ".join(told),
        options=shown,
    )


def _of_numbers(name: str) -> Any:
    names, options, *_ = _FUNCTIONS[name]
    function, fixed = _registry.get_function(name), len(names.split())
    placed = [] if names[0] == "*" else [word.partition("=")[0] for word in options.split(", ") if word]

    def call(
        *args: Any,
        stream: StreamLike = None,
        fallback: str | None = None,
        options: FunctionOptions | None = None,
        **given: Any,
    ) -> Any:
        if names[0] == "*":
            return run(function, args, options, stream, given, fallback)
        if not fixed <= len(args) <= fixed + len(placed):
            most = f"from {fixed} to {fixed + len(placed)}" if placed else f"{fixed}"
            word = "argument" + "s" * (most != "1")
            raise TypeError(f"{name}() takes {most} positional {word} but {len(args)} were given")
        for option, value in zip(placed, args[fixed:], strict=False):
            if option in given:
                raise TypeError(f"{name}() got multiple values for argument '{option}'")
            given[option] = value
        return run(function, args[:fixed], options, stream, given, fallback)

    many = names[0] == "*"
    head = [*names.split(), *([] if many else ["/"]), *([options] if options else []), *([] if many else ["*"])]
    shown = ", ".join([*head, "stream=None", "fallback=None", *(["options=None"] if options else [])])
    return _made(name, call, f"{name}({shown})", _documented(name))


globals().update({_name: _of_numbers(_name) for _name in _FUNCTIONS})
__all__ = [*_FUNCTIONS]
