"""One call of a function: its arguments (Arrow's Datum), its stream, its kernel."""

from __future__ import annotations

from .._devices.registry import need_backend, stream_and_owner, stream_near
from .._ext import _native
from .._reaper import need_reaper
from .aggregate import Reduce
from .argument import Argument, argument, joined
from .casts import cast_argument
from .convert import decoded
from .elementwise import Map
from .errors import NoKernel
from .nulls import as_type
from .options import FunctionOptions, NoOptions
from .scalar import Scalar
from .types import DICTIONARY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._types import DeviceArray, StreamLike
    from .registry import Function, Kernel


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
    """The array that says where the call is: one with rows, else a single value, which follows the others."""
    found = None
    for a in arguments:
        if a.chunks:
            return a.chunks[0]
        if a.array is not None:
            if not a.one:
                return a.array
            if found is None or found.device_type_id == 1:
                found = a.array
    return found


def _bring(arguments: Sequence[Argument], first: DeviceArray, stream: int) -> None:
    """Single values of the host go where the arrays are."""
    for a in arguments:
        if a.one and a.array is not None and a.array.device_type_id == 1:
            a.array = a.array.to((first.device_type_id, first.device_id))


def _options(function: Function, options: Any, given: dict[str, Any]) -> FunctionOptions:
    wanted = function.options
    if isinstance(options, wanted):
        if given:
            raise TypeError(f"{function.name}: options= and options by name at once")
        return options
    if options is None:
        return _made(wanted, given)
    if isinstance(options, dict):
        return wanted(**options, **given)
    if isinstance(options, FunctionOptions):
        raise TypeError(f"{function.name} takes {wanted.__name__}, not {type(options).__name__}")
    return wanted(options, **given)


_known: dict[tuple[Any, ...], FunctionOptions] = {}  # options are values: the same again and again


def _made(wanted: type[FunctionOptions], given: dict[str, Any]) -> FunctionOptions:
    try:
        key = (wanted, *given.items())
        found = _known.get(key)
    except TypeError:  # what cannot be hashed
        return wanted(**given)
    if found is None:
        found = wanted(**given)
        if len(_known) < 1000:
            _known[key] = found
    return found


def run(function: Function, args: Sequence[Any], options: Any, stream: StreamLike, given: dict[str, Any]) -> Any:
    """Calls a function: a DeviceArray, or a Scalar where no argument has rows or it gives one row."""
    plain = options is None and not given and function.options is NoOptions
    chosen = NO_OPTIONS if plain else _options(function, options, given)
    function._check_arity(len(args))
    need_reaper()
    arguments = [argument(x) for x in args]
    call = Call(function, chosen, arguments, stream)
    if function.meta is not None:
        return function.meta(call, arguments)
    return execute(call, arguments)


def _name_nulls(function: Function, arguments: Sequence[Argument]) -> None:
    """None is of the type of the other arguments."""
    if all(a.format for a in arguments):
        return
    own = (*function.nulls, *(None,) * len(arguments))
    known = next((a.format for a, f in zip(arguments, own, strict=False) if a.format and not f), "n")
    for a, f in zip(arguments, own, strict=False):
        a.format = a.format or f or known


def execute(call: Call, arguments: list[Argument]) -> Any:
    """Dispatches on the types and runs the kernel."""
    function = call.function
    _name_nulls(function, arguments)
    if function.kind != "scalar_aggregate":
        arguments = [joined(a) for a in arguments]
    formats = tuple([a.format or "n" for a in arguments])
    try:
        kernel, wanted = function._dispatch(formats, call.device_type)
    except NoKernel:
        if function.kind != "scalar" or DICTIONARY not in formats:
            raise
        arguments = [decoded(call, a) for a in arguments]
        formats = tuple([a.format or "n" for a in arguments])
        kernel, wanted = function._dispatch(formats, call.device_type)
    if wanted != formats:
        for i, (a, to) in enumerate(zip(arguments, wanted, strict=True)):
            if a.format != to:
                arguments[i] = implicit(call, a, to, arguments)
    call.state = kernel.init(call) if kernel.init else None
    out = kernel.exec(call, *arguments)
    if kernel.finalize:
        out = kernel.finalize(call, out)
    rows = any((a.array is not None and not a.one) or a.chunks for a in arguments)
    if rows and function._fronts and wanted == formats and call.device_type == 1:
        _learn(call, kernel, formats)
    return Scalar(out) if function.kind == "scalar_aggregate" or not rows else out


def _learn(call: Call, kernel: Kernel, formats: tuple[str, ...]) -> None:
    """The next call with such arrays on the CPU, and no options, need not come here."""
    function, exec = call.function, kernel.exec
    if formats in function._learned or DICTIONARY in formats or kernel.init or kernel.finalize:
        return
    if isinstance(exec, Map):
        plan, swap, wrap = exec.plan(formats), exec.swap, None
    elif isinstance(exec, Reduce) and call.options == _made(function.options, {}):
        plan, swap, wrap = exec.plan(call.options), False, Scalar
    else:
        return
    function._learned.add(formats)
    for front in function._fronts:
        _native.compute_learn(front, formats, plan, swap, wrap)


def implicit(call: Call, a: Argument, to: str, others: Sequence[Argument] = ()) -> Argument:
    """An argument cast as Arrow does before a kernel.  Nothing is checked, so nothing is waited for."""
    if a.format == "n":
        alike = next((x.array for x in others if x.format == to and x.array is not None), None)
        return as_type(call, a, to, None if alike is None else alike._schema)
    return cast_argument(call, a, to, False)


NO_OPTIONS: FunctionOptions = NoOptions()
