"""Memory of a known layout for other code to fill: a kernel, numpy, a library of the device."""

from __future__ import annotations

from _operator import index as _index  # operator's own import costs a tenth of the package's

from ._arrays.buffer_access import BufferBase
from ._arrays.formats import DTYPES
from ._runtime.ext import _native, ffi, lib
from ._runtime.lazy import LazyModule
from ._runtime.release_thread import ensure_release_thread
from .errors import ArgumentError, CannotExport, Released
from .schema import asschema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._devices import backends as _registry
    from ._devices import device as _device
    from ._types import Device, DeviceArray, DeviceLike, Schema, SchemaLike, StreamLike
    from .interop import cupy as _cupy
    from .interop import pyopencl as _pyopencl
else:
    _device = LazyModule("cdevice._devices.device")
    _registry = LazyModule("cdevice._devices.backends")
    _cupy = LazyModule("cdevice.interop.cupy")
    _pyopencl = LazyModule("cdevice.interop.pyopencl")

_CUDA, _MANAGED = 2, 13
_LEGACY = 1  # the legacy default stream, in the CUDA array interface
_INTEGERS = {4: "i4", 8: "i8"}  # times are these


def empty(
    schema: SchemaLike,
    length: int,
    *,
    device: DeviceLike = "cpu",
    stream: StreamLike = None,
    validity: bool = False,
    shared: bool = False,
) -> MutableArray:
    """Memory for an array of ``length`` rows, in one allocation, for a kernel to fill; see :class:`MutableArray`.

    ``schema``: see :func:`asschema`; a type whose sizes follow from the length: numbers, times, bool, decimals,
    fixed_size_binary, fixed-size lists and structs of them.  ``device``: where; a pyopencl.CommandQueue is device and
    stream.  ``stream``: of that device, whose work may use the memory at once; other streams and the host wait for it
    where a buffer is handed out.  ``validity``: with a bitmap for nulls at every node; a struct at the top, a record
    batch, has none of its own.  ``shared``: in shared memory, which the array's ``share`` gives to other processes
    without a copy; on the CPU alone.

    The contents are uninitialised.  Does not block for the device.  Any thread.  Raises ArgumentError for other types
    (from_buffers makes those of buffers that exist), TypeError for another device's stream, BackendUnavailable,
    DeviceError, OutOfMemory.
    """
    want = asschema(schema)
    target = _device.device(device)
    stream = _registry.stream_from_device_arg(device, stream)
    _registry.ensure_backend(target.type_id)
    ensure_release_thread()  # the memory may be given back by a thread that never saw Python
    handle, owner = _stream_of(target.type_id, stream)
    if shared and target.type_id != 1:
        raise ArgumentError(f"empty: shared=True on {target}: shared memory is memory of the CPU")
    before = lib.cdv_allocate_in_segments(shared)
    try:
        array = _native.empty(want, length, validity, target.type_id, target.id, handle, owner)
    except ArgumentError as error:
        odd = _odd(want)
        if odd is None:
            raise
        raise ArgumentError(
            f"the sizes of {odd.type} depend on its values: use cdevice.from_buffers() with filled buffers"
        ) from error
    finally:
        lib.cdv_allocate_in_segments(before)
    return MutableArray._of(array, None, None, (0, None) if stream is None else (handle, owner))


def _stream_of(type_id: int, stream: StreamLike) -> tuple[int, object]:
    """(raw handle, object to keep) of a stream; the CPU has none, and takes those of no device."""
    if type_id == 1 and stream is None:
        return 0, None
    handle, owner = _registry.stream_and_owner(type_id, stream)
    return (0, None) if type_id == 1 else (handle, owner)


def _odd(schema: Schema) -> Schema | None:
    """The first node, from the top, that a length does not determine."""
    format = schema.format
    variable = format[0] in "uUzZv" or format.startswith(("+l", "+L", "+v", "+m", "+u", "+r"))
    if variable or schema.dictionary is not None:
        return schema
    return next((x for x in map(_odd, schema.children) if x is not None), None)


