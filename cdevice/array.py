"""DeviceArray: an Arrow array on some device.  Thin: what C can share is in C."""

from __future__ import annotations

import sys
import time
from _operator import index as _index  # operator's own import costs a tenth of the package's

from ._runtime.ext import _native, as_address
from ._runtime.lazy import LazyModule
from ._runtime.release_thread import ensure_release_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, SupportsIndex

    from . import buffer as _buffer
    from . import pickling as _pickling
    from ._arrays import events as _events
    from ._arrays import record_batch as _batch
    from ._arrays import repr as _show
    from ._devices import backends as _registry
    from ._devices import device as _device
    from ._types import Address, Buffer, Device, DeviceLike, DeviceType, Schema, StreamLike, Validate
    from ._values import to_python as _values
    from .compute import functions as _functions
    from .compute.expressions import batches as _expressions
    from .compute.expressions import expression as _expression
    from .compute.kernels import columns as _columns
    from .interop import asarray as _asarray
    from .interop import compare as _compare
    from .interop import cuda_array_interface as _cuda
    from .interop import cupy as _cupy
    from .interop import dask as _dask
    from .interop import fixed_shape_tensor as _tensor
    from .interop import numpy as _numpy
    from .interop import pyopencl as _pyopencl
    from .ipc import shared as _shared
    from .ipc.shared import Shared
else:
    _batch = LazyModule("cdevice._arrays.record_batch")
    _buffer = LazyModule("cdevice.buffer")
    _functions = LazyModule("cdevice.compute.functions")
    _columns = LazyModule("cdevice.compute.kernels.columns")
    _expressions = LazyModule("cdevice.compute.expressions.batches")
    _expression = LazyModule("cdevice.compute.expressions.expression")
    _pickling = LazyModule("cdevice.pickling")
    _device = LazyModule("cdevice._devices.device")
    _registry = LazyModule("cdevice._devices.backends")
    _values = LazyModule("cdevice._values.to_python")
    _asarray = LazyModule("cdevice.interop.asarray")
    _numpy = LazyModule("cdevice.interop.numpy")
    _pyopencl = LazyModule("cdevice.interop.pyopencl")
    _tensor = LazyModule("cdevice.interop.fixed_shape_tensor")
    _compare = LazyModule("cdevice.interop.compare")
    _cupy = LazyModule("cdevice.interop.cupy")
    _cuda = LazyModule("cdevice.interop.cuda_array_interface")
    _dask = LazyModule("cdevice.interop.dask")
    _shared = LazyModule("cdevice.ipc.shared")
    _show = LazyModule("cdevice._arrays.repr")
    _events = LazyModule("cdevice._arrays.events")


_OPENCL = 4
_LISTS = (list, tuple, range)
SIGNAL_POLL_SECONDS = 0.02  # seconds between two looks at pending signals


def _wait_host(array: DeviceArray, timeout: float | None) -> None:
    if timeout is None:
        while not array._wait_for(SIGNAL_POLL_SECONDS):
            pass  # Ctrl-C is raised here
        return
    end = time.monotonic() + timeout
    while not array._wait_for(min(SIGNAL_POLL_SECONDS, end - time.monotonic())):
        if time.monotonic() >= end:
            raise TimeoutError(f"the data on {array.device} was not ready after {timeout} s")


def _is_expression(value: Any) -> bool:
    return hasattr(value, "evaluate") or type(value).__name__ == "Expression"  # pyarrow's


