"""Streams of device arrays: the Arrow C device stream interface in Python."""

from __future__ import annotations

from itertools import chain

from ._ext import _native, as_address, check, ffi, lib
from ._later import Later
from ._reaper import need_reaper
from .errors import ArgumentError, Error
from .interop.asarray import asarray
from .schema import asschema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import _html
    from ._devices import device as _device
    from ._devices import registry as _registry
    from ._types import Address, DeviceArray, DeviceLike, DeviceType, Schema, SchemaLike, StreamLike, Validate
    from .interop import frames as _frames
    from .objects import encode as _encode
    from .objects import joined as _joined
else:
    _device = Later("cdevice._devices.device")
    _encode = Later("cdevice.objects.encode")
    _frames = Later("cdevice.interop.frames")
    _html = Later("cdevice._html")
    _joined = Later("cdevice.objects.joined")
    _registry = Later("cdevice._devices.registry")


class DeviceArrayStream(_native.Stream):
    """Arrays of one schema on one device type, one after the other; an iterator of :class:`DeviceArray`.

    Comes from :func:`cdevice.asstream`.  Used once, by one thread at a time (another gets RuntimeError).  Its schema
    is known before the first array; arrays outlive it.  ``device_type_id``, ``closed``, ``close()`` and the Arrow
    PyCapsule methods are implemented in C.  What goes wrong at the source is raised as StreamError with the producer's
    text, what a Python source raised as it was; after an error every call fails.  Ctrl-C ends a wait and loses nothing:
    the next call goes on.
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

    def to(self, device: DeviceLike, *, stream: StreamLike = None, prefetch: int = 2) -> DeviceArrayStream:
        """The same arrays on another device: a new stream; this one is used up.

        ``prefetch``: so many arrays are copied before they are asked for, in a thread of their own, or, where the
        source is a Python iterator, when the one before is taken.  At most ``prefetch + 1`` copies exist that were not
        handed out.  ``stream``: as in :meth:`DeviceArray.to`, one stream for all copies.  Raises BackendUnavailable.
        """
        target = _device.device(device)
        here = self.device_type_id
        for type_id in (target.type_id, here):
            _registry.need_backend(type_id)
            check(lib.cdv_device_count(type_id, ffi.new("int64_t *")))  # now, not at the first array
        need_reaper()  # threads of ours release what Python may own
        queue = _registry.stream_and_owner(here if target.type_id == 1 else target.type_id, stream)
        return self._copied(target.type_id, target.id, *queue, prefetch)

    def iterate(self, stream: StreamLike = None) -> DeviceArrayStream:
        """This stream, whose next arrays ``stream`` (of their device) waits for before they are handed out; the host
        does not wait where the device can.  None: nothing waits, arrays carry their events."""
        self._order(None if stream is None else _registry.stream_handle(self.device_type_id, stream))
        return self

    def read_all(self, device: DeviceLike | None = None, stream: StreamLike = None) -> DeviceArray:
        """The rows of all arrays that are left as one array, as :func:`cdevice.concat` joins them; an empty array of
        the schema where there are none.  Uses this stream up, and closes it.

        ``device``: where the result shall be; None: where the arrays are.  ``stream``: as in :meth:`DeviceArray.to`.
        What was taken before an error of the source, or Ctrl-C, is dropped.
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

    def to_pylist(self) -> list[Any]:
        """The rows of all arrays that are left as Python objects, see :meth:`DeviceArray.to_pylist`.  Uses this stream
        up, and closes it."""
        rows = [row for array in self for row in array.to_pylist()]
        self.close()
        return rows

    def export_to_c(self, address: Address) -> None:
        """Moves this stream into the ArrowDeviceArrayStream at ``address`` (int or cffi pointer), writing over it."""
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


_native.set_stream_class(DeviceArrayStream, Error)


def import_stream_from_c(address: Address, *, validate: Validate = "structure") -> DeviceArrayStream:
    """A DeviceArrayStream from the address of an ArrowDeviceArrayStream (int or cffi pointer).

    Moves out of the struct.  Calls its get_schema; when that fails, the stream is released and StreamError raised.
    """
    return _native.import_stream_struct(as_address(address), False, validate)


def asstream(
    obj: Any,
    *,
    schema: SchemaLike | None = None,
    device: DeviceLike | None = None,
    stream: StreamLike = None,
    prefetch: int = 2,
    validate: Validate = "structure",
) -> DeviceArrayStream:
    """A :class:`DeviceArrayStream` of ``obj``.

    Takes what has ``__arrow_c_device_stream__`` or ``__arrow_c_stream__`` (tables and readers of pyarrow, polars,
    duckdb, pandas, nanoarrow), one array (anything with ``__arrow_c_device_array__`` or ``__arrow_c_array__``), a list
    of what :func:`asarray` takes, and any other iterable of such, a generator for example, which is asked for each item
    when it is needed, but for the first: that one tells the schema and the device now.  ``schema``: needed where an
    iterable may be empty; a request to Arrow producers.  ``device``, ``stream``, ``prefetch``: see
    :meth:`DeviceArrayStream.to`.
    ``validate``: for each array, as in :func:`asarray`.

    Raises StreamError where a producer cannot give its schema, ArgumentError for an empty iterable without ``schema``,
    TypeError.
    """
    if validate not in ("structure", "full", None):
        raise ValueError(f'validate is "structure", "full" or None, not {validate!r}')
    want = None if schema is None else asschema(schema)
    out = _from_object(obj, want, validate)
    if device is not None:
        return out.to(device, stream=stream, prefetch=prefetch)
    return out if stream is None else out.iterate(stream)


def _from_object(obj: Any, want: Schema | None, validate: Validate) -> DeviceArrayStream:
    if isinstance(obj, DeviceArrayStream):
        _frames.require(obj, want)
        return obj
    if not isinstance(obj, (list, tuple)):
        method = _frames.stream_method(obj)
        if method is not None:
            return _frames.stream_of(method, want, validate)
    if hasattr(obj, "__aiter__"):
        if hasattr(obj, "as_stream"):  # a consumer of cdevice.aio
            out: DeviceArrayStream = obj.as_stream()
            _frames.require(out, want)
            return out
        raise TypeError("an async iterable becomes a stream through cdevice.aio.produce() and consume()")
    if hasattr(obj, "__arrow_c_device_array__") or hasattr(obj, "__arrow_c_array__"):
        obj = [obj]
    if isinstance(obj, (list, tuple)):
        if want is None:  # what is an array already needs no call
            made: list[Any] = [x if isinstance(x, _native.Array) else asarray(x, validate=validate) for x in obj]
        else:
            made = [asarray(x, schema=want, validate=validate) for x in obj]
        first, schema = _first(made, want)
        return _native.stream_of_arrays(schema, first, made)
    if not hasattr(obj, "__iter__") and not hasattr(obj, "__next__"):
        raise TypeError(
            f"{type(obj).__name__} cannot become a stream: it is no Arrow stream, array, or iterable of arrays"
        )
    need_reaper()  # the iterator may be dropped by a thread that never saw Python
    arrays = (asarray(x, schema=want, validate=validate) for x in obj)
    head = [x for x in (next(arrays, None),) if x is not None]
    first, schema = _first(head, want)
    return _native.stream_of_iterator(schema, first, chain(head, arrays))


def _first(arrays: list[DeviceArray], want: Schema | None) -> tuple[int, Schema]:
    """(device type, schema) of what begins with these arrays."""
    if arrays:
        return arrays[0].device_type_id, arrays[0].schema if want is None else want
    if want is None:
        raise ArgumentError("without arrays the schema is unknown: pass schema=")
    return 1, want
