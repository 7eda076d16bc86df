"""Functions of a user's own, from one expression for every device."""

from __future__ import annotations

import re

from ..._runtime.ext import check, lib
from ...schema import asschema
from ..dispatch.registry import Function, FunctionRegistry, Kernel, Signature
from ..dispatch.types import FLOATS, KERNEL_TYPES, NUMBERS, is_wider, words_of
from ..kernels.elementwise import PACK, ROW, Map
from .source import FUNCTIONS, ExpressionError, parsed, program

MOST = 3  # arguments of a kernel
_NAME = re.compile(r"[a-z][a-z0-9_]*")
# words of C and its relatives, and of the text
_TAKEN = {
    *"auto bool break case char class const continue default do double else enum extern float for global goto".split(),
    *"half if inline int kernel local long new private public register restrict return short signed sizeof".split(),
    *"static struct switch template this typedef uchar uint ulong union unsigned ushort using void volatile".split(),
    *"while".split(),
    *KERNEL_TYPES.values(),
    *FUNCTIONS,
}


def _parsed(signature: str) -> tuple[list[tuple[str, str]], str]:
    """([(format, name)], format of the result).  Raises ValueError."""
    given, arrow, out = signature.partition("->")
    if not arrow:
        raise ValueError(f'expected a signature such as "float64 a, float64 b -> float64", not {signature!r}')
    arguments = []
    for part in given.split(","):
        word, _, name = part.strip().rpartition(" ")
        if not word or not _NAME.fullmatch(name) or name in _TAKEN or name.endswith("_"):
            raise ValueError(
                f"{part.strip()!r} is not an argument: expected a type and a C identifier, such as 'float64 a'"
            )
        arguments.append((_type(word), name))
    names = [name for _, name in arguments]
    if len(arguments) > MOST or len(set(names)) < len(names):
        raise ValueError(f"a kernel takes up to {MOST} arguments with distinct names, not {', '.join(names)}")
    return arguments, _type(out)


def _type(word: str) -> str:
    format = asschema(word.strip()).format
    if format not in NUMBERS and format != "b":
        raise ValueError(f"{word.strip()!r} is not supported: expected a number type or bool")
    return format


def elementwise(
    name: str, signature: str, expression: str, *, doc: str = "", registry: FunctionRegistry | None = None
) -> Function:
    """A :class:`Function` that gives a row for each row, from one expression, on every device.

    ``signature``: up to three arguments and the result, numbers or bools: ``"float64 a, float64 b -> float64"``.
    ``expression``: of C, in the arguments' names, with numbers, ``+ - * / % << >> & | ^ ~ ! && || ?:``, comparisons,
    casts such as ``(float32) a`` or ``int64(a)``, and the functions of floats sqrt, fabs, floor, ceil, trunc, rint,
    round, fmod, copysign, fmin, fmax, isnan, isinf, isfinite, abs, min, max, which give the same everywhere, and exp,
    log, pow, sin ..., of which the last bits are the device's.  Types are converted as C does, and integers are
    computed with at least as many bits as the result has; bools are 0 and 1.  What C leaves undefined is defined:
    integers wrap, a division by 0 gives 0, shifts count modulo the width, a float becomes the nearest integer, NaN 0.
    A row is null where an argument is.  Integers of other types are cast where nothing is lost, any number to a
    float.  ``name``: of the function.  ``doc``: its description.  ``registry``: where the function is added under its
    name; None: nowhere.

    The program is compiled when the function is first called on a device, by the device's compiler, on the CPU by
    ``cc`` (``CDEVICE_CC``), and kept on disk.  Then Unsupported names the missing compiler.

    Does not block.  Any thread.  Raises ValueError for an invalid signature or expression, with the place, KeyError for
    a name that is taken, TypeError for an argument that is not a str.
    """
    for word, given in (("name", name), ("signature", signature), ("expression", expression)):
        if not isinstance(given, str):
            raise TypeError(f"elementwise(): {word} must be a str, not {type(given).__name__}")
    arguments, out = _parsed(signature)
    words = [(KERNEL_TYPES.get(f, "bits"), n) for f, n in arguments]
    last = KERNEL_TYPES.get(out, "bits")
    plain = " ".join(expression.split())
    try:
        text, doubles = program(words, last, plain), parsed(words, last, plain)[2]
    except ExpressionError as e:
        raise ExpressionError(f"elementwise({name!r}): {e}") from None
    import hashlib

    family = "own_" + hashlib.sha256(text.encode()).hexdigest()[:18]
    check(lib.cdv_kernel_register_source(family.encode(), text.encode()))
    inputs = tuple([f for f, _ in arguments])
    wide = "f64 " if "g" in (*inputs, out) or doubles else ""  # tells devices without it
    exec = Map(family, wide + last, "apply", "".join(inputs), out, unit=PACK if out == "b" else ROW, function_name=name)
    said = ", ".join(f"{words_of(f)} {n}" for f, n in arguments)
    f = Function(name, "scalar", len(arguments), doc or f"({said}) -> {words_of(out)}: {expression.strip()}")
    f._add(Kernel(Signature(inputs, out), exec, library="elementwise"))
    f.implicit = lambda formats: inputs if all(map(_fits, formats, inputs)) else None
    if registry is not None:
        registry.add_function(f)
    return f


def _fits(given: str, wanted: str) -> bool:
    if given == wanted:
        return True
    return given in NUMBERS and wanted in NUMBERS and (wanted in FLOATS or is_wider(wanted, given))
