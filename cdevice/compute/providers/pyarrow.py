"""pyarrow's functions, on the CPU: those that are not built in, and the types that built-in ones have no kernels for.

Nothing is copied on the way in or out, but scalars.  ``CDEVICE_BACKENDS=-pyarrow`` does without.
"""

from __future__ import annotations

from ..._devices import plugins
from ..._runtime.lazy import need
from ...errors import ArgumentError, OutOfMemory
from ...interop.asarray import asarray
from ...schema import Schema, asschema
from ..dispatch.registry import Function, Kernel, Matcher, Signature
from ..dispatch.types import DICTIONARY
from ..errors import IndexOutOfBounds, NoKernel
from ..options import FunctionOptions, NoOptions, SelectKOptions, SortOptions
from ..scalar import Scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..dispatch.call import Call
    from ..dispatch.datum import Datum

PRIORITY = -100
_ANY = Matcher("any", lambda f: True)


def here() -> bool:
    """Is it installed, and not switched off?  Imports nothing."""
    from importlib.util import find_spec

    if plugins.all_off() or plugins.switched_off("pyarrow"):
        return False
    try:
        return find_spec("pyarrow") is not None
    except (ImportError, ValueError):
        return False


def _compute() -> Any:
    return need("pyarrow.compute", "pyarrow")


class PyarrowOptions(FunctionOptions):
    """Options of a function of pyarrow's: its own object, or the fields of it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        if len(args) == 1 and not options and isinstance(args[0], _compute().FunctionOptions):
            self.given = args[0]
        else:
            super().__init__(*args, **options)

    @classmethod
    def from_pyarrow(cls, options: Any, given: Mapping[str, Any], function: str) -> FunctionOptions:
        """pyarrow's own object, as it is."""
        if given:
            raise TypeError(f"{function}: options= and options by name were both given: pass one")
        if type(options).__name__ != cls.__name__:
            raise TypeError(f"{function} takes {cls.__name__}, not pyarrow's {type(options).__name__}")
        return cls(options)


_options: dict[str, type[FunctionOptions]] = {}


def _options_of(f: Any) -> type[FunctionOptions]:
    """The class of options of a function of pyarrow's."""
    name = f._doc.options_class
    theirs = getattr(_compute(), name, None) if name else None
    if theirs is None:
        return NoOptions
    found = _options.get(name)
    if found is None:
        from inspect import signature

        fields = signature(theirs).parameters.values()
        defaults = {p.name: ... if p.default is p.empty else p.default for p in fields}
        body = {"defaults": defaults, "__doc__": f"pyarrow.compute.{name}", "__module__": __name__}
        found = _options.setdefault(name, type(name, (PyarrowOptions,), body))  # one class for all threads
    return found


# ---- in and out ----
def _type(format: str) -> Any:
    import pyarrow as pa

    return pa.field(Schema.make(format)).type


def _is_batch(a: Datum) -> bool:
    return a.array is not None and not a.one and a.array._format == "+s" and not a.array._schema.nullable


def _taken(a: Datum, columns: bool) -> Any:
    """An argument as pyarrow has it; a batch as a column of structs where it is to be one."""
    import pyarrow as pa

    if a.chunks is not None:
        return pa.chunked_array([pa.array(x) for x in a.chunks])
    if a.array is None:
        plain = a.format is None or a.format == DICTIONARY or a.format.startswith("+")
        return pa.scalar(a.value, None if plain else _type(a.format or "n"))
    if a.one:
        return pa.array(a.array)[0]
    return pa.record_batch(a.array) if _is_batch(a) and not columns else pa.array(a.array)


def _given(x: Any) -> Any:
    """A result of pyarrow's: a DeviceArray or a Scalar."""
    import pyarrow as pa

    if isinstance(x, pa.Scalar):
        return Scalar(asarray(pa.repeat(x, 1)))
    if isinstance(x, pa.Table):
        batches = x.combine_chunks().to_batches()
        x = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=x.schema)
    elif isinstance(x, pa.ChunkedArray):
        x = x.combine_chunks() if x.num_chunks != 1 else x.chunk(0)
    return asarray(x)


def _value(x: Any) -> Any:
    """A value of an option."""
    import pyarrow as pa

    if isinstance(x, Scalar):
        return pa.array(x.array.to("cpu"))[0]
    if hasattr(x, "__arrow_c_device_array__") and not isinstance(x, pa.Array):
        return pa.array(asarray(x).to("cpu"))
    if hasattr(x, "__arrow_c_schema__") and not isinstance(x, (pa.DataType, pa.Array)):
        return pa.field(x).type
    return x


def _made(options: FunctionOptions, given: Sequence[Any]) -> Any:
    """Options as pyarrow has them.  ``given``: the arguments."""
    fields: Mapping[str, Any] = vars(options)
    name = type(options).__name__
    if isinstance(options, NoOptions):
        return None
    if "given" in fields:
        return fields["given"]
    theirs = getattr(_compute(), name)
    if name == "CastOptions" and not isinstance(options, PyarrowOptions):
        import pyarrow as pa

        to = pa.field(asschema(fields["target_type"])).type
        return theirs.safe(to) if fields["safe"] else theirs.unsafe(to)
    values = {k: _value(v) for k, v in fields.items()}
    if name == "SetLookupOptions":
        import pyarrow as pa

        found = values["value_set"]
        whole = found if isinstance(found, (pa.Array, pa.ChunkedArray)) else pa.array(found)
        whole = _without_views(_decoded(whole))[1]
        if pa.types.is_null(whole.type):  # nulls of no type
            whole = whole.cast(given[0].type)
        elif _without_width(whole.type) != _without_width(given[0].type):  # theirs casts the set: 2 as bool is true
            raise pa.ArrowNotImplementedError(f"a set of {whole.type} for {given[0].type}")
        values["value_set"] = whole
    if isinstance(options, (SortOptions, SelectKOptions)):
        values = _keys_placed(values)
    return theirs(**values)


