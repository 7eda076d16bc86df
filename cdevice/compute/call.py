"""One call of a function: its arguments (Arrow's Datum), its stream, its kernel."""

from __future__ import annotations

from .._devices.registry import need_backend, stream_and_owner, stream_near
from .._ext import _native
from .._reaper import need_reaper
from .aggregate import Reduce
from .argument import Argument, argument, joined
from .casts import cast_argument
from .convert import decoded
from .copies import copies_wanted, placed, with_copies
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
        first = placed(arguments)
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
        if type(options).__name__ == wanted.__name__:  # of a function of the same options elsewhere
            return wanted(**vars(options), **given)
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


def run(
    function: Function,
    args: Sequence[Any],
    options: Any,
    stream: StreamLike,
    given: dict[str, Any],
    fallback: str | None = None,
) -> Any:
    """Calls a function: a DeviceArray, or a Scalar where no argument has rows or it gives one row."""
    plain = options is None and not given and function.options is NoOptions
    chosen = NO_OPTIONS if plain else _options(function, options, given)
    function._check_arity(len(args))
    need_reaper()
    arguments = [argument(x, function.kind != "scalar_aggregate") for x in args]
    if copies_wanted(fallback):
        return with_copies(function.name, arguments, stream, lambda a, s: _start(function, chosen, a, s))
    return _start(function, chosen, arguments, stream)


def _start(function: Function, options: FunctionOptions, arguments: list[Argument], stream: StreamLike) -> Any:
    call = Call(function, options, arguments, stream)
    if function.meta is None:
        return execute(call, arguments)
    try:
        return function.meta(call, arguments)
    except NoKernel as e:
        if call.device_type != 1 or not function.kernels:
            raise
        first = e
    call.function = function
    try:
        return execute(call, arguments)
    except NoKernel:
        raise first from None


def _name_nulls(function: Function, arguments: Sequence[Argument]) -> None:
    """None is of the type of the other arguments."""
    if all(a.format for a in arguments):
        return
    own = (*function.nulls, *(None,) * len(arguments))
    known = next((a.format for a, f in zip(arguments, own, strict=False) if a.format and not f), "n")
    for a, f in zip(arguments, own, strict=False):
        a.format = a.format or f or known


def execute(call: Call, arguments: list[Argument]) -> Any:
    """Dispatches on the types and runs the kernel, or where that does not want to, the next."""
    function = call.function
    _name_nulls(function, arguments)
    formats = tuple([a.format or "n" for a in arguments])
    if DICTIONARY in formats and not _has_own(function, formats, call.device_type):
        arguments = [decoded(call, joined(a)) for a in arguments]
        formats = tuple([a.format or "n" for a in arguments])
    first = None
    for kernel, wanted in function._ranked(formats, call.device_type):
        try:
            return _run_kernel(call, kernel, wanted, formats, arguments)
        except NoKernel as e:
            first = first or e
    assert first is not None
    raise first


def _has_own(function: Function, formats: tuple[str, ...], device: int) -> bool:
    """Is there a kernel for dictionaries as they are, or none but of those that are asked last?"""
    if function.kind != "scalar" or all(k.priority < 0 for k in function.kernels):
        return True
    try:
        return function._ranked(formats, device)[0][0].priority >= 0
    except NoKernel:
        return False


def _run_kernel(
    call: Call, kernel: Kernel, wanted: tuple[str, ...], formats: tuple[str, ...], given: Sequence[Argument]
) -> Any:
    function = call.function
    if function.kind == "scalar_aggregate" or kernel.chunks:
        arguments = list(given)
    else:
        arguments = [joined(a) for a in given]
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
    lone = not isinstance(out, Scalar) and (function.kind == "scalar_aggregate" or not rows)
    return Scalar(out) if lone else out


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
