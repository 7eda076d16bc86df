"""DLPack, in and out."""

from __future__ import annotations

from errno import ERANGE

from .._arrays.events import Recorded
from .._arrays.formats import DTYPES
from .._arrays.logical_view import retyped
from .._devices.backends import ensure_backend
from .._runtime.ext import _native, check, ffi, lib
from .._runtime.release_thread import ensure_release_thread
from ..errors import ArgumentError, CannotExport
from .fixed_shape_tensor import nested, values_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import Capsule, DeviceArray, Schema, StreamLike, Validate

_READ_ONLY, _COPIED = 1, 2
_CPU = 1
# the number that names the default stream; absent: no numbers are agreed on
_DEFAULT_STREAM = {2: 1, 13: 1, 10: 0}


def device_of(array: DeviceArray) -> tuple[int, int]:
    kind = array.device_type_id
    return kind, 0 if lib.cdv_is_host_accessible(kind) else array.device_id


def _no_tensor(array: DeviceArray, values: DeviceArray) -> str:
    """Why values of a type are no tensor, and what to do."""
    if values._format == "b" and values._schema.dictionary is None:
        return "bool has a bit a value in Arrow and a byte in DLPack: __dlpack__(copy=True) or to_numpy() copies it"
    here = "" if lib.cdv_is_host_accessible(array.device_type_id) else '.to("cpu"), then '
    return f"{values.type} is no type of DLPack's; {here}to_numpy() or to_pylist() gives the values"


def _bools(array: DeviceArray, max_version: tuple[int, int] | None) -> Capsule:
    """A copy with a byte a value."""
    from .numpy import to_numpy

    copied = to_numpy(array)
    if copied.dtype != bool:
        raise CannotExport("the array has nulls, or may have: DLPack has no nulls")
    capsule: Capsule = copied.__dlpack__() if max_version is None else copied.__dlpack__(max_version=max_version)
    return capsule


def _as_it_says(array: DeviceArray) -> DeviceArray:
    """Fixed-size lists with the dimensions of their extension type."""
    if not array._schema.metadata or not array._format.startswith("+w:") or array.null_count:
        return array
    values, shape, _ = values_of(array)
    return nested(values, shape)


def _otherwise(array: DeviceArray, max_version: tuple[int, int] | None, copy: bool, error: CannotExport) -> Capsule:
    """Bools as a copy; else an error that names the type, where the type is wrong."""
    values = values_of(array)[0]
    if values._format in DTYPES and values._schema.dictionary is None:
        raise error
    if values._format == "b" and copy and lib.cdv_is_host_accessible(array.device_type_id):
        return _bools(array, max_version)
    raise CannotExport(_no_tensor(array, values)) from None


def export(
    array: DeviceArray,
    stream: StreamLike,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Capsule:
    flags = _READ_ONLY
    kind = array.device_type_id
    if array._n_children:
        array = _as_it_says(array)
    if dl_device is not None and tuple(dl_device) != device_of(array):
        if tuple(dl_device) != (_CPU, 0):
            raise CannotExport(f"the data is on {array.device}: dl_device must be this device, or (1, 0) for the CPU")
        if copy is False and not lib.cdv_is_host_accessible(kind):
            raise CannotExport(f"the data is on {array.device}: copy=False forbids the copy to the CPU")
        if stream is not None:
            raise CannotExport("a copy to the CPU takes no stream=: it is complete on return")
        if not lib.cdv_is_host_accessible(kind) or copy:
            flags = _COPIED  # and its consumer's alone; else it is the same memory under another name
        array, kind = array.to("cpu", copy=copy or None), _CPU
    elif copy:
        array, flags = array.to(array.device, copy=True), _COPIED
    if kind == _CPU and stream not in (None, -1):
        raise CannotExport(f"stream {stream!r}: the CPU has no streams, pass None")
    if stream != -1 and not array.ready:
        if stream is None and kind not in _DEFAULT_STREAM:
            array.synchronize()
        else:
            array.wait(_DEFAULT_STREAM[kind] if stream is None else stream)
    try:
        return array._dlpack(max_version is not None and max_version[0] >= 1, flags)
    except CannotExport as e:
        return _otherwise(array, max_version, bool(copy), e)


def _through_numpy(obj: Any, schema: Schema | None) -> DeviceArray | None:
    """A CPU tensor with gaps or of bools as a converted copy; None: numpy is not here, or cannot either."""
    from .numpy import from_numpy

    try:
        import numpy

        return from_numpy(numpy.from_dlpack(obj), schema)
    except (ImportError, TypeError, BufferError, RuntimeError):  # the last is what numpy has for bfloat16
        return None


def from_dlpack(
    obj: Any, schema: Schema | None = None, validate: Validate = "structure", copy: bool | None = None
) -> tuple[DeviceArray, bool]:
    """(DeviceArray on the device of any library's tensor, was it copied?)

    Dimensions behind the first become fixed-size lists.  Tensors with gaps and of bools are copied on the CPU, unless
    ``copy`` is False, and refused elsewhere.

    Its producer makes the default stream wait for the data where the device has one; the array carries an event that
    was recorded there.  The memory must not be written while the array lives.  Raises ArgumentError for other
    strides and for types that Arrow has not.
    """
    try:
        out = _native.take_dlpack(obj, validate)
    except ArgumentError as error:
        if error.code == ERANGE:  # numpy would multiply these numbers too
            raise
        copied = _through_numpy(obj, schema) if copy is not False else None
        if copied is None:
            raise
        return copied if schema is None else retyped(copied, schema), True
    if out is None:
        out = _of_a_device(obj, validate)
    return out if schema is None else retyped(out, schema), False


def _of_a_device(obj: Any, validate: Validate) -> DeviceArray:
    place = obj.__dlpack_device__()
    if not isinstance(place, tuple) or len(place) != 2 or not all(isinstance(x, int) for x in place):
        raise TypeError(
            f"__dlpack_device__() of {type(obj).__name__} returned {place!r}: expected (device type, device id)"
        )
    kind, number = place
    kind = int(kind)
    arguments = {} if kind not in _DEFAULT_STREAM else {"stream": _DEFAULT_STREAM[kind]}
    try:
        capsule = obj.__dlpack__(max_version=(1, 3), **arguments)
    except TypeError:  # from before 1.0
        capsule = obj.__dlpack__(**arguments)
    owner = event = None
    if kind in _DEFAULT_STREAM:
        ensure_backend(kind)
        check(lib.cdv_device_count(kind, ffi.new("int64_t *")))
        owner = Recorded(None, lib.cdv_backend_table(kind), number, 0)
        event = int(ffi.cast("uintptr_t", owner.event.sync_event)) or None
    ensure_release_thread()
    return _native.import_dlpack(capsule, event, owner, validate)