class MutableArray:
    """An array that is being filled: buffers of the Arrow layout, uninitialized, on some device.

    Comes from :func:`empty`.  ``buffers`` and ``children`` are as in :class:`DeviceArray`, but writable; :meth:`freeze`
    makes a :class:`DeviceArray` of the same memory.  Dropped without that, the memory is freed behind the work of the
    stream that it was made for; work of other streams on it must have ended.  Any thread; of several threads that
    freeze it one succeeds.
    """

    __slots__ = ("__weakref__", "_array", "_drafts", "_frozen", "_name", "_root", "_stream")

    _array: DeviceArray
    _root: MutableArray | None  # None: this one; it would keep itself
    _name: str | None
    _drafts: list[bool]
    _frozen: bool
    _stream: tuple[int, object]  # handle and what keeps it; 0: the current one when it is frozen

    def __init__(self) -> None:
        raise TypeError("MutableArray cannot be created directly: use cdevice.empty()")

    @classmethod
    def _of(
        cls, array: DeviceArray, root: MutableArray | None, name: str | None, stream: tuple[int, object] = (0, None)
    ) -> MutableArray:
        self = object.__new__(cls)
        self._array, self._root, self._name, self._frozen, self._stream = array, root, name, False, stream
        self._drafts = [True]  # taken out by who freezes: pop() is one step
        return self

    def _open(self) -> DeviceArray:
        if self.frozen:
            raise Released("the array was frozen: it can no longer be written")
        return self._array

    @property
    def schema(self) -> Schema:
        """The :class:`Schema`: type, name, metadata."""
        return self._array.schema

    @property
    def type(self) -> str:
        """The type in words."""
        return self._array.type

    @property
    def length(self) -> int:
        """Rows."""
        return self._array.length

    def __len__(self) -> int:
        return self._array.length

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers, children included."""
        return self._array.nbytes

    @property
    def device(self) -> Device:
        """The :class:`Device` the buffers live on."""
        return self._array.device

    @property
    def frozen(self) -> bool:
        """True after :meth:`freeze`."""
        return self._frozen if self._root is None else self._root._frozen

    @property
    def buffers(self) -> list[MutableBuffer]:
        """The :class:`MutableBuffer` objects in the order of the Arrow layout; one that is missing (the bitmap,
        without ``validity``) has address 0.  Raises Released after :meth:`freeze`."""
        array = self._open()
        return [MutableBuffer._of(self, i) for i in range(array._n_buffers)]

    @property
    def children(self) -> list[MutableArray]:
        """The arrays below: columns of a struct, values of a fixed-size list."""
        array, root = self._open(), self._root or self
        return [
            MutableArray._of(array._raw_child(i), root, child.name) for i, child in enumerate(array.schema.children)
        ]

    def field(self, key: str | int) -> MutableArray:
        """A child.

        ``key``: a number, or in a struct a name.  Does not block.  Raises KeyError, IndexError.
        """
        children = self.children
        n = self.schema.index_of(key) if isinstance(key, str) else _index(key)
        if not -len(children) <= n < len(children):
            raise IndexError(f"no field {n}: {self.type} has {len(children)}")
        return children[n]

    def freeze(self, *, stream: StreamLike = None, null_count: int = -1) -> DeviceArray:
        """The :class:`DeviceArray` of the written data, on the same memory; once.

        ``stream``: the stream of the work that writes it; the result's event is behind all that was enqueued there
        (None: the stream that :func:`empty` was given, else what :func:`cdevice.set_default_stream` named, else the
        current stream of the vendor's library, else the device's default).  ``null_count``: of the top, where it is
        known; -1: counted when needed.  Does not block.

        Writing through previously obtained buffers after freeze() is undefined behaviour and is not detected.  Raises
        Released the second time, ArgumentError for more nulls than rows.
        """
        if self._root is not None:
            raise ArgumentError(f"{self._name!r} is a child of another array: freeze the parent")
        array = self._open()
        kind = array.device_type_id
        handle, _ = self._stream if stream is None and self._stream[0] else _stream_of(kind, stream)
        try:
            self._drafts.pop()  # of several threads one gets it
        except IndexError:
            raise Released("the array is being frozen by another thread") from None
        try:
            out = _native.freeze(array, handle, null_count)
        except BaseException:
            self._drafts.append(True)
            raise
        self._frozen = True
        return out

    def __reduce__(self) -> Any:
        raise TypeError("a MutableArray cannot be copied or pickled: freeze() it first")

    def __repr__(self) -> str:
        state = "frozen" if self.frozen else "to be filled"
        return f"<cdevice.MutableArray {self.type}, {self.length} rows on {self.device}, {state}>"


class MutableBuffer(BufferBase):
    """A writable buffer of a :class:`MutableArray`; it keeps the memory.  Any thread may use it."""

    __slots__ = ("_draft",)

    _draft: MutableArray

    def __init__(self) -> None:
        raise TypeError("MutableBuffer cannot be created directly: use the buffers of cdevice.empty()")

    @classmethod
    def _of(cls, draft: MutableArray, index: int) -> MutableBuffer:
        self = object.__new__(cls)
        BufferBase.__init__(self, draft._array, index)
        self._draft = draft
        return self

    def _there(self) -> tuple[int, int]:
        """(address, bytes)"""
        self._draft._open()
        address, size = self._owner._buffer(self._index)
        if address is None:
            raise CannotExport("there is no buffer" + ("" if self._owner.length else ": the array has no rows"))
        return address, size

    @property
    def dtype(self) -> str:
        """numpy's letters for the elements: "f8", "i4"; "u1" where they are bits or of another width."""
        width = self.size // max(self._owner.length, 1)
        if self._index == 0:
            return "u1"
        format = self._owner._format
        return DTYPES.get(format) or (_INTEGERS.get(width, "u1") if format[0] == "t" and format != "tiD" else "u1")

    def _interface(self) -> dict[str, Any]:
        address, size = self._there()
        dtype = self.dtype
        width = int(dtype[1:])
        return {
            "version": 3,
            "shape": (size // width,),
            "typestr": ("|" if width == 1 else "<") + dtype,
            "data": (address, False),
            "strides": None,
        }

    def memoryview(self) -> memoryview:
        """The bytes, writable.

        Blocks until they may be used.  Raises CannotExport where the CPU cannot reach them, Released after
        ``freeze()``.
        """
        self._owner._readable("writing a buffer")
        address, size = self._there()
        owner = self._owner
        return memoryview(ffi.buffer(ffi.gc(ffi.cast("char *", address), lambda _, owner=owner: None), size))

    def to_pyopencl(self, queue: StreamLike = None) -> Any:
        """A pyopencl.Buffer on the same memory.

        ``queue``: its later work may write to it; None: blocks until the memory may be used.  Raises TypeError for
        memory that is not on OpenCL, Released after ``freeze()``.
        """
        self._there()
        return _pyopencl.buffer_to_pyopencl(self._owner, self._index, queue)

    def to_cupy(self, stream: StreamLike = None) -> Any:
        """A cupy array of :attr:`dtype` on the same memory, which it keeps.

        ``stream``: its later work may write to it; None: cupy's current stream.  Does not block.  Raises CannotExport
        for memory that is not on CUDA or, where cupy is built for it, ROCm, Released after ``freeze()``,
        ModuleNotFoundError without cupy.
        """
        return _cupy.memory_to_cupy(self._owner, self._interface(), stream)

    def to_hip(self, stream: StreamLike = None) -> Any:
        """A hip-python DeviceArray of :attr:`dtype` on the same memory; this buffer must be kept for as long.

        ``stream``: its later work may write to it; None: blocks until the memory may be used.  Raises CannotExport for
        memory that is not on ROCm, Released after ``freeze()``, ModuleNotFoundError without hip-python.
        """
        return _cupy.memory_to_hip(self._owner, self._interface(), stream)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        try:
            self._owner._readable("writing a buffer")
        except CannotExport as error:
            raise AttributeError(f"__array_interface__: {error}") from error
        return self._interface()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3, for CUDA and CUDA_MANAGED; others have no such attribute."""
        if self._owner.device_type_id not in (_CUDA, _MANAGED):
            raise AttributeError("__cuda_array_interface__: only buffers on CUDA have it")
        interface = self._interface()
        interface["stream"] = None
        if not self._owner.ready:
            self._owner.wait(_LEGACY)
            interface["stream"] = _LEGACY
        return interface

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """numpy asks here where there is no ``__array_interface__``; left alone it would hold this as an object."""
        self._owner._readable("writing a buffer")
        import numpy

        out = numpy.frombuffer(self.memoryview(), self.dtype)
        out = out if dtype is None else out.astype(dtype, copy=False)
        return out.copy() if copy else out

    def __reduce__(self) -> Any:
        raise TypeError("a MutableBuffer cannot be copied or pickled: freeze() its array first")

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<cdevice.MutableBuffer {self.size} bytes of {self.dtype} at {self.address:#x} on {self.device}>"
