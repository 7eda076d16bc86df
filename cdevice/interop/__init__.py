"""What becomes an array, and what arrays become: one file a library, which it imports inside its functions."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import DeviceArray

# exact type -> function(object): a DeviceArray of it as it is, or None; entered by the module that knows the type
MAKERS: dict[type, Callable[[Any], DeviceArray | None]] = {}
