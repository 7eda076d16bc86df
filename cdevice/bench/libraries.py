"""The libraries that are measured; each is one column of the table."""

from __future__ import annotations

import importlib
import importlib.metadata

from .wide import WideStruct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Library:
    """One column of the table. Methods that return a callable are called outside the timed part."""

    name = dist = module = ""
    device = True

    def load(self) -> None:
        """Import it; ImportError leaves the column out."""
        self.lib = importlib.import_module(self.module)

    def version(self) -> Any:
        try:
            return importlib.metadata.version(self.dist)
        except importlib.metadata.PackageNotFoundError:
            return "?"

    def array(self, values: Any) -> None:
        """int64 array over an array.array('q')"""

    def batch(self, ncols: int, values: Any) -> None:
        """struct array or record batch of `ncols` int64 columns"""

    def exporter(self, obj: Any) -> Any:
        """() -> (schema capsule, array capsule)"""
        return obj.__arrow_c_device_array__

    def importer(self, batch: Any = False) -> None:
        """(schema capsule, array capsule) -> object whose layout has been verified"""

    def from_numpy(self) -> None:
        """int64 numpy array -> array without a copy"""

    def shown(self, obj: Any) -> Any:
        """What users of the library hold"""
        return obj

    def from_arrow(self) -> None:
        """what another library has -> array of this one's"""


class CDevice(Library):
    name = dist = module = "cdevice"

    def array(self, values: Any) -> Any:
        try:
            import numpy
        except ImportError:
            return self.lib.asarray(memoryview(values))
        return self.lib.asarray(numpy.frombuffer(values, dtype="int64"))

    def batch(self, ncols: int, values: Any) -> Any:
        return self.lib.asarray(WideStruct(ncols, values))

    def importer(self, batch: Any = False) -> Any:
        return self.lib.import_capsules  # validate="structure" is its default

    def from_numpy(self) -> Any:
        return self.lib.asarray

    def from_arrow(self) -> Any:
        return self.lib.asarray


class PyArrow(Library):
    name = dist = module = "pyarrow"

    def array(self, values: Any) -> Any:
        pa = self.lib
        return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])

    def batch(self, ncols: int, values: Any) -> Any:
        return self.lib.RecordBatch.from_arrays([self.array(values)] * ncols, [f"c{i}" for i in range(ncols)])

    def importer(self, batch: Any = False) -> Any:
        return (self.lib.RecordBatch if batch else self.lib.Array)._import_from_c_device_capsule

    def from_numpy(self) -> Any:
        return self.lib.array


class NanoArrow(Library):
    name = dist = "nanoarrow"
    module = "nanoarrow.device"

    def load(self) -> None:
        super().load()
        self.na = importlib.import_module("nanoarrow")

    def array(self, values: Any) -> Any:
        return self.na.c_array_from_buffers(self.na.int64(), len(values), [None, values], null_count=0)

    def batch(self, ncols: int, values: Any) -> Any:
        schema = self.na.struct({f"c{i}": self.na.int64() for i in range(ncols)})
        children = [self.array(values) for _ in range(ncols)]
        return self.na.c_array_from_buffers(schema, len(values), [None], null_count=0, children=children)

    def exporter(self, obj: Any) -> Any:
        # c_device_array moves out of its argument: hand it a copy.
        return self.lib.c_device_array(obj[:]).__arrow_c_device_array__

    def importer(self, batch: Any = False) -> Any:
        take = self.lib.CDeviceArray._import_from_c_capsule
        return lambda schema, arr: take(schema, arr).view()  # the view is what checks

    def from_numpy(self) -> Any:
        return self.na.c_array

    def shown(self, obj: Any) -> Any:
        return self.na.Array(obj[:])

    def from_arrow(self) -> Any:
        return self.lib.c_device_array


class Arro3(Library):
    name, dist, module = "arro3", "arro3-core", "arro3.core"
    device = False

    def array(self, values: Any) -> Any:
        return self.lib.Array(list(values), self.lib.DataType.int64())

    def batch(self, ncols: int, values: Any) -> Any:
        a = self.array(values)
        return self.lib.RecordBatch.from_pydict({f"c{i}": a for i in range(ncols)})

    def exporter(self, obj: Any) -> Any:
        return obj.__arrow_c_array__

    def importer(self, batch: Any = False) -> Any:
        return (self.lib.RecordBatch if batch else self.lib.Array).from_arrow_pycapsule

    def from_numpy(self) -> Any:
        return self.lib.Array.from_numpy


LIBRARIES: dict[str, Any] = {cls.name: cls for cls in (CDevice, PyArrow, NanoArrow, Arro3)}
