"""What becomes a DeviceArray, and how."""

import sys

from ._ext import _native, as_address, ffi
from ._later import Later
from .array import DeviceArray
from .schema import Schema, asschema

_device = Later("cdevice._device")
_core = Later("cdevice._core")
_cuda = Later("cdevice.interop.cuda")
_dlpack = Later("cdevice.interop.dlpack")
_encode = Later("cdevice.encode")
_formats = Later("cdevice.interop.formats")
_frames = Later("cdevice.interop.frames")
_memory = Later("cdevice.memory")
_numpy = Later("cdevice.interop.numpy")
_pyopencl = Later("cdevice.interop.pyopencl")
_stream = Later("cdevice.stream")

import_capsules = _native.import_capsules

# exact type -> function(object): a DeviceArray of it as it is, or None; entered by the module that knows the type
MAKERS = {}


def import_from_c(array, schema, validate="structure"):
    """A DeviceArray from the addresses of an ArrowDeviceArray and an ArrowSchema (int or cffi pointer).

    Moves out of both structs (their ``release`` becomes NULL); on an error they are untouched.
    """
    return _native.import_structs(as_address(schema), as_address(array), validate)


def asarray(obj, *, schema=None, device=None, stream=None, copy=None, validate="structure"):
    """A :class:`DeviceArray` of ``obj``, without a copy wherever that is possible.

    Takes what has ``__arrow_c_device_array__`` or ``__arrow_c_array__``, numpy arrays, pyopencl arrays and buffers,
    what has ``__cuda_array_interface__`` (cupy, numba, torch) or ``__dlpack__``, tables and columns that are Arrow
    streams of one array (polars, pandas, duckdb, pyarrow; for more see :func:`asstream`),
    objects with the buffer protocol, and Python lists (with ``schema``, else the type follows from the values).
    ``schema``: see :func:`asschema`; a request to Arrow producers, an instruction for lists.  ``device``: where the
    result shall be; the data moves there if it is elsewhere, on
    ``stream`` of that device.  ``copy``: None copies when needed, True always, False never (ValueError).  ``validate``:
    "structure", "full" or None, see :meth:`DeviceArray.validate`.

    Does not wait for the producer's event: the result carries it.  Raises InvalidArray, TypeError, ValueError.
    """
    if validate not in ("structure", "full", None):
        raise ValueError(f'validate is "structure", "full" or None, not {validate!r}')
    if schema is None and device is None and not copy:
        maker = MAKERS.get(type(obj))
        out = maker and maker(obj)
        if out is not None:
            return out
    want = None if schema is None else asschema(schema)
    out, fresh = _from_object(obj, want, copy, validate)
    if device is None:
        if copy and not fresh:
            return out.to(out.device, stream=stream, copy=True)
        return out
    target = _device.device(device)
    if copy is False and target != out.device:
        raise ValueError(f"the data is on {out.device}: copy=False cannot bring it to {target}")
    return out.to(target, stream=stream, copy=True if copy and not fresh else None)


def _from_object(obj, want, copy, validate):
    """(DeviceArray, was it copied?)"""
    if isinstance(obj, DeviceArray):
        if want is not None:
            _require(obj, want)
        return obj, False
    for name in ("__arrow_c_device_array__", "__arrow_c_array__"):
        method = getattr(obj, name, None)
        if method is not None:
            # without a keyword where none is needed: some producers take none
            pair = method() if want is None else method(requested_schema=want.__arrow_c_schema__())
            out = _native.import_capsules(*pair, validate)
            if want is not None:
                _require(out, want)
            return out, False
    if type(obj).__module__.split(".")[0] == "numpy" and hasattr(obj, "__array_interface__") and hasattr(obj, "dtype"):
        out = _numpy.from_numpy(obj, want, copy=copy)
        return (out if want is None else retyped(out, want)), bool(copy)
    if type(obj).__module__.split(".")[0] == "pyopencl":
        return _pyopencl.from_pyopencl(obj, want), False
    if hasattr(obj, "__cuda_array_interface__"):
        return _cuda.import_interface(obj, want), False
    if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__"):
        return _dlpack.from_dlpack(obj, want, validate, copy)
    if not isinstance(obj, (list, tuple, range, bytes, bytearray, memoryview)):
        method = _frames.stream_method(obj)
        if method is not None:
            return _frames.only_array(_stream.stream_of(method, want, validate), type(obj).__name__), False
    if isinstance(obj, (list, tuple, range)):
        if copy is False:
            raise ValueError("a list cannot become an array without a copy")
        return _encode.from_list(list(obj), want), True
    try:
        data = memoryview(obj)
    except TypeError:
        raise TypeError(
            f"{type(obj).__name__} cannot become an array: it is no Arrow object, numpy array, buffer or list"
        ) from None
    return _from_memory(obj, data, want, copy), bool(copy)


