"""Are the values the same, on any device and in any library?"""

from __future__ import annotations

from .._arrays.buffer_access import share
from .._runtime.ext import _native, lib
from .asarray import asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import DeviceArray

_PROTOCOLS = ("__arrow_c_device_array__", "__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_stream__")


def is_arrow(obj: object) -> bool:
    """An object, no class, that hands out Arrow data."""
    return not isinstance(obj, type) and any(hasattr(obj, name) for name in _PROTOCOLS)


def _here(array: DeviceArray) -> DeviceArray:
    return array if lib.cdv_is_host_accessible(array.device_type_id) else array.to("cpu")


def equal(a: DeviceArray, other: object, nans_equal: bool) -> bool:
    """See DeviceArray.equals."""
    b: DeviceArray = other if isinstance(other, _native.Array) else asarray(other)  # type: ignore[assignment]
    if a.length != b.length or not a._schema._equal(b._schema, False, False):
        return False
    a = share(a)  # of its own: another thread may release the other
    return _here(a)._equal(_here(b), nans_equal)
