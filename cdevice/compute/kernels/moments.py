"""Variance, standard deviation, skew and kurtosis, by powers of the distances from the mean."""

from __future__ import annotations

from ..dispatch.types import KERNEL_TYPES
from .aggregate import Reduce
from .cast.numeric import cast_argument
from .elementwise import schema_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import DeviceArray
    from ..dispatch.call import Call
    from ..dispatch.datum import Datum

POWERS = {"variance": 2, "stddev": 2, "skew": 4, "kurtosis": 4}


class Moment(Reduce):
    """``exec`` of one of the four, of numbers of a type."""

    __slots__ = ()

    def __init__(self, name: str, format: str) -> None:
        end = "join_moments", "f64", f"finish_{name}"
        super().__init__("moments", KERNEL_TYPES[format], f"moments_{POWERS[name]}", "f64", end, schema_of("g"))
        self.function_name = name

    def plan(self, options: Any) -> Any:
        if POWERS[self.function_name] == 2:
            last = max(-(1 << 63), min(options.ddof, (1 << 63) - 1))
        else:
            last = int(options.biased)
        return self.plan_of(options.min_count, int(options.skip_nulls), last)


class MomentOfDecimals:
    """The same of decimals, as float64."""

    __slots__ = ("of_float64",)

    def __init__(self, name: str) -> None:
        self.of_float64 = Moment(name, "g")

    def __call__(self, call: Call, argument: Datum) -> DeviceArray:
        return self.of_float64(call, cast_argument(call, argument, "g", False))
