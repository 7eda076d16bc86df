"""Where a task runs: asyncio's loop or trio's."""

from __future__ import annotations

import asyncio
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def trio() -> Any:
    """The module trio, when this task runs on it."""
    module = sys.modules.get("trio")
    return module if module is not None and module.lowlevel.in_trio_run() else None


async def checkpoint() -> None:
    """Lets other tasks run."""
    module = trio()
    await (module.lowlevel.checkpoint() if module else asyncio.sleep(0))


def home() -> Any:
    """What runs this thread's tasks: an event loop of asyncio, trio's token, or None."""
    module = trio()
    return module.lowlevel.current_trio_token() if module else asyncio._get_running_loop()


def finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def readable(descriptor: int) -> None:
    """Waits until a descriptor may be read."""
    module = trio()
    if module:
        await module.lowlevel.wait_readable(descriptor)
        return
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()
    loop.add_reader(descriptor, finish, waiter)
    try:
        await waiter
    finally:
        if not loop.is_closed():
            loop.remove_reader(descriptor)
