"""How a check is registered, and what several areas use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from ..._types import DeviceArray
    from ..suite import BackendSuite

    Check: TypeAlias = Callable[..., None]


class Area:
    """Decorates the checks of one file: ``@check()``, or ``@check(1, 2)`` for one test with each value."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.found: list[tuple[str, str, Check]] = []  # (area, test's name without test_, function of the suite)

    def __call__(self, *parameters: object) -> Callable[[Check], Check]:
        def add(function: Check) -> Check:
            name = function.__name__.removeprefix("check_")
            if not parameters:
                self.found.append((self.name, name, function))
            for p in parameters:
                text = "_".join(str(x) for x in p) if isinstance(p, tuple) else str(p)
                self.found.append((self.name, f"{name}__{text}", lambda suite, f=function, p=p: f(suite, p)))
            return function

        return add


def same(a: Any, b: Any) -> None:
    a.validate("full")
    assert a.equals(b, nans_equal=True), f"{a.to_pylist()!r} is not {b.to_pylist()!r}"


def with_events(s: BackendSuite) -> None:
    s.needs(s.capabilities & s.cdevice.Capability.EVENTS, "it has no events")


def exported(s: BackendSuite, array: DeviceArray) -> Any:
    out = s.ffi.new("struct ArrowDeviceArray *")
    array._export_structs(int(s.ffi.cast("uintptr_t", out)), 0)
    return out