def _require(out, want):
    if not out.schema.equals(want) and out.type != want.type:
        from .errors import ArgumentError

        raise ArgumentError(f"the data is {out.type}, not {want.type}; nothing is converted here")


def retyped(out, want):
    """A primitive array under another type of the same width (int64 as timestamp), or as its own."""
    if out.schema.equals(want):
        return out
    if (
        out._n_children
        or want._n_children
        or want.dictionary
        or out._n_buffers != 2
        or "b" in (out._format, want.format)
    ):
        _require(out, want)

    def width(f):
        if f in _formats.DTYPES:
            return int(_formats.DTYPES[f][1:])
        return {"tdD": 4, "tdm": 8, "tts": 4, "ttm": 4, "tiM": 4, "tiD": 8, "tin": 16}.get(f, 8 if f[0] == "t" else 0)

    if width(out._format) != width(want.format) or not width(want.format):
        _require(out, want)
    pair = out._buffer(0), out._buffer(1)
    return _native.build(
        want, 1, -1, out.length, out.offset, out.null_count, (pair[0][0], pair[1][0]), (), None, out, None, "structure"
    )


_MEMORY_FORMATS = {
    "b": "c",
    "B": "C",
    "h": "s",
    "H": "S",
    "i": "i",
    "I": "I",
    "q": "l",
    "Q": "L",
    "e": "e",
    "f": "f",
    "d": "g",
}


def _from_memory(obj, data, want, copy):
    code = data.format.lstrip("@=" + ("<" if sys.byteorder == "little" else ">"))
    if code in ("l", "L", "n", "N"):  # C's long and size_t: what they are here
        code = {4: "i", 8: "q"}[data.itemsize]
        code = code.upper() if data.format[-1] in "LN" else code
    if code not in _MEMORY_FORMATS or data.ndim != 1 or not data.c_contiguous:
        raise TypeError(
            f"a buffer of format {data.format!r} with {data.ndim} dimensions; one contiguous dimension is taken"
        )
    if copy:
        obj = bytes(data)
    out = from_buffers(Schema.make(_MEMORY_FORMATS[code]), data.nbytes // data.itemsize, [None, obj], null_count=0)
    return out if want is None else retyped(out, want)


# ---- from parts ----
def from_buffers(
    schema,
    length,
    buffers,
    *,
    null_count=-1,
    offset=0,
    children=(),
    dictionary=None,
    device=None,
    owner=None,
    event=None,
    validate="structure",
):
    """A DeviceArray over buffers that exist, without a copy.

    ``buffers``: in the order of the Arrow layout; objects with the buffer protocol (CPU), addresses or handles (int,
    kept alive by ``owner``), other libraries' memory objects (cupy, hip-python, pyopencl, cuda-bindings), or None.
    ``children``, ``dictionary``: DeviceArrays on the same device.  ``device``: default the CPU.  ``event``: address of
    a recorded event of that device, in memory that ``owner`` keeps.
    Raises InvalidArray where buffers, lengths and type do not fit, ArgumentError for parts on two devices.
    """
    type_id, number = (1, -1)
    if device is not None:
        place = _device.device(device)
        type_id, number = place.type_id, place.id
    keep, addresses = [] if owner is None else [owner], []
    for b in buffers:
        if b is None or isinstance(b, int):
            addresses.append(b)
            continue
        if type_id != 1:
            addresses.append(_memory.address_of(b))
            keep.append(b)
            continue
        memory, address = address_of_buffer(b)
        keep.append(memory)
        addresses.append(address)
    if keep:
        _core.need_reaper()
    if event is not None:
        event = as_address(event) or None
    return _native.build(
        asschema(schema),
        type_id,
        number,
        length,
        offset,
        null_count,
        tuple(addresses),
        tuple(children),
        dictionary,
        tuple(keep) if keep else None,
        event,
        validate,
    )


_zeros = ffi.new("char[64]")
_empty = int(ffi.cast("uintptr_t", _zeros))


_from_buffer, _cast, _uintptr = ffi.from_buffer, ffi.cast, ffi.typeof("uintptr_t")


def address_of_buffer(obj):
    """(what holds the export of its buffer protocol, the address)"""
    memory = _from_buffer(obj)
    # an empty buffer has no address of its own, and a missing one would be refused
    return memory, int(_cast(_uintptr, memory)) or _empty
