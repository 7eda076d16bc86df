# Written beside __init__.py, whose names are loaded on first use; tests/test_typing.py keeps the two in step.
from ._device import Device as Device
from ._device import DeviceInfo as DeviceInfo
from ._device import DeviceType as DeviceType
from ._device import MemoryInfo as MemoryInfo
from ._device import device as device
from ._device import devices as devices
from .array import DeviceArray as DeviceArray
from .backend import Backend as Backend
from .backend import Capability as Capability
from .buffer import Buffer as Buffer
from .config import get_include as get_include
from .convert import asarray as asarray
from .convert import from_buffers as from_buffers
from .convert import import_capsules as import_capsules
from .convert import import_from_c as import_from_c
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
from .errors import Unsupported as Unsupported
from .registry import BackendInfo as BackendInfo
from .registry import list_backends as list_backends
from .registry import load_backend as load_backend
from .registry import register_backend as register_backend
from .registry import unregister_backend as unregister_backend
from .schema import Schema as Schema
from .schema import asschema as asschema

__version__: str
