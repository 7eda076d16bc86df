"""Arguments that are computed later."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..._types import DeviceArray, StreamLike
    from ..options import FunctionOptions
    from .function import Function


class Deferred:
    """Base of such arguments: a function that gets one asks it for the result."""

    __slots__ = ()

    def _call(self, function: Function, args: Sequence[Any], options: FunctionOptions) -> Any:
        """The result of a function of ``args``, one of which this is.  ``options``: of the function's class."""
        raise NotImplementedError

    def evaluate(self, data: Any, *, stream: StreamLike = None) -> DeviceArray:
        """The values for the rows of a batch."""
        raise NotImplementedError


# makes one of another library's expression; expressions/expression.py sets it
converted: list[Callable[[Any], Any]] = []


def is_foreign(x: object) -> bool:
    """Is it an expression of pyarrow?"""
    return type(x).__name__ == "Expression" and type(x).__module__[:7] == "pyarrow"


def ours(x: Any) -> Any:
    """Another library's expression as one of these; anything else stays."""
    return converted[0](x) if is_foreign(x) and converted else x
