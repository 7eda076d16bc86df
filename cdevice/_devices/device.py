"""Devices: values that start no driver before their first use."""

from __future__ import annotations

from _operator import index  # operator's own import costs a tenth of the package's

from .._runtime.ext import check, ffi, lib
from .._runtime.lazy import LazyModule
from ..errors import ArgumentError, BackendUnavailable, Error, Unsupported
from .tables import drop_kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    from .. import device_types as _types
    from .._types import Cdata, DeviceLike, DeviceType, TypeLike
    from ..device_types import DeviceInfo, MemoryInfo
    from . import backends as _registry
    from . import profile as _profile
    from .profile import Profile
else:
    _profile = LazyModule("cdevice._devices.profile")
    _registry = LazyModule("cdevice._devices.backends")
    _types = LazyModule("cdevice.device_types")


_CPU, _CUDA, _OPENCL = 1, 2, 4
_known: dict[str, Device] = {}  # text -> Device


def type_name(type_id: int) -> str:
    """The word for a device type: a registered backend's name, else the specification's, else the number."""
    backend = lib.cdv_backend_table(type_id)
    if backend:
        return str(ffi.string(backend.name).decode())
    try:
        return _types.DeviceType(type_id).name.lower()
    except ValueError:
        return str(type_id)


class _Capturing:
    """What ``Device.capturing()`` gives; may be entered by several threads, and again."""

    def __init__(self, table: Cdata, memory: Cdata, device_id: int) -> None:
        known = memory and memory.struct_size >= ffi.offsetof("cdevice_memory", "capture_active")
        enter_exit = known and memory.capture_enter_exit
        self._hold = (lambda change: enter_exit(table.self, device_id, change)) if enter_exit else lambda change: None

    def __enter__(self) -> None:
        self._hold(1)
        lib.cdv_wait_for_query()

    def __exit__(self, *exc: object) -> None:
        self._hold(-1)
        lib.cdv_external_blocks_retry()


