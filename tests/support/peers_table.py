"""The table of features in docs/comparison.rst, from objects of the libraries that are installed.

python tests/support/peers_table.py        writes it into the page, with today's date and the libraries' versions
"""

import ctypes
import datetime
import importlib.metadata
import pathlib
import sys

import arro3.core as a3
import duckdb
import nanoarrow as na
import nanoarrow.device as nd
import numpy as np
import polars as pl
import pyarrow as pa

import cdevice

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "comparison.rst"
BEGIN, END = ".. The table: python tests/support/peers_table.py\n", "\n.. The end of the table.\n"
LIBRARIES = {
    "cdevice": "cdevice",
    "pyarrow": "pyarrow",
    "nanoarrow": "nanoarrow",
    "arro3": "arro3-core",
    "polars": "polars",
    "duckdb": "duckdb",
}

BATCH = pa.record_batch({"x": [1, 2]})
OBJECTS = {
    "cdevice": [cdevice.asarray(BATCH), cdevice.asarray([1]), cdevice.asstream([BATCH])],
    "pyarrow": [BATCH, BATCH["x"], pa.table(BATCH), pa.chunked_array([[1]]), pa.table(BATCH).to_reader()],
    "nanoarrow": [
        na.c_array([1], na.int64()),
        na.Array([1], na.int64()),
        nd.c_device_array(na.c_array([1], na.int64())),
        na.c_array([1], na.int64()).view().buffer(1),
    ],
    "arro3": [a3.Array(BATCH["x"]), a3.RecordBatch.from_arrow(BATCH), a3.Table.from_arrow(pa.table(BATCH))],
    "polars": [pl.DataFrame({"x": [1]}), pl.Series([1])],
    "duckdb": [duckdb.sql("select 1 as x")],
}


class Only:
    """An object with one method of the protocol."""

    def __init__(self, given, method):
        self.given, self.method = given, method

    def __getattr__(self, name):
        if name != self.method:
            raise AttributeError(name)
        return getattr(self.given, name)


def _query(only):
    return duckdb.sql("select * from only").fetchall()


TAKES_ARRAYS = {
    "cdevice": [cdevice.asarray],
    "pyarrow": [pa.array, pa.record_batch, pa.table],
    "nanoarrow": [nd.c_device_array, na.c_array, na.Array],
    "arro3": [a3.Array.from_arrow, a3.RecordBatch.from_arrow, a3.Table.from_arrow],
    "polars": [pl.DataFrame, pl.Series],
    "duckdb": [_query],
}
TAKES_STREAMS = {
    "cdevice": [cdevice.asstream, cdevice.asarray],
    "pyarrow": [pa.table, pa.RecordBatchReader.from_stream],
    "nanoarrow": [na.c_array_stream, na.ArrayStream],
    "arro3": [a3.Table.from_arrow, a3.RecordBatchReader.from_arrow, a3.RecordBatchReader.from_stream],
    "polars": [pl.DataFrame],
    "duckdb": [_query],
}
TAKES_TENSORS = {
    "cdevice": cdevice.asarray,
    "pyarrow": getattr(pa.Array, "from_dlpack", None),  # not in releases for Python 3.10
    "nanoarrow": nd.c_device_array,
    "arro3": a3.Array,
    "polars": pl.Series,
    "duckdb": _query,
}


def gives(library, method):
    return "yes" if any(hasattr(type(o), method) for o in OBJECTS[library]) else "no"


def takes(ways, method, make):
    """Does one of the ways read an object that has the one method?  The class must have it, as for others."""
    kind = type("Only", (Only,), {method: lambda self, *args, **named: getattr(self.given, method)(*args, **named)})
    for way in ways:
        try:
            way(kind(make(), method))
        except (Exception, pl.exceptions.PanicException):
            continue
        return "yes"
    return "no"


def takes_tensors(library):
    """A tensor of which nothing but DLPack is known: no buffer, no array interface."""
    tensor = np.arange(3)
    kind = type(
        "Tensor",
        (),
        {
            "__dlpack__": lambda self, **named: tensor.__dlpack__(**named),
            "__dlpack_device__": lambda self: tensor.__dlpack_device__(),
        },
    )
    try:
        TAKES_TENSORS[library](kind())
    except Exception:
        return "no"
    return "yes"


