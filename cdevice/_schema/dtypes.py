"""Types of numpy's dtypes."""

from __future__ import annotations

from . import UNIT_LETTERS
from .node import make
from .parse import parse
from .type_names import WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..schema import Schema


def from_dtype(obj: Any) -> Schema:
    """Of a numpy dtype or scalar type: what arrays of it become."""
    import numpy

    dtype = numpy.dtype(obj)
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        out = from_dtype(base)
        for n in reversed(shape):
            out = make(f"+w:{n}", children=[out.with_name("item")])
        return out
    if dtype.fields:
        return make("+s", children=[from_dtype(dtype.fields[n][0]).with_name(n) for n in dtype.names])
    words = {
        "b": "bool",
        "i": f"int{8 * dtype.itemsize}",
        "u": f"uint{8 * dtype.itemsize}",
        "U": "string",
        "S": "binary",
    }
    words["f"] = f"float{8 * dtype.itemsize}"
    if dtype.kind in "mM":
        unit = numpy.datetime_data(dtype)[0]
        if dtype.kind == "M" and unit == "D":
            return parse("date32")
        if unit in UNIT_LETTERS:
            return parse(f"{'timestamp' if dtype.kind == 'M' else 'duration'}[{unit}]")
    if dtype.kind == "V" and dtype.type is numpy.void and dtype.itemsize:
        return make(f"w:{dtype.itemsize}")
    if dtype.kind not in words or words[dtype.kind] not in WORDS:
        raise TypeError(f"numpy's {dtype} has no Arrow type")
    return parse(words[dtype.kind])
