"""numpy arrays in and out."""

from __future__ import annotations

from .._arrays.buffer_access import share, view
from .._arrays.formats import FORMATS
from .._arrays.from_buffers import from_buffers
from .._runtime.ext import _native
from .._runtime.lazy import need
from ..schema import UNIT_LETTERS, UNITS, Schema
from .fixed_shape_tensor import nested, values_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy

    from .._types import DeviceArray
else:
    numpy = need("numpy", "numpy")

# passed as they are, without a look at their values
_PLAIN = {v: numpy.dtype(k) for k, v in FORMATS.items()}


def format_of(dtype: Any) -> str | None:
    """Arrow format of a numpy dtype whose bytes can be used as they are; None: there is none."""
    if dtype.kind in "iuf" and dtype.isnative:
        return FORMATS.get(dtype.str[1:])
    if dtype.kind in "mM" and dtype.isnative:
        unit, count = numpy.datetime_data(dtype)
        if count == 1 and unit in UNIT_LETTERS:
            return f"ts{UNIT_LETTERS[unit]}:" if dtype.kind == "M" else f"tD{UNIT_LETTERS[unit]}"
    if dtype.kind == "V" and dtype.type is numpy.void and dtype.fields is None and dtype.itemsize:
        return f"w:{dtype.itemsize}"
    return None


def from_numpy(array: Any, schema: Schema | None = None, *, copy: bool | None = None) -> DeviceArray:
    """A numpy array as a DeviceArray.

    One-dimensional contiguous numbers, datetimes and void bytes are taken without a copy and kept alive; NaT becomes
    null; n dimensions become nested fixed-size lists; bool, strings, strided and foreign-endian data are converted.
    A structured array becomes a struct, a masked array keeps its mask as nulls, one of a structured array as nulls of
    the fields.  copy=False raises where a copy is needed.
    """
    if array.ndim == 0:
        raise TypeError("a zero-dimensional numpy array has no rows")
    mask: Any = None
    masked = isinstance(array, numpy.ma.MaskedArray)
    if masked and array.ndim == 1 and not array.dtype.fields:
        mask = numpy.ma.getmaskarray(array)
        array = array.data
        masked = False
    if type(array) is not numpy.ndarray and not masked:  # a matrix always has two dimensions
        array = array.view(numpy.ndarray)
    if array.ndim > 1:
        if not array.flags.c_contiguous:
            array = _copied(array, copy, "its memory is not contiguous")
        return nested(from_numpy(array.reshape(-1), copy=copy), array.shape)
    if array.dtype.fields:
        names = array.dtype.names
        children = [from_numpy(array[n], copy=copy) for n in names]
        fields = [c.schema.with_name(n) for n, c in zip(names, children)]
        return from_buffers(Schema.make("+s", children=fields), len(array), [None], null_count=0, children=children)
    if array.dtype.kind in "OUST" or (schema is not None and array.dtype.kind not in "biufmM"):
        if copy is False:
            raise ValueError(f"numpy {array.dtype} cannot become Arrow without a copy")
        values = array.tolist()
        if mask is not None:
            values = [None if m else v for v, m in zip(values, mask.tolist())]
        from .._values.from_python import from_list

        return from_list(values, schema)
    if array.dtype.kind == "M" and numpy.datetime_data(array.dtype)[0] == "D":
        days = _copied(array, copy, "dates have 8 bytes in numpy").astype("i8")
        nulls = numpy.isnat(array) if mask is None else mask | numpy.isnat(array)
        days[numpy.isnat(array)] = 0
        return _primitive(days.astype("i4"), "tdD", nulls)
    if array.dtype.kind in "mM":
        nat = numpy.isnat(array)
        if nat.any():
            mask = nat if mask is None else mask | nat
    if array.dtype.kind == "b":
        if copy is False:
            raise ValueError("copy=False is impossible: numpy bool uses a byte for each value, Arrow a bit")
        return _primitive(numpy.packbits(array, bitorder="little"), "b", mask, len(array))
    if not array.dtype.isnative:
        array = _copied(array, copy, "its bytes are swapped").astype(array.dtype.newbyteorder("="))
    format = format_of(array.dtype)
    if format is None:
        raise TypeError(f"numpy {array.dtype} has no Arrow type{_remedy(array.dtype)}")
    if not array.flags.c_contiguous or not array.flags.aligned:
        array = _copied(array, copy, "its memory is not contiguous")
    elif copy:
        array = array.copy()
    return _primitive(array, format, mask)


