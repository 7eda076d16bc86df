"""One call of a function: its arguments (Arrow's Datum), its stream, its kernel."""

from __future__ import annotations

from collections.abc import Mapping

from ..._arrays.assemble import assemble, children_of, dictionary_of, parts_of
from ..._devices.backends import current_stream, default_stream_for, ensure_backend, stream_and_owner
from ..._devices.device import Device
from ..._runtime.ext import _native, lib
from ..._runtime.release_thread import ensure_release_thread
from ...errors import ArgumentError
from ..errors import NoKernel
from ..kernels.aggregate import Reduce
from ..kernels.cast.dictionary import dictionary_decode, known_rows, may_be_null
from ..kernels.cast.numeric import cast_argument
from ..kernels.elementwise import Map
from ..kernels.nulls import as_type
from ..kernels.selection.take import both, is_valid, row_numbers
from ..options import FunctionOptions, NoOptions
from ..scalar import Scalar
from .bounded import Bounded
from .datum import ChunkStream, Datum, argument, joined, lone
from .deferred import Deferred, is_foreign, ours
from .fallback import copies_wanted, follows, run_with_fallback, target_array
from .implicit_casts import adapted, filled
from .types import DICTIONARY, common, format_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..._types import DeviceArray, StreamLike
    from .registry import Function, Kernel


class Call:
    """What a kernel knows of the call.

    ``function``: the :class:`Function`; ``options``: an object of its class of options; ``state``: what ``init`` made;
    ``device_type``, ``device_id``: where it computes (1, -1: the CPU); ``stream``: the handle of the stream that its
    work goes to, 0 where the caller named none: the device's own; ``owner``: the object that the stream came from, or
    None.  :meth:`queue` is the handle of that stream in either case.
    """

    __slots__ = ("device_id", "device_type", "function", "options", "owner", "state", "stream")

    def __init__(self, function: Function, options: FunctionOptions, arguments: Sequence[Datum], stream: StreamLike):
        self.function, self.options, self.state = function, options, None
        first = target_array(arguments)
        self.stream: int
        self.owner: object
        if first is None or first.device_type_id == 1:
            self.device_type, self.device_id, self.stream, self.owner = 1, -1, 0, None
            return
        self.device_type, self.device_id = first.device_type_id, first.device_id
        ensure_backend(self.device_type)
        if stream is None:
            stream = default_stream_for(first)
        self.stream, self.owner = stream_and_owner(self.device_type, stream)
        _move_scalars(arguments, first, self.stream)

    def queue(self) -> int:
        """The handle of the stream that work must be put on: cl_command_queue, cudaStream_t, hipStream_t; 0 on the CPU.

        Arguments may be read by later work of this stream, and by nothing else, without a wait."""
        if self.device_type == 1 or self.stream:
            return self.stream
        return current_stream(self.device_type, self.device_id)


def _move_scalars(arguments: Sequence[Datum], first: DeviceArray, stream: int) -> None:
    """Values of the host go where the arrays are."""
    for a in arguments:
        if a.array is not None and follows(a):
            a.array = a.array.to((first.device_type_id, first.device_id))


def options_of(function: Function, options: Any, given: dict[str, Any]) -> FunctionOptions:
    wanted = function.options
    if isinstance(options, wanted):
        if given:
            raise TypeError(f"{function.name}: options= and options by name were both given: pass one")
        options.check()
        return options
    if options is None:
        return _made(wanted, given)
    if isinstance(options, Mapping):
        return wanted(**options, **given)
    if isinstance(options, FunctionOptions):
        if type(options).__name__ == wanted.__name__:  # of a function of the same options elsewhere
            return wanted(**vars(options), **given)
        raise TypeError(f"{function.name} takes {wanted.__name__}, not {type(options).__name__}")
    if type(options).__module__.partition(".")[0] == "pyarrow":
        return wanted.from_pyarrow(options, given, function.name)
    return wanted(options, **given)


