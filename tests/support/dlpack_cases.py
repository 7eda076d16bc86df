"""Types and shapes that DLPack has."""

import cdevice

FORMATS = {"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
           "int64": "i8", "uint64": "u8", "float16": "f2", "float32": "f4", "float64": "f8"}  # fmt: skip
SHAPES = [(5,), (2, 3), (2, 3, 4), (1, 1, 1, 1), (0, 3), (3, 0), (0, 0), (4, 1, 2)]


def lists(type):
    return cdevice.Schema.make("+w:1", children=[cdevice.asschema(type)])
