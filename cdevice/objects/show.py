"""How an array prints."""

from __future__ import annotations

from .._ext import lib
from .values import rows
from .views import share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray


def _shown(a: DeviceArray, width: int = 5) -> list[str]:
    n = a.length
    if n <= 2 * width:
        return [_short(v) for v in rows(a)]
    head = [_short(v) for v in rows(a._slice(0, width))]
    return [*head, "...", *(_short(v) for v in rows(a._slice(n - width, width)))]


def _short(value: Any) -> str:
    text = repr(value) if value is not None else "null"
    return text if len(text) <= 60 else text[:57] + "..."


def describe(a: DeviceArray) -> str:
    """What ``repr`` of an array shows: type, length, nulls, device, event, first and last values when readable."""
    if a.released:
        return "<cdevice.DeviceArray released>"
    a = share(a)  # another thread may release it meanwhile
    nulls = a.null_count
    event = "none" if not a.sync_event else "unknown"
    ready = True
    if a.sync_event:
        try:
            ready = a.ready
            event = "done" if ready else "pending"
        except Exception:  # no backend, or a failed event: repr must not raise
            ready = False
    known = "unknown" if nulls < 0 else nulls
    head = f"<cdevice.DeviceArray {a.type}, length {a.length}, nulls {known}, on {a.device}, event {event}"
    values = ""
    if ready and lib.cdv_is_host_accessible(a.device_type_id):
        try:
            values = f"\n[{', '.join(_shown(a))}]"
        except Exception as e:
            values = f"\n[values cannot be shown: {e}]"
    return head + ">" + values