# numpy's units that Arrow has not, and those that have the same moments
_COARSE = {"M": {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}, "m": {"W": "s", "D": "s", "h": "s", "m": "s"}}
_FINE = {"ps": 10**3, "fs": 10**6, "as": 10**9}  # of a nanosecond


def in_arrow_unit(array: Any) -> Any:
    """numpy's times in a unit that Arrow has: the same moments.  Raises ValueError where one is none of nanoseconds."""
    kind = array.dtype.kind
    unit, count = numpy.datetime_data(array.dtype)
    if len(array) and numpy.isnat(array).all():  # of any unit, or of none
        known = unit in ("D", "s", "ms", "us", "ns")[kind == "m" :]
        return numpy.full(len(array), "NaT", f"{kind}8[{unit if known else _COARSE[kind].get(unit, 's')}]")
    to = _COARSE[kind].get(unit, unit)
    if unit in _FINE:
        known = array[~numpy.isnat(array)].astype("i8") * count
        if (known % _FINE[unit]).any():
            raise ValueError(f"numpy {array.dtype} is finer than the nanoseconds of Arrow")
        to = "ns"
    if to == unit and count == 1:
        return array
    made = array.astype(f"{kind}8[{to}]")
    if (made.astype(array.dtype) != array)[~numpy.isnat(array)].any():
        raise ValueError(f"numpy {array.dtype} has moments that {to} of 64 bits do not reach")
    return made


def times_of(values: Any) -> Any:
    """A list of numpy's datetimes or timedeltas, None among them as NaT, as an array in a unit that Arrow has.

    None: it is no such list."""
    kinds = {getattr(getattr(v, "dtype", None), "kind", "") for v in values if v is not None}
    if len(kinds) != 1 or not kinds <= {"m", "M"}:
        return None
    # NaT is set afterwards: numpy 2.5 warns of one without a unit, and 2.2 makes 0 of one in a coarser unit
    some = next(v for v in values if v is not None)
    array = numpy.array([some if v is None else v for v in values])
    missing = numpy.array([v is None or (v.ndim == 0 and numpy.isnat(v)) for v in values])
    if missing.any():
        array[missing] = "NaT"
    return in_arrow_unit(array)


def _remedy(dtype: Any) -> str:
    """What to do with numbers that Arrow does not know, bfloat16 for one."""
    return f": array.view('u{dtype.itemsize}') passes its bits" if dtype.itemsize in (1, 2, 4, 8) else ""


def _copied(array: Any, copy: bool | None, why: Any) -> Any:
    if copy is False:
        raise ValueError(f"the numpy array must be copied: {why}")
    return numpy.array(array, order="C")


def _primitive(array: Any, format: str, mask: Any = None, length: int | None = None) -> DeviceArray:
    validity = None
    if mask is not None and mask.any():
        validity = numpy.packbits(~mask, bitorder="little")
    length = len(array) if length is None else length
    nulls = int(mask.sum()) if validity is not None else 0
    return from_buffers(
        Schema.make(format),
        length,
        [validity, array.view("u1") if array.dtype.kind in "mM" else array],
        null_count=nulls,
    )


def _shared(a: DeviceArray, dtype: Any) -> Any:
    """The rows of a fixed-width array, read-only."""
    if not a.length:
        return numpy.empty(0, dtype)
    data = view(a, 1)
    return numpy.frombuffer(data, dtype=dtype, count=a.length, offset=a.offset * dtype.itemsize)


def dtype_of(a: DeviceArray) -> Any:
    """The dtype of what :func:`to_numpy` gives where no value is null."""
    f = a._format
    while f.startswith("+w:"):
        a = a._raw_child(0)
        f = a._format
    if a._schema.dictionary is not None:
        return numpy.dtype(object)
    return _PLAIN.get(f) or _temporal_dtype(f) or numpy.dtype(bool if f == "b" else object)


