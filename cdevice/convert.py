"""What becomes a DeviceArray, and how."""

import sys

from ._ext import _native, as_address
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
_numpy = Later("cdevice.interop.numpy")
_parts = Later("cdevice.parts")
_events = Later("cdevice.interop.events")
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


# temporal types are counts: of what integer
_COUNTS = {"tdD": "i", "tdm": "l", "tts": "i", "ttm": "i", "ttu": "l", "ttn": "l", "tiM": "i"}


def _counted_in(f):
    """The format of the integers that a temporal type counts in; None for other types."""
    return _COUNTS.get(f, "l" if f.startswith(("ts", "tD")) else None)


def _same_values(f, g):
    """Do the integers of one type mean the same in the other?  Units are never reinterpreted."""
    return _counted_in(f) == g or _counted_in(g) == f or (f[:2] == g[:2] == "ts" and f[2] == g[2])


def retyped(out, want):
    """Integers as a temporal type that counts in them, or back; timestamps in another zone; else its own type alone.

    Raises ArgumentError for another type: bits are never read as something else.
    """
    if out.schema.equals(want):
        return out
    plain = not (out._n_children or want._n_children or want.dictionary or out.dictionary)
    if not plain or not _same_values(out._format, want.format):
        _require(out, want)
        return out
    return _native.build(
        want,
        out.device_type_id,
        out.device_id,
        out.length,
        out.offset,
        out.null_count,
        (out._buffer(0)[0], out._buffer(1)[0]),
        (),
        None,
        out,
        out.sync_event or None,
        "structure",
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
    sync_event=None,
    validate="structure",
):
    """A DeviceArray over buffers that exist, without a copy.

    ``buffers``: in the order of the Arrow layout; None, objects with the buffer protocol or an array interface, CPU
    tensors of torch (CPU), :class:`Buffer` objects, other libraries' memory (cupy, torch, hip-python, pyopencl,
    cuda-bindings), addresses or handles (int, kept alive by ``owner``).
    ``children``, ``dictionary``: DeviceArrays on the same device, of the types that ``schema`` declares.  ``device``:
    default the CPU.  ``event``: a recorded event of the vendor's library (pyopencl, torch, cupy, hip-python), kept
    alive; ``sync_event`` instead: the address of a variable that holds an event's handle and that ``owner`` keeps.
    ``validate``: with "structure" too, sizes are held against the layout wherever the object tells its size, and
    offsets, indices, type ids, views and null counts against their bounds where the CPU may read them now; "full" adds
    UTF-8; None checks nothing.

    Raises InvalidArray where buffers, lengths and types do not fit; ArgumentError for parts on two devices.
    """
    type_id, number = (1, -1)
    if device is not None:
        place = _device.device(device)
        type_id, number = place.type_id, place.id
    keep, addresses = [] if owner is None else [owner], []
    for b in buffers:
        address, size, held = _parts.part(b, type_id)
        addresses.append(address if size < 0 else (address, size) if address is not None else None)
        if held is not None:
            keep.append(held)
    if event is not None:
        if sync_event is not None:
            raise TypeError("event= and sync_event= both name the event: pass one")
        sync_event, held = _events.cell_of(type_id, event)
        keep.append(held)
    elif sync_event is not None:
        sync_event = as_address(sync_event) or None
    if keep:
        _core.need_reaper()
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
        sync_event,
        validate,
    )
