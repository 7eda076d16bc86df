"""What a token stands for."""

from __future__ import annotations

from .shared import ARRAY, Shared, opened, tickets_of
from .streams import opened_stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Validate


def open_shared(token: bytes | Shared, *, validate: Validate = "full") -> Any:
    """The array or the stream that another process, or this one, shares: the same memory, to be read only.

    ``token``: that of a :class:`Shared`, or the Shared itself: a :class:`DeviceArray`; that of a :class:`SharedStream`:
    a :class:`DeviceArrayStream`, whose arrays lie in memory that is used again once they are dropped, and which is
    opened once.  ``validate``: as in :func:`from_buffers`; what the token and the other process say about sizes is
    checked at every level.

    Nothing is copied, and no page is read but what ``validate`` looks at.  The memory goes when the last process that
    has it drops it or ends.  Blocks for a thread of the other process, some microseconds, at most ten seconds.  Any
    thread.  Raises ArgumentError for a token of another machine, user or version, or a changed one; Released when it is
    not shared any more or its process ended; InvalidArray where the contents do not fit.
    """
    magic, tickets = tickets_of(token)
    return opened(tickets, validate) if magic == ARRAY else opened_stream(tickets, validate)
