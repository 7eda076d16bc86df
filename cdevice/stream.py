"""Streams of device arrays: the Arrow C device stream interface in Python."""

from __future__ import annotations

from ._runtime.ext import _native, as_address, check, ffi, lib
from ._runtime.lazy import LazyModule
from ._runtime.release_thread import ensure_release_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from . import aio as _aio
    from ._arrays import concat as _joined
    from ._devices import backends as _registry
    from ._devices import device as _device
    from ._runtime import html as _html
    from ._types import Address, DeviceArray, DeviceLike, DeviceType, Schema, StreamLike
    from ._values import from_python as _encode
    from .compute import groups as _groups
    from .compute import joins as _joins
    from .compute.expressions import aggregate as _aggregate
    from .compute.expressions import streams as _by_expressions
    from .compute.expressions.expression import Expression
    from .compute.groups import GroupBy
    from .interop import dataframes as _frames
    from .interop import files as _files
    from .interop import progress as _progress
    from .interop import pyopencl as _pyopencl
    from .ipc import streams as _shared
    from .ipc.streams import SharedStream
else:
    _device = LazyModule("cdevice._devices.device")
    _groups = LazyModule("cdevice.compute.groups")
    _joins = LazyModule("cdevice.compute.joins")
    _aggregate = LazyModule("cdevice.compute.expressions.aggregate")
    _by_expressions = LazyModule("cdevice.compute.expressions.streams")
    _encode = LazyModule("cdevice._values.from_python")
    _files = LazyModule("cdevice.interop.files")
    _frames = LazyModule("cdevice.interop.dataframes")
    _aio = LazyModule("cdevice.aio")
    _html = LazyModule("cdevice._runtime.html")
    _joined = LazyModule("cdevice._arrays.concat")
    _progress = LazyModule("cdevice.interop.progress")
    _pyopencl = LazyModule("cdevice.interop.pyopencl")
    _registry = LazyModule("cdevice._devices.backends")
    _shared = LazyModule("cdevice.ipc.streams")

_OPENCL = 4


