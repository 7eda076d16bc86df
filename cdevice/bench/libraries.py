"""The libraries that are measured; each is one column of the table."""

import importlib
import importlib.metadata

from .wide import WideStruct


class Library:
    """One column of the table. Methods that return a callable are called outside the timed part."""

    name = dist = module = ""
    device = True

    def load(self):
        """Import it; ImportError leaves the column out."""
        self.lib = importlib.import_module(self.module)

    def version(self):
        try:
            return importlib.metadata.version(self.dist)
        except importlib.metadata.PackageNotFoundError:
            return "?"

    def array(self, values):
        """int64 array over an array.array('q')"""

    def batch(self, ncols, values):
        """struct array or record batch of `ncols` int64 columns"""

    def exporter(self, obj):
        """() -> (schema capsule, array capsule)"""
        return obj.__arrow_c_device_array__

    def importer(self, batch=False):
        """(schema capsule, array capsule) -> object whose layout has been verified"""

    def from_numpy(self):
        """int64 numpy array -> array without a copy"""


class CDevice(Library):
    name = dist = module = "cdevice"

    def array(self, values):
        try:
            import numpy
        except ImportError:
            return self.lib.asarray(memoryview(values))
        return self.lib.asarray(numpy.frombuffer(values, dtype="int64"))

    def batch(self, ncols, values):
        return self.lib.asarray(WideStruct(ncols, values))

    def importer(self, batch=False):
        return self.lib.import_capsules  # validate="structure" is its default

    def from_numpy(self):
        return self.lib.asarray


class PyArrow(Library):
    name = dist = module = "pyarrow"

    def array(self, values):
        pa = self.lib
        return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])

    def batch(self, ncols, values):
        return self.lib.RecordBatch.from_arrays([self.array(values)] * ncols, [f"c{i}" for i in range(ncols)])

    def importer(self, batch=False):
        return (self.lib.RecordBatch if batch else self.lib.Array)._import_from_c_device_capsule

    def from_numpy(self):
        return self.lib.array


class NanoArrow(Library):
    name = dist = "nanoarrow"
    module = "nanoarrow.device"

    def load(self):
        super().load()
        self.na = importlib.import_module("nanoarrow")

    def array(self, values):
        return self.na.c_array_from_buffers(self.na.int64(), len(values), [None, values], null_count=0)

    def batch(self, ncols, values):
        schema = self.na.struct({f"c{i}": self.na.int64() for i in range(ncols)})
        children = [self.array(values) for _ in range(ncols)]
        return self.na.c_array_from_buffers(schema, len(values), [None], null_count=0, children=children)

    def exporter(self, obj):
        # c_device_array moves out of its argument: hand it a copy.
        return self.lib.c_device_array(obj[:]).__arrow_c_device_array__

    def importer(self, batch=False):
        take = self.lib.CDeviceArray._import_from_c_capsule
        return lambda schema, arr: take(schema, arr).view()  # the view is what checks

    def from_numpy(self):
        return self.na.c_array


class Arro3(Library):
    name, dist, module = "arro3", "arro3-core", "arro3.core"
    device = False

    def array(self, values):
        return self.lib.Array(list(values), self.lib.DataType.int64())

    def batch(self, ncols, values):
        a = self.array(values)
        return self.lib.RecordBatch.from_pydict({f"c{i}": a for i in range(ncols)})

    def exporter(self, obj):
        return obj.__arrow_c_array__

    def importer(self, batch=False):
        return (self.lib.RecordBatch if batch else self.lib.Array).from_arrow_pycapsule

    def from_numpy(self):
        return self.lib.Array.from_numpy


LIBRARIES = {cls.name: cls for cls in (CDevice, PyArrow, NanoArrow, Arro3)}