class Device:
    """One device: an immutable value, equal and hashable by type and number.  Any thread.

    ``type``: a DeviceType, an int or a name.  ``id``: number of the device, None: 0; the CPU's is -1.  ``Device(2, 1)``
    is what ``cdevice.device("cuda:1")`` gives.  Making one touches no driver.
    """

    __slots__ = ("_id", "_type")

    def __init__(self, type: TypeLike, id: int | None = None) -> None:
        plain = type.__class__ is int and 0 < type < 1 << 31
        self._type: int = type if plain else _registry.type_number(type)  # type: ignore[assignment]
        number = 0 if id is None else index(id)
        if not -(1 << 63) <= number < 1 << 63:
            raise ValueError(f"device number {number} is beyond 64 bits")
        self._id = -1 if self._type == _CPU else number

    @property
    def type_id(self) -> int:
        """The ArrowDeviceType as int, also of types without a name."""
        return self._type

    @property
    def type(self) -> DeviceType | int:
        """The :class:`DeviceType`, or the int of a type without a name there."""
        try:
            return _types.DeviceType(self._type)
        except ValueError:
            return self._type

    @property
    def id(self) -> int:
        """Which device of its type; -1 for the CPU."""
        return self._id

    @property
    def name(self) -> str:
        """The device's own name; starts its backend.  Raises BackendUnavailable."""
        return str(self.info.name)

    @property
    def info(self) -> DeviceInfo:
        """:class:`DeviceInfo`; starts the backend.  Raises BackendUnavailable, DeviceError, ArgumentError for a number
        beyond those there are."""
        need_device(self._type, self._id)
        out = ffi.new("cdevice_device_info *")
        check(lib.cdv_device_info(self._type, self._id, out))
        text = ffi.string(out.name).decode("utf-8", "replace")
        driver = ffi.string(out.driver).decode("utf-8", "replace")
        return _types.DeviceInfo(text, driver, out.alignment, out.total_bytes, out.free_bytes)

    def _extension(self, name: str, pointer: str) -> tuple[Cdata, Cdata]:
        """The backend's table, started, and its extension of that name or NULL."""
        _registry.ensure_backend(self._type)
        check(lib.cdv_device_count(self._type, ffi.new("int64_t *")))  # starts it, or raises the reason
        table = lib.cdv_backend_table(self._type)
        return table, ffi.cast(pointer, table.extension(table.self, ffi.new("char[]", name.encode())))

    def _pool(self) -> tuple[Cdata, Cdata]:
        table, pool = self._extension("cdevice.pool/1", "cdevice_pool *")
        if not pool:
            raise Unsupported(f"{self} has no memory pool")
        return table, pool

    def _notes(self) -> list[str]:
        """Notes on the device's runtime: promises that it breaks, and the workaround."""
        table, extension = self._extension("cdevice.notes/1", "cdevice_notes *")
        if not extension:
            return []
        text, err = ffi.new("char[]", 4096), ffi.new("cdevice_error *")
        if extension.notes(table.self, self._id, text, 4096, err):
            return []
        lines: list[str] = ffi.string(text).decode("utf-8", "replace").splitlines()
        return lines

    def memory(self) -> MemoryInfo:
        """:class:`MemoryInfo` of the backend's pool on this device.

        May block: starts the backend.  Raises Unsupported where memory is not pooled, BackendUnavailable.
        """
        table, pool = self._pool()
        lib.cdv_external_blocks_retry()
        values = [ffi.new("int64_t *") for _ in range(4)]
        pool.statistics(table.self, self._id, *values)
        return _types.MemoryInfo(*(v[0] for v in values))

    def trim(self) -> None:
        """Returns unused memory of the pool to the vendor, of the CPU to the system.

        May block: starts the backend, and the vendor's library may wait for the device.  Raises Unsupported where
        memory is not pooled, BackendUnavailable.
        """
        table, pool = self._pool()
        drop_kept()
        lib.cdv_external_blocks_retry()
        if self._type == _CPU:
            lib.cdv_block_trim()
            lib.cdv_staging_trim()
        pool.trim(table.self, self._id)

    def profile(self) -> Profile:
        """A context manager that records when the device began and ended each kernel and copy of a block.

        OpenCL has times on queues that were made for it: work without a stream of its own goes to such a queue in the
        block.  A mark before and behind each piece of work costs microseconds.  Inside, nothing waits for it; the end
        of the block waits for the device.  Any thread; work of all threads is recorded.  Raises Unsupported for devices
        without times (extension ``cdevice.profile/1``), BackendUnavailable, DeviceError; OutOfMemory at the end where
        events were lost, as those beyond a million are.
        """
        return _profile.Profile(self)

    def capturing(self) -> AbstractContextManager[None]:
        """A context manager: inside, a graph may be captured, on a non-blocking stream too (torch's are), while the
        process releases and allocates memory of this device.

        Such a capture cannot be seen from outside.  With CUDA to record behind all streams would end it, with ROCm 7.0
        to 7.2 to ask an event, on any thread; so neither is done for the package's own sake, and memory that is
        released meanwhile is not used again before the end.  Does nothing for devices without graphs.  Starts the
        backend; entering it blocks while a query of the package is under way.  Raises BackendUnavailable.
        """
        return _Capturing(*self._extension("cdevice.memory/1", "cdevice_memory *"), self._id)

    @property
    def is_available(self) -> bool:
        """True when a backend serves this device here.  Starts it; does not raise."""
        try:
            _registry.ensure_backend(self._type)
            out = ffi.new("int64_t *")
            check(lib.cdv_device_count(self._type, out))
        except Error:
            return False
        return bool(self._id < out[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return NotImplemented
        return self._type == other._type and self._id == other._id

    def __hash__(self) -> int:
        return hash((self._type, self._id))

    def __str__(self) -> str:
        name = type_name(self._type)
        return name if self._type == _CPU else f"{name}:{self._id}"

    def __repr__(self) -> str:
        return f"<cdevice.Device {self}>"

    def _repr_html_(self) -> str:
        from .._runtime.html import code_html

        return code_html(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self._type, self._id)


def no_device(type_id: int, device_id: int, count: int) -> Exception:
    """What to raise for a device that is not there: the backend's hint where it has none at all."""
    name = f"{type_name(type_id)}:{device_id}"
    if count > 0:
        return ArgumentError(f"no device {name}: there {'is' if count == 1 else 'are'} {count}")
    hint = _registry.install_hint(type_id)
    error = BackendUnavailable(f"no device {name}: {type_name(type_id)} finds none here{'; ' if hint else ''}{hint}")
    error.device, error.hint = str(Device(type_id, device_id)), hint
    return error


def need_device(type_id: int, device_id: int) -> int:
    """How many devices of a type there are, of which this is one.  Starts the backend."""
    _registry.ensure_backend(type_id)
    count = ffi.new("int64_t *")
    check(lib.cdv_device_count(type_id, count))
    if type_id != 1 and not 0 <= device_id < count[0]:
        raise no_device(type_id, device_id, count[0])
    return int(count[0])


def device(spec: DeviceLike | Any) -> Device:
    """The :class:`Device` for "cuda:1", "opencl", "12:3", (2, 1), a DeviceType, a Device, or another library's device.

    ``spec``: one of these; devices of torch and pyopencl, and of cupy, which are CUDA's.
    Touches no driver and does not block, but for pyopencl's objects.  Any thread.  Raises ValueError for an unknown
    word, TypeError for anything else.
    """
    if isinstance(spec, Device):
        return spec
    if isinstance(spec, str):
        known = _known.get(spec)
        if known is not None:
            return known
        word, colon, digits = spec.strip().partition(":")
        if not word.replace("_", "").replace("-", "").isalnum() or (colon and not digits.removeprefix("-").isdigit()):
            raise ValueError(f'{spec!r} is not a device: expected "name", "name:number" or "type:number"')
        number = int(digits) if colon else None
        type_id = _registry.type_number(word)
        if number is not None and number < 0 and type_id != _CPU:
            raise ValueError(f"{spec!r}: device numbers start at 0")
        out = Device(type_id, number)
        fixed = word.isdigit() or word.upper().replace("-", "_") in _types.DeviceType.__members__
        if fixed and len(_known) < 256:  # a plug-in's name may pass to another
            _known[spec] = out
        return out
    if isinstance(spec, tuple) and len(spec) == 2:
        return Device(*spec)
    if isinstance(spec, int) and not isinstance(spec, bool):
        return Device(spec)
    foreign: Any = spec
    kind = type(foreign)
    if kind.__module__.split(".")[0] == "torch":
        return device(f"{foreign.type}:{foreign.index or 0}" if foreign.type != "cpu" else "cpu")
    if kind.__module__.split(".")[0] in ("cupy", "cupy_cuda", "cupy_backends") and isinstance(
        getattr(foreign, "id", None), int
    ):
        return Device(_CUDA, foreign.id)
    if kind.__module__.split(".")[0] == "pyopencl":
        number = _registry.backend_object(_OPENCL).device_id_of(foreign)
        if number is not None:
            return Device(_OPENCL, number)
    raise TypeError(
        f"a device is a string, a (type, number) pair, a cdevice.Device or one of torch's, cupy's or pyopencl's, not "
        f"{kind.__module__}.{kind.__qualname__}"
    )


def devices(type: TypeLike | None = None) -> list[Device]:
    """All devices that can be used here, or those of one type.

    ``type``: a DeviceType, an int or a name; None: all.  Blocks while backends start; those that are not available here
    contribute nothing, unless ``type`` asks for one by name.  Any thread.  Raises BackendUnavailable with the reason
    for a ``type`` without devices, ValueError for an unknown name.
    """
    wanted = None if type is None else _registry.type_number(type)
    found = []
    for type_id in _registry.all_types() if wanted is None else [wanted]:
        count = ffi.new("int64_t *")
        try:
            _registry.ensure_backend(type_id)
            check(lib.cdv_device_count(type_id, count))
        except Error as e:  # a backend that fails has no devices: listing devices does not fail
            if wanted is not None or isinstance(e, MemoryError):
                raise
            continue
        if wanted is not None and not count[0]:
            raise no_device(type_id, 0, 0)
        found += [Device(type_id, i) for i in range(count[0])]
    return found
