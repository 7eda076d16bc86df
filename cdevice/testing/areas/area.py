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


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:80]} ... {text[-30:]}"


def expect(got: Any, wanted: Any, what: str) -> None:
    """AssertionError that names the comparison, and of bytes and lists where they differ first."""
    if got == wanted:
        return
    where, parts = "", (got, wanted)
    if all(isinstance(x, (bytes, bytearray, memoryview, list)) for x in parts):
        if len(got) != len(wanted):
            raise AssertionError(f"{what}: {len(got)} came back, expected {len(wanted)}: {_shown(got)}")
        i = next(i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1])
        where, parts = f" at {i} of {len(got)}", (got[i : i + 8], wanted[i : i + 8])
        if isinstance(got, list):
            parts = parts[0][0], parts[1][0]
        else:
            parts = bytes(parts[0]), bytes(parts[1])
    raise AssertionError(f"{what}:{where} got {_shown(parts[0])}, expected {_shown(parts[1])}")


def same(a: Any, b: Any) -> None:
    a.validate("full")
    assert a.equals(b, nans_equal=True), f"came back as {_shown(a.to_pylist())}, was {_shown(b.to_pylist())}"


def with_events(s: BackendSuite) -> None:
    s.needs(s.capabilities & s.cdevice.Capability.EVENTS, "it has no events")


def exported(s: BackendSuite, array: DeviceArray) -> Any:
    out = s.ffi.new("struct ArrowDeviceArray *")
    array._export_structs(int(s.ffi.cast("uintptr_t", out)), 0)
    return out
