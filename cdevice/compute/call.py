"""One call of a function: its arguments (Arrow's Datum), its stream, its kernel."""

from __future__ import annotations

import datetime
import decimal

from .._devices.registry import need_backend, stream_and_owner, stream_near
from .._ext import _native
from .._reaper import need_reaper
from ..interop.asarray import asarray
from ..interop.asstream import asstream
from ..interop.concat import concat
from .options import FunctionOptions, NoOptions
from .scalar import Scalar
from .types import bits_of, format_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import DeviceArray, StreamLike
    from .registry import Function

_Array = _native.Array
_VALUES = (str, bytes, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)


class Argument:
    """An argument as kernels get it.

    ``array``: a row for each row, or with ``one`` a row for all of them; ``chunks``: several arrays (``array`` is then
    None); else ``value``, a number, a bool or None.  ``format``: its type; None where nothing says what null it is.
    """

    __slots__ = ("array", "chunks", "format", "one", "value")

    def __init__(
        self,
        array: DeviceArray | None = None,
        format: str | None = None,
        *,
        one: bool = False,
        value: bool | int | float | None = None,
        chunks: list[DeviceArray] | None = None,
    ) -> None:
        self.array, self.one, self.value, self.chunks = array, one, value, chunks
        self.format = format

    def bits(self, format: str) -> int | None:
        """The value as a type has it; None for null."""
        return None if self.value is None else bits_of(self.value, format)


def _is_array(x: Any) -> bool:
    return isinstance(x, _Array) or hasattr(x, "__arrow_c_device_array__") or hasattr(x, "__arrow_c_array__")


def _chunked(arrays: list[DeviceArray], what: Any) -> Argument:
    if not arrays:
        schema = getattr(what, "schema", None) or getattr(what, "type", None)
        if schema is None:
            raise ValueError("no chunks: their type is unknown")
        arrays = [asarray([], schema=schema)]
    if len(arrays) == 1:
        return Argument(arrays[0], format_of(arrays[0]))
    return Argument(chunks=arrays, format=format_of(arrays[0]))


def _one(array: DeviceArray) -> Argument:
    return Argument(array, format_of(array), one=True)


def argument(x: Any) -> Argument:
    """Whatever a function takes."""
    if isinstance(x, _Array):
        array: DeviceArray = x  # type: ignore[assignment]
        return Argument(array, format_of(array))
    if x is None or type(x) in (bool, int, float):
        if type(x) is int:
            return Argument(value=x, format="l" if x < 1 << 63 else "L")
        return Argument(value=x, format={bool: "b", float: "g"}.get(type(x)))
    if isinstance(x, Scalar):
        return _one(x.array)
    if isinstance(x, _VALUES):
        return _one(asarray([x]))
    if isinstance(x, (list, tuple)) and x and _is_array(x[0]):
        return _chunked([asarray(a) for a in x], x[0])
    if _is_array(x):
        array = asarray(x)
        return Argument(array, format_of(array))
    if isinstance(x, _native.Stream) or hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_device_stream__"):
        stream = asstream(x)
        return _chunked(list(stream), stream)
    if hasattr(x, "as_py") and hasattr(x, "type"):  # a scalar of pyarrow
        return _one(asarray([x.as_py()], schema=x.type))
    if hasattr(x, "dtype") and getattr(x, "shape", None) == () and hasattr(x, "item"):  # numpy's
        return _one(asarray([x]))
    array = asarray(x)
    return Argument(array, format_of(array))


class Call:
    """What a kernel knows of the call: ``function``, ``options``, ``stream`` (a handle), ``state`` (what ``init``
    made), ``device_type``."""

    __slots__ = ("device_id", "device_type", "function", "options", "owner", "state", "stream")

    def __init__(self, function: Function, options: FunctionOptions, arguments: Sequence[Argument], stream: StreamLike):
        self.function, self.options, self.state = function, options, None
        first = _placed(arguments)
        self.stream: int
        self.owner: object
        if first is None or first.device_type_id == 1:
            self.device_type, self.device_id, self.stream, self.owner = 1, -1, 0, None
            return
        self.device_type, self.device_id = first.device_type_id, first.device_id
        need_backend(self.device_type)
        if stream is None:
            stream = stream_near(first)
        self.stream, self.owner = stream_and_owner(self.device_type, stream)
        _bring(arguments, first, self.stream)


