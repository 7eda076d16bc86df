"""numpy arrays in and out."""

from ..buffer import view

_FORMATS = {
    "i1": "c",
    "u1": "C",
    "i2": "s",
    "u2": "S",
    "i4": "i",
    "u4": "I",
    "i8": "l",
    "u8": "L",
    "f2": "e",
    "f4": "f",
    "f8": "g",
}
_DTYPES = {v: k for k, v in _FORMATS.items()}
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}


def _format_of(dtype):
    """Arrow format of a numpy dtype whose bytes can be used as they are; None: there is none."""
    if dtype.kind in "iuf" and dtype.isnative:
        return _FORMATS.get(dtype.str[1:])
    if dtype.kind in "mM" and dtype.isnative:
        import numpy

        unit, count = numpy.datetime_data(dtype)
        if count == 1 and unit in _UNITS:
            return f"ts{_UNITS[unit]}:" if dtype.kind == "M" else f"tD{_UNITS[unit]}"
    if dtype.kind == "V" and dtype.fields is None and dtype.itemsize:
        return f"w:{dtype.itemsize}"
    return None


def from_numpy(array, schema=None, *, copy=None):
    """A numpy array as a DeviceArray.

    One-dimensional contiguous numbers, datetimes and void bytes are taken without a copy and kept alive; NaT becomes
    null; n dimensions become nested fixed-size lists; bool, strings, strided and foreign-endian data are converted.
    A structured array becomes a struct, a masked array keeps its mask as nulls.  copy=False raises where a
    copy is needed.
    """
    import numpy

    from ..convert import from_buffers
    from ..schema import Schema

    if array.ndim == 0:
        raise TypeError("a zero-dimensional numpy array has no rows")
    mask = None
    if isinstance(array, numpy.ma.MaskedArray):
        mask = numpy.ma.getmaskarray(array)
        array = array.data
        if array.ndim != 1:
            raise TypeError("masked arrays of more than one dimension cannot be taken")
    if array.ndim > 1:
        if not array.flags.c_contiguous:
            array = _copied(array, copy, "its memory is not contiguous")
        from .tensor import nested

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
        from ..encode import from_list

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
            raise ValueError("numpy bool has a byte a value, Arrow a bit: copy=False is impossible")
        return _primitive(numpy.packbits(array, bitorder="little"), "b", mask, len(array))
    if not array.dtype.isnative:
        array = _copied(array, copy, "its bytes are swapped").astype(array.dtype.newbyteorder("="))
    format = _format_of(array.dtype)
    if format is None:
        raise TypeError(f"numpy {array.dtype} has no Arrow type")
    if not array.flags.c_contiguous or not array.flags.aligned:
        array = _copied(array, copy, "its memory is not contiguous")
    elif copy:
        array = array.copy()
    return _primitive(array, format, mask)


def _copied(array, copy, why):
    if copy is False:
        raise ValueError(f"the numpy array must be copied: {why}")
    import numpy

    return numpy.array(array, order="C")


def _primitive(array, format, mask=None, length=None):
    import numpy

    from ..convert import from_buffers
    from ..schema import Schema

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


def to_numpy(a):
    """See DeviceArray.to_numpy."""
    import numpy

    a._readable("to_numpy()")
    f = a._format
    if f.startswith("+w:"):
        from .tensor import values_of

        values, shape, nulls = values_of(a)
        out = None if nulls else to_numpy(values)
        if out is not None and out.dtype != object:
            return out.reshape(shape)
    dtype = None
    if a._schema.dictionary is None:
        dtype = _DTYPES.get(f)
        if f.startswith(("ts", "tD")) and (f.startswith("tD") or not f[4:]):
            unit = {"s": "s", "m": "ms", "u": "us", "n": "ns"}[f[2]]
            dtype = f"{'M' if f[1] == 's' else 'm'}8[{unit}]"
    if dtype is not None and a.null_count == 0:
        dtype = numpy.dtype(dtype)
        data = view(a, *a._buffer(1))
        return (
            numpy.frombuffer(data, dtype=dtype, count=a.length, offset=a.offset * dtype.itemsize)
            if a.length
            else numpy.empty(0, dtype)
        )
    values = a.to_pylist()
    out = numpy.empty(len(values), dtype=object)
    out[:] = values
    if f == "b" and a.null_count == 0:
        return out.astype(bool)
    return out
