"""Device types, and the properties of devices.  A file of its own because enum is half of the package's import."""

from __future__ import annotations

import collections
import enum


class DeviceType(enum.IntEnum):
    """``ArrowDeviceType``: the values and names of the specification, 17 and 18 as in DLPack."""

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    OPENCL = 4
    VULKAN = 7
    METAL = 8
    VPI = 9
    ROCM = 10
    ROCM_HOST = 11
    EXT_DEV = 12
    CUDA_MANAGED = 13
    ONEAPI = 14
    WEBGPU = 15
    HEXAGON = 16
    MAIA = 17
    TRN = 18


class DeviceInfo(collections.namedtuple("DeviceInfo", "name driver alignment total_bytes free_bytes")):
    """The properties of a device.

    ``name``: of the device.  ``driver``: its version, free text.  ``alignment``: bytes, of allocations and of views
    into them.  ``total_bytes``, ``free_bytes``: of its memory, -1 where unknown.
    """

    __slots__ = ()


class MemoryInfo(collections.namedtuple("MemoryInfo", "live pooled pending peak")):
    """Bytes of a pool.

    ``live``: in use.  ``pooled``: free to use again.  ``pending``: free but perhaps still used by the device.
    ``peak``: most ever in use.
    """

    __slots__ = ()