def _placed(arguments: Sequence[Argument]) -> DeviceArray | None:
    """The array that says where the call is: one that is not on the CPU, but for single values, which follow."""
    rows = [a.array or a.chunks[0] for a in arguments if (a.array is not None and not a.one) or a.chunks]  # type: ignore[index]
    ones = [a.array for a in arguments if a.array is not None and a.one]
    return next((x for x in [*rows, *ones] if x is not None), None)


def _bring(arguments: Sequence[Argument], first: DeviceArray, stream: int) -> None:
    """Single values of the host go where the arrays are."""
    for a in arguments:
        if a.one and a.array is not None and a.array.device_type_id == 1:
            a.array = a.array.to((first.device_type_id, first.device_id))


def joined(a: Argument) -> Argument:
    """An argument of several chunks as one array."""
    return a if a.chunks is None else Argument(concat(a.chunks), a.format)


def _options(function: Function, options: Any, given: dict[str, Any]) -> FunctionOptions:
    wanted = function.options
    if isinstance(options, wanted):
        if given:
            raise TypeError(f"{function.name}: options= and options by name at once")
        return options
    if options is None:
        return _default(wanted) if not given else wanted(**given)
    if isinstance(options, dict):
        return wanted(**options, **given)
    if isinstance(options, FunctionOptions):
        raise TypeError(f"{function.name} takes {wanted.__name__}, not {type(options).__name__}")
    return wanted(options, **given)


_defaults: dict[type[FunctionOptions], FunctionOptions] = {}


def _default(wanted: type[FunctionOptions]) -> FunctionOptions:
    made = _defaults.get(wanted)
    if made is None:
        made = _defaults[wanted] = wanted()
    return made


def run(function: Function, args: Sequence[Any], options: Any, stream: StreamLike, given: dict[str, Any]) -> Any:
    """Calls a function: a DeviceArray, or a Scalar where no argument has rows or it gives one row."""
    chosen = NO_OPTIONS if options is None and not given and function.options is NoOptions else None
    if chosen is None:
        chosen = _options(function, options, given)
    function._check_arity(len(args))
    need_reaper()
    arguments = [argument(x) for x in args]
    call = Call(function, chosen, arguments, stream)
    if function.meta is not None:
        return function.meta(call, arguments)
    return execute(call, arguments)


def execute(call: Call, arguments: list[Argument]) -> Any:
    """Dispatches on the types and runs the kernel."""
    function = call.function
    known = next((a.format for a in arguments if a.format is not None), "n")
    if function.kind != "scalar_aggregate":
        arguments = [joined(a) for a in arguments]
    formats = tuple([a.format or known for a in arguments])
    for a in arguments:
        a.format = a.format or known
    kernel, wanted = function.dispatch_best(formats, call.device_type)
    if wanted != formats:
        for i, (a, to) in enumerate(zip(arguments, wanted, strict=True)):
            if a.format != to:
                arguments[i] = implicit(call, a, to)
    call.state = kernel.init(call) if kernel.init else None
    out = kernel.exec(call, *arguments)
    if kernel.finalize:
        out = kernel.finalize(call, out)
    rows = any((a.array is not None and not a.one) or a.chunks for a in arguments)
    return Scalar(out) if function.kind == "scalar_aggregate" or not rows else out


def implicit(call: Call, a: Argument, to: str) -> Argument:
    """An argument cast to another type, as Arrow does before a kernel.  Nothing is checked, so nothing is waited for."""
    from .cast import cast_argument

    return cast_argument(call, a, to, False)


NO_OPTIONS = NoOptions()
