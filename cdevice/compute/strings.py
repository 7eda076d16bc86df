"""Kernels of the text for strings."""

from __future__ import annotations

from .._ext import _native
from .argument import Argument
from .elementwise import WORD, Map, schema_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import DeviceArray
    from .call import Call

# bits for less, equal, greater
SAYS = {"equal": 2, "not_equal": 5, "less": 1, "less_equal": 3, "greater": 4, "greater_equal": 6}
_first = Map("boolean", "bits", "first", "bbb", "b", unit=WORD)  # null where any argument is


class Compare:
    """``exec`` of a comparison of strings, byte by byte."""

    __slots__ = ("says",)

    def __init__(self, name: str) -> None:
        self.says = SAYS[name]

    def __call__(self, call: Call, a: Argument, b: Argument) -> DeviceArray:
        if a.array is None or b.array is None:  # null
            return _first(call, Argument(value=False, format="b"), a, b)
        ones = a.one | b.one << 1
        made = _native.compute_compare(a.array, b.array, ones, self.says, schema_of("b"), call.stream, call.owner)
        return _first(call, Argument(made, "b", one=a.one and b.one), a, b)
