"""What the package calls of others: each callback asks :func:`point` first, which may raise.

Imported for the target "callbacks" alone: it adds operations to those of operations.py.
"""

import asyncio
import errno

import numpy as np
import pyarrow as pa
from operations import OPERATIONS, batches, operation, rows, same, there

import cdevice
from cdevice import aio
from cdevice._runtime.ext import ffi
from cdevice.testing.fake import FakeBackend


def point(name):
    """Raises where it is this call's turn; the target puts its own in the place."""


class Failing(FakeBackend):
    """What gives back does its work before it fails: the rest would be the test's own leak."""


def failing(name, after):
    method = getattr(FakeBackend, name)

    def call(self, *args, **more):
        if not after:
            point(name)
        out = method(self, *args, **more)
        if after:
            point(name)
        return out

    setattr(Failing, name, call)


for one in "alloc view copy event_record event_done event_wait stream_wait device_count".split():
    failing(one, False)
for one in "free event_destroy".split():
    failing(one, True)


class Lender:
    def __init__(self, backend):
        self.backend = backend

    def allocate(self, nbytes, stream=None):
        point("allocate")
        return FakeBackend.alloc(self.backend, nbytes, device_id=0)

    def deallocate(self, address, nbytes, stream=None):
        FakeBackend.free(self.backend, address)
        point("deallocate")


del OPERATIONS["allocated"]  # its allocator hides what went wrong


@operation("device")
def lender(here):
    from cdevice._devices.backends import backend_object

    backend = backend_object(here[0])

    def run():
        cdevice.set_allocator(here[0], Lender(backend))
        try:
            same(there([1, None, 3], here).to("cpu").to_pylist(), [1, None, 3])
        finally:
            cdevice.set_allocator(here[0], None)

    return run


# ---- what becomes an array ----
class Capsules:
    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        point("__arrow_c_array__")
        return self.array.__arrow_c_array__(requested_schema)

    def __arrow_c_schema__(self):
        point("__arrow_c_schema__")
        return self.array.type.__arrow_c_schema__()


class Tensor:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **more):
        point("__dlpack__")
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self):
        point("__dlpack_device__")
        return self.array.__dlpack_device__()


class Numbers:
    def __init__(self, values):
        self.values = values

    def __len__(self):
        point("__len__")
        return len(self.values)

    @property
    def __array_interface__(self):
        point("__array_interface__")
        return self.values.__array_interface__


@operation("device")
def producers(here):
    array, numbers = pa.array([1, None, 3]), np.arange(4.0)

    def run():
        same(cdevice.asarray(Capsules(array)).to_pylist(), [1, None, 3])
        same(cdevice.asschema(Capsules(array)).type, "int64")
        same(cdevice.asarray(Tensor(numbers)).to_pylist(), [0, 1, 2, 3])

    return run


# ---- sources ----
class Source:
    """An iterator, or an asynchronous one, of which every step may fail."""

    def __init__(self, pairs=False):
        self.left, self.pairs = batches(), pairs

    def step(self):
        point("next")
        if not self.left:
            return None
        b = self.left.pop(0)
        return (b, {"n": "1"}) if self.pairs else b

    def __iter__(self):
        point("__iter__")
        return self

    def __next__(self):
        b = self.step()
        if b is None:
            raise StopIteration
        return b

    def close(self):
        point("close")


class AsyncSource(Source):
    __iter__ = None

    def __aiter__(self):
        point("__aiter__")
        return self

    async def __anext__(self):
        await asyncio.sleep(0)
        b = self.step()
        if b is None:
            raise StopAsyncIteration
        return b

    async def aclose(self):
        point("aclose")


SCHEMA = batches(1)[0].schema


@operation("device")
def source_stream(here):
    def run():
        with cdevice.asstream(Source(), schema=SCHEMA) as s:
            same(s.to(here).read_all("cpu").to_pylist(), rows())
        s = cdevice.asstream(Source(), schema=SCHEMA)
        same(pa.RecordBatchReader.from_stream(s).read_all().to_pylist(), rows())

    return run


@operation("device")
def source_produced(here):
    def run():
        c = aio.consume()
        p = aio.produce(Source(pairs=True), c, schema=SCHEMA, device=here)
        same([r for a in c for r in a.to("cpu").to_pylist()], rows())
        p.join(20)

    return run


@operation("device")
def source_in_a_loop(here):
    async def main():
        got = []
        async for a in aio.iterate(AsyncSource(), schema=SCHEMA, device=here):
            got += a.to("cpu").to_pylist()
        same(got, rows())

    return lambda: asyncio.run(main())


# ---- somebody else's consumer and stream, in C ----
class Refused(Exception):
    pass


class Handler:
    """An ArrowAsyncDeviceStreamHandler whose callbacks refuse."""

    def __init__(self):
        self.face = ffi.new("struct ArrowAsyncDeviceStreamHandler *")
        self.released, self.got, self.told = False, [], None
        kinds = {n: f.type for n, f in ffi.typeof(self.face[0]).fields}
        self.kept = []
        for name in ("on_schema", "on_next_task", "on_error", "release"):
            self.kept.append(ffi.callback(kinds[name], getattr(self, name)))
            setattr(self.face, name, self.kept[-1])

    def refuses(self, name):
        try:
            point(name)
        except BaseException as e:
            self.told = e
            return True

    def on_schema(self, face, schema):
        schema.release(schema)
        if self.refuses("on_schema"):
            return errno.ENOMEM
        face.producer.request(face.producer, 100)
        return 0

    def on_next_task(self, face, task, metadata):
        if task == ffi.NULL:
            return errno.EIO if self.refuses("on_next_task at the end") else 0
        if self.refuses("on_next_task"):
            task.extract_data(task, ffi.NULL)
            return errno.EIO
        out = ffi.new("struct ArrowDeviceArray *")
        if task.extract_data(task, out):
            return errno.EIO
        self.got.append(out.array.length)
        out.array.release(ffi.addressof(out, "array"))
        return 0

    def on_error(self, face, code, message, metadata):
        self.refuses("on_error")

    def release(self, face):
        self.released = True


@operation("device")
def refusing_handler(here):
    def run():
        h = Handler()
        p = aio.produce(iter(batches()), int(ffi.cast("uintptr_t", h.face)), schema=SCHEMA, device=here)
        try:
            p.join(20)
        finally:
            same(h.released, True)
        if h.told is not None:
            raise h.told
        same(h.got, [1] * 4)

    return run