def _keys_placed(values: dict[str, Any]) -> dict[str, Any]:
    """Options with sort keys, each with its own null placement where pyarrow has it so: from 25 on.  There an option
    for all keys would replace those of the keys."""
    from inspect import signature

    every = values.get("null_placement", "at_end")
    keys = [(name, order, placement or every) for name, order, placement in values["sort_keys"]]
    if signature(_compute().SortOptions).parameters["null_placement"].default is None:
        return {k: v for k, v in values.items() if k != "null_placement"} | {"sort_keys": keys}
    if any(placement != every for _, _, placement in keys):
        raise ValueError("a null_placement of one sort key needs pyarrow 25 or newer")
    return {**values, "sort_keys": [key[:2] for key in keys]}


def _none(call: Call, args: tuple[Datum, ...], said: str) -> NoKernel:
    return call.function.no_kernel_error([a.format or "n" for a in args], 1, said)


class FunctionProvider:
    """``exec`` of a kernel of pyarrow's; ``chunks`` are taken as they come."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, call: Call, *args: Datum) -> Any:
        if plugins.switched_off("pyarrow"):
            raise _none(call, args, "pyarrow is disabled by CDEVICE_BACKENDS")
        try:
            import pyarrow as pa

            pc = _compute()
        except ImportError as e:
            raise _none(call, args, f"pyarrow cannot be used: {e}") from e
        try:
            return _given(self._call(pc, call, args))
        except (pa.ArrowNotImplementedError, pa.ArrowKeyError) as e:  # of a function that theirs calls, too
            raise _none(call, args, f"pyarrow: {e}") from None
        except (pa.ArrowIndexError, IndexError) as e:
            raise IndexOutOfBounds(f"{self.name}: {e}") from None
        except (pa.ArrowMemoryError, MemoryError) as e:
            raise OutOfMemory(f"{self.name}: pyarrow: {e}") from None
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as e:
            raise ArgumentError(f"{self.name}: pyarrow: {e}") from None

    def _call(self, pc: Any, call: Call, args: tuple[Datum, ...]) -> Any:
        import pyarrow as pa

        given = [_taken(a, False) for a in args]
        if type(call.options).__name__ == "SetLookupOptions":  # their set has no views
            given = [_without_views(x)[1] for x in given]
        if self.name == "find_substring_regex" and _reads_latin1(pc, given[0], call.options):
            raise pa.ArrowNotImplementedError(f"{pa.__version__} reads strings as Latin-1: pip install 'pyarrow>=26'")
        options = _made(call.options, given)
        try:
            return pc.call_function(self.name, given, options)
        except pa.ArrowTypeError:  # few functions take batches; other messages contain all of the data
            if not any(map(_is_batch, args)):
                raise
            given = [_taken(a, True) if _is_batch(a) else x for a, x in zip(args, given)]  # a stream is read once
            return pc.call_function(self.name, given, options)
        except (pa.ArrowNotImplementedError, pa.ArrowKeyError):  # few functions take views, as polars gives them
            to_offsets_layout = [_without_views(x) for x in given]
            if all(a is b for a, b in to_offsets_layout):
                raise
            return pc.call_function(self.name, [b for _, b in to_offsets_layout], options)


_LAYOUTS = {"string_view": "string", "binary_view": "binary"}


def _decoded(x: Any) -> Any:
    """The values of a dictionary or run-end encoded array."""
    import pyarrow as pa

    while isinstance(x.type, (pa.DictionaryType, pa.RunEndEncodedType)):
        x = x.cast(x.type.value_type) if isinstance(x.type, pa.DictionaryType) else _compute().run_end_decode(x)
    return x


def _without_views(x: Any) -> tuple[Any, Any]:
    """(an argument, the same as strings or bytes with offsets where it has views)"""
    import pyarrow as pa

    plain = _LAYOUTS.get(str(getattr(x, "type", "")))
    return x, x if plain is None else x.cast(getattr(pa, plain)())


def _reads_latin1(pc: Any, x: Any, options: Any) -> bool:
    """Would places in strings be wrong?  Before version 26, find_substring_regex takes each byte for a character."""
    if str(x.type) in ("binary", "large_binary", "binary_view") or pc.find_substring_regex("é", "^.$").as_py() == 0:
        return False
    ascii = pc.all(pc.string_is_ascii(_without_views(x)[1]), min_count=0).as_py()
    return not (ascii and options.bytes_of("pattern").isascii())


def _without_width(type: Any) -> str:
    """A type, large or not."""
    return str(type).replace("large_", "")


# ---- what there is ----
def kernel(name: str, arity: int) -> Kernel:
    """pyarrow's kernel for all types."""
    inputs = (_ANY,) * (arity if arity >= 0 else 1)
    return Kernel(
        Signature(inputs, None, arity < 0), FunctionProvider(name), 1, library="pyarrow", priority=PRIORITY, chunks=True
    )


def names() -> list[str]:
    """The functions that pyarrow has and that can be called by themselves."""
    if not here():
        return []
    pc = _compute()
    found = [pc.get_function(n) for n in pc.list_functions()]
    return [f.name for f in found if f.kind != "hash_aggregate" and f.arity != 0]


def function(name: str) -> Function | None:
    """A function of pyarrow as one of cdevice, or None."""
    try:
        f = _compute().get_function(name)
    except (KeyError, ImportError):
        return None
    if f.kind == "hash_aggregate" or f.arity == 0:
        return None
    arity = -2 if f.arity is ... else f.arity
    return Function(name, f.kind, arity, f._doc.summary, _options_of(f), [kernel(name, arity)])
