"""An async iterable as an iterator for another thread: its steps are tasks of the event loop that it belongs to."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Coroutine

from ..errors import DeviceWarning, StreamError
from .event_loops import home, trio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SIGNAL_POLL_SECONDS = 0.05  # seconds between two looks at a cancellation


class _Answer:
    """What a task of an event loop hands to the thread that waits for it: one of an item, the end, a failure."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._item: tuple[Any] | None = None
        self._error: BaseException | None = None

    def wait(self, seconds: float) -> bool:
        return self._ready.wait(seconds)

    def give(self, item: Any) -> None:
        self._item = (item,)
        self._ready.set()

    def end(self) -> None:
        self._ready.set()

    def fail(self, error: BaseException | None) -> None:
        self._error = error
        self._ready.set()

    def get(self) -> Any:
        if self._error is not None:
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error  # its traceback holds this frame
        if self._item is None:
            raise StopIteration
        return self._item[0]


def _was_cancelled(e: BaseException) -> StreamError:
    """Only what we cancel ends without an error."""
    error = StreamError("the source was cancelled, not by the consumer")
    error.__cause__ = e
    return error


class Pull:
    """An async iterable of the running event loop, as an iterator for another thread."""

    def __new__(cls, source: Any, interrupted: Callable[[], bool]) -> Any:
        return object.__new__(_TrioPull if trio() else _AsyncioPull)

    def __init__(self, source: Any, interrupted: Callable[[], bool]) -> None:
        self.home = home()
        if self.home is None:
            raise RuntimeError("no running event loop: an async source runs in the one that produce() is called from")
        self._source = source.__aiter__()
        if not hasattr(self._source, "__anext__"):
            raise TypeError(f"{type(source).__name__}.__aiter__() did not return an async iterator")
        self._interrupted = interrupted
        self._leaving = False  # the step under way was cancelled by us
        self._step: Any = None  # what cancels it

    def __iter__(self) -> Pull:
        return self

    def __next__(self) -> Any:
        answer = _Answer()
        self._call(self._begin, answer)
        while not answer.wait(SIGNAL_POLL_SECONDS):
            if self._interrupted():
                self.interrupt()
                if self._asleep():
                    raise StopIteration  # it is cancelled when its loop runs again
            if self._gone() and not answer.wait(0):
                raise RuntimeError("the event loop of the source was closed")
        return answer.get()

    # ---- of each kind of loop ----
    def _call(self, function: Callable[..., Any], *arguments: object) -> None:
        raise NotImplementedError

    def _asleep(self) -> bool:
        raise NotImplementedError

    def _gone(self) -> bool:
        raise NotImplementedError

    def _begin(self, answer: _Answer) -> None:
        raise NotImplementedError

    def _begin_close(self) -> None:
        raise NotImplementedError

    # ---- of both ----
    def interrupt(self) -> None:
        """Cancels the step that waits, once: its cleanup may take as long as it takes."""
        if not self._leaving:
            self._leaving = True
            try:
                self._call(self._cancel)
            except RuntimeError:
                pass  # the loop has ended

    def _cancel(self) -> None:
        if self._step is not None:
            self._step.cancel()

    def close(self) -> None:
        """Closes an async generator where it runs; does not wait."""
        try:
            self._call(self._begin_close)
        except RuntimeError:
            pass  # the loop has ended, and with it the generator

    async def _close(self) -> None:
        close = getattr(self._source, "aclose", None)
        if close is not None:
            await close()


class _Begun(Coroutine["Any", "Any", None]):
    """A coroutine that is made when its task first runs: one whose loop ends before that leaves nothing that was never
    awaited."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._make = make
        self._coroutine: Coroutine[Any, Any, None] | None = None

    def send(self, value: Any) -> Any:
        if self._coroutine is None:
            self._coroutine = self._make()
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        if self._coroutine is None:
            self._coroutine = self._make()
        return self._coroutine.throw(*error)

    def close(self) -> None:
        if self._coroutine is not None:
            self._coroutine.close()

    def __await__(self) -> Any:
        return self


class _AsyncioPull(Pull):
    def _call(self, function: Callable[..., Any], *arguments: object) -> None:
        self.home.call_soon_threadsafe(function, *arguments)

    def _asleep(self) -> bool:
        return not self.home.is_running()

    def _gone(self) -> bool:
        return bool(self.home.is_closed())

    def _begin(self, answer: _Answer) -> None:
        if self._leaving:
            answer.end()
            return
        self._step = self.home.create_task(self._next())
        self._step.add_done_callback(lambda task: self._ended(task, answer))

    async def _next(self) -> Any:
        try:
            return True, await self._source.__anext__()
        except StopAsyncIteration:
            return False, None

    def _ended(self, task: asyncio.Task[Any], answer: _Answer) -> None:
        """However the task ended, this is called."""
        self._step = None
        if task.cancelled():
            try:
                task.result()
            except asyncio.CancelledError as e:
                return answer.end() if self._leaving else answer.fail(_was_cancelled(e))
        if task.exception() is not None:
            return answer.fail(task.exception())
        there_is, item = task.result()
        answer.give(item) if there_is else answer.end()

    def _begin_close(self) -> None:
        step = self._step
        self._closing = self.home.create_task(_Begun(lambda: self._close_behind(step)))
        self._closing._log_destroy_pending = False  # a loop that ends first closes its async generators itself
        self._closing.add_done_callback(self._closed)

    async def _close_behind(self, step: Any) -> None:
        if step is not None:
            await asyncio.wait([step])
        await self._close()

    def _closed(self, task: Any) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.home.call_exception_handler(
                {"message": "an async source failed while it was closed", "exception": task.exception(), "task": task}
            )


class _TrioPull(Pull):
    _looks = 0

    def _call(self, function: Callable[..., Any], *arguments: object) -> None:
        self.home.run_sync_soon(function, *arguments)

    def _asleep(self) -> bool:
        return False

    def _gone(self) -> bool:
        self._looks += 1
        if self._looks % 20 == 0:
            try:
                self.home.run_sync_soon(bool, idempotent=True)
            except RuntimeError:
                return True
        return False

    def _begin(self, answer: _Answer) -> None:
        try:
            sys.modules["trio"].lowlevel.spawn_system_task(self._next, answer)
        except RuntimeError as e:  # at the end of the run nothing begins any more
            answer.fail(e)

    async def _next(self, answer: _Answer) -> None:
        """A system task: what it raises would end trio.run."""
        trio = sys.modules["trio"]
        with trio.CancelScope() as self._step:
            if self._leaving:
                self._step.cancel()
            try:
                answer.give(await self._source.__anext__())
            except StopAsyncIteration:
                answer.end()
            except trio.Cancelled as e:
                answer.end() if self._leaving else answer.fail(_was_cancelled(e))
                raise
            except BaseException as e:
                answer.fail(e)
        self._step = None

    def _begin_close(self) -> None:
        try:
            sys.modules["trio"].lowlevel.spawn_system_task(self._close_quietly)
        except RuntimeError:
            pass  # at the end of the run; trio closes remaining async generators itself

    async def _close_quietly(self) -> None:
        try:
            await self._close()
        except sys.modules["trio"].Cancelled:
            raise
        except BaseException as e:
            import warnings
            from contextlib import suppress

            with suppress(Warning):  # where warnings are errors
                warnings.warn(f"an async source failed while it was closed: {e!r}", DeviceWarning, stacklevel=2)