_PLAIN = bool, int, str, float, type(None)
# options are values: the same again and again
_known: Bounded[tuple[Any, ...], FunctionOptions] = Bounded(1000)


def _made(wanted: type[FunctionOptions], given: dict[str, Any]) -> FunctionOptions:
    if any(type(v) not in _PLAIN for v in given.values()):  # 1 and True are one key
        return wanted(**given)
    key = (wanted, *[(k, type(v), repr(v) if type(v) is float else v) for k, v in given.items()])  # -0.0 == 0.0
    return _known.get(key) or _known.put(key, wanted(**given))


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
    chosen = NO_OPTIONS if plain else options_of(function, options, given)
    function._check_arity(len(args))
    if any(map(is_foreign, args)):
        args = [*map(ours, args)]
    for x in args:
        if isinstance(x, Deferred):
            if stream is not None or fallback is not None:
                raise TypeError(f"{function.name}: stream= and fallback= are given where an expression is evaluated")
            return x._call(function, args, chosen)
    ensure_release_thread()
    arguments = [argument(x, not function.streams) for x in args]
    return run_arguments(function, chosen, arguments, stream, fallback)


def run_arguments(
    function: Function,
    chosen: FunctionOptions,
    arguments: list[Datum],
    stream: StreamLike = None,
    fallback: str | None = None,
) -> Any:
    """As :func:`run`, of what :func:`argument` made.  The call may change it."""
    if function.compares:
        arguments = adapted(arguments)
    elif function.name == "fill_null":
        arguments = filled(arguments)
    if copies_wanted(fallback):
        return run_with_fallback(function.name, arguments, stream, lambda a, s: _start(function, chosen, a, s))
    return _start(function, chosen, arguments, stream)


def _start(function: Function, options: FunctionOptions, arguments: list[Datum], stream: StreamLike) -> Any:
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


def _name_nulls(function: Function, arguments: Sequence[Datum]) -> None:
    """None is of the type of the other arguments."""
    if all(a.format for a in arguments):
        return
    own = (*function.nulls, *(None,) * len(arguments))
    known = next((a.format for a, f in zip(arguments, own, strict=False) if a.format and not f), "n")
    for a, f in zip(arguments, own, strict=False):
        a.format = a.format or f or known


def execute(call: Call, arguments: list[Datum]) -> Any:
    """Dispatches on the types and runs the kernel, or where that does not want to, the next.

    This is the one place where arguments are converted to the types of a kernel's signature."""
    function = call.function
    arguments = [of_one_type(call, a) if a.mixed else a for a in arguments]
    _name_nulls(function, arguments)
    formats = tuple([a.format or "n" for a in arguments])
    if not _ENCODED.isdisjoint(formats) and not _has_own(function, formats, call.device_type):
        arguments = [_decoded(call, a) for a in arguments]
        formats = tuple([a.format or "n" for a in arguments])
    generation, first = function._generation, None
    for kernel, wanted in function._candidates(formats, call.device_type):
        try:
            return _run_kernel(call, kernel, wanted, formats, arguments, None if first else generation)
        except NoKernel as e:
            first = first or e
    assert first is not None
    raise first


_ENCODED = {DICTIONARY, "+r"}


def _decoded(call: Call, a: Datum) -> Datum:
    """Dictionaries and run-end encoded arrays as their values, chunk by chunk for an aggregate."""
    if a.format not in _ENCODED or a.chunks is None:
        return dictionary_decode(call, a)
    if call.function.kind != "scalar_aggregate":
        return dictionary_decode(call, joined(a))
    if isinstance(a.chunks, ChunkStream):  # as they come: memory does not grow with a stream
        made_later = a.chunks.mapped(lambda x: _values(call, x))
        first = made_later.first
        return Datum(chunks=made_later, format=None if first is None else format_of(first))
    parts = [dictionary_decode(call, Datum(x, format_of(x))) for x in a.chunks]
    made = [p.array for p in parts if p.array is not None]
    return of_one_type(call, Datum(chunks=made, format=parts[0].format))