class DeviceArrayStream(_native.Stream):
    """Arrays of one schema on one device type, one after the other; an iterator of :class:`DeviceArray`.

    Comes from :func:`cdevice.asstream`.  Used once, by one thread at a time (another gets RuntimeError).  Its schema is
    known before the first array; arrays outlive it.  Taking an array blocks until the source has made it.
    ``device_type_id``, ``closed``, ``close()`` and the Arrow PyCapsule methods are implemented in C.  An error of the
    source is raised as StreamError with the producer's text, an exception of a Python source as it was; after an error
    every call fails.  Ctrl-C ends a wait and loses nothing: the next call goes on.  Methods raise Released after
    ``close()``.
    """

    __slots__ = ("__weakref__",)

    @property
    def schema(self) -> Schema:
        """The :class:`Schema` of every array."""
        return self._schema

    @property
    def device_type(self) -> DeviceType | int:
        """The :class:`DeviceType` of every array, or an int for a type without a name there."""
        return _device.Device(self.device_type_id).type

    def to(self, device: DeviceLike, *, stream: StreamLike = None, prefetch: int | None = None) -> DeviceArrayStream:
        """The same arrays on another device: a new stream; this one is used up.

        ``device``: see :func:`cdevice.device`.  ``stream``: as in :meth:`DeviceArray.to`, one stream for all copies.
        ``prefetch``: so many arrays are copied before they are asked for, by a thread that runs the source, a Python
        iterator too, while the consumer works; 0: none.  None: two, and a Python iterator is run in the consumer's
        thread, when the array before is taken.  At most ``prefetch + 1`` copies exist that were not handed out.

        Blocks only to start the backends.  Raises BackendUnavailable.
        """
        target = _device.device(device)
        stream = _registry.stream_from_device_arg(device, stream)
        here = self.device_type_id
        for type_id in (target.type_id, here):
            _registry.ensure_backend(type_id)
            check(lib.cdv_device_count(type_id, ffi.new("int64_t *")))  # now, not at the first array
        ensure_release_thread()  # threads of cdevice release Python owners
        ahead = (2, False) if prefetch is None else (prefetch, True)
        queue = _registry.stream_and_owner(here if target.type_id == 1 else target.type_id, stream)
        if here == _OPENCL == target.type_id and _pyopencl.is_queue(stream):  # arrays may be of another context
            schema, own = self.schema, self._copied(target.type_id, target.id, *queue, *ahead)
            return _native.stream_of_iterator(schema, here, (a.to(target, stream=stream) for a in own))
        return self._copied(target.type_id, target.id, *queue, *ahead)

    def iterate(self, stream: StreamLike = None) -> DeviceArrayStream:
        """This stream, whose next arrays a stream of the device waits for before they are handed out.

        ``stream``: of the arrays' device, as in :meth:`DeviceArray.to`; None: nothing waits, arrays carry their events.
        Does not block; taking an array does not either where the device can make a stream wait.  Raises TypeError for
        an object that is not a stream of the device.
        """
        self._order(None if stream is None else _registry.stream_handle(self.device_type_id, stream))
        return self

    def __aiter__(self) -> Any:
        """The arrays for ``async for``, fetched on another thread: :func:`cdevice.aio.iterate` of this stream."""
        return _aio.iterate(self).__aiter__()

    def read_all(self, device: DeviceLike | None = None, stream: StreamLike = None) -> DeviceArray:
        """The rows of all arrays that are left as one array, as :func:`cdevice.concat` joins them; an empty array of
        the schema where there are none.  Uses this stream up, and closes it.

        ``device``: where the result shall be; None: where the arrays are.  ``stream``: as in :meth:`DeviceArray.to`.
        Arrays taken before an error of the source, or Ctrl-C, are dropped.  Blocks until the source has ended, then as
        :func:`cdevice.concat`.  Raises StreamError, what a Python source raised, and as :func:`cdevice.concat`.
        """
        schema, type_id = self.schema, self.device_type_id
        arrays = list(self)
        self.close()
        if arrays:
            return _joined.joined(arrays, device, stream)
        empty = _encode.from_list([], schema)
        if device is None:
            return empty if type_id == 1 else empty.to(_device.Device(type_id))
        return empty.to(device, stream=stream)

    def share(self, *, batches: int = 8, nbytes: int = 128 << 20) -> SharedStream:
        """Gives the stream to another process of this machine and user, which opens the result's ``token`` by
        :func:`cdevice.open_shared`, once; this one is used up.  A thread runs the source, a Python iterator too.

        ``batches``: so many are written before they are read.  ``nbytes``: of the shared memory that they go through,
        65,536 or more; a batch that is larger than half of it goes in shared memory of its own.  Batches of a device
        are copied to the CPU. Does not block.  Raises ArgumentError, OutOfMemory, DeviceError where the system has no
        descriptor, socket or thread.
        """
        ensure_release_thread()
        return _shared.SharedStream._of(self, _encode.from_list([], self.schema), nbytes, batches)

    # ---- of record batches, by expressions ----
    def filter(self, where: Expression | str, *, stream: StreamLike = None) -> DeviceArrayStream:
        """The rows of each batch that a condition is true for: a new stream; this one is used up.

        ``where``: an :class:`~cdevice.compute.Expression`, or its text.  ``stream``: of the device, as in
        :meth:`DeviceArray.to`.  A batch is computed when it is asked for.  Does not block.  Raises ArgumentError for
        columns that the schema does not have, with the place in the expression, NoKernel, TypeError.
        """
        return _by_expressions.filter(self, where, stream)

    def with_columns(
        self, columns: Mapping[str, Expression] | None = None, /, *, stream: StreamLike = None, **named: Expression
    ) -> DeviceArrayStream:
        """Each batch with these columns: a new stream; this one is used up.

        ``columns``, ``named``: names and expressions, as :meth:`DeviceArray.with_columns`; ``stream``: as in
        :meth:`filter`.  Does not block.  Raises as :meth:`filter`.
        """
        return _by_expressions.with_columns(self, {**(columns or {}), **named}, stream)

    def project(self, columns: Mapping[str, Any] | Iterable[Any], *, stream: StreamLike = None) -> DeviceArrayStream:
        """The batch of some expressions for each batch: a new stream; this one is used up.

        ``columns``: as :meth:`DeviceArray.project`; ``stream``: as in :meth:`filter`.  Does not block.  Raises as
        :meth:`filter`.
        """
        return _by_expressions.project(self, columns, stream)

    def select(self, columns: Iterable[str]) -> DeviceArrayStream:
        """Some columns of each batch: a new stream; this one is used up.

        ``columns``: their names, in this order.  Does not block.  Raises ArgumentError for one that is not there,
        TypeError for other objects.
        """
        return _by_expressions.project(self, [*columns] if not isinstance(columns, str) else columns, None)

    def rebatch(self, rows: int) -> DeviceArrayStream:
        """The same rows in batches of another size: a new stream; this one is used up.

        ``rows``: of each batch; the last one may have fewer.  Small batches are copied together, large ones cut without
        a copy.  Does not block.  Raises ArgumentError for another number.
        """
        return _by_expressions.rebatch(self, rows)

    def progress(self, report: Any = True, *, total_rows: int | None = None) -> DeviceArrayStream:
        """The same arrays; how many rows and bytes have come is reported: a new stream; this one is used up.

        ``report``: True shows a line on the standard error output, or in a notebook's cell; a callable gets a
        :class:`cdevice.Progress` at most ten times a second, and once at the end.  ``total_rows``: of the stream, for a
        bar; None: unknown.  Does not block.  Raises TypeError, ArgumentError; what the callable raises ends the stream.
        """
        return _progress.reported(self, report, total_rows)

    def aggregate(
        self, wanted: Any, *, where: Expression | str | None = None, stream: StreamLike = None
    ) -> DeviceArray:
        """One row of what all rows come to, as :func:`cdevice.compute.aggregate`.  Uses this stream up.

        ``wanted``, ``where``, ``stream``: as there.  Blocks until the source has ended.  Raises as there, StreamError,
        and what a Python source raised.
        """
        with self:
            return _aggregate.aggregate(self, wanted, where=where, stream=stream)

    def group_by(
        self,
        keys: Any,
        *,
        where: Expression | str | None = None,
        normalize_floats: bool = False,
        stream: StreamLike = None,
    ) -> GroupBy:
        """The groups of the rows, as :func:`cdevice.compute.group_by`, whose ``aggregate`` uses this stream up.

        ``keys``, ``where``, ``normalize_floats``, ``stream``: as there.  Does not block.  Raises TypeError.
        """
        return _groups.group_by(self, keys, where=where, normalize_floats=normalize_floats, stream=stream)

    def top_k(self, k: int, sort_keys: Any, *, stream: StreamLike = None) -> DeviceArray:
        """The first ``k`` rows in the order of the sort keys.  Uses this stream up; about ``k`` rows and one batch are
        in memory.

        ``k``: the number of rows.  ``sort_keys``, ``stream``: as :func:`cdevice.compute.sort_by`.  Blocks until the
        source has ended.  Raises KeyError for a key that is not there, NoKernel, StreamError, and what a Python source
        raised.
        """
        with self:
            found = _by_expressions.top_k(self, k, sort_keys, stream)
            return self._none() if found is None else found

    def join(self, right: Any, keys: Any, right_keys: Any = None, join_type: str = "left outer", **options: Any) -> Any:
        """A stream with a batch for each batch, joined with ``right``, as :func:`cdevice.compute.join`; this one is
        used up.

        ``right``, ``keys``, ``right_keys``, ``join_type``, ``options``: as there.  Blocks and raises as there.
        """
        return _joins.join(self, right, keys, right_keys, join_type, **options)

    def write_parquet(self, path: Any, **options: Any) -> int:
        """Writes the rows of all arrays that are left into a Parquet file, and returns their number.  Uses this stream
        up.

        The file takes its place when all of it was written.  ``path``: of the file.  ``options``: of
        ``pyarrow.parquet.ParquetWriter``.  Blocks until the source has ended.  Raises ModuleNotFoundError without
        pyarrow, OSError, StreamError, and what a Python source raised; then there is no file.
        """
        return _files.write_parquet(self, path, options)

    def write_ipc(self, path: Any, **options: Any) -> int:
        """Writes the rows of all arrays that are left into an Arrow IPC file, and returns their number.  Uses this
        stream up.

        ``path``: as in :meth:`write_parquet`.  ``options``: of ``pyarrow.ipc.IpcWriteOptions``.  Blocks until the
        source has ended.  Raises as :meth:`write_parquet`, ArgumentError where the dictionaries of a column differ.
        """
        return _files.write_ipc(self, path, options)

    def _none(self) -> DeviceArray:
        """An array of no rows."""
        empty = _encode.from_list([], self.schema)
        return empty if self.device_type_id == 1 else empty.to(_device.Device(self.device_type_id))

    def to_pylist(self) -> list[Any]:
        """The rows of all arrays that are left as Python objects, see :meth:`DeviceArray.to_pylist`.  Uses this stream
        up, and closes it.

        Blocks until the source has ended and the data is ready.  Raises StreamError, what a Python source raised, and
        as :meth:`DeviceArray.to_pylist`.
        """
        rows = [row for array in self for row in array.to_pylist()]
        self.close()
        return rows

    def export_to_c(self, address: Address) -> None:
        """Moves this stream into a struct, which is overwritten.

        ``address``: of an ArrowDeviceArrayStream (int or cffi pointer).  Does not block.  Raises Released, ValueError
        for NULL, TypeError for another object.
        """
        self._export_struct(as_address(address), False)

    def __enter__(self) -> DeviceArrayStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<cdevice.DeviceArrayStream closed>"
        try:
            return f"<cdevice.DeviceArrayStream of {self.schema.type} on {_device.type_name(self.device_type_id)}>"
        except (RuntimeError, ValueError):  # a thread is inside, or has closed it just now
            return "<cdevice.DeviceArrayStream in use>"

    def _repr_html_(self) -> str:
        try:
            place = _device.type_name(self.device_type_id)
            return _html.facts_html("cdevice.DeviceArrayStream", {"of": self.schema.type, "on": place})
        except (RuntimeError, ValueError):
            return _html.facts_html("cdevice.DeviceArrayStream", {"": "closed, or in use"})


_native.set_stream_class(DeviceArrayStream)
