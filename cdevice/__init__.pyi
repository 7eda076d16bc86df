# Written beside __init__.py, whose names are loaded on first use; tests/test_typing.py keeps the two in step.
from . import aio
from . import compute
from . import pickling
from . import testing
from ._devices.allocators import set_allocator as set_allocator
from ._devices.device import Device as Device
from ._devices.device import device as device
from ._devices.device import devices as devices
from ._devices.backends import BackendInfo as BackendInfo
from ._devices.backends import list_backends as list_backends
from ._devices.backends import set_default_stream as set_default_stream
from ._devices.backends import unregister_backend as unregister_backend
from ._devices.tables import load_backend as load_backend
from ._devices.tables import register_backend as register_backend
from .array import DeviceArray as DeviceArray
from .backend import Backend as Backend
from .backend import Capability as Capability
from .buffer import Buffer as Buffer
from .config import get_include as get_include
from .device_types import DeviceInfo as DeviceInfo
from .device_types import DeviceType as DeviceType
from .device_types import MemoryInfo as MemoryInfo
from .errors import ArgumentError as ArgumentError
from .errors import BackendConflict as BackendConflict
from .errors import BackendUnavailable as BackendUnavailable
from .errors import CannotExport as CannotExport
from .errors import DeviceError as DeviceError
from .errors import DeviceWarning as DeviceWarning
from .errors import Error as Error
from .errors import InvalidArray as InvalidArray
from .errors import OutOfMemory as OutOfMemory
from .errors import Released as Released
from .errors import StreamError as StreamError
from .errors import Unsupported as Unsupported
from .interop.asarray import asarray as asarray
from .interop.asarray import import_capsules as import_capsules
from .interop.asarray import import_from_c as import_from_c
from .interop.asarray import record_batch as record_batch
from .interop.asstream import asstream as asstream
from .interop.asstream import import_stream_from_c as import_stream_from_c
from .interop.concat import concat as concat
from .mutable import MutableArray as MutableArray
from .mutable import MutableBuffer as MutableBuffer
from .mutable import empty as empty
from ._arrays.from_buffers import from_buffers as from_buffers
from .schema import Schema as Schema
from .schema import asschema as asschema
from .stream import DeviceArrayStream as DeviceArrayStream

__version__: str