def _values(call: Call, x: DeviceArray) -> DeviceArray:
    out = dictionary_decode(call, Datum(x, format_of(x))).array
    assert out is not None
    return out


def of_one_type(call: Call, a: Datum) -> Datum:
    """Chunks of several types as those of one, by casts that lose nothing.  Raises ArgumentError, with two of them,
    where there is none."""
    chunks = list(a.chunks or ())
    parts = [dictionary_decode(call, Datum(x, format_of(x))) for x in chunks]
    formats = [p.format or "n" for p in parts]
    known = [f for f in formats if f != "n"]
    one = "n" if not known else known[0] if len(set(known)) == 1 else common(known)
    if one is None or one == DICTIONARY:
        other = next((f for f in known if f != known[0]), known[0])
        raise ArgumentError(
            f"{call.function.name}: chunks of {words_of(known[0])} and {words_of(other)} have no common type: cast one"
        )
    like = next((p.array for p in parts if p.format == one and p.array is not None), None)
    out = [without_loss(call, p, one, like) for p in parts]
    return Datum(chunks=[p.array for p in out if p.array is not None], format=one)


def without_loss(call: Call, a: Datum, to: str, like: DeviceArray | None = None) -> Datum:
    """An argument as another type: every value stays what it is, or ArgumentError tells both types.  ``like``: an array
    of that type, for what a format does not say of it."""
    if a.format == to:
        return a
    if a.format == "n":
        return as_type(call, a, to, None if like is None else like._schema)
    try:
        return cast_argument(call, a, to, True)
    except ArgumentError as e:
        lone_value = a.array is None and a.chunks is None
        name, source = call.function.name, f"{a.value!s:.40}" if lone_value else words_of(a.format or "n")
        raise type(e)(f"{name}: {source} cannot become {words_of(to)} without loss: {e}") from None


def _has_own(function: Function, formats: tuple[str, ...], device: int) -> bool:
    """Is there a kernel for dictionaries as they are, or none but of those that are asked last?"""
    if all(k.priority < 0 for k in function.kernels):
        return True
    try:
        return function._candidates(formats, device)[0][0].priority >= 0
    except NoKernel:
        return False


def _run_kernel(
    call: Call,
    kernel: Kernel,
    wanted: tuple[str, ...],
    formats: tuple[str, ...],
    given: Sequence[Datum],
    generation: int | None,
) -> Any:
    """``generation``: of the function's kernels, of which this is the first that was asked; None: another was
    before."""
    function = call.function
    aggregate = function.kind == "scalar_aggregate"
    arguments = list(given) if aggregate or kernel.chunks else [joined(a) for a in given]
    if wanted != formats:
        for i, (a, to) in enumerate(zip(arguments, wanted, strict=True)):
            if a.format != to:
                like = next((x.array for x in arguments if x.format == to and x.array is not None), None)
                arguments[i] = without_loss(call, a, to, like)
    if aggregate and kernel.library == "cdevice":
        arguments = [lone(call, a) if a.array is None and a.chunks is None else a for a in arguments]
    call.state = kernel.init(call) if kernel.init else None
    out = kernel.exec(call, *arguments)
    if kernel.finalize:
        out = kernel.finalize(call, out)
    rows = any((a.array is not None and not a.one) or a.chunks is not None for a in arguments)
    if generation is not None and rows and function._fast_calls and wanted == formats and call.device_type == 1:
        _cache_dispatch(call, kernel, formats, generation)
    if kernel.library != "cdevice":
        _require_result(call, kernel, wanted, arguments, out)
    if kernel.null_handling == "intersection":
        out = _intersected(call, out, arguments)
    alone = not isinstance(out, Scalar) and (aggregate or not rows)
    return Scalar(out) if alone else out


