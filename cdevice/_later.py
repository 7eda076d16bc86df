"""Modules that are imported when one of their names is first used.

An import statement in a function costs half a microsecond every time; a name of one of these costs an attribute.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Later:
    """``Later("cdevice.objects.values").to_pylist`` is that function."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(__import__(self._module, fromlist=[name]), name)
        setattr(self, name, value)
        return value