class DeviceArray(_native.Array):
    """An Arrow array, or a record batch (a struct array), on some device.

    Comes from :func:`cdevice.asarray`.  Immutable.  Slices and children share the memory; it is freed when the last of
    them and of everything exported from them is gone.  Any thread may use it, several at once.  After :meth:`release`
    methods raise Released.  ``length``, ``offset``, ``null_count``, ``nbytes``, ``device_id``, ``sync_event``,
    ``ready``, ``released`` and the methods of Arrow's and DLPack's protocols are implemented in C.
    """

    __slots__ = ("__weakref__",)

    # ---- what it is ----
    @property
    def schema(self) -> Schema:
        """The :class:`Schema`: type, name, metadata."""
        return self._schema

    @property
    def type(self) -> str:
        """The type in words."""
        return self._schema.type

    @property
    def event(self) -> Any:
        """What the data waits for, as an object that ``event=`` of :func:`cdevice.from_buffers` and the vendor's calls
        take: a pyopencl.Event, or on other devices the event's handle (cudaEvent_t, hipEvent_t) as an int that keeps
        this array.  None where the data was safe from the beginning."""
        return _events.event_of(self)

    @property
    def device(self) -> Device:
        """The :class:`Device` the buffers live on."""
        return _device.Device(self.device_type_id, self.device_id)

    @property
    def device_type(self) -> DeviceType | int:
        """The :class:`DeviceType`, or an int for a type without a name there."""
        return self.device.type

    @property
    def buffers(self) -> list[Buffer]:
        """The :class:`Buffer` objects in the order of the Arrow struct; a missing one has address 0."""
        return [_buffer.Buffer(self, i) for i in range(self._n_buffers)]

    @property
    def children(self) -> list[DeviceArray]:
        """The arrays below.  Children that have a row for each of the parent's (struct, sparse union, fixed-size list)
        are cut to its slice; others are whole."""
        return [self._child(i) for i in range(self._n_children)]

    @property
    def dictionary(self) -> DeviceArray | None:
        """The values of a dictionary array, or None."""
        return None if self._schema.dictionary is None else self._child(-1)

    def field(self, key: str | int) -> DeviceArray:
        """A child, without a copy.

        ``key``: a number, or in a struct a name.  Does not block.  Raises KeyError, IndexError.
        """
        if isinstance(key, str):
            return self._child(self._schema.index_of(key))
        n = self._n_children
        if not -n <= key < n:
            raise IndexError(f"no child {key} of {n}")
        return self._child(key % n)

    def __len__(self) -> int:
        return self.length

    # ---- rows ----
    def slice(self, offset: int = 0, length: int | None = None) -> DeviceArray:
        """Rows [``offset``, ``offset`` + ``length``) without a copy; ``length`` None: to the end.

        Does not block.  Raises ArgumentError outside.
        """
        return self._slice(offset, self.length - offset if length is None else length)

    def __getitem__(self, key: Any) -> Any:
        """A row by number, rows by a slice, a mask or an array of numbers, a column by name, columns by a list of
        names.

        Slices and columns share the memory; a mask (bools) and numbers copy on the device, as :meth:`filter` and
        :meth:`take` do.  In a batch a list of ints names columns, an array of ints rows."""
        if isinstance(key, slice):
            start, stop, step = key.indices(self.length)
            if step != 1:
                raise ValueError("a slice without a copy needs step 1: use cdevice.compute.take() to copy")
            return self._slice(start, max(stop - start, 0))
        if isinstance(key, str):
            return self.field(key)
        if isinstance(key, list):
            if _batch.names_columns(self, key):
                return _batch.select(self, key)
            return self._chosen(key)
        try:
            index = _index(key)
        except TypeError:
            return self._chosen(key)
        n = self.length
        if not -n <= index < n:
            raise IndexError(f"row {index} of {n}")
        return self._slice(index % n, 1)._rows("reading a row")[0]

    def _chosen(self, key: Any) -> DeviceArray:
        """Rows by a mask or by numbers."""
        kind = _batch.kind_of_key(key)
        if kind == "mask":
            return self.filter(key)
        if kind == "numbers":
            return self.take(key)
        raise TypeError(
            f"select rows by a number, a slice, a mask or an array of ints, columns by name or names, not by "
            f"{type(key).__name__}"
        )

    def filter(self, mask: Any) -> DeviceArray:
        """The rows whose ``mask`` is true: bools, as :func:`cdevice.compute.filter` takes them, or of a record batch an
        :class:`~cdevice.compute.Expression`, or its text.

        Blocks until the number of rows is known.  Raises ValueError for a mask of another length, NoKernel.
        """
        return _functions.filter(self, _expression.condition(mask, "filter") if isinstance(mask, str) else mask)

    def take(self, indices: Any) -> DeviceArray:
        """The rows with these numbers.

        ``indices``: integers, as :func:`cdevice.compute.take` takes them.  Blocks until they were checked.  Raises
        IndexOutOfBounds, NoKernel.
        """
        return _functions.take(self, indices)

    def head(self, n: int = 5) -> DeviceArray:
        """The first ``n`` rows, or all but the last ``-n``, without a copy.

        Does not block.  Raises TypeError for a number that is not an int.
        """
        n = _index(n)
        return self._slice(0, min(n, self.length) if n >= 0 else max(self.length + n, 0))

    def tail(self, n: int = 5) -> DeviceArray:
        """The last ``n`` rows, or all but the first ``-n``, without a copy.

        Does not block.  Raises TypeError for a number that is not an int.
        """
        n = _index(n)
        start = max(self.length - n, 0) if n >= 0 else min(-n, self.length)
        return self._slice(start, self.length - start)

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, self.length, 4096):
            yield from self._slice(start, min(4096, self.length - start))._rows("reading rows")

    def to_pylist(self) -> list[Any]:
        """The rows as Python objects, null as None; types as pyarrow's ``to_pylist``.

        Blocks until the data is ready.  Raises CannotExport for memory that the CPU cannot read, ValueError for a value
        that Python's types cannot hold (year 0, a nanosecond where pandas is missing).  Of time64[ns] the microseconds
        are what Python's ``time`` has; nanoseconds are cut.
        """
        return self._slice(0, self.length)._rows("to_pylist()")  # its own share: another thread may release this one

    def _rows(self, doing: str) -> list[Any]:
        self._readable(doing)
        return _values.rows(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows,), of fixed-size lists (rows, ...) with the size of each dimension, of arrow.fixed_shape_tensor the
        tensor's, of a record batch (rows, columns)."""
        return _tensor.shape_of(self)

    @property
    def ndim(self) -> int:
        """How many dimensions :attr:`shape` has."""
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        """The numpy dtype of the values, below fixed-size lists too; object where numpy has none."""
        return _numpy.dtype_of(self)

    def to_numpy(self, *, nulls: str | None = None, copy: bool | None = None) -> Any:
        """A numpy array.

        Type -> dtype, without nulls::

            int8 to uint64, float16, float32, float64 -> the same, a read-only view
            timestamp without a zone -> datetime64, duration -> timedelta64, of the same unit, a read-only view
            fixed_size_list of these -> their dtype, more dimensions, a read-only view
            bool -> bool, date32 -> datetime64[D], date64 -> datetime64[ms], a copy
            any other type -> object, one dimension, a copy

        ``nulls``: "object" gives None in an object array; "nan" a copy with NaN, integers as float64, and NaT in times;
        default: NaN and NaT where numpy's type has them, objects elsewhere.  ``copy``: True gives an array of its own,
        writable; False a view or ValueError.

        Blocks until the data is ready.  Raises CannotExport for memory that the CPU cannot read, ValueError for
        integers that NaN beside them would change.
        """
        return _numpy.to_numpy(self, nulls, copy)

    def to_pyopencl(self, queue: StreamLike = None) -> Any:
        """A pyopencl.array.Array on the same memory, for fixed-width types without nulls on an OpenCL device.

        ``queue``: of the data's context; its later work waits for the data on the device, and the result computes with
        it.  None: the queue that :func:`cdevice.set_default_stream` named, where that is of this context; otherwise the
        result has none: ``.with_queue(queue)`` before it is computed with or fetched.

        Without a queue it blocks until the data is ready; with one it does not block.  Raises TypeError for data that
        is not on OpenCL, CannotExport for other types and for nulls, ValueError for a queue of another context.
        """
        return _pyopencl.to_pyopencl(self, queue)

    def to_cupy(self, stream: StreamLike = None) -> Any:
        """A cupy array on the same memory, which keeps this array; for fixed-width types without nulls, and fixed-size
        lists of them, on a CUDA, CUDA_MANAGED or, where cupy is built for it, ROCm device.

        ``stream``: its later work waits for the data; None: cupy's current stream.  The memory must not be written.
        Work that still reads it when the cupy array goes is announced by :meth:`record_use`.  Does not block.  Raises
        CannotExport for other data, ModuleNotFoundError without cupy.
        """
        return _cupy.to_cupy(self, stream)

    def to_hip(self, stream: StreamLike = None) -> Any:
        """A hip-python DeviceArray on the same memory, for fixed-width types without nulls on ROCm.

        ``stream``: its later work waits for the data; None: blocks until the data is ready.  hip-python's objects own
        nothing: this array must be kept for as long as the result is used.  Raises CannotExport for other data,
        ModuleNotFoundError without hip-python.
        """
        return _cupy.to_hip(self, stream)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3, for CUDA and CUDA_MANAGED arrays of fixed width without nulls, and fixed-size lists of them;
        others have no such attribute.

        Where the data is not ready, the legacy default stream waits for it and is named as ``stream``. The dict keeps
        no owner: this object must outlive the use.
        """
        return _cuda.export_interface(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        asked = None if dtype is None else numpy.dtype(dtype)
        out = self.to_numpy(nulls="nan" if asked is not None and asked.kind in "fmM" else None)
        if copy is False and out.dtype == object:
            raise ValueError("this array cannot become a numpy array without a copy")
        out = out if dtype is None else out.astype(dtype, copy=False)
        return numpy.array(out) if copy else out

    # ---- columns ----
    @property
    def num_rows(self) -> int:
        """The length, in the words of tables."""
        return self.length

    @property
    def num_columns(self) -> int:
        """How many columns a record batch has; other arrays have no such attribute."""
        return len(_batch.columns_of(self))

    @property
    def column_names(self) -> list[str]:
        """The names of a record batch's columns; other arrays have no such attribute."""
        return _batch.columns_of(self)

    def select(self, columns: Iterable[str | int]) -> DeviceArray:
        """The record batch of these columns, in this order; also ``batch[["a", "b"]]``.

        ``columns``: names or numbers.  Nothing is copied, on any device.  Does not block.  Raises KeyError with the
        names there are, IndexError, ArgumentError for arrays without columns.
        """
        return _batch.select(self, columns)

    def drop(self, columns: Iterable[str | int]) -> DeviceArray:
        """The record batch without these columns.

        ``columns``: names or numbers.  Nothing is copied.  Does not block.  Raises KeyError, IndexError, ArgumentError
        for arrays without columns.
        """
        return _batch.drop(self, columns)

    @property
    def keys(self) -> Callable[[], list[str]]:
        """``keys()``: the names of a record batch's columns, so that ``dict(batch)`` is the columns by name; other
        arrays have no such attribute, or libraries would take them for mappings."""
        names = _batch.columns_of(self)
        return lambda: names

    def with_columns(self, columns: Mapping[str, Any] | None = None, /, **named: Any) -> DeviceArray:
        """The record batch with these columns, each what :func:`asarray` takes: one of a name that there is takes its
        place, others come last.  Lists of Python go to the batch's device.  Nothing else is copied.

        An :class:`~cdevice.compute.Expression` is computed of the columns that there were before.

        ``columns``: a mapping of names to columns; ``named``: columns by keyword.  Blocks as :func:`asarray` and the
        functions in expressions do.  Raises ArgumentError for arrays without columns and for another length or device.
        """
        given = {**(columns or {}), **named}
        batch = _columns.where_computed(self) if any(map(_is_expression, given.values())) else self
        made = {
            k: _asarray.near(v, batch.device) if isinstance(v, _LISTS) else batch._column_of(v)
            for k, v in given.items()
        }
        return _batch.with_columns(batch, made)

    def _column_of(self, value: Any) -> DeviceArray:
        """What :func:`asarray` makes, and of an expression its values."""
        return _expressions.column_of(self, value) if _is_expression(value) else _asarray.asarray(value)

    def project(self, columns: Mapping[str, Any] | Iterable[Any]) -> DeviceArray:
        """The record batch of some expressions.

        ``columns``: a mapping of names to :class:`~cdevice.compute.Expression`, or to names of columns; or a list of
        such, where an expression has its text as name.  Blocks as the functions in them.  Raises ArgumentError for
        columns that are not there, with the place in the expression, TypeError for other objects.
        """
        return _expressions.projected(self, _expressions.named(columns, "project"))

    def rename(self, columns: Mapping[str | int, str] | Iterable[str]) -> DeviceArray:
        """The record batch with other names.

        ``columns``: a mapping of old names or numbers to new names, or a name for each column.  Does not block.  Raises
        KeyError, IndexError, ArgumentError for arrays without columns and for another number of names, TypeError for a
        name that is not a str.
        """
        return _batch.rename(self, columns)

    def __contains__(self, value: object) -> bool:
        """Of a struct array: is there a column of that name?  Else: is there such a row?"""
        if isinstance(value, str) and self._format == "+s":
            return value in self._schema.names
        return any(value is v or value == v for v in self)

    def _ipython_key_completions_(self) -> list[str]:
        return self._schema.names if self._format == "+s" else []

    def to_batch(self) -> DeviceArray:
        """This struct array as a record batch: without nulls at its top, they are pushed into its fields.

        Nothing is copied but the fields' bitmaps; its schema is not nullable.  Consumers of batches
        (pyarrow.record_batch, polars) refuse a struct array with nulls.  Blocks until the data is ready where there are
        nulls.  Raises ArgumentError for other types, CannotExport where the CPU cannot read the memory, and for unions
        and run-end encoded fields, which have no bitmap.
        """
        return _batch.to_batch(self)

    # ---- checks and comparison ----
    def validate(self, level: Validate = "structure") -> None:
        """Checks the array.

        ``level``: "structure" reads the structs; "full" also the contents (offsets, type ids, run ends, views,
        dictionary indices, UTF-8, null counts), on a device the sizes of its buffers as far as its backend knows them.
        "full" blocks until the data is ready; "structure" does not block.  Raises InvalidArray with node and buffer.
        """
        self._validate(level)

    def equals(self, other: object, *, nans_equal: bool = False) -> bool:
        """Same type (names of the top, metadata aside) and same values.

        ``other``: what :func:`cdevice.asarray` takes, a table of another library too.  ``nans_equal``: whether NaN
        equals NaN.  Where types and lengths agree, data that the CPU cannot read is copied there to be compared.
        Blocks until the data is ready.  Raises what :func:`cdevice.asarray` raises for ``other``, DeviceError.
        """
        return _compare.equal(self, other, nans_equal)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _native.Array) and not _compare.is_arrow(other):
            return NotImplemented
        return _compare.equal(self, other, False)

    __hash__ = None  # type: ignore[assignment]

    # ---- events ----
    def synchronize(self, timeout: float | None = None) -> None:
        """Blocks until the data may be read.  Ctrl-C interrupts.

        ``timeout``: seconds; TimeoutError after it.  Raises DeviceError when the work before the event failed.
        """
        if not self.ready:
            _wait_host(self, timeout)

    def wait(self, stream: StreamLike) -> None:
        """Makes later work on a stream wait for the data.

        ``stream``: of this array's device, as in :meth:`to`.  Does not block where the device can make a stream wait;
        elsewhere blocks until the data is ready.  Raises TypeError for an object that is not a stream of the device,
        DeviceError.
        """
        kind = self.device_type_id
        self._wait_stream(kind, _registry.stream_handle(kind, stream))

    def record_use(self, stream: StreamLike) -> None:
        """Declares that work enqueued on a stream so far reads this array: its memory is kept until that work is done,
        even when the array is released before.  Needed only for streams that its producer cannot know.

        ``stream``: of this array's device, as in :meth:`to`.  Does not block.  Raises TypeError for an object that is
        not a stream of the device, DeviceError.
        """
        ensure_release_thread()
        self._record_use(_registry.stream_handle(self.device_type_id, stream))

    # ---- moving ----
    def to(self, device: DeviceLike, *, stream: StreamLike = None, copy: bool | None = None) -> DeviceArray:
        """The rows on another device: a new array, or one that shares this memory when it is there already; with OpenCL
        that is in the context of the queue that ``stream`` is, or that :func:`cdevice.set_default_stream` named.

        ``device``: see :func:`cdevice.device`; a pyopencl.CommandQueue is device and stream.  ``stream``: of the
        target, or of the source when the target is the CPU; None: what :func:`cdevice.set_default_stream` named, else
        the current stream of the vendor's library, else the device's default; an object is kept for as long as the
        result's memory, a handle must live so long by itself.  ``copy``: True copies always, False never (ValueError).
        Only the rows of the slice travel, in one allocation, buffers aligned to 64 bytes or more.

        Does not block where the target has events: the result carries one.  Blocks for a copy to the CPU or to a device
        without events, and where sizes of strings or lists must be read from a device.  Any thread.  Raises
        BackendUnavailable, DeviceError, OutOfMemory; the source is untouched by an error.

        The device may read the source until the event has passed.  Until then the source is kept alive, but no one
        keeps it as it is: wait (:meth:`synchronize`) before you write to memory that came without a copy (numpy, a
        buffer).
        """
        target = _device.device(device)
        stream = _registry.stream_from_device_arg(device, stream)
        here = self.device_type_id
        _registry.ensure_backend(target.type_id)
        _registry.ensure_backend(here)
        if copy is False and target != self.device:
            raise ValueError(f"the data is on {self.device}: copy=False forbids the copy to {target}")
        if not copy and here == _OPENCL and target == self.device and _pyopencl.apart(self, stream):
            if copy is False:
                raise ValueError("the data is in another OpenCL context than the queue: copy=False forbids the copy")
            copy = True
        if copy and here != 1 and stream is None and target == self.device:
            stream = _registry.default_stream_for(self)
        owner = here if target.type_id == 1 else target.type_id
        if here == 1:
            ensure_release_thread()  # the source may be given back by a thread that never saw Python
        return self._copy(target.type_id, target.id, *_registry.stream_and_owner(owner, stream), bool(copy))

    def share(self, *, opens: int = 0) -> Shared:
        """Shares the array with other processes of this machine and user: its memory, not a copy, where it lies in
        shared memory (``cdevice.empty(..., shared=True)``, an array that was opened), in a mapped file, or on a CUDA or
        ROCm device, whose memory it keeps until no process has it open; else the rows are copied to shared memory once.

        ``opens``: how often it may be opened, 0: any number of times.  The result's ``token`` goes to the other
        process, which calls :func:`open_shared`.  Blocks for the copy and for the event of an array of the CPU.  Any
        thread.  Raises OutOfMemory, and DeviceError where the system has no descriptor, socket or thread.  Warns with
        DeviceWarning where another device's rows are copied to the CPU.
        """
        return _shared.share(self, opens)

    # ---- C ----
    def export_to_c(self, array: Address, schema: Address | None = None) -> None:
        """Fills two structs, overwriting both; their holder must then call their ``release``.

        ``array``: address of an ArrowDeviceArray (int or cffi pointer).  ``schema``: address of an ArrowSchema, or
        None.  Does not block: the struct carries the event.  Raises ValueError for NULL, TypeError for another object.
        """
        self._export_structs(as_address(array), 0 if schema is None else as_address(schema))

    # ---- life ----
    def __enter__(self) -> DeviceArray:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def __sizeof__(self) -> int:
        """With the bytes of its buffers, on a device too, as far as they are known without waiting."""
        return object.__sizeof__(self) + (0 if self.released else max(self.nbytes, 0))

    def __copy__(self) -> DeviceArray:
        return self._slice(0, self.length)

    def __deepcopy__(self, memo: object) -> DeviceArray:
        return self._slice(0, self.length)  # immutable

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return _pickling.reduce(self, _index(protocol))

    def __repr__(self) -> str:
        return _show.describe(self)

    def _repr_html_(self) -> str:
        return _show.array_html(self)


if not TYPE_CHECKING:
    _class = DeviceArray
    del DeviceArray

    def __getattr__(name):
        """The class is looked up on import and when it is unpickled, which Dask does before an array comes."""
        if name != "DeviceArray":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if "distributed" in sys.modules:
            _dask.register_frames()
        return _class