def _require_result(call: Call, kernel: Kernel, formats: tuple[str, ...], arguments: Sequence[Datum], out: Any) -> None:
    """Compares the result of a third-party kernel with its declared type and length.  Raises TypeError, ValueError."""
    function = call.function
    who = f"{function.name}: the kernel {kernel}"
    array = out.array if isinstance(out, Scalar) else out
    if not isinstance(array, _native.Array):
        raise TypeError(f"{who} returned {type(out).__name__}: a kernel must return a DeviceArray or a Scalar")
    kinds = array.device_type_id, call.device_type
    if array._n_buffers and kinds[0] != kinds[1] and not all(map(lib.cdv_is_host_accessible, kinds)):
        here, there = Device(call.device_type, call.device_id), Device(array.device_type_id, array.device_id)
        raise TypeError(f"{who} returned an array on {there}, the arguments are on {here}")
    declared = kernel.signature.out
    if declared is not None and not isinstance(declared, str):
        declared = declared(formats)
        if not isinstance(declared, str):
            raise TypeError(f"{who}: out() returned {type(declared).__name__}, expected an Arrow format")
    found = format_of(array)  # type: ignore[arg-type]
    if declared is not None and found != declared:
        raise TypeError(f"{who} returned {words_of(found)}, but it declares {words_of(declared)}")
    lengths = [a.array.length for a in arguments if a.array is not None and not a.one]
    wanted = 1 if function.kind == "scalar_aggregate" else lengths[0] if lengths and function.kind == "scalar" else None
    if wanted is not None and (
        array.length != wanted or (isinstance(out, Scalar) and lengths and function.kind == "scalar")
    ):
        what = "one value" if isinstance(out, Scalar) else f"{array.length} rows"
        raise ValueError(f"{who} returned {what}, expected {wanted} rows")


def _intersected(call: Call, out: Any, arguments: Sequence[Datum]) -> Any:
    """A result whose rows are null where one of an argument is."""
    array = out.array if isinstance(out, Scalar) else out
    nullable = [
        a for a in arguments if (a.value is None if a.array is None else a.format == "n" or may_be_null(a.array))
    ]
    if not nullable or array._format == "n":
        return out
    if array._format[:2] in ("+u", "+r"):
        raise TypeError(
            f"{call.function.name}: rows of a {array._schema.type} have no bitmap that could take nulls: "
            'add_kernel(null_handling="computed") for a kernel that computes its own nulls'
        )
    bits = [Datum(known_rows(call, a.array), "b", one=a.one) if a.array is not None else _NEVER for a in nullable]
    if array._n_buffers and array._buffer(0)[0] is not None:
        bits.append(Datum(known_rows(call, array), "b"))
    if all(b.array is None or b.one for b in bits):
        bits.append(Datum(_all_known(call, array), "b"))
    known = bits[0]
    for other in bits[1:]:
        known = Datum(both(call, known, other), "b", one=known.one and other.one)
    if array.offset:
        array = array.to(array.device, copy=True, stream=call.owner if call.owner is not None else None)
    assert known.array is not None
    made = assemble(
        array._schema, array.length, [(known.array, 1), *parts_of(array, 1)], children_of(array), dictionary_of(array)
    )
    return Scalar(made) if isinstance(out, Scalar) else made


_NEVER = Datum(value=False, format="b")


def _all_known(call: Call, array: DeviceArray) -> DeviceArray:
    return is_valid(call, Datum(row_numbers(call, array), "l"))


def _cache_dispatch(call: Call, kernel: Kernel, formats: tuple[str, ...], generation: int) -> None:
    """The next call with such arrays on the CPU, and no options, need not come here."""
    function, exec = call.function, kernel.exec
    if DICTIONARY in formats or kernel.init or kernel.finalize:
        return
    if isinstance(exec, Map):
        plan, swap, wrap = exec.plan(formats), exec.swap, None
    elif isinstance(exec, Reduce) and call.options == _made(function.options, {}):
        plan, swap, wrap = exec.plan(call.options), False, Scalar
    else:
        return
    for front in function._fast_calls:
        _native.compute_learn(front, generation, formats, plan, swap, wrap)


NO_OPTIONS: FunctionOptions = NoOptions()
