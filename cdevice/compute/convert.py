"""Arrow's ``cast``, and what dictionary arrays stand for."""

from __future__ import annotations

from ..schema import asschema
from .argument import Argument, joined
from .casts import cast_argument, lone
from .errors import NoKernel
from .nulls import as_type
from .scalar import Scalar
from .taken import indices_of, taken, values_of
from .types import DICTIONARY, format_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import DeviceArray
    from .call import Call


def decoded(call: Call, a: Argument) -> Argument:
    """A dictionary array as the values that its rows have."""
    if a.array is None or a.format != DICTIONARY:
        return a
    indices = indices_of(a.array)
    rows = cast_argument(call, Argument(indices, indices._format), "l", False).array
    assert rows is not None
    out = taken(call, values_of(a.array, rows), rows, False)
    return Argument(out, format_of(out), one=a.one)


def cast(call: Call, args: Sequence[Argument]) -> Any:
    """The meta function ``cast``."""
    options: Any = call.options
    target = asschema(options.target_type)
    a = joined(args[0])
    nested = target.dictionary is not None or target.format.startswith("+")
    if a.array is None:
        a = lone(call, a) if a.value is not None else Argument(value=None, format="n")
    if a.format == DICTIONARY and target.dictionary is None:
        a = decoded(call, a)
    if a.format == "n":
        a = as_type(call, a, target.format, target)
    elif nested:
        raise NoKernel(f"cast: no kernel from {words_of(a.format or 'n')} to {target.type}")
    else:
        a = cast_argument(call, a, target.format, options.safe)
    if a.array is None:
        a = lone(call, a, target)
    out: DeviceArray | None = a.array
    assert out is not None
    return Scalar(out) if a.one else out