def _temporal_dtype(f: str) -> Any:
    """datetime64 or timedelta64 of a format; None: numpy has none, as for times of day and with a zone."""
    if f in ("tdD", "tdm"):
        return numpy.dtype("M8[D]" if f == "tdD" else "M8[ms]")
    if f.startswith("tD") or (f.startswith("ts") and not f[4:]):
        return numpy.dtype(f"{'M' if f[1] == 's' else 'm'}8[{UNITS[f[2]]}]")
    return None


def _bits(a: DeviceArray, i: int) -> Any:
    """Buffer ``i`` of the rows as bools, a copy."""
    raw = numpy.frombuffer(view(a, i), "u1")
    return numpy.unpackbits(raw, count=a.offset + a.length, bitorder="little")[a.offset :].view(bool)


def _with_nan(a: DeviceArray, values: Any) -> Any:
    """A copy of numbers or times with NaN or NaT where they are null."""
    missing = ~_bits(a, 0)
    if values.dtype.kind in "iu":
        known = values[~missing]  # as integers: 2**53 + 1 is 2**53 as a float
        if values.dtype.itemsize == 8 and (
            (known > 2**53).any() or (values.dtype.kind == "i" and (known < -(2**53)).any())
        ):
            raise ValueError(f'values of {a.type} beyond 2**53 are not exact as floats with NaN: pass nulls="object"')
        values = values.astype("f8")
    else:
        values = values.copy()
    values[missing] = "NaT" if values.dtype.kind in "mM" else numpy.nan
    return values


def to_numpy(a: DeviceArray, nulls: str | None = None, copy: bool | None = None) -> Any:
    """See DeviceArray.to_numpy."""
    if copy not in (None, True, False):
        raise ValueError(f"copy must be True, False or None, not {copy!r}")
    out = _to_numpy(a, nulls)
    if copy and not out.flags.writeable:
        return out.copy()
    if copy is False and out.flags.writeable and out.size:  # views are read-only
        raise ValueError(f"{a.type} has no zero-copy numpy form: copy=False is impossible")
    return out


def _to_numpy(a: DeviceArray, nulls: str | None) -> Any:
    if nulls not in (None, "object", "nan"):
        raise ValueError(f'nulls must be "object", "nan" or None, not {nulls!r}')
    a = share(a)  # released meanwhile or afterwards, the values stay
    a._readable("to_numpy()")
    f = a._format
    if a._schema.dictionary is None:
        out = _as_numbers(a, f, nulls)
        if out is not None:
            return out
    values = a.to_pylist()
    objects: Any = numpy.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def _as_numbers(a: DeviceArray, f: str, nulls: str | None) -> Any:
    """The rows in a dtype of their own; None: they are objects."""
    if f.startswith("+w:"):
        values, shape, _ = values_of(a)
        out = _to_numpy(values, nulls) if not a.null_count else None
        return None if out is None or out.dtype == object or _null_inside(a) else out.reshape(shape)
    plain, temporal = _PLAIN.get(f), _temporal_dtype(f)
    if plain is None and temporal is None:
        return _bits(a, 1) if f == "b" and a.null_count == 0 and a.length else None
    if a.null_count and (nulls == "object" or (nulls is None and plain is not None and plain.kind != "f")):
        return None
    if f in ("tdD", "tdm"):
        if nulls == "object":
            return None
        out = _shared(a, numpy.dtype("i4" if f == "tdD" else "i8")).astype(temporal)
    else:
        out = _shared(a, plain or temporal)
    return _with_nan(a, out) if a.null_count and a.length else out


def _null_inside(a: DeviceArray) -> bool:
    """Is a list null, of those below the top?"""
    a = a._child(0)
    while a._format.startswith("+w:"):
        if a.null_count:
            return True
        a = a._child(0)
    return False


_native.set_ndarray(numpy.ndarray)  # from now on C makes arrays of what can be used as it is
