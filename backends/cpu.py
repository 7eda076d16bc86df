"""The CPU."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Backend:
    """Host memory; its table is C."""

    name = "cpu"
    device_type = 1
    install_hint = ""

    def __cdevice_backend__(self) -> Any:
        return b"cpu"
