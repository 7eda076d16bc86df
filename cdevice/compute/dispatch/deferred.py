"""Arguments that are computed later."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..options import FunctionOptions
    from .function import Function


class Deferred:
    """Base of such arguments: a function that gets one asks it for the result."""

    __slots__ = ()

    def _call(self, function: Function, args: Sequence[Any], options: FunctionOptions) -> Any:
        """The result of a function of ``args``, one of which this is.  ``options``: of the function's class."""
        raise NotImplementedError
