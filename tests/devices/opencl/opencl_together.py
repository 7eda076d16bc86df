"""Every OpenCL runtime that is here in one process: data goes round all of them, and each computes (``ci/runtimes together``)."""

import threading

import numpy as np
import pyopencl as cl

import cdevice
import cdevice.compute as cc

devices = cdevice.devices("opencl")
print(*(f"{d}  {d.name}" for d in devices), sep="\n")
names = {d.name.rpartition("(")[2].rstrip(")") for d in devices}
assert len(names) == len(devices) == 4, names

data = np.arange(100_000)
there = cdevice.asarray(data)
for device in [*devices, *reversed(devices)]:
    there = cc.add(there.to(device), 1)
    assert there.device == device
assert (np.asarray(there.to("cpu")) == data + 8).all()

# pyopencl's objects are of the device that pyopencl says, whichever order its loader has
for platform in cl.get_platforms():
    for device in platform.get_devices():
        found = cdevice.device(device)
        assert platform.name.strip() in found.name, (platform.name, found.name)
        context = cl.Context([device])
        queue = cl.CommandQueue(context)
        array = cdevice.asarray(data).to(queue)
        assert (
            array.device == found
            and (np.asarray(cc.add(array, 1, stream=queue).to("cpu", stream=queue)) == data + 1).all()
        )

errors = []


def work(device):
    try:
        for i in range(20):
            x = cdevice.asarray(np.full(20_000, i)).to(device)
            for _ in range(3):
                x = cc.add(x, 1)
            assert cc.sum(x).as_py() == 20_000 * (i + 3), device
    except BaseException as e:
        errors.append(e)


threads = [threading.Thread(target=work, args=(d,)) for d in devices]  # one for each: Oclgrind has one kernel at a time
for t in threads:
    t.start()
for t in threads:
    t.join()
if errors:
    raise errors[0]
print(f"{len(devices)} runtimes in one process: everything came back as it was")
