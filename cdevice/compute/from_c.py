"""Functions as C programs call them: ``cdevice_call`` of ``cdevice.h``, with options as JSON."""

from __future__ import annotations

import json

from ..errors import ArgumentError
from .functions import call_function
from .groups import group_by
from .joins import join, join_indices
from .scalar import Scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import DeviceArray

_SCALARS = "scalars"


def _grouped(data: Any, keys: Any, aggregations: Any = None, **options: Any) -> DeviceArray:
    if aggregations is None:
        raise ArgumentError('cdevice_call(): group_by needs the option "aggregations", such as [["price", "sum"]]')
    return group_by(data, keys, **options).aggregate(aggregations)


# not in the registry: function, number of arguments
_OF_BATCHES: dict[str, tuple[Callable[..., DeviceArray], int]] = {
    "group_by": (_grouped, 1),
    "join": (join, 2),
    "join_indices": (join_indices, 2),
}


def call(given: tuple[str, tuple[DeviceArray | None, ...], str | None]) -> DeviceArray:
    """The array that a function makes, of one row where that is a scalar.

    ``given``: its name, arguments, and options as the text of a JSON object or None.  An argument that is None stands
    for the next value of the option "scalars".  Blocks as the function does.  Any thread.  Raises ArgumentError for
    options and arguments that do not fit, and as the function.
    """
    name, arrays, text = given
    options = _options(name, text)
    arguments = _arguments(name, arrays, options.pop(_SCALARS, []))
    if name not in _OF_BATCHES:
        made = call_function(name, arguments, options or None)
        return made.array if isinstance(made, Scalar) else made
    function, n = _OF_BATCHES[name]
    if len(arguments) != n:
        raise ArgumentError(f"cdevice_call(): {name} takes {n} argument{'s' * (n > 1)}, not {len(arguments)}")
    if "keys" not in options:
        raise ArgumentError(f'cdevice_call(): {name} needs the option "keys", a list of names of columns')
    return function(*arguments, **options)


def _options(name: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        options = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ArgumentError(f"cdevice_call(): the options of {name} are not JSON: {e}") from None
    if not isinstance(options, dict):
        raise ArgumentError(f"cdevice_call(): the options of {name} are not a JSON object: {text:.60}")
    return options


def _arguments(name: str, arrays: tuple[DeviceArray | None, ...], scalars: Any) -> list[Any]:
    if not isinstance(scalars, list):
        raise ArgumentError(f'cdevice_call(): the option "{_SCALARS}" of {name} must be a list')
    missing = sum(a is None for a in arrays)
    if missing != len(scalars):
        raise ArgumentError(
            f'cdevice_call(): {name} has {missing} arguments that are NULL, and the option "{_SCALARS}" has'
            f" {len(scalars)} values: one for each is needed"
        )
    values = iter(scalars)
    return [next(values) if a is None else a for a in arrays]
