"""Names of types for annotations; read by type checkers alone."""

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias

from ._devices.device import Device as Device
from .array import DeviceArray as DeviceArray
from .buffer import Buffer as Buffer
from .device_types import DeviceType as DeviceType
from .schema import Schema as Schema
from .stream import DeviceArrayStream as DeviceArrayStream

Validate: TypeAlias = Literal["structure", "full"] | None
Capsule: TypeAlias = object
"""A PyCapsule."""

class HasSchema(Protocol):
    def __arrow_c_schema__(self) -> Capsule: ...

class HasInt(Protocol):
    def __int__(self) -> int: ...

SchemaLike: TypeAlias = Schema | HasSchema | str | Mapping[str, Any] | list[Any]
"""What :func:`cdevice.asschema` takes."""
TypeLike: TypeAlias = str | SupportsIndex
"""A device type: a name, a DeviceType or an int."""
DeviceLike: TypeAlias = Device | str | SupportsIndex | tuple[TypeLike, int | None] | Any
"""What :func:`cdevice.device` takes; torch's and cupy's devices too."""
StreamLike: TypeAlias = Any
"""A stream of the vendor's Python library, or its raw handle."""
Address: TypeAlias = int | Any
"""An int or a cffi pointer."""
Metadata: TypeAlias = Mapping[str | bytes, str | bytes] | Mapping[str, str] | Mapping[bytes, bytes] | bytes
Cdata: TypeAlias = Any
"""Something of cffi's."""
Need: TypeAlias = list[bool] | None
Exit: TypeAlias = TracebackType | None

__all__ = [
    "Address",
    "Any",
    "Buffer",
    "Capsule",
    "Cdata",
    "Device",
    "DeviceArray",
    "DeviceArrayStream",
    "DeviceLike",
    "DeviceType",
    "HasInt",
    "Iterable",
    "Metadata",
    "Need",
    "Schema",
    "SchemaLike",
    "Sequence",
    "StreamLike",
    "TypeLike",
    "Validate",
]
