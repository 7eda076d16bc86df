"""Fixed-width arrays on CUDA and ROCm as cupy's and hip-python's objects, without a copy."""

from __future__ import annotations

from .._arrays.buffer_access import share
from .._arrays.formats import DTYPES
from .._runtime.lazy import need
from ..errors import CannotExport
from .fixed_shape_tensor import values_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._types import DeviceArray, StreamLike

_CUDA, _ROCM, _MANAGED = 2, 10, 13
_CUPY = '"cdevice[cuda12]" or "cdevice[cuda13]"'


def _values(array: DeviceArray, types: tuple[int, ...], what: str) -> tuple[int, int, str, tuple[int, ...]]:
    """(address of the first value, bytes, numpy's type string, shape)"""
    array, shape, nulls = values_of(array)
    _require(array, types, what)
    dtype = DTYPES.get(array._format)
    if dtype is None or array._schema.dictionary is not None:
        raise CannotExport(f"{array.type} cannot become a {what} array: use the addresses of its buffers")
    if nulls:
        raise CannotExport(f"the array has nulls, or may have: {what} has no nulls")
    size = int(dtype[1:])
    address = (array._buffer(1)[0] or 0) + array.offset * size if array.length else 0
    return address, array.length * size, ("|" if size == 1 else "<") + dtype, shape


def to_cupy(array: DeviceArray, stream: StreamLike = None) -> Any:
    """See :meth:`DeviceArray.to_cupy`."""
    cupy = need("cupy", _CUPY)

    hip = cupy.cuda.runtime.is_hip
    array = share(array)  # what cupy holds: release() of the other takes nothing from it
    address, nbytes, dtype, shape = _values(array, (_ROCM,) if hip else (_CUDA, _MANAGED), "cupy")
    return _ndarray(array, address, nbytes, dtype, shape, stream)


def _ndarray(
    array: DeviceArray, address: int, nbytes: int, dtype: str, shape: tuple[int, ...], stream: StreamLike
) -> Any:
    cupy = need("cupy", _CUPY)

    array.wait(cupy.cuda.get_current_stream() if stream is None else stream)
    memory = cupy.cuda.UnownedMemory(address, nbytes, array, array.device_id)
    return cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, 0))


def memory_to_cupy(array: DeviceArray, interface: dict[str, Any], stream: StreamLike) -> Any:
    """The array interface of an array's memory as a cupy array, which keeps that."""
    cupy = need("cupy", _CUPY)

    types = (_ROCM,) if cupy.cuda.runtime.is_hip else (_CUDA, _MANAGED)
    _require(array, types, "cupy")
    (n,), dtype = interface["shape"], interface["typestr"]
    return _ndarray(array, interface["data"][0], n * int(dtype[2:]), dtype, (n,), stream)


def memory_to_hip(array: DeviceArray, interface: dict[str, Any], stream: StreamLike) -> Any:
    """The same as hip-python's, which keeps nothing."""
    _require(array, (_ROCM,), "hip-python")
    return _hip_array(array, interface, stream)


def _require(array: DeviceArray, types: tuple[int, ...], what: str) -> None:
    if array.device_type_id not in types:
        raise CannotExport(f'the data is on {array.device}: copy it to the device with .to("...") for {what}')


class _Interface:
    def __init__(self, **members: Any) -> None:
        self.__cuda_array_interface__ = members


def to_hip(array: DeviceArray, stream: StreamLike = None) -> Any:
    """See :meth:`DeviceArray.to_hip`."""
    array._lend()
    address, _, dtype, shape = _values(array, (_ROCM,), "hip-python")
    return _hip_array(
        array, {"version": 3, "shape": shape, "typestr": dtype, "data": (address, True), "strides": None}, stream
    )


def _hip_array(array: DeviceArray, interface: dict[str, Any], stream: StreamLike) -> Any:
    types = need("rocm.bindings.util.types", '"cdevice[rocm]"')

    if stream is None:
        array.synchronize()
    else:
        array.wait(stream)
    return types.DeviceArray.fromObj(_Interface(**interface, stream=None))
