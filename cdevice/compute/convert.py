"""Arrow's ``cast``, and what dictionary arrays stand for."""

from __future__ import annotations

from ..schema import asschema
from .argument import Argument, Chunks, joined
from .casts import cast_argument, lone, no_cast
from .nulls import as_type
from .scalar import Scalar
from .taken import indices_of, spelled_out, taken, values_of
from .types import DICTIONARY, format_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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


def by_values(exec: Callable[[Call, Argument], DeviceArray]) -> Callable[[Call, Argument], DeviceArray]:
    """``exec`` for arrays that are null where their values are: run-end encoded ones, and dictionaries."""

    def plain(call: Call, x: DeviceArray) -> DeviceArray:
        if x._format == "+r":
            return spelled_out(call, x)
        if x._child(-1).null_count == 0:
            return x
        out = decoded(call, Argument(x, DICTIONARY)).array
        assert out is not None
        return out

    def run(call: Call, a: Argument) -> DeviceArray:
        if isinstance(a.chunks, Chunks):
            return exec(call, Argument(chunks=a.chunks.mapped(lambda x: plain(call, x)), format=a.format))
        if a.chunks is not None:
            return exec(call, Argument(chunks=[plain(call, x) for x in a.chunks], format=a.format))
        assert a.array is not None
        made = plain(call, a.array)
        return exec(call, Argument(made, made._format, one=a.one))

    return run


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
        raise no_cast(call, words_of(a.format or "n"), target.type)
    else:
        a = cast_argument(call, a, target.format, options.safe)
    if a.array is None:
        a = lone(call, a, target)
    out: DeviceArray | None = a.array
    assert out is not None
    return Scalar(out) if a.one else out
