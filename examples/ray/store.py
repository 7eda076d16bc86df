"""Arrays in Ray's object store: read where they lie by tasks and actors, computed on their devices."""

import sys
import tempfile

import numpy as np
import pyarrow as pa
import ray

import cdevice
import cdevice.compute as cc

PARTS, ROWS = 6, 500_000
QUERY = [("delay", "mean"), ("delay", "max"), ([], "count_all")]


def flights(k):
    rng = np.random.RandomState(k)
    delay = pa.array(rng.gamma(1.2, 25, ROWS).astype("i8") - 10, mask=rng.random_sample(ROWS) < 0.03)
    return cdevice.asarray(pa.record_batch({"carrier": rng.randint(0, 12, ROWS), "delay": delay}))


def in_the_store(array):
    """Does every buffer of an array lie in memory that Ray has mapped, and may it only be read?"""
    found = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            if "plasma" in line:
                begin, end = (int(x, 16) for x in line.split()[0].split("-"))
                found.append((begin, end))
    buffers = [b for c in array.children for b in c.buffers if b.size]
    there = all(any(begin <= b.address and b.address + b.size <= end for begin, end in found) for b in buffers)
    return there and all(b.memoryview().readonly for b in buffers)


@ray.remote
def state(batch, device):
    """The state of the groups of a batch, and whether the batch lay in the store."""
    there = batch.to(device)
    return cc.group_by(there, "carrier").partial(QUERY).to("cpu"), in_the_store(batch)


@ray.remote
class Total:
    """An actor that keeps an array on its device between calls."""

    def __init__(self, device):
        self.device, self.states = device, []

    def add(self, found):
        part, there = found
        self.states.append(part.to(self.device))
        return there

    def answer(self):
        return cc.merge(self.states).to("cpu")


def rows(batch):
    return sorted(tuple(r.values()) for r in batch.to_pylist())


def main(device):
    with tempfile.TemporaryDirectory() as folder:
        ray.init(
            num_cpus=2, include_dashboard=False, object_store_memory=200 * 2**20, log_to_driver=False, _temp_dir=folder
        )
        try:
            parts = [flights(k) for k in range(PARTS)]
            held = [ray.put(p) for p in parts]
            again = ray.get(held[0])
            print("read where it lies, for reading alone:", in_the_store(again) and again == parts[0])
            total = Total.remote(device)
            there = ray.get([total.add.remote(state.remote(h, device)) for h in held])
            print("batches that tasks found in the store:", sum(there), "of", PARTS)
            answer = ray.get(total.answer.remote())
            whole = cc.group_by(parts, "carrier").aggregate(QUERY)
            print("as computed here:", rows(answer) == rows(whole))
            assert rows(answer) == rows(whole)
        finally:
            ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "opencl" if cdevice.device("opencl").is_available else "cpu")
