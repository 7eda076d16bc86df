"""Joins the extension with the Python classes; loaded on the first use of a public name.

The one file that knows both: C makes arrays and errors of classes that stand above everything that asks for them.
"""

from __future__ import annotations

from ._runtime.ext import _native, check, ffi, lib
from ._runtime.lazy import LazyModule
from ._runtime.release_thread import ensure_release_thread
from .array import DeviceArray
from .errors import KINDS, BackendUnavailable, DeviceError, Error
from .schema import Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._devices import backends as _registry
    from ._devices import device as _device
else:
    _device = LazyModule("cdevice._devices.device")
    _registry = LazyModule("cdevice._devices.backends")


def _from_core(
    kind: int,
    code: int,
    message: str,
    node: str,
    buffer: int,
    device_type: int,
    device_id: int,
    vendor_code: int,
    vendor_name: str,
) -> Exception:
    """The exception for what the C core reported."""
    hint = _registry.install_hint(device_type) if KINDS.get(kind) is BackendUnavailable else ""
    said = not hint or "apt-get install" in message  # C programs have no hint, so some name it themselves
    error = KINDS.get(kind, Error)(message if said else f"{message}; {hint}")
    error.code, error.node, error.hint = code, node, hint
    error.device = str(_device.Device(device_type, device_id)) if device_type > 0 else None
    error.buffer = None if buffer < 0 else buffer
    error.vendor_code, error.vendor_name = vendor_code, vendor_name
    return error


def _load_backend(type_id: int) -> None:
    """Called by the core for a device type without a backend."""
    _registry.ensure_backend(type_id)


_native.set_classes(DeviceArray, Schema, _from_core, BackendUnavailable, _load_backend, DeviceError, Error)
if not lib.cdv_backend_table(1):  # there already where the first import was interrupted
    check(lib.cdv_load_builtin(b"cpu", 0))

__all__ = ["check", "ffi", "lib", "ensure_release_thread"]
