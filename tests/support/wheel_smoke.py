"""The first steps with cffi alone, run by ci/wheels: make an array, copy it to each device here and back, compute there."""

import cdevice
import cdevice.compute as cc

array = cdevice.asarray([1, None, 3, 4])
assert cc.sum(array).as_py() == 8, cc.sum(array)
for device in cdevice.devices():
    there = cdevice.asarray([1, None, 3, 4], device=device)
    assert there.to("cpu").to_pylist() == [1, None, 3, 4], device
    assert cc.add(there, 1).to("cpu").to_pylist() == [2, None, 4, 5], device
    print(f"{device}: a copy there and back, and add")