def versioned(library):
    """Does an object give DLPack's capsule of versions 1 and later?"""
    found = "no"
    for o in OBJECTS[library]:
        for named in ({"max_version": (1, 0)}, {}):
            try:
                capsule = repr(o.__dlpack__(**named))
            except Exception:
                continue
            if "dltensor_versioned" in capsule:
                return "yes"
            found = "legacy"
    return found


class Struct(ctypes.Structure):
    _fields_ = [
        ("array", ctypes.c_byte * 80),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p),
        ("reserved", ctypes.c_int64 * 3),
    ]


def reserved(library):
    """Are the reserved bytes of an export 0, which the format asks for?  Asked with a heap that is full of other bytes."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_size_t],
        [ctypes.c_void_p],
    )
    givers = [o for o in OBJECTS[library] if hasattr(type(o), "__arrow_c_device_array__")]
    for giver in givers:
        blocks = [libc.malloc(n) for n in range(64, 300, 8) for _ in range(20)]
        for n, block in enumerate(blocks):
            ctypes.memset(block, 0xAA, 64 + n // 20 * 8)
        for block in blocks:
            libc.free(block)
        capsules = [giver.__arrow_c_device_array__()[1] for _ in range(50)]
        if any(any(Struct.from_address(get(c, b"arrow_device_array")).reserved) for c in capsules):
            return "no"
    return "yes" if givers else "–"


def typed(library):
    files = importlib.metadata.files(LIBRARIES[library]) or ()
    return "yes" if any(f.name == "py.typed" for f in files) else "no"


def installed(library):
    """MB of the files of its own distribution."""
    if library == "cdevice":
        library_files = [p for p in pathlib.Path(cdevice.__file__).parent.rglob("*") if "__pycache__" not in p.parts]
    else:
        name = {"polars": "polars-runtime-32"}.get(library, LIBRARIES[library])
        library_files = [pathlib.Path(f.locate()) for f in importlib.metadata.files(name) or ()]
    size = sum(p.stat().st_size for p in library_files if p.is_file() and p.suffix != ".pyc")
    return f"{size / 1e6:.0f}"


ROWS = [
    ("gives ``__arrow_c_array__``", lambda n: gives(n, "__arrow_c_array__")),
    ("gives ``__arrow_c_stream__``", lambda n: gives(n, "__arrow_c_stream__")),
    ("gives ``__arrow_c_device_array__``", lambda n: gives(n, "__arrow_c_device_array__")),
    (
        "takes it, without another method",
        lambda n: takes(TAKES_ARRAYS[n], "__arrow_c_device_array__", lambda: cdevice.asarray(BATCH)),
    ),
    ("gives ``__arrow_c_device_stream__``", lambda n: gives(n, "__arrow_c_device_stream__")),
    (
        "takes it, without another method",
        lambda n: takes(TAKES_STREAMS[n], "__arrow_c_device_stream__", lambda: cdevice.asstream([BATCH])),
    ),
    ("reserved bytes of device arrays are 0", reserved),
    ("gives DLPack's versioned capsule", versioned),
    ("takes DLPack alone", takes_tensors),
    ("types for type checkers (``py.typed``)", typed),
    ("MB installed, without dependencies", installed),
]


def versions():
    return {name: importlib.metadata.version(package) for name, package in LIBRARIES.items()}


def table():
    head = ["feature", *LIBRARIES]
    found = [[title, *(ask(name) for name in LIBRARIES)] for title, ask in ROWS]
    second = ["version", *versions().values()]
    widths = [max(len(r[i]) for r in (head, second, *found)) for i in range(len(head))]
    rule = " ".join("=" * w for w in widths)
    text = [" ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in (head, second, *found)]
    return "\n".join([rule, text[0], rule, *text[1:], rule])


def shown():
    """The table of the page."""
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    return text.strip("\n").partition("\n\n")[2].strip("\n")


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    today = f"As seen on {datetime.date.today()}, with Python {sys.version.split()[0]}:"
    PAGE.write_text(f"{text[:begin]}\n{today}\n\n{table()}\n{text[end:]}", encoding="utf-8")
