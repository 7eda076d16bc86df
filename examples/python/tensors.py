"""Vectors with their shape, in and out without a copy."""

import numpy as np

import cdevice

vectors = np.arange(12, dtype="f4").reshape(2, 2, 3)
array = cdevice.asarray(vectors)
print(array.type, array.shape, array.dtype, array.ndim)
print(np.shares_memory(np.from_dlpack(array), vectors), np.from_dlpack(array[1:]).tolist())
print(cdevice.asarray([1.5, None, 3.0]).to_numpy(), cdevice.asarray([1, None]).to_numpy(nulls="nan"))
flags = cdevice.asarray([True, False, True])
try:
    np.from_dlpack(flags)
except BufferError as e:
    print("BufferError:", e)
print(np.from_dlpack(flags, copy=True))
