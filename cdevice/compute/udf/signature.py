"""What a function of a user's own takes and gives, from its words."""

from __future__ import annotations

from ...schema import Schema, asschema
from ..dispatch.registry import Function, FunctionRegistry, Kernel, Signature
from ..dispatch.types import FLOATS, KERNEL_TYPES, NUMBERS, decimal_of, is_wider, storage_of
from .source import is_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, NamedTuple
else:
    from collections import namedtuple


if TYPE_CHECKING:

    class Column(NamedTuple):
        """An argument or a result: its schema, the type that kernels read, "bits" for bools, and its name."""

        schema: Schema
        type: str
        name: str

        @property
        def format(self) -> str: ...
else:

    class Column(namedtuple("Column", "schema type name")):
        __slots__ = ()

        @property
        def format(self):
            return self.schema.format


MOST_COLUMNS = 64  # CDV_LAUNCH_LIST_COLUMNS of core/compute/launch_list.h
EXPECTED = 'expected a signature such as "float64 a, float64 b -> float64"'


def _parts(text: str) -> Iterator[str]:
    """The parts between the commas outside of brackets."""
    depth = begin = 0
    for i, ch in enumerate(text):
        depth += (ch in "([") - (ch in ")]")
        if ch == "," and not depth:
            yield text[begin:i]
            begin = i + 1
    yield text[begin:]


def column(word: str, name: str) -> Column:
    """A column of a type.  Raises ValueError for a type that no kernel of a user's computes."""
    schema = asschema(word.strip())
    format = schema.format
    decimal = decimal_of(format)
    if format == "b":
        return Column(schema, "bits", name)
    if decimal is not None and decimal[2] <= 64:
        return Column(schema, f"i{decimal[2]}", name)
    storage = storage_of(format)
    if storage is None or storage not in NUMBERS:
        raise ValueError(
            f"{word.strip()!r} is not supported: expected a number type, bool, a date, time or duration, "
            "or a decimal of 32 or 64 bits"
        )
    return Column(schema, KERNEL_TYPES[storage], name)


def _named(part: str) -> Column:
    word, _, name = part.strip().rpartition(" ")
    if not word or not is_name(name):
        raise ValueError(
            f"{part.strip()!r} is not an argument: expected a type and a C identifier, such as 'float64 a'"
        )
    return column(word, name)


def read(signature: str) -> tuple[list[Column], list[Column]]:
    """(arguments, results) of "float64 a, int64 b -> float64" or "float64 a -> float64 low, float64 high"; one result
    may have no name.  Raises ValueError."""
    given, arrow, made = signature.partition("->")
    if not arrow:
        raise ValueError(f"{EXPECTED}, not {signature!r}")
    arguments = [_named(part) for part in _parts(given)]
    parts = [*_parts(made)]
    if len(parts) == 1 and not is_name(made.strip().rpartition(" ")[2] if " " in made.strip() else ""):
        results = [column(made, "")]
    else:
        results = [_named(part) for part in parts]
    names = [x.name for x in [*arguments, *results]]
    if len(set(names)) < len(names):
        raise ValueError(f"arguments and results have distinct names, not {', '.join(names)}")
    return arguments, results


def fits(given: str, wanted: str) -> bool:
    """Does an argument of a format become one of another without loss?"""
    if given == wanted:
        return True
    return given in NUMBERS and wanted in NUMBERS and (wanted in FLOATS or is_wider(wanted, given))


def words(text: object, what: str, name: str) -> None:
    """Raises TypeError for another object than a str."""
    if not isinstance(text, str):
        raise TypeError(f"{name}(): {what} must be a str, not {type(text).__name__}")


def read_operator(
    kind: str, name: str, signature: str, texts: dict[str, str | None]
) -> tuple[list[Column], Column, str]:
    """(arguments, result, text of a row as a state) of a reduction or scan.  ``texts``: by the names of the arguments.

    Raises TypeError for an argument that is not a str, ValueError for an invalid signature."""
    for what, text in {"name": name, "signature": signature, **texts}.items():
        words("" if text is None else text, what, kind)
    arguments, results = read(signature)
    map = texts["map"]
    if len(results) != 1 or len(arguments) > MOST_COLUMNS:
        raise ValueError(f"{kind}({name!r}): expected one result, and up to {MOST_COLUMNS} arguments")
    if map is None and len(arguments) > 1:
        raise ValueError(f"{kind}({name!r}): map is missing: expected the state of a row of {len(arguments)} arguments")
    return arguments, results[0], arguments[0].name if map is None else map


def made(
    function: Function,
    library: str,
    arguments: Sequence[Column],
    out: str,
    exec: Any,
    registry: FunctionRegistry | None,
) -> Function:
    """A function with its one kernel, added to a registry."""
    takes = tuple([x.format for x in arguments])
    function._add(Kernel(Signature(takes, out), exec, library=library))
    function.implicit = lambda formats: takes if all(map(fits, formats, takes)) else None
    if registry is not None:
        registry.add_function(function)
    return function


def described(arguments: Sequence[Column], results: Sequence[Column], text: str) -> str:
    """A function in one line."""
    given = ", ".join(f"{x.schema.type} {x.name}" for x in arguments)
    gives = ", ".join(f"{x.schema.type} {x.name}".strip() for x in results)
    return f"({given}) -> {gives}: {text.strip()}"
