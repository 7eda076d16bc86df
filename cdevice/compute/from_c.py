"""Functions as C programs call them: ``cdevice_call`` of ``cdevice.h``, with options as JSON."""

from __future__ import annotations

import contextlib
import difflib
import json

from ..errors import ArgumentError, Error
from .dispatch.fallback import fallback
from .expressions.expression import Expression
from .functions import call_function, cast
from .groups import group_by
from .joins import join, join_indices
from .scalar import Scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import DeviceArray

_SCALARS = "scalars"


# ---- functions of batches, which are not in the registry: options are keywords ----
def _group_by(
    data: Any,
    *,
    keys: Any,
    aggregations: Any,
    where: str | None = None,
    normalize_floats: bool = False,
    stream: int | None = None,
) -> DeviceArray:
    condition = None if where is None else _expression("where", where)
    groups = group_by(data, keys, where=condition, normalize_floats=normalize_floats, stream=stream)
    return groups.aggregate(aggregations)


def _join(
    left: Any,
    right: Any,
    *,
    keys: Any,
    right_keys: Any = None,
    join_type: str = "left outer",
    left_suffix: str | None = None,
    right_suffix: str | None = None,
    coalesce_keys: bool = True,
    stream: int | None = None,
) -> DeviceArray:
    ends = {"left_suffix": left_suffix, "right_suffix": right_suffix, "coalesce_keys": coalesce_keys}
    return join(left, right, keys, right_keys, join_type, **ends, stream=stream)  # type: ignore[arg-type]


def _join_indices(
    left: Any,
    right: Any,
    *,
    keys: Any,
    right_keys: Any = None,
    join_type: str = "left outer",
    stream: int | None = None,
) -> DeviceArray:
    return join_indices(left, right, keys, right_keys, join_type, stream=stream)


def _filter(batch: DeviceArray, *, where: str) -> DeviceArray:
    return batch.filter(_expression("where", where))


def _project(batch: DeviceArray, *, columns: dict[str, str]) -> DeviceArray:
    return batch.project(_expressions(columns))


def _with_columns(batch: DeviceArray, *, columns: dict[str, str]) -> DeviceArray:
    return batch.with_columns(_expressions(columns))


_OF_BATCHES: dict[str, Callable[..., DeviceArray]] = {
    "group_by": _group_by,
    "join": _join,
    "join_indices": _join_indices,
    "project": _project,
    "with_columns": _with_columns,
}


def _expression(option: str, text: Any) -> Expression:
    if not isinstance(text, str):
        raise ArgumentError(
            f'the option "{option}" must be the text of an expression, such as "price > 5", not {text!r}'
        )
    return Expression.parse(text)


def _expressions(columns: Any) -> dict[str, Expression]:
    if not isinstance(columns, dict):
        raise ArgumentError(
            'the option "columns" must be an object of names and expressions, such as {"twice": "x * 2"}'
        )
    return {name: _expression(f"columns.{name}", text) for name, text in columns.items()}


# ---- a call ----
def call(given: tuple[str, tuple[DeviceArray | None, ...], str | None]) -> DeviceArray:
    """The array that a function makes, of one row where that is a scalar.

    ``given``: its name, arguments, and options as the text of a JSON object or None.  An argument that is None stands
    for the next value of the option "scalars".  Blocks as the function does.  Any thread.  Raises ArgumentError for
    options and arguments that do not fit, and as the function.
    """
    name, arrays, text = given
    try:
        options = _options(text)
        arguments = _arguments(arrays, options.pop(_SCALARS, []))
        stream = options.get("stream")
        if stream is not None and (not isinstance(stream, int) or isinstance(stream, bool) or stream < 0):
            raise ArgumentError(f'the option "stream" must be the handle of a stream as a number, not {stream!r}')
        word = options.pop("fallback", None)
        with fallback(word) if word is not None else contextlib.nullcontext():
            return _made(name, arguments, options)
    except Error:
        raise
    except (LookupError, OverflowError, AttributeError) as e:  # names and numbers that do not fit
        raise ArgumentError(str(e.args[0]) if e.args else type(e).__name__) from e


def _made(name: str, arguments: list[Any], options: dict[str, Any]) -> DeviceArray:
    of_batches = _filter if name == "filter" and "where" in options else _OF_BATCHES.get(name)
    if of_batches is not None:
        return _of_batches(name, of_batches, arguments, options)
    stream = options.pop("stream", None)
    made = call_function(name, arguments, options or None, stream=stream)
    return made.array if isinstance(made, Scalar) else made


def _of_batches(
    name: str, function: Callable[..., DeviceArray], arguments: list[Any], options: dict[str, Any]
) -> DeviceArray:
    code = function.__code__
    n, defaults = code.co_argcount, function.__kwdefaults__ or {}
    if len(arguments) != n:
        raise ArgumentError(f"{name} takes {n} argument{'s' * (n > 1)}, not {len(arguments)}")
    names = code.co_varnames[n : n + code.co_kwonlyargcount]
    for option in options:
        if option not in names:
            near = difflib.get_close_matches(option, names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(names)}"
            raise ArgumentError(f"{name} has no option {option!r}{hint}")
    for option in names:
        if option not in defaults and option not in options:
            raise ArgumentError(f'{name} needs the option "{option}", such as {_SUCH_AS[option]}')
    return function(*arguments, **options)


_SUCH_AS = {
    "keys": '["city"]',
    "aggregations": '[["price", "sum"]]',
    "where": '"price > 5"',
    "columns": '{"twice": "price * 2"}',
}


def _options(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        options = json.loads(text, object_pairs_hook=_once)
    except ArgumentError:
        raise
    except (ValueError, RecursionError) as e:
        raise ArgumentError(f"the options are not JSON: {e}: {text:.60}") from None
    if not isinstance(options, dict):
        raise ArgumentError(f"the options are not a JSON object: {text:.60}")
    return options


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        names = [name for name, _ in pairs]
        raise ArgumentError(f"the options name {next(n for n in names if names.count(n) > 1)!r} twice: give one value")
    return out


def _arguments(arrays: tuple[DeviceArray | None, ...], scalars: Any) -> list[Any]:
    if not isinstance(scalars, list):
        raise ArgumentError(f'the option "{_SCALARS}" must be a list, with a value for each argument that is NULL')
    missing = sum(a is None for a in arrays)
    if missing != len(scalars):
        raise ArgumentError(
            f'{missing} arguments are NULL, and the option "{_SCALARS}" has {len(scalars)} values: give each one'
        )
    values = iter(scalars)
    return [_scalar(next(values)) if a is None else a for a in arrays]


def _scalar(value: Any) -> Any:
    """A value of JSON; an object gives it a type that JSON has not."""
    if not isinstance(value, dict):
        return value
    if value.keys() != {"value", "type"}:
        raise ArgumentError(
            f'an object among the option "{_SCALARS}" has "value" and "type", such as'
            f' {{"value": "2024-01-31", "type": "date32"}}, not {", ".join(value) or "nothing"}'
        )
    return Scalar(cast([value["value"]], value["type"]))
