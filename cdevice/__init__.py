"""Arrow arrays on any device, handed between libraries without a copy.

The package implements the Arrow C device data interface.  Public names are loaded on first use; importing the package
loads neither a vendor's library nor numpy.
"""

import sys as _sys

if _sys.byteorder != "little":  # before what would say that there is no extension module
    raise ImportError(
        "cdevice: this processor is big-endian; Arrow's buffers are read and written as little-endian ones,"
        " so use a little-endian processor (x86-64, arm64)"
    )

if _sys.implementation.name != "cpython":
    raise ImportError(
        f"cdevice: this interpreter is {_sys.implementation.name}; the extension module makes types by the API of"
        " CPython, so use CPython 3.10 or newer"
    )

from ._runtime.lazy import load as _load

__version__ = "0.2.0"

_NAMES = {
    "DeviceType": "device_types",
    "Device": "_devices.device",
    "DeviceInfo": "device_types",
    "MemoryInfo": "device_types",
    "device": "_devices.device",
    "devices": "_devices.device",
    "Backend": "backend",
    "Capability": "backend",
    "BackendInfo": "_devices.backends",
    "list_backends": "_devices.backends",
    "register_backend": "_devices.tables",
    "unregister_backend": "_devices.backends",
    "set_default_stream": "_devices.backends",
    "load_backend": "_devices.tables",
    "set_allocator": "_devices.allocators",
    "asarray": "interop.asarray",
    "concat": "interop.concat",
    "empty": "mutable",
    "MutableArray": "mutable",
    "MutableBuffer": "mutable",
    "from_buffers": "_arrays.from_buffers",
    "record_batch": "interop.asarray",
    "import_capsules": "interop.asarray",
    "import_from_c": "interop.asarray",
    "DeviceArray": "array",
    "asstream": "interop.asstream",
    "import_stream_from_c": "interop.asstream",
    "DeviceArrayStream": "stream",
    "Shared": "ipc.shared",
    "SharedStream": "ipc.streams",
    "open_shared": "ipc.opening",
    "sharing": "ipc.sharing",
    "scan": "scan",
    "loader": "loading",
    "Loader": "loading",
    "Progress": "interop.progress",
    "Profile": "_devices.profile",
    "ProfileEvent": "_devices.profile",
    "Buffer": "buffer",
    "Schema": "schema",
    "asschema": "schema",
    "Error": "errors",
    "BackendUnavailable": "errors",
    "DeviceError": "errors",
    "OutOfMemory": "errors",
    "InvalidArray": "errors",
    "Released": "errors",
    "CannotExport": "errors",
    "Unsupported": "errors",
    "BackendConflict": "errors",
    "ArgumentError": "errors",
    "StreamError": "errors",
    "DeviceWarning": "errors",
    "get_include": "config",
}

_MODULES = ("aio", "compute", "dask", "pickling", "testing")  # there after `import cdevice`, loaded when they are used

__all__ = [*_NAMES, "__version__"]


def __getattr__(name):
    module = _NAMES.get(name)
    if name in _MODULES:
        return _load(f"cdevice.{name}")
    if module is None:
        raise AttributeError(f"module 'cdevice' has no attribute {name!r}")
    # not importlib.import_module: the module importlib costs a tenth of the whole import
    _load("cdevice._core")
    value = _load(f"cdevice.{module}", name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*__all__, *_MODULES])
