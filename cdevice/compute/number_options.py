"""Options of the functions of numbers, by Arrow's names."""

from __future__ import annotations

from .options import FunctionOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

MODES = (  # as Arrow counts them, and kernels (MODE_* in protocol.h)
    "down",
    "up",
    "towards_zero",
    "towards_infinity",
    "half_down",
    "half_up",
    "half_towards_zero",
    "half_towards_infinity",
    "half_to_even",
    "half_to_odd",
)
_MOST_DIGITS = 1 << 31


class RoundOptions(FunctionOptions):
    """``ndigits``: digits behind the point, or below 0 before it; ``round_mode``: "down", "up", "towards_zero",
    "towards_infinity", or to the nearest and of ties "half_down", "half_up", "half_towards_zero",
    "half_towards_infinity", "half_to_even", "half_to_odd"."""

    ndigits: int
    round_mode: Any
    defaults: ClassVar[Mapping[str, Any]] = {"ndigits": 0, "round_mode": "half_to_even"}
    allowed: ClassVar[Mapping[str, Any]] = {"round_mode": MODES}

    def check(self) -> None:
        """Checks the fields against ``allowed``.  Does not block.  Raises TypeError, ValueError."""
        super().check()
        if isinstance(self.ndigits, bool) or not hasattr(self.ndigits, "__index__"):
            raise TypeError(f"RoundOptions: ndigits must be an int, not {self.ndigits!r:.60}")
        self.ndigits = self.ndigits.__index__()
        if not -_MOST_DIGITS < self.ndigits < _MOST_DIGITS:
            raise ValueError(f"RoundOptions: ndigits must be within 2**31 of 0, not {self.ndigits}")


class RoundBinaryOptions(FunctionOptions):
    """``round_mode``: as in RoundOptions."""

    round_mode: Any
    defaults: ClassVar[Mapping[str, Any]] = {"round_mode": "half_to_even"}
    allowed: ClassVar[Mapping[str, Any]] = {"round_mode": MODES}


class RoundToMultipleOptions(FunctionOptions):
    """``multiple``: above 0, a number of Python, numpy or pyarrow; ``round_mode``: as in RoundOptions."""

    multiple: Any
    round_mode: Any
    defaults: ClassVar[Mapping[str, Any]] = {"multiple": 1.0, "round_mode": "half_to_even"}
    allowed: ClassVar[Mapping[str, Any]] = {"round_mode": MODES}

    @classmethod
    def _fields_of(cls, options: Any) -> dict[str, Any]:
        import pyarrow as pa

        stored = pa.ipc.open_file(options.serialize()).read_all().column(0)[0]
        return {"multiple": stored["multiple"].as_py(), "round_mode": MODES[stored["round_mode"].as_py()]}


class ElementWiseAggregateOptions(FunctionOptions):
    """``skip_nulls``: False: a row is null where any argument is."""

    skip_nulls: bool
    defaults: ClassVar[Mapping[str, Any]] = {"skip_nulls": True}
    allowed: ClassVar[Mapping[str, Any]] = {"skip_nulls": bool}


OPTIONS: tuple[type[FunctionOptions], ...] = (
    ElementWiseAggregateOptions,
    RoundBinaryOptions,
    RoundOptions,
    RoundToMultipleOptions,
)
