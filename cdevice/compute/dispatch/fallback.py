"""``fallback="copy"``: what a device has no kernel for is computed by the CPU, and arguments of two devices meet.  Only
on request, with a warning each time."""

from __future__ import annotations

import contextvars
import warnings

from ..._devices.device import Device
from ..._runtime.ext import lib
from ..._runtime.stacklevel import outside
from ...errors import DeviceWarning, Unsupported
from ..scalar import Scalar
from .datum import ChunkStream, Datum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..._types import DeviceArray, StreamLike

_wanted: contextvars.ContextVar[str] = contextvars.ContextVar("cdevice.compute.fallback", default="error")
_WORDS = ("error", "copy")


def _checked(word: str) -> str:
    if word not in _WORDS:
        raise ValueError(f"fallback must be one of {', '.join(_WORDS)}, not {word!r}")
    return word


class fallback:
    """``with fallback("copy"):`` sets the default of calls in this thread or task, and in the threads that it starts
    where Python hands them its context: ``sys.flags.thread_inherit_context``, which is on in an interpreter without a
    GIL.

    "error": a function without a kernel for the device of its arguments, and arguments on two devices, are errors.
    "copy": all arguments go to the device of the first that has rows; where that has no kernel, they go to the CPU and
    the result comes back.  Each such call is a DeviceWarning that names the bytes.

    ``word``: "error" or "copy".  Raises ValueError for another.
    """

    def __init__(self, word: str) -> None:
        self.word = _checked(word)
        self._before: list[contextvars.Token[str]] = []

    def __enter__(self) -> None:
        self._before.append(_wanted.set(self.word))

    def __exit__(self, *exc: object) -> None:
        _wanted.reset(self._before.pop())


def copies_wanted(word: str | None) -> bool:
    """The fallback of a call: its argument, or the context's."""
    return (_wanted.get() if word is None else _checked(word)) == "copy"


def target_array(arguments: Sequence[Datum]) -> DeviceArray | None:
    """The array that decides the device of the call: one with rows, else a single value, which follows the others."""
    found = None
    for a in arguments:
        array = a.sample()
        if array is not None:
            if not a.one and not a.follows:
                return array
            if found is None or found.device_type_id == 1:
                found = array
    return found


class _CopyCounter:
    """Copies, and counts what it copied."""

    def __init__(self) -> None:
        self.nbytes = 0

    @staticmethod
    def reads(type_id: int) -> bool:
        """Does the CPU read such memory?"""
        return bool(lib.cdv_is_host_accessible(type_id))

    def array(self, x: DeviceArray, to: Device, stream: StreamLike = None) -> DeviceArray:
        if x.device == to:
            return x
        if to.type_id != 1 and self.reads(x.device_type_id) and self.reads(to.type_id):
            return x  # the CPU computes, of memory that it reads
        out = x.to(to, stream=stream)
        self.nbytes += out.nbytes
        return out

    def argument(self, a: Datum, to: Device) -> Datum:
        if isinstance(a.chunks, ChunkStream):
            return Datum(format=a.format, chunks=a.chunks.mapped(lambda x: self.array(x, to)))
        if a.chunks is not None:
            return Datum(format=a.format, chunks=[self.array(x, to) for x in a.chunks], mixed=a.mixed)
        if a.array is None:
            return a
        return Datum(self.array(a.array, to), a.format, one=a.one)

    def result(self, x: Any, to: Device, stream: StreamLike) -> Any:
        return Scalar(self.array(x.array, to, stream)) if isinstance(x, Scalar) else self.array(x, to, stream)


def follows(a: Datum) -> bool:
    """A value of the host, and what was made of Python's lists, goes where the arrays are, asked or not."""
    return (a.one or a.follows) and a.array is not None and a.array.device_type_id == 1


def run_with_fallback(
    name: str, arguments: list[Datum], stream: StreamLike, start: Callable[[list[Datum], StreamLike], Any]
) -> Any:
    """Runs a call as fallback="copy" has it; ``start``: the call, with its arguments."""
    first, mover = target_array(arguments), _CopyCounter()
    if first is None:
        return start(arguments, stream)
    home = first.device
    here = [a if follows(a) else mover.argument(a, home) for a in arguments]
    try:
        out = start(here, stream)
        if mover.nbytes:
            _tell(f"{name}: arguments on two devices, {mover.nbytes} bytes copied to {home}")
        return out
    except Unsupported as e:
        if first.device_type_id == 1:
            raise
        why = e
    cpu, there, back = Device(1, 0), _CopyCounter(), _CopyCounter()
    try:
        out = start([there.argument(a, cpu) for a in here], None)
    except Unsupported:
        raise why from None
    out = back.result(out, home, stream)
    _tell(f"{name}: no kernel on {home}, computed on cpu: {there.nbytes} bytes copied there and {back.nbytes} back")
    return out


def _tell(text: str) -> None:
    warnings.warn(text, DeviceWarning, stacklevel=outside())
